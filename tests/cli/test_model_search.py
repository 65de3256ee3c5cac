"""What `tokkit model embed`, `search` and `similarity` print; the encoder is a stand-in without weights."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from extras import extra
from tokkit import pipeline
from tokkit.cli import embedding
from tokkit.search.index import SearchIndex
from word_encoder import WordEncoder

if TYPE_CHECKING:
    from conftest import Run

TEXTS = {
    "notes/poem.txt": "The heron stands\nin the river.\n",
    "notes/money.txt": "A bank lends money.\n\nLoans cost more when rates rise.\n",
    "notes/mail.jsonl": '{"text": "Dear aunt, the train was late."}\n{"text": "The harbour closed at nine."}\n',
}


@pytest.fixture
def notes(run: Run, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts in a folder, and models that are called by the seed of their words; the models loaded, as they are."""
    loaded: list[str] = []

    def load(model: str, *, download: bool) -> WordEncoder:
        loaded.append(model)
        seed = int(Path(model).name.removeprefix("model-"))
        return WordEncoder(seed=seed, max_length=34 if seed < 9 else 16)

    monkeypatch.setattr(pipeline, "load", load, raising=False)
    for name, text in TEXTS.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    return loaded


def embed(run: Run, *args: object) -> str:
    made = run("model", "embed", "notes", "-o", "index", "--model", "model-0", *args)
    assert made.exit_code == 0, made.stderr
    return made.stderr


def test_what_was_embedded_is_found(run: Run, notes: list[str]) -> None:
    assert embed(run) == "tokkit: index: 4 passages of 3 files; 4 passages in all\n".replace("4", str(len_of("index")))
    out = run("model", "search", "index", "heron river", "-k", 2)
    first, passage, *rest = out.stdout.splitlines()
    assert re.fullmatch(rf"0\.\d{{4}}  {os.path.join('notes', 'poem.txt')}:1", first)
    assert passage == "        The heron stands in the river."
    assert len(rest) == 2
    assert notes == ["model-0", "model-0"], "the index knows its model"
    hit = run("model", "search", "index", "when", "rates", "rise").stdout.splitlines()[0]
    assert hit.endswith("money.txt:3")
    assert run("model", "search", "index", "harbour").stdout.splitlines()[0].endswith("mail.jsonl, record 2")


def len_of(place: str) -> int:
    return len(SearchIndex.open(place))


def test_json_holds_all_and_stdin_is_a_query_a_line(run: Run, notes: list[str]) -> None:
    embed(run)
    out = run("model", "search", "index", "-", "-k", 1, "--json", input="heron river\n\ntrain aunt\n")
    found = [json.loads(line) for line in out.stdout.splitlines()]
    assert [answer["query"] for answer in found] == ["heron river", "train aunt"]
    (hit,) = found[0]["hits"]
    assert hit["path"] == str(Path("notes/poem.txt").resolve())
    assert (hit["record"], hit["line"], hit["span"]) == (0, 1, [0, 30])
    assert hit["text"] == "The heron stands\nin the river."
    assert 0 < hit["score"] <= 1
    out = run("model", "search", "index", "-", "-k", 1, input="heron river\ntrain aunt\n")
    assert [line for line in out.stdout.splitlines() if line[0] == "#"] == ["# heron river", "# train aunt"]


def test_files_are_added_and_only_what_is_new_is_encoded(run: Run, notes: list[str]) -> None:
    embed(run)
    Path("notes/poem.txt").write_text("Glaciers melt.")
    Path("notes/new.txt").write_text("Cheese ripens slowly.")
    made = run("model", "embed", "notes", "-o", "index", "--append")
    assert made.exit_code == 0, made.stderr
    assert "2 passages of 2 files, 2 files unchanged" in made.stderr
    assert run("model", "search", "index", "cheese").stdout.splitlines()[1].strip() == "Cheese ripens slowly."
    assert "heron" not in run("model", "search", "index", "heron", "-k", 99).stdout
    before = Path("index/index.json").read_bytes()
    assert (
        "0 passages of 0 files, 4 files unchanged" in run("model", "embed", "notes", "-o", "index", "--append").stderr
    )
    assert Path("index/index.json").read_bytes() == before


