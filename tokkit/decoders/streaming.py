"""Decodes ids one at a time, and returns text as soon as its characters are complete."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable

from tokkit.decoders import stages
from tokkit.decoders.base import Decoder
from tokkit.decoders.byte_level import ByteLevel
from tokkit.decoders.fuse import Fuse
from tokkit.decoders.sequence import Sequence, flat


class DecodeStream:
    """Decodes a stream of ids. The concatenated results, with that of `flush()`, equal `decode` of all ids.

    An incomplete character is held back until the ids that complete it have come; `flush` decodes the rest with
    `errors`. Use one stream for one sequence.
    """

    def __init__(self, token_bytes: Callable[[int], bytes], errors: str = "replace") -> None:
        self._token_bytes = token_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def step(self, id_: int) -> str:
        """Take one id and return the text that is now complete: "" inside a character."""
        return self._decoder.decode(self._token_bytes(id_))

    def flush(self) -> str:
        """Return what is held back, and start a new sequence."""
        try:
            return self._decoder.decode(b"", final=True)
        finally:
            self._decoder.reset()


class ChainStream:
    """Decodes a stream of ids with any decoder. The concatenated results, with `flush()`, equal `decode` of all tokens.

    There is one exception. `decode` returns U+FFFD for each byte of a run of byte tokens that is invalid UTF-8; a
    stream has already returned the characters before the invalid byte, and returns U+FFFD for each byte from there on.
    (The streams of tokenizers raise an error then.)

    Text that later tokens can change is held back: an incomplete character, spaces at an end that is stripped, and a
    run of byte tokens up to its end if other decoders than Fuse look at it. If that is all text (a regular expression
    after Fuse), `flush` returns everything. `token_text` returns the token of an id; if it raises, the stream is
    unchanged.

    >>> from tokkit.decoders.byte_fallback import ByteFallback
    >>> stream = ChainStream(ByteFallback(), ["a", "<0xC3>", "<0xA9>"].__getitem__)
    >>> [stream.step(0), stream.step(1), stream.step(2), stream.step(0), stream.flush()]
    ['a', '', 'é', 'a', '']
    """

    def __init__(self, decoder: Decoder, token_text: Callable[[int], str]) -> None:
        self._parts = list(flat(decoder))
        self._token_text = token_text
        self._stages = self._begin()

    def _begin(self) -> list[stages.Stage]:
        made: list[stages.Stage] = []
        joined = False
        for i, part in enumerate(self._parts):
            stage = stages.of_text(part) if joined else stages.of_tokens(part)
            if isinstance(stage, stages.ByteRuns) and _take_characters(self._parts[i + 1 :]):
                stage = stages.ByteCharacters()
            if stage is None:
                # Later stages hold text back too, and must get a token even if it is empty, because empty tokens count.
                return [*made, stages.Hold(Sequence(self._parts[i:]), joined=True)]
            made.append(stage)
            joined = joined or isinstance(part, (Fuse, ByteLevel))
        return made

    def step(self, id_: int) -> str:
        """Take one id and return the text that later ids cannot change, often ""."""
        texts: Iterable[str] = [self._token_text(id_)]
        for stage in self._stages:
            texts = [out for text in texts for out in stage.push(text)]
        return "".join(texts)

    def flush(self) -> str:
        """Return what is held back, and start a new sequence."""
        done, self._stages = self._stages, self._begin()
        texts: list[str] = []
        for stage in done:
            texts = [out for text in texts for out in stage.push(text)]
            texts += stage.finish()
        return "".join(texts)


def _take_characters(parts: list[Decoder]) -> bool:
    """Return whether decoders decode each character of a run of byte tokens as they decode the run, and at once."""
    return not parts or (isinstance(parts[0], Fuse) and all(stages.of_text(part) is not None for part in parts))
