"""Names inside one document: which of them stand for one thing."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from work import calls

from polyonym.ingest.store.database import open_state
from polyonym.ingest.text.documents import Document
from polyonym.resolution.within_document import document_names
from polyonym.resolution.within_document.document_names import group


@dataclass(frozen=True)
class Mention:
    document: str
    start: int
    end: int
    text: str
    label: str

    @property
    def name(self) -> str:
        return self.text


def read(marked: str) -> tuple[Document, list[Mention]]:
    """A document and its mentions from a text in which a mention is written as [Barack Obama|PERSON]."""
    text, mentions = "", []
    for part in re.split(r"(\[[^\]|]+\|[A-Z_]+\])", marked):
        found = re.fullmatch(r"\[([^\]|]+)\|([A-Z_]+)\]", part)
        if found:
            mentions.append(Mention("d", len(text), len(text) + len(found[1]), found[1], found[2]))
        text += found[1] if found else part
    return Document("d", "s", "d", "", "en", text), mentions


def groups(marked: str) -> dict[str, str]:
    """Each raw mention of the marked text with the head of its group."""
    document, mentions = read(marked)
    names, rows = group(document, mentions)
    head = {n.name: n.group for n in names}
    return {document.text[r.start : r.end]: head[r.name] for r in rows}


TOGETHER = [
    ('[Hartmann Werke GmbH|ORG] (the "[Landlord|PERSON]") lets it. The [Landlord|ORG] may end it.', "Landlord", "Hartmann Werke GmbH"),
    ("[Bau Werk Lindau GmbH|ORG], hereinafter [BWL|ORG], builds. [BWL|ORG] pays.", "BWL", "Bau Werk Lindau GmbH"),
    ("The [Company|ORG] ([Hartmann Werke GmbH|ORG]) keeps the keys.", "Company", "Hartmann Werke GmbH"),
    ("[Barack Obama|PERSON] spoke. [Obama|PERSON] left.", "Obama", "Barack Obama"),
    ("[Larry Page|PERSON] spoke. [Larry|PERSON] left.", "Larry", "Larry Page"),
    ("[Lawrence Lessig|PERSON] spoke. [Larry Lessig|PERSON] left.", "Larry Lessig", "Lawrence Lessig"),
    ("[Louis van Gaal|PERSON] spoke. [Van Gaal|PERSON] left.", "Van Gaal", "Louis van Gaal"),
    ("[Dr. Jane Goodall|PERSON] spoke. [Goodall|ORG] left.", "Goodall", "Dr. Jane Goodall"),
    ("[John F. Kennedy|PERSON] and [John Kennedy|PERSON].", "John Kennedy", "John F. Kennedy"),
    ("[Martin Luther King Jr.|PERSON] and [King|PERSON].", "King", "Martin Luther King Jr."),
    ("[International Business Machines|ORG] rose. [IBM|ORG] fell.", "IBM", "International Business Machines"),
    ("[Rural Fire Service|ORG] ([RFS|ORG]) rules.", "RFS", "Rural Fire Service"),
    ("the [RFS|ORG] and the [Australia Rural Fire Service|ORG]", "RFS", "Australia Rural Fire Service"),
    ("[Ashland Oil Inc|ORG] <[ASH|ORG]> rose.", "ASH", "Ashland Oil Inc"),
    ("[Apple Inc.|ORG] (NASDAQ: [AAPL|ORG]) rose.", "AAPL", "Apple Inc."),
    ("[Velmora Mining|ORG] ([VLMR.L|ORG]) rose.", "VLMR.L", "Velmora Mining"),
    ("[Velmora|ORG] ([VVLM|ORG]) rose.", "VVLM", "Velmora"),
    ("The [Democratic Republic of the Congo|GPE] is large. [Congo|GPE] lies inland.", "Congo", "Democratic Republic of the Congo"),
    ("[Arden Electric Co Plc|ORG] ([ARDE.L|ORG]) ([AEC|ORG]) rose.", "AEC", "Arden Electric Co Plc"),
    ("[Meta Platforms|ORG], formerly known as [Facebook|ORG], rose.", "Facebook", "Meta Platforms"),
    ("[Toyota Motor Corp.|ORG] rose. [Toyota|ORG] fell.", "Toyota", "Toyota Motor Corp."),
    ("[Boston Red Sox|ORG] won. The [Red Sox|ORG] lost.", "Red Sox", "Boston Red Sox"),
    ("[Hurricane Katrina|EVENT] came. [Katrina|PERSON] went.", "Katrina", "Hurricane Katrina"),
    ("the [Senate of the United States|ORG] and the [Senate|ORG]", "Senate", "Senate of the United States"),
    ("the [Northern District Court|ORG] met. The [Court|ORG] ruled.", "Court", "Northern District Court"),
    ("[University of Toronto|ORG] and the [University|ORG]", "University", "University of Toronto"),
    ("[SeaMicro|ORG] and [Sea Micro|ORG]", "Sea Micro", "SeaMicro"),
    ("[iPods|PRODUCT] and an [iPod|PRODUCT]", "iPods", "iPod"),
    ("[Turkmenistan|GPE], [Turkmenistan|GPE] and [Turkeminstan|GPE]", "Turkeminstan", "Turkmenistan"),
    ("[Cambridge|GPE], [Massachusetts|GPE] is old.\n\n[Cambridge|GPE] is old.", "Cambridge", "Cambridge"),
    ("[New People Party|ORG] and [New People's Party|ORG]", "New People's Party", "New People Party"),
    ("[Quillon Brackett Plc|ORG] rose. [Quillon|ORG] fell.", "Quillon", "Quillon Brackett Plc"),
    ("[Quillon|ORG] up\n\n[Quillon-Bratt Inc|ORG] and [Quillon-Bratt Mines|ORG]. [Quillon|OTHER] fell.", "Quillon", "Quillon-Bratt Inc"),
    ("The [Vantor Sixty Index|OTHER] rose. The [Vantor|ORG] fell.", "Vantor", "Vantor Sixty Index"),
    ("[Merrin Bank of Norway|ORG] rose. [Merrin|ORG] fell.", "Merrin", "Merrin Bank of Norway"),
    ("[Minor League Hockey|ORG] and the [Minor League|ORG]", "Minor League", "Minor League Hockey"),
    ("[Zelkova Mines Inc|ORG] ([ZQ|ORG]) rose.", "ZQ", "Zelkova Mines Inc"),
    ("a [zPad|ORG] and two [zPads|PRODUCT]", "zPads", "zPad"),
    ("Das [Bundesministerium der Verteidigung|ORG] ([BMVg|ORG]) prüft.", "BMVg", "Bundesministerium der Verteidigung"),
    ("[Koltrex Inc|ORG] sued. [Koltrexs|NORP] shares", "Koltrexs", "Koltrex Inc"),
    ("[Norway's Fisheries Ministry|ORG] and the [Fisheries Ministry|ORG]", "Fisheries Ministry", "Norway's Fisheries Ministry"),
    ("[Dana A. Whitlow|PERSON] spoke. [Whitlow|ORG] left.", "Whitlow", "Dana A. Whitlow"),
    ("[Forest Joseph Tarbell|PERSON] spoke. [Tarbell|ORG] left.", "Tarbell", "Forest Joseph Tarbell"),
    ("[Goalkeeper Peter Aldermoor|OTHER] ran. [Aldermoor|PERSON] fell.", "Aldermoor", "Goalkeeper Peter Aldermoor"),
    ("[Ivan Marchenkov|PERSON] spoke. [Marchenkov|PERSON] left. [Marchnekov|ORG] ran.", "Marchnekov", "Ivan Marchenkov"),
    ("The [City of Brenmoor|GPE] sued. [Brenmoor|GPE] won.", "Brenmoor", "City of Brenmoor"),
    ("[Skarra Island|LOC] is green. [Skarra|PERSON] is wet.", "Skarra", "Skarra Island"),
    ("[North Tarnia|GPE], [South Tarnia|GPE] and [South Brigg|GPE]. The [South|LOC] beat the [North|LOC].", "South", "South Tarnia"),
    ("[Peter Chiles|PERSON] spoke. [Chiles|OTHER] left.", "Chiles", "Peter Chiles"),
]


@pytest.mark.parametrize(("marked", "short", "long"), TOGETHER)
def test_short_name_goes_to_its_longer_name(marked: str, short: str, long: str) -> None:
    found = groups(marked)
    assert found[short] == found[long]


APART = [
    ("[William Clay Ford|PERSON] of [Ford Motor Co.|ORG]. [Ford|ORG] rose.", "Ford", "William Clay Ford"),
    ("[General Motors|ORG] and [Motors Liquidation|ORG]", "General Motors", "Motors Liquidation"),
    ("[Mexico City|GPE] in [Mexico|GPE]", "Mexico City", "Mexico"),
    ("[Apple|ORG] sued [Apple Records|ORG].", "Apple", "Apple Records"),
    ("[Korea|GPE] and a [Korean|NORP]", "Korea", "Korean"),
    ("[Americas|LOC] and [Americans|NORP]", "Americas", "Americans"),
    ("[Joan Smith|PERSON] and [John Smith|PERSON]", "Joan Smith", "John Smith"),
    ("[Austria|GPE] and [Australia|GPE]", "Austria", "Australia"),
    ("[Boeing 737|PRODUCT] and [Boeing 747|PRODUCT]", "Boeing 737", "Boeing 747"),
    ("[George H. W. Bush|PERSON] and [George W. Bush|PERSON]", "George H. W. Bush", "George W. Bush"),
    ("[T.J. DiLeo|PERSON], son of [Tony DiLeo|PERSON]", "T.J. DiLeo", "Tony DiLeo"),
    ("[Banda Aceh|GPE] in [Aceh|GPE]", "Banda Aceh", "Aceh"),
    ("[UK News|ORG] on the [UN|ORG]", "UK News", "UN"),
    ("[Germany|GPE] and the [Germans|NORP]", "Germany", "Germans"),
    ("[Edmund Burke|PERSON] at [TED|ORG]", "Edmund Burke", "TED"),
    ("[Cry Wolf|WORK_OF_ART] on the [CW|PERSON]", "Cry Wolf", "CW"),
    ("[Torvik Paints Inc|ORG] and [Torvik Ferries Inc|ORG]. [Torvik|ORG] rose.", "Torvik", "Torvik Paints Inc"),
    ("[Torvik|ORG] rose. [Torvik|ORG] fell. [Torvik|ORG] sold [Torvik Ferries Inc|ORG].", "Torvik", "Torvik Ferries Inc"),
    ("[Zelkova Mines Inc|ORG] ([UK|GPE]) rose.", "UK", "Zelkova Mines Inc"),
    ("The [North|LOC] beat the [South|LOC] in [South Dakota|GPE].", "South", "South Dakota"),
    ("[Siemens|ORG] owns a part of [Siemens Energy|ORG].", "Siemens", "Siemens Energy"),
    ("[Siemens AG|ORG] rose. [Siemens Energy|ORG] fell.", "Siemens AG", "Siemens Energy"),
    ("[Tata|ORG] rose. [Tata Motors|ORG] and [Tata Steel|ORG] fell.", "Tata", "Tata Motors"),
    ("The [Bank of Canada|ORG] met. The [Royal Bank of Canada|ORG] fell.", "Bank of Canada", "Royal Bank of Canada"),
    (
        "The [Republic of the Congo|GPE] and the [Democratic Republic of the Congo|GPE] met.",
        "Republic of the Congo",
        "Democratic Republic of the Congo",
    ),
    ("The [Republic of the Congo|GPE] and the [Democratic Republic of the Congo|GPE]. [Congo|GPE].", "Congo", "Republic of the Congo"),
    ("The [Conservatives|ORG] ([LAB|ORG]) met.", "LAB", "Conservatives"),
    ("[Velmora|ORG] shares are traded in [London|GPE] (LSE: [VLMR|ORG]).", "VLMR", "London"),
    ("[AMD|ORG] buys [SeaMicro|ORG]. [AMD - SeaMicro|ORG]: a deal.", "SeaMicro", "AMD - SeaMicro"),
    ("[Esbjerg Lars Halvorsen|PERSON] of [Esbjerg|GPE]", "Esbjerg", "Esbjerg Lars Halvorsen"),
    ("[Sawyer Fire|PERSON] came. [Sawyer|GPE] and [Sawyer|GPE]", "Sawyer", "Sawyer Fire"),
    ("The [Crumbs|ORG] and their [Crumbs Poet|PERSON]. The [Crumbs|ORG] won.", "Crumbs", "Crumbs Poet"),
]


@pytest.mark.parametrize(("marked", "a", "b"), APART)
def test_different_things_stay_apart(marked: str, a: str, b: str) -> None:
    found = groups(marked)
    assert found[a] != found[b]


def test_of_two_people_of_one_surname_the_one_named_more_often_gets_it() -> None:
    found = groups("[Bill Clinton|PERSON]. [Hillary Clinton|PERSON]. [Hillary Clinton|PERSON] said. [Clinton|PERSON] left.")
    assert found["Clinton"] == "hillary clinton"


def test_two_regions_leave_the_bare_name_alone() -> None:
    document, mentions = read("[Portland|GPE], [Oregon|GPE] is wet. [Portland|GPE], [Maine|GPE] is cold. [Portland|GPE] is nice.")
    names, _ = group(document, mentions)
    assert {n.name: n.group for n in names if "portland" in n.name} == {n: n for n in ("portland", "portland, oregon", "portland, maine")}


def test_a_list_of_places_is_no_region() -> None:
    document, mentions = read("in [Boston|GPE], [New York|GPE] and [Chicago|GPE].")
    assert {n.name for n in group(document, mentions)[0]} == {"boston", "new york", "chicago"}


def test_honorifics_count_only_in_persons() -> None:
    assert groups("[General Powell|PERSON] met [General Motors|ORG].") == {"General Powell": "powell", "General Motors": "general motors"}


def test_evidence_are_spans_of_the_document() -> None:
    document, mentions = read("[Rural Fire Service|ORG] ([RFS|ORG]) rules. [RFS|ORG] says.")
    names = {n.name: n for n in group(document, mentions)[0]}
    short = names["rfs"]
    assert short.rule == "alias" and [document.text[a:b] for a, b in short.evidence] == ["Rural Fire Service (RFS)"]


_words = st.sampled_from(
    ["Smith", "John", "J.", "Mary", "Court", "U.S.", "Toyota", "Motor", "of", "Bank", "Paris", ",", "Texas", "Reds", "ABC", "7"]
)
_mention = st.tuples(st.lists(_words, min_size=1, max_size=3), st.sampled_from(["PERSON", "ORG", "GPE", "NORP", "OTHER"]))


@given(st.lists(_mention, max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_every_mention_has_a_name_and_every_group_a_head(parts: list[tuple[list[str], str]], random: object) -> None:
    text, mentions = "", []
    for tokens, label in parts:
        raw = " ".join(tokens)
        mentions.append(Mention("d", len(text), len(text) + len(raw), raw, label))
        text += raw + " and "
    document = Document("d", "s", "d", "", "en", text)
    names, rows = group(document, mentions)
    by_name = {n.name: n for n in names}
    assert sorted((r.start, r.end) for r in rows) == sorted((m.start, m.end) for m in mentions)
    for n in names:
        assert by_name[n.group].group == n.group
        assert sorted(r.ordinal for r in rows if r.name == n.name) == list(range(n.count))
        assert n.count == sum(n.labels.values())
    random.shuffle(mentions)  # type: ignore[attr-defined]
    assert group(document, mentions) == (names, rows)


def test_tables_keep_what_they_are_given(tmp_path: Path) -> None:
    document, mentions = read("[Barack Obama|PERSON] spoke. [Obama|PERSON] left.")
    names, rows = group(document, mentions)
    engine = open_state(f"sqlite:///{tmp_path}/state.sqlite")
    with engine.begin() as connection:
        document_names.replace(connection, ["d"], names, rows)
        assert list(document_names.load(connection, ["d"])) == names
        assert list(document_names.load_mentions(connection, ["d"])) == rows
        document_names.replace(connection, ["d"], [], [])
        assert not list(document_names.load(connection))


def test_a_coreference_chain_gives_pronouns_their_name() -> None:
    document, mentions = read("[Ada Lovelace|PERSON] wrote. [She|COREF] met [the Countess|PERSON]. [It|COREF] rained.")
    chain = [(m.start, m.end) for m in mentions[:3]]
    names, rows = group(document, mentions, [chain])
    assert [(document.text[r.start : r.end], r.name, r.ordinal) for r in rows] == [
        ("Ada Lovelace", "ada lovelace", 0),
        ("She", "ada lovelace", 1),
        ("the Countess", "countess", 0),
    ]
    assert {n.name: (n.group, n.count) for n in names} == {"ada lovelace": ("ada lovelace", 1), "countess": ("ada lovelace", 1)}


_SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


def _invented(number: int) -> str:
    """A name of five syllables that is hardly like another number's."""
    return "".join(_SYLLABLES[b % len(_SYLLABLES)] for b in hashlib.sha256(b"%d" % number).digest()[:5]).title()


@pytest.mark.parametrize(
    "line",
    [
        "[{} Kim|PERSON]",
        "[{}|PERSON], [Ada {}|PERSON]",
        "[Acme {} Group|ORG]",
        "[{} Committee|ORG]",
        "[{}|ORG]",
        "[{} {} {}|PRODUCT]",
        "[{}, Ohio|GPE]",
    ],
)
def test_an_index_is_work_in_proportion_to_its_names(line: str) -> None:
    """Four times the names are about four times the work; sixteen times it would be if each were compared with each."""

    def work(names: int) -> int:
        document, mentions = read(
            "[Kim|PERSON] [Acme|ORG] [Committee|ORG]\n" + "\n".join(line.replace("{}", _invented(n)) for n in range(names))
        )
        return calls(lambda: group(document, mentions))

    work(600)  # so that tables and normal forms are known to both
    assert work(600) < 6 * work(150)
