"""Folders of encoders with decoder layers, with the names of published files, equal a float64 twin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model_folders import WORDS
from reference.decoder import hidden
from tokkit import nn, pipeline
from tokkit.errors import FormatError, OptionError
from tokkit.files.safetensors import write_safetensors
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.nn.rope import RopeConfig

SIZES = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 24,
         "vocab_size": 40, "max_position_embeddings": 20}  # fmt: skip
MODERN = {**SIZES, "model_type": "modernbert", "global_rope_theta": 900.0, "local_rope_theta": 50.0,
          "global_attn_every_n_layers": 2, "local_attention": 4, "norm_eps": 1e-4}  # fmt: skip
NOMIC = {"model_type": "nomic_bert", "n_embd": 16, "n_layer": 3, "n_head": 2, "n_inner": 24, "vocab_size": 40,
         "n_positions": 20, "activation_function": "swiglu", "rotary_emb_base": 70, "rotary_emb_fraction": 0.5,
         "layer_norm_epsilon": 1e-4, "type_vocab_size": 2, "prenorm": False, "rotary_scaling_factor": None,
         "qkv_proj_bias": False, "rotary_emb_interleaved": False, "causal": False}  # fmt: skip
GTE = {**SIZES, "model_type": "new", "hidden_act": "gelu", "layer_norm_eps": 1e-4, "type_vocab_size": 0,
       "rope_theta": 30.0, "rope_scaling": {"type": "ntk", "factor": 2.0}, "position_embedding_type": "rope",
       "layer_norm_type": "layer_norm", "pack_qkv": True}  # fmt: skip
QWEN = {**SIZES, "model_type": "qwen3", "num_key_value_heads": 1, "head_dim": 8, "rope_theta": 40.0,
        "rms_norm_eps": 1e-4, "tie_word_embeddings": False}  # fmt: skip
ROPE = RopeConfig(head_dim=8, base=900.0)
# GTE's rope by hand: a base of 30 times 2, and each angle divided by 2^(2/8).
TWINS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "ModernBERT": (MODERN, {"pre_norm": True, "activation": "geglu", "rope": ROPE},
                   {"windows": (None, 3, None), "local_rope": RopeConfig(head_dim=8, base=50.0),
                    "embedding_norm": True, "norm_bias": False, "first_norm": False}),
    "Nomic": (NOMIC, {"activation": "swiglu", "rope": RopeConfig(head_dim=8, base=70.0, rotary_dim=4)},
              {"types": 2, "embedding_norm": True}),
    "GTE": (GTE, {"activation": "geglu", "rope": RopeConfig(head_dim=8, base=60.0, scaling="linear", factor=2**0.25)},
            {"embedding_norm": True}),
    "an embedding Qwen": (QWEN, {"norm": "rms", "pre_norm": True, "causal": True, "activation": "swiglu",
                                 "n_kv_heads": 1, "rope": RopeConfig(head_dim=8, base=40.0)}, {"qk_norm": True}),
}  # fmt: skip


def twin_of(name: str) -> tuple[DecoderConfig, dict[str, np.ndarray]]:
    _, layers, options = TWINS[name]
    c = nn.TransformerConfig(dim=16, n_heads=2, n_layers=3, hidden_dim=24, eps=1e-4, **layers)
    config = DecoderConfig(layers=c, vocab_size=40, head=False, **options)
    rng = np.random.default_rng(2)
    return config, {n: rng.normal(0, 0.4, shape).astype(np.float32) for n, shape in config.shapes().items()}


def published(name: str, w: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The tensors of a file, by its names, some of them joined."""
    made: dict[str, np.ndarray] = {}

    def put(theirs: str, ours: str) -> None:
        made.update({f"{theirs}.{p}": w[f"{ours}.{p}"] for p in ("weight", "bias") if f"{ours}.{p}" in w})

    def joined(*parts: str) -> np.ndarray:
        return np.concatenate([w[f"{part}.weight"] for part in parts])

    if name == "ModernBERT":
        put("model.embeddings.tok_embeddings", "word")
        put("model.embeddings.norm", "embedding_norm")
        put("model.final_norm", "norm")
    elif name == "an embedding Qwen":
        put("embed_tokens", "word")
        put("norm", "norm")
    else:
        first = "new." if name == "GTE" else ""
        put(f"{first}embeddings.word_embeddings", "word")
        put(f"{first}embeddings.token_type_embeddings", "type")
        put(f"{first}embeddings.LayerNorm" if first else "emb_ln", "embedding_norm")
    for i in range(3):
        of = f"layers.{i}."
        qkv = joined(*(f"{of}attention.{part}" for part in "qkv"))
        gate, up = f"{of}feed_forward.gate", f"{of}feed_forward.up"
        if name == "ModernBERT":
            at = f"model.layers.{i}."
            made |= {f"{at}attn.Wqkv.weight": qkv, f"{at}mlp.Wi.weight": joined(gate, up)}
            names = {"attn.Wo": "attention.o", "mlp.Wo": "feed_forward.down", "mlp_norm": "feed_forward_norm"}
            names |= {"attn_norm": "attention_norm"} if i else {}
        elif name == "Nomic":
            at = f"encoder.layers.{i}."
            made |= {f"{at}attn.Wqkv.weight": qkv}
            names = {"attn.out_proj": "attention.o", "mlp.fc2": "feed_forward.down", "norm1": "attention_norm",
                     "mlp.fc11": "feed_forward.up", "mlp.fc12": "feed_forward.gate",
                     "norm2": "feed_forward_norm"}  # fmt: skip
        elif name == "GTE":
            at = f"new.encoder.layer.{i}."
            made |= {f"{at}attention.qkv_proj.weight": qkv, f"{at}mlp.up_gate_proj.weight": joined(up, gate)}
            names = {"attention.o_proj": "attention.o", "mlp.down_proj": "feed_forward.down",
                     "attn_ln": "attention_norm", "mlp_ln": "feed_forward_norm"}  # fmt: skip
        else:
            at = of
            names = {f"self_attn.{part}_proj": f"attention.{part}" for part in "qkvo"}
            names |= {f"mlp.{part}_proj": f"feed_forward.{part}" for part in ("gate", "up", "down")}
            names |= {"self_attn.q_norm": "q_norm", "self_attn.k_norm": "k_norm", "input_layernorm": "attention_norm",
                      "post_attention_layernorm": "feed_forward_norm"}  # fmt: skip
        for theirs, ours in names.items():
            put(at + theirs, of + ours)
    return made


