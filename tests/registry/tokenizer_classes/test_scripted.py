"""The tokenizer classes that are Python code in transformers: ids and texts are those of transformers."""

from __future__ import annotations

import json
import logging
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

import scripted_class_folders
import strategies
import tokkit
from extras import extra
from tokkit.errors import OptionError
from tokkit.registry.tokenizer_classes import folder

transformers = extra("transformers", minversion="5.24")
pytestmark = pytest.mark.parity

TEXTS = [
    *(
        "Hello  world! don't stop—now",
        "  lead and trail  ",
        "Café NAÏVE ﬁne ① 한국어 你好 世界 12345",
        "a\tb\nc\r\n d",
        "",
    ),
    *(
        "<s> x</s>y <mask> z [MASK] w[CLS]<pad>",
        "   ",
        "🦜 emoji 👨‍👩‍👧 😀 ok",
        "a</s>",
        "a </s> ",
        "b</s></s>",
        "ΑΣ İ ß",
    ),
    *("[S1] hi [S2]ho", "M K L<cls>MKLLV X ab", "__start__ Hi, you're; (ok)? __end__ \n a\nb\n", "n/a", "aː tʃ  a|b"),
    *(
        "\x1c\x1f a\x85b\u2028c \x00 \ufffd d",
        "kkk k",
        "$12.50 1,234 2nd 2005 1999 £5 dr. Mr. st. 12th 1.5",
        *("全角　がぎ○■①", 'a " b "  c'),
    ),
    *("e\u0301\u0327 \u1e9b\u0323 \u1100\u1161", "<unk> <extra_id_0> y <|endoftext|>z", "ABAB the thé abc"),
    *(strategies.adversarial(seed, 40) for seed in range(30)),
]
CASES: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in scripted_class_folders.FILES if not name.startswith(("Vits", "Wav2Vec2Phoneme", "Tapas"))),
    ("ByT5Tokenizer", {"extra_ids": 3, "eos_token": "<end>"}),
    ("PerceiverTokenizer", {"mask_token": "<m>"}),
    ("DiaTokenizer", {"offset": 3}),
    ("EsmTokenizer", {"eos_token": None}),
    ("ProphetNetTokenizer", {"do_lower_case": False, "tokenize_chinese_chars": False}),
    ("ProphetNetTokenizer", {"strip_accents": False}),
    ("ProphetNetTokenizer", {"do_basic_tokenize": False}),
    ("RoCBertTokenizer", {"do_lower_case": False, "strip_accents": True, "extra_special_tokens": ["Café"]}),
    ("BertJapaneseTokenizer", {"do_lower_case": True, "subword_tokenizer_type": "character"}),
    ("BertJapaneseTokenizer", {"do_word_tokenize": False}),
    ("BertJapaneseTokenizer", {"do_subword_tokenize": False}),
    ("Wav2Vec2CTCTokenizer", {"do_lower_case": True, "word_delimiter_token": "-"}),
    ("Wav2Vec2PhonemeCTCTokenizer", {"do_phonemize": False}),
    ("Wav2Vec2PhonemeCTCTokenizer", {"do_phonemize": False, "word_delimiter_token": "|"}),
    ("VitsTokenizer", {"phonemize": False}),
    ("VitsTokenizer", {"phonemize": False, "add_blank": False, "pad_token": "k"}),
    ("VitsTokenizer", {"phonemize": False, "normalize": False, "language": "ron"}),
]
PROGRAMS: list[tuple[str, str, dict[str, Any]]] = [
    ("sacremoses", "BioGptTokenizer", {}),
    ("sacremoses", "XLMTokenizer", {}),
    ("sacremoses", "XLMTokenizer", {"do_lowercase_and_remove_accent": False}),
    ("sacremoses", "FlaubertTokenizer", {"do_lowercase": True}),
    ("sacremoses", "FSMTTokenizer", {"langs": ["en", "de"]}),
    ("sacremoses", "FSMTTokenizer", {"langs": ["ru", "en"], "do_lower_case": True}),
    ("rjieba", "CpmAntTokenizer", {}),
    ("fugashi", "BertJapaneseTokenizer", {"word_tokenizer_type": "mecab", "do_lower_case": True}),
    ("fugashi", "BertJapaneseTokenizer", {"word_tokenizer_type": "mecab", "subword_tokenizer_type": "character"}),
    ("fugashi", "BertJapaneseTokenizer", {"word_tokenizer_type": "mecab", "mecab_kwargs": {"normalize_text": False}}),
]
IDS = [f"{name}-{'-'.join(settings)}" for name, settings in CASES]


