"""Encodings by the name of a model, as in `tiktoken.model`."""

from __future__ import annotations

from tokkit.compat.tiktoken.core import Encoding
from tokkit.compat.tiktoken.registry import get_encoding
from tokkit.registry.models import BEGINNINGS, MODELS, nearest

MODEL_TO_ENCODING = dict(MODELS)
"""Model → encoding; programs may add entries."""
MODEL_PREFIX_TO_ENCODING = dict(BEGINNINGS)
"""Prefix of a model's name → encoding, in the order in which they are tried."""


def encoding_name_for_model(model_name: str) -> str:
    """Return the name of a model's encoding; KeyError for an unknown model."""
    if model_name in MODEL_TO_ENCODING:
        return MODEL_TO_ENCODING[model_name]
    for beginning, name in MODEL_PREFIX_TO_ENCODING.items():
        if model_name.startswith(beginning):
            return name
    raise KeyError(f"no encoding is known for the model {model_name!r}{nearest(model_name, MODEL_TO_ENCODING)}")


def encoding_for_model(model_name: str) -> Encoding:
    """Return the encoding of a model; KeyError for an unknown one."""
    return get_encoding(encoding_name_for_model(model_name))
