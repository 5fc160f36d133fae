"""Mails: every text of a message comes through in its order, with who wrote to whom, and attachments are documents."""

import base64
import gzip
import io
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import docx
import pytest
from compound_file import compound_file, properties
from hypothesis import given
from hypothesis import strategies as st

from polyonym.ingest.readers import Read, ReaderOptions, Unreadable, read_file
from polyonym.ingest.readers.mail import mailboxes

HEAD = "From: Ann <ann@example.org>\nTo: b@example.org"


def read(path: Path, content: bytes | str, options: ReaderOptions | None = None) -> list[Read | Unreadable]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_file(path, options))


def texts(results: list[Read | Unreadable]) -> dict[str, str]:
    """Each document's text by its suffix; the reason, in brackets, for what is set aside."""
    assert len({r.suffix for r in results}) == len(results)
    return {r.suffix: r.text if isinstance(r, Read) else f"[{r.reason}]" for r in results}


def body(results: list[Read | Unreadable]) -> str:
    """The text of the mail itself, below its header."""
    return texts(results)[""].removeprefix(HEAD + "\n\n")


def mail(**headers: str) -> EmailMessage:
    message = EmailMessage()
    for name, value in {"Subject": "Übernahme of Acme", "From": "Ann <ann@example.org>", "To": "b@example.org", **headers}.items():
        message[name] = value
    return message


def word_file(text: str) -> bytes:
    document = docx.Document()
    document.add_paragraph(text)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def test_a_message_and_its_attachments(tmp_path: Path) -> None:
    message = mail(Date="Mon, 9 Jan 2023 15:00:43 -0600", Cc='"Holm, Karin" <karin@example.org>')
    message.set_content("Dear Bob,\n\nAcme, größer than ever.\n")
    message.add_alternative("<p>Dear Bob,</p><p>Acme, größer than ever.</p>", subtype="html")
    message.add_attachment(b"attached words", maintype="text", subtype="plain", filename="größe.txt")
    message.add_attachment(word_file("words in Word"), maintype="application", subtype="octet-stream", filename="../a/report.docx")
    message.add_attachment(b"id,text\n7,seven words\n8,eight words\n", maintype="text", subtype="csv", filename="rows.csv")
    message.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="plan.png")
    message.add_attachment(b"attached again", maintype="text", subtype="plain", filename="größe.txt")
    results = read(tmp_path / "a.eml", bytes(message))
    head = 'From: Ann <ann@example.org>\nTo: b@example.org\nCc: "Holm, Karin" <karin@example.org>'
    assert texts(results) == {
        "": head + "\n\nDear Bob,\n\nAcme, größer than ever.",
        "größe.txt": "attached words",
        "report.docx": "words in Word",
        "rows.csv/7": "seven words",
        "rows.csv/8": "eight words",
        "plan.png": "[unsupported format .png: have its text recognised and saved as .pdf or .txt]",
        "größe (2).txt": "attached again",
    }
    first, second = results[:2]
    assert isinstance(first, Read)
    assert isinstance(second, Read)
    assert (second.title, second.metadata) == ("größe", {"attached": "2023-01-09T15:00:43-06:00"})
    assert first.title == "Übernahme of Acme"
    assert first.metadata == {
        "from": "Ann <ann@example.org>",
        "to": "b@example.org",
        "cc": '"Holm, Karin" <karin@example.org>',
        "date": "2023-01-09T15:00:43-06:00",
        "attachments": ["größe.txt", "report.docx", "rows.csv", "plan.png", "größe (2).txt"],
    }


def test_texts_around_attachments_come_in_their_order(tmp_path: Path) -> None:
    message = mail()
    message.set_content("First.")
    message.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="a.png", disposition="inline")
    message.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="b.png", cid="<b@example.org>")
    message.add_attachment("Second.", disposition="inline")
    message.add_attachment("<p>Third.</p>", subtype="html", disposition="inline")
    assert texts(read(tmp_path / "a.eml", bytes(message))) == {"": HEAD + "\n\nFirst.\n\nSecond.\n\nThird."}


