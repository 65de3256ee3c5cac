"""The version number of pickles: a pickle of a later tokkit is refused with a clear error.

Each class whose pickled form may change includes FORM in its pickles. Pickles of the first release have no number;
tests/pickles has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from tokkit.errors import FormatError

FORM = 1


def check(form: int) -> None:
    """Raise FormatError for a form that this release cannot read."""
    if form != FORM:
        raise FormatError(
            f"the pickle was made by a later tokkit (form {form}; this version reads {FORM}): load it with that version"
        )


def fill(made: Any, values: Sequence[object]) -> None:
    """Set the fields of a frozen dataclass with slots from the values in a pickle; later fields get their defaults."""
    for i, field in enumerate(fields(made)):
        object.__setattr__(made, field.name, values[i] if i < len(values) else field.default)
