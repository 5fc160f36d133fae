"""Fits the weights by which bearers of one name in different documents are joined or parted, and shows how well the probabilities hold.

    python benchmarks/merge_weights.py --work DIR [--data DIR] [-o resolution/data/merge-weights-N.json]

Pairs of (document, name) of one normalised name, labelled
  gold        odd documents of the gold sets: one key or two; at most 40 pairs a name
  passages    encyclopaedia passages, each about another thing: two subjects of one name are two, a name that is known to mean the subject
              of another passage is one with it; half of them by a hash of the passage's id
  made        namesakes made of these: who is spoken of in a passage against the subject of another passage, of one type, under one name; and subjects against subjects, more
              of those that share company (relatives, colleagues), a title's land, or what they are (works with a year) than of others; of people once more as a newspaper would speak of them
The other halves are for the report. DIR holds a home for each set, as benchmarks/gold_sets.py and this script leave them.
"""

import argparse
import gzip
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
from gold_data import knowledge_base, part
from gold_sets import ingest
from scipy.optimize import minimize
from sqlalchemy import create_engine

from polyonym.ingest.mentions import mentions
from polyonym.ingest.text.documents import content_hash
from polyonym.resolution.clustering.clusters import firm_type
from polyonym.resolution.clustering.evidence import FEATURES, Bearers, MergeWeights, Side, between, of_name, said, side
from polyonym.resolution.clustering.resolve import load_document_entities
from polyonym.resolution.linking.knowledge_base import KnowledgeBase
from polyonym.resolution.names.entity_types import majority
from polyonym.resolution.within_document import document_names
from polyonym.resolution.within_document.document_entities import DocumentEntity

GOLD = ("gum-a", "ecbplus-a", "reuters-128", "meantime-a", "wiki-fair-v2-no-coref", "news-fair-v2-no-coref")
CORPORA = {"namesakes": ("namesakes.jsonl.gz", "namesakes_same.jsonl"), "leads": ("wiki_leads_en.jsonl.gz", "leads_same.jsonl")}
MOST_OF_A_NAME = 40
PENALTY = 0.3
DEARER = 3.0
"""How many missed merges a false one is worth: by so much a pair of two things weighs more, so that the even odds lie where they cost the same. Not in the
gold sets, where most pairs of two things under one name are conventions of their own (a country and its government)."""
FOR, AGAINST = ("shared", "company"), ("differs", "other company")


@dataclass(frozen=True)
class Pair:
    source: str
    name: str
    features: dict[str, float]
    same: bool
    fitted: bool  # else for the report
    weight: float = 1.0


class Home:
    """The within-document entities of a home, by document and name."""

    def __init__(self, path: Path, known: Bearers):
        self.known = known
        with create_engine(f"sqlite:///{path / 'state.db'}").connect() as connection:
            self.document_entities = sorted(load_document_entities(connection, None), key=lambda u: u.key)
            self.names = {(m.document, m.start, m.end): m.name for m in document_names.load_mentions(connection)}
            self.mentions = defaultdict(list)
            for m in mentions.load(connection):
                self.mentions[m.document].append(m)
        self.unit_of = {(u.document, n.name): u for u in self.document_entities for n in u.names}
        self.sides: dict[tuple[str, str], Side] = {}

    def document_entity(self, document: str, start: int, end: int) -> DocumentEntity | None:
        return self.unit_of.get((document, self.names.get((document, start, end), "")))

    def side(self, document_entity: DocumentEntity) -> Side:
        if document_entity.key not in self.sides:
            self.sides[document_entity.key] = side(document_entity, firm_type(document_entity))
        return self.sides[document_entity.key]

    def pair(self, source: str, a: DocumentEntity, b: DocumentEntity, same: bool, fitted: bool) -> Pair:
        return Pair(source, a.head, between(a.head, self.known(a.head), self.side(a), self.side(b)), same, fitted)


