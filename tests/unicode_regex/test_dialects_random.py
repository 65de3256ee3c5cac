"""Random patterns of each dialect match as in the library that runs it, and as the `regex` package runs them here."""

from __future__ import annotations

import random

import numpy as np
import pytest
import regex

from code_points import code_points as every_code_point
from conftest import LONG
from dialect_patterns import Patterns, Split, of_tiktoken, of_tokenizers, text
from patterns import any_case
from patterns import text as text_of_patterns
from standard_error import quiet
from tokkit.compat import tiktoken as own_tiktoken
from tokkit.compat import tokenizers as own_tokenizers
from tokkit.errors import PatternError, TokkitError
from tokkit.formats.split_patterns import read, write
from tokkit.unicode_regex import case_folding, dialects, matching, properties, versions
from tokkit.unicode_regex.code_points import CodePoints, ask
from tokkit.unicode_regex.compile import compile_pattern
from tokkit.unicode_regex.tree import NotRegular

PATTERNS = 5_000 if LONG else 150
TEXTS = 12


def marked(rng: random.Random, dialect: str) -> str | None:
    """Return a random pattern that is supported, as definitions have it."""
    try:
        return read(Patterns(rng, dialect).pattern(), dialect)
    except PatternError:
        return None


@pytest.mark.parametrize("dialect", ["oniguruma", "fancy_regex"])
def test_automata_match_as_the_regex_package_does(dialect: str) -> None:
    ran = 0
    for seed in range(4 * PATTERNS):
        rng = random.Random(seed)
        pattern = marked(rng, dialect)
        try:
            compiled = compile_pattern(pattern or "", keep_unmatched=False)
            matching.compiled(pattern or "")
        except (NotRegular, PatternError):
            continue
        ran += 1
        for _ in range(TEXTS):
            of = text(rng, 30)
            ends, dropped = compiled.scan(of, rng.choice((1, 2, 256)))
            wide = np.cumsum([0, *(len(c.encode()) for c in of)])
            spans = matching.matches(pattern or "", of)
            expected = [(int(wide[a]), int(wide[b])) for a, b in spans if b > a]
            starts = [0, *ends.tolist()]
            found = [(a, b) for a, b, drop in zip(starts, ends.tolist(), dropped.tolist(), strict=False) if not drop]
            assert found == expected, (seed, pattern, of)
    assert ran > PATTERNS // 3


@pytest.mark.parametrize("dialect", ["oniguruma", "fancy_regex"])
def test_patterns_are_written_with_the_same_meaning(dialect: str) -> None:
    written = 0
    for seed in range(PATTERNS):
        rng = random.Random(seed)
        pattern = marked(rng, dialect)
        if pattern is None:
            continue
        other = "fancy_regex" if dialect == "oniguruma" else "oniguruma"
        try:
            again = read(write(pattern, other), other)
        except TokkitError:
            continue
        written += 1
        for _ in range(TEXTS):
            of = text(rng, 30)
            try:
                assert matching.matches(again, of) == matching.matches(pattern, of), (seed, pattern, of)
            except PatternError:
                break
    assert written > PATTERNS // 4


def test_own_patterns_are_written_with_the_same_meaning() -> None:
    written = 0
    for seed in range(PATTERNS):
        rng = random.Random(seed)
        pattern = any_case(rng)
        for dialect in ("oniguruma", "fancy_regex"):
            try:
                again = read(write(pattern, dialect), dialect)
                compile_pattern(pattern, keep_unmatched=False)
                first, second = (compile_pattern(p, keep_unmatched=False) for p in (pattern, again))
            except (TokkitError, NotRegular):
                continue
            written += 1
            of = text_of_patterns(rng) + text(rng, 30)
            assert [part.tolist() for part in first.scan(of)] == [part.tolist() for part in second.scan(of)], pattern
    assert written > PATTERNS // 3


def splits_alike(pattern: str, theirs: Split, ours: Split, texts: list[str]) -> bool:
    """Check all texts; return whether the library could split any."""
    any_text = False
    for of in texts:
        try:
            expected = theirs(of)
        except BaseException as error:  # tiktoken panics at an empty match
            if isinstance(error, KeyboardInterrupt):
                raise
            continue
        any_text = True
        assert ours(of) == expected, (pattern, of)
    return any_text


def test_patterns_of_tokenizer_json_split_as_in_tokenizers() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    ran = 0
    for seed in range(PATTERNS):
        rng = random.Random(1_000_000 + seed)
        pattern = Patterns(rng, "oniguruma").pattern()
        try:
            ours = of_tokenizers(own_tokenizers, pattern)
        except TokkitError:
            continue
        texts = [text(rng) for _ in range(TEXTS)]
        try:
            theirs = of_tokenizers(tokenizers, pattern)
        except Exception:
            continue
        ran += splits_alike(pattern, theirs, ours, texts)
    assert ran > PATTERNS // 2


