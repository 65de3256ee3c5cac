"""The version number of pickles: what a later tokkit has pickled is refused with a clear error.

Each class whose pickled form may change includes FORM in its pickles. Pickles of the first release have no number;
tests/pickles has them.
"""

from __future__ import annotations

from tokkit.errors import FormatError

FORM = 1


def check(form: int) -> None:
    """Raise FormatError for a form that this release cannot read."""
    if form != FORM:
        raise FormatError(f"the pickle is of a later tokkit (form {form}; this one reads {FORM}); load it there")
