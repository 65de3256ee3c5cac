"""Mixtures weight the words of sources exactly, from text and from files of counts, in any order."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from reference.mixtures import weighted
from tokkit._core.train.count_runs import CountMerge
from tokkit.corpus.counts_file import CountsReader
from tokkit.corpus.weights import by_temperature, integers, temperature_of, weight_of
from tokkit.errors import CorpusError, OptionError
from tokkit.trainers import CountFiles, Mixture, build_counts, merge_counts, options_of, train

WORDS = ["low", "lower", "lowest", "new", "newer", "straße", "日本語", "α"]
WEIGHTS = {"de": "2", "th": "1/3", "el": 0.25}
EXACT = {"de": Fraction(2), "th": Fraction(1, 3), "el": Fraction(1, 4)}
BBPE = options_of("bbpe", {})


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Four sources, of which one has two files."""
    folder = tmp_path_factory.mktemp("texts")
    made: dict[str, list[Path]] = {}
    for seed, name in enumerate(["de", "th", "el", "en", "de"]):
        drawn = random.Random(seed)
        path = folder / f"{name}-{seed}.txt"
        path.write_text("".join(f" {drawn.choice(WORDS)}" for _ in range(100 * seed + 50)) + f" only{name}\n")
        made.setdefault(name, []).append(path)
    return made


