"""Commands that ask the graph, and that compare the ways of asking it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from polyonym.flows.cli import app
from polyonym.flows.cli.common import DEFAULT_HOME, ConfigOption, HomeOption, JsonOption, out, print_json, print_table, reading
from polyonym.retrieval.records import Mode

if TYPE_CHECKING:
    from polyonym.flows.inspect.comparison import Comparison


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="A question in words, about what stands in the documents.")],
    mode: Annotated[
        Mode,
        typer.Option(
            help="How to look: vector (by meaning and by words), graph (from the things that the question names along relations), "
            "dual (both, fused), adaptive (dual where the question names something known, else vector), bm25 or flat (words or meaning alone)."
        ),
    ] = Mode.ADAPTIVE,
    limit: Annotated[int, typer.Option(min=1, help="Most passages.")] = 5,
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """The evidence that answers a question: passages, each with its document and place, and what the question was taken to name."""
    from polyonym.flows.inspect import asking

    with reading(home, config) as (it, connection):
        answer = asking.opened(it.home, it.settings, connection)(question, mode, limit)
    if as_json:
        print_json({"question": answer.question, "mode": mode, "evidence": answer.evidence})
        return
    for name in answer.question.names:
        out.print(f"[bold]{escape(name.name)}[/bold]: {escape(name.how)}")
    if not answer.question.names:
        out.print("[dim]The question names nothing that the graph knows.[/dim]")
    out.print()
    if not answer.evidence:
        out.print("Nothing was found. `polyonym status` says what is in the home.")
    for number, hit in enumerate(answer.evidence, 1):
        out.print(f"[bold]{number}.[/bold] {escape(' '.join(hit.text.split()))}")
        date = f", {hit.date}" if hit.date else ""
        out.print(f"   [dim]{escape(hit.document)} {hit.start}-{hit.end}{date}; by {', '.join(hit.found_by)}[/dim]")


@app.command()
def compare(
    questions: Annotated[
        Path, typer.Argument(help="JSON lines of {id, question, gold: [titles or documents], kind}; gold_ids in place of gold: documents.")
    ],
    modes: Annotated[
        list[Mode] | None, typer.Option("--mode", help="A mode to compare; may be given several times. All unless given.")
    ] = None,
    runs: Annotated[Path | None, typer.Option(help="Folder for a run file in TREC's form of each mode, MODE.run.")] = None,
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Which mode finds what answers your questions: recall, full support, ranks and times of all modes, side by side."""
    from polyonym.flows.home.progress import Timings
    from polyonym.flows.inspect.comparison import compare as compared
    from polyonym.retrieval import evaluation

    asked = evaluation.read_questions(questions)
    with reading(home, config) as (it, connection):
        comparison = compared(it.home, it.settings, connection, asked, list(dict.fromkeys(modes or Mode)), Timings())
    if runs is not None:
        for outcome in comparison.outcomes:
            evaluation.write_run(runs / f"{outcome.mode}.run", outcome.rankings)
    rows = _rows(comparison)
    if as_json:
        print_json({"questions": len(comparison.questions), "unknown": [q.id for q in comparison.unknown], "modes": rows})
        return
    shown = ("mode", "kind", "n", "recall@5", "support@5", "mrr", "ms p50", "ms p95")  # what a narrow screen holds; --json has all
    print_table("", shown, ([row[name] for name in shown] for row in rows), right=range(2, len(shown)))
    for row in rows:
        if interval := row["recall@5 − bm25"]:
            out.print(f"{row['mode']}: recall@5 is {interval[0]:+.3f} to {interval[1]:+.3f} above bm25's (95 %)")
    if comparison.unknown:
        out.print(f"{len(comparison.unknown):,} questions were left out: not all of their gold is in this home under one title.")


def _rows(comparison: "Comparison") -> list[dict[str, Any]]:
    """A row for each mode over all questions and over those of each kind that is named."""
    from polyonym.retrieval import evaluation

    kinds = sorted({q.kind for q in comparison.questions} - {"all"})
    words = next((o for o in comparison.outcomes if o.mode is Mode.BM25), None)
    rows = []
    for kind in ["all", *kinds]:
        ids = [q.id for q in comparison.questions if kind in ("all", q.kind)]
        for outcome in comparison.outcomes:
            mean = evaluation.mean([outcome.measures[i] for i in ids])
            interval = None
            if kind == "all" and words and words is not outcome:
                interval = evaluation.difference(*([o.measures[i].recall[1] for i in ids] for o in (outcome, words)))
            rows.append(
                {"mode": outcome.mode, "kind": kind, "n": len(ids)}
                | {f"recall@{depth}": round(value, 3) for depth, value in zip(evaluation.DEPTHS, mean.recall, strict=True)}
                | {f"support@{depth}": round(value, 3) for depth, value in zip(evaluation.DEPTHS, mean.support, strict=True)}
                | {"mrr": round(mean.reciprocal_rank, 3), "ndcg@10": round(mean.gain, 3)}
                | {"ms p50": outcome.milliseconds(ids, 0.5), "ms p95": outcome.milliseconds(ids, 0.95), "recall@5 − bm25": interval}
            )
    return rows
