"""Whether what is held of each document fits to its text.

What does not fit can be made again; a text that is not what was read can only be read again.
"""

from collections.abc import Collection, Iterable, Iterator

from sqlalchemy import Connection, Select, exists, func, or_, select

from polyonym.graph.relations import wrong_evidence
from polyonym.ingest.mentions.mentions import mentions
from polyonym.ingest.store.tables import batched
from polyonym.ingest.text import chunks as chunks_table
from polyonym.ingest.text import documents as documents_table
from polyonym.ingest.text.documents import content_hash
from polyonym.resolution.clustering.block_keys import unit_keys
from polyonym.resolution.entities import entities, load_memberships, memberships
from polyonym.resolution.linking.links import links
from polyonym.resolution.within_document import document_names as names_table
from polyonym.resolution.within_document.document_names import document_names, mention_names

_AT_ONCE = 200


def altered_documents(connection: Connection) -> set[str]:
    """The documents whose text, title, language or metadata is not what was read."""
    digests = documents_table.digests(connection)
    return {
        d.document for batch in _batches(digests) for d in documents_table.load(connection, batch) if d.digest != digests[d.document][0]
    }


def unsound_documents(connection: Connection, altered: Collection[str]) -> set[str]:
    """The documents, but for `altered` ones, of which something is held that does not fit to their text, or whose entities count wrongly."""
    own = {document for parts in unsound(connection, altered).values() for document, _ in parts} | set(wrong_evidence(connection))
    rows = connection.execute(select(memberships.c.document).where(memberships.c.entity_id.in_(miscounted())).distinct())
    return ((own | set(rows.scalars())) & documents_table.digests(connection).keys()).difference(altered)


def unsound(connection: Connection, altered: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """What does not fit to a document's text (that of `altered` ones says nothing) or to what else is held of it: (document, which) by kind."""
    return {
        "chunks that are not what stands in their document": list(_wrong_chunks(connection, altered)),
        "mentions without a name, or names without a mention": list(_unnamed(connection)),
        "names without a link, or that no block knows": list(_unlinked(connection)),
        "names whose mentions are counted wrongly": list(_miscounted_names(connection)),
    }


def _wrong_chunks(connection: Connection, altered: Collection[str]) -> Iterator[tuple[str, str]]:
    for batch in _batches(documents_table.digests(connection).keys() - altered):
        text_of = {d.document: d.text for d in documents_table.load(connection, batch)}
        for c in chunks_table.load(connection, batch):
            if c.text != text_of[c.document][c.start : c.end] or c.content != content_hash(c.text):
                yield c.document, str(c.start)


def _miscounted_names(connection: Connection) -> Iterator[tuple[str, str]]:
    counted = {(n.document, n.name): n.count for n in names_table.load(connection)}
    for m in load_memberships(connection):
        if m.mentions != counted.get((m.document, m.name), m.mentions):
            yield m.document, m.name


def miscounted() -> Select[str]:
    """The entities that count other mentions or documents than their names have."""
    m, e = memberships.c, entities.c
    sums = select(m.entity_id, func.sum(m.mentions).label("mentions"), func.count(m.document.distinct()).label("documents"))
    counted = sums.group_by(m.entity_id).subquery()
    wrong = or_(counted.c.mentions != e.mentions, counted.c.documents != e.documents)
    return select(e.entity_id).join(counted, counted.c.entity_id == e.entity_id).where(wrong).order_by(e.entity_id)


def _batches(documents: Iterable[str]) -> Iterator[list[str]]:
    return batched(sorted(documents), _AT_ONCE)


def _unnamed(connection: Connection) -> Iterator[tuple[str, str]]:
    """Mentions without a name in their document, and names whose mention is gone or that stand for no entity."""
    m, n = mentions.c, mention_names.c
    same = (m.document == n.document) & (m.start_at == n.start) & (m.end_at == n.end)
    joined = select(m.document, m.start_at).select_from(mentions.outerjoin(mention_names, same)).where(n.name.is_(None))
    lost = select(n.document, n.start).select_from(mention_names.outerjoin(mentions, same)).where(m.text.is_(None))
    b, d = memberships.c, document_names.c
    owned = (b.document == d.document) & (b.name == d.name)
    nobody = select(d.document, d.name).select_from(document_names.outerjoin(memberships, owned)).where(b.entity_id.is_(None))
    known = (n.document == d.document) & (n.name == d.name)
    unknown = select(n.document, n.name).select_from(mention_names.outerjoin(document_names, known)).where(d.name.is_(None))
    for statement in (joined, lost, nobody, unknown):
        yield from ((document, str(what)) for document, what in connection.execute(statement.order_by(*statement.selected_columns)))


def _unlinked(connection: Connection) -> Iterator[tuple[str, str]]:
    d, k, u = document_names.c, links.c, unit_keys.c
    made = (k.document == d.document) & (k.name == d.name)
    yield from connection.execute(
        select(d.document, d.name)
        .select_from(document_names.outerjoin(links, made))
        .where(k.verdict.is_(None))
        .order_by(d.document, d.name)
    ).tuples()
    indexed = exists().where(u.document == d.document, u.head == d.group)
    yield from connection.execute(select(d.document, d.group).where(~indexed).distinct().order_by(d.document, d.group)).tuples()
