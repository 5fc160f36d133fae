"""Audit: how true the nodes and links are, held against a gold set, and what can be said of them without one.

Spans are compared after a leading determiner and a trailing possessive were taken off both sides, and nodes and links are judged
over the mentions that were found, so that the figures tell resolution apart from recognition.

B-cubed: A. Bagga, B. Baldwin, "Entity-based cross-document coreferencing using the vector space model", ACL 1998.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import orjson
from sqlalchemy import Column, Connection, and_, func, select

from polyonym.ingest.errors import WrongUse
from polyonym.resolution.decisions import Decision, MergeVerdict, decisions
from polyonym.resolution.entities import entities, memberships
from polyonym.resolution.judgements import judgements
from polyonym.resolution.linking.knowledge_base import QID, types_of
from polyonym.resolution.linking.links import Link, links
from polyonym.resolution.names.entity_types import TYPES, type_of
from polyonym.resolution.within_document.document_names import document_names

_DETERMINERS = ("the ", "The ", "THE ", "a ", "A ", "an ", "An ")
_POSSESSIVES = ("'s", "’s", "'", "’")
_OTHER_WORDS = {"ORGANIZATION": "ORG", "ORGANISATION": "ORG", "LOCATION": "PLACE"}  # what gold sets call our types
_SURE_SHARE = 0.8
_SHOWN_PARTS = 8
WEAKEST = 20

Span = tuple[str, int, int]  # gold document, start, end: trimmed
Triple = tuple[float, float, float]  # precision, recall, F1


@dataclass(frozen=True)
class GoldMention:
    """A mention with the key of the thing that it names (a Wikidata id, or another stable key); `type` is one of ours, "" if untold."""

    start: int
    end: int
    text: str
    key: str
    type: str

    @property
    def has_item(self) -> bool:
        """Whether the key is a Wikidata id."""
        return QID.fullmatch(self.key) is not None


@dataclass(frozen=True)
class GoldDocument:
    """A document whose mentions are known. What lies outside `judged` (start, end) is not judged, neither the gold's mentions nor ours."""

    doc_id: str
    text: str
    judged: tuple[int, int]
    mentions: tuple[GoldMention, ...]
    title: str = ""

    def judges(self, start: int, end: int) -> bool:
        """Whether a trimmed span lies where the document is judged."""
        return self.judged[0] <= start and end <= self.judged[1]

    @property
    def judged_mentions(self) -> dict[tuple[int, int], GoldMention]:
        """The mentions where the document is judged, by their trimmed spans; of two with one span the first counts."""
        by_span = {trim(self.text, m.start, m.end): m for m in reversed(self.mentions)}
        return {span: by_span[span] for span in sorted(by_span) if self.judges(*span)}


@dataclass(frozen=True)
class Scores:
    """The figures against a gold set, shares from 0 to 1.

    found       share of gold mentions for which there is a mention of ours with the same span
    exact       share of our mentions in the judged spans that have the span of a gold mention
    b3, pair    precision, recall, F1 of the nodes over the found mentions: B-cubed, and over pairs of mentions
    redundant   share of nodes that stand for a gold entity for which another node stands already
    fused       share of nodes that hold two or more gold entities
    accuracy    share of found mentions whose best candidate is right, as if a link were always made
    wrong80     share of wrong candidates among the surest 80 % of the found mentions
    linked      share of found mentions with a link; wrong: share of these links that are wrong
    link        precision, recall, F1 of the links made, over all gold mentions

    The last five are None when no key of the gold set is a Wikidata id.
    """

    documents: int
    gold_mentions: int
    mentions: int
    found: float
    exact: float
    gold_entities: int
    nodes: int
    b3: Triple
    pair: Triple
    redundant: float
    fused: float
    accuracy: float | None = None
    wrong80: float | None = None
    linked: float | None = None
    wrong: float | None = None
    link: Triple | None = None


@dataclass(frozen=True)
class Part:
    """One side of an error: a node (by entity id) or a gold entity (by key), its commonest text, and how many mentions it has there."""

    id: str
    name: str
    mentions: int
    document: str
    start: int
    end: int


