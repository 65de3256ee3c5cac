"""tokkit and its rivals give the same ids: corpora, adversarial text, every code point."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from code_points import code_points
from conftest import LONG, PUBLISHED, slice_of
from reference.bpe_encode import merge_list_bpe, rank_bpe, ranked
from reference.split import split
from strategies import CONTEXTS, adversarial, documents
from tokkit.pretokenizers import patterns

if TYPE_CHECKING:
    import tiktoken

    import tokkit
    from conftest import Small

Ours = Callable[[str], "tokkit.Tokenizer"]
Theirs = Callable[[str], "tiktoken.Encoding"]
SLICE = 120_000
DOCUMENT = 5_000


def cut(text: str) -> list[str]:
    """Documents of some thousand characters, so that a difference is shown in a short text."""
    return [text[i : i + DOCUMENT] for i in range(0, len(text), DOCUMENT)]


def differing(ours: tokkit.Tokenizer, theirs: tiktoken.Encoding, texts: list[str]) -> list[str]:
    """The texts whose ids differ, as tiktoken gives them and as each way of ours does."""
    ids, offsets = ours.encode_batch(texts)
    wrong = []
    for i, text in enumerate(texts):
        wanted = theirs.encode_ordinary(text)
        one_by_one = ours.encode(text)
        if not (wanted == one_by_one == ids[offsets[i] : offsets[i + 1]].tolist()):
            at = next((k for k, pair in enumerate(zip(wanted, one_by_one, strict=False)) if pair[0] != pair[1]), -1)
            place = len(theirs.decode(wanted[: max(at, 0)]))
            wrong.append(f"text {i}, character {place}: {text[max(0, place - 20) : place + 20]!r}")
    return wrong


@pytest.mark.parametrize("name", PUBLISHED)
def test_ids_of_every_corpus_equal_tiktokens(
    load_shared: Ours, load_tiktoken: Theirs, corpora: dict[str, Path], name: str
) -> None:
    ours, theirs = load_shared(name), load_tiktoken(name)
    wrong = []
    for corpus, path in corpora.items():
        wrong += [f"{corpus}: {where}" for where in differing(ours, theirs, cut(slice_of(path, SLICE)))]
    assert not wrong


@pytest.mark.parametrize("name", PUBLISHED)
def test_ids_of_one_long_text_equal_tiktokens(
    load_shared: Ours, load_tiktoken: Theirs, corpora: dict[str, Path], name: str
) -> None:
    ours, theirs = load_shared(name), load_tiktoken(name)
    for path in corpora.values():
        text = slice_of(path, SLICE // 4)
        assert ours.encode_to_numpy(text).tolist() == theirs.encode_ordinary(text), path.name


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_ids_of_source_code_equal_tiktokens(load_shared: Ours, load_tiktoken: Theirs, name: str) -> None:
    ours, theirs = load_shared(name), load_tiktoken(name)
    paths = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths[:: 1 if LONG else 5]]
    assert texts
    assert not differing(ours, theirs, texts)


@pytest.mark.parametrize("name", PUBLISHED)
def test_ids_of_adversarial_texts_equal_tiktokens(load_shared: Ours, load_tiktoken: Theirs, name: str) -> None:
    ours, theirs = load_shared(name), load_tiktoken(name)
    factor = 20 if LONG else 1
    texts = [*documents(601, 1500 * factor), *cut(adversarial(607, 100_000 * factor))]
    texts += documents(613, 300 * factor, surrogates=True)
    assert not differing(ours, theirs, texts)


def test_ids_of_bundled_and_adversarial_texts_equal_tiktokens_on_a_small_vocabulary(
    tok: tokkit.Tokenizer, rival: tiktoken.Encoding, bundled: str
) -> None:
    assert not differing(tok, rival, [*cut(bundled), *documents(617, 3000), *cut(adversarial(619, 100_000))])


@pytest.mark.parametrize("pattern", [*patterns.NAMES])
def test_ids_equal_tiktokens_with_any_published_pattern(
    make_tokenizer: Callable[..., tokkit.Tokenizer], small: Small, bundled: str, pattern: str
) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    text = (patterns.resolve(pattern) or "").removeprefix("(?V1)")  # which tells `regex` of &&; tiktoken knows
    theirs = tiktoken.Encoding(pattern, pat_str=text, mergeable_ranks=small.ids, special_tokens={})
    ours = make_tokenizer("rank", pattern)
    assert not differing(ours, theirs, [*cut(bundled), *documents(631, 1500)])


def texts_in_context(stride: int) -> Iterator[str]:
    """Every code point in one context of `stride`, each taking its turn, cut off from the next by a special token.

    Each slice between special tokens is split alone, so that the ends of texts are tried in long texts too.
    """
    points = code_points()
    for turn, context in enumerate(CONTEXTS):
        chosen = [cp for cp in points if (cp + turn) % stride == 0 or (cp < 0x3100 and stride < len(CONTEXTS))]
        for i in range(0, len(chosen), 20_000):
            yield "<|endoftext|>".join(context.format(chr(cp)) for cp in chosen[i : i + 20_000])


@pytest.mark.parametrize("name", PUBLISHED if LONG else ["cl100k_base", "o200k_base", "r50k_base"])
def test_every_code_point_in_context_gives_tiktokens_ids(load_shared: Ours, load_tiktoken: Theirs, name: str) -> None:
    ours, theirs = load_shared(name), load_tiktoken(name)
    stride = 1 if LONG else 144 if name == "r50k_base" else 72
    wrong: list[str] = []
    for text in texts_in_context(stride):
        wanted = theirs.encode_to_numpy(text, allowed_special="all")
        if not np.array_equal(ours.encode_to_numpy(text, special="all"), wanted):
            slices = text.split("<|endoftext|>")
            wrong += [s for s in slices if ours.encode(s) != theirs.encode_ordinary(s)] or [
                f"some slice of {slices[0]!r}…"
            ]
    assert not wrong, [text.encode("unicode_escape") for text in wrong[:50]]


@pytest.mark.parametrize("name", PUBLISHED)
def test_special_tokens_give_tiktokens_ids(load_shared: Ours, load_tiktoken: Theirs, name: str) -> None:
    ours, theirs = load_shared(name), load_tiktoken(name)
    assert dict(ours.special_tokens) == theirs._special_tokens
    assert ours.n_ids == theirs.n_vocab
    texts = [f"a {token} b{token}{token}\n {token}" for token in theirs.special_tokens_set]
    for text in [*texts, *documents(641, 300)]:
        wanted = theirs.encode(text, allowed_special="all")
        assert ours.encode(text, special="all") == wanted
        assert ours.encode(text, special={"<|endoftext|>"}) == theirs.encode(
            text, allowed_special={"<|endoftext|>"}, disallowed_special=()
        )
        assert ours.decode(wanted) == text


@pytest.mark.parametrize("name", PUBLISHED)
def test_offsets_equal_tiktokens_and_cut_the_text_without_gaps(
    load_shared: Ours, load_tiktoken: Theirs, name: str
) -> None:
    ours, theirs = load_shared(name), load_tiktoken(name)
    for text in [*documents(643, 300), adversarial(647, 20_000)]:
        encoding = ours(text)
        _, starts = theirs.decode_with_offsets(encoding.ids)
        assert [start for start, _ in encoding.offsets] == starts
        ends = [0, *(end for _, end in encoding.byte_offsets)]
        assert [start for start, _ in encoding.byte_offsets] == ends[:-1]
        assert ends[-1] == len(text.encode())


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_token_decodes_to_tiktokens_bytes(load_shared: Ours, load_tiktoken: Theirs, name: str) -> None:
    ours, theirs = load_shared(name), load_tiktoken(name)
    known = {id_: token for token, id_ in theirs._mergeable_ranks.items()}
    known |= {id_: token.encode() for token, id_ in theirs._special_tokens.items()}
    assert {id_: token for token, id_ in ours.vocab.items()} == known
    rng = np.random.default_rng(653)
    ids = rng.choice(np.array(sorted(known), dtype=np.uint32), 50_000)
    assert ours.decode_bytes(ids) == theirs.decode_bytes(ids.tolist())
    assert ours.decode(ids) == theirs.decode(ids.tolist())


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_batches_equal_tiktokens_for_any_number_of_threads(
    load_shared: Ours, load_tiktoken: Theirs, corpora: dict[str, Path], threads: int
) -> None:
    ours, theirs = load_shared("cl100k_base"), load_tiktoken("cl100k_base")
    texts = [text for path in corpora.values() for text in cut(slice_of(path, SLICE // 8))] + documents(659, 500)
    ids, offsets = ours.encode_batch(texts, threads=threads)
    wanted = theirs.encode_ordinary_batch(texts, num_threads=2)
    assert ids.tolist() == [id_ for list_ in wanted for id_ in list_]
    assert np.diff(offsets).tolist() == [len(list_) for list_ in wanted]


def test_the_published_examples_give_their_published_ids(load_shared: Ours) -> None:
    cl100k = load_shared("cl100k_base")
    assert cl100k.encode("Hello, world!") == [9906, 11, 1917, 0]
    assert cl100k.encode("Hello, how are you doing today?")[:8] == [9906, 11, 1268, 527, 499, 3815, 3432, 30]
    assert cl100k.encode("hello world") == [15339, 1917]
    text = "Training a tokenizer is not the same as training a model."
    assert cl100k.count(text) <= load_shared("r50k_base").count(text)


def test_the_naive_twins_agree_with_tiktoken_too(load_tiktoken: Theirs) -> None:
    # A twin that were wrong as we are wrong would prove nothing.
    for name in ("r50k_base", "cl100k_base", "o200k_base"):
        theirs = load_tiktoken(name)
        for text in documents(661, 200):
            pieces = split(theirs._pat_str, text)
            ids = [id_ for piece in pieces for id_ in rank_bpe(piece.encode(), theirs._mergeable_ranks)]
            assert ids == theirs.encode_ordinary(text)


@pytest.fixture(scope="module")
def trained(bundled: str) -> tokkit.Tokenizer:
    """A tokenizer that we trained ourselves, as the README's first command does."""
    import tokkit

    return tokkit.train(iter(bundled.splitlines(keepends=True)), vocab_size=2000, special_tokens=["<|endoftext|>"])


