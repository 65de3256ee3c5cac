"""Anchors, word boundaries and look-behinds in automata: what stands before a match decides, wherever a text is cut."""

from __future__ import annotations

import random

import pytest

import tokkit
from tokkit.definition import Split
from tokkit.models.bpe import BPE
from tokkit.unicode_regex import boundaries, matching
from tokkit.unicode_regex.automaton import of_pattern
from tokkit.unicode_regex.compile import compile_pattern

PATTERNS = [
    r"\b\w+\b|\W", r"^ +|\S+|\s", r"(?<=a)b+|\w|\W", r"(?<!\d)\d{1,3}|\d|\D+", r"(?oniguruma)^.|[^\n]|\n", r"\Ba|\w|\W",
    r"(?oniguruma)^\w+$|\w|\W", r"(?fancy_regex)(?m)^\s+|\S|\s+", r"(?<![a-z])[A-Z]+(?![a-z])|.|\n",
    r"(?<=\n)\s|\S+|\s",
]  # fmt: skip
TEXTS = ["", "ab b", "  a\n  b", "aAB Ab\n12345 6", "abba\n\n a1b22"]


def texts() -> list[str]:
    rng = random.Random(7)
    return TEXTS + ["".join(rng.choices("abAB 12\n.é中", k=rng.randint(1, 300))) for _ in range(40)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_automaton_matches_as_the_regex_package_does(pattern: str) -> None:
    assert of_pattern(pattern).contexts.n > 1
    compiled = compile_pattern(pattern, keep_unmatched=True)
    for of in texts():
        found, at = [], 0
        for a, b in matching.matches(pattern, of):
            found += [end for end in (a, b) if end > at]
            at = b
        wide = [len(of[:end].encode()) for end in dict.fromkeys([*found, *([len(of)] if of else [])])]
        for limit in (1, 3, 256):
            assert compiled.scan(of, limit)[0].tolist() == wide, of


@pytest.mark.parametrize("pattern", PATTERNS)
def test_parts_that_may_be_cut_have_the_matches_of_the_whole(pattern: str) -> None:
    rule = boundaries.pattern_boundaries(pattern)
    assert rule is not None
    compiled = compile_pattern(pattern, keep_unmatched=True)
    for of in texts():
        of = "".join(c for c in of if c.isascii())
        whole = compiled.scan(of)[0].tolist()
        for k in range(1, len(of)):
            if rule.splittable[ord(of[k - 1]), ord(of[k])]:
                left, right = compiled.scan(of[:k])[0].tolist(), compiled.scan(of[k:])[0].tolist()
                assert sorted({*left, *(end + k for end in right)} - {k}) == sorted({*whole} - {k}), (of, k)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_streams_and_threads_give_the_ids_of_the_whole(pattern: str) -> None:
    tokens = [*(bytes([byte]) for byte in range(256)), b"ab", b"  ", b"ba", b"12", b"AB"]
    tok = tokkit.Tokenizer(tokkit.Definition(tokkit.Vocab.from_list(tokens), BPE(), Split(pattern)))
    assert tok.split_engine == "compiled"
    rng = random.Random(3)
    for of in texts():
        expected = tok.encode(of)
        stream, found, at = tok.encode_stream(), list[int](), 0
        while at < len(of):
            step = rng.randint(1, 9)
            found += stream.feed(of[at : at + step])
            at += step
        assert found + stream.flush() == expected, of
        assert tok.encode_to_numpy(of, threads=2).tolist() == expected
