"""Reads and checks the keys tokenizer.ggml.* of a GGUF file, for all models, as a `Vocabulary`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import FormatError
from tokkit.files import gguf_file
from tokkit.files.strict_json import brief
from tokkit.vocab import MAX_ID

PREFIX = "tokenizer."
GGML = "tokenizer.ggml."
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""Values of tokenizer.ggml.token_type."""
TYPES = {
    NORMAL: "normal", UNKNOWN: "unknown", CONTROL: "control", USER_DEFINED: "user-defined", UNUSED: "unused",
    BYTE: "byte",
}  # fmt: skip
BYTE_NAMES = frozenset(f"<0x{byte:02X}>" for byte in range(256))
"""Texts of the tokens that stand for bytes."""
NO_ID = 0xFFFFFFFF
"""The id that some programs write for a missing token."""
GENERAL = ("general.name", "general.architecture")
"""Keys of the model that decide rules of its tokenizer."""

BYTE_LEVEL = "gpt2"
BPE_MODELS = (BYTE_LEVEL, "gemma4", "whitespace")
"""Models that have merges: over byte symbols, or over characters, as the name of the split says."""
MODELS = {
    BYTE_LEVEL: "byte-level BPE", "llama": "SentencePiece BPE", "bert": "WordPiece", "t5": "Unigram",
    "gemma4": "BPE over lines", "whitespace": "BPE over words", "rwkv": "longest match",
}  # fmt: skip
"""tokenizer.ggml.model → name of the model for messages."""
UNSUPPORTED = {
    "plamo2": "it sums scores from the end of the text, so that of equal sums another one counts than in Unigram",
    "hybriddna": "it cuts text between <dna> and </dna> into six letters each",
    "no_vocab": "such a file has no tokens",
    "none": "such a file has no tokens",
}
"""tokenizer.ggml.model → why it is not read."""
_SCORED = ("llama", "t5")


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The checked tokenizer keys of a GGUF file, for all models.

    `tokens` are the texts by id, as in the file (byte symbols, "▁the", "<0x0A>"); `types` (uint8) are values of TYPES;
    `scores` (float32) is empty if the file has none; `merges` are pairs in order of priority. `ids` maps "bos", "eos",
    "unknown", "padding" … to ids, `flags` "add_bos_token", "add_space_prefix" … to bool. `found` are the types by which
    tokens are found in text, if they differ from those in the model (gguf_overrides.py).
    """

    model: str
    split: str | None
    tokens: list[str]
    types: NDArray[np.uint8]
    scores: NDArray[np.float32]
    merges: list[str]
    ids: Mapping[str, int]
    flags: Mapping[str, bool]
    charsmap: bytes = b""
    name: str = ""
    architecture: str = ""
    found: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))

    def __post_init__(self) -> None:
        if not len(self.found):
            object.__setattr__(self, "found", self.types)

    def of_type(self, kind: int) -> dict[str, int]:
        """Return the tokens of one type, text → id."""
        return {self.tokens[id_]: id_ for id_ in np.flatnonzero(self.types == kind).tolist()}


def read(keys: Mapping[str, gguf_file.Value]) -> Vocabulary:
    """Return the tokenizer's keys among those of a GGUF file; a FormatError names the invalid key."""
    model = _text(keys, "model")
    if model is None:
        raise FormatError(f"{GGML}model: missing; this GGUF file has no tokenizer")
    if model in UNSUPPORTED:
        raise FormatError(
            f"{GGML}model: {brief(model)} is not supported, because {UNSUPPORTED[model]}; load the tokenizer of the "
            f"model from its own file instead, such as tokenizer.json ({' or '.join(map(repr, MODELS))} is read)"
        )
    if model not in MODELS:
        raise FormatError(f"{GGML}model: {brief(model)} is not supported; {' or '.join(map(repr, MODELS))} is")
    tokens = _texts(keys, "tokens")
    if tokens is None:
        raise FormatError(f"{GGML}tokens: missing")
    if not 0 < len(tokens) <= MAX_ID + 1:
        raise FormatError(f"{GGML}tokens: {len(tokens)} tokens; from 1 to {MAX_ID + 1} are read")
    types = _types(keys, len(tokens), needed=model in _SCORED)
    _check_different(tokens, types)
    return Vocabulary(
        model=model,
        split=_text(keys, "pre"),
        tokens=tokens,
        types=types,
        scores=_scores(keys, len(tokens), needed=model in _SCORED),
        merges=_texts(keys, "merges") or [],
        ids=_ids(keys, len(tokens)),
        flags={
            name.removeprefix(GGML): value
            for name, value in keys.items()
            if name.startswith(GGML) and isinstance(value, bool)
        },
        charsmap=_charsmap(keys),
        name=_general(keys, "general.name"),
        architecture=_general(keys, "general.architecture"),
    )


