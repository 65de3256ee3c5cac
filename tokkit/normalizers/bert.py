"""Text in, what BERT's vocabularies are made for out: clean, in lower case, without accents, Chinese spaced."""

from __future__ import annotations

from dataclasses import dataclass

from tokkit._core import normalize
from tokkit._core.aligned import AlignedText
from tokkit.normalizers.base import Normalizer, check_flag


@dataclass(frozen=True, slots=True)
class Bert(Normalizer):
    r"""Does what is asked for in this order.

    `clean_text` drops controls, format characters, U+0000 and U+FFFD, and makes white space spaces;
    `handle_chinese_chars` puts a space on either side of Chinese characters; `strip_accents` (None: where
    `lowercase` is True) decomposes and drops marks; `lowercase` turns each character into lower case.

    >>> Bert().normalize_str("Où\tsommes-nous? 中国")
    'ou sommes-nous?  中  国 '
    """

    clean_text: bool = True
    handle_chinese_chars: bool = True
    strip_accents: bool | None = None
    lowercase: bool = True

    def __post_init__(self) -> None:
        for name in ("clean_text", "handle_chinese_chars", "lowercase"):
            check_flag(name, getattr(self, name))
        if self.strip_accents is not None:
            check_flag("strip_accents", self.strip_accents)

    @property
    def strips_accents(self) -> bool:
        """Whether marks are dropped: as `strip_accents` says, or where it does not, as `lowercase`."""
        return self.lowercase if self.strip_accents is None else self.strip_accents

    def normalize(self, text: AlignedText) -> None:
        """Normalize each piece."""
        normalize.bert(
            text,
            clean=self.clean_text,
            chinese=self.handle_chinese_chars,
            strip=self.strips_accents,
            lower=self.lowercase,
        )
