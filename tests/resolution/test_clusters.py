"""Within-document entities of different documents in clusters: what comes together, what stays apart, and the promises that hold for any input."""

from itertools import count
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyonym.resolution.clustering.blocks import block_keys, blocks, closure
from polyonym.resolution.clustering.clusters import Solution, firm_type, solve
from polyonym.resolution.clustering.contexts import MOST_HOLDERS, Nearness, nearest
from polyonym.resolution.judgements.judgements import Constraints
from polyonym.resolution.names.entity_types import compatible
from polyonym.resolution.names.normal_forms import normalise
from polyonym.resolution.within_document.document_entities import DocumentEntity, DocumentEntityKey, DocumentName

NONE = Constraints()


def document_entity(
    document: str, *forms: str, qid: str | None = None, registry: str | None = None, likely: str | None = None
) -> DocumentEntity:
    """A within-document entity from raw names with labels and rules ("Barack Obama/PERSON", "Obama/PERSON*2/surname"), the head first."""
    names = []
    head = ""
    for form in forms:
        raw, label, rule = [*form.split("/"), "", ""][:3]
        label, _, times = label.partition("*")
        name = normalise(raw, label == "PERSON")
        head = head or name
        names.append(DocumentName(document, name, head, {raw: int(times or 1)}, {label: int(times or 1)}, rule, ((0, len(raw)),)))
    return DocumentEntity(document, head, tuple(sorted(names, key=lambda n: n.name)), qid, registry, likely)


def no_context(document: str) -> frozenset[str]:
    return frozenset()


def clusters(document_entities: list[DocumentEntity], constraints: Constraints = NONE, **options: object) -> list[set[str]]:
    """The documents of each cluster."""
    options.setdefault("context", no_context)
    return sorted(({d for d, _ in c.document_entities} for c in solve(document_entities, constraints, **options).clusters), key=sorted)  # type: ignore[arg-type]


def one_each(*forms: str) -> list[DocumentEntity]:
    """Each form the only name of a document of its own: a, b, c …"""
    return [document_entity("abcdefgh"[i], form) for i, form in zip(count(), forms, strict=False)]


TOGETHER = [
    ("Apple Inc./ORG", "Apple/PERSON"),
    ("U.S./GPE", "the United States/GPE", "America/ORG"),
    ("Bill Clinton/PERSON", "William Clinton/PERSON"),
    ("John F. Kennedy/PERSON", "John Fitzgerald Kennedy/PERSON", "John Kennedy/PERSON"),
    ("Tyson Jackson/PERSON", "DT Tyson Jackson/PERSON"),
    ("Barack Obama/PERSON", "Obama/GPE"),
    ("Sea Micro Devices/ORG", "SeaMicro Devices/ORG"),
    ("Ministry of Agriculture/ORG", "Agriculture Ministry/ORG"),
    ("Turkmenistan/GPE", "Turkeminstan/GPE"),
    ("Ford Motor/ORG", "Ford Motors/ORG"),
    ("U.S. Food and Drug Office/ORG", "Food and Drug Office/ORG"),
    ("Paris, France/GPE", "Paris/GPE"),
    ("Vladimir Putin/PERSON", "Владимир Путин/PERSON"),
    ("Anna A. Thorvik/PERSON", "Anna Thorvik/PERSON"),
    ("Forest Joseph Tarbell/PERSON", "Forest Joseph Tarbell Jr./PERSON", "Tarbell/ORG"),
    ("Gordon Velmar/PERSON", "Gordon Robert Velmar/PERSON", "Gordon Velmare/PERSON"),
    ("Midland Freight Company/ORG", "Midland Freight/ORG"),
    ("Michelle Tolan/PERSON", "Tolan/OTHER*3", "Tolan/PERSON"),
]


@pytest.mark.parametrize("forms", TOGETHER)
def test_names_of_one_thing_become_one_cluster(forms: tuple[str, ...]) -> None:
    assert clusters(one_each(*forms)) == [set("abcdefgh"[: len(forms)])]


