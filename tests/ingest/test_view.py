"""The view of a text: what a reader sees of it, and the way back."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyonym.ingest.text.sentences import sentences
from polyonym.ingest.text.view import view_of

PROSE = (
    "At the meeting in Copenhagen the chief executive of Hartmann Werke said that the firm would not sell its yard to Nordvik Shipping. "
    "The lawyers of Clifford Chance had advised against it, and so had Deutsche Bank and the European Investment Bank."
)


def wrapped(text, width, lead="", end="\n"):
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return end.join(lead + each for each in [*lines, line])


@pytest.mark.parametrize("lead", ["", "> ", ">> ", "> > ", "    ", "\t", " * ", "# ", "// ", "; "])
@pytest.mark.parametrize("width", [60, 72, 78])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"])
def test_lines_that_only_wrap_are_read_as_one(lead, width, end):
    coat = wrapped(PROSE, width, lead, end)
    assert view_of(coat).text == PROSE
    assert [coat[s:e].lstrip(" \t>*#/;")[:3] for s, e in sentences(coat)] == ["At ", "The"]


def test_what_hangs_from_an_item_or_a_label_belongs_to_it():
    text = (
        "- The board of International\n  Paper\n- The lawyers of Clifford\n  Chance\n\nSubject: An offer of Hartmann\n Werke\nDate: Monday"
    )
    assert view_of(text).text == (
        "- The board of International Paper\n- The lawyers of Clifford Chance\n\nSubject: An offer of Hartmann Werke\nDate: Monday"
    )


def test_ragged_lines_of_running_text_are_one():
    coat = "The owner of Moreau\nMarine had refused an offer. A clerk from Goldman\nSachs; the United\nNations was not asked. Mary Ellen\nAshworth was."
    assert "\n" not in view_of(coat).text


@pytest.mark.parametrize(
    "text",
    [
        "Henrik Solberg\nPhilippe Moreau\nIngrid Dahl",
        "- Henrik Solberg\n- Philippe Moreau of Hartmann\n- Ingrid Dahl",
        "* Henrik Solberg\n* Philippe Moreau\n* Ingrid Dahl",
        "Install the package.\nRun the command.\nRead what it says.",
        "Install the package\nRun the command\nRead what it says",
        "name: Karin Holm\nfirm: Velmora Energy\nrole: chief executive",
        "From: Nora Feld\nTo: Tomas Lind\nSubject: the offer of Monday",
        "| Karin Holm | Velmora Energy |\n| Jens Aagaard | Nordvik Shipping |",
        "Jens Aagaard | Nordvik Shipping | Bergen\nMarta Kowalska | Baltic Cables | Gdansk",
        "Jens Aagaard    Nordvik Shipping    Bergen\nMarta Kowalska    Baltic Cables    Gdansk",
        "LEASE AGREEMENT\nThis is made between two firms, and holds. It ends in May.",
        "1. The first part of it\n2. The second part of it",
        "Regards,\nNora Feld",
    ],
)
def test_lines_that_stand_for_themselves_stay_apart(text):
    assert view_of(text).text == text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Hen\u00adrik Sol\u200bberg\u200f of\ufeff Velmora", "Henrik Solberg of Velmora"),
        ("New\u00a0York, Deutsche\u2009Bank, Angela\u202fMerkel", "New York, Deutsche Bank, Angela Merkel"),
        ("Geo\ufb00rey Du\ufb00y of P\ufb01zer", "Geoffrey Duffy of Pfizer"),
        ("the agree-\nment was signed in Hart\u2010\nmannsdorf", "the agreement was signed in Hartmannsdorf"),
        ("> they sold Coca-\n> Cola in Copen-\n> hagen", "they sold Coca-Cola in Copenhagen"),
        ("a long-term plan is a long-\nterm plan", "a long-term plan is a long-term plan"),
        ("It was made by Hart\u00ad\nmann in May", "It was made by Hartmann in May"),
        ("One line\rAnother one\u2028The last", "One line\nAnother one\nThe last"),
    ],
)
def test_signs_are_read_as_a_reader_sees_them(text, read):
    assert view_of(text).text == read


def test_encoded_blocks_are_not_read():
    key = "n0G9W8uw8de9puyHB9d3xvE/pg3mKBxfeN4/YYsakj8DuzdoRy7q3sRjKMPMEiOennEgIQD43wE1\nxjf1+yrfKkpQ9jKK4K2gNC7w97Ay9/fkYkwFXGoq7yVDEFRN0ZqWAJittVYQT1rRTnuyUC97eLQt\nIFwz"
    text = f"Karin Holm wrote.\n\n-----BEGIN PGP SIGNATURE-----\n\n{key}\n-----END PGP SIGNATURE-----\n\nJens Aagaard answered from Bergen."
    assert view_of(text).text.split() == ["Karin", "Holm", "wrote.", "Jens", "Aagaard", "answered", "from", "Bergen."]
    code = "function(){var a=1;b(a,[c]);d={e:f};" * 20
    assert view_of(f"Before it.\n{code}\nAfter it.").text.split() == ["Before", "it.", "After", "it."]
    assert view_of(f"![plan](data:image/png;base64,{key[:76]}) of Siemens").text == "![plan]( ) of Siemens"
    words = "https://example.org/the-long-and-winding-road-to-the-north-sea-grid-authority/annual_report_of_the_committee"
    assert view_of(f"See {words} for more.").text == f"See {words} for more."


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from(list("ABc d.\n\r,> *#-\t\u00ad\u200b\u00a0\ufb01\u2029é日")), max_size=120))
def test_every_span_leads_back(text):
    view = view_of(text)
    before = 0
    for i, c in enumerate(view.text):
        start, end = view.span(i, i + 1)
        assert before <= start < end <= len(text)
        before = start
        if c.isalpha() and c not in "fi":
            assert text[start:end] == c
            assert view.seen(start, end) == (i, i + 1)


def test_long_texts_take_time_by_their_length():
    chance = random.Random(1)
    lines = [wrapped(PROSE, chance.randrange(40, 90), chance.choice(["", "> ", "# "])) for _ in range(1500)]

    def spent(text):
        start = time.process_time()
        view = view_of(text)
        for i in range(0, len(view.text) - 1, 50):
            view.span(i, i + 1)
        return time.process_time() - start

    few, many = "\n\n".join(lines[:300]), "\n\n".join(lines)
    assert spent(many) < 20 * max(spent(few), 0.01)
