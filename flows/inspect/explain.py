"""Explanations: what an entity rests on, name by name and decision by decision, and why its neighbours are others."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text
from sqlalchemy import Connection, and_, or_, select

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.mentions.mentions import mentions
from polyonym.ingest.store import stage_marks
from polyonym.ingest.store.tables import batched
from polyonym.ingest.text import documents
from polyonym.resolution import decisions, entities, identity
from polyonym.resolution.decisions import Decision
from polyonym.resolution.entities import Entity, aliases, memberships
from polyonym.resolution.judgements import judgements
from polyonym.resolution.judgements.judgements import PART, Judgement, LinkJudgements, whole_name
from polyonym.resolution.linking.links import Link, links
from polyonym.resolution.linking.ranking import Weights, load_weights
from polyonym.resolution.names.comparison import NameComparison, compare
from polyonym.resolution.names.entity_types import compatible
from polyonym.resolution.names.normal_forms import normalise, rows_behind
from polyonym.resolution.names.persons import may_be_one_person, person_parts
from polyonym.resolution.names.tables import TableRow
from polyonym.resolution.within_document.document_entities import DocumentName
from polyonym.resolution.within_document.document_names import document_names, mention_names

MOST = 8
"""So many entities are explained of those that one name stands for; the rest are named among the others."""
_EXAMPLES, _ROWS, _SIDE = 2, 24, 170
_SUGGESTED, _NEAR = 5, 60
_DETERMINER = re.compile(r"\A(?:the|an?) (?=\S)")
_NOT_ENOUGH = "a name in common is not enough: nothing in the documents says that they are one"

Part = tuple[str, str]  # (document, name)
Span = tuple[str, int, int]  # (document, start, end)


@dataclass(frozen=True)
class Evidence:
    """A span of a document in its sentence: before, marked and after, white space made single."""

    document: str
    start: int
    end: int
    before: str
    marked: str
    after: str


@dataclass(frozen=True)
class KnownForm:
    """That a row of one of our tables says which name a spelling stands for (Fed: federal reserve). `form` and `row` are the spelling and
    the name as the table has them, `name` is the spelling in documents.
    """

    name: str
    table: str
    row: str
    form: str
    documents: int
    mentions: int


@dataclass(frozen=True)
class Grouped:
    """That documents put a name under another one, by which rule, with the places that it rests on."""

    name: str
    under: str
    rule: str
    documents: int
    mentions: int
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Reason:
    """A feature of a candidate: its value, and its weight in the score (None: made with weights that are no longer here)."""

    feature: str
    value: float
    weight: float | None


@dataclass(frozen=True)
class Considered:
    """An item that was considered for a name; `share` is its part of the probability among the candidates, best reasons first.

    `won` says that the name is linked to it.
    """

    id: str
    won: bool
    label: str
    description: str | None
    score: float
    share: float
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Linked:
    """What the knowledge sources said of a name, in all documents where they said the same.

    `item` is what the name is linked to, or the best candidate where no link was made; `elsewhere` says that it is linked to another item
    than the entity's. The confidence is the lowest of these, `document` the one where it is so low, `candidates` those considered there, the
    winner first; none has won where no link was made, or where a person has named another (`judged` is the id of that judgement).
    """

    name: str
    verdict: str
    item: str | None
    confidence: float
    document: str
    documents: int
    elsewhere: bool
    judged: str | None
    weights_version: str
    candidates: tuple[Considered, ...]


@dataclass(frozen=True)
class Across:
    """Decisions of one kind about the same names across documents; `times` says how many, features and candidates are the first's.

    `known` are the spellings of these names that one of our tables says to be theirs.
    """

    kind: str
    names: tuple[str, ...]
    verdict: str
    times: int
    features: dict[str, Any]
    candidates: tuple[dict[str, Any], ...]
    known: tuple[KnownForm, ...]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Other:
    """Another entity that bears one of the names, and why it is another."""

    entity_id: str
    name: str
    type: str
    wikidata_id: str | None
    registry_id: str | None
    mentions: int
    shared: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Explanation:
    """All that an entity rests on. Lists are bounded; `left_out` says how many rows of which list are not shown.

    `found_by` says of each name in how many of its mentions which detector had a part (see polyonym.ingest.mentions.mentions).
    """

    entity: Entity
    found: str
    names: tuple[tuple[str, int], ...]
    found_by: dict[str, dict[str, int]]
    known: tuple[KnownForm, ...]
    grouped: tuple[Grouped, ...]
    links: tuple[Linked, ...]
    merges: tuple[Across, ...]
    doubts: tuple[Across, ...]
    others: tuple[Other, ...]
    judgements: tuple[str, ...]
    former_ids: tuple[str, ...]
    left_out: dict[str, int]


@dataclass(frozen=True)
class Apart:
    """Two entities, and why they are two; `names` says what their names alone would say."""

    a: Entity
    b: Entity
    why: str
    names: NameComparison


@dataclass(frozen=True)
class Between:
    """What there is to say of two names or ids: the nodes that both stand for, or, where there is none, why theirs are apart."""

    together: tuple[Explanation, ...]
    apart: tuple[Apart, ...]


def explain(connection: Connection, what: str, weights: Weights | None = None) -> list[Explanation]:
    """Explain every entity that `what` stands for: a name as it stands in documents, in any normal form or case, or an id.

    Most mentioned first, at most MOST. `weights` are those that links are made with, by default the package's own. Raises WrongUse,
    with near names, when nothing is called so.
    """
    weights = weights or load_weights()
    return [_Explainer(connection, e).explain(found, weights) for e, found in _meant(connection, what)]


def explain_ids(connection: Connection, ids: Sequence[str], weights: Weights | None = None) -> list[Explanation]:
    """Explain these entities, in this order; ids that are not there are passed over."""
    weights = weights or load_weights()
    held = {e.entity_id: e for e in entities.load(connection, ids)}
    return [_Explainer(connection, held[i]).explain("by its id", weights) for i in ids if i in held]


def explain_two(connection: Connection, what: str, other: str, weights: Weights | None = None) -> Between:
    """Say whether two names or ids are one node, and why or why not. Raises WrongUse as `explain` does."""
    weights = weights or load_weights()
    left, right = _meant(connection, what), [e for e, _ in _meant(connection, other)]
    together = tuple(_Explainer(connection, e).explain(found, weights) for e, found in left if e in right)
    return Between(together, () if together else tuple(islice(_apart(connection, [e for e, _ in left], right), MOST)))


def _apart(connection: Connection, left: Sequence[Entity], right: Sequence[Entity]) -> Iterator[Apart]:
    for a in left:
        explainer = _Explainer(connection, a)
        yield from (Apart(a, b, explainer.why_apart(b), compare(a.name, b.name, a.type, b.type)) for b in right)


def two_as_json(between: Between) -> dict[str, Any]:
    """What there is to say of two, as JSON."""
    return {"same": bool(between.together), "together": [as_json(e) for e in between.together], "apart": [asdict(a) for a in between.apart]}


def as_json(explanation: Explanation) -> dict[str, Any]:
    """An explanation as JSON."""
    row = asdict(explanation)
    entity: dict[str, Any] = row.pop("entity")
    found_by = row.pop("found_by")
    return entity | row | {"names": [{"name": n, "count": c, "found_by": found_by.get(n, {})} for n, c in explanation.names]}


# Finding


def _meant(connection: Connection, what: str) -> list[tuple[Entity, str]]:
    """The entities that `what` stands for, each with how it was found; most mentioned first, at most MOST. Raises WrongUse without any."""
    found = _find(connection, what.strip())
    held = sorted(entities.load(connection, sorted(found)), key=lambda e: (-e.mentions, e.name, e.entity_id))[:MOST]
    if not held:
        raise WrongUse(_nothing(connection, what))
    return [(e, found[e.entity_id]) for e in held]


def _find(connection: Connection, what: str) -> dict[str, str]:
    """The ids of the entities that `what` stands for, each with how it was found."""
    found: dict[str, str] = {}

    def add(how: str, statement: Any) -> None:
        for entity_id in connection.execute(statement).scalars():
            found.setdefault(entity_id, how)

    e, m, a, r = entities.entities.c, memberships.c, aliases.c, identity.redirects.c
    add("by its id", select(e.entity_id).where(e.entity_id == what))
    add(f"by its former id {what}", select(r.new_id).where(r.old_id == what, r.why == "merged"))
    add("by its Wikidata id", select(e.entity_id).where(e.wikidata_id == what.upper()))
    add("by its registry id", select(e.entity_id).where(e.registry_id == what))
    if not found:
        normal = sorted({normalise(what), normalise(what, person=True)} - {""})
        split_off = [m.name.startswith(n + PART, autoescape=True) for n in normal]
        add("by a name", select(m.entity_id).where(or_(m.name.in_(normal), *split_off)))
        add("by a name", select(a.entity_id).where(a.name == what))
        add("by its name", select(e.entity_id).where(e.name == what))
    if not found:
        alike = [n for n in connection.execute(select(a.name).distinct()).scalars() if _plain(n) == _plain(what)]
        for batch in batched(sorted(alike), 500):
            add("by a name in another case", select(a.entity_id).where(a.name.in_(batch)))
    return found


def _plain(name: str) -> str:
    """A name without case, spare white space and a leading determiner."""
    return _DETERMINER.sub("", " ".join(name.casefold().split()))


def _nothing(connection: Connection, what: str) -> str:
    from rapidfuzz import fuzz, process

    known = sorted({*connection.execute(select(aliases.c.name).distinct()).scalars()})
    if not known:
        return f"Nothing here is called {what!r}: the home holds no entities yet. Fill it with: polyonym ingest PATH"
    folded = [n.casefold() for n in known]
    near = process.extract(what.casefold(), folded, scorer=fuzz.token_sort_ratio, limit=3 * _SUGGESTED, score_cutoff=_NEAR)
    names = list({folded[position]: known[position] for _, _, position in near}.values())[:_SUGGESTED]
    advice = f"Near names: {', '.join(names)}." if names else "`polyonym names` and `polyonym export entities` show what there is."
    return f"Nothing here is called {what!r}, and it is no id of an entity, of the registry or of Wikidata. {advice}"


# Gathering


class _Explainer:
    """Gathers what one entity rests on."""

    def __init__(self, connection: Connection, entity: Entity) -> None:
        self.connection = connection
        self.entity = entity
        self.rows = list(self._document_names())
        self.parts: frozenset[Part] = frozenset((n.document, n.name) for n in self.rows)
        self.normal = sorted({n.name for n in self.rows})
        spellings: dict[str, Counter[str]] = defaultdict(Counter)
        for name in self.rows:
            spellings[name.name].update(name.surfaces)
        self.spelling = {n: max(c, key=lambda s: (c[s], len(s), s)) for n, c in spellings.items()}
        self.quotes = Quotes(connection, dict(self.spelling))
        self.left_out: dict[str, int] = {}

    def explain(self, found: str, weights: Weights) -> Explanation:
        known = judgements.load(self.connection)
        stored = self._decisions()
        return Explanation(
            self.entity,
            found,
            tuple((a.name, a.count) for a in entities.load_aliases(self.connection, [self.entity.entity_id])),
            self._found_by(),
            self._bounded("known", self._known_forms(self.normal)),
            self._bounded("grouped", self._grouped()),
            self._bounded("links", self._links(known, weights)),
            self._bounded("merges", self._across(d for d in stored if d.kind == "merge" and self._made_by(d))),
            self._bounded("doubts", self._across(d for d in stored if d.kind != "merge" or not self._made_by(d))),
            tuple(self._others(known, stored)),
            tuple(f"{j.judgement}: {j}" + (f" ({j.note})" if j.note else "") for j in known if self._spoken_of(j)),
            tuple(r.old_id for r in identity.load(self.connection) if r.why == "merged" and r.new_id == self.entity.entity_id),
            self.left_out,
        )

    def why_apart(self, other: Entity) -> str:
        """Why another entity is another."""
        theirs = {(m.document, m.name) for m in entities.members_of(self.connection, [other.entity_id])}
        shared = {whole_name(n) for n in self.normal} & {whole_name(n) for _, n in theirs}
        why = self._why_apart(other, theirs, judgements.load(self.connection), self._decisions())
        return why or (_NOT_ENOUGH if shared else "no document uses a name of the one for the other")

    def _bounded(self, what: str, rows: Iterable[Any]) -> tuple[Any, ...]:
        held = list(rows)
        if len(held) > _ROWS:
            self.left_out[what] = len(held) - _ROWS
        return tuple(held[:_ROWS])

    def _document_names(self) -> Iterator[DocumentName]:
        d, m = document_names.c, memberships.c
        statement = (
            select(document_names)
            .join(memberships, and_(m.document == d.document, m.name == d.name))
            .where(m.entity_id == self.entity.entity_id)
            .order_by(d.document, d.name)
        )
        for row in self.connection.execute(statement):
            values = dict(row._mapping)
            yield DocumentName(**{**values, "evidence": tuple((a, b) for a, b in values["evidence"])})

    def _found_by(self) -> dict[str, dict[str, int]]:
        """For each name, as documents spell it, in how many mentions each detector had a part."""
        m, n, own = mentions.c, mention_names.c, memberships.c
        same_span = and_(n.document == m.document, n.start == m.start_at, n.end == m.end_at)
        same_name = and_(own.document == n.document, own.name == n.name)
        held: dict[str, Counter[str]] = defaultdict(Counter)
        statement = (
            select(m.text, m.detectors)
            .select_from(mentions.join(mention_names, same_span).join(memberships, same_name))
            .where(own.entity_id == self.entity.entity_id)
        )
        for text, detectors in self.connection.execute(statement):
            held[text].update(detectors)
        return {text: dict(sorted(counts.items(), key=lambda c: (-c[1], c[0]))) for text, counts in sorted(held.items())}

    def _known_forms(self, names: Collection[str]) -> list[KnownForm]:
        """The spellings of these names that our tables say to be theirs, by their number of mentions."""
        held: dict[tuple[str, TableRow], list[int]] = defaultdict(list)
        for row in self.rows:
            if row.name in names:
                person = row.labels.get("PERSON", 0) * 2 > row.count
                for surface, count in row.surfaces.items():
                    for behind in rows_behind(surface, person):
                        held[surface, behind].append(count)
        made = [KnownForm(name, row.table, row.name, row.form, len(counts), sum(counts)) for (name, row), counts in held.items()]
        return sorted(made, key=lambda k: (-k.mentions, k.name, k.table, k.row))

    def _grouped(self) -> list[Grouped]:
        """Names under other names, by the number of mentions that they brought in."""
        held: dict[tuple[str, str, str], list[DocumentName]] = defaultdict(list)
        for row in self.rows:
            if row.rule:
                held[row.name, row.group, row.rule].append(row)
        made = []
        for (name, group, rule), rows in held.items():
            evidence = tuple(self.quotes.of((n.document, *span) for n in rows[:_EXAMPLES] for span in n.evidence[:1]))
            under = self.spelling.get(group, group) if group != name else ""
            made.append(Grouped(self.spelling[name], under, rule, len(rows), sum(n.count for n in rows), evidence))
        return sorted(made, key=lambda g: (-g.mentions, g.name, g.under, g.rule))

    def _links(self, known: Sequence[Judgement], weights: Weights) -> list[Linked]:
        c, m = links.c, memberships.c
        statement = (
            select(links)
            .join(memberships, and_(m.document == c.document, m.name == c.name))
            .where(m.entity_id == self.entity.entity_id)
            .order_by(c.document, c.name)
        )
        found = [Link(**{**row._mapping, "candidates": tuple(row.candidates)}) for row in self.connection.execute(statement)]
        judged_links = LinkJudgements(known)
        held: dict[tuple[str, str, str | None, str | None], list[Link]] = defaultdict(list)
        for link in judged_links.applied(found):
            if link.candidates or link.verdict == "link":
                judgement = judged_links.of(link.name, link.document)
                held[link.name, link.verdict, _item(link, judgement), judgement.judgement if judgement else None].append(link)
        made = []
        for (name, verdict, item, judged), rows in held.items():
            confidence, document, weakest = min(((_confidence(k), k.document, k) for k in rows), key=lambda row: row[:2])
            version = weakest.weights_version
            factors = weights.features if version == weights.version else {}
            candidates = [_considered(row, verdict == "link" and row["id"] == item, factors) for row in weakest.candidates]
            candidates.sort(key=lambda c: not c.won)
            elsewhere = verdict == "link" and item not in (self.entity.registry_id, self.entity.wikidata_id)
            spelling = self.spelling.get(name, name)
            made.append(Linked(spelling, verdict, item, confidence, document, len(rows), elsewhere, judged, version, tuple(candidates)))
        return sorted(made, key=lambda k: (k.verdict != "link", -k.documents, k.name, k.item or ""))

    def _decisions(self) -> list[Decision]:
        """Decisions across documents that speak of this entity: made under its names, or under a shorter form of one."""
        scopes = {n for name in self.normal for n in (name, whole_name(name), *_shorter(name))}
        return [d for d in decisions.load(self.connection, sorted(scopes)) if self._speaks(d)]

    def _made_by(self, decision: Decision) -> bool:
        """Whether a merge put units of this entity together."""
        named = {(s["document"], n) for s in decision.spans for n in decision.names}
        return not self.parts.isdisjoint(named) if decision.spans else not set(self.normal).isdisjoint(decision.names)

    def _speaks(self, decision: Decision) -> bool:
        considered = {(c.get("document", ""), c.get("name", "")) for c in decision.candidates}
        return self._made_by(decision) or not self.parts.isdisjoint(considered)

    def _across(self, made: Iterable[Decision]) -> list[Across]:
        held: dict[tuple[str, tuple[str, ...], str], list[Decision]] = defaultdict(list)
        for decision in made:
            held[decision.kind, decision.names, decision.verdict].append(decision)
        result = []
        for (kind, names, verdict), rows in held.items():
            evidence = tuple(islice((e for d in rows for e in self.quotes.of_decision(d)), _EXAMPLES + 1))
            first = rows[0]
            candidates = tuple(c | {"name": self.quotes.spelled([c["name"]])[0]} if "name" in c else c for c in first.candidates)
            known = tuple(self._known_forms(names)) if kind == "merge" else ()
            result.append(Across(kind, self.quotes.spelled(names), verdict, len(rows), first.features, candidates, known, evidence))
        return sorted(result, key=lambda a: (a.kind, -len(a.names), a.names, a.verdict))

    def _others(self, known: Sequence[Judgement], stored: Sequence[Decision]) -> Iterator[Other]:
        """Entities that bear one of this one's names, the most mentioned first."""
        m = memberships.c
        shared: dict[str, set[str]] = defaultdict(set)
        for batch in batched(sorted({whole_name(n) for n in self.normal}), 500):
            statement = select(m.name, m.entity_id).where(m.name.in_(batch), m.entity_id != self.entity.entity_id).distinct()
            for name, entity_id in self.connection.execute(statement):
                shared[entity_id].add(name)
        found = sorted(entities.load(self.connection, sorted(shared)), key=lambda e: (-e.mentions, e.name, e.entity_id))
        if len(found) > _ROWS:
            self.left_out["others"] = len(found) - _ROWS
        theirs: dict[str, set[Part]] = defaultdict(set)
        for member in entities.members_of(self.connection, [e.entity_id for e in found[:_ROWS]]):
            theirs[member.entity_id].add((member.document, member.name))
        for e in found[:_ROWS]:
            why = self._why_apart(e, theirs[e.entity_id], known, stored) or _NOT_ENOUGH
            names = tuple(sorted(self.quotes.spelled(shared[e.entity_id])))
            yield Other(e.entity_id, e.name, e.type, e.wikidata_id, e.registry_id, e.mentions, names, why)

    def _why_apart(self, other: Entity, theirs: set[Part], known: Sequence[Judgement], stored: Sequence[Decision]) -> str:
        """What keeps the two apart; "" when nothing does, but nothing unites them."""
        mine = self.entity
        for judgement in known:
            if judgement.kind == "different":
                a, b = judgement.subject, judgement.others[0]
                for left, right in ((a, b), (b, a)):
                    if _covers(left, self.parts) and _covers(right, theirs):
                        return f"a person judged them different ({judgement.judgement})"
        if mine.wikidata_id and other.wikidata_id and mine.wikidata_id != other.wikidata_id:
            return f"different Wikidata ids: {mine.wikidata_id} and {other.wikidata_id}"
        if mine.registry_id and other.registry_id and mine.registry_id != other.registry_id:
            return f"different registry ids: {mine.registry_id} and {other.registry_id}"
        if not compatible(mine.type, other.type):
            return f"a {mine.type} and a {other.type} cannot be one thing"
        if mine.type == other.type == "PERSON":
            a_name, b_name = person_parts(normalise(mine.name, person=True)), person_parts(normalise(other.name, person=True))
            if a_name and b_name and not may_be_one_person(a_name, b_name):
                return "two persons' full names that differ"
        for decision in stored:
            about = {(s["document"], n) for s in decision.spans for n in decision.names}
            if decision.kind == "abstain" and not about.isdisjoint(theirs | self.parts):
                margin = decision.features.get("margin")
                return "in doubt: " + decision.verdict + ("" if margin is None else f" (margin {margin:g})")
        for decision in stored:
            if decision.kind == "split" and not {n for _, n in theirs}.isdisjoint(decision.names):
                return decision.verdict
        if mine.wikidata_id and mine.wikidata_id == other.wikidata_id:
            return f"both are linked to {mine.wikidata_id}, but not surely enough to be united by it"
        return ""

    def _spoken_of(self, judgement: Judgement) -> bool:
        return any(_covers(r, self.parts) for r in (judgement.subject, *judgement.others))


