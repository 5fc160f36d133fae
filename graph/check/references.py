"""Whether anything is left of what was deleted (promise 8), or refers to what is not there."""

from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, Select, select

from polyonym.graph.check.finding import Finding, findings
from polyonym.graph.communities import communities, members
from polyonym.graph.communities import load as load_partition
from polyonym.graph.summaries.summaries import extract, read_candidates, summaries
from polyonym.graph.summaries.summaries import load as load_summaries
from polyonym.ingest.store.model_outputs import outputs, uses
from polyonym.ingest.store.tables import metadata
from polyonym.ingest.text.chunks import chunks
from polyonym.ingest.text.documents import documents, rejected
from polyonym.resolution.entities import aliases, entities, memberships


def left_documents(connection: Connection) -> set[str]:
    """The documents that are gone but left rows in some table."""
    return {name for names in _left(connection).values() for name in names}


def leftovers(connection: Connection) -> Iterator[Finding]:
    """Rows of documents that are gone."""
    for table, names in _left(connection).items():
        yield from findings("state", f"documents that are gone but left rows in {table}", names)


def _left(connection: Connection) -> dict[str, list[str]]:
    """Documents that are not there and have rows, by table, whatever table: one that is added later is looked at as well."""
    there = select(documents.c.document).union(select(rejected.c.document))
    tables = (t for t in metadata.sorted_tables if "document" in t.c and t not in (documents, rejected))
    return {
        t.name: list(connection.scalars(select(t.c.document).where(t.c.document.not_in(there)).distinct().order_by(t.c.document)))
        for t in tables
    }


def loose_ends(connection: Connection) -> Iterator[Finding]:
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
        yield from findings(where, what, connection.scalars(_without(column, target)))
    parents = _without(communities.c.parent, communities.c.community_id).where(communities.c.parent.is_not(None))
    yield from findings("communities", "parents that are no communities", connection.scalars(parents))
    yield from findings("summaries", "communities without a summary", _unsummarised(connection))
    known = set(connection.scalars(select(chunks.c.chunk)))
    cited = {s.chunk for sentences in load_summaries(connection).values() for s in sentences}
    yield from findings("summaries", "chunks that summaries rest on and that are gone", sorted(cited - known))


def _unsummarised(connection: Connection) -> list[str]:
    """The communities that have no summary although there are sentences about them."""
    summarised = load_summaries(connection)
    divided = load_partition(connection).communities
    if all(c.community_id in summarised for c in divided):
        return []
    chosen = extract(divided, read_candidates(connection, divided))
    return sorted(i for i, picks in chosen.items() if picks and i not in summarised)


def _without(column: ColumnElement[str], target: ColumnElement[str]) -> Select[str]:
    """The values of `column` that `target` does not have."""
    return select(column).where(column.not_in(select(target))).distinct().order_by(column)
