"""The interface of the tokenizers package 0.23: `from tokkit.compat import tokenizers`.

A component holds its JSON as in a tokenizer.json; a `Tokenizer` builds one `tokkit.Tokenizer` from its parts at first
use, and again after a change. Errors have the classes of tokenizers, or of `tokkit.errors` where tokenizers raises a
bare Exception. Intended differences: docs/coming-from/tokenizers.md.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from tokkit import lazy

if TYPE_CHECKING:
    from tokkit.compat.tokenizers import decoders as decoders
    from tokkit.compat.tokenizers import implementations as implementations
    from tokkit.compat.tokenizers import models as models
    from tokkit.compat.tokenizers import normalizers as normalizers
    from tokkit.compat.tokenizers import pre_tokenizers as pre_tokenizers
    from tokkit.compat.tokenizers import processors as processors
    from tokkit.compat.tokenizers import trainers as trainers
    from tokkit.compat.tokenizers.added_token import AddedToken as AddedToken
    from tokkit.compat.tokenizers.encoding import Encoding as Encoding
    from tokkit.compat.tokenizers.implementations import BertWordPieceTokenizer as BertWordPieceTokenizer
    from tokkit.compat.tokenizers.implementations import ByteLevelBPETokenizer as ByteLevelBPETokenizer
    from tokkit.compat.tokenizers.implementations import CharBPETokenizer as CharBPETokenizer
    from tokkit.compat.tokenizers.implementations import SentencePieceBPETokenizer as SentencePieceBPETokenizer
    from tokkit.compat.tokenizers.implementations import SentencePieceUnigramTokenizer as SentencePieceUnigramTokenizer
    from tokkit.compat.tokenizers.normalized_string import NormalizedString as NormalizedString
    from tokkit.compat.tokenizers.pre_tokenized_string import PreTokenizedString as PreTokenizedString
    from tokkit.compat.tokenizers.pre_tokenized_string import Token as Token
    from tokkit.compat.tokenizers.regex import Regex as Regex
    from tokkit.compat.tokenizers.tokenizer import Tokenizer as Tokenizer

__version__ = "0.23.3"
"""The version of tokenizers whose interface this is."""

_MODULES = {
    "AddedToken": "added_token",
    "Encoding": "encoding",
    "NormalizedString": "normalized_string",
    "PreTokenizedString": "pre_tokenized_string",
    "Regex": "regex",
    "Token": "pre_tokenized_string",
    "Tokenizer": "tokenizer",
    "BertWordPieceTokenizer": "implementations",
    "ByteLevelBPETokenizer": "implementations",
    "CharBPETokenizer": "implementations",
    "SentencePieceBPETokenizer": "implementations",
    "SentencePieceUnigramTokenizer": "implementations",
}
_PARTS = ("decoders", "implementations", "models", "normalizers", "pre_tokenizers", "processors", "trainers")

__all__ = sorted([*_MODULES, *_PARTS, "OffsetReferential", "OffsetType", "SplitDelimiterBehavior"])
__getattr__ = lazy.names(__name__, {name: f"{__name__}.{module}" for name, module in _MODULES.items()}, _PARTS)


Offsets = tuple[int, int]
TextInputSequence = str
PreTokenizedInputSequence = list[str] | tuple[str]
TextEncodeInput = TextInputSequence | tuple[TextInputSequence, TextInputSequence] | list[TextInputSequence]
PreTokenizedEncodeInput = (
    PreTokenizedInputSequence
    | tuple[PreTokenizedInputSequence, PreTokenizedInputSequence]
    | list[PreTokenizedInputSequence]
)
InputSequence = TextInputSequence | PreTokenizedInputSequence
EncodeInput = TextEncodeInput | PreTokenizedEncodeInput

_ALIASES = (
    *("Offsets", "TextInputSequence", "PreTokenizedInputSequence", "InputSequence"),
    *("TextEncodeInput", "PreTokenizedEncodeInput", "EncodeInput"),
)
__dir__ = sorted([*__all__, *_ALIASES]).copy


class OffsetReferential(enum.Enum):
    """The text to which offsets refer."""

    ORIGINAL = "original"
    NORMALIZED = "normalized"


class OffsetType(enum.Enum):
    """The unit of offsets."""

    BYTE = "byte"
    CHAR = "char"


class SplitDelimiterBehavior(enum.Enum):
    """What happens to the matches of a split."""

    REMOVED = "removed"
    ISOLATED = "isolated"
    MERGED_WITH_PREVIOUS = "merged_with_previous"
    MERGED_WITH_NEXT = "merged_with_next"
    CONTIGUOUS = "contiguous"
