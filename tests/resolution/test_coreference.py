"""Coreference models: what is taken from them, and what is said when one is missing."""

from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.mentions.mentions import Mention
from polyonym.ingest.text.documents import Document
from polyonym.resolution.within_document.coreference import coreferences


@Language.component("coref_of_she")
def _she(doc: Doc) -> Doc:
    """Takes every "She" for the document's first two words."""
    doc.spans["coref_clusters_1"] = [doc[0:2], *(doc[i : i + 1] for i, t in enumerate(doc) if t.text == "She")]
    return doc


@pytest.fixture
def pipeline(tmp_path: Path) -> str:
    nlp = spacy.blank("en")
    nlp.add_pipe("coref_of_she")
    nlp.to_disk(tmp_path / "model")
    return str(tmp_path / "model")


TEXT = "Ada Lovelace wrote. She slept."
DOCUMENT = Document("d", "s", "d", "", "en", TEXT)
NAME = Mention("d", 0, 12, "Ada Lovelace", "PERSON", 0, 19, ("ner:x",))


def test_pronouns_of_a_named_chain_become_mentions(pipeline: str) -> None:
    found = coreferences(pipeline, DOCUMENT, [NAME])
    assert found.chains == (((0, 12), (20, 23)),)
    (she,) = found.mentions
    assert (she.text, she.label, TEXT[she.sentence_start : she.sentence_end].strip()) == ("She", "COREF", "She slept.")


def test_chains_without_a_name_are_left_out(pipeline: str) -> None:
    assert coreferences(pipeline, DOCUMENT, []).mentions == ()


def test_a_pipeline_that_is_not_installed_is_wrong_use() -> None:
    with pytest.raises(WrongUse, match="not installed"):
        coreferences("no_such_pipeline", DOCUMENT, [NAME])


def test_a_pipeline_without_coreference_is_wrong_use(tmp_path: Path) -> None:
    spacy.blank("en").to_disk(tmp_path / "plain")
    with pytest.raises(WrongUse, match="no coreference component"):
        coreferences(str(tmp_path / "plain"), DOCUMENT, [NAME])
