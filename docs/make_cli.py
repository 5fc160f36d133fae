"""Writes docs/cli.md from the commands themselves: python docs/make_cli.py"""

import re
from pathlib import Path

import typer
from typer.cli import get_docs_for_click

from polyonym.flows import cli

cli.register()

PAGE = Path(__file__).parent / "cli.md"
_MARKUP = re.compile(r"\[/?(?:bold|dim|italic|red|green)[a-z ]*\]")


def page() -> str:
    """The reference of all commands and options, as Markdown."""
    command = typer.main.get_command(cli.app)
    command.commands = dict(sorted(command.commands.items()))  # else in the order in which their modules were first imported
    context = typer.Context(command, info_name="polyonym")
    text = get_docs_for_click(obj=command, ctx=context, name="polyonym", title="The command line")
    text = re.sub(r"^ {1,2}(?=\S)", "    ", _MARKUP.sub("", text), flags=re.MULTILINE)  # what is set in columns keeps them
    return f"<!-- Made by docs/make_cli.py from the commands themselves. -->\n\n{text.strip()}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} written.")
