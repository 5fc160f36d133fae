"""Promise 7 without a home: what judgements say of names, which contradict each other, and how they are written and read."""

import json
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection
from work import calls

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.store.database import open_state
from polyonym.resolution.judgements import judgements
from polyonym.resolution.judgements.contradictions import Contradiction, contradiction
from polyonym.resolution.judgements.judgements import Judgement, Reference
from polyonym.resolution.judgements.splits import with_splits
from polyonym.resolution.linking.links import Link
from polyonym.resolution.within_document.document_entities import DocumentEntity, DocumentName
from polyonym.resolution.within_document.document_names import MentionName

anyhow = settings(deadline=None)


def ref(text: str) -> Reference:
    name, _, document = text.partition(" @ ")
    return Reference(name, document or None)


def same(a: str, b: str) -> Judgement:
    return Judgement("same", ref(a), (ref(b),))


def different(a: str, b: str) -> Judgement:
    return Judgement("different", ref(a), (ref(b),))


def link(name: str, item: str) -> Judgement:
    return Judgement("link", ref(name), (), item)


def split(name: str, *mentions: tuple[str, int]) -> Judgement:
    return Judgement("split", ref(name), tuple(Reference(name, d, o) for d, o in mentions))


def document_entity(document: str, *names: str, item: str | None = None) -> DocumentEntity:
    rows = tuple(DocumentName(document, n, names[0], {n: 1}, {"ORG": 1}) for n in sorted(names))
    return DocumentEntity(document, names[0], rows, item)


# Contradictions


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ([same("a", "b")], different("a", "b")),
        ([different("a", "b")], same("b", "a")),
        ([same("a", "b"), same("b", "c"), same("c", "d")], different("d", "a")),
        ([same("a", "b"), different("a", "c")], same("c", "b")),
        ([different("a @ d1", "b @ d1")], same("a", "b")),
        ([same("a", "b")], different("a @ d1", "a @ d2")),
        ([same("a @ d1", "b")], different("a", "b")),
        ([link("a", "Q1"), link("b", "Q2")], same("a", "b")),
        ([same("a", "b"), link("a", "Q1")], link("b", "Q2")),
        ([same("a", "c"), same("c", "b"), link("a", "Q1")], link("b @ d", "Q2")),
        ([different("a", "b"), link("a", "Q1")], link("b", "Q1")),
        ([link("a", "Q1"), link("b", "Q1")], different("a", "b")),
        ([link("a", "Q1"), link("b", "Q1"), same("b", "c")], different("a", "c")),
        ([same("a", "b"), link("b", "Q1")], link("a", "")),
        ([same("a", "b"), link("b", "")], link("a @ d", "Q1")),
        ([link("a", "Q1"), link("b", "")], same("a", "b")),
        ([link("a", "Q1"), link("c", "Q1"), link("b", "")], same("c", "b")),
        ([split("a", ("d", 0))], same(f"a §{split('a', ('d', 0)).judgement}", "a")),
        ([same("a", "b"), split("a", ("d", 0))], same("b", f"a §{split('a', ('d', 0)).judgement}")),
    ],
)
def test_a_contradiction_is_found_with_the_whole_chain(known: list[Judgement], new: Judgement) -> None:
    found = contradiction(known, [new])
    assert found and found.judgement == new and sorted(map(str, found.others)) == sorted(map(str, known))
    together = contradiction([], [*known, new])
    assert together and {together.judgement, *together.others} == {*known, new}, "an import that brings all of it is refused as well"


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ([], same("a", "b")),
        ([same("a", "b")], same("a", "b")),
        ([same("a", "b")], different("a", "c")),
        ([different("a", "b"), different("b", "c")], same("a", "c")),
        ([same("a @ d1", "b @ d1")], different("a @ d2", "b @ d2")),
        ([link("a", "Q1")], link("b", "Q1")),
        ([link("a", "Q1")], link("a @ d", "Q2")),
        ([link("a", "Q1"), link("b", "Q2"), link("b @ d", "Q1")], same("a", "b @ d")),
        ([link("a", "Q1")], same("a", "b")),
        ([link("a", ""), link("b", "")], same("a", "b")),
        ([link("a", ""), link("b", "")], different("a", "b")),
        ([link("a", ""), link("a @ d", "Q1")], same("a @ d", "b")),
        ([split("a", ("d", 0))], same(f"a §{split('a', ('d', 0)).judgement}", "b")),
        ([same("a", "b")], Judgement("rename", ref("a"), (), "A")),
        ([different("a", "b"), same("a", "c")], same("d", "e")),
    ],
)
def test_what_goes_together_is_no_contradiction(known: list[Judgement], new: Judgement) -> None:
    assert contradiction(known, [new]) is None and contradiction([], [*known, new]) is None


