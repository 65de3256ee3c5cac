"""The page of word vectors: its content, and what a browser does with it."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest

from browser import opened, title_of
from tokkit.errors import OptionError, ShapeError, VocabError
from tokkit.view import project, vectors_html
from tokkit.view.projection import MAX_WORDS
from tokkit.view.vectors_page import neighbours

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\u202eevil",
    "a\nb c",
    "$x$",
    "a\ud800",
]


def random_vectors(n: int, d: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


def data_of(page: str) -> dict[str, object]:
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page)[1])


def array(text: str, dtype: str, columns: int) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype).reshape(-1, columns)


def naive_neighbours(vectors: np.ndarray, row: int, k: int) -> list[int]:
    unit = vectors.astype(np.float64) / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit[row]), kind="stable")
    return [int(i) for i in order if i != row][:k]


def test_a_page_holds_points_counts_and_the_neighbours_of_all_keys_and_of_the_drawn_ones() -> None:
    vectors, keys = random_vectors(60), [f"w{i}" for i in range(60)]
    words = ["w7", "w3", "w50", "w3", *keys[20:35]]
    page = vectors_html(keys, vectors, words=words, counts=np.arange(60)[::-1] * 10, title="<Words> & more")
    made, drawn = data_of(page), list(dict.fromkeys(words))
    rows = [keys.index(word) for word in drawn]
    n = len(drawn)
    assert made["words"][:n] == drawn
    assert made["counts"] == [(59 - row) * 10 for row in rows]
    assert made["k"] == [10, 10]
    for place, near in enumerate(array(made["near"][0], "<u4", 10)):
        assert [made["words"][i] for i in near] == [keys[i] for i in naive_neighbours(vectors, rows[place], 10)]
    for place, near in enumerate(array(made["near"][1], "<u4", 10)):
        assert near.tolist() == naive_neighbours(vectors[rows], place, 10)
    assert len(set(made["words"])) == len(made["words"]), "a neighbour that is not drawn is there once"
    points = project(vectors[rows])
    expected = (points - points.min(axis=0)) / np.ptp(points, axis=0).max()
    np.testing.assert_allclose(array(made["points"], "<f4", 2), expected, atol=1e-6)
    assert made["about"].startswith("PCA of 18 of 60 words, 6 dimensions: ")


def test_a_page_loads_nothing_and_its_code_is_small() -> None:
    page = vectors_html(["a", *HOSTILE], random_vectors(7), title="<b>")
    assert page.count("<script") == page.count("</script>") == 2, "a word ends no script"
    page.encode("ascii")
    code = page.replace(re.search(r'type="application/json">(.*?)</script>', page)[1], "")
    assert len(code) < 100_000
    assert "://" not in code
    assert not re.search(r"\b(?:src|href)\s*=|@import|url\(|\bfetch|XMLHttpRequest|import\(", code)
    assert data_of(page)["words"] == ["a", *HOSTILE]


def test_cosines_are_those_of_the_rows_and_zeros_come_last() -> None:
    vectors = np.array([[1, 0], [0, 0], [2, 2], [-1, 0], [3, 0]], dtype=np.float32)
    rows, cosines = neighbours(vectors, np.array([0, 1, 4]))
    assert rows[0].tolist() == [4, 2, 3, 1]
    np.testing.assert_allclose(cosines[0], [1, 0.5**0.5, -1, 0], atol=1e-6)
    assert sorted(rows[1].tolist()) == [0, 2, 3, 4]
    assert not cosines[1].any()
    assert rows[2].tolist() == [0, 2, 3, 1]
    # More equal rows than are looked for: a row is never its own neighbour.
    rows, cosines = neighbours(np.ones((30, 2), dtype=np.float32), np.arange(30))
    assert rows.shape == (30, 10)
    assert (rows != np.arange(30)[:, None]).all()
    np.testing.assert_allclose(cosines, 1)


def test_one_word_has_a_page_too() -> None:
    made = data_of(vectors_html(["a"], [[1.0, 2.0]]))
    assert made["k"] == [0, 0]
    assert array(made["points"], "<f4", 2).tolist() == [[0, 0]]
    assert data_of(vectors_html(["a", "b"], [[1.0], [2.0]]))["k"] == [1, 1]


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"vectors": np.ones((2, 2))}, ShapeError, r"shape \(2, 2\), with 3 keys"),
        ({"vectors": np.ones(3)}, ShapeError, r"shape \(3,\), with 3 keys; they must be \(keys, dimensions\)"),
        ({"vectors": np.full((3, 2), np.nan)}, ShapeError, "NaN or infinity"),
        ({"keys": ["a", "b", 1]}, TypeError, r"keys\[2\] is int, not str"),
        ({"words": ["c", "x", "y"]}, VocabError, "'x', 'y': not among the 3 keys"),
        ({"words": list("uvwxyz012")}, VocabError, "'y' and 4 more: not among"),
        ({"words": []}, OptionError, "0 words to draw; give 1 to 20,000"),
        ({"counts": [1, 2]}, ShapeError, r"counts have shape \(2,\); there are 3 keys"),
        ({"method": "umap"}, OptionError, "method is 'umap'; it must be 'pca' or 'tsne'"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, object], error: type[Exception], says: str) -> None:
    given = {"keys": ["a", "b", "c"], "vectors": random_vectors(3), **change}
    with pytest.raises(error, match=says):
        vectors_html(given.pop("keys"), given.pop("vectors"), **given)


def test_too_many_words_are_refused_before_the_work() -> None:
    n = MAX_WORDS + 1
    with pytest.raises(OptionError, match="20,001 words to draw; give 1 to 20,000 as words"):
        vectors_html([""] * n, np.zeros((n, 2)))


def test_a_browser_shows_words_neighbours_and_what_is_searched(tmp_path: Path) -> None:
    names = ["king", "queen", "man", "woman", "kingdom", "Cat", "dog", "paris"]
    vectors, keys = random_vectors(20, seed=3), [*names, *(f"rare{i}" for i in range(12))]
    page = vectors_html(keys, vectors, words=names, counts=np.arange(20, 0, -1) * 1000)
    # What a reader does, by events; what the page shows then is collected in its title.
    acts = """
    const seen = {}, at = i => {
      const box = canvas.getBoundingClientRect(), [x, y] = map.place(i);
      return { clientX: box.left + x, clientY: box.top + y, pointerId: 1, bubbles: true };
    };
    const act = (name, init, on = canvas, kind = PointerEvent) => on.dispatchEvent(new kind(name, init));
    const press = (key, on = canvas, more = {}) => act("keydown", { key, ...more }, on, KeyboardEvent);
    const texts = id => Array.from(element(id).children, line => line.innerText.trim().split(/\\s+/));
    const ink = i => map.pen.getImageData(...map.place(i).map(c => Math.round(c * canvas.width / map.wide)), 1, 1).data;
    canvas.setPointerCapture = () => {};  // which only a real pointer has
    seen.dots = data.words.slice(0, n).map((_, i) => ink(i)[3]);
    act("pointermove", at(1));
    seen.hover = [tip.textContent, readout.textContent, tip.hidden];
    act("pointerdown", at(2)), act("pointerup", at(2));
    seen.clicked = [element("chosen").textContent, texts("neighbours")];
    seen.buttons = element("neighbours").querySelectorAll("button").length;
    drawn.click();
    seen.inside = texts("neighbours");
    element("neighbours").querySelector("button").click();
    seen.followed = [element("chosen").textContent, document.activeElement.textContent];
    find.value = "KING", act("input", {}, find, Event);
    seen.found = [readout.textContent, texts("words"), map.found];
    press("Enter", find);
    seen.entered = data.words[map.chosen];
    find.value = "", act("input", {}, find, Event);
    seen.all = element("words").childElementCount;
    const before = map.place(4), scale = map.scale;
    act("wheel", { ...at(4), deltaY: -500 }, canvas, WheelEvent);
    seen.zoomed = [map.scale / scale, ...map.place(4).map((c, k) => c - before[k])];
    const held = map.place(4), from = at(4);
    act("pointerdown", from);
    act("pointermove", { ...from, clientX: from.clientX + 30, clientY: from.clientY - 20 }), act("pointerup", from);
    seen.dragged = map.place(4).map((c, k) => c - held[k]);
    seen.kept = data.words[map.chosen];
    press("0");
    seen.whole = map.scale / scale;
    point(-1), press("Escape");
    seen.ended = [map.chosen, element("near").hidden];
    const leftmost = [...map.x].indexOf(Math.min(...map.x)), visited = new Set();
    point(leftmost);
    for (let k = 0; k < 20; k++) press("ArrowRight"), visited.add(map.pointed);
    seen.rightwards = [...visited].map(i => map.x[i]), seen.told = readout.textContent;
    press("Enter");
    seen.byKey = [element("chosen").textContent, data.words[map.pointed]];
    document.title = JSON.stringify(seen);
    """
    seen = json.loads(title_of(opened(page, acts, tmp_path, "--window-size=1000,800")))
    assert seen["dots"] == [255] * len(names)
    assert seen["hover"] == ["queen: 19,000 times", "queen: 19,000 times", False]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    near = naive_neighbours(vectors, 2, 10)
    assert seen["clicked"] == ["man", [[keys[i], f"{unit[i] @ unit[2]:.4f}"] for i in near]]
    assert seen["buttons"] == sum(i < len(names) for i in near), "words that are not on the map are no buttons"
    inside = naive_neighbours(vectors[: len(names)], 2, 10)
    assert [word for word, _ in seen["inside"]] == [names[i] for i in inside]
    assert seen["followed"] == [names[inside[0]], f"Nearest to {names[inside[0]]}"]
    assert seen["found"] == ["2 words contain “KING”", [["king", "20,000"], ["kingdom", "16,000"]], [0, 4]]
    assert seen["entered"] == "king"
    assert seen["all"] == len(names)
    np.testing.assert_allclose(seen["zoomed"][0], np.exp(0.75))
    np.testing.assert_allclose(seen["zoomed"][1:], 0, atol=1.2)  # a wheel's place is in whole pixels
    np.testing.assert_allclose(seen["dragged"], [30, -20], atol=0.01)
    assert seen["kept"] == "king", "what is dragged is not clicked"
    assert seen["whole"] == 1
    assert seen["ended"] == [-1, True]
    assert len(seen["rightwards"]) > 1
    assert seen["rightwards"] == sorted(seen["rightwards"]), "every step goes to the right"
    assert seen["byKey"][0] == seen["byKey"][1] == seen["told"].split(":")[0]


def test_a_browser_takes_thousands_of_words_and_hostile_ones(tmp_path: Path) -> None:
    keys = [*HOSTILE, *(f"word{i}" for i in range(4000))]
    acts = """
    point(1), choose(0), map.paint();
    const clear = map.labelled.map(i => [...map.place(i), map.widths[i]]);
    const near = clear.filter(([x, y], a) => clear.some(([u, v], b) => a !== b && x === u && y === v));
    const seen = {
      elements: document.querySelectorAll("script, img").length, listed: list.childElementCount,
      words: Array.from(list.querySelectorAll("button"), button => button.textContent).slice(0, 6),
      heading: element("chosen").textContent, tip: tip.textContent, labels: clear.length, near: near.length,
    };
    more.click();
    seen.more = list.childElementCount, seen.focus = document.activeElement.value;
    find.value = "B C", search();
    seen.found = map.found;
    list.replaceChildren(), choose(-1), point(-1);
    document.title = JSON.stringify(seen);
    """
    page = vectors_html(keys, random_vectors(len(keys)), title="4,006")
    seen = json.loads(title_of(opened(page, acts, tmp_path, "--window-size=1000,800")))
    assert seen["elements"] == 3, "the data, the script, and that of this test"
    assert seen["words"] == [HOSTILE[0], "<img␣src=x␣onerror=alert(1)>", "\\u202eevil", "a↵b␣c", "$x$", "a\\ud800"]
    assert seen["heading"] == HOSTILE[0]
    assert seen["tip"] == seen["words"][1]
    assert 20 < seen["labels"] < 400
    assert seen["near"] == 0
    assert (seen["listed"], seen["more"], seen["focus"]) == (100, 200, "100")
    assert seen["found"] == [3]
