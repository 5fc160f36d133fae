"""Blocks: which within-document entities of different documents may meet at all. Two within-document entities without a shared key, by however many steps, never do.

A key is a string. Most keys join all within-document entities that carry them. A key that starts with `~` gathers spellings that may be
typo variants of one name: under it only those meet whose canonical names really differ by one typo, so that a block stays small. Under a
key that starts with `?`, an item that several may be linked to, only those meet whose names are alike.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from polyonym.resolution.clustering.disjoint_sets import DisjointSets
from polyonym.resolution.names.comparison import alike
from polyonym.resolution.names.normal_forms import demonym_of, is_generic, is_typo_variant
from polyonym.resolution.names.persons import is_given_name
from polyonym.resolution.names.tables import places, squash
from polyonym.resolution.within_document.definitions import DEFINED, DEFINITION
from polyonym.resolution.within_document.document_entities import DocumentEntity, DocumentEntityKey

# Names of a within-document entity that mean something outside their document. A given name or "the Court" does not.
_LOCAL_RULES = frozenset({DEFINITION, "given name", "generic head", "plural", "address"})


def linking_names(document_entity: DocumentEntity) -> list[str]:
    """The within-document entity's names under which other documents may know the same thing, the head first."""
    rest = (
        n.name for n in document_entity.names if n.name != document_entity.head and n.rule not in _LOCAL_RULES and not is_generic(n.name)
    )
    return [document_entity.head, *sorted(rest)]


def people_of(document_entity: DocumentEntity) -> str:
    """The singular of a name that most of its labels take for a people's or a faith's ("hindus" to "hindu"); else ""."""
    labels = document_entity.labels
    return (
        document_entity.head.removesuffix("s") if labels.get("NORP", 0) * 2 > sum(labels.values()) and len(document_entity.head) > 4 else ""
    )


def word_key(head: str) -> str:
    """A name's words in the order of the alphabet, without small words ("ministry of finance", "finance ministry"; not where order tells
    institutions apart) and without a plural s, unless the name may be a person's ("Owens" is not "Owen"). What firms and services leave off
    behind two words or more is left off ("midland freight company").
    """
    tokens = head.split()
    if len(tokens) == 2 and is_given_name(tokens[0]) and is_given_name(tokens[1]):
        return head  # Ali Hassan is not Hassan Ali
    while len(tokens) > 2 and (tokens[-1] in _LEFT_OFF or (tokens[-1] == "department" and tokens[-2] in ("police", "fire"))):
        tokens = tokens[:-1]
    if not is_given_name(tokens[0]):
        if not _ORDERED.intersection(tokens):
            tokens = [t for t in tokens if t not in ("of", "the", "for")]
        tokens = [t.removesuffix("s") if len(t) > 3 else t for t in tokens]
    return " ".join(sorted(tokens)) or head


_LEFT_OFF = frozenset({"company", "companies", "corporation", "group", "holding", "holdings", "organization", "enterprises"})
_ORDERED = frozenset({"university", "college", "school", "institute", "bank", "republic"})


def without_country(head: str) -> str:
    """The name without the country in front ("united states food and drug administration"), where three words or more are left; else ""."""
    tokens = head.split()
    for size in (1, 2):
        if len(tokens) >= size + 3 and " ".join(tokens[:size]) in places().names:
            return " ".join(tokens[size:])
    return ""


def block_keys(document_entity: DocumentEntity, demonyms: bool = False) -> frozenset[str]:
    """The within-document entity's keys. With `demonyms`, a people's name meets its country ("german", "germany")."""
    if is_generic(document_entity.head) or any(n.rule == DEFINED and n.name == document_entity.head for n in document_entity.names):
        return frozenset({f"only:{document_entity.document}\x1f{document_entity.head}"})
    keys = {f"name:{n}" for n in [*linking_names(document_entity), document_entity.surname, without_country(document_entity.head)] if n}
    tokens = document_entity.head.split()
    if len(tokens) > 1:
        keys.add("spelling:" + squash(document_entity.head))
        keys.add("words:" + word_key(document_entity.head))
    if document_entity.wikidata_id:
        keys.add("wikidata:" + document_entity.wikidata_id)
    if document_entity.item:
        keys.add("?" + document_entity.item)
    if document_entity.registry_id:
        keys.add("registry:" + document_entity.registry_id)
    keys.update("address:" + address for address in document_entity.addresses)
    if people := people_of(document_entity):
        keys.add("people:" + people)
    if demonyms and (country := demonym_of(document_entity.head)):
        keys.add("name:" + country)
    if "," in document_entity.head:
        keys.add("name:" + document_entity.head.partition(",")[0])
    return frozenset(keys) | slip_keys(document_entity.head)