def test_another_link_of_the_same_name_contradicts() -> None:
    assert contradiction([link("a", "Q1")], [link("a", "Q2")]) == Contradiction(link("a", "Q2"), (link("a", "Q1"),))
    assert contradiction([link("a", "Q1")], [link("a", "")]) == Contradiction(link("a", ""), (link("a", "Q1"),))


said = st.builds(
    lambda kind, a, b, item: Judgement(kind, ref(a), () if kind == "link" else (ref(b),), item if kind == "link" else ""),
    st.sampled_from(["same", "different", "link"]),
    st.sampled_from(["a", "b", "c", "a @ d1", "b @ d1", "c @ d2"]),
    st.sampled_from(["a", "b", "c", "a @ d1", "b @ d1", "c @ d2"]),
    st.sampled_from(["Q1", "Q2", ""]),
).filter(lambda j: not j.others or j.subject != j.others[0])


@anyhow
@given(st.lists(said, max_size=8))
def test_what_is_taken_in_without_contradiction_can_be_obeyed(wanted: list[Judgement]) -> None:
    """Judgements, each taken in unless it contradicts; then every pair of within-document entities that must be one thing can be, by the others."""
    known: list[Judgement] = []
    for judgement in wanted:
        if not contradiction(known, [judgement]):
            known.append(judgement)
    document_entities = [document_entity(d, n) for d in ("d1", "d2", "d3") for n in ("a", "b", "c")]
    links = judgements.judged_links(known, [Link(u.document, u.head) for u in document_entities])
    item = {(k.document, k.name): k.wikidata_id for k in links}
    found = judgements.constraints(known, document_entities)
    root = {u.key: u.key for u in document_entities}

    def find(key: tuple[str, str]) -> tuple[str, str]:
        return key if root[key] == key else find(root[key])

    for a, b in sorted(found.same):
        root[find(a)] = find(b)
    assert not [(a, b) for a, b in found.different if find(a) == find(b)]
    judged_links = judgements.LinkJudgements(known)
    none = {u.key for u in document_entities if (j := judged_links.of(u.head, u.document)) and not j.value}
    for u in document_entities:
        cluster = [v.key for v in document_entities if find(v.key) == find(u.key)]
        items = {q for key in cluster if (q := item[key])}
        assert len(items) <= 1 and not (items and none.intersection(cluster))


# What they say of within-document entities


def test_same_and_different_speak_of_all_units_of_a_name_or_of_one_document() -> None:
    document_entities = [
        document_entity("d1", "a"),
        document_entity("d2", "a"),
        document_entity("d1", "b"),
        document_entity("d3", "c", "a"),
    ]
    found = judgements.constraints([different("a @ d1", "b")], document_entities)
    assert found.different == {(("d1", "a"), ("d1", "b"))}
    found = judgements.constraints([same("a", "b")], document_entities)
    linked = {key for pair in found.same for key in pair}
    assert linked == {("d1", "a"), ("d2", "a"), ("d3", "c"), ("d1", "b")}, "a unit is meant by any of its names"
    assert judgements.constraints([same("a", "gone")], document_entities).same == frozenset(), "it sleeps while a side is gone"


def test_a_reference_to_an_item_speaks_of_that_item_only() -> None:
    document_entities = [document_entity("d1", "a", item="Q1"), document_entity("d2", "a", item="Q2"), document_entity("d1", "b")]
    judged = Judgement("different", Reference("a", None, None, "Q1"), (ref("b"),))
    assert judgements.constraints([judged], document_entities).different == {(("d1", "a"), ("d1", "b"))}


def test_the_parts_of_a_split_are_one_thing_and_not_the_rest() -> None:
    judged = split("a", ("d1", 0), ("d2", 1))
    part = f"a §{judged.judgement}"
    document_entities = [
        document_entity("d1", part),
        document_entity("d2", part),
        document_entity("d2", "a"),
        document_entity("d3", "a"),
        document_entity("d3", "b"),
    ]
    found = judgements.constraints([judged], document_entities)
    assert found.same == {(("d1", part), ("d2", part))}
    assert found.different == {((d, part), (e, "a")) for d in ("d1", "d2") for e in ("d2", "d3")}


