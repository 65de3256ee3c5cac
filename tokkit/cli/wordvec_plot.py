"""`tokkit wordvec plot`: draws word vectors in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tokkit.cli import options

if TYPE_CHECKING:
    from tokkit.view.projection import Method


@options.command(
    "plot",
    group="wordvec",
    short_help="Draw words as points, as a page with search or as a picture.",
    examples=(
        "tokkit wordvec plot vectors.bin -o words.html --top 2000",
        "tokkit wordvec plot glove.txt -o animals.png --words 'cat dog horse cow' --method tsne",
    ),
)
@click.argument("vectors", type=options.MODEL)
@click.option(
    "-o", "--output", type=options.Writes(), default="words.html", help="Page (.html) or picture (.png) to write."
)
@click.option("--words", multiple=True, metavar="WORDS", help="Words to draw, separated by spaces; repeat for more.")
@click.option(
    "--top", type=click.IntRange(min=1), show_default="500", help="Draw the first N words of the file, at most 20,000."
)
@click.option(
    "--method",
    type=click.Choice(["pca", "tsne"]),
    default="pca",
    help="Projection to two dimensions: PCA, or t-SNE (needs scikit-learn).",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of t-SNE.")
@click.option("--limit", type=click.IntRange(min=1), help="Read only the first N vectors of the file.")
@options.force
def plot(
    vectors: str,
    output: str,
    words: tuple[str, ...],
    top: int | None,
    method: Method,
    seed: int,
    limit: int | None,
    force: bool,
) -> None:
    """Draw the words of VECTORS as points in a plane; points close together have similar vectors.

    VECTORS has any format that tokkit reads: its own, word2vec's .bin or text, GloVe's, fastText's .vec. The page shows
    the word under the pointer, its ten nearest neighbours on click, and a search; it needs no network. Pictures and
    t-SNE need more packages: pip install 'pytokkit[plot]'.
    """
    import os

    import numpy as np

    from tokkit.cli.output import check, counted, say
    from tokkit.embeddings import KeyedVectors
    from tokkit.files.files import write_atomically
    from tokkit.view import plots, projection, vectors_html, vectors_png

    kind = os.path.splitext(output)[1].lower()
    if kind not in (".html", ".png"):
        raise click.BadParameter(f"{output!r} ends in neither .html nor .png", param_hint="--output")
    if words and top is not None:
        raise click.UsageError("--words and --top both choose the words to draw: give only one of them")
    check(output, force=force)
    projection.check(method)
    if kind == ".png":
        plots.check()
    loaded = KeyedVectors.load(vectors, limit=limit)
    keys = [str(key) for key in loaded.index_to_key]
    drawn = " ".join(words).split() if words else keys[: top or 500]
    if kind == ".png":
        vectors_png(keys, loaded.vectors, output, words=drawn, method=method, seed=seed)
    else:
        counts = loaded.expandos.get("count")
        # Files without counts get n, n - 1, … as counts, as in gensim.
        if counts is not None and np.array_equal(counts, np.arange(len(keys), 0, -1)):
            counts = None
        title = f"Word vectors: {os.path.basename(vectors)}"
        page = vectors_html(keys, loaded.vectors, words=drawn, counts=counts, method=method, seed=seed, title=title)
        write_atomically(output, page.encode())
    say(f"{output}: {counted(len(set(drawn)), 'word')} of {len(keys):,}, {loaded.vector_size} dimensions")
