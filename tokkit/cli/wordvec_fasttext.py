"""Runs `tokkit wordvec train --algorithm fasttext`: words are sums of their n-grams, and unknown ones have vectors."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import errors, output
from tokkit.cli.wordvec_files import form_of, write
from tokkit.cli.wordvec_training import report
from tokkit.embeddings import FastText, TrainingIds
from tokkit.escaping import show
from tokkit.progress import Progress

REFUSED = ("batched", "resume")
"""Options of word2vec that fastText does not have here."""


def fasttext(corpus: list[str], target: str, algorithm: str, chosen: dict[str, Any], progress: Progress) -> None:
    """Train and write: the whole model to a .bin file, or the vectors of words to a file of another form."""
    if wrong := [name for name in REFUSED if chosen[name]]:
        raise click.UsageError(f"--{wrong[0]} is an option of word2vec, not of {algorithm}")
    whole = form_of(target) == "bin"  # which is fastText's own format here
    if whole and not target.lower().endswith(".bin"):
        raise click.UsageError("a model of fastText is not compressed: end the name in .bin")
    tokenizer = None
    if chosen["tokenizer"] is not None:
        from tokkit.loading import load

        tokenizer = load(chosen["tokenizer"])
    hierarchical = chosen["hierarchical"]  # which takes the place of negative samples
    with TrainingIds.of(
        corpus_file=corpus,
        min_count=chosen["min_count"],
        max_final_vocab=chosen["max_words"],
        cache=chosen["cache"],
    ) as ids:
        model = FastText(
            ids,
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
            progress=lambda now: report(progress, now),
        )
        n_words = ids.n_words
    words: Any = model.wv
    if whole:
        model.save(target)
    else:
        write(words, target)
    errors.note(
        f"{show(target)}: {'a model with ' if whole else ''}{output.counted(len(words), 'vector')} of "
        f"{words.vector_size} numbers, from {output.counted(n_words, 'word')} of text"
    )
