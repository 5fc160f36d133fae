"""Search finds what the indexes hold, and compares vectors of one model only."""

import pytest
from crashing import WordHashes
from home_fixtures import MakePlace, make_place

from polyonym.flows.inspect.search import search
from polyonym.ingest.errors import WrongUse

__all__ = ["make_place"]  # a fixture


def test_vectors_of_another_model_are_not_searched(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyonym.flows.inspect.search.Embedder", lambda model: WordHashes())
    place = make_place(names={"Velmora": "ORG"}, fast=True)
    place.write({"a.txt": "Velmora fell silent.", "b.txt": "Prices rose."})
    place.ingest()
    it = place.opened()
    with it.engine.connect() as connection:
        hits = search(it.home, it.settings, connection, "Prices rose.", 1)
        place.set(embedding_model="another")
        with pytest.raises(WrongUse, match=r"not made by the model that the settings name, another.*polyonym ingest"):
            search(it.home, place.opened().settings, connection, "Prices rose.", 1)
    assert [(h.kind, h.text) for h in hits] == [("entity", "Velmora (ORG)"), ("chunk", "Prices rose.")]
