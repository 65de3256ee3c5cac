"""Components of a tokenizer.json as JSON, by short names, for the rows of tokenizer classes."""

from __future__ import annotations

from typing import Any

from tokkit.registry.tokenizer_classes.row import JSON, Given

SPACE = "\u2581"


def sequence(name: str, *steps: JSON) -> JSON:
    """Return a sequence; `name` is the key of its steps: normalizers, pretokenizers or decoders."""
    return {"type": "Sequence", name: list(steps)}


def normalizers(*steps: JSON) -> JSON:
    """Return a sequence of normalizers."""
    return sequence("normalizers", *steps)


def replace(text: str, content: str) -> JSON:
    """Return the normalizer or decoder that replaces a text."""
    return {"type": "Replace", "pattern": {"String": text}, "content": content}


def replace_all(pattern: str, content: str) -> JSON:
    """Return the normalizer that replaces the matches of a pattern."""
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def strip(*, left: bool = False, right: bool = False) -> JSON:
    """Return the normalizer that strips white space."""
    return {"type": "Strip", "strip_left": left, "strip_right": right}


def precompiled(given: Given) -> list[JSON]:
    """Return the normalizer of the class's charsmap, in a list that is empty if there is none."""
    charsmap = given.get("charsmap")
    return [{"type": "Precompiled", "precompiled_charsmap": charsmap}] if charsmap else []


def bert_normalizer(lowercase: Any, *, clean_text: Any = True, chinese: Any = True, strip_accents: Any = None) -> JSON:
    """Return BERT's normalizer."""
    return {
        "type": "BertNormalizer",
        "clean_text": clean_text,
        "handle_chinese_chars": chinese,
        "strip_accents": strip_accents,
        "lowercase": lowercase,
    }


def metaspace(scheme: str = "always", *, split: bool = True) -> JSON:
    """Return the pretokenizer or decoder that writes spaces as U+2581."""
    return {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": split}


def byte_level(prefix: Any = False, *, trim: Any = True, regex: bool = True) -> JSON:
    """Return the pretokenizer, decoder or postprocessor of byte symbols."""
    return {"type": "ByteLevel", "add_prefix_space": bool(prefix), "trim_offsets": bool(trim), "use_regex": regex}


def split(pattern: str, behavior: str, *, regex: bool = True, invert: bool = False) -> JSON:
    """Return the pretokenizer that splits at a pattern."""
    kind = "Regex" if regex else "String"
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def pretokenizers(*steps: JSON) -> JSON:
    """Return a sequence of pretokenizers."""
    return sequence("pretokenizers", *steps)


def bpe(given: Given, **fields: Any) -> JSON:
    """Return a BPE model of the class's vocabulary and merges."""
    of_words = {"unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None}
    flags = {"dropout": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    tables = {"vocab": given["vocab"], "merges": given["merges"]}
    return {"type": "BPE", **flags, **of_words, **fields, **tables}


def byte_level_bpe(given: Given, **fields: Any) -> JSON:
    """Return the BPE model of GPT-2 and its successors."""
    return bpe(given, **{"continuing_subword_prefix": "", "end_of_word_suffix": "", **fields})


def wordpiece(given: Given) -> JSON:
    """Return a WordPiece model."""
    return {
        "type": "WordPiece",
        "unk_token": given.text("unk_token"),
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": given["vocab"],
    }


def unigram(given: Given, unk_id: int | None) -> JSON:
    """Return a Unigram model."""
    return {"type": "Unigram", "unk_id": unk_id, "vocab": given["vocab"], "byte_fallback": False}


def byte_fallback_decoder(*, strips: bool) -> JSON:
    """Return the decoder of Llama's and Gemma's tokenizers."""
    steps: list[JSON] = [replace(SPACE, " "), {"type": "ByteFallback"}, {"type": "Fuse"}]
    if strips:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return sequence("decoders", *steps)


WORDS: JSON = {"type": "BertPreTokenizer"}
WORDPIECE_DECODER: JSON = {"type": "WordPiece", "prefix": "##", "cleanup": True}
SYMBOLS_DECODER = byte_level(True)
NFC: JSON = {"type": "NFC"}
NFKC: JSON = {"type": "NFKC"}
NFKD: JSON = {"type": "NFKD"}
LOWERCASE: JSON = {"type": "Lowercase"}
STRIP_ACCENTS: JSON = {"type": "StripAccents"}
WHITESPACE_SPLIT: JSON = {"type": "WhitespaceSplit"}
EOW_DECODER: JSON = {"type": "BPEDecoder", "suffix": "</w>"}
