"""Chooses the next token from logits: greedy, or drawn from a filtered and penalized distribution."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tokkit.checks import as_float, as_int
from tokkit.errors import OptionError
from tokkit.nn.arrays import Floats
from tokkit.nn.greatest import greatest, top

FIRST_SORTED = 256
"""Number of the most probable tokens sorted for top_p; eight times as many if they do not reach it."""
BLOCK = 128
"""Block size for drawing a token: a block is drawn first, then a token in it."""

Ids = NDArray[np.int64]
Distribution = tuple[Ids, NDArray[np.float64]]
"""Ids that may be drawn, and their probabilities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Options for choosing the next token, with the names and in the order of transformers.

    Logits are changed first: `logit_bias` (id → number) is added; `repetition_penalty` (Keskar et al. 2019) divides
    positive logits of all tokens of the text so far, the prompt included, and multiplies negative ones;
    `frequency_penalty` times the count, and `presence_penalty` once, are subtracted from tokens that were generated;
    `no_repeat_ngram_size` n excludes tokens that would repeat n tokens of the text; `banned` are ids, or sequences of
    ids, that are never generated; no end token is generated in the first `min_new_tokens`. The generated text begins
    with the ids of `forced`, and `forced_eos` is the last id of a text that would end by its length.

    Then `temperature` 0 takes the largest logit (of equal ones the lowest id). Otherwise logits are divided by it, and
    a token is drawn from those that pass all filters: the `top_k` most probable; the smallest set with `top_p` of the
    probability (Holtzman et al. 2020); those with at least `min_p` of the maximum probability (Nguyen et al. 2024); the
    smallest set with `typical_p` of the probability, ordered by the difference of surprise and entropy (Meister et al.
    2023).

    Numbers out of range raise OptionError.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical_p: float = 1.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    no_repeat_ngram_size: int = 0
    logit_bias: Mapping[int, float] | None = None
    banned: Sequence[int | Sequence[int]] = ()
    min_new_tokens: int = 0
    forced: Sequence[int] = ()
    forced_eos: int | None = None

    def __post_init__(self) -> None:
        made: dict[str, object] = {
            "temperature": as_float("temperature", self.temperature, minimum=0),
            "top_k": as_int("top_k", self.top_k, minimum=0),
            "top_p": as_float("top_p", self.top_p, greater_than=0),
            "min_p": as_float("min_p", self.min_p, minimum=0),
            "typical_p": as_float("typical_p", self.typical_p, greater_than=0),
            "repetition_penalty": as_float("repetition_penalty", self.repetition_penalty, greater_than=0),
            "presence_penalty": as_float("presence_penalty", self.presence_penalty),
            "frequency_penalty": as_float("frequency_penalty", self.frequency_penalty),
            "no_repeat_ngram_size": as_int("no_repeat_ngram_size", self.no_repeat_ngram_size, minimum=0),
            "banned": tuple(_sequence(each) for each in self.banned),
            "min_new_tokens": as_int("min_new_tokens", self.min_new_tokens, minimum=0),
            "forced": tuple(as_int("each of forced", id_, minimum=0) for id_ in self.forced),
        }
        if self.forced_eos is not None:
            made["forced_eos"] = as_int("forced_eos", self.forced_eos, minimum=0)
        for name in ("top_p", "min_p", "typical_p"):
            if made[name] > 1:  # type: ignore[operator]
                raise OptionError(f"{name} is {made[name]}; it must be a probability, at most 1")
        if self.logit_bias is not None:
            made["logit_bias"] = {
                as_int("an id of logit_bias", id_, minimum=0): _bias(value) for id_, value in self.logit_bias.items()
            }
        for name, value in made.items():
            object.__setattr__(self, name, value)


def _bias(value: object) -> float:
    # -inf excludes a token.
    return -math.inf if value == -math.inf else as_float("a value of logit_bias", value)


