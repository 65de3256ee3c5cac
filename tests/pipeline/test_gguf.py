"""Models in GGUF files: the same weights as in a folder, quantized blocks, and bad files."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import generators
import gguf_models
from gguf_files import Stored
from gguf_models import interleaved, joined, plain, random_blocks, stacked
from reference.decoder import logits as naive
from reference.feed_forward import Bfloat16, Bfloat16Rows
from tokkit import nn, pipeline
from tokkit._core.nn.linear import rounds_bfloat16
from tokkit.errors import FormatError, OptionError
from tokkit.files.gguf_tensors import BlockTensor, read_gguf
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import decoder_families
from tokkit.pipeline.decoder_families import DecoderSpec

IDS = np.random.default_rng(0).integers(0, 300, 40)
SIZES: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 3, "intermediate_size": 48,
                         "vocab_size": 320, "max_position_embeddings": 64}  # fmt: skip
GROUPED = {**SIZES, "num_key_value_heads": 2, "rms_norm_eps": 1e-6}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2}
KEYS: dict[str, Any] = {"embedding_length": 32, "attention.head_count": 4, "block_count": 3, "feed_forward_length": 48,
                        "context_length": 64}  # fmt: skip
RMS = {**KEYS, "attention.head_count_kv": 2, "attention.layer_norm_rms_epsilon": 1e-6}
LAYER = {**KEYS, "attention.layer_norm_epsilon": 1e-5}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16, "rope_theta": 500000.0}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 10000.0}
LONG = {
    "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.5, 2.0], "attention_factor": 1.25,
    "long_factor": [1.0, 3.0, 4.0], "original_max_position_embeddings": 32, "partial_rotary_factor": 0.75,
}  # fmt: skip
CASES: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "llama": ({"model_type": "llama", **GROUPED}, "llama", {**RMS, "rope.dimension_count": 8}),
    "llama 3": ({"model_type": "llama", **GROUPED, "rope_parameters": LLAMA3, "tie_word_embeddings": True}, "llama",
                {**RMS, "rope.freq_base": 500000.0}),
    "llama yarn": ({"model_type": "llama", **GROUPED, "head_dim": 16, "rope_parameters": YARN}, "llama",
                   {**RMS, "attention.key_length": 16, "attention.value_length": 16, "rope.scaling.type": "yarn",
                    "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 16}),
    "llama linear": ({"model_type": "llama", **GROUPED, "rope_parameters": {
        "rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}}, "llama", {**RMS, "rope.scale_linear": 2.0}),
    "mistral": ({"model_type": "mistral", **GROUPED, "sliding_window": 5}, "llama",
                {**RMS, "attention.sliding_window": 5}),
    "qwen2": ({"model_type": "qwen2", **GROUPED}, "qwen2", RMS),
    "qwen3": ({"model_type": "qwen3", **GROUPED, "head_dim": 16, "tie_word_embeddings": True}, "qwen3",
              {**RMS, "attention.key_length": 16}),
    "gemma": ({"model_type": "gemma", **GROUPED, "head_dim": 16}, "gemma", {**RMS, "attention.key_length": 16}),
    "gemma2": ({"model_type": "gemma2", **GROUPED, "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 4,
                "attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0}, "gemma2",
               {**RMS, "attention.key_length": 16, "attention.sliding_window": 4, "attn_logit_softcapping": 5.0,
                "final_logit_softcapping": 3.0}),
    "gemma2 by default": ({"model_type": "gemma2", **GROUPED, "query_pre_attn_scalar": 8, "sliding_window": 4,
                           "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}, "gemma2",
                          {**RMS, "attention.sliding_window": 4}),
    "gemma3": ({"model_type": "gemma3_text", **GROUPED, "head_dim": 16, "query_pre_attn_scalar": 16,
                "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
                "rope_theta": 1e6, "rope_local_base_freq": 10000.0}, "gemma3",
               {**RMS, "attention.key_length": 16, "attention.sliding_window": 4, "rope.freq_base": 1e6,
                "attention.sliding_window_pattern": [True, False, True]}),
    "gemma3 of seven layers": (
        {"model_type": "gemma3_text", **GROUPED, "num_hidden_layers": 7, "query_pre_attn_scalar": 8,
         "sliding_window": 4, "sliding_window_pattern": 6, "rope_theta": 1e6, "rope_local_base_freq": 5000.0}, "gemma3",
        {**RMS, "block_count": 7, "attention.sliding_window": 4, "rope.freq_base": 1e6, "rope.freq_base_swa": 5000.0}),
    "phi3": ({"model_type": "phi3", **GROUPED, "sliding_window": 7, "partial_rotary_factor": 0.5}, "phi3",
             {**RMS, "attention.sliding_window": 7, "rope.dimension_count": 4}),
    "phi3 of long texts": (
        {"model_type": "phi3", **GROUPED, "rope_parameters": LONG}, "phi3",
        {**RMS, "rope.dimension_count": 6, "rope.scaling.original_context_length": 32,
         "rope.scaling.attn_factor": 1.25}),
    "gpt2": ({"model_type": "gpt2", "n_embd": 32, "n_head": 4, "n_layer": 3, "n_inner": 48, "n_positions": 64,
              "vocab_size": 320}, "gpt2", LAYER),
    "gptneox": ({"model_type": "gpt_neox", **SIZES, "tie_word_embeddings": False}, "gptneox",
                {**LAYER, "rope.dimension_count": 2, "use_parallel_residual": True}),
    "gptneox in turn": ({"model_type": "gpt_neox", **SIZES, "use_parallel_residual": False,
                         "tie_word_embeddings": False}, "gptneox",
                        {**LAYER, "rope.dimension_count": 2, "use_parallel_residual": False}),
    "mixtral": ({"model_type": "mixtral", **GROUPED, **EXPERTS, "num_local_experts": 4}, "llama",
                {**RMS, "expert_count": 4, "expert_used_count": 2}),
    "qwen2moe": ({"model_type": "qwen2_moe", **GROUPED, **EXPERTS, "moe_intermediate_size": 24,
                  "shared_expert_intermediate_size": 40}, "qwen2moe",
                 {**RMS, "expert_count": 4, "expert_used_count": 2, "expert_shared_feed_forward_length": 40}),
    "qwen3moe": ({"model_type": "qwen3_moe", **GROUPED, **EXPERTS, "moe_intermediate_size": 64, "norm_topk_prob": True,
                  "head_dim": 16}, "qwen3moe",
                 {**RMS, "attention.key_length": 16, "expert_count": 4, "expert_used_count": 2,
                  "expert_feed_forward_length": 64}),
    "bloom": ({"model_type": "bloom", "hidden_size": 32, "n_head": 4, "n_layer": 3, "vocab_size": 320}, "bloom",
              {**LAYER, "feed_forward_length": 128}),
}  # fmt: skip


def random_weights(spec: DecoderSpec, *, biases: bool) -> dict[str, np.ndarray]:
    """Weights by our names, norms and biases that are not 1 and 0 among them."""
    rng = np.random.default_rng(1)
    made = {}
    for name, weight in nn.initial(spec.config.shapes(), seed=0, std=0.3).items():
        made[name] = weight if weight.ndim > 1 else (weight + rng.normal(0, 0.2, weight.shape)).astype(np.float32)
        if biases and weight.ndim > 1 and name.startswith("layers"):
            made[name.removesuffix("weight") + "bias"] = rng.normal(0, 0.2, len(weight)).astype(np.float32)
    return made


def tensors(spec: DecoderSpec, weights: Mapping[str, np.ndarray], architecture: str) -> dict[str, Stored]:
    c = spec.config.layers
    made = {}
    for ours, weight in weights.items():
        heads = {"q": c.n_heads, "k": c.kv_heads}.get(ours.partition("attention.")[2][:1], 0)
        made[ours] = plain(interleaved(weight, heads) if architecture == "llama" and heads else weight)
    if architecture in ("phi3", "gpt2", "gptneox", "bloom"):
        for i in range(c.n_layers):
            for kind in ("weight", "bias"):
                parts = [f"layers.{i}.attention.{part}.{kind}" for part in "qkv"]
                if parts[0] in made:
                    made[f"qkv {i} {kind}"] = joined([made.pop(part) for part in parts])
            if architecture == "phi3":
                parts = [f"layers.{i}.feed_forward.{part}.weight" for part in ("gate", "up")]
                made[parts[1]] = joined([made.pop(part) for part in parts])
    experts = spec.config.experts
    for i in range(c.n_layers if experts else 0):
        for part in ("gate", "up", "down"):
            each = [made.pop(f"layers.{i}.experts.{j}.{part}.weight") for j in range(experts.n)]
            made[f"layers.{i}.experts.{part}.weight"] = stacked(each)
    named = {f"blk.{ours[4]}.attn_qkv.{ours[6:]}" if ours.startswith("qkv") else gguf_models.name(ours): tensor
             for ours, tensor in made.items()}  # fmt: skip
    rope = c.rope
    if rope is not None and rope.scaling == "llama3":
        plain_rope = nn.rope.inverse_frequencies(nn.rope.RopeConfig(head_dim=c.head_size, base=rope.base))
        named["rope_freqs.weight"] = plain(plain_rope / nn.rope.inverse_frequencies(rope))
    if rope is not None and rope.long_factors is not None:
        named["rope_factors_long.weight"] = plain(np.array(rope.long_factors))
        named["rope_factors_short.weight"] = plain(np.array(rope.pair_factors))
    return named


@pytest.mark.parametrize("name", CASES)
def test_an_architecture_is_the_family_of_the_same_weights(name: str, tmp_path: Path) -> None:
    config, architecture, keys = CASES[name]
    spec = decoder_families.read(config)
    weights = random_weights(spec, biases=architecture in ("gpt2", "gptneox", "bloom"))
    if architecture == "qwen2":
        weights |= {f"layers.{i}.attention.{part}.bias": np.linspace(-1, 1, rows, dtype=np.float32)
                    for i in range(3) for part, rows in (("q", 32), ("k", 16), ("v", 16))}  # fmt: skip
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_models.model(architecture, keys, tensors(spec, weights, architecture)))
    model = pipeline.load(path, precision="fp32")
    decoder = TextDecoder(spec.config, weights)
    expected = decoder.logits(decoder([IDS], [decoder.cache()]))
    np.testing.assert_allclose(model.logits(IDS), expected, atol=1e-4)
    assert model.max_length == (1 << 31 if architecture == "bloom" else 64)


def small(path: Path, *, precision: str | None = None, **changed: Any) -> Any:
    """Load a file of three layers, llama with some keys changed; None leaves one out."""
    path.write_bytes(small_file(**changed))
    return pipeline.load(path, precision=precision)


def small_file(of: Mapping[str, Stored] | None = None, architecture: str = "llama", **changed: Any) -> bytes:
    spec = decoder_families.read(CASES["llama"][0])
    given = tensors(spec, random_weights(spec, biases=False), "llama") | dict(of or {})
    keys = {**RMS, **{name.replace("__", "."): value for name, value in changed.items()}}
    return gguf_models.model(architecture, {key: value for key, value in keys.items() if value is not None}, given)


@pytest.mark.parametrize("kind", ["F16", "BF16"])
def test_half_precision_is_its_weights_exactly(kind: str, tmp_path: Path) -> None:
    spec = decoder_families.read(CASES["llama"][0])
    given = tensors(spec, random_weights(spec, biases=False), "llama")
    halves = {name: plain(np.frombuffer(t.data, np.float32).reshape(t.shape), kind) if len(t.shape) > 1 else t
              for name, t in given.items()}  # fmt: skip
    (tmp_path / "half.gguf").write_bytes(gguf_models.model("llama", RMS, halves))
    wide = {name: plain(t.float32()) for name, t in read_gguf(tmp_path / "half.gguf").tensors.items()}
    (tmp_path / "wide.gguf").write_bytes(gguf_models.model("llama", RMS, wide))
    made, expected = (
        pipeline.load(tmp_path / f"{name}.gguf", precision="fp32").logits(IDS) for name in ("half", "wide")
    )
    np.testing.assert_array_equal(made, expected)


BIG = {"hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 1, "intermediate_size": 256,
       "vocab_size": 320, "max_position_embeddings": 64, "rms_norm_eps": 1e-6}  # fmt: skip
BIG_KEYS = {**RMS, "embedding_length": 256, "feed_forward_length": 256, "block_count": 1, "attention.head_count_kv": 4}


def blocks_model(path: Path, kinds: str | Mapping[str, str], *, tied: bool = False) -> Any:
    """Write a model of one layer with matrices in blocks, and return a decoder of their weights in float32."""
    spec = decoder_families.read({"model_type": "llama", **BIG, "tie_word_embeddings": tied})
    rng = np.random.default_rng(2)
    given = {}
    for ours, weight in random_weights(spec, biases=False).items():
        name = gguf_models.name(ours)
        kind = kinds if isinstance(kinds, str) else next((k for part, k in kinds.items() if part in name), "Q4_0")
        given[name] = random_blocks(kind, weight.shape, rng, 0.05) if weight.ndim > 1 else plain(weight)
    path.write_bytes(gguf_models.model("qwen2", BIG_KEYS, given))
    found = read_gguf(path).tensors
    weights = {ours: found[gguf_models.name(ours)].float32() for ours in spec.config.shapes()}
    assert isinstance(found["token_embd.weight"], BlockTensor)
    return TextDecoder(spec.config, weights)


MIXED = {
    "attn_output": "Q4_0",
    "token_embd": "Q6_K",
    "output.": "Q6_K",
    "attn_v": "Q6_K",
    "ffn_down": "Q5_0",
    "attn_k": "Q4_K",
}


@pytest.mark.parametrize(
    "kinds", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", MIXED], ids=lambda k: str(k)[:5]
)
@pytest.mark.parametrize("tied", [False, True])
def test_blocks_are_their_weights(kinds: Any, tied: bool, tmp_path: Path) -> None:
    decoder = blocks_model(tmp_path / "m.gguf", kinds, tied=tied)
    expected = decoder.logits(decoder([IDS], [decoder.cache()]))
    model = pipeline.load(tmp_path / "m.gguf", precision="fp32")
    np.testing.assert_allclose(model.logits(IDS), expected, atol=1e-4 * np.abs(expected).max())


def stored(packed: Any) -> np.ndarray:
    """The weights of a packed matrix."""
    made = np.empty(packed.shape, dtype=np.float32)
    packed.read(np.arange(len(made)), made)
    return made


NUMBERS_ALONE = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"]


@pytest.mark.parametrize("kind", [*NUMBERS_ALONE, "Q4_K", "Q5_K", "Q6_K"])
def test_blocks_are_multiplied_as_they_are(kind: str, tmp_path: Path) -> None:
    decoder = blocks_model(tmp_path / "m.gguf", kind)
    model = pipeline.load(tmp_path / "m.gguf")
    found, matrices = read_gguf(tmp_path / "m.gguf").tensors, model.decoder.matrices
    assert {each.kind for each in matrices.values()} == {"int4" if kind[1] == "4" else "int8-weight-only"}
    for name, tensor in (("head", "output"), ("layers.0.down", "blk.0.ffn_down"), ("layers.0.o", "blk.0.attn_output")):
        blocks = found[f"{tensor}.weight"]
        assert isinstance(blocks, BlockTensor)
        made, expected = stored(matrices[name]), blocks.float32()
        if kind in NUMBERS_ALONE:
            np.testing.assert_array_equal(made, expected)
        elif kind == "Q6_K":  # half of a step of new numbers, for groups of 32
            step = np.abs(expected).reshape(len(made), -1, 32).max(-1, keepdims=True) / 127
            assert (np.abs(made - expected).reshape(len(made), -1, 32) <= step * 0.51).all()
        else:  # scales and minima are rounded to float16
            minima = blocks.type.groups(blocks.data.reshape(-1, blocks.type.n_bytes)).minima
            assert minima is not None
            least = np.abs(minima).reshape(len(made), -1, 1)
            error = np.abs(made - expected).reshape(len(made), -1, 32)
            assert (error <= 2**-11 * (np.abs(expected).reshape(error.shape) + 2 * least) + 1e-7).all()
    expected = decoder.logits(decoder([IDS], [decoder.cache()]))
    error = model.logits(IDS) - expected  # rows of x are quantized too
    assert np.sqrt(np.square(error).mean()) < 0.03 * expected.std()
    assert model.generate("the cat", max_new_tokens=4)


def test_parts_of_one_product_are_of_one_kind(tmp_path: Path) -> None:
    blocks_model(tmp_path / "m.gguf", MIXED | {"ffn_gate": "Q4_0", "ffn_up": "Q4_K", "attn_q": "Q4_1"}, tied=True)
    found, model = read_gguf(tmp_path / "m.gguf").tensors, pipeline.load(tmp_path / "m.gguf")
    kinds = {name: (each.kind, each.minima) for name, each in model.decoder.matrices.items()}
    assert kinds == {
        "layers.0.qkv": ("int8-weight-only", True), "layers.0.o": ("int4", False), "layers.0.up": ("int4", True),
        "layers.0.down": ("int8-weight-only", False), "head": ("int8-weight-only", False),
    }  # fmt: skip
    names = {"qkv": ("attn_q", "attn_k", "attn_v"), "up": ("ffn_gate", "ffn_up")}
    for product, parts in names.items():
        expected = np.concatenate([found[f"blk.0.{part}.weight"].float32() for part in parts])
        np.testing.assert_allclose(stored(model.decoder.matrices[f"layers.0.{product}"]), expected, atol=1.5e-3)
    assert repr(model) == "<TextGenerator m.gguf: 1 layers, 256 dimensions, 320 tokens, int4, int8-weight-only>"
    half = pipeline.load(tmp_path / "m.gguf", precision="int8")
    assert {each.kind for each in half.decoder.matrices.values()} == {"int8"}


def test_numbers_alone_are_packed_as_floats(tmp_path: Path) -> None:
    spec = decoder_families.read(CASES["qwen2"][0])
    weights = random_weights(spec, biases=True)
    halves = Bfloat16Rows if rounds_bfloat16() else Bfloat16
    for kind, packed, by in (("F32", "float32", dict), ("F16", "float32", dict), ("BF16", "bfloat16", halves)):
        given = {gguf_models.name(n): plain(w, kind if w.ndim > 1 else "F32") for n, w in weights.items()}
        (tmp_path / "m.gguf").write_bytes(gguf_models.model("qwen2", RMS, given))
        model, found = pipeline.load(tmp_path / "m.gguf"), read_gguf(tmp_path / "m.gguf").tensors
        assert {each.kind for each in model.decoder.matrices.values()} == {packed}
        expected = naive(spec.config, by({n: found[gguf_models.name(n)].float32() for n in weights}), IDS)
        error = np.linalg.norm(model.logits(IDS) - expected) / np.linalg.norm(expected)
        assert error < (1e-3 if by is halves else 1e-6)  # a number nearly between two may be rounded to the other one


def test_scales_beyond_half_precision_need_floats(tmp_path: Path) -> None:
    blocks_model(tmp_path / "m.gguf", "Q4_K")
    data = bytearray((tmp_path / "m.gguf").read_bytes())
    at = len(data) - 144 * 320  # the head is the last tensor
    data[at : at + 2], data[at + 4] = np.float16(60000).tobytes(), 63
    (tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises(FormatError, match=r"'output\.weight' of Q4_K has a scale that is NaN or infinite in float16"):
        pipeline.load(tmp_path / "m.gguf")
    assert np.isfinite(pipeline.load(tmp_path / "m.gguf", precision="fp32").logits(IDS)).all()


def test_text_is_generated_with_the_tokenizer_of_the_file(tmp_path: Path) -> None:
    model = small(tmp_path / "m.gguf", **{"tokenizer__ggml__eos_token_id": 300})
    tok = generators.tokenizer()
    assert model.tokenizer.encode("the cat; naïve 🦜") == tok.encode("the cat; naïve 🦜")
    assert model.eos_ids == {300}
    made = model.generate_all(["the cat"], max_new_tokens=8)[0][0]
    assert made.text == tok.decode([id_ for id_ in made.ids if id_ < 300])
    assert pickle.loads(pickle.dumps(model)).generate("the cat", max_new_tokens=8) == made.text


def test_tokens_that_end_a_turn_end_a_text_too(tmp_path: Path) -> None:
    ids = {"tokenizer__ggml__eos_token_id": 300, "tokenizer__ggml__eot_token_id": 301}
    assert small(tmp_path / "m.gguf", **ids).eos_ids == {300, 301}
    assert small(tmp_path / "m.gguf").eos_ids == {300}  # <|end|>, which no key names


def test_a_chat_is_written_by_the_template_of_the_file(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="needs the extra chat")
    template = "{% for m in messages %}{{ bos_token }}{{ m.content }}{{ eos_token }}{% endfor %}<|model|>"
    keys = {"tokenizer__chat_template": template, "tokenizer__ggml__eos_token_id": 300}
    model = small(tmp_path / "m.gguf", **keys, tokenizer__ggml__bos_token_id=301)
    messages = [{"role": "user", "content": "the <|end|> cat"}]
    tok = model.tokenizer
    assert model.chat_ids(messages) == [301, *tok.encode("the <|end|> cat", special="text"), 300, 302]


def test_the_limit_of_tokens_may_be_smaller(tmp_path: Path) -> None:
    small(tmp_path / "m.gguf")
    assert pipeline.load(tmp_path / "m.gguf", max_length=9).max_length == 9
    with pytest.raises(OptionError, match="max_length is 65; the model has positions for 1 to 64 tokens"):
        pipeline.load(tmp_path / "m.gguf", max_length=65)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"architecture": "mamba"}, "general.architecture: 'mamba' is not supported; it must .* llama, "),
        ({"block_count": None}, "m.gguf: llama.block_count: missing"),
        ({"block_count": 4}, r"the tensor 'blk.3.*' is missing; the metadata of the file requires it with shape"),
        ({"block_count": 2}, r"the tensor 'blk.2.* does not belong to this decoder, whose configuration has 2 layers"),
        ({"block_count": 1 << 30}, "is too large"),
        ({"embedding_length": 64}, r"'token_embd.weight' has shape \(320, 32\); the metadata of the file requires"),
        ({"attention__head_count": [4, 4, 4]}, "llama.attention.head_count: an integer is needed"),
        ({"attention__head_count_kv": 3}, "4 query heads are not a multiple of 3 key heads"),
        ({"attention__layer_norm_rms_epsilon": float("nan")}, "llama.attention.layer_norm_rms_epsilon is nan"),
        ({"attention__layer_norm_rms_epsilon": "x"}, "llama.attention.layer_norm_rms_epsilon: .*a number is needed"),
        ({"attention__value_length": 4, "attention__key_length": 8}, "value_length: 4; it must be equal"),
        ({"attention__causal": False}, "llama.attention.causal: only causal models"),
        ({"expert_count": 8}, "llama.expert_used_count: missing"),
        ({"expert_count": 8, "expert_used_count": 2}, "the tensor 'blk.0.ffn_gate_inp.weight' is missing"),
        ({"expert_count": 8, "architecture": "qwen2"}, "qwen2.expert_count: mixtures of experts of qwen2 are not supp"),
        ({"rope__dimension_count": 7}, "llama.rope.dimension_count: RoPE rotates"),
        ({"rope__dimension_count": 16}, "llama.rope.dimension_count: RoPE rotates"),
        ({"rope__freq_base": -1.0}, "base"),
        ({"rope__scaling__type": "longrope"}, "llama.rope.scaling.original_context_length: missing"),
        ({"rope__scaling__type": 3}, "llama.rope.scaling.type: a string is needed, not an integer"),
        ({"attention__sliding_window": "x"}, "llama.attention.sliding_window: an integer is needed, not a string"),
        ({"of": {"rope_freqs.weight": plain(np.ones(3))}}, r"'rope_freqs.weight' has shape \(3,\); a head has 4 pairs"),
        ({"of": {"rope_freqs.weight": plain(np.zeros(4))}}, "pair_factors"),
        ({"of": {"output.weight": plain(np.ones((320, 31)))}}, r"'output.weight' has shape \(320, 31\)"),
        ({"of": {"token_embd.weight": plain(np.ones(320))}}, "'token_embd.weight', the table of tokens, is missing"),
        ({"of": {"token_embd.weight": plain(np.ones((300, 32))), "output.weight": plain(np.ones((300, 32)))}},
         "the tokenizer has 303 ids, and the table of tokens has 300 rows"),
        ({"of": {"blk.0.ffn_up.weight": random_blocks("Q8_0", (32, 48 * 2), np.random.default_rng(0))}},
         r"'blk.0.ffn_up.weight' has shape \(32, 96\)"),
    ],
    ids=str,
)  # fmt: skip
def test_a_file_that_does_not_fit_together_is_refused(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        small(tmp_path / "m.gguf", **changed)


def test_a_vocabulary_alone_is_no_model(tmp_path: Path) -> None:
    generators.tokenizer().save(tmp_path / "v.gguf")
    with pytest.raises(FormatError, match=r"v\.gguf: the file has no tensors, only a vocabulary"):
        pipeline.load(tmp_path / "v.gguf")
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(FormatError, match=r"text\.gguf: at byte 0: not a GGUF file"):
        pipeline.load(tmp_path / "text.gguf")


def test_a_scale_that_is_no_number_is_refused_on_loading(tmp_path: Path) -> None:
    blocks_model(tmp_path / "m.gguf", "Q8_0")
    data = bytearray((tmp_path / "m.gguf").read_bytes())
    at = len(data) - 34 * 8 * 320  # the head is the last tensor
    assert read_gguf(tmp_path / "m.gguf").tensors["output.weight"].data.tobytes() == data[at:]
    data[at : at + 2] = np.float16(np.nan).tobytes()
    (tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises(FormatError, match=r"m.gguf: the tensor 'output.weight' of Q8_0 has a scale that is NaN"):
        pipeline.load(tmp_path / "m.gguf")
