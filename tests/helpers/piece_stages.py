"""Plain Python stand-ins for the stages before a model, which cut an `AlignedText`.

tokenizers runs the same stages itself, so that ids, offsets and word numbers can be compared as they come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from conftest import byte_of_letter

if TYPE_CHECKING:
    import tokenizers

    from tokkit._core.align import AlignedText
    from tokkit.models.base import CompiledModel

Tokens = tuple[list[int], list[tuple[int, int]], list[int]]
Stage = Callable[[str], "AlignedText"]
MISSING = ("Unk token", "WordPiece error: Missing", "WordLevel error: Missing")
LETTER_OF_BYTE = {byte: letter for letter, byte in byte_of_letter().items()}


def whole(text: str) -> AlignedText:
    from tokkit._core.align import AlignedText

    return AlignedText(text)


def cut_by(pretokenizer: tokenizers.pre_tokenizers.PreTokenizer) -> Stage:
    """The pieces that a pretokenizer that changes no text makes."""

    def stage(text: str) -> AlignedText:
        aligned = whole(text)
        aligned.cut(lambda piece: [span for _, span in pretokenizer.pre_tokenize_str(piece)])
        return aligned

    return stage


def marked(piece: str) -> list[tuple[str, int]]:
    """Metaspace with prepend_scheme "always": blanks for spaces, and one at the front where there is none.

    The one at the front is aligned with the first character, in whose place it is put.
    """
    if piece.startswith((" ", "▁")):
        return [("▁" if c == " " else c, 0) for c in piece]
    return [("▁", 0), (piece[0], 1), *(("▁" if c == " " else c, 0) for c in piece[1:])]


def metaspace(text: str) -> AlignedText:
    """Metaspace without a split: one piece."""
    aligned = whole(text)
    aligned.rewrite(marked)
    return aligned


def words_with_metaspace(text: str) -> AlignedText:
    """WhitespaceSplit, then Metaspace: as in T5's file."""
    from tokenizers import pre_tokenizers

    aligned = cut_by(pre_tokenizers.WhitespaceSplit())(text)
    aligned.rewrite(marked)
    return aligned


def byte_level(text: str) -> AlignedText:
    """GPT-2's pieces, in letters that stand for bytes."""
    from tokenizers import Regex, pre_tokenizers

    from tokkit.pretokenizers import patterns

    aligned = cut_by(pre_tokenizers.Split(Regex(patterns.BYTE_LEVEL), "isolated"))(text)
    aligned.rewrite(lambda piece: [(LETTER_OF_BYTE[b], int(i > 0)) for c in piece for i, b in enumerate(c.encode())])
    return aligned


def ours(model: CompiledModel, text: str, stage: Stage = whole, **options: Any) -> Tokens:
    """Ids, offsets in characters and numbers of words."""
    ids, spans, words = model.encode(stage(text), **options)
    character = [0]
    for at, c in enumerate(text):
        character += [at] * (len(c.encode()) - 1) + [at + 1]
    offsets = [(character[start], character[end]) for start, end in spans.tolist()]
    return ids.tolist(), offsets, words.tolist()


def theirs(model: tokenizers.models.Model, text: str, *stages: tokenizers.pre_tokenizers.PreTokenizer) -> Tokens | None:
    """The same from tokenizers, or None where its model needs an unknown token and has none."""
    import tokenizers

    tokenizer = tokenizers.Tokenizer(model)
    if stages:
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(list(stages))
    try:
        return tokens_of(tokenizer, text)
    except Exception as error:  # it has no class of its own
        if str(error).startswith(MISSING):
            return None
        raise


def tokens_of(tokenizer: tokenizers.Tokenizer, text: str) -> Tokens:
    encoding = tokenizer.encode(text, add_special_tokens=False)
    return encoding.ids, encoding.offsets, encoding.word_ids


def assert_same(model: CompiledModel, stage: Stage, tokenizer: tokenizers.Tokenizer, texts: Sequence[str]) -> None:
    """Equal ids, offsets and words for each text, or the first place where they differ."""
    for text in texts:
        got, wanted = ours(model, text, stage), tokens_of(tokenizer, text)
        if got != wanted:
            pairs = list(zip(zip(*got, strict=True), zip(*wanted, strict=True), strict=False))
            at = next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs))
            raise AssertionError(f"{text[:80]!r}, token {at}: ours, theirs {pairs[at : at + 3]}")
