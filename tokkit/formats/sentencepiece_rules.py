"""The rules of a SentencePiece model as components of a tokenizer.json: spaces, special tokens, sums of scores."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.formats import charsmap_steps
from tokkit.formats.differences import Rule
from tokkit.models.sentencepiece import BYTE, NORMAL, SPACE, USER_DEFINED, SentencePieceModel, SentencePieceNormalizer
from tokkit.normalizers.longest_rules import LongestRules
from tokkit.normalizers.precompiled import Precompiled
from tokkit.normalizers.prepend import Prepend
from tokkit.normalizers.replace import Replace
from tokkit.pretokenizers.split import Split

MARK = SPACE.decode()
_ANY = "[\\x00-\U0010ffff]"
ESCAPE = Replace({"String": " "}, MARK)
UNKNOWN_PENALTY = 10.0
"""Score of an unknown character below the lowest score, in sentencepiece and tokenizers."""
EXACT_CHARACTERS = 30_000
"""Texts of up to this length must have equal sums of scores in single and double precision; else `sums_differ`."""
_FLOAT_BITS = 24

# ---- normalizer


def normalizer_steps(rules: SentencePieceNormalizer, symbols: Sequence[str] = ()) -> tuple[list[Any], list[Rule]]:
    """Return normalizers for a model's rules, and the rules for which they are not exactly equivalent.

    They do not join the end of one of the `symbols` and what follows.
    """
    steps: list[Any] = []
    differ: list[Rule] = []
    deletes = False
    if rules.charsmap:
        map_ = charsmap_steps.known(rules.charsmap)
        if map_.steps is None:
            what = "rules of the charsmap are applied to grapheme clusters, not to the longest text at each place"
            texts = (text for key in map_.samples for text in (key, f"{key}\u0301", f"a{key}\u0316b"))
            differ.append(Rule(what, texts))
            steps.append(Precompiled(rules.charsmap))  # type: ignore[arg-type]
        elif symbols and (around := charsmap_steps.steps_around(rules.charsmap, tuple(symbols))):
            steps += around
        else:
            steps.append(LongestRules(rules.charsmap))
        deletes = map_.deletes
        if rules.remove_extra_whitespaces and map_.made_of_runs:
            differ.append(Rule("several spaces from one rule of the charsmap become one space", map_.made_of_runs))
    prefix = rules.add_dummy_prefix
    if not rules.remove_extra_whitespaces:
        if prefix and deletes:
            # Even a text that becomes empty by the rules gets a space before it.
            return [Prepend(" "), *steps, ESCAPE], differ
        return [*steps, *([Prepend(MARK)] if prefix else []), ESCAPE], differ
    # With a space added before the text, the spaces at its start become a run inside.
    steps += [Prepend(" ")] if prefix else []
    steps.append(Replace({"Regex": " {2,}"}, " "))
    steps += [] if prefix else [Replace({"Regex": f"(?<!{_ANY}) "}, "")]
    return [*steps, ESCAPE, Replace({"Regex": rf"{MARK}+(?![\s\S])"}, "")], differ


# ---- special tokens in text


class Unreachable:
    """Prevents the texts of special tokens from becoming them: steps, a pretokenizer, scores; or rules that differ."""

    def __init__(self, model: SentencePieceModel, scores: NDArray[np.float64]) -> None:
        self.steps: list[Replace] = []
        self.pretokenizer: Split | None = None
        self.rules: list[Rule] = []
        self.scores = scores
        self._pieces = pieces = [piece.decode() for piece in model.pieces]
        normal = {pieces[id_]: id_ for id_ in model.ids_of(NORMAL)}
        special = [id_ for id_ in range(len(pieces)) if model.types[id_] not in (NORMAL, USER_DEFINED)]
        bytes_ = set(model.ids_of(BYTE))
        stand_in = _unused("".join(pieces))
        splits: dict[str, None] = {}
        shown = []
        for id_ in special:
            text = pieces[id_]
            if model.kind != "unigram" and len(text) > 1:
                continue  # merges only make normal pieces
            unknown = next((at for at, c in enumerate(text) if c not in normal), None)
            if unknown is None:
                # Split into characters, it has a higher score.
                scores[id_] = sum(scores[normal[c]] for c in text) - 1
            elif not model.byte_fallback:
                self.steps.append(Replace({"Regex": _around(text, unknown, is_byte=False)}, stand_in))
            elif len(text) > 1:
                # An unknown character becomes bytes, so no piece contains it.
                splits.setdefault(_around(text, unknown, is_byte=id_ in bytes_))
            else:
                shown.append(text)
        self._splits = splits
        self.isolate(())
        if shown:
            what = f"tokenizers encodes the text of the special token {shown[0]!r} as this token, not as bytes"
            self.rules.append(Rule(what, shown))

    def isolate(self, symbols: Iterable[str]) -> None:
        """Make each of these user-defined pieces a pretoken of its own, which always is that piece."""
        ids = {piece: id_ for id_, piece in enumerate(self._pieces)}
        above_all = max(0.0, float(self.scores.max())) + 1
        for symbol in symbols:
            self.scores[ids[symbol]] = above_all
        patterns = [*map(charsmap_steps.literal, sorted(symbols, key=lambda text: (-len(text), text))), *self._splits]
        if patterns:
            self.pretokenizer = Split({"Regex": "|".join(patterns)}, "Isolated")


def _around(text: str, at: int, *, is_byte: bool) -> str:
    """Return a pattern for the character at `at` of a text; digits of byte tokens are interchangeable."""
    places = [charsmap_steps.literal(c) for c in text]
    if is_byte:
        places[3:5] = [places[k] if k == at else "[0-9A-F]" for k in (3, 4)]
    before, behind = "".join(places[:at]), "".join(places[at + 1 :])
    return (f"(?<={before})" if before else "") + places[at] + (f"(?={behind})" if behind else "")


def _unused(text: str) -> str:
    """Return a character that is in no token, and therefore unknown."""
    known = set(text)
    return next(c for c in map(chr, range(0xF0000, 0x10FFFE)) if c not in known)


def without_characters(model: SentencePieceModel) -> list[str]:
    """Return the normal pieces that contain a character without its own piece, because its score competes with them."""
    normal = [model.pieces[id_].decode() for id_ in model.ids_of(NORMAL)]
    alone = {piece for piece in normal if len(piece) == 1}
    return [piece for piece in normal if not alone.issuperset(piece)]


# ---- scores


def exact_characters(scores: NDArray[np.float64]) -> int:
    """Return the maximum length of a text, in characters, for which sums of scores are exact in single precision.

    A text has at most one token per character, and no token has a lower score than an unknown character. Sums of
    multiples of a power of two are exact as long as they are below 2**24 multiples.
    """
    if not len(scores):
        return 0
    worst = float(np.abs(scores).max()) + UNKNOWN_PENALTY
    for bits in range(_FLOAT_BITS):
        scaled = np.ldexp(scores, bits)
        if np.array_equal(scaled, np.rint(scaled)):
            return int(2.0 ** (_FLOAT_BITS - bits) / worst)
    return 0


def sums_differ(pieces: Sequence[str]) -> Rule:
    """Return the rule that sums of scores are rounded differently."""
    what = (
        "scores add up in double precision in a tokenizer.json and in single precision in a .model, so that "
        "segmentations which are almost as good come out otherwise"
    )
    return Rule(what, _near_ties(pieces))


def _near_ties(pieces: Sequence[str]) -> Iterator[str]:
    """Yield texts with several segmentations that are about as good: repeated pieces, runs, the longest words."""
    short = [piece.replace(MARK, " ") for piece in pieces if 1 <= len(piece) <= 4]
    yield from (text * n for text in short[:400] for n in (2, 3, 5, 7, 11))
    yield from (a + b + a + b for a, b in itertools.pairwise(short[:4000]))
    whole = [piece.replace(MARK, " ") for piece in pieces]
    yield from ("".join(whole[at : at + 40]) for at in range(0, len(whole) - 40, 40))


# ---- what components say


def flat(given: Any) -> list[Any]:
    """Return the steps of a normalizer."""
    if given is None:
        return []
    parts: Iterable[Any] = getattr(given, "normalizers", [given])
    return list(parts)
