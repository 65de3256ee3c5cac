"""Schemas of Python functions equal those of transformers; an error names what is missing."""

from __future__ import annotations

import enum
from typing import Any, Literal, Optional, Union

import pytest

from extras import extra
from tokkit.chat import function_schema
from tokkit.errors import OptionError


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


def plain(place: str, days: int = 3, exact: bool = False, factor: float = 1.0) -> str:
    """Say what the weather will be.

    It is a guess.

      Always.

    Args:
        place: a town: where
            people live
        days:
            how many

            days
        exact: (really)
        factor: the mood (choices: [0.5, 1.0])

    Returns:
        What the weather will be.
    """
    return ""


def compound(
    a: list[int],
    b: dict[str, list[str]],
    c: dict,
    d: list,
    e: Optional[float],  # noqa: UP045
    f: Union[str, int],  # noqa: UP007
    g: int | str | None,
    h: Literal["p", "q"],
    i: Literal[1, "a", None],
    j: tuple[int, str],
    k: Any,
    l: list[int] | str,  # noqa: E741
    m: Unit,
    n: None = None,
) -> dict[str, float]:
    """Do it.

    Args:
        a: a
        b: b
        c: c
        d: d
        e: e
        f: f
        g: g
        h: h
        i: i
        j: j
        k: k
        l: l
        m: m
        n: n
    """
    return {}


def nothing() -> None:
    """Do nothing."""


class Holder:
    def method(self, x: int) -> int:
        """Hold it.

        Args:
            x: the thing

        Raises:
            ValueError: never
        """
        return x


@pytest.mark.parametrize("function", [plain, compound, nothing, Holder().method, Holder.method])
def test_a_schema_is_that_of_transformers(function: Any) -> None:
    theirs = extra("transformers.utils.chat_template_utils")
    assert function_schema(function) == theirs.get_json_schema(function)


def test_a_schema_has_the_annotations_and_the_docstring() -> None:
    made = function_schema(plain)
    assert made["type"] == "function"
    assert made["function"]["name"] == "plain"
    assert made["function"]["description"] == "Say what the weather will be.\n\nIt is a guess.\n\n  Always."
    parameters = made["function"]["parameters"]
    assert parameters["required"] == ["place"]
    assert parameters["properties"]["place"] == {"type": "string", "description": "a town: where people live"}
    assert parameters["properties"]["factor"] == {"type": "number", "enum": [0.5, 1.0], "description": "the mood"}
    assert made["function"]["return"] == {"type": "string", "description": "What the weather will be."}
    compounds = function_schema(compound)["function"]["parameters"]["properties"]
    assert compounds["e"] == {"type": "number", "nullable": True, "description": "e"}
    assert compounds["f"] == {"type": ["integer", "string"], "description": "f"}
    assert compounds["h"] == {"type": "string", "enum": ["p", "q"], "description": "h"}
    assert compounds["m"] == {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "m"}


def test_types_in_the_args_section_are_read_over() -> None:
    def typed(x: int) -> int:
        """Do it.

        Arguments:
            x (`int`, *optional*): the thing
        """
        return x

    assert function_schema(typed)["function"]["parameters"]["properties"]["x"]["description"] == "the thing"


def undocumented(x: int) -> None:
    pass


def undescribed(x: int) -> None:
    """Do it."""


def unannotated(x) -> None:  # type: ignore[no-untyped-def]
    """Do it.

    Args:
        x: x
    """


def odd(x: bytes) -> None:
    """Do it.

    Args:
        x: x
    """


def starred(*x: int) -> None:
    """Do it.

    Args:
        x: x
    """


def chosen(x: str) -> None:
    """Do it.

    Args:
        x: x (choices: [a, b])
    """


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (undocumented, "undocumented has no docstring"),
        (undescribed, "argument 'x': the docstring's Args section does not describe it"),
        (unannotated, "argument 'x': an annotation is missing"),
        (odd, "<class 'bytes'> has no schema"),
        (starred, r"\* and \*\* arguments cannot"),
        (chosen, "they must be a JSON list"),
        (7, "a tool is 7; it must be a function or a JSON schema"),
    ],
)
def test_what_is_missing_is_named(function: Any, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        function_schema(function)
