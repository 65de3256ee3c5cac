"""Tokenizer classes for Japanese, in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokkit.definition import Definition
from tokkit.errors import FormatError, OptionError
from tokkit.files import files, strict_json
from tokkit.models.wordlevel import WordLevel
from tokkit.models.wordpiece import WordPiece
from tokkit.pretokenizers.fixed_length import FixedLength
from tokkit.registry.tokenizer_classes.byte_level_rows import SQUARE
from tokkit.registry.tokenizer_classes.row import Given, Row
from tokkit.registry.tokenizer_classes.scripted import japanese, vocab_files
from tokkit.registry.tokenizer_classes.scripted.decoders import Join
from tokkit.registry.tokenizer_classes.scripted.edits import Matches, Steps
from tokkit.registry.tokenizer_classes.scripted.other_programs import MecabWords, mecab, module
from tokkit.registry.tokenizer_classes.slow_word_rows import basic_words
from tokkit.registry.tokenizer_classes.wordpiece_rows import BERT_AROUND

Paths = Mapping[str, str]
_PROGRAMS = {"sudachi": "Sudachi", "jumanpp": "Juman++"}


def _bert(given: Given, paths: Paths) -> Definition:
    path = vocab_files.path_of(paths, "vocab_file", "vocab.txt")
    ids = vocab_files.ids_of_lines(vocab_files.lines_of(path), path)
    unknown = given.text("unk_token")
    if unknown not in ids:
        raise FormatError(f"{files.show(path)}: the unknown token {unknown!r} is missing")
    steps: list[Any] = _words(given) if given["do_word_tokenize"] else []
    model: Any = WordLevel(unk_token=unknown)
    kind = given["subword_tokenizer_type"]
    if not given["do_subword_tokenize"]:
        pass
    elif kind == "wordpiece":
        model = WordPiece(unk_token=unknown)
        steps.append(Matches(r"\S+"))
    elif kind == "character":
        steps += [japanese.Compatible(), FixedLength(1)]
    else:
        raise OptionError(
            f"subword_tokenizer_type is {kind!r}; it must be 'wordpiece' or 'character': tokkit does not run the rules "
            "around a SentencePiece model of this class"
        )
    decoder = Join(" ", " ##", strips=True)
    return Definition(vocab_files.vocab_of(ids), model, Steps(tuple(steps)), decoder=decoder)


def _words(given: Given) -> list[Any]:
    kind = given["word_tokenizer_type"]
    basic = basic_words(given, chinese=False, strip_accents=None)
    if kind == "basic":
        return [basic]
    if kind != "mecab":
        raise OptionError(
            f"word_tokenizer_type is {kind!r}, and its words come from {_PROGRAMS.get(kind, kind)}, which tokkit does "
            "not run; split texts into words with it, join them with spaces, and pass word_tokenizer_type='basic'"
        )
    options: dict[str, Any] = {"mecab_dic": "unidic_lite", "mecab_option": None, "normalize_text": True}
    options |= given["mecab_kwargs"] or {}
    if unknown := sorted(options.keys() - {"mecab_dic", "mecab_option", "normalize_text"}):
        raise OptionError(f"mecab_kwargs has {unknown[0]!r}; it may have mecab_dic, mecab_option and normalize_text")
    words = MecabWords(
        dictionary=options["mecab_dic"], option=options["mecab_option"] or "", lowercase=basic.lowercase,
        normalizes=bool(options["normalize_text"]), never_split=basic.never_split,
    )  # fmt: skip
    module("fugashi")
    mecab(words.dictionary, words.option)
    return [words]


def _neox(given: Given, paths: Paths) -> Definition:
    if given["do_clean_text"]:
        raise OptionError(
            "do_clean_text is True, and the rules for addresses, dates and prices are Python code in transformers that "
            "tokkit does not run; pass do_clean_text=False and texts that are clean"
        )
    path = vocab_files.path_of(paths, "vocab_file", "vocab.txt and emoji.json")
    emoji = strict_json.read_object(vocab_files.path_of(paths, "emoji_file", "emoji.json beside vocab.txt"))
    names = {key: emoji.get(key) for key in ("emoji", "emoji_inv")}
    if not all(isinstance(value, dict) for value in names.values()):
        raise FormatError("emoji.json must be an object with emoji and emoji_inv")
    lines = vocab_files.text_of(path).split("\n")
    if not lines[-1]:
        lines.pop()
        ended = len(lines)
    else:
        ended = len(lines) - 1
    words = [
        [line] if "," not in line or (line == "," and id_ >= ended) else line.split(",")
        for id_, line in enumerate(lines)
    ]
    ids = {word: id_ for id_, spelt in enumerate(words) for word in spelt}
    raw = vocab_files.ids_of_lines([",".join(spelt) for spelt in words], path)
    renamed = {",".join(spelt): japanese.decoded(spelt[0], names["emoji_inv"] or {}) for spelt in words}
    model = japanese.ShortWords(ids, given.text("unk_token"))
    steps = Steps((japanese.Marked(names["emoji"] or {}),))
    decoder = Join("", strips=True, renamed={token: text for token, text in renamed.items() if token != text})
    return Definition(vocab_files.vocab_of(raw), model, steps, decoder=decoder)


_END = "<|endoftext|>"
_NEOX: dict[str, Any] = {
    **{"unk_token": _END, "pad_token": _END, "bos_token": "<|startoftext|>", "eos_token": _END},
}

ROWS: dict[str, Row] = {
    "BertJapaneseTokenizer": Row(
        roles=SQUARE, files={"vocab_file": "vocab.txt", "spm_file": "spiece.model"}, scripted=_bert,
        template=BERT_AROUND,
        arguments={
            **{"do_lower_case": False, "do_word_tokenize": True, "do_subword_tokenize": True},
            **{"word_tokenizer_type": "basic", "subword_tokenizer_type": "wordpiece", "never_split": None},
            **{"mecab_kwargs": None, "sudachi_kwargs": None, "jumanpp_kwargs": None},
        },
    ),
    "GPTNeoXJapaneseTokenizer": Row(
        roles=_NEOX, files={"vocab_file": "vocab.txt", "emoji_file": "emoji.json"}, scripted=_neox,
        arguments={"do_clean_text": False},
    ),
}  # fmt: skip
