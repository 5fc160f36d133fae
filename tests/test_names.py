"""Normal forms of names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolution.names import normalise

SAME = [
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
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_forms_of_one_name_meet(a: str, b: str) -> None:
    assert normalise(a) == normalise(b)


@pytest.mark.parametrize(
    ("a", "b"), [("US", "us"), ("WHO", "who"), ("General Motors", "Motors"), ("Niger", "Nigeria"), ("City of London", "London")]
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
