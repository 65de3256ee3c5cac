"""`from_tokenizers`: a tokkit tokenizer of an object of the tokenizers package, or of this interface."""

from __future__ import annotations

from typing import Any

from tokkit.errors import FormatError
from tokkit.formats import strict_json, tables, tokenizer_json
from tokkit.tokenizer import Tokenizer


def from_tokenizers(tokenizer: Any) -> Tokenizer:
    """Return the tokkit tokenizer of a `tokenizers.Tokenizer`, as it is now; later changes of it change nothing here.

    Its truncation and padding become the tokenizer's own. A wrapper whose `backend_tokenizer` or `_tokenizer` is one,
    as of transformers and of tokenizers' implementations, will do too. TypeError for another object; FormatError if it
    has components in Python, or a construct that tokkit reads in no file.
    """
    for name in ("backend_tokenizer", "_tokenizer"):
        if not hasattr(tokenizer, "to_str"):
            tokenizer = getattr(tokenizer, name, tokenizer)
    if not callable(getattr(tokenizer, "to_str", None)):
        raise TypeError(f"tokenizer is {type(tokenizer).__name__}; it must be a Tokenizer of the package tokenizers")
    try:
        data = tokenizer.to_str().encode()
    except FormatError:
        raise
    except Exception as error:
        raise FormatError(f"the tokenizer cannot be written as a tokenizer.json: {error}") from None
    value = tables.loads(data)
    return Tokenizer(tokenizer_json.from_json(strict_json.loads(data) if value is None else value))
