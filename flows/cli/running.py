"""Commands that run the flows: ingest, communities, plan, serve."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.markup import escape
from sqlalchemy import Engine

from polyonym.flows.cli import app
from polyonym.flows.cli.common import (
    DEFAULT_HOME,
    ConfigOption,
    HomeOption,
    JsonOption,
    VerboseOption,
    opened,
    out,
    print_json,
    print_table,
)
from polyonym.flows.home import interrupts
from polyonym.flows.home.home import Home, Opened
from polyonym.flows.home.settings import load_settings
from polyonym.flows.orchestration import environment
from polyonym.ingest.errors import WrongUse

PathsArgument = Annotated[list[str], typer.Argument(help="Folders, files or globs (quote a glob).", metavar="PATH...")]


RegistryOption = Annotated[
    Path | None,
    typer.Option(help="Things you know: a table (CSV, Excel, JSON lines …) with id, name, aliases, type, description, wikidata_id."),
]
AllowDeletionsOption = Annotated[bool, typer.Option("--allow-deletions", help="Go on even if a source or a fifth of it is gone.")]
KeepGoneOption = Annotated[
    bool | None, typer.Option("--keep-gone/--drop-gone", help="Keep documents whose files are gone (remembered for these sources).")
]


@app.command()
def ingest(
    paths: PathsArgument,
    home: HomeOption = DEFAULT_HOME,
    registry: RegistryOption = None,
    allow_deletions: AllowDeletionsOption = False,
    keep_gone: KeepGoneOption = None,
    config: ConfigOption = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Read documents and bring the graph up to date. Only what changed since the last run is done again."""
    if registry is not None and not registry.is_file():
        raise WrongUse(f"The registry {registry} does not exist.")
    place = Home(home)
    with place.held():  # first: two that start at once must not both make the state
        settings = load_settings(home, config)
        engine = place.make(settings)
        _check(engine, paths, registry)
        with _orchestrated(place, verbose, lambda: _load_model(Opened(place, settings, engine), paths)):
            from polyonym.flows.orchestration.flows import ingest_and_summarize

            report = ingest_and_summarize(
                [str(p) for p in paths],
                str(home),
                str(config) if config else None,
                str(registry) if registry else None,
                allow_deletions,
                keep_gone,
            )
    if as_json:
        print_json(report)
    else:
        _show(report, place)


