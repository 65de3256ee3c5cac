"""SentencePiece models for tests: hard cases trained by sentencepiece, and small random ones."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from tokkit.corpus import bundled
from tokkit.formats.sentencepiece import read_model, write_model
from tokkit.models.sentencepiece import (
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    SentencePieceModel,
    SentencePieceNormalizer,
)
from tokkit.vocab import Vocab

TRAPS: dict[str, dict[str, Any]] = {
    "plain": {},
    "user": {"user_defined_symbols": "ab abab New|York ▁▁▁▁ q th e ing 東 東京 <sep> \u0301x".replace(" ", ",").replace(
        "|", " "
    ).split(",")},
    "bytes": {"byte_fallback": True, "character_coverage": 0.98, "user_defined_symbols": ["ing", "th"]},
    "no prefix": {"add_dummy_prefix": False},
    "inner": {"split_by_whitespace": False},
    "kept spaces": {"remove_extra_whitespaces": False, "normalization_rule_name": "identity",
                    "allow_whitespace_only_pieces": True},
    "suffix": {"treat_whitespace_as_suffix": True},
    "case folded": {"normalization_rule_name": "nmt_nfkc_cf"},
    "verbatim": {"byte_fallback": True, "normalization_rule_name": "identity"},
    "nfkc": {"normalization_rule_name": "nfkc", "remove_extra_whitespaces": False},
}  # fmt: skip

SEPARATED = (
    " |  |   |\t|\n|\r\n|\u3000|\xa0|\u2581|\u2581\u2581|a|b|ab|abab|aba|th|ing|tin|q|e|é|x|ß|İ|ſ|Σ|0|00|123|9999|===="
    "|e\u0301|\u0301|\u0301x|か\u3099|が|ｶﾞ|ﾊﾟ|Ａ|①|㍿|ﬁ|\u200b|\ufeff|\0|\x01|\x7f|\U000e0000|\ufffd|\u0344|\ud7ff"
    "|New York| New York |<sep>|<s>|</s>|<unk>|<0x41>|東|東京|京|吾輩は猫である|的|한국|각|\u1100\u1161\u11a8|ا|ก|हि"
    '|🙂|👨\u200d👩|the |and |of |"Well," said| I was |----|!!!|.|. |e\u0323\u0301| \u0301|a\u0308'
)
PARTS = SEPARATED.split("|")


def strings(seed: int, n: int) -> Iterator[str]:
    """Yield n texts in which the rules of the normalizer and of traps meet."""
    rng = random.Random(seed)
    for _ in range(n):
        yield "".join(rng.choice(PARTS) for _ in range(rng.choice([1, 2, 3, 5, 8, 13, 30, 80])))


@cache
def trained(kind: str, trap: str) -> bytes:
    """Return a .model that sentencepiece trains on the bundled corpus and some Japanese, the same each time."""
    sentencepiece = pytest.importorskip("sentencepiece")
    texts = [path.read_text(encoding="utf-8") for path in bundled.paths()]
    lines = [line for text in texts for line in text.splitlines()[:150]]
    if trap == "kept spaces":
        lines = [line.replace(" ", "  ") for line in lines]
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*lines, *["吾輩は猫である。東京の名前はまだ無い。", "東京は京都ではない"] * 20]),
        model_writer=out,
        model_type=kind,
        vocab_size=3000,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
        **TRAPS[trap],
    )
    return out.getvalue()


def by_chance(seed: int, kind: str) -> SentencePieceModel:
    """Return a small model of pieces and scores by chance: ties, gaps, symbols, unused and unknown characters."""
    rng = random.Random(seed)
    letters = rng.sample(["a", "b", "é", "東", "京", "\u2581", "\u2581", "🙂", " "], 6)
    pieces = {letter: NORMAL for letter in letters if (kind == "unigram" and rng.random() < 0.8) or letter != " "}
    for _ in range(rng.choice([5, 20, 60])):
        text = "".join(rng.choice(letters) for _ in range(rng.choice([1, 2, 2, 3, 4])))
        pieces.setdefault(text, rng.choice([NORMAL] * 8 + [USER_DEFINED, UNUSED if seed % 3 == 0 else NORMAL]))
    texts = ["<unk>", "<s>", *pieces]
    few = [rng.uniform(-12, 0) for _ in range(rng.choice([2, 5, 100]))]
    scores = np.array([0.0, 0.0, *(rng.choice(few) for _ in pieces)], dtype=np.float32)
    if kind == "bpe" and seed % 2:
        scores = -np.arange(len(texts), dtype=np.float32)
    return SentencePieceModel(
        kind=kind,
        pieces=Vocab.from_list([text.encode() for text in texts]),
        scores=scores,
        types=np.array([UNKNOWN, CONTROL, *pieces.values()], dtype=np.uint8),
        normalizer=SentencePieceNormalizer(
            add_dummy_prefix=rng.random() < 0.7,
            remove_extra_whitespaces=rng.random() < 0.5,
            escape_whitespaces=rng.random() < 0.8,
        ),
        treat_whitespace_as_suffix=rng.random() < 0.2,
    )


def text_by_chance(rng: random.Random, most: int) -> str:
    """Return a text of what those models know, and a little that they do not."""
    return "".join(rng.choice("abaabé東京\u2581 🙂x") for _ in range(rng.randrange(most)))


__all__ = ["PARTS", "TRAPS", "by_chance", "read_model", "strings", "text_by_chance", "trained", "write_model"]
