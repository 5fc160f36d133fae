"""Summaries: sentences that stand in the chunk they name, written again only where something changed, with or without a model."""

import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llm_server import Answer, LanguageModelServer, Reply, diligent, language_model_server
from sqlalchemy import Engine, delete

from polyonym.graph import communities
from polyonym.graph.communities import EntityGraph, Node
from polyonym.graph.summaries import summaries
from polyonym.graph.summaries.language_model import LanguageModel, Refused
from polyonym.ingest.errors import ServerAway
from polyonym.ingest.mentions.mentions import mentions
from polyonym.ingest.store.database import open_state
from polyonym.ingest.store.tables import insert_rows
from polyonym.ingest.text.chunks import chunks
from polyonym.resolution import entities
from polyonym.resolution.entities import Entity, Membership, memberships
from polyonym.resolution.within_document.document_names import mention_names

PEOPLE = {
    "Aurelia Group": "aurelia",
    "Hamburg": "hamburg",
    "J. Moreau": "moreau",
    "Borealis Grid": "borealis",
    "Kiel": "kiel",
    "Vantor": "vantor",
}
NORTH = ["Aurelia Group bought the power lines of Borealis Grid from the city of Hamburg. The price stayed secret.",
         "J. Moreau leads Aurelia Group from an office in Hamburg. He likes it there. Borealis Grid reports to J. Moreau as well.",
         "The council of Hamburg welcomed Aurelia Group and its head J. Moreau on Monday."]  # fmt: skip
SOUTH = [
    "Vantor builds ferries in the old yards of Kiel. Kiel lives on ships.",
    "The yards in Kiel were sold to Vantor after a long dispute.",
]


def count_tokens(texts: Sequence[str]) -> list[int]:
    return [len(t.split()) for t in texts]


def sentences_of(text: str) -> Iterator[tuple[int, int]]:
    for match in re.finditer(r"\S.*?(?<!J)[.!?](?=\s|$)", text, re.DOTALL):
        yield match.start(), match.end()


def put_document(engine: Engine, document: str, text: str, chunk_sentences: int = 2) -> None:
    """Store a text as the stages before would: chunks, mentions, their names and whom they stand for."""
    spans = list(sentences_of(text))
    with engine.begin() as connection:
        for table in (chunks, mentions, mention_names, memberships):
            connection.execute(delete(table).where(table.c.document == document))
        for ordinal, i in enumerate(range(0, len(spans), chunk_sentences)):
            start, end = spans[i][0], spans[min(i + chunk_sentences, len(spans)) - 1][1]
            row = {"chunk": f"{document}#{ordinal}", "document": document, "ordinal": ordinal, "start_at": start, "end_at": end}
            insert_rows(connection, chunks, [row | {"text": text[start:end], "tokens": 9, "content": "x"}])
        named: set[str] = set()
        for start, end in spans:
            for name in PEOPLE:
                for match in re.finditer(re.escape(name), text[start:end]):
                    at = {"document": document, "start": start + match.start(), "end": start + match.end()}
                    row = {
                        "document": document,
                        "start_at": at["start"],
                        "end_at": at["end"],
                        "text": name,
                        "label": "ORG",
                        "name": name,
                        "title": "",
                    }
                    insert_rows(connection, mentions, [row | {"sentence_start": start, "sentence_end": end, "detectors": ["ner"]}])
                    insert_rows(connection, mention_names, [at | {"name": name, "ordinal": 0}])
                    named.add(name)
        insert_rows(connection, memberships, (vars(Membership(document, n, PEOPLE[n], 1)) for n in sorted(named)))


def divide(engine: Engine, groups: Sequence[Sequence[str]], max_size: int = 50) -> None:
    names = {i: n for n, i in PEOPLE.items()}
    edges = sorted((min(a, b), max(a, b), 1.0) for g in groups for i, a in enumerate(g) for b in g[i + 1 :])
    graph = EntityGraph({e: Node(names.get(e, e), 1) for g in groups for e in g}, edges)
    with engine.begin() as connection:
        communities.store(connection, communities.compute(graph, communities.load(connection), max_size))


