"""Explanations: what an entity rests on, name by name and decision by decision, and why its neighbours are others."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Connection, and_, select

from polyonym.flows.inspect.entity_lookup import MOST, meant
from polyonym.flows.inspect.explanation import (
    ROWS,
    Across,
    Apart,
    Between,
    Considered,
    Explanation,
    Grouped,
    KnownForm,
    Linked,
    Other,
    Reason,
)
from polyonym.flows.inspect.quotes import Quotes
from polyonym.ingest.mentions.mentions import mentions
from polyonym.ingest.store.tables import batched
from polyonym.resolution import decisions, entities, identity
from polyonym.resolution.decisions import Decision
from polyonym.resolution.entities import Entity, memberships
from polyonym.resolution.judgements import judgements
from polyonym.resolution.judgements.judgements import Judgement, LinkJudgements, whole_name
from polyonym.resolution.linking.links import Link, links
from polyonym.resolution.linking.ranking import Weights, load_weights
from polyonym.resolution.names.comparison import compare
from polyonym.resolution.names.entity_types import compatible
from polyonym.resolution.names.normal_forms import normalise, rows_behind
from polyonym.resolution.names.persons import may_be_one_person, person_parts
from polyonym.resolution.names.tables import TableRow
from polyonym.resolution.within_document.document_entities import DocumentName
from polyonym.resolution.within_document.document_names import document_names, mention_names

_EXAMPLES = 2

_NOT_ENOUGH = "a name in common is not enough: nothing in the documents says that they are one"

Part = tuple[str, str]  # (document, name)


def explain(connection: Connection, what: str, weights: Weights | None = None) -> list[Explanation]:
    """Explain every entity that `what` stands for: a name as it stands in documents, in any normal form or case, or an id.

    Most mentioned first, at most MOST. `weights` are those that links are made with, by default the package's own. Raises WrongUse,
    with near names, when nothing is called so.
    """
    weights = weights or load_weights()
    return [_Explainer(connection, e).explain(how, weights) for e, how in meant(connection, what)]


def explain_ids(connection: Connection, ids: Sequence[str], weights: Weights | None = None) -> list[Explanation]:
    """Explain these entities, in this order; ids that are not there are passed over."""
    weights = weights or load_weights()
    by_id = {e.entity_id: e for e in entities.load(connection, ids)}
    return [_Explainer(connection, by_id[i]).explain("by its id", weights) for i in ids if i in by_id]


def explain_two(connection: Connection, what: str, other: str, weights: Weights | None = None) -> Between:
    """Say whether two names or ids are one node, and why or why not. Raises WrongUse as `explain` does."""
    weights = weights or load_weights()
    left, right = meant(connection, what), [e for e, _ in meant(connection, other)]
    together = tuple(_Explainer(connection, e).explain(how, weights) for e, how in left if e in right)
    return Between(together, () if together else tuple(islice(_apart(connection, [e for e, _ in left], right), MOST)))


def _apart(connection: Connection, left: Sequence[Entity], right: Sequence[Entity]) -> Iterator[Apart]:
    for a in left:
        explainer = _Explainer(connection, a)
        yield from (Apart(a, b, explainer.why_apart(b), compare(a.name, b.name, a.type, b.type)) for b in right)


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

    def explain(self, how: str, weights: Weights) -> Explanation:
        known = judgements.load(self.connection)
        stored = self._decisions()
        return Explanation(
            self.entity,
            how,
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
        every = list(rows)
        if len(every) > ROWS:
            self.left_out[what] = len(every) - ROWS
        return tuple(every[:ROWS])

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
        by_text: dict[str, Counter[str]] = defaultdict(Counter)
        statement = (
            select(m.text, m.detectors)
            .select_from(mentions.join(mention_names, same_span).join(memberships, same_name))
            .where(own.entity_id == self.entity.entity_id)
        )
        for text, detectors in self.connection.execute(statement):
            by_text[text].update(detectors)
        return {text: dict(sorted(counts.items(), key=lambda c: (-c[1], c[0]))) for text, counts in sorted(by_text.items())}

    def _known_forms(self, names: Collection[str]) -> list[KnownForm]:
        """The spellings of these names that our tables say to be theirs, by their number of mentions."""
        counts_of: dict[tuple[str, TableRow], list[int]] = defaultdict(list)
        for row in self.rows:
            if row.name in names:
                person = row.labels.get("PERSON", 0) * 2 > row.count
                for surface, count in row.surfaces.items():
                    for behind in rows_behind(surface, person):
                        counts_of[surface, behind].append(count)
        made = [KnownForm(name, row.table, row.name, row.form, len(counts), sum(counts)) for (name, row), counts in counts_of.items()]
        return sorted(made, key=lambda k: (-k.mentions, k.name, k.table, k.row))

    def _grouped(self) -> list[Grouped]:
        """Names under other names, by the number of mentions that they brought in."""
        alike: dict[tuple[str, str, str], list[DocumentName]] = defaultdict(list)
        for row in self.rows:
            if row.rule:
                alike[row.name, row.group, row.rule].append(row)
        made = []
        for (name, group, rule), rows in alike.items():
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
        stored = [Link(**{**row._mapping, "candidates": tuple(row.candidates)}) for row in self.connection.execute(statement)]
        judged_links = LinkJudgements(known)
        alike: dict[tuple[str, str, str | None, str | None], list[Link]] = defaultdict(list)
        for link in judged_links.applied(stored):
            if link.candidates or link.verdict == "link":
                judgement = judged_links.of(link.name, link.document)
                alike[link.name, link.verdict, _item(link, judgement), judgement.judgement if judgement else None].append(link)
        made = []
        for (name, verdict, item, judged), rows in alike.items():
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
        alike: dict[tuple[str, tuple[str, ...], str], list[Decision]] = defaultdict(list)
        for decision in made:
            alike[decision.kind, decision.names, decision.verdict].append(decision)
        result = []
        for (kind, names, verdict), rows in alike.items():
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
        bearers = sorted(entities.load(self.connection, sorted(shared)), key=lambda e: (-e.mentions, e.name, e.entity_id))
        if len(bearers) > ROWS:
            self.left_out["others"] = len(bearers) - ROWS
        theirs: dict[str, set[Part]] = defaultdict(set)
        for member in entities.members_of(self.connection, [e.entity_id for e in bearers[:ROWS]]):
            theirs[member.entity_id].add((member.document, member.name))
        for e in bearers[:ROWS]:
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
