"""Explanations of the whole example corpus beside the decisions that are stored: the two never contradict."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_state import fill
from sqlalchemy import Connection

from polyonym.flows.inspect.explain import explain_ids
from polyonym.flows.inspect.explanation import Explanation
from polyonym.flows.inspect.exports import all_decisions
from polyonym.resolution import entities
from polyonym.resolution.decisions import Decision
from polyonym.resolution.judgements.judgements import Judgement, Reference
from polyonym.resolution.linking.registry import read_registry
from polyonym.resolution.names.normal_forms import normalise
from polyonym.resolution.within_document import document_names

EXAMPLES = next(p for p in Path(__file__).parents if (p / "examples").is_dir()) / "examples"


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    rows = [json.loads(line) for line in (EXAMPLES / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = {row["doc_id"]: row["text"] for row in rows}
    labels = {m["text"]: m["type"].replace("PLACE", "GPE") for row in rows for m in row["mentions"]}
    items = read_registry(EXAMPLES / "registry.jsonl")
    judged = [Judgement("link", Reference(normalise(items[0].label)), (), "Q42"), Judgement("link", Reference("hamburg"), (), "")]
    with fill(tmp_path_factory.mktemp("corpus") / "s.db", texts, labels, items, judged).connect() as connection:
        yield connection


@pytest.fixture(scope="module")
def explained(connection: Connection) -> list[Explanation]:
    return explain_ids(connection, [e.entity_id for e in entities.load(connection)])


@pytest.fixture(scope="module")
def stored(connection: Connection) -> list[Decision]:
    return list(all_decisions(connection))


def outcome(decision: Decision, judged: bool) -> tuple[str, str | None, float, tuple[str, ...]]:
    """What a stored decision about a link says: its verdict, the item, how sure it is, and which of its candidates won."""
    says = decision.features
    item = (None if judged else says["registry_id"]) or says["wikidata_id"] or says["candidate"]
    won = [c for c in decision.candidates if decision.kind == "link" and c["id"] == item]
    confidence = won[0]["share"] if won and not says["wikidata_id"] else says["confidence"]
    return decision.kind, item, confidence, tuple(c["id"] for c in won)


def test_a_link_is_explained_as_it_was_decided(connection: Connection, explained: list[Explanation], stored: list[Decision]) -> None:
    decided = {(d.scope, d.names[0]): d for d in stored if d.kind in ("link", "nil", "abstain")}
    told = [(e, k) for e in explained for k in e.links]
    assert len({k.item for _, k in told if k.verdict == "link"}) > 15 and any(k.judged for _, k in told)
    assert any(len(k.candidates) > 1 and k.verdict == "link" for _, k in told), "two entries of one name"
    for explanation, link in told:
        own = [m for m in entities.members_of(connection, [explanation.entity.entity_id]) if m.document == link.document]
        won = tuple(c.id for c in link.candidates if c.won)
        assert (link.verdict, link.item, link.confidence, won) in [outcome(decided[m.document, m.name], bool(link.judged)) for m in own]
        assert won == tuple(c.id for c in link.candidates[: len(won)]), "the winner comes first"
        assert not won or link.judged or max(link.candidates, key=lambda c: c.share).won


def test_what_is_together_is_so_by_decisions_that_were_made(
    connection: Connection, explained: list[Explanation], stored: list[Decision]
) -> None:
    across = {(d.kind, d.verdict) for d in stored}
    rules = {(n.name, n.rule) for n in document_names.load(connection)}
    for explanation in explained:
        parts = {(m.document, m.name) for m in entities.members_of(connection, [explanation.entity.entity_id])}
        several = len({document for document, _ in parts}) > 1
        assert bool(explanation.merges) == several, explanation.entity.name
        assert {(m.kind, m.verdict) for m in explanation.merges} <= across
        assert {g.rule for g in explanation.grouped} <= {rule for _, rule in rules}
        for merge in explanation.merges:
            assert {e.document for e in merge.evidence} <= {document for document, _ in parts}, (explanation.entity.name, merge)
