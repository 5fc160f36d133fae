"""The graph as GraphML, which Gephi, yEd, networkx and igraph read: entities as nodes, relations as directed edges."""

import re
from collections.abc import Iterator, Mapping
from xml.sax.saxutils import escape, quoteattr

from sqlalchemy import Connection

from polyonym.graph import communities
from polyonym.graph.relations import current_relations
from polyonym.resolution import entities

_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def lines(connection: Connection) -> Iterator[str]:
    """The lines of the file: nodes by id, then edges by source, target, type and predicate.

    A node has label, type, mentions, wikidata_id where it is linked, and level_0, level_1, …: its community at each level. An edge has its
    type as label and type, predicate, weight (how many sentences say so) and confidence (the probability that one is right).
    """
    partition = communities.load(connection).communities
    levels = sorted({c.level for c in partition})
    community = {(member, c.level): c.community_id for c in partition for member in c.members}
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for key, of, type_ in (
        *((name, "node", "string") for name in ("label", "type", "wikidata_id", *(f"level_{level}" for level in levels))),
        ("mentions", "node", "long"),
        *((name, "edge", "string") for name in ("label", "type", "predicate")),
        ("weight", "edge", "double"),
        ("confidence", "edge", "double"),
    ):
        yield f'<key id="{of}_{key}" for="{of}" attr.name="{key}" attr.type="{type_}"/>'
    yield '<graph edgedefault="directed">'
    for e in entities.load(connection):
        of_levels = {f"level_{level}": community.get((e.entity_id, level)) for level in levels}
        yield f"<node id={quoteattr(e.entity_id)}>"
        yield from _data("node", {"label": e.name, "type": e.type, "mentions": e.mentions, "wikidata_id": e.wikidata_id} | of_levels)
        yield "</node>"
    for r in current_relations(connection):
        yield f"<edge source={quoteattr(r.source)} target={quoteattr(r.target)}>"
        values = {"label": r.type, "type": r.type, "predicate": r.predicate, "weight": r.weight, "confidence": r.confidence}
        yield from _data("edge", values)
        yield "</edge>"
    yield "</graph>\n</graphml>"


def _data(of: str, values: Mapping[str, object]) -> Iterator[str]:
    for key, value in values.items():
        if value is not None:
            yield f'<data key="{of}_{key}">{escape(_NOT_IN_XML.sub("�", str(value)))}</data>'
