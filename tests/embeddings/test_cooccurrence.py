"""Co-occurrence counts, in memory and on disk, compared with a naive twin."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference.cooccurrence import cooccurrence as naive
from tokkit._core.embed.cooccurrence import ContextRows, MergedRows
from tokkit.embeddings import SparseMatrix, count_cooccurrence
from tokkit.embeddings import cooccurrence as counting
from tokkit.embeddings.training_ids import TrainingIds
from tokkit.errors import CorpusError, OptionError, VocabError


def as_dict(counts: SparseMatrix) -> dict[tuple[str, str], float]:
    names = counts.row_names or ()
    rows, values = counts.row_numbers().tolist(), counts.data.tolist()
    places = zip(rows, counts.indices.tolist(), values, strict=True)
    return {(names[row], names[column]): value for row, column, value in places}


def drawn_sentences(seed: int, n: int, longest: int, n_words: int = 90) -> list[list[str]]:
    """Sentences whose words are as uneven as those of texts."""
    draw = random.Random(seed)
    return [[f"w{int(n_words * draw.random() ** 3)}" for _ in range(draw.randint(0, longest))] for _ in range(n)]


def test_windows_of_two_and_five_by_hand() -> None:
    sentence = ["the", "quick", "brown", "fox", "jumps"]
    two = count_cooccurrence([sentence], window=2)
    assert two["the", "quick"] == 1
    assert two["the", "brown"] == 0.5
    assert two["the", "fox"] == 0
    assert two.sum() == 2 * (4 * 1 + 3 * 0.5)
    five = count_cooccurrence([sentence], window=5)
    assert [five["the", word] for word in sentence] == [0, 1, 1 / 2, 1 / 3, 1 / 4]
    assert five.sum() == pytest.approx(2 * (4 + 3 / 2 + 2 / 3 + 1 / 4), rel=1e-12)
    assert count_cooccurrence([sentence], window=5, distance_weights=False)["the", "jumps"] == 1


@pytest.mark.parametrize("distance_weights", [True, False])
@pytest.mark.parametrize("contexts", ["both", "before", "after"])
@pytest.mark.parametrize("window", [1, 2, 10])
def test_counts_are_those_of_the_naive_twin(window: int, contexts: str, distance_weights: bool) -> None:
    sentences = drawn_sentences(window, 60, 30)
    found = count_cooccurrence(sentences, window=window, contexts=contexts, distance_weights=distance_weights)
    assert as_dict(found) == pytest.approx(naive(sentences, window, contexts, distance_weights), rel=1e-12)


def test_one_side_is_the_other_transposed_and_both_are_their_sum() -> None:
    sentences = drawn_sentences(7, 50, 20)
    both, before, after = (
        count_cooccurrence(sentences, window=4, contexts=side).to_dense() for side in ("both", "before", "after")
    )
    assert np.allclose(before, after.T, rtol=1e-12)
    assert np.allclose(both, before + after, rtol=1e-12)


def test_columns_of_a_row_rise_and_nothing_stored_is_zero() -> None:
    counts = count_cooccurrence(drawn_sentences(1, 80, 40, n_words=5000), window=3)
    assert counts.shape[0] > 400
    for i in range(counts.shape[0]):
        columns, values = counts.row(i)
        assert (np.diff(columns) > 0).all()
        assert (values > 0).all()


def test_rare_words_are_left_out_before_distances_are_taken() -> None:
    counts = count_cooccurrence(["a rare b", "a b"], window=1, min_count=2)
    assert as_dict(counts) == {("a", "b"): 2.0, ("b", "a"): 2.0}


@pytest.mark.parametrize("longest", [3, 40, 3000])
def test_chunks_on_disk_give_the_same_counts(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of sentences that are longer than a chunk, and of results that do not fit into memory."""
    sentences = drawn_sentences(longest, 6000 // longest, longest)
    whole = count_cooccurrence(sentences, window=7)
    monkeypatch.setattr(counting, "MIN_CHUNK_WORDS", 100)
    monkeypatch.setattr(counting, "BUFFER_ENTRIES", 1)
    chunks: list[int] = []
    parts = count_cooccurrence(sentences, window=7, max_memory=1, progress=lambda _, done, total: chunks.append(done))
    assert len(chunks) > 20
    assert isinstance(parts.data.base, np.memmap)
    assert (parts.indptr == whole.indptr).all()
    assert (parts.indices == whole.indices).all()
    assert np.allclose(parts.data, whole.data, rtol=1e-12)


def test_ids_that_were_read_before_are_counted_and_stay_open() -> None:
    with TrainingIds.of(["a b", "b a"], min_count=1) as corpus:
        assert count_cooccurrence(corpus, window=1)["a", "b"] == 2
        assert len(corpus.ids) == 4


def names_of_files(folder: Path) -> list[str]:
    return [name for _, _, names in os.walk(folder) for name in names]


@pytest.fixture
def spilled_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that temporary files go to, chunk by chunk."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(counting, "MIN_CHUNK_WORDS", 1000)
    return tmp_path


def test_a_full_disk_is_an_error_and_leaves_no_files(spilled_to: Path) -> None:
    resource = pytest.importorskip("resource", reason="limits of file sizes are those of POSIX")
    with TrainingIds.of(drawn_sentences(3, 300, 20), min_count=1) as corpus:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
        try:
            with pytest.raises(
                OSError, match=r"co-occurrence counts cannot be written to a temporary file in .*: File"
            ):
                count_cooccurrence(corpus, window=5, max_memory=1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not names_of_files(spilled_to)


@pytest.mark.skipif(os.name != "posix", reason="only there a file without a name can be written")
def test_temporary_files_have_no_name_while_they_are_in_use(spilled_to: Path) -> None:
    seen = []
    with TrainingIds.of(drawn_sentences(3, 300, 20), min_count=1) as corpus:
        counts = count_cooccurrence(
            corpus, window=5, max_memory=1, progress=lambda *_: seen.append(names_of_files(spilled_to))
        )
        seen.append(names_of_files(spilled_to))
        assert counts.nnz > 100
    assert len(seen) > 2
    assert not any(seen)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "window is 0; it must be a whole number of at least 1"),
        ({"window": 2.5}, "window is 2.5"),
        ({"contexts": "left"}, "contexts is 'left'; it must be one of both, before, after"),
        ({"max_memory": 0}, "max_memory is 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        count_cooccurrence(["a b"], **options)


def test_a_vocabulary_of_one_word_is_refused() -> None:
    with pytest.raises(CorpusError, match="the vocabulary has one word, 'a'"):
        count_cooccurrence(["a a a"], window=2)
    with pytest.raises(CorpusError, match="no word occurs at least 9 times"):
        count_cooccurrence(["a b"], min_count=9)


def test_names_and_numbers_that_are_unknown_are_errors() -> None:
    counts = count_cooccurrence(["a b"], window=1)
    with pytest.raises(VocabError, match="there is no row named 'c'"):
        counts["c", "a"]
    with pytest.raises(VocabError, match="there is no column 2; the last is 1"):
        counts["a", 2]


def test_the_core_refuses_arrays_that_do_not_fit() -> None:
    ids, ends, weights = np.array([0, 1, 2], np.uint32), np.array([3]), np.ones(2)
    for n, given, stops, first, last, before in [
        (2, ids, ends, 0, 3, 1),  # an id too large
        (3, ids, np.array([2]), 0, 3, 1),  # a sentence that ends too early
        (3, ids, np.array([4]), 0, 3, 1),
        (3, ids, np.array([2, 1, 3]), 0, 3, 1),
        (3, ids, ends, 2, 1, 1),
        (3, ids, ends, 0, 4, 1),
        (3, ids, ends, 0, 3, 3),  # more window than weights
        (3, ids[:0], ends, 0, 0, 1),
    ]:
        with pytest.raises(ValueError, match=r"\w"):
            ContextRows(n, given, stops, first, last, weights, before, 1)
    rows = ContextRows(3, ids, ends, 0, 3, weights, 1, 1)
    with pytest.raises(ValueError, match="both must have the same number"):
        rows.fill(0, np.empty(2, np.int32), np.empty(2), np.empty(3, np.int64))
    with pytest.raises(ValueError, match="begin is 3"):
        rows.fill(3, np.empty(3, np.int32), np.empty(3), np.empty(3, np.int64))
    with pytest.raises(ValueError, match="a matrix has"):
        MergedRows(2, [(np.array([0, 1, 2]), np.array([0], np.int32), np.ones(1))])
