"""Judgements: what people have decided, kept by names and not by ids, so that they outlive every re-run and every model."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from typing import Any

from sqlalchemy import Column, Connection, Table, Text, delete, select

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.store.tables import Json, delete_where_in, insert_rows, metadata
from polyonym.ingest.text.documents import content_hash
from polyonym.resolution.linking.knowledge_base import QID
from polyonym.resolution.linking.links import Link
from polyonym.resolution.within_document.document_entities import DocumentEntity, DocumentEntityKey


@dataclass(frozen=True)
class Constraints:
    """What people have judged, in terms of within-document entities: pairs that must, and pairs that must not, be one thing."""

    same: frozenset[tuple[tuple[str, str], tuple[str, str]]] = frozenset()
    different: frozenset[tuple[tuple[str, str], tuple[str, str]]] = frozenset()


KINDS = ("same", "different", "link", "split", "rename")
PART = " §"  # a name's split-off part is the name, this mark and a number


@dataclass(frozen=True)
class Reference:
    """What a judgement speaks of: a normalised name, everywhere or in some documents, of one mention, or of one item only."""

    name: str
    document: str | None = None
    ordinal: int | None = None
    item: str | None = None  # registry or Wikidata id
    also: tuple[str, ...] = ()  # further documents, for one of several things that bear the name

    def __str__(self) -> str:
        documents = f" @ {', '.join((self.document, *self.also))}" if self.document else ""
        text = self.name + documents + (f" #{self.ordinal}" if self.ordinal is not None else "")
        return text + (f" [{self.item}]" if self.item else "")

    def covers(self, other: "Reference") -> bool:
        """Whether all that `other`, a reference to one document or to all, speaks of is spoken of here."""
        return self.means(other.name, other.document) and self.item in (None, other.item)

    def means(self, name: str, document: str | None) -> bool:
        """Whether this name of this document (None: of all) is spoken of, whatever its item."""
        return self.name == name and (self.document in (None, document) or document in self.also)

    def replaces(self, other: "Reference") -> bool:
        """Whether a second word on this takes the place of a first on `other`: the same name everywhere, or in all its documents."""
        if self.document is None or other.document is None:
            return replace(self, also=()) == replace(other, also=())
        return all(self.means(r.name, r.document) for r in other.by_document())

    def by_document(self) -> "list[Reference]":
        """References to one document each that together speak of the same."""
        return [replace(self, document=d, also=()) for d in (self.document, *self.also)]


@dataclass(frozen=True)
class Judgement:
    """One judgement. `others` is the second side (same, different) or the mentions split off (split); `value` holds the
    Wikidata id of a link ("" for: no link) or the new name of a rename."""

    kind: str
    subject: Reference
    others: tuple[Reference, ...] = ()
    value: str = ""
    note: str = ""
    who: str = ""
    when: str = ""

    @property
    def judgement(self) -> str:
        """The judgement's id: made from what it says, so that importing it twice changes nothing."""
        sides = (
            sorted([str(self.subject), *map(str, self.others)])
            if self.kind in ("same", "different")
            else [str(self.subject), *map(str, self.others)]
        )
        return "j" + content_hash(self.kind, *sides, self.value)[:9]

    def __str__(self) -> str:
        if self.kind in ("same", "different"):
            return f"{self.subject} {'=' if self.kind == 'same' else '≠'} {self.others[0]}"
        if self.kind == "link":
            return f"{self.subject} → {self.value or 'no item'}"
        if self.kind == "rename":
            return f"{self.subject} is called {self.value}"
        return f"{self.subject} without {', '.join(map(str, self.others))}"


