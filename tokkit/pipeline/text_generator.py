"""`TextGenerator`: generates text with a causal language model, whole or streamed."""

from __future__ import annotations

import copy
import functools
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.checks import ordered
from tokkit.errors import ChatError, OptionError
from tokkit.nn.arrays import ids_of
from tokkit.nn.context_shift import check_shift
from tokkit.nn.generation import Chooser
from tokkit.nn.required import RequiredPhrases
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import beam_search, generation, memory
from tokkit.pipeline.beam_search import BeamSearch
from tokkit.pipeline.causal_model import CausalModel
from tokkit.pipeline.constraints import Constraints
from tokkit.pipeline.decoder_families import DecoderSpec
from tokkit.pipeline.generation import Batch, ContextShift, Ending, Text
from tokkit.pipeline.generation_options import GenerationOptions, HeldCaches
from tokkit.pipeline.speculation import DraftModel, PromptLookup, Proposer, check_draft
from tokkit.pipeline.stopping import StoppedText

if TYPE_CHECKING:
    from tokkit.chat import ChatTemplate
    from tokkit.chat.template import Tool
    from tokkit.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Generated:
    """A generated text, without the prompt.

    `reason` says why it ended: "eos", "length", "stop" or "time". `ids` includes an end token, `text` does not.
    `logprobs` has the log-probability of each id, and `top` the most probable alternatives with theirs, if the options
    ask for them. `score` is that of a beam search.
    """

    text: str
    ids: list[int]
    reason: str
    logprobs: list[float]
    top: list[list[tuple[int, float]]]
    score: float | None = None


def _generated(text: Text) -> Generated:
    return Generated("".join(text.parts), text.ids, text.reason or "length", text.logprobs, text.top)


def _kept(held: HeldCaches, text: Text) -> None:
    if text.is_whole:
        held.keep(text.read, text.cache)


def _reloaded(reload: Callable[[], TextGenerator], dtype: str) -> TextGenerator:
    return reload().with_cache(dtype)


