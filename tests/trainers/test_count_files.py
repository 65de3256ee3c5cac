"""Files of counts give the same training as the texts, wherever they were counted; damaged ones are named."""

from __future__ import annotations

import errno
import gzip
import os
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tokkit._core.train.count_runs import CountMerge, SortedWords, count_block
from tokkit._core.train.word_counts import WordCounts
from tokkit.corpus import count_merge, counts_file
from tokkit.corpus.counts_file import CountsReader
from tokkit.errors import CorpusError, FormatError, OptionError, TokkitError
from tokkit.trainers import CountFiles, build_counts, count_files, merge_counts, options_of, prune_counts, train

WORDS = ["low", "lower", "lowest", "new", "newer", "wide", "straße", "日本語", "12", "α", "a\u0301"]


def text_of(seed: int, n: int = 400) -> str:
    drawn = random.Random(seed)
    return "".join(drawn.choice(WORDS) + drawn.choice("  \n,") for _ in range(n)) + f"only{seed}\n"


@pytest.fixture
def shards(tmp_path: Path) -> list[str]:
    made = []
    for seed in range(3):
        path = tmp_path / f"part-{seed}.txt"
        path.write_text(text_of(seed), encoding="utf-8")
        made.append(str(path))
    return made


def counted(source: object, **options: Any) -> dict[bytes, int]:
    return dict(CountFiles(source).table(options_of("bbpe", options)).items())


def blocks_of(words: Sequence[bytes], size: int) -> list[bytes]:
    table = WordCounts()
    for word in words:
        table.add_word(word)
    run = SortedWords(table)
    made = []
    while (block := run.block(size)) is not None:
        made.append(block[0])
    return made


def read(blocks: Sequence[bytes]) -> dict[bytes, int]:
    table, total = WordCounts(), 0
    for block in blocks:
        total = count_block(table, block, False, total, 1 << 62)
    return dict(table.items())


def drawn_words(seed: int, n: int) -> list[bytes]:
    """Words with equal beginnings, NULs at the end, and one that is the beginning of another."""
    drawn = random.Random(seed)
    return [bytes(drawn.choice(b"\0ab\xff") for _ in range(drawn.randint(1, 12))) for _ in range(n)]


@pytest.mark.parametrize("size", [1, 40, 1 << 18])
def test_sorted_blocks_hold_the_words_in_the_order_of_their_bytes(size: int) -> None:
    words = drawn_words(1, 500)
    blocks = blocks_of(words, size)
    assert read(blocks) == Counter(words)
    lasts = [max(read([block])) for block in blocks]
    assert lasts == sorted(lasts)
    assert len(blocks) == (len(set(words)) if size == 1 else len(blocks))


@pytest.mark.parametrize(("n_runs", "minimum"), [(1, 1), (2, 3), (7, 1), (7, 2)])
def test_a_merge_sums_the_counts_of_all_runs(n_runs: int, minimum: int) -> None:
    runs = [drawn_words(seed, 300) for seed in range(n_runs)]
    readers = [iter(blocks_of(run, 50)) for run in runs]
    merge, made = CountMerge(n_runs, minimum), []
    while True:
        wants = merge.run(60)
        if wants >= 0:
            merge.feed(next(readers[wants], None))
        elif (block := merge.block()) is not None:
            made.append(block[0])
        else:
            break
    sums = Counter(word for run in runs for word in run)
    kept = {word: n for word, n in sums.items() if n >= minimum}
    assert read(made) == kept
    assert merge.total == sum(kept.values())
    assert merge.dropped == (len(sums) - len(kept), sums.total() - sum(kept.values()))


def run_to_the_end(merge: CountMerge) -> None:
    while merge.run(1 << 10) < 0 and merge.block():
        pass


@pytest.mark.parametrize(
    "block",
    [b"\x00", b"\x01\x01a\x01", b"\x00\x05a\x01", b"\x00\x01a\x00", b"\x00\x01a", b"\x00\x00\x01", b"\xff" * 12]
    + [b"\x00\x01b\x01" + bad for bad in (b"\x00\x01a\x01", b"\x00\x01b\x01", b"\x02\x01a\x01")],
)
def test_a_malformed_block_is_refused(block: bytes) -> None:
    with pytest.raises(ValueError, match="malformed"):
        count_block(WordCounts(), block, False, 0, 1 << 62)
    merge = CountMerge(1)
    merge.run(1 << 10)
    merge.feed(block)
    with pytest.raises(ValueError, match="0"):
        run_to_the_end(merge)


