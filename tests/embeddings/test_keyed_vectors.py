"""KeyedVectors: look-up, changes, exact neighbours, and errors."""

from __future__ import annotations

import copy
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokkit._core.embed.vector_file import PackedKeys
from tokkit.embeddings import KeyedVectors
from tokkit.errors import OptionError, ShapeError


def draw(n: int = 300, d: int = 20, seed: int = 0) -> KeyedVectors:
    vectors = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
    return KeyedVectors.of([f"w{i}" for i in range(n)], vectors, np.arange(n, 0, -1))


def cosines(vectors: np.ndarray, query: np.ndarray) -> np.ndarray:
    wide, by = vectors.astype(np.float64), query.astype(np.float64)
    return wide @ by / np.linalg.norm(wide, axis=1) / np.linalg.norm(by)


def test_keys_and_rows_belong_together() -> None:
    words = draw()
    assert len(words) == 300
    assert words.vector_size == 20
    assert words.key_to_index["w7"] == words.get_index("w7") == words.get_index(7) == 7
    assert words.index_to_key[7] == "w7"
    np.testing.assert_array_equal(words["w7"], words.vectors[7])
    np.testing.assert_array_equal(words[["w7", "w0"]], words.vectors[[7, 0]])
    assert words.get_vecattr("w7", "count") == 293
    assert "w300" not in words
    with pytest.raises(KeyError, match="Key 'w300' not present"):
        words["w300"]
    with pytest.raises(ValueError, match="read-only"):
        words["w7"][0] = 1


def test_of_takes_the_matrix_without_a_copy_and_says_what_does_not_fit() -> None:
    vectors = np.ones((2, 3), dtype=np.float32)
    assert KeyedVectors.of(["a", "b"], vectors).vectors is vectors
    with pytest.raises(ShapeError, match="1 keys and 2 vectors"):
        KeyedVectors.of(["a"], vectors)
    with pytest.raises(OptionError, match="'a' is given twice, at 0 and 1"):
        KeyedVectors.of(["a", "a"], vectors)
    with pytest.raises(ShapeError, match=r"shape \(3,\)"):
        KeyedVectors.of(["a", "b", "c"], vectors[0])
    with pytest.raises(TypeError, match="int64"):
        KeyedVectors.of(["a", "b"], vectors.astype(np.int64))
    with pytest.raises(ShapeError, match="counts"):
        KeyedVectors.of(["a", "b"], vectors, [1])
    with pytest.raises(OptionError, match="vector_size is 0"):
        KeyedVectors(0)


@pytest.mark.parametrize(("start", "end"), [(0, None), (10, 250), (299, 300), (0, 1)])
@pytest.mark.parametrize("topn", [1, 10, 1000])
def test_neighbours_are_those_of_float64(start: int, end: int | None, topn: int) -> None:
    words = draw()
    expected = cosines(words.vectors[start:end], unit(words["w3"]) - unit(words["w5"]))
    order = [i for i in np.argsort(-expected, kind="stable") if i + start not in (3, 5)][:topn]
    found = words.most_similar("w3", "w5", topn=topn, clip_start=start, clip_end=end)
    assert [key for key, _ in found] == [f"w{i + start}" for i in order]
    np.testing.assert_allclose([score for _, score in found], expected[order], atol=1e-6)


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def test_lengths_do_not_matter_however_far_apart() -> None:
    words = draw()
    expected = [key for key, _ in words.most_similar("w0", topn=50)]
    scale = 10.0 ** np.random.default_rng(1).uniform(-30, 30, 300)
    scaled = KeyedVectors.of(words.index_to_key, (words.vectors * scale[:, np.newaxis]).astype(np.float32))
    assert [key for key, _ in scaled.most_similar("w0", topn=50)] == expected


