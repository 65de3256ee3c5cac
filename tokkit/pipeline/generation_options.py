"""Options of a generation, in one place: how tokens are chosen, when texts end, and what is kept of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tokkit.checks import as_float, as_int
from tokkit.errors import OptionError
from tokkit.nn.arrays import Floats
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

    `sampling` says how a token is chosen. The methods also take its options by their own names.

    - A text ends after `max_new_tokens`, before the first occurrence of a string of `stop`, which may span several
      tokens, or after `max_time` seconds.
    - `n` texts are generated for each prompt. A `seed` gives the same texts whatever else is generated beside them.
    - `logprobs` keeps the log-probability of each token; `top_logprobs` is the number of alternatives kept for each.
    - A prompt that is longer than the model's context raises OptionError. With `truncate` its end is used.
    - `callback(ids so far, logits)` returns the logits to choose from.
    - `constraint` is the form of the text; each text gets a copy. `force_words` are strings, or sequences of ids, that
      must occur in each text: where the model puts them, or at the end. In place of one, a list of alternatives may be
      given, of which one must occur. There can be only one of the two.
    - `held_caches` keeps the caches of texts that end, and provides them for prompts that begin alike; see
      `PromptCache`.
    - With `context_shift` a text continues beyond the model's last position: the first `context_shift` tokens stay, and
      the older half of the others is dropped. A model with a larger context would write another text.
    - `num_beams` above 1 is beam search with so many beams, which returns the n best texts. Nothing is drawn or
      streamed then. The score of a text is the sum of its log-probabilities divided by its length to the power of
      `length_penalty`. With `early_stopping` True the search ends when `num_beams` texts are finished; with False when
      no running beam can become better at its present length; with "never" when none can at any length.
    - `draft`, a smaller model of the same tokenizer, or `prompt_lookup` proposes tokens that the model then reads
      together (speculative decoding). `prompt_lookup` N proposes up to N tokens that followed the last tokens of the
      text earlier in it. Greedy texts do not change, and neither do those drawn with `prompt_lookup`. Those drawn with
      a `draft` have the same distribution.
    - `threads` is the number of threads of the core.

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
            raise OptionError("constraint and force_words are given; give only one of them")
        if isinstance(self.force_words, str):
            raise OptionError(f"force_words is {self.force_words!r}; it must be a list of strings or of ids")
        if self.draft is not None and self.prompt_lookup:
            raise OptionError("draft and prompt_lookup are given; give only one of them")
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
                raise OptionError(f"num_beams and {name} are given; leave one of them out")
        if self.n > self.num_beams:
            raise OptionError(f"n is {self.n}; it must be at most num_beams, {self.num_beams}")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> GenerationOptions:
        """Return the options with these names, including those of `Sampling`.

        >>> GenerationOptions.of({"n": 2, "top_k": 5}).sampling.top_k
        5
        """
        names, of_sampling = ({each.name for each in fields(kind)} for kind in (cls, Sampling))
        unknown = sorted(options.keys() - names - of_sampling)
        if unknown:
            raise TypeError(
                f"there is no option {unknown[0]!r}; the options are {', '.join(sorted(names | of_sampling))}"
            )
        own = {name: value for name, value in options.items() if name in names}
        sampling = {name: value for name, value in options.items() if name in of_sampling}
        if sampling:
            own["sampling"] = Sampling(**sampling)
        return cls(**own)