@dataclass(frozen=True)
class Error:
    """One error. `cost` is the number of mentions that would have to move.

    missed merge: the gold entity `id` lies in several nodes (`parts`). false merge: the node `id` holds several gold entities.
    wrong link: mentions of `parts` were linked to the item `id`. missing link: mentions of the item `id` were linked to nothing;
    `parts` are the best candidates, whether right or not. An item for none of whose mentions any source had a candidate is not listed:
    nothing was decided about it.
    """

    kind: str
    id: str
    name: str
    cost: int
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class GoldAudit:
    """What a gold set says: the scores, the same by type of the gold mention, the errors (dearest first), and gold documents not here."""

    scores: Scores
    by_type: dict[str, Scores]
    errors: tuple[Error, ...]
    absent: tuple[str, ...]


@dataclass(frozen=True)
class Weak:
    """A node with the weakest link among those that hold it together at its item."""

    entity_id: str
    name: str
    wikidata_id: str
    confidence: float
    weakest: str  # the name in a document that is linked with that confidence
    document: str
    mentions: int


@dataclass(frozen=True)
class Standing:
    """What can be said without gold. Names are counted per document; links, NILs and abstentions are those of names."""

    nodes: int
    names: int
    mentions: int
    nodes_with_several_names: int
    nodes_in_one_document: int
    linked_nodes: int
    registered_nodes: int
    links: int
    nils: int
    abstentions: int
    merges: int
    splits: int
    several_owners: int
    by_type: dict[str, int]
    weakest: tuple[Weak, ...]


# Against gold


def read_gold(path: Path) -> list[GoldDocument]:
    """Read a gold set: JSON lines of {doc_id, text, evaluation_span?, mentions: [{start, end, text, qid, type?}]}, offsets in code points.

    A mention's `text` must be what stands at its place, and its `qid` a text: a Wikidata id, or another key that the mentions of one
    thing share. Raises WrongUse, naming file and line, when the set is of another form or holds a document twice.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise WrongUse(f"The gold set {path} cannot be read: {error.strerror}.") from error
    held: dict[str, GoldDocument] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                document = _gold_document(orjson.loads(line))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                form = "{doc_id, text, mentions: [{start, end, text, qid}]}"
                what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
                raise WrongUse(f"The gold set {path}, line {number}, is not of the form {form}: {what}.") from error
            if document.doc_id in held:
                raise WrongUse(f"The gold set {path}, line {number}: the document {document.doc_id!r} stands in it already.")
            held[document.doc_id] = document
    if not any(d.judged_mentions for d in held.values()):
        raise WrongUse(f"The gold set {path} holds no mentions that are judged.")
    return list(held.values())


def _gold_document(row: Mapping[str, Any]) -> GoldDocument:
    text = str(row["text"])
    start, end = row.get("evaluation_span") or (0, len(text))
    found = tuple(_gold_mention(m, text) for m in row["mentions"])
    return GoldDocument(str(row["doc_id"]), text, (int(start), int(end)), found, str(row.get("title") or ""))


def _gold_mention(row: Mapping[str, Any], text: str) -> GoldMention:
    """Raises ValueError, saying what is wrong, or KeyError."""
    start, end, words, key = row["start"], row["end"], row["text"], row["qid"]
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)):
        raise ValueError(f"there is no span from {start!r} to {end!r} in a text of {len(text):,} characters")
    if text[start:end] != words:
        raise ValueError(f"from {start} to {end} stands {text[start:end]!r}, not {words!r}")
    if not (isinstance(key, str) and key):
        raise ValueError(f"the `qid` of {words!r} is {key!r}; what has no Wikidata id gets a key of its own")
    return GoldMention(start, end, words, key, _gold_type(row.get("type")))


def _gold_type(raw: str | None) -> str:
    """Our type for a gold set's: one of ours, a recogniser's label, or Wikidata classes joined by "|"."""
    if not raw:
        return ""
    known = types_of(raw.split("|"))
    word = raw.upper().rpartition("_")[2]
    return known[0] if known else _OTHER_WORDS.get(word) or type_of(word)


@dataclass(frozen=True)
class _Ours:
    """One of our mentions inside a judged span."""

    entity_id: str
    link: str | None
    candidate: str | None
    confidence: float
    text: str


@dataclass(frozen=True)
class _Matched:
    """Gold mentions and ours by trimmed span; `inside` counts ours, those with one span each."""

    gold: dict[Span, GoldMention]
    ours: dict[Span, _Ours]
    inside: int


def against_gold(gold: Sequence[GoldDocument], mentions: Iterable[Mapping[str, Any]]) -> GoldAudit:
    """Hold our mentions (rows of `export mentions`) against a gold set.

    A gold document is met by the document of that name, or the last part of whose name, with or without its extension, it is.
    Raises WrongUse when a text is another one here than in the gold set, when no gold document is here, or no gold mention is found.
    """
    documents = {d.doc_id: d for d in gold}
    seen: set[str] = set()
    matched = _match(documents, mentions, seen)
    if not seen:
        raise WrongUse(
            "None of the gold set's documents has a mention in this home. "
            f"Ingest them first; its ids are such as {', '.join(sorted(documents)[:3])}, and a document is met by its name or file name."
        )
    if not matched.gold.keys() & matched.ours.keys():
        raise WrongUse("No mention has the span of a gold mention. Is the gold set of this text?")
    by_type = {
        type_: _scores(len(documents), part)
        for type_ in TYPES
        if (part := _of_type(matched, type_)).gold and part.gold.keys() & part.ours.keys()
    }
    return GoldAudit(_scores(len(documents), matched), by_type, tuple(_errors(matched)), tuple(sorted(set(documents) - seen)))


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without a leading determiner and a trailing possessive."""
    start += next((len(d) for d in _DETERMINERS if text[start:end].startswith(d)), 0)
    end -= next((len(p) for p in _POSSESSIVES if text[start:end].endswith(p)), 0)
    return start, end


