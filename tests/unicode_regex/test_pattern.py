"""Compiled patterns, compared with `regex` and the hand-written scanners: published and hundreds of random ones."""

from __future__ import annotations

import random
import re
import threading

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from code_points import code_points as every_code_point
from conftest import LONG
from patterns import PUBLISHED, any_case, long_text, text
from reference.stretches import stretches
from strategies import CONTEXTS, adversarial, code_points_in_context, texts
from tokkit._core.split import SplitPattern
from tokkit._core.text import scan
from tokkit.pretokenizers.patterns import SCANNERS
from tokkit.unicode_regex import code_points
from tokkit.unicode_regex.code_points import CATEGORIES, CodePoints
from tokkit.unicode_regex.compile import compile_pattern
from tokkit.unicode_regex.tree import NotRegular
from work import work_of

RANDOM_PATTERNS = 2000 if LONG else 250
TEXTS_EACH = 12


def cut(compiled: SplitPattern, of: str, limit: int = 256) -> list[tuple[int, bool]]:
    ends, dropped = compiled.scan(of, limit)
    return list(zip(ends.tolist(), dropped.tolist(), strict=True))


def both(source: str) -> list[tuple[bool, SplitPattern]]:
    return [(keep, compile_pattern(source, keep_unmatched=keep)) for keep in (False, True)]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_patterns_cut_as_regex_does(name: str) -> None:
    source = PUBLISHED[name]
    rng = random.Random(name)
    for keep, compiled in both(source):
        for seed in range(200 if LONG else 25):
            of = adversarial(seed, rng.choice((3, 20, 200, 1500)))
            assert cut(compiled, of, rng.randint(1, 256)) == stretches(source, of, keep_unmatched=keep), (seed, keep)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_patterns_on_the_ends_of_a_text(name: str) -> None:
    source, of = PUBLISHED[name], adversarial(5, 70)
    compiled = compile_pattern(source, keep_unmatched=False)
    for end in range(len(of)):
        assert cut(compiled, of[:end]) == stretches(source, of[:end], keep_unmatched=False), of[:end]


@pytest.mark.parametrize("source", [source for source in SCANNERS if source])
def test_the_hand_written_scanners_cut_alike(source: str) -> None:
    compiled = compile_pattern(source, keep_unmatched=False)
    for seed in range(400 if LONG else 60):
        of = adversarial(seed, 2000)
        ends, dropped = compiled.scan(of)
        assert not dropped.any()
        assert ends.tolist() == scan(of, SCANNERS[source], "scalar").tolist(), seed


@pytest.mark.parametrize(("turn", "source"), [*enumerate(filter(None, SCANNERS))])
def test_every_code_point_is_cut_as_the_scanners_do(turn: int, source: str) -> None:
    compiled = compile_pattern(source, keep_unmatched=False)
    points = every_code_point() if LONG else every_code_point()[turn % 2 :: 2]
    for context in CONTEXTS if LONG else CONTEXTS[turn :: len(CONTEXTS) - 1]:
        of = "\x01".join(context.format(chr(c)) for c in points)
        assert np.array_equal(compiled.scan(of)[0], scan(of, SCANNERS[source])), context


def test_random_patterns_cut_as_regex_does() -> None:
    compiled_count = 0
    for seed in range(RANDOM_PATTERNS):
        rng = random.Random(seed)
        source = any_case(rng)
        try:
            compiled = both(source)
        except NotRegular:
            continue
        compiled_count += 1
        for of in [*(text(rng) for _ in range(TEXTS_EACH)), long_text(rng)]:
            for keep, one in compiled:
                expected = stretches(source, of, keep_unmatched=keep)
                assert cut(one, of, rng.choice((1, 2, 3, 256))) == expected, (seed, source, of)
    assert compiled_count > RANDOM_PATTERNS // 3


@settings(max_examples=60)
@given(st.sampled_from(sorted(PUBLISHED)), texts(), st.integers(1, 256))
def test_any_text_is_cut_as_regex_does(name: str, of: str, limit: int) -> None:
    compiled = compile_pattern(PUBLISHED[name], keep_unmatched=False)
    assert cut(compiled, of, limit) == stretches(PUBLISHED[name], of, keep_unmatched=False)


