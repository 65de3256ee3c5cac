"""Worked examples of textbooks give the right answers: BERT, words, bytes, padding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tokkit
from tokkit.byte_symbols import SYMBOLS
from tokkit.engine.interpreter import Interpreter

BERT_SENTENCES = {
    "Tokenization is fundamental to NLP.": "[CLS] token ##ization is fundamental to nl ##p . [SEP]",
    "embeddings": "[CLS] em ##bed ##ding ##s [SEP]",
}
ENGLISH = "She sold the house by the sea, and nobody in the village could remember having seen anything like it before."


@pytest.fixture(scope="module", params=["vocab.txt", "tokenizer.json"])
def bert(request: pytest.FixtureRequest, shared: Path) -> tokkit.Tokenizer:
    return tokkit.load(shared / "vocabs" / "bert-base-uncased" / request.param)


@pytest.mark.parametrize("text", BERT_SENTENCES)
def test_the_sentences_of_bert_are_cut_as_they_should_be(bert: tokkit.Tokenizer, text: str) -> None:
    tokens = BERT_SENTENCES[text].split()
    encoding = bert(text)
    assert encoding.tokens == tokens
    assert bert.encode(text) == encoding.ids[1:-1] == Interpreter(bert.definition).encode(text)
    assert bert.encode_padded([text]).ids.tolist() == [encoding.ids]
    assert [text[a:b].lower() for a, b in encoding.offsets[1:-1]] == [t.removeprefix("##") for t in tokens[1:-1]]
    assert bert.decode(encoding.ids, skip_special=True) == text.lower()


def test_bert_has_30522_tokens_and_its_special_ones(bert: tokkit.Tokenizer) -> None:
    assert len(bert.vocab) == 30_522
    assert dict(bert.special_tokens) == {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "[MASK]": 103}


def test_vocabularies_have_the_sizes_that_are_told_of_them(load_shared: Callable[[str], tokkit.Tokenizer]) -> None:
    assert [load_shared(name).n_ids for name in ("r50k_base", "cl100k_base")] == [50_257, 100_277]


def test_cl100k_needs_fewer_tokens_than_r50k_for_english(load_shared: Callable[[str], tokkit.Tokenizer]) -> None:
    text = ENGLISH + "\n    def f(x):\n        return x\n"
    assert load_shared("cl100k_base").count(text) < load_shared("r50k_base").count(text)


def test_two_tokens_and_one_padded_to_four_have_the_masks_1100_and_1000() -> None:
    for model in ("word", "hybrid"):
        tok = tokkit.train({"low": 2, "new": 1}, model=model, vocab_size=50)
        padding = tokkit.Padding(length=4)
        rows = tok.encode_padded(["low new", "low"], padding=padding)
        assert rows.attention_mask.tolist() == [[1, 1, 0, 0], [1, 0, 0, 0]]
        made = tok.encodings(["low new", "low"], padding=padding)
        assert [encoding.attention_mask for encoding in made] == rows.attention_mask.tolist()


def test_special_tokens_have_the_ids_of_the_users_own_order() -> None:
    special = ["<pad>", "<unk>", "<start>"]
    for model in ("word", "char", "hybrid", "wordpiece"):
        tok = tokkit.train({"low": 2}, model=model, vocab_size=50, special_tokens=special, unk_token="<unk>")
        assert [tok.vocab[token] for token in special] == [0, 1, 2]
        assert tok.encode("☃") == [1]


def test_bytes_without_any_split_merge_to_300_tokens() -> None:
    tok = tokkit.train(iter([ENGLISH * 2]), vocab_size=300, pattern=None)
    assert len(tok.vocab) == 300
    assert len(tok.definition.model.merges) == 44
    assert tok.decode(tok.encode(ENGLISH)) == ENGLISH
    twice = tokkit.train(iter([ENGLISH]), vocab_size=5000, pattern=None, min_frequency=2)
    assert 256 < len(twice.vocab) < 5000
    pairs = list(zip(twice.encode(ENGLISH), twice.encode(ENGLISH)[1:], strict=False))
    assert len(set(pairs)) == len(pairs), "it stopped where no pair occurs twice"


def test_the_byte_alphabet_is_printable_and_in_order() -> None:
    assert [SYMBOLS[b] for b in (*range(33, 127), *range(161, 173), *range(174, 256))] == [
        chr(b) for b in (*range(33, 127), *range(161, 173), *range(174, 256))
    ]
    others = [b for b in range(256) if SYMBOLS[b] != chr(b)]
    assert [SYMBOLS[b] for b in others] == [chr(c) for c in range(0x100, 0x144)]
    assert (SYMBOLS[ord(" ")], SYMBOLS[ord("\n")]) == ("Ġ", "Ċ")
