"""Splits: a person has said that some mentions of a name are another thing; they get a name, and so a within-document entity, of their own."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from polyonym.resolution.within_document.document_entities import DocumentName
from polyonym.resolution.within_document.document_names import Mention, MentionName

Key = tuple[str, str, int]  # (document, name, ordinal)


def with_splits(
    names: Sequence[DocumentName], named: Sequence[MentionName], mentions: Iterable[Mention], parts: Mapping[Key, str]
) -> tuple[list[DocumentName], list[MentionName]]:
    """A document's names and its mentions' names after the splits `parts` (see judgements.split_names). Both sorted."""
    # A split-off mention keeps its ordinal: by it a later split, or the same one in the next run, finds the mention again.
    moved = [replace(m, name=parts.get((m.document, m.name, m.ordinal), m.name)) for m in named]
    at = {(m.start, m.end): m for m in mentions}
    members: dict[str, list[MentionName]] = defaultdict(list)
    for mention in sorted(moved, key=lambda m: (m.start, m.end)):
        members[mention.name].append(mention)
    before = {n.name: n for n in names}
    result = []
    for name, part in sorted(members.items()):
        own = [at[m.start, m.end] for m in part]
        surfaces, labels = (dict(sorted(Counter(x).items())) for x in ((m.name for m in own), (m.label for m in own)))
        spans = tuple((m.start, m.end) for m in part)
        if name not in before:
            result.append(DocumentName(part[0].document, name, name, surfaces, labels, "split by a person", spans))
        elif len(part) == before[name].count:
            result.append(before[name])
        else:
            rest = replace(before[name], surfaces=surfaces, labels=labels)
            result.append(rest if rest.rule else replace(rest, evidence=spans[:1]))
    # A group whose own name lost all its mentions goes on under the name that has most.
    heads: dict[str, list[DocumentName]] = defaultdict(list)
    for row in result:
        heads[row.group].append(row)
    new_head = {g: g if g in members else max(rows, key=lambda r: (r.count, r.name)).name for g, rows in heads.items()}
    result = [replace(row, group=new_head[row.group]) for row in result]
    return result, sorted(moved, key=lambda m: (m.start, m.end))
