"""`PromptCache`: keeps the keys and values of texts that a model has read, in memory and in files."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.checks import as_int
from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.files.safetensors import Tensor, Tensors, read_safetensors, write_safetensors
from tokkit.nn.arrays import ids_of
from tokkit.nn.decoder_cache import DTYPES, CacheLayer, DecoderCache, as_floats, sees_all
from tokkit.nn.embedding import looked_up
from tokkit.pipeline import generation

if TYPE_CHECKING:
    from tokkit.pipeline.text_generator import TextGenerator

MAX_BYTES = 1 << 30
"""The default maximum memory of a prompt cache in bytes."""
WASTE = 1.25
"""A cache whose capacity exceeds its length by this factor is copied before it is kept."""
FORMAT, VERSION = "tokkit prompt cache", "1"
SAMPLED_ROWS = 64
"""Rows of the table of tokens that are part of a fingerprint."""
CHECKED_TOKENS = 8
"""Number of tokens of a file that are computed again, to check whether their keys match the model."""
TOLERANCE = 0.05
"""The maximum relative difference of these keys: int8 differs by about 0.01, another model by 1."""
PARTS = ("keys", "values", "key_scales", "value_scales")


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    """A text that was read, and its keys and values in each layer, from `first` on. Arrays may be memory-mapped."""

    ids: NDArray[np.int64]
    layers: tuple[CacheLayer, ...]
    first: tuple[int, ...]
    nbytes: int

    def until(self, length: int) -> Iterator[CacheLayer]:
        for layer, first in zip(self.layers, self.first, strict=True):
            n = max(length - first, 0)
            yield CacheLayer(*(None if array is None else array[:, :n] for array in layer))  # type: ignore[arg-type]


class PromptCache:
    """Keys and values of texts that a model has read; a text that begins like one of them is read from there on.

    Pass it as `held_caches` to the methods of `model`. They take the longest known beginning of a prompt from it, and
    give it the cache of each text that ends, so that of a conversation only the new turn is read. Up to `max_bytes` are
    kept; the texts that were not used for the longest time are dropped. A text with which another one begins is stored
    as part of it. Threads may share it.

    >>> cache = PromptCache(model)  # doctest: +SKIP
    >>> model.generate("the cat", held_caches=cache)  # doctest: +SKIP
    """

    def __init__(self, model: TextGenerator, *, max_bytes: int = MAX_BYTES) -> None:
        if model.decoder.config.layers.cross:
            raise OptionError("an encoder–decoder has no prompt cache, because its output depends on another text")
        self.max_bytes = as_int("max_bytes", max_bytes, minimum=0)
        self._model = model
        self._entries: list[_Entry] = []  # the most recently used at the end
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        tokens = sum(len(entry.ids) for entry in self._entries)
        return f"<PromptCache: {len(self)} texts, {tokens} tokens, {self.nbytes} bytes>"

    @property
    def nbytes(self) -> int:
        """The bytes of keys and values, in memory or mapped."""
        return sum(entry.nbytes for entry in self._entries)

    def clear(self) -> None:
        """Forget all texts."""
        with self._lock:
            self._entries.clear()

    def read(self, prompt: str | ArrayLike, *, threads: int | None = None) -> None:
        """Read a text, such as the common beginning of many prompts, and keep it."""
        ids = self._model.ids(prompt) if isinstance(prompt, str) else ids_of(prompt)
        if ids.ndim != 1 or not 0 < len(ids) <= self._model.max_length:
            raise OptionError(f"ids has shape {ids.shape}; it must be one row of 1 to {self._model.max_length} ids")
        cache = self.take(ids, len(ids)) or self._model.decoder.cache(capacity=len(ids))
        with generation.threads(threads):
            self._model.decoder([ids[cache.length :]], [cache])
        self.keep(ids.tolist(), cache)

    def take(self, ids: NDArray[np.int64], capacity: int) -> DecoderCache | None:
        """Return a cache that has read the first of the ids, never all, with room for `capacity` tokens; or None.

        It is a copy: the caller may change it.
        """
        windows = self._model.decoder.config.windows
        with self._lock:
            best, length = None, 0
            for entry in self._entries:
                n = min(_common(entry.ids, ids), len(ids) - 1)
                if n > length and sees_all(windows, entry.first, n):
                    best, length = entry, n
            if best is None:
                return None
            self._entries.remove(best)
            self._entries.append(best)
        made = self._model.decoder.cache(capacity=max(capacity, length))
        made.load(best.until(length), best.first, length)
        return made

    def keep(self, ids: Sequence[int], cache: DecoderCache) -> None:
        """Keep the cache of a text, which has read `ids`; the caller must not use it afterwards."""
        read = np.array(ids, dtype=np.int64)
        if len(read) != cache.length:
            raise OptionError(f"the cache has {cache.length} tokens, not the {len(read)} that were given")
        if not len(read):
            return
        if sum(part.nbytes for layer in cache.held() for part in layer if part is not None) * WASTE < cache.nbytes:
            cache = cache.copy()
        self._add(_Entry(read, tuple(cache.held()), tuple(cache.first), cache.nbytes))

    def _add(self, made: _Entry) -> None:
        with self._lock:
            if any(self._covers(entry, made) for entry in self._entries):
                return
            self._entries = [entry for entry in self._entries if not self._covers(made, entry)]
            self._entries.append(made)
            while self._entries and self.nbytes > self.max_bytes:
                del self._entries[0]

    def _covers(self, one: _Entry, other: _Entry) -> bool:
        n = len(other.ids)
        windows = self._model.decoder.config.windows
        return _common(one.ids, other.ids) == n and sees_all(windows, one.first, n)

    # ---- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all texts to a .safetensors file, which is replaced as a whole."""
        with self._lock:
            entries = list(self._entries)
        tensors: dict[str, NDArray[Any] | Tensor] = {}
        for number, entry in enumerate(entries):
            tensors[f"{number}.ids"] = entry.ids
            tensors[f"{number}.first"] = np.array(entry.first, dtype=np.int64)
            for i, layer in enumerate(entry.layers):
                for part, array in zip(PARTS, layer, strict=True):
                    if array is not None:
                        bits = array.dtype == np.uint16
                        tensors[f"{number}.{i}.{part}"] = Tensor("BF16", array.shape, array) if bits else array
        model = self._model
        metadata = {
            "format": FORMAT, "version": VERSION, "model": model.folder.name, "fingerprint": fingerprint(model),
            "dtype": model.decoder.cache_dtype, "texts": str(len(entries)),
        }  # fmt: skip
        write_safetensors(path, tensors, metadata)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], model: TextGenerator, *, max_bytes: int = MAX_BYTES
    ) -> PromptCache:  # fmt: skip
        """Return the texts of a file that `save` wrote for the same model. The file is mapped, not read.

        FormatError names the file, and says whether it is damaged or belongs to another model or type of cache.
        """
        made = cls(model, max_bytes=max_bytes)
        tensors = read_safetensors(path)
        with files.naming(path):
            _check_model(tensors.metadata, model)
            for number in range(_texts(tensors.metadata)):
                entry = _entry(tensors, number, model)
                _check_keys(entry, model)
                made._add(entry)
        return made


