"""The decoders: what makes text of tokens."""

from __future__ import annotations

from collections.abc import Sequence as ManyOf
from typing import Any

from tokkit.compat.tokenizers import values
from tokkit.compat.tokenizers.component import Component, Parts, PatternSetting, Setting, run
from tokkit.compat.tokenizers.decode_stream import DecodeStream as DecodeStream
from tokkit.compat.tokenizers.pre_tokenizers import Metaspace as _Metaspace
from tokkit.compat.tokenizers.pre_tokenizers import _scheme


class Decoder(Component):
    """The base of all decoders; `custom` makes one of a Python object with `decode_chain(tokens)`."""

    _stage = "decoder"

    @staticmethod
    def custom(decoder: Any) -> Decoder:
        """Return the decoder of an object whose `decode_chain` makes other strings of tokens."""
        made: Decoder = Decoder._custom(decoder)
        return made

    def decode(self, tokens: ManyOf[str]) -> str:
        """Return the text of tokens."""
        given = values.listed("tokens", tokens, values.text)
        text: str = run(self._stage, self._state).decode(given)
        return text


class BPEDecoder(Decoder):
    """Puts spaces in the place of a suffix."""

    suffix = Setting(values.text, default="</w>")

    def __init__(self, suffix: str = "</w>") -> None:
        self._set(suffix=suffix)


class ByteFallback(Decoder):
    """Makes bytes of tokens such as <0x61>."""

    def __init__(self) -> None:
        pass


class ByteLevel(Decoder):
    """Makes bytes of the 256 characters that stand for them."""

    add_prefix_space = Setting(values.flag, default=True)
    trim_offsets = Setting(values.flag, default=True)
    use_regex = Setting(values.flag, default=True)

    def __init__(self, **options: Any) -> None:
        pass


class CTC(Decoder):
    """Drops tokens that follow their like, and padding."""

    pad_token = Setting(values.text, default="<pad>")
    word_delimiter_token = Setting(values.text, default="|")
    cleanup = Setting(values.flag, default=True)

    def __init__(self, pad_token: str = "<pad>", word_delimiter_token: str = "|", cleanup: bool = True) -> None:
        self._set(pad_token=pad_token, word_delimiter_token=word_delimiter_token, cleanup=cleanup)


class Fuse(Decoder):
    """Joins all tokens to one."""

    def __init__(self) -> None:
        pass


class Metaspace(Decoder):
    """Puts spaces in the place of a mark."""

    replacement = Setting(values.character, default="▁")
    prepend_scheme = Setting(_scheme, default="always")
    split = Setting(values.flag, default=True)

    def __init__(self, replacement: str = "▁", prepend_scheme: str = "always", split: bool = True) -> None:
        self._set(replacement=replacement, prepend_scheme=prepend_scheme, split=split)

    @classmethod
    def _complete(cls, state: dict[str, Any]) -> None:
        _Metaspace._complete(state)


class Replace(Decoder):
    """Puts a text in the place of each match of a str or a Regex."""

    pattern = PatternSetting()
    content = Setting(values.text, default="")

    def __init__(self, pattern: Any, content: str) -> None:
        self._set(pattern=pattern, content=content)


class Strip(Decoder):
    """Takes a number of characters off the ends of tokens."""

    content = Setting(values.character, default=" ")
    start = Setting(values.unsigned, default=0)
    stop = Setting(values.unsigned, default=0)

    def __init__(self, content: str = " ", left: int = 0, right: int = 0) -> None:
        self._set(content=content, start=left, stop=right)


class WordPiece(Decoder):
    """Joins pieces to words, and these with spaces."""

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
