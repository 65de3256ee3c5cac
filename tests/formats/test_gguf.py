"""GGUF files: the reference ids of a real vocabulary, and all errors of keys."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from gguf_files import ARRAY, BOOL, F32, I8, I32, U8, U32, Typed, gguf, strings
from reference.bpe_encode import merge_list_bpe, ranked
from reference.split import split
from strategies import documents
from tokkit import byte_symbols, formats
from tokkit.definition import Definition
from tokkit.errors import FormatError, OptionError, VocabError
from tokkit.files import gguf_file
from tokkit.formats import gguf_vocabulary
from tokkit.pretokenizers import patterns

CASE_END = "\n__ggml_vocab_test__\n"
Make = Callable[..., Definition]
Keys = dict[str, Any]
PRE, MODEL, TOKENS = (f"tokenizer.ggml.{name}" for name in ("pre", "model", "tokens"))
TYPES, MERGES, SCORES = (f"tokenizer.ggml.{name}" for name in ("token_type", "merges", "scores"))


@pytest.fixture
def keys(make: Make) -> Keys:
    """The tiny vocabulary as a GGUF file writes it: 256 bytes, seven merges, two special tokens."""
    definition = make()
    special = definition.special_tokens
    tokens = [byte_symbols.to_symbols(token) for token in definition.vocab]
    for text, id_ in special.items():
        tokens[id_] = text
    assert definition.model.merges is not None
    return {
        "general.architecture": "llama",
        "general.tags": strings(["a", "b"]),
        "llama.rope.freq_base": Typed(F32, 10000.0),
        "llama.some.sizes": Typed(ARRAY, [1, 2, 3], U32),
        MODEL: "gpt2",
        PRE: "gpt-2",
        TOKENS: strings(tokens),
        TYPES: Typed(ARRAY, [3 if id_ in special.values() else 1 for id_ in range(len(tokens))], I32),
        MERGES: strings([f"{tokens[a]} {tokens[b]}" for a, b, _ in definition.model.merges.tolist()]),
        "tokenizer.ggml.bos_token_id": Typed(U32, 263),
        "tokenizer.ggml.padding_token_id": Typed(U32, 0xFFFFFFFF),
        "tokenizer.ggml.add_bos_token": Typed(BOOL, 1),
        "tokenizer.chat_template": "{{ messages }}",
    }


def read(path: Path, keys: Any, **options: Any) -> Definition:
    path = path / "model.gguf"
    path.write_bytes(keys if isinstance(keys, bytes) else gguf(keys))
    return formats.read(path, **options)


# ---- what is read


def test_starcoder_gives_the_golden_ids(shared: Path) -> None:
    tok = tokkit.load(shared / "vocabs" / "starcoder" / "ggml-vocab-starcoder.gguf")
    cases = (shared / "golden" / "starcoder.inp").read_bytes().decode().split(CASE_END)
    lines = (shared / "golden" / "starcoder.out").read_text().splitlines()
    cases = cases[:-1] if not cases[-1] else cases
    assert len(cases) == len(lines) == 46
    for case, line in zip(cases, lines, strict=True):
        ids = [int(id_) for id_ in line.split()]
        assert tok.encode(case) == ids, case
        assert tok(case).ids == ids
        assert tok.decode(ids) == case
    assert len(tok.special_tokens) == 38
    assert tok.split_engine == "compiled"
    assert tokkit.load(shared / "vocabs" / "starcoder").fingerprint() == tok.fingerprint()


def test_starcoder_gives_the_naive_ids_and_drops_bytes_that_it_has_no_token_for(shared: Path) -> None:
    tok = tokkit.load(shared / "vocabs" / "starcoder" / "ggml-vocab-starcoder.gguf")
    definition = tok.definition
    assert definition.model.drops_unknown
    assert definition.model.merges is not None
    assert b"\xf1" not in tok.vocab  # the first byte of U+40000 to U+7FFFF
    special = set(definition.special_tokens.values())
    ids = {token: id_ for token, id_ in tok.vocab.items() if id_ not in special}
    merges = ranked(definition.model.merges.tolist())
    texts = ["a\U00040000b", "\U00040000", "x é \U00050000\U00050001 12", "\U00040000" * 40, *documents(5, 8)]
    for text in texts:
        pieces = split(definition.pretokenizer.pattern or "", text)
        expected = [
            id_ for piece in pieces for id_ in merge_list_bpe(piece.encode(), ids, merges, drops_unknown=True)
        ]  # fmt: skip
        for _ in range(2):  # at first sight, and from the cache
            assert tok.encode(text) == expected
        encoding = tok(text)
        assert encoding.ids == expected
        assert tok.count(text) == len(expected)
        assert tok.encode_batch([text, text])[0].tolist() == expected * 2
        whole = text.encode()
        for id_, (start, end) in zip(expected, encoding.byte_offsets, strict=True):
            assert whole[start:end] == tok.vocab[id_]


def test_a_file_says_what_the_same_tokenizer_json_says(
    tmp_path: Path, keys: Keys, make: Make, same: Callable[..., bool]
) -> None:
    assert same(read(tmp_path, keys), make())
    assert same(read(tmp_path, gguf(keys, version=2)), make())
    (tmp_path / "weights").write_bytes(gguf(keys) + bytes(1000))  # known by its first bytes; what follows is not read
    assert same(formats.read(tmp_path / "weights"), make())
    assert same(formats.read(tmp_path / "model.gguf"), formats.read(tmp_path))


def test_a_merge_list_that_takes_whole_pieces_is_known_by_the_name_of_its_split(tmp_path: Path, keys: Keys) -> None:
    for name, pattern, whole_piece in (
        ("llama-bpe", patterns.LLAMA3, True),
        ("qwen2", patterns.QWEN2, False),
        ("tekken", patterns.TEKKEN, True),
    ):
        definition = read(tmp_path, {**keys, PRE: name})
        assert (definition.pretokenizer.pattern, definition.model.whole_piece) == (pattern, whole_piece)


def test_a_split_without_a_name_needs_a_pattern(tmp_path: Path, keys: Keys) -> None:
    unknown = {**keys, PRE: "nobody's"}
    with pytest.raises(FormatError, match=r"model\.gguf: tokenizer\.ggml\.pre: .*nobody.*give pattern=.*starcoder"):
        read(tmp_path, unknown)
    del keys[PRE]
    with pytest.raises(FormatError, match=r"tokenizer\.ggml\.pre: missing.*give pattern="):
        read(tmp_path, keys)
    assert read(tmp_path, unknown, pattern="o200k").pretokenizer.pattern == patterns.O200K
    own = read(tmp_path, keys, pattern=r"\p{L}+").pretokenizer
    assert (own.pattern, own.keep_unmatched) == (r"\p{L}+", True)
    assert read(tmp_path, keys, pattern="none").pretokenizer.pattern is None


def test_special_tokens_are_added_to_those_of_the_file(tmp_path: Path, keys: Keys) -> None:
    added = read(tmp_path, keys, special_tokens={"<new>": 300})
    assert dict(added.special_tokens) == {"<|end|>": 263, "<é>": 264, "<new>": 300}
    with pytest.raises(VocabError, match="belongs to b'h'"):
        read(tmp_path, keys, special_tokens={"<new>": 104})
    with pytest.raises(OptionError, match="needs an id"):
        read(tmp_path, keys, special_tokens={"<new>": -1})


def test_unused_tokens_have_no_ids_and_unknown_ones_are_special(tmp_path: Path, keys: Keys) -> None:
    tokens, types = list(keys[TOKENS].value), list(keys[TYPES].value)
    tokens += ["[PAD265]", "[PAD265]", "<unk>"]
    types += [5, 5, 2]
    definition = read(tmp_path, {**keys, TOKENS: strings(tokens), TYPES: Typed(ARRAY, types, I32)})
    assert definition.vocab.n_ids == 268
    assert 265 not in definition.vocab
    assert definition.special_tokens["<unk>"] == 267


def test_user_defined_tokens_are_found_in_any_text_and_control_ones_where_that_is_allowed(
    tmp_path: Path, keys: Keys
) -> None:
    tokens, types = [*keys[TOKENS].value, "  ", "<|u|>"], [*keys[TYPES].value, 4, 4]
    tok = tokkit.Tokenizer(read(tmp_path, {**keys, TOKENS: strings(tokens), TYPES: Typed(ARRAY, types, I32)}))
    assert tok.encode("h  <|u|>l<|end|>")[:4] == [ord("h"), 265, 266, ord("l")]
    assert tok.encode("<|end|>  ", special="all") == [263, 265]
    assert tok.split_engine == "scanner"
    assert dict(tok.special_tokens) == {"<|end|>": 263, "<é>": 264}
    assert tok.decode([265, 266, 263]) == "  <|u|><|end|>"


def test_a_text_is_framed_as_the_file_says(tmp_path: Path, keys: Keys) -> None:
    keys["tokenizer.ggml.eos_token_id"] = Typed(U32, 264)
    tok = tokkit.Tokenizer(read(tmp_path, keys))
    assert tok("h").ids == [263, ord("h")]
    keys["tokenizer.ggml.add_eos_token"] = Typed(BOOL, 1)
    tok = tokkit.Tokenizer(read(tmp_path, keys))
    assert tok("h").ids == [263, ord("h"), 264]
    assert tok("h", "e").ids == [263, ord("h"), 264, 263, ord("e"), 264]
    del keys["tokenizer.ggml.eos_token_id"]
    with pytest.raises(FormatError, match=r"add_eos_token: true, but eos_token_id names no token"):
        read(tmp_path, keys)


def test_a_file_can_ask_for_nfc(tmp_path: Path, keys: Keys) -> None:
    keys["tokenizer.ggml.normalizer.nfc"] = Typed(BOOL, 1)
    tok = tokkit.Tokenizer(read(tmp_path, keys))
    assert tok.encode("e\u0301") == tok.encode("é") == [260]


def test_keys_become_a_vocabulary_of_any_kind(tmp_path: Path) -> None:
    keys: Keys = {
        MODEL: "llama",
        TOKENS: strings(["<unk>", "<s>", "<0x0A>", "▁the", "x"]),
        SCORES: Typed(ARRAY, [0.0, 0.0, 0.0, -1.5, -2.25], F32),
        TYPES: Typed(ARRAY, [2, 3, 6, 1, 4], I32),
        "tokenizer.ggml.unknown_token_id": Typed(U32, 0),
        "tokenizer.ggml.add_space_prefix": Typed(BOOL, 0),
        "tokenizer.ggml.precompiled_charsmap": Typed(ARRAY, [1, -1], I8),
    }
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(keys))
    with path.open("rb") as file:
        found = gguf_vocabulary.read(gguf_file.read(file, lambda name: True))
    assert found.tokens[3] == "▁the"
    assert found.scores.tolist() == [0.0, 0.0, 0.0, -1.5, -2.25]
    kinds = [gguf_vocabulary.TYPES[kind] for kind in found.types.tolist()]
    assert kinds == ["unknown", "control", "byte", "normal", "user-defined"]
    assert (found.ids, found.flags, found.charsmap) == ({"unknown": 0}, {"add_space_prefix": False}, b"\x01\xff")
    assert found.of_type(gguf_vocabulary.CONTROL) == {"<s>": 1}


# ---- what is refused


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({MODEL: None}, r"ggml\.model: missing; this GGUF file has no tokenizer"),
        ({MODEL: "mine"}, r"ggml\.model: 'mine' is not supported; 'gpt2' or"),
        ({MODEL: Typed(U32, 3)}, r"ggml\.model: a string is needed, not an integer"),
        ({MODEL: b"\xff"}, r"ggml\.model: not UTF-8"),
        ({TOKENS: None}, r"ggml\.tokens: missing"),
        ({TOKENS: strings([])}, r"ggml\.tokens: 0 tokens"),
        ({TOKENS: "a"}, r"ggml\.tokens: an array of strings is needed, not a string"),
        ({TOKENS: Typed(ARRAY, [1], U32)}, r"ggml\.tokens: an array of strings is needed, not an array of uint32"),
        ({TOKENS: Typed(ARRAY, [], ARRAY)}, r"ggml\.tokens: an array of strings is needed, not nested arrays"),
        ({TYPES: strings(["a"])}, r"ggml\.token_type: an array of integers is needed, not an array of strings"),
        ({TYPES: Typed(ARRAY, [1], I32)}, r"ggml\.token_type: 1 integers for 265 tokens"),
        ({TYPES: Typed(ARRAY, [1] * 264 + [9], I32)}, r"ggml\.token_type\[264\] is 9; it must be from 1 to 6"),
        ({TYPES: Typed(ARRAY, [1] * 264 + [6], I32)}, r"token_type\[264\]: '<é>' is of the type byte"),
        ({SCORES: Typed(ARRAY, [float("nan")] * 265, F32)}, r"ggml\.scores\[0\] is nan; it must be a finite number"),
        ({MODEL: "llama"}, r"ggml\.scores: missing"),
        ({MERGES: strings(["h  e"])}, r"ggml\.merges\[0\]: two tokens and one space are needed"),
        ({MERGES: strings(["he"])}, r"ggml\.merges\[0\]: two tokens and one space are needed"),
        ({MERGES: strings(["h e", "h x"])}, r"ggml\.merges\[1\]: the result 'hx' is not in tokenizer\.ggml\.tokens"),
        ({MERGES: strings(["h e", "h e"])}, r"ggml\.merges\[1\]: the pair 'h' 'e' is given twice"),
        ({MERGES: strings(["h e", b"h \xff"])}, r"ggml\.merges\[1\]: not UTF-8, at byte 2"),
        ({MERGES: Typed(U8, 1)}, r"ggml\.merges: an array of strings is needed, not an integer"),
        ({"tokenizer.ggml.eos_token_id": Typed(U32, 265)}, r"eos_token_id is 265; it must be an id from 0 to 264"),
        ({"tokenizer.ggml.eos_token_id": "1"}, r"eos_token_id: an integer is needed, not a string"),
        ({"tokenizer.ggml.precompiled_charsmap": "x"}, r"charsmap: an array of bytes is needed, not a string"),
    ],
)  # fmt: skip
def test_a_wrong_key_is_named(tmp_path: Path, keys: Keys, changes: Keys, reason: str) -> None:
    changed = {name: value for name, value in {**keys, **changes}.items() if value is not None}
    with pytest.raises(FormatError, match=reason):
        read(tmp_path, changed)


def test_two_tokens_with_one_text_are_named(tmp_path: Path, keys: Keys) -> None:
    tokens = list(keys[TOKENS].value)
    tokens[5] = tokens[200]
    with pytest.raises(FormatError, match=r"ggml\.tokens: the ids 5 and 200 both have the text"):
        read(tmp_path, {**keys, TOKENS: strings(tokens)})
    tokens = list(keys[TOKENS].value)
    tokens[264] = ""
    with pytest.raises(FormatError, match=r"ggml\.tokens\[264\]: a token is empty"):
        read(tmp_path, {**keys, TOKENS: strings(tokens)})


def test_ranks_cannot_drop_bytes() -> None:
    from tokkit.models.bpe import BPE

    with pytest.raises(VocabError, match="only merge lists can drop bytes"):
        BPE(None, drops_unknown=True)


def test_merging_does_not_cross_a_dropped_byte_here_and_in_a_tokenizer_json(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    from tokkit.definition import Split
    from tokkit.models.bpe import BPE
    from tokkit.vocab import Vocab

    vocab = Vocab.from_list([b"a", b"b", b"ab", b"aa", b"\xa9"])
    merges = np.array([[0, 1, 2], [0, 0, 3]], dtype=np.uint32)
    ids = dict(vocab.items())
    for whole_piece in (False, True):
        model = BPE(merges, whole_piece, drops_unknown=True)
        tok = tokkit.Tokenizer(Definition(vocab, model, Split(None)))
        tok.save(tmp_path / "x.json")
        rival = tokenizers.Tokenizer.from_file(str(tmp_path / "x.json"))
        assert tokkit.load(tmp_path / "x.json").fingerprint() == tok.fingerprint()
        rng = random.Random(7)
        for size in [*range(12), 40, 100, 700]:
            for _ in range(10):
                text = "".join(rng.choice("aaabbx©é€") for _ in range(size))
                expected = merge_list_bpe(
                    text.encode(), ids, [(0, 1, 2), (0, 0, 3)], whole_piece=whole_piece, drops_unknown=True
                )
                assert tok.encode(text) == tok.encode(text) == tok(text).ids == expected, text
                assert rival.encode(text).ids == expected, text
        by_gpt2 = tokkit.Tokenizer(Definition(vocab, model, Split(patterns.BYTE_LEVEL)))
        with pytest.raises(FormatError, match=r"the byte 0x00 has no token"):
            by_gpt2.save(tmp_path / "gpt2", format="gpt2")
    with pytest.raises(VocabError, match=r"the byte 0x[0-9a-f]{2} has no token"):
        tokkit.Tokenizer(Definition(vocab, BPE(merges, False), Split(None)))


def test_what_is_left_of_a_pretoken_is_not_a_whole_one(tmp_path: Path) -> None:
    from tokkit.definition import Split
    from tokkit.models.bpe import BPE
    from tokkit.vocab import Vocab

    vocab = Vocab.from_list([b"a", b"b", b"ab"])
    tok = tokkit.Tokenizer(Definition(vocab, BPE(np.empty((0, 3), np.uint32), True, drops_unknown=True), Split(None)))
    assert (tok.encode("ab"), tok.encode("abc")) == ([2], [0, 1])
    with pytest.raises(FormatError, match="the rest of a pretoken"):
        tok.save(tmp_path / "x.json")


def test_a_vocabulary_without_bytes_that_no_text_has_is_saved(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    symbols = [byte_symbols.to_symbols(bytes([byte])) for byte in range(256) if byte not in (0xC0, 0xC1, 0xF1, 0xFF)]
    path = tmp_path / "few.gguf"
    merges = ["Ģ Ģ", "ĢĢ Ģ", "a Ģ"]  # of the byte 0x80
    tokens = [*symbols, *(merge.replace(" ", "") for merge in merges)]
    path.write_bytes(gguf({MODEL: "gpt2", PRE: "gpt-2", TOKENS: strings(tokens), MERGES: strings(merges)}))
    tok = tokkit.load(path)
    tok.save(tmp_path / "x.json")
    rival = tokenizers.Tokenizer.from_file(str(tmp_path / "x.json"))
    again = tokkit.load(tmp_path / "x.json")
    for text in ("a\U00040000", "\U00040000" * 5, "\U00040000a\U00040000 b", "x\U000f0000", "a b", ""):
        assert rival.encode(text).ids == tok.encode(text) == again.encode(text), text


def test_fuzzed_files_of_ours_give_definitions_or_errors_of_ours(tmp_path: Path, keys: Keys) -> None:
    data = gguf(keys)
    read_well = 0
    for seed in range(600):
        rng = random.Random(seed)
        spoilt = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(spoilt)) if rng.random() < 0.6 else rng.randrange(400)
            new = rng.choice([b"", b"\0", b"\xff" * 8, b"\t\0\0\0", b"\x08", rng.randbytes(3), bytes(spoilt[:9])])
            spoilt[at : at + rng.choice([0, 1, len(new), 9])] = new
        try:
            read(tmp_path, bytes(spoilt))
            read_well += 1
        except (FormatError, VocabError, OptionError):
            pass
    assert 0 < read_well < 600


def test_fuzzed_vocabularies_of_a_real_file_give_definitions_or_errors_of_ours(shared: Path, tmp_path: Path) -> None:
    data = (shared / "vocabs" / "starcoder" / "ggml-vocab-starcoder.gguf").read_bytes()
    for seed in range(25):
        rng = random.Random(seed)
        spoilt = bytearray(data)
        at = rng.choice([rng.randrange(len(data)), rng.randrange(800), 800_000])
        spoilt[at : at + rng.choice([1, 3, 8])] = rng.randbytes(rng.choice([1, 3, 8]))
        with contextlib.suppress(FormatError, VocabError, OptionError):
            read(tmp_path, bytes(spoilt[: rng.choice([len(spoilt), rng.randrange(len(spoilt))])]))
