"""Plain text: the decoded content, unaltered but for a byte-order mark."""

from ingest.encodings import decode
from ingest.readers.result import Read


def read(data: bytes) -> Read:
    """Raises NotText for binary content."""
    text, encoding = decode(data)
    return Read("", "", text, {} if encoding.name.startswith("utf-8") else {"encoding": encoding.name})
