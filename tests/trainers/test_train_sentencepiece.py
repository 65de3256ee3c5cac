"""Models trained with sentencepiece's options have its pieces or, for Unigram, predict as well."""

from __future__ import annotations

import io
import logging
import random
from collections import Counter
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from conftest import LONG, slice_of
from reference import piece_rules, sentencepiece_bpe
from tokkit._core.train.sp_train import PieceRules, SentencePieceBPETrainer
from tokkit._core.train.word_counts import WordCounts
from tokkit.errors import CorpusError, OptionError
from tokkit.formats.sentencepiece import read_model
from tokkit.models.sentencepiece import BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED, SentencePieceModel
from tokkit.trainers.options import Round
from tokkit.trainers.sentencepiece_sample import Reservoir

TEXT = "low lower lowest newer newest wider, the quick brown fox jumps over 12 lazy dogs in 1999\n" * 30
OURS = {"unigram": "unigram", "bpe": "sp-bpe", "word": "sp-word", "char": "sp-char"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def model_of(tok: tokkit.Tokenizer) -> SentencePieceModel:
    model = tok.definition.model
    assert isinstance(model, SentencePieceModel)
    return model


def rows(model: SentencePieceModel) -> list[tuple[str, int]]:
    return [(piece.decode(), int(kind)) for piece, kind in zip(model.pieces, model.types, strict=True)]


def theirs(path: Path, kind: str, size: int, **options: Any) -> SentencePieceModel:
    """What sentencepiece 0.2.3 trains, in one thread."""
    rival = pytest.importorskip("sentencepiece")
    file = io.BytesIO()
    rival.SentencePieceTrainer.train(
        input=str(path), model_writer=file, model_type=kind, vocab_size=size, num_threads=1, minloglevel=3, **options
    )
    return read_model(file.getvalue())


def same(path: Path, kind: str, size: int, **options: Any) -> None:
    made = model_of(tokkit.train(path, model=OURS[kind], vocab_size=size, **options))
    right = theirs(path, kind, size, **options)
    assert rows(made) == rows(right)
    assert np.abs(made.scores - right.scores).max() < 1e-5


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"split_digits": True},
        {"split_by_number": False},
        {"split_by_unicode_script": False},
        {"split_by_whitespace": False},
        {"treat_whitespace_as_suffix": True},
        {"remove_extra_whitespaces": False, "allow_whitespace_only_pieces": True},
        {"add_dummy_prefix": False},
        {"character_coverage": 0.98},
        {"character_coverage": 1.0, "max_sentencepiece_length": 4},
        {"user_defined_symbols": ["the", "ing", "zz"], "control_symbols": ["<c>"]},
        {"user_defined_symbols": ["<s>", "\u2581the", "of the"]},
        {"required_chars": "éç%λ", "normalization_rule_name": "nmt_nfkc_cf"},
        {"unk_id": 3, "pad_id": 0, "bos_id": -1, "unk_piece": "<UNK>"},
        {"max_sentence_length": 60, "hard_vocab_limit": False},
    ],
)
@pytest.mark.parametrize("kind", ["bpe", "word", "char"])
def test_pieces_ids_and_scores_are_those_of_sentencepiece(
    tmp_path: Path, corpora: dict[str, Path], kind: str, options: dict[str, Any]
) -> None:
    path = tmp_path / "part.txt"
    path.write_bytes(corpora["botchan"].read_bytes()[3:120_000].rsplit(b"\n", 1)[0])  # without the BOM, which we drop
    if kind == "char":  # where a required character that does not occur has a score of -inf there
        options = {**options, "hard_vocab_limit": False, "required_chars": ""}
    same(path, kind, {"bpe": 900, "word": 900, "char": 60}[kind], **options)


@pytest.mark.parametrize("kind", ["bpe", "word", "char"])
def test_bytes_and_all_of_the_vocabulary_are_as_in_sentencepiece(corpus: Path, kind: str) -> None:
    same(corpus, kind, 310, byte_fallback=True, hard_vocab_limit=False)
    if kind != "bpe":
        same(corpus, kind, 310, use_all_vocab=True)


