"""WordPiece training: by likelihood and mutual information as in the naive twin, by frequency as in tokenizers."""

from __future__ import annotations

import json
import logging
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tokkit
from conftest import LONG
from reference import wordpiece_train as twin
from tokkit.errors import CorpusError, OptionError
from tokkit.trainers.options import Step

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = {"low": 5, "lower": 2, "newest": 6, "widest": 3}


def tokens_of(made: tokkit.Tokenizer) -> list[str]:
    return [token.decode() for token in made.vocab]


def random_counts(rng: random.Random) -> dict[str, int]:
    letters = rng.choice(["a", "ab", "abc", "abcdefgh", "あい漢a", "abß"])
    words = {"".join(rng.choices(letters, k=rng.randint(1, 10))) for _ in range(rng.randint(1, 40))}
    most = rng.choice([1, 3, 9, 10**6, 2**40])
    return {word: rng.randint(1, most) for word in sorted(words)}


def rows(steps: list[Step]) -> list[twin.Merge]:
    return [(s.left, s.right, s.token, s.count, s.left_count or 0, s.right_count or 0, s.total or 0) for s in steps]


@pytest.mark.parametrize("score", ["pmi", "likelihood"])
def test_random_counts_equal_the_naive_twin(score: str) -> None:
    for seed in range(1500 if LONG else 60 if score == "pmi" else 25):
        rng = random.Random(seed)
        counts = random_counts(rng)
        least, prefix, limit = rng.choice([0, 1, 2, 5]), rng.choice(["##", "##", "", "▁▁"]), rng.choice([None, 3, 1])
        first = twin.alphabet(counts, SPECIAL, prefix, limit)
        size = len(first) + rng.choice([0, 3, 30, 400])
        steps: list[Step] = []
        made = tokkit.train(
            counts,
            model="wordpiece",
            score=score,
            vocab_size=size,
            min_frequency=least,
            prefix=prefix,
            limit_alphabet=limit,
            explain=steps.append,
        )
        tokens, merges = twin.train(counts, first, size, least, prefix, score)
        assert rows(steps) == merges, seed
        assert tokens_of(made) == tokens, seed


def test_scores_that_nearly_tie_are_compared_exactly() -> None:
    """Products of some 2^90: doubles do not tell them apart, fractions do."""
    for seed in range(60):
        rng = random.Random(seed)
        base = rng.randrange(2**29, 2**30)
        words = {a + b: base + rng.randint(0, 2) for a, b in ("ab", "cd", "ef", "gh")}
        words |= {c: base * 2 + rng.randint(-1, 1) for c in "abcdefgh"}
        first = twin.alphabet(words, SPECIAL)
        steps: list[Step] = []
        tokkit.train(words, model="wordpiece", score="pmi", vocab_size=len(first) + 4, explain=steps.append)
        assert rows(steps) == twin.train(words, first, len(first) + 4)[1], seed


def test_the_score_is_mutual_information_of_the_pair() -> None:
    """ "w" begins widest alone, 3 times, and "##i" follows it there alone: 3 · 79 / (3 · 3), of 79 characters."""
    steps: list[Step] = []
    made = tokkit.train(WORDS, model="wordpiece", score="pmi", vocab_size=40, explain=steps.append)
    assert steps[0] == Step("w", "##i", "wi", 237 / 9, 3, 3, 3, 79)
    expected = ["wi", "wid", "lo", "##st", "low", "##est", "ne", "##er", "new", "lower", "newest", "widest"]
    assert [step.token for step in steps] == expected == tokens_of(made)[-12:]
    for step in steps:
        assert step.score == pytest.approx(
            step.count * (step.total or 0) / ((step.left_count or 0) * (step.right_count or 0))
        )
    assert math.log(steps[5].score) == pytest.approx(math.log(9 * 50 / (17 * 9)))


