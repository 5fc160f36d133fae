"""Fingerprints: hashes of the code, tables and models that a result rests on.

They stand in the keys of stages and in the names of kept model outputs. So a change of a rule, a table or a model is noticed by
itself: nobody has to remember to raise a version.
"""

import hashlib
import importlib.metadata
import importlib.util
from functools import cache
from pathlib import Path

_PACKAGES = Path(__file__).resolve().parents[2]
"""Where the packages lie: ingest, resolution, graph and flows."""

_CODE = {".py", ".tsv", ".txt", ".json"}
_PART = 1 << 20  # bytes that are read at a time


def of_code(*places: str, root: Path = _PACKAGES) -> str:
    """One hash of files, and of all modules and tables in folders; `places` are relative to `root`, e.g. "ingest/text"."""
    return _of_code(places, root)


@cache
def _of_code(places: tuple[str, ...], root: Path) -> str:
    files: list[Path] = []
    for place in places:
        path = root / place
        files += [f for f in path.rglob("*") if f.suffix in _CODE] if path.is_dir() else [path]
    return _of_files(root, sorted(set(files)))


@cache
def of_model(name: str) -> str:
    """A hash of a model: of its files when it is a folder, of what its package's installer recorded when it is a package, else its name.

    The second is as good as the first, since the record holds a hash of every file, and costs nothing.
    """
    folder = Path(name)
    if folder.is_dir():
        return _of_files(folder, sorted(f for f in folder.rglob("*") if f.is_file()))
    try:
        if importlib.util.find_spec(name) is not None:
            package = importlib.metadata.distribution(name)
            return f"{name} {package.version} {hashlib.sha256((package.read_text('RECORD') or '').encode()).hexdigest()[:16]}"
    except (ImportError, ValueError):
        pass
    return name


def _of_files(root: Path, files: list[Path]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        digest.update(f"{file.relative_to(root).as_posix()}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as content:
            while part := content.read(_PART):
                digest.update(part)
    return digest.hexdigest()
