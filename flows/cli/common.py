"""What all commands share: the home option, opening for reading or writing, tables and JSON on the screen."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from sqlalchemy import Connection

from polyonym.flows.home.home import Home, Opened
from polyonym.flows.home.settings import load_settings
from polyonym.ingest.errors import WrongUse

out = Console(highlight=False)

HomeOption = Annotated[Path, typer.Option("--home", help="Folder that holds all that runs leave.", envvar="POLYONYM_HOME")]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="Settings file in place of the home's polyonym.toml.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show the logs.")]
DEFAULT_HOME = Path("polyonym-home")


def _writable(output: Path | None) -> Path | None:
    if output is not None and not output.parent.is_dir():
        raise WrongUse(f"{output} cannot be written: there is no folder {output.parent}. Make it first.")
    if output is not None and output.exists() and not output.is_file():
        raise WrongUse(f"{output} is there and is no file. Give the name of a file.")
    return output


def output_option(help: str) -> Any:
    """The option -o of a file to be written. Raises WrongUse, before the command begins, where none can be."""
    return typer.Option("-o", "--output", help=help, callback=_writable)


def opened(path: Path, config: Path | None = None) -> Opened:
    """Open a home that is there. Raises WrongUse when it is not."""
    home = Home(path)
    settings = load_settings(path, config)
    return Opened(home, settings, home.open(settings))


@contextmanager
def reading(path: Path, config: Path | None = None) -> Iterator[tuple[Opened, Connection]]:
    """Open a home for reading its last committed state."""
    it = opened(path, config)
    with it.engine.connect() as connection:
        yield it, connection


@contextmanager
def writing(path: Path, config: Path | None = None) -> Iterator[Opened]:
    """Open a home and hold it for writing. Raises HomeHeld while another run does."""
    it = opened(path, config)
    with it.home.held():
        yield it


def print_json(value: Any) -> None:
    """Print one JSON document, readable, in UTF-8 as all JSON is."""
    sys.stdout.buffer.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS) + b"\n")


def print_lines(rows: Iterable[Any]) -> None:
    """Print JSON lines, in UTF-8."""
    for row in rows:
        sys.stdout.buffer.write(orjson.dumps(row) + b"\n")


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], right: Sequence[int] = ()) -> None:
    """Print a table; `right` are the positions of the columns with numbers."""
    table = Table(title=title or None, title_justify="left", title_style="bold", header_style="bold", show_edge=False, pad_edge=False)
    for position, column in enumerate(columns):
        table.add_column(column, justify="right" if position in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    out.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return escape(str(value))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
