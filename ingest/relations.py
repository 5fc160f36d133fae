"""Relations: what a sentence says of two things that it names, and that it names them together."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from dataclasses import replace as replace_fields
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

from sqlalchemy import Column, Connection, Integer, Row, Table, Text, select

from polyonym.ingest.mentions.mentions import Mention
from polyonym.ingest.mentions.parses import parse, tokens
from polyonym.ingest.mentions.pipelines import Pipelines
from polyonym.ingest.mentions.records import fields
from polyonym.ingest.readers.columns import plain_name
from polyonym.ingest.store.tables import delete_where_in, insert_rows, metadata, select_where_in
from polyonym.ingest.text.dates import Stated, nearest, stated
from polyonym.ingest.text.documents import Document, content_hash
from polyonym.ingest.text.view import View, view_of

NEIGHBOURS = 6
"""A mention co-occurs with this many mentions after it in its sentence, and so before it: in a list of a hundred names all
pairs would be five thousand relations that say nothing."""

LONGEST = 1500
"""Characters of a sentence beyond which it is not parsed: what is that long is a table or a list, and parses of it are wrong."""

CO_OCCURS, RELATED = "co_occurs", "related_to"

PATTERNS = {
    "co-occurrence": 1.0,
    "column": 0.95,
    "verb": 0.94,
    "be": 0.92,
    "saying": 0.9,
    "apposition": 0.89,
    "preposition": 0.83,
    "role": 0.67,
}
"""Kinds of constructions, each with the share of its relations that are right, of 257 that were labelled by hand: those of the example
corpus (`benchmarks/relations.py`), and a hundred of news and of an encyclopaedia. That two things are named together is always right;
"column", what the column of a table says of its row, is not labelled but taken to be as good as a plain statement."""


@dataclass(frozen=True)
class Relation:
    """One piece of evidence that two mentions, given by their spans, are related; text[start:end] is the span that shows it.

    `type` is co_occurs (no direction: the earlier mention is the source), is_a, causes, contains, precedes, attributed_to or
    related_to. `predicate` is for related_to what the words say, in lemmas ("acquire", "executive of"), else empty. What is denied begins
    with "not" ("not work for"), what is asked, supposed or doubted with "whether". `sentence` is a hash of the words that it was read in,
    the same in every document that holds or quotes them. `pattern` is the kind of construction that says it (see PATTERNS), `date` the
    time that the sentence states, of several the nearest to both mentions, else the document's, else empty.
    """

    document: str
    source_start: int
    source_end: int
    target_start: int
    target_end: int
    type: str
    predicate: str
    start: int
    end: int
    sentence: str = ""
    pattern: str = ""
    date: str = ""


relations = Table(
    "relations",
    metadata,
    Column("document", Text, nullable=False, index=True),
    Column("source_start", Integer, nullable=False),
    Column("source_end", Integer, nullable=False),
    Column("target_start", Integer, nullable=False),
    Column("target_end", Integer, nullable=False),
    Column("type", Text, nullable=False),
    Column("predicate", Text, nullable=False),
    Column("start_at", Integer, nullable=False),
    Column("end_at", Integer, nullable=False),
    Column("sentence", Text, nullable=False),
    Column("pattern", Text, nullable=False),
    Column("date", Text, nullable=False),
    info={"owners": ("document",)},
)

times = Table(
    "times",
    metadata,
    Column("document", Text, nullable=False, index=True),
    Column("start_at", Integer, nullable=False),
    Column("end_at", Integer, nullable=False),
    Column("value", Text, nullable=False),
    info={"owners": ("document",)},
)
"""The dates and durations that sentences with mentions state: text[start_at:end_at] means `value`, as ISO 8601 has it."""


def contents(document: Document, mentions: Iterable[Mention]) -> list[str]:
    """The content hashes of the document's sentences that are parsed, as the view shows them: those with two mentions of different names."""
    view = view_of(document.text)
    return [content_hash(_seen(view, start, end)) for (start, end), inside in _by_sentence(mentions) if _is_parsed(start, end, inside)]


