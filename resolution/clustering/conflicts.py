"""Why a judgement cannot be obeyed, or not everywhere: "same" where what must never be one thing stands against it, a link to no item
where the node has one by its other names."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from sqlalchemy import Connection

from polyonym.resolution import entities
from polyonym.resolution.clustering.clusters import firm_type
from polyonym.resolution.clustering.constraints import Partition
from polyonym.resolution.clustering.resolve import load_document_entities
from polyonym.resolution.judgements import judgements
from polyonym.resolution.judgements.judgements import Judgement, LinkJudgements
from polyonym.resolution.within_document import document_names


@dataclass(frozen=True)
class Conflicts:
    """What stands against a judgement, in words: the two sides, with whatever was judged the same as them, and what tells them apart."""

    told: tuple[str, ...]
    everywhere: bool  # nothing of the judgement can be obeyed


def conflicts(connection: Connection, known: Sequence[Judgement]) -> dict[Judgement, Conflicts]:
    """Those of the known judgements of the kind "same" against which something stands. Nothing does against one that sleeps."""
    judged = [j for j in known if j.kind == "same"]
    names = sorted({name for j in judged for name in judgements.touched_names(j)})
    documents = sorted(document_names.documents_with(connection, names))
    document_entities = sorted(load_document_entities(connection, documents), key=lambda u: u.key)
    partition = Partition(document_entities, judgements.constraints(known, document_entities), firm_type)
    for i, j in partition.judged_same:  # as clusters are formed: what people judged comes before all other evidence
        partition.join(i, j)
    index = {u.key: i for i, u in enumerate(document_entities)}
    standing = {}
    for judgement, both in judgements.sides(judged, document_entities):
        left, right = ([partition.find(index[key]) for key in side] for side in both)
        pairs = sorted(set(product(left, right)))
        parted = [(i, j) for i, j in pairs if i != j]
        if parted:
            standing[judgement] = Conflicts(tuple(_told(partition, i, j) for i, j in parted), len(parted) == len(pairs))
    return standing


def linked_by_others(connection: Connection, known: Sequence[Judgement]) -> dict[Judgement, tuple[str, ...]]:
    """Those of the known links to no item whose names lie in a node that has an item all the same, in words.

    It goes by the entities as they are: ask when they are up to date.
    """
    by_judgement: dict[Judgement, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    judged_links = LinkJudgements(known)
    for name in sorted({j.subject.name for j in known if j.kind == "link" and not j.value}):
        for member in entities.members_named(connection, name):
            judged = judged_links.of(name, member.document)
            if judged and not judged.value:
                by_judgement[judged][member.entity_id].append(member.document)
    ids = sorted({i for nodes in by_judgement.values() for i in nodes})
    linked = {e.entity_id: e for e in entities.load(connection, ids) if e.wikidata_id}
    reasons = {
        judged: tuple(
            f"{judged.subject.name} @ {documents[0]} is one thing with {linked[i].name} ({i}), which its other names or documents link to "
            f"{linked[i].wikidata_id}. Tell them apart first: polyonym judge different, or polyonym split"
            for i, documents in nodes.items()
            if i in linked
        )
        for judged, nodes in by_judgement.items()
    }
    return {judged: words for judged, words in reasons.items() if words}


def _told(partition: Partition, i: int, j: int) -> str:
    reason = partition.conflict(i, j) or "what stands against another part of the judgement"
    return f"Between {_side(partition, i)} and {_side(partition, j)} stands: {reason}"


def _side(partition: Partition, i: int) -> str:
    """A cluster's names, with its ids and types."""
    cluster = partition.cluster(i)
    names = sorted({partition.document_entities[m].head for m in cluster.members})
    marks = sorted(cluster.wikidata) + sorted(cluster.registry) + sorted(cluster.types)
    where = f" @ {partition.document_entities[cluster.members[0]].document}" if len(cluster.members) == 1 else ""
    return " = ".join(names) + where + (f" ({', '.join(marks)})" if marks else "")
