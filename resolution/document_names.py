"""Names inside one document: its mentions under their normalised names, and which names stand for one thing there.

A document rarely uses one name for two things, so what it says in full decides what its short forms mean: a surname, an acronym,
a shortened organisation's name, "the Court". This is worth more than all that is done across documents.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Protocol

from rapidfuzz.distance import OSA
from sqlalchemy import Column, Connection, Integer, Table, Text, select

from ingest.documents import Document
from ingest.state import Json, delete_where_in, insert_rows, metadata, select_where_in
from resolution.entity_types import majority
from resolution.name_tables import squash, words
from resolution.names import (
    is_generic,
    is_given_name,
    is_known_word,
    normalise,
    person_parts,
    region_of,
    same_given_name,
)
from resolution.units import DocumentName


class Mention(Protocol):
    """What grouping needs of a mention (see ingest.mentions)."""

    @property
    def document(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def label(self) -> str: ...


@dataclass(frozen=True)
class MentionName:
    """Under which name of its document a mention goes, and as the how-manieth mention of that name (from 0, in reading order)."""

    document: str
    start: int
    end: int
    name: str
    ordinal: int


document_names = Table(
    "document_names",
    metadata,
    Column("document", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("group", Text, nullable=False),
    Column("surfaces", Json, nullable=False),
    Column("labels", Json, nullable=False),
    Column("rule", Text, nullable=False),
    Column("evidence", Json, nullable=False),
)

mention_names = Table(
    "mention_names",
    metadata,
    Column("document", Text, primary_key=True),
    Column("start", Integer, primary_key=True),
    Column("end", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("ordinal", Integer, nullable=False),
)


@dataclass
class _Name:
    """A normalised name while its document is being grouped."""

    name: str
    spans: list[tuple[int, int]] = field(default_factory=list)
    surfaces: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    owner: str | None = None
    rule: str = ""
    evidence: tuple[tuple[int, int], ...] = ()

    @property
    def count(self) -> int:
        return len(self.spans)

    @property
    def type(self) -> str:
        return majority(self.labels)

    @property
    def tokens(self) -> list[str]:
        return self.name.split()

    @property
    def is_acronym(self) -> bool:
        return all(_ACRONYM.fullmatch(s) for s in self.surfaces)

    @property
    def is_full_person(self) -> bool:
        """A person's name with a given name that we know, or that the document says more than once."""
        parts = person_parts(self.name)
        if parts is None or self.labels["PERSON"] * 2 < self.count:
            return False
        first = parts.given[0]
        return is_given_name(first) or len(first) <= 2 or self.count > 1


_ACRONYM = re.compile(r"(?:the )?(?=(?:.*[A-Z]){2})[A-Z][A-Za-z]?[A-Z&.0-9]{0,8}s?(?:['’]s?)?")
_IN_BRACKETS = re.compile(r"\s*[(<\[]\s*(?:the\s+)?(?:[A-Za-z ]{2,20}:\s*)?[\"“']?([A-Z][\w&.\-]{0,11})[\"”']?\s*[)>\],;]")
_ALIAS_BETWEEN = re.compile(
    r"[\s,(\"“']*(?:(?:also|formerly|previously|better|now|originally|commonly|once)\s+)*(?:known|called|named|referred to)\s+as\s+(?:the\s+)?[\"“']?"
    r"|[\s,(\"“']*(?:a\.?k\.?a\.?|alias|formerly|n[ée]e|born)\s+(?:the\s+)?[\"“']?",
    re.IGNORECASE,
)
_SMALL = frozenset({"of", "the", "and", "for", "in", "on", "de", "la", "et", "du", "des", "und", "&", "at", "to", "a"})


def group(document: Document, mentions: Sequence[Mention]) -> tuple[list[DocumentName], list[MentionName]]:
    """The document's names with the group that each belongs to, and each mention's name. Both sorted; pure.

    Mentions of other documents must not be among `mentions`; of several with one span the first counts.
    """
    ordered = sorted({(m.start, m.end): m for m in reversed(mentions)}.values(), key=lambda m: (m.start, -m.end))
    names, of_mention = _named(document.text, ordered)
    grouping = _Grouping(document.text, names)
    for rule in _RULES:
        rule(grouping)
    return _rows(document.document, names, grouping), of_mention(document.document)


