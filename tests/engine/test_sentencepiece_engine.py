"""The engine of SentencePiece models gives the ids of sentencepiece 0.2.3, by units and a cache."""

from __future__ import annotations

import dataclasses
import itertools
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from conftest import LONG, slice_of
from reference import sentencepiece_viterbi
from sentencepiece_models import TRAPS, by_chance, strings, text_by_chance, trained
from tokkit._core.encode.columns import ColumnStyle, columns_of_batch
from tokkit._core.encode.sp_engine import SentencePieceEncoder
from tokkit._core.text import isas, use_isa
from tokkit.definition import definition_of
from tokkit.engine.sentencepiece import encoder_of
from tokkit.errors import VocabError
from tokkit.formats.sentencepiece import read_model, write_model
from tokkit.models.sentencepiece import NORMAL, UNKNOWN, SentencePieceModel
from tokkit.vocab import Vocab

sentencepiece = pytest.importorskip("sentencepiece")

MODELS = {
    "t5": "t5/spiece.model",
    "ja": "sentencepiece-test/test_ja_model.model",
    "en": "sentencepiece-test/test_model.model",
    "mistral": "mistral-v1/tokenizer.model",
}
CORPORA = ("english-prose", "english-technical", "de", "fr", "ja", "zh", "ko", "utf8_sequence_0x10ffff")


