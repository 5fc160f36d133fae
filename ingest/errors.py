"""The ways in which a run stops. Each carries the exit code that the command line ends with."""


class Stop(Exception):
    """Ends a command with one clear message: what, where, what to do. Never shown as a traceback."""

    exit_code = 1


class WrongUse(Stop):
    """The user asked for something that cannot be done as asked (a missing file, a bad setting)."""

    exit_code = 2


class HomeHeld(Stop):
    """Another run writes to this home."""

    exit_code = 3


class ServerAway(Stop):
    """A server that is needed does not answer, after bounded retries."""

    exit_code = 4


class Damaged(Stop):
    """A file of the home is damaged, or was written by a newer version."""

    exit_code = 5