def test_an_index_stands_until_it_is_told_to_go(run: Run, notes: list[str]) -> None:
    embed(run)
    again = run("model", "embed", "notes", "-o", "index", "--model", "model-0")
    assert (again.exit_code, len(notes)) == (1, 1)
    assert "index exists; --append adds to it, --force replaces it" in again.stderr
    assert run("model", "embed", "notes", "-o", "index", "--model", "model-1", "--force").exit_code == 0
    assert run("model", "embed", "notes", "-o", "index", "--append", "--force").exit_code == 2
    assert run("model", "embed", "notes", "-o", "notes", "--model", "model-0").exit_code == 2
    assert run("model", "embed", "notes", "-o", "absent", "--append").exit_code == 1


def test_another_model_is_refused_with_both(run: Run, notes: list[str]) -> None:
    embed(run)
    for command in (("search", "index", "heron"), ("embed", "notes", "-o", "index", "--append")):
        refused = run("model", *command, "--model", "model-7")
        assert refused.exit_code == 1
        assert "its model's fingerprint is words-0 (model-0); that of the given model is words-7 (model-7)" in (
            refused.stderr
        )
        assert "its model's fingerprint is words-0" in run("model", *command, "--model", "model-9").stderr


def test_what_is_no_text_is_listed_and_left_out_and_the_exit_code_is_1(run: Run, notes: list[str]) -> None:
    Path("notes/a.png").write_bytes(b"\x89PNG\0")
    Path("notes/latin.txt").write_bytes(b"caf\xe9")
    made = run("model", "embed", "notes", "-o", "index", "--model", "model-0")
    assert made.exit_code == 1
    assert f"tokkit: skipped {os.path.join('notes', 'a.png')}: binary: it contains the byte 0\n" in made.stderr
    assert "latin.txt: byte 3 (0xe9) is not UTF-8; use --input-errors replace or ignore to go on" in made.stderr
    assert "of 3 files, 2 files skipped" in made.stderr
    assert run("model", "search", "index", "heron river").exit_code == 0
    replaced = run("model", "embed", "notes", "-o", "index", "--append", "--input-errors", "replace")
    assert replaced.exit_code == 1
    assert "1 passage of 1 file, 3 files unchanged, 1 file skipped" in replaced.stderr


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("embed", "absent", "-o", "index", "--model", "model-0"), 1, "absent does not exist"),
        (
            ("embed", "empty", "-o", "index", "--model", "model-0"),
            1,
            "nothing to embed: no file in empty can be read\n",
        ),
        (("embed", "notes", "-o", "index"), 2, "Missing option '--model'"),
        (("embed", "notes", "--model", "model-0"), 2, "Missing option '-o'"),
        (("embed", "-o", "index", "--model", "model-0"), 2, "Missing argument"),
        (
            ("embed", "notes", "-o", "index", "--model", "model-0", "--tokens", 3),
            1,
            "tokens is 3; it must be at least 8",
        ),
        (("embed", "notes", "-o", "index", "--model", "model-0", "--tokens", 99), 1, "the model reads at most 34"),
        (("search", "absent", "query"), 1, "absent: this index does not exist"),
        (("search", "notes", "query"), 1, "notes: this folder is not an index"),
        (("search", "index"), 2, "Missing argument"),
        (("similarity", "a", "--model", "model-0"), 2, "1 text given; give at least two"),
        (("similarity", "a", "b"), 2, "Missing option '--model'"),
        (("similarity", *"ab" * 21, "--model", "model-0"), 2, "42 texts; a table has at most 40"),
    ],
)
def test_what_is_wrong_is_said(run: Run, notes: list[str], args: tuple[object, ...], code: int, said: str) -> None:
    Path("empty").mkdir()
    out = run("model", *args)
    assert out.exit_code == code
    assert said in out.stderr
    assert not Path("index").exists()
    assert not out.stdout


def test_an_empty_query_is_refused_and_an_empty_index_finds_nothing(run: Run, notes: list[str]) -> None:
    Path("blank.txt").write_text("\n \n")
    assert run("model", "embed", "blank.txt", "-o", "index", "--model", "model-0").exit_code == 0
    refused = run("model", "search", "index", " ")
    assert (refused.exit_code, "the query is empty" in refused.stderr) == (1, True)
    nothing = run("model", "search", "index", "heron")
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert "index holds no passages" in nothing.stderr


