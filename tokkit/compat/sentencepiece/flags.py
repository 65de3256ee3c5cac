"""Translates sentencepiece's training flags to tokkit's options, and trains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tokkit.errors import OptionError
from tokkit.files.protobuf import updated
from tokkit.formats.sentencepiece import TRAINER_FIELDS
from tokkit.models.sentencepiece import SentencePieceModel, SentencePieceNormalizer
from tokkit.normalizers.sentencepiece_rules import compile_tsv, read_tsv
from tokkit.trainers import options_of, train
from tokkit.trainers.options import choice

MODEL_TYPES = {"unigram": "unigram", "bpe": "sp-bpe", "word": "sp-word", "char": "sp-char"}
DEFAULT_SIZE = 8000
_WITHOUT_EFFECT = {
    *("input", "model_prefix", "self_test_sample_size", "minloglevel", "vocabulary_output_piece_score"),
    *("accept_language", "self_test_samples"),
}
"""Flags that change neither pieces nor scores; sentencepiece 0.2.3 makes no self-test samples either."""
_NOT_SAID = {"self_test_sample_size", "accept_language", "train_extremely_large_corpus"}
"""Flags that sentencepiece does not write to the file."""
_PRIVACY = "text counts exactly here: add the noise before training, or train with sentencepiece"
REFUSED: dict[str, tuple[object, str]] = {
    "enable_differential_privacy": (False, _PRIVACY),
    "differential_privacy_noise_level": (0.0, _PRIVACY),
    "differential_privacy_clipping_threshold": (0, _PRIVACY),
    "auto_character_coverage": (False, "give character_coverage"),
}
"""Flags that must have their default → the default, and what to do instead."""

_SEED_MASK = (1 << 32) - 1
"""Seeds have 32 bits; -1 is the highest."""


def train_by_flags(inputs: object, flags: Mapping[str, Any]) -> SentencePieceModel:
    """Train a model with sentencepiece's flags, on files (a list of paths) or an iterator of texts.

    Flags have Python values. OptionError for a flag that is unknown, or whose value is not supported.
    """
    flags = dict(flags)
    kind = choice("model_type", flags.pop("model_type", "unigram"), *MODEL_TYPES)
    size = flags.pop("vocab_size", DEFAULT_SIZE)
    threads = flags.pop("num_threads", None)
    for name in REFUSED.keys() & flags.keys():
        check_refused(name, str(flags.pop(name)))
    if flags.get("use_all_vocab") and kind in ("unigram", "bpe"):
        raise OptionError(f"use_all_vocab is for the model types word and char, not {kind}")
    for name in ("input_format", "seed_sentencepieces_file"):
        if flags.get(name) == "":
            del flags[name]
    if "seed_sentencepieces_file" in flags and kind != "unigram":
        raise OptionError(f"seed_sentencepieces_file is for the model type unigram, not {kind}")
    if "random_seed" in flags:
        flags["random_seed"] &= _SEED_MASK
    back = flags.pop("denormalization_rule_tsv", "")
    if path := flags.pop("normalization_rule_tsv", ""):
        flags["normalization_rules"] = read_tsv(Path(path).read_text(encoding="utf-8"))
    options = {name: value for name, value in flags.items() if name not in _WITHOUT_EFFECT}
    model = MODEL_TYPES[kind]
    own = {field.name for field in fields(type(options_of(model, {}))) if field.init}  # type: ignore[arg-type]
    theirs = {field.name for field in fields(type(options_of("unigram", {}))) if field.init}  # type: ignore[arg-type]
    # Flags of the Unigram model do not affect other models, but are in their files, as in sentencepiece.
    options = {name: value for name, value in options.items() if name in own or name not in theirs}
    made = train(inputs, model=model, vocab_size=size, threads=threads, **options).definition.model
    if not isinstance(made, SentencePieceModel):
        raise OptionError(f"training {kind} gave a {type(made).__name__}, not a model")
    said = {name: value for name, value in flags.items() if name in TRAINER_FIELDS.keys() - _NOT_SAID}
    if threads is not None:
        said["num_threads"] = threads
    if said:
        made = replace(made, trainer_spec=updated(made.trainer_spec, TRAINER_FIELDS, said, "trainer_spec"))
    if back:
        charsmap = compile_tsv(Path(back).read_text(encoding="utf-8"))
        made = replace(made, denormalizer=_denormalizer(charsmap))
    return made


def check_refused(name: str, value: str) -> None:
    """Raise OptionError for the value of a flag of `REFUSED` that is not the default."""
    default, instead = REFUSED[name]
    if value.lower() not in (str(default).lower(), "0", "0.0", ""):
        raise OptionError(f"{name} is not supported here; {instead}")


def _denormalizer(charsmap: bytes) -> SentencePieceNormalizer:
    """Return a normalizer that changes text only by these rules."""
    return SentencePieceNormalizer(
        name="user_defined",
        charsmap=charsmap,
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        escape_whitespaces=False,
    )
