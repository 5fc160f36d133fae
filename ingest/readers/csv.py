"""CSV and TSV files: encoding, separator, quoting and head row are found out, cells are taken as they are.

A quotation mark that stands for itself, or is never closed, costs its own row: a record that breaks the rules is read again from its first
line alone, and the lines that it had swallowed become records of their own.
"""

import csv
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from polyonym.ingest.readers import heads
from polyonym.ingest.readers.columns import ID_NAMES, kind_of, plain_name
from polyonym.ingest.readers.content import Content, LineNumbers, Lines, LineTooLong
from polyonym.ingest.readers.rejection import Rejected
from polyonym.ingest.readers.tables import Layout, Row, Table

SAMPLE = 1 << 17
"""Characters by which the layout is found out."""
_SEPARATORS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}
_NONE = "\x1f"
"""What separates nothing: the cells of a table of one column."""
_SEPARATOR_LINE = re.compile(r"\"?sep=(.)\"?\s*", re.IGNORECASE)
_MOST_JOINED = 20
"""Lines that a cell with broken quotation marks may have."""
_SERIAL = ("number", "code", "date")
"""Kinds of first cells by which the beginning of a row is told."""
_Line = tuple[int, str]


class _Dialect(csv.Dialect):
    lineterminator = "\n"
    strict = True
    quoting = csv.QUOTE_MINIMAL
    quotechar: str

    def __init__(self, separator: str, escaped: bool = False, spaced: bool = False, quote: str = '"') -> None:
        """`escaped`: marks inside a cell have a backslash before them; `spaced`: blanks follow the separator; `quote`: the quotation mark."""
        self.delimiter = separator
        self.quotechar = quote
        self.skipinitialspace = spaced
        self.doublequote = not escaped
        self.escapechar = "\\" if escaped else None
        super().__init__()


@dataclass(frozen=True)
class _Record:
    """The cells of one or several lines, the number of the first, and what was wrong with its quotation marks."""

    line: int
    cells: list[str]
    problem: str = ""


@dataclass(frozen=True)
class _Form:
    """How a table is written. `first` is its first line; `names` are of its columns, those of the head row where it has one."""

    dialect: _Dialect
    first: int
    headed: bool
    names: list[str]
    first_kind: str
    fit: float


def table(file: Content, max_bytes: int) -> Table:
    """The table of a file: the rows below the head row, or all rows (columns "column 1" …) when the first row is no head.

    Its rows raise Rejected for an empty file, NotText for binary content.
    """
    layout = Layout()
    return Table(layout, _read(file, max_bytes, layout))


def _read(file: Content, max_bytes: int, layout: Layout) -> Iterator[Row]:
    csv.field_size_limit(min(max_bytes, 1 << 30))
    with Lines(file, max_bytes) as lines:
        sample, whole = _sample(lines)
        if not any(line.strip() for _, line in sample):
            raise Rejected("empty file")
        form = _form(sample, whole)
        passed_over = LineNumbers()
        for number, line in sample:
            if number < form.first and line.strip():
                passed_over.add(number)
        layout.encoding = str(lines.encoding)
        layout.separator = _SEPARATORS.get(form.dialect.delimiter, "")
        layout.head = f"line {form.first}" if form.headed else ""
        yield from _rows(_Records([s for s in sample if s[0] >= form.first], lines, form.dialect, form).records(), form, passed_over)
        layout.passed_over, layout.other_lines = str(passed_over), str(lines.in_other_encoding)


def _rows(records: Iterator[_Record], form: _Form, passed_over: LineNumbers) -> Iterator[Row]:
    width = len(form.names)
    after_damage = False
    for record in records:
        cells, problem = record.cells, record.problem
        if (record.line == form.first and form.headed) or not (problem or any(cells)):
            continue
        if not problem and len(cells) < width and cells[0].startswith("#"):
            passed_over.add(record.line)
            continue
        if (len(cells) > width and any(cells[width:])) or (len(cells) < width and (after_damage or len(cells) == 1 < width - 1)):
            problem = problem or f"{len(cells)} cells in a table of {width} columns"
        after_damage = bool(record.problem)
        yield Row(f"line {record.line}", {} if problem else dict(zip(form.names, cells, strict=False)), problem)


def _sample(lines: Lines) -> tuple[list[_Line], bool]:
    """The first lines, numbered, and whether they are all."""
    sample: list[_Line] = []
    size = 0
    for line in lines:
        sample.append((lines.number, line))
        size += len(line)
        if size >= SAMPLE:
            return sample, False
    return sample, True


