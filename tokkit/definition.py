"""Components, vocabulary and special tokens in, `Definition` out: what a tokenizer is, as immutable data.

Formats read and write definitions, trainers return them, an `Engine` runs one. Nothing here runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from tokkit.errors import OptionError, VocabError
from tokkit.vocab import MAX_ID, Vocab


@dataclass(frozen=True, slots=True, eq=False)
class BPE:
    """Byte-pair encoding over bytes, as rank BPE or as merge-list BPE.

    `merges` is None for rank BPE (tiktoken): any adjacent pair whose bytes together are a token merges, the
    least id first, then leftmost. Otherwise it is a uint32 array of shape (n, 3), the ids of left, right and
    result in order of priority (tokenizers): only listed pairs merge. `whole_piece` gives a piece that is a
    token that token's id without merging (rank BPE always does; `ignore_merges` in tokenizer.json).
    """

    merges: np.ndarray | None = None
    whole_piece: bool = True

    def __post_init__(self) -> None:
        if self.merges is None:
            return
        merges = np.asarray(self.merges)
        if merges.ndim != 2 or merges.shape[1] != 3 or merges.dtype.kind not in "iu":
            raise VocabError(f"merges are ids of shape (n, 3), not {merges.dtype} of shape {merges.shape}")
        if merges.size and not 0 <= merges.min() <= merges.max() <= MAX_ID:
            raise VocabError(f"merges hold ids from {merges.min()} to {merges.max()}; ids run from 0 to {MAX_ID}")
        merges = np.array(merges, dtype=np.uint32, order="C")  # a copy, so that nobody can change it
        merges.flags.writeable = False
        object.__setattr__(self, "merges", merges)


@dataclass(frozen=True, slots=True)
class Split:
    """Cut text into pieces at the matches of a pattern; no token crosses a piece's end.

    `pattern` is in the syntax of the `regex` package; None makes the whole text one piece. Text between the
    matches is dropped in tiktoken's manner, or kept as pieces of its own in tokenizers' (`keep_unmatched`).
    """

    pattern: str | None
    keep_unmatched: bool = False


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is found in text before the model sees it; the fields are those of tokenizer.json.

    `single_word`: only where no word character stands beside it. `lstrip`, `rstrip`: it takes the white space before
    it, behind it. `normalized`: it is looked for, normalized itself, in normalized text, else in the text as it is
    given; None stands for all but special ones. `special`: not part of text, so that decoding may leave it out.
    """

    content: str
    id: int
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool | None = None
    special: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.content, str) or not self.content:
            raise OptionError(f"an added token is text of at least one character, not {self.content!r}")
        if any(0xD800 <= ord(c) < 0xE000 for c in self.content):
            raise OptionError(f"the added token {self.content!r} has a lone surrogate, which no text can have")
        if isinstance(self.id, bool) or not isinstance(self.id, int) or not 0 <= self.id <= MAX_ID:
            raise OptionError(f"the added token {self.content!r} needs an id from 0 to {MAX_ID}, not {self.id!r}")
        if self.normalized is None:
            object.__setattr__(self, "normalized", not self.special)


def checked_special_tokens(tokens: Mapping[str, int]) -> dict[str, int]:
    """Return special tokens (text → id) as a dict; OptionError or VocabError for what cannot be one."""
    if not isinstance(tokens, Mapping):
        raise OptionError(f"special tokens map text to id; a {type(tokens).__name__} was given")
    for text, id_ in tokens.items():
        if not isinstance(text, str) or not text:
            raise OptionError(f"a special token is text of at least one character, not {text!r}")
        if isinstance(id_, bool) or not isinstance(id_, int) or not 0 <= id_ <= MAX_ID:
            raise OptionError(f"the special token {text!r} needs an id from 0 to {MAX_ID}, not {id_!r}")
        if any(0xD800 <= ord(c) < 0xE000 for c in text):
            raise OptionError(f"the special token {text!r} has a lone surrogate, which no text can have")
    if len(set(tokens.values())) < len(tokens):
        raise VocabError("two special tokens share one id")
    return dict(tokens)


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """All that decides a tokenizer's ids: vocabulary (special tokens included), model, split, special tokens.

    `special_tokens` maps the text of each special token to its id; its bytes stand in `vocab` too.
    """

    vocab: Vocab
    model: BPE
    pretokenizer: Split
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        for text, id_ in self.special_tokens.items():
            if not text:
                raise OptionError("a special token is empty; give it at least one character")
            if id_ not in self.vocab or self.vocab[id_] != text.encode("utf-8"):
                raise VocabError(f"the special token {text!r} has the id {id_}, which is not its own in the vocabulary")
        object.__setattr__(self, "special_tokens", MappingProxyType(dict(self.special_tokens)))

    def with_special_tokens(self, tokens: Mapping[str, int]) -> Definition:
        """Return a definition that has `tokens` (text → id) as special tokens besides its own."""
        tokens = checked_special_tokens(tokens)
        for text, id_ in tokens.items():
            if (old := self.special_tokens.get(text, id_)) != id_:
                raise VocabError(f"the special token {text!r} has the id {old} already, so it cannot get {id_}")
        vocab = self.vocab.with_tokens({id_: text.encode() for text, id_ in tokens.items()})
        more = {**self.special_tokens, **tokens}
        name = self.name if more == self.special_tokens else ""
        return replace(self, vocab=vocab, special_tokens=more, name=name)

    def __reduce__(self) -> tuple[type[Definition], tuple[object, ...]]:
        return Definition, (self.vocab, self.model, self.pretokenizer, dict(self.special_tokens), self.name)
