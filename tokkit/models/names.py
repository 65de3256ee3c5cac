"""Names of models, in tokenizer.json and in messages."""

from __future__ import annotations

from tokkit.models.char_bpe import CharBPE
from tokkit.models.sentencepiece import SentencePieceModel

_KINDS = {"bpe": "BPE", "unigram": "Unigram", "word": "words", "char": "characters"}


def name_of(model: object) -> str:
    """Return the name of a model in tokenizer.json: "BPE" for BPE over bytes and over characters."""
    if isinstance(model, SentencePieceModel):
        return f"SentencePiece {_KINDS[model.kind]}"
    return "BPE" if isinstance(model, CharBPE) else type(model).__name__


def described(model: object) -> str:
    """Return the name of a model for messages, which distinguishes BPE over characters from BPE over bytes."""
    return "BPE over characters" if isinstance(model, CharBPE) else name_of(model)