@dataclass
class World:
    """A state with two communities and the documents that speak of them."""

    engine: Engine

    def summarise(self, model: LanguageModel | None = None) -> summaries.Told:
        return summaries.summarise(self.engine, count_tokens, model)

    def told(self) -> dict[str, list[tuple[str, str]]]:
        """(sentence, chunk) by community title."""
        with self.engine.connect() as connection:
            titles = {c.community_id: c.title for c in communities.load(connection).communities}
            return {titles.get(i, i): [(s.sentence, s.chunk) for s in told] for i, told in summaries.load(connection).items()}


def fill(engine: Engine, documents: Sequence[tuple[str, str]]) -> None:
    with engine.begin() as connection:
        entities.replace(
            connection, list(PEOPLE.values()), [Entity(i, n, "ORG", documents=1, mentions=1) for n, i in PEOPLE.items()], [], []
        )
    for document, text in documents:
        put_document(engine, document, text)
    divide(engine, [["aurelia", "borealis", "hamburg", "moreau"], ["kiel", "vantor"]])


DOCUMENTS = [(f"{kind}{i}.txt", text) for kind, texts in (("north", NORTH), ("south", SOUTH)) for i, text in enumerate(texts)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    engine = open_state(f"sqlite:///{tmp_path}/state.db")
    fill(engine, DOCUMENTS)
    return World(engine)


def chunk_texts(engine: Engine) -> dict[str, str]:
    with engine.connect() as connection:
        return {r.chunk: " ".join(r.text.split()) for r in connection.execute(chunks.select())}


def test_every_sentence_stands_in_the_chunk_that_it_names_and_speaks_of_the_community(world: World) -> None:
    assert world.summarise() == summaries.Told(2, [])
    told, text_of = world.told(), chunk_texts(world.engine)
    assert len(told) == 2
    for sentences in told.values():
        assert 1 <= len(sentences) <= 6
        assert len({s for s, _ in sentences}) == len(sentences)
        for sentence, chunk in sentences:
            assert sentence in text_of[chunk]
    north = next(s for title, s in told.items() if "Aurelia" in title)
    assert {s for s, _ in north}.isdisjoint({"The price stayed secret.", "He likes it there."})
    assert all(any(name in s for s, _ in north) for name in ("Aurelia Group", "Borealis Grid", "Hamburg", "J. Moreau"))


def test_a_second_run_writes_nothing_and_a_change_writes_only_what_it_touches(world: World) -> None:
    world.summarise()
    assert world.summarise() == summaries.Told(0, [])
    before = world.told()
    put_document(world.engine, "south0.txt", "Vantor gave up its yards in Kiel for good after the flood.")
    assert world.summarise().written == 1
    after = world.told()
    assert {title for title in before if before[title] != after[title]} == {title for title in before if "Kiel" in title}
    assert any("flood" in s for s, _ in after[next(t for t in after if "Kiel" in t)])


def test_nothing_of_a_deleted_document_or_community_stays(world: World, tmp_path: Path) -> None:
    world.summarise()
    for document, _ in DOCUMENTS:
        if document.startswith("south"):
            put_document(world.engine, document, "")
    divide(world.engine, [["aurelia", "borealis", "hamburg", "moreau"]])
    assert world.summarise().written == 1
    fresh = World(open_state(f"sqlite:///{tmp_path}/fresh.db"))
    fill(fresh.engine, [d for d in DOCUMENTS if d[0].startswith("north")])
    divide(fresh.engine, [["aurelia", "borealis", "hamburg", "moreau"]])
    fresh.summarise()
    assert world.told() == fresh.told()


@settings(max_examples=8, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_in_which_documents_came_does_not_matter(tmp_path_factory: pytest.TempPathFactory, chance: random.Random) -> None:
    tellings = []
    for documents in (DOCUMENTS, chance.sample(DOCUMENTS, len(DOCUMENTS))):
        made = World(open_state(f"sqlite:///{tmp_path_factory.mktemp('home')}/state.db"))
        fill(made.engine, documents)
        made.summarise()
        tellings.append(made.told())
    assert tellings[0] == tellings[1]


def test_the_same_text_in_many_documents_is_told_once(world: World) -> None:
    for i in range(40):
        put_document(world.engine, f"wire{i:02}.txt", SOUTH[1])
    world.summarise()
    kiel = next(s for title, s in world.told().items() if "Kiel" in title)
    assert len({s for s, _ in kiel}) == len(kiel) and len(kiel) > 1


def test_a_whole_is_told_by_its_parts_and_by_what_ties_them_together(tmp_path: Path) -> None:
    engine = open_state(f"sqlite:///{tmp_path}/state.db")
    bridge = "Vantor builds ferries at Kiel that run on power which Aurelia Group buys in Hamburg."
    fill(engine, [*DOCUMENTS, ("bridge.txt", bridge)])
    with engine.begin() as connection:
        communities.store(connection, communities.Partition("", ()))
        top = communities.Community("top", 0, None, "All", "", tuple(sorted(PEOPLE.values())))
        parts = [("n", ("aurelia", "borealis", "hamburg", "moreau")), ("s", ("kiel", "vantor"))]
        below = [communities.Community(i, 1, "top", i, "", m) for i, m in parts]
        communities.store(connection, communities.Partition("made", (top, *below)))
    world = World(engine)
    world.summarise()
    told = world.told()
    assert bridge in [s for s, _ in told["All"]]
    assert {s for s, _ in told["All"]} & {s for s, _ in told["n"]}


# With a language model


def model_at(server: LanguageModelServer, **changes: Any) -> LanguageModel:
    return LanguageModel(**{"url": server.url, "key": "secret", "model": "tiny", "pause": 0.01, "timeout": 5.0, **changes})


def test_a_model_writes_and_each_sentence_names_a_chunk_that_it_was_given(world: World) -> None:
    with language_model_server(diligent) as server:
        assert world.summarise(model_at(server)).notes == []
        assert len(server.asked) == 2
        assert server.headers[0]["Authorization"] == "Bearer secret"
        assert server.headers[0]["path"] == "/v1/chat/completions"
    text_of = chunk_texts(world.engine)
    for sentences in world.told().values():
        assert sentences
        for sentence, chunk in sentences:
            assert sentence.startswith("The passage says that ")
            assert sentence.removeprefix("The passage says that ").rstrip(".") in text_of[chunk].lower()


def test_the_model_is_asked_once_for_one_content(world: World) -> None:
    with language_model_server(diligent) as server:
        world.summarise(model_at(server))
        assert world.summarise(model_at(server)) == summaries.Told(0, [])
        assert len(server.asked) == 2
        put_document(world.engine, "south0.txt", "Vantor gave up its yards in Kiel for good after the flood.")
        assert world.summarise(model_at(server)).written == 1
        assert len(server.asked) == 3
        world.summarise(model_at(server, model="other"))
        assert len(server.asked) == 5


def test_communities_of_a_new_id_keep_what_the_model_wrote_for_the_same_content(world: World) -> None:
    with language_model_server(diligent) as server:
        world.summarise(model_at(server))
        before = world.told()
        with world.engine.begin() as connection:
            held = communities.load(connection)
            renamed = tuple(communities.Community(f"x{c.community_id}", 0, None, c.title, c.content, c.members) for c in held.communities)
            communities.store(connection, communities.Partition("renamed", renamed))
        world.summarise(model_at(server))
        assert world.told() == before
        assert len(server.asked) == 2


@pytest.mark.parametrize(("reply", "asked"), [(diligent, 2), (lambda body: Answer("An answer that proves nothing."), 3)])
def test_after_a_move_a_summary_rests_on_the_chunks_of_the_new_name(world: World, reply: Reply, asked: int) -> None:
    with language_model_server(reply) as server:
        world.summarise(model_at(server))
        before = world.told()
        put_document(world.engine, "north0.txt", "")
        put_document(world.engine, "north0-moved.txt", NORTH[0])
        world.summarise(model_at(server))
        assert len(server.asked) == asked, "what a model has said of the same text is not asked for again"
    moved = [chunk.replace("north0.txt", "north0-moved.txt") for sentences in before.values() for _, chunk in sentences]
    assert [chunk for sentences in world.told().values() for _, chunk in sentences] == moved
    assert any("moved" in chunk for chunk in moved) and set(moved) <= chunk_texts(world.engine).keys()


def test_without_the_model_the_extractive_summary_comes_back(world: World) -> None:
    world.summarise()
    extractive = world.told()
    with language_model_server(diligent) as server:
        world.summarise(model_at(server))
        assert world.told() != extractive
    world.summarise()
    assert world.told() == extractive


@pytest.mark.parametrize(
    "text", ["It is a fine group.", "It is a fine group, I made that up [99].", "It is a fine group [0]. So good [x]."]
)
def test_an_answer_without_evidence_leaves_the_extractive_summary_and_is_not_asked_for_again(world: World, text: str) -> None:
    world.summarise()
    extractive = world.told()
    with language_model_server(lambda body: Answer(text)) as server:
        world.summarise(model_at(server))
        assert world.told() == extractive
        world.summarise(model_at(server))
        assert len(server.asked) == 2


def test_a_server_that_stays_away_is_noted_and_asked_again_by_the_next_run(world: World) -> None:
    with language_model_server(diligent) as server:
        away = model_at(server)
    told = world.summarise(away)
    assert len(told.notes) == 1 and "2 communities keep their extractive summary" in told.notes[0]
    assert all(not s.startswith("The passage") for sentences in world.told().values() for s, _ in sentences)
    with language_model_server(diligent) as server:
        assert world.summarise(model_at(server)) == summaries.Told(2, [])


def test_a_refusal_concerns_one_community_alone(world: World) -> None:
    def choosy(body: dict[str, Any]) -> Answer:
        return Answer("too long", status=400) if "Kiel (" in body["messages"][1]["content"] else diligent(body)

    with language_model_server(choosy) as server:
        told = world.summarise(model_at(server))
    assert told.notes == ["The language model refused 1 of 2 communities; they keep their extractive summary."]
    wrote = {title: sentences[0][0].startswith("The passage") for title, sentences in world.told().items()}
    assert sorted(wrote.values()) == [False, True] and not next(w for t, w in wrote.items() if "Kiel" in t)


def test_prompts_stay_within_their_bound_and_hold_no_more_than_given(world: World) -> None:
    for i in range(60):
        put_document(
            world.engine,
            f"more{i:02}.txt",
            f"In year {i} the city of Hamburg met J. Moreau of Aurelia Group. " + "It rained on that day. " * (i % 30),
        )
    for bound in (150, 400, 4000):
        with language_model_server(diligent) as server:
            world.summarise(model_at(server, model=f"m{bound}", prompt_tokens=bound))
            sizes = [sum(count_tokens([m["content"] for m in body["messages"]])) for body in server.asked]
            assert sizes and max(sizes) <= bound
            assert all("[1] " in body["messages"][1]["content"] for body in server.asked)
            assert all(body["temperature"] == 0 and body["max_tokens"] > 0 for body in server.asked)


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("Aurelia bought Borealis [1]. J. Moreau leads it from Hamburg [2].", [("Aurelia bought Borealis.", "a"), ("J. Moreau leads it from Hamburg.", "b")]),
        ("Aurelia bought Borealis. [1] Moreau leads it. [2]", [("Aurelia bought Borealis.", "a"), ("Moreau leads it.", "b")]),
        ("This one is not proved at all. Aurelia bought Borealis [2].", [("Aurelia bought Borealis.", "b")]),
        ("Aurelia bought Borealis [7]. Moreau leads it all [9, 2].", [("Moreau leads it all.", "b")]),
        ("- Aurelia bought Borealis [1]\n- Moreau leads it all [1][2]", [("Aurelia bought Borealis", "a"), ("Moreau leads it all", "a")]),
        ("Aurelia bought Borealis [1]. Aurelia bought Borealis [1].", [("Aurelia bought Borealis.", "a")]),
        ("Nothing here is proved.", []),
        ("[1] [2]", []),
        ("", []),
    ],
)  # fmt: skip
def test_only_what_names_a_given_passage_is_kept(answer: str, kept: list[tuple[str, str]]) -> None:
    assert [(s.sentence, s.chunk) for s in summaries.cited(answer, ["a", "b"])] == kept


