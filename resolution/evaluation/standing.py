"""What can be said of nodes and links without a gold set."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, and_, func, select

from polyonym.resolution.decisions import decisions
from polyonym.resolution.entities import entities, memberships
from polyonym.resolution.judgements import judgements
from polyonym.resolution.linking.links import Link, links
from polyonym.resolution.names.entity_types import TYPES
from polyonym.resolution.within_document.document_names import document_names

WEAKEST = 20


@dataclass(frozen=True)
class Weak:
    """A node with the weakest link among those that hold it together at its item."""

    entity_id: str
    name: str
    wikidata_id: str
    confidence: float
    weakest: str  # the name in a document that is linked with that confidence
    document: str
    mentions: int


@dataclass(frozen=True)
class Standing:
    """What can be said without gold. Names are counted per document; links, NILs and abstentions are those of names."""

    nodes: int
    names: int
    mentions: int
    nodes_with_several_names: int
    nodes_in_one_document: int
    linked_nodes: int
    registered_nodes: int
    links: int
    nils: int
    abstentions: int
    merges: int
    splits: int
    several_owners: int
    by_type: dict[str, int]
    weakest: tuple[Weak, ...]


def standing(connection: Connection) -> Standing:
    """What can be said of nodes and links without gold."""

    def count(*conditions: Any) -> int:
        return int(connection.execute(select(func.count()).where(*conditions)).scalar_one())

    verdicts = _verdicts(connection)
    names_of = select(memberships.c.entity_id).group_by(memberships.c.entity_id).having(func.count(memberships.c.name.distinct()) > 1)
    kinds = _tally(connection, decisions.c.kind)
    types = _tally(connection, entities.c.type)
    return Standing(
        nodes=sum(types.values()),
        names=int(connection.execute(select(func.count()).select_from(document_names)).scalar_one()),
        mentions=int(connection.execute(select(func.coalesce(func.sum(entities.c.mentions), 0))).scalar_one()),
        nodes_with_several_names=int(connection.execute(select(func.count()).select_from(names_of.subquery())).scalar_one()),
        nodes_in_one_document=count(entities.c.documents == 1),
        linked_nodes=count(entities.c.wikidata_id.is_not(None)),
        registered_nodes=count(entities.c.registry_id.is_not(None)),
        links=verdicts["link"],
        nils=verdicts["nil"],
        abstentions=verdicts["abstain"],
        merges=kinds["merge"],
        splits=kinds["split"],
        several_owners=kinds["abstain"],
        by_type={t: types[t] for t in TYPES if t in types},
        weakest=tuple(_weakest(connection)),
    )


def _tally(connection: Connection, column: Column[Any]) -> Counter[str]:
    """How many rows have which value in a column."""
    return Counter(dict(connection.execute(select(column, func.count()).group_by(column)).tuples().all()))


def _verdicts(connection: Connection) -> Counter[str]:
    """How many names have which verdict, as judged."""
    known = [j for j in judgements.load(connection) if j.kind == "link"]
    counts = _tally(connection, links.c.verdict)
    spoken = sorted({j.subject.name for j in known})
    if spoken:
        c = links.c
        statement = select(c.document, c.name, c.candidate, c.confidence, c.wikidata_id, c.registry_id, c.verdict).where(c.name.in_(spoken))
        made = [Link(*row) for row in connection.execute(statement)]
        counts.subtract(link.verdict for link in made)
        counts.update(link.verdict for link in judgements.judged_links(known, made))
    return counts


def _weakest(connection: Connection) -> Iterator[Weak]:
    """The nodes whose item rests on the weakest links."""
    same_name = and_(memberships.c.document == links.c.document, memberships.c.name == links.c.name)
    same_item = and_(memberships.c.entity_id == entities.c.entity_id, links.c.wikidata_id == entities.c.wikidata_id)
    surest = func.min(links.c.confidence).label("surest")
    weakest = (
        select(entities.c.entity_id, surest)
        .select_from(links.join(memberships, same_name).join(entities, same_item))
        .group_by(entities.c.entity_id)
        .order_by(surest, entities.c.entity_id)
        .limit(WEAKEST)
    )
    for entity_id, confidence in connection.execute(weakest):
        row = connection.execute(
            select(entities.c.name, entities.c.wikidata_id, links.c.name.label("weakest"), links.c.document, entities.c.mentions)
            .select_from(links.join(memberships, same_name).join(entities, same_item))
            .where(entities.c.entity_id == entity_id, links.c.confidence == confidence)
            .order_by(links.c.document, links.c.name)
            .limit(1)
        ).one()
        yield Weak(entity_id, row.name, row.wikidata_id, confidence, row.weakest, row.document, row.mentions)
