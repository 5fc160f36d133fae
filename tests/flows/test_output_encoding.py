"""A terminal that cannot show all characters: what it lacks is written as escapes, and JSON is UTF-8 whatever the locale."""

import os
import subprocess
import sys

import pytest
from home_fixtures import MakePlace, Place, make_place

__all__ = ["make_place"]  # a fixture


@pytest.fixture
def place(make_place: MakePlace) -> Place:
    """A home whose names no 8-bit encoding has all of."""
    place = make_place(names={"王伟": "PERSON", "Škoda Corp": "ORG", "Škoda": "ORG", "Zoë Müller": "PERSON", "Müller": "PERSON"}, fast=True)
    place.write({"a.txt": "王伟 met Zoë Müller at Škoda Corp. 王伟 left. Müller and Škoda stayed."})
    place.ingest()
    if place.state_url:
        pytest.skip("the same for every store")
    return place


def said(encoding: str, *words: object) -> tuple[bytes, bytes]:
    """What a command that must go well writes to standard output and to standard error, in a terminal of this encoding."""
    variables = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "200"}
    ended = subprocess.run(
        [sys.executable, "-c", "from polyonym.flows.cli import main; main()", *map(str, words)],
        check=False,
        capture_output=True,
        env=variables,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, ended.stderr


@pytest.mark.parametrize("encoding", ["iso8859-1", "ascii"])
def test_what_a_terminal_cannot_show_is_written_as_escapes(place: Place, encoding: str) -> None:
    out, err = said(encoding, "names", "--home", place.home)
    shown = out.decode(encoding)
    assert r"\u0160koda Corp" in shown
    assert ("Zoë Müller" if encoding == "iso8859-1" else r"Zo\xeb M\xfcller") in shown
    assert err == b""
    assert r"\u738b\u4f1f" in said(encoding, "explain", "王伟", "--home", place.home)[0].decode(encoding)
    said(encoding, "--help")


@pytest.mark.parametrize("words", [("export", "entities"), ("names", "--json"), ("explain", "王伟", "--json")], ids=" ".join)
def test_json_is_utf_8_in_every_locale(place: Place, words: tuple[str, ...]) -> None:
    out = said("iso8859-1", *words, "--home", place.home)[0]
    assert out == said("utf-8", *words, "--home", place.home)[0]
    assert any(name in out.decode("utf-8") for name in ("王伟", "Škoda Corp"))