def _named(text: str, mentions: Sequence[Mention]) -> tuple[dict[str, _Name], Callable[[str], list[MentionName]]]:
    labels: dict[str, Counter[str]] = {}
    for m in mentions:
        labels.setdefault(m.text.casefold(), Counter())[m.label] += 1
    starts = {m.start: m for m in reversed(mentions)}
    names: dict[str, _Name] = {}
    rows: list[tuple[int, int, str, int]] = []
    for m in mentions:
        mine = labels[m.text.casefold()]
        name = normalise(m.text, person=mine["PERSON"] * 2 > mine.total())
        region = _region_after(text, m, starts)
        if region and "," not in name and region != name:
            name = f"{name}, {region}"
        entry = names.setdefault(name, _Name(name))
        rows.append((m.start, m.end, name, entry.count))
        entry.spans.append((m.start, m.end))
        entry.surfaces[m.text] += 1
        entry.labels[m.label] += 1
    return names, lambda document: [MentionName(document, *row) for row in rows]


def _region_after(text: str, mention: Mention, starts: dict[int, Mention]) -> str | None:
    """The state or country right after a place's name, unless both stand in a list of places."""
    between = re.compile(r",\s+").match(text, mention.end)
    follower = starts.get(between.end()) if between else None
    if follower is None or mention.label not in ("GPE", "LOC", "FAC", "PLACE") or region_of(mention.text):
        return None
    region = region_of(follower.text)
    in_list = re.compile(r",\s+(?:and\s+)?[A-Z]|\s+and\s+[A-Z]").match(text, follower.end)
    return None if in_list else region


class _Grouping:
    """Which name of the document stands under which other, while the rules run. A name has at most one owner; no circles."""

    def __init__(self, text: str, names: dict[str, _Name]):
        self.text = text
        self.names = names
        self.in_order = sorted(names.values(), key=lambda n: (n.spans[0], n.name))

    def root(self, name: str) -> str:
        while (owner := self.names[name].owner) is not None:
            name = owner
        return name

    def free(self) -> Iterator[_Name]:
        """Names that have no owner yet, in reading order."""
        return (n for n in self.in_order if n.owner is None)

    def attach(self, short: _Name, owner: _Name, rule: str, *evidence: tuple[int, int]) -> None:
        if short.owner is None and self.root(owner.name) != short.name:
            short.owner, short.rule = owner.name, rule
            short.evidence = evidence or (short.spans[0], owner.spans[0])

    def attach_to_best(self, short: _Name, owners: Iterable[_Name], rule: str) -> None:
        """To the only owner, or of several to the one with most mentions, then the first."""
        best = min(owners, key=lambda o: (-o.count, o.spans[0]), default=None)
        if best is not None:
            self.attach(short, best, rule)


def _aliases_in_text(g: _Grouping) -> None:
    """ "Long Name (ABBR)", "Firm Corp <TICK>", "A, formerly known as B": the text itself says it."""
    by_surface = {s: n for n in g.in_order for s in n.surfaces}
    spans = sorted((span, n) for n in g.in_order for span in n.spans)
    for i, ((start, end), name) in enumerate(spans):
        found = _IN_BRACKETS.match(g.text, end)
        if found:
            short = by_surface.get(found[1]) or g.names.get(normalise(found[1]))
            listed = ":" in found[0] or "<" in found[0]
            if short and short is not name and (listed or abbreviates(found[1], name.surfaces)):
                g.attach(short, name, "alias", (start, found.end()))
        if i + 1 < len(spans):
            (next_start, next_end), other = spans[i + 1]
            between = g.text[end:next_start]
            if other is name or next_start < end or len(between) > 60:
                continue
            if _ALIAS_BETWEEN.fullmatch(between) or (between.strip() == "(" and abbreviates(max(name.surfaces), other.surfaces)):
                short, full = (name, other) if len(name.name) < len(other.name) else (other, name)
                g.attach(short, full, "alias", (start, next_end))


def abbreviates(short: str, surfaces: Iterable[str]) -> bool:
    """Whether `short` is made of the initials of a surface, or of letters of its words in order, beginning with its first letter."""
    letters = squash(short)
    for surface in surfaces:
        if len(letters) > 1 and letters in initials(surface):
            return True
        rest = iter(squash(surface))
        words_ = surface.split()
        if (
            len(words_) > 1
            and len(letters) > 1
            and letters[0] == squash(words_[0])[:1]
            and all(c in rest for c in letters)
            and len(letters) <= 2 * len(words_) + 1
        ):
            return True
    return False


