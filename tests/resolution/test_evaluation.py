"""The audit: figures worked out by hand, equal to the reference scorer's, errors by cost, and the gates of the command."""

import dataclasses
import importlib.util
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st
from small_state import fill
from typer.testing import CliRunner

from polyonym.flows.cli import app, quality  # noqa: F401  (it registers the command)
from polyonym.ingest.errors import WrongUse
from polyonym.resolution.decisions import Decision, by_strength
from polyonym.resolution.evaluation.evaluation import GoldEvaluation, against_gold
from polyonym.resolution.evaluation.gold import GoldDocument, GoldMention, read_gold, trim
from polyonym.resolution.evaluation.standing import standing
from polyonym.resolution.judgements.judgements import Judgement, Reference
from polyonym.resolution.linking.candidates import Item

TEXT = "Ann Lee met the Bank's head. Bank of Ur and Bank fell. Lee left Ur."


def mention(text: str, nth: int = 0, source: str = TEXT) -> tuple[int, int]:
    start = -1
    for _ in range(nth + 1):
        start = source.index(text, start + 1)
    return start, start + len(text)


def gold(*rows: tuple[str, int, str], name: str = "d", judged: tuple[int, int] | None = None) -> GoldDocument:
    made = tuple(GoldMention(*mention(text, nth), text, key, "ORG" if "Bank" in text else "PERSON") for text, nth, key in rows)
    return GoldDocument(name, TEXT, judged or (0, len(TEXT)), made)


def ours(*rows: tuple[str, int, str, str | None], document: str = "d", confidence: float = 0.9) -> list[dict[str, Any]]:
    made = []
    for text, nth, entity, link in rows:
        start, end = mention(text, nth)
        made.append(
            {
                "document": document,
                "start": start,
                "end": end,
                "text": text,
                "entity_id": entity,
                "wikidata_id": link,
                "candidate": link,
                "confidence": confidence,
            }
        )
    return made


GOLD = gold(("Ann Lee", 0, "Q1"), ("Bank", 0, "Q2"), ("Bank of Ur", 0, "Q2"), ("Lee", 1, "Q1"))
OURS = ours(("Ann Lee", 0, "e1", "Q1"), ("the Bank's", 0, "e2", "Q2"), ("Bank of Ur", 0, "e3", "Q9"), ("Lee", 1, "e1", None))


def test_figures_worked_out_by_hand() -> None:
    scores = against_gold([GOLD], OURS).scores
    assert (scores.found, scores.exact, scores.nodes, scores.gold_entities) == (1.0, 1.0, 3, 2)
    assert scores.b3 == (1.0, 0.75, 2 * 0.75 / 1.75)
    assert scores.pair == (1.0, 0.5, 2 / 3)
    assert (scores.redundant, scores.fused) == (1 / 3, 0.0)
    assert (scores.accuracy, scores.linked, scores.wrong) == (0.5, 0.75, 1 / 3)
    assert scores.link == (2 / 3, 0.5, 2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))


def test_spans_are_compared_without_determiner_and_possessive() -> None:
    assert TEXT[slice(*trim(TEXT, *mention("the Bank's")))] == "Bank"
    assert trim("AN apple", 0, 8) == (0, 8)


def test_scores_by_type_are_those_of_that_part_alone() -> None:
    found = against_gold([GOLD], OURS).by_type
    assert list(found) == ["PERSON", "ORG"]
    assert (found["PERSON"].redundant, found["ORG"].redundant) == (0.0, 0.5)
    assert found["ORG"].gold_mentions == 2


@pytest.mark.parametrize("name", ["d", "folder/d", "folder/d.txt", "file.jsonl/d"])
def test_documents_are_met_by_name_last_part_and_stem(name: str) -> None:
    rows = [row | {"document": name} for row in OURS]
    assert against_gold([GOLD], rows).scores == against_gold([GOLD], OURS).scores


def test_only_the_judged_span_counts() -> None:
    start = mention("Bank of Ur")[0]
    part, whole = (GoldDocument("d", TEXT, (start, len(TEXT)), mentions) for mentions in (GOLD.mentions[2:], GOLD.mentions))
    scores = against_gold([part], OURS).scores
    assert (scores.mentions, scores.gold_mentions, scores.found, scores.exact) == (2, 2, 1.0, 1.0)
    assert against_gold([whole], OURS) == against_gold([part], OURS), "the gold's own mentions outside of it do not count either"


