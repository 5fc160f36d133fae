"""Links: what the registry and the knowledge sources say of each (document, name)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Boolean, Column, Connection, Float, Table, Text, select

from polyonym.ingest.store.tables import Json, delete_where_in, insert_rows, metadata, select_where_in
from polyonym.resolution.decisions import Decision


@dataclass(frozen=True)
class Link:
    """What the knowledge sources say of one (document, name).

    `candidate` is the best knowledge-base item even when no link is made, `confidence` the probability that it is right,
    `wikidata_id` the link made, or None (NIL or in doubt: `verdict` says which). `candidates` holds the considered items
    with their features and scores, best first, ready to be shown. `named` says that the candidate is called so: the name, or the
    longer name that it is short for in its document, is one of the item's own (see naming.is_name_of). Only such a link may join
    names of different documents.
    """

    document: str
    name: str
    candidate: str | None = None
    confidence: float = 0.0
    wikidata_id: str | None = None
    registry_id: str | None = None
    verdict: str = "nil"  # link, nil or abstain
    candidates: tuple[dict[str, Any], ...] = ()
    weights_version: str = ""
    named: bool = False


links = Table(
    "links",
    metadata,
    Column("document", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("candidate", Text),
    Column("confidence", Float, nullable=False),
    Column("wikidata_id", Text, index=True),
    Column("registry_id", Text, index=True),
    Column("verdict", Text, nullable=False),
    Column("candidates", Json, nullable=False),
    Column("weights_version", Text, nullable=False),
    Column("named", Boolean, nullable=False),
    info={"owners": ("document",)},
)


def replace(connection: Connection, documents: Sequence[str], rows: Iterable[Link]) -> None:
    """Put the links of these documents in place of the ones before."""
    delete_where_in(connection, links.c.document, documents)
    insert_rows(connection, links, map(vars, rows))


def load(connection: Connection, documents: Sequence[str] | None = None) -> Iterator[Link]:
    """The links of these documents (of all without), sorted within batches."""
    for row in _rows(connection, list(links.c), documents):
        yield Link(*(*row[:7], tuple(row.candidates), row.weights_version, row.named))


def load_bare(connection: Connection, documents: Sequence[str] | None = None) -> Iterator[Link]:
    """Like `load`, without the candidates: they are most of what there is to read."""
    for row in _rows(connection, [c for c in links.c if c is not links.c.candidates], documents):
        yield Link(*(*row[:7], (), row.weights_version, row.named))


def _rows(connection: Connection, columns: Sequence[Column[Any]], documents: Sequence[str] | None) -> Iterable[Any]:
    statement = select(*columns).order_by(links.c.document, links.c.name)
    return connection.execute(statement) if documents is None else select_where_in(connection, statement, links.c.document, documents)


def decision(link: Link, spans: Sequence[tuple[int, int]]) -> Decision:
    """The link as a decision, for export; `spans` are its name's mentions. The margin is the first candidate's share less the second's, `nil` the probability
    that none of the candidates is meant."""
    shares = [candidate["share"] for candidate in link.candidates[:2]]
    features = {
        "confidence": link.confidence,
        "margin": round(shares[0] - sum(shares[1:]), 3) if shares else None,
        "nil": round(max(0.0, 1.0 - link.confidence / shares[0]), 3) if shares and shares[0] else None,
        "candidate": link.candidate,
        "wikidata_id": link.wikidata_id,
        "registry_id": link.registry_id,
    }
    return Decision(
        link.document,
        link.verdict,
        (link.name,),
        link.wikidata_id or link.registry_id or link.verdict,
        link.candidates,
        features,
        link.weights_version,
        tuple({"document": link.document, "start": start, "end": end} for start, end in spans),
    )
