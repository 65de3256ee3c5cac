"""Decoders that make embeddings, in folders of sentence-transformers, give its vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extras import extra
from tokkit import pipeline

pytestmark = pytest.mark.parity
torch = extra("torch")
transformers = extra("transformers")
theirs = extra("sentence_transformers")
tokenizers = extra("tokenizers")

TEXTS = ["the cat sat on a mat.", "money", "river bank, money bank " * 4, "a unknown word", "the river " * 40]
SIZES = {"vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 64, "max_position_embeddings": 64,
         "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip
GEMMA = {**SIZES, "sliding_window": 9, "query_pre_attn_scalar": 8, "use_bidirectional_attention": True,
         "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}  # fmt: skip
LAST, MEAN = {"pooling_mode": "lasttoken"}, {"pooling_mode": "mean"}
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any], tuple[int, ...]]] = {
    "Qwen3-Embedding": ("qwen3", SIZES, LAST, ()),
    "Qwen3-Embedding with windows": ("qwen3", {**SIZES, "use_sliding_window": True, "sliding_window": 5,
                                               "max_window_layers": 1, "head_dim": 16}, LAST, ()),
    "EmbeddingGemma": ("gemma3_text", GEMMA, {**MEAN, "include_prompt": True}, (48, 20)),
    "EmbeddingGemma with a wide window": ("gemma3_text", {**GEMMA, "sliding_window": 24}, MEAN, (48, 32)),
    "Mistral": ("mistral", {**SIZES, "sliding_window": 6}, LAST, ()),
    "Llama": ("llama", {**SIZES, "attention_bias": True}, {**MEAN, "include_prompt": False}, ()),
    "Mistral that sees later tokens": ("mistral", {**SIZES, "sliding_window": 6, "is_causal": False}, MEAN, ()),
    "Qwen2 that sees later tokens": ("qwen2", {**SIZES, "is_causal": False}, LAST, (16,)),
    "ModernBERT": ("modernbert", {**SIZES, "cls_token_id": 1, "sep_token_id": 2, "local_attention": 10},
                   {"pooling_mode": "cls"}, ()),
    "Nomic": ("nomic_bert", {**SIZES, "num_key_value_heads": 4}, {**MEAN, "include_prompt": False}, ()),
}  # fmt: skip
PROMPTS = {"query": "query: the cat ", "document": ""}


def tokenizer_of(folder: Path) -> None:
    """A small tokenizer of bytes whose texts end as those of the model: by one more token."""
    trained = tokenizers.ByteLevelBPETokenizer()
    special = ["<pad>", "<bos>", "<eos>", "<unk>"]
    trained.train_from_iterator(TEXTS, vocab_size=300, special_tokens=special)
    trained._tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A <eos>", pair="$A $B <eos>", special_tokens=[("<eos>", 2)]
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=trained._tokenizer, pad_token="<pad>", eos_token="<eos>", padding_side="left"
    )
    fast.save_pretrained(folder)


def saved(name: str, folder: Path) -> Any:
    kind, options, pooling, dense = CASES[name]
    torch.manual_seed(1)
    config = transformers.AutoConfig.for_model(kind, **options)
    model = transformers.AutoModel.from_config(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight) * 0.2 if weight.ndim > 1 else weight + torch.randn_like(weight) * 0.2)
    model.save_pretrained(folder / "base")
    tokenizer_of(folder / "base")
    base, parts = theirs.base.modules, theirs.sentence_transformer.modules
    chain: list[Any] = [base.Transformer(str(folder / "base")), parts.Pooling(options["hidden_size"], **pooling)]
    for columns in dense:
        before = chain[-1].get_embedding_dimension() if len(chain) == 2 else chain[-1].out_features
        chain.append(base.Dense(before, columns, bias=False, activation_function=torch.nn.Identity()))
    chain.append(parts.Normalize())
    made = theirs.SentenceTransformer(modules=chain, prompts=PROMPTS, device="cpu")
    made.max_seq_length = 40
    made.save(str(folder / "saved"))
    return made


@pytest.mark.parametrize("name", CASES)
def test_vectors_are_those_of_sentence_transformers(name: str, tmp_path: Path) -> None:
    model = saved(name, tmp_path)
    ours = pipeline.load(tmp_path / "saved")
    assert isinstance(ours, pipeline.SentenceEncoder)
    assert (ours.max_length, ours.dimension) == (40, model.get_embedding_dimension())
    for call in ({}, {"prompt_name": "query"}, {"prompt": "river "}, {"truncate_dim": 7}):
        expected = model.encode(TEXTS, normalize_embeddings=True, **call)
        assert np.abs(ours.encode(TEXTS, **call) - expected).max() < 1e-5, call
    alone = np.stack([ours.encode(text) for text in TEXTS])
    assert np.abs(ours.encode(TEXTS, batch_tokens=1000) - alone).max() < 1e-6
    config = json.loads((tmp_path / "base" / "config.json").read_text())
    if config.get("use_bidirectional_attention") or config.get("is_causal") is False:
        assert isinstance(pipeline.load(tmp_path / "base"), pipeline.SentenceEncoder)
