"""Writes classic BPE, whose end-of-word mark is a separate symbol, as components of tokenizers.

In tokenizers, a suffix is part of a word's last character. Therefore a special character stands for the end of words: a
normalizer adds it after each word, and words are split after it.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from tokkit._core.encode.staged import kinds_of
from tokkit.decoders.bpe import BPE as BPEDecoder
from tokkit.definition import Definition
from tokkit.errors import FormatError
from tokkit.formats.charsmap_steps import class_of
from tokkit.models.char_bpe import CharBPE
from tokkit.normalizers.replace import Replace
from tokkit.normalizers.sequence import Sequence as Normalizers
from tokkit.pretokenizers.bert import Bert
from tokkit.pretokenizers.sequence import Sequence as Pretokenizers
from tokkit.pretokenizers.split import Split
from tokkit.pretokenizers.whitespace_split import WhitespaceSplit
from tokkit.unicode_regex import code_points
from tokkit.vocab import Vocab

END_OF_WORD = "</w>"


def spelt(definition: Definition) -> Definition:
    """Return the definition with a character instead of the suffix; FormatError if ids would differ."""
    model: Any = definition.model
    punctuation = isinstance(definition.pretokenizer, Bert)
    if not punctuation and not isinstance(definition.pretokenizer, WhitespaceSplit):
        raise _refusal(model, f"words are cut by {type(definition.pretokenizer).__name__}")
    texts = [token.decode() for token in definition.vocab]
    known = set("".join(texts))
    end, other = [c for c in map(chr, range(0xE000, 0xF900)) if c not in known][:2]
    for id_ in _with_end(model, definition.vocab):
        texts[id_] = texts[id_].removesuffix(model.end_of_word_suffix) + end
    given = definition.normalizer
    return replace(
        definition,
        vocab=Vocab.from_list(text.encode() for text in texts),
        model=replace(model, end_of_word_suffix=None, suffix_apart=False),
        normalizer=Normalizers([
            *([] if given is None else getattr(given, "normalizers", [given])),
            # If the text contains this character, it is unknown, like any character without a token.
            Replace({"String": end}, other),
            Replace({"Regex": _ends(punctuation=punctuation)}, end),
        ]),
        pretokenizer=Pretokenizers([WhitespaceSplit(), Split({"String": end}, "MergedWithPrevious")]),
        decoder=BPEDecoder(end) if definition.decoder is not None else None,
    )  # fmt: skip


def folded(definition: Definition) -> Definition:
    """Return classic BPE with the suffix "</w>" if a definition is a result of `spelt`; else the definition itself."""
    split = definition.pretokenizer
    steps: tuple[Any, ...] = getattr(definition.normalizer, "normalizers", ())
    if len(steps) < 2 or not isinstance(split, Pretokenizers) or not isinstance(definition.model, CharBPE):
        return definition
    ends = steps[-1]
    end = ends.content if isinstance(ends, Replace) else ""
    for pretokenizer in (WhitespaceSplit(), Bert()):
        pattern = {"Regex": _ends(punctuation=isinstance(pretokenizer, Bert))}
        # The suffix is a symbol of its own, so the model must have a token for it.
        own = definition.vocab.get(end) not in (None, *definition.added_ids)
        if len(end) != 1 or ends != Replace(pattern, end) or not own:
            continue
        given = steps[:-2]
        made = replace(
            definition,
            vocab=Vocab.from_list(
                (text.removesuffix(end) + END_OF_WORD if text.endswith(end) else text).encode()
                for text in (token.decode() for token in definition.vocab)
            ),
            model=replace(definition.model, end_of_word_suffix=END_OF_WORD, suffix_apart=True),
            normalizer=Normalizers(given) if len(given) > 1 else given[0] if given else None,
            pretokenizer=pretokenizer,
            decoder=BPEDecoder(END_OF_WORD) if definition.decoder is not None else None,
        )
        if _same(spelt(made), definition):
            return made
    return definition


def _same(one: Definition, other: Definition) -> bool:
    given: Any = other.model
    parts = ("normalizer", "pretokenizer", "decoder", "added_tokens")
    return (
        all(getattr(one, name) == getattr(other, name) for name in parts)
        and one.vocab.blob == other.vocab.blob
        and np.array_equal(one.vocab.offsets, other.vocab.offsets)
        and given.end_of_word_suffix is None
    )


def _refusal(model: CharBPE, why: str) -> FormatError:
    return FormatError(
        f"the end-of-word mark {model.end_of_word_suffix!r} is a separate symbol, which tokenizers does not support, "
        "and "
        f'{why}; train with word_end="attached" for a tokenizer.json'
    )


def _with_end(model: CharBPE, vocab: Vocab) -> set[int]:
    """Return the ids of the end-of-word mark and of all tokens that merges make with it."""
    end = vocab.get((model.end_of_word_suffix or "").encode())
    if len(model.end_of_word_suffix or "") == 1:
        raise _refusal(model, "it is a character that texts may contain")
    found = set() if end is None else {end}
    merges = model.merges.tolist()
    for _, right, result in merges:
        if right in found:
            found.add(result)
    for left, right, result in merges:
        if left in found or (result in found) != (right in found):
            raise _refusal(model, f"the token {vocab[result].decode()!r} is made with it and without")
    return found


@functools.cache
def _ends(*, punctuation: bool) -> str:
    """Return a pattern with an empty match at each end of a word; a punctuation character is a word."""
    white = class_of(map(chr, code_points.escape("s").points()))
    inside = f"[^{white[1:]}"
    if not punctuation:
        return f"(?<={inside})(?!{inside})"
    # BERT's punctuation is by an older Unicode version; some characters have another category now.
    sets = [found for name in ("P", "S", "M") if (found := code_points.category(name)) is not None]
    characters = (chr(point) for found in sets for point in found.points())
    marks = class_of(c for c in characters if "punctuation" in kinds_of(c))
    return f"(?<={inside})(?![^{white[1:-1]}{marks[1:]})|(?<={marks})"
