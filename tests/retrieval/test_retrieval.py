"""Asking a small graph: names in questions, the searches, and what each mode brings."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_state import fill

from polyonym.graph import relations
from polyonym.ingest.text import chunks, documents
from polyonym.retrieval import question, searches
from polyonym.retrieval.fusion import reciprocal_rank
from polyonym.retrieval.index import Index
from polyonym.retrieval.records import Mode

TEXTS = {
    "founding": "Mette Lindqvist founded Velmora Energy in 1998.",
    "seat": "Velmora Energy has its headquarters in Hamburg.",
    "talk": "In a talk about headquarters, founders told why a company is founded in a city. Karin Holm listened.",
    "fair": "A fair about company headquarters took place in the city of Esbjerg. Founders came.",
    "who": "The WHO warned Karin Holm.",
    "other": "Karin Holm lives in Esbjerg.",
}
LABELS = {
    "Mette Lindqvist": "PERSON",
    "Velmora Energy": "ORG",
    "Hamburg": "GPE",
    "Karin Holm": "PERSON",
    "Esbjerg": "GPE",
    "WHO": "ORG",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("asking")
    engine = fill(folder / "s.db", TEXTS, LABELS)
    with engine.begin() as connection:
        made = [c for d in documents.load(connection) for c in chunks.chunk(d, lambda texts: [len(t.split()) for t in texts], 50)]
        chunks.replace(connection, list(TEXTS), made)
        relations.gather(connection)
        yield Index.read(connection, folder / "vectors")


def documents_for(index: Index, text: str, mode: Mode, k: int = 10) -> list[str]:
    return [hit.document for hit in searches.search(index, question.understand(index, text), mode, None, k)]


def test_names_of_a_question_are_those_of_the_graph(index: Index) -> None:
    understood = question.understand(index, "Who at Velmora Energy knows karin holm?")
    assert [(n.name, index.shown_names[n.entity_ids[0]]) for n in understood.names] == [
        ("Velmora Energy", "Velmora Energy"),
        ("karin holm", "Karin Holm"),
    ]
    assert all(understood.text[n.start : n.end] == n.name for n in understood.names)
    assert not question.understand(index, "Who is that?").names and question.understand(index, "Did WHO warn?").names


def test_a_misspelling_means_the_name_it_is_near(index: Index) -> None:
    [thing] = question.understand(index, "Where does Mette Lindqvsit live?").names
    assert thing.name == "Mette Lindqvsit" and thing.how == "perhaps a misspelling of Mette Lindqvist"
    assert not question.understand(index, "Where does Peter Ostrander live?").names


def test_what_the_question_does_not_name_is_reached_over_what_it_does(index: Index) -> None:
    asked = "In which city are the headquarters of the company founded by Mette Lindqvist?"
    assert set(documents_for(index, asked, Mode.GRAPH)[:2]) == {"founding", "seat"}
    assert documents_for(index, asked, Mode.BM25).index("seat") > 1
    assert {"founding", "seat"} <= set(documents_for(index, asked, Mode.DUAL, 4))


def test_a_mode_without_its_means_takes_others(index: Index) -> None:
    nameless = "a talk about headquarters"
    assert documents_for(index, nameless, Mode.GRAPH) == documents_for(index, nameless, Mode.BM25)
    assert documents_for(index, nameless, Mode.ADAPTIVE) == documents_for(index, nameless, Mode.VECTOR)
    assert documents_for(index, nameless, Mode.FLAT) == []
    assert documents_for(index, "?!", Mode.ADAPTIVE) == []


def test_a_hit_is_a_slice_of_its_document(index: Index) -> None:
    for hit in searches.search(index, question.understand(index, "Karin Holm in Esbjerg"), Mode.DUAL, None, 10):
        assert TEXTS[hit.document][hit.start : hit.end] == hit.text and set(hit.found_by) <= {"words", "graph"}


def test_an_empty_home_answers_nothing(tmp_path: Path) -> None:
    with fill(tmp_path / "s.db", {}, {}).connect() as connection:
        assert documents_for(Index.read(connection, tmp_path / "vectors"), "Who is Karin Holm?", Mode.ADAPTIVE) == []


@given(st.dictionaries(st.sampled_from(["words", "meaning", "graph"]), st.lists(st.integers(0, 9), unique=True)))
def test_fusion_holds_each_item_once_and_does_not_look_at_the_order_of_searches(rankings: dict[str, list[int]]) -> None:
    fused = reciprocal_rank(rankings)
    assert {item for item, _ in fused} == {item for ranking in rankings.values() for item in ranking} and len(fused) == len(dict(fused))
    turned = reciprocal_rank(dict(reversed(rankings.items())))
    assert dict(turned) == pytest.approx(dict(fused))