class _Records:
    """The records of a table, lazily. Without a `form`, whose columns tell a whole row, a broken record is what its first line gives."""

    def __init__(self, ahead: Sequence[_Line], lines: Lines | None, dialect: _Dialect, form: _Form | None = None) -> None:
        self._ahead: deque[tuple[int, str | LineTooLong]] = deque(ahead)
        self._lines = lines
        self._dialect = dialect
        self._width = len(form.names) if form else 0
        self._first_kind = form.first_kind if form else ""
        self._taken: list[_Line] = []

    def records(self) -> Iterator[_Record]:
        reader = csv.reader(self, self._dialect)
        while True:
            self._taken.clear()
            try:
                cells = next(reader)
            except StopIteration:
                return
            except LineTooLong as error:
                yield _Record(self._ahead.popleft()[0], [], str(error))
                if self._taken:
                    yield self._again("a cell that is never closed")
            except csv.Error as error:
                yield self._again(str(error))
            else:
                if len(self._taken) > 1 and self._width and self._swallows(cells):
                    yield self._again("a quotation mark that closes in another row")
                else:
                    yield _Record(self._taken[0][0], cells)

    def __iter__(self) -> "_Records":
        return self

    def __next__(self) -> str:
        """The next line, for the reader of records."""
        if not self._ahead and not self._fetch():
            raise StopIteration
        number, line = self._ahead[0]
        if isinstance(line, LineTooLong):
            raise line
        self._ahead.popleft()
        self._taken.append((number, line))
        return line

    def _fetch(self) -> bool:
        """Look at one line more; whether there is one."""
        if self._lines is None:
            return False
        try:
            self._ahead.append((self._lines.number + 1, next(self._lines)))
        except StopIteration:
            return False
        except LineTooLong as error:
            self._ahead.append((self._lines.number, error))
        return True

    def _again(self, problem: str) -> _Record:
        """The record of the first of the lines taken; those that it does not need are put back."""
        (number, text), *rest = self._taken
        self._ahead.extendleft(reversed(rest))
        alone, open_ = cells, _ = _relaxed(text, self._dialect)
        used = 0
        while open_ and self._width and used < _MOST_JOINED and (line := self._continuation(used)) is not None:
            text += line
            used += 1
            cells, open_ = _relaxed(text, self._dialect)
        if not open_ and used and len(cells) == self._width:
            for _ in range(used):
                self._ahead.popleft()
            return _Record(number, cells)
        if self._width:
            return _Record(number, alone) if len(alone) == self._width else _Record(number, [], f"broken quoting: {problem}")
        return _Record(number, alone, problem)

    def _continuation(self, used: int) -> str | None:
        """The line after those `used`, unless it is a row by itself."""
        if used >= len(self._ahead) and not self._fetch():
            return None
        line = self._ahead[used][1]
        if isinstance(line, LineTooLong):
            return None
        cells, open_ = _relaxed(line, self._dialect)
        return None if len(cells) == self._width and not open_ and self._begins_row(cells) else line

    def _begins_row(self, cells: Sequence[str]) -> bool:
        return self._first_kind not in _SERIAL or kind_of(cells[0]) == self._first_kind

    def _swallows(self, cells: Sequence[str]) -> bool:
        """Whether a record of several lines holds rows that are not its own: it has not the right number of cells, or each of its lines is a row."""
        if len(cells) != self._width:
            return True
        if self._width < 2 or self._first_kind not in _SERIAL:
            return False
        first, *others = (_relaxed(line, self._dialect)[0] for _, line in self._taken)
        return len(first) >= self._width and all(len(of_line) == self._width and self._begins_row(of_line) for of_line in others)


def _relaxed(text: str, dialect: _Dialect) -> tuple[list[str], bool]:
    """The cells of a text, and whether a quotation mark before a cell is never closed: such a mark, and one inside a cell, stands for itself.

    A mark closes a cell where the separator or the end follows.
    """
    text = text.rstrip("\r\n")
    separator, escape, quote = dialect.delimiter, dialect.escapechar, dialect.quotechar
    cells: list[str] = []
    at, open_ = 0, False
    while True:
        end = -1
        while dialect.skipinitialspace and text.startswith(" ", at):
            at += 1
        if text.startswith(quote, at):
            end = _closing(text, at + 1, separator, quote, escape)
            open_ = open_ or end < 0
        if end >= 0:
            cell, end = text[at + 1 : end], end + 1
            cells.append(cell.replace((escape or quote) + quote, quote))
        else:
            end = text.find(separator, at)
            end = len(text) if end < 0 else end
            cells.append(text[at:end])
        if end >= len(text):
            return cells, open_
        at = end + 1


