"""Grows vocabularies: `extend` continues the training, `merge` adds another's tokens; old ids do not change."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit import byte_symbols
from tokkit._core.train.bpe_train import ClassicTrainer
from tokkit.conversion.derivations import Ranks, merged, ranks_of
from tokkit.conversion.editing import Edited, add_tokens
from tokkit.corpus.readers import Corpus, InputErrors, Unit
from tokkit.definition import Definition, Split
from tokkit.errors import CorpusError, OptionError
from tokkit.models.bpe import BPE, possible_merges
from tokkit.models.names import described
from tokkit.threads import thread_count
from tokkit.tokenizer import Tokenizer
from tokkit.trainers.counts import Progress, Reporter, by_pattern, count_words
from tokkit.trainers.special_texts import cut_at
from tokkit.vocab import MAX_ID

logger = logging.getLogger("tokkit")


class Merged(NamedTuple):
    """Two merged vocabularies, and the new ids of the first and of the second: int64, -1 for none."""

    tokenizer: Tokenizer
    ids: NDArray[np.int64]
    other_ids: NDArray[np.int64]


def extend(
    tok: Tokenizer,
    source: object,
    *,
    vocab_size: int,
    min_frequency: int = 0,
    unit: Unit = "file",
    field: str = "text",
    input_errors: InputErrors = "strict",
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Edited:
    """Continue the training of byte-level BPE with new text, up to `vocab_size` ids; old ids do not change.

    The text is encoded with the existing vocabulary, and the most frequent pair of tokens is merged next, as in
    training, with an id after all others. `source` and the options are as in `train`. New merges come after the old
    ones, so a text keeps its old tokens, some of which are merged further. Ties go to the pair that comes first in the
    words sorted by bytes, so the same text gives the same tokenizer. The text is cut at the tokenizer's special tokens,
    of which nothing is learned.

    >>> import tokkit
    >>> tok = tokkit.train(iter(["low lower lowest"] * 9), vocab_size=260)
    >>> more, ids = extend(tok, iter(["wide wider widest"] * 9), vocab_size=264)
    >>> more.count("widest") < tok.count("widest"), more.encode("low") == tok.encode("low")
    (True, True)
    """
    definition = tok.definition
    model, split = _byte_level(definition, "extend")
    if definition.normalizer is not None:
        name = type(definition.normalizer).__name__
        raise OptionError(f"extend counts the words of the text as it is; this tokenizer has the normalizer {name}")
    if isinstance(vocab_size, bool) or not isinstance(vocab_size, int) or not tok.n_ids <= vocab_size <= MAX_ID + 1:
        raise OptionError(f"vocab_size is {vocab_size!r}; it must be an int of at least {tok.n_ids}, the ids there are")
    with Reporter(progress) as report:
        corpus = Corpus(source, unit=unit, field=field, errors=input_errors)
        counter = cut_at(by_pattern(split.pattern), sorted(definition.special_tokens))
        counts = count_words(corpus, counter, threads=thread_count(threads), report=report)
        words = sorted((word, times) for word, times in counts.items() if byte_symbols.is_utf_8(word))
        # A pretoken is encoded as a whole, because it might be split differently when alone.
        alone = Tokenizer(replace(definition, pretokenizer=Split(None), postprocessor=None))
        encoded = alone.encode_batch([word for word, _ in words], threads=threads)
        trainer = _trainer(definition, *encoded, np.array([times for _, times in words], dtype=np.int64))
        tokens, merges = _merge_on(trainer, definition, vocab_size, min_frequency, report)
    if len(tokens) < vocab_size - tok.n_ids:
        reached = tok.n_ids + len(tokens)
        logger.warning("the corpus yields %d tokens, fewer than the vocab_size of %d asked for", reached, vocab_size)
    return Edited(Tokenizer(_grown(definition, model, tokens, merges)), np.arange(tok.n_ids))


def _trainer(
    definition: Definition, ids: NDArray[np.uint32], offsets: NDArray[np.int64], times: NDArray[np.int64]
) -> ClassicTrainer:
    """Return a trainer over the ids of words; added tokens are not symbols, and words end at them."""
    added = np.isin(ids, list(definition.added_vocab.values()))
    ends = np.union1d(offsets[1:], np.flatnonzero(added)) if added.any() else offsets[1:]
    times = times[np.searchsorted(offsets[1:], ends)]
    symbols = ids[~added].astype(np.int32)
    ends = ends - np.cumsum(np.append(0, added))[ends]
    try:
        return ClassicTrainer(symbols, ends, times, definition.vocab.n_ids)
    except OverflowError as error:
        raise CorpusError(f"the corpus is too large to train from at once: {error}") from None


def _merge_on(
    trainer: ClassicTrainer, definition: Definition, vocab_size: int, min_frequency: int, report: Reporter
) -> tuple[dict[int, bytes], list[tuple[int, int, int]]]:
    """Return the new tokens, id → bytes, and the merges in their order."""
    first = definition.vocab.n_ids
    token_of = dict(enumerate(b"" for _ in range(first)))
    token_of |= {id_: token for token, id_ in definition.vocab.items()}
    known = {token: id_ for id_, token in token_of.items() if token}
    added = set(definition.added_vocab.values())
    tokens: dict[int, bytes] = {}
    merges: dict[tuple[int, int], int] = {}
    report("merge", 0, vocab_size - first, always=True)
    while len(tokens) < vocab_size - first and (best := trainer.best()) is not None:
        left, right, count = best
        if count < min_frequency:
            break
        token = token_of[left] + token_of[right]
        result = known.setdefault(token, first + len(tokens))
        if result in added:
            raise CorpusError(f"the text has {token!r}, which is an added token; leave it out of the corpus")
        if result == first + len(tokens):
            tokens[result] = token_of[result] = token
        merges.setdefault((left, right), result)
        trainer.merge(left, right, result)
        report("merge", len(tokens), vocab_size - first)
    report("merge", len(tokens), vocab_size - first, always=True)
    return tokens, [(left, right, result) for (left, right), result in merges.items()]


def merge(tok: Tokenizer, other: Tokenizer) -> Merged:
    """Return a tokenizer with all tokens of `tok`, with the same ids, and after them the new tokens of `other`.

    Both are byte-level BPE; the split pattern is that of `tok`. Merges of `other` come after those of `tok`, which may
    merge the bytes of a token differently: then the token is made from the two tokens into which it is split, or left
    out, with -1 in `other_ids`, if there are more. Special tokens of `other` are added as special tokens.

    >>> import tokkit
    >>> one = tokkit.train(iter(["low lower lowest"] * 9), vocab_size=262)
    >>> both = merge(one, tokkit.train(iter(["wide wider widest"] * 9), vocab_size=262))
    >>> both.tokenizer.encode("low") == one.encode("low"), both.tokenizer.count("wide") < one.count("wide")
    (True, True)
    """
    definition, theirs = tok.definition, other.definition
    model, _ = _byte_level(definition, "merge")
    their_model, _ = _byte_level(theirs, "merge")
    special, their_special = set(definition.added_vocab.values()), set(theirs.added_vocab.values())
    merges, _ = possible_merges(definition.vocab, model, special)
    in_turn = possible_merges(theirs.vocab, their_model, their_special)[0][:, 2].tolist()
    in_turn += [id_ for _, id_ in theirs.vocab.items()]
    known = {token: id_ for token, id_ in definition.vocab.items() if id_ not in special}
    ranks = ranks_of(merges)
    tokens: dict[int, bytes] = {}
    made: list[tuple[int, int, int]] = []
    for token in (theirs.vocab[id_] for id_ in dict.fromkeys(in_turn) if id_ not in their_special):
        if token in known or token in definition.vocab:
            continue
        new = definition.vocab.n_ids + len(tokens)
        if model.merges is not None:
            run = _run(token, known, ranks)
            if len(run) != 2:
                continue
            ranks[run[0], run[1]] = (len(merges) + len(made), new)
            made.append((run[0], run[1], new))
        tokens[new] = token
        known[token] = new
    grown = Tokenizer(_grown(definition, model, tokens, made))
    wanted = [token for token in theirs.added_tokens if token.content not in definition.added_vocab]
    result = add_tokens(grown, wanted).tokenizer
    added = {text.encode(): id_ for text, id_ in result.definition.added_vocab.items()}
    other_ids = np.full(theirs.vocab.n_ids, -1, dtype=np.int64)
    for token, id_ in theirs.vocab.items():
        other_ids[id_] = (added if id_ in their_special else known).get(token, -1)
    return Merged(result, np.arange(definition.vocab.n_ids), other_ids)


def _run(token: bytes, known: Mapping[bytes, int], ranks: Ranks) -> list[int]:
    """Return the ids to which a token's bytes merge; empty if a byte has no token."""
    ids = [known.get(token[at : at + 1], -1) for at in range(len(token))]
    return [] if -1 in ids else merged(ids, ranks)[0]


def _byte_level(definition: Definition, what: str) -> tuple[BPE, Split]:
    if definition.over_bytes is None:
        name = described(definition.model)
        raise OptionError(f"{what} is for byte-level BPE; the model of this tokenizer is {name}")
    return definition.over_bytes


def _grown(
    definition: Definition, model: BPE, tokens: Mapping[int, bytes], merges: Sequence[tuple[int, int, int]]
) -> Definition:
    """Return a definition with additional tokens and merges (rank BPE needs no merges)."""
    if model.merges is not None and merges:
        model = replace(model, merges=np.concatenate([model.merges, np.array(merges, dtype=np.uint32)]))
    name = "" if tokens else definition.name
    return replace(definition, vocab=definition.vocab.with_tokens(tokens), model=model, name=name)
