"""Tokenizer classes of speech models, in Python: characters, phones, and blanks between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokkit.definition import Definition
from tokkit.errors import FormatError, OptionError
from tokkit.files import files, strict_json
from tokkit.models.wordlevel import WordLevel
from tokkit.pretokenizers.fixed_length import FixedLength
from tokkit.registry.tokenizer_classes.row import PAIR, Given, Row
from tokkit.registry.tokenizer_classes.scripted import vocab_files
from tokkit.registry.tokenizer_classes.scripted.decoders import Join
from tokkit.registry.tokenizer_classes.scripted.edits import Matches, Steps
from tokkit.registry.tokenizer_classes.scripted.other_programs import uroman
from tokkit.registry.tokenizer_classes.scripted.speech import (
    BetweenBlanks,
    Blanks,
    Delimited,
    Grouped,
    Phones,
    SpokenText,
)
from tokkit.registry.tokenizer_classes.scripted.spoken_english import SpokenEnglish
from tokkit.registry.tokenizer_classes.scripted.word_bpe import SymbolBPE, SymbolBytes
from tokkit.registry.tokenizer_classes.tokens import AddedToken

Paths = Mapping[str, str]
_FILE = {"vocab_file": "vocab.json"}
_PHONE_ARGUMENTS = ("word_delimiter_token", "phone_delimiter_token")


def _ctc(given: Given, paths: Paths) -> Definition:
    path, language = vocab_files.path_of(paths, "vocab_file", "vocab.json"), given["target_lang"]
    ids: Any = strict_json.read_object(path)
    if language is not None:
        if language not in ids:
            raise OptionError(f"target_lang is {language!r}; it must be one of {', '.join(ids)}")
        ids = ids[language]
    if not isinstance(ids, dict) or not all(type(id_) is int for id_ in ids.values()):
        raise FormatError(f"{files.show(path)}: token to id is needed; with several languages, target_lang chooses one")
    # A delimiter in the files is a special token with that name; the class splits at its own default all the same.
    delimiter = given["word_delimiter_token"]
    if delimiter is None:
        raise OptionError("word_delimiter_token is None; it must be a token, which stands for spaces")
    steps = Steps((Delimited(str(delimiter), bool(given["do_lower_case"])), FixedLength(1)))
    decoder = Grouped(
        frozenset((given.text("pad_token"),)), "", str(delimiter), given["replace_word_delimiter_char"],
        bool(given["do_lower_case"]),
    )  # fmt: skip
    return Definition(vocab_files.vocab_of(ids), WordLevel(unk_token=given.text("unk_token")), steps, decoder=decoder)


def _add_longer(draft: Any, given: Given) -> None:
    """Add the tokens of the vocabulary of more than one character again, with their rules."""
    longer = (token.decode() for token, _ in draft.whole.vocab.items())
    draft.add(AddedToken(token, lstrip=True, rstrip=True, normalized=False) for token in longer if len(token) > 1)
    draft.kept_in_text.add(str(given["word_delimiter_token"]))


def _phones(given: Given, paths: Paths) -> Definition:
    if given["do_phonemize"]:
        raise OptionError(
            "do_phonemize is True, and the phones come from the program phonemizer, which tokkit does not run; pass "
            "do_phonemize=False and texts of phones separated by spaces"
        )
    listed = dict(given.get("model_specific_special_tokens") or {})
    delimiter = listed.get("word_delimiter_token", given.get("word_delimiter_token"))
    for name in _PHONE_ARGUMENTS:  # arguments here, not special tokens
        listed.pop(name, None)
        given.pop(name, None)
    given["model_specific_special_tokens"] = listed
    ids = vocab_files.ids_of(vocab_files.path_of(paths, "vocab_file", "vocab.json"))
    left_out = frozenset(str(token) for token in (given.get("pad_token"), delimiter) if token is not None)
    lookup = WordLevel(unk_token=given.text("unk_token"))
    return Definition(vocab_files.vocab_of(ids), lookup, Phones(), decoder=Grouped(left_out, " "))


def _normalize_new(draft: Any, given: Given) -> None:
    """Let the special tokens that the files do not list have `normalized`, as the class adds them."""
    known = {token.content for token in (given.get("added_tokens_decoder") or {}).values()}
    new = [str(token) for token in draft.special_tokens() if str(token) not in known]
    draft.add([AddedToken(token, special=True, normalized=True) for token in new])


def _vits(given: Given, paths: Paths) -> Definition:
    if given["phonemize"]:
        raise OptionError(
            "phonemize is True, and the phones come from the program phonemizer, which tokkit does not run; pass "
            "phonemize=False and texts that phonemizer has changed"
        )
    if given["is_uroman"]:
        uroman()
    ids = vocab_files.ids_of(vocab_files.path_of(paths, "vocab_file", "vocab.json"))
    tokens = {id_: token for token, id_ in ids.items()}
    if given["add_blank"] and 0 not in tokens:
        raise FormatError("vocab.json has no token with the id 0, which is the blank between characters")
    added = [token.content for _, token in sorted((given.get("added_tokens_decoder") or {}).items())]
    special = [token for token in vocab_files.special_texts(given) if token not in ids]
    characters, is_romanian = frozenset(ids) if given["normalize"] else None, given["language"] == "ron"
    normalizer = SpokenText((*ids, *added, *special), characters, is_romanian, bool(given["is_uroman"]))
    model = Blanks(given.text("unk_token"), tokens[0] if given["add_blank"] else None)
    decoder = BetweenBlanks() if given["add_blank"] else Join("")
    used = normalizer if given["normalize"] or is_romanian or given["is_uroman"] else None
    return Definition(vocab_files.vocab_of(ids), model, None, normalizer=used, decoder=decoder)


def _keep_possible(draft: Any, given: Given) -> None:
    """Keep the added tokens that can be in a text after the normalizer, which is where the class looks for them."""
    normalizer = draft.whole.normalizer
    characters = None if normalizer is None else normalizer.characters
    for id_, token in draft.added.items() if normalizer is not None else ():
        if characters is None or characters.issuperset(token.content):
            if characters is not None and not token.content.strip():
                raise FormatError(f"the added token {token.content!r} is white space, which the normalizer strips")
            draft.replace(id_, AddedToken.of({**token.as_dict(), "normalized": True}))
        else:
            draft.hide(id_)


def _clvp(given: Given, paths: Paths) -> Definition:
    ids = vocab_files.ids_of(vocab_files.path_of(paths, "vocab_file", "vocab.json and merges.txt"))
    merges = vocab_files.path_of(paths, "merges_file", "merges.txt beside vocab.json")
    model = SymbolBPE(vocab_files.ranks_of(merges, skipped=1), given.text("unk_token"), "[SPACE]")
    words = Steps((SpokenEnglish(), Matches(_ENGLISH_WORDS)))
    return Definition(vocab_files.vocab_of(ids), model, words, decoder=SymbolBytes(given["errors"]))


_ENGLISH_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?[a-z]+| ?[0-9]+| ?[^\sa-z0-9]+|\s+(?!\S)|\s+"
"""GPT-2's pattern for text of ASCII in lower case."""
_ROLES: dict[str, Any] = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}

