"""GloVe compared with its naive twin: losses, gradients and orders of records; and errors."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference import glove as naive
from tokkit._core.embed.cooccurrence import train_glove
from tokkit._core.text import isas
from tokkit.embeddings import GloVe, SparseMatrix, count_cooccurrence
from tokkit.embeddings import glove as module
from tokkit.embeddings.shuffled_records import RECORD, shuffled_records
from tokkit.embeddings.training_ids import TrainingIds
from tokkit.errors import CorpusError, FormatError, OptionError, ShapeError


def sentences(n: int = 120, n_words: int = 40) -> list[list[str]]:
    draw = random.Random(5)
    return [[f"w{int(n_words * draw.random() ** 2)}" for _ in range(12)] for _ in range(n)]


def counts(n_words: int = 40) -> SparseMatrix:
    return count_cooccurrence(sentences(n_words=n_words), window=4)


def states_of(model: GloVe) -> np.ndarray:
    return model._trained().arrays


def twin_of(model: GloVe) -> naive.Twin:
    """A twin that begins with the vectors of a model."""
    d = model.vector_size
    words, contexts = states_of(model)[:, :, 0].astype(np.float64)
    return naive.Twin(words[:, :d], contexts[:, :d], words[:, d], contexts[:, d + 1])


def pairs_of(records: np.ndarray, matrix: SparseMatrix) -> list[tuple[int, int, float]]:
    return [(int(i), int(j), matrix[int(i), int(j)]) for i, j, _, _ in records]


def test_the_weight_of_a_pair_rises_to_one_at_x_max() -> None:
    assert GloVe().weight([0, 1, 10, 50, 99.99, 100, 1e6]) == pytest.approx(
        [0, 0.01**0.75, 0.1**0.75, 0.5**0.75, 0.9999**0.75, 1, 1], rel=1e-12
    )
    assert naive.weight(50) == pytest.approx(0.5946, abs=1e-4)
    assert GloVe(x_max=10, alpha=0.5).weight(2.5) == 0.5


def test_gradients_of_the_twin_are_finite_differences_of_its_loss() -> None:
    draw = np.random.default_rng(1)
    w, c = draw.standard_normal((2, 6))
    b, b_c, x, f, h = 0.3, -0.2, 7.0, naive.weight(7.0), 1e-6
    found = np.concatenate([np.atleast_1d(part) for part in naive.gradients(w, c, b, b_c, x, f)])

    def at(values: np.ndarray) -> float:
        return naive.loss(values[:6], values[6:12], values[12], values[13], x, f)

    here = np.concatenate([w, c, [b, b_c]])
    differences = [(at(here + h * e) - at(here - h * e)) / (2 * h) for e in np.eye(14)]
    assert np.allclose(found, differences, atol=1e-7)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("d", [1, 14, 15, 31, 100])
def test_losses_and_vectors_are_those_of_the_twin(d: int, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = counts(20)
    model = GloVe(vector_size=d, x_max=10, learning_rate=0.05, threads=1, epochs=3, seed=d)
    orders = []

    def train(records: Any, *others: Any, **options: Any) -> None:
        orders.append(records.view(RECORD).copy())
        train_glove(records, *others, **options, isa=isa)

    monkeypatch.setattr(module, "train_glove", train)
    model._begin(matrix)
    twin = twin_of(model)
    losses = model.train(matrix)
    expected = [twin.epoch(pairs_of(order, matrix), 0.05, x_max=10) for order in orders]
    assert losses == pytest.approx(expected, rel=1e-4)
    assert losses[2] < losses[0]
    assert np.allclose(model.wv.vectors, twin.w + twin.c, atol=1e-4)


def test_large_gradients_are_cut_as_the_twin_cuts_them() -> None:
    matrix = counts()
    model = GloVe(vector_size=4, x_max=1, threads=1, epochs=1)
    model._begin(matrix)
    states_of(model)[:, :, 0, :4] *= 1000
    twin = twin_of(model)
    records = np.concatenate(list(model._records(matrix)))[:50]
    tally = np.zeros(2)
    train_glove(
        records.view(np.uint8),
        *states_of(model),
        np.array([[0.05] * 4 + [1.0] + [0] * 11, [0.05] * 4 + [0, 1.0] + [0] * 10], np.float32),
        tally,
    )
    assert tally[0] == 50
    assert tally[1] / 50 == pytest.approx(twin.epoch(pairs_of(records, matrix), 0.05, x_max=1), rel=1e-4)
    assert np.allclose(model.wv.vectors, twin.w + twin.c, rtol=1e-4)


def test_the_ones_and_what_fills_a_state_up_never_change() -> None:
    model = GloVe(vector_size=5, threads=1, epochs=2)
    model.train(counts())
    words, contexts = states_of(model)
    assert (words[:, 0, 6] == 1).all()
    assert (contexts[:, 0, 5] == 1).all()
    assert not words[:, 0, 7:].any()
    assert states_of(model).ctypes.data % 64 == 0


def test_one_thread_and_one_seed_give_the_same_bits() -> None:
    matrix = counts()
    first, second, other = (GloVe(vector_size=20, threads=1, epochs=3, seed=seed) for seed in (3, 3, 4))
    assert first.train(matrix) == second.train(matrix) != other.train(matrix)
    assert (first.wv.vectors == second.wv.vectors).all()
    assert not (first.wv.vectors == other.wv.vectors).all()


def test_several_threads_reach_the_same_loss() -> None:
    matrix = count_cooccurrence(sentences(900, 400), window=10)
    assert matrix.nnz > 3 * (1 << 12)  # parts of csrc/embed/glove.c
    one, three = (GloVe(vector_size=10, threads=threads, epochs=4) for threads in (1, 3))
    assert three.train(matrix) == pytest.approx(one.train(matrix), rel=0.02)


def test_training_in_blocks_reports_progress_and_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = counts()
    whole = GloVe(vector_size=6, threads=1, epochs=2)
    whole.train(matrix)
    monkeypatch.setattr(module, "BLOCK_RECORDS", 100)
    shown: list[Any] = []
    blocks = GloVe(
        vector_size=6,
        threads=1,
        epochs=2,
        progress=lambda *given: shown.append(given),
        on_epoch=lambda epoch, loss: shown.append((epoch, loss)),
    )
    assert blocks.train(matrix) == pytest.approx(whole.losses, rel=1e-12)
    assert shown[0] == ("train", 100, 2 * matrix.nnz)
    assert shown[-2:] == [("train", 2 * matrix.nnz, 2 * matrix.nnz), (2, blocks.losses[1])]
    assert (blocks.wv.vectors == whole.wv.vectors).all()


def test_training_goes_on_from_where_it_was() -> None:
    matrix = counts()
    model = GloVe(vector_size=10, threads=1, epochs=4)
    model.train(matrix)
    more = model.train(matrix, epochs=2)
    assert len(model.losses) == 6
    assert more[-1] < model.losses[3]
    fewer = matrix.with_data(np.where(matrix.data > 1, matrix.data, 0))
    assert len(model.train(fewer, epochs=1)) == 1
    with pytest.raises(OptionError, match="the words differ from those of the previous training"):
        model.train(count_cooccurrence(["a b"], window=1))


def test_a_saved_model_goes_on_as_if_it_had_not_been_saved(tmp_path: Path) -> None:
    matrix = counts()
    model = GloVe(vector_size=10, x_max=20, learning_rate=0.04, threads=1, epochs=2)
    model.train(matrix)
    model.save(tmp_path / "model")
    loaded = GloVe.load(tmp_path / "model", threads=1)
    assert (loaded.x_max, loaded.learning_rate, loaded.losses) == (20, 0.04, model.losses)
    assert loaded.train(matrix) == model.train(matrix)
    assert (loaded.wv.vectors == model.wv.vectors).all()


def test_training_that_was_interrupted_ends_in_the_same_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK_RECORDS", 100)
    matrix = counts()
    whole = GloVe(vector_size=10, threads=1, epochs=3)
    whole.train(matrix)

    def interrupt(stage: str, done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    broken_off = GloVe(vector_size=10, threads=1, epochs=3, progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        broken_off.train(matrix)
    assert len(broken_off.losses) == 1
    broken_off.save(tmp_path / "model")
    resumed = GloVe.load(tmp_path / "model", threads=1)
    resumed.train(matrix, epochs=2)
    assert (resumed.wv.vectors == whole.wv.vectors).all()
    assert resumed.losses == whole.losses


def test_files_that_are_none_of_ours_are_refused(tmp_path: Path) -> None:
    model = GloVe(vector_size=4, threads=1, epochs=1)
    with pytest.raises(OptionError, match="no vectors yet"):
        model.save(tmp_path / "model")
    model.train(counts())
    state = model._trained()
    state.words = state.words[1:]
    model.save(tmp_path / "model")
    with pytest.raises(FormatError, match=r"states is F32 \(2, 40, 2, 16\); with these words it must be F32 \(2, 39, "):
        GloVe.load(tmp_path / "model")
    state.save(tmp_path / "model", {})
    with pytest.raises(FormatError, match="is not a GloVe model saved by tokkit"):
        GloVe.load(tmp_path / "model")


def test_words_keep_their_counts_and_order(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(" ".join(sentence) for sentence in sentences()), "utf-8")
    model = GloVe(corpus_file=path, vector_size=5, window=3, min_count=20, epochs=1, threads=1)
    assert model.train(count_cooccurrence(sentences(), window=3, min_count=20))
    with TrainingIds.of(sentences(), min_count=20) as ids:
        again = GloVe(ids, vector_size=5, window=3, epochs=1, threads=1)
    assert again.losses[0] == model.losses[0]
    numbers = [model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[-1] >= 20


@pytest.mark.parametrize("max_memory", [1 << 30, 8000, 1])
def test_every_record_comes_once_in_an_order_that_the_seed_draws(max_memory: int) -> None:
    n = 5000
    records = np.zeros(n, RECORD)
    records["word"] = np.arange(n)
    orders = []
    for seed in (1, 1, 2):
        blocks = np.array_split(records, 7)
        with shuffled_records(blocks, n, max_memory, np.random.default_rng(seed)) as made:
            orders.append(made["word"].copy())
    assert (np.sort(orders[0]) == np.arange(n)).all()
    assert (orders[0] == orders[1]).all()
    assert not (orders[0] == orders[2]).all()
    # Of a random order half of all neighbours rise, and places do not go with numbers.
    assert abs((np.diff(orders[0].astype(int)) > 0).mean() - 0.5) < 0.03
    assert abs(np.corrcoef(orders[0], np.arange(n))[0, 1]) < 0.06


def test_records_on_disk_train_as_well_and_leave_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    matrix = counts()
    memory, disk = GloVe(vector_size=9, threads=1, epochs=4), GloVe(vector_size=9, threads=1, epochs=4, max_memory=2000)
    assert disk.train(matrix)[3] == pytest.approx(memory.train(matrix)[3], rel=0.2)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_an_error_and_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource", reason="limits of file sizes are those of POSIX")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    matrix = counts()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match="pairs of words cannot be written to a temporary file in"):
            GloVe(threads=1, max_memory=2000).train(matrix)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not os.listdir(tmp_path)


def test_words_that_share_contexts_become_neighbours() -> None:
    lines = [f"the {who} rules the {what}" for who in ("king", "queen") for what in ("land", "castle", "people")]
    lines += [f"a {who} eats a {what}" for who in ("cat", "dog") for what in ("fish", "bone", "mouse")]
    model = GloVe(lines * 20, vector_size=16, window=4, min_count=1, x_max=10, epochs=200, threads=1)
    assert model.losses[-1] < model.losses[0] / 20
    assert model.wv.similarity("king", "queen") > 0.7 > 0.3 > model.wv.similarity("king", "dog")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vector_size": 0}, "vector_size is 0; it must be a whole number of at least 1"),
        ({"window": 0}, "window is 0"),
        ({"x_max": 0}, "x_max is 0.0; it must be a finite number above 0"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"epochs": 0}, "epochs is 0"),
        ({"learning_rate": -1}, "learning_rate is -1.0"),
        ({"seed": -1}, "seed is -1"),
        ({"threads": 0}, "threads is 0"),
        ({"max_memory": 0}, "max_memory is 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        GloVe(**options)


def test_counts_and_corpora_that_cannot_be_trained_on_are_refused() -> None:
    with pytest.raises(CorpusError, match="the vocabulary has one word, 'a'"):
        GloVe(["a a a"], min_count=1)
    matrix = counts()
    bad = matrix.data.copy()
    bad[3] = np.nan
    with pytest.raises(OptionError, match="counts has nan"):
        GloVe().train(matrix.with_data(bad))
    with pytest.raises(ShapeError, match="the same words"):
        GloVe().train(SparseMatrix(matrix.data, matrix.indices, matrix.indptr, matrix.shape))
    beyond = SparseMatrix(
        matrix.data, matrix.indices + 1, matrix.indptr, matrix.shape, matrix.row_names, matrix.row_names
    )
    with pytest.raises(ShapeError, match="there are 40 columns"):
        GloVe().train(beyond)
    with pytest.raises(OptionError, match="no vectors yet"):
        GloVe().wv  # noqa: B018


def test_training_that_diverges_is_an_error() -> None:
    with np.errstate(all="ignore"), pytest.raises(OptionError, match=r"loss of epoch 1 is (nan|inf); learning_rate"):
        GloVe(learning_rate=1e30, threads=1).train(counts())


def test_the_core_refuses_arrays_that_do_not_fit() -> None:
    rates, states = np.zeros((2, 16), np.float32), np.ones((3, 2, 16), np.float32)
    records, tally = np.zeros(1, RECORD).view(np.uint8), np.zeros(2)
    for given in [
        (records[:-1], states, states, rates, tally),
        (records, states[:, :, :8].copy(), states, rates, tally),
        (records, states, states[:0], rates, tally),
        (records, states, states, rates[:1], tally),
        (records, states[:, :, :8].copy(), states[:, :, :8].copy(), rates[:, :8].copy(), tally),
        (records, states, states, rates, tally[:1]),
    ]:
        with pytest.raises(ValueError, match=r"must be \(|multiple|at least 2"):
            train_glove(*given)
    train_glove(records[:0], states, states, rates, tally)
    assert not tally.any()


def test_sentences_are_not_given_to_train() -> None:
    with pytest.raises(TypeError, match=r"corpus is a list; .* for sentences use GloVe\(sentences\)"):
        GloVe().train([["a", "b"]])
