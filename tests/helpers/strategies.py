"""Makes texts from a seed that use every rule of the split patterns, for tests and fuzzers.

`adversarial` is deterministic (one seed, one text); `texts` is the same idea as a hypothesis strategy, which
shrinks; `code_points_in_context` puts one code point beside everything that a pattern looks at.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator, Sequence

from hypothesis import strategies as st

# First and last code point of blocks that hold mostly letters, cased and caseless, spaced and not.
SCRIPTS = {
    "latin": (0x41, 0x5A),
    "latin-small": (0x61, 0x7A),
    "latin-1": (0xC0, 0xFF),
    "latin-extended": (0x100, 0x24F),
    "latin-additional": (0x1E00, 0x1EFF),
    "greek": (0x370, 0x3FF),
    "cyrillic": (0x400, 0x4FF),
    "armenian": (0x531, 0x589),
    "hebrew": (0x590, 0x5F4),
    "arabic": (0x600, 0x6FF),
    "devanagari": (0x900, 0x97F),
    "bengali": (0x980, 0x9FE),
    "tamil": (0xB80, 0xBFF),
    "thai": (0xE01, 0xE5B),
    "lao": (0xE81, 0xEDF),
    "tibetan": (0xF00, 0xFD4),
    "myanmar": (0x1000, 0x109F),
    "georgian": (0x10A0, 0x10FF),
    "ethiopic": (0x1200, 0x137C),
    "cherokee": (0x13A0, 0x13FF),
    "khmer": (0x1780, 0x17F9),
    "kana": (0x3041, 0x30FF),
    "bopomofo": (0x3105, 0x312F),
    "han": (0x4E00, 0x9FFF),
    "han-common": (0x4E00, 0x4FFF),
    "hangul": (0xAC00, 0xD7A3),
    "jamo": (0x1100, 0x11FF),
    "full-width": (0xFF01, 0xFFDC),
    "deseret": (0x10400, 0x1044F),
    "han-extension-b": (0x20000, 0x2A6DF),
    "math-letters": (0x1D400, 0x1D7FF),
    "private-use": (0xE000, 0xE0FF),
    "unassigned": (0x30000, 0x3FFFD),
}
TITLE_CASE = "ǅǈǋǲᾈᾼῌῼ"
MODIFIER_LETTERS = "ʰʲʼˈˠᵃᵇⁿゝ々ーꟹˮ"
MARKS = "\u0300\u0301\u0308\u0327\u0338\u05b0\u064b\u093e\u093f\u094d\u0e31\u0e4c\u20dd\u20e3\u3099\ufe0f\U000e0100"
DIGITS = "0123456789²³¼½Ⅷⅿ①⑳٠٩०९๑๙〇〡㊿𝟎𝟡௰፩"
# White_Space, and characters that are often taken for it and are not (U+001C to U+001F, U+200B, U+FEFF …).
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
NOT_WHITE_SPACE = "\x1c\x1d\x1e\x1f\u180e\u200b\u200c\u200d\u2060\ufeff"
CONTROLS = "\0\x01\x07\x08\x1b\x7f\x80\x9f\xad\u061c\u200e\u202e\u2066\U000e0001\U000e0041"
LINE_ENDS = ("\n", "\r\n", "\r", "\n\r", "\n\n", "\r\r\n", " \n", "\n ", "\t\r\n ", "\u2028", "\x85\n")
APOSTROPHES = "''''’ʼ`´＇"
CONTRACTIONS = ("s", "t", "d", "m", "re", "ve", "ll", "ſ", "r", "v", "l", "e", "sS", "LL", "rE", "Ve", "ſs", "ll've")
PUNCTUATION = '!"#$%&()*+,-./:;<=>?@[\\]^_{|}~«»“”…—·。、！？「」।۔؟€£¥©™±×÷→∀█�'
ZWJ = "\u200d"
EMOJI = (
    *("😀", "👍🏽", "🏳️", "🇩🇪", "🇩", "1️⃣", "❤️", "🏻", "☺︎", ZWJ),
    *(ZWJ.join(parts) for parts in ("👩💻", "👨👩👧👦", ("🏳️", "🌈"), ("🧑🏿", "🚀"), ("❤️", "🔥"))),
)
SPECIALS = ("<|endoftext|>", "<|fim_prefix|>", "<|endofprompt|>", "<|end|>", "<|endoftext", "|>", "<|", "</s>")
LENGTHS = (1, 2, 3, 7, 8, 13, 14, 15, 16, 17, 30, 31, 32, 33, 47, 48, 62, 63, 64, 65, 66, 127, 128, 129)
WORDS_TEXT = (
    "the of and to in is that for it was with as his on be at by this have from or one had not but what all were when"
    " internationalization Straße naïve İstanbul ΣΊΣΥΦΟΣ ёлка McDonald HTTPServer iPhone x86_64 don't WE'LL o'clock"
    " antidisestablishmentarianism e.g. https://example.org/a?b=c&d=%20 user@example.com 3.14159 1,000,000 0x1F"
)
WORDS = tuple(WORDS_TEXT.split())


def _letters(rng: random.Random) -> str:
    first, last = rng.choice(list(SCRIPTS.values()))
    return "".join(chr(rng.randint(first, last)) for _ in range(rng.choice((1, 1, 2, 3, 5, 8, 13, 21))))


def _words(rng: random.Random) -> str:
    words = [rng.choice(WORDS) for _ in range(rng.randint(1, 6))]
    recase = rng.choice((str, str, str.upper, str.lower, str.title, str.swapcase))
    return rng.choice((" ", " ", " ", "  ", "_", "-", "")).join(recase(word) for word in words)


def _some_of(characters: Sequence[str], most: int) -> Callable[[random.Random], str]:
    return lambda rng: "".join(rng.choice(characters) for _ in range(rng.randint(1, most)))


def _contraction(rng: random.Random) -> str:
    tail = rng.choice(CONTRACTIONS)
    tail = rng.choice((tail, tail.upper(), tail.title()))
    return rng.choice(("", "I", "we", "ы", "9", " ", "\n", "漢", "É")) + rng.choice(APOSTROPHES) + tail


def _marked(rng: random.Random) -> str:
    base = rng.choice(("", " ", "e", "E", "AB", "ß", "я", "Я", "1", "-", "ǅ", "中", "\n"))
    marks = "".join(rng.choice(MARKS) for _ in range(rng.choice((1, 1, 2, 3, 20))))
    return base + marks + rng.choice(("", "a", "A", "'s"))


def _cased(rng: random.Random) -> str:
    pools = ("ABCÀÉΩЖ", "abcàéωж", TITLE_CASE, MODIFIER_LETTERS, MARKS, "中漢ªº")
    return "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 9)))


def _run(rng: random.Random) -> str:
    unit = rng.choice((*"aA0 \n\t.^'/中ก한я🙂\u0301\u200d", "ab", "\r\n", " a", "的一", "=-"))
    return unit * rng.choice(LENGTHS)


def _length(rng: random.Random) -> str:
    """A word of exactly n UTF-8 bytes, as word caches pack keys of 15, 31 or 63 bytes."""
    n, unit = rng.choice(LENGTHS), rng.choice(("a", "é", "д", "中", "한", "ก", "🙂", "ab", "аб"))
    width = len(unit.encode())
    return rng.choice(("", " ")) + unit * (n // width) + "x" * (n % width)


def _number(rng: random.Random) -> str:
    digits = "".join(rng.choice(DIGITS) for _ in range(rng.choice((1, 2, 3, 4, 5, 6, 7, 12))))
    return digits + rng.choice(("", ".", "%", "st"))


def _any(rng: random.Random) -> str:
    cp = rng.choice((rng.randrange(0x80), rng.randrange(0x800), rng.randrange(0x10000), rng.randrange(0x110000)))
    return chr(cp) if not 0xD800 <= cp < 0xE000 else "\ufffd"


def _base64(rng: random.Random) -> str:
    alphabet = rng.choice((string.ascii_letters + string.digits + "+/", string.hexdigits[:16], "ab"))
    return "".join(rng.choice(alphabet) for _ in range(rng.choice((5, 20, 76, 200))))


MAKERS: tuple[Callable[[random.Random], str], ...] = (
    _letters, _letters, _words, _words, _contraction, _contraction, _marked, _cased, _run, _length, _number, _any,
    _base64,
    _some_of(WHITE_SPACE, 4), _some_of(WHITE_SPACE + NOT_WHITE_SPACE, 3), _some_of(LINE_ENDS, 3), _some_of(CONTROLS, 2),
    _some_of(PUNCTUATION, 4), _some_of("/\n\r.", 5), _some_of(EMOJI, 3), _some_of(SPECIALS, 2), _some_of(" ", 6),
)  # fmt: skip


def adversarial(seed: int, size: int, *, surrogates: bool = False) -> str:
    """Return `size` characters that depend on nothing but the arguments; with `surrogates`, lone ones among them.

    >>> adversarial(1, 50) == adversarial(1, 50), adversarial(1, 50) == adversarial(2, 50)
    (True, False)
    """
    rng = random.Random(seed)
    parts: list[str] = []
    length = 0
    while length < size:
        part = rng.choice(MAKERS)(rng)
        if surrogates and rng.random() < 0.2:
            part += chr(rng.randint(0xD800, 0xDFFF)) * rng.choice((1, 1, 2))
        if rng.random() < 0.4:
            part += " "
        parts.append(part)
        length += len(part)
    text = "".join(parts)[:size]
    # A high and a low surrogate side by side stay two characters of a str; only UTF-16 would join them.
    assert len(text) == size
    return text


def documents(seed: int, n: int, *, longest: int = 400, surrogates: bool = False) -> list[str]:
    """Return `n` adversarial texts of 0 to `longest` characters, for batches and for ends of text."""
    rng = random.Random(seed)
    return [adversarial(rng.getrandbits(32), rng.choice((0, 1, 2, 3, 5, 9, 20, 70, longest)), surrogates=surrogates)
            for _ in range(n)]  # fmt: skip


def texts(*, max_size: int = 60) -> st.SearchStrategy[str]:
    """A hypothesis strategy of valid Unicode texts of the same ingredients; it shrinks towards few plain ones."""
    scripts = [st.characters(min_codepoint=a, max_codepoint=b, exclude_categories=["Cs"]) for a, b in SCRIPTS.values()]
    single = TITLE_CASE + MODIFIER_LETTERS + MARKS + DIGITS + WHITE_SPACE + NOT_WHITE_SPACE + CONTROLS + PUNCTUATION
    phrases = (*LINE_ENDS, *EMOJI, *SPECIALS, *WORDS, *("'" + c for c in CONTRACTIONS), "a" * 15, "a" * 16, "中" * 21)
    parts = st.one_of(
        st.sampled_from("aA1 '\n"),
        st.sampled_from(single),
        st.sampled_from(phrases),
        *scripts,
        st.characters(exclude_categories=["Cs"]),
    )
    return st.lists(parts, max_size=max_size).map("".join)


CONTEXTS = (
    "{}", " {}", "{} ", "a{}", "{}a", "A{}", "{}A", "a{}a", "1{}", "{}1", "12{}34", "'{}", "{}'", "a'{}", "{}'s",
    "'{}e",
    "\n{}", "{}\n", " {} ", "\n{}\n", "{}/", ".{}", "{}.", " .{}\n", "  {}", "{}  ", "a {}b", "{0}{0}", "{0}{0}{0}{0}",
    "É{}é", "\u0301{}", "{}\u0301", "中{}", "{}中", "\r{}\n", "\u3000{}",
)  # fmt: skip
"""Each puts a code point before or after a letter, digit, space, apostrophe, newline, mark, or the end of the text."""


def code_points_in_context(cp: int, contexts: Sequence[str] = CONTEXTS) -> Iterator[str]:
    """Yield short texts, each with the code point in one context.

    >>> list(code_points_in_context(0x73, ("{}", "a'{}")))
    ['s', "a's"]
    """
    character = chr(cp)
    return (context.format(character) for context in contexts)
