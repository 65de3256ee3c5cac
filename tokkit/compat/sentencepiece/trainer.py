"""`SentencePieceTrainer.train`: trains a model by sentencepiece's flags and writes its file."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokkit.compat.sentencepiece.flags import MODEL_TYPES, train_by_flags
from tokkit.compat.sentencepiece.normalizer import SentencePieceNormalizer
from tokkit.compat.sentencepiece.settings import min_log_level
from tokkit.compat.sentencepiece.table import add_spellings
from tokkit.corpus.paths import matches
from tokkit.errors import OptionError, TokkitError
from tokkit.files.files import refuse_inputs, write_atomically
from tokkit.formats import sentencepiece as model_file
from tokkit.models.sentencepiece import SentencePieceModel

_FLAGS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
_RULES = ("normalization_rule_name", "normalization_rule_tsv")
_TEXTS = (*_RULES, "denormalization_rule_tsv", "model_type")
_NOT_FLAGS = ("input", "model_prefix", "sentence_reader", "minloglevel")
"""Flags for input, output and logging."""
SUFFIXES = (".model", ".vocab")
"""Suffixes of the files that are written."""


class SentencePieceTrainer:
    """Trains models with sentencepiece's flags."""

    @staticmethod
    def train(
        arg: str | None = None,
        logstream: Any = None,
        sentence_iterator: Iterable[str] | None = None,
        model_writer: Any = None,
        normalizer: SentencePieceNormalizer | None = None,
        **flags: Any,
    ) -> None:
        """Train with `--flag=value …` in one str, or with flags as keywords, and write PREFIX.model and PREFIX.vocab.

        With a `model_writer`, the model is written there instead; `sentence_iterator` yields texts instead of files.
        """
        options = parsed(arg) if arg is not None else {name: _value(name, value) for name, value in flags.items()}
        prefix = options.get("model_prefix") or ""
        for name in (*_FLAGS, *_RULES) if normalizer is not None else ():
            if name in options:
                raise ValueError(f"INVALID_ARGUMENT: {name} is a setting of the normalizer; leave out one of the two")
        try:
            if model_writer is None and prefix:
                refuse_inputs([f"{prefix}{suffix}" for suffix in SUFFIXES], _files_read(options))
            with min_log_level(options.get("minloglevel")):
                model = _trained(options, sentence_iterator or flags.get("sentence_reader"), normalizer)
        except TokkitError as error:
            raise RuntimeError(f"INTERNAL: {error}") from None
        data = model_file.write_model(model)
        if model_writer is not None:
            model_writer.write(data)
            return
        if not prefix:
            raise RuntimeError("INVALID_ARGUMENT: model_prefix must not be empty")
        scored = options.get("vocabulary_output_piece_score", True)
        contents = data, vocabulary(model, scores=scored).encode()
        for suffix, content in zip(SUFFIXES, contents, strict=True):
            write_atomically(Path(f"{prefix}{suffix}"), content, overwrite=True)


def _files_read(options: dict[str, Any]) -> list[str]:
    """Return the files that training reads."""
    named = [*options.get("input", []), *filter(None, (options.get(name) for name in _TEXTS if name.endswith("_tsv")))]
    return [match for path in named for match in matches(path)]


def parsed(arg: str) -> dict[str, Any]:
    """Return the flags of a command line."""
    found: dict[str, Any] = {}
    for part in shlex.split(arg):
        name, is_given, value = part.removeprefix("--").partition("=")
        found[name] = _value(name, value if is_given else "true")
    return found


def _value(name: str, value: Any) -> Any:
    """Return a flag's value with its type; RuntimeError for an unknown flag, ValueError for an invalid value."""
    if name in ("sentence_reader", "pretokenizer"):
        return value
    if name == "allow_inconsistent_pretokenization":
        return bool(value)
    kind = model_file.TRAINER_FIELDS.get(name)
    if name == "model_type" and value not in MODEL_TYPES:
        raise ValueError(f'INVALID_ARGUMENT: unknown model_type "{value}"; one of {", ".join(MODEL_TYPES)}')
    if name in _TEXTS:
        return str(value)
    if kind is None and name not in (*_FLAGS, "minloglevel", "random_seed"):
        raise RuntimeError(f'NOT_FOUND: unknown field name "{name}" in TrainerSpec.')
    type_ = kind.type if kind is not None else bool if name in _FLAGS else int
    if kind is not None and kind.repeated:
        items = value if isinstance(value, (list, tuple)) else next(csv.reader([str(value)]), [])
        return [str(item) for item in items]
    if type_ is bool and isinstance(value, str):
        if value.lower() not in ("true", "t", "1", "yes", "y", "", "false", "f", "0", "no", "n"):
            raise ValueError(f'INVALID_ARGUMENT: cannot parse "{value}" as bool.')
        return value.lower() in ("true", "t", "1", "yes", "y", "")
    try:
        return type_(value)
    except (TypeError, ValueError):
        raise ValueError(f'INVALID_ARGUMENT: cannot parse "{value}" as {type_.__name__}.') from None


def _trained(
    options: dict[str, Any], texts: Iterable[str] | None, normalizer: SentencePieceNormalizer | None
) -> SentencePieceModel:
    files = options.get("input", [])
    if texts is None and not files:
        raise RuntimeError("INVALID_ARGUMENT: input or sentence_iterator must be given")
    given = {name: value for name, value in options.items() if name not in _NOT_FLAGS}
    if not given.get("normalization_rule_name", "x"):
        del given["normalization_rule_name"]
    if not given.pop("escape_whitespaces", True):
        raise OptionError("escape_whitespaces=False is not supported here; leave it out")
    if normalizer is not None:
        rules = normalizer.rules
        given["normalization_rules"] = dict(normalizer.decompile())
        given["add_dummy_prefix"] = rules.add_dummy_prefix
        given["remove_extra_whitespaces"] = rules.remove_extra_whitespaces
    return train_by_flags(files if texts is None else iter(texts), given)


def vocabulary(model: SentencePieceModel, *, scores: bool = True) -> str:
    """Return the lines of a .vocab: piece, tab, score (or 0, 1, 2, … without scores)."""
    rows = zip(model.pieces, model.scores.tolist(), strict=True)
    if scores:
        return "".join(f"{piece.decode()}\t{score:.6g}\n" for piece, score in rows)
    return "".join(f"{piece.decode()}\n" for piece, _ in rows)


add_spellings(SentencePieceTrainer)
