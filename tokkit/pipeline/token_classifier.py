"""`TokenClassifier`: labels of tokens, and the entities made of them: names, places, parts of speech."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from tokkit import nn
from tokkit.checks import ordered
from tokkit.decoders.byte_level import ByteLevel
from tokkit.decoders.metaspace import Metaspace
from tokkit.decoders.spaced import Spaced
from tokkit.encoding.length_rules import Truncation
from tokkit.errors import OptionError
from tokkit.models.bpe import BPE
from tokkit.models.sentencepiece import SentencePieceModel
from tokkit.nn import softmax
from tokkit.pipeline import entities
from tokkit.pipeline.classifier_model import BATCH_TEXTS, BATCH_TOKENS, ClassifierModel, Floats, check_batch_tokens
from tokkit.pipeline.entities import STRATEGIES, Entity, Token
from tokkit.pipeline.texts import listed

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.decoders.base import Decoder
    from tokkit.encoding import Encoding
    from tokkit.engine.special_tokens import Special

TEXT = (str, bytes, bytearray, memoryview)
OVERLAP = 4
"""The default stride is this part of a window."""


class _Read(NamedTuple):
    """A text, the starts of its words if it was given as words, and the windows that the model reads."""

    text: str
    starts: list[int]
    windows: list[Encoding]


class TokenClassifier(ClassifierModel):
    """An encoder with a head that labels each token; `tokkit.pipeline.load` creates it from a folder.

    `entities` returns what the pipeline "token-classification" of transformers does, with each of its strategies.

    >>> from tokkit import pipeline
    >>> model = pipeline.load("bert-base-NER/")  # doctest: +SKIP
    >>> model.entities("Ada Lovelace lived in London.")  # doctest: +SKIP
    [{'entity_group': 'PER', 'score': 0.998, 'word': 'Ada Lovelace', 'start': 0, 'end': 12},
     {'entity_group': 'LOC', 'score': 0.999, 'word': 'London', 'start': 22, 'end': 28}]
    """

    def predict(
        self,
        texts: Text | Sequence[Text] | Sequence[Sequence[Text]],
        *,
        pretokenized: bool = False,
        stride: int | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        batch_tokens: int = BATCH_TOKENS,
        special: Special = "all",
    ) -> list[Any]:
        """Return the label of each token of a text, or of the tokens of each of several, as a list of dicts.

        The keys are "entity", the most probable label, "score", its probability, "index", the index of the token in its
        window, "word", the token, and "start" and "end", its span in characters; special tokens are left out. The
        options are those of `entities`.
        """
        return self.entities(
            texts, aggregation_strategy="none", ignore_labels=(), pretokenized=pretokenized, stride=stride,
            threads=threads, progress=progress, batch_tokens=batch_tokens, special=special,
        )  # fmt: skip

    def entities(
        self,
        texts: Text | Sequence[Text] | Sequence[Sequence[Text]],
        *,
        aggregation_strategy: str = "simple",
        ignore_labels: Sequence[str] = ("O",),
        pretokenized: bool = False,
        stride: int | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        batch_tokens: int = BATCH_TOKENS,
        special: Special = "all",
    ) -> list[Any]:
        """Return the entities of a text, or of each of several, as a list of dicts.

        The keys are "entity_group", "score", the mean probability of the tokens, "word", the decoded text, and "start"
        and "end", the span in characters. `aggregation_strategy` "simple" merges neighbouring tokens with the same
        label; B- begins a new entity. "first", "average" and "max" first give all tokens of a word the same label: that
        of the first token, of the mean of their probabilities, or of the most certain token. "none" returns tokens, as
        `predict` does. Labels in `ignore_labels` are left out. With `pretokenized`, a text is a list of words, and
        spans refer to the words joined by spaces.

        A text that is too long is read in overlapping windows: each repeats the last `stride` tokens of the previous
        one, by default a quarter of a window; of overlapping entities the longest is kept, then the most probable.
        `progress` is called with (texts done, total); `threads`, `batch_tokens` and `special` are as in
        `SentenceEncoder.encode`. Raises TypeError for values that are not text, OptionError for invalid options.
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
            raise OptionError(
                f"stride is {stride!r}; it must be 0 to {room - 1}, because a window has room for {room} tokens"
            )
        given, is_one = _words_of(texts) if pretokenized else listed(cast("Text | Sequence[Text]", texts))
        cut = Truncation(max_length=self.max_length, stride=stride)
        made: list[list[Entity]] = []
        with nn.threads(nn.current_threads() if threads is None else threads):
            for first in range(0, len(given), BATCH_TEXTS):
                some = [self._read(text, cut, special) for text in given[first : first + BATCH_TEXTS]]
                scores = self._scores([window for read in some for window in read.windows], batch_tokens)
                for read in some:
                    found = [
                        entity
                        for window in read.windows
                        for entity in entities.joined(
                            self._tokens(read, window, next(scores)), self.labels, aggregation_strategy,
                            ignore_labels, self._to_text,
                        )
                    ]  # fmt: skip
                    made.append(entities.without_overlaps(found) if len(read.windows) > 1 else found)
                if progress is not None:
                    progress(len(made), len(given))
        return made[0] if is_one else made

    def _read(self, text: Text | Sequence[Text], cut: Truncation, special: Special) -> _Read:
        is_text = isinstance(text, TEXT)
        words = [_as_str(word) for word in ([text] if is_text else text)]
        whole = self.tokenizer(
            words[0] if is_text else words, pretokenized=not is_text, special=special, truncation=cut, padding=None
        )
        starts = [] if is_text else list(itertools.accumulate((len(word) + 1 for word in words), initial=0))
        return _Read(" ".join(words), starts, [whole, *whole.overflowing] if len(whole) else [])

    def _scores(self, windows: Sequence[Encoding], batch_tokens: int) -> Iterator[Floats]:
        """Yield the probabilities (T, labels) of the tokens of each window; all windows are computed together."""
        if not windows:
            return
        ids, types = (np.concatenate([window.column(name) for window in windows]).astype(np.int64)
                      for name in ("ids", "type_ids"))  # fmt: skip
        starts = np.concatenate([[0], np.cumsum([len(window) for window in windows])])
        yield from np.split(softmax(self._logits_of_ids(ids, starts, types, batch_tokens)), starts[1:-1])

    def _tokens(self, read: _Read, window: Encoding, scores: Floats) -> list[Token]:
        of_words = bool(getattr(self.tokenizer.definition.model, "continuing_subword_prefix", None))
        made = []
        columns = zip(
            window.ids, window.tokens, window.offsets, window.special_tokens_mask, window.word_ids, strict=True
        )
        for number, (id_, word, (start, end), is_special, word_id) in enumerate(columns):
            if is_special:
                continue
            if read.starts and word_id is not None:  # offsets are relative to a word
                start, end = start + read.starts[word_id], end + read.starts[word_id]
            shown = read.text[start:end]
            if id_ == self._unknown:
                word, goes_on = shown, False
            elif of_words:
                goes_on = len(word) != len(shown)
            else:  # transformers' heuristic if the vocabulary does not mark tokens that continue a word
                goes_on = start > 0 and " " not in read.text[start - 1 : start + 1]
            made.append(Token(number, word, scores[number], start, end, goes_on))
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


def _as_str(text: object) -> str:
    if not isinstance(text, TEXT):
        raise TypeError(f"a word is {type(text).__name__}; it must be str or bytes")
    return text if isinstance(text, str) else bytes(text).decode("utf-8", "replace")


def _words_of(texts: Any) -> tuple[list[Any], bool]:
    """Return the texts as lists of words, and whether a single one was given; TypeError for a str."""
    if isinstance(texts, TEXT):
        raise TypeError(f"a pretokenized text is {type(texts).__name__}; it must be a list of words")
    texts = list(ordered(texts))
    is_one = len(texts) > 0 and all(isinstance(word, TEXT) for word in texts)
    if not is_one and any(isinstance(text, TEXT) for text in texts):
        raise TypeError("texts contains both words and lists of words; give one list of words, or a list of such lists")
    return [texts] if is_one else list(texts), is_one
