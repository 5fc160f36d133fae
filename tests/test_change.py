"""Promises 1 and 8: after any series of changes a home holds what a fresh one would, and nothing of what is gone."""

import json
import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from home_fixtures import POSTGRES, Place, contents, difference, entity_keys, make_place, places
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from flows import correcting
from flows.home import Home
from ingest.errors import WrongUse
from resolution.candidates import Item
from resolution.knowledge_base import build

__all__ = ["make_place"]  # a fixture

NAMES = {
    # persons who share a surname, whole and by initials, with a slip of the pen
    "John Smith": "PERSON", "John A. Smith": "PERSON", "J. Smith": "PERSON", "Jane Smith": "PERSON", "Smith": "PERSON|ORG",
    "Mette Lindqvist": "PERSON", "Mette Lindquist": "PERSON", "Lindqvist, Mette": "PERSON", "Lindqvist": "PERSON",
    "Thomas Brandt": "PERSON", "Bill Harcourt": "PERSON", "William Harcourt": "PERSON", "Harcourt": "PERSON|GPE",
    # organisations, their short forms, acronyms, namesakes and founders
    "Velmora Group plc": "ORG", "Velmora Group": "ORG", "Velmora": "ORG|GPE", "Velmora Energy": "ORG", "VLMR": "ORG",
    "North Sea Grid Authority": "ORG", "NSGA": "ORG", "National Steel Guild of Austria": "ORG", "the Authority": "ORG",
    "Siemens": "ORG", "Siemens Energy": "ORG", "Siemens AG": "ORG|PERSON", "Apple": "ORG|PERSON", "Apple Inc": "ORG", "Apple Computer": "ORG",
    "Henry Ford": "PERSON", "Ford Motor": "ORG", "Ford": "ORG|PERSON", "Supreme Court": "ORG", "the Court": "ORG",
    # places, peoples, and a town that a firm is called after
    "Cambridge": "GPE", "Massachusetts": "GPE", "Germany": "GPE", "German": "NORP", "Halden": "GPE|ORG", "Halden ASA": "ORG", "U.S.": "GPE",
    "United States": "GPE", "Washington": "GPE|PERSON", "George Washington": "PERSON",
}  # fmt: skip

SENTENCES = (
    "John Smith joined Velmora Group plc in Cambridge.",
    "Jane Smith sued Ford Motor.",
    "Smith left Apple.",
    "J. Smith met Lindqvist in Germany.",
    "John A. Smith advised the Court.",
    "Mette Lindqvist leads the North Sea Grid Authority (NSGA).",
    "Mette Lindquist spoke to the NSGA.",
    "Lindqvist, Mette: notes on Siemens Energy.",
    "Lindqvist told Smith that Siemens AG would wait.",
    "The NSGA is the National Steel Guild of Austria (NSGA).",
    "the Authority fined Velmora.",
    "Velmora Energy bought Halden ASA.",
    "Velmora Group, also known as VLMR, left Halden.",
    "Velmora said no to Siemens.",
    "VLMR rose.",
    "Apple Inc hired Thomas Brandt.",
    "Apple Computer, formerly known as Apple, sold Siemens Energy.",
    "Apple sued Siemens.",
    "Thomas Brandt moved to Cambridge, Massachusetts.",
    "Cambridge is in the United States.",
    "Bill Harcourt and William Harcourt met in Halden.",
    "Harcourt wrote to Ford.",
    "Bill Harcourt praised the Supreme Court.",
    "the Court heard Harcourt.",
    "Henry Ford founded Ford Motor in the U.S. in 1903.",
    "Ford met Washington.",
    "George Washington saw Washington.",
    "A German firm, Siemens, left Germany.",
    "the Supreme Court of the United States sat in Washington.",
    "Halden grew.",
)

REGISTRIES: tuple[tuple[dict[str, Any], ...], ...] = (
    (),
    (
        {"id": "r-velmora", "name": "Velmora Group plc", "aliases": ["VLMR"], "type": "ORG", "description": "grid operator"},
        {"id": "r-apple", "name": "Apple Inc", "aliases": ["Apple"], "type": "ORG", "wikidata_id": "Q312"},
        {"id": "r-smith", "name": "John Smith", "type": "PERSON", "wikidata_id": "Q90"},
    ),
    (
        {"id": "r-velmora-energy", "name": "Velmora Energy", "aliases": ["Velmora"], "type": "ORG"},
        {"id": "r-halden", "name": "Halden ASA", "aliases": ["Halden"], "type": "ORG"},
    ),
)

