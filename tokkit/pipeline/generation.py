"""Generates several texts side by side: each step decodes one token of every text that has not ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tokkit import nn
from tokkit.errors import FormatError
from tokkit.nn.arrays import Floats
from tokkit.nn.decoder_cache import DecoderCache
from tokkit.nn.generation import Chooser, log_probabilities
from tokkit.nn.text_decoder import TextDecoder

Callback = Callable[[list[int], Floats], Floats]
"""What a user may do with logits: (ids generated so far, logits (vocab_size)) → logits."""


@dataclass(slots=True)
class Text:
    """One text that is being generated: its choices, its state, and what has come of it."""

    cache: DecoderCache
    chooser: Chooser
    logits: Floats
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    top: list[list[tuple[int, float]]] = field(default_factory=list)
    reason: str | None = None
    """Why it ended: "eos", "length", "stop" or "time"; None while it has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """When texts end: after `max_new_tokens`, at one of `eos_ids`, at `max_length` in all, or at a time (monotonic)."""

    max_new_tokens: int
    eos_ids: Collection[int]
    max_length: int
    until: float | None = None


def threads(n: int | None) -> AbstractContextManager[None]:
    """Return a block in which calls use n threads; None leaves their number as it is."""
    return _Threads(n)


class _Threads(AbstractContextManager[None]):
    """May be entered again and again, unlike what a generator makes."""

    def __init__(self, n: int | None) -> None:
        self._n, self._inside = n, ExitStack()

    def __enter__(self) -> None:
        if self._n is not None:
            self._inside.enter_context(nn.threads(self._n))

    def __exit__(self, *_: object) -> None:
        self._inside.close()


def prefilled(
    decoder: TextDecoder, prompts: Sequence[NDArray[np.int64]], capacities: Sequence[int]
) -> list[tuple[DecoderCache, Floats]]:
    """Return, for each prompt, the cache that has read it and the logits (vocab_size) of its next token."""
    caches = [decoder.cache(capacity=capacity) for capacity in capacities]
    hidden = decoder(prompts, caches)
    ends = np.cumsum([len(prompt) for prompt in prompts]) - 1
    return list(zip(caches, checked(decoder, decoder.logits(hidden[ends]), prompts), strict=True))


def run(
    decoder: TextDecoder, texts: Sequence[Text], ending: Ending, *, callback: Callback | None = None, n_top: int = 0,
    scored: bool = False,
) -> Iterator[list[tuple[int, int]]]:  # fmt: skip
    """Yield, for each step, (number of the text, id) of all that went on; the last id of a text may be that of an end.

    A text whose `reason` the caller sets goes on no more.
    """
    while True:
        step: list[tuple[int, int]] = []
        for number, text in enumerate(texts):
            if text.reason is None:
                step.append((number, _choose(text, ending, callback, n_top, scored)))
        if not step:
            return
        yield step
        alive = [texts[number] for number, _ in step if texts[number].reason is None]
        if not alive:
            return
        if ending.until is not None and time.monotonic() >= ending.until:
            for text in alive:
                text.reason = "time"
            return
        last = [np.array([text.ids[-1]]) for text in alive]
        logits = decoder.logits(decoder(last, [text.cache for text in alive]))
        for text, row in zip(alive, checked(decoder, logits, last), strict=True):
            text.logits = row


def _choose(text: Text, ending: Ending, callback: Callback | None, n_top: int, scored: bool) -> int:
    logits = text.logits if callback is None else callback(list(text.ids), text.logits.copy())
    chosen = text.chooser.choose(logits)
    if scored or n_top:
        all_of_them = log_probabilities(logits)
        text.logprobs.append(float(all_of_them[chosen]))
        best = np.argsort(-all_of_them, kind="stable")[:n_top]
        text.top.append([(int(id_), float(all_of_them[id_])) for id_ in best])
    text.chooser.add(chosen)
    text.ids.append(chosen)
    if chosen in ending.eos_ids:
        text.reason = "eos"
    elif len(text.ids) >= ending.max_new_tokens or text.cache.length + 1 >= ending.max_length:
        text.reason = "length"
    return chosen


def checked(decoder: TextDecoder, logits: Floats, ids: Sequence[NDArray[np.int64]]) -> Floats:
    """Return logits that are numbers; FormatError names the first layer that gives something else."""
    if np.isfinite(logits.max(-1)).all():
        return logits
    layers = decoder.config.layers
    states = np.empty((layers.n_layers, sum(map(len, ids)), layers.dim), dtype=np.float32)
    decoder(ids, [decoder.cache() for _ in ids], states=states)
    bad = [i for i in range(layers.n_layers) if not np.isfinite(states[i]).all()]
    where = f"layer {bad[0]} of {layers.n_layers}" if bad else "the head"
    raise FormatError(f"the model's logits are not numbers: {where} gives NaN or infinity; its weights may be damaged")
