"""Normal forms of names."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyonym.resolution.names.abbreviations import abbreviates
from polyonym.resolution.names.comparison import SAME, compare
from polyonym.resolution.names.normal_forms import normalise

ONE_NAME = [
    ("U.S.", "United States"),
    ("Apple, Inc.", "Apple"),
    ("Siemens AG", "Siemens Aktiengesellschaft"),
    ("ООО «Газпром»", "Gazprom"),
    ("株式会社トヨタ", "Toyota"),
    ("J. R. R. Tolkien", "J.R.R. Tolkien"),
    ("Cambridge, MA", "Cambridge, Massachusetts"),
    ("the Netherlands", "Holland"),
    ("Saint Louis", "St. Louis"),
    ("Coca-Cola", "Coca Cola"),
    ("Norway's Fisheries Ministry", "Norway Fisheries Ministry"),
]


@pytest.mark.parametrize(("a", "b"), ONE_NAME)
def test_forms_of_one_name_meet(a: str, b: str) -> None:
    assert normalise(a) == normalise(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("US", "us"),
        ("WHO", "who"),
        ("General Motors", "Motors"),
        ("Niger", "Nigeria"),
        ("City of London", "London"),
        ("Chiles", "Chile"),
        ("Frances", "France"),
    ],
)
def test_different_names_stay_apart(a: str, b: str) -> None:
    assert normalise(a) != normalise(b)


def test_honorifics_go_only_from_persons() -> None:
    assert normalise("General Powell", person=True) == "powell"
    assert normalise("General Motors") == "general motors"


@given(st.text(min_size=1), st.booleans())
def test_normalising_twice_changes_nothing(raw: str, person: bool) -> None:
    once = normalise(raw, person)
    assert normalise(once, person) == once
    assert once or not raw.strip()


# Comparing two names

PAIRS = [
    line.split("\t")
    for line in (Path(__file__).parents[2] / "benchmarks" / "data" / "name_pairs.tsv").read_text(encoding="utf-8").splitlines()
    if not line.startswith("# ")
]
FOOLS_A_PLAIN_SCORE = [
    ("Niger", "Nigeria"),
    ("Austria", "Australia"),
    ("Siemens", "Siemens Energy"),
    ("Joan Smith", "John Smith"),
    ("SR-2023-052", "SR-2023-053"),
    ("ASR1603", "ASR1605"),
    ("CEO", "CTO"),
    ("Republic of the Congo", "Democratic Republic of the Congo"),
    ("New York", "New York Times"),
    ("New York", "New York City"),
    ("Georgia (country)", "Georgia (U.S. state)"),
    ("Bank of China", "Bank of Canada"),
    ("Boeing 737", "Boeing 747"),
    ("George H. W. Bush", "George W. Bush"),
    ("9/11", "11/9"),
]


@pytest.mark.parametrize(("a", "b"), FOOLS_A_PLAIN_SCORE)
def test_exclusive_evidence_forbids(a: str, b: str) -> None:
    found = compare(a, b)
    assert found.forbids and not found.same and found.score < SAME


def test_labelled_pairs_come_out_right() -> None:
    wrong = [(a, b) for a, b, label, type_, _ in PAIRS if compare(a, b, type_, type_).same != (label == "same")]
    untyped = [(a, b) for a, b, label, _, _ in PAIRS if compare(a, b).same != (label == "same")]
    assert len(PAIRS) > 500 and len(wrong) <= 5 and len(untyped) <= 6, (wrong, untyped)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("BMVg", "Bundesministerium der Verteidigung"),
        ("BMBF", "Bundesministerium für Bildung und Forschung"),
        ("BMWi", "Bundesministerium für Wirtschaft"),
    ],
)
def test_one_letter_of_an_abbreviation_may_be_no_initial(short: str, long: str) -> None:
    assert abbreviates(short, [long])


@pytest.mark.parametrize(("short", "long"), [("BMVg", "Bayerische Motorenwerke"), ("BVMG", "Bundesministerium der Verteidigung")])
def test_an_abbreviation_has_the_letters_in_order(short: str, long: str) -> None:
    assert not abbreviates(short, [long])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("AT&T", "AT and T"),
        ("AT&T", "American Telephone & Telegraph"),
        ("P&G", "Procter & Gamble"),
        ("P&G", "Procter and Gamble"),
        ("M&S", "Marks & Spencer plc"),
    ],
)
def test_an_ampersand_stands_for_and(a: str, b: str) -> None:
    assert compare(a, b).same and compare(a, b, "ORG", "ORG").same


@pytest.mark.parametrize(("a", "b"), [("B&B", "Best Buy"), ("P&G", "M&S"), ("P&G", "Penn & Teller")])
def test_an_ampersand_makes_no_acronym_of_other_names(a: str, b: str) -> None:
    assert not compare(a, b).same


def test_types_that_cannot_go_together_forbid() -> None:
    assert compare("Jordan", "Jordan", "PERSON", "PLACE").forbids == ("a PERSON is no PLACE",)
    assert compare("Jordan", "Jordan", "PERSON", "GPE").forbids
    assert compare("Boston", "Boston", "ORG", "GPE").same


_name = st.one_of(st.text(max_size=30), st.lists(st.sampled_from([w for p in PAIRS for w in p[0].split()]), max_size=5).map(" ".join))


@given(_name, _name)
def test_comparison_is_symmetric_and_bounded(a: str, b: str) -> None:
    found = compare(a, b)
    assert compare(b, a) == found
    assert 0 <= found.score <= 1 and (not found.forbids or found.score < SAME)


@given(_name)
def test_a_name_is_the_same_as_itself(name: str) -> None:
    assert compare(name, name).score == 1


@given(st.sampled_from(["Boeing", "Flight", "Resolution", "iPhone", "Route"]), st.integers(2, 9999), st.integers(2, 9999))
def test_numbers_tell_apart(word: str, a: int, b: int) -> None:
    assert compare(f"{word} {a}", f"{word} {b}").same == (a == b)


@given(st.sampled_from(["Obama", "Merkel", "Putin"]), st.sampled_from(["Mary", "Jane", "Ruth"]), st.sampled_from(["Peter", "Paul", "Karl"]))
def test_given_names_tell_apart(surname: str, woman: str, man: str) -> None:
    assert compare(f"{woman} {surname}", f"{man} {surname}").forbids
    assert compare(f"{woman} {surname}", f"{surname}, {woman}").same
    assert compare(f"{woman} {surname}", f"{woman[0]}. {surname}", "PERSON", "PERSON").same
