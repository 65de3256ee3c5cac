"""The pre-tokenizers: split a text into words."""

from __future__ import annotations

from typing import Any

from tokkit._core.align import AlignedText
from tokkit._core.text import to_utf8
from tokkit.compat.tokenizers import values
from tokkit.compat.tokenizers.component import Component, Parts, PatternSetting, Setting, failed, is_custom
from tokkit.compat.tokenizers.normalized_string import BEHAVIORS
from tokkit.compat.tokenizers.pre_tokenized_string import PreTokenizedString
from tokkit.encoding.alignment import character_spans
from tokkit.errors import TokkitError


class PreTokenizer(Component):
    """The base of all pre-tokenizers; `custom` wraps a Python object with a method `pre_tokenize(pretokenized)`."""

    _stage = "pre_tokenizer"

    @staticmethod
    def custom(pretok: Any) -> PreTokenizer:
        """Return a pre-tokenizer from an object whose `pre_tokenize` splits a `PreTokenizedString`."""
        made: PreTokenizer = PreTokenizer._custom(pretok)
        return made

    def pre_tokenize(self, pretok: PreTokenizedString) -> None:
        """Split a `PreTokenizedString`."""
        if not isinstance(pretok, PreTokenizedString):
            raise values.wrong_type("pretok", pretok, "a PreTokenizedString")
        if not is_custom(self._state):
            pretok.run(self._runs())
        elif "object" not in self._state:
            for part in self._state["pretokenizers"]:
                PreTokenizer._of(part).pre_tokenize(pretok)
        else:
            try:
                self._state["object"].part.pre_tokenize(pretok)
            except TokkitError:
                raise
            except Exception as error:
                raise failed(error) from error

    def pre_tokenize_str(self, sequence: str) -> list[tuple[str, tuple[int, int]]]:
        """Return the words of a text, with their spans in characters."""
        values.text("sequence", sequence)
        if self._state.get("pretokenizers") == []:  # drops no text, not even empty text
            return [(sequence, (0, len(sequence)))]
        if is_custom(self._state):
            text = PreTokenizedString(sequence)
            self.pre_tokenize(text)
            return [(part, span) for part, span, _ in text.get_splits()]
        aligned = AlignedText(sequence)
        self._runs().pretokenize(aligned)
        spans = character_spans(sequence, aligned.piece_spans(), to_utf8(sequence)).tolist()
        return [(part, (start, end)) for part, (start, end) in zip(aligned.pieces, spans, strict=True)]


def _behavior(name: str, value: Any) -> str:
    return values.camel(values.choice(name, value, BEHAVIORS))


def _scheme(name: str, value: Any) -> str:
    return values.choice(name, value, ("first", "never", "always"))


class BertPreTokenizer(PreTokenizer):
    """Splits at white space, and at each punctuation character."""

    def __init__(self) -> None:
        pass


class ByteLevel(PreTokenizer):
    """Splits as GPT-2 does, and replaces each byte by one of 256 characters (byte symbols)."""

    add_prefix_space = Setting(values.flag, default=True)
    trim_offsets = Setting(values.flag, default=True)
    use_regex = Setting(values.flag, default=True)

    def __init__(
        self, add_prefix_space: bool = True, trim_offsets: bool = True, use_regex: bool = True, **options: Any
    ) -> None:
        self._set(add_prefix_space=add_prefix_space, trim_offsets=trim_offsets, use_regex=use_regex)

    @staticmethod
    def alphabet() -> list[str]:
        """Return the 256 byte symbols, unordered."""
        from tokkit.byte_symbols import to_symbols

        return [to_symbols(bytes((byte,))) for byte in range(256)]


class CharDelimiterSplit(PreTokenizer):
    """Splits at a character, and drops it."""

    delimiter = Setting(values.character)

    def __init__(self, delimiter: str) -> None:
        self._set(delimiter=delimiter)


class Digits(PreTokenizer):
    """Splits digits from other characters, and from each other with `individual_digits`."""

    individual_digits = Setting(values.flag, default=False)

    def __init__(self, individual_digits: bool = False) -> None:
        self._set(individual_digits=individual_digits)


class FixedLength(PreTokenizer):
    """Splits after every `length` characters."""

    length = Setting(values.unsigned, default=5)

    def __init__(self, length: int = 5) -> None:
        self._set(length=length)


class Metaspace(PreTokenizer):
    """Replaces spaces by a mark, and splits before it."""

    replacement = Setting(values.character, default="▁")
    prepend_scheme = Setting(_scheme, default="always")
    split = Setting(values.flag, default=True)

    def __init__(self, replacement: str = "▁", prepend_scheme: str = "always", split: bool = True) -> None:
        self._set(replacement=replacement, prepend_scheme=prepend_scheme, split=split)

    @classmethod
    def _complete(cls, state: dict[str, Any]) -> None:
        state.pop("str_rep", None)
        if state.pop("add_prefix_space", True) is False:
            state["prepend_scheme"] = "never"
        super()._complete(state)


class Punctuation(PreTokenizer):
    """Splits at punctuation characters."""

    behavior = Setting(_behavior, default="Isolated", show=values.snake)

    def __init__(self, behavior: str = "isolated") -> None:
        self._set(behavior=behavior)


class Split(PreTokenizer):
    """Splits at the matches of a str or a Regex, or with `invert` between them."""

    pattern = PatternSetting()
    behavior = Setting(_behavior, default="Isolated", show=values.snake)
    invert = Setting(values.flag, default=False)

    def __init__(self, pattern: Any, behavior: str, invert: bool = False) -> None:
        self._set(pattern=pattern, behavior=behavior, invert=invert)


class UnicodeScripts(PreTokenizer):
    """Splits where the script changes."""

    def __init__(self) -> None:
        pass


class Whitespace(PreTokenizer):
    r"""Splits as the pattern `\w+|[^\w\s]+` matches."""

    def __init__(self) -> None:
        pass


class WhitespaceSplit(PreTokenizer):
    """Splits at white space."""

    def __init__(self) -> None:
        pass


class Sequence(Parts[PreTokenizer], PreTokenizer):
    """Several pre-tokenizers, one after the other."""

    _key = "pretokenizers"
    _stage_class = PreTokenizer

    def __init__(self, pretokenizers: list[PreTokenizer]) -> None:
        self._fill("pretokenizers", pretokenizers)