@lru_cache(maxsize=100_000)
def slip_keys(head: str) -> frozenset[str]:
    """Keys that a name shares with its slips: its first letter and consonants (for what goes wrong with vowels, doubled or exchanged letters),
    and all its letters but one of the consonants (for one left out or mistaken).
    """
    letters = squash(head)
    if len(letters) < 7 or any(c.isdigit() for c in letters):
        return frozenset()
    consonants = [i for i in range(1, len(letters)) if letters[i] not in "aeiouywh"]
    skeleton = letters[0]
    for i in consonants:
        if letters[i] != skeleton[-1]:
            skeleton += letters[i]
    keys = {"~" + letters[:i] + letters[i + 1 :] for i in consonants} | {"~" + letters}
    return frozenset(keys | {"~:" + skeleton} if len(skeleton) > 3 else keys)


_VERIFIED = ("~", "?")


def _meet(key: str, a: str, b: str) -> bool:
    """Whether within-document entities of two heads meet under a key that asks for more than that both have it."""
    return is_typo_variant(a, b) if key.startswith("~") else alike(a, b)


def closure(
    changed: Iterable[str],
    document_entities_of: Callable[[Sequence[str]], Mapping[str, Sequence[DocumentEntityKey]]],
    keys_of: Callable[[Sequence[DocumentEntityKey]], Mapping[DocumentEntityKey, Iterable[str]]],
) -> frozenset[DocumentEntityKey]:
    """All within-document entities of the blocks that any of the `changed` keys touches.

    `changed` holds the keys of changed within-document entities, those from before the change and those from after it. `document_entities_of` answers, for keys,
    which within-document entities carry them; `keys_of`, for within-document entities, which keys they carry.
    """
    seen_keys = set(changed)
    holders: dict[str, list[DocumentEntityKey]] = defaultdict(list)
    document_entities: set[DocumentEntityKey] = set()
    # A changed within-document entity may be gone: through such keys every within-document entity that carries them counts as touched, verified or not.
    wanted = sorted(seen_keys)
    fresh = {u for under_key in document_entities_of(wanted).values() for u in under_key}
    while fresh:
        document_entities |= fresh
        keys_of_fresh = keys_of(sorted(fresh))
        keys = {k for ks in keys_of_fresh.values() for k in ks}
        found_of = document_entities_of(sorted(keys - seen_keys))
        seen_keys |= keys
        for key in sorted(found_of):
            holders[key] = sorted(set(holders[key]) | set(found_of[key]))
        reached: set[DocumentEntityKey] = set()
        for document_entity in fresh:
            for key in keys_of_fresh.get(document_entity, ()):
                if key.startswith(_VERIFIED):
                    reached.update(u for u in holders[key] if u not in document_entities and _meet(key, u[1], document_entity[1]))
                else:
                    reached.update(holders[key])
        fresh = reached - document_entities
    return frozenset(document_entities)


def blocks(
    document_entities: Sequence[DocumentEntity], same: Iterable[tuple[DocumentEntityKey, DocumentEntityKey]] = (), demonyms: bool = False
) -> list[list[DocumentEntity]]:
    """The within-document entities cut into blocks, each sorted by within-document entity key, in the order of their first within-document entity. Near linear in the number of within-document entities."""
    ordered = sorted(document_entities, key=lambda u: u.key)
    sets = DisjointSets(len(ordered))
    first: dict[str, int] = {}
    verified: dict[str, dict[str, int]] = {}  # the keys of several heads; few are
    for i, document_entity in enumerate(ordered):
        for key in block_keys(document_entity, demonyms):
            j = first.setdefault(key, i)
            if not key.startswith(_VERIFIED):
                sets.unite(j, i)
            elif ordered[j].head != document_entity.head:
                verified.setdefault(key, {ordered[j].head: j}).setdefault(document_entity.head, i)
    for key, by_head in verified.items():
        heads = list(by_head.items())
        for n, (a, i) in enumerate(heads):
            for b, j in heads[n + 1 :]:
                if sets.find(i) != sets.find(j) and _meet(key, a, b):
                    sets.unite(i, j)
    index = {u.key: i for i, u in enumerate(ordered)}
    for left, right in same:
        if left in index and right in index:
            sets.unite(index[left], index[right])
    members: dict[int, list[DocumentEntity]] = {}
    for i, document_entity in enumerate(ordered):
        members.setdefault(sets.find(i), []).append(document_entity)
    return list(members.values())
