"""The models: turn words into tokens."""

from __future__ import annotations

import itertools
import os
from typing import Any

from tokkit.compat.tokenizers import json_text, model_text, values
from tokkit.compat.tokenizers.component import Component, Setting, changed, dumped, json_of
from tokkit.compat.tokenizers.encoding import Encoding
from tokkit.compat.tokenizers.pre_tokenized_string import Token
from tokkit.errors import FormatError, OptionError, VocabError
from tokkit.files import strict_json
from tokkit.formats.table_text import INDENTED, ONE_LINE, Part, written
from tokkit.formats.tables import Table

Vocab = dict[str, int]
VERSIONS = itertools.count()
"""Version numbers of tables: each model, and each training of a model, gets a new one."""


class Model(Component):
    """The base of all models. Tables are as in a file: packed, or a dict and lists."""

    _stage = "model"
    _state: dict[str, Any]
    _ids_: Vocab | None
    _tokens_: dict[int, str] | None
    _version: int
    _alone: tuple[object, Any] | None = None
    """The engine that runs the model alone, and the key that it was made for."""

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Make a model without tokens; `Model()` is a BPE."""
        made = super().__new__(BPE if cls is Model else cls)
        made._forget()
        return made

    @classmethod
    def _of(cls, state: dict[str, Any]) -> Any:
        made = super()._of(state)
        made._forget()
        return made

    def _forget(self) -> None:
        self._ids_ = self._tokens_ = None
        self._version = next(VERSIONS)
        changed()

    def _key(self) -> object:
        """Return a key that differs after each change."""
        small = {key: value for key, value in self._state.items() if key not in ("vocab", "merges")}
        return repr(small), self._version

    def _json(self, most: int | None = None) -> dict[str, Any]:
        """Return the model with at most `most` entries of each table."""
        return {**self._state, "vocab": model_text.first_ids(self._state["vocab"], most)}

    def _text(self, *, pretty: bool = False, depth: int = 0) -> Part:
        """Return the JSON of the model, indented as in a tokenizer.json or on one line."""
        tables = model_text.tables(self._state, INDENTED if pretty else ONE_LINE)
        return json_of({**self._state, **tables}, pretty=pretty, depth=depth)

    def __getstate__(self) -> bytes:
        return written(self._text())

    def _shown(self, most: int) -> str:
        return json_text.shown(self._json(most + 1), most)

    def __setstate__(self, state: bytes) -> None:
        super().__setstate__(state)
        self._forget()

    @property
    def _ids(self) -> Vocab:
        if self._ids_ is None:
            vocab = self._state["vocab"]
            if isinstance(vocab, list):
                vocab = {token: i for i, (token, _) in enumerate(vocab)}
            self._ids_ = vocab.as_dict() if isinstance(vocab, Table) else vocab
        return self._ids_

    @property
    def _tokens(self) -> dict[int, str]:
        if self._tokens_ is None:
            self._tokens_ = {id_: token for token, id_ in self._ids.items()}
        return self._tokens_

    @property
    def _size(self) -> int:
        return len(self._state["vocab"])

    def token_to_id(self, tokens: str) -> int | None:
        """Return the id of a token, None if there is none."""
        vocab = self._state["vocab"]
        if isinstance(vocab, Table) and self._ids_ is None:
            id_ = vocab.get(values.text("tokens", tokens), -1)
            return None if id_ < 0 else id_
        return self._ids.get(values.text("tokens", tokens))

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id, None if there is none."""
        return self._tokens.get(values.token_id("id", id))

    def tokenize(self, sequence: str) -> list[Token]:
        """Return the tokens of one word."""
        from tokkit.compat.tokenizers import engine

        values.text("sequence", sequence)
        tok = engine.of_model(self)
        made = tok(sequence, special="all")
        tokens = Encoding.of(made).tokens
        return [Token(*token) for token in zip(made.ids, tokens, made.byte_offsets, strict=True)]

    def get_trainer(self) -> Any:
        """Return a trainer of this model, with its defaults."""
        from tokkit.compat.tokenizers import trainers

        return getattr(
            trainers, f"{type(self).__name__.title().replace('piece', 'Piece').replace('level', 'Level')}Trainer"
        )()

    def save(self, folder: str, prefix: str | None = None, name: str | None = None) -> list[str]:
        """Write the model's own files to a folder, and return their paths."""
        prefix = name if prefix is None else prefix
        if not os.path.isdir(values.text("folder", folder)):
            raise OptionError(f"{folder!r} is not an existing folder")
        written = []
        for file, text in self._files().items():
            path = os.path.join(folder, f"{prefix}-{file}" if prefix else file)
            with open(path, "wb") as opened:
                opened.write(text)
            written.append(path)
        return written

    def _files(self) -> dict[str, bytes]:
        """Return name → text of the model's own files."""
        return {}

    def _vocab_json(self) -> bytes:
        return written(model_text.tables({"vocab": self._state["vocab"]}, ONE_LINE)["vocab"])


