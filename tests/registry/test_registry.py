"""Names give the encodings that tiktoken has under them, wherever their files are."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

import tokkit
from servers import Handler, sends
from tokkit import registry
from tokkit.registry import local_files, models
from tokkit.registry.encodings import ENCODINGS, GPT2_PAIR

TEXT = "Hello, world! naïve café 東京 🙂\n\n  def f(x):\treturn x+1  <|endoftext|><|fim_prefix|><|start|>\r\n" * 3


@pytest.fixture
def vocabs(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the published files, made known by TOKKIT_DATA_DIR."""
    monkeypatch.setenv("TOKKIT_DATA_DIR", str(shared / "vocabs"))
    return shared / "vocabs"


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_encoding_is_what_tiktoken_has_under_its_name(
    name: str, vocabs: Path, monkeypatch: pytest.MonkeyPatch, load_tiktoken: Callable
) -> None:
    from tiktoken_ext import openai_public

    pairs = {"vocab_bpe_file": vocabs / "gpt2" / "vocab.bpe", "encoder_json_file": vocabs / "gpt2" / "encoder.json"}
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks

    monkeypatch.setattr(
        openai_public,
        "data_gym_to_mergeable_bpe_ranks",
        lambda **_: data_gym_to_mergeable_bpe_ranks(**{key: str(path) for key, path in pairs.items()}),
    )
    rival = load_tiktoken(name)
    tok = tokkit.get_encoding(name)
    assert tok.name == name == rival.name
    assert tok.n_ids == rival.n_vocab
    # tiktoken gives the id 200018 of o200k_harmony two texts; here it has the first one.
    wanted = {text: id_ for text, id_ in rival._special_tokens.items() if text != "<|reserved_200018|>"}
    assert dict(tok.special_tokens) == wanted
    assert tok.encode(TEXT) == rival.encode(TEXT, disallowed_special=())
    assert tok.encode(TEXT, special="all") == rival.encode(TEXT, allowed_special="all")
    assert [tok.token_bytes(id_) for id_ in range(0, 50000, 7)] == rival.decode_tokens_bytes(range(0, 50000, 7))


def test_the_table_of_models_is_that_of_tiktoken() -> None:
    theirs = pytest.importorskip("tiktoken.model")
    if tuple(map(int, version("tiktoken").split(".")[:2])) < (0, 14):
        pytest.skip("our table is that of tiktoken 0.14")
    assert theirs.MODEL_TO_ENCODING == models.MODELS
    assert list(theirs.MODEL_PREFIX_TO_ENCODING.items()) == list(models.BEGINNINGS.items())
    names = [*models.MODELS, *(start + "x" for start in models.BEGINNINGS), "gpt-5.1", "gpt-4-FAKE", "ft:gpt-4o-x"]
    for name in names:
        assert models.encoding_name_for_model(name) == theirs.encoding_name_for_model(name)
    for name in ("gpt", "gpt-6", "", "gemini", "o1x", "O1"):
        with pytest.raises(KeyError):
            theirs.encoding_name_for_model(name)
        with pytest.raises(tokkit.OptionError):
            models.encoding_name_for_model(name)


def test_a_model_gets_its_encoding(vocabs: Path) -> None:
    assert tokkit.encoding_for_model("gpt-4").name == "cl100k_base"
    assert tokkit.encoding_for_model("gpt-4").encode("Hello, world!") == [9906, 11, 1917, 0]
    assert tokkit.encoding_for_model("gpt2") is tokkit.get_encoding("gpt2")


@pytest.mark.parametrize(
    ("call", "given", "near"),
    [
        (tokkit.encoding_for_model, "gtp-4o", "did you mean gpt-4o"),
        (tokkit.encoding_for_model, "GPT-4o", "did you mean gpt-4o"),
        (tokkit.encoding_for_model, "text-embeding-3-small", "text-embedding-3-small"),
        (tokkit.encoding_for_model, "zzz", "known are o1, o3"),
        (tokkit.get_encoding, "cl100k", "did you mean cl100k_base"),
        (tokkit.get_encoding, "gpt-4o", "its encoding is o200k_base"),
        (registry.fetch, "gtp-4", "did you mean gpt-4"),
        (tokkit.get_encoding, None, "is NoneType; it must be a str"),
        (tokkit.encoding_for_model, b"gpt-4", "is bytes; it must be"),
    ],
)
def test_an_unknown_name_is_an_error_that_names_the_nearest(call: Callable, given: object, near: str) -> None:
    with pytest.raises(tokkit.OptionError, match=near):
        call(given)


def put(vocabs: Path, target: Path, name: str = "r50k_base.tiktoken") -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(vocabs / name, target)
    return target


