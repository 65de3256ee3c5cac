"""Reports by source: tokens per word, parity, Rényi efficiency, and unused, byte and unknown tokens."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from conftest import SHARED
from tokkit.errors import CorpusError, OptionError, SpecialTokenError
from tokkit.view import SourceMeasures, source_report
from tokkit.view.source_report import renyi_efficiency

TEXTS = {"en": "low lower lowest\nnewer lower low\n", "de": "straße und straßen\n\nund so\n", "ja": "日本語 日本\n"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("texts")
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.txt" for name in TEXTS}


@pytest.fixture(scope="module")
def tok(files: dict[str, Path]) -> tokkit.Tokenizer:
    return tokkit.train(list(files.values()), vocab_size=300, special_tokens=["<|end|>"])


def by_hand(tok: tokkit.Tokenizer, name: str, text: str, base: float | None) -> dict[str, Any]:
    """All measures from the tokens of each line, one by one."""
    own = {id_: token for token, id_ in tok.vocab.items() if id_ not in tok.special_tokens.values()}
    ids = [id_ for line in text.splitlines(keepends=True) for id_ in tok.encode(line)]
    used, n = Counter(ids), len(ids)
    entropy = -math.log(sum((times / n) ** 2.5 for times in used.values())) / 1.5
    parts = sum(times for id_, times in used.items() if "\ufffd" in own[id_].decode("utf-8", "replace"))
    return {
        "source": name,
        "bytes": len(text.encode()),
        "characters": len(text),
        "words": len(text.split()),
        "tokens": n,
        "fertility": round(n / len(text.split()), 4),
        "bytes_per_token": round(len(text.encode()) / n, 4),
        "parity": None if base is None else round(n / len(text) / base, 4),
        "renyi": round(entropy / math.log(len(own)), 4),
        "unused": len(own) - len(used),
        "unused_rate": round((len(own) - len(used)) / len(own), 4),
        "byte_rate": round(parts / n, 4),
        "unknown_rate": None,
    }


def test_measures_are_those_of_the_tokens_one_by_one(tok: tokkit.Tokenizer, files: dict[str, Path]) -> None:
    base = len(tok.encode(TEXTS["en"])) / len(TEXTS["en"])
    wanted = [SourceMeasures(**by_hand(tok, name, text, base)) for name, text in TEXTS.items()]
    together = SourceMeasures(**by_hand(tok, "all sources", "".join(TEXTS.values()), None))
    assert source_report(tok, files) == [*wanted, together]
    assert source_report(tok, dict(reversed(files.items())), reference="en", threads=1)[::-1][1:] == wanted


@pytest.mark.parametrize("per", ["character", "byte", "word", "text"])
def test_parity_is_tokens_per_unit_of_text_relative_to_the_reference(
    per: str, tok: tokkit.Tokenizer, files: dict[str, Path]
) -> None:
    divisor = {"character": len, "byte": lambda t: len(t.encode()), "word": lambda t: len(t.split()), "text": bool}
    rates = {name: sum(map(len, tok.encode_batch([text])[:1])) / divisor[per](text) for name, text in TEXTS.items()}
    rows = source_report(tok, files, per=per, reference="de")  # type: ignore[arg-type]
    assert [row.parity for row in rows] == [*(round(rate / rates["de"], 4) for rate in rates.values()), None]


def test_bytes_that_stand_for_unknown_characters_are_byte_tokens(files: dict[str, Path]) -> None:
    path = SHARED / "vocabs" / "mistral-v1" / "tokenizer.model"
    if not path.exists():
        pytest.skip(f"needs {path}: set TOKKIT_SHARED_DATA")
    tok = tokkit.load(path)
    (file := files["en"].parent / "rare.txt").write_text("a 𐎀\n", encoding="utf-8")
    row = source_report(tok, {"rare": file})[0]
    n_bytes = 4 + 1  # a character that is no piece, and the end of the line
    assert row.byte_rate == round(n_bytes / row.tokens, 4)


def test_unknown_words_have_a_rate(files: dict[str, Path]) -> None:
    tok = tokkit.train(files["en"], model="word", vocab_size=10)
    known, unknown = source_report(tok, {"en": files["en"], "ja": files["ja"]})[:2]
    assert (known.unknown_rate, unknown.unknown_rate, unknown.byte_rate) == (0.0, 1.0, 0.0)


def test_equal_counts_are_efficient_and_one_token_is_not() -> None:
    assert renyi_efficiency(np.full(50, 7)) == 1
    assert renyi_efficiency(np.array([0, 5, 0])) == 0
    assert renyi_efficiency(np.zeros(5, dtype=np.int64)) is None
    assert 0 < (renyi_efficiency(np.array([10, 1, 1])) or 0) < (renyi_efficiency(np.array([4, 4, 3])) or 0) < 1


def test_what_cannot_be_measured_is_named(tok: tokkit.Tokenizer, files: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="per is 'line'"):
        source_report(tok, files, per="line")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="reference is 'fr'; it must be one of the sources, en, de, ja"):
        source_report(tok, files, reference="fr")
    with pytest.raises(OptionError, match="sources is"):
        source_report(tok, {})
    (tmp_path / "empty.txt").touch()
    with pytest.raises(CorpusError, match="none has no text to measure"):
        source_report(tok, {"none": tmp_path / "empty.txt"})
    (tmp_path / "end.txt").write_text("a<|end|>b")
    with pytest.raises(SpecialTokenError, match=r"^marked: "):
        source_report(tok, {"marked": tmp_path / "end.txt"}, special="raise")
