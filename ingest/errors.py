"""The ways in which a run stops. Each carries the exit code that the command line ends with."""

from enum import IntEnum


class ExitCode(IntEnum):
    """All codes that the command line ends with, each with what it means, as `polyonym --help` says it."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> "ExitCode":
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    DONE = 0, "done"
    BROKEN = 1, "done, but a gate or a check is broken"
    WRONG_USE = 2, "wrong use, or a lack that you can mend: of a file, a setting, disk, memory"
    HELD = 3, "another run holds the home"
    SERVER_AWAY = 4, "a server is needed and stays away"
    DAMAGED = 5, "damaged or newer state"
    DEFECT = 70, "a defect of this program: the message names the file with its traceback"
    STOPPED = 130, "stopped by you"


class Stop(Exception):
    """Ends a command with one clear message: what, where, what to do. Never shown as a traceback."""

    exit_code = ExitCode.BROKEN


class WrongUse(Stop):
    """It cannot be done as asked, and the user can change that (a missing file, a bad setting, a full disk)."""

    exit_code = ExitCode.WRONG_USE


class HomeHeld(Stop):
    """Another run writes to this home."""

    exit_code = ExitCode.HELD


class ServerAway(Stop):
    """A server that is needed does not answer, after bounded retries."""

    exit_code = ExitCode.SERVER_AWAY


class Damaged(Stop):
    """A file of the home is damaged, or was written by a newer version."""

    exit_code = ExitCode.DAMAGED
