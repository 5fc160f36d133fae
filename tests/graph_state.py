"""A state store for tests of the graph: what resolution found is given, the tables are filled from it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from conftest import Neo4jServer
from sqlalchemy import Engine, delete

from polyonym.graph import communities
from polyonym.graph.projection import elements
from polyonym.graph.relations import gather
from polyonym.graph.stores.embedded import Embedded, _described
from polyonym.graph.stores.model import EDGES, NODES
from polyonym.graph.stores.neo4j import Neo4j
from polyonym.graph.stores.store import GraphStore
from polyonym.graph.summaries import summaries
from polyonym.ingest import relations
from polyonym.ingest.mentions import mentions
from polyonym.ingest.mentions.mentions import Mention
from polyonym.ingest.relations import Relation
from polyonym.ingest.store.database import open_state
from polyonym.ingest.store.tables import insert_rows
from polyonym.ingest.text import chunks, documents
from polyonym.ingest.text.chunks import Chunk
from polyonym.ingest.text.documents import Document, content_hash
from polyonym.resolution import entities
from polyonym.resolution.entities import Alias, Entity, Membership
from polyonym.resolution.within_document import document_names
from polyonym.resolution.within_document.document_names import MentionName

Texts = Mapping[str, Sequence[int]]
"""For each document, the numbers of the things that it names, in order."""


def new_state(path: Path) -> Engine:
    """An empty state store in an SQLite file."""
    return open_state(f"sqlite:///{path}")


def fill(engine: Engine, texts: Texts, names: Mapping[int, str] | None = None) -> None:
    """Make the state say exactly this: thing 7 is the entity "e07" with the name "Thing 7" (or what `names` calls it), in a document
    of two chunks that share their middle sentence; things that follow one another occur together, and the first causes the last."""
    called = {n: f"Thing {n}" for things in texts.values() for n in things} | dict(names or {})
    with engine.begin() as connection:
        for table in (
            *(documents.documents, chunks.chunks, mentions.mentions, relations.relations, document_names.mention_names),
            *(entities.entities, entities.aliases, entities.memberships),
            *(communities.communities, communities.members, summaries.summaries),
        ):
            connection.execute(delete(table))
        named: Counter[int] = Counter()
        where: Counter[int] = Counter()
        for name, things in sorted(texts.items()):
            _fill_document(connection, name, things, called)
            named.update(things)
            where.update(set(things))
        insert_rows(
            connection,
            entities.entities,
            (vars(Entity(_id(n), called[n], "ORG", f"Q{n}" if n % 2 else None, None, None, where[n], named[n])) for n in sorted(named)),
        )
        insert_rows(connection, entities.aliases, (vars(Alias(_id(n), called[n], named[n])) for n in sorted(named)))
        _fill_communities(connection, sorted(named))
        gather(connection)


def fill_plainly(engine: Engine, count: int) -> None:
    """A state of `count` documents that name each other's things."""
    fill(engine, {f"doc-{i:04d}.txt": [i % 17, (i * 3) % 29, i % 5] for i in range(count)})


def _fill_document(connection: Any, name: str, things: Sequence[int], called: Mapping[int, str]) -> None:
    words = [called[n] for n in things]
    text = ". ".join(words)
    spans, at = [], 0
    for word in words:
        spans.append((at, at + len(word)))
        at += len(word) + 2
    documents.save(connection, [Document(name, "texts", name, f"About {name}", "en", text)])
    pieces = sorted({(0, len(text) * 2 // 3), (len(text) // 3, len(text))}) if text else []
    made = [
        Chunk(content_hash(name, str(start), text[start:end]), name, i, start, end, text[start:end], len(text[start:end].split()), "")
        for i, (start, end) in enumerate(pieces)
    ]
    chunks.replace(connection, [name], made)
    mentions.replace(connection, [name], [Mention(name, s, e, text[s:e], "ORG", s, e, ("pattern",)) for s, e in spans])
    insert_rows(
        connection,
        document_names.mention_names,
        (vars(MentionName(name, s, e, text[s:e].lower(), i)) for i, (s, e) in enumerate(spans)),
    )
    rows = [Membership(name, called[n].lower(), _id(n), count) for n, count in sorted(Counter(things).items())]
    insert_rows(connection, entities.memberships, map(vars, rows))
    found = [Relation(name, *a, *b, "co_occurs", "", a[0], b[1], f"{name} {a[0]}", "co-occurrence", "2020") for a, b in pairwise(spans)]
    if len(spans) > 2:
        found.append(Relation(name, *spans[0], *spans[-1], "causes", "lead to", spans[0][0], spans[-1][1], name, "verb"))
    relations.replace(connection, [name], found)


def _fill_communities(connection: Any, things: Sequence[int]) -> None:
    for part in sorted({n % 3 for n in things}):
        for level in range(2):
            row = {"community_id": f"c{level}-{part}", "level": level, "parent": f"c0-{part}" if level else None}
            insert_rows(connection, communities.communities, [{**row, "title": f"Part {part}", "content": ""}])
            rows = [{"community_id": f"c{level}-{part}", "entity_id": _id(n), "level": level} for n in things if n % 3 == part]
            insert_rows(connection, communities.members, rows)


def _id(thing: int) -> str:
    return f"e{thing:02d}"


def wanted_of(engine: Engine) -> dict[str, list[dict[str, Any]]]:
    """What the graph should hold, by kind, sorted."""
    with engine.connect() as connection:
        return {kind.name: _sorted(element.properties for element in elements(connection, kind)) for kind in (*NODES, *EDGES)}


def held_by(store: GraphStore) -> dict[str, list[dict[str, Any]]]:
    """What a store holds, by kind, sorted."""
    return {kind.name: _sorted(store.read(kind)) for kind in (*NODES, *EDGES)}


def _sorted(rows: Any) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


def connect(server: Neo4jServer, patience: float = 60.0) -> Neo4j:
    return Neo4j(server.url, server.user, server.password, patience=patience)


def spoil(store: GraphStore, *statements: str) -> None:
    """Change what a store holds behind the back of its home."""
    if isinstance(store, Neo4j):
        for statement in statements:
            store._write(statement)
        return
    assert isinstance(store, Embedded)
    import ladybug

    database = ladybug.Database(store.file)
    connection = ladybug.Connection(database)
    for statement in statements:
        connection.execute(statement)
    connection.close()
    database.close()
    store._name([_described(store.file)])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)
