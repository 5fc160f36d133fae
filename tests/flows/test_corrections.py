"""Promise 7 in a home: what people correct is obeyed at once, in every later run, and taken back without a trace."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from home_fixtures import MakePlace, Place, contents, difference, entity_of, make_place, names_of
from typer.testing import CliRunner

from polyonym.flows.cli import app, common, corrections, showing
from polyonym.flows.home import history, interrupts
from polyonym.flows.home.home import Home, Opened
from polyonym.flows.home.interrupts import Interrupted
from polyonym.flows.home.settings import load_settings
from polyonym.flows.pipeline import corrections as correcting
from polyonym.graph.check.state import check_state
from polyonym.ingest.errors import WrongUse
from polyonym.resolution.judgements import judgements
from polyonym.resolution.judgements.judgements import Judgement
from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.linking.knowledge_base import build

__all__ = ["corrections", "make_place", "showing"]  # a fixture, and modules that register commands

NAMES = {"Velmora Group": "ORG", "VLMR": "ORG", "Halden": "GPE", "Mette Lindqvist": "PERSON", "Lindqvist": "PERSON", "Siemens": "ORG",
         "Kiel": "GPE", "Apple": "ORG", "Court": "ORG", "Supreme Court": "ORG", "John Smith": "PERSON", "Germany": "GPE"}  # fmt: skip
TEXTS = {
    "a.txt": "Velmora Group left Halden. Velmora Group grew. Apple rose.",
    "b.txt": "VLMR rose. Siemens left Kiel.",
    "c.txt": "Siemens met Lindqvist in Halden. Apple fell, Apple said, and Apple is a fruit.",
}


@pytest.fixture
def place(make_place: MakePlace) -> Place:
    made = make_place(names=NAMES, fast=True)
    made.write(TEXTS)
    made.ingest()
    return made


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    rows = [
        {"id": "r1", "name": "Velmora Group", "type": "ORG", "wikidata_id": "Q1"},
        {"id": "r2", "name": "VLMR", "type": "ORG", "wikidata_id": "Q2"},
        {"id": "r3", "name": "Apple", "type": "ORG", "wikidata_id": "Q312"},
    ]
    path = tmp_path / "registry.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class Clock:
    def __init__(self) -> None:
        self.ticks = 0

    def __call__(self) -> str:
        self.ticks += 1
        return f"2026-01-01T00:00:{self.ticks:02}+00:00"


when = Clock()


def same(place: Place, a: str, b: str) -> Judgement:
    return correcting.same_or_different(place.engine, "same", a, b, "a note", "me", when())


def different(place: Place, a: str, b: str) -> Judgement:
    return correcting.same_or_different(place.engine, "different", a, b, "a note", "me", when())


def clusters(place: Place) -> list[list[tuple[str, str]]]:
    """For every entity, its (document, text of mention), sorted."""
    found: dict[str, set[tuple[str, str]]] = {}
    for row in place.export("mentions"):
        found.setdefault(row["entity_id"], set()).add((row["document"], row["text"]))
    return sorted(sorted(members) for members in found.values())


def together(place: Place, *mentions: tuple[str, str]) -> bool:
    return len({entity_of(place, *m) for m in mentions}) == 1


def equals_a_fresh_home(place: Place, make_place: MakePlace, registry: Path | None = None) -> None:
    """The same documents and the same judgements give the same home."""
    fresh = make_place(source=place.source, names=place.labels, fast=True)
    with place.engine.connect() as connection:
        judged = judgements.load(connection)
    assert correcting.take_in(fresh.engine, judged) == len(judged)
    fresh.ingest(registry=registry)
    problem = difference(contents(place), contents(fresh))
    assert not problem, problem


VELMORA, VLMR, SIEMENS = ("a.txt", "Velmora Group"), ("b.txt", "VLMR"), ("b.txt", "Siemens")


def test_same_is_obeyed_at_once_and_ever_after(place: Place, make_place: MakePlace) -> None:
    before = names_of(place)
    judged = same(place, "Velmora Group", "VLMR")
    place.refresh()
    assert together(place, VELMORA, VLMR)
    kept = entity_of(place, *VELMORA)
    merges = [d for d in place.export("decisions") if d["verdict"] == "judged the same"]
    assert [d["names"] for d in merges] == [["velmora", "vlmr"]] or [d["names"] for d in merges] == [["velmora group", "vlmr"]]
    run = place.ingest()
    assert vars(run.written) == {"nodes": 0, "relationships": 0, "vectors": 0, "summaries": 0}
    place.write({"b.txt": "Yesterday VLMR rose. Siemens left Kiel."})
    place.ingest()
    assert together(place, VELMORA, VLMR) and entity_of(place, *VLMR) == kept
    equals_a_fresh_home(place, make_place)
    (place.source / "b.txt").unlink()
    place.ingest()  # it sleeps
    equals_a_fresh_home(place, make_place)
    place.write({"d.txt": "VLMR fell in Kiel.", "b.txt": TEXTS["b.txt"]})
    place.ingest()
    assert together(place, VELMORA, VLMR, ("d.txt", "VLMR"))
    equals_a_fresh_home(place, make_place)
    (place.source / "d.txt").unlink()
    place.ingest()
    correcting.undo(place.engine, judged.judgement)
    place.refresh()
    assert names_of(place) == before and place.export("judgements") == []
    equals_a_fresh_home(place, make_place)


def test_different_is_obeyed_though_a_text_says_otherwise(place: Place, make_place: MakePlace) -> None:
    place.write({"d.txt": "Velmora Group, also known as VLMR, fell."})
    place.ingest()
    assert together(place, VELMORA, VLMR)
    judged = different(place, "VLMR @ b.txt", "Velmora Group @ a.txt")
    place.refresh()
    assert not together(place, VELMORA, VLMR)
    place.write({"a.txt": TEXTS["a.txt"] + " More."})
    place.ingest()
    assert not together(place, VELMORA, VLMR)
    equals_a_fresh_home(place, make_place)
    correcting.undo(place.engine, judged.judgement)
    place.refresh()
    assert together(place, VELMORA, VLMR)
    equals_a_fresh_home(place, make_place)


@pytest.mark.parametrize("alone", [False, True])
def test_different_is_obeyed_within_a_document_that_groups_the_two(make_place: MakePlace, alone: bool) -> None:
    place = make_place(names=NAMES, fast=True)
    grouping = ("d.txt", "Velmora Group, also known as VLMR, fell.")
    place.write(dict([grouping]) if alone else dict([grouping, ("a.txt", "Velmora Group grew."), ("b.txt", "VLMR rose.")]))
    place.ingest()
    whole = clusters(place)
    assert len(whole) == 1
    judged = different(place, "VLMR", "Velmora Group")
    with place.engine.connect() as connection:
        assert any("judged different" in finding.what for finding in check_state(connection)), "not obeyed yet"
    place.refresh()
    texts = [{text for _, text in members} for members in clusters(place)]
    assert sorted(texts, key=str) == [{"VLMR"}, {"Velmora Group"}]
    with place.engine.connect() as connection:
        assert not check_state(connection)
    equals_a_fresh_home(place, make_place)
    correcting.undo(place.engine, judged.judgement)
    place.refresh()
    assert clusters(place) == whole
    equals_a_fresh_home(place, make_place)


def test_one_name_can_be_two_things_by_document(place: Place, make_place: MakePlace) -> None:
    different(place, "Siemens @ b.txt", "Siemens @ c.txt")
    place.refresh()
    assert not together(place, SIEMENS, ("c.txt", "Siemens"))
    place.write({"d.txt": "Siemens sat between two stools."})
    place.ingest()
    equals_a_fresh_home(place, make_place)


def test_a_link_is_obeyed_and_taken_back(place: Place, make_place: MakePlace, registry: Path) -> None:
    place.ingest(registry=registry)
    linked = {row["name"]: row["wikidata_id"] for row in place.export("entities")}
    assert (linked["Apple"], linked["VLMR"]) == ("Q312", "Q2")
    none = correcting.link(place.engine, "Apple", "none", "", "me", when())
    correcting.link(place.engine, "Siemens", "Q81230", "", "me", when())
    place.refresh()
    linked = {row["name"]: row["wikidata_id"] for row in place.export("entities")}
    assert (linked["Apple"], linked["Siemens"]) == (None, "Q81230")
    place.ingest(registry=registry)
    equals_a_fresh_home(place, make_place, registry)
    again = correcting.link(place.engine, "Siemens", "Q5", "", "me", when())
    assert {j["value"] for j in place.export("judgements")} == {"", "Q5"}, "a second word on one name takes the first one's place"
    correcting.undo(place.engine, none.judgement)
    correcting.undo(place.engine, again.judgement)
    place.refresh()
    linked = {row["name"]: row["wikidata_id"] for row in place.export("entities")}
    assert (linked["Apple"], linked["Siemens"]) == ("Q312", None)
    equals_a_fresh_home(place, make_place, registry)


def spans(place: Place, document: str, text: str) -> list[str]:
    return [f"{document}:{m['start']}-{m['end']}" for m in place.export("mentions") if (m["document"], m["text"]) == (document, text)]


def test_a_split_is_obeyed_and_survives_a_knowledge_base(place: Place, make_place: MakePlace, registry: Path) -> None:
    fruit = spans(place, "c.txt", "Apple")[-1]
    judged = correcting.split(place.engine, "Apple", [fruit], "", "me", when())
    place.refresh()

    def parted() -> bool:
        rows = {f"{m['document']}:{m['start']}-{m['end']}": m["entity_id"] for m in place.export("mentions") if m["text"] == "Apple"}
        firm = {rows[s] for s in rows if s != fruit}
        return len(firm) == 1 and rows[fruit] not in firm

    assert parted()
    assert [n for n in names_of(place).values() if n == "Apple"] == ["Apple", "Apple"]
    assert [r["why"] for r in place.export("redirects")] == ["split"]
    place.ingest()
    assert parted()
    place.ingest(registry=registry)  # all names are linked again: the fruit must not become the firm by its link
    assert parted()
    assert sorted(str(e["wikidata_id"]) for e in place.export("entities") if e["name"] == "Apple") == ["None", "Q312"]
    equals_a_fresh_home(place, make_place, registry)
    place.write({"c.txt": TEXTS["c.txt"] + " Siemens again."})
    place.ingest()
    assert parted()
    equals_a_fresh_home(place, make_place, registry)
    correcting.undo(place.engine, judged.judgement)
    place.refresh()
    assert [n for n in names_of(place).values() if n == "Apple"] == ["Apple"]
    equals_a_fresh_home(place, make_place, registry)


def test_a_second_split_takes_what_it_was_shown(place: Place, make_place: MakePlace) -> None:
    first, second, third = spans(place, "c.txt", "Apple")
    for span in (first, third):
        correcting.split(place.engine, "Apple", [span], "", "me", when())
        place.refresh()
    entity = {f"{m['document']}:{m['start']}-{m['end']}": m["entity_id"] for m in place.export("mentions")}
    assert len({entity[first], entity[second], entity[third]}) == 3
    assert entity[second] == entity_of(place, "a.txt", "Apple")
    equals_a_fresh_home(place, make_place)


def test_all_mentions_of_a_document_split_off_at_once_are_one_thing(place: Place, make_place: MakePlace) -> None:
    judged = correcting.split(place.engine, "Apple", ["c.txt"], "", "me", when())
    place.refresh()
    assert not together(place, ("c.txt", "Apple"), ("a.txt", "Apple"))
    equals_a_fresh_home(place, make_place)
    correcting.undo(place.engine, judged.judgement)  # no mention in c.txt bears the name any more by which it was split
    place.refresh()
    assert together(place, ("c.txt", "Apple"), ("a.txt", "Apple"))


def test_what_bears_several_names_is_split_off_whole(place: Place, make_place: MakePlace) -> None:
    place.write({"d.txt": "Velmora Group, also known as VLMR, fell.", "e.txt": "VLMR and Velmora Group met Siemens."})
    place.ingest()
    correcting.split(place.engine, "Velmora Group", ["e.txt"], "", "me", when())
    place.refresh()
    assert together(place, ("e.txt", "VLMR"), ("e.txt", "Velmora Group"))
    assert together(place, ("d.txt", "VLMR"), ("d.txt", "Velmora Group"), VELMORA, VLMR)
    assert not together(place, ("e.txt", "VLMR"), VLMR)
    equals_a_fresh_home(place, make_place)


def test_what_was_split_off_can_be_linked_renamed_and_united_with_another(place: Place, make_place: MakePlace) -> None:
    correcting.split(place.engine, "Apple", ["c.txt"], "", "me", when())
    place.refresh()
    fruit = entity_of(place, "c.txt", "Apple")
    correcting.link(place.engine, fruit, "Q89", "", "me", when())
    correcting.rename(place.engine, fruit, "apple (fruit)", "", "me", when())
    same(place, fruit, "Kiel")
    place.refresh()
    row = next(e for e in place.export("entities") if e["entity_id"] == entity_of(place, "c.txt", "Apple"))
    assert (row["name"], row["wikidata_id"]) == ("apple (fruit)", "Q89")
    assert together(place, ("c.txt", "Apple"), ("b.txt", "Kiel"))
    with pytest.raises(WrongUse, match="contradicts"):
        same(place, fruit, "Apple @ a.txt")
    equals_a_fresh_home(place, make_place)


def test_a_name_given_is_shown_and_taken_back(place: Place, make_place: MakePlace) -> None:
    velmora = entity_of(place, *VELMORA)
    first = correcting.rename(place.engine, velmora, "Velmora", "", "me", when())
    second = correcting.rename(place.engine, velmora, "Velmora Group plc", "", "me", when())
    assert [j["judgement"] for j in place.export("judgements")] == [second.judgement] != [first.judgement]
    place.refresh()
    assert names_of(place)[velmora] == "Velmora Group plc"
    place.write({"a.txt": "Velmora Group left."})
    place.ingest()
    assert names_of(place)[velmora] == "Velmora Group plc"
    equals_a_fresh_home(place, make_place)
    correcting.undo(place.engine, second.judgement)
    place.refresh()
    assert names_of(place)[velmora] == "Velmora Group"


def test_a_word_on_one_of_two_namesakes_holds_for_all_its_documents(place: Place, make_place: MakePlace, registry: Path) -> None:
    place.write({"d.txt": "Apple rose.", "e.txt": "Apple grew.", "f.txt": "Apple sat."})
    place.ingest(registry=registry)
    different(place, "Apple @ e.txt", "Apple @ f.txt")
    place.refresh()
    firm = [(d, "Apple") for d in ("a.txt", "c.txt", "d.txt", "e.txt")]
    assert together(place, *firm) and not together(place, *firm, ("f.txt", "Apple"))
    entity = entity_of(place, *firm[0])
    correcting.rename(place.engine, entity, "Apple Records", "", "me", when())
    for item in ("Q7", "Q213710"):
        correcting.link(place.engine, entity, item, "", "me", when())
    assert {j["value"] for j in place.export("judgements")} == {"", "Apple Records", "Q213710"}
    place.refresh()
    for gone in ("a.txt", "c.txt"):
        assert together(place, *firm) and not together(place, *firm, ("f.txt", "Apple"))
        shown = {e["name"]: e["wikidata_id"] for e in place.export("entities") if "Apple" in e["name"]}
        assert shown == {"Apple Records": "Q213710", "Apple": "Q312"}
        (place.source / gone).unlink()
        firm = [place_ for place_ in firm if place_[0] != gone]
        place.ingest(registry=registry)
        equals_a_fresh_home(place, make_place, registry)


def test_a_bare_head_can_be_judged_and_other_documents_keep_their_decisions(place: Place, make_place: MakePlace) -> None:
    """ "Court" is a block of its own in every document; a judgement on one must outlive a change of another."""
    place.write({"d.txt": "Court sat in Kiel.", "e.txt": "Supreme Court sat in Halden.", "f.txt": "Court rose."})
    place.ingest()
    same(place, "Court @ d.txt", "Supreme Court")
    place.refresh()
    assert together(place, ("d.txt", "Court"), ("e.txt", "Supreme Court"))
    place.write({"f.txt": "Court rose at noon."})
    place.ingest()
    assert together(place, ("d.txt", "Court"), ("e.txt", "Supreme Court"))
    assert not together(place, ("d.txt", "Court"), ("f.txt", "Court"))
    equals_a_fresh_home(place, make_place)


# Refused


def test_a_contradiction_is_refused_with_its_chain(place: Place) -> None:
    first, second = same(place, "Velmora Group", "VLMR"), same(place, "VLMR", "Siemens")
    before = place.export("judgements")
    with pytest.raises(WrongUse) as refused:
        different(place, "Siemens", "Velmora Group")
    assert first.judgement in str(refused.value) and second.judgement in str(refused.value) and "polyonym undo" in str(refused.value)
    assert place.export("judgements") == before


def test_same_across_two_wikidata_items_is_refused(place: Place, registry: Path) -> None:
    place.ingest(registry=registry)
    with pytest.raises(WrongUse, match=r"Q1.*Q2.*judge link"):
        same(place, "Velmora Group", "VLMR")
    correcting.link(place.engine, "VLMR", "Q1", "", "me", when())
    place.refresh()
    same(place, "Velmora Group", "VLMR")
    with pytest.raises(WrongUse, match="contradicts"):
        correcting.link(place.engine, "Velmora Group", "Q7", "", "me", when())


def test_same_across_two_registry_entries_or_a_person_and_a_place_is_refused(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "registry.jsonl"
    path.write_text('{"id": "r1", "name": "Velmora Group", "type": "ORG"}\n{"id": "r2", "name": "VLMR", "type": "ORG"}\n')
    place.write({"d.txt": "John Smith left Germany."})
    place.ingest(registry=path)
    joined = same(place, "VLMR", "Siemens")
    for a, b, told in (
        ("Velmora Group", "Siemens", r"vlmr.*\(r2\).*velmora group.*\(r1\).*different registry ids"),
        ("John Smith", "Germany", "types"),
    ):
        with pytest.raises(WrongUse, match=told):
            same(place, a, b)
    assert [j["judgement"] for j in place.export("judgements")] == [joined.judgement]


def test_same_that_holds_for_some_documents_only_is_told(place: Place, make_place: MakePlace, registry: Path) -> None:
    place.ingest(registry=registry)
    correcting.link(place.engine, "Apple @ c.txt", "Q89", "", "me", when())
    correcting.link(place.engine, "Siemens", "Q89", "", "me", when())
    judged = same(place, "Siemens", "Apple")
    place.refresh()
    assert together(place, SIEMENS, ("c.txt", "Apple")) and not together(place, SIEMENS, ("a.txt", "Apple"))
    with place.engine.connect() as connection:
        [told] = correcting.unobeyed(connection, [judged])[judged.judgement]
        assert "apple @ a.txt (Q312" in told and "different Wikidata ids" in told
    equals_a_fresh_home(place, make_place, registry)
    (place.source / "a.txt").unlink()
    place.ingest(registry=registry)
    with place.engine.connect() as connection:
        assert correcting.unobeyed(connection, [judged]) == {}


def test_a_link_to_nothing_is_refused_where_it_could_not_be_obeyed(place: Place) -> None:
    joined = same(place, "Apple", "Siemens")
    linked = correcting.link(place.engine, "Siemens", "Q2283", "", "me", when())
    with pytest.raises(WrongUse) as refused:
        correcting.link(place.engine, "Apple", "none", "", "me", when())
    assert joined.judgement in str(refused.value) and linked.judgement in str(refused.value)


def test_a_link_to_nothing_that_its_node_does_not_heed_is_told(place: Place) -> None:
    place.write({"d.txt": "Velmora Group, also known as VLMR, fell."})
    place.ingest()
    correcting.link(place.engine, "Velmora Group", "Q81965", "", "me", when())
    judged = correcting.link(place.engine, "VLMR", "none", "", "me", when())
    place.refresh()

    def told() -> dict[str, tuple[str, ...]]:
        with place.engine.connect() as connection:
            return correcting.unobeyed(connection, [judged])

    assert {e["wikidata_id"] for e in place.export("entities") if e["entity_id"] == entity_of(place, "d.txt", "VLMR")} == {"Q81965"}
    [why] = told()[judged.judgement]
    assert "vlmr @ b.txt is one thing with Velmora Group" in why and "Q81965" in why
    different(place, "VLMR", "Velmora Group")
    place.refresh()
    assert told() == {}


@pytest.mark.parametrize(
    ("do", "match"),
    [
        (lambda e: correcting.same_or_different(e, "same", "Apple", "Apple", "", "me", "1"), "same name"),
        (lambda e: correcting.same_or_different(e, "same", "Apple", "Nobody", "", "me", "1"), "'Nobody' is no name"),
        (lambda e: correcting.same_or_different(e, "same", "Apple", "Kiel @ a.txt", "", "me", "1"), "'Kiel @ a.txt' is no name"),
        (lambda e: correcting.link(e, "Apple", "312", "", "me", "1"), "no Wikidata id"),
        (lambda e: correcting.rename(e, "Apple", "  ", "", "me", "1"), "empty"),
        (lambda e: correcting.split(e, "Apple", ["b.txt"], "", "me", "1"), "no mention of this entity"),
        (lambda e: correcting.split(e, "Apple", ["c.txt:0-7"], "", "me", "1"), "no mention of this entity"),
        (lambda e: correcting.undo(e, "j123"), "no judgement 'j123'"),
        (lambda e: correcting.remove(e, "z.txt"), "neither a document nor a source"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_changes_nothing(place: Place, do: Callable[[Any], Any], match: str) -> None:
    with pytest.raises(WrongUse, match=match):
        do(place.engine)
    assert place.export("judgements") == []
    assert vars(place.refresh().written) == {"nodes": 0, "relationships": 0, "vectors": 0, "summaries": 0}


def test_people_mean_things_by_name_id_or_document(place: Place, registry: Path) -> None:
    place.ingest(registry=registry)
    velmora = entity_of(place, *VELMORA)
    with place.engine.connect() as connection:
        names = {
            text: str(correcting.find(connection, text))
            for text in (velmora, "Q1", "r1", "Velmora Group", "the Velmora Group", "VLMR @ b.txt")
        }
    assert len(set(list(names.values())[:5])) == 1 and names["VLMR @ b.txt"] == "vlmr @ b.txt"


# Written out, taken in


def test_judgements_move_to_another_home(place: Place, make_place: MakePlace) -> None:
    same(place, "Velmora Group", "VLMR")
    different(place, "Siemens @ b.txt", "Siemens @ c.txt")
    correcting.split(place.engine, "Apple", ["c.txt"], "", "me", when())
    place.refresh()
    correcting.rename(place.engine, entity_of(place, "c.txt", "Apple"), "apple", "", "me", when())
    place.refresh()
    rows = [json.loads(json.dumps(row)) for row in place.export("judgements")]
    other = make_place(source=place.source, names=NAMES, fast=True)
    other.ingest()
    taken = [judgements.from_json(row) for row in rows]
    assert correcting.take_in(other.engine, taken) == 4
    assert correcting.take_in(other.engine, taken) == 0
    other.refresh()
    assert not difference(contents(place), contents(other))


def test_an_import_with_a_contradiction_takes_in_nothing(place: Place) -> None:
    same(place, "Velmora Group", "VLMR")
    kiel = judgements.Reference("kiel")
    wanted = [
        Judgement("rename", kiel, (), "Kiel!"),
        Judgement("different", judgements.Reference("vlmr"), (_reference(place, "Velmora Group"),)),
    ]
    with pytest.raises(WrongUse, match="contradicts"):
        correcting.take_in(place.engine, wanted)
    assert [j["kind"] for j in place.export("judgements")] == ["same"]


def _reference(place: Place, text: str) -> judgements.Reference:
    with place.engine.connect() as connection:
        return correcting.find(connection, text)


# On the command line


@pytest.fixture
def command(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs a command in this process, with the test's models; gives what it printed as JSON. The home's settings lie elsewhere."""
    config = (place.home / "polyonym.toml").rename(tmp_path / "elsewhere.toml")

    @contextmanager
    def unheld(home: Path, given: Path | None) -> Iterator[Opened]:  # `Place.refresh` holds the home itself
        yield Opened(Home(home), load_settings(home, given), place.engine)

    def refresh(home: Path, given: Path | None, number: int | None = None) -> None:
        assert (home, given) == (place.home, config)
        place.refresh(number)

    monkeypatch.setattr("polyonym.flows.cli.corrections.writing", unheld)
    monkeypatch.setattr("polyonym.flows.pipeline.refresh.refresh", refresh)
    monkeypatch.setattr("polyonym.flows.home.interrupts.watch_interrupts", lambda: None)  # the signals are pytest's

    def run(*words: object) -> Any:
        ended = CliRunner().invoke(app, [*map(str, words), "--home", str(place.home), "--config", str(config), "--json"])
        if ended.exception:
            raise ended.exception
        return json.loads(ended.stdout)

    return run


