"""Chunks: exact offsets, whole sentences, bounded size, stable under edits."""

import random
import re
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyonym.ingest.store.database import open_state
from polyonym.ingest.text import chunks
from polyonym.ingest.text.chunks import Chunk, chunk
from polyonym.ingest.text.documents import Document
from polyonym.ingest.text.sentences import sentences


def count_words(texts):
    """One token a word, and one for each sign and each character of an unspaced script."""
    return [len(re.findall(r"[a-zA-Z0-9äöüß]+|\S", t)) for t in texts]


def document(text, language="en", name="d"):
    return Document(name, "s", name, "", language, text)


WORLD = [
    ("en", "Dr. Smith of Acme Inc. spoke. The U.S. agreed, e.g. in 2001. 'Why?' he asked. It cost $3.50 then.\n\nA second paragraph!"),
    ("de", "Am 3. Oktober kam z.B. Herr Dr. Müller. Er blieb.\n\nNeuer Absatz."),
    ("zh", "今天天气很好。我们去了北京！“你好。”他说。明天见？"),
    ("ja", "彼は言った。「はい。」それで終わった。"),
    ("ar", "ذهبت إلى السوق. هل رأيته؟ نعم."),
    ("hi", "यह एक वाक्य है। यह दूसरा है। किताबें अच्छी हैं।"),
    ("th", "ภาษาไทยไม่มีการเว้นวรรคระหว่างคำ และไม่มีเครื่องหมายจบประโยค"),
    ("en", "Family 👨‍👩‍👧‍👦 arrived. Flags 🇩🇪🇫🇷 waved! Cafe\u0301 closed. Zalgo e\u0301\u0302\u0303 too."),
]


@pytest.mark.parametrize(("language", "text"), WORLD)
@pytest.mark.parametrize("limit", [3, 12, 200])
def test_offsets_are_exact_and_nothing_is_lost_in_any_script(language, text, limit):
    made = chunk(document(text, language), count_words, limit)
    assert all(text[c.start : c.end] == c.text for c in made)
    assert "".join("".join(c.text.split()) for c in made) == "".join(text.split())


text_strategy = st.text(alphabet=st.sampled_from(list("abc ABC.!?\n\n  äé。한👍\u0301\u200d\t\u2028")), max_size=400)


@settings(deadline=None)
@given(text_strategy, st.integers(1, 30), st.integers(0, 3))
def test_promises_hold_for_any_text(text, limit, overlap):
    made = chunk(document(text), count_words, limit, overlap)
    covered = set()
    for c in made:
        assert text[c.start : c.end] == c.text and c.text == c.text.strip() != ""
        assert c.tokens <= limit or len(c.text.split()) == 1  # only what cannot be cut
        covered.update(range(c.start, c.end))
    assert all(i in covered for i, character in enumerate(text) if not character.isspace())
    assert [c.ordinal for c in made] == list(range(len(made)))
    assert len({c.chunk for c in made}) == len(made)
    assert [(c.start, c.end) for c in made] == sorted((c.start, c.end) for c in made)


@settings(deadline=None)
@given(text_strategy)
def test_sentences_hold_every_character_once(text):
    spans = sentences(text)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    inside = {i for start, end in spans for i in range(start, end)}
    assert all(i in inside for i, character in enumerate(text) if not character.isspace())


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Dr. Smith of Acme Inc. spoke. He left.", ["Dr. Smith of Acme Inc. spoke.", "He left."]),
        ("en", "He works in the U.S. The pay is 3.5 pct. lower.", ["He works in the U.S.", "The pay is 3.5 pct. lower."]),
        ("en", "J. P. Morgan rose. Acme Inc. Chairman Lee agreed.", ["J. P. Morgan rose.", "Acme Inc. Chairman Lee agreed."]),
        ("en", '"Why?" he asked. She said "No." Then they left.', ['"Why?" he asked.', 'She said "No."', "Then they left."]),
        ("de", "Am 3. Oktober kam Herr Dr. Vogel. Er blieb.", ["Am 3. Oktober kam Herr Dr. Vogel.", "Er blieb."]),
        ("en", "See No. 5 and vol. 3 there. It says no. Nothing more.", ["See No. 5 and vol. 3 there.", "It says no.", "Nothing more."]),
        ("zh", "今天很好。“走吧！”他说。", ["今天很好。", "“走吧！”", "他说。"]),
        ("en", "HEADLINE WITHOUT A MARK\nThe text goes on here.", ["HEADLINE WITHOUT A MARK", "The text goes on here."]),
        (
            "en",
            "A line that was wrapped by a mail program at some\nwidth, as they do, to stay within seventy signs or\nso. Next.",
            ["A line that was wrapped by a mail program at some\nwidth, as they do, to stay within seventy signs or\nso.", "Next."],
        ),
    ],
)
def test_sentences_end_where_a_reader_ends_them(language, text, expected):
    assert [text[s:e] for s, e in sentences(text, language)] == expected


