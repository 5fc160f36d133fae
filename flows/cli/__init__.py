"""The command line. Each module beside this file holds the commands of one purpose and imports what is slow inside them."""

import gc
import io
import os
import select
import sys
from typing import Annotated

import typer
from rich.markup import escape

from polyonym.flows.home import failures
from polyonym.flows.home.progress import console
from polyonym.flows.home.proxies import spare_loopback
from polyonym.ingest.errors import ExitCode
from polyonym.ingest.store.database import without_password

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
  polyonym explain "Velmora Group"         why these are the same
  polyonym ask "Who leads Velmora Group?"  the passages that answer
""",
    epilog="[bold]Exit codes[/bold]\n\n" + "\n".join(f"{code:>3}  {code.meaning}" for code in ExitCode),
)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from importlib.metadata import version as installed

        print(f"polyonym {installed('polyonym')}")
        raise typer.Exit


def register() -> None:
    """Import the modules beside this file: each registers its commands."""
    from polyonym.flows.cli import asking, corrections, knowledge, quality, running, showing  # noqa: F401


def main() -> None:
    """Run a command. Whatever fails becomes one message and an exit code."""
    register()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # else a caller has put something of its own in its place
            stream.reconfigure(errors="backslashreplace")  # what the terminal's encoding lacks, and halves of characters in file names
    spare_loopback()
    code: object = ExitCode.DONE
    failed: BaseException | None = None
    try:
        app()
    except SystemExit as ended:
        code = ended.code
        failed = ended.__context__ if isinstance(ended.__context__, BrokenPipeError) else None  # typer makes an exit of it
    except KeyboardInterrupt:
        code = ExitCode.STOPPED
    except Exception as error:
        failed = error
    try:
        sys.stdout.flush()
    except OSError as error:
        failed = failed or error
    if isinstance(failed, BrokenPipeError) and _reader_is_gone():
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())  # type: ignore[union-attr]  # what is left is written nowhere
        code = ExitCode.DONE
    elif failed is not None:
        stop = failures.as_stop(failed)
        console.print(f"[bold red]polyonym:[/bold red] {escape(without_password(str(stop)))}", soft_wrap=True)
        code = stop.exit_code
    gc.freeze()  # else the collector walks through all that was loaded once more as the interpreter ends: more than a second
    sys.exit(code)  # type: ignore[arg-type]


def _reader_is_gone() -> bool:
    """Whether standard output is a pipe that nobody reads any more, as in `polyonym export mentions | head`, or was one: Rich puts
    nothing in its place."""
    if os.path.samestat(os.fstat(1), os.stat(os.devnull)):
        return True
    poll = select.poll()
    poll.register(sys.__stdout__, select.POLLOUT)  # type: ignore[arg-type]
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
