"""`Seq2SeqGenerator`: generates a translation, a summary or an answer with an encoder–decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.checks import ordered
from tokkit.errors import OptionError
from tokkit.nn.arrays import Floats, ids_of
from tokkit.nn.decoder_cache import DecoderCache
from tokkit.nn.generation import log_probabilities
from tokkit.nn.seq2seq import Seq2Seq
from tokkit.pipeline import generation
from tokkit.pipeline.generation import Text, checked
from tokkit.pipeline.generation_options import GenerationOptions
from tokkit.pipeline.seq2seq_families import Seq2SeqSpec
from tokkit.pipeline.text_generator import TextGenerator

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class ForcedIds:
    """The id before a target, and the default ids of its forced first and last tokens."""

    start: int
    first: int | None = None
    last: int | None = None


class Seq2SeqGenerator(TextGenerator):
    """An encoder–decoder with its tokenizer; `tokkit.pipeline.load` makes it from a folder of T5 or BART.

    The encoder reads the prompt once, and the target is generated. Options are those of a `TextGenerator` without
    `draft`, `held_caches` and `context_shift`. T5's models expect the task in the prompt: "translate English to
    German: …".
    """

    def __init__(
        self,
        folder: Path,
        tokenizer: Tokenizer,
        model: Seq2Seq,
        spec: Seq2SeqSpec,
        *,
        eos_ids: Iterable[int],
        forced: ForcedIds,
        reload: Callable[[], TextGenerator],
    ) -> None:
        super().__init__(folder, tokenizer, model.decoder, spec.decoder, eos_ids=eos_ids, reload=reload)
        self.model, self.forced = model, forced
        self.max_prompt_length = spec.encoder.max_length

    def __repr__(self) -> str:
        return super().__repr__().replace("TextGenerator", "Seq2SeqGenerator", 1)

    def begin(self, prompt: NDArray[np.int64], options: GenerationOptions) -> Text:
        """Encode a prompt and return a new target, with n - 1 forks, for a `generation.Batch`."""
        for name in ("draft", "held_caches", "context_shift"):
            if getattr(options, name) is not None:
                raise OptionError(f"{name} is only for causal models; leave it out")
        more = min(options.max_new_tokens, self.max_length - 1)
        with generation.threads(options.threads):
            memory = self.model.memories([prompt])[0]
        cache = self.decoder.cache(capacity=more + 1, memory=memory)
        sampling, forced = options.sampling, self.forced
        if forced.first is not None and not sampling.forced:
            sampling = replace(sampling, forced=(forced.first,))
        if forced.last is not None and sampling.forced_eos is None:
            sampling = replace(sampling, forced_eos=forced.last)
        return super().begin(np.array([forced.start]), replace(options, held_caches=_Held(cache), sampling=sampling))

    def prompt_ids(self, prompt: str | ArrayLike, options: GenerationOptions) -> NDArray[np.int64]:
        """Return the ids of a prompt; OptionError if it is empty or longer than the encoder's context.

        With `truncate` its end is cut, except for the last token, which marks the end of the text.
        """
        made = self.ids(prompt) if isinstance(prompt, str) else ids_of(prompt)
        if made.ndim != 1:
            raise OptionError(f"a prompt is a str or one row of ids, not an array of shape {made.shape}")
        if not len(made):
            raise OptionError("the prompt has no tokens; give at least one")
        if len(made) > self.max_prompt_length:
            if not options.truncate:
                raise OptionError(
                    f"the prompt has {len(made)} tokens, and the encoder has positions for {self.max_prompt_length}; "
                    "shorten it, or cut its end with truncate=True"
                )
            made = np.append(made[: self.max_prompt_length - 1], made[-1])
        return made

    def logits(
        self, text: str | ArrayLike, *, target: str | ArrayLike = (), last: bool = False, threads: int | None = None
    ) -> Floats:
        """Return the logits (T + 1, vocab_size) before each token of a target and after it, given a text.

        With `last`, those (vocab_size) after the target alone.
        """
        ids = self.prompt_ids(text, GenerationOptions())
        answer = np.append(self.forced.start, self._target(target))
        if len(answer) > self.max_length:
            raise OptionError(f"the target has {len(answer)} tokens, and the model has positions for {self.max_length}")
        with generation.threads(threads):
            cache = self.decoder.cache(capacity=len(answer), memory=self.model.memories([ids])[0])
            hidden = self.decoder([answer], [cache])
            made = checked(self.decoder, self.decoder.logits(hidden[-1:] if last else hidden), [answer])
        return made[0] if last else made

    def score(self, prompt: str, continuations: Sequence[str], *, threads: int | None = None) -> list[float]:
        """Return the log-probability of each target for a prompt: the sum over its tokens, the end token included."""
        made = []
        for target in ordered(continuations, "continuations"):
            ids = self._target(target)
            if not target or not len(ids):
                raise OptionError(f"the target {target!r} has no tokens")
            found = log_probabilities(self.logits(prompt, target=ids, threads=threads)[:-1])
            made.append(float(np.take_along_axis(found, ids[:, None], axis=1).sum()))
        return made

    def token_logprobs(self, ids: ArrayLike, *, first: int = 1, threads: int | None = None) -> NDArray[np.float64]:
        """Raise OptionError: an encoder–decoder gives no probability to a text alone."""
        raise OptionError("perplexity is defined for causal models only; this is an encoder–decoder: use score")

    def _target(self, target: str | ArrayLike) -> NDArray[np.int64]:
        if isinstance(target, str):
            # A prefix has no end token; a whole target has the special tokens of the tokenizer.
            return self.ids(target) if target else np.empty(0, np.int64)
        made = np.atleast_1d(np.asarray(target))
        return ids_of(made) if made.size else np.empty(0, np.int64)


class _Held:
    """Provides the cache of a new text, which contains only the keys and values of the encoder's output."""

    def __init__(self, cache: DecoderCache) -> None:
        self._cache = cache

    def take(self, ids: NDArray[np.int64], capacity: int) -> DecoderCache:
        """Return the cache."""
        return self._cache

    def keep(self, ids: Sequence[int], cache: DecoderCache) -> None:
        """Do nothing: the cache of a text cannot be used for another prompt."""
