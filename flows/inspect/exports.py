"""Exports: the state as JSON lines, sorted, with fixed keys, without times; what the contract promises to other programs."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import orjson
from sqlalchemy import Connection

from polyonym.flows.home import history
from polyonym.graph import communities, relations
from polyonym.graph.formats import graphml, rdf
from polyonym.graph.summaries import summaries
from polyonym.ingest.mentions import mentions
from polyonym.ingest.store import stage_marks
from polyonym.ingest.store.tables import batched
from polyonym.ingest.text import chunks, documents
from polyonym.resolution import decisions, entities, identity
from polyonym.resolution.decisions import Decision
from polyonym.resolution.judgements import judgements
from polyonym.resolution.judgements.judgements import Judgement
from polyonym.resolution.linking import links
from polyonym.resolution.linking.links import Link
from polyonym.resolution.within_document import document_names
from polyonym.resolution.within_document.document_entities import DocumentName

Row = dict[str, Any]


def lines(connection: Connection, kind: str) -> Iterator[bytes]:
    """The lines of one kind's file: JSON of a key of KINDS, or a format of FORMATS."""
    if kind in FORMATS:
        return (line.encode() + b"\n" for line in FORMATS[kind](connection))
    return (orjson.dumps(row) + b"\n" for row in export(connection, kind))


def export(connection: Connection, kind: str) -> Iterator[Row]:
    """The rows of one kind (a key of KINDS)."""
    return KINDS[kind](connection)


def _documents(connection: Connection) -> Iterator[Row]:
    for d in documents.load(connection):
        yield {
            "document": d.document,
            "source": d.source,
            "title": d.title,
            "language": d.language,
            "date": d.date,
            "date_from": d.date_from,
            "text": d.text,
            "metadata": d.metadata,
        }


def _rejected(connection: Connection) -> Iterator[Row]:
    for r in documents.rejections(connection):
        yield {"document": r.document, "reason": r.reason}


def _chunks(connection: Connection) -> Iterator[Row]:
    for batch in _documents_with(connection, "chunks"):
        for c in sorted(chunks.load(connection, batch), key=lambda c: (c.document, c.start, c.end)):
            yield {"chunk": c.chunk, "document": c.document, "start": c.start, "end": c.end, "text": c.text, "tokens": c.tokens}


def _mentions(connection: Connection) -> Iterator[Row]:
    linked = {e.entity_id: e.wikidata_id for e in entities.load(connection)}
    known = judgements.load(connection)
    sure = _confidences(connection, known, linked)
    for batch in _documents_with(connection, "names"):
        named = {(n.document, n.start, n.end): n.name for n in document_names.load_mentions(connection, batch)}
        entity_of = {(m.document, m.name): m.entity_id for m in entities.load_memberships(connection, batch)}
        link_of = {(k.document, k.name): k for k in judgements.judged_links(known, links.load_bare(connection, batch))}
        # What other documents say of the node settles no doubt; a longer name in the same one does.
        agreed = {
            (k.document, i) for key, k in link_of.items() if (i := entity_of.get(key)) and k.wikidata_id and k.wikidata_id == linked.get(i)
        }
        for m in sorted(mentions.load(connection, batch), key=lambda m: (m.document, m.start, m.end)):
            name = (m.document, named.get((m.document, m.start, m.end), ""))
            entity_id = entity_of.get(name)
            if entity_id is None:
                continue  # not resolved yet: an interrupted run's
            link = link_of.get(name) or Link(*name)
            item = linked.get(entity_id)
            in_doubt = link.verdict == "abstain" and (m.document, entity_id) not in agreed
            yield {
                "document": m.document,
                "start": m.start,
                "end": m.end,
                "text": m.text,
                "name": m.name,
                "label": m.label,
                "entity_id": entity_id,
                "wikidata_id": None if in_doubt else item,
                "candidate": link.candidate or item,
                "confidence": round(link.confidence if link.candidate else sure.get(entity_id, 0.0), 3),
            }


def _confidences(connection: Connection, known: Sequence[Judgement], linked: Mapping[str, str | None]) -> dict[str, float]:
    """For every entity the confidence of the surest link to its item."""
    surest: dict[str, float] = {}
    for batch in _documents_with(connection, "links"):
        entity_of = {(m.document, m.name): m.entity_id for m in entities.load_memberships(connection, batch)}
        for link in judgements.judged_links(known, links.load_bare(connection, batch)):
            entity_id = entity_of.get((link.document, link.name), "")
            if link.wikidata_id and link.wikidata_id == linked.get(entity_id):
                surest[entity_id] = max(link.confidence, surest.get(entity_id, 0.0))
    return surest


def _entities(connection: Connection) -> Iterator[Row]:
    names: dict[str, list[Row]] = defaultdict(list)
    for alias in entities.load_aliases(connection):
        names[alias.entity_id].append({"name": alias.name, "count": alias.count})
    for e in entities.load(connection):
        yield {
            "entity_id": e.entity_id,
            "name": e.name,
            "type": e.type,
            "wikidata_id": e.wikidata_id,
            "registry_id": e.registry_id,
            "description": e.description,
            "aliases": names[e.entity_id],
            "documents": e.documents,
            "mentions": e.mentions,
        }


