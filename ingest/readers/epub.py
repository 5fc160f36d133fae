"""Electronic books (.epub): the chapters in the order of the book's spine, read as web pages without a frame."""

import io
import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote

from polyonym.ingest.readers import html
from polyonym.ingest.readers.rejection import Rejected
from polyonym.ingest.readers.result import Read, clean_metadata, one_line

_OPF = "{http://www.idpf.org/2007/opf}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_META = {
    "creator": "author",
    "date": "published",
    "publisher": "publisher",
    "language": "language",
    "subject": "subject",
    "identifier": "identifier",
}


def read(data: bytes, max_bytes: int) -> Read:
    """The whole book as one text. Raises Rejected for a broken or protected book, and for one that unpacks to more than `max_bytes`."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            unpacked = sum(entry.file_size for entry in package.infolist())
            if unpacked > max_bytes:
                raise Rejected(f"oversized: {unpacked:,} bytes when unpacked, the limit is {max_bytes:,}")
            return _book(package)
    except zipfile.BadZipFile as error:
        raise Rejected(f"broken or truncated .epub: {error}") from error


def _book(package: zipfile.ZipFile) -> Read:
    names = set(package.namelist())
    container = _xml(package, "META-INF/container.xml", names)
    root = None if container is None else container.find(f".//{_CONTAINER}rootfile")
    opf_name = "" if root is None else root.get("full-path", "")
    opf = _xml(package, opf_name, names)
    if opf is None:
        raise Rejected("not an .epub file: no list of its contents in it")
    encryption = _xml(package, "META-INF/encryption.xml", names)
    locked = set() if encryption is None else {unquote(e.get("URI", "")) for e in encryption.iter("{*}CipherReference")}
    values: dict[str, Any] = {}
    for element in opf.iter(f"{_DC}*"):
        name = str(element.tag)[len(_DC) :]
        key = _META.get(name, name)
        if element.text and not (name == "date" and element.get(f"{_OPF}event") == "modification"):
            values.setdefault(key, element.text)
    title = one_line(values.pop("title", ""))
    items = {item.get("id"): item for item in opf.iter(f"{_OPF}item")}
    blocks: list[str] = []
    for reference in opf.iter(f"{_OPF}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or item.get("media-type") not in _PAGES or "nav" in (item.get("properties") or "").split():
            continue
        name = posixpath.normpath(posixpath.join(posixpath.dirname(opf_name), unquote(item.get("href", ""))))
        if name in locked:
            raise Rejected("protected against copying: needs the reader's key")
        if name in names:
            blocks.append(html.page(html.decode_page(package.read(name))).text)
    return Read("", title, "\n\n".join(block for block in blocks if block), clean_metadata(values.items()))


def _xml(package: zipfile.ZipFile, name: str, names: set[str]) -> Any:
    from lxml import etree

    if name not in names:
        return None
    return etree.fromstring(package.read(name), etree.XMLParser(resolve_entities=False, no_network=True, recover=True))
