"""The table of stages: what each rests on is complete, so that no rule changes without the stage being done again."""

from pathlib import Path

import pytest
from home_fixtures import MakePlace, make_place

from polyonym.flows.pipeline import stages
from polyonym.flows.pipeline.stages import LINKS, STAGES, Basis, Stage, along_the_chain
from polyonym.ingest.store import fingerprint

__all__ = ["make_place"]  # a fixture
ROOT = Path(__file__).parents[2]
OTHERWISE = ("ingest/store/", "ingest/sources/", "ingest/errors.py", "resolution/evaluation/")  # no result of a stage rests on these
READING = "ingest/readers/"  # in the key of a file, see flows/pipeline/reading.py


def test_every_rule_and_table_is_in_the_key_of_a_stage() -> None:
    covered = [place for stage in STAGES for place in stage.code]
    for package in ("ingest", "resolution"):
        for file in (ROOT / package).rglob("*"):
            name = file.relative_to(ROOT).as_posix()
            if (
                file.suffix in (".py", ".tsv", ".txt", ".json")
                and file.name != "__init__.py"
                and not name.startswith((*OTHERWISE, READING))
            ):
                assert any(name == place or name.startswith(place + "/") for place in covered), name


def test_what_a_stage_names_is_there() -> None:
    for stage in STAGES:
        assert fingerprint.of_code(*stage.code)
        assert stage.after in ("", *(s.name for s in STAGES[: STAGES.index(stage)]))


@pytest.mark.parametrize("changed", STAGES, ids=lambda stage: stage.name)
def test_another_version_of_a_stages_code_puts_it_out_of_date_and_what_follows(
    make_place: MakePlace, monkeypatch: pytest.MonkeyPatch, changed: Stage
) -> None:
    place = make_place(names={"Velmora": "ORG"}, fast=True)
    place.write({"a.txt": "Velmora fell silent."})
    run = place.ingest()

    def keys() -> dict[str, str]:
        with place.engine.connect() as connection:
            chain = along_the_chain(Basis(connection, run.settings, run.knowledge))
            return {stage.name: key for stage, of_documents in chain for key in of_documents.values()}

    before, of_code = keys(), fingerprint.of_code
    monkeypatch.setattr(stages.fingerprint, "of_code", lambda *code: of_code(*code) + ("new" if code == changed.code else ""))
    after = keys()
    follow = {changed.name}
    for stage in STAGES:
        if stage.after in follow:
            follow.add(stage.name)
    assert {name for name in before if before[name] != after[name]} == follow
    assert changed is not LINKS or follow == {"links", "resolve"}
