"""Files of BERT, read by transformers and by tokkit: equal ids, or an error in both.

transformers is a great deal to install for so few tests: they skip where it is not.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tokkit
from extras import extra
from newer_characters import known
from strategies import adversarial
from tokkit.errors import FormatError

os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = extra("transformers")
LINES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "Un", "é", "e", "the"]
NAMES = ("bert-base-uncased", "bert-base-chinese", "bert-base-multilingual-cased")
TEXTS = (
    *("Unaffable é the x", "", " ", "the unaffable, e-the.", "École 中国 İ a\u0301\x00b", "the [MASK] [SEP]the"),
    *(known(adversarial(seed, 200)) for seed in range(30)),
)


def put(folder: Path, data: bytes) -> Path:
    path = folder / "vocab.txt"
    path.write_bytes(data)
    return path


def same(ours: tokkit.Tokenizer, theirs: Any, texts: tuple[str, ...] = TEXTS) -> None:
    for text in texts:
        wanted = theirs(text, return_offsets_mapping=True)
        found = ours(text, special="all")
        assert found.ids == wanted["input_ids"], text
        assert found.offsets == wanted["offset_mapping"], text
    for first, second in itertools.pairwise(filter(None, texts)):  # it takes "" for no second text
        wanted = theirs(first, second)
        found = ours(first, second, special="all")
        assert found.ids == wanted["input_ids"]
        assert found.attention_mask == wanted["attention_mask"]
        if "token_type_ids" in wanted:
            assert found.type_ids == wanted["token_type_ids"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("\n".join(LINES).encode(), id="no line end at the end"),
        pytest.param("\r\n".join([*LINES, ""]).encode(), id="CR LF"),
        pytest.param("\n".join([*LINES, "the", "[SEP]", "x"]).encode(), id="duplicates"),
        pytest.param("\n".join([*LINES[:5], "", "the", "", "un", ""]).encode(), id="blank lines"),
        pytest.param("\n".join([*LINES, "", "", ""]).encode(), id="blank lines at the end"),
    ],
)
def test_a_vocab_txt_that_is_odd_is_read_alike(data: bytes, tmp_path: Path) -> None:
    ours = tokkit.load(put(tmp_path, data))
    same(ours, transformers.BertTokenizer.from_pretrained(tmp_path))


@pytest.mark.parametrize(
    "data", [b"", b"[PAD]\nthe\n", b"[UNK]\n\xff\n", b"[UNK]\rthe\r"], ids=["empty", "no [UNK]", "not UTF-8", "CR"]
)
def test_what_transformers_cannot_work_with_is_an_error(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        tokkit.load(put(tmp_path, data))
    with pytest.raises(Exception, match="WordPiece"):
        transformers.BertTokenizer.from_pretrained(tmp_path)("some words")  # it reads some of them


def test_a_byte_order_mark_would_be_part_of_the_first_token(tmp_path: Path) -> None:
    path = put(tmp_path, b"\xef\xbb\xbf" + "\n".join(LINES).encode())
    assert "\ufeff[PAD]" in transformers.BertTokenizer.from_pretrained(tmp_path).get_vocab()
    with pytest.raises(FormatError, match="byte-order mark"):
        tokkit.load(path)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lowercase", [True, False])
def test_published_vocabularies_written_anew_are_read_alike(
    name: str, lowercase: bool, shared: Path, tmp_path: Path
) -> None:
    source = shared / "vocabs" / name / "vocab.txt"
    ours = tokkit.load(source, lowercase=lowercase)
    ours.save(tmp_path / "vocab.txt")
    same(tokkit.load(tmp_path), transformers.BertTokenizer.from_pretrained(tmp_path))
    ours.save(tmp_path / "tokenizer.json")
    same(ours, transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json")))
    # The other way: what transformers writes.
    theirs = transformers.BertTokenizer.from_pretrained(tmp_path)
    theirs.save_pretrained(tmp_path / "theirs")
    again = tokkit.load(tmp_path / "theirs")
    assert again.definition.normalizer.lowercase is lowercase  # type: ignore[union-attr]
    same(again, theirs)


TRAININGS: dict[str, Callable[[str], tokkit.Tokenizer]] = {
    "wordpiece": lambda text: tokkit.train(iter([text]), model="wordpiece", vocab_size=2500),
    "wordpiece, cased": lambda text: tokkit.train(
        iter([text]), model="wordpiece", vocab_size=2500, score="frequency", lowercase=False
    ),
    "word": lambda text: tokkit.train(iter([text]), model="word", vocab_size=700),
}


@pytest.mark.parametrize("kind", TRAININGS)
def test_trained_tokenizers_are_read_alike(kind: str, bundled: str, tmp_path: Path) -> None:
    made = TRAININGS[kind](known(bundled[:60_000]))
    path = tmp_path / "tokenizer.json"
    made.save(path)
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
    texts = (*TEXTS, *known(bundled).splitlines()[:200:5])
    same(made, theirs, texts)
    for text in texts:
        ids = made.encode(text)
        assert theirs.decode(ids, clean_up_tokenization_spaces=False) == made.decode(ids)
    theirs.save_pretrained(tmp_path / "theirs")
    same(tokkit.load(tmp_path / "theirs"), theirs, texts)
    if kind.startswith("wordpiece"):
        (tmp_path / "txt").mkdir()
        made.save(tmp_path / "txt" / "vocab.txt")
        same(made, transformers.BertTokenizer.from_pretrained(tmp_path / "txt"), texts)


def test_a_batch_is_cut_and_filled_up_alike(shared: Path) -> None:
    folder = shared / "vocabs" / "bert-base-uncased"
    theirs = transformers.BertTokenizer.from_pretrained(folder)
    ours = tokkit.load(folder / "vocab.txt")
    pad = tokkit.Padding(pad_id=theirs.pad_token_id)
    texts = [text for text in TEXTS if text]
    for padding, ours_too in (
        ({"padding": "longest"}, {"padding": pad}),
        ({"padding": "longest", "pad_to_multiple_of": 8}, {"padding": tokkit.Padding(pad_id=0, pad_to_multiple_of=8)}),
        (
            {"padding": "max_length", "max_length": 40, "truncation": True},
            {"padding": tokkit.Padding(length=40), "truncation": 40},
        ),
    ):
        for pairs in (None, texts[::-1]):
            wanted = theirs(texts, pairs, return_tensors="np", return_special_tokens_mask=True, **padding)
            rows = ours.encode_padded(texts, pairs, special="all", **ours_too)  # type: ignore[arg-type]
            assert rows.ids.tolist() == wanted["input_ids"].tolist()
            assert rows.type_ids.tolist() == wanted["token_type_ids"].tolist()
            assert rows.attention_mask.tolist() == wanted["attention_mask"].tolist()
            assert rows.special_tokens_mask.tolist() == wanted["special_tokens_mask"].tolist()


def test_what_we_write_beside_a_vocab_txt_is_what_transformers_reads(tmp_path: Path) -> None:
    put(tmp_path, "\n".join(LINES).encode())
    config = {"do_lower_case": False, "strip_accents": True, "tokenize_chinese_chars": False}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    same(tokkit.load(tmp_path), transformers.BertTokenizer.from_pretrained(tmp_path))
