"""Classic BPE is trained merge for merge as in its paper, from text and from files."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokkit
from reference import char_bpe, classic_bpe_train
from strategies import documents
from tokkit.errors import OptionError

LOW = {"low": 5, "lowest": 2, "newer": 3, "wider": 3}
NEW = {"low": 5, "lower": 2, "newest": 6, "widest": 3}


def trained(counts: dict[str, int], n_tokens: int, **options: object) -> tuple[tokkit.Tokenizer, list[tuple]]:
    steps: list[tokkit.trainers.Step] = []
    tok = tokkit.train(counts, model="bpe", vocab_size=n_tokens, explain=steps.append, **options)
    return tok, [(step.left, step.right, step.count) for step in steps]


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        (LOW, "lo 7, low 7, er 6, er</w> 6, low</w> 5, ne 3, new 3, newer</w> 3, wi 3, wid 3"),
        (NEW, "es 9, est 9, est</w> 9, lo 7, low 7, ne 6, new 6, newest</w> 6, low</w> 5, wi 3"),
    ],
)
def test_the_worked_corpora_give_their_merges(counts: dict[str, int], wanted: str) -> None:
    n = len(set("".join(counts))) + 1 + 10
    _, steps = trained(counts, n)
    assert ", ".join(f"{left}{right} {count}" for left, right, count in steps) == wanted


@pytest.mark.parametrize("word_end", ["apart", "attached", "none"])
@pytest.mark.parametrize("least", [0, 3])
def test_merges_are_those_of_the_naive_twin(word_end: str, least: int) -> None:
    rng = random.Random(901)
    for letters in ("ab", "abcd", "aeiou東🙂", "lowernstdiw"):
        for n_words in (1, 5, 40):
            counts = {"".join(rng.choices(letters, k=rng.randint(1, 9))): rng.randint(1, 4) for _ in range(n_words)}
            tok, steps = trained(counts, 60, word_end=word_end, min_frequency=least)
            assert steps == classic_bpe_train.train(counts, 60, word_end=word_end, min_frequency=least), counts
            check_encoding(tok, list(counts), word_end)


@given(st.lists(st.text("abc", min_size=1, max_size=7), min_size=1, max_size=12), st.integers(4, 40))
@settings(max_examples=150)
def test_merges_of_any_words_are_those_of_the_naive_twin(words: list[str], n: int) -> None:
    counts = dict(Counter(words))
    assert trained(counts, n)[1] == classic_bpe_train.train(counts, n)


def check_encoding(tok: tokkit.Tokenizer, words: list[str], word_end: str) -> None:
    """The ids of words are what the naive twin of the model makes of them, and come back as the words."""
    ids = {token.decode(): id_ for token, id_ in tok.vocab.items()}
    merges = tok.definition.model.merges.tolist()
    for word in words:
        options: dict[str, object] = {"end_of_word_suffix": "</w>"} if word_end == "attached" else {}
        if word_end == "apart":  # the twin takes the suffix as one more character
            symbol = "\ue000"
            merged = char_bpe.char_bpe(word + symbol, {**ids, symbol: ids["</w>"]}, merges)
        else:
            merged = char_bpe.char_bpe(word, ids, merges, **options)
        assert tok.encode(word) == [id_ for id_, _ in merged]
        assert tok.decode(tok.encode(word)) == (word if word_end != "none" else " ".join(_tokens(tok, word)))
        offsets = tok(word).offsets
        assert "".join(word[a:b] for a, b in offsets) == word
        assert offsets == sorted(offsets)


def _tokens(tok: tokkit.Tokenizer, word: str) -> list[str]:
    return [tok.vocab[id_].decode() for id_ in tok.encode(word)]


def test_offsets_never_run_backwards_where_characters_have_no_token() -> None:
    tok = tokkit.train(LOW, model="bpe", vocab_size=20)
    for text in ("low 東京 low", "東", "東low 東 wide東r", "  low  "):
        flat = [place for span in tok(text).offsets for place in span]
        assert flat == sorted(flat), text
    assert tok("low 東京 low").offsets[-1] == (7, 10)
    assert [tok.vocab[id_] for id_ in tok.encode("東")] == [b"</w>"]


def test_text_is_counted_in_the_order_in_which_it_stands(bundled: str, tmp_path: Path) -> None:
    words = [word for line in bundled.splitlines()[:150] for word in line.split()]
    wanted = classic_bpe_train.train(dict(Counter(words)), 900)
    (tmp_path / "a.txt").write_text(" ".join(words[:300]) + "\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("\n".join(words[300:]) + "\n", encoding="utf-8")
    for threads in (1, 3):
        steps: list[tokkit.trainers.Step] = []
        files = [tmp_path / "a.txt", tmp_path / "b.txt"]
        tokkit.train(files, model="bpe", vocab_size=900, explain=steps.append, threads=threads)
        assert [(step.left, step.right, step.count) for step in steps] == wanted
    assert trained({"ab": 1, "cd": 1}, 6)[1][0][:2] == ("a", "b")
    assert trained({"cd": 1, "ab": 1}, 6)[1][0][:2] == ("c", "d")


def test_a_file_of_that_form_without_a_token_for_the_end_of_a_word_is_read_as_it_stands(tmp_path: Path) -> None:
    rival = pytest.importorskip("tokenizers")
    trained(LOW, 20, unk_token="<unk>", special_tokens=["<unk>"])[0].save(tmp_path / "tokenizer.json")
    file = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    end = file["normalizer"]["normalizers"][-1]["content"]
    model = file["model"]
    model["vocab"] = {token.replace(end, "x"): id_ for token, id_ in model["vocab"].items()}
    model["merges"] = [merge for merge in model["merges"] if end not in "".join(merge)]
    text = json.dumps(file)
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    ids = rival.Tokenizer.from_str(text).encode("low lower x").ids
    assert tokkit.load(tmp_path / "tokenizer.json").encode("low lower x") == ids


@pytest.mark.parametrize("word_end", ["apart", "attached", "none"])
def test_a_file_gives_the_tokenizer_back(word_end: str, tmp_path: Path, bundled: str) -> None:
    options = {"word_end": word_end, "special_tokens": ["<unk>"], "unk_token": "<unk>", "glossaries": ["tokkit.x"]}
    tok = tokkit.train(iter(bundled.splitlines()), model="bpe", vocab_size=3500, **options)
    tok.save(tmp_path / "tok.json")
    again = tokkit.load(tmp_path / "tok.json")
    assert again.fingerprint() == tok.fingerprint()
    tokenizers = pytest.importorskip("tokenizers")
    rival = tokenizers.Tokenizer.from_file(str(tmp_path / "tok.json"))
    for text in [*documents(903, 60), "a tokkit.x b", "xtokkit.xx"]:
        ids = tok.encode(text, special="all")
        assert again.encode(text, special="all") == ids
        assert rival.encode(text).ids == ids


def test_glossaries_are_never_cut() -> None:
    tok = tokkit.train({"New": 3, "York": 3, "USA": 3}, model="bpe", vocab_size=12, glossaries=["USA", "New York"])
    assert [tok.vocab[id_] for id_ in tok.encode("USA New York")] == [b"USA", b"New York"]


def test_several_sizes_are_cuts_of_one_training() -> None:
    some = tokkit.train(NEW, model="bpe", vocab_size=[14, 17, 21])
    for size, tok in zip((14, 17, 21), some, strict=True):
        assert tok.fingerprint() == tokkit.train(NEW, model="bpe", vocab_size=size).fingerprint()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"word_end": "behind"}, "word_end is 'behind'"),
        ({"suffix": ""}, "suffix is empty"),
        ({"pattern": "gpt2"}, "pattern is 'gpt2'"),
        ({"glossaries": "USA"}, "glossaries is 'USA'"),
        ({"glossaries": ["a"], "special_tokens": ["a"]}, "both a special token and a glossary"),
        ({"unk_token": "<unk>"}, "not among the special tokens"),
        ({"dropout": 2.0}, "dropout is 2.0; it must be a probability"),
        ({"vocab_size": 0}, "vocab_size is 0"),
        ({"explain": 5}, "explain is 5"),
    ],
)
def test_options_that_cannot_work_are_errors(options: dict[str, object], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        tokkit.train(LOW, model="bpe", **{"vocab_size": 30, **options})


def test_a_corpus_that_gives_out_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    tok = tokkit.train(LOW, model="bpe", vocab_size=500)
    assert f"yields only {len(tok.vocab)} tokens, fewer than the vocab_size of 500" in caplog.text
    caplog.clear()
    assert len(tokkit.train(LOW, model="bpe", vocab_size=5).vocab) == 11
    assert "and no merges" in caplog.text


def test_text_without_any_space_is_an_error_and_no_endless_wait() -> None:
    with pytest.raises(tokkit.CorpusError, match="a word of the corpus has 70,000 characters"):
        tokkit.train(iter(["ab" * 35_000]), model="bpe", vocab_size=100)
    assert len(tokkit.train(iter(["ab" * 5_000]), model="bpe", vocab_size=12).vocab) == 12


def test_openai_gpt_is_read_and_run_as_tokenizers_does(shared: Path, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    folder = shared / "vocabs" / "openai-gpt"
    rival = tokenizers.Tokenizer(
        tokenizers.models.BPE.from_file(
            str(folder / "vocab.json"), str(folder / "merges.txt"), unk_token="<unk>", end_of_word_suffix="</w>"
        )
    )
    rival.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    rival.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    rival.decoder = tokenizers.decoders.BPEDecoder(suffix="</w>")
    tok = tokkit.load(folder)
    tok.save(tmp_path / "gpt.json")
    again = tokkit.load(tmp_path / "gpt.json")
    lines = (shared / "corpora" / "tinyshakespeare.txt").read_text(encoding="utf-8").split("\n")[:2000]
    for text in [*documents(905, 200), *lines, "Hello, World! naïve CAFÉ 東京 🙂"]:
        text = text.encode("utf-8", "replace").decode()
        theirs = rival.encode(text)
        assert tok.encode(text) == theirs.ids == again.encode(text), text
        assert tok(text).offsets == theirs.offsets
        assert tok.decode(theirs.ids) == rival.decode(theirs.ids)
    assert json.loads((tmp_path / "gpt.json").read_text(encoding="utf-8"))["model"]["type"] == "BPE"
