"""BPE of words merge by merge, with dropout, and with "@@"."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import tokkit
from strategies import documents
from tokkit.engine.sampling import Dropout, Merges, Segmenter, restore

WORDS = {"low": 5, "lower": 2, "newest": 6, "widest": 3}


def makers() -> dict[str, tokkit.Tokenizer]:
    text = iter(["low lower newest widest newest new wide naïve 東京\n"] * 3)
    return {
        "apart": tokkit.train(WORDS, model="bpe", vocab_size=20),
        "attached": tokkit.train(WORDS, model="bpe", vocab_size=20, word_end="attached"),
        "bytes": tokkit.train(text, vocab_size=290, special_tokens=["<|end|>"]),
    }


@pytest.mark.parametrize("kind", ["apart", "attached", "bytes"])
def test_the_last_step_of_each_word_is_its_tokens(kind: str) -> None:
    tok = makers()[kind]
    for text in ["lower newest widest", "low", "", "wide lowest", *documents(911, 20, longest=60)]:
        text = text.encode("utf-8", "replace").decode()
        found = [steps[-1].symbols if steps else symbols for symbols, steps in Merges(tok).words(text)]
        assert [token for word in found for token in word] == [tok.vocab[id_] for id_ in tok.encode(text)]


def test_merges_of_a_word_come_in_the_order_in_which_they_are_made() -> None:
    tok = makers()["apart"]
    ((symbols, steps),) = Merges(tok).words("lowest")
    assert symbols == (b"l", b"o", b"w", b"e", b"s", b"t", b"</w>")
    assert [step.left + step.right for step in steps] == [b"es", b"est", b"est</w>", b"lo", b"low"]
    assert [step.rank for step in steps] == [0, 1, 2, 3, 4]


def test_published_ranks_are_followed_too(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKKIT_DATA_DIR", str(shared / "vocabs"))
    tok = tokkit.get_encoding("cl100k_base")
    for text in ("Hello tokenization!", "naïve 東京 🙂\n\n", "x<|endoftext|>y"):
        for special in ("text", "all"):
            found = [
                steps[-1].symbols if steps else symbols for symbols, steps in Merges(tok).words(text, special=special)
            ]
            assert [t for word in found for t in word] == [tok.vocab[i] for i in tok.encode(text, special=special)]


def test_merges_are_for_bpe() -> None:
    words = tokkit.train(iter(["low lower"]), model="word", vocab_size=10)
    with pytest.raises(tokkit.OptionError, match="WordLevel"):
        Merges(words)


@pytest.mark.parametrize("kind", ["apart", "attached", "bytes"])
def test_dropout_drops_nothing_or_all_or_some(kind: str) -> None:
    tok = makers()[kind]
    text = "lower newest widest low"
    assert Dropout(tok, 0.0).encode(text, seed=3) == tok.encode(text)
    everything = Dropout(tok, 1.0).encode(text, seed=3)
    assert not set(everything) & {int(result) for *_, result in tok.definition.model.merges.tolist()}
    some = Dropout(tok, 0.5)
    assert some.encode(text, seed=3) == some.encode(text, seed=3)
    seen = Counter(tuple(some.encode("newest", seed=seed)) for seed in range(200))
    assert len(seen) > 5
    for ids in seen:
        assert tok.decode(ids) == "newest"


def test_a_pair_is_dropped_as_often_as_is_asked() -> None:
    tok = tokkit.train({"ab": 5}, model="bpe", vocab_size=4, word_end="none")
    chance = Dropout(tok, 0.3)
    kept = sum(len(chance.encode("ab", seed=seed)) == 1 for seed in range(4000))
    assert abs(kept / 4000 - 0.7) < 0.03


@pytest.mark.parametrize("value", [-0.1, 1.5, "0.1", None, True])
def test_a_dropout_that_is_no_probability_is_an_error(value: object) -> None:
    with pytest.raises(tokkit.OptionError, match="probability from 0 to 1"):
        Dropout(makers()["apart"], value)


@pytest.mark.parametrize("seed", [-1, 1 << 64, 0.5, None])
def test_a_seed_that_is_none_is_an_error(seed: object) -> None:
    with pytest.raises(tokkit.OptionError, match=r"a seed is .*must be an int"):
        Dropout(makers()["apart"]).encode("low", seed=seed)


@pytest.mark.parametrize("kind", ["apart", "attached"])
def test_segmented_text_can_be_put_together_again(kind: str) -> None:
    tok = makers()[kind]
    for text in ("lower newest", "low", "unknown lowest zzz", "naïve low 東京", "", *documents(913, 20, longest=60)):
        text = text.encode("utf-8", "replace").decode().replace("@", "")
        for separator in ("@@", "￭"):
            cut = Segmenter(tok, separator).segment(text)
            assert restore(cut, separator).split() == text.split(), (text, separator)


@pytest.mark.parametrize("kind", ["apart", "attached"])
def test_the_pieces_of_known_words_are_their_tokens(kind: str) -> None:
    tok = makers()[kind]
    cutting = Segmenter(tok)
    for word in ("low", "lower", "newest", "lowest", "st", "nest"):
        tokens = [tok.vocab[id_].decode().removesuffix("</w>") for id_ in tok.encode(word)]
        assert cutting.segment(word) == cutting.segment(word) == "@@ ".join(token for token in tokens if token)


def test_segmented_text_is_as_subword_nmt_writes_it() -> None:
    tok = makers()["attached"]
    assert Segmenter(tok).segment("newest  lowest wid éw") == "newest lo@@ w@@ est wi@@ d é@@ w"
    glossary = tokkit.train(WORDS, model="bpe", vocab_size=21, glossaries=["USA"], word_end="attached")
    assert Segmenter(glossary).segment("USA newestUSA") == "USA newest@@ USA"
    with pytest.raises(tokkit.OptionError, match="separator is empty"):
        restore("a@@ b", "")
    with pytest.raises(tokkit.OptionError, match="separator is empty"):
        Segmenter(tok, "")
    with pytest.raises(tokkit.OptionError, match="the model is BPE"):
        Segmenter(makers()["bytes"])