@pytest.mark.parametrize(
    ("name", "size"), [("english-prose", 8000), ("ja", 8000)] + [("de", 8000), ("english-prose", 32000)] * LONG
)
def test_bpe_of_a_whole_corpus_has_the_pieces_of_sentencepiece(
    corpora: dict[str, Path], tmp_path: Path, name: str, size: int
) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text(slice_of(corpora[name], 400_000), encoding="utf-8")
    same(path, "bpe", size)


def random_units(rng: random.Random, letters: str) -> dict[str, int]:
    words = {"".join(rng.choices(letters, k=rng.randint(1, 14))) for _ in range(rng.randint(1, 30))}
    return {word: rng.randint(1, rng.choice([1, 4, 2**40])) for word in sorted(words)}


def test_bpe_of_random_units_equals_the_naive_twin() -> None:
    compared = 0
    for seed in range(1500 if LONG else 400):
        rng = random.Random(seed)
        units = random_units(rng, rng.choice(["a", "ab", "abc", "abcdefgh", "aβ1", "あ漢ーa"]))
        rules = PieceRules(rng.choice([2, 3, 5, 16]))
        wanted = sentencepiece_bpe.train(units, 40, rules.is_valid)
        if sentencepiece_bpe.spelt_twice(units, wanted):
            continue
        table = WordCounts()
        for unit, count in rng.sample(list(units.items()), len(units)):
            table.add_word(unit.encode(), count)
        trainer = SentencePieceBPETrainer(table, "".join(sorted(set("".join(units)))), 40, rules)
        while not trainer.run(rng.choice([1, 50, 10**6])):
            pass
        counts = np.frombuffer(trainer.counts(), dtype=np.int64).tolist()
        made = [(p.decode(), n) for p, n in zip(trainer.pieces(), counts, strict=True)]
        assert made == wanted, seed
        compared += 1
    assert compared > 100


RULES: list[dict[str, bool]] = [
    {},
    {"split_scripts": False},
    {"split_numbers": False},
    {"split_digits": True},
    {"split_spaces": False},
    {"space_last": True},
    {"pieces_of_spaces": True},
    {"space_last": True, "pieces_of_spaces": True},
    {"split_spaces": False, "pieces_of_spaces": True, "split_numbers": False},
]


