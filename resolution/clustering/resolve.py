"""Resolution across documents: from the names and links of the changed documents to entities with lasting ids.

Only the blocks that a change touches are solved; since a block's solution depends on nothing outside it, the result equals
that of solving everything anew (promise 1).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from polyonym.ingest.store import stage_marks
from polyonym.ingest.store.tables import get_fact, set_fact
from polyonym.ingest.text import documents as documents_table
from polyonym.resolution import decisions, entities, identity
from polyonym.resolution.clustering import block_keys as unit_index
from polyonym.resolution.clustering.blocks import block_keys, closure
from polyonym.resolution.clustering.clusters import Cluster, Solution, solve
from polyonym.resolution.clustering.contexts import content_words
from polyonym.resolution.clustering.evidence import Bearers, nobody
from polyonym.resolution.entities import Alias, Entity, Membership
from polyonym.resolution.identity import Assignment, Newcomer
from polyonym.resolution.judgements import judgements
from polyonym.resolution.judgements.judgements import Judgement, Reference, Renames
from polyonym.resolution.linking import links
from polyonym.resolution.linking.links import Link
from polyonym.resolution.linking.ranking import exclusive
from polyonym.resolution.within_document import document_names
from polyonym.resolution.within_document.document_entities import DocumentEntity, DocumentEntityKey, DocumentName

STAGE = "resolve"
SURE = 0.9
"""The confidence from which a link may join or part names, if it is one to an item of that name; any other joins only names that are alike."""
_MOVED = "moved_documents"


@dataclass(frozen=True)
class About:
    """What is known of a thing beside the documents: what the registry calls it, and a description."""

    name: str | None = None
    description: str | None = None


AboutItem = Callable[[str | None, str | None], About]
"""What is known of a thing by its (Wikidata id, registry id)."""


@dataclass
class Resolved:
    """What a resolution did. The lists hold entity ids, links (entity id, Wikidata id)."""

    document_entities: int = 0
    entities: int = 0
    new: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    merged: list[tuple[str, str]] = field(default_factory=list)
    split: list[tuple[str, str]] = field(default_factory=list)
    links_gained: list[tuple[str, str]] = field(default_factory=list)
    links_lost: list[tuple[str, str]] = field(default_factory=list)


def moves(connection: Connection) -> dict[str, str]:
    """The documents that were renamed since the last resolution, old name to new."""
    moved: dict[str, str] = get_fact(connection, _MOVED, {})
    return moved


def remember_moves(connection: Connection, new: Mapping[str, str]) -> None:
    """Keep which document's old name became which new one, until the next resolution has carried the ids over."""
    if new:
        earlier = {old: new.get(now, now) for old, now in moves(connection).items()}  # moved again before a resolution
        set_fact(connection, _MOVED, earlier | dict(new))