def both(path: Path) -> tuple[tokkit.Tokenizer, Any]:
    return tokkit.Tokenizer(folder.load(path).definition), transformers.AutoTokenizer.from_pretrained(str(path))


def assert_equal(path: Path) -> None:
    """Compare ids, type ids and decoded texts, for single texts and pairs, with and without special tokens."""
    ours, theirs = both(path)
    assert len(ours.definition.vocab) == len(theirs)
    for text in TEXTS:
        for add in (True, False):
            types = {} if add else {"return_token_type_ids": False}
            ids = theirs(text, add_special_tokens=add, **types)["input_ids"]
            if None in ids:  # no unknown token: transformers returns None for it
                with pytest.raises(tokkit.VocabError):
                    ours(text, special="all", add_special=add)
                continue
            assert ours(text, special="all", add_special=add).ids == ids, text
            for skip in (False, True) if ids else ():
                try:
                    expected = theirs.decode(ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False)
                except ValueError:  # the class for phones raises if all tokens are left out
                    expected = ""
                assert ours.decode(ids, skip_special=skip) == expected, text
    pairs = [(text, other) for text, other in zip(TEXTS, TEXTS[3:], strict=False)]
    for text, other in pairs if theirs.eos_token or not path.name.startswith("Esm") else ():
        encoded = theirs(text, other, return_token_type_ids=True)
        found = ours(text, other, special="all")
        assert found.ids == encoded["input_ids"]
        types_differ = len(found.ids) != len(encoded["token_type_ids"])  # they count an end that is not added
        assert types_differ or found.type_ids == encoded["token_type_ids"]


