"""The difference between what a projection should hold and what it has acknowledged."""

from pathlib import Path

import pytest
from graph_state import new_state
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from polyonym.graph.difference import Wanted, acknowledge, difference, forget, properties_hash

Held = dict[tuple[str, str], str]
CONTENTS = st.dictionaries(
    st.tuples(st.sampled_from(["A", "B"]), st.text("aé\U0001f600Z~", max_size=3)), st.sampled_from(["1", "2"]), max_size=8
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return new_state(tmp_path_factory.mktemp("state") / "state.db")


def wanted(contents: Held) -> list[Wanted]:
    return [Wanted(kind, id_, contents[kind, id_]) for kind, id_ in sorted(contents)]


@settings(deadline=None)
@given(st.lists(CONTENTS, max_size=5), st.integers(0, 20))
def test_what_is_acknowledged_is_not_asked_for_again(engine: Engine, series: list[Held], died_after: int) -> None:
    held: Held = {}
    with engine.connect() as connection:
        for contents in series:
            changes = list(difference(connection, "p", wanted(contents)))
            assert {(c.kind, c.id) for c in changes if c.verb == "new"} == contents.keys() - held.keys()
            assert {(c.kind, c.id) for c in changes if c.verb == "gone"} == held.keys() - contents.keys()
            assert {(c.kind, c.id) for c in changes if c.verb == "changed"} == {
                k for k in contents.keys() & held.keys() if contents[k] != held[k]
            }
            acknowledge(connection, "p", changes[:died_after])
            acknowledge(connection, "p", list(difference(connection, "p", wanted(contents))))
            assert not list(difference(connection, "p", wanted(contents)))
            held = contents


def test_one_kind_leaves_the_others_alone(engine: Engine) -> None:
    with engine.connect() as connection:
        acknowledge(connection, "p", list(difference(connection, "p", wanted({("A", "x"): "1", ("B", "y"): "1"}))))
        assert [(c.verb, c.id) for c in difference(connection, "p", [], kind="B")] == [("gone", "y")]


def test_projections_do_not_know_of_each_other(engine: Engine) -> None:
    with engine.connect() as connection:
        for projection in ("p", "q"):
            acknowledge(connection, projection, list(difference(connection, projection, wanted({("A", "x"): "1"}))))
        forget(connection, "p")
        assert [c.verb for c in difference(connection, "p", wanted({("A", "x"): "1"}))] == ["new"]
        assert not list(difference(connection, "q", wanted({("A", "x"): "1"})))


@pytest.mark.parametrize("second", ["a", "b"])
def test_wanted_things_out_of_order_are_refused(engine: Engine, second: str) -> None:
    with engine.connect() as connection, pytest.raises(ValueError, match="must ascend"):
        list(difference(connection, "p", [Wanted("A", "b", "1"), Wanted("A", second, "1")]))


def test_the_hash_is_of_values_not_of_their_order() -> None:
    assert properties_hash({"a": 1, "b": ["x"]}) == properties_hash({"b": ["x"], "a": 1})
    assert properties_hash({"a": 1}) != properties_hash({"a": "1"})


def test_a_state_at_rest_has_no_open_transaction(tmp_path: Path) -> None:
    engine = new_state(tmp_path / "s.db")
    with engine.connect() as connection:
        acknowledge(connection, "p", list(difference(connection, "p", wanted({("A", "x"): "1"}))))
    with engine.connect() as connection:
        assert list(difference(connection, "p", wanted({("A", "x"): "1"}))), "an acknowledgement counts when its transaction is committed"
