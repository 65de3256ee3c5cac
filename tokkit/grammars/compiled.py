"""`CompiledGrammar` and `GrammarConstraint`: a grammar over the tokens of a tokenizer, and its state in one text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from tokkit import limits
from tokkit._core.grammars import GrammarCursor, GrammarMachine, mask_logits
from tokkit.errors import GrammarError
from tokkit.grammars.network import build
from tokkit.grammars.nodes import Rules
from tokkit.grammars.tokens import TokenSpellings

if TYPE_CHECKING:
    from tokkit.nn.arrays import Floats

SHOWN = 60
"""Maximum number of characters of a text that a message quotes."""


class CompiledGrammar:
    """A grammar compiled for one tokenizer. It keeps the mask of each state that a text has come to.

    The limit `grammar_bytes` at the time of compiling bounds the memory for them. Threads may share it.
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
        """Return the constraint of a new text."""
        return GrammarConstraint(self, self._machine.cursor(), [])

    @property
    def n_bytes(self) -> int:
        """Bytes of memory for states and masks so far."""
        return self._machine.n_bytes

    def __repr__(self) -> str:
        return f"<CompiledGrammar: {self._machine.n_states} states, {self.n_bytes:,} bytes>"


class GrammarConstraint:
    """The state of one text under a grammar: which tokens may come next. `CompiledGrammar.start` makes it.

    A token is allowed if the text can still be completed after it. A token may end inside a character.
    """

    __slots__ = ("_compiled", "_cursor", "_ids")

    def __init__(self, compiled: CompiledGrammar, cursor: GrammarCursor, ids: list[int]) -> None:
        self._compiled, self._cursor, self._ids = compiled, cursor, ids

    @property
    def finished(self) -> bool:
        """Whether the text is complete and may end here."""
        return self._cursor.accepts

    def allowed(self) -> NDArray[np.uint32]:
        """Return the ids that may come next as bits: uint32 words, bit i % 32 of word i // 32 for id i.

        Ids that end a text are not among them. GrammarError if there are none and the text is not complete.
        """
        try:
            words = self._cursor.allowed()
        except OverflowError:
            self._too_large()
        if not words.any() and not self.finished:
            raise GrammarError(f"no token of the vocabulary can follow {self._shown()}, but the text is not complete")
        return words

    def allowed_ids(self) -> NDArray[np.int64]:
        """Return the ids that may come next, in ascending order."""
        bits = np.unpackbits(self.allowed().view(np.uint8), bitorder="little")
        return np.flatnonzero(bits)

    def mask(self, logits: Floats) -> None:
        """Set the logits (vocab_size), float32, of all other ids to -infinity, also of those that end a text."""
        mask_logits(logits, self.allowed())

    def advance(self, id_: int) -> None:
        """Go on by the id that came next. One that is not allowed raises GrammarError and changes nothing."""
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
        """Return an independent constraint in the same state."""
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
