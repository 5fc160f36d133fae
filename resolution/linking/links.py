"""Links: what the registry and the knowledge sources say of each (document, name)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Float, Table, Text, select

from polyonym.ingest.store.tables import Json, delete_where_in, insert_rows, metadata, select_where_in
from polyonym.ingest.text.documents import Document
from polyonym.resolution.decisions import Decision
from polyonym.resolution.linking.candidates import Candidate, CandidateSource, Item
from polyonym.resolution.linking.features import (
    FEATURES,
    LABEL,
    NO_MATCH,
    STOP_WORDS,
    DocumentWords,
    ItemWords,
    NameWords,
    features_of,
    item_words,
    name_words,
    tokens_of,
)
from polyonym.resolution.linking.knowledge_base import KnowledgeBase
from polyonym.resolution.linking.ranking import Ranked, Weights, confidence, confidence_features, rank, verdict
from polyonym.resolution.linking.registry import Registry
from polyonym.resolution.names.entity_types import compatible, majority
from polyonym.resolution.names.normal_forms import demonym_of, region_of
from polyonym.resolution.within_document.document_entities import DocumentName


@dataclass(frozen=True)
class Link:
    """What the knowledge sources say of one (document, name).

    `candidate` is the best knowledge-base item even when no link is made, `confidence` the probability that it is right,
    `wikidata_id` the link made, or None (NIL or in doubt: `verdict` says which). `candidates` holds the considered items
    with their features and scores, best first, ready to be shown.
    """

    document: str
    name: str
    candidate: str | None = None
    confidence: float = 0.0
    wikidata_id: str | None = None
    registry_id: str | None = None
    verdict: str = "nil"  # link, nil or abstain
    candidates: tuple[dict[str, Any], ...] = ()
    weights_version: str = ""


SHOWN = 4
"""So many candidates are kept with a link, to explain it."""
HEARD = 0.02
"""From this share on, what one name of a document gives an item is heard by the other names."""
_SHORTENED = frozenset(("short form", "left off"))
"""Rules by which a name is an organisation's or place's longer one with words left off."""
SPELLINGS = 3
"""So many of a name's spellings are looked up, the commonest first."""

