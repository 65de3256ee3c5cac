"""The tokenizers of the playground, loaded at first use, and the texts that they encoded last."""

from __future__ import annotations

import itertools
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokkit.engine.sampling import Merges, has_merges
from tokkit.errors import TokkitError
from tokkit.escaping import visible
from tokkit.view.token_parts import TokenParts, with_parts
from tokkit.view.token_spans import Spellings, TokenSpans, decoded, encoded, spellings_of, told
from tokkit.web.errors import RequestError

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

KEPT = 8
"""Number of encoded texts that are kept: one for each open page, and some that were just replaced."""
MAX_CLIENTS = 64
MAX_TOLD = 20_000
"""Maximum number of tokens in one response: more than a page can show at a time."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to encode: tokenizers, options, and its page and number; a newer request of the page cancels it."""

    tokenizers: Sequence[str]
    special: bool = False
    add_special: bool = False
    client: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """A text as encoded by each tokenizer, or the error. Texts that consist of several parts are not kept."""

    text: bytes | None
    n_bytes: int
    sets: Mapping[str, TokenSpans | str]


class Tokenizers:
    """Tokenizers by their names. One is loaded when it is first used; one that does not load is tried again."""

    def __init__(self, loaders: Mapping[str, Callable[[], Tokenizer]]) -> None:
        self.loaders = dict(loaders)
        self._loaded: dict[str, Tokenizer] = {}
        self._merges: dict[str, Merges] = {}
        self._parts: dict[str, TokenParts] = {}
        self._spelt: dict[str, Spellings | None] = {}
        self._lock = threading.Lock()

    def merges(self, name: str) -> Merges | None:
        """Return the merges of a tokenizer, if it has any."""
        tok = self.get(name)
        if name not in self._merges and has_merges(tok):
            self._merges[name] = Merges(tok)
        return self._merges.get(name)

    def parts(self, name: str) -> TokenParts:
        """Return the parts from which a tokenizer's tokens are merged."""
        if name not in self._parts:
            self._parts[name] = TokenParts(self.get(name))
        return self._parts[name]

    def spellings(self, name: str) -> Spellings | None:
        """Return what each id of a tokenizer adds to a text."""
        if name not in self._spelt:
            self._spelt[name] = spellings_of(self.get(name))
        return self._spelt[name]

    def get(self, name: str) -> Tokenizer:
        """Return a tokenizer; RequestError, 404 or 422, if there is none of this name or it does not load."""
        if name not in self.loaders:
            raise RequestError(
                f"there is no tokenizer {name!r}; available: {', '.join(self.loaders)}", status=404,
                param="tokenizers",
            )  # fmt: skip
        with self._lock:
            if name not in self._loaded:
                try:
                    self._loaded[name] = self.loaders[name]()
                except (TokkitError, OSError, ValueError, ImportError, MemoryError) as error:
                    told = str(error) if str(error).startswith(f"{name}:") else f"{name}: {error}"
                    raise RequestError(visible(told), status=422, param="tokenizers") from None
            return self._loaded[name]


