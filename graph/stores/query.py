"""Questions to a graph store: what may be asked, and answers that JSON can hold, the same from every store."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from typing import Any

from polyonym.ingest.errors import WrongUse

_READING = frozenset({"MATCH", "OPTIONAL", "WITH", "UNWIND", "RETURN", "CALL", "EXPLAIN", "PROFILE", "SHOW"})
# Quoted text, quoted names and comments: what stands in them is no Cypher.
_QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:``|[^`])*`|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_FIRST_WORD = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True)
class Answer:
    """What a query returned: columns, and rows of values that JSON can hold."""

    columns: list[str]
    rows: list[list[Any]]


def check_reading(cypher: str) -> str:
    """The query without a closing semicolon. Raises WrongUse unless it is one statement of a kind that reads.

    Writing clauses inside are refused by the stores, which open their data for reading only. This keeps out what those let
    pass: statements that write files (COPY … TO, EXPORT), load code (INSTALL) or change users.
    """
    statement = cypher.strip().removesuffix(";").rstrip()
    bare = _QUOTED.sub(" ", statement)
    if ";" in bare:
        raise WrongUse("The query holds several statements. Ask one at a time.")
    first = _FIRST_WORD.search(bare)
    if first is None or bare[: first.start()].strip():
        raise WrongUse("The query is empty. Try: MATCH (e:Entity) RETURN e.name, e.mentions ORDER BY e.mentions DESC LIMIT 10")
    keyword = bare.split()[1:2] if first[0].upper() in ("EXPLAIN", "PROFILE") else [first[0]]
    if not keyword or re.split(r"\W", keyword[0])[0].upper() not in _READING:
        raise WrongUse(f"A query can only read; {first[0].upper()} is refused. Begin with MATCH, WITH, UNWIND, CALL or RETURN.")
    return statement


def plain(value: Any) -> Any:
    """`value` as JSON can hold it; what it cannot hold (a date, bytes, infinity) becomes text, a whole decimal an integer."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(inner) for inner in value]
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return value.isoformat() if isinstance(value, date | time) else str(value)


def node(labels: Iterable[str], properties: dict[str, Any]) -> dict[str, Any]:
    """A node in an answer."""
    return {"label": ":".join(sorted(labels)), **_present(properties)}


def relationship(type_: str, properties: dict[str, Any]) -> dict[str, Any]:
    """A relationship in an answer. `relationship` is its type: one of ours has a property `type` of its own."""
    return {"relationship": type_, **_present(properties)}


def _present(properties: dict[str, Any]) -> dict[str, Any]:
    return {name: plain(properties[name]) for name in sorted(properties) if properties[name] is not None}
