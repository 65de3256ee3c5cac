"""Training gives the tokens and merges of tokenizers' trainer and of the naive twin."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import regex

import tokkit
from conftest import LONG, byte_of_letter, slice_of
from reference import bpe_train as twin
from tokkit.pretokenizers import patterns
from tokkit.trainers import Step
from tokkit.trainers.bpe import ALPHABET

LETTERS = {byte: letter for letter, byte in byte_of_letter().items()}
Model = tuple[dict[str, int], list[tuple[str, str]]]


def written(token: bytes) -> str:
    return "".join(LETTERS[byte] for byte in token)


def theirs(source: Path | Iterable[str], vocab_size: int, *, split: bool = True, **options: Any) -> Model:
    """Tokens → ids and the merges, as tokenizers trains and saves them."""
    tokenizers = pytest.importorskip("tokenizers")
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = byte_level(add_prefix_space=False, use_regex=split)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab_size, show_progress=False, initial_alphabet=byte_level.alphabet(), **options
    )
    if isinstance(source, Path):
        made.train([str(source)], trainer)
    else:
        made.train_from_iterator(source, trainer)
    model = json.loads(made.to_str())["model"]
    return model["vocab"], [(left, right) for left, right in model["merges"]]


def ours(made: tokkit.Tokenizer) -> Model:
    """The same of a tokenizer of ours, in the same letters."""
    special = {id_: text for text, id_ in made.special_tokens.items()}
    names = {id_: special.get(id_) or written(token) for token, id_ in made.vocab.items()}
    merges = made.definition.model.merges
    assert merges is not None
    return {name: id_ for id_, name in names.items()}, [(names[int(a)], names[int(b)]) for a, b, _ in merges]


def without_mark(path: Path) -> list[str]:
    return path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode().splitlines(keepends=True)


def random_texts(seed: int) -> list[str]:
    """Few letters, so that tokens are reached in several ways; runs of one letter, so that pairs overlap."""
    rng = random.Random(seed)
    letters = rng.choice(["a", "ab", "abc", "abcd", "ab ", "ab\n ", "あい a"])
    sizes = [rng.choice([5, 20, 60, 300]) for _ in range(rng.choice([1, 3, 30, 60]))]
    texts = ["".join(rng.choice(letters) for _ in range(size)) for size in sizes]
    return [text * rng.randint(1, 4) for text in texts] if rng.random() < 0.3 else texts


@pytest.mark.parametrize("name", ["zh", *(["english-technical", "english-prose", "wagahai"] if LONG else [])])
@pytest.mark.parametrize("vocab_size", [8000, 32000] if LONG else [8000])
def test_tokens_and_merges_of_real_text_are_those_of_tokenizers(
    corpora: dict[str, Path], tmp_path: Path, name: str, vocab_size: int
) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(slice_of(corpora[name], 700_000), encoding="utf-8", newline="")
    # tokenizers reads files by line; an iterator's text is one document in both.
    assert ours(tokkit.train(corpus, vocab_size=vocab_size, unit="line")) == theirs(corpus, vocab_size)
    text = corpus.read_text(encoding="utf-8")
    assert ours(tokkit.train(corpus, vocab_size=vocab_size)) == theirs([text], vocab_size)


def test_special_tokens_and_min_frequency_are_those_of_tokenizers(bundled: str) -> None:
    """The token "the" is one that merges reach too."""
    special, texts = ["<|endoftext|>", "the", "été", "\n\n"], bundled.splitlines(keepends=True)
    for vocab_size, least in ((2000, 2), (20000, 3)):
        options: dict[str, Any] = {"special_tokens": special, "min_frequency": least}
        made = tokkit.train(iter(texts), vocab_size=vocab_size, special="text", **options)
        rival = theirs(texts, vocab_size, **options)
        assert ours(made) == rival
        assert made.special_tokens == {text: id_ for id_, text in enumerate(special)}


def test_training_to_the_last_pair_equals_tokenizers(corpora: dict[str, Path]) -> None:
    texts = without_mark(corpora["botchan"])[: None if LONG else 1000]
    assert ours(tokkit.train(iter(texts), vocab_size=100_000)) == theirs(texts, 100_000)


def test_explain_tells_of_each_merge_with_the_count_of_its_pair() -> None:
    told = 0
    for seed in range(40):
        texts, steps = random_texts(seed), list[Step]()
        made = tokkit.train(iter(texts), vocab_size=300, pattern=None, explain=steps.append, threads=1)
        ids: dict[object, int] = dict(made.vocab.items())
        counts = Counter(text.encode() for text in texts)
        words = {word: [ids[bytes([byte])] for byte in word] for word in counts}
        pairs = Counter[tuple[int, int]]()
        for word, times in counts.items():
            for pair in pairwise(words[word]):
                pairs[pair] += times
        for step in steps:
            pair = (ids[step.left], ids[step.right])
            assert (step.count, step.score, step.total) == (pairs[pair], pairs[pair], None)
            for word, times in counts.items():
                for changed, change in twin.merge_word(words[word], pair, ids[step.token]):
                    pairs[changed] += change * times
            del pairs[pair]
        merges = [tuple(made.vocab[id_] for id_ in merge) for merge in made.definition.model.merges.tolist()]
        assert list(dict.fromkeys((s.left, s.right, s.token) for s in reversed(steps)))[::-1] == merges
        told += len(steps)
    assert told > 500
    with pytest.raises(tokkit.OptionError, match="explain is 5"):
        tokkit.train({"a": 1}, explain=5)  # type: ignore[arg-type]


def test_random_texts_of_few_letters_equal_tokenizers() -> None:
    reached_twice = 0
    for seed in range(3000 if LONG else 200):
        rng, texts = random.Random(seed), random_texts(seed)
        vocab_size, least = 260 + rng.choice([3, 10, 40, 150, 400, 1500]), rng.choice([0, 0, 2, 5])
        longest, split = rng.choice([None, None, 3, 4, 7]), rng.random() < 0.5
        special = rng.choice([[], [], ["<s>", "ab"], ["[X]"]])
        made = tokkit.train(
            iter(texts),
            vocab_size=vocab_size,
            min_frequency=least,
            max_token_length=longest,
            special_tokens=special,
            special="text",
            pattern="gpt2" if split else None,
            threads=1,
        )
        rival = theirs(
            texts,
            vocab_size,
            split=split,
            min_frequency=least,
            max_token_length=None if longest is None else longest + 1,
            special_tokens=special,
        )
        assert ours(made) == rival, seed
        reached_twice += len(rival[1]) > len(rival[0]) - 256 - len(special)
    assert reached_twice > 5  # the cases that are hard


def test_random_counts_equal_the_naive_twin() -> None:
    for seed in range(1000 if LONG else 150):
        rng = random.Random(seed)
        letters = rng.choice(["a", "ab", "abc"])
        words = {"".join(rng.choices(letters, k=rng.randint(1, 12))) for _ in range(rng.randint(1, 25))}
        counts = {word.encode(): rng.randint(1, 9) for word in sorted(words)}
        size, least, longest = 256 + rng.choice([5, 30, 200]), rng.choice([0, 2, 4]), rng.choice([None, 2, 5])
        made = tokkit.train(counts, vocab_size=size, min_frequency=least, max_token_length=longest)
        tokens, merges = twin.train(counts, ALPHABET, size, least, longest)
        assert list(made.vocab) == tokens, seed
        assert [tuple(merge) for merge in made.definition.model.merges.tolist()] == merges, seed


def test_counts_beyond_32_bits_are_kept_apart() -> None:
    made = tokkit.train({"ab": 2**40, "cd": 2**40 + 1, "ef": 2**33}, vocab_size=259)
    assert list(made.vocab)[256:] == [b"cd", b"ab", b"ef"]


def test_threads_and_the_order_of_files_change_nothing(tmp_path: Path, bundled: str) -> None:
    lines = (bundled * 12).splitlines(keepends=True)
    paths = []
    for part in range(3):
        paths.append(tmp_path / f"{part}.txt")
        paths[-1].write_text("".join(lines[part::3]), encoding="utf-8", newline="")
    first = tokkit.train(paths, vocab_size=3000, threads=1)
    for files, threads in ((paths, 2), (paths[::-1], 3), ([paths[1], paths[2], paths[0]], 8)):
        assert tokkit.train(files, vocab_size=3000, threads=threads).fingerprint() == first.fingerprint()


def test_several_sizes_of_one_run_are_those_of_runs_of_their_own(bundled: str) -> None:
    for texts, sizes in ((bundled.splitlines(True), [1000, 256, 2000, 500]), (random_texts(7), [300, 256, 270, 5000])):
        made = tokkit.train(iter(texts), vocab_size=sizes)
        assert isinstance(made, list)
        for size, tokenizer in zip(sizes, made, strict=True):
            assert ours(tokenizer) == ours(tokkit.train(iter(texts), vocab_size=size))


def test_sizes_of_one_run_equal_runs_of_their_own_where_tokens_are_reached_twice() -> None:
    for seed in range(60 if LONG else 15):
        texts = random_texts(seed)
        sizes = list(range(256, 400, 11))
        for size, made in zip(sizes, tokkit.train(iter(texts), vocab_size=sizes, pattern=None), strict=True):
            assert ours(made) == ours(tokkit.train(iter(texts), vocab_size=size, pattern=None)), (seed, size)


def test_counts_train_what_their_text_trains(bundled: str) -> None:
    pieces = (regex.findall(patterns.BYTE_LEVEL, line) for line in bundled.splitlines(keepends=True))
    counts = Counter(piece for found in pieces for piece in found)
    from_text = tokkit.train(iter(bundled.splitlines(keepends=True)), vocab_size=1500)
    assert tokkit.train(counts, vocab_size=1500).fingerprint() == from_text.fingerprint()
    as_bytes = {piece.encode(): count for piece, count in counts.items()}
    assert tokkit.train(as_bytes, vocab_size=1500).fingerprint() == from_text.fingerprint()


@pytest.mark.parametrize("name", ["cl100k", "o200k", r"\w+|[^\w\s]+|\s+", r"\w+"])
def test_other_patterns_cut_as_the_regex_package_does(bundled: str, name: str) -> None:
    """Text between the matches of a pattern is a piece of its own, as in tokenizers."""
    pattern = regex.compile(patterns.resolve(name) or "")
    counts: Counter[str] = Counter()
    lines = [line for line in bundled.split("\n")[:400] if line]
    for line in lines:
        last = 0
        for match in pattern.finditer(line):
            counts.update(text for text in (line[last : match.start()], match[0]) if text)
            last = match.end()
        counts.update([line[last:]] if line[last:] else [])
    made = tokkit.train(iter(lines), vocab_size=600, pattern=name)
    assert list(made.vocab) == list(tokkit.train(counts, vocab_size=600).vocab)
    assert made.definition.pretokenizer == tokkit.Split(patterns.resolve(name), keep_unmatched=True)


def test_raw_bytes_without_any_split_give_256_bytes_and_44_merges() -> None:
    text = "Tokenizers turn text into numbers, and numbers back into text; the text must come back as it was. " * 3
    made = tokkit.train(iter([text]), vocab_size=300, pattern="none")
    assert len(made.vocab) == 300
    assert len(made.definition.model.merges) == 44
    for sample in (text, "naïve 東京 🦜\r\n\0", ""):
        assert made.decode(made.encode(sample)) == sample
    assert len(made.encode(text)) < len(text) / 2


def test_with_min_frequency_2_training_stops_where_no_pair_occurs_twice() -> None:
    text = "the cat sat on the mat, the cat ate"
    made = tokkit.train(iter([text]), vocab_size=2000, pattern=None, min_frequency=2)
    ids = made.encode(text)
    assert 256 < len(made.vocab) < 300
    assert max(Counter(pairwise(ids)).values()) == 1


def test_a_token_has_at_most_max_token_length_bytes() -> None:
    for longest in (2, 5, 6):
        made = tokkit.train({"abcde": 90, "abcdef": 80, "abcdefg": 9}, vocab_size=400, max_token_length=longest)
        assert max(map(len, made.vocab)) == longest


@pytest.mark.parametrize(("vocab_size", "letters"), [(300, "ab"), (4000, "abcdefgh "), (4000, "a")])
def test_one_word_of_a_megabyte_costs_about_what_a_thousand_words_of_a_kilobyte_do(
    vocab_size: int, letters: str
) -> None:
    def seconds(texts: Sequence[str]) -> float:
        from tokkit.trainers.bpe import train_bpe
        from tokkit.trainers.counts import words_of

        counts = words_of(Counter(texts))
        start = time.process_time()
        train_bpe(counts, [vocab_size], pattern=None, max_token_length=1000)
        return time.process_time() - start

    text = "".join(random.Random(1).choices(letters, k=1_000_000))
    parts = [text[at : at + 1000] for at in range(0, len(text), 1000)]
    assert seconds([text]) < 20 * seconds(parts) + 2


def test_progress_may_be_true_for_a_bar_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    made = tokkit.train({"low": 5, "lower": 3}, vocab_size=260, progress=True)
    shown = capsys.readouterr()
    assert "merge" in shown.err
    assert "100%" in shown.err
    assert not shown.out
    for silent in (None, False):
        assert tokkit.train({"low": 5, "lower": 3}, vocab_size=260, progress=silent).fingerprint() == made.fingerprint()
    assert capsys.readouterr() == ("", "")
    with pytest.raises(TypeError, match="progress is 'yes'; it must be a function"):
        tokkit.train({"low": 5}, vocab_size=257, progress="yes")  # type: ignore[call-overload]
