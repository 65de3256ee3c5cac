"""Vocabularies with tokens removed, added or replaced: ids are equal under the map that the edit returns."""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from conftest import LONG
from sentencepiece_models import by_chance, text_by_chance
from strategies import adversarial
from tokkit.conversion import add_tokens, count_ids, extend, merge, prune, remap_embeddings, resize
from tokkit.corpus import bundled
from tokkit.definition import AddedToken, definition_of
from tokkit.errors import CorpusError, OptionError, ShapeError, VocabError

KINDS: dict[str, dict[str, Any]] = {
    "bbpe": {"special_tokens": ["<|end|>"]},
    "bpe": {"special_tokens": ["[UNK]"], "unk_token": "[UNK]", "glossaries": ["New York"]},
    "bpe attached": {"word_end": "attached"},
    "wordpiece": {},
    "word": {},
    "char": {},
    "hybrid": {},
    "unigram": {"character_coverage": 0.98},
    "unigram bytes": {"byte_fallback": True, "character_coverage": 0.98},
    "sp-bpe": {"byte_fallback": True, "character_coverage": 0.98},
    "sp-char": {},
}


@functools.cache
def corpus() -> tuple[str, ...]:
    names = ("english", "french", "greek", "japanese", "thai")
    paths = [path for path in bundled.paths() if path.stem in names]
    return tuple(line for path in paths for line in path.read_text(encoding="utf-8").splitlines()[:60])


@functools.cache
def trained(name: str) -> tokkit.Tokenizer:
    options = {"vocab_size": 1500, **KINDS[name]}
    model = name.split()[0]
    if model in ("unigram", "sp-bpe", "sp-char"):
        options["hard_vocab_limit"] = False
    return tokkit.train(iter(corpus()), model=model, **options)


def check_pruned(tok: tokkit.Tokenizer, texts: list[str]) -> tuple[tokkit.Tokenizer, np.ndarray]:
    """Keep what texts use: they keep their tokens, and all tokens that could be reached still can."""
    used = {id_ for text in texts for id_ in tok.encode(text)}
    small, ids = prune(tok, keep=used, keep_characters=False)
    assert len(ids) == tok.n_ids
    kept = np.flatnonzero(ids >= 0)
    assert ids[kept].tolist() == list(range(small.n_ids))
    assert {small.vocab[int(ids[id_])] for id_ in kept if int(id_) in tok.vocab} == set(small.vocab)
    for text in texts:
        assert small.encode(text) == [ids[id_] for id_ in tok.encode(text)], text
    for id_ in kept.tolist():
        alone = tok.vocab[id_].decode(errors="replace")
        if tok.encode(alone) == [id_]:
            assert small.encode(alone) == [ids[id_]], alone
    return small, ids


@pytest.mark.parametrize("name", KINDS)
def test_what_a_corpus_uses_leaves_its_tokens_as_they_were(name: str, tmp_path: Path) -> None:
    tok = trained(name)
    rng = random.Random(3)
    for _ in range(10 if LONG else 2):
        texts = rng.sample(corpus(), 12)
        small, _ = check_pruned(tok, texts)
        assert small.n_ids < tok.n_ids or name == "char"
    same, _ = prune(tok, corpus=iter(texts), min_count=1, keep_characters=False)
    assert same.fingerprint() == small.fingerprint()
    if name.split()[0] != "sp-bpe":  # whose ids in a tokenizer.json other tests compare
        small, _ = prune(tok, corpus=iter(texts))  # with all characters: unknown ones have a score of their own
        small.save(tmp_path / "x.json")
        rival = pytest.importorskip("tokenizers").Tokenizer.from_file(str(tmp_path / "x.json"))
        rival.encode_special_tokens = True
        for text in texts:
            assert rival.encode(text, add_special_tokens=False).ids == small.encode(text)


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_models_by_chance_are_pruned_soundly(kind: str) -> None:
    for seed in range(60):
        tok = tokkit.Tokenizer(definition_of(by_chance(seed, kind)))
        rng = random.Random(seed)
        check_pruned(tok, [text_by_chance(rng, 20) for _ in range(rng.randrange(6))])


