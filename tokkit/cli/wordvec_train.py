"""`tokkit wordvec train`: trains word vectors on text, and writes a file that other programs can read."""

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
"""Algorithm → the module in tokkit.cli that runs it, and its function there."""


@options.command(
    "train",
    group="wordvec",
    short_help="Train word vectors on text.",
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
    help="The file of vectors: .bin, .txt or .vec in word2vec's formats (also .gz, .bz2, .xz), or .safetensors.",
)
@click.option(
    "--algorithm",
    type=click.Choice(list(ALGORITHMS)),
    default="cbow",
    help="cbow predicts a word from its context. skip-gram predicts the context from the word: slower, but better "
    "for rare words. fasttext (skip-gram) and fasttext-cbow also train character n-grams, so that unknown words have "
    "vectors; their .bin is fastText's format. glove trains on co-occurrence counts; its defaults are 25 epochs, a "
    "window of 10 and an alpha of 0.05.",
)
@click.option("--size", type=click.IntRange(min=1), default=100, metavar="N", help="Dimensions of a vector.")
@click.option(
    "--window",
    type=click.IntRange(min=1),
    default=5,
    metavar="N",
    help="Maximum distance to a context word, on each side.",
)
@click.option(
    "--min-count", type=click.IntRange(min=0), default=5, metavar="N", help="Leave out words that occur less often."
)
@click.option(
    "--max-words", type=click.IntRange(min=1), metavar="N", show_default="all", help="Keep the N most frequent words."
)
@click.option("--epochs", type=click.IntRange(min=1), default=5, metavar="N", help="Passes over the corpus.")
@click.option(
    "--negative",
    type=click.IntRange(min=0),
    default=5,
    metavar="N",
    help="Negative samples; 0 is for --hierarchical alone.",
)
@click.option("--hierarchical", is_flag=True, help="Use hierarchical softmax too.")
@click.option(
    "--batched",
    is_flag=True,
    help="skip-gram: update a whole window in one step: twice as fast, in a different order of updates.",
)
@click.option(
    "--sample", type=click.FloatRange(min=0), default=1e-3, help="Downsample words above this frequency; 0 keeps all."
)
@click.option("--alpha", type=click.FloatRange(min=0), default=0.025, help="The learning rate at the start.")
@click.option("--min-alpha", type=click.FloatRange(min=0), default=0.0001, help="The learning rate at the end.")
@click.option(
    "--tokenizer",
    type=options.MODEL,
    metavar="TOKENIZER",
    help="Train on the tokens of this tokenizer instead of words between white space; VECTORS must be .safetensors.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    help="Seed; with --threads 1, the same seed gives the same vectors.",
)
@click.option(
    "--cache",
    type=options.Writes(),
    metavar="FILE",
    help="Keep the ids of the corpus in this file, so that the next training starts faster.",
)
@click.option("--resume", is_flag=True, help="Continue from VECTORS.checkpoint, where Ctrl-C ended the last run.")
@options.threads
@options.force
@options.progress
def command(corpus: tuple[str, ...], output: str, algorithm: str, **chosen: Any) -> None:
    """Train a vector for each word of CORPUS: text files, folders and globs, with one sentence per line.

    Lines are split at white space, so remove punctuation and lowercase the text before, or give a --tokenizer. After
    Ctrl-C, the same command with --resume continues from VECTORS.checkpoint. Look at the vectors with `tokkit wordvec
    query`.
    """
    import importlib

    from tokkit.cli import output as files
    from tokkit.cli.wordvec_files import form_of
    from tokkit.progress import Progress

    files.check(output, force=chosen["force"])
    if form_of(output) != "saved" and chosen["tokenizer"] is not None:
        raise click.UsageError(
            "tokens may contain spaces, which only .safetensors files can hold; give the output this suffix"
        )
    if chosen["cache"] is not None:
        files.check(chosen["cache"], force=True)  # it is read, and replaced if the corpus or the options changed
    module, name = ALGORITHMS[algorithm]
    run = getattr(importlib.import_module(f"tokkit.cli.{module}"), name)
    with Progress(chosen["progress"]) as progress:
        run(list(corpus), output, algorithm, chosen, progress)