@pytest.mark.parametrize(("name", "settings"), CASES, ids=IDS)
def test_ids_and_texts_are_those_of_transformers_for_its_files_and_for_what_it_saves(
    tmp_path: Path, name: str, settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    path = scripted_class_folders.write(tmp_path / name, name, **settings)
    assert_equal(path)
    if name == "CanineTokenizer":  # transformers takes seconds for each of its vocabularies
        return
    theirs = transformers.AutoTokenizer.from_pretrained(str(path))
    theirs.save_pretrained(tmp_path / "saved" / name)
    assert_equal(tmp_path / "saved" / name)
    if name == "CodeGenTokenizer":
        return
    theirs.add_tokens(
        ["<new>", transformers.AddedToken("world", lstrip=True), transformers.AddedToken("you", rstrip=True)]
    )
    theirs.save_pretrained(tmp_path / "added" / name)
    assert_equal(tmp_path / "added" / name)
    config = tmp_path / "added" / name / "tokenizer_config.json"
    stated = json.loads(config.read_text(encoding="utf-8"))
    del stated["added_tokens_decoder"]
    config.write_text(json.dumps(stated), encoding="utf-8")  # added_tokens.json has the ids
    assert_equal(tmp_path / "added" / name)


@pytest.mark.parametrize(("package", "name", "settings"), PROGRAMS)
def test_ids_and_texts_with_the_words_of_another_program_are_those_of_transformers(
    tmp_path: Path, package: str, name: str, settings: dict[str, Any]
) -> None:
    extra(package)
    if package == "fugashi":
        extra("unidic_lite")
    path = scripted_class_folders.write(tmp_path / name, name, **settings)
    assert_equal(path)
    transformers.AutoTokenizer.from_pretrained(str(path)).save_pretrained(tmp_path / "saved" / name)
    assert_equal(tmp_path / "saved" / name)
    tok = pickle.loads(pickle.dumps(tokkit.Tokenizer(folder.load(path).definition)))
    assert tok.encode("Hello world 你好") == tokkit.Tokenizer(folder.load(path).definition).encode("Hello world 你好")


def test_texts_that_uroman_romanizes_have_the_ids_of_transformers(tmp_path: Path) -> None:
    extra("uroman")
    path = scripted_class_folders.write(tmp_path, "VitsTokenizer", phonemize=False, is_uroman=True)
    ours, theirs = both(path)
    for text in ("Привет, κόσμε <unk> 안녕 ", "plain"):  # transformers reads uroman's data anew for each
        assert ours(text, special="all").ids == theirs(text)["input_ids"]


def test_the_text_of_a_table_s_class_is_split_as_in_transformers(tmp_path: Path) -> None:
    extra("pandas")
    ours, theirs = both(scripted_class_folders.write(tmp_path, "TapasTokenizer"))
    for text in TEXTS:
        ids = theirs.convert_tokens_to_ids(theirs.tokenize(text))
        assert ours(text, special="all", add_special=False).ids == ids
        assert ours(text, special="all").ids == theirs.build_inputs_with_special_tokens(ids, [])


def test_a_language_of_a_nested_vocabulary_is_chosen(tmp_path: Path) -> None:
    path = scripted_class_folders.write(tmp_path, "Wav2Vec2CTCTokenizer", target_lang="fra")
    vocab = json.loads((path / "vocab.json").read_text(encoding="utf-8"))
    (path / "vocab.json").write_text(json.dumps({"fra": vocab, "eng": {"<pad>": 0}}), encoding="utf-8")
    assert_equal(path)
    with pytest.raises(OptionError, match="target_lang is 'deu'; it must be one of fra, eng"):
        folder.load(path, asked={"target_lang": "deu"})


def test_added_tokens_that_include_the_white_space_beside_them_are_found_as_in_transformers(tmp_path: Path) -> None:
    name = "PhobertTokenizer"
    theirs = transformers.AutoTokenizer.from_pretrained(str(scripted_class_folders.write(tmp_path / name, name)))
    added = transformers.AddedToken
    theirs.add_tokens([added("<l>", lstrip=True), added("<r>", rstrip=True), added("the", lstrip=True), "<p>", "<pp>"])
    theirs.save_pretrained(tmp_path / "saved" / name)
    ours, theirs = both(tmp_path / "saved" / name)
    parts = ["<l>", "<r>", "the", "<p>", "<pp>", " ", "  ", "\n", "a", "word", "<mask>", "</s>", "<", "\u3000", "."]
    rng = random.Random(8)
    for text in ("".join(rng.choices(parts, k=rng.randint(1, 7))) for _ in range(1000)):
        assert ours(text, special="all").ids == theirs(text)["input_ids"], text


def test_truncation_leaves_room_for_the_end_that_is_then_added(tmp_path: Path) -> None:
    ours, theirs = both(scripted_class_folders.write(tmp_path, "ByT5Tokenizer"))
    for text in ("abc</s>", "abc", "abcd</s>e"):
        for n in range(1, 8):
            expected = theirs(text, truncation=True, max_length=n)["input_ids"]
            assert ours(text, special="all", truncation=n).ids == expected


def test_numbers_and_abbreviations_of_clvp_are_read_as_in_transformers() -> None:
    from transformers.models.clvp.number_normalizer import EnglishNormalizer

    from tokkit._core.align import AlignedText
    from tokkit.registry.tokenizer_classes.scripted.spoken_english import SpokenEnglish

    read = EnglishNormalizer()
    for start in ("$%d.%d", "%d,%03d", "£%d%dth", "%d.%dst dr.Mr. ", "$%d.%d.5", "%d\t%d0th ft."):
        for number in (
            0,
            1,
            2,
            7,
            11,
            12,
            13,
            19,
            20,
            21,
            99,
            100,
            101,
            999,
            1000,
            1900,
            2000,
            2004,
            2010,
            10**6,
            10**18,
        ):
            text = AlignedText(start % (number, number % 97))
            SpokenEnglish().normalize(text)
            assert "".join(text.pieces) == read(start % (number, number % 97))
