"""Patterns in files: what they mean there is what runs here, and they are written as the other library reads them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import tokkit
from tokkit._core.align import AlignedText
from tokkit.compat.tiktoken import Encoding
from tokkit.errors import FormatError, PatternError
from tokkit.formats import tokenizer_json
from tokkit.formats.split_patterns import FANCY_REGEX, ONIGURUMA, read, write
from tokkit.normalizers.replace import Replace
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.split import Split

ALIKE = [
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+""",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"(?>\p{N}{1,3})|(?=x)x|\x41\u00e9|\.\$|[^\s]",
    r"(\s+)|(\S)",
    r"\p{N}{1,3}|\s+(?!\S)",
]
CASES = [
    (r" ?[^(\s|[.,!?…。，、।۔،])]+", "Hello, world", ["Hello", ",", " world"]),
    (r"\d{1,3}(?=(?:\d{3})*\b)", "1234567 a12", ["1", "234", "567", " a", "12"]),
    (r"[[:space:]]+", "a \t b\u00a0c", ["a", " \t ", "b", "\u00a0", "c"]),
    (r"^[ \t]+", "  a\n\t b", ["  ", "a\n", "\t ", "b"]),
    (r"[a&&[^b]]", "abab", ["a", "b", "a", "b"]),
    (r"\A\s+", " a\n b", [" ", "a\n b"]),
    (r"([!#])\1*", "a!!##!b", ["a", "!!", "##", "!", "b"]),
    (r"]+", "a]]b", ["a", "]]", "b"]),
    (r"\w+", "a\u200cb²", ["a", "\u200c", "b²"]),
    (r"[\w]+", "a²b", ["a", "²", "b"]),
    (r"\p{N}{1,3}+", "12345a", ["12345", "a"]),
    (r"a{2}?", "aab", ["aa", "b"]),
    (r"(?i:straße)", "STRASSE-strasse-Straße", ["STRASSE", "-", "strasse", "-", "Straße"]),
    (r"a[^\d\D]|\S*", "abc d", ["abc", " ", "d"]),
    (r"(?i)ﬃ", "fﬁ ffi ﬃ", ["fﬁ ", "ffi", " ", "ﬃ"]),
    (r"(?i)sss|s(?:t)", "ßs sß ſSs ﬅ", ["ßs", " sß ", "ſSs", " ", "ﬅ"]),
    (r"(?<=ab)c|\h", "abc gf", ["a", "b", "c", " g", "f"]),
    (r"(?<year>\d)\k<year>", "1123", ["11", "23"]),
    (r"a(?i)b|c", "aBaCc", ["aB", "aC", "c"]),
    (r"(\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>|\*|\$|\%[0-9]{2}|[0-9])",
     "CC(=O)[nH]Cl%10Z", ["C", "C", "(", "=", "O", ")", "[nH]", "Cl", "%10", "Z"]),
]  # fmt: skip
"""Patterns of tokenizer.json, texts and what Oniguruma makes of them (Isolated), as tokenizers 0.23.3 gave it."""
REFUSED = {
    r"(?<=\R)x": "a line end of any kind",
    r"\X": "a cluster", r"\Ga": "a place", r"\y": "a boundary", r"(?~a)": "a group", r"(?(1)a|b)": "a group",
    r"\g<1>": "a back-reference", r"(?W:a)": "a group", r"[a-\s]": "a range to a name", r"[\s-a]": "a hyphen",
    r"[a": "a class without end", "(?|a|b)": "a group", r"(?=a)+": "a repeat of what looks around",
    "*a": "nothing to repeat", "(*FAIL)": "a verb", "a)b": "an unbalanced parenthesis", "(?:a": "an unbalanced",
    r"\p{Nonsense}": "no property that is known", r"\p{Diacritic}": "newer versions", r"a*?+": "a repeated repeat",
    r"a{100001}": "more than 100000 repeats", "\\": "an escape", r"(?i:(a)\1)": "ignores case", r"\2(a)": "a back-ref",
    r"\xe9": "an escape", r"\x{110000}": "no character",
}  # fmt: skip


