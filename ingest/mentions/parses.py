"""Parses of sentences, as the models' outputs are kept: enough of each token to find relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from polyonym.ingest.mentions.pipelines import pipeline_version
from polyonym.ingest.store import fingerprint

if TYPE_CHECKING:
    from spacy.language import Language


@dataclass(frozen=True)
class Token:
    """A token of a parsed sentence; `start` and `end` count in the sentence, `head` is the number of the token that it depends on."""

    start: int
    end: int
    lemma: str
    dep: str
    head: int
    pos: str
    tag: str
    lower: str


def model_name(pipeline: str) -> str:
    """Under what name a pipeline's parses are kept (see polyonym.ingest.store.model_outputs). Raises WrongUse when it is not installed."""
    return f"parse:{fingerprint.of_code('ingest/mentions/parses.py')}:{pipeline_version(pipeline)}"


def parse(nlp: Language, sentences: Sequence[str]) -> list[bytes]:
    """The payload to keep for each sentence."""
    unwanted = [name for name in nlp.pipe_names if name in ("ner", "entity_ruler", "span_ruler", "senter")]
    with nlp.select_pipes(disable=unwanted):
        return [
            orjson.dumps([(t.idx, t.idx + len(t), t.lemma_.lower(), t.dep_, t.head.i, t.pos_, t.tag_, t.lower_) for t in doc])
            for doc in nlp.pipe(sentences, batch_size=256)
        ]


def tokens(payload: bytes) -> list[Token]:
    """The tokens of a kept parse."""
    return [Token(*row) for row in orjson.loads(payload)]
