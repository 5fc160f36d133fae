"""E-mail addresses as evidence: one address is one person where the names beside it can be one's; different ones say nothing."""

import random

import pytest
from home_fixtures import MakePlace, Place, make_place

from polyonym.resolution.within_document.addresses import may_be_one

__all__ = ["make_place"]  # a fixture


def mail(sender: str, words: str = "The offer stands.") -> str:
    return f"From: {sender}\nTo: grid@example.org\n\n{words}\n"


def nodes(place: Place) -> set[frozenset[tuple[str, str]]]:
    """The mentions of each node, by document and text."""
    members: dict[str, set[tuple[str, str]]] = {}
    for m in place.export("mentions"):
        members.setdefault(m["entity_id"], set()).add((m["document"], m["text"]))
    return set(map(frozenset, members.values()))


MAILS = {
    "1.eml": mail("Karin Holm <karin@example.org>"),
    "2.eml": mail("KH <Karin@Example.org>"),
    "3.eml": mail('"Holm, Karin" <karin+work@example.org>'),
    "4.eml": mail("Karin <karin@example.org>"),
    "5.eml": mail("Karin Berg <karin@example.org>"),
    "6.eml": mail("Karin <k.other@example.net>"),
    "7.eml": mail("Nora Feld <grid-list@example.org>"),
    "8.eml": mail("Tomas Lind <grid-list@example.org>"),
    "9.eml": mail("Jens Aagaard <family@example.org>"),
    "10.eml": mail("Marta Aagaard <family@example.org>"),
    "11.eml": mail("Jens Aagaard <jens@example.com>"),
}
EXPECTED = {
    frozenset({("1.eml", "Karin Holm"), ("2.eml", "KH"), ("3.eml", "Holm, Karin"), ("4.eml", "Karin"), ("5.eml", "Karin Berg")}),
    frozenset({("6.eml", "Karin")}),
    frozenset({("7.eml", "Nora Feld")}),
    frozenset({("8.eml", "Tomas Lind")}),
    frozenset({("9.eml", "Jens Aagaard"), ("11.eml", "Jens Aagaard")}),
    frozenset({("10.eml", "Marta Aagaard")}),
}


def test_one_address_is_one_person(make_place: MakePlace) -> None:
    place = make_place(names={"Acme": "ORG"}, fast=True)
    place.write(MAILS)
    place.ingest()
    assert nodes(place) == EXPECTED
    merges = [d for d in place.export("decisions") if d["verdict"] == "same e-mail address"]
    assert [d["features"] for d in merges] == [{"address": "karin@example.org"}]


def test_the_order_of_mails_does_not_matter_and_a_deletion_takes_its_address_along(make_place: MakePlace) -> None:
    place = make_place(names={"Acme": "ORG"}, fast=True)
    names = sorted(MAILS)
    random.Random(5).shuffle(names)
    for name in names:
        place.write({name: MAILS[name]})
        place.ingest()
    assert nodes(place) == EXPECTED
    for name in ("1.eml", "3.eml", "5.eml"):
        (place.source / name).unlink()
    place.write({"2.eml": mail("KH <kh@example.org>")})
    place.ingest()
    assert frozenset({("2.eml", "KH")}) in nodes(place)
    assert not [d for d in place.export("decisions") if d["verdict"] == "same e-mail address"]


def test_one_address_inside_a_document(make_place: MakePlace) -> None:
    place = make_place(names={"Acme": "ORG"}, fast=True)
    place.write({"a.txt": "On Monday, KH <karin@example.org> wrote:\n> yes\n\nFrom: Karin Holm <karin@example.org>\n"})
    place.ingest()
    assert nodes(place) == {frozenset({("a.txt", "KH"), ("a.txt", "Karin Holm")})}


def test_a_first_name_with_an_address_is_nobody_beside_whom_another_one_stands(make_place: MakePlace) -> None:
    place = make_place(names={"Acme": "ORG"}, fast=True)
    place.write({"a.eml": "From: Karin <karin.holm@example.org>\nTo: Karin Berg <karin.berg@example.org>\n\nSo be it.\n"})
    place.write({"b.eml": mail("Karin Holm <karin.holm@example.org>"), "c.eml": mail("Karin Berg <karin.berg@example.org>")})
    place.ingest()
    assert nodes(place) == {
        frozenset({("a.eml", "Karin"), ("b.eml", "Karin Holm")}),
        frozenset({("a.eml", "Karin Berg"), ("c.eml", "Karin Berg")}),
    }


def test_initials_that_addresses_make_clear_join_nobody(make_place: MakePlace) -> None:
    place = make_place(names={"Acme": "ORG"}, fast=True)
    people = {"paul": "Paul Dumont", "peter": "Peter Dumont"}
    for login, name in people.items():
        for sender in (name, "P. Dumont", name.split()[0]):
            place.write({f"{login} {sender.replace('.', '')}.eml": mail(f"{sender} <{login}@example.org>")})
    place.ingest()
    names = [sorted(text for _, text in node) for node in nodes(place)]
    assert sorted(names) == [["P. Dumont", "Paul", "Paul Dumont"], ["P. Dumont", "Peter", "Peter Dumont"]]


@pytest.mark.parametrize(
    ("names", "one"),
    [
        (["karin holm", "karin"], True),
        (["karin holm", "holm karin", "k holm", "kh"], True),
        (["karin holm", "karin berg"], True),
        (["bill gates", "william gates"], True),
        (["velmora", "velmora energy"], True),
        (["karin holm", "jens holm"], False),
        (["karin holm", "nora feld"], False),
        (["karin holm", "karin", "nora feld"], False),
        ([f"karin holm {letter}" for letter in "abcdefghijklmn"], False),
    ],
)
def test_names_of_one_person(names: list[str], one: bool) -> None:
    assert may_be_one(names) == one
