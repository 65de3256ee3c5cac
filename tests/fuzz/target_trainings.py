"""A file of a training of embeddings: refused by an error of tokkit, or written as it was, and trained further."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mutate_binary import METADATA as CHANGE
from tokkit.embeddings import FastText, FrozenPhrases, GloVe, TrainingIds, Word2Vec
from tokkit.embeddings.cooccurrence import count_cooccurrence
from tokkit.errors import TokkitError

__all__ = ["CHANGE", "check"]

SENTENCES = [["the", "cat", "sat", "on", "the", "mat"], ["a", "dog"], ["the", "dog", "sat"]]
MOST_EPOCHS = 20


def train(model: Word2Vec | FastText) -> None:
    """Go on with an interrupted training, if it has few epochs, and train once more."""
    schedule = model.schedule
    if schedule is not None and schedule.epochs <= MOST_EPOCHS:
        model.train(SENTENCES, total_examples=len(SENTENCES), resume=True)
    model.train(SENTENCES, total_examples=len(SENTENCES), epochs=1)


def check_kept(path: Path, again: Path, load: Callable[[Path], Any], save: Callable[[Any, Path], None]) -> Any:
    """Return the training in a file, which is written as it was read."""
    model = load(path)
    save(model, again)
    save(load(again), path)
    assert path.read_bytes() == again.read_bytes()
    return model


def check_word2vec(path: Path, again: Path) -> None:
    train(check_kept(path, again, partial(Word2Vec.load, workers=1), Word2Vec.save))


def check_fasttext(path: Path, again: Path) -> None:
    train(check_kept(path, again, partial(FastText.load_checkpoint, workers=1), FastText.save_checkpoint))


def check_glove(path: Path, again: Path) -> None:
    model = check_kept(path, again, partial(GloVe.load, threads=1), GloVe.save)
    words = model.wv.index_to_key
    model.train(count_cooccurrence([words, words], window=2), epochs=1)


def check_phrases(path: Path, again: Path) -> None:
    model = FrozenPhrases.load(path)
    found = [model[sentence] for sentence in SENTENCES]
    model.save(again)
    assert [FrozenPhrases.load(again)[sentence] for sentence in SENTENCES] == found


def check_training_ids(path: Path, again: Path) -> None:
    with TrainingIds.open(path) as ids:
        words = ids.vocabulary.words
        assert sum(len([words[id_] for id_ in sentence]) for sentence in ids.sentences()) == len(ids)


CHECKS: tuple[Callable[[Path, Path], None], ...] = (
    check_word2vec, check_fasttext, check_glove, check_phrases, check_training_ids,
)  # fmt: skip


def check(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder) / "given", Path(folder) / "again"
        for one in CHECKS:
            path.write_bytes(data)
            try:
                one(path, again)
            except TokkitError:
                continue
