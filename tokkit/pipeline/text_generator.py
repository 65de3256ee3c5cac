"""`TextGenerator`: text → text with a causal language model, whole or streamed, and what the model thinks of a text."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.errors import ChatError, OptionError
from tokkit.nn import decoder_states
from tokkit.nn.arrays import Floats, ids_of
from tokkit.nn.checks import as_int
from tokkit.nn.generation import Chooser, log_probabilities
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import beam_search, generation
from tokkit.pipeline.beam_search import BeamSearch
from tokkit.pipeline.constraints import Constraints
from tokkit.pipeline.decoder_families import DecoderSpec
from tokkit.pipeline.generation import Batch, Ending, Text, checked
from tokkit.pipeline.generation_options import GenerationOptions
from tokkit.pipeline.speculation import DraftModel, PromptLookup, Proposer, check_draft
from tokkit.pipeline.stopping import StoppedText

if TYPE_CHECKING:
    from tokkit.chat import ChatTemplate
    from tokkit.tokenizer import Tokenizer

PART = 512
"""Tokens whose logits are in memory at once where those of a whole text are needed."""


@dataclass(frozen=True, slots=True)
class Generated:
    """One generated text: its new ids, its text, why it ended, and log-probabilities where they were asked for.

    `reason` is "eos", "length", "stop" or "time". `ids` includes the id that ended it, `text` does not. `top` has, for
    each id, the n most probable ones and their log-probabilities. `score` is that of a beam search.
    """

    text: str
    ids: list[int]
    reason: str
    logprobs: list[float]
    top: list[list[tuple[int, float]]]
    score: float | None = None


@dataclass(frozen=True, slots=True)
class NextToken:
    """One of the next tokens that a model thinks possible."""

    token: str
    id: int
    probability: float


def _generated(text: Text) -> Generated:
    return Generated("".join(text.parts), text.ids, text.reason or "length", text.logprobs, text.top)


class TextGenerator:
    """A causal language model with its tokenizer; `tokkit.pipeline.load` makes it from a folder.

    A pickle holds the path of the folder and how it was loaded, not the weights.
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
        self.folder, self.tokenizer, self.decoder = folder, tokenizer, decoder
        self.max_length = spec.max_length
        self.eos_ids = frozenset(eos_ids)
        self._reload = reload
        self._constraints = Constraints(tokenizer)
        self._drafts: weakref.WeakSet[TextGenerator] = weakref.WeakSet()  # those that have its tokens
        # A table may have rows that belong to no token.
        added = tokenizer.definition.added_vocab.values()
        self._known = frozenset(id_ for _, id_ in tokenizer.vocab.items()).union(added)
        self._shown = self._known.difference(tokenizer.special_tokens.values())

    def __repr__(self) -> str:
        layers = self.decoder.config.layers
        kinds = ", ".join(sorted({matrix.kind for matrix in self.decoder.matrices.values()}))
        return (
            f"<TextGenerator {self.folder.name}: {layers.n_layers} layers, {layers.dim} dimensions, "
            f"{self.decoder.config.vocab_size} tokens, {kinds}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reload, ()

    @property
    def n_layers(self) -> int:
        """Layers of the model."""
        return self.decoder.config.layers.n_layers

    @property
    def n_heads(self) -> int:
        """Attention heads of each layer."""
        return self.decoder.config.layers.n_heads

    # ---- text to text

    @overload
    def generate(self, prompt: str, **options: Any) -> str: ...
    @overload
    def generate(self, prompt: Sequence[str], **options: Any) -> list[str]: ...
    def generate(self, prompt: str | Sequence[str], **options: Any) -> str | list[str]:
        """Return the text that follows a prompt, or a text for each of several prompts, without the prompt.

        Options are those of `generate_all`, except `n`. Special tokens are left out of the text.
        """
        if isinstance(prompt, str):
            return self.generate_all([prompt], **options)[0][0].text
        return [texts[0].text for texts in self.generate_all(prompt, **options)]

    def generate_all(self, prompts: Sequence[str | ArrayLike], **options: Any) -> list[list[Generated]]:
        """Return n generated texts for each prompt, a str or ids; all of them are decoded side by side.

        Options are those of `GenerationOptions` and of `tokkit.nn.Sampling`; without a `temperature` the most probable
        token is taken. A text ends at one of `eos_ids` too, and where the model has no more positions. One of `regex`,
        `schema` (JSON), `choices` and `grammar` (of `tokkit.grammars`) says what the text must look like.
        """
        chosen = self.options_of(options)
        begun = [self.begin(ids, chosen) for ids in [self.prompt_ids(prompt, chosen) for prompt in prompts]]
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
        """Return the new ids that follow ids (T), that of the end included; options are those of `generate_all`."""
        return self.generate_all([ids], **options)[0][0].ids

    def stream(self, prompt: str | ArrayLike, **options: Any) -> Iterator[str]:
        """Yield the text that follows a prompt as it is generated, in parts that never cut a character.

        Options are those of `generate_all` without `n`, and so is all the text: parts joined equal that of `generate`.
        """
        chosen = replace(self.options_of(options), n=1)
        if chosen.num_beams > 1:
            raise OptionError("num_beams finds texts as a whole, not in parts; use generate, or leave it out")
        batch = Batch(self.decoder, [self.begin(self.prompt_ids(prompt, chosen), chosen)])
        while len(batch):
            with generation.threads(chosen.threads):  # which must not be set while the caller has its turn
                events = batch.step()
            for event in events:
                if event.error is not None:
                    raise event.error
                if event.part:
                    yield event.part

    def options_of(self, options: Mapping[str, Any]) -> GenerationOptions:
        """Return options by their names, with the constraint that `regex`, `schema`, `choices` or `grammar` is."""
        return GenerationOptions.of(self._constraints.of(options))

    def begin(self, prompt: NDArray[np.int64], options: GenerationOptions) -> Text:
        """Return a text that begins with the ids of a prompt, with n - 1 forks, for a `generation.Batch`."""
        more = min(options.max_new_tokens, self.max_length - len(prompt))
        until = None if options.max_time is None else time.monotonic() + options.max_time
        ending = Ending(max_new_tokens=more, eos_ids=self.eos_ids, until=until)
        capacity, held = len(prompt) + more, options.held_caches
        cache = None if held is None else held.take(prompt, capacity)
        cache = self.decoder.cache(capacity=capacity) if cache is None else cache
        if options.draft is not None and options.draft not in self._drafts:
            check_draft(self, options.draft)
            self._drafts.add(options.draft)

        def text(i: int, forks: Sequence[Text] = ()) -> Text:
            # Each text has a seed of its own, which does not depend on its neighbours.
            seed = None if options.seed is None else [options.seed, i]
            chooser = Chooser(
                options.sampling, prompt.tolist(), seed=seed,
                constraint=None if options.constraint is None else options.constraint.copy(), end_ids=self.eos_ids,
                max_new_tokens=more,
            )  # fmt: skip
            return Text(
                cache=cache, chooser=chooser, ending=ending, writer=self._writer(options.stop), prompt=prompt,
                pending=prompt[cache.length :], forks=forks, callback=options.callback, n_top=options.top_logprobs,
                scored=options.logprobs, proposer=self._proposer(options, seed),
                at_end=None if held is None else lambda text: held.keep(text.read, text.cache),
            )  # fmt: skip

        return text(0, [text(i) for i in range(1, options.n)])

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
        """Return the ids of a prompt, which leave room for a new one; OptionError says what is wrong with it."""
        made = self.ids(prompt) if isinstance(prompt, str) else ids_of(prompt)
        if made.ndim != 1:
            raise OptionError(f"a prompt is a str or one row of ids, not an array of shape {made.shape}")
        if not len(made):
            raise OptionError("the prompt has no tokens, and a model needs one to begin with; give at least one")
        if len(made) >= self.max_length:
            if not options.truncate:
                raise OptionError(
                    f"the prompt has {len(made)} tokens, and the model has positions for {self.max_length}, those to "
                    "come included; shorten it, or cut its beginning with truncate=True"
                )
            made = made[len(made) - self.max_length + 1 :]
        return made

    def ids(self, text: str) -> NDArray[np.int64]:
        """Return the ids of a text as the model reads it: with the tokens that the tokenizer adds."""
        ids: NDArray[np.int64] = self.tokenizer(text, special="all", truncation=None, padding=None).column("ids")
        return ids.astype(np.int64)

    # ---- chats

    def chat(
        self, messages: Sequence[Mapping[str, Any]], *, template: ChatTemplate | None = None, **options: Any
    ) -> str:
        """Return the model's answer to messages, each with "role" and "content"; options are those of `generate_all`.

        The template is the folder's. Text in messages that looks like a special token stays text.
        """
        return self.generate_all([self.chat_ids(messages, template=template)], **options)[0][0].text

    def chat_ids(self, messages: Sequence[Mapping[str, Any]], *, template: ChatTemplate | None = None) -> list[int]:
        """Return the ids of a chat, up to where the model's answer begins; ChatError without a template."""
        from tokkit.chat import encode_chat, load_chat_template

        if template is None:
            template = load_chat_template(self.folder)
        if not messages:
            raise ChatError("there are no messages; give at least one")
        encoded = encode_chat(self.tokenizer, template, messages, add_generation_prompt=True)
        return list(encoded.ids)

    # ---- what the model thinks of a text

    def logits(self, text: str | ArrayLike, *, last: bool = False, threads: int | None = None) -> Floats:
        """Return the logits (T, vocab_size) after each token of a text or of ids, or (vocab_size) after the last."""
        ids = self._checked_length(text)
        with generation.threads(threads):
            hidden = self.decoder([ids], [self.decoder.cache(capacity=len(ids))])
            made = checked(self.decoder, self.decoder.logits(hidden[-1:] if last else hidden), [ids])
        return made[0] if last else made

    def hidden_states(self, text: str | ArrayLike, *, threads: int | None = None) -> Floats:
        """Return (n_layers + 1, T, dim) for a text or ids: what the first layer reads, and what each layer leaves."""
        with generation.threads(threads):
            return decoder_states.hidden_states(self.decoder, self._checked_length(text))

    def attention(
        self, text: str | ArrayLike, *, layers: Sequence[int] | None = None, threads: int | None = None
    ) -> tuple[list[str], Floats]:
        """Return (tokens, weights (layers, n_heads, T, T)): which token looks at which, in these layers or in all.

        Layers are numbered from 0. `tokkit.view.attention_html(weights, tokens)` shows them.
        """
        ids = self._checked_length(text)
        chosen = range(self.n_layers) if layers is None else layers
        if not len(chosen) or not all(0 <= layer < self.n_layers for layer in chosen):
            raise OptionError(f"layers is {layers!r}; this model has 0 to {self.n_layers - 1}, or leave it out for all")
        with generation.threads(threads):
            weights = decoder_states.attention_weights(self.decoder, ids, chosen)
        return [self.tokenizer.decode([id_]) for id_ in ids.tolist()], weights

    def lens(self, text: str | ArrayLike, k: int = 3) -> list[list[NextToken]]:
        """Return, for what the first layer reads and what each layer leaves, the k tokens that the head makes of it.

        This is the logit lens: how the next token comes about from layer to layer. The last are those of `next_tokens`.
        """
        states = np.ascontiguousarray(self.hidden_states(text)[:, -1])
        return [self._best(row, k) for row in self.decoder.head_of(states)]

    def next_tokens(self, text: str | ArrayLike, k: int = 10) -> list[NextToken]:
        """Return the k tokens that most probably follow a text, the most probable first."""
        return self._best(self.logits(text, last=True), k)

    def _best(self, logits: Floats, k: int) -> list[NextToken]:
        k = as_int("k", k, minimum=1)
        scores = log_probabilities(logits)
        best = [id_ for id_ in np.argsort(-scores, kind="stable").tolist() if id_ in self._known][:k]
        return [NextToken(self.tokenizer.decode([id_]), id_, float(np.exp(scores[id_]))) for id_ in best]

    def token_logprobs(self, ids: ArrayLike, *, first: int = 1, threads: int | None = None) -> NDArray[np.float64]:
        """Return the log-probability of each of the ids from number `first` on, after all that come before it.

        `first` is at least 1: nothing comes before the first id.
        """
        all_ids = self._checked_length(ids)
        first = as_int("first", first, minimum=1)
        made = []
        with generation.threads(threads):
            hidden = self.decoder([all_ids], [self.decoder.cache(capacity=len(all_ids))])
            for start in range(first - 1, len(all_ids) - 1, PART):
                end = min(start + PART, len(all_ids) - 1)
                found = log_probabilities(checked(self.decoder, self.decoder.logits(hidden[start:end]), [all_ids]))
                made.append(np.take_along_axis(found, all_ids[start + 1 : end + 1, None], axis=1)[:, 0])
        return np.concatenate([*made, np.empty(0)])

    def score(self, prompt: str, continuations: Sequence[str], *, threads: int | None = None) -> list[float]:
        """Return the log-probability of each continuation after a prompt: the sum over its tokens.

        The prompt is read once for each. Where a token reaches over the end of the prompt, it counts to the
        continuation.
        """
        made = []
        for continuation in continuations:
            whole = self.tokenizer(prompt + continuation, special="all", truncation=None, padding=None)
            ids = whole.column("ids").astype(np.int64)
            ends = np.array([end for _, end in whole.offsets])
            own = np.flatnonzero(ends > len(prompt))
            if not continuation or not len(own):
                raise OptionError(f"the continuation {continuation!r} has no tokens")
            scores = self.token_logprobs(ids, first=max(int(own[0]), 1), threads=threads)
            made.append(float(scores.sum()))
        return made

    def _checked_length(self, text: str | ArrayLike) -> NDArray[np.int64]:
        ids = self.ids(text) if isinstance(text, str) else ids_of(text)
        if ids.ndim != 1 or not len(ids):
            raise OptionError("the text has no tokens; give at least one")
        if len(ids) > self.max_length:
            raise OptionError(f"the text has {len(ids)} tokens, and the model has positions for {self.max_length}")
        return ids