def pending(connection: Connection, wanted: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The documents whose names are to be resolved again, and those that are in the index but no more in the corpus."""
    gone = sorted(unit_index.known_documents(connection) - set(wanted))
    return stage_marks.outdated(connection, STAGE, wanted), gone


def resolve(
    connection: Connection, wanted: Mapping[str, str], about: AboutItem, demonyms: bool = False, bearers: Bearers = nobody
) -> Resolved:
    """Bring entities up to date with names, links and judgements, inside the caller's transaction.

    `wanted` maps every document of the corpus to the key of its names and links; `about` tells what is known of an
    item by (Wikidata id, registry id); with `demonyms` a people's name is its country's;
    `bearers` tells how many things are known to bear a normalised name.
    """
    dirty, gone = pending(connection, wanted)
    result = Resolved()
    if not dirty and not gone:
        if moves(connection):  # documents that moved without having names
            set_fact(connection, _MOVED, {})
        return result
    known = judgements.load(connection)
    changed = list(load_document_entities(connection, dirty))
    judged = judgements.keys_by_name(known)
    keys = {
        u.key: block_keys(u, demonyms).union(*(judged[whole] for n in u.names if (whole := judgements.whole_name(n.name)) in judged))
        for u in changed
    }
    before = unit_index.keys_of_documents(connection, sorted({*dirty, *gone}))
    document_entities = _touched(connection, before, {*dirty, *gone}, changed, keys, whole=len(dirty) * 4 > len(wanted))
    solution = solve(document_entities, judgements.constraints(known, document_entities), _contexts(connection), demonyms, bearers)
    result.document_entities = len(document_entities)
    _store(connection, document_entities, solution, known, about, [*dirty, *gone], result)
    # All within-document entities of one head are in one block, so that the decisions of these heads are those of the blocks solved, before and now.
    decisions.replace(connection, sorted({head for _, head in [*before, *(u.key for u in document_entities)]}), solution.decisions)
    unit_index.replace(connection, [*dirty, *gone], keys)
    stage_marks.mark(connection, STAGE, {d: wanted[d] for d in dirty})
    stage_marks.forget(connection, gone)
    set_fact(connection, _MOVED, {})
    result.entities = len(solution.clusters)
    return result


def load_document_entities(connection: Connection, wanted: Sequence[str] | None) -> Iterator[DocumentEntity]:
    """The within-document entities of these documents (of all for None), with their links as judged."""
    known = judgements.load(connection)
    every = {(k.document, k.name): k for k in judgements.judged_links(known, links.load_bare(connection, wanted))}
    made = {part: k for part, k in every.items() if _is_sure(k)}
    likely = {part: k for part, k in every.items() if k.wikidata_id and part not in made}
    opposites = judgements.opposites(known)
    groups: dict[tuple[str, str], list[DocumentName]] = {}
    for name in document_names.load(connection, wanted):
        groups.setdefault((name.document, name.group), []).append(name)
    for (document, head), names in sorted(groups.items()):
        names.sort(key=lambda n: n.name)
        apart = _judged_apart(head, names, opposites)
        link = _link_of(head, [n for n in names if n not in apart], made)
        # A sure link to another item is exclusive evidence: such a name is a thing of its own, whatever it is short for.
        apart += [n for n in names if n.name != head and n not in apart and _differ(link, made.get((document, n.name)))]
        stay = [n for n in names if n not in apart]
        yield _unit(document, head, stay, link, None if link else _link_of(head, stay, likely))
        for name in apart:
            yield _unit(document, name.name, [name], made.get((document, name.name)))


def _judged_apart(
    head: str, names: Sequence[DocumentName], opposites: Mapping[str, Sequence[tuple[Reference, Reference]]]
) -> list[DocumentName]:
    """The names of a group that a person has judged different from its head, or from a longer name that stays."""
    stay: list[DocumentName] = []
    apart: list[DocumentName] = []
    for name in sorted(names, key=lambda n: (n.name != head, -len(n.name), n.name)):
        pairs = [b for a, b in opposites.get(name.name, ()) if a.means(name.name, name.document)]
        (apart if any(b.means(n.name, n.document) for b in pairs for n in stay) else stay).append(name)
    return apart


def _is_sure(link: Link) -> bool:
    return link.registry_id is not None or (link.wikidata_id is not None and link.named and link.confidence >= SURE)


def _unit(document: str, head: str, names: Sequence[DocumentName], link: Link | None, likely: Link | None = None) -> DocumentEntity:
    ids = (link.wikidata_id if link else None, link.registry_id if link else None, likely.wikidata_id if likely else None)
    return DocumentEntity(document, head, tuple(names), *ids)


def _differ(a: Link | None, b: Link | None) -> bool:
    """Whether two links lead to different items of one source."""
    if a is None or b is None:
        return False
    pairs = ((a.wikidata_id, b.wikidata_id), (a.registry_id, b.registry_id))
    return any(x is not None and y is not None and x != y for x, y in pairs)


def _link_of(head: str, names: Sequence[DocumentName], made: Mapping[tuple[str, str], Link]) -> Link | None:
    """The link that counts for a group: its head's, else the surest of its names'."""
    of_names = [k for n in names if (k := made.get((n.document, n.name)))]
    return max(of_names, key=lambda k: (k.name == head, k.registry_id is not None, k.confidence, k.name), default=None)


def _touched(
    connection: Connection,
    before: Mapping[DocumentEntityKey, Iterable[str]],
    moving: Collection[str],
    changed: list[DocumentEntity],
    keys: Mapping[DocumentEntityKey, frozenset[str]],
    whole: bool,
) -> list[DocumentEntity]:
    """All within-document entities of the blocks that the `changed` within-document entities of the `moving` documents are in, or that those `before` were in."""
    if whole:
        return list(load_document_entities(connection, None))
    changed_under: dict[str, list[DocumentEntityKey]] = {}
    for document_entity in changed:
        for key in keys[document_entity.key]:
            changed_under.setdefault(key, []).append(document_entity.key)

    def document_entities_of(asked: Sequence[str]) -> dict[str, list[DocumentEntityKey]]:
        stored = unit_index.document_entities_under(connection, asked)
        return {k: [*(u for u in stored.get(k, ()) if u[0] not in moving), *changed_under.get(k, ())] for k in asked}

    def keys_of(asked: Sequence[DocumentEntityKey]) -> dict[DocumentEntityKey, Iterable[str]]:
        stored = unit_index.keys_of_document_entities(connection, [u for u in asked if u[0] not in moving])
        return {u: keys[u] if u in keys else stored.get(u, ()) for u in asked}

    closed = closure({k for keys_of_unit in (*keys.values(), *before.values()) for k in keys_of_unit}, document_entities_of, keys_of)
    others = sorted({document for document, _ in closed}.difference(moving))
    return [*changed, *(u for u in load_document_entities(connection, others) if u.key in closed)]


def _contexts(connection: Connection) -> Callable[[str], frozenset[str]]:
    """The content words of a document, read once when asked for."""
    words_of: dict[str, frozenset[str]] = {}

    def context(document: str) -> frozenset[str]:
        if document not in words_of:
            words_of[document] = next((content_words(d.text) for d in documents_table.load(connection, [document])), frozenset())
        return words_of[document]

    return context


def _store(
    connection: Connection,
    document_entities: Sequence[DocumentEntity],
    solution: Solution,
    known: Sequence[Judgement],
    about: AboutItem,
    moving: Sequence[str],
    result: Resolved,
) -> None:
    by_key = {u.key: u for u in document_entities}
    clusters = solution.clusters
    renames = Renames(known)
    newcomers = [Newcomer(_shown(c, by_key, renames, about), {(n.document, n.name): n.count for n in _names(c, by_key)}) for c in clusters]
    old_ids = _replaced(connection, newcomers, moving)
    old = list(entities.members_of(connection, old_ids))
    before = {e.entity_id: e for e in entities.load(connection, old_ids)}
    assignment = identity.assign(
        newcomers,
        old,
        {i: e.name for i, e in before.items()},
        entities.all_ids(connection) - set(old_ids),
        identity.load(connection),
        moves(connection),
    )
    items = _items(connection, known, newcomers, clusters)
    linked = [replace(c, wikidata_id=q) for c, q in zip(clusters, items, strict=True)]
    made = [_entity(i, n.name, c, list(_names(c, by_key)), about) for i, n, c in zip(assignment.ids, newcomers, linked, strict=True)]
    entities.replace(connection, old_ids, made, _aliases(made, clusters, by_key), _memberships(made, clusters, by_key))
    identity.write(connection, assignment)
    _record(assignment, made, before, result)


def _names(cluster: Cluster, by_key: Mapping[tuple[str, str], DocumentEntity]) -> Iterator[DocumentName]:
    for key in cluster.document_entities:
        yield from by_key[key].names


def _replaced(connection: Connection, newcomers: Iterable[Newcomer], moving: Sequence[str]) -> list[str]:
    """The entities that the newcomers, and the documents that changed or went, take the place of."""
    parts = {part for n in newcomers for part in n.parts}
    documents = sorted({d for d, _ in parts} | set(moving))
    leaving = set(moving)
    return sorted(
        {m.entity_id for m in entities.load_memberships(connection, documents) if m.document in leaving or (m.document, m.name) in parts}
    )


def _shown(cluster: Cluster, by_key: Mapping[DocumentEntityKey, DocumentEntity], renames: Renames, about: AboutItem) -> str:
    """The name by which a cluster's entity is shown: as judged, else the registry's, else the documents'."""
    judged = renames.of((n.document, n.name) for n in _names(cluster, by_key))
    return judged or about(None, cluster.registry_id).name or cluster.name


def _items(
    connection: Connection, known: Sequence[Judgement], newcomers: Sequence[Newcomer], clusters: Sequence[Cluster]
) -> list[str | None]:
    """For each newcomer its Wikidata id: the cluster's own, else the one that most of its mentions are linked to, sure or not; ties go to the surer, then
    the older. Of several things of one name that are kept apart at most one is the item: it stays where it is likelier there than anywhere else or nowhere.
    """
    documents = sorted({d for n in newcomers for d, _ in n.parts})
    made = {(k.document, k.name): k for k in judgements.judged_links(known, links.load_bare(connection, documents)) if k.wikidata_id}
    result: list[str | None] = []
    likely: list[float] = []
    for newcomer, cluster in zip(newcomers, clusters, strict=True):
        votes: dict[str, tuple[int, float]] = {}
        for part, count in newcomer.parts.items():
            if link := made.get(part):
                claimants = votes.get(str(link.wikidata_id), (0, 0.0))
                votes[str(link.wikidata_id)] = (claimants[0] + count, max(claimants[1], link.confidence))
        item = cluster.wikidata_id or min(votes, key=lambda q: (-votes[q][0], -votes[q][1], len(q), q), default=None)
        result.append(item)
        likely.append(votes[item][1] if item in votes else 1.0)
    # Things of one head are in one block, so that these are all that claim the item under that name.
    claims: dict[tuple[str, str], list[int]] = {}
    for i, (item, cluster) in enumerate(zip(result, clusters, strict=True)):
        if item and likely[i] < 1:
            for head in sorted({head for _, head in cluster.document_entities}):
                claims.setdefault((item, head), []).append(i)
    lost = {
        i
        for claimants in claims.values()
        if len(claimants) > 1
        for i, p in zip(claimants, exclusive([likely[i] for i in claimants]), strict=True)
        if p < 0.5
    }
    return [None if i in lost else item for i, item in enumerate(result)]


def _entity(entity_id: str, shown: str, cluster: Cluster, names: Sequence[DocumentName], about: AboutItem) -> Entity:
    return Entity(
        entity_id,
        shown,
        cluster.type,
        cluster.wikidata_id,
        cluster.registry_id,
        about(cluster.wikidata_id, cluster.registry_id).description,
        len({n.document for n in names}),
        sum(n.count for n in names),
    )


def _aliases(made: Sequence[Entity], clusters: Sequence[Cluster], by_key: Mapping[tuple[str, str], DocumentEntity]) -> Iterator[Alias]:
    for entity, cluster in zip(made, clusters, strict=True):
        counts: Counter[str] = Counter()
        for name in _names(cluster, by_key):
            counts.update(name.surfaces)
        yield from (Alias(entity.entity_id, surface, count) for surface, count in sorted(counts.items()))


def _memberships(
    made: Sequence[Entity], clusters: Sequence[Cluster], by_key: Mapping[tuple[str, str], DocumentEntity]
) -> Iterator[Membership]:
    for entity, cluster in zip(made, clusters, strict=True):
        for name in _names(cluster, by_key):
            yield Membership(name.document, name.name, entity.entity_id, name.count)


def _record(assignment: Assignment, made: Sequence[Entity], before: Mapping[str, Entity], result: Resolved) -> None:
    result.new = sorted(set(assignment.ids) - set(before))
    result.gone = assignment.gone
    result.merged = sorted((r.old_id, r.new_id) for r in assignment.redirects if r.why == "merged")
    result.split = sorted((r.old_id, r.new_id) for r in assignment.redirects if r.why == "split")
    after = {(e.entity_id, e.wikidata_id) for e in made if e.wikidata_id}
    earlier = {(e.entity_id, e.wikidata_id) for e in before.values() if e.wikidata_id}
    result.links_gained = sorted((i, q) for i, q in after - earlier if q)
    result.links_lost = sorted((i, q) for i, q in earlier - after if q)