def initials(surface: str) -> set[str]:
    """The initials of a name's words: of all, without small words, with and without a legal form."""
    found = set()
    for form in (surface, normalise(surface)):
        tokens = [t for t in re.split(r"[\s\-/]+", form.replace(".", ". ")) if squash(t)]
        if tokens and tokens[0].lower() in ("the", "a", "an"):
            tokens = tokens[1:]
        for kept in (tokens, [t for t in tokens if t.lower() not in _SMALL]):
            if len(kept) > 1:
                found.add("".join(squash(t)[0] for t in kept))
    return found


def _acronyms(g: _Grouping) -> None:
    """Initials both ways, where just one long name of the document has them."""
    long = [n for n in g.in_order if len(n.tokens) > 1 and not n.is_full_person]
    by_initials: dict[str, list[_Name]] = {}
    for n in long:
        for letters in sorted({i for s in n.surfaces for i in initials(s)}):
            by_initials.setdefault(letters, []).append(n)
    for short in g.free():
        letters = squash(max(short.surfaces)).removesuffix("s") if short.is_acronym else ""
        owners = by_initials.get(squash(short.name), []) or by_initials.get(letters, []) if letters else []
        if len({g.root(o.name) for o in owners}) == 1 and len(short.tokens) == 1:
            if len(letters) > 2 or (short.type == "ORG" and owners[0].type == "ORG"):
                g.attach(short, owners[0], "acronym")


def _persons(g: _Grouping) -> None:
    """Full name → the same with fewer names, then surname or given name, with guards against companies and headlines."""
    full = [n for n in g.in_order if n.is_full_person]
    by_last: dict[str, list[_Name]] = {}
    by_first: dict[str, list[_Name]] = {}
    for n in full:
        parts = person_parts(n.name)
        assert parts is not None
        by_last.setdefault(parts.last, []).append(n)
        by_first.setdefault(parts.given[0], []).append(n)
    for n in full:
        parts = person_parts(n.name)
        assert parts is not None
        longer = [o for o in by_last[parts.last] if o is not n and _fuller(o.name, n.name)]
        if longer:
            g.attach_to_best(n, longer, "fuller name")
    starts_org = {n.tokens[0] for n in g.in_order if len(n.tokens) > 1 and n.type == "ORG"}
    for short in g.free():
        tokens = short.tokens
        if person_parts(short.name) is not None and short in full:
            continue
        if short.type == "ORG" and tokens[0] in starts_org:
            continue
        last = [o for o in by_last.get(tokens[-1], []) if o is not short and _is_suffix(tokens, o.name)]
        if last:
            g.attach_to_best(short, last, "surname")
            continue
        if short.type != "PERSON" and not is_given_name(tokens[0]):
            continue
        first = [o for o in by_first.get(tokens[0], []) if o is not short and o.tokens[: len(tokens)] == tokens]
        if not first and len(tokens) == 1 and short.type == "PERSON":
            first = [
                o
                for given, owners in by_first.items()
                if same_given_name(given, tokens[0]) and len(tokens[0]) > 1
                for o in owners
                if o is not short
            ]
            if len({g.root(o.name) for o in first}) > 1:
                first = []
        g.attach_to_best(short, first, "given name")


def _fuller(longer: str, shorter: str) -> bool:
    """Whether one full name is another with more of its given names, or with them spelled out."""
    a, b = person_parts(longer), person_parts(shorter)
    if a is None or b is None or a.last != b.last or (a.suffix and b.suffix and a.suffix != b.suffix):
        return False
    if len(longer) < len(shorter) or (len(longer) == len(shorter) and longer < shorter):
        return False
    if not same_given_name(a.given[0], b.given[0]):
        return False
    rest = iter(a.given[1:])
    return all(any(same_given_name(x, y) for x in rest) for y in b.given[1:])


def _is_suffix(tokens: list[str], name: str) -> bool:
    parts = person_parts(name)
    return parts is not None and len(tokens) < len(name.split()) and parts.words[-len(tokens) :] == tuple(tokens)


def _organisations(g: _Grouping) -> None:
    """Toyota ← Toyota Motor: what is left off must be in the closed list of tails, and a place keeps its own name."""
    tails = words("org_tails.txt")
    for short in g.free():
        if is_generic(short.name) or short.type == "PLACE" or region_of(short.name):
            continue
        owners = [
            o
            for o in g.in_order
            if len(o.tokens) > len(short.tokens)
            and o.tokens[: len(short.tokens)] == short.tokens
            and set(o.tokens[len(short.tokens) :]) <= tails
        ]
        g.attach_to_best(short, owners, "short form")


