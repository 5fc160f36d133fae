"""Writes gold.jsonl: the texts as the readers give them, with every name in them and whom it names, from `names.toml`.

    python examples/make_gold.py

Run it after an edit to the corpus, to names.toml or to a reader, and look at the difference.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyonym.ingest.readers import Read, Unreadable, read_file
from polyonym.ingest.text.languages import detect

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Names:
    """names.toml: the type of each key, the key of each name, and the names whose bearer is a document's own affair."""

    types: dict[str, str]
    everywhere: dict[str, str]
    inside: dict[str, dict[str, str | list[str]]]


def load_names(path: Path) -> Names:
    """Read names.toml. Raises ValueError when one name stands for two keys everywhere, or a key has no type."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    types: dict[str, str] = {}
    everywhere: dict[str, str] = {}
    for key, (kind, *names) in table["everywhere"].items():
        types[key] = kind
        for name in names:
            if everywhere.setdefault(name, key) != key:
                raise ValueError(f"{name} stands for {everywhere[name]} and {key}; say in the documents which it is")
    for document, names_there in table["in"].items():
        for value in names_there.values():
            if unknown := {k for k in ([value] if isinstance(value, str) else value) if k} - types.keys():
                raise ValueError(f"{document}: no such key: {', '.join(sorted(unknown))}")
    return Names(types, everywhere, table["in"])


def find(text: str, document: str, names: Names) -> list[dict[str, Any]]:
    """All mentions in a document's text, in order and never overlapping; of two names at one place the longer one counts.

    A space in a name meets any white space, since readers keep line ends. Raises ValueError when a document's list of
    keys does not have as many as the name has occurrences, or a name stated for the document is not in it.
    """
    keys: dict[str, str | list[str]] = {**names.everywhere, **names.inside.get(document, {})}
    longest_first = sorted(keys, key=lambda n: (-len(n), n))
    pattern = re.compile(r"(?<!\w)(?:" + "|".join(re.escape(n).replace(r"\ ", r"\s+") for n in longest_first) + r")(?!\w)")
    seen: dict[str, int] = {}
    mentions = []
    for match in pattern.finditer(text):
        name = re.sub(r"\s+", " ", match[0])
        nth = seen[name] = seen.get(name, 0) + 1
        value = keys[name]
        if isinstance(value, list) and nth > len(value):
            raise ValueError(f"{document}: {name} occurs more than {len(value)} times")
        if key := value if isinstance(value, str) else value[nth - 1]:
            mentions.append({"start": match.start(), "end": match.end(), "text": match[0], "qid": key, "type": names.types[key]})
    for name, value in names.inside.get(document, {}).items():
        if seen.get(name, 0) != (len(value) if isinstance(value, list) else max(1, seen.get(name, 0))):
            raise ValueError(f"{document}: {name} occurs {seen.get(name, 0)} times")
    return mentions


def read_corpus() -> Iterator[tuple[str, Read | Unreadable]]:
    """Every document of the corpus by name, with its text or the reason why it has none."""
    corpus = HERE / "corpus"
    for path in sorted(p for p in corpus.rglob("*") if p.is_file()):
        name = path.relative_to(corpus).as_posix()
        for result in read_file(path):
            yield f"{name}/{result.suffix}" if result.suffix else name, result


def gold() -> Iterator[dict[str, Any]]:
    """The gold of each document that is read and English, sorted by name.

    Raises ValueError when names.toml speaks of a document that is not there.
    """
    names = load_names(HERE / "names.toml")
    texts = {name: result for name, result in read_corpus() if isinstance(result, Read) and detect(result.text) == "en"}
    if missing := sorted(names.inside.keys() - texts.keys()):
        raise ValueError(f"names.toml speaks of documents that are not in the corpus: {', '.join(missing)}")
    for name, read in sorted(texts.items()):
        yield {"doc_id": name, "title": read.title, "text": read.text, "mentions": find(read.text, name, names)}


if __name__ == "__main__":
    lines = [json.dumps(document, ensure_ascii=False) + "\n" for document in gold()]
    (HERE / "gold.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")
