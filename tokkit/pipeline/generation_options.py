"""Options of a generation, in one place: how tokens are chosen, when texts end, and what is kept of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import OptionError
from tokkit.nn.arrays import Floats
from tokkit.nn.checks import as_float, as_int
from tokkit.nn.decoder_cache import DecoderCache
from tokkit.nn.generation import Constraint, Sampling

if TYPE_CHECKING:
    from tokkit.pipeline.text_generator import TextGenerator

MAX_NEW_TOKENS = 256
"""Tokens that are generated unless the caller says otherwise."""

Callback = Callable[[list[int], Floats], Floats]
"""What a user may do with logits: (ids generated so far, logits (vocab_size)) → logits."""


class HeldCaches(Protocol):
    """Caches that are kept between generations, so that a beginning that was read before is not read again."""

    def take(self, ids: NDArray[np.int64], capacity: int) -> DecoderCache | None:
        """Return a cache that has read a beginning of ids, not all of them, with room for `capacity` tokens in all.

        It now belongs to the caller. None if no cache fits.
        """

    def keep(self, ids: Sequence[int], cache: DecoderCache) -> None:
        """Take back the cache of a text that has ended, which has read `ids`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOptions:
    """Options of `TextGenerator.generate_all` and of the methods beside it.

    `sampling` says how a token is chosen; its options may be given by their own names in the methods.

    - When a text ends: after `max_new_tokens`, before the first string of `stop`, which may reach over several tokens,
      after `max_time` seconds.
    - `n` texts are made for each prompt; one `seed` gives the same ones whatever else is generated with them.
    - `logprobs` keeps the log-probability of each token, and `top_logprobs` is how many alternatives are kept of each.
    - A prompt that is longer than the model's positions raises OptionError; with `truncate` its end is taken.
    - `callback(ids so far, logits)` returns the logits to choose from.
    - `constraint`, to begin with, is copied for each text. `force_words`, strings or sequences of ids, come in each
      text, where the model likes, at its end at the latest; of a list of them in place of one, one of these comes. They
      are a constraint too.
    - `held_caches` have beginnings of prompts that were read before, and get the caches of texts that end:
      `PromptCache` is such.
    - With `context_shift` a text goes on where the model has no more positions: the older half of what comes after the
      first `context_shift` tokens is left out. What is generated then is not the same as without a limit.
    - `num_beams` above 1 searches the most probable texts with so many beams and returns the n best; there is nothing
      to draw then, and nothing to stream. The score of a text is the sum of its log-probabilities by its length to the
      power of `length_penalty`. `early_stopping` True ends when `num_beams` texts are finished; False when no other can
      be better at its length of then; "never" when none can be better at any length.
    - `draft`, a smaller model of the same tokenizer, or `prompt_lookup` N proposes tokens that the model then reads at
      once; look-up proposes at most N, which came after the last ones earlier in the text. Greedy texts are the same
      without, and so are those drawn with `prompt_lookup`; those drawn with a `draft` have the same distribution.
    - `threads` are used by the core.

    Values that cannot work raise OptionError.
    """

    max_new_tokens: int = MAX_NEW_TOKENS
    n: int = 1
    stop: str | Sequence[str] = ()
    max_time: float | None = None
    seed: int | None = None
    logprobs: bool = False
    top_logprobs: int = 0
    truncate: bool = False
    callback: Callback | None = None
    constraint: Constraint | None = None
    force_words: Sequence[str | Sequence[int] | Sequence[str | Sequence[int]]] = ()
    held_caches: HeldCaches | None = None
    context_shift: int | None = None
    num_beams: int = 1
    length_penalty: float = 1.0
    early_stopping: bool | str = False
    draft: TextGenerator | None = None
    prompt_lookup: int = 0
    threads: int | None = None
    sampling: Sampling = field(default_factory=Sampling)

    def __post_init__(self) -> None:
        stops = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)
        if not all(isinstance(each, str) and each for each in stops):
            raise OptionError(f"stop is {self.stop!r}; it must be strings that are not empty")
        made: dict[str, object] = {
            "max_new_tokens": as_int("max_new_tokens", self.max_new_tokens, minimum=1),
            "n": as_int("n", self.n, minimum=1),
            "stop": stops,
            "top_logprobs": as_int("top_logprobs", self.top_logprobs, minimum=0),
        }
        made["num_beams"] = as_int("num_beams", self.num_beams, minimum=1)
        made["length_penalty"] = as_float("length_penalty", self.length_penalty)
        if not (isinstance(self.early_stopping, bool) or self.early_stopping == "never"):
            raise OptionError(f"early_stopping is {self.early_stopping!r}; it must be True, False or 'never'")
        made["prompt_lookup"] = as_int("prompt_lookup", self.prompt_lookup, minimum=0)
        if self.constraint is not None and self.force_words:
            raise OptionError("constraint and force_words both say what must come; give one of them")
        if isinstance(self.force_words, str):
            raise OptionError(f"force_words is {self.force_words!r}; it must be a list of strings or of ids")
        if self.draft is not None and self.prompt_lookup:
            raise OptionError("draft and prompt_lookup both propose tokens; give one of them")
        if self.num_beams > 1:
            self._check_beams()
        if self.context_shift is not None:
            made["context_shift"] = as_int("context_shift", self.context_shift, minimum=0)
        if self.max_time is not None:
            made["max_time"] = as_float("max_time", self.max_time, greater_than=0)
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def _check_beams(self) -> None:
        others = {"temperature": self.sampling.temperature, "top_logprobs": self.top_logprobs, "draft": self.draft,
                  "prompt_lookup": self.prompt_lookup}  # fmt: skip
        for name, value in others.items():
            if value:
                raise OptionError(f"num_beams goes without {name}; leave one of them out")
        if self.n > self.num_beams:
            raise OptionError(f"n is {self.n}; {self.num_beams} beams have as many texts at most")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> GenerationOptions:
        """Return the options by these names, those of `Sampling` among them.

        >>> GenerationOptions.of({"n": 2, "top_k": 5}).sampling.top_k
        5
        """
        names, of_sampling = ({each.name for each in fields(kind)} for kind in (cls, Sampling))
        unknown = sorted(options.keys() - names - of_sampling)
        if unknown:
            raise TypeError(f"there is no option {unknown[0]!r}; there are {', '.join(sorted(names | of_sampling))}")
        own = {name: value for name, value in options.items() if name in names}
        sampling = {name: value for name, value in options.items() if name in of_sampling}
        if sampling:
            own["sampling"] = Sampling(**sampling)
        return cls(**own)
