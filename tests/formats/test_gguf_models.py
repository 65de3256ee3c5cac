"""GGUF files of SentencePiece and BERT give the ids of sentencepiece and of tokenizers."""

from __future__ import annotations

import contextlib
import io
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from conftest import slice_of
from gguf_files import ARRAY, BOOL, F32, I32, U8, U32, Typed, gguf, of_sentencepiece, strings
from strategies import documents
from tokkit.errors import FormatError, OptionError
from tokkit.formats import gguf_merges
from tokkit.formats.gguf_vocabulary import Vocabulary

CASE_END = "\n__ggml_vocab_test__\n"
PARTS = [
    *("a", "b", "ab", " ", "  ", "\n", "\t", "=", "==", "-", "é", "中", "😀", "\0", "the", "ing", " the", "0", "1"),
    *("<s>", "</s>", "<th>", "\xa0"),
]
RUNS = ["", " ", "  ", "a ", " a", "\n", "\0", "a\0b", "=" * 100, " " * 100, "a" * 3000, "-" * 77 + " " + "." * 99]

Keys = dict[str, Any]


def some_texts(seed: int, n: int, more: list[str]) -> list[str]:
    rng = random.Random(seed)
    return [*RUNS, *("".join(rng.choices(PARTS + more, k=rng.randrange(1, 60))) for _ in range(n))]


def load(path: Path, keys: Keys) -> tokkit.Tokenizer:
    (path / "model.gguf").write_bytes(gguf(keys))
    return tokkit.load(path / "model.gguf")


def key(name: str) -> str:
    return f"tokenizer.ggml.{name}"


def golden(shared: Path, name: str) -> list[tuple[str, list[int]]]:
    cases = (shared / "golden" / f"{name}.inp").read_bytes().decode().split(CASE_END)
    lines = (shared / "golden" / f"{name}.out").read_text().splitlines()
    return [(case, [int(id_) for id_ in line.split()]) for case, line in zip(cases, lines, strict=False)]


# ---- SentencePiece


@pytest.fixture(scope="module")
def spm() -> Any:
    return pytest.importorskip("sentencepiece")


def train(spm: Any, bundled: str, **options: Any) -> bytes:
    out = io.BytesIO()
    lines = [line for line in bundled.splitlines() if line.isascii()][:400]
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=out, vocab_size=500, minloglevel=2, **options
    )
    return out.getvalue()


def test_mistral_gives_the_ids_of_sentencepiece(
    shared: Path, tmp_path: Path, spm: Any, corpora: dict[str, Path]
) -> None:
    model = (shared / "vocabs" / "mistral-v1" / "tokenizer.model").read_bytes()
    tok, rival = load(tmp_path, of_sentencepiece(model)), spm.SentencePieceProcessor(model_proto=model)
    texts = [slice_of(path, 20_000) for path in corpora.values()]
    more = ["▁", "▁▁", "e\u0301", "\u200d", "<0x41>", "\r\n", "\ufffd"]
    for text in [*texts, *some_texts(1, 1500, more), *documents(3, 40)]:
        ids = rival.encode(text)
        assert tok.encode(text) == ids, text
        assert tok(text).ids == [1, *ids]
    for text in (" a  b", "東 <0x41> x\n", "a\0é😀"):
        assert tok.decode(tok.encode(text)) == text
    assert tok.encode("<s>a</s>", special="all")[::2] == [1, 2]


def test_t5_gives_the_ids_of_sentencepiece(shared: Path, tmp_path: Path, spm: Any, corpora: dict[str, Path]) -> None:
    model = (shared / "vocabs" / "t5" / "spiece.model").read_bytes()
    tok, rival = load(tmp_path, of_sentencepiece(model)), spm.SentencePieceProcessor(model_proto=model)
    texts = [slice_of(path, 20_000) for path in corpora.values()]
    for text in [*texts, *some_texts(2, 1500, ["▁", "<0x41>", "\r\n"])]:
        ids = rival.encode(text)
        assert tok.encode(text) == ids, text
        assert tok(text).ids == [*ids, 1]
    for text, ids in golden(shared, "t5"):
        assert tok.encode(text) == ids, text
    assert tok.decode(tok.encode(" Hello   world ")) == "Hello world"


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("removes", [True, False])
@pytest.mark.parametrize("rules", ["identity", "nmt_nfkc"])
def test_the_flags_of_a_model_are_kept(
    tmp_path: Path, spm: Any, bundled: str, kind: str, prefix: bool, removes: bool, rules: str
) -> None:
    options = {"add_dummy_prefix": prefix, "remove_extra_whitespaces": removes, "normalization_rule_name": rules}
    # Byte tokens of Unigram are found by their names as well, and none is in these texts.
    for falls_back in (True, False):
        model = train(spm, bundled, model_type=kind, byte_fallback=falls_back, **options)
        tok, rival = load(tmp_path, of_sentencepiece(model)), spm.SentencePieceProcessor(model_proto=model)
        for text in some_texts(4, 60, []):
            if kind == "unigram" and any(a == b and a not in " \n" for a, b in pairwise(text)):
                continue  # runs have exact ties
            assert tok.encode(text) == rival.encode(text), text