def _match(documents: Mapping[str, GoldDocument], mentions: Iterable[Mapping[str, Any]], seen: set[str]) -> _Matched:
    gold = {(d.doc_id, *span): m for d in documents.values() for span, m in d.judged_mentions.items()}
    ours: dict[Span, _Ours] = {}
    inside = 0
    for row in mentions:
        document = _met(documents, row["document"])
        if document is None:
            continue
        if document.text[row["start"] : row["end"]] != row["text"]:
            raise WrongUse(
                f"The gold set's text of {document.doc_id!r} is not that of the document {row['document']!r}: at {row['start']}–{row['end']} "
                f"it has {document.text[row['start'] : row['end']]!r}, the document {row['text']!r}. Make the gold set on the text of `export documents`."
            )
        seen.add(document.doc_id)
        start, end = trim(document.text, row["start"], row["end"])
        if document.judges(start, end):
            inside += 1
            link = row.get("wikidata_id")
            ours[(document.doc_id, start, end)] = _Ours(
                row["entity_id"], link, row.get("candidate") or link, row.get("confidence") or 0.0, row["text"]
            )
    return _Matched(gold, ours, inside)


def _met(documents: Mapping[str, GoldDocument], name: str) -> GoldDocument | None:
    path = PurePosixPath(name)
    return next((documents[key] for key in (name, path.name, path.stem) if key in documents), None)


def _of_type(matched: _Matched, type_: str) -> _Matched:
    """The part of a match that has gold mentions of one type; ours that no gold mention meets have none."""
    gold = {span: m for span, m in matched.gold.items() if m.type == type_}
    ours = {span: m for span, m in matched.ours.items() if span in gold}
    return _Matched(gold, ours, len(ours))


def _scores(documents: int, matched: _Matched) -> Scores:
    gold, ours = matched.gold, matched.ours
    # The order of the gold set is kept throughout: it decides the last digit of the sums.
    found = {span: m.key for span, m in gold.items() if span in ours}
    node = {span: ours[span].entity_id for span in found}
    majority = _majority(found, node)
    mixed = Counter(entity_id for entity_id, _ in {(node[span], key) for span, key in found.items()})
    scores = Scores(
        documents=documents,
        gold_mentions=len(gold),
        mentions=matched.inside,
        found=len(found) / len(gold),
        exact=len(found) / matched.inside,
        gold_entities=len(set(found.values())),
        nodes=len(majority),
        b3=_b_cubed(found, node),
        pair=_pairwise(found, node),
        redundant=(len(majority) - len(set(majority.values()))) / len(majority),
        fused=sum(n > 1 for n in mixed.values()) / len(majority),
    )
    if not any(m.has_item for m in gold.values()):
        return scores
    made = {span: m.link for span, m in ours.items() if m.link}
    linked = [span for span in found if ours[span].link]
    right = sum(span in gold and gold[span].key == link for span, link in made.items())
    sure = sorted(found, key=lambda span: (-ours[span].confidence, span))[: round(_SURE_SHARE * len(found))]
    precision, recall = right / len(made) if made else 0.0, right / len(gold)
    return replace(
        scores,
        accuracy=sum(ours[span].candidate == key for span, key in found.items()) / len(found),
        wrong80=sum(ours[span].candidate != found[span] for span in sure) / max(1, len(sure)),
        linked=len(linked) / len(found),
        wrong=sum(ours[span].link != found[span] for span in linked) / len(linked) if linked else 0.0,
        link=(precision, recall, _f1(precision, recall)),
    )


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _b_cubed(gold: Mapping[Span, str], node: Mapping[Span, str]) -> Triple:
    both = Counter((gold[span], node[span]) for span in gold)
    in_gold, in_node = Counter(gold.values()), Counter(node.values())
    precision = sum(n * n / in_node[entity_id] for (_, entity_id), n in both.items()) / len(gold)
    recall = sum(n * n / in_gold[key] for (key, _), n in both.items()) / len(gold)
    return precision, recall, _f1(precision, recall)