def _covers(reference: judgements.Reference, parts: Iterable[Part]) -> bool:
    return any(reference.means(whole_name(n), d) for d, n in parts)


def _shorter(name: str) -> list[str]:
    """The beginnings and ends of a name in whole words: the short forms under which its owner may have been looked for."""
    words = name.replace(",", " ").split()
    return [" ".join(part) for i in range(1, len(words)) for part in (words[:i], words[i:])]


def _item(link: Link, judged: Judgement | None) -> str | None:
    """What a link leads to: what a person has said, else the registry's entry, else the Wikidata item; without a link the best candidate."""
    return (None if judged else link.registry_id) or link.wikidata_id or link.candidate


def _confidence(link: Link) -> float:
    """How sure a link is. Its own confidence is that of its Wikidata item; an entry of the registry alone has its share."""
    shares = [c["share"] for c in link.candidates if c["id"] == link.registry_id]
    return float(shares[0]) if shares and not link.wikidata_id else link.confidence


def _considered(row: Mapping[str, Any], won: bool, weights: Mapping[str, float]) -> Considered:
    reasons = [Reason(f, v, weights.get(f)) for f, v in row.get("features", {}).items()]
    reasons.sort(key=lambda r: (-abs(r.value * r.weight) if r.weight is not None else 0.0, r.feature))
    return Considered(row["id"], won, row["label"], row.get("description"), row.get("score", 0.0), row.get("share", 0.0), tuple(reasons))


