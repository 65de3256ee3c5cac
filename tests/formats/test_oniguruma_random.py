"""Random patterns of all constructs that files may have match as Oniguruma matches them."""

from __future__ import annotations

import random

import pytest

from both_pipelines import FAILED, theirs_or_failed
from conftest import LONG
from tokkit._core.align import AlignedText
from tokkit.errors import FormatError, PatternError
from tokkit.formats import oniguruma
from tokkit.normalizers.replace import Replace
from tokkit.pretokenizers.split import Split
from tokkit.unicode_regex import matching

tokenizers = pytest.importorskip("tokenizers")

SETS = (r"\s", r"\S", r"\d", r"\D", ".", r"\p{L}", r"\p{Lu}", r"\P{L}", r"\p{N}")
CLASSES = ("[ab]", "[^ab]", "[a-c ]", r"[^\s]", r"[\p{L}1]", r"[^\s\p{L}]", "[a-]", "[-a]", "[kK]", "[s-u]", "[A-Z]")
GROUPS = ("(?:%s)", "(%s)", "(?>%s)", "(?i:%s)", "(?:%s)", "(?=%s)x?", "(?!%s)x?")
REPEATS = ("*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,}", "{1,2}", "{0,1}", "{0,}")
LETTERS = "abcABkKKsSſıİi1 \n."


def atom(rng: random.Random, depth: int) -> str:
    chance = rng.random()
    if chance < 0.45:
        return rng.choice([*"abcskiKSI ", r"\n", r"\.", "a", " "])
    if chance < 0.7 or depth > 3:
        return rng.choice(SETS if chance < 0.55 else CLASSES)
    return rng.choice(GROUPS) % alternation(rng, depth + 1)


def alternation(rng: random.Random, depth: int = 0) -> str:
    most = 3 if depth < 3 else 1
    options = []
    for _ in range(rng.randint(1, most)):
        parts = [atom(rng, depth) for _ in range(rng.randint(1, most))]
        options.append("".join(part + (rng.choice(REPEATS) if rng.random() < 0.45 else "") for part in parts))
    return "|".join(option if rng.random() < 0.95 else "" for option in options)


def test_random_patterns_that_are_taken_match_as_in_oniguruma() -> None:
    ran = 0
    for seed in range(50_000, 50_000 + (20_000 if LONG else 150)):
        rng = random.Random(seed)
        pattern = alternation(rng)
        theirs = theirs_or_failed(lambda pattern=pattern: tokenizers.Regex(pattern))
        try:
            ours = oniguruma.from_file(pattern)
        except FormatError:
            continue
        assert theirs is not FAILED, (seed, pattern)
        assert oniguruma.from_file(oniguruma.to_file(ours)) == ours
        split, replace = Split({"Regex": ours}, "Isolated"), Replace({"Regex": ours}, "<>")
        for _ in range(4):
            text = "".join(rng.choices(LETTERS, k=rng.choice((0, 1, 3, 6, 10))))
            aligned = AlignedText(text)
            split.pretokenize(aligned)
            wanted = tokenizers.pre_tokenizers.Split(theirs, "isolated").pre_tokenize_str(text)
            assert aligned.pieces == [piece for piece, _ in wanted if piece], (seed, pattern, text)
            wanted = tokenizers.normalizers.Replace(theirs, "<>").normalize_str(text)
            assert replace.normalize_str(text) == wanted, (seed, pattern, text)
        ran += 1
    assert ran > 90


@pytest.mark.parametrize("pattern", [r"\p{L}", r"\p{Lu}", r"\P{L}", r"\p{Cn}", r"[^\s\p{L}\p{N}]", r"\p{Han}", r"\d"])
def test_named_sets_are_those_of_the_unicode_version_of_tokenizers(pattern: str) -> None:
    """Oniguruma and our tables have 16.0, the `regex` package a newer one."""
    points = [*matching._newer().tolist()[::20], *range(0xD800 - 800, 0xD800), *range(0, 0x20000, 211), 0x294, 0x295]
    text = "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)
    if pattern != r"\p{Cn}":
        wanted = tokenizers.normalizers.Replace(tokenizers.Regex(pattern), "").normalize_str(text)
        assert Replace({"Regex": pattern}, "").normalize_str(text) == wanted
    # One that is no regular pattern is run by the `regex` package too.
    split, aligned = Split({"Regex": f"(?={pattern}){pattern}"}, "Removed"), AlignedText(text)
    split.pretokenize(aligned)
    wanted = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "removed").pre_tokenize_str(text)
    assert "".join(aligned.pieces) == "".join(piece for piece, _ in wanted)


def test_a_pattern_that_has_newer_characters_beside_named_sets_is_refused_where_regex_would_run_it() -> None:
    pattern = r"[\u0080-\uffff]\p{L}"
    with pytest.raises(PatternError, match=r"characters that are newer than Unicode 16\.0"):
        Replace({"Regex": pattern}, "")
    assert Split({"Regex": pattern}, "Isolated")._chosen.engine == "compiled"  # which runs it exactly
    assert Replace({"Regex": r"[\u0400-\u04ff]\p{L}"}, "x").normalize_str("Жa b") == "x b"