KNOWLEDGE = (
    (),
    (
        Item("Q312", "Apple Inc.", ("Apple", "Apple Computer"), "technology company", ("ORG",), 200, "Q312"),
        Item("Q89", "Apple", (), "fruit", ("PRODUCT",), 150, "Q89"),
        Item("Q350", "Cambridge", (), "city in England", ("PLACE",), 120, "Q350"),
        Item("Q49111", "Cambridge", ("Cambridge, Massachusetts",), "city in Massachusetts, United States", ("PLACE",), 110, "Q49111"),
        Item("Q183", "Germany", (), "country", ("PLACE",), 300, "Q183"),
        Item("Q44294", "Ford Motor Company", ("Ford", "Ford Motor"), "car maker founded by Henry Ford", ("ORG",), 130, "Q44294"),
        Item("Q8768", "Henry Ford", ("Ford",), "founder of Ford Motor Company", ("PERSON",), 120, "Q8768"),
        Item("Q81230", "Siemens", ("Siemens AG",), "conglomerate", ("ORG",), 90, "Q81230"),
        Item("Q30", "United States", ("U.S.", "USA"), "country", ("PLACE",), 350, "Q30"),
        Item("Q23", "George Washington", ("Washington",), "president of the United States", ("PERSON",), 180, "Q23"),
        Item("Q61", "Washington, D.C.", ("Washington",), "capital of the United States", ("PLACE",), 190, "Q61"),
    ),
)

FILES = ("a.txt", "b.txt", "c.txt", "d.txt", "e/a.txt", "e/f.txt")
JUDGED = ("Smith", "John Smith", "Jane Smith", "Apple", "Apple Inc", "Velmora", "Velmora Energy", "NSGA", "the Court", "Supreme Court", "Ford",
          "Ford Motor", "Halden", "Halden ASA", "Lindqvist", "Harcourt", "Apple @ a.txt", "Ford @ b.txt", "Smith @ a.txt", "the Court @ c.txt")  # fmt: skip

texts = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4, unique=True).flatmap(
    lambda chosen: st.sampled_from([" ".join(chosen), "\n\n".join(chosen)])
)