class Quotes:
    """Names and spans as they stand in documents."""

    def __init__(self, connection: Connection, spelling: dict[str, str] | None = None) -> None:
        self.connection = connection
        self.texts: dict[str, str] = {}
        self.spelling = spelling or {}

    def spelled(self, names: Collection[str]) -> tuple[str, ...]:
        """Normalised names as documents spell them: as given, else as the first document that has it."""
        for name in names:
            if name not in self.spelling:
                m = memberships.c  # it has an index of names
                same = and_(m.document == document_names.c.document, m.name == document_names.c.name)
                statement = select(document_names).join(memberships, same).where(m.name == name).order_by(m.document).limit(1)
                self.spelling[name] = next((DocumentName(**row._mapping).surface for row in self.connection.execute(statement)), name)
        return tuple(self.spelling[n] for n in names)

    def of_decision(self, decision: Decision) -> list[Evidence]:
        """The spans of a decision, the first of each document."""
        first = {s["document"]: s for s in reversed(decision.spans)}
        return list(self.of((d, s["start"], s["end"]) for d, s in reversed(first.items())))

    def of(self, spans: Iterable[Span]) -> Iterator[Evidence]:
        """Spans in their sentences; those of documents that were changed and not worked through since are left out."""
        return (self._quoted(*span) for span in spans if self._text(span[0]))

    def _text(self, document: str) -> str:
        if document not in self.texts:
            present = stage_marks.is_marked(self.connection, "resolve", document)
            self.texts[document] = next((d.text for d in documents.load(self.connection, [document])), "") if present else ""
        return self.texts[document]

    def _quoted(self, document: str, start: int, end: int) -> Evidence:
        text = self._text(document)
        first, last = self._sentence(document, start, end)
        before = " ".join(text[first:start].split())
        after = " ".join(text[end:last].split())
        if before and text[start - 1].isspace():
            before += " "
        if after and text[end].isspace():
            after = " " + after
        return Evidence(document, start, end, _end_of(before), " ".join(text[start:end].split()), _begin_of(after))

    def _sentence(self, document: str, start: int, end: int) -> tuple[int, int]:
        c = mentions.c
        statement = select(c.sentence_start, c.sentence_end).where(c.document == document, c.start_at < end, c.end_at > start)
        bounds = list(self.connection.execute(statement.order_by(c.start_at)))
        return min((b[0] for b in bounds), default=start), max((b[1] for b in bounds), default=end)