def _vocab(name: str, vocab: Any) -> Vocab:
    """Return token → id, checked."""
    if not isinstance(vocab, dict):
        raise values.wrong_type(name, vocab, "a dict of tokens and ids, or the path of a file")
    return {values.text("a token", token): values.token_id(f"the id of {token!r}", id_) for token, id_ in vocab.items()}


def _read_json(path: str) -> Vocab:
    with open(values.text("vocab", path), "rb") as file:
        return _vocab("vocab", strict_json.loads(file.read()))


def _reading(path: Any) -> FormatError:
    return FormatError(f"{path!r} cannot be read: there is no such file, or it is not a vocabulary")


def _deprecated(name: str) -> None:
    import warnings

    warnings.warn(f"a path for {name} is deprecated; use from_file", DeprecationWarning, stacklevel=3)


def _dropout(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if not 0.0 <= values.single(name, value) <= 1.0:
        raise OptionError(f"{name} is {value}; it must be from 0 to 1")
    return float(value)


OPTIONAL_TEXT = values.optional(values.text)


class BPE(Model):
    """Byte-pair encoding over characters; over bytes with the pre-tokenizer `ByteLevel`."""

    dropout = Setting(_dropout, show=lambda value: None if value is None else values.single("dropout", value))
    unk_token = Setting(OPTIONAL_TEXT)
    continuing_subword_prefix = Setting(OPTIONAL_TEXT)
    end_of_word_suffix = Setting(OPTIONAL_TEXT)
    fuse_unk = Setting(values.flag, default=False)
    byte_fallback = Setting(values.flag, default=False)
    ignore_merges = Setting(values.flag, default=False)

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {**super()._defaults(), "vocab": {}, "merges": []}

    def __init__(self, vocab: Any = None, merges: Any = None, **options: Any) -> None:
        if vocab is not None and not isinstance(vocab, (dict, str)):
            raise values.wrong_type("vocab", vocab, "a dict of tokens and ids, or the path of a file")
        if (vocab is None) != (merges is None):
            raise ValueError("only one of vocab and merges was given; give both")
        if isinstance(vocab, str) or isinstance(merges, str):
            _deprecated("vocab and merges")
            vocab, merges = BPE.read_file(values.text("vocab", vocab), values.text("merges", merges))
        options.pop("cache_capacity", None)
        values.ignored([name for name in options if name not in self._settings()])
        self._set(**{name: value for name, value in options.items() if name in self._settings()})
        if vocab is not None:
            self._state["vocab"] = _vocab("vocab", vocab)
            pairs = values.listed("merges", merges, lambda name, merge: [values.text(name, part) for part in merge])
            self._state["merges"] = pairs
            n_prefix = len(self.continuing_subword_prefix or "")
            for left, right in pairs:
                for token in (left, right, left + right[n_prefix:]):
                    if token not in self._state["vocab"]:
                        raise VocabError(
                            f"the merge {left!r} {right!r} needs {token!r}, which is not in the vocabulary"
                        )

    @staticmethod
    def read_file(vocab: str, merges: str) -> tuple[Vocab, list[tuple[str, str]]]:
        """Return the vocabulary of a vocab.json and the merges of a merges.txt."""
        try:
            with open(values.text("merges", merges), encoding="utf-8", newline="\n") as file:
                lines = [line for line in file.read().split("\n") if line and not line.startswith("#version")]
            made = _read_json(vocab)
        except (OSError, ValueError):
            raise _reading(vocab) from None
        pairs = []
        for i, line in enumerate(lines):
            left, _, right = line.removesuffix("\r").partition(" ")
            if not right or " " in right:
                raise FormatError(f"{merges}: line {i + 1} is {line!r}; it must be two tokens")
            pairs.append((left, right))
        return made, pairs

    @classmethod
    def from_file(cls, vocab: str, merges: str, **options: Any) -> BPE:
        """Return the model of a vocab.json and a merges.txt."""
        return cls(*cls.read_file(vocab, merges), **options)

    def _json(self, most: int | None = None) -> dict[str, Any]:
        return {**super()._json(most), "merges": model_text.first_merges(self._state["merges"], most)}

    def _files(self) -> dict[str, bytes]:
        lines = model_text.merge_lines(self._state["merges"])
        return {"vocab.json": self._vocab_json(), "merges.txt": b"#version: 0.2\n" + lines}

    def _clear_cache(self) -> None:
        """Do nothing: the caches of tokkit are bounded."""

    def _resize_cache(self, capacity: int) -> None:
        """Do nothing: the caches of tokkit are bounded."""


class WordPiece(Model):
    """WordPiece: the longest token in the vocabulary, from left to right."""

    unk_token = Setting(values.text, default="[UNK]")
    continuing_subword_prefix = Setting(values.text, default="##")
    max_input_chars_per_word = Setting(values.unsigned, default=100)

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {**super()._defaults(), "vocab": {}}

    def __init__(self, vocab: Any = None, **options: Any) -> None:
        if isinstance(vocab, str):
            _deprecated("vocab")
            vocab = WordPiece.read_file(vocab)
        values.ignored([name for name in options if name not in self._settings()])
        self._set(**{name: value for name, value in options.items() if name in self._settings()})
        if vocab is not None:
            self._state["vocab"] = _vocab("vocab", vocab)

    @staticmethod
    def read_file(vocab: str) -> Vocab:
        """Return the vocabulary of a vocab.txt, which has one token per line."""
        try:
            with open(values.text("vocab", vocab), encoding="utf-8", newline="\n") as file:
                return {line.rstrip(): id_ for id_, line in enumerate(file)}
        except (OSError, ValueError):
            raise _reading(vocab) from None

    @classmethod
    def from_file(cls, vocab: str, **options: Any) -> WordPiece:
        """Return the model of a vocab.txt."""
        return cls(cls.read_file(vocab), **options)

    def _files(self) -> dict[str, bytes]:
        return {"vocab.txt": model_text.token_lines(self._state["vocab"])}


class WordLevel(Model):
    """WordLevel: each word is one token."""

    unk_token = Setting(values.text, default="<unk>")

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {"vocab": {}, **super()._defaults()}

    def __init__(self, vocab: Any = None, unk_token: str | None = None) -> None:
        if isinstance(vocab, str):
            _deprecated("vocab")
            vocab = WordLevel.read_file(vocab)
        if unk_token is not None:
            self._set(unk_token=unk_token)
        if vocab is not None:
            self._state["vocab"] = _vocab("vocab", vocab)

    @staticmethod
    def read_file(vocab: str) -> Vocab:
        """Return the vocabulary of a vocab.json."""
        try:
            return _read_json(vocab)
        except (OSError, ValueError):
            raise _reading(vocab) from None

    @classmethod
    def from_file(cls, vocab: str, unk_token: str | None = None) -> WordLevel:
        """Return the model of a vocab.json."""
        return cls(cls.read_file(vocab), unk_token)

    def _files(self) -> dict[str, bytes]:
        return {"vocab.json": self._vocab_json()}


def _scored(name: str, piece: Any) -> list[Any]:
    token, score = piece
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        raise values.wrong_type(f"the score of {token!r}", score, "a number")
    return [values.text("a token", token), float(score)]


class Unigram(Model):
    """Unigram: the segmentation with the highest sum of scores."""

    unk_id = Setting(values.optional(values.unsigned))
    byte_fallback = Setting(values.flag, default=False)

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {"unk_id": None, "vocab": [], "byte_fallback": False}

    def __init__(
        self,
        vocab: Any = None,
        unk_id: int | None = None,
        byte_fallback: bool | None = None,
        alpha: float | None = None,
        nbest_size: int | None = None,
    ) -> None:
        if vocab is None and unk_id is None and byte_fallback is None:
            self._state.update(vocab=[["<unk>", 0.0]], unk_id=0)
        elif vocab is None:
            raise ValueError("unk_id or byte_fallback was given without vocab; give vocab too")
        else:
            self._state["vocab"] = values.listed("vocab", vocab, _scored)
            self._set(unk_id=unk_id, byte_fallback=bool(byte_fallback))
            if unk_id is not None and unk_id >= len(self._state["vocab"]):
                raise VocabError(f"unk_id is {unk_id}; it must be below the number of tokens, {self._size}")
        self.alpha, self.nbest_size = alpha, nbest_size

    @property
    def alpha(self) -> float | None:
        """The smoothing of sampling; None for the best segmentation. Only `tokkit.engine.sampling` samples."""
        return getattr(self, "_alpha", None)

    @alpha.setter
    def alpha(self, alpha: float | None) -> None:
        self._alpha = None if alpha is None else values.single("alpha", alpha)
        changed()

    @property
    def nbest_size(self) -> int | None:
        """Number of best segmentations from which sampling draws one."""
        return getattr(self, "_nbest_size", None)

    @nbest_size.setter
    def nbest_size(self, nbest_size: int | None) -> None:
        self._nbest_size = None if nbest_size is None else values.unsigned("nbest_size", nbest_size)
        changed()

    def _json(self, most: int | None = None) -> dict[str, Any]:
        return {**self._state, "vocab": model_text.first_scores(self._state["vocab"], most)}

    def _files(self) -> dict[str, bytes]:
        state = {key: value for key, value in self._state.items() if key != "type"}
        return {"unigram.json": dumped({**state, **model_text.tables(state, ONE_LINE, read_back=False)})}

    def _clear_cache(self) -> None:
        """Do nothing: the caches of tokkit are bounded."""

    def _resize_cache(self, capacity: int) -> None:
        """Do nothing: the caches of tokkit are bounded."""