class Series(RuleBasedStateMachine):
    """Any series of changes and runs, held against one fresh run over what is there in the end."""

    store = "sqlite"
    fast = True
    names: dict[str, str] | None = NAMES

    def __init__(self) -> None:
        super().__init__()
        memory = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(prefix="polyonym-series-", dir=memory if os.access(memory, os.W_OK) else None))
        self.stack = ExitStack()
        self.make = self.stack.enter_context(places(self.folder, self.store))
        self.place = self.make(names=self.names, fast=self.fast)
        self.registry = 0
        self.knowledge = 0
        self.demonyms = False
        self.judged = 0
        self.stale = True

    @property
    def held(self) -> list[str]:
        return [name for name in FILES if (self.place.source / name).exists()]

    @initialize(documents=st.dictionaries(st.sampled_from(FILES), texts, min_size=1))
    def begin(self, documents: dict[str, str]) -> None:
        self.place.write(documents)

    @rule(name=st.sampled_from(FILES), content=texts)
    def write(self, name: str, content: str) -> None:
        self.place.write({name: content})
        self.stale = True

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        (self.place.source / data.draw(st.sampled_from(self.held))).unlink()
        self.stale = True

    @precondition(lambda self: self.held and len(self.held) < len(FILES))
    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        old = self.place.source / data.draw(st.sampled_from(self.held))
        new = self.place.source / data.draw(st.sampled_from([f for f in FILES if f not in self.held]))
        new.parent.mkdir(exist_ok=True)
        old.rename(new)
        self.stale = True

    @rule(number=st.sampled_from(range(len(REGISTRIES))))
    def register(self, number: int) -> None:
        self.registry = number
        self.stale = True

    @rule(number=st.sampled_from(range(len(KNOWLEDGE))))
    def know(self, number: int) -> None:
        self.knowledge = number
        self.stale = True

    @rule(demonyms=st.booleans())
    def set(self, demonyms: bool) -> None:
        self.demonyms = demonyms
        self.stale = True

    @rule()
    def run(self) -> None:
        self.ingest(self.place)

    @precondition(lambda self: not self.stale)
    @rule(kind=st.sampled_from(["same", "different"]), a=st.sampled_from(JUDGED), b=st.sampled_from(JUDGED))
    def judge(self, kind: str, a: str, b: str) -> None:
        self.correct(lambda when: correcting.same_or_different(self.place.engine, kind, a, b, "", "tester", when))

    @precondition(lambda self: not self.stale)
    @rule(name=st.sampled_from(JUDGED), item=st.sampled_from(["none", "Q312", "Q89", "Q90", "Q44294"]))
    def link(self, name: str, item: str) -> None:
        self.correct(lambda when: correcting.link(self.place.engine, name, item, "", "tester", when))

    @precondition(lambda self: not self.stale)
    @rule(name=st.sampled_from(JUDGED))
    def rename(self, name: str) -> None:
        self.correct(lambda when: correcting.rename(self.place.engine, name, f"The {name} of note", "", "tester", when))

    @precondition(lambda self: not self.stale)
    @rule(data=st.data())
    def split(self, data: st.DataObject) -> None:
        mentions = self.place.export("mentions")
        if mentions:
            m = data.draw(st.sampled_from(mentions))
            what = data.draw(st.sampled_from([m["document"], f"{m['document']}:{m['start']}-{m['end']}"]))
            self.correct(lambda when: correcting.split(self.place.engine, m["entity_id"], [what], "", "tester", when))

    @precondition(lambda self: not self.stale and self.judged)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        held = self.place.export("judgements")
        if held:
            correcting.undo(self.place.engine, data.draw(st.sampled_from(held))["judgement"])
            self.place.refresh()

    def correct(self, do: Any) -> None:
        self.judged += 1
        try:
            do(f"2026-01-01T00:00:{self.judged:02}+00:00")
        except WrongUse:
            return
        self.place.refresh()

    def ingest(self, place: Place) -> None:
        place.set(unite_demonyms=self.demonyms)
        base = Home(place.home).knowledge_base
        if KNOWLEDGE[self.knowledge]:
            build(base, KNOWLEDGE[self.knowledge], "test")
        else:
            base.unlink(missing_ok=True)
        registry = self.folder / "registry.jsonl"
        registry.write_text("".join(json.dumps(row) + "\n" for row in REGISTRIES[self.registry]))
        place.ingest(registry=registry)
        self.stale = False

    @invariant()
    def every_mention_has_its_entity(self) -> None:
        if not self.stale:
            with self.place.engine.connect() as connection:
                named = connection.exec_driver_sql("SELECT count(*) FROM mention_names").scalar()
            assert named == len(self.place.export("mentions"))

    def teardown(self) -> None:
        try:
            if self.stale:
                self.ingest(self.place)
            fresh = self.make(source=self.place.source, names=self.names, fast=self.fast)
            correcting.take_in(fresh.engine, self.judgements())
            self.ingest(fresh)
            problem = difference(contents(self.place), contents(fresh))
            assert not problem, problem
            for place in (self.place, fresh):
                place.fresh_communities()
            left, right = (communities_by_content(place) for place in (self.place, fresh))
            assert left == right
        finally:
            self.stack.close()
            shutil.rmtree(self.folder)

    def judgements(self) -> list[Any]:
        from resolution import judgements

        with self.place.engine.connect() as connection:
            return judgements.load(connection)


def communities_by_content(place: Place) -> list[Any]:
    """Level, title, summary and entities of every community, without ids."""
    keys = entity_keys(place)
    rows = place.export("communities")
    of = {row["community_id"]: sorted(keys[e] for e in row["entities"]) for row in rows}
    return sorted(([r["level"], of[r["community_id"]], of.get(r["parent"]), r["title"], r["summary"]] for r in rows), key=repr)


class RealSeries(Series):
    """The same with the real recogniser and the embedded graph store."""

    fast = False
    names = None


class PostgresSeries(Series):
    store = "postgresql"


def examples(number: int, steps: int) -> settings:
    """How many series are tried; POLYONYM_TEST_EXAMPLES multiplies them."""
    times = float(os.environ.get("POLYONYM_TEST_EXAMPLES", "1"))
    return settings(
        max_examples=max(1, round(number * times)),
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


@pytest.mark.slow
def test_any_series_of_changes_equals_a_fresh_run() -> None:
    run_state_machine_as_test(Series, settings=examples(260, 10))


@pytest.mark.slow
def test_any_series_of_changes_equals_a_fresh_run_with_the_real_models_and_store() -> None:
    run_state_machine_as_test(RealSeries, settings=examples(40, 8))


@pytest.mark.slow
@pytest.mark.skipif(not POSTGRES, reason="no PostgreSQL: set POLYONYM_TEST_POSTGRES_URL to the URL of a server whose databases may be made")
def test_any_series_of_changes_equals_a_fresh_run_in_postgresql() -> None:
    run_state_machine_as_test(PostgresSeries, settings=examples(40, 8))
