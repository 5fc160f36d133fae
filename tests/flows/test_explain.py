"""Explanations: entities are found by any of their names and ids, and what they rest on, and do not, is all there."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from small_state import fill
from sqlalchemy import Connection

from polyonym.flows.inspect.entity_lookup import MOST
from polyonym.flows.inspect.explain import explain, explain_ids, explain_two
from polyonym.flows.inspect.explanation import Between, Explanation, as_json, two_as_json
from polyonym.flows.inspect.explanation_text import show, show_two
from polyonym.ingest.errors import WrongUse
from polyonym.resolution import decisions, entities, identity
from polyonym.resolution.decisions import Decision
from polyonym.resolution.judgements.judgements import Judgement, Reference
from polyonym.resolution.linking import links
from polyonym.resolution.linking.candidates import Item

TEXTS = {
    "a.txt": "Ingrid Halvorsen leads Halden ASA. Halvorsen said that Halden will grow. The Norwegian Sea Authority (NSA) agreed.",
    "b.txt": "Ingrid Halvorsen spoke in Norway. The crowd cheered.",
    "c.txt": "Per Halvorsen sails.  He won in\nNorway. Per Halvorsen is from Bergen.",
    "d.txt": "Halvorsen was absent. Bergen was grey and Halden ASA was shut.",
    "e.txt": "The Norwegian Sea Authority met. Halden rose.",
}
LABELS = {
    "Ingrid Halvorsen": "PERSON",
    "Per Halvorsen": "PERSON",
    "Halvorsen": "PERSON",
    "Halden ASA": "ORG",
    "Halden": "ORG",
    "Norwegian Sea Authority": "ORG",
    "NSA": "ORG",
    "Norway": "GPE",
    "Bergen": "GPE",
}
ITEMS = [
    Item("ex:halden", "Halden ASA", ("Halden",), "maker of battery cells", ("ORG",), None, "Q5", "registry"),
    Item("ex:nsa", "NSA", (), "an agency", ("ORG",), None, None, "registry"),
]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    judged = [Judgement("different", Reference("ingrid halvorsen"), (Reference("per halvorsen"),), note="siblings")]
    engine = fill(tmp_path_factory.mktemp("explain") / "s.db", TEXTS, LABELS, ITEMS, judged)
    with engine.connect() as connection:
        yield connection


def one(connection: Connection, what: str) -> Explanation:
    found = explain(connection, what)
    assert len(found) == 1
    return found[0]


def printed(explanation: Explanation, terminal: bool = False) -> str:
    stream = io.StringIO()
    show(explanation, Console(file=stream, force_terminal=terminal, width=100, color_system="standard" if terminal else None))
    return stream.getvalue()


def shown_two(between: Between) -> str:
    stream = io.StringIO()
    show_two(between, Console(file=stream, width=100))
    return stream.getvalue()


@pytest.mark.parametrize("what", ["Halden ASA", "halden", " HALDEN ", "Halden's", "ex:halden", "Q5", "q5"])
def test_an_entity_is_found_by_every_form_of_its_names_and_by_foreign_ids(connection: Connection, what: str) -> None:
    assert one(connection, what).entity.registry_id == "ex:halden"


@pytest.mark.parametrize(("what", "name"), [("siemens ag", "Siemens AG"), ("the  siemens AG", "Siemens AG"), ("the fed", "Fed")])
def test_case_and_determiner_do_not_hide_an_entity(tmp_path: Path, what: str, name: str) -> None:
    labels = {"Siemens AG": "ORG", "Fed": "ORG"}
    with fill(tmp_path / "s.db", {"a.txt": "Siemens AG fell. The Fed met."}, labels).connect() as connection:
        assert one(connection, what).entity.name == name


def test_each_name_tells_which_detectors_found_it(connection: Connection) -> None:
    explanation = one(connection, "ex:halden")
    names = {row["name"]: row["found_by"] for row in as_json(explanation)["names"]}
    assert names == {"Halden ASA": {"pattern": 2}, "Halden": {"pattern": 2}}
    assert "Found by\n  Halden  pattern 2\n  Halden ASA  pattern 2\n" in printed(explanation)


def test_it_is_found_by_its_id_and_by_one_that_it_took_in(tmp_path: Path) -> None:
    engine = fill(tmp_path / "s.db", TEXTS, LABELS, ITEMS)
    with engine.begin() as connection:
        entity = one(connection, "ex:halden").entity
        taken_in = identity.Redirect("e0ld", entity.entity_id, "merged", "x", entity.entity_id)
        gone = identity.Redirect("e1ost", "e9one", "merged", "x", "e9one")
        identity.write(connection, identity.Assignment([], [taken_in, gone], [], []))
        assert one(connection, entity.entity_id).found == "by its id"
        explanation = one(connection, "e0ld")
        with pytest.raises(WrongUse, match="Nothing here is called 'e1ost'"):
            explain(connection, "e1ost")
    assert (explanation.entity, explanation.found) == (entity, "by its former id e0ld")
    assert explanation.former_ids == ("e0ld",)


def test_a_name_of_several_gives_all_of_them_most_mentioned_first(connection: Connection) -> None:
    found = explain(connection, "Halvorsen")
    assert {e.entity.name for e in found} == {"Ingrid Halvorsen", "Per Halvorsen"}
    assert [e.entity.mentions for e in found] == sorted((e.entity.mentions for e in found), reverse=True)


def test_a_common_name_is_bounded(tmp_path: Path) -> None:
    texts = {f"{i:03}.txt": "Lee met." for i in range(30)}
    with fill(tmp_path / "s.db", texts, {"Lee": "PERSON"}).begin() as connection:
        gone = entities.all_ids(connection)
        many = [entities.Entity(f"x{i:03}", "Lee", "PERSON", None, None, None, 1, i) for i in range(30)]
        members = [entities.Membership(f"{i:03}.txt", "lee", f"x{i:03}", 1) for i in range(30)]
        entities.replace(connection, gone, many, [], members)
        found = explain(connection, "Lee")
    assert [e.entity.mentions for e in found] == list(range(29, 29 - MOST, -1))
    assert len(found[0].others) + found[0].left_out["others"] == 29


@pytest.mark.parametrize(("wrong", "near"), [("Haldn ASA", "Halden ASA"), ("Ingird Halvorsen", "Ingrid Halvorsen"), ("Norwey", "Norway")])
def test_near_names_are_suggested(connection: Connection, wrong: str, near: str) -> None:
    with pytest.raises(WrongUse, match=rf"Near names: (.*, )?{near}"):
        explain(connection, wrong)


def test_an_empty_home_says_so(tmp_path: Path) -> None:
    with fill(tmp_path / "s.db", {}, {}).connect() as connection, pytest.raises(WrongUse, match="holds no entities yet"):
        explain(connection, "Halden")


def test_grouping_shows_its_rule_and_the_sentence_with_the_span(connection: Connection) -> None:
    (grouped,) = [g for g in one(connection, "Norwegian Sea Authority").grouped if g.name == "NSA"]
    assert (grouped.under, grouped.rule) == ("Norwegian Sea Authority", "alias")
    evidence = grouped.evidence[0]
    assert (evidence.document, evidence.before, evidence.marked, evidence.after) == (
        "a.txt",
        "The ",
        "Norwegian Sea Authority (NSA)",
        " agreed.",
    )
    assert TEXTS["a.txt"][evidence.start : evidence.end] == evidence.marked


def test_an_alias_from_a_table_is_told_with_table_and_row(tmp_path: Path) -> None:
    texts = {
        "a.txt": "The Fed met.",
        "b.txt": "The Federal Reserve met.",
        "c.txt": "The U.S. Army met.",
        "d.txt": "The United States Army met.",
    }
    labels = dict.fromkeys(("Fed", "Federal Reserve", "U.S. Army", "United States Army"), "ORG")
    with fill(tmp_path / "s.db", texts, labels).connect() as connection:
        fed, army = one(connection, "Fed"), one(connection, "U.S. Army")
    (merge,) = fed.merges
    assert fed.known == merge.known and merge.verdict == "same name"
    assert [(k.name, k.table, k.row, k.form, k.mentions) for k in fed.known] == [("Fed", "well_known.tsv", "federal reserve", "Fed", 1)]
    assert "Fed = federal reserve  well_known.tsv, row 'federal reserve': Fed" in printed(fed)
    assert [(k.name, k.table, k.row) for k in army.known] == [("U.S. Army", "countries.tsv", "united states")]


def test_a_name_that_is_its_own_form_rests_on_no_table(connection: Connection) -> None:
    assert one(connection, "Halden").known == () and one(connection, "Ingrid Halvorsen").known == ()


def test_links_show_confidence_and_what_spoke_for_the_item(connection: Connection) -> None:
    (link,) = one(connection, "Halden").links
    assert (link.verdict, link.item, link.documents, link.confidence) == ("link", "ex:halden", 3, 1.0)
    assert link.candidates[0].reasons[0].feature == "registry"
    assert not link.elsewhere


def test_of_several_entries_of_one_name_the_one_that_won_is_shown_so(tmp_path: Path) -> None:
    rivals = [
        Item("ex:a", "Halden", (), "a town by the sea", ("ORG",), None, None, "registry"),
        Item("ex:b", "Halden ASA", ("Halden",), "maker of battery cells", ("ORG",), None, None, "registry"),
    ]
    with fill(
        tmp_path / "s.db", {"a.txt": "Halden makes battery cells. Halden grew."}, {"Halden": "ORG"}, rivals[::-1]
    ).connect() as connection:
        (link,) = one(connection, "Halden").links
    assert link.item == "ex:b" and [(c.id, c.won) for c in link.candidates] == [("ex:b", True), ("ex:a", False)]
    assert link.confidence == link.candidates[0].share > 0.5


def test_a_link_to_another_item_than_the_nodes_is_told(tmp_path: Path) -> None:
    with fill(tmp_path / "s.db", TEXTS, LABELS, ITEMS).begin() as connection:
        connection.execute(links.links.update().where(links.links.c.document == "e.txt").values(registry_id="ex:other", wikidata_id=None))
        explanation = one(connection, "Halden")
    assert [(k.item, k.elsewhere) for k in explanation.links] == [("ex:halden", False), ("ex:other", True)]
    assert "ex:other (not this node’s item)" in printed(explanation)


def test_merges_across_documents_show_verdict_features_and_places(connection: Connection) -> None:
    (merge,) = [m for m in one(connection, "ex:halden").merges if "registry" in m.verdict or "Wikidata" in m.verdict]
    assert {e.document for e in merge.evidence} == {"a.txt", "d.txt", "e.txt"}
    assert set(merge.features.values()) <= {"Q5", "ex:halden"}


def test_the_surname_that_went_to_the_other_is_told_on_both_sides(connection: Connection) -> None:
    ingrid, per = sorted(explain(connection, "Halvorsen"), key=lambda e: e.entity.name)
    (taken,) = [e for e in (ingrid, per) if any("Halvorsen" in m.names and m.candidates for m in e.merges)]
    lost = per if taken is ingrid else ingrid
    (doubt,) = lost.doubts
    assert {c["name"] for c in doubt.candidates} == {"Ingrid Halvorsen", "Per Halvorsen"}
    assert "margin" in doubt.features


def test_others_of_a_name_come_with_the_reason(connection: Connection) -> None:
    ingrid = one(connection, "Ingrid Halvorsen")
    (other,) = ingrid.others
    assert (other.name, other.shared) == ("Per Halvorsen", ("Halvorsen",))
    assert other.why.startswith("a person judged them different")
    assert any("siblings" in j for j in ingrid.judgements)


@pytest.mark.parametrize(
    ("mine", "theirs", "why"),
    [
        ({"wikidata_id": "Q1"}, {"wikidata_id": "Q2"}, "different Wikidata ids: Q1 and Q2"),
        ({"registry_id": "a"}, {"registry_id": "b"}, "different registry ids: a and b"),
        ({"type": "PERSON"}, {"type": "PLACE"}, "a PERSON and a PLACE cannot be one thing"),
        ({"wikidata_id": "Q1"}, {"wikidata_id": "Q1"}, "both are linked to Q1, but not surely enough"),
        ({}, {}, "a name in common is not enough"),
    ],
)
def test_why_two_of_one_name_are_apart(tmp_path: Path, mine: dict[str, str], theirs: dict[str, str], why: str) -> None:
    with fill(tmp_path / "s.db", {"a.txt": "Ur fell.", "b.txt": "Ur rose."}, {"Ur": "ORG"}).begin() as connection:
        gone = entities.all_ids(connection)
        two = [
            entities.Entity(**({"entity_id": i, "name": "Ur", "type": "ORG", "documents": 1, "mentions": n} | values))
            for i, n, values in (("x", 2, mine), ("y", 1, theirs))
        ]
        members = [entities.Membership("a.txt", "ur", "x", 1), entities.Membership("b.txt", "ur", "y", 1)]
        entities.replace(connection, gone, two, [], members)
        decisions.replace(connection, ["ur"], [])
        assert explain(connection, "Ur")[0].others[0].why.startswith(why)


def test_two_names_of_one_node_are_explained_by_it(connection: Connection) -> None:
    between = explain_two(connection, "NSA", "norwegian sea authority")
    assert [e.entity.registry_id for e in between.together] == ["ex:nsa"]
    assert not between.apart
    assert two_as_json(between)["same"] is True
    assert shown_two(between).startswith("One node\n")


def test_two_names_of_two_nodes_are_told_apart_with_the_reason_and_what_the_names_say(connection: Connection) -> None:
    between = explain_two(connection, "Ingrid Halvorsen", "Per Halvorsen")
    (apart,) = between.apart
    assert (between.together, apart.a.name, apart.b.name) == ((), "Ingrid Halvorsen", "Per Halvorsen")
    assert apart.why.startswith("a person judged them different")
    assert "given names differ" in apart.names.forbids[0]
    assert two_as_json(between)["same"] is False
    assert "Ingrid Halvorsen  PERSON" in shown_two(between) and "two things" in shown_two(between)


def test_two_without_a_name_in_common_are_told_so(connection: Connection) -> None:
    (apart,) = explain_two(connection, "Halden ASA", "Norwegian Sea Authority").apart
    assert apart.why.startswith(("different registry ids", "no document uses"))
    (apart,) = explain_two(connection, "Bergen", "Norway").apart
    assert apart.why == "no document uses a name of the one for the other"
    with pytest.raises(WrongUse, match="Nothing here is called"):
        explain_two(connection, "Bergen", "Nowhere at all")


def test_an_abstention_is_a_doubt_with_its_margin(tmp_path: Path) -> None:
    with fill(tmp_path / "s.db", {"a.txt": "Ur fell.", "b.txt": "Ur rose."}, {"Ur": "ORG"}).begin() as connection:
        span = {"document": "b.txt", "start": 0, "end": 2}
        made = Decision(
            "ur", "abstain", ("ur",), "several owners", ({"name": "ur", "document": "a.txt", "score": 0.3},), {"margin": 0.003}, "", (span,)
        )
        decisions.replace(connection, ["ur"], [made, made])
        (doubt,) = one(connection, "Ur").doubts
    assert (doubt.times, doubt.features, doubt.evidence[0].marked) == (2, {"margin": 0.003}, "Ur")


def test_json_holds_everything(connection: Connection) -> None:
    row = json.loads(json.dumps(as_json(one(connection, "Halden"))))
    assert row["name"] == "Halden ASA" or row["name"] == "Halden"
    assert {"name": "Halden ASA", "count": 2, "found_by": {"pattern": 2}} in row["names"]
    assert row["links"][0]["candidates"][0]["reasons"][0] == {"feature": "registry", "value": 1.0, "weight": None}


def test_the_screen_marks_spans_and_has_no_colours_where_no_terminal_is(connection: Connection) -> None:
    explanation = one(connection, "Norwegian Sea Authority")
    plain = printed(explanation)
    assert "The [Norwegian Sea Authority (NSA)] agreed." in plain
    assert "\x1b" not in plain
    assert "\x1b" in printed(explanation, terminal=True)


def test_names_are_no_markup_on_the_screen(tmp_path: Path) -> None:
    with fill(tmp_path / "s.db", {"a.txt": "The firm [red]Bold Co fell."}, {"[red]Bold Co": "ORG"}).connect() as connection:
        (explanation,) = explain_ids(connection, sorted(entities.all_ids(connection)))
    assert "[red]Bold Co" in printed(explanation)


def test_white_space_in_evidence_is_single_and_long_sentences_are_cut(tmp_path: Path) -> None:
    text = "word " * 200 + "Bold   Co\nfell and fell " + "word " * 200
    with fill(tmp_path / "s.db", {"a.txt": text, "b.txt": text}, {"Bold   Co": "ORG"}).connect() as connection:
        (explanation,) = explain_ids(connection, sorted(entities.all_ids(connection)))
    evidence = explanation.merges[0].evidence[0]
    assert evidence.marked == "Bold Co"
    assert evidence.before.startswith("… word") and len(evidence.before) < 200
    assert "\n" not in evidence.before + evidence.after
