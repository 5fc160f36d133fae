"""Dates: what a text states is written as ISO 8601 has it, and a document's date is never a date of something else."""

import gzip
import json
import os
from pathlib import Path

import pytest

from polyonym.ingest.text.dates import document_date, nearest, stated

DATA = Path(os.environ.get("POLYONYM_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("on 24 November 2022, at noon", ["2022-11-24"]),
        ("Nov. 24, 2022", ["2022-11-24"]),
        ("the 24th of November, 2022", ["2022-11-24"]),
        ("at 2022-11-24T10:00:00Z", ["2022-11-24"]),
        ("24.11.2022 and 13/4/2022 and 4/13/2022", ["2022-11-24", "2022-04-13", "2022-04-13"]),
        ("3/4/2022", ["2022"]),  # March or April
        ("2022年11月24日", ["2022-11-24"]),
        ("31 November 2022", ["2022-11"]),
        ("November 2022", ["2022-11"]),
        ("in 2019", ["2019"]),
        ("in 2000 cases, room 2022, of 1500 employees, he may 5, U.S. Route 2010", []),
        ("Q3 2022, the third quarter of 2021", ["2022-07/2022-09", "2021-07/2021-09"]),
        ("the 1990s and the 19th century", ["1990/1999", "1801/1900"]),
        ("from 1998 to 2003 (1867–1934)", ["1998/2003", "1867/1934"]),
        ("3-5 March 2021", ["2021-03-03/2021-03-05"]),
        ("for three years, an 18-month lease, two decades", ["P3Y", "P18M", "P20Y"]),
        ("45 years old, a 45-year-old man", []),
        ("Thursday, 24 November 2022", ["2022-11-24"]),
    ],
)
def test_times_that_a_text_states(text: str, values: list[str]) -> None:
    assert [t.value for t in stated(text)] == values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("last Tuesday", "2022-11-22"),
        ("on Friday", "2022-11-18"),
        ("next Friday", "2022-11-25"),
        ("this Monday", "2022-11-21"),
        ("yesterday", "2022-11-23"),
        ("the day before yesterday", "2022-11-22"),
        ("last week", "2022-W46"),
        ("last month", "2022-10"),
        ("next year", "2023"),
        ("last quarter", "2022-07/2022-09"),
        ("three years ago", "2019"),
        ("two months ago", "2022-09"),
        ("24 October", "2022-10-24"),
        ("Jan 2", "2023-01-02"),
        ("last November", "2021-11"),
        ("in March", "2022-03"),
    ],
)
def test_relative_times_count_from_the_document_s_day(text: str, value: str) -> None:
    assert [t.value for t in stated(text, "en", "2022-11-24")] == [value]
    assert stated(text) == stated(text, "en", "2022") == []


def test_months_of_other_languages() -> None:
    assert [t.value for t in stated("am 24. November 2022 und im März 2021", "de")] == ["2022-11-24", "2021-03"]
    assert [t.value for t in stated("le 1er août 2019, 5 mars 2020", "fr")] == ["2019-08-01", "2020-03-05"]
    assert stated("The Mars 2020 rover") == []


def test_of_several_times_the_nearest_counts() -> None:
    text = "In 2001 Acme, which in 1998 had bought Beta for three years, fell."
    times = stated(text)
    assert nearest(times, text.index("Acme"), text.index("Acme") + 4) == "2001"
    assert nearest(times, text.index("Beta"), text.index("Beta") + 4) == "1998"
    assert nearest([], 0, 1) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Minutes of 24 November 2022\nPresent: Ann",
        "Minutes of the meeting of the board held on Thursday, 24 November 2022",
        "LONDON, 24 November 2022 (Reuters) - The bank said",
        "COPENHAGEN, Nov 24, 2022 - The bank",
        "The headline\nDate: 2022-11-24\nText",
        "Oslo, 24 November 2022\n\nDear Sir",
        "By Ann Holm | 24 November 2022",
        "Acme grows\nThursday 24 November 2022, 10:30 am\nText",
        "This Agreement is made on 24 November 2022 between",
        "Dear Sir,\n" + "We write to you.\n" * 20 + "Oslo, 24 November 2022\nAnn Holm",
    ],
)
def test_the_text_says_of_which_day_it_is(text: str) -> None:
    assert document_date({}, text, "a.txt", "en") == ("2022-11-24", "text")


@pytest.mark.parametrize(
    "text",
    [
        "Marie Curie (born 7 November 1867) was a physicist.",
        "She was born on 7 November 1867.",
        "The October Revolution, 7 November 1917",
        "The battle of Waterloo, 18 June 1815, was the last.",
        "Offer valid until: 24 November 2022",
        "From 3 March 2021 to 5 May 2021",
    ],
)
def test_a_date_of_something_else_is_none_of_the_document(text: str) -> None:
    assert document_date({}, text, "a.txt", "en") == (None, None)


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("2022-11-24-minutes.txt", "2022-11-24"),
        ("20221124.txt", "2022-11-24"),
        ("minutes_24_nov_2022.docx", "2022-11-24"),
        ("minutes 24.11.2022.txt", "2022-11-24"),
        ("posts/2022/11/24/hello.md", "2022-11-24"),
        ("notes-2022-11.md", "2022-11"),
        ("annual-report-2022.pdf", "2022"),
        ("1984.txt", None),
        ("doc-123.txt", None),
        ("20221399.txt", None),
    ],
)
def test_the_file_s_name_says_it_where_nothing_else_does(name: str, date: str | None) -> None:
    assert document_date({}, "Text.", name, "en") == (date, "file" if date else None)


def test_metadata_come_before_the_text_and_the_text_before_the_file() -> None:
    text, name = "Minutes of 24 November 2022", "2021-01-01.txt"
    assert document_date({"created": "2020-02-03T10:00:00+01:00"}, text, name, "en") == ("2020-02-03", "created")
    assert document_date({"modified": "2021", "Published": "Thu, 3 Dec 2020 10:00:00 +0100"}, text, name, "en") == (
        "2020-12-03",
        "Published",
    )
    assert document_date({"date": "1970-01-01", "Date of birth": "1990-01-02"}, text, name, "en") == ("2022-11-24", "text")
    assert document_date({"timestamp": 1669248000}, "", name, "en") == ("2022-11-24", "timestamp")


def test_what_is_attached_to_a_mail_and_says_nothing_is_of_its_day() -> None:
    attached = {"attached": "2024-03-04T09:00:00+00:00"}
    assert document_date(attached, "Words.", "a.eml/plan.pdf", "en") == ("2024-03-04", "attached")
    assert document_date(attached, "Minutes of 24 November 2022", "a.eml/plan.pdf", "en") == ("2022-11-24", "text")
    assert document_date(attached | {"created": "2021-01-02"}, "Words.", "a.eml/plan.pdf", "en") == ("2021-01-02", "created")


def test_articles_of_an_encyclopaedia_have_no_day() -> None:
    path = DATA / "corpora" / "wiki_leads_en.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"{path.name} is not there")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    assert sum(document_date({}, text, "leads/1", "en")[0] is not None for text in texts) <= len(texts) / 1000
