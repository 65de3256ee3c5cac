"""Runs `tokkit wordvec train` for word2vec: progress, checkpoints, and the file of vectors."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from tokkit.cli import errors, output
from tokkit.cli.wordvec_files import write
from tokkit.embeddings import FastText, TrainingIds, Word2Vec
from tokkit.embeddings.word2vec_training import TrainingProgress
from tokkit.escaping import show
from tokkit.progress import Progress

Trained = TypeVar("Trained", Word2Vec, FastText)


def word2vec(corpus: list[str], target: str, algorithm: str, chosen: dict[str, Any], progress: Progress) -> None:
    """Train and write vectors; Ctrl-C leaves a checkpoint, and the run that resumes it removes it."""
    checkpoint = f"{target}.checkpoint"
    tokenizer = None
    if chosen["tokenizer"] is not None:
        from tokkit.loading import load

        tokenizer = load(chosen["tokenizer"])
    reads: dict[str, Any] = {"corpus_file": corpus, "tokenizer": tokenizer, "cache": chosen["cache"]}
    options = {
        "vector_size": chosen["size"],
        "window": chosen["window"],
        "sg": int(algorithm == "skip-gram"),
        "hs": int(chosen["hierarchical"]),
        "negative": chosen["negative"],
        "batched": chosen["batched"],
        "sample": chosen["sample"],
        "min_count": chosen["min_count"],
        "max_final_vocab": chosen["max_words"],
        "alpha": chosen["alpha"],
        "min_alpha": chosen["min_alpha"],
        "epochs": chosen["epochs"],
        "seed": chosen["seed"],
    }
    model = Word2Vec(tokenizer=tokenizer, workers=chosen["threads"], **options)
    with TrainingIds.of(**reads, min_count=chosen["min_count"], max_final_vocab=chosen["max_words"]) as ids:
        if chosen["resume"]:
            model = resumed(checkpoint, model, Word2Vec.load)
            if (model.corpus_count, model.corpus_total_words) != (ids.n_sentences, ids.n_words):
                raise click.UsageError(another_corpus(checkpoint))
        else:
            model.build_vocab(ids)
        try:
            model.train(
                ids,
                compute_loss=progress.shown,
                progress=lambda now: report(progress, now),
                resume=chosen["resume"],
            )
        except KeyboardInterrupt:
            model.save(checkpoint)
            errors.note(f"{show(checkpoint)} holds the training so far; the same command with --resume continues")
            raise
    write(model.wv, target)
    if chosen["resume"]:
        os.remove(checkpoint)
    errors.note(
        f"{show(target)}: {output.counted(len(model.wv), 'vector')} of {model.wv.vector_size} numbers, from "
        f"{output.counted(ids.n_words, 'word')} of text"
    )


def resumed(checkpoint: str, wanted: Trained, load: Callable[..., Trained]) -> Trained:
    """Return the model of a checkpoint; UsageError if there is none or its options differ from these."""
    if not os.path.exists(checkpoint):
        raise click.UsageError(f"there is no {show(checkpoint)} to resume; leave out --resume")
    model = load(checkpoint, tokenizer=wanted.tokenizer, workers=wanted.workers)
    differing = [name for name, value in wanted.options.as_dict().items() if model.options.as_dict()[name] != value]
    if differing:
        raise click.UsageError(
            f"{show(checkpoint)} was made with different options ({', '.join(differing)}); give the same ones"
        )
    return model


def another_corpus(checkpoint: str) -> str:
    """Return the error message for a checkpoint that was made from another corpus."""
    return f"{show(checkpoint)} was made from another corpus; give the same corpus, or leave out --resume"


def report(progress: Progress, now: TrainingProgress) -> None:
    """Show the progress of a training: words per second, the loss and the time left."""
    left = f"{int(now.seconds_left) // 60}:{int(now.seconds_left) % 60:02}"
    loss = "" if now.loss is None else f"  loss {now.loss:.3f}"
    progress(
        f"{now.epoch}/{now.epochs}",
        now.words,
        now.total_words,
        f"{now.words_per_second:,.0f} words/s{loss}  {left} left",
        words_per_second=round(now.words_per_second),
        loss=None if now.loss is None else round(now.loss, 4),
        seconds_left=round(now.seconds_left, 1),
    )
