"""Runs a tokenizer.json by tokkit and by tokenizers, and finds where the results differ."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from typing import Any

import tokkit
from pipelines import Json
from reference.decode_stream import text_of_ids
from rival_encodings import said
from standard_error import quiet
from tokkit.errors import TokkitError
from tokkit.formats import tokenizer_json

FAILED = object()
"""What tokenizers gives where it raises or panics: there is nothing to be equal to."""
REFUSED = "refused: "
TOO_SHORT = REFUSED + "OptionError: max_length is "


class Parted(AssertionError):
    """The two give something else; the message says for what."""


def theirs_or_failed(call: Callable[[], Any]) -> Any:
    """Return what a call of tokenizers gives; its panics are no `Exception`."""
    with quiet():
        try:
            return call()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return FAILED


def ours_or_error(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except TokkitError as error:
        return f"{REFUSED}{type(error).__name__}: {error}"


def plainly(encoding: Any, respelt: Callable[[int, str, bytes], str], *, offsets: bool = True) -> Json:
    """All that an encoding says, its tokens in a spelling that both have."""
    told = said(encoding)

    def respell(part: Json, of: Any) -> None:
        surfaces = of.column("surfaces") if isinstance(of, tokkit.Encoding) else [b""] * len(of)
        part["tokens"] = list(map(respelt, part["ids"], part["tokens"], surfaces))
        if not offsets:
            del part["offsets"]
        for more, other in zip(part["overflowing"], of.overflowing, strict=True):
            respell(more, other)

    respell(told, encoding)
    return told


class Both:
    """One tokenizer.json in both libraries."""

    def __init__(self, made: Json) -> None:
        import tokenizers

        self.made = made
        text = json.dumps(made)
        self.theirs = theirs_or_failed(lambda: tokenizers.Tokenizer.from_str(text))
        self.ours: Any = ours_or_error(lambda: tokkit.Tokenizer(tokenizer_json.read(text.encode())))
        vocab = made["model"]["vocab"]
        unigram = isinstance(vocab, list)
        self.by_bytes = not isinstance(self.ours, str) and isinstance(self.ours.definition.model, tokkit.BPE)
        affixes = any(made["model"].get(name) for name in ("continuing_subword_prefix", "end_of_word_suffix"))
        # Bytes of a prefix or suffix that are tokens: tokenizers' offsets are behind the text's end.
        self.offsets = not (affixes and made["model"].get("byte_fallback"))
        # For these tokenizers gives what of the text they stand for, and we the token: known difference.
        self.surfaces = {token["id"] for token in made["added_tokens"]}
        self.surfaces |= {made["model"]["unk_id"]} if unigram else set()

    def mine(self, encoding: Any) -> Json:
        """All that one of our encodings says."""

        def spelling(id_: int, token: str, surface: bytes) -> str:
            if id_ in self.surfaces and surface:
                return surface.decode("utf-8", "backslashreplace")
            return token

        return plainly(encoding, spelling, offsets=self.offsets)

    def yours(self, encoding: Any) -> Json:
        """All that one of tokenizers' encodings says."""
        return plainly(encoding, lambda id_, token, surface: token, offsets=self.offsets)

    def check(self, what: object, ours: Callable[[], Any], theirs: Callable[[], Any]) -> bool:
        """Compare two calls; False where tokenizers fails. We may refuse nothing that it does."""
        wanted = theirs_or_failed(theirs)
        got = ours_or_error(ours)
        # Where special tokens are too long, tokenizers cuts nothing; that is an error of ours by intention.
        if wanted is FAILED or (isinstance(got, str) and got.startswith(TOO_SHORT)):
            return False
        if got != wanted:
            raise Parted(f"{what!r}\n  ours   {shown(got, wanted)}\n  theirs {shown(wanted, got)}")
        return True

    def encodings(
        self, first: Any, second: Any = None, *, pretokenized: bool = False, add_special: bool = True
    ) -> bool:
        """Compare all that the encoding of a text, a pair, or words says."""
        return self.check(
            (first, second, pretokenized, add_special),
            lambda: self.mine(
                self.ours(first, second, special="all", pretokenized=pretokenized, add_special=add_special)
            ),
            lambda: self.yours(
                self.theirs.encode(first, second, is_pretokenized=pretokenized, add_special_tokens=add_special)
            ),
        )

    def batch(self, texts: list[str], pairs: list[str] | None = None) -> bool:
        """Compare a batch, which is filled up to its longest."""
        given = texts if pairs is None else list(zip(texts, pairs, strict=True))
        return self.check(
            given,
            lambda: [self.mine(one) for one in self.ours.encodings(texts, pairs, special="all")],
            lambda: [self.yours(one) for one in self.theirs.encode_batch(given)],
        )

    def decoding(self, ids: list[int]) -> bool:
        """Compare the text of ids, whole, without special tokens, and as a stream gives it."""

        def streamed() -> str:
            stream = self.ours.decode_stream()
            return "".join([*map(stream.step, ids), stream.flush()])

        whole = lambda: self.theirs.decode(ids, skip_special_tokens=False)  # noqa: E731
        return (
            self.check(("decode", ids), lambda: self.ours.decode(ids), whole)
            and self.check(("decode stream", ids), streamed, lambda: text_of_ids(self.ours, ids))
            and self.check(
                ("decode without special tokens", ids),
                lambda: self.ours.decode(ids, skip_special=True),
                lambda: self.theirs.decode(ids, skip_special_tokens=True),
            )
        )

    def padded(self, texts: list[str], pairs: list[str] | None = None) -> None:
        """Compare the arrays of a batch with our own encodings."""
        made = ours_or_error(lambda: self.ours.encodings(texts, pairs, special="all"))
        rows = ours_or_error(lambda: self.ours.encode_padded(texts, pairs, special="all"))
        if isinstance(made, str) or isinstance(rows, str):
            # Rows have one length: of what does not fit in a length that is fixed we say so.
            if isinstance(made, str) != isinstance(rows, str) and "more than the" not in str(rows):
                raise Parted(f"padded {made} {rows}")
            return
        for row, one in enumerate(made):
            n = len(one)
            for name in ("ids", "type_ids", "attention_mask", "special_tokens_mask"):
                found = getattr(rows, name)[row]
                left = self.made["padding"] and self.made["padding"]["direction"] == "Left"
                part = found[len(found) - n :] if left else found[:n]
                if part.tolist() != getattr(one, name):
                    raise Parted(f"padded {name} of {texts[row]!r}: {part.tolist()}, not {getattr(one, name)}")

    def saved(self) -> Both:
        """Return what we write of it, in both."""
        data = tokenizer_json.write(self.ours.definition)
        again = Both(json.loads(data))
        if isinstance(again.ours, str) or again.theirs is FAILED:
            raise Parted(f"what we wrote is not read again: {again.ours if isinstance(again.ours, str) else 'by them'}")
        if again.ours.fingerprint() != self.ours.fingerprint():
            raise Parted("what we wrote has another fingerprint")
        if tokenizer_json.write(again.ours.definition) != data:
            raise Parted("what we wrote is written in another way when read again")
        return again

    def everything(self, rng: random.Random, texts: list[str]) -> bool:
        """Compare all calls on some texts; False where tokenizers refuses the file, or all of them."""
        if self.theirs is FAILED:
            return False
        if isinstance(self.ours, str):
            raise Parted(self.ours)
        ran = [self.encodings(text) for text in texts]
        if self.made["truncation"]:  # pairs overflow in each combination of their parts
            texts = [text[:9] for text in texts]
        for first, second in itertools.pairwise(texts):
            ran.append(self.encodings(first, second))
            ran.append(self.encodings(first.split(), second.split(), pretokenized=True))
            ran.append(self.encodings(first, second, add_special=False))
        ran.append(self.encodings(texts[0].split(" "), pretokenized=True))
        ran.append(self.batch(texts))
        ran.append(self.batch(texts, texts[::-1]))
        self.padded(texts)
        self.padded(texts, texts[::-1])
        known = sorted(self.theirs.get_vocab().values())
        for text in texts[:2]:
            found = theirs_or_failed(lambda text=text: self.theirs.encode(text))
            self.decoding([] if found is FAILED else found.ids)
        self.decoding(rng.choices(known, k=rng.choice((1, 2, 5, 12))))
        again = self.saved()
        again.encodings(texts[0], texts[-1])
        # What the rival makes of our file is what it makes of its own.
        self.check(
            ("saved", texts[0]),
            lambda: theirs_or_failed(lambda: self.yours(again.theirs.encode(texts[0]))),
            lambda: self.yours(self.theirs.encode(texts[0])),
        )
        return any(ran)


def shown(told: Any, other: Any) -> str:
    """What differs, in short."""
    if isinstance(told, dict) and isinstance(other, dict):
        parts = [f"{name}: {shown(told[name], other[name])}" for name in told if told[name] != other[name]]
        return "; ".join(parts)
    if isinstance(told, list) and isinstance(other, list) and len(told) == len(other):
        at = next(i for i, (a, b) in enumerate(zip(told, other, strict=True)) if a != b)
        return f"[{at}] {shown(told[at], other[at])}"
    return repr(told)[:500]
