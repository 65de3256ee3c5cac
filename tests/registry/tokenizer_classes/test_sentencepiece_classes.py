"""Tokenizer classes around SentencePiece, and those that read boxes, entities or markup, give transformers' results."""

from __future__ import annotations

import json
import pickle
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sentencepiece_class_folders as made
import strategies
import tokkit
from extras import extra
from tokkit.errors import FormatError, OptionError
from tokkit.registry.tokenizer_classes import entity_and_box_rows, sentencepiece_rows, translation_rows
from tokkit.registry.tokenizer_classes import folder as folders
from tokkit.registry.tokenizer_classes.scripted.changed_text import ChangedText
from tokkit.registry.tokenizer_classes.scripted.number_words import NumberWords
from tokkit.registry.tokenizer_classes.table import CLASSES

transformers = extra("transformers", minversion="5.24")

NAMES = [*sentencepiece_rows.ROWS, *translation_rows.ROWS, *entity_and_box_rows.ROWS]
TEXTS = (*made.TEXTS, *(strategies.adversarial(seed, 50) for seed in range(8)))
LANGUAGES = [f"__{code}__" for code in ("en", "ha", "is", "ja", "cs", "ru", "zh", "de")]
ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {"legacy": False}) for name in sentencepiece_rows.ROWS if name != "CpmTokenizer"),
    ("SpeechT5Tokenizer", {"normalize": True}),
    ("SiglipTokenizer", {"do_lower_case": False}),
    ("SiglipTokenizer", {"eos_token": "<e>"}),
    ("GPTSw3Tokenizer", {"pad_token": "<p>"}),
    ("CpmTokenizer", {"remove_space": False, "keep_accents": True, "do_lower_case": True}),
    ("PLBartTokenizer", {"src_lang": "java", "tgt_lang": "python"}),
    ("PLBartTokenizer", {"language_codes": "multi", "mask_token": None}),
    ("M2M100Tokenizer", {"src_lang": "fr"}),
    ("M2M100Tokenizer", {"language_codes": "wmt21", "additional_special_tokens": [*LANGUAGES, "<x>"]}),
    ("MarianTokenizer", {"separate_vocabs": True}),
    ("Speech2TextTokenizer", {"do_upper_case": True, "bos_token": "<b>"}),
    ("LukeTokenizer", {"entity_token_1": "<e1>", "add_prefix_space": True}),
    ("LayoutLMv2Tokenizer", {"do_lower_case": False, "strip_accents": True}),
    ("LayoutLMv3Tokenizer", {"add_prefix_space": False}),
    ("LayoutXLMTokenizer", {"add_prefix_space": False}),
    ("UdopTokenizer", {"extra_special_tokens": ["<x>"]}),
    ("Tipsv2Tokenizer", {"do_lower_case": False, "add_eos_token": True, "eos_token": "</s>"}),
]


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    with made.with_packages():
        yield


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.vocabularies(tmp_path_factory.mktemp("vocabularies"))


def _folder(name: str, source: Path, folder: Path, **config: Any) -> Path:
    made.write_files(CLASSES[name], folder, source)
    (folder / "tokenizer_config.json").write_text(json.dumps({**made.stated(name), **config}))
    return folder


def _differences(folder: Path) -> list[Any]:
    real, built = made.loaded_there(folder, {}), folders.load(folder)
    assert not isinstance(real, BaseException), real
    return made.differences(real, built, TEXTS)


@pytest.mark.parametrize("name", NAMES)
def test_files_and_what_transformers_saves_give_its_ids(name: str, source: Path, tmp_path: Path) -> None:
    folder = _folder(name, source, tmp_path)
    assert _differences(folder) == []
    made.loaded_there(folder, {}).save_pretrained(folder)
    assert _differences(folder) == []


@pytest.mark.parametrize(("name", "config"), ARGUMENTS, ids=[f"{name}-{[*given]}" for name, given in ARGUMENTS])
def test_arguments_in_files_give_the_ids_of_transformers(
    name: str, config: dict[str, Any], source: Path, tmp_path: Path
) -> None:
    assert _differences(_folder(name, source, tmp_path, **config)) == []


@pytest.mark.parametrize("name", ["MarianTokenizer", "SiglipTokenizer", "GPTSw3Tokenizer", "Speech2TextTokenizer"])
def test_added_tokens_of_older_files_have_their_ids(name: str, source: Path, tmp_path: Path) -> None:
    folder = _folder(name, source, tmp_path)
    (folder / "added_tokens.json").write_text(json.dumps({"<x>": 5000, "lead": 5002}))
    assert _differences(folder) == []


@pytest.mark.parametrize("separate", [False, True])
def test_marian_encodes_targets_with_the_model_of_the_target(separate: bool, source: Path, tmp_path: Path) -> None:
    folder = _folder("MarianTokenizer", source, tmp_path, separate_vocabs=separate)
    real, built = made.loaded_there(folder, {}), folders.load(folder)
    assert built.target is not None
    target = tokkit.Tokenizer(built.target)
    for text in TEXTS:
        wanted = real(text_target=text)["input_ids"]
        assert target(text, special="all").ids == wanted
        assert target.decode(wanted) == real.decode(wanted, clean_up_tokenization_spaces=False)