def test_an_interrupt_leaves_no_index(run: Run, notes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(WordEncoder, "encode", interrupted)
    out = run("model", "embed", "notes", "-o", "index", "--model", "model-0")
    assert (out.exit_code, out.stderr) == (130, "tokkit: interrupted\n")
    assert not Path("index").exists()


def test_the_index_may_stand_among_what_is_read(run: Run, notes: list[str]) -> None:
    assert run("model", "embed", ".", "-o", "index", "--model", "model-0").exit_code == 0
    made = run("model", "embed", ".", "-o", "index", "--append")
    assert made.exit_code == 0
    assert "0 passages of 0 files, 3 files unchanged" in made.stderr


def test_settings_come_from_the_environment_and_from_a_file(
    run: Run, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("tokkit.toml").write_text('[model.embed]\nmodel = "model-0"\ntokens = 12\n\n[model.search]\ntop = 1\n')
    for place in (("--config", "tokkit.toml", "model", "embed"), ("model", "embed", "--config", "tokkit.toml")):
        assert run(*place, "notes", "-o", "index", "--force").exit_code == 0
        assert SearchIndex.open("index").about.tokens == 12
    assert len(run("--config", "tokkit.toml", "model", "search", "index", "heron").stdout.splitlines()) == 2
    monkeypatch.setenv("TOKKIT_MODEL_SEARCH_TOP", "2")
    assert len(run("model", "search", "index", "heron").stdout.splitlines()) == 4
    Path("bad.toml").write_text("[model.embed]\nmodell = 1\n")
    bad = run("--config", "bad.toml", "model", "search", "index", "heron")
    assert bad.exit_code == 2
    assert "[model.embed] has the unknown key 'modell'" in bad.stderr
    Path("bad.toml").write_text("[model.fly]\n")
    assert "unknown table or key 'model.fly'" in run("--config", "bad.toml", "info").stderr


def test_similarities_are_a_table_or_json(run: Run, notes: list[str]) -> None:
    Path("lines.txt").write_text("a loan\n\n")
    out = run("model", "similarity", "a loan", "the river\nruns", "--file", "lines.txt", "--model", "model-0")
    rows = [line.split() for line in out.stdout.splitlines()]
    assert rows[0] == ["1", "2", "3"]
    assert rows[1][:3] == ["1", "a", "loan"]
    assert (rows[1][3], rows[1][5], rows[2][-2]) == ("1.000", "1.000", "1.000")
    assert rows[2][1:4] == ["the", "river", "runs"]
    made = json.loads(run("model", "similarity", "a loan", "loan a", "--json", "--model", "model-0").stdout)
    assert made == {"texts": ["a loan", "loan a"], "similarity": [[1.0, 1.0], [1.0, 1.0]]}


def test_similarities_are_drawn(run: Run, notes: list[str]) -> None:
    extra("matplotlib")
    args = ("model", "similarity", "a loan", "costs $ 5 and $ 6", "--model", "model-0", "--plot", "m.png")
    drawn = run(*args)
    assert drawn.exit_code == 0
    assert "1.000" in drawn.stdout
    assert Path("m.png").read_bytes().startswith(b"\x89PNG")
    assert "exists; --force" in run(*args).stderr
    many = [f"text {i}" for i in range(41)]
    assert run("model", "similarity", *many, "--model", "model-0", "--plot", "n.png").exit_code == 0


def test_a_graph_is_made_where_it_is_asked_for(run: Run, notes: list[str]) -> None:
    extra("usearch.index")
    embed(run)
    refused = run("model", "search", "index", "heron river", "--ann")
    assert (refused.exit_code, "has no graph; embed with --ann" in refused.stderr) == (1, True)
    assert run("model", "embed", "notes", "-o", "index", "--append", "--ann").exit_code == 0
    assert Path("index/vectors-1.usearch").exists()
    exact = run("model", "search", "index", "heron river").stdout
    assert run("model", "search", "index", "heron river", "--ann").stdout == exact != ""


def test_extras_that_are_absent_are_named(run: Run, notes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "usearch", None)
    out = run("model", "similarity", "a", "b", "--model", "model-0", "--plot", "m.png")
    assert "pip install 'pytokkit[plot]'" in out.stderr
    assert "pip install 'pytokkit[ann]'" in run("model", "embed", "notes", "-o", "i", "--model", "x", "--ann").stderr
    assert not notes, "said before a model is loaded"


def test_paths_are_shown_from_here_and_escaped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tokkit.search.index import Hit

    monkeypatch.chdir(tmp_path)
    hit = Hit(0.5, str(tmp_path / "a\x1b[2J.txt"), 0, 3, (0, 1), "text")
    assert embedding.place(hit) == r"a\x1b[2J.txt:3"
    assert embedding.place(hit._replace(path=str(tmp_path.parent / "b.txt"))) == f"{tmp_path.parent / 'b.txt'}:3"
    assert embedding.place(hit._replace(path="-")) == "(stdin):3"
