"""The Wikidata client against a local server that answers, and fails, as the real one does.

The server (wikidata_server.py) serves recorded items and searches where the data folder is present, else a few of our own; its
docstring says which forms of answers were recorded and which we made from public error reports and the API's documentation.
"""

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine
from wikidata_server import (
    FAULTS,
    FakeClock,
    WikidataServer,
    World,
    data_folder,
    entity,
    recorded_entities,
    recorded_world,
    running,
    small_world,
    statement,
)

from polyonym.ingest.errors import ServerAway, WrongUse
from polyonym.ingest.store.database import open_state
from polyonym.resolution.linking.candidates import CandidateSource
from polyonym.resolution.linking.knowledge_base import KnowledgeBase
from polyonym.resolution.linking.wikidata import cache as wikidata_cache
from polyonym.resolution.linking.wikidata.api import Api
from polyonym.resolution.linking.wikidata.client import Prefetch, Wikidata, WikidataSettings, add_wikidata, pending_names, purge
from polyonym.resolution.linking.wikidata.entity import convert_entity, decode_entity, facts_of
from polyonym.resolution.names.normal_forms import normalise

CONTACT = "https://example.org/corpus; ops@example.org"
SMALL_NAMES = [
    "Apple",
    "Berlin",
    "Merkel",
    "IBM",
    "nothing at all",
    *(f"Ada {n}" for n in range(30)),
    *(f"Lord Number {n}" for n in range(40)),
]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")  # a machine behind a proxy must not ask it for the local server


@pytest.fixture(scope="module")
def running_server() -> Iterator[WikidataServer]:
    with running(small_world()) as server:
        yield server


@pytest.fixture
def server(running_server: WikidataServer) -> WikidataServer:
    running_server.reset(small_world())
    return running_server


@pytest.fixture
def state(tmp_path: Path) -> Engine:
    return open_state(f"sqlite:///{tmp_path / 'state.db'}")


def client(state: Engine, server: WikidataServer, **values: object) -> Wikidata:
    """The client of one run."""
    wanted = {"contact": CONTACT, "url": server.url, "per_minute": 1e6, "timeout": 10, **values}
    return Wikidata(state, WikidataSettings(**wanted), clock=server.clock)  # type: ignore[arg-type]


def prefetch(state: Engine, server: WikidataServer, names: list[str], **values: object) -> Prefetch:
    source = client(state, server, **values)
    try:
        return source.prefetch(names)
    finally:
        source.close()


def pending(state: Engine) -> dict[str, str]:
    with state.connect() as connection:
        return pending_names(connection)


def found(source: CandidateSource, name: str) -> list[tuple[str, str, str]]:
    return [(c.item.id, c.match, c.matched) for c in source.candidates([name])[name]]


def test_a_name_is_asked_once_and_linking_asks_nothing(state: Engine, server: WikidataServer) -> None:
    first = prefetch(state, server, ["Apple", "the apple", "APPLE", "Berlin", "nothing at all"])
    assert (first.names, first.answered, first.pending, first.stopped, first.off) == (3, 3, 0, None, None)
    assert set(server.answered("wbsearchentities").values()) == {1}
    assert set(server.answered("wbgetentities").values()) == {1}
    asked = len(server.log)
    source = client(state, server)
    again = source.prefetch(["apple", "Berlin", "nothing at all"])
    assert (again.cached, again.requests) == (3, 0)
    assert source.candidates(["nothing at all", "never asked"]) == {"nothing at all": [], "never asked": []}
    assert len(server.log) == asked


