"""Commands that ask how good the graph is: the audit, the check, and fitting the weights of linking."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from polyonym.flows.cli import app
from polyonym.flows.cli.common import (
    DEFAULT_HOME,
    ConfigOption,
    HomeOption,
    JsonOption,
    opened,
    out,
    output_option,
    print_json,
    print_table,
    reading,
    writing,
)
from polyonym.flows.home import interrupts
from polyonym.flows.home.progress import console
from polyonym.ingest.errors import ExitCode, WrongUse
from polyonym.ingest.store import files

if TYPE_CHECKING:
    from polyonym.graph.check.finding import Finding
    from polyonym.resolution.evaluation.calibration import Bin
    from polyonym.resolution.evaluation.errors import Error, Part
    from polyonym.resolution.evaluation.evaluation import GoldEvaluation
    from polyonym.resolution.evaluation.scores import Scores
    from polyonym.resolution.evaluation.standing import Standing

ShareOption = Annotated[float | None, typer.Option(min=0, max=1, help="Exit with 1 when it is not kept (needs --gold).")]
_ERRORS_SHOWN = 15
_MEANING = {
    "found": "gold mentions found, with their exact span",
    "exact": "our mentions that are gold mentions",
    "b3": "B³ of the nodes: precision / recall / F",
    "pair": "pairs of mentions in one node: precision / recall / F",
    "redundant": "nodes that double another one's entity",
    "fused": "nodes that hold two or more entities",
    "accuracy": "best candidate right, as if a link were always made",
    "wrong80": "wrong among the surest 80 %",
    "linked": "found mentions with a link",
    "wrong": "links that are wrong",
    "link": "links over all gold mentions: precision / recall / F",
}
_COUNTED = {
    "nodes": "nodes",
    "nodes_with_several_names": "… with several names",
    "nodes_in_one_document": "… in one document only",
    "linked_nodes": "… linked to Wikidata",
    "registered_nodes": "… in the registry",
    "mentions": "mentions",
    "names": "names, per document",
    "links": "… with a link",
    "nils": "… that nothing fits (NIL)",
    "abstentions": "… whose link is in doubt",
    "merges": "merges across documents",
    "splits": "… kept apart on evidence",
    "several_owners": "… in doubt between several owners",
}


@app.command()
def audit(
    gold: Annotated[
        Path | None, typer.Option(help="A gold set: JSON lines of {doc_id, text, mentions: [{start, end, text, qid}]}.")
    ] = None,
    min_b3: ShareOption = None,
    min_pair: ShareOption = None,
    max_fused: ShareOption = None,
    max_redundant: ShareOption = None,
    min_link_f1: ShareOption = None,
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """How good the nodes and links are: with a gold set, scores and errors; without one, what can be said of them.

    The figures also stand in audit.html in the home. With --min-… and --max-… the command is a gate: it ends with 1 when one is broken.
    """
    from polyonym.flows.inspect import exports
    from polyonym.flows.report import audit_page
    from polyonym.resolution.evaluation.evaluation import against_gold
    from polyonym.resolution.evaluation.gold import read_gold
    from polyonym.resolution.evaluation.standing import standing

    gates = [
        ("B³ F", "b3", min_b3, True),
        ("pairwise F", "pair", min_pair, True),
        ("fused nodes", "fused", max_fused, False),
        ("redundant nodes", "redundant", max_redundant, False),
        ("link F", "link", min_link_f1, True),
    ]
    asked = [gate for gate in gates if gate[2] is not None]
    if asked and gold is None:
        raise WrongUse("A gate needs a gold set: give one with --gold FILE.")
    true = read_gold(gold) if gold else None
    with reading(home, config) as (it, connection):
        without_gold = standing(connection)
        with_gold = against_gold(true, exports.export(connection, "mentions")) if true else None
    broken = _broken(with_gold.scores, asked) if with_gold else []
    result = {"standing": asdict(without_gold), "gold": asdict(with_gold) if with_gold else None, "broken": broken}
    files.write(it.home.audit, audit_page.render(result | {"gold_set": gold.name if gold else None}).encode())
    if as_json:
        print_json(result)
    else:
        _show(without_gold, with_gold)
        out.print(f"\nPage: {escape(str(it.home.audit))}")
    if broken:
        console.print(f"[bold red]polyonym:[/bold red] gate broken: {escape('; '.join(broken))}", soft_wrap=True)
        raise typer.Exit(ExitCode.BROKEN)


def _broken(scores: "Scores", asked: Sequence[tuple[str, str, float | None, bool]]) -> list[str]:
    """The gates that the scores break, in words. Raises WrongUse for a gate on links when the gold set has none."""
    broken = []
    for title, key, bound, at_least in asked:
        value = getattr(scores, key)
        if value is None:
            raise WrongUse("The gold set has no Wikidata ids, so links cannot be judged: leave --min-link-f1 out.")
        reached = value[2] if isinstance(value, tuple) else value
        if bound is not None and (reached < bound if at_least else reached > bound):
            broken.append(f"{title} {reached:.3f} is {'below' if at_least else 'above'} {bound:g}")
    return broken


def _show(standing: "Standing", with_gold: "GoldEvaluation | None") -> None:
    print_table("Nodes and links", ("what", "count"), ((what, getattr(standing, key)) for key, what in _COUNTED.items()), right=(1,))
    if standing.weakest:
        out.print()
        rows = ((w.name, w.wikidata_id, w.confidence, w.weakest, w.document) for w in standing.weakest[:10])
        print_table("Nodes with the weakest links", ("node", "item", "confidence", "name", "document"), rows, right=(2,))
    if with_gold is None:
        return
    s = with_gold.scores
    out.print()
    rows_of = [(key, _figure(getattr(s, key)), meaning) for key, meaning in _MEANING.items() if getattr(s, key) is not None]
    title = f"Against gold: {s.gold_mentions:,} mentions of {s.gold_entities:,} found entities in {s.documents:,} documents"
    print_table(title, ("figure", "value", "meaning"), rows_of, right=(1,))
    if len(with_gold.by_type) > 1:
        out.print()
        of_types = ((t, p.gold_mentions, p.found, p.b3[2], p.pair[2], p.redundant, p.fused) for t, p in with_gold.by_type.items())
        print_table(
            "By type", ("type", "gold mentions", "found", "B³ F", "pair F", "redundant", "fused"), of_types, right=(1, 2, 3, 4, 5, 6)
        )
    if with_gold.errors:
        out.print()
        errors = ((e.kind, e.cost, e.name, e.id, " · ".join(_part(e, p) for p in e.parts)) for e in with_gold.errors[:_ERRORS_SHOWN])
        title = f"Errors, the dearest first ({min(_ERRORS_SHOWN, len(with_gold.errors))} of {len(with_gold.errors):,})"
        print_table(title, ("error", "mentions", "name", "id", "lies in"), errors, right=(1,))
    if with_gold.absent:
        console.print(
            f"[yellow]{len(with_gold.absent):,} of the gold set's documents have no mention here[/yellow], e.g. {escape(with_gold.absent[0])}"
        )


def _part(error: "Error", part: "Part") -> str:
    # The id of a node says nothing to a reader of the screen; the key of a gold entity does.
    key = "" if error.kind == "missed merge" else f" ({part.id or 'nothing'})"
    return f"{part.name}{key} × {part.mentions:,}"


def _figure(value: Any) -> str:
    return " / ".join(f"{v:.3f}" for v in value) if isinstance(value, tuple) else f"{value:.3f}"


@app.command()
def calibrate(
    gold: Annotated[list[Path], typer.Argument(help="Gold sets to fit on, with Wikidata ids.", metavar="GOLD...")],
    output: Annotated[Path | None, output_option("File to write the weights to; without, they are only tried.")] = None,
    try_on: Annotated[list[Path] | None, typer.Option(help="A further gold set, to see how the weights do on it. Can be repeated.")] = None,
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit the weights of linking on gold sets, with the home's knowledge base; shows cross-validation by document and reliability.

    A home links with them once its setting weights_file names the file that they were written to.
    """
    from polyonym.flows.home.knowledge import Knowledge
    from polyonym.flows.inspect import calibration
    from polyonym.resolution.evaluation.calibration import fit, save_weights
    from polyonym.resolution.evaluation.gold import read_gold

    it = opened(home, config)
    knowledge = Knowledge(it.home, it.settings, it.engine)
    try:
        if not knowledge.sources:
            raise WrongUse(f"{home} has no knowledge base to find candidates in. Import one: polyonym kb import FILE --home {home}")
        for path in [*gold, *(try_on or ())]:
            read_gold(path)  # says what is wrong with a set before minutes go into the others
        fitted = fit(calibration.examples(gold, it.settings), knowledge.sources, _version(output))
        others = {}
        named = Counter(path.name for path in try_on or [])
        for path in try_on or []:
            others[path.name if named[path.name] == 1 else str(path)] = calibration.curve(
                calibration.examples([path], it.settings), knowledge.sources, fitted.weights
            )
    finally:
        knowledge.close()
    if output:
        save_weights(fitted.weights, output)
    if as_json:
        tried = {name: {"accuracy": accuracy, "curve": list(map(asdict, bins))} for name, (accuracy, bins) in others.items()}
        print_json(asdict(fitted) | {"tried_on": tried})
        return
    out.print(
        f"Version {fitted.weights.version}, {fitted.mentions:,} mentions. Cross-validated by document: best candidate right "
        f"[bold]{fitted.accuracy:.3f}[/bold], F of the links [bold]{fitted.f1:.3f}[/bold] at a confidence of {fitted.weights.threshold:g}."
    )
    _show_curve("How often candidates of each confidence are right, cross-validated", fitted.curve)
    for name, (accuracy, bins) in others.items():
        _show_curve(f"On {name}: best candidate right {accuracy:.3f}", bins)
    if output:
        out.print(f"\nWeights written to {escape(str(output))}. To link with them, set weights_file to it.")


