"""Corrections by people: from what they type to judgements in the state, refused with the reason where they contradict."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from polyonym.flows.home import history
from polyonym.flows.home.history import Change, gone_id
from polyonym.flows.pipeline.reading import forget
from polyonym.flows.pipeline.run import now
from polyonym.ingest.errors import WrongUse
from polyonym.ingest.sources import removals, sources
from polyonym.ingest.store import stage_marks
from polyonym.ingest.text import documents
from polyonym.resolution import entities, identity
from polyonym.resolution.clustering.conflicts import conflicts, linked_by_others
from polyonym.resolution.entities import Entity
from polyonym.resolution.judgements import judgements
from polyonym.resolution.judgements.contradictions import contradiction
from polyonym.resolution.judgements.judgements import Judgement, Reference
from polyonym.resolution.linking.knowledge_base import QID
from polyonym.resolution.names.normal_forms import normalise
from polyonym.resolution.within_document import document_names

_SPAN = re.compile(r"(?P<document>.+):(?P<start>\d+)-(?P<end>\d+)")


def same_or_different(engine: Engine, kind: str, a: str, b: str, note: str, who: str, when: str) -> Judgement:
    """Keep the judgement that `a` and `b` are the same or different. Raises WrongUse for a contradiction, with its chain."""
    with engine.begin() as connection:
        left, right = find(connection, a), find(connection, b)
        if left == right:
            raise WrongUse(f"{a!r} and {b!r} are the same name; name a document with each (NAME @ DOCUMENT), or use `polyonym split`.")
        ids = [{e.wikidata_id for e in _entities_of(connection, r) if e.wikidata_id} for r in (left, right)]
        if kind == "same" and all(len(items) == 1 for items in ids) and ids[0] != ids[1]:
            raise WrongUse(
                f"{a!r} is linked to {min(ids[0])} and {b!r} to {min(ids[1])}: two Wikidata items are never one thing. Correct a link first: polyonym judge link NAME QID|none"
            )
        judgement = Judgement(kind, left, (right,), "", note, who, when)
        before = _impossible(connection)
        _keep(connection, judgement)
        for other, reason in _impossible(connection).items():
            if other not in before:
                raise WrongUse(
                    f"{a!r} and {b!r} cannot be judged {kind}: nothing of {other.judgement} ({other}) could be obeyed. {reason}. Correct what "
                    "tells them apart first (the registry, or polyonym judge link NAME QID|none), or name a document with each: NAME @ DOCUMENT."
                )
    return judgement


def _impossible(connection: Connection) -> dict[Judgement, str]:
    """The judgements of which nothing can be obeyed, each with what stands against it."""
    return {j: o.told[0] for j, o in conflicts(connection, judgements.load(connection)).items() if o.everywhere}


def unobeyed(connection: Connection, made: Iterable[Judgement]) -> dict[str, tuple[str, ...]]:
    """For each of these judgements that is not obeyed everywhere, by id, what stands against it, in words. Entities must be up to date."""
    known = judgements.load(connection)
    hindered = {j: o.told for j, o in conflicts(connection, known).items()} | linked_by_others(connection, known)
    return {j.judgement: hindered[j] for j in made if j in hindered}


def link(engine: Engine, name: str, item: str, note: str, who: str, when: str) -> Judgement:
    """Keep the judgement that a name stands for a Wikidata item, or for none ("none")."""
    if item != "none" and not QID.fullmatch(item):
        raise WrongUse(f"{item!r} is no Wikidata id: give one such as Q312, or none.")
    with engine.begin() as connection:
        judgement = Judgement("link", find(connection, name), (), "" if item == "none" else item, note, who, when)
        _forget_rivals(connection, judgement)
        _keep(connection, judgement)
    return judgement


def split(engine: Engine, entity: str, mentions: Sequence[str], note: str, who: str, when: str) -> Judgement:
    """Keep the judgement that some mentions of an entity are another thing."""
    with engine.begin() as connection:
        subject = find(connection, entity)
        own = {e.entity_id for e in _entities_of(connection, subject)}
        taken = [reference for text in mentions for reference in _mentions_of(connection, text, own)]
        if not taken:
            raise WrongUse("No mention was given to split off: --mentions DOCUMENT:START-END (see `polyonym explain`).")
        judgement = Judgement("split", subject, tuple(sorted(set(taken), key=str)), "", note, who, when)
        _keep(connection, judgement)
    return judgement


def rename(engine: Engine, entity: str, name: str, note: str, who: str, when: str) -> Judgement:
    """Keep the name by which an entity is shown."""
    if not name.strip():
        raise WrongUse("The new name is empty.")
    with engine.begin() as connection:
        judgement = Judgement("rename", find(connection, entity), (), name.strip(), note, who, when)
        _forget_rivals(connection, judgement)
        _keep(connection, judgement)
    return judgement


def undo(engine: Engine, judgement_id: str) -> Judgement:
    """Take a judgement back; returns it. Raises WrongUse when there is none of this id."""
    with engine.begin() as connection:
        judgement = next((j for j in judgements.load(connection) if j.judgement == judgement_id), None)
        if judgement is None:
            raise WrongUse(f"There is no judgement {judgement_id!r}. `polyonym judgements` lists them.")
        judgements.forget(connection, judgement_id)
        _mark(connection, judgement)
    return judgement


def take_in(engine: Engine, new: Sequence[Judgement]) -> int:
    """Keep imported judgements, all or none; returns how many were new. Raises WrongUse for a contradiction among them or with others."""
    with engine.begin() as connection:
        known = {j.judgement for j in judgements.load(connection)}
        fresh = {j.judgement: j for j in new if j.judgement not in known}
        _keep(connection, *fresh.values())
        return len(fresh)


@dataclass(frozen=True)
class Removed:
    """The names of the documents (and of what was set aside) that went, and the number of the run in whose history that stands."""

    documents: list[str]
    run: int


def remove(engine: Engine, what: str) -> Removed:
    """Take a document or a source out, and begin the run that is to bring the rest up to date.

    Raises WrongUse when there is none of this name.
    """
    with engine.begin() as connection:
        known = sources.remembered(connection)
        root = next((s.root for s in known if what.rstrip("/") in (s.root, s.root.rstrip("/"))), None)
        if root is not None:
            names = documents.of_source(connection, root)
            sources.forget(connection, root)
            removals.forget_source(connection, root)
        else:
            names = {what} & documents.all_names(connection)
            if not names:
                raise WrongUse(
                    f"{what!r} is neither a document nor a source here. `polyonym sources` and `polyonym export documents` list them."
                )
            removals.add(connection, what)
        gone = documents.digests_of(connection, sorted(names))  # without what was set aside
        forget(connection, sorted(names))
        run = history.begin(connection, now(), "correction")
        history.record(connection, run, (Change("document-gone", gone_id(d)) for d in sorted(gone)))
    return Removed(sorted(names), run)


def find(connection: Connection, text: str) -> Reference:
    """What a person means: an entity's id, a registry or Wikidata id, "NAME @ DOCUMENT", or a name. Raises WrongUse when it is not here."""
    entity = next(iter(entities.load(connection, [_living(connection, text)])), None) or next(entities.bearing(connection, text), None)
    if entity is not None:
        return _reference_to(connection, entity)
    name, _, document = text.partition(" @ ")
    for person in (False, True):
        reference = Reference(normalise(name.strip(), person), document.strip() or None)
        standing = document_names.documents_with(connection, [reference.name])
        if standing and reference.document in (None, *standing):
            return reference
    raise WrongUse(
        f"{text!r} is no name or entity of this home. Names are compared in their normal form; `polyonym export entities` lists them."
    )


