"""Fitting the weights of linking on gold sets, over the names that the default pipelines find in them."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from polyonym.flows.home.settings import Settings
from polyonym.ingest.errors import WrongUse
from polyonym.ingest.mentions import mentions
from polyonym.ingest.mentions.mentions import LABELS, Mention, Recogniser
from polyonym.ingest.mentions.pipelines import Pipelines
from polyonym.ingest.text.documents import Document
from polyonym.resolution.evaluation.calibration import Bin, Example, gold_of, reliability
from polyonym.resolution.evaluation.gold import GoldDocument, read_gold, trim
from polyonym.resolution.linking.candidates import CandidateSource
from polyonym.resolution.linking.pools import pools
from polyonym.resolution.linking.ranking import Weights, confidence
from polyonym.resolution.names.normal_forms import normalise
from polyonym.resolution.within_document import document_names
from polyonym.resolution.within_document.document_entities import DocumentName

SUBJECT_WITHIN = 160
"""What a document is about it names within so many characters."""


def examples(paths: Sequence[Path], settings: Settings) -> list[Example]:
    """The documents of gold sets with the names that are found in them and the items that the gold gives these names.

    A text that stands in several sets counts once: in two folds of a cross-validation it would be known beforehand.
    Raises WrongUse for a set that cannot be read or has no Wikidata ids.
    """
    by_text: dict[str, tuple[Document, GoldDocument]] = {}
    for path, name in _names_of(paths).items():
        for true in read_gold(path):
            document = Document(f"{name}/{true.doc_id}", str(path), path.name, true.title, settings.default_language, true.text)
            by_text.setdefault(true.text, (document, true))
    if not any(m.has_item for _, true in by_text.values() for m in true.judged_mentions.values()):
        raise WrongUse("The gold sets hold no Wikidata ids, so that there is nothing to fit links on.")
    pipelines = Pipelines(settings.processes)
    try:
        mentions_of = _mentions([d for d, _ in by_text.values()], settings, pipelines)
    finally:
        pipelines.close()
    return [_example(document, true, mentions_of[document.document]) for document, true in by_text.values()]


def subjects(documents: Sequence[Document], settings: Settings) -> list[Example]:
    """Documents each of which is about another thing, named by its title: those with a mention of the title near the beginning."""
    pipelines = Pipelines(settings.processes)
    try:
        mentions_of = _mentions(documents, settings, pipelines)
    finally:
        pipelines.close()
    made = []
    for document in documents:
        names, named = document_names.group(document, mentions_of[document.document])
        title = normalise(re.sub(r"\s*\([^)]*\)$", "", document.title).partition(",")[0])
        beginning = [n.name for n in named if n.start <= SUBJECT_WITHIN]
        subject = next((name for name in beginning if name == title), None)
        if subject:
            made.append(Example(document, names, {}, document.source, subject=subject))
    return made


def _names_of(paths: Sequence[Path]) -> dict[Path, str]:
    """A name for each gold set: its file's, with a hash of what is in it where several files are called so."""
    files = Counter(path.stem for path in dict.fromkeys(paths))
    return {p: p.stem if files[p.stem] == 1 else f"{p.stem}-{hashlib.sha256(p.read_bytes()).hexdigest()[:8]}" for p in dict.fromkeys(paths)}


def _mentions(documents: Sequence[Document], settings: Settings, pipelines: Pipelines) -> dict[str, list[Mention]]:
    texts = [(d, mentions.layout(d)) for d in documents]
    labels = tuple(settings.entity_labels) or LABELS
    names = [settings.pipelines[settings.default_language], *([settings.second_spacy_model] if settings.second_spacy_model else [])]
    first, *rest = (Recogniser(name, mentions.recognise_missing(texts, name, {}, pipelines)) for name in names)
    second = rest[0] if rest else None
    return {d.document: mentions.find_mentions(d, where, first, second, labels=labels) for d, where in texts}


def _example(document: Document, true: GoldDocument, mentions: Sequence[Mention]) -> Example:
    names, named = document_names.group(document, mentions)
    keys = {span: m.key if m.has_item else "" for span, m in true.judged_mentions.items()}
    gold: dict[str, Counter[str | None]] = defaultdict(Counter)
    missed = set(keys)
    for m in named:
        span = trim(true.text, m.start, m.end)
        missed.discard(span)
        if true.judges(*span):
            gold[m.name][keys.get(span)] += 1
    return Example(document, names, gold, document.source, len(missed))


def curve(tried: Iterable[Example], sources: Sequence[CandidateSource], weights: Weights) -> tuple[float, list[Bin]]:
    """How these weights do on documents that they were not fitted on: the share of mentions whose best candidate is right, of those
    with an item in the gold, and the reliability curve."""
    by_document = {e.document.document: e for e in tried}
    names: Mapping[str, Sequence[DocumentName]] = {d: e.names for d, e in by_document.items()}
    sure, right, total, possible = [], [], [], 0
    gold_by_name = {(d, name): counts for d, e in by_document.items() for name, counts in e.gold.items()}
    for pool in pools([e.document for e in by_document.values()], names, sources, weights):
        gold = gold_of(pool, gold_by_name)
        possible += sum(n for key, n in gold.items() if key)
        if pool.items and gold.keys() - {None}:
            ranked = pool.rank(weights)
            best = ranked.order[0]
            values = pool.confidence_features(ranked)
            sure.append(confidence(values, weights))
            right.append(gold.get(pool.items[best].item.id, 0))
            total.append(sum(n for key, n in gold.items() if key is not None))
    bins = reliability(np.array(sure), np.array(right, float), np.array(total, float))
    return sum(right) / possible if possible else 0.0, bins