def test_user_defined_tokens_of_a_model_without_prefix_are_those_of_sentencepiece(
    tmp_path: Path, spm: Any, bundled: str
) -> None:
    model = train(
        spm,
        bundled,
        model_type="bpe",
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        normalization_rule_name="identity",
        user_defined_symbols=["<th>", "▁▁", "▁▁▁", "\n", "ab"],
    )
    keys = of_sentencepiece(model)
    tok, rival = load(tmp_path, keys), spm.SentencePieceProcessor(model_proto=model)
    for text in some_texts(5, 600, ["   "]):
        assert tok.encode(text) == rival.encode(text), text
    # With a prefix, each stretch between them has one, which sentencepiece gives the first alone.
    spaced = load(tmp_path, {**keys, key("add_space_prefix"): Typed(BOOL, 1)})
    assert spaced.encode("a<th>a") == [*tok.encode(" a"), *tok.encode("<th>"), *tok.encode(" a")]


def test_what_differs_from_sentencepiece_is_known(shared: Path, tmp_path: Path, spm: Any) -> None:
    model = (shared / "vocabs" / "t5" / "spiece.model").read_bytes()
    tok, rival = load(tmp_path, of_sentencepiece(model)), spm.SentencePieceProcessor(model_proto=model)
    # An exact tie, and a grapheme cluster that the charsmap has the beginning of: both are as tokenizers has them.
    for text in ("ab" * 999, "e\u0301\u200d"):
        assert tok.encode(text) != rival.encode(text), text
    path = shared / "vocabs" / "t5" / "tokenizer.json"
    assert tok.encode("e\u0301\u200d") == tokkit.load(path).encode("e\u0301\u200d")


# ---- merges of scores


def by_scores(text: str, score: dict[str, float]) -> list[str]:
    """The naive way: of the neighbours whose join is a token, those with the greatest score, then leftmost."""
    run = list(text)
    while found := [(-score[a + b], i) for i, (a, b) in enumerate(pairwise(run)) if a + b in score]:
        at = min(found)[1]
        run[at : at + 2] = [run[at] + run[at + 1]]
    return run


def by_list(text: str, ranks: dict[tuple[str, str], int]) -> list[str]:
    run = list(text)
    while found := [(ranks[pair], i) for i, pair in enumerate(pairwise(run)) if pair in ranks]:
        at = min(found)[1]
        run[at : at + 2] = [run[at] + run[at + 1]]
    return run


def scored(tokens: list[str], scores: list[float], types: list[int] | None = None) -> Vocabulary:
    kinds = np.array(types or [1] * len(tokens), dtype=np.uint8)
    return Vocabulary("llama", None, tokens, kinds, np.array(scores, dtype=np.float32), [], {}, {})


def test_a_list_of_merges_says_what_scores_say_or_the_scores_are_refused() -> None:
    done = 0
    for seed in range(300):
        rng = random.Random(seed)
        letters = "a" if seed % 7 == 0 else "ab" if seed % 2 else "abc"
        tokens = list(letters)
        for _ in range(rng.randrange(1, 10)):
            joined = rng.choice(tokens) + rng.choice(tokens)
            tokens += [joined] if joined not in tokens else []
        numbers = [-float(i) for i in range(len(tokens))]  # in turn; runs alike and last; anything
        runs_last = [-1e9 if len(set(token)) == 1 else at for token, at in zip(tokens, numbers, strict=True)]
        scores = (numbers, runs_last, [-float(rng.randrange(6)) for _ in tokens])[seed % 3]
        try:
            merges = gguf_merges.of_scores(scored(tokens, scores)).tolist()
        except FormatError as error:
            if not seed % 3 or "may overlap" not in str(error):
                raise
            continue
        ranks = {(tokens[left], tokens[right]): rank for rank, (left, right, _) in enumerate(merges)}
        for size in range(20):
            text = "".join(rng.choice(letters) * rng.randrange(1, 9 if size % 3 else 2) for _ in range(size))
            assert by_list(text, ranks) == by_scores(text, dict(zip(tokens, scores, strict=True))), (text, scores)
        done += 1
    assert done > 150