@pytest.mark.parametrize("name", ["M2M100Tokenizer", "PLBartTokenizer"])
def test_templates_of_targets_are_those_of_transformers(name: str, source: Path, tmp_path: Path) -> None:
    target = "de" if name == "M2M100Tokenizer" else "python"
    folder = _folder(name, source, tmp_path)
    real = made.loaded_there(folder, {"tgt_lang": target})
    built = folders.load(folder, asked={"tgt_lang": target})
    around = built.row.languages.around(built.given["tgt_lang"], built.given, True)
    ids = {"eos": "</s>"}
    names = [ids.get(place, place.removeprefix("=")) for place in around[0].split()]
    wanted = real(text_target="lead")["input_ids"]
    own = tokkit.Tokenizer(built.definition).encode("lead", special="all")
    placed = [[built.definition.vocab[name]] if name != "$A" else own for name in names]
    assert [id_ for part in placed for id_ in part] == wanted


def test_speech2text_puts_the_language_before_texts(source: Path, tmp_path: Path) -> None:
    folder = _folder("Speech2TextTokenizer", source, tmp_path, lang_codes="mustc", tgt_lang="ru")
    assert _differences(folder) == []


@pytest.mark.parametrize("name", ["MarianTokenizer", "SiglipTokenizer", "SpeechT5Tokenizer", "PLBartTokenizer"])
def test_the_tokenizer_has_offsets_and_can_be_pickled(name: str, source: Path, tmp_path: Path) -> None:
    tok = tokkit.Tokenizer(folders.load(_folder(name, source, tmp_path)).definition)
    text = "lead and trail — naïve"
    encoding = tok(text, add_special=False)
    assert encoding.offsets[0][0] == 0
    assert encoding.offsets[-1][1] == len(text)
    assert all(0 <= start <= end <= len(text) for start, end in encoding.offsets)
    again = pickle.loads(pickle.dumps(tok))
    assert again(text).ids == tok(text).ids


def test_the_text_of_a_piece_is_an_added_token_only_where_special_tokens_are_allowed(
    source: Path, tmp_path: Path
) -> None:
    added = {"5000": {"content": "ac", "special": True, "normalized": False}}
    folder = _folder("SiglipTokenizer", source, tmp_path, added_tokens_decoder=added, extra_special_tokens=["ac"])
    tok = tokkit.Tokenizer(folders.load(folder).definition)
    assert tok("da<ba<cdab", special="all").ids == made.loaded_there(folder, {})("da<ba<cdab")["input_ids"]
    assert 5000 in tok.encode("da<ba<cdab", special="all")
    assert 5000 not in tok.encode("da<ba<cdab ac")


def test_numbers_are_written_as_words() -> None:
    theirs = transformers.models.speecht5.number_normalizer.EnglishNumberNormalizer()
    texts = [
        f"{a}{n}{b} x"
        for n in (0, 7, 10, 15, 40, 99, 100, 115, 1000, 12345, 10**9 + 1)
        for a in ("", "-", "$", "-€", "a")
        for b in ("", ".5", ".00", "%", ".25%", ",000")
    ]
    assert [NumberWords()(ChangedText.of(text)).text for text in texts] == [theirs(text) for text in texts]


# ---- what is refused


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        ("SiglipTokenizer", {"sp_model_kwargs": {"enable_sampling": True}}, "sp_model_kwargs"),
        ("PLBartTokenizer", {"language_codes": "multi"}, "mask_token=None"),
        ("PLBartTokenizer", {"src_lang": "cobol"}, "__java__"),
        ("M2M100Tokenizer", {"src_lang": "xx"}, "must be one of"),
        ("M2M100Tokenizer", {"extra_special_tokens": ["<x>"]}, "list the language tokens"),
        ("SpeechT5Tokenizer", {"normalize": True, "mask_token": "the"}, "normalize"),
        ("MarkupLMTokenizer", {"tags_dict": None}, "tags_dict"),
        ("MarianTokenizer", {"unk_token": "[UNK]"}, "the vocabulary lacks it"),
    ],
)
def test_what_cannot_be_exact_is_refused_with_the_class(
    name: str, config: dict[str, Any], message: str, source: Path, tmp_path: Path
) -> None:
    with pytest.raises((FormatError, OptionError), match=name) as caught:
        folders.load(_folder(name, source, tmp_path, **config))
    assert message in str(caught.value)


def test_a_missing_file_is_named(source: Path, tmp_path: Path) -> None:
    folder = _folder("MarianTokenizer", source, tmp_path)
    (folder / "target.spm").unlink()
    with pytest.raises(FormatError, match=r"the file target\.spm is missing"):
        folders.load(folder)


def test_roformer_is_refused_without_rjieba(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rjieba", None)
    with pytest.raises(OptionError, match="pip install rjieba"):
        folders.load(_folder("RoFormerTokenizer", source, tmp_path))


def test_roformer_splits_at_the_words_of_rjieba(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Words(types.ModuleType):
        @staticmethod
        def tokenize(text: str, hmm: bool) -> list[tuple[str, int, int]]:
            return [(text[i : i + 3], i, min(i + 3, len(text))) for i in range(0, len(text), 3)]

    monkeypatch.setitem(sys.modules, "rjieba", Words("rjieba"))
    folder = _folder("RoFormerTokenizer", source, tmp_path)
    assert _differences(folder) == []
    made.loaded_there(folder, {}).save_pretrained(folder)
    assert _differences(folder) == []
