"""Makes a random tokenizer.json: any components, over a small vocabulary that fits them.

`pipeline` draws all it decides from one `random.Random`, so that a seed, or hypothesis' own `randoms`, names a case.
Vocabularies are cut from what tokenizers' normalizer and pretokenizer make of sample texts, or hardly a token would
ever be found. `difference` runs a case in both libraries, and says where they part.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from typing import Any

from conftest import byte_of_letter
from normalizers.charsmaps import charsmap
from strategies import adversarial

Json = dict[str, Any]
Chance = random.Random

SYMBOLS = list(byte_of_letter())
MAPS = [
    base64.b64encode(charsmap(strings)).decode()
    for strings in (
        {
            "ﬁ".encode(): b"fi",
            "Ａ".encode(): b"A",
            b"\t": b" ",
            "\u200b".encode(): b"",
            "㍿".encode(): "株式会社".encode(),
        },
        {b"a": "ä".encode(), b"ab": b"x", "e\u0301".encode(): "é".encode(), b"\n": b" ", "\u0301".encode(): b"'"},
    )
]
PATTERNS = (
    r"\s+",
    r"\S+",
    r"\p{L}+",
    r"\p{N}{1,3}",
    "[aeiou]",
    r"\s+(?!\S)|\s+",
    "a*",
    r" ?[^\s\p{L}]+",
    ".",
    "(?i:the)",
    r"(?i:[^a-k\s]+|is)",
    r"(?i:\p{Lu}|x)\p{M}*",
    "(?>a|e)*",
)
REPLACED = tuple(pattern for pattern in PATTERNS if not pattern.endswith("*"))
"""No match of nothing: what is put before the first character has no place in the text, and tokenizers' ByteLevel
repeats what follows it."""
LITERALS = (" ", "a", "e", "th", "\n", "▁", "中", "'", "  ")
CONTENTS = ("", " ", "▁", "x", "Ġ", "-é-", "\u0301")
BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
ADDED = ("<s>", "[SEP]", "ab", "the", "é", "The ", " x", "中", "<mask>", "a b", "1", "É", "\n", "▁", "<s>x", "ﬁ")


def flag(rng: Chance) -> bool:
    return rng.random() < 0.5


def pattern(rng: Chance, patterns: tuple[str, ...] = PATTERNS) -> Json:
    return {"String": rng.choice(LITERALS)} if flag(rng) else {"Regex": rng.choice(patterns)}


def some(rng: Chance, make: Callable[[Chance, int], Json], depth: int, name: str) -> Json:
    return {"type": "Sequence", name: [make(rng, depth + 1) for _ in range(rng.choice((0, 1, 2, 2, 3)))]}


def metaspace(rng: Chance) -> Json:
    made: Json = {"type": "Metaspace", "replacement": rng.choice("▁▁▁_ é中")}
    if rng.random() < 0.2:  # as old files have it
        made |= {"add_prefix_space": True} if flag(rng) else {"add_prefix_space": False, "prepend_scheme": "never"}
        if flag(rng):
            made["str_rep"] = made["replacement"]
        return made
    return made | {"prepend_scheme": rng.choice(("always", "first", "never")), "split": flag(rng)}


def byte_level(rng: Chance) -> Json:
    return {name: flag(rng) for name in ("add_prefix_space", "trim_offsets", "use_regex")} | {"type": "ByteLevel"}


def normalizer(rng: Chance, depth: int = 0) -> Json:
    kind = rng.choice(
        ("BertNormalizer", "Strip", "StripAccents", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt", "Precompiled")
        + ("Replace", "Replace", "Prepend", "ByteLevel")
        + ("Sequence",) * (6 if not depth else 1 if depth < 3 else 0)
    )
    if kind == "Sequence":
        return some(rng, normalizer, depth, "normalizers")
    fields: Json = {}
    if kind == "BertNormalizer":
        fields = {name: flag(rng) for name in ("clean_text", "handle_chinese_chars", "lowercase")}
        fields["strip_accents"] = rng.choice((None, True, False))
    elif kind == "Strip":
        fields = {"strip_left": flag(rng), "strip_right": flag(rng)}
    elif kind == "Precompiled":
        fields = {"precompiled_charsmap": rng.choice(MAPS)}
    elif kind == "Replace":
        fields = {"pattern": pattern(rng, REPLACED), "content": rng.choice(CONTENTS)}
    elif kind == "Prepend":
        fields = {"prepend": rng.choice(CONTENTS[1:])}
    return {"type": kind, **fields}


def pretokenizer(rng: Chance, depth: int = 0) -> Json:
    kind = rng.choice(
        ("BertPreTokenizer", "ByteLevel", "ByteLevel", "CharDelimiterSplit", "Metaspace", "Metaspace", "Whitespace")
        + ("WhitespaceSplit", "Split", "Split", "Split", "Punctuation", "Digits", "UnicodeScripts", "FixedLength")
        + ("Sequence",) * (8 if not depth else 1 if depth < 3 else 0)
    )
    if kind == "Sequence":
        return some(rng, pretokenizer, depth, "pretokenizers")
    if kind == "Metaspace":
        return metaspace(rng)
    if kind == "ByteLevel":
        return byte_level(rng)
    fields: Json = {}
    if kind == "CharDelimiterSplit":
        fields = {"delimiter": rng.choice(" ae中\n")}
    elif kind == "Split":
        fields = {"pattern": pattern(rng), "behavior": rng.choice(BEHAVIORS), "invert": flag(rng)}
    elif kind == "Punctuation":
        fields = {"behavior": rng.choice(BEHAVIORS)}
    elif kind == "Digits":
        fields = {"individual_digits": flag(rng)}
    elif kind == "FixedLength":
        fields = {"length": rng.choice((1, 2, 3, 7))}
    return {"type": kind, **fields}


def decoder(rng: Chance, depth: int = 0) -> Json:
    kind = rng.choice(
        ("ByteLevel", "WordPiece", "Metaspace", "BPEDecoder", "CTC", "Replace", "Replace", "Fuse", "Strip")
        + ("ByteFallback",)
        + ("Sequence",) * (8 if not depth else 1 if depth < 3 else 0)
    )
    if kind == "Sequence":
        return some(rng, decoder, depth, "decoders")
    if kind == "Metaspace":
        return metaspace(rng)
    if kind == "ByteLevel":
        return byte_level(rng)
    fields: Json = {}
    if kind == "WordPiece":
        fields = {"prefix": rng.choice(("##", "a", "▁")), "cleanup": flag(rng)}
    elif kind == "BPEDecoder":
        fields = {"suffix": rng.choice(("</w>", "a", "▁"))}
    elif kind == "CTC":
        words = {"pad_token": rng.choice(("<s>", "a")), "word_delimiter_token": rng.choice(("|", "▁", "e"))}
        fields = {**words, "cleanup": flag(rng)}
    elif kind == "Replace":
        fields = {"pattern": pattern(rng, (*REPLACED, "a*")), "content": rng.choice(CONTENTS)}
    elif kind == "Strip":
        fields = {"content": rng.choice(" ▁ea"), "start": rng.choice((0, 1, 2)), "stop": rng.choice((0, 1, 2))}
    return {"type": kind, **fields}


def postprocessor(rng: Chance, depth: int = 0) -> Json:
    kind = rng.choice(("BertProcessing", "RobertaProcessing", "ByteLevel", "Template", "Template", "Sequence"))
    if kind == "Sequence" and depth < 3:
        return some(rng, postprocessor, depth, "processors")
    if kind == "ByteLevel":
        return byte_level(rng)
    if kind in ("BertProcessing", "RobertaProcessing"):
        made: Json = {"type": kind, "sep": ["[SEP]", 5], "cls": ["<s>", 4]}
        both = {"trim_offsets": flag(rng), "add_prefix_space": flag(rng)}
        return made | both if kind == "RobertaProcessing" else made
    names = {"<s>": (["<s>"], [4]), "[SEP]": (["[SEP]"], [5]), "two": (["<s>", "x"], [4, 7])}
    specials = {name: {"id": name, "ids": ids, "tokens": tokens} for name, (tokens, ids) in names.items()}

    def form(texts: str) -> list[Json]:
        places = [{"Sequence": {"id": text, "type_id": rng.choice((0, 0, 1, 3))}} for text in texts]
        for _ in range(rng.choice((0, 1, 2, 3))):
            special = {"SpecialToken": {"id": rng.choice(list(names)), "type_id": rng.choice((0, 1, 2))}}
            places.insert(rng.randint(0, len(places)), special)
        return places

    single, pair = form("A"), form(rng.choice(("AB", "AB", "AB", "BA")))
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": specials}


def truncation(rng: Chance) -> Json:
    length = rng.choice((0, 2, 5, 8, 12, 20))
    strategy = rng.choice(("LongestFirst", "LongestFirst", "OnlyFirst", "OnlySecond"))
    stride = rng.choice((0, 0, *range(min(length, 4))))
    return {"direction": rng.choice(("Right", "Left")), "max_length": length, "strategy": strategy, "stride": stride}


def padding(rng: Chance) -> Json:
    return {
        "strategy": rng.choice(("BatchLongest", {"Fixed": rng.choice((0, 3, 12))})),
        "direction": rng.choice(("Right", "Left")),
        "pad_to_multiple_of": rng.choice((None, None, 0, 4, 7)),
        "pad_id": rng.choice((0, 6)),
        "pad_type_id": rng.choice((0, 2)),
        "pad_token": "[PAD]",
    }


def stages_of(made: Json) -> Any:
    """Return tokenizers' tokenizer with the stages before the model."""
    import tokenizers

    bare = {"version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", "vocab": {"x": 0}, "unk_token": "x"}}
    stages = {name: made[name] for name in ("normalizer", "pre_tokenizer")}
    return tokenizers.Tokenizer.from_str(json.dumps(bare | stages))


