"""Candidates: what a name in a document could refer to. The registry, the knowledge base and Wikidata answer alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Item:
    """One entry of the registry or of a knowledge base.

    `types` are names of our entity types (see entity_types.TYPES), empty when unknown. `popularity` is the number of
    sitelinks, or None where the source has none. `wikidata_id` is the entry's own id for a knowledge base, and the
    optional cross-reference for a registry entry.
    """

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    description: str | None = None
    types: tuple[str, ...] = ()
    popularity: int | None = None
    wikidata_id: str | None = None
    source: str = "kb"  # kb, registry or wikidata


@dataclass(frozen=True)
class Candidate:
    """An item that answers to a name, and how: `matched` is the label or alias that met it, `match` the kind of match."""

    item: Item
    matched: str
    match: str


class CandidateSource(Protocol):
    """Where candidates come from. `version` changes when its answers may change, which makes links stale."""

    @property
    def version(self) -> str: ...

    def candidates(self, names: Sequence[str]) -> dict[str, list[Candidate]]:
        """For each raw name, its candidates, best match first, ties in the order of ids."""
        ...
