"""Translates between a tokenizer.json with a BPE model over bytes and the byte-level engine's definition.

Most tokenizers are byte-level BPE: a split, or none, and then each byte as a symbol. The engine in C runs these over
bytes; any other combination of components runs stage by stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tokkit import byte_symbols
from tokkit.decoders.byte_level import ByteLevel as DecoderOfBytes
from tokkit.definition import Definition, Split
from tokkit.errors import FormatError
from tokkit.files import strict_json
from tokkit.files.strict_json import Section
from tokkit.formats import byte_vocabulary, split_patterns, symbol_tables
from tokkit.formats.split_patterns import ONIGURUMA
from tokkit.formats.tables import Merges, Table, listed, spread
from tokkit.pretokenizers import patterns
from tokkit.pretokenizers.byte_level import ByteLevel
from tokkit.pretokenizers.sequence import Sequence as InTurn
from tokkit.pretokenizers.split import Split as SplitByPattern

DROPS = ("Regex", "Removed", False)


class ByteSplit(NamedTuple):
    """A split whose pretokens become byte symbols, and a pattern for symbols that are dropped afterwards."""

    split: Split
    dropped: str | None = None


def split_of(pretokenizer: Any, decoder: Any) -> ByteSplit | None:
    """Return a pretokenizer as a split, if it turns the text into byte symbols; else None."""
    if not isinstance(decoder, DecoderOfBytes):
        return None
    parts: tuple[Any, ...] = (pretokenizer,)
    if isinstance(pretokenizer, InTurn):
        parts = tuple(pretokenizer.pretokenizers)
    dropped = None
    after = parts[-1] if len(parts) > 1 else None
    if isinstance(after, SplitByPattern) and (after.pattern.kind, after.behavior, after.invert) == DROPS:
        dropped, parts = after.pattern.text, parts[:-1]
    if not parts or not isinstance(parts[-1], ByteLevel) or parts[-1].add_prefix_space:
        return None
    *before, last = parts
    if not before:
        return ByteSplit(Split(patterns.BYTE_LEVEL if last.use_regex else None), dropped)
    split = None if last.use_regex else _in_turn(before)
    return None if split is None else ByteSplit(split, dropped)


def _in_turn(splits: Iterable[Any]) -> Split | None:
    splits = tuple(splits)
    if not all(isinstance(part, SplitByPattern) and part.pattern.kind == "Regex" for part in splits):
        return None
    isolated = all(part.behavior == "Isolated" and not part.invert for part in splits)
    texts = tuple(part.pattern.text for part in splits)
    if len(splits) == 1 and (isolated or (splits[0].behavior == "Removed" and splits[0].invert)):
        # The published patterns match all text, so there is no unmatched text.
        return Split(texts[0], keep_unmatched=isolated and texts[0] not in patterns.SCANNERS)
    escaped = tuple(text.replace("\r", r"\r").replace("\n", r"\n") for text in texts)
    published = {of: pattern for pattern, of in patterns.in_files("in turn").items()}
    return Split(published[escaped]) if isolated and escaped in published else None


_TEXT = (str, type(None))
OPTIONS: dict[str, tuple[type, ...]] = {
    "dropout": (float, int, type(None)),
    "unk_token": _TEXT,
    "continuing_subword_prefix": _TEXT,
    "end_of_word_suffix": _TEXT,
    "fuse_unk": (bool,),
    "byte_fallback": (bool,),
}
"""Options that have no effect in a model over bytes, where nothing is unknown."""


def has_options(model: Section) -> bool:
    """Return whether a BPE model has options that the byte-level engine does not support."""
    return any(model.peek(name) not in (None, "", 0, False) for name in OPTIONS if name != "unk_token")


def read(model: Section, vocab: Table, by_bytes: ByteSplit, around: Mapping[str, Any]) -> Definition | None:
    """Return the definition of a model over bytes; None, without reading any key, for another model.

    `around` are the other fields of the definition, with its added tokens.

    A model is over bytes if its tokens consist of byte symbols, every byte that can occur in text and is not dropped
    has a token, and no added token is among the tokens.
    """
    texts = {token.content: token.id for token in around["added_tokens"]}
    known = [token.content for token in around["added_tokens"] if token.id not in around["added_ids"]]
    own = symbol_tables.own_bytes(vocab, known)
    if own is None or _dropping(byte_symbols.missing_bytes(own[0][0], spread(own[0][1], own[1]))) != by_bytes.dropped:
        return None
    merges = model.peek("merges")
    packed = merges if isinstance(merges, Merges) else Merges.of(strict_json.typed(merges, "model.merges", list))
    found = vocab.find_merges(packed)
    if symbol_tables.uses(found, vocab, known) if found is not None else _use(merges, vocab, known):
        return None
    if by_bytes.dropped is not None and model.peek("ignore_merges"):  # the rest of a pretoken may be a token
        return None
    whole_piece = model.take("ignore_merges", bool, default=False)
    for name, types in {**OPTIONS, "merges": ()}.items():
        model.take(name, *types, default=None)
    model.finish()
    in_turn = merges_in_turn(merges)
    given = {
        "whole_piece": whole_piece,
        "split": by_bytes.split,
        "path": "model.vocab",
        "drops_unknown": True,
        "given": around,
    }
    return symbol_tables.read(vocab, in_turn, texts, own=own, found=found, **given)


def _use(merges: Any, vocab: Table, texts: Iterable[str]) -> bool:
    """Return whether one of the file's merges joins or makes one of these texts."""
    tokens = {text for text in texts if vocab.find(text) >= 0}
    return bool(tokens) and not all(tokens.isdisjoint((a, b, a + b)) for _, a, b in merges_in_turn(merges))


