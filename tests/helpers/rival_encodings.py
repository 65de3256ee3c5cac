"""Turns an Encoding of tokenizers into one of tokkit, and lists all columns of both to compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokkit.encoding import Encoding
from tokkit.vocab import Vocab

if TYPE_CHECKING:
    import tokenizers


def vocab_of(rival: tokenizers.Tokenizer) -> Vocab:
    """All tokens of a tokenizer, added ones too, by the UTF-8 of their strings."""
    tokens = [b""] * (max(rival.get_vocab().values()) + 1)
    for token, id_ in rival.get_vocab().items():
        tokens[id_] = token.encode()
    return Vocab.from_list(tokens)


def plain(rival: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """A copy that neither pads nor truncates nor adds tokens."""
    import tokenizers

    made = tokenizers.Tokenizer(rival.model)  # which both have then: to write and read it takes a second
    if rival.normalizer is not None:
        made.normalizer = rival.normalizer
    if rival.pre_tokenizer is not None:
        made.pre_tokenizer = rival.pre_tokenizer
    if rival.decoder is not None:
        made.decoder = rival.decoder
    for _, token in sorted(rival.get_added_tokens_decoder().items()):
        made.add_special_tokens([token]) if token.special else made.add_tokens([token])
    return made


def ours(theirs: tokenizers.Encoding, vocab: Vocab, text: str) -> Encoding:
    """Our encoding of a text of which tokenizers' is `theirs`, without special tokens."""
    bytes_before = np.cumsum([0, *(len(character.encode()) for character in text)])
    spans = bytes_before[np.array(theirs.offsets, dtype=np.int64).reshape(-1, 2)]
    words = np.array([-1 if word is None else word for word in theirs.word_ids], dtype=np.int32)
    return Encoding(np.array(theirs.ids, dtype=np.uint32), spans, words, vocab, text)


def said(encoding: Encoding | tokenizers.Encoding) -> dict[str, object]:
    """All that an encoding says of itself, what overflows included."""
    return {
        "ids": encoding.ids,
        "tokens": encoding.tokens,
        "offsets": encoding.offsets,
        "word_ids": encoding.word_ids,
        "type_ids": encoding.type_ids,
        "sequence_ids": encoding.sequence_ids,
        "attention_mask": encoding.attention_mask,
        "special_tokens_mask": encoding.special_tokens_mask,
        "n_sequences": encoding.n_sequences,
        "n": len(encoding),
        "overflowing": [said(part) for part in encoding.overflowing],
    }


def looked_up(encoding: Encoding | tokenizers.Encoding, n_characters: int) -> list[object]:
    """What every look-up answers, for all tokens, characters and words of three sequences, and some beyond."""
    # One past the last token is left out: there tokenizers says sequence 0, and we say none.
    tokens = (*range(len(encoding)), len(encoding) + 1)
    words = range(max([-1, *(word for word in encoding.word_ids if word is not None)]) + 3)
    found: list[object] = [
        [(encoding.token_to_sequence(i), encoding.token_to_chars(i), encoding.token_to_word(i)) for i in tokens]
    ]
    for s in range(3):
        found.append([(encoding.char_to_token(c, s), encoding.char_to_word(c, s)) for c in range(n_characters + 2)])
        found.append([(encoding.word_to_tokens(w, s), encoding.word_to_chars(w, s)) for w in words])
    return found
