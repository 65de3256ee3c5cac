"""`WordLevel`: the WordLevel model of tokenizer.json."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tokkit import renamed
from tokkit.models import base
from tokkit.vocab import Vocab


@dataclass(frozen=True, slots=True, kw_only=True)
class WordLevel:
    """Looks up whole pretokens: each is one token, or `unk_token`.

    >>> from tokkit._core.align import AlignedText
    >>> model = WordLevel(unk_token="[UNK]").encoder(Vocab.from_list([b"[UNK]", b"to", b"be"]))
    >>> text = AlignedText("to bee")
    >>> text.cut(lambda piece: [(0, 2), (3, 6)])
    >>> model.encode(text)[0].tolist()
    [1, 0]
    """

    unk_token: str = "<unk>"

    def __post_init__(self) -> None:
        base.check_text(optional=False, unk_token=self.unk_token)

    @renamed.keywords(foreign="added_ids")
    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> base.CompiledModel:
        """Build the tables; `added_ids` are ids in the vocabulary that only added tokens have, not the model."""
        marks = base.own_tokens(vocab, added_ids)
        options: dict[str, object] = {
            "unknown": base.id_of(self.unk_token, vocab, marks),
        }
        return base.build("wordlevel", vocab, marks, options)
