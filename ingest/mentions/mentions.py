"""Mentions: the places in a document where something is named."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Integer, Row, Table, Text, select

from polyonym.ingest.mentions.addresses import addresses, named_addresses
from polyonym.ingest.mentions.boundaries import degree_spans, is_junk, may_be_name, mend, split, titles_before, whole_number
from polyonym.ingest.mentions.casing import recased, true_case
from polyonym.ingest.mentions.gazetteer import Matcher, Word, words
from polyonym.ingest.mentions.pipelines import Pipelines, pipeline_version
from polyonym.ingest.mentions.recognition import Recognition, read, recognise
from polyonym.ingest.mentions.records import ROLE, fields
from polyonym.ingest.mentions.word_lists import word_list
from polyonym.ingest.store import fingerprint
from polyonym.ingest.store.tables import Json, delete_where_in, insert_rows, metadata, select_where_in
from polyonym.ingest.text.common_words import is_common
from polyonym.ingest.text.definitions import definitions, named_by
from polyonym.ingest.text.documents import Document
from polyonym.ingest.text.encoded import machine_spans
from polyonym.ingest.text.passages import Passage, passages
from polyonym.ingest.text.sentences import Span, unaltered, viewed_sentences
from polyonym.ingest.text.view import View, view_of

UNKNOWN = "OTHER"
"""The label of a name that was found by its tags alone and never by a recogniser."""

LABELS = ("PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE", "PER", "MISC", UNKNOWN)
"""The labels that become mentions by default: all kinds of names, no numbers, no times."""


@dataclass(frozen=True)
class Mention:
    """`text` is the document's text[start:end]; the sentence's span holds the mention's. Offsets are code points.

    `name` is the text as a reader sees it: on one line, divided words joined, without invisible characters (see ingest.text.view).
    `title` are the titles right before it, which are no part of it ("Mrs.", "former Prime Minister" without "former").
    `detectors` says who found it, sorted: "ner:PIPELINE" (a recogniser), "run" (proper-noun tags; "run:PIPELINE" of a second
    pipeline), "address" (a display name before an e-mail address), "definition" (a term that the text defines), "repeat" (a name found
    elsewhere in the document), "surname" (of a person found there), "pattern" (given by the user), "column" (said by the name of a
    table's column).
    """

    document: str
    start: int
    end: int
    text: str
    label: str
    sentence_start: int
    sentence_end: int
    detectors: tuple[str, ...]
    name: str = ""
    title: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.text)


mentions = Table(
    "mentions",
    metadata,
    Column("document", Text, primary_key=True),
    Column("start_at", Integer, primary_key=True),
    Column("end_at", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("sentence_start", Integer, nullable=False),
    Column("sentence_end", Integer, nullable=False),
    Column("detectors", Json, nullable=False),
    Column("name", Text, nullable=False),
    Column("title", Text, nullable=False),
    info={"owners": ("document",)},
)


@dataclass(frozen=True)
class Layout:
    """A document's view with its sentences, and its passages with what the recognisers are asked; offsets count in the view's text.

    `text` is the view's, in English with capitals as in a sentence (see polyonym.ingest.mentions.casing).
    """

    view: View
    text: str
    sentences: list[Span]
    passages: list[Passage]


def layout(document: Document) -> Layout:
    """Where the document's sentences and passages lie."""
    view = view_of(document.text)
    spans = viewed_sentences(view.text, document.language)
    text = true_case(view.text) if document.language == "en" else view.text
    return Layout(view, text, spans, passages(text, spans))


def model_name(pipeline: str) -> str:
    """Under what name a pipeline's outputs are kept (see polyonym.ingest.store.model_outputs). Raises WrongUse when it is not installed."""
    code = fingerprint.of_code("ingest/mentions/recognition.py")
    return f"recognise:{code}:{pipeline_version(pipeline)}"


def recognise_missing(
    documents: Sequence[tuple[Document, Layout]], pipeline: str, kept: Mapping[str, bytes], pipelines: Pipelines
) -> dict[str, bytes]:
    """Run a pipeline over those passages of `documents` whose payloads are not in `kept`; returns the new payloads by content."""
    texts = {p.content: where.text[p.start : p.end] for _, where in documents for p in where.passages if p.content not in kept}
    return dict(zip(texts, pipelines.run(recognise, pipeline, list(texts.values())), strict=True))


@dataclass(frozen=True)
class Recogniser:
    """A pipeline's payloads by the content of passages, under the name that detectors carry."""

    name: str
    payloads: Mapping[str, bytes]


def find_mentions(
    document: Document,
    where: Layout,
    first: Recogniser,
    second: Recogniser | None = None,
    patterns: Matcher | None = None,
    labels: Sequence[str] = LABELS,
) -> list[Mention]:
    """The document's mentions, in order, none overlapping another.

    One recogniser: its spans, mended, plus guarded runs of proper-noun tags that it passed over. With a second one, four
    voters (each one's spans and tags) and what two of them touch is kept, the second one's spans before the first one's.
    Then the patterns, of which the longest wins, and what was found once is found wherever it stands. The rules that rest on
    English spelling (runs, junk, lower-case edges) are for English alone. `labels` are those to keep; patterns are kept whatever theirs.
    """
    finder = _Finder(document, where, frozenset(labels))
    voters = [(first.name, _of_document(where, first))]
    if second is not None:
        voters.append((second.name, _of_document(where, second)))
    finder.add_recognised(voters)
    finder.add_addressed()
    if patterns is not None:
        finder.add_patterns(patterns)
    finder.add_defined_terms()
    finder.add_repeats()
    finder.add_known_in_headlines(patterns)
    finder.add_fields()
    return finder.result()


def _of_document(where: Layout, recogniser: Recogniser) -> Recognition:
    whole = Recognition([], [])
    for passage in where.passages:
        part = read(recogniser.payloads[passage.content]).moved(passage.start)
        whole.names.extend(part.names)
        whole.proper.extend(part.proper)
    return whole


@dataclass
class _Found:
    start: int
    end: int
    label: str
    detectors: set[str]


class _Finder:
    def __init__(self, document: Document, where: Layout, labels: frozenset[str]) -> None:
        self._document = document
        self._view = where.view
        self._text = where.text
        self._english = document.language == "en"
        self._labels = labels
        self._sentences = where.sentences
        self._starts = frozenset(s for s, _ in where.sentences)
        self._ends = frozenset(e for _, e in where.sentences)
        self._degrees = degree_spans(self._text) if self._english else []
        self._machine = machine_spans(self._text)
        self._numbers: list[Span] = []  # where a recogniser saw a date, a sum or the like
        self._found: list[_Found] = []  # sorted, never overlapping

    def add_recognised(self, voters: list[tuple[str, Recognition]]) -> None:
        needed = 1 if len(voters) == 1 else 2
        runs = [list(_runs(self._text, seen.proper, self._ends)) if self._english else [] for _, seen in voters]
        spans = [(name, list(self._mended(seen.names, of))) for (name, seen), of in zip(voters, runs, strict=True)]
        tags = [("run" if i == 0 else f"run:{name}", seen.proper) for i, (name, seen) in enumerate(voters)]
        self._numbers = sorted((s, e) for _, seen in voters for s, e, label in seen.names if label in _NUMBERS)
        voices = [(f"ner:{name}", [(s, e) for s, e, _ in of]) for name, of in spans] + tags
        for name, of in reversed(spans):
            for start, end, label in of:
                self._vote(start, end, label, {f"ner:{name}"}, voices if needed > 1 else [], needed)
        for (tag, _), tagged in zip(tags, runs, strict=True):
            for run in tagged:
                guarded = self._guarded_run(*run)
                if guarded is not None and not _touches(self._numbers, *guarded) and not _touches(self._degrees, *guarded):
                    self._vote(*guarded, UNKNOWN, {tag}, voices if needed > 1 else [], needed)

        if self._english:
            self._join()

    def _join(self) -> None:
        """Put together what belongs to one name: "Cor" and "Klugt" around "van der", "Merck" and "Co Inc" around "and", "20th" and
        "Armoured Brigade"."""
        joined: list[_Found] = []
        for candidate in self._found:
            gap = self._text[joined[-1].end : candidate.start] if joined and candidate.start - joined[-1].end < 16 else ""
            particles = _PARTICLES.fullmatch(gap) and "NORP" not in (joined[-1].label, candidate.label)
            if particles or (_AND.fullmatch(gap) and _PARTNERS.match(self._text, candidate.start)):
                joined[-1].end = candidate.end
                joined[-1].detectors |= candidate.detectors
            else:
                joined.append(candidate)
        self._found = joined
        for candidate in joined:
            ordinal = _ORDINAL.search(self._text, max(0, candidate.start - 6), candidate.start)
            several = " " in self._text[candidate.start : candidate.end]
            if (
                ordinal
                and several
                and candidate.label in ("ORG", "FAC", UNKNOWN)
                and not self._overlapping(ordinal.start(), candidate.start)
            ):
                candidate.start = ordinal.start()
            partners = _AND_PARTNERS.match(self._text, candidate.end)
            if partners and len(self._overlapping(candidate.start, partners.end())) == 1:
                candidate.end = partners.end()

    def _mended(self, names: Iterable[tuple[int, int, str]], runs: list[Span]) -> Iterator[tuple[int, int, str]]:
        for start, end, label in names:
            if label not in self._labels:
                continue
            for part in split(self._text, start, end, label, self._ends, self._english):
                span = mend(self._text, *part, self._starts, self._ends, self._english)
                if span is not None and not (self._english and self._is_junk(*span, label)):
                    yield span[0], self._institution_end(span[1], runs), label

    def _institution_end(self, end: int, runs: list[Span]) -> int:
        """Where a name ends that a recogniser cut short: "Guangzhou" in the run "Guangzhou Opera House"."""
        at = bisect_right(runs, end, key=lambda r: r[1])
        if at < len(runs) and runs[at][0] < end and self._text[end] == " ":
            rest = self._text[end : runs[at][1]].split()
            if len(rest) <= 3 and rest[-1] in word_list("institution"):
                return runs[at][1]
        return end

    def _is_junk(self, start: int, end: int, label: str) -> bool:
        name = self._text[start:end]
        if label not in ("GPE", "LOC", "PERSON") and _touches(self._degrees, start, end):
            return True
        return is_junk(name) or (start in self._starts and is_common(name, _VERY_COMMON))

    def _vote(self, start: int, end: int, label: str, detectors: set[str], voices: list[tuple[str, list[Span]]], needed: int) -> None:
        end = whole_number(self._text, start, end)
        detectors = detectors | {name for name, spans in voices if _touches(spans, start, end)}
        if not may_be_name(self._text[start:end]) or _touches(self._machine, start, end):
            return
        if len(detectors) >= needed and not self._overlapping(start, end):
            self._insert(_Found(start, end, label, detectors))

    def _guarded_run(self, start: int, end: int) -> Span | None:
        """A run without the titles before the name; None when only common words are left or nothing is written like a name."""
        span = mend(self._text, start, end, self._starts, self._ends, True)
        while span is not None:
            start, end = span
            first, _, rest = self._text[start:end].partition(" ")
            if rest and first in word_list("title"):
                span = mend(self._text, start + len(first), end, self._starts, self._ends, True)
                continue
            name = self._text[start:end]
            if (not name[0].isupper() and not name[0].isdigit()) or is_junk(name):
                return None
            parts = _WORDS.findall(name)
            # A sentence-initial capital is no evidence of a name, and one word is a weaker sign than two.
            usual = _COMMON if start in self._starts and len(parts) == 1 else _OFTEN_COMMON if len(parts) == 1 else _VERY_COMMON
            if not parts or all(is_common(p, usual) or not p[0].isupper() or p in word_list("title") for p in parts):
                return None
            return span
        return None

    def add_addressed(self) -> None:
        """The display names before e-mail addresses; what a recogniser saw in an address is none."""
        for start, end in addresses(self._text):
            for other in self._overlapping(start, end):
                before = self._text[other.start : start].rstrip(" \n<([\"'")
                if before:
                    other.end = other.start + len(before)
                else:
                    self._remove(other)
        for named in named_addresses(self._text):
            others = self._overlapping(named.start, named.address_end)
            recognised = {(other.start, other.end): other.label for other in others}
            for other in others:
                self._remove(other)
            label = recognised.get((named.start, named.end), "ORG") if named.label == "ORG" else named.label
            if label in self._labels:
                self._insert(_Found(named.start, named.end, label, {"address"}))

    def add_patterns(self, patterns: Matcher) -> None:
        for start, end, label in patterns.find(words(self._text)):
            others = self._overlapping(start, end)
            same = next((o for o in others if (o.start, o.end) == (start, end)), None)
            if same is not None:
                same.label = same.label if label == UNKNOWN else label
                same.detectors.add("pattern")
            elif all(o.end - o.start < end - start for o in others):
                for other in others:
                    self._found.remove(other)
                self._insert(_Found(start, end, label, {"pattern"}))

    def add_defined_terms(self) -> None:
        """What the document will call a thing that it names ("the Landlord"), wherever it stands."""
        terms: dict[str, str] = {}
        after = 0
        for definition in definitions(self._text):
            first = bisect_left(self._found, definition.start - 400, key=lambda f: f.start)
            last = bisect_right(self._found, definition.end, key=lambda f: f.start)
            thing = named_by(self._text, definition, after, self._found[first:last])
            after = definition.end
            if thing is not None and definition.term not in terms:
                terms[definition.term] = thing.label
        for start, end, label in Matcher(terms).find(words(self._text)):
            others = self._overlapping(start, end)
            if len(others) == 1 and others[0].start == start and _GOES_ON.match(self._text, end):  # "the Tenant the Premises"
                self._found.remove(others.pop())
            if not others:
                self._insert(_Found(start, end, label, {"definition"}))

    def add_repeats(self) -> None:
        names: dict[str, Counter[str]] = {}
        surnames: dict[str, None] = {}
        for candidate in self._found:
            name = self._text[candidate.start : candidate.end]
            if name[0].isupper() or name[0].isdigit() or any(c.isupper() for c in name):
                names.setdefault(name, Counter())[candidate.label] += 1
            if candidate.label in ("PERSON", "PER") and (surname := self._surname(name)):
                surnames[surname] = None
        known = {name: min(c, key=lambda label: (label == UNKNOWN, -c[label], label)) for name, c in names.items()}
        for candidate in self._found:
            if candidate.label == UNKNOWN:
                candidate.label = known[self._text[candidate.start : candidate.end]]
        blocked = sorted([*self._numbers, *self._machine])
        persons = {name for name, label in known.items() if label in ("PERSON", "PER")} | set(surnames)
        named_inside = {self._text[f.start : f.end] for f in self._found if f.start not in self._starts}
        only_surnames = {s: "PERSON" for s in surnames if s not in known}
        for detector, of in (("repeat", known), ("surname", only_surnames)):
            places = [
                p for p in Matcher(of).find(words(self._text)) if not self._overlapping(p[0], p[1]) and not _touches(blocked, p[0], p[1])
            ]
            named_inside |= {self._text[start:end] for start, end, _ in places if start not in self._starts}
            for start, end, label in places:
                name = self._text[start:end]
                if not self._english or (
                    self._may_be_person(start, name, named_inside) if name in persons else self._may_be_name(start, name)
                ):
                    self._insert(_Found(start, end, label, {detector}))

    def add_known_in_headlines(self, patterns: Matcher | None) -> None:
        """In lines whose capitals were changed, the names of several words that other lines or the patterns have, whatever their letters: what
        is known goes before what a recogniser made of such a line."""
        lines = recased(self._view.text, self._text)
        if not lines:
            return
        inside = [(f, _touches(lines, f.start, f.end)) for f in self._found]
        known = {name.lower(): f.label for f, there in inside if not there and " " in (name := self._text[f.start : f.end])}
        text_words = [Word(w.start, w.end, w.text.lower()) for w in words(self._text) if _touches(lines, w.start, w.end)]
        places = [(*place, "repeat") for place in Matcher(known).find(text_words)]
        places += [(*place, "pattern") for place in (patterns.folded.find(text_words) if patterns else [])]
        for start, end, label, detector in sorted(places, key=lambda p: (p[0] - p[1], p)):
            others = self._overlapping(start, end)
            if any(o.start < start or end < o.end or (o.start, o.end) == (start, end) for o in others):
                continue
            for other in others:
                self._found.remove(other)
            self._insert(_Found(start, end, label, {detector}))

    def _surname(self, name: str) -> str | None:
        parts = name.split()
        while len(parts) > 1 and parts[-1].rstrip(",") in word_list("generation"):
            parts.pop()
        if len(parts) < 2 or len(parts[-1]) < 3 or not parts[-1][0].isupper() or parts[-1] in word_list("title"):
            return None
        return parts[-1].removesuffix("'s").removesuffix("’s")

    def _may_be_person(self, start: int, name: str, named_inside: set[str]) -> bool:
        """A person's name that is a common word ("Jobs") needs a place inside a sentence before it counts at the start of one."""
        return start not in self._starts or name in named_inside or not is_common(name, _FUNCTION_WORD)

    def _may_be_name(self, start: int, name: str) -> bool:
        return not all(is_common(w, _VERY_COMMON) for w in _WORDS.findall(name)) and not (start in self._starts and is_common(name))

    def _overlapping(self, start: int, end: int) -> list[_Found]:
        first = bisect_right(self._found, start, key=lambda f: f.end)
        last = bisect_left(self._found, end, key=lambda f: f.start)
        return self._found[first:last]

    def add_fields(self) -> None:
        """Of a table's row: values whose columns say what they hold are names as they stand, and what a person does is none."""
        for field in fields(self._document):
            start, end = self._view.seen(field.start, field.end)
            others = self._overlapping(start, end)
            if field.label == ROLE:
                others = [o for o in others if (o.start, o.end) == (start, end) and "pattern" not in o.detectors]
            elif field.label not in self._labels:
                continue
            for other in others:
                self._remove(other)
            if field.label != ROLE:
                given = next((o.label for o in others if "pattern" in o.detectors and (o.start, o.end) == (start, end)), field.label)
                self._insert(_Found(start, end, given, {"column"}.union(*(o.detectors for o in others))))

    def _insert(self, candidate: _Found) -> None:
        self._found.insert(bisect_left(self._found, candidate.start, key=lambda f: f.start), candidate)

    def _remove(self, candidate: _Found) -> None:
        del self._found[bisect_left(self._found, candidate.start, key=lambda f: f.start)]

    def result(self) -> list[Mention]:
        starts = [s for s, _ in self._sentences]
        sentences, _ = unaltered(self._document.text, self._view, self._sentences)
        result = []
        for candidate in self._found:
            if candidate.label == UNKNOWN and UNKNOWN not in self._labels and "pattern" not in candidate.detectors:
                continue
            first = max(0, bisect_right(starts, candidate.start) - 1)
            last = max(0, bisect_left(starts, candidate.end) - 1)
            sentence = (sentences[first][0], sentences[last][1])
            start, end = self._view.span(candidate.start, candidate.end)
            text, name = self._document.text[start:end], " ".join(self._view.text[candidate.start : candidate.end].split())
            title = titles_before(self._text, candidate.start)
            detectors = tuple(sorted(candidate.detectors))
            result.append(Mention(self._document.document, start, end, text, candidate.label, *sentence, detectors, name, title))
        return result


# How much likelier a word must be in lower case (natural logarithm) to count as common; chosen on the sets named in benchmarks/detection.py.
_COMMON, _OFTEN_COMMON, _VERY_COMMON, _FUNCTION_WORD = 0.0, 1.5, 2.0, 3.0
_NUMBERS = frozenset(("DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "CARDINAL", "ORDINAL"))
_PARTICLES = re.compile(r"\s(?:(?:van|von|vom|der|de|den|del|della|di|da|do|dos|das|du|la|le|bin|ibn|zu|zur|ter|ten|e|y)\s)+")
_ORDINAL = re.compile(r"(?<!\w)\d{1,3}(?:st|nd|rd|th) \Z")  # of a brigade, a court
_AND = re.compile(r"\s(?:and|&)\s")
_PARTNERS = re.compile(r"(?:Co|Company|Sons|Bros|Brothers|Partners|Associates)\b")
_AND_PARTNERS = re.compile(rf"{_AND.pattern}{_PARTNERS.pattern}(?:,? (?:Inc|Ltd|Corp|Plc)\b)?")
_WORDS = re.compile(r"[^\W\d_]+")
_GOES_ON = re.compile(r" (?:the|an?|its|his|her|their|shall|will|may|must|to|in|is|has)\b")  # no name goes on so
_JOINED = re.compile(r"[ \t]?|-|[ ]?&[ ]?|\. ?")


def _touches(spans: list[Span], start: int, end: int) -> bool:
    """Whether any of `spans` (sorted, never overlapping) shares a character with [start, end)."""
    at = bisect_right(spans, start, key=lambda s: s[1])
    return at < len(spans) and spans[at][0] < end


def _runs(text: str, proper: list[Span], sentence_ends: frozenset[int]) -> Iterator[Span]:
    """Tokens tagged as proper nouns, joined where only a space, hyphen or ampersand lies between."""
    current: Span | None = None
    for start, end in proper:
        if current is not None and _JOINED.fullmatch(text[current[1] : start]) and current[1] not in sentence_ends:
            current = (current[0], end)
            continue
        if current is not None:
            yield current
        current = (start, end)
    if current is not None:
        yield current


def replace(connection: Connection, documents: Sequence[str], rows: Iterable[Mention]) -> None:
    """Store `rows` in place of all mentions of `documents`."""
    delete_where_in(connection, mentions.c.document, documents)
    renamed = {"start": "start_at", "end": "end_at"}
    insert_rows(connection, mentions, ({renamed.get(name, name): value for name, value in vars(m).items()} for m in rows))


def load(connection: Connection, documents: Sequence[str] | None = None) -> Iterator[Mention]:
    """The mentions of these documents (all without), sorted by document and place within batches."""
    statement = select(mentions).order_by(mentions.c.document, mentions.c.start_at, mentions.c.end_at)
    rows: Iterable[Row[Any]] = (
        connection.execute(statement) if documents is None else select_where_in(connection, statement, mentions.c.document, documents)
    )
    for r in rows:
        yield Mention(
            r.document, r.start_at, r.end_at, r.text, r.label, r.sentence_start, r.sentence_end, tuple(r.detectors), r.name, r.title
        )