def _living(connection: Connection, entity_id: str) -> str:
    """The id under which an entity is found now."""
    return next((r.new_id for r in identity.load(connection) if r.old_id == entity_id and r.why == "merged"), entity_id)


def _reference_to(connection: Connection, entity: Entity) -> Reference:
    """An entity by its most used name; with its documents where other entities bear that name too."""
    members = list(entities.members_of(connection, [entity.entity_id]))
    name = min(members, key=lambda m: (m.name != normalise(entity.name), -m.mentions, m.name, m.document)).name
    if all(m.entity_id == entity.entity_id for m in entities.members_named(connection, name)):
        return Reference(name)
    first, *also = sorted(m.document for m in members if m.name == name)
    return Reference(name, first, also=tuple(also))


def _entities_of(connection: Connection, reference: Reference) -> list[Entity]:
    members = [m for m in entities.members_named(connection, reference.name) if reference.means(m.name, m.document)]
    return list(entities.load(connection, sorted({m.entity_id for m in members})))


def _mentions_of(connection: Connection, text: str, own: set[str]) -> list[Reference]:
    """The mentions that DOCUMENT:START-END or DOCUMENT stands for, which must be of one of these entities."""
    span = _SPAN.fullmatch(text)
    document = span["document"] if span else text
    belongs = {m.name: m.entity_id for m in entities.load_memberships(connection, [document])}
    meant = [m for m in document_names.load_mentions(connection, [document]) if belongs.get(m.name) in own]
    if span:
        meant = [m for m in meant if (m.start, m.end) == (int(span["start"]), int(span["end"]))]
    if not meant:
        raise WrongUse(f"{text!r} is no mention of this entity. `polyonym explain` shows its mentions as DOCUMENT:START-END.")
    return [Reference(judgements.whole_name(m.name), document, m.ordinal) for m in meant]


def _forget_rivals(connection: Connection, judgement: Judgement) -> None:
    """A second word on one name's link, or on what it is called, takes the place of the first."""
    for old in judgements.load(connection):
        if old.kind == judgement.kind and judgement.subject.replaces(old.subject):
            judgements.forget(connection, old.judgement)


def _keep(connection: Connection, *made: Judgement) -> None:
    """Keep judgements and have obeyed what they say. Raises WrongUse when they contradict each other or what was judged before."""
    clash = contradiction(judgements.load(connection), made)
    if clash:
        chain = "; ".join(f"{j.judgement}: {j}" for j in clash.others)
        raise WrongUse(f"{clash.judgement} contradicts what was judged before: {chain}. Take one of these back first: polyonym undo ID")
    judgements.save(connection, *made)
    _mark(connection, *made)


def _mark(connection: Connection, *judged: Judgement) -> None:
    """Have the documents of the judgements' names decided again."""
    for stage in ("names", "links", "resolve"):
        names = {name for j in judged if j.kind == "split" or stage == "resolve" for name in judgements.touched_names(j)}
        stage_marks.unmark(connection, stage, sorted(document_names.documents_with(connection, sorted(names))))
