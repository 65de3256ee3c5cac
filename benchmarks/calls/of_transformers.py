"""Rows of transformers: calls of fast tokenizers and of BatchEncoding."""

from __future__ import annotations

import importlib
import os
import pickle
import shutil
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.calls.equal import nothing
from benchmarks.calls.rows import JINJA, Row, Side, Texts

PADS = {
    "gpt-neox": "<|endoftext|>",
    "gpt2": "<|endoftext|>",
    "clip": "<|endoftext|>",
    "t5": "<pad>",
    "mistral-v1": "</s>",
}
"""The padding tokens of the files; [PAD] for others."""
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


class TransformersSide(Side):
    """transformers, or tokkit.compat.transformers, with a folder that both can load."""

    def __init__(self, ours: bool, texts: Texts, path: Path) -> None:
        super().__init__(ours, texts)
        self.lib = importlib.import_module("tokkit.compat.transformers" if ours else "transformers")
        self.model = str(self.folder / "model")
        self.path, self.pad = str(path), PADS.get(path.parent.name, "[PAD]")
        os.mkdir(self.model)
        shutil.copy(path, self.model)
        transformers = importlib.import_module("transformers")
        transformers.PreTrainedTokenizerFast(tokenizer_file=self.path, pad_token=self.pad).save_pretrained(self.model)

    def new(self) -> Any:
        """Return a tokenizer of the folder."""
        return self.lib.AutoTokenizer.from_pretrained(self.model)

    @cached_property
    def tok(self) -> Any:
        """A tokenizer that no row changes."""
        return self.new()

    @cached_property
    def changed(self) -> Any:
        """One whose settings rows may change."""
        return self.new()

    @cached_property
    def batch(self) -> Any:
        """A BatchEncoding of the sentences."""
        return self.tok(self.texts.sentences)


class Given:
    """What both sides get: texts, their ids and tokens by the original."""

    def __init__(self, side: TransformersSide) -> None:
        texts = side.texts
        self.sentences, self.documents, self.sentence, self.words = (
            texts.sentences,
            texts.documents,
            texts.sentence,
            texts.words,
        )
        self.lists = side.tok(self.sentences).input_ids
        self.few, self.few_lists = self.sentences[:300], self.lists[:300]
        self.masks = [[1] * len(ids) for ids in self.lists]
        self.tokens = [side.tok.convert_ids_to_tokens(ids) for ids in self.lists]
        self.messages = [
            {"role": "user" if i % 2 == 0 else "assistant", "content": text}
            for i, text in enumerate(self.sentences[:20])
        ]


def messages(sentences: list[str]) -> list[dict[str, str]]:
    """Return a chat of 20 messages."""
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": text} for i, text in enumerate(sentences[:20])]


def pre_split(side: TransformersSide, given: Given) -> list[Any]:
    """Encode words, and read to which word each token belongs."""
    batch = side.tok(given.words, is_split_into_words=True)
    return [batch.word_ids(i) for i in range(len(given.words))]


def save(side: TransformersSide, _given: Given) -> list[str]:
    """Write the folder; return the names of the files."""
    return sorted(Path(path).name for path in side.tok.save_pretrained(str(side.folder / "saved")))


def ids_of_chat(side: TransformersSide, given: Given) -> list[int]:
    """Apply the chat template, and encode."""
    return side.tok.apply_chat_template(given.messages, chat_template=TEMPLATE, return_dict=False)


def strategies() -> tuple[Any, Any]:
    """Return padding and truncation as `set_truncation_and_padding` takes them."""
    from transformers.tokenization_utils_base import PaddingStrategy, TruncationStrategy

    return PaddingStrategy.LONGEST, TruncationStrategy.LONGEST_FIRST


def new_tokenizer(side: TransformersSide, _given: Given) -> Any:
    """Return a new tokenizer for a row that changes it."""
    return side.new()


def add_one_by_one(tok: Any, _given: Any) -> int:
    """Add 200 tokens, one a call."""
    return sum(tok.add_tokens([f"<extra {i}>"]) for i in range(200))