def test_requests_are_polite(state: Engine, server: WikidataServer) -> None:
    prefetch(state, server, SMALL_NAMES, languages=("en", "mul", "de"))
    assert {
        request.headers["user-agent"].startswith("polyonym/") and CONTACT in request.headers["user-agent"] for request in server.log
    } == {True}
    assert {request.headers["accept-encoding"] for request in server.log} == {"gzip"}
    assert {request.parameters["maxlag"] for request in server.log} == {"5"}
    gets = [request.parameters for request in server.log if request.action == "wbgetentities"]
    assert {parameters["languages"] for parameters in gets} == {"en|mul|de"}
    assert max(len(parameters["ids"].split("|")) for parameters in gets) == 50
    assert server.most_at_once <= 3


def test_the_rate_is_kept(state: Engine, server: WikidataServer) -> None:
    prefetch(state, server, [f"Name {letter}{n}" for letter in "abcdefgh" for n in range(60)], per_minute=200)
    times = sorted(request.time for request in server.log)
    assert len(times) == 480
    assert max(sum(start <= time < start + 60 for time in times) for start in times) <= 203
    assert times[-1] < 480 / 200 * 60 * 1.5  # and it is used


def test_kinds_of_match(state: Engine, server: WikidataServer) -> None:
    prefetch(state, server, ["Apple", "Berlin", "Merkel", "IBM", "aapl"])
    source = client(state, server)
    assert found(source, "Apple") == [("Q101", "label", "Apple Inc."), ("Q102", "label", "apple"), ("Q105", "start", "Apple Store")]
    assert found(source, "apple")[1] == ("Q102", "exact label", "apple")
    assert found(source, "Merkel") == [("Q108", "exact alias", "Merkel")]
    assert found(source, "IBM") == [("Q109", "exact alias", "IBM")]
    assert found(source, "Berlin") == [("Q106", "exact label", "Berlin"), ("Q107", "exact label", "Berlin")]
    company = source.candidates(["Apple"])["Apple"][0].item
    assert (company.types, company.popularity, company.source, company.description) == (("ORG",), 9, "wikidata", "maker of computers")
    assert {"AAPL", "Apple", "Apple Computer"} <= set(company.aliases)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_got_over(state: Engine, server: WikidataServer, fault: str) -> None:
    """The first request of each kind meets the fault; the answers are those of an undisturbed run."""
    server.faults.extend([fault, None, fault])
    for _ in range(2):
        result = prefetch(state, server, ["Berlin"], at_once=1)
    assert (result.pending, pending(state)) == (0, {})
    assert [id for id, _, _ in found(client(state, server), "Berlin")] == ["Q106", "Q107"]
    assert server.answered("wbsearchentities") == {"berlin": 1}
    assert set(server.answered("wbgetentities").values()) == {1}


@pytest.mark.parametrize("fault", ["429", "429 date", "503", "maxlag"])
def test_retry_after_is_honoured(state: Engine, server: WikidataServer, fault: str) -> None:
    server.retry_after = 90
    server.faults.append(fault)
    assert prefetch(state, server, ["Berlin"], at_once=1).pending == 0
    assert 89 <= server.log[1].time - server.log[0].time < 95  # a date has whole seconds


def test_waits_grow_without_retry_after(state: Engine, server: WikidataServer) -> None:
    server.faults.extend(["ratelimited"] * 4)
    assert prefetch(state, server, ["Berlin"], at_once=1).pending == 0
    times = [request.time for request in server.log[:5]]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert all(2**n * 0.5 <= gap <= 2**n for n, gap in enumerate(gaps))
    server.faults.append("maxlag bare")
    prefetch(state, server, ["Merkel"], at_once=1)
    lagged = [request.time for request in server.log if request.parameters.get("search") == "merkel"]
    assert lagged[1] - lagged[0] >= 5


def test_a_long_wait_is_left_to_the_next_run(state: Engine, server: WikidataServer) -> None:
    server.retry_after = 3600
    server.faults.append("429")
    result = prefetch(state, server, SMALL_NAMES, at_once=1)
    assert (result.requests, result.pending) == (1, len(SMALL_NAMES))
    assert result.stopped is not None and "429" in result.stopped
    assert server.clock.elapsed < 10
    assert prefetch(state, server, []).pending == 0
    assert set(server.answered("wbsearchentities")) == {normalise(name) for name in SMALL_NAMES}