ROWS: dict[str, Row] = {
    "ClvpTokenizer": Row(
        roles={"unk_token": "[UNK]", "bos_token": "<|endoftext|>", "eos_token": "[STOP]", "pad_token": "[STOP]"},
        files=PAIR, scripted=_clvp, arguments={"errors": "replace", "add_prefix_space": False},
    ),
    "Wav2Vec2CTCTokenizer": Row(
        roles={**_ROLES, "word_delimiter_token": "|"}, files=_FILE, scripted=_ctc, finish=_add_longer,
        arguments={"replace_word_delimiter_char": " ", "do_lower_case": False, "target_lang": None},
    ),
    "Wav2Vec2PhonemeCTCTokenizer": Row(
        roles=_ROLES, files=_FILE, scripted=_phones, finish=_normalize_new,
        arguments={
            **{"do_phonemize": True, "phonemizer_lang": "en-us", "phonemizer_backend": "espeak"},
            **{"word_delimiter_token": None, "phone_delimiter_token": " "},
        },
    ),
    "VitsTokenizer": Row(
        roles={"pad_token": "<pad>", "unk_token": "<unk>"}, files=_FILE, scripted=_vits, finish=_keep_possible,
        arguments={"language": None, "add_blank": True, "normalize": True, "phonemize": True, "is_uroman": False},
    ),
}  # fmt: skip