def _seen(view: View, start: int, end: int) -> str:
    first, last = view.seen(start, end)
    return view.text[first:last]


def parse_missing(
    documents: Sequence[tuple[Document, Sequence[Mention]]], pipeline: str, kept: Mapping[str, bytes], pipelines: Pipelines
) -> dict[str, bytes]:
    """Parse those sentences of `documents` whose parses are not in `kept`; returns the new payloads by content."""
    texts: dict[str, str] = {}
    for document, mentions in documents:
        view = view_of(document.text)
        for (start, end), inside in _by_sentence(mentions):
            if _is_parsed(start, end, inside):
                sentence = _seen(view, start, end)
                texts.setdefault(content_hash(sentence), sentence)
    missing = {content: text for content, text in texts.items() if content not in kept}
    return dict(zip(missing, pipelines.run(parse, pipeline, list(missing.values())), strict=True))


def find_times(document: Document, mentions: Sequence[Mention]) -> list[Stated]:
    """The dates and durations that the document's sentences with mentions state, in order."""
    view = view_of(document.text)
    times: set[Stated] = set()
    for start, end in {(m.sentence_start, m.sentence_end) for m in mentions}:
        first, _ = view.seen(start, end)
        for time in stated(_seen(view, start, end), document.language, document.date or ""):
            times.add(Stated(*view.span(first + time.start, first + time.end), time.value))
    return sorted(times)


def find_relations(document: Document, mentions: Sequence[Mention], parses: Mapping[str, bytes], times: Sequence[Stated]) -> list[Relation]:
    """The document's relations, sorted, each once.

    `parses` holds the payload of every content of `contents`, `times` what `find_times` finds.
    """
    stated: set[Relation] = set()
    view = view_of(document.text)
    for (start, end), inside in _by_sentence(mentions):
        here = list(_co_occurrences(document.document, start, end, inside))
        if _is_parsed(start, end, inside):
            payload = parses[content_hash(_seen(view, start, end))]
            here += _Sentence(document, view, start, inside, payload).relations()
        words = content_hash(" ".join(_seen(view, start, end).split()))[:16] if here else ""
        said = times[bisect_left(times, Stated(start, start, "")) : bisect_left(times, Stated(end, end, ""))]
        stated.update(replace_fields(r, sentence=words, date=_date_of(r, said) or document.date or "") for r in here)
    stated.update(_of_record(document, mentions))
    return sorted(stated, key=astuple)


def _of_record(document: Document, mentions: Sequence[Mention]) -> Iterator[Relation]:
    """What a table's row says: the first thing that it names has to do with each other one as that one's column says; all are named together."""
    named = [(field.column, m) for field in fields(document) for m in mentions if field.start <= m.start and m.end <= field.end]
    if len({m.name for _, m in named}) < 2:
        return
    words = content_hash(" ".join(document.text.split()))[:16]
    (_, subject), *others = named
    for column, other in others:
        start, end = min(subject.start, other.start), max(subject.end, other.end)
        spans = (subject.start, subject.end, other.start, other.end)
        predicate = plain_name(column).strip("_").replace("_", " ")
        if other.name != subject.name and predicate:
            yield Relation(document.document, *spans, RELATED, predicate, start, end, words, "column", document.date or "")
    inside = sorted((m for _, m in named), key=lambda m: m.start)
    for together in _co_occurrences(document.document, inside[0].start, inside[-1].end, inside):
        yield replace_fields(together, sentence=words, date=document.date or "")


def _date_of(relation: Relation, said: Sequence[Stated]) -> str:
    return nearest(said, min(relation.source_start, relation.target_start), max(relation.source_end, relation.target_end))


def _by_sentence(mentions: Iterable[Mention]) -> Iterator[tuple[tuple[int, int], list[Mention]]]:
    ordered = sorted(mentions, key=lambda m: (m.sentence_start, m.sentence_end, m.start, m.end))
    for span, group in groupby(ordered, key=lambda m: (m.sentence_start, m.sentence_end)):
        yield span, list(group)


def _is_parsed(start: int, end: int, inside: Sequence[Mention]) -> bool:
    return end - start <= LONGEST and len({m.name for m in inside}) > 1