APART = [
    ("Joan Smith/PERSON", "John Smith/PERSON"),
    ("George H. W. Bush/PERSON", "George W. Bush/PERSON"),
    ("Austria/GPE", "Australia/GPE"),
    ("Siemens/ORG", "Siemens Energy/ORG"),
    ("Boeing 737/PRODUCT", "Boeing 747/PRODUCT"),
    ("Germany/GPE", "German/NORP"),
    ("University of Washington/ORG", "Washington University/ORG"),
    ("Jordan/PERSON*3", "Jordan/GPE*3"),
    ("Cambridge, Massachusetts/GPE", "Cambridge, England/GPE"),
    ("the Court/ORG", "the Court/ORG"),
    ("Jack London/PERSON", "London/GPE"),
    ("George Bush Sr./PERSON", "George Bush Jr./PERSON"),
    ("Gordon Smith/PERSON", "Gordon Smyth/PERSON"),
    ("Gordon Velmar/PERSON", "Gordon Velmars/PERSON"),
    ("Boeing/ORG", "Boeing/ORG*2", "Boeing/ORG*3", "William Boeing/PERSON"),
]


@pytest.mark.parametrize("forms", APART)
def test_names_of_different_things_stay_apart(forms: tuple[str, ...]) -> None:
    found = clusters(one_each(*forms))
    last = "abcdefgh"[len(forms) - 1]
    assert {last} in found


@pytest.mark.parametrize(
    ("form", "type_"),
    [("Hartmann Werke GmbH/GPE", "ORG"), ("Ola Brandt Ltd./PERSON", "ORG"), ("AS Roma/GPE", "PLACE"), ("(Hamburg)/GPE", "PLACE"), ("Ants, Inc./WORK_OF_ART", "WORK")],
)  # fmt: skip
def test_a_legal_form_is_no_place_and_no_person(form: str, type_: str) -> None:
    [cluster] = solve(one_each(form), NONE, context=no_context).clusters
    assert cluster.type == type_


def test_a_people_has_one_node_for_its_singular_and_plural() -> None:
    assert clusters(one_each("Hindu/NORP", "Hindus/NORP", "Owen/PERSON", "Owens/PERSON", "Saxon/ORG")) == [{"a", "b"}, {"c"}, {"d"}, {"e"}]


def test_a_people_joins_its_country_where_the_setting_says_so() -> None:
    assert clusters(one_each("Germany/GPE", "Germans/NORP"), demonyms=True) == [{"a", "b"}]


def test_same_links_unite_and_different_links_divide() -> None:
    document_entities = [
        document_entity("a", "Q One/ORG", qid="Q1"),
        document_entity("b", "Uno/ORG", qid="Q1"),
        document_entity("c", "Q One/ORG", qid="Q2"),
    ]
    assert clusters(document_entities) == [{"a", "b"}, {"c"}]


def test_two_registry_ids_need_one_wikidata_id() -> None:
    apart = [document_entity("a", "Acme/ORG", registry="r1"), document_entity("b", "Acme/ORG", registry="r2")]
    assert clusters(apart) == [{"a"}, {"b"}]
    linked = [document_entity("a", "Acme/ORG", registry="r1", qid="Q1"), document_entity("b", "Acme/ORG", registry="r2", qid="Q1")]
    assert clusters(linked) == [{"a", "b"}]


def test_judgements_come_first() -> None:
    document_entities = one_each("Acme/ORG", "Acme/ORG", "Zenith/ORG")
    a, b, c = (u.key for u in document_entities)
    assert clusters(document_entities, Constraints(same=frozenset({(a, c)}), different=frozenset({(a, b)}))) == [{"a", "c"}, {"b"}]


