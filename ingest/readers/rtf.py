"""Rich Text Format, which word processors of all ages write: the text without its commands."""

import re

from polyonym.ingest.readers.html import table_blocks
from polyonym.ingest.readers.rejection import Rejected
from polyonym.ingest.readers.result import Read, clean_metadata, one_line

_TITLE = re.compile(r"\{\\title ([^{}\\]*)\}")
_AUTHOR = re.compile(r"\{\\author ([^{}\\]*)\}")
_CREATED = re.compile(r"\{\\creatim\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
_HIDDEN_GROUPS = re.compile(r"\{\\(?:info|title|author|creatim)\b")


def read(data: bytes) -> Read:
    """A paragraph a block, a table's rows with " | " between cells. Raises Rejected for what does not begin as such a file does."""
    from striprtf.striprtf import rtf_to_text

    if not data.lstrip().startswith(b"{\\rtf"):
        raise Rejected("not an .rtf file")
    source = data.decode("latin-1")
    blocks: list[str] = []
    rows: list[list[str]] = []
    for line in [*rtf_to_text(source, errors="ignore").replace("\r\n", "\n").split("\n"), ""]:
        if "|" in line and line.rstrip().endswith("|"):  # how the library writes a table's row
            rows.append([cell.strip() for cell in line.split("|") if cell.strip()])
            continue
        blocks += table_blocks(rows)
        rows = []
        blocks += [line.strip()] if line.strip() else []
    title, author, created = (pattern.search(source) for pattern in (_TITLE, _AUTHOR, _CREATED))
    metadata = {"author": author[1] if author else "", "created": "{}-{:0>2}-{:0>2}".format(*created.groups()) if created else ""}
    return Read("", one_line(title[1]) if title else "", "\n\n".join(blocks), clean_metadata(metadata.items()))
