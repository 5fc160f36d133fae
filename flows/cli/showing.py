"""Commands that show what a home holds. They read the last committed state, also while a run writes."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import orjson
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
)
from polyonym.flows.home.settings import SECRETS, Settings, load_settings
from polyonym.ingest.errors import WrongUse
from polyonym.ingest.store import files
from polyonym.ingest.store.database import without_password


@app.command()
def status(home: HomeOption = DEFAULT_HOME, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """What is in the home, how the last run ended, and what is pending."""
    from polyonym.flows.home import history as runs
    from polyonym.flows.inspect import overview
    from polyonym.flows.planning import plan

    with reading(home, config) as (it, connection):
        counts = overview.counts(connection)
        history = runs.load(connection)
        waiting = plan.pending(it, connection)
    last = history[-1] if history else None
    if last and last.status == "running" and not it.home.is_held():
        last = replace(last, status="killed")  # as the next run will record it
    if as_json:
        print_json({"home": str(home), "counts": counts, "last_run": vars(last) if last else None, "pending": waiting})
        return
    print_table(f"{home}", ("what", "count"), counts.items(), right=(1,))
    if last:
        out.print(f"\nLast run: {last.run}, {last.started}, [bold]{last.status}[/bold]")
        if last.status == "killed":
            out.print("  It was broken off. Nothing is lost: polyonym ingest finishes what it began.")
        for note in last.figures.get("notes", ()):
            out.print(f"  {escape(note)}")
    out.print("Pending: " + (", ".join(f"{n:,} {what}" for what, n in waiting.items() if n) or "nothing"))


@app.command()
def sources(home: HomeOption = DEFAULT_HOME, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """The sources that have been ingested, with how many documents each gave, and how their tables were read."""
    from polyonym.ingest.sources import sources as table
    from polyonym.ingest.sources import table_layouts

    with reading(home, config) as (_, connection):
        counted = table.counts(connection)
        tables = table_layouts.load(connection)
    rows = [
        {
            "source": c.source.root,
            "kind": c.source.kind,
            "patterns": list(c.source.patterns),
            "keep_gone": c.source.keep_gone,
            "files": c.files,
            "documents": c.documents,
            "set_aside": c.rejected,
            "tables": [{key: value for key, value in t.items() if key != "source"} for t in tables if t["source"] == c.source.root],
        }
        for c in counted
    ]
    if as_json:
        print_json(rows)
    else:
        shown = (
            (r["source"], r["kind"], " ".join(c.source.patterns), r["files"], r["documents"], r["set_aside"])
            for r, c in zip(rows, counted, strict=True)
        )
        print_table("", ("source", "kind", "patterns", "files", "documents", "set aside"), shown, right=(3, 4, 5))
        if tables:
            out.print()
            print_table("Tables", ("file", "read as"), ((t["file"], table_layouts.in_words(t)) for t in tables))


@app.command()
def settings(home: HomeOption = DEFAULT_HOME, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """All settings with their values, defaults and meaning. Keys of polyonym.toml; as variables: POLYONYM_ and the key in capitals."""
    values = load_settings(home, config)
    rows = [
        {
            "key": key,
            "value": ("set" if getattr(values, key).get_secret_value() else "not set")
            if key in SECRETS
            else _without_secrets(getattr(values, key)),
            "default": None if key in SECRETS else _without_secrets(field.get_default(call_default_factory=True)),
            "meaning": field.description,
        }
        for key, field in Settings.model_fields.items()
    ]
    if as_json:
        print_json(rows)
    else:
        print_table(
            "", ("key", "value", "default", "meaning"), ((r["key"], _shown(r["value"]), _shown(r["default"]), r["meaning"]) for r in rows)
        )


def _without_secrets(value: Any) -> Any:
    if isinstance(value, tuple):
        return [table.model_dump(mode="json", exclude_defaults=True) for table in value]
    return without_password(value) if isinstance(value, str) else value


def _shown(value: Any) -> str:
    return "" if value in ("", [], {}, None) else value if isinstance(value, str) else orjson.dumps(value).decode()


@app.command()
def names(
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    limit: Annotated[int, typer.Option(help="Most rows of each table.")] = 25,
    as_json: JsonOption = False,
) -> None:
    """Which names became one node, and which near names stayed apart."""
    from polyonym.flows.inspect import overview

    with reading(home, config) as (_, connection):
        shown = overview.nodes(connection)
    together, apart = overview.united(shown), overview.apart(shown)
    if as_json:
        print_json(
            {
                "united": [overview.as_row(n) for n in together],
                "apart": [{"name": name, "nodes": [overview.as_row(n) for n in nodes]} for name, nodes in apart],
            }
        )
        return
    rows = (
        (n.entity.name, n.entity.type, n.entity.registry_id or n.entity.wikidata_id, n.entity.mentions, _spellings(n))
        for n in together[:limit]
    )
    print_table(
        f"One node, several names ({len(together):,})", ("node", "type", "id", "mentions", "names in the documents"), rows, right=(3,)
    )
    out.print()
    rows_apart = (
        (name, "\n".join(f"{n.entity.name} ({n.entity.type}, {n.entity.documents} documents)" for n in nodes[:6]))
        for name, nodes in apart[:limit]
    )
    print_table(f"Near names, kept apart ({len(apart):,})", ("shared word", "nodes"), rows_apart)


def _spellings(node: Any) -> str:
    return " · ".join(f"{name} ({count})" if count > 1 else name for name, count in node.names)


@app.command()
def export(
    kind: Annotated[
        str,
        typer.Argument(
            help="documents, rejected, chunks, mentions, entities, relations, decisions, communities, review, redirects, judgements or runs; "
            "or the graph for other programs: graphml or rdf (N-Triples)."
        ),
    ],
    output: Annotated[Path | None, output_option("File to write; standard output without.")] = None,
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
) -> None:
    """Write one kind of thing as JSON lines, or the graph as GraphML or RDF, sorted, the same for the same state."""
    from polyonym.flows.inspect import exports

    kinds = (*exports.KINDS, *exports.FORMATS)
    if kind not in kinds:
        raise WrongUse(f"There is no export {kind!r}. Kinds: {', '.join(kinds)}.")
    with reading(home, config) as (_, connection):
        lines = exports.lines(connection, kind)
        if output is None:
            sys.stdout.buffer.writelines(lines)
            return
        with files.replacing(output) as file:
            file.writelines(lines)


@app.command()
def query(
    cypher: Annotated[str, typer.Argument(help='A reading Cypher query, e.g. "MATCH (e:Entity) RETURN e.name LIMIT 5".')],
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the graph in Cypher. It cannot write. docs/graph-model.md has the schema and queries to start from."""
    from polyonym.flows.pipeline.loading import open_graph

    it = opened(home, config)
    with open_graph(it.home, it.settings) as store:
        answer = store.query(cypher)
    if as_json:
        print_json([dict(zip(answer.columns, row, strict=True)) for row in answer.rows])
    else:
        print_table("", answer.columns, answer.rows)
        out.print(f"[dim]{len(answer.rows):,} rows[/dim]")


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="What to look for, in words.")],
    limit: Annotated[int, typer.Option(min=1, help="Most hits of each kind.")] = 5,
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Chunks, entities and communities nearest in meaning to a text, with their sources."""
    from polyonym.flows.inspect.search import search as find

    with reading(home, config) as (it, connection):
        hits = find(it.home, it.settings, connection, text, limit)
    if as_json:
        print_json([vars(hit) for hit in hits])
        return
    for kind in ("entity", "community", "chunk"):
        of_kind = [hit for hit in hits if hit.kind == kind]
        if of_kind:
            plural = {"entity": "Entities", "community": "Communities", "chunk": "Chunks"}[kind]
            print_table(plural, ("score", "id", "what", "source"), ((h.score, h.id, h.text, h.source) for h in of_kind), right=(0,))
            out.print()
    if not hits:
        out.print("Nothing is indexed yet.")


@app.command()
def explain(
    what: Annotated[
        str, typer.Argument(metavar="NAME-or-ID", help="A name as it stands in a document, an entity's id, a registry or a Wikidata id.")
    ],
    other: Annotated[str | None, typer.Argument(metavar="OTHER", help="A second one: are the two one node, and why, or why not?")] = None,
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Why these are the same: an entity's names, why each was put there, what was nearly merged, and which candidates lost."""
    from polyonym.flows.home.knowledge import configured_weights
    from polyonym.flows.inspect import explain, explanation, explanation_text

    with reading(home, config) as (it, connection):
        weights = configured_weights(it.settings)
        if other is not None:
            between = explain.explain_two(connection, what, other, weights)
            if as_json:
                print_json(explanation.two_as_json(between))
            else:
                explanation_text.show_two(between, out)
            return
        explained = explain.explain(connection, what, weights)
    if as_json:
        print_json([explanation.as_json(e) for e in explained])
    else:
        for one in explained:
            explanation_text.show(one, out)