@pytest.mark.parametrize(
    ("plain", "html", "chosen"),
    [
        ("Acme grows in Oslo.", "<p>Acme grows in <b>Oslo</b>.</p>", "plain"),
        (" \n\n", "<p>Acme grows in Oslo.</p>", "html"),
        ("This message is in HTML format.", "<p>Acme grows.</p>", "html"),
        ("Your mail program does not show HTML. Open this in a browser: https://example.org/7", "<p>Acme grows in Oslo.</p>", "html"),
        ("Diese Nachricht ist im HTML-Format.", "<p>Acme wächst in Oslo und in Bergen, und das seit Jahren.</p>", "html"),
        ("Acme grows in Oslo. Read more: https://example.org", f"<p>Acme grows in Oslo. {'Karin Holm went on and on. ' * 9}</p>", "html"),
        ("Acme grows in Oslo.", "<img src='cid:7'>", "plain"),
        ("Acme grows in Oslo, said Karin Holm. " * 5, "<p>To be read with a browser.</p>", "plain"),
    ],
)
def test_of_alternatives_the_one_that_carries_the_text_is_read(tmp_path: Path, plain: str, html: str, chosen: str) -> None:
    message = mail()
    message.set_content(plain)
    message.add_alternative(html, subtype="html")
    expected = mail()
    expected.set_content(plain if chosen == "plain" else html, subtype=chosen)
    assert read(tmp_path / "a.eml", bytes(message)) == read(tmp_path / "b.eml", bytes(expected))


def test_what_lies_beside_one_alternative_alone_is_attached_all_the_same(tmp_path: Path) -> None:
    message = mail()
    message.set_content("Acme grows in Oslo.")
    message.add_alternative("<p>Acme grows in Oslo.</p>", subtype="html")
    markup = message.get_payload()[1]  # type: ignore[index]
    assert isinstance(markup, EmailMessage)
    markup.add_attachment(b"attached words", maintype="text", subtype="plain", filename="a.txt")
    assert texts(read(tmp_path / "a.eml", bytes(message))) == {"": HEAD + "\n\nAcme grows in Oslo.", "a.txt": "attached words"}


def test_an_enclosed_message_is_part_of_the_text_with_its_header(tmp_path: Path) -> None:
    inner = mail(From="Ivan Kovač <ivan@example.net>", Subject="Offer", Date="Sun, 3 Mar 2024 09:00:00 +0000")
    inner.set_content("A price for Siemens.")
    inner.add_attachment(b"attached words", maintype="text", subtype="plain", filename="a.txt")
    message = mail()
    message.set_content("See below.")
    message.add_attachment(inner)
    message.add_attachment("After it.", disposition="inline")
    enclosed = "From: Ivan Kovač <ivan@example.net>\nTo: b@example.org\nDate: Sun, 03 Mar 2024 09:00:00 +0000\nSubject: Offer"
    expected = f"{HEAD}\n\nSee below.\n\n{enclosed}\n\nA price for Siemens.\n\nAfter it."
    assert texts(read(tmp_path / "a.eml", bytes(message))) == {"": expected, "a.txt": "attached words"}


def test_an_enclosed_message_that_is_encoded_though_it_may_not_be(tmp_path: Path) -> None:
    inner = mail(Subject="Offer")
    inner.set_content("A price for Siemens.")
    head = (
        f'{HEAD}\nContent-Type: multipart/mixed; boundary="x"\n\n--x\nContent-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n'
    )
    content = head.encode() + base64.encodebytes(bytes(inner)) + b"\n--x--\n"
    assert "A price for Siemens." in body(read(tmp_path / "a.eml", content))


def test_an_attached_mail_file_has_documents_of_its_own(tmp_path: Path) -> None:
    inner = mail()
    inner.set_content("A price for Siemens.")
    inner.add_attachment(b"attached words", maintype="text", subtype="plain", filename="a.txt")
    message = mail()
    message.set_content("See file.")
    message.add_attachment(bytes(inner), maintype="application", subtype="octet-stream", filename="offer.eml")
    assert texts(read(tmp_path / "a.eml", bytes(message))) == {
        "": HEAD + "\n\nSee file.",
        "offer.eml": HEAD + "\n\nA price for Siemens.",
        "offer.eml/a.txt": "attached words",
    }


def test_mails_enclosed_in_each_other_without_end(tmp_path: Path) -> None:
    message = mail()
    message.set_content("The innermost.")
    for _ in range(12):
        outer = mail()
        outer.set_content("Around it.")
        outer.add_attachment(message)
        message = outer
    results = read(tmp_path / "a.eml", bytes(message))
    assert "Around it." in body(results)
    assert "deep" in texts(results)["enclosed message"]


def test_a_message_of_markup_only(tmp_path: Path) -> None:
    message = mail()
    message.set_content("<p>Acme</p><script>x</script><p>grows</p>", subtype="html")
    assert body(read(tmp_path / "a.eml", bytes(message))) == "Acme\n\ngrows"


