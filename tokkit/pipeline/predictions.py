"""The predictions of a causal language model along a text: probability and rank of each token, and the alternatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit.checks import as_int
from tokkit.pipeline.perplexity import windows

if TYPE_CHECKING:
    from tokkit.pipeline.causal_model import CausalModel

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """The predictions of a model for each token of a text except the first, and the one after the last.

    `logprobs` (T - 1) are those of the tokens, `ranks` (T - 1) their ranks, 1 for the most probable, and `entropies`
    (T) the entropies in nats of the predictions after each token; `best_ids` and `best_logprobs` (T, k) are the most
    probable tokens after each. `starts` and `ends` (T) are the byte spans of the tokens in the text; a token that is
    not in the text, such as one added by the tokenizer, has an empty span.
    """

    text: bytes
    ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    logprobs: Floats
    ranks: NDArray[np.int64]
    entropies: Floats
    best_ids: NDArray[np.int64]
    best_logprobs: Floats


def predictions(
    model: CausalModel, text: str, *, k: int = 5, window: int | None = None, stride: int | None = None,
    threads: int | None = None,
) -> Predictions:  # fmt: skip
    """Return the predictions of a model along a text; `window` and `stride` are as in `text_score`.

    OptionError for a text without tokens; memory is O(window × vocabulary).
    """
    k = as_int("k", k, minimum=1)
    encoding = model.tokenizer(text, special="all", truncation=None, padding=None)
    ids = encoding.column("ids").astype(np.int64)
    spans = encoding.column("byte_offsets").astype(np.int64)
    found: list[tuple[NDArray[Any], ...]] = []
    for start, first, end in windows(model, len(ids), window, stride, last=True):
        found.extend(model.expected(ids[start:end], k, first=first - start, after=end == len(ids), threads=threads))
    logprobs, ranks, entropies, best, best_logprobs = (np.concatenate(column) for column in zip(*found, strict=True))
    ends = np.maximum.accumulate(spans[:, 1])
    starts = np.minimum(np.maximum(spans[:, 0], np.concatenate([[0], ends[:-1]])), ends)
    return Predictions(
        text.encode("utf-8", "replace"), ids, starts, ends, logprobs[:-1], ranks[:-1], entropies, best, best_logprobs,
    )  # fmt: skip
