"""`from_tokenizers`: makes a tokkit tokenizer from an object of the tokenizers package, or of this interface."""

from __future__ import annotations

from typing import Any

from tokkit.errors import FormatError
from tokkit.files import strict_json
from tokkit.formats import tables, tokenizer_json
from tokkit.tokenizer import Tokenizer


def from_tokenizers(tokenizer: Any) -> Tokenizer:
    """Make a tokkit tokenizer from a `tokenizers.Tokenizer`; later changes of that one have no effect.

    Its truncation and padding become those of the new tokenizer. `tokenizer` may also be a wrapper with a
    `backend_tokenizer` or `_tokenizer`, as in transformers and tokenizers' implementations. TypeError for other
    objects; FormatError for components in Python, or features that tokkit does not support in files.
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
    return Tokenizer(tokenizer_json.from_json(strict_json.loads(data) if value is None else value, keep_ids=True))
