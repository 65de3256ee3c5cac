"""`Definition`: a tokenizer's vocabulary, components and special tokens as immutable data.

Formats read and write definitions, trainers return them, and an `Engine` runs one. This module runs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from tokkit import pickled, renamed
from tokkit.checks import checked_int, is_text
from tokkit.errors import OptionError, VocabError
from tokkit.models.bpe import BPE
from tokkit.models.sentencepiece import CONTROL, UNKNOWN, SentencePieceModel
from tokkit.vocab import MAX_ID, Vocab

if TYPE_CHECKING:
    from tokkit._core.align import AlignedText
    from tokkit.encoding.length_rules import Padding, Truncation


@dataclass(frozen=True, slots=True)
class Split:
    """Splits text into pretokens, the matches of a pattern; tokens never cross the end of a pretoken.

    `pattern` is in the syntax of the `regex` package; None makes the whole text one pretoken. Text between the matches
    is dropped, as in tiktoken, or becomes pretokens too with `keep_unmatched`, as in tokenizers.
    """

    pattern: str | None
    keep_unmatched: bool = False


def checked_special_tokens(tokens: Mapping[str, int]) -> dict[str, int]:
    """Return special tokens (text → id) as a dict; OptionError or VocabError for invalid ones."""
    if not isinstance(tokens, Mapping):
        raise OptionError(f"special tokens are a {type(tokens).__name__}; they must be a mapping of text to id")
    for text, id_ in tokens.items():
        if not isinstance(text, str) or not text:
            raise OptionError(f"a special token is {text!r}; it must be a str of at least one character")
        if isinstance(id_, bool) or not isinstance(id_, int) or not 0 <= id_ <= MAX_ID:
            raise OptionError(f"the special token {text!r} needs an id from 0 to {MAX_ID}, not {id_!r}")
        if not is_text(text):
            raise OptionError(f"the special token {text!r} has a lone surrogate, which is not valid text")
    if len(set(tokens.values())) < len(tokens):
        raise VocabError("two special tokens share one id")
    return dict(tokens)


@dataclass(frozen=True, slots=True)
class AddedToken:
    """Text that always becomes one token; the model does not see it.

    `single_word`: only if no word character is next to it. `lstrip`, `rstrip`: the token includes the white space
    before or after it. `normalized`: the normalized content is searched for in the normalized text (None: True unless
    `special`). `special`: user text becomes this token only if `special=` allows it, and `decode` can leave it out.
    """

    content: str
    id: int
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool | None = None
    special: bool = False

    def __post_init__(self) -> None:
        if not is_text(self.content) or not self.content:
            raise OptionError(f"an added token is {self.content!r}; it must be a str of at least one character")
        checked_int(f"the added token {self.content!r}", "id", self.id, maximum=MAX_ID)
        if self.normalized is None:
            object.__setattr__(self, "normalized", not self.special)
        for name in ("single_word", "lstrip", "rstrip", "normalized", "special"):
            if not isinstance(getattr(self, name), bool):
                raise OptionError(
                    f"the added token {self.content!r}: {name} is {getattr(self, name)!r}; it must be a bool"
                )

    @property
    def plain(self) -> bool:
        """Whether the content is searched for in the original text, without conditions on what is next to it."""
        return not (self.single_word or self.lstrip or self.rstrip or self.normalized)


class Normalizer(Protocol):
    """Changes a text before it is split: a component of `tokkit.normalizers`, or your own class."""

    def normalize(self, text: AlignedText) -> None:
        """Change each part of the text that is not an added token, in place."""


class Pretokenizer(Protocol):
    """Splits a text into pretokens: a component of `tokkit.pretokenizers`, or your own class."""

    def pretokenize(self, text: AlignedText) -> None:
        """Split each part of the text that is not an added token further, in place."""


class Model(Protocol):
    """Encodes pretokens to ids: a component of `tokkit.models`, or your own class."""

    def encoder(self, vocab: Vocab, *, added_ids: Collection[int] = ()) -> Any:
        """Return an object whose `encode(text)` returns (ids, spans, words).

        `added_ids` are the ids in `vocab` that only added tokens have: the model must not return them.
        """


@renamed.keywords(foreign="added_ids")
@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A complete tokenizer as data: vocabulary, components and added tokens.

    With a `BPE` model and a `Split`, the tokens in `vocab` are bytes, and the byte-level engine in C runs the
    definition. With a `LongestMatch`, they are bytes as well. With other models and pretokenizers, tokens are the UTF-8
    of their text in tokenizer.json ("##ing", "Ġthe"). `special_tokens` maps text to id; special tokens are in
    `added_tokens` too. `vocab` has the bytes of all tokens; `added_ids` are the ids that only added tokens have, not
    the model. `others` is JSON of the parts of a tekken.json that decide no id, which are written back unchanged.
    """

    vocab: Vocab
    model: BPE | Model | SentencePieceModel
    pretokenizer: Split | Pretokenizer | None
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    name: str = ""
    normalizer: Normalizer | None = None
    postprocessor: Any = None
    decoder: Any = None
    added_tokens: tuple[AddedToken, ...] = ()
    added_ids: frozenset[int] = frozenset()
    truncation: Truncation | None = None
    padding: Padding | None = None
    others: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.model, BPE) != isinstance(self.pretokenizer, Split):
            raise OptionError("a BPE model over bytes needs a Split; any other model needs another pretokenizer")
        added = {token.content: token for token in self.added_tokens}
        for text, id_ in checked_special_tokens(self.special_tokens).items():
            added.setdefault(text, AddedToken(text, id_, special=True))
        same = self.vocab.has_all((token.id, token.content.encode("utf-8")) for token in added.values())
        for token in () if same else added.values():
            if token.id not in self.vocab or self.vocab[token.id] != token.content.encode("utf-8"):
                kind = "special" if token.special else "added"
                raise VocabError(
                    f"the {kind} token {token.content!r} has the id {token.id}, which belongs to another token"
                )
        special = {token.content: token.id for token in added.values() if token.special}
        object.__setattr__(self, "added_tokens", tuple(added.values()))
        object.__setattr__(self, "special_tokens", MappingProxyType(special))

    @property
    def over_bytes(self) -> tuple[BPE, Split] | None:
        """The model and the split of byte-level BPE; None for other models."""
        if isinstance(self.model, BPE) and isinstance(self.pretokenizer, Split):
            return self.model, self.pretokenizer
        return None

    @property
    def tokens_are_bytes(self) -> bool:
        """Whether the tokens in `vocab` are the bytes of their text, which may be parts of characters."""
        return getattr(self.model, "tokens_are_bytes", False)

    foreign = renamed.attribute("foreign", "added_ids")

    @property
    def added_vocab(self) -> dict[str, int]:
        """Text → id of all added tokens, special or not."""
        return {token.content: token.id for token in self.added_tokens}

    def with_special_tokens(self, tokens: Mapping[str, int]) -> Definition:
        """Return a definition with `tokens` (text → id) as additional special tokens."""
        tokens = checked_special_tokens(tokens)
        for text, id_ in tokens.items():
            if (old := self.special_tokens.get(text, id_)) != id_:
                raise VocabError(f"the special token {text!r} cannot get the id {id_}: it already has the id {old}")
        vocab = self.vocab.with_tokens({id_: text.encode() for text, id_ in tokens.items()})
        more = {**self.special_tokens, **tokens}
        name = self.name if more == self.special_tokens else ""
        added_ids = self.added_ids | {id_ for id_ in tokens.values() if id_ not in self.vocab}
        return replace(self, vocab=vocab, special_tokens=more, name=name, added_ids=added_ids)

    def only_adds_to(self, other: Definition) -> bool:
        """Return whether this is another definition with more added tokens, all of them after its last id.

        Such tokens change nothing in what the model makes of the text around them.
        """
        n = len(other.added_tokens)
        parts = ("model", "pretokenizer", "normalizer")
        return (
            all(getattr(self, name) is getattr(other, name) for name in parts)
            and self.added_tokens[:n] == other.added_tokens
            and all(token.id >= other.vocab.n_ids for token in self.added_tokens[n:])
            and other.vocab.begins(self.vocab)
            and self.added_ids == other.added_ids.union(range(other.vocab.n_ids, self.vocab.n_ids))
        )

    def __reduce__(self) -> tuple[Callable[..., Definition], tuple[object, ...]]:
        values = {**{name: getattr(self, name) for name in self.__slots__}, "special_tokens": dict(self.special_tokens)}
        return _unpickled, (pickled.FORM, values)


def _unpickled(form: int, values: dict[str, Any]) -> Definition:
    pickled.check(form)
    if "foreign" in values:  # the old name of added_ids
        values = {**values, "added_ids": values["foreign"]}
        del values["foreign"]
    return Definition(**values)


def definition_of(model: SentencePieceModel) -> Definition:
    """Return the definition of a model: control and unknown pieces are its special tokens."""
    special = [AddedToken(model.pieces[id_].decode(), id_, special=True) for id_ in model.ids_of(CONTROL, UNKNOWN)]
    return Definition(model.pieces, model, None, added_tokens=tuple(special))
