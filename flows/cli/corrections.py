"""Commands by which people correct the graph: judgements, splits, names, removals. All are obeyed at once and in every later run."""

import getpass
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer
from rich.markup import escape

from flows.cli import app
from flows.cli.common import DEFAULT_HOME, HomeOption, JsonOption, out, print_json, print_lines, print_table, reading, writing
from ingest.errors import WrongUse

if TYPE_CHECKING:
    from resolution.judgements import Judgement

NoteOption = Annotated[str, typer.Option("--note", help="Why: kept with the judgement.")]
judge = typer.Typer(no_args_is_help=True, help="Say that two names are the same or different, or what a name is linked to.")
judgements = typer.Typer(invoke_without_command=True, help="Show the judgements; export and import them as JSON lines.")
app.add_typer(judge, name="judge")
app.add_typer(judgements, name="judgements")
NameArgument = Annotated[str, typer.Argument(help='A name, "NAME @ DOCUMENT", or an entity\'s id.')]


@judge.command()
def same(a: NameArgument, b: NameArgument, note: NoteOption = "", home: HomeOption = DEFAULT_HOME) -> None:
    """These two are one thing."""
    from flows import correcting

    with writing(home) as it:
        _keep(correcting.same_or_different(it.engine, "same", a, b, note, *_signed()), home)


@judge.command()
def different(a: NameArgument, b: NameArgument, note: NoteOption = "", home: HomeOption = DEFAULT_HOME) -> None:
    """These two are different things."""
    from flows import correcting

    with writing(home) as it:
        _keep(correcting.same_or_different(it.engine, "different", a, b, note, *_signed()), home)


@judge.command()
def link(
    name: NameArgument,
    item: Annotated[str, typer.Argument(metavar="QID|none", help="The Wikidata id, or none.")],
    note: NoteOption = "",
    home: HomeOption = DEFAULT_HOME,
) -> None:
    """This name stands for this Wikidata item, or for none."""
    from flows import correcting

    with writing(home) as it:
        _keep(correcting.link(it.engine, name, item, note, *_signed()), home)


@app.command()
def split(
    entity: NameArgument,
    mentions: Annotated[
        list[str], typer.Option("--mentions", help="Mentions that are another thing, each DOCUMENT:START-END, or DOCUMENT for all in it.")
    ],
    note: NoteOption = "",
    home: HomeOption = DEFAULT_HOME,
) -> None:
    """Take mentions out of an entity: they are another thing."""
    from flows import correcting

    with writing(home) as it:
        _keep(correcting.split(it.engine, entity, mentions, note, *_signed()), home)


@app.command()
def rename(
    entity: NameArgument,
    name: Annotated[str, typer.Argument(help="What it is to be called.")],
    note: NoteOption = "",
    home: HomeOption = DEFAULT_HOME,
) -> None:
    """Give an entity the name by which it is shown."""
    from flows import correcting

    with writing(home) as it:
        _keep(correcting.rename(it.engine, entity, name, note, *_signed()), home)


@app.command()
def undo(
    judgement: Annotated[str, typer.Argument(help="A judgement's id, as `polyonym judgements` shows it.")], home: HomeOption = DEFAULT_HOME
) -> None:
    """Take a judgement back."""
    from flows import correcting

    with writing(home) as it:
        taken = correcting.undo(it.engine, judgement)
        _refresh(home)
    out.print(f"Taken back: {escape(str(taken))}")


@app.command()
def remove(
    what: Annotated[str, typer.Argument(metavar="DOCUMENT|SOURCE", help="A document's name, or a source as `polyonym sources` shows it.")],
    home: HomeOption = DEFAULT_HOME,
) -> None:
    """Take a document or a source out of the home, with all that rests on it. A document stays out while its file is unchanged."""
    from flows import correcting

    with writing(home) as it:
        gone = correcting.remove(it.engine, what)
        _refresh(home, gone)
    out.print(f"{len(gone):,} document{'' if len(gone) == 1 else 's'} removed.")


@judgements.callback()
def show(context: typer.Context, home: HomeOption = DEFAULT_HOME, as_json: JsonOption = False) -> None:
    """Show all judgements."""
    if context.invoked_subcommand:
        return
    from resolution import judgements as table

    with reading(home) as (_, connection):
        held = table.load(connection)
    if as_json:
        print_json([table.to_json(j) for j in held])
    else:
        print_table("", ("id", "kind", "says", "who", "when", "why"), ((j.judgement, j.kind, str(j), j.who, j.when, j.note) for j in held))


@judgements.command("export")
def export_(
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write; standard output without.")] = None,
    home: HomeOption = DEFAULT_HOME,
) -> None:
    """Write all judgements as JSON lines."""
    from resolution import judgements as table

    with reading(home) as (_, connection):
        rows = [table.to_json(j) for j in table.load(connection)]
    if output is None:
        print_lines(rows)
    else:
        output.write_bytes(b"".join(orjson.dumps(r) + b"\n" for r in rows))


@judgements.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="JSON lines as `judgements export` writes them.")], home: HomeOption = DEFAULT_HOME
) -> None:
    """Take in judgements; those that are there already change nothing."""
    from flows import correcting
    from resolution import judgements as table

    try:
        rows = [orjson.loads(line) for line in file.read_bytes().splitlines() if line.strip()]
    except (OSError, orjson.JSONDecodeError) as error:
        raise WrongUse(f"{file} cannot be read as JSON lines: {error}") from error
    with writing(home) as it:
        new = correcting.take_in(it.engine, [table.from_json(row) for row in rows])
        _refresh(home)
    out.print(f"{new:,} judgements taken in.")


def _signed() -> tuple[str, str]:
    """Who judges, and when."""
    return getpass.getuser(), datetime.now(UTC).isoformat(timespec="seconds")


def _keep(judgement: "Judgement", home: Path) -> None:
    _refresh(home)
    out.print(f"Kept as [bold]{judgement.judgement}[/bold]: {escape(str(judgement))}")


def _refresh(home: Path, removed: Sequence[str] = ()) -> None:
    from flows.refresh import refresh

    refresh(home, None, removed)
