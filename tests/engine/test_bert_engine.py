"""BERT tokenizers give equal tokens by the engine, by the components one by one, and by tokenizers."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from conftest import LONG
from strategies import adversarial
from tokkit._core.text import isas, use_isa
from tokkit.definition import AddedToken, Definition
from tokkit.engine.engine import Engine
from tokkit.engine.interpreter import Interpreter
from tokkit.errors import SpecialTokenError, VocabError
from tokkit.models.wordpiece import WordPiece
from tokkit.normalizers.bert import Bert as BertNormalizer
from tokkit.pretokenizers.bert import Bert as BertPretokenizer
from tokkit.vocab import Vocab
from work import processor_time

LETTERS = [chr(c) for c in range(33, 127)] + list("éèàçßıſæø中国人語가나다가日本のカ一、。！।़﷽🦜½²µ")
WORDS = ["the", "cat", "un", "aff", "able", "ab", "abc", "bc", "東京", "é́"]
SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MARKS = "\u0301\u0327\u0345\u05b4\u0c55\u093c\u302e\u302f\u1dd1\U0001d165\U0001d16d\U00016ff0\u0f71\u3099\u0344"
PLACES = (0, 1, 2, 15, 16, 17, 31, 62, 63, 64, 65, 66, 99, 100, 101, 127, 128, 129)


def definition(normalizer: BertNormalizer, model: WordPiece | None = None, **more: Any) -> Definition:
    plain = list(dict.fromkeys([*SPECIAL, *LETTERS, *WORDS]))
    tokens = [*plain, *("##" + token for token in plain[len(SPECIAL) :])]
    added = tuple(AddedToken(token, k, special=True) for k, token in enumerate(SPECIAL))
    vocab = Vocab.from_list(token.encode() for token in tokens)
    more = {"added_tokens": added, **more}
    return Definition(vocab, model or WordPiece(), BertPretokenizer(), normalizer=normalizer, **more)


def choices() -> Iterator[BertNormalizer]:
    for clean in (True, False):
        for chinese in (True, False):
            for strip in (None, True, False):
                for lower in (True, False):
                    yield BertNormalizer(clean, chinese, strip, lower)


def at_places() -> Iterator[str]:
    """What a block, a key or a limit may cut, at the places where it may."""
    for n in PLACES:
        for middle in (
            "é",
            ".",
            " ",
            "\x00",
            "\x7f",
            "\t",
            "中",
            "[MASK]",
            "가",
            "\u0301",
            "..é..",
            "\u2028",
            "A",
            "\u302e",
        ):
            yield "a" * n + middle + "b" * n
            yield "cat " * (n // 4) + middle + " the."


def texts() -> Iterator[str]:
    yield from ("", " ", "\x00", "a", "[CLS][SEP] [cls]x[MASK]y[MASK", "\ufffd\u200b\xad", "a\ud800b\udc00")
    yield from at_places()
    rng = random.Random(5)
    for seed in range(40):
        yield adversarial(seed, 700)
        yield "".join(rng.choices([*MARKS, *"aeAÉ .", "中", *SPECIAL], k=300))
        yield "".join(rng.choices("aB1 .\n", k=rng.randrange(200)))
    yield "x" * 30000 + " " + "é" * 20000 + "\x00 the"


def check(engine: Engine, slow: Interpreter, text: str, special: str) -> None:
    utf8, ids, spans, words = slow.aligned(text, special)
    found = engine.aligned(text, special)
    assert found[0] == utf8
    assert found[1].tolist() == ids.tolist(), text
    assert found[2].tolist() == spans.tolist(), text
    assert found[3].tolist() == words.tolist(), text
    assert engine.encode(text, special) == ids.tolist(), text
    assert engine.encode_array(text, special).tolist() == ids.tolist(), text
    assert engine.count(text, special) == len(ids)


def made(given: Definition) -> tuple[Engine, Interpreter]:
    engine = tokkit.Tokenizer(given)._engine
    assert engine.encoder is not None
    return engine, Interpreter(given)


@pytest.fixture(params=[name for name in isas() if name != "neon"])
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    use_isa(request.param)
    yield request.param
    use_isa(None)


def test_every_instruction_set_gives_the_tokens_of_the_components(isa: str) -> None:
    for normalizer in (BertNormalizer(), BertNormalizer(lowercase=False), BertNormalizer(clean_text=False)):
        engine, slow = made(definition(normalizer))
        for text in texts():
            check(engine, slow, text, "text")
            check(engine, slow, text, "all")


@pytest.mark.parametrize("normalizer", list(choices()), ids=str)
def test_every_code_point_becomes_what_the_components_make_of_it(normalizer: BertNormalizer) -> None:
    engine, slow = made(definition(normalizer))
    turn = list(choices()).index(normalizer)
    for start in range(0, 0x110000, 64):
        if start >= 0x30000 and start % 0x1000:
            continue  # planes of nothing
        if not LONG and (start // 64 + turn) % 12:
            continue  # each block in its turn with one choice in twelve
        points = [chr(c) for c in range(start, start + 64) if not 0xD800 <= c < 0xE000]
        check(engine, slow, "".join(f"x{c}y {c}{c} " for c in points), "text")


@pytest.mark.parametrize("most", [0, 1, 3, 100, 200, 1 << 40])
def test_the_limit_of_a_word_is_in_characters(most: int) -> None:
    engine, slow = made(definition(BertNormalizer(), WordPiece(max_input_chars_per_word=most)))
    for text in texts():
        check(engine, slow, text, "text")


def test_a_piece_without_tokens_is_an_error_where_nothing_stands_for_unknown_ones() -> None:
    engine, slow = made(definition(BertNormalizer(), WordPiece(unk_token="<none>")))
    check(engine, slow, "the cat", "text")
    for text in ("the Ж cat", "the 丸 cat", "a" * 101):
        with pytest.raises(VocabError, match="has no unknown token"):
            engine.encode(text)


def test_special_tokens_are_read_as_asked() -> None:
    engine, slow = made(definition(BertNormalizer()))
    text = "the [MASK] cat[SEP]"
    for special in ("text", "all", {"[MASK]"}, set()):
        assert engine.encode(text, special) == slow.encode(text, special)
        assert engine.encode_batch([text, ""], special, 1)[0].tolist() == slow.encode(text, special)
    for call in (engine.encode, engine.encode_array, engine.count, engine.aligned):
        with pytest.raises(SpecialTokenError, match=r"\[MASK\]"):
            call(text, "raise")  # type: ignore[operator]
    with pytest.raises(SpecialTokenError):
        engine.encode_batch(["the", text], "raise", 1)
    assert engine.encode("the", "raise") == slow.encode("the")


def test_added_tokens_of_any_kind_are_found_as_by_the_components() -> None:
    vocab = definition(BertNormalizer()).vocab
    the, un, cat = (vocab[token] for token in ("the", "un", "cat"))
    for tokens in (
        (AddedToken("the", the, single_word=True),),
        (AddedToken("the", the, lstrip=True),),
        (AddedToken("the", the),),
        (AddedToken("un", un, normalized=False), AddedToken("cat", cat, special=True)),
        (AddedToken("un", un, normalized=False), AddedToken("cat", cat, normalized=False)),
    ):
        engine, slow = made(definition(BertNormalizer(), added_tokens=tokens))
        for text in ("xunx UN un", "uncatun cat aff unaff", "The the  THE then  the.", "é the"):
            check(engine, slow, text, "text")
            check(engine, slow, text, "all")


def test_a_batch_is_its_texts_one_by_one_for_any_number_of_threads() -> None:
    engine, slow = made(definition(BertNormalizer()))
    batch = [*texts(), *("the cat " * 20000 for _ in range(40))]
    one = [slow.encode_array(text) for text in batch]
    for threads in (1, 2, 5):
        ids, offsets = engine.encode_batch(batch, "text", threads)
        assert offsets.tolist() == [0, *np.cumsum([len(array) for array in one]).tolist()]
        assert ids.tolist() == np.concatenate(one).tolist()
    assert [len(part) for part in engine.encode_batch([], "text", 3)] == [0, 1]
    with pytest.raises(TypeError, match="text 1 of the batch is int"):
        engine.encode_batch(["a", 5], "text", 1)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="text 2 of the batch is not valid UTF-8 at offset 1"):
        engine.encode_batch(["a", b"b", b"b\xff"], "text", 1)


def test_threads_that_share_a_tokenizer_get_the_right_tokens() -> None:
    engine, slow = made(definition(BertNormalizer()))
    batch = list(texts())[::5]
    wanted = [slow.aligned(text, "text") for text in batch]
    flat = np.concatenate([ids for _, ids, _, _ in wanted]).tolist()
    wrong: list[object] = []
    start = threading.Barrier(6)

    def work(offset: int) -> None:
        start.wait()
        for i in range(len(batch)):
            k = (i * 7 + offset * 31) % len(batch)
            _, ids, spans, words = engine.aligned(batch[k], "text")
            same = [a.tolist() == b.tolist() for a, b in zip((ids, spans, words), wanted[k][1:], strict=True)]
            if not all(same) or engine.encode(batch[k]) != wanted[k][1].tolist():
                wrong.append(k)
            if i % 40 == offset and engine.encode_batch(batch, "text", 1 + offset % 3)[0].tolist() != flat:
                wrong.append("batch")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong
    assert engine.cache_info()["workers"] <= 12


def test_bytes_are_utf8() -> None:
    engine, _ = made(definition(BertNormalizer()))
    assert engine.encode("É the".encode()) == engine.encode(bytearray("É the".encode())) == engine.encode("É the")
    with pytest.raises(ValueError, match="not valid UTF-8 at offset 1"):
        engine.encode(b"a\xff")
    with pytest.raises(TypeError, match="text is int; it must be str or bytes"):
        engine.encode(5)  # type: ignore[arg-type]


def test_memory_of_a_long_word_is_given_back_and_the_next_text_is_right() -> None:
    engine, slow = made(definition(BertNormalizer()))
    for text in ("é" * 12_000_000, "the é cat " * 5, "a" * 20_000_000 + " the"):
        assert engine.aligned(text, "text")[1].tolist() == slow.aligned(text, "text")[1].tolist()
        assert engine.encode(text) == slow.encode(text)


def test_a_word_of_a_megabyte_costs_no_more_than_text() -> None:
    engine, _ = made(definition(BertNormalizer()))
    normal, long = "the unaffable cat. " * 52000, "a" * 1000000
    of_normal, of_long = (processor_time(engine.encode_array, text) / len(text) for text in (normal, long))
    assert of_long <= 10 * of_normal
    assert engine.encode(long) == [0]
    assert engine.aligned(long, "text")[2].tolist() == [[0, 1000000]]


@pytest.mark.parametrize("name", ["bert-base-uncased", "bert-base-chinese", "bert-base-multilingual-cased"])
def test_real_vocabularies_give_the_encodings_of_tokenizers(name: str, shared: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = str(shared / "vocabs" / name / "tokenizer.json")
    ours, theirs = tokkit.load(path), tokenizers.Tokenizer.from_file(path)
    assert ours._engine.encoder is not None
    documents = [adversarial(seed, 900) for seed in range(25)]
    for corpus in sorted((shared / "corpora").glob("*.txt")):
        text = corpus.read_text(encoding="utf-8")
        documents += [text[i * 2000 : (i + 1) * 2000] for i in range(6)]
    for text in documents:
        a, b = ours(text, special="all", add_special=False), theirs.encode(text, add_special_tokens=False)
        assert list(a.ids) == b.ids
        assert [tuple(span) for span in a.offsets] == b.offsets
        assert list(a.word_ids) == b.word_ids


def test_words_that_came_before_are_in_the_cache() -> None:
    # Its lines are chosen by bits of a hash: with the wrong ones, ids are right and the cache holds a tenth.
    engine, _ = made(definition(BertNormalizer()))
    text = " ".join(f"{stem}{number}" for number in range(4000) for stem in ("w", "word"))
    engine.encode_array(text)
    before = engine.cache_info()
    engine.encode_array(text)
    after = engine.cache_info()
    assert before["words"] > 7000
    assert after["misses"] - before["misses"] < 800