def test_chunks_end_where_sentences_end_and_fill_the_room():
    text = " ".join(f"Sentence number {i} has seven words." for i in range(100))
    made = chunk(document(text), count_words, 50)
    ends = {e for _, e in sentences(text)}
    assert all(c.end in ends and c.tokens <= 50 for c in made)
    assert sum(c.tokens for c in made) / len(made) > 30


def test_overlap_repeats_the_last_sentences():
    text = " ".join(f"Word{i} runs here." for i in range(40))
    plain = chunk(document(text), count_words, 20)
    lapped = chunk(document(text), count_words, 20, 1)
    repeated = [b.start < a.end for a, b in pairwise(lapped)]
    assert sum(repeated) >= len(repeated) - 2  # none at an anchor
    assert not any(b.start < a.end for a, b in pairwise(plain))
    assert all(c.tokens <= 20 for c in lapped)


def test_an_edit_leaves_the_chunks_beyond_the_next_anchor_as_they_were():
    rng = random.Random(7)
    paragraphs = [" ".join(f"Item {rng.randrange(10**6)} was sold in lot {i}." for _ in range(rng.randrange(1, 6))) for i in range(300)]
    before = chunk(document("\n\n".join(paragraphs)), count_words, 60)
    paragraphs[20] = "Quite another paragraph stands here now. " + paragraphs[20]
    after = chunk(document("\n\n".join(paragraphs)), count_words, 60)
    changed = {c.chunk for c in before} ^ {c.chunk for c in after}
    assert 0 < len(changed) < 0.1 * len(before)


def test_a_text_without_a_space_is_cut_without_tearing_marks_off():
    text = "e\u0301" * 500
    made = chunk(document(text), lambda texts: [len(t) for t in texts], 11)
    assert "".join(c.text for c in made) == text
    assert all(c.text[0] == "e" and c.tokens <= 11 for c in made)


def test_nothing_comes_of_white_space():
    assert chunk(document(" \n\t\n "), count_words, 10) == []


def test_equal_texts_in_one_document_and_in_two_have_ids_of_their_own():
    text = "\n\n".join(["Same words again here."] * 30)
    made = [c for name in ("a", "b") for c in chunk(document(text, name=name), count_words, 5)]
    assert len({c.chunk for c in made}) == len(made)
    assert len({c.content for c in made}) == 1


def test_a_novel_takes_bounded_time():
    rng = random.Random(1)
    words = ["the", "of", "and", "prince", "field", "army", "letter", "house", "moved", "spoke"]
    text = "\n".join(" ".join(rng.choice(words) for _ in range(12)).capitalize() + "." for _ in range(50_000))
    start = time.perf_counter()
    made = chunk(document(text), count_words, 256)
    assert time.perf_counter() - start < 120
    assert sum(len(c.text) for c in made) > 0.99 * len(text) - len(made)


def test_a_document_s_chunks_replace_its_old_ones_and_no_others(tmp_path):
    engine = open_state(f"sqlite:///{tmp_path}/state.db")
    a, b = (chunk(document("One here. Two there.", name=n), count_words, 3) for n in "ab")
    new = chunk(document("Quite new.", name="a"), count_words, 3)
    with engine.begin() as connection:
        chunks.replace(connection, ["a", "b"], [*a, *b])
        chunks.replace(connection, ["a"], new)
    with engine.connect() as connection:
        assert list(chunks.load(connection)) == [*new, *b]
        assert list(chunks.load(connection, ["b"])) == b
        assert [c.chunk for c in chunks.by_id(connection, [b[0].chunk])] == [b[0].chunk]
        assert chunks.texts(connection, [b[1].chunk]) == {b[1].chunk: b[1].text}
        assert chunks.contents(connection) == {c.chunk: c.content for c in [*new, *b]}
        assert isinstance(next(iter(chunks.load(connection))), Chunk)


@pytest.mark.parametrize("text", ["word and " * 60_000, "x" * 300_000, "word, " * 20_000 + "y" * 100_000 + " end"])
def test_a_text_without_ends_of_sentences_is_never_counted_whole(text):
    longest = 0

    def count(texts):
        nonlocal longest
        longest = max(longest, *map(len, texts), 0)
        return count_words(texts)

    made = chunk(document(text), count, 200)
    assert longest <= 50_000
    assert "".join("".join(c.text.split()) for c in made) == "".join(text.split())
    assert all(text[c.start : c.end] == c.text for c in made)
