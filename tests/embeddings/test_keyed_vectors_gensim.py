"""KeyedVectors gives what gensim's gives for equal calls: results, or types of exceptions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.extras import extra
from tokkit.embeddings import KeyedVectors

gensim = extra("gensim.models.keyedvectors")
VECTORS = np.random.default_rng(5).standard_normal((200, 12)).astype(np.float32)
KEYS = [f"Word{i}" for i in range(200)]
COUNTS = np.random.default_rng(6).integers(1, 50, 200)
V = VECTORS[3] * 2

CALLS: dict[str, Callable[[Any], object]] = {
    "len": len,
    "in": lambda kv: ["Word3" in kv, "x" in kv, 3 in kv, 200 in kv],
    "vector": lambda kv: kv["Word3"],
    "vectors": lambda kv: kv[["Word3", 5]],
    "unknown": lambda kv: kv["x"],
    "unknown vectors": lambda kv: kv[["Word3", "x"]],
    "get_vector norm": lambda kv: kv.get_vector("Word3", norm=True),
    "get_index": lambda kv: [kv.get_index("Word9"), kv.get_index(8), kv.get_index("x", -1)],
    "get_index unknown": lambda kv: kv.get_index("x"),
    "get_index beyond": lambda kv: kv.get_index(200),
    "has_index_for": lambda kv: [kv.has_index_for("Word0"), kv.has_index_for("x")],
    "mean": lambda kv: kv.get_mean_vector(["Word0", "Word1"]),
    "mean weighted": lambda kv: kv.get_mean_vector(["Word0", V, "x"], weights=[1, -2.5, 3]),
    "mean plain": lambda kv: kv.get_mean_vector(["Word0", "Word1"], pre_normalize=False, post_normalize=True),
    "mean of nothing": lambda kv: kv.get_mean_vector([]),
    "mean of unknown": lambda kv: kv.get_mean_vector(["x"]),
    "mean strict": lambda kv: kv.get_mean_vector(["x"], ignore_missing=False),
    "mean weights differ": lambda kv: kv.get_mean_vector(["Word0"], weights=[1, 2]),
    "count": lambda kv: kv.get_vecattr("Word4", "count"),
    "count unknown": lambda kv: kv.get_vecattr("x", "count"),
    "no attribute": lambda kv: kv.get_vecattr("Word4", "nothing"),
    "normed": lambda kv: kv.get_normed_vectors(),
    "most_similar": lambda kv: kv.most_similar("Word3"),
    "most_similar list": lambda kv: kv.most_similar(["Word3", "Word4"], topn=3),
    "most_similar both": lambda kv: kv.most_similar(positive=["Word1", "Word2"], negative=["Word3"]),
    "most_similar negative": lambda kv: kv.most_similar(negative="Word3"),
    "most_similar vector": lambda kv: kv.most_similar(V),
    "most_similar vectors": lambda kv: kv.most_similar(VECTORS[:2]),
    "most_similar short vector": lambda kv: kv.most_similar(V[:3]),
    "most_similar weights": lambda kv: kv.most_similar([("Word1", 0.3), ("Word2", 2.0)], [(V, -0.5)]),
    "most_similar row": lambda kv: kv.most_similar([7], topn=4),
    "most_similar all": lambda kv: kv.most_similar("Word3", topn=None),
    "most_similar none": lambda kv: kv.most_similar("Word3", topn=0),
    "most_similar many": lambda kv: kv.most_similar("Word3", topn=10_000),
    "most_similar unknown": lambda kv: kv.most_similar("x"),
    "most_similar nothing": lambda kv: kv.most_similar(),
    "restrict_vocab": lambda kv: kv.most_similar("Word3", restrict_vocab=20),
    "clip": lambda kv: kv.most_similar("Word3", clip_start=10, clip_end=50),
    "clip from the end": lambda kv: kv.most_similar("Word3", clip_start=-10),
    "similar_by_word": lambda kv: kv.similar_by_word("Word3", topn=2),
    "similar_by_key": lambda kv: kv.similar_by_key("Word3", topn=2, restrict_vocab=100),
    "similar_by_vector": lambda kv: kv.similar_by_vector(V, topn=2),
    "cosmul": lambda kv: kv.most_similar_cosmul(["Word1", "Word2"], ["Word3"]),
    "cosmul one": lambda kv: kv.most_similar_cosmul("Word1", topn=5),
    "cosmul vector": lambda kv: kv.most_similar_cosmul([V, "Word1"], "Word2", topn=5),
    "cosmul all": lambda kv: kv.most_similar_cosmul("Word1", topn=None),
    "cosmul none": lambda kv: kv.most_similar_cosmul("Word1", topn=0),
    "cosmul nothing": lambda kv: kv.most_similar_cosmul(),
    "cosmul unknown": lambda kv: kv.most_similar_cosmul("x"),
    "similarity": lambda kv: kv.similarity("Word1", "Word2"),
    "similarity unknown": lambda kv: kv.similarity("Word1", "x"),
    "distance": lambda kv: kv.distance("Word1", "Word2"),
    "distances": lambda kv: kv.distances("Word1"),
    "distances some": lambda kv: kv.distances("Word1", ["Word5", "Word6"]),
    "distances vector": lambda kv: kv.distances(V, ["Word5"]),
    "distances unknown": lambda kv: kv.distances("Word1", ["x"]),
    "n_similarity": lambda kv: kv.n_similarity(["Word1", "Word2"], ["Word3"]),
    "n_similarity empty": lambda kv: kv.n_similarity([], ["Word3"]),
    "cosine_similarities": lambda kv: kv.cosine_similarities(V, VECTORS),
    "doesnt_match": lambda kv: kv.doesnt_match(["Word1", "Word2", "Word3", "x"]),
    "doesnt_match nothing": lambda kv: kv.doesnt_match(["x"]),
    "centrality": lambda kv: kv.rank_by_centrality(["Word1", "Word2", "Word3"]),
    "centrality plain": lambda kv: kv.rank_by_centrality(["Word1", "Word2", "Word3"], use_norm=False),
    "closer_than": lambda kv: kv.closer_than("Word1", "Word2"),
    "rank": lambda kv: kv.rank("Word1", "Word2"),
    "rank unknown": lambda kv: kv.rank("Word1", "x"),
    "given": lambda kv: kv.most_similar_to_given("Word1", ["Word2", "Word3", "Word4"]),
    "relative": lambda kv: kv.relative_cosine_similarity("Word1", "Word2", topn=5),
    "relative none": lambda kv: kv.relative_cosine_similarity("Word1", "Word2", topn=0),
}


def add_vectors(kv: Any) -> None:
    kv.add_vectors(["a", "Word1"], [V, V])


def replace(kv: Any) -> None:
    kv.add_vectors(["a", "Word1"], [V, V], replace=True)


def set_item(kv: Any) -> None:
    kv["Word1"] = V
    kv[["Word2", "b"]] = VECTORS[:2]


def add_vector(kv: Any) -> None:
    kv.add_vector("a", V)


def set_attribute(kv: Any) -> None:
    kv.set_vecattr("Word1", "count", 1000)
    kv.set_vecattr("Word2", "share", 0.5)


def set_of_another_type(kv: Any) -> None:
    kv.set_vecattr("Word1", "count", "many")


def of_another_length(kv: Any) -> None:
    kv.add_vectors(["a"], [[1, 2]])


def sort(kv: Any) -> None:
    kv.sort_by_descending_frequency()


def normalize(kv: Any) -> None:
    kv.unit_normalize_all()


CHANGES = [add_vectors, replace, set_item, add_vector, set_attribute, set_of_another_type, of_another_length]
CHANGES += [sort, normalize]


def theirs(count: int = 0) -> Any:
    made = gensim.KeyedVectors(12, count)
    made.add_vectors(KEYS, VECTORS)
    for key, n in zip(KEYS, COUNTS, strict=True):
        made.set_vecattr(key, "count", n)
    return made


def ours() -> KeyedVectors:
    return KeyedVectors.of(KEYS, VECTORS.copy(), COUNTS)


THEIRS = theirs()


def result(call: Callable[[Any], object], kv: Any) -> tuple[str, object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "gives", call(kv)
        except Exception as error:
            return "raises", next(
                kind
                for kind in (KeyError, ZeroDivisionError, TypeError, ValueError, Exception)
                if isinstance(error, kind)
            )


def same(mine: Any, other: Any) -> None:
    if isinstance(other, (list, tuple)):
        assert isinstance(mine, type(other))
        assert len(mine) == len(other)
        for a, b in zip(mine, other, strict=True):
            same(a, b)
    elif isinstance(other, (float, np.floating, np.ndarray)):
        assert np.shape(mine) == np.shape(other)
        np.testing.assert_allclose(mine, other, atol=2e-6)
    else:
        assert mine == other


@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_what_gensims_gives(name: str) -> None:
    same(result(CALLS[name], ours()), result(CALLS[name], THEIRS))


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_leaves_what_gensims_leaves(change: Callable[[Any], None]) -> None:
    mine, other = ours(), theirs()
    same(result(change, mine), result(change, other))
    if change is of_another_length:  # gensim has added the key before it fails
        return
    assert mine.index_to_key == other.index_to_key
    assert mine.key_to_index == other.key_to_index
    same(mine.vectors, other.vectors)
    same(mine.most_similar("Word1"), other.most_similar("Word1") if change is normalize else refreshed(other))
    if change not in (add_vectors, replace, set_item):  # where gensim leaves attributes shorter than the keys
        assert set(mine.expandos) == set(other.expandos)
        for attribute, values in other.expandos.items():
            assert mine.expandos[attribute].tolist() == values.tolist()


def refreshed(kv: Any) -> Any:
    kv.fill_norms(force=True)
    return kv.most_similar("Word1")


def test_vectors_for_all_gives_what_gensims_gives() -> None:
    keys = ["Word7", "x", "Word3", "Word7"]
    for copied in (False, True):
        mine = ours().vectors_for_all(keys, copy_vecattrs=copied)
        other = THEIRS.vectors_for_all(keys, copy_vecattrs=copied)
        assert mine.index_to_key == other.index_to_key
        same(mine.vectors, other.vectors)
        assert mine.expandos["count"].tolist() == other.expandos["count"].tolist()


def test_rows_without_keys_are_filled_as_gensim_fills_them() -> None:
    mine, other = KeyedVectors(2, count=3), gensim.KeyedVectors(2, count=3)
    for kv in (mine, other):
        kv.add_vector("a", [1, 2])
        kv.add_vectors(["b"], [[3, 4]])
    assert mine.index_to_key == other.index_to_key
    same(mine.vectors, other.vectors)


FORMATS = [{"binary": True}, {}, {"write_header": False}, {"prefix": "*"}]


@pytest.mark.parametrize("options", FORMATS, ids=str)
def test_files_are_those_of_gensim_to_the_byte_and_each_reads_the_others(
    options: dict[str, Any], tmp_path: Path
) -> None:
    mine, other = tmp_path / "mine", tmp_path / "theirs"
    ours().save_word2vec_format(mine, fvocab=tmp_path / "counts", **options)
    THEIRS.save_word2vec_format(str(other), fvocab=str(tmp_path / "their counts"), **options)
    assert mine.read_bytes() == other.read_bytes()
    assert (tmp_path / "counts").read_bytes() == (tmp_path / "their counts").read_bytes()
    how = {"binary": options.get("binary", False), "no_header": not options.get("write_header", True)}
    for more in ({}, {"limit": 3}, {"fvocab": str(tmp_path / "counts")}, {"datatype": np.float64}):
        expected = gensim.KeyedVectors.load_word2vec_format(str(other), **how, **more)
        found = KeyedVectors.load_word2vec_format(mine, **how, **more)
        assert found.index_to_key == expected.index_to_key
        # Numbers are float32 here before they become another type.
        np.testing.assert_array_equal(found.vectors, expected.vectors.astype(np.float32))
        assert found.vectors.dtype == (expected.vectors.dtype if "datatype" in more else np.float32)
        assert found.expandos["count"].tolist() == expected.expandos["count"].tolist()


def test_what_gensim_saves_itself_is_refused_with_the_way_to_export_it(tmp_path: Path) -> None:
    THEIRS.save(str(tmp_path / "words.kv"))
    with pytest.raises(ValueError, match=r"words\.kv: this is a pickle.*save_word2vec_format"):
        KeyedVectors.load(tmp_path / "words.kv")


def analogy_file(path: Path) -> str:
    rng, words = np.random.default_rng(3), [*KEYS[:40], "word1", "unknown"]
    lines = [": first"]
    for i in range(120):
        a, b, c, d = rng.choice(words, 4, replace=False)
        if i % 3:  # the right answer, so that some are
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                known = all(word in THEIRS for word in (a, b, c))
            d = THEIRS.most_similar([b, c], [a], topn=1, restrict_vocab=100)[0][0] if known else d
        lines.append(f"{a} {b} {c} {d}")
        lines += [": second part", "only three words"] if i == 60 else []
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "options",
    [{}, {"restrict_vocab": 100}, {"restrict_vocab": 100, "case_insensitive": False}, {"dummy4unknown": True}],
    ids=str,
)
def test_analogies_are_answered_as_gensim_answers_them(options: dict[str, Any], tmp_path: Path) -> None:
    path = analogy_file(tmp_path / "analogies.txt")
    mine, other = ours(), THEIRS
    found, expected = (kv.evaluate_word_analogies(path, **options) for kv in (mine, other))
    assert found == expected
    assert 0 < found[0] < 1


@pytest.mark.parametrize("options", [{}, {"dummy4unknown": True}, {"case_insensitive": False}, {"restrict_vocab": 50}])
def test_judged_pairs_correlate_as_with_gensim(options: dict[str, Any], tmp_path: Path) -> None:
    rng, path = np.random.default_rng(4), tmp_path / "pairs.tsv"
    lines = ["# comment", "Word 1\tWord 2\tHuman"]
    for _ in range(80):
        a, b = rng.choice([*KEYS[:80], "word5", "unknown"], 2, replace=False)
        lines.append(f"{a}\t{b}\t{rng.integers(0, 20) / 2}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found, expected = (kv.evaluate_word_pairs(str(path), **options) for kv in (ours(), THEIRS))
    for mine, other in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(list(mine), list(other), atol=1e-6)
    assert found[2] == pytest.approx(expected[2])
