"""Models that sentencepiece trains on the bundled corpus, one for each feature of a model."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strategies import adversarial

sentencepiece = pytest.importorskip("sentencepiece")

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"
KINDS = ("unigram", "bpe", "word", "char")
SYMBOLS = ["ab", "abab", "New York", "th", "▁▁", "ing"]
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "bytes": {"byte_fallback": True, "character_coverage": 0.98},
    "suffix": {"treat_whitespace_as_suffix": True},
    "symbols": {"user_defined_symbols": SYMBOLS, "control_symbols": ["<ctl>", "~"], "pad_id": 3},
    "spaces": {"add_dummy_prefix": False, "remove_extra_whitespaces": False},
    "identity": {
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "byte_fallback": True,
        "user_defined_symbols": ["\n", "  "],
    },
    "across": {"split_by_whitespace": False, "normalization_rule_name": "nfkc_cf"},
}
NAMES = [f"{kind}-{variant}" for kind in KINDS for variant in VARIANTS]


def lines() -> list[str]:
    """A few hundred lines of English and Japanese."""
    names = ("english", "japanese", "white-space")
    texts = [(CORPUS / f"{name}.txt").read_text(encoding="utf-8") for name in names]
    return [line for text in texts for line in text.splitlines()]


@functools.cache
def model(name: str) -> bytes:
    """The bytes of a model by its name, "unigram-bytes"."""
    kind, variant = name.split("-")
    options = {"vocab_size": 1400, "model_type": kind, "minloglevel": 3, "num_threads": 1, **VARIANTS[variant]}
    options |= {"hard_vocab_limit": False} if kind == "unigram" else {}
    options |= {"use_all_vocab": True} if kind in ("word", "char") else {}
    return train(lines(), **options)


def train(texts: list[str], **options: Any) -> bytes:
    """The bytes of a model of texts."""
    import io

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_writer=out, **options)
    return out.getvalue()


def texts() -> Iterator[str]:
    """Texts that models may cut wrongly: of many scripts, with symbols, spaces and what stands for them."""
    yield from ("", " ", "   ", "▁", "a▁", " ▁ ", "▁▁a▁▁", "\u3000", "a\u3000", "~ <s> </s> <ctl> <unk>", "\n\n  x")
    yield from ("New York New York abab ababab writhing", "東京は素晴らしい", "e\u0301ﬁ\0a", "a" * 50, "\ufffd\x85")
    rng = random.Random(1)
    parts = ("ab", "th", "ing", "New York", " ", "▁", "\n", "x", "東", "~", "<s>", "e", "\u0301", "🦜", "\r\n")
    for _ in range(120):
        yield "".join(rng.choice(parts) for _ in range(rng.randrange(30)))
    for seed in range(60):
        yield adversarial(seed, 150).encode("utf-8", "replace").decode()
    for path in sorted(CORPUS.glob("*.txt")):
        yield path.read_text(encoding="utf-8")[:1500]
