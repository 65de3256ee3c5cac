"""Computes costs of tokens from the user's price table, in exact decimals; no prices are built in.

The table is TOML with one section per model and prices per million tokens:

    currency = "USD"

    [gpt-4o]
    input = 2.50
    output = 10.00
    window = 128000        # optional: the maximum of input and output tokens together
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tokkit.errors import FormatError, OptionError

MILLION = 1_000_000
KEYS = ("input", "output", "window")


@dataclass(frozen=True, slots=True)
class Price:
    """Prices of a model per million tokens, and its context window if known; some models have no output."""

    input: Decimal
    output: Decimal | None = None
    window: int | None = None

    def cost(self, input_tokens: int, output_tokens: int = 0) -> Decimal:
        """Return the cost of these tokens; OptionError if output tokens have no price.

        >>> Price(Decimal("2.50"), Decimal("10.00")).cost(1000, 500)
        Decimal('0.0075')
        """
        for name, n in (("input_tokens", input_tokens), ("output_tokens", output_tokens)):
            if isinstance(n, bool) or not isinstance(n, int) or n < 0:
                raise OptionError(f"{name} is {n!r}; it must be an int of at least 0")
        if output_tokens and self.output is None:
            raise OptionError(f"{output_tokens} output tokens have no price: write output = 10.00, per million")
        output = self.output or Decimal(0)
        return ((self.input * input_tokens + output * output_tokens) / MILLION).normalize() + Decimal(0)


@dataclass(frozen=True, slots=True)
class Prices:
    """A table of prices: model → `Price`."""

    models: Mapping[str, Price]
    currency: str = ""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Prices:
        """Read a table; FormatError names what is wrong, and OSErrors are not caught."""
        import tomllib

        from tokkit.files.files import naming, show

        with open(path, "rb") as file:
            try:
                table = tomllib.load(file, parse_float=Decimal)
            except ValueError as error:
                raise FormatError(f"{show(path)} is not TOML: {error}") from None
        with naming(path):
            currency = table.pop("currency", "")
            if not isinstance(currency, str):
                raise FormatError(f"currency is {currency!r}; it must be text")
            return cls({name: _price(name, section) for name, section in table.items()}, currency)

    def of(self, model: str) -> Price:
        """Return the prices of a model; the OptionError for an unknown one lists the models of the table."""
        if model not in self.models:
            known = ", ".join(self.models) or "none"
            raise OptionError(f"the table has no prices for {model!r}; it has {known}")
        return self.models[model]


def _price(name: str, section: Any) -> Price:
    if not isinstance(section, Mapping):
        raise FormatError(f"{name} is not a section; write [{name}] and its prices below")
    if wrong := [key for key in section if key not in KEYS]:
        raise FormatError(f"[{name}] has the unknown key {wrong[0]!r}; it may have {', '.join(KEYS)}")
    if "input" not in section:
        raise FormatError(f"[{name}] has no price for input tokens: input = 2.50, per million")
    for key, value in section.items():
        kinds = (int,) if key == "window" else (int, Decimal)
        if isinstance(value, bool) or not isinstance(value, kinds) or not Decimal(value).is_finite() or value < 0:
            what = "a number of tokens" if key == "window" else "a price per million tokens"
            raise FormatError(f"[{name}] {key} is {value!r}; it must be {what}, at least 0")
    prices = {key: Decimal(section[key]) for key in ("input", "output") if key in section}
    return Price(**prices, window=section.get("window"))