def test_corrections_print_json_and_go_by_the_settings_file_that_is_given(
    place: Place, command: Callable[..., Any], tmp_path: Path
) -> None:
    made = [
        command("judge", "same", "Velmora Group", "VLMR"),
        command("judge", "different", "Apple", "Siemens"),
        command("judge", "link", "Kiel", "Q1707"),
        command("split", "Apple", "--mentions", "c.txt"),
        command("rename", "Halden", "Halden town"),
    ]
    assert [(j["kind"], j["not_obeyed"]) for j in made] == [(k, []) for k in ("same", "different", "link", "split", "rename")]
    held = command("judgements")
    assert {j["judgement"] for j in held} == {j["judgement"] for j in made}
    assert command("undo", made[0]["judgement"])["kind"] == "same"
    file = tmp_path / "judgements.jsonl"
    file.write_text("".join(json.dumps(j) + "\n" for j in held))
    assert command("judgements", "import", file) == {"new": 1, "not_obeyed": {}}
    assert command("remove", "b.txt") == {"removed": ["b.txt"]}
    assert len(command("runs")) == 1 + len(made) + 3 and command("names") and command("sources") and command("explain", "Halden")
    assert "document-gone" in command("diff", 1, 9)
    for line in ("42", '{"kind": "same", "subject": {"name": 5}}'):
        file.write_text(line)
        with pytest.raises(WrongUse, match="no judgement"):
            command("judgements", "import", file)