@pytest.mark.parametrize(
    ("tokens", "scores", "types", "reason"),
    [
        (["a", "b", "c", "ab", "bc"], [0, 0, 0, -1, -1], None, r"scores: 'ab' and 'bc', the ids 3 and 4, may overlap"),
        (["a", "aa", "aaaa", "aaa"], [0, -1, -2, -2], None, r"scores: 'aa' and 'aaa+'.* may overlap"),
        (["a", "b", "aa", "bb", "aab"], [0, 0, -2, -2, -1], None, r"scores: 'aa' and 'aab'.*a greater one"),
        (["a", "ab"], [0, -1], None, r"tokens\[1\]: 'ab' is made of 'b', which is not a token"),
        (["a", "b", "ab"], [0, 0, -1], [1, 1, 5], r"token_type\[2\]: 'ab' is unused, but is made of tokens in use"),
        (["a", "a" * 2000], [0, -1], None, r"tokens\[1\]: 2000 characters; a token has 1024 at most"),
    ],
)  # fmt: skip
def test_scores_that_no_list_of_merges_says_are_refused(
    tokens: list[str], scores: list[float], types: list[int] | None, reason: str
) -> None:
    with pytest.raises(FormatError, match=reason):
        gguf_merges.of_scores(scored(tokens, scores, types))


def test_scores_that_no_list_of_merges_says_run_as_in_sentencepiece(tmp_path: Path, spm: Any) -> None:
    byte_names = [f"<0x{byte:02X}>" for byte in range(256)]
    tied = ["-", ">", "<", "▁", "a", "--", "->", "<-", "---", "-->", "<--", "▁a", "a▁", "aa"]
    keys = {
        key("model"): "llama",
        key("tokens"): strings(["<unk>", "<s>", "</s>", *tied, *byte_names]),
        key("scores"): Typed(ARRAY, [0.0] * (3 + len(tied) + 256), F32),
        key("token_type"): Typed(ARRAY, [2, 3, 3, *[1] * len(tied), *[6] * 256], I32),
        key("bos_token_id"): Typed(U32, 1),
    }
    tok = load(tmp_path, keys)
    tok.save(tmp_path / "x.model")
    rival = spm.SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
    rng = random.Random(3)
    for size in [*range(30)] * 20:
        text = "".join(rng.choice("-->< aaé") for _ in range(size))
        marked = ("▁" + text.replace(" ", "▁")) if text else ""
        known = by_scores(marked.replace("é", "\0"), dict.fromkeys(tied, 0.0))
        naive = [part for symbol in known for part in (["<0xC3>", "<0xA9>"] if symbol == "\0" else [symbol])]
        ids = tok.encode(text)
        assert [tok.vocab[id_].decode() for id_ in ids] == naive, text
        if "  " not in f" {text} ":  # the file says nothing of the default of sentencepiece, to remove these
            assert ids == rival.encode(text), text
    assert tok("a").ids == [1, *tok.encode("a")]
    assert tok.encode("a<s>a", special="all") == [*tok.encode("a"), 1, *tok.encode("a")]


# ---- BERT


