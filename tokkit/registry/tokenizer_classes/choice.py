"""Chooses the tokenizer class of a folder as transformers' AutoTokenizer does."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from typing import Any

from tokkit.registry.tokenizer_classes import model_types

PLAIN = "TokenizersBackend"
"""The class of a tokenizer.json that is used as it is."""
MISTRAL = "MistralCommonBackend"
"""A class of its own package; a folder that only has a model type of Mistral's is loaded as it is."""
_NO_CLASS = (PLAIN, "PythonBackend", "PreTrainedTokenizerFast", "PreTrainedTokenizer")
OTHER_NAMES = {
    **dict.fromkeys(("PreTrainedTokenizerFast", "PreTrainedTokenizer", "PythonBackend", "BloomTokenizer"), PLAIN),
    **dict.fromkeys(("BartTokenizer", "LEDTokenizer", "MvpTokenizer", "LongformerTokenizer"), "RobertaTokenizer"),
    **dict.fromkeys(("LxmertTokenizer", "MobileBertTokenizer", "SqueezeBertTokenizer"), "BertTokenizer"),
    **dict.fromkeys(("ElectraTokenizer", "LayoutLMTokenizer"), "BertTokenizer"),
    "Phi3Tokenizer": "LlamaTokenizer",
}
"""Names for which transformers 5.24 loads another class."""


def name_of(given: str) -> str:
    """Return the class that a name stands for: without "Fast", and the class that replaced it."""
    name = given.removesuffix("Fast")
    return OTHER_NAMES.get(given, OTHER_NAMES.get(name, name))


def choose(
    stated: Mapping[str, Any], config: Mapping[str, Any], *, is_known: Callable[[str], bool], has_byte_level: bool
) -> str:
    """Return the name of the class of a folder; `TokenizersBackend` if its tokenizer.json is used as it is.

    `stated` is tokenizer_config.json and `config` config.json, {} for missing ones; `is_known` says whether there is a
    class of a name, `has_byte_level` whether a tokenizer.json has a ByteLevel component. A name that is not known is
    returned as it is, if config.json or the code of a repository gives it.
    """
    declared = stated.get("tokenizer_class") or config.get("tokenizer_class")
    declared = declared if isinstance(declared, str) else None
    own_type = config.get("model_type")
    model_type = own_type if isinstance(own_type, str) else ""
    registered = model_types.CLASS_OF.get(model_type)
    has_code = bool(_code_of(stated))
    if not has_code:
        published = str(config.get("_name_or_path") or "").lower()
        if any(fnmatch.fnmatchcase(published, pattern) for pattern in model_types.AS_THEY_ARE):
            return PLAIN
        is_llama = declared is not None and declared.removesuffix("Fast") == "LlamaTokenizer"
        if is_llama and registered != MISTRAL and model_type not in model_types.MISNAMED and has_byte_level:
            return PLAIN
        if declared is not None and registered is not None and registered != declared.removesuffix("Fast"):
            return _of_both(declared, registered, model_type, is_known)
    if declared is not None:
        name = name_of(declared)
        return name if has_code or not stated.get("tokenizer_class") or is_known(name) else PLAIN
    inner = config.get("encoder")
    if model_type == "encoder-decoder":
        inner_type = inner.get("model_type") if isinstance(inner, Mapping) else "bert"
        registered = model_types.CLASS_OF.get(str(inner_type))
    elif model_type in model_types.OF_ANOTHER:
        registered = model_types.CLASS_OF[model_types.OF_ANOTHER[model_type]]
    if registered is None or registered == MISTRAL or model_type in model_types.WITHOUT_CONFIG:
        return PLAIN
    return name_of(registered)


def _code_of(stated: Mapping[str, Any]) -> Any:
    """Return what names the Python code of a repository, if anything does."""
    code = stated.get("auto_map")
    return code.get("AutoTokenizer") if isinstance(code, Mapping) else code


def _of_both(declared: str, registered: str, model_type: str, is_known: Callable[[str], bool]) -> str:
    """Return the class if the one that the files name is not the one of the model type."""
    if registered not in (*_NO_CLASS, MISTRAL):
        name = name_of(registered if model_type in model_types.MISNAMED else declared)
        if name not in _NO_CLASS and is_known(name):
            return name
    return PLAIN
