"""Whether the state keeps its promises, and whether each projection holds what the state says: graph store and vector indexes.

A projection that differs can be made again from the state, and so can what the state holds beside the documents' texts where it
does not fit to them. A text that is not what was read can only be read again; a promise that is broken is a fault of ours.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Engine, Select, exists, func, or_, select

from polyonym.graph.communities import communities, members
from polyonym.graph.communities import load as load_partition
from polyonym.graph.difference import difference, properties_hash
from polyonym.graph.load import check_owner, distrust, wanted
from polyonym.graph.relations import wrong_evidence
from polyonym.graph.stores.model import EDGES, NODES, EdgeKind, NodeKind, edge_id
from polyonym.graph.stores.store import GraphStore
from polyonym.graph.summaries.summaries import extract, read_candidates, summaries
from polyonym.graph.summaries.summaries import load as load_summaries
from polyonym.ingest.errors import Damaged
from polyonym.ingest.mentions.mentions import mentions
from polyonym.ingest.store.model_outputs import outputs, uses
from polyonym.ingest.store.tables import batched, metadata
from polyonym.ingest.text import chunks as chunks_table
from polyonym.ingest.text import documents as documents_table
from polyonym.ingest.text.chunks import chunks
from polyonym.ingest.text.documents import content_hash, documents, rejected
from polyonym.resolution.clustering.block_keys import unit_keys
from polyonym.resolution.clustering.clusters import firm_type
from polyonym.resolution.clustering.resolve import load_units
from polyonym.resolution.entities import aliases, entities, load_memberships, memberships
from polyonym.resolution.judgements import judgements
from polyonym.resolution.linking.links import links
from polyonym.resolution.names.entity_types import compatible
from polyonym.resolution.within_document import document_names as names_table
from polyonym.resolution.within_document.document_entities import Unit
from polyonym.resolution.within_document.document_names import document_names, mention_names

_EXAMPLES = 5
TOO_MANY, OTHER = "too many", "with another content"
"""What is said of a graph that has more, or other things, than the state: either may be right."""
_AT_ONCE = 200


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
    """Promise 8 (nothing is left of what was deleted, nothing refers to what is not there), promise 4 (what is never one), and whether
    what is held of each document fits to its text."""
    altered = altered_documents(connection)
    return [
        *_leftovers(connection),
        *_loose_ends(connection),
        *_found("documents", "texts that differ from their digest", sorted(altered), False),
        *(f for what, parts in _unsound(connection, altered).items() for f in _found("state", what, (f"{d} {part}" for d, part in parts))),
        *_found("state", "entities that count their mentions or documents wrongly", connection.scalars(_miscounted())),
        *_found("state", "documents whose evidence for relations is not what their names say", wrong_evidence(connection)),
        *_wrongly_one(connection),
    ]


def altered_documents(connection: Connection) -> set[str]:
    """The documents whose text, title, language or metadata is not what was read."""
    held = documents_table.digests(connection)
    return {d.document for batch in _batches(held) for d in documents_table.load(connection, batch) if d.digest != held[d.document][0]}


def left_documents(connection: Connection) -> set[str]:
    """The documents that are gone but left rows in some table."""
    return {name for names in _left(connection).values() for name in names}


def unsound_documents(connection: Connection, altered: Collection[str]) -> set[str]:
    """The documents, but for `altered` ones, of which something is held that does not fit to their text, or whose entities count wrongly."""
    own = {document for parts in _unsound(connection, altered).values() for document, _ in parts} | set(wrong_evidence(connection))
    rows = connection.execute(select(memberships.c.document).where(memberships.c.entity_id.in_(_miscounted())).distinct())
    return ((own | set(rows.scalars())) & documents_table.digests(connection).keys()).difference(altered)


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
    for what, ids in (("missing", missing), (TOO_MANY, sorted(held)), ("stored twice", sorted(twice)), (OTHER, other)):
        findings += _found("graph", f"{kind.name} {what}", ids)
    return count


def _leftovers(connection: Connection) -> Iterator[Finding]:
    for table, names in _left(connection).items():
        yield from _found("state", f"documents that are gone but left rows in {table}", names)


def _left(connection: Connection) -> dict[str, list[str]]:
    """Documents that are not there and have rows, by table, whatever table: one that is added later is looked at as well."""
    there = select(documents.c.document).union(select(rejected.c.document))
    tables = (t for t in metadata.sorted_tables if "document" in t.c and t not in (documents, rejected))
    return {
        t.name: list(connection.scalars(select(t.c.document).where(t.c.document.not_in(there)).distinct().order_by(t.c.document)))
        for t in tables
    }


def _loose_ends(connection: Connection) -> Iterator[Finding]:
    """Rows that refer to what is not there."""
    references = (
        ("state", "aliases of no entity", aliases.c.entity_id, entities.c.entity_id),
        ("state", "names of no entity", memberships.c.entity_id, entities.c.entity_id),
        ("state", "entities without a name in any document", entities.c.entity_id, memberships.c.entity_id),
        ("state", "model outputs that nothing uses", outputs.c.content, uses.c.content),
        ("communities", "members of communities that are no entities", members.c.entity_id, entities.c.entity_id),
        ("communities", "members of no community", members.c.community_id, communities.c.community_id),
        ("communities", "communities of no members", communities.c.community_id, members.c.community_id),
        ("summaries", "summaries of no community", summaries.c.community_id, communities.c.community_id),
    )
    for where, what, column, target in references:
        yield from _found(where, what, connection.scalars(_without(column, target)))
    parents = _without(communities.c.parent, communities.c.community_id).where(communities.c.parent.is_not(None))
    yield from _found("communities", "parents that are no communities", connection.scalars(parents))
    yield from _found("summaries", "communities without a summary", _unsummarised(connection))
    known = set(connection.scalars(select(chunks.c.chunk)))
    cited = {s.chunk for sentences in load_summaries(connection).values() for s in sentences}
    yield from _found("summaries", "chunks that summaries rest on and that are gone", sorted(cited - known))


def _unsummarised(connection: Connection) -> list[str]:
    """The communities that have no summary although there are sentences about them."""
    held = load_summaries(connection)
    divided = load_partition(connection).communities
    if all(c.community_id in held for c in divided):
        return []
    chosen = extract(divided, read_candidates(connection, divided))
    return sorted(i for i, picks in chosen.items() if picks and i not in held)


def _unsound(connection: Connection, altered: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """What does not fit to a document's text (that of `altered` ones says nothing) or to what else is held of it: (document, which) by kind."""
    return {
        "chunks that are not what stands in their document": list(_wrong_chunks(connection, altered)),
        "mentions without a name, or names without a mention": list(_unnamed(connection)),
        "names without a link, or that no block knows": list(_unlinked(connection)),
        "names whose mentions are counted wrongly": list(_miscounted_names(connection)),
    }


