"""The decoders: turn tokens into text."""

from __future__ import annotations

from collections.abc import Sequence as ManyOf
from typing import Any

from tokkit.compat.tokenizers import values
from tokkit.compat.tokenizers.component import Component, Parts, PatternSetting, Setting
from tokkit.compat.tokenizers.decode_stream import DecodeStream as DecodeStream
from tokkit.compat.tokenizers.pre_tokenizers import Metaspace as _Metaspace
from tokkit.compat.tokenizers.pre_tokenizers import _scheme


class Decoder(Component):
    """The base of all decoders; `custom` wraps a Python object with a method `decode_chain(tokens)`."""

    _stage = "decoder"

    @staticmethod
    def custom(decoder: Any) -> Decoder:
        """Return a decoder from an object whose `decode_chain` maps tokens to other strings."""
        made: Decoder = Decoder._custom(decoder)
        return made

    def decode(self, tokens: ManyOf[str]) -> str:
        """Return the text of tokens."""
        given = values.listed("tokens", tokens, values.text)
        text: str = self._runs().decode(given)
        return text


class BPEDecoder(Decoder):
    """Replaces a suffix with a space."""

    suffix = Setting(values.text, default="</w>")

    def __init__(self, suffix: str = "</w>") -> None:
        self._set(suffix=suffix)


class ByteFallback(Decoder):
    """Turns tokens such as <0x61> into bytes."""

    def __init__(self) -> None:
        pass


class ByteLevel(Decoder):
    """Turns the 256 byte symbols into bytes."""

    add_prefix_space = Setting(values.flag, default=True)
    trim_offsets = Setting(values.flag, default=True)
    use_regex = Setting(values.flag, default=True)

    def __init__(self, **options: Any) -> None:
        pass


class CTC(Decoder):
    """Drops repeated tokens and padding (CTC)."""

    pad_token = Setting(values.text, default="<pad>")
    word_delimiter_token = Setting(values.text, default="|")
    cleanup = Setting(values.flag, default=True)

    def __init__(self, pad_token: str = "<pad>", word_delimiter_token: str = "|", cleanup: bool = True) -> None:
        self._set(pad_token=pad_token, word_delimiter_token=word_delimiter_token, cleanup=cleanup)


class Fuse(Decoder):
    """Joins all tokens into one."""

    def __init__(self) -> None:
        pass


class Metaspace(Decoder):
    """Replaces a mark with a space."""

    replacement = Setting(values.character, default="▁")
    prepend_scheme = Setting(_scheme, default="always")
    split = Setting(values.flag, default=True)

    def __init__(self, replacement: str = "▁", prepend_scheme: str = "always", split: bool = True) -> None:
        self._set(replacement=replacement, prepend_scheme=prepend_scheme, split=split)

    @classmethod
    def _complete(cls, state: dict[str, Any]) -> None:
        _Metaspace._complete(state)


class Replace(Decoder):
    """Replaces each match of a str or a Regex."""

    pattern = PatternSetting()
    content = Setting(values.text, default="")

    def __init__(self, pattern: Any, content: str) -> None:
        self._set(pattern=pattern, content=content)


class Strip(Decoder):
    """Strips a number of characters from the ends of tokens."""

    content = Setting(values.character, default=" ")
    start = Setting(values.unsigned, default=0)
    stop = Setting(values.unsigned, default=0)

    def __init__(self, content: str = " ", left: int = 0, right: int = 0) -> None:
        self._set(content=content, start=left, stop=right)


class WordPiece(Decoder):
    """Joins WordPiece tokens to words, and words with spaces."""

    prefix = Setting(values.text, default="##")
    cleanup = Setting(values.flag, default=True)

    def __init__(self, prefix: str = "##", cleanup: bool = True) -> None:
        self._set(prefix=prefix, cleanup=cleanup)


class Sequence(Parts[Decoder], Decoder):
    """Several decoders, one after the other."""

    _key = "decoders"
    _flat = False
    _stage_class = Decoder

    __getitem__ = __setitem__ = None  # type: ignore[assignment]

    def __init__(self, decoders: list[Decoder]) -> None:
        self._fill("decoders", decoders)
