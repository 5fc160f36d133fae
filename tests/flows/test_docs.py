"""The documentation says what the program does: no command or option is missing, and what the README shows can be run."""

import contextlib
import io
import re
import runpy
import shlex
from pathlib import Path

import pytest
import typer

from polyonym.flows.cli import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKE_CLI = runpy.run_path(str(ROOT / "docs" / "make_cli.py"))  # registers all commands


def test_the_page_of_commands_is_what_the_commands_say() -> None:
    assert MAKE_CLI["PAGE"].read_text(encoding="utf-8") == MAKE_CLI["page"](), "run: python docs/make_cli.py"


def shown_commands() -> list[str]:
    """Every command line of the README that begins with polyonym."""
    blocks = re.findall(r"^    (?:\.venv/bin/)?(polyonym .+)$", README, flags=re.MULTILINE)
    inline = re.findall(r"`(polyonym [^`]+)`", README)
    lines = [line.split("  #")[0].strip() for line in (*blocks, *inline)]
    return sorted({line for line in lines if line.split()[1] != "COMMAND"})


@pytest.mark.parametrize("line", shown_commands())
def test_a_command_of_the_readme_is_understood(line: str) -> None:
    command, words = typer.main.get_command(app), shlex.split(line)[1:]
    while hasattr(command, "commands"):
        context = command.make_context("polyonym", [*words], resilient_parsing=True)
        if not words or words[0].startswith("-"):
            break
        command, words = command.get_command(context, words[0]), words[1:]
        assert command is not None, line
    if not hasattr(command, "commands"):
        command.make_context("polyonym", words)


def test_many_commands_are_shown() -> None:
    assert len(shown_commands()) > 20


@pytest.mark.slow
def test_the_readmes_lines_of_python_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [code] = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    monkeypatch.chdir(ROOT)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(code.replace('"demo-home"', repr(str(tmp_path / "home"))), {})
    assert "Velmora Energy" in shown.getvalue() and "entities" in shown.getvalue()
