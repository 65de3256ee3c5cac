"""Corpora become ids of a vocabulary, from lists, texts and files, by words and by tokenizers."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

import tokkit
from tokkit import limits
from tokkit.embeddings import counted_sentences
from tokkit.embeddings.counted_sentences import CountedSentences
from tokkit.embeddings.training_ids import TrainingIds
from tokkit.embeddings.vocabulary import Vocabulary
from tokkit.errors import CorpusError, FormatError, OptionError

SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2005\u200a\u2028\u2029\u202f\u205f\u3000"


def sentences_of(ids: TrainingIds) -> list[list[str]]:
    return [[ids.vocabulary.words[i] for i in sentence] for sentence in ids.sentences()]


def test_lists_texts_and_files_give_the_same_ids(tmp_path: Path) -> None:
    lines = ["the cat sat", "", "the  dog ran\t", "a cat ran", "é"]
    (tmp_path / "a.txt").write_text("\n".join(lines), "utf-8")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress("\r\n".join(lines).encode()))
    expected = [["the", "cat"], ["the", "ran"], ["cat", "ran"]]
    for given in (
        {"sentences": [line.split() for line in lines]},
        {"sentences": iter(lines)},
        {"corpus_file": tmp_path / "a.txt"},
        {"corpus_file": tmp_path / "b.txt.gz"},
    ):
        with TrainingIds.of(**given, min_count=2) as ids:  # type: ignore[arg-type]
            assert sentences_of(ids) == expected
            assert ids.n_words == 10
            assert (len(ids), ids.n_sentences) == (6, 3)
    with TrainingIds.of(corpus_file=[tmp_path / "a.txt", tmp_path / "b.txt.gz"], min_count=4) as ids:
        assert sentences_of(ids) == expected * 2


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 20])
def test_files_are_split_as_str_split_does_wherever_blocks_end(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(block)
    letters = [*"ab", "é", "語", "😀", "\u200b", "\ufeff", *SPACES, *" \n" * 8]
    text = "".join(rng.choice(letters, 3000))
    (tmp_path / "t").write_bytes(b"\xef\xbb\xbf" + text.encode())
    monkeypatch.setattr(counted_sentences, "BLOCK_BYTES", block)
    expected = [line.split() for line in text.split("\n") if line.split()]
    with TrainingIds.of(corpus_file=tmp_path / "t", min_count=1) as ids:
        assert sentences_of(ids) == expected


def test_long_lines_are_cut_at_ten_thousand_words(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a b " * 12_500 + "\n" + "a " * 10_000 + "\nb")
    with TrainingIds.of(corpus_file=tmp_path / "t") as ids:
        assert np.diff(ids.ends, prepend=0).tolist() == [10_000, 10_000, 5_000, 10_000, 1]
    with TrainingIds.of([["a"] * 7], min_count=1, max_sentence_words=3) as ids:
        assert ids.ends.tolist() == [3, 6, 7]


def test_tokens_of_a_tokenizer_are_words(tmp_path: Path) -> None:
    tokenizer = tokkit.train(iter(["the cat sat on the mat é"] * 9), vocab_size=270)
    lines = ["the cat sat", "on the mat", "", "é \U0001f600"]
    (tmp_path / "t").write_text("\n".join(lines), "utf-8")
    for given in ({"sentences": lines}, {"corpus_file": tmp_path / "t"}):
        with TrainingIds.of(**given, tokenizer=tokenizer, min_count=1) as ids:  # type: ignore[arg-type]
            found = sentences_of(ids)
        assert ["".join(words) for words in found][:2] == lines[:2]
        assert [len(words) for words in found] == [len(tokenizer.encode(line)) for line in lines if line]
        assert "\\xf0" in found[-1]  # a byte that is no text alone
    with pytest.raises(CorpusError, match="sentence 1 is list; with a tokenizer it must be a text"):
        TrainingIds.of([["a"]], tokenizer=tokenizer)


def test_a_given_vocabulary_drops_what_it_has_not() -> None:
    vocabulary = Vocabulary.of(["x", "y"], [1, 2])
    with TrainingIds.of(["x z y", "z", "y"], vocabulary=vocabulary) as ids:
        assert sentences_of(ids) == [["x", "y"], ["y"]]
    with pytest.raises(CorpusError, match="none of the 1 words of the sentences is in the vocabulary"):
        TrainingIds.of(["z"], vocabulary=vocabulary)


def test_ids_are_kept_by_cache_and_made_anew_where_the_corpus_or_options_changed(tmp_path: Path) -> None:
    corpus, cache = tmp_path / "t", tmp_path / "ids"
    corpus.write_text("b a\nb c b\n")
    with TrainingIds.of(corpus_file=corpus, min_count=1, cache=cache) as ids:
        assert sentences_of(ids) == [["b", "a"], ["b", "c", "b"]]
    made = os.stat(cache).st_mtime_ns, os.stat(cache).st_ino
    with TrainingIds.of(corpus_file=corpus, min_count=1, cache=cache) as ids, TrainingIds.open(cache) as opened:
        assert sentences_of(ids) == sentences_of(opened) == [["b", "a"], ["b", "c", "b"]]
        assert ids.n_words == 5
    assert (os.stat(cache).st_mtime_ns, os.stat(cache).st_ino) == made
    with TrainingIds.of(corpus_file=corpus, min_count=2, cache=cache) as ids:
        assert sentences_of(ids) == [["b"], ["b", "b"]]
    corpus.write_text("d")
    with TrainingIds.of(corpus_file=corpus, min_count=1, cache=cache) as ids:
        assert sentences_of(ids) == [["d"]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ids", "t"]


def test_files_that_are_no_caches_are_refused(tmp_path: Path) -> None:
    cache = tmp_path / "ids"
    TrainingIds.of(["a b a"], min_count=1, cache=cache).close()
    whole = cache.read_bytes()
    for broken in (b"", b"text", whole[:-1], whole[8:], whole[-60:], whole.replace(b'"n_ids": 3', b'"n_ids": 2')):
        cache.write_bytes(broken)
        with pytest.raises(FormatError):
            TrainingIds.open(cache)
    ids = bytearray(whole)
    ids[8:12] = (2).to_bytes(4, "little")  # of two words
    cache.write_bytes(ids)
    with pytest.raises(FormatError, match="do not match"):
        TrainingIds.open(cache)


def test_corpora_that_cannot_be_read_are_errors(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"abc d\xff e\n" * 3)
    (tmp_path / "cut").write_bytes("abc é".encode()[:-1])
    (tmp_path / "empty").write_bytes(b" \n\n")
    with pytest.raises(CorpusError, match=r"byte 5 \(0xff\) is not UTF-8"):
        TrainingIds.of(corpus_file=tmp_path / "bad")
    with pytest.raises(CorpusError, match=r"byte 4 \(0xc3\) is not UTF-8"):
        TrainingIds.of(corpus_file=tmp_path / "cut")
    with pytest.raises(CorpusError, match="have no words"):
        TrainingIds.of(corpus_file=tmp_path / "empty")
    with pytest.raises(CorpusError, match="sentence 2: it is int"):
        TrainingIds.of([["a"], 5])
    with pytest.raises(CorpusError, match="sentence 1: a word is int; it must be str"):
        TrainingIds.of([[3]])
    with pytest.raises(CorpusError, match=r"sentence 1: .*surrogates not allowed"):
        TrainingIds.of([["\ud800"]])
    for given in ({}, {"sentences": [], "corpus_file": "x"}):
        with pytest.raises(OptionError):
            TrainingIds.of(**given)
    with pytest.raises(TypeError, match="corpus_file=… reads a file"):
        TrainingIds.of("a text")
    (tmp_path / "long").write_bytes(b"a" * 5000)
    with limits.using(held_bytes=1000), pytest.raises(CorpusError, match="held_bytes"):
        TrainingIds.of(corpus_file=tmp_path / "long")


def test_a_full_disk_is_an_error_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    monkeypatch.setattr(counted_sentences.tempfile, "tempdir", str(tmp_path))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    words = [[str(i)] for i in range(30_000)]
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
        with pytest.raises(OSError, match="the ids of the corpus cannot be written to a temporary file in"):
            TrainingIds.of(words, min_count=1)
        resource.setrlimit(resource.RLIMIT_FSIZE, (250_000, before[1]))
        with pytest.raises(OSError, match=r"cannot be written to .*cache\.part"):
            TrainingIds.of(words, min_count=1, cache=tmp_path / "cache")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert not list(tmp_path.iterdir())


def test_counted_sentences_close_twice() -> None:
    counted = CountedSentences.of(["a"])
    counted.close()
    counted.close()