def _closing(text: str, start: int, separator: str, quote: str, escape: str | None) -> int:
    """Where the quotation mark is that closes a cell, -1 if nowhere."""
    at = text.find(quote, start)
    while at >= 0:
        after = text[at + 1 : at + 2]
        if escape and text[at - 1] == escape:
            at = text.find(quote, at + 1)
        elif not escape and after == quote:
            at = text.find(quote, at + 2)
        elif not after or after == separator:
            return at
        else:
            at = text.find(quote, at + 1)
    return -1


def _form(sample: list[_Line], whole: bool) -> _Form:
    """Separator, quoting and head row under which most of the sample's rows have one number of cells."""
    first = next(index for index, (_, line) in enumerate(sample) if line.strip())
    said = _SEPARATOR_LINE.fullmatch(sample[first][1])
    begun = sample[first + bool(said) :]
    written = "".join(line for _, line in begun)
    kinds: list[dict[str, Any]] = [{}, *[{"escaped": True}] * ('\\"' in written), *[{"quote": "'"}] * (written.count("'") > 1)]
    best: _Form | None = None
    for separator in [said[1]] if said else _SEPARATORS:
        for kind in [*kinds, *[{"spaced": True}] * (f'{separator} "' in written)]:
            form = _form_of(begun, _Dialect(separator, **kind), whole)
            if form and (best is None or (form.fit, len(form.names)) > (best.fit, len(best.names))):
                best = form
    return best or _of_one_column(begun, whole)


def _form_of(sample: list[_Line], dialect: _Dialect, whole: bool) -> _Form | None:
    """The form that the table has in this dialect, None where it can't be in it."""
    records = _parsed(sample, dialect, whole)
    above = _comments(records)
    start, headed = heads.begin([record.cells if any(record.cells) else [] for record in records[above:]])
    table = records[above + start :]
    widths = Counter(len(record.cells) for record in table if any(record.cells))
    named = len(table[0].cells) if headed else 0
    width = max((n for n in widths if n > 1), key=lambda n: (widths[n], n == named, n), default=0)
    if not width:
        return None
    exact = sum(len(record.cells) == width and not record.problem for record in table) + (headed and _lacks_first_name(table, width))
    fit = exact / widths.total()
    if fit < (0.5 if headed and heads.customary(table[0].cells) > 1 else 0.7):
        return None
    beside = all(cell.startswith(" ") for record in table if len(record.cells) == width for cell in record.cells[1:])
    if start and (beside or heads.customary(records[above + start - 1].cells)):  # a comma inside a text, below the name of the one column
        return None
    return _named(table, dialect, headed, width, round(fit, 2))


def _of_one_column(sample: list[_Line], whole: bool) -> _Form:
    dialect = _Dialect(_NONE)
    records = _parsed(sample, dialect, whole)
    table = records[_comments(records) :] or records
    table = table[next((index for index, record in enumerate(table) if any(record.cells)), 0) :]
    return _named(table, dialect, heads.begin([record.cells for record in table]) == (0, True), 1, 0.0)


def _named(table: list[_Record], dialect: _Dialect, headed: bool, width: int, fit: float) -> _Form:
    head = table[0].cells if headed else []
    if headed and _lacks_first_name(table, width):
        head = ["", *head]
    names = heads.column_names([*head, *[""] * (width - len(head))])
    kinds = Counter(kind_of(record.cells[0]) for record in table[headed:] if any(record.cells))
    return _Form(dialect, table[0].line, headed, names, max(kinds, key=lambda kind: (kinds[kind], kind), default=""), fit)


def _lacks_first_name(table: list[_Record], width: int) -> bool:
    """Whether the head row names all columns but the first, as R leaves the names of rows without a name."""
    firsts = [record.cells[0] for record in table[1:] if len(record.cells) == width and record.cells[-1]]
    if any(plain_name(name) in ID_NAMES for name in table[0].cells):
        return False
    return len(table[0].cells) == width - 1 and len(firsts) > 1 and len(set(firsts)) == len(firsts) >= len(table) - 2


def _parsed(sample: list[_Line], dialect: _Dialect, whole: bool) -> list[_Record]:
    """The sample's records; a last one that the sample cuts is left out."""
    records: list[_Record] = []
    for record in _Records(sample, None, dialect).records():
        if record.problem == "unexpected end of data" and not whole:
            break
        records.append(record)
    return records


def _comments(records: Sequence[_Record]) -> int:
    """How many records at the beginning are comments; one that names the columns ("#id …") is none."""
    count = next((index for index, record in enumerate(records) if any(record.cells) and not record.cells[0].startswith("#")), 0)
    last = next((index for index in reversed(range(count)) if any(records[index].cells)), None)
    if last is None or len(records[last].cells) != len(records[count].cells) or len(records[count].cells) < 2:
        return count
    return last if heads.begin([records[last].cells, records[count].cells])[1] and not heads.customary(records[count].cells) else count