def split(pattern: str, text: str) -> list[str]:
    """Cut as tokenizers does: matches and what lies between them."""
    tokenizers = pytest.importorskip("tokenizers")
    return [
        piece
        for piece, _ in tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated").pre_tokenize_str(text)
    ]


def ours(pattern: str, text: str, behavior: str = "Isolated", *, invert: bool = False) -> list[str]:
    aligned = AlignedText(text)
    Split({"Regex": read(pattern, ONIGURUMA)}, behavior, invert).pretokenize(aligned)
    return [piece for piece in aligned.pieces if piece]


@pytest.mark.parametrize("pattern", ALIKE)
def test_patterns_of_the_same_meaning_keep_their_text(pattern: str) -> None:
    for dialect in (ONIGURUMA, FANCY_REGEX):
        assert read(pattern, dialect) == write(pattern, dialect) == pattern


@pytest.mark.parametrize(("pattern", "text", "parts"), CASES)
def test_patterns_mean_what_they_mean_in_oniguruma(pattern: str, text: str, parts: list[str]) -> None:
    assert ours(pattern, text) == parts
    assert write(read(pattern, ONIGURUMA), ONIGURUMA) == pattern


def test_the_pattern_of_bloom_in_the_file_of_gpt2_gives_the_ids_of_tokenizers(shared: Path) -> None:
    value = json.loads((shared / "vocabs" / "gpt2" / "tokenizer.json").read_text(encoding="utf-8"))
    split = {"type": "Split", "pattern": {"Regex": CASES[0][0]}, "behavior": "Isolated", "invert": False}
    after = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    value["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, after]}
    assert tokkit.Tokenizer(tokenizer_json.from_json(value)).encode("Hello, world") == [15496, 11, 995]


def test_parts_of_look_behinds_that_regex_matches_backwards_are_refused() -> None:
    for pattern in (r"(?<!\h\w*+)a", r"(?<=a(?>b|bc))d", r"(?<=(a)\1)b"):
        with pytest.raises(PatternError, match="in a look-behind"):
            Split({"Regex": read(pattern, ONIGURUMA)}, "Isolated")


def test_matches_alone_are_kept_where_the_rest_is_removed() -> None:
    parts = ["don", "'", "t", "stop", "—", "now", "!"]
    assert ours(r"\w+|[^\w\s]+", "don't stop—now!", "Removed", invert=True) == parts


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_is_not_supported_is_named_with_its_place(pattern: str) -> None:
    with pytest.raises(PatternError, match=rf"^pattern, at \d+: .*{REFUSED[pattern]}.*oniguruma"):
        read(pattern, ONIGURUMA)


def test_a_file_with_a_pattern_that_is_not_supported_names_its_path() -> None:
    value = {
        "version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None, "decoder": None,
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": r"a|\X"}, "behavior": "Isolated", "invert": False},
        "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
    }  # fmt: skip
    with pytest.raises(FormatError, match=r"pre_tokenizer\.pattern\.Regex: pattern, at 2: a cluster of characters"):
        tokenizer_json.from_json(value)


def test_the_start_of_a_line_is_replaced_where_nothing_stands_before_it() -> None:
    assert Replace({"Regex": read(r"(?<!\n)^", ONIGURUMA)}, "▁").normalize_str("a\nb") == "▁a\nb"


SETS = [
    r"[a-c[x-z]]+|.|\s", r"[^a[b]]+|.|\s", r"[\p{L}--\p{Latin}]+", r"[\w~~\d]+", r"\h+|.",
    r"[\p{Lu}\p{M}&&[^\p{Han}]]+|.", r"\x{4E00}|\u{20}|.", r"(?U)a+b|.|\s", r"(?i)[[^[^c\h[:^word:]]]]+|(?s:.)",
]  # fmt: skip


@pytest.mark.parametrize("pattern", SETS)
def test_patterns_of_tiktoken_encode_as_there(pattern: str) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    text = "Hello world abc XYZ 12 zyx [a-b] éÀ 中文 ab\tc 0fF 一aab"
    raw = text.encode()
    pieces = {bytes([byte]) for byte in range(256)} | {raw[k : k + 2] for k in range(len(raw) - 1)}
    ranks = {piece: rank for rank, piece in enumerate(sorted(pieces, key=lambda piece: (len(piece), piece)))}
    theirs = tiktoken.Encoding("any", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    own = Encoding("any", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    assert own.encode(text) == tokkit.from_tiktoken(theirs).encode(text) == theirs.encode(text)
    assert own._pat_str == pattern


def test_the_published_pattern_of_kimi_k2_is_known(tmp_path: Path) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"Hello": 256, b" world": 257, "中文".encode(): 258}
    own = Encoding("kimi", pat_str=patterns.KIMI_K2_UNMARKED, mergeable_ranks=ranks, special_tokens={})
    tok = tokkit.from_tiktoken(own)
    assert tok.encode("Hello world中文") == own.encode("Hello world中文") == [256, 257, 258]
    assert tok.split_engine == "scanner"
    tok.save(tmp_path / "kimi.tiktoken")
    again = tokkit.load(tmp_path / "kimi.tiktoken", pattern=patterns.KIMI_K2_UNMARKED)
    assert (
        again.encode("Hello world中文")
        == [256, 257, 258]
        == tokkit.load(tmp_path / "kimi.tiktoken").encode("Hello world中文")
    )


def test_a_pattern_goes_from_one_library_to_the_other(tmp_path: Path) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    own = Encoding("any", pat_str=r"\w+|[^\w]", mergeable_ranks=ranks, special_tokens={})
    tok = tokkit.from_tiktoken(own)
    tok.save(tmp_path / "tokenizer.json", lossy=True)
    again = tokkit.load(tmp_path / "tokenizer.json")
    for text in ("ab a\u200cb", "²ab ab²", "a\u0301b", "ab\U0001f600", "ⓐb"):
        assert again.encode(text) == tok.encode(text) == own.encode(text)


def test_what_one_library_alone_has_is_not_written_for_the_other() -> None:
    with pytest.raises(FormatError, match="no equivalent that is known in the syntax of fancy_regex"):
        write(r"(?x)a b", FANCY_REGEX)


@pytest.mark.parametrize("pattern", [p for p in patterns.SCANNERS if p not in (None, patterns.DEEPSEEK_V3)])
def test_published_patterns_are_known_again(pattern: str) -> None:
    assert patterns.SCANNERS[read(write(pattern, ONIGURUMA), ONIGURUMA)] == patterns.SCANNERS[pattern]


def test_the_text_of_kimi_k2_is_written_without_the_flag_that_regex_needs() -> None:
    text = write(patterns.KIMI_K2, ONIGURUMA)
    assert text.startswith(r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*")
    assert read(text, ONIGURUMA) == patterns.KIMI_K2
    pieces = ["Hello", "World", " ", "中文", "ABc", "'s"]
    assert split(text, "".join(pieces)) == [*pieces[:4], "ABc's"]


def test_tiktoken_s_own_text_of_cl100k_means_something_else_in_a_file() -> None:
    """Oniguruma takes {1,3}+ for any number of digits."""
    assert ours(patterns.CL100K, "12345") == ["12345"]
    assert ours(write(patterns.CL100K, ONIGURUMA), "12345") == ["123", "45"]


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
    normalizer = Replace({"Regex": read(pattern, ONIGURUMA)}, "_")
    theirs = tokenizers.normalizers.Replace(tokenizers.Regex(pattern), "_")
    assert [normalizer.normalize_str(text) for text in texts] == [theirs.normalize_str(text) for text in texts]
    for behavior in ("Isolated", "Removed"):
        split = Split({"Regex": read(pattern, ONIGURUMA)}, behavior)
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