@pytest.mark.parametrize("charset", ["unknown-8bit", "us-ascii", "utf-8", "iso-8859-1", "utf8mb4", '"'])
def test_a_false_charset(tmp_path: Path, charset: str) -> None:
    head = f"Subject: x\nContent-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: 8bit\n\n"
    words = "Die Größe der Stadt “München” überraschte den Präsidenten sehr, und er blieb noch lange dort."
    assert texts(read(tmp_path / "a.eml", head.encode() + words.encode("cp1252"))) == {"": words}


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        ("=?utf-8?q?J=C3=B8rgen_Aas?= <j@example.org>", "Jørgen Aas <j@example.org>"),
        ("=?iso-8859-1?Q?Holm=2C_K=E4rin?= <k@example.org>", '"Holm, Kärin" <k@example.org>'),
        ("=?utf-8?b?xb1pxb4=?=\n =?utf-8?b?a2E=?= <z@example.org>", "Žižka <z@example.org>"),
        ('"=?utf-8?q?J=C3=B8rgen?=" <j@example.org>', "Jørgen <j@example.org>"),
        ("=?no-such-set?q?Karin?= <k@example.org>", "Karin <k@example.org>"),
        ("=?utf-8?b?broken!?= <k@example.org>", "=?utf-8?b?broken!?= <k@example.org>"),
        ("Jørgen Aas <j@example.org>", "Jørgen Aas <j@example.org>"),
        ("Holm, Karin <k@example.org>, Feld, Nora <n@example.org>", '"Holm, Karin" <k@example.org>, "Feld, Nora" <n@example.org>'),
        ("k@example.org (Karin Holm); n@example.org", "Karin Holm <k@example.org>, n@example.org"),
        ("Board: Karin <k@example.org>, n@example.org;, o@example.org", "Karin <k@example.org>, n@example.org, o@example.org"),
        ("'k@example.org' <k@example.org>", "k@example.org"),
        ("undisclosed-recipients:;", "undisclosed-recipients:;"),
        ('Karin "Kari" Holm <k@example.org>', "Karin Kari Holm <k@example.org>"),
        ("Karin Holm", "Karin Holm"),
    ],
)
def test_people_in_headers(tmp_path: Path, header: str, shown: str) -> None:
    content = f"From: Ann <ann@example.org>\nTo: {header}\n\nWords."
    assert texts(read(tmp_path / "a.eml", content)) == {"": f"From: Ann <ann@example.org>\nTo: {shown}\n\nWords."}


@given(st.text(alphabet='aé "<>@,;:()\\.', max_size=60))
def test_any_header_is_read(header: str) -> None:
    for name, address in mailboxes(header):
        assert "@" in address
        assert "\n" not in name


def test_dates(tmp_path: Path) -> None:
    def date(head: str) -> object:
        (result,) = read(tmp_path / "a.eml", f"From: a@example.org\n{head}\n\nWords.")
        assert isinstance(result, Read)
        return result.metadata.get("date")

    received = "Received: from x by y; Tue, 5 Mar 2024 09:00:00 +0000\nReceived: from w by x; Mon, 4 Mar 2024 09:00:00 +0000"
    assert date("Date: Mon, 4 Mar 2024 10:00:00 +0100") == "2024-03-04T10:00:00+01:00"
    assert date(f"Date: some day\n{received}") == "2024-03-04T09:00:00+00:00"
    assert date("Date: some day") is None


def test_broken_mime_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    head = f'{HEAD}\nContent-Type: multipart/mixed; boundary="named"\n\n'
    lost = '--other\nContent-Type: text/plain; charset="utf-8"\n\nFirst.\n--other\nContent-Type: text/html\n\n<p>Second.</p>\n'
    assert body(read(tmp_path / "a.eml", head + lost)) == "First.\n\nSecond."
    assert body(read(tmp_path / "a.eml", head + "Only words.")) == "Only words."
    cut = "--named\nContent-Type: text/plain\n\nFirst.\n--named\nContent-Type: text/plain\n\nSecond, cut sho"
    assert body(read(tmp_path / "a.eml", head + cut)) == "First.\n\nSecond, cut sho"


def test_a_footer_behind_encoded_lines_and_an_encoding_that_is_not_used(tmp_path: Path) -> None:
    head = f"{HEAD}\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    encoded = base64.encodebytes("Acme grows, größer than ever.".encode()).decode()
    assert (
        body(read(tmp_path / "a.eml", head + encoded + "\n_____\ngrid mailing list\n"))
        == "Acme grows, größer than ever.\n_____\ngrid mailing list"
    )
    assert body(read(tmp_path / "a.eml", head + "Not encoded at all.\n")) == "Not encoded at all."


