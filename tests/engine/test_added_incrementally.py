"""Tokens that are added to a tokenizer give the ids of one that is built with them, and its encoder is shared."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

import tokkit
from strategies import adversarial
from tokkit.compat import tokenizers
from tokkit.compat.transformers import PreTrainedTokenizerFast
from tokkit.definition import AddedToken, Definition
from tokkit.normalizers.lowercase import Lowercase

MODELS = ("bpe", "bbpe", "wordpiece", "word", "unigram", "sp-bpe")
NEW = ("<new>", "lower", "ĠLow", " low", "é▁🦜", "LOW", "\n\n", "est", "<a", "<a b>")


def texts_with(tokens: tuple[str, ...], rng: random.Random) -> list[str]:
    words = ["low", "lower ", " ", "newest", "LOW", "\n", *tokens]
    return ["".join(rng.choices(words, k=rng.randrange(1, 12))) for _ in range(40)] + [adversarial(7, 300)]


def trained(model: str) -> tokkit.Tokenizer:
    for size in (300, 70, 60, 50, 40, 30):
        try:
            return tokkit.train(iter(["low lower lowest, new newer newest: é🦜\n"] * 8), vocab_size=size, model=model)
        except tokkit.TokkitError:
            continue
    raise AssertionError(model)


@pytest.mark.parametrize("model", MODELS)
def test_special_tokens_are_added_one_by_one(model: str) -> None:
    rng, grown = random.Random(3), trained(model)
    special: dict[str, int] = {}
    for text in NEW:
        special[text] = grown.n_ids
        grown = grown.with_special_tokens({text: grown.n_ids})
        whole = tokkit.Tokenizer(grown.definition)
        for example in texts_with(NEW, rng):
            for policy in ("text", "all", {text}):
                assert grown.encode(example, special=policy) == whole.encode(example, special=policy)
            one, other = grown(example, special="all"), whole(example, special="all")
            assert (one.tokens, one.offsets, one.word_ids) == (other.tokens, other.offsets, other.word_ids)
            assert grown.decode(one.ids) == whole.decode(one.ids)
    assert dict(grown.special_tokens) | special == dict(grown.special_tokens)


@pytest.mark.parametrize("model", ["bpe", "wordpiece"])
def test_the_encoder_is_shared_only_if_its_ids_cannot_change(model: str) -> None:
    tok = trained(model)
    encoder = tok.engine.encoder
    grown = tok.with_special_tokens({"<new>": tok.n_ids})
    assert grown.engine.encoder is encoder
    assert grown.with_special_tokens({"<newer>": grown.n_ids}).engine.encoder is encoder
    assert tokkit.Tokenizer(grown.definition).engine.encoder is not encoder
    own = next(id_ for token, id_ in tok.vocab.items() if token.isalpha() and len(token) > 1)
    text = tok.vocab[own].decode()
    of_model = replace(tok.definition, special_tokens={**tok.special_tokens, text: own})
    lower = replace(grown.definition, normalizer=Lowercase())
    wide = AddedToken("<wide>", 1 << 16)
    vocab = tok.vocab.with_tokens({wide.id: wide.content.encode()})
    narrow = replace(tok.definition, vocab=vocab, added_tokens=(*tok.definition.added_tokens, wide))
    for definition in (of_model, lower, narrow):
        assert tokkit.Tokenizer(definition, like=tok).engine.encoder is not encoder


def test_only_added_tokens_after_the_last_id_only_add() -> None:
    tok = trained("bpe")
    grown = tok.with_special_tokens({"<new>": tok.n_ids}).definition
    assert grown.only_adds_to(tok.definition)
    assert not tok.definition.only_adds_to(grown)
    assert not replace(grown, added_ids=frozenset()).only_adds_to(tok.definition)
    assert not changed_first_token(grown).only_adds_to(tok.definition)


def changed_first_token(definition: Definition) -> Definition:
    """Return a definition whose first token has other bytes."""
    vocab = definition.vocab
    blob = bytes([vocab.blob[0] ^ 1]) + vocab.blob[1:]
    return replace(definition, vocab=tokkit.Vocab(blob, vocab.offsets, vocab.empty))


@pytest.mark.parametrize("model", ["bpe", "wordpiece", "unigram"])
def test_tokens_are_added_between_calls_of_the_interface_of_tokenizers(model: str, tmp_path: Any) -> None:
    trained(model).save(tmp_path / "tokenizer.json")
    tok, rng = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")), random.Random(5)
    for number, text in enumerate((*NEW, "low", *NEW[:3])):
        options = {name: rng.random() < 0.3 for name in ("lstrip", "rstrip", "single_word", "normalized")}
        add = tok.add_special_tokens if number % 3 == 0 else tok.add_tokens
        add([tokenizers.AddedToken(text, **options)])
        whole = tokenizers.Tokenizer.from_str(tok.to_str())
        for example in texts_with(NEW, rng):
            one, other = tok.encode(example), whole.encode(example)
            assert (one.ids, one.tokens, one.offsets) == (other.ids, other.tokens, other.offsets)
            assert tok.decode(one.ids) == whole.decode(one.ids)


def test_tokens_are_added_between_calls_of_the_interface_of_transformers() -> None:
    tok, rng = PreTrainedTokenizerFast(tokenizer_object=trained("bpe"), unk_token="<unk>"), random.Random(6)
    n = len(tok)
    assert tok.add_tokens(list(NEW[:3])) == 3
    assert tok.add_tokens(list(NEW[:4])) == 1
    assert tok.add_tokens(["<x>", "<x>"], special_tokens=True) == 1
    assert (len(tok), tok.convert_tokens_to_ids("<x>")) == (n + 5, n + 4)
    for text in NEW[4:]:
        tok.add_tokens([text])
        whole = PreTrainedTokenizerFast(tokenizer_object=tokkit.Tokenizer(tok._tok.definition))
        for example in texts_with(NEW, rng):
            assert tok(example).input_ids == whole(example).input_ids
    assert tok.add_tokens(["low"]) == 1
    assert tok("low").input_ids == [tok.convert_tokens_to_ids("low")]
