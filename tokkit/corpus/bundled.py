"""Finds the small corpus that comes with the package, for a first training without data."""

from __future__ import annotations

from importlib import util
from pathlib import Path

from tokkit.errors import CorpusError


def folder() -> Path:
    """Return the folder of the bundled corpus: the package `tokkit.bundled`, or data/corpus of a source tree."""
    spec = util.find_spec("tokkit.bundled")
    found = [Path(place) for place in (spec.submodule_search_locations or ())] if spec is not None else []
    found.append(Path(__file__).resolve().parents[2] / "data" / "corpus")
    for place in found:
        if any(place.glob("*.txt")):
            return place
    raise CorpusError("the bundled corpus is not installed; give a file to read instead")


def paths() -> list[Path]:
    """Return the files of the bundled corpus, sorted by name.

    >>> "english.txt" in [path.name for path in paths()]
    True
    """
    return sorted(folder().glob("*.txt"))