def test_a_slow_answer_is_not_waited_for(state: Engine, server: WikidataServer) -> None:
    server.faults.extend(["slow", None, "slow"])
    assert prefetch(state, server, ["Berlin"], at_once=1, timeout=1).pending == 0
    assert [request.fault for request in server.log] == ["slow", None, "slow", None]


@pytest.mark.parametrize("fault", ["reset", "500", "html", "404"])
def test_the_server_stays_away(state: Engine, server: WikidataServer, fault: str) -> None:
    """The run ends soon with what it has, nothing wrong is kept, and the next run asks for the rest."""
    prefetch(state, server, ["Berlin"])
    server.poison = lambda _: fault
    away = prefetch(state, server, SMALL_NAMES)
    assert (away.cached, away.answered, away.pending) == (1, 0, len(SMALL_NAMES) - 1)
    assert away.stopped
    assert away.requests <= 30
    assert set(pending(state)) == {normalise(name) for name in SMALL_NAMES} - {"berlin"}
    source = client(state, server)
    assert len(found(source, "Berlin")) == 2
    assert source.answers_digest(["Merkel"]) == {"Merkel": ""}
    server.poison = lambda _: None
    back = prefetch(state, server, [])  # pending names need not be named again
    assert (back.answered, back.pending, pending(state)) == (len(SMALL_NAMES) - 1, 0, {})
    assert source.answers_digest(["Merkel"])["Merkel"]
    assert set(server.answered("wbsearchentities").values()) == {1}


@pytest.mark.parametrize("fault", ["500", "refused"])
def test_one_name_that_the_server_chokes_on_holds_up_no_other(state: Engine, server: WikidataServer, fault: str) -> None:
    server.poison = lambda parameters: fault if parameters.get("search") in ("ada 0", "ada 1", "ada 10") else None
    names = [f"Ada {n}" for n in range(30)]
    for _ in range(2):  # three failures in a row may stop the first run; the second asks them last
        prefetch(state, server, names, at_once=1)
    assert set(pending(state)) == {"ada 0", "ada 1", "ada 10"}
    server.poison = lambda _: None
    assert prefetch(state, server, names).pending == 0
    assert set(server.answered("wbsearchentities").values()) == {1}


def test_one_id_that_the_server_chokes_on_fails_alone(state: Engine, server: WikidataServer) -> None:
    server.poison = lambda parameters: "refused" if "Q107" in parameters.get("ids", "").split("|") else None
    result = prefetch(state, server, ["Apple", "Berlin", "Merkel", "IBM"], at_once=1)
    assert (result.answered, set(pending(state))) == (3, {"berlin"})
    assert [id for id, _, _ in found(client(state, server), "Berlin")] == ["Q106"]


@pytest.mark.parametrize("fault", ["refused", "500"])
def test_an_id_that_the_server_chokes_on_holds_up_no_other_wherever_it_stands(state: Engine, server: WikidataServer, fault: str) -> None:
    names = [f"Lord Number {n:02}" for n in range(60)]
    server.world = World({f"Q{200 + n}": entity(f"Q{200 + n}", name) for n, name in enumerate(names)})
    server.poison = lambda parameters: fault if "Q200" in parameters.get("ids", "").split("|") else None
    first = prefetch(state, server, names, at_once=1)
    assert (first.answered, first.stopped, set(pending(state))) == (59, None, {"lord number 00"})
    assert prefetch(state, server, ["nothing at all"], at_once=1).answered == 1  # the culprit is asked last, alone
    assert server.log[-1].parameters["ids"] == "Q200"
    server.poison = lambda _: None
    assert prefetch(state, server, []).pending == 0
    assert set(server.answered("wbgetentities").values()) == {1}