def test_the_gain_is_what_the_log_likelihood_of_the_corpus_rises_by() -> None:
    """Computed from the corpus itself, cut by the tokens there are before and after each merge."""
    steps: list[Step] = []
    tokkit.train(WORDS, model="wordpiece", score="likelihood", vocab_size=40, explain=steps.append)
    words = [([word[0], *("##" + c for c in word[1:])], count) for word, count in WORDS.items()]

    def log_likelihood() -> float:
        counts = Counter(token for tokens, count in words for token in tokens for _ in range(count))
        return sum(n * math.log(n / counts.total()) for n in counts.values())

    for step in steps:
        before = log_likelihood()
        for tokens, _ in words:
            for i in reversed(range(len(tokens) - 1)):
                if tokens[i : i + 2] == [step.left, step.right]:
                    tokens[i : i + 2] = [step.token]
        assert step.score == pytest.approx(log_likelihood() - before)


def test_merges_by_frequency_are_the_default_and_by_likelihood_are_nearly_as_good(bundled: str) -> None:
    lines = bundled.splitlines(True)
    counts = {
        score: tokkit.train(iter(lines), model="wordpiece", score=score, vocab_size=3000).count(bundled)
        for score in ("frequency", "likelihood", "pmi")
    }
    default = tokkit.train(iter(lines), model="wordpiece", vocab_size=3000)
    assert default.count(bundled) == counts["frequency"]
    assert counts["likelihood"] < 1.05 * counts["frequency"] < counts["pmi"]


def test_a_pair_below_min_frequency_is_not_merged_however_high_its_score() -> None:
    counts = {"qu": 1, "ab": 50, "b": 50}
    for score in ("likelihood", "frequency", "pmi"):
        options: dict[str, Any] = {"model": "wordpiece", "score": score, "vocab_size": 40}
        assert "qu" not in tokens_of(tokkit.train(counts, **options))
        assert "qu" in tokens_of(tokkit.train(counts, min_frequency=1, **options))


def test_of_equal_scores_the_more_frequent_pair_wins_then_the_one_of_lower_ids() -> None:
    """Each pair has 1/8 of N: 4/(4 · 8) or 2/(4 · 4); "ad" has the lowest ids, and comes behind "xb" and "yb"."""
    counts = {"xb": 4, "yb": 4, "cd": 2, "c": 2, "ad": 2, "a": 2}
    steps: list[Step] = []
    tokkit.train(counts, model="wordpiece", score="pmi", vocab_size=15, special_tokens=["[UNK]"], explain=steps.append)
    assert (steps[0].token, steps[0].score) == ("xb", (steps[0].total or 0) / 8)
    assert [step.token for step in steps] == ["xb", "yb", "ad", "cd"]


