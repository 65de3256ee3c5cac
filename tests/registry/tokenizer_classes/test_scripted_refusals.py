"""Tokenizer classes in Python: what is refused, by name and with the way out, and what a definition of them can do."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import scripted_class_folders
import tokkit
from tokkit.errors import FormatError, OptionError
from tokkit.registry.tokenizer_classes import folder
from tokkit.registry.tokenizer_classes.scripted import other_programs

REFUSED = {
    "FastSpeech2ConformerTokenizer": "g2p_en",
    "Pop2PianoTokenizer": "musical notes",
    "RagTokenizer": "pair of tokenizers",
}
SETTINGS: list[tuple[str, dict[str, Any], str]] = [
    ("BertweetTokenizer", {"normalization": True}, "pass normalization=False"),
    ("BertJapaneseTokenizer", {"word_tokenizer_type": "sudachi"}, "pass word_tokenizer_type='basic'"),
    ("BertJapaneseTokenizer", {"subword_tokenizer_type": "sentencepiece"}, "must be 'wordpiece' or 'character'"),
    ("GPTNeoXJapaneseTokenizer", {"do_clean_text": True}, "pass do_clean_text=False"),
    ("VitsTokenizer", {}, "pass phonemize=False"),
    ("Wav2Vec2PhonemeCTCTokenizer", {}, "pass do_phonemize=False"),
    ("ProphetNetTokenizer", {"never_split": ["abc"]}, "add them as tokens"),
    ("DiaTokenizer", {"offset": 4}, "offset is 4; it must be an int from 0 to 3"),
    ("ByT5Tokenizer", {"pad_token": None}, "special token is None"),
    ("CodeGenTokenizer", {"return_token_type_ids": True}, "in each call"),
]


@pytest.mark.parametrize("name", REFUSED)
def test_a_class_that_needs_another_program_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}), encoding="utf-8")
    with pytest.raises(OptionError, match=f"{name} is not supported: .*{REFUSED[name]}"):
        folder.load(tmp_path)


@pytest.mark.parametrize(("name", "settings", "way_out"), SETTINGS)
def test_an_argument_that_is_not_honoured_is_refused(
    tmp_path: Path, name: str, settings: dict[str, Any], way_out: str
) -> None:
    with pytest.raises(OptionError, match=way_out):
        folder.load(scripted_class_folders.write(tmp_path, name, **settings))


def test_an_added_token_with_single_word_is_refused(tmp_path: Path) -> None:
    token = {"content": "word", "single_word": True, "lstrip": False, "rstrip": False, "special": False}
    path = scripted_class_folders.write(tmp_path, "ByT5Tokenizer", added_tokens_decoder={"400": token})
    with pytest.raises(FormatError, match="'word' has single_word"):
        folder.load(path)


@pytest.mark.parametrize("name", scripted_class_folders.OF_PROGRAMS)
def test_a_class_whose_package_is_missing_says_what_to_install(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = "rjieba" if name == "CpmAntTokenizer" else "sacremoses"
    monkeypatch.setitem(sys.modules, package, None)
    path = scripted_class_folders.write(tmp_path, name, langs=["en", "de"])
    with pytest.raises(OptionError, match=f"this class needs {package}; install it"):
        folder.load(path)


def test_romanizing_asks_for_uroman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other_programs.uroman.cache_clear()
    monkeypatch.setitem(sys.modules, "uroman", None)
    path = scripted_class_folders.write(tmp_path, "VitsTokenizer", phonemize=False, is_uroman=True)
    with pytest.raises(OptionError, match="pip install uroman"):
        folder.load(path)


def test_the_dictionary_of_mecab_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fugashi", None)
    path = scripted_class_folders.write(tmp_path, "BertJapaneseTokenizer", word_tokenizer_type="mecab")
    with pytest.raises(OptionError, match="pip install fugashi"):
        folder.load(path)


def test_a_target_vocabulary_with_more_ids_than_the_source_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scripted_class_folders.write(tmp_path, "FSMTTokenizer", langs=["en", "de"])
    (path / "vocab-src.json").write_text('{"<unk>": 0}', encoding="utf-8")
    with pytest.raises(FormatError, match=r"vocab-tgt.json has ids that vocab-src.json has not"):
        folder.load(path)


def test_a_token_that_is_twice_in_a_vocabulary_is_refused(tmp_path: Path) -> None:
    path = scripted_class_folders.write(tmp_path, "ProphetNetTokenizer")
    (path / "prophetnet.tokenizer").write_text("[UNK]\na\nb\na\n", encoding="utf-8")
    with pytest.raises(FormatError, match="lines 2 and 4 are both 'a'"):
        folder.load(path)


def test_a_folder_without_the_vocabulary_says_which_files_are_needed(tmp_path: Path) -> None:
    path = scripted_class_folders.write(tmp_path, "CTRLTokenizer")
    (path / "merges.txt").unlink()
    with pytest.raises(FormatError, match=r"this class needs merges.txt beside vocab.json"):
        folder.load(path)


@pytest.mark.parametrize("name", [name for name in scripted_class_folders.FILES if name != "CodeGenTokenizer"])
def test_a_definition_can_be_pickled_and_its_spans_are_places_in_the_text(tmp_path: Path, name: str) -> None:
    path = scripted_class_folders.write(tmp_path, name, phonemize=False, do_phonemize=False)
    tok = pickle.loads(pickle.dumps(tokkit.Tokenizer(folder.load(path).definition)))
    text = "Héllo the ①② Wörld! 5th ab"
    encoding = tok(text, special="all", add_special=False)
    assert encoding.ids == tok.encode_batch([text], special="all")[0].tolist()
    offsets = encoding.offsets
    assert all(0 <= start <= end <= len(text) for start, end in offsets)
    assert offsets == sorted(offsets)


def test_offsets_of_changed_texts_are_those_of_the_characters_they_come_from(tmp_path: Path) -> None:
    tok = tokkit.Tokenizer(folder.load(scripted_class_folders.write(tmp_path, "ProphetNetTokenizer")).definition)
    text = "It 's\x00 CAFE\u0301!"
    words = tok(text, add_special=False)
    spans = dict.fromkeys(zip(words.word_ids, words.word_ids, strict=True))
    assert len(spans) == 5
    first, last = words.offsets[0], words.offsets[-1]
    assert (text[slice(*first)].lower()[0], text[slice(*last)]) == ("i", "!")


def test_a_batch_of_arrays_refuses_a_text_that_ends_with_the_end_token(tmp_path: Path) -> None:
    tok = tokkit.Tokenizer(folder.load(scripted_class_folders.write(tmp_path, "ByT5Tokenizer")).definition)
    assert tok("a</s>", special="all").ids == tok("a").ids == [100, 1]
    assert tok("a</s>", "b</s>", special="all").ids == [100, 1, 101, 1]
    assert tok("a</s>", special="all", add_special=False).ids == [100, 1]
    with pytest.raises(OptionError, match="text 1 ends with the token 1"):
        tok.encode_padded(["a", "b</s>"], special="all")
