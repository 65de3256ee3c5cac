"""Reads and writes Mistral's tekken.json: rank BPE whose special tokens have the first ids.

`vocab` lists the tokens by rank, of which the first default_vocab_size - default_num_special_tokens are in use; an
id is a rank plus default_num_special_tokens. The special tokens are listed from version 11 on; before that they are
those that Mistral published. Unused ids below default_num_special_tokens are called <SPECIAL_id>.
"""

from __future__ import annotations

import json
import re
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

from tokkit import byte_symbols
from tokkit.checks import is_text
from tokkit.definition import Definition, Split
from tokkit.errors import FormatError, PatternError
from tokkit.files import strict_json
from tokkit.files.strict_json import Section, brief, kind
from tokkit.formats import byte_vocabulary, split_patterns
from tokkit.formats.split_patterns import FANCY_REGEX
from tokkit.formats.tiktoken import EVERYTHING
from tokkit.models.bpe import BPE
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.choice import choose
from tokkit.vocab import MAX_ID, Vocab

PUBLISHED_SPECIAL = (
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]",
    "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
)  # fmt: skip
"""The special tokens of versions up to LAST_UNLISTED, whose files do not list them."""
LAST_UNLISTED = 7
WRITTEN = "v11"
"""The version that is written for tokenizers from other files: the first that lists special tokens."""
_VERSION = re.compile(r"v([0-9]{1,4})")


def is_tekken(value: object) -> bool:
    """Return whether parsed JSON is a tekken.json.

    >>> is_tekken({"config": {}, "vocab": []}), is_tekken({"model": {}, "version": "1.0"})
    (True, False)
    """
    return isinstance(value, dict) and isinstance(value.get("vocab"), list) and isinstance(value.get("config"), dict)


def from_json(value: object) -> Definition:
    """Return the definition; FormatError names the path of what is malformed.

    Text that the pattern does not match is dropped, as in tiktoken, which runs these files.
    """
    if not isinstance(value, dict):
        raise FormatError(f"the file: an object is needed, not {kind(value)}")
    # Other keys (image, audio, type) affect how a prompt is composed, not the ids of a text: they are written back.
    file = Section({key: value[key] for key in ("config", "vocab", "special_tokens") if key in value}, "")
    config = Section(file.take("config", dict), "config")
    pattern = config.take("pattern", str)
    config.take("num_vocab_tokens", int, default=None)
    size, n_special = _sizes(config)
    stated, version = _version(config)
    config.finish()
    listed = file.take("special_tokens", list, type(None), default=None)
    special = _special_tokens(listed, version, n_special)
    tokens = _tokens(file.take("vocab", list), size - n_special)
    try:
        pattern = split_patterns.read(pattern, FANCY_REGEX)
        choose(pattern, keep_unmatched=False)
    except (PatternError, RecursionError) as error:
        raise FormatError(f"{config.at('pattern')}: {error}") from None
    vocab = Vocab.from_list([*(text.encode() for text in special), *tokens])
    others = {
        "version": stated,
        "listed": None if listed is None else len(listed),
        "not_control": [token["token_str"] for token in listed or () if not token.get("is_control", True)],
        "keys": {key: part for key, part in value.items() if key not in ("config", "vocab", "special_tokens")},
    }
    try:
        kept = json.dumps(others, ensure_ascii=False)
    except RecursionError:
        raise FormatError("the file: a part of it is nested too deeply") from None
    return Definition(vocab, BPE(), Split(None if pattern == EVERYTHING else pattern), special, others=kept)


def write(definition: Definition) -> bytes:
    """Return the tekken.json of a definition; FormatError if its readers would not give the definition's ids.

    A definition from a tekken.json keeps the version, the flags of special tokens, and all other keys of that file.
    """
    split = byte_vocabulary.only_bytes(definition, "a tekken.json holds")
    if (reason := byte_vocabulary.why_not_ranks(definition)) is not None:
        raise FormatError(f"a tekken.json cannot hold this merge list: {reason}")
    if split.keep_unmatched and split.pattern not in patterns.SCANNERS:
        raise FormatError("a tekken.json cannot hold a split that keeps unmatched text: its reader drops it")
    special = dict(sorted(definition.special_tokens.items(), key=lambda item: item[1]))
    n = len(special)
    for rank, (text, id_) in enumerate(special.items()):
        if id_ != rank:
            raise FormatError(
                f"in a tekken.json, special tokens have the first ids, 0 to {n - 1}; {text!r} has the id {id_}"
            )
    if definition.vocab.empty is not None:
        raise FormatError(f"a tekken.json has no empty token; here it has the id {definition.vocab.empty}")
    blob, offsets = byte_vocabulary.ordinary_tokens(definition)
    bounds = offsets.tolist()
    tokens = [blob[start:end] for start, end in pairwise(bounds)][n:]
    if b"" in tokens:
        raise FormatError(f"no token has the id {n + tokens.index(b'')}, but the ids of a tekken.json have no gaps")
    for rank, token in enumerate(tokens[:256]):
        if token != bytes([rank]):
            raise FormatError(
                f"the first 256 ranks of a tekken.json are the bytes in order, but rank {rank} is {token!r}, not "
                f"{bytes([rank])!r}; mistral-common does not read such a file; save as .tiktoken or tokenizer.json"
            )
    others: dict[str, Any] = {"version": WRITTEN, "listed": n}
    if definition.others:
        others = json.loads(definition.others)
    says = {
        "config": {
            "pattern": EVERYTHING if split.pattern is None else split_patterns.write(split.pattern, FANCY_REGEX),
            "num_vocab_tokens": len(tokens),
            "default_vocab_size": n + len(tokens),
            "default_num_special_tokens": n,
            "version": others["version"],
        },
        "vocab": [_entry(rank, token) for rank, token in enumerate(tokens)],
        **_listed(list(special), others["listed"], others.get("not_control", ())),
        **others.get("keys", {}),
    }
    return (json.dumps(says, ensure_ascii=False) + "\n").encode()


