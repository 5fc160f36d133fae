"""What one scheduled run is: the ingestion, then the communities as a downstream flow, then the report."""

from pathlib import Path
from typing import Any

from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

from polyonym.flows.orchestration.ingest_corpus import ingest_corpus
from polyonym.flows.orchestration.summarize_communities import summarize_communities
from polyonym.flows.report import report


def ingest_and_summarize(
    paths: list[str],
    home: str,
    config: str | None = None,
    registry_file: str | None = None,
    allow_deletions: bool = False,
    keep_gone: bool | None = None,
) -> dict[str, Any]:
    """Bring the graph of `home` up to date, then its communities; writes the report and returns it."""
    with temporary_settings(
        {PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}
    ):  # a thread that costs a second a flow, for a server that ends with us
        number = ingest_corpus(paths, home, config, registry_file, allow_deletions, keep_gone)
        summarize_communities(home, config, run_number=number)
    return report.write(Path(home), Path(config) if config else None)


def summarize(home: str, config: str | None = None, fresh: bool = False) -> dict[str, Any]:
    """Divide and summarise alone; writes the report and returns it."""
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        summarize_communities(home, config, fresh)
    return report.write(Path(home), Path(config) if config else None)
