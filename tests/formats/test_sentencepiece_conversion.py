"""Models as tokenizer.json, run by tokenizers, and back, against sentencepiece; and what has no other form."""

from __future__ import annotations

from pathlib import Path

import pytest

import tokkit
from conftest import SHARED
from sentencepiece_zoo import CORPUS, model, sentencepiece
from tokkit.errors import FormatError
from tokkit.formats import decimals
from tokkit.formats import sentencepiece as model_file
from tokkit.tokenizer import Tokenizer

tokenizers = pytest.importorskip("tokenizers")
PLAIN = ("unigram-plain", "bpe-plain", "unigram-bytes", "bpe-bytes", "unigram-across", "bpe-across")


def texts() -> list[str]:
    """Texts without what the two libraries see differently: a mark on a character that has a rule, U+0085."""
    made = [path.read_text(encoding="utf-8")[:3000] for path in sorted(CORPUS.glob("[d-jp]*.txt"))]
    return [*made, "", " ", " a", "a ", "  a  b  ", "東京は素晴らしい", "Ｈello ﬁ", "🦜 🦜🦜"]


@pytest.mark.parametrize("name", PLAIN)
def test_a_model_as_tokenizer_json_gives_equal_ids_there_and_back(name: str, tmp_path: Path) -> None:
    data = model(name)
    rival = sentencepiece.SentencePieceProcessor(model_proto=data)
    tok = Tokenizer(model_file.read(data))
    tok.save(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    components = tokkit.load(tmp_path / "tokenizer.json")
    components.save(tmp_path / "back.model")
    back = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "back.model"))
    for text in texts():
        ids = rival.encode(text)
        assert theirs.encode(text, add_special_tokens=False).ids == ids, text
        assert components.encode(text) == ids, text
        assert back.encode(text) == ids, text
    assert tokkit.load(tmp_path / "back.model").decode(ids) == rival.decode(ids)


@pytest.mark.parametrize("name", ["t5/spiece.model", "mistral-v1/tokenizer.model"])
def test_published_models_go_there_and_back(name: str, tmp_path: Path) -> None:
    if not (SHARED / "vocabs" / name).is_file():
        pytest.skip("no shared models")
    tok = tokkit.load(SHARED / "vocabs" / name)
    tok.save(tmp_path / "x.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "x.json"))
    tokkit.load(tmp_path / "x.json").save(tmp_path / "x.model")
    back = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
    for text in texts():
        assert theirs.encode(text, add_special_tokens=False).ids == tok.encode(text) == back.encode(text), text


def test_the_tokenizer_json_of_t5_becomes_a_model(tmp_path: Path) -> None:
    path = SHARED / "vocabs" / "t5" / "tokenizer.json"
    if not path.is_file():
        pytest.skip("no shared data")
    tokkit.load(path).save(tmp_path / "x.model")
    theirs = tokenizers.Tokenizer.from_file(str(path))
    made = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
    # Runs of "-" are cut in several ways that are equally good but for the last bit of a float.
    for text in (text.replace("--", "") for text in texts()):
        assert made.encode(text) == theirs.encode(text, add_special_tokens=False).ids, text
    assert made.is_control(32099)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("word-plain", "it is a model of the kind word"),
        ("char-plain", "it is a model of the kind char"),
        ("bpe-suffix", "spaces are put behind words"),
        ("unigram-symbols", "user-defined pieces"),
        ("bpe-spaces", "two spaces of CR LF"),
    ],
)
def test_what_components_cannot_say_is_refused_with_the_reason(name: str, reason: str, tmp_path: Path) -> None:
    tok = Tokenizer(model_file.read(model(name)))
    with pytest.raises(FormatError, match=f"cannot be components of a tokenizer.json: .*{reason}"):
        tok.save(tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bert-base-uncased", "the model is WordPiece"),
        ("gpt2", "the model is BPE, not Unigram or BPE over characters"),
        ("mistral-v1", "the pretokenizer is Metaspace"),
    ],
)
def test_what_a_model_cannot_say_is_refused_with_the_reason(name: str, reason: str, tmp_path: Path) -> None:
    path = SHARED / "vocabs" / name / "tokenizer.json"
    if not path.is_file():
        pytest.skip("no shared data")
    with pytest.raises(FormatError, match=rf"x\.model: these components cannot be a \.model: {reason}"):
        tokkit.load(path).save(tmp_path / "x.model")


def test_a_list_of_merges_that_no_scores_make_is_refused(tmp_path: Path) -> None:
    vocab = '{"<unk>": 0, "a": 1, "b": 2, "c": 3, "ab": 4, "bc": 5, "abc": 6}'
    parts = '"added_tokens": [], "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}'
    for merges, fits in (('"b c", "a b", "a bc", "ab c"', True), ('"b c", "a b", "a bc"', False)):
        json = f'{{"version": "1.0", {parts}, "model": {{"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, '
        (tmp_path / "x.json").write_text(json + f'"vocab": {vocab}, "merges": [{merges}]}}}}', encoding="utf-8")
        tok = tokkit.load(tmp_path / "x.json")
        if fits:
            tok.save(tmp_path / "x.model")
            made = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
            for text in ("abc", "aabcbc", "cab a", "xyab"):
                assert made.encode(text) == tok.encode(text)
        else:
            with pytest.raises(FormatError, match="its merges are not those that scores of pieces make"):
                tok.save(tmp_path / "x.model")


def test_a_score_that_tokenizers_cannot_be_told_is_still_a_number() -> None:
    score = -7.7628397941589355
    assert float(decimals.write(score)) == score
    assert decimals.read(decimals.write(score)) == pytest.approx(score, rel=1e-15)
