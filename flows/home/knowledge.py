"""Which sources of candidates a home has: its registry, its knowledge base, Wikidata."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from sqlalchemy import Connection, Engine

from polyonym.flows.home.home import Home
from polyonym.flows.home.settings import Settings
from polyonym.ingest.text.documents import content_hash
from polyonym.resolution.clustering.resolve import About
from polyonym.resolution.linking import registry
from polyonym.resolution.linking.candidates import CandidateSource, Item
from polyonym.resolution.linking.knowledge_base import KnowledgeBase
from polyonym.resolution.linking.pools import asked_of
from polyonym.resolution.linking.ranking import Weights, load_weights
from polyonym.resolution.linking.registry import Registry
from polyonym.resolution.linking.wikidata.api import WikidataSettings
from polyonym.resolution.linking.wikidata.client import Wikidata
from polyonym.resolution.within_document import document_names


def wikidata_settings(settings: Settings) -> WikidataSettings:
    """How Wikidata is asked, by our settings."""
    languages = dict.fromkeys(["en", "mul", *settings.wikidata_languages])
    return WikidataSettings(
        contact=settings.wikidata_contact,
        languages=tuple(languages),
        url=settings.wikidata_url,
        per_minute=settings.wikidata_requests_per_minute,
        requests_a_run=settings.wikidata_requests_per_run,
        age_days=settings.wikidata_cache_days,
    )


def configured_weights(settings: Settings) -> Weights:
    """The weights of linking, by our settings. Raises WrongUse when their file holds none."""
    return load_weights(Path(settings.weights_file) if settings.weights_file else None)


class Knowledge:
    """A home's sources of candidates, opened when they are first asked for."""

    def __init__(self, home: Home, settings: Settings, engine: Engine) -> None:
        self._home = home
        self._settings = settings
        self._engine = engine

    @cached_property
    def registry(self) -> Registry | None:
        """The registry that was given to this home, None without one."""
        with self._engine.connect() as connection:
            stored = registry.load(connection)
        return stored if stored.items else None

    @cached_property
    def _registered(self) -> dict[str, Item]:
        return {item.id: item for item in self.registry.items} if self.registry else {}

    @cached_property
    def base(self) -> KnowledgeBase | None:
        """The knowledge base that was imported, None without one."""
        return KnowledgeBase(self._home.knowledge_base) if self._home.knowledge_base.exists() else None

    @cached_property
    def wikidata(self) -> Wikidata:
        """The Wikidata client; it is off, but answers from its cache, without a contact."""
        return Wikidata(self._engine, wikidata_settings(self._settings))

    @cached_property
    def weights(self) -> Weights:
        """The fitted weights of the decision. Raises WrongUse when the file of the settings holds none."""
        return configured_weights(self._settings)

    @property
    def sources(self) -> list[CandidateSource]:
        """What names are linked to, in the order in which they are asked."""
        asked: list[CandidateSource] = [self.base] if self.base else []
        return [*asked, self.wikidata] if not self.wikidata.off else asked

    @cached_property
    def version(self) -> str:
        """Changes when the same names may get other links."""
        registry = self.registry.version if self.registry else ""
        return content_hash(registry, self.weights.version, *(s.version for s in self.sources))

    def answers(self, connection: Connection) -> dict[str, str]:
        """For every document, a hash of what Wikidata has said of its names; empty while the client is off."""
        if self.wikidata.off:
            return {}
        spelled: dict[str, list[str]] = defaultdict(list)
        for name in document_names.load(connection):
            spelled[name.document] += asked_of(name)
        digests = self.wikidata.answers_digest({n for names in spelled.values() for n in names})
        return {d: content_hash(*(digests.get(n, "") for n in sorted(names))) for d, names in spelled.items()}

    def about(self, wikidata_id: str | None, registry_id: str | None) -> About:
        """What an entity is called in the registry, and its item's description, the registry's before the knowledge base's."""
        entry = self._registered.get(registry_id or "")
        item = self.base.item(wikidata_id) if wikidata_id and self.base else None
        description = (entry.description if entry else None) or (item.description if item else None)
        return About(entry.label if entry else None, description)

    def bearers(self, name: str) -> int:
        """How many items of the knowledge base a normalised name may mean; 0 without one."""
        return self.base.bearers(name) if self.base else 0

    def close(self) -> None:
        """Close what was opened."""
        for name in ("base", "wikidata"):
            if opened := self.__dict__.get(name):
                opened.close()


def names_to_ask(connection: Connection) -> Iterator[str]:
    """The names that Wikidata is asked for: all that links may rest on, each once, sorted."""
    yield from sorted({query for name in document_names.load(connection) for query in asked_of(name)})
