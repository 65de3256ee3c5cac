"""FastText: training, vectors of unknown words, subwords, files, and errors."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from reference import fasttext as twin
from tokkit.embeddings import FastText, KeyedVectors, word2vec_training
from tokkit.embeddings.fasttext import load_facebook_model, load_facebook_vectors
from tokkit.embeddings.fasttext_rows import character_ngrams
from tokkit.embeddings.fasttext_supervised import TextClassifier
from tokkit.embeddings.training_ids import TrainingIds
from tokkit.embeddings.word2vec_training import TrainingProgress
from tokkit.errors import CorpusError, FormatError, OptionError

OPTIONS: dict[str, Any] = {"vector_size": 16, "window": 3, "min_count": 1, "bucket": 3000, "workers": 1, "sample": 0}


def sentences(n: int = 300) -> list[list[str]]:
    """Sentences of two topics; inflected words stand where their stems do."""
    draw = random.Random(0)
    topics = [text.split() for text in ("cat cats dog dogs barking purring", "sail sails mast masts sailing deck")]
    return [draw.choices(draw.choice(topics), k=8) for _ in range(n)]


def model(**options: Any) -> FastText:
    return FastText(sentences(), **OPTIONS | options)


@pytest.mark.parametrize("sg", [0, 1])
@pytest.mark.parametrize("objective", [{}, {"hs": 1, "negative": 0}, {"hs": 1}])
def test_words_of_a_topic_are_neighbours(sg: int, objective: dict[str, int]) -> None:
    trained = model(sg=sg, epochs=15, alpha=0.1, **objective)
    near = [word for word, _ in trained.wv.most_similar("dog", topn=5)]
    assert set(near) == {"cat", "cats", "dogs", "barking", "purring"}
    assert trained.wv.similarity("dogging", "dog") > trained.wv.similarity("dogging", "deck")


def test_one_thread_and_one_seed_give_the_same_bits() -> None:
    made = [model(seed=seed, sg=1, epochs=2).data for seed in (1, 1, 2)]
    assert np.array_equal(made[0].input, made[1].input)
    assert np.array_equal(made[0].output, made[1].output)
    assert not np.array_equal(made[0].input, made[2].input)


def test_threads_train_all_sentences() -> None:
    trained = model(workers=3, sg=1, epochs=10, alpha=0.1)
    assert trained.wv.similarity("cat", "dog") > trained.wv.similarity("cat", "mast") + 0.3


def test_the_loss_falls() -> None:
    trained = FastText(**OPTIONS | {"sg": 1})
    trained.build_vocab(sentences())
    losses = []
    for _ in range(3):
        trained.train(sentences(), epochs=1, start_alpha=0.01, end_alpha=0.01)
        losses.append(trained.mean_loss)
    assert losses[0] > losses[1] > losses[2]
    assert trained.epochs_trained == 3


def test_the_ngrams_of_apple_are_those_of_the_literature() -> None:
    assert character_ngrams("apple", 3, 3) == ["<ap", "app", "ppl", "ple", "le>"]
    assert character_ngrams("apple", 3, 6) == [
        "<ap", "<app", "<appl", "<apple", "app", "appl", "apple", "apple>", "ppl", "pple", "pple>", "ple", "ple>",
        "le>",
    ]  # fmt: skip
    assert character_ngrams("é", 1, 2) == ["<é", "é", "é>"]


def test_a_vector_is_the_mean_of_the_rows_of_a_word_and_its_ngrams() -> None:
    trained = model(min_n=2, max_n=4, epochs=1)
    matrix, n = np.asarray(trained.data.whole().input), len(trained.wv)
    for word in ("cat", "unknown", "日本"):
        own = [trained.wv.key_to_index[word]] if word in trained.wv.key_to_index else []
        rows = [*own, *(n + bucket for bucket in twin.ngram_buckets(word, 2, 4, 3000))]
        np.testing.assert_allclose(trained.wv[word], matrix[rows].mean(0), atol=1e-6)
        names, vectors = trained.wv.subword_vectors(word)
        assert names == character_ngrams(word, 2, 4)
        assert np.array_equal(vectors, matrix[rows[len(own) :]])
    assert trained.wv.vectors_vocab.shape == (12, 16)
    assert trained.wv.vectors_ngrams.shape == (3000, 16)


def test_unknown_words_have_vectors_and_neighbours() -> None:
    trained = model(sg=1, epochs=15, alpha=0.1)
    assert "sailors" in trained.wv
    assert not trained.wv.has_index_for("sailors")
    assert trained.wv.most_similar("sailed", topn=1)[0][0] in {"sail", "sails", "sailing"}
    assert np.linalg.norm(trained.wv.get_vector("sailed", norm=True)) == pytest.approx(1, abs=1e-5)
    near = trained.wv.most_similar_subwords("sailed", topn=3)
    known = {name for word in trained.wv.index_to_key for name in character_ngrams(word, 3, 6)}
    assert {name for name, _ in near} < known
    assert [cosine for _, cosine in near] == sorted((cosine for _, cosine in near), reverse=True)
    assert trained.wv.get_sentence_vector(["cat", "cats"]).shape == (16,)
    assert not trained.wv.get_sentence_vector([]).any()


def test_words_without_ngrams_are_unknown() -> None:
    trained = model(max_n=0, epochs=1)
    assert "kitten" not in trained.wv
    with pytest.raises(KeyError, match="kitten"):
        trained.wv["kitten"]
    assert trained.data.whole().input.shape == (12, 16)


def test_tokens_of_a_tokenizer_take_the_place_of_ngrams() -> None:
    bpe = tokkit.train(iter(["sailing dogged cats barking masts decks"] * 9), vocab_size=280)
    trained = FastText(sentences(), **OPTIONS | {"tokenizer": bpe, "sg": 1, "epochs": 10, "alpha": 0.1})
    assert trained.data.input.shape == (12 + bpe.n_ids, 16)
    matrix, row = np.asarray(trained.data.input), trained.wv.key_to_index["sailing"]
    np.testing.assert_allclose(
        trained.wv["sailing"], matrix[[row, *(12 + id_ for id_ in bpe.encode_batch(["sailing"])[0])]].mean(0), atol=1e-6
    )
    np.testing.assert_allclose(
        trained.wv["dogged"], matrix[[12 + id_ for id_ in bpe.encode_batch(["dogged"])[0]]].mean(0), atol=1e-6
    )
    assert len(trained.wv.subword_vectors("sailing")[0]) == len(bpe.encode_batch(["sailing"])[0])
    with pytest.raises(OptionError, match="character n-grams, not tokens"):
        trained.save("x.bin")


@pytest.mark.parametrize("options", [{"sg": 1}, {"hs": 1, "negative": 0}, {"max_n": 0}])
def test_a_model_that_is_saved_can_be_trained_further(tmp_path: Path, options: dict[str, int]) -> None:
    trained = model(epochs=2, **options)
    trained.save(tmp_path / "m.bin")
    again = load_facebook_model(tmp_path / "m.bin")
    assert again.wv.index_to_key == trained.wv.index_to_key
    assert np.array_equal(again.wv.vectors, trained.wv.vectors)
    assert np.array_equal(load_facebook_vectors(tmp_path / "m.bin").vectors, trained.wv.vectors)
    before = again.wv.vectors.copy()
    again.train(sentences(), epochs=1)
    assert not np.array_equal(again.wv.vectors, before)


def test_a_file_of_fasttext_has_one_objective(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"one objective, but this model has hs and negative samples; save `wv`"):
        model(hs=1, epochs=1).save(tmp_path / "m.bin")


def test_vectors_are_saved_as_keyed_vectors(tmp_path: Path) -> None:
    trained = model(epochs=1)
    trained.wv.save(tmp_path / "wv.safetensors")
    assert np.array_equal(KeyedVectors.load(tmp_path / "wv.safetensors").vectors, trained.wv.vectors)


def test_epochs_and_progress_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    path.write_text("\n".join(" ".join(words) for words in sentences()), encoding="utf-8")
    seen, epochs = [], []

    class Listener:
        def on_epoch_end(self, trained: FastText) -> None:
            epochs.append(trained.wv["cat"].copy())

    FastText(corpus_file=path, **OPTIONS, epochs=3, callbacks=[Listener()], progress=seen.append)
    assert len(epochs) == 3
    assert not np.array_equal(epochs[0], epochs[1])
    assert (seen[-1].words, seen[-1].total_words, seen[-1].epoch) == (7200, 7200, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "window is 0"),
        ({"vector_size": -1}, "vector_size is -1"),
        ({"min_n": 0}, "min_n is 0"),
        ({"max_n": 300}, "max_n is 300"),
        ({"bucket": 0}, "bucket is 0"),
        ({"hs": 0, "negative": 0}, "nothing is trained"),
        ({"workers": 0}, "workers is 0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        model(**options)


def test_unfit_corpora_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="the vocabulary has one word, 'cat'"):
        FastText([["cat", "cat"]], **OPTIONS)
    with pytest.raises(OptionError, match="call build_vocab before train"):
        FastText(**OPTIONS).train(sentences())
    with pytest.raises(OptionError, match="descending order of counts"):
        FastText(TrainingIds.of([["a", "b", "b"]], min_count=1, sorted_vocab=False), **OPTIONS)
    path = tmp_path / "m.bin"
    model(epochs=1).save(path)
    with pytest.raises(FormatError, match="it must be a classifier"):
        TextClassifier.load(path)


@pytest.mark.parametrize("options", [{"sg": 1}, {"hs": 1, "negative": 0}, {"hs": 1}, {"max_n": 0}, {"tokenizer": True}])
def test_an_interrupted_training_is_resumed_from_its_file_to_the_same_bits(
    tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_FIRST_IDS", "SLICE_SECONDS"):  # several slices an epoch
        monkeypatch.setattr(word2vec_training, name, 0)
    bpe = tokkit.train(iter(["sailing dogged cats"] * 9), vocab_size=270) if options.pop("tokenizer", None) else None
    whole = model(epochs=3, tokenizer=bpe, **options)
    begun = FastText(**OPTIONS | options | {"epochs": 3, "tokenizer": bpe})
    begun.build_vocab(sentences())

    def interrupt(now: TrainingProgress) -> None:
        if now.words > 3000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begun.train(sentences(), progress=interrupt)
    begun.save_checkpoint(tmp_path / "c")
    again = FastText.load_checkpoint(tmp_path / "c", tokenizer=bpe, workers=1)
    assert again.schedule == begun.schedule
    assert 0 < again.schedule.sentence < len(sentences())
    again.train(sentences(), resume=True)
    assert np.array_equal(again.wv.vectors, whole.wv.vectors)
    assert (again.epochs_trained, again.mean_loss) == (3, pytest.approx(whole.mean_loss))
    other = None if bpe else tokkit.train(iter(["a"]), vocab_size=260)
    with pytest.raises(OptionError, match=r"leave the tokenizer out|give the tokenizer"):
        FastText.load_checkpoint(tmp_path / "c", tokenizer=other)


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    trained = model(epochs=1)
    with pytest.raises(OptionError, match="no training was interrupted"):
        FastText.load_checkpoint(saved(trained, tmp_path, schedule=None)).train(sentences(), resume=True)
    trained.wv.save(tmp_path / "wv.safetensors")
    with pytest.raises(FormatError, match="not a fastText training"):
        FastText.load_checkpoint(tmp_path / "wv.safetensors")
    trained.data.row_of_bucket[5] = 10_000
    with pytest.raises(FormatError, match="rows that do not exist"):
        FastText.load_checkpoint(saved(trained, tmp_path))
    trained.data.row_of_bucket[5] = 0
    trained.data.output = trained.data.output[1:]
    with pytest.raises(FormatError, match="output has the shape"):
        FastText.load_checkpoint(saved(trained, tmp_path))
    with pytest.raises(OptionError, match="train the model before saving it"):
        FastText().save_checkpoint(tmp_path / "none")


def saved(trained: FastText, folder: Path, **changed: Any) -> Path:
    for name, value in changed.items():
        setattr(trained, name, value)
    trained.save_checkpoint(folder / "c")
    return folder / "c"
