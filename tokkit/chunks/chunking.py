"""Cuts a text into chunks of at most n tokens, which may overlap, at ends of paragraphs, sentences or words."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from tokkit.chunks.planning import Planner
from tokkit.errors import OptionError

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

At = Literal["word", "sentence", "paragraph", "markdown", "code"]
"""The strongest boundary at which a chunk may end."""
MIN_TOKENS = 8
"""Minimum of `tokens`; hardly any character has more tokens."""
WINDOW = 1 << 18
"""Minimum characters that are tokenized at a time; the ids and ranks of a window take about 20 bytes per token."""
A_TOKEN = 16
"""Characters of a window per token of a chunk, so that a window holds several chunks of any size."""


class Chunk(NamedTuple):
    """A chunk: `text` is the characters `start` to `end` of the text, and has `n_tokens` tokens when encoded alone."""

    text: str
    start: int
    end: int
    n_tokens: int


def chunk(text: str, tok: Tokenizer, *, tokens: int = 512, overlap: int = 0, at: At = "paragraph") -> Iterator[Chunk]:
    r"""Yield chunks of a text, each with at most `tokens` tokens when encoded alone, without special tokens.

    A chunk ends at the last of the strongest boundaries in its last third, and the next one begins at such a boundary
    within the `overlap` tokens before that end. `at` is the strongest boundary that is used:

    - "paragraph": an empty line; then a line end, the end of a sentence, and white space;
    - "sentence": the end of a sentence, a line or a paragraph, whichever comes last;
    - "word": white space, so that chunks are as full as they can be;
    - "markdown": a heading, the highest first, then as "paragraph"; code between fences is cut only if it is longer
      than a chunk;
    - "code": the line end before the least indented line, an empty line first: before a class or function, in any
      language.

    The last two search the last half of a chunk, and keep the indentation of its first line. Together, chunks cover
    everything except white space. Characters are never cut: one with more tokens than allowed is still a chunk.
    OptionError for fewer than 8 tokens, or an overlap of more than half of them.

    >>> import tokkit
    >>> tok = tokkit.train(iter(["a b"]), vocab_size=256)
    >>> [(c.text, c.start, c.n_tokens) for c in chunk("One two three.\nFour, five.", tok, tokens=16)]
    [('One two three.', 0, 14), ('Four, five.', 15, 11)]
    """
    if not isinstance(text, str):
        raise TypeError(f"text is {type(text).__name__}; it must be str")
    check(tokens, overlap, at)
    blocks = (text[i : i + WINDOW] for i in range(0, len(text), WINDOW))
    return chunks_of(blocks, Planner(tok, tokens, overlap, get_args(At).index(at)))


def check(tokens: int, overlap: int, at: At = "paragraph") -> None:
    """Raise OptionError for invalid sizes, or an unknown `at`."""
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < MIN_TOKENS:
        raise OptionError(f"tokens is {tokens!r}; it must be at least {MIN_TOKENS}")
    if isinstance(overlap, bool) or not isinstance(overlap, int) or not 0 <= overlap <= tokens // 2:
        raise OptionError(f"overlap is {overlap!r}; for chunks of {tokens} tokens it must be from 0 to {tokens // 2}")
    if at not in get_args(At):
        raise OptionError(f"at is {at!r}; it must be one of {', '.join(get_args(At))}")


def chunks_of(blocks: Iterable[str], planner: Planner) -> Iterator[Chunk]:
    """Yield the chunks of a text that arrives in blocks; the chunks do not depend on the sizes of the blocks."""
    size = max(WINDOW, A_TOKEN * planner.tokens)
    more = iter(blocks)
    text, start, ended = "", 0, False
    while not ended or text:
        while len(text) < size and not ended:
            block = next(more, None)
            text, ended = text + (block or ""), block is None
        last = ended and len(text) <= size
        spans, used = planner.plan(text[:size], last=last)
        for a, b, n_tokens in spans:
            yield Chunk(text[a:b], start + a, start + b, n_tokens)
        # No chunk ends in this window, so a larger window is needed.
        size = max(WINDOW, A_TOKEN * planner.tokens) if used else 2 * size
        text, start = text[used:], start + used


def chunks(text: str, tok: Tokenizer, *, tokens: int, overlap: int = 0) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the chunks of a text; the old form of `chunk`, with a DeprecationWarning."""
    warnings.warn("chunks is now tokkit.chunks.chunk, which also yields texts", DeprecationWarning, stacklevel=2)
    return ((found.start, found.end) for found in chunk(text, tok, tokens=tokens, overlap=overlap))
