"""Plain text: the decoded content, unaltered but for a byte-order mark."""

from polyonym.ingest.readers.encodings import decode
from polyonym.ingest.readers.result import Read


def read(data: bytes) -> Read:
    """Raises NotText for binary content."""
    text, encoding = decode(data)
    return Read("", "", text, {} if encoding.name.startswith("utf-8") and not encoding.other else {"encoding": str(encoding)})
