"""What tells people and machines how to work on the project names only what is there."""

import re
from pathlib import Path

import pytest
import yaml

_ROOT = Path(__file__).resolve().parents[1]
_TARGETS = set(re.findall(r"^([a-z-]+):", (_ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "README.md", ".pre-commit-config.yaml", ".github/workflows/ci.yml"])
def test_only_targets_of_the_makefile_are_named(name: str) -> None:
    content = (_ROOT / name).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^    |`|entry: |run: |TORCH_INDEX=\S+ )make ([a-z-]+)", content, re.MULTILINE))
    assert named and named <= _TARGETS


def test_only_files_that_are_there_are_named_to_contributors() -> None:
    content = (_ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"[`(]([\w./-]+(?:\.\w{1,4}|/))[`)]", content))
    assert len(named) > 20
    assert {name for name in named if not (_ROOT / name).exists()} == set()


def test_continuous_integration_runs_what_contributors_run() -> None:
    flow = yaml.safe_load((_ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    steps = [step["run"] for job in flow["jobs"].values() for step in job["steps"] if "run" in step]
    assert {"make install", "make check", "make test"} <= set(steps) and all(step.startswith("make ") for step in steps)