def test_many_ids_that_the_server_chokes_on_hold_up_the_others_for_a_few_runs(state: Engine, server: WikidataServer) -> None:
    names = [f"Lord Number {n:02}" for n in range(50)]
    server.world = World({f"Q{200 + n}": entity(f"Q{200 + n}", name) for n, name in enumerate(names)})
    bad = {f"Q{200 + n}" for n in range(10)}
    server.poison = lambda parameters: "refused" if bad & set(parameters.get("ids", "").split("|")) else None
    runs = [prefetch(state, server, names, at_once=1) for _ in range(4)]
    assert runs[-1].pending == 10
    assert set(pending(state)) == {f"lord number {n:02}" for n in range(10)}


def test_items_that_cannot_be_had_while_searches_can_end_the_run_soon(state: Engine, server: WikidataServer) -> None:
    server.poison = lambda parameters: "500" if parameters["action"] == "wbgetentities" else None
    away = prefetch(state, server, SMALL_NAMES)
    assert away.stopped
    assert sum(request.action == "wbgetentities" for request in server.log) <= 45


def test_malformed_and_missing_ids_fail_no_batch_and_are_kept_as_such(state: Engine, server: WikidataServer) -> None:
    server.world.odd_hits = {"berlin": ["Q0", "Q99999999999", "Q777"], "merkel": ["Q007"]}  # Q0 and Q007 look malformed to us as well
    assert prefetch(state, server, ["Apple", "Berlin", "Merkel"]).pending == 0
    asked = len(server.log)
    assert [id for id, _, _ in found(client(state, server), "Berlin")] == ["Q106", "Q107"]
    assert prefetch(state, server, ["Apple", "Berlin", "Merkel"]).requests == 0
    with state.connect() as connection:
        assert wikidata_cache.load_items(connection, ["Q0", "Q007", "Q777", "Q99999999999"]) == {"Q777": None, "Q99999999999": None}
    assert len(server.log) == asked


def test_redirects_are_followed_and_recorded(state: Engine, server: WikidataServer) -> None:
    server.world.odd_hits = {"berlin": ["Q990"], "spree athens": ["Q990"]}
    assert prefetch(state, server, ["Berlin", "Spree Athens"]).pending == 0
    source = client(state, server)
    assert found(source, "Berlin") == [("Q106", "exact label", "Berlin"), ("Q107", "exact label", "Berlin")]
    assert found(source, "Spree Athens") == [("Q106", "alias", "spree athens")]
    with state.connect() as connection:
        assert wikidata_cache.load_redirects(connection, ["Q990", "Q106"]) == {"Q990": "Q106"}
    # Later the target is merged away itself: the chain is followed.
    server.world.entities["Q500"] = {**server.world.entities.pop("Q106"), "id": "Q500"}
    server.world.redirects = {"Q990": "Q500", "Q106": "Q500"}
    server.clock.sleep(40 * 86400)
    assert prefetch(state, server, ["Berlin", "Spree Athens"]).pending == 0
    assert [id for id, _, _ in found(source, "Spree Athens")] == ["Q500"]


def test_a_circle_of_redirects_ends(state: Engine) -> None:
    with state.begin() as connection:
        wikidata_cache.store_redirects(connection, {"Q1": "Q2", "Q2": "Q1"})
        wikidata_cache.store_searches(connection, {"x": [wikidata_cache.Hit("Q1", "label", "x")]}, "en 20", 0)
        assert set(wikidata_cache.load_redirects(connection, ["Q1"])) == {"Q1"}
        purge(connection, ["x"])


def test_an_id_in_a_text_is_no_name(state: Engine, server: WikidataServer) -> None:
    assert prefetch(state, server, ["Q106"]).answered == 1
    assert found(client(state, server), "Q106") == []