def _version(output: Path | None) -> str:
    """What new weights are called: weights-2.json holds the version 2. The weights in use are not asked: they may not fit any more."""
    return output.stem.removeprefix("weights-") if output else "trial"


def _show_curve(title: str, bins: "Sequence[Bin]") -> None:
    out.print()
    rows = ((f"{b.low:.1f} to {b.high:.1f}", b.mentions, b.confidence, b.right, "█" * round(20 * b.right)) for b in bins)
    print_table(title, ("confidence", "mentions", "mean", "right", ""), rows, right=(1, 2, 3))


@app.command()
def check(
    repair: Annotated[bool, typer.Option("--repair", help="Make again what differs, as far as the state has it.")] = False,
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare state, graph store and vector indexes, and say what differs. Ends with 1 when something does and is not repaired."""
    from polyonym.flows.pipeline import repair as checking

    with writing(home, config) as it:  # a check while a run writes would see half of its work
        findings = checking.check(it.home, it.settings, it.engine)
        if repair:
            interrupts.watch_interrupts()
            checking.repair(home, config, findings)
        left = checking.check(it.home, it.settings, it.engine) if repair and findings else findings
    if as_json:
        print_json({"found": list(map(asdict, findings)), "left": list(map(asdict, left))})
    elif not findings:
        out.print("State, graph and indexes agree.")
    else:
        rows = ((f.where, f.what, f.count, ", ".join(f.examples), "no" if f in left else "yes") for f in findings)
        print_table("What differs", ("where", "what", "count", "such as", "repaired"), rows, right=(2,))
    if left:
        console.print(f"[bold red]polyonym:[/bold red] {len(left):,} findings. {_advice(left, repair)}", soft_wrap=True)
        raise typer.Exit(ExitCode.BROKEN)


def _advice(left: "Sequence[Finding]", repaired: bool) -> str:
    """What can be done about findings: before and after a repair."""
    if not repaired:
        return "polyonym check --repair makes again what can be made from the state, and has files read again whose texts were altered."
    advice = []
    if any(f.where == "documents" for f in left):
        advice.append("polyonym ingest PATH reads the files of the altered texts again; what rests on them can be mended after that.")
    if any(f.where != "documents" for f in left):
        advice.append(
            "What repair leaves cannot be made from this state: restore the home from a copy or make a new one, and please report it."
        )
    return " ".join(advice)
