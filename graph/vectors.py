"""Vector indexes (FAISS) of chunks, entities and communities: a projection of the state, replaced atomically.

An index is two files in one folder. The manifest `NAME.json` names the index file `NAME-CHECKSUM.faiss` and holds what
belongs to it: model, dimension, count, checksum, and for each entry its id, its number in the index and the hash of the
content that its vector was made from. Replacing the manifest is the one step that makes a new index visible, so whoever
reads sees the old one or the new one, whole, whenever a writer dies.

An index file is a function of its entries alone: entries are sorted by id and, above FLAT_BELOW, the lists of the
inverted file are trained anew with a seed at each replacement (seconds for 100,000 vectors). So an index that was built
step by step equals one that was built at once, and a removed entry leaves nothing behind, not even in the centroids.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import orjson

from polyonym.ingest.errors import Damaged
from polyonym.ingest.store import files
from polyonym.ingest.store.tables import batched

FORMAT = 1
FLAT_BELOW = 50_000
"""From this many entries on, search is no longer exact but goes through an inverted file."""

_SEED = 20_240_601
_POINTS_PER_LIST = 64  # training looks at so many vectors for each list
_TRAINING_ROUNDS = 10
_PROBED = 0.25  # the share of the lists that a search looks into: recall@10 of .97 on MiniLM vectors of entities (0.08: .90)
_EMBED_AT_ONCE = 8192

Vectors = npt.NDArray[np.float32]
Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Manifest:
    """What an index file holds. `entries` maps id to (number in the index, content hash), sorted by id."""

    model: str
    dimension: int
    kind: str  # flat or inverted
    file: str
    checksum: str
    entries: dict[str, tuple[int, str]]

    @property
    def count(self) -> int:
        return len(self.entries)

    @cached_property
    def ids(self) -> dict[int, str]:
        """The id behind each number in the index."""
        return {number: i for i, (number, _) in self.entries.items()}


def update(folder: Path, name: str, wanted: Mapping[str, str], vectors: Callable[[list[str]], Vectors], model: str) -> int:
    """Make index `name` hold exactly the entries of `wanted` (id to content hash), and return how many entries changed.

    `vectors` is asked, in sorted batches, for the vectors (n, dimension) of what the index does not hold of this model under
    any id; they are normalised here. A count of 0 means that no file was touched.
    Raises Damaged when the index that is there cannot be trusted.
    """
    before = manifest(folder, name)
    old = before.entries if before is not None and before.model == model else {}
    changed = sorted(i for i, content in wanted.items() if i not in old or old[i][1] != content)
    removed = len((before.entries if before else {}).keys() - wanted.keys())
    if not changed and not removed:
        if before is not None:
            _verify(folder, before)
        _sweep(folder, name, before)
        return 0
    if not wanted:
        discard(folder, name)
        return removed
    # The same content may have got another id: the chunks of a document that was moved do.
    holder = {content: i for i, (_, content) in old.items()}
    kept = [i for i in wanted if wanted[i] in holder]
    asked = sorted(i for i in wanted if wanted[i] not in holder)
    parts = [_normalised(vectors(batch), len(batch)) for batch in batched(asked, _EMBED_AT_ONCE)]
    if kept:
        parts.insert(0, _kept_vectors(folder, name, [holder[wanted[i]] for i in kept]))
    if len({part.shape[1] for part in parts}) > 1:
        raise ValueError(f"{name}: the model {model} gives vectors of another dimension than before")
    ids = kept + asked
    order = sorted(range(len(ids)), key=ids.__getitem__)
    matrix = np.concatenate(parts)[order]
    ids = [ids[i] for i in order]
    _replace(folder, name, model, matrix, dict(zip(ids, zip(_numbers(ids), (wanted[i] for i in ids), strict=True), strict=True)))
    return len(changed) + removed


def search(folder: Path, name: str, vector: npt.ArrayLike, k: int) -> list[tuple[str, float]]:
    """The `k` entries nearest to `vector` (dimension,) with their cosine similarity, best first; none from an absent index.

    Raises Damaged when the index cannot be trusted.
    """
    loaded = _load(folder, name)
    if loaded is None:
        return []
    current, index = loaded
    query = _normalised(np.asarray(vector, np.float32).reshape(1, -1), 1)
    if query.shape[1] != current.dimension:
        raise Damaged(
            f"The index {name} in {folder} was made by {current.model} with {current.dimension} dimensions, the query has {query.shape[1]}. "
            "Run `polyonym ingest` again: it makes the index anew with the model of the settings."
        )
    scores, numbers = index.search(query, min(k, current.count))
    hits = [(current.ids[int(n)], float(s)) for n, s in zip(numbers[0], scores[0], strict=True) if n != -1]
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))


def holdings(folder: Path, name: str) -> dict[str, str]:
    """What index `name` holds, id to content hash, sorted by id; empty when there is none.

    The index file is read and compared with its manifest: Damaged is raised when they differ.
    """
    loaded = _load(folder, name)
    if loaded is None:
        return {}
    current, index = loaded
    if sorted(_numbers_of(index)) != sorted(number for number, _ in current.entries.values()):
        raise _damaged(folder / current.file, "holds other entries than its manifest names")
    return {i: content for i, (_, content) in current.entries.items()}


def discard(folder: Path, name: str) -> None:
    """Delete index `name`, damaged or not; the next `update` makes it anew."""
    if not folder.exists():
        return
    (folder / f"{name}.json").unlink(missing_ok=True)
    files.sync(folder)
    _sweep(folder, name, None)


def _kept_vectors(folder: Path, name: str, ids: Sequence[str]) -> Vectors:
    loaded = _load(folder, name)
    assert loaded is not None  # only one writer holds the home
    current, index = loaded
    return _vectors_of(index, [current.entries[i][0] for i in ids])


def _replace(folder: Path, name: str, model: str, matrix: Vectors, entries: dict[str, tuple[int, str]]) -> None:
    import faiss

    kind = "flat" if len(entries) < FLAT_BELOW else "inverted"
    index = _build(kind, matrix, [number for number, _ in entries.values()])
    data = faiss.serialize_index(index).tobytes()
    checksum = hashlib.sha256(data).hexdigest()
    new = Manifest(model, matrix.shape[1], kind, f"{name}-{checksum[:16]}.faiss", checksum, entries)
    folder.mkdir(parents=True, exist_ok=True)
    files.write(folder / new.file, data)
    files.write(folder / f"{name}.json", _manifest_bytes(new))
    _sweep(folder, name, new)


def _build(kind: str, matrix: Vectors, numbers: Sequence[int]) -> Any:
    import faiss

    count, dimension = matrix.shape
    flat = faiss.IndexFlatIP(dimension)
    keys = np.asarray(numbers, np.int64)
    if kind == "flat":
        index = faiss.IndexIDMap2(flat)
        index.add_with_ids(matrix, keys)
        return index
    lists = min(count, round(2 * count**0.5))
    inverted = faiss.IndexIVFFlat(flat, dimension, lists, faiss.METRIC_INNER_PRODUCT)
    inverted.cp.seed = _SEED
    inverted.cp.niter = _TRAINING_ROUNDS
    inverted.cp.spherical = True
    inverted.cp.min_points_per_centroid = 1  # says nothing about small training sets on standard error
    inverted.cp.max_points_per_centroid = _POINTS_PER_LIST
    inverted.train(matrix)
    inverted.add_with_ids(matrix, keys)
    inverted.nprobe = max(1, round(lists * _PROBED))
    return inverted


def _numbers(ids: Sequence[str]) -> list[int]:
    """A number of 63 bits for each id, from the id alone; should two ids meet, the later one takes the next free number."""
    numbers: list[int] = []
    taken: set[int] = set()
    for i in ids:
        number = int.from_bytes(hashlib.sha256(i.encode("utf-8", "surrogatepass")).digest()[:8], "big") >> 1
        while number in taken:
            number = (number + 1) % 2**63
        taken.add(number)
        numbers.append(number)
    return numbers


def _normalised(vectors: npt.ArrayLike, count: int) -> Vectors:
    matrix = np.array(vectors, np.float32)
    if matrix.ndim != 2 or len(matrix) != count or not np.isfinite(matrix).all():
        raise ValueError(f"expected {count} rows of finite vectors, got an array of shape {matrix.shape}")
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix /= np.where(norms > 0, norms, 1)  # an empty text may have the zero vector; it is near to nothing
    return matrix


def _numbers_of(index: Any) -> list[int]:
    import faiss

    if isinstance(index, faiss.IndexIDMap2):
        return cast(list[int], faiss.vector_to_array(index.id_map).tolist())
    return [int(n) for part in _lists(index) for n in part[0]]


def _vectors_of(index: Any, numbers: Sequence[int]) -> Vectors:
    """The stored vectors of `numbers`, in their order."""
    import faiss

    if isinstance(index, faiss.IndexIDMap2):
        inside, matrix = faiss.vector_to_array(index.id_map), index.index.reconstruct_n(0, index.ntotal)
    else:
        parts = _lists(index)
        inside = np.concatenate([part[0] for part in parts])
        matrix = np.concatenate([part[1] for part in parts])
    row = {int(n): r for r, n in enumerate(inside)}
    return cast(Vectors, matrix[[row[n] for n in numbers]])


def _lists(index: Any) -> list[tuple[npt.NDArray[np.int64], Vectors]]:
    """Numbers and vectors of every list of an inverted file."""
    from faiss.contrib.inspect_tools import get_invlist

    lists = (get_invlist(index.invlists, i) for i in range(index.nlist))
    return [(numbers.copy(), codes.copy().view(np.float32).reshape(len(numbers), -1)) for numbers, codes in lists if len(numbers)]


def _load(folder: Path, name: str) -> tuple[Manifest, Any] | None:
    """The manifest and its index, both of one moment: a writer may replace and delete what the manifest just named."""
    current = manifest(folder, name)
    while current is not None:
        path = folder / current.file
        try:
            return current, _parsed(path, current.checksum, _stamp(path))
        except FileNotFoundError as error:
            again = manifest(folder, name)
            if again == current:
                raise _damaged(path, "is missing") from error
            current = again
    return None


def _stamp(path: Path) -> Stamp:
    """What tells a file from the one that was read before, so that one that was touched is read and checked again."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


