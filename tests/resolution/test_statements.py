"""Statements of a document against those of a description."""

import pytest

from polyonym.resolution.linking.candidates import Item
from polyonym.resolution.linking.statements import AGREEMENT, agreement, traits_of_item


def agreeing(said: dict[str, list[str]], item: Item) -> set[str]:
    values = agreement([said], traits_of_item(item, True), True)
    assert len(values) == len(AGREEMENT)
    return {name.removesuffix(" of a person") for name, value in zip(AGREEMENT, values, strict=True) if value}


HENRY = Item("Q1", "Henry Cavendish", (), "English philosopher and scientist (1731–1810)", ("PERSON",))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"is": ["scientist"], "people": ["england"]}, {"same definition", "same people"}),
        ({"is": ["baker"]}, {"other definition"}),
        ({"role": ["baker"]}, {"other trade"}),
        ({"is": ["scientist"], "role": ["baker"]}, {"same definition"}),
        ({"born": ["1731"]}, {"same life"}),
        ({"born": ["1630"], "died": ["1691"]}, {"other life"}),
        ({"near": ["london"]}, set()),
        ({}, set()),
    ],
)
def test_what_both_say_is_compared(said: dict[str, list[str]], expected: set[str]) -> None:
    assert agreeing(said, HENRY) == expected


def test_a_label_says_whose_land_it_is() -> None:
    louis = Item("Q2", "Louis I, Count of Nevers", (), None, ("PERSON",))
    assert "other land" in agreeing({"land": ["hesse"]}, louis) and "same land" in agreeing({"land": ["nevers"]}, louis)


def test_an_item_without_description_says_nothing() -> None:
    assert agreeing({"is": ["baker"], "born": ["1900"]}, Item("Q3", "John Ellis")) == set()
