"""Explanations on the screen: colours on a terminal, plain text elsewhere."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from polyonym.flows.inspect.explanation import ROWS, Across, Between, Explanation, Grouped, KnownForm, Linked, Other, Reason
from polyonym.flows.inspect.quotes import Evidence


def show(explanation: Explanation, console: Console) -> None:
    """Print an explanation: colours on a terminal, plain text elsewhere."""
    screen = _Screen(console)
    e = explanation.entity
    ids = [e.entity_id, *(i for i in (e.wikidata_id, e.registry_id) if i)]
    screen.line(0, (e.name, "bold"), f"  {e.type}  ", (" · ".join(ids), "dim"))
    if e.description:
        screen.line(0, e.description)
    screen.line(0, f"{_many(e.mentions, 'mention')} in {_many(e.documents, 'document')}; found {explanation.found}")
    if explanation.former_ids:
        screen.line(0, f"Took in: {', '.join(explanation.former_ids)}")
    screen.title("Names")
    screen.line(1, " · ".join(f"{name} ({count:,})" for name, count in explanation.names))
    screen.section("Found by", [lambda f=f: _show_found_by(screen, *f) for f in list(explanation.found_by.items())[:ROWS]])
    screen.section("Spellings that our tables know", [lambda k=k: screen.line(1, *_known(k)) for k in explanation.known])
    screen.section("Why they are together, inside documents", [lambda g=g: _show_grouped(screen, g) for g in explanation.grouped])
    screen.section("Why they are together, across documents", [lambda a=a: _show_across(screen, a) for a in explanation.merges])
    screen.section("What the registry and the knowledge base say", [lambda k=k: _show_linked(screen, k) for k in explanation.links])
    screen.section("In doubt, or kept apart", [lambda a=a: _show_across(screen, a) for a in explanation.doubts])
    screen.section("Others of these names", [lambda o=o: _show_other(screen, o) for o in explanation.others])
    screen.section("Judgements", [lambda j=j: screen.line(1, j) for j in explanation.judgements])
    for what, count in explanation.left_out.items():
        screen.line(0, (f"… and {count:,} more {what}", "dim"))
    screen.line(0, "")


def show_two(between: Between, console: Console) -> None:
    """Print what there is to say of two names: the explanation of the node that both are, else why they are several."""
    screen = _Screen(console)
    for explanation in between.together:
        screen.line(0, ("One node", "bold green"))
        show(explanation, console)
    if not between.together:
        screen.line(0, ("Not one node", "bold"))
    for row in between.apart:
        sides = [
            f"{e.name}  {e.type}, {_many(e.mentions, 'mention')}  {e.wikidata_id or e.registry_id or e.entity_id}" for e in (row.a, row.b)
        ]
        screen.line(1, (" ≠ ".join(sides), "bold"))
        screen.line(2, row.why)
        said = "; ".join((*row.names.forbids, *row.names.reasons)) or row.names.kind
        screen.line(
            2, (f"their names alone: {'could be one thing' if row.names.same else 'two things'} ({row.names.score:g}): {said}", "dim")
        )


class _Screen:
    def __init__(self, console: Console) -> None:
        self.console = console

    def line(self, indent: int, *parts: str | tuple[str, str]) -> None:
        text = Text.assemble(*parts)
        if self.console.is_terminal:
            self.console.print(Padding(text, (0, 0, 0, 2 * indent)))
        else:
            self.console.print(Text("  " * indent) + text, soft_wrap=True)

    def title(self, title: str) -> None:
        self.line(0, "")
        self.line(0, (title, "bold cyan"))

    def section(self, title: str, rows: Sequence[Any]) -> None:
        if rows:
            self.title(title)
            for row in rows:
                row()


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _show_evidence(screen: _Screen, evidence: Iterable[Evidence]) -> None:
    for e in evidence:
        screen.line(2, (f"{e.document}  ", "dim"), e.before, (f"[{e.marked}]", "bold yellow"), e.after)


def _show_found_by(screen: _Screen, name: str, detectors: Mapping[str, int]) -> None:
    screen.line(1, (name, "bold"), "  " + " · ".join(f"{detector} {count:,}" for detector, count in detectors.items()))


def _known(row: KnownForm) -> tuple[str | tuple[str, str], ...]:
    where = f"{row.table}, row {row.row!r}"
    return (row.name, "bold"), " = ", (row.row, "bold"), f"  {where}: {row.form}", (f", {_many(row.mentions, 'mention')}", "dim")


def _show_grouped(screen: _Screen, row: Grouped) -> None:
    under = (" → ", (row.under, "bold")) if row.under else ()
    screen.line(1, (row.name, "bold"), *under, f"  {row.rule}", (f", {_many(row.documents, 'document')}", "dim"))
    _show_evidence(screen, row.evidence)


def _show_across(screen: _Screen, row: Across) -> None:
    times = f", {row.times:,} times" if row.times > 1 else ""
    features = "  ".join(f"{k} {_value(v)}" for k, v in sorted(row.features.items()) if k not in ("names", "weights"))
    sign = {"merge": " = ", "split": " ≠ "}.get(row.kind, " ? ")
    screen.line(1, (sign.join(row.names), "bold"), f"  {row.verdict}{times}", (f"  {features}" if features else "", "dim"))
    for known in row.known:
        screen.line(2, *_known(known))
    if weights := row.features.get("weights"):
        terms = "  ".join(f"{w:+g} {f}" for f, w in sorted(weights.items(), key=lambda t: (-abs(t[1]), t[0])))
        screen.line(2, f"log-odds {sum(weights.values()):+.2f} =  {terms}")
    for c in row.candidates:
        where = f"  {c['document']}" if c.get("document") else ""
        screen.line(2, f"candidate {c.get('name', c.get('id', ''))}  {_value(c.get('score', ''))}", (where, "dim"))
    _show_evidence(screen, row.evidence)


def _show_linked(screen: _Screen, row: Linked) -> None:
    said = {
        "link": f"→ {row.item}{' (not this node’s item)' if row.elsewhere else ''}",
        "nil": "no item fits",
        "abstain": "in doubt, no link",
    }[row.verdict]
    lowest = f", lowest in {row.document}" if row.documents > 1 and row.confidence < 1 else ""
    judged = f", judged by a person: {row.judged}" if row.judged else ""
    screen.line(
        1,
        (row.name, "bold"),
        f"  {said}  ",
        (f"confidence {row.confidence:.3f}", "bold"),
        (f", {_many(row.documents, 'document')}{lowest}{judged}", "dim"),
    )
    for c in row.candidates:
        what = f" – {c.description}" if c.description else ""
        outcome = ("won  ", "green") if c.won else ("lost ", "dim")
        screen.line(2, outcome, (c.id, "bold"), f" {c.label}{what}", (f"  {c.share:.3f}", "bold"))
        reasons = [_reason(r) for r in c.reasons[: 8 if c.won else 4]]
        if reasons:
            screen.line(3, ("; ".join(reasons), "dim"))


def _reason(reason: Reason) -> str:
    return f"{reason.feature} {reason.value:g}" + ("" if reason.weight is None else f" × {reason.weight:g}")


def _show_other(screen: _Screen, row: Other) -> None:
    ids = " · ".join(i for i in (row.entity_id, row.wikidata_id, row.registry_id) if i)
    screen.line(1, (row.name, "bold"), f"  {row.type}, {_many(row.mentions, 'mention')}  ", (ids, "dim"))
    screen.line(2, f"shares {', '.join(row.shared)}: {row.why}")


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)
