"""`BaseTokenizer`: the base class of the ready-made tokenizers."""

from __future__ import annotations

from typing import Any

from tokkit.compat.tokenizers.tokenizer import Tokenizer

Files = str | list[str]
COMPONENTS = ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder")


class BaseTokenizer:
    """A tokenizer and its parameters; it has the methods of `Tokenizer`."""

    def __init__(self, tokenizer: Tokenizer, parameters: dict[str, Any] | None = None) -> None:
        self._tokenizer = tokenizer
        self._parameters = {} if parameters is None else parameters

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self._tokenizer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in (*COMPONENTS, "encode_special_tokens"):
            setattr(self._tokenizer, name, value)
        else:
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value}" for name, value in self._parameters.items())
        return f"Tokenizer(vocabulary_size={self._tokenizer.get_vocab_size()}, {parameters})"

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


def _there(name: str, value: Any) -> Any:
    if value is None:
        raise ValueError(f"{name} is None; it must be given")
    return value