def _sequence(banned: int | Sequence[int]) -> tuple[int, ...]:
    ids = [banned] if isinstance(banned, int | np.integer) else banned
    made = tuple(as_int("each of banned", id_, minimum=0) for id_ in ids)
    if not made:
        raise OptionError("banned contains an empty sequence; each needs at least one id")
    return made


class Constraint(Protocol):
    """The form of a text, for example a grammar: which tokens may come next.

    It is the state of one text. As an option it is the initial state, and each text gets a copy.
    """

    @property
    def finished(self) -> bool:
        """Whether the text so far is complete: then end tokens are allowed in addition to `allowed`.

        If `allowed` is empty then, the text ends at once.
        """

    def allowed(self) -> NDArray[np.bool_] | NDArray[np.uint32]:
        """Return which ids may come next: bool (vocab_size), or uint32 words, bit i % 32 of word i // 32 for id i.

        Ids beyond its end are not allowed. The array is read at once; the next call may change it.
        """

    def advance(self, id_: int) -> None:
        """Advance by the chosen id, one of `allowed`; not called for an end token."""

    def copy(self) -> Constraint:
        """Return an independent copy of this state."""


class Chooser:
    """Chooses the tokens of one text one after another, and stores the text so far.

    `constraint` belongs to this text only; a text ends at one of `end_ids`, or after `max_new_tokens`.

    >>> chooser = Chooser(Sampling(repetition_penalty=2.0), prompt=[2])
    >>> logits = np.array([0.5, 1.0, 1.5], dtype=np.float32)
    >>> chooser.choose(logits)
    1
    """

    def __init__(
        self, sampling: Sampling, prompt: Iterable[int] = (), *, seed: int | Sequence[int] | None = None,
        constraint: Constraint | None = None, end_ids: Iterable[int] = (), max_new_tokens: int | None = None,
    ) -> None:  # fmt: skip
        self.sampling, self._constraint, self._max_new_tokens = sampling, constraint, max_new_tokens
        self._end_ids = sorted(end_ids)
        self._text = list(prompt)
        self._n_prompt = len(self._text)
        self._seed = seed
        self._generator: np.random.Generator | None = None

    @property
    def _rng(self) -> np.random.Generator:
        if self._generator is None:  # made when it is needed: importing numpy.random takes 20 ms
            self._generator = np.random.default_rng(self._seed)
        return self._generator

    @property
    def text(self) -> Sequence[int]:
        """The ids of the text so far, the prompt included; not to be changed."""
        return self._text

    def add(self, id_: int) -> None:
        """Add a token to the text so far."""
        self._text.append(id_)
        if self._constraint is not None and id_ not in self._end_ids:
            self._constraint.advance(id_)

    @property
    def ended(self) -> bool:
        """Whether the constraint allows no further token."""
        held = self._constraint
        return held is not None and held.finished and not held.allowed().any()

    def choose(self, logits: Floats) -> int:
        """Return the next token for logits (vocab_size); it is not added to the text."""
        s = self.sampling
        if s.temperature and not s.top_k and s.top_p == 1 and not s.min_p and s.typical_p == 1:
            return _drawn_of_all(self.processed(logits), s.temperature, self._rng)
        return self.draw(logits)[0]

    def draw(self, logits: Floats) -> tuple[int, Distribution]:
        """Return the next token for logits (vocab_size), and the distribution it was drawn from."""
        ids, probabilities = self._distribution(logits)
        return _drawn(ids, probabilities, self._rng) if len(ids) > 1 else int(ids[0]), (ids, probabilities)

    def choose_after(self, logits: Floats, proposed: int, drawn_from: Distribution) -> int:
        """Return the next token, given a proposal drawn from another distribution.

        It has the same distribution as in `choose`, and equals the proposal with the maximum probability (Leviathan et
        al. 2023, section 2.3).
        """
        if not self.sampling.temperature:
            return self.choose(logits)
        ids, probabilities = self._distribution(logits)
        of_theirs = np.zeros(len(logits))
        of_theirs[drawn_from[0]] = drawn_from[1]
        share = probabilities[ids == proposed].sum()
        if self._rng.random() * of_theirs[proposed] < share:
            return proposed
        rest = np.maximum(probabilities - of_theirs[ids], 0)
        return _drawn(ids, rest / rest.sum(), self._rng) if rest.any() else int(ids[0])

    def _distribution(self, logits: Floats) -> Distribution:
        processed = self.processed(logits)
        if self.sampling.temperature:
            return self.candidates(processed)
        best = int(processed.argmax())
        if processed[best] == -np.inf:
            raise OptionError("no token can be chosen: all are banned or excluded")
        return np.array([best]), np.ones(1)

    def processed(self, logits: Floats) -> Floats:
        """Return logits with penalties and biases, and excluded tokens at -inf; the given array if nothing changes."""
        s, n_new = self.sampling, len(self._text) - self._n_prompt
        forced = self._forced(n_new)
        excluded = self._excluded(n_new)
        changes = s.presence_penalty, s.frequency_penalty, s.logit_bias, excluded, s.repetition_penalty != 1
        if not any(changes) and self._constraint is None and forced is None:
            return logits
        made = np.array(logits, dtype=np.float32)
        for id_, bias in (s.logit_bias or {}).items():
            self._check(id_, made)
            made[id_] += bias
        if s.repetition_penalty != 1 and self._text:
            seen = np.unique(np.array(self._text))
            made[seen] = np.where(made[seen] < 0, made[seen] * s.repetition_penalty, made[seen] / s.repetition_penalty)
        if n_new and (s.presence_penalty or s.frequency_penalty):
            ids, counts = np.unique(np.array(self._text[self._n_prompt :]), return_counts=True)
            made[ids] -= s.presence_penalty + s.frequency_penalty * counts
        for id_ in excluded:
            self._check(id_, made)
            made[id_] = -np.inf
        if self._constraint is not None:
            made[~self._mask(self._constraint, len(made))] = -np.inf
        if forced is not None:
            self._check(forced, made)
            made[:] = -np.inf
            made[forced] = 0
        return made

    def _forced(self, n_new: int) -> int | None:
        s = self.sampling
        if n_new < len(s.forced):
            return s.forced[n_new]
        return s.forced_eos if n_new + 1 == self._max_new_tokens else None

    def _excluded(self, n_new: int) -> list[int]:
        s = self.sampling
        made = [last for *before, last in s.banned if self._ends_with(before)]  # type: ignore[misc]
        if s.no_repeat_ngram_size:
            made += repeated(self._text, s.no_repeat_ngram_size)
        return made + self._end_ids if n_new < s.min_new_tokens else made

    def _ends_with(self, ids: list[int]) -> bool:
        return not ids or self._text[-len(ids) :] == ids

    def copy(self, *, rng: np.random.Generator | None = None) -> Chooser:
        """Return an independent copy for the same text, which draws the same tokens, or tokens by `rng`."""
        made = copy.copy(self)
        made._text = list(self._text)
        made._constraint = None if self._constraint is None else self._constraint.copy()
        if self.sampling.temperature:
            made._generator = copy.deepcopy(self._rng) if rng is None else rng
        return made

    def _mask(self, constraint: Constraint, n: int) -> NDArray[np.bool_]:
        allowed = constraint.allowed()
        if allowed.dtype != np.bool_:
            allowed = np.unpackbits(allowed.astype("<u4", copy=False).view(np.uint8), bitorder="little").view(np.bool_)
        mask = np.zeros(n, dtype=np.bool_)
        mask[: len(allowed)] = allowed[:n]
        if constraint.finished:
            mask[self._end_ids] = True
        return mask

    @staticmethod
    def _check(id_: int, logits: Floats) -> None:
        if id_ >= len(logits):
            raise OptionError(f"there is no token {id_}; the model has logits for 0 to {len(logits) - 1}")

    def candidates(self, processed: Floats) -> Distribution:
        """Return the ids that pass the filters, the most probable first, and their probabilities."""
        s = self.sampling
        most, by = np.float64(processed.max()), s.temperature or 1.0
        if most == -np.inf:
            raise OptionError("no token can be chosen: all are banned or excluded")
        ids = top(processed, s.top_k) if 0 < s.top_k < len(processed) else np.flatnonzero(processed > -np.inf)
        if s.top_p < 1:
            ids = ids[_nucleus(processed[ids], most, by, s.top_p)]
        weights = np.exp((processed[ids].astype(np.float64) - most) / by)
        if s.min_p:
            keep = weights >= s.min_p * weights.max()
            ids, weights = ids[keep], weights[keep]
        if s.typical_p < 1:
            ids, weights = _typical(ids, weights / weights.sum(), s.typical_p)
        order = np.argsort(-weights, kind="stable")
        return ids[order], weights[order] / weights.sum()


