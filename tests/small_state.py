"""A small state store for tests, filled as a run fills it, but for the recogniser: the test says which names are mentions."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy import Engine

from polyonym.flows.home import tables  # noqa: F401  (a store is opened with all its tables)
from polyonym.ingest.mentions import mentions
from polyonym.ingest.mentions.mentions import Mention
from polyonym.ingest.store import stage_marks
from polyonym.ingest.store.database import open_state
from polyonym.ingest.text import documents
from polyonym.ingest.text.documents import Document
from polyonym.resolution.clustering.resolve import About, resolve
from polyonym.resolution.judgements import judgements
from polyonym.resolution.judgements.judgements import Judgement
from polyonym.resolution.linking import links
from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.linking.linker import link_documents
from polyonym.resolution.linking.ranking import load_weights
from polyonym.resolution.linking.registry import Registry
from polyonym.resolution.within_document import document_names

SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")


def found_names(document: str, text: str, labels: Mapping[str, str]) -> list[Mention]:
    """The mentions of these names in a text, the longest first, none overlapping."""
    sentences = [(m.start(), m.end()) for m in SENTENCE.finditer(text)]
    made: list[Mention] = []
    for name in sorted(labels, key=lambda n: (-len(n), n)):
        for m in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            if not any(m.start() < o.end and o.start < m.end() for o in made):
                start, end = next((s, e) for s, e in sentences if s <= m.start() < e)
                made.append(Mention(document, m.start(), m.end(), name, labels[name], start, max(end, m.end()), ("pattern",)))
    return sorted(made, key=lambda m: m.start)


def fill(
    path: Path, texts: Mapping[str, str], labels: Mapping[str, str], items: Sequence[Item] = (), judged: Sequence[Judgement] = ()
) -> Engine:
    """A state store with these documents read, named, linked to a registry of these items, and resolved."""
    engine = open_state(f"sqlite:///{path}")
    read = [Document(name, "texts", name, name, "en", text) for name, text in sorted(texts.items())]
    found = {d.document: found_names(d.document, d.text, labels) for d in read}
    grouped = {d.document: document_names.group(d, found[d.document]) for d in read}
    names = {d: rows for d, (rows, _) in grouped.items()}
    with engine.begin() as connection:
        documents.save(connection, read)
        mentions.replace(connection, list(found), [m for rows in found.values() for m in rows])
        document_names.replace(
            connection, list(grouped), [n for rows in names.values() for n in rows], [m for _, rows in grouped.values() for m in rows]
        )
        links.replace(connection, list(names), link_documents(read, names, Registry(items) if items else None, [], load_weights()))
        for stage in ("mentions", "names", "links"):
            stage_marks.mark(connection, stage, {d.document: d.digest for d in read})
        for judgement in judged:
            judgements.save(connection, judgement)
        described = {i.id: i.description for i in items}
        resolve(
            connection, {d.document: d.digest for d in read}, lambda _, registry_id: About(description=described.get(registry_id or ""))
        )
    return engine