@given(st.text(alphabet="ab. [1]2,\n!Ä", max_size=60))
def test_whatever_a_model_says_cites_only_given_chunks(answer: str) -> None:
    for sentence in summaries.cited(answer, ["a", "b"]):
        assert sentence.chunk in ("a", "b")
        assert "[1]" not in sentence.sentence and sentence.sentence == sentence.sentence.strip()


# The client


def in_turn(*answers: Answer) -> Any:
    left = iter(answers)
    return lambda body: next(left)


@pytest.mark.parametrize(
    "fault",
    [
        Answer(status=429, headers={"Retry-After": "0"}),
        Answer(status=503, headers={"Retry-After": "Mon, 01 Jan 2001 00:00:00 GMT"}),
        Answer(status=500, headers={"Retry-After": "soon"}),
        Answer(hang_up=True),
        Answer(raw=b"<html>busy</html>"),
        Answer(raw=b'{"choices": []}'),
        Answer("x" * 50, drip=0.05),
        Answer(raw=b"x" * 2_000_000),
        Answer("cut short", headers={"Content-Length": "100000"}),
    ],
    ids=["429", "503 with a date", "500", "hangs up", "no JSON", "no choice", "drips", "floods", "breaks off"],
)
def test_a_passing_fault_is_tried_again(fault: Answer) -> None:
    with language_model_server(in_turn(fault, Answer("fine"))) as server:
        start = time.monotonic()
        assert model_at(server, timeout=1.0).answer("be good", "say fine", 10) == "fine"
        assert len(server.asked) == 2
        assert time.monotonic() - start < 20