@lru_cache(maxsize=3)
def _parsed(path: Path, checksum: str, _stamp: Stamp) -> Any:
    import faiss

    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != checksum:
        raise _damaged(path, "differs from its checksum")
    try:
        return faiss.deserialize_index(np.frombuffer(data, np.uint8))
    except RuntimeError as error:
        raise _damaged(path, "cannot be read by FAISS") from error


def _verify(folder: Path, current: Manifest) -> None:
    path = folder / current.file
    if not path.exists():
        raise _damaged(path, "is missing")
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != current.checksum:
            raise _damaged(path, "differs from its checksum")


def manifest(folder: Path, name: str) -> Manifest | None:
    """The manifest of index `name`, or None when there is none. Raises Damaged when it cannot be read."""
    path = folder / f"{name}.json"
    try:
        return _manifest_at(path, _stamp(path))
    except FileNotFoundError:
        return None


@lru_cache(maxsize=6)
def _manifest_at(path: Path, _stamp: Stamp) -> Manifest:
    data = path.read_bytes()
    body = b"{" + data[_BODY_AT:]
    if data[:_BODY_AT] != _seal(body):
        raise _damaged(path, "differs from its checksum")
    parsed = orjson.loads(body)
    if parsed["format"] > FORMAT:
        raise Damaged(f"The index {path} was written by a newer version. Install the newer polyonym.")
    fields = {key: parsed[key] for key in ("model", "dimension", "kind", "file", "checksum")}
    return Manifest(**fields, entries={i: (number, content) for i, (number, content) in parsed["entries"].items()})


def _manifest_bytes(current: Manifest) -> bytes:
    fields = {key: getattr(current, key) for key in ("model", "dimension", "count", "kind", "file", "checksum", "entries")}
    body = orjson.dumps({"format": FORMAT, **fields})
    return _seal(body) + body[1:]


def _seal(body: bytes) -> bytes:
    """The beginning of a manifest: its first key, a checksum of all that follows."""
    return b'{"manifest_checksum":"%s",' % hashlib.sha256(body).hexdigest().encode()


_BODY_AT = len(_seal(b""))


def _sweep(folder: Path, name: str, current: Manifest | None) -> None:
    """Delete what a writer that died left beside the index, and the index file that was just replaced."""
    for path in [*folder.glob(f"{name}-*.faiss*"), *folder.glob(f"{name}.json.part")]:
        if current is None or path.name != current.file:
            path.unlink(missing_ok=True)


def _damaged(path: Path, what: str) -> Damaged:
    return Damaged(f"The vector index {path} {what}. Run `polyonym check --repair`: it is made again from the state.")
