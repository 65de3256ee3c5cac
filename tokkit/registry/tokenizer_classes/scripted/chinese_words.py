"""`ChineseWords`: splits Chinese text into words with the package rjieba, as RoFormer's tokenizer does."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from tokkit._core.align import AlignedText
from tokkit.normalizers.bert import Bert
from tokkit.registry.tokenizer_classes.scripted.other_programs import module


@dataclass(frozen=True, slots=True, eq=False)
class ChineseWords:
    """Splits text into the words of rjieba; a word that is not in `vocab` is split at each Chinese character."""

    vocab: Container[str]

    def pretokenize(self, text: AlignedText) -> None:
        """Split each part of the text that is not an added token further, in place."""
        text.cut(self._spans)

    def _spans(self, text: str) -> Iterable[tuple[int, int]]:
        for word, start, end in module("rjieba").tokenize(text, hmm=False):
            if word in self.vocab:
                yield start, end
                continue
            for part in _apart(word).split():
                yield start, start + len(part)
                start += len(part)


def _apart(word: str) -> str:
    """Return a word with spaces around its Chinese characters."""
    text = AlignedText(word)
    Bert(clean_text=False, handle_chinese_chars=True, strip_accents=False, lowercase=False).normalize(text)
    return "".join(text.pieces)
