"""Each normalizer, compared with tokenizers: its text, and the alignment of each character."""

from __future__ import annotations

import functools
import random
import unicodedata
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from code_points import code_points
from conftest import LONG, slice_of
from newer_characters import NEWER, known
from strategies import MARKS, adversarial, documents
from tokkit import limits
from tokkit.errors import OptionError, PatternError
from tokkit.normalizers.bert import Bert
from tokkit.normalizers.byte_level import ByteLevel
from tokkit.normalizers.lowercase import Lowercase
from tokkit.normalizers.nmt import Nmt
from tokkit.normalizers.prepend import Prepend
from tokkit.normalizers.replace import Replace
from tokkit.normalizers.sequence import Sequence
from tokkit.normalizers.strip import Strip
from tokkit.normalizers.strip_accents import StripAccents
from tokkit.normalizers.unicode import NFC, NFD, NFKC, NFKD
from work import processor_time

tokenizers = pytest.importorskip("tokenizers")
rival = pytest.importorskip("normalizers.rival")
N = tokenizers.normalizers

REGEX = r"\s+|e*"
PAIRS: dict[str, tuple[Any, Any]] = {
    "NFC": (NFC(), N.NFC()),
    "NFD": (NFD(), N.NFD()),
    "NFKC": (NFKC(), N.NFKC()),
    "NFKD": (NFKD(), N.NFKD()),
    "Lowercase": (Lowercase(), N.Lowercase()),
    "StripAccents": (StripAccents(), N.StripAccents()),
    "Nmt": (Nmt(), N.Nmt()),
    "ByteLevel": (ByteLevel(), N.ByteLevel()),
    "Prepend": (Prepend("▁é"), N.Prepend("▁é")),
    "Strip": (Strip(), N.Strip()),
    "Strip left": (Strip(strip_right=False), N.Strip(right=False)),
    "Strip right": (Strip(strip_left=False), N.Strip(left=False)),
    "Replace longer": (Replace({"String": "a"}, "bé"), N.Replace("a", "bé")),
    "Replace shorter": (Replace({"String": "th"}, ""), N.Replace("th", "")),
    "Replace a space": (Replace({"String": " "}, "▁"), N.Replace(" ", "▁")),
    "Replace alike": (Replace({"String": "a"}, "b"), N.Replace("a", "b")),
    "Replace nothing": (Replace({"String": ""}, "b"), N.Replace("", "b")),
    "Replace matches": (Replace({"Regex": REGEX}, "▁"), N.Replace(tokenizers.Regex(REGEX), "▁")),
}
for clean, chinese, strip, lower in product((True, False), (True, False), (None, True, False), (True, False)):
    options = {"clean_text": clean, "handle_chinese_chars": chinese, "strip_accents": strip, "lowercase": lower}
    PAIRS["Bert " + " ".join(map(str, options.values()))] = (Bert(**options), N.BertNormalizer(**options))
FEW = [name for name in PAIRS if not name.startswith("Bert") or name.startswith("Bert True True None")]


def same(name: str, text: str, cut: str = "") -> None:
    ours, theirs = PAIRS[name]
    assert rival.ours(text, ours, cut=cut) == rival.theirs(text, theirs, cut=cut), (name, text, cut)


@functools.cache
def pools() -> tuple[list[int], ...]:
    """Marks, what decomposes, jamo and syllables, letters."""
    points = [c for c in range(0x2FA20) if not 0xD800 <= c < 0xE000 and c not in NEWER]
    marks = [c for c in points if unicodedata.combining(chr(c))]
    parts = [c for c in points if unicodedata.decomposition(chr(c))]
    return marks, parts, [*range(0x1100, 0x1200), *range(0xAC00, 0xD7A4, 17)], [0x20, 0x61, 0x65, 0x41]


def marked(seed: int) -> str:
    """Characters that decompose, compose or are put in order, with marks among them."""
    rng = random.Random(seed)
    if rng.random() < 0.3:
        return "".join(chr(rng.choice(pools()[0])) for _ in range(rng.choice((2, 23, 24, 25, 60))))
    return "".join(chr(rng.choice(rng.choice((pools()[0], *pools())))) for _ in range(rng.randint(1, 9)))


@pytest.mark.parametrize("name", PAIRS)
def test_adversarial_text_in_pieces_becomes_what_tokenizers_makes_of_it(name: str) -> None:
    for seed, text in enumerate(documents(71, 2000 if LONG else 40)):
        same(name, known(text), cut=("", " ", "a")[seed % 3])


@pytest.mark.parametrize("name", [name for name in FEW if name.startswith(("NF", "Bert", "Strip"))])
def test_marks_are_ordered_composed_and_aligned_as_tokenizers_does(name: str) -> None:
    for seed in range(20000 if LONG else 300):
        same(name, marked(seed))


@pytest.mark.parametrize("name", FEW)
def test_corpora_become_what_tokenizers_makes_of_them(name: str, corpora: dict[str, Path]) -> None:
    for path in corpora.values():
        text = slice_of(path, 1500)
        for start in range(0, len(text), 500):
            same(name, known(text[start : start + 500]))


