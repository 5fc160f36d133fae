"""The vector indexes: what they hold, what they find, and what a dying writer leaves."""

import hashlib
import os
import shutil
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polyonym.graph import vectors
from polyonym.ingest.errors import Damaged

DIMENSION = 8
MODEL = "test-model"


def vector(content: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(content.encode()).digest()[:4], "big")
    return np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)


def encoder(wanted: dict[str, str], asked: list[str] | None = None) -> Callable[[list[str]], np.ndarray]:
    def encode(ids: list[str]) -> np.ndarray:
        if asked is not None:
            asked.extend(ids)
        return np.stack([vector(wanted[i]) for i in ids])

    return encode


def put(folder: Path, wanted: dict[str, str], model: str = MODEL) -> int:
    return vectors.update(folder, "chunks", wanted, encoder(wanted), model)


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def best(folder: Path, wanted: dict[str, str], content: str, k: int) -> list[str]:
    """What an exhaustive comparison finds."""
    query = vector(content) / np.linalg.norm(vector(content))
    scores = {i: float(vector(c) @ query / np.linalg.norm(vector(c))) for i, c in wanted.items()}
    return sorted(scores, key=lambda i: (-round(scores[i], 5), i))[:k]


def test_finds_what_an_exhaustive_comparison_finds(tmp_path: Path) -> None:
    wanted = {f"c{i}": f"text {i}" for i in range(100)}
    put(tmp_path, wanted)
    for i in range(10):
        hits = vectors.search(tmp_path, "chunks", vector(f"query {i}"), 5)
        assert [h[0] for h in hits] == best(tmp_path, wanted, f"query {i}", 5)
    (found, score), *_ = vectors.search(tmp_path, "chunks", 17 * vector("text 12"), 3)
    assert found == "c12" and score == pytest.approx(1, abs=1e-5)


def test_more_hits_than_entries_and_absent_index(tmp_path: Path) -> None:
    assert vectors.search(tmp_path / "none", "chunks", vector("x"), 5) == []
    assert vectors.holdings(tmp_path / "none", "chunks") == {}
    put(tmp_path, {"a": "1", "b": "2"})
    assert len(vectors.search(tmp_path, "chunks", vector("x"), 50)) == 2


def test_only_the_difference_is_embedded(tmp_path: Path) -> None:
    first = {f"c{i}": f"text {i}" for i in range(50)}
    assert put(tmp_path, first) == 50
    second = {**first, "c3": "edited", "new": "text"}
    del second["c7"]
    asked: list[str] = []
    assert vectors.update(tmp_path, "chunks", second, encoder(second, asked), MODEL) == 3
    assert asked == ["c3", "new"]
    assert vectors.holdings(tmp_path, "chunks") == dict(sorted(second.items()))


def test_nothing_changed_touches_no_file(tmp_path: Path) -> None:
    wanted = {f"c{i}": f"text {i}" for i in range(50)}
    put(tmp_path, wanted)
    before = {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    assert put(tmp_path, wanted) == 0
    assert {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()} == before


def test_another_model_embeds_everything_anew(tmp_path: Path) -> None:
    wanted = {"a": "1", "b": "2"}
    put(tmp_path, wanted)
    wider = np.eye(2, 16, dtype=np.float32)
    assert vectors.update(tmp_path, "chunks", wanted, lambda ids: wider, "wider-model") == 2
    held = vectors.manifest(tmp_path, "chunks")
    assert held is not None and (held.model, held.dimension, held.count) == ("wider-model", 16, 2)


def test_removing_everything_equals_never_having_had_it(tmp_path: Path) -> None:
    put(tmp_path, {"a": "1"})
    assert put(tmp_path, {}) == 1
    assert files(tmp_path) == {}
    assert put(tmp_path, {}) == 0


def test_vectors_of_the_wrong_shape_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected 2 rows"):
        vectors.update(tmp_path, "chunks", {"a": "1", "b": "2"}, lambda ids: np.ones((1, 4), np.float32), MODEL)
    with pytest.raises(ValueError, match="finite"):
        vectors.update(tmp_path, "chunks", {"a": "1"}, lambda ids: np.full((1, 4), np.nan, np.float32), MODEL)


contents = st.dictionaries(st.sampled_from([f"id {i}" for i in range(12)]), st.sampled_from(["x", "y", "z", "ä"]), max_size=12)


@pytest.mark.parametrize("flat_below", [1000, 4])
def test_any_series_of_updates_ends_in_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flat_below: int) -> None:
    monkeypatch.setattr(vectors, "FLAT_BELOW", flat_below)

    @settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(contents, min_size=1, max_size=5))
    def check(series: list[dict[str, str]]) -> None:
        shutil.rmtree(tmp_path / "series", ignore_errors=True)
        shutil.rmtree(tmp_path / "once", ignore_errors=True)
        for name in ("series", "once"):
            (tmp_path / name).mkdir()
        for wanted in series:
            put(tmp_path / "series", wanted)
        put(tmp_path / "once", series[-1])
        assert files(tmp_path / "series") == files(tmp_path / "once")
        assert vectors.holdings(tmp_path / "series", "chunks") == series[-1]

    check()


