"""Every family of encoder–decoders, compared with transformers: logits, greedy ids, and ids of a beam search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import generators
from extras import extra
from tokkit import pipeline

pytestmark = pytest.mark.parity
torch = extra("torch")
transformers = extra("transformers")

COMMON = {"vocab_size": 320, "pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": 1}
T5 = {**COMMON, "d_model": 32, "d_kv": 6, "d_ff": 64, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 4}
BART = {
    "vocab_size": 320, "d_model": 32, "encoder_layers": 3, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 8, "encoder_ffn_dim": 64, "decoder_ffn_dim": 48, "max_position_embeddings": 64,
}  # fmt: skip
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "t5": ("t5", T5),
    "t5 1.1": ("t5", {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False,
                      "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20}),
    "mt5": ("mt5", T5),
    "mt5 without a gate": ("mt5", {**T5, "feed_forward_proj": "gelu", "d_kv": 16, "num_decoder_layers": None}),
    "bart": ("bart", BART),
    "bart with forced ids": ("bart", {**BART, "scale_embedding": True, "activation_function": "relu",
                                      "forced_bos_token_id": 7, "forced_eos_token_id": 2}),
}  # fmt: skip


def random_model(name: str, folder: Path) -> Any:
    """Save a random model of transformers with a tokenizer of ours, and return it."""
    kind, options = CASES[name]
    config = transformers.AutoConfig.for_model(kind, **options)
    config._attn_implementation = "eager"
    torch.manual_seed(len(name))
    model = transformers.AutoModelForSeq2SeqLM.from_config(config).eval()
    with torch.no_grad():
        for of, weight in model.named_parameters():
            # T5 scales no scores: greater weights would let attention hang on the last bits of float32.
            std = 0.15 if of.endswith((".q.weight", ".k.weight")) else 0.3
            weight.copy_(torch.randn_like(weight) * std if weight.ndim > 1 else weight + torch.randn_like(weight) * 0.2)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias))
    model.generation_config.decoder_start_token_id = config.decoder_start_token_id
    model.generation_config.forced_bos_token_id = options.get("forced_bos_token_id")
    model.save_pretrained(folder)
    generators.tokenizer().save(folder / "tokenizer.json", overwrite=True)
    return model


@pytest.mark.parametrize("name", CASES)
def test_logits_and_generated_ids_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    model, ours = random_model(name, tmp_path), pipeline.load(tmp_path)
    rng = np.random.default_rng(0)
    text, target = rng.integers(3, 320, 64), rng.integers(3, 320, 63)  # as many as BART has positions
    other = rng.integers(3, 320, 9)
    whole = np.append(ours.forced.start, target)
    with torch.no_grad():
        expected, short = (
            model(input_ids=torch.tensor(ids)[None], decoder_input_ids=torch.tensor(whole)[None]).logits[0].numpy()
            for ids in (text, other)
        )
    tolerance = 1e-4 * max(1.0, float(np.abs(expected).max()) / 5)
    np.testing.assert_allclose(ours.logits(text, target=target), expected, atol=tolerance)
    decoder = ours.decoder
    caches = [decoder.cache(memory=memory) for memory in ours.model.memories([text, other])]
    made = [decoder.logits(decoder([whole[:9], whole[:4]], caches))[:9]]
    beside = []
    for i in range(9, len(whole)):  # another sequence goes beside it
        both = decoder.logits(decoder([whole[i : i + 1], whole[i - 5 : i - 4]], caches))
        made.append(both[:1])
        beside.append(both[1:])
    np.testing.assert_allclose(np.concatenate(made), expected, atol=tolerance)
    np.testing.assert_allclose(np.concatenate(beside), short[4:-5], atol=tolerance)
    for prompt in (text, other):
        with torch.no_grad():
            generated = model.generate(torch.tensor(prompt)[None], max_new_tokens=20, do_sample=False)[0, 1:].tolist()
        assert ours.generate_ids(prompt, max_new_tokens=20) == generated
    options = {"max_new_tokens": 12, "num_beams": 3, "length_penalty": 0.5, "no_repeat_ngram_size": 2}
    with torch.no_grad():
        found = model.generate(torch.tensor(text)[None], do_sample=False, **options)[0, 1:].tolist()
    assert ours.generate_ids(text, **options) == found