@pytest.mark.parametrize("name", [name for name in PAIRS if not name.startswith("Replace")])
def test_every_code_point_becomes_what_tokenizers_makes_of_it(name: str) -> None:
    ours, theirs = PAIRS[name]
    points = [c for c in code_points() if c not in NEWER]
    if not LONG:  # each is seen by half of the normalizers, and by some of all choices of Bert
        one_in = 2 if name in FEW else 8
        points = points[list(PAIRS).index(name) % one_in :: one_in]
    changed = []
    for start in range(0, len(points), 4096):
        text = "x".join(map(chr, points[start : start + 4096]))
        made = ours.normalize_str(text)
        assert made == theirs.normalize_str(text), f"from {points[start]:#x} on"
        if made != text:
            changed += points[start : start + 4096]
    for c in changed if LONG else random.Random(5).sample(changed, min(len(changed), 100 if name in FEW else 30)):
        same(name, f"a{chr(c)}\u0301b{chr(c)}")


def test_every_difference_by_unicode_version_is_one() -> None:
    for c in NEWER:
        text = [chr(c), f"a{chr(c)}\u0334", f"a\u0301{chr(c)}"]
        assert any(NFKD().normalize_str(t) != N.NFKD().normalize_str(t) for t in text), hex(c)


@pytest.mark.parametrize("form", [NFC, NFD, NFKC, NFKD])
def test_a_long_run_of_marks_takes_time_in_proportion(form: type) -> None:
    text = "a" + "".join(random.Random(3).choices(known(MARKS), k=400_000))
    whole, tenth = (processor_time(form().normalize_str, text[:n]) for n in (400_000, 40_000))
    assert whole < 40 * tenth  # squared, it would be a hundred


def test_normalizers_run_in_turn() -> None:
    ours = Sequence([NFKD(), StripAccents(), Lowercase(), Strip(), Replace({"Regex": "\\s+"}, " "), Prepend("▁")])
    theirs = N.Sequence(
        [N.NFKD(), N.StripAccents(), N.Lowercase(), N.Strip(), N.Replace(tokenizers.Regex("\\s+"), " "), N.Prepend("▁")]
    )
    for seed in range(60):
        text = known(adversarial(seed, 90))
        assert rival.ours(text, ours, cut="e") == rival.theirs(text, theirs, cut="e")
    assert ours.normalize_str("") == ""


def test_a_normalizer_of_ones_own_is_one_of_a_sequence() -> None:
    class Shout:
        def normalize(self, text: Any) -> None:
            text.rewrite(lambda piece: [(c.upper(), 0) for c in piece])

    assert Sequence([Lowercase(), Shout()]).normalize_str("aBc") == "ABC"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bert(lowercase=1), "lowercase is .*must be True or False"),
        (lambda: Bert(strip_accents="yes"), "strip_accents is .*must be True or False"),
        (lambda: Strip(strip_left=None), "strip_left is"),
        (lambda: Prepend(b"x"), "prepend is .*must be text"),
        (lambda: Prepend("\ud800"), "lone surrogate"),
        (lambda: Replace("a", "b"), "pattern is"),
        (lambda: Replace({"String": "a", "Regex": "b"}, "b"), "pattern is"),
        (lambda: Replace({"String": 1}, "b"), "String is .*must be text"),
        (lambda: Replace({"String": "a"}, None), "content is .*must be text"),
        (lambda: Sequence([Lowercase]), "it has no method normalize"),
        (lambda: Sequence(["NFC"]), "it has no method normalize"),
    ],
)
def test_fields_that_cannot_work_are_refused(make: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make()


def test_a_pattern_that_cannot_be_compiled_is_refused() -> None:
    with pytest.raises(PatternError, match="does not compile"):
        Replace({"Regex": "("}, "")


def test_a_pattern_that_explodes_is_stopped() -> None:
    assert Replace({"Regex": r"(?:a|a)+(?:a|a)+b"}, "").normalize_str("a" * 60) == "a" * 60  # compiled
    with limits.using(pattern_seconds=0.1), pytest.raises(PatternError, match=r"took over 0\.1"):
        Replace({"Regex": r"(?:a|a)+(?:a|a)+b(?<!cd)"}, "").normalize_str("a" * 60)


@pytest.mark.parametrize(
    "pattern",
    [
        " {2,}",
        " +",
        r"\.{3,}",
        "é{2,}",
        "a{1,}",
        r"\s",
        r"\p{L}{2,3}",
        "[aeiou ]+",
        "[^a-z]",
        "e?",
        r"\n",
        "ab|a",
        "e+t?",
        "a(?=ab)",
        r"\.(?=\.\.)",
        " (?=  é)",
    ],
)
def test_matches_are_found_and_aligned_as_tokenizers_does(pattern: str) -> None:
    theirs = N.Replace(tokenizers.Regex(pattern), "▁é")
    ours = Replace({"Regex": pattern}, "▁é")
    for text in ["", "a  b   c é  ", "aabab eett\n\nt", "éé é ééé.. ....a...  b", *documents(23, 30)]:
        for cut in ("", "b"):
            assert rival.ours(text, ours, cut=cut) == rival.theirs(text, theirs, cut=cut), (pattern, text)
