"""The special tokens of a tokenizer by their roles, and tokens that are added to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tokkit.compat.transformers.vocabulary import Names, Vocabulary
from tokkit.definition import Definition
from tokkit.errors import OptionError
from tokkit.postprocessors.layout import Added
from tokkit.postprocessors.plain import Plain
from tokkit.registry.tokenizer_classes.draft import ROLES, Draft
from tokkit.registry.tokenizer_classes.tokens import AddedToken, is_token
from tokkit.tokenizer import Tokenizer

_EXTRA = "extra_special_tokens"
_OLDER_EXTRA = "additional_special_tokens"


class SpecialTokens(Vocabulary):
    """Roles of special tokens as attributes: `pad_token` is text, `pad_token_id` its id; None if it is not set."""

    SPECIAL_TOKENS_ATTRIBUTES = list(ROLES)  # noqa: RUF012  # a list of the class, as in transformers
    _roles: dict[str, Any]
    _extra: list[Any]

    _built: tuple[Tokenizer, Names] | None = None
    _pending: Draft | None = None
    """Tokens that were added since the tokenizer was built, which is built again when it is next needed."""

    @property
    def _own(self) -> tuple[Tokenizer, Names]:
        pending = self._pending  # once, because another thread may build it too
        if pending is not None:
            self._become(pending.definition())
        return cast("tuple[Tokenizer, Names]", self._built)

    @_own.setter
    def _own(self, own: tuple[Tokenizer, Names]) -> None:
        self._built, self._pending = own, None

    def _become(self, definition: Definition) -> None:
        """Replace the definition."""
        like = None if self._built is None else self._built[0]
        self._own = Tokenizer(definition, like=like), Names(definition)
        self._forget()

    def _forget(self) -> None:
        """Forget what was made of the tokenizer before."""
        self._backend = None

    # ---- roles as attributes

    def __getattr__(self, name: str) -> Any:
        role, as_id = _role_of(name)
        if role == _EXTRA:
            tokens = [str(token) for token in self.__dict__.get("_extra", ())]
            return self.convert_tokens_to_ids(tokens) if as_id else tokens
        if role not in self.SPECIAL_TOKENS_ATTRIBUTES:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        token = self.__dict__.get("_roles", {}).get(role)
        if token is None:
            return None
        return self.convert_tokens_to_ids(str(token)) if as_id else str(token)

    def __setattr__(self, name: str, value: Any) -> None:
        role, as_id = _role_of(name)
        if role == _EXTRA:
            if value is not None and not isinstance(value, (list, tuple)):
                raise OptionError(f"{name} is {value!r:.80}; it must be a list of tokens")
            self._extra = [self.convert_ids_to_tokens(id_) for id_ in value] if as_id and value else list(value or ())
        elif role in self.SPECIAL_TOKENS_ATTRIBUTES:
            value = self.convert_ids_to_tokens(value) if as_id and value is not None else value
            if value is not None and not is_token(value):
                raise OptionError(f"{name} is {value!r:.80}; it must be a str, an AddedToken or None")
            self._roles[role] = value
        else:
            super().__setattr__(name, value)

    @property
    def special_tokens_map(self) -> dict[str, str]:
        """Role → token, for roles that are set."""
        given = self._roles
        return {role: str(given[role]) for role in self.SPECIAL_TOKENS_ATTRIBUTES if given.get(role) is not None}

    @property
    def _special_tokens_map(self) -> dict[str, Any]:
        """Role → token with its rules, as transformers has it; None for roles that are not set."""
        return {role: self._roles.get(role) for role in self.SPECIAL_TOKENS_ATTRIBUTES}

    @property
    def all_special_tokens(self) -> list[str]:
        """The tokens of all roles, then the extra ones, without repeats."""
        return list(dict.fromkeys([*self.special_tokens_map.values(), *map(str, self._extra)]))

    @property
    def all_special_ids(self) -> list[int]:
        """The ids of `all_special_tokens`."""
        ids: list[int] = self.convert_tokens_to_ids(self.all_special_tokens)
        return ids

    def get_special_tokens_mask(
        self, token_ids_0: Any, token_ids_1: Any = None, already_has_special_tokens: bool = False
    ) -> list[int]:
        """Return 1 for each id of a special token, else 0.

        With `already_has_special_tokens`, the ids include their special tokens; else the mask is that of a call for a
        text, or a pair, with these ids.
        """
        if not already_has_special_tokens:
            texts = [token_ids_0] if token_ids_1 is None else [token_ids_0, token_ids_1]
            processor = self._tok.definition.postprocessor or Plain()
            parts = processor.layout(pair=token_ids_1 is not None).parts
            return [mark for part in parts for mark in _marks(part, texts)]
        if token_ids_1 is not None:
            raise OptionError("token_ids_1 was given; with already_has_special_tokens, all ids are in token_ids_0")
        special = set(self.all_special_ids)
        return [int(int(id_) in special) for id_ in token_ids_0]

    # ---- added tokens

    def add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        """Add tokens (texts or AddedTokens) after the last id; return the number of added or changed ones."""
        if not new_tokens:
            return 0
        listed = new_tokens if isinstance(new_tokens, (list, tuple)) else [new_tokens]
        made = [AddedToken.of(token, special=True if special_tokens else None) for token in listed]
        pending = self._draft() if self._pending is None else self._pending
        if pending.appends(made):
            n = pending.add(made)
            self._pending = pending
            self._forget()
            return n
        draft = self._draft()
        n = draft.add(made)
        if n:
            self._become(draft.definition())
        return n

    def _draft(self) -> Draft:
        """Return the tokenizer with its roles, for changes of special tokens."""
        draft = Draft.of_definition(self._tok.definition)
        draft.roles, draft.extra = dict(self._roles), list(self._extra)
        return draft

    def add_special_tokens(
        self, special_tokens_dict: Mapping[str, Any], replace_extra_special_tokens: bool = True
    ) -> int:
        """Set roles to tokens, which are added if they are new; return the number of added or changed tokens.

        Keys are roles, or "extra_special_tokens" ("additional_special_tokens"), a list, which replaces the old one
        unless `replace_extra_special_tokens` is False.
        """
        added: list[AddedToken] = []
        given = dict(special_tokens_dict)
        if _OLDER_EXTRA in given:  # these tokens come last
            if given.get(_EXTRA):
                raise OptionError(f"{_EXTRA} and {_OLDER_EXTRA}, its older name, were both given; give one of them")
            given[_EXTRA] = given.pop(_OLDER_EXTRA)
        for role, value in given.items():
            if role == _EXTRA:
                added += self._add_extra(value, role, replace_extra_special_tokens)
                continue
            if role not in self.SPECIAL_TOKENS_ATTRIBUTES:
                roles = ", ".join((*self.SPECIAL_TOKENS_ATTRIBUTES, _EXTRA))
                raise OptionError(f"{role!r} is not the role of a special token; the roles are {roles}")
            if not is_token(value):
                raise OptionError(f"{role} is {value!r:.80}; it must be a str or an AddedToken")
            token = AddedToken(value, special=True) if isinstance(value, str) else AddedToken.of(value)
            setattr(self, role, token)
            added.append(token)
        return self.add_tokens(added, special_tokens=True)

    def _add_extra(self, value: Any, name: str, replaces: bool) -> list[AddedToken]:
        if not isinstance(value, (list, tuple)) or not all(map(is_token, value)):
            raise OptionError(f"{name} is {value!r:.80}; it must be a list of str or AddedToken")
        known = self.extra_special_tokens
        new = [AddedToken.of(t, special=isinstance(t, str) or None) for t in value if replaces or str(t) not in known]
        self._extra = list(new) if replaces and new else [*self._extra, *new]
        return new


def _marks(part: Any, texts: Sequence[Any]) -> list[int]:
    return [int(part.special)] * len(part.ids) if isinstance(part, Added) else [0] * len(texts[part.number])


def _role_of(name: str) -> tuple[str, bool]:
    """Return (role, whether it is the id) for an attribute: "pad_token_id" → ("pad_token", True)."""
    for ending in ("_ids", "_id"):
        if name.endswith(ending):
            return name.removesuffix(ending), True
    return name, False
