"""Runs `tokkit wordvec train --algorithm fasttext`: vectors of words are sums over their character n-grams."""

from __future__ import annotations

import os
from typing import Any

import click

from tokkit.cli import errors, output
from tokkit.cli.wordvec_files import form_of, write
from tokkit.cli.wordvec_training import another_corpus, report, resumed
from tokkit.embeddings import FastText, TrainingIds
from tokkit.escaping import show
from tokkit.progress import Progress


def fasttext(corpus: list[str], target: str, algorithm: str, chosen: dict[str, Any], progress: Progress) -> None:
    """Train and write the whole model to a .bin file, or only the word vectors to a file of another format.

    Ctrl-C leaves a checkpoint; the run that resumes it removes it.
    """
    if chosen["batched"]:
        raise click.UsageError(f"--batched applies to skip-gram, not to {algorithm}")
    checkpoint = f"{target}.checkpoint"
    whole = form_of(target) == "bin"  # for fastText, .bin is its own format
    if whole and not target.lower().endswith(".bin"):
        raise click.UsageError("a fastText model is not compressed: end the name in .bin")
    tokenizer = None
    if chosen["tokenizer"] is not None:
        from tokkit.loading import load

        tokenizer = load(chosen["tokenizer"])
    hierarchical = chosen["hierarchical"]  # replaces negative sampling
    model = FastText(
        vector_size=chosen["size"],
        window=chosen["window"],
        sg=int(algorithm == "fasttext"),
        hs=int(hierarchical),
        negative=0 if hierarchical else chosen["negative"],
        sample=chosen["sample"],
        min_count=chosen["min_count"],
        max_final_vocab=chosen["max_words"],
        alpha=chosen["alpha"],
        min_alpha=chosen["min_alpha"],
        epochs=chosen["epochs"],
        seed=chosen["seed"],
        tokenizer=tokenizer,
        workers=chosen["threads"],
    )
    with TrainingIds.of(
        corpus_file=corpus,
        min_count=chosen["min_count"],
        max_final_vocab=chosen["max_words"],
        cache=chosen["cache"],
    ) as ids:
        if chosen["resume"]:
            model = resumed(checkpoint, model, FastText.load_checkpoint)
            if not model.fits(ids):
                raise click.UsageError(another_corpus(checkpoint))
        else:
            model.build_vocab(ids)
        try:
            model.train(ids, progress=lambda now: report(progress, now), resume=chosen["resume"])
        except KeyboardInterrupt:
            model.save_checkpoint(checkpoint)
            errors.note(f"{show(checkpoint)} holds the training so far; the same command with --resume continues")
            raise
        n_words = ids.n_words
    words: Any = model.wv
    if whole:
        model.save(target)
    else:
        write(words, target)
    if chosen["resume"]:
        os.remove(checkpoint)
    errors.note(
        f"{show(target)}: {'a model with ' if whole else ''}{output.counted(len(words), 'vector')} of "
        f"{words.vector_size} numbers, from {output.counted(n_words, 'word')} of text"
    )
