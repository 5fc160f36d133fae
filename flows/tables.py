"""All tables of the state: importing this module makes `ingest.state.metadata` whole, as it must be before a store is opened."""

from flows import runs
from graph import communities, difference, store, summaries
from ingest import chunks, documents, mentions, model_outputs, relations, sources, stages
from ingest.state import metadata
from resolution import (
    decisions,
    document_names,
    entities,
    identity,
    judgements,
    links,
    registry,
    unit_index,
    wikidata_cache,
)

__all__ = ["metadata"]

_MODULES = [
    runs,
    communities,
    difference,
    store,
    summaries,
    chunks,
    documents,
    mentions,
    model_outputs,
    relations,
    sources,
    stages,
]
_MODULES += [decisions, document_names, entities, identity, judgements, links, registry, unit_index, wikidata_cache]