def _drawn(ids: Ids, probabilities: NDArray[np.float64], rng: np.random.Generator) -> int:
    at = int(np.searchsorted(np.cumsum(probabilities), rng.random(), side="right"))
    return int(ids[min(at, len(ids) - 1)])


def _drawn_of_all(processed: Floats, temperature: float, rng: np.random.Generator) -> int:
    """Draw an id by the softmax of all logits: first a block, then an id in it, without sorting."""
    most = processed.max()
    if most == -np.inf:
        raise OptionError("no token can be chosen: all are banned or excluded")
    weights = np.zeros(-(-len(processed) // BLOCK) * BLOCK, dtype=np.float32)
    np.exp((processed - most) * np.float32(1 / temperature), out=weights[: len(processed)])
    blocks = weights.reshape(-1, BLOCK)
    ends = np.cumsum(blocks.sum(1, dtype=np.float64))
    at = rng.random() * ends[-1]
    block = int(np.searchsorted(ends, at, side="right"))
    within = np.cumsum(blocks[block], dtype=np.float64)
    # The block sums are rounded separately: if the draw exceeds the sum, take the last id with a weight.
    found = int(np.searchsorted(within, at - (ends[block - 1] if block else 0.0), side="right"))
    return block * BLOCK + min(found, int(np.flatnonzero(blocks[block])[-1]))


def _nucleus(values: Floats, most: np.float64, temperature: float, share: float) -> Ids:
    """Return the indices of the smallest set of logits, the largest first, with this share of the total probability."""
    wanted = share * np.exp((values - np.float32(most)) * np.float32(1 / temperature)).sum(dtype=np.float64)
    n = FIRST_SORTED
    while True:
        found = greatest(values, n)
        weights = np.exp((values[found].astype(np.float64) - most) / temperature)
        before = np.cumsum(weights) - weights
        if len(found) == len(values) or before[-1] >= wanted:
            kept: Ids = found[before < wanted]
            return kept
        n *= 8


def _typical(ids: Ids, shares: NDArray[np.float64], wanted: float) -> Distribution:
    """Return the smallest set of ids with probability `wanted`, by the distance of surprise and entropy."""
    surprise = -np.log(shares)
    off = np.abs(surprise - (surprise * shares).sum())
    order = np.argsort(off, kind="stable")
    last = min(int((np.cumsum(shares[order]) < wanted).sum()), len(ids) - 1)
    keep = off <= off[order[last]]
    return ids[keep], shares[keep]


def repeated(text: Sequence[int], n: int) -> list[int]:
    """Return the next ids that would repeat an n-gram of the text.

    >>> repeated([1, 2, 3, 1, 2], 3), repeated([1, 2], 1)
    ([3], [1, 2])
    """
    last = list(text[len(text) - n + 1 :]) if n > 1 else []
    return sorted({text[i + n - 1] for i in range(len(text) - n + 1) if list(text[i : i + n - 1]) == last})


def log_probabilities(logits: Floats) -> NDArray[np.float64]:
    """Return the natural logarithm of each token's probability (…, vocab_size), in float64."""
    made = logits.astype(np.float64)
    made -= made.max(-1, keepdims=True)
    made -= np.log(np.exp(made).sum(-1, keepdims=True))
    return made
