"""Writes the files of the corpus that no editor can write: pdf, docx, parquet and gzipped ones, from `sources/`.

    python examples/make_binary_formats.py

The same sources give the same bytes (with the same pyarrow and python-docx), so a change shows as a change of its source.
Sources are plain text: "# " starts the title, "## " a heading, "| a | b |" a row of a table, an empty line ends a paragraph.
"""

import gzip
import io
import json
import textwrap
import zipfile
from datetime import datetime
from pathlib import Path

HERE = Path(__file__).parent
SOURCES, CORPUS = HERE / "sources", HERE / "corpus"

PDF = {
    "filings/nsga-decision-grauwal-2.pdf": "nsga-decision-grauwal-2.txt",
    "filings/pellworth-annual-report-2023.pdf": "pellworth-annual-report-2023.txt",
    "filings/ime-cable-study.pdf": "ime-cable-study.txt",
}
BROKEN_PDF = ("filings/osb-final-report-esbjerg-fire.pdf", "osb-final-report-esbjerg-fire.txt")
DOCX = {
    "contracts/framework-contract-linovar.docx": "framework-contract-linovar.txt",
    "minutes/nsga-board-2023-09-28.docx": "nsga-board-2023-09-28.txt",
    "minutes/site-report-grauwal-1.docx": "site-report-grauwal-1.txt",
}
PARQUET = {"tables/bulletins.parquet": "bulletins.jsonl"}
GZIP = {"archive/2019-tender.txt.gz": "2019-tender.txt", "archive/wire-2020.jsonl.gz": "wire-2020.jsonl"}

LINES_A_PAGE, COLUMNS = 29, 84
WHEN = datetime(2024, 7, 1)


def blocks(text: str) -> list[tuple[str, list[str]]]:
    """The parts of a source in order: (kind, lines), kind being title, heading, table or paragraph."""
    found = []
    for part in text.strip().split("\n\n"):
        lines = part.split("\n")
        if lines[0].startswith("# "):
            found.append(("title", [lines[0][2:]]))
        elif lines[0].startswith("## "):
            found.append(("heading", [lines[0][3:]]))
        else:
            found.append(("table" if lines[0].startswith("|") else "paragraph", lines))
    return found


def pdf(text: str) -> bytes:
    """A PDF 1.4 in Helvetica with Windows-1252 text, 29 lines a page, as ISO 32000 describes its objects and their table."""
    lines: list[tuple[int, str]] = []  # size in points, text
    title = ""
    for kind, part in blocks(text):
        if kind == "title":
            title = part[0]
        size = {"title": 15, "heading": 13}.get(kind, 11)
        lines += [(size, line) for line in textwrap.wrap(" ".join(part), COLUMNS * 11 // size)] + [(11, "")]
    pages = [lines[i : i + LINES_A_PAGE] for i in range(0, len(lines), LINES_A_PAGE)]

    def string(value: str) -> bytes:
        escaped = value.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        return b"(" + escaped.encode("cp1252") + b")"

    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for i, page in enumerate(pages):
        drawn = b"".join(f"/F1 {size} Tf ".encode() + string(line) + b" Tj T*\n" for size, line in page)
        stream = b"BT 24 TL 60 780 Td\n" + drawn + b"ET"
        resources = "<< /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources {resources} /Contents {5 + 2 * i} 0 R >>".encode())
        objects.append(f"<< /Length {len(stream)} >>\nstream\n".encode() + stream + b"\nendstream")
    objects.append(b"<< /Title " + string(title) + f" /CreationDate (D:{WHEN:%Y%m%d}000000Z) >>".encode())

    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode() + b"".join(f"{o:010} 00000 n \n".encode() for o in offsets)
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def docx(text: str) -> bytes:
    """A Word document with headings and tables; its zip members are dated alike, so that equal content is equal bytes."""
    from docx import Document

    document = Document()
    properties = document.core_properties
    properties.author, properties.created, properties.modified = "Example corpus", WHEN, WHEN
    for kind, part in blocks(text):
        if kind == "table":
            rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part]
            table = document.add_table(rows=0, cols=len(rows[0]))
            for row in rows:
                for cell, value in zip(table.add_row().cells, row, strict=True):
                    cell.text = value
        elif kind == "paragraph":
            document.add_paragraph(" ".join(part))
        else:
            document.add_heading(part[0], level=0 if kind == "title" else 1)
            if kind == "title":
                properties.title = part[0]
    written = io.BytesIO()
    document.save(written)
    dated = io.BytesIO()
    with zipfile.ZipFile(written) as before, zipfile.ZipFile(dated, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            after.writestr(zipfile.ZipInfo(name, WHEN.timetuple()[:6]), before.read(name), zipfile.ZIP_DEFLATED)
    return dated.getvalue()


def parquet(text: str) -> bytes:
    """A parquet table of a source's JSON lines."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([json.loads(line) for line in text.splitlines()]), out)
    return out.getvalue()


def main() -> None:
    def write(name: str, data: bytes) -> None:
        (CORPUS / name).parent.mkdir(parents=True, exist_ok=True)
        (CORPUS / name).write_bytes(data)

    def source(name: str) -> str:
        return (SOURCES / name).read_text(encoding="utf-8")

    for name, file in PDF.items():
        write(name, pdf(source(file)))
    whole = pdf(source(BROKEN_PDF[1]))
    write(BROKEN_PDF[0], whole[: len(whole) * 3 // 5])  # an upload that broke off
    for name, file in DOCX.items():
        write(name, docx(source(file)))
    for name, file in PARQUET.items():
        write(name, parquet(source(file)))
    for name, file in GZIP.items():
        write(name, gzip.compress(source(file).encode("utf-8"), mtime=0))


if __name__ == "__main__":
    main()
