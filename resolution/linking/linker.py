"""From pools to links: what the registry says, else the scores; and that one item is not two things of one document."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polyonym.ingest.text.documents import Document
from polyonym.resolution.linking.abstention import verdict
from polyonym.resolution.linking.candidates import CandidateSource, Item
from polyonym.resolution.linking.features import FEATURES, DocumentWords
from polyonym.resolution.linking.links import Link
from polyonym.resolution.linking.pools import Pool, pools
from polyonym.resolution.linking.ranking import Weights, confidence
from polyonym.resolution.linking.registry import Registry
from polyonym.resolution.linking.words import STOP_WORDS, tokens_of
from polyonym.resolution.names.comparison import alike
from polyonym.resolution.names.entity_types import compatible, majority
from polyonym.resolution.names.normal_forms import normalise
from polyonym.resolution.within_document.document_entities import DocumentName

SHOWN = 4
"""So many candidates are kept with a link, to explain it."""
_OWN_NAME = frozenset(("exact label", "label", "bare label", "exact alias", "alias", "number", "region"))
"""Kinds of match by which a name is one of the item's own."""
_SHORTENED = frozenset(("short form", "left off"))
"""Rules by which a name is an organisation's or place's longer one with words left off."""


def link_documents(
    documents: Sequence[Document],
    names: Mapping[str, Sequence[DocumentName]],
    registry: Registry | None,
    sources: Sequence[CandidateSource],
    weights: Weights,
) -> list[Link]:
    """One link for every name of these documents, sorted by document and name; the names of one thing have the same.

    `names` holds each document's names. The registry answers first; then the sources, of which the first that knows an item describes it. A document's links
    depend on nothing outside it but the sources, so any cut into batches gives the same.
    """
    by_document: dict[str, list[tuple[Pool, Link]]] = {}
    for pool in pools(documents, names, sources, weights):
        by_document.setdefault(pool.head.document, []).append((pool, _by_score(pool, weights)))
    made = [
        replace(link, name=n.name)
        for of_document in by_document.values()
        for pool, link in _one_thing_each(of_document)
        for n in pool.names
    ]
    made.sort(key=lambda k: (k.document, k.name))
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


def is_name_of(name: str, kinds: frozenset[str], item: Item) -> bool:
    """Whether a normalised name that answers to an item so is one of the item's own: a label or alias, or a form that the tables derive from one."""
    return not _OWN_NAME.isdisjoint(kinds) or any(alike(name, normalise(own)) for own in (item.label, *item.aliases))


def _by_score(pool: Pool, weights: Weights) -> Link:
    head = pool.head
    if not pool.items:
        return Link(head.document, head.name, weights_version=weights.version)
    ranked = pool.rank(weights)
    best = ranked.order[0]
    top = pool.items[best].item
    sure = confidence(pool.confidence_features(ranked), weights)
    what = verdict(sure, ranked, weights)
    shown = tuple(
        _shown(pool.items[i].item, score, share, pool.matrix[i])
        for i, score, share in list(zip(ranked.order, ranked.scores, ranked.shares, strict=True))[:SHOWN]
    )
    own = is_name_of(head.name, pool.kinds[best], top)
    return Link(head.document, head.name, top.id, sure, top.id if what == "link" else None, None, what, shown, weights.version, own)


def _one_thing_each(of_document: Sequence[tuple[Pool, Link]]) -> Iterator[tuple[Pool, Link]]:
    """One document's links, where of several things with one item only the surest keeps it, and what bears the item's own name as well: these are one."""
    keeper: dict[str, Link] = {}
    for _, link in sorted(of_document, key=lambda h: (not h[1].named, -h[1].confidence, h[1].name)):
        if link.wikidata_id:
            keeper.setdefault(link.wikidata_id, link)
    for pool, link in of_document:
        first = keeper.get(link.wikidata_id or "", link)
        if first is not link and not (first.named and link.named):
            link = replace(link, wikidata_id=None, verdict="abstain")
        yield pool, link


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
    ordered = sorted(entries, key=lambda e: e.id != entry.id)
    shown = tuple(_entry(e, sure if e.id == entry.id else 0.0) for e in ordered)
    candidate = entry.wikidata_id or link.candidate
    return Link(
        link.document,
        link.name,
        candidate,
        sure if entry.wikidata_id else link.confidence,
        entry.wikidata_id,
        entry.id,
        "link",
        shown,
        named=True,
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