PLAIN = (
    "is_fast", "max_len_single_sentence", "max_len_sentences_pair", "model_max_length", "add_bos_token",
    "add_eos_token", "can_save_slow_tokenizer", "pad_token_type_id", "vocab_files_names",
)  # fmt: skip
"""Attributes that a row each reads."""
CUT = {"truncation": True, "max_length": 128}
CALLS = (
    Row("one sentence", lambda s, g: s.tok(g.sentence), floor=6),
    Row("one sentence, numpy", lambda s, g: s.tok(g.sentence, return_tensors="np"), floor=6),
    Row("one sentence, torch", lambda s, g: s.tok(g.sentence, return_tensors="pt"), floor=6),
    Row("encode a sentence", lambda s, g: s.tok.encode(g.sentence), floor=6),
    Row("encode one by one", lambda s, g: [s.tok.encode(x) for x in g.few], per="few"),
    Row("sentences as lists", lambda s, g: s.tok(g.sentences), floor=12),
    Row("sentence pairs as lists", lambda s, g: s.tok(g.sentences, g.sentences[::-1])),
    Row("sentences cut to 32 tokens", lambda s, g: s.tok(g.sentences, truncation=True, max_length=32)),
    Row("sentences with offsets", lambda s, g: s.tok(g.sentences, return_offsets_mapping=True), floor=6),
    Row(
        "sentences with special tokens mask and length",
        lambda s, g: s.tok(g.sentences, return_special_tokens_mask=True, return_length=True),
    ),
    Row("sentences padded, lists", lambda s, g: s.tok(g.sentences, padding=True)),
    Row("sentences padded, numpy", lambda s, g: s.tok(g.sentences, padding=True, return_tensors="np", **CUT), floor=20),
    Row("sentences padded, torch", lambda s, g: s.tok(g.sentences, padding=True, return_tensors="pt", **CUT), floor=20),
    Row(
        "sentences padded to 64, torch",
        lambda s, g: s.tok(g.sentences, padding="max_length", truncation=True, max_length=64, return_tensors="pt"),
        floor=20,
    ),
    Row(
        "documents, stride, overflow, offsets",
        lambda s, g: s.tok(g.documents, stride=32, return_overflowing_tokens=True, return_offsets_mapping=True, **CUT),
        floor=6,
    ),
    Row("pre-split words, then word_ids", pre_split, floor=5),
    Row("tokenize", lambda s, g: [s.tok.tokenize(x) for x in g.few], per="few", floor=4),
    Row(
        "convert_ids_to_tokens",
        lambda s, g: [s.tok.convert_ids_to_tokens(ids) for ids in g.lists],
        per="lists",
        floor=4,
    ),
    Row(
        "convert_ids_to_tokens, skip_special_tokens",
        lambda s, g: [s.tok.convert_ids_to_tokens(ids, skip_special_tokens=True) for ids in g.lists],
        per="lists",
    ),
    Row(
        "convert_tokens_to_ids", lambda s, g: [s.tok.convert_tokens_to_ids(tokens) for tokens in g.tokens], per="tokens"
    ),
    Row(
        "convert_tokens_to_string",
        lambda s, g: [s.tok.convert_tokens_to_string(tokens) for tokens in g.tokens],
        per="tokens",
    ),
    Row("batch_decode", lambda s, g: s.tok.batch_decode(g.lists, skip_special_tokens=True)),
    Row("decode one by one", lambda s, g: [s.tok.decode(ids) for ids in g.few_lists], per="few"),
    Row("pad, lists", lambda s, g: s.tok.pad({"input_ids": g.lists})),
    Row("pad, numpy", lambda s, g: s.tok.pad({"input_ids": g.lists}, return_tensors="np"), floor=4),
    Row(
        "pad, torch, with masks",
        lambda s, g: s.tok.pad({"input_ids": g.lists, "attention_mask": g.masks}, return_tensors="pt"),
        floor=4,
    ),
    Row(
        "pad a list of examples",
        lambda s, g: s.tok.pad([{"input_ids": ids} for ids in g.lists], return_tensors="np"),
        floor=4,
    ),
    Row(
        "get_special_tokens_mask",
        lambda s, g: s.tok.get_special_tokens_mask(g.lists[0], already_has_special_tokens=True),
    ),
    Row("num_special_tokens_to_add", lambda s, g: s.tok.num_special_tokens_to_add()),
)

BATCH = (
    Row("BatchEncoding.tokens", lambda s, g: [s.tok(x).tokens() for x in g.few], per="few"),
    Row("BatchEncoding.word_ids", lambda s, g: [s.batch.word_ids(i) for i in range(len(g.sentences))]),
    Row("BatchEncoding.sequence_ids", lambda s, g: [s.batch.sequence_ids(i) for i in range(len(g.sentences))]),
    Row("BatchEncoding.char_to_token", lambda s, g: [s.batch.char_to_token(0, i) for i in range(20)], per=20),
    Row("BatchEncoding.char_to_word", lambda s, g: [s.batch.char_to_word(0, i) for i in range(20)], per=20),
    Row("BatchEncoding.token_to_chars", lambda s, g: [s.batch.token_to_chars(0, i) for i in range(1, 6)], per=5),
    Row("BatchEncoding.token_to_word", lambda s, g: [s.batch.token_to_word(0, i) for i in range(1, 6)], per=5),
    Row("BatchEncoding.token_to_sequence", lambda s, g: [s.batch.token_to_sequence(0, i) for i in range(1, 6)], per=5),
    Row("BatchEncoding.word_to_tokens", lambda s, g: [s.batch.word_to_tokens(0, i) for i in range(1, 4)], per=3),
    Row("BatchEncoding.word_to_chars", lambda s, g: [s.batch.word_to_chars(0, i) for i in range(1, 4)], per=3),
    Row(
        "BatchEncoding.convert_to_tensors",
        lambda s, g: s.tok(g.sentence).convert_to_tensors("np", prepend_batch_axis=True),
    ),
    Row("BatchEncoding.to", lambda s, g: s.tok(g.sentence, return_tensors="pt").to("cpu")),
    Row("BatchEncoding.input_ids", lambda s, g: s.batch.input_ids),
    Row("BatchEncoding['input_ids']", lambda s, g: s.batch["input_ids"]),
    Row("BatchEncoding.n_sequences", lambda s, g: s.tok(g.sentence).n_sequences),
    Row("BatchEncoding.encodings", lambda s, g: len(s.batch.encodings)),
    Row("BatchEncoding.keys", lambda s, g: list(s.batch.keys())),
    Row("BatchEncoding.values", lambda s, g: list(s.batch.values())),
    Row("BatchEncoding.items", lambda s, g: list(s.batch.items())),
    Row("pickle of a BatchEncoding", lambda s, g: pickle.loads(pickle.dumps(s.batch)), read=lambda b: b["input_ids"]),
)