@pytest.fixture(scope="module")
def counts(texts: dict[str, list[Path]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counts")
    build_counts(texts, folder)
    return folder


def counted(path: object) -> dict[bytes, int]:
    return dict(CountFiles(path).table(BBPE).items())


def expected(counts: Path, weights: dict[str, Fraction]) -> dict[bytes, int]:
    by_source: dict[str, Counter[bytes]] = {}
    for file in counts.iterdir():
        name = CountsReader(str(file)).header.sources[0]["source"]
        by_source.setdefault(name, Counter()).update(counted(file))
    return weighted(by_source, weights)


@pytest.mark.parametrize("weights", [{"de": 2, "th": 5}, {"th": 0.5}, WEIGHTS, {"el": Decimal("0.001")}, {}])
def test_counts_are_the_weighted_sums_of_exact_fractions(
    weights: dict[str, Any], texts: dict[str, list[Path]], counts: Path, tmp_path: Path
) -> None:
    twin = expected(counts, {name: weight_of(name, weight) for name, weight in weights.items()})
    merge_counts(counts, tmp_path / "all.counts", weights=weights)
    assert counted(tmp_path / "all.counts") == twin
    assert dict(CountFiles(counts, weights=weights).table(BBPE).items()) == twin
    assert dict(Mixture(texts, weights=weights).table(BBPE, threads=2).items()) == twin


def test_integers_are_what_repeating_the_texts_would_give(texts: dict[str, list[Path]], tmp_path: Path) -> None:
    repeated = tmp_path / "repeated.txt"
    times = {"de": 3, "th": 2}
    repeated.write_text("".join(p.read_text() * times.get(name, 1) for name, of in texts.items() for p in of))
    mixed = train(Mixture(texts, weights=times), vocab_size=290)
    assert mixed.fingerprint() == train([repeated], vocab_size=290).fingerprint()


@pytest.mark.parametrize("how", [{"weights": WEIGHTS}, {"temperature": 3}, {"temperature": "inf"}])
@pytest.mark.parametrize("model", ["bbpe", "wordpiece", "unigram"])
def test_texts_counts_and_merged_counts_in_any_order_train_to_the_same(
    model: str, how: dict[str, Any], texts: dict[str, list[Path]], tmp_path: Path
) -> None:
    options: dict[str, Any] = {"model": model, "vocab_size": 280 if model == "bbpe" else 40}
    if model == "unigram":
        options["hard_vocab_limit"] = False
    backwards = {name: of[::-1] for name, of in reversed(texts.items())}
    build_counts(texts, tmp_path / "counts", model=model)
    merge_counts(tmp_path / "counts", tmp_path / "a.counts", threads=2, **how)
    files = sorted((tmp_path / "counts").iterdir(), reverse=True)
    merge_counts(files, tmp_path / "b.counts", threads=1, **how)
    assert (tmp_path / "a.counts").read_bytes() == (tmp_path / "b.counts").read_bytes()
    sources = [
        Mixture(texts, **how), Mixture(backwards, **how), CountFiles(tmp_path / "counts", **how),
        CountFiles(tmp_path / "a.counts"),
    ]  # fmt: skip
    assert len({train(source, **options).fingerprint() for source in sources}) == 1


def test_a_temperature_raises_the_shares_of_bytes_to_a_power(texts: dict[str, list[Path]]) -> None:
    mixture = Mixture(texts, temperature=2)
    mixture.table(BBPE)
    greatest = max(part.bytes for part in mixture.parts)
    for part in mixture.parts:
        assert part.bytes == sum(path.stat().st_size for path in texts[part.name])
        assert abs(float(part.weight) - (greatest / part.bytes) ** 0.5) <= 0.0005
    equal = by_temperature({part.name: part.bytes for part in mixture.parts}, temperature_of("inf"))
    assert all(abs(part.bytes * equal[part.name] - greatest) <= part.bytes * 0.0005 for part in mixture.parts)
    assert set(by_temperature({"a": 1, "b": 10**6}, Decimal(1)).values()) == {1}


def test_names_can_be_given_when_counts_are_added(texts: dict[str, list[Path]], tmp_path: Path) -> None:
    for name, paths in texts.items():
        build_counts(paths, tmp_path / name)
    folders = {name: tmp_path / name for name in texts}
    merge_counts(folders, tmp_path / "all.counts", weights=WEIGHTS)
    build_counts(texts, tmp_path / "named")
    merge_counts(tmp_path / "named", tmp_path / "same.counts", weights=WEIGHTS)
    assert (tmp_path / "all.counts").read_bytes() == (tmp_path / "same.counts").read_bytes()


def test_a_shard_that_gets_another_name_is_not_counted_again(texts: dict[str, list[Path]], tmp_path: Path) -> None:
    build_counts(texts, tmp_path / "counts")
    before = {file: counted(file) for file in (tmp_path / "counts").iterdir()}
    made = build_counts({f"{name}2": of for name, of in texts.items()}, tmp_path / "counts")
    assert not any(shard.counted for shard in made)
    assert {file: counted(file) for file in (tmp_path / "counts").iterdir()} == before
    names = {shard["source"] for shard in CountFiles(tmp_path / "counts").header.sources}
    assert names == {"de2", "th2", "el2", "en2"}
    build_counts(texts, tmp_path / "counts")
    fresh = tmp_path / "fresh"
    build_counts(texts, fresh)
    assert all(file.read_bytes() == (fresh / file.name).read_bytes() for file in (tmp_path / "counts").iterdir())


def test_a_minimum_is_of_the_weighted_sum(counts: Path, tmp_path: Path) -> None:
    merge_counts(counts, tmp_path / "some.counts", weights=WEIGHTS, min_count=20)
    found = counted(tmp_path / "some.counts")
    assert found == {word: n for word, n in expected(counts, EXACT).items() if n >= 20}


def test_rounded_counts_are_not_added_and_weighted_ones_not_weighted(counts: Path, tmp_path: Path) -> None:
    whole, rounded = tmp_path / "whole.counts", tmp_path / "rounded.counts"
    others = [file for file in counts.iterdir() if "en-3" in file.name]
    some = [file for file in counts.iterdir() if "en-3" not in file.name]
    merge_counts(some, whole, weights={"de": 2})
    merge_counts(some, rounded, weights={"de": 0.5})
    merge_counts([whole, *others], tmp_path / "both.counts")
    assert counted(tmp_path / "both.counts") == expected(counts, {"de": Fraction(2)})
    with pytest.raises(CorpusError, match=r"rounded\.counts has counts that were rounded.*weighted by 0.5"):
        CountFiles([rounded, *others])
    with pytest.raises(CorpusError, match=r"whole\.counts has counts that were already weighted"):
        merge_counts(whole, tmp_path / "no.counts", weights={"de": 3})
    assert not (tmp_path / "no.counts").exists()


def test_sources_that_were_added_together_cannot_be_weighted_apart(counts: Path, tmp_path: Path) -> None:
    merge_counts(counts, tmp_path / "all.counts")
    assert merge_counts(tmp_path / "all.counts", tmp_path / "same.counts", weights={}).total
    for how in ({"weights": {"de": 2}}, {"temperature": 2}):
        with pytest.raises(CorpusError, match="which cannot be weighted separately"):
            merge_counts(tmp_path / "all.counts", tmp_path / "no.counts", **how)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"weights": {"fr": 2}}, "fr has a weight, but no source has this name; the sources are de, th, el, en"),
        ({"weights": {"de": 2}, "temperature": 2}, "not both"),
        ({"weights": {"de": 0}}, "the weight of de is 0; it must be above 0"),
        ({"weights": {"de": "much"}}, "the weight of de is 'much'; it must be a number"),
        ({"weights": {"de": True}}, "the weight of de is True"),
        ({"weights": {"de": float("nan")}}, "the weight of de is nan"),
        ({"weights": {"de": "1e999999999"}}, "the weight of de is '1e999999999'"),
        ({"weights": {"de": "1e-9"}}, "a denominator of at most"),
        ({"weights": {"de": "1/0"}}, "the weight of de is '1/0'"),
        ({"weights": [2]}, r"weights is \[2\]"),
        ({"temperature": 0.9}, "temperature is 0.9; it must be a number of at least 1, or inf"),
        ({"temperature": "hot"}, "temperature is 'hot'"),
        ({"temperature": float("nan")}, "temperature is nan"),
    ],
)
def test_a_wrong_weight_or_temperature_is_named(
    how: dict[str, Any], message: str, texts: dict[str, list[Path]]
) -> None:
    with pytest.raises(OptionError, match=message):
        Mixture(texts, **how)