def normalized(stages: Any, text: str) -> str:
    return text if stages.normalizer is None else stages.normalizer.normalize_str(text)


def pieces_of(stages: Any, texts: list[str]) -> list[str]:
    """What tokenizers gives the model of some texts."""
    found = []
    for text in texts:
        text = normalized(stages, text)
        cut = [(text, (0, 0))] if stages.pre_tokenizer is None else stages.pre_tokenizer.pre_tokenize_str(text)
        found += [piece for piece, _ in cut if piece]
    return found or ["x"]


FIRST = ("<unk>", "a", "<0x41>", "e", "<s>", "[SEP]", "[PAD]", "x")
"""The tokens with the first ids, which postprocessors and padding name."""


def model(rng: Chance, pieces: list[str]) -> Json:
    kind = rng.choice(("BPE", "BPE", "BPE", "Unigram", "Unigram", "WordPiece", "WordLevel"))
    if kind == "BPE":
        return bpe(rng, pieces)
    prefix = rng.choice(("##", "##", "", "▁")) if kind == "WordPiece" else ""
    tokens = dict.fromkeys(FIRST)
    for piece in rng.sample(pieces, min(len(pieces), 40)):
        start = rng.choice((0, 0, rng.randrange(len(piece))))
        end = len(piece) if kind == "WordLevel" and flag(rng) else start + rng.choice((1, 1, 2, 3, 5, 12))
        tokens[(prefix if start else "") + piece[start:end]] = None
        if kind != "WordLevel":
            tokens |= dict.fromkeys((prefix if i and flag(rng) else "") + c for i, c in enumerate(piece[:20]))
    if flag(rng):
        tokens |= dict.fromkeys(f"<0x{byte:02X}>" for byte in range(256))
    named = {token: id_ for id_, token in enumerate(tokens)}
    unknown = rng.choice(("<unk>", "<unk>", "<unk>", "absent"))
    made: Json = {"type": kind}
    if kind == "Unigram":
        made["vocab"] = [[token, round(-10 * rng.random(), rng.choice((0, 1, 9)))] for token in named]
        return made | {"unk_id": rng.choice((0, 0, 3, None)), "byte_fallback": flag(rng)}
    made |= {"vocab": named, "unk_token": unknown}
    if kind == "WordPiece":
        made |= {"continuing_subword_prefix": prefix, "max_input_chars_per_word": rng.choice((100, 100, 3))}
    return made


