"""`Draft`: a tokenizer.json in the making, to which special tokens are added as tokenizers and transformers do."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tokkit.byte_symbols import is_symbols, to_bytes
from tokkit.checks import is_text
from tokkit.definition import Definition
from tokkit.engine.special_tokens import overlap, vanished
from tokkit.errors import FormatError, OptionError
from tokkit.formats import components, model_json, tokenizer_json
from tokkit.formats.tables import Table
from tokkit.registry.tokenizer_classes.row import JSON
from tokkit.registry.tokenizer_classes.scripted.end_once import EndOnce
from tokkit.registry.tokenizer_classes.tokens import AddedToken
from tokkit.vocab import MAX_ID

_ENDS = ("bos", "eos")
ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class Draft:
    """The contents of a tokenizer.json, or a whole definition, and the special tokens of a class.

    `roles` are tokens by role, `extra` the extra special tokens. `updates_around` says that bos and eos are put around
    texts as the arguments say, `is_kept` that the stages are those of a file. `components` replace those of the file.
    `kept_in_text` are tokens of roles that decoding never leaves out.
    """

    def __init__(self, file: JSON, whole: Definition | None = None, *, is_kept: bool = False) -> None:
        self.file = file
        self.whole = whole
        self.roles: dict[str, AddedToken | str | None] = {}
        self.extra: list[Any] = []
        self.updates_around = False
        self.is_kept = is_kept
        self.components: dict[str, Any] = {}
        self.kept_in_text: set[str] = set()
        self._added: dict[str, tuple[int, AddedToken]] = {}
        self._last, self._n_new = -1, 0  # greatest id of an added token, and how many are not tokens of `whole`
        self._ids: dict[str, int] | Table = {}
        if whole is None:
            vocab = file["model"]["vocab"]
            self._ids = {token: id_ for id_, (token, _) in enumerate(vocab)} if isinstance(vocab, list) else vocab
            self.n_own = len(vocab)
        else:
            self.n_own = len(whole.vocab) - len(whole.added_ids)

    @classmethod
    def of_file(cls, file: JSON) -> Draft:
        """Return the draft of a tokenizer.json as it is, with its added tokens."""
        made = cls({**file, "added_tokens": []}, is_kept=True)
        vocab = made._ids if isinstance(made._ids, Table) else Table.of(made._ids)
        listed = model_json.read_added(file.get("added_tokens") or [], vocab)
        made.add_numbered((token.id, AddedToken.of(token)) for token in listed)
        return made

    @classmethod
    def of_definition(cls, definition: Definition) -> Draft:
        """Return the draft of a tokenizer that is used as it is."""
        around = definition.postprocessor
        made = cls({} if around is None else {"post_processor": around}, definition, is_kept=True)
        made.add_numbered((token.id, AddedToken.of(token)) for token in definition.added_tokens)
        return made

    # ---- tokens and ids

    def text(self, role: str) -> str | None:
        """Return the text of a role's token, or None."""
        token = self.roles.get(role)
        return None if token is None else str(token)

    def find(self, token: str) -> int | None:
        """Return the id of a token, or None."""
        if token in self._added:
            return self._added[token][0]
        if self.whole is not None:
            if self.whole.over_bytes is None:
                return self.whole.vocab.get(token)
            return self.whole.vocab.get(to_bytes(token)) if is_symbols(token) else None
        if isinstance(self._ids, Table):
            found = self._ids.get(token, -1)
            return None if found < 0 else found
        return self._ids.get(token)

    def id_of(self, token: str | None) -> int | None:
        """Return the id of a token, or that of the unknown token for another one, if there is any."""
        found = None if token is None else self.find(token)
        unknown = self.text("unk_token")
        return found if found is not None or unknown is None else self.find(unknown)

    def token_of(self, id_: int | None) -> str:
        """Return the token of an id; FormatError for an id that no token has."""
        found = next((token for token, (at, _) in self._added.items() if at == id_), None)
        if found is None:
            own = self._ids if isinstance(self._ids, dict) else self._ids.as_dict()
            found = next((token for token, at in own.items() if at == id_), None)
        if found is None:
            raise FormatError(f"no token has the id {id_}")
        return found

    def special_tokens(self) -> list[Any]:
        """Return the tokens of all roles, then the extra ones, without repeats of a text."""
        found: dict[str, Any] = {}
        for token in (*self.roles.values(), *self.extra):
            if token is not None:
                found.setdefault(str(token), token)
        return list(found.values())

    def add_roles(self) -> None:
        """Add the tokens of roles and the extra ones as special tokens, also those that are known already."""
        listed = [*(token for token in self.roles.values() if token is not None), *self.extra]
        self.add(
            [
                AddedToken(token, special=True, normalized=False) if isinstance(token, str) else token
                for token in listed
            ],
            special=True,
        )

    @property
    def added(self) -> dict[int, AddedToken]:
        """Id → added token, in the order of the ids."""
        return dict(sorted(self._added.values(), key=lambda item: item[0]))

    def add(self, tokens: Iterable[AddedToken | str], *, special: bool = False) -> int:
        """Add tokens as tokenizers does, and return how many are new or changed.

        A token of the model keeps its id; another one gets the number of the model's tokens, or the id after that of
        the last added token.
        """
        n = 0
        for given in tokens:
            token = AddedToken.of(given, special=True if special else None)
            known = self._added.get(token.content)
            if not token.content or (known is not None and known[1] == token):
                continue
            id_ = self.find(token.content)
            self._check_text(token, id_)
            self._set(self._next_id() if id_ is None else id_, token)
            n += 1
        return n

    def appends(self, tokens: Sequence[AddedToken]) -> bool:
        """Return whether all tokens are new, and nothing can be wrong with their ids and texts.

        Then `add` and `definition` raise no error for them.
        """
        if self.whole is None or not self.is_kept or self._next_id() < self.whole.vocab.n_ids:
            return False
        fits = self._next_id() + len(tokens) <= MAX_ID
        if not fits or not all(is_text(token.content) and token.content for token in tokens):
            return False
        listed = [token.with_id(0) for token in tokens]
        known = any(token.content in self._added or self.find(token.content) is not None for token in tokens)
        return not known and vanished(listed, self.whole.normalizer) is None

    def _check_text(self, token: AddedToken, id_: int | None) -> None:
        """Raise OptionError for a token of a byte-level vocabulary that is not spelt as its text."""
        if id_ is not None and self.whole is not None and self.whole.vocab[id_] != token.content.encode():
            raise OptionError(
                f"the token {token.content!r} stands for {self.whole.vocab[id_]!r} in the vocabulary; it cannot be an "
                "added token"
            )

    def _next_id(self) -> int:
        """Return the id of a token that is new."""
        if self.whole is not None and not self.is_kept:  # classes in Python count the tokens
            return self.n_own + self._n_new
        return self._last + 1 if self._last >= self.n_own or not self.n_own else self.n_own

    def _set(self, id_: int, token: AddedToken) -> None:
        """Let an added token have this id."""
        if self.whole is not None and token.content not in self._added:
            self._n_new += token.content.encode() not in self.whole.vocab
        self._last = max(self._last, id_)
        self._added[token.content] = id_, token

    def add_with_ids(self, tokens: Mapping[int, AddedToken]) -> None:
        """Add tokens with these ids, as classes in Python do."""
        self.add_numbered(sorted(tokens.items()))

    def add_numbered(self, tokens: Iterable[tuple[int, AddedToken]]) -> None:
        """Add tokens, each with its id."""
        for id_, token in tokens:
            self._set(id_, token)

    def replace(self, id_: int, token: AddedToken) -> None:
        """Give the added token of an id other rules."""
        self._set(id_, token)

    def forget(self, text: str) -> None:
        """Remove an added token."""
        self._added.pop(text, None)
        self._count()

    def hide(self, id_: int) -> None:
        """Let a token have its id, but not be found in texts as an added token."""
        token = next(token for at, token in self._added.values() if at == id_)
        del self._added[token.content]
        if self.whole is not None and token.content not in self.whole.vocab:
            vocab = self.whole.vocab.with_tokens({id_: token.content.encode()})
            added_ids = self.whole.added_ids | {id_}
            self.whole = dataclasses.replace(self.whole, vocab=vocab, added_ids=added_ids)
        self._count()

    def _count(self) -> None:
        """Count the added tokens anew, after one was taken away."""
        kept, self._added, self._last, self._n_new = self._added, {}, -1, 0
        self.add_numbered(kept.values())

    def is_new(self, token: AddedToken | str) -> bool:
        """Return whether a token is not an added one."""
        return str(token) not in self._added

    # ---- what is put around texts

    def put_around(self, single: str | Sequence[str], pair: str | Sequence[str]) -> None:
        """Put tokens around texts: "[CLS] $A [SEP]:1"; a token without an id is left to the definition to refuse."""
        places = [single.split() if isinstance(single, str) else list(single)]
        places.append(pair.split() if isinstance(pair, str) else list(pair))
        names = [place.rpartition(":")[0] if _has_type(place) else place for place in (*places[0], *places[1])]
        tokens = dict.fromkeys(name for name in names if not name.startswith("$"))
        special = {name: {"id": name, "ids": [self.id_of(name)], "tokens": [name]} for name in tokens}
        self.file["post_processor"] = {
            "type": "TemplateProcessing",
            **{name: [_place(place) for place in side] for name, side in zip(("single", "pair"), places, strict=True)},
            "special_tokens": special,
        }

    def put_ends(self, *, bos: bool, eos: bool) -> None:
        """Put the tokens of the roles bos and eos around texts."""
        texts = {role: self.text(f"{role}_token") for role, on in (("bos", bos), ("eos", eos)) if on}

        def around(text: str, type_id: int) -> list[str]:
            parts = [texts.get("bos"), text, texts.get("eos")]
            return [f"{part}:{type_id}" for part in parts if part is not None]

        first = around("$A", 0)
        self.put_around(first, [*first, *around("$B", 1)])

    def update_around(self, given: Mapping[str, Any]) -> None:
        """Put bos and eos around texts as add_bos_token and add_eos_token say, for roles that are set."""
        on = {role: bool(given.get(f"add_{role}_token")) and self.text(f"{role}_token") is not None for role in _ENDS}
        self.put_ends(**on)

    # ---- the result

    def definition(self) -> Definition:
        """Return the definition."""
        if self.whole is None:
            listed = [{"id": id_, **token.as_dict()} for id_, token in self.added.items()]
            made = tokenizer_json.from_json({"version": "1.0", **self.file, "added_tokens": listed}, keep_ids=True)
            return dataclasses.replace(made, **self.components) if self.components else made
        return self.definition_of(self.whole)

    def definition_of(self, whole: Definition) -> Definition:
        """Return a definition of components in Python, with the added tokens and the template."""
        self._check_ids()
        new = {id_: token.content.encode() for id_, token in self.added.items() if id_ not in whole.vocab}
        tokens = self.added if self.is_kept else self._marked()
        listed = tuple(token.with_id(id_) for id_, token in tokens.items())
        if (gone := vanished(listed, whole.normalizer)) is not None:
            raise OptionError(
                f"the normalizer leaves nothing of the token {gone.content!r}; add it with normalized=False"
            )
        return dataclasses.replace(
            whole,
            vocab=whole.vocab.with_tokens(new) if new else whole.vocab,
            added_tokens=listed,
            added_ids=whole.added_ids | frozenset(new),
            special_tokens={},
            postprocessor=postprocessor_of(self.file.get("post_processor")),
        )

    def _marked(self) -> dict[int, AddedToken]:
        """Return the added tokens; special are those that decoding may leave out: of roles, and the extra ones.

        The classes in Python search for all tokens at once, and a definition for those with `normalized` after the
        others; so no token has it if the order matters.
        """
        listed = {str(token) for token in self.special_tokens()}
        texts = [[t.content for t in self.added.values() if t.normalized is flag] for flag in (False, True)]
        alike = self.whole is not None and self.whole.normalizer is None
        alike = alike and (overlap(texts[0], texts[1]) or overlap(texts[1], texts[0]))
        made = {}
        for id_, token in self.added.items():
            if token.single_word:
                raise FormatError(
                    f"the added token {token.content!r} has single_word, which this class decides by the spaces "
                    "beside it; tokkit does not: give the token single_word false"
                )
            special = token.content in listed and token.content not in self.kept_in_text
            normalized = token.normalized and not alike
            made[id_] = AddedToken.of({**token.as_dict(), "special": special, "normalized": normalized})
        return made

    def _check_ids(self) -> None:
        """Raise FormatError if two added tokens have one id, which is an accident of the numbering there."""
        texts: dict[int, str] = {}
        for id_, token in self._added.values():
            if texts.setdefault(id_, token.content) != token.content:
                raise FormatError(
                    f"the added tokens {texts[id_]!r} and {token.content!r} would both have the id {id_}, as in "
                    "transformers; give each an id in added_tokens_decoder"
                )


def postprocessor_of(value: Any) -> Any:
    """Return the postprocessor of a draft: a component, or its JSON."""
    if not isinstance(value, dict):
        return value
    if value["type"] == "EndOnce":
        made = postprocessor_of({**value, "type": "TemplateProcessing"})
        return EndOnce(made.single, made.pair, made.special_tokens)
    return components.read(value, "post_processor", components.STAGES["post_processor"])


def _has_type(place: str) -> bool:
    name, colon, type_id = place.rpartition(":")
    return bool(name and colon) and type_id.isdecimal()


def _place(place: str) -> JSON:
    name, type_id = (place.rpartition(":")[0], int(place.rpartition(":")[2])) if _has_type(place) else (place, 0)
    kind = "Sequence" if name in ("$A", "$B") else "SpecialToken"
    return {kind: {"id": name.removeprefix("$") if kind == "Sequence" else name, "type_id": type_id}}
