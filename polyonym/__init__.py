"""Polyonym turns a corpus of documents into a knowledge graph in which one real-world thing is one node.

    import polyonym

    home = polyonym.Home("my-home")
    home.ingest("docs/")                                  # again whenever you like: only what changed is done again
    for entity in home.entities():
        print(entity.name, entity.type, entity.mentions)
    print(home.explain("Velmora"))                        # why these names are one node

What is named here is the public interface; every other module may change from one version to the next.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyonym.flows.inspect.asking import Answer
    from polyonym.flows.inspect.explanation import Explanation
    from polyonym.flows.inspect.search import Hit
    from polyonym.ingest.errors import Damaged, HomeHeld, ServerAway, Stop, WrongUse
    from polyonym.interface import Alias, Entity, Explanations, Home, Mention, Rows

__all__ = [
    "Alias",
    "Answer",
    "Damaged",
    "Entity",
    "Explanation",
    "Explanations",
    "Hit",
    "Home",
    "HomeHeld",
    "Mention",
    "Rows",
    "ServerAway",
    "Stop",
    "WrongUse",
]


def __getattr__(name: str) -> Any:
    # The interface is imported when it is first used: the command line imports this package too, and must start at once.
    if name in __all__:
        from polyonym import interface

        return getattr(interface, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
