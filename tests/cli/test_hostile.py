"""Commands show no control character of hostile names, tokens and texts."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import model_folders
import tokkit
from all_commands import COMMANDS, REQUIRED, arguments, make_files
from conftest import LONG
from tokkit.cli.train import BELONGS, MODELS
from tokkit.escaping import CONTROLS

HOSTILE = "h\x1b[31m\x07\r\nforged: line\t\x7f\x9b2J\u202egnp\u2066\u200f\u2028\u061cé"
"""An ESC sequence, a bell, line ends, DEL, C1, and controls of bidi."""
UNDECODABLE = "\udcff\udc9b"
"""What Python makes of bytes of an argument or a name that are not UTF-8."""
DATA = ("decode", "truncate", "model generate", "model chat")
"""Commands whose stdout is data, byte for byte; all that is on stderr is a message."""
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
MORE = {
    "pad_token": {"pad": "longest"},
    "truncation": {"max_length": "3"},
    "stride": {"max_length": "3"},
    "separator": {"output": "subwords"},
    "seed": {"dropout": "0.1"},
    "price": {"prices": "prices.toml"},
    "output_tokens": {"prices": "prices.toml"},
}
"""What else a parameter wants."""


def clean(out: Any, *, keep: str = "\n", stdout: bool = True, of_lines: bool = False) -> None:
    """Assert that what was said has no control character, and is UTF-8; what is `of_lines` of a text keeps these."""
    for said in (out.stdout_bytes if stdout else b"", out.stderr_bytes):
        assert not [c for c in CONTROLS.findall(said.decode()) if c not in keep], said
        assert of_lines or not re.search(rb"^forged", said, re.MULTILINE), said


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands read, made once."""
    folder = tmp_path_factory.mktemp("made")
    make_files(folder)
    (folder / "prices.toml").write_text("[gpt]\ninput = 1\n")
    return folder