def _wrong_chunks(connection: Connection, altered: Collection[str]) -> Iterator[tuple[str, str]]:
    for batch in _batches(documents_table.digests(connection).keys() - altered):
        text_of = {d.document: d.text for d in documents_table.load(connection, batch)}
        for c in chunks_table.load(connection, batch):
            if c.text != text_of[c.document][c.start : c.end] or c.content != content_hash(c.text):
                yield c.document, str(c.start)


def _miscounted_names(connection: Connection) -> Iterator[tuple[str, str]]:
    counted = {(n.document, n.name): n.count for n in names_table.load(connection)}
    for m in load_memberships(connection):
        if m.mentions != counted.get((m.document, m.name), m.mentions):
            yield m.document, m.name


def _miscounted() -> Select[str]:
    """The entities that count other mentions or documents than their names have."""
    m, e = memberships.c, entities.c
    sums = select(m.entity_id, func.sum(m.mentions).label("mentions"), func.count(m.document.distinct()).label("documents"))
    counted = sums.group_by(m.entity_id).subquery()
    wrong = or_(counted.c.mentions != e.mentions, counted.c.documents != e.documents)
    return select(e.entity_id).join(counted, counted.c.entity_id == e.entity_id).where(wrong).order_by(e.entity_id)


def _batches(documents: Iterable[str]) -> Iterator[list[str]]:
    return batched(sorted(documents), _AT_ONCE)


def _unnamed(connection: Connection) -> Iterator[tuple[str, str]]:
    """Mentions without a name in their document, and names whose mention is gone or that stand for no entity."""
    m, n = mentions.c, mention_names.c
    same = (m.document == n.document) & (m.start_at == n.start) & (m.end_at == n.end)
    joined = select(m.document, m.start_at).select_from(mentions.outerjoin(mention_names, same)).where(n.name.is_(None))
    lost = select(n.document, n.start).select_from(mention_names.outerjoin(mentions, same)).where(m.text.is_(None))
    b, d = memberships.c, document_names.c
    owned = (b.document == d.document) & (b.name == d.name)
    nobody = select(d.document, d.name).select_from(document_names.outerjoin(memberships, owned)).where(b.entity_id.is_(None))
    known = (n.document == d.document) & (n.name == d.name)
    unknown = select(n.document, n.name).select_from(mention_names.outerjoin(document_names, known)).where(d.name.is_(None))
    for statement in (joined, lost, nobody, unknown):
        yield from ((document, str(what)) for document, what in connection.execute(statement.order_by(*statement.selected_columns)))


def _unlinked(connection: Connection) -> Iterator[tuple[str, str]]:
    d, k, u = document_names.c, links.c, unit_keys.c
    made = (k.document == d.document) & (k.name == d.name)
    yield from connection.execute(
        select(d.document, d.name)
        .select_from(document_names.outerjoin(links, made))
        .where(k.verdict.is_(None))
        .order_by(d.document, d.name)
    ).tuples()
    indexed = exists().where(u.document == d.document, u.head == d.group)
    yield from connection.execute(select(d.document, d.group).where(~indexed).distinct().order_by(d.document, d.group)).tuples()


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
