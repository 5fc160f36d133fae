"""The same text in another coat: gold documents wrapped, quoted, in capitals, as mail, and what is found and made one node then.

    python benchmarks/coats.py [--sets gum-a,reuters-128] [--coats plain,quoted,...] [--documents N] [--work DIR]

Every coat is read as a corpus of its own with default settings and without a knowledge base; what is found is carried back to its place in
the plain text, so that all are held against the same gold. What is found in a mail's head or a page's frame does not count. Printed per coat: found, exact, B³ F, redundant and fused (see gold_sets.py), and beside them by how many points each differs
from the plain text's. Gold sets are looked for in POLYONYM_TEST_DATA (default: ../shared/data beside the repository).
"""

import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from coat_files import FILE_COATS, aligned

from polyonym.flows.inspect import exports
from polyonym.flows.pipeline import scanning
from polyonym.flows.pipeline.run import Run
from polyonym.flows.pipeline.stages import ENTITIES, LINKS, MENTIONS, NAMES, do_stage
from polyonym.resolution.evaluation.evaluation import against_gold
from polyonym.resolution.evaluation.gold import read_gold

ROOT = Path(__file__).resolve().parents[1]
Gold = dict[str, Any]
Row = dict[str, Any]
Edit = tuple[int, int, str]
_WORD = re.compile(r"[^\W\d_]+")
_SMALL = re.compile(r"(?:a|an|the|of|and|or|in|on|at|to|by|for|from|with|as|nor|but)\Z")


# --- coats of text: edits of the plain text, so that every offset is known


def nothing(text: str) -> Iterator[Edit]:
    return iter(())


def wrapped(width: int, lead: str = "", line_end: str = "\n", hyphen: str = "") -> Callable[[str], Iterator[Edit]]:
    """Each line of the text as a paragraph wrapped at `width`, a blank line between paragraphs, `lead` before every line. With `hyphen`
    the last word of a line is divided where it is long."""

    def edits(text: str) -> Iterator[Edit]:
        yield 0, 0, lead
        column = 0
        for token in re.finditer(r"\n|[^\S\n]+|\S+", text):
            if token.group() == "\n":
                yield token.start(), token.end(), f"{line_end}{lead.rstrip()}{line_end}{lead}"
                column = 0
                continue
            following = re.match(r"\S+", text[token.end() : token.end() + 200])
            if token.group().isspace() and following and column + 1 + len(following[0]) > width:
                room = width - column - 2
                if hyphen and room > 2 and following[0].isalpha() and len(following[0]) - room > 2 and following[0][1:].islower():
                    at = token.end() + room
                    yield at, at, f"{hyphen}{line_end}{lead}"
                    column = -room  # what of the word stands on the line before
                else:
                    yield token.start(), token.end(), f"{line_end}{lead}"
                    column = 0
            else:
                column += len(token.group())

    return edits


def invisible(text: str) -> Iterator[Edit]:
    """Soft hyphens and other invisible characters inside and around words, in a quarter of them."""
    chance = random.Random(text)
    for word in _WORD.finditer(text):
        kind = chance.randrange(16)
        middle = (word.start() + word.end()) // 2
        if kind == 0:
            yield word.start(), word.start(), chance.choice("\u200b\u200e\u2060")
        elif kind < 3 and len(word.group()) > 3:
            yield middle, middle, chance.choice("\u00ad\u00ad\u200b\u200c\u2060")
        elif kind == 3:
            yield word.end(), word.end(), chance.choice("\u200b\u200f\ufeff")


def hard_blanks(text: str) -> Iterator[Edit]:
    """No-break spaces of several kinds in place of every second blank."""
    chance = random.Random(text)
    for blank in re.finditer(" ", text):
        if chance.randrange(2):
            yield blank.start(), blank.end(), chance.choice("\u00a0\u00a0\u202f\u2009")


def capitals(text: str) -> Iterator[Edit]:
    return ((i, i + 1, c.upper()) for i, c in enumerate(text) if c != c.upper() and len(c.upper()) == 1)


def title_case(text: str) -> Iterator[Edit]:
    """A capital for every word but the small ones, as in headlines."""
    for word in re.finditer(r"(?<![\w’'])[^\W\d_][\w’']*", text):
        if word.group()[0].islower() and not _SMALL.match(word.group()):
            yield word.start(), word.start() + 1, word.group()[0].upper()


def each_line_ragged(text: str) -> Iterator[Edit]:
    """Wrapped at a width that changes from line to line."""
    chance = random.Random(text)
    column, width = 0, 50
    for blank in re.finditer(r"\n|[^\S\n]+", text):
        if blank.group() == "\n":
            yield blank.start(), blank.end(), "\n\n"
            column = blank.end()
        elif blank.start() - column > width:
            yield blank.start(), blank.end(), "\n"
            column, width = blank.end(), chance.randrange(25, 70)


TEXT_COATS: dict[str, Callable[[str], Iterator[Edit]]] = {
    "plain": nothing,
    "wrapped at 60": wrapped(60),
    "wrapped at 72": wrapped(72),
    "wrapped at 78": wrapped(78),
    "wrapped raggedly": each_line_ragged,
    "wrapped with CRLF": wrapped(72, line_end="\r\n"),
    "quoted": wrapped(70, "> "),
    "quoted twice": wrapped(68, ">> "),
    "indented": wrapped(72, "    "),
    "comment": wrapped(72, " * "),
    "comment of #": wrapped(72, "# "),
    "invisible signs": invisible,
    "no-break spaces": hard_blanks,
    "divided by -": wrapped(60, hyphen="-"),
    "divided by U+2010": wrapped(60, hyphen="\u2010"),
    "capitals": capitals,
    "title case": title_case,
}


