"""The interface of tiktoken 0.14: write `from tokkit.compat import tiktoken` in place of `import tiktoken`.

Files are found as `tokkit.get_encoding` finds them. The only difference: if tiktoken would download a file, an error
prints the `tokkit fetch` command for it. Errors have tiktoken's classes and our own messages.
"""

from __future__ import annotations

from tokkit import lazy
from tokkit.compat.tiktoken.core import Encoding
from tokkit.compat.tiktoken.model import encoding_for_model, encoding_name_for_model
from tokkit.compat.tiktoken.registry import get_encoding, list_encoding_names

__version__ = "0.14.0"
"""The version of tiktoken whose interface this is."""

__all__ = [
    "Encoding",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
]
__getattr__ = lazy.names(__name__, {}, ("_educational", "load"))
