"""Generates several texts side by side: each step adds a token, or several accepted ones, to every text."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tokkit import nn
from tokkit.errors import FormatError, OptionError
from tokkit.nn.arrays import Floats
from tokkit.nn.context_shift import shift
from tokkit.nn.decoder_cache import DecoderCache
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.nn.generation import Chooser, Distribution, log_probabilities
from tokkit.nn.greatest import greatest
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline.generation_options import Callback
from tokkit.pipeline.speculation import Proposal, Proposer
from tokkit.pipeline.stopping import StoppedText


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """When a text ends: after `max_new_tokens`, at one of `eos_ids`, or at a time of `time.monotonic`."""

    max_new_tokens: int
    eos_ids: Collection[int]
    until: float | None = None


@dataclass(frozen=True, slots=True)
class ContextShift:
    """Drops the older half of a cache, without its first `keep` tokens, when it would exceed `most` tokens."""

    config: DecoderConfig
    keep: int
    most: int

    def make_room(self, cache: DecoderCache, n: int) -> bool:
        """Make room for n more tokens; return whether tokens were dropped."""
        over = cache.length + n - self.most
        if over <= 0:
            return False
        keep = min(self.keep, cache.length - over)
        shift(self.config, cache, keep=keep, n=max(over, (cache.length - keep) // 2))
        return True


@dataclass(slots=True, kw_only=True, eq=False)
class Text:
    """One text that is being generated: its options, its state, and its tokens so far.

    `pending` ids are read before the next token is chosen: first the prompt, then the last token. `forks` are other
    texts with the same prompt, which start when it has been read. `writer` decodes ids to text.
    """

    cache: DecoderCache
    chooser: Chooser
    ending: Ending
    writer: StoppedText
    prompt: NDArray[np.int64]
    pending: NDArray[np.int64]
    forks: Sequence[Text] = ()
    callback: Callback | None = None
    proposer: Proposer | None = None
    n_top: int = 0
    scored: bool = False
    at_end: Callable[[Text], None] | None = None
    shift: ContextShift | None = None
    is_whole: bool = True
    """Whether the cache holds the whole text, and no token was dropped."""
    ids: list[int] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    top: list[list[tuple[int, float]]] = field(default_factory=list)
    reason: str | None = None
    """Why it ended: "eos", "length", "stop", "time" or "error"; None while it has not."""

    @property
    def read(self) -> list[int]:
        """The ids that the cache holds."""
        return [*self.prompt.tolist(), *self.ids][: self.cache.length]

    def make_room(self, n: int) -> None:
        """Make room for n more ids in the cache."""
        if self.shift is not None and self.shift.make_room(self.cache, n):
            self.is_whole = False

    def proposed(self) -> Proposal:
        """Return proposed ids to read together with the pending ones (speculative decoding)."""
        most = self.ending.max_new_tokens - len(self.ids) - 1
        if self.proposer is None or not self.ids or most < 1:
            return Proposal()
        return self.proposer.propose(self.chooser, most)

    def choose_all(self, logits: Floats, proposal: Proposal) -> None:
        """Choose ids for logits (1 + proposed, vocab_size), up to the first that differs from the proposal."""
        n, before = len(proposal.ids), self.cache.length - len(proposal.ids)
        accepted = 0
        try:
            for i, row in enumerate(logits):
                next_ = proposal.ids[i] if i < n else None
                chosen = self._choose(row, next_, proposal.drawn_from[i] if i < len(proposal.drawn_from) else None)
                if chosen != next_ or self.reason is not None:
                    break
                accepted += 1
        finally:
            self.cache.truncate(before + accepted)
        if self.proposer is not None:
            self.proposer.judged(n, accepted)

    def _choose(self, logits: Floats, proposed: int | None, drawn_from: Distribution | None) -> int:
        if self.callback is not None:
            logits = self.callback(list(self.ids), logits.copy())
        if proposed is None or drawn_from is None:
            chosen = self.chooser.choose(logits)
        else:
            chosen = self.chooser.choose_after(logits, proposed, drawn_from)
        if self.scored or self.n_top:
            all_of_them = log_probabilities(logits)
            self.logprobs.append(float(all_of_them[chosen]))
            best = greatest(logits, self.n_top) if self.n_top else ()
            self.top.append([(int(id_), float(all_of_them[id_])) for id_ in best])
        self._take(chosen)
        return chosen

    def _take(self, id_: int) -> None:
        ending = self.ending
        self.chooser.add(id_)
        self.ids.append(id_)
        self.pending = np.array([id_])
        if id_ in ending.eos_ids:
            self.reason = "eos"
        else:
            self.parts.append(self.writer.step(id_))
            if self.writer.stopped or self.chooser.ended:
                self.reason = "stop"
            elif len(self.ids) >= ending.max_new_tokens:
                self.reason = "length"
            elif ending.until is not None and time.monotonic() >= ending.until:
                self.reason = "time"
        if self.reason is not None:
            self.parts.append(self.writer.finish())


@dataclass(frozen=True, slots=True)
class Event:
    """What a step added to a text: its new ids, and the part of the text that can no longer change.

    `error` says that no token could be chosen because all are excluded. That text has ended; others continue.
    """

    text: Text
    ids: list[int]
    part: str
    error: OptionError | None = None


class Batch:
    """Texts that are decoded side by side. Add and remove them between steps; texts that end are removed.

    A step reads at most `most_read` tokens of one text (all if None), so that a long prompt does not delay the others.
    It takes several steps then, in which its text has no event.
    """

    def __init__(self, decoder: TextDecoder, texts: Iterable[Text] = (), *, most_read: int | None = None) -> None:
        self.decoder, self._most_read = decoder, most_read
        self._texts = list(texts)

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: Text) -> None:
        """Add a text from the next step on; its forks join when its prompt has been read."""
        self._texts.append(text)

    def remove(self, text: Text) -> None:
        """Remove a text before the next step, and its forks if they have not joined."""
        self._texts = [other for other in self._texts if other is not text]

    def step(self) -> list[Event]:
        """Read the pending ids of all texts, choose a token for each, and return the events.

        An id outside the table raises IndexError and changes nothing.
        """
        texts = list(self._texts)
        if not texts:
            return []
        events: list[Event] = []
        for text, logits, proposal in self._read(texts):
            for each in (text, *self._joined(text)):
                events.append(self._chosen(each, logits, proposal))
                if each.reason is not None:
                    self.remove(each)
                    if each.at_end is not None:
                        each.at_end(each)
        return events

    def _chosen(self, text: Text, logits: Floats, proposal: Proposal) -> Event:
        n_ids, n_parts = len(text.ids), len(text.parts)
        try:
            text.choose_all(logits, proposal)
        except OptionError as error:
            text.reason = "error"
            return Event(text, text.ids[n_ids:], "".join(text.parts[n_parts:]), error)
        return Event(text, text.ids[n_ids:], "".join(text.parts[n_parts:]))

    def _read(self, texts: Sequence[Text]) -> list[tuple[Text, Floats, Proposal]]:
        """Return the texts that are read to their end, their logits (1 + proposed, vocab_size) and proposals."""
        proposals = [text.proposed() for text in texts]
        new = [
            np.concatenate([text.pending[: self._most_read], np.array(proposal.ids, dtype=np.int64)])
            for text, proposal in zip(texts, proposals, strict=True)
        ]
        for text, ids in zip(texts, new, strict=True):
            text.make_room(len(ids))
        hidden = self.decoder(
            new, [text.cache for text in texts], as_steps={i for i, text in enumerate(texts) if text.ids}
        )
        for text in texts:
            text.pending = text.pending[self._most_read :] if self._most_read is not None else text.pending[:0]
        ends = np.cumsum([len(ids) for ids in new])
        done = [i for i, text in enumerate(texts) if not len(text.pending)]
        if not done:
            return []
        rows = [np.arange(ends[i] - 1 - len(proposals[i].ids), ends[i]) for i in done]
        logits = checked(self.decoder, self.decoder.logits(hidden[np.concatenate(rows)]), [new[i] for i in done])
        parts = np.split(logits, np.cumsum([len(each) for each in rows])[:-1])
        return [(texts[i], part, proposals[i]) for i, part in zip(done, parts, strict=True)]

    def _joined(self, text: Text) -> Sequence[Text]:
        forks, text.forks = text.forks, ()
        for fork in forks:
            fork.cache = text.cache.copy(room=fork.ending.max_new_tokens)
        self._texts.extend(forks)
        return forks


def threads(n: int | None) -> AbstractContextManager[None]:
    """Return a context in which calls use n threads; None changes nothing."""
    return _Threads(n)


class _Threads(AbstractContextManager[None]):
    """A context manager that can be entered again and again, unlike one made from a generator."""

    def __init__(self, n: int | None) -> None:
        self._n, self._inside = n, ExitStack()

    def __enter__(self) -> None:
        if self._n is not None:
            self._inside.enter_context(nn.threads(self._n))

    def __exit__(self, *_: object) -> None:
        self._inside.close()


def checked(decoder: TextDecoder, logits: Floats, ids: Sequence[NDArray[np.int64]]) -> Floats:
    """Return the logits if they are finite; FormatError names the first layer that gives NaN or infinity."""
    if np.isfinite(logits.max(-1)).all() and np.isfinite(logits.min(-1)).all():
        return logits
    layers = decoder.config.layers
    if layers.cross:  # the encoder's output is not available here
        raise FormatError("the logits of the model are NaN or infinite; its weights may be damaged")
    states = np.empty((layers.n_layers, sum(map(len, ids)), layers.dim), dtype=np.float32)
    decoder(ids, [decoder.cache() for _ in ids], states=states)
    bad = [i for i in range(layers.n_layers) if not np.isfinite(states[i]).all()]
    where = f"layer {bad[0]} of {layers.n_layers}" if bad else "the head"
    raise FormatError(f"the logits of the model are NaN or infinite, first in {where}; its weights may be damaged")