def test_answers_age_and_serve_until_they_are_renewed(state: Engine, server: WikidataServer) -> None:
    prefetch(state, server, ["Berlin", "nothing at all"], age_days=30)
    source = client(state, server)
    before = source.answers_digest(["Berlin", "nothing at all"])
    server.clock.sleep(29 * 86400)
    assert prefetch(state, server, ["Berlin", "nothing at all"], age_days=30).requests == 0
    server.clock.sleep(2 * 86400)
    server.poison = lambda _: "500"
    assert prefetch(state, server, ["Berlin", "nothing at all"], age_days=30).pending == 2
    assert len(found(source, "Berlin")) == 2
    server.poison = lambda _: None
    assert prefetch(state, server, ["Berlin", "nothing at all"], age_days=30).pending == 0
    assert source.answers_digest(["Berlin", "nothing at all"]) == before  # renewed, the same: nothing is stale
    server.world.entities["Q107"] = entity("Q107", "Berlin", classes=("Q5",), sitelinks=5)
    server.clock.sleep(31 * 86400)
    prefetch(state, server, ["Berlin", "nothing at all"], age_days=30)
    after = source.answers_digest(["Berlin", "nothing at all"])
    assert after["Berlin"] != before["Berlin"]
    assert after["nothing at all"] == before["nothing at all"]


def test_other_settings_ask_anew(state: Engine, server: WikidataServer) -> None:
    prefetch(state, server, ["Berlin"])
    assert prefetch(state, server, ["Berlin"], languages=("en", "mul", "fr")).requests == 1  # the items alone
    assert prefetch(state, server, ["Berlin"], languages=("fr", "mul", "en")).requests == 2
    assert client(state, server).version != client(state, server, languages=("fr", "mul", "en")).version


def test_the_requests_of_a_run_are_limited_and_names_come_in_order(state: Engine, server: WikidataServer) -> None:
    names = random.Random(3).sample(SMALL_NAMES, len(SMALL_NAMES))
    runs = 0
    while True:
        before = len(server.log)
        result = prefetch(state, server, names, requests_a_run=10, at_once=1)
        assert len(server.log) - before == result.requests <= 10
        runs += 1
        if not result.pending:
            break
        assert (result.limited, result.stopped) == (True, None)
        assert all("10 requests" in reason for reason in pending(state).values())
    assert runs > 7
    asked = [request.parameters["search"] for request in server.log if request.action == "wbsearchentities"]
    assert asked == sorted(normalise(name) for name in SMALL_NAMES)
    assert set(server.answered("wbgetentities").values()) == {1}


def test_without_a_contact_nothing_is_asked(state: Engine, server: WikidataServer, tmp_path: Path) -> None:
    prefetch(state, server, ["Berlin"])
    asked = len(server.log)
    source = client(state, server, contact=" ")
    result = source.prefetch(["Berlin", "Merkel"])
    assert result.off is not None and "POLYONYM_WIKIDATA_CONTACT" in result.off
    assert (result.cached, result.pending, result.requests, len(server.log)) == (1, 0, 0, asked)
    assert len(found(source, "Berlin")) == 2
    with pytest.raises(WrongUse, match="POLYONYM_WIKIDATA_CONTACT"):
        add_wikidata(source, tmp_path / "kb.sqlite", ["Q106"])


def test_settings_that_cannot_be_used_are_refused(state: Engine, server: WikidataServer) -> None:
    for wrong in ({"contact": "someone\nX-Evil: 1"}, {"contact": "jürgen"}, {"languages": ()}, {"at_once": 0}):
        with pytest.raises(WrongUse):
            client(state, server, **wrong)
    with pytest.raises(WrongUse, match="address"):
        client(state, server, url="nowhere").prefetch(["Berlin"])


def test_names_that_wikidata_cannot_hold_are_not_asked(state: Engine, server: WikidataServer) -> None:
    result = prefetch(state, server, ["", " ", "x" * 251, "Berlin"])
    assert (result.names, result.answered) == (1, 1)


