"""The post-processors: put special tokens around texts and pairs."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from tokkit.compat.tokenizers import values
from tokkit.compat.tokenizers.component import Component, Parts, Setting, changed
from tokkit.compat.tokenizers.encoding import Encoding
from tokkit.encoding.encoding import replaced

Piece = dict[str, dict[str, Any]]


class PostProcessor(Component):
    """The base of all post-processors."""

    _stage = "post_processor"

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of tokens added to a text, or to a pair."""
        n: int = self._runs().n_added(pair=values.flag("is_pair", is_pair))
        return n

    def process(self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True) -> Encoding:
        """Return an encoding, or a pair of them, with special tokens."""
        add = values.flag("add_special_tokens", add_special_tokens)
        first, second = given_to(self, encoding, pair, add)
        processor = self._runs()
        return Encoding.of(processor.process(first, second, add_special=add))


def given_to(processor: PostProcessor | None, encoding: Encoding, pair: Encoding | None, add_special: bool) -> Any:
    """Return tokkit's encodings of a pair; for BERT's and RoBERTa's processors, all tokens belong to the text."""
    made = []
    for name, one in (("encoding", encoding), ("pair", pair)):
        if one is not None and not isinstance(one, Encoding):
            raise values.wrong_type(name, one, "an Encoding")
        given = None if one is None else one.made
        if given is not None and add_special and isinstance(processor, (BertProcessing, RobertaProcessing)):
            mask = np.zeros(len(given), dtype=np.uint8)
            given = replaced(given, special_tokens_mask=functools.partial(np.copy, mask))
        made.append(given)
    return made


def _token(name: str, value: Any) -> list[Any]:
    if not isinstance(value, tuple) or len(value) != 2:
        raise values.wrong_type(name, value, "a tuple of a token and its id")
    return [values.text(name, value[0]), values.token_id(name, value[1])]


class BertProcessing(PostProcessor):
    """Puts [CLS] before and [SEP] after each text."""

    sep = Setting(_token, show=tuple)
    cls = Setting(_token, show=tuple)

    def __init__(self, sep: tuple[str, int], cls_token: tuple[str, int]) -> None:
        self._set(sep=sep, cls=cls_token)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.sep, self.cls


class RobertaProcessing(PostProcessor):
    """Puts <s> before and </s> after each text, and excludes spaces from offsets."""

    sep = Setting(_token, show=tuple)
    cls = Setting(_token, show=tuple)
    trim_offsets = Setting(values.flag, default=True)
    add_prefix_space = Setting(values.flag, default=True)

    def __init__(
        self,
        sep: tuple[str, int],
        cls_token: tuple[str, int],
        trim_offsets: bool = True,
        add_prefix_space: bool = True,
    ) -> None:
        self._set(sep=sep, cls=cls_token, trim_offsets=trim_offsets, add_prefix_space=add_prefix_space)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.sep, self.cls


class ByteLevel(PostProcessor):
    """Excludes spaces at the ends of byte-level tokens from their offsets."""

    add_prefix_space = Setting(values.flag, default=True)
    trim_offsets = Setting(values.flag, default=True)
    use_regex = Setting(values.flag, default=True)

    def __init__(
        self,
        add_prefix_space: bool | None = None,
        trim_offsets: bool | None = None,
        use_regex: bool | None = None,
        **options: Any,
    ) -> None:
        given = {"add_prefix_space": add_prefix_space, "trim_offsets": trim_offsets, "use_regex": use_regex}
        self._set(**{name: value for name, value in given.items() if value is not None})


