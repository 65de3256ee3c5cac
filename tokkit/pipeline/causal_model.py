"""`CausalModel`: a decoder with its tokenizer; logits, scores, hidden states and attention of a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit.checks import as_int, ordered
from tokkit.errors import OptionError
from tokkit.nn import decoder_states
from tokkit.nn.arrays import Floats, ids_of
from tokkit.nn.generation import log_probabilities
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import generation
from tokkit.pipeline.attention import Attention
from tokkit.pipeline.generation import checked

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

PART = 512
"""Tokens whose logits are computed at once when the logits of a whole text are needed."""


@dataclass(frozen=True, slots=True)
class NextToken:
    """One of the most probable next tokens."""

    token: str
    id: int
    probability: float


class CausalModel:
    """A causal language model and its tokenizer. Immutable; calls from several threads are safe.

    `max_length` is its number of positions.
    """

    def __init__(self, folder: Path, tokenizer: Tokenizer, decoder: TextDecoder, *, max_length: int) -> None:
        self.folder, self.tokenizer, self.decoder, self.max_length = folder, tokenizer, decoder, max_length
        # The table may have more rows than there are tokens.
        added = tokenizer.definition.added_vocab.values()
        self._known = frozenset(id_ for _, id_ in tokenizer.vocab.items()).union(added)
        self._shown = self._known.difference(tokenizer.special_tokens.values())

    @property
    def n_layers(self) -> int:
        """Layers of the model."""
        return self.decoder.config.layers.n_layers

    @property
    def n_heads(self) -> int:
        """Attention heads of each layer."""
        return self.decoder.config.layers.n_heads

    def ids(self, text: str) -> NDArray[np.int64]:
        """Return the ids of a text as the model reads it, with the special tokens that the tokenizer adds."""
        ids: NDArray[np.int64] = self.tokenizer(text, special="all", truncation=None, padding=None).column("ids")
        return ids.astype(np.int64)

    def logits(self, text: str | ArrayLike, *, last: bool = False, threads: int | None = None) -> Floats:
        """Return the logits (T, vocab_size) after each token of a text or of ids, or (vocab_size) after the last."""
        ids = self._checked_length(text)
        with generation.threads(threads):
            hidden = self.decoder([ids], [self.decoder.cache(capacity=len(ids))])
            made = checked(self.decoder, self.decoder.logits(hidden[-1:] if last else hidden), [ids])
        return made[0] if last else made

    def hidden_states(self, text: str | ArrayLike, *, threads: int | None = None) -> Floats:
        """Return (n_layers + 1, T, dim) for a text or ids: the first layer's input, and the output of each layer."""
        with generation.threads(threads):
            return decoder_states.hidden_states(self.decoder, self._checked_length(text))

    def attention(
        self, text: str | ArrayLike, *, layers: Sequence[int] | None = None, threads: int | None = None
    ) -> Attention:
        """Return (tokens, weights (layers, n_heads, T, T)): the attention of each token, in these layers or in all.

        Layers are numbered from 0. `tokkit.view.attention_html(weights, tokens)` displays them, and so does a notebook.
        """
        ids = self._checked_length(text)
        chosen = range(self.n_layers) if layers is None else layers
        if not len(chosen) or not all(0 <= layer < self.n_layers for layer in chosen):
            raise OptionError(
                f"layers is {layers!r}; this model has layers 0 to {self.n_layers - 1}; leave it out for all of them"
            )
        with generation.threads(threads):
            weights = decoder_states.attention_weights(self.decoder, ids, chosen)
        return Attention([self.tokenizer.decode([id_]) for id_ in ids.tolist()], weights)

    def lens(self, text: str | ArrayLike, k: int = 3) -> list[list[NextToken]]:
        """Return the k tokens that the head predicts from the input of the first layer and the output of each layer.

        This is the logit lens. The last entry is that of `next_tokens`.
        """
        states = np.ascontiguousarray(self.hidden_states(text)[:, -1])
        return [self._best(row, k) for row in self.decoder.head_of(states)]

    def next_tokens(self, text: str | ArrayLike, k: int = 10) -> list[NextToken]:
        """Return the k most probable next tokens of a text, the most probable first."""
        return self._best(self.logits(text, last=True), k)

    def _best(self, logits: Floats, k: int) -> list[NextToken]:
        k = as_int("k", k, minimum=1)
        scores = log_probabilities(logits)
        best = [id_ for id_ in np.argsort(-scores, kind="stable").tolist() if id_ in self._known][:k]
        return [NextToken(self.tokenizer.decode([id_]), id_, float(np.exp(scores[id_]))) for id_ in best]

    def token_logprobs(self, ids: ArrayLike, *, first: int = 1, threads: int | None = None) -> NDArray[np.float64]:
        """Return the log-probability of each id from index `first` on, given all ids before it.

        `first` is at least 1, because no id precedes the first one.
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

    def expected(
        self, ids: ArrayLike, k: int, *, first: int = 1, after: bool = False, threads: int | None = None
    ) -> Iterator[tuple[NDArray[Any], ...]]:
        """Yield the predictions for the ids from index `first` on, in parts.

        With `after` also the one after the last id.

        Each part contains, for n ids, their log-probabilities (n), ranks from 1 (n), the entropies in nats (n), and the
        k most probable ids and their log-probabilities (n, k). The prediction after the last id has NaN and the rank 0.
        """
        all_ids = self._checked_length(ids)
        known = np.zeros(self.decoder.config.vocab_size, dtype=bool)
        known[[id_ for id_ in self._known if id_ < len(known)]] = True
        k = min(k, int(known.sum()))
        with generation.threads(threads):
            hidden = self.decoder([all_ids], [self.decoder.cache(capacity=len(all_ids))])
            last = len(all_ids) - (not after)
            for start in range(first - 1, last, PART):
                end = min(start + PART, last)
                found = log_probabilities(checked(self.decoder, self.decoder.logits(hidden[start:end]), [all_ids]))
                entropies = -np.einsum("ij,ij->i", np.exp(found), np.where(np.isfinite(found), found, 0.0))
                targets = all_ids[start + 1 : end + 1]
                logprobs, ranks = np.full(end - start, np.nan), np.zeros(end - start, dtype=np.int64)
                logprobs[: len(targets)] = np.take_along_axis(found[: len(targets)], targets[:, None], axis=1)[:, 0]
                ranks[: len(targets)] = 1 + (found[: len(targets)] > logprobs[: len(targets), None]).sum(1)
                found[:, ~known] = -np.inf
                best = np.argpartition(-found, k - 1, axis=1)[:, :k]
                of_best = np.take_along_axis(found, best, axis=1)
                order = np.lexsort((best, -of_best))
                best, of_best = np.take_along_axis(best, order, 1), np.take_along_axis(of_best, order, 1)
                yield logprobs, ranks, entropies, best, of_best

    def score(self, prompt: str, continuations: Sequence[str], *, threads: int | None = None) -> list[float]:
        """Return the log-probability of each continuation after a prompt: the sum over its tokens.

        The prompt is read once for each continuation. A token that spans the end of the prompt counts as continuation.
        """
        made = []
        for continuation in ordered(continuations, "continuations"):
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
