"""Tokenizers of transformers and of tokkit's drop-in after equal changes: equal look-ups, padding, chats and files."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from both_transformers import Load, all_same, loader, same, state
from extras import extra
from tokkit.compat import transformers as face

transformers = extra("transformers", minversion="5.24")
torch = extra("torch")


@pytest.fixture(scope="module")
def load(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Load:
    return loader(shared, tmp_path_factory.mktemp("folders"))


CHANGES: list[Callable[[Any], Any]] = [
    lambda t: t.add_tokens(["newtok", "hello", "newtok"]),
    lambda t: t.add_tokens("OTHERTOK"),
    lambda t: t.add_tokens(["[CLS]"]),
    lambda t: t.add_tokens(["hello"], special_tokens=True),
    lambda t: t.add_tokens([]),
    lambda t: t.add_tokens([""]),
    lambda t: t.add_tokens([5]),
    lambda t: t.add_special_tokens({"bos_token": "<P>", "extra_special_tokens": ["<A>", "<B>"]}),
    lambda t: t.add_special_tokens({"additional_special_tokens": ["<A>"]}),
    lambda t: t.add_special_tokens({"additional_special_tokens": ["<B>"]}, replace_extra_special_tokens=False),
    lambda t: t.add_special_tokens({"unknown": "<B>"}),
    lambda t: t.add_special_tokens({"bos_token": 5}),
    lambda t: t.add_special_tokens({"extra_special_tokens": "<A>"}),
    lambda t: t.add_special_tokens(["<Z>"]),
    lambda t: setattr(t, "bos_token", 5),
    lambda t: setattr(t, "bos_token", "[unknown]"),
    lambda t: setattr(t, "bos_token_id", 101),
    lambda t: setattr(t, "pad_token", t.mask_token or t.eos_token),
    lambda t: setattr(t, "extra_special_tokens", ["hello"]),
    lambda t: setattr(t, "extra_special_tokens", "hello"),
    lambda t: setattr(t, "padding_side", "left"),
    lambda t: setattr(t, "model_max_length", 3),
]


def test_ends_that_are_set_are_put_around_texts(load: Load) -> None:
    for both in (load("gpt2"), load("phi-3", bos_token=None)):
        for change in (("add_bos_token", True), ("add_eos_token", True), ("add_bos_token", False)):
            same(both, lambda t, change=change: setattr(t, *change))
            same(
                both, lambda t: (t("a b", "c d", return_token_type_ids=True), t("a"), t.add_bos_token, t.add_eos_token)
            )


def test_settings_are_kept_unless_methods_have_their_names(load: Load) -> None:
    same(load("gpt2", colour="red"), lambda t: (t.init_kwargs["colour"], t.add_prefix_space))
    with pytest.raises(AttributeError, match="get_vocab"):
        face.PreTrainedTokenizerFast(tokenizer_object=tokkit.train({"a": 1}, model="word"), get_vocab=True)


@pytest.mark.parametrize("name", ["bert-base-uncased", "gpt2", "t5"])
def test_changes_leave_equal_states(load: Load, name: str) -> None:
    both = load(name)
    for change in CHANGES:
        same(both, change)
        same(both, state)


CONFIGS: list[dict[str, Any]] = [
    {"pad_token": "<PAD>"},
    {"pad_token": {"__type": "AddedToken", "content": "<P>", "lstrip": True, "rstrip": False, "single_word": False,
                   "normalized": True, "special": True}},
    {"additional_special_tokens": ["<A>", "<B>"]},
    {"extra_special_tokens": ["<A>", "<B>"]},
    {"extra_special_tokens": {"image_token": "<A>"}},
    {"added_tokens_decoder": {"50257": {"content": "<A>", "lstrip": False, "rstrip": False, "single_word": False,
                                        "normalized": False, "special": True}}},
    {"add_prefix_space": True},
    {"clean_up_tokenization_spaces": True, "padding_side": "left", "truncation_side": "left", "model_max_length": 4},
    {"model_input_names": ["input_ids", "token_type_ids"], "split_special_tokens": True},
    {"tokenizer_class": "NoSuchTokenizerFast"},
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CONFIGS)))
def test_configurations_make_equal_tokenizers(load: Load, number: int) -> None:
    both = load("gpt2", **CONFIGS[number])
    same(both, state)
    same(both, lambda t: t("a b c d e f", truncation=True))
    same(both, lambda t: t.image_token_id)


@pytest.mark.parametrize("name", ["padding_side", "truncation_side"])
def test_a_side_that_is_none_is_refused(load: Load, name: str) -> None:
    _, ours = load("gpt2")
    file = Path(ours.name_or_path) / "tokenizer.json"
    for made in (transformers.PreTrainedTokenizerFast, face.PreTrainedTokenizerFast):
        with pytest.raises(ValueError, match=r"(?i)side"):
            made(tokenizer_file=str(file), **{name: "up"})


LOOK_UPS: list[Callable[[Any], Any]] = [
    lambda e: [e.tokens(i) for i in (0, 1)],
    lambda e: [e.word_ids(i) for i in (0, 1)],
    lambda e: [e.sequence_ids(i) for i in (0, 1)],
    lambda e: [[e.token_to_chars(i, k) for k in range(5)] for i in (0, 1)],
    lambda e: [[e.token_to_word(i, k) for k in range(5)] for i in (0, 1)],
    lambda e: [[e.token_to_sequence(i, k) for k in range(5)] for i in (0, 1)],
    lambda e: [[e.word_to_tokens(i, k) for k in range(3)] for i in (0, 1)],
    lambda e: [[e.char_to_token(i, k) for k in range(13)] for i in (0, 1)],
    lambda e: [[e.char_to_word(i, k) for k in range(13)] for i in (0, 1)],
    lambda e: [[e.char_to_token(i, k, 1) for k in range(5)] for i in (0, 1)],
    lambda e: [e.word_to_chars(0), e.word_to_chars(1, 1), e.token_to_chars(1), e.char_to_token(7), e.word_to_tokens(1)],
    lambda e: type(e.token_to_chars(1)).__name__ + type(e.word_to_tokens(0)).__name__,
    lambda e: e.word_to_chars(9),
    lambda e: e.token_to_chars(-1),
    lambda e: e.char_to_token(-1),
    lambda e: e.tokens(7),
    lambda e: e[7],
    lambda e: [list(e.keys()), len(e), "input_ids" in e, list(e), e.is_fast, e.n_sequences, len(e.encodings)],
    lambda e: [e[0].ids, e[1].tokens, len(e[0:2])],
    lambda e: e.input_ids,
    lambda e: e.unknown,
    lambda e: e["unknown"],
    lambda e: pickle.loads(pickle.dumps(e)).tokens(1),
    lambda e: copy.deepcopy(e).word_ids(),
    lambda e: e.convert_to_tensors("np"),
    lambda e: e.convert_to_tensors("xx"),
    lambda e: e.to("cpu"),
]


@pytest.mark.parametrize("options", [{"padding": True}, {"padding": True, "return_tensors": "np"}, {}])
def test_batch_encodings_answer_equally(load: Load, options: dict[str, Any]) -> None:
    both = tuple(tok(["Hello  worlds é", "x yy"], ["p q", "rs"], **options) for tok in load("bert-base-uncased"))
    all_same(both, LOOK_UPS)


def test_batch_encodings_are_made_of_plain_data() -> None:
    both = transformers.BatchEncoding, face.BatchEncoding
    all_same(both, [
        lambda made: made({"input_ids": [[1, 2]]})[0:1],
        lambda made: made({"input_ids": [[1, 2]]})[0],
        lambda made: made({"input_ids": [[1, 2]]}).tokens(),
        lambda made: made({"input_ids": [1, 2]}, tensor_type="pt", prepend_batch_axis=True).to("cpu"),
        lambda made: made({"input_ids": [[1, 2], [3]]}, tensor_type="pt"),
        lambda made: made({"input_ids": [[1, 2], [3]], "x": ["a", "b"]}, tensor_type="np"),
        lambda made: made().is_fast,
    ])  # fmt: skip


PADS: list[Callable[[Any], Any]] = [
    lambda t: t.pad({"input_ids": [[1, 2], [3]]}),
    lambda t: t.pad([{"input_ids": [1, 2], "labels": 5, "x": [1, 2]}, {"input_ids": [3], "labels": 6, "x": [3]}]),
    lambda t: t.pad([t("a b"), t("c")], return_tensors="pt"),
    lambda t: t.pad({"input_ids": [1, 2]}, padding="max_length", max_length=4),
    lambda t: t.pad({"input_ids": np.array([[1, 2], [3, 4]])}),
    lambda t: t.pad([{"input_ids": np.array([1, 2])}, {"input_ids": np.array([3])}]),
    lambda t: t.pad([{"input_ids": torch.tensor([1, 2])}, {"input_ids": torch.tensor([3])}]),
    lambda t: t.pad(
        [{"input_ids": [1, 2], "attention_mask": [1, 1], "special_tokens_mask": [0, 0]},
         {"input_ids": [3], "attention_mask": [0], "special_tokens_mask": [1]}], return_tensors="np"),
    lambda t: t.pad({"x": [[1, 2], [3]]}),
    lambda t: t.pad({"input_ids": []}),
    lambda t: t.pad({"input_ids": ["a"]}),
    lambda t: t.pad({"input_ids": [[1, 2], [3]]}, padding=False),
    lambda t: t.pad(
        {"input_ids": [[1, 2], [3]], "token_type_ids": [[0, 0], [1]]}, pad_to_multiple_of=4, padding_side="left"
    ),
    lambda t: t.pad({"input_ids": [[1, 2], [3]]}, return_attention_mask=False),
    lambda t: t.pad({"input_ids": [[1, 2], [3]]}, padding="max_length", max_length=1),
    lambda t: len(t.pad({"input_ids": [[1, 2], [3]]}, padding="max_length")["input_ids"][0]),
    lambda t: t.pad("x"),
    lambda t: t.pad([[1, 2], [3]]),
]  # fmt: skip


def test_pad_makes_equal_batches(load: Load) -> None:
    all_same(load("bert-base-uncased"), PADS)
    all_same(load("phi-3"), PADS)
    same(load("gpt2"), PADS[0])


def add(x: int, name: str = "") -> int:
    """Add a number.

    Args:
        x: The number.
        name: Its name.
    """
    return x


@dataclass
class Said:
    """A message that is not a dict."""

    role: str
    content: str
    name: str | None = None


CHAT = [{"role": "user", "content": "Hi <|end|> you"}, {"role": "assistant", "content": "Well  then "}]
NONES = [{"role": "user", "content": "a", "name": None}, {"role": "assistant", "content": None}]
BLOCKS = [CHAT[0], {"role": "assistant", "content": [{"type": "text", "text": "Well"}]}]
TRIMS = "{% for m in messages %}{{ m.content | trim }};{% endfor %}"
CHATS: list[Callable[[Any], Any]] = [
    lambda t: t.apply_chat_template(CHAT),
    lambda t: t.apply_chat_template(CHAT, tokenize=False),
    lambda t: t.apply_chat_template(CHAT, return_dict=False),
    lambda t: t.apply_chat_template([CHAT, CHAT[:1]]),
    lambda t: t.apply_chat_template([CHAT, CHAT[:1]], tokenize=False),
    lambda t: t.apply_chat_template([CHAT, CHAT[:1]], padding=True, return_tensors="np"),
    lambda t: t.apply_chat_template([CHAT, CHAT[:1]], padding=True, return_tensors="pt", return_dict=False),
    lambda t: t.apply_chat_template(CHAT[:1], add_generation_prompt=True, tokenize=False),
    lambda t: t.apply_chat_template(CHAT, continue_final_message=True, tokenize=False),
    lambda t: t.apply_chat_template(CHAT, continue_final_message=True, add_generation_prompt=True),
    lambda t: t.apply_chat_template(CHAT, continue_final_message=True, chat_template=TRIMS, tokenize=False),
    lambda t: t.apply_chat_template(CHAT, continue_final_message="content"),
    lambda t: t.apply_chat_template(CHAT, continue_final_message="thoughts"),
    lambda t: t.apply_chat_template(
        BLOCKS, continue_final_message=True, tokenize=False, chat_template="{{ messages[-1].content[0].text }}!"
    ),
    lambda t: t.apply_chat_template(CHAT, continue_final_message=True, chat_template="{{ messages[0].content }}"),
    lambda t: t.apply_chat_template(CHAT, return_assistant_tokens_mask=True),
    lambda t: t.apply_chat_template([CHAT, CHAT], return_assistant_tokens_mask=True, return_tensors="np"),
    lambda t: t.apply_chat_template(
        [CHAT, CHAT[:1]], return_assistant_tokens_mask=True, padding=True, return_tensors="pt"
    ),
    lambda t: t.apply_chat_template(CHAT, return_assistant_tokens_mask=True, return_dict=False),
    lambda t: t.apply_chat_template(CHAT, return_assistant_tokens_mask=True, tokenize=False),
    lambda t: t.apply_chat_template(CHAT, return_assistant_tokens_mask=True, continue_final_message=True),
    lambda t: t.apply_chat_template(CHAT, return_assistant_tokens_mask=True, chat_template=TRIMS),
    lambda t: t.apply_chat_template([{"role": "tool", "content": "x"}]),
    lambda t: t.apply_chat_template(
        CHAT, chat_template="{{ messages[0].content }}{{ more }}", more="X", tokenize=False
    ),
    lambda t: t.apply_chat_template(CHAT, chat_template="{{ mess", tokenize=False),
    lambda t: t.apply_chat_template(CHAT, chat_template="{{ unknown.x.y }}", tokenize=False),
    lambda t: t.apply_chat_template(NONES, chat_template="{{ messages }}", tokenize=False),
    lambda t: t.apply_chat_template([], tokenize=False),
    lambda t: t.apply_chat_template("x", tokenize=False),
    lambda t: t.apply_chat_template([Said("user", "x"), Said("assistant", "y")], tokenize=False),
    lambda t: t.apply_chat_template(CHAT, truncation=True, max_length=5),
    lambda t: t.apply_chat_template(CHAT, tokenizer_kwargs={"return_length": True}),
    lambda t: t.apply_chat_template(CHAT, tools=[add], chat_template="{{ tools | tojson }}", tokenize=False),
    lambda t: t.apply_chat_template(CHAT, tools=[3], chat_template="{{ tools | tojson }}", tokenize=False),
    lambda t: t.apply_chat_template(CHAT, documents=[{"a": "x"}], chat_template="{{ documents }}", tokenize=False),
    lambda t: t.apply_chat_template(CHAT, chat_template="{{ bos_token }}|{{ pad_token }}", tokenize=False),
    lambda t: t.encode_message_with_chat_template(CHAT[1], CHAT[:1]),
    lambda t: t.get_chat_template(),
    lambda t: setattr(t, "chat_template", {"default": "D{{ messages[0].content }}", "tool_use": "T", "rag": "R"}),
    lambda t: t.apply_chat_template(CHAT, tokenize=False),
    lambda t: t.apply_chat_template(CHAT, tokenize=False, tools=[add]),
    lambda t: t.apply_chat_template(CHAT, tokenize=False, chat_template="rag"),
    lambda t: setattr(t, "chat_template", {"a": "D", "b": "T"}),
    lambda t: t.apply_chat_template(CHAT, tokenize=False),
    lambda t: setattr(t, "chat_template", None),
    lambda t: t.apply_chat_template(CHAT),
]


def test_chats_are_equal(load: Load) -> None:
    all_same(load("phi-3"), CHATS)


def test_collators_make_equal_batches(load: Load) -> None:
    both = load("bert-base-uncased")
    texts = ["Hello worlds of words", "a", "the river bank is there " * 3]

    def padded(tok: Any) -> Any:
        rows = [{**tok(text), "label": i} for i, text in enumerate(texts)]
        return transformers.DataCollatorWithPadding(tok, pad_to_multiple_of=8)(rows)

    def masked(tok: Any) -> Any:
        collate = transformers.DataCollatorForLanguageModeling(tok, seed=5)
        return collate([tok(text, return_special_tokens_mask=True) for text in texts]), collate([tok(t) for t in texts])

    all_same(both, [padded, masked])


@pytest.mark.parametrize("name", ["gpt2", "roberta-base"])
def test_training_gives_equal_vocabularies(load: Load, name: str) -> None:
    texts = [["low lower lowest newest widest", "naïve 🦜 it's"], ["wide low low low", "new newer"]] * 5
    same(
        load(name),
        lambda t: [
            new := t.train_new_from_iterator(iter(texts), 290, new_special_tokens=["<x>"]),
            new.get_vocab() and sorted(new.get_vocab().items()),
            new("lower naïve <x> 🦜"),
            new.special_tokens_map,
            new.extra_special_tokens,
        ][1:],
    )


def test_training_wordpiece_gives_the_same_tokens_in_an_order_of_its_own(load: Load) -> None:
    texts = ["low lower lowest newest widest", "wide low low low new newer"] * 5
    theirs, ours = (tok.train_new_from_iterator(texts, 60) for tok in load("bert-base-uncased"))
    assert ours.get_vocab().keys() == theirs.get_vocab().keys()
    assert ours.tokenize("lowest newer") == theirs.tokenize("lowest newer")


BYTES = ({"l": 0, "o": 1, "lo": 2, "Ġ": 3, "Ġlo": 4, "</s>": 5, "w": 6}, [("l", "o"), ("Ġ", "lo")])
WORDS = ({token: id_ for id_, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "lo", "##lo", "l"])},)
SPACED = ({"<unk>": 0, "▁": 1, "l": 2, "o": 3, "▁l": 4, "<0x0A>": 5}, [("▁", "l")])
MADE: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("GPT2Tokenizer", BYTES, {}),
    ("GPT2Tokenizer", BYTES, {"add_prefix_space": True, "pad_token": "</s>", "unk_token": "</s>"}),
    ("RobertaTokenizer", BYTES, {}),
    ("RobertaTokenizer", BYTES, {"trim_offsets": False, "cls_token": "<C>"}),
    ("BartTokenizer", BYTES, {}),
    ("BertTokenizer", WORDS, {}),
    ("DistilBertTokenizer", WORDS, {"do_lower_case": False}),
    ("LlamaTokenizer", SPACED, {}),
    ("LlamaTokenizer", SPACED, {"add_prefix_space": False}),
    ("LlamaTokenizer", SPACED, {"legacy": True}),
]


@pytest.mark.parametrize(("name", "parts", "options"), MADE)
def test_vocabularies_and_merges_make_equal_tokenizers(name: str, parts: Any, options: dict[str, Any]) -> None:
    theirs, ours = (getattr(library, name)(*parts, **options) for library in (transformers, face))
    assert ours.get_vocab() == theirs.get_vocab()
    assert ours.special_tokens_map == theirs.special_tokens_map
    for text, pair in (("lolo lo", None), (" LO</s>lo", "l o"), ("", None), ("o\nl", " lo")):
        found, expected = (dict(t(text, pair, return_offsets_mapping=True)) for t in (ours, theirs))
        assert found == expected
        assert ours.decode(found["input_ids"]) == theirs.decode(found["input_ids"])