REFUSED = {
    r"(?<=ab)c": "look-behind", r"(?<!a|bc)b": "look-behind", r"(a)\1": "back-reference",
    r"(?P<n>a)(?P=n)": "back-reference", r"(?R)a": "group", r"a(?=bc)": "more than one", r"a(?!b+c)": "more than one",
    r"a*": "empty text", r"a|": "empty text", r"$": "empty text", r"(?=a)": "empty text", r"(?:a*b?)*c": "empty text",
    r"\b": "empty text",
    r"(?:ab|a)++b": "atomic", r"(?>a|ab)c": "atomic", r"\Ga": "place",r"a{2000}": "1000",
    r"(?:(?:a{50}){50}){50}": "parts", r"a{2}{3}": "repeat", r"(?x)a b": "group", r"(?m)a$": "group",
    r"a(?i)b": "group",
    r"[a-": "class", r"[z-a]": "backwards", r"(a": "parenthesis", r"a)": "parenthesis", r"*a": "repeat",
    r"[a&&b]": "V1", r"\p{Nonsense}": "the regex package reports", r"\y": "boundary",
    "(?:" * 60 + "a" + ")" * 60: "deep",
    r"a{e<=1}": "brace", r"(?(1)a|b)": "group", r"(?|a|b)": "group", r"\X": "cluster", "\ud800": "surrogate",
    r"(?:[ab]*a[ab]{14})": "too large", r"(?V1)(?i)ss": "V1",
    r"(?V0)(?V1)a": "together", r"(?iV1V0)a": "together",
}  # fmt: skip


@pytest.mark.parametrize("source", REFUSED)
def test_what_is_not_compiled_says_why(source: str) -> None:
    with pytest.raises(NotRegular, match=regex.escape(REFUSED[source])):
        compile_pattern(source, keep_unmatched=False)


@pytest.mark.parametrize("name", [name for name in CATEGORIES if name != "Cs"] + list("CLMNPSZ"))
def test_categories_are_those_of_regex_where_unicode_has_not_changed(name: str) -> None:
    ours = code_points.category(name)
    assert ours is not None
    surrogates = CodePoints.ranges([(0xD800, 0xDFFF)])
    assert ours | surrogates == code_points.ask(rf"\p{{{name}}}") | surrogates


@pytest.mark.parametrize("letter", list("dswDSW"))
def test_escapes_hold_what_they_hold_in_regex(letter: str) -> None:
    surrogates = CodePoints.ranges([(0xD800, 0xDFFF)])
    assert code_points.escape(letter) | surrogates == code_points.ask(f"\\{letter}") | surrogates


def test_ascii_folds_as_in_regex() -> None:
    for code in range(0x80):
        folded = code_points.folded_ascii(CodePoints.ranges([(code, code)]))
        assert folded == code_points.ask(f"(?i:\\U{code:08x})"), chr(code)
    for ranges in ("a-i", "A-I", "H-k", "s-z", "0-9", " -~"):
        first, last = ord(ranges[0]), ord(ranges[2])
        assert code_points.folded_ascii(CodePoints.ranges([(first, last)])) == code_points.ask(f"(?i:[{ranges}])")


SETS = (
    r"\p{Han}", r"\p{Script=Greek}", r"[[:alpha:]]", r"[[:^punct:]]", r"\p{Alphabetic}", r"\p{^Lu}", r"\P{^Lu}",
    r"\pL", r"(?i)[^\p{Lu}x]", r"(?i)\p{Lu}", r"(?i)[à-ö]", r"(?i)ß", r"(?i)ſ", r"(?i)[^k]", r"(?-i:k)", r"[]a]",
    r"[^]a]", r"[a-]", r"[-a]", r"[\w-]", r"[.*+]", r"[a[b]", r"\u00e9", r"[\x00-\x1f]", r"[&|~]", r"(?V1)[a-f--c]",
    r"(?V1)[\p{L}&&[^\p{Han}]]", r"(?V1)[[a-d]~~[c-f]]", r"(?V1)[a||b&&b]", r"(?V1)[^a--[b]]", r"(?V1)[a-d--b-c&&a-b]",
)  # fmt: skip


@pytest.mark.parametrize("source", SETS)
def test_sets_hold_what_they_hold_in_regex(source: str) -> None:
    ranges = ((0, 0x300), (0x370, 0x400), (0x1E00, 0x2130), (0x3400, 0x3410), (0x4E00, 0x4E10))
    of = "".join(chr(code) for first, end in ranges for code in range(first, end))
    compiled = compile_pattern(source, keep_unmatched=False)
    assert cut(compiled, of) == stretches(source, of, keep_unmatched=False)


