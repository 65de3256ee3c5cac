"""`tokkit wordvec distill`: static vectors of an encoder's tokens, as a folder that `tokkit model embed` takes."""

from __future__ import annotations

import click

from tokkit.cli import options
from tokkit.cli.model_search import download

POOLINGS = ("mean", "cls", "max", "lasttoken")


@options.command(
    "distill",
    group="wordvec",
    short_help="Make static vectors of an encoder's tokens.",
    examples=("tokkit wordvec distill all-MiniLM-L6-v2 -o static",),
)
@click.argument("model", type=options.MODEL)
@click.option("-o", "--output", required=True, type=options.Writes(), metavar="DIR", help="The folder to write.")
@click.option("--words", type=options.FILE, help="Words, one a line, the commonest first, that get own vectors.")
@click.option("--dims", type=click.IntRange(min=1), default=256, metavar="N", help="Principal components to keep.")
@click.option(
    "--sif",
    type=click.FloatRange(0, 1, max_open=True),
    default=1e-4,
    metavar="A",
    help="Frequent tokens weigh less, by a / (a + p); 0 is for no weights.",
)
@click.option(
    "--pooling", type=click.Choice(POOLINGS), default="mean", help="What makes one vector of a token's states."
)
@click.option("--max-length", type=click.IntRange(min=1), default=512, metavar="N", help="Tokens to read of a text.")
@click.option("--dtype", type=click.Choice(["float32", "float16"]), default="float32", help="Numbers in the file.")
@download
@options.threads
@options.force
@options.progress
def distill(
    model: str, output: str, words: str | None, dims: int, sif: float, pooling: str, max_length: int, dtype: str,
    download: bool, threads: int | None, force: bool, progress: str,
) -> None:  # fmt: skip
    """Read each token of MODEL's tokenizer with the encoder and write the vectors as a folder.

    A text's vector is the mean of its tokens' then, hundreds of times as fast as the encoder, at a lower quality:
    tokkit model embed notes/ -o index --model DIR. model2vec and sentence-transformers load the folder too.
    """
    from pathlib import Path

    from tokkit.cli.errors import note
    from tokkit.cli.inputs import Reading, given
    from tokkit.cli.models import load_encoder
    from tokkit.escaping import show
    from tokkit.formats.files import refuse_inputs
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