def written(folder: Path, config: dict[str, Any], tensors: dict[str, np.ndarray], *, pooling: str = "mean") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", tensors)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling")]
    (folder / "modules.json").write_text(json.dumps([
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(kinds)
    ]))  # fmt: skip
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": pooling}))
    return folder


@pytest.mark.parametrize("name", TWINS)
def test_published_files_give_what_the_formulas_say(name: str, tmp_path: Path) -> None:
    config, weights = twin_of(name)
    last = name == "an embedding Qwen"
    model = pipeline.load(
        written(tmp_path, TWINS[name][0], published(name, weights), pooling="lasttoken" if last else "mean")
    )
    assert isinstance(model, pipeline.SentenceEncoder)
    assert (model.n_layers, model.dimension, model.max_length, model.precision) == (3, 16, 20, "fp32")
    text = "the cat sat on a mat. river bank, of money"
    seen = model.hidden_states(text)
    expected = hidden(config, weights, np.array(model.tokenizer(text, special="all").ids))
    np.testing.assert_allclose(seen.states[-1], expected, atol=1e-4)
    pooled = expected[-1] if last else expected.mean(0)
    np.testing.assert_allclose(model.encode(text, normalize=False), pooled, atol=1e-4)
    tokens, attention = model.attention(text)
    assert attention.shape == (3, 2, len(tokens), len(tokens))


