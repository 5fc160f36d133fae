"""Readers: one file a format, one way in. Whatever is wrong with a file becomes a reason, never an error."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from polyonym.ingest.readers import csv, docx, eml, epub, html, json, mbox, md, msg, odf, parquet, pdf, pptx, rtf, spreadsheet, txt, xml
from polyonym.ingest.readers.content import Attached, Content, open_content, read_content
from polyonym.ingest.readers.encodings import NotText
from polyonym.ingest.readers.mail import DEEPEST, Mail, documents, iso_date
from polyonym.ingest.readers.rejection import Rejected, Unreadable, reason_of, rejected
from polyonym.ingest.readers.result import Read, ReaderOptions, one_line
from polyonym.ingest.readers.tables import Layout, Row, Table, is_named_by_content, read_rows
from polyonym.ingest.text.dates import ATTACHED

__all__ = [
    "Layout",
    "Read",
    "ReaderOptions",
    "Rejected",
    "Unreadable",
    "format_of",
    "is_named_by_content",
    "is_table",
    "read_file",
    "read_tables",
    "unsupported",
]

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
    ".docm": "docx",
    ".pptx": "pptx",
    ".pptm": "pptx",
    ".odt": "odf",
    ".odp": "odf",
    ".rtf": "rtf",
    ".epub": "epub",
    ".eml": "eml",
    ".mbox": "mbox",
    ".mbx": "mbox",
    ".msg": "msg",
    ".csv": "csv",
    ".tsv": "csv",
    **dict.fromkeys((".json", ".geojson"), "json"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    ".parquet": "parquet",
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "spreadsheet"),
    **dict.fromkeys((".xml", ".rss", ".atom"), "xml"),
}
_GZIPPED = {"txt", "md", "html", "eml", "mbox", "csv", "json", "jsonl", "parquet", "xml"}
_TABLES: dict[str, Callable[[Content, int], Iterable[Table | Read]]] = {
    "csv": lambda file, limit: [csv.table(file, limit)],
    "json": json.contents,
    "jsonl": json.lines,
    "parquet": lambda file, limit: [parquet.table(file)],
    "spreadsheet": spreadsheet.tables,
    "xml": xml.contents,
}
_WHOLE = {"txt": txt.read, "md": md.read, "html": html.read, "pdf": pdf.read, "rtf": rtf.read}
_OFFICE = {"docx": docx.read, "pptx": pptx.read, "odf": odf.read}
_WHAT_TO_DO = {
    **dict.fromkeys((".doc", ".dot", ".wpd", ".wps", ".pages"), "save it as .docx or .pdf"),
    **dict.fromkeys((".ppt", ".pps", ".key"), "save it as .pptx or .pdf"),
    **dict.fromkeys((".djvu", ".ps", ".xps", ".oxps", ".tex", ".latex"), "convert it to .pdf"),
    **dict.fromkeys((".mobi", ".azw", ".azw3", ".fb2"), "convert it to .epub"),
    **dict.fromkeys((".mht", ".mhtml", ".webarchive"), "save the page as .html"),
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar", ".tgz", ".bz2", ".xz", ".zst"), "unpack it into the source's folder"),
    **dict.fromkeys(
        (".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".bmp", ".webp", ".heic"), "have its text recognised and saved as .pdf or .txt"
    ),
    **dict.fromkeys((".mp3", ".m4a", ".wav", ".ogg", ".mp4", ".mov", ".avi", ".mkv", ".webm"), "transcribe it into .txt"),
    **dict.fromkeys((".pst", ".ost"), "export its messages as .mbox or .eml"),
    **dict.fromkeys((".db", ".sqlite", ".mdb", ".accdb"), "export its tables as .csv"),
}


def format_of(name: str) -> str | None:
    """The format that a file's name stands for: "txt" also for a name without a suffix, None for an unknown one."""
    path = Path(name.lower())
    packed = path.suffix == ".gz"
    if packed:
        path = path.with_suffix("")
    kind = _FORMATS.get(path.suffix) if path.suffix else None if packed else "txt"
    return None if packed and kind not in _GZIPPED else kind


def is_table(name: str) -> bool:
    """Whether a file of this name holds rows, each of which is a document."""
    return format_of(name) in _TABLES


def unsupported(name: str) -> str:
    """The reason why a file of this name is not read, "" when its format is known."""
    if format_of(name) is not None:
        return ""
    suffixes = Path(os.fsencode(name).decode("utf-8", "replace")).suffixes
    advice = _WHAT_TO_DO.get(suffixes[-1].lower(), "")
    return f"unsupported format {''.join(suffixes[-2:] if suffixes[-1].lower() == '.gz' else suffixes[-1:])}" + (
        f": {advice}" if advice else ""
    )


def read_file(path: Path, options: ReaderOptions | None = None, layouts: list[Layout] | None = None) -> Iterator[Read | Unreadable]:
    """The documents of a file, lazily: one for most formats, one for each row of a table, each message of a mailbox, each attachment.

    `suffix` is "" for the file as a whole (the document's name is then the file's), else the row's id or place, the message's id, the
    attachment's name (the document's name is then "file/suffix"); no suffix comes twice, so a table that breaks off gives its rows and then an Unreadable for "".
    `layouts` is filled, while rows are read, with what was found out about each table.
    Never raises, whatever is in the file. Readers' libraries are native code in part: a crash of PDFium or Arrow ends the process.
    """
    yield from _documents(path, options or ReaderOptions(), [] if layouts is None else layouts, 0)