def test_patience_is_bounded() -> None:
    with language_model_server(lambda body: Answer(status=503)) as server:
        with pytest.raises(ServerAway, match=r"after 3 tries: HTTP 503.*POLYONYM_LLM_URL"):
            model_at(server, attempts=3).answer("", "x", 10)
        assert len(server.asked) == 3


def test_retry_after_is_heeded() -> None:
    with language_model_server(in_turn(Answer(status=429, headers={"Retry-After": "1"}), Answer("fine"))) as server:
        start = time.monotonic()
        assert model_at(server).answer("", "x", 10) == "fine"
        assert time.monotonic() - start >= 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_address_is_not_tried_again(status: int) -> None:
    with language_model_server(lambda body: Answer("bad key", status=status)) as server:
        with pytest.raises(ServerAway, match=rf"HTTP {status} \(bad key\).*POLYONYM_LLM_KEY"):
            model_at(server).answer("", "x", 10)
        assert len(server.asked) == 1


def test_a_prompt_that_is_refused_or_answered_with_nothing_is_not_tried_again() -> None:
    for answer in (Answer("context length", status=400), Answer("  ")):
        with language_model_server(in_turn(answer)) as server, pytest.raises(Refused):
            model_at(server).answer("", "x", 10)


def test_no_key_sends_no_authorization() -> None:
    with language_model_server(lambda body: Answer("fine")) as server:
        model_at(server, key="", url=f"{server.url}/chat/completions").answer("", "x", 10)
        assert "Authorization" not in server.headers[0] and server.headers[0]["path"] == "/v1/chat/completions"