def half(key: str) -> bool:
    return int(content_hash(key), 16) % 2 == 0


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without a leading determiner and a final possessive."""
    found = re.match(r"(?:the|an?)\s+", text[start:end], re.IGNORECASE)
    start += found.end() if found else 0
    return start, end - len(re.search(r"(?:['’]s?)?\Z", text[start:end])[0])  # type: ignore[index]


def of_gold(home: Home, gold: Path) -> Iterator[Pair]:
    """Pairs of within-document entities of one head, by the gold key of most of their mentions."""
    docs = [json.loads(line) for line in gold.open(encoding="utf-8")]
    place = {u.document.split("/", 1)[1]: u.document for u in home.document_entities}
    keys: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    odd = set()
    for number, d in enumerate(docs):
        document = place.get(str(d["doc_id"]))
        if document is None:
            continue
        if number % 2 == 0:
            odd.add(document)
        spans = {trimmed(d["text"], m.start, m.end): m for m in home.mentions[document]}
        for g in d["mentions"]:
            if (m := spans.get(trimmed(d["text"], g["start"], g["end"]))) and (u := home.document_entity(document, m.start, m.end)):
                keys[u.key][g["qid"]] += 1
    by_head: dict[str, list[DocumentEntity]] = defaultdict(list)
    for u in home.document_entities:
        if u.key in keys:
            by_head[u.head].append(u)
    for head, document_entities in sorted(by_head.items()):
        for fitted in (True, False):
            mine = [u for u in document_entities if (u.document in odd) == fitted]
            pairs = [(a, b) for i, a in enumerate(mine) for b in mine[i + 1 :]]
            for a, b in Random(head).sample(pairs, min(len(pairs), MOST_OF_A_NAME)):
                one, other = (max(keys[u.key], key=lambda k: (keys[u.key][k], k)) for u in (a, b))
                yield home.pair("gold", a, b, one == other, fitted)


def of_passages(home: Home, corpus: Path, same: Path) -> Iterator[Pair]:
    """Pairs of subjects of one name, and of names that are known to mean a subject; and namesakes made of them."""

    def norm(text: str) -> str:
        return re.sub(r"\W+", " ", text.lower()).strip()

    with gzip.open(corpus, "rt", encoding="utf-8") as lines:
        passages = {str(d["id"]): d for d in map(json.loads, lines)}
    place = {u.document.rsplit("/", 1)[1]: u.document for u in home.document_entities}
    subjects: dict[str, DocumentEntity] = {}
    for key, d in passages.items():
        title = re.sub(r"\s*\([^)]*\)$", "", d["title"]).split(",")[0].strip()
        for m in sorted(home.mentions.get(place.get(key, ""), ()), key=lambda m: m.start):
            if m.start > 160:
                break
            if norm(re.sub(r"^(?:the|a|an)\s+", "", m.text, flags=re.IGNORECASE)) == norm(title):
                if (u := home.document_entity(m.document, m.start, m.end)) and "may refer to" not in d["text"][:200]:
                    subjects[key] = u
                break
    by_head: dict[str, list[str]] = defaultdict(list)
    for key, u in subjects.items():
        by_head[u.head].append(key)
    for keys in by_head.values():
        for i, a in enumerate(keys):
            for b in keys[i + 1 :]:
                yield home.pair("passages", subjects[a], subjects[b], False, half(min(a, b)))
    by_type: dict[str, list[str]] = defaultdict(list)
    for key, u in sorted(subjects.items()):
        by_type[majority(u.labels)].append(key)
    made = 0
    for line in same.open(encoding="utf-8"):
        p = json.loads(line)
        from_ = place.get(p["from"])
        target = subjects.get(p["to"])
        named = [m for m in home.mentions.get(from_ or "", ()) if norm(m.text) == norm(p["name"])]
        u = home.document_entity(from_, named[0].start, named[0].end) if named and from_ else None
        if u is None or target is None:
            continue
        made += 1
        yield home.pair("passages", u, target, True, half(p["to"]))
        yield made_of(home, u, target, True, half(p["to"]))
        random = Random(p["from"] + p["to"])
        for other in random.sample(by_type[majority(u.labels)], 2):
            if subjects[other].head != u.head and half(other) == half(p["to"]):
                yield made_of(home, u, subjects[other], False, half(other))
    beside: dict[tuple[str, str], list[str]] = defaultdict(list)
    titled: dict[str, list[str]] = defaultdict(list)  # by the lands of their titles, and the works by having a year
    for key, u in sorted(subjects.items()):
        for name in sorted(home.side(u).company):
            beside[majority(u.labels), name].append(key)
        traits = home.side(u).traits
        for land in sorted(traits.get("land", ())) if "title" in traits else ():
            titled[land].append(key)
        if "year" in traits:
            for role in sorted(traits.get("is", ())):
                titled[role].append(key)
    every = sorted(subjects)
    for key in every:
        random = Random(key)
        type_ = majority(subjects[key].labels)
        alike = sorted(
            {k for name in home.side(subjects[key]).company if len(beside[type_, name]) < 200 for k in beside[type_, name]} - {key}
        )
        others = random.sample(by_type[type_], min(2, len(by_type[type_]))) + random.sample(alike, min(5, len(alike)))
        others += random.sample(every, 1)
        traits = home.side(subjects[key]).traits
        near = {k for t in (*traits.get("land", ()), *(traits.get("is", ()) if "year" in traits else ())) for k in titled[t]} - {key}
        others += random.sample(sorted(near), min(4, len(near)))
        for other in others:
            if subjects[other].head != subjects[key].head and half(other) == half(key):
                yield made_of(home, subjects[key], subjects[other], False, half(other))
                if majority(subjects[key].labels) == "PERSON":
                    a, b = (in_short(home.side(subjects[k])) for k in (key, other))
                    yield Pair("made", subjects[key].head, {f: v for f, v in said(a, b).items() if "item" not in f}, False, half(other))


_OF_A_LIFE = ("is", "born", "died", "year", "by", "title")


def in_short(side: Side) -> Side:
    """A side as a newspaper would speak of it: what it is said to be in passing, its people and company, and none of what defines it."""
    return replace(side, traits={k: v for k, v in side.traits.items() if k not in _OF_A_LIFE})


def made_of(home: Home, a: DocumentEntity, b: DocumentEntity, same: bool, fitted: bool) -> Pair:
    """A pair as if both were of one name: without what the name says, so that the weights of names are fitted on real namesakes only."""
    made = home.pair("made", a, b, same, fitted)
    of = dict(of_name(a.head))
    features = {f: v for f, v in made.features.items() if f not in of and not f.startswith("known")}
    return Pair("made", a.head, {k: v for k, v in features.items() if "item" not in k}, same, fitted)


def fit(pairs: list[Pair]) -> tuple[float, dict[str, float], float]:
    """Logistic regression with an L2 penalty; what is shared may not speak against, what differs not for. Made pairs have a bias of their own."""
    index = {f: i for i, f in enumerate(FEATURES)}
    x = np.zeros((len(pairs), len(FEATURES) + 2))
    for row, p in zip(x, pairs, strict=True):
        for f, v in p.features.items():
            row[index[f]] = v
        row[-2 if p.source == "made" else -1] = 1.0
    y = np.array([p.same for p in pairs], float)
    w = np.array([p.weight for p in pairs])

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ b
        p = 1 / (1 + np.exp(-np.clip(z, -30, 30)))
        grad = x.T @ (w * (p - y))
        grad[:-2] += PENALTY * b[:-2]
        return float((w * (np.logaddexp(0, z) - y * z)).sum() + PENALTY / 2 * (b[:-2] ** 2).sum()), grad

    bounds = [(None, None)] * x.shape[1]
    for f, i in index.items():
        if f in ("known of several", "one word", "regnal name", "words of the language", "person of common names"):
            bounds[i] = (None, 0)  # the commoner a name, the less it says
        elif f == "country" or (any(word in f for word in FOR) and not f.startswith("other")):
            bounds[i] = (0, None)
        elif any(word in f for word in AGAINST) and not f.endswith("of places"):
            bounds[i] = (None, 0)
    b = minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 2000}).x
    return float(round(b[-1], 3)), {f: float(round(b[i], 3)) for f, i in index.items()}, float(b[-2])


def report(pairs: list[Pair], weights: MergeWeights) -> None:
    for source in ("gold", "passages"):
        mine = [p for p in pairs if p.source == source]
        p = np.array([1 / (1 + np.exp(-weights.weigh(q.features))) for q in mine])
        y = np.array([q.same for q in mine])
        bins = np.minimum((p * 10).astype(int), 9)
        error = sum(abs(p[bins == k].mean() - y[bins == k].mean()) * (bins == k).sum() for k in range(10) if (bins == k).any()) / len(p)
        print(
            f"{source}: {len(mine)} pairs, {int(y.sum())} same; joined wrongly {int(((p >= 0.5) & ~y).sum())}, parted wrongly {int(((p < 0.5) & y).sum())}; calibration error {error:.3f}"
        )
        for k in range(10):
            if (bins == k).any():
                print(f"   {k / 10:.1f}  {int((bins == k).sum()):6d}  mean {p[bins == k].mean():.3f}  same {y[bins == k].mean():.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("POLYONYM_TEST_DATA", "../shared/data")))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, default=None)
    arguments = parser.parse_args()
    pairs: list[Pair] = []
    base = knowledge_base(arguments.data, arguments.work)
    known = KnowledgeBase(base).bearers
    for name in (*GOLD, *CORPORA):
        home = arguments.work / name
        source = part(arguments.data, arguments.work, name, "all") if name in GOLD else arguments.data / "corpora" / CORPORA[name][0]
        if not (home / "state.db").exists():
            ingest(source, base, home)
        document_entities = Home(home, known)
        pairs += (
            of_gold(document_entities, source)
            if name in GOLD
            else of_passages(document_entities, source, arguments.data / "gold" / CORPORA[name][1])
        )
    # What a name is in its own script leaves no doubt, and stands in few of these texts.
    pairs += [Pair("made", "", {f"written {o}": 1.0}, o == "shared", True) for o in ("shared", "differs") for _ in range(30)]
    fitted = [replace(p, weight=DEARER) if not p.same and p.source == "passages" else p for p in pairs if p.fitted]
    bias, features, _ = fit(fitted)
    counts = {
        f"{s} {'same' if y else 'different'}": sum(p.source == s and p.same == y for p in fitted)
        for s in ("gold", "passages", "made")
        for y in (True, False)
    }
    version = re.search(r"\d+", arguments.output.name)[0] if arguments.output else "0"  # type: ignore[index]
    weights = MergeWeights(version, f"python benchmarks/merge_weights.py; pairs: {counts}", bias, features)
    print(weights.fitted)
    print("bias", bias)
    for f, v in features.items():
        print(
            f"  {f:32}{v:8.3f}  in {sum(f in p.features for p in fitted if p.source != 'made'):6d} {sum(f in p.features for p in fitted if p.source == 'made'):6d}"
        )
    for which in (True, False):
        print("fitted on:" if which else "not fitted on:")
        report([p for p in pairs if p.fitted == which], weights)
    if arguments.output:
        text = json.dumps(
            {"version": weights.version, "fitted": weights.fitted, "bias": weights.bias, "features": weights.features}, indent=1
        )
        arguments.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
