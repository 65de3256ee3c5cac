"""Tokens of a text as spans in its bytes, for the pages of tokens and the playground."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit.engine.decoding import decoding_of
from tokkit.models.sentencepiece import SPACE, SentencePieceModel

if TYPE_CHECKING:
    from tokkit.encoding import Encoding
    from tokkit.engine.special_tokens import Special
    from tokkit.tokenizer import Tokenizer

Told = tuple[str, "float | None", int]
"""The bytes of a token in hexadecimal, its score if the model has one, and whether it is special."""


Spellings = tuple[list[bytes], dict[int, bytes]]
"""The bytes that each id adds to a text, and those of ids that add others at its start."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenSpans:
    """Tokens and their spans in a text's UTF-8: ids (n,), starts (n,), ends (n,), all uint32.

    Spans are in order and never overlap. A span is empty if the token has no text of its own: it was added, or shares
    its text with the token before.
    """

    ids: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    ends: NDArray[np.uint32]

    @classmethod
    def of(cls, encoding: Encoding, space: int | None = None) -> TokenSpans:
        """Return the tokens of an encoding of one text.

        `space` is the id of the token that is only a space mark, if any.

        In tokenizer.json pipelines, this token has the span of the next character, which belongs to the next token.
        """
        spans, ids = encoding.column("byte_offsets"), encoding.column("ids")
        if space is not None and len(ids):
            shared = (ids == space) & (spans[:, 0] == np.append(spans[1:, 0], -1))
            spans = np.where(shared[:, None], spans[:, :1], spans)
        ends = np.maximum.accumulate(spans[:, 1]) if len(spans) else spans[:, 1]
        before = np.concatenate([[0], ends[:-1]])[: len(ends)]
        starts = np.where(spans[:, 1] > before, np.maximum(spans[:, 0], before), before)
        return cls(ids, starts.astype(np.uint32), ends.astype(np.uint32))

    def __len__(self) -> int:
        return len(self.ids)

    def between(self, first: int, last: int) -> tuple[int, TokenSpans]:
        """Return the tokens that overlap bytes `first` to `last`, and the index of the first one."""
        a = int(np.searchsorted(self.ends, first, "right" if first else "left"))
        b = max(a, int(np.searchsorted(self.starts, last, "right")))
        return a, TokenSpans(self.ids[a:b], self.starts[a:b], self.ends[a:b])


def encoded(tok: Tokenizer, text: str | bytes, *, special: Special = "text", add_special: bool = False) -> TokenSpans:
    """Return the tokens of a whole text, without truncation and padding."""
    encoding = tok(text, special=special, add_special=add_special, truncation=None, padding=None)
    return TokenSpans.of(encoding, tok.vocab.get(SPACE))


def spellings_of(tok: Tokenizer) -> Spellings | None:
    """Return what each id adds to a text; None if that depends on the token after it."""
    return decoding_of(tok.definition).spellings()


def decoded(tok: Tokenizer, ids: Sequence[int], spelt: Spellings | None = None) -> tuple[bytes, TokenSpans]:
    """Return the bytes of ids, and what each of them adds to these; VocabError for an id without a token.

    `spelt` is what `spellings_of` returns, which takes a moment to make; without it a text that depends on the token
    after it belongs to that token. Unknown tokens of SentencePiece have no text.

    >>> import tokkit
    >>> tok = tokkit.train({"low": 5, "lower": 2}, vocab_size=258)
    >>> text, spans = decoded(tok, [257, 68, 81])
    >>> text, spans.starts.tolist(), spans.ends.tolist()
    (b'lower', [0, 3, 4], [3, 4, 5])
    """
    tok.decode_bytes(ids)  # which checks them
    if spelt is None:
        stream = tok.decode_stream()
        parts = [stream.step(id_).encode() for id_ in ids]
        if rest := stream.flush().encode():
            parts[-1] += rest
    else:
        texts, first = spelt
        parts = [texts[id_] for id_ in ids]
        parts[:1] = [first.get(id_, texts[id_]) for id_ in ids[:1]]
    ends = np.cumsum([len(part) for part in parts], dtype=np.uint32)
    starts = np.append(np.uint32(0), ends[:-1])[: len(ends)].astype(np.uint32)
    return b"".join(parts), TokenSpans(np.array(ids, dtype=np.uint32), starts, ends)


def scores_of(tok: Tokenizer) -> NDArray[Any] | None:
    """Return the score of each id, if the model has scores: Unigram, or a SentencePiece model."""
    model = tok.definition.model
    if isinstance(model, SentencePieceModel):
        return model.scores
    scores: NDArray[Any] | None = getattr(model, "scores", None)
    return scores


def told(tok: Tokenizer, ids: Iterable[int]) -> dict[int, Told]:
    """Return the facts about each id; ids without a token are left out."""
    scores, special = scores_of(tok), set(tok.special_tokens.values())
    made: dict[int, Told] = {}
    for id_ in sorted({int(id_) for id_ in ids}):
        try:
            spelt = tok.vocab[id_].hex()
        except KeyError:
            continue
        score = None if scores is None or id_ >= len(scores) else round(float(scores[id_]), 6)
        made[id_] = spelt, score, int(id_ in special)
    return made


def trimmed(utf8: bytes, spans: TokenSpans) -> list[tuple[int, int]]:
    """Return (start, end) of each token without white space at its ends, to compare tokens."""
    made = []
    for start, end in zip(spans.starts.tolist(), spans.ends.tolist(), strict=True):
        token = utf8[start:end]
        left = len(token) - len(token.lstrip())
        made.append((start + left, start + left + len(token.strip())))
    return made
