"""`TokenClassifier`: the labels of tokens, and the entities that they make: names, places, parts of speech."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tokkit import nn
from tokkit.decoders.byte_level import ByteLevel
from tokkit.decoders.metaspace import Metaspace
from tokkit.decoders.spaced import Spaced
from tokkit.definition import BPE
from tokkit.encoding.length_rules import Truncation
from tokkit.errors import OptionError
from tokkit.nn import softmax
from tokkit.pipeline import entities
from tokkit.pipeline.classifier_model import BATCH_TOKENS, ClassifierModel, check_batch_tokens
from tokkit.pipeline.entities import STRATEGIES, Token
from tokkit.pipeline.texts import listed
from tokkit.sentencepiece_model import SentencePieceModel

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.decoders.base import Decoder
    from tokkit.encoding import Encoding
    from tokkit.engines.special_tokens import Special

OVERLAP = 4
"""By default, one of so many tokens of a window is read again in the next."""


class TokenClassifier(ClassifierModel):
    """An encoder whose head gives each token a label; `tokkit.pipeline.load` makes it from a folder.

    `entities` returns what the pipeline "token-classification" of transformers does, with each of its strategies.

    >>> from tokkit import pipeline
    >>> model = pipeline.load("bert-base-NER/")  # doctest: +SKIP
    >>> model.entities("Ada Lovelace lived in London.")  # doctest: +SKIP
    [{'entity_group': 'PER', 'score': 0.998, 'word': 'Ada Lovelace', 'start': 0, 'end': 12},
     {'entity_group': 'LOC', 'score': 0.999, 'word': 'London', 'start': 22, 'end': 28}]
    """

    def predict(
        self,
        texts: Text | Sequence[Text],
        *,
        stride: int | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        batch_tokens: int = BATCH_TOKENS,
        special: Special = "all",
    ) -> list[Any]:
        """Return the label of each token of a text, or of the tokens of each of several, as a list of dicts.

        They have "entity", the likeliest label, "score", its probability, "index", the token's number in its window,
        "word", the token, and "start" and "end", its span in characters; special tokens are left out. The options are
        those of `entities`.
        """
        return self.entities(
            texts, aggregation_strategy="none", ignore_labels=(), stride=stride, threads=threads, progress=progress,
            batch_tokens=batch_tokens, special=special,
        )  # fmt: skip

    def entities(
        self,
        texts: Text | Sequence[Text],
        *,
        aggregation_strategy: str = "simple",
        ignore_labels: Sequence[str] = ("O",),
        stride: int | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        batch_tokens: int = BATCH_TOKENS,
        special: Special = "all",
    ) -> list[Any]:
        """Return the entities of a text, or of each of several, as a list of dicts.

        They have "entity_group", "score", the mean probability of the parts, "word", the text as the tokenizer decodes
        it, and "start" and "end", the span in characters. `aggregation_strategy` "simple" joins neighbouring tokens of
        a label, where B- begins a new entity. "first", "average" and "max" give all tokens of a word one label before:
        that of its first token, of the mean of their probabilities, or of the surest token. "none" returns tokens, as
        `predict` does. `ignore_labels` are left out.

        A text that is longer than the model reads is read in windows, each of which repeats `stride` tokens of the one
        before, a quarter of a window if None; of entities that overlap the longer one is kept, or of equally long ones
        the surer. `progress` is called with (texts done, of how many); `threads`, `batch_tokens` and `special` are as
        in `SentenceEncoder.encode`. Raises TypeError for what is not text, OptionError for invalid options.
        """
        if aggregation_strategy not in STRATEGIES:
            raise OptionError(
                f"aggregation_strategy is {aggregation_strategy!r}; it must be one of {', '.join(STRATEGIES)}"
            )
        if isinstance(ignore_labels, str):
            raise TypeError("ignore_labels is one str; it must be a list of labels")
        check_batch_tokens(batch_tokens)
        room = self.max_length - self._packer.n_added
        stride = room // OVERLAP if stride is None else stride
        if isinstance(stride, bool) or not isinstance(stride, int) or not 0 <= stride < room:
            raise OptionError(f"stride is {stride!r}; it must be 0 to {room - 1}: a window has room for {room} tokens")
        given, is_one = listed(texts)
        made = []
        with nn.threads(nn.current_threads() if threads is None else threads):
            for done, text in enumerate(given, 1):
                one = text if isinstance(text, str) else bytes(text).decode("utf-8", "replace")
                windows = self._windows(one, stride, batch_tokens, special)
                found = [
                    entity
                    for tokens in windows
                    for entity in entities.joined(
                        tokens, self.labels, aggregation_strategy, ignore_labels, self._to_text
                    )
                ]
                made.append(entities.without_overlaps(found) if len(windows) > 1 else found)
                if progress is not None:
                    progress(done, len(given))
        return made[0] if is_one else made

    def _windows(self, text: str, stride: int, batch_tokens: int, special: Special) -> list[list[Token]]:
        """Return the tokens of each window of a text, with the probabilities of their labels."""
        cut = Truncation(max_length=self.max_length, stride=stride)
        whole = self.tokenizer(text, special=special, truncation=cut, padding=None)
        parts = [whole, *whole.overflowing]
        if not len(whole):
            return []
        ids = np.concatenate([part.column("ids") for part in parts]).astype(np.int64)
        types = np.concatenate([part.column("type_ids") for part in parts]).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        scores = softmax(self._logits_of_ids(ids, starts, types, batch_tokens))
        return [
            self._tokens(text, part, scores[first : first + len(part)])
            for part, first in zip(parts, starts.tolist(), strict=False)
        ]

    def _tokens(self, text: str, encoding: Encoding, scores: Any) -> list[Token]:
        of_words = bool(getattr(self.tokenizer.definition.model, "continuing_subword_prefix", None))
        made = []
        columns = zip(encoding.ids, encoding.tokens, encoding.offsets, encoding.special_tokens_mask, strict=True)
        for index, (id_, word, (start, end), is_special) in enumerate(columns):
            if is_special:
                continue
            shown = text[start:end]
            if id_ == self._unknown:
                word, goes_on = shown, False
            elif of_words:
                goes_on = len(word) != len(shown)
            else:  # transformers' guess where the vocabulary does not mark what goes on a word
                goes_on = start > 0 and " " not in text[start - 1 : start + 1]
            made.append(Token(index, word, scores[index], start, end, goes_on))
        return made

    @functools.cached_property
    def _unknown(self) -> int | None:
        """The id of the unknown token, if there is one."""
        model = self.tokenizer.definition.model
        name = getattr(model, "unk_token", None)
        found: int | None = getattr(model, "unk_id", None)
        return found if name is None else self.tokenizer.vocab.get(name.encode())

    @functools.cached_property
    def _to_text(self) -> Callable[[list[str]], str]:
        definition = self.tokenizer.definition
        kinds = {BPE: ByteLevel, SentencePieceModel: Metaspace}
        decoder: Decoder = definition.decoder or kinds.get(type(definition.model), Spaced)()
        return decoder.decode
