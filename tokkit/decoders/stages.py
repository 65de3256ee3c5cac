"""Streaming forms of the decoders, which return text as soon as later tokens cannot change it.

Before the tokens are joined (by Fuse, ByteLevel, or the end of the chain), a stage takes one token after another; after
that, it takes the single joined token part by part. A stage returns what later tokens cannot change, and holds the rest
back; a decoder without its own stage holds everything until the end.
"""

from __future__ import annotations

import abc
import codecs
from collections.abc import Callable, Iterable

from tokkit.decoders.base import Decoder
from tokkit.decoders.bpe import BPE
from tokkit.decoders.byte_fallback import ByteFallback, byte_of, text_of
from tokkit.decoders.byte_level import ByteLevel, bytes_of
from tokkit.decoders.ctc import CTC
from tokkit.decoders.fuse import Fuse
from tokkit.decoders.metaspace import Metaspace
from tokkit.decoders.replace import Replace
from tokkit.decoders.spaced import Spaced
from tokkit.decoders.strip import Strip
from tokkit.decoders.wordpiece import WordPiece


class Stage(abc.ABC):
    """Takes a token (or a part of the joined token), and returns tokens (or parts) that are now certain."""

    @abc.abstractmethod
    def push(self, text: str) -> Iterable[str]:
        """Take a token or part; return what is now certain."""

    def finish(self) -> Iterable[str]:
        """Return what was held back."""
        return []


def of_tokens(decoder: Decoder) -> Stage:
    """Return a new stage of a decoder that sees tokens."""
    match decoder:
        case Replace() | Strip():
            return Each(decoder)
        case Metaspace() | WordPiece() | Spaced():
            return Each(decoder, first_differs=True)
        case BPE():
            return Suffixes(decoder)
        case CTC():
            return Repeats(decoder)
        case ByteFallback():
            return ByteRuns()
        case ByteLevel():
            return Bytes()
        case Fuse():
            return Same()
    return Hold(decoder)


def of_text(decoder: Decoder) -> Stage | None:
    """Return a new stage of a decoder that sees the joined token part by part; None if it must see it whole."""
    match decoder:
        case Metaspace():
            return Same(lambda text: text.replace(decoder.replacement, decoder.in_first))
        case Replace(pattern={"String": str(literal)}) if literal:
            return Literal(literal, decoder.content)
        case BPE() if decoder.suffix:
            return Literal(decoder.suffix, "")
        case Strip():
            return Ends(decoder)
        case BPE() | Fuse() | Spaced() | WordPiece(cleanup=False):
            return Same()
    return None


class Same(Stage):
    """Changes every part in the same way, without holding anything back."""

    def __init__(self, change: Callable[[str], str] = str) -> None:
        self.change = change

    def push(self, text: str) -> Iterable[str]:  # noqa: D102
        return [self.change(text)]


class Each(Stage):
    """Changes every token without holding it back; the first token may be treated differently."""

    def __init__(self, decoder: Decoder, *, first_differs: bool = False) -> None:
        self.decoder, self.first_differs, self.begun = decoder, first_differs, False

    def push(self, text: str) -> Iterable[str]:  # noqa: D102
        before = [""] if self.first_differs and self.begun else []
        self.begun = True
        return self.decoder.decode_chain([*before, text])[len(before) :]


class Suffixes(Stage):
    """Holds a token with a suffix back until it is known whether it is the last one."""

    def __init__(self, decoder: BPE) -> None:
        self.decoder = decoder
        self.held: list[str] = []

    def push(self, text: str) -> Iterable[str]:  # noqa: D102
        out = self.decoder.decode_chain([*self.held, ""])[:-1]
        self.held = [text]
        return [*out, *([] if self.decoder.suffix in text else self.finish())]

    def finish(self) -> Iterable[str]:  # noqa: D102
        out, self.held = self.decoder.decode_chain(self.held), []
        return out


