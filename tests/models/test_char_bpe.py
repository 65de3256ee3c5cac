"""BPE over characters, compared with its naive twin and tokenizers, on random and published vocabularies."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LONG, slice_of
from piece_stages import assert_same, byte_level, cut_by, metaspace, ours, theirs, whole
from reference.char_bpe import char_bpe
from strategies import adversarial, documents
from tokkit.errors import OptionError, VocabError
from tokkit.models.base import CompiledModel
from tokkit.models.char_bpe import CharBPE, merge_ids
from tokkit.vocab import Vocab
from work import work_of

tokenizers = pytest.importorskip("tokenizers")
LETTERS = "aábć漢🦜▁<"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def drawn(seed: int) -> tuple[list[str], list[tuple[str, str]], dict[str, Any]]:
    """A random small vocabulary, its merges and options: every combination comes up."""
    rng = random.Random(seed)
    prefix = rng.choice((None, None, "", "#", "##", "é"))
    suffix = rng.choice((None, None, "", "</w>"))
    known = rng.sample(LETTERS, rng.randint(1, len(LETTERS)))
    tokens = dict.fromkeys(known)
    for front in {"", prefix or ""}:
        for back in {"", suffix or ""}:
            tokens |= dict.fromkeys(front + c + back for c in known if rng.random() < 0.8)
    merges = []
    for _ in range(rng.randint(0, 30)):
        left, right = rng.choice(list(tokens)), rng.choice(list(tokens))
        if suffix and left.endswith(suffix):
            continue
        if prefix and not (right.startswith(prefix) and len(right) > len(prefix)):
            continue
        merges.append((left, right))
        tokens[left + right[len(prefix or "") :]] = None
    if rng.random() < 0.5:
        tokens |= dict.fromkeys(BYTES if rng.random() < 0.5 else rng.sample(BYTES, 128))
    if rng.random() < 0.3:
        merges = [merge for merge in merges if rng.random() < 0.8] + merges[:2]
    options: dict[str, Any] = {
        "unk_token": rng.choice((None, "<unk>", "<unk>", "a", "absent")),
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix,
        "fuse_unk": rng.random() < 0.5,
        "byte_fallback": rng.random() < 0.5,
        "ignore_merges": rng.random() < 0.3,
    }
    tokens["<unk>"] = None
    names = list(tokens)
    rng.shuffle(names)
    return names, merges, options


def made(names: list[str], merges: list[tuple[str, str]], options: dict[str, Any]) -> CompiledModel:
    vocab = Vocab.from_list([name.encode() for name in names])
    ids = merge_ids(vocab, merges, continuing_subword_prefix=options.get("continuing_subword_prefix"))
    return CharBPE(merges=ids, **options).encoder(vocab)


def rival(names: list[str], merges: list[tuple[str, str]], options: dict[str, Any]) -> Any:
    given = {name: value for name, value in options.items() if value is not None}
    return tokenizers.models.BPE(vocab={name: i for i, name in enumerate(names)}, merges=merges, **given)


@settings(max_examples=400 if LONG else 120)
@given(st.integers(0, 1 << 32), st.text(LETTERS + "zé", max_size=40))
def test_random_vocabularies_give_what_tokenizers_and_the_twin_give(seed: int, text: str) -> None:
    names, merges, options = drawn(seed)
    model = made(names, merges, options)
    ids = {name: i for i, name in enumerate(names)}
    prefix = options["continuing_subword_prefix"] or ""
    listed = [(ids[a], ids[b], ids[a + b[len(prefix) :]]) for a, b in merges]
    wanted = theirs(rival(names, merges, options), text)
    if wanted is None:
        with pytest.raises(KeyError):
            char_bpe(text, ids, listed, **options)
        with pytest.raises(VocabError, match="no unknown token"):
            model.encode(whole(text))
        return
    twin = char_bpe(text, ids, listed, **options) if text else []
    ids_of_ours, spans, _ = model.encode(whole(text))
    assert ids_of_ours.tolist() == wanted[0] == [id_ for id_, _ in twin]
    if not (options["byte_fallback"] and (prefix or options["end_of_word_suffix"])):
        # Bytes of a prefix make tokens reach behind the text: tokenizers' offsets there mean nothing.
        assert ours(model, text) == wanted
    assert np.all(spans >= 0)
    assert np.all(spans <= len(text.encode()))


@pytest.mark.parametrize("seed", range(8))
def test_long_texts_change_nothing(seed: int) -> None:
    names, merges, options = drawn(seed)
    options |= {"continuing_subword_prefix": None, "end_of_word_suffix": None}
    options |= {"unk_token": (None, "<unk>", "a", "▁")[seed // 2]}
    names, merges, _ = [name for name in names if "#" not in name], [], options
    ids = {name: i for i, name in enumerate(names)}
    rng = random.Random(seed)
    for left in LETTERS + "▁▁":
        for right in rng.choices(LETTERS, k=3):
            if left in ids and right in ids and (seed % 2 or right != "▁" or left == "▁"):
                merges.append((left, right))
                names += [] if left + right in ids else [left + right]
                ids = {name: i for i, name in enumerate(names)}
    tokenizer = tokenizers.Tokenizer(rival(names, merges, options))
    texts = ["".join(rng.choices(LETTERS + "▁▁▁z", k=size)) for size in (10, 47, 48, 49, 50, 300, 3000)]
    assert_same(made(names, merges, options), whole, tokenizer, texts)


def published(path: Path) -> tuple[dict[str, Any], CompiledModel]:
    model = json.loads(path.read_text(encoding="utf-8"))["model"]
    vocab = Vocab.from_mapping({token.encode(): id_ for token, id_ in model["vocab"].items()})
    pairs = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in model["merges"]]
    fields = {name: model[name] for name in CharBPE.__dataclass_fields__ if name in model and name != "merges"}
    return model, CharBPE(merges=merge_ids(vocab, pairs), **fields).encoder(vocab)


@pytest.mark.parametrize(
    ("name", "stage"), [("mistral-v1", metaspace), ("gpt2", byte_level), ("roberta-base", byte_level)]
)
def test_published_vocabularies_give_what_tokenizers_gives(
    name: str, stage: Any, shared: Path, corpora: dict[str, Path]
) -> None:
    path = shared / "vocabs" / name / "tokenizer.json"
    _, model = published(path)
    whole_one = tokenizers.Tokenizer.from_file(str(path))
    tokenizer = tokenizers.Tokenizer(whole_one.model)
    tokenizer.pre_tokenizer = whole_one.pre_tokenizer
    assert_same(model, stage, tokenizer, documents(5, 60))
    for corpus in corpora.values():
        text = slice_of(corpus, 10_000)
        assert_same(model, stage, tokenizer, [text, text[:2000], text[-2000:]])


def test_openai_gpt_gives_what_tokenizers_gives(shared: Path, corpora: dict[str, Path]) -> None:
    folder = shared / "vocabs" / "openai-gpt"
    names = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    lines = (folder / "merges.txt").read_text(encoding="utf-8").split("\n")[1:]
    pairs = [(left, right) for left, right in (line.split(" ") for line in lines if line)]
    vocab = Vocab.from_mapping({token.encode(): id_ for token, id_ in names.items()})
    options: dict[str, Any] = {"unk_token": "<unk>", "end_of_word_suffix": "</w>"}
    model = CharBPE(merges=merge_ids(vocab, pairs), **options).encoder(vocab)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=names, merges=pairs, **options))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    for corpus in corpora.values():
        text = slice_of(corpus, 20_000).lower()
        assert_same(model, cut_by(tokenizer.pre_tokenizer), tokenizer, [text, *documents(6, 20)])


def test_pieces_may_be_cut_before_blanks_that_no_token_holds_behind_another_character(shared: Path) -> None:
    _, model = published(shared / "vocabs" / "mistral-v1" / "tokenizer.json")
    assert (model.core.cuts_at_blanks, model.core.falls_back) == (True, True)
    names = ["a", "▁", "a▁", "▁a", "<unk>"]
    assert not made(names, [("a", "▁")], {}).core.cuts_at_blanks
    assert made(names, [("▁", "a")], {"unk_token": "<unk>"}).core.cuts_at_blanks
    assert not made(names, [("▁", "a")], {"end_of_word_suffix": "</w>"}).core.cuts_at_blanks


@pytest.mark.parametrize("unk_token", [None, "▁", "<unk>", "a▁"])
def test_unknown_characters_between_blanks_are_as_in_tokenizers(unk_token: str | None) -> None:
    names, merges = ["a", "▁", "▁▁", "▁a", "<unk>", "a▁", *BYTES], [("▁", "▁"), ("▁", "a")]
    for byte_fallback, some in ((False, names), (True, names[:200]), (True, names)):
        options = {"unk_token": unk_token, "byte_fallback": byte_fallback, "fuse_unk": byte_fallback}
        tokenizer = tokenizers.Tokenizer(rival(some, merges, options))
        texts = ["▁x▁", "▁é▁a", "a▁xx▁▁a", "x▁", "▁éx▁é▁"]
        assert_same(made(some, merges, options), whole, tokenizer, texts)


def test_dropout_needs_a_seed_and_one_seed_has_one_result() -> None:
    names, merges = ["a", "b", "ab", "abab"], [("a", "b"), ("ab", "ab")]
    text = "abab" * 500
    plain = made(names, merges, {}).encode(whole(text))[0].tolist()
    model = made(names, merges, {"dropout": 0.3})
    assert model.encode(whole(text))[0].tolist() == plain == [3] * 500
    once, again = (model.encode(whole(text), seed=7) for _ in range(2))
    assert once[0].tolist() == again[0].tolist() != plain
    assert model.encode(whole(text), seed=8)[0].tolist() != once[0].tolist()
    assert "".join(names[id_] for id_ in once[0]) == text
    for probability, wanted in ((0.0, plain), (1.0, [0, 1] * 1000)):
        assert made(names, merges, {"dropout": probability}).encode(whole(text), seed=1)[0].tolist() == wanted


def test_dropout_takes_no_whole_pieces_unless_it_is_0() -> None:
    names, options = ["a", "b", "ab"], {"ignore_merges": True}
    for dropout, wanted in ((None, [2]), (0.0, [2]), (1.0, [0, 1])):
        model = made(names, [], options | {"dropout": dropout})
        assert model.encode(whole("ab"), seed=1)[0].tolist() == wanted
        assert theirs(rival(names, [], options | {"dropout": dropout}), "ab") == ours(model, "ab", seed=1)


def test_dropout_drops_as_often_as_tokenizers_does() -> None:
    names, merges = ["a", "b", "c", "ab", "bc", "abc"], [("a", "b"), ("b", "c"), ("ab", "c")]
    options = {"dropout": 0.4}
    text = " ".join(["abc"] * 4000)
    model, pieces = made(names, merges, options), tokenizers.pre_tokenizers.WhitespaceSplit()
    counts = np.bincount(model.encode(cut_by(pieces)(text), seed=3)[0], minlength=6)
    wanted = np.bincount((theirs(rival(names, merges, options), text, pieces) or ([],))[0], minlength=6)
    assert np.all(np.abs(counts - wanted) < 300)  # five standard deviations of the difference are 220


@pytest.mark.parametrize(
    ("fields", "error", "says"),
    [
        ({"dropout": 1.5}, OptionError, "from 0 to 1"),
        ({"dropout": float("nan")}, OptionError, "from 0 to 1"),
        ({"unk_token": 3}, OptionError, "unk_token is .*must be text"),
        ({"unk_token": "\ud800"}, OptionError, "lone surrogate"),
        ({"fuse_unk": 1}, OptionError, "fuse_unk is .*must be True or False"),
        ({"merges": np.zeros((1, 2), dtype=np.uint32)}, VocabError, "shape"),
        ({"merges": np.array([[0, 1, -1]])}, VocabError, "from -1"),
        ({"merges": [[0.5, 1, 2]]}, VocabError, "float64"),
    ],
)
def test_bad_options_are_refused_by_name(fields: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        CharBPE(**{"merges": np.zeros((0, 3), dtype=np.uint32), **fields})


def test_vocabularies_that_do_not_fit_are_refused_with_the_place() -> None:
    vocab = Vocab.from_list([b"a", b"b", b"ab", b"a"])
    good = Vocab.from_list([b"a", b"b", b"ab"])
    with pytest.raises(VocabError, match="the ids 0 and 3 have the same token, b'a'"):
        CharBPE(merges=[[0, 1, 2]]).encoder(vocab)
    assert CharBPE(merges=[[0, 1, 2]]).encoder(vocab, added_ids=[3]).encode(whole("ab"))[0].tolist() == [2]
    for merge in ([0, 1, 9], [0, 1, 0], [1, 0, 2], [0, 0, 2]):
        with pytest.raises(VocabError, match="merge 1 "):
            CharBPE(merges=[[0, 1, 2], merge]).encoder(good)
    with pytest.raises(VocabError, match="merge 0 joins 'a' and 'z', but no token is 'z'"):
        merge_ids(good, [("a", "z")])
    with pytest.raises(VocabError, match="no token is 'ba'"):
        merge_ids(good, [("b", "a")])
    with pytest.raises(VocabError, match="merge 1 is 'a b b'"):
        merge_ids(good, ["a b", "a b b"])
    with pytest.raises(VocabError, match="shorter than the prefix"):
        merge_ids(good, [("a", "b")], continuing_subword_prefix="##")
    with pytest.raises(VocabError, match="no token is 'ab'"):
        merge_ids(good, ["a b"], added_ids=[2])
    for wrong in (["a b", ("a", "b")], [("a", "b", "ab")], [("a", 3)], [("a", "\ud800")]):
        with pytest.raises(VocabError, match=r"merges (must|are mixed; they must all) be pairs of strings"):
            merge_ids(good, wrong)
    with pytest.raises(OptionError, match="added_ids holds 5"):
        CharBPE(merges=[[0, 1, 2]]).encoder(good, added_ids=[5])


def test_merges_are_found_in_either_spelling_even_where_tokens_hold_the_separator() -> None:
    vocab = Vocab.from_list([b"a", b"b", b"ab", b"\0", b"a\0", b" ", b"a ", b"##b"])
    assert merge_ids(vocab, ["a b"]).tolist() == merge_ids(vocab, [("a", "b")]).tolist() == [[0, 1, 2]]
    assert merge_ids(vocab, [("a", "\0"), ["a", " "]]).tolist() == [[0, 3, 4], [0, 5, 6]]
    assert merge_ids(vocab, ["a \0", "a b"]).tolist() == [[0, 3, 4], [0, 1, 2]]
    assert merge_ids(vocab, ["a ##b"], continuing_subword_prefix="##").tolist() == [[0, 7, 2]]
    assert merge_ids(vocab, []).shape == merge_ids(Vocab.from_list([]), []).shape == (0, 3)


def test_a_character_without_a_token_is_an_error_where_the_unknown_token_is_absent() -> None:
    model = made(["a"], [], {"unk_token": "<unk>"})
    assert model.encode(whole("a"))[0].tolist() == [0]
    with pytest.raises(VocabError, match="pretoken 0, 'ab'"):
        model.encode(whole("ab"))
    with pytest.raises(OptionError, match="a seed is"):
        model.encode(whole("a"), seed=-1)


def test_adversarial_text_does_no_harm(shared: Path) -> None:
    _, model = published(shared / "vocabs" / "mistral-v1" / "tokenizer.json")
    for seed in range(5):
        text = adversarial(seed, 2000, surrogates=True)
        ids, spans, words = model.encode(metaspace(text))
        assert len(ids) == len(spans) == len(words)
        assert np.all(spans[:, 0] <= spans[:, 1])


@pytest.mark.parametrize("unit", ["a", "ab", "▁", "漢", "é", "x", "aab▁"])
def test_a_piece_of_twice_the_bytes_costs_twice_as_much(unit: str, shared: Path) -> None:
    _, mistral = published(shared / "vocabs" / "mistral-v1" / "tokenizer.json")
    doubling = ["<unk>", "a", "b", *("a" * 2**k for k in range(1, 20))]
    merges = [("a" * 2 ** (k - 1), "a" * 2 ** (k - 1)) for k in range(1, 20)]
    for model in (mistral, made(doubling, merges, {"unk_token": "<unk>"})):
        once, twice = (whole(unit * (n // len(unit.encode()))) for n in (50_000, 100_000))
        assert work_of(model.encode, twice) < 2.6 * work_of(model.encode, once)
