"""Parquet files, a few hundred rows at a time; nested columns are left out but for lists of plain values."""

from collections.abc import Iterator
from typing import Any

from polyonym.ingest.readers.content import Content, open_content
from polyonym.ingest.readers.tables import Layout, Row, Table

BATCH_ROWS = 500


def table(file: Content) -> Table:
    """Rows in the file's order. They raise pyarrow's errors for a broken or encrypted file."""
    return Table(Layout(), _rows(file))


def _rows(file: Content) -> Iterator[Row]:
    import pyarrow.parquet

    with open_content(file) as stream:
        table = pyarrow.parquet.ParquetFile(stream)
        columns = [field.name for field in table.schema_arrow if _is_plain(field.type)]
        number = 0
        for batch in table.iter_batches(batch_size=BATCH_ROWS, columns=columns, use_threads=False):
            for cells in batch.to_pylist():
                number += 1
                yield Row(f"row {number}", cells)


def _is_plain(kind: Any) -> bool:
    import pyarrow.types as types

    if types.is_dictionary(kind) or types.is_list(kind) or types.is_large_list(kind):
        kind = kind.value_type
    return not types.is_nested(kind) and not types.is_binary(kind) and not types.is_large_binary(kind)