def bpe(rng: Chance, pieces: list[str]) -> Json:
    prefix = rng.choice((None, None, None, "", "##", "é"))
    suffix = rng.choice((None, None, None, "", "</w>", "中"))
    cut = len(prefix or "")
    tokens = dict.fromkeys(FIRST)
    if rng.random() < 0.4:
        tokens |= dict.fromkeys(SYMBOLS)
    if flag(rng):
        tokens |= dict.fromkeys(f"<0x{byte:02X}>" for byte in range(256))
    merges: dict[tuple[str, str], None] = {}
    for piece in rng.sample(pieces, min(len(pieces), 30)):
        ends = (suffix or "") if len(piece) < 25 else ""
        letters = [(prefix or "") * (i > 0) + c for i, c in enumerate(piece[:24])]
        letters[-1] += ends
        tokens |= dict.fromkeys(letter for letter in letters if rng.random() < 0.95)
        while len(letters) > 1 and rng.random() < 0.8:
            at = rng.randrange(len(letters) - 1)
            left, right = letters[at : at + 2]
            letters[at : at + 2] = [left + right[cut:]]
            merges[left, right] = None
            tokens |= dict.fromkeys((left, right, letters[at]))
    listed = list(merges)
    rng.shuffle(listed)
    spaced = flag(rng) and not any(" " in side for pair in listed for side in pair)
    made: Json = {
        "type": "BPE",
        "dropout": None,
        "unk_token": rng.choice((None, "<unk>", "<unk>", "absent" if rng.random() < 0.1 else None)),
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix,
        **{name: rng.random() < 0.3 for name in ("fuse_unk", "byte_fallback", "ignore_merges")},
        "vocab": {token: id_ for id_, token in enumerate(tokens)},
        "merges": [" ".join(pair) if spaced else list(pair) for pair in listed],
    }
    if rng.random() < 0.2:
        del made["type"]
    return made


