"""`ClassifierModel`: texts, or pairs of texts, → the logits of a classifier's head."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit import nn
from tokkit.encoding.length_rules import Padding, Truncation
from tokkit.errors import FormatError, OptionError
from tokkit.pipeline.encoder_model import EncoderModel
from tokkit.postprocessors.batch import batch
from tokkit.postprocessors.plain import Plain

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.engine.special_tokens import Special
    from tokkit.pipeline.task_heads import Head

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
BATCH_TOKENS = 4096
"""Tokens whose states are in memory at once, as in `SentenceEncoder`."""
BATCH_TEXTS = 256
"""Texts that are tokenized at once, to build rows of equal lengths."""
LOG = logging.getLogger(__name__)


class ClassifierModel(EncoderModel):
    """An encoder with a classification head; `tokkit.pipeline.load` creates it from a folder.

    A pickle contains the path of the folder and the options of loading, not the weights.
    """

    def __init__(
        self, *args: Any, head: Head, reload: Callable[[], ClassifierModel], left: bool = False, **options: Any
    ) -> None:
        super().__init__(*args, left=left, **options)
        self._labels_head, self._reload, self._told = head, reload, False
        self._truncation = Truncation(max_length=self.max_length, direction="left" if left else "right")

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.folder.name}: {self.n_layers} layers, {len(self.labels)} labels, "
            f"at most {self.max_length} tokens>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reload, ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels, in the order of the logits."""
        return self._labels_head.labels

    def _logits_of(
        self, texts: Sequence[Text], pairs: Sequence[Text] | None, special: Special, batch_tokens: int
    ) -> Floats:
        """Return the logits of texts or pairs, truncated to the maximum length of the model.

        Of a pair the longer text first.
        """
        threads = nn.current_threads()
        sides = [self.tokenizer.encode_batch(side, special=special, threads=threads)
                 for side in (texts, pairs) if side is not None]  # fmt: skip
        processor = self.tokenizer.definition.postprocessor or Plain()
        rows = batch(processor, sides, Padding(), truncation=self._truncation)
        kept = rows.attention_mask.view(bool)
        starts = np.concatenate([[0], np.cumsum(kept.sum(1, dtype=np.int64))])
        whole = sum(np.diff(offsets) for _, offsets in sides) + processor.n_added(pair=len(sides) == 2)
        self._tell(int(np.max(whole, initial=0)))
        return self._logits_of_ids(
            rows.ids[kept].astype(np.int64), starts, rows.type_ids[kept].astype(np.int64), batch_tokens
        )

    def _logits_of_ids(self, ids: Ints, starts: Ints, types: Ints, batch_tokens: int) -> Floats:
        """Return the logits of packed sequences, computed a few thousand tokens at a time."""
        # Tokenizers return type ids of a pair even if the model has no table of token types.
        typed = self._spec.types > 1 and bool(types.any())
        found = [np.empty((0, len(self.labels)), dtype=np.float32)]
        for first, end in token_batches(starts, batch_tokens):
            a, b = starts[first], starts[end]
            here = starts[first : end + 1] - a
            x = self.encoder.embeddings(ids[a:b], here, types[a:b] if typed else None)
            self.encoder.run(x, here)
            found.append(self._labels_head(x, here, ids[a:b]))
        made = np.concatenate(found)
        if not np.isfinite(made).all():
            raise FormatError("the logits of the model are NaN or infinite; its weights may be damaged")
        return made

    def _tell(self, length: int) -> None:
        if not self._told and length > self.max_length:
            self._told = True
            LOG.warning(
                "a text has %d tokens; the model reads only the first %d (this warning is shown once)",
                length, self.max_length,
            )  # fmt: skip


def check_batch_tokens(batch_tokens: int) -> None:
    """Raise OptionError unless `batch_tokens` is a number of tokens."""
    if isinstance(batch_tokens, bool) or not isinstance(batch_tokens, int) or batch_tokens < 1:
        raise OptionError(f"batch_tokens is {batch_tokens!r}; it must be an int of at least 1")


def token_batches(starts: Ints, batch_tokens: int) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of batches of sequences with about `batch_tokens` tokens, at least one sequence each."""
    n, first = len(starts) - 1, 0
    while first < n:
        end = int(np.searchsorted(starts, starts[first] + batch_tokens, side="right")) - 1
        end = min(max(end, first + 1), n)
        yield first, end
        first = end