def test_no_chain_gets_round_a_judgement() -> None:
    document_entities = one_each("Acme/ORG", "Acme/ORG", "Acme/ORG")
    a, b, c = (u.key for u in document_entities)
    found = clusters(document_entities, Constraints(same=frozenset({(a, b), (b, c)}), different=frozenset({(a, c)})))
    assert not any({"a", "c"} <= documents for documents in found)


OWNERS = [
    document_entity("a", "John Howard/PERSON", "Howard/PERSON/surname"),
    document_entity("b", "Paul Howard/PERSON"),
    document_entity("c", "Howard/PERSON"),
]
WORDS = {"a": "election minister canberra budget", "b": "basket guard rebound season", "c": "minister budget vote canberra"}


def context(document: str) -> frozenset[str]:
    return frozenset(WORDS.get(document, "").split())


def test_a_surname_of_two_people_goes_to_the_nearest_document() -> None:
    solution = solve(OWNERS, NONE, context)
    assert {frozenset(d for d, _ in c.document_entities) for c in solution.clusters} == {frozenset("ac"), frozenset("b")}
    merge = next(d for d in solution.decisions if d.verdict == "nearest context")
    assert merge.features["margin"] >= merge.features["needed"] and len(merge.candidates) == 2


def test_documents_that_a_name_has_been_found_in_help_to_place_the_next() -> None:
    words = WORDS | {"d": "vote coalition senate"}
    near = solve([*OWNERS, document_entity("d", "Howard/PERSON")], NONE, lambda document: frozenset(words.get(document, "").split()))
    assert {frozenset(d for d, _ in c.document_entities) for c in near.clusters} == {frozenset("acd"), frozenset("b")}


def test_a_word_that_very_many_documents_have_says_nothing_however_many_there_are() -> None:
    documents = [f"{n:04}" for n in range(MOST_HOLDERS**2)]
    for holders, near in ((MOST_HOLDERS, {7}), (MOST_HOLDERS + 1, set())):
        nearness = Nearness(documents, lambda document, n=holders: frozenset({"budget"} if int(document) < n else {document}))
        nearness.add(7, "0000")
        assert set(nearness.scores("0001")) == near


def test_the_nearest_owners_come_first_then_the_others_in_their_order() -> None:
    assert nearest({4: 0.2, 3: 0.5, 1: 0.5}, [0, 1, 2, 3, 4], 4) == [1, 3, 4, 0]
    assert nearest({4: 0.2, 3: 0.5, 1: 0.5}, [0, 1, 2, 3, 4], 2) == [1, 3]


def test_a_team_is_no_family_though_a_recogniser_says_so() -> None:
    document_entities = [
        document_entity("a", "Thornton Kestrels/ORG", "Kestrels/PERSON/left off"),
        *(document_entity(d, "Kestrels/OTHER*2") for d in "bcde"),
    ]
    assert clusters(document_entities) == [set("abcde")]


def test_in_doubt_a_surname_stays_one_node_per_document() -> None:
    solution = solve([*OWNERS, document_entity("d", "Howard/PERSON")], NONE, no_context)
    assert {frozenset(d for d, _ in c.document_entities) for c in solution.clusters} == {frozenset(x) for x in "abcd"}
    assert [d.kind for d in solution.decisions].count("abstain") == 2


def test_names_that_are_alike_are_one_when_both_may_be_linked_to_one_item() -> None:
    short, long = "IBM/ORG", "International Business Machines/ORG"
    assert clusters([document_entity("a", short, likely="Q1"), document_entity("b", long, likely="Q1")]) == [set("ab")]
    assert clusters([document_entity("a", short, qid="Q1"), document_entity("b", long, likely="Q1")]) == [set("ab")]
    assert clusters([document_entity("a", short, likely="Q1"), document_entity("b", long, likely="Q2")]) == [{"a"}, {"b"}]
    assert clusters([document_entity("a", short, likely="Q1"), document_entity("b", long)]) == [{"a"}, {"b"}]
    assert clusters([document_entity("a", "Zenith/ORG", likely="Q1"), document_entity("b", long, likely="Q1")]) == [{"a"}, {"b"}]


