"""`Encoding` of tiktoken, over a tokkit tokenizer."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

from tokkit._core.encode.calls import EncodingCalls
from tokkit._core.split import AddedMatcher
from tokkit.definition import AddedToken, Definition, Split
from tokkit.engine.encode_stream import stable_part
from tokkit.engine.special_tokens import AddedTokens
from tokkit.formats import split_patterns
from tokkit.formats.split_patterns import FANCY_REGEX
from tokkit.formats.tiktoken import check_empty_token
from tokkit.models.bpe import BPE
from tokkit.pickled import Immutable
from tokkit.threads import thread_count
from tokkit.tokenizer import Tokenizer
from tokkit.vocab import Vocab

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokkit.engine.byte_level import ByteLevelEngine
    from tokkit.engine.decoding import Decoding


Allowed = Literal["all"] | AbstractSet[str]
Disallowed = Literal["all"] | Collection[str]


class Encoding(EncodingCalls, Immutable):
    r"""An encoding with a pattern, ranks and special tokens; it has all methods of tiktoken's class.

    >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257}
    >>> enc = Encoding("small", pat_str=r"\w+|\W", mergeable_ranks=ranks, special_tokens={"<|end|>": 258})
    >>> enc.encode("low<|end|>", allowed_special="all"), enc.decode([257, 258])
    ([257, 258], 'low<|end|>')
    """

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        # An id may have several special texts here; the tokenizer has the first, the matchers have all.
        tok = Tokenizer(definition_of(pat_str, mergeable_ranks, first_texts(special_tokens)))
        self._set_up(name, tok, pat_str, special_tokens)
        if explicit_n_vocab:
            total = len(mergeable_ranks) + len(special_tokens)
            if total != explicit_n_vocab or self.max_token_value != explicit_n_vocab - 1:
                raise AssertionError(
                    f"explicit_n_vocab is {explicit_n_vocab}, but there are {total} tokens, ids up to "
                    f"{self.max_token_value}"
                )

    @classmethod
    def _of(cls, name: str, tok: Tokenizer, special_tokens: Mapping[str, int]) -> Encoding:
        made = cls.__new__(cls)
        split: Any = tok.definition.pretokenizer
        made._set_up(name, tok, split_patterns.write(str(split.pattern), FANCY_REGEX), special_tokens)
        return made

    def _set_up(self, name: str, tok: Tokenizer, pat_str: str, special_tokens: Mapping[str, int]) -> None:
        self.name = name
        self._pat_str = pat_str
        self._special_tokens = dict(special_tokens)
        self._tok = tok
        self._engine = cast("ByteLevelEngine", tok.engine)
        self._in_core = self._engine.encoder is not None
        self._detokenizer = cast("Decoding", tok.decoding).detokenizer
        # Bound once: in calls with few ids the look-ups of attributes are noticeable.
        self._joined, self._joined_bytes = self._detokenizer.decode, self._detokenizer.decode_bytes
        self._special_ids = frozenset(self._special_tokens.values())
        self.max_token_value = tok.n_ids - 1
        self._none: frozenset[str] = frozenset()
        self._all = frozenset(self._special_tokens)
        self._ids_of_tokens: dict[str | bytes, int] = {}
        if self._in_core and "" not in self._all:
            special = AddedMatcher.plain({text.encode(): id_ for text, id_ in self._special_tokens.items()})
            self.set_calls(self._engine.encoder, special, self._added.finder(self._all), self._special_ids)
        else:
            self.set_calls(None, None, None, self._special_ids)

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # ---- special tokens

    def _allowed(self, text: str, allowed: Allowed, disallowed: Disallowed) -> frozenset[str]:
        """Return the special tokens that text may have; ValueError if it has one that is disallowed."""
        if not isinstance(text, str):
            raise TypeError(f"text is {type(text).__name__}; it must be a str")
        if isinstance(allowed, str) and allowed != "all":
            raise TypeError(f'allowed_special is {allowed!r:.80}; it must be "all" or a set of special tokens')
        fine = self._all if allowed == "all" else frozenset(allowed) & self._all if allowed else self._none
        wrong = self._all - fine if disallowed == "all" else frozenset(disallowed)
        if wrong and (found := self._added.first_of(wrong, text.encode("utf-8", "surrogatepass"))) is not None:
            raise_disallowed_special_token(found)
        if "" in wrong:
            raise_disallowed_special_token("")
        return fine

    @functools.cached_property
    def _added(self) -> AddedTokens:
        """The special tokens, of which several may have the same id."""
        return AddedTokens(AddedToken(text, id_, special=True) for text, id_ in self._special_tokens.items() if text)

    def _named(self, tokens: frozenset[str]) -> frozenset[str]:
        """Return the tokens that the tokenizer has; it has only one text for each id."""
        return tokens & self._tok.special_tokens.keys()

    # ---- encoding

    def encode_text(self, text: str, allowed_special: Allowed, disallowed_special: Disallowed) -> list[int]:
        """Return the ids of a text; `encode` answers for most texts without this."""
        return self._encode(text, self._allowed(text, allowed_special, disallowed_special))

    def _encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        if not allowed:
            return self._engine.encode(text)
        if self._in_core:
            ids: list[int] = self._engine.encoder.encode(text, self._added.finder(allowed))  # type: ignore[union-attr]
            return ids
        return self._engine.encode(text, self._named(allowed))

    def encode_to_numpy(
        self, text: str, *, allowed_special: Allowed = frozenset(), disallowed_special: Disallowed = "all"
    ) -> NDArray[np.uint32]:
        """Return the ids of a text as a uint32 array."""
        allowed = self._allowed(text, allowed_special, disallowed_special)
        if allowed and self._in_core:
            return self._engine.encoder.encode_array(text, self._added.finder(allowed))  # type: ignore[union-attr]
        return self._engine.encode_array(text, self._named(allowed))

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """Return the ids of each text; special tokens in them are ordinary text."""
        return self._batch(list(text), self._none, num_threads)

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: Allowed = frozenset(),
        disallowed_special: Disallowed = "all",
    ) -> list[list[int]]:
        """Return the ids of each text, as from `encode`."""
        texts, allowed = list(text), self._none
        for one in texts:
            allowed = self._allowed(one, allowed_special, disallowed_special)
        if allowed != self._named(allowed):
            return [self._encode(one, allowed) for one in texts]
        return self._batch(texts, allowed, num_threads)

    def _batch(self, texts: list[str], allowed: frozenset[str], num_threads: int) -> list[list[int]]:
        for one in texts:
            if not isinstance(one, str):
                raise TypeError(f"a text is {type(one).__name__}; it must be a str")
        # More threads than CPUs only cost time.
        ids, offsets = self._engine.encode_batch(texts, allowed, min(num_threads, thread_count(None)))
        flat, ends = ids.tolist(), offsets.tolist()
        return [flat[a:b] for a, b in itertools.pairwise(ends)]

    def encode_with_unstable(
        self, text: str, *, allowed_special: Allowed = frozenset(), disallowed_special: Disallowed = "all"
    ) -> tuple[list[int], list[list[int]]]:
        """Return the ids that no later text changes, and the sequences that the rest may become."""
        allowed = self._allowed(text, allowed_special, disallowed_special)
        return self._tok.encode_with_unstable(text, special=self._named(allowed))

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of one token, special or not; KeyError if there is none."""
        known = self._ids_of_tokens
        if text_or_bytes in known:
            return known[text_or_bytes]
        token = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        if (id_ := self._tok.vocab.get(token)) is None:
            id_ = self._special_tokens[token.decode(errors="replace")]
        if type(text_or_bytes) in (str, bytes):
            known[text_or_bytes] = id_
        return id_

    # ---- decoding

    def _unknown(self, tokens: Sequence[int], error: KeyError) -> Exception:
        """Return the error that tiktoken raises for an id without a token."""
        message = f"no token has the id {error.args[0]}; ids run from 0 to {self.max_token_value}"
        if any(isinstance(token, int) and not 0 <= token < 1 << 32 for token in tokens):
            return OverflowError(message)
        return KeyError(message)

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of ids; KeyError for an id without a token."""
        try:
            return self._joined_bytes(tokens)
        except KeyError as error:
            raise self._unknown(tokens, error) from None

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Return the text of ids; invalid UTF-8 is handled as by bytes.decode with these `errors`."""
        if errors != "replace":
            return self.decode_bytes(tokens).decode("utf-8", errors)
        try:
            return self._joined(tokens)
        except KeyError as error:
            raise self._unknown(tokens, error) from None

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of one token; KeyError if there is none."""
        try:
            return self._detokenizer.token(token)
        except KeyError as error:
            raise self._unknown(error.args, error) from None

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Return the bytes of each token."""
        try:
            return self._detokenizer.each(list(tokens))
        except KeyError as error:
            raise self._unknown(error.args, error) from None

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """Return (text, offsets): the start of each token in characters; inside a character, the start of that one."""
        tokens = list(tokens)
        try:
            found = self._detokenizer.with_offsets(tokens)
        except KeyError as error:
            raise self._unknown(error.args, error) from None
        if found is None:
            self.decode_tokens_bytes(tokens)  # raises the error of an id without a token
            raise IndexError("a token is empty, and has no offset")
        return found

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """Return the text of each sequence of ids."""
        return [self.decode(tokens, errors) for tokens in batch]

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """Return the bytes of each sequence of ids."""
        return [self.decode_bytes(tokens) for tokens in batch]

    # ---- the vocabulary

    @functools.cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        own = set(self._tok.definition.added_vocab.values())
        ranks = {token: id_ for token, id_ in self._tok.vocab.items() if id_ not in own}
        return ranks if self._tok.vocab.empty is None else {**ranks, b"": self._tok.vocab.empty}

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of all tokens except special ones, sorted."""
        return self._sorted_tokens.copy()

    @functools.cached_property
    def _sorted_tokens(self) -> list[bytes]:
        return sorted(self._mergeable_ranks)

    @property
    def eot_token(self) -> int:
        """The id of <|endoftext|>; KeyError if there is none."""
        return self._special_tokens["<|endoftext|>"]

    @property
    def special_tokens_set(self) -> set[str]:
        """The texts of the special tokens."""
        return set(self._special_tokens)

    @property
    def n_vocab(self) -> int:
        """The highest id plus one."""
        return self.max_token_value + 1

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        piece = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        import numpy as np

        if (id_ := self._mergeable_ranks.get(piece)) is not None:
            return [id_]
        return [int(id_) for id_ in self._engine.merge_only(piece, np.array([len(piece)], dtype=np.int64))]

    def _encode_bytes(self, text: bytes) -> list[int]:
        try:
            return self._engine.encode(text.decode())
        except UnicodeDecodeError as error:
            valid, rest = text[: error.start], text[error.start :]
        # The bytes after the last pretoken of the valid text may belong to it.
        ids, last = stable_part(self._engine, self._tok.vocab, self._special_ids, valid, "text")
        return ids + self._encode_single_piece(last + rest)

    def made_by(self) -> tuple[Any, tuple[Any, ...]]:
        """Return the call that makes an equal encoding."""
        return Encoding._of, (self.name, self._tok, self._special_tokens)


def definition_of(pat_str: str, mergeable_ranks: Mapping[bytes, int], special_tokens: Mapping[str, int]) -> Definition:
    """Return the definition from a pattern, ranks and special tokens; each special id has one text."""
    ranks = Vocab.from_mapping(mergeable_ranks)
    pattern = split_patterns.read(pat_str, FANCY_REGEX)
    check_empty_token(ranks, pattern)
    definition = Definition(ranks, BPE(), Split(pattern))
    return definition.with_special_tokens(special_tokens)


def first_texts(special_tokens: Mapping[str, int]) -> dict[str, int]:
    """Return the special tokens with only the first text of each id."""
    first: dict[int, str] = {}
    for text, id_ in special_tokens.items():
        first.setdefault(id_, text)
    return {text: id_ for id_, text in first.items()}


def raise_disallowed_special_token(token: str) -> NoReturn:
    """Raise the ValueError for the text of a special token that `disallowed_special` forbids."""
    raise ValueError(
        f"the text contains {token!r}, which disallowed_special forbids; pass allowed_special={{{token!r}}} to make "
        "it a token, or disallowed_special=() to encode it as text"
    )