class TemplateProcessing(PostProcessor):
    """Puts special tokens around texts by templates such as "[CLS] $A [SEP]:0 $B:1"."""

    pair = Setting(lambda name, value: _template(name, value), show=lambda pieces: _spelt(pieces))
    special_tokens = Setting(lambda name, value: _special(name, value))

    def __init__(self, single: Any = None, pair: Any = None, special_tokens: Any = None) -> None:
        state: dict[str, Any] = {
            "single": _template("single", "$0" if single is None else single),
            "pair": _template("pair", "$A:0 $B:1" if pair is None else pair),
            "special_tokens": _special("special_tokens", special_tokens or []),
        }
        if {piece["Sequence"]["id"] for piece in state["pair"] if "Sequence" in piece} != {"A", "B"}:
            raise ValueError(f"pair is {pair!r}; it must have both $A and $B")
        used = [p["SpecialToken"]["id"] for name in ("single", "pair") for p in state[name] if "SpecialToken" in p]
        if missing := [token for token in used if token not in state["special_tokens"]]:
            raise ValueError(f"Missing SpecialToken(s) with id(s) {missing}: special_tokens must have their ids")
        self._state.update(state)

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {"single": [], "pair": [], "special_tokens": {}}

    @classmethod
    def _complete(cls, state: dict[str, Any]) -> None:
        super()._complete(state)
        special = state["special_tokens"]
        if isinstance(special, dict):  # else it is an error at first use
            state["special_tokens"] = dict(sorted(special.items()))

    @property
    def single(self) -> str:
        """The template of one text, in the form of the constructor's argument."""
        return _spelt(self._state["single"])

    @single.setter
    def single(self, single: Any) -> None:
        self._state["single"] = _template("single", single)
        changed()


def _template(name: str, value: Any) -> list[Piece]:
    if isinstance(value, str):
        value = value.split(" ")
    elif not isinstance(value, (list, tuple)) or not all(isinstance(piece, str) for piece in value):
        raise values.wrong_type(name, value, "a str, or a list of str")
    return [_piece(name, piece) for piece in value]


def _piece(name: str, piece: str) -> Piece:
    what, *given = piece.split(":")
    if len(given) > 1 or (given and not given[0].isdecimal()):
        raise ValueError(f"Cannot build Piece from {piece!r} of {name}: after a colon there must be one type id")
    type_id = int(given[0]) if given else 0
    if not what.startswith("$"):
        return {"SpecialToken": {"id": what, "type_id": type_id}}
    sequence = what[1:].upper()
    if sequence.isdecimal() and not given:
        sequence, type_id = "A", int(sequence)
    if sequence not in ("", "A", "B"):
        raise ValueError(f"Cannot build Piece from {piece!r} of {name}: a text is $A, $B, or $ and a type id")
    return {"Sequence": {"id": sequence or "A", "type_id": type_id}}


def _spelt(pieces: list[Piece]) -> str:
    made = []
    for piece in pieces:
        ((kind, inner),) = piece.items()
        made.append(f"{'$' if kind == 'Sequence' else ''}{inner['id']}:{inner['type_id']}")
    return " ".join(made)


def _special(name: str, value: Iterable[Any]) -> dict[str, dict[str, Any]]:
    made: dict[str, dict[str, Any]] = {}
    for token in value:
        if isinstance(token, dict):
            if missing := [key for key in ("id", "ids", "tokens") if key not in token]:
                raise ValueError(f"{name} has {token!r}; {missing[0]!r} is missing")
            one: dict[str, Any] = {"id": token["id"], "ids": list(token["ids"]), "tokens": list(token["tokens"])}
            if len(one["ids"]) != len(one["tokens"]):
                raise ValueError(f"{name} has {token!r}; it must have as many ids as tokens")
        else:
            both: list[Any] = list(token) if isinstance(token, (tuple, list)) and len(token) == 2 else [None, None]
            text, id_ = both if isinstance(both[0], str) else both[::-1]
            if not isinstance(text, str) or not isinstance(id_, int):
                raise values.wrong_type(name, token, "a pair of a str and an int, or a dict")
            one = {"id": text, "ids": [id_], "tokens": [text]}
        made[one["id"]] = one
    return dict(sorted(made.items()))


class Sequence(Parts[PostProcessor], PostProcessor):
    """Several post-processors, one after the other."""

    _key = "processors"
    _stage_class = PostProcessor

    def __init__(self, processors: list[PostProcessor]) -> None:
        self._fill("processors", processors)