@pytest.fixture(params=isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """One instruction set after the other, for texts whose normalizing and cutting they decide."""
    use_isa(request.param)
    yield request.param
    use_isa(None)


def processor(blob: bytes) -> Any:
    return sentencepiece.SentencePieceProcessor(model_proto=blob)


def with_cache(model: SentencePieceModel, units: int) -> SentencePieceEncoder:
    """The engine of a model with a cache of its own size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokkit.engine.sentencepiece.CACHE_UNITS", units)
        return encoder_of(model)


def documents(path: Path, size: int, most: int) -> list[str]:
    """Documents of `size` bytes or a little more, whole lines, of `most` bytes of a corpus."""
    found, lines, length = [], [], 0
    for line in slice_of(path, most).splitlines(keepends=True):
        lines.append(line)
        length += len(line.encode())
        if length >= size:
            found.append("".join(lines))
            lines, length = [], 0
    return [*found, "".join(lines)]


SIZES = (
    ((2_000, 200_000), (100_000, 300_000), (1_000_000, 1_000_000)) if LONG else ((2_000, 20_000), (100_000, 100_000))
)
"""Documents of so many bytes, so many bytes in all."""


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("corpus", CORPORA)
def test_documents_of_every_size_have_the_ids_of_sentencepiece(
    name: str, corpus: str, shared: Path, corpora: dict[str, Path]
) -> None:
    path = shared / "vocabs" / MODELS[name]
    ours, theirs = encoder_of(read_model(path.read_bytes())), processor(path.read_bytes())
    for size, most in SIZES:
        for text in documents(corpora[corpus], size, most):
            assert ours.encode(text) == theirs.encode(text)


def test_units_by_themselves_would_be_wrong(shared: Path, corpora: dict[str, Path]) -> None:
    """What the margin is for: the same documents without it, each word from a score of 0."""
    theirs = processor((shared / "vocabs" / MODELS["t5"]).read_bytes())
    text = " ".join(slice_of(corpora["english-technical"], 1_000_000).split())
    alone = [id_ for ids in theirs.encode(text.split()) for id_ in ids]
    assert alone != theirs.encode(text)


@pytest.mark.parametrize("margin", [1e-5, 1e-4, 1e-3, 1e-2])
def test_units_of_parts_hold_for_the_scores_that_their_parts_hold_for(margin: float) -> None:
    """abc is ab + c alone, and a + bc after so much text that the rounding decides, with punctuation beside it too."""
    pieces = ["<unk>", "\u2581", ",", "(", "x", "a", "c", "ab", "bc"]
    scores = np.array([0, -2, -1.7, -1.3, -1.9, -3.3, -3.3, -2.1, -2.1 - margin], dtype=np.float32)
    types = np.array([UNKNOWN] + [NORMAL] * (len(pieces) - 1), dtype=np.uint8)
    vocab = Vocab.from_list([piece.encode() for piece in pieces])
    model = SentencePieceModel(kind="unigram", pieces=vocab, scores=scores, types=types)
    ours, theirs, ways = encoder_of(model), processor(write_model(model)), set()
    for filler in (0, 5, 50, 500, 5_000, 25_000):
        for word in ("abc", "abc,", "(abc", "((abc),", "abc,abc,(abc"):
            text = "x" * filler + f" {word} {word}"
            wanted = theirs.encode(text)
            assert ours.encode(text) == wanted, (filler, word)
            ways.add(tuple(wanted[-2:]) if word == "abc" else ())
    assert len(ways) > 2 or margin > 1e-3


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("trap", TRAPS)
def test_traps_have_the_ids_and_spans_of_sentencepiece(kind: str, trap: str, isa: str) -> None:
    blob = trained(kind, trap)
    theirs, model = processor(blob), read_model(blob)
    ours, small = encoder_of(model), with_cache(model, 2)
    for text in strings(5, 3000 if LONG else 24):
        ids = theirs.encode(text)
        assert ours.encode(text) == small.encode(text) == ids
        assert ours.count(text) == len(ids)
        _, found, spans, words = columns_of_batch([text], ours, ColumnStyle())[0].arrays()
        assert len(words) == len(ids)
        assert found.tolist() == ids
        assert (
            list(map(tuple, spans.tolist()))
            == theirs.encode(text, return_type="offset_mapping", return_bytes=True)["offsets"]
        )
        normalized, found, spans, origin = ours.segments(text.encode())
        assert normalized.decode() == theirs.normalize(text)
        assert found.tolist() == ids
        assert len(origin) == len(normalized) + 1
        assert len(spans) == 0 or (spans[0, 0], spans[-1, 1]) == (0, len(normalized))


@pytest.mark.parametrize("place", [0, 1, 30, 61, 62, 63, 64, 65, 66, 127, 128, 129])
def test_what_ends_a_block_is_normalized_as_elsewhere(place: int, isa: str) -> None:
    for trap in ("plain", "user", "kept spaces"):
        blob = trained("unigram", trap)
        ours, theirs = encoder_of(read_model(blob)), processor(blob)
        for part in ("e\u0301", "  ", " \u2581 ", "\r\n", "がか\u3099", "ing", "tin\u0301x", "New York", "🙂", "\0"):
            for fill in ("a", "th ", "東", " "):
                text = (fill * 70)[:place] + part + fill * 70
                assert ours.encode(text) == theirs.encode(text), (trap, fill, part)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_models_of_chance_have_the_ids_of_sentencepiece(kind: str) -> None:
    for seed in range(600 if LONG else 120):
        model = by_chance(seed, kind)
        ours, theirs, rng = encoder_of(model), processor(write_model(model)), random.Random(seed)
        for most in (4, 10, 40, 40, 300):
            text = text_by_chance(rng, most)
            assert ours.encode(text) == theirs.encode(text), (seed, text)


def test_the_naive_twin_agrees_where_scores_are_rebased(shared: Path, corpora: dict[str, Path]) -> None:
    model = read_model((shared / "vocabs" / MODELS["t5"]).read_bytes())
    ours = encoder_of(model)
    for corpus in ("english-technical", "ko"):
        text = slice_of(corpora[corpus], 30_000)
        normalized, ids, _, _ = ours.segments(text.encode())
        assert sentencepiece_viterbi.best(model, normalized.decode()) == ids.tolist() == ours.encode(text)


def repeated(part: str, n: int) -> str:
    return part * (n // len(part))


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize(
    "part", ["a", "ab", "=", "\u2581", " ", "  x", "東", "東京", "th", "\U000e0000", "\0", "ing", "é"]
)
def test_a_long_text_without_a_space_is_one_text(kind: str, part: str) -> None:
    blob = trained(kind, "user")
    text = repeated(part, 1_000_000 if LONG else 100_000)
    assert encoder_of(read_model(blob)).encode(text) == processor(blob).encode(text)


def test_a_text_in_which_every_unit_is_another_is_exact() -> None:
    """The cache is left alone then, for a while, and then tried again."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randrange(3, 20))) for _ in range(60_000)]
    text = " ".join(words + ["the"] * 30_000 + words[:3000])
    for kind in ("unigram", "bpe"):
        blob = trained(kind, "plain")
        ours = encoder_of(read_model(blob))
        assert ours.encode(text) == processor(blob).encode(text)
        assert ours.cache_info()["misses"] < 40_000


def test_special_tokens_may_have_ids_after_all_pieces() -> None:
    for kind in ("unigram", "bpe", "word", "char"):
        tok = tokkit.Tokenizer(definition_of(by_chance(4, kind)))
        ids = range(tok.n_ids, tok.n_ids + 3000, 7)
        more = tok.with_special_tokens({f"<|{id_}|>": id_ for id_ in ids})
        text = "".join(f"<|{id_}|>" for id_ in ids)
        assert more.encode(text, special="all") == more.encode_to_numpy(text, special="all").tolist() == list(ids)


def test_what_is_no_text_of_sentencepiece_has_a_result() -> None:
    blob = trained("unigram", "plain")
    ours, theirs = encoder_of(read_model(blob)), processor(blob)
    assert ours.encode("") == []
    assert ours.encode("\ud800 the \udfff") == theirs.encode("\ufffd the \ufffd")
    assert ours.encode(bytearray(b"the")) == ours.encode(memoryview(b"the")) == ours.encode("the")
    with pytest.raises(ValueError, match="not valid UTF-8 at offset 1"):
        ours.encode(b"a\xff")
    for wrong in (None, 1, ["a"]):
        with pytest.raises(TypeError, match="must be str or bytes"):
            ours.encode(wrong)


def test_restricted_vocabularies_leave_out_what_is_unused() -> None:
    """Unigram goes other ways; BPE splits again what it has merged."""
    for kind in ("unigram", "bpe"):
        model = read_model(trained(kind, "plain"))
        keep = [model.pieces[id_] for id_ in range(len(model.types)) if id_ % 3]
        restricted = model.restricted(keep)
        ours, theirs = encoder_of(restricted), processor(write_model(restricted))
        for text in strings(8, 200):
            assert ours.encode(text) == theirs.encode(text)


def test_batches_are_the_same_with_any_number_of_threads() -> None:
    tok = tokkit.Tokenizer(definition_of(read_model(trained("unigram", "user"))))
    texts = [text * 40 for text in strings(3, 2000)]
    one = tok.encode_batch(texts, threads=1)
    for threads in (2, 3):
        ids, offsets = tok.encode_batch(texts, threads=threads)
        assert np.array_equal(ids, one[0])
        assert np.array_equal(offsets, one[1])
    assert one[0][one[1][7] : one[1][8]].tolist() == tok.encode(texts[7])


@pytest.mark.parametrize("name", MODELS)
def test_a_long_text_has_the_same_ids_with_any_number_of_threads(
    name: str, shared: Path, corpora: dict[str, Path]
) -> None:
    """Models that cannot be cut for sure encode it as one."""
    tokenizer = tokkit.load(shared / "vocabs" / MODELS[name])
    text = "".join(slice_of(corpora[c], 200_000) for c in ("english-prose", "ja", "english-technical"))
    for long in (text, "  " + text + " x  ", text.replace("e ", "<s> "), "a b" * 300_000, text.encode()):
        for special in ("text", "all"):
            wanted = tokenizer.encode(long, special=special)
            assert tokenizer.encode_to_numpy(long, special=special, threads=3).tolist() == wanted
    assert tokenizer._engine.core.splittable == (name == "mistral")  # type: ignore[union-attr]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("special", ["text", "all"])
def test_parts_of_a_text_have_the_ids_of_the_whole(
    name: str, special: str, shared: Path, corpora: dict[str, Path]
) -> None:
    """In a stream: models that cannot be cut for sure give all at its end."""
    tokenizer, rng = tokkit.load(shared / "vocabs" / MODELS[name]), random.Random(8)
    early = 0
    for text in [
        *strings(9, 200),
        slice_of(corpora["english-prose"], 20_000).replace("e ", "<s> "),
        "x <s> y</s> z  a",
    ]:
        stream, ids, at = tokenizer.encode_stream(special=special), [], 0
        while at < len(text):
            some = rng.choice([1, 5, 40])
            ids += stream.feed(text[at : at + some])
            at += some
        early += len(ids)
        assert ids + stream.flush() == tokenizer.encode(text, special=special), text
    assert (early > 1000) == (name == "mistral")


@pytest.mark.parametrize("rules", [*itertools.product([False, True], repeat=3)])
def test_what_may_be_cut_is_cut_with_equal_ids(rules: tuple[bool, bool, bool]) -> None:
    model = read_model(trained("bpe", "verbatim"))
    names = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    normalizer = dataclasses.replace(model.normalizer, **dict(zip(names, rules, strict=True)))
    tokenizer = tokkit.Tokenizer(definition_of(dataclasses.replace(model, normalizer=normalizer)))
    assert tokenizer._engine.core.splittable == normalizer.escape_whitespaces  # type: ignore[union-attr]
    for text in strings(11, 1000 if LONG else 300):
        stream = tokenizer.encode_stream()
        ids = [id_ for character in text for id_ in stream.feed(character)]
        assert ids + stream.flush() == tokenizer.encode(text), text


def test_threads_share_an_engine() -> None:
    tok = tokkit.Tokenizer(definition_of(read_model(trained("unigram", "plain"))))
    texts = list(strings(4, 300))
    expected = [tok.encode(text) for text in texts]
    results: list[bool] = []

    def work() -> None:
        results.append([tok.encode_to_numpy(text).tolist() for text in texts] == expected)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [True] * 4


def test_the_cache_is_bounded() -> None:
    ours = with_cache(read_model(trained("unigram", "plain")), 1 << 12)
    rng = random.Random(2)
    for _ in range(20):
        ours.encode(" ".join("".join(rng.choices("aeinst", k=8)) for _ in range(3000)) + " the" * 3000)
    info = ours.cache_info()
    assert info["words"] <= info["max_words"] <= 1 << 12


def test_time_grows_with_the_text_and_no_faster(shared: Path) -> None:
    from time import process_time

    def seconds(encode: Callable[[str], object], text: str) -> float:
        start = process_time()
        encode(text)
        return process_time() - start

    for name in ("t5", "mistral"):
        ours = encoder_of(read_model((shared / "vocabs" / MODELS[name]).read_bytes()))
        for part in ("a", "=", " ", "ab", "中"):
            short = min(seconds(ours.encode_array, part * 20_000) for _ in range(3))
            assert seconds(ours.encode_array, part * 400_000) < 20 * 10 * max(short, 0.001), part


def pairs_of_nested(pieces: list[bytes]) -> SentencePieceModel:
    """A BPE model of these pieces, the first ones with the greatest scores."""
    vocab = Vocab.from_list([b"<unk>", *pieces])
    types = np.array([UNKNOWN] + [NORMAL] * len(pieces), dtype=np.uint8)
    scores = -np.arange(len(types), dtype=np.float32)
    return SentencePieceModel(kind="bpe", pieces=vocab, scores=scores, types=types)


@pytest.mark.parametrize("n", [40, 400])
@pytest.mark.parametrize("turned", [False, True])
def test_nested_pieces_cost_as_many_steps_as_they_have_bytes(n: int, turned: bool) -> None:
    """a, aa, aaa, …: to look each part of each piece up by itself would take steps by the cube of their number."""
    pieces = [b"a" * k for k in range(1, n + 1)]
    model = pairs_of_nested(pieces[::-1] if turned else pieces)
    encoder = with_cache(model, 16)
    assert encoder.build_steps() <= 2 * sum(map(len, pieces))
    theirs = processor(write_model(model))
    for text in ("a", "aaaaa", "a" * (n - 1), "a" * (2 * n + 3), "aab" * 9):
        assert encoder.encode(text) == theirs.encode(text)


def test_pieces_that_merge_in_too_many_ways_are_refused() -> None:
    """A file of a few megabytes would take gigabytes."""
    with pytest.raises(VocabError, match="there are 4201 pieces, or too many pairs"):
        encoder_of(pairs_of_nested([b"a" * k for k in range(1, 4201)]))


def test_long_units_are_remembered_with_the_ids_of_their_parts(shared: Path) -> None:
    """Of 16 to 31 bytes, with cuts within; looked up again, they are the same, also where the cache is small."""
    blob = (shared / "vocabs" / MODELS["mistral"]).read_bytes()
    ours, theirs = encoder_of(read_model(blob)), processor(blob)
    small = with_cache(read_model(blob), 2)
    text = " ".join(f":func:`os.open{k}` *{k}_dirfd*, ``follow_symlinks={k}``" for k in range(40)) + " 漢字かな" * 9
    wanted = theirs.encode(text)
    for _ in range(3):
        assert ours.encode(text) == small.encode(text) == wanted


@pytest.mark.parametrize("longest", [12, 28])
def test_words_seen_before_are_found_again(shared: Path, longest: int) -> None:
    """Each has its place as long as there is room: none is thrown out by another that it shares a line with."""
    ours = encoder_of(read_model((shared / "vocabs" / MODELS["mistral"]).read_bytes()))
    rng = random.Random(4)
    n_words = 60_000 if longest < 16 else 12_000
    words = ("".join(rng.choices("aeinstx", k=rng.randint(longest - 4, longest))) for _ in range(n_words))
    text = " the of and to ".join(words)  # the cache rests where most words are new
    for _ in range(2):
        ours.encode_array(text)
    seen = ours.cache_info()["misses"]
    ours.encode_array(text)
    assert ours.cache_info()["misses"] - seen < n_words // 40
