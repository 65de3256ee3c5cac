"""The tokenizers of transformers 5: `from tokkit.compat.transformers import AutoTokenizer`, and the same program.

What differs: nothing is downloaded and no code of a repository is run; ids are those of the tokenizer.json, also for
classes of which transformers 5 builds the pipeline anew (LlamaTokenizer); tensors are numpy's and torch's; errors are
of the same classes, with words of our own. Tokenizers that exist only as Python code are not here.
"""

from __future__ import annotations

from typing import Any

from tokkit.compat.transformers.added_token import AddedToken
from tokkit.compat.transformers.auto import AutoTokenizer, class_named
from tokkit.compat.transformers.batch_encoding import BatchEncoding, CharSpan, TokenSpan
from tokkit.compat.transformers.tokenizer import PreTrainedTokenizerFast

TokenizersBackend = PreTrainedTokenizerFast

__all__ = [
    "AddedToken",
    "AutoTokenizer",
    "BatchEncoding",
    "CharSpan",
    "PreTrainedTokenizerFast",
    "TokenSpan",
    "TokenizersBackend",
]


def __getattr__(name: str) -> Any:
    """Return the class of a tokenizer by its name in transformers: BertTokenizer or GPT2TokenizerFast."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return class_named(name)
