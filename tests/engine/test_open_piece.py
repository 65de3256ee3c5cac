"""A word that may continue is cut only where the ids stay the same, whatever follows."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tokkit
from conftest import LONG, SPECIALS
from strategies import adversarial
from tokkit.definition import Definition, Split
from tokkit.models.bpe import BPE
from tokkit.pretokenizers import patterns
from tokkit.vocab import Vocab

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("gpt2", "cl100k", "o200k", "qwen2", "kimi-k2", "deepseek-v3", "none")
CUSTOM = (r"\w+|\W", r"(?:ab)+|\s+(?!\S)|[^\s]+|\s+", r"a+b|[a-c]|.", r"\S+\n*|\s+")
ENDS = ("", "a", "b", "A", "é", "漢", "1", " ", "  x", "\n", " \n", "'s", "!", "!\n", "\u0301", "<|end|>", "aaabaabaab")


def short_tokens(seed: int, n: int) -> Vocab:
    """All bytes, and tokens of up to six letters, that merge in an order of no sense."""
    rng = random.Random(seed)
    made = {"".join(rng.choices("aabcA é漢\n!", k=rng.randint(2, 4))).encode()[:6] for _ in range(n)}
    made |= {letter.encode() * k for letter in "a \n" for k in (2, 4)}
    return Vocab.from_list([bytes([k]) for k in range(256)] + rng.sample(sorted(made), len(made)))


def reachable(vocab: Vocab) -> Vocab:
    """The tokens that merging makes."""
    tok = tokkit.Tokenizer(Definition(vocab, BPE(), Split(None)))
    kept = [token for id_, token in enumerate(vocab) if id_ < 256 or id_ in tok._engine.merges()[:, 2]]
    return vocab if len(kept) == len(vocab) else reachable(Vocab.from_list(kept))


def runs(seed: int, n: int) -> list[str]:
    """Words and runs that may be divided."""
    rng = random.Random(seed)
    letters = ["a", "ab", "aabc", "aA", "é漢", " ", "\n", "!", "abc漢"]
    made = ["".join(rng.choices(rng.choice(letters), k=rng.randint(60, 300))) for _ in range(n)]
    return [rng.choice(["", " ", "x ", "\n", "1"]) + text for text in made]


@pytest.mark.parametrize("name", [*NAMES, *CUSTOM])
def test_a_divided_word_has_the_ids_of_the_whole_whatever_follows(name: str) -> None:
    divided = 0
    for seed in range(40 if LONG else 4):
        vocab = reachable(short_tokens(seed, 40))
        definition = Definition(vocab, BPE(), Split(patterns.resolve(name) if name in NAMES else name))
        engine = tokkit.Tokenizer(definition.with_special_tokens({"<|end|>": 900}))._engine
        for text in runs(seed, 30):
            utf8 = text.encode()
            at = engine.open_cut(utf8, len(utf8), "all")
            if not at:
                continue
            divided += 1
            head = engine.encode(utf8[:at], "all")
            for end in [*ENDS, *map("".join, itertools.product(ENDS[1:], repeat=2))]:
                whole = engine.encode(utf8 + end.encode(), "all")
                assert head + engine.encode(utf8[at:] + end.encode(), "all") == whole, (text, at, end)
    assert divided > (20 if LONG else 10)


@pytest.mark.parametrize("name", ["cl100k", "o200k", "none", r"\w+|\W"])
@pytest.mark.parametrize("special", ["text", "all"])
def test_words_that_do_not_end_stream_as_they_are_encoded(
    make_tokenizer: Callable[..., tokkit.Tokenizer], name: str, special: str
) -> None:
    tok = make_tokenizer("rank", name, SPECIALS)
    rng = random.Random(5)
    for letters in ["a", "ab", "the", "漢字", " ", "\n", "-", "- \n", "aA漢é"]:
        text = "".join(rng.choices(letters, k=60_000)) + " end<|end|>" + adversarial(7, 500)
        text = text.encode("utf-8", "replace").decode()
        stream, at, ids = tok.encode_stream(special=special), 0, []
        while at < len(text):
            some = rng.choice([1, 100, 3000])
            ids += stream.feed(text[at : at + some])
            at += some
        assert ids + stream.flush() == tok.encode(text, special=special), letters


def test_what_a_stream_holds_back_has_a_bound(make_tokenizer: Callable[..., tokkit.Tokenizer]) -> None:
    tok = make_tokenizer("rank", "cl100k", SPECIALS)
    for unit in ("a", "ab", "漢", " ", "-"):
        stream, given = tok.encode_stream(), 0
        for _ in range(100):
            given += len(stream.feed(unit * 2000))
        rest = stream.flush()
        assert len(rest) < given / 4, unit


def test_a_stream_of_single_characters_takes_linear_time(load_shared: Callable[[str], tokkit.Tokenizer]) -> None:
    # By counts of calls: what a call of `last_cut` looks at is what came since the call before.
    tok = load_shared("cl100k_base")
    stream = tok.encode_stream()
    looked = 0
    last_cut = tok._engine.last_cut

    def counted(utf8: bytearray, n: int, special: str, searched: int = 0) -> int:
        nonlocal looked
        looked += n - searched
        return last_cut(utf8, n, special, searched)

    tok._engine.last_cut = counted  # type: ignore[method-assign]
    try:
        ids = [id_ for _ in range(50_000) for id_ in stream.feed("a")]
    finally:
        del tok._engine.last_cut
    assert looked < 100_000
    assert ids + stream.flush() == tok.encode("a" * 50_000)


def test_a_token_that_merging_does_not_make_keeps_words_whole() -> None:
    tokens = [bytes([k]) for k in range(256)] + [b"ab", b"bab"]
    merges = np.array([[97, 98, 256]], dtype=np.uint32)
    tok = tokkit.Tokenizer(Definition(Vocab.from_list(tokens), BPE(merges=merges), Split(None)))
    assert tok._engine.open_cut(b"ab" * 500, 1000, "text") == 0


def test_a_file_of_one_word_is_encoded_in_blocks(tok: tokkit.Tokenizer, tmp_path: Path) -> None:
    text = "ab" * 1_500_000
    (tmp_path / "one.txt").write_text(text)
    tok.encode_file(tmp_path / "one.txt", tmp_path / "ids.bin")
    found = np.fromfile(tmp_path / "ids.bin", dtype=np.uint16).tolist()
    assert found == tok.encode(text)
