"""How well a causal language model predicts a text: log-probabilities of its tokens, in windows that overlap."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokkit.checks import as_int
from tokkit.errors import OptionError

if TYPE_CHECKING:
    from tokkit.pipeline.causal_model import CausalModel
    from tokkit.pipeline.text_generator import TextGenerator

WINDOW = 1024
"""Tokens that a prediction sees at most, unless the caller says otherwise or the model has fewer positions."""


@dataclass(frozen=True, slots=True)
class TextScore:
    """The ids (T) of a text, and the log-probabilities (T - 1) of all but the first."""

    ids: NDArray[np.int64]
    logprobs: NDArray[np.float64]
    n_bytes: int

    @property
    def perplexity(self) -> float:
        """E to the mean of -log p over the tokens; NaN if there is none."""
        return math.exp(-float(self.logprobs.mean())) if len(self.logprobs) else math.nan

    @property
    def bits_per_byte(self) -> float:
        """The sum of -log2 p, for each byte of the text: comparable between tokenizers. NaN for an empty text."""
        return -float(self.logprobs.sum()) / math.log(2) / self.n_bytes if self.n_bytes else math.nan


def text_score(
    model: TextGenerator, text: str, *, window: int | None = None, stride: int | None = None, threads: int | None = None
) -> TextScore:
    """Return how well a model predicts a text.

    The text is read in windows of at most `window` tokens (1,024, or the model's positions if these are fewer). Each
    window begins `stride` tokens after the previous one (half of a window), and only its new tokens are counted, which
    see at least window - stride tokens before them. A stride of 1 is exact, and slow.
    """
    ids = model.ids(text)
    made: list[NDArray[np.float64]] = [np.empty(0)]
    for start, first, end in windows(model, len(ids), window, stride):
        made.append(model.token_logprobs(ids[start:end], first=first - start, threads=threads))
    return TextScore(ids, np.concatenate(made), len(text.encode("utf-8", "surrogatepass")))


def windows(
    model: CausalModel, n: int, window: int | None, stride: int | None, *, last: bool = False
) -> Iterator[tuple[int, int, int]]:
    """Yield (start, first, end) of the windows of n tokens: those from `first` on were not predicted before.

    With `last` a single token is a window too, after which there is something to expect.
    """
    width = min(WINDOW, model.max_length) if window is None else as_int("window", window, minimum=2)
    if width > model.max_length:
        raise OptionError(f"window is {width}; the model has positions for {model.max_length} tokens")
    step = max(width // 2, 1) if stride is None else as_int("stride", stride, minimum=1)
    if step >= width:
        raise OptionError(f"stride is {step}; it must be less than the window, {width}")
    if last and not n:
        raise OptionError("the text has no tokens; give at least one")
    done = 1  # the first token is given
    start = 0
    while done < n or last:
        end = min(start + width, n)
        yield start, done, end
        done, start, last = end, start + step, last and end < n
