"""Tokenizer classes in Python that split texts into words: BPE of words, WordPiece, and tokens that are looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tokkit.definition import Definition
from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.models.wordlevel import WordLevel
from tokkit.models.wordpiece import WordPiece
from tokkit.pretokenizers.fixed_length import FixedLength
from tokkit.registry.tokenizer_classes.byte_level_rows import BART, SQUARE
from tokkit.registry.tokenizer_classes.row import PAIR, TYPES, Given, Row, Template
from tokkit.registry.tokenizer_classes.scripted import vocab_files
from tokkit.registry.tokenizer_classes.scripted.basic_words import BasicWords, EmptyTexts
from tokkit.registry.tokenizer_classes.scripted.decoders import Join
from tokkit.registry.tokenizer_classes.scripted.edits import Matches, Steps
from tokkit.registry.tokenizer_classes.scripted.word_bpe import (
    WORDS,
    WORDS_OF_REGEX,
    ChatWords,
    TokensAndWords,
    WordBPE,
)
from tokkit.registry.tokenizer_classes.wordpiece_rows import BERT_AROUND

Paths = Mapping[str, str]
_CODES = {"vocab_file": "vocab.txt", "merges_file": "bpe.codes"}
_WORDS = Join(" ", "@@ ", strips=True)
_PIECES = Join(" ", " ##", strips=True)


def _pair(given: Given, paths: Paths, pretokenizer: Any) -> Definition:
    """Return BPE of words of a vocab.json and a merges.txt, whose first line is a heading."""
    ids = vocab_files.ids_of(vocab_files.path_of(paths, "vocab_file", "vocab.json and merges.txt"))
    merges = vocab_files.path_of(paths, "merges_file", "merges.txt beside vocab.json")
    model = WordBPE(vocab_files.ranks_of(merges, skipped=1), given.text("unk_token"))
    return Definition(vocab_files.vocab_of(ids), model, pretokenizer, decoder=_WORDS)


def _ctrl(given: Given, paths: Paths) -> Definition:
    return _pair(given, paths, Matches(WORDS_OF_REGEX))


def _blenderbot(given: Given, paths: Paths) -> Definition:
    return _pair(given, paths, ChatWords())


def _codes(given: Given, paths: Paths) -> Definition:
    """Return BPE of words of a vocab.txt with counts, after four special tokens, and of bpe.codes with counts."""
    path = vocab_files.path_of(paths, "vocab_file", "vocab.txt and bpe.codes")
    tokens = [given.text(f"{role}_token") for role in ("bos", "pad", "eos", "unk")]
    for number, line in enumerate(vocab_files.lines_of(path), 1):
        token, space, _ = line.strip().rpartition(" ")
        if not space:
            raise FormatError(f"{files.show(path)}, line {number}: a token, a space and a count are needed")
        tokens.append(token)
    merges = vocab_files.path_of(paths, "merges_file", "bpe.codes beside vocab.txt")
    model = WordBPE(vocab_files.ranks_of(merges, skipped=0, width=-1), given.text("unk_token"))
    vocab = vocab_files.vocab_of(vocab_files.ids_of_lines(tokens, path))
    return Definition(vocab, model, Matches(WORDS), decoder=_WORDS)


def _bertweet(given: Given, paths: Paths) -> Definition:
    if given["normalization"]:
        raise OptionError(
            "normalization is True, and the rules for tweets are Python code in transformers that tokkit does not run; "
            "pass normalization=False and texts that its normalizeTweet has changed"
        )
    return _codes(given, paths)


def _esm(given: Given, paths: Paths) -> Definition:
    path = vocab_files.path_of(paths, "vocab_file", "vocab.txt")
    tokens = [line.strip() for line in vocab_files.text_of(path).splitlines()]
    vocab = vocab_files.vocab_of(vocab_files.ids_of_lines(tokens, path))
    words = TokensAndWords(tuple(token for token in tokens if token))
    return Definition(vocab, WordLevel(unk_token=given.text("unk_token")), words, decoder=Join())


def _esm_around(draft: Any, given: Given) -> Template:
    if draft.text("eos_token") is None:
        return "cls $A", "cls $A"
    return "cls:0 $A:0 eos:0", "cls:0 $A:0 eos:0 $B:1 eos:1"


def wordpiece(given: Given, paths: Paths, words: Any) -> Definition:
    """Return WordPiece of the lines of a vocabulary, over the words of a pretokenizer."""
    path = vocab_files.path_of(paths, "vocab_file", "a vocabulary of one token a line")
    ids = vocab_files.ids_of_lines(vocab_files.lines_of(path), path)
    unknown = given.text("unk_token")
    if unknown not in ids:
        raise FormatError(f"{files.show(path)}: the unknown token {unknown!r} is missing")
    return Definition(vocab_files.vocab_of(ids), WordPiece(unk_token=unknown), words, decoder=_PIECES)


def basic_words(given: Given, *, chinese: bool, strip_accents: bool | None) -> BasicWords:
    """Return the words of BERT's rules, with the arguments of a class."""
    kept = frozenset(map(str, given.get("never_split") or ()))
    if kept:
        raise OptionError(
            f"never_split is {sorted(kept)!r:.60}; words that are looked up whole are not supported: add them as tokens"
        )
    return BasicWords(
        lowercase=bool(given["do_lower_case"]), chinese=chinese, strip_accents=strip_accents,
        never_split=frozenset(vocab_files.special_texts(given)),
    )  # fmt: skip


