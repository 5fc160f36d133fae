"""What Prefect shows of a run."""

from typing import Any

import pytest
from home_fixtures import MakePlace, make_place

from polyonym.flows.orchestration import artifacts

__all__ = ["make_place"]  # a fixture


def test_the_diff_of_a_run_is_published_bounded(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: dict[str, list[dict[str, Any]]] = {}
    monkeypatch.setattr(artifacts, "create_table_artifact", lambda table, key, description: shown.update({key: table}))
    place = make_place(names={"Velmora": "ORG"}, fast=True)
    place.write({f"{n:02}.txt": "Velmora fell." for n in range(50)})
    artifacts.publish(place.ingest())
    of_kind = [row for row in shown["changes"] if row["change"] == "document new"]
    assert [row["what"] for row in of_kind] == [*(f"{n:02}.txt" for n in range(40)), "… and 10 more"]
    assert [row["name now"] for row in shown["changes"] if row["change"] == "entity new"] == ["Velmora"]
    artifacts.publish(place.ingest())
    assert shown["changes"] == []