def test_a_set_may_stand_twice_and_ignore_case_once() -> None:
    """Here `regex` 2026.11 is wrong, which takes both for one; `re` is right."""
    for source in ("(?i:[^ab ])|[^ab ]1", "[^ab ]1|(?i:[^ab ])", "(?i:[ab])1|[ab]", "[^ab ]|(?i:'a)x"):
        for of in ("A1", "a1", "B1A", "c1"):
            expected = [(match.end(), False) for match in re.finditer(source, of)]
            found = cut(compile_pattern(source, keep_unmatched=False), of)
            assert [stretch for stretch in found if not stretch[1]] == expected, (source, of)


HOSTILE = {
    r"\s*[\r\n]|\s": " ", r"a*b|a": "a", r"(?:ab)*c|a|b": "ab", r"a*b|c": "a", r"(?:a|b)*c|[ab]": "ab",
    r"[^x]*x|é*y|é": "é", r"a+b|a{2}c|a": "a",
}  # fmt: skip


@pytest.mark.parametrize("source", HOSTILE)
def test_no_text_takes_more_than_its_length_times_a_constant(source: str) -> None:
    of = HOSTILE[source] * 20_000
    compiled = compile_pattern(source, keep_unmatched=False)
    short = of[:3000]
    assert cut(compiled, short) == stretches(source, short, keep_unmatched=False)
    assert work_of(compiled.scan, of * 2) < 2.2 * work_of(compiled.scan, of)
    ends, _ = compiled.scan(of)
    assert ends[-1] == len(of.encode())


def test_attempts_that_fail_far_on_change_no_piece() -> None:
    """The memo of failures, compared on texts in which long ways fail and succeed in turn."""
    rng = random.Random(3)
    for source in (r"a*b|a", r"(?:a|c)*b|a{3}|c", r"\s*[\r\n]|\s", r"é*b|éé|é", r"[ac]*bb|a*b|[ac]", r"x[ac]*b|[ac]b"):
        for _ in range(40):
            pieces = [rng.choice(("a", "a", "c", " ", "é", "x")) * rng.choice((1, 30, 64, 65, 200)) for _ in range(12)]
            of = "".join(piece + rng.choice(("", "", "b", "\n", "x")) for piece in pieces)
            for keep, compiled in both(source):
                expected = stretches(source, of, keep_unmatched=keep)
                assert cut(compiled, of, rng.choice((1, 2, 256))) == expected, (source, of)


def test_threads_share_a_pattern() -> None:
    compiled = compile_pattern(PUBLISHED["tekken"], keep_unmatched=False)
    of = adversarial(1, 20_000)
    expected = cut(compiled, of)
    found: list[list[tuple[int, bool]]] = []
    threads = [threading.Thread(target=lambda: found.append(cut(compiled, of))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_tables_that_do_not_fit_are_refused() -> None:
    fine = {"contexts": np.zeros(2, np.uint8), "n_contexts": 1, "unsure": 2, "keep_unmatched": False}
    next_, action = np.zeros((2, 3), np.uint32), np.zeros((2, 3), np.uint8)
    index, blocks = np.zeros(17408, np.uint16), np.zeros((1, 64), np.uint8)
    SplitPattern(next_, action, index, blocks, **fine)
    for wrong in (
        (next_ + 2, action, index, blocks), (next_, action[:1], index, blocks), (next_, action, index[1:], blocks),
        (next_, action, index + 1, blocks), (next_, action, index, blocks + 2), (next_, action, index, blocks[:0]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"shape|out of range"):
            SplitPattern(*wrong, **fine)
    for name, value in (("contexts", np.zeros(3)), ("contexts", np.ones(2)), ("n_contexts", 0), ("n_contexts", 2)):
        with pytest.raises(ValueError, match="n_contexts"):
            SplitPattern(next_, action, index, blocks, **{**fine, name: value})
    with pytest.raises(ValueError, match="limit"):
        compile_pattern("a", keep_unmatched=False).scan("a", 0)


def test_one_code_point_in_context_is_cut_as_regex_does() -> None:
    for name in ("tekken", "qwen3.5", "words", "lazy"):
        compiled = compile_pattern(PUBLISHED[name], keep_unmatched=False)
        for code in (0x41, 0x301, 0x1C5, 0x4E00, 0x85, 0x1F600, 0x378, 0x200D):
            for of in code_points_in_context(code):
                assert cut(compiled, of) == stretches(PUBLISHED[name], of, keep_unmatched=False), of
