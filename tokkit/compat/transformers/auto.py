"""`AutoTokenizer`, and the classes that it makes tokenizers of, by the names that transformers gives them."""

from __future__ import annotations

import functools
from typing import Any

from tokkit.compat.transformers import classes, loading
from tokkit.compat.transformers.tokenizer import PreTrainedTokenizerFast


class AutoTokenizer:
    """Loads tokenizers: `AutoTokenizer.from_pretrained(folder or name)`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise OSError("AutoTokenizer makes no objects of its own; call AutoTokenizer.from_pretrained")

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: Any, *inputs: Any, **kwargs: Any
    ) -> PreTrainedTokenizerFast:
        """Return the tokenizer in a folder, or of a name in the cache of the hub; see `PreTrainedTokenizerFast`.

        tokenizer_config.json, or the type of the model in config.json, names the class, which decides what roles,
        inputs and padding side the tokenizer has if the files do not say. The ids are those of tokenizer.json.
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
    """Return the class of a name, "GPT2Tokenizer" for example; AttributeError for one that is not known."""
    known = name.removesuffix("Fast")
    if known not in classes.CLASSES:
        raise AttributeError(f"there is no tokenizer {name!r} here; PreTrainedTokenizerFast loads any tokenizer.json")
    if known != name:
        return class_named(known)
    doc = f"A tokenizer with the roles, inputs and padding side that transformers' {name} assumes."
    # By this module and name pickle finds it again.
    body = {"__module__": __package__, "__qualname__": name, "__doc__": doc, "assumed": classes.CLASSES[name]}
    return type(name, (PreTrainedTokenizerFast,), body)
