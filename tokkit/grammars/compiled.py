"""`CompiledGrammar` and `GrammarConstraint`: a grammar over the tokens of a tokenizer, and a place in a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from tokkit import limits
from tokkit._core.decode import GrammarCursor, GrammarMachine, mask_logits
from tokkit.errors import GrammarError
from tokkit.grammars.network import build
from tokkit.grammars.nodes import Rules
from tokkit.grammars.tokens import TokenSpellings

if TYPE_CHECKING:
    from tokkit.nn.arrays import Floats

SHOWN = 60
"""Characters of a text that a message quotes."""


class CompiledGrammar:
    """A grammar for one tokenizer. It keeps which tokens each place allows, so that a place is computed once.

    What it keeps is bounded by the limit `grammar_bytes` that applied when it was made. Threads may share it.
    """

    def __init__(self, rules: Rules, tokens: TokenSpellings) -> None:
        network = build(rules, tokens.alphabet)
        self.tokens = tokens
        self.max_bytes = int(limits.current().grammar_bytes)
        self._machine = GrammarMachine(
            tokens.tries, tokens.first_tries, network.first_edge, network.first_jump, network.low, network.high,
            network.target, network.entry, network.resume, network.ends, network.start, network.class_of,
            network.example, max_bytes=self.max_bytes,
        )  # fmt: skip

    def start(self) -> GrammarConstraint:
        """Return the place at the start of a text."""
        return GrammarConstraint(self, self._machine.cursor(), [])

    @property
    def n_bytes(self) -> int:
        """How many bytes the places known so far take."""
        return self._machine.n_bytes

    def __repr__(self) -> str:
        return f"<CompiledGrammar: {self._machine.n_states} states, {self.n_bytes:,} bytes>"


class GrammarConstraint:
    """A place in a text that follows a grammar: which tokens may come next. `CompiledGrammar.start` makes it.

    `allowed` are tokens after which the text can still be completed, byte by byte if need be. Bytes of a character may
    be spread over tokens.
    """

    __slots__ = ("_compiled", "_cursor", "_ids")

    def __init__(self, compiled: CompiledGrammar, cursor: GrammarCursor, ids: list[int]) -> None:
        self._compiled, self._cursor, self._ids = compiled, cursor, ids

    @property
    def finished(self) -> bool:
        """Whether the text so far is whole: it may end here."""
        return self._cursor.accepts

    def allowed(self) -> NDArray[np.uint32]:
        """Return which ids may come next: uint32 words, bit i % 32 of word i // 32 for id i. None end a text.

        GrammarError if no id may come next and the text is not whole.
        """
        try:
            words = self._cursor.allowed()
        except OverflowError:
            self._too_large()
        if not words.any() and not self.finished:
            raise GrammarError(f"no token of the vocabulary can follow {self._shown()}, where the text is not whole")
        return words

    def allowed_ids(self) -> NDArray[np.int64]:
        """Return the ids that may come next, rising."""
        bits = np.unpackbits(self.allowed().view(np.uint8), bitorder="little")
        return np.flatnonzero(bits)

    def mask(self, logits: Floats) -> None:
        """Set logits (vocab_size), float32, of ids that may not come next to -infinity, those that end a text too."""
        mask_logits(logits, self.allowed())

    def advance(self, id_: int) -> None:
        """Take the id that came next; GrammarError for one that is not allowed, and the place stays what it was."""
        tokens = self._compiled.tokens
        if not 0 <= id_ < len(tokens.inside):
            raise GrammarError(f"no token has the id {id_}; ids run from 0 to {len(tokens.inside) - 1}")
        text = tokens.inside[id_] if self._ids else tokens.first.get(id_, tokens.inside[id_])
        if not text:
            raise GrammarError(f"the token {id_} has no text, or is a special token; it is not allowed here")
        try:
            read = self._cursor.advance(text)
        except OverflowError:
            self._too_large()
        if read < len(text):
            raise GrammarError(f"the token {id_}, {text!r}, is not allowed after {self._shown()}: at byte {read} of it")
        self._ids.append(id_)

    def copy(self) -> GrammarConstraint:
        """Return a state of its own at the same place."""
        return GrammarConstraint(self._compiled, self._cursor.copy(), list(self._ids))

    def _shown(self) -> str:
        tokens = self._compiled.tokens
        parts = [tokens.inside[id_] for id_ in self._ids]
        if self._ids:
            parts[0] = tokens.first.get(self._ids[0], parts[0])
        text = b"".join(parts).decode("utf-8", "replace")
        return f"{text[-SHOWN:]!r}" if text else "the start of the text"

    def _too_large(self) -> NoReturn:
        what = f"the grammar needs too many states after {self._shown()}"
        raise limits.exceeded("grammar_bytes", what, GrammarError, self._compiled.max_bytes) from None
