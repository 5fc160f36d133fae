"""Entities by what people call them: a name in any normal form or case, or an id."""

import re
from typing import Any

from sqlalchemy import Connection, or_, select

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.store.tables import batched
from polyonym.resolution import entities, identity
from polyonym.resolution.entities import Entity, aliases, memberships
from polyonym.resolution.judgements.judgements import PART
from polyonym.resolution.names.normal_forms import normalise

MOST = 8
"""So many entities are explained of those that one name stands for; the rest are named among the others."""

_SUGGESTED = 5

_NEAR = 60

_DETERMINER = re.compile(r"\A(?:the|an?) (?=\S)")


def meant(connection: Connection, what: str) -> list[tuple[Entity, str]]:
    """The entities that `what` stands for, each with how it was found; most mentioned first, at most MOST. Raises WrongUse without any."""
    how = _find(connection, what.strip())
    most_mentioned = sorted(entities.load(connection, sorted(how)), key=lambda e: (-e.mentions, e.name, e.entity_id))[:MOST]
    if not most_mentioned:
        raise WrongUse(_nothing(connection, what))
    return [(e, how[e.entity_id]) for e in most_mentioned]


def _find(connection: Connection, what: str) -> dict[str, str]:
    """The ids of the entities that `what` stands for, each with how it was found."""
    ids: dict[str, str] = {}

    def add(how: str, statement: Any) -> None:
        for entity_id in connection.execute(statement).scalars():
            ids.setdefault(entity_id, how)

    e, m, a, r = entities.entities.c, memberships.c, aliases.c, identity.redirects.c
    add("by its id", select(e.entity_id).where(e.entity_id == what))
    add(f"by its former id {what}", select(r.new_id).where(r.old_id == what, r.why == "merged"))
    add("by its Wikidata id", select(e.entity_id).where(e.wikidata_id == what.upper()))
    add("by its registry id", select(e.entity_id).where(e.registry_id == what))
    if not ids:
        normal = sorted({normalise(what), normalise(what, person=True)} - {""})
        split_off = [m.name.startswith(n + PART, autoescape=True) for n in normal]
        add("by a name", select(m.entity_id).where(or_(m.name.in_(normal), *split_off)))
        add("by a name", select(a.entity_id).where(a.name == what))
        add("by its name", select(e.entity_id).where(e.name == what))
    if not ids:
        alike = [n for n in connection.execute(select(a.name).distinct()).scalars() if _plain(n) == _plain(what)]
        for batch in batched(sorted(alike), 500):
            add("by a name in another case", select(a.entity_id).where(a.name.in_(batch)))
    return ids


def _plain(name: str) -> str:
    """A name without case, spare white space and a leading determiner."""
    return _DETERMINER.sub("", " ".join(name.casefold().split()))


def _nothing(connection: Connection, what: str) -> str:
    from rapidfuzz import fuzz, process

    known = sorted({*connection.execute(select(aliases.c.name).distinct()).scalars()})
    if not known:
        return f"Nothing here is called {what!r}: the home holds no entities yet. Fill it with: polyonym ingest PATH"
    folded = [n.casefold() for n in known]
    near = process.extract(what.casefold(), folded, scorer=fuzz.token_sort_ratio, limit=3 * _SUGGESTED, score_cutoff=_NEAR)
    names = list({folded[position]: known[position] for _, _, position in near}.values())[:_SUGGESTED]
    advice = f"Near names: {', '.join(names)}." if names else "`polyonym names` and `polyonym export entities` show what there is."
    return f"Nothing here is called {what!r}, and it is no id of an entity, of the registry or of Wikidata. {advice}"