links = Table(
    "links",
    metadata,
    Column("document", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("candidate", Text),
    Column("confidence", Float, nullable=False),
    Column("wikidata_id", Text, index=True),
    Column("registry_id", Text, index=True),
    Column("verdict", Text, nullable=False),
    Column("candidates", Json, nullable=False),
    Column("weights_version", Text, nullable=False),
)


def replace(connection: Connection, documents: Sequence[str], rows: Iterable[Link]) -> None:
    """Put the links of these documents in place of the ones before."""
    delete_where_in(connection, links.c.document, documents)
    insert_rows(connection, links, map(vars, rows))


def load(connection: Connection, documents: Sequence[str] | None = None) -> Iterator[Link]:
    """The links of these documents (of all without), sorted within batches."""
    for row in _rows(connection, list(links.c), documents):
        yield Link(*(*row[:7], tuple(row.candidates), row.weights_version))


def load_bare(connection: Connection, documents: Sequence[str] | None = None) -> Iterator[Link]:
    """Like `load`, without the candidates: they are most of what there is to read."""
    for row in _rows(connection, [c for c in links.c if c is not links.c.candidates], documents):
        yield Link(*(*row[:7], (), row.weights_version))


def _rows(connection: Connection, columns: Sequence[Column[Any]], documents: Sequence[str] | None) -> Iterable[Any]:
    statement = select(*columns).order_by(links.c.document, links.c.name)
    return connection.execute(statement) if documents is None else select_where_in(connection, statement, links.c.document, documents)


def decision(link: Link, spans: Sequence[tuple[int, int]]) -> Decision:
    """The link as a decision, for export; `spans` are its name's mentions. The margin is the first candidate's share less the second's."""
    shares = [candidate["share"] for candidate in link.candidates[:2]]
    features = {
        "confidence": link.confidence,
        "margin": round(shares[0] - sum(shares[1:]), 3) if shares else None,
        "candidate": link.candidate,
        "wikidata_id": link.wikidata_id,
        "registry_id": link.registry_id,
    }
    return Decision(
        link.document,
        link.verdict,
        (link.name,),
        link.wikidata_id or link.registry_id or link.verdict,
        link.candidates,
        features,
        link.weights_version,
        tuple({"document": link.document, "start": start, "end": end} for start, end in spans),
    )


@dataclass(frozen=True)
class Pool:
    """The candidates of one (document, name) with their features, in the order of ids."""

    name: DocumentName
    words: NameWords
    has_head: bool
    items: list[ItemWords]
    matrix: list[list[float]]

    def rank(self, weights: Weights) -> Ranked:
        return rank(self.matrix, [(-i.prominence, len(i.item.id), i.item.id) for i in self.items], weights)


def link_documents(
    documents: Sequence[Document],
    names: Mapping[str, Sequence[DocumentName]],
    registry: Registry | None,
    sources: Sequence[CandidateSource],
    weights: Weights,
) -> list[Link]:
    """One link for every name of these documents, sorted by document and name.

    `names` holds each document's names. The registry answers first; then the sources, of which the first that knows an item describes it. A document's links
    depend on nothing outside it but the sources, so any cut into batches gives the same.
    """
    made = []
    for pool in pools(documents, names, sources, weights):
        link = _by_score(pool, weights)
        made.append(link)
    if registry is not None and registry.items:
        texts = {d.document: d for d in documents}
        made = [
            _by_registry(link, pool_name, names[link.document], texts[link.document], registry)
            for link, pool_name in zip(made, _in_order(documents, names), strict=True)
        ]
    return made


def _in_order(documents: Sequence[Document], names: Mapping[str, Sequence[DocumentName]]) -> Iterator[DocumentName]:
    for document in sorted(documents, key=lambda d: d.document):
        yield from sorted(names.get(document.document, ()), key=lambda n: n.name)


def pools(
    documents: Sequence[Document], names: Mapping[str, Sequence[DocumentName]], sources: Sequence[CandidateSource], weights: Weights
) -> Iterator[Pool]:
    """The candidates of every name with their features, sorted by document and name. `weights` decide what a longer name hands on to its shorter ones."""
    # A server is asked for names as they stand alone: each further one would be a request more.
    at_hand = [source for source in sources if isinstance(source, KnowledgeBase)]
    every = [n for here in names.values() for n in here]
    asked = {(n.document, n.name): _queries(n) for n in every}
    answers = _ask(sources, (q for queries in asked.values() for q in queries))
    variants = {(n.document, n.name): _variants(n, _well_known(asked[n.document, n.name], answers)) for n in every}
    more = _ask(at_hand, (q for queries in variants.values() for q in queries))
    prepared: dict[str, ItemWords] = {}

    def found(name: DocumentName) -> dict[str, tuple[ItemWords, frozenset[str]]]:
        out: dict[str, tuple[ItemWords, frozenset[str]]] = {}
        key = (name.document, name.name)
        for kind, candidates in (
            *((kind, answers[q]) for q, kind in asked[key].items()),
            *((kind, more[q]) for q, kind in variants[key].items()),
        ):
            for candidate in candidates:
                if kind and candidate.match not in LABEL and candidate.match != "exact alias":
                    continue
                item = candidate.item
                words, kinds = out.get(item.id) or (prepared.get(item.id) or prepared.setdefault(item.id, item_words(item)), NO_MATCH)
                out[item.id] = (words, kinds | {kind or candidate.match})
        return _told(name.name, out)

    for document in sorted(documents, key=lambda d: d.document):
        here = names.get(document.document, ())
        text = DocumentWords(document)
        words = {n.name: name_words(text, n) for n in here}
        items = {n.name: found(n) for n in here}
        first = []
        for name in sorted(here, key=lambda n: n.name):
            head = name.group if name.group != name.name and name.group in words else None
            own, longer = items[name.name], items[head] if head else {}
            chosen = [(i, (own.get(i) or longer[i])[0]) for i in sorted(own.keys() | longer.keys())]
            matrix = [
                features_of(text, words[name.name], words[head] if head else None, item, _kinds(own, i), _kinds(longer, i))
                for i, item in chosen
            ]
            first.append(Pool(name, words[name.name], head is not None, [item for _, item in chosen], matrix))
        _second_pass(first, weights)
        yield from first


def _told(name: str, found: dict[str, tuple[ItemWords, frozenset[str]]]) -> dict[str, tuple[ItemWords, frozenset[str]]]:
    """The items found for a normalised name, without those that are described as lying elsewhere than it says ("cambridge, massachusetts")."""
    region = tokens_of(name.partition(",")[2])

    def tells(item: ItemWords) -> bool:
        return all(t in item.label or item.tells(t) for t in region)

    if not any(tells(item) for item, _ in found.values()):
        return found
    return {i: held for i, held in found.items() if tells(held[0]) or not held[0].description}


def _kinds(found: Mapping[str, tuple[ItemWords, frozenset[str]]], item: str) -> frozenset[str]:
    return found[item][1] if item in found else NO_MATCH


INHERITED, LONGER, OTHER = (FEATURES.index(f) for f in ("inherited", "longer name", "other name"))


def _second_pass(pools: Sequence[Pool], weights: Weights) -> None:
    """Fill in what a document's names say of one another's candidates."""
    shares: dict[str, dict[str, float]] = {}  # by item, by name
    for pool in pools:
        if pool.items:
            ranked = pool.rank(weights)
            for i, share in zip(ranked.order, ranked.shares, strict=True):
                if share >= HEARD:
                    shares.setdefault(pool.items[i].item.id, {})[pool.name.name] = round(share, 3)
    tokens = {pool.name.name: pool.words.tokens for pool in pools}
    for pool in pools:
        own = pool.words.tokens
        for item, row in zip(pool.items, pool.matrix, strict=True):
            for name, share in shares.get(item.item.id, {}).items():
                if name == pool.name.name:
                    continue
                column = INHERITED if name == pool.name.group else LONGER if own < tokens[name] else OTHER
                row[column] = max(row[column], share)


def _ask(sources: Sequence[CandidateSource], names: Iterable[str]) -> dict[str, list[Candidate]]:
    """What the sources together say of names; of two that know an item the first counts."""
    wanted = sorted(set(names))
    answers: dict[str, list[Candidate]] = {name: [] for name in wanted}
    for source in sources:
        for name, candidates in source.candidates(wanted).items():
            answers[name] += candidates
    return answers


def asked_of(name: DocumentName) -> list[str]:
    """All names under which a server is asked about one name of a document: what its link may rest on."""
    return list(_queries(name))


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


def _variants(name: DocumentName, well_known: bool) -> dict[str, str]:
    """Further names to look up, with the kind of match that each makes: the singular or plural; for a name that nothing answers to, its beginnings and ends of two
    words or more, and what stands before its region ("Cambridge, Massachusetts")."""
    made: dict[str, str] = {}
    if len(name.name) > 4 and not name.name.endswith("ss"):
        made[name.surface.removesuffix("s") if name.name.endswith("s") else name.surface + "s"] = "number"
    if not well_known:
        if "," in name.name:
            made[name.name.partition(",")[0]] = "part"
        words = name.surface.split()
        made |= {" ".join(part): "part" for n in range(2, len(words)) for part in (words[:n], words[-n:])}
    return made


def _well_known(queries: Mapping[str, str], answers: Mapping[str, Sequence[Candidate]]) -> bool:
    return any(
        c.match not in ("start", "end", "outer", "sounds", "initials")
        for query, kind in queries.items()
        if not kind
        for c in answers[query]
    )


def _by_score(pool: Pool, weights: Weights) -> Link:
    name = pool.name
    if not pool.items:
        return Link(name.document, name.name, weights_version=weights.version)
    ranked = pool.rank(weights)
    top = pool.items[ranked.order[0]].item
    sure = confidence(confidence_features(pool.words, name.count, pool.has_head, ranked, pool.matrix[ranked.order[0]]), weights)
    what = verdict(sure, ranked, weights)
    shown = tuple(
        _shown(pool.items[i].item, score, share, pool.matrix[i])
        for i, score, share in list(zip(ranked.order, ranked.scores, ranked.shares, strict=True))[:SHOWN]
    )
    return Link(name.document, name.name, top.id, sure, top.id if what == "link" else None, None, what, shown, weights.version)


def _shown(item: Item, score: float, share: float, values: Sequence[float]) -> dict[str, Any]:
    features = {f: round(v, 3) for f, v in zip(FEATURES, values, strict=True) if v}
    return {
        "id": item.id,
        "label": item.label,
        "description": item.description,
        "score": score,
        "share": round(share, 3),
        "features": features,
    }


def _by_registry(link: Link, name: DocumentName, here: Sequence[DocumentName], document: Document, registry: Registry) -> Link:
    """The link as the registry decides it: an exact name or alias of the name itself, else of its longer name."""
    heads = [n for n in here if n.name == name.group and n.name != name.name]
    for asked in (name, *heads):
        entries = _entries(asked, registry)
        if not entries:
            continue
        if asked is name and name.rule in _SHORTENED and not any(_entries(head, registry) for head in heads):
            # The document says that it is short for a name that the registry does not know: another firm of that short name, it may be.
            return Link(
                link.document, link.name, entries[0].wikidata_id, 0.5, None, None, "abstain", tuple(_entry(e, 0.5) for e in entries)
            )
        if len(entries) == 1:
            return _registered(link, entries[0], 1.0, entries)
        # Several entries share the name: what the document says of them decides, or nobody.
        text = DocumentWords(document)
        evidence = {e.id: _evidence(e, asked, text) for e in entries}
        best, second, *_ = sorted(entries, key=lambda e: (evidence[e.id], e.id), reverse=True)
        if evidence[best.id] > evidence[second.id]:
            return _registered(link, best, 0.9, entries)
        return Link(link.document, link.name, best.wikidata_id, 0.5, None, None, "abstain", tuple(_entry(e, 0.5) for e in entries))
    return link


def _entries(name: DocumentName, registry: Registry) -> list[Item]:
    labels = majority(name.labels)
    return [e for e in registry.matching([*name.surfaces, name.name]) if all(compatible(t, labels) for t in e.types)]


def _evidence(entry: Item, name: DocumentName, text: DocumentWords) -> tuple[int, int]:
    """What speaks for an entry: the longest of the name's spellings that it bears to the letter ("Halden ASA" tells the firm from the town),
    then how many words of what is said of it stand in the document.
    """
    spelled = max((len(s) for s in name.surfaces if s in (entry.label, *entry.aliases)), default=0)
    own = {t for s in name.surfaces for t in tokens_of(s)} | STOP_WORDS
    words = {t for part in (entry.label, *entry.aliases, entry.description or "") for t in tokens_of(part)} - own
    return spelled, sum(t in text.everywhere for t in words if len(t) > 2)


def _registered(link: Link, entry: Item, sure: float, entries: Sequence[Item]) -> Link:
    shown = tuple(_entry(e, sure if e.id == entry.id else 0.0) for e in entries)
    candidate = entry.wikidata_id or link.candidate
    return Link(
        link.document, link.name, candidate, sure if entry.wikidata_id else link.confidence, entry.wikidata_id, entry.id, "link", shown
    )


def _entry(item: Item, share: float) -> dict[str, Any]:
    return {
        "id": item.id,
        "label": item.label,
        "description": item.description,
        "score": 0.0,
        "share": share,
        "features": {"registry": 1.0},
    }
