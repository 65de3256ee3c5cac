"""`Tokenizer`: the public interface of encoding and decoding. It contains no algorithms."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from tokkit import formats, lazy
from tokkit._core.encode.calls import TextCalls
from tokkit.checks import ordered
from tokkit.definition import Definition
from tokkit.encoding.id_dtypes import as_dtype
from tokkit.engine.compile import engine_of
from tokkit.engine.decoding import Decoding, SentencePieceDecoding, Stream, decoding_of, sequences_of, without
from tokkit.engine.special_tokens import Special
from tokkit.models.names import name_of
from tokkit.pickled import Immutable
from tokkit.threads import thread_count
from tokkit.vocab import Vocab

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import DTypeLike, NDArray

    from tokkit._core.align import AlignedText
    from tokkit._core.text import Text
    from tokkit.corpus.encode_file import FileEncoder
    from tokkit.corpus.id_writers import Written
    from tokkit.corpus.readers import InputErrors
    from tokkit.encoding import Encoding
    from tokkit.encoding.length_rules import Padding, Truncation
    from tokkit.engine.assembly import Assembler, Own, Words
    from tokkit.engine.encode_stream import Completions, EncodeStream
    from tokkit.engine.engine import Engine
    from tokkit.formats.differences import Difference
    from tokkit.postprocessors.batch import Batch, Flat

StrPath: TypeAlias = "str | os.PathLike[str]"


class Tokenizer(Immutable, TextCalls):
    """Encodes text to ids and decodes ids to text. Immutable; threads can share it.

    Text is str, or UTF-8 as bytes, bytearray or memoryview. `special` decides what the text of a special token in
    user input becomes: "text" (ordinary text, the default), "raise" (SpecialTokenError), "all" (the special
    token), or a collection of the special tokens to allow. `encode` itself adds no special tokens.

    >>> import tokkit
    >>> tok = tokkit.train(iter(["low lower lowest"]), vocab_size=260)
    >>> tok.decode(tok.encode("lower"))
    'lower'
    """

    def __init__(self, definition: Definition, *, like: Tokenizer | None = None) -> None:
        """Build the tables; those of `like` are shared if the definition is its own with more added tokens."""
        self._definition = definition
        self._engine = engine_of(definition, None if like is None else like.engine)
        super().__init__(self._engine, *self._engine.plain_text)
        self._decoding = decoding_of(definition)
        # Bound once, because attribute look-ups are noticeable in calls with short texts.
        self._decode = self._decoding.decode
        self._completions: Completions | None = None

    @property
    def definition(self) -> Definition:
        """The tokenizer's vocabulary, components and special tokens, as data."""
        return self._definition

    @property
    def engine(self) -> Engine:
        """What runs the definition (`tokkit.engine.engine`); its methods may change in any release."""
        return self._engine

    @property
    def decoding(self) -> Decoding | SentencePieceDecoding:
        """What decodes ids (`tokkit.engine.decoding`); its methods may change in any release."""
        return self._decoding

    @property
    def vocab(self) -> Vocab:
        """All tokens, special ones included: bytes ↔ id; the bytes are those of `Encoding.token_bytes`."""
        return self._definition.vocab

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Text → id of the special tokens."""
        return self._definition.special_tokens

    @property
    def name(self) -> str:
        """The name, if this is a published encoding; "" for other tokenizers."""
        return self._definition.name

    @property
    def vocab_size(self) -> int:
        """Number of tokens, special ones included: len(tok)."""
        return len(self.vocab)

    def __len__(self) -> int:
        return len(self.vocab)

    @property
    def n_ids(self) -> int:
        """The highest id plus one: the number of rows that an embedding table needs."""
        return self._definition.vocab.n_ids

    @property
    def split_engine(self) -> str:
        """The engine that splits text: "scanner", "compiled", "regex", "components" or "model".

        "scanner" is C for this pattern, "compiled" an automaton, "regex" the `regex` package (for patterns that are not
        regular; some hundred times slower). "components" are a tokenizer.json's; "model" is SentencePiece, unsplit.
        """
        return self._engine.split_engine

    @property
    def split_reason(self) -> str:
        r"""Why the `regex` package runs the split pattern, e.g. "a back-reference"; "" if it does not."""
        return self._engine.split_reason

    @property
    def whole_reason(self) -> str:
        """The reason why a text cannot be cut, for several threads or into blocks of a file; "" if it can."""
        return self._engine.whole_reason

    def encode_to_numpy(
        self, text: Text, *, special: Special = "text", threads: int | None = 1, dtype: DTypeLike = "uint32"
    ) -> NDArray[Any]:
        """Return the ids of `text` as an array, the fastest form for long texts.

        A text of megabytes is encoded by several `threads` (None: all CPUs this process may use). The ids do not
        depend on their number. For torch.nn.Embedding, pass `dtype="int64"`.
        """
        ids = self._engine.encode_array(text, special, 1 if threads == 1 else thread_count(threads))
        return as_dtype(ids, dtype)

    def encode_batch(
        self,
        texts: Sequence[Text],
        *,
        special: Special = "text",
        threads: int | None = None,
        dtype: DTypeLike = "uint32",
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return (ids, offsets), of `dtype` and int64: the ids of text i are `ids[offsets[i]:offsets[i + 1]]`.

        The result does not depend on `threads`; None means all CPUs this process may use.
        """
        ids, offsets = self._engine.encode_batch(list(ordered(texts)), special, thread_count(threads))
        return as_dtype(ids, dtype), offsets

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

        `out` is a .npy file, or a .bin file of little-endian integers with a .json sidecar that has their width:
        uint16 if all ids of the tokenizer fit, else uint32. With `shard_ids`, ids are written to files of that many
        ids each, data-00000.npy for data.npy, and data.npy.json lists them; they get their names once all are
        complete. The file is one text: .gz, .bz2 and .xz are decompressed, "-" is standard input. Invalid UTF-8
        raises CorpusError, or becomes U+FFFD (`input_errors="replace"`), or is left out ("ignore"). SameFileError is
        raised if `out` is the file that is read. With a `whole_reason`, the whole text is held in memory.
        """
        # Imported here, because only files need it, and loading a tokenizer must stay fast.
        from tokkit.corpus import id_writers, paths

        kind, dtype = id_writers.kind_of(out), id_writers.dtype_of(self.n_ids)
        narrow = dtype == "uint16"
        encoder = self.file_encoder(special=special, threads=threads, input_errors=input_errors, narrow=narrow)
        source = paths.one(path)
        about = self.about_ids() if kind == "bin" or shard_ids is not None else {}
        with id_writers.IdWriter(
            out, kind, dtype=dtype, shard_ids=shard_ids, overwrite=overwrite, about=about
        ) as writer:
            n_bytes = encoder.encode(source, writer)
        return id_writers.Written(writer.n_ids, n_bytes, writer.files)

    def file_encoder(
        self, *, special: Special, threads: int | None, input_errors: InputErrors, narrow: bool
    ) -> FileEncoder:
        """Return an encoder that writes the ids of several files to one `IdWriter`, as uint16 if `narrow`."""
        from tokkit.corpus.encode_file import FileEncoder

        return FileEncoder(
            self._engine, special=special, threads=thread_count(threads), errors=input_errors, narrow=narrow
        )

    def about_ids(self) -> dict[str, Any]:
        """Return what the sidecar of a file of ids says about the tokenizer: its fingerprint and special tokens."""
        return {"tokenizer": self.fingerprint(), "special_tokens": dict(self.special_tokens)}

    @property
    def in_stages(self) -> bool:
        """Whether the tokenizer has stages before the model that change text; byte-level BPE has none."""
        return self._engine.in_stages

    def stages(self, text: Text, *, special: Special = "text") -> Iterator[tuple[str, AlignedText]]:
        """Yield (name, text) after each stage before the model; `text` is the same object, changed by each stage."""
        return self._engine.stages(text, special)

    @functools.cached_property
    def assembler(self) -> Assembler:
        """What makes the encodings of texts and pairs (`tokkit.engine.assembly`)."""
        from tokkit.engine.assembly import Assembler

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
        `Truncation`, or the maximum number of tokens) and `padding` default to those of the tokenizer's file ("own").
        With `pretokenized`, a text is a sequence of words, and offsets count characters of each word.
        """
        make = self.assembler
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
        """Return an `Encoding` of each text, or of each text and its pair, padded to the longest of them."""
        make = self.assembler
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
        dtype: DTypeLike = "int64",
    ) -> Batch:
        """Return arrays of shape (texts, length): ids and type_ids of `dtype`, attention_mask, special_tokens_mask.

        This is the fastest way to feed a model: no Python object is made for a token. If neither `padding` nor the
        tokenizer's file sets one, rows are padded to the longest with the id 0.
        """
        make = self.assembler
        cut, fill, n_threads = make.truncation(truncation), make.padding(padding), thread_count(threads)
        rows = make.padded(
            texts, pairs, special, add_special=add_special, truncation=cut, padding=fill, threads=n_threads
        )
        return rows._replace(ids=as_dtype(rows.ids, dtype), type_ids=as_dtype(rows.type_ids, dtype))

    def fits(self, text: Text, n: int, *, special: Special = "text") -> bool:
        """Return whether `text` has at most `n` ids; False for every text if n < 0."""
        return self.count(text, special=special) <= n

    def truncate(
        self, text: Text, n: int, *, special: Special = "text", side: Literal["right", "left"] = "right"
    ) -> tuple[str, int]:
        """Return (prefix, count): the longest prefix of whole characters that has at most n ids, and its count.

        The prefix is taken from decode(ids[:n]) or, if decoding does not restore the text, from the text up to the end
        of the n-th token; `side="left"` returns the longest suffix. `count` is the number of ids of the returned part
        alone, whose tokens at the cut may differ. If a model without an unknown token has none, more is cut off.
        """
        from tokkit.engine.truncation import truncated

        return truncated(self, self._engine, text, n, special, side)

    def encode_stream(self, *, special: Special = "text") -> EncodeStream:
        """Return a stream that encodes text as it arrives: `feed(text) -> ids`, `flush() -> ids`."""
        from tokkit.engine.encode_stream import EncodeStream

        return EncodeStream(self._engine, special)

    def encode_with_unstable(self, text: Text, *, special: Special = "text") -> tuple[list[int], list[list[int]]]:
        """Return (ids, completions) of an unfinished text: the ids that are certain, and all sequences that may follow.

        Each completion is a sequence of ids whose bytes begin with the rest of the text, as in tiktoken. Only for
        byte-level BPE.
        """
        from tokkit.engine.encode_stream import completions_of

        if self._completions is None:
            self._completions = completions_of(self._definition, self._engine)
        return self._completions.of(text, special)

    def decode(self, ids: Iterable[int], *, errors: str = "replace", skip_special: bool = False) -> str:
        """Return the text of `ids`; invalid UTF-8 is handled as by bytes.decode with these `errors`.

        `skip_special` leaves out special tokens.
        """
        if skip_special:
            ids = without(ids, self._decoding.special_ids)
        try:
            return self._decode(ids, errors)
        except KeyError as error:
            raise self._decoding.unknown(error.args[0]) from None

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Return the bytes of `ids`, joined; if the decoder changes whole texts, the UTF-8 of `decode`."""
        try:
            return self._decoding.decode_bytes(ids)
        except KeyError as error:
            raise self._decoding.unknown(error.args[0]) from None

    def decode_batch(self, batch: Iterable[Iterable[int]] | Flat, *, errors: str = "replace") -> list[str]:
        """Return the text of each sequence of ids; `batch` may be the (ids, offsets) of `encode_batch`."""
        return [self.decode(ids, errors=errors) for ids in sequences_of(ordered(batch, "batch", "sequences of ids"))]

    def decode_stream(self, *, errors: str = "replace") -> Stream:
        """Return a stream that decodes one id at a time: `step(id) -> str`, `flush() -> str` (see `ChainStream`)."""
        return self._decoding.stream(errors)

    def token_bytes(self, id_: int) -> bytes:
        """Return the bytes of one token from the vocabulary."""
        try:
            return self._decoding.token_bytes(id_)
        except KeyError as error:
            raise self._decoding.unknown(error.args[0]) from None

    def with_special_tokens(self, tokens: Mapping[str, int]) -> Tokenizer:
        """Return a tokenizer with `tokens` (text → id) as additional special tokens."""
        return Tokenizer(self._definition.with_special_tokens(tokens), like=self)

    @overload
    def save(self, path: StrPath, *, format: str | None = ..., overwrite: bool = ...) -> list[Path]: ...
    @overload
    def save(
        self, path: StrPath, *, format: str | None = ..., overwrite: bool = ..., lossy: Literal[True]
    ) -> list[Difference]: ...
    def save(self, path: StrPath, *, format: str | None = None, overwrite: bool = True, lossy: bool = False) -> Any:
        """Write the tokenizer and return the files written.

        `format` is "tokenizer.json", "tiktoken", "sentencepiece", "vocab.txt" or "gpt2" (a folder); by default it
        follows from the file's name. Files are replaced as a whole or not at all; with `overwrite=False` an existing
        file raises FileExistsError. A format that would change ids raises FormatError, which names the rule and an
        example text; `lossy=True` writes it anyway and returns the differences: `rule`, `text`, `ids`, `ids_there`.
        """
        differences: list[Difference] | None = [] if lossy else None
        files = formats.write(self._definition, path, format=format, overwrite=overwrite, differences=differences)
        return files if differences is None else differences

    def fingerprint(self) -> str:
        """Return a SHA-256 of vocabulary, possible merges and pipeline; equal fingerprints mean equal ids."""
        return self._fingerprint

    @functools.cached_property
    def _fingerprint(self) -> str:
        from tokkit.formats.fingerprint import fingerprint

        return fingerprint(self._definition, self._engine)

    def cache_info(self) -> dict[str, int]:
        """Return the size of the word caches: workers, words, own_words, long_words, misses, bytes, max_words."""
        return self._engine.cache_info()

    def made_by(self) -> tuple[Any, tuple[Definition]]:
        """Return the call that makes an equal tokenizer."""
        return type(self), (self._definition,)

    def __repr__(self) -> str:
        name, model = f" {self.name}" if self.name else "", name_of(self._definition.model)
        return f"<Tokenizer{name}: {model}, {len(self.vocab)} tokens, {len(self.special_tokens)} special>"

    _repr_html_ = lazy.notebook_html
