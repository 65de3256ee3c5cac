"""Trains the model of a tokenizer on the words that its normalizer and pre-tokenizer make."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tokkit._core.align import AlignedText
from tokkit._core.split import AddedMatcher
from tokkit._core.text import to_utf8
from tokkit._core.train.bpe_train import BPETrainer
from tokkit._core.train.training import Spelling
from tokkit._core.train.word_counts import WordCounts
from tokkit.compat.tokenizers import unigram_training, values
from tokkit.compat.tokenizers.added_token import AddedToken
from tokkit.compat.tokenizers.component import is_custom, run
from tokkit.compat.tokenizers.trainers import Trainer
from tokkit.errors import CorpusError, OptionError
from tokkit.trainers.bpe import merges_of_size
from tokkit.trainers.counts import Reporter
from tokkit.trainers.options import choice
from tokkit.trainers.resumable import VISITS_A_SLICE
from tokkit.trainers.special_texts import IN_TEXT, matcher_of

if TYPE_CHECKING:
    from tokkit.compat.tokenizers.tokenizer import Tokenizer

BLOCK_BYTES = 1 << 20
"""Bytes of text that pass through the components at a time."""
MARKS = (range(0xF0000, 0x110000), range(1, 0xD800), range(0xE000, 0xF0000))
"""Code points that can stand for the last characters of words, where neither words nor tokens have them."""


def from_files(tokenizer: Tokenizer, files: list[str], trainer: Any, special: str = "text") -> None:
    """Train from the lines of files, including line ends."""

    def lines() -> Iterator[str]:
        for path in files:
            with open(path, encoding="utf-8", newline="\n") as file:
                yield from file

    chosen = _trainer(tokenizer, trainer)
    _train(tokenizer, lines(), chosen, special)


def from_texts(tokenizer: Tokenizer, iterator: Iterable[Any], trainer: Any, special: str = "text") -> None:
    """Train from texts, or lists of texts."""

    def texts() -> Iterator[str]:
        for item in iterator:
            for text in [item] if isinstance(item, str) else item:
                yield values.text("a text", text)

    chosen = _trainer(tokenizer, trainer)
    _train(tokenizer, texts(), chosen, special)


def _trainer(tokenizer: Tokenizer, trainer: Any) -> Trainer:
    chosen = tokenizer.model.get_trainer() if trainer is None else trainer
    if not isinstance(chosen, Trainer):
        raise values.wrong_type("trainer", trainer, "a Trainer")
    name = type(tokenizer.model).__name__
    if chosen._model != name:
        raise OptionError(f"{type(chosen).__name__} can only train a {chosen._model}, not a {name}")
    return chosen


def _train(tokenizer: Tokenizer, texts: Iterator[str], trainer: Trainer, special: str) -> None:
    tokens = [str(token["content"]) for token in trainer._state["special_tokens"]]
    boundaries = tokens if choice("special", special, *IN_TEXT) == "boundary" else []
    with Reporter(trainer._state["show_progress"] and sys.stderr.isatty()) as report:
        counts = count(tokenizer, texts, boundaries)
        found = _TRAININGS[trainer._model](trainer._state, counts, report)
    tokenizer.model._state.update(found)
    tokenizer.model._forget()
    tokenizer.renumber()
    tokenizer.add_special_tokens([AddedToken(**token) for token in trainer._state["special_tokens"]])


def count(tokenizer: Tokenizer, texts: Iterator[str], boundaries: Sequence[str] = ()) -> WordCounts:
    """Return the words that the normalizer and the pre-tokenizer make of texts, cut at boundaries, and their counts."""
    stages = [tokenizer.normalizer, tokenizer.pre_tokenizer]
    made = [None if stage is None else run(stage._stage, stage._state) for stage in stages]
    apart = any(stage is not None and _whole(stage._state) for stage in stages)
    table, matcher = WordCounts(), matcher_of([text for text in boundaries if text])
    block: list[bytes] = []
    n = 0
    for text in itertools.chain(texts, [""]):
        utf8 = to_utf8(text)
        block.append(utf8)
        n += len(utf8)
        if apart or n >= BLOCK_BYTES or not utf8:
            _count_block(table, block, made, matcher)
            block, n = [], 0
    return table


def _count_block(table: WordCounts, block: list[bytes], stages: list[Any], matcher: AddedMatcher | None) -> None:
    data, ends = b"".join(block), np.cumsum([len(text) for text in block if text], dtype=np.int64).tobytes()
    if matcher is not None and (cut := matcher.cut_out(data, ends)) is not None:
        data, ends = cut
    if not data:
        return
    aligned = AlignedText(data)
    aligned.cut_at(ends)
    if stages[0] is not None:
        stages[0].normalize(aligned)
    if stages[1] is not None:
        stages[1].pretokenize(aligned)
    table.add_pieces(aligned)


def _whole(state: dict[str, Any]) -> bool:
    """Return whether a component treats the start of a text specially."""
    parts = next((value for value in state.values() if isinstance(value, list)), [])
    own = state.get("prepend_scheme") == "first" or is_custom(state)
    return own or any(_whole(part) for part in parts if isinstance(part, dict))


# ---- BPE and WordPiece


def _bpe(state: dict[str, Any], counts: WordCounts, report: Reporter) -> dict[str, Any]:
    """Return the fields of a BPE model of these words."""
    prefix, suffix = state["continuing_subword_prefix"] or "", state["end_of_word_suffix"] or ""
    found = {chr(code): (times, inside) for code, times, inside in counts.characters()}
    alphabet = _alphabet(state, found)
    tokens = {token["content"]: len(token["content"]) for token in state["special_tokens"]}
    for c in alphabet:
        tokens.setdefault(c, 1)
    marks: dict[str, str] = {}
    if suffix:
        counts, marks = _marked(counts, set(alphabet), {*found, *"".join(tokens)})
        found = {chr(code): (times, inside) for code, times, inside in counts.characters()}
    used = [c for c in found if c in tokens or c in marks]
    if prefix or marks:
        for token in _symbols(counts, used, marks, prefix):
            tokens.setdefault(token, 1)
    ids = {token: id_ for id_, token in enumerate(tokens)}
    spelling = Spelling([(c, ids.get(c), ids.get(prefix + c)) for c in used], prefix.encode())
    # tokenizers counts one character more, and does not check the length of the pairs that words begin with.
    longest = sys.maxsize if state["max_token_length"] is None else state["max_token_length"] - 1
    size = max(state["vocab_size"], len(tokens))
    packed = [(token.encode(), width) for token, width in tokens.items()]
    trainer = BPETrainer(counts, packed, size, state["min_frequency"], max(2, longest), spelling)
    report("merge", 0, size - len(tokens), always=True)
    while not trainer.run(VISITS_A_SLICE):
        report("merge", trainer.n_ids - len(tokens), size - len(tokens))
    blob, ends = trainer.tokens()
    places = [0, *np.frombuffer(ends, dtype=np.uint64).tolist()]
    names = [_spelt(blob[a:b].decode(), marks, suffix) for a, b in itertools.pairwise(places)]
    merges = merges_of_size(np.frombuffer(trainer.merges(), dtype=np.uint32).reshape(-1, 3), size, len(tokens))
    return {
        "continuing_subword_prefix": state["continuing_subword_prefix"],
        "end_of_word_suffix": state["end_of_word_suffix"],
        "vocab": {name: id_ for id_, name in enumerate(names)},
        "merges": [[names[left], names[right]] for left, right, _ in merges.tolist()],
    }


def _alphabet(state: dict[str, Any], found: dict[str, tuple[int, int]]) -> list[str]:
    always = set(state["initial_alphabet"])
    others = sorted(found.keys() - always, key=lambda c: (-found[c][0], c))
    if state["limit_alphabet"] is not None:
        others = others[: max(0, state["limit_alphabet"] - len(always))]
    return sorted(always.union(others))


def _marked(counts: WordCounts, alphabet: set[str], taken: set[str]) -> tuple[WordCounts, dict[str, str]]:
    """Return the words with their last characters replaced, and the meaning of each replacement.

    The replacements are characters that are not `taken`.
    """
    free = (chr(code) for code in itertools.chain(*MARKS) if chr(code) not in taken)
    marks: dict[str, str] = {}
    made = WordCounts()
    for word, times in counts.items():
        text = word.decode()
        if text[-1] not in alphabet:
            made.add_word(word, times)
            continue
        if text[-1] not in marks:
            mark = next(free, None)
            if mark is None:
                raise CorpusError("the texts have too many different characters for training with a suffix")
            marks[text[-1]] = mark
        made.add_word((text[:-1] + marks[text[-1]]).encode(), times)
    return made, {mark: c for c, mark in marks.items()}


def _symbols(counts: WordCounts, used: Sequence[str], marks: Mapping[str, str], prefix: str) -> Iterator[str]:
    """Yield the symbols that the alphabet does not have: those at ends of words, and those with the prefix.

    Their order is that of the words, the most frequent first. In tokenizers, the order of words is random.
    """
    missing = set(used) if prefix else set(marks)
    first = set(marks) if prefix else set()
    for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        text = word.decode()
        if text[0] in first:
            first.discard(text[0])
            yield text[0]
        for c in text[1:] if prefix else text:
            if c in missing:
                missing.discard(c)
                yield prefix + c
        if not missing and not first:
            return


def _spelt(token: str, marks: dict[str, str], suffix: str) -> str:
    return token[:-1] + marks[token[-1]] + suffix if marks and token[-1] in marks else token


def _wordpiece(state: dict[str, Any], counts: WordCounts, report: Reporter) -> dict[str, Any]:
    found = _bpe(state, counts, report)
    return {"continuing_subword_prefix": found["continuing_subword_prefix"] or "", "vocab": found["vocab"]}


# ---- words, Unigram


def _wordlevel(state: dict[str, Any], counts: WordCounts, report: Reporter) -> dict[str, Any]:
    kept = [(word.decode(), times) for word, times in counts.items() if times >= state["min_frequency"]]
    words = [word for word, _ in sorted(kept, key=lambda item: (-item[1], item[0]))]
    # A special token that is also a word gets the word's id, and its own id has no token, as in tokenizers.
    tokens = [*(token["content"] for token in state["special_tokens"]), *words][: state["vocab_size"]]
    return {"vocab": {token: id_ for id_, token in enumerate(tokens)}}


def _unigram(state: dict[str, Any], counts: WordCounts, report: Reporter) -> dict[str, Any]:
    """Return the fields of a Unigram model; special tokens have the score 0, a lone unknown token comes first."""
    special = [token["content"] for token in state["special_tokens"]]
    unknown = state["unk_token"]
    if unknown is not None and unknown not in special:
        special.insert(0, unknown)
    if not len(counts):
        raise CorpusError("there is no text to train on")
    scored = [piece for piece in unigram_training.train(state, counts, len(special), report) if piece[0] not in special]
    vocab = [[token, 0.0] for token in special] + [[piece, score] for piece, score in scored]
    return {"vocab": vocab, "unk_id": None if unknown is None else special.index(unknown), "byte_fallback": False}


_TRAININGS = {"BPE": _bpe, "WordPiece": _wordpiece, "WordLevel": _wordlevel, "Unigram": _unigram}