def test_paragraphs_that_flow_are_whole(tmp_path: Path) -> None:
    head = f"{HEAD}\nContent-Type: text/plain; charset=utf-8; format=flowed"
    flowed = "Acme and Velmora \nEnergy grow.\nSo they say.\n> Karin \n> Holm \n>> said \n>> so.\n\n-- \nAnn\n stuffed"
    expected = "Acme and Velmora Energy grow.\nSo they say.\n> Karin Holm\n>> said so.\n\n-- \nAnn\nstuffed"
    assert body(read(tmp_path / "a.eml", f"{head}\n\n{flowed}")) == expected
    assert body(read(tmp_path / "a.eml", f"{head}; delsp=yes\n\nVel \nmora grows.")) == "Velmora grows."


def test_what_is_encrypted_says_so(tmp_path: Path) -> None:
    head = f'{HEAD}\nContent-Type: multipart/encrypted; protocol="application/pgp-encrypted"; boundary="x"\n\n'
    parts = "--x\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--x\nContent-Type: application/octet-stream\n\n-----BEGIN\n--x--\n"
    assert texts(read(tmp_path / "a.eml", head + parts)) == {"": HEAD, "message": "[encrypted: needs its recipient's key]"}


def test_no_message_at_all(tmp_path: Path) -> None:
    (result,) = read(tmp_path / "a.eml", "just some text\nwithout anything")
    assert result == Unreadable("", "not an e-mail message: no headers")


# Mailboxes

START = "From ann@example.org Mon Mar  4 09:00:00 2024\n"


def stored(number: int, words: str = "Words.", message_id: bool = True) -> str:
    identity = f"Message-ID: <{number}@example.org>\n" if message_id else ""
    return f"{START}{HEAD}\nSubject: mail {number}\n{identity}\n{words}\n\n"


def test_a_mailbox_gives_a_document_a_message(tmp_path: Path) -> None:
    message = mail(**{"Message-ID": "<4@example.org>"})
    message.set_content("Fourth.")
    message.add_attachment(b"attached words", maintype="text", subtype="plain", filename="a.txt")
    content = stored(1, "First.\n\n>From here on.\nFrom there too.") + stored(2, "Second.") + START + message.as_string() + "\n"
    expected = {
        "1@example.org": HEAD + "\n\nFirst.\n\nFrom here on.\nFrom there too.",
        "2@example.org": HEAD + "\n\nSecond.",
        "4@example.org": HEAD + "\n\nFourth.",
        "4@example.org/a.txt": "attached words",
    }
    assert texts(read(tmp_path / "a.mbox", content)) == expected
    assert texts(read(tmp_path / "a.mbox", content.replace("\n", "\r\n"))) == expected
    assert texts(read(tmp_path / "a.mbox.gz", gzip.compress(content.encode()))) == expected
    assert texts(read(tmp_path / "Inbox", content)) == expected
    assert [r.title for r in read(tmp_path / "a.mbox", content) if isinstance(r, Read)][:2] == ["mail 1", "mail 2"]


def test_a_message_keeps_its_name_when_others_come_and_go(tmp_path: Path) -> None:
    """Also without a Message-ID, and where two bear one."""
    letters = [stored(1, message_id=False), stored(2, "Other words.", message_id=False), stored(3), stored(3, "Other words.")]
    everything = texts(read(tmp_path / "a.mbox", "".join(letters)))
    assert len(everything) == 4
    assert texts(read(tmp_path / "a.mbox", "".join(letters[1:]))).items() < everything.items()
    assert texts(read(tmp_path / "a.mbox", "".join([letters[2], letters[0]]))).items() < everything.items()


def test_copies_and_broken_messages_cost_themselves_alone(tmp_path: Path) -> None:
    content = stored(1) + stored(1) + f"{START}no headers\n\nat all\n\n" + stored(2, "x" * 3000) + stored(3)
    results = texts(read(tmp_path / "a.mbox", content, ReaderOptions(max_bytes=1000)))
    reasons = [text for text in results.values() if text.startswith("[")]
    assert results["1@example.org"] == results["3@example.org"] == HEAD + "\n\nWords."
    assert [reason.split(":")[0] for reason in reasons] == [
        "[the same message stands earlier in the mailbox]",
        "[not an e-mail message",
        "[oversized",
    ]


