"""Rules of GGUF files that have no key: types that follow from texts, and white space from the names of models."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tokkit
from gguf_files import ARRAY, BOOL, F32, I32, U32, Typed, gguf, strings
from tokkit import byte_symbols
from tokkit.errors import FormatError
from tokkit.formats import gguf_overrides

Keys = dict[str, Any]
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = range(1, 6)


def byte_level(more: dict[str, int], merges: tuple[str, ...] = (), **keys: Any) -> Keys:
    """The 256 byte symbols and some tokens with their types."""
    tokens = [*byte_symbols.SYMBOLS, *more]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": keys.pop("pre", "gpt-2"),
        "tokenizer.ggml.tokens": strings(tokens),
        "tokenizer.ggml.token_type": Typed(ARRAY, [NORMAL] * 256 + [*more.values()], I32),
        "tokenizer.ggml.merges": strings(merges),
        **{f"tokenizer.ggml.{name}": value for name, value in keys.items()},
    }


def load(path: Path, keys: Keys, **general: str) -> tokkit.Tokenizer:
    named = {f"general.{name}": value for name, value in general.items()}
    (path / "model.gguf").write_bytes(gguf({**named, **keys}))
    return tokkit.load(path / "model.gguf")


def kinds(tok: tokkit.Tokenizer) -> dict[str, bool]:
    return {token.content: token.special for token in tok.definition.added_tokens}


# ---- types


@pytest.mark.parametrize("kind", [NORMAL, CONTROL, USER_DEFINED, UNUSED])
@pytest.mark.parametrize("text", [*gguf_overrides.ENDS, "<|fim_prefix|>", "<reponame>", "<|file_sep|>"])
def test_a_token_that_ends_a_text_or_marks_code_is_special_whatever_its_type(
    tmp_path: Path, text: str, kind: int
) -> None:
    tok = load(tmp_path, byte_level({text: kind, "<x>": USER_DEFINED}))
    assert kinds(tok) == {text: True, "<x>": False}
    assert tok.encode(f"a{text}<x>", special="all") == [*tok.encode("a"), 256, 257]
    assert 256 not in tok.encode(text)


def test_a_key_for_code_to_fill_in_leaves_other_tokens_as_they_are(tmp_path: Path) -> None:
    tokens = {"<|fim_prefix|>": USER_DEFINED, "<PRE>": CONTROL, "<SUF>": USER_DEFINED}
    for name in ("fim_pre_token_id", "prefix_token_id"):
        tok = load(tmp_path, byte_level(tokens, **{name: Typed(U32, 257)}))
        assert kinds(tok) == {"<|fim_prefix|>": False, "<PRE>": True, "<SUF>": True}


def test_two_tokens_for_one_role_are_refused_unless_both_are_control(tmp_path: Path) -> None:
    assert kinds(load(tmp_path, byte_level({"<PRE>": CONTROL, "<fim_prefix>": CONTROL}))) == {
        "<PRE>": True, "<fim_prefix>": True,
    }  # fmt: skip
    expected = r"fim_pre_token_id: missing, and '<fim_prefix>' \(id 257\), '<PRE>' \(id 256\) .* tokenizer\.json"
    for other in (NORMAL, USER_DEFINED):
        with pytest.raises(FormatError, match=expected):
            load(tmp_path, byte_level({"<PRE>": CONTROL, "<fim_prefix>": other}))


def test_the_parts_of_an_answer_of_gpt_oss_are_not_special(tmp_path: Path) -> None:
    parts = dict.fromkeys(("<|start|>", "<|channel|>", "<|message|>", "<|end|>"), CONTROL)
    tok = load(tmp_path, byte_level({**parts, "<|return|>": CONTROL, "<|call|>": CONTROL}))
    assert kinds(tok) == {**dict.fromkeys(parts, False), "<|return|>": True, "<|call|>": True}
    assert kinds(load(tmp_path, byte_level({"<|end|>": NORMAL, "<|return|>": CONTROL})))["<|end|>"]


def test_an_end_of_text_beside_the_tools_of_gemma_is_normal(tmp_path: Path) -> None:
    tok = load(tmp_path, byte_level({"</s>": USER_DEFINED, "<|tool_response>": NORMAL}))
    assert kinds(tok) == {"<|tool_response>": True}


def test_merges_make_a_normal_token_that_is_special_in_text(tmp_path: Path) -> None:
    tokens = {"</": NORMAL, "s>": NORMAL, "</s>": NORMAL}
    for pre in ("superbpe", "llama-bpe"):  # the second cuts before the last sign
        tok = load(tmp_path, byte_level(tokens, ("< /", "s >", "</ s>"), pre=pre))
        assert (tok.encode("</s>") == [258]) is (pre == "superbpe")
        assert tok.encode("a</s>", special="all") == [*tok.encode("a"), 258]


def test_a_user_defined_end_in_unigram_is_refused(tmp_path: Path) -> None:
    keys = {
        "tokenizer.ggml.model": "t5",
        "tokenizer.ggml.tokens": strings(["<unk>", "a", "</s>"]),
        "tokenizer.ggml.token_type": Typed(ARRAY, [UNKNOWN, NORMAL, USER_DEFINED], I32),
        "tokenizer.ggml.scores": Typed(ARRAY, [0.0, -1.0, 0.0], F32),
        "tokenizer.ggml.add_space_prefix": Typed(BOOL, 0),
        "tokenizer.ggml.remove_extra_whitespaces": Typed(BOOL, 0),
    }
    with pytest.raises(FormatError, match=r"token_type\[2\]: '</s>' is user-defined, but programs read it as control"):
        load(tmp_path, keys)


# ---- white space


def phi3(shared: Path, **types: int) -> Keys:
    file = json.loads((shared / "vocabs" / "phi-3" / "tokenizer.json").read_bytes())
    ids = {**file["model"]["vocab"], **{token["content"]: token["id"] for token in file["added_tokens"]}}
    tokens = sorted(ids, key=ids.__getitem__)
    of_bytes = re.compile("<0x[0-9A-F]{2}>")
    special = {token["content"]: CONTROL for token in file["added_tokens"]}
    kind = {**special, "<unk>": UNKNOWN, "</s>": USER_DEFINED, **types}
    return {
        "general.architecture": "phi3",
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": strings(tokens),
        "tokenizer.ggml.scores": Typed(ARRAY, [-float(id_) for id_ in range(len(tokens))], F32),
        "tokenizer.ggml.token_type": Typed(
            ARRAY, [6 if of_bytes.fullmatch(text) else kind.get(text, NORMAL) for text in tokens], I32
        ),
        "tokenizer.ggml.bos_token_id": Typed(U32, 1),
        "tokenizer.ggml.eos_token_id": Typed(U32, 32000),
        "tokenizer.ggml.unknown_token_id": Typed(U32, 0),
    }


def test_special_tokens_of_phi_3_include_the_white_space_after_them(shared: Path, tmp_path: Path) -> None:
    prompt = "<|user|>\nHi there<|end|>\n<|assistant|>\n"
    keys = phi3(shared)
    for name in ("Phi3", "Phi-3 Mini 128k", "my-PHI-3"):
        tok = load(tmp_path, keys, name=name)
        assert tok.encode(prompt, special="all") == [32010, 6324, 727, 32007, 32001]
        assert tok.encode("a</s> b", special="all") == [263, 2, 289]
        assert tok.encode("<s> b", special="all") == [1, *tok.encode(" b")]
        assert kinds(tok)["</s>"]
    other = load(tmp_path, keys, name="another")
    assert other.encode(prompt, special="all")[:3] == [32010, *other.encode("\nHi there")[:2]]


@pytest.mark.parametrize("pre", ["jina-v2-de", "jina-v2-es", "jina-v2-code"])
def test_the_mask_of_jina_includes_the_white_space_before_it(tmp_path: Path, pre: str) -> None:
    tok = load(tmp_path, byte_level({"<mask>": CONTROL, "<x>": CONTROL}, pre=pre))
    assert tok.encode("a \n<mask> ", special="all") == [*tok.encode("a"), 256, *tok.encode(" ")]
    assert tok.encode("a <x>", special="all") == [*tok.encode("a "), 257]


def test_the_mask_of_models_by_architecture_and_by_name_includes_the_white_space_before_it(tmp_path: Path) -> None:
    for general, mask in (
        ({"architecture": "nomic-bert-moe"}, "<mask>"),
        ({"architecture": "jina-bert-v3"}, "<mask>"),
        ({"name": "A Modern-BERT base"}, "[MASK]"),
    ):
        tok = load(tmp_path, byte_level({mask: CONTROL}), **general)
        assert tok.encode(f"a {mask} ", special="all") == [*tok.encode("a"), 256, *tok.encode(" ")]


def test_names_that_are_not_text_have_no_rules(tmp_path: Path) -> None:
    keys = {"general.name": Typed(U32, 3), "general.architecture": b"\xff", **byte_level({"<mask>": CONTROL})}
    assert load(tmp_path, keys).encode("a <mask>", special="all")[1:] == [byte_symbols.SYMBOLS.index("Ġ"), 256]


# ---- tokens around a text, and tokens that no text has


def test_tokenizers_with_a_first_token_add_it_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    for pre, adds in (
        ("llama-bpe", True),
        ("tekken", True),
        ("chameleon", True),
        ("minicpm5", False),
        ("qwen2", False),
    ):
        keys = byte_level({"<s>": CONTROL}, pre=pre, bos_token_id=Typed(U32, 256))
        assert load(tmp_path, keys)("a").ids == [256] * adds + [byte_symbols.SYMBOLS.index("a")]
        keys["tokenizer.ggml.add_bos_token"] = Typed(BOOL, not adds)
        assert load(tmp_path, keys)("a").ids == [256] * (not adds) + [byte_symbols.SYMBOLS.index("a")]


def test_a_file_that_names_no_first_token_has_the_usual_one_of_its_model(tmp_path: Path) -> None:
    keys = {
        "tokenizer.ggml.tokens": strings(["<unk>", "<s>", "</s>", "▁", "a", "▁a"]),
        "tokenizer.ggml.token_type": Typed(ARRAY, [UNKNOWN, CONTROL, CONTROL, NORMAL, NORMAL, NORMAL], I32),
        "tokenizer.ggml.scores": Typed(ARRAY, [0.0, 0.0, 0.0, -1.0, -2.0, -3.0], F32),
        "tokenizer.ggml.remove_extra_whitespaces": Typed(BOOL, 0),
        "tokenizer.ggml.add_space_prefix": Typed(BOOL, 1),
        "tokenizer.ggml.bos_token_id": Typed(U32, 0xFFFFFFFF),
    }
    assert load(tmp_path, {**keys, "tokenizer.ggml.model": "llama"})("a").ids == [1, 5]
    assert load(tmp_path, {**keys, "tokenizer.ggml.model": "t5"})("a").ids == [5, 1]
    unused = {**keys, "tokenizer.ggml.model": "llama", "tokenizer.ggml.add_bos_token": Typed(BOOL, 0)}
    assert load(tmp_path, unused)("a").ids == [5]


def test_tokens_that_are_not_byte_symbols_keep_their_ids_and_no_text_has_them(tmp_path: Path) -> None:
    emoji = {"😀": NORMAL, "👍🏻": NORMAL, "▁the": NORMAL}
    keys = byte_level({**emoji, "<x>": CONTROL, "th": NORMAL}, ("t h",), pre="command-r")
    tok = load(tmp_path, keys)
    without = load(tmp_path, byte_level({"<x>": CONTROL, "th": NORMAL}, ("t h",), pre="command-r"))
    for text in ("a😀", "👍🏻 ▁the th", "the 12 th's", "é中\n\n x", "\0th"):
        expected = [id_ + 3 * (id_ > 255) for id_ in without.encode(text)]
        assert tok.encode(text) == expected
        assert tok.decode(expected) == text
    assert tok.decode([256, 257]) == "😀👍🏻"
    assert tok.encode("<x>😀", special="all")[0] == 259


def test_bytes_without_a_token_are_dropped_and_nothing_merges_across_them_after_splits_in_turn(
    tmp_path: Path,
) -> None:
    for pre in ("falcon", "command-r"):
        keys = byte_level({"😀": NORMAL, "th": NORMAL}, ("t h",), pre=pre)
        tokens = list(keys["tokenizer.ggml.tokens"].value)
        tokens[byte_symbols.SYMBOLS.index("q")] = "unused"
        tok = load(tmp_path, {**keys, "tokenizer.ggml.tokens": strings(tokens)})
        assert tok.encode("tqhth") == [tokens.index("t"), tokens.index("h"), tokens.index("th")]
