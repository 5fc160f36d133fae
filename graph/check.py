"""Whether the state keeps its promises, and whether each projection holds what the state says: graph store and vector indexes.

A projection that differs can be made again from the state. A state that breaks a promise is a fault of ours, and only another
run can mend it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Engine, Select, select

from graph.communities import communities, members
from graph.difference import difference, properties_hash
from graph.model import EDGES, NODES, EdgeKind, NodeKind, edge_id
from graph.store import GraphStore, check_owner, distrust, wanted
from graph.summaries import load as load_summaries
from graph.summaries import summaries
from ingest.chunks import chunks
from ingest.documents import documents, rejected
from ingest.errors import Damaged
from ingest.mentions import mentions
from ingest.model_outputs import outputs, uses
from ingest.state import metadata
from resolution import judgements
from resolution.clusters import firm_type
from resolution.document_names import document_names, mention_names
from resolution.entities import aliases, entities, load_memberships, memberships
from resolution.entity_types import compatible
from resolution.resolve import load_units
from resolution.units import Unit

_EXAMPLES = 5


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be: where, what, how often, some examples, and whether repair puts it right."""

    where: str
    what: str
    count: int = 1
    examples: tuple[str, ...] = ()
    repairable: bool = True

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.examples) else ""
        return f"{self.where}: {self.count} {self.what}" + (f" ({', '.join(self.examples)}{more})" if self.examples else "")


def check_state(connection: Connection) -> list[Finding]:
    """Promise 8 (nothing is left of what was deleted, nothing refers to what is not there) and promise 4 (what is never one)."""
    return [*_leftovers(connection), *_loose_ends(connection), *_wrongly_one(connection)]


def check_graph(engine: Engine, store: GraphStore, home: str) -> list[Finding]:
    """The store's marker, every node and edge by id and content, the counts, and what is acknowledged, against the state.

    Raises WrongUse when the store is another home's, ServerAway when it does not answer.
    """
    with engine.connect() as connection:
        try:
            marker = store.marker()
            check_owner(marker, home)
            if reason := distrust(connection, store, marker):
                return [Finding("graph", reason)]
            return _compare_graph(connection, store)
        except Damaged as error:
            return [Finding("graph", f"store damaged: {error}")]


def check_index(name: str, wanted: Mapping[str, str], held: Callable[[], Mapping[str, str]]) -> list[Finding]:
    """A vector index, id to content hash, against what it should hold; `held` may raise Damaged."""
    where = f"index {name}"
    try:
        holds = held()
    except Damaged as error:
        return [Finding(where, f"index damaged: {error}")]
    return [
        *_found(where, "vectors missing", sorted(wanted.keys() - holds.keys())),
        *_found(where, "orphaned vectors", sorted(holds.keys() - wanted.keys())),
        *_found(where, "vectors of an older content", sorted(i for i in wanted.keys() & holds.keys() if wanted[i] != holds[i])),
    ]


def _compare_graph(connection: Connection, store: GraphStore) -> list[Finding]:
    findings: list[Finding] = []
    nodes = sum(_compare_kind(connection, store, kind, findings) for kind in NODES) + 1
    relationships = sum(_compare_kind(connection, store, kind, findings) for kind in EDGES)
    if findings:
        return findings
    counts = store.counts()
    if (counts.nodes, counts.relationships) != (nodes, relationships):
        text = f"wrong count: {counts.nodes} nodes and {counts.relationships} relationships instead of {nodes} and {relationships}"
        return [Finding("graph", text)]
    changes = (c.id for kind in (*NODES, *EDGES) for c in difference(connection, store.projection, wanted(connection, kind), kind.name))
    return _found("graph", "nodes or relationships acknowledged wrongly", changes)


def _compare_kind(connection: Connection, store: GraphStore, kind: NodeKind | EdgeKind, findings: list[Finding]) -> int:
    """How many of a kind there should be; what differs is added to `findings`."""
    held: dict[str, str] = {}
    twice: list[str] = []
    for properties in store.read(kind):
        id_ = properties["id"] if isinstance(kind, NodeKind) else edge_id(kind, properties)
        if id_ in held:
            twice.append(id_)
        held[id_] = properties_hash(properties)
    missing, other, count = [], [], 0
    for item in wanted(connection, kind):
        count += 1
        hash_ = held.pop(item.id, None)
        if hash_ is None:
            missing.append(item.id)
        elif hash_ != item.hash:
            other.append(item.id)
    for what, ids in (("missing", missing), ("too many", sorted(held)), ("stored twice", sorted(twice)), ("with another content", other)):
        findings += _found("graph", f"{kind.name} {what}", ids)
    return count


