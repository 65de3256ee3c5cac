"""tiktoken's modules load, model, registry and _educational in tokkit's drop-in, and `tokkit.from_tiktoken`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tokkit
from conftest import Small
from strategies import adversarial, documents
from tokkit.compat import tiktoken as face

tiktoken = pytest.importorskip("tiktoken")
from tiktoken import _educational, load, model, registry  # noqa: E402

PATTERN = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+"


def outcome(call: Callable[..., object], *args: object, **options: object) -> object:
    """What a call returns, or the built-in class of what it raises."""
    try:
        return call(*args, **options)
    except Exception as error:
        return next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")


def test_modules_have_the_public_names_of_tiktokens() -> None:
    assert face.__version__ == tiktoken.__version__
    for theirs, ours in (
        (load, face.load),
        (model, face.model),
        (tiktoken.core, face.core),
        (_educational, face._educational),
    ):
        own = {name for name, value in vars(theirs).items() if getattr(value, "__module__", "") == theirs.__name__}
        assert {name for name in own if not name.startswith("_")} <= set(dir(ours)), ours
    assert {"ENCODINGS", "get_encoding", "list_encoding_names"} <= set(dir(face.registry)) & set(dir(registry))
    assert face.core.Encoding is face.Encoding


def test_models_have_the_same_encodings_and_a_program_adds_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert face.model.MODEL_TO_ENCODING == model.MODEL_TO_ENCODING
    assert list(face.model.MODEL_PREFIX_TO_ENCODING.items()) == list(model.MODEL_PREFIX_TO_ENCODING.items())
    for name in ("gpt-4", "gpt-4-x", "ft:gpt-4o:x", "gpt-5.9", "nope", "", None, 5, ["gpt-4"]):
        found = outcome(face.model.encoding_name_for_model, name)
        assert found == outcome(model.encoding_name_for_model, name), name
    monkeypatch.setitem(face.model.MODEL_TO_ENCODING, "own", "p50k_edit")
    assert face.encoding_name_for_model("own") == "p50k_edit"


@pytest.mark.parametrize(
    "content",
    [
        b"YQ== 0\nYWI= 1\n",
        b"",
        b"\n\nYQ== 7\n",
        b"YQ== 0\r\nYQ== 3",
        b"YQ==\n",
        b"YQ== x\n",
        b"a 0\n",
        b"= 0\n",
        b" \n",
    ],
)
def test_files_of_ranks_are_read_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))  # without it, tiktoken compares no hash
    path = str(tmp_path / "own.tiktoken")
    Path(path).write_bytes(content)
    for options in ({}, {"expected_hash": "0" * 64}):
        ours, theirs = (outcome(module.load_tiktoken_bpe, path, **options) for module in (face.load, load))
        assert ours == theirs
    for name in ("read_file", "read_file_cached"):
        assert getattr(face.load, name)(path) == getattr(load, name)(path)
        assert outcome(getattr(face.load, name), f"{path}.no") is outcome(getattr(load, name), f"{path}.no")


def test_ranks_that_are_written_are_read_by_both(tmp_path: Path, small: Small) -> None:
    path = str(tmp_path / "own.tiktoken")
    face.load.dump_tiktoken_bpe(dict(reversed(small.ids.items())), path)
    assert face.load.load_tiktoken_bpe(path) == small.ids
    ranks = [int(line.split()[1]) for line in Path(path).read_bytes().splitlines()]
    assert ranks == sorted(small.ids.values())
    with pytest.raises(ValueError, match="path of a file"):
        face.load.dump_tiktoken_bpe({}, "https://host/x")


def test_an_address_is_found_on_this_machine_or_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, known = "https://host/own.tiktoken", "https://openaipublic.blob.core.windows.net/encodings/r50k_base.tiktoken"
    for name in ("TOKKIT_DATA_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TOKKIT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tokkit.DownloadError, match="give its path"):
        face.load.load_tiktoken_bpe(url)
    with pytest.raises(OSError, match="tokkit fetch r50k_base"):
        face.load.read_file(known)
    cached = tmp_path / hashlib.sha1(url.encode()).hexdigest()
    cached.write_bytes(b"YQ== 0\n")
    assert face.load.load_tiktoken_bpe(url) == load.load_tiktoken_bpe(url) == {b"a": 0}
    with pytest.raises(tokkit.DownloadError):
        face.load.load_tiktoken_bpe(url, expected_hash="0" * 64)
    (tmp_path / "r50k_base.tiktoken").write_bytes(b"YQ== 0\n")
    with pytest.raises(ValueError, match="sha256"):
        face.load.load_tiktoken_bpe(known, expected_hash="0" * 64)


@pytest.mark.parametrize("change", [{}, {"!": 5}, {"!": None}, {"<|endoftext|>": 258}, {"\u0109\u0109": 9}])
@pytest.mark.parametrize("clobber", [False, True])
def test_the_files_of_gpt2_are_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], clobber: bool
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    alphabet = map(chr, (*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324)))
    ids = {token: id_ for id_, token in enumerate([*alphabet, "ab", "abc", "\u0120a"])}
    ids = {token: id_ for token, id_ in {**ids, **change}.items() if id_ is not None}
    (tmp_path / "vocab.bpe").write_text("#version: 0.2\na b\nab c\n\u0120 a\n", encoding="utf-8")
    (tmp_path / "encoder.json").write_text(json.dumps(ids))
    args = str(tmp_path / "vocab.bpe"), str(tmp_path / "encoder.json")
    ours, theirs = (
        outcome(module.data_gym_to_mergeable_bpe_ranks, *args, clobber_one_byte_tokens=clobber)
        for module in (face.load, load)
    )
    assert ours == theirs
    if not change:
        assert len(ours) == 259  # type: ignore[arg-type]


@pytest.mark.parametrize("visualise", [None, "colour", "color", "simple", "other"])
def test_the_educational_encoding_gives_and_prints_the_same(
    small: Small, capsys: pytest.CaptureFixture[str], visualise: str | None
) -> None:
    found = []
    for module in (_educational, face._educational):
        enc = module.SimpleBytePairEncoding(pat_str=PATTERN, mergeable_ranks=small.ids)
        ids = enc.encode("low naïve 🦜 lowest", visualise=visualise)
        found.append((ids, enc.decode(ids[:5]), enc.decode_tokens_bytes(ids), enc.decode_bytes(ids)))
        found[-1] += (outcome(enc.decode, [10**6]), outcome(module.bpe_encode, {b"a": 0}, b"ab", visualise=None))
        found[-1] += (capsys.readouterr().out,)
    assert found[0] == found[1]


def test_the_educational_training_gives_the_same_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(documents(609, 8))
    for visualise in (None, "colour", "simple"):
        args = text, 280, PATTERN, visualise
        assert face._educational.bpe_train(*args) == _educational.bpe_train(*args)
    for args in (("ab", 255, PATTERN), ("ab", 300, PATTERN)):
        ours, theirs = (
            outcome(module.bpe_train, *args, visualise=None) for module in (face._educational, _educational)
        )
        assert ours is theirs
    enc = face._educational.SimpleBytePairEncoding.train("low lower lowest", 259, PATTERN)
    assert enc.encode("low", visualise=None) == [257]
    assert "token 256" in capsys.readouterr().out


def test_an_educational_encoding_is_made_of_an_encoding(small: Small) -> None:
    for cls in (tiktoken.Encoding, face.Encoding):
        enc = cls("own", pat_str=PATTERN, mergeable_ranks=small.ids, special_tokens={"<|end|>": 2000})
        simple = face._educational.SimpleBytePairEncoding.from_tiktoken(enc)
        assert simple.encode("lowest 12", visualise=None) == enc.encode("lowest 12")


@pytest.mark.parametrize("pattern", [PATTERN, "none", r"(?<=a)b+|\w+|\W"])
def test_from_tiktoken_gives_the_same_ids(small: Small, pattern: str) -> None:
    for cls in (tiktoken.Encoding, face.Encoding):
        special = {"<|end|>": 2001, "<|endoftext|>": 2000}
        enc = cls("own", pat_str=pattern, mergeable_ranks=small.ids, special_tokens=special)
        tok = tokkit.from_tiktoken(enc)
        assert (tok.name, dict(tok.special_tokens), tok.n_ids) == ("own", special, enc.n_vocab)
        for text in (*documents(611, 20), adversarial(613, 500), "low<|end|>x<|endoftext|>"):
            assert tok.encode(text) == enc.encode_ordinary(text)
            ids = enc.encode(text, allowed_special="all")
            assert tok.encode(text, special="all") == ids
            assert tok.decode_bytes(ids) == enc.decode_bytes(ids)


def test_from_tiktoken_names_what_a_tokenizer_cannot_keep(small: Small) -> None:
    special = {"<|a|>": 2000, "<|b|>": 2000}
    enc = tiktoken.Encoding("own", pat_str=PATTERN, mergeable_ranks=small.ids, special_tokens=special)
    with pytest.warns(UserWarning, match=r"<\|b\|>"):
        tok = tokkit.from_tiktoken(enc)
    assert dict(tok.special_tokens) == {"<|a|>": 2000}
    with pytest.raises(TypeError, match="str"):
        tokkit.from_tiktoken("gpt2")


def test_published_encodings_become_the_tokenizers_of_their_names(
    shared: Path, monkeypatch: pytest.MonkeyPatch, load_tiktoken: Callable[[str], Any]
) -> None:
    monkeypatch.setenv("TOKKIT_DATA_DIR", str(shared / "vocabs"))
    for name in ("r50k_base", "cl100k_base"):
        own = tokkit.get_encoding(name)
        assert tokkit.from_tiktoken(load_tiktoken(name)).fingerprint() == own.fingerprint()
        assert tokkit.from_tiktoken(face.get_encoding(name)).fingerprint() == own.fingerprint()
