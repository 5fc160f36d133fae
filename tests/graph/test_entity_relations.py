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
    assert demonyms(place) == [("German", "Germany", [{"document": "a.txt", "start": 0, "end": 6, "date": None}])]
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


MAIL = "From: Nora Feld <nora@example.org>\nTo: Tomas Lind <tomas@example.org>\n\n"
SAID = "Acme met the lawyers of Boltwerk in the harbour on Monday, and both were content."


def weight(place: Place) -> tuple[int, int]:
    """The weight of Acme's company with Boltwerk, and in how many places it is shown."""
    (row,) = [r for r in place.export("relations") if r["type"] == "co_occurs"]
    return row["weight"], len(row["evidence"])


def test_what_a_mail_quotes_is_no_new_evidence(make_place: MakePlace) -> None:
    """In whatever order the mails came, and when the quoted one is deleted the quotation stands for itself."""
    place = make_place(names={"Acme": "ORG", "Boltwerk": "ORG"}, fast=True)
    quoting = f"{MAIL}I agree.\n\n> Acme met the lawyers of\n> Boltwerk in the harbour on\n> Monday, and both were content.\n"
    place.write({"b.eml": quoting})
    place.ingest()
    assert weight(place) == (1, 1)
    place.write({"a.eml": MAIL + SAID})
    place.ingest()
    assert weight(place) == (1, 2)
    place.write({"c.eml": f"{MAIL}Acme left Boltwerk."})
    place.ingest()
    assert weight(place) == (2, 3)
    (place.source / "a.eml").unlink()
    place.ingest()
    assert weight(place) == (2, 2)


def test_a_relation_is_surer_the_more_sentences_say_it_and_quotations_add_nothing(make_place: MakePlace) -> None:
    place = make_place(names={"Acme": "ORG", "Boltwerk": "ORG"}, fast=True)
    place.write({"2022-11-24.txt": "Acme met Boltwerk."})
    place.ingest()

    def row() -> Mapping[str, object]:
        return next(r for r in place.export("relations") if r["type"] == "co_occurs")

    once = row()["confidence"]
    assert isinstance(once, float) and 0 < once < 1
    assert [e["date"] for e in row()["evidence"]] == ["2022-11-24"]  # type: ignore[index]
    place.write({"copy.txt": "Acme met Boltwerk."})
    place.ingest()
    assert row()["confidence"] == once
    place.write({"more.txt": "In 1998 Boltwerk left Acme."})
    place.ingest()
    assert once < row()["confidence"] < 1  # type: ignore[operator]
    assert sorted(str(e["date"]) for e in row()["evidence"]) == ["1998", "2022-11-24", "None"]  # type: ignore[index]
    dates = {d["document"]: (d["date"], d["date_from"]) for d in place.export("documents")}
    assert dates == {"2022-11-24.txt": ("2022-11-24", "file"), "copy.txt": (None, None), "more.txt": (None, None)}