def test_a_decoder_generates_text_unless_its_folder_says_how_to_pool(tmp_path: Path) -> None:
    tensors = published("an embedding Qwen", twin_of("an embedding Qwen")[1])
    head = np.zeros((40, 16), dtype=np.float32)
    folder = written(tmp_path, QWEN, tensors | {"lm_head.weight": head})
    assert isinstance(pipeline.load(folder), pipeline.SentenceEncoder)
    (folder / "modules.json").unlink()
    assert isinstance(pipeline.load(folder), pipeline.TextGenerator)
    (folder / "config.json").write_text(json.dumps({**QWEN, "is_causal": False}))
    assert isinstance(pipeline.load(folder), pipeline.SentenceEncoder)


def test_masks_are_filled_by_the_head_of_modernbert(tmp_path: Path) -> None:
    tensors = published("ModernBERT", twin_of("ModernBERT")[1])
    with pytest.raises(OptionError, match="no head for masked tokens"):
        pipeline.load(written(tmp_path / "bare", MODERN, tensors)).fill_mask("the [MASK] sat")
    rng = np.random.default_rng(0)
    dense, norm = rng.normal(size=(16, 16)).astype(np.float32), rng.normal(1, 0.1, 16).astype(np.float32)
    bias = rng.normal(size=40).astype(np.float32)
    head = {"head.dense.weight": dense, "head.norm.weight": norm, "decoder.bias": bias}
    model = pipeline.load(written(tmp_path / "masked", MODERN, tensors | head))
    states = model.hidden_states("the [MASK] sat").states[-1]
    x = nn.gelu(states @ dense.T)
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-4) * norm
    expected = x @ tensors["model.embeddings.tok_embeddings.weight"].T + bias
    np.testing.assert_allclose(model.masked_logits("the [MASK] sat"), expected, atol=1e-4)
    best = model.fill_mask("the [MASK] sat", k=1)[0][0]
    assert best.id == expected[2, : model.tokenizer.n_ids].argmax()


@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        (
            "ModernBERT",
            {"model_type": "xlnet"},
            r"'xlnet' is not supported; it must be one of .*: bert, .*, new, eurobert, gpt2, .*, t5, mt5, bart",
        ),
        ("ModernBERT", {"local_attention": 0}, "local_attention is 0"),
        ("ModernBERT", {"layer_types": ["full_attention"]}, "layer_types"),
        ("Nomic", {"prenorm": True}, "prenorm: True is not supported; it must be False"),
        ("Nomic", {"activation_function": "gelu"}, "activation_function: 'gelu' is not supported; it must be 'swiglu'"),
        ("Nomic", {"moe_every_n_layers": 2}, "moe_every_n_layers"),
        ("Nomic", {"n_inner": 32}, r"'encoder.layers.0.mlp.fc12.weight' has shape \(24, 16\); config.json requires"),
        ("GTE", {"pack_qkv": False}, "pack_qkv: False is not supported"),
        ("GTE", {"rope_scaling": {"type": "ntk", "factor": 2, "mixed_b": 0.5}}, "mixed_b is not supported"),
        ("GTE", {"rope_scaling": {"type": "ntk", "factor": 0}}, "factor is 0.0; it must be above 0"),
    ],
)
def test_what_is_not_run_is_refused(name: str, changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder = written(tmp_path, TWINS[name][0] | changed, published(name, twin_of(name)[1]))
    with pytest.raises(FormatError, match=message):
        pipeline.load(folder)


def test_a_token_beyond_the_table_is_an_error_where_a_text_has_it(tmp_path: Path) -> None:
    """Gemma's tokenizer has a token for pictures, for which models of text have no row."""
    config, tensors = (
        {**QWEN, "vocab_size": len(WORDS)},
        published("an embedding Qwen", twin_of("an embedding Qwen")[1]),
    )
    tensors["embed_tokens.weight"] = tensors["embed_tokens.weight"][: len(WORDS)]
    folder = written(tmp_path, config, tensors)
    pipeline.load(folder).tokenizer.with_special_tokens({"<image_soft_token>": len(WORDS)}).save(
        folder / "tokenizer.json"
    )
    model = pipeline.load(folder)
    assert model.tokenizer.n_ids == len(WORDS) + 1
    model.encode("the cat")
    with pytest.raises(IndexError, match=f"the id {len(WORDS)} is outside an embedding table of {len(WORDS)} rows"):
        model.encode("the <image_soft_token>")
