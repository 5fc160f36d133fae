"""What was found out about the tables of files when they were read, for a person to check: separator, head row, columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Connection, Table, Text, delete, select

from polyonym.ingest.readers import Layout
from polyonym.ingest.store.tables import Json, insert_rows, metadata

table_layouts = Table(
    "table_layouts",
    metadata,
    Column("source", Text, primary_key=True),
    Column("file", Text, primary_key=True),
    Column("layouts", Json, nullable=False),
)


def replace(connection: Connection, source: str, file: str, layouts: Sequence[Layout]) -> None:
    """Keep the layouts of a file's tables, in place of those before."""
    kept = [layout.as_json() for layout in layouts]
    _store(connection, source, file, kept)


def move(connection: Connection, old: tuple[str, str], new: tuple[str, str]) -> None:
    """Keep what is known of the tables of a file, given by source and file, under its new place."""
    kept = _of_file(connection, *old)
    drop(connection, *old)
    _store(connection, *new, kept)


def drop(connection: Connection, source: str, file: str | None = None) -> None:
    """Forget the tables of a file, or of a whole source."""
    c = table_layouts.c
    connection.execute(delete(table_layouts).where(c.source == source, *([] if file is None else [c.file == file])))


def load(connection: Connection, source: str | None = None) -> list[dict[str, Any]]:
    """All tables (of one source), sorted: `source`, `file`, then what Layout.as_json gives of the table."""
    statement = select(table_layouts).order_by(table_layouts.c.source, table_layouts.c.file)
    if source is not None:
        statement = statement.where(table_layouts.c.source == source)
    return [{"source": row.source, "file": row.file, **layout} for row in connection.execute(statement) for layout in row.layouts]


def in_words(table: Mapping[str, Any]) -> str:
    """What was found out about a table of `load`, as a person reads it."""
    encoding = table.get("encoding", "").removesuffix("-sig")
    text = ", ".join(table.get("text", ()))
    parts = (
        f"sheet {table['sheet']}" if "sheet" in table else "",
        f"separated by {table['separator']}" if "separator" in table else "",
        encoding + (f" in lines {table['other_lines']}" if "other_lines" in table else ""),
        f"names of columns in {table['head']}" if table["head"] else "",
        f"passed over: lines {table['passed_over']}" if "passed_over" in table else "",
        f"text: {text}{' (unaltered)' if 'alone' in table else ''}" if text else "",
        f"id: {table['id']}" if table["id"] else "no ids",
        f"date: {table['date']}" if "date" in table else "",
    )
    return "; ".join(part for part in parts if part)


def _of_file(connection: Connection, source: str, file: str) -> list[dict[str, Any]]:
    c = table_layouts.c
    kept: list[dict[str, Any]] | None = connection.scalar(select(c.layouts).where(c.source == source, c.file == file))
    return kept or []


def _store(connection: Connection, source: str, file: str, kept: list[dict[str, Any]]) -> None:
    if kept != _of_file(connection, source, file):
        drop(connection, source, file)
        insert_rows(connection, table_layouts, [{"source": source, "file": file, "layouts": kept}] if kept else [])
