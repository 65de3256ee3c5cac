"""A command whose output is one of its inputs is refused, names both files, and changes none."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from all_commands import COMMANDS, REQUIRED, arguments, make_files
from tokkit.cli.options import Model, Named, Reads, Writes

CONTENTS = {"config": "", "normalization_rules": "41\t61\n", "counts": "low\t3\n"}
"""What a parameter's file must hold for the command to come so far; others hold text."""
MORE = {name: {"model": "unigram"} for name in ("normalization_rules", "seed_sentencepieces_file")}
"""What else a parameter wants."""
SUFFIXES = {"train": ".json", "model attention": ".html", "wordvec plot": ".html"}
"""How the output's name must end."""


def of_type(command: click.Command, kind: type) -> list[str]:
    return [str(parameter.name) for parameter in command.params if isinstance(parameter.type, kind)]


PAIRS = [
    (name, read, written)
    for name, command in COMMANDS.items()
    for written in of_type(command, Writes)
    for read in of_type(command, Reads)
    if (name, written) not in (("model embed", "output"), ("fetch", "folder"))  # folders: below
    and (read, written) != ("normalization_rules", "state")  # of different models
]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(out: object, *names: str) -> None:
    assert out.exit_code == 2, out.stderr  # type: ignore[attr-defined]
    assert "are the same file; choose another output" in out.stderr  # type: ignore[attr-defined]
    for name in names:
        assert name in out.stderr  # type: ignore[attr-defined]


def test_every_path_of_every_command_is_said_to_be_read_or_written() -> None:
    assert set(COMMANDS) == set(REQUIRED)
    kinds = {
        f"{name} {parameter.name}": type(parameter.type)
        for name, command in COMMANDS.items()
        for parameter in command.params
        if isinstance(parameter.type, click.Path)
    }
    assert len(kinds) > 30
    assert not [name for name, kind in kinds.items() if kind not in (Reads, Named, Model, Writes)]


@pytest.mark.parametrize(("name", "read", "written"), PAIRS, ids=map("-".join, PAIRS))
def test_no_command_writes_over_a_file_that_it_reads(run, tmp_path, name, read, written) -> None:
    make_files(tmp_path)
    given = dict(MORE.get(read, {}))
    if read in ("tokenizer", "model"):
        source = tmp_path / REQUIRED[name][read]
    else:
        source = tmp_path / "source.txt"
        source.write_text(CONTENTS.get(read, "low lower\n"))
        given[read] = "source.txt"
    if source.is_dir():
        source /= "config.json"
    link = f"link{SUFFIXES.get(name, '')}"
    os.link(source, link)
    before = snapshot(tmp_path)
    args = arguments(name, {**given, written: link})
    if read == "counts":  # in the place of inputs
        args.remove("a.txt")
    refused(run(*args), link, source.name)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("out", ["a.txt", "./a.txt", "folder/../a.txt", "soft", "hard", "folder/soft"])
def test_an_input_is_known_by_whatever_name(run, tmp_path, tokenizer, out) -> None:
    Path("folder").mkdir()
    Path("a.txt").write_text("low lower\n")
    os.symlink("a.txt", "soft")
    os.symlink("../a.txt", "folder/soft")
    os.link("a.txt", "hard")
    for force in ((), ("--force",)):
        refused(run("encode", tokenizer, "a.txt", "-o", out, *force), out, "a.txt")
        refused(run("encode", tokenizer, "*.txt", "-o", out, *force), out, "a.txt")
        refused(run("truncate", tokenizer, "--limit", 1, "a.txt", "-o", out, *force), out, "a.txt")
    assert Path("a.txt").read_text() == "low lower\n"