def test_our_own_tokenizer_gives_the_naive_twins_ids(trained: tokkit.Tokenizer, bundled: str) -> None:
    definition = trained.definition
    assert definition.model.merges is not None
    merges = ranked(definition.model.merges.tolist())
    special = set(definition.special_tokens.values())
    ids = {token: id_ for token, id_ in definition.vocab.items() if id_ not in special}
    memo: dict[str, list[int]] = {}
    for text in [bundled[:8000], *documents(673, 100)]:
        wanted = []
        for piece in split(definition.pretokenizer.pattern, text):
            if piece not in memo:
                memo[piece] = merge_list_bpe(piece.encode(), ids, merges, whole_piece=definition.model.whole_piece)
            wanted += memo[piece]
        assert trained.encode(text) == wanted, repr(text[:80])


def test_our_saved_tokenizer_gives_the_same_ids_in_tokenizers(
    trained: tokkit.Tokenizer, bundled: str, tmp_path: Path
) -> None:
    import tokkit

    tokenizers = pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    trained.save(path)
    theirs, again = tokenizers.Tokenizer.from_file(str(path)), tokkit.load(path)
    assert again.fingerprint() == trained.fingerprint()
    for text in [*cut(bundled), *documents(677, 1000), *cut(adversarial(683, 100_000))]:
        ids = theirs.encode(text, add_special_tokens=False).ids
        assert trained.encode(text, special="all") == ids == again.encode(text, special="all"), repr(text[:80])
        assert trained.decode(ids) == theirs.decode(ids, skip_special_tokens=False)


def test_gpt_2_gives_the_golden_ids(shared: Path) -> None:
    import tokkit

    ours = tokkit.load(shared / "vocabs" / "gpt2" / "tokenizer.json")
    cases = (shared / "golden" / "gpt-2.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    answers = [
        [int(id_) for id_ in line.split()] for line in (shared / "golden" / "gpt-2.out").read_text().splitlines()
    ]
    for case, ids in zip(cases, answers, strict=False):
        assert ours.encode(case) == ids, repr(case)
