"""Rows of tokkit's own calls that have an original beside them: files of tokenizer.json, and published encodings."""

from __future__ import annotations

import pickle
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.calls import of_tokenizers, of_transformers
from benchmarks.calls.equal import nothing
from benchmarks.calls.of_tiktoken import TiktokenSide
from benchmarks.calls.of_tokenizers import columns, ids_of
from benchmarks.calls.rows import JINJA, Row, Side, Texts

LISTS, ALL = 8.0, 6.0
AS_IS: dict[str, Any] = {"special": "all", "truncation": None, "padding": None}
"""What tokenizers does with a text if it neither cuts nor pads."""
MANY = 5000
"""Added tokens of the row that encodes with many."""


class NativeSide(Side):
    """tokkit.load, or tokenizers.Tokenizer.from_file, of one tokenizer.json."""

    def __init__(self, ours: bool, texts: Texts, path: Path) -> None:
        super().__init__(ours, texts)
        self.path = str(path)

    def new(self) -> Any:
        """Return a tokenizer of the file."""
        if self.ours:
            import tokkit

            return tokkit.load(self.path)
        import tokenizers

        tok = tokenizers.Tokenizer.from_file(self.path)
        tok.no_truncation()
        tok.no_padding()
        return tok

    @cached_property
    def tok(self) -> Any:
        """A tokenizer that no row changes."""
        return self.new()

    @cached_property
    def padding(self) -> Any:
        """A tokenizer of the original that pads batches."""
        tok = self.new()
        tok.enable_padding()
        return tok

    @cached_property
    def many(self) -> Any:
        """A tokenizer with 5,000 more added tokens."""
        tok = self.new()
        if not self.ours:
            tok.add_tokens([f"<extra_{i}>" for i in range(MANY)])
            return tok
        import tokkit

        old, first = tok.definition, tok.n_ids
        more = tuple(tokkit.AddedToken(f"<extra_{i}>", first + i, normalized=False) for i in range(MANY))
        vocab = old.vocab.with_tokens({token.id: token.content.encode() for token in more})
        added = {"added_tokens": (*old.added_tokens, *more), "added_ids": old.added_ids | {token.id for token in more}}
        return tokkit.Tokenizer(replace(old, vocab=vocab, **added))

    @cached_property
    def transformers(self) -> Any:
        """The tokenizer of transformers that applies chat templates."""
        return of_transformers.TransformersSide(False, self.texts, Path(self.path)).tok

    @cached_property
    def template(self) -> Any:
        """Our chat template, of the same text."""
        import tokkit.chat

        return tokkit.chat.ChatTemplate(of_transformers.TEMPLATE)


class Given(of_tokenizers.Given):
    """What both sides get: texts, their ids, and messages of a chat."""

    def __init__(self, side: Any) -> None:
        super().__init__(side)
        self.lines = [text[:80] for text in self.sentences]
        self.messages = of_transformers.messages(self.sentences)


def save(side: NativeSide, _given: Any) -> str:
    """Save the tokenizer; return the path."""
    path = str(side.folder / "tokenizer.json")
    side.tok.save(path)
    return path


def ids_and_offsets(encodings: Any) -> list[Any]:
    """Read two columns of encodings."""
    return [(e.ids, e.offsets) for e in encodings]


def chat(side: NativeSide, given: Given) -> list[int]:
    """Apply the template, and encode."""
    import tokkit.chat

    return list(tokkit.chat.encode_chat(side.tok, side.template, given.messages).ids)


def their_chat(side: NativeSide, given: Given) -> list[int]:
    """Apply the template, and encode, by transformers."""
    return side.transformers.apply_chat_template(
        given.messages, chat_template=of_transformers.TEMPLATE, return_dict=False
    )


def padded(side: NativeSide, given: Given) -> Any:
    """Encode a batch to one array."""
    import tokkit

    return side.tok.encode_padded(given.sentences, special="all", padding=tokkit.Padding(), threads=1).ids.tolist()