def test_files_that_are_written_beside_the_output_are_no_input_either(run, tmp_path, tokenizer) -> None:
    Path("x.bin.json").write_text("low lower\n")
    refused(run("encode", tokenizer, "x.bin.json", "--output", "bin", "-o", "x.bin", "--force"), "x.bin.json")
    Path("t-300.json").write_text("low lower\n")
    sizes = ("--vocab-size", "260,300", "--unit", "line")
    refused(run("train", "t-300.json", "-o", "t.json", *sizes, "--force"), "t-300.json")
    Path("pair").mkdir()
    Path("pair/merges.txt").write_text("low lower\n")
    refused(run("train", "pair/merges.txt", "-o", "pair", "--vocab-size", 260, "--force"), "merges.txt")
    refused(run("train", "--input=a,pair/merges.txt", "-o", "pair", "--vocab-size", 260, "--force"), "merges.txt")
    Path("a.txt").write_text("low lower\n")
    run("train", "--vocab-size", 260, "-o", "pair", "--force", "--format", "gpt2", "a.txt")
    for source in ("pair", "pair/vocab.json"):
        refused(run("encode", source, "a.txt", "-o", "pair/merges.txt", "--force"), "pair/merges.txt")
    assert run("encode", "pair", "a.txt", "-o", "pair/ids.txt").exit_code == 0
    assert run("encode", "pair", "a.txt", "-o", "pair/ids.txt", "--force").exit_code == 0


def test_an_index_is_not_made_of_itself(run, tmp_path, monkeypatch) -> None:
    from tokkit import pipeline
    from word_encoder import WordEncoder

    make_files(tmp_path)
    monkeypatch.setattr(pipeline, "load", lambda *_, **__: WordEncoder())
    Path("index").mkdir()
    os.symlink("index", "soft")
    assert run("model", "embed", "a.txt", "-o", "index", "--model", "model").exit_code == 0
    before = snapshot(tmp_path)
    os.link("index/index.json", "linked.json")
    for more in (("--force",), ("--append",)):
        for given in (("index",), ("a.txt", "soft"), ("index/index.json",), ("linked.json",), ("linked.*",)):
            refused(run("model", "embed", *given, "-o", "index", "--model", "model", *more), "index")
    os.unlink("linked.json")
    shutil.copy("index/index.json", "model/index.json")
    refused(run("model", "embed", "a.txt", "-o", "model", "--model", "model", "--force"), "model")
    os.unlink("model/index.json")
    assert snapshot(tmp_path) == before
    assert run("model", "embed", ".", "-o", "index", "--model", "model", "--append").exit_code in (0, 1)


def process(start, *args: object, **streams: object) -> tuple[int, bytes]:
    started: subprocess.Popen[bytes] = start(*args, **streams)
    _, err = started.communicate(timeout=600)
    return started.returncode, err


@pytest.mark.skipif(os.name != "posix", reason="needs the streams of Linux or macOS")
def test_redirected_streams_are_files_too(start, tokenizer, tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("low lower\n")
    with open(path, "rb") as source, open(path, "ab") as sink:
        for args, streams, said in (
            (
                ("encode", tokenizer, "-o", "a.txt", "--force"),
                {"stdin": source},
                b"output a.txt and the input standard",
            ),
            (("encode", tokenizer, "a.txt"), {"stdout": sink}, b"standard output and the input a.txt"),
            (("encode", tokenizer, "a.txt", "-o", "/dev/stdout"), {"stdout": sink}, b"/dev/stdout and the input a.txt"),
            (("encode", tokenizer), {"stdin": source, "stdout": sink}, b"output and the input standard input"),
            (("truncate", tokenizer, "--limit", 1, "a.txt"), {"stdout": sink}, b"standard output and the input a.txt"),
            (("train", "a.txt", "--vocab-size", 260, "-o", "-"), {"stdout": sink}, b"standard output and the input"),
        ):
            code, err = process(start, *args, **streams)
            assert (code, said in err) == (2, True), err
            assert path.read_text() == "low lower\n"
        with open(tmp_path / "other", "wb") as other:
            assert process(start, "encode", tokenizer, stdin=source, stdout=other) == (0, b"")
    with open("/dev/null", "r+b") as both:
        assert process(start, "encode", tokenizer, stdin=both, stdout=both)[0] == 0
