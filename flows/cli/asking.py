"""Commands that ask the graph, and that compare the ways of asking it."""

from typing import Annotated

import typer
from rich.markup import escape

from polyonym.flows.cli import app
from polyonym.flows.cli.common import DEFAULT_HOME, ConfigOption, HomeOption, JsonOption, out, print_json, reading
from polyonym.retrieval.records import Hit, Mode, Question


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
        print_json({"question": _question(answer.question), "mode": mode, "evidence": [_row(hit) for hit in answer.evidence]})
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


def _question(understood: Question) -> dict[str, object]:
    return {"text": understood.text, "names": [vars(name) for name in understood.names]}


def _row(hit: Hit) -> dict[str, object]:
    return vars(hit) | {"score": round(hit.score, 6)}
