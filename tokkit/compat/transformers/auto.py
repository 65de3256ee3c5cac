"""`AutoTokenizer`, and the tokenizer classes by their names in transformers."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from tokkit.compat.tokenizers import models
from tokkit.compat.transformers import loading
from tokkit.compat.transformers.tokenizer import PreTrainedTokenizerFast
from tokkit.compat.transformers.whisper import Whisper
from tokkit.errors import OptionError
from tokkit.registry.tokenizer_classes import build, choice, folder, model_types, table


class AutoTokenizer:
    """Loads tokenizers: `AutoTokenizer.from_pretrained(folder or name)`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise OSError("AutoTokenizer cannot be instantiated; call AutoTokenizer.from_pretrained")

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: Any, *inputs: Any, **kwargs: Any
    ) -> PreTrainedTokenizerFast:
        """Return the tokenizer in a folder, or of a name in the hub's cache; see `PreTrainedTokenizerFast`.

        tokenizer_config.json and config.json name the class, by the rules of transformers 5.24; `config` (an object or
        a dict) replaces config.json, and `tokenizer_type` ("bert") is the model type of the class to use.
        """
        path = loading.found(
            pretrained_model_name_or_path,
            revision=kwargs.get("revision"),
            subfolder=kwargs.get("subfolder") or "",
        )
        name = _class_of(path, kwargs.pop("tokenizer_type", None), kwargs.pop("config", None))
        build.row_of(name)  # refuses those that are unknown
        return class_named(name).from_pretrained(pretrained_model_name_or_path, *inputs, **kwargs)


def _class_of(path: Path, model_type: Any, config: Any) -> str:
    """Return the name of the class of a folder; of a file, the one that uses it as it is."""
    if model_type is not None:
        if model_type not in model_types.CLASS_OF:
            raise OptionError(
                f"tokenizer_type is {model_type!r}; it must be one of {', '.join(sorted(model_types.CLASS_OF))}"
            )
        return choice.name_of(model_types.CLASS_OF[model_type])
    if path.is_file():
        return choice.PLAIN
    given = config.to_dict() if callable(getattr(config, "to_dict", None)) else config
    return folder.class_of(path, given)


@functools.cache
def class_named(name: str) -> type[PreTrainedTokenizerFast]:
    """Return a class by name, for example "GPT2Tokenizer"; AttributeError for an unknown name."""
    known = choice.name_of(name)
    if known == choice.PLAIN:
        return PreTrainedTokenizerFast
    if known not in table.CLASSES:
        raise AttributeError(f"there is no tokenizer {name!r} here; PreTrainedTokenizerFast loads any tokenizer.json")
    if known != name:
        return class_named(known)
    row = table.CLASSES[name]
    # pickle finds the class by this module and name.
    body = {
        "__module__": __package__,
        "__qualname__": name,
        "__doc__": f"The tokenizer class of transformers' {name}.",
        "row": row,
        "class_name": name,
        "vocab_files_names": {**row.files, "tokenizer_file": "tokenizer.json"},
        "padding_side": row.side,
        "model_input_names": list(row.inputs),
        "model": getattr(models, row.model, None),
    }
    bases = (Whisper, PreTrainedTokenizerFast) if name == "WhisperTokenizer" else (PreTrainedTokenizerFast,)
    return type(name, bases, body)
