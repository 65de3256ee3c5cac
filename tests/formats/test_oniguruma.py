"""Patterns run if Oniguruma (in tokenizers) and the `regex` package interpret them alike; others are refused."""

from __future__ import annotations

import json
import random
import unicodedata

import pytest
import regex

import tokkit
from strategies import adversarial
from tokkit._core.align import AlignedText
from tokkit.errors import FormatError
from tokkit.formats import oniguruma, tokenizer_json
from tokkit.normalizers.replace import Replace
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.split import Split

TEKKEN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
        r"\p{N}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
ALIKE = [
    TEKKEN,
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+""",
    "[一-龥぀-ゟ゠-ヿ]+",
    r"(?i:'s|'t|'re)|\p{L}++|\d{1,3}|(?:ab)*?c|[a-z&|~^-]+|.",
    r"(?>\p{N}{1,3})|(?=x)x|\x41\u00e9|\.\$|[^\s]",
    r"(\s+)|(\S)",
    r"(?i:'(?:s|t))+|ss|(?i:[@-C])",
]
NOT_ALIKE = [
    r"\p{N}{1,3}+",
    r"a{2}?",
    r"a+++",
    r"\ba",
    r"\w+",
    r"[\W]",
    r"\h+",
    r"\R",
    r"\X",
    r"\K",
    r"\Ga",
    r"(a)\1",
    r"[[:alpha:]]",
    r"[\p{L}&&\p{Lu}]",
    r"[a||b]",
    r"[a--b]",
    r"[a-\s]",
    r"[\s-a]",
    r"[]a]",
    r"[a",
    r"[",
    r"\p{^L}",
    r"\p{Alphabetic}",
    r"\pL",
    r"\x{41}",
    r"\xe9",
    r"x{,3}",
    r"x{",
    r"(?m)a",
    r"(?i)a",
    r"(?s:.)",
    r"(?<name>a)",
    r"(?P<name>a)",
    r"(?<=a+)b",
    r"(?<=a|b)c",
    r"(?<=a)+",
    r"(?<!(?:a))b",
    r"(?<=a)(?i:b)",
    r"(?#comment)",
    r"(?|a|b)",
    r"(?i:ss)",
    r"(?i:s\x53)",
    r"(?i:é)",
    r"(?i:\u00df)",
    r"(?i:[a-é])",
    r"(?i:[\p{Lu}x])",
    r"(?=a)+",
    r"a(?:b(?!c))(?!c){2}",
    r"*a",
    r"(*FAIL)",
    r"a(?:*)",
    r"a|+b",
    r"a)b",
    r"(?:a",
    r"(?i:a)b)c",
    r"(?i:a)k)[b-d]",
    r"(?i:(?:a)",
    r"(?<=a)|?",
    r"a{2,1}",
    r"a{0}",
    r"a{100001}",
    "\\",
]


def split(pattern: str, text: str) -> list[str]:
    """Cut as tokenizers does: matches and what lies between them."""
    tokenizers = pytest.importorskip("tokenizers")
    return [
        piece
        for piece, _ in tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated").pre_tokenize_str(text)
    ]


def split_by_regex(pattern: str, text: str) -> list[str]:
    pieces, at = [], 0
    for match in regex.finditer(pattern, text):
        pieces += [text[at : match.start()], match.group()]
        at = match.end()
    return [piece for piece in [*pieces, text[at:]] if piece]


@pytest.mark.parametrize("pattern", ALIKE)
def test_patterns_that_are_taken_cut_alike_in_both_engines(pattern: str) -> None:
    oniguruma.check(pattern)
    assert oniguruma.from_file(pattern) == oniguruma.to_file(pattern) == pattern
    for seed in range(20):
        # The engines know different versions of Unicode: only what is assigned in both.
        text = "".join(c for c in adversarial(seed, 2000) if unicodedata.category(c) not in ("Cn", "Cs"))
        assert split(pattern, text) == split_by_regex(pattern, text)


@pytest.mark.parametrize("pattern", NOT_ALIKE)
def test_what_the_engines_may_read_differently_is_refused_with_its_place(pattern: str) -> None:
    for direction in (oniguruma.from_file, oniguruma.to_file):
        with pytest.raises(FormatError, match=r"^pattern[,:] "):
            direction(pattern)


@pytest.mark.parametrize(
    ("given", "ours", "written"),
    [
        ("(?i:is)", "(?:[iI][sS\u017f])", "(?:[iI\u0130][sS\u017f])"),
        (r"(?i:[a-k]|x(?i:K))", "(?:[a-kaAbBcCdDeEfFgGhHiIjJkK\u212a]|[xX](?:[Kk\u212a]))", None),
        (r"(?i:\p{Lu}'t)a", r"(?:\p{Lu}'[tT])a", FormatError),
        (r"(?i:[^\s&-i])", None, None),
        (r"(?i:the)i", r"(?i:the)i", r"(?i:the)i"),
    ],
)
def test_where_case_is_ignored_in_another_way_it_is_spelt_out(given: str, ours: str | None, written: object) -> None:
    """Oniguruma has i and I for each other, and `regex` also with a dot above or without; \\p{Lu} is Lu alone."""
    made = oniguruma.from_file(given)
    text = "".join(map(chr, [*range(0x250), 0x212A, *range(0x1E00, 0x1F00), *b"tTaA'"]))
    assert split(given, text) == split_by_regex(made, text)
    assert ours in (made, None)
    assert "(?i" not in made.replace("(?i:the)", "")
    if written is FormatError:
        with pytest.raises(FormatError, match="folded in several ways"):
            oniguruma.to_file(given)
    elif isinstance(written, str):
        assert oniguruma.to_file(given) == written
        assert split(written, text) == split_by_regex(given, text)


@pytest.mark.parametrize("pattern", [p for p in patterns.SCANNERS if p not in (None, patterns.DEEPSEEK_V3)])
def test_published_patterns_are_known_again(pattern: str) -> None:
    assert patterns.SCANNERS[oniguruma.from_file(oniguruma.to_file(pattern))] == patterns.SCANNERS[pattern]


def test_the_text_of_kimi_k2_is_written_without_the_flag_that_regex_needs() -> None:
    text = oniguruma.to_file(patterns.KIMI_K2)
    assert text.startswith(r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*")
    assert oniguruma.from_file(text) == patterns.KIMI_K2
    pieces = ["Hello", "World", " ", "中文", "ABc", "'s"]
    assert split(text, "".join(pieces)) == [*pieces[:4], "ABc's"]


def test_tiktoken_s_own_text_of_cl100k_is_refused_in_a_file() -> None:
    """Oniguruma would take {1,3}+ for any number of digits."""
    with pytest.raises(FormatError, match=r"after '\{1,3\}'"):
        oniguruma.from_file(patterns.CL100K)
    assert split(patterns.CL100K, "12345") == ["12345"]
    assert split(oniguruma.to_file(patterns.CL100K), "12345") == ["123", "45"]


ANCHORED = [
    *(
        r"\A +| +\z",
        r"^a",
        r"b$",
        r"$",
        r"^",
        r"^[ \t]+",
        r"\A\s+",
        r"a\Z",
        r"(?:^|b)a+$",
        r"\n^",
        r"^$",
        r"x^a",
        r"^a+$",
    ),
]


@pytest.mark.parametrize("pattern", ANCHORED)
def test_anchors_match_as_in_tokenizers(pattern: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    draw = random.Random(pattern)
    texts = ["".join(draw.choices("abx \n\t", k=draw.randrange(9))) for _ in range(400)]
    normalizer = Replace({"Regex": oniguruma.from_file(pattern)}, "_")
    theirs = tokenizers.normalizers.Replace(tokenizers.Regex(pattern), "_")
    assert [normalizer.normalize_str(text) for text in texts] == [theirs.normalize_str(text) for text in texts]
    for behavior in ("Isolated", "Removed"):
        split = Split({"Regex": oniguruma.from_file(pattern)}, behavior)
        other = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), behavior.lower())
        for text in texts:
            aligned = AlignedText(text)
            split.pretokenize(aligned)
            assert list(aligned.pieces) == [piece for piece, _ in other.pre_tokenize_str(text)]


@pytest.mark.parametrize("pattern", ANCHORED)
def test_texts_with_anchors_are_encoded_as_in_tokenizers(pattern: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    vocab = {character: id_ for id_, character in enumerate("abx \n\t_")}
    value = {
        "version": "1.0", "added_tokens": [], "post_processor": None, "decoder": None,
        "normalizer": {"type": "Replace", "pattern": {"Regex": pattern}, "content": "_"},
        "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "Isolated", "invert": False},
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    }  # fmt: skip
    tok = tokkit.Tokenizer(tokenizer_json.from_json(value))
    theirs = tokenizers.Tokenizer.from_str(json.dumps(value))
    draw = random.Random(pattern)
    for _ in range(300):
        text = "".join(draw.choices("abx \n\t", k=draw.randrange(40)))
        assert tok.encode(text) == theirs.encode(text).ids
