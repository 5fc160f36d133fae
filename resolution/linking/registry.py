"""The registry: things that the user knows by name. It answers before any other source."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Column, Connection, Table, Text, delete, select

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.store.tables import Json, insert_rows, metadata
from polyonym.ingest.text.documents import content_hash
from polyonym.resolution.linking.candidates import Candidate, Item
from polyonym.resolution.linking.knowledge_base import QID
from polyonym.resolution.names.entity_types import TYPES, type_of
from polyonym.resolution.names.normal_forms import normalise

_FIELDS = ("id", "name", "aliases", "type", "description", "wikidata_id")

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
    """The entries of a registry file, sorted by id: JSONL, or CSV with a head row (aliases separated by | or ;).

    Fields: id, name; optional: aliases, type (one of our types or a recogniser's label), description, wikidata_id. Raises WrongUse, naming line and field.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"The registry {path} cannot be read: {error}. Give a UTF-8 file, JSONL or CSV.") from error
    items: dict[str, Item] = {}
    lines: dict[str, int] = {}
    for line, row in _csv_rows(path, text) if path.suffix.lower() in (".csv", ".tsv") else _json_rows(path, text):
        item = _item(f"The registry {path}, line {line}", row)
        if item.id in items:
            raise WrongUse(
                f"The registry {path}, line {line}: `id` {item.id!r} stands in line {lines[item.id]} already. Give every entry an id of its own."
            )
        items[item.id], lines[item.id] = item, line
    return [items[i] for i in sorted(items)]


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            row = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise WrongUse(f"The registry {path}, line {line}: no JSON ({error}). Each line must be one object.") from error
        if not isinstance(row, dict):
            raise WrongUse(f"The registry {path}, line {line}: not an object. Each line must be one object with `id` and `name`.")
        yield line, row


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), dialect="excel-tab" if path.suffix.lower() == ".tsv" else "excel", strict=True)
    try:
        missing = [f for f in ("id", "name") if f not in (reader.fieldnames or [])]
        if missing:
            raise WrongUse(
                f"The registry {path}, line 1: no column `{missing[0]}`. The head row must name the columns: {', '.join(_FIELDS)}."
            )
        for row in reader:
            if None in row:
                raise WrongUse(
                    f"The registry {path}, line {reader.line_num}: more fields than columns. Put quotes around a text that holds a comma."
                )
            aliases = [a.strip() for a in re.split(r"[|;]", row.get("aliases") or "") if a.strip()]
            yield reader.line_num, {**row, "aliases": aliases}
    except csv.Error as error:
        raise WrongUse(
            f"The registry {path}, line {reader.reader.line_num}: {error}. Save it as CSV with commas and double quotes."
        ) from error


def _item(where: str, row: dict[str, Any]) -> Item:
    values: dict[str, str] = {}
    for field in ("id", "name", "type", "description", "wikidata_id"):
        value = row.get(field)
        if value is not None and not isinstance(value, str):
            raise WrongUse(f"{where}: `{field}` is {value!r}, not a text.")
        values[field] = (value or "").strip()
    for field in ("id", "name"):
        if not values[field]:
            raise WrongUse(f"{where}: `{field}` is missing or empty.")
    aliases = row.get("aliases") or []
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
        found = {item.id: item for name in names for item in self._by_key.get(normalise(name), ())}
        return [found[i] for i in sorted(found)]

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