def test_runs_tells_what_each_was_and_what_it_changed(
    place: Place, command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("judge", "same", "Velmora Group", "VLMR")
    command("remove", "b.txt")
    first, second, third = command("runs")
    assert second["changes"]["entity-merged"] == 1 and third["changes"]["document-gone"] == 1
    assert (first["figures"]["kind"], third["figures"]["kind"]) == ("ingest", "correction")
    monkeypatch.setattr(common.out, "_width", 200)
    shown = CliRunner().invoke(app, ["runs", "--home", str(place.home), "--config", str(tmp_path / "elsewhere.toml")]).stdout
    assert "correction" in shown and "entities 1 merged" in shown and "documents 1 gone" in shown


def test_interrupted_corrections_are_kept_and_the_next_run_finishes_them(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interrupts, "_interrupts", 0)
    monkeypatch.setattr(interrupts, "watch_interrupts", lambda: setattr(interrupts, "_interrupts", 1))  # as if Ctrl-C came at once

    def interrupted(*words: object) -> None:
        ended = CliRunner().invoke(app, [*map(str, words), "--home", str(place.home)])
        assert isinstance(ended.exception, Interrupted), ended.output
        assert "The correction is kept" in str(ended.exception) and "polyonym ingest" in str(ended.exception)

    interrupted("judge", "same", "Siemens", "Kiel")
    [judged] = place.export("judgements")
    file = tmp_path / "judgements.jsonl"
    file.write_text(json.dumps(judged))
    interrupted("undo", judged["judgement"])
    interrupted("judgements", "import", file)
    interrupted("split", "Apple", "--mentions", "c.txt")
    interrupted("rename", "Halden", "Halden town")
    interrupted("remove", "a.txt")
    assert [(r["status"], r["figures"]["kind"]) for r in place.export("runs")] == [("done", "ingest"), *[("stopped", "correction")] * 6]
    assert "Halden town" not in names_of(place).values()
    monkeypatch.setattr(interrupts, "_interrupts", 0)
    place.ingest()
    assert "Halden town" in names_of(place).values() and together(place, SIEMENS, ("b.txt", "Kiel"))
    assert documents_of(place) == {"b.txt", "c.txt"}


def test_a_user_without_a_name_signs_with_the_number(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_000_000)
    assert command("judge", "different", "Apple", "Siemens")["who"] == "4000000"


# Removed


def test_a_removed_document_stays_out_until_its_file_changes(place: Place, make_place: MakePlace) -> None:
    assert correcting.remove(place.engine, "a.txt").documents == ["a.txt"]
    place.refresh()
    left = {d["document"] for d in place.export("documents")}
    assert left == {"b.txt", "c.txt"} and "Velmora Group" not in names_of(place).values()
    place.ingest()
    assert {d["document"] for d in place.export("documents")} == left
    place.write({"a.txt": "Velmora Group is back."})
    place.ingest()
    assert {d["document"] for d in place.export("documents")} == left | {"a.txt"}
    equals_a_fresh_home(place, make_place)


def documents_of(place: Place) -> set[str]:
    return {d["document"] for d in place.export("documents")}


def test_a_removed_document_stays_out_when_its_file_moves_or_is_read_anew(place: Place) -> None:
    correcting.remove(place.engine, "a.txt")
    place.refresh()
    place.set(size_limit_mb=3)
    assert place.ingest().figures["files"]["changed"] == 3
    assert documents_of(place) == {"b.txt", "c.txt"}
    (place.source / "news").mkdir()
    (place.source / "a.txt").rename(place.source / "news" / "a.txt")
    place.ingest()
    place.set(size_limit_mb=4)
    place.ingest()
    assert documents_of(place) == {"b.txt", "c.txt"}
    (place.source / "news" / "a.txt").unlink()
    place.ingest()
    place.write({"news/a.txt": TEXTS["a.txt"]})  # a new file, whatever lay there once
    place.ingest()
    assert documents_of(place) == {"b.txt", "c.txt", "news/a.txt"}


def test_a_removed_row_stays_out_while_it_is_the_same(place: Place) -> None:
    def table(*texts: str) -> None:
        place.write({"t.jsonl": "".join(json.dumps({"id": str(n), "text": t}) + "\n" for n, t in enumerate(texts))})
        place.ingest()

    table("Apple rose.", "Kiel grew.", "Halden grew.")
    correcting.remove(place.engine, "t.jsonl/1")
    place.refresh()
    table("Apple fell.", "Kiel grew.", "Halden grew.")
    assert documents_of(place) == {*TEXTS, "t.jsonl/0", "t.jsonl/2"}
    table("Apple fell.", "Kiel sank.", "Halden grew.")
    assert documents_of(place) == {*TEXTS, "t.jsonl/0", "t.jsonl/1", "t.jsonl/2"}


def test_a_removed_source_comes_back_whole_when_it_is_given_again(place: Place) -> None:
    correcting.remove(place.engine, "a.txt")
    correcting.remove(place.engine, str(place.source))
    place.refresh()
    assert documents_of(place) == set()
    place.ingest()
    assert documents_of(place) == set(TEXTS)


def test_a_removed_source_gives_its_names_back(place: Place, make_place: MakePlace, tmp_path: Path) -> None:
    """Two sources hold an a.txt, so both get their folder's name in front; when one goes, the other's documents are renamed, whole."""
    other = tmp_path / "more" / "docs"
    other.mkdir(parents=True)
    (other / "a.txt").write_text("Siemens left Halden again.")
    place.ingest(other)
    documents = {d["document"] for d in place.export("documents")}
    assert {"b.txt", "c.txt"} < documents and "a.txt" not in documents and len(documents) == 4
    before = names_of(place)
    [gone] = correcting.remove(place.engine, str(other)).documents
    assert gone.endswith("/a.txt")
    place.refresh()
    assert {d["document"] for d in place.export("documents")} == {"a.txt", "b.txt", "c.txt"}
    assert names_of(place) == before, "ids and names stay"
    equals_a_fresh_home(place, make_place)
    assert vars(place.ingest().written) == {"nodes": 0, "relationships": 0, "vectors": 0, "summaries": 0}


def test_a_removal_stands_in_the_history_though_what_follows_it_is_killed(place: Place) -> None:
    removed = correcting.remove(place.engine, "a.txt")
    last = place.ingest()
    assert [r["status"] for r in place.export("runs")] == ["done", "killed", "done"]
    with place.engine.connect() as connection:
        gone = history.difference(connection, removed.run - 1, last.number)["document-gone"]
    assert [c.id for c in gone] == [history.gone_id("a.txt")]


def test_a_removed_document_leaves_no_name_in_the_history(place: Place) -> None:
    correcting.remove(place.engine, "a.txt")
    place.refresh()
    with place.engine.connect() as connection:
        kept = (
            connection.exec_driver_sql(
                "SELECT id FROM run_changes WHERE kind LIKE 'document-%%'"
                if place.state_url
                else "SELECT id FROM run_changes WHERE kind LIKE 'document-%'"
            )
            .scalars()
            .all()
        )
    assert "a.txt" not in kept and {"b.txt", "c.txt"} < set(kept)


# Amid other changes


def test_a_correction_amid_changed_settings_hides_no_work(place: Place, make_place: MakePlace) -> None:
    """The mentions are out of date when the judgement comes; it must be obeyed on what is there, and the next run must still do all."""
    place.set(entity_labels=["ORG", "PERSON"])
    same(place, "Velmora Group", "VLMR")
    place.refresh()
    assert together(place, VELMORA, VLMR) and "GPE" in {m["label"] for m in place.export("mentions")}
    place.ingest()
    assert "GPE" not in {m["label"] for m in place.export("mentions")}
    fresh = make_place(source=place.source, names=NAMES, fast=True)
    fresh.set(entity_labels=["ORG", "PERSON"])
    correcting.take_in(fresh.engine, [judgements.from_json(j) for j in place.export("judgements")])
    fresh.ingest()
    problem = difference(contents(place), contents(fresh))
    assert not problem, problem


def test_a_correction_after_a_run_that_died_hides_no_work(place: Place, make_place: MakePlace) -> None:
    place.write({"b.txt": "VLMR rose in Kiel. Siemens, Siemens.", "d.txt": "Kiel grew."})
    place.ingest(dies_after=0)
    same(place, "Velmora Group", "VLMR")
    place.refresh()
    place.ingest()
    equals_a_fresh_home(place, make_place)


def test_corrections_stand_beside_a_knowledge_base(place: Place, make_place: MakePlace) -> None:
    build(
        Home(place.home).knowledge_base,
        [Item("Q312", "Apple", (), "firm", ("ORG",), 200, "Q312"), Item("Q1707", "Kiel", (), "city", ("PLACE",), 100, "Q1707")],
        "test",
    )
    place.ingest()
    correcting.link(place.engine, "Apple @ c.txt", "Q89", "", "me", when())
    place.refresh()
    assert not together(place, ("a.txt", "Apple"), ("c.txt", "Apple"))
    Home(place.home).knowledge_base.unlink()
    place.ingest()
    equals_a_fresh_home(place, make_place)