def _end_of(text: str) -> str:
    return text if len(text) <= _SIDE else "… " + text[-_SIDE:].partition(" ")[2]


def _begin_of(text: str) -> str:
    return text if len(text) <= _SIDE else text[:_SIDE].rpartition(" ")[0] + " …"


# On the screen


def show(explanation: Explanation, console: Console) -> None:
    """Print an explanation: colours on a terminal, plain text elsewhere."""
    screen = _Screen(console)
    e = explanation.entity
    ids = [e.entity_id, *(i for i in (e.wikidata_id, e.registry_id) if i)]
    screen.line(0, (e.name, "bold"), f"  {e.type}  ", (" · ".join(ids), "dim"))
    if e.description:
        screen.line(0, e.description)
    screen.line(0, f"{_many(e.mentions, 'mention')} in {_many(e.documents, 'document')}; found {explanation.found}")
    if explanation.former_ids:
        screen.line(0, f"Took in: {', '.join(explanation.former_ids)}")
    screen.title("Names")
    screen.line(1, " · ".join(f"{name} ({count:,})" for name, count in explanation.names))
    screen.section("Found by", [lambda f=f: _show_found_by(screen, *f) for f in list(explanation.found_by.items())[:_ROWS]])
    screen.section("Spellings that our tables know", [lambda k=k: screen.line(1, *_known(k)) for k in explanation.known])
    screen.section("Why they are together, inside documents", [lambda g=g: _show_grouped(screen, g) for g in explanation.grouped])
    screen.section("Why they are together, across documents", [lambda a=a: _show_across(screen, a) for a in explanation.merges])
    screen.section("What the registry and the knowledge base say", [lambda k=k: _show_linked(screen, k) for k in explanation.links])
    screen.section("In doubt, or kept apart", [lambda a=a: _show_across(screen, a) for a in explanation.doubts])
    screen.section("Others of these names", [lambda o=o: _show_other(screen, o) for o in explanation.others])
    screen.section("Judgements", [lambda j=j: screen.line(1, j) for j in explanation.judgements])
    for what, count in explanation.left_out.items():
        screen.line(0, (f"… and {count:,} more {what}", "dim"))
    screen.line(0, "")