def test_sums_that_no_training_can_hold_are_refused() -> None:
    block = b"\x00\x02ab" + b"\xff" * 8 + b"\x3f"
    with pytest.raises(OverflowError):
        count_block(WordCounts(), block, False, 0, 1 << 62)
    with pytest.raises(ValueError, match="malformed"):  # not UTF-8, where words must be text
        count_block(WordCounts(), b"\x00\x01\xff\x01", True, 0, 1 << 62)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("bbpe", {"pattern": "cl100k"}),
        ("wordpiece", {"lowercase": False}),
        ("word", {}),
        ("hybrid", {"vocab_size": 100}),
        ("char", {}),
        ("unigram", {"vocab_size": 80, "hard_vocab_limit": False}),
        ("sp-bpe", {"vocab_size": 60}),
    ],
)
def test_counts_train_to_the_bytes_that_the_text_does(
    model: str, options: dict[str, Any], shards: list[str], tmp_path: Path
) -> None:
    options = {"vocab_size": 300, **options}
    how = {name: value for name, value in options.items() if name in ("pattern", "lowercase")}
    build_counts(shards, tmp_path / "counts", model=model, **how)
    suffix = "t.model" if model in ("unigram", "sp-bpe") else "t.json"
    for name, source in (("text", shards), ("counts", CountFiles(tmp_path / "counts"))):
        (tmp_path / name).mkdir(exist_ok=True)
        train(source, model=model, **options).save(tmp_path / name / suffix)
    assert (tmp_path / "text" / suffix).read_bytes() == (tmp_path / "counts" / suffix).read_bytes()


def test_a_second_run_skips_what_is_there_and_counts_what_changed(shards: list[str], tmp_path: Path) -> None:
    out = tmp_path / "counts"
    first = build_counts(shards, out)
    assert [made.counted for made in first] == [True] * 3
    assert [made.counted for made in build_counts(shards, out)] == [False] * 3
    first[1].path.write_bytes(first[1].path.read_bytes()[:-1])  # as a machine that lost its power leaves it
    assert [made.counted for made in build_counts(shards, out)] == [False, True, False]
    Path(shards[2]).write_text("other text\n", encoding="utf-8")
    assert [made.counted for made in build_counts(shards, out)] == [False, False, True]
    assert len(list(out.iterdir())) == 3, "the counts of what the shard was are gone"
    assert counted(out)[b"other"] == 1
    assert [made.counted for made in build_counts(shards, out, pattern="cl100k")] == [True] * 3


