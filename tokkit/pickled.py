"""The version number of pickles: what a later tokkit has pickled is refused with a clear error.

Each class whose form may change pickles FORM with the rest. Those of the first release have no number; tests/pickles
has them.
"""

from __future__ import annotations

from tokkit.errors import FormatError

FORM = 1


def check(form: int) -> None:
    """Raise FormatError for a form that this release does not know."""
    if form != FORM:
        raise FormatError(f"pickled by a later tokkit (form {form}; this one reads {FORM}): load it with that one")
