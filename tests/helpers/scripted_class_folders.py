"""Makes the folders of tokenizer classes that are Python code in transformers, from vocabularies trained here."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import tokkit

CORPUS = Path(__file__).resolve().parent.parent.parent / "data" / "corpus"
Files = dict[str, Any]
"""Name of a file → its text, or a value that is written as JSON."""
ENGLISH = string.ascii_letters + string.digits + string.punctuation


@cache
def words_with_ends() -> tuple[list[str], list[tuple[str, str]]]:
    """Return the tokens and merges of classic BPE whose words end with "</w>"."""
    files = [CORPUS / "english.txt", CORPUS / "french.txt"]
    definition = tokkit.train(files, model="bpe", vocab_size=900, word_end="attached").definition
    tokens = [token.decode() for token in definition.vocab]
    model: Any = definition.model
    return tokens, [(tokens[left], tokens[right]) for left, right, _ in model.merges.tolist()]


def _joined(tokens: list[str]) -> list[str]:
    """Return tokens with "@@" at the ends of those that do not end a word."""
    return [token.removesuffix("</w>") if token.endswith("</w>") else f"{token}@@" for token in tokens]


def _pair(*special: str) -> Files:
    tokens, merges = words_with_ends()
    vocab = {token: id_ for id_, token in enumerate(dict.fromkeys([*special, *_joined(tokens)]))}
    return {"vocab.json": vocab, "merges.txt": "#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges)}


def _codes() -> Files:
    tokens, merges = words_with_ends()
    lines = "".join(f"{token} 1\n" for token in dict.fromkeys(_joined(tokens)))
    return {"vocab.txt": lines, "bpe.codes": "".join(f"{a} {b} 1\n" for a, b in merges)}


@cache
def _wordpieces(*more: str) -> str:
    files = [CORPUS / f"{name}.txt" for name in ("english", "french", "chinese", "korean")]
    definition = tokkit.train([path for path in files if path.exists()], model="wordpiece", vocab_size=1500).definition
    tokens = [token.decode() for token in definition.vocab]
    return "".join(f"{token}\n" for token in dict.fromkeys([*tokens, *more]))


def _roc_bert() -> Files:
    vocab = _wordpieces()
    table = {token: id_ for id_, token in enumerate(vocab.split("\n"))}
    return {"vocab.txt": vocab, "word_shape.json": table, "word_pronunciation.json": table}


def _characters(*special: str, others: str = ENGLISH + "éè ") -> dict[str, int]:
    return {token: id_ for id_, token in enumerate([*special, *others])}


def _byte_level(*special: str) -> Files:
    definition = tokkit.train([CORPUS / "english.txt"], vocab_size=500).definition
    model: Any = definition.model
    from tokkit.byte_symbols import to_symbols

    symbols = [to_symbols(token) for token in definition.vocab]
    vocab = {token: id_ for id_, token in enumerate([*symbols, *special])}
    merges = "".join(f"{symbols[left]} {symbols[right]}\n" for left, right, _ in model.merges.tolist())
    return {"vocab.json": vocab, "merges.txt": f"#version: 0.2\n{merges}"}


def _neox() -> Files:
    signs = ["<SP>", "<BR>", "<TAB>", "<BLOCK>", "<KIGOU>", "<U2000U2BFF>", "<|emoji1|>"]
    words = [
        "<|startoftranscript|>",
        "<|startoftext|>",
        "<|endoftext|>",
        *signs,
        "全角",
        "がぎ",
        "A,Ａ",
        "b,B,Ｂ",
        "the",
        "th",
    ]
    singles = [c for c in string.ascii_lowercase + string.digits if c != "b"]
    lines = [*words, *singles, *(f"<|byte{byte}|>" for byte in range(256))]
    emoji = {"emoji": {"😀": "<|emoji1|>"}, "emoji_inv": {"<|emoji1|>": "😀"}}
    return {"vocab.txt": "".join(f"{line}\n" for line in lines), "emoji.json": emoji}


def _moses(*vocabularies: str) -> Files:
    tokens, merges = words_with_ends()
    special = ["<s>", "</s>", "<pad>", "<unk>", *(f"<special{i}>" for i in range(10))]
    vocab = {token: id_ for id_, token in enumerate(dict.fromkeys([*special, *tokens]))}
    return {**dict.fromkeys(vocabularies, vocab), "merges.txt": "".join(f"{a} {b} 1\n" for a, b in merges)}


def _fsmt() -> Files:
    files = _moses("vocab-src.json", "vocab-tgt.json")
    tokens = list(files["vocab-tgt.json"])
    tokens[20:] = reversed(tokens[50:])
    return {**files, "vocab-tgt.json": {token: id_ for id_, token in enumerate(tokens)}}


def _cpm() -> Files:
    special = ["<unk>", "<s>", "</s>", "<pad>", "<d>", "</d>", "</n>", "</_>"]
    return {"vocab.txt": "".join(f"{token}\n" for token in [*special, "世界", "th", "the", *ENGLISH, *"你好世"])}


AMINO = "\n".join(["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"])
BYTE_MAPS = {
    "decompose_map": {"61 62": "e0", "c3 a9": "65 cc 81", "41": "a0 61", "42": "a0 62", "20 74 68 65": "e1"},
    "merge_map": {"65 cc": "e5", "65 cc 81": "e6 01", "61 62 63": "f8", "a0 61 62": "f9", "74 68": "fa"},
}
_WORDPIECES: Callable[[], Files] = lambda: {"vocab.txt": _wordpieces("[EMPTY]")}  # noqa: E731
FILES: dict[str, Callable[[], Files]] = {
    **dict.fromkeys(("ByT5Tokenizer", "PerceiverTokenizer", "CanineTokenizer", "DiaTokenizer"), dict),
    "MyT5Tokenizer": lambda: {"byte_maps.json": BYTE_MAPS},
    "EsmTokenizer": lambda: {"vocab.txt": AMINO},
    "CTRLTokenizer": lambda: _pair("<unk>"),
    "BlenderbotSmallTokenizer": lambda: _pair("__null__", "__start__", "__end__", "__unk__", "__newln__"),
    "PhobertTokenizer": _codes,
    "BertweetTokenizer": _codes,
    "ProphetNetTokenizer": lambda: {"prophetnet.tokenizer": _wordpieces("[X_SEP]")},
    "RoCBertTokenizer": _roc_bert,
    "TapasTokenizer": _WORDPIECES,
    "BertJapaneseTokenizer": _WORDPIECES,
    "MgpstrTokenizer": lambda: {"vocab.json": _characters("[GO]", "[s]")},
    "Wav2Vec2CTCTokenizer": lambda: {
        "vocab.json": _characters("<pad>", "<s>", "</s>", "<unk>", "sch", others=ENGLISH.replace("|", "") + "|")
    },
    "Wav2Vec2PhonemeCTCTokenizer": lambda: {"vocab.json": _characters("<pad>", "<s>", "</s>", "<unk>", "aː", "tʃ")},
    "VitsTokenizer": lambda: {"vocab.json": _characters(others="k abcdefghijlmnopqrstuvwxyz'é")},
    "ClvpTokenizer": lambda: _byte_level("[STOP]", "[UNK]", "[SPACE]", "<|endoftext|>"),
    "CodeGenTokenizer": lambda: _byte_level("<|endoftext|>"),
    "GPTNeoXJapaneseTokenizer": _neox,
}
OF_PROGRAMS: dict[str, Callable[[], Files]] = {
    **dict.fromkeys(("BioGptTokenizer", "FlaubertTokenizer", "XLMTokenizer"), lambda: _moses("vocab.json")),
    "FSMTTokenizer": _fsmt,
    "CpmAntTokenizer": _cpm,
}
"""The same for classes whose words come from other packages."""
"""Class → what makes its files."""


def write(folder: Path, name: str, **settings: Any) -> Path:
    """Write the folder of a class, with these settings in its tokenizer_config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {**(FILES | OF_PROGRAMS)[name](), "tokenizer_config.json": {"tokenizer_class": name, **settings}}
    for file, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / file).write_text(text, encoding="utf-8", newline="")
    return folder
