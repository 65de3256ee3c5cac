"""Tokenizer classes in Python whose words come from sacremoses or rjieba."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokkit.definition import Definition
from tokkit.errors import FormatError, OptionError
from tokkit.files import files
from tokkit.registry.tokenizer_classes.row import PAIR, Given, Row
from tokkit.registry.tokenizer_classes.scripted import other_programs, vocab_files
from tokkit.registry.tokenizer_classes.scripted.decoders import Join
from tokkit.registry.tokenizer_classes.scripted.other_programs import JiebaWords, MosesText, MosesWords
from tokkit.registry.tokenizer_classes.scripted.pieces import LongestPieces
from tokkit.registry.tokenizer_classes.scripted.word_bpe import WordBPE

Paths = Mapping[str, str]
_SPECIAL = [f"<special{i}>" for i in range(10)]
_TEXT = Join("", "</w>", " ", strips=True)


def _bpe(given: Given, paths: Paths, words: MosesWords, decoder: Any, file: str = "vocab_file") -> Definition:
    other_programs.module("sacremoses")
    ids = vocab_files.ids_of(vocab_files.path_of(paths, file, "vocab.json and merges.txt"))
    merges = vocab_files.path_of(paths, "merges_file", "merges.txt")
    ranks = vocab_files.ranks_of(merges, skipped=0, width=2)
    model = WordBPE(ranks, given.text("unk_token"), continuing="", keeps_end=True)
    return Definition(vocab_files.vocab_of(ids), model, words, decoder=decoder)


def _biogpt(given: Given, paths: Paths) -> Definition:
    words = MosesWords(language="en", cleans=False, escapes=True, splits_dashes=True)
    return _bpe(given, paths, words, MosesText("en"))


def _xlm(given: Given, paths: Paths) -> Definition:
    return _bpe(given, paths, MosesWords(language="en", plain=bool(given["do_lowercase_and_remove_accent"])), _TEXT)


def _flaubert(given: Given, paths: Paths) -> Definition:
    return _bpe(given, paths, MosesWords(language="fr", quotes=True, lowercase=bool(given["do_lowercase"])), _TEXT)


def _fsmt(given: Given, paths: Paths) -> Definition:
    languages = given["langs"]
    if not isinstance(languages, (list, tuple)) or len(languages) != 2:
        raise OptionError(f"langs is {languages!r}; it must be the source and the target language, like ['en', 'de']")
    source = vocab_files.ids_of(vocab_files.path_of(paths, "src_vocab_file", "vocab-src.json and vocab-tgt.json"))
    target = vocab_files.ids_of(vocab_files.path_of(paths, "tgt_vocab_file", "vocab-tgt.json beside vocab-src.json"))
    names = {id_: token for token, id_ in target.items()}
    if not names.keys() <= set(source.values()):
        raise FormatError(
            "vocab-tgt.json has ids that vocab-src.json has not, and tokkit has one vocabulary for both; encode the "
            "texts with transformers"
        )
    kept = {*vocab_files.special_texts(given), *map(str, (given.get("added_tokens_decoder") or {}).values())}
    renamed = {token: names.get(id_, given.text("unk_token")) for token, id_ in source.items() if token not in kept}
    words = MosesWords(
        language=languages[0], lowercase=bool(given["do_lower_case"]), escapes=True, splits_dashes=True
    )  # fmt: skip
    decoder = MosesText(languages[1], {token: name for token, name in renamed.items() if token != name})
    return _bpe(given, paths, words, decoder, "src_vocab_file")


def _cpmant(given: Given, paths: Paths) -> Definition:
    other_programs.module("rjieba")
    path = vocab_files.path_of(paths, "vocab_file", "vocab.txt")
    ids = vocab_files.ids_of_lines(vocab_files.lines_of(path), path)
    marks = {given.text(f"{name}_token"): character for name, character in _MARKS.items()}
    if missing := [token for token in (*marks, given.text("unk_token")) if token not in ids]:
        raise FormatError(f"{files.show(path)}: the token {missing[0]!r} is missing")
    made = {marks.get(token, token): id_ for token, id_ in ids.items()}
    model = LongestPieces(given.text("unk_token"), 200, frozenset(marks))
    left_out = dict.fromkeys((given.text(f"{role}_token") for role in ("pad", "eos", "bos")), "")
    return Definition(
        vocab_files.vocab_of(made), model, JiebaWords(tuple(marks)), decoder=Join("", renamed=left_out)
    )  # fmt: skip


def _forget_marks(draft: Any, given: Given) -> None:
    """Let the tokens of a space and a line end be no added tokens, as the class does."""
    for name in _MARKS:
        draft.forget(given.text(f"{name}_token"))


_MARKS = {"space": " ", "line": "\n"}
_ROLES: dict[str, Any] = {"unk_token": "<unk>", "bos_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>"}
_XLM_ROLES: dict[str, Any] = {**_ROLES, "cls_token": "</s>", "mask_token": "<special1>"}


def _special(given: Given) -> list[Any]:
    listed = given.get("additional_special_tokens")
    return list(_SPECIAL if listed is None else listed)


_CPM: dict[str, Any] = {
    **{"bod_token": "<d>", "eod_token": "</d>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"},
    **{"unk_token": "<unk>", "line_token": "</n>", "space_token": "</_>"},
}

ROWS: dict[str, Row] = {
    "CpmAntTokenizer": Row(
        roles=_CPM, files={"vocab_file": "vocab.txt"}, scripted=_cpmant, finish=_forget_marks, side="left",
        template=("bos:0 $A:0", "bos:0 $A:0 bos:0 $B:0"),
    ),
    "BioGptTokenizer": Row(
        roles={**_ROLES, "eos_token": "</s>"}, files=PAIR, scripted=_biogpt,
        template=("sep:0 $A:0", "sep:0 $A:0 sep:1 $B:1"),
    ),
    "XLMTokenizer": Row(
        roles=_XLM_ROLES, files=PAIR, scripted=_xlm, extra=_special,
        arguments={"lang2id": None, "id2lang": None, "do_lowercase_and_remove_accent": True},
        template=("bos:0 $A:0 sep:0", "bos:0 $A:0 sep:0 $B:1 sep:1"),
    ),
    "FlaubertTokenizer": Row(
        roles=_XLM_ROLES, files=PAIR, scripted=_flaubert, extra=_special,
        arguments={"lang2id": None, "id2lang": None, "do_lowercase": False, "do_lowercase_and_remove_accent": None},
        template=("bos:0 $A:0 sep:0", "bos:0 $A:0 sep:0 $B:1 sep:1"),
    ),
    "FSMTTokenizer": Row(
        roles=_ROLES, scripted=_fsmt, arguments={"langs": None, "do_lower_case": False},
        files={"src_vocab_file": "vocab-src.json", "tgt_vocab_file": "vocab-tgt.json", "merges_file": "merges.txt"},
        template=("$A:0 sep:0", "$A:0 sep:0 $B:1 sep:1"),
    ),
}  # fmt: skip
