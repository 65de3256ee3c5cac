"""`PreTrainedTokenizer`: a name for annotations and isinstance; tokenizers in Python code are not supported."""

from __future__ import annotations

from typing import Any

from tokkit.compat.transformers.tokenizer import PreTrainedTokenizerFast
from tokkit.errors import OptionError


class PreTrainedTokenizer(PreTrainedTokenizerFast):
    """The base of transformers' tokenizers in Python: no tokenizer here is an instance, and none can be made."""

    def __new__(cls, *args: Any, **kwargs: Any) -> PreTrainedTokenizer:
        """Raise OptionError."""
        raise OptionError(
            f"{cls.__name__} is a tokenizer in Python code, which tokkit does not run; PreTrainedTokenizerFast loads "
            "any tokenizer.json"
        )
