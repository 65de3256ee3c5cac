"""`Tokenizer`: a model and its stages, which can be changed at any time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tokkit._core.lists import are_ids
from tokkit.compat.tokenizers import engine, growing, inputs, json_text, lengths, values, whole_text
from tokkit.compat.tokenizers.added_token import AddedToken, AddedTokens, tokens_of
from tokkit.compat.tokenizers.component import Changes, Component, changed
from tokkit.compat.tokenizers.decoders import Decoder
from tokkit.compat.tokenizers.encoding import Encoding
from tokkit.compat.tokenizers.models import BPE, Model
from tokkit.compat.tokenizers.normalizers import Normalizer
from tokkit.compat.tokenizers.pre_tokenizers import PreTokenizer
from tokkit.compat.tokenizers.processors import PostProcessor, given_to
from tokkit.errors import FormatError, VocabError
from tokkit.files import files, strict_json
from tokkit.formats import tables, tokenizer_json
from tokkit.postprocessors.lengths import pad
from tokkit.tokenizer import Tokenizer as Made

STAGES: dict[str, type[Component]] = {
    "normalizer": Normalizer,
    "pre_tokenizer": PreTokenizer,
    "post_processor": PostProcessor,
    "decoder": Decoder,
}


def _stage(key: str) -> Any:
    """Return the property of a stage."""
    base = STAGES[key]

    def get(self: Tokenizer) -> Any:
        return self._stages[key]

    def put(self: Tokenizer, value: Any) -> None:
        if value is not None and not isinstance(value, base):
            raise values.wrong_type(key, value, f"a {base.__name__} or None")
        self._stages[key] = value
        changed()

    return property(get, put, doc=f"The {key}; None if there is none.")


class Built(NamedTuple):
    """The tokenizer built from the parts, their key, and the count of all changes at that time."""

    made: Made
    key: tuple[Any, ...]
    seen: int


class Tokenizer:
    """A tokenizer for a model. Its engine is built at first use, and again after a change.

    >>> tok = Tokenizer(BPE({"l": 0, "o": 1, "lo": 2}, [("l", "o")]))
    >>> tok.encode("lol").tokens
    ['lo', 'l']
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._stages: dict[str, Any] = dict.fromkeys(STAGES)
        self._added = AddedTokens()
        self._lengths = lengths.Lengths()
        self._encode_special = False

    _built: Built | None = None
    _plain: tuple[Made, Made] | None = None

    normalizer = _stage("normalizer")
    pre_tokenizer = _stage("pre_tokenizer")
    post_processor = _stage("post_processor")
    decoder = _stage("decoder")

    @property
    def model(self) -> Any:
        """The model."""
        return self._model

    @model.setter
    def model(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise values.wrong_type("model", model, "a Model")
        self._model = model
        changed()

    @property
    def encode_special_tokens(self) -> bool:
        """Whether special tokens in the text are encoded as ordinary text."""
        return self._encode_special

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._encode_special = values.flag("encode_special_tokens", value)

    # ---- files

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """Return the tokenizer from the text of a tokenizer.json."""
        return _read(values.text("json", json).encode("utf-8", "surrogatepass"))

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """Return the tokenizer from the bytes of a tokenizer.json; ValueError for invalid ones."""
        if not isinstance(buffer, bytes):
            raise values.wrong_type("buffer", buffer, "bytes")
        return _read(buffer)

    @staticmethod
    def from_file(path: str) -> Tokenizer:
        """Return the tokenizer of a tokenizer.json."""
        with files.naming(path):
            return _read(files.read_bytes(values.text("path", path)))

    @staticmethod
    def from_pretrained(identifier: str, revision: str = "main", token: str | None = None) -> Tokenizer:
        """Return the tokenizer of a model that `tokkit fetch` has downloaded; nothing is downloaded here."""
        from tokkit.registry import hub

        name = identifier if revision == "main" else f"{identifier}@{revision}"
        return Tokenizer.from_file(str(hub.find(name, download=False)))

    def to_str(self, pretty: bool = False) -> str:
        """Return the text of a tokenizer.json."""
        return whole_text.json(self, pretty=values.flag("pretty", pretty)).as_text()

    def save(self, path: str, pretty: bool = True) -> None:
        """Write a tokenizer.json."""
        text = whole_text.json(self, pretty=values.flag("pretty", pretty)).take()
        with open(values.text("path", path), "wb") as file:
            file.write(text)

    def __getnewargs__(self) -> tuple[Model]:
        return (BPE(),)

    def __getstate__(self) -> bytes:
        return whole_text.json(self).take()

    def __setstate__(self, state: bytes) -> None:
        self.__dict__.update(_read(state).__dict__)

    def __repr__(self) -> str:
        return whole_text.shown(self, json_text.MAX_SHOWN)

    def __str__(self) -> str:
        return whole_text.shown(self, json_text.MAX_IN_STR)

    # ---- the engine

    def _states(self) -> dict[str, Any]:
        return {key: None if stage is None else stage._state for key, stage in self._stages.items()}

    def _key(self) -> tuple[Any, ...]:
        """Return what differs after a relevant change; the last item is the number of added tokens."""
        added = self._added
        return repr(self._states()), self._model._key(), added, added.changes, len(added.tokens)

    def _run(self) -> Built:
        """Return tokkit's tokenizer, built again if a component was changed, extended if tokens were added."""
        built = self._built
        if built is not None and built.seen == Changes.count:
            return built
        seen, key = Changes.count, self._key()
        if built is None or built.key != key:
            made = None
            if built is not None and built.key[:-1] == key[:-1]:
                made = growing.extended(built.made, self._added, built.key[-1])
            if made is None:
                made = engine.of(self._model._state, self._states(), self._added.json())
            built = Built(made, key, seen)
        # A single assignment, because other threads may change the parts meanwhile.
        self._built = built = built._replace(seen=seen)
        return built

    def _encoder(self) -> Any:
        """Return the engine that makes encodings, with or without special tokens as ordinary text."""
        made = self._run().made
        if not self._encode_special:
            return made.assembler
        plain = self._plain
        if plain is None or plain[0] is not made:
            plain = self._plain = made, engine.without_special(made)
        return plain[1].assembler

    def _maker(self, words: bool, add_special: bool) -> engine.Maker:
        return engine.Maker(self._encoder(), words, add_special, self._lengths.truncation)

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding:
        """Return the encoding of a text or a pair, or of texts that are lists of words."""
        words, add = (
            values.flag("is_pretokenized", is_pretokenized),
            values.flag("add_special_tokens", add_special_tokens),
        )
        first = inputs.sequence(sequence, words)
        second = None if pair is None else inputs.sequence(pair, words)
        return self._padded([self._maker(words, add).of(first, second)])[0]

    def encode_batch(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Return the encodings of texts and pairs, padded to one length if padding is enabled."""
        words, add = (
            values.flag("is_pretokenized", is_pretokenized),
            values.flag("add_special_tokens", add_special_tokens),
        )
        given = inputs.batch(input, words)
        return self._padded(self._maker(words, add).of_batch(given))

    def encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Return the same as `encode_batch`, whose offsets are only computed if they are read."""
        return self.encode_batch(input, is_pretokenized, add_special_tokens)

    def _padded(self, made: list[Encoding]) -> list[Encoding]:
        if self._lengths.padding is None:
            return made
        return [Encoding.of(one) for one in pad([one.made for one in made], self._lengths.padding)]

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Return an encoding, or a pair of them, truncated, with special tokens, and padded."""
        add = values.flag("add_special_tokens", add_special_tokens)
        first, second = given_to(self.post_processor, encoding, pair, add)
        made = self._run().made.assembler.processed(first, second, add, self._lengths.truncation)
        return self._padded([Encoding.of(made)])[0]

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of tokens that the post-processor adds to a text, or to a pair."""
        pair = values.flag("is_pair", is_pair)
        return 0 if self.post_processor is None else self.post_processor.num_special_tokens_to_add(pair)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of ids; ids without a token are skipped."""
        given = ids if are_ids(ids) else values.listed("ids", ids, values.token_id)
        skip = values.flag("skip_special_tokens", skip_special_tokens)
        made = self._run().made
        try:
            return made.decode(given, skip_special=skip)
        except VocabError:
            known = made.vocab
            return made.decode([id_ for id_ in given if id_ in known], skip_special=skip)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Return the text of each sequence of ids."""
        return values.listed("sequences", sequences, lambda name, ids: self.decode(ids, skip_special_tokens))

    # ---- lengths

    def enable_truncation(self, max_length: int, **options: Any) -> None:
        """Truncate longer texts; see `tokkit.Truncation` for stride, strategy and direction."""
        self._lengths.enable_truncation(max_length, **options)

    def enable_padding(self, **options: Any) -> None:
        """Pad shorter texts; options are direction, pad_id, pad_type_id, pad_token, length, pad_to_multiple_of."""
        self._lengths.enable_padding(**options)

    def no_truncation(self) -> None:
        """Turn truncation off."""
        self._lengths.truncation = None

    def no_padding(self) -> None:
        """Turn padding off."""
        self._lengths.padding = None

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The options of the truncation, None if there is none."""
        return self._lengths.truncation_options

    @property
    def padding(self) -> dict[str, Any] | None:
        """The options of the padding, None if there is none."""
        return self._lengths.padding_options

    # ---- tokens

    def add_tokens(self, tokens: list[Any]) -> int:
        """Add tokens, and return the number of new ones."""
        return self._add(tokens_of("tokens", tokens))

    def add_special_tokens(self, tokens: list[Any]) -> int:
        """Add special tokens, and return the number of new ones."""
        return self._add(tokens_of("tokens", tokens, special=True))

    def _add(self, tokens: list[AddedToken]) -> int:
        n = self._added.add(tokens, self._model)
        changed()
        return n

    def renumber(self) -> None:
        """Renumber the added tokens after a change of the model's vocabulary."""
        tokens = [self._added.tokens[id_] for id_ in sorted(self._added.tokens)]
        self._added = AddedTokens()
        self._add(tokens)

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Return id → added token."""
        return {id_: AddedToken(**self._added.tokens[id_].fields()) for id_ in sorted(self._added.tokens)}

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return token → id."""
        vocab = dict(self._model._ids)
        return {**vocab, **self._added.ids} if values.flag("with_added_tokens", with_added_tokens) else vocab

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens."""
        n: int = self._model._size
        if values.flag("with_added_tokens", with_added_tokens):
            n += sum(self._model.token_to_id(token) is None for token in self._added.ids)
        return n

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token, None if there is none."""
        id_ = self._added.ids.get(values.text("token", token))
        found: int | None = self._model.token_to_id(token) if id_ is None else id_
        return found

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id, None if there is none; an added token as the normalizer makes it."""
        added = self._added.tokens.get(values.token_id("id", id))
        if added is None:
            token: str | None = self._model.id_to_token(id)
            return token
        normalizes = added.normalized and self.normalizer is not None
        return self.normalizer.normalize_str(added.content) if normalizes else added.content

    # ---- training

    def train(self, files: Sequence[str], trainer: Any = None, *, special: str = "text") -> None:
        """Train the model from files, line by line; `special="boundary"`, not in tokenizers, cuts at special tokens."""
        from tokkit.compat.tokenizers import training

        training.from_files(self, values.listed("files", files, values.text), trainer, special)

    def train_from_iterator(
        self, iterator: Iterable[Any], trainer: Any = None, length: int | None = None, *, special: str = "text"
    ) -> None:
        """Train the model from texts, or lists of texts; `special` is as in `train`."""
        from tokkit.compat.tokenizers import training

        training.from_texts(self, iterator, trainer, special)

    # ---- in the background

    async def async_encode(self, sequence: Any, pair: Any = None, *options: Any, **named: Any) -> Encoding:
        """Run `encode` in a thread."""
        return await asyncio.to_thread(self.encode, sequence, pair, *options, **named)

    async def async_encode_batch(self, input: Sequence[Any], *options: Any, **named: Any) -> list[Encoding]:
        """Run `encode_batch` in a thread."""
        return await asyncio.to_thread(self.encode_batch, input, *options, **named)

    async def async_encode_batch_fast(self, input: Sequence[Any], *options: Any, **named: Any) -> list[Encoding]:
        """Run `encode_batch_fast` in a thread."""
        return await asyncio.to_thread(self.encode_batch_fast, input, *options, **named)

    async def async_decode_batch(
        self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """Run `decode_batch` in a thread."""
        return await asyncio.to_thread(self.decode_batch, sequences, skip_special_tokens)


def _read(data: bytes) -> Tokenizer:
    """Return the tokenizer from a tokenizer.json, read as by `tokkit.load`."""
    value = tables.loads(data) or strict_json.loads(data)
    if not isinstance(value, dict) or not isinstance(value.get("model"), dict):
        raise FormatError("a tokenizer.json must have a model; this one has none")
    from tokkit.formats.model_json import type_of

    model = value["model"]
    model["type"] = type_of(strict_json.Section(model, "model"))
    stages = {key: base._of(value[key]) for key, base in STAGES.items() if value.get(key) is not None}
    made = Tokenizer(Model._of(model))
    made._stages.update(stages)
    made._added.read(value.get("added_tokens") or [], made._model)
    made._lengths = lengths.Lengths(**tokenizer_json.read_lengths(strict_json.Section(value, "")))
    for key in (*STAGES, "truncation", "padding", "added_tokens", "model", "version"):
        value.pop(key, None)
    if value:
        raise FormatError(f"{next(iter(value))} is not a key of a tokenizer.json")
    made._run()
    return made
