"""Which options of `tokkit train` apply to which models, what they are in `train`, and their groups in --help."""

from collections.abc import Mapping
from typing import Any

from tokkit.cli import sentencepiece_options

NATIVE = ("bbpe", "bpe", "wordpiece", "word", "char", "hybrid")
"""Models whose special tokens may be text in a training; SentencePiece always cuts the text at them."""
MODELS = (*NATIVE, *sentencepiece_options.MODELS)
RESUMABLE = ("bbpe", "bpe", "wordpiece", "unigram", "sp-bpe")
"""Models whose training can be saved and resumed."""
BELONGS = {
    "special": NATIVE,
    "forbidden_tokens": ("bbpe", "bpe", "wordpiece", "word", "hybrid", "unigram", "sp-bpe", "sp-word"),
    "pattern": ("bbpe", "bpe", "word", "hybrid"),
    "max_token_length": ("bbpe",),
    "state": RESUMABLE,
    "state_every": RESUMABLE,
    "resume": RESUMABLE,
    "max_memory": RESUMABLE,
    "score": ("wordpiece",),
    "limit_alphabet": ("wordpiece", "hybrid"),
    "initial_alphabet": ("wordpiece",),
    "prefix": ("wordpiece", "hybrid"),
    "lowercase": ("bpe", "wordpiece", "word", "hybrid"),
    "strip_accents": ("wordpiece",),
    "handle_chinese_chars": ("wordpiece",),
    "max_input_chars_per_word": ("wordpiece",),
    "explain": ("bbpe", "bpe", "wordpiece", "unigram"),
    "watch": ("bbpe", "bpe", "wordpiece", "unigram"),
    "unk_token": ("bpe", "wordpiece", "word", "char", "hybrid"),
    "word_end": ("bpe",),
    "glossaries": ("bpe",),
    "suffix": ("bpe",),
    "dropout": ("bpe",),
    "level": ("char",),
    "fallback": ("hybrid",),
    **sentencepiece_options.BELONGS,
}
"""Option → the models that it applies to; other options apply to all models."""

GROUPS = {
    "Most used": ("output", "model", "vocab_size", "special_token", "pattern"),
    "Mixtures of sources": ("weights", "temperature"),
    "Several models": (
        "special",
        "forbidden_tokens",
        "min_frequency",
        "unk_token",
        "lowercase",
        "explain",
        "watch",
        "watch_text",
    ),
    "Long trainings": ("state", "state_every", "resume", "max_memory"),
    "Byte-level BPE": ("max_token_length",),
    "WordPiece": (
        *("score", "limit_alphabet", "initial_alphabet", "prefix", "strip_accents", "handle_chinese_chars"),
        "max_input_chars_per_word",
    ),
    "Classic BPE": ("word_end", "suffix", "dropout", "glossaries"),
    "Characters and hybrid": ("level", "fallback"),
    "SentencePiece's models": tuple(sentencepiece_options.BELONGS),
}
"""The groups of options in --help, before those that all commands share."""

GENERAL = ("model", "unit", "field", "input_errors", "threads")
"""Options of `tokkit.train` that no model has of its own."""


def of_training(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of models in `tokkit.train` from those of the command that were given."""
    made = {name: chosen[name] for name in BELONGS if name in chosen and name not in ("explain", "watch")}
    if made.get("max_sentence_length") == 0:
        made["max_sentence_length"] = None
    if chosen["min_frequency"] is not None:
        made["min_frequency"] = chosen["min_frequency"]
    if chosen["special_token"]:
        made["special_tokens"] = chosen["special_token"]
    return made
