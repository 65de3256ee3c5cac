"""Rows of the tokenizers package: Encoding, NormalizedString, PreTokenizedString, AddedToken and Regex."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from benchmarks.calls.equal import COLUMNS, nothing
from benchmarks.calls.rows import USERS, Row

LOOKUPS: dict[str, Callable[[Any], Any]] = {
    "char_to_token": lambda e: [e.char_to_token(i) for i in range(10)],
    "char_to_word": lambda e: [e.char_to_word(i) for i in range(10)],
    "token_to_chars": lambda e: [e.token_to_chars(i) for i in range(10)],
    "token_to_sequence": lambda e: [e.token_to_sequence(i) for i in range(10)],
    "token_to_word": lambda e: [e.token_to_word(i) for i in range(10)],
    "word_to_chars": lambda e: [e.word_to_chars(i) for i in range(10)],
    "word_to_tokens": lambda e: [e.word_to_tokens(i) for i in range(10)],
}
READ = (*COLUMNS, "sequence_ids", "n_sequences", "overflowing", "words")
STRINGS: dict[str, Callable[[Any], Any]] = {
    "append": lambda n: n.append("x"),
    "clear": lambda n: n.clear(),
    "lowercase": lambda n: n.lowercase(),
    "lstrip": lambda n: n.lstrip(),
    "nfc": lambda n: n.nfc(),
    "nfd": lambda n: n.nfd(),
    "nfkc": lambda n: n.nfkc(),
    "nfkd": lambda n: n.nfkd(),
    "prepend": lambda n: n.prepend("x"),
    "replace": lambda n: n.replace("e", "a"),
    "rstrip": lambda n: n.rstrip(),
    "slice": lambda n: n.slice((2, 20)),
    "split": lambda n: n.split(" ", "isolated"),
    "strip": lambda n: n.strip(),
    "uppercase": lambda n: n.uppercase(),
}
USERS_STRINGS: dict[str, Callable[[Any], Any]] = {
    "filter": lambda n: n.filter(str.isalpha),
    "for_each": lambda n: n.for_each(len),
    "map": lambda n: n.map(str.upper),
}


def encoding_rows() -> list[Row]:
    """Return rows that look up positions in one encoding, and that read its columns again."""
    rows = []
    for name, look in LOOKUPS.items():
        rows.append(Row(f"Encoding.{name}", lambda s, g, look=look: look(s.encoding), per=10, once=True))
    for name in READ:
        rows.append(Row(f"Encoding.{name}, read again", lambda s, g, name=name: getattr(s.encoding, name), once=True))
    return rows


def changed(s: Any, g: Any, change: Callable[[Any], Any]) -> Any:
    """Encode a sentence, and change the encoding."""
    encoding = s.tok.encode(g.sentence)
    change(encoding)
    return encoding


def string_rows() -> list[Row]:
    """Return rows of a new NormalizedString and one call on it."""
    rows = []
    for names, apart in ((STRINGS, ""), (USERS_STRINGS, USERS)):
        for name, change in names.items():

            def run(s: Any, g: Any, change: Callable[[Any], Any] = change) -> tuple[str, Any]:
                text = s.lib.NormalizedString(g.sentence)
                found = change(text)
                return text.normalized, None if found is None else str(found)

            same = nothing if name in ("slice", "split") else None
            rows.append(Row(f"NormalizedString, {name}", run, apart=apart, same=same, once=True))
    return rows


def pre_tokenized(s: Any, g: Any) -> Any:
    """Split, normalize and tokenize a text by hand."""
    text = s.lib.PreTokenizedString(g.sentence)
    text.split(lambda i, part: part.split(" ", "removed"))
    text.normalize(lambda part: part.lowercase())
    text.tokenize(lambda word: [s.lib.Token(1, word, (0, len(word)))])
    return text.to_encoding()


def splits(s: Any, g: Any) -> Any:
    """Split a text by hand, and read the parts."""
    text = s.lib.PreTokenizedString(g.sentence)
    text.split(lambda i, part: part.split(" ", "removed"))
    return [(part, offsets) for part, offsets, _ in text.get_splits()]


ROWS = (
    *encoding_rows(),
    Row("Encoding.pad of a new one", lambda s, g: changed(s, g, lambda e: e.pad(128)), once=True),
    Row("Encoding.truncate of a new one", lambda s, g: changed(s, g, lambda e: e.truncate(10, stride=2)), once=True),
    Row("Encoding.set_sequence_id", lambda s, g: changed(s, g, lambda e: e.set_sequence_id(1)), once=True),
    Row("Encoding.merge of two", lambda s, g: s.lib.Encoding.merge([s.encoding, s.encoding], True), once=True),
    Row("len(encoding)", lambda s, g: len(s.encoding), once=True),
    Row("repr(encoding)", lambda s, g: repr(s.encoding), once=True),
    Row("pickle of an Encoding", lambda s, g: pickle.loads(pickle.dumps(s.encoding)), once=True),
    *string_rows(),
    Row("NormalizedString(...)", lambda s, g: s.lib.NormalizedString(g.sentence).original, once=True),
    Row("PreTokenizedString to an Encoding", pre_tokenized, apart=USERS, once=True),
    Row("PreTokenizedString.get_splits", splits, apart=USERS, once=True),
    Row("Token(...)", lambda s, g: s.lib.Token(1, "a", (0, 1)).as_tuple(), once=True),
    Row("AddedToken(...)", lambda s, g: s.lib.AddedToken("<a>", lstrip=True), once=True),
    Row("AddedToken.content", lambda s, g: s.lib.AddedToken("<a>").content, once=True),
    Row("pickle of an AddedToken", lambda s, g: pickle.loads(pickle.dumps(s.lib.AddedToken("<a>"))), once=True),
    Row("Regex(...)", lambda s, g: s.lib.Regex(r"\p{L}+|\s+"), same=nothing, once=True),
)
