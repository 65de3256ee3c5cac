"""`BaseTokenizer`: the base class of the ready-made tokenizers."""

from __future__ import annotations

import functools
from typing import Any

from tokkit.compat.tokenizers.tokenizer import Tokenizer

Files = str | list[str]
PROPERTIES = (
    *("model", "normalizer", "pre_tokenizer", "post_processor", "decoder"),
    *("encode_special_tokens", "padding", "truncation"),
)
METHODS = (
    *("add_tokens", "enable_padding", "enable_truncation", "no_padding", "no_truncation", "save", "to_str"),
    *("get_added_tokens_decoder", "get_vocab", "get_vocab_size", "id_to_token", "token_to_id"),
    *("num_special_tokens_to_add", "post_process"),
    *("async_encode", "async_encode_batch", "async_encode_batch_fast", "async_decode_batch"),
)


class BaseTokenizer:
    """A tokenizer and its parameters; it has the methods of `Tokenizer`."""

    model: Any
    normalizer: Any

    def __init__(self, tokenizer: Tokenizer, parameters: dict[str, Any] | None = None) -> None:
        self._tokenizer = tokenizer
        self._parameters = {} if parameters is None else parameters

    def __getattr__(self, name: str) -> Any:  # for type checkers, which do not see the names set below
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self._tokenizer, name)

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value}" for name, value in self._parameters.items())
        return f"Tokenizer(vocabulary_size={self._tokenizer.get_vocab_size()}, {parameters})"

    def add_special_tokens(self, special_tokens: list[Any]) -> int:
        """Add special tokens, and return the number of new ones."""
        return self._tokenizer.add_special_tokens(special_tokens)

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """Return the encoding of a text or a pair; ValueError for None."""
        _there("sequence", sequence)
        return self._tokenizer.encode(sequence, pair, is_pretokenized, add_special_tokens)

    def encode_batch(self, inputs: Any, is_pretokenized: bool = False, add_special_tokens: bool = True) -> Any:
        """Return the encodings of texts and pairs; ValueError for None."""
        return self._tokenizer.encode_batch(_there("inputs", inputs), is_pretokenized, add_special_tokens)

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        """Return the text of ids; ValueError for None."""
        return self._tokenizer.decode(_there("ids", ids), skip_special_tokens)

    def decode_batch(self, sequences: Any, skip_special_tokens: bool = True) -> list[str]:
        """Return the text of each sequence of ids; ValueError for None."""
        return self._tokenizer.decode_batch(_there("sequences", sequences), skip_special_tokens)

    def normalize(self, sequence: str) -> str:
        """Return a text normalized."""
        text: str = self._tokenizer.normalizer.normalize_str(sequence)
        return text

    def save_model(self, directory: str, prefix: str | None = None) -> list[str]:
        """Write the model's own files to a folder."""
        written: list[str] = self._tokenizer.model.save(directory, prefix=prefix)
        return written

    def _train(self, trainer: Any, files: Files) -> None:
        self._tokenizer.train([files] if isinstance(files, str) else files, trainer)


def _forwarded(name: str) -> Any:
    """Return the method or the property that calls that of the tokenizer."""
    own = getattr(Tokenizer, name)
    if isinstance(own, property):
        put = None if own.fset is None else lambda self, value: setattr(self._tokenizer, name, value)
        return property(lambda self: getattr(self._tokenizer, name), put, doc=own.__doc__)

    @functools.wraps(own)
    def call(self: BaseTokenizer, *args: Any, **options: Any) -> Any:
        return getattr(self._tokenizer, name)(*args, **options)

    return call


for _name in (*PROPERTIES, *METHODS):
    setattr(BaseTokenizer, _name, _forwarded(_name))


def _there(name: str, value: Any) -> Any:
    if value is None:
        raise ValueError(f"{name} is None; it must be given")
    return value