def test_errors_come_by_what_they_cost() -> None:
    true = gold(("Ann Lee", 0, "Q1"), ("Lee", 1, "Q1"), ("Bank", 0, "Q2"), ("Bank of Ur", 0, "Q2"), ("Bank", 2, "Q2"))
    rows = ours(
        ("Ann Lee", 0, "e1", "Q1"), ("Lee", 1, "e2", None), ("Bank", 0, "e2", "Q7"), ("Bank of Ur", 0, "e2", "Q7"), ("Bank", 2, "e2", "Q7")
    )
    errors = {(e.kind, e.id): (e.cost, [(p.id, p.mentions) for p in e.parts]) for e in against_gold([true], rows).errors}
    assert errors == {
        ("wrong link", "Q7"): (3, [("Q2", 3)]),
        ("missed merge", "Q1"): (1, [("e1", 1), ("e2", 1)]),
        ("false merge", "e2"): (1, [("Q2", 3), ("Q1", 1)]),
    }
    assert [e.cost for e in against_gold([true], rows).errors] == [3, 1, 1]


def test_a_link_not_made_is_an_error_where_there_was_a_candidate() -> None:
    rows = [row | {"wikidata_id": None, "candidate": "Q1" if row["text"] == "Lee" else None} for row in OURS]
    (error,) = [e for e in against_gold([GOLD], rows).errors if e.kind == "missing link"]
    assert (error.id, error.cost, [(p.id, p.mentions) for p in error.parts]) == ("Q1", 2, [("", 1), ("Q1", 1)])


def test_a_text_that_is_another_one_is_told() -> None:
    rows = [{**OURS[0], "start": 1, "end": 8}]
    with pytest.raises(WrongUse, match=r"'d'.*1–8"):
        against_gold([GOLD], rows)


def test_gold_of_another_corpus_is_told() -> None:
    with pytest.raises(WrongUse, match="None of the gold set's documents"):
        against_gold([GOLD], ours(("Ann Lee", 0, "e1", None), document="other"))


def test_absent_gold_documents_are_named_and_count_as_not_found() -> None:
    found = against_gold([GOLD, gold(("Ann Lee", 0, "Q1"), name="away")], OURS)
    assert (found.absent, found.scores.found, found.scores.documents) == (("away",), 0.8, 2)


@pytest.mark.parametrize("line", ["{", '{"doc_id": "d"}', "[1]", '{"doc_id": "d", "text": "x", "mentions": [{"start": "a"}]}'])
def test_a_broken_gold_set_names_its_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "gold.jsonl"
    file.write_text(f'{{"doc_id": "a", "text": "x", "mentions": []}}\n{line}\n', encoding="utf-8")
    with pytest.raises(WrongUse, match=r"gold\.jsonl, line 2"):
        read_gold(file)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"end": 30}, "no span from 0 to 30"),
        ({"start": -1}, "no span from -1 to 3"),
        ({"start": 3, "end": 0}, "no span from 3 to 0"),
        ({"text": "Two"}, "stands 'One', not 'Two'"),
        ({"qid": None}, "`qid` of 'One' is None"),
    ],
)
def test_a_mention_that_cannot_be_is_refused(tmp_path: Path, changed: dict[str, Any], told: str) -> None:
    file = tmp_path / "gold.jsonl"
    row = {"start": 0, "end": 3, "text": "One", "qid": "Q1"} | changed
    file.write_text(json.dumps({"doc_id": "a", "text": "One thing.", "mentions": [row]}), encoding="utf-8")
    with pytest.raises(WrongUse, match=rf"gold\.jsonl, line 1, .*{told}"):
        read_gold(file)


def test_a_document_that_stands_twice_in_a_gold_set_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    line = json.dumps({"doc_id": "a", "text": "One.", "mentions": [{"start": 0, "end": 3, "text": "One", "qid": "Q1"}]})
    file.write_text(f"{line}\n{line}\n", encoding="utf-8")
    with pytest.raises(WrongUse, match=r"gold\.jsonl, line 2: the document 'a'"):
        read_gold(file)


def test_a_key_that_only_begins_with_q_is_no_wikidata_id() -> None:
    keyed = gold(("Ann Lee", 0, "Quux-company"), ("Bank", 0, "Q0"))
    assert against_gold([keyed], OURS).scores.link is None


