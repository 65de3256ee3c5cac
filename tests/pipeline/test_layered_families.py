"""Random ModernBERT, Nomic BERT, GTE and EuroBERT, saved by transformers, give its hidden states and logits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extras import extra
from tokkit.files.sharded import read_model
from tokkit.nn.layered_encoder import LayeredEncoder
from tokkit.nn.masked_head import MaskedHead
from tokkit.nn.text_decoder import TextDecoder
from tokkit.pipeline import layered_families
from tokkit.pipeline.layered_weights import LayeredWeights

pytestmark = pytest.mark.parity
torch = extra("torch")
transformers = extra("transformers")

SMALL = {"hidden_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 100,
         "vocab_size": 120, "max_position_embeddings": 170, "pad_token_id": 0}  # fmt: skip
LARGER = {**SMALL, "hidden_size": 128, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 200}
IDS = {"bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "modernbert": ("modernbert", {**SMALL, **IDS, "local_attention": 8}),
    "modernbert with biases": ("modernbert", {
        **LARGER, **IDS, "local_attention": 31, "norm_bias": True, "attention_bias": True, "mlp_bias": True,
        "classifier_bias": True, "hidden_activation": "silu", "classifier_activation": "relu",
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}),
    "nomic_bert": ("nomic_bert", SMALL),
    "nomic_bert with gelu": ("nomic_bert", {
        **LARGER, "hidden_act": "gelu", "type_vocab_size": 1,
        "rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}),
    "gte": ("gte", SMALL),
    "gte without types": ("gte", {
        **LARGER, "hidden_act": "silu", "type_vocab_size": 0, "layer_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "linear", "factor": 1.5, "rope_theta": 4000.0}}),
    "eurobert": ("eurobert", {**SMALL, "num_key_value_heads": 2}),
    "eurobert with biases": ("eurobert", {
        **LARGER, "head_dim": 16, "attention_bias": True, "mlp_bias": True, "hidden_act": "gelu",
        "rope_parameters": {"rope_type": "default", "rope_theta": 300.0}}),
}  # fmt: skip
LENGTHS = (7, 170, 1, 33)


def saved(name: str, folder: Path) -> Any:
    """A random model, its norms and biases random too, and its folder."""
    kind, options = CASES[name]
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, **options)
    model = transformers.AutoModelForMaskedLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            wide = parameter.dim() > 1
            parameter.copy_(torch.randn_like(parameter) * (0.12 if wide else 0.2) + (0.0 if wide else 0.3))
    model.save_pretrained(folder)
    return model


def ours(folder: Path, dtype: str = "float32") -> tuple[LayeredEncoder, Any]:
    """The encoder, and its head for masked tokens; EuroBERT's is a matrix, which is not read."""
    spec = layered_families.read(json.loads((folder / "config.json").read_text()), dtype)
    weights = LayeredWeights(read_model(folder), spec, "here")
    encoder = LayeredEncoder(TextDecoder(spec.decoder.config, weights), max_length=spec.decoder.max_length)
    if not weights.has_head:
        tensors = read_model(folder)
        matrix = tensors["lm_head.weight"].float32()
        bias = tensors["lm_head.bias"].float32() if "lm_head.bias" in tensors else 0
        return encoder, lambda x: x @ matrix.T + bias
    parts = weights.head()
    matrix = parts.pop("decoder.weight", encoder.embeddings.words)
    return encoder, MaskedHead(parts, matrix, activation=spec.head_activation, eps=spec.config.eps)


@pytest.mark.parametrize("name", CASES)
def test_states_and_logits_equal_those_of_transformers(name: str, tmp_path: Path) -> None:
    theirs = saved(name, tmp_path)
    encoder, head = ours(tmp_path)
    each = [np.random.default_rng(n).integers(4, 120, n) for n in LENGTHS]
    ids, starts = np.concatenate(each), np.concatenate([[0], np.cumsum(LENGTHS)])
    states = np.empty((encoder.config.n_layers, len(ids), encoder.config.dim), dtype=np.float32)
    got = encoder(ids, starts, states=states)
    logits = head(got)
    mask = np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]
    padded = np.zeros(mask.shape, dtype=np.int64)
    padded[mask] = ids
    with torch.no_grad():
        batch = theirs(torch.from_numpy(padded), attention_mask=torch.from_numpy(mask.astype(int)))
    for i, part in enumerate(each):
        rows = slice(starts[i], starts[i + 1])
        with torch.no_grad():
            alone = theirs(torch.from_numpy(part)[None], output_hidden_states=True)
        for layer, expected in enumerate(alone.hidden_states[1:]):
            assert np.abs(states[layer, rows] - expected[0].numpy()).max() < 1e-4, layer
        assert np.abs(logits[rows] - alone.logits[0].numpy()).max() < 2e-4
        assert np.abs(logits[rows] - batch.logits[i, : len(part)].numpy()).max() < 2e-4
        assert np.abs(encoder(part, [0, len(part)]) - got[rows]).max() < 1e-5
    if name == "nomic_bert":
        types = np.arange(33) % 2
        with torch.no_grad():
            pair = theirs(torch.from_numpy(each[3])[None], token_type_ids=torch.from_numpy(types)[None])
        assert np.abs(head(encoder(each[3], [0, 33], types)) - pair.logits[0].numpy()).max() < 2e-4


@pytest.mark.parametrize("name", CASES)
def test_lower_precision_stays_near(name: str, tmp_path: Path) -> None:
    saved(name, tmp_path)
    ids = np.random.default_rng(0).integers(4, 120, 150)
    full = ours(tmp_path)[0](ids, [0, 150]).mean(0)
    for dtype, least in (("bfloat16", 0.9999), ("int8", 0.995)):
        low = ours(tmp_path, dtype)[0](ids, [0, 150]).mean(0)
        assert full @ low / np.linalg.norm(full) / np.linalg.norm(low) > least, dtype