def test_sources_that_cannot_be_mixed_are_named(texts: dict[str, list[Path]], tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="is given twice"):
        Mixture({"a": texts["de"], "b": texts["de"]})
    with pytest.raises(OptionError, match=r"the sources are .*; they must be"):
        Mixture({})
    with pytest.raises(OptionError, match="standard input cannot be a source"):
        Mixture({"a": "-"})
    with pytest.raises(OptionError, match="depends on the order"):
        train(Mixture(texts), model="bpe", vocab_size=300)
    with pytest.raises(OptionError, match="common denominator"):
        integers([Fraction(1, 999_983), Fraction(1, 999_979)])
    (tmp_path / "empty.txt").touch()
    with pytest.raises(CorpusError, match="no text"):
        train(Mixture({"a": tmp_path / "empty.txt"}, temperature=2), vocab_size=300)
    build_counts(texts["de"], tmp_path / "unnamed")
    with pytest.raises(CorpusError, match="a source without a name"):
        CountFiles(tmp_path / "unnamed", temperature=2).table(BBPE)


def test_a_product_that_no_number_holds_is_an_error() -> None:
    merge = CountMerge(1, factors=[1 << 40], divisor=3)
    merge.run(100)
    merge.feed(b"\x00\x01a" + b"\xff" * 4 + b"\x7f")
    with pytest.raises(OverflowError):
        merge.run(100)
    for factors, divisor in (([0], 1), ([1, 1], 1), ([1], 0)):
        with pytest.raises(ValueError, match="at least 1"):
            CountMerge(1, factors=factors, divisor=divisor)
