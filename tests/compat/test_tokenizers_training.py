"""Training and adding tokens in tokenizers and in tokkit's drop-in: equal vocabularies, merges, ids and texts."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tokkit
from tokkit.compat import tokenizers as face

theirs = pytest.importorskip("tokenizers")

TEXTS = ["low lower lowest newest widest low low", "wide new lows"] * 3
PRIVATE = ["low\U000f0041 lower\U000f0041w newest\U000f0000 low\U000f0000 \U0010ffff \ue000 \u0001"] * 3


def trained(package: Any, texts: list[str], kind: str = "BPE", **options: Any) -> dict[str, Any]:
    tokenizer = package.Tokenizer(getattr(package.models, kind)())
    tokenizer.pre_tokenizer = package.pre_tokenizers.WhitespaceSplit()
    trainer = getattr(package.trainers, {"BPE": "BpeTrainer"}.get(kind, f"{kind}Trainer"))
    tokenizer.train_from_iterator(texts, trainer(show_progress=False, **options))
    model: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return model


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4])
def test_a_maximum_length_does_not_apply_to_tokens_of_two_characters(length: int) -> None:
    options = {"vocab_size": 60, "max_token_length": length}
    ours = trained(face, TEXTS, **options)
    assert ours == trained(theirs, TEXTS, **options)
    assert any(len(token) == 2 for token in ours["vocab"])


def test_a_suffix_trains_on_private_use_characters() -> None:
    options = {"vocab_size": 60, "end_of_word_suffix": "</w>"}
    ours, other = trained(face, PRIVATE, **options), trained(theirs, PRIVATE, **options)
    assert ours["vocab"].keys() == other["vocab"].keys()
    assert "low\U000f0041</w>" in ours["vocab"]


@pytest.mark.parametrize("word", ["tokenization", "zyxw", "aaab"])
def test_wordpiece_numbers_the_characters_of_one_word_in_their_order(word: str) -> None:
    options = {"vocab_size": 60, "special_tokens": ["[UNK]"]}
    assert trained(face, [word], "WordPiece", **options) == trained(theirs, [word], "WordPiece", **options)


def test_wordpiece_numbers_the_characters_of_frequent_words_first() -> None:
    vocab = trained(face, ["ab cd cd"], "WordPiece", vocab_size=6)["vocab"]
    assert [token for token in vocab if token.startswith("##")] == ["##d", "##b"]


@pytest.mark.parametrize("suffix", [{}, {"end_of_word_suffix": "</w>"}])
def test_a_prefix_with_and_without_suffix_has_the_symbols_of_tokenizers(suffix: dict[str, str]) -> None:
    options = {"vocab_size": 20, "continuing_subword_prefix": "##", **suffix}
    assert trained(face, ["abc a"], **options)["vocab"].keys() == trained(theirs, ["abc a"], **options)["vocab"].keys()


def test_native_train_takes_lists_of_texts() -> None:
    nested = tokkit.train(iter([["low lower"], ["low", "newest"], "wide"]), vocab_size=270)
    assert nested.vocab == tokkit.train(iter(["low lower", "low", "newest", "wide"]), vocab_size=270).vocab


def word_level(package: Any) -> Any:
    return package.Tokenizer(package.models.WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>"))


def test_an_added_token_is_named_as_it_is_normalized() -> None:
    def names(package: Any) -> list[Any]:
        tokenizer = word_level(package)
        tokenizer.normalizer = package.normalizers.Lowercase()
        tokenizer.add_tokens(["Ab", package.AddedToken("Cd", normalized=False)])
        before = [tokenizer.id_to_token(id_) for id_ in range(5)]
        tokenizer.normalizer = None
        return [before, [tokenizer.id_to_token(id_) for id_ in range(5)], tokenizer.get_vocab()]

    assert names(face) == names(theirs)
    assert names(face)[0] == ["a", "<unk>", "ab", "Cd", None]


@pytest.mark.parametrize("method", ["add_tokens", "add_special_tokens"])
def test_added_tokens_of_the_package_tokenizers_are_taken(method: str) -> None:
    def added(package: Any) -> tuple[int, str]:
        tokenizer = word_level(package)
        tokens = [theirs.AddedToken("x", lstrip=True), theirs.AddedToken("y", normalized=True, single_word=True)]
        return getattr(tokenizer, method)(tokens), tokenizer.to_str()

    assert added(face) == added(theirs)


def test_other_objects_are_not_added_tokens() -> None:
    with pytest.raises(TypeError, match=r"a token of tokens is 1; it must be a str or an AddedToken"):
        word_level(face).add_tokens([1])


@pytest.mark.parametrize("text", ["é" * 50, "é" * 51, "x" * 100, "x" * 101])
def test_str_shows_one_hundred_bytes_of_a_text_and_repr_all(text: str) -> None:
    ours, other = (package.normalizers.Prepend(text) for package in (face, theirs))
    assert repr(ours) == repr(other)
    assert str(ours) == str(other)


def test_a_file_shows_special_tokens_of_templates_sorted() -> None:
    text = json.dumps(
        {
            "version": "1.0",
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [{"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {text: {"id": text, "ids": [0], "tokens": [text]} for text in ("z", "a")},
            },
            "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
        }
    )
    assert face.Tokenizer.from_str(text).to_str() == theirs.Tokenizer.from_str(text).to_str()


UNKNOWN = [["<unk>", 0.0], ["a", -1.0], ["▁", -2.5], ["▁a", -1.5]]


@pytest.mark.parametrize("text", ["aéébc", "a é ﬁ éb  c", "éa", "\ufffd a"])
def test_unknown_pieces_are_the_text_they_stand_for(text: str, tmp_path: Any) -> None:
    made = []
    for package in (face, theirs):
        tokenizer = package.Tokenizer(package.models.Unigram([tuple(piece) for piece in UNKNOWN], 0))
        tokenizer.normalizer = package.normalizers.NFKC()
        tokenizer.pre_tokenizer = package.pre_tokenizers.Metaspace()
        made.append(tokenizer)
    made[1].save(str(tmp_path / "tokenizer.json"))
    tokens = made[1].encode(text).tokens
    assert made[0].encode(text).tokens == tokens
    assert tokkit.load(tmp_path / "tokenizer.json")(text).tokens == tokens
