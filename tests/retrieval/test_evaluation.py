"""Measures of rankings against values worked out by hand, questions files that are broken, and run files."""

from math import log2
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyonym.ingest.errors import WrongUse
from polyonym.retrieval.evaluation import DEPTHS, difference, documents_meant, mean, measure, read_questions, write_run


def test_measures_are_what_their_formulae_say() -> None:
    made = measure(["x", "a", "y", "b"], frozenset("ab"))
    assert (made.recall, made.support) == ((0.5, 1, 1), (0, 1, 1))
    assert made.reciprocal_rank == 0.5
    assert made.gain == pytest.approx((1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3)))
    both = mean([made, measure([], frozenset("a"))])
    assert both.recall == (0.25, 0.5, 0.5) and both.reciprocal_rank == 0.25


@given(st.permutations("abcdefghijkl"), st.frozensets(st.sampled_from("abcdefgh"), min_size=1))
def test_measures_lie_between_0_and_1_and_gold_at_the_top_is_best(ranking: list[str], gold: frozenset[str]) -> None:
    made, ideal = measure(ranking, gold), measure(sorted(ranking, key=lambda d: d not in gold), gold)
    for value, top in zip(
        (*made.recall, *made.support, made.reciprocal_rank, made.gain), (*ideal.recall, *ideal.support, 1, 1), strict=True
    ):
        assert 0 <= value <= top + 1e-12
    assert ideal.gain == pytest.approx(1) and ideal.support[DEPTHS.index(10)] == 1


def test_gold_may_be_titles_or_documents_but_no_title_of_two() -> None:
    by_title, known = {"Paris": ["a", "b"], "Rome": ["c"]}, frozenset("abc")
    assert documents_meant(["Rome", "a"], by_title, known) == {"a", "c"}
    assert documents_meant(["Paris"], by_title, known) is None and documents_meant(["Oslo", "a"], by_title, known) is None


def test_the_interval_of_a_difference_holds_it_and_is_the_same_each_time() -> None:
    left, right = [1.0, 1.0, 0.0, 1.0] * 20, [0.0, 1.0, 0.0, 1.0] * 20
    low, high = difference(left, right)
    assert 0 < low < 0.25 < high < 0.5 and (low, high) == difference(left, right)
    assert difference(left, left) == (0, 0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"id": 1, "question": "Who?", "gold": ["a"]}\n{', "line 2 is no JSON"),
        (b'{"id": 1, "question": "Who?"}', "line 1 lacks a question"),
        (
            b'{"id": 1, "question": "Who?", "gold": ["a"]}\n{"id": 1, "question": "Who?", "gold": ["a"]}',
            "line 2: the id '1' comes a second",
        ),
        (b"\n", "holds no question"),
    ],
)
def test_a_broken_file_of_questions_is_told_with_its_line(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "q.jsonl"
    file.write_bytes(content)
    with pytest.raises(WrongUse, match=said):
        read_questions(file)


def test_questions_name_documents_or_titles_and_perhaps_a_kind(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"id": "1", "question": "Who?", "gold": ["a", "a"], "kind": "bridge"}\n{"question": "Where?", "gold_ids": ["b"]}\n')
    first, second = read_questions(file)
    assert (first.gold, first.kind, second.gold, second.kind) == (("a",), "bridge", ("b",), "all")
    with pytest.raises(WrongUse, match="cannot be read"):
        read_questions(tmp_path / "none.jsonl")


def test_a_run_file_has_six_columns_whatever_the_documents_are_called(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "graph.run", {"1": [("a b.txt", 0.5), ("c", 0.25)], "2": []})
    lines = (tmp_path / "runs" / "graph.run").read_text().splitlines()
    assert lines == ["1 Q0 a%20b.txt 1 0.500000 polyonym", "1 Q0 c 2 0.250000 polyonym"]


def test_a_question_without_an_id_has_a_row_of_six_columns_too(tmp_path: Path) -> None:
    file = tmp_path / "my questions.jsonl"
    file.write_text('{"question": "Who?", "gold": ["a"]}\n')
    [question] = read_questions(file)
    write_run(tmp_path / "graph.run", {question.id: [("a", 0.5)]})
    assert len((tmp_path / "graph.run").read_text().split()) == 6
