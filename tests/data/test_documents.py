"""Documents are encoded in blocks of any size by any number of threads, with the same ids, ends and errors."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import tokkit
from tokkit.corpus import encode_file, readers
from tokkit.corpus.readers import documents
from tokkit.corpus.turns import Turns
from tokkit.data import Tokens, encode_shards
from tokkit.data import documents as encoding
from tokkit.errors import CorpusError

EOS = "<|end|>"
TEXT = "low lower\nnewest straße 日本\n\n\r\nlow low " + "lower " * 40 + "\n\n<|end|> 🦜\n" * 30 + "no end"


@pytest.fixture(scope="module")
def tok() -> tokkit.Tokenizer:
    return tokkit.train(iter([TEXT]), vocab_size=300, special_tokens=[EOS])


def found_in(folder: Path) -> list[list[int]]:
    tokens = Tokens(folder)
    tokens.verify()
    return [tokens.document(n).tolist() for n in range(tokens.n_documents)]


@pytest.mark.parametrize("block", [7, 100, 1 << 20])
@pytest.mark.parametrize("unit", ["line", "paragraph", "file"])
def test_blocks_threads_and_formats_do_not_change_ids(
    block: int, unit: Any, tok: tokkit.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (readers, encode_file):
        monkeypatch.setattr(module, "BLOCK_BYTES", block)
    monkeypatch.setattr(encoding, "LARGE_BYTES", 150)
    monkeypatch.setattr(encoding, "CHARACTERS_A_THREAD", 50)
    path = tmp_path / "a.txt"
    for number, mark in enumerate((b"", b"\xef\xbb\xbf")):
        path.write_bytes(mark + TEXT.encode())
        wanted = [[1, *tok.encode(text, special="all"), 2] for text in documents(path, unit=unit)]
        for format, threads in itertools.product(("bin", "megatron"), (1, 3)):
            out = tmp_path / f"{number}-{format}-{threads}"
            made = encode_shards(tok, path, out, unit=unit, format=format, threads=threads, special="all", bos=1, eos=2)
            assert found_in(out) == wanted
            assert made[0].documents == len(wanted)
            assert Tokens(out).manifest["bytes"] == len(TEXT.encode())


def test_a_file_that_is_one_document_may_be_packed_drawn_compressed_or_empty(
    tok: tokkit.Tokenizer, tmp_path: Path
) -> None:
    import gzip

    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + TEXT.encode()))
    encode_shards(tok, tmp_path / "a.txt.gz", tmp_path / "gz", unit="file")
    assert found_in(tmp_path / "gz") == [tok.encode(TEXT)]
    (tmp_path / "empty.txt").write_bytes(b"")
    made = encode_shards(tok, tmp_path / "empty.txt", tmp_path / "none", unit="file", eos=EOS)
    assert (made[0].documents, made[0].tokens) == (0, 0)
    encode_shards(tok, tmp_path / "a.txt.gz", tmp_path / "rows", unit="file", pack="sequential", seq_len=16, pad=0)
    ids = tok.encode(TEXT)
    assert Tokens(tmp_path / "rows")[: len(ids)].tolist() == ids


def test_the_first_error_of_a_file_is_raised_whatever_the_number_of_threads(
    tok: tokkit.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "BLOCK_BYTES", 20)
    monkeypatch.setattr(encoding, "CHARACTERS_A_THREAD", 20)
    path = tmp_path / "a.txt"
    path.write_bytes(b"low low low\n" * 50 + b"lo\xff\n" + b"low \xfe\n" * 40)
    for unit, threads in itertools.product(("line", "paragraph", "file"), (1, 4)):
        with pytest.raises(CorpusError, match=r"a\.txt: byte 602 \(0xff\) is not UTF-8"):
            encode_shards(tok, path, tmp_path / "ids", unit=unit, threads=threads)
    lines = tmp_path / "a.jsonl"
    lines.write_bytes(b'{"text": "low"}\n' * 50 + b'{"text": 1}\n' * 9)
    for threads in (1, 4):
        with pytest.raises(CorpusError, match=r"a\.jsonl, line 51: no text"):
            encode_shards(tok, lines, tmp_path / "ids", threads=threads)


def test_invalid_bytes_are_replaced_or_left_out(tok: tokkit.Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"lo\xffw\nlow")
    for errors, unit in itertools.product(("replace", "ignore"), ("line", "paragraph", "file")):
        out = tmp_path / f"{errors}-{unit}"
        encode_shards(tok, path, out, unit=unit, input_errors=errors)
        assert found_in(out) == [tok.encode(text) for text in documents(path, unit=unit, errors=errors)]


def test_results_are_written_in_the_order_of_their_numbers() -> None:
    written: list[int] = []
    turns = Turns(written.append, max_ahead=3)
    numbers = iter(range(200))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            time.sleep(0.0001 * (number * 7 % 5))
            assert turns.put(number, number)

    team = [threading.Thread(target=work) for _ in range(4)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert written == list(range(200))
    turns.stop()
    assert not turns.put(200, 200)
    assert not turns.put(900, 900), "one that is far ahead does not wait for ever"