def bert_keys(shared: Path) -> Keys:
    """The vocabulary as GGUF files write it: "▁" before what begins a word, nothing before what continues it."""
    words = (shared / "vocabs" / "bert-base-uncased" / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    tokens = [w if w in special else w[2:] if w.startswith("##") else "▁" + w for w in words]
    return {
        key("model"): "bert",
        key("pre"): "jina-v2-en",
        key("tokens"): strings(tokens),
        key("token_type"): Typed(ARRAY, [3 if word in special else 1 for word in words], I32),
        key("unknown_token_id"): Typed(U32, 100),
        key("seperator_token_id"): Typed(U32, 102),
        key("cls_token_id"): Typed(U32, 101),
    }


def test_bert_gives_the_ids_of_tokenizers(shared: Path, tmp_path: Path, corpora: dict[str, Path]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = str(shared / "vocabs" / "bert-base-uncased" / "tokenizer.json")
    keys = bert_keys(shared)
    tok, rival = load(tmp_path, keys), tokenizers.Tokenizer.from_file(path)
    for text in [*(slice_of(p, 10_000) for p in corpora.values()), *some_texts(6, 500, ["e\u0301", "[SEP]", "▁"])]:
        ours, theirs = tok(text, special="all"), rival.encode(text)
        assert (ours.ids, list(ours.offsets)) == (theirs.ids, list(theirs.offsets)), text
    assert tok("a", "b").type_ids == rival.encode("a", "b").type_ids
    for text, ids in golden(shared, "bert-bge"):
        assert tok.encode(text) == ids, text
    assert tok.fingerprint() == tokkit.load(path).fingerprint()
    cased = load(tmp_path, {**keys, key("normalizer.lowercase"): Typed(BOOL, 0)})
    assert cased.encode("The the") == [100, *tok.encode("the")]
    for name in ("unknown", "cls", "seperator"):  # the names of the tokens are enough
        del keys[key(f"{name}_token_id")]
    assert load(tmp_path, keys).fingerprint() == tok.fingerprint()


# ---- what is refused


def small(model: str) -> Keys:
    special = {"bert": ["[UNK]", "[CLS]", "[SEP]"]}.get(model, ["<unk>", "<s>", "</s>"])
    tokens = [*special, "▁", "a", "b", "▁a", "ab", "é", "▁▁"]
    return {
        key("model"): model,
        key("tokens"): strings(tokens),
        key("scores"): Typed(ARRAY, [0.0, 0.0, 0.0, *(-float(i) for i in range(1, 8))], F32),
        key("token_type"): Typed(ARRAY, [2, 3, 3, 1, 1, 1, 1, 1, 1, 4], I32),
        key("add_space_prefix"): Typed(BOOL, 1),
        key("remove_extra_whitespaces"): Typed(BOOL, 0),
        key("bos_token_id"): Typed(U32, 1),
        key("eos_token_id"): Typed(U32, 2),
        key("unknown_token_id"): Typed(U32, 0),
    }


TOKENS = ["<unk>", "<s>", "</s>", "▁", "a", "b", "▁a", "ab", "é", "▁▁"]


@pytest.mark.parametrize(
    ("model", "changes", "reason"),
    [
        ("llama", {"token_type": None}, r"ggml\.token_type: missing"),
        ("llama", {"scores": None}, r"ggml\.scores: missing"),
        ("llama", {"unknown_token_id": None, "token_type": Typed(ARRAY, [1] * 10, I32)}, r"unknown_token_id: missing"),
        ("llama", {"token_type": Typed(ARRAY, [2] + [6] * 9, I32)}, r"tokens\[1\]: a token of the type byte is <0x00>"),
        ("llama", {"escape_whitespaces": Typed(BOOL, 0)}, r"escape_whitespaces: false is not supported"),
        ("t5", {"treat_whitespace_as_suffix": Typed(BOOL, 1)}, r"treat_whitespace_as_suffix: true is not supported"),
        ("t5", {"precompiled_charsmap": Typed(ARRAY, [1, 2, 3], U8)}, r"precompiled_charsmap: .*cannot be read"),
        ("t5", {"add_space_prefix": None}, r"ggml\.add_space_prefix: missing; it is needed to decide"),
        ("t5", {"token_type": Typed(ARRAY, [2] + [3] * 9, I32)}, r"ggml\.token_type: no token is normal"),
        ("t5", {"tokens": strings([*TOKENS[:-1], ""])}, r"tokens: the token with id 9 is empty"),
        ("t5", {"tokens": strings([*TOKENS[:-2], "  ", "▁▁"])}, r"the ids 8 and 9 are both read as '  '"),
        ("t5", {"bos_token_id": None, "add_bos_token": Typed(BOOL, 1)}, r"add_bos_token: true, but bos_token_id names"),
        ("bert", {"token_type": Typed(ARRAY, [3] * 9 + [6], I32)}, r"token_type\[9\]: '▁▁' is of the type byte"),
        ("bert", {"eos_token_id": None, "tokens": strings([*"abcdefghij"])}, r"seperator_token_id: missing, and no"),
    ],
)  # fmt: skip
def test_a_wrong_key_is_named(tmp_path: Path, model: str, changes: Keys, reason: str) -> None:
    assert load(tmp_path, small(model)).encode("ab")
    keys = {**small(model), **{key(name): value for name, value in changes.items()}}
    with pytest.raises(FormatError, match=reason):
        load(tmp_path, {name: value for name, value in keys.items() if value is not None})


def test_no_pattern_cuts_text_for_these_kinds(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(gguf(small("llama")))
    with pytest.raises(OptionError, match="pattern= was given"):
        tokkit.load(tmp_path / "model.gguf", pattern="gpt2")


@pytest.mark.parametrize("model", ["llama", "t5", "bert"])
def test_fuzzed_files_give_tokenizers_that_run_or_errors_of_ours(tmp_path: Path, model: str) -> None:
    data, read_well = gguf(small(model)), 0
    for seed in range(300):
        rng = random.Random(seed)
        spoilt = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(spoilt))
            spoilt[at : at + 1] = rng.choice([b"\0", b"\1", b"\4", b"\xff", rng.randbytes(1)])
        (tmp_path / "model.gguf").write_bytes(spoilt)
        with contextlib.suppress(tokkit.TokkitError):
            tok = tokkit.load(tmp_path / "model.gguf")
            tok.decode(tok("a é ab  z\0").ids)
            read_well += 1
    assert 0 < read_well < 300
