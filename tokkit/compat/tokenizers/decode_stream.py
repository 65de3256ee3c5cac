"""`DecodeStream`: decodes ids one by one, and returns text as soon as it is complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tokkit.compat.tokenizers import values
from tokkit.errors import TokkitError

if TYPE_CHECKING:
    from tokkit.compat.tokenizers.tokenizer import Tokenizer

REPLACEMENT = "\ufffd"


class DecodeStream:
    """Decodes a stream of ids; it keeps the last tokens, because later ones may change their text."""

    def __init__(self, ids: Sequence[int] | None = None, skip_special_tokens: bool | None = False) -> None:
        self._ids = [] if ids is None else values.listed("ids", ids, values.token_id)
        self._skip = bool(skip_special_tokens)
        self._known = ""
        self._n_known = 0

    def step(self, tokenizer: Tokenizer, id: int | Sequence[int]) -> str | None:
        """Return the text that one or more ids complete; None if the text is not complete yet.

        TokkitError if later ids change text that was returned: an invalid byte changes its whole run of byte tokens.
        """
        more = [values.token_id("id", id)] if hasattr(id, "__index__") else values.listed("id", id, values.token_id)
        if self._ids and not self._known:
            text = self._decoded(tokenizer)
            if not text.endswith(REPLACEMENT):
                self._known, self._n_known = text, len(self._ids)
        self._ids += more
        text = self._decoded(tokenizer)
        if len(text) <= len(self._known) or text.endswith(REPLACEMENT):
            return None
        if not text.startswith(self._known):
            # The words of tokenizers, because programs that start a new stream then look for them.
            raise TokkitError(
                f"Invalid prefix encountered while decoding stream. Token ID: {self._ids[-1]}, Expected prefix: "
                f"'{self._known}', Actual string: '{text}'"
            )
        new, self._ids = text[len(self._known) :], self._ids[self._n_known :]
        self._known, self._n_known = self._decoded(tokenizer), len(self._ids)
        return new

    def _decoded(self, tokenizer: Tokenizer) -> str:
        return tokenizer.decode(self._ids, skip_special_tokens=self._skip)

    def __copy__(self) -> DecodeStream:
        made = DecodeStream(self._ids, self._skip)
        made._known, made._n_known = self._known, self._n_known
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> DecodeStream:
        return self.__copy__()