def _co_occurrences(document: str, start: int, end: int, inside: Sequence[Mention]) -> Iterator[Relation]:
    for i, a in enumerate(inside):
        for b in inside[i + 1 : i + 1 + NEIGHBOURS]:
            if a.name != b.name:
                yield Relation(document, a.start, a.end, b.start, b.end, CO_OCCURS, "", start, end, pattern="co-occurrence")


@cache
def _types() -> dict[str, tuple[str, bool]]:
    """Predicate to (type, whether source and target change places)."""
    lines = files("polyonym.ingest").joinpath("data/relation_types.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {predicate: (type_, direction == "backward") for predicate, type_, direction in rows}


# The labels of ClearNLP (English pipelines) and of Universal Dependencies (most others) for one and the same thing.
_SUBJECT = frozenset(("nsubj", "csubj"))
_PASSIVE_SUBJECT = frozenset(("nsubjpass", "nsubj:pass"))
_OBJECT = frozenset(("dobj", "obj", "iobj", "dative", "oprd", "attr"))
_MODIFIER = frozenset(("compound", "nmod", "amod", "poss", "nmod:poss"))
_OBLIQUE = frozenset(("obl", "obl:arg", "obl:mod"))
_RELATIVE = frozenset(("relcl", "acl:relcl"))
_RELATIVE_PRONOUN = frozenset(("WDT", "WP", "PRON__Rel"))

_Reached = tuple[int, str]  # a mention's place among the sentence's, and the words on the way to it


class _Sentence:
    """One parsed sentence with its mentions; finds the typed relations."""

    def __init__(self, document: Document, view: View, start: int, mentions: Sequence[Mention], payload: bytes) -> None:
        self._document = document.document
        self._text = document.text
        self._mentions = mentions
        first, _ = view.seen(start, start)
        spans = ((t, view.span(first + t.start, first + t.end)) for t in tokens(payload))
        self._tokens = [replace_fields(t, start=start, end=end) for t, (start, end) in spans]
        self._children: list[list[int]] = [[] for _ in self._tokens]
        for i, token in enumerate(self._tokens):
            if token.head != i:
                self._children[token.head].append(i)
        self._is_question = next((t.lower == "?" for t in reversed(self._tokens) if t.lower[-1:] not in "\"'”’») "), False)
        self._mention_at: dict[int, int] = {}
        for number, mention in enumerate(mentions):
            for i, token in enumerate(self._tokens):
                if token.start < mention.end and mention.start < token.end:
                    self._mention_at.setdefault(i, number)

    def relations(self) -> Iterator[Relation]:
        """All typed relations, possibly repeated."""
        for i, token in enumerate(self._tokens):
            if token.pos in ("VERB", "AUX") or any(self._tokens[c].dep == "cop" for c in self._children[i]):
                yield from self._of_verb(i)
            if token.dep == "appos":
                yield from self._of_apposition(token.head, i)
            if self._heads_mention(i):
                yield from self._of_role(i)

    def _of_verb(self, verb: int) -> Iterator[Relation]:
        subjects, passive = self._subjects(verb, frozenset())
        sources = [m for s in subjects for m in self._named(s)]
        predicate = self._predicate(verb)
        for agent in self._agents(verb):
            for source in self._named(agent):
                yield from self._relate([source], predicate, [(m, "") for s in subjects for m in self._named(s)], verb, "verb")
        if passive:
            predicate = self._negated(verb, self._tokens[verb].lower)
        else:
            objects = [r for c in self._children[verb] if self._is_object(c) for r in self._reach(c)]
            if any(self._tokens[c].dep == "cop" for c in self._children[verb]):
                objects, predicate = self._reach(verb), self._negated(verb, "be")
            copula = predicate.removeprefix("not ").removeprefix("whether ") == "be"
            for target, path in objects:
                words = f"{predicate.removesuffix('be')}{path}".strip() if copula and path else f"{predicate} {path}".strip()
                yield from self._relate(sources, words, [(target, "")], verb, "be" if copula else "verb")
        for preposition, noun in self._prepositions(verb):
            yield from self._relate(sources, f"{predicate} {preposition}", self._reach(noun), verb, "preposition")
        for complement in (c for c in self._children[verb] if self._tokens[c].dep == "acomp"):
            for preposition, noun in self._prepositions(complement):
                adjective = self._tokens[complement].lemma
                known = f"{adjective} {preposition}" in _types()
                words = self._negated(verb, adjective) if known else f"{predicate} {adjective}"
                yield from self._relate(sources, f"{words} {preposition}", self._reach(noun), verb, "preposition")
        yield from self._attributed(verb, sources, predicate)

    def _attributed(self, verb: int, sources: Sequence[int], predicate: str) -> Iterator[Relation]:
        """Sayings: "Lee said that Acme grew" attributes what is said of Acme to Lee, and so does "according to Lee"."""
        if _types().get(predicate, ("", False))[0] == "says":
            for clause in self._children[verb]:
                if self._tokens[clause].dep == "ccomp":
                    said = [m for s in self._subjects(clause, frozenset())[0] for m in self._named(s)]
                    yield from self._relate(said, "attributed to", [(m, "") for m in sources], verb, "saying")
        for child in self._children[verb]:
            if self._tokens[child].lower == "according":
                for _, noun in self._prepositions(child):
                    yield from self._relate(sources, "attributed to", [(m, "") for m in self._named(noun)], verb, "saying")

    def _of_apposition(self, noun: int, apposed: int) -> Iterator[Relation]:
        named, also = self._own(noun), self._own(apposed)
        if named and also:
            listed = any(self._tokens[c].dep == "conj" for i in (noun, apposed) for c in self._children[i])
            if all(self._mentions[m].label in ("GPE", "LOC") for m in (named[0], also[0])) and not listed:  # "Paris, France"
                yield from self._relate(named, "part of", [(also[0], "")], apposed, "apposition")
            elif self._is_bracketed(also[0]):  # "Samuel Clemens (Mark Twain)"; commas also stand in lists
                yield from self._relate(named, "be", [(also[0], "")], apposed, "apposition")
        elif named:
            yield from self._relate(named, "", [r for r in self._reach(apposed) if r[1]], apposed, "apposition")
        elif also:
            yield from self._relate(also, "", [r for r in self._reach(noun) if r[1]], apposed, "apposition")

    def _is_bracketed(self, number: int) -> bool:
        """Whether a mention alone in brackets gives the one before it another name: an abbreviation, or a name of the same kind."""
        if number == 0:
            return False
        name, before = self._mentions[number], self._mentions[number - 1]
        opening, closing = self._text[before.end : name.start].strip(), self._text[name.end : name.end + 1]
        abbreviates = name.name.isupper() and name.name[0] == before.name[0].upper()
        return opening in ("(", "[") and closing in (")", "]") and (abbreviates or name.label == before.label == "PERSON")

    def _of_role(self, head: int) -> Iterator[Relation]:
        """Roles: "Acme chief executive Jane Doe", "Acme's spokesman Lee": the role that stands between two names."""
        number = self._mention_at[head]
        before = [c for c in self._children[head] if c < head and self._mention_at.get(c) != number and self._tokens[c].dep in _MODIFIER]
        roles = [c for c in before if c not in self._mention_at and self._tokens[c].pos in ("NOUN", "PROPN")]
        if not roles:
            return
        others = [c for c in [*before, *(g for r in roles for g in self._children[r])] if self._mention_at.get(c, number) != number]
        role = " ".join(self._phrase(c) for c in roles)
        for other in others:
            yield from self._relate([number], f"{role} of", [(self._mention_at[other], "")], head, "role")

    def _relate(self, sources: Sequence[int], predicate: str, targets: Iterable[_Reached], at: int, pattern: str) -> Iterator[Relation]:
        for source in sources:
            for target, path in targets:
                a, b = self._mentions[source], self._mentions[target]
                words = f"{predicate} {path}".strip()
                if a.name == b.name or not words or not self._is_prose(a, b):
                    continue
                type_, swapped = _types().get(words, (RELATED, False))
                if type_ == "says" or (type_ == "contains" and "PERSON" in (a.label, b.label)):
                    type_, swapped = RELATED, False
                start, end = self._evidence(a, b, at, type_)
                if swapped:
                    a, b = b, a
                said = words if type_ == RELATED else ""
                yield Relation(self._document, a.start, a.end, b.start, b.end, type_, said, start, end, pattern=pattern)

    def _is_prose(self, a: Mention, b: Mention) -> bool:
        """Whether two mentions stand in a sentence: not in two cells of a row, and none the place of a dateline ("OSLO, 4 May 2020 - ")."""
        if "|" in self._text[min(a.end, b.end) : max(a.start, b.start)]:
            return False
        dateline = _DATELINE.match(self._text, a.sentence_start)
        return dateline is None or (a.start < dateline.end()) == (b.start < dateline.end())

    def _evidence(self, a: Mention, b: Mention, at: int, type_: str) -> tuple[int, int]:
        """From the first to the last of both mentions and the word that relates them; of a saying, the whole sentence."""
        if type_ == "attributed_to":
            return a.sentence_start, a.sentence_end
        token = self._tokens[at]
        return min(a.start, b.start, token.start), max(a.end, b.end, token.end)

    def _subjects(self, verb: int, seen: frozenset[int]) -> tuple[list[int], bool]:
        """The tokens of what does the verb or, in the passive, has it done to it; and whether it is passive."""
        token = self._tokens[verb]
        passive = any(self._tokens[c].dep in ("auxpass", "aux:pass", *_PASSIVE_SUBJECT) for c in self._children[verb])
        own = [c for c in self._children[verb] if self._tokens[c].dep in _SUBJECT | _PASSIVE_SUBJECT]
        if not own and (having := self._having(verb)) is not None and having not in seen:
            return self._subjects(having, seen | {verb})
        if own:
            if token.dep in _RELATIVE and self._is_relative(own[0]):
                own = [token.head]
            return own, passive
        if token.dep in ("acl", *_RELATIVE) and token.tag in ("VBG", "VBN"):
            return [token.head], token.tag == "VBN"
        if verb in seen or self._tokens[token.head].pos not in ("VERB", "AUX"):
            return [], passive
        subjects, above = self._subjects(token.head, seen | {verb})
        if token.dep == "conj":
            return subjects, passive or (above and token.tag == "VBN")
        if token.dep in ("xcomp", "advcl"):
            perfect = any(self._tokens[c].dep == "aux" and self._lower(c) in _HAVE for c in self._children[verb])
            return (subjects, True) if token.tag == "VBN" and not passive and not perfect else (subjects, passive)
        return [], passive

    def _is_relative(self, i: int) -> bool:
        token = self._tokens[i]
        return token.tag in _RELATIVE_PRONOUN or token.lower in ("qui", "que", "who", "which", "that")

    def _agents(self, verb: int) -> list[int]:
        agents = []
        for child in self._children[verb]:
            if self._tokens[child].dep == "agent":
                agents += [c for c in self._children[child] if self._tokens[c].dep == "pobj"]
            elif self._tokens[child].dep == "obl:agent":
                agents.append(child)
        return agents

    def _is_object(self, i: int) -> bool:
        return self._tokens[i].dep in _OBJECT and self._tokens[i].pos != "ADP"

    def _prepositions(self, token: int) -> Iterator[tuple[str, int]]:
        """(preposition, its noun) below a verb, noun or adjective."""
        for child in self._children[token]:
            below = self._tokens[child]
            if below.dep == "prep" or (below.dep == "dative" and below.pos == "ADP"):
                for noun in self._children[child]:
                    if self._tokens[noun].dep == "pobj":
                        yield below.lower, noun
                for second, noun in self._prepositions(child):
                    if below.lower != "according":
                        yield f"{below.lower} {second}", noun
                    elif self._tokens[token].lower == "according":
                        yield second, noun
            elif below.dep in _OBLIQUE or (below.dep == "nmod" and self._tokens[token].pos in ("NOUN", "PROPN")):
                cases = [self._tokens[c].lower for c in self._children[child] if self._tokens[c].dep == "case"]
                if cases:
                    yield " ".join(cases), child

    def _heads_mention(self, i: int) -> bool:
        number = self._mention_at.get(i)
        head = self._tokens[i].head
        return number is not None and (head == i or self._mention_at.get(head) != number)

    def _own(self, i: int) -> list[int]:
        return [self._mention_at[i]] if i in self._mention_at else []

    def _named(self, i: int) -> list[int]:
        """The mentions that a noun stands for: its own, those joined to it by "and", and those set beside a common noun."""
        named = self._own(i)
        for child in self._children[i]:
            inside = bool(named) and self._mention_at.get(child) == named[0]
            if not inside and (self._tokens[child].dep == "conj" or (self._tokens[child].dep == "appos" and not named)):
                named += [m for m in self._named(child) if m not in named]
        return named

    def _reach(self, i: int) -> list[_Reached]:
        """The mentions that a noun stands for, or else those one step below it, with the words on the way ("office in")."""
        if named := self._named(i):
            return [(m, "") for m in named]
        reached = [(m, f"{self._phrase(i)} {p}") for p, noun in self._prepositions(i) for m in self._named(noun)]
        for child in self._children[i]:
            if self._tokens[child].dep in _MODIFIER:
                reached += [(m, f"{self._phrase(i)} of") for m in self._own(child)]
        return reached

    def _phrase(self, noun: int) -> str:
        """A common noun with the common nouns and ranks before it: "family doctor", "former prime minister"."""
        if self._tokens[noun].pos not in ("NOUN", "PROPN", "NUM", "PRON"):
            return self._tokens[noun].lemma
        before = [
            c
            for c in self._children[noun]
            if c < noun and c not in self._mention_at and (self._tokens[c].dep == "compound" or self._tokens[c].lemma in _RANKS)
        ]
        return " ".join(self._tokens[c].lemma for c in [*before[-2:], noun])

    def _predicate(self, verb: int) -> str:
        """The verb's lemma with its particle, its negation, and the verb that governs it ("plan to buy")."""
        token = self._tokens[verb]
        particles = [self._tokens[c].lower for c in self._children[verb] if self._tokens[c].dep in ("prt", "compound:prt")]
        words = " ".join([token.lemma, *particles])
        governor = self._tokens[token.head]
        if (having := self._having(verb)) is not None:
            return self._negated(having, "have to do")
        if token.dep == "xcomp" and governor.pos == "VERB" and token.head != verb and governor.lemma not in _DENIALS:
            to = "to " if any(self._tokens[c].lower == "to" and self._tokens[c].dep == "aux" for c in self._children[verb]) else ""
            return f"{self._predicate(token.head)} {to}{self._negated(verb, words)}"
        return self._negated(verb, words)

    def _having(self, verb: int) -> int | None:
        """Of the "do" of "has nothing (anything, a lot) to do with" the place of "has"."""
        token = self._tokens[verb]
        if token.lemma != "do" or not any(self._lower(c) == "to" for c in self._children[verb]):
            return None
        return next((i for i in (token.head, self._tokens[token.head].head) if self._lower(i) in _HAVE), None)

    def _negated(self, verb: int, words: str) -> str:
        """The words, with "not" before them where their verb is denied, "whether" where it is asked, supposed or doubted."""
        if self._is_denied(verb):
            return f"not {words}"
        return f"whether {words}" if self._is_open(verb) else words

    def _is_denied(self, verb: int) -> bool:
        token, head = self._tokens[verb], self._tokens[verb].head
        if token.dep in _CLAUSE and head != verb:
            denial = self._tokens[head].lemma in _DENIALS or any(self._lower(c) in _FALSE for c in self._children[head])
            untrue = any(self._lower(c) == "true" for c in self._children[head]) and self._has_negation(head)
            if untrue or (denial and not self._has_negation(head)):
                return True
        alternative = token.dep == "conj" and any(self._lower(c) in ("or", "nor") for c in (*self._children[verb], *self._children[head]))
        return self._has_negation(verb) or (alternative and head != verb and self._has_negation(head))

    def _has_negation(self, verb: int) -> bool:
        for child in self._children[verb]:
            token, below = self._tokens[child], [self._lower(c) for c in self._children[child]]
            if token.dep == "neg" or (token.dep in ("advmod", "cc", "preconj") and token.lower in _NEGATION):
                return True
            if token.lower == "longer" and "no" in below:
                return True
            part = token.dep in _SUBJECT | _PASSIVE_SUBJECT | _OBJECT
            if part and (token.lower in _NOTHING or any(word in _NO for word in below)):
                return True
        return False

    def _is_open(self, verb: int) -> bool:
        token = self._tokens[verb]
        if any(self._lower(c) in _OPEN_MARKS and self._tokens[c].dep in ("mark", "aux") for c in self._children[verb]):
            return True
        head = self._tokens[token.head]
        if (token.dep in _CLAUSE and head.lemma in _DOUBTS) or (token.dep in ("acl", "ccomp", "relcl") and head.lemma in _RUMOURS):
            return True
        return self._is_question and not any(self._tokens[i].dep in (*_RELATIVE, "acl", "appos") for i in self._up(verb))

    def _up(self, i: int) -> list[int]:
        """A token and those that it hangs on, up to the sentence's root."""
        path = [i]
        while (head := self._tokens[path[-1]].head) not in path:
            path.append(head)
        return path

    def _lower(self, i: int) -> str:
        return self._tokens[i].lower


_DATELINE = re.compile(r"[^\W\d_][^|\n]{0,60}?\b\d{1,4}\s*(?:\([^)]*\)\s*)?[-–—]\s")
_RANKS = frozenset(("chief", "prime", "vice", "deputy", "former", "general", "managing", "executive", "founding", "co"))
_CLAUSE = frozenset(("ccomp", "xcomp", "csubj", "pcomp", "acl", "advcl"))
_HAVE = frozenset(("have", "has", "had", "having"))
_DENIALS = frozenset(("deny", "refute", "disprove", "denial"))
_DOUBTS = frozenset(("doubt", "question", "wonder", "ask", "dispute", "suspect", "speculate", "suppose"))
_RUMOURS = frozenset(("rumour", "rumor", "allegation", "speculation", "question", "suspicion", "possibility", "suggestion"))
_OPEN_MARKS = frozenset(("whether", "if", "unless", "may", "might", "could"))
_FALSE = frozenset(("false", "untrue", "incorrect"))
_NOTHING = frozenset(("nothing", "nobody", "none", "neither"))
_NO = frozenset(("no", "neither", "none"))
_NEGATION = frozenset(("not", "never", "nor", "neither", "pas", "jamais", "nicht", "nie", "no", "non", "niet", "inte", "ikke"))


def replace(
    connection: Connection, documents: Sequence[str], rows: Iterable[Relation], stated_in: Mapping[str, Sequence[Stated]] | None = None
) -> None:
    """Store `rows` in place of all relations of `documents`, and the times that are stated in them by document in place of theirs."""
    delete_where_in(connection, relations.c.document, documents)
    delete_where_in(connection, times.c.document, documents)
    said = ((document, time) for document, of_document in (stated_in or {}).items() for time in of_document)
    insert_rows(connection, times, ({"document": d, "start_at": t.start, "end_at": t.end, "value": t.value} for d, t in said))
    renamed = {"start": "start_at", "end": "end_at"}
    insert_rows(connection, relations, ({renamed.get(name, name): value for name, value in vars(r).items()} for r in rows))


def load(connection: Connection, documents: Sequence[str] | None = None) -> Iterator[Relation]:
    """The relations of these documents (all without), sorted by document and then by all else within batches."""
    statement = select(relations).order_by(*relations.c)
    rows: Iterable[Row[Any]] = (
        connection.execute(statement) if documents is None else select_where_in(connection, statement, relations.c.document, documents)
    )
    for row in rows:
        spans = (row.source_start, row.source_end, row.target_start, row.target_end)
        yield Relation(row.document, *spans, row.type, row.predicate, row.start_at, row.end_at, row.sentence, row.pattern, row.date)