def test_equal_vectors_come_in_their_order_and_zeros_last() -> None:
    vectors = np.tile(np.array([[1, 2]], dtype=np.float32), (400, 1))
    vectors[::2] = 0
    vectors[[1, 3]] = 7, 14  # of the same direction
    words = KeyedVectors.of(list(range(1000, 1400)), vectors)
    found = words.most_similar([np.array([1, 2], dtype=np.float32)], topn=400)
    assert [key - 1000 for key, _ in found] == [*range(1, 400, 2), *range(0, 400, 2)]
    assert np.isnan(found[-1][1])
    assert found[0][1] == pytest.approx(1)


def test_vectors_that_are_not_float32_are_searched_too() -> None:
    words = draw()
    for dtype in (np.float16, np.float64):
        other = KeyedVectors.of(words.index_to_key, words.vectors.astype(dtype))
        found = other.most_similar("w1", topn=3)
        assert [key for key, _ in found] == [key for key, _ in words.most_similar("w1", topn=3)]


def test_vectors_are_added_and_replaced() -> None:
    words = draw(4, 2)
    words.most_similar("w0")
    words.add_vectors(["new", "w1", "new"], [[1, 0], [5, 5], [9, 9]], extras={"count": np.array([7, 8, 9])})
    assert words.index_to_key == ["w0", "w1", "w2", "w3", "new"]
    assert words["new"].tolist() == [1, 0]
    assert words["w1"].tolist() != [5, 5]
    assert words.get_vecattr("new", "count") == 7
    assert words.get_vecattr("w1", "count") == 3
    words["w1"] = np.array([5, 5])
    assert words["w1"].tolist() == [5, 5]
    assert words.similar_by_vector(np.array([1.0, 1.0]), topn=1)[0][0] == "w1"
    with pytest.raises(ShapeError, match=r"\(1, 2\)"):
        words.add_vectors(["x"], [[1, 2, 3]])
    assert "x" not in words


def test_rows_without_keys_are_filled_first_and_then_the_matrix_grows() -> None:
    words = KeyedVectors(2, count=1)
    assert words.add_vector("a", [1, 2]) == 0
    with pytest.warns(UserWarning, match="copies the matrix"):
        assert words.add_vector("b", [3, 4]) == 1
    assert words.vectors.tolist() == [[1, 2], [3, 4]]


def test_a_mapped_matrix_is_copied_before_it_is_changed() -> None:
    words = draw(3, 2)
    before = words.vectors
    before.flags.writeable = False
    words["w0"] = np.array([1.0, 1.0])
    assert words["w0"].tolist() == [1, 1]
    assert before[0].tolist() != [1, 1]
    before = words.vectors
    before.flags.writeable = False
    words.unit_normalize_all()
    np.testing.assert_allclose(np.linalg.norm(words.vectors, axis=1), 1, rtol=1e-6)


def test_attributes_have_one_type_each() -> None:
    words = draw(3, 2)
    words.set_vecattr("w1", "tag", "noun")
    assert words.get_vecattr("w1", "tag") == "noun"
    with pytest.raises(TypeError, match="'count' has values of int64"):
        words.set_vecattr("w1", "count", 0.5)
    with pytest.raises(KeyError):
        words.get_vecattr("w1", "colour")


def test_sorting_by_counts_moves_vectors_and_attributes() -> None:
    words = draw(5, 2)
    for key, count in (("w3", 100), ("w0", 1)):
        words.set_vecattr(key, "count", count)
    before = words["w3"].copy()
    words.sort_by_descending_frequency()
    assert words.index_to_key == ["w3", "w1", "w2", "w4", "w0"]
    assert words.get_vecattr("w3", "count") == 100
    np.testing.assert_array_equal(words["w3"], before)


def test_what_is_not_supported_says_what_is() -> None:
    with pytest.raises(OptionError, match=r"tokkit\.search\.Index"):
        draw().most_similar("w0", indexer=object())  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"shape \(3,\); it must be \(20,\)"):
        draw().most_similar(np.ones(3))
    with pytest.raises(OptionError, match="NaN"):
        draw().most_similar(np.full(20, np.nan))
    zero = KeyedVectors.of(["a", "b"], np.array([[0, 0], [1, 0]], dtype=np.float32))
    with pytest.raises(OptionError, match=r"the query \('a'\) has .* a key whose vector is 0: it has no direction"):
        zero.most_similar("a")
    assert KeyedVectors(3).most_similar(np.ones(3)) == []


