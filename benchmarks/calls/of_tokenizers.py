"""Rows of the tokenizers package: calls of Tokenizer."""

from __future__ import annotations

import asyncio
import importlib
import json
import pickle
from collections.abc import Callable
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.calls import of_tokenizers_objects, of_tokenizers_parts
from benchmarks.calls.equal import nothing
from benchmarks.calls.rows import Row, Side, Texts

COLUMN, COLUMNS, DECODE = 8.0, 6.0, 3.0
"""Floors of a column alone, of all, and of decode_batch."""
MANY = 100_000
"""Added tokens of the row that loads many."""


class TokenizersSide(Side):
    """tokenizers, or tokkit.compat.tokenizers, with one tokenizer.json."""

    def __init__(self, ours: bool, texts: Texts, path: Path) -> None:
        super().__init__(ours, texts)
        self.path = str(path)
        self._parts: dict[tuple[str, str], Any] = {}
        self.lib = importlib.import_module("tokkit.compat.tokenizers" if ours else "tokenizers")

    def new(self) -> Any:
        """Return a tokenizer of the file, which neither cuts nor pads."""
        tok = self.lib.Tokenizer.from_file(self.path)
        tok.no_truncation()
        tok.no_padding()
        return tok

    @cached_property
    def tok(self) -> Any:
        """A tokenizer that no row changes."""
        return self.new()

    @cached_property
    def cutting(self) -> Any:
        """One that cuts texts of 128 tokens with overlaps, and pads them."""
        tok = self.new()
        tok.enable_truncation(128, stride=32)
        tok.enable_padding(length=128)
        return tok

    @cached_property
    def changed(self) -> Any:
        """One whose settings rows may change."""
        return self.new()

    @cached_property
    def encoding(self) -> Any:
        """The encoding of one sentence."""
        return self.tok.encode(self.texts.sentence)

    @cached_property
    def plain(self) -> Any:
        """The encoding of one sentence without special tokens."""
        return self.tok.encode(self.texts.sentence, add_special_tokens=False)

    def part(self, name: str, module: Any, make: Callable[[Any], Any]) -> Any:
        """Return a component, made when first asked for."""
        key = module.__name__, name
        if key not in self._parts:
            self._parts[key] = make(module)
        return self._parts[key]

    @cached_property
    def many_added(self) -> str:
        """A tokenizer.json with 100,000 added tokens more."""
        found = json.loads(Path(self.path).read_text(encoding="utf-8"))
        tok = self.new()
        first = tok.get_vocab_size()
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
        found["added_tokens"] += [{"id": first + i, "content": f"<extra {i}>", **flags} for i in range(MANY)]
        path = self.folder / "many.json"
        path.write_text(json.dumps(found), encoding="utf-8")
        return str(path)

    @cached_property
    def texts_file(self) -> str:
        """A file of the sentences, to train on."""
        path = self.folder / "texts.txt"
        path.write_text("\n".join(self.texts.sentences), encoding="utf-8")
        return str(path)


class Given:
    """What both sides get: texts, their ids and tokens by the original."""

    def __init__(self, side: TokenizersSide) -> None:
        tok = side.tok
        self.sentences, self.documents, self.sentence = side.texts.sentences, side.texts.documents, side.texts.sentence
        self.document = self.documents[0]
        self.pairs = list(zip(self.sentences[::2], self.sentences[1::2], strict=False))
        self.words = side.texts.words
        self.lists = [encoding.ids for encoding in tok.encode_batch(self.sentences)]
        self.ids = [i for ids in self.lists[:50] for i in ids]
        self.tokens = tok.encode(self.sentence).tokens
        self.json = Path(side.path).read_text(encoding="utf-8")
        self.buffer = self.json.encode()


def columns(encodings: Any) -> list[Any]:
    """Read the five columns of encodings."""
    return [(e.ids, e.tokens, e.offsets, e.word_ids, e.attention_mask) for e in encodings]


def tree(encodings: Any) -> list[Any]:
    """Read ids and offsets of encodings and of what overflows."""
    return [(e.ids, e.offsets, [(o.ids, o.offsets) for o in e.overflowing]) for e in encodings]


def ids_of(encodings: Any) -> list[list[int]]:
    """Read the ids of encodings."""
    return [e.ids for e in encodings]


def len_of(tok: Any) -> int:
    """Return how many ids a tokenizer has."""
    return tok.get_vocab_size()


async def later(call: Any, *arguments: Any) -> Any:
    """Return what an async call gives."""
    return await call(*arguments)


def load_many(side: TokenizersSide, _given: Given) -> Any:
    """Load the file with 100,000 added tokens."""
    return side.lib.Tokenizer.from_file(side.many_added)


