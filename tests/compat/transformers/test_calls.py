"""Equal calls to tokenizers of transformers and of tokkit's drop-in: equal results, and errors of the same classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transformers_folders
from both_transformers import Both, Load, is_same, loader, outcome, same
from extras import extra
from strategies import adversarial, documents

transformers = extra("transformers", minversion="5.0")
torch = extra("torch")

TEXTS = [
    *documents(701, 12),
    adversarial(703, 600),
    "",
    "Hello  world's [MASK] <s></s> é",
    "<|endoftext|> a <unk> b",
    "🦜 déjà",
]


@pytest.fixture(scope="module")
def load(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Load:
    return loader(shared, tmp_path_factory.mktemp("folders"))


@pytest.fixture(scope="module", params=list(transformers_folders.CONFIGS))
def each(request: pytest.FixtureRequest, load: Load) -> Both:
    return load(request.param)


LONG = "a b c d e f g"
CALLS: list[Callable[[Any], Any]] = [
    lambda t: t(LONG),
    lambda t: t(LONG, "pair of it"),
    lambda t: t([LONG, "x"]),
    lambda t: t((LONG, "x")),
    lambda t: t([LONG, "x"], ["y", "z z z"]),
    lambda t: t([("a", "b"), ("c", "d e")]),
    lambda t: t([["a", "b"], ["c", "d e"]]),
    lambda t: t([["a", "b", "c"], ["c", "d", "e"]]),
    lambda t: t(["a", "bc"], is_split_into_words=True),
    lambda t: t([["a", "bc"], ["d"]], is_split_into_words=True),
    lambda t: t(["a", "bc"], ["x", "y"], is_split_into_words=True),
    lambda t: t([["a", "bc"], ["d"]], [["x"], ["y", "z"]], is_split_into_words=True),
    lambda t: t([["a", "bc"], ["d"]], is_split_into_words=True, padding=True, return_tensors="np"),
    lambda t: t("a bc", is_split_into_words=True),
    lambda t: t([], is_split_into_words=True),
    lambda t: t([[]], is_split_into_words=True),
    lambda t: t(),
    lambda t: t(None),
    lambda t: t(""),
    lambda t: t([]),
    lambda t: t([], return_tensors="np"),
    lambda t: t([], padding=True),
    lambda t: t("", return_tensors="np"),
    lambda t: t("", return_tensors="pt"),
    lambda t: t("", return_tensors="pt", add_special_tokens=False),
    lambda t: t(3),
    lambda t: t([3, 4]),
    lambda t: t(["a", 4]),
    lambda t: t(["a", None]),
    lambda t: t(b"abc"),
    lambda t: t([b"abc"]),
    lambda t: t(np.array(["a", "b"])),
    lambda t: t("a", ["b", "c"]),
    lambda t: t(["a"], "b"),
    lambda t: t(["a", "b"], ["c"]),
    lambda t: t("a b", return_tensors="np"),
    lambda t: t(["a b", "c d"], return_tensors="np"),
    lambda t: t(["a b d", "c"], return_tensors="np"),
    lambda t: t(["a b d", "c"], return_tensors="pt"),
    lambda t: t(["a b d", "c"], return_tensors="tf"),
    lambda t: t(["a b d", "c"], return_tensors=transformers.utils.TensorType.NUMPY, padding=True),
    lambda t: t(["a b d", "c"], padding="xx"),
    lambda t: t(["a b d", "c"], truncation="xx"),
    lambda t: t(["a b d", "c"], padding=True, padding_side="xx"),
    lambda t: t(["a b d", "c"], padding=True),
    lambda t: t(["a b d", "c"], padding=transformers.utils.PaddingStrategy.LONGEST),
    lambda t: t(["a b d", "c"], padding=True, padding_side="left", return_tensors="pt"),
    lambda t: t(["a b d", "c"], padding=True, pad_to_multiple_of=8, return_length=True),
    lambda t: t(["a b d", "c"], padding=True, return_tensors="np", return_special_tokens_mask=True, return_length=True),
    lambda t: t(["a b d", "c"], padding="max_length", max_length=6, return_tensors="np"),
    lambda t: t(["a b d", "c"], padding="max_length", max_length=3, return_tensors="np"),
    lambda t: t(["a b d e f", "c"], padding="max_length", max_length=6, return_tensors="pt"),
    lambda t: t("c", padding="max_length", max_length=5, pad_to_multiple_of=8),
    lambda t: t("c", padding="max_length", max_length=5, pad_to_multiple_of=8, truncation=True),
    lambda t: t("a", padding=True, return_tensors="np"),
    lambda t: len(t("a b c d", padding="max_length")["input_ids"]),
    lambda t: t(LONG, max_length=4),
    lambda t: t(LONG, max_length=4, padding=True),
    lambda t: t("a", max_length=4, padding="max_length"),
    lambda t: t(LONG, truncation=True),
    lambda t: t(LONG, truncation=True, max_length=0),
    lambda t: t(LONG, truncation=True, max_length=1),
    lambda t: t(LONG, truncation=True, max_length=2),
    lambda t: t([LONG], truncation=True, max_length=1, padding=True, return_tensors="np"),
    lambda t: t([LONG, "x"], truncation=True, max_length=4, padding=True, return_tensors="pt"),
    lambda t: t(LONG, truncation=True, max_length=-2),
    lambda t: t(LONG, truncation=True, max_length=4, stride=4),
    lambda t: t(LONG, truncation=True, max_length=4, stride=5),
    lambda t: t("a", truncation=True, max_length=4, stride=9),
    lambda t: t(LONG, truncation="only_second", max_length=4),
    lambda t: t(LONG, "x y z", truncation="only_second", max_length=4),
    lambda t: t(LONG, "x y z", truncation="only_second", max_length=11),
    lambda t: t(LONG, "x y z", truncation="only_first", max_length=8, return_overflowing_tokens=True),
    lambda t: t(LONG, "x y z", truncation=True, max_length=8, return_overflowing_tokens=True),
    lambda t: t([LONG, "x"], ["y z", "w"], truncation=True, max_length=8, return_overflowing_tokens=True, padding=True),
    lambda t: t([LONG, "x"], ["x y", "w"], truncation="longest_first", max_length=7, padding=True, return_tensors="np"),
    lambda t: t(
        LONG, max_length=5, truncation=True, stride=1, return_overflowing_tokens=True, return_offsets_mapping=True
    ),
    lambda t: t(
        [LONG, "x"], max_length=5, truncation=True, stride=1, padding=True, return_tensors="np", return_length=True,
        return_overflowing_tokens=True, return_offsets_mapping=True, return_special_tokens_mask=True,
    ),
    lambda t: t([LONG, "x"], truncation=True, max_length=4, return_overflowing_tokens=True, return_tensors="pt"),
    lambda t: t([LONG, "xy"], return_offsets_mapping=True, return_special_tokens_mask=True, return_length=True),
    lambda t: t(LONG, return_length=True, return_special_tokens_mask=True),
    lambda t: t("a", return_attention_mask=False, return_token_type_ids=False),
    lambda t: t("a", "b", return_token_type_ids=True),
    lambda t: t("a", add_special_tokens=False),
    lambda t: t("a", text_target="b c"),
    lambda t: t(text_target="b c"),
    lambda t: t(text_target="b c", text_pair_target="x"),
    lambda t: t("a b c d", text_target="b c d e", max_length=3, max_target_length=4),
    lambda t: t(["a", "b c"], text_target=["b c", "d"], padding=True, return_tensors="np"),
    lambda t: t("[CLS] <s> <|endoftext|> a", split_special_tokens=True),
    lambda t: t("[CLS] <s> a", tokenizer_kwargs={"split_special_tokens": True}),
    lambda t: t("a", unknown=1),
    lambda t: t.encode("a", "b"),
    lambda t: t.encode("a", "b", return_tensors="np"),
    lambda t: t.encode(["a", "b"]),
    lambda t: t.encode([5, 6]),
    lambda t: t.encode("a b c d e f", truncation=True, max_length=3),
    lambda t: t.tokenize("Hello world", "x", add_special_tokens=True),
    lambda t: t.tokenize("Hello worlds <s>"),
    lambda t: t.tokenize(["Hello world", "x"]),
    lambda t: t.decode([101, 999, 1010, 25, 102]),
    lambda t: t.decode([0, 1, 2, 101, 999, 1010, 25, 102, 3], skip_special_tokens=True),
    lambda t: t.decode([101, 999], clean_up_tokenization_spaces=True),
    lambda t: t.decode(t("Hello . do n't ?")["input_ids"], clean_up_tokenization_spaces=True),
    lambda t: t.decode(t("Hello . do n't ?")["input_ids"], clean_up_tokenization_spaces=False),
    lambda t: t.decode(759),
    lambda t: t.decode(np.array([759, 760])),
    lambda t: t.decode(torch.tensor([759, 760])),
    lambda t: t.decode(torch.tensor([[759, 760]])),
    lambda t: t.decode([[759, 760], [761]]),
    lambda t: t.decode([]),
    lambda t: t.decode([[]]),
    lambda t: t.decode([999999]),
    lambda t: t.decode([5, 999999, 6]),
    lambda t: t.decode([-1]),
    lambda t: t.decode("a"),
    lambda t: t.decode([1.5]),
    lambda t: t.batch_decode([[759, 760], [761]]),
    lambda t: t.batch_decode([759, 760]),
    lambda t: t.convert_tokens_to_ids("hello"),
    lambda t: t.convert_tokens_to_ids(["hello", "zzzzz", "[CLS]", "Ġthe", "▁the"]),
    lambda t: t.convert_tokens_to_ids(None),
    lambda t: t.convert_tokens_to_ids(5),
    lambda t: t.convert_ids_to_tokens(759),
    lambda t: t.convert_ids_to_tokens([0, 1, 2, 101, 759], skip_special_tokens=True),
    lambda t: t.convert_ids_to_tokens([999999]),
    lambda t: t.convert_ids_to_tokens(999999),
    lambda t: t.convert_ids_to_tokens(-1),
    lambda t: t.convert_ids_to_tokens(["5"]),
    lambda t: t.convert_ids_to_tokens(np.array([101, 759])),
    lambda t: t.convert_tokens_to_string(["hel", "##lo", "wor"]),
    lambda t: t.convert_tokens_to_string(t.tokenize("Hello worlds, all")),
    lambda t: (t.num_special_tokens_to_add(), t.num_special_tokens_to_add(pair=True)),
    lambda t: (t.max_len_single_sentence, t.max_len_sentences_pair, t.model_max_length),
    lambda t: t.get_special_tokens_mask([0, 1, 2, 101, 5, 102], already_has_special_tokens=True),
    lambda t: t.get_special_tokens_mask([5], [6], already_has_special_tokens=True),
    lambda t: (len(t), t.vocab_size, t.special_tokens_map, t.all_special_tokens, t.all_special_ids),
    lambda t: (t.get_added_vocab(), t.added_tokens_decoder, t.added_tokens_encoder),
    lambda t: sorted(t.get_vocab().items()),
    lambda t: t.vocab == t.get_vocab(),
    lambda t: (t.padding_side, t.truncation_side, t.model_input_names, t.is_fast, t.verbose, t.deprecation_warnings),
    lambda t: (t.clean_up_tokenization_spaces, t.split_special_tokens, t.init_inputs, t.pad_token_type_id, t.backend),
    lambda t: (t.bos_token, t.bos_token_id, t.pad_token_id, t.extra_special_tokens, t.extra_special_tokens_ids),
    lambda t: t.unknown_attribute,
    lambda t: t.chat_template,
    lambda t: bool(t),
]  # fmt: skip


def test_equal_calls_have_equal_outcomes(each: Both) -> None:
    wrong = [number for number, call in enumerate(CALLS) if not is_same(*(outcome(call, tok) for tok in each))]
    if wrong:  # the first of them, with its difference
        same(each, CALLS[wrong[0]])
    assert not wrong


def test_texts_have_equal_ids_masks_and_offsets(each: Both) -> None:
    same(each, lambda t: t(TEXTS, return_offsets_mapping=True, return_special_tokens_mask=True))
    same(each, lambda t: t(TEXTS, TEXTS[::-1], return_token_type_ids=True))
    same(each, lambda t: [t.decode(ids) for ids in t(TEXTS)["input_ids"]])
    same(each, lambda t: [t.decode(ids, skip_special_tokens=True) for ids in t(TEXTS)["input_ids"]])
