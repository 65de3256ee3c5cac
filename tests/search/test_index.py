"""An index on disk, with an encoder without weights: entries added, replaced, damaged, interrupted."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import strategies
from extras import extra
from reference import search as twin
from tokkit.errors import FormatError, OptionError, ShapeError
from tokkit.files import files
from tokkit.files.safetensors import read_safetensors, write_safetensors
from tokkit.search import builder, index
from tokkit.search.index import INDEX, SearchIndex
from tokkit.search.sources import Document
from word_encoder import WordEncoder

POEM = "The heron stands in the river.\nThe river runs on.\n\nA bank lends money at a rate.\nThen loans cost more.\n"
LETTER = "Dear aunt, the train was late again. We reached the harbour at nine."
Texts = dict[str, str]


def rows_of(encoder: WordEncoder, texts: Texts, **sizes: Any) -> tuple[index.About, index.Rows]:
    about = builder.about(encoder, "a model", **sizes)
    made = builder.Builder(encoder, about)
    for number, text in enumerate(texts.values()):
        made.add(number, [Document(text)])
    return about, made.rows()


def shas(texts: Texts) -> dict[str, str]:
    return {path: f"sha of {text}" for path, text in texts.items()}


def make(folder: Path, texts: Texts, encoder: WordEncoder | None = None) -> SearchIndex:
    about, rows = rows_of(encoder or WordEncoder(), texts)
    return index.create(folder, about, shas(texts), rows)


def found(made: SearchIndex, query: str, k: int = 1) -> list[index.Hit]:
    nearest = made.nearest(builder.encode_queries(WordEncoder(), [query]), k)
    return made.hits(nearest.rows[0].tolist(), nearest.scores[0].tolist())


def test_passages_are_found_with_the_place_where_they_stand(tmp_path: Path) -> None:
    make(tmp_path / "index", {"poem.txt": POEM, "letter.txt": LETTER})
    made = SearchIndex.open(tmp_path / "index")
    (hit,) = found(made, "loans cost")
    assert hit.path == "poem.txt"
    assert "loans" in hit.text
    assert POEM.encode()[hit.span[0] : hit.span[1]].decode() == hit.text
    assert hit.line == POEM.encode()[: hit.span[0]].count(b"\n") + 1
    assert found(made, "train to the harbour")[0].path == "letter.txt"
    everything = found(made, "river", 100)
    assert len(everything) == len(made)
    assert [hit.score for hit in everything] == sorted((hit.score for hit in everything), reverse=True)


def test_scores_are_those_of_the_twin(tmp_path: Path) -> None:
    made = make(tmp_path / "index", {f"{i}.txt": text for i, text in enumerate(strategies.documents(4, 40))})
    query = builder.encode_queries(WordEncoder(), ["a word or two"])
    expected = twin.top_k(np.array(made.rows.vectors), query[0], 10)
    got = made.nearest(query, 10)
    assert list(zip(got.rows[0].tolist(), got.scores[0].tolist(), strict=True)) == expected


@pytest.mark.parametrize("seed", range(6))
def test_every_span_is_its_passage_and_every_line_its_own(seed: int) -> None:
    text = strategies.adversarial(seed, 3000)
    made = builder.Builder(WordEncoder(), builder.about(WordEncoder(), "m", tokens=24, overlap=9))
    n = made.add(3, [Document(text, 0, 3), Document("second\nrecord", 7)])
    rows = made.rows()
    assert len(rows.vectors) == n > 2
    utf8, start = b"\xef\xbb\xbf" + text.encode(), 0
    for i in range(n - 1):
        a, b = rows.spans[i].tolist()
        end = int(rows.text_ends[i])
        assert utf8[a:b] == rows.text[start:end].tobytes()
        assert rows.line[i] == utf8[:a].count(b"\n") + 1
        assert (rows.source[i], rows.record[i]) == (3, 0)
        start = end
    assert rows.record[n - 1] == 7


def test_files_are_added_and_those_that_changed_replaced(tmp_path: Path) -> None:
    first = make(tmp_path / "index", {"poem.txt": POEM, "letter.txt": LETTER, "empty.txt": ""})
    texts = {"letter.txt": "The aunt replied: buy cheese.", "new.txt": "Glaciers melt in summer."}
    _, rows = rows_of(WordEncoder(), texts)
    second = first.with_rows(shas(texts), rows)
    assert second.sources == shas({"poem.txt": POEM, "empty.txt": "", **texts})
    # As if all had been given at once.
    whole = make(tmp_path / "other", {"poem.txt": POEM, "empty.txt": "", **texts})
    for name in index.Rows._fields:
        assert np.array_equal(getattr(second.rows, name), getattr(whole.rows, name)), name
    assert found(second, "cheese")[0].path == "letter.txt"
    assert not [hit for hit in found(second, "train", 99) if "train" in hit.text]
    assert sorted(os.listdir(tmp_path / "index")) == [INDEX, "vectors-2.safetensors"]
    # What was open before still reads what it was.
    assert "train" in found(first, "train")[0].text


@pytest.mark.parametrize("seed", range(5))
def test_any_files_may_be_replaced(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = {f"{i}": text for i, text in enumerate(strategies.documents(seed, 12))}
    made = make(tmp_path / "index", texts)
    changed = {name: strategies.adversarial(seed + 50 + i, 90) for i, name in enumerate(texts) if rng.random() < 0.4}
    _, rows = rows_of(WordEncoder(), changed)
    made = made.with_rows(shas(changed), rows)
    whole = make(tmp_path / "other", {name: text for name, text in texts.items() if name not in changed} | changed)
    assert made.sources == whole.sources
    for name in index.Rows._fields:
        assert np.array_equal(getattr(made.rows, name), getattr(whole.rows, name)), name


def test_an_empty_index_can_be_made_and_filled(tmp_path: Path) -> None:
    made = make(tmp_path / "index", {"empty.txt": " \n"})
    assert len(made) == 0
    assert found(made, "anything", 5) == []
    _, rows = rows_of(WordEncoder(), {"poem.txt": POEM})
    made = made.with_rows({"poem.txt": "1"}, rows)
    assert found(made, "heron")[0].path == "poem.txt"
    _, none = rows_of(WordEncoder(), {"poem.txt": ""})
    assert len(made.with_rows({"poem.txt": "2"}, none)) == 0


def test_another_model_is_refused_with_both(tmp_path: Path) -> None:
    made = make(tmp_path / "index", {"poem.txt": POEM})
    made.check(replace(made.about, model="elsewhere"))
    for name in ("model_fingerprint", "tokenizer_fingerprint"):
        with pytest.raises(OptionError, match=rf"{getattr(made.about, name)} \(a model\); .* is other \(b\)"):
            made.check(replace(made.about, model="b", **{name: "other"}))
    with pytest.raises(OptionError, match="its dimension is 64"):
        made.check(replace(made.about, dimension=65))


def test_a_new_index_takes_no_other_things_place(tmp_path: Path) -> None:
    make(tmp_path / "index", {"poem.txt": POEM})
    with pytest.raises(FileExistsError, match="index exists"):
        make(tmp_path / "index", {"poem.txt": POEM})
    (tmp_path / "docs").mkdir()
    make(tmp_path / "docs", {"poem.txt": POEM})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("x")
    about, rows = rows_of(WordEncoder(), {"a": POEM})
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match=r"with other files \(thesis\.txt\)"):
            index.create(tmp_path / "mine", about, {"a": ""}, rows, overwrite=overwrite)
        with pytest.raises(FileExistsError, match="is a file; an index is a folder"):
            index.create(tmp_path / "file", about, {"a": ""}, rows, overwrite=overwrite)
        with pytest.raises(FileNotFoundError, match="there is no directory"):
            index.create(tmp_path / "no" / "index", about, {"a": ""}, rows, overwrite=overwrite)
    (tmp_path / "mine" / INDEX).write_text('{"format": "another program"}')
    with pytest.raises(FormatError, match="its format is 'another program'"):
        index.create(tmp_path / "mine", about, {"a": ""}, rows, overwrite=True)
    assert len(index.create(tmp_path / "index", about, {"a": ""}, rows, overwrite=True).sources) == 1


def test_whatever_fails_the_old_index_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(tmp_path / "index", {"poem.txt": POEM})
    _, rows = rows_of(WordEncoder(), {"b": LETTER})

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for target, name in ((index, "write_safetensors"), (files, "write_atomically"), (os, "fsync"), (os, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                made.with_rows({"b": "1"}, rows)
            with pytest.raises(KeyboardInterrupt):
                make(tmp_path / "new", {"b": LETTER})
        assert os.listdir(tmp_path) == ["index"]
        assert sorted(os.listdir(tmp_path / "index")) == [INDEX, "vectors-1.safetensors"]
    assert found(SearchIndex.open(tmp_path / "index"), "heron")[0].path == "poem.txt"


def test_two_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    make(tmp_path / "index", {"poem.txt": POEM})
    one, two = SearchIndex.open(tmp_path / "index"), SearchIndex.open(tmp_path / "index")
    _, rows = rows_of(WordEncoder(), {"b": LETTER})
    one.with_rows({"b": "1"}, rows)
    with pytest.raises(OptionError, match="changed by another program meanwhile"):
        two.with_rows({"c": "1"}, rows)
    assert set(SearchIndex.open(tmp_path / "index").sources) == {"poem.txt", "b"}


def test_a_file_that_another_writes_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(tmp_path / "index", {"poem.txt": POEM})
    _, rows = rows_of(WordEncoder(), {"b": LETTER})
    other = tmp_path / "index" / "vectors-2.safetensors"
    names = os.listdir(tmp_path / "index")
    other.write_bytes(b"of another")
    monkeypatch.setattr(os, "listdir", lambda folder: names)  # as it was before the other began
    with pytest.raises(OptionError, match="changed by another program meanwhile"):
        made.with_rows({"b": "1"}, rows)
    assert other.read_bytes() == b"of another"
    monkeypatch.undo()
    # Nor is one cleared away that another has begun since: its index would name a file that is gone.
    later = tmp_path / "index" / "vectors-9.safetensors"
    write = write_safetensors

    def while_another_writes(*args: Any, **options: Any) -> None:
        write(*args, **options)
        later.write_bytes(b"of another")

    monkeypatch.setattr(index, "write_safetensors", while_another_writes)
    made.with_rows({"b": "1"}, rows)
    assert sorted(os.listdir(tmp_path / "index")) == [INDEX, "vectors-3.safetensors", later.name]


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("format", "x", "not an index of tokkit: its format is 'x'"),
        ("version", 2, "version: 2 is not supported; it must be 1"),
        ("data", "../../vectors-1.safetensors", "it must be a file of this folder"),
        ("data", "vectors-9.safetensors", "vectors-9.safetensors: this file is missing, but index.json names it"),
        ("rows", 3.5, "rows: an integer is needed"),
        ("rows", -1, "rows and largest_norm are -1"),
        ("rows", 10**6, r"'source' is U32 of shape \(\d,\); it must be U32 of shape \(1000000,\)"),
        ("largest_norm", 1e999, "cannot be|Infinity|not JSON"),
        ("dimension", 63, r"'vectors' is F32 of shape \(\d, 64\); it must be F32 of shape \(\d, 63\)"),
        ("sources", [], "refer to files or texts that do not exist"),
        ("sources", [{"path": "a", "sha256": "b"}] * 2, r"sources\[1\]: its path is given twice"),
        ("sources", [{"path": 1, "sha256": "b"}], r"sources\[0\]\.path: a string is needed"),
        ("model", None, "model: a string is needed, not null"),
    ],
)
def test_a_spoilt_index_is_refused(tmp_path: Path, key: str, value: object, reason: str) -> None:
    make(tmp_path / "index", {"poem.txt": POEM})
    path = tmp_path / "index" / INDEX
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(FormatError, match=reason):
        SearchIndex.open(tmp_path / "index")


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("text", lambda a: a[:-1], "that do not exist"),
        ("text", lambda a: a.reshape(1, -1), "one-dimensional tensor 'text' of U8"),
        ("text_ends", lambda a: a[::-1], "that do not exist"),
        ("text_ends", lambda a: a - 10**6, "that do not exist"),
        ("source", lambda a: a + np.uint32(9), "that do not exist"),
        ("source", lambda a: a.astype(np.int64), "'source' is I64"),
        ("spans", lambda a: None, "'spans' is missing"),
        ("vectors", lambda a: a.astype(np.float16), "'vectors' is F16"),
    ],
)
def test_spoilt_rows_are_refused(tmp_path: Path, name: str, change: Any, reason: str) -> None:
    made = make(tmp_path / "index", {"poem.txt": POEM})
    tensors = {key: np.array(tensor.data) for key, tensor in read_safetensors(made.data).items()}
    tensors[name] = change(tensors[name])
    write_safetensors(made.data, {key: value for key, value in tensors.items() if value is not None})
    with pytest.raises(FormatError, match=reason):
        SearchIndex.open(tmp_path / "index")


def test_what_is_no_index_says_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="this index does not exist"):
        SearchIndex.open(tmp_path / "absent")
    with pytest.raises(FormatError, match=r"this folder is not an index: it has no index\.json"):
        SearchIndex.open(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(FormatError, match="this is a file; an index is a folder"):
        SearchIndex.open(tmp_path / "file")


def test_chunks_fit_what_the_model_reads() -> None:
    encoder = WordEncoder(max_length=34)
    assert (builder.about(encoder, "m").tokens, builder.about(encoder, "m").overlap) == (34, 4)
    assert builder.about(encoder, "m", tokens=16, overlap=0).overlap == 0
    with pytest.raises(OptionError, match="tokens is 35; the model reads at most 34"):
        builder.about(encoder, "m", tokens=35)
    with pytest.raises(OptionError, match="overlap is 9"):
        builder.about(encoder, "m", tokens=16, overlap=9)


def test_prompts_of_queries_and_passages_are_the_models() -> None:
    asked = []

    class Prompted(WordEncoder):
        prompts = {"query": "query: ", "passage": "passage: "}  # noqa: RUF012

        def encode(self, sentences: Any, *, prompt_name: str = "", **options: Any) -> np.ndarray:
            asked.append(prompt_name)
            return super().encode(sentences, **options)

    encoder = Prompted()
    rows_of(encoder, {"a": LETTER})
    builder.encode_queries(encoder, ["q"])
    assert asked == ["passage", "query"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (np.ones((1, 64)), "returned float64"),
        (np.ones((2, 64), dtype=np.float32), r"of shape \(2, 64\); it must return float32 of shape \(1, 64\)"),
        (np.full((1, 64), np.nan, dtype=np.float32), "NaN or infinity"),
    ],
)
def test_an_encoder_that_gives_something_else_is_named(given: np.ndarray, reason: str) -> None:
    class Wrong(WordEncoder):
        def encode(self, sentences: Any, **_: Any) -> np.ndarray:
            return given

    with pytest.raises(ShapeError, match=reason):
        builder.encode_queries(Wrong(), ["q"])


def test_progress_is_told_chunk_by_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "BATCH", 2)
    told: list[int] = []
    encoder = WordEncoder()
    made = builder.Builder(encoder, builder.about(encoder, "m"), progress=told.append)
    made.add(0, [Document(POEM)])
    n = len(made.rows().vectors)
    assert told == [*range(2, n, 2), n]
    assert max(map(len, encoder.batches)) == 2


def test_a_graph_finds_what_exact_search_finds(tmp_path: Path) -> None:
    extra("usearch.index")
    from tokkit.search import ann

    made = make(tmp_path / "index", {f"{i}.txt": text for i, text in enumerate(strategies.documents(4, 60))})
    query = builder.encode_queries(WordEncoder(), ["a word", "another"])
    with pytest.raises(OptionError, match="has no graph; embed with --ann"):
        ann.nearest(made, query, 3)
    ann.build(made, threads=1)
    exact, near = made.nearest(query, 3), ann.nearest(made, query, 3)
    assert np.array_equal(exact.scores, near.scores)
    assert ann.nearest(made, query, 10**6).rows.shape == (2, len(made))
    empty = make(tmp_path / "empty", {"blank": " "})
    ann.build(empty, threads=1)
    assert ann.nearest(empty, query, 3).rows.shape == (2, 0)
    # A graph goes with the vectors that it is of.
    _, rows = rows_of(WordEncoder(), {"new": LETTER})
    more = made.with_rows({"new": "1"}, rows)
    assert sorted(os.listdir(tmp_path / "index")) == [INDEX, "vectors-2.safetensors"]
    with pytest.raises(OptionError, match="has no graph"):
        ann.nearest(more, query, 3)


def test_without_usearch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from tokkit.search import ann

    monkeypatch.setitem(sys.modules, "usearch", None)
    with pytest.raises(OptionError, match=r"pip install 'pytokkit\[ann\]'"):
        ann.check()