def test_variants_are_no_chain() -> None:
    """Each of three spellings differs by a slip from the next, the first from the last by two: no cluster of all three."""
    document_entities = one_each("Abraxtonia Works/ORG", "Abraxtonya Works/ORG", "Abrakstonya Works/ORG")
    assert {"a", "c"} not in [d & {"a", "c"} for d in clusters(document_entities)]


def test_canonical_name_is_a_full_one() -> None:
    document_entities = [
        document_entity("a", "Bill Clinton/PERSON*2", "Clinton/PERSON*9/surname"),
        document_entity("b", "BILL CLINTON/PERSON*5"),
        document_entity("c", "Clinton/PERSON*9"),
    ]
    assert [c.name for c in solve(document_entities, NONE, no_context).clusters] == ["Bill Clinton"]


def test_every_merge_says_what_it_rests_on() -> None:
    (decision,) = solve(one_each("Apple/ORG", "Apple Inc./ORG"), NONE, no_context).decisions
    assert (decision.kind, decision.verdict, decision.scope) == ("merge", "same name", "apple")
    assert [s["document"] for s in decision.spans] == ["a", "b"]


# Promises

_NAMES = [
    "John Smith/PERSON", "J. Smith/PERSON", "Jon Smith/PERSON", "Joan Smith/PERSON", "John Q. Smith/PERSON", "Mary Smith/PERSON", "Smith/PERSON", "Smith/ORG",
    "Smith Motors/ORG", "Smith Motor/ORG", "Jordan/GPE*3", "Jordan/PERSON*3", "Michael Jordan/PERSON", "Cambridge, England/GPE", "Cambridge, MA/GPE",
    "Cambridge/GPE", "Turkmenistan/GPE", "Turkeminstan/GPE", "the Court/ORG", "Acme Corp/ORG", "ACME/ORG", "German/NORP",
    "Germany/GPE", "Brookfieldia/ORG", "Brookfeildia/ORG", "Brookfeldia/ORG", "U.S. Food and Drug Office/ORG", "Food and Drug Office/ORG",
    "IBM/ORG", "International Business Machines/ORG",
]  # fmt: skip
_SHORT = {"PERSON": "surname", "ORG": "short form", "GPE": "region", "NORP": "spelling"}


@st.composite
def _units(draw: st.DrawFn) -> list[DocumentEntity]:
    made: dict[DocumentEntityKey, DocumentEntity] = {}
    for _ in range(draw(st.integers(2, 14))):
        document = draw(st.sampled_from("abcdef"))
        head = draw(st.sampled_from(_NAMES))
        raw, label = head.split("/")
        forms = [head]
        if draw(st.booleans()):
            forms.append(f"{raw.split()[-1]}/{label}/{_SHORT[label.partition('*')[0]]}")
        qid = draw(st.sampled_from([None, None, None, "Q1", "Q2", "Q3"]))
        registry = draw(st.sampled_from([None, None, None, "r1", "r2"]))
        likely = None if qid else draw(st.sampled_from([None, "Q1", "Q2"]))
        new = document_entity(document, *dict.fromkeys(forms), qid=qid, registry=registry, likely=likely)
        made.setdefault(new.key, new)
    return list(made.values())


@st.composite
def _problems(draw: st.DrawFn) -> tuple[list[DocumentEntity], Constraints]:
    document_entities = draw(_units())
    pairs = st.tuples(st.sampled_from([u.key for u in document_entities]), st.sampled_from([u.key for u in document_entities]))
    chosen = draw(st.lists(pairs.filter(lambda p: p[0] != p[1]), max_size=4))
    half = len(chosen) // 2
    return document_entities, Constraints(frozenset(chosen[:half]), frozenset(chosen[half:]))


