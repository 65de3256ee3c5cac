"""Recognizing formats, errors for unknown ones, and the files that writing leaves."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tokkit import formats
from tokkit.definition import AddedToken, Definition
from tokkit.errors import FormatError, OptionError, TokkitError, VocabError
from tokkit.formats import gpt2, tiktoken, tokenizer_json
from tokkit.models.char_bpe import CharBPE
from tokkit.pretokenizers import patterns
from tokkit.vocab import Vocab

Make = Callable[..., Definition]
Same = Callable[[Definition, Definition], bool]


@pytest.fixture
def folder(tmp_path: Path, make: Make) -> Path:
    """A folder that has one definition in every format."""
    definition = make()
    vocab, merges, _ = gpt2.write(definition)
    (tmp_path / "tok.json").write_bytes(tokenizer_json.write(definition))
    (tmp_path / "tok.tiktoken").write_bytes(tiktoken.write(definition))
    for folder, names in (("hf", ("vocab.json", "merges.txt")), ("openai", ("encoder.json", "vocab.bpe"))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / names[0]).write_bytes(vocab)
        (tmp_path / folder / names[1]).write_bytes(merges)
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "tokenizer.json").write_bytes(tokenizer_json.write(definition))
    (tmp_path / "whole" / "vocab.json").write_bytes(b"not looked at")
    (tmp_path / "ranks").mkdir()
    (tmp_path / "ranks" / "x.tiktoken").write_bytes(tiktoken.write(definition))
    return tmp_path


@pytest.mark.parametrize(
    "path",
    ["hf", "hf/vocab.json", "hf/merges.txt", "openai", "openai/encoder.json", "openai/vocab.bpe", "tok.json", "whole"],
)
def test_a_format_is_known_by_name_and_content(path: str, folder: Path, make: Make, same: Same) -> None:
    special = make().special_tokens if path.startswith(("hf", "openai")) else None
    for given in (folder / path, str(folder / path)):
        assert same(formats.read(given, special_tokens=special), make())


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("tok.tiktoken", "ranks.txt"),
        ("tok.json", "model"),
        ("tok.json", "vocab-and-all.json"),
        ("hf/merges.txt", "hf/bpe-merges"),
        ("hf/vocab.json", "hf/table.json"),
    ],
)
def test_a_format_is_known_by_content_alone(path: str, name: str, folder: Path, make: Make, same: Same) -> None:
    os.link(folder / path, folder / name)
    options = {} if path == "tok.json" else {"special_tokens": make().special_tokens}
    if path == "tok.tiktoken":
        assert same(formats.read(folder / name, pattern="gpt2", **options), make("rank"))
        assert formats.read(folder / name, pattern="gpt2").name == ""
    else:
        assert same(formats.read(folder / name, **options), make())


def test_a_folder_with_one_rank_file_is_read(folder: Path, make: Make, same: Same) -> None:
    definition = formats.read(folder / "ranks", pattern="gpt2", special_tokens=make().special_tokens)
    assert same(definition, make("rank"))


def test_published_files_are_known_under_any_name(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "somewhere").symlink_to(shared / "vocabs" / "cl100k_base.tiktoken")
    assert formats.read(tmp_path / "somewhere").name == "cl100k_base"
    assert formats.read(tmp_path / "somewhere", pattern="gpt2").name == ""


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b"\0" * 100_000, "the file starts with b"),
        (b"\xff\xfe{\0", "the file starts with b"),
        (b"plain text, no more.\n", "the file starts with b'plain text"),
        (b" " * 100_000, "the file starts with b"),
    ],
    ids=range(4),
)
def test_an_unknown_file_is_told_what_can_be_read(data: bytes, seen: str, tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=rf"x\.model: unknown format: {seen}"):
        formats.read(path)


@pytest.mark.parametrize(
    ("name", "data", "seen"),
    [
        ("x.model", b"\x1f\x8b\x08\0", "gzip data"),
        ("x.model", b"PK\x03\x04", "a zip archive"),
        ("x.model", b"\x80\x04\x95", "a Python pickle"),
        ("x.vocab", b"<unk>\t0\n<s>\t0\nthe\t-3.2\n", "the list of a sentencepiece model's pieces"),
    ],
)
def test_a_tokenizer_of_another_kind_is_named(name: str, data: bytes, seen: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError, match=rf"{name}: {seen}.*: not supported yet; tokenizer\.json.* can be read$"):
        formats.read(tmp_path / name)


def test_a_byte_order_mark_before_a_file_is_passed_over(folder: Path, make: Make, same: Same) -> None:
    for name in ("tok.json", "hf/vocab.json", "hf/merges.txt"):
        (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())
    os.link(folder / "tok.json", folder / "unnamed")
    for name in ("tok.json", "unnamed"):
        assert same(formats.read(folder / name), make())
    assert same(formats.read(folder / "hf", special_tokens=make().special_tokens), make())


def test_added_tokens_are_read_from_beside_the_pair(folder: Path, make: Make, same: Same) -> None:
    for name, files in (("hf", ("vocab.json", "merges.txt")), ("openai", ("encoder.json", "vocab.bpe"))):
        (folder / name / "added_tokens.json").write_text(json.dumps(dict(make().special_tokens)))
        for path in ("", *files):
            assert same(formats.read(folder / name / path), make())
        (folder / name / "added_tokens.json").write_text('{"<x>": null}')
        with pytest.raises(FormatError, match=r"added_tokens\.json\['<x>'\]: the id is null; it must be an integer"):
            formats.read(folder / name)
        assert same(formats.read(folder / name, special_tokens=make().special_tokens), make())
        (folder / name / "added_tokens.json").write_bytes(b"")
        with pytest.raises(FormatError, match=r"added_tokens\.json: the file is empty"):
            formats.read(folder / name)
        (folder / name / "added_tokens.json").unlink()
        (folder / name / "added_tokens.json").mkdir()
        with pytest.raises(FormatError, match=r"added_tokens\.json: a directory"):
            formats.read(folder / name)


def test_what_is_no_file_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        formats.read(tmp_path / "none.json")
    (tmp_path / "empty.json").touch()
    with pytest.raises(FormatError, match=r"empty\.json: the file is empty"):
        formats.read(tmp_path / "empty.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FormatError, match=r"no tokenizer in this directory, which has no files"):
        formats.read(tmp_path / "folder")
    (tmp_path / "folder" / "vocab.json").write_bytes(b"{}")
    with pytest.raises(FormatError, match=r"which has vocab\.json"):
        formats.read(tmp_path / "folder")
    with pytest.raises(FormatError, match=r"merges\.txt or vocab\.bpe is missing"):
        formats.read(tmp_path / "folder" / "vocab.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes, which Linux and macOS have")
def test_a_pipe_does_not_hang_the_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tokenizer.json")
    for path in (tmp_path / "tokenizer.json", tmp_path):
        with pytest.raises(FormatError, match="a pipe"):
            formats.read(path)


def test_a_name_that_is_not_utf_8_is_shown_escaped(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.json"
    try:
        Path(os.fsdecode(path)).write_bytes(b"{")
    except OSError:
        pytest.skip("needs file names of any bytes, as on Linux")
    with pytest.raises(FormatError, match=r"\\xff\.json: line 1") as caught:
        formats.read(os.fsdecode(path))
    assert str(caught.value).encode("utf-8")


def test_options_that_a_format_does_not_take_are_refused(folder: Path) -> None:
    with pytest.raises(OptionError, match=r"a tokenizer\.json has its own"):
        formats.read(folder / "tok.json", pattern="gpt2")
    with pytest.raises(OptionError, match="pattern is int; it must be a str"):
        formats.read(folder / "tok.tiktoken", pattern=3)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"tok\.tiktoken: a rank file does not say how text is split"):
        formats.read(folder / "tok.tiktoken")
    added = formats.read(folder / "tok.json", special_tokens={"<new>": 300})
    assert dict(added.special_tokens) == {"<|end|>": 263, "<é>": 264, "<new>": 300}
    with pytest.raises(VocabError, match="belongs to b'h'"):
        formats.read(folder / "tok.json", special_tokens={"<new>": 104})
    with pytest.raises(OptionError, match="needs an id"):
        formats.read(folder / "tok.json", special_tokens={"<new>": -1})


@pytest.mark.parametrize(
    ("name", "format", "written"),
    [
        ("a.json", None, ["a.json"]),
        ("a.tiktoken", None, ["a.tiktoken", "a.tiktoken.json"]),
        ("", None, ["vocab.json", "merges.txt", "added_tokens.json"]),
        ("", "tokenizer.json", ["tokenizer.json"]),
        ("a", "tokenizer.json", ["a"]),
        ("a", "tiktoken", ["a", "a.json"]),
        ("new", "gpt2", ["new/vocab.json", "new/merges.txt", "new/added_tokens.json"]),
        ("new/folder", "gpt2", [f"new/folder/{name}" for name in ("vocab.json", "merges.txt", "added_tokens.json")]),
        ("vocab.json", "gpt2", ["vocab.json", "merges.txt", "added_tokens.json"]),
        ("merges.txt", "gpt2", ["vocab.json", "merges.txt", "added_tokens.json"]),
    ],
)
def test_the_path_says_the_format_unless_it_is_given(
    name: str, format: str | None, written: list[str], tmp_path: Path, make: Make, same: Same
) -> None:
    paths = formats.write(make(), tmp_path / name, format=format)
    assert [str(path.relative_to(tmp_path)) for path in paths] == written
    if "tiktoken" in (format or name):
        assert same(formats.read(paths[0]), make("rank"))
    else:
        assert same(formats.read(paths[0]), make())
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(paths)


@pytest.mark.parametrize(
    ("name", "format", "message"),
    [
        ("a", None, "unknown suffix"),
        ("a.onnx", None, "unknown suffix"),
        ("a.json", "onnx", "format is 'onnx'; it must be one of tokenizer.json, tiktoken, sentencepiece, gpt2"),
        ("a.json", "gpt2", "give a directory"),
    ],
)
def test_a_format_that_cannot_be_written_is_an_option_error(
    name: str, format: str | None, message: str, tmp_path: Path, make: Make
) -> None:
    with pytest.raises(OptionError, match=message):
        formats.write(make(), tmp_path / name, format=format)
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_where_the_format_cannot_hold_the_definition(tmp_path: Path, make: Make) -> None:
    (tmp_path / "a.tiktoken").write_bytes(b"old")
    spoilt = make(merges=[(108, 108, 257), (104, 101, 256)])
    with pytest.raises(FormatError, match=r"a\.tiktoken: a rank file cannot hold this merge list"):
        formats.write(spoilt, tmp_path / "a.tiktoken")
    with pytest.raises(FormatError, match="GPT-2's pattern"):
        formats.write(make(pattern=patterns.O200K), tmp_path / "new", format="gpt2")
    assert (tmp_path / "a.tiktoken").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_an_added_token_whose_id_no_tokenizer_json_can_give_it_is_not_written(tmp_path: Path) -> None:
    # tokenizers numbers what the model does not have behind the vocabulary: id 0 is then another's.
    definition = Definition(
        vocab=Vocab.from_list([b"<s>", b"a", b"aa"]),
        model=CharBPE(merges=[(1, 1, 2)]),
        pretokenizer=None,
        added_tokens=(AddedToken("<s>", 0, special=True, normalized=False),),
        added_ids=frozenset([0]),
    )
    with pytest.raises(FormatError, match=r"'<s>' has the id 0, but tokenizers would give it 2"):
        formats.write(definition, tmp_path / "tokenizer.json")
    assert not list(tmp_path.iterdir())


def test_existing_files_stay_where_overwriting_is_not_wanted(tmp_path: Path, make: Make) -> None:
    for name in ("merges.txt", "added_tokens.json"):
        (tmp_path / name).write_bytes(b"old")
        for special in ({}, {"<x>": 300}):
            with pytest.raises(FileExistsError, match=f"{name} exists"):
                formats.write(make(special=special), tmp_path, overwrite=False)
        assert [path.name for path in tmp_path.iterdir()] == [name]
        (tmp_path / name).unlink()


def test_special_tokens_that_another_tokenizer_left_are_replaced(tmp_path: Path, make: Make, same: Same) -> None:
    assert len(formats.write(make(), tmp_path)) == 3
    assert len(formats.write(make(special={}), tmp_path)) == 3
    assert same(formats.read(tmp_path), make(special={}))
    (tmp_path / "added_tokens.json").unlink()
    assert [path.name for path in formats.write(make(special={}), tmp_path)] == ["vocab.json", "merges.txt"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full, which Linux has")
def test_streams_do_not_exist_for_overwriting(tmp_path: Path, make: Make) -> None:
    formats.write(make(), "/dev/null", format="tiktoken", overwrite=False)
    with pytest.raises(OSError, match="No space"):
        formats.write(make(), "/dev/full", format="tiktoken", overwrite=False)
    os.mkfifo(tmp_path / "pipe.tiktoken")
    reader = os.open(tmp_path / "pipe.tiktoken", os.O_RDONLY | os.O_NONBLOCK)
    formats.write(make(), tmp_path / "pipe.tiktoken", overwrite=False)
    assert os.read(reader, 1 << 16) == tiktoken.write(make())
    os.close(reader)
    code = (
        "import sys, tokkit; tok = tokkit.train(iter(['aaaa']), vocab_size=257); "
        "tok.save('/dev/stdout', format='tiktoken', overwrite=False)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with (tmp_path / "out").open("wb") as out:  # a regular file behind /dev/stdout
        subprocess.run([sys.executable, "-c", code], check=True, stdout=out, env=environment)
    assert (tmp_path / "out").read_bytes().count(b"\n") == 257


def test_a_tokenizer_saved_in_each_format_loads_with_equal_ids(
    tmp_path: Path, bundled: str, make_tokenizer: Callable[..., object]
) -> None:
    import tokkit

    for kind in ("rank", "merges"):
        tok: tokkit.Tokenizer = make_tokenizer(kind, "gpt2", {"<|end|>": 2000})  # type: ignore[assignment]
        for name in ("a.json", "a.tiktoken", "folder"):
            path = tok.save(tmp_path / name, format="gpt2" if name == "folder" else None)[0]
            again = tokkit.load(path)
            assert again.encode(bundled, special="all") == tok.encode(bundled, special="all")
            assert again.fingerprint() == tok.fingerprint()


def test_r50k_comes_back_from_vocab_and_merges_with_its_special_tokens(tmp_path: Path, shared: Path) -> None:
    import tokkit

    tok = tokkit.load(shared / "vocabs" / "r50k_base.tiktoken")
    more = tok.with_special_tokens({"东京": 50257, "<my token>": 50258})
    for made, name in ((tok, "a"), (more, "b")):
        made.save(tmp_path / name, format="gpt2")
        again = tokkit.load(tmp_path / name)
        assert again.special_tokens == made.special_tokens
        assert again.fingerprint() == made.fingerprint()
    assert again.encode("in 东京<my token><|endoftext|>", special="all") == [259, 220, 50257, 50258, 50256]


@pytest.mark.parametrize("name", ["tok.tiktoken", "hf/merges.txt", "hf/vocab.json", "tok.json"])
def test_random_changes_of_a_file_give_definitions_or_errors_of_ours(name: str, folder: Path) -> None:
    path = folder / name
    data = path.read_bytes()
    read_well = 0
    for seed in range(300):
        rng = random.Random(seed)
        spoilt = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(spoilt))
            spoilt[at : at + rng.choice([0, 1, 1, 9])] = rng.choice(
                [b"", b" ", b"\n", b"=", b"9", b"\0", rng.randbytes(3)]
            )
        path.write_bytes(spoilt)
        with contextlib.suppress(FormatError, OptionError, VocabError):
            formats.read(path, **({} if name == "tok.json" else {"pattern": "gpt2"}))
            read_well += 1
    assert read_well < 300


def test_every_error_of_a_file_names_the_file(folder: Path) -> None:
    value = json.loads((folder / "tok.json").read_bytes())
    value["model"]["dropout"] = 1.5
    (folder / "tok.json").write_text(json.dumps(value))
    with pytest.raises(TokkitError, match=r"tok\.json: model: dropout is 1\.5; it must be a probability from 0 to 1"):
        formats.read(folder / "tok.json")
