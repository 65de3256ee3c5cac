"""Vocabularies, sampling and trained vectors, compared with gensim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.extras import extra
from tokkit.embeddings import TrainingIds, Word2Vec

pytestmark = pytest.mark.parity
gensim = extra("gensim.models.word2vec")


def texts(n: int = 300) -> list[list[str]]:
    rng = np.random.default_rng(0)
    return [[f"w{int(word)}" for word in rng.zipf(1.4, 12).clip(0, 400)] for _ in range(n)]


@pytest.mark.parametrize(
    "options",
    [{"min_count": 1}, {"min_count": 3, "sample": 0.01}, {"max_final_vocab": 50, "sample": 20}, {"sorted_vocab": 0}],
)
def test_words_their_order_and_sampling_are_gensims(options: dict[str, Any]) -> None:
    theirs, ours = gensim.Word2Vec(**options), Word2Vec(**options)
    for model in (theirs, ours):
        model.build_vocab(texts())
    assert ours.wv.index_to_key == theirs.wv.index_to_key
    assert (ours.corpus_count, ours.corpus_total_words) == (theirs.corpus_count, theirs.corpus_total_words)
    assert [ours.wv.get_vecattr(w, "count") for w in ours.wv.index_to_key] == [
        theirs.wv.get_vecattr(w, "count") for w in theirs.wv.index_to_key
    ]
    assert ours.vocabulary is not None
    kept = ours.vocabulary.keep_probabilities(ours.sample) * ((1 << 32) - 1)
    np.testing.assert_allclose(kept.astype(np.uint32), theirs.wv.expandos["sample_int"], rtol=1e-9)


def test_updates_add_gensims_words() -> None:
    theirs, ours = gensim.Word2Vec(min_count=2), Word2Vec(min_count=2)
    for model in (theirs, ours):
        model.build_vocab(texts(50))
        model.build_vocab(texts(300)[50:], update=True)
    assert ours.wv.index_to_key == theirs.wv.index_to_key
    assert ours.wv.get_vecattr("w1", "count") == theirs.wv.get_vecattr("w1", "count")


def test_lines_of_files_are_gensims_sentences(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("a\u00a0b\x1fc\u3000d\r\n\n" + "x y " * 12_000 + "\n e\u2028f", "utf-8")
    expected = list(gensim.LineSentence(str(path)))
    with TrainingIds.of(corpus_file=path, min_count=1) as ids:
        found = [[ids.vocabulary.words[i] for i in sentence] for sentence in ids.sentences()]
    assert found == expected


@pytest.mark.parametrize("options", [{"sg": 1}, {}, {"sg": 1, "hs": 1, "negative": 0}, {"cbow_mean": 0, "hs": 1}])
def test_losses_are_gensims_but_for_its_table(options: dict[str, Any]) -> None:
    """Means of 20 epochs, because random numbers differ; one at a time, because gensim adds losses in float32.

    gensim 4 looks σ up in a table of 1,000 values from -6 to 6 at 83 · (x + 6), not at 83.33 · (x + 6): it reads what
    stands for about x - 0.026, and its losses are some 2 % too high.
    """
    at_zero = float(np.log1p(np.exp(6 - 498 * 12 / 1000)) / np.log(2))
    chosen: dict[str, Any] = {"vector_size": 20, "min_count": 1, "workers": 1, "sample": 0, **options}
    means = []
    for kind in (gensim.Word2Vec, Word2Vec):
        model, losses = kind(**chosen), []
        model.build_vocab(texts())
        for _ in range(20):
            words = model.train(
                texts(), total_examples=300, epochs=1, start_alpha=0.05, end_alpha=0.05, compute_loss=True
            )
            losses.append(model.get_latest_training_loss() / words[0])
        means.append(np.mean(losses))
    assert means[0] / means[1] == pytest.approx(at_zero, abs=0.01)
