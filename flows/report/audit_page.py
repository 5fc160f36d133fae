"""The audit as a page: one file, nothing to load, no script."""

from collections.abc import Mapping
from typing import Any

from polyonym.flows.report import rendering

_ERRORS = 200


def render(audit: Mapping[str, Any]) -> str:
    """The page of an audit: {standing, gold (or None), broken, gold_set}, as the dataclasses of polyonym.resolution.evaluation become in JSON."""
    gold, standing = audit["gold"], audit["standing"]
    links = [("linked", standing["links"]), ("nothing fits", standing["nils"]), ("in doubt", standing["abstentions"])]
    return rendering.render(
        "audit.html.jinja",
        standing=standing,
        links=links,
        all_links=sum(n for _, n in links),
        gold=gold,
        gold_set=audit["gold_set"],
        broken=audit["broken"],
        scores=gold["scores"] if gold else None,
        errors=gold["errors"][:_ERRORS] if gold else [],
        errors_left=max(0, len(gold["errors"]) - _ERRORS) if gold else 0,
    )
