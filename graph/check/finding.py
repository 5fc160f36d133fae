"""What a check finds."""

from collections.abc import Iterable
from dataclasses import dataclass

_EXAMPLES = 5


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be: where, what, how often, some examples, and whether repair puts it right."""

    where: str
    what: str
    count: int = 1
    examples: tuple[str, ...] = ()
    repairable: bool = True

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.examples) else ""
        return f"{self.where}: {self.count} {self.what}" + (f" ({', '.join(self.examples)}{more})" if self.examples else "")


def findings(where: str, what: str, ids: Iterable[str], repairable: bool = True) -> list[Finding]:
    """One finding about these ids (parts of one joined by tabs), with examples; none where there are no ids."""
    listed = [i.replace("\t", " → ") for i in ids]
    return [Finding(where, what, len(listed), tuple(listed[:_EXAMPLES]), repairable)] if listed else []