def saved(path: str) -> str:
    """Read a file that was written."""
    return Path(path).read_text(encoding="utf-8")


def save(side: TokenizersSide, _given: Given) -> str:
    """Save the tokenizer; return the path."""
    path = str(side.folder / "tokenizer.json")
    side.tok.save(path)
    return path


def save_compact(side: TokenizersSide, _given: Given) -> str:
    """Save the tokenizer in one line; return the path."""
    path = str(side.folder / "compact.json")
    side.tok.save(path, pretty=False)
    return path


def add_one_by_one(tok: Any, _given: Any) -> int:
    """Add 200 tokens, one a call."""
    return sum(tok.add_tokens([f"<extra {i}>"]) for i in range(200))


def add_and_encode(tok: Any, given: Given) -> list[int]:
    """Add a token, then encode, 50 times."""
    total = []
    for i in range(50):
        tok.add_tokens([f"<extra {i}>"])
        total += tok.encode(f"a <extra {i}> b").ids
    return total


def set_options(tok: Any) -> tuple[Any, Any]:
    """Switch truncation and padding on and off."""
    tok.enable_truncation(64)
    tok.enable_padding(pad_id=0, pad_token="x")
    found = tok.truncation, tok.padding
    tok.no_truncation()
    tok.no_padding()
    return found


def swap_parts(tok: Any) -> Any:
    """Read the components, and put them back."""
    tok.normalizer, tok.pre_tokenizer, tok.post_processor = tok.normalizer, tok.pre_tokenizer, tok.post_processor
    tok.decoder, tok.model = tok.decoder, tok.model


def new_tokenizer(side: TokenizersSide, _given: Given) -> Any:
    """Return a new tokenizer for a row that changes it."""
    return side.new()


def encodings_of(name: str) -> Row:
    """Return the row that encodes the sentences and reads one column."""
    return Row(
        f"encode_batch of sentences, then {name}",
        lambda s, g: [getattr(e, name) for e in s.tok.encode_batch(g.sentences)],
        floor=COLUMN,
    )


ENCODE = (
    Row(
        "encode_batch of sentences, then five columns",
        lambda s, g: columns(s.tok.encode_batch(g.sentences)),
        floor=COLUMNS,
    ),
    Row(
        "encode_batch of documents, then five columns",
        lambda s, g: columns(s.tok.encode_batch(g.documents)),
        floor=COLUMNS,
    ),
    *map(encodings_of, ("ids", "tokens", "offsets", "word_ids", "attention_mask", "type_ids", "special_tokens_mask")),
    Row(
        "encode_batch of documents, then ids",
        lambda s, g: [e.ids for e in s.tok.encode_batch(g.documents)],
        floor=COLUMN,
    ),
    Row(
        "encode_batch of documents, then tokens",
        lambda s, g: [e.tokens for e in s.tok.encode_batch(g.documents)],
        floor=COLUMN,
    ),
    Row(
        "encode_batch of documents, then offsets",
        lambda s, g: [e.offsets for e in s.tok.encode_batch(g.documents)],
        floor=COLUMN,
    ),
    Row(
        "encode_batch of documents, then word_ids",
        lambda s, g: [e.word_ids for e in s.tok.encode_batch(g.documents)],
        floor=COLUMN,
    ),
    Row("encode_batch, nothing read", lambda s, g: s.tok.encode_batch(g.sentences)),
    Row("encode_batch_fast, then ids", lambda s, g: [e.ids for e in s.tok.encode_batch_fast(g.sentences)]),
    Row("encode_batch of pairs, then five columns", lambda s, g: columns(s.tok.encode_batch(g.pairs))),
    Row(
        "encode_batch pre-split, then five columns",
        lambda s, g: columns(s.tok.encode_batch(g.words, is_pretokenized=True)),
    ),
    Row("encode_batch cut, overflow, padded", lambda s, g: tree(s.cutting.encode_batch(g.documents))),
    Row(
        "encode_batch without special tokens, then ids",
        lambda s, g: [e.ids for e in s.tok.encode_batch(g.sentences, add_special_tokens=False)],
    ),
    Row("encode one by one, then ids", lambda s, g: [s.tok.encode(x).ids for x in g.sentences]),
    Row("encode one by one, then five columns", lambda s, g: columns([s.tok.encode(x) for x in g.sentences])),
    Row("encode a sentence", lambda s, g: s.tok.encode(g.sentence)),
    Row("encode a sentence, then ids", lambda s, g: s.tok.encode(g.sentence).ids),
    Row("encode a pair, then ids", lambda s, g: s.tok.encode(g.sentences[0], g.sentences[1]).ids),
    Row("async_encode, then ids", lambda s, g: asyncio.run(later(s.tok.async_encode, g.sentence)).ids),
    Row("async_encode_batch, then ids", lambda s, g: ids_of(asyncio.run(later(s.tok.async_encode_batch, g.sentences)))),
    Row(
        "async_encode_batch_fast, then ids",
        lambda s, g: ids_of(asyncio.run(later(s.tok.async_encode_batch_fast, g.sentences))),
    ),
    Row("encode pre-split, then ids", lambda s, g: s.tok.encode(g.words[0], is_pretokenized=True).ids),
)

