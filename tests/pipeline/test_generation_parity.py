"""Generation compared with transformers: beams, scores, forced and banned tokens, and filtered distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import generators
from extras import extra
from tokkit import pipeline
from tokkit.nn.generation import Chooser, Sampling

pytestmark = pytest.mark.parity
torch = extra("torch")
transformers = extra("transformers")
torch.set_num_threads(1)

COMMON = {"vocab_size": 320, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SIZES = {**COMMON, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
         "max_position_embeddings": 64, "num_key_value_heads": 2}  # fmt: skip
FAMILIES: dict[str, dict[str, Any]] = {
    "gpt2": {**COMMON, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
    "llama": SIZES,
    "mistral": {**SIZES, "sliding_window": 5},
    "qwen3": {**SIZES, "head_dim": 16},
    "bloom": {**COMMON, "hidden_size": 32, "n_layer": 2, "n_head": 4},
}
ENDS = list(range(2, 320, 5))
"""Ids that end a text: so many that beams end at different lengths."""


@pytest.fixture(scope="module", params=FAMILIES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """A random model of transformers, and the same as we load it."""
    folder = tmp_path_factory.mktemp(request.param)
    config = transformers.AutoConfig.for_model(request.param, **FAMILIES[request.param])
    torch.manual_seed(len(request.param))
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight) * 0.2 if weight.ndim > 1 else weight + torch.randn_like(weight) * 0.1)
    model.save_pretrained(folder)
    generators.tokenizer().save(folder / "tokenizer.json")
    return model, pipeline.load(folder)


def prompts(seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(3, 300, int(rng.integers(1, 12))).tolist() for _ in range(3)]


def theirs(model: Any, prompt: list[int], ends: list[int], **options: Any) -> Any:
    with torch.no_grad():
        return model.generate(
            torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long), do_sample=False,
            eos_token_id=ends, pad_token_id=0, return_dict_in_generate=True, output_scores=True, **options,
        )  # fmt: skip


def cut(ids: list[int], ends: list[int]) -> list[int]:
    """Ids up to the one that ended them: padding comes after it."""
    at = [i for i, id_ in enumerate(ids) if id_ in ends]
    return ids[: at[0] + 1] if at else ids


@pytest.mark.parametrize(
    ("beams", "early", "penalty"),
    [(2, False, 1.0), (4, True, 1.0), (7, "never", 1.0), (4, False, -1.0), (3, "never", 2.5), (5, False, 0.0)],
)
def test_beams_are_those_of_transformers(both: Any, beams: int, early: bool | str, penalty: float) -> None:
    model, ours = both
    ours.eos_ids = frozenset(ENDS)
    some = prompts(beams)
    made = ours.generate_all(
        some, n=beams, num_beams=beams, length_penalty=penalty, early_stopping=early, max_new_tokens=12
    )
    assert penalty > 1 or beams == 2 or "eos" in {text.reason for texts in made for text in texts}
    for prompt, texts in zip(some, made, strict=True):
        expected = theirs(
            model, prompt, ENDS, num_beams=beams, num_return_sequences=beams, length_penalty=penalty,
            early_stopping=early, max_new_tokens=12,
        )  # fmt: skip
        assert [t.ids for t in texts] == [cut(ids[len(prompt) :], ENDS) for ids in expected.sequences.tolist()]
        np.testing.assert_allclose([t.score for t in texts], expected.sequences_scores.numpy(), atol=1e-4)


@pytest.mark.parametrize(
    ("given", "options"),
    [({"repetition_penalty": 1.7}, {"repetition_penalty": 1.7}),
     ({"no_repeat_ngram_size": 2}, {"no_repeat_ngram_size": 2}),
     ({"min_new_tokens": 6}, {"min_new_tokens": 6}),
     ({"bad_words_ids": [[9], [5, 6], [12, 44]]}, {"banned": [9, (5, 6), (12, 44)]}),
     ({"suppress_tokens": [3, 4, 100, 2]}, {"banned": [3, 4, 100, 2]}),
     ({"forced_eos_token_id": 7}, {"forced_eos": 7}),
     ({"sequence_bias": {(5,): 4.0, (9,): 3.0}, "repetition_penalty": 1.5},
      {"logit_bias": {5: 4.0, 9: 3.0}, "repetition_penalty": 1.5})],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("beams", [1, 3])
def test_changed_logits_give_the_ids_of_transformers(
    both: Any, beams: int, given: dict[str, Any], options: dict[str, Any]
) -> None:
    model, ours = both
    ours.eos_ids = frozenset([2, 7])
    for prompt in prompts(9):
        expected = theirs(model, prompt, [2, 7], num_beams=beams, max_new_tokens=15, **given).sequences[0].tolist()
        made = ours.generate_ids(prompt, num_beams=beams, max_new_tokens=15, **options)
        assert made == cut(expected[len(prompt) :], [2, 7])


@pytest.mark.parametrize("seed", range(30))
def test_the_distribution_to_draw_from_is_that_of_transformers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, 200).astype(np.float32)
    options = {
        "temperature": float(rng.choice([0.5, 1.0, 1.7])), "top_k": int(rng.choice([0, 3, 40])),
        "top_p": float(rng.choice([1.0, 0.9, 0.4])), "min_p": float(rng.choice([0.0, 0.02, 0.3])),
        "typical_p": float(rng.choice([1.0, 0.9, 0.3])), "repetition_penalty": float(rng.choice([1.0, 1.4])),
        "no_repeat_ngram_size": int(rng.choice([0, 2])),
    }  # fmt: skip
    text = rng.integers(0, 200, 30).tolist()
    config = transformers.GenerationConfig(do_sample=True, **options)
    holder = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=4, n_layer=1, n_head=1, vocab_size=200))
    steps = holder._get_logits_processor(config, input_ids_seq_length=len(text), model_kwargs={})
    expected = steps(torch.tensor([text]), torch.tensor(logits)[None])[0].softmax(-1).numpy()
    chooser = Chooser(Sampling(**options), text)
    ids, shares = chooser.candidates(chooser.processed(logits))
    made = np.zeros(200)
    made[ids] = shares
    np.testing.assert_allclose(made, expected, atol=1e-5)


def test_states_and_attention_are_those_of_transformers(both: Any) -> None:
    model, ours = both
    prompt = prompts(3)[0] * 3
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    with torch.no_grad():
        expected = model(torch.tensor([prompt]), output_attentions=True, output_hidden_states=True)
    model.set_attn_implementation(before)
    tokens, weights = ours.attention(prompt)
    assert len(tokens) == len(prompt)
    np.testing.assert_allclose(weights, np.stack([each[0].numpy() for each in expected.attentions]), atol=1e-4)
    states = ours.hidden_states(prompt)
    # The last of theirs is after the last norm.
    theirs = np.stack([each[0].numpy() for each in expected.hidden_states[:-1]])
    np.testing.assert_allclose(states[:-1], theirs, atol=1e-4 * max(1.0, float(np.abs(theirs).max())))
