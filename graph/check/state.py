"""Whether the state keeps its promises."""

from sqlalchemy import Connection

from polyonym.graph.check.finding import Finding, findings
from polyonym.graph.check.never_one import wrongly_one
from polyonym.graph.check.references import leftovers, loose_ends
from polyonym.graph.check.texts import altered_documents, miscounted, unsound
from polyonym.graph.relations import wrong_evidence


def check_state(connection: Connection) -> list[Finding]:
    """Promise 8 (nothing is left of what was deleted, nothing refers to what is not there), promise 4 (what is never one), and whether
    what is held of each document fits to its text."""
    altered = altered_documents(connection)
    return [
        *leftovers(connection),
        *loose_ends(connection),
        *findings("documents", "texts that differ from their digest", sorted(altered), False),
        *(f for what, parts in unsound(connection, altered).items() for f in findings("state", what, (f"{d} {part}" for d, part in parts))),
        *findings("state", "entities that count their mentions or documents wrongly", connection.scalars(miscounted())),
        *findings("state", "documents whose evidence for relations is not what their names say", wrong_evidence(connection)),
        *wrongly_one(connection),
    ]
