"""How well ways of asking find what answers: questions with their documents, measures of rankings, and files that other tools read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.store import files

DEPTHS = (2, 5, 10)
RUN_DEPTH = 100
"""Documents of each question in a run file."""
_RESAMPLES = 2000
_SEED = 20_261_201
_TAG = "polyonym"


@dataclass(frozen=True)
class GoldQuestion:
    """A question with the documents that together answer it, given by id, or by titles that have yet to be found."""

    id: str
    text: str
    kind: str
    gold: tuple[str, ...]


@dataclass(frozen=True)
class Measures:
    """How well one question's ranking does, each from 0 to 1."""

    recall: tuple[float, ...]  # the share of gold documents among the first 2, 5, 10
    support: tuple[float, ...]  # 1 where all gold documents are among the first 2, 5, 10
    reciprocal_rank: float  # one over the place of the first gold document
    gain: float  # nDCG at 10, every gold document worth the same


def read_questions(path: Path) -> list[GoldQuestion]:
    """The questions of a file of JSON lines: id, question, `gold` (titles or documents) or `gold_ids` (documents), and kind where known.

    Raises WrongUse, with file and line, for a line that is no such question, and for an id that comes twice.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise WrongUse(f"{path} cannot be read: {error.strerror}. Give a file of questions, one JSON object a line.") from error
    questions: dict[str, GoldQuestion] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            made = _question(f"{path}, line {number}", line)
            if made.id in questions:
                raise WrongUse(f"{path}, line {number}: the id {made.id!r} comes a second time. Give each question an id of its own.")
            questions[made.id] = made
    if not questions:
        raise WrongUse(f"{path} holds no question. Give one JSON object a line, with id, question and gold.")
    return list(questions.values())


def _question(where: str, line: bytes) -> GoldQuestion:
    try:
        row: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise WrongUse(f"{where} is no JSON: {error}. Give one object a line, with id, question and gold.") from error
    gold = (row.get("gold_ids") or row.get("gold")) if isinstance(row, dict) else None
    if not isinstance(gold, list) or not gold or not all(isinstance(g, str) for g in gold) or not isinstance(row.get("question"), str):
        raise WrongUse(f"{where} lacks a question (text) or gold (a list of titles or documents). Both are needed to measure.")
    return GoldQuestion(str(row.get("id", where)), row["question"], str(row.get("kind") or "all"), tuple(dict.fromkeys(gold)))


def documents_meant(gold: Sequence[str], by_title: Mapping[str, Sequence[str]], known: frozenset[str]) -> frozenset[str] | None:
    """The documents that gold names: each a document itself, or a title that one document alone bears; None where one is neither."""
    meant = [name if name in known else by_title[name][0] if len(by_title.get(name, ())) == 1 else None for name in gold]
    return None if None in meant else frozenset(name for name in meant if name is not None)


def measure(ranking: Sequence[str], gold: frozenset[str]) -> Measures:
    """The measures of one ranking of different documents, best first, against the documents that answer."""
    places = [place for place, document in enumerate(ranking) if document in gold]
    within = [sum(place < depth for place in places) for depth in DEPTHS]
    ideal = sum(1 / log2(place + 2) for place in range(min(len(gold), 10)))
    return Measures(
        tuple(count / len(gold) for count in within),
        tuple(float(count == len(gold)) for count in within),
        1 / (places[0] + 1) if places else 0.0,
        sum(1 / log2(place + 2) for place in places if place < 10) / ideal,
    )


def mean(measures: Sequence[Measures]) -> Measures:
    """The mean of each measure over some questions, at least one."""
    count = len(measures)
    return Measures(
        tuple(sum(column) / count for column in zip(*(m.recall for m in measures), strict=True)),
        tuple(sum(column) / count for column in zip(*(m.support for m in measures), strict=True)),
        sum(m.reciprocal_rank for m in measures) / count,
        sum(m.gain for m in measures) / count,
    )


def difference(left: Sequence[float], right: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of left − right over the same questions in the same order, by a paired bootstrap with a fixed seed."""
    differences = np.asarray(left, np.float64) - np.asarray(right, np.float64)
    drawn = np.random.default_rng(_SEED).integers(0, len(differences), (_RESAMPLES, len(differences)))
    low, high = np.quantile(differences[drawn].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def write_run(path: Path, rankings: Mapping[str, Sequence[tuple[str, float]]]) -> None:
    """A run file in TREC's form: question, Q0, document, rank from 1, score, tag. A blank within a question's id or a
    document's name becomes %20.

    `rankings` holds for each question its documents with their scores, best first.
    """
    lines = [
        f"{_word(question)} Q0 {_word(document)} {rank} {score:.6f} {_TAG}\n"
        for question, ranked in rankings.items()
        for rank, (document, score) in enumerate(ranked, 1)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, "".join(lines).encode("utf-8", "surrogatepass"))


def _word(name: str) -> str:
    return "%20".join(name.split())