def merges_in_turn(merges: Any) -> Iterator[tuple[str, str, str]]:
    """Yield (where, left, right) of each merge of a list, which is "a b" or ["a", "b"]."""
    for index, merge in enumerate(listed(merges, "model.merges")):
        parts = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(p, str) and p for p in parts):
            shown = strict_json.brief(merge)
            raise FormatError(f'model.merges[{index}]: two tokens are needed, such as "a b" or ["a", "b"], not {shown}')
        yield f"model.merges[{index}]", parts[0], parts[1]


def _dropping(missing: Iterable[int]) -> str | None:
    """Return a pattern for the symbols of bytes that can occur in text but have no token; None if there are none."""
    lost = [byte_symbols.SYMBOLS[byte] for byte in missing if byte not in byte_symbols.NEVER_IN_UTF8]
    if not lost:
        return None
    from tokkit.formats.charsmap_steps import class_of

    return class_of(lost)


def write_pretokenizer(definition: Definition) -> dict[str, Any]:
    """Return the pretokenizer of byte-level BPE, as JSON data.

    A byte without a token is dropped, and nothing merges across it. In tokenizers its neighbours would become adjacent,
    so a second split, after the one into bytes, removes it there.
    """
    split: Any = definition.pretokenizer
    dropped = _dropping(byte_vocabulary.dropped_bytes(definition))
    made = _write_split(split)
    if dropped is None:
        return made
    if not byte_vocabulary.merges_make_all(definition) and byte_vocabulary.merge_list(definition)[1]:
        raise FormatError("some bytes have no token, and the rest of a pretoken without them may be a whole token")
    parts = made.get("pretokenizers", [made])
    return {"type": "Sequence", "pretokenizers": [*parts, _split(dropped, "Removed")]}


def _split(pattern: str, behavior: str, *, invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def _write_split(split: Split) -> dict[str, Any]:
    family = patterns.SCANNERS.get(split.pattern)
    splits = family == patterns.SCANNERS[patterns.BYTE_LEVEL]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": splits}
    if split.pattern is None or splits:
        return byte_level
    keep = split.keep_unmatched or family is not None
    texts = patterns.in_files("in turn").get(split.pattern) or (split_patterns.write(split.pattern, ONIGURUMA),)
    by_pattern = [_split(text, "Isolated" if keep else "Removed", invert=not keep) for text in texts]
    return {"type": "Sequence", "pretokenizers": [*by_pattern, byte_level]}
