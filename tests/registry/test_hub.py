"""Names "org/name" load files from the hub's cache or from a hub on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

import tokkit
from extras import extra
from servers import Handler
from tokkit.errors import DownloadError
from tokkit.registry import hub

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("path", "is_name"),
    [
        ("openai-community/gpt2", True),
        ("org/name@main", True),
        ("org/Model-1.5_b@refs/pr/1", True),
        ("name", False),
        ("a/b/c", False),
        ("../name", False),
        ("./name", False),
        ("/abs/name", False),
        ("org/tokenizer.json", False),
        ("org/ranks.tiktoken", False),
        ("~/x", False),
        (Path("org/name"), False),
        (b"org/name", False),
    ],
)
def test_names_of_the_hub_are_told_from_paths(path: object, is_name: bool) -> None:
    assert hub.is_name(path) is is_name


def test_a_path_in_a_folder_that_is_there_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("org").mkdir()
    assert not hub.is_name("org/name")
    with pytest.raises(FileNotFoundError):
        tokkit.load("org/name")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder with the tokenizer.json of a small tokenizer."""
    (tmp_path / "files").mkdir()
    tokkit.train(iter(["low lower lowest"]), vocab_size=260).save(tmp_path / "files" / "tokenizer.json")
    return tmp_path / "files"


def in_process(code: str, tmp_path: Path, **env: str) -> str:
    """What a fresh interpreter prints, with a hub's cache of its own: settings are read when it is imported."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("HF_")} | {"HF_HOME": str(tmp_path / "hf")} | env
    done = subprocess.run([sys.executable, "-c", code], env=clean, capture_output=True, text=True, timeout=600)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


LOAD = "import tokkit\ntok = tokkit.load('org/name'{})\nprint(tok.encode('low'))"
FAIL = "import tokkit\ntry:\n    tokkit.load('org/name'{})\nexcept tokkit.DownloadError as error:\n    print(error)"


def test_the_cache_of_the_hub_is_enough(saved: Path, tmp_path: Path) -> None:
    extra("huggingface_hub")
    snapshot = tmp_path / "hf" / "hub" / "models--org--name" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "tokenizer.json").write_bytes((saved / "tokenizer.json").read_bytes())
    refs = snapshot.parent.parent / "refs"
    refs.mkdir()
    (refs / "main").write_text(COMMIT)
    assert in_process(LOAD.format(""), tmp_path, TOKKIT_OFFLINE="1") == "[257]"


def test_what_is_not_in_the_cache_is_an_error_that_says_how_to_get_it(tmp_path: Path) -> None:
    extra("huggingface_hub")
    assert "tokkit fetch org/name, or download=True" in in_process(FAIL.format(""), tmp_path)
    said = in_process(FAIL.format(", download=True"), tmp_path, TOKKIT_OFFLINE="1")
    assert "TOKKIT_OFFLINE=1 forbids" in said


def test_without_the_package_the_error_names_the_extra(tmp_path: Path) -> None:
    said = in_process("import sys\nsys.modules['huggingface_hub'] = None\n" + FAIL.format(""), tmp_path)
    assert "pip install 'pytokkit[hub]'" in said


def answers_for(folder: Path) -> Handler:
    """A hub that has the files of a folder in the model org/name."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        prefix = "/org/name/resolve/main/"
        path = folder / request.path.removeprefix(prefix)
        if not request.path.startswith(prefix) or not path.is_file():
            request.send_response(404)
            request.send_header("X-Error-Code", "EntryNotFound" if "/org/name/" in request.path else "RepoNotFound")
            request.send_header("X-Repo-Commit", COMMIT)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        data = path.read_bytes()
        request.send_response(200)
        request.send_header("ETag", '"' + hashlib.sha256(data).hexdigest() + '"')
        request.send_header("X-Repo-Commit", COMMIT)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(data)

    return answer


def test_a_tokenizer_is_downloaded_where_that_is_asked(
    saved: Path, tmp_path: Path, serve: Callable[[Handler], str]
) -> None:
    extra("huggingface_hub")
    endpoint = serve(answers_for(saved))
    assert in_process(LOAD.format(", download=True"), tmp_path, HF_ENDPOINT=endpoint) == "[257]"
    assert in_process(LOAD.format(""), tmp_path, TOKKIT_OFFLINE="1") == "[257]"


def test_a_pair_of_files_is_taken_where_there_is_no_tokenizer_json(
    tmp_path: Path, serve: Callable[[Handler], str]
) -> None:
    extra("huggingface_hub")
    (tmp_path / "pair").mkdir()
    tokkit.train(iter(["low lower lowest"]), vocab_size=260).save(tmp_path / "pair", format="gpt2")
    endpoint = serve(answers_for(tmp_path / "pair"))
    assert in_process(LOAD.format(", download=True"), tmp_path, HF_ENDPOINT=endpoint) == "[257]"


@pytest.mark.parametrize("name", ["a--b/c", "org/" + "x" * 200])
def test_a_name_that_no_model_can_have_is_an_error_of_ours(name: str) -> None:
    extra("huggingface_hub")
    from tokkit.registry import hub_models

    for find in (hub.find, hub_models.find):
        with pytest.raises(DownloadError, match=f"^{name}: "):
            find(name)


def test_a_hub_without_the_model_is_an_error(tmp_path: Path, serve: Callable[[Handler], str]) -> None:
    extra("huggingface_hub")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "config.json").write_text(json.dumps({}))
    endpoint = serve(answers_for(tmp_path / "empty"))
    said = in_process(FAIL.format(", download=True"), tmp_path, HF_ENDPOINT=endpoint)
    assert "this repository has no supported tokenizer; looked for tokenizer.json" in said
