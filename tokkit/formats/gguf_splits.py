"""The split patterns for the names in tokenizer.ggml.pre.

A name stands for the split of the tokenizer that it was made for. Programs that run GGUF files sometimes split
differently, because they lack a Unicode property (only letters A to Z for gpt-4o and tekken); here the tokenizer's own
pattern is used. Some names have several splits in order, which are combined to one pattern here: look-aheads make a
span that an earlier split leaves end like a text; tests/formats/test_gguf_splits.py runs the splits in order. The
splits of IN_TURN run one after another, as components; that of afmoe is the one of programs that run GGUF files.
"""

from __future__ import annotations

from typing import NamedTuple

from tokkit.definition import Split
from tokkit.errors import FormatError
from tokkit.files.strict_json import brief
from tokkit.formats.gguf_vocabulary import Vocabulary
from tokkit.pretokenizers import patterns

DIGITS_APART = patterns.BYTE_LEVEL.replace(r"| ?\p{N}+", r"|\p{N}").replace(r"(?!\S)", r"(?![^\s\p{N}])")
"""Each digit alone, and then the GPT-2 pattern on the text between digits."""
MINICPM5 = patterns.LLAMA3.replace(r"(?!\S)", r"(?![^\s\p{N}])")
"""Digits in groups of three, and then Llama 3's pattern on the text between them."""
_SPACES = "|".join(rf"\s{{{n}}}(?!\S)" for n in (512, 256, 128, 64, 32, 16, 8, 4))
JAIS2 = patterns.LLAMA3.replace(r"\s+(?!\S)|\s+", _SPACES + r"|\s{1,2}(?!\S)|\s")
SEED_CODER = patterns.QWEN2.replace(r"\p{N}]+[\r\n]*", r"\p{N}]+")
UFAKZEKA = patterns.QWEN2.removeprefix("(?i:'s|'t|'re|'ve|'m|'ll|'d)|")
EXAONE_MOE = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
)
BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"
VIKING = r"\p{N}| ?[^(\s|.,!?…。，、।۔،)\p{N}]+| (?=\p{N})"
"""Bloom's pattern, and then each digit alone: the space before a digit is a pretoken."""

_NAMES = {
    patterns.BYTE_LEVEL: (
        "gpt-2 phi-2 mpt olmo jais trillion granite-docling jina-es jina-de jina-v1-en jina-v2-es jina-v2-de "
        "jina-v2-code roberta-bpe gigachat a.x-4.0 mellum modern-bert exaone4"
    ),
    DIGITS_APART: "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
    patterns.LLAMA3: (
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano dbrx smaug-bpe chatglm-bpe glm4"
    ),
    # stablelm2 and Bailing's models have a different spelling ('(?i:[sdmt]|ll|ve|re), \s*[\r\n]) with the same matches.
    patterns.QWEN2: (
        "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez hunyuan solar-open grok-2 stablelm2 bailingmoe bailingmoe2 "
        "llada-moe"
    ),
    patterns.QWEN3_5: "qwen35",
    patterns.DEEPSEEK_V3: "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
    patterns.TEKKEN: "tekken",
    patterns.O200K: "gpt-4o llama4 kanana2 talkie minimax-m2 granite-embed-multi-97m",
    patterns.KIMI_K2: "kimi-k2",
    MINICPM5: "minicpm5",
    JAIS2: "jais-2",
    SEED_CODER: "seed-coder",
    EXAONE_MOE: "exaone-moe",
    UFAKZEKA: "ufakzeka",
    BLOOM: "bloom poro-chat gpt3-finnish",
    VIKING: "viking",
}
_WITH_BOS = (
    "llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano", "tekken",
)  # fmt: skip
BOS_BY_DEFAULT = frozenset((*_WITH_BOS, "chameleon"))
"""Names of tokenizers that add their first special token to each text unless the file says otherwise."""
# A pretoken that is a token gets its id without merging (ignore_merges in tokenizer.json).
_WHOLE_PIECE = (*_WITH_BOS, "minicpm5", "youtu", "granite-embed-multi-97m")

PATTERNS = {name: pattern for pattern, names in _NAMES.items() for name in names.split()}
"""tokenizer.ggml.pre → pattern."""