def _listed(special: list[str], n_listed: int | None, not_control: Collection[str]) -> dict[str, Any]:
    """Return the list of special tokens, as many as the file had that they are from if the rest follow from these."""
    n = len(PUBLISHED_SPECIAL) if n_listed is None else n_listed
    if special[n:] != [_numbered(id_) for id_ in range(n, len(special))]:
        n = len(special)
    if n_listed is None and tuple(special[:n]) == PUBLISHED_SPECIAL:
        return {}
    return {
        "special_tokens": [
            {"rank": id_, "token_str": text, "is_control": text not in not_control}
            for id_, text in enumerate(special[:n])
        ]
    }


def _numbered(id_: int) -> str:
    """Return the text of a special token without a name."""
    return f"<SPECIAL_{id_}>"


def _entry(rank: int, token: bytes) -> dict[str, Any]:
    text = token.decode() if byte_symbols.is_utf_8(token) else None
    return {"rank": rank, "token_bytes": b2a_base64(token, newline=False).decode(), "token_str": text}


def _sizes(config: Section) -> tuple[int, int]:
    """Return the number of ids, and of special tokens."""
    size, n_special = (config.take(key, int) for key in ("default_vocab_size", "default_num_special_tokens"))
    if not 0 <= size <= MAX_ID + 1:
        raise FormatError(f"{config.at('default_vocab_size')} is {size}; it must be at most {MAX_ID + 1}")
    if not 0 <= n_special <= size - 256:
        raise FormatError(
            f"{config.at('default_num_special_tokens')}: from 0 to {size - 256} (the 256 bytes are tokens too), "
            f"not {n_special}"
        )
    return size, n_special


def _version(config: Section) -> tuple[str, int]:
    """Return the version as stated, and its number."""
    version = config.take("version", str)
    match = _VERSION.fullmatch(version)
    if match is None:
        raise FormatError(f"{config.at('version')} is {brief(version)}; it must be v and a number")
    return version, int(match[1])


def _special_tokens(listed: list[Any] | None, version: int, n: int) -> Mapping[str, int]:
    """Return all special tokens, text → id, in the order of their ids."""
    if listed is None:
        if version > LAST_UNLISTED:
            raise FormatError(f"special_tokens: missing; files of version {version} list them")
        by_id = dict(enumerate(PUBLISHED_SPECIAL))
    else:
        by_id = {}
        for number, entry in enumerate(listed):
            token = Section(entry, f"special_tokens[{number}]")
            rank, text = token.take("rank", int), token.take("token_str", str)
            token.take("is_control", bool, default=True)
            token.finish()
            if not text or not is_text(text):
                raise FormatError(f"{token.at('token_str')}: {text!a} is not text that a token can have")
            if rank in by_id:
                raise FormatError(f"{token.at('rank')}: {rank} is the rank of a token before it")
            by_id[rank] = text
    if len(by_id) > n or any(not 0 <= rank < len(by_id) for rank in by_id):
        raise FormatError(
            f"special_tokens: {len(by_id)} tokens of ranks {min(by_id)} to {max(by_id)}; the ranks run from 0 on "
            f"without gaps, and config.default_num_special_tokens is {n}"
        )
    by_id |= {id_: _numbered(id_) for id_ in range(len(by_id), n)}
    special: dict[str, int] = {}
    for id_, text in sorted(by_id.items()):
        if special.setdefault(text, id_) != id_:
            raise FormatError(f"special_tokens: the ids {special[text]} and {id_} both have the text {brief(text)}")
    return special


def _tokens(entries: list[Any], n: int) -> list[bytes]:
    """Return the bytes of the first `n` tokens, by rank."""
    if len(entries) < n:
        raise FormatError(
            f"vocab: there are {len(entries)} tokens; config.default_vocab_size requires {n} besides the special ones"
        )
    tokens: list[bytes] = []
    for rank, entry in enumerate(entries[:n]):
        try:
            stated, text = entry["rank"], entry["token_bytes"]
            token = a2b_base64(text, strict_mode=True) if type(text) is str else b""
        except (TypeError, KeyError, Base64Error, ValueError):
            stated, token = None, b""
        if type(stated) is not int or stated != rank or not token:
            raise _wrong_entry(entry, rank)
        tokens.append(token)
    ranks = {token: rank for rank, token in enumerate(reversed(tokens))}
    if len(ranks) < n:
        rank = next(rank for rank, token in enumerate(tokens) if n - 1 - ranks[token] != rank)
        raise FormatError(f"vocab[{n - 1 - ranks[tokens[rank]]}]: the token {tokens[rank]!r} also has rank {rank}")
    byte = next((byte for byte in range(256) if bytes([byte]) not in ranks), None)
    if byte is not None:
        raise FormatError(f"vocab: the byte {byte:#04x} has no token, so some text would have no ids")
    return tokens


def _wrong_entry(entry: object, rank: int) -> FormatError:
    token = Section(entry, f"vocab[{rank}]")
    stated, text = token.take("rank", int), token.take("token_bytes", str)
    if stated != rank:
        return FormatError(f"{token.at('rank')}: tokens are in the order of their ranks, {rank} here, not {stated}")
    return FormatError(f"{token.at('token_bytes')}: not valid base64 of at least one byte: {strict_json.brief(text)}")
