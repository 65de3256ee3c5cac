"""The models that can be trained, and the checked options of each."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tokkit.errors import OptionError
from tokkit.trainers.options import Training

_TRAININGS = {
    "bbpe": "bpe:ByteBPE",
    "bpe": "classic:ClassicBPE",
    "wordpiece": "wordpiece:WordPieceTraining",
    "word": "wordlevel:WordTraining",
    "char": "wordlevel:CharacterTraining",
    "hybrid": "hybrid:HybridTraining",
    "unigram": "sentencepiece_models:UnigramTraining",
    "sp-bpe": "sentencepiece_models:BPETraining",
    "sp-word": "sentencepiece_models:WordTraining",
    "sp-char": "sentencepiece_models:CharacterTraining",
}
MODELS = tuple(_TRAININGS)


def _class_of(model: str) -> Any:
    module, name = _TRAININGS[model].split(":")
    return getattr(importlib.import_module(f"tokkit.trainers.{module}"), name)


def _names_of(model: str) -> set[str]:
    return {field.name for field in fields(_class_of(model)) if field.init}


def options_of(model: object, options: Mapping[str, Any]) -> Training:
    """Return the checked options of a model, with defaults; OptionError for an option of another model.

    >>> options_of("word", {"score": "likelihood"})
    Traceback (most recent call last):
        ...
    tokkit.errors.OptionError: score is not an option of the model word; only of wordpiece
    """
    if not isinstance(model, str) or model not in _TRAININGS:
        raise OptionError(f"model is {model!r}; it must be one of {', '.join(MODELS)}")
    own = _names_of(model)
    for name in options:
        if name not in own:
            # Only now, because each model's trainer is a module of its own, and imports more.
            others = [other for other in MODELS if name in _names_of(other)]
            if not others:
                raise TypeError(f"train() got an unexpected keyword argument {name!r}")
            raise OptionError(f"{name} is not an option of the model {model}; only of {', '.join(others)}")
    training: Training = _class_of(model)(**options)
    return training
