"""Rows of tables: what their columns say of the values, and what a row says of the things that it names."""

import pytest
from home_fixtures import MakePlace, make_place

from polyonym.ingest.mentions.records import fields
from polyonym.ingest.text.documents import Document

__all__ = ["make_place"]  # a fixture


def labels(text: str, file: str = "a.csv", **metadata: str) -> dict[str, str]:
    document = Document("a.csv/1", "s", file, "", "en", text, dict(metadata))
    return {text[f.start : f.end]: f.label for f in fields(document)}


def test_columns_say_what_their_values_are() -> None:
    assert labels("name: Karin Holm\nfirm: Velmora Energy\nrole: CFO\ncity: Aarhus\nnote: Likes it") == {
        "Karin Holm": "PERSON",
        "Velmora Energy": "ORG",
        "CFO": "ROLE",
        "Aarhus": "GPE",
        "Likes it": "",
    }
    assert labels("Contact person: Otto Hahnemann; Ingrid Dahl\nParentCompany: Nordkabel AS") == {
        "Otto Hahnemann": "PERSON",
        "Ingrid Dahl": "PERSON",
        "Nordkabel AS": "ORG",
    }


def test_a_name_is_what_the_columns_beside_it_say() -> None:
    assert labels("name: Velmora") == {"Velmora": ""}
    assert labels("name: Velmora", founded="1999") == {"Velmora": "ORG"}
    assert labels("name: Karin Holm", born="1970") == {"Karin Holm": "PERSON"}


@pytest.mark.parametrize("value", ["none of them", "Velmora, Nordvik and others", "Sold to Velmora. Then closed."])
def test_what_is_no_single_name_is_left_to_the_recogniser(value: str) -> None:
    assert set(labels(f"firm: {value}").values()) == {""}


def test_prose_is_no_record() -> None:
    assert labels("firm: Velmora grew.\nThen it fell.") == {}
    assert labels("name: Karin Holm\nfirm: Velmora", file="a.txt") == {}


def test_a_table_of_people_gives_people_and_what_they_have_to_do_with(make_place: MakePlace) -> None:
    place = make_place()
    place.write({"a.csv": "name,firm,role,city\nKarin Holm,Velmora Energy,CFO,Aarhus\nMarta Kowalska,Baltic Cables,Secretary,Gdansk\n"})
    place.ingest()
    nodes = {e["entity_id"]: (e["name"], e["type"]) for e in place.export("entities")}
    people = [("Karin Holm", "PERSON"), ("Marta Kowalska", "PERSON")]
    assert sorted(nodes.values()) == sorted(
        [*people, ("Velmora Energy", "ORG"), ("Baltic Cables", "ORG"), ("Aarhus", "PLACE"), ("Gdansk", "PLACE")]
    )
    related = {
        (nodes[r["source"]][0], r["predicate"], nodes[r["target"]][0]) for r in place.export("relations") if r["type"] == "related_to"
    }
    assert related == {
        ("Karin Holm", "firm", "Velmora Energy"),
        ("Karin Holm", "city", "Aarhus"),
        ("Marta Kowalska", "firm", "Baltic Cables"),
        ("Marta Kowalska", "city", "Gdansk"),
    }
    together = {frozenset((nodes[r["source"]][0], nodes[r["target"]][0])) for r in place.export("relations") if r["type"] == "co_occurs"}
    assert frozenset(("Velmora Energy", "Aarhus")) in together and frozenset(("Karin Holm", "Marta Kowalska")) not in together
