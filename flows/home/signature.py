"""Who gives a judgement, and when."""

import getpass
import os
from datetime import UTC, datetime


def signed() -> tuple[str, str]:
    """Who judges, and when."""
    try:
        who = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in containers
        who = str(os.getuid())
    return who, datetime.now(UTC).isoformat(timespec="seconds")
