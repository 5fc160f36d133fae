"""Definitions in texts: which terms, and of what."""

from dataclasses import dataclass

import pytest

from polyonym.ingest.text.definitions import definitions, named_by


@dataclass
class Place:
    start: int
    end: int
    label: str


@pytest.mark.parametrize(
    ("text", "term", "thing"),
    [
        ('Hartmann Werke GmbH (the "Landlord") lets it.', "Landlord", "Hartmann Werke GmbH"),
        ("Hartmann Werke GmbH (“Landlord”) lets it.", "Landlord", "Hartmann Werke GmbH"),
        ('Hartmann Werke GmbH (hereinafter referred to as "the Landlord") lets it.', "Landlord", "Hartmann Werke GmbH"),
        ("Hartmann Werke GmbH, hereinafter BWL, lets it.", "BWL", "Hartmann Werke GmbH"),
        ("Hartmann Werke GmbH (hereinafter called the Landlord) lets it.", "Landlord", "Hartmann Werke GmbH"),
        ("Hartmann Werke GmbH (nachfolgend „Vermieter“ genannt) vermietet es.", "Vermieter", "Hartmann Werke GmbH"),
        ('Hartmann Werke GmbH, a company with its seat in Rostock (the "Landlord"), lets it.', "Landlord", "Hartmann Werke GmbH"),
        ('In this lease "Landlord" means Hartmann Werke GmbH.', "Landlord", "Hartmann Werke GmbH"),
        ('Hartmann Werke GmbH and Rostock (each a "Party") agree.', "Party", None),
        ('He said so ("never again"), and Hartmann Werke GmbH heard it.', None, None),
        ("Hartmann Werke GmbH (which is in Rostock) lets it.", None, None),
    ],
)
def test_a_definition_has_its_term_and_its_thing(text, term, thing):
    places = sorted(
        (
            Place(text.index(n), text.index(n) + len(n), label)
            for n, label in (("Hartmann Werke GmbH", "ORG"), ("Rostock", "GPE"))
            if n in text
        ),
        key=lambda p: p.start,
    )
    made = definitions(text)
    assert [d.term for d in made] == ([term] if term else [])
    if term:
        named = named_by(text, made[0], 0, places)
        assert (text[named.start : named.end] if named else None) == thing


def test_each_definition_has_the_thing_behind_the_one_before():
    text = 'Hartmann Werke GmbH (the "Landlord") and Nordvik Shipping AS, a firm of Bergen (the "Tenant"), agree.'
    named = (("Hartmann Werke GmbH", "ORG"), ("Nordvik Shipping AS", "ORG"), ("Bergen", "GPE"))
    places = [Place(text.index(n), text.index(n) + len(n), label) for n, label in named]
    first, second = definitions(text)
    assert named_by(text, first, 0, places) is places[0]
    assert named_by(text, second, first.end, places) is places[1]
