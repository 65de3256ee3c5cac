"""`StaticEncoder`: sentences → vectors, each the mean of the static vectors of its tokens."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit import nn
from tokkit._core.nn.rows import bags
from tokkit.errors import OptionError, ShapeError
from tokkit.pipeline import static_format
from tokkit.pipeline.texts import chosen_prompt, kept_columns, listed, similarities, with_prompt
from tokkit.threads import thread_count

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.embeddings import KeyedVectors
    from tokkit.engine.special_tokens import Special
    from tokkit.tokenizer import Tokenizer

Floats = NDArray[np.float32]
BATCH_TEXTS = 4096
"""Number of texts that are tokenized at once: a few MB of ids, and enough work for several threads."""
NO_LIMIT = (1 << 31) - 1
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticOptions:
    """How a model of static vectors reads texts, and its metadata.

    `normalize`: vectors are scaled to length 1. `max_length` and `max_characters`: the tokens and characters read of a
    text; None for all. `drops_unknown`: the unknown token is ignored, as in model2vec. `prompts`, `default_prompt`,
    `similarity`: as in sentence-transformers. `about`: further entries of config.json.
    """

    normalize: bool = True
    max_length: int | None = None
    max_characters: int | None = None
    drops_unknown: bool = True
    prompts: Mapping[str, str] = field(default_factory=dict)
    default_prompt: str | None = None
    similarity: str = "cosine"
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        limit = self.max_length
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise OptionError(f"max_length is {limit!r}; it must be a number of tokens, or None for no limit")


class StaticEncoder:
    """A table with a vector for each token; a text's vector is the mean of its tokens' rows.

    `tokkit.pipeline.distill` creates it from an encoder, `tokkit.pipeline.load` from a folder. Immutable; calls from
    several threads are safe. `vectors` (rows, dimension); `row_of`: the row of each id, uint32, the id itself if None;
    `weights`: the factor of the row of each id. A pickle of a loaded model contains the path of its folder, not the
    vectors.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        vectors: Floats,
        *,
        row_of: NDArray[np.uint32] | None = None,
        weights: Floats | None = None,
        options: StaticOptions | None = None,
        folder: Path | None = None,
        reload: Callable[[], StaticEncoder] | None = None,
    ) -> None:
        self.tokenizer, self.options, self.folder = tokenizer, options or StaticOptions(), folder
        self.vectors, self.row_of, self.weights = vectors, row_of, weights
        n, needed = len(vectors) if row_of is None else len(row_of), tokenizer.n_ids
        if vectors.ndim != 2 or vectors.dtype != np.float32 or n < needed:
            shown = f"{vectors.dtype} of shape {vectors.shape}"
            raise ShapeError(f"the vectors are {shown} for {n} ids; they must be float32 (n, d) for {needed} ids")
        if row_of is not None and n and int(row_of.max()) >= len(vectors):
            raise ShapeError(f"row_of contains row {row_of.max()}, but the vectors have shape {vectors.shape}")
        if weights is not None and (weights.shape != (n,) or weights.dtype != np.float32):
            raise ShapeError(f"weights are {weights.dtype} of shape {weights.shape}; they must be float32 ({n},)")
        self._ignored = unknown_id(tokenizer) if self.options.drops_unknown else None
        self._reload, self._told = reload, False

    def __repr__(self) -> str:
        name = f" {self.folder.name}" if self.folder is not None else ""
        limit = "any number of" if self.options.max_length is None else f"at most {self.options.max_length}"
        return f"<StaticEncoder{name}: {len(self.vectors)} vectors, {self.dimension} dimensions, {limit} tokens>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._reload is not None:
            return self._reload, ()
        return _of_parts, (self.tokenizer, self.vectors, self.row_of, self.weights, self.options)

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        return int(self.vectors.shape[1])

    @property
    def max_length(self) -> int:
        """The maximum number of tokens read of a text; 2^31 - 1 if there is no limit."""
        return NO_LIMIT if self.options.max_length is None else self.options.max_length

    @property
    def prompts(self) -> dict[str, str]:
        """The prompts that the model was trained with: name → text put before each text."""
        return dict(self.options.prompts)

    def fingerprint(self) -> str:
        """Return a hexadecimal sha256 of the vectors, the options that change them, and the tokenizer's fingerprint."""
        return self._fingerprint

    @functools.cached_property
    def _fingerprint(self) -> str:
        made, own = hashlib.sha256(self.tokenizer.fingerprint().encode()), self.options
        said = (self.vectors.shape, own.normalize, own.max_length, own.max_characters, self._ignored)
        made.update(repr(said).encode())
        for name in ("vectors", "row_of", "weights"):
            if (array := getattr(self, name)) is not None:
                made.update(name.encode() + np.ascontiguousarray(array).data)
        return made.hexdigest()

    def encode(
        self,
        sentences: Text | Sequence[Text],
        *,
        normalize: bool = True,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
        truncate_dim: int | None = None,
        special: Special = "all",
    ) -> Floats:
        """Return the vectors (n, dimension) of n texts, float32, in the order given; of one text, (dimension,).

        The options are those of `SentenceEncoder.encode`. Only the first `max_length` tokens of a text are read; a
        warning is logged for the first truncated text. A text without known tokens gives zeros.
        """
        kept = kept_columns(truncate_dim, self.dimension)
        texts, is_one = listed(sentences)
        front = chosen_prompt(prompt, prompt_name, self.options.prompts, self.options.default_prompt)
        n_threads = nn.current_threads() if threads is None else thread_count(threads)
        # A model that normalizes does so before truncation.
        whole = self.options.normalize and not normalize
        made = np.empty((len(texts), self.dimension if whole else kept), dtype=np.float32)
        for first in range(0, len(texts), BATCH_TEXTS):
            some = self._shortened(with_prompt(texts[first : first + BATCH_TEXTS], front))
            ids, starts = self.tokenizer.encode_batch(some, special=special, threads=n_threads)
            if (longest := int(np.diff(starts).max())) > self.max_length:
                self._tell(f"a text has {longest} tokens")
            bags(
                self.vectors[:, : made.shape[1]], ids, starts, made[first : first + len(some)], row_of=self.row_of,
                weights=self.weights, ignored=self._ignored, max_ids=self.options.max_length,
                normalize=normalize or whole, threads=n_threads,
            )  # fmt: skip
            if progress is not None:
                progress(first + len(some), len(texts))
        made = made[:, :kept]
        return made[0] if is_one else made

    def similarity(self, a: ArrayLike, b: ArrayLike) -> Floats:
        """Return (n, m) similarities of vectors a (n, d) and b (m, d), by the measure in the model's folder.

        The default is the cosine; others are dot, and the negated distances euclidean and manhattan.
        """
        return similarities(a, b, self.options.similarity)

    def token_vectors(self) -> KeyedVectors:
        """Return the vectors of single tokens by their text, for neighbours and analogies.

        Keys are tokens as written in the vocabulary ("##ing"). Tokens with only zeros, or not in UTF-8, are left out.
        """
        from tokkit.embeddings import KeyedVectors

        tokens, numbers = zip(*self.tokenizer.vocab.items(), strict=True)
        ids = np.array(numbers)
        rows = self.vectors[ids if self.row_of is None else self.row_of[ids]]
        if self.weights is not None:
            rows = rows * self.weights[ids, None]
        texts = [token.decode("utf-8", "replace") for token in tokens]
        known = [i for i in np.flatnonzero(rows.any(1)).tolist() if texts[i].encode() == tokens[i]]
        return KeyedVectors.of([texts[i] for i in known], rows[known])

    def save(self, folder: str | os.PathLike[str], *, dtype: str = "float32", overwrite: bool = True) -> list[Path]:
        """Write a folder that `tokkit.pipeline.load`, model2vec and sentence-transformers load; return its files.

        `dtype` "float16" halves the file, and rounds vectors to 3 digits. FileExistsError if files exist and
        `overwrite` is False; FormatError for a tokenizer that tokenizer.json cannot represent.
        """
        return static_format.write(self, Path(folder), dtype=dtype, overwrite=overwrite)

    def _shortened(self, texts: list[Text]) -> list[Text]:
        limit = self.options.max_characters
        if limit is None or all(len(text) <= limit for text in texts):
            return texts
        made: list[Text] = []
        for text in texts:
            if len(text) > limit and not isinstance(text, str):
                text = bytes(text).decode("utf-8", "replace")
            if len(text) > limit:
                self._tell(f"a text has {len(text)} characters, more than {self.max_length} tokens are likely to have")
            made.append(text[:limit])
        return made

    def _tell(self, what: str) -> None:
        if not self._told:
            self._told = True
            LOG.warning(
                "%s; the model reads only the first %d tokens of a text (this warning is shown once)",
                what, self.max_length,
            )  # fmt: skip


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """Return the id of the unknown token of a tokenizer; None if there is none."""
    model: Any = tokenizer.definition.model
    id_ = getattr(model, "unk_id", None)
    if id_ is None and (token := getattr(model, "unk_token", None)) is not None:
        id_ = tokenizer.vocab.get(token.encode())
    return None if id_ is None else int(id_)


def _of_parts(
    tokenizer: Tokenizer, vectors: Floats, row_of: Any, weights: Any, options: StaticOptions
) -> StaticEncoder:
    return StaticEncoder(tokenizer, vectors, row_of=row_of, weights=weights, options=options)
