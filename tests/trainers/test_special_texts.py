"""Special tokens in the text of a training are boundaries, and forbidden texts are in no token that it makes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tokkit
from reference import bpe_train, classic_bpe_train, wordpiece_train
from tokkit.conversion import extend
from tokkit.distributed.shard_jobs import CountShard
from tokkit.errors import CorpusError, OptionError
from tokkit.trainers import CountFiles, Mixture, build_counts, train
from tokkit.trainers.bpe import ALPHABET

END = "<|end|>"
MODELS: dict[str, dict[str, Any]] = {
    "bbpe": {"model": "bbpe", "vocab_size": 330},
    "bbpe of a pattern that regex runs": {"model": "bbpe", "vocab_size": 330, "pattern": r"(?<=x)y|\w+|[^\w]+"},
    "bpe": {"model": "bpe", "vocab_size": 60},
    "wordpiece": {"model": "wordpiece", "vocab_size": 90, "min_frequency": 1},
    "wordpiece by pmi": {"model": "wordpiece", "vocab_size": 90, "score": "pmi"},
    "word": {"model": "word", "vocab_size": 40},
    "word of a pattern": {"model": "word", "vocab_size": 40, "pattern": "gpt2"},
    "char": {"model": "char", "vocab_size": 60},
    "hybrid": {"model": "hybrid", "vocab_size": 120},
}
SPECIAL = {name: [END, "[UNK]", "[SEP]"] for name in MODELS} | {
    name: [END, "<|"] for name in MODELS if name.startswith("b")
}
every_model = pytest.mark.parametrize("name", MODELS)


def lines(seed: int, n: int = 300) -> list[str]:
    """Lines of words in which special tokens stand, beside words, inside them, and twice in a row."""
    drawn = random.Random(seed)
    words = ["end", "lower", "low", "newest", "wide", "|", "<", "日本", "x" * 9]
    parts = [*words, *words, END, END + END, "<|", "[UNK]"]
    return ["".join(drawn.choice(parts) + drawn.choice(["", " "]) for _ in range(9)) + "\n" for _ in range(n)]


def cut(text: str, tokens: list[str]) -> list[str]:
    """Return the parts of a text between special tokens: the leftmost, then the longest."""
    parts, start, at = [], 0, 0
    while at < len(text):
        found = max((token for token in tokens if text.startswith(token, at)), key=len, default=None)
        if found is None:
            at += 1
            continue
        parts.append(text[start:at])
        start = at = at + len(found)
    return [part for part in [*parts, text[start:]] if part]


@every_model
def test_a_text_is_cut_at_special_tokens(name: str) -> None:
    texts, special = lines(1), SPECIAL[name]
    made = train(iter(texts), special_tokens=special, **MODELS[name])
    parts = [part for text in texts for part in cut(text, special)]
    assert made.fingerprint() == train(iter(parts), special_tokens=special, **MODELS[name]).fingerprint()
    assert (
        made.fingerprint() != train(iter(texts), special_tokens=special, special="text", **MODELS[name]).fingerprint()
    )


@every_model
def test_files_threads_and_counts_are_cut_alike(name: str, tmp_path: Path) -> None:
    options = {**MODELS[name], "special_tokens": SPECIAL[name], "unit": "line"}
    whole = train(iter(lines(1)), **options).fingerprint()
    source = tmp_path / "corpus.txt"
    source.write_text("".join(lines(1)), encoding="utf-8")
    assert train([source], threads=3, **options).fingerprint() == whole
    if name == "bpe":
        return
    build_counts([source], tmp_path / "counts", **{k: v for k, v in options.items() if k != "vocab_size"})
    assert train(CountFiles(tmp_path / "counts"), **options).fingerprint() == whole
    row = CountShard(tmp_path / "shards", **{k: v for k, v in options.items() if k != "vocab_size"})(source)
    assert train(CountFiles(row["path"]), **options).fingerprint() == whole
    assert train(Mixture({"one": source}), **options).fingerprint() == whole
    if name.startswith(("bbpe", "wordpiece")):
        assert train([source], max_memory=1, **options).fingerprint() == whole


def test_words_with_counts_are_cut_too() -> None:
    options: dict[str, Any] = {"special_tokens": [END], "vocab_size": 290}
    made = train({f"low{END}er": 5, END: 9, "low": 1}, **options)
    assert made.fingerprint() == train({"low": 6, "er": 5}, **options).fingerprint()
    with pytest.raises(CorpusError, match="no word"):
        train({END: 9}, **options)


def test_counts_of_other_special_tokens_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "corpus.txt"
    source.write_text("".join(lines(1)), encoding="utf-8")
    build_counts([source], tmp_path / "none")
    with pytest.raises(OptionError, match=r'needs those of .*special_tokens \[.*special="text" to train on counts'):
        train(CountFiles(tmp_path / "none"), special_tokens=[END], vocab_size=300)
    as_text = train(CountFiles(tmp_path / "none"), special_tokens=[END], special="text", vocab_size=300)
    assert as_text.fingerprint() == train([source], special_tokens=[END], special="text", vocab_size=300).fingerprint()
    build_counts([source], tmp_path / "one", special_tokens=[END])
    with pytest.raises(OptionError, match=r"give the options that they were counted with$"):
        train(CountFiles(tmp_path / "one"), vocab_size=300)


def test_a_token_across_two_documents_is_none(tmp_path: Path) -> None:
    source = tmp_path / "corpus.txt"
    source.write_bytes(b"ab\n\nab\n\n" * 9)
    options: dict[str, Any] = {"special_tokens": ["b\n\n"], "vocab_size": 262, "pattern": None}
    assert train([source], unit="line", **options).vocab[257 + 0] == b"ab"
    assert b"ab" not in train([source], unit="file", **options).vocab


def test_invalid_utf_8_is_named_at_its_place_in_the_file(tmp_path: Path) -> None:
    source = tmp_path / "corpus.txt"
    source.write_bytes(f"a{END}b".encode() + b"\xff<|e\xffnd|>low low low")
    options: dict[str, Any] = {"special_tokens": [END], "vocab_size": 262}
    with pytest.raises(CorpusError, match=r"byte 9 \(0xff\)"):
        train([source], **options)
    made = train([source], input_errors="ignore", **options)  # what is left is the token
    assert made.fingerprint() == train(iter(["a", "b", "low low low"]), **options).fingerprint()


def test_extend_learns_nothing_of_special_tokens() -> None:
    tok = train(iter(["low lower"] * 9), special_tokens=[END], vocab_size=259)
    text, parts = iter([f"newest{END}newer"] * 9), iter(["newest", "newer"] * 9)
    assert extend(tok, text, vocab_size=265)[0].fingerprint() == extend(tok, parts, vocab_size=265)[0].fingerprint()


@pytest.mark.parametrize("model", ["unigram", "sp-bpe", "sp-word", "sp-char"])
def test_models_of_sentencepiece_are_cut_as_sentencepiece_does(model: str) -> None:
    options: dict[str, Any] = {"model": model, "vocab_size": 40, "hard_vocab_limit": False, "special_tokens": [END]}
    made = train(iter([f"low{END}lower newest{END}"] * 20), **options)
    learned = [token.decode() for token in made.vocab if token.decode() != END]
    assert not any(set("<|>") & set(token) for token in learned if not token.startswith("<"))
    with pytest.raises(OptionError, match="special is not an option of the model"):
        train(iter(["a"]), special="text", **options)


def test_tokenizers_face_learns_special_tokens_as_text_unless_asked() -> None:
    from tokkit.compat import tokenizers as compat

    def trained(texts: list[str], **options: Any) -> str:
        tok = compat.Tokenizer(compat.models.BPE())
        tok.pre_tokenizer = compat.pre_tokenizers.Whitespace()
        trainer = compat.trainers.BpeTrainer(vocab_size=60, special_tokens=[END], show_progress=False)
        tok.train_from_iterator(texts, trainer, **options)
        return json.dumps(json.loads(tok.to_str())["model"])

    texts = lines(2)
    parts = [part for text in texts for part in cut(text, [END])]
    assert trained(texts, special="boundary") == trained(parts)
    assert trained(texts) == trained(texts, special="text") != trained(parts)
    with pytest.raises(OptionError, match="special is 'all'; it must be one of boundary, text"):
        trained(texts, special="all")


# ---- forbidden tokens


def test_merges_without_forbidden_texts_equal_the_naive_twins() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        words = {"".join(rng.choices("aabbc", k=rng.randint(1, 12))) for _ in range(rng.randint(1, 25))}
        counts = {word: rng.randint(1, 9) for word in sorted(words)}
        forbidden = sorted({"".join(rng.choices("abc", k=rng.randint(1, 4))) for _ in range(rng.randint(1, 4))})
        made = train(counts, vocab_size=320, forbidden_tokens=forbidden)
        in_bytes = {word.encode(): n for word, n in counts.items()}
        tokens, _ = bpe_train.train(in_bytes, ALPHABET, 320, forbidden=[text.encode() for text in forbidden])
        assert list(made.vocab) == tokens, seed
        steps: list[Any] = []
        for end in ("apart", "attached", "none"):
            steps.clear()
            train(counts, model="bpe", vocab_size=40, word_end=end, forbidden_tokens=forbidden, explain=steps.append)
            wanted = classic_bpe_train.train(counts, 40, word_end=end, forbidden=forbidden)
            assert [(step.left, step.right, step.count) for step in steps] == wanted, (seed, end)
        for score in ("pmi", "likelihood"):
            first = wordpiece_train.alphabet(counts, ["[UNK]"])
            options: dict[str, Any] = {"score": score, "vocab_size": 60, "special_tokens": ["[UNK]"]}
            made = train(counts, model="wordpiece", forbidden_tokens=forbidden, **options)
            wanted_tokens = wordpiece_train.train(counts, first, 60, 2, "##", score, forbidden)[0]
            assert [token.decode() for token in made.vocab] == wanted_tokens, (seed, score)


TEXTS: dict[str, Callable[[str], str]] = {
    "bbpe": str,
    "bpe": lambda token: token.removesuffix("</w>"),
    "wordpiece": lambda token: token.removeprefix("##"),
    "word": str,
    "hybrid": lambda token: token.removeprefix("##"),
    "unigram": lambda token: token.replace("\u2581", " "),
    "sp-bpe": lambda token: token.replace("\u2581", " "),
    "sp-word": lambda token: token.replace("\u2581", " "),
}


@pytest.mark.parametrize("model", TEXTS)
def test_no_token_has_a_forbidden_text_in_it(model: str) -> None:
    text, size = iter(["lower low newest newer widest, slow 日本語 small big " * 9] * 5), 340 if model == "bbpe" else 70
    options: dict[str, Any] = {"hard_vocab_limit": False} if model == "unigram" or model.startswith("sp-") else {}
    forbidden = ["ow", "本", "ne", " wi" if options else "wi", "never seen"]
    texts = ["".join(text)] * 2
    made = train(iter(texts), model=model, vocab_size=size, forbidden_tokens=forbidden, **options)
    free = train(iter(texts), model=model, vocab_size=size, **options)

    def long(tok: tokkit.Tokenizer) -> list[str]:
        special = set(tok.special_tokens)
        names = [token.decode(errors="replace") for token in tok.vocab]
        found = [TEXTS[model](name) for name in names if name not in special and not name.startswith("<")]
        return [token for token in found if len(token) > 1]

    assert not [token for token in long(made) if any(text in token for text in forbidden)]
    assert [token for token in long(free) if any(text in token for text in forbidden)]
    assert long(made)
    unseen = train(iter(texts), model=model, vocab_size=size, forbidden_tokens=["never seen"], **options)
    assert unseen.fingerprint() == free.fingerprint()


def test_a_text_of_one_byte_or_character_stays_a_token_and_grows_no_further() -> None:
    made = train(iter(["aab aab aab"]), vocab_size=270, forbidden_tokens=["b"])
    assert [token for token in made.vocab if len(token) > 1] == [b"aa", b" aa"]
    assert made.decode(made.encode("bab")) == "bab"
    words = train(iter(["a b ab b"]), model="word", vocab_size=9, forbidden_tokens=["b"])
    assert list(words.vocab) == [b"[UNK]", b"a"]


def test_a_prefix_is_told_from_text_that_looks_like_it() -> None:
    """With the prefix "a", the token "aba" is "aba" at the beginning of a word, and "ba" inside one."""
    counts = {"aba": 9, "caba": 5}
    options: dict[str, Any] = {"model": "wordpiece", "prefix": "a", "min_frequency": 1, "vocab_size": 60}
    steps: list[Any] = []
    made = train(counts, forbidden_tokens=["ab"], explain=steps.append, **options)
    assert made.fingerprint() != train(counts, **options).fingerprint()
    assert [step.token for step in steps] == ["aba", "ca"]  # "##b" + "##a", but not "a" + "##b" nor "ca" + "##ba"
    assert steps[0].left == "ab"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("abc", "forbidden_tokens is 'abc'; it must be a list"),
        ([""], "empty"),
        (["a", "a"], "given twice"),
        ([b"a"], "must be str"),
    ],
)
def test_wrong_forbidden_tokens_are_named(given: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        train(iter(["a"]), forbidden_tokens=given)  # type: ignore[call-overload]


@pytest.mark.parametrize("model", ["char", "sp-char"])
def test_models_of_characters_refuse_forbidden_tokens(model: str) -> None:
    with pytest.raises(OptionError, match=f"forbidden_tokens is not an option of the model {model}"):
        train(iter(["a"]), model=model, forbidden_tokens=["a"])
    with pytest.raises(OptionError, match="special is 'all'; it must be one of boundary, text"):
        train(iter(["a"]), special="all")  # type: ignore[call-overload]


def test_a_state_of_other_forbidden_tokens_is_refused(tmp_path: Path) -> None:
    options: dict[str, Any] = {"state": tmp_path / "state", "vocab_size": 259}
    train(iter(["low lower"]), forbidden_tokens=["ow"], **options)
    with pytest.raises(OptionError, match="forbidden_tokens"):
        train(iter(["low lower"]), resume=True, **options)