def test_a_file_is_found_in_each_of_the_places(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vocabs, file = shared / "vocabs", "r50k_base.tiktoken"
    with pytest.raises(tokkit.DownloadError, match=r"r50k_base.tiktoken \(0.8 MB\) is not in .*tokkit fetch r50k_base"):
        tokkit.get_encoding("r50k_base")
    in_cache = put(vocabs, local_files.user_cache() / file)
    assert tokkit.get_encoding("r50k_base").n_ids == 50257
    in_cache.unlink()
    key = hashlib.sha1(ENCODINGS["r50k_base"].url.encode()).hexdigest()
    for variable, name in (("TIKTOKEN_CACHE_DIR", key), ("TIKTOKEN_CACHE_DIR", file), ("TOKKIT_DATA_DIR", file)):
        placed = put(vocabs, tmp_path / "place" / name)
        with monkeypatch.context() as patch:
            patch.setenv(variable, str(placed.parent))
            assert tokkit.get_encoding("r50k_base").n_ids == 50257
        for given in (placed, str(placed), placed.parent) if name == file else (placed,):
            assert tokkit.get_encoding("r50k_base", path=given).n_ids == 50257
        placed.unlink()
    put(vocabs, Path(file))
    assert tokkit.get_encoding("gpt2").name == "gpt2"


def test_the_own_files_of_gpt2_serve_where_tiktoken_keeps_them(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = tokkit.get_encoding("gpt2", path=shared / "vocabs")
    for source in GPT2_PAIR:
        key = hashlib.sha1(source.url.encode()).hexdigest()
        shutil.copyfile(shared / "vocabs" / "gpt2" / source.file, tmp_path / key)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    tok = tokkit.get_encoding("gpt2")
    assert tok.name == "gpt2"
    assert tok.fingerprint() == wanted.fingerprint()
    assert tok.encode(TEXT, special="all") == wanted.encode(TEXT, special="all")
    (tmp_path / key).write_bytes(b"{}")
    with pytest.raises(tokkit.FormatError, match="sha256"):
        tokkit.get_encoding("gpt2")


def test_the_key_of_a_file_is_the_one_tiktoken_looks_for(vocabs: Path, tmp_path: Path) -> None:
    tiktoken_load = pytest.importorskip("tiktoken.load")
    source = ENCODINGS["r50k_base"]
    put(vocabs, tmp_path / hashlib.sha1(source.url.encode()).hexdigest())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
        patch.setattr(tiktoken_load, "read_file", lambda _: pytest.fail("it was not found in the cache"))
        assert hashlib.sha256(tiktoken_load.read_file_cached(source.url, source.sha256)).hexdigest() == source.sha256


def test_a_file_that_somebody_changed_is_refused_with_both_hashes(vocabs: Path, tmp_path: Path) -> None:
    changed = put(vocabs, tmp_path / "r50k_base.tiktoken")
    data = changed.read_bytes()
    assert tokkit.get_encoding("r50k_base", path=changed).n_ids == 50257
    changed.write_bytes(data[:-2] + b"9\n")
    for _ in range(2):  # what was loaded before does not hide it
        with pytest.raises(tokkit.FormatError) as caught:
            tokkit.get_encoding("r50k_base", path=changed)
        assert ENCODINGS["r50k_base"].sha256 in str(caught.value)
        assert hashlib.sha256(changed.read_bytes()).hexdigest() in str(caught.value)
        assert str(changed) in str(caught.value)
    changed.write_bytes(b"")
    with pytest.raises(tokkit.FormatError, match=r"r50k_base.tiktoken: the file is empty"):
        tokkit.get_encoding("r50k_base", path=changed)


def test_a_second_call_gives_the_same_tokenizer(vocabs: Path) -> None:
    assert tokkit.get_encoding("p50k_base") is tokkit.get_encoding("p50k_base")
    assert tokkit.get_encoding("p50k_base") is not tokkit.get_encoding("p50k_edit")


def test_download_gets_what_is_nowhere_and_only_then(
    shared: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[[Handler], str]
) -> None:
    asked: list[str] = []
    data = (shared / "vocabs" / "cl100k_base.tiktoken").read_bytes()

    def answer(request: object) -> None:
        asked.append(request.path)
        sends(data)(request)

    monkeypatch.setenv("TOKKIT_MIRROR", serve(answer))
    assert tokkit.encoding_for_model("gpt-4", download=True).encode("Hello, world!") == [9906, 11, 1917, 0]
    assert asked == ["/cl100k_base.tiktoken"]
    assert tokkit.get_encoding("cl100k_base", download=True).name == "cl100k_base"
    assert registry.fetch("cl100k_base") == local_files.user_cache() / "cl100k_base.tiktoken"
    assert len(asked) == 1
    # What somebody changed is replaced where fetching is asked for.
    registry.fetch("gpt-4").write_bytes(b"changed")
    assert registry.fetch("cl100k_base").read_bytes() == data
    assert len(asked) == 2
    monkeypatch.setenv("TOKKIT_OFFLINE", "1")
    assert registry.fetch("cl100k_base").read_bytes() == data
    with pytest.raises(tokkit.DownloadError, match="TOKKIT_OFFLINE=1 forbids"):
        tokkit.get_encoding("o200k_base", download=True)


def test_the_users_cache_is_where_the_system_has_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TOKKIT_CACHE_DIR")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert local_files.user_cache() == tmp_path / "tokkit"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert local_files.user_cache() == Path.home() / ".cache" / "tokkit"
    monkeypatch.setattr("sys.platform", "darwin")
    assert local_files.user_cache().parts[-3:] == ("Library", "Caches", "tokkit")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert local_files.user_cache() == tmp_path / "tokkit" / "Cache"
    assert os.environ.get("TOKKIT_CACHE_DIR") is None
