"""Readers: one file a format, one way in. Whatever is wrong with a file becomes a reason, never an error."""

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from polyonym.ingest.readers import csv, docx, eml, html, jsonl, mbox, md, msg, parquet, pdf, txt
from polyonym.ingest.readers.content import Attached, Content, open_content, read_content
from polyonym.ingest.readers.encodings import NotText
from polyonym.ingest.readers.mail import DEEPEST, Mail, documents
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
    ".mbox": "mbox",
    ".mbx": "mbox",
    ".msg": "msg",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
_GZIPPED = {"txt", "md", "html", "eml", "mbox", "csv", "jsonl", "parquet"}
_WHOLE = {"txt": txt.read, "md": md.read, "html": html.read, "pdf": pdf.read}


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
    """The documents of a file, lazily: one for most formats, one for each row of a table, each message of a mailbox, each attachment.

    `suffix` is "" for the file as a whole (the document's name is then the file's), else the row's id or place, the message's id, the
    attachment's name (the document's name is then "file/suffix"); no suffix comes twice, so a table that breaks off gives its rows and then an Unreadable for "".
    Never raises, whatever is in the file. Readers' libraries are native code in part: a crash of PDFium or Arrow ends the process.
    """
    yield from _documents(path, options or ReaderOptions(), 0)


def _documents(file: Content, options: ReaderOptions, depth: int) -> Iterator[Read | Unreadable]:
    """The documents of a file that lies on disk, or is attached to a mail (`depth` times over)."""
    try:
        for result in _read(file, options, depth):
            yield _checked(result, file.name)
    except (SetAside, NotText) as problem:
        yield Unreadable("", one_line(str(problem), 200))
    except Exception as error:
        yield Unreadable("", _reason(file, error))


def _read(file: Content, options: ReaderOptions, depth: int) -> Iterator[Read | Unreadable]:
    if isinstance(file, Path) and file.is_dir():
        raise SetAside("a folder that cannot be looked into")
    kind = format_of(file.name)
    if kind is None:
        raise SetAside(unsupported(file.name))
    if isinstance(file, Path) and not stat.S_ISREG(file.stat().st_mode):  # opening a pipe would wait for ever
        raise SetAside("not a regular file")
    limit = options.max_bytes
    if kind == "txt" and "." not in file.name:
        with open_content(file) as stream:
            head = stream.read(4096)
        kind = "mbox" if mbox.looks_like_mailbox(head) else "eml" if eml.looks_like_message(head) else kind
    if kind == "csv":
        yield from read_rows(csv.rows(file, limit), options)
    elif kind == "jsonl":
        yield from read_rows(jsonl.rows(file, limit), options)
    elif kind == "parquet":
        with open_content(file) as stream:
            yield from read_rows(parquet.rows(stream), options)
    elif kind == "mbox":
        with open_content(file) as stream:
            for message in mbox.messages(stream, limit):
                yield from _message(message, options, depth)
    elif kind == "eml":
        yield from _with_attachments(eml.read(read_content(file, limit)), options, depth)
    elif kind == "msg":
        yield from _with_attachments(msg.read(read_content(file, limit)), options, depth)
    elif kind == "docx":
        yield docx.read(read_content(file, limit), limit)
    else:
        yield _WHOLE[kind](read_content(file, limit))


def _message(message: mbox.Stored, options: ReaderOptions, depth: int) -> Iterator[Read | Unreadable]:
    """The documents of a message in a mailbox."""
    if message.problem:
        yield Unreadable(message.name, message.problem)
        return
    try:
        for result in _with_attachments(eml.read(message.data), options, depth):
            yield replace(result, suffix="/".join(filter(None, (message.name, result.suffix))))
    except (SetAside, NotText) as problem:
        yield Unreadable(message.name, str(problem))
    except Exception as error:
        yield Unreadable(message.name, f"broken message: {str(error) or type(error).__name__}")


def _with_attachments(mail: Mail, options: ReaderOptions, depth: int) -> Iterator[Read | Unreadable]:
    """The documents of a mail: its own text, and what is in its attachments. Pictures within its text are passed over."""
    for part in documents(mail):
        if not isinstance(part, Attached):
            yield part
        elif part.for_itself or format_of(part.name) is not None:
            if depth == DEEPEST:
                yield Unreadable(part.name, f"attached to mails attached to each other more than {DEEPEST} deep")
                continue
            for result in _documents(part, options, depth + 1):
                yield replace(result, suffix="/".join(filter(None, (part.name, result.suffix))))


def _checked(result: Read | Unreadable, name: str) -> Read | Unreadable:
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
    return replace(result, title=one_line(os.fsencode(name.removesuffix(".gz")).decode("utf-8", "replace").rsplit(".", 1)[0]))


def _reason(file: Content, error: Exception) -> str:
    match error:
        case FileNotFoundError():
            return "broken symbolic link" if isinstance(file, Path) and file.is_symlink() else "no longer there"
        case PermissionError():
            return "permission denied"
        case OSError() if error.strerror:
            return error.strerror.lower()
        case EOFError():
            return "truncated: the packed content breaks off"
        case MemoryError():
            return "too large to be read in the memory there is"
    text = str(error).splitlines()[0] if str(error) else ""
    return one_line(f"broken {format_of(file.name) or 'file'}: {text or type(error).__name__}", 200)
