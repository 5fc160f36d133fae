"""What a recogniser sees in one passage, raw: spans with labels and tokens tagged as proper nouns, before any rule of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_BATCH = 16  # passages; outputs were compared with those of single passages and are equal
_PROPER = ("NNP", "NNPS")


@dataclass(frozen=True)
class Recognition:
    """Offsets count in the passage (or, once moved, in the document).

    `names` are (start, end, label) of the recogniser; `proper` are (start, end) of tokens tagged as proper nouns, in order.
    """

    names: list[tuple[int, int, str]]
    proper: list[tuple[int, int]]

    def moved(self, by: int) -> Recognition:
        return Recognition([(s + by, e + by, label) for s, e, label in self.names], [(s + by, e + by) for s, e in self.proper])


def recognise(nlp: Language, passages: Sequence[str]) -> list[bytes]:
    """The payload to keep for each passage; `read` turns it back into a Recognition."""
    english = nlp.lang == "en"
    wanted = {"ner", "entity_ruler", "span_ruler", *(("tagger",) if english else ())}
    wanted |= {name for name in nlp.pipe_names if "2vec" in name or "transformer" in name}
    with nlp.select_pipes(enable=[name for name in nlp.pipe_names if name in wanted]):
        return [_payload(doc) for doc in nlp.pipe(passages, batch_size=_BATCH)]


def _payload(doc: Doc) -> bytes:
    names = [(e.start_char, e.end_char, e.label_) for e in doc.ents]
    proper = [(t.idx, t.idx + len(t)) for t in doc if t.tag_ in _PROPER]
    return orjson.dumps([names, proper])


def read(payload: bytes) -> Recognition:
    names, proper = orjson.loads(payload)
    return Recognition([(s, e, label) for s, e, label in names], [(s, e) for s, e in proper])