class TextGenerator(CausalModel):
    """A causal language model with its tokenizer; `tokkit.pipeline.load` makes it from a folder.

    A pickle holds the path of the folder and the options of loading, not the weights.
    """

    def __init__(
        self,
        folder: Path,
        tokenizer: Tokenizer,
        decoder: TextDecoder,
        spec: DecoderSpec,
        *,
        eos_ids: Iterable[int],
        reload: Callable[[], TextGenerator],
    ) -> None:
        super().__init__(folder, tokenizer, decoder, max_length=spec.max_length)
        self.eos_ids = frozenset(eos_ids)
        self._reload = reload
        self._constraints = Constraints(tokenizer)
        self._drafts: weakref.WeakSet[TextGenerator] = weakref.WeakSet()  # draft models already checked

    def __repr__(self) -> str:
        layers = self.decoder.config.layers
        kinds = ", ".join(sorted({matrix.kind for matrix in self.decoder.matrices.values()}))
        return (
            f"<TextGenerator {self.folder.name}: {layers.n_layers} layers, {layers.dim} dimensions, "
            f"{self.decoder.config.vocab_size} tokens, {kinds}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reload, ()

    # ---- text to text

    @overload
    def generate(self, prompt: str, **options: Any) -> str: ...
    @overload
    def generate(self, prompt: Sequence[str], **options: Any) -> list[str]: ...
    def generate(self, prompt: str | Sequence[str], **options: Any) -> str | list[str]:
        """Return the generated text for a prompt, or a list of them for several prompts, without the prompts.

        Options are those of `generate_all` without `n`. Special tokens are left out of the text.
        """
        if isinstance(prompt, str):
            return self.generate_all([prompt], **options)[0][0].text
        return [texts[0].text for texts in self.generate_all(prompt, **options)]

    def generate_all(self, prompts: Sequence[str | ArrayLike], **options: Any) -> list[list[Generated]]:
        """Return n generated texts for each prompt, a str or ids. All texts are decoded side by side.

        Options are those of `GenerationOptions` and of `tokkit.nn.Sampling`. Without a `temperature` the most probable
        token is taken. A text also ends at one of `eos_ids`, and at the model's last position. At most one of `regex`,
        `schema` (JSON), `choices` and `grammar` (of `tokkit.grammars`) sets the form of the text.
        """
        chosen = self.options_of(options)
        begun = [self.begin(ids, chosen) for ids in [self.prompt_ids(p, chosen) for p in ordered(prompts, "prompts")]]
        if chosen.num_beams > 1:
            return self._searched(begun, chosen)
        batch = Batch(self.decoder, begun)
        made = [(text, *text.forks) for text in begun]
        with generation.threads(chosen.threads):
            while len(batch):
                for event in batch.step():
                    if event.error is not None:
                        raise event.error
        return [[_generated(text) for text in texts] for texts in made]

    def _searched(self, begun: Sequence[Text], options: GenerationOptions) -> list[list[Generated]]:
        def written(ids: Sequence[int]) -> tuple[str, bool]:
            writer = self._writer(options.stop)
            parts = [writer.step(id_) for id_ in ids if id_ not in self.eos_ids]
            return "".join(parts) + writer.finish(), writer.stopped

        searches = [
            BeamSearch(text, options, stopped=(lambda ids: written(ids)[1]) if options.stop else None) for text in begun
        ]
        with generation.threads(options.threads):
            beam_search.run(self.decoder, searches)
        return [
            [
                Generated(written(made.ids)[0], made.ids, made.reason or "length", made.logprobs, [], made.score)
                for made in search.best[: options.n]
            ]
            for search in searches
        ]

    def generate_ids(self, ids: ArrayLike, **options: Any) -> list[int]:
        """Return the ids generated after ids (T), an end token included; options are those of `generate_all`."""
        return self.generate_all([ids], **options)[0][0].ids

    def stream(self, prompt: str | ArrayLike, **options: Any) -> Iterator[str]:
        """Yield the generated text for a prompt as it is generated, in parts that never cut a character.

        Options are those of `generate_all` without `n`. The parts joined are the text of `generate`.
        """
        chosen = replace(self.options_of(options), n=1)
        if chosen.num_beams > 1:
            raise OptionError("num_beams cannot be streamed; use generate, or leave it out")
        batch = Batch(self.decoder, [self.begin(self.prompt_ids(prompt, chosen), chosen)])
        while len(batch):
            with generation.threads(chosen.threads):  # must not be set while the caller runs
                events = batch.step()
            for event in events:
                if event.error is not None:
                    raise event.error
                if event.part:
                    yield event.part

    def options_of(self, options: Mapping[str, Any]) -> GenerationOptions:
        """Return options given by names; `regex`, `schema`, `choices` or `grammar` becomes a constraint."""
        return GenerationOptions.of(self._constraints.of(options))

    def _phrase_ids(self, phrase: Any) -> Any:
        """Return the ids of a phrase of `force_words`, or of each of its alternatives."""
        if isinstance(phrase, str):
            return self.tokenizer.encode(phrase)
        return [self._phrase_ids(each) if isinstance(each, (str, Sequence)) else each for each in phrase]

    def begin(self, prompt: NDArray[np.int64], options: GenerationOptions) -> Text:
        """Return a text that continues the ids of a prompt, with n - 1 forks, for a `generation.Batch`."""
        keep = self._kept_context(options)
        more = (
            options.max_new_tokens if keep is not None else min(options.max_new_tokens, self.max_length - len(prompt))
        )
        until = None if options.max_time is None else time.monotonic() + options.max_time
        ending = Ending(max_new_tokens=more, eos_ids=self.eos_ids, until=until)
        capacity, held = min(len(prompt) + more, self.max_length), options.held_caches
        memory.check_cache(self.decoder, capacity, texts=options.n)
        cache = None if held is None else held.take(prompt, capacity)
        cache = self.decoder.cache(capacity=capacity) if cache is None else cache
        constraint = options.constraint
        if options.force_words:
            constraint = RequiredPhrases(
                [self._phrase_ids(word) for word in options.force_words],
                vocab_size=self.decoder.config.vocab_size, end_ids=self.eos_ids, max_new_tokens=more,
            )  # fmt: skip
        if options.draft is not None and options.draft not in self._drafts:
            check_draft(self, options.draft)
            self._drafts.add(options.draft)

        def text(i: int, forks: Sequence[Text] = ()) -> Text:
            # Each text has its own seed, which does not depend on other texts.
            seed = None if options.seed is None else [options.seed, i]
            chooser = Chooser(
                options.sampling, prompt.tolist(), seed=seed,
                constraint=None if constraint is None else constraint.copy(), end_ids=self.eos_ids,
                max_new_tokens=more,
            )  # fmt: skip
            return Text(
                cache=cache, chooser=chooser, ending=ending, writer=self._writer(options.stop), prompt=prompt,
                pending=prompt[cache.length :], forks=forks, callback=options.callback, n_top=options.top_logprobs,
                scored=options.logprobs, proposer=self._proposer(options, seed),
                at_end=None if held is None else functools.partial(_kept, held),
                shift=None if keep is None else ContextShift(self.decoder.config, keep, self.max_length),
            )  # fmt: skip

        return text(0, [text(i) for i in range(1, options.n)])

    def _kept_context(self, options: GenerationOptions) -> int | None:
        keep = options.context_shift
        if keep is None:
            return None
        check_shift(self.decoder.config)
        if options.num_beams > 1 or options.draft is not None:
            raise OptionError("context_shift is for texts without num_beams and draft; leave one of them out")
        if keep >= self.max_length - 1:
            raise OptionError(
                f"context_shift is {keep}; it must be less than {self.max_length - 1}, the last position of the model"
            )
        return keep

    def with_cache(self, dtype: str) -> TextGenerator:
        """Return the same model with another type of keys and values: "float32", "bfloat16" or "int8"."""
        made = copy.copy(self)
        made.decoder = self.decoder.with_cache(dtype)
        made._reload = functools.partial(_reloaded, self._reload, dtype)
        return made

    def _proposer(self, options: GenerationOptions, seed: list[int] | None) -> Proposer | None:
        if options.draft is not None:
            return DraftModel(options.draft, self.decoder.config.vocab_size, None if seed is None else [*seed, 1])
        return PromptLookup(options.prompt_lookup) if options.prompt_lookup else None

    def _writer(self, stops: Sequence[str]) -> StoppedText:
        inner = self.tokenizer.decode_stream()

        def step(id_: int) -> str:
            return inner.step(id_) if id_ in self._shown else ""

        return StoppedText(step, inner.flush, stops)

    def prompt_ids(self, prompt: str | ArrayLike, options: GenerationOptions) -> NDArray[np.int64]:
        """Return the ids of a prompt; OptionError if it is empty or leaves no room for a token."""
        made = self.ids(prompt) if isinstance(prompt, str) else ids_of(prompt)
        if made.ndim != 1:
            raise OptionError(f"a prompt is a str or one row of ids, not an array of shape {made.shape}")
        if not len(made):
            raise OptionError("the prompt has no tokens; give at least one")
        if len(made) >= self.max_length:
            if not options.truncate:
                raise OptionError(
                    f"the prompt has {len(made)} tokens, and the model has positions for {self.max_length}, including "
                    "those to generate; shorten it, or cut its beginning with truncate=True"
                )
            made = made[len(made) - self.max_length + 1 :]
        return made

    # ---- chats

    def chat(
        self, messages: Sequence[Mapping[str, Any]], *, tools: Iterable[Tool] | None = None,
        template: ChatTemplate | None = None, **options: Any,
    ) -> str:  # fmt: skip
        """Return the model's answer to messages, each with "role" and "content"; options are those of `generate_all`.

        The template is the one in the folder unless `template` is given. The text of a special token in a message stays
        text. The model may call `tools`, which are functions or their JSON schemas; the calls in its answer are found
        by `tokkit.chat.parse_tool_calls`.
        """
        return self.generate_all([self.chat_ids(messages, tools=tools, template=template)], **options)[0][0].text

    def chat_ids(
        self, messages: Sequence[Mapping[str, Any]], *, tools: Iterable[Tool] | None = None,
        template: ChatTemplate | None = None,
    ) -> list[int]:  # fmt: skip
        """Return the ids of a chat, up to where the model's answer begins.

        ChatError if there is no template, or it has no place for `tools`.
        """
        from tokkit.chat import encode_chat, load_chat_template

        given = None if tools is None else list(tools)
        if template is None:
            template = load_chat_template(self.folder, with_tools=bool(given))
        if not messages:
            raise ChatError("there are no messages; give at least one")
        if given and not template.takes_tools:
            raise ChatError("the model's chat template does not support tools; leave them out")
        encoded = encode_chat(self.tokenizer, template, messages, tools=given, add_generation_prompt=True)
        return list(encoded.ids)