def test_no_query_warns() -> None:
    words = draw()
    words.vectors[5] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        words.most_similar("w0", topn=None)
        words.most_similar("w0")
        words.most_similar_cosmul("w0", "w2")
        words.distances("w0")


@pytest.fixture
def loaded(tmp_path: Path) -> KeyedVectors:
    """Vectors of a file: their keys are packed, and no strings."""
    draw().save_word2vec_format(tmp_path / "v.bin", binary=True)
    return KeyedVectors.load(tmp_path / "v.bin")


def test_keys_of_a_file_are_found_without_a_list_of_them(loaded: KeyedVectors) -> None:
    made = draw()
    assert (len(loaded), loaded.get_index("w299"), loaded.get_index("w", -1), loaded.get_index(7)) == (300, 299, -1, 7)
    assert ("w299" in loaded, "w300" in loaded, "\ud800" in loaded, "" in loaded) == (True, False, False, False)
    assert loaded.most_similar("w7") == made.most_similar("w7")
    assert loaded.closer_than("w7", "w8") == made.closer_than("w7", "w8")
    for again in (pickle.loads(pickle.dumps(loaded)), copy.deepcopy(loaded)):
        assert again.get_index("w123") == 123
        assert again.index_to_key == made.index_to_key
    assert loaded._packed is not None, "none of this makes the strings"


def test_the_list_and_the_dict_of_a_files_keys_are_made_when_they_are_used(loaded: KeyedVectors) -> None:
    assert type(loaded.index_to_key) is list
    assert loaded.index_to_key == [f"w{i}" for i in range(300)]
    assert loaded.key_to_index == {f"w{i}": i for i in range(300)}
    loaded.add_vectors(["new"], np.ones((1, 20), dtype=np.float32))
    assert (loaded.get_index("new"), loaded.index_to_key[-1], len(loaded)) == (300, "new", 301)


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=4), unique=True), st.text(max_size=4))
def test_packed_keys_are_a_list_and_a_dict(keys: list[str], other: str) -> None:
    joined = [key.encode() for key in keys]
    packed = PackedKeys(b"".join(joined), np.cumsum([0, *map(len, joined)]).astype(np.int64).tobytes())
    assert (len(packed), list(packed), packed.unpacked()) == (
        len(keys),
        keys,
        (keys, {k: i for i, k in enumerate(keys)}),
    )
    assert [packed[i] for i in range(-len(keys), len(keys))] == keys + keys
    assert [packed.find(key) for key in [*keys, other, 5]] == [
        *range(len(keys)),
        keys.index(other) if other in keys else -1,
        -1,
    ]
    with pytest.raises(IndexError):
        packed[len(keys)]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([b"a", b"b", b"a"], "twice"),
        ([b"a", b"\xff"], "not valid UTF-8"),
        ([b"\xc3", b"\xa9"], "not valid UTF-8"),  # joined they are
        ([b"\xed\xa0\x80"], "not valid UTF-8"),
        ([b"a", b""], "empty"),
    ],
)
def test_packed_keys_differ_and_are_text(keys: list[bytes], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PackedKeys(b"".join(keys), np.cumsum([0, *map(len, keys)]).astype(np.int64).tobytes())
    for offsets in ([0, 9], [1, 2], [0, 900, 2], [0, -1, 2]):
        with pytest.raises(ValueError, match=r"offsets|empty"):
            PackedKeys(b"ab", np.array(offsets, dtype=np.int64).tobytes())


def test_the_distance_of_documents_needs_scipy_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(OptionError, match=r"wmdistance needs scipy \(pip install 'pytokkit\[counts\]'\)"):
        draw().wmdistance(["w1"], ["w2"])
    assert draw().wmdistance(["w1"], ["unknown"]) == float("inf")
