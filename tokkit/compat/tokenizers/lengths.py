"""The truncation and the padding of a tokenizer, as options and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tokkit.compat.tokenizers import values
from tokkit.encoding.length_rules import Padding, Truncation
from tokkit.formats import tokenizer_json

STRATEGIES = ("longest_first", "only_first", "only_second")
DIRECTIONS = ("left", "right")


@dataclass
class Lengths:
    """The truncation and the padding, None if there is none."""

    truncation: Truncation | None = None
    padding: Padding | None = None

    def enable_truncation(
        self,
        max_length: int,
        *,
        stride: int = 0,
        strategy: str = "longest_first",
        direction: str = "right",
        **options: Any,
    ) -> None:
        """Set the truncation."""
        values.ignored(list(options))
        self.truncation = Truncation(
            max_length=values.unsigned("max_length", max_length),
            stride=values.unsigned("stride", stride),
            strategy=values.choice("strategy", strategy, STRATEGIES),  # type: ignore[arg-type]
            direction=values.choice("direction", direction, DIRECTIONS),  # type: ignore[arg-type]
        )

    def enable_padding(
        self,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
        **options: Any,
    ) -> None:
        """Set the padding."""
        values.ignored(list(options))
        optional = values.optional(values.unsigned)
        self.padding = Padding(
            length=optional("length", length),
            direction=values.choice("direction", direction, DIRECTIONS),  # type: ignore[arg-type]
            pad_to_multiple_of=optional("pad_to_multiple_of", pad_to_multiple_of),
            pad_id=values.token_id("pad_id", pad_id),
            pad_type_id=values.token_id("pad_type_id", pad_type_id),
            pad_token=values.text("pad_token", pad_token),
        )

    @property
    def truncation_options(self) -> dict[str, Any] | None:
        """The truncation as `enable_truncation` takes it."""
        names = ("max_length", "stride", "strategy", "direction")
        return None if self.truncation is None else {name: getattr(self.truncation, name) for name in names}

    @property
    def padding_options(self) -> dict[str, Any] | None:
        """The padding as `enable_padding` takes it."""
        names = ("length", "pad_to_multiple_of", "pad_id", "pad_token", "pad_type_id", "direction")
        return None if self.padding is None else {name: getattr(self.padding, name) for name in names}

    def json(self) -> dict[str, Any]:
        """Return both as in a tokenizer.json."""
        return tokenizer_json.write_lengths(self.truncation, self.padding)
