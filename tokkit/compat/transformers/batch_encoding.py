"""`BatchEncoding`: the result of calling a tokenizer, a dictionary with look-ups between tokens and text."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from tokkit.compat.transformers import tensors
from tokkit.errors import OptionError

if TYPE_CHECKING:
    from tokkit.encoding import Encoding


class CharSpan(NamedTuple):
    """A span of characters."""

    start: int
    end: int


class TokenSpan(NamedTuple):
    """A range of tokens."""

    start: int
    end: int


class LazyEncodings(Sequence["Encoding"]):
    """Encodings that are made when one of them is first used."""

    def __init__(self, make: Callable[[], list[Encoding]], n: int) -> None:
        self._make: Callable[[], list[Encoding]] | None = make
        self._n, self._made = n, []

    _made: list[Encoding]

    def _all(self) -> list[Encoding]:
        if self._make is not None:
            self._made, self._make = self._make(), None
        return self._made

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> Encoding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Encoding]: ...
    def __getitem__(self, index: int | slice) -> Encoding | list[Encoding]:
        return self._all()[index]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self._all(),)


class BatchEncoding(UserDict[str, Any]):
    """A dictionary of `input_ids`, `attention_mask` and others, which are attributes too.

    Look-ups take the index of the text in the batch first; it may be omitted for the first text. They need the
    `Encoding` of each text, which is made at first use. `batch[i]` is that encoding.

    >>> BatchEncoding({"input_ids": [[5, 6]]}, tensor_type="np").input_ids.shape
    (1, 2)
    """

    def __init__(
        self,
        data: dict[str, Any] | None = None,
        encoding: Encoding | Sequence[Encoding] | None = None,
        tensor_type: Any = None,
        prepend_batch_axis: bool = False,
        n_sequences: int | None = None,
    ) -> None:
        self.data = {} if data is None else dict(data)
        self._encodings: Any = [encoding] if hasattr(encoding, "char_to_token") else encoding
        self._n_sequences = n_sequences
        self.convert_to_tensors(tensor_type, prepend_batch_axis)

    @property
    def n_sequences(self) -> int | None:
        """1 for texts, 2 for pairs, None if unknown."""
        if self._n_sequences is None and self._encodings:
            self._n_sequences = int(self._encodings[0].n_sequences)
        return self._n_sequences

    @property
    def is_fast(self) -> bool:
        """Whether there are encodings for look-ups."""
        return self._encodings is not None

    @property
    def encodings(self) -> Any:
        """The encoding of each text; None if there are none."""
        return self._encodings

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, str):
            return self.data[item]
        if self._encodings is not None:
            return self._encodings[item]
        if isinstance(item, slice):
            return {key: value[item] for key, value in self.data.items()}
        raise KeyError(f"the key is {item!r}; it must be a str or a slice, because there are no encodings")

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["data"][name]
        except KeyError:
            raise AttributeError(f"there is no {name!r} in this BatchEncoding") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data, "encodings": self._encodings, "n_sequences": self._n_sequences}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.data, self._encodings = state["data"], state["encodings"]
        self._n_sequences = state.get("n_sequences")

    # ---- look-ups

    def _encoding(self, index: int) -> Encoding:
        if not self._encodings:
            raise OptionError("there are no encodings: this BatchEncoding was not made by calling a tokenizer")
        encoding: Encoding = self._encodings[index]
        return encoding

    def _place(self, first: int, second: int | None) -> tuple[Encoding, int]:
        """Return the encoding and the position for (batch index, position) or (position, None)."""
        index, position = (0, first) if second is None else (first, second)
        encoding = self._encoding(index)
        if position < 0:
            raise OverflowError(f"the position is {position}; it must be at least 0")
        return encoding, position

    def tokens(self, batch_index: int = 0) -> list[str]:
        """Return the tokens of a text."""
        return self._encoding(batch_index).tokens

    def sequence_ids(self, batch_index: int = 0) -> list[int | None]:
        """Return for each token 0 for the text, 1 for its pair, None for special tokens."""
        return self._encoding(batch_index).sequence_ids

    def word_ids(self, batch_index: int = 0) -> list[int | None]:
        """Return the number of the word of each token; None for special tokens."""
        return self._encoding(batch_index).word_ids

    def token_to_sequence(self, batch_or_token_index: int, token_index: int | None = None) -> int | None:
        """Return the number of the text that a token is part of."""
        encoding, token = self._place(batch_or_token_index, token_index)
        return encoding.token_to_sequence(token)

    def token_to_word(self, batch_or_token_index: int, token_index: int | None = None) -> int | None:
        """Return the number of the word of a token."""
        encoding, token = self._place(batch_or_token_index, token_index)
        return encoding.token_to_word(token)

    def token_to_chars(self, batch_or_token_index: int, token_index: int | None = None) -> CharSpan | None:
        """Return the span of a token in characters of its text."""
        encoding, token = self._place(batch_or_token_index, token_index)
        span = encoding.token_to_chars(token)
        return None if span is None else CharSpan(*span)

    def word_to_tokens(
        self, batch_or_word_index: int, word_index: int | None = None, sequence_index: int = 0
    ) -> TokenSpan | None:
        """Return the span of tokens of a word."""
        encoding, word = self._place(batch_or_word_index, word_index)
        span = encoding.word_to_tokens(word, sequence_index)
        return None if span is None else TokenSpan(*span)

    def word_to_chars(
        self, batch_or_word_index: int, word_index: int | None = None, sequence_index: int = 0
    ) -> CharSpan:
        """Return the span of a word in characters of its text; TypeError if there is no such word."""
        encoding, word = self._place(batch_or_word_index, word_index)
        span = encoding.word_to_chars(word, sequence_index)
        if span is None:
            raise TypeError(f"there is no word {word} in text {sequence_index}")
        return CharSpan(*span)

    def char_to_token(
        self, batch_or_char_index: int, char_index: int | None = None, sequence_index: int = 0
    ) -> int | None:
        """Return the token that contains a character of a text."""
        encoding, character = self._place(batch_or_char_index, char_index)
        return encoding.char_to_token(character, sequence_index)

    def char_to_word(
        self, batch_or_char_index: int, char_index: int | None = None, sequence_index: int = 0
    ) -> int | None:
        """Return the number of the word that contains a character of a text."""
        encoding, character = self._place(batch_or_char_index, char_index)
        return encoding.char_to_word(character, sequence_index)

    # ---- tensors

    def convert_to_tensors(self, tensor_type: Any = None, prepend_batch_axis: bool = False) -> BatchEncoding:
        """Make tensors of all values, "np" or "pt", in place; ValueError if rows have different lengths."""
        if tensor_type is None:
            return self
        make, is_tensor = tensors.maker(tensors.choice("return_tensors", tensor_type, *tensors.TENSORS))
        for key, value in self.data.items():
            if is_tensor(value) and not prepend_batch_axis:
                continue
            try:
                self.data[key] = make([value] if prepend_batch_axis else value)
            except (TypeError, ValueError, RuntimeError) as error:
                raise OptionError(
                    f"{key} cannot be a tensor ({error}); rows must have the same length: pass padding=True and "
                    "truncation=True"
                ) from None
        return self

    def to(self, device: Any, *, non_blocking: bool = False) -> BatchEncoding:
        """Move all tensors of torch to a device, in place."""
        tensors.maker("pt")  # ImportError without torch
        for key, value in self.data.items():
            if callable(getattr(value, "to", None)):
                self.data[key] = value.to(device=device, non_blocking=non_blocking)
        return self