def test_patterns_of_tiktoken_split_as_there() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ran = 0
    with quiet():
        for seed in range(PATTERNS):
            rng = random.Random(2_000_000 + seed)
            pattern = Patterns(rng, "fancy_regex").pattern()
            texts = [text(rng) for _ in range(TEXTS)]
            try:
                ours = of_tiktoken(own_tiktoken, pattern, texts)
                theirs = of_tiktoken(tiktoken, pattern, texts)
            except Exception:
                continue
            ran += splits_alike(pattern, theirs, ours, texts)
    assert ran > PATTERNS // 3


# Named sets and cases, over all code points

ALL = "".join(map(chr, every_code_point()))


def members(points: CodePoints) -> set[str]:
    return {c for c, member in zip(ALL, points.at(np.array(every_code_point())), strict=True) if member}


NAMES = (
    "L", "Lu", "Ll", "Lm", "M", "Nd", "No", "Pc", "P", "Sm", "Z", "Cn", "Co", "Han", "Latin", "Greek", "Cyrillic",
    "Hiragana", "Katakana", "Hangul", "Arabic", "Thai", "Common", "Inherited", "Alphabetic", "Uppercase", "Lowercase",
    "White_Space", "Emoji", "Ideographic", "ID_Start", "Dash", "Default_Ignorable_Code_Point", "Cased", "Math", "Any",
)  # fmt: skip
ALONE = {
    "oniguruma": ("Punct", "Word", "Alnum", "Space", "XDigit", "Blank", "Graph", "Print", "In_Arabic", "PosixPunct"),
    "fancy_regex": ("Punct", "digit", "cntrl", "gc=Lu", "sc=Han", "scx=Greek", "Script_Extensions:Hira", "sc!=Latin"),
}


@pytest.mark.parametrize("name", [*NAMES, *ALONE["oniguruma"], "[:punct:]", "[:word:]", "[:cntrl:]", r"\w", r"\h"])
def test_named_sets_are_those_of_tokenizers(name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    sign = f"[{name}]" if name[0] in "[\\" else rf"\p{{{name}}}"
    ours = compile_pattern(f"(?oniguruma){sign}", keep_unmatched=False)
    theirs = tokenizers.normalizers.Replace(tokenizers.Regex(sign), "").normalize_str(ALL)
    ends, dropped = ours.scan(ALL)
    raw, starts = ALL.encode(), [0, *ends.tolist()]
    left = b"".join(raw[a:b] for a, b, drop in zip(starts, ends.tolist(), dropped.tolist(), strict=False) if drop)
    assert left.decode() == theirs


@pytest.mark.parametrize("name", [*NAMES, *ALONE["fancy_regex"]])
def test_named_sets_are_those_of_tiktoken(name: str) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)}
    theirs = tiktoken.Encoding("any", pat_str=rf"\p{{{name}}}", mergeable_ranks=ranks, special_tokens={})
    points = properties.fancy_regex(name)
    assert points is not None
    assert set(theirs.decode(theirs.encode_ordinary(ALL))) == members(points)


def test_cases_are_folded_as_in_tokenizers_and_tiktoken() -> None:
    tokenizers, tiktoken = pytest.importorskip("tokenizers"), pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)}
    cased = sorted(case_folding._groups())
    of = "".join(map(chr, cased))
    for code in cased[:: 1 if LONG else 17]:
        pattern = rf"(?i:\x{{{code:x}}})"
        folded = {chr(c) for c in case_folding.folded(CodePoints.ranges([(code, code)])).points()}
        there = tiktoken.Encoding("any", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        assert set(there.decode(there.encode_ordinary(of))) == folded, hex(code)
        if code not in (0xFB05, 0xFB06):  # which are "st" as well
            rest = tokenizers.normalizers.Replace(tokenizers.Regex(pattern), "").normalize_str(of)
            assert set(of) - set(rest) == folded, hex(code)


def test_blocks_have_unassigned_characters_and_scripts_have_none_that_are_newer() -> None:
    assert 0x378 in (properties.oniguruma("In_Greek_and_Coptic") or ask("a"))
    assert properties.oniguruma("Sidetic") is None  # of Unicode 17.0
    newer = {chr(c) for c in versions.newer().tolist() if c not in versions.CHANGED}
    assert newer
    assert not newer & members(ask(r"\p{L}"))


def test_a_mark_is_no_group_of_regex() -> None:
    for dialect in dialects.MARKED.values():
        with pytest.raises(regex.error):
            regex.compile(dialects.mark(dialect) + "a")