judgements = Table(
    "judgements",
    metadata,
    Column("judgement", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("subject", Json, nullable=False),
    Column("others", Json, nullable=False),
    Column("value", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("made", Text, nullable=False),
)


def load(connection: Connection) -> list[Judgement]:
    """All judgements, sorted by id."""
    return [
        Judgement(row.kind, _reference(row.subject), tuple(map(_reference, row.others)), row.value, row.note, row.who, row.made)
        for row in connection.execute(select(judgements).order_by(judgements.c.judgement))
    ]


def save(connection: Connection, *made: Judgement) -> None:
    """Keep judgements; those that say the same are replaced."""
    rows = [
        {
            "judgement": j.judgement,
            "kind": j.kind,
            "subject": asdict(j.subject),
            "others": [asdict(o) for o in j.others],
            "value": j.value,
            "note": j.note,
            "who": j.who,
            "made": j.when,
        }
        for j in made
    ]
    delete_where_in(connection, judgements.c.judgement, [row["judgement"] for row in rows])
    insert_rows(connection, judgements, rows)


def forget(connection: Connection, judgement_id: str) -> bool:
    """Take a judgement back; False when there is none of this id."""
    return bool(connection.execute(delete(judgements).where(judgements.c.judgement == judgement_id)).rowcount)


def to_json(judgement: Judgement) -> dict[str, Any]:
    """The form in which judgements are exported."""
    return {"judgement": judgement.judgement} | asdict(judgement)


def from_json(row: Any) -> Judgement:
    """Read the exported form. Raises WrongUse when it is none."""
    try:
        if not isinstance(row, Mapping):
            raise ValueError("it is no object")
        if row["kind"] not in KINDS:
            raise ValueError(f"kind {row['kind']!r} is none of {', '.join(KINDS)}")
        others = tuple(map(_reference, row.get("others", ())))
        if row["kind"] in ("same", "different") and len(others) != 1:
            raise ValueError("it needs exactly one other side")
        texts = {k: row.get(k) or "" for k in ("value", "note", "who", "when")}
        if odd := [k for k, text in texts.items() if not isinstance(text, str)]:
            raise ValueError(f"{odd[0]} is no text")
        if row["kind"] == "link" and texts["value"] and not QID.fullmatch(texts["value"]):
            raise ValueError(f"{texts['value']!r} is no Wikidata id")
        if row["kind"] == "rename" and not texts["value"].strip():
            raise ValueError("the new name is empty")
        return Judgement(row["kind"], _reference(row["subject"]), others, **texts)
    except (KeyError, TypeError, ValueError) as error:
        raise WrongUse(f"This is no judgement: {row!r} ({error}). Export some to see the form: polyonym judgements export") from error


def _reference(row: Mapping[str, Any]) -> Reference:
    """Read a reference. Raises TypeError or ValueError when it is none."""
    reference = Reference(**{**row, "also": tuple(row.get("also", ()))})
    kinds = {"name": str, "document": str | None, "ordinal": int | None, "item": str | None}
    if odd := [k for k, kind in kinds.items() if not isinstance(getattr(reference, k), kind)]:
        raise ValueError(f"the {odd[0]} {getattr(reference, odd[0])!r} is of the wrong type")
    if not reference.name or not all(isinstance(d, str) for d in reference.also):
        raise ValueError("a name is empty, or a document's name is no text")
    return reference


def spoken_of(judgement: Judgement) -> list[Reference]:
    """References to one document each, or to all, that together are what a judgement speaks of; of a rename none, it binds nothing."""
    if judgement.kind == "split":
        names = sorted({o.name for o in judgement.others})
        return [Reference(name) for whole in names for name in (whole, part_name(whole, judgement))]
    return [r for side in (judgement.subject, *judgement.others) for r in side.by_document()] if judgement.kind != "rename" else []


class LinkJudgements:
    """What is judged of links, by the names that they are of."""

    def __init__(self, known: Iterable[Judgement]):
        self._everywhere: dict[str, Judgement] = {}
        self._in_document: dict[tuple[str, str], Judgement] = {}
        for link in sorted((j for j in known if j.kind == "link"), key=lambda j: (j.when, j.judgement)):
            for place in link.subject.by_document():
                if place.document is None:
                    self._everywhere[place.name] = link
                else:
                    self._in_document[place.name, place.document] = link

    def of(self, name: str, document: str | None) -> Judgement | None:
        """The judgement that counts for the link of a document's name (for None: of the name in general), None when there is none.

        One for the document counts before one for all, and the later before the earlier.
        """
        own = self._in_document.get((name, document)) if document is not None else None
        return own or self._everywhere.get(name)

    def applied(self, links: Iterable[Link]) -> Iterator[Link]:
        """The links as judged: a person's word replaces what the weights say."""
        for link in links:
            judged = self.of(link.name, link.document)
            yield _as_judged(link, judged.value or None) if judged else link


def _as_judged(link: Link, item: str | None) -> Link:
    return replace(
        link,
        candidate=item or link.candidate,
        wikidata_id=item,
        registry_id=link.registry_id if item else None,
        confidence=1.0 if item else link.confidence,
        verdict="link" if item else "nil",
        named=bool(item),  # what a person says joins documents whatever the item is called
    )


def split_names(known: Iterable[Judgement]) -> dict[tuple[str, str, int], str]:
    """For each mention (document, name, ordinal) that a split takes out of its name, the name it gets instead; the latest split counts."""
    parts: dict[tuple[str, str, int], str] = {}
    for judgement in sorted((j for j in known if j.kind == "split"), key=lambda j: (j.when, j.judgement)):
        for mention in judgement.others:
            if mention.document is not None and mention.ordinal is not None:
                parts[(mention.document, mention.name, mention.ordinal)] = part_name(mention.name, judgement)
    return parts


def part_name(name: str, split: Judgement) -> str:
    """The name that mentions of a name get which a judgement splits off."""
    return f"{name}{PART}{split.judgement}"


def whole_name(name: str) -> str:
    """The name without the mark of a split-off part."""
    return name.split(PART, 1)[0]


def is_part(name: str) -> bool:
    """Whether a name is that of a split-off part. What the whole name is linked to says nothing of it."""
    return PART in name


def touched_names(judgement: Judgement) -> set[str]:
    """The names whose documents have to be decided again when this judgement comes or goes."""
    return {judgement.subject.name, *(r.name for r in spoken_of(judgement))}


def judged_links(known: Iterable[Judgement], links: Iterable[Link]) -> list[Link]:
    """The links as judged: a person's word replaces what the weights say."""
    return list(LinkJudgements(known).applied(links))


def keys_by_name(known: Iterable[Judgement]) -> dict[str, set[str]]:
    """For every (whole) name that a judgement of two sides speaks of, the keys that bring both sides into one block."""
    keys: dict[str, set[str]] = defaultdict(set)
    for judgement in known:
        if judgement.kind in ("same", "different", "split"):
            for reference in (judgement.subject, *judgement.others):
                keys[whole_name(reference.name)].add(f"judgement:{judgement.judgement}")
    return keys


def opposites(known: Iterable[Judgement]) -> dict[str, list[tuple[Reference, Reference]]]:
    """For every name that is judged different from something, the references to it, each with what it is different from."""
    of_name: dict[str, list[tuple[Reference, Reference]]] = defaultdict(list)
    for judgement in known:
        if judgement.kind == "different":
            for a, b in permutations((judgement.subject, judgement.others[0])):
                of_name[a.name].append((a, b))
    return of_name


def constraints(known: Iterable[Judgement], document_entities: Sequence[DocumentEntity]) -> Constraints:
    """What the judgements say of these within-document entities."""
    document_entities_of = _finder(document_entities)
    same, different = set(), set()
    for judgement in known:
        if judgement.kind in ("same", "different"):
            left, right = document_entities_of(judgement.subject), document_entities_of(judgement.others[0])
        elif judgement.kind == "split":
            wholes = sorted({o.name for o in judgement.others})
            left = sorted({u for whole in wholes for u in document_entities_of(Reference(part_name(whole, judgement)))})
            right = sorted({u for whole in wholes for u in document_entities_of(Reference(whole))})
            same |= {(left[0], other) for other in left[1:]}
        else:
            continue
        if judgement.kind == "same":
            # Both ways round, so that one within-document entity that may not be joined keeps only itself out.
            same |= {(left[0], other) for other in [*left[1:], *right] if left and right and other != left[0]}
            same |= {(right[0], other) for other in left[1:] if right and other != right[0]}
        else:
            different |= {(a, b) for a in left for b in right if a != b}
    return Constraints(frozenset(same), frozenset(different))


def sides(
    judged: Iterable[Judgement], document_entities: Sequence[DocumentEntity]
) -> Iterator[tuple[Judgement, tuple[list[DocumentEntityKey], list[DocumentEntityKey]]]]:
    """Each of these judgements of two sides, with the keys of the within-document entities that the one and the other speak of."""
    document_entities_of = _finder(document_entities)
    for judgement in judged:
        yield judgement, (document_entities_of(judgement.subject), document_entities_of(judgement.others[0]))


def _finder(document_entities: Sequence[DocumentEntity]) -> Callable[[Reference], list[DocumentEntityKey]]:
    """A function that gives the sorted keys of those of these within-document entities that a reference speaks of."""
    by_name: dict[str, list[DocumentEntity]] = defaultdict(list)
    by_place: dict[tuple[str, str], list[DocumentEntity]] = defaultdict(list)
    for document_entity in document_entities:
        for name in document_entity.names:
            by_name[name.name].append(document_entity)
            by_place[name.name, document_entity.document].append(document_entity)

    def document_entities_of(reference: Reference) -> list[DocumentEntityKey]:
        near = [
            u
            for r in reference.by_document()
            for u in (by_name.get(r.name, ()) if r.document is None else by_place.get((r.name, r.document), ()))
        ]
        return sorted({u.key for u in near if reference.item in (None, u.wikidata_id, u.registry_id)})

    return document_entities_of


class Renames:
    """The names that people have given to things, by the names that these have in documents."""

    def __init__(self, known: Iterable[Judgement]):
        self._latest: dict[tuple[str, str | None], tuple[int, str]] = {}  # by (name, document or None for all): place in time, new name
        for i, judgement in enumerate(sorted((j for j in known if j.kind == "rename"), key=lambda j: (j.when, j.judgement))):
            for place in judgement.subject.by_document():
                self._latest[place.name, place.document] = (i, judgement.value)

    def of(self, parts: Iterable[tuple[str, str]]) -> str | None:
        """The last name that a person has given to the entity of these (document, name) parts, None when nobody has given any."""
        keys = ((name, d) for document, name in parts for d in (document, None)) if self._latest else ()
        return max((self._latest[key] for key in keys if key in self._latest), default=(0, None))[1]
