"""Pools: what each thing of a document may be, with what speaks for it. Short names are not looked up: they are what their longer name is."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log1p

from polyonym.ingest.text.documents import Document
from polyonym.resolution.linking.candidates import Candidate, CandidateSource
from polyonym.resolution.linking.features import (
    FEATURES,
    HEARD,
    LABEL,
    DocumentWords,
    ItemWords,
    NameWords,
    features_of,
    item_words,
    name_words,
)
from polyonym.resolution.linking.knowledge_base import KnowledgeBase
from polyonym.resolution.linking.ranking import TOP, Ranked, Weights, rank
from polyonym.resolution.linking.statements import agreement, traits_of_item
from polyonym.resolution.linking.type_bars import allowed_types, is_barred
from polyonym.resolution.linking.words import tokens_of
from polyonym.resolution.names.normal_forms import demonym_of, region_of
from polyonym.resolution.names.persons import person_parts
from polyonym.resolution.within_document.document_entities import DocumentName

LEAST_SHARE = 0.02
"""From this share on, what one thing of a document is said to be is heard by the others."""
COMPANY, COMPANY_SHARE = 3, 0.2
"""So many candidates of each other thing are a thing's company, those with such a share."""
SPELLINGS = 3
"""So many of a name's spellings are looked up, the commonest first."""
_OTHER_NAMES = frozenset(("alias", "acronym", "spelling", "slip", "plural", "fuller name"))
"""Rules by which a name is not a part of the longer one, but another name of the thing: it is looked up as well."""

Kinds = frozenset[str]
"""How an item answers to a name: kinds of match (Candidate.match), and those that a variant of the name makes."""


@dataclass(frozen=True)
class Pool:
    """The candidates of what a document calls by some names, `head` the longest of them, with their features, in the order of ids."""

    head: DocumentName
    names: tuple[DocumentName, ...]  # sorted, the head among them
    words: NameWords
    items: list[ItemWords]
    kinds: list[Kinds]
    matrix: list[list[float]]
    commonness: tuple[float, ...]  # see _commonness

    @property
    def count(self) -> int:
        """How many mentions it has."""
        return sum(n.count for n in self.names)

    def rank(self, weights: Weights) -> Ranked:
        return rank(self.matrix, [(-i.prominence, len(i.item.id), i.item.id) for i in self.items], weights)

    def confidence_features(self, ranked: Ranked) -> list[float]:
        """What tells how far the best candidate can be trusted, in the order of CONFIDENCE_FEATURES."""
        name, best = self.words, ranked.order[0]
        item = self.items[best]
        types = dict(name.types)
        words = len(name.surface.split())
        return [
            ranked.scores[0],
            min(6.0, ranked.scores[0] - ranked.scores[1] if len(ranked.scores) > 1 else 6.0),
            ranked.shares[0],
            float(len(ranked.scores) == 1),
            log1p(len(ranked.scores)),
            *(self.matrix[best][i] for i in TOP),
            *(types.get(t, 0.0) for t in ("PERSON", "ORG", "PLACE", "GROUP")),
            *self.commonness,
            *agreement([n.traits for n in self.names], traits_of_item(item.item, "PERSON" in item.types), "PERSON" in item.types),
            float(_has_untold_qualifier(self.kinds[best], self.matrix[best])),
            float(bool(item.description)),
            float(words == 1),
            float(words > 2),
            float(bool(name.letters)),
            float(any(c.isdigit() for c in name.surface)),
            float(name.surface.islower()),
            log1p(self.count),
            float(len(self.names) > 1),
            float(demonym_of(name.key) is not None),
        ]


def asked_of(name: DocumentName) -> list[str]:
    """All names under which a server is asked about one name of a document: what its link may rest on."""
    return list(_queries(name)) if name.group == name.name or name.rule in _OTHER_NAMES else []


