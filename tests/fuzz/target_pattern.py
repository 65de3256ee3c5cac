"""A split pattern, and texts below it: the automaton cuts them as `regex` does, or is refused as not regular.

By both rules for what no match covers, some ends at a time; and a stream of the text gives the ids of the whole.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import mutate
import patterns
import tokkit
from reference.stretches import stretches
from tokenizer_checks import parts_of, streamed
from tokkit.errors import TokkitError
from tokkit.unicode_regex.compile import compile_pattern
from tokkit.unicode_regex.tree import NotRegular

BYTES = tokkit.Vocab.from_list([*(bytes([byte]) for byte in range(256)), b"ab", b"  ", b"a1"])
MAX_TEXT = 200
SECONDS = 1.0


def change(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Change the pattern, the texts, or put a pattern of chance, whole or as a group, in its place."""
    source, _, text = data.decode("utf-8", "replace").partition("\n")
    kind = rng.randrange(6)
    if kind == 0:
        source = patterns.any_case(rng)
    elif kind == 1:
        source = rng.choice((f"(?:{source})", source)) + rng.choice(("", "|", "+", "?")) + patterns.pattern(rng, 1)
    elif kind == 2:
        source = other.decode("utf-8", "replace").partition("\n")[0] + rng.choice(("", "|")) + source
    elif kind == 3:
        text = patterns.text(rng) + text
    elif kind == 4:
        text = mutate.of_text(rng, text, ())
    else:
        source = mutate.of_text(rng, source, words)
    return "\n".join((source.replace("\n", ""), text)).encode("utf-8", "replace")


CHANGE = mutate.one_of(change)


def regex_is_wrong(source: str) -> bool:
    r"""Tell whether a negated set may hold a class and its complement, as [^\s\S]: regex takes it for any character."""
    return "[^" in source and any(f"\\{c}" in source and f"\\{c.upper()}" in source for c in "sdwhp")


def check(data: bytes) -> None:
    source, _, text = data.decode("utf-8", "replace").partition("\n")
    if regex_is_wrong(source):
        return
    text = text[:MAX_TEXT]
    rng = random.Random(data)
    for keep in (False, True):
        try:
            compiled = compile_pattern(source, keep_unmatched=keep)
            expected = stretches(source, text, keep_unmatched=keep, seconds=SECONDS)
        except (NotRegular, TimeoutError):
            continue
        except TokkitError:
            continue
        ends, dropped = compiled.scan(text, rng.choice((1, 2, 3, 256)))
        assert list(zip(ends.tolist(), dropped.tolist(), strict=True)) == expected, (source, text, keep)
        split = tokkit.Split(source, keep_unmatched=keep)
        tok = tokkit.Tokenizer(tokkit.Definition(vocab=BYTES, model=tokkit.BPE(), pretokenizer=split))
        long = text * rng.choice((1, 1, 1, 200))
        assert streamed(tok, parts_of(long, rng), "text") == tok.encode(long), (source, text, keep)
