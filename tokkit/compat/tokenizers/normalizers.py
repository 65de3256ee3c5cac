"""The normalizers: change a text before it is split."""

from __future__ import annotations

import base64
from typing import Any

from tokkit._core.align import AlignedText
from tokkit.compat.tokenizers import values
from tokkit.compat.tokenizers.component import Component, Parts, PatternSetting, Setting, failed, is_custom, run
from tokkit.compat.tokenizers.normalized_string import NormalizedString
from tokkit.errors import TokkitError


class Normalizer(Component):
    """The base of all normalizers; `custom` wraps a Python object with a method `normalize(normalized_string)`."""

    _stage = "normalizer"

    @staticmethod
    def custom(normalizer: Any) -> Normalizer:
        """Return a normalizer from an object whose `normalize` changes a `NormalizedString`."""
        made: Normalizer = Normalizer._custom(normalizer)
        return made

    def normalize(self, normalized: NormalizedString) -> None:
        """Change a `NormalizedString`."""
        if not isinstance(normalized, NormalizedString):
            raise values.wrong_type("normalized", normalized, "a NormalizedString")
        if is_custom(self._state):
            self._by_parts(normalized)
        else:
            normalized.run(self._runs())

    def _by_parts(self, normalized: NormalizedString) -> None:
        if "object" not in self._state:
            for part in self._state["normalizers"]:
                Normalizer._of(part).normalize(normalized)
            return
        try:
            with normalized.lent() as lent:
                self._state["object"].part.normalize(lent)
        except TokkitError:
            raise
        except Exception as error:
            raise failed(error) from error

    def normalize_str(self, sequence: str) -> str:
        """Return a text normalized."""
        given = values.text("sequence", sequence)
        if is_custom(self._state):
            text = NormalizedString(given)
            self.normalize(text)
            return text.normalized
        aligned = AlignedText(given)
        self._runs().normalize(aligned)
        return "".join(aligned.pieces)


class BertNormalizer(Normalizer):
    """Cleans text as BERT does: control characters, Chinese characters, accents, case."""

    clean_text = Setting(values.flag, default=True)
    handle_chinese_chars = Setting(values.flag, default=True)
    strip_accents = Setting(values.optional(values.flag), default=None)
    lowercase = Setting(values.flag, default=True)

    def __init__(
        self,
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: bool | None = None,
        lowercase: bool = True,
    ) -> None:
        self._set(
            clean_text=clean_text,
            handle_chinese_chars=handle_chinese_chars,
            strip_accents=strip_accents,
            lowercase=lowercase,
        )


class _Plain(Normalizer):
    """A normalizer without options."""

    def __init__(self) -> None:
        pass


class NFC(_Plain):
    """The normalization form NFC."""


class NFD(_Plain):
    """The normalization form NFD."""


class NFKC(_Plain):
    """The normalization form NFKC."""


class NFKD(_Plain):
    """The normalization form NFKD."""


class Lowercase(_Plain):
    """Converts to lower case."""


class StripAccents(_Plain):
    """Drops combining marks; use it after NFD."""


class Nmt(_Plain):
    """Drops control characters and turns some others into white space, as SentencePiece's rule "nmt"."""


class ByteLevel(_Plain):
    """Replaces each byte by one of 256 characters (byte symbols)."""


class Strip(Normalizer):
    """Strips white space from the ends."""

    left = Setting(values.flag, "strip_left", default=True)
    right = Setting(values.flag, "strip_right", default=True)

    def __init__(self, left: bool = True, right: bool = True) -> None:
        self._set(left=left, right=right)


class Prepend(Normalizer):
    """Puts a prefix before each non-empty text."""

    prepend = Setting(values.text, default="▁")

    def __init__(self, prepend: str = "▁") -> None:
        self._set(prepend=prepend)


class Replace(Normalizer):
    """Replaces each match of a str or a Regex."""

    pattern = PatternSetting()
    content = Setting(values.text, default="")

    def __init__(self, pattern: Any, content: str) -> None:
        self._set(pattern=pattern, content=content)


class Precompiled(Normalizer):
    """Applies the compiled rules of a SentencePiece model."""

    precompiled_charsmap = Setting(values.text, default="")

    def __init__(self, precompiled_charsmap: bytes) -> None:
        if not isinstance(precompiled_charsmap, bytes):
            raise values.wrong_type("precompiled_charsmap", precompiled_charsmap, "bytes")
        self._set(precompiled_charsmap=base64.b64encode(precompiled_charsmap).decode())
        run(self._stage, self._state)


class Sequence(Parts[Normalizer], Normalizer):
    """Several normalizers, one after the other."""

    _key = "normalizers"
    _stage_class = Normalizer

    def __init__(self, normalizers: list[Normalizer]) -> None:
        self._fill("normalizers", normalizers)


NORMALIZERS = {"nfc": NFC, "nfd": NFD, "nfkc": NFKC, "nfkd": NFKD}


def unicode_normalizer_from_str(normalizer: str) -> Normalizer:
    """Return the normalizer of a Unicode form by name; ValueError for other names."""
    if normalizer not in NORMALIZERS:
        raise ValueError(f"{normalizer!r} is not a normalization form; the forms are {', '.join(NORMALIZERS)}")
    return NORMALIZERS[normalizer]()