@pytest.fixture
def files(run, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of it in the folder where commands run, and no network."""
    monkeypatch.setenv("TOKKIT_OFFLINE", "1")
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def renamed(run, files: None) -> dict[str, str]:
    """The files that the commands name under hostile names: old name → new one."""
    assert run("model", "embed", "lines.txt", "-o", "index", "--model", "model").exit_code == 0
    # No other system takes bytes that are not UTF-8 into a name.
    odd = HOSTILE + (UNDECODABLE if sys.platform == "linux" else "")
    names = {}
    for old in ("tok.json", "a.txt", "a.ids", "lines.txt", "model", "index"):
        stem, suffix = os.path.splitext(old)
        names[old] = f"{stem}{odd}{suffix}"
        try:
            shutil.copytree(old, names[old]) if os.path.isdir(old) else shutil.copy(old, names[old])
        except OSError:
            pytest.skip("needs a file system whose names may have control characters, as those of Linux may")
    return names | {"new.json": f"new{odd}.json", "new.html": f"new{odd}.html"}


@pytest.mark.parametrize("name", COMMANDS)
def test_files_of_hostile_names_are_shown_without_controls(run, renamed, name) -> None:
    given = {key: renamed.get(value, value) for key, value in REQUIRED[name].items()}
    args, at = arguments(name, given), len(name.split(" "))
    has_json = any("--json" in parameter.opts for parameter in COMMANDS[name].params)
    for more in [(), ("--json",)] if has_json else [()]:
        out = run(*args[:at], *more, *args[at:])
        assert out.exit_code == 0 or name in ("fetch", "completion", "serve", "play"), out.stderr
        clean(out, keep="\n\t" if name == "completion" else "\n", stdout=name not in DATA)
        if more and name != "fetch":
            json.loads(out.stdout)
    clean(run(*args), keep="\n\t" if name == "completion" else "\n", stdout=name not in DATA)  # outputs exist now
    for old, new in renamed.items():
        if new in given.values():
            shutil.rmtree(new) if os.path.isdir(new) else os.unlink(new)
            out = run(*args)
            clean(out, stdout=name not in DATA)
            assert out.exit_code == 1 or old.startswith("new"), "the input is gone"


def test_names_are_exact_in_json(run, renamed) -> None:
    for args in (("count", renamed["tok.json"], renamed["a.txt"]), ("inspect", renamed["tok.json"])):
        found = json.loads(run(*args, "--json").stdout)
        assert found.get("file", found.get("files", [{}])[0].get("file") if "files" in found else "") == args[-1]


def taken(command: click.Command) -> list[str]:
    """The parameters of a command that take a value."""
    return [str(p.name) for p in command.params if not (isinstance(p, click.Option) and (p.is_flag or p.count))]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_may_be_hostile(run, files, tmp_path, name) -> None:
    values = (HOSTILE, f"x{HOSTILE}{UNDECODABLE}.json")
    for turn, parameter in enumerate(taken(COMMANDS[name]), len(name)):
        more = {"model": BELONGS[parameter][0]} if name == "train" and parameter in BELONGS else MORE.get(parameter, {})
        for value in values if LONG else (values[turn % 2],):
            clean(run(*arguments(name, {**more, parameter: value})), stdout=name not in DATA)
    for args in ((f"--{HOSTILE}",), (HOSTILE, HOSTILE), (f"--config={HOSTILE}",), ("--force=" + HOSTILE,)):
        clean(run(*name.split(" "), *args))
        clean(run(*args))
    Path("t.toml").write_text(f"[{name.split(' ')[0]}]\n{json.dumps(HOSTILE)} = 1\n", encoding="utf-8")
    clean(run("--config", "t.toml", *name.split(" ")))


def test_a_choice_that_is_missing_is_listed_on_lines(run) -> None:
    out = run("completion")
    assert out.exit_code == 2
    clean(out, keep="\n\t")
    assert "\n\tbash" in out.stderr or "[bash|zsh|fish]" in out.stderr or "{bash|zsh|fish}" in out.stderr


@pytest.fixture
def hostile(run, files: None) -> str:
    """A text of hostile words, and a tokenizer with hostile tokens, special tokens and pattern: hostile.json."""
    text = f"low {HOSTILE} lower\n{HOSTILE}{HOSTILE} newest\n" * 50
    Path("hostile.txt").write_bytes(text.encode())
    tok = tokkit.train(
        iter([text]), vocab_size=400, special_tokens=[HOSTILE + "|"], pattern=r"(?:low|[^\n\x1b])+|\n|\x1b"
    )
    tok.save("hostile.json")
    assert any(CONTROLS.search(token.decode("utf-8", "ignore")) for token in tok.vocab)
    return text


SHOWN = [
    ("encode", "hostile.json", "hostile.txt"),
    *(("encode", "hostile.json", "hostile.txt", "--output", kind) for kind in ("tokens", "json", "full")),
    ("encode", "hostile.json", "hostile.txt", "--explain"),
    ("view", "hostile.json", "hostile.txt"),
    ("view", "hostile.json", "hostile.txt", "--ids", "--colour", "always"),
    ("inspect", "hostile.json"),
    ("inspect", "hostile.json", "--json"),
    ("inspect", "hostile.json", "--sample", HOSTILE),
    ("inspect", "hostile.json", "--sample", HOSTILE, "--json"),
    ("inspect", "hostile.json", "--tokens"),
    ("inspect", "hostile.json", "--tokens", "--json"),
    ("compare", "hostile.json", "tok.json", "--sample", HOSTILE),
    ("compare", "hostile.json", "tok.json", "--sample", HOSTILE, "--json"),
    ("compare", "hostile.json", "tok.json", "--", "hostile.txt", "a.txt"),
    ("compare", "hostile.json", "tok.json", "--json", "--", "hostile.txt", "a.txt"),
    ("compare", "--train", ",".join(MODELS[:6]), "--vocab-sizes", "400", "hostile.txt"),
    ("bench", "hostile.json", "hostile.txt", "--runs", "1"),
    ("model", "fill-mask", "model", f"the [MASK] {HOSTILE}", "-k", "40"),
    ("model", "fill-mask", "model", f"the [MASK] {HOSTILE}", "-k", "40", "--json"),
    ("model", "fill-mask", "model", f"the {HOSTILE}", "--mask", HOSTILE),
    ("model", "attention", "model", HOSTILE, "-o", "x.html"),
    ("model", "similarity", "--model", "model", HOSTILE, "--file", "special.txt", "low"),
    ("model", "similarity", "--model", "model", HOSTILE, "low", "--json"),
    ("model", "search", "index", HOSTILE),
    ("model", "search", "index", HOSTILE, "--full"),
    ("model", "search", "index", HOSTILE, "--json"),
    ("model", "search", "index", "-"),
]
REFUSED = [
    ("encode", "hostile.json", "special.txt", "--unit", "file", "--special", "raise"),
    ("encode", "hostile.json", "special.txt", "--special", "raise", "-o", "x.npy"),
    ("encode", "hostile.json", "bad.txt"),
    ("encode", "hostile.json", "bad.jsonl"),
    ("encode", "hostile.json", "bad.jsonl", "--field", HOSTILE),
    ("decode", "hostile.json", "hostile.txt"),
    ("decode", "hostile.json", "bad.jsonl"),
    ("decode", "hostile.json", "bad.npy"),
    ("count", "hostile.json", "hostile.txt", "--limit", "1"),
    ("count", "hostile.json", "hostile.txt", "--json", "--prices", "prices.toml", "--price", HOSTILE),
    ("count", "hostile.json", "hostile.txt", "--prices", "bad.toml"),
    ("inspect", "hostile.txt"),
    ("inspect", "stranger.json"),
    ("compare", "--train", HOSTILE, "--vocab-sizes", "400", "hostile.txt"),
    ("model", "embed", "hostile.txt", "bad.txt", "-o", "index", "--model", "model"),
]


@pytest.mark.parametrize(
    ("refused", "args"),
    [(code, args) for code, all_of_them in enumerate((SHOWN, REFUSED)) for args in all_of_them],
    ids=lambda given: " ".join(given).replace(HOSTILE, "HOSTILE") if isinstance(given, tuple) else "",
)
def test_hostile_tokens_and_texts_are_shown_without_controls(run, hostile, refused, args) -> None:
    for name, data in {
        "special.txt": f"low {HOSTILE}|".encode(),
        "bad.txt": HOSTILE.encode() + b"\xff",
        "bad.jsonl": json.dumps({HOSTILE: 1}).encode() + b"\n" + HOSTILE.encode(),
        "bad.npy": HOSTILE.encode(),
        "bad.toml": f"[{json.dumps(HOSTILE)}]\n{json.dumps(HOSTILE)} = 1\n".encode(),
        "stranger.json": json.dumps({HOSTILE: HOSTILE, "model": {HOSTILE: HOSTILE}}).encode(),
    }.items():
        Path(name).write_bytes(data)
    words = [*model_folders.WORDS, *(f"a{c}b" for c in HOSTILE if CONTROLS.match(c) and c not in "\r\n")]
    (Path("model") / "vocab.txt").write_bytes("\n".join([*words, ""]).encode())
    if args[1] == "search":
        assert run("model", "embed", "hostile.txt", "-o", "index", "--model", "model").exit_code == 0
    out = run(*args, input=HOSTILE)
    assert bool(out.exit_code) == refused, out.stderr
    assert out.stdout or out.stderr
    if "always" in args:
        shown = COLOUR.sub("", out.stdout)
        assert shown != out.stdout
        assert set(CONTROLS.findall(shown)) == {"\n"}
        return
    clean(out, keep="\n\t" if args[-1] == "--tokens" else "\n", stdout=args[0] not in DATA, of_lines=True)


@pytest.mark.parametrize("model", MODELS)
def test_trainings_on_hostile_text_are_told_without_controls(run, hostile, model) -> None:
    special = (
        "--special-token",
        HOSTILE + "|",
        *(("--special-token", "[UNK]") if model in BELONGS["unk_token"] else ()),
    )
    explain = ("--explain",) if model in BELONGS["explain"] else ()
    small = ("--no-hard-vocab-limit",) if model in BELONGS["hard_vocab_limit"] else ()
    suffix = ".model" if small else ".json"
    name = f"new{HOSTILE}{suffix}"
    for more in ((), ("--json",), ("--vocab-size=300",)):
        args = ("--model", model, "--vocab-size=400", *special, *explain, *small, *more, "--force")
        out = run("train", "hostile.txt", "-o", name, *args)
        clean(out)
        assert out.exit_code == 0, out.stderr


@pytest.mark.skipif(
    os.name != "posix", reason="needs names with control characters, which Windows forbids: run it on Linux or macOS"
)
def test_the_library_s_own_messages_are_one_line_without_controls(tmp_path: Path) -> None:
    tok = tokkit.train(iter(["low"]), vocab_size=257)
    place = tmp_path / HOSTILE
    place.mkdir()
    (place / "in.txt").write_bytes(b"\xff")
    for call in (
        lambda: tokkit.load(place),
        lambda: tokkit.load(place / "in.txt"),
        lambda: tok.encode_file(place / "in.txt", place / "out.npy"),
        lambda: tok.encode_file(place / "none.txt", place / "out.npy"),
        lambda: tok.encode_file(place / "in.txt", place / HOSTILE),
        lambda: tok.save(place / "absent" / "t.json"),
        lambda: tok.save(place / "t.odd"),
        lambda: tokkit.train([place / "absent*"]),
        lambda: tokkit.get_encoding(HOSTILE),
        lambda: tokkit.encoding_for_model(HOSTILE),
    ):
        with pytest.raises((tokkit.TokkitError, OSError, KeyError)) as caught:
            call()
        assert not CONTROLS.search(str(caught.value)), caught.value


def test_nothing_is_said_but_through_what_escapes() -> None:
    package = Path(tokkit.__file__).parent
    files = [*(package / "cli").glob("*.py"), package / "progress.py"]
    said = {path.name: path.read_text(encoding="utf-8").count("click.echo(") for path in files}
    # Notes, which escape; the bar, its end and its JSON, and the version, in which nothing is a user's.
    assert {name: n for name, n in said.items() if n} == {
        "errors.py": 1,
        "progress.py": 3,
        "__init__.py": 1,
        "model_generate.py": 1,
    }
    raw = re.compile(r"format_filename|sys\.std(?:out|err)\.write|\bprint\(")
    assert not [path.name for path in files if raw.search(path.read_text(encoding="utf-8"))]
