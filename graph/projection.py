"""The nodes and edges that a home's graph should hold, streamed from its state: all, or those of whoever has changed.

Every stream ascends by owner and id, compared as Python compares texts, and reads the state in one pass, so that memory stays
bounded whatever the corpus.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import orjson
from sqlalchemy import Connection, Table, and_, select

from polyonym.graph.communities import communities, members
from polyonym.graph.difference import by_code_point, rows_of
from polyonym.graph.relations import entity_relations, evidence
from polyonym.graph.stores.model import EDGES, EdgeKind, NodeKind, edge_id
from polyonym.graph.summaries.summaries import summaries, texts
from polyonym.ingest.mentions.mentions import mentions
from polyonym.ingest.store.changes import Counters, owners_since
from polyonym.ingest.store.tables import select_where_in
from polyonym.ingest.text.chunks import chunks
from polyonym.ingest.text.documents import documents
from polyonym.resolution.entities import aliases, entities, memberships
from polyonym.resolution.within_document.document_names import mention_names

Properties = dict[str, Any]
Owners = Collection[str] | None
"""Of which documents, entities or communities; None for all."""
_Stream = Callable[[Connection, Owners], Iterator[tuple[str, Properties]]]
_MENTIONS = next(kind for kind in EDGES if kind.type == "MENTIONS")


@dataclass(frozen=True, slots=True)
class Element:
    """A node or an edge. `owner` is the document, entity or community by whose changes alone it may change.

    A node has its id among its properties, an edge the ids of its ends, as `source` and `target`.
    """

    owner: str
    id: str
    properties: Properties


def elements(connection: Connection, kind: NodeKind | EdgeKind, owners: Owners = None) -> Iterator[Element]:
    """Everything of one kind that the graph should hold (of these owners), ascending by owner and id."""
    stream, _ = _STREAMS[kind.name]
    for owner, properties in stream(connection, owners):
        yield Element(owner, properties["id"] if isinstance(kind, NodeKind) else edge_id(kind, properties), properties)


def rests_on(kind: NodeKind | EdgeKind) -> tuple[Table, ...]:
    """The tables that `elements` reads for one kind."""
    return _STREAMS[kind.name][1]


def changed_owners(connection: Connection, kind: NodeKind | EdgeKind, before: Counters) -> set[str] | None:
    """Whose elements of one kind may have changed since the editions `before`; None when that is not known."""
    owners = owners_since(connection, rests_on(kind), before)
    if owners and kind.name == "IN_COMMUNITY":  # communities are made after the entities have changed; until then a member may be gone
        owners.update(r.community_id for r in select_where_in(connection, select(members), members.c.entity_id, sorted(owners)))
    return owners


def _documents(connection: Connection, owners: Owners) -> Iterator[tuple[str, Properties]]:
    d = documents.c
    statement = select(d.document, d.title, d.language, d.source, d.date).order_by(by_code_point(connection, d.document))
    for document, title, language, source, date in rows_of(connection, statement, d.document, owners):
        yield document, {"id": document, "title": title, "language": language, "source": source, "date": date}


def _chunks(connection: Connection, owners: Owners) -> Iterator[tuple[str, Properties]]:
    c = chunks.c
    names = ("id", "document", "start_at", "end_at", "tokens", "text")
    statement = select(c.chunk, c.document, c.start_at, c.end_at, c.tokens, c.text)
    order = (by_code_point(connection, c.document), by_code_point(connection, c.chunk))
    for row in rows_of(connection, statement.order_by(*order), c.document, owners):
        yield row.document, dict(zip(names, row, strict=True))


def _entities(connection: Connection, owners: Owners) -> Iterator[tuple[str, Properties]]:
    e, a = entities.c, aliases.c
    columns = (e.entity_id, e.name, e.type, e.wikidata_id, e.registry_id, e.description, e.mentions, e.documents)
    names = ("id", "name", "type", "wikidata_id", "registry_id", "description", "mentions", "documents")
    order = (by_code_point(connection, e.entity_id), a.count.desc(), by_code_point(connection, a.name))
    statement = select(*columns, a.name).select_from(entities.outerjoin(aliases, a.entity_id == e.entity_id)).order_by(*order)
    for entity, group in groupby(rows_of(connection, statement, e.entity_id, owners), key=lambda row: row[0]):
        rows = list(group)
        known = [row[-1] for row in rows if row[-1] is not None]
        yield entity, {**dict(zip(names, rows[0][:-1], strict=True)), "aliases": known}


def _communities(connection: Connection, owners: Owners) -> Iterator[tuple[str, Properties]]:
    c = communities.c
    summary_texts = texts(connection, owners)
    statement = select(c.community_id, c.level, c.title).order_by(by_code_point(connection, c.community_id))
    for community, level, title in rows_of(connection, statement, c.community_id, owners):
        yield community, {"id": community, "level": level, "title": title, "summary": summary_texts.get(community)}


def _has_chunk(connection: Connection, owners: Owners) -> Iterator[tuple[str, Properties]]:
    c = chunks.c
    statement = select(c.chunk, c.document).order_by(by_code_point(connection, c.document), by_code_point(connection, c.chunk))
    for chunk, document in rows_of(connection, statement, c.document, owners):
        yield document, {"source": document, "target": chunk}


def _mentions(connection: Connection, owners: Owners) -> Iterator[tuple[str, Properties]]:
    # A mention lies in every chunk in which it starts: chunks may overlap.
    c, m = chunks.c, mentions.c
    inside = and_(m.document == c.document, m.start_at >= c.start_at, m.start_at < c.end_at)
    named = and_(mention_names.c.document == m.document, mention_names.c.start == m.start_at, mention_names.c.end == m.end_at)
    member = and_(memberships.c.document == mention_names.c.document, memberships.c.name == mention_names.c.name)
    joined = chunks.join(mentions, inside).join(mention_names, named).join(memberships, member)
    names = ("source", "target", "start_at", "end_at", "text")
    statement = select(c.document, c.chunk, memberships.c.entity_id, m.start_at, m.end_at, m.text).select_from(joined)
    order = (by_code_point(connection, c.document), by_code_point(connection, c.chunk))
    for (document, _), rows in groupby(rows_of(connection, statement.order_by(*order), c.document, owners), key=lambda row: row[:2]):
        mention_rows = [dict(zip(names, row[1:], strict=True)) for row in rows]
        for properties in sorted(mention_rows, key=lambda properties: edge_id(_MENTIONS, properties)):
            yield document, properties


def _related(connection: Connection, owners: Owners) -> Iterator[tuple[str, Properties]]:
    for r in entity_relations(connection, owners):
        evidence_json = orjson.dumps(
            [{"document": e.document, "start": e.start, "end": e.end, "date": e.date or None} for e in r.evidence]
        ).decode()
        ends = {"source": r.source, "target": r.target}
        yield (
            r.source,
            {**ends, "type": r.type, "predicate": r.predicate, "weight": r.weight, "confidence": r.confidence, "evidence": evidence_json},
        )


def _in_community(connection: Connection, owners: Owners) -> Iterator[tuple[str, Properties]]:
    m = members.c
    there = members.join(entities, entities.c.entity_id == m.entity_id).join(communities, communities.c.community_id == m.community_id)
    order = (by_code_point(connection, m.community_id), by_code_point(connection, m.entity_id))
    statement = select(m.entity_id, m.community_id, m.level).select_from(there).order_by(*order)
    for entity, community, level in rows_of(connection, statement, m.community_id, owners):
        yield community, {"source": entity, "target": community, "level": level}


def _part_of(connection: Connection, owners: Owners) -> Iterator[tuple[str, Properties]]:
    c = communities.c
    statement = select(c.community_id, c.parent).where(c.parent.is_not(None)).order_by(by_code_point(connection, c.community_id))
    for community, parent in rows_of(connection, statement, c.community_id, owners):
        yield community, {"source": community, "target": parent}


_STREAMS: dict[str, tuple[_Stream, tuple[Table, ...]]] = {
    "Document": (_documents, (documents,)),
    "Chunk": (_chunks, (chunks,)),
    "Entity": (_entities, (entities, aliases)),
    "Community": (_communities, (communities, summaries)),
    "HAS_CHUNK": (_has_chunk, (chunks,)),
    "MENTIONS": (_mentions, (chunks, mentions, mention_names, memberships)),
    "RELATED": (_related, (evidence,)),
    "IN_COMMUNITY": (_in_community, (members, entities, communities)),
    "PART_OF": (_part_of, (communities,)),
}
