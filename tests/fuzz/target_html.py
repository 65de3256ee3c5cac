"""Tokens and a title: pages of attention, vectors and tokens have them as text, and no element but their own."""

from __future__ import annotations

import base64
import functools
import json
from html.parser import HTMLParser
from unicodedata import category

import numpy as np

import tokkit
from mutate_json import CHANGE
from tokkit.errors import TokkitError
from tokkit.escaping import visible
from tokkit.view import attention_html, html, vectors_html

__all__ = ["CHANGE", "check"]


class Page(HTMLParser):
    """The elements of a page with their attributes, and the text of each kind of element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, object]] = []
        self.texts: dict[str, str] = {}
        self._inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.elements.append((tag, attrs))
        self._inside = tag if tag != "script" or "data" not in str(attrs) else "data"

    def handle_comment(self, data: str) -> None:
        self.elements.append(("comment", data))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.texts[self._inside] = self.texts.get(self._inside, "") + data


@functools.cache
def tok() -> tokkit.Tokenizer:
    return tokkit.train({"low": 2}, vocab_size=258)


def pages(tokens: list[str], title: str) -> tuple[Page, Page, Page]:
    n = len(tokens)
    made = attention_html(np.ones((n, n)), tokens, title=title), vectors_html(tokens, np.ones((n, 1)), title=title)
    return Page(made[0]), Page(made[1]), Page(html({title: tok()}, "".join(tokens), title=title))


@functools.cache
def harmless() -> list[list[tuple[str, object]]]:
    return [page.elements for page in pages(["a"], "a")]


def check(data: bytes) -> None:
    try:
        value = json.loads(data)
        tokens, title = value["tokens"], value["title"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return
    if not isinstance(title, str) or not isinstance(tokens, list) or not tokens:
        return
    if not all(isinstance(token, str) for token in tokens):
        return
    try:
        attention, vectors, cut = pages(tokens, title)
    except TokkitError:
        return
    assert [attention.elements, vectors.elements, cut.elements] == harmless()
    assert base64.b64decode(json.loads(cut.texts["data"])["utf8"]) == "".join(tokens).encode("utf-8", "replace")
    shown = json.loads(attention.texts["data"])
    assert shown["rows"] == shown["columns"] == json.loads(vectors.texts["data"])["words"] == tokens
    for page in (attention, vectors, cut):
        if title.isprintable():
            assert page.texts.get("title", "") == title
        assert page.texts.get("h1") == page.texts.get("title")
    for token in tokens:
        assert not any(category(character) == "Cc" or "\u202a" <= character <= "\u202e" for character in visible(token))