def _common(a: NDArray[np.int64], b: NDArray[np.int64]) -> int:
    """Return the number of ids with which both texts begin."""
    n = min(len(a), len(b))
    differ = a[:n] != b[:n]
    return int(differ.argmax()) if differ.any() else n


def fingerprint(model: TextGenerator) -> str:
    """Return what identifies a model: its configuration, names and shapes of weights, and some rows of its table."""
    config, words = model.decoder.config, model.decoder.words
    some = np.linspace(0, words.shape[0] - 1, min(SAMPLED_ROWS, words.shape[0])).astype(np.int64)
    known = hashlib.sha256(repr((config, sorted(config.shapes().items()))).encode())
    known.update(looked_up(words, some).tobytes())
    return known.hexdigest()


def _check_model(metadata: dict[str, str], model: TextGenerator) -> None:
    if metadata.get("format") != FORMAT:
        raise FormatError("this .safetensors file is not a prompt cache; PromptCache.save writes them")
    if metadata.get("version") != VERSION:
        raise FormatError(
            f"the version of the prompt cache is {metadata.get('version')!r}; this tokkit reads {VERSION!r}"
        )
    if metadata.get("fingerprint") != fingerprint(model):
        raise FormatError(
            f"the keys are of the model {metadata.get('model')!r}, not of {model.folder.name!r} as it is loaded: its "
            "configuration, precision or weights differ"
        )
    if metadata.get("dtype") != model.decoder.cache_dtype:
        raise FormatError(
            f"the keys and values have dtype {metadata.get('dtype')!r}; the model was loaded with "
            f"cache={model.decoder.cache_dtype!r}"
        )