DECODING = (
    Row("decode_batch", lambda s, g: s.tok.decode_batch(g.lists), floor=DECODE),
    Row(
        "decode_batch with special tokens",
        lambda s, g: s.tok.decode_batch(g.lists, skip_special_tokens=False),
        floor=DECODE,
    ),
    Row("async_decode_batch", lambda s, g: asyncio.run(later(s.tok.async_decode_batch, g.lists))),
    Row("decode one by one", lambda s, g: [s.tok.decode(ids) for ids in g.lists]),
    Row("decode a long list", lambda s, g: s.tok.decode(g.ids)),
    Row(
        "DecodeStream.step",
        lambda s, g: [stream.step(s.tok, i) for stream in [s.lib.decoders.DecodeStream([], True)] for i in g.ids[:500]],
        per=500,
    ),
)

FILES = (
    Row("Tokenizer.from_file", lambda s, g: s.lib.Tokenizer.from_file(s.path), read=len_of),
    Row("Tokenizer.from_str", lambda s, g: s.lib.Tokenizer.from_str(g.json), read=len_of),
    Row("Tokenizer.from_buffer", lambda s, g: s.lib.Tokenizer.from_buffer(g.buffer), read=len_of),
    Row("from_file, then the first ids", lambda s, g: s.lib.Tokenizer.from_file(s.path).encode(g.sentence).ids),
    Row("from_file, 100,000 added tokens", load_many, read=len_of, floor=1.0, once=True),
    Row("save", save, read=saved),
    Row("save, pretty=False", save_compact, read=saved),
    Row("to_str", lambda s, g: s.tok.to_str()),
    Row("to_str, pretty=True", lambda s, g: s.tok.to_str(pretty=True)),
    Row("pickle.dumps", lambda s, g: pickle.dumps(s.tok), same=nothing),
    Row("pickle there and back", lambda s, g: pickle.loads(pickle.dumps(s.tok)), read=len_of),
    Row("deepcopy", lambda s, g: deepcopy(s.tok), read=len_of),
    Row("repr", lambda s, g: repr(s.tok), same=nothing),
)

VOCABULARY = (
    Row("get_vocab", lambda s, g: s.tok.get_vocab()),
    Row("get_vocab(False)", lambda s, g: s.tok.get_vocab(with_added_tokens=False)),
    Row("get_vocab_size", lambda s, g: s.tok.get_vocab_size()),
    Row("get_added_tokens_decoder", lambda s, g: s.tok.get_added_tokens_decoder()),
    Row("token_to_id", lambda s, g: [s.tok.token_to_id(x) for x in g.tokens], per="tokens"),
    Row("id_to_token", lambda s, g: [s.tok.id_to_token(x) for x in g.ids], per="ids"),
    Row("num_special_tokens_to_add", lambda s, g: s.tok.num_special_tokens_to_add(False)),
    Row("add_tokens one by one, 200 calls", add_one_by_one, before=new_tokenizer, per=200, once=True),
    Row(
        "add_special_tokens, 200 in a call",
        lambda tok, g: tok.add_special_tokens([f"<extra {i}>" for i in range(200)]),
        before=new_tokenizer,
    ),
    Row("add_tokens, then encode, 50 times", add_and_encode, before=new_tokenizer, per=50, once=True),
    Row("enable and no_truncation, enable and no_padding", lambda s, g: set_options(s.changed)),
    Row(
        "encode_special_tokens, set and read",
        lambda s, g: setattr(s.changed, "encode_special_tokens", False) or s.changed.encode_special_tokens,
    ),
    Row("read and set the components", lambda s, g: swap_parts(s.changed)),
    Row("post_process", lambda s, g: s.tok.post_process(s.tok.encode(g.sentence, add_special_tokens=False))),
)

ROWS = (*ENCODE, *DECODING, *FILES, *VOCABULARY, *of_tokenizers_objects.ROWS, *of_tokenizers_parts.ROWS)
