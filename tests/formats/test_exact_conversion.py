"""Saving in every format keeps all ids of adversarial texts, here and in the library of the format."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from conftest import LONG, SHARED
from sentencepiece_models import by_chance, text_by_chance
from strategies import adversarial
from tokkit.corpus import bundled
from tokkit.definition import definition_of
from tokkit.errors import FormatError
from tokkit.formats import FORMATS
from tokkit.models.char_bpe import CharBPE
from tokkit.models.sentencepiece import NORMAL, UNUSED, USER_DEFINED, SentencePieceModel
from tokkit.models.unigram import Unigram
from tokkit.tokenizer import Tokenizer

FILES = {
    "tokenizer.json": "x.json",
    "tiktoken": "x.tiktoken",
    "sentencepiece": "x.model",
    "gpt2": "x",
    "vocab.txt": "vocab.txt",
}
SYMBOLS = {"special_tokens": ["[CLS]", "☃☃", "e"], "character_coverage": 0.98}
RULES = {"ﬁ": "fi", "ab": "xy", "q": "kw", " x": "y", "\x07": ""}
TRAINED: dict[str, dict[str, Any]] = {
    "bbpe": {"vocab_size": 600, "special_tokens": ["<|end|>"]},
    "bbpe cl100k": {"vocab_size": 600, "pattern": "cl100k"},
    "bbpe whole": {"vocab_size": 600, "pattern": None},
    "bpe": {},
    "bpe punctuation": {"pattern": "punctuation", "unk_token": "[UNK]", "special_tokens": ["[UNK]"], "lowercase": True},
    "bpe attached": {"word_end": "attached", "glossaries": ["New York"]},
    "bpe none": {"word_end": "none", "unk_token": "[UNK]", "special_tokens": ["[UNK]"]},
    "wordpiece": {"limit_alphabet": 500},
    "wordpiece cased": {"limit_alphabet": 500, "lowercase": False, "score": "frequency", "max_input_chars_per_word": 9},
    "word": {},
    "word gpt2": {"pattern": "gpt2"},
    "char": {},
    "char bytes": {"level": "bytes"},
    "hybrid": {"limit_alphabet": 500},
    "hybrid bytes": {"fallback": "byte"},
    "hybrid bytes gpt2": {"fallback": "byte", "pattern": "gpt2"},
    "unigram": {},
    "unigram bytes": {"byte_fallback": True, **SYMBOLS, "special_tokens": ["[CLS]", "☃☃"]},
    "unigram kept": {"remove_extra_whitespaces": False, **SYMBOLS},
    "unigram bare": {"add_dummy_prefix": False, "normalization_rule_name": "nfkc_cf" if LONG else "identity"},
    "unigram identity": {"normalization_rule_name": "identity", "byte_fallback": True, "character_coverage": 0.98},
    "unigram rules": {"normalization_rules": RULES},
    "unigram suffix": {"treat_whitespace_as_suffix": True},
    "unigram symbols": {"user_defined_symbols": ["th", "ing", "☃"]},
    "sp-bpe": {},
    "sp-bpe bytes": {"byte_fallback": True, "character_coverage": 0.98},
    "sp-bpe kept": {"remove_extra_whitespaces": False, "normalization_rule_name": "identity", **SYMBOLS},
    "sp-bpe rules": {"normalization_rules": RULES, "add_dummy_prefix": False},
    "sp-bpe symbols": {"user_defined_symbols": ["th", "ing", "☃"]},
    "sp-word": {},
    "sp-char": {},
    "sp-char bytes": {"byte_fallback": True, "character_coverage": 0.9},
}  # fmt: skip
REFUSED = {
    ("unigram suffix", "tokenizer.json"),
    ("unigram symbols", "tokenizer.json"),
    ("sp-bpe symbols", "tokenizer.json"),
    ("sp-word", "tokenizer.json"),
}
"""What training can make and no tokenizer.json can say."""
PUBLISHED = (
    *("t5/tokenizer.json", "mistral-v1/tokenizer.model", "bert-base-uncased/vocab.txt", "gpt2/vocab.bpe"),
    *("openai-gpt/vocab.json", "starcoder"),
)
MORE_PUBLISHED = (
    "falcon/tokenizer.json",
    *("t5/spiece.model", "mistral-v1/tokenizer.json", "bert-base-multilingual-cased/tokenizer.json", "gpt-neox"),
    *("roberta-base/tokenizer.json", "clip/tokenizer.json", "xlnet/tokenizer.json", "phi-3/tokenizer.json"),
    *("modernbert/tokenizer.json", "mpt/tokenizer.json", "phi-2/tokenizer.json", "whisper-large-v3/tokenizer.json"),
    *("sentencepiece-test/test_model.model", "sentencepiece-test/test_ja_model.model", "cl100k_base.tiktoken"),
)
TRAPS = (
    *("", " ", "   ", " a", "a ", "  a  b  ", "▁", "▁a▁", "a\r\nb", "\x85", "a\x85b", "\x00", "\x01", " \x01 "),
    *("e\u0301\u0316", "ﬁ\u0341", "ﬁ", "\u1100\u1161", "\u1100\u1161\u11a8", "Ａ\u0301", "\u0301", "か\u3099"),
    *("0" * 11, "-" * 7, "lll", "aaaaa", "<unk>", "<0x41>", "<0x<0x41>", "</s>", "a<s>b", "＜unk＞", "[UNK]", "[CLS]x"),
    *("☃☃", "☃☃☃", "☃", "\ue000", "low\ue000", "</w>", "xab", " ab", "qab x", "New York New  York", "##a", "<|end|>"),
    *("e\ufdd0\u0301", "\ufdd0\ufdd1", "\x07a", "\U0001611e" * 3 + "\U0001611f", "\U00016d63\U00016d67\U00016d67"),
)  # fmt: skip


@functools.cache
def corpus() -> tuple[str, ...]:
    return tuple(line for path in bundled.paths() for line in path.read_text(encoding="utf-8").splitlines()[:250])


@functools.cache
def trained(name: str) -> Tokenizer:
    model = name.split()[0]
    options = {"vocab_size": 2600, **TRAINED[name]}
    if model in ("unigram", "sp-bpe", "sp-word", "sp-char"):
        options["hard_vocab_limit"] = False
    return tokkit.train(iter(corpus()), model=model, **options)


def texts(tok: Tokenizer, seed: int, n: int) -> Iterator[str]:
    """Yield traps, adversarial texts, and texts of what the tokenizer knows."""
    rng = random.Random(seed)
    yield from TRAPS
    yield from (adversarial(rng.getrandbits(32), rng.choice((3, 10, 40, 150))) for _ in range(n))
    known = [token.decode(errors="replace").replace("▁", " ") for token in tok.vocab if token]
    known += [text.replace(" ", "▁") for text in rng.choices(known, k=20)]
    for _ in range(3 * n):
        yield "".join(rng.choice(known) for _ in range(rng.randint(1, 6)))
    for text in rng.choices(known, k=n):
        yield from (text * times for times in (1, 2, 3, 7))
    yield from (f"{chr(rng.randrange(0xE000, 0x30000))}\u0301a" for _ in range(n))


def convertible(model: SentencePieceModel, seed: int) -> SentencePieceModel:
    """Return a model by chance, most of the time without what components never have, and with sums that are exact."""
    if seed % 4 == 0:
        return model
    types = np.where(np.isin(model.types, (UNUSED, USER_DEFINED)), NORMAL, model.types)
    normalizer = replace(model.normalizer, escape_whitespaces=True)
    scores = np.rint(model.scores * 8) / 8
    return replace(model, types=types, scores=scores, normalizer=normalizer, treat_whitespace_as_suffix=False)


def rival_of(path: Path, format: str) -> Callable[[str], list[int]] | None:
    """What the library of the format makes of a text, special tokens in it being text."""
    if format == "tokenizer.json":
        tokenizers = pytest.importorskip("tokenizers")
        made = tokenizers.Tokenizer.from_file(str(path))
        made.encode_special_tokens = True
        return lambda text: made.encode(text, add_special_tokens=False).ids
    if format == "sentencepiece":
        sentencepiece = pytest.importorskip("sentencepiece")
        return sentencepiece.SentencePieceProcessor(model_file=str(path)).encode
    return None


def check(tok: Tokenizer, format: str, folder: Path, examples: Iterator[str], is_of: str = "") -> bool:
    """Save in a format: whether it is written, and then all ids have to be equal."""
    path = folder / FILES.get(format, format)
    try:
        tok.save(path, format=format)
    except FormatError:
        return False
    there = tokkit.load(path)
    # What tokkit does otherwise than tokenizers on purpose, test_differences.py has.
    rival = None if format == is_of else rival_of(path, format)
    for text in examples:
        for special in ("text", "all"):
            assert there.encode(text, special=special) == tok.encode(text, special=special), (special, text)
        if rival is not None:
            assert rival(text) == tok.encode(text), text
    return True


@pytest.mark.parametrize("name", TRAINED)
def test_what_is_trained_here_is_saved_with_equal_ids_or_not_at_all(name: str, tmp_path: Path) -> None:
    tok = trained(name)
    written = {f for f in FORMATS if check(tok, f, tmp_path, texts(tok, 7, 2000 if LONG else 20))}
    assert ("tokenizer.json" in written) == ((name, "tokenizer.json") not in REFUSED)
    assert ("sentencepiece" in written) >= (name.split()[0] in ("unigram", "sp-bpe", "sp-word", "sp-char"))


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_models_by_chance_are_saved_with_equal_ids_or_not_at_all(kind: str, tmp_path: Path) -> None:
    written = 0
    for seed in range(2000 if LONG else 60):
        tok = Tokenizer(definition_of(convertible(by_chance(seed, kind), seed)))
        rng = random.Random(seed)
        given = itertools.chain((text_by_chance(rng, 20) for _ in range(60)), TRAPS[:20])
        written += check(tok, "tokenizer.json", tmp_path, given)
        (tmp_path / "x.json").unlink(missing_ok=True)
    assert written


@pytest.mark.parametrize("name", [*PUBLISHED, *(MORE_PUBLISHED if LONG else ())])
def test_published_files_are_saved_with_equal_ids_or_not_at_all(name: str, tmp_path: Path) -> None:
    if not (SHARED / "vocabs" / name).exists():
        pytest.skip("needs published vocabularies: set TOKKIT_SHARED_DATA to their folder")
    tok = tokkit.load(SHARED / "vocabs" / name)
    is_of = "tokenizer.json" if isinstance(tok.definition.model, Unigram | CharBPE) else ""
    for format in FORMATS:
        check(tok, format, tmp_path, texts(tok, 11, 1000 if LONG else 12), is_of)