def test_a_run_that_is_broken_off_loses_at_most_a_batch(state: Engine, server: WikidataServer) -> None:
    def stop(done: int, _all: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client(state, server).prefetch(SMALL_NAMES, stop)
    assert len(pending(state)) == len(SMALL_NAMES) - 50  # marked before anything was asked
    assert prefetch(state, server, []).pending == 0
    assert set(server.answered("wbsearchentities")) == {normalise(name) for name in SMALL_NAMES}
    assert set(server.answered("wbsearchentities").values()) == {1}


def test_purge_forgets_a_name_and_what_only_it_needed(state: Engine, server: WikidataServer, tmp_path: Path) -> None:
    server.world.odd_hits = {"merkel": ["Q990"]}
    prefetch(state, server, ["Berlin", "Merkel", "Ada 1"])
    server.poison = lambda _: "500"
    prefetch(state, server, ["Zoe", "Lord Number 1"])
    with state.begin() as connection:
        purge(connection, ["Berlin", "Lord Number 1"])
    server.poison = lambda _: None
    with state.connect() as connection:
        held = set(connection.execute(wikidata_cache.searches_table.select()).scalars())
        items = set(connection.execute(wikidata_cache.items_table.select()).scalars())
        assert connection.execute(wikidata_cache.redirects_table.select()).all() == []
    assert (held, items, set(pending(state))) == ({"berlin"}, {"Q106", "Q107"}, {"lord number 1"})
    fresh = open_state(f"sqlite:///{tmp_path / 'fresh.db'}")
    prefetch(fresh, server, ["Berlin"])
    for table in (wikidata_cache.searches_table, wikidata_cache.items_table):
        with state.connect() as one, fresh.connect() as other:  # all but the time of the answer
            assert [row[:-1] for row in one.execute(table.select())] == [row[:-1] for row in other.execute(table.select())]


def test_single_items_are_added_to_a_knowledge_base(state: Engine, server: WikidataServer, tmp_path: Path) -> None:
    path = tmp_path / "kb.sqlite"
    source = client(state, server, at_once=1)
    added = add_wikidata(source, path, ["https://www.wikidata.org/wiki/Q108", "Q990", "q101", "Q101", "Q4242"])
    assert [item.id for item in added.items] == ["Q101", "Q106", "Q108"]
    assert (added.redirects, added.missing) == ({"Q990": "Q106"}, ("Q4242",))
    knowledge = KnowledgeBase(path)
    [apple] = knowledge.candidates(["AAPL"])["AAPL"]
    assert (knowledge.count, apple.item.id, apple.item.source) == (3, "Q101", "kb")
    with pytest.raises(WrongUse, match="'P31', 'apple', 'Q0', 'Q01', 'Q１２'"):
        add_wikidata(source, path, ["Q1", "P31", "apple", "Q0", "Q01", "Q１２"])
    server.poison = lambda _: "503"
    with pytest.raises(ServerAway, match="Nothing was added"):
        add_wikidata(client(state, server), path, ["Q107"])
    assert KnowledgeBase(path).count == 3


def test_what_is_kept_of_an_entity() -> None:
    known = entity(
        "Q1", "Firm", aliases=("The Firm", "Firm"), classes=("Q4830453", "Q783794"), sitelinks=3,
        P1813=[statement({"text": "F.", "language": "en"}), statement({"text": "Fa.", "language": "de"}), statement(None)],
        P249=[statement("FRM"), statement("OLD", rank="deprecated")],
        P414=[statement({"id": "Q13677"}, P249=["FIRM", None])],
    )  # fmt: skip
    known["labels"]["fr"] = {"language": "fr", "value": "Entreprise"}
    facts = facts_of(convert_entity(known), ("en", "fr"))
    assert facts is not None
    assert (facts.label, facts.aliases) == ("Firm", ("Entreprise", "The Firm", "F.", "FRM", "FIRM"))
    assert (facts.classes, facts.sitelinks) == (("Q4830453", "Q783794"), 3)
    french = facts_of(convert_entity(known), ("fr", "en"))
    assert french is not None and french.label == "Entreprise"
    assert facts_of(convert_entity({"id": "P31", "type": "property"}), ("en",)) is None
    assert facts_of(decode_entity(json.dumps(known).encode()), ("en", "fr")) == facts
    with pytest.raises(ValueError, match="array"):
        convert_entity(["Q1"])


@settings(max_examples=60)
@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from(
    ["id", "labels", "aliases", "descriptions", "claims", "sitelinks", "en", "value", "P31", "P249", "P414", "mainsnak", "datavalue", "qualifiers"]), x, max_size=4)))  # fmt: skip
