"""All tables of the state: importing this module makes `metadata` whole, as it must be before a store is opened."""

from polyonym.flows.home import history
from polyonym.graph import communities, difference, load
from polyonym.graph.summaries import summaries
from polyonym.ingest import relations
from polyonym.ingest.mentions import mentions
from polyonym.ingest.sources import removals, sources, table_layouts
from polyonym.ingest.store import changes, model_outputs, stage_marks
from polyonym.ingest.store.tables import metadata
from polyonym.ingest.text import chunks, documents
from polyonym.resolution import decisions, entities, identity
from polyonym.resolution.clustering import block_keys, resolve
from polyonym.resolution.judgements import judgements
from polyonym.resolution.linking import links, registry
from polyonym.resolution.linking.wikidata import cache
from polyonym.resolution.within_document import document_names

__all__ = ["metadata"]

_MODULES = [
    history,
    communities,
    difference,
    load,
    summaries,
    relations,
    mentions,
    removals,
    sources,
    table_layouts,
    changes,
    model_outputs,
    stage_marks,
]
_MODULES += [chunks, documents, decisions, entities, identity, block_keys, resolve, judgements, links, registry, cache, document_names]