@pytest.mark.parametrize("options", RULES)
def test_rules_are_those_of_the_naive_twin_and_no_piece_crosses_a_cut(options: dict[str, bool]) -> None:
    letters = "ab7,βγЖあア漢ー\u0301\u2581\u2581"
    for seed in range(400 if LONG else 120):
        rng = random.Random(seed)
        text = "".join(rng.choices(letters, k=rng.randint(1, 9)))
        rules = PieceRules(8, **options)  # type: ignore[arg-type]
        assert rules.is_valid(text) == piece_rules.is_valid(text, 8, **options), text
        table = WordCounts()
        table.add_word(text.encode(), 3)
        found = sorted((unit.decode(), count) for unit, count in rules.units(table).items())
        assert "".join(sorted("".join(unit * (count // 3) for unit, count in found))) == "".join(sorted(text))
        units = {unit for unit, _ in found}
        for i in range(len(text)):
            for j in range(i + 2, len(text) + 1):
                if rules.is_valid(text[i:j]):
                    assert any(text[i:j] in unit for unit in units), (text, text[i:j], units)


def test_unigram_takes_no_more_tokens_than_sentencepieces_and_predicts_better(corpora: dict[str, Path]) -> None:
    """Of text that neither saw, by each one's own scores; benchmarks.bench_unigram_train does so at larger sizes."""
    rival = pytest.importorskip("sentencepiece")
    lines = corpora["tinyshakespeare"].read_text(encoding="utf-8").splitlines()
    learnt, held_out = lines[: len(lines) * 9 // 10], lines[len(lines) * 9 // 10 :]
    file = io.BytesIO()
    rival.SentencePieceTrainer.train(
        sentence_iterator=iter(learnt), model_writer=file, vocab_size=2000, num_threads=1, minloglevel=3
    )
    other = rival.SentencePieceProcessor(model_proto=file.getvalue())
    made = tokkit.train(iter(learnt), model="unigram", vocab_size=2000)
    assert len(made.vocab) == other.vocab_size() == 2000
    ids = [made.encode(line) for line in held_out]
    scores = model_of(made).scores.astype(float)
    ours, tokens = sum(scores[line].sum() for line in ids), sum(map(len, ids))
    right = [other.encode(line) for line in held_out]
    assert tokens <= sum(map(len, right))
    assert ours >= sum(other.get_score(i) for line in right for i in line)


@pytest.mark.parametrize("model", list(OURS.values()))
def test_files_load_in_sentencepiece_and_give_equal_ids(tmp_path: Path, corpus: Path, model: str) -> None:
    rival = pytest.importorskip("sentencepiece")
    made = tokkit.train(
        corpus, model=model, vocab_size=330, byte_fallback=True, hard_vocab_limit=False, user_defined_symbols=["fox j"]
    )
    made.save(tmp_path / "tok.model")
    other = rival.SentencePieceProcessor(model_file=str(tmp_path / "tok.model"))
    again = tokkit.load(tmp_path / "tok.model")
    assert again.fingerprint() == made.fingerprint()
    for text in ("the quick fox jumps", "newest  low\u2581er 19", "unseen Ünïcode 東京 🙂", "", " "):
        assert made.encode(text) == other.encode(text) == again.encode(text)


@pytest.mark.parametrize("model", list(OURS.values()))
def test_threads_files_and_iterators_change_nothing(tmp_path: Path, bundled: str, model: str) -> None:
    lines = [line + "\n" for line in (bundled * 3).split("\n")]
    paths = []
    for part in range(3):
        paths.append(tmp_path / f"{part}.txt")
        paths[-1].write_text("".join(lines[part::3]), encoding="utf-8", newline="")
    size = 2800
    first = tokkit.train(paths, model=model, vocab_size=size, threads=1)
    for source, threads in ((paths[::-1], 2), (iter(lines), 3), (paths, 3)):
        again = tokkit.train(source, model=model, vocab_size=size, threads=threads)
        assert again.fingerprint() == first.fingerprint()
    sizes = tokkit.train(paths, model=model, vocab_size=[2600, size])
    assert sizes[1].fingerprint() == first.fingerprint()
    assert len(sizes[0].vocab) == (2600 if model != "sp-char" else len(first.vocab))


def test_explain_tells_of_rounds_that_shrink(corpus: Path) -> None:
    told: list[Round] = []
    made = tokkit.train(corpus, model="unigram", vocab_size=48, explain=told.append)
    assert [r.number for r in told] == list(range(len(told)))
    assert len(told) > 1
    for before, after in pairwise(told):
        assert before.pieces > after.pieces_before >= after.pieces
        assert after.pruned
    assert told[-1].pieces == len(made.vocab) - 3
    assert all(r.log_likelihood < 0 < r.tokens for r in told)


def test_ids_are_named_then_control_then_user_defined_then_bytes(corpus: Path) -> None:
    made = tokkit.train(
        corpus,
        model="unigram",
        vocab_size=400,
        hard_vocab_limit=False,
        special_tokens=["<mask>"],
        control_symbols=["<c>"],
        user_defined_symbols=["fox"],
        byte_fallback=True,
        pad_id=3,
    )
    found = rows(model_of(made))
    named = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL), ("<pad>", CONTROL)]
    assert found[:7] == [*named, ("<mask>", CONTROL), ("<c>", CONTROL), ("fox", USER_DEFINED)]
    assert {kind for _, kind in found[7:263]} == {BYTE}
    assert {kind for _, kind in found[263:]} == {NORMAL}
    assert not any("fox" in piece for piece, _ in found[7:])


def test_a_mapping_of_words_trains_too() -> None:
    made = tokkit.train({"hug": 10, "pug": 5, "hugs": 5}, model="unigram", vocab_size=12, hard_vocab_limit=False)
    assert "▁hug" in [piece for piece, _ in rows(model_of(made))]


def test_lines_left_out_are_told_of(corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    long = tmp_path / "long.txt"
    long.write_text(TEXT + "x" * 5000 + "\nq\u2585q\n" + "z" * 4192 + "\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING, "tokkit"):
        made = tokkit.train(long, model="sp-char", vocab_size=60, character_coverage=1.0)
    assert "1 sentences of more than 4192 bytes" in caplog.text
    assert "1 sentences are left out that hold" in caplog.text
    characters = {piece for piece, _ in rows(model_of(made))}
    assert "z" in characters
    assert not characters & {"\u2585"}
    whole = tokkit.train(long, model="sp-char", vocab_size=60, character_coverage=1.0, max_sentence_length=None)
    assert "x" in {piece for piece, _ in rows(model_of(whole))}


def test_invalid_utf8_is_named_by_its_place_or_read_over(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"x" * 5000 + b"\n" + b"good \xff text\n" * 3)
    with pytest.raises(CorpusError, match="byte 5006"):
        tokkit.train(path, model="sp-char", vocab_size=30)
    made = tokkit.train(path, model="sp-char", vocab_size=30, input_errors="ignore")
    assert "g" in {piece for piece, _ in rows(model_of(made))}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"character_coverage": 0}, "character_coverage is 0; it must be above 0 to 1"),
        ({"character_coverage": 1.01}, "character_coverage is 1.01"),
        ({"character_coverage": float("nan")}, "character_coverage is nan"),
        ({"character_coverage": "all"}, "character_coverage is 'all'; it must be a number"),
        ({"shrinking_factor": 1.0}, "shrinking_factor is 1.0"),
        ({"shrinking_factor": float("nan")}, "shrinking_factor is nan"),
        ({"token_cost": -1}, "token_cost is -1"),
        ({"num_sub_iterations": 0}, "num_sub_iterations is 0; it must be at least 1"),
        ({"m_step": "magic"}, "m_step is 'magic'; it must be one of digamma, counts"),
        ({"max_sentencepiece_length": 0}, "max_sentencepiece_length is 0"),
        ({"max_sentencepiece_length": 5000}, "at most 1024"),
        ({"normalization_rule_name": "nfkd"}, "'nfkd'; it must be one of"),
        ({"byte_fallback": 1}, "byte_fallback is 1; it must be True or False"),
        ({"user_defined_symbols": "ab"}, "must be a list of str"),
        ({"user_defined_symbols": ["a", ""]}, "is empty"),
        ({"user_defined_symbols": ["<unk>"]}, "'<unk>' is given twice"),
        ({"user_defined_symbols": ["x"], "control_symbols": ["x"]}, "'x' is given twice"),
        ({"unk_id": -1}, "unk_id is -1"),
        ({"bos_id": 0}, "bos_id is 0, which is already the id of '<unk>'"),
        ({"pad_id": 5000}, "the id of '<pad>' is 5000; it must be less than vocab_size"),
        ({"bos_piece": ""}, "bos_piece is empty"),
        ({"vocab_size": 3}, "vocab_size is 3; it must be at least 4"),
        ({"vocab_size": 20}, "this corpus needs at least"),
        ({"explain": 1}, "explain is 1"),
        ({"pattern": "gpt2"}, "pattern is not an option of the model unigram"),
    ],
)
def test_options_that_make_no_sense_are_refused(corpus: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError) as error:
        tokkit.train(corpus, **{"model": "unigram", "vocab_size": 60, **options})
    assert said in str(error.value)


@pytest.mark.parametrize("model", ["unigram", "sp-bpe", "sp-word"])
def test_a_size_beyond_the_corpus_is_an_error_that_names_the_largest(corpus: Path, model: str) -> None:
    with pytest.raises(OptionError) as error:
        tokkit.train(corpus, model=model, vocab_size=9000)
    largest = int(str(error.value).split("yields at most ")[1].split(":")[0])
    assert "--no-hard-vocab-limit" in str(error.value)
    assert len(tokkit.train(corpus, model=model, vocab_size=largest).vocab) == largest
    with pytest.raises(OptionError):
        tokkit.train(corpus, model=model, vocab_size=largest + 1)
    assert len(tokkit.train(corpus, model=model, vocab_size=9000, hard_vocab_limit=False).vocab) == largest


@pytest.mark.parametrize("model", list(OURS.values()))
@pytest.mark.parametrize("text", ["", "\n\n", " \n  \n"])
def test_a_corpus_without_text_is_an_error(tmp_path: Path, model: str, text: str) -> None:
    path = tmp_path / "none.txt"
    path.write_text(text)
    with pytest.raises(CorpusError):
        tokkit.train(path, model=model, vocab_size=10, hard_vocab_limit=False)


def test_rules_of_ones_own_normalize_what_is_trained_on(corpus: Path) -> None:
    made = tokkit.train(corpus, model="sp-char", vocab_size=60, normalization_rules={"q": "k", "f": ""})
    pieces = {piece for piece, _ in rows(model_of(made))}
    assert "k" in pieces
    assert not pieces & {"q", "f"}
    assert made.encode("q") == made.encode("k") == made.encode("fk")


def of_lines(lines: list[bytes], n: int, **more: object) -> list[bytes]:
    """The sample of n lines, shown in blocks of seven."""
    reservoir = Reservoir(n, **{"shuffle": True, "seed": 0, **more})  # type: ignore[arg-type]
    for k in range(0, len(lines), 7):
        block = lines[k : k + 7]
        ends = list(accumulate(map(len, block)))
        reservoir.show(b"".join(block), [0, *ends[:-1]], ends)
    assert reservoir.seen == len(lines)
    return reservoir.sentences


def test_each_line_is_as_likely_to_be_in_the_sample() -> None:
    lines = [b"%02d" % k for k in range(40)]
    counts = Counter(line for seed in range(3000) for line in of_lines(lines, 10, seed=seed))
    assert all(len(set(of_lines(lines, 10, seed=seed))) == 10 for seed in range(20))
    assert min(counts.values()) > 630  # 750 each, and five deviations of 24
    assert max(counts.values()) < 870
    assert of_lines(lines, 10, shuffle=False) == lines[:10]
    assert of_lines(lines, 50) == lines
    assert of_lines(lines, 1, seed=3) == of_lines(lines, 1, seed=3)


def test_a_sample_of_lines_is_the_same_for_any_number_of_threads(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("".join(f"word{k % 97} other{k}\n" for k in range(5000)) + "x" * 9000 + "\n\nlast", "utf-8")
    options = {"model": "sp-bpe", "vocab_size": 90, "input_sentence_size": 300, "hard_vocab_limit": False}
    made = [
        tokkit.train(path, threads=threads, random_seed=seed, **options) for threads, seed in ((1, 1), (2, 1), (1, 2))
    ]
    assert made[0].fingerprint() == made[1].fingerprint() != made[2].fingerprint()
    first = tokkit.train(path, shuffle_input_sentence=False, **options)
    lines = path.read_text("utf-8").splitlines()[:300]
    assert first.fingerprint() == tokkit.train(iter(lines), **{**options, "input_sentence_size": 0}).fingerprint()
    all_of_them = tokkit.train(path, **{**options, "input_sentence_size": 10**9})
    assert all_of_them.fingerprint() == tokkit.train(path, **{**options, "input_sentence_size": 0}).fingerprint()
    with pytest.raises(OptionError, match="the source is word counts"):
        tokkit.train({"a": 1}, **options)


@pytest.mark.parametrize("size", [20, 30, 40, 63])
def test_bpe_resumed_has_the_pairs_that_were_used_up_before(tmp_path: Path, size: int) -> None:
    path, state = tmp_path / "corpus.txt", tmp_path / "state"
    path.write_text("bc a aaa\nlow lower lowest newest wide aaaa aabaa\n" * 3, encoding="utf-8")
    options: dict[str, Any] = {"model": "sp-bpe", "hard_vocab_limit": False}
    whole = tokkit.train(path, vocab_size=100, **options)
    assert len(whole.vocab) == 66
    tokkit.train(path, vocab_size=size, state=state, **options)
    resumed = tokkit.train(path, vocab_size=100, state=state, resume=True, **options)
    assert resumed.fingerprint() == whole.fingerprint()
