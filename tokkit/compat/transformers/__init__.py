"""The tokenizers of transformers 5: write `from tokkit.compat.transformers import AutoTokenizer` instead.

Differences: nothing is downloaded and no code of a repository is run; tensors are numpy's or torch's; errors have the
same classes, but our own messages. The ids of a folder are those of its class in transformers 5.24; classes whose words
come from other programs are refused by name.
"""

from __future__ import annotations

from typing import Any

from tokkit.compat.transformers.auto import AutoTokenizer, class_named
from tokkit.compat.transformers.batch_encoding import BatchEncoding, CharSpan, TokenSpan
from tokkit.compat.transformers.python_backend import PreTrainedTokenizer
from tokkit.compat.transformers.tokenizer import PreTrainedTokenizerFast
from tokkit.registry.tokenizer_classes.tokens import AddedToken

PreTrainedTokenizerBase = TokenizersBackend = PreTrainedTokenizerFast

__all__ = [
    "AddedToken",
    "AutoTokenizer",
    "BatchEncoding",
    "CharSpan",
    "PreTrainedTokenizer",
    "PreTrainedTokenizerBase",
    "PreTrainedTokenizerFast",
    "TokenSpan",
    "TokenizersBackend",
]


def __getattr__(name: str) -> Any:
    """Return the class of a tokenizer by its name in transformers: BertTokenizer or GPT2TokenizerFast."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return class_named(name)
