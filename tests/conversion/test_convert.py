"""Tokenizers are converted between formats: the format's own library gives equal ids, or nothing is written."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tokkit
from strategies import adversarial
from tokkit.conversion import verification, verify
from tokkit.corpus import bundled
from tokkit.errors import FormatError, SameFileError

TEXTS = [*(adversarial(seed, 60) for seed in range(60)), "", " a  b ", "low lower<|end|>", "naïve 🦜 東京\r\n\n x"]
TARGETS = {
    "tokenizer.json": "tokenizer.json",
    "ranks": "x.tiktoken",
    "sentencepiece": "x.model",
    "gpt2": "vocab.json",
    "bert": "vocab.txt",
    "tekken": "tekken.json",
}
MADE: dict[str, tuple[dict[str, Any], set[str]]] = {
    "bbpe": (
        {"vocab_size": 700, "special_tokens": ["<|end|>"]},
        {"tokenizer.json", "ranks", "gpt2"},
    ),
    "bbpe cl100k": ({"vocab_size": 700, "pattern": "cl100k"}, {"tokenizer.json", "ranks"}),
    "sp-bpe": ({"vocab_size": 2600, "normalization_rule_name": "identity"}, {"tokenizer.json", "sentencepiece"}),
    "wordpiece": ({"limit_alphabet": 300}, {"tokenizer.json", "bert"}),
}


def of_tokenizers(path: Path, tok: tokkit.Tokenizer) -> Callable[[str], list[int]]:
    made = pytest.importorskip("tokenizers").Tokenizer.from_file(str(path))
    made.encode_special_tokens = True
    return lambda text: made.encode(text, add_special_tokens=False).ids


def of_tiktoken(path: Path, tok: tokkit.Tokenizer) -> Callable[[str], list[int]]:
    import json

    tiktoken = pytest.importorskip("tiktoken")
    from tiktoken.load import load_tiktoken_bpe

    beside = json.loads(Path(f"{path}.json").read_text())
    made = tiktoken.Encoding("own", mergeable_ranks=load_tiktoken_bpe(str(path)), **beside)
    return lambda text: made.encode(text, disallowed_special=())


def of_sentencepiece(path: Path, tok: tokkit.Tokenizer) -> Callable[[str], list[int]]:
    return pytest.importorskip("sentencepiece").SentencePieceProcessor(model_file=str(path)).encode


RIVALS = {"tokenizer.json": of_tokenizers, "ranks": of_tiktoken, "sentencepiece": of_sentencepiece}


@pytest.mark.parametrize("name", MADE)
def test_what_is_written_gives_equal_ids_and_the_rest_is_refused(name: str, tmp_path: Path) -> None:
    options, writable = MADE[name]
    lines = [line for path in bundled.paths() for line in path.read_text(encoding="utf-8").splitlines()[:40]]
    tok = tokkit.train(iter(lines), model=name.split()[0], **{"vocab_size": 2000, **options})
    for kind, file in TARGETS.items():
        folder = tmp_path / kind
        folder.mkdir()
        if kind not in writable:
            with pytest.raises(FormatError):
                tokkit.convert(tok, folder / file)
            assert not list(folder.iterdir()), kind
            continue
        done = tokkit.convert(tok, folder / file, verify=iter(TEXTS))
        assert done.verified == verification.Verified(len(TEXTS), sum(tok.count(text) for text in TEXTS))
        assert set(done.files) == set(folder.iterdir())
        again = tokkit.load(folder / file)
        assert [again.encode(text) for text in TEXTS] == [tok.encode(text) for text in TEXTS]
        if kind in RIVALS:
            rival = RIVALS[kind](folder / file, tok)
            for text in TEXTS:
                assert rival(text) == tok.encode(text), (kind, text)
        # And from the file on to each other format, as from the tokenizer.
        back = tokkit.convert(folder / file, tmp_path / f"back-{kind}.json", verify=iter(TEXTS))
        assert back.verified.equal


def test_a_conversion_that_would_change_an_id_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tok = tokkit.train(iter(["low lower lowest"] * 9), vocab_size=262)
    target = tmp_path / "x.json"
    target.write_text("old")
    other = tokkit.train(iter(["low lower lowest"] * 9), vocab_size=260)
    monkeypatch.setattr("tokkit.conversion.converting.load", lambda _: other)
    with pytest.raises(FormatError, match=r"x\.json is not written.*document 2: ' lower' has the ids \[2.*2 documents"):
        tokkit.convert(tok, target, verify=iter(["a", "b lower"]))
    assert target.read_text() == "old"
    done = tokkit.convert(tok, target, verify=iter(["a", "b lower"]), lossy=True)
    assert done.verified.mismatch is not None
    assert done.verified.mismatch.document == 2
    assert target.read_text() != "old"


def test_the_first_difference_is_found_whatever_the_texts_are() -> None:
    rng = random.Random(5)
    one, other = (tokkit.train(iter(["low lower lowest new"] * 9), vocab_size=size) for size in (264, 261))
    for _ in range(100):
        texts = [" ".join(rng.choices(["low", "a", "lowest", "new", "é"], k=rng.randrange(5))) for _ in range(6)]
        wrong = [n for n, text in enumerate(texts, 1) if one.encode(text) != other.encode(text)]
        found = verify(one, other, iter(texts))
        assert found.equal == (not wrong)
        if found.mismatch is not None:
            assert found.mismatch.document == found.documents == wrong[0]
            text = texts[wrong[0] - 1]
            assert text.endswith(found.mismatch.text)
            assert found.mismatch.ids != found.mismatch.ids_there
            assert found.tokens == sum(one.count(text) for text in texts[: wrong[0]])


def test_the_source_is_never_replaced_and_existing_files_only_when_told(tmp_path: Path) -> None:
    tok = tokkit.train(iter(["low lower"]), vocab_size=258)
    tok.save(tmp_path / "a.tiktoken")
    with pytest.raises(SameFileError):
        tokkit.convert(tmp_path / "a.tiktoken", tmp_path / "a.tiktoken")
    with pytest.raises(SameFileError):
        tokkit.convert(tmp_path / "a.tiktoken", tmp_path / "a.tiktoken.json", format="tokenizer.json")
    (tmp_path / "b.json").write_text("old")
    with pytest.raises(FileExistsError):
        tokkit.convert(tok, tmp_path / "b.json", overwrite=False)
    assert (tmp_path / "b.json").read_text() == "old"


@pytest.mark.parametrize(
    ("special", "reason"),
    [({"<x>": 700}, "have the first ids, 0 to 0; '<x>' has the id 700"), ({"<x>": 0, "<y>": 1}, None)],
)
def test_special_tokens_of_a_tekken_json_have_the_first_ids(
    special: dict[str, int], reason: str | None, tmp_path: Path
) -> None:
    n = len(special) if reason is None else 0
    lines = [b64encode(bytes([byte])) + b" %d\n" % (n + byte) for byte in range(256)]
    (tmp_path / "bytes.tiktoken").write_bytes(b"".join(lines))
    tok = tokkit.load(tmp_path / "bytes.tiktoken", pattern="gpt2", special_tokens=special)
    (tmp_path / "bytes.tiktoken").unlink()
    if reason is None:
        tokkit.convert(tok, tmp_path / "tekken.json")
        assert tokkit.load(tmp_path).special_tokens == special
        return
    with pytest.raises(FormatError, match=reason):
        tokkit.convert(tok, tmp_path / "tekken.json")


def test_a_tekken_json_of_a_trained_tokenizer_is_refused_because_its_bytes_are_in_another_order(tmp_path: Path) -> None:
    tok = tokkit.train(iter(["low lower"]), vocab_size=260, special_tokens=["<s>"])
    with pytest.raises(FormatError, match=r"first 256 ranks .* but rank 0 is b'!', not b'\\x00'; mistral-common"):
        tokkit.convert(tok, tmp_path / "tekken.json")
    assert not list(tmp_path.iterdir())


def test_published_ranks_become_a_tokenizer_json(shared: Path, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    source = shared / "vocabs" / "cl100k_base.tiktoken"
    done = tokkit.convert(source, tmp_path / "tokenizer.json", verify=iter(TEXTS), special="all")
    rival = tokenizers.Tokenizer.from_file(str(done.files[0]))
    tok = tokkit.load(source)
    for text in (*TEXTS, "a<|endoftext|>b<|fim_prefix|>"):
        assert rival.encode(text).ids == tok.encode(text, special="all")