def _pairwise(gold: Mapping[Span, str], node: Mapping[Span, str]) -> Triple:
    both = _pairs(Counter((gold[span], node[span]) for span in gold).values())
    ours, true = _pairs(Counter(node.values()).values()), _pairs(Counter(gold.values()).values())
    precision, recall = both / ours if ours else 1.0, both / true if true else 1.0
    return precision, recall, _f1(precision, recall)


def _pairs(sizes: Iterable[int]) -> int:
    return sum(n * (n - 1) // 2 for n in sizes)


def _majority(gold: Mapping[Span, str], node: Mapping[Span, str]) -> dict[str, str]:
    """For each node the gold entity that most of its mentions name; ties go to the alphabet."""
    held: dict[str, Counter[str]] = defaultdict(Counter)
    for span, entity_id in node.items():
        held[entity_id][gold[span]] += 1
    return {entity_id: min(counts, key=lambda key: (-counts[key], key)) for entity_id, counts in held.items()}


# Errors


def _errors(matched: _Matched) -> list[Error]:
    found = [span for span in sorted(matched.gold) if span in matched.ours]
    return sorted([*_misplaced(matched, found), *_mislinked(matched, found)], key=lambda e: (-e.cost, e.kind, e.id))


def _misplaced(matched: _Matched, found: Sequence[Span]) -> Iterator[Error]:
    key = {span: matched.gold[span].key for span in found}
    node = {span: matched.ours[span].entity_id for span in found}
    for kind, whole, part in (("missed merge", key, node), ("false merge", node, key)):
        held: dict[str, list[Span]] = defaultdict(list)
        for span in found:
            held[whole[span]].append(span)
        for id_, spans in held.items():
            if len({part[span] for span in spans}) > 1:
                parts = _parts(matched, spans, part)
                yield Error(kind, id_, _text(matched, spans), len(spans) - parts[0].mentions, parts[:_SHOWN_PARTS])


def _mislinked(matched: _Matched, found: Sequence[Span]) -> Iterator[Error]:
    wrong: dict[str, list[Span]] = defaultdict(list)
    unlinked: dict[str, list[Span]] = defaultdict(list)
    for span in found:
        true, link = matched.gold[span], matched.ours[span].link
        if link and link != true.key:
            wrong[link].append(span)
        elif not link and true.has_item:
            unlinked[true.key].append(span)
    missing = {key: spans for key, spans in unlinked.items() if any(matched.ours[span].candidate for span in spans)}
    keys = {span: matched.gold[span].key for span in found}
    candidates = {span: matched.ours[span].candidate or "" for span in found}
    for kind, groups, part in (("wrong link", wrong, keys), ("missing link", missing, candidates)):
        for id_, spans in groups.items():
            yield Error(kind, id_, _text(matched, spans), len(spans), _parts(matched, spans, part)[:_SHOWN_PARTS])


def _parts(matched: _Matched, spans: Iterable[Span], part: Mapping[Span, str]) -> tuple[Part, ...]:
    held: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        held[part[span]].append(span)
    made = [Part(id_, _text(matched, inside), len(inside), *inside[0]) for id_, inside in held.items()]
    return tuple(sorted(made, key=lambda p: (-p.mentions, p.id)))


def _text(matched: _Matched, spans: Iterable[Span]) -> str:
    """The commonest text of mentions; ties go to the longest, then to the alphabet."""
    counts = Counter(matched.gold[span].text for span in spans)
    return max(counts, key=lambda text: (counts[text], len(text), text))


# Without gold


def by_strength(merges: Iterable[Decision]) -> list[Decision]:
    """Merges across documents, those on most evidence first: by verdict, then those of more names, documents and margin."""

    def key(d: Decision) -> tuple[Any, ...]:
        documents, margin = (float(d.features.get(k) or 0.0) for k in ("documents", "margin"))
        return (MergeVerdict(d.verdict).weakness, -len(d.names), -documents, -margin, d.names, d.scope)

    return sorted(merges, key=key)


def standing(connection: Connection) -> Standing:
    """What can be said of nodes and links without gold."""

    def count(*conditions: Any) -> int:
        return int(connection.execute(select(func.count()).where(*conditions)).scalar_one())

    verdicts = _verdicts(connection)
    names_of = select(memberships.c.entity_id).group_by(memberships.c.entity_id).having(func.count(memberships.c.name.distinct()) > 1)
    kinds = _tally(connection, decisions.c.kind)
    types = _tally(connection, entities.c.type)
    return Standing(
        nodes=sum(types.values()),
        names=int(connection.execute(select(func.count()).select_from(document_names)).scalar_one()),
        mentions=int(connection.execute(select(func.coalesce(func.sum(entities.c.mentions), 0))).scalar_one()),
        nodes_with_several_names=int(connection.execute(select(func.count()).select_from(names_of.subquery())).scalar_one()),
        nodes_in_one_document=count(entities.c.documents == 1),
        linked_nodes=count(entities.c.wikidata_id.is_not(None)),
        registered_nodes=count(entities.c.registry_id.is_not(None)),
        links=verdicts["link"],
        nils=verdicts["nil"],
        abstentions=verdicts["abstain"],
        merges=kinds["merge"],
        splits=kinds["split"],
        several_owners=kinds["abstain"],
        by_type={t: types[t] for t in TYPES if t in types},
        weakest=tuple(_weakest(connection)),
    )


def _tally(connection: Connection, column: Column[Any]) -> Counter[str]:
    """How many rows have which value in a column."""
    return Counter(dict(connection.execute(select(column, func.count()).group_by(column)).tuples().all()))


def _verdicts(connection: Connection) -> Counter[str]:
    """How many names have which verdict, as judged."""
    known = [j for j in judgements.load(connection) if j.kind == "link"]
    counts = _tally(connection, links.c.verdict)
    spoken = sorted({j.subject.name for j in known})
    if spoken:
        c = links.c
        statement = select(c.document, c.name, c.candidate, c.confidence, c.wikidata_id, c.registry_id, c.verdict).where(c.name.in_(spoken))
        held = [Link(*row) for row in connection.execute(statement)]
        counts.subtract(link.verdict for link in held)
        counts.update(link.verdict for link in judgements.judged_links(known, held))
    return counts


def _weakest(connection: Connection) -> Iterator[Weak]:
    """The nodes whose item rests on the weakest links."""
    same_name = and_(memberships.c.document == links.c.document, memberships.c.name == links.c.name)
    same_item = and_(memberships.c.entity_id == entities.c.entity_id, links.c.wikidata_id == entities.c.wikidata_id)
    surest = func.min(links.c.confidence).label("surest")
    weakest = (
        select(entities.c.entity_id, surest)
        .select_from(links.join(memberships, same_name).join(entities, same_item))
        .group_by(entities.c.entity_id)
        .order_by(surest, entities.c.entity_id)
        .limit(WEAKEST)
    )
    for entity_id, confidence in connection.execute(weakest):
        row = connection.execute(
            select(entities.c.name, entities.c.wikidata_id, links.c.name.label("weakest"), links.c.document, entities.c.mentions)
            .select_from(links.join(memberships, same_name).join(entities, same_item))
            .where(entities.c.entity_id == entity_id, links.c.confidence == confidence)
            .order_by(links.c.document, links.c.name)
            .limit(1)
        ).one()
        yield Weak(entity_id, row.name, row.wikidata_id, confidence, row.weakest, row.document, row.mentions)
