"""N-best and sampled segmentations, compared with a list of all of them and with sentencepiece."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest

from conftest import LONG
from reference.sentencepiece_viterbi import scores
from sentencepiece_models import by_chance, strings, text_by_chance, trained
from tokkit.engine.segmentations import Segmentations
from tokkit.engine.sentencepiece import encoder_of
from tokkit.errors import OptionError
from tokkit.formats.sentencepiece import read_model
from tokkit.models.sentencepiece import SentencePieceModel


def every_way(model: SentencePieceModel, text: str) -> list[tuple[tuple[str, ...], float]]:
    """All segmentations of a normalized text, and their scores."""
    pieces, unknown = scores(model)
    if not text:
        return [((), 0.0)]
    firsts = [(text[:n], float(pieces[text[:n]][1])) for n in range(1, len(text) + 1) if text[:n] in pieces]
    if text[0] not in pieces:
        firsts.append((text[0], float(unknown)))
    return [((f, *rest), s + t) for f, s in firsts for rest, t in every_way(model, text[len(f) :])]


def cases(n: int, most: int) -> list[tuple[SentencePieceModel, str]]:
    found = []
    for seed in itertools.count():
        model, rng = by_chance(3 * seed + 1, "unigram"), random.Random(seed)
        text = encoder_of(model).segments(text_by_chance(rng, most).encode())[0].decode()
        if 0 < len(text) <= most:
            found.append((model, text))
        if len(found) == n:
            return found
    return found


def test_nbest_are_the_best_of_all() -> None:
    for model, text in cases(60, 9):
        ways = sorted((score for _, score in every_way(model, text)), reverse=True)
        found = Segmentations(model).nbest(text.encode(), 12)
        assert np.allclose([score for _, _, score in found], ways[:12] if len(ways) > 1 else ways, atol=1e-3)
        spans = [tuple(map(tuple, spans.tolist())) for _, spans, _ in found]
        if model.unk_id not in {id_ for ids, _, _ in found for id_ in ids.tolist()}:
            assert len(set(spans)) == len(spans)


def test_entropy_is_that_of_all_segmentations() -> None:
    for model, text in cases(60, 9):
        for alpha in (0.0, 0.1, 0.5, 1.0):
            weights = np.array([alpha * score for _, score in every_way(model, text)])
            p = np.exp(weights - weights.max())
            p /= p.sum()
            expected = -sum(x * math.log(x) for x in p if x > 0)
            assert Segmentations(model).entropy(text.encode(), alpha=alpha) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("trap", ["plain", "user", "bytes", "suffix", "kept spaces"])
def test_nbest_are_those_of_sentencepiece(trap: str) -> None:
    """Up to ties of float32, which its heap puts in an order of its own."""
    sentencepiece = pytest.importorskip("sentencepiece")
    blob = trained("unigram", trap)
    theirs, ours = sentencepiece.SentencePieceProcessor(model_proto=blob), Segmentations(read_model(blob))
    same = n = 0
    for text in strings(11, 500 if LONG else 30):
        normalized = theirs.normalize(text).encode()
        if not 0 < len(normalized) < 120:
            continue
        for count in (1, 4, 16):
            ids = theirs.nbest_encode(text, nbest_size=count)
            found = ours.nbest(normalized, count)
            assert len(found) == len(ids)
            if (mine := [ids.tolist() for ids, _, _ in found]) == ids:
                same += 1
            else:
                assert mine[0] == ids[0] or found[0][2] == pytest.approx(found[1][2], abs=1e-3)
                assert len({tuple(x) for x in mine} ^ {tuple(x) for x in ids}) <= count
            n += 1
    assert same > 0.9 * n


def chances(model: SentencePieceModel, text: str, alpha: float) -> dict[tuple[int, ...], float]:
    """How likely each list of ids is."""
    lattice_ids = {pieces: tuple(len(piece.encode()) for piece in pieces) for pieces, _ in every_way(model, text)}
    ways = every_way(model, text)
    weights = np.exp([alpha * (score - max(s for _, s in ways)) for _, score in ways])
    total = weights.sum()
    found: dict[tuple[int, ...], float] = {}
    for (pieces, _), weight in zip(ways, weights, strict=True):
        found[lattice_ids[pieces]] = found.get(lattice_ids[pieces], 0.0) + float(weight / total)
    return found


SIMPLE = dict(zip(("\u2581", "a", "b", "ab", "ba", "aba", "\u2581a", "bab"), range(8), strict=True))


def simple() -> SentencePieceModel:
    model = by_chance(1, "unigram")
    from dataclasses import replace

    from tokkit.vocab import Vocab

    return replace(
        model,
        pieces=Vocab.from_list([b"<unk>", *(text.encode() for text in SIMPLE)]),
        scores=np.array([0, -2, -2.5, -2.25, -3, -3.5, -4, -3.25, -3.75], dtype=np.float32),
        types=np.array([2] + [1] * 8, dtype=np.uint8),
        treat_whitespace_as_suffix=False,
    )


def lengths(spans: np.ndarray) -> tuple[int, ...]:
    return tuple((spans[:, 1] - spans[:, 0]).tolist())


def check_distribution(counts: Counter[tuple[int, ...]], expected: dict[tuple[int, ...], float]) -> None:
    """Each count within five standard deviations."""
    n = counts.total()
    assert set(counts) <= set(expected)
    for way, p in expected.items():
        assert abs(counts[way] - n * p) <= 5 * math.sqrt(n * p * (1 - p)) + 1, way


TEXT = "\u2581ababab"
DRAWS = 20_000


def test_samples_are_as_likely_as_they_should_be() -> None:
    model, rng = simple(), np.random.default_rng(1)
    segmentations = Segmentations(model)
    for alpha in (0.2, 1.0):
        expected = chances(model, TEXT, alpha)
        drawn = segmentations.sample_and_score(TEXT.encode(), n=DRAWS, alpha=alpha, rng=rng)
        check_distribution(Counter(lengths(spans) for _, spans, _ in drawn), expected)
        for _, spans, score in drawn[:50]:
            assert math.exp(score) == pytest.approx(expected[lengths(spans)], rel=1e-4)


def test_samples_of_the_nbest_are_as_likely_as_they_should_be() -> None:
    model, rng = simple(), np.random.default_rng(2)
    segmentations = Segmentations(model)
    best = {lengths(spans) for _, spans, _ in segmentations.nbest(TEXT.encode(), 5)}
    expected = {way: p for way, p in chances(model, TEXT, 0.7).items() if way in best}
    total = sum(expected.values())
    drawn = Counter(
        lengths(segmentations.sample(TEXT.encode(), alpha=0.7, nbest_size=5, rng=rng)[1]) for _ in range(4000)
    )
    check_distribution(drawn, {way: p / total for way, p in expected.items()})


def test_samples_without_replacement_differ_and_are_among_them_as_often_as_their_scores_say() -> None:
    model, rng = simple(), np.random.default_rng(3)
    segmentations, expected = Segmentations(model), chances(simple(), TEXT, 0.5)
    first: Counter[tuple[int, ...]] = Counter()
    estimate: Counter[tuple[int, ...]] = Counter()
    for _ in range(6000):
        drawn = segmentations.sample_and_score(TEXT.encode(), n=3, alpha=0.5, without_replacement=True, rng=rng)
        ways = [lengths(spans) for _, spans, _ in drawn]
        assert len(set(ways)) == 3
        first[ways[0]] += 1
        # Horvitz and Thompson: probability over the chance to be drawn is an estimate of 1 for each way.
        for way, (_, _, score) in zip(ways, drawn, strict=True):
            estimate[way] += expected[way] / math.exp(score)
    check_distribution(first, expected)
    assert estimate.total() / 6000 == pytest.approx(1, abs=0.05)


def test_all_segmentations_can_be_drawn_without_replacement() -> None:
    segmentations, rng = Segmentations(simple()), np.random.default_rng(4)
    ways = chances(simple(), TEXT, 1.0)
    for include_best in (False, True):
        drawn = segmentations.sample_and_score(
            TEXT.encode(), n=1000, alpha=1.0, without_replacement=True, include_best=include_best, rng=rng
        )
        assert {lengths(spans) for _, spans, _ in drawn} == set(ways)
        assert len(drawn) == len(ways)
        assert all(score == 0 for _, _, score in drawn)
    best = segmentations.nbest(TEXT.encode(), 1)[0]
    drawn = segmentations.sample_and_score(
        TEXT.encode(), n=2, alpha=1.0, without_replacement=True, include_best=True, rng=rng
    )
    assert len(drawn) == 2
    assert np.array_equal(drawn[0][1], best[1])
    assert drawn[0][2] == 0 > drawn[1][2]


def test_dropout_leaves_out_merges_with_its_chance() -> None:
    blob = trained("bpe", "plain")
    model, rng = read_model(blob), np.random.default_rng(5)
    segmentations, encoder = Segmentations(model), encoder_of(model)
    text = "\u2581the\u2581one\u2581and\u2581only".encode()
    none, all_, half = (segmentations.sample(text, alpha=a, rng=rng)[0] for a in (0.0, 1.0, 0.5))
    assert none.tolist() == encoder.encode("the one and only")
    assert len(all_) == len(text.decode())
    assert len(none) < len(half) < len(all_)
    # "▁t" is made of its two characters by one merge: the first chance that there is.
    drawn = Counter(len(segmentations.sample("\u2581".encode() + b"t", alpha=0.3, rng=rng)[0]) for _ in range(4000))
    assert abs(drawn[2] / 4000 - 0.3) < 5 * math.sqrt(0.3 * 0.7 / 4000)


def test_one_seed_gives_one_result() -> None:
    for kind in ("unigram", "bpe"):
        segmentations = Segmentations(read_model(trained(kind, "plain")))
        text = "\u2581somewhere\u2581else".encode()
        one, other = (
            [segmentations.sample(text, alpha=0.3, rng=rng)[0].tolist() for _ in range(20)]
            for rng in (np.random.default_rng(6), np.random.default_rng(6))
        )
        assert one == other
        assert len(set(map(tuple, one))) > 1


def test_ways_of_the_same_score_do_not_grow_together() -> None:
    """A run of one character has exponentially many best ways; a few of them cost no more than a few."""
    found = Segmentations(simple()).nbest(b"ab" * 2000, 8)
    assert len(found) == 8
    assert max(score for _, _, score in found) == found[0][2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, r: s.nbest(b"a", 0), "n is 0"),
        (lambda s, r: s.nbest(b"a", True), "n is True"),
        (lambda s, r: s.sample(b"a", alpha=-1.0, rng=r), "alpha is -1.0"),
        (lambda s, r: s.entropy(b"a", alpha=math.nan), "alpha is nan"),
        (lambda s, r: s.sample_and_score(b"a", n=1, alpha=1.0, include_best=True, rng=r), "without_replacement"),
    ],
)
def test_what_has_no_meaning_is_an_error_that_says_so(call: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        call(Segmentations(simple()), np.random.default_rng(0))  # type: ignore[operator]


def test_bpe_has_no_nbest_and_no_entropy() -> None:
    segmentations = Segmentations(read_model(trained("bpe", "plain")))
    with pytest.raises(OptionError, match="n-best is for Unigram models"):
        segmentations.nbest(b"a", 2)
    with pytest.raises(OptionError, match="the entropy is for Unigram models"):
        segmentations.entropy(b"a", alpha=1.0)


def test_nothing_has_one_segmentation() -> None:
    segmentations, rng = Segmentations(simple()), np.random.default_rng(0)
    assert [ids.tolist() for ids, _, _ in segmentations.nbest(b"", 3)] == [[]]
    assert segmentations.entropy(b"", alpha=1.0) == 0
    assert segmentations.sample(b"", alpha=1.0, rng=rng)[0].tolist() == []