def test_a_bound_on_memory_changes_no_byte(shards: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    big = tmp_path / "big.txt"
    big.write_text("".join(f"{n * 7919 % 60_000} w{n % 1000}\n" for n in range(200_000)), encoding="utf-8")
    free = build_counts([str(big)], tmp_path / "free")
    written: list[str] = []
    add = count_merge.Spills.add
    monkeypatch.setattr(count_merge.Spills, "add", lambda self, table: (written.append("spill"), add(self, table)))
    monkeypatch.setattr(count_merge, "MAX_RUNS", 2)
    for threads in (1, 2):
        bound = build_counts([str(big)], tmp_path / f"{threads}", max_memory=1 << 20, threads=threads)
        assert bound[0].path.read_bytes() == free[0].path.read_bytes()
        assert os.listdir(tmp_path / f"{threads}") == [bound[0].path.name], "spilled tables are removed"
    assert len(written) > 4
    with pytest.raises(OptionError, match="max_memory is 5"):
        build_counts(shards, tmp_path / "x", max_memory=5)


def test_merging_in_any_order_and_in_steps_is_the_same(
    shards: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [built.path for built in build_counts(shards, tmp_path / "counts")]
    merge_counts(tmp_path / "counts", tmp_path / "all.counts")
    merge_counts(made[:2], tmp_path / "two.counts")
    merge_counts([made[2], tmp_path / "two.counts"], tmp_path / "steps.counts")
    monkeypatch.setattr(count_merge, "MAX_RUNS", 2)
    merge_counts(reversed(made), tmp_path / "groups.counts", threads=2)
    assert (tmp_path / "all.counts").read_bytes() == (tmp_path / "steps.counts").read_bytes()
    assert (tmp_path / "all.counts").read_bytes() == (tmp_path / "groups.counts").read_bytes()
    assert counted(tmp_path / "all.counts") == counted(tmp_path / "counts")
    with pytest.raises(FileExistsError):
        merge_counts(made, tmp_path / "all.counts")


def test_pruning_leaves_out_rare_words_and_is_written_down(shards: list[str], tmp_path: Path) -> None:
    build_counts(shards, tmp_path / "counts")
    totals = prune_counts(tmp_path / "counts", tmp_path / "p.counts", min_count=2)
    whole = counted(tmp_path / "counts")
    assert counted(tmp_path / "p.counts") == {word: n for word, n in whole.items() if n >= 2}
    assert totals.words < len(whole)
    assert CountFiles(tmp_path / "p.counts").header.min_count == 2
    other = build_counts([str(tmp_path)], tmp_path / "other", unit="file", model="bbpe")
    with pytest.raises(CorpusError, match=r"min-count 2, and .* min-count 1"):
        CountFiles([tmp_path / "p.counts", other[0].path])


def test_counts_of_different_options_are_refused_and_both_named(shards: list[str], tmp_path: Path) -> None:
    one = build_counts(shards[:1], tmp_path / "one")[0].path
    other = build_counts(shards[1:2], tmp_path / "other", pattern="cl100k")[0].path
    with pytest.raises(CorpusError, match=rf"{one.name} has counts .*'gpt2', and .*{other.name} has counts .*'cl100k'"):
        merge_counts([one, other], tmp_path / "all.counts")
    assert not (tmp_path / "all.counts").exists()
    by_line = build_counts(shards[1:2], tmp_path / "lines", unit="line")[0].path
    with pytest.raises(CorpusError, match=r"unit 'file', and .* unit 'line'"):
        CountFiles([one, by_line])
    with pytest.raises(OptionError, match=r"'gpt2', but the training needs those of .*'o200k'"):
        train(CountFiles(one), pattern="o200k", vocab_size=300)
    with pytest.raises(OptionError, match="trained on text"):
        train(CountFiles(one), model="bpe", vocab_size=300)
    with pytest.raises(OptionError, match="trained on text"):
        build_counts(shards, tmp_path / "x", model="bpe")


def test_a_shard_is_not_counted_twice(shards: list[str], tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"part-0\.txt is given twice"):
        build_counts([*shards, shards[0]], tmp_path / "counts")
    made = build_counts(shards, tmp_path / "counts")
    merge_counts([m.path for m in made[:2]], tmp_path / "two.counts")
    with pytest.raises(CorpusError, match=r"both have the counts of .*part-1\.txt"):
        CountFiles([tmp_path / "two.counts", made[1].path])


def test_a_shard_that_was_cut_is_named_and_those_before_stay(shards: list[str], tmp_path: Path) -> None:
    cut = tmp_path / "part-9.txt.gz"
    cut.write_bytes(gzip.compress(os.urandom(50_000))[:30_000])
    out = tmp_path / "counts"
    with pytest.raises(CorpusError, match=r"part-9\.txt\.gz"):
        build_counts([*shards, str(cut)], out, input_errors="replace")
    assert len(list(out.iterdir())) == 3, "and nothing is left of the one that failed"


def test_any_changed_byte_of_a_file_is_found(shards: list[str], tmp_path: Path) -> None:
    path = build_counts(shards[:1], tmp_path / "counts")[0].path
    whole, right = path.read_bytes(), counted(path)
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        with pytest.raises(FormatError, match="counts"):
            counted(path)
    for size in range(0, len(whole), 11):
        path.write_bytes(whole[:size])
        with pytest.raises(FormatError, match="counts"):
            counted(path)
    path.write_bytes(whole)
    assert counted(path) == right


def test_blocks_out_of_order_are_found_though_their_checksums_are_right(tmp_path: Path) -> None:
    blocks = [(block, 1) for block in reversed(blocks_of([b"a", b"b"], 1))]

    class Reversed:
        total = 2

        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter(blocks)

    header = counts_file.Header({"words": "of a pattern", "pattern": "x"}, "line")
    count_merge.write(str(tmp_path / "x.counts"), header, Reversed())
    with pytest.raises(FormatError, match="not sorted"):
        merge_counts(tmp_path / "x.counts", tmp_path / "y.counts")
    assert os.listdir(tmp_path) == ["x.counts"]


def test_a_full_disk_is_named_and_leaves_nothing(
    shards: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    made = build_counts(shards[:1], tmp_path / "counts")
    monkeypatch.setattr(counts_file.CountsWriter, "put", full)
    with pytest.raises(OSError, match="No space left") as raised:
        build_counts(shards, tmp_path / "counts")
    assert os.path.basename(str(raised.value.filename)).startswith(f"{os.path.basename(shards[1])}.")
    assert [path.name for path in (tmp_path / "counts").iterdir()] == [made[0].path.name]


@pytest.mark.parametrize("content", [b"", b"low\t5\n", b"tokkit counts\n\0\0\x02\0\0\0" + b"\0" * 8])
def test_what_is_no_file_of_counts_is_refused_by_its_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.counts"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"x\.counts (is not a file of counts|has version 2)"):
        CountsReader(str(path))


def test_a_folder_without_counts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TokkitError, match=r"no files that end in \.counts"):
        CountFiles(tmp_path)
    with pytest.raises(OptionError, match="standard input"):
        build_counts("-", tmp_path)
    empty = tmp_path / "empty.txt"
    empty.touch()
    assert build_counts(empty, tmp_path / "counts")[0].words == 0
    with pytest.raises(CorpusError, match="no word"):
        train(CountFiles(tmp_path / "counts"))
    assert count_files.MIN_MEMORY < 1 << 24