def test_merge_lists_and_ranks_by_chance_are_pruned_soundly() -> None:
    from tokkit.definition import Definition, Split
    from tokkit.models.bpe import BPE
    from tokkit.models.char_bpe import CharBPE
    from tokkit.vocab import Vocab

    for seed in range(150):
        rng = random.Random(seed)
        tokens = [bytes([byte]) for byte in range(256)]
        pairs = []
        for _ in range(rng.randrange(20)):
            left, right = (rng.choice([97, 98, 99, *range(256, len(tokens))]) for _ in range(2))
            joined = tokens[left] + tokens[right]
            if joined not in tokens:
                tokens.append(joined)
            if (left, right) not in [pair[:2] for pair in pairs]:
                pairs.append((left, right, tokens.index(joined)))
        rng.shuffle(pairs)
        merges = np.array(pairs, dtype=np.uint32).reshape(-1, 3)
        vocab = Vocab.from_list(tokens)
        model = (BPE(), BPE(merges, False), BPE(merges, True))[seed % 3]
        texts = ["".join(rng.choice("abc ") for _ in range(12)) for _ in range(4)]
        check_pruned(tokkit.Tokenizer(Definition(vocab, model, Split(None))), texts)
        own = tokens[97:100] + tokens[256:]
        ids = {token: id_ for id_, token in enumerate(own)}
        inner = [tuple(ids[tokens[id_]] for id_ in pair) for pair in pairs]
        chars = CharBPE(merges=np.array(inner, dtype=np.uint32).reshape(-1, 3), ignore_merges=seed % 2 == 1)
        check_pruned(tokkit.Tokenizer(Definition(Vocab.from_list(own), chars, None)), texts)


@pytest.mark.parametrize(
    "name", ["cl100k_base.tiktoken", "bert-base-uncased/tokenizer.json", "mistral-v1/tokenizer.json"]
)
def test_published_vocabularies_are_pruned_soundly(name: str, shared: Path) -> None:
    tok = tokkit.load(shared / "vocabs" / name)
    small, ids = check_pruned(tok, [*corpus()[:60]])
    assert small.n_ids < tok.n_ids / 4
    # The postprocessor's tokens too.
    one, other = corpus()[:2]
    assert small(one, other).ids == [ids[id_] for id_ in tok(one, other).ids]


def test_min_count_drops_rare_tokens_and_characters_stay() -> None:
    tok = trained("bbpe")
    counts = count_ids(tok, iter(corpus()), unit="line")
    assert counts.sum() == sum(tok.count(line) for line in corpus())
    small, ids = prune(tok, corpus=iter(corpus()), min_count=20)
    assert all(ids[id_] >= 0 for id_ in np.flatnonzero(counts >= 20))
    assert small.n_ids < tok.n_ids
    for line in corpus()[:50]:
        assert small.decode(small.encode(line)) == line
    pieces = trained("wordpiece")
    fewer, _ = prune(pieces, corpus=iter(corpus()[:3]))
    for line in corpus():
        assert fewer.encode(line).count(fewer.vocab["[UNK]"]) == pieces.encode(line).count(pieces.vocab["[UNK]"])


def test_what_pruning_cannot_do_is_refused() -> None:
    tok = trained("bbpe")
    with pytest.raises(OptionError, match="nothing to keep"):
        prune(tok)
    with pytest.raises(OptionError, match="min_count is 0"):
        prune(tok, corpus=iter(["a"]), min_count=0)
    with pytest.raises(VocabError, match="no token has the id 99999"):
        prune(tok, [99999])
    with pytest.raises(VocabError, match="'nothing like this' is not in the vocabulary"):
        prune(tok, ["nothing like this"])


# ---- adding and resizing


@pytest.mark.parametrize("name", KINDS)
def test_added_tokens_have_ids_after_all_others(name: str) -> None:
    tok = trained(name)
    more, ids = add_tokens(tok, ["<|a|>", "<|b|>", "<|a|>"], special=True)
    assert (more.n_ids, ids.tolist()) == (tok.n_ids + 2, list(range(tok.n_ids)))
    assert more.special_tokens["<|b|>"] == tok.n_ids + 1
    for line in corpus()[:20]:
        assert more.encode(line) == tok.encode(line)
        assert more.encode(f"{line}<|b|>", special="all")[-1] == tok.n_ids + 1
    assert add_tokens(more, ["<|a|>"]).tokenizer.fingerprint() == more.fingerprint()


def test_added_tokens_are_found_as_they_say_and_never_take_a_token_away() -> None:
    tok = trained("bbpe")
    more, _ = add_tokens(tok, ["\u2603\u2603", tokkit.AddedToken("low", 0, single_word=True)])
    assert more.encode("\u2603\u2603") == [tok.n_ids]
    assert tok.n_ids + 1 in more.encode("a low b")
    assert tok.n_ids + 1 not in more.encode("alow b")
    with pytest.raises(VocabError, match="'a' is a token of the model already"):
        add_tokens(tok, ["a"])
    with pytest.raises(TypeError, match="it must be a list"):
        add_tokens(tok, "abc")