def test_both_sides_come_into_one_block() -> None:
    judged = [same("a", "b @ d"), split("c", ("d", 0)), link("e", "Q1")]
    keys = judgements.keys_by_name(judged)
    assert set(keys) == {"a", "b", "c"}
    assert keys["a"] == keys["b"] != keys["c"]


def test_a_link_for_one_document_counts_before_one_for_all() -> None:
    made = [Link("d1", "a", "Q5", 0.9, "Q5", None, "link"), Link("d2", "a", "Q5", 0.9, "Q5", None, "link"), Link("d1", "b")]
    first, second, third = judgements.judged_links([link("a", "Q1"), link("a @ d2", "")], made)
    assert (first.wikidata_id, first.candidate, first.confidence, first.verdict) == ("Q1", "Q1", 1.0, "link")
    assert (second.wikidata_id, second.candidate, second.verdict) == (None, "Q5", "nil")
    assert third == made[2]


def test_the_latest_name_given_counts() -> None:
    first, second = (Judgement("rename", ref(a), (), name, when=w) for a, name, w in (("a", "First", "1"), ("b @ d", "Second", "2")))
    given_names = judgements.Renames([second, first])
    assert given_names.of([("d", "a"), ("d", "b")]) == "Second"
    assert given_names.of([("d", "a"), ("e", "b")]) == "First"
    assert given_names.of([("d", "c")]) is None


# Splits


class Place:
    """A mention, as splits need it."""

    def __init__(self, start: int, name: str) -> None:
        self.document, self.start, self.end, self.name, self.label = "d", start, start + 1, name, "ORG"


def named(*names: str) -> tuple[list[DocumentName], list[MentionName], list[Place]]:
    mentions = [Place(i, n.upper()) for i, n in enumerate(names)]
    rows = [MentionName("d", i, i + 1, n, names[:i].count(n)) for i, n in enumerate(names)]
    found = [
        DocumentName("d", n, n, {n.upper(): names.count(n)}, {"ORG": names.count(n)}, evidence=((names.index(n), names.index(n) + 1),))
        for n in sorted(set(names))
    ]
    return found, rows, mentions


def test_a_split_takes_its_mentions_out_of_the_name() -> None:
    names, rows, mentions = named("a", "b", "a", "a")
    found, of_mentions = with_splits(names, rows, mentions, {("d", "a", 0): "a §1"})
    assert [(n.name, n.group, n.count, n.evidence) for n in found] == [
        ("a", "a", 2, ((2, 3),)),
        ("a §1", "a §1", 1, ((0, 1),)),
        ("b", "b", 1, ((1, 2),)),
    ]
    assert [(m.name, m.ordinal) for m in of_mentions] == [("a §1", 0), ("b", 0), ("a", 1), ("a", 2)]


def test_a_second_split_finds_its_mentions() -> None:
    """It speaks of what it sees, the mentions after the first split; both must hold in the next run, which starts from the text."""
    names, rows, mentions = named("a", "a", "a")
    _, after_first = with_splits(names, rows, mentions, {("d", "a", 0): "a §1"})
    seen = after_first[2]
    parts = {("d", "a", 0): "a §1", ("d", judgements.whole_name(seen.name), seen.ordinal): "a §2"}
    _, of_mentions = with_splits(names, rows, mentions, parts)
    assert [m.name for m in of_mentions] == ["a §1", "a", "a §2"]


def test_a_group_goes_on_when_its_own_name_is_split_off_whole() -> None:
    names, rows, mentions = named("long a", "a", "a")
    names = [DocumentName(n.document, n.name, "long a", n.surfaces, n.labels, n.rule, n.evidence) for n in names]
    found, _ = with_splits(names, rows, mentions, {("d", "long a", 0): "long a §1"})
    assert [(n.name, n.group) for n in found] == [("a", "a"), ("long a §1", "long a §1")]


def test_the_later_split_of_a_mention_counts() -> None:
    first, second = (Judgement("split", ref("a"), (Reference("a", "d", 0),), note, when=when) for note, when in (("x", "1"), ("y", "2")))
    second = Judgement("split", Reference("a", "d"), second.others, when="2")
    assert set(judgements.split_names([second, first]).values()) == {f"a §{second.judgement}"}


# Written and read