def _documents(file: Content, options: ReaderOptions, layouts: list[Layout], depth: int) -> Iterator[Read | Unreadable]:
    """The documents of a file that lies on disk, or is attached to a mail (`depth` times over)."""
    try:
        for result in _read(file, options, layouts, depth):
            yield _checked(result, file.name)
    except (Rejected, NotText) as problem:
        yield Unreadable("", one_line(str(problem), 200))
    except Exception as error:
        yield Unreadable("", reason_of(file, format_of(file.name), error))


def _read(file: Content, options: ReaderOptions, layouts: list[Layout], depth: int) -> Iterator[Read | Unreadable]:
    if isinstance(file, Path) and file.is_dir():
        raise Rejected("a folder that cannot be looked into")
    kind = format_of(file.name)
    if kind is None:
        raise Rejected(unsupported(file.name))
    if isinstance(file, Path) and not stat.S_ISREG(file.stat().st_mode):  # opening a pipe would wait for ever
        raise Rejected("not a regular file")
    limit = options.max_bytes
    if kind == "txt" and "." not in file.name:
        with open_content(file) as stream:
            head = stream.read(4096)
        kind = "mbox" if mbox.looks_like_mailbox(head) else "eml" if eml.looks_like_message(head) else kind
    if kind in _TABLES:
        yield from _read_tables(_TABLES[kind](file, limit), options, layouts)
    elif kind == "mbox":
        with open_content(file) as stream:
            for message in mbox.messages(stream, limit):
                yield from _message(message, options, depth)
    elif kind == "eml":
        yield from _with_attachments(eml.read(read_content(file, limit)), options, depth)
    elif kind == "msg":
        yield from _with_attachments(msg.read(read_content(file, limit)), options, depth)
    elif kind in _OFFICE:
        yield _OFFICE[kind](read_content(file, limit), limit, options.comments)
    elif kind == "epub":
        yield epub.read(read_content(file, limit), limit)
    else:
        yield _WHOLE[kind](read_content(file, limit))


def _read_tables(tables: Iterable[Table | Read], options: ReaderOptions, layouts: list[Layout]) -> Iterator[Read | Unreadable]:
    for table in tables:
        if isinstance(table, Read):
            yield table
            continue
        layouts.append(table.layout)
        if not table.layout.sheet:
            yield from read_rows(table.rows, options, table.layout)
            continue
        try:
            for result in read_rows(table.rows, options, table.layout):
                yield replace(result, suffix=f"{table.layout.sheet}/{result.suffix}")
        except Rejected as problem:
            yield Unreadable(table.layout.sheet, str(problem))


def read_tables(path: Path, max_bytes: int) -> Iterator[Table]:
    """The tables of a file, not yet made documents. Raises Rejected, also as rows are read, for a file that holds none or cannot be read."""
    kind = format_of(path.name)
    if kind not in _TABLES:
        raise Rejected(f"not a table: {', '.join(sorted(ending for ending, of in _FORMATS.items() if of in _TABLES))} are read")
    try:
        for table in _TABLES[kind](path, max_bytes):
            if isinstance(table, Read):
                raise Rejected("not a table")
            yield replace(table, rows=_reasons(table.rows, path))
    except Exception as error:
        raise rejected(path, format_of(path.name), error) from error


def _reasons(rows: Iterator[Row], path: Path) -> Iterator[Row]:
    """The rows; whatever they raise becomes Rejected."""
    try:
        yield from rows
    except Exception as error:
        raise rejected(path, format_of(path.name), error) from error


def _message(message: mbox.Stored, options: ReaderOptions, depth: int) -> Iterator[Read | Unreadable]:
    """The documents of a message in a mailbox."""
    if message.problem:
        yield Unreadable(message.name, message.problem)
        return
    try:
        for result in _with_attachments(eml.read(message.data), options, depth):
            yield replace(result, suffix="/".join(filter(None, (message.name, result.suffix))))
    except (Rejected, NotText) as problem:
        yield Unreadable(message.name, str(problem))
    except Exception as error:
        yield Unreadable(message.name, f"broken message: {str(error) or type(error).__name__}")


def _with_attachments(mail: Mail, options: ReaderOptions, depth: int) -> Iterator[Read | Unreadable]:
    """The documents of a mail: its own text, and what is in its attachments, with when it was sent. Pictures within its text are passed over."""
    for part in documents(mail):
        if not isinstance(part, Attached):
            yield part
        elif part.for_itself or format_of(part.name) is not None:
            if depth == DEEPEST:
                yield Unreadable(part.name, f"attached to mails attached to each other more than {DEEPEST} deep")
                continue
            for result in _documents(part, options, [], depth + 1):
                if isinstance(result, Read) and (sent := iso_date(mail.headers)):
                    result = replace(result, metadata={**result.metadata, ATTACHED: sent})
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
