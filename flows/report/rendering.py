"""How pages are made from templates: everything escaped, numbers written as people read them."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def render(name: str, **values: Any) -> str:
    """A page from the template of this name."""
    return _environment().get_template(name).render(**values)


@cache
def _environment() -> Environment:
    folder = Path(__file__).parent / "templates"
    environment = Environment(
        loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(number=number, plural=plural, figure=figure, percent=percent)
    return environment


def number(value: int) -> str:
    """12345 as 12,345."""
    return f"{value:,}"


def plural(count: int, one: str, many: str = "") -> str:
    """3 as "3 documents"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def figure(value: Any) -> str:
    """A value of a feature: short, without needless digits."""
    return f"{value:.4g}" if isinstance(value, float) else ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def percent(share: float) -> str:
    """0.123 as 12.3 %."""
    return f"{100 * share:.1f} %"


def duration(seconds: float) -> str:
    """Seconds as 0.42 s, 12.3 s, 4 min 05 s or 2 h 03 min."""
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
