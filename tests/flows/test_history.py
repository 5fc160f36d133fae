"""The history tells what runs did: all of it, also of runs that were killed."""

from collections.abc import Iterable

import pytest
from home_fixtures import MakePlace, Place, make_place
from sqlalchemy import Connection

from polyonym.flows.home import history
from polyonym.graph import communities

__all__ = ["make_place"]  # a fixture

NAMES = {"Velmora": "ORG", "Halden": "ORG", "Lindqvist": "PERSON", "Siemens": "ORG", "Kiel": "GPE", "Moreau": "PERSON"}
TEXTS = {"a.txt": "Velmora met Halden. Lindqvist leads Velmora and Halden.", "b.txt": "Siemens left Kiel. Moreau led Siemens in Kiel."}


class Killed(BaseException):
    """The process is gone."""


def told(place: Place) -> set[str]:
    """The communities that are there if all happened that the history tells."""
    with place.engine.connect() as connection:
        changes = history.folded(history.changes(connection, [r.run for r in history.load(connection)]))
    return {c.id for kind in ("community-new", "community-changed") for c in changes.get(kind, ())}


def there(place: Place) -> set[str]:
    with place.engine.connect() as connection:
        return {c.community_id for c in communities.load(connection).communities}


def test_a_kill_beside_a_partition_loses_nothing_of_its_history(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    place = make_place(names=NAMES)
    place.write(TEXTS)
    record = history.record

    def killed(connection: Connection, number: int, changes: Iterable[history.Change]) -> None:
        held = list(changes)
        if any(c.kind.startswith("community") for c in held):
            raise Killed
        record(connection, number, held)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(history, "record", killed)
        place.ingest()
    assert told(place) == there(place)
    place.ingest()
    assert told(place) == there(place) != set()
