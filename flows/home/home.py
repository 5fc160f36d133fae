"""The home: the one folder that holds all that runs leave. One writer at a time; readers see the last committed state."""

import fcntl
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from polyonym.flows.home.settings import Settings
from polyonym.ingest.errors import HomeHeld, Stop, WrongUse
from polyonym.ingest.store.database import open_state

_ROOM = 32 * 2**20  # bytes that must be free when a run starts
_SPARE = 4 * 2**20  # with less than this free a failure is put down to the disk
_LOOKS = 1.0  # seconds after which a lock is a writer's: whoever only looks (`Home.is_held`) keeps it for microseconds


@dataclass(frozen=True)
class Home:
    """Where everything of a home lies."""

    path: Path

    @property
    def graph(self) -> Path:
        return self.path / "graph"

    @property
    def vectors(self) -> Path:
        return self.path / "vectors"

    @property
    def knowledge_base(self) -> Path:
        return self.path / "kb" / "knowledge_base.sqlite"

    @property
    def prefect(self) -> Path:
        return self.path / "prefect"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def report_json(self) -> Path:
        return self.path / "report.json"

    @property
    def audit(self) -> Path:
        return self.path / "audit.html"

    def state_url(self, settings: Settings) -> str:
        return settings.state_url or f"sqlite:///{self.path / 'state.db'}"

    def open(self, settings: Settings) -> Engine:
        """The home's state store. Raises WrongUse when there is no home here yet."""
        if not settings.state_url and not (self.path / "state.db").exists():
            raise WrongUse(f"{self.path} is no home of polyonym yet. Make one with: polyonym ingest PATH --home {self.path}")
        return self._open(settings)

    def make(self, settings: Settings) -> Engine:
        """Like `open`, but makes the home when it is not there. Raises WrongUse when the folder cannot be written."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            probe = self.path / f".write-test-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise self._unwritable(error) from error
        return self._open(settings)

    def _unwritable(self, error: OSError) -> WrongUse:
        return WrongUse(f"The home {self.path} cannot be written: {error.strerror}. Give another with --home, or mend its rights.")

    def _open(self, settings: Settings) -> Engine:
        from polyonym.flows.home import tables  # noqa: F401  (a store is opened with all its tables; they take a second to import)

        return open_state(self.state_url(settings))

    def _need_room(self, least: int) -> None:
        if (free := shutil.disk_usage(self.path).free) < least:
            raise WrongUse(
                f"The disk of {self.path} is full: {free / 2**20:.0f} MB are free, a run needs at least {_ROOM / 2**20:.0f} MB. "
                "What is done is kept: make room, then run the same command again."
            )

    def is_held(self) -> bool:
        """Whether a process holds the home for writing now."""
        try:
            with (self.path / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except (BlockingIOError, PermissionError):  # who may not look takes it as it is said
            return True
        return False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the home for writing, making its folder. Raises HomeHeld, naming the holder, while another process holds it.

        The kernel lets go of the lock when its process ends, however it ends. Raises WrongUse when the folder cannot be written or
        its disk is full, at the start or by what is done meanwhile.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / "lock").open("a+", encoding="utf-8")
        except OSError as error:
            raise self._unwritable(error) from error
        with lock as file:
            try:
                for attempt in Retrying(
                    retry=retry_if_exception_type(BlockingIOError), wait=wait_fixed(0.01), stop=stop_after_delay(_LOOKS), reraise=True
                ):
                    with attempt:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise HomeHeld(f"{self.path} is held by another run ({_holder(file.read())}). Wait for it to end, or stop it.") from None
            self._need_room(_ROOM)
            file.truncate(0)
            file.write(
                json.dumps({"pid": os.getpid(), "since": datetime.now(UTC).isoformat(timespec="seconds"), "command": " ".join(sys.argv)})
            )
            file.flush()
            try:
                yield
            except Stop:
                raise
            except Exception:
                self._need_room(_SPARE)  # what failed may have failed for want of room, whatever it calls that
                raise
            finally:
                file.truncate(0)  # a command may name a document that it has removed


@dataclass(frozen=True)
class Opened:
    """A home opened with its settings."""

    home: Home
    settings: Settings
    engine: Engine


def _holder(text: str) -> str:
    try:
        holder = json.loads(text)
        return f"process {holder['pid']}, since {holder['since']}: {holder['command']}"
    except (ValueError, KeyError):
        return "it has just started"