ROWS = (
    Row(
        "encodings, then tokens",
        lambda s, g: [e.tokens for e in s.tok.encodings(g.sentences, **AS_IS)],
        lambda s, g: [e.tokens for e in s.tok.encode_batch(g.sentences)],
        floor=LISTS,
    ),
    Row(
        "encodings, then offsets",
        lambda s, g: [e.offsets for e in s.tok.encodings(g.sentences, **AS_IS)],
        lambda s, g: [e.offsets for e in s.tok.encode_batch(g.sentences)],
        floor=LISTS,
    ),
    Row(
        "encodings, then five columns",
        lambda s, g: columns(s.tok.encodings(g.sentences, **AS_IS)),
        lambda s, g: columns(s.tok.encode_batch(g.sentences)),
        floor=ALL,
    ),
    Row(
        "encodings of documents, then five columns",
        lambda s, g: columns(s.tok.encodings(g.documents, **AS_IS)),
        lambda s, g: columns(s.tok.encode_batch(g.documents)),
        floor=ALL,
    ),
    Row(
        "tok(text) of sentences, ids and offsets",
        lambda s, g: ids_and_offsets([s.tok(x, **AS_IS) for x in g.sentences]),
        lambda s, g: ids_and_offsets([s.tok.encode(x) for x in g.sentences]),
        per="sentences",
        floor=LISTS,
    ),
    Row(
        "tok(text) of 80 characters, five columns",
        lambda s, g: columns([s.tok(x, **AS_IS) for x in g.lines]),
        lambda s, g: columns([s.tok.encode(x) for x in g.lines]),
        per="lines",
        floor=LISTS,
    ),
    Row(
        "tok(text) of documents, five columns",
        lambda s, g: columns([s.tok(x, **AS_IS) for x in g.documents]),
        lambda s, g: columns([s.tok.encode(x) for x in g.documents]),
        per="documents",
        floor=LISTS,
    ),
    Row(
        "encode",
        lambda s, g: [s.tok.encode(x, special="all") for x in g.sentences],
        lambda s, g: [s.tok.encode(x, add_special_tokens=False).ids for x in g.sentences],
        per="sentences",
        floor=LISTS,
    ),
    Row(
        "encode with 5,000 added tokens",
        lambda s, g: [s.many.encode(x, special="all") for x in g.sentences],
        lambda s, g: [s.many.encode(x, add_special_tokens=False).ids for x in g.sentences],
        per="sentences",
        floor=LISTS,
    ),
    Row("encode_padded to lists", padded, lambda s, g: ids_of(s.padding.encode_batch(g.sentences)), floor=LISTS),
    Row(
        "decode_batch",
        lambda s, g: s.tok.decode_batch(g.lists),
        lambda s, g: s.tok.decode_batch(g.lists, skip_special_tokens=False),
        floor=of_tokenizers.DECODE,
    ),
    Row("encode_chat of 20 messages", chat, their_chat, apart=JINJA),
    Row("load", lambda s, g: s.new(), same=nothing),
    Row("save", save, same=nothing),
    Row("pickle there and back", lambda s, g: pickle.loads(pickle.dumps(s.tok)), same=nothing),
    Row("deepcopy", lambda s, g: deepcopy(s.tok), same=nothing),
    Row("repr", lambda s, g: repr(s.tok), same=nothing),
)


class EncodingSide(TiktokenSide):
    """tokkit's own tokenizer of a published encoding, or tiktoken's Encoding."""

    @cached_property
    def tok(self) -> Any:
        """The tokenizer, as one gets it by its name."""
        return self.new() if self.ours else self.enc

    def new(self) -> Any:
        """Load the file anew."""
        import tokkit

        return tokkit.load(self.path)

    def with_special(self) -> Any:
        """Return the encoding with two special tokens more."""
        more = {"<|im_start|>": 100264, "<|im_end|>": 100265}
        if self.ours:
            return self.tok.with_special_tokens(more)
        old = self.settings
        return self.lib.Encoding(**{**old, "name": "more", "special_tokens": {**old["special_tokens"], **more}})


PUBLISHED = (
    Row(
        "encode one by one",
        lambda s, g: [s.tok.encode(x) for x in g.sentences],
        lambda s, g: [s.tok.encode_ordinary(x) for x in g.sentences],
        per="sentences",
        floor=LISTS,
    ),
    Row(
        "encode of 100-byte texts",
        lambda s, g: [s.tok.encode(x) for x in g.short],
        lambda s, g: [s.tok.encode_ordinary(x) for x in g.short],
        per="short",
        floor=LISTS,
    ),
    Row(
        "encode_batch to arrays",
        lambda s, g: s.tok.encode_batch(g.sentences, threads=1)[0].tolist(),
        lambda s, g: [i for ids in s.tok.encode_ordinary_batch(g.sentences, num_threads=1) for i in ids],
    ),
    Row(
        "count",
        lambda s, g: [s.tok.count(x) for x in g.sentences],
        lambda s, g: [len(s.tok.encode_ordinary(x)) for x in g.sentences],
        per="sentences",
    ),
    Row("decode 4 MB", lambda s, g: s.tok.decode(g.ids), floor=4),
    Row(
        "decode_batch",
        lambda s, g: s.tok.decode_batch(g.lists),
        lambda s, g: s.tok.decode_batch(g.lists, num_threads=1),
        floor=4,
    ),
    Row("decode_bytes", lambda s, g: s.tok.decode_bytes(g.ids), floor=4),
    Row("load", lambda s, g: s.new(), lambda s, g: s.lib.Encoding(**s.settings), same=nothing),
    Row("with_special_tokens", lambda s, g: s.with_special(), same=nothing),
    Row("pickle.dumps", lambda s, g: pickle.dumps(s.tok), same=nothing),
    Row("pickle there and back", lambda s, g: pickle.loads(pickle.dumps(s.tok)), same=nothing),
    Row("deepcopy", lambda s, g: deepcopy(s.tok), same=nothing),
)
