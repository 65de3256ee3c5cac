"""Twice as much text takes at most twice the work, for every call and adversarial text.

Work is counted (work.py), not timed. A quadratic loop gives four; sorting and heaps give little more than two.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tokkit
from adversarial_kinds import KINDS
from conftest import LONG
from tokkit.compat.sentencepiece import SentencePieceProcessor
from tokkit.formats import tokenizer_json
from work import FEW, MAX_GROWTH, work_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="counters are read through ctypes from .so files")

N = 4000 if LONG else 1500
MAX_GROWTH_OF_TRAINING = 2.8  # of random text: the longer it is, the longer are the parts that occur again
CORPUS = sorted(Path(__file__).parents[2].glob("data/corpus/[e-j]*.txt"))
TEXTS = KINDS | {
    "lines": lambda n: "The quick brown fox.\n" * (n // 21),
    "special tokens": lambda n: "<s>" * (n // 3),
    "beginnings of special tokens": lambda n: "<s" * (n // 2),
    "brackets": lambda n: "<" * n,
}
FEW_KINDS = ["one letter", "spaces", "combining marks", "random Han", "two random letters", "special tokens"]
KINDS_HERE = list(TEXTS) if LONG else FEW_KINDS


@functools.cache
def text_of(kind: str, n: int) -> str:
    return TEXTS[kind](n)


def trained(model: Any, **options: Any) -> tokkit.Tokenizer:
    return tokkit.train(CORPUS, model=model, vocab_size=1500, **options)


def of_components(**parts: Any) -> tokkit.Tokenizer:
    """A tokenizer.json of characters and some longer tokens."""
    tokens = ["<unk>", "<s>", *map(chr, range(32, 127)), "aa", "aaaa", "▁", "▁a", "ab", "th", "the", "\n", "e\u0301"]
    model = {"type": "Unigram", "unk_id": 0, "vocab": [[t, -float(len(tokens) - i)] for i, t in enumerate(tokens)]}
    made: dict[str, Any] = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "decoder"))
    added = {"id": 1, "content": "<s>", "special": True, "normalized": False}
    added |= dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    made |= {"version": "1.0", "added_tokens": [added], "post_processor": None, "model": model} | parts
    return tokkit.Tokenizer(tokenizer_json.read(json.dumps(made).encode()))


def in_turn(kind: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", kind: list(parts)}


def split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
TOKENIZERS: dict[str, Callable[[], tokkit.Tokenizer]] = {
    "byte-level BPE": lambda: trained("bbpe", special_tokens=["<s>"]),
    "byte-level BPE by a pattern of one's own": lambda: trained("bbpe", pattern=r"a*b|\p{L}+(?=\d)|\s+(?!\S)|."),
    "byte-level BPE in one piece": lambda: trained("bbpe", pattern=None),
    "classic BPE": lambda: trained("bpe", special_tokens=["<unk>", "<s>"], unk_token="<unk>"),
    "WordPiece": lambda: trained("wordpiece"),
    "Unigram": lambda: trained("unigram", hard_vocab_limit=False, character_coverage=0.98),
    "SentencePiece BPE": lambda: trained("sp-bpe", byte_fallback=True, hard_vocab_limit=False),
    "words": lambda: trained("word"),
    "words and bytes": lambda: trained("hybrid", fallback="byte"),
    "components with forms": lambda: of_components(
        normalizer=in_turn("normalizers", {"type": "NFKC"}, {"type": "Lowercase"}, STRIP, {"type": "StripAccents"}),
        pre_tokenizer=METASPACE,
        decoder=METASPACE,
    ),
    "components with patterns": lambda: of_components(
        normalizer={"type": "Replace", "pattern": {"Regex": " {2,}|a*b"}, "content": " "},
        pre_tokenizer=in_turn("pretokenizers", split(r"a*b|\p{L}+"), {"type": "Digits", "individual_digits": True}),
    ),
    "patterns that regex runs": lambda: of_components(pre_tokenizer=split(r"(?=\p{L}{2})\p{L}|\p{P}+")),
}


def by_characters(tok: tokkit.Tokenizer, text: str, **options: Any) -> None:
    stream = tok.encode_stream(**options)
    for character in text:
        stream.feed(character)
    stream.flush()


def from_file(tok: tokkit.Tokenizer, text: str, folder: Path) -> None:
    (folder / "text").write_text(text, encoding="utf-8")
    tok.encode_file(folder / "text", folder / "ids.npy", threads=1)


def decoded_by_steps(tok: tokkit.Tokenizer, text: str) -> None:
    stream = tok.decode_stream()
    for id_ in tok.encode(text):
        stream.step(id_)
    stream.flush()


def unstable(tok: tokkit.Tokenizer, text: str) -> None:
    with contextlib.suppress(tokkit.OptionError):  # of byte-level BPE alone
        tok.encode_with_unstable(text)


def truncated(tok: tokkit.Tokenizer, text: str) -> None:
    tok.truncate(text, len(text) // 8)
    tok(text).truncate(100, stride=50)


CALLS: dict[str, Callable[[tokkit.Tokenizer, str, Path], object]] = {
    "encode": lambda tok, text, _: tok.encode(text),
    "encode, special tokens found": lambda tok, text, _: tok.encode(text, special="all"),
    "encode_to_numpy of bytes": lambda tok, text, _: tok.encode_to_numpy(text.encode()),
    "encode_batch": lambda tok, text, _: tok.encode_batch([text, text[:9]], threads=1),
    "encodings": lambda tok, text, _: tok.encodings([text]),
    "encode_padded": lambda tok, text, _: tok.encode_padded([text, "a"]),
    "call": lambda tok, text, _: tok(text).as_arrays("ids", "offsets", "word_ids"),
    "call, lists": lambda tok, text, _: (tok(text, special="all").tokens, tok(text).offsets, tok(text).token_bytes),
    "count": lambda tok, text, _: tok.count(text),
    "fits": lambda tok, text, _: tok.fits(text, 10),
    "truncate": lambda tok, text, _: truncated(tok, text),
    "stages": lambda tok, text, _: [stage for stage, _ in tok.stages(text)],
    "encode_stream": lambda tok, text, _: by_characters(tok, text),
    "encode_stream, special tokens found": lambda tok, text, _: by_characters(tok, text, special="all"),
    "encode_file": from_file,
    "encode_with_unstable": lambda tok, text, _: unstable(tok, text),
    "decode": lambda tok, text, _: tok.decode(tok.encode(text)),
    "decode_bytes": lambda tok, text, _: tok.decode_bytes(tok.encode(text)),
    "decode_batch": lambda tok, text, _: tok.decode_batch([tok.encode(text)]),
    "decode_stream": lambda tok, text, _: decoded_by_steps(tok, text),
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_twice_the_text_is_twice_the_work(name: str, tmp_path: Path) -> None:
    definition = TOKENIZERS[name]().definition
    tokkit.Tokenizer(definition).encode("a")  # what is made once, is made
    found = {}
    for turn, kind in enumerate(KINDS_HERE):
        for at, (call, run) in enumerate(CALLS.items()):
            if not LONG and (turn + at + list(TOKENIZERS).index(name)) % 5:
                continue  # every fifth of all combinations, so that each call has each kind of text
            # Each time a tokenizer that has cached nothing.
            once, twice = (work_of(run, tokkit.Tokenizer(definition), text_of(kind, n), tmp_path) for n in (N, 2 * N))
            if twice > MAX_GROWTH * once + FEW:
                found[kind, call] = (once, twice)
    assert not found


TRAINED = ("bbpe", "bpe", "wordpiece", "unigram", "sp-bpe", "word", "char", "hybrid")


@pytest.mark.parametrize("model", TRAINED)
def test_twice_the_corpus_is_twice_the_work_of_training(model: Any) -> None:
    more: dict[str, Any] = {"hard_vocab_limit": False} if model in ("unigram", "sp-bpe") else {}
    found = {}
    for kind in KINDS_HERE:
        texts = [text_of(kind, n) for n in (N, 2 * N)]
        if model in ("unigram", "sp-bpe"):
            texts = [text.replace("\n", " ") for text in texts]
            more["max_sentence_length"] = 100_000
        try:
            once, twice = (
                work_of(tokkit.train, iter([text]), model=model, vocab_size=20_000, threads=1, **more) for text in texts
            )
        except tokkit.CorpusError:  # nothing but white space
            continue
        if twice > MAX_GROWTH_OF_TRAINING * once + FEW:
            found[kind] = (once, twice)
    assert not found


def test_twice_the_text_is_twice_the_work_of_sampling_and_levels(tmp_path: Path) -> None:
    words, unigram = TOKENIZERS["words"](), TOKENIZERS["Unigram"]()
    unigram.save(tmp_path / "unigram.model")
    model = SentencePieceProcessor(model_file=tmp_path / "unigram.model")
    calls: dict[str, Callable[[str], object]] = {
        "sample": lambda text: model.encode(text, enable_sampling=True, alpha=0.1, nbest_size=-1),
        "align": lambda text: tokkit.align(text, {"a": unigram, "b": words}).map("a", "b"),
    }
    found = {}
    for kind in KINDS_HERE:
        for call, run in calls.items():
            once, twice = (work_of(run, text_of(kind, n)) for n in (N, 2 * N))
            if twice > MAX_GROWTH * once + FEW:
                found[kind, call] = (once, twice)
    assert not found
