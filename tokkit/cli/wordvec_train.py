"""`tokkit wordvec train`: vectors of words from text, in a file that other programs read."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options

ALGORITHMS = {
    "cbow": ("wordvec_training", "word2vec"),
    "skip-gram": ("wordvec_training", "word2vec"),
    "glove": ("wordvec_glove", "glove"),
    "fasttext": ("wordvec_fasttext", "fasttext"),
    "fasttext-cbow": ("wordvec_fasttext", "fasttext"),
}
"""Algorithm → the module of tokkit.cli that runs it, and its function there."""


@options.command(
    "train",
    group="wordvec",
    short_help="Train vectors of words on text.",
    examples=(
        "tokkit wordvec train corpus.txt -o vectors.bin",
        "tokkit wordvec train 'data/*.txt.gz' -o vectors.txt --algorithm skip-gram --size 300 --epochs 10",
        "tokkit wordvec train corpus.txt -o vectors.bin --algorithm glove --epochs 50",
        "tokkit wordvec train corpus.txt -o model.bin --algorithm fasttext",
        "tokkit wordvec train corpus.txt -o vectors.bin --resume",
    ),
)
@click.argument("corpus", nargs=-1, required=True, type=options.FILE, metavar="CORPUS...")
@click.option(
    "-o",
    "--output",
    required=True,
    type=options.Writes(),
    metavar="VECTORS",
    help="The vectors: .bin, .txt or .vec as word2vec's (also .gz, .bz2, .xz), or .safetensors.",
)
@click.option(
    "--algorithm",
    type=click.Choice(list(ALGORITHMS)),
    default="cbow",
    help="cbow predicts a word from those around it, skip-gram those around it from the word: slower, better for rare "
    "words; fasttext (skip-gram) and fasttext-cbow learn n-grams of characters too, so that unknown words have "
    "vectors, and .bin is fastText's; glove learns from counts of words near one another, in 25 epochs, windows of 10 "
    "and with an alpha of 0.05 unless you choose others.",
)
@click.option("--size", type=click.IntRange(min=1), default=100, metavar="N", help="Numbers of a vector.")
@click.option("--window", type=click.IntRange(min=1), default=5, metavar="N", help="Words on each side.")
@click.option("--min-count", type=click.IntRange(min=0), default=5, metavar="N", help="Leave out rarer words.")
@click.option(
    "--max-words", type=click.IntRange(min=1), metavar="N", show_default="all", help="Keep the N commonest words."
)
@click.option("--epochs", type=click.IntRange(min=1), default=5, metavar="N", help="Times the corpus is read.")
@click.option(
    "--negative", type=click.IntRange(min=0), default=5, metavar="N", help="Negative samples; 0: --hierarchical alone."
)
@click.option("--hierarchical", is_flag=True, help="Train by hierarchical softmax, too.")
@click.option(
    "--batched",
    is_flag=True,
    help="skip-gram: learn a window in one step, in another order of updates: twice as fast.",
)
@click.option("--sample", type=click.FloatRange(min=0), default=1e-3, help="Drop words above this frequency; 0: none.")
@click.option("--alpha", type=click.FloatRange(min=0), default=0.025, help="The learning rate at the start.")
@click.option("--min-alpha", type=click.FloatRange(min=0), default=0.0001, help="The learning rate at the end.")
@click.option(
    "--tokenizer",
    type=options.MODEL,
    metavar="TOKENIZER",
    help="Train on this tokenizer's tokens instead of on words between white space; VECTORS must be .safetensors.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, help="With --threads 1, equal seeds give equal vectors.")
@click.option(
    "--cache", type=options.Writes(), metavar="FILE", help="Keep the ids of the corpus in this file, for the next time."
)
@click.option("--resume", is_flag=True, help="Go on where Ctrl-C ended the last run, from VECTORS.checkpoint.")
@options.threads
@options.force
@options.progress
def command(corpus: tuple[str, ...], output: str, algorithm: str, **chosen: Any) -> None:
    """Train a vector for each word of CORPUS: text files, folders and globs, a sentence a line.

    Ctrl-C leaves VECTORS.checkpoint, from which the same command with --resume goes on. Lines are split at white space,
    so remove punctuation and capitals before, or give a --tokenizer. Then look at the vectors with `tokkit wordvec
    query`.
    """
    import importlib

    from tokkit.cli import output as files
    from tokkit.cli.wordvec_files import form_of
    from tokkit.progress import Progress

    files.check(output, force=chosen["force"])
    if form_of(output) != "saved" and chosen["tokenizer"] is not None:
        raise click.UsageError("tokens may have spaces, which only .safetensors files can hold; name the output so")
    if chosen["cache"] is not None:
        files.check(chosen["cache"], force=True)  # it is read, and replaced if the corpus or the options have changed
    module, name = ALGORITHMS[algorithm]
    run = getattr(importlib.import_module(f"tokkit.cli.{module}"), name)
    with Progress(chosen["progress"]) as progress:
        run(list(corpus), output, algorithm, chosen, progress)
