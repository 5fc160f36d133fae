"""Where a table begins: the lines above it that are no part of it, and whether its first row names the columns."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from polyonym.ingest.readers.columns import CUSTOMARY_NAMES, kind_of, plain_name

MOST_ABOVE = 40
"""Lines that may stand above a table."""
_LONGEST_NAME = 80
_NAMED_LATER = 5


def begin(rows: Sequence[Sequence[Any]]) -> tuple[int, bool]:
    """The index of a table's first row among the `rows` of its file's beginning (empty lines as rows without cells), and whether it is a head row.

    What stands above is narrower than the table, or set off by an empty line.
    """
    filled = [sum(cell not in (None, "") for cell in row) for row in rows]
    width = _width(filled)
    wide = [index for index, n in enumerate(filled[:MOST_ABOVE]) if n and 3 * n >= 2 * width]
    for index in wide:
        names = customary(rows[index])
        if names == filled[index] or (names > 1 and 3 * names >= filled[index]):
            return index, True
    start = next((index for index in wide if not _set_off(rows, filled, index, width)), 0)
    if not rows or _is_head(rows, start):
        return start, bool(rows)
    # A line as wide as the table may stand above it, if the names of columns come right after it.
    named = next(
        (index for index in wide if start < index <= start + _NAMED_LATER and customary(rows[index]) and _is_head(rows, index)), None
    )
    return (start, False) if named is None else (named, True)


def column_names(cells: Sequence[Any]) -> list[str]:
    """The names in a head row, each made different from those before; a column without a name is called by its place."""
    names: dict[str, None] = {}
    for number, cell in enumerate(cells, 1):
        name = " ".join(str("" if cell is None else cell).split()) or f"column {number}"
        while name in names:
            name += "'"
        names[name] = None
    return list(names)


def unnamed(width: int) -> list[str]:
    """The names of the columns of a table without a head row."""
    return [f"column {number}" for number in range(1, width + 1)]


def _width(filled: Sequence[int]) -> int:
    """How many cells most rows have, the widest of equally frequent widths; titles above a table, of one cell, count for little."""
    counts = Counter(n for n in filled if n)
    wide = Counter({n: count for n, count in counts.items() if n > 1})
    return max(wide or counts, key=lambda n: (counts[n], n), default=0)


def _set_off(rows: Sequence[Sequence[Any]], filled: Sequence[int], index: int, width: int) -> bool:
    """Whether a row belongs to a block above the table: an empty line parts them, and as wide a table lies behind it."""
    end = next((i for i in range(index + 1, min(MOST_ABOVE, len(filled))) if not filled[i]), None)
    if end is None or customary(rows[index]):
        return False
    behind = [i for i in range(end, len(filled)) if filled[i]]
    if len(behind) <= end - index or _width([filled[i] for i in behind]) != width:
        return False
    return end - index > 1 or customary(rows[behind[0]]) > 0


def customary(row: Sequence[Any]) -> int:
    """How many cells are customary names of columns."""
    return sum(isinstance(cell, str) and plain_name(cell) in CUSTOMARY_NAMES for cell in row)


def _is_head(rows: Sequence[Sequence[Any]], index: int) -> bool:
    names = [cell for cell in rows[index] if cell not in (None, "")]
    if customary(names):
        return True
    if not names or not all(isinstance(name, str) and len(name) <= _LONGEST_NAME and "\n" not in name for name in names):
        return False
    if len(set(names)) < len(names) or any(kind_of(name) in ("number", "date", "address") for name in names):
        return False
    below = rows[index + 1 :]
    return not any(cell not in (None, "") and any(n < len(row) and row[n] == cell for row in below) for n, cell in enumerate(rows[index]))
