"""Relations between entities that no sentence states: a people and its country."""

from collections.abc import Mapping

from home_fixtures import MakePlace, Place, make_place

__all__ = ["make_place"]  # a fixture

NAMES = {
    "Germany": "GPE",
    "Germans": "NORP",
    "German": "NORP",
    "German Bank": "ORG",
    "Georgia": "GPE",
    "Georgian": "NORP",
    "Halden": "GPE",
}


def demonyms(place: Place) -> list[tuple[str, str, list[Mapping[str, object]]]]:
    names = {e["entity_id"]: e["name"] for e in place.export("entities")}
    return [(names[r["source"]], names[r["target"]], r["evidence"]) for r in place.export("relations") if r["type"] == "demonym_of"]


def test_a_people_is_tied_to_its_country_and_says_where(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write({"a.txt": "German firms grew. A German left.", "b.txt": "Germany grew.", "c.txt": "A Georgian left Halden."})
    place.ingest()
    assert demonyms(place) == [("German", "Germany", [{"document": "a.txt", "start": 0, "end": 6}])]
    assert len(place.export("entities")) == 4
    place.write({"b.txt": "Georgia grew."})
    place.ingest()
    assert [(people, country) for people, country, _ in demonyms(place)] == [("Georgian", "Georgia")]


def test_united_with_its_country_a_people_has_no_relation_to_it(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.set(unite_demonyms=True)
    place.write({"a.txt": "German firms left Germany."})
    place.ingest()
    assert demonyms(place) == [] and len(place.export("entities")) == 1
