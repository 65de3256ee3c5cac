"""WordPiece and WordLevel, compared with naive twins and tokenizers, on random vocabularies and BERT's."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG, slice_of
from piece_stages import assert_same, cut_by, ours, theirs, whole
from reference.wordpiece import wordpiece
from strategies import documents
from tokkit.errors import OptionError, VocabError
from tokkit.models.base import CompiledModel
from tokkit.models.wordlevel import WordLevel
from tokkit.models.wordpiece import WordPiece
from tokkit.vocab import Vocab

tokenizers = pytest.importorskip("tokenizers")
LETTERS = "aáb漢🦜#"
UNK = "[UNK]"


def vocab_of(names: list[str]) -> Vocab:
    return Vocab.from_list([name.encode() for name in names])


@settings(max_examples=400 if LONG else 120)
@given(st.integers(0, 1 << 32), st.text(LETTERS + "z", max_size=20))
def test_random_vocabularies_give_what_tokenizers_and_the_twin_give(seed: int, word: str) -> None:
    rng = random.Random(seed)
    prefix, most = rng.choice(("##", "##", "#", "", "á")), rng.choice((100, 100, 20, 5, 1, 0))
    made = ("".join(rng.choices(LETTERS, k=rng.choice((1, 1, 2, 2, 3, 5)))) for _ in range(rng.randint(0, 30)))
    names = list(dict.fromkeys([UNK, *(rng.choice(("", prefix)) + name for name in made)][rng.randint(0, 3) == 0 :]))
    ids = {name: i for i, name in enumerate(names)}
    model = WordPiece(continuing_subword_prefix=prefix, max_input_chars_per_word=most).encoder(vocab_of(names))
    rival = tokenizers.models.WordPiece(
        vocab=ids, unk_token=UNK, continuing_subword_prefix=prefix, max_input_chars_per_word=most
    )
    wanted = theirs(rival, word)
    if wanted is None:
        with pytest.raises(VocabError, match="no unknown token"):
            model.encode(whole(word))
        return
    got = ours(model, word)
    twin = wordpiece(word, ids, UNK, prefix=prefix, most=most) if word else []
    assert got == wanted
    assert (got[0], got[1]) == ([id_ for id_, _, _ in twin], [(start, end) for _, start, end in twin])


@pytest.mark.parametrize("name", ["bert-base-uncased", "bert-base-chinese", "bert-base-multilingual-cased"])
def test_published_vocabularies_give_what_tokenizers_gives(name: str, shared: Path, corpora: dict[str, Path]) -> None:
    path = shared / "vocabs" / name / "tokenizer.json"
    fields = json.loads(path.read_text(encoding="utf-8"))["model"]
    vocab = Vocab.from_mapping({token.encode(): id_ for token, id_ in fields.pop("vocab").items()})
    fields.pop("type", None)
    model = WordPiece(**fields).encoder(vocab)
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    bare = tokenizers.Tokenizer(tokenizer.model)
    bare.pre_tokenizer = tokenizer.pre_tokenizer
    texts = documents(8, 60)
    for corpus in corpora.values():
        text = slice_of(corpus, 8000)
        texts += [text, text[:2000]]
    texts += ["a" * n + " " + "é" * n for n in (99, 100, 101)]
    normal = [tokenizer.normalizer.normalize_str(text) for text in texts]
    assert_same(model, cut_by(bare.pre_tokenizer), bare, normal)


def word_models(names: list[str], unk_token: str) -> tuple[CompiledModel, Any]:
    model = WordLevel(unk_token=unk_token).encoder(vocab_of(names))
    return model, tokenizers.models.WordLevel(vocab={name: i for i, name in enumerate(names)}, unk_token=unk_token)


@settings(max_examples=100)
@given(
    st.lists(st.text("aéz", min_size=1, max_size=2), unique=True), st.lists(st.text("aéz", max_size=2)), st.booleans()
)
def test_word_level_gives_what_tokenizers_gives(names: list[str], words: list[str], has_unk: bool) -> None:
    model, rival = word_models([*names, UNK] if has_unk else names, UNK)
    split, text = tokenizers.pre_tokenizers.WhitespaceSplit(), " ".join(words)
    wanted = theirs(rival, text, split)
    if wanted is None:
        with pytest.raises(VocabError, match="no unknown token"):
            model.encode(cut_by(split)(text))
    else:
        assert ours(model, text, cut_by(split)) == wanted


@pytest.mark.parametrize("kind", [WordPiece, WordLevel])
def test_two_tokens_alike_are_refused_with_their_ids(kind: Any) -> None:
    with pytest.raises(VocabError, match="the ids 0 and 2 have the same token, b'a'"):
        kind().encoder(vocab_of(["a", "b", "a"]))
    assert kind().encoder(vocab_of(["a", "b", "a"]), added_ids={0}).encode(whole("a"))[0].tolist() == [2]
    with pytest.raises(VocabError, match="no unknown token"):
        kind(unk_token="b").encoder(vocab_of(["a", "b"]), added_ids={1}).encode(whole("x"))


@pytest.mark.parametrize(
    ("kind", "fields", "says"),
    [
        (WordPiece, {"max_input_chars_per_word": -1}, "0 or more"),
        (WordPiece, {"max_input_chars_per_word": True}, "0 or more"),
        (WordPiece, {"max_input_chars_per_word": 1 << 70}, "0 or more"),
        (WordPiece, {"unk_token": 5}, "unk_token is .*must be text"),
        (WordPiece, {"unk_token": None}, "unk_token is .*must be text"),
        (WordPiece, {"continuing_subword_prefix": None}, "continuing_subword_prefix is .*must be text"),
        (WordLevel, {"unk_token": b"x"}, "unk_token is .*must be text"),
    ],
)
def test_bad_options_are_refused_by_name(kind: Any, fields: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        kind(**fields)