def _spellings(g: _Grouping) -> None:
    """Spaces and hyphens, plural forms, slips of the pen."""
    free = list(g.free())
    by_squash: dict[str, list[_Name]] = {}
    for n in free:
        by_squash.setdefault(squash(n.name), []).append(n)
    for same in by_squash.values():
        for n in same[1:]:
            g.attach(n, same[0], "spelling")
    for n in g.free():
        singular = g.names.get(n.name.removesuffix("s")) if len(n.name) > 4 and not n.is_acronym else None
        if singular and singular is not n and singular.type not in ("PERSON",) and n.type == singular.type:
            g.attach(n, singular, "plural")
    free = [n for n in g.free() if len(n.name) >= 6]
    for i, a in enumerate(free):
        for b in free[i + 1 :]:
            if abs(len(a.name) - len(b.name)) <= 2 and is_slip(a.name, b.name):
                rarer, other = (a, b) if (a.count, -a.spans[0][0]) < (b.count, -b.spans[0][0]) else (b, a)
                g.attach(rarer, other, "slip")


def is_slip(a: str, b: str) -> bool:
    """Whether two names differ by a slip of the pen: one edit (two in long words) in one word, of which one spelling is no word or name
    that we know. Two known names (Joan and John, Austria and Australia) are two names.
    """
    left, right = a.split(), b.split()
    if len(left) != len(right):
        return False
    unequal = [(x, y) for x, y in zip(left, right, strict=True) if x != y]
    if len(unequal) != 1:
        return False
    x, y = unequal[0]
    size = min(len(x), len(y))
    if size < 5 or any(c.isdigit() for c in x + y) or x[0] != y[0] or x + "s" == y or y + "s" == x:
        return False
    if is_known_word(x) and is_known_word(y):
        return False
    return OSA.distance(x, y, score_cutoff=2) <= (2 if size >= 9 else 1)


def _generic_heads(g: _Grouping) -> None:
    """ "the Court" → the longer name that ends or begins with it."""
    for short in g.free():
        if not is_generic(short.name):
            continue
        ends = [o for o in g.in_order if len(o.tokens) > len(short.tokens) and o.tokens[-len(short.tokens) :] == short.tokens]
        begins = [o for o in g.in_order if o.name.startswith(short.name + " of ")]
        g.attach_to_best(short, [o for o in (ends or begins) if o.type != "PERSON"], "generic head")


def _regions(g: _Grouping) -> None:
    """ "Cambridge" → "Cambridge, Massachusetts", when the document names one region only."""
    for short in g.free():
        owners = [o for o in g.in_order if o.name.startswith(short.name + ", ")]
        if len(owners) == 1:
            g.attach(short, owners[0], "region")


_RULES: tuple[Callable[[_Grouping], None], ...] = (
    _aliases_in_text,
    _acronyms,
    _persons,
    _organisations,
    _spellings,
    _generic_heads,
    _regions,
)


def _rows(document: str, names: dict[str, _Name], grouping: _Grouping) -> list[DocumentName]:
    return [
        DocumentName(
            document,
            n.name,
            grouping.root(n.name),
            dict(sorted(n.surfaces.items())),
            dict(sorted(n.labels.items())),
            n.rule,
            n.evidence or (n.spans[0],),
        )
        for n in sorted(names.values(), key=lambda n: n.name)
    ]


def replace(connection: Connection, documents: Sequence[str], names: Iterable[DocumentName], mentions: Iterable[MentionName]) -> None:
    """Store the names and the mentions' names of these documents in place of what they held before."""
    delete_where_in(connection, document_names.c.document, documents)
    delete_where_in(connection, mention_names.c.document, documents)
    insert_rows(connection, document_names, (asdict(n) for n in names))
    insert_rows(connection, mention_names, (asdict(m) for m in mentions))


def load(connection: Connection, documents: Sequence[str] | None = None) -> Iterator[DocumentName]:
    """The names of these documents (of all without), sorted within batches."""
    statement = select(document_names).order_by(document_names.c.document, document_names.c.name)
    for row in (
        connection.execute(statement) if documents is None else select_where_in(connection, statement, document_names.c.document, documents)
    ):
        values = dict(row._mapping)
        yield DocumentName(**{**values, "evidence": tuple((a, b) for a, b in values["evidence"])})


def load_mentions(connection: Connection, documents: Sequence[str] | None = None) -> Iterator[MentionName]:
    """The mentions' names of these documents (of all without), sorted within batches."""
    statement = select(mention_names).order_by(mention_names.c.document, mention_names.c.start, mention_names.c.end)
    for row in (
        connection.execute(statement) if documents is None else select_where_in(connection, statement, mention_names.c.document, documents)
    ):
        yield MentionName(**row._mapping)
