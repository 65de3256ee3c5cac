"""`WordPiece`: the WordPiece model of tokenizer.json."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tokkit import renamed
from tokkit.errors import OptionError
from tokkit.models import base
from tokkit.vocab import Vocab

MAX_CHARACTERS = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPiece:
    """Greedy longest match: the longest token at the start of a word, then the longest with the prefix, and so on.

    A word that cannot be matched, or with more than `max_input_chars_per_word` characters, becomes `unk_token`.

    >>> from tokkit._core.align import AlignedText
    >>> model = WordPiece().encoder(Vocab.from_list([b"[UNK]", b"un", b"##aff", b"##able"]))
    >>> text = AlignedText("unaffable unx")
    >>> text.cut(lambda piece: [(0, 9), (10, 13)])
    >>> ids, spans, words = model.encode(text)
    >>> ids.tolist(), spans.tolist(), words.tolist()
    ([1, 2, 3, 0], [[0, 2], [2, 5], [5, 9], [10, 13]], [0, 0, 0, 1])
    """

    unk_token: str = "[UNK]"
    continuing_subword_prefix: str = "##"
    max_input_chars_per_word: int = 100

    def __post_init__(self) -> None:
        base.check_text(
            optional=False, unk_token=self.unk_token, continuing_subword_prefix=self.continuing_subword_prefix
        )
        limit = self.max_input_chars_per_word
        if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit <= MAX_CHARACTERS:
            raise OptionError(f"max_input_chars_per_word is {limit!r}; it must be a number of characters, 0 or more")

    @renamed.keywords(foreign="added_ids")
    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> base.CompiledModel:
        """Build the tables; `added_ids` are ids in the vocabulary that only added tokens have, not the model."""
        marks = base.own_tokens(vocab, added_ids)
        options: dict[str, object] = {
            "unknown": base.id_of(self.unk_token, vocab, marks),
            "prefix": self.continuing_subword_prefix.encode(),
            "most_characters": self.max_input_chars_per_word,
        }
        return base.build("wordpiece", vocab, marks, options)
