"""`backend_tokenizer`: a tokenizer with the interface of tokenizers, and detection of changes made through it."""

from __future__ import annotations

from tokkit.compat.tokenizers import Tokenizer
from tokkit.compat.tokenizers.component import Changes
from tokkit.definition import Definition
from tokkit.formats import tokenizer_json


class Backend:
    """A tokenizer's definition as a `tokenizers.Tokenizer`, which users of transformers may change.

    >>> import tokkit
    >>> backend = Backend(tokkit.train({"low": 3}, model="word").definition)
    >>> backend.changed() is None
    True
    >>> _ = backend.tokenizer.add_tokens(["lower"])
    >>> len(backend.changed().vocab)
    3
    """

    def __init__(self, definition: Definition) -> None:
        self.tokenizer = Tokenizer.from_buffer(tokenizer_json.write(definition, added_apart=True))
        self._seen, self._key = Changes.count, self.tokenizer._key()

    def changed(self) -> Definition | None:
        """Return the definition if it has changed since the last call, else None."""
        if self._seen == Changes.count:
            return None
        self._seen, key = Changes.count, self.tokenizer._key()
        if key == self._key:
            return None
        self._key = key
        definition: Definition = self.tokenizer._run().made.definition
        return definition
