"""Helpers of sentence encoders: checks of texts and options, prompts, similarities, normalization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.checks import TEXT, ordered
from tokkit.errors import OptionError, ShapeError

if TYPE_CHECKING:
    from tokkit._core.text import Text

Floats = NDArray[np.float32]


def listed(sentences: Text | Sequence[Text]) -> tuple[list[Text], bool]:
    """Return the texts as a list, and whether a single text was given; TypeError for values that are not text."""
    is_one = isinstance(sentences, TEXT)
    texts = [cast("Text", sentences)] if is_one else list(ordered(sentences))
    for i, text in enumerate(texts):
        if not isinstance(text, TEXT):
            raise TypeError(f"text {i} is {type(text).__name__}; it must be str or bytes")
    return texts, is_one


def kept_columns(truncate_dim: int | None, dimension: int) -> int:
    """Return how many columns of a vector to keep; OptionError for values outside 1 to `dimension`."""
    if truncate_dim is None:
        return dimension
    if isinstance(truncate_dim, bool) or not isinstance(truncate_dim, int):
        raise OptionError(f"truncate_dim is {truncate_dim!r}; it must be a number of columns")
    if not 1 <= truncate_dim <= dimension:
        raise OptionError(f"truncate_dim is {truncate_dim}; the model's vectors have 1 to {dimension} columns")
    return truncate_dim


def chosen_prompt(prompt: str | None, name: str | None, prompts: Mapping[str, str], default: str | None) -> str:
    """Return the given prompt, else the one with the given name, else the default one; "" for none."""
    for given, what in ((prompt, "prompt"), (name, "prompt_name")):
        if given is not None and not isinstance(given, str):
            raise TypeError(f"{what} is {type(given).__name__}; it must be str")
    if prompt is not None:
        return prompt
    name = default if name is None else name
    if name is None:
        return ""
    if name not in prompts:
        known = ", ".join(map(repr, prompts)) or "none"
        raise OptionError(f"the model has no prompt {name!r}; it has {known}")
    return prompts[name]


def with_prompt(texts: list[Text], prompt: str) -> list[Text]:
    """Return the texts after a prompt."""
    if not prompt:
        return texts
    front = prompt.encode("utf-8", "replace")
    return [prompt + text if isinstance(text, str) else front + bytes(text) for text in texts]


def normalise(vectors: Floats) -> None:
    """Scale vectors to length 1 in place; zero vectors stay."""
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))


def similarities(a: ArrayLike, b: ArrayLike, measure: str = "cosine") -> Floats:
    """Return (n, m) similarities of vectors a (n, d) and b (m, d): "cosine", "dot", or a negated distance.

    >>> similarities([[1, 0]], [[2, 0], [0, 1]]).tolist(), similarities([[1, 0]], [[4, 4]], "euclidean").tolist()
    ([[1.0, 0.0]], [[-5.0]])
    """
    x, y = (np.atleast_2d(np.asarray(v, dtype=np.float32)) for v in (a, b))
    # An empty list means no vectors, not one vector without columns.
    x, y = (np.empty((0, w.shape[1]), dtype=np.float32) if v.shape == (1, 0) else v for v, w in ((x, y), (y, x)))
    if x.shape[1:] != y.shape[1:] or x.ndim != 2:
        raise ShapeError(f"the vectors have shapes {x.shape} and {y.shape}; they must be (n, d) and (m, d)")
    if measure == "manhattan":
        made = np.stack([-np.abs(y - row).sum(1) for row in x]) if len(x) else np.empty((0, len(y)))
    elif measure == "euclidean":
        made = np.stack([-np.linalg.norm(y - row, axis=1) for row in x]) if len(x) else np.empty((0, len(y)))
    else:
        if measure == "cosine":
            x, y = (v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-12) for v in (x, y))
        made = x @ y.T
    return made.astype(np.float32, copy=False)
