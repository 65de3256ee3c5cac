"""Look-ups of tokens and ids, and decoding."""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from tokkit._core.lists import names_at
from tokkit.byte_symbols import to_symbols
from tokkit.definition import Definition
from tokkit.engine.special_tokens import content
from tokkit.errors import TokkitError
from tokkit.models.bpe import BPE
from tokkit.models.char_bpe import CharBPE
from tokkit.registry.tokenizer_classes.tokens import AddedToken
from tokkit.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokkit.compat.transformers.backend import Backend
    from tokkit.registry.tokenizer_classes.row import Row

_CLEANED = (
    *((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't")),
    *((f" '{end}", f"'{end}") for end in ("m", "s", "ve", "re")),
)


FOR_BPE = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
LOG = logging.getLogger("transformers.tokenization_utils_base")
"""The logger of transformers, so that its settings and filters apply."""


class Names:
    """The tokens of a definition, in the spelling of tokenizer.json."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self.added: dict[str, int] = definition.added_vocab

    @functools.cached_property
    def ids(self) -> dict[str, int]:
        """Token → id of all tokens."""
        in_bytes = self._definition.over_bytes is not None
        own = frozenset(self.added.values())
        spelt = {
            to_symbols(token) if in_bytes else token.decode("utf-8", "replace"): id_
            for token, id_ in self._definition.vocab.items()
            if id_ not in own
        }
        return spelt | self.added

    @functools.cached_property
    def tokens(self) -> dict[int, str]:
        """Id → token of all tokens; added tokens that are found in normalized text have their normalized content."""
        tokens = {id_: token for token, id_ in self.ids.items()}
        normalizer = self._definition.normalizer
        return tokens | {token.id: content(token, normalizer) for token in self._definition.added_tokens}

    @functools.cached_property
    def by_id(self) -> list[str | None]:
        """The token of each id, None for none."""
        return list(map(self.tokens.get, range(self._definition.vocab.n_ids)))


class Vocabulary(ABC):
    """Methods for single tokens, and decoding."""

    _own: tuple[Tokenizer, Names]
    _backend: Backend | None = None
    clean_up_tokenization_spaces: bool
    clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output = False
    unk_token_id: int | None
    pad_token_id: int | None
    row: Row

    @property
    @abstractmethod
    def all_special_ids(self) -> list[int]:
        """The ids of the special tokens."""

    @property
    def _tok(self) -> Tokenizer:
        return (self._own if self._backend is None else self._after_changes())[0]

    @property
    def _names(self) -> Names:
        return (self._own if self._backend is None else self._after_changes())[1]

    def _after_changes(self) -> tuple[Tokenizer, Names]:
        """Return the tokenizer, built again if `backend_tokenizer` was changed."""
        definition = None if self._backend is None else self._backend.changed()
        if definition is not None:
            self._own = Tokenizer(definition, like=self._own[0]), Names(definition)
        return self._own

    def get_vocab(self) -> dict[str, int]:
        """Return token → id of all tokens."""
        return dict(self._names.ids)

    @property
    def vocab(self) -> dict[str, int]:
        """Token → id of all tokens."""
        return self.get_vocab()

    @property
    def vocab_size(self) -> int:
        """The number of the model's tokens, without added ones."""
        definition = self._tok.definition
        return len(definition.vocab) - len(definition.added_ids)

    def __len__(self) -> int:
        return len(self._tok.definition.vocab)

    def __bool__(self) -> bool:
        return True

    def get_added_vocab(self) -> dict[str, int]:
        """Return token → id of all added tokens, in the order of their ids."""
        return {str(token): id_ for id_, token in self.added_tokens_decoder.items()}

    added_tokens_encoder = property(get_added_vocab, doc="Token → id of all added tokens.")

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Id → token of all added tokens, in the order of their ids."""
        tokens = sorted(self._tok.definition.added_tokens, key=lambda token: token.id)
        return {token.id: AddedToken.of(token) for token in tokens}

    # ---- tokens ↔ ids

    def convert_tokens_to_ids(self, tokens: str | Iterable[str]) -> Any:
        """Return the id of a token, or of each of several; the id of `unk_token`, or None, for an unknown one."""
        if isinstance(tokens, str):
            return self._id_of(tokens)
        return [self._id_of(token) for token in tokens]

    def _id_of(self, token: str) -> int | None:
        if not isinstance(token, str):
            raise TypeError(f"a token is {token!r:.80}; it must be a str")
        found = self._names.added.get(token)
        if found is None:
            found = self._names.ids.get(token)
        return self.unk_token_id if found is None else found

    def convert_ids_to_tokens(self, ids: int | Iterable[int], skip_special_tokens: bool = False) -> Any:
        """Return the token of an id, or of each of several; None for an id that no token has."""
        if isinstance(ids, int):
            return self._names.tokens.get(_checked(ids))
        if not skip_special_tokens and type(ids) is list:
            made = names_at(ids, self._names.by_id)
            if made is not None:
                return made
        special = set(self.all_special_ids) if skip_special_tokens else ()
        return [self._names.tokens.get(_checked(id_)) for id_ in map(int, ids) if id_ not in special]

    def convert_tokens_to_string(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens."""
        decoder = self._tok.definition.decoder
        text: str = decoder.decode(tokens) if decoder is not None else " ".join(tokens)
        return text

    # ---- text of ids

    def decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return the text of ids, or a list of texts for several sequences; ids without a token are skipped.

        `token_ids` is an id, or ids in a list, an array, a tensor or another iterable, or a list of such sequences; of
        a dictionary, its `input_ids`. TypeError for other values.
        """
        if type(token_ids) is list and token_ids and type(token_ids[0]) is int:
            with contextlib.suppress(TypeError):  # not all of them are ints
                return self._text(token_ids, skip_special_tokens, clean_up_tokenization_spaces)
        return self._texts(_listed(token_ids), skip_special_tokens, clean_up_tokenization_spaces)

    def batch_decode(
        self,
        sequences: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Return the texts of several sequences of ids, as a list; of one sequence, a list of its text."""
        ids = _listed(sequences)
        if isinstance(ids, int):
            raise TypeError(f"sequences are {sequences!r:.80}; they must be a list of sequences of ids")
        if not ids:
            return []
        texts = self._texts(ids, skip_special_tokens, clean_up_tokenization_spaces)
        return [texts] if isinstance(texts, str) else texts

    def _texts(self, ids: int | list[Any], skip: bool, clean: bool | None) -> str | list[str]:
        """Return the text of ids, or of each of several sequences."""
        if isinstance(ids, list) and ids and isinstance(ids[0], list):
            return [self._text(one, skip, clean) for one in ids]
        return self._text(ids, skip, clean)

    def _text(self, given: int | list[Any], skip: bool, clean: bool | None) -> str:
        ids = [given] if isinstance(given, int) else given
        if self.row.groups_repeats:
            ids = [id_ for id_, _ in itertools.groupby(ids) if id_ != self.pad_token_id]
        try:
            text = self._tok.decode(ids, skip_special=skip)
        except (TokkitError, OverflowError):
            known = [id_ for id_ in ids if _checked(id_) in self._names.tokens]
            text = self._tok.decode(known, skip_special=skip)
        if self.row.word_end:
            text = text.replace(self.row.word_end, " ").strip()
        clean = self.clean_up_tokenization_spaces if clean is None else clean
        if clean and isinstance(self._tok.definition.model, (BPE, CharBPE)) and not getattr(self, FOR_BPE):
            _warn_of_clean_up()
            return text
        return self.clean_up_tokenization(text) if clean else text

    def clean_up_tokenization(self, text: str) -> str:
        """Return a text without the spaces before punctuation and English contractions."""
        for spaced, cleaned in _CLEANED:
            text = text.replace(spaced, cleaned)
        return text


def _listed(value: Any) -> int | list[Any]:
    """Return an id as an int, and ids as a list of ints, or of lists if they are nested."""
    if type(value) is int:
        return value
    if isinstance(value, Mapping):
        return _listed(value["input_ids"])
    if hasattr(value, "tolist"):  # an array or a tensor
        return value.tolist() if getattr(value, "ndim", 0) else _listed(value.tolist())
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (str, Set)) or not isinstance(value, Iterable):
        raise TypeError(f"ids are {value!r:.80}; they must be an int, or ints in an order")
    return [item if type(item) is int else _listed(item) for item in value]


@functools.cache
def _warn_of_clean_up() -> None:
    LOG.warning(
        "clean_up_tokenization_spaces is ignored for BPE, because it would remove spaces that belong to the text; set "
        "%s to apply it",
        FOR_BPE,
    )


def _checked(id_: int) -> int:
    """Return an id; OverflowError if it is negative or has more than 32 bits."""
    if not 0 <= id_ < 1 << 32:
        raise OverflowError(f"the id {id_} is out of range; ids are from 0 to {(1 << 32) - 1}")
    return id_