def show_two(between: Between, console: Console) -> None:
    """Print what there is to say of two names: the explanation of the node that both are, else why they are several."""
    screen = _Screen(console)
    for explanation in between.together:
        screen.line(0, ("One node", "bold green"))
        show(explanation, console)
    if not between.together:
        screen.line(0, ("Not one node", "bold"))
    for row in between.apart:
        sides = [
            f"{e.name}  {e.type}, {_many(e.mentions, 'mention')}  {e.wikidata_id or e.registry_id or e.entity_id}" for e in (row.a, row.b)
        ]
        screen.line(1, (" ≠ ".join(sides), "bold"))
        screen.line(2, row.why)
        said = "; ".join((*row.names.forbids, *row.names.reasons)) or row.names.kind
        screen.line(
            2, (f"their names alone: {'could be one thing' if row.names.same else 'two things'} ({row.names.score:g}): {said}", "dim")
        )


class _Screen:
    def __init__(self, console: Console) -> None:
        self.console = console

    def line(self, indent: int, *parts: str | tuple[str, str]) -> None:
        text = Text.assemble(*parts)
        if self.console.is_terminal:
            self.console.print(Padding(text, (0, 0, 0, 2 * indent)))
        else:
            self.console.print(Text("  " * indent) + text, soft_wrap=True)

    def title(self, title: str) -> None:
        self.line(0, "")
        self.line(0, (title, "bold cyan"))

    def section(self, title: str, rows: Sequence[Any]) -> None:
        if rows:
            self.title(title)
            for row in rows:
                row()


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _show_evidence(screen: _Screen, evidence: Iterable[Evidence]) -> None:
    for e in evidence:
        screen.line(2, (f"{e.document}  ", "dim"), e.before, (f"[{e.marked}]", "bold yellow"), e.after)


