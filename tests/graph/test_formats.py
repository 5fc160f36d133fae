"""What others read: the graph in their formats, read back by their own libraries."""

from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest
import rdflib
from small_state import fill
from sqlalchemy import Connection

from polyonym.graph import relations
from polyonym.graph.formats import graphml, rdf
from polyonym.graph.relations import entity_relations
from polyonym.resolution import entities
from polyonym.resolution.linking.candidates import Item

TEXTS = {
    "a.txt": 'Velmora <Energy> & "Sons" sits in Hamburg. Nordsund \\ Capital owns Velmora <Energy> & "Sons".',
    "b b.txt": "Hamburg lies in Germany. The Germans know it.",
}
LABELS = {'Velmora <Energy> & "Sons"': "ORG", "Nordsund \\ Capital": "ORG", "Hamburg": "GPE", "Germany": "GPE", "Germans": "NORP"}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    engine = fill(tmp_path / "s.db", TEXTS, LABELS, [Item("HH", "Hamburg", types=("PLACE",), wikidata_id="Q1055")])
    with engine.begin() as connection:
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
