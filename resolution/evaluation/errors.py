"""The errors behind the figures: nodes that should be one, nodes that should be several, links that are wrong or missing."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from polyonym.resolution.evaluation.matching import Matched, Span

_SHOWN_PARTS = 8


@dataclass(frozen=True)
class Part:
    """One side of an error: a node (by entity id) or a gold entity (by key), its commonest text, and how many mentions it has there."""

    id: str
    name: str
    mentions: int
    document: str
    start: int
    end: int


@dataclass(frozen=True)
class Error:
    """One error. `cost` is the number of mentions that would have to move.

    missed merge: the gold entity `id` lies in several nodes (`parts`). false merge: the node `id` holds several gold entities.
    wrong link: mentions of `parts` were linked to the item `id`. missing link: mentions of the item `id` were linked to nothing;
    `parts` are the best candidates, whether right or not. An item for none of whose mentions any source had a candidate is not listed:
    nothing was decided about it.
    """

    kind: str
    id: str
    name: str
    cost: int
    parts: tuple[Part, ...]


def errors_of(matched: Matched) -> list[Error]:
    """All errors, the dearest first."""
    met = [span for span in sorted(matched.gold) if span in matched.ours]
    return sorted([*_misplaced(matched, met), *_mislinked(matched, met)], key=lambda e: (-e.cost, e.kind, e.id))


def _misplaced(matched: Matched, met: Sequence[Span]) -> Iterator[Error]:
    key = {span: matched.gold[span].key for span in met}
    node = {span: matched.ours[span].entity_id for span in met}
    for kind, whole, part in (("missed merge", key, node), ("false merge", node, key)):
        inside: dict[str, list[Span]] = defaultdict(list)
        for span in met:
            inside[whole[span]].append(span)
        for id_, spans in inside.items():
            if len({part[span] for span in spans}) > 1:
                parts = _parts(matched, spans, part)
                yield Error(kind, id_, _text(matched, spans), len(spans) - parts[0].mentions, parts[:_SHOWN_PARTS])


def _mislinked(matched: Matched, met: Sequence[Span]) -> Iterator[Error]:
    wrong: dict[str, list[Span]] = defaultdict(list)
    unlinked: dict[str, list[Span]] = defaultdict(list)
    for span in met:
        true, link = matched.gold[span], matched.ours[span].link
        if link and link != true.key:
            wrong[link].append(span)
        elif not link and true.has_item:
            unlinked[true.key].append(span)
    missing = {key: spans for key, spans in unlinked.items() if any(matched.ours[span].candidate for span in spans)}
    keys = {span: matched.gold[span].key for span in met}
    candidates = {span: matched.ours[span].candidate or "" for span in met}
    for kind, groups, part in (("wrong link", wrong, keys), ("missing link", missing, candidates)):
        for id_, spans in groups.items():
            yield Error(kind, id_, _text(matched, spans), len(spans), _parts(matched, spans, part)[:_SHOWN_PARTS])


def _parts(matched: Matched, spans: Iterable[Span], part: Mapping[Span, str]) -> tuple[Part, ...]:
    by_part: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_part[part[span]].append(span)
    made = [Part(id_, _text(matched, inside), len(inside), *inside[0]) for id_, inside in by_part.items()]
    return tuple(sorted(made, key=lambda p: (-p.mentions, p.id)))


def _text(matched: Matched, spans: Iterable[Span]) -> str:
    """The commonest text of mentions; ties go to the longest, then to the alphabet."""
    counts = Counter(matched.gold[span].text for span in spans)
    return max(counts, key=lambda text: (counts[text], len(text), text))
