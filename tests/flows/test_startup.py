"""Commands that only read start at once: they import no model and no orchestrator."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from small_state import fill

SLOW = ("torch", "transformers", "sentence_transformers", "spacy", "prefect")
READING = (
    ("--help",),
    ("status",),
    ("names",),
    ("sources",),
    ("settings",),
    ("runs",),
    ("explain", "Hamburg"),
    ("export", "entities"),
    ("export", "rdf"),
    ("judgements",),
    ("ask", "Who is in Hamburg?", "--mode", "graph"),
)
PROGRAM = f"""
import json, sys
from polyonym.flows.cli import main
code = 0
try:
    main()
except SystemExit as ended:
    code = ended.code
print(json.dumps([code, [name for name in {SLOW!r} if name in sys.modules]]))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    fill(folder / "state.db", {"a.txt": "Mette Lindqvist lives in Hamburg."}, {"Mette Lindqvist": "PERSON", "Hamburg": "GPE"}).dispose()
    return folder


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_reading_command_imports_nothing_slow(home: Path, words: tuple[str, ...]) -> None:
    where = () if words == ("--help",) else ("--home", str(home))
    ended = subprocess.run([sys.executable, "-c", PROGRAM, *words, *where], capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout.splitlines()[-1]) == [0, []], ended.stderr
