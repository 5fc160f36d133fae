"""The run report as a page: one file, nothing to load, no script."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from polyonym.flows.report import rendering
from polyonym.flows.report.picture import draw
from polyonym.ingest.sources import table_layouts

_NAMES, _SET_ASIDE, _TABLES = 30, 200, 50
_EXPLAINED = {"grouped": 8, "links": 6, "merges": 8, "doubts": 4, "others": 6, "names": 40}
_CANDIDATES, _REASONS = 3, 5
_NO_TIME = 0.01  # seconds
_KINDS = {
    "entity-new": "New entities",
    "entity-gone": "Entities gone",
    "entity-merged": "Entities merged into another",
    "entity-split": "Entities split off another",
    "link-gained": "Links gained",
    "link-lost": "Links lost",
    "document-new": "New documents",
    "document-changed": "Documents changed",
    "document-moved": "Documents moved",
    "document-gone": "Documents gone",
    "community-new": "New communities",
    "community-gone": "Communities gone",
    "community-changed": "Communities changed",
}


def render(report: Mapping[str, Any]) -> str:
    """The page of a report as polyonym.flows.report.report.gather makes it. Parts that are missing or empty are left out."""
    stages = _stages(report.get("stages", ()))
    picture = report.get("picture") or {}
    communities = report.get("communities", ())
    explanations = [_explained(e) for e in report.get("explanations", ())]
    tree = _tree(communities)
    sections = {
        "picture": ("The graph", picture.get("nodes")),
        "changes": ("What changed", True),
        "time": ("Time", stages),
        "tables": ("Tables", report.get("tables")),
        "set-aside": ("Set aside", report.get("set_aside")),
        "entities": ("Largest entities", report.get("entities")),
        "merges": ("Merges", any((report.get("merges") or {}).values())),
        "communities": ("Communities", communities),
        "why": ("Why the same", explanations),
    }
    counts = report.get("counts", {})
    set_aside = report.get("set_aside", ())
    tables = report.get("tables", ())
    return rendering.render(
        "report.html.jinja",
        run=report.get("run", ""),
        status=report.get("status", ""),
        when=_when(report.get("started")),
        took=rendering.duration(sum(s["seconds"] for s in report.get("stages", ()))) if stages else "",
        counts=counts,
        strip=[(what, count) for what, count in counts.items() if count or what == "documents"],
        notes=report.get("notes", ()),
        contents=[(anchor, title) for anchor, (title, there) in sections.items() if there],
        picture=draw(picture.get("nodes", ()), picture.get("edges", ()), {c["community_id"]: c["title"] for c in communities}),
        changed_documents=[(what, n) for what, n in report.get("documents", {}).items() if n],
        written={what: n for what, n in report.get("written", {}).items() if n},
        changes=_changes(report.get("changes", {}), first=report.get("run") == 1),
        stages=stages,
        tables=[(t["file"], table_layouts.in_words(t)) for t in tables[:_TABLES]],
        tables_count=len(tables),
        set_aside=set_aside[:_SET_ASIDE],
        set_aside_count=len(set_aside),
        entities=[e | {"names": e["names"][:_NAMES], "more": max(0, len(e["names"]) - _NAMES)} for e in report.get("entities", ())],
        explained={e["entity_id"] for e in explanations},
        explanations=explanations,
        merges=report.get("merges") or {"most": [], "least": []},
        communities=tree,
        communities_left=max(0, counts.get("communities", 0) - len(communities)),
    )


def _when(started: str | None) -> str:
    """A time as people write it: 3 May 2025, 02:00 UTC."""
    if not started:
        return ""
    try:
        time = datetime.fromisoformat(started)
    except ValueError:
        return started
    time = time.astimezone(UTC)
    return f"{time.day} {time:%B %Y, %H:%M} UTC"


def _stages(stages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Stages that did something, with their bars' length in percent of the longest; a stage that came twice is one."""
    total: dict[str, dict[str, Any]] = {}
    for stage in stages:
        row = total.setdefault(stage["stage"], {"stage": stage["stage"], "seconds": 0.0, "steps": 0})
        row["seconds"] += stage["seconds"]
        row["steps"] += stage.get("steps") or 0
    longest = max((s["seconds"] for s in total.values()), default=0.0) or 1.0
    worked = [s for s in total.values() if s["steps"] or s["seconds"] >= _NO_TIME]
    return [s | {"share": round(100 * s["seconds"] / longest, 2), "time": rendering.duration(s["seconds"])} for s in worked]


def _changes(changes: Mapping[str, Mapping[str, Any]], first: bool) -> list[dict[str, Any]]:
    """Changes by kind. The first run of a home made everything new; there the lists are kept shut."""
    return [
        {
            "title": _KINDS.get(kind, kind.replace("-", " ").capitalize()),
            "count": of_kind["count"],
            "rows": [{"id": r["id"], "name": r.get("name"), "other": _other(kind, r)} for r in of_kind["first"]],
            "open": not first,
        }
        for kind, of_kind in changes.items()
    ]


def _other(kind: str, row: Mapping[str, Any]) -> str:
    """What stands beside the name of a changed thing: the item of a link, the document's new name; no ids of entities."""
    return str(row.get("other") or "") if kind.startswith(("link-", "document-")) else ""


def _tree(communities: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Communities with their parts inside them; one whose parent is not shown stands on top."""
    by_id = {c["community_id"]: {**c, "parts": []} for c in communities}
    top: list[dict[str, Any]] = []
    for community in by_id.values():
        parent = by_id.get(community["parent"] or "")
        (top if parent is None else parent["parts"]).append(community)
    return top


def _explained(row: Mapping[str, Any]) -> dict[str, Any]:
    """An explanation short enough for the page; what was cut is counted in `left_out`."""
    cut = {what: max(0, len(row[what]) - most) for what, most in _EXPLAINED.items()}
    left_out = {what: count + row["left_out"].get(what, 0) for what, count in cut.items() if count + row["left_out"].get(what, 0)}
    short = {what: row[what][:most] for what, most in _EXPLAINED.items()}
    short["links"] = [
        k | {"candidates": [c | {"reasons": c["reasons"][:_REASONS]} for c in k["candidates"][:_CANDIDATES]]} for k in short["links"]
    ]
    return {**row, **short, "left_out": left_out}