def test_a_large_index_is_an_inverted_file_that_finds_and_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "FLAT_BELOW", 500)
    wanted = {f"c{i}": f"text {i}" for i in range(1200)}
    put(tmp_path, wanted)
    held = vectors.manifest(tmp_path, "chunks")
    assert held is not None and held.kind == "inverted"
    for i in range(0, 1200, 50):  # a vector lies in the list that its own search probes first
        assert vectors.search(tmp_path, "chunks", vector(f"text {i}"), 1)[0][0] == f"c{i}"
    rest = {i: c for i, c in wanted.items() if i != "c100"}
    assert put(tmp_path, rest) == 1
    assert "c100" not in [i for i, _ in vectors.search(tmp_path, "chunks", vector("text 100"), 1199)]
    assert "c100" not in vectors.holdings(tmp_path, "chunks")


class Killed(BaseException):
    """Stands for the kill: no `except Exception` may catch it."""


@pytest.mark.parametrize("step", range(14))
@pytest.mark.parametrize("change", ["grow", "empty"])
def test_a_kill_at_any_step_leaves_the_old_or_the_new_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, change: str
) -> None:
    old = {f"c{i}": f"text {i}" for i in range(20)}
    new = {} if change == "empty" else {**old, "c3": "edited", "c99": "new"}
    put(tmp_path, old)
    steps = iter(range(1000))

    def dying(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            if next(steps) == step:
                raise Killed
            return real(*args, **kwargs)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", dying(os.replace))
        patched.setattr(os, "fsync", dying(os.fsync))
        patched.setattr(Path, "unlink", dying(Path.unlink))
        patched.setattr(Path, "open", dying(Path.open))
        with suppress(Killed):
            put(tmp_path, new)
    assert vectors.holdings(tmp_path, "chunks") in (dict(sorted(old.items())), dict(sorted(new.items())))
    put(tmp_path, new)
    (tmp_path / "fresh").mkdir()
    put(tmp_path / "fresh", new)
    fresh = files(tmp_path / "fresh")
    shutil.rmtree(tmp_path / "fresh")
    assert files(tmp_path) == fresh


@pytest.mark.parametrize("what", ["index", "manifest", "index cut", "manifest cut", "index gone"])
def test_damage_is_found_and_named(tmp_path: Path, what: str) -> None:
    wanted = {f"c{i}": f"text {i}" for i in range(20)}
    put(tmp_path, wanted)
    path = next(tmp_path.glob("*.json" if what.startswith("manifest") else "*.faiss"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    if what.endswith("gone"):
        path.unlink()
    else:
        path.write_bytes(data[: len(data) // 2] if what.endswith("cut") else data)
    for use in (
        lambda: vectors.search(tmp_path, "chunks", vector("x"), 1),
        lambda: vectors.holdings(tmp_path, "chunks"),
        lambda: put(tmp_path, wanted),
        lambda: put(tmp_path, {**wanted, "new": "text"}),
    ):
        with pytest.raises(Damaged, match="check --repair"):
            use()
    vectors.discard(tmp_path, "chunks")
    assert put(tmp_path, wanted) == 20
    assert vectors.holdings(tmp_path, "chunks") == dict(sorted(wanted.items()))


def test_a_manifest_of_a_newer_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(vectors, "FORMAT", vectors.FORMAT + 1)
        put(tmp_path, {"a": "1"})
    with pytest.raises(Damaged, match="newer version"):
        vectors.holdings(tmp_path, "chunks")


def test_a_reader_beside_a_writer_always_sees_a_whole_index(tmp_path: Path) -> None:
    small = {f"c{i}": f"text {i}" for i in range(20)}
    large = {**small, "extra": "text"}
    put(tmp_path, small)
    enough = threading.Event()

    def write() -> None:
        while not enough.is_set():
            put(tmp_path, large)
            put(tmp_path, small)

    writer = threading.Thread(target=write)
    writer.start()
    seen = Counter[int]()
    try:
        while len(seen) < 2 or min(seen.values()) < 20:
            seen[len(vectors.search(tmp_path, "chunks", vector("text"), 50))] += 1
            assert vectors.holdings(tmp_path, "chunks") in (dict(sorted(small.items())), dict(sorted(large.items())))
            assert seen.total() < 10_000, seen
    finally:
        enough.set()
        writer.join()
    assert seen.keys() == {20, 21}
