"""Word2Vec as in gensim: training, resuming, growing and saving models, and the quality of the vectors."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from tokkit._core.embed.word2vec import Word2VecTraining
from tokkit.embeddings import TrainingIds, Word2Vec, training_pairs
from tokkit.embeddings.word2vec_training import TrainingProgress
from tokkit.errors import CorpusError, FormatError, OptionError

FAST: dict[str, Any] = {"vector_size": 12, "window": 2, "min_count": 1, "workers": 1}


def groups(n: int = 400, seed: int = 0) -> list[list[str]]:
    """Sentences of five words, each sentence of one of two groups of ten words."""
    rng = np.random.default_rng(seed)
    return [[f"{group}{i}" for i in rng.integers(0, 10, 5)] for group in rng.choice(["a", "b"], n)]


def separation(model: Word2Vec) -> float:
    """Mean cosine within a group, less that between groups."""
    unit = model.wv.vectors / np.linalg.norm(model.wv.vectors, axis=1, keepdims=True)
    first = np.array([word[0] == "a" for word in model.wv.index_to_key])
    cosines, same = unit @ unit.T, first[:, None] == first
    return float(cosines[same].mean() - cosines[~same].mean())


@pytest.mark.parametrize(
    "options",
    [{"sg": 1}, {"sg": 1, "batched": True}, {"sg": 0}, {"sg": 1, "hs": 1, "negative": 0}, {"hs": 1}],
)
def test_words_of_like_contexts_get_like_vectors(options: dict[str, Any]) -> None:
    model = Word2Vec(groups(2000), alpha=0.1, epochs=15, sample=0, compute_loss=True, **FAST, **options)
    assert separation(model) > 0.5
    assert np.isfinite(model.get_latest_training_loss())
    assert all(word[0] == "a" for word, _ in model.wv.most_similar("a3", topn=5))


def test_one_seed_gives_one_result_and_another_seed_another() -> None:
    first, same, other = (Word2Vec(groups(), seed=seed, **FAST).wv.vectors for seed in (1, 1, 2))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_texts_files_and_ids_give_the_same_vectors(tmp_path: Path) -> None:
    sentences = groups()
    (tmp_path / "t").write_text("\n".join(" ".join(words) for words in sentences))
    expected = Word2Vec(sentences, **FAST)
    with TrainingIds.of(corpus_file=tmp_path / "t", min_count=1) as ids:
        models = [
            Word2Vec((" ".join(words) for words in sentences), **FAST),
            Word2Vec(corpus_file=tmp_path / "t", **FAST),
            Word2Vec(ids, **FAST),
        ]
    apart = Word2Vec(**FAST)
    apart.build_vocab(corpus_file=tmp_path / "t")
    assert apart.train(sentences, total_examples=apart.corpus_count, epochs=apart.epochs) == (
        apart.schedule.trained_words if apart.schedule else None,
        5 * 2000,
    )
    for model in [*models, apart]:
        assert model.wv.index_to_key == expected.wv.index_to_key
        assert np.array_equal(model.wv.vectors, expected.wv.vectors)
    assert (apart.corpus_count, apart.corpus_total_words, apart.window) == (400, 2000, 2)


def test_a_tokenizers_tokens_get_vectors() -> None:
    tokenizer = tokkit.train(iter([" ".join(words) for words in groups()]), vocab_size=300)
    model = Word2Vec((" ".join(words) for words in groups()), tokenizer=tokenizer, **FAST)
    assert any(key.startswith(" ") for key in model.wv.index_to_key)


def test_the_learning_rate_falls_over_all_epochs() -> None:
    still = Word2Vec(**FAST)
    still.build_vocab(groups())
    before = still.wv.vectors.copy()
    still.train(groups(), epochs=3, start_alpha=0, end_alpha=0)
    assert np.array_equal(still.wv.vectors, before)
    assert np.abs(before).max() <= 1 / 12
    still.train(groups(), epochs=1)
    assert not np.array_equal(still.wv.vectors, before)


def test_callbacks_and_progress_are_called() -> None:
    calls: list[str] = []

    class Callback:
        def on_train_begin(self, model: Word2Vec) -> None:
            calls.append("begin")

        def on_epoch_end(self, model: Word2Vec) -> None:
            calls.append(f"epoch {model.epochs_trained}")

    seen: list[TrainingProgress] = []
    model = Word2Vec(groups(), epochs=2, callbacks=[Callback()], progress=seen.append, compute_loss=True, **FAST)
    assert calls == ["begin", "epoch 1", "epoch 2"]
    assert (seen[-1].epoch, seen[-1].epochs, seen[-1].words, seen[-1].total_words) == (2, 2, 4000, 4000)
    loss = seen[-1].loss
    assert loss is not None
    assert 0 < loss < 6 * np.log(2) + 0.1
    assert model.running_training_loss > 0


def stop_after(n: int) -> Any:
    """Progress that interrupts in the second epoch."""

    def report(progress: TrainingProgress) -> None:
        if progress.words >= n:
            raise KeyboardInterrupt

    return report


@pytest.mark.parametrize("options", [{"sg": 1}, {"hs": 1, "negative": 0}])
def test_an_interrupted_training_is_resumed_from_its_file_to_the_same_bits(
    options: dict[str, Any], tmp_path: Path
) -> None:
    sentences = groups(30_000)
    with TrainingIds.of(sentences, min_count=1) as ids:
        whole = Word2Vec(ids, epochs=2, **FAST, **options)
        model = Word2Vec(epochs=2, **FAST, **options)
        model.build_vocab(ids)
        with pytest.raises(KeyboardInterrupt):
            model.train(ids, progress=stop_after(len(ids) + 10_000))
        model.save(tmp_path / "model.safetensors")
        again = Word2Vec.load(tmp_path / "model.safetensors", workers=1)
        assert again.schedule is not None
        assert again.schedule.epoch == 1
        assert 0 < again.schedule.sentence < ids.n_sentences
        again.train(ids, resume=True)
        assert np.array_equal(again.wv.vectors, whole.wv.vectors)
        assert again.epochs_trained == 2
        fresh = Word2Vec(**FAST)
        fresh.build_vocab(ids)
        with pytest.raises(OptionError, match="no training was interrupted"):
            fresh.train(ids, resume=True)


def test_a_slice_that_ended_counts_though_an_interrupt_came_during_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(Word2VecTraining):
        def run(self, *arguments: Any, **options: Any) -> tuple[int, float]:
            super().run(*arguments, **options)
            raise KeyboardInterrupt

    with TrainingIds.of(groups(10_000), min_count=1) as ids:
        whole = Word2Vec(ids, epochs=1, **FAST)
        model = Word2Vec(epochs=1, **FAST)
        model.build_vocab(ids)
        with monkeypatch.context() as patch:
            patch.setattr("tokkit.embeddings.word2vec.Word2VecTraining", Interrupted)
            with pytest.raises(KeyboardInterrupt):
                model.train(ids)
        assert model.schedule is not None
        assert 0 < model.schedule.sentence < ids.n_sentences
        assert model.train(ids, resume=True)[0] < model.schedule.trained_words
        assert np.array_equal(model.wv.vectors, whole.wv.vectors)


def test_ctrl_c_ends_training_within_a_slice() -> None:
    sentences = groups(20_000)
    model = Word2Vec(**FAST)
    model.build_vocab(sentences)
    calls = []

    def interrupt(progress: TrainingProgress) -> None:
        calls.append(progress)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        model.train(sentences, epochs=50, progress=interrupt)
    assert len(calls) == 1


def test_more_words_are_added_and_what_was_learnt_is_kept() -> None:
    model = Word2Vec(groups(), hs=1, **FAST)
    before, names = model.wv.vectors.copy(), list(model.wv.index_to_key)
    model.build_vocab([["c1", "a1"], ["c1", "c2"]], update=True)
    assert model.wv.index_to_key == [*names, "c1", "c2"]
    assert np.array_equal(model.wv.vectors[:20], before)
    assert model.syn1neg is not None
    assert model.syn1 is not None
    assert (model.syn1neg.shape, model.syn1.shape) == ((22, 12), (21, 12))
    model.train([["c1", "a1", "c2"]] * 50, epochs=1)
    assert not np.array_equal(model.wv.vectors[20:], before[:2])
    with pytest.raises(OptionError, match="no vocabulary to update"):
        Word2Vec(**FAST).build_vocab([["a"]], update=True)


def test_models_are_saved_whole_without_pickle(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    model = Word2Vec(groups(), hs=1, **FAST)
    model.save(path)
    again = Word2Vec.load(path, workers=1)
    assert again.options == model.options
    assert again.wv.index_to_key == model.wv.index_to_key
    for name in ("syn1neg", "syn1"):
        assert np.array_equal(getattr(again, name), getattr(model, name))
    model.train(groups(), epochs=1)
    again.train(groups(), epochs=1)
    assert np.array_equal(again.wv.vectors, model.wv.vectors)
    (tmp_path / "pickle").write_bytes(b"\x80\x04N.")
    with pytest.raises(FormatError, match="save_word2vec_format"):
        Word2Vec.load(tmp_path / "pickle")
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(FormatError):
        Word2Vec.load(path)
    from tokkit.files.safetensors import write_safetensors

    write_safetensors(path, {"vectors": np.zeros((2, 3), np.float32)})
    with pytest.raises(FormatError, match="not a word2vec model"):
        Word2Vec.load(path)


def test_wrong_options_and_corpora_say_what_would_be_right() -> None:
    for options, message in (
        ({"window": 0}, "window is 0; it must be an int of at least 1"),
        ({"vector_size": 0}, "vector_size is 0; it must be an int of at least 1"),
        ({"vector_size": 2.5}, "vector_size is 2.5"),
        ({"alpha": float("nan")}, "alpha is nan; it must be a number"),
        ({"sg": 2}, "sg is 2; it must be 0 or 1"),
        ({"negative": 0}, "nothing is trained"),
        ({"batched": True}, "batched=True needs skip-gram"),
        ({"workers": 0}, "workers is 0; it must be an int of at least 1"),
    ):
        with pytest.raises(OptionError, match=message):
            Word2Vec(**options)  # type: ignore[arg-type]
    with pytest.raises(CorpusError, match="the vocabulary has one word, 'a'"):
        Word2Vec([["a", "a"]], min_count=1)
    with pytest.raises(CorpusError, match="no word occurs at least 5 times"):
        Word2Vec([["a", "b"]])
    with pytest.raises(OptionError, match="call build_vocab before train"):
        Word2Vec().train([["a"]])
    model = Word2Vec(groups(), **FAST)
    with TrainingIds.of([["x", "y"]], min_count=1) as ids, pytest.raises(OptionError, match="another vocabulary"):
        model.train(ids)
    with pytest.warns(RuntimeWarning, match="not finite"):
        Word2Vec(groups(), alpha=1e30, min_alpha=1e30, **FAST)


def test_the_word_between_others_is_predicted() -> None:
    model = Word2Vec(groups(2000), alpha=0.1, sample=0, **FAST)
    found = model.predict_output_word(["a1", "a2", "unknown"], topn=20)
    assert found is not None
    assert sum(chance for _, chance in found) == pytest.approx(1)
    assert {word[0] for word, _ in found[:9]} == {"a"}
    assert model.predict_output_word(["unknown"]) is None


def test_training_pairs_are_those_of_the_literature() -> None:
    words = ["the", "quick", "brown", "fox", "jumps"]
    assert training_pairs(words, 1, sg=1, borders=False) == [
        ("quick", "the"), ("quick", "brown"), ("brown", "quick"), ("brown", "fox"), ("fox", "brown"), ("fox", "jumps"),
    ]  # fmt: skip
    assert training_pairs(words, 1, borders=False) == [
        (("the", "brown"), "quick"), (("quick", "fox"), "brown"), (("brown", "jumps"), "fox"),
    ]  # fmt: skip
    assert training_pairs(words, 1)[0] == (("quick",), "the")
    assert len(training_pairs(words, 2, sg=1)) == 14
    assert training_pairs(["a"], 3) == []
    with pytest.raises(OptionError):
        training_pairs("the quick")