def theirs(source: Path | list[str], vocab_size: int, **options: Any) -> set[str]:
    """The pieces of one run of tokenizers."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    options = {"special_tokens": SPECIAL, "show_progress": False, **options}
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=vocab_size, **options)
    if isinstance(source, Path):
        made.train([str(source)], trainer)
    else:
        made.train_from_iterator(source, trainer)
    return set(made.get_vocab())


@pytest.mark.parametrize(
    ("name", "size"), [("wagahai", 5000), *([("english-prose", 8000), ("de", 8000)] if LONG else [])]
)
def test_by_frequency_the_pieces_are_those_of_runs_of_tokenizers(
    corpora: dict[str, Path], name: str, size: int
) -> None:
    """Its runs differ where pairs are equally frequent, by chance: ours has what all have, and nothing none has."""
    made = set(
        tokens_of(tokkit.train(corpora[name], model="wordpiece", score="frequency", min_frequency=0, vocab_size=size))
    )
    assert len(made) == size
    runs: list[set[str]] = []
    for _ in range(20):  # as soon as it holds it would hold with more of them
        runs.append(theirs(corpora[name], size))
        if set.intersection(*runs) <= made <= set.union(*runs):
            return
    pytest.fail(f"pieces of none: {made - set.union(*runs)}; of all but ours: {set.intersection(*runs) - made}")


@pytest.mark.skipif(not LONG, reason="five runs of tokenizers; TOKKIT_LONG=1")
def test_at_32000_ours_differ_from_a_run_no_more_than_runs_do(corpora: dict[str, Path]) -> None:
    path = corpora["english-prose"]
    made = set(tokens_of(tokkit.train(path, model="wordpiece", score="frequency", min_frequency=0, vocab_size=32000)))
    runs = [theirs(path, 32000) for _ in range(5)]
    apart = max(len(a ^ b) for a in runs for b in runs)
    assert min(len(made ^ run) for run in runs) <= apart


def test_random_texts_by_frequency_to_the_last_pair_equal_tokenizers() -> None:
    """With no size to cut at, chance decides ids alone."""
    for seed in range(200 if LONG else 40):
        rng = random.Random(seed)
        texts = [" ".join(rng.choices("ab", k=rng.randint(1, 9))) for _ in range(3)]
        texts += ["aa", "bb"]  # so that tokenizers can meet either first behind another
        texts += ["".join(rng.choices("aab", k=rng.randint(2, 9))) for _ in range(rng.randint(1, 9))]
        least = rng.choice([0, 2, 4])
        made = tokkit.train(
            iter(texts), model="wordpiece", score="frequency", vocab_size=4000, min_frequency=least, threads=1
        )
        ours = set(tokens_of(made))
        assert any(ours == theirs(texts, 4000, min_frequency=least) for _ in range(30)), seed


def test_defaults_make_a_tokenizer_like_berts(tmp_path: Path, bundled: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    for score in ("likelihood", "frequency", "pmi"):
        made = tokkit.train(iter(bundled.splitlines(True)), model="wordpiece", score=score, vocab_size=3000)
        assert tokens_of(made)[:5] == SPECIAL
        assert len(made.vocab) == 3000
        made.save(tmp_path / "tok.json")
        rival = tokenizers.Tokenizer.from_file(str(tmp_path / "tok.json"))
        again = tokkit.load(tmp_path / "tok.json")
        assert again.fingerprint() == made.fingerprint()
        for line in bundled.splitlines()[:300]:
            expected = rival.encode(line)
            ids = [i for i, s in zip(expected.ids, expected.special_tokens_mask, strict=True) if not s]
            assert made.encode(line) == ids
            assert made(line).ids == expected.ids == again(line).ids
            assert made.decode(ids) == rival.decode(ids, skip_special_tokens=False)
        pair = rival.encode("one text", "and a pair")
        assert made("one text", "and a pair").type_ids == pair.type_ids


def test_ids_are_special_tokens_characters_then_characters_with_the_prefix() -> None:
    made = tokkit.train({"ab": 3, "cb": 2, "ba": 1, "é": 9}, model="wordpiece", vocab_size=11)
    assert tokens_of(made) == [*SPECIAL, "a", "b", "c", "é", "##b", "##a"]


def test_the_alphabet_is_limited_to_the_most_frequent_characters() -> None:
    counts = {"xa": 5, "xb": 4, "xc": 4, "z": 1}
    made = tokkit.train(counts, model="wordpiece", vocab_size=12, limit_alphabet=3, special_tokens=["[UNK]"])
    assert {token for token in tokens_of(made) if len(token) == 1} == {"x", "a", "b"}
    made = tokkit.train(
        counts, model="wordpiece", vocab_size=12, limit_alphabet=3, initial_alphabet="zq", special_tokens=["[UNK]"]
    )
    assert {token for token in tokens_of(made) if len(token) == 1} == {"x", "z", "q"}
    assert "##q" not in tokens_of(made)


def test_threads_order_and_sizes_change_nothing(tmp_path: Path, bundled: str) -> None:
    lines = (bundled * 12).splitlines(keepends=True)
    paths = []
    for part in range(3):
        paths.append(tmp_path / f"{part}.txt")
        paths[-1].write_text("".join(lines[part::3]), encoding="utf-8", newline="")
    for score in ("likelihood", "frequency", "pmi"):
        options: dict[str, Any] = {"model": "wordpiece", "score": score}
        first = tokkit.train(paths, vocab_size=3500, threads=1, **options)
        for files, threads in ((paths, 2), (paths[::-1], 3)):
            assert tokkit.train(files, vocab_size=3500, threads=threads, **options).fingerprint() == first.fingerprint()
        sizes = tokkit.train(iter(lines), vocab_size=[3000, 3500], **options)
        assert tokens_of(sizes[0]) == tokens_of(first)[:3000]
        assert sizes[1].fingerprint() == first.fingerprint()


def test_words_are_counted_as_the_components_cut_them(bundled: str) -> None:
    from tokkit.corpus.readers import Corpus
    from tokkit.normalizers.bert import Bert
    from tokkit.pretokenizers.bert import Bert as BertSplit
    from tokkit.trainers.counts import Reporter, count_words
    from tokkit.trainers.wordpiece import WordPieceTraining

    texts = [*bundled.splitlines(True), "e\u0301 \u0301x\x00y\u200d\tz\u00a0 中文字abc\ufffd", "Ǆ\u0345\n\r\u2028İ", ""]
    expected: Counter[str] = Counter()
    for text in texts:
        aligned = tokkit._core.align.AlignedText(text)
        Bert().normalize(aligned)
        BertSplit().pretokenize(aligned)
        expected.update(piece for piece in aligned.pieces if piece)
    for threads in (1, 3):
        counter = WordPieceTraining().counter()
        counts = count_words(Corpus(iter(texts)), counter, threads=threads, report=Reporter(None))
        assert {word.decode(): count for word, count in counts.items()} == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "bpe"}, "one of frequency, likelihood, pmi"),
        ({"vocab_size": 5}, "at least 6"),
        ({"vocab_size": 8}, "needs at least"),
        ({"special_tokens": ["[CLS]"]}, "unknown token '\\[UNK\\]' is not among"),
        ({"min_frequency": -1}, "at least 0"),
        ({"min_frequency": 1.5}, "must be an int"),
        ({"limit_alphabet": -1}, "at least 0"),
        ({"initial_alphabet": ["ab"]}, "single characters"),
        ({"prefix": 3}, "must be str"),
        ({"prefix": "\ud800"}, "surrogate"),
        ({"lowercase": 1}, "True or False"),
        ({"strip_accents": "yes"}, "True or False"),
        ({"explain": 1}, "function"),
        ({"max_input_chars_per_word": -1}, "max_input_chars_per_word"),
        ({"pattern": "gpt2"}, "pattern is not an option of the model wordpiece; only of bbpe, bpe, word"),
        ({"max_token_length": 3}, "not an option of the model wordpiece; only of bbpe"),
    ],
)
def test_an_option_that_cannot_work_is_an_error_that_says_why(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        tokkit.train({"abc": 3, "bca": 2}, **{"model": "wordpiece", "vocab_size": 300, **options})


@pytest.mark.parametrize("source", [iter([" \n\t"]), {b"\xff": 3}, iter([""]), {}])
def test_a_corpus_without_words_is_an_error(source: Any) -> None:
    with pytest.raises(CorpusError):
        tokkit.train(source, model="wordpiece", vocab_size=300)


def test_words_that_hold_the_prefix_train_without_harm() -> None:
    """A token of the same look but of other symbols is no token of theirs."""
    for seed in range(200 if LONG else 50):
        rng = random.Random(seed)
        words = {"".join(rng.choices("#a", k=rng.randint(1, 9))): rng.randint(1, 5) for _ in range(20)}
        for score in ("likelihood", "frequency", "pmi"):
            made = tokkit.train(words, model="wordpiece", score=score, vocab_size=200, min_frequency=1)
            assert len(set(tokens_of(made))) == len(made.vocab)


def test_one_word_of_a_megabyte_trains_in_a_moment(caplog: pytest.LogCaptureFixture) -> None:
    word = "".join(random.Random(3).choices("abcdef", k=1_000_000))
    for score in ("likelihood", "frequency", "pmi"):
        made = tokkit.train(iter([word]), model="wordpiece", score=score, vocab_size=1000)
        assert len(made.vocab) == 1000


def test_a_corpus_too_small_for_the_size_gives_fewer_tokens_and_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tokkit"):
        made = tokkit.train({"aa": 2}, model="wordpiece", vocab_size=1000)
    assert tokens_of(made) == [*SPECIAL, "a", "##a", "aa"]
    assert "yields only 8 tokens, fewer than the vocab_size of 1000" in caplog.text


def test_the_merges_of_bert_like_text_are_told_in_their_order(tmp_path: Path) -> None:
    steps: list[Step] = []
    made = tokkit.train(
        WORDS, model="wordpiece", score="frequency", min_frequency=0, vocab_size=30, explain=steps.append
    )
    assert [(s.left, s.right, s.token, s.count) for s in steps[:2]] == [
        ("##e", "##s", "##es", 9),
        ("##es", "##t", "##est", 9),
    ]
    made.save(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["model"]["type"] == "WordPiece"
