"""Text of a causal language model: whole, streamed, in batches, with stop strings; and errors."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import generators
from reference.decoder import logits as naive
from tokkit import nn, pipeline
from tokkit.errors import ChatError, FormatError, OptionError
from tokkit.files.safetensors import write_safetensors
from tokkit.nn.generation import log_probabilities
from tokkit.pipeline import decoder_families
from tokkit.pipeline.stopping import StoppedText

PROMPTS = ["the cat", "naïve 🦜 dog on the far log", "東京"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pipeline.load(generators.folder(tmp_path_factory.mktemp("model")))


def test_greedy_text_is_that_of_the_formulas(model: Any) -> None:
    spec = decoder_families.read(generators.LLAMA)
    weights = nn.initial(spec.config.shapes(), seed=0, std=0.3)
    ids = model.tokenizer.encode("the cat")
    for _ in range(12):
        ids.append(int(naive(spec.config, weights, np.array(ids))[-1].argmax()))
    new = ids[len(model.tokenizer.encode("the cat")) :]
    assert model.generate_ids(model.tokenizer.encode("the cat"), max_new_tokens=12) == new
    whole = model.generate_all(["the cat"], max_new_tokens=12)[0][0]
    assert (whole.ids, whole.reason) == (new, "length")
    assert model.generate("the cat", max_new_tokens=12) == whole.text
    assert whole.text == model.tokenizer.decode([id_ for id_ in new if id_ < 300])


@pytest.mark.parametrize(
    "options", [{}, {"temperature": 1.2, "seed": 4}, {"temperature": 0.8, "top_p": 0.9, "seed": 1}]
)
def test_a_text_is_the_same_streamed_alone_or_beside_others(model: Any, options: dict[str, Any]) -> None:
    alone = [model.generate(prompt, max_new_tokens=20, **options) for prompt in PROMPTS]
    assert model.generate(PROMPTS, max_new_tokens=20, **options) == alone
    assert ["".join(model.stream(prompt, max_new_tokens=20, **options)) for prompt in PROMPTS] == alone
    assert model.generate(PROMPTS, max_new_tokens=20, threads=2, **options) == alone


def test_several_texts_of_one_prompt_differ_and_share_its_reading(model: Any) -> None:
    made = model.generate_all(["the cat"], n=3, temperature=1.5, seed=0, max_new_tokens=10)[0]
    assert len({text.text for text in made}) == 3
    assert made[0].ids == model.generate_all(["the cat"], temperature=1.5, seed=0, max_new_tokens=10)[0][0].ids
    assert model.generate("the cat", temperature=1.5, seed=7) != model.generate("the cat", temperature=1.5, seed=8)


def test_it_ends_at_an_end_token_which_is_not_in_the_text(model: Any) -> None:
    made = model.generate_all(["the cat"], logit_bias={300: 1000.0})[0][0]
    assert (made.text, made.ids, made.reason) == ("", [300], "eos")
    assert list(model.stream("the cat", logit_bias={300: 1000.0})) == []


def test_it_stops_before_a_string_that_reaches_over_tokens(model: Any) -> None:
    whole = model.generate("the dog", max_new_tokens=30, temperature=0)
    assert len(whole) > 12
    for start in range(1, 9):
        stop = whole[start : start + 4]
        cut = whole[: whole.index(stop)]
        made = model.generate_all(["the dog"], max_new_tokens=30, stop=stop)[0][0]
        assert (made.text, made.reason) == (cut, "stop")
        assert "".join(model.stream("the dog", max_new_tokens=30, stop=["never", stop])) == cut


@pytest.mark.parametrize("parts", [["ab", "c"], ["a", "b", "c"], ["xab", "abc"], ["a", "ab", "bc", "d"]], ids=str)
def test_what_may_begin_a_stop_string_is_held_back(parts: list[str]) -> None:
    text = StoppedText(parts.__getitem__, lambda: "!", ["abc", "zz"])
    made = [text.step(i) for i in range(len(parts))]
    whole = "".join(parts)
    cut = whole.split("abc")[0]
    assert "".join(made) + ("" if text.stopped else text.finish()) == (cut if "abc" in whole else whole + "!")
    assert text.stopped == ("abc" in whole)


def test_log_probabilities_are_those_of_the_logits(model: Any) -> None:
    made = model.generate_all(["the cat"], max_new_tokens=4, logprobs=True, top_logprobs=3)[0][0]
    ids = model.tokenizer.encode("the cat")
    for i, id_ in enumerate(made.ids):
        expected = log_probabilities(model.logits(ids + made.ids[:i], last=True))
        assert made.logprobs[i] == pytest.approx(expected[id_], abs=1e-4)
        assert [top for top, _ in made.top[i]] == np.argsort(-expected, kind="stable")[:3].tolist()
        assert made.top[i][0][0] == id_


def test_a_callback_changes_logits(model: Any) -> None:
    seen = []

    def only(ids: list[int], logits: np.ndarray) -> np.ndarray:
        seen.append(list(ids))
        return np.where(np.arange(len(logits)) == 97 + len(ids), logits, -np.inf).astype(np.float32)

    assert model.generate_ids([1, 2], max_new_tokens=3, callback=only) == [97, 98, 99]
    assert seen == [[], [97], [97, 98]]


def test_it_ends_where_positions_end_or_time_is_up(model: Any) -> None:
    made = model.generate_all([list(range(60))])[0][0]
    assert (len(made.ids), made.reason) == (4, "length")
    assert model.generate_all(["the"], max_time=1e-9)[0][0].reason in ("time", "eos")


def test_a_prompt_that_is_too_long_is_refused_or_its_end_taken(model: Any) -> None:
    with pytest.raises(OptionError, match=r"70 tokens, and the model has positions for 64.*truncate=True"):
        model.generate_ids(list(range(70)))
    cut = model.generate_ids(list(range(70)), truncate=True, max_new_tokens=1)
    assert cut == model.generate_ids(list(range(7, 70)), max_new_tokens=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"max_new_tokens": 0}, "max_new_tokens"), ({"n": 0}, "n is 0"), ({"stop": ""}, "stop is ''"),
     ({"stop": [5]}, "stop"), ({"max_time": 0}, "max_time"), ({"temperature": -1}, "temperature"),
     ({"top_logprobs": -1}, "top_logprobs")],
)  # fmt: skip
def test_options_that_cannot_work_are_refused(model: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        model.generate_all(["the"], **options)


def test_a_prompt_needs_a_token(model: Any) -> None:
    for prompt in ("", []):
        with pytest.raises(OptionError, match="at least one"):
            model.generate(prompt) if isinstance(prompt, str) else model.generate_ids(prompt)
    with pytest.raises(IndexError, match="the id 320"):
        model.generate_ids([320])
    assert model.generate([]) == []


def test_next_tokens_and_scores_are_probabilities(model: Any) -> None:
    found = model.next_tokens("the cat", 303)
    assert sum(token.probability for token in found) == pytest.approx(1, abs=0.15)  # 18 rows belong to no token
    assert [t.probability for t in found] == sorted((t.probability for t in found), reverse=True)
    assert found[0].token == model.tokenizer.decode([found[0].id])
    ids = model.tokenizer.encode("the cat sat")
    scores = model.token_logprobs(ids)
    logits = log_probabilities(model.logits(ids))
    np.testing.assert_allclose(scores, [logits[i, id_] for i, id_ in enumerate(ids[1:])], atol=1e-5)
    start = len(model.tokenizer.encode("the cat"))
    assert model.score("the cat", [" sat"]) == [pytest.approx(scores[start - 1 :].sum(), abs=1e-4)]
    with pytest.raises(OptionError, match="no tokens"):
        model.score("the cat", [""])


def test_a_chat_is_written_by_the_folders_template(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="needs the extra chat")
    home = generators.folder(tmp_path / "chat")
    model = pipeline.load(home)
    with pytest.raises(ChatError, match="no chat template"):
        model.chat([{"role": "user", "content": "the cat"}])
    template = (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<|model|>{% endif %}"
    )
    (home / "chat_template.jinja").write_text(template)
    messages = [{"role": "user", "content": "the <|end|> cat"}]
    tok = model.tokenizer
    assert model.chat_ids(messages) == [301, *tok.encode("the <|end|> cat", special="text"), 302]
    assert model.chat(messages, max_new_tokens=5) == model.generate_all(
        [model.chat_ids(messages)], max_new_tokens=5
    )[0][0].text  # fmt: skip


def test_weights_that_give_no_numbers_are_an_error_that_names_the_layer(tmp_path: Path) -> None:
    home = generators.folder(tmp_path / "broken")
    tensors = generators.tensors(decoder_families.read(generators.LLAMA))
    tensors["model.layers.1.mlp.down_proj.weight"][3, 3] = np.nan
    write_safetensors(home / "model.safetensors", tensors, overwrite=True)
    with pytest.raises(FormatError, match="NaN or infinite, first in layer 1 of 2"):
        pipeline.load(home).generate("the cat")


def test_logits_of_minus_infinity_are_an_error_as_well(tmp_path: Path) -> None:
    home = generators.folder(tmp_path / "broken")
    model = pipeline.load(home)
    tensors = generators.tensors(decoder_families.read(generators.LLAMA))
    id_ = max(set(range(300)) - set(model.ids("the")))
    tensors["model.embed_tokens.weight"][id_] = np.where(model.hidden_states("the")[-1][-1] > 0, -3e38, 3e38)
    write_safetensors(home / "model.safetensors", tensors, overwrite=True)
    with pytest.raises(FormatError, match="NaN or infinite, first in the head"):
        pipeline.load(home).logits("the", last=True)


def test_a_pickle_is_the_folder_and_not_the_weights(model: Any) -> None:
    data = pickle.dumps(model)
    assert len(data) < 5000
    assert pickle.loads(data).generate("the cat", max_new_tokens=5) == model.generate("the cat", max_new_tokens=5)
    assert "2 layers, 32 dimensions, 320 tokens, float32" in repr(model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_position_embeddings": None}, "max_position_embeddings"),
        ({"num_key_value_heads": 3}, "4 query heads are not a multiple of 3 key heads"),
        ({"hidden_act": "mish"}, "'mish' is not supported"),
        (
            {"rope_scaling": {"rope_type": "xpos", "factor": 2.0}},
            "'xpos' is not supported; it must be one of default, linear",
        ),
        ({"rope_scaling": {"rope_type": "longrope", "factor": 2.0}}, "rope_scaling.long_factor: missing"),
        (
            {"rope_scaling": {"rope_type": "longrope", "long_factor": [1], "short_factor": [1, 1, 1, 1]}},
            "long_factors has 1 numbers; it must have one for each of 4 pairs",
        ),
        ({"model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 3}, "top is 3; there are 2 experts"),
        ({"model_type": "qwen2_moe"}, "num_experts"),
        ({"model_type": "gemma2", "attn_logit_softcapping": -1}, "attn_logit_softcapping is -1"),
        ({"model_type": "gemma2", "use_bidirectional_attention": True}, "use_bidirectional_attention: True"),
        ({"model_type": "gemma3_text", "attn_logit_softcapping": 50.0}, r"attn_logit_softcapping: 50\.0 is not supp"),
        ({"num_hidden_layers": 3}, r"'model.layers.2.*' is missing"),
        (
            {"num_hidden_layers": 1},
            r"the tensor 'model.layers.1.* does not belong to this decoder, whose configuration has 1",
        ),
        ({"intermediate_size": 50}, r"has shape \(48, 32\); config.json requires \(50, 32\)"),
        ({"tie_word_embeddings": False}, "'lm_head.weight' is missing"),
        ({"vocab_size": 319}, r"'model.embed_tokens.weight' has shape \(320, 32\)"),
        ({"rms_norm_eps": 2}, "rms_norm_eps is 2"),
        ({"eos_token_id": "x"}, "eos_token_id: 'x'"),
        ({"rope_scaling": {"rope_type": ["yarn"]}}, "rope_type"),
        ({"query_pre_attn_scalar": 0}, "query_pre_attn_scalar is 0; it must be above 0"),
        ({"model_type": "mistral", "sliding_window": 4, "layer_types": [[], []]}, "layer_types"),
        (
            {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 4, "max_window_layers": "x"},
            "max_window_layers",
        ),
    ],
    ids=str,
)
def test_a_folder_that_does_not_fit_together_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    home = generators.folder(tmp_path / "model")
    (home / "config.json").write_text(json.dumps({**generators.LLAMA, **change}))
    with pytest.raises(FormatError, match=message):
        pipeline.load(home)


def test_a_tokenizer_with_more_ids_than_rows_is_refused(tmp_path: Path) -> None:
    home = generators.folder(tmp_path / "model", vocab_size=302)
    with pytest.raises(FormatError, match="the tokenizer has 303 ids, and the table of tokens has 302 rows"):
        pipeline.load(home)


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_smaller_precisions_give_nearly_the_same_logits(model: Any, precision: str) -> None:
    other = pipeline.load(model.folder, precision=precision)
    one, two = model.logits("the cat sat"), other.logits("the cat sat")
    assert np.sum(one * two) / np.linalg.norm(one) / np.linalg.norm(two) > 0.99
