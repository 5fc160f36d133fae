"""Decisions across documents, as they were made, with all that each rests on.

What is decided inside one document stands with its names (document_names) and links (links); `export decisions` shows all.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, Connection, Table, Text, select

from polyonym.ingest.store.tables import Json, delete_where_in, insert_rows, metadata, select_where_in


class MergeVerdict(StrEnum):
    """On what grounds within-document entities of different documents were joined, the strongest first. Values are stored: none may be changed."""

    JUDGED_SAME = "judged the same"
    SAME_ITEM = "same Wikidata item"
    SAME_REGISTRY_ENTRY = "same registry entry"
    SAME_ADDRESS = "same e-mail address"
    SAME_NAME = "same name"
    SAME_LETTERS = "same letters"
    SAME_WORDS = "same words"
    PLURAL = "singular and plural"
    FULLER_NAME = "fuller name of a person"
    ALIKE_OF_ONE_ITEM = "linked to one item, and alike"
    ONLY_OWNER_OF_NAME = "only owner of the short name"
    ONLY_OWNER_OF_SURNAME = "only owner of the surname"
    PEOPLE_OF_COUNTRY = "people of a country"
    SLIP = "slip of the pen"
    WHAT_IS_SAID = "what is said of it"
    MOST_DOCUMENTS = "most documents mean this one"
    NEAREST_CONTEXT = "nearest context"

    @property
    def weakness(self) -> int:
        """Its place in the order, 0 for the strongest."""
        return _WEAKNESS[self]


_WEAKNESS = {verdict: place for place, verdict in enumerate(MergeVerdict)}


@dataclass(frozen=True)
class Decision:
    """One decision with all that it rests on. `scope` is the document or name whose change withdraws it. The verdict of a merge is a
    MergeVerdict; another one raises ValueError.
    """

    scope: str
    kind: str  # group, merge, split, link, nil, abstain
    names: tuple[str, ...]
    verdict: str
    candidates: tuple[dict[str, Any], ...] = ()
    features: dict[str, Any] = field(default_factory=dict)
    weights_version: str = ""
    spans: tuple[dict[str, Any], ...] = ()  # {document, start, end}

    def __post_init__(self) -> None:
        if self.kind == "merge":
            object.__setattr__(self, "verdict", MergeVerdict(self.verdict))


decisions = Table(
    "decisions",
    metadata,
    Column("scope", Text, nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("names", Json, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("candidates", Json, nullable=False),
    Column("features", Json, nullable=False),
    Column("weights_version", Text, nullable=False),
    Column("spans", Json, nullable=False),
)


def by_strength(merges: Iterable[Decision]) -> list[Decision]:
    """Merges across documents, those on most evidence first: by verdict, then the likelier ones, then those of more names, documents and
    margin.
    """

    def key(d: Decision) -> tuple[Any, ...]:
        documents, margin = (float(d.features.get(k) or 0.0) for k in ("documents", "margin"))
        return (MergeVerdict(d.verdict).weakness, -d.features.get("probability", 1.0), -len(d.names), -documents, -margin, d.names, d.scope)

    return sorted(merges, key=key)


def replace(connection: Connection, scopes: Sequence[str], made: Iterable[Decision]) -> None:
    """Withdraw the decisions of these scopes, store the ones made now."""
    delete_where_in(connection, decisions.c.scope, sorted(set(scopes)))
    insert_rows(connection, decisions, (vars(d) | {"verdict": str(d.verdict)} for d in made))


def load(connection: Connection, scopes: Sequence[str] | None = None) -> Iterator[Decision]:
    """Decisions of these scopes (all without), sorted within batches."""
    statement = select(decisions).order_by(decisions.c.scope, decisions.c.kind, decisions.c.names, decisions.c.verdict)
    rows: Iterable[Any] = (
        connection.execute(statement) if scopes is None else select_where_in(connection, statement, decisions.c.scope, scopes)
    )
    for row in rows:
        yield Decision(
            row.scope, row.kind, tuple(row.names), row.verdict, tuple(row.candidates), row.features, row.weights_version, tuple(row.spans)
        )