@app.command()
def runs(home: HomeOption = DEFAULT_HOME, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """The history of runs."""
    from polyonym.flows.home import history

    with reading(home, config) as (_, connection):
        past = history.load(connection)
        changed = history.counts(connection)
    if as_json:
        print_json([vars(r) | {"changes": changed.get(r.run, {})} for r in past])
        return
    rows = []
    for run in past:
        stages = sum(s["seconds"] for s in run.figures.get("stages", ()))
        counts = run.figures.get("counts", {})
        rows.append(
            (
                run.run,
                run.started.replace("T", " ").removesuffix("+00:00"),
                run.figures.get("kind", ""),
                run.status,
                f"{stages:,.0f} s",
                counts.get("documents"),
                counts.get("entities"),
                _changed(changed.get(run.run, {})),
            )
        )
    print_table("", ("run", "started (UTC)", "kind", "status", "time", "documents", "entities", "changed"), rows, right=(0, 4, 5, 6))


def _changed(counts: Mapping[str, int]) -> str:
    """What a run changed, a line for each kind of thing."""
    parts: dict[str, list[str]] = {}
    for kind, count in counts.items():
        thing, _, what = kind.partition("-")
        parts.setdefault(thing, []).append(f"{count:,} {what}")
    plural = {"document": "documents", "entity": "entities", "link": "links", "community": "communities"}
    return "\n".join(f"{name} {', '.join(parts[thing])}" for thing, name in plural.items() if thing in parts) or "no change"


@app.command()
def diff(
    first: Annotated[int, typer.Argument(metavar="RUN1", help="The earlier run.")],
    second: Annotated[int, typer.Argument(metavar="RUN2", help="The later run.")],
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """What changed between the ends of two runs: documents, entities, links, communities."""
    from polyonym.flows.home import history
    from polyonym.flows.report import report

    with reading(home, config) as (_, connection):
        differences = report.named(connection, history.difference(connection, first, second))
    if as_json:
        print_json(differences)
        return
    if not differences:
        out.print(f"Nothing changed between run {first} and run {second}.")
    for kind, changes in differences.items():
        rows = ((c["id"], c["other"], c["name"]) for c in changes[:40])
        print_table(f"{kind.replace('-', ' ')} ({len(changes):,})", ("what", "", "name now"), rows)
        if len(changes) > 40:
            out.print(f"[dim]… and {len(changes) - 40:,} more (--json shows all)[/dim]")
        out.print()