def _relations(connection: Connection) -> Iterator[Row]:
    for r in relations.current_relations(connection):
        yield {
            "source": r.source,
            "target": r.target,
            "type": r.type,
            "predicate": r.predicate,
            "weight": r.weight,
            "confidence": r.confidence,
            "evidence": [{"document": e.document, "start": e.start, "end": e.end, "date": e.date or None} for e in r.evidence],
        }


def all_decisions(connection: Connection) -> Iterator[Decision]:
    """Every decision: those inside documents (grouping, links) and those across documents, sorted within each."""
    known = judgements.load(connection)
    for batch in _documents_with(connection, "links"):
        for name in document_names.load(connection, batch):
            if name.group != name.name:
                yield _group_decision(name)
        spans: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for mention in document_names.load_mentions(connection, batch):
            spans[mention.document, mention.name].append((mention.start, mention.end))
        for link in judgements.judged_links(known, links.load(connection, batch)):
            yield links.decision(link, spans[link.document, link.name])
    present = stage_marks.held(connection, "resolve")
    for d in decisions.load(connection):
        yield replace(d, spans=tuple(s for s in d.spans if s["document"] in present))


def _group_decision(name: DocumentName) -> Decision:
    spans = tuple({"document": name.document, "start": s, "end": e} for s, e in name.evidence)
    return Decision(name.document, "group", (name.name, name.group), "grouped", (), {"rule": name.rule}, "", spans)


def _decisions(connection: Connection) -> Iterator[Row]:
    for decision in all_decisions(connection):
        yield _decision_row(decision)


def _decision_row(d: Decision) -> Row:
    return {
        "kind": d.kind,
        "scope": d.scope,
        "names": list(d.names),
        "candidates": list(d.candidates),
        "features": d.features,
        "verdict": d.verdict,
        "weights_version": d.weights_version,
        "spans": list(d.spans),
    }


_CLOSE = 0.05
"""From this probability of being wrong on a join, a parting or a link is told as in doubt."""


def _review(connection: Connection) -> Iterator[Row]:
    """What was in doubt, the dearest first: names left apart, joins and partings of one name, links, each with the probability that it is
    wrong and how many mentions hang on it."""
    doubts = [row for d in all_decisions(connection) if (row := _doubt(d))]
    yield from sorted(doubts, key=lambda r: (-r["risk"], r["kind"], r["scope"], r["names"], [tuple(s.values()) for s in r["spans"]]))


def _doubt(d: Decision) -> Row | None:
    """A decision as a row of the review, None where it was not close."""
    likelihood = d.features.get("probability", d.features.get("confidence"))
    if d.kind == "abstain":
        probability, wrong = likelihood, 0.5
    elif likelihood is None or d.kind not in ("merge", "split", "link", "nil") or d.features.get("registry_id"):
        return None
    else:
        probability = likelihood
        wrong = likelihood if d.kind in ("split", "nil") else 1.0 - likelihood
    if wrong < _CLOSE:
        return None
    mentions = d.features.get("mentions") or len(d.spans)
    weights = d.features.get("weights", {})
    return {
        "kind": d.kind,
        "names": list(d.names),
        "scope": d.scope,
        "verdict": d.verdict,
        "probability": probability,
        "mentions": mentions,
        "risk": round(wrong * mentions, 3),
        "for": {f: w for f, w in weights.items() if w > 0},
        "against": {f: w for f, w in weights.items() if w < 0},
        "candidates": list(d.candidates),
        "margin": d.features.get("margin"),
        "spans": list(d.spans),
    }


def _communities(connection: Connection) -> Iterator[Row]:
    written = summaries.load(connection)
    for c in communities.load(connection).communities:
        summary = [{"sentence": s.sentence, "chunk": s.chunk} for s in written.get(c.community_id, ())]
        yield {
            "community_id": c.community_id,
            "level": c.level,
            "parent": c.parent,
            "title": c.title,
            "summary": summary,
            "entities": list(c.members),
        }


def _redirects(connection: Connection) -> Iterator[Row]:
    for r in identity.load(connection):
        yield {"old_id": r.old_id, "new_id": r.new_id, "why": r.why}


def _judgements(connection: Connection) -> Iterator[Row]:
    for j in judgements.load(connection):
        yield judgements.to_json(j)


def _runs(connection: Connection) -> Iterator[Row]:
    for r in history.load(connection):
        yield asdict(r)


def _documents_with(connection: Connection, stage: str) -> Iterable[list[str]]:
    """The documents of whose present text there is what a stage finds, in batches: others were changed, and wait for it."""
    return batched(sorted(stage_marks.held(connection, stage)), 500)


KINDS: dict[str, Callable[[Connection], Iterator[Row]]] = {
    "documents": _documents,
    "rejected": _rejected,
    "chunks": _chunks,
    "mentions": _mentions,
    "entities": _entities,
    "relations": _relations,
    "decisions": _decisions,
    "communities": _communities,
    "review": _review,
    "redirects": _redirects,
    "judgements": _judgements,
    "runs": _runs,
}

FORMATS: dict[str, Callable[[Connection], Iterator[str]]] = {"graphml": graphml.lines, "rdf": rdf.lines}
"""The graph in the forms that other programs read."""
