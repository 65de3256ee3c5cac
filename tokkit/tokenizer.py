"""`Tokenizer`: the public interface of encoding and decoding. It contains no algorithms."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from tokkit import formats
from tokkit.definition import Definition
from tokkit.engines.compile import engine_of
from tokkit.engines.decoding import Stream, decoding_of
from tokkit.engines.special_tokens import Special
from tokkit.threads import thread_count
from tokkit.vocab import Vocab

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tokkit._core.align import AlignedText
    from tokkit._core.text import Text
    from tokkit.corpus.encode_file import FileEncoder
    from tokkit.corpus.id_writers import Written
    from tokkit.corpus.readers import InputErrors
    from tokkit.encoding import Encoding
    from tokkit.encoding.length_rules import Padding, Truncation
    from tokkit.engines.assembly import Assembler, Own, Words
    from tokkit.formats.differences import Difference
    from tokkit.postprocessors.batch import Batch
    from tokkit.streaming.encode_stream import Completions, EncodeStream

StrPath: TypeAlias = "str | os.PathLike[str]"


class Tokenizer:
    """Encodes text to ids and decodes ids to text. Immutable, and safe to share between threads.

    Text is str, or UTF-8 as bytes, bytearray or memoryview. `special=` says how the text of a special token
    inside user input is read: "text" (as ordinary text, the default), "raise" (SpecialTokenError), "all" (as
    the token), or a collection of those allowed. Encoding adds no special tokens of its own.

    >>> import tokkit
    >>> tok = tokkit.train(iter(["low lower lowest"]), vocab_size=260)
    >>> tok.decode(tok.encode("lower"))
    'lower'
    """

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._engine = engine_of(definition)
        self._decoding = decoding_of(definition)
        # Bound once: one call of a short text should cost no more than it must.
        self._decode = self._decoding.decode
        self._completions: Completions | None = None

    @property
    def definition(self) -> Definition:
        """What this tokenizer is, as data."""
        return self._definition

    @property
    def vocab(self) -> Vocab:
        """All tokens, special ones included: bytes ↔ id."""
        return self._definition.vocab

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Text → id of the special tokens."""
        return self._definition.special_tokens

    @property
    def name(self) -> str:
        """The name of a published encoding, else ""."""
        return self._definition.name

    @property
    def n_ids(self) -> int:
        """One more than the greatest id: the rows an embedding table needs."""
        return self._definition.vocab.n_ids

    @property
    def split_engine(self) -> str:
        """What cuts text into pieces: "scanner" (C for this pattern), "compiled" (an automaton in C) or "regex".

        The last is the `regex` package, for patterns that are not regular: some hundred times slower.
        """
        return self._engine.split_engine

    @property
    def split_reason(self) -> str:
        r"""Why the pattern is left to the `regex` package, e.g. "a look-behind, at 0: ..."; "" where it is not."""
        return self._engine.split_reason

    @property
    def whole_reason(self) -> str:
        """Why one text cannot be shared by threads or encoded in blocks of a file; "" where it can."""
        return self._engine.whole_reason

    def encode(self, text: Text, *, special: Special = "text") -> list[int]:
        """Return the ids of `text` as a list."""
        return self._engine.encode(text, special)

    def encode_ordinary(self, text: Text) -> list[int]:
        """Return the ids of `text`, special tokens read as ordinary text, as a list."""
        return self._engine.encode(text)

    def encode_to_numpy(self, text: Text, *, special: Special = "text", threads: int | None = 1) -> NDArray[np.uint32]:
        """Return the ids of `text` as a uint32 array: the fast way for long texts.

        Megabytes of text are shared among `threads` (None: the CPUs this process may use) with the same ids.
        """
        if threads == 1:
            return self._engine.encode_array(text, special)
        return self._engine.encode_array(text, special, thread_count(threads))

    def encode_batch(
        self, texts: Sequence[Text], *, special: Special = "text", threads: int | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return (ids, offsets): text i has `ids[offsets[i]:offsets[i + 1]]`. uint32 and int64.

        The result does not depend on `threads`; None means the CPUs this process may use.
        """
        if isinstance(texts, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"encode_batch takes a sequence of texts, not one {type(texts).__name__}")
        return self._engine.encode_batch(list(texts), special, thread_count(threads))

    def encode_file(
        self,
        path: str | os.PathLike[str],
        out: str | os.PathLike[str],
        *,
        special: Special = "text",
        threads: int | None = None,
        input_errors: InputErrors = "strict",
        shard_ids: int | None = None,
        overwrite: bool = True,
    ) -> Written:
        """Write the ids of a UTF-8 text file to `out`, in constant memory; return what was written.

        `out` is a .npy, or a .bin of little-endian integers with a .json beside it that says how wide they are:
        uint16 where all ids of the tokenizer fit, else uint32. With `shard_ids`, `out` is files of that many ids, as
        data-00000.npy for data.npy, and data.npy.json lists them. They take their names when all are written. The
        file is one text: .gz, .bz2 and .xz are decompressed, "-" is standard input. What is not UTF-8 is a
        CorpusError, or is read with U+FFFD in its place ("replace") or left out ("ignore"); an `out` that is the file
        read is a SameFileError. A tokenizer that nothing can cut (components in Python, a Unigram .model) holds all.
        """
        # What only files need is imported with the first one: loading a tokenizer stays quick.
        from tokkit.corpus import id_writers, readers

        kind, dtype = id_writers.kind_of(out), id_writers.dtype_of(self.n_ids)
        encoder = self.file_encoder(
            special=special, threads=threads, input_errors=input_errors, narrow=dtype == "uint16"
        )
        source = readers.one(path)
        about = self.about_ids() if kind == "bin" or shard_ids is not None else {}
        with id_writers.IdWriter(
            out, kind, dtype=dtype, shard_ids=shard_ids, overwrite=overwrite, about=about
        ) as writer:
            n_bytes = encoder.encode(source, writer)
        return id_writers.Written(writer.n_ids, n_bytes, writer.files)

    def file_encoder(
        self, *, special: Special, threads: int | None, input_errors: InputErrors, narrow: bool
    ) -> FileEncoder:
        """Return what writes the ids of one file after another to an `IdWriter`, as uint16 where `narrow`."""
        from tokkit.corpus.encode_file import FileEncoder

        return FileEncoder(
            self._engine, special=special, threads=thread_count(threads), errors=input_errors, narrow=narrow
        )

    def about_ids(self) -> dict[str, Any]:
        """Return what the sidecar of a file of ids says of the tokenizer: fingerprint and special tokens."""
        return {"tokenizer": self.fingerprint(), "special_tokens": dict(self.special_tokens)}

    @property
    def in_stages(self) -> bool:
        """Whether there are stages before the model that change text, and not one engine over bytes."""
        return self._engine.in_stages

    def stages(self, text: Text, *, special: Special = "text") -> Iterator[tuple[str, AlignedText]]:
        """Yield the name of each stage before the model, and the text behind it: the same object, changed on."""
        return self._engine.stages(text, special)

    @functools.cached_property
    def _assembler(self) -> Assembler:
        from tokkit.engines.assembly import Assembler

        return Assembler(self._definition, self._engine)

    def __call__(
        self,
        text: Text | Words,
        pair: Text | Words | None = None,
        *,
        special: Special = "text",
        add_special: bool = True,
        pretokenized: bool = False,
        truncation: Truncation | int | Own | None = "own",
        padding: Padding | Own | None = "own",
    ) -> Encoding:
        """Return an `Encoding` of a text or a pair: ids, tokens, offsets into the original, masks, words.

        The tokenizer's postprocessor adds its special tokens, unless `add_special` is False. `truncation` (a
        `Truncation`, or the greatest number of tokens) and `padding` are those of the tokenizer's file ("own") if
        not given. With `pretokenized` a text is a sequence of words, to whose characters the offsets refer.
        """
        make = self._assembler
        cut, fill = make.truncation(truncation), make.padding(padding)
        return make.encoding(
            text, pair, special, pretokenized=pretokenized, add_special=add_special, truncation=cut, padding=fill
        )

    def encodings(
        self,
        texts: Sequence[Text | Words],
        pairs: Sequence[Text | Words] | None = None,
        *,
        special: Special = "text",
        add_special: bool = True,
        pretokenized: bool = False,
        truncation: Truncation | int | Own | None = "own",
        padding: Padding | Own | None = "own",
    ) -> list[Encoding]:
        """Return an `Encoding` of each text, or of each text and its pair, filled up to the longest of them."""
        make = self._assembler
        cut, fill = make.truncation(truncation), make.padding(padding)
        return make.encodings(
            texts, pairs, special, pretokenized=pretokenized, add_special=add_special, truncation=cut, padding=fill
        )

    def encode_padded(
        self,
        texts: Sequence[Text],
        pairs: Sequence[Text] | None = None,
        *,
        special: Special = "text",
        add_special: bool = True,
        truncation: Truncation | int | Own | None = "own",
        padding: Padding | Own | None = "own",
        threads: int | None = None,
    ) -> Batch:
        """Return arrays of shape (texts, length): ids, type_ids, attention_mask, special_tokens_mask.

        The fast way to feed a model: no object is made for a token. Without `padding`, rows are filled up to the
        longest with the id 0.
        """
        make = self._assembler
        cut, fill, n_threads = make.truncation(truncation), make.padding(padding), thread_count(threads)
        return make.padded(
            texts, pairs, special, add_special=add_special, truncation=cut, padding=fill, threads=n_threads
        )

    def count(self, text: Text, *, special: Special = "text") -> int:
        """Return how many ids `text` has."""
        return self._engine.count(text, special)

    def fits(self, text: Text, n: int, *, special: Special = "text") -> bool:
        """Return whether `text` has at most `n` ids; a budget that is overdrawn (n < 0) fits nothing."""
        return self.count(text, special=special) <= n

    def truncate(self, text: Text, n: int, *, special: Special = "text") -> tuple[str, int]:
        """Return (prefix, its count): the longest whole-character prefix that has at most n ids.

        It is one of decode(ids[:n]); or of the text up to where the n-th token ends, where decoding does not give
        the text back. Text that fits comes back as it is. The count is that of the prefix on its own, which can be
        below n: a token at the cut may be another one where the text ends there.
        """
        from tokkit.streaming.encode_stream import truncated

        return truncated(self, self._engine, text, n, special)

    def encode_stream(self, *, special: Special = "text") -> EncodeStream:
        """Return a stream that encodes text bit by bit: `feed(text) -> ids`, `flush() -> ids`."""
        from tokkit.streaming.encode_stream import EncodeStream

        return EncodeStream(self._engine, special)

    def encode_with_unstable(self, text: Text, *, special: Special = "text") -> tuple[list[int], list[list[int]]]:
        """Return (ids, completions): the ids that stay whatever follows, and all that may come behind them.

        The text may go on; each completion begins with the rest of it. As tiktoken's, for byte-level BPE alone.
        """
        from tokkit.streaming.encode_stream import completions_of

        if self._completions is None:
            self._completions = completions_of(self._definition, self._engine)
        return self._completions.of(text, special)

    def decode(self, ids: Iterable[int], *, errors: str = "replace", skip_special: bool = False) -> str:
        """Return the text of `ids`; bytes that are no UTF-8 are treated as bytes.decode does with `errors`.

        `skip_special` leaves out special tokens.
        """
        if skip_special:
            ids = [id_ for id_ in ids if id_ not in self._decoding.special_ids]
        try:
            return self._decode(ids, errors)
        except KeyError as error:
            raise self._decoding.unknown(error.args[0]) from None

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Return the bytes of `ids`, joined."""
        try:
            return self._decoding.decode_bytes(ids)
        except KeyError as error:
            raise self._decoding.unknown(error.args[0]) from None

    def decode_batch(self, batch: Iterable[Iterable[int]], *, errors: str = "replace") -> list[str]:
        """Return the text of each sequence of ids."""
        return [self.decode(ids, errors=errors) for ids in batch]

    def decode_stream(self, *, errors: str = "replace") -> Stream:
        """Return a stream that decodes id by id: `step(id) -> str`, `flush() -> str`."""
        return self._decoding.stream(errors)

    def token_bytes(self, id_: int) -> bytes:
        """Return the bytes of one token, as the vocabulary has them."""
        try:
            return self._decoding.token_bytes(id_)
        except KeyError as error:
            raise self._decoding.unknown(error.args[0]) from None

    def with_special_tokens(self, tokens: Mapping[str, int]) -> Tokenizer:
        """Return a tokenizer that has `tokens` (text → id) as special tokens besides its own."""
        return Tokenizer(self._definition.with_special_tokens(tokens))

    @overload
    def save(self, path: StrPath, *, format: str | None = ..., overwrite: bool = ...) -> list[Path]: ...
    @overload
    def save(
        self, path: StrPath, *, format: str | None = ..., overwrite: bool = ..., lossy: Literal[True]
    ) -> list[Difference]: ...
    def save(self, path: StrPath, *, format: str | None = None, overwrite: bool = True, lossy: bool = False) -> Any:
        """Write the tokenizer and return the files written.

        `format` is "tokenizer.json", "tiktoken", "sentencepiece", "vocab.txt" or "gpt2" (a folder), and follows from
        the file's name where it is not given. Files are replaced whole or not at all; with `overwrite=False` one that
        exists is FileExistsError. A format that would give other ids is a FormatError that names the rule and a text;
        `lossy=True` writes it all the same, and returns what differs: `rule`, `text`, `ids`, `ids_there` of each.
        """
        differences: list[Difference] | None = [] if lossy else None
        files = formats.write(self._definition, path, format=format, overwrite=overwrite, differences=differences)
        return files if differences is None else differences

    def fingerprint(self) -> str:
        """Return a sha256 over vocabulary, possible merges and pipeline: the same whatever the file format.

        Equal fingerprints mean equal ids for every text.
        """
        return self._fingerprint

    @functools.cached_property
    def _fingerprint(self) -> str:
        from tokkit.formats.fingerprint import fingerprint

        return fingerprint(self._definition, self._engine)

    def cache_info(self) -> dict[str, int]:
        """Return what the word caches hold: workers, words, own_words, long_words, misses, bytes, max_words."""
        return self._engine.cache_info()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._definition,)

    def __repr__(self) -> str:
        name = f" {self.name}" if self.name else ""
        model = type(self._definition.model).__name__
        return f"<Tokenizer{name}: {model}, {len(self.vocab)} tokens, {len(self.special_tokens)} special>"


def load(
    path: str | os.PathLike[str],
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    lowercase: bool | None = None,
    download: bool = False,
) -> Tokenizer:
    """Load a tokenizer: tokenizer.json, .model, .tiktoken, vocab.json + merges.txt, vocab.txt, tekken.json, .gguf.

    Of a folder, the one of these that is in it. The published encodings' rank files are known by their sha256;
    another .tiktoken file needs `pattern` (a name such as "cl100k", or a pattern), and so does a .gguf whose split has
    no known name. A vocab.txt is BERT's, in lower case unless `lowercase`, or a tokenizer_config.json or tokenizer.json
    beside it, says otherwise. FormatError says what is wrong with a file. "org/name" or "org/name@revision" that is no
    path is looked for in the cache of the Hugging Face hub (extra `hub`), and downloaded from there with `download`;
    DownloadError where that fails.
    """
    if isinstance(path, str) and "/" in path and not os.path.exists(path):
        from tokkit.registry import hub

        path = hub.find(path, download=download) if hub.is_name(path) else path
    return Tokenizer(formats.read(path, pattern=pattern, special_tokens=special_tokens, lowercase=lowercase))
