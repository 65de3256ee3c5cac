"""Postprocessor that arranges texts and special tokens by a template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tokkit.errors import OptionError
from tokkit.postprocessors.layout import MAX_TYPE_ID, Added, Group, Postprocessor, checked_token, checked_type_id


@dataclass(frozen=True, slots=True)
class SpecialToken:
    """The token or tokens that a name in a template stands for."""

    id: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]

    def __post_init__(self) -> None:
        ids, tokens = tuple(self.ids), tuple(self.tokens)
        if not isinstance(self.id, str) or len(ids) != len(tokens):
            raise OptionError(f"Template: the special token {self.id!r} has {len(ids)} ids and {len(tokens)} tokens")
        for token, id_ in zip(tokens, ids, strict=True):
            checked_token("Template", f"the special token {self.id!r}", (token, id_))
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "tokens", tokens)


@dataclass(frozen=True, slots=True)
class Piece:
    """One place of a template: a special token by its name, or a text, by its number 0 or 1."""

    what: str | int
    type_id: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.what, bool) or not (isinstance(self.what, str) or self.what in (0, 1)):
            raise OptionError(
                f"Template: a piece is {self.what!r}; it must be the name of a special token, or the number of a "
                "text, 0 or 1"
            )
        checked_type_id("Template", self.type_id)

    @classmethod
    def parse(cls, form: str) -> Piece:
        """Read "$A", "$B", "$" (A), "$3" (A with type id 3) or a special token; each may be followed by ":TYPE_ID".

        >>> Piece.parse("$B:1"), Piece.parse("[SEP]")
        (Piece(what=1, type_id=1), Piece(what='[SEP]', type_id=0))
        """
        name, *types = form.split(":")
        if len(types) > 1 or not all(map(_is_type_id, types)):
            raise OptionError(
                f"Template: {form!r} is not valid; write $A, $B or a special token, optionally with :TYPE_ID"
            )
        type_id = int(types[0]) if types else 0
        if not name.startswith("$"):
            return cls(name, type_id)
        text = name[1:]
        if text in ("", "A", "a", "B", "b"):
            return cls(int(text in ("B", "b")), type_id)
        if not _is_type_id(text):
            raise OptionError(f"Template: {form!r} is not valid; write $A, $B or $ and a type id")
        return cls(0, type_id if types else int(text))


def _is_type_id(text: str) -> bool:
    return re.fullmatch(r"\+?[0-9]{1,20}", text, re.ASCII) is not None and int(text) <= MAX_TYPE_ID


@dataclass(frozen=True, slots=True)
class Template(Postprocessor):
    """Arranges texts and special tokens in the order of `single`, or of `pair` for two texts.

    >>> bert = Template.parse("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", {"[CLS]": 101, "[SEP]": 102})
    >>> bert.single[0], bert.n_added(pair=True)
    (Piece(what='[CLS]', type_id=0), 3)
    """

    single: tuple[Piece, ...] = (Piece(0),)
    pair: tuple[Piece, ...] = (Piece(0), Piece(1, 1))
    special_tokens: tuple[SpecialToken, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (("single", Piece), ("pair", Piece), ("special_tokens", SpecialToken)):
            given = getattr(self, name)
            if not isinstance(given, (tuple, list)) or not all(isinstance(one, kind) for one in given):
                raise OptionError(f"Template: {name} is {given!r}; it must be a tuple of {kind.__name__} objects")
            object.__setattr__(self, name, tuple(given))
        named = {piece.what for piece in (*self.single, *self.pair) if isinstance(piece.what, str)}
        if missing := named - {token.id for token in self.special_tokens}:
            raise OptionError(f"Template: {min(missing)!r} is not among its special tokens; add it there")

    @classmethod
    def parse(
        cls,
        single: str | Iterable[str] = "$A",
        pair: str | Iterable[str] = "$A:0 $B:1",
        special_tokens: Mapping[str, int] | Iterable[SpecialToken] = (),
    ) -> Template:
        """Make a Template from text: pieces (see `Piece.parse`) separated by single spaces, or a list of pieces.

        `special_tokens` are id by token, or SpecialToken objects for names that stand for several tokens.
        """
        if isinstance(special_tokens, Mapping):
            special_tokens = [SpecialToken(token, (id_,), (token,)) for token, id_ in special_tokens.items()]
        return cls(_pieces(single), _pieces(pair), tuple(special_tokens))

    def n_added(self, *, pair: bool = False) -> int:
        """Return the number of special tokens in the template."""
        sizes = {token.id: len(token.ids) for token in self.special_tokens}
        return sum(sizes[piece.what] for piece in (self.pair if pair else self.single) if isinstance(piece.what, str))

    def arrange(self, groups: list[Group], *, add_special: bool) -> list[Group]:
        """Put the groups, which must be single texts, in the template's places."""
        if len(groups) > 2:
            raise OptionError(
                f"Template: the postprocessors before it leave {len(groups)} parts; it must get one text or two: in a "
                "Sequence, put a Template that adds tokens last"
            )
        specials = {token.id: token for token in self.special_tokens}
        arranged = []
        for piece in self.single if len(groups) == 1 else self.pair:
            if isinstance(piece.what, str):
                token = specials[piece.what]
                if add_special:
                    tokens = tuple(text.encode() for text in token.tokens)
                    arranged.append(Group((Added(token.ids, tokens, piece.type_id),), {}, {}))
            elif piece.what < len(groups):
                arranged.append(groups[piece.what].typed(piece.type_id).numbered(piece.what))
            else:
                raise OptionError("Template: the template for a single text has a place for a second, $B")
        return arranged


def _pieces(template: str | Iterable[str]) -> tuple[Piece, ...]:
    return tuple(map(Piece.parse, template.split(" ") if isinstance(template, str) else template))
