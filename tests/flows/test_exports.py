"""Exports: what the contract says of each field."""

from dataclasses import replace
from pathlib import Path

import pytest
from small_state import fill

from polyonym.flows.inspect.exports import export
from polyonym.flows.report import report
from polyonym.resolution import decisions
from polyonym.resolution.decisions import Decision
from polyonym.resolution.linking import links
from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.linking.links import Link

TEXTS = {"a.txt": "Halden ASA grew.", "b.txt": "Then Halden ASA fell, and Halden ASA rose."}
ITEMS = [Item("ex:halden", "Halden ASA", (), "maker of battery cells", ("ORG",), None, "Q5", "registry")]
TWO = ({"id": "Q7", "label": "Halden", "share": 0.5}, {"id": "Q8", "label": "Halden", "share": 0.375})


@pytest.mark.parametrize(
    ("own", "made", "candidate", "confidence"),
    [
        (Link("b.txt", "", verdict="nil"), "Q5", "Q5", 1.0),
        (Link("b.txt", "", "Q7", 0.25, verdict="abstain", candidates=TWO), None, "Q7", 0.25),
        (Link("b.txt", "", "Q5", 0.75, "Q5", verdict="link"), "Q5", "Q5", 0.75),
    ],
)
def test_a_link_in_doubt_is_null_and_the_confidence_is_that_of_the_candidate(
    tmp_path: Path, own: Link, made: str | None, candidate: str, confidence: float
) -> None:
    """The node is linked to Q5 by the other document."""
    with fill(tmp_path / "s.db", TEXTS, {"Halden ASA": "ORG"}, ITEMS).begin() as connection:
        [name] = {k.name for k in links.load(connection)}
        links.replace(connection, ["b.txt"], [replace(own, name=name)])
        rows = [row for row in export(connection, "mentions") if row["document"] == "b.txt"]
    assert {(r["wikidata_id"], r["candidate"], r["confidence"]) for r in rows} == {(made, candidate, confidence)}


def test_a_doubt_is_settled_by_a_longer_name_of_the_same_document(tmp_path: Path) -> None:
    texts = {"a.txt": "Ingrid Halvorsen spoke. Then Halvorsen left."}
    items = [Item("ex:ingrid", "Ingrid Halvorsen", (), None, ("PERSON",), None, "Q5", "registry")]
    with fill(tmp_path / "s.db", texts, {"Ingrid Halvorsen": "PERSON", "Halvorsen": "PERSON"}, items).begin() as connection:
        short = Link("a.txt", "halvorsen", "Q7", 0.25, verdict="abstain", candidates=TWO)
        long = [k for k in links.load(connection, ["a.txt"]) if k.name != "halvorsen"]
        links.replace(connection, ["a.txt"], [short, *long])
        rows = {row["text"]: row["wikidata_id"] for row in export(connection, "mentions")}
    assert rows == {"Ingrid Halvorsen": "Q5", "Halvorsen": "Q5"}


@pytest.mark.parametrize(("candidates", "margin"), [(TWO, 0.125), (TWO[:1], 0.5), ((), None)])
def test_a_link_in_doubt_shows_its_margin_and_its_mentions(
    tmp_path: Path, candidates: tuple[dict[str, object], ...], margin: float | None
) -> None:
    with fill(tmp_path / "s.db", TEXTS, {"Halden ASA": "ORG"}).begin() as connection:
        [name] = {k.name for k in links.load(connection)}
        links.replace(connection, ["b.txt"], [Link("b.txt", name, "Q7", 0.25, verdict="abstain", candidates=candidates)])
        row = next(row for row in export(connection, "review") if row["kind"] == "abstain")
    assert row["margin"] == margin
    assert [TEXTS[s["document"]][s["start"] : s["end"]] for s in row["spans"]] == ["Halden ASA", "Halden ASA"]


def test_a_strong_merge_does_not_hide_a_weak_one_of_the_same_names(tmp_path: Path) -> None:
    def merge(names: tuple[str, ...], documents: int) -> Decision:
        return Decision(names[0], "merge", names, "same words", features={"documents": documents})

    made = [merge(("a", "b"), 9), merge(("a", "b"), 1), merge(("c", "d"), 5)]
    with fill(tmp_path / "s.db", TEXTS, {"Halden ASA": "ORG"}).begin() as connection:
        decisions.replace(connection, [], made)
        told = report.merges(connection)
    assert [row["names"] for row in told["least"]][:2] == [["a", "b"], ["c", "d"]]
    assert told["least"][0]["features"] == {"documents": 1}