@pytest.fixture
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with open_state(f"sqlite:///{tmp_path_factory.mktemp('state') / 'state.db'}").connect() as opened:
        yield opened


names_ = st.text(min_size=1, max_size=6)
references = st.builds(
    Reference, names_, st.none() | names_, st.none() | st.integers(0, 9), st.none() | st.just("Q5"), st.just(()) | st.tuples(names_)
)
anything = st.one_of(
    st.builds(Judgement, st.sampled_from(["same", "different"]), references, st.tuples(references), st.just(""), names_, names_, names_),
    st.builds(Judgement, st.just("link"), references, st.just(()), st.sampled_from(["", "Q1"]), names_, names_, names_),
    st.builds(Judgement, st.just("rename"), references, st.just(()), names_.filter(str.strip), names_, names_, names_),
    st.builds(Judgement, st.just("split"), references, st.lists(references, min_size=1, max_size=3).map(tuple), st.just(""), names_),
)


@anyhow
@given(judged=anything)
def test_json_and_store_give_back_what_they_took(judged: Judgement) -> None:
    assert judgements.from_json(json.loads(json.dumps(judgements.to_json(judged)))) == judged


def test_the_store_keeps_each_saying_once(connection: Connection) -> None:
    for note in ("first", "again"):
        judgements.save(connection, Judgement("same", ref("a"), (ref("b"),), note=note))
    judgements.save(connection, Judgement("same", ref("b"), (ref("a"),), note="the other way round"))
    assert [(j.kind, j.note) for j in judgements.load(connection)] == [("same", "the other way round")]
    held = judgements.load(connection)[0]
    assert judgements.forget(connection, held.judgement) and not judgements.forget(connection, held.judgement)


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"kind": "same"},
        {"kind": "alike", "subject": {"name": "a"}},
        {"kind": "same", "subject": {"name": "a"}, "others": []},
        {"kind": "link", "subject": {"nom": "a"}},
        {"kind": "link", "subject": "a", "value": "Q1"},
        {"kind": "link", "subject": {"name": "a"}, "value": "312"},
        {"kind": "rename", "subject": {"name": "a"}, "value": " "},
        {"kind": "rename", "subject": {"name": "a"}, "value": ["b"]},
        {"kind": "same", "subject": {"name": 5}, "others": [{"name": "a"}]},
        {"kind": "same", "subject": {"name": "a"}, "others": [{"name": "b", "document": 5}]},
        {"kind": "same", "subject": {"name": "a"}, "others": [{"name": "b", "document": "d", "also": [5]}]},
        {"kind": "split", "subject": {"name": "a"}, "others": [{"name": "a", "document": "d", "ordinal": "0"}]},
        42,
        None,
        ["same"],
    ],
)
def test_what_is_no_judgement_is_refused(row: object) -> None:
    with pytest.raises(WrongUse, match="no judgement"):
        judgements.from_json(row)


def chain_of(known: Sequence[Judgement]) -> list[str]:
    return [str(j) for j in known]


def test_judgements_read_well() -> None:
    assert chain_of([same("a", "b @ d"), different("a", "c"), link("a", ""), link("a", "Q1"), split("a", ("d", 2))]) == [
        "a = b @ d",
        "a ≠ c",
        "a → no item",
        "a → Q1",
        "a without a @ d #2",
    ]


@pytest.mark.parametrize(
    "judged",
    [
        lambda n: link(f"name {n}", f"Q{n + 1}"),
        lambda n: link(f"name @ d{n}", f"Q{n % 2 + 1}"),
        lambda n: link(f"name {n}", "Q1"),
        lambda n: same(f"name {n}", f"name {n + 1}"),
        lambda n: same("name", f"name {n}"),
        lambda n: different("name", f"name {n}"),
    ],
)
def test_looking_for_contradictions_is_work_in_proportion_to_what_is_taken_in(judged: Callable[[int], Judgement]) -> None:
    def work(count: int) -> int:
        known, new = [judged(n) for n in range(count)], [judged(n) for n in range(count, 2 * count)]
        return calls(lambda: contradiction(known, new))

    assert work(400) < 6 * work(100)


def test_what_an_import_says_as_a_whole_counts_and_not_its_order() -> None:
    every = [same("a @ d", "b @ d"), link("a", "Q1"), link("b", "Q2"), link("b @ d", "Q1")]
    assert contradiction([], every[:3])
    assert contradiction([], every) is None and contradiction(every[:3], every[3:]) is None
