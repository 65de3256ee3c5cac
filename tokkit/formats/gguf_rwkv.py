r"""Makes definitions of GGUF vocabularies of RWKV, whose tokens are bytes with escapes: "\n", "\xe4\xbd".

As in RWKV's own programs, plain text becomes neither control tokens nor unused ones; llama.cpp finds both in it.
"""

from __future__ import annotations

import re

from tokkit.definition import Definition
from tokkit.errors import FormatError
from tokkit.files.strict_json import brief
from tokkit.formats import gguf_models
from tokkit.formats.gguf_vocabulary import BYTE, GGML, NORMAL, UNKNOWN, UNUSED, Vocabulary
from tokkit.models.longest_match import LongestMatch
from tokkit.vocab import Vocab

MODEL = "rwkv"
_ESCAPE = re.compile(rb"\\(?:x([0-9a-f]{2})|(.?))", re.DOTALL)
_LETTERS = {b"t": b"\t", b"n": b"\n", b"r": b"\r"}


def read(vocabulary: Vocabulary) -> Definition:
    """Return the definition of a vocabulary; FormatError names the invalid key."""
    added = gguf_models.added_tokens(vocabulary, _texts(vocabulary))
    special = {token.id: token.content.encode() for token in added}
    tokens: dict[int, bytes] = {}
    owners: dict[bytes, int] = {}
    for id_, (text, kind) in enumerate(zip(vocabulary.tokens, vocabulary.types.tolist(), strict=True)):
        if kind == UNUSED or not text:
            continue
        if kind == BYTE:
            raise FormatError(f"{GGML}token_type[{id_}]: {brief(text)} is of the type byte, which RWKV does not have")
        try:
            tokens[id_] = unescaped(text.encode())
        except FormatError as error:
            raise FormatError(f"{GGML}tokens[{id_}]: {error}") from None
        if id_ in special and tokens[id_] != special[id_]:
            raise FormatError(f"{GGML}tokens[{id_}]: {brief(text)} has an escape, which only normal tokens may have")
        if id_ not in special and owners.setdefault(tokens[id_], id_) != id_:
            raise FormatError(f"{GGML}tokens: the ids {owners[tokens[id_]]} and {id_} both have {tokens[id_]!r}")
    unknown = vocabulary.ids.get("unknown", next(iter(vocabulary.of_type(UNKNOWN).values()), None))
    if unknown is not None and unknown not in special:
        raise FormatError(f"{GGML}unknown_token_id: {unknown} is {brief(vocabulary.tokens[unknown])}, a normal token")
    return Definition(
        Vocab.from_list(tokens.get(id_, b"") for id_ in range(max(tokens, default=-1) + 1)),
        LongestMatch(unk_token=None if unknown is None else vocabulary.tokens[unknown]),
        None,
        postprocessor=gguf_models.framing(vocabulary),
        added_tokens=added,
        added_ids=frozenset(special),
    )


def _texts(vocabulary: Vocabulary) -> dict[int, str]:
    kinds = zip(vocabulary.tokens, vocabulary.types.tolist(), strict=True)
    return {id_: text for id_, (text, kind) in enumerate(kinds) if kind not in (NORMAL, UNUSED)}


def unescaped(text: bytes) -> bytes:
    r"""Return the bytes of a token, as llama.cpp reads it; FormatError for an escape that is not complete.

    >>> unescaped(rb"\n\xe4\\")
    b'\n\xe4\\'
    """

    def replaced(found: re.Match[bytes]) -> bytes:
        if found[1]:
            return bytes([int(found[1], 16)])
        if found[2] in (b"", b"x"):
            raise FormatError(f"{found[0].decode()} in {brief(text)} is not an escape: \\x has two digits, 0-9 and a-f")
        return _LETTERS.get(found[2], found[2])

    return _ESCAPE.sub(replaced, text)


def escaped(token: bytes) -> str:
    r"""Return a token with escapes, as it stands in files.

    >>> escaped(b"it's\n\xe4")
    "it\\'s\\n\\xe4"
    """
    return repr(b'"' + token)[3:-1]