def test_gold_types_of_several_kinds_become_ours(tmp_path: Path) -> None:
    types = ["person", "Q27096213|Q43229", "HUMAN_PART_ORG", "LOC", "organization", None, "time"]
    rows = [{"start": 0, "end": 1, "text": "x", "qid": "Q1", "type": t} for t in types]
    file = tmp_path / "gold.jsonl"
    file.write_text(json.dumps({"doc_id": "a", "text": "x", "mentions": rows}), encoding="utf-8")
    assert [m.type for m in read_gold(file)[0].mentions] == ["PERSON", "ORG", "ORG", "PLACE", "ORG", "", "OTHER"]


# Equal to the reference scorer


def data_folder() -> Path:
    return Path(os.environ.get("POLYONYM_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data")


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    script = data_folder().parent / "eval" / "score.py"
    if not script.is_file():
        pytest.skip(f"the reference scorer is not at {script}")
    spec = importlib.util.spec_from_file_location("reference_scorer", script)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def as_reference(audit: GoldEvaluation) -> dict[str, Any]:
    return {k: v for k, v in json.loads(json.dumps(dataclasses.asdict(audit.scores))).items() if v is not None}


def noisy(documents: list[GoldDocument], rng: random.Random) -> Iterator[dict[str, Any]]:
    """Mentions as a middling run would find them: some missed, some too long, nodes split and fused, links right and wrong."""
    keys: dict[str, str] = {}
    for d in documents:
        for m in d.mentions:
            if rng.random() < 0.2:
                continue
            start, end = m.start, min(len(d.text), m.end + (2 if rng.random() < 0.1 else 0))
            entity = keys.setdefault(m.key, f"e{rng.randrange(len(keys) + 5)}") if rng.random() < 0.85 else f"f{rng.randrange(40)}"
            link = rng.choice([m.key if m.key.startswith("Q") else None, None, f"Q{rng.randrange(99)}"])
            yield {
                "document": d.doc_id,
                "start": start,
                "end": end,
                "text": d.text[start:end],
                "entity_id": entity,
                "wikidata_id": link,
                "candidate": link or rng.choice([m.key, None]),
                "confidence": round(rng.random(), 3),
            }


@pytest.mark.parametrize("name", ["reuters-128", "oke-2015-eval", "meantime-a", "gum-a"])
def test_equal_to_the_reference_scorer_to_the_last_digit(name: str, reference: ModuleType, tmp_path: Path) -> None:
    file = data_folder() / "gold" / f"{name}.jsonl"
    if not file.is_file():
        pytest.skip(f"the gold set is not at {file}")
    documents = read_gold(file)
    rows = list(noisy(documents, random.Random(7)))
    written = tmp_path / "mentions.jsonl"
    written.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    assert as_reference(against_gold(documents, rows)) == json.loads(json.dumps(reference.score(file, written)))


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz")), min_size=1, max_size=12))
def test_figures_stay_in_bounds_and_perfect_nodes_cost_nothing(pairs: list[tuple[str, str]]) -> None:
    text = "A" * len(pairs)
    document = GoldDocument("d", text, (0, len(text)), tuple(GoldMention(i, i + 1, "A", key, "") for i, (key, _) in enumerate(pairs)))

    def rows(node: Callable[[int], str]) -> list[dict[str, Any]]:
        return [
            {"document": "d", "start": i, "end": i + 1, "text": "A", "entity_id": node(i), "wikidata_id": None} for i in range(len(pairs))
        ]

    audit = against_gold([document], rows(lambda i: pairs[i][1]))
    figures = [*audit.scores.b3, *audit.scores.pair, audit.scores.redundant, audit.scores.fused]
    assert all(0 <= f <= 1 for f in figures)
    assert (audit.scores.b3[2] == 1) == (not audit.errors)
    perfect = against_gold([document], rows(lambda i: pairs[i][0]))
    assert (perfect.scores.b3, perfect.scores.pair, perfect.errors) == ((1, 1, 1), (1, 1, 1), ())


# Without gold


TEXTS = {
    "a.txt": "Ingrid Halvorsen leads Halden ASA. Halvorsen said that Halden will grow.",
    "b.txt": "Per Halvorsen sails. Ingrid Halvorsen saw it.",
    "c.txt": "Halvorsen was absent.",
}
LABELS = {"Ingrid Halvorsen": "PERSON", "Per Halvorsen": "PERSON", "Halvorsen": "PERSON", "Halden ASA": "ORG", "Halden": "ORG"}


def test_what_can_be_said_without_gold(tmp_path: Path) -> None:
    items = [Item("ex:halden", "Halden ASA", ("Halden",), None, ("ORG",), None, "Q5", "registry")]
    with fill(tmp_path / "s.db", TEXTS, LABELS, items).connect() as connection:
        found = standing(connection)
    assert (found.mentions, found.linked_nodes, found.registered_nodes) == (7, 1, 1)
    assert (found.links, found.abstentions) == (1, 0)
    assert found.links + found.nils + found.abstentions == found.names
    assert sum(found.by_type.values()) == found.nodes
    assert [(w.wikidata_id, w.weakest) for w in found.weakest] == [("Q5", "halden")]


def test_a_judged_link_counts_as_judged(tmp_path: Path) -> None:
    word = Judgement("link", Reference("ingrid halvorsen"), value="Q7")
    with fill(tmp_path / "s.db", TEXTS, LABELS, judged=[word]).connect() as connection:
        found = standing(connection)
    assert (found.links, found.linked_nodes) == (2, 1)


def test_merges_come_strongest_first() -> None:
    made = [
        Decision("a", "merge", ("a",), "nearest context", features={"margin": 0.5}),
        Decision("b", "merge", ("b",), "nearest context", features={"margin": 0.01}),
        Decision("c", "merge", ("c",), "same name", features={"documents": 2}),
        Decision("d", "merge", ("d",), "same name", features={"documents": 9}),
        Decision("e", "merge", ("e", "f"), "judged the same"),
        Decision("f", "merge", ("f",), "slip of the pen"),
        Decision("g", "merge", ("g",), "linked to one item, and alike"),
        Decision("h", "merge", ("h",), "singular and plural"),
        Decision("i", "merge", ("i", "j"), "same name", features={"documents": 9, "probability": 0.6}),
    ]
    assert "".join(d.scope for d in by_strength(reversed(made))) == "edcihgfab"


# The command


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("audit") / "home"
    home.mkdir()
    fill(home / "state.db", TEXTS, LABELS)
    return home


@pytest.fixture(scope="module")
def gold_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def row(name: str, *things: tuple[str, str]) -> dict[str, Any]:
        found = [(*mention(text, 0, TEXTS[name]), text, key) for text, key in things]
        return {"doc_id": name, "text": TEXTS[name], "mentions": [{"start": s, "end": e, "text": t, "qid": k} for s, e, t, k in found]}

    rows = [row("a.txt", ("Ingrid Halvorsen", "x:1"), ("Halden ASA", "x:2")), row("b.txt", ("Per Halvorsen", "x:1"))]
    file = tmp_path_factory.mktemp("gold") / "gold.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return file


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


def test_gates_that_hold_and_gates_that_break(home: Path, gold_file: Path) -> None:
    asked = ("--home", home, "--gold", gold_file)
    assert command(*asked).exit_code == 0
    assert command(*asked, "--max-fused", 0, "--min-b3", 0.5, "--max-redundant", 0.5).exit_code == 0
    broken = command(*asked, "--min-b3", 0.99, "--max-redundant", 0.1, "--json")
    assert broken.exit_code == 1
    assert json.loads(broken.stdout)["broken"] == ["B³ F 0.800 is below 0.99", "redundant nodes 0.333 is above 0.1"]
    assert "gate broken: B³ F 0.800" in " ".join(broken.stderr.split())
    assert "gate broken" in (home / "audit.html").read_text(encoding="utf-8")


def test_the_page_and_the_screen_hold_the_scores(home: Path, gold_file: Path) -> None:
    shown = command("--home", home, "--gold", gold_file).stdout
    page = (home / "audit.html").read_text(encoding="utf-8")
    assert "missed merge" in shown and "missed merge" in page
    assert "0.800" in shown and "0.800" in page


def test_gates_without_what_they_judge_are_refused(home: Path, gold_file: Path) -> None:
    for arguments in (("--min-b3", 0.5), ("--gold", gold_file, "--min-link-f1", 0.5)):
        refused = command("--home", home, *arguments)
        assert isinstance(refused.exception, WrongUse)
        assert refused.exception.exit_code == 2


def test_an_audit_without_gold_ends_well(home: Path) -> None:
    assert json.loads(command("--home", home, "--json").stdout)["gold"] is None
