"""`tokkit wordvec distill`: distills an encoder to static token vectors, in a folder for `tokkit model embed`."""

from __future__ import annotations

import click

from tokkit.cli import options
from tokkit.cli.model_search import download

POOLINGS = ("mean", "cls", "max", "lasttoken")


@options.command(
    "distill",
    group="wordvec",
    short_help="Distill an encoder to static vectors of its tokens.",
    examples=("tokkit wordvec distill all-MiniLM-L6-v2 -o static",),
)
@click.argument("model", type=options.MODEL)
@click.option("-o", "--output", required=True, type=options.Writes(), metavar="DIR", help="The folder to write.")
@click.option(
    "--words", type=options.FILE, help="Words that get vectors of their own: one per line, the most frequent first."
)
@click.option(
    "--dims",
    type=click.IntRange(min=1),
    default=256,
    metavar="N",
    help="Number of principal components to keep (the dimensions).",
)
@click.option(
    "--sif",
    type=click.FloatRange(0, 1, max_open=True),
    default=1e-4,
    metavar="A",
    help="Weight tokens by A / (A + p), p being their probability, so that frequent ones weigh less; 0: no weights.",
)
@click.option(
    "--pooling", type=click.Choice(POOLINGS), default="mean", help="How the hidden states of a token become one vector."
)
@click.option(
    "--max-length",
    type=click.IntRange(min=1),
    default=512,
    metavar="N",
    help="Maximum tokens of a text; the rest is not read.",
)
@click.option(
    "--dtype", type=click.Choice(["float32", "float16"]), default="float32", help="The dtype of vectors in the file."
)
@download
@options.threads
@options.force
@options.progress
def distill(
    model: str, output: str, words: str | None, dims: int, sif: float, pooling: str, max_length: int, dtype: str,
    download: bool, threads: int | None, force: bool, progress: str,
) -> None:  # fmt: skip
    """Encode each token of MODEL's vocabulary with the encoder, and write the vectors to a folder (as model2vec does).

    The vector of a text is then the mean of its tokens' vectors: hundreds of times faster than the encoder, at lower
    quality. Use it with: tokkit model embed notes/ -o index --model DIR. model2vec and sentence-transformers load the
    folder too.
    """
    from pathlib import Path

    from tokkit.cli.errors import note
    from tokkit.cli.inputs import Reading, given
    from tokkit.cli.models import load_encoder
    from tokkit.escaping import show
    from tokkit.files.files import refuse_inputs
    from tokkit.pipeline import distill as run
    from tokkit.pipeline.static_format import FILES, check_place
    from tokkit.progress import Progress

    folder = Path(output)
    refuse_inputs([folder, *(folder / name for name in FILES)], given())
    try:
        check_place(folder, overwrite=force)
    except FileExistsError as error:
        raise FileExistsError(f"{error}{'; --force overwrites it' * str(error).endswith('exists')}") from None
    vocabulary = None
    if words is not None:
        vocabulary = [line.strip() for line in Reading("line").texts(words) if line.strip()]
    encoder = load_encoder(model, download=download)
    with Progress(progress) as report:
        made = run(
            encoder, vocabulary=vocabulary, pca_dims=dims, sif_coefficient=sif or None, pooling=pooling,
            max_length=max_length, threads=threads, progress=lambda done, total: report("distill", done, total),
        )  # fmt: skip
    made.save(folder, dtype=dtype, overwrite=force)
    note(f"{show(output)}: {len(made.vectors):,} vectors of {made.dimension} dimensions")