def _show_found_by(screen: _Screen, name: str, detectors: Mapping[str, int]) -> None:
    screen.line(1, (name, "bold"), "  " + " · ".join(f"{detector} {count:,}" for detector, count in detectors.items()))


def _known(row: KnownForm) -> tuple[str | tuple[str, str], ...]:
    where = f"{row.table}, row {row.row!r}"
    return (row.name, "bold"), " = ", (row.row, "bold"), f"  {where}: {row.form}", (f", {_many(row.mentions, 'mention')}", "dim")


def _show_grouped(screen: _Screen, row: Grouped) -> None:
    under = (" → ", (row.under, "bold")) if row.under else ()
    screen.line(1, (row.name, "bold"), *under, f"  {row.rule}", (f", {_many(row.documents, 'document')}", "dim"))
    _show_evidence(screen, row.evidence)


def _show_across(screen: _Screen, row: Across) -> None:
    times = f", {row.times:,} times" if row.times > 1 else ""
    features = "  ".join(f"{k} {_value(v)}" for k, v in sorted(row.features.items()) if k != "names")
    sign = {"merge": " = ", "split": " ≠ "}.get(row.kind, " ? ")
    screen.line(1, (sign.join(row.names), "bold"), f"  {row.verdict}{times}", (f"  {features}" if features else "", "dim"))
    for known in row.known:
        screen.line(2, *_known(known))
    for c in row.candidates:
        where = f"  {c['document']}" if c.get("document") else ""
        screen.line(2, f"candidate {c.get('name', c.get('id', ''))}  {_value(c.get('score', ''))}", (where, "dim"))
    _show_evidence(screen, row.evidence)


