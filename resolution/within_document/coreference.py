"""Pronouns and nominals: what a coreference model adds to a document's names, when one is configured.

Two kinds of spaCy pipelines are understood: with the component `coreferee`, and with a component that puts its clusters
into `doc.spans` under keys that begin with "coref_clusters" (spacy-experimental).
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.mentions.mentions import Mention
from polyonym.ingest.mentions.pipelines import load_pipeline
from polyonym.ingest.text.documents import Document
from polyonym.ingest.text.sentences import sentences
from polyonym.resolution.within_document.document_names import COREFERENT
from polyonym.resolution.within_document.name_groups import Span


@dataclass(frozen=True)
class Coreferences:
    """What a model found in one document: chains of spans that speak of one thing, and the mentions that are in no other way found."""

    chains: tuple[tuple[Span, ...], ...]
    mentions: tuple[Mention, ...]


def coreferences(pipeline: str, document: Document, mentions: Sequence[Mention]) -> Coreferences:
    """The chains of a document that hold one of its mentions, and as mentions labelled COREF the other spans of these chains.

    Give the new mentions and the chains to document_names.group. Raises WrongUse when the pipeline is not installed, or resolves nothing.
    """
    known = {(m.start, m.end) for m in mentions}
    with_names = [c for c in chains(pipeline, document.text) if known.intersection(c)]
    bounds = sentences(document.text, document.language)
    starts = [start for start, _ in bounds]
    taken = sorted(known)
    added = []
    for start, end in sorted({span for chain in with_names for span in chain} - known):
        if any(a < end and start < b for a, b in taken):
            continue  # "the firm" inside "the firm's Chairman Smith": the mention that stands there already counts
        sentence = bounds[max(bisect_right(starts, start) - 1, 0)]
        text = document.text[start:end]
        added.append(Mention(document.document, start, end, text, COREFERENT, *sentence, (f"coreference:{pipeline}",)))
    return Coreferences(tuple(with_names), tuple(added))


def chains(pipeline: str, text: str) -> list[tuple[Span, ...]]:
    """Spans of the text that speak of one thing, a tuple a thing, in reading order. Raises WrongUse as `coreferences` does."""
    nlp = load_pipeline(pipeline)
    if not any("coref" in name for name in nlp.pipe_names):
        raise WrongUse(
            f"The spaCy pipeline {pipeline!r} has no coreference component (it has {', '.join(nlp.pipe_names) or 'none'}). Set coreference_model"
            " to a pipeline with `coreferee` or with spacy-experimental's `coref`, or leave it empty."
        )
    doc = nlp(text)
    keys = sorted(k for k in doc.spans if k.startswith("coref_clusters"))
    spans = [tuple(sorted({(s.start_char, s.end_char) for s in doc.spans[key]})) for key in keys]
    if doc.has_extension("coref_chains"):
        for chain in doc._.coref_chains or ():
            tokens = ((doc[min(m.token_indexes)], doc[max(m.token_indexes)]) for m in chain.mentions)
            spans.append(tuple(sorted({(first.idx, last.idx + len(last)) for first, last in tokens})))
    return sorted(c for c in spans if len(c) > 1)