def _leftovers(connection: Connection) -> Iterator[Finding]:
    """Rows of documents that are not there, in whatever table: one that is added later is looked at as well."""
    there = select(documents.c.document).union(select(rejected.c.document))
    for table in metadata.sorted_tables:
        if "document" in table.c and table not in (documents, rejected):
            statement = select(table.c.document).where(table.c.document.not_in(there)).distinct().order_by(table.c.document)
            yield from _found("state", f"documents that are gone but left rows in {table.name}", connection.scalars(statement), False)


def _loose_ends(connection: Connection) -> Iterator[Finding]:
    """Rows that refer to what is not there."""
    references = (
        ("aliases of no entity", aliases.c.entity_id, entities.c.entity_id),
        ("names of no entity", memberships.c.entity_id, entities.c.entity_id),
        ("entities without a name in any document", entities.c.entity_id, memberships.c.entity_id),
        ("members of communities that are no entities", members.c.entity_id, entities.c.entity_id),
        ("members of no community", members.c.community_id, communities.c.community_id),
        ("communities of no members", communities.c.community_id, members.c.community_id),
        ("summaries of no community", summaries.c.community_id, communities.c.community_id),
        ("model outputs that nothing uses", outputs.c.content, uses.c.content),
    )
    for what, column, target in references:
        yield from _found("state", what, connection.scalars(_without(column, target)), False)
    parents = _without(communities.c.parent, communities.c.community_id).where(communities.c.parent.is_not(None))
    yield from _found("state", "parents that are no communities", connection.scalars(parents), False)
    yield from _found("state", "mentions without a name, or names without a mention", _unnamed(connection), False)
    known = set(connection.scalars(select(chunks.c.chunk)))
    cited = {s.chunk for sentences in load_summaries(connection).values() for s in sentences}
    yield from _found("state", "chunks that summaries rest on and that are gone", sorted(cited - known), False)


def _unnamed(connection: Connection) -> Iterator[str]:
    """Mentions without a name in their document, and names whose mention is gone or that stand for no entity."""
    m, n = mentions.c, mention_names.c
    same = (m.document == n.document) & (m.start_at == n.start) & (m.end_at == n.end)
    joined = select(m.document, m.start_at).select_from(mentions.outerjoin(mention_names, same)).where(n.name.is_(None))
    lost = select(n.document, n.start).select_from(mention_names.outerjoin(mentions, same)).where(m.text.is_(None))
    b, d = memberships.c, document_names.c
    owned = (b.document == d.document) & (b.name == d.name)
    nobody = select(d.document, d.name).select_from(document_names.outerjoin(memberships, owned)).where(b.entity_id.is_(None))
    for statement in (joined, lost, nobody):
        yield from (f"{document} {what}" for document, what in connection.execute(statement.order_by(*statement.selected_columns)))


def _wrongly_one(connection: Connection) -> Iterator[Finding]:
    """Promise 4, for every entity: its Wikidata ids, its registry ids, its types, and what people have judged different."""
    of = {(m.document, m.name): m.entity_id for m in load_memberships(connection)}
    units: dict[str, list[Unit]] = {}
    everything = []
    for unit in load_units(connection, None):
        everything.append(unit)
        for entity in sorted({of[name.document, name.name] for name in unit.names if (name.document, name.name) in of}):
            units.setdefault(entity, []).append(unit)
    yield from _found("state", "entities of several Wikidata ids", (e for e in sorted(units) if len(_wikidata(units[e])) > 1), False)
    registered = (e for e in sorted(units) if len({u.registry_id for u in units[e] if u.registry_id}) > 1 and not _same_item(units[e]))
    yield from _found("state", "entities of several registry ids", registered, False)
    yield from _found("state", "entities of types that cannot go together", (e for e in sorted(units) if _types_clash(units[e])), False)
    apart = judgements.constraints(judgements.load(connection), everything).different
    owners = {unit.key: of.get((unit.document, unit.head)) for unit in everything}
    torn = sorted({str(owners[a]) for a, b in apart if owners[a] is not None and owners[a] == owners[b]})
    yield from _found("state", "entities of names that were judged different", torn, False)


def _wikidata(units: Iterable[Unit]) -> set[str]:
    return {u.wikidata_id for u in units if u.wikidata_id}


def _same_item(units: Iterable[Unit]) -> bool:
    """Whether all that have a registry id have one and the same Wikidata id as well."""
    return len({u.wikidata_id or u.registry_id for u in units if u.registry_id}) == 1


def _types_clash(units: Iterable[Unit]) -> bool:
    types = sorted({firm_type(u) for u in units})
    return any(not compatible(a, b) for a in types for b in types)


def _without(column: ColumnElement[str], target: ColumnElement[str]) -> Select[str]:
    """The values of `column` that `target` does not have."""
    return select(column).where(column.not_in(select(target))).distinct().order_by(column)


def _found(where: str, what: str, ids: Iterable[str], repairable: bool = True) -> list[Finding]:
    listed = [i.replace("\t", " → ") for i in ids]
    return [Finding(where, what, len(listed), tuple(listed[:_EXAMPLES]), repairable)] if listed else []