def is_read(name: str) -> bool:
    """Return whether `read` uses a key, or a chat template has this name."""
    return name.startswith(PREFIX) or name in GENERAL


def _general(keys: Mapping[str, gguf_file.Value], name: str) -> str:
    """Return the text of a key that only names the model: any bytes may be in it."""
    value = keys.get(name)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _text(keys: Mapping[str, gguf_file.Value], name: str) -> str | None:
    value = keys.get(GGML + name)
    if value is None:
        return None
    if not isinstance(value, bytes):
        raise _wrong(name, "a string", value)
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{GGML}{name}: not UTF-8, at byte {error.start} of {brief(value)}") from None


def _texts(keys: Mapping[str, gguf_file.Value], name: str) -> list[str] | None:
    if GGML + name not in keys:
        return None
    value = keys[GGML + name]
    # An array of no strings may have any type.
    if not isinstance(value, list):
        raise _wrong(name, "an array of strings", value)
    try:
        return [text.decode("utf-8") for text in value]
    except UnicodeDecodeError as error:
        number = value.index(error.object)
        raise FormatError(
            f"{GGML}{name}[{number}]: not UTF-8, at byte {error.start} of {brief(value[number])}"
        ) from None


def _array(keys: Mapping[str, gguf_file.Value], name: str, kinds: str, n: int, what: str) -> NDArray[np.generic] | None:
    value = keys.get(GGML + name)
    if GGML + name not in keys:
        return None
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        raise _wrong(name, f"an array of {what}", value)
    if len(value) != n:
        raise FormatError(f"{GGML}{name}: {len(value)} {what} for {n} tokens")
    return value


def _types(keys: Mapping[str, gguf_file.Value], n: int, *, needed: bool) -> NDArray[np.uint8]:
    types = _array(keys, "token_type", "iu", n, "integers")
    if types is None:
        if needed:
            raise FormatError(f"{GGML}token_type: missing")
        return np.full(n, NORMAL, dtype=np.uint8)
    wrong = np.flatnonzero(~np.isin(types, list(TYPES)))
    if len(wrong):
        raise FormatError(f"{GGML}token_type[{wrong[0]}] is {types[wrong[0]]}; it must be from 1 to 6")
    return types.astype(np.uint8)


def _scores(keys: Mapping[str, gguf_file.Value], n: int, *, needed: bool) -> NDArray[np.float32]:
    scores = _array(keys, "scores", "f", n, "numbers")
    if scores is None:
        if needed:
            raise FormatError(f"{GGML}scores: missing")
        return np.zeros(0, dtype=np.float32)
    wrong = np.flatnonzero(~np.isfinite(scores))
    if len(wrong):
        raise FormatError(f"{GGML}scores[{wrong[0]}] is {scores[wrong[0]]}; it must be a finite number")
    return scores.astype(np.float32)


def _ids(keys: Mapping[str, gguf_file.Value], n: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in keys.items():
        if not name.startswith(GGML) or not name.endswith("_token_id"):
            continue
        short = name.removeprefix(GGML)
        if type(value) is not int:
            raise _wrong(short, "an integer", value)
        if value in (NO_ID, -1):
            continue
        if not 0 <= value < n:
            raise FormatError(f"{name} is {value}; it must be an id from 0 to {n - 1}")
        found[short.removesuffix("_token_id")] = value
    return found


def _charsmap(keys: Mapping[str, gguf_file.Value]) -> bytes:
    value = keys.get(GGML + "precompiled_charsmap")
    if value is None:
        return b""
    if not isinstance(value, np.ndarray) or value.dtype.itemsize != 1 or value.dtype.kind not in "iu":
        raise _wrong("precompiled_charsmap", "an array of bytes", value)
    return value.tobytes()


def _check_different(tokens: list[str], types: NDArray[np.uint8]) -> None:
    """Raise FormatError if two tokens in use have the same text, because no text could get both ids."""
    if len(set(tokens)) == len(tokens):
        return
    owners: dict[str, int] = {}
    for id_, (text, kind) in enumerate(zip(tokens, types.tolist(), strict=True)):
        if kind != UNUSED and owners.setdefault(text, id_) != id_:
            raise FormatError(f"{GGML}tokens: the ids {owners[text]} and {id_} both have the text {brief(text)}")


def _wrong(name: str, needed: str, value: gguf_file.Value) -> FormatError:
    kinds = {bool: "a boolean", int: "an integer", float: "a number", bytes: "a string", list: "an array of strings"}
    kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else kinds.get(type(value), "nested arrays")
    return FormatError(f"{GGML}{name}: {needed} is needed, not {kind}")
