"""`AutoTokenizer`, and the tokenizer classes by their names in transformers."""

from __future__ import annotations

import functools
from typing import Any

from tokkit.compat.transformers import classes, loading
from tokkit.compat.transformers.tokenizer import PreTrainedTokenizerFast


class AutoTokenizer:
    """Loads tokenizers: `AutoTokenizer.from_pretrained(folder or name)`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise OSError("AutoTokenizer cannot be instantiated; call AutoTokenizer.from_pretrained")

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: Any, *inputs: Any, **kwargs: Any
    ) -> PreTrainedTokenizerFast:
        """Return the tokenizer in a folder, or of a name in the hub's cache; see `PreTrainedTokenizerFast`.

        tokenizer_config.json, or the model type in config.json, names the class. It gives defaults for special tokens,
        inputs and padding side that the files do not set. The ids are those of tokenizer.json.
        """
        path = loading.found(
            pretrained_model_name_or_path,
            revision=kwargs.get("revision"),
            subfolder=kwargs.get("subfolder") or "",
        )
        settings, model_type = loading.settings_of(path)
        name = kwargs.pop("tokenizer_type", None) or classes.name_of(settings.get("tokenizer_class"), model_type)
        made: type[PreTrainedTokenizerFast] = class_named(name) if name else PreTrainedTokenizerFast
        return made.from_pretrained(pretrained_model_name_or_path, *inputs, **kwargs)


@functools.cache
def class_named(name: str) -> type[PreTrainedTokenizerFast]:
    """Return a class by name, for example "GPT2Tokenizer"; AttributeError for an unknown name."""
    known = name.removesuffix("Fast")
    if known not in classes.CLASSES:
        raise AttributeError(f"there is no tokenizer {name!r} here; PreTrainedTokenizerFast loads any tokenizer.json")
    if known != name:
        return class_named(known)
    doc = f"A tokenizer with the special tokens, inputs and padding side of transformers' {name}."
    # pickle finds the class by this module and name.
    body = {"__module__": __package__, "__qualname__": name, "__doc__": doc, "assumed": classes.CLASSES[name]}
    return type(name, (PreTrainedTokenizerFast,), body)