def by_name(document: str) -> frozenset[str]:
    return frozenset({"common", f"word{ord(document[0]) % 3}", f"word{ord(document[0]) % 2 + 5}"})


def key_of(solution: Solution) -> tuple[object, ...]:
    return sorted(solution.clusters, key=lambda c: c.document_entities), sorted(map(repr, solution.decisions))


@given(_problems(), st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=100, deadline=None)
def test_order_does_not_matter(problem: tuple[list[DocumentEntity], Constraints], random: Random, demonyms: bool) -> None:
    document_entities, constraints = problem
    expected = key_of(solve(document_entities, constraints, by_name, demonyms))
    shuffled = list(document_entities)
    random.shuffle(shuffled)
    assert key_of(solve(shuffled, constraints, by_name, demonyms)) == expected


@given(_problems(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_whole_is_the_union_of_its_blocks(problem: tuple[list[DocumentEntity], Constraints], demonyms: bool) -> None:
    document_entities, constraints = problem
    whole = solve(document_entities, constraints, by_name, demonyms)
    parts = [solve(b, constraints, by_name, demonyms) for b in blocks(document_entities, constraints.same, demonyms)]
    assert key_of(whole) == key_of(Solution([c for p in parts for c in p.clusters], [d for p in parts for d in p.decisions]))


@given(_problems())
@settings(max_examples=150, deadline=None)
def test_constraints_hold_against_every_chain(problem: tuple[list[DocumentEntity], Constraints]) -> None:
    document_entities, constraints = problem
    by_key = {u.key: u for u in document_entities}
    solution = solve(document_entities, constraints, by_name)
    assert sorted(k for c in solution.clusters for k in c.document_entities) == sorted(by_key)
    for c in solution.clusters:
        members = [by_key[k] for k in c.document_entities]
        qids = {u.wikidata_id for u in members} - {None}
        assert len(qids) <= 1 and c.wikidata_id == next(iter(qids), None)
        registered = [u for u in members if u.registry_id]
        assert len({u.registry_id for u in registered}) <= 1 or qids
        assert all(compatible(firm_type(a), firm_type(b)) for a in members for b in members)
        assert not any({a, b} <= set(c.document_entities) for a, b in constraints.different)


@given(_problems())
@settings(max_examples=80, deadline=None)
def test_the_closure_of_a_change_is_whole_blocks(problem: tuple[list[DocumentEntity], Constraints]) -> None:
    document_entities, constraints = problem
    keys = {u.key: block_keys(u) for u in document_entities}
    for number, pair in enumerate(sorted(constraints.same)):
        for document_entity in pair:  # what a person has judged the same shares a key of the judgement's
            keys[document_entity] |= {f"judgement:{number}"}
    for changed in document_entities:
        touched = closure(
            keys[changed.key],
            lambda asked: {k: sorted(u for u in keys if k in keys[u]) for k in asked},
            lambda asked: {u: keys[u] for u in asked},
        )
        assert changed.key in touched
        for block in blocks(document_entities, constraints.same):
            assert {u.key for u in block} <= touched or not {u.key for u in block} & touched


def test_names_that_hold_in_their_document_only_stay_in_it() -> None:
    for name in ("Section 4/LAW", "Appendix B/ORG", "Table 2/PRODUCT", "the Landlord/ORG", "Milestone M1/ORG", "Work Package 3/ORG"):
        assert clusters(one_each(name, name)) == [{"a"}, {"b"}]
    defined = [document_entity("a", "Target/ORG*3/defined here"), document_entity("b", "Target/ORG")]
    assert clusters(defined) == [{"a"}, {"b"}]
    firms = [
        document_entity("a", "Hartmann Werke/ORG", "Landlord/ORG*5/definition"),
        document_entity("b", "Linovar AG/ORG", "Landlord/ORG*5/definition"),
    ]
    assert clusters(firms) == [{"a"}, {"b"}]