def pools(
    documents: Sequence[Document], names: Mapping[str, Sequence[DocumentName]], sources: Sequence[CandidateSource], weights: Weights
) -> Iterator[Pool]:
    """The candidates of everything that these documents name, sorted by document and head. `weights` decide what the things of a document say of one another.

    Names whose head is missing stand for themselves.
    """
    # A server is asked for names as they stand alone: each further one would be a request more.
    at_hand = [source for source in sources if isinstance(source, KnowledgeBase)]
    every = [n for here in names.values() for n in here]
    answers = _ask(sources, (q for n in every for q in asked_of(n)))
    variants = {(n.document, n.name): _variants(n, answers) for n in every if asked_of(n)}
    more = _ask(at_hand, (q for queries in variants.values() for q in queries))
    prepared: dict[str, ItemWords] = {}

    def known_as(name: DocumentName) -> dict[str, tuple[ItemWords, Kinds]]:
        """The items that answer to one name."""
        out: dict[str, tuple[ItemWords, Kinds]] = {}
        for kind, candidates in (
            *((kind, answers[q]) for q, kind in _queries(name).items()),
            *((kind, more[q]) for q, kind in variants[name.document, name.name].items()),
        ):
            for candidate in candidates:
                if kind and candidate.match not in LABEL and candidate.match != "exact alias":
                    continue
                item = candidate.item
                words, kinds = out.get(item.id) or (prepared.get(item.id) or prepared.setdefault(item.id, item_words(item)), frozenset())
                out[item.id] = (words, kinds | {kind or candidate.match})
        return _told(name.name, out)

    for document in sorted(documents, key=lambda d: d.document):
        text = DocumentWords(document)
        made = [_pool(text, head, members, known_as, at_hand) for head, members in _things(names.get(document.document, ()))]
        _hear(made, weights)
        yield from made


def _things(names: Sequence[DocumentName]) -> list[tuple[DocumentName, tuple[DocumentName, ...]]]:
    """The names of one document by what they stand for: each head with all its names."""
    heads = {n.name for n in names}
    groups: dict[str, list[DocumentName]] = {}
    for name in sorted(names, key=lambda n: n.name):
        groups.setdefault(name.group if name.group in heads else name.name, []).append(name)
    return [(next(n for n in members if n.name == head), tuple(members)) for head, members in sorted(groups.items())]


def _pool(
    text: DocumentWords,
    head: DocumentName,
    names: tuple[DocumentName, ...],
    known_as: Callable[[DocumentName], dict[str, tuple[ItemWords, Kinds]]],
    bases: Sequence[KnowledgeBase],
) -> Pool:
    looked_up = [head, *(n for n in names if n is not head and asked_of(n))]
    words = [name_words(text, name, names) for name in looked_up]
    answers = [known_as(name) for name in looked_up]
    allowed = allowed_types(head, names)
    items, kinds, matrix = [], [], []
    for item_id in sorted(set().union(*answers)):
        # Of several names the one speaks that the item answers to best.
        best = min((i for i, answer in enumerate(answers) if item_id in answer), key=lambda i: (_place(answers[i][item_id][1]), i))
        item, how = answers[best][item_id]
        if not is_barred(item, allowed):
            items.append(item)
            kinds.append(how)
            matrix.append(features_of(text, words[best], item, how))
    return Pool(head, names, words[0], items, kinds, matrix, _commonness(head.name, bases))


def _has_untold_qualifier(kinds: Kinds, values: Sequence[float]) -> bool:
    """Whether the label says more behind the name than the document has a word of: "Louis I, Count Palatine of Zweibrücken"."""
    return "bare label" in kinds and values[FEATURES.index("further words")] > 0 and not values[FEATURES.index("label words count")]


def _commonness(name: str, bases: Sequence[KnowledgeBase]) -> tuple[float, ...]:
    """How common a name is, in the order of COMMONNESS: how many items of the knowledge base bear it, how many more begin with it; of a person's
    name how many begin with its first word and how many end with its last. Logarithms."""
    parts = person_parts(name)
    bearing, beginning, first, last = 0, 0, 0, 0
    for base in bases:
        here = base.commonness(name)
        bearing, beginning = bearing + here[0], beginning + here[1]
        if parts:
            first, last = first + base.commonness(parts.given[0])[1], last + base.commonness(parts.last)[2]
    return log1p(bearing), log1p(beginning), log1p(first), log1p(last)


_BEST_FIRST = ("exact label", "label", "bare label", "exact alias", "alias", "region", "demonym", "number", "words", "outer", "start", "end", "initials", "sounds", "part")  # fmt: skip


def _place(kinds: Kinds) -> int:
    return min(map(_BEST_FIRST.index, kinds))


def _told(name: str, answers: dict[str, tuple[ItemWords, Kinds]]) -> dict[str, tuple[ItemWords, Kinds]]:
    """The items that answer to a normalised name, without those that are described as lying elsewhere than it says ("cambridge, massachusetts")."""
    region = tokens_of(name.partition(",")[2])

    def tells(item: ItemWords) -> bool:
        return all(t in item.label or item.tells(t) for t in region)

    if not any(tells(item) for item, _ in answers.values()):
        return answers
    return {i: answer for i, answer in answers.items() if tells(answer[0]) or not answer[0].description}