def test_what_is_no_mailbox(tmp_path: Path) -> None:
    assert read(tmp_path / "a.mbox", "some words\n") == [Unreadable("", "not a mailbox: no line that begins a message")]
    assert read(tmp_path / "b.mbox", "") == [Unreadable("", "empty file")]
    assert texts(read(tmp_path / "letter", "From here on\nall is text.")) == {"": "From here on\nall is text."}


def test_a_file_without_a_suffix_is_a_message_where_it_begins_like_one(tmp_path: Path) -> None:
    """As mail servers keep them, one file a message."""
    content = "Message-ID: <1@example.org>\nDate: Mon, 4 Mar 2024 09:00:00 +0000\nFrom: a@example.org\n\nWords."
    assert texts(read(tmp_path / "1234", content)) == {"": "From: a@example.org\n\nWords."}


def test_a_mailbox_is_read_a_message_at_a_time(tmp_path: Path) -> None:
    def content() -> Iterator[str]:
        for number in range(2000):
            yield stored(number, "Words of some length, again and again. " * 250)

    with (tmp_path / "a.mbox").open("w") as file:
        file.writelines(content())
    tracemalloc.start()
    assert sum(1 for _ in read_file(tmp_path / "a.mbox")) == 2000
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < (tmp_path / "a.mbox").stat().st_size / 5


# Outlook


def outlook(**more: object) -> dict[str, object]:
    sent = int((datetime(2024, 3, 4, 9, tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10_000_000
    values: dict[int, str | bytes | int] = {
        0x0037: "Übernahme",
        0x1000: "Karin wächst.\r\nSehr.",
        0x0C1A: "Holm, Karin",
        0x5D01: "karin@example.org",
    }
    values |= {0x0039: sent, 0x1035: "<1@example.org>"}
    recipients = {
        "__recip_version1.0_#00000000": properties(8, {0x3001: "Nora Feld", 0x39FE: "nora@example.org", 0x0C15: 1}),
        "__recip_version1.0_#00000001": properties(8, {0x3001: "Ivan Kovač", 0x3003: "/o=Firm/cn=ivan", 0x0C15: 2}),
        "__recip_version1.0_#00000002": properties(8, {0x3001: "Secret", 0x39FE: "secret@example.org", 0x0C15: 3}),
    }
    return {**properties(32, values), **recipients, **more}


OUTLOOK_HEAD = 'From: "Holm, Karin" <karin@example.org>\nTo: Nora Feld <nora@example.org>\nCc: Ivan Kovač'


def test_a_message_of_outlook(tmp_path: Path) -> None:
    enclosed = properties(24, {0x0037: "Offer", 0x1013: b"<p>A <b>price</b> for Siemens.</p>", 0x0C1A: "Ivan Kovač"})
    tree = outlook(
        **{
            "__attach_version1.0_#00000000": properties(
                8, {0x3707: "rows.csv", 0x3701: b"id,text\n7,seven words\n8,eight words\n" * 1, 0x3705: 1}
            ),
            "__attach_version1.0_#00000001": {**properties(8, {0x3705: 5}), "__substg1.0_3701000D": enclosed},
            "__attach_version1.0_#00000002": properties(8, {0x3707: "long.txt", 0x3701: b"long words " * 1000, 0x3705: 1}),
        }
    )
    results = read(tmp_path / "a.msg", compound_file(tree))
    assert texts(results) == {
        "": f"{OUTLOOK_HEAD}\n\nKarin wächst.\nSehr.\n\nFrom: Ivan Kovač\nSubject: Offer\n\nA price for Siemens.",
        "rows.csv/7": "seven words",
        "rows.csv/8": "eight words",
        "long.txt": "long words " * 1000,
    }
    first = results[0]
    assert isinstance(first, Read)
    assert (first.title, first.metadata["date"], first.metadata["message-id"]) == (
        "Übernahme",
        "2024-03-04T09:00:00+00:00",
        "<1@example.org>",
    )


def test_what_is_no_message_of_outlook(tmp_path: Path) -> None:
    assert read(tmp_path / "a.msg", "words") == [Unreadable("", "not an Outlook message")]
    assert read(tmp_path / "a.msg", compound_file({"WordDocument": b"x" * 100})) == [Unreadable("", "not an Outlook message")]
    whole = compound_file(outlook())
    for length in range(0, len(whole), 700):
        (result,) = read(tmp_path / "a.msg", whole[:length])
        assert isinstance(result, (Read, Unreadable))