class Repeats(Stage):
    """Drops a token that is equal to the one before it."""

    def __init__(self, decoder: CTC) -> None:
        self.decoder = decoder
        self.last: str | None = None

    def push(self, text: str) -> Iterable[str]:  # noqa: D102
        again, self.last = text == self.last, text
        return [] if again else self.decoder.decode_chain([text])


class ByteRuns(Stage):
    """Holds a run of byte tokens back to its end: one invalid byte anywhere makes the whole run U+FFFD."""

    def __init__(self) -> None:
        self.run = bytearray()

    def push(self, text: str) -> Iterable[str]:  # noqa: D102
        byte = byte_of(text)
        if byte is None:
            return [*self.finish(), text]
        self.run.append(byte)
        return []

    def finish(self) -> Iterable[str]:  # noqa: D102
        out = text_of(self.run) if self.run else []
        self.run.clear()
        return out


class ByteCharacters(Stage):
    """Returns each character of a run of byte tokens when its last byte has come.

    A byte that makes the run invalid changes what was not returned: from there on, each byte is U+FFFD.
    """

    def __init__(self) -> None:
        self.decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self.n_held = 0
        self.valid = True

    def push(self, text: str) -> Iterable[str]:  # noqa: D102
        byte = byte_of(text)
        if byte is None:
            return [*self.finish(), text]
        self.n_held += 1
        if self.valid:
            try:
                character = self.decoder.decode(bytes([byte]))
            except UnicodeDecodeError:
                self.valid = False
            else:
                self.n_held = 0 if character else self.n_held
                return [character] if character else []
        return self._invalid()

    def finish(self) -> Iterable[str]:  # noqa: D102
        self.decoder.reset()
        self.valid = True
        return self._invalid()

    def _invalid(self) -> list[str]:
        out, self.n_held = ["\ufffd"] * self.n_held, 0
        return out


class Bytes(Stage):
    """Holds the bytes of an incomplete character back."""

    def __init__(self) -> None:
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, text: str) -> Iterable[str]:  # noqa: D102
        return [self.decoder.decode(bytes_of(text))]

    def finish(self) -> Iterable[str]:  # noqa: D102
        return [self.decoder.decode(b"", final=True)]


class Hold(Stage):
    """Holds everything back until the end."""

    def __init__(self, decoder: Decoder, *, joined: bool = False) -> None:
        self.decoder, self.joined = decoder, joined
        self.held: list[str] = []

    def push(self, text: str) -> Iterable[str]:  # noqa: D102
        self.held.append(text)
        return []

    def finish(self) -> Iterable[str]:  # noqa: D102
        out, self.held = self.decoder.decode_chain(["".join(self.held)] if self.joined else self.held), []
        return out


class Literal(Stage):
    """Replaces a literal text; holds back an end that may be the beginning of a match."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new
        self.held = ""

    def push(self, text: str) -> Iterable[str]:  # noqa: D102
        *done, rest = (self.held + text).split(self.old)
        n = min(len(self.old) - 1, len(rest))
        while n and not self.old.startswith(rest[len(rest) - n :]):
            n -= 1
        self.held = rest[len(rest) - n :]
        return ["".join(part + self.new for part in done) + rest[: len(rest) - n]]

    def finish(self) -> Iterable[str]:  # noqa: D102
        out, self.held = [self.held], ""
        return out


class Ends(Stage):
    """Strips both ends; holds back what may be at the right end."""

    def __init__(self, decoder: Strip) -> None:
        self.content, self.stop = decoder.content, decoder.stop
        self.left = decoder.start
        self.held = ""

    def push(self, text: str) -> Iterable[str]:  # noqa: D102
        n = min(self.left, len(text) - len(text.lstrip(self.content)))
        if text:  # some text remains, so the left end is done
            self.left = self.left - n if n == len(text) else 0
        text = self.held + text[n:]
        n = min(self.stop, len(text) - len(text.rstrip(self.content)))
        self.held = text[len(text) - n :]
        return [text[: len(text) - n]]