def _hear(pools: Sequence[Pool], weights: Weights) -> None:
    """Fill in what the things of one document say of one another's candidates."""
    ranked = [pool.rank(weights) if pool.items else None for pool in pools]
    _hear_of_same(pools, ranked)
    _hear_company(pools, ranked)


_AT = {f: FEATURES.index(f) for f in HEARD}


def _hear_of_same(pools: Sequence[Pool], ranked: Sequence[Ranked | None]) -> None:
    """What other things that may be the same item say."""
    shares: dict[str, dict[str, float]] = {}  # by item, by head
    for pool, ranks in zip(pools, ranked, strict=True):
        for i, share in zip(ranks.order, ranks.shares, strict=True) if ranks else ():
            if share >= LEAST_SHARE:
                shares.setdefault(pool.items[i].item.id, {})[pool.head.name] = round(share, 3)
    tokens = {pool.head.name: pool.words.tokens for pool in pools}
    for pool in pools:
        own = pool.words.tokens
        for item, row in zip(pool.items, pool.matrix, strict=True):
            for name, share in shares.get(item.item.id, {}).items():
                if name != pool.head.name:
                    column = _AT["longer name" if own < tokens[name] else "other name"]
                    row[column] = max(row[column], share)


def _hear_company(pools: Sequence[Pool], ranked: Sequence[Ranked | None]) -> None:
    """How each candidate goes with the likely candidates of the document's other things: what they share in words."""
    likely = [
        [(pool.items[i], share) for i, share in list(zip(ranks.order, ranks.shares, strict=True))[:COMPANY] if share > COMPANY_SHARE]
        if ranks
        else []
        for pool, ranks in zip(pools, ranked, strict=True)
    ]
    for pool, mine in zip(pools, likely, strict=True):
        others = [(other.words.own, company) for other, company in zip(pools, likely, strict=True) if company is not mine]
        for item, row in zip(pool.items, pool.matrix, strict=True):
            telling, kinds = item.telling - pool.words.own, item.kinds - pool.words.own
            words = alike = called = 0.0
            for own, company in others:
                company = [(other, share) for other, share in company if other is not item]
                words += max((share * len(telling & other.telling - own) / (1 + len(telling)) for other, share in company), default=0.0)
                alike += max((share for other, share in company if not kinds.isdisjoint(other.kinds - own)), default=0.0)
                called += max((share for _, share in company), default=0.0) if not telling.isdisjoint(own) else 0.0
            row[_AT["company words"]] = log1p(words)
            row[_AT["company kinds"]] = alike / max(1, len(others))
            row[_AT["company names"]] = log1p(called)


def _ask(sources: Sequence[CandidateSource], names: Iterable[str]) -> dict[str, list[Candidate]]:
    """What the sources together say of names; of two that know an item the first counts."""
    wanted = sorted(set(names))
    answers: dict[str, list[Candidate]] = {name: [] for name in wanted}
    for source in sources:
        for name, candidates in source.candidates(wanted).items():
            answers[name] += candidates
    return answers


def _queries(name: DocumentName) -> dict[str, str]:
    """The raw names under which a name is looked up: its commonest spellings, its normal form; and the place whose people, adjective or code it is, with the kind
    of match that this makes."""
    spellings = sorted(name.surfaces, key=lambda s: (-name.surfaces[s], -len(s), s))[:SPELLINGS]
    asked = dict.fromkeys((*spellings, name.name), "")
    if place := demonym_of(name.name):
        asked.setdefault(place, "demonym")
    elif place := region_of(name.surface):
        asked.setdefault(place, "region")
    return asked


def _variants(name: DocumentName, answers: Mapping[str, Sequence[Candidate]]) -> dict[str, str]:
    """Further names to look up, with the kind of match that each makes: the singular or plural; for a name that nothing answers to, its beginnings and ends of two
    words or more, and what stands before its region ("Cambridge, Massachusetts")."""
    made: dict[str, str] = {}
    if len(name.name) > 4 and not name.name.endswith("ss"):
        made[name.surface.removesuffix("s") if name.name.endswith("s") else name.surface + "s"] = "number"
    if not any(c.match not in _WEAK for query, kind in _queries(name).items() if not kind for c in answers[query]):
        if "," in name.name:
            made[name.name.partition(",")[0]] = "part"
        words = name.surface.split()
        made |= {" ".join(part): "part" for n in range(2, len(words)) for part in (words[:n], words[-n:])}
    return made


_WEAK = frozenset(("start", "end", "outer", "sounds", "initials"))
