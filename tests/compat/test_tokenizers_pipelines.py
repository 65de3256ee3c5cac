"""Whole tokenizers of tokenizers and of tokkit's drop-in: equal components, texts, trainings and files."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tokkit
from conftest import SHARED
from strategies import adversarial, documents
from tokenizers_calls import NORMALIZERS, PRETOKENIZERS
from tokkit.compat import tokenizers as face
from tokkit.errors import DownloadError, FormatError, OptionError, TokkitError

theirs = pytest.importorskip("tokenizers")

COLUMNS = ("ids", "type_ids", "tokens", "offsets", "attention_mask", "special_tokens_mask", "word_ids", "sequence_ids")
TEXTS = [
    *documents(811, 12),
    *(adversarial(seed, 40).encode("utf-8", "replace").decode() for seed in range(20)),
    *("", " ", "a<mask>b  <mask> x", "<s>hi</s> [CLS]é [MASK] <pad> <|endoftext|> 🤗 x", "Hello   World\n\n\tx ﬁ ①"),
]
CORPUS = [*documents(812, 60), "low lower lowest newest", "naïve 東京 é e\u0301", "it's a the that them 12 345"] * 2
PLAIN = ["low lower lowest newest widest", "the naïve 東京 that them", "it's a new low, the lowest: 12 345"] * 9
FILES = ("roberta-base", "bert-base-uncased", "t5", "mistral-v1")

Made = tuple[Any, Any]
"""A tokenizer and its trainer."""


def columns(encoding: Any) -> dict[str, Any]:
    found = {name: getattr(encoding, name) for name in COLUMNS}
    return {**found, "n": encoding.n_sequences, "overflowing": list(map(columns, encoding.overflowing))}


def same(ours: Any, other: Any, inputs: list[Any], **options: Any) -> None:
    found = [columns(encoding) for encoding in ours.encode_batch(inputs, **options)]
    assert found == [columns(encoding) for encoding in other.encode_batch(inputs, **options)]


@pytest.fixture(scope="module", params=FILES)
def both(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    path = SHARED / "vocabs" / request.param / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"needs {path}: set TOKKIT_SHARED_DATA to the folder of shared data")
    return face.Tokenizer.from_file(str(path)), theirs.Tokenizer.from_file(str(path))


def test_published_files_encode_decode_and_are_written_alike(both: tuple[Any, Any]) -> None:
    ours, other = both
    assert ours.to_str() == other.to_str()
    pairs = [(a[:40], b[:40]) for a, b in itertools.pairwise(TEXTS)]
    for made in both:
        made.no_truncation(), made.no_padding()
    same(ours, other, TEXTS)
    same(ours, other, pairs, add_special_tokens=False)
    same(ours, other, [text.split() for text in TEXTS], is_pretokenized=True)
    for encoding in other.encode_batch(TEXTS):
        for skip in (True, False):
            assert ours.decode(encoding.ids, skip) == other.decode(encoding.ids, skip)
    for made in both:
        made.enable_truncation(12, stride=3)
        made.enable_padding(pad_to_multiple_of=8, direction="left")
    same(ours, other, TEXTS)
    same(ours, other, [(a[:20], b[:20]) for a, b in pairs[:6]])


def test_special_tokens_as_text_and_tokens_added_later_are_alike(both: tuple[Any, Any]) -> None:
    ours, other = copy.deepcopy(both[0]), copy.deepcopy(both[1])
    for made, package in ((ours, face), (other, theirs)):
        made.no_truncation(), made.no_padding()
        made.encode_special_tokens = True
        assert made.add_tokens(["the ", package.AddedToken("und", lstrip=True)]) == 2
        assert made.add_special_tokens(["<new>"]) == 1
    same(ours, other, [*TEXTS, "x und the </s> <new>"])
    for made in (ours, other):
        assert type(made).from_str(made.to_str()).encode_special_tokens is False  # no part of the file
        made.encode_special_tokens = False
    same(ours, other, [*TEXTS, "x und the </s> <new>"])
    assert ours.get_vocab_size() == other.get_vocab_size()


@pytest.mark.parametrize("seed", range(12))
def test_random_pipelines_are_alike(seed: int) -> None:
    chance = random.Random(seed)
    steps = chance.sample(NORMALIZERS, chance.randint(0, 2)), chance.sample(PRETOKENIZERS, chance.randint(0, 2))
    made = []
    for package in (face, theirs):
        vocab = {c: i for i, c in enumerate([*map(chr, range(33, 127)), "Ġ", "▁"])}
        one = package.Tokenizer(package.models.BPE(vocab, [], unk_token="!"))
        parts = [
            [
                eval(f"{stage}.{step}", {"T": package, "N": package.normalizers, "P": package.pre_tokenizers})
                for step in s
            ]
            for stage, s in zip("NP", steps, strict=True)
        ]
        one.normalizer = package.normalizers.Sequence(parts[0])
        one.pre_tokenizer = package.pre_tokenizers.Sequence(parts[1])
        one.add_tokens(["wor", package.AddedToken("e", single_word=True), package.AddedToken("12", lstrip=True)])
        made.append(one)
    assert made[0].to_str() == made[1].to_str()
    same(made[0], made[1], TEXTS)
    found = [
        [(one.normalizer.normalize_str(text), one.pre_tokenizer.pre_tokenize_str(text)) for text in TEXTS]
        for one in made
    ]
    assert found[0] == found[1]


# ---- training


def bpe(package: Any, pretokenizer: Any, **options: Any) -> Made:
    made = package.Tokenizer(package.models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pretokenizer
    return made, package.trainers.BpeTrainer(show_progress=False, vocab_size=400, **options)


def wordlevel(package: Any, **options: Any) -> Made:
    made = package.Tokenizer(package.models.WordLevel(unk_token="[UNK]"))
    made.pre_tokenizer = package.pre_tokenizers.Whitespace()
    special = ["[UNK]", "the"]
    return made, package.trainers.WordLevelTrainer(special_tokens=special, show_progress=False, **options)


TRAININGS: dict[str, Callable[[Any], Made]] = {
    "bytes": lambda p: bpe(
        p, p.pre_tokenizers.ByteLevel(), initial_alphabet=p.pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<s>"]
    ),
    "characters": lambda p: bpe(p, p.pre_tokenizers.Whitespace(), special_tokens=["<unk>"], min_frequency=3),
    "limit": lambda p: bpe(p, p.pre_tokenizers.Whitespace(), special_tokens=["<unk>"], limit_alphabet=20),
    "length": lambda p: bpe(p, p.pre_tokenizers.Whitespace(), max_token_length=4),
    "first": lambda p: bpe(p, p.pre_tokenizers.Metaspace(prepend_scheme="first")),
    "no words": lambda p: bpe(p, None),
    "wordlevel": lambda p: wordlevel(p, vocab_size=60, min_frequency=2),
}


@pytest.mark.parametrize("name", TRAININGS)
def test_training_gives_the_file_that_the_original_gives(name: str, tmp_path: Path) -> None:
    file = tmp_path / "corpus.txt"
    file.write_text("\n".join(CORPUS), encoding="utf-8", newline="")
    written = []
    for package in (face, theirs):
        made, trainer = TRAININGS[name](package)
        made.train_from_iterator([CORPUS[:5], *CORPUS[5:]], trainer)
        again, trainer = TRAININGS[name](package)
        again.train([str(file)], trainer)
        written.append((made.to_str(), again.to_str(), made.encode("low the naïve").ids))
    assert written[0] == written[1]


def test_words_with_a_prefix_or_a_suffix_give_the_same_tokens_but_not_the_same_ids() -> None:
    for options in ({"end_of_word_suffix": "</w>"}, {"continuing_subword_prefix": "##"}):
        tokens = []
        for package in (face, theirs):
            made, trainer = bpe(package, package.pre_tokenizers.Whitespace(), min_frequency=4, **options)
            made.train_from_iterator(CORPUS, trainer)
            tokens.append(set(made.get_vocab()))
            assert getattr(made.model, next(iter(options))) == next(iter(options.values()))
        assert len(tokens[0] & tokens[1]) >= 0.98 * len(tokens[1])


def test_a_unigram_has_its_size_and_encodes_what_it_was_trained_on() -> None:
    made, other = face.SentencePieceUnigramTokenizer(), theirs.SentencePieceUnigramTokenizer()
    options: dict[str, Any] = {"vocab_size": 60, "special_tokens": ["<s>", "<unk>"], "unk_token": "<unk>"}
    made.train_from_iterator(PLAIN, **options)
    other.train_from_iterator(PLAIN, show_progress=False, **options)
    assert made.get_vocab().keys() == other.get_vocab().keys()
    assert made.token_to_id("<unk>") == 1
    assert made.decode(made.encode("low lower").ids) == "low lower"
    assert made.encode("low 🦜").tokens[-1] == "🦜"


def test_a_trainer_of_another_model_is_refused_and_tokens_are_numbered_anew() -> None:
    made = face.Tokenizer(face.models.BPE())
    made.add_tokens(["<a>"])
    with pytest.raises(OptionError, match="UnigramTrainer can only train a Unigram"):
        made.train_from_iterator(["a"], face.trainers.UnigramTrainer())
    made.train_from_iterator(["ab ab"], face.trainers.BpeTrainer(show_progress=False, special_tokens=["<s>"]))
    assert made.token_to_id("<s>") == 0
    assert made.encode("ab<a><s>").tokens == ["ab", "<a>", "<s>"]


# ---- changes


def small(package: Any = face) -> Any:
    made, trainer = bpe(package, package.pre_tokenizers.Metaspace(), special_tokens=["<unk>", "<s>"])
    made.train_from_iterator(CORPUS, trainer)
    made.decoder = package.decoders.Metaspace()
    return made


def test_a_changed_component_changes_the_tokenizer() -> None:
    found = []
    for package in (face, theirs):
        made = small(package)
        tokens = [made.encode("Low low \U0001f9ff").tokens]
        made.normalizer = package.normalizers.Sequence([package.normalizers.BertNormalizer(lowercase=False)])
        tokens.append(made.encode("Low low").tokens)
        made.normalizer[0].lowercase = True
        tokens.append(made.encode("Low low").tokens)
        made.pre_tokenizer.replacement = "_"
        tokens.append(made.encode("Low low").tokens)
        made.pre_tokenizer = None
        tokens.append(made.encode("Low low").tokens)
        made.model.unk_token = "<s>"
        tokens.append(made.encode("Low low \U0001f9ff").tokens)
        found.append(tokens)
    assert found[0] == found[1]
    assert len(set(map(tuple, found[0]))) == len(found[0])


def test_pickles_and_copies_are_equal() -> None:
    made = small()
    made.enable_padding(length=9)
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), face.Tokenizer.from_str(made.to_str())):
        assert again.to_str() == made.to_str()
        assert columns(again.encode("low the")) == columns(made.encode("low the"))
    encoding = made.encode("low the", "lower")
    assert columns(pickle.loads(pickle.dumps(encoding))) == columns(encoding)


def test_encodings_are_the_same_while_other_threads_change_components() -> None:
    made = small()
    wanted, stop, errors = made.encode("low lower").ids, threading.Event(), []

    def encode() -> None:
        while not stop.is_set():
            if made.encode("low lower").ids != wanted:
                errors.append("other ids")

    threads = [threading.Thread(target=encode) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        made.normalizer = face.normalizers.NFC()
        made.pre_tokenizer = face.pre_tokenizers.Metaspace()
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    made.normalizer = face.normalizers.Lowercase()
    assert made.encode("LOW lower").ids == wanted


# ---- components in Python


class Upper:
    """A normalizer, a pre-tokenizer and a decoder."""

    def normalize(self, normalized: Any) -> None:
        normalized.replace("ß", "ss")
        normalized.uppercase()
        normalized.strip()

    def halves(self, i: int, part: Any) -> list[Any]:
        n = len(part.normalized) // 2
        return [part[:n], part[n:]]

    def pre_tokenize(self, pretok: Any) -> None:
        pretok.split(lambda i, part: part.split(" ", "removed"))
        pretok.split(self.halves)

    def decode_chain(self, tokens: list[str]) -> list[str]:
        return [token.lower() for token in tokens]


def test_components_in_python_run_as_in_the_original() -> None:
    made = []
    for package in (face, theirs):
        one = package.Tokenizer(package.models.WordLevel({"LO": 0, "W": 1, "STRA": 2, "SSE": 3, "?": 4}, unk_token="?"))
        one.normalizer = package.normalizers.Normalizer.custom(Upper())
        one.pre_tokenizer = package.pre_tokenizers.PreTokenizer.custom(Upper())
        one.decoder = package.decoders.Decoder.custom(Upper())
        one.add_tokens(["!"])
        made.append(one)
    ours, other = made
    for text in ("low", "low straße", "  low  é!low", "", "a bcd efghi"):
        found, wanted = ours.encode(text), other.encode(text)
        assert (found.ids, found.tokens, found.offsets) == (wanted.ids, wanted.tokens, wanted.offsets), text
    assert ours.decode([0, 1]) == other.decode([0, 1])
    for call in (ours.to_str, lambda: pickle.dumps(ours), lambda: repr(ours), lambda: tokkit.from_tokenizers(ours)):
        with pytest.raises(FormatError, match="component in Python"):
            call()


def test_what_a_component_in_python_raises_is_raised_with_its_name() -> None:
    kept: list[Any] = []

    class Wrong:
        def normalize(self, normalized: Any) -> None:
            kept.append(normalized)
            raise KeyError("no")

    normalizer = face.normalizers.Normalizer.custom(Wrong())
    with pytest.raises(TokkitError, match="KeyError: 'no'"):
        normalizer.normalize_str("a")
    with pytest.raises(TokkitError, match="outside `normalize`"):
        kept[0].uppercase()


# ---- ready-made tokenizers, live objects


def made_by(name: str, package: Any) -> Iterator[Any]:
    for options in ({}, {"vocab_size": 300}):
        made = getattr(package, name)()
        made.train_from_iterator(PLAIN, show_progress=False, **options)
        yield made


@pytest.mark.parametrize("name", ["ByteLevelBPETokenizer", "SentencePieceBPETokenizer"])
def test_ready_made_tokenizers_train_and_encode_alike(name: str, tmp_path: Path) -> None:
    for ours, other in zip(made_by(name, face), made_by(name, theirs), strict=True):
        assert ours.to_str() == other.to_str()
        assert columns(ours.encode("low the, naïve")) == columns(other.encode("low the, naïve"))
        files = [made.save_model(str(tmp_path), prefix) for made, prefix in ((ours, "a"), (other, "b"))]
        first, second = ([Path(path).read_bytes() for path in paths] for paths in files)
        assert first == second
        again = getattr(face, name).from_file(*files[0])
        assert again.encode("low the").ids == ours.encode("low the").ids


def test_bert_and_characters_encode_as_the_original_with_one_vocabulary(tmp_path: Path) -> None:
    for name, files in (("BertWordPieceTokenizer", 1), ("CharBPETokenizer", 2)):
        trained = getattr(theirs, name)()
        trained.train_from_iterator(CORPUS, vocab_size=300, show_progress=False)
        paths = trained.save_model(str(tmp_path), name)
        assert len(paths) == files
        ours, other = (getattr(package, name).from_file(*paths, lowercase=True) for package in (face, theirs))
        assert repr(ours) == repr(other)
        assert ours.to_str() == other.to_str()
        same(ours, other, ["Low the, naïve 東京", ("a", "low")])
        assert ours.decode(ours.encode("low the").ids) == other.decode(other.encode("low the").ids)


def test_live_objects_become_tokenizers() -> None:
    made = small(theirs)
    made.enable_truncation(3)
    for given in (made, theirs.ByteLevelBPETokenizer(), small()):
        tok = tokkit.from_tokenizers(given)
        assert tok("low lower the", special="all").ids == given.encode("low lower the").ids
        assert json.loads(given.to_str())["model"]["type"] == "BPE"
    with pytest.raises(TypeError, match="must be a Tokenizer"):
        tokkit.from_tokenizers("gpt2")


def test_a_sentencepiece_model_is_read_and_one_of_another_type_is_refused(tmp_path: Path) -> None:
    for model in ("unigram", "sp-bpe"):
        tokkit.train(iter(PLAIN), model=model, vocab_size=60).save(tmp_path / f"{model}.model")
    made = face.SentencePieceUnigramTokenizer.from_spm(str(tmp_path / "unigram.model"))
    tok = tokkit.load(tmp_path / "unigram.model")
    for text in ("low  lower the", "naïve 東京", "wide 12"):
        assert made.encode(text).ids == tok.encode(text)
    with pytest.raises(OptionError, match="has the type bpe; it must be unigram"):
        face.SentencePieceUnigramTokenizer.from_spm(str(tmp_path / "sp-bpe.model"))


def test_a_model_that_is_not_in_the_cache_names_the_command_that_downloads_it() -> None:
    pytest.importorskip("huggingface_hub")
    with pytest.raises(DownloadError, match="tokkit fetch nobody/nothing@main2"):
        face.Tokenizer.from_pretrained("nobody/nothing", revision="main2")
