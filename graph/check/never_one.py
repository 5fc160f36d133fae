"""Promise 4 for every entity: its Wikidata ids, its registry ids, its types, and what people have judged different. One that is broken is a fault of ours."""

from collections.abc import Iterable, Iterator

from sqlalchemy import Connection

from polyonym.graph.check.finding import Finding, findings
from polyonym.resolution.clustering.clusters import firm_type
from polyonym.resolution.clustering.resolve import load_document_entities
from polyonym.resolution.entities import load_memberships
from polyonym.resolution.judgements import judgements
from polyonym.resolution.names.entity_types import compatible
from polyonym.resolution.within_document.document_entities import DocumentEntity


def wrongly_one(connection: Connection) -> Iterator[Finding]:
    """Promise 4, for every entity: its Wikidata ids, its registry ids, its types, and what people have judged different."""
    of = {(m.document, m.name): m.entity_id for m in load_memberships(connection)}
    document_entities: dict[str, list[DocumentEntity]] = {}
    everything = []
    for document_entity in load_document_entities(connection, None):
        everything.append(document_entity)
        for entity in sorted({of[name.document, name.name] for name in document_entity.names if (name.document, name.name) in of}):
            document_entities.setdefault(entity, []).append(document_entity)
    yield from findings(
        "state",
        "entities of several Wikidata ids",
        (e for e in sorted(document_entities) if len(_wikidata(document_entities[e])) > 1),
        False,
    )
    registered = (
        e
        for e in sorted(document_entities)
        if len({u.registry_id for u in document_entities[e] if u.registry_id}) > 1 and not _same_item(document_entities[e])
    )
    yield from findings("state", "entities of several registry ids", registered, False)
    yield from findings(
        "state",
        "entities of types that cannot go together",
        (e for e in sorted(document_entities) if _types_clash(document_entities[e])),
        False,
    )
    apart = judgements.constraints(judgements.load(connection), everything).different
    owners = {document_entity.key: of.get((document_entity.document, document_entity.head)) for document_entity in everything}
    torn = sorted({str(owners[a]) for a, b in apart if owners[a] is not None and owners[a] == owners[b]})
    yield from findings("state", "entities of names that were judged different", torn, False)


def _wikidata(document_entities: Iterable[DocumentEntity]) -> set[str]:
    return {u.wikidata_id for u in document_entities if u.wikidata_id}


def _same_item(document_entities: Iterable[DocumentEntity]) -> bool:
    """Whether all that have a registry id have one and the same Wikidata id as well."""
    return len({u.wikidata_id or u.registry_id for u in document_entities if u.registry_id}) == 1


def _types_clash(document_entities: Iterable[DocumentEntity]) -> bool:
    types = sorted({firm_type(u) for u in document_entities})
    return any(not compatible(a, b) for a in types for b in types)
