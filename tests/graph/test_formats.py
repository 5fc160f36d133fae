"""What others read: the graph in their formats, read back by their own libraries."""

from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest
import rdflib
from small_state import fill
from sqlalchemy import Connection

from polyonym.flows.inspect.exports import export
from polyonym.graph import relations
from polyonym.graph.formats import graphml, rdf
from polyonym.graph.relations import entity_relations
from polyonym.ingest import relations as stated
from polyonym.ingest.relations import Relation
from polyonym.ingest.store import stage_marks
from polyonym.resolution import entities
from polyonym.resolution.linking.candidates import Item

TEXTS = {
    "a.txt": 'Velmora <Energy> & "Sons" sits in Hamburg. Nordsund \\ Capital owns Velmora <Energy> & "Sons".',
    "b b.txt": "Hamburg lies in Germany. The Germans know it.",
}
LABELS = {'Velmora <Energy> & "Sons"': "ORG", "Nordsund \\ Capital": "ORG", "Hamburg": "GPE", "Germany": "GPE", "Germans": "NORP"}


def _said(source: str, target: str, type_: str, predicate: str = "") -> Relation:
    """What the last sentence of a.txt in which both names stand says of them."""
    text = TEXTS["a.txt"]
    (a, b), (c, d) = ((text.rindex(name), text.rindex(name) + len(name)) for name in (source, target))
    return Relation("a.txt", a, b, c, d, type_, predicate, min(a, c), max(b, d), sentence=type_, pattern="verb")


OWNS = _said("Nordsund \\ Capital", 'Velmora <Energy> & "Sons"', "related_to", "own")
BESIDE = _said("Nordsund \\ Capital", 'Velmora <Energy> & "Sons"', "co_occurs")


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    engine = fill(tmp_path / "s.db", TEXTS, LABELS, [Item("HH", "Hamburg", types=("PLACE",), wikidata_id="Q1055")])
    with engine.begin() as connection:
        stated.replace(connection, ["a.txt"], [OWNS, BESIDE])
        stage_marks.mark(connection, "relations", dict.fromkeys(TEXTS, ""))
        relations.gather(connection)
        yield connection


def test_networkx_reads_the_nodes_and_edges(connection: Connection, tmp_path: Path) -> None:
    file = tmp_path / "g.graphml"
    file.write_text("\n".join(graphml.lines(connection)), encoding="utf-8")
    graph = networkx.read_graphml(file, force_multigraph=True)
    assert (
        {data["label"] for _, data in graph.nodes(data=True)}
        == {e.name for e in entities.load(connection)}
        >= {'Velmora <Energy> & "Sons"'}
    )
    assert all(type(data["mentions"]) is int for _, data in graph.nodes(data=True))
    wanted = [(r.source, r.target, r.type, float(r.weight)) for r in entity_relations(connection)]
    assert sorted((s, t, data["type"], data["weight"]) for s, t, data in graph.edges(data=True)) == sorted(wanted)


def test_rdflib_reads_names_links_and_provenance(connection: Connection) -> None:
    graph = rdflib.Graph().parse(data="\n".join(rdf.lines(connection)), format="nt")
    labels = {str(name) for name in graph.objects(None, rdflib.SKOS.prefLabel)}
    assert labels == {e.name for e in entities.load(connection)}
    linked = {e.entity_id for e in entities.load(connection) if e.wikidata_id}
    assert {str(s).rsplit(":", 1)[1] for s in graph.subjects(rdflib.OWL.sameAs, None)} == linked
    pieces = {(p.document, p.start, p.end) for r in entity_relations(connection) for p in r.evidence}
    places = set(graph.objects(None, rdflib.PROV.wasDerivedFrom))
    assert len(places) == len(pieces) > 0
    oa = rdflib.Namespace("http://www.w3.org/ns/oa#")
    assert {(graph.value(p, oa.start).toPython(), graph.value(p, oa.end).toPython()) for p in places} == {(s, e) for _, s, e in pieces}
    sources = {str(graph.value(p, oa.hasSource)) for p in places}
    assert sources == {"urn:polyonym:document:a.txt", "urn:polyonym:document:b%20b.txt"}
    by_name = {str(name): entity for entity, name in graph.subject_objects(rdflib.SKOS.prefLabel)}
    ends = by_name["Nordsund \\ Capital"], by_name['Velmora <Energy> & "Sons"']
    assert (ends[0], rdflib.URIRef("urn:polyonym:relation:related_to"), ends[1]) in graph
    assert (None, rdflib.OWL.sameAs, rdflib.URIRef("http://www.wikidata.org/entity/Q1055")) in graph


def test_what_waits_for_a_run_is_in_no_format(connection: Connection) -> None:
    """Its offsets would point into a text that is gone."""
    stage_marks.forget(connection, ["a.txt"])
    rows = list(export(connection, "relations"))
    assert [row["type"] for row in rows] == ["demonym_of"]
    assert sum(line.startswith("<edge ") for line in graphml.lines(connection)) == 1
    assert not any("a.txt" in line for line in rdf.lines(connection))