def _basic(given: Given, paths: Paths) -> Definition:
    if not given["do_basic_tokenize"]:
        return wordpiece(given, paths, Matches(r"\S+"))
    chinese = bool(given["tokenize_chinese_chars"])
    return wordpiece(given, paths, basic_words(given, chinese=chinese, strip_accents=given["strip_accents"]))


def _roc_bert(given: Given, paths: Paths) -> Definition:
    for argument in ("word_shape_file", "word_pronunciation_file"):
        vocab_files.path_of(paths, argument, "word_shape.json and word_pronunciation.json beside vocab.txt")
    return _basic(given, paths)


def _tapas_extra(given: Given) -> list[Any]:
    listed, empty = given.listed("additional_special_tokens"), given["empty_token"]
    return listed if empty in listed else [*listed, empty]


def _tapas(given: Given, paths: Paths) -> Definition:
    extra = given.get("extra_special_tokens")
    empty = str(next(iter(_tapas_extra(given) if extra is None else extra), ""))
    made = _basic(given, paths)
    if empty not in made.vocab:
        raise FormatError(f"the token of empty texts, {empty!r}, must be in vocab.txt, and first of the extra tokens")
    return replace(made, pretokenizer=Steps((EmptyTexts(empty), made.pretokenizer)))


def _hide_known(draft: Any, given: Given) -> None:
    """Let the tokens of the vocabulary be words like others, as the class does."""
    for id_, token in draft.added.items():
        if token.content in draft.whole.vocab:
            draft.hide(id_)


def _mgpstr(given: Given, paths: Paths) -> Definition:
    ids = vocab_files.ids_of(vocab_files.path_of(paths, "vocab_file", "vocab.json"))
    return Definition(
        vocab_files.vocab_of(ids), WordLevel(unk_token=given.text("unk_token")), FixedLength(1), decoder=Join()
    )


_BLENDERBOT: dict[str, Any] = {
    **{"bos_token": "__start__", "eos_token": "__end__", "unk_token": "__unk__", "pad_token": "__null__"},
}
_ESM: dict[str, Any] = {
    **{"unk_token": "<unk>", "cls_token": "<cls>", "pad_token": "<pad>", "mask_token": "<mask>", "eos_token": "<eos>"},
}
_GO: dict[str, Any] = {"unk_token": "[GO]", "bos_token": "[GO]", "eos_token": "[s]", "pad_token": "[GO]"}
_BASIC: dict[str, Any] = {
    **{"do_lower_case": True, "do_basic_tokenize": True, "never_split": None, "tokenize_chinese_chars": True},
    **{"strip_accents": None},
}
_PROPHET = {
    "unk_token": "[UNK]", "sep_token": "[SEP]", "x_sep_token": "[X_SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]",
}  # fmt: skip
_PHOBERT = Row(
    roles=BART, files=_CODES, scripted=_codes,
    template=("cls:0 $A:0 sep:0", "cls:0 $A:0 sep:0 sep:0 $B:0 sep:0"),
)  # fmt: skip
_ROC_BERT = Row(
    roles=SQUARE, arguments=_BASIC, scripted=_roc_bert, template=BERT_AROUND,
    files={
        "vocab_file": "vocab.txt",
        "word_shape_file": "word_shape.json",
        "word_pronunciation_file": "word_pronunciation.json",
    },
    inputs_too="shape and pronunciation ids",
)  # fmt: skip

ROWS: dict[str, Row] = {
    "EsmTokenizer": Row(roles=_ESM, files={"vocab_file": "vocab.txt"}, scripted=_esm, template=_esm_around),
    "CTRLTokenizer": Row(
        roles={"unk_token": "<unk>"}, files=PAIR, scripted=_ctrl, template=("$A:0", "$A:0 $B:0")
    ),
    "BlenderbotSmallTokenizer": Row(roles=_BLENDERBOT, files=PAIR, scripted=_blenderbot),
    "PhobertTokenizer": _PHOBERT,
    "BertweetTokenizer": replace(_PHOBERT, arguments={"normalization": False}, scripted=_bertweet),
    "ProphetNetTokenizer": Row(
        roles=_PROPHET, arguments={**_BASIC, "clean_up_tokenization_spaces": True}, scripted=_basic,
        files={"vocab_file": "prophetnet.tokenizer"}, template=("$A:0 sep:0", "$A:0 sep:0 $B:1 sep:1"),
    ),
    "RoCBertTokenizer": _ROC_BERT,
    "TapasTokenizer": replace(
        _ROC_BERT, files={"vocab_file": "vocab.txt"}, scripted=_tapas, extra=_tapas_extra, inputs=TYPES,
        inputs_too="tables", finish=_hide_known,
        roles={**SQUARE, "empty_token": "[EMPTY]"},
        arguments={
            **{**_BASIC, "clean_up_tokenization_spaces": True, "model_max_length": 512, "cell_trim_length": -1},
            **{"max_column_id": None, "max_row_id": None, "strip_column_names": False},
            **{"update_answer_coordinates": False, "min_question_length": None, "max_question_length": None},
        },
    ),
    "MgpstrTokenizer": Row(
        roles=_GO, files={"vocab_file": "vocab.json"}, scripted=_mgpstr, template=("$A:0", "$A:0 $B:1")
    ),
}  # fmt: skip