class Results:
    """Encodes texts, and keeps the last `KEPT` results, so that a page can request only the visible tokens."""

    def __init__(self, tokenizers: Tokenizers) -> None:
        self.tokenizers = tokenizers
        self._kept: OrderedDict[str, Result] = OrderedDict()
        self._newest: OrderedDict[str, int] = OrderedDict()
        # A page that was opened before this server started has keys of another server with other texts.
        self._name, self._numbers = secrets.token_hex(4), itertools.count(1)
        self._lock = threading.Lock()

    def announce(self, asked: Asked) -> None:
        """Register a request; older requests of its page are outdated."""
        with self._lock:
            self._newest[asked.client] = max(asked.number, self._newest.pop(asked.client, 0))
            while len(self._newest) > MAX_CLIENTS:
                self._newest.popitem(last=False)

    def _check_fresh(self, asked: Asked) -> None:
        if self._newest.get(asked.client, 0) > asked.number:
            raise RequestError("a newer text of the same page has arrived", status=409, code="stale")

    def encode(self, parts: Callable[[str], Iterable[tuple[bytes, bool]]], asked: Asked) -> tuple[str, Result]:
        """Encode the `parts` for each tokenizer: (UTF-8, whether special tokens in it become tokens)."""
        sets: dict[str, TokenSpans | str] = {}
        text, n_bytes = None, 0
        for name in dict.fromkeys(asked.tokenizers):
            self._check_fresh(asked)
            try:
                tok = self.tokenizers.get(name)
                made = list(parts(name))
                text, n_bytes = made[0][0] if len(made) == 1 else None, sum(len(part) for part, _ in made)
                sets[name] = _joined(tok, made, add_special=asked.add_special)
            except (RequestError, TokkitError) as error:
                if isinstance(error, RequestError) and error.status == 404:
                    raise
                sets[name] = visible(str(error))
        self._check_fresh(asked)
        return self._keep(Result(text, n_bytes, sets))

    def decode(self, ids: Sequence[int], asked: Asked) -> tuple[str, Result, bytes]:
        """Return the text of ids of the first tokenizer, as the other results are, and its bytes."""
        self._check_fresh(asked)
        name = asked.tokenizers[0]
        text, spans = decoded(self.tokenizers.get(name), ids, self.tokenizers.spellings(name))
        return *self._keep(Result(None, len(text), {name: spans})), text

    def _keep(self, result: Result) -> tuple[str, Result]:
        key = f"{self._name}-{next(self._numbers)}"
        with self._lock:
            self._kept[key] = result
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return key, result

    def kept(self, key: str) -> Result:
        """Return an earlier result; RequestError, 410, if it is not kept any more."""
        with self._lock:
            result = self._kept.get(key)
        if result is None:
            raise RequestError("this text is not kept any more; send it again", status=410, code="gone")
        return result

    def edited(self, key: str, at: int, removed: int, inserted: bytes) -> bytes:
        """Return an earlier text in which `removed` bytes at `at` are replaced by `inserted`."""
        text = self.kept(key).text
        if text is None:
            raise RequestError("this text is not kept; send it again", status=410, code="gone")
        if at + removed > len(text):
            raise RequestError(f"at is {at}, removed {removed}; the text has {len(text)} bytes", param="at")
        return b"".join((text[:at], inserted, text[at + removed :]))

    def between(self, result: Result, first: int, last: int, limits: Sequence[int | None]) -> list[dict[str, Any]]:
        """Return the data to paint a part of the text (a range of bytes), for each tokenizer.

        `limits` are contexts, in the order of the tokenizers; "fits" is the byte up to which the text fits into a
        context.
        """
        made: list[dict[str, Any]] = []
        for (name, spans), limit in itertools.zip_longest(result.sets.items(), limits[: len(result.sets)]):
            if isinstance(spans, str):
                made.append({"name": name, "error": spans})
                continue
            at, part = spans.between(first, last)
            ids = part.ids[:MAX_TOLD].tolist()
            columns = {"ids": ids, "starts": part.starts[:MAX_TOLD].tolist(), "ends": part.ends[:MAX_TOLD].tolist()}
            one = {"name": name, "n": len(spans), "first": at, **columns}
            one["parts"] = parts = self.tokenizers.parts(name).of(ids)
            one["tokens"] = told(self.tokenizers.get(name), with_parts(ids, parts))
            if limit is not None and limit < len(spans):
                one["fits"] = int(spans.starts[limit])
            made.append(one)
        return made


def _joined(tok: Tokenizer, parts: Sequence[tuple[bytes, bool]], *, add_special: bool) -> TokenSpans:
    if len(parts) == 1:
        ((text, special),) = parts
        return encoded(tok, text, special="all" if special else "text", add_special=add_special)
    made, at = [], 0
    for text, special in parts:
        spans = encoded(tok, text, special="all" if special else "text")
        made.append(TokenSpans(spans.ids, spans.starts + np.uint32(at), spans.ends + np.uint32(at)))
        at += len(text)
    if not made:
        return encoded(tok, b"")
    return TokenSpans(*(np.concatenate([getattr(each, name) for each in made]) for name in ("ids", "starts", "ends")))