@pytest.mark.parametrize("name", [name for name in KINDS if name not in ("char", "sp-char")])
def test_a_vocabulary_has_exactly_the_size_that_was_asked_for(name: str) -> None:
    tok = trained(name)
    for size in (tok.n_ids - 1, tok.n_ids - 40, tok.n_ids, tok.n_ids + 5):
        made, ids = resize(tok, size)
        assert made.n_ids == size
        assert (ids >= 0).sum() == min(size, tok.n_ids)
    minimum = 0 if name == "word" else 2
    with pytest.raises(OptionError, match=f"n_ids is {minimum}; it must be "):
        resize(tok, minimum)
    with pytest.raises(OptionError, match="placeholder is 'x'"):
        resize(tok, tok.n_ids + 1, placeholder="x")


def test_a_smaller_merge_list_is_the_one_that_was_trained_to_that_size() -> None:
    small = tokkit.train(iter(corpus()), vocab_size=900, special_tokens=["<|end|>"])
    assert resize(trained("bbpe"), 900).tokenizer.fingerprint() == small.fingerprint()


# ---- embeddings


def test_rows_go_to_their_new_ids() -> None:
    tok = trained("bbpe")
    small, ids = prune(tok, corpus=iter(corpus()[:5]))
    matrix = np.random.default_rng(1).normal(size=(tok.n_ids + 12, 8)).astype(np.float32)
    rows = remap_embeddings(matrix, ids, small.n_ids + 3)
    assert rows.shape == (small.n_ids + 3, 8)
    assert rows.dtype == np.float32
    text = corpus()[2]
    assert np.array_equal(rows[small.encode(text)], matrix[tok.encode(text)])
    kept = matrix[: tok.n_ids][ids >= 0]
    assert np.allclose(rows[-1], kept.mean(axis=0), atol=1e-6)
    assert not remap_embeddings(matrix, ids, small.n_ids + 3, new="zeros")[-3:].any()
    assert (remap_embeddings(matrix, ids, small.n_ids + 1, default=7)[-1] == 7).all()
    assert remap_embeddings(matrix[:, 0], ids).shape == (small.n_ids,)