FILES = (
    Row("AutoTokenizer.from_pretrained", lambda s, g: s.lib.AutoTokenizer.from_pretrained(s.model), read=len),
    Row(
        "PreTrainedTokenizerFast of a file", lambda s, g: s.lib.PreTrainedTokenizerFast(tokenizer_file=s.path), read=len
    ),
    Row(
        "from_pretrained, then the first ids",
        lambda s, g: s.lib.AutoTokenizer.from_pretrained(s.model)(g.sentence).input_ids,
    ),
    Row("save_pretrained", save),
    Row("pickle there and back", lambda s, g: pickle.loads(pickle.dumps(s.tok)), read=len),
    Row("deepcopy", lambda s, g: deepcopy(s.tok), read=len),
    Row("repr", lambda s, g: repr(s.tok), same=nothing),
    Row("len", lambda s, g: len(s.tok)),
    Row("get_vocab", lambda s, g: s.tok.get_vocab()),
    Row("vocab", lambda s, g: s.tok.vocab),
    Row("get_added_vocab", lambda s, g: s.tok.get_added_vocab()),
    Row("added_tokens_decoder", lambda s, g: s.tok.added_tokens_decoder),
    Row("all_special_tokens", lambda s, g: s.tok.all_special_tokens),
    Row("all_special_ids", lambda s, g: s.tok.all_special_ids),
    Row("special_tokens_map", lambda s, g: s.tok.special_tokens_map),
    Row("pad_token_id", lambda s, g: s.tok.pad_token_id),
    Row("vocab_size", lambda s, g: s.tok.vocab_size),
    Row("add_tokens one by one, 200 calls", add_one_by_one, before=new_tokenizer, per=200, once=True),
    Row(
        "add_special_tokens",
        lambda t, g: t.add_special_tokens({"additional_special_tokens": ["<a>", "<b>"]}),
        before=new_tokenizer,
    ),
    Row("added_tokens_encoder", lambda s, g: s.tok.added_tokens_encoder),
    Row("pad_token", lambda s, g: s.tok.pad_token),
    Row("pad_token, set", lambda s, g: setattr(s.changed, "pad_token", s.pad)),
    *(Row(name, lambda s, g, name=name: getattr(s.tok, name)) for name in PLAIN),
    Row("backend_tokenizer", lambda s, g: s.tok.backend_tokenizer, same=nothing),
    Row("clean_up_tokenization", lambda s, g: s.tok.clean_up_tokenization(g.sentence)),
    Row("get_chat_template", lambda s, g: s.tok.get_chat_template(TEMPLATE)),
    Row(
        "set_truncation_and_padding",
        lambda s, g: s.changed.set_truncation_and_padding(*strategies(), 128, 0, None, None),
    ),
    Row("update_post_processor", lambda s, g: s.changed.update_post_processor()),
    Row(
        "encode_message_with_chat_template",
        lambda s, g: s.tok.encode_message_with_chat_template(g.messages[1], g.messages[:1], chat_template=TEMPLATE),
        apart=JINJA,
    ),
    Row("apply_chat_template × 50", lambda s, g: [ids_of_chat(s, g) for _ in range(50)], per=50, apart=JINJA),
    Row(
        "apply_chat_template, text",
        lambda s, g: s.tok.apply_chat_template(g.messages, chat_template=TEMPLATE, tokenize=False),
        apart=JINJA,
    ),
    Row(
        "train_new_from_iterator, 500 tokens",
        lambda s, g: s.tok.train_new_from_iterator([g.sentences[:200]], 500),
        same=nothing,
    ),
)

ROWS = (*CALLS, *BATCH, *FILES)
