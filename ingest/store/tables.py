"""What every table of the state is made with: the metadata that they stand on, JSON columns, single facts, and statements over many values.

Each table is defined in the file of its concept, on the `metadata` of this file; no SQL stands anywhere else.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import orjson
from sqlalchemy import Column, Connection, MetaData, Table, Text, delete, event, select
from sqlalchemy.types import TypeDecorator

metadata = MetaData()
T = TypeVar("T")
_IN_POSTGRESQL = Text(collation="C")


@event.listens_for(Column, "after_parent_attach")
def _sort_by_code_point(column: Column[Any], table: Any) -> None:
    """Our texts sort by code point in every database, as they do in Python: PostgreSQL would go by its locale."""
    if getattr(table, "metadata", None) is metadata and type(column.type) is Text:
        column.type = Text().with_variant(_IN_POSTGRESQL, "postgresql")


class Json(TypeDecorator[Any]):
    """A value kept as JSON text with sorted keys, so that equal values are equal bytes in every database."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Any) -> Any:
        return dialect.type_descriptor(_IN_POSTGRESQL if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Any, dialect: Any) -> str | None:
        if value is None:
            return None
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY).decode()

    def process_result_value(self, value: str | None, dialect: Any) -> Any:
        return None if value is None else orjson.loads(value)


facts = Table(
    "facts",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Json, nullable=False),
)
"""Single facts about the home: schema version, home id, what was imported into it."""


def get_fact(connection: Connection, key: str, default: Any = None) -> Any:
    """The value kept under `key`, or `default`."""
    row = connection.execute(select(facts.c.value).where(facts.c.key == key)).first()
    return default if row is None else row[0]


def set_fact(connection: Connection, key: str, value: Any) -> None:
    """Keep `value` (anything JSON can hold) under `key`."""
    connection.execute(delete(facts).where(facts.c.key == key))
    connection.execute(facts.insert(), {"key": key, "value": value})


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut `items` into lists of at most `size`."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def insert_rows(connection: Connection, table: Table, rows: Iterable[dict[str, Any]], size: int = 5000) -> int:
    """Insert `rows` in batches; returns how many there were."""
    count = 0
    for batch in batched(rows, size):
        connection.execute(table.insert(), batch)
        count += len(batch)
    return count


def delete_where_in(connection: Connection, column: Column[Any], values: Sequence[Any], size: int = 500) -> None:
    """Delete the rows whose `column` holds one of `values`."""
    for batch in batched(values, size):
        connection.execute(delete(column.table).where(column.in_(batch)))


def select_where_in(connection: Connection, statement: Any, column: Any, values: Sequence[Any], size: int = 500) -> Iterator[Any]:
    """Rows of `statement` whose `column` holds one of `values`, asked for in batches, in the order of `values`' batches."""
    for batch in batched(values, size):
        for rows in connection.execute(statement.where(column.in_(batch))).partitions(100):
            yield from rows
