"""Files of trainings in which one value is wrong: an error names the file, the value and what it must be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tokkit.embeddings import FastText, GloVe, Phrases, TrainingIds, Word2Vec
from tokkit.embeddings.cooccurrence import count_cooccurrence
from tokkit.errors import FormatError, OptionError
from tokkit.files.safetensors import read_safetensors, write_safetensors

SENTENCES = [["the", "cat", "sat"], ["the", "dog"]] * 3
SMALL: dict[str, Any] = {"vector_size": 2, "min_count": 1, "workers": 1, "epochs": 1}


def word2vec(path: Path) -> None:
    Word2Vec(SENTENCES, **SMALL).save(path)


def fasttext(path: Path) -> None:
    FastText(SENTENCES, bucket=6, **SMALL).save_checkpoint(path)


def glove(path: Path) -> None:
    model = GloVe(vector_size=2, threads=1)
    model.train(count_cooccurrence(SENTENCES, window=2), epochs=1)
    model.save(path)


def change(path: Path, place: str, value: object) -> None:
    """Change a value of the description in a file's metadata; `place` are its keys."""
    tensors = read_safetensors(path)
    made = {name: np.array(tensor.data) for name, tensor in tensors.items()}
    ((key, text),) = tensors.metadata.items()
    about = holder = json.loads(text)
    *above, last = place.split(".")
    for name in above:
        holder = holder[name]
    holder[last] = value
    write_safetensors(path, made, {key: json.dumps(about)}, overwrite=True)


def change_counts(path: Path, counts: list[int]) -> None:
    tensors = read_safetensors(path)
    made = {name: np.array(tensor.data) for name, tensor in tensors.items()} | {"counts": np.array(counts)}
    write_safetensors(path, made, tensors.metadata, overwrite=True)


LOADERS: dict[Callable[[Path], None], Callable[[Path], Any]] = {
    word2vec: Word2Vec.load,
    fasttext: FastText.load_checkpoint,
    glove: GloVe.load,
}


@pytest.mark.parametrize(
    ("write", "place", "value", "message"),
    [
        (word2vec, "options.window", "5", r"options\.window: an integer is needed, not a string"),
        (word2vec, "options.window", 0, "window is 0; it must be an int of at least 1"),
        (word2vec, "options.seed", 1 << 64, r"options\.seed: 18446744073709551616 does not fit into 64 bits"),
        (word2vec, "options.ns_exponent", None, r"options\.ns_exponent: a number is needed, not null"),
        (word2vec, "options.size", 5, r"options\.size: unknown key"),
        (word2vec, "epochs_trained", -1, "epochs_trained is -1; it must be an int from 0 to"),
        (word2vec, "schedule.epoch", 7, "schedule: .* has numbers that do not occur in a training"),
        (word2vec, "schedule.sentence", [1], r"schedule\.sentence: an integer is needed, not an array"),
        (word2vec, "schedule", [], "schedule: an object is needed, not an array"),
        (fasttext, "args.neg", 1 << 20, "neg is 1048576; it must be from 0 to 1000"),
        (fasttext, "args.loss", "n{", "loss is 'n{' and model 'cbow'; they must be of"),
        (fasttext, "args.dim", True, "dim is True; it must be from 1 to"),
        (fasttext, "n_tokens", 1e400, "n_tokens: an integer is needed, not a number"),
        (fasttext, "schedule.start_alpha", float("nan"), "schedule: .* has numbers that do not occur"),
        (glove, "options.vector_size", 1e400, r"options\.vector_size: an integer is needed, not a number"),
    ],
)
def test_a_wrong_value_is_named(
    write: Callable[[Path], None], place: str, value: object, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "model"
    write(path)
    LOADERS[write](path)
    change(path, place, value)
    with pytest.raises(FormatError, match=f"{path}.*{message}"):
        LOADERS[write](path)


@pytest.mark.parametrize("write", [word2vec, fasttext])
@pytest.mark.parametrize("counts", [[6, 3, -3, 3], [1 << 62, 1 << 62, 3, 3], [6, 3, 3]])
def test_counts_that_no_corpus_has_are_refused(
    write: Callable[[Path], None], counts: list[int], tmp_path: Path
) -> None:
    write(tmp_path / "model")
    change_counts(tmp_path / "model", counts)
    with pytest.raises(FormatError, match="the counts must be 4 numbers of at least 1"):
        LOADERS[write](tmp_path / "model")


def test_counts_of_training_ids_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "ids"
    TrainingIds.of(SENTENCES, min_count=1, cache=path).close()
    path.write_bytes(path.read_bytes().replace(b"[6, 3, 3, 3]", b"[6, 3,-3, 3]"))
    with pytest.raises(FormatError, match="the counts must be 4 numbers"):
        TrainingIds.open(path)


def test_phrases_with_a_score_too_large_are_refused(tmp_path: Path) -> None:
    Phrases(SENTENCES, min_count=1, threshold=0.1).freeze().save(tmp_path / "phrases")
    (tmp_path / "phrases").write_text('{"phrasegrams": {"a_b": 1' + "0" * 400 + '}, "delimiter": "_"}')
    with pytest.raises(FormatError, match="int too large to convert to float"):
        type(Phrases(SENTENCES).freeze()).load(tmp_path / "phrases")


def test_options_that_no_training_can_have_are_refused() -> None:
    for options, message in (
        ({"window": 1 << 40}, "window is 1099511627776; it must be at most 2147483647"),
        ({"seed": 1 << 64}, "seed is 18446744073709551616; it must be at most"),
        ({"ns_exponent": "1"}, "ns_exponent is '1'; it must be a number"),
    ):
        with pytest.raises(OptionError, match=message):
            Word2Vec(**options)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"ns_exponent is 1e\+308; it must be from -1000 to 1000"):
        Word2Vec(SENTENCES, ns_exponent=1e308, **SMALL)


@pytest.mark.parametrize(("write", "read"), [(word2vec, Word2Vec.load), (fasttext, FastText.load_checkpoint)])
def test_a_training_is_not_resumed_with_a_shorter_corpus(
    write: Callable[[Path], None], read: Callable[[Path], Any], tmp_path: Path
) -> None:
    write(tmp_path / "model")
    change(tmp_path / "model", "schedule.epoch", 0)
    change(tmp_path / "model", "schedule.sentence", 5)
    model = read(tmp_path / "model")
    with pytest.raises(OptionError, match=r"interrupted after 5 sentences, but this corpus has 4; resume it with"):
        model.train(SENTENCES[:4], total_examples=4, resume=True)
    model.train(SENTENCES, total_examples=len(SENTENCES), resume=True)


def test_a_model_whose_counts_are_all_0_is_not_trained_further(tmp_path: Path) -> None:
    model = FastText(SENTENCES, bucket=6, **SMALL)
    model.data.counts[:] = 0  # type: ignore[union-attr]
    model.save(tmp_path / "model.bin")
    with pytest.raises(OptionError, match="all words of the model have a count of 0"):
        FastText.load(tmp_path / "model.bin").train(SENTENCES, epochs=1)


def test_the_largest_seed_is_read_again(tmp_path: Path) -> None:
    Word2Vec(SENTENCES, seed=(1 << 64) - 1, **SMALL).save(tmp_path / "model")
    assert Word2Vec.load(tmp_path / "model").options.seed == (1 << 64) - 1
