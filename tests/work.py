"""How much work something is, counted so that it's the same on every machine."""

import sys
from collections.abc import Callable
from typing import Any


def calls(do: Callable[[], object]) -> int:
    """How many functions are called while `do` runs."""
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        do()
    finally:
        sys.setprofile(before)
    return count
