"""Readers: one file a format, one way in. Whatever is wrong with a file becomes a reason, never an error."""

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from polyonym.ingest.readers import csv, docx, eml, html, jsonl, md, parquet, pdf, txt
from polyonym.ingest.readers.content import open_content, read_content
from polyonym.ingest.readers.encodings import NotText
from polyonym.ingest.readers.result import Read, ReaderOptions, SetAside, Unreadable, one_line
from polyonym.ingest.readers.tables import read_rows

__all__ = ["Read", "ReaderOptions", "Unreadable", "format_of", "read_file", "unsupported"]

_FORMATS = {
    ".txt": "txt",
    ".text": "txt",
    ".md": "md",
    ".markdown": "md",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".eml": "eml",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
_GZIPPED = {"txt", "md", "html", "eml", "csv", "jsonl", "parquet"}
_WHOLE = {"txt": txt.read, "md": md.read, "html": html.read, "pdf": pdf.read, "eml": eml.read}


def format_of(name: str) -> str | None:
    """The format that a file's name stands for: "txt" also for a name without a suffix, None for an unknown one."""
    path = Path(name.lower())
    packed = path.suffix == ".gz"
    if packed:
        path = path.with_suffix("")
    kind = _FORMATS.get(path.suffix) if path.suffix else None if packed else "txt"
    return None if packed and kind not in _GZIPPED else kind


def unsupported(name: str) -> str:
    """The reason why a file of this name is not read, "" when its format is known."""
    if format_of(name) is not None:
        return ""
    suffixes = Path(os.fsencode(name).decode("utf-8", "replace")).suffixes
    return f"unsupported format {''.join(suffixes[-2:] if suffixes[-1].lower() == '.gz' else suffixes[-1:])}"


def read_file(path: Path, options: ReaderOptions | None = None) -> Iterator[Read | Unreadable]:
    """The documents of a file, lazily: one for most formats, one for each row of a table.

    `suffix` is "" for the file as a whole (the document's name is then the file's), else the row's id or place (the name is
    then "file/suffix"); no suffix comes twice, so a table that breaks off gives its rows and then an Unreadable for "".
    Never raises, whatever is in the file. Readers' libraries are native code in part: a crash of PDFium or Arrow ends the process.
    """
    options = options or ReaderOptions()
    try:
        for result in _read(path, options):
            yield _checked(result, path)
    except (SetAside, NotText) as problem:
        yield Unreadable("", one_line(str(problem), 200))
    except Exception as error:
        yield Unreadable("", _reason(path, error))


def _read(path: Path, options: ReaderOptions) -> Iterator[Read | Unreadable]:
    if path.is_dir():
        raise SetAside("a folder that cannot be looked into")
    kind = format_of(path.name)
    if kind is None:
        raise SetAside(unsupported(path.name))
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for ever
        raise SetAside("not a regular file")
    limit = options.max_bytes
    if kind == "csv":
        yield from read_rows(csv.rows(path, limit), options)
    elif kind == "jsonl":
        yield from read_rows(jsonl.rows(path, limit), options)
    elif kind == "parquet":
        with open_content(path) as file:
            yield from read_rows(parquet.rows(file), options)
    elif kind == "docx":
        yield docx.read(read_content(path, limit), limit)
    else:
        yield _WHOLE[kind](read_content(path, limit))


def _checked(result: Read | Unreadable, path: Path) -> Read | Unreadable:
    """A text that every state store can hold, with a title, or the reason why there is none."""
    if isinstance(result, Unreadable):
        return replace(result, reason=one_line(result.reason, 200))
    if not result.text.strip():
        return Unreadable(result.suffix, "empty: no text")
    if "\0" in result.text:
        return Unreadable(result.suffix, "binary content (NUL characters)")
    try:
        result.text.encode("utf-8")
    except UnicodeEncodeError:
        return Unreadable(result.suffix, "broken Unicode (half of a surrogate pair)")
    if result.title or result.suffix:
        return result
    return replace(result, title=one_line(os.fsencode(path.name.removesuffix(".gz")).decode("utf-8", "replace").rsplit(".", 1)[0]))


def _reason(path: Path, error: Exception) -> str:
    match error:
        case FileNotFoundError():
            return "broken symbolic link" if path.is_symlink() else "no longer there"
        case PermissionError():
            return "permission denied"
        case OSError() if error.strerror:
            return error.strerror.lower()
        case EOFError():
            return "truncated: the packed content breaks off"
        case MemoryError():
            return "too large to be read in the memory there is"
    text = str(error).splitlines()[0] if str(error) else ""
    return one_line(f"broken {format_of(path.name) or 'file'}: {text or type(error).__name__}", 200)
