"""Which sources of candidates a home has: its registry, its knowledge base, Wikidata."""

from flows.settings import Settings
from resolution.wikidata_api import WikidataSettings


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