def test_no_entity_however_odd_does_harm(odd: object) -> None:
    made = {"id": "Q1", **odd} if isinstance(odd, dict) else odd
    try:
        facts = facts_of(convert_entity(made), ("en",))
    except ValueError:
        return
    assert facts is None or all(isinstance(alias, str) for alias in facts.aliases)


@pytest.fixture(scope="module")
def ground() -> Iterator[tuple[World, list[str]]]:
    """The world of the long tests, recorded if possible, with the names to ask."""
    recorded = recorded_world()
    if recorded is None:
        yield small_world(), SMALL_NAMES
        return
    labels = [e["labels"]["en"]["value"] for e in recorded.entities.values() if "en" in e["labels"]]
    names = random.Random(7).sample(sorted(set(labels)), 60)
    recorded.odd_hits = {normalise(names[5]): ["Q0", "Q987654321"], normalise(names[9]): ["Q2990000001"], normalise(names[20]): ["Q2300"]}
    recorded.redirects = {"Q2300": "Q34217"}
    yield recorded, [*names, "Oxford", "Warsaw", "Steve Clark", "GER", "nobody has this name"]


def test_through_every_fault_nothing_is_lost_and_nothing_asked_twice(
    state: Engine, running_server: WikidataServer, ground: tuple[World, list[str]], tmp_path: Path
) -> None:
    world, names = ground
    server = running_server
    server.reset(world)
    calm = open_state(f"sqlite:///{tmp_path / 'calm.db'}")
    assert prefetch(calm, server, names).pending == 0
    expected = client(calm, server).candidates(names)
    server.reset(world)
    for fault in FAULTS:
        server.faults.extend([fault, None, fault, fault])
    runs = [prefetch(state, server, names)]
    while runs[-1].pending:
        assert len(runs) < 20
        runs.append(prefetch(state, server, names))
    assert not server.faults
    assert client(state, server).candidates(names) == expected
    assert client(state, server).answers_digest(names) == client(calm, server).answers_digest(names)
    assert pending(state) == {}
    assert set(server.answered("wbsearchentities")) == {normalise(name) for name in names}
    assert set(server.answered("wbsearchentities").values()) == {1}
    assert set(server.answered("wbgetentities").values()) == {1}
    assert server.most_at_once <= 3


def _check_script(state: Engine, server: WikidataServer, script: list[str | None], budget: int, names: list[str]) -> None:
    with state.begin() as connection:
        purge(connection, [])
    server.reset(small_world())
    server.faults.extend(script)
    for _ in range(400):
        result = prefetch(state, server, names, requests_a_run=budget)
        assert result.requests <= budget
        assert set(pending(state)) == set() or result.pending
        if not result.pending:
            break
    wanted = {key for name in names if (key := normalise(name))}
    assert set(server.answered("wbsearchentities")) == wanted
    assert set(server.answered("wbsearchentities").values()) <= {1}
    assert set(server.answered("wbgetentities").values()) <= {1}
    calm = client(state, server).candidates(names)
    with state.begin() as connection:
        purge(connection, [])
    server.reset(small_world())
    prefetch(state, server, names)
    assert client(state, server).candidates(names) == calm


