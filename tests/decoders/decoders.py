"""Pairs of our decoders and those of tokenizers, with strategies for tokens that test them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from hypothesis import strategies as st

from tokkit.decoders.base import Decoder
from tokkit.decoders.bpe import BPE
from tokkit.decoders.byte_fallback import ByteFallback
from tokkit.decoders.byte_level import ByteLevel
from tokkit.decoders.ctc import CTC
from tokkit.decoders.fuse import Fuse
from tokkit.decoders.metaspace import Metaspace
from tokkit.decoders.replace import Replace
from tokkit.decoders.sequence import Sequence
from tokkit.decoders.strip import Strip
from tokkit.decoders.wordpiece import WordPiece

NAMES = {BPE: "BPEDecoder"}
COMPONENTS = [
    *(BPE(), BPE(""), BPE("é"), BPE("##")),
    ByteFallback(),
    *(ByteLevel(), ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)),
    *(CTC(), CTC(cleanup=False), CTC("", "", True), CTC("Ġ", " ", True), CTC("##", "n't", True)),
    Fuse(),
    *(Metaspace("▁", scheme) for scheme in ("always", "first", "never")),
    *(Metaspace(" ", "always"), Metaspace("é", "never", False)),
    *(Replace({"String": old}, new) for old, new in (("▁", " "), ("", "x"), ("aa", "a"), (" ", ""), ("a", "a\0b"))),
    *(Replace({"Regex": p}, "_") for p in (r"a*", r"\s+", r"a|(?=b)", r"(?<=a)a|", r"[^a]", r"(?i:A)", r"a*|b")),
    *(
        Strip(),
        Strip(" ", 1, 0),
        Strip(" ", 2, 0),
        Strip("a", 3, 0),
        Strip("é", 0, 1),
        Strip("▁", 1, 1),
        Strip(" ", 2, 2),
    ),
    *(WordPiece(), WordPiece(cleanup=False), WordPiece(""), WordPiece(" "), WordPiece("é", True)),
]
CHAINS = [
    Sequence([]),
    Sequence([Replace({"String": "▁"}, " "), ByteFallback(), Fuse(), Strip(" ", 1, 0)]),
    Sequence([ByteFallback(), Metaspace()]),
    Sequence([ByteFallback(), Fuse(), Replace({"String": "▁"}, " "), Strip(" ", 1, 0)]),
    Sequence([Metaspace(), ByteFallback(), Fuse()]),
    Sequence([ByteLevel(), Strip("a", 2, 0)]),
    Sequence([BPE(), WordPiece()]),
    Sequence([WordPiece(), Fuse(), WordPiece()]),
    Sequence([Sequence([Fuse(), Replace({"Regex": " +"}, " ")]), Strip(" ", 1, 0)]),
    Sequence([Replace({"String": "a"}, "<0x41>"), ByteFallback(), ByteLevel()]),
    Sequence([CTC(), Metaspace(), CTC()]),
    Sequence([Strip("a", 1, 0), BPE("é"), Fuse(), ByteLevel()]),
    Sequence([Fuse(), ByteFallback(), Fuse(), Metaspace(), BPE("##"), CTC()]),
]

BYTE_TOKENS = [f"<0x{byte:02X}>" for text in ("é", "東", "🦜", "A") for byte in text.encode()]
FRAGMENTS = [
    *BYTE_TOKENS,
    *("<0xff>", "<0xFF>", "<0xC0>", "<0x+F>", "<0x-1>", "<0X41>", "<0x4>", "<0x041>", "<0xé>", "<0xE6", "0x41>"),
    *(
        "",
        " ",
        "  ",
        "   ",
        "a",
        "aa",
        "aaa",
        "b",
        "é",
        "e\u0301",
        "\u0301",
        "\n",
        "\0",
        "東",
        "🦜",
        "\u200d",
        "\ufffd",
        "\u3000",
    ),
    *(
        "▁",
        "▁▁",
        "▁a",
        "a▁",
        "▁Hello",
        "▁wor",
        "ld",
        "##",
        "##a",
        "####",
        "#",
        "</w>",
        "a</w>",
        "</w>b</w>",
        "<pad>",
        "|",
        "||",
    ),
    *("Ġ", "Ġthe", "Ã", "©", "Ã©", "æ", "ĿĿ", "Ń", "Ċ", "\xad", "\x80", "ð", "Ł", "ľ"),
    *(
        ".",
        ",",
        "?",
        "!",
        "'",
        " '",
        "' ",
        "n't",
        " n't",
        "'m",
        "do",
        "not",
        "do not",
        "don't",
        "'s",
        "'ve",
        "'re",
        " 're",
    ),
]
TOKENS = st.lists(
    st.one_of(st.sampled_from(FRAGMENTS), st.lists(st.sampled_from(FRAGMENTS), max_size=4).map("".join)), max_size=12
)


def json_of(decoder: Decoder) -> dict[str, Any]:
    """A decoder as tokenizer.json has it."""
    fields = {name: getattr(decoder, name) for name in decoder.__dataclass_fields__}
    if isinstance(decoder, Sequence):
        fields["decoders"] = [json_of(part) for part in decoder.decoders]
    return {"type": NAMES.get(type(decoder), type(decoder).__name__), **fields}


def rival(decoder: Decoder) -> Any:
    """The decoder of tokenizers that is configured alike."""
    return _rival(json.dumps(json_of(decoder)))


@cache
def _rival(decoder: str) -> Any:
    import tokenizers

    empty = json.loads(tokenizers.Tokenizer(tokenizers.models.BPE()).to_str())
    return tokenizers.Tokenizer.from_str(json.dumps(empty | {"decoder": json.loads(decoder)})).decoder