def added_tokens(rng: Chance, vocab: dict[str, int], stages: Any) -> list[Json]:
    made, free, found = [], len(vocab), {""}
    for content in rng.sample(ADDED, rng.choice((0, 0, 2, 4, 8))):
        flags = {name: rng.random() < 0.25 for name in ("single_word", "lstrip", "rstrip")}
        flags |= {"normalized": flag(rng), "special": flag(rng)}
        looked_for = normalized(stages, content) if flags["normalized"] else content
        if looked_for in found:
            # Of two that are looked for alike tokenizers takes any, and one of which nothing is left cuts everywhere.
            continue
        found.add(looked_for)
        made.append({"id": vocab.get(content, free), "content": content, **flags})
        free += content not in vocab
    return sorted(made, key=lambda token: token["id"])


def pipeline(rng: Chance) -> Json:
    """Return the JSON of a tokenizer."""
    made: Json = {"version": "1.0", "truncation": None, "padding": None}
    often = (("normalizer", normalizer, 0.6), ("pre_tokenizer", pretokenizer, 0.85))
    often += (("post_processor", postprocessor, 0.6), ("decoder", decoder, 0.8))
    for name, make, how in often:
        made[name] = make(rng) if rng.random() < how else None
    if rng.random() < 0.3:
        made["truncation"] = truncation(rng)
    if rng.random() < 0.3:
        made["padding"] = padding(rng)
    if rng.random() < 0.15:  # what the byte-level engine runs
        split = {"type": "Split", "pattern": {"Regex": rng.choice(PATTERNS)}, "behavior": "Isolated", "invert": False}
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, level]}
        made["decoder"] = level
    stages = stages_of(made)
    made["model"] = model(rng, pieces_of(stages, [text_for(rng) for _ in range(4)]))
    if made["model"].get("type") == "Unigram":
        vocab = {token: id_ for id_, (token, _) in enumerate(made["model"]["vocab"])}
    else:
        vocab = made["model"]["vocab"]
    made["added_tokens"] = added_tokens(rng, vocab, stages)
    return made


def text_for(rng: Chance) -> str:
    """Return a short adversarial text, often with added tokens in it."""
    parts = [
        adversarial(rng.randrange(1 << 32), rng.choice((0, 1, 3, 10, 40))) for _ in range(rng.choice((1, 1, 2, 3)))
    ]
    for _ in range(rng.choice((0, 0, 1, 3))):
        parts.insert(rng.randint(0, len(parts)), rng.choice((*ADDED, *"  ▁aeth", "a the", "xyz")))
    return "".join(parts)