@pytest.mark.parametrize(
    ("matrix", "ids", "n", "error", "reason"),
    [
        (np.zeros((2, 3)), [0, 1, 2], None, ShapeError, "a row for each of the 3 old ids"),
        (np.zeros((3, 3)), [0.0, 1.0], None, ShapeError, "must be integers"),
        (np.zeros((3, 3)), [0, 2], 2, ShapeError, "n_rows is 2; it must be at least 3"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(
    matrix: np.ndarray, ids: list[float], n: int | None, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        remap_embeddings(matrix, ids, n)
    with pytest.raises(OptionError, match="new is 'x'"):
        remap_embeddings(np.zeros((1, 1)), [0], new="x")


# ---- growing


def naive_extension(words: list[list[bytes]], n: int) -> list[bytes]:
    """Merge the most frequent pair, of equal ones the first in the words, n times; return the tokens."""
    made: list[bytes] = []
    for _ in range(n):
        counts: dict[tuple[bytes, bytes], int] = {}
        for word in words:
            at = 0
            while at + 1 < len(word):
                pair = word[at], word[at + 1]
                counts[pair] = counts.get(pair, 0) + 1
                # "aaa" has the pair once
                at += 2 if word[at] == word[at + 1] and at + 2 < len(word) and word[at + 2] == word[at] else 1
        if not counts:
            break
        best = max(counts.values())
        pair = next(pair for pair in counts if counts[pair] == best)
        made.append(b"".join(pair))
        for word in words:
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == pair:
                    word[at : at + 2] = [b"".join(pair)]
                at += 1
    return made


def test_training_goes_on_with_the_pairs_of_the_tokens_that_there_are() -> None:
    tok = tokkit.train(iter(["low lower lowest new newer wide"] * 9), vocab_size=266, pattern=None)
    text = ["wider widest winter", "window wink", "low window widest"]
    more, ids = extend(tok, iter(text), vocab_size=276)
    words = [[tok.vocab[id_] for id_ in tok.encode(word)] for word in sorted(text)]
    assert [more.vocab[id_] for id_ in range(266, 276)] == naive_extension(words, 10)
    assert ids.tolist() == list(range(266))
    assert [more.vocab[id_] for id_ in range(266)] == list(tok.vocab)


@pytest.mark.parametrize("kind", ["merges", "ranks"])
def test_an_extended_vocabulary_keeps_its_ids_and_needs_fewer_tokens(kind: str, tmp_path: Path) -> None:
    tok = tokkit.train(iter(corpus()[:60]), vocab_size=500, special_tokens=["<|end|>"])
    if kind == "ranks":
        tok.save(tmp_path / "x.tiktoken")
        tok = tokkit.load(tmp_path / "x.tiktoken")
    made = [
        extend(tok, iter(order), vocab_size=900, threads=n).tokenizer
        for order, n in ((corpus(), 1), (corpus()[::-1], 2))
    ]
    assert made[0].fingerprint() == made[1].fingerprint()
    more = made[0]
    assert more.n_ids == 900
    assert list(more.vocab)[:500] == list(tok.vocab)
    assert sum(map(more.count, corpus())) < 0.8 * sum(map(tok.count, corpus()))
    for line in corpus()[:80]:
        pieces = [tok.vocab[id_] for id_ in tok.encode(line)]
        ends = set(np.cumsum([len(more.vocab[id_]) for id_ in more.encode(line)]).tolist())
        assert ends <= set(np.cumsum([len(piece) for piece in pieces]).tolist())  # old tokens, merged further
    more.save(tmp_path / "x.json")
    rival = pytest.importorskip("tokenizers").Tokenizer.from_file(str(tmp_path / "x.json"))
    for line in corpus()[:80]:
        assert rival.encode(line).ids == more.encode(line)
    assert more.encode("<|end|>", special="all") == [0]


def test_what_extend_cannot_do_is_refused() -> None:
    tok = trained("bbpe")
    with pytest.raises(OptionError, match="vocab_size is 3; it must be an int of at least 1500"):
        extend(tok, iter(["a"]), vocab_size=3)
    with pytest.raises(OptionError, match="extend is for byte-level BPE; the model of this tokenizer is WordPiece"):
        extend(trained("wordpiece"), iter(["a"]), vocab_size=5000)
    whole = tokkit.train(iter(["a"]), vocab_size=256, pattern=None)
    whole = add_tokens(whole, [AddedToken("bcd", 256, single_word=True)]).tokenizer
    with pytest.raises(CorpusError, match="the text has b'bcd', which is an added token"):
        extend(whole, iter(["bcda"] * 5), vocab_size=300)
    assert extend(tok, iter(["a"]), vocab_size=1500).tokenizer.fingerprint() == tok.fingerprint()


@pytest.mark.parametrize("kind", ["merges", "ranks"])
def test_two_vocabularies_are_one_with_the_ids_of_the_first(kind: str, tmp_path: Path) -> None:
    english, others = ([line for line in corpus() if line.isascii() == ascii] for ascii in (True, False))
    one = tokkit.train(iter(english), vocab_size=600, special_tokens=["<|a|>"])
    other = tokkit.train(iter(others), vocab_size=900, special_tokens=["<|b|>", "<|a|>"])
    if kind == "ranks":
        one.save(tmp_path / "x.tiktoken")
        one = tokkit.load(tmp_path / "x.tiktoken")
    both, ids, other_ids = merge(one, other)
    assert list(both.vocab)[:600] == list(one.vocab)
    assert ids.tolist() == list(range(600))
    reached = other_ids >= 0
    assert reached.mean() > 0.95
    for id_ in np.flatnonzero(reached).tolist():
        assert both.vocab[int(other_ids[id_])] == other.vocab[id_]
    assert both.special_tokens["<|a|>"] == other_ids[1] == 0
    assert both.special_tokens["<|b|>"] == other_ids[0] == both.n_ids - 1
    assert sum(map(both.count, others)) < 0.8 * sum(map(one.count, others))
    for text in (*corpus()[:50], *(adversarial(seed, 40) for seed in range(30))):
        assert both.decode(both.encode(text)) == text
    both.save(tmp_path / "x.json")
    rival = pytest.importorskip("tokenizers").Tokenizer.from_file(str(tmp_path / "x.json"))
    for line in corpus()[:80]:
        assert rival.encode(line).ids == both.encode(line)
    for token in range(600, both.n_ids - 1):  # each new token is made of its bytes
        assert token in both.definition.model.merges[:, 2] if kind == "merges" else True
