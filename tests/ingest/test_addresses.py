"""Names beside e-mail addresses are mentions, whatever a recogniser makes of such a line, and addresses are none."""

import orjson
import pytest

from polyonym.ingest.mentions.addresses import named_addresses, persons_address
from polyonym.ingest.mentions.mentions import Mention, Recogniser, find_mentions, layout
from polyonym.ingest.text.documents import Document


def mentions(text: str, *seen: tuple[str, str]) -> list[Mention]:
    """The mentions of a text in which a recogniser saw these (text, label), at their first places."""
    document = Document("d", "s", "d", "", "en", text)
    where = layout(document)
    payloads = {
        p.content: orjson.dumps([[(text.index(n) - p.start, text.index(n) + len(n) - p.start, label) for n, label in seen], []])
        for p in where.passages
    }
    return find_mentions(document, where, Recogniser("sm", payloads))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("From: Nora Feld <nora@example.org>\nTo: Tomas Lind <tomas@example.org>", ["Nora Feld", "Tomas Lind"]),
        ('To: "Holm, Karin" <k@example.org>, n@example.org, Nora van der Feld <n@example.org>', ["Holm, Karin", "Nora van der Feld"]),
        ("Von: Holm, Karin <k@example.org>; Feld, Nora <n@example.org>", ["Holm, Karin", "Feld, Nora"]),
        ("Cc: x@example.org, Holm, Karin <k@example.org>", ["Holm, Karin"]),
        ("from: jens aagaard <j@example.org>", ["jens aagaard"]),
        ("On Mon, 4 Mar 2024 at 09:00, Nora Feld <nora@example.org> wrote:", ["Nora Feld"]),
        ("Am 4. März schrieb Ödön von Horváth <o@example.org>:", ["Ödön von Horváth"]),
        ("They met the lawyers and Karin Holm <k@example.org> in Oslo.", ["Karin Holm"]),
        ("From: Holm Karin [mailto:k@example.org]", ["Holm Karin"]),
        ("From: Karin Holm (Velmora) <k@example.org>", ["Karin Holm"]),
        ("From: 'Karin Holm' <k@example.org>", ["Karin Holm"]),
        ('From: "Karin Holm via Grid List" <grid@example.org>', ["Karin Holm"]),
        ("From: 山田太郎 <yamada@example.org>", ["山田太郎"]),
        ("karin <karin@example.org>, <nora@example.org> and tomas@example.org", []),
        ("if x <a@b and c> then", []),
    ],
)
def test_names_before_addresses(text: str, names: list[str]) -> None:
    assert [text[n.start : n.end] for n in named_addresses(text)] == names
    assert [(m.text, m.label, m.detectors) for m in mentions(text) if "repeat" not in m.detectors] == [
        (n, "PERSON", ("address",)) for n in names
    ]


def test_addresses_of_functions_are_those_of_organisations() -> None:
    text = "From: Velmora Energy <info@velmora.example>\nTo: Velmora <post.box@velmora.example>"
    assert [(m.text, m.label) for m in mentions(text) if "address" in m.detectors] == [("Velmora Energy", "ORG"), ("Velmora", "ORG")]


def test_what_a_recogniser_sees_in_such_a_line_gives_way() -> None:
    text = "From: Nora Feld <nora@example.org>\nCc: Acme nora@example.org\n\nSiemens grows."
    seen = [("From: Nora", "ORG"), ("nora@example.org", "ORG"), ("Acme nora@example.org", "ORG"), ("Siemens", "ORG")]
    assert [m.text for m in mentions(text, *seen[:1], *seen[2:])] == ["Nora Feld", "Acme", "Siemens"]
    assert [m.text for m in mentions(text, *seen[1:])] == ["Nora Feld", "Acme", "Siemens"]


@pytest.mark.parametrize(
    ("behind", "address"),
    [
        (" <Karin.Holm@Example.org>", "karin.holm@example.org"),
        ('" <karin+news@example.org>', "karin@example.org"),
        (" (Velmora)\n> <karin@example.org>", "karin@example.org"),
        (" [mailto:karin@example.org]", "karin@example.org"),
        (" <info@example.org>", ""),
        (" <drive-shares-noreply@example.org>", ""),
        (" and <karin@example.org>", ""),
        (" karin@example.org", ""),
    ],
)
def test_the_address_of_a_person(behind: str, address: str) -> None:
    assert persons_address("Karin Holm" + behind, len("Karin Holm")) == address
