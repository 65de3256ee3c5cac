"""Plug-ins of tiktoken, and programs that put tokkit's drop-in in place of tiktoken, work as they do with tiktoken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PLUGIN = """
def own():
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257}
    return {"name": "own", "pat_str": r"\\w+|\\W", "mergeable_ranks": ranks, "special_tokens": {"<|end|>": 258},
            "explicit_n_vocab": 259}

ENCODING_CONSTRUCTORS = {"own": own}
"""
PROGRAM = """
import json
PACKAGE
out = {"names": "own" in tiktoken.list_encoding_names()}
out["constructors"] = "own" in tiktoken.registry.ENCODING_CONSTRUCTORS
enc = tiktoken.get_encoding("own")
out["ids"] = enc.encode("low low<|end|>", allowed_special="all")
out["same"] = enc is tiktoken.get_encoding("own") is tiktoken.registry.ENCODINGS["own"]
out["class"] = isinstance(enc, tiktoken.Encoding) and isinstance(enc, tiktoken.core.Encoding)
out["n"] = enc.n_vocab
tiktoken.registry.ENCODING_CONSTRUCTORS["mine"] = lambda: {**tiktoken.registry.ENCODING_CONSTRUCTORS["own"](),
    "name": "mine"}
out["mine"] = tiktoken.get_encoding("mine").name
try:
    tiktoken.get_encoding("nothing")
except ValueError as error:
    out["error"] = "own_plugin" in str(error)
print(json.dumps(out))
"""
ERRORS = """
import json
PACKAGE
out = []
for _ in range(2):
    try:
        tiktoken.list_encoding_names()
    except ValueError as error:
        out.append("own_plugin" in str(error))
print(json.dumps(out))
"""
PACKAGES = {
    "ours": "import tokkit.compat.tiktoken as tiktoken",
    "in place": "import sys, tokkit.compat.tiktoken\nsys.modules['tiktoken'] = tokkit.compat.tiktoken\n"
    "import tiktoken, tiktoken.core, tiktoken.registry\nfrom tiktoken.core import Encoding\n"
    "assert tiktoken.core is tokkit.compat.tiktoken.core and Encoding is tokkit.compat.tiktoken.Encoding",
    "theirs": "import tiktoken",
}


def output(program: str, package: str, folder: Path) -> Any:
    """What a program prints with a package, where the namespace tiktoken_ext has a folder with a plug-in too."""
    paths = [str(folder), *sys.path]
    made = subprocess.run(
        [sys.executable, "-c", program.replace("PACKAGE", PACKAGES[package])],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


def write(folder: Path, text: str) -> None:
    (folder / "tiktoken_ext").mkdir()
    (folder / "tiktoken_ext" / "own_plugin.py").write_text(text)


@pytest.mark.parametrize("package", ["ours", "in place"])
def test_encodings_of_plug_ins_are_found(package: str, tmp_path: Path) -> None:
    write(tmp_path, PLUGIN)
    found = output(PROGRAM, package, tmp_path)
    assert found == {
        **{"names": True, "constructors": True, "ids": [257, 32, 257, 258], "same": True, "class": True},
        **{"n": 259, "mine": "mine", "error": True},
    }
    pytest.importorskip("tiktoken")
    assert output(PROGRAM, "theirs", tmp_path) == found


@pytest.mark.parametrize("text", ["", PLUGIN.replace('{"own": own}', '{"cl100k_base": own}')])
def test_plug_ins_that_cannot_be_used_are_the_same_error_each_time(text: str, tmp_path: Path) -> None:
    write(tmp_path, text)
    assert output(ERRORS, "ours", tmp_path) == [True, True]
    pytest.importorskip("tiktoken")
    assert len(output(ERRORS, "theirs", tmp_path)) == 2


def test_constructors_of_published_encodings_return_the_arguments_of_tiktoken(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokkit.compat import tiktoken as face

    public = pytest.importorskip("tiktoken_ext.openai_public")
    monkeypatch.setenv("TOKKIT_DATA_DIR", str(shared / "vocabs"))
    monkeypatch.setattr(public, "load_tiktoken_bpe", lambda *_, **__: {})
    face.list_encoding_names()
    constructors = face.registry.ENCODING_CONSTRUCTORS
    assert constructors is not None
    for name in ("cl100k_base", "o200k_harmony"):
        ours, theirs = constructors[name](), public.ENCODING_CONSTRUCTORS[name]()
        assert {key: ours[key] for key in ("name", "pat_str", "special_tokens")} == {
            key: theirs[key] for key in ("name", "pat_str", "special_tokens")
        }
        made = face.Encoding(**ours)
        assert made.encode("low lower <|x|>") == face.get_encoding(name).encode("low lower <|x|>")


def test_modules_are_found_by_the_names_of_the_libraries_they_replace() -> None:
    program = """
import importlib, importlib.util, sys
import tokkit.compat
for library, module in (("tokenizers", "decoders"), ("sentencepiece", "processor"), ("tiktoken", "load")):
    package = importlib.import_module("tokkit.compat." + library)
    sys.modules[library] = package
    name = next((n for n in (module,) if importlib.util.find_spec(package.__name__ + "." + n)), None)
    if name is not None:
        found = importlib.import_module(library + "." + name)
        assert found is importlib.import_module(package.__name__ + "." + name), name
        assert found.__spec__.name == found.__name__ == package.__name__ + "." + name
        assert importlib.reload(found) is found
try:
    import tiktoken.nothing
except ModuleNotFoundError as error:
    print('"' + error.name + '"')
"""
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == '"tokkit.compat.tiktoken.nothing"\n', found.stderr