def _show_linked(screen: _Screen, row: Linked) -> None:
    said = {
        "link": f"→ {row.item}{' (not this node’s item)' if row.elsewhere else ''}",
        "nil": "no item fits",
        "abstain": "in doubt, no link",
    }[row.verdict]
    lowest = f", lowest in {row.document}" if row.documents > 1 and row.confidence < 1 else ""
    judged = f", judged by a person: {row.judged}" if row.judged else ""
    screen.line(
        1,
        (row.name, "bold"),
        f"  {said}  ",
        (f"confidence {row.confidence:.3f}", "bold"),
        (f", {_many(row.documents, 'document')}{lowest}{judged}", "dim"),
    )
    for c in row.candidates:
        what = f" – {c.description}" if c.description else ""
        outcome = ("won  ", "green") if c.won else ("lost ", "dim")
        screen.line(2, outcome, (c.id, "bold"), f" {c.label}{what}", (f"  {c.share:.3f}", "bold"))
        reasons = [_reason(r) for r in c.reasons[: 8 if c.won else 4]]
        if reasons:
            screen.line(3, ("; ".join(reasons), "dim"))


def _reason(reason: Reason) -> str:
    return f"{reason.feature} {reason.value:g}" + ("" if reason.weight is None else f" × {reason.weight:g}")


def _show_other(screen: _Screen, row: Other) -> None:
    ids = " · ".join(i for i in (row.entity_id, row.wikidata_id, row.registry_id) if i)
    screen.line(1, (row.name, "bold"), f"  {row.type}, {_many(row.mentions, 'mention')}  ", (ids, "dim"))
    screen.line(2, f"shares {', '.join(row.shared)}: {row.why}")


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)
