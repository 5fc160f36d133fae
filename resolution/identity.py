"""Identity: ids that outlive the clusters they were given to.

An id is made from an entity's content the first time, and afterwards kept by continuity: of the triples (document, name,
ordinal) of an old entity that still exist, more than half decide which new cluster inherits its id. A merge leaves a
redirect, a split records where the new id came from, and an id that a merge took away comes back when the merge is undone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from sqlalchemy import Column, Connection, Table, Text, delete, select

from polyonym.ingest.store.tables import batched, insert_rows, metadata
from polyonym.ingest.text.documents import content_hash
from polyonym.resolution.entities import Membership
from polyonym.resolution.judgements.judgements import whole_name

Part = tuple[str, str]  # (document, name)


@dataclass(frozen=True)
class Redirect:
    """That `old_id` is now found under `new_id` ("merged"), or that `new_id` was split off `old_id` ("split").

    `content` is the id that the vanished (or split-off) entity's content makes, by which an undone merge finds its old id.
    `direct` is the id that it was merged into at the time, which may have been merged into `new_id` since.
    """

    old_id: str
    new_id: str
    why: str
    content: str
    direct: str


redirects = Table(
    "redirects",
    metadata,
    Column("old_id", Text, primary_key=True),
    Column("new_id", Text, primary_key=True),
    Column("why", Text, primary_key=True),
    Column("content", Text, nullable=False),
    Column("direct", Text, nullable=False),
)


@dataclass(frozen=True)
class Newcomer:
    """A cluster that wants an id: its name, and the mentions that each of its (document, name) parts has."""

    name: str
    parts: Mapping[Part, int]


@dataclass(frozen=True)
class Assignment:
    """Ids for the newcomers, in their order, and what to write about old ids. `restored` redirects are void."""

    ids: list[str]
    redirects: list[Redirect]
    restored: list[str]
    gone: list[str]


def content_id(name: str, number: int = 0) -> str:
    """The id that a name makes; `number` counts up where it is taken."""
    return "e" + content_hash(name, str(number))[:15]


def assign(
    newcomers: Sequence[Newcomer],
    old: Iterable[Membership],
    old_names: Mapping[str, str],
    taken: Iterable[str],
    known: Iterable[Redirect],
    moved: Mapping[str, str],
) -> Assignment:
    """Give each newcomer its id.

    `old` are the memberships of all entities that the newcomers replace, `old_names` their names by id, `taken` the ids
    in use elsewhere, `known` the redirects so far, `moved` maps a document's old name to its new one. The result does
    not depend on the order of any argument but the newcomers', and on theirs only in the order of the result.
    """
    claims = _claims(newcomers, old, moved)
    order = sorted(range(len(newcomers)), key=lambda i: (newcomers[i].name, sorted(newcomers[i].parts)))
    merged = sorted((r for r in known if r.why == "merged"), key=lambda r: r.old_id)
    heirs = _heirs(newcomers, claims, old_names)
    restored = _restored(newcomers, order, claims, heirs, merged)
    # What is left of an entity from which merged ones were taken out again is the old entity.
    heirs |= _heirs(newcomers, {o: _without(c, restored) for o, c in claims.items() if o not in heirs}, old_names)
    ids = dict(restored)
    written: list[Redirect] = []
    for index in sorted(set(heirs.values())):
        rivals = [o for o, i in heirs.items() if i == index]
        keeper = max(rivals, key=lambda o: (claims[o][index], old_names.get(o) == newcomers[index].name, _reversed(o)))
        ids[index] = keeper
        made = (Redirect(o, keeper, "merged", content_id(old_names.get(o, "")), keeper) for o in sorted(rivals) if o != keeper)
        written += made
    origins = _origins(claims)
    # An id that leads to another entity is not free: it comes back when that merge is undone, or never.
    used = {*taken, *heirs, *restored.values(), *(r.old_id for r in merged)}
    numbers: Counter[str] = Counter()
    for index in order:
        name = newcomers[index].name
        if index not in ids:
            while content_id(name, numbers[name]) in used:
                numbers[name] += 1
            ids[index] = content_id(name, numbers[name])
            used.add(ids[index])
        origin = origins.get(index)
        if origin and origin != ids[index] and index not in heirs.values():
            written.append(Redirect(origin, ids[index], "split", content_id(name), ids[index]))
    gone = sorted(set(old_names) - set(ids.values()) - {r.old_id for r in written if r.why == "merged"})
    return Assignment([ids[i] for i in range(len(newcomers))], written, sorted(restored.values()), gone)


def _restored(
    newcomers: Sequence[Newcomer],
    order: Sequence[int],
    claims: Mapping[str, Counter[int]],
    heirs: Mapping[str, int],
    merged: Sequence[Redirect],
) -> dict[int, str]:
    """For the newcomers that an undone merge sets free again, the id that each had before it."""
    back: dict[tuple[str, str], list[str]] = defaultdict(list)
    for redirect in merged:
        back[redirect.new_id, redirect.content].append(redirect.old_id)
    restored = {}
    origins = _origins(claims)
    for index in order:
        former = back.get((origins.get(index, ""), content_id(newcomers[index].name)))
        if former and index not in heirs.values():
            restored[index] = former.pop(0)
    return restored


def _without(shares: Counter[int], restored: Mapping[int, str]) -> Counter[int]:
    return Counter({i: n for i, n in shares.items() if i not in restored})


def _claims(newcomers: Sequence[Newcomer], old: Iterable[Membership], moved: Mapping[str, str]) -> dict[str, Counter[int]]:
    """For each old id, how many of its surviving triples lie in which newcomer."""
    new: dict[Part, dict[str, tuple[int, int]]] = defaultdict(dict)  # by whole name; then name to newcomer and number
    for i, newcomer in enumerate(newcomers):
        for (document, name), count in newcomer.parts.items():
            new[document, whole_name(name)][name] = (i, count)
    before: dict[Part, list[Membership]] = defaultdict(list)
    for member in old:
        before[moved.get(member.document, member.document), whole_name(member.name)].append(member)
    claims: dict[str, Counter[int]] = defaultdict(Counter)
    for part, members in before.items():
        free = {name: count for name, (_, count) in new[part].items()}
        left: list[tuple[str, int]] = []
        for member in sorted(members, key=lambda m: m.name):
            # Ordinals count up from 0 within (document, name), so of two counts the smaller survives.
            survive = min(member.mentions, free.get(member.name, 0))
            if survive:
                claims[member.entity_id][new[part][member.name][0]] += survive
                free[member.name] -= survive
            left.append((member.entity_id, member.mentions - survive))
        # What has left its name has been split off, or come back.
        for entity_id, count in left:
            for name in sorted(free):
                survive = min(count, free[name])
                if survive:
                    claims[entity_id][new[part][name][0]] += survive
                    free[name] -= survive
                    count -= survive
    return dict(claims)


def _heirs(newcomers: Sequence[Newcomer], claims: Mapping[str, Counter[int]], old_names: Mapping[str, str]) -> dict[str, int]:
    """Which newcomer inherits each old id: the one with more than half, or, where half stands against half, the one that bears the name."""
    heirs = {}
    for old_id, shares in claims.items():
        if not shares:
            continue
        total = sum(shares.values())
        best = max(shares.values())
        leaders = [i for i, n in shares.items() if n == best]
        if 2 * best > total:
            heirs[old_id] = leaders[0]
        elif 2 * best == total:
            namesakes = [i for i in shares if newcomers[i].name == old_names.get(old_id)]
            heirs[old_id] = min(
                namesakes or leaders,
                key=lambda i: (newcomers[i].name != old_names.get(old_id), -len(newcomers[i].name), sorted(newcomers[i].parts)),
            )
    return heirs


def _origins(claims: Mapping[str, Counter[int]]) -> dict[int, str]:
    """The old entity from which most of each newcomer came."""
    shares: dict[int, Counter[str]] = defaultdict(Counter)
    for old_id, counts in claims.items():
        for index, count in counts.items():
            shares[index][old_id] += count
    return {i: min(c, key=lambda o: (-c[o], o)) for i, c in shares.items()}


def _reversed(text: str) -> tuple[int, ...]:
    """A key under which `max` picks the text that comes first."""
    return tuple(-ord(c) for c in text)


def load(connection: Connection) -> Iterator[Redirect]:
    """All redirects, sorted."""
    for row in connection.execute(select(redirects).order_by(redirects.c.old_id, redirects.c.new_id, redirects.c.why)):
        yield Redirect(*row)


def write(connection: Connection, assignment: Assignment) -> None:
    """Store an assignment's redirects. Where one merge followed another, one look-up still finds the living id."""
    stored = list(load(connection))
    splits = {(r.old_id, r.new_id) for r in stored if r.why == "split"}
    fresh = [r for r in assignment.redirects if r.why == "split" and (r.old_id, r.new_id) not in splits]
    merged = {r.old_id: r for r in stored if r.why == "merged"}
    for old_id in assignment.restored:
        merged.pop(old_id, None)
    merged |= {r.old_id: r for r in assignment.redirects if r.why == "merged"}
    living = [replace(r, new_id=_end(r, merged)) for r in merged.values()]
    changed = sorted(set(living) - set(stored), key=lambda r: r.old_id)
    stale = {r.old_id for r in stored if r.why == "merged"} - merged.keys() | {r.old_id for r in changed}
    for batch in batched(sorted(stale), 500):
        connection.execute(delete(redirects).where(redirects.c.why == "merged", redirects.c.old_id.in_(batch)))
    insert_rows(connection, redirects, (asdict(r) for r in [*changed, *fresh]))


def _end(redirect: Redirect, merged: Mapping[str, Redirect]) -> str:
    end = redirect.direct
    while end in merged:
        end = merged[end].direct
    return end
