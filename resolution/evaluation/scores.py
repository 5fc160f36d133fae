"""Figures that tell how true nodes and links are. Both are judged over the gold mentions for which there is one of ours, so that the
figures tell resolution apart from recognition.

B-cubed: A. Bagga, B. Baldwin, "Entity-based cross-document coreferencing using the vector space model", ACL 1998.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from polyonym.resolution.evaluation.matching import Matched, Span

_SURE_SHARE = 0.8

Triple = tuple[float, float, float]  # precision, recall, F1


@dataclass(frozen=True)
class Scores:
    """The figures against a gold set, shares from 0 to 1.

    found       share of gold mentions for which there is a mention of ours with the same span
    exact       share of our mentions in the judged spans that have the span of a gold mention
    b3, pair    precision, recall, F1 of the nodes over the found mentions: B-cubed, and over pairs of mentions
    redundant   share of nodes that stand for a gold entity for which another node stands already
    fused       share of nodes that hold two or more gold entities
    accuracy    share of found mentions whose best candidate is right, as if a link were always made
    wrong80     share of wrong candidates among the surest 80 % of the found mentions
    linked      share of found mentions with a link; wrong: share of these links that are wrong
    link        precision, recall, F1 of the links made, over all gold mentions

    The last five are None when no key of the gold set is a Wikidata id.
    """

    documents: int
    gold_mentions: int
    mentions: int
    found: float
    exact: float
    gold_entities: int
    nodes: int
    b3: Triple
    pair: Triple
    redundant: float
    fused: float
    accuracy: float | None = None
    wrong80: float | None = None
    linked: float | None = None
    wrong: float | None = None
    link: Triple | None = None


def scores_of(documents: int, matched: Matched) -> Scores:
    """The figures for so many gold documents."""
    gold, ours = matched.gold, matched.ours
    # The order of the gold set is kept throughout: it decides the last digit of the sums.
    met = {span: m.key for span, m in gold.items() if span in ours}
    node = {span: ours[span].entity_id for span in met}
    majority = _majority(met, node)
    mixed = Counter(entity_id for entity_id, _ in {(node[span], key) for span, key in met.items()})
    scores = Scores(
        documents=documents,
        gold_mentions=len(gold),
        mentions=matched.inside,
        found=len(met) / len(gold),
        exact=len(met) / matched.inside,
        gold_entities=len(set(met.values())),
        nodes=len(majority),
        b3=_b_cubed(met, node),
        pair=_pairwise(met, node),
        redundant=(len(majority) - len(set(majority.values()))) / len(majority),
        fused=sum(n > 1 for n in mixed.values()) / len(majority),
    )
    if not any(m.has_item for m in gold.values()):
        return scores
    made = {span: m.link for span, m in ours.items() if m.link}
    linked = [span for span in met if ours[span].link]
    right = sum(span in gold and gold[span].key == link for span, link in made.items())
    sure = sorted(met, key=lambda span: (-ours[span].confidence, span))[: round(_SURE_SHARE * len(met))]
    precision, recall = right / len(made) if made else 0.0, right / len(gold)
    return replace(
        scores,
        accuracy=sum(ours[span].candidate == key for span, key in met.items()) / len(met),
        wrong80=sum(ours[span].candidate != met[span] for span in sure) / max(1, len(sure)),
        linked=len(linked) / len(met),
        wrong=sum(ours[span].link != met[span] for span in linked) / len(linked) if linked else 0.0,
        link=(precision, recall, _f1(precision, recall)),
    )


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _b_cubed(gold: Mapping[Span, str], node: Mapping[Span, str]) -> Triple:
    both = Counter((gold[span], node[span]) for span in gold)
    in_gold, in_node = Counter(gold.values()), Counter(node.values())
    precision = sum(n * n / in_node[entity_id] for (_, entity_id), n in both.items()) / len(gold)
    recall = sum(n * n / in_gold[key] for (key, _), n in both.items()) / len(gold)
    return precision, recall, _f1(precision, recall)


def _pairwise(gold: Mapping[Span, str], node: Mapping[Span, str]) -> Triple:
    both = _pairs(Counter((gold[span], node[span]) for span in gold).values())
    ours, true = _pairs(Counter(node.values()).values()), _pairs(Counter(gold.values()).values())
    precision, recall = both / ours if ours else 1.0, both / true if true else 1.0
    return precision, recall, _f1(precision, recall)


def _pairs(sizes: Iterable[int]) -> int:
    return sum(n * (n - 1) // 2 for n in sizes)


def _majority(gold: Mapping[Span, str], node: Mapping[Span, str]) -> dict[str, str]:
    """For each node the gold entity that most of its mentions name; ties go to the alphabet."""
    keys: dict[str, Counter[str]] = defaultdict(Counter)
    for span, entity_id in node.items():
        keys[entity_id][gold[span]] += 1
    return {entity_id: min(counts, key=lambda key: (-counts[key], key)) for entity_id, counts in keys.items()}
