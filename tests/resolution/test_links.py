"""Links: what a name in its document is linked to, when none is made, and that nothing outside the document matters."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.store.database import open_state
from polyonym.ingest.text.documents import Document
from polyonym.resolution.linking import links
from polyonym.resolution.linking.candidates import Candidate, Item
from polyonym.resolution.linking.features import FEATURES
from polyonym.resolution.linking.knowledge_base import KnowledgeBase, build
from polyonym.resolution.linking.linker import link_documents
from polyonym.resolution.linking.links import Link
from polyonym.resolution.linking.pools import asked_of
from polyonym.resolution.linking.ranking import exclusive, load_weights
from polyonym.resolution.linking.registry import Registry
from polyonym.resolution.names.tables import DATA
from polyonym.resolution.within_document.document_entities import DocumentName

ITEMS = [
    Item("Q312", "Apple Inc.", ("Apple", "AAPL"), "American technology company", ("ORG",), None, "Q312"),
    Item("Q89", "apple", (), "fruit of the apple tree", (), None, "Q89"),
    Item("Q90", "Paris", (), "capital of France", ("PLACE",), None, "Q90"),
    Item("Q830149", "Paris", ("Paris, Texas",), "city in Texas, United States", ("PLACE",), None, "Q830149"),
    Item("Q567", "Angela Merkel", (), "chancellor of Germany", ("PERSON",), None, "Q567"),
    Item("Q65488", "Friedrich Merkel", (), "German anatomist", ("PERSON",), None, "Q65488"),
    Item("Q228024", "John Weller", (), None, ("PERSON",), None, "Q228024"),
    Item("Q228025", "John Weller", (), None, ("PERSON",), None, "Q228025"),
    Item("Q350", "Cambridge", (), "city in Cambridgeshire, England", ("PLACE",), None, "Q350"),
    Item("Q49111", "Cambridge", (), "city in Middlesex County, Massachusetts", ("PLACE",), None, "Q49111"),
    Item("Q183", "Germany", (), "country in Europe", ("PLACE",), None, "Q183"),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    path = tmp_path_factory.mktemp("kb") / "kb.sqlite"
    build(path, ITEMS, "test")
    opened = KnowledgeBase(path)
    yield opened
    opened.close()


def document(text: str, name: str = "d", title: str = "") -> Document:
    return Document(name, "s", "f", title, "en", text)


def named(surface: str, label: str, group: str | None = None, of: str = "d", count: int = 1) -> DocumentName:
    key = surface.casefold()
    return DocumentName(of, key, group or key, {surface: count}, {label: count})


def linked(base: KnowledgeBase, text: str, *names: DocumentName, registry: Registry | None = None, title: str = "") -> dict[str, Link]:
    made = link_documents([document(text, title=title)], {"d": list(names)}, registry, [base], load_weights())
    assert [m.name for m in made] == sorted(n.name for n in names)
    return {m.name: m for m in made}


def test_the_document_tells_namesakes_apart(base: KnowledgeBase) -> None:
    france = linked(base, "Paris is the capital of France.", named("Paris", "GPE"))["paris"]
    texas = linked(base, "Paris lies in Texas, a city of Lamar County in the United States.", named("Paris", "GPE"), named("Texas", "GPE"))[
        "paris"
    ]
    assert france.candidate == "Q90"
    assert texas.candidates[0]["score"] - next(c["score"] for c in texas.candidates if c["id"] == "Q90") > (
        next(c["score"] for c in france.candidates if c["id"] == "Q830149") - france.candidates[0]["score"]
    )


def test_what_the_name_says_more_than_the_label_is_looked_for_in_the_description(base: KnowledgeBase) -> None:
    link = linked(base, "They met in Cambridge, Massachusetts.", named("Cambridge, Massachusetts", "GPE"))["cambridge, massachusetts"]
    assert link.candidate == "Q49111"
    assert link.candidates[0]["features"]["missing words told"] == 1
    assert linked(base, "They met in Cambridge.", named("Cambridge", "GPE"))["cambridge"].candidate == "Q350"


def test_a_short_form_follows_its_longer_name(base: KnowledgeBase) -> None:
    made = linked(
        base,
        "Angela Merkel spoke in Berlin. Merkel then left Germany.",
        named("Angela Merkel", "PERSON"),
        named("Merkel", "PERSON", "angela merkel"),
        named("Germany", "GPE"),
    )
    assert made["angela merkel"].candidate == made["merkel"].candidate == "Q567"
    assert made["germany"].wikidata_id == "Q183"


def test_a_short_form_is_not_looked_up_by_itself(base: KnowledgeBase) -> None:
    """Margaret Paris is no town, whatever the knowledge base knows of Paris; nor is what is short for her."""
    made = linked(
        base,
        "Margaret Paris runs a shop. Paris opens at eight.",
        named("Margaret Paris", "PERSON"),
        named("Paris", "GPE", "margaret paris"),
    )
    assert [(m.candidate, m.wikidata_id) for m in made.values()] == [(None, None), (None, None)]


@pytest.mark.parametrize(("surface", "label"), [("Angela Paris", "PERSON"), ("Mr Cambridge", "PERSON"), ("Apple Ltd", "ORG")])
def test_no_person_is_a_place_and_no_firm_a_fruit(surface: str, label: str, tmp_path: Path) -> None:
    """Whatever else speaks for it: here the item has just this name."""
    key = surface.casefold()
    build(
        tmp_path / "kb",
        [Item("Q1", surface, (key,), "town in Texas" if label == "PERSON" else "city in Ohio", ("PLACE",), 300, "Q1")],
        "test",
    )
    opened = KnowledgeBase(tmp_path / "kb")
    link = linked(opened, f"{surface}, a town in Texas, a city in Ohio.", named(surface, label))[key]
    opened.close()
    assert (link.candidate, link.wikidata_id) == (None, None)


def test_a_place_is_no_person(tmp_path: Path) -> None:
    build(tmp_path / "kb", [Item("Q1", "Boston", (), "English painter and writer", ("PERSON",), 300, "Q1")], "test")
    opened = KnowledgeBase(tmp_path / "kb")
    link = linked(opened, "They moved to Boston. A painter lives in Boston.", named("Boston", "GPE", count=2))["boston"]
    opened.close()
    assert link.candidate is None


HESS = Item("Q270", "Erika Hess", (), "Swiss alpine skier", ("PERSON",), 30, "Q270")


@pytest.mark.parametrize(
    ("said", "meant"), [("is an alpine skier and won the slalom in Switzerland", True), ("is a painter and a curator of a gallery", False)]
)
def test_whom_the_description_does_not_fit_has_no_item(said: str, meant: bool, tmp_path: Path) -> None:
    """Although the knowledge base knows nobody else of this name."""
    build(tmp_path / "kb", [HESS], "test")
    opened = KnowledgeBase(tmp_path / "kb")
    name = replace(
        named("Erika Hess", "PERSON"), traits={"is": ["skier"], "people": ["switzerland"]} if meant else {"is": ["curator", "painter"]}
    )
    link = linked(opened, f"Erika Hess {said}.", name)["erika hess"]
    opened.close()
    assert (link.candidate, link.wikidata_id, link.verdict) == ("Q270", *(("Q270", "link") if meant else (None, "nil")))
    nil = links.decision(link, []).features["nil"]
    assert nil < 0.1 if meant else nil > 0.4


def test_at_most_one_of_several_claims_is_right() -> None:
    assert exclusive([0.8]) == [pytest.approx(0.8)]
    assert all(p < 0.5 for p in exclusive([0.8, 0.8, 0.8]))
    first, second = exclusive([0.97, 0.6])
    assert first > 0.9 > 0.1 > second


def test_an_item_is_one_thing_of_a_document(base: KnowledgeBase) -> None:
    """Of two things, of which only one is called as the item is, the other loses it."""
    made = linked(base, "Germany and West Germany.", named("Germany", "GPE", count=9), named("West Germany", "GPE"))
    assert made["germany"].wikidata_id == "Q183" and made["germany"].named
    assert made["west germany"].wikidata_id is None and not made["west germany"].named


def test_an_unknown_name_gets_nothing(base: KnowledgeBase) -> None:
    link = linked(base, "Zubrowka Tenhaven said so.", named("Zubrowka Tenhaven", "PERSON"))["zubrowka tenhaven"]
    assert (link.candidate, link.wikidata_id, link.verdict, link.candidates, link.confidence) == (None, None, "nil", (), 0.0)


def test_two_that_nothing_tells_apart_are_left_in_doubt(base: KnowledgeBase) -> None:
    link = linked(base, "John Weller came.", named("John Weller", "PERSON"))["john weller"]
    assert link.wikidata_id is None and link.verdict == "abstain"
    assert [c["id"] for c in link.candidates] == ["Q228024", "Q228025"] and link.candidate == "Q228024"


def test_a_link_carries_what_it_rests_on(base: KnowledgeBase) -> None:
    link = linked(base, "Apple Inc. makes phones.", named("Apple Inc.", "ORG"))["apple inc."]
    assert link.wikidata_id == link.candidate == "Q312" and link.verdict == "link"
    assert link.confidence >= load_weights().threshold and link.weights_version == load_weights().version and link.named
    top = link.candidates[0]
    assert top["id"] == "Q312" and top["features"]["exact label"] == 1.0 and set(top["features"]) <= set(FEATURES)
    assert sum(c["share"] for c in link.candidates) <= 1.001
    weights = load_weights().features
    assert top["score"] == pytest.approx(sum(weights[f] * v for f, v in top["features"].items()), abs=0.01)
    decision = links.decision(link, [(0, 10)])
    assert (decision.kind, decision.scope, decision.names, decision.verdict) == ("link", "d", ("apple inc.",), "Q312")


TEXTS = {
    "a": ("Apple and Paris, France", [("Apple", "ORG"), ("Paris", "GPE")]),
    "b": (
        "Merkel of Germany met John Weller in Paris, Texas",
        [("Merkel", "PERSON"), ("Germany", "GPE"), ("John Weller", "PERSON"), ("Paris", "GPE")],
    ),
    "c": ("AAPL fell", [("AAPL", "ORG")]),
    "d": ("an apple a day", [("apple", "PRODUCT")]),
}


def _of(base: KnowledgeBase, wanted: Sequence[str]) -> list[Link]:
    documents = [document(TEXTS[d][0], d) for d in wanted]
    names = {d: [named(s, label, of=d) for s, label in TEXTS[d][1]] for d in wanted}
    return link_documents(documents, names, None, [base], load_weights())


@settings(deadline=None)
@given(st.permutations(sorted(TEXTS)), st.integers(0, 4))
def test_any_order_and_any_batches_give_the_same(base: KnowledgeBase, order: list[str], cut: int) -> None:
    whole = _of(base, sorted(TEXTS))
    assert _of(base, order) == whole
    assert sorted(_of(base, order[:cut]) + _of(base, order[cut:]), key=lambda k: (k.document, k.name)) == whole


class Server:
    """A source that is no knowledge base: it hears which names it is asked for."""

    version = "1"

    def __init__(self, *items: Item) -> None:
        self.items, self.asked = items, set[str]()

    def candidates(self, names: Sequence[str]) -> dict[str, list[Candidate]]:
        self.asked.update(names)
        return {n: [Candidate(i, i.label, "exact label") for i in self.items if i.label == n] for n in names}


def test_a_server_is_asked_only_what_is_told_beforehand(base: KnowledgeBase) -> None:
    server = Server(Item("Q777", "Quendon Sallow Trust", source="wikidata", wikidata_id="Q777"))
    names = [named("Quendon Sallow Trust", "ORG"), named("Weller", "PERSON"), named("German", "NORP")]
    made = link_documents([document("Quendon Sallow Trust and Weller, German")], {"d": names}, None, [base, server], load_weights())
    assert server.asked == {q for n in names for q in asked_of(n)}
    assert "germany" in asked_of(names[2])
    assert {m.name: m.candidate for m in made}["quendon sallow trust"] == "Q777"


def entry(id: str, name: str, *aliases: str, type: str = "ORG", description: str | None = None, qid: str | None = None) -> Item:
    return Item(id, name, aliases, description, (type,) if type else (), None, qid, "registry")


def test_the_registry_comes_first(base: KnowledgeBase) -> None:
    registry = Registry([entry("r1", "Orchard Group", "Apple", qid="Q42"), entry("r2", "Angela Merkel", type="PERSON")])
    made = linked(base, "Apple met Angela Merkel.", named("Apple", "ORG"), named("Angela Merkel", "PERSON"), registry=registry)
    assert (made["apple"].registry_id, made["apple"].wikidata_id, made["apple"].candidate) == ("r1", "Q42", "Q42")
    assert made["apple"].verdict == "link" and made["apple"].confidence > 0.9
    # An entry without a Wikidata id leaves the knowledge base its say.
    assert (made["angela merkel"].registry_id, made["angela merkel"].candidate) == ("r2", "Q567")


def test_a_short_form_gets_its_longer_names_entry(base: KnowledgeBase) -> None:
    registry = Registry([entry("r1", "Zora Quill", type="PERSON")])
    made = linked(base, "Zora Quill. Quill.", named("Zora Quill", "PERSON"), named("Quill", "PERSON", "zora quill"), registry=registry)
    assert made["quill"].registry_id == made["zora quill"].registry_id == "r1"


def test_an_entry_of_another_kind_is_not_meant(base: KnowledgeBase) -> None:
    registry = Registry([entry("r1", "Paris", type="PERSON")])
    link = linked(base, "Paris is the capital of France.", named("Paris", "GPE"), registry=registry)["paris"]
    assert (link.registry_id, link.candidate) == (None, "Q90")


def test_of_two_entries_of_one_name_the_document_decides_or_nobody(base: KnowledgeBase) -> None:
    registry = Registry(
        [
            entry("r1", "Halden ASA", "Halden", description="maker of battery cells"),
            entry("r2", "Halden", type="PLACE", description="town with a fortress"),
        ]
    )
    for text, expected in (
        ("Halden makes battery cells.", "r1"),
        ("Halden has a fortress above the town.", "r2"),
        ("Halden was there, and with a plan.", None),
        ("Halden ASA has a fortress.", "r1"),
    ):
        [link] = linked(base, text, named("Halden ASA" if "ASA" in text else "Halden", "ORG"), registry=registry).values()
        assert link.registry_id == expected, text
        assert link.verdict == ("link" if expected else "abstain")
        assert sorted(c["id"] for c in link.candidates) == ["r1", "r2"]


def test_links_are_kept_by_document(tmp_path: Path) -> None:
    engine = open_state(f"sqlite:///{tmp_path / 'state.sqlite'}")
    rows = [Link("a", "x", "Q1", 0.5, "Q1", None, "link", ({"id": "Q1"},), "1"), Link("a", "y"), Link("b", "x", verdict="abstain")]
    with engine.begin() as connection:
        links.replace(connection, ["a", "b"], rows)
    with engine.begin() as connection:
        assert list(links.load(connection)) == rows
        assert list(links.load(connection, ["b"])) == rows[2:]
        links.replace(connection, ["a"], rows[:1])
        assert list(links.load(connection)) == [rows[0], rows[2]]
        links.replace(connection, ["a"], [])
        assert list(links.load(connection)) == rows[2:]


def test_weights_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    whole = orjson.loads((DATA / "weights-2.json").read_bytes())
    broken = [
        whole | change
        for change in ({"threshold": "high"}, {"features": 5}, {"features": list(whole["features"])}, {"confidence": whole["features"]})
    ]
    for text in ("", "{}", "[1]", *(orjson.dumps(row).decode() for row in broken)):
        (tmp_path / "w.json").write_text(text)
        with pytest.raises(WrongUse, match="polyonym calibrate"):
            load_weights(tmp_path / "w.json")
