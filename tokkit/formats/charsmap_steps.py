"""Writes a SentencePiece charsmap as normalizers of a tokenizer.json that change every text alike.

SentencePiece replaces the longest rule at each place. The component Precompiled looks at grapheme clusters instead, and
drops marks on a character that has a rule. Therefore markers are inserted first: one where a rule of several characters
continues, another after each character that has a rule and before each that could join others. Precompiled then sees
each character by itself; the markers of the first kind are removed, NFC composes the characters that are now adjacent,
and the other markers are removed. A third marker distinguishes marker characters that are in the text itself.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import itertools
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from tokkit.normalizers.charsmap_builder import compile_rules, decompile
from tokkit.normalizers.longest_rules import MARKER, LongestRules
from tokkit.normalizers.precompiled import Precompiled
from tokkit.normalizers.replace import Replace
from tokkit.normalizers.sentencepiece_rules import charsmap as named_charsmap
from tokkit.normalizers.unicode import NFC
from tokkit.unicode_regex.code_points import category

JOINED, APART, ITSELF, DOUBLED = (MARKER + end for end in "\ufdd1\ufdd2\ufdd3\ufdd4")
"""Markers: a rule continues, nothing may be joined, a marker character of the text, after a double. They are
noncharacters of Unicode, so that nothing composes with them and no rule contains them."""
_FEW, _N_SINGLE = 1000, 5
"""Maximum number of rules of several characters that get one step each; and the steps of a map without any."""
_SEPARATOR, _SAMPLES = "\0", 3000
_SCALARS = (*range(0x80, 0xD800), *range(0xE000, 0x30000))
_VOWELS_AND_TAILS = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))
"""Hangul letters that join what is before them."""
_NEW_COMPOSITIONS = "\U00010000"
"""Compositions from here on may be newer than Unicode 9, which tokenizers has."""


class Known(NamedTuple):
    """A map as normalizers, and what its rules do to spaces and to characters that they delete."""

    steps: tuple[Any, ...] | None
    """The normalizers, None if none are known that do the same."""
    deletes: bool
    made_of_runs: tuple[str, ...]
    """Characters that become a text with several adjacent spaces."""
    samples: tuple[str, ...]
    """Some of the texts that have rules."""


@functools.lru_cache(maxsize=16)
def known(charsmap: bytes) -> Known:
    """Return a map as normalizers; a map of all compositions of Unicode takes a second."""
    pairs = decompile(charsmap)
    return Known(
        _steps(dict(pairs)),
        any(not value for _, value in pairs),
        tuple(key for key, value in pairs if "  " in value),
        tuple(key for key, _ in pairs[:: max(1, len(pairs) // _SAMPLES)]),
    )


def steps_of(charsmap: bytes) -> tuple[Any, ...] | None:
    """Return normalizers that do what SentencePiece does with a map; None where they are not known."""
    return known(charsmap).steps


def _steps(rules: Mapping[str, str]) -> tuple[Any, ...] | None:
    characters = set("".join(rules)) | set("".join(rules.values()))
    if not characters.isdisjoint(JOINED + APART + ITSELF + DOUBLED):
        return None
    single = {key: value for key, value in rules.items() if len(key) == 1}
    several = {key: value for key, value in rules.items() if len(key) > 1}
    if not several:
        return (*_escaped(), _mark(f"(?<={class_of(single)})", APART), _map(single), *_unescaped())
    if len(several) < _FEW:
        return _replaced_in_turn(single, several)
    new = {key: value for key, value in several.items() if max(value, default="") >= _NEW_COMPOSITIONS}
    composed = {key: value for key, value in several.items() if key not in new}
    plain = _unfolded(single, composed)
    return None if plain is None else _composed(single, plain, composed, new)


def _escaped() -> list[Any]:
    return [Replace({"String": MARKER}, ITSELF)]


def _unescaped() -> list[Any]:
    return [Replace({"String": APART}, ""), Replace({"String": ITSELF}, MARKER)]


def _mark(pattern: str, marker: str) -> Replace:
    return Replace({"Regex": pattern}, marker)


def _map(single: Mapping[str, str]) -> Precompiled:
    return Precompiled(compile_rules(single))  # type: ignore[arg-type]


def class_of(characters: Iterable[str]) -> str:
    """Return a class of characters for a regular expression, in ranges."""
    parts: list[str] = []
    points = sorted(map(ord, characters))
    first = last = points[0]
    for point in [*points[1:], -1]:
        if point == last + 1:
            last = point
            continue
        parts.append(_escape(first) + (f"-{_escape(last)}" if last > first else ""))
        first = last = point
    return f"[{''.join(parts)}]"


def _escape(point: int) -> str:
    if point < 0x20 or point == 0x7F:
        return f"\\x{point:02x}"
    return ("\\" if chr(point) in "\\[]^-&~|" else "") + chr(point)


def _replaced_in_turn(single: Mapping[str, str], several: Mapping[str, str]) -> tuple[Any, ...] | None:
    """Return steps for a few rules of several characters; None if two could overlap, and the first would count.

    Each match is replaced by a placeholder first, so that no rule matches the result of another.
    """
    for key, other in itertools.permutations(several, 2):
        if any(other.startswith(key[at:]) and len(other) > len(key) - at for at in range(1, len(key))):
            return None
    known = set("".join((*single, *single.values(), *several, *several.values())))
    free = (MARKER + c for c in map(chr, range(0xF0000, 0x10FFFE)) if c not in known)
    by_length = dict(zip(sorted(several, key=lambda key: (-len(key), key)), free, strict=False))
    return (
        *_escaped(),
        *(Replace({"String": key}, place) for key, place in by_length.items()),
        *([_mark(f"(?<={class_of(single)})", APART), _map(single)] if single else []),
        *(Replace({"String": place}, several[key]) for key, place in by_length.items()),
        *_unescaped(),
    )


def _unfolded(single: Mapping[str, str], composed: Mapping[str, str]) -> Mapping[str, str] | None:
    """Return rules of one character that, with NFC and then those of the map, make what all its rules make.

    They are the map's own; or those without case folding, where what is composed is folded afterwards.
    """
    if _made_by(composed, single) == _SEPARATOR.join(composed.values()):
        return single
    for name in ("nfkc", "nmt_nfkc"):
        plain = {key: value for key, value in decompile(named_charsmap(name)) if len(key) == 1}
        fold = _table(single)
        folds = all(c in single and value.translate(fold) == single[c] for c, value in plain.items())
        if folds and _made_by(composed, plain).translate(fold) == _SEPARATOR.join(composed.values()):
            return plain
    return None


def _table(single: Mapping[str, str]) -> dict[int, str]:
    return {ord(c): value for c, value in single.items()}


def _made_by(keys: Iterable[str], single: Mapping[str, str]) -> str:
    """Return what rules of one character and NFC make of keys; what is between them joins with nothing."""
    return unicodedata.normalize("NFC", _SEPARATOR.join(keys).translate(_table(single)))


def _composed(
    single: Mapping[str, str], plain: Mapping[str, str], composed: Mapping[str, str], new: Mapping[str, str]
) -> tuple[Any, ...] | None:
    """Return steps for rules of several characters that compose, as NFC does, what those of one character make."""
    if any(len(key) > 2 and key[:-1] not in composed and key[:-1] not in new for key in composed):
        return None
    joins = {c for key in (*composed, *new) for c in key[1:]}
    if {key[0] for key in composed} & joins or not _leaves_nothing_to_nfc({*single, *plain}, plain.values()):
        return None
    combining = _combining()
    before = joins | combining | {c for c, value in single.items() if value[:1] in joins | combining}
    folds = plain is not single
    # What is composed may have a rule to be folded by: it is separate from what follows too.
    keys = {*single, *plain, *(joins if folds else ())}
    # Nothing is put in at the start of a text, where tokenizers would lose count of the characters.
    apart = f"(?:(?<={class_of(keys)})|(?={class_of(before)}))(?<=[^{JOINED[1]}])(?!{MARKER})"
    return (
        *_escaped(),
        *_new_compositions(new),
        _mark(_joints(composed), JOINED),
        _mark(apart, APART),
        _map(plain),
        Replace({"String": JOINED}, ""),
        NFC(),
        *([_map(single)] if folds else []),
        *_unescaped(),
    )


def _leaves_nothing_to_nfc(keys: Collection[str], values: Iterable[str]) -> bool:
    """Return whether NFC keeps each value, and each character that no rule is for."""
    kept = all(unicodedata.is_normalized("NFC", value) for value in values)
    return kept and all(c in keys for c in map(chr, _SCALARS) if not unicodedata.is_normalized("NFC", c))


def _combining() -> set[str]:
    """Return what NFC may join to what is before it."""
    marks = category("M")
    return {*map(chr, _VOWELS_AND_TAILS), *(map(chr, marks.points()) if marks is not None else ())}


def _joints(keys: Iterable[str]) -> str:
    """Return a pattern that matches, without a character, where one of the keys goes on."""
    before: dict[str, set[str]] = defaultdict(set)
    for key in keys:
        before[key[-1]].add(key[:-1])
    alike: dict[frozenset[str], list[str]] = defaultdict(list)
    for last, contexts in before.items():
        alike[frozenset(contexts)].append(last)
    ways = []
    for shared, lasts in alike.items():
        by_rest: dict[str, set[str]] = defaultdict(set)
        for context in shared:
            by_rest[context[1:]].add(context[0])
        by_first: dict[frozenset[str], set[str]] = defaultdict(set)
        for rest, firsts in by_rest.items():
            by_first[frozenset(firsts)].add(rest)
        for begins, rests in by_first.items():
            ones = [rest for rest in rests if len(rest) == 1]
            longer = [f"(?<={class_of(begins)}{rest})" for rest in sorted(rests) if len(rest) != 1]
            longer += [f"(?<={class_of(begins)}{class_of(ones)})"] if ones else []
            ways += [f"{look_behind}(?={class_of(lasts)})" for look_behind in longer]
    return f"(?={class_of(before)})(?:{'|'.join(sorted(ways))})"


def _new_compositions(rules: Mapping[str, str]) -> list[Replace]:
    """Return steps for compositions that no NFC has to know, so that each finds what the longest at its place would.

    Rules that begin with what goes on nowhere are first, the longest first. Then come doubles, which pair from the left
    and are marked, so that what a rule adds to them is found; then the others.
    """
    joins = {c for key in rules for c in key[1:]}
    by_length = sorted(rules, key=lambda key: (-len(key), key))
    doubles = [key for key in by_length if len(key) == 2 and key[0] == key[1]]
    starters = [key for key in by_length if key[0] not in joins]
    longer = [(double, key) for double in doubles for key in by_length if key[:2] == double and len(key) > 2]
    done = {*doubles, *starters, *(key for _, key in longer)}
    pairs = [(key, rules[key]) for key in starters]
    pairs += [(double, rules[double] + DOUBLED) for double in doubles if double not in starters]
    pairs += [(rules[double] + DOUBLED + key[2:], rules[key]) for double, key in longer]
    pairs += [(DOUBLED, ""), *((key, rules[key]) for key in by_length if key not in done)]
    return [Replace({"String": key}, value) for key, value in pairs] if rules else []


# ---- reading

_KNOWN = {
    "4402903f6f9d021fd74d270194af8abd0511ed4827116ff7756ab687d344acd2": "nmt_nfkc",
    "b174936d339269676319a5114102160747ceb86381bc89da8beafa16c446b1cb": "nfkc",
    "008745d3ab8eb825773c9fd67b155e450e89ec2f066ce36cb050efac90c1e358": "nmt_nfkc_cf",
    "e76b8e609ad3928846c7c8cfd7874424f0690b68ae072561072d399097afb779": "nfkc_cf",
}
"""sha256 of the steps of a map → the name of its normalization."""


def _digest(steps: Iterable[Any]) -> str:
    said = hashlib.sha256()
    for step in steps:
        fields = {name: getattr(step, name, "") for name in ("pattern", "content", "precompiled_charsmap")}
        said.update(f"{type(step).__name__}{[*fields.values()]!r}\n".encode())
    return said.hexdigest()


def rules_of(steps: tuple[Any, ...]) -> LongestRules | None:
    """Return the rules whose steps these are, None where they are not known."""
    if not steps or steps[0] != _escaped()[0]:
        return None
    if name := _KNOWN.get(_digest(steps)):
        return LongestRules(named_charsmap(name))
    if len(steps) == _N_SINGLE and isinstance(steps[2], Precompiled):
        charsmap = base64.b64decode(steps[2].precompiled_charsmap)
        if steps_of(charsmap) == steps:
            return LongestRules(charsmap)
    return None
