"""SentencePiece models as tokenizer.json and back, compared with sentencepiece; and models without such a form."""

from __future__ import annotations

from pathlib import Path

import pytest

import tokkit
from conftest import SHARED
from sentencepiece_zoo import CORPUS, model, sentencepiece
from tokkit.errors import FormatError
from tokkit.files import decimals
from tokkit.formats import sentencepiece as model_file
from tokkit.tokenizer import Tokenizer

tokenizers = pytest.importorskip("tokenizers")
EXACT = ("bpe-plain", "bpe-bytes", "bpe-across", "bpe-spaces", "char-plain", "char-spaces")
ROUNDED = ("unigram-plain", "unigram-bytes", "unigram-across", "unigram-spaces")
"""Their scores, which are any numbers, add up otherwise in double precision."""


def texts() -> list[str]:
    """Texts in which the rules of the two libraries differ, as far as files do not say the same to both."""
    made = [path.read_text(encoding="utf-8")[:3000] for path in sorted(CORPUS.glob("[d-jp]*.txt"))]
    return [
        *made,
        "",
        " ",
        " a",
        "a ",
        "  a  b  ",
        "東京は素晴らしい",
        "Ｈello ﬁ",
        "🦜 🦜🦜",
        "e\u0301\u0316",
        "ﬁ\u0341",
        "a\x85b\r\n",
        "\u1100\u1161",
        "▁a▁",
        "<0x41>",
        "<unk>",
    ]


@pytest.mark.parametrize("name", [*EXACT, *ROUNDED])
def test_a_model_as_tokenizer_json_gives_equal_ids_there_and_back(name: str, tmp_path: Path) -> None:
    data = model(name)
    rival = sentencepiece.SentencePieceProcessor(model_proto=data)
    tok = Tokenizer(model_file.read(data))
    if name in EXACT:
        tok.save(tmp_path / "tokenizer.json")
    else:
        with pytest.raises(FormatError, match=r"scores add up in double precision.*has the ids \[.*Use lossy=True"):
            tok.save(tmp_path / "tokenizer.json")
        assert len(tok.save(tmp_path / "tokenizer.json", lossy=True)) == 1
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    components = tokkit.load(tmp_path / "tokenizer.json")
    theirs.encode_special_tokens = True
    assert len(components.save(tmp_path / "back.model", lossy=True)) == (name in ROUNDED)
    back = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "back.model"))
    for text in texts():
        ids = rival.encode(text)
        assert theirs.encode(text, add_special_tokens=False).ids == ids, text
        assert components.encode(text) == ids, text
        assert back.encode(text) == ids, text
    assert tokkit.load(tmp_path / "back.model").decode(ids) == rival.decode(ids)


@pytest.mark.parametrize("name", ["t5/spiece.model", "mistral-v1/tokenizer.model"])
def test_published_models_go_there_and_back_where_they_can(name: str, tmp_path: Path) -> None:
    if not (SHARED / "vocabs" / name).is_file():
        pytest.skip("needs published vocabularies: set TOKKIT_SHARED_DATA to their folder")
    tok = tokkit.load(SHARED / "vocabs" / name)
    differences = tok.save(tmp_path / "x.json", lossy=True)
    if tok.definition.model.kind == "bpe":
        assert not differences
    else:
        (difference,) = differences
        assert list(difference.ids) == tok.encode(difference.text) != list(difference.ids_there)
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "x.json"))
    theirs.encode_special_tokens = True
    for text in texts():
        assert theirs.encode(text, add_special_tokens=False).ids == tok.encode(text), text
    if differences:
        return
    tokkit.load(tmp_path / "x.json").save(tmp_path / "x.model")
    back = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
    assert [back.encode(text) for text in texts()] == [tok.encode(text) for text in texts()]


def test_the_tokenizer_json_of_t5_becomes_a_model(tmp_path: Path) -> None:
    path = SHARED / "vocabs" / "t5" / "tokenizer.json"
    if not path.is_file():
        pytest.skip("needs published vocabularies: set TOKKIT_SHARED_DATA to their folder")
    tok = tokkit.load(path)
    with pytest.raises(FormatError, match=r"x\.model: sentencepiece would give other ids: .*in double precision"):
        tok.save(tmp_path / "x.model")
    rules = [difference.rule for difference in tok.save(tmp_path / "x.model", lossy=True)]
    assert len(rules) == 4
    assert "the text of '<pad>' is found in text as that token" in rules[1]
    theirs = tokenizers.Tokenizer.from_file(str(path))
    made = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
    # Runs of "-" are cut in several ways that are equally good but for the last bit of a float.
    for text in (text.replace("--", "") for text in texts()[:-7]):
        assert made.encode(text) == theirs.encode(text, add_special_tokens=False).ids, text
    assert made.is_control(32099)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("word-plain", "it is a model of words"),
        ("bpe-suffix", "spaces are put after words"),
    ],
)
def test_what_components_cannot_say_is_refused_with_the_reason(name: str, reason: str, tmp_path: Path) -> None:
    tok = Tokenizer(model_file.read(model(name)))
    with pytest.raises(FormatError, match=f"cannot be components of a tokenizer.json: .*{reason}"):
        tok.save(tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_user_defined_pieces_are_found_otherwise_and_only_saved_lossy(kind: str, tmp_path: Path) -> None:
    tok = Tokenizer(model_file.read(model(f"{kind}-symbols")))
    with pytest.raises(FormatError, match=r"x\.json: tokenizer\.json would give other ids: .*user-defined pieces"):
        tok.save(tmp_path / "x.json")
    assert not list(tmp_path.iterdir())
    difference = tok.save(tmp_path / "x.json", lossy=True)[-1]
    there = tokkit.load(tmp_path / "x.json")
    assert tuple(tok.encode(difference.text)) == difference.ids
    assert tuple(there.encode(difference.text)) == difference.ids_there != difference.ids


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
        pytest.skip("needs published vocabularies: set TOKKIT_SHARED_DATA to their folder")
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
            with pytest.raises(FormatError, match="its merges cannot be expressed by scores of pieces"):
                tok.save(tmp_path / "x.model")


def test_a_score_that_tokenizers_cannot_be_told_is_still_a_number() -> None:
    score = -7.7628397941589355
    assert float(decimals.write(score)) == score
    assert decimals.read(decimals.write(score)) == pytest.approx(score, rel=1e-15)
