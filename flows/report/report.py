"""The report of the last run: `report.json` to read by programs, `report.html` to show to people."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Connection, select

from polyonym.flows.home import history
from polyonym.flows.home.home import Home
from polyonym.flows.home.knowledge import configured_weights
from polyonym.flows.home.settings import load_settings
from polyonym.flows.inspect import overview
from polyonym.flows.inspect.explain import explain_ids
from polyonym.flows.inspect.explanation import as_json
from polyonym.flows.inspect.quotes import Quotes
from polyonym.graph import communities
from polyonym.graph.communities import Community
from polyonym.graph.relations import ties_among
from polyonym.graph.summaries import summaries
from polyonym.ingest.sources import table_layouts
from polyonym.ingest.store import files
from polyonym.ingest.store.tables import select_where_in
from polyonym.ingest.text import chunks, documents
from polyonym.resolution import decisions, entities
from polyonym.resolution.decisions import Decision, by_strength
from polyonym.resolution.linking.ranking import Weights

LARGEST, EXPLAINED, MERGES, COMMUNITIES, PICTURED, CHANGES = 40, 20, 15, 60, 60, 40
QUOTED = 2


def write(path: Path, config: Path | None) -> dict[str, Any]:
    """Gather the report of the home's last run, write both files (each swapped in whole), and return it.

    An audit of what was there before a change goes: it may show what was deleted.
    """
    from polyonym.flows.report.page import render

    home = Home(path)
    settings = load_settings(path, config)
    with home.open(settings).connect() as connection:
        report = gather(connection, configured_weights(settings))
    files.write(home.report_json, orjson.dumps(report, option=orjson.OPT_INDENT_2))
    files.write(home.report, render(report).encode())
    if report["changes"] or any(report.get("written", {}).values()):
        home.audit.unlink(missing_ok=True)
    return report


def gather(connection: Connection, weights: Weights) -> dict[str, Any]:
    """All that the report shows, as JSON; `weights` are those that links are made with."""
    past = history.load(connection)
    last = past[-1]
    nodes = overview.nodes(connection)
    divided = communities.load(connection).communities
    return {
        "run": last.run,
        "started": last.started,
        "ended": last.ended,
        "status": last.status,
        **last.figures,
        "counts": overview.counts(connection),
        "tables": table_layouts.load(connection),
        "set_aside": [{"document": r.document, "reason": r.reason} for r in documents.rejections(connection)],
        "changes": changes(connection, last.run),
        "entities": [overview.as_row(n) for n in nodes[:LARGEST]],
        "merges": merges(connection),
        "explanations": [as_json(e) for e in explain_ids(connection, [n.entity.entity_id for n in nodes[:EXPLAINED]], weights)],
        "communities": _communities(connection, divided),
        "picture": _picture(connection, nodes, divided),
    }


def changes(connection: Connection, run: int) -> dict[str, dict[str, Any]]:
    """What a run changed, by kind: how many, and the first of them as `named` gives them."""
    folded = history.folded(history.changes(connection, [run]))
    first = named(connection, {kind: of_kind[:CHANGES] for kind, of_kind in folded.items()})
    return {kind: {"count": len(of_kind), "first": first[kind]} for kind, of_kind in folded.items()}


def named(connection: Connection, by_kind: Mapping[str, Sequence[history.Change]]) -> dict[str, list[dict[str, Any]]]:
    """Changes as JSON, with the names that entities, and the titles that communities have now."""
    shown = sorted({i for of_kind in by_kind.values() for c in of_kind for i in (c.id, c.other)})
    table = communities.communities.c
    titles = dict(select_where_in(connection, select(table.community_id, table.title), table.community_id, shown))
    called = {e.entity_id: e.name for e in entities.load(connection, shown)} | titles
    return {
        kind: [{"id": c.id, "other": c.other, "name": called.get(c.id) or called.get(c.other)} for c in of_kind]
        for kind, of_kind in by_kind.items()
    }


def merges(connection: Connection) -> dict[str, list[dict[str, Any]]]:
    """The merges across documents that rest on most evidence, and those that rest on least, with the sentences that they rest on.

    Of several merges of the same names on the same grounds the weakest stands for all.
    """
    ordered = by_strength(d for d in decisions.load(connection) if d.kind == "merge")
    by_kind: dict[tuple[tuple[str, ...], str], Decision] = {}
    for decision in ordered:
        by_kind.pop((decision.names, decision.verdict), None)  # the weakest stands at its own place, not at the strongest's
        by_kind[decision.names, decision.verdict] = decision
    weakest = list(by_kind.values())
    quotes = Quotes(connection)

    def row(decision: Decision) -> dict[str, Any]:
        evidence = quotes.of_decision(decision)[:QUOTED]
        names = quotes.spelled(decision.names)
        return {"names": list(names), "verdict": decision.verdict, "features": decision.features, "evidence": [asdict(e) for e in evidence]}

    return {"most": [row(d) for d in weakest[:MERGES]], "least": [row(d) for d in weakest[::-1][:MERGES]]}


def _communities(connection: Connection, divided: Sequence[Community]) -> list[dict[str, Any]]:
    written = summaries.load(connection)
    shown = sorted(divided, key=lambda c: (c.level, -len(c.members), c.community_id))[:COMMUNITIES]
    said = [s.chunk for c in shown for s in written.get(c.community_id, ())]
    document = dict(select_where_in(connection, select(chunks.chunks.c.chunk, chunks.chunks.c.document), chunks.chunks.c.chunk, said))
    return [
        {
            "community_id": c.community_id,
            "level": c.level,
            "parent": c.parent,
            "title": c.title,
            "size": len(c.members),
            "summary": [
                {"sentence": s.sentence, "chunk": s.chunk, "document": document.get(s.chunk)} for s in written.get(c.community_id, ())
            ],
        }
        for c in shown
    ]


def _picture(connection: Connection, nodes: list[overview.Node], divided: Sequence[Community]) -> dict[str, Any]:
    """The most mentioned entities and what ties them, small enough to draw; `community` is that of the top level."""
    drawn = {n.entity.entity_id: n for n in nodes[:PICTURED]}
    top = {e: c.community_id for c in divided if c.level == 0 for e in c.members}
    shown = [
        {"id": i, "name": n.entity.name, "type": n.entity.type, "mentions": n.entity.mentions, "community": top.get(i)}
        for i, n in drawn.items()
    ]
    return {
        "nodes": shown,
        "edges": [{"source": a, "target": b, "weight": w} for (a, b), w in sorted(ties_among(connection, sorted(drawn)).items())],
    }
