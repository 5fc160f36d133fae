"""The registry: things that the user knows by name. It answers before any other source."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import orjson
from sqlalchemy import Column, Connection, Table, Text, delete, select

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.readers import Rejected, read_tables
from polyonym.ingest.readers.columns import id_of, plain_name
from polyonym.ingest.readers.tables import Layout, Row
from polyonym.ingest.store.tables import Json, insert_rows, metadata
from polyonym.ingest.text.documents import content_hash
from polyonym.resolution.linking.candidates import Candidate, Item
from polyonym.resolution.linking.knowledge_base import QID
from polyonym.resolution.names.entity_types import TYPES, type_of
from polyonym.resolution.names.normal_forms import normalise

_FIELDS = ("id", "name", "aliases", "type", "description", "wikidata_id")
_LONGEST_ROW = 1_000_000
"""Characters; a registry's row is no document."""

registry_items = Table(
    "registry_items",
    metadata,
    Column("id", Text, primary_key=True),
    Column("label", Text, nullable=False),
    Column("aliases", Json, nullable=False),
    Column("types", Json, nullable=False),
    Column("description", Text),
    Column("wikidata_id", Text),
)


def read_registry(path: Path) -> list[Item]:
    """The entries of a registry file, sorted by id: a table of any format that is read (CSV, Excel, JSON …), as the readers find it out.

    Columns: id, name; optional: aliases (several divided by | or ;), type (one of our types or a recogniser's label), description,
    wikidata_id. Raises WrongUse, naming line and column.
    """
    items: dict[str, Item] = {}
    places: dict[str, str] = {}
    try:
        for table in read_tables(path, _LONGEST_ROW):
            for row in table.rows:
                _check_columns(path, row, table.layout)
                where = f"The registry {path}, {table.layout.sheet}{', ' * bool(table.layout.sheet)}{row.place}"
                item = _item(where, row)
                if item.id in items:
                    raise WrongUse(f"{where}: `id` {item.id!r} stands in {places[item.id]} already. Give every entry an id of its own.")
                items[item.id], places[item.id] = item, row.place
    except Rejected as problem:
        raise WrongUse(f"The registry {path} cannot be read: {problem}. Give a table with the columns {', '.join(_FIELDS)}.") from problem
    return [items[i] for i in sorted(items)]


def _check_columns(path: Path, row: Row, layout: Layout) -> None:
    """Raises WrongUse when a table with a head row, or one that should have it, lacks a column."""
    missing = [field for field in ("id", "name") if field not in map(plain_name, row.cells)]
    if missing and not row.problem and (layout.head or layout.separator):
        head = layout.head or "line 1"
        raise WrongUse(f"The registry {path}, {head}: no column `{missing[0]}`. The head row must name the columns: {', '.join(_FIELDS)}.")


def _item(where: str, row: Row) -> Item:
    if row.problem:
        raise WrongUse(f"{where}: {row.problem}. Mend the row.")
    cells = {plain_name(name): value for name, value in row.cells.items()}
    values: dict[str, str] = {}
    for field in ("id", "name", "type", "description", "wikidata_id"):
        value = cells.get(field)
        if value is not None and not isinstance(value, str | int | float):
            raise WrongUse(f"{where}: `{field}` is {value!r}, not a text.")
        values[field] = id_of(value) if field == "id" else "" if value is None else str(value).strip()
    for field in ("id", "name"):
        if not values[field]:
            raise WrongUse(f"{where}: `{field}` is missing or empty.")
    aliases = cells.get("aliases") or []
    if isinstance(aliases, str):
        aliases = re.split(r"[|;]", aliases)
    if not (isinstance(aliases, list) and all(isinstance(a, str) for a in aliases)):
        raise WrongUse(f"{where}: `aliases` is {aliases!r}, not a list of texts.")
    type_ = values["type"].upper()
    if type_ and type_ not in TYPES and type_of(type_) == "OTHER":
        raise WrongUse(f"{where}: `type` is {values['type']!r}; use one of {', '.join(TYPES)}, or leave it out.")
    if values["wikidata_id"] and not QID.fullmatch(values["wikidata_id"]):
        raise WrongUse(f"{where}: `wikidata_id` is {values['wikidata_id']!r}; it must look like Q42, or be left out.")
    return Item(
        values["id"],
        values["name"],
        tuple(dict.fromkeys(a.strip() for a in aliases if a.strip() and a.strip() != values["name"])),
        values["description"] or None,
        (type_ if type_ in TYPES else type_of(type_),) if type_ else (),
        None,
        values["wikidata_id"] or None,
        "registry",
    )


class Registry:
    """Registry entries, found by normalised name; a CandidateSource."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.items = sorted(items, key=lambda i: i.id)
        self.version = content_hash(*(orjson.dumps(asdict(i)).decode() for i in self.items))
        self._by_key: dict[str, list[Item]] = {}
        for item in self.items:
            person = item.types == ("PERSON",)
            for key in sorted({normalise(name, p) for name in (item.label, *item.aliases) for p in {False, person}}):
                self._by_key.setdefault(key, []).append(item)

    def matching(self, names: Iterable[str]) -> list[Item]:
        """The entries that have one of these raw names as name or alias once both are normalised, sorted by id."""
        entries = {item.id: item for name in names for item in self._by_key.get(normalise(name), ())}
        return [entries[i] for i in sorted(entries)]

    def candidates(self, names: Sequence[str]) -> dict[str, list[Candidate]]:
        """For each raw name the entries with this name or alias, those by name first."""
        return {
            name: sorted((_candidate(name, i) for i in self.matching([name])), key=lambda c: (c.match != "label", c.item.id))
            for name in names
        }

    def names(self) -> list[tuple[str, str]]:
        """Every name and alias as it is spelled, with its type ("" when unknown), sorted: what can be looked for in texts."""
        return sorted({(name, item.types[0] if item.types else "") for item in self.items for name in (item.label, *item.aliases)})


def _candidate(name: str, item: Item) -> Candidate:
    key = normalise(name)
    by_label = normalise(item.label) == key
    return Candidate(
        item,
        item.label if by_label else next((a for a in item.aliases if normalise(a) == key), item.label),
        "label" if by_label else "alias",
    )


def replace(connection: Connection, items: Iterable[Item]) -> None:
    """Remember these entries in the home, in place of the ones before."""
    connection.execute(delete(registry_items))
    columns = [c.name for c in registry_items.c]
    insert_rows(connection, registry_items, ({c: getattr(item, c) for c in columns} for item in items))


def load(connection: Connection) -> Registry:
    """The registry that the home remembers; an empty one when there is none."""
    rows = connection.execute(select(registry_items))
    return Registry(Item(r.id, r.label, tuple(r.aliases), r.description, tuple(r.types), None, r.wikidata_id, "registry") for r in rows)
