"""The graph as RDF in N-Triples: entities with their names, the items that they are, relations, and where each is stated."""

from collections.abc import Iterator
from urllib.parse import quote

from sqlalchemy import Connection

from polyonym.graph.relations import EntityRelation, current_relations
from polyonym.resolution import entities

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_OWL = "http://www.w3.org/2002/07/owl#"
_PROV = "http://www.w3.org/ns/prov#"
_OA = "http://www.w3.org/ns/oa#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_ITEM = "http://www.wikidata.org/entity/"
_OURS = "urn:polyonym:"
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


def lines(connection: Connection) -> Iterator[str]:
    """One triple a line, entities by id, then relations by source, target, type and predicate.

    owl:sameAs stands only where a link was made. Each relation is a triple of its own and a statement (rdf:Statement) with its weight,
    its confidence and, for each piece of evidence, a selector of the document's text; start and end count code points.
    """
    names: dict[str, list[str]] = {}
    for alias in entities.load_aliases(connection):
        names.setdefault(alias.entity_id, []).append(alias.name)
    for e in entities.load(connection):
        node = _ours("entity", e.entity_id)
        yield _triple(node, _RDF + "type", _iri(_ours("type", e.type)))
        yield _triple(node, _SKOS + "prefLabel", _literal(e.name))
        for name in sorted(set(names.get(e.entity_id, ())) - {e.name}):
            yield _triple(node, _SKOS + "altLabel", _literal(name))
        if e.wikidata_id:
            yield _triple(node, _OWL + "sameAs", _iri(_ITEM + quote(e.wikidata_id)))
    for r in current_relations(connection):
        yield from _relation(r)


def _relation(r: EntityRelation) -> Iterator[str]:
    source, relation, target = _ours("entity", r.source), _ours("relation", r.type), _ours("entity", r.target)
    statement = _ours("statement", r.source, r.type, r.predicate, r.target)
    yield _triple(source, relation, _iri(target))
    yield _triple(statement, _RDF + "type", _iri(_RDF + "Statement"))
    yield _triple(statement, _RDF + "subject", _iri(source))
    yield _triple(statement, _RDF + "predicate", _iri(relation))
    yield _triple(statement, _RDF + "object", _iri(target))
    if r.predicate:
        yield _triple(statement, _ours("predicate"), _literal(r.predicate))
    yield _triple(statement, _ours("weight"), _literal(str(r.weight), "integer"))
    yield _triple(statement, _ours("confidence"), _literal(str(r.confidence), "decimal"))
    for document, start, end in sorted({(p.document, p.start, p.end) for p in r.evidence}):
        place = _ours("text", document, str(start), str(end))
        yield _triple(statement, _PROV + "wasDerivedFrom", _iri(place))
        yield _triple(place, _RDF + "type", _iri(_OA + "TextPositionSelector"))
        yield _triple(place, _OA + "hasSource", _iri(_ours("document", document)))
        yield _triple(place, _OA + "start", _literal(str(start), "nonNegativeInteger"))
        yield _triple(place, _OA + "end", _literal(str(end), "nonNegativeInteger"))


def _ours(*parts: str) -> str:
    return _OURS + ":".join(quote(part, safe="", errors="surrogatepass") for part in parts)


def _iri(iri: str) -> str:
    return f"<{iri}>"


def _literal(text: str, type_: str = "") -> str:
    """A literal; halves of characters, which no file in UTF-8 may hold, become question marks."""
    escaped = text.encode("utf-8", "replace").decode().translate(_ESCAPES)
    return f'"{escaped}"' + (f"^^<{_XSD}{type_}>" if type_ else "")


def _triple(subject: str, predicate: str, object_: str) -> str:
    return f"<{subject}> <{predicate}> {object_} ."