SCRIPTS = st.lists(st.sampled_from([None, *FAULTS]), max_size=30)
QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=10, deadline=None, suppress_health_check=QUIET)
@given(script=SCRIPTS, budget=st.integers(1, 40), names=st.lists(st.sampled_from(SMALL_NAMES), min_size=1, max_size=12, unique=True))
def test_random_faults(state: Engine, running_server: WikidataServer, script: list[str | None], budget: int, names: list[str]) -> None:
    _check_script(state, running_server, script, budget, names)


@pytest.mark.slow
@settings(max_examples=250, deadline=None, suppress_health_check=QUIET)
@given(script=SCRIPTS, budget=st.integers(1, 40), names=st.lists(st.sampled_from(SMALL_NAMES), min_size=1, max_size=30, unique=True))
def test_many_random_faults(state: Engine, running_server: WikidataServer, script: list[str | None], budget: int, names: list[str]) -> None:
    _check_script(state, running_server, script, budget, names)


def _recordings() -> Path:
    folder = data_folder() / "wikidata_api"
    if not folder.exists():
        pytest.skip(f"no recorded answers at {folder}; set POLYONYM_TEST_DATA to the data folder")
    return folder


@pytest.mark.parametrize("recording", ["error-maxlag-full", "error-maxlag"])
def test_a_recorded_error_is_got_over(state: Engine, server: WikidataServer, recording: str) -> None:
    server.raw = (_recordings() / "wikidata-toolkit" / f"{recording}.json").read_bytes()
    server.faults.append("raw")
    assert prefetch(state, server, ["Berlin"], at_once=1).pending == 0
    assert server.log[1].time - server.log[0].time >= 5


def test_a_recorded_no_such_entity_drops_its_id(server: WikidataServer) -> None:
    server.raw = (_recordings() / "wikidata-toolkit" / "error.json").read_bytes()
    server.faults.append("raw")
    api = Api(WikidataSettings(contact=CONTACT, url=server.url), server.clock)  # type: ignore[arg-type]
    answer = api.entities(["Q0", "Q106", "Q108"])
    assert (sorted(answer.found), answer.missing) == (["Q106", "Q108"], ["Q0"])
    assert len(server.log) == 2


def test_a_recorded_redirect_is_followed(state: Engine, server: WikidataServer, tmp_path: Path) -> None:
    server.raw = (_recordings() / "wikidata-toolkit" / "wbgetentities-Q32063953.json").read_bytes()
    server.faults.append("raw")
    added = add_wikidata(client(state, server), tmp_path / "kb.sqlite", ["Q32063953"])
    assert added.redirects == {"Q32063953": "Q1040"}
    assert added.items[0].label == "Karlsruhe"


def test_a_recorded_search_is_understood(state: Engine, server: WikidataServer) -> None:
    server.raw = (_recordings() / "wikidata-toolkit" / "wbsearchentities-abc.json").read_bytes()
    server.faults.append("raw")
    prefetch(state, server, ["ABC"])
    assert {"Q169889", "Q286874", "Q781365", "Q287076"} <= set(server.log[1].parameters["ids"].split("|"))


def test_recorded_items_are_understood() -> None:
    _recordings()
    facts = [facts_of(convert_entity(known), ("en", "mul")) for known in recorded_entities(data_folder())]
    assert len(facts) > 900
    assert sum(f is not None and f.label is not None for f in facts) > 0.9 * len(facts)
    by_id = {f.id: f for f in facts if f}
    assert by_id["Q34217"].label == "Oxford"
    assert by_id["Q34217"].sitelinks > 100
    assert "Q515" in by_id["Q34217"].classes or by_id["Q34217"].classes


def test_the_fake_clock_is_a_clock() -> None:
    clock = FakeClock()
    clock.sleep(2.5)
    assert (clock.monotonic(), clock.now()) == (2.5, FakeClock.START + 2.5)
