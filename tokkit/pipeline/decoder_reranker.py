"""`DecoderReranker`: scores of pairs of texts, from a causal language model that answers yes or no."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import OptionError
from tokkit.pipeline import generation, memory
from tokkit.pipeline.reranking import Activation, Floats, Pair, Reranker, activation_of, pairs_of

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.pipeline.text_generator import TextGenerator

Ids = NDArray[np.int64]
INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
BEFORE = (
    "<|im_start|>system\n"
    "Judge whether the Document meets the requirements based on the Query and the Instruct provided. "
    'Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
PAIR = "<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}"
AFTER = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
BATCH_TOKENS = 1024
"""Tokens of documents that are read at once; their keys and values are in memory at the same time."""
LOG = logging.getLogger(__name__)


class DecoderReranker(Reranker):
    """A causal language model that was trained to answer whether a document meets a query, such as Qwen3-Reranker.

    The model reads `before`, `pair` with the instruction, the query and the document filled in, and `after`. The score
    comes from the logits of the tokens `yes` and `no` that follow: by default the probability of `yes` against `no`.
    The default texts are those that Qwen3-Reranker was trained with. The common prefix of all documents of a call,
    which includes the query, is read once. A text that looks like a special token stays text.

    >>> from tokkit import pipeline
    >>> model = pipeline.DecoderReranker(pipeline.load("Qwen3-Reranker-0.6B/"))  # doctest: +SKIP
    >>> model.rank("Where do herons fish?", ["At the bank.", "In the river."], top_k=1)  # doctest: +SKIP
    [{'corpus_id': 1, 'score': 0.97}]
    """

    def __init__(
        self,
        model: TextGenerator,
        *,
        instruction: str = INSTRUCTION,
        before: str = BEFORE,
        pair: str = PAIR,
        after: str = AFTER,
        yes: str = "yes",
        no: str = "no",
    ) -> None:
        for part in ("{query}", "{document}"):
            if part not in pair:
                raise OptionError(f"pair is {pair!r}; it must contain {part}")
        self.model, self.instruction, self._pair, self._told = model, instruction, pair, False
        self._answers = [self._token(name, text) for name, text in (("yes", yes), ("no", no))]
        encode = model.tokenizer.encode_to_numpy
        self._before, self._after = (encode(text, special="all", dtype="int64") for text in (before, after))
        if self._room < 1:
            raise OptionError(
                f"the model reads {model.max_length} tokens, and {len(self._before) + len(self._after)} of them "
                "surround the texts"
            )

    def __repr__(self) -> str:
        return f"<DecoderReranker {self.model!r}>"

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of the only score: the text of the token `yes`."""
        return (self.model.tokenizer.decode([self._answers[0]]),)

    @property
    def _room(self) -> int:
        return self.model.max_length - len(self._before) - len(self._after)

    def _token(self, name: str, text: str) -> int:
        ids = self.model.tokenizer.encode(text)
        if len(ids) != 1:
            raise OptionError(f"{name} is {text!r}, which is {len(ids)} tokens of this model; it must be one")
        return ids[0]

    def predict(
        self,
        inputs: Pair | Sequence[Pair],
        *,
        activation_fn: Activation | None = None,
        apply_softmax: bool = False,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
    ) -> Any:
        """Return the scores of pairs (query, document), float32 (n); of one pair, its.

        `activation_fn` is applied to the logit of `yes` minus that of `no`: by default the sigmoid, which gives a
        probability. `prompt` replaces the instruction. In a pair that is too long, the end of the document is cut; a
        warning is logged for the first one. There is only one label, so `apply_softmax` changes nothing, and there are
        no named prompts. Raises TypeError for values that are not text, OptionError for values that are not pairs.
        """
        if prompt_name is not None:
            raise OptionError(f"prompt_name is {prompt_name!r}; this model has no prompts: pass the text as prompt")
        change = activation_of("sigmoid" if activation_fn is None else activation_fn)
        first, second, is_one = pairs_of(inputs)
        instruction = self.instruction if prompt is None else prompt
        rows = [self._ids(instruction, query, document) for query, document in zip(first, second, strict=True)]
        made = np.empty((len(rows), 1), dtype=np.float32)
        with generation.threads(threads):
            for start, end in _runs(rows, first):
                made[start:end, 0] = self._margins(rows[start:end])
                if progress is not None:
                    progress(end, len(rows))
        scores = change(made)[:, 0]
        return scores[0] if is_one else scores

    def _ids(self, instruction: str, query: Text, document: Text) -> Ids:
        parts = {"query": _as_str(query), "document": _as_str(document), "instruction": instruction}
        # All in one pass, so that braces in a text are not taken for placeholders.
        text = re.sub(r"\{(query|document|instruction)\}", lambda found: parts[found[1]], self._pair)
        ids = self.model.tokenizer.encode_to_numpy(text, dtype="int64")
        if len(ids) > self._room and not self._told:
            self._told = True
            LOG.warning(
                "a pair has %d tokens; the model reads only %d, and the end of the document is cut (this warning is "
                "shown once)",
                len(ids), self._room,
            )  # fmt: skip
        return np.concatenate([self._before, ids[: self._room], self._after])

    def _margins(self, rows: Sequence[Ids]) -> Floats:
        """Return the logit of `yes` minus that of `no` after each row; all rows have a common prefix."""
        decoder, n = self.model.decoder, _common(rows)
        memory.check_cache(decoder, max(map(len, rows)), texts=len(rows) + 1)
        begun = decoder.cache()
        if n:
            decoder([rows[0][:n]], [begun])
        caches = [begun.copy(room=len(row) - n) for row in rows]
        hidden = decoder([row[n:] for row in rows], caches)
        last = np.cumsum([len(row) - n for row in rows]) - 1
        logits = generation.checked(decoder, decoder.logits(np.ascontiguousarray(hidden[last])), rows)
        margins: Floats = logits[:, self._answers[0]] - logits[:, self._answers[1]]
        return margins


def _as_str(text: Text) -> str:
    return text if isinstance(text, str) else bytes(text).decode("utf-8", "replace")


def _common(rows: Sequence[Ids]) -> int:
    """Return the length of the common prefix of all rows; it never includes the last id of a row."""
    shortest = min(map(len, rows)) - 1
    equal = np.all([row[:shortest] == rows[0][:shortest] for row in rows], axis=0)
    return shortest if equal.all() else int(equal.argmin())


def _runs(rows: Sequence[Ids], queries: Sequence[Text]) -> list[tuple[int, int]]:
    """Return (first, end) of rows to read at once: rows of one query, a few thousand tokens."""
    made, first, tokens = [], 0, 0
    for i, row in enumerate(rows):
        tokens += len(row)
        if i > first and (queries[i] != queries[first] or tokens > BATCH_TOKENS):
            made.append((first, i))
            first, tokens = i, len(row)
    return [*made, (first, len(rows))] if rows else []
