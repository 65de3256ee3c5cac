"""Computes the matrix of cosines between texts, and prints it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import numpy as np
from numpy.typing import NDArray

from tokkit.cli import output
from tokkit.cli.inputs import Reading

if TYPE_CHECKING:
    from tokkit.search.builder import Encoder

MAX_TEXTS = 40
"""Maximum number of texts in a table, which is then 300 characters wide; pictures and JSON may have more."""


def texts(given: Sequence[str], file: str | None) -> list[str]:
    """Return the texts of the arguments and the file's non-blank lines; UsageError if there are fewer than two."""
    found = list(given)
    if file is not None:
        found += [line.strip() for line in Reading("line").texts(file) if line.strip()]
    if len(found) < 2:
        raise click.UsageError(f"{output.counted(len(found), 'text')} given; give at least two")
    return found


def matrix(encoder: Encoder, given: Sequence[str], *, threads: int | None) -> NDArray[np.float64]:
    """Return the cosines (n, n) of n texts."""
    vectors = encoder.encode(list(given), normalize=True, threads=threads).astype(np.float64)
    return np.asarray(vectors @ vectors.T)


def show(
    given: Sequence[str], made: NDArray[np.float64], *, plot: str | None, page: str | None, as_json: bool, width: int,
    force: bool,
) -> None:  # fmt: skip
    """Print the matrix as a table or as JSON, and write the picture and the page if they are requested."""
    from tokkit.search.snippets import snippet

    if page is not None:
        from tokkit.files.files import write_atomically
        from tokkit.view import similarity_html

        write_atomically(page, similarity_html(made, given).encode())

    if plot is not None:
        from tokkit.view import similarity_plot

        with output.writing(plot, force=force) as file:
            similarity_plot.draw(made, [snippet(text, width=width) for text in given], file)
    if as_json:
        output.say_json({"texts": list(given), "similarity": made.round(6).tolist()})
        return
    elif len(given) <= MAX_TEXTS:
        head = ["", "", *range(1, len(given) + 1)]
        rows = [[i, snippet(text, width=width), *(f"{x:.3f}" for x in made[i - 1])] for i, text in enumerate(given, 1)]
        output.table([head, *rows], left=(1,))
