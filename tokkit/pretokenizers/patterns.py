"""The split patterns of published encodings by name, and the scanner that runs each.

The numbers are those of `csrc/split/scan.h`. Several patterns may share a scanner: tokenizers' ByteLevel has the GPT-2
pattern without possessive quantifiers, which has the same matches.
"""

from __future__ import annotations

import difflib
import re

from tokkit.errors import OptionError

R50K = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
BYTE_LEVEL = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|"""
    r"""\s*[\r\n]|\s+(?!\S)|\s"""
)
O200K = "|".join(
    (
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    )
)
LLAMA3 = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+"""
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN3_5 = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+"""
)
TEKKEN = O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace(r"\p{N}{1,3}", r"\p{N}")
KIMI_K2_UNMARKED = r"[\p{Han}]+|" + O200K.replace(r"\p{M}]", r"\p{M}&&[^\p{Han}]]").replace(r"[\r\n/]*", r"[\r\n]*")
"""The published pattern, for engines in which && is always the intersection of sets."""
KIMI_K2 = "(?V1)" + KIMI_K2_UNMARKED

DEEPSEEK_V3_IN_TURN = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+""",
)
"""The published patterns: each splits the result of the one before, including its matches; other text is kept."""
_CJK = "一-龥\u3040-ヿ"
_UNMATCHED = r"[^\s\p{L}\p{M}\p{N}\p{P}\p{S}]"
DEEPSEEK_V3 = "|".join(
    (
        r"(?V1)\p{N}{1,3}",
        rf"[{_UNMATCHED}&&[{_CJK}]]?[\p{{L}}\p{{M}}&&[{_CJK}]]+",
        rf"[\p{{P}}\p{{S}}&&[{_CJK}]]+",
        rf"[{_UNMATCHED}&&[{_CJK}]]+(?![\p{{L}}\p{{M}}&&[{_CJK}]])",
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+""",
        rf"[^\r\n\p{{L}}\p{{N}}\p{{P}}\p{{S}}{_CJK}]?[\p{{L}}\p{{M}}&&[^{_CJK}]]+",
        rf" ?[\p{{P}}\p{{S}}&&[^{_CJK}]]+[\r\n]*",
        r"\s*[\r\n]+",
        rf"\s+(?![^\s\p{{N}}{_CJK}])",
        r"\s+",
        rf"[{_UNMATCHED}&&[^{_CJK}]]+(?![\p{{L}}\p{{M}}&&[^{_CJK}]])",
    )
)
"""The three patterns as one. The third one sees spans of digits (where it never matches), of CJK, or of neither, so its
branches appear twice here, for CJK and for the rest, with classes that exclude the other and digits; its look-aheads
also end at the end of a span. It does not match runs that end before a character that leads letters
(tests/formats/test_deepseek.py runs the three patterns in order).
"""

WHOLE = 0
SCANNERS: dict[str | None, int] = {
    None: WHOLE, R50K: 1, BYTE_LEVEL: 1, CL100K: 2, O200K: 3, LLAMA3: 4, QWEN2: 5, QWEN3_5: 6, TEKKEN: 7, KIMI_K2: 8,
    DEEPSEEK_V3: 9,
}  # fmt: skip
"""Pattern → number of its scanner in the core; None (no split) makes the whole text one pretoken."""

CUTTABLE = frozenset((R50K, BYTE_LEVEL, CL100K, O200K, LLAMA3, QWEN2, QWEN3_5, TEKKEN, KIMI_K2, DEEPSEEK_V3))
"""Patterns that split text at every split point; csrc/split/split_points.c has the proof, which new ones need too."""

NAMES = {
    "gpt2": BYTE_LEVEL, "r50k": R50K, "cl100k": CL100K, "o200k": O200K, "llama3": LLAMA3, "qwen2": QWEN2,
    "qwen3.5": QWEN3_5, "tekken": TEKKEN, "kimi-k2": KIMI_K2,
    "deepseek-v3": DEEPSEEK_V3,
}  # fmt: skip
"""Names that `pattern=` and `--split` accept, besides a pattern and "none"."""


def resolve(pattern: str | None) -> str | None:
    """Return the pattern that a name stands for; None and "none" mean no split; any other text is a pattern.

    OptionError for a bare word that is not a name, because as a pattern it would match only itself.
    """
    if pattern is None or pattern == "none":
        return None
    if pattern not in NAMES and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[0-9]+)?", pattern):
        near = difflib.get_close_matches(pattern, NAMES, n=3, cutoff=0.4)
        raise OptionError(
            f"pattern is {pattern!r}, an unknown name{': ' + ', '.join(near) + '?' if near else ''}. Known are "
            f'{", ".join(NAMES)} and "none"; for a regular expression that is one word, write "(?:{pattern})"'
        )
    return NAMES.get(pattern, pattern)
