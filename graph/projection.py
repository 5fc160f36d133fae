"""The nodes and edges that a home's graph should hold, streamed from its state.

Every stream ascends by id, compared as Python compares texts, and reads the state in one pass, so that memory stays
bounded whatever the corpus.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import orjson
from sqlalchemy import Connection, Table, and_, select

from graph.communities import communities, members
from graph.difference import by_code_point, rows_of
from graph.model import EDGES, EdgeKind, NodeKind, edge_id
from graph.relations import RESTS_ON, entity_relations
from graph.summaries import summaries, texts
from ingest.chunks import chunks
from ingest.documents import documents
from ingest.mentions import mentions
from resolution.document_names import mention_names
from resolution.entities import aliases, entities, memberships

Properties = dict[str, Any]
_MENTIONS = next(kind for kind in EDGES if kind.type == "MENTIONS")


def elements(connection: Connection, kind: NodeKind | EdgeKind) -> Iterator[tuple[str, Properties]]:
    """(id, properties) of everything of one kind that the graph should hold, ascending by id.

    A node has its id among its properties, an edge the ids of its ends, as `source` and `target`.
    """
    stream, _ = _STREAMS[kind.name]
    for properties in stream(connection):
        yield (properties["id"] if isinstance(kind, NodeKind) else edge_id(kind, properties)), properties


def rests_on(kind: NodeKind | EdgeKind) -> tuple[Table, ...]:
    """The tables that `elements` reads for one kind."""
    return _STREAMS[kind.name][1]


def _documents(connection: Connection) -> Iterator[Properties]:
    d = documents.c
    statement = select(d.document, d.title, d.language, d.source).order_by(by_code_point(connection, d.document))
    for document, title, language, source in rows_of(connection, statement):
        yield {"id": document, "title": title, "language": language, "source": source}


def _chunks(connection: Connection) -> Iterator[Properties]:
    c = chunks.c
    statement = select(c.chunk, c.document, c.start_at, c.end_at, c.tokens, c.text).order_by(by_code_point(connection, c.chunk))
    for chunk, document, start, end, tokens, text in rows_of(connection, statement):
        yield {"id": chunk, "document": document, "start_at": start, "end_at": end, "tokens": tokens, "text": text}


def _entities(connection: Connection) -> Iterator[Properties]:
    e, a = entities.c, aliases.c
    columns = (e.entity_id, e.name, e.type, e.wikidata_id, e.registry_id, e.description, e.mentions, e.documents)
    names = ("id", "name", "type", "wikidata_id", "registry_id", "description", "mentions", "documents")
    order = (by_code_point(connection, e.entity_id), a.count.desc(), by_code_point(connection, a.name))
    statement = select(*columns, a.name).select_from(entities.outerjoin(aliases, a.entity_id == e.entity_id)).order_by(*order)
    for _, group in groupby(rows_of(connection, statement), key=lambda row: row[0]):
        rows = list(group)
        known = [row[-1] for row in rows if row[-1] is not None]
        yield {**dict(zip(names, rows[0][:-1], strict=True)), "aliases": known}


def _communities(connection: Connection) -> Iterator[Properties]:
    c = communities.c
    told = texts(connection)
    for community, level, title in rows_of(
        connection, select(c.community_id, c.level, c.title).order_by(by_code_point(connection, c.community_id))
    ):
        yield {"id": community, "level": level, "title": title, "summary": told.get(community)}


def _has_chunk(connection: Connection) -> Iterator[Properties]:
    statement = select(chunks.c.chunk, chunks.c.document).order_by(by_code_point(connection, chunks.c.chunk))
    for chunk, document in rows_of(connection, statement):
        yield {"source": document, "target": chunk}


def _mentions(connection: Connection) -> Iterator[Properties]:
    # A mention lies in every chunk in which it starts: chunks may overlap.
    c, m = chunks.c, mentions.c
    inside = and_(m.document == c.document, m.start_at >= c.start_at, m.start_at < c.end_at)
    named = and_(mention_names.c.document == m.document, mention_names.c.start == m.start_at, mention_names.c.end == m.end_at)
    member = and_(memberships.c.document == mention_names.c.document, memberships.c.name == mention_names.c.name)
    joined = chunks.join(mentions, inside).join(mention_names, named).join(memberships, member)
    columns = (c.chunk, memberships.c.entity_id, m.start_at, m.end_at, m.text)
    statement = select(*columns).select_from(joined).order_by(by_code_point(connection, c.chunk))
    for _, rows in groupby(rows_of(connection, statement), key=lambda row: row[0]):
        found = [dict(zip(("source", "target", "start_at", "end_at", "text"), row, strict=True)) for row in rows]
        yield from sorted(found, key=lambda properties: edge_id(_MENTIONS, properties))


def _related(connection: Connection) -> Iterator[Properties]:
    for r in entity_relations(connection):
        evidence = orjson.dumps([{"document": d, "start": s, "end": e} for d, s, e in r.evidence]).decode()
        ends = {"source": r.source, "target": r.target}
        yield {**ends, "type": r.type, "predicate": r.predicate, "weight": r.weight, "evidence": evidence}


def _in_community(connection: Connection) -> Iterator[Properties]:
    # Communities are made after the entities have changed; until then a member may be gone.
    m = members.c
    there = members.join(entities, entities.c.entity_id == m.entity_id).join(communities, communities.c.community_id == m.community_id)
    order = (by_code_point(connection, m.entity_id), by_code_point(connection, m.community_id))
    statement = select(m.entity_id, m.community_id, m.level).select_from(there).order_by(*order)
    for entity, community, level in rows_of(connection, statement):
        yield {"source": entity, "target": community, "level": level}


def _part_of(connection: Connection) -> Iterator[Properties]:
    c = communities.c
    statement = select(c.community_id, c.parent).where(c.parent.is_not(None)).order_by(by_code_point(connection, c.community_id))
    for community, parent in rows_of(connection, statement):
        yield {"source": community, "target": parent}


_STREAMS: dict[str, tuple[Callable[[Connection], Iterator[Properties]], tuple[Table, ...]]] = {
    "Document": (_documents, (documents,)),
    "Chunk": (_chunks, (chunks,)),
    "Entity": (_entities, (entities, aliases)),
    "Community": (_communities, (communities, summaries)),
    "HAS_CHUNK": (_has_chunk, (chunks,)),
    "MENTIONS": (_mentions, (chunks, mentions, mention_names, memberships)),
    "RELATED": (_related, RESTS_ON),
    "IN_COMMUNITY": (_in_community, (members, entities, communities)),
    "PART_OF": (_part_of, (communities,)),
}