_GPT2 = patterns.BYTE_LEVEL.removesuffix(r"|\s+")  # text that no match covers is kept as a pretoken
_LETTERS = (
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿ\u0386\u0388-\u038aΌ\u038e-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-\u1f1dἠ-\u1f45"
    "Ὀ-\u1f4dὐ-ὗὙ\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec"
    "\u1ff2-\u1ff4\u1ff6-\u1ffcℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ"
    "𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)
IN_TURN: dict[str, tuple[str, ...]] = {
    "falcon": (r"[\p{P}$+<=>^~|`]+", _GPT2, "[0-9][0-9][0-9]"),
    "default": (r"[\p{P}$+<=>^~|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"),
    "deepseek-llm": (
        r"[\r\n]",
        rf"\s?[{_LETTERS}]+",
        "\\s?[!-/:-~！-／：-～‘-‟　-。]+",
        r"\s+$",
        "[一-龥ࠀ-一가-\ud7ff]+",
        r"\p{N}+",
    ),
    "deepseek-coder": (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-\ud7ff]+", r"\p{N}"),
    "chameleon": (
        "<sentinel:[0-9]+>",
        "IMGIMG[A-I]{1,4}Z",
        r"[\t\n]|    |  ",
        r"\p{N}",
        r"[\p{P}!-/:-@\[-`{-~]",
        _GPT2,
    ),
    "superbpe": (r"\p{N}+", r"(?=(?:\d{3})+(?!\d))"),
    "youtu": (
        "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u3040-ゟ゠-ヿ]+",
        patterns.O200K.replace(r"\p{N}{1,3}", r"\p{N}"),
    ),
    "tiny_aya": (r"\d{1,3}(?=(?:\d{3})*\b)", patterns.O200K),
    "laguna": (r"[^\n]+|[\n]+", patterns.QWEN2),
    # The first digits of a number, so that groups of three remain, with the text before them; then these groups.
    "afmoe": (
        r"\P{N}*\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
        "[一-鿿㐀-䶿豈-\ufaff\u3040-ゟ゠-ヿ･-ﾟ⼀-\u2fdfเ-\u0e7f\u0e80-\u0effក-\u17ffက-႟ꩠ-ꩿꧠ-\ua9ff가-\ud7afᄀ-ᇿ]+",
        patterns.DEEPSEEK_V3_IN_TURN[2],
    ),
    "spark2_5": (
        *patterns.DEEPSEEK_V3_IN_TURN[:2],
        patterns.DEEPSEEK_V3_IN_TURN[2].replace(r"[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|", r"[\p{P}\p{S}]+|[\r\n]|"),
        r"\p{N}",
    ),
}
IN_TURN["cohere2moe"] = IN_TURN["tiny_aya"]
RAW = ("gemma4", "granite-embed-multi-311m", "sarvam-moe", "whitespace")
"""Names of tokenizers that merge characters of text, not byte symbols (gguf_raw_bpe.py)."""
WHOLE_NEWLINES = ("gemma4", "granite-embed-multi-311m")
"""Those of RAW in which a run of newlines that is a token gets its id, and "bos" is added whatever the file says."""
"""Names whose splits run in order, each on the pretokens of the ones before."""
OF_ARCHITECTURE = {
    "aquila": "gpt-2", "bloom": "bloom", "codeshell": "codeshell", "falcon": "falcon", "gpt2": "gpt-2",
    "gptneox": "gpt-2", "mpt": "mpt", "refact": "refact", "starcoder": "starcoder",
}  # fmt: skip
"""general.architecture → name of the only split of such models, for old files without tokenizer.ggml.pre."""


class Cut(NamedTuple):
    """One split, or several in order; and whether a pretoken that is a token skips merging."""

    split: Split | tuple[str, ...]
    whole_piece: bool


def name_in(vocabulary: Vocabulary) -> str | None:
    """Return the name of the split of a vocabulary: of its model, or in tokenizer.ggml.pre, or of its architecture."""
    if vocabulary.model in RAW:
        return vocabulary.model
    return vocabulary.split or OF_ARCHITECTURE.get(vocabulary.architecture)


def find(name: str | None, pattern: str | None) -> Cut:
    """Return the split of a name, or of `pattern` instead (a name of `patterns.NAMES`, a pattern, or "none").

    Text that the pattern does not match is kept. FormatError if neither gives a known split.

    >>> find("qwen2", None).whole_piece, find("no name", "gpt2").split.pattern == patterns.BYTE_LEVEL
    (False, True)
    """
    whole_piece = name in _WHOLE_PIECE
    if pattern is not None:
        return Cut(_split(patterns.resolve(pattern)), whole_piece)
    if name in PATTERNS:
        return Cut(_split(PATTERNS[name]), whole_piece)
    if name in IN_TURN:
        return Cut(IN_TURN[name], whole_piece)
    what = "missing" if name is None else f"the split {brief(name)} is unknown"
    raise FormatError(
        f"tokenizer.ggml.pre: {what}, so the split of the file is unknown: give pattern=, one of "
        f"{', '.join(patterns.NAMES)}, "
        f'"none", or a regular expression. Known are {", ".join(sorted({*PATTERNS, *IN_TURN}))}'
    )


def name_of(split: Split, whole_piece: bool | None) -> str:
    """Return the first name for a split with this rule for whole pretokens (None: any); FormatError if there is none.

    >>> name_of(Split(patterns.LLAMA3), True), name_of(Split(patterns.LLAMA3), False)
    ('llama3', 'dbrx')
    """
    for name, pattern in PATTERNS.items():
        scanner = patterns.SCANNERS.get(pattern)
        same = pattern == split.pattern or (scanner is not None and scanner == patterns.SCANNERS.get(split.pattern))
        if same and whole_piece in (None, name in _WHOLE_PIECE):
            return name
    whole = " in which a pretoken that is a token skips merging" if whole_piece else ""
    raise FormatError(f"no name in tokenizer.ggml.pre stands for its split{whole}: {brief(split.pattern or 'none')}")


def _split(pattern: str | None) -> Split:
    # The published patterns match all text, so there is no unmatched text to keep.
    return Split(pattern, keep_unmatched=pattern not in patterns.SCANNERS)