def _texts(metadata: dict[str, str]) -> int:
    try:
        return int(metadata.get("texts", ""))
    except ValueError:
        raise FormatError(f"{metadata.get('texts')!r} texts; it must be a number") from None


def _entry(tensors: Tensors, number: int, model: TextGenerator) -> _Entry:
    config, dtype = model.decoder.config, model.decoder.cache_dtype
    c = config.layers
    ids = _tensor(tensors, f"{number}.ids", np.int64, (None,))
    first = _tensor(tensors, f"{number}.first", np.int64, (c.n_layers,))
    n = len(ids)
    if not n > 0 or ids.min() < 0 or ids.max() >= config.vocab_size:
        raise FormatError(
            f"{number}.ids: there are no ids, or some are outside the table of {config.vocab_size} tokens"
        )
    layers, size = [], 0
    for i in range(c.n_layers):
        if not 0 <= first[i] < n or (first[i] and config.window(i) is None):
            raise FormatError(f"{number}.first: layer {i} begins at {first[i]} of {n} tokens")
        held = n - int(first[i])
        parts: list[Any] = [None] * 4
        for at, part in enumerate(PARTS if dtype == "int8" else PARTS[:2]):
            shape, kind = ((c.kv_heads, held, c.head_size), DTYPES[dtype]) if at < 2 else ((c.kv_heads, held), "f4")
            parts[at] = _tensor(tensors, f"{number}.{i}.{part}", kind, shape)
            size += parts[at].nbytes
        layers.append(CacheLayer(*parts))
    return _Entry(ids, tuple(layers), tuple(first.tolist()), size)


def _tensor(tensors: Tensors, name: str, dtype: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
    tensor = tensors.get(name)
    if tensor is None:
        raise FormatError(f"the tensor {name!r} is missing")
    fits = len(tensor.shape) == len(shape) and all(b in (None, a) for a, b in zip(tensor.shape, shape, strict=True))
    if tensor.data.dtype != np.dtype(dtype) or not fits:
        raise FormatError(
            f"the tensor {name!r} has type {tensor.dtype} and shape {tensor.shape}; its shape must be {shape}"
        )
    return tensor.data


def _check_keys(entry: _Entry, model: TextGenerator) -> None:
    """Compute the first tokens again, because weights outside the fingerprint may differ."""
    n = min(CHECKED_TOKENS, len(entry.ids))
    cache = model.decoder.cache(capacity=n)
    model.decoder([entry.ids[:n]], [cache])
    for i, (first, layer) in enumerate(zip(entry.first, entry.until(n), strict=True)):
        if first:
            continue
        found = as_floats(layer.keys, layer.key_scales)
        expected = cache.keys(i)
        if not np.linalg.norm(found - expected) <= TOLERANCE * np.linalg.norm(expected):
            raise FormatError(f"the keys of layer {i} do not match the model {model.folder.name!r}")
