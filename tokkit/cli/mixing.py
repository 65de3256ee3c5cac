"""Options of mixtures: names of sources before their paths, and the weight of each source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import options

if TYPE_CHECKING:
    from tokkit.trainers.mixtures import Part


def _weights(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[str, str] | None:
    """Return the weights of all values, each NAME=NUMBER or several separated by commas."""
    found: dict[str, str] = {}
    for item in (item for value in values for item in value.split(",")):
        name, equals, number = item.rpartition("=")
        if not (name and equals and number):
            raise click.BadParameter(f"{item!r}: write the name of a source and its weight, for example de=2,th=0.5")
        if name in found:
            raise click.BadParameter(f"{name!r} has two weights")
        found[name] = number
    return found or None


weight = click.option(
    "--weight",
    "weights",
    multiple=True,
    callback=_weights,
    metavar="NAME=N[,...]",
    help="Multiply the counts of the source NAME by N, for example 2, 0.5 or 1/3 (default 1); sums are rounded once.",
)
temperature = click.option(
    "--temperature",
    metavar="T",
    help="Raise each source's share to the power of 1/T: 1 changes nothing, inf makes all shares equal.",
)


def sources_of(given: Sequence[str]) -> tuple[dict[str, list[str]] | None, list[str]]:
    """Return the paths by the names of their sources (None if no name was given), and all paths.

    A path without a name is a source of its own, with the path as its name.
    """
    found = [options.named(item) for item in given]
    paths = [path for _, path in found]
    if not any(name for name, _ in found):
        return None, paths
    by_name: dict[str, list[str]] = {}
    for name, path in found:
        by_name.setdefault(path if name is None else name, []).append(path)
    return by_name, paths


def own_names(paths: Sequence[str]) -> dict[str, list[str]]:
    """Return inputs without names as sources, each named by its path."""
    return {path: [path] for path in paths}


def facts(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return the share of each source of a mixture in the bytes of words, before and after weighting."""
    from tokkit.corpus.weights import text_of

    total = sum(part.bytes for part in parts) or 1
    weighted = sum(part.bytes * part.weight for part in parts) or 1
    return [
        {
            "source": part.name,
            "bytes": part.bytes,
            "weight": text_of(part.weight),
            "share": round(part.bytes / total, 4),
            "weighted_share": round(float(part.bytes * part.weight / weighted), 4),
        }
        for part in parts
    ]


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the sources of a mixture as a table."""
    from tokkit.cli import output

    cells = [
        (row["source"], f"{row['bytes']:,}", row["weight"], f"{row['share']:.1%}", f"{row['weighted_share']:.1%}")
        for row in rows
    ]
    output.table([("source", "bytes of words", "weight", "share", "weighted"), *cells], margin="  ")
