"""The command line. Each module beside this file holds the commands of one purpose and imports what is slow inside them."""

import sys
import traceback
from typing import Annotated

import typer
from rich.markup import escape

from flows.progress import console
from ingest.errors import ServerAway, Stop

app = typer.Typer(
    name="polyonym",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    help="""Documents in, a knowledge graph out in which one real-world thing is one node.

[bold]First steps[/bold]

  polyonym kb import kb.jsonl.gz          a knowledge base to link to (optional)
  polyonym ingest docs/ --registry r.jsonl  read, resolve, load the graph
  polyonym status                          what is there now
  polyonym explain "Apple"                 why these are the same

Exit codes: 0 done · 1 done, but a gate or check is broken · 2 wrong use · 3 another run holds the home ·
4 a server is needed and stays away · 5 damaged or newer state · 130 stopped by you.""",
)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from importlib.metadata import version as installed

        print(f"polyonym {installed('polyonym')}")
        raise typer.Exit


def main() -> None:
    """Run a command; every Stop becomes one message and its exit code, a defect of ours one line and a traceback in --verbose."""
    from flows.cli import corrections, knowledge, quality, running, showing  # noqa: F401  (they register their commands)

    try:
        app()
    except Stop as stop:
        console.print(f"[bold red]polyonym:[/bold red] {escape(str(stop))}", soft_wrap=True)
        sys.exit(stop.exit_code)
    except BrokenPipeError:
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        if error.errno not in (28, 30, 13):  # full, read-only, forbidden
            raise
        console.print(
            f"[bold red]polyonym:[/bold red] {escape(str(error))}. Nothing is lost: make room or mend the rights, then run the same command again.",
            soft_wrap=True,
        )
        sys.exit(2)
    except Exception as error:
        if "ephemeral Prefect API server" in str(error):
            console.print(
                "[bold red]polyonym:[/bold red] Prefect's server did not start within two minutes. Is the machine very busy? Nothing is "
                "lost: run the same command again, or set PREFECT_API_URL to a server that runs.",
                soft_wrap=True,
            )
            sys.exit(ServerAway.exit_code)
        if "--verbose" in sys.argv:
            traceback.print_exc()
        console.print(
            f"[bold red]polyonym:[/bold red] a defect of this program: {escape(type(error).__name__)}: {escape(str(error))}. "
            "Nothing is lost; run the command with --verbose for the traceback, and please report it.",
            soft_wrap=True,
        )
        sys.exit(70)