@contextmanager
def _orchestrated(home: Home, verbose: bool, meanwhile: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Prefect, ready for a run of a home that is held. While its server starts, what is slow to import is imported, and `meanwhile` done."""
    environment.prepare(home, verbose)
    interrupts.watch_interrupts()
    from polyonym.flows.orchestration.server import prefect_server

    with prefect_server(home) as server:
        os.environ["PREFECT_API_URL"] = server.url
        from polyonym.flows.orchestration import flows  # noqa: F401

        meanwhile()
        server.wait()
        yield


def _load_model(it: Opened, paths: list[str]) -> None:
    """Load the embedding model if a file is newer than the last run: texts will be embedded, it seems. One that cannot be loaded is told when it is needed."""
    from polyonym.flows.home import history
    from polyonym.flows.pipeline.run import embedder
    from polyonym.ingest.sources import sources

    with it.engine.connect() as connection, suppress(WrongUse, OSError):
        done = [r.started for r in history.load(connection) if r.status == "done"]
        since = datetime.fromisoformat(done[-1]).timestamp() if done else 0.0
        files = (f for source in sources.resolve(paths, sources.remembered(connection)) for f in sources.list_files(source).found.values())
        if any(f.stat().st_mtime >= since for f in files):
            embedder(it.settings.embedding_model).load()


def _check(engine: Engine, paths: list[str], registry: Path | None) -> None:
    """Raises WrongUse for a path or a registry that is none, before a run is begun."""
    from polyonym.ingest.sources import sources
    from polyonym.resolution.linking.registry import read_registry

    with engine.connect() as connection:
        sources.resolve(paths, sources.remembered(connection))
    if registry is not None:
        read_registry(registry)


@app.command()
def communities(
    home: HomeOption = DEFAULT_HOME,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget the partition before; the result then equals that of a fresh home.")
    ] = False,
    config: ConfigOption = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Divide the graph into communities and summarise them, alone."""
    place = Home(home)
    place.open(load_settings(home, config)).dispose()
    with place.held(), _orchestrated(place, verbose):
        from polyonym.flows.orchestration.flows import summarize

        report = summarize(str(home), str(config) if config else None, fresh)
    if as_json:
        print_json(report)
    else:
        _show(report, place)


@app.command()
def plan(
    paths: PathsArgument,
    home: HomeOption = DEFAULT_HOME,
    registry: RegistryOption = None,
    allow_deletions: AllowDeletionsOption = False,
    keep_gone: KeepGoneOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what `ingest` with the same options would do, without writing anything: documents by kind of change, work by stage, an estimate of the time."""
    from polyonym.flows.planning import plan as planning

    with ExitStack() as stack:
        if (settings := load_settings(home, config)).state_url or (home / "state.db").exists():
            it = opened(home, config)
        else:  # before the first run: planned for an empty home that is thrown away
            place = Home(Path(stack.enter_context(TemporaryDirectory())))
            it = Opened(place, settings, place.make(settings))
        planned = planning.plan(it, stack.enter_context(it.engine.connect()), paths, allow_deletions, keep_gone, registry)
    if as_json:
        print_json(planned)
        return
    rows = [(kind, files, planned["documents"][kind]) for kind, files in planned["files"].items()]
    print_table("Changes", ("kind", "files", "documents"), rows, right=(1, 2))
    out.print()
    work = [(w["stage"], w["documents"], w["why"], f"{w['seconds']:,.1f} s" if w["seconds"] is not None else "") for w in planned["work"]]
    print_table("Work", ("stage", "documents", "why", "about"), work, right=(1, 3))
    out.print(
        f"\nChunks to process: {planned['chunks']:,} · about: names to resolve {planned['names']:,}, Wikidata requests "
        f"{planned['wikidata_requests']:,}, tokens of summaries {planned['summary_tokens']:,}"
    )
    if planned["seconds"] is not None:
        out.print(f"Estimated time, from earlier runs: {planned['seconds']:,.0f} s")


@app.command()
def serve(
    paths: PathsArgument,
    home: HomeOption = DEFAULT_HOME,
    cron: Annotated[str, typer.Option(help='When to run, as in crontab, e.g. "0 2 * * *".')] = "",
    every: Annotated[str, typer.Option(help="How often to run, e.g. 15m, 6h or 1d.")] = "",
    registry: Annotated[Path | None, typer.Option(help="The registry to use, read again at each run.")] = None,
    config: ConfigOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Run the ingestion on a schedule, with nothing else to set up. Runs never overlap; SIGTERM or Ctrl-C ends it cleanly."""
    if bool(cron) == bool(every):
        raise WrongUse("Give either --cron or --every.")
    place = Home(home)
    _check(place.make(load_settings(home, config)), paths, registry)
    from polyonym.flows.orchestration import schedule

    schedule.serve(
        place,
        [str(p) for p in paths],
        schedule.Schedule(cron, every),
        str(registry) if registry else None,
        str(config) if config else None,
        verbose,
    )


def _show(report: dict[str, Any], home: Home) -> None:
    """The summary of a run, for a person."""
    stages = [(s["stage"], s["steps"], f"{s['seconds']:,.1f} s") for s in report.get("stages", ()) if s["steps"]]
    if stages:
        print_table("Stages", ("stage", "done", "time"), stages, right=(1, 2))
        out.print()
    counts = report.get("counts", {})
    print_table("In the home", ("what", "count"), counts.items(), right=(1,))
    changes = {k: n for k, n in report.get("documents", {}).items() if n}
    if changes:
        out.print("\nDocuments: " + ", ".join(f"{n:,} {kind}" for kind, n in changes.items()))
    set_aside = report.get("set_aside", [])
    if set_aside:
        out.print()
        print_table(f"Set aside ({len(set_aside):,})", ("document", "reason"), ((r["document"], r["reason"]) for r in set_aside[:30]))
        if len(set_aside) > 30:
            out.print(f"[dim]… and {len(set_aside) - 30:,} more: polyonym export rejected[/dim]")
    for note in report.get("notes", ()):
        out.print(f"[yellow]Note:[/yellow] {escape(note)}")
    out.print(f"\nReport: {escape(str(home.report))}")
