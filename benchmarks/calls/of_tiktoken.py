"""Rows of tiktoken: calls of Encoding."""

from __future__ import annotations

import hashlib
import importlib
import os
import pickle
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.calls.equal import nothing
from benchmarks.calls.rows import Row, Side, Texts

DECODE, SHORT = 4.0, 9.0


class TiktokenSide(Side):
    """tiktoken, or tokkit.compat.tiktoken, with one published encoding."""

    def __init__(self, ours: bool, texts: Texts, path: Path) -> None:
        super().__init__(ours, texts)
        self.name, self.path = path.stem, path
        # Both find a published encoding by its name in this folder.
        url = f"https://openaipublic.blob.core.windows.net/encodings/{path.name}"
        (self.folder / hashlib.sha1(url.encode()).hexdigest()).write_bytes(path.read_bytes())
        os.environ["TIKTOKEN_CACHE_DIR"] = str(self.folder)
        self.lib = importlib.import_module("tokkit.compat.tiktoken" if ours else "tiktoken")

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What the published encoding is made from."""
        from unittest import mock

        import tiktoken_ext.openai_public as public
        from tiktoken.load import load_tiktoken_bpe

        ranks = load_tiktoken_bpe(str(self.path))
        with mock.patch.object(public, "load_tiktoken_bpe", return_value=ranks):
            return getattr(public, self.name)()

    @cached_property
    def enc(self) -> Any:
        """An encoding made from the settings."""
        return self.lib.Encoding(**self.settings)


class Given:
    """What both sides get: texts and their ids by the original."""

    def __init__(self, side: TiktokenSide) -> None:
        texts = side.texts
        self.sentences, self.documents, self.sentence = texts.sentences, texts.documents, texts.sentence
        self.short = [text[:100] for text in self.documents]
        self.long = texts.text(4.0)
        self.ids = side.enc.encode_ordinary(self.long)
        self.lists = [side.enc.encode_ordinary(text) for text in self.sentences]
        self.special = "a<|endoftext|>b" * 20
        self.unstable = "hello fanta"


ENCODING = (
    Row("encode_ordinary one by one", lambda s, g: [s.enc.encode_ordinary(x) for x in g.sentences], per="sentences"),
    Row("encode one by one", lambda s, g: [s.enc.encode(x) for x in g.sentences], per="sentences"),
    Row("encode of 100-byte texts", lambda s, g: [s.enc.encode(x) for x in g.short], per="short", floor=SHORT),
    Row(
        "encode_ordinary of 100-byte texts",
        lambda s, g: [s.enc.encode_ordinary(x) for x in g.short],
        per="short",
        floor=SHORT,
    ),
    Row(
        "encode, disallowed_special=()",
        lambda s, g: [s.enc.encode(x, disallowed_special=()) for x in g.sentences],
        per="sentences",
    ),
    Row("encode, allowed_special=all", lambda s, g: s.enc.encode(g.special, allowed_special="all")),
    Row("encode, allowed_special a set", lambda s, g: s.enc.encode(g.special, allowed_special={"<|endoftext|>"})),
    Row("encode a sentence", lambda s, g: s.enc.encode(g.sentence)),
    Row("encode documents", lambda s, g: [s.enc.encode(x) for x in g.documents], per="documents"),
    Row("encode_to_numpy", lambda s, g: [s.enc.encode_to_numpy(x) for x in g.documents], per="documents"),
    Row("encode_batch", lambda s, g: s.enc.encode_batch(g.sentences, num_threads=1)),
    Row("encode_ordinary_batch", lambda s, g: s.enc.encode_ordinary_batch(g.sentences, num_threads=1)),
    Row(
        "encode_with_unstable",
        lambda s, g: s.enc.encode_with_unstable(g.unstable),
        read=lambda found: (found[0], sorted(found[1])),
    ),
    Row("encode_single_token", lambda s, g: s.enc.encode_single_token(" hello")),
)

DECODING = (
    Row("decode 4 MB", lambda s, g: s.enc.decode(g.ids), floor=DECODE),
    Row("decode one by one", lambda s, g: [s.enc.decode(ids) for ids in g.lists], per="lists", floor=DECODE),
    Row("decode_bytes", lambda s, g: s.enc.decode_bytes(g.ids), floor=DECODE),
    Row("decode_batch", lambda s, g: s.enc.decode_batch(g.lists, num_threads=1), floor=DECODE),
    Row("decode_bytes_batch", lambda s, g: s.enc.decode_bytes_batch(g.lists, num_threads=1), floor=DECODE),
    Row("decode_with_offsets", lambda s, g: s.enc.decode_with_offsets(g.ids[:20000]), floor=DECODE),
    Row("decode_tokens_bytes", lambda s, g: s.enc.decode_tokens_bytes(g.ids[:20000])),
    Row("decode_single_token_bytes", lambda s, g: [s.enc.decode_single_token_bytes(i) for i in g.ids[:1000]], per=1000),
    Row("token_byte_values", lambda s, g: s.enc.token_byte_values()),
    Row("is_special_token", lambda s, g: s.enc.is_special_token(100257)),
    Row("n_vocab", lambda s, g: s.enc.n_vocab),
    Row("eot_token", lambda s, g: s.enc.eot_token),
    Row("special_tokens_set", lambda s, g: s.enc.special_tokens_set),
    Row("repr", lambda s, g: repr(s.enc)),
)

OBJECTS = (
    Row("Encoding(...)", lambda s, g: s.lib.Encoding(**s.settings), read=lambda enc: enc.n_vocab),
    Row("Encoding(...), then the first ids", lambda s, g: s.lib.Encoding(**s.settings).encode(g.sentence)),
    Row("pickle.dumps", lambda s, g: pickle.dumps(s.enc), same=nothing),
    Row("pickle there and back", lambda s, g: pickle.loads(pickle.dumps(s.enc)), read=lambda enc: enc.n_vocab),
    Row("deepcopy", lambda s, g: deepcopy(s.enc), read=lambda enc: enc.n_vocab),
    Row("get_encoding", lambda s, g: s.lib.get_encoding(s.name), read=repr),
    Row("encoding_for_model", lambda s, g: s.lib.encoding_for_model("gpt-4"), read=repr),
    Row("list_encoding_names", lambda s, g: s.lib.list_encoding_names(), read=sorted),
    Row("encoding_name_for_model", lambda s, g: s.lib.encoding_name_for_model("gpt-4o")),
)

ROWS = (*ENCODING, *DECODING, *OBJECTS)
