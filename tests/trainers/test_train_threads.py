"""Counts and trainings that two threads use at once: the second call is refused, and reads no partial state."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import pytest

from tokkit._core.train.bpe_train import BPETrainer
from tokkit._core.train.training import Spelling
from tokkit._core.train.word_counts import WordCounts
from tokkit._core.train.wordpiece_train import WordPieceTrainer

pytestmark = pytest.mark.threads

BYTES = [(bytes([byte]), 1) for byte in range(256)]
TEXT = b"a few words and a few more, over and over\n" * 400_000
PACKED = b"".join(b"%06d" % number for number in range(150_000))
ENDS = b"".join(end.to_bytes(8, sys.byteorder) for end in range(6, len(PACKED) + 1, 6))


def refused(work: Callable[[], object], call: Callable[[], object]) -> bool:
    """Call until it is refused while another thread works; False where the work ended without that."""

    def in_the_end() -> None:
        # Without a GIL the calls may come first, and it is the work that is refused.
        while in_use(work):
            pass

    thread = threading.Thread(target=in_the_end)
    thread.start()
    seen = False
    while thread.is_alive() and not seen:
        seen = in_use(call)
    thread.join()
    return seen


def in_use(call: Callable[[], object]) -> bool:
    """Call, and tell whether that was refused for another thread."""
    try:
        call()
    except RuntimeError as error:
        if "in use by another thread" not in str(error):
            raise
        return True
    return False


def many_words(n: int = 150_000) -> WordCounts:
    counts = WordCounts()
    counts.add_text(PACKED[: 6 * n], 0, ENDS[: 8 * n])
    return counts


def train_when_busy(counts: WordCounts) -> None:
    try:
        len(counts)
    except RuntimeError:  # sooner it would not be refused, and the counting would
        BPETrainer(counts, BYTES, 256, 0, 9)


@pytest.mark.parametrize(
    "call",
    [
        WordCounts.items,
        WordCounts.__len__,
        lambda counts: counts.add_word(b"x"),
        lambda counts: counts.add_text(b"x", 1),
        lambda counts: counts.merge(WordCounts()),
        lambda counts: WordCounts().merge(counts),
        train_when_busy,
    ],
    ids=["items", "len", "add_word", "add_text", "merge", "merge from", "train"],
)
def test_counts_are_refused_while_a_text_is_counted(call: Callable[[WordCounts], object]) -> None:
    def looked() -> bool:
        counts = WordCounts()
        return refused(lambda: counts.add_text(TEXT, 1), lambda: call(counts))

    assert any(looked() for _ in range(20)), "a loaded machine may need more than one look"


@pytest.mark.parametrize(
    "call", [WordCounts.items, WordCounts.__len__, lambda counts: counts.add_word(b"x")], ids=["items", "len", "add"]
)
def test_counts_are_refused_while_a_training_takes_them(call: Callable[[WordCounts], object]) -> None:
    for _ in range(200):  # what takes the words is quick
        counts = many_words()
        if refused(lambda counts=counts: BPETrainer(counts, BYTES, 300, 0, 9), lambda counts=counts: call(counts)):
            break
    else:
        pytest.fail("never refused")
    assert counts.items() == []


def by_bytes() -> BPETrainer:
    return BPETrainer(many_words(40_000), BYTES, 1 << 20, 0, 9)


def by_likelihood() -> WordPieceTrainer:
    digits = [str(digit) for digit in range(10)]
    tokens = [((prefix + digit).encode(), 1) for prefix in ("", "##") for digit in digits]
    spelling = Spelling([(digit, int(digit), 10 + int(digit)) for digit in digits], b"##")
    return WordPieceTrainer(many_words(40_000), tokens, 1 << 20, 1, spelling, True)


@pytest.mark.parametrize("make", [by_bytes, by_likelihood])
@pytest.mark.parametrize(
    "call",
    [
        lambda training: training.merges(),
        lambda training: training.tokens(),
        lambda training: training.n_ids,
        lambda training: training.run(0),
    ],
    ids=["merges", "tokens", "n_ids", "run"],
)
def test_a_training_is_refused_while_it_runs(
    make: Callable[[], BPETrainer | WordPieceTrainer], call: Callable[[BPETrainer | WordPieceTrainer], object]
) -> None:
    training = make()
    assert refused(lambda: training.run(sys.maxsize), lambda: call(training))
    assert training.run(sys.maxsize)
    assert training.n_ids == len(training.tokens()[1]) // 8


def test_a_refusal_leaves_both_tables_free() -> None:
    one, other = many_words(), WordCounts()
    other.add_word(b"x")
    BPETrainer(other, BYTES, 256, 0, 9)
    with pytest.raises(RuntimeError, match="frozen or were used"):
        other.merge(one)
    with pytest.raises(RuntimeError, match="in use"):
        one.merge(one)
    one.merge(other)
    assert len(one) == 150_000
    assert len(other) == 0
