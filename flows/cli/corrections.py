"""Commands by which people correct the graph: judgements, splits, names, removals. All are obeyed at once and in every later run."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from rich.markup import escape

from polyonym.flows.cli import app
from polyonym.flows.cli.common import (
    DEFAULT_HOME,
    ConfigOption,
    HomeOption,
    JsonOption,
    out,
    output_option,
    print_json,
    print_lines,
    print_table,
    reading,
    writing,
)
from polyonym.flows.home import interrupts
from polyonym.flows.home.home import Opened
from polyonym.flows.home.progress import console
from polyonym.flows.home.signature import signed
from polyonym.ingest.errors import WrongUse

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from polyonym.resolution.judgements.judgements import Judgement

_TOLD = 3  # so many conflicts are told
NoteOption = Annotated[str, typer.Option("--note", help="Why: kept with the judgement.")]
judge = typer.Typer(no_args_is_help=True, help="Say that two names are the same or different, or what a name is linked to.")
judgements = typer.Typer(invoke_without_command=True, help="Show the judgements; export and import them as JSON lines.")
app.add_typer(judge, name="judge")
app.add_typer(judgements, name="judgements")
NameArgument = Annotated[str, typer.Argument(help='A name, "NAME @ DOCUMENT", or an entity\'s id.')]


@judge.command()
def same(
    a: NameArgument,
    b: NameArgument,
    note: NoteOption = "",
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """These two are one thing."""
    _judge(home, config, as_json, lambda do, engine: do.same_or_different(engine, "same", a, b, note, *signed()))


@judge.command()
def different(
    a: NameArgument,
    b: NameArgument,
    note: NoteOption = "",
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """These two are different things."""
    _judge(home, config, as_json, lambda do, engine: do.same_or_different(engine, "different", a, b, note, *signed()))


@judge.command()
def link(
    name: NameArgument,
    item: Annotated[str, typer.Argument(metavar="QID|none", help="The Wikidata id, or none.")],
    note: NoteOption = "",
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """This name stands for this Wikidata item, or for none."""
    _judge(home, config, as_json, lambda do, engine: do.link(engine, name, item, note, *signed()))


@app.command()
def split(
    entity: NameArgument,
    mentions: Annotated[
        list[str], typer.Option("--mentions", help="Mentions that are another thing, each DOCUMENT:START-END, or DOCUMENT for all in it.")
    ],
    note: NoteOption = "",
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take mentions out of an entity: they are another thing."""
    _judge(home, config, as_json, lambda do, engine: do.split(engine, entity, mentions, note, *signed()))


@app.command()
def rename(
    entity: NameArgument,
    name: Annotated[str, typer.Argument(help="What it is to be called.")],
    note: NoteOption = "",
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give an entity the name by which it is shown."""
    _judge(home, config, as_json, lambda do, engine: do.rename(engine, entity, name, note, *signed()))


@app.command()
def undo(
    judgement: Annotated[str, typer.Argument(help="A judgement's id, as `polyonym judgements` shows it.")],
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a judgement back."""
    from polyonym.flows.pipeline import corrections
    from polyonym.flows.pipeline.refresh import refresh
    from polyonym.resolution.judgements.judgements import to_json

    with _correcting(home, config) as it:
        taken = corrections.undo(it.engine, judgement)
        refresh(home, config)
    if as_json:
        print_json(to_json(taken))
    else:
        out.print(f"Taken back: {escape(str(taken))}")


@app.command()
def remove(
    what: Annotated[str, typer.Argument(metavar="DOCUMENT|SOURCE", help="A document's name, or a source as `polyonym sources` shows it.")],
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a document or a source out of the home, with all that rests on it. A document stays out while it is unchanged in its file."""
    from polyonym.flows.pipeline import corrections
    from polyonym.flows.pipeline.refresh import refresh

    with _correcting(home, config) as it:
        removed = corrections.remove(it.engine, what)
        refresh(home, config, removed.run)
    gone = removed.documents
    if as_json:
        print_json({"removed": gone})
    else:
        out.print(f"{len(gone):,} document{'' if len(gone) == 1 else 's'} removed.")


@judgements.callback()
def show(context: typer.Context, home: HomeOption = DEFAULT_HOME, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show all judgements."""
    if context.invoked_subcommand:
        return
    from polyonym.resolution.judgements import judgements as table

    with reading(home, config) as (_, connection):
        stored = table.load(connection)
    if as_json:
        print_json([table.to_json(j) for j in stored])
    else:
        print_table(
            "", ("id", "kind", "says", "who", "when", "why"), ((j.judgement, j.kind, str(j), j.who, j.when, j.note) for j in stored)
        )


@judgements.command("export")
def export_(
    output: Annotated[Path | None, output_option("File to write; standard output without.")] = None,
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
) -> None:
    """Write all judgements as JSON lines."""
    from polyonym.resolution.judgements import judgements as table

    with reading(home, config) as (_, connection):
        rows = [table.to_json(j) for j in table.load(connection)]
    if output is None:
        print_lines(rows)
    else:
        output.write_bytes(b"".join(orjson.dumps(r) + b"\n" for r in rows))


@judgements.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="JSON lines as `judgements export` writes them.")],
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take in judgements; those that are there already change nothing."""
    from polyonym.flows.pipeline import corrections
    from polyonym.flows.pipeline.refresh import refresh
    from polyonym.resolution.judgements import judgements as table

    try:
        rows = [orjson.loads(line) for line in file.read_bytes().splitlines() if line.strip()]
    except (OSError, orjson.JSONDecodeError) as error:
        raise WrongUse(f"{file} cannot be read as JSON lines: {error}") from error
    given = [table.from_json(row) for row in rows]
    with _correcting(home, config) as it:
        new = corrections.take_in(it.engine, given)
        refresh(home, config)
        with it.engine.connect() as connection:
            hindered = corrections.unobeyed(connection, given)
    if as_json:
        print_json({"new": new, "not_obeyed": hindered})
        return
    out.print(f"{new:,} judgements taken in.")
    for judgement, reasons in hindered.items():
        _warn(judgement, reasons)


@contextmanager
def _correcting(home: Path, config: Path | None) -> Iterator[Opened]:
    """Hold a home for a correction, which a first Ctrl-C stops at a clean point only."""
    with writing(home, config) as it:
        interrupts.watch_interrupts()
        yield it


def _judge(home: Path, config: Path | None, as_json: bool, make: Callable[[Any, "Engine"], "Judgement"]) -> None:
    """Keep the judgement that `make` makes of polyonym.flows.pipeline.corrections and the state, obey it, and show it."""
    from polyonym.flows.pipeline import corrections
    from polyonym.flows.pipeline.refresh import refresh
    from polyonym.resolution.judgements.judgements import to_json

    with _correcting(home, config) as it:
        judgement = make(corrections, it.engine)
        refresh(home, config)
        with it.engine.connect() as connection:
            hindered = corrections.unobeyed(connection, [judgement])
    if as_json:
        print_json(to_json(judgement) | {"not_obeyed": hindered.get(judgement.judgement, [])})
        return
    out.print(f"Kept as [bold]{judgement.judgement}[/bold]: {escape(str(judgement))}")
    for reasons in hindered.values():
        _warn(judgement.judgement, reasons)


def _warn(judgement: str, reasons: Sequence[str]) -> None:
    more = f"; and {len(reasons) - _TOLD:,} more" if len(reasons) > _TOLD else ""
    console.print(f"[yellow]{judgement} is kept, but not obeyed everywhere[/yellow]: {escape('; '.join(reasons[:_TOLD]))}{more}")