def coated(text: str, edits: Iterable[Edit]) -> tuple[str, list[int]]:
    """The text edited, and where each of its characters stood in the plain one (-1: nowhere)."""
    parts: list[str] = []
    origin: list[int] = []
    position = 0
    for start, end, new in edits:
        parts += (text[position:start], new)
        origin += range(position, start)
        origin += range(start, end) if len(new) == end - start else [-1] * len(new)
        position = end
    return "".join([*parts, text[position:]]), [*origin, *range(position, len(text))]


def back(rows: Iterable[Row], plain: dict[str, Gold], origins: dict[str, list[int]]) -> Iterator[Row]:
    """The mentions of documents in coats, at their places in the plain texts; those that lie outside of it are left out."""
    for row in rows:
        document = row["document"].removeprefix("documents.jsonl/")
        places = [i for i in origins[document][row["start"] : row["end"]] if i >= 0] if document in origins else []
        if places:
            start, end = places[0], places[-1] + 1
            yield row | {"document": plain[document]["doc_id"], "start": start, "end": end, "text": plain[document]["text"][start:end]}


# --- coats of names alone


def names_alone(gold: list[Gold], lead: str, between: str) -> list[Gold]:
    """Of each document its names, each once, as items of a list or cells of a table."""
    made = []
    for document in gold:
        text = lead
        mentions = []
        seen = {}
        for m in document["mentions"]:
            if m["text"][:1].isupper() and m["text"][-1:].isalnum() and "\n" not in m["text"]:
                seen.setdefault(m["text"], m)
        for i, (name, m) in enumerate(seen.items()):
            cell = between if i else ("- " if between == "\n- " else "| ")
            mentions.append(m | {"start": len(text) + len(cell), "end": len(text) + len(cell) + len(name)})
            text += cell + name + (" |\n" if between == " | " and i % 3 == 2 else "")
        if mentions:
            made.append(document | {"text": text, "evaluation_span": [0, len(text)], "mentions": mentions})
    return made


LIST_COATS = {
    "names as a list": lambda gold: names_alone(gold, "", "\n- "),
    "names as cells": lambda gold: names_alone(gold, "", " | "),
}


# --- reading and scoring


def rows_of(home: Path, source: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Texts of the documents by name, and the mentions, that a run over a source gives."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    run = Run.open(home, None)
    scanning.read_documents(run, scanning.scan_sources(run, [str(source)], False, None))
    for stage in (MENTIONS, NAMES, LINKS, ENTITIES):
        do_stage(run, stage)
    with run.engine.connect() as connection:
        texts = {r["document"]: r["text"] for r in exports.export(connection, "documents")}
        rows = list(exports.export(connection, "mentions"))
    run.end("done")
    return texts, rows


def score(gold: list[Gold], rows: Iterable[Row], work: Path) -> Any:
    file = work / "gold.jsonl"
    write(file, gold)
    return against_gold(read_gold(file), rows).scores


def write(file: Path, gold: Iterable[Gold]) -> None:
    file.write_text("".join(json.dumps(d, ensure_ascii=False) + "\n" for d in gold), encoding="utf-8", newline="")


def measured(coat: str, gold: list[Gold], work: Path) -> Any:
    """The scores of a gold set in a coat."""
    home, source = work / "home", work / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    if coat in FILE_COATS:
        names = FILE_COATS[coat](gold, source)
        texts, rows = rows_of(home, source)
        plain = {names[d["doc_id"]]: d for d in gold}
        return score(gold, back(rows, plain, {n: aligned(plain[n]["text"], text) for n, text in texts.items() if n in plain}), work)
    gold = LIST_COATS[coat](gold) if coat in LIST_COATS else gold
    made = {d["doc_id"]: coated(d["text"], TEXT_COATS.get(coat, nothing)(d["text"])) for d in gold}
    write(source / "documents.jsonl", ({"id": name, "text": text} for name, (text, _) in made.items()))
    _, rows = rows_of(home, source / "documents.jsonl")
    return score(gold, back(rows, {d["doc_id"]: d for d in gold}, {name: origin for name, (_, origin) in made.items()}), work)


def main() -> None:
    every = [*TEXT_COATS, *LIST_COATS, *FILE_COATS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("POLYONYM_TEST_DATA", ROOT.parent / "shared" / "data")))
    parser.add_argument("--sets", default="gum-a,reuters-128")
    parser.add_argument("--coats", default=",".join(every), help=f"default: all of {', '.join(every)}")
    parser.add_argument("--documents", type=int, help="only the first N documents of each set")
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    if not (options.data / "gold").is_dir():
        sys.exit(f"The gold sets are not there ({options.data / 'gold'}): nothing measured. Say where with --data.")
    coats = ["plain", *(c for c in options.coats.split(",") if c != "plain")]
    if unknown := [c for c in coats if c not in every]:
        sys.exit(f"No such coat: {', '.join(unknown)}. There are: {', '.join(every)}.")
    with tempfile.TemporaryDirectory(prefix="polyonym-coats-") as temporary:
        work = options.work or Path(temporary)
        for name in options.sets.split(","):
            gold = [json.loads(line) for line in (options.data / "gold" / f"{name}.jsonl").open(encoding="utf-8")][: options.documents]
            print(f"{name:24}{'found':>14}{'exact':>14}{'B3 F':>14}{'redundant':>14}{'fused':>14}   (in brackets: points beside plain)")
            plain: list[float] = []
            for coat in coats:
                s = measured(coat, gold, work)
                values = [s.found, s.exact, s.b3[2], s.redundant, s.fused]
                plain = plain or values
                print(
                    f"{coat:24}" + "".join(f"{f'{100 * v:.1f} ({100 * (v - p):+.1f})':>14}" for v, p in zip(values, plain, strict=True)),
                    flush=True,
                )


if __name__ == "__main__":
    main()
