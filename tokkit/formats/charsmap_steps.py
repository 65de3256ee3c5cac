"""Writes a SentencePiece charsmap as normalizers of a tokenizer.json that have the same effect on every text.

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
"""Markers for: a rule continues; nothing may be joined; a marker character of the text itself; after a double.

They are Unicode noncharacters, so nothing composes with them and no rule contains them.
"""
_FEW, _N_SINGLE = 1000, 5
"""Maximum number of rules of several characters that get one step each, and of steps for other maps."""
_SEPARATOR, _SAMPLES = "\0", 3000
_SCALARS = (*range(0x80, 0xD800), *range(0xE000, 0x30000))
_VOWELS_AND_TAILS = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))
"""Hangul letters that join the character before them."""
_NEW_COMPOSITIONS = "\U00010000"
"""Compositions from here on may be newer than Unicode 9, which tokenizers uses."""


class Known(NamedTuple):
    """A map as normalizers, and the effect of its rules on spaces and deleted characters."""

    steps: tuple[Any, ...] | None
    """The normalizers, None if no equivalent ones are known."""
    deletes: bool
    made_of_runs: tuple[str, ...]
    """Characters that become a text with several adjacent spaces."""
    samples: tuple[str, ...]
    """Examples of texts that have rules."""


@functools.lru_cache(maxsize=16)
def known(charsmap: bytes) -> Known:
    """Return a map as normalizers; this takes a second for a map with all compositions of Unicode."""
    rules = rules_in(charsmap)
    return Known(
        _steps(rules),
        not all(rules.values()),
        tuple(key for key, value in rules.items() if "  " in value),
        tuple(rules)[:: max(1, len(rules) // _SAMPLES)],
    )


@functools.lru_cache(maxsize=4)
def rules_in(charsmap: bytes) -> Mapping[str, str]:
    """Return the rules of a map, text → replacement."""
    return dict(decompile(charsmap))


def steps_of(charsmap: bytes) -> tuple[Any, ...] | None:
    """Return normalizers with the effect of a map in SentencePiece; None if they are not known."""
    return known(charsmap).steps


@functools.lru_cache(maxsize=16)
def steps_around(charsmap: bytes, symbols: tuple[str, ...]) -> tuple[Any, ...] | None:
    """Return the steps of a map whose rules do not join the end of a symbol and what follows; None if not known."""
    return _steps(rules_in(charsmap), symbols)


def _steps(rules: Mapping[str, str], symbols: tuple[str, ...] = ()) -> tuple[Any, ...] | None:
    if not rules:
        return ()
    characters = set("".join(rules)) | set("".join(rules.values()))
    if not characters.isdisjoint(JOINED + APART + ITSELF + DOUBLED):
        return None
    single = {key: value for key, value in rules.items() if len(key) == 1}
    several = {key: value for key, value in rules.items() if len(key) > 1}
    if not several:
        return (*_escaped(), _mark(f"(?<={class_of(single)})", APART), _map(single), *_unescaped())
    if len(several) < _FEW:
        return None if symbols else _replaced_in_turn(single, several)
    new = {key: value for key, value in several.items() if max(value, default="") >= _NEW_COMPOSITIONS}
    composed = {key: value for key, value in several.items() if key not in new}
    plain = _unfolded(single, composed)
    if plain is None or {key[0] for key in new} & {symbol[-1] for symbol in symbols}:
        return None
    return _composed(single, plain, composed, new, symbols)


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


def literal(text: str) -> str:
    """Return a pattern that matches only this text."""
    return "".join("\\" * (c in "\\[](){}|.?*+^$") + c for c in text)


def _escape(point: int) -> str:
    if point < 0x20 or point == 0x7F:
        return f"\\x{point:02x}"
    return ("\\" if chr(point) in "\\[]^-&~|" else "") + chr(point)


def _replaced_in_turn(single: Mapping[str, str], several: Mapping[str, str]) -> tuple[Any, ...] | None:
    """Return steps for a few rules of several characters; None if two could overlap, because the first would win.

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
    """Return rules of one character that, followed by NFC and the map's rules, have the effect of all rules.

    They are the map's own rules, or those without case folding if composed characters are folded afterwards.
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
    """Return the result of one-character rules and NFC for each key; the separators between keys join with nothing."""
    return unicodedata.normalize("NFC", _SEPARATOR.join(keys).translate(_table(single)))


def _composed(
    single: Mapping[str, str],
    plain: Mapping[str, str],
    composed: Mapping[str, str],
    new: Mapping[str, str],
    symbols: tuple[str, ...],
) -> tuple[Any, ...] | None:
    """Return steps for rules of several characters that compose, as NFC does, the results of one-character rules."""
    if any(len(key) > 2 and key[:-1] not in composed and key[:-1] not in new for key in composed):
        return None
    joins = {c for key in (*composed, *new) for c in key[1:]}
    if {key[0] for key in composed} & joins or not _leaves_nothing_to_nfc({*single, *plain}, plain.values()):
        return None
    combining = _combining()
    before = joins | combining | {c for c, value in single.items() if value[:1] in joins | combining}
    folds = plain is not single
    # A composed character may have a case folding rule, so it is also separated from what follows.
    keys = {*single, *plain, *(joins if folds else ())}
    after_none = "".join(f"(?<!{literal(symbol)})" for symbol in symbols)
    # Nothing is inserted at the start of a text, where tokenizers would get alignments wrong.
    apart = f"(?:(?<={class_of(keys)})|(?={class_of(before)}))(?<=[^{JOINED[1]}])(?!{MARKER})"
    return (
        *_escaped(),
        *_new_compositions(new),
        _mark(after_none + _joints(composed), JOINED),
        _mark(apart, APART),
        _map(plain),
        Replace({"String": JOINED}, ""),
        NFC(),
        *([_map(single)] if folds else []),
        *_unescaped(),
    )


def _leaves_nothing_to_nfc(keys: Collection[str], values: Iterable[str]) -> bool:
    """Return whether NFC keeps each value, and each character without a rule."""
    kept = all(unicodedata.is_normalized("NFC", value) for value in values)
    return kept and all(c in keys for c in map(chr, _SCALARS) if not unicodedata.is_normalized("NFC", c))


def _combining() -> set[str]:
    """Return the characters that NFC may join to the character before them."""
    marks = category("M")
    return {*map(chr, _VOWELS_AND_TAILS), *(map(chr, marks.points()) if marks is not None else ())}


def _joints(keys: Iterable[str]) -> str:
    """Return a pattern with an empty match wherever one of the keys continues."""
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
    """Return steps for compositions that NFC does not know, equivalent to the longest match at each position.

    Rules whose first character never continues another rule come first, the longest first. Then come doubles, which
    pair from the left and are marked, so that rules that extend them are found; then the others.
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
    """Return the rules that these steps express, None if they are not known."""
    if not steps or steps[0] != _escaped()[0]:
        return None
    if name := _KNOWN.get(_digest(steps)):
        return LongestRules(named_charsmap(name))
    if len(steps) == _N_SINGLE and isinstance(steps[2], Precompiled):
        charsmap = base64.b64decode(steps[2].precompiled_charsmap)
        if steps_of(charsmap) == steps:
            return LongestRules(charsmap)
    return None
