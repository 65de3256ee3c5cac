"""Speculative decoding gives the same texts and distributions, in fewer steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import generators
from tokkit import pipeline
from tokkit.errors import OptionError
from tokkit.nn.generation import Chooser, Sampling, log_probabilities
from tokkit.pipeline.generation import Batch
from tokkit.pipeline.generation_options import GenerationOptions
from tokkit.pipeline.speculation import PromptLookup

PROMPTS = ["the cat sat on the mat; the cat sat on", "naïve 🦜 dog", "東京東京東京"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pipeline.load(generators.folder(tmp_path_factory.mktemp("model")))


@pytest.fixture(scope="module")
def drafts(model: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The model itself, nearly itself, and another one with fewer positions and more rows."""
    other = generators.folder(
        tmp_path_factory.mktemp("other"), seed=7, vocab_size=330, num_hidden_layers=1, max_position_embeddings=40
    )
    return {"same": model, "rounded": pipeline.load(model.folder, precision="int8"), "other": pipeline.load(other)}


@pytest.mark.parametrize("cache", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("dtype", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize("heads", [(4, 2), (36, 1)])
def test_tokens_read_as_steps_have_the_bits_of_one_at_a_time(
    tmp_path: Any, dtype: str, heads: tuple[int, int], cache: str
) -> None:
    n, kv = heads
    folder = generators.folder(tmp_path, num_attention_heads=n, num_key_value_heads=kv, hidden_size=n * 4)
    decoder = pipeline.load(folder, precision=dtype, cache=cache).decoder  # type: ignore[union-attr]
    rng = np.random.default_rng(0)
    ids, prompt = rng.integers(0, 320, 21), rng.integers(0, 320, 30)
    one, all_, beside = decoder.cache(), decoder.cache(), decoder.cache()
    decoder([prompt, prompt], [one, all_])
    steps = np.concatenate([decoder([ids[i : i + 1]], [one]) for i in range(21)])
    both = decoder([ids, prompt], [all_, beside], as_steps=[0])
    assert np.array_equal(both[:21], steps)
    assert np.array_equal(decoder.logits(both)[:21], np.concatenate([decoder.logits(row[None]) for row in steps]))
    assert np.array_equal(decoder([[5]], [all_]), decoder([[5]], [one]))
    for layer in range(2):
        np.testing.assert_array_equal(all_.keys(layer), one.keys(layer))


OPTIONS: list[dict[str, Any]] = [
    {}, {"repetition_penalty": 1.3, "no_repeat_ngram_size": 3}, {"stop": ["a", "on"]}, {"logprobs": True},
    {"callback": lambda ids, logits: np.where(np.arange(len(logits)) == 100, logits + len(ids), logits)},
    {"max_new_tokens": 2}, {"min_new_tokens": 5, "forced": (5, 6, 5, 6), "banned": [(6, 5, 7)]},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "none")
@pytest.mark.parametrize("draft", ["same", "rounded", "other", "look-up"])
def test_greedy_texts_are_those_without(model: Any, drafts: Any, draft: str, options: dict[str, Any]) -> None:
    options = {"max_new_tokens": 24, **options}
    by = {"prompt_lookup": 5} if draft == "look-up" else {"draft": drafts[draft]}
    expected = model.generate_all(PROMPTS, **options)
    assert model.generate_all(PROMPTS, **options, **by) == expected
    assert "".join(model.stream(PROMPTS[0], **options, **by)) == expected[0][0].text


@pytest.mark.parametrize("seed", range(4))
def test_look_up_draws_the_texts_that_there_are_without(model: Any, seed: int) -> None:
    options = {"temperature": 0.5, "top_p": 0.9, "seed": seed, "n": 2, "max_new_tokens": 24}
    assert model.generate_all(PROMPTS, prompt_lookup=4, **options) == model.generate_all(PROMPTS, **options)


def steps_of(model: Any, prompt: str, **options: Any) -> tuple[int, int]:
    chosen = GenerationOptions.of({"max_new_tokens": 24, **options})
    text = model.begin(model.prompt_ids(prompt, chosen), chosen)
    batch, n = Batch(model.decoder, [text]), 0
    while len(batch):
        batch.step()
        n += 1
        assert text.read == [*text.prompt.tolist(), *text.ids][: text.cache.length]
    return n, len(text.ids)


def test_tokens_that_are_foreseen_take_fewer_steps(model: Any, drafts: Any) -> None:
    n, tokens = steps_of(model, "the cat", draft=drafts["same"])
    assert (n, tokens) == (5, 24)  # 1, 5, 7, 9 and the rest
    again = model.generate("the cat", max_new_tokens=24)
    repeated = {"callback": lambda ids, logits: np.eye(320, dtype=np.float32)[10 + len(ids) % 3]}
    assert again
    assert steps_of(model, "the cat", prompt_lookup=8, **repeated)[0] <= 9
    assert steps_of(model, "the cat", **repeated)[0] == 24


def test_what_repeats_itself_is_proposed_through_its_end() -> None:
    lookup = PromptLookup(7)
    chooser = Chooser(Sampling(), [9, 1, 2, 1, 2])
    assert lookup.propose(chooser, 7).ids == [1, 2]
    for _ in range(9):
        lookup.judged(2, 2)
    assert lookup.propose(chooser, 7).ids == [1, 2, 1, 2, 1, 2, 1]
    chooser.add(9)
    assert lookup.propose(chooser, 2).ids == [1, 2]
    for _ in range(9):
        lookup.judged(7, 0)
    assert lookup.propose(chooser, 7).ids == ()  # a token alone
    chooser.add(1)
    assert lookup.propose(chooser, 7).ids == [2]


@pytest.mark.parametrize("seed", range(4))
def test_what_is_drawn_after_a_proposal_has_the_distribution_to_draw_from(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits, other = rng.normal(0, 1.5, (2, 8)).astype(np.float32)
    sampling = Sampling(temperature=1.0, top_k=5, banned=(int(rng.integers(8)),))
    chooser, draft = Chooser(sampling, seed=[seed, 0]), Chooser(Sampling(temperature=1.3), seed=[seed, 1])
    counts, n, kept = np.zeros(8), 5_000, 0
    for _ in range(n):
        proposed, drawn_from = draft.draw(other)
        chosen = chooser.choose_after(logits, proposed, drawn_from)
        counts[chosen] += 1
        kept += chosen == proposed
    expected, theirs = np.zeros(8), np.zeros(8)
    for into, (ids, shares) in ((expected, chooser.draw(logits)[1]), (theirs, draft.draw(other)[1])):
        into[ids] = shares
    assert counts[expected == 0].sum() == 0
    left = expected > 0
    # 99.9 % of chi-squares with 4 degrees of freedom are below 18.5.
    assert ((counts[left] - n * expected[left]) ** 2 / (n * expected[left])).sum() < 18.5
    assert kept / n >= np.minimum(expected, theirs).sum() - 0.03


def test_drawn_texts_have_the_distribution_that_there_is_without_a_draft(model: Any, drafts: Any) -> None:
    prompt, n = [5, 6, 7], 600
    options = {"temperature": 0.8, "top_k": 2, "max_new_tokens": 3, "n": n, "seed": 1}
    counts: dict[tuple[int, ...], int] = {}
    for made in model.generate_all([prompt], draft=drafts["other"], **options)[0]:
        counts[tuple(made.ids)] = counts.get(tuple(made.ids), 0) + 1

    def shares(ids: list[int], share: float) -> dict[tuple[int, ...], float]:
        if len(ids) == 3:
            return {tuple(ids): share}
        chooser = Chooser(Sampling(temperature=0.8, top_k=2))
        found, each = chooser.candidates(model.logits(prompt + ids, last=True))
        made: dict[tuple[int, ...], float] = {}
        for id_, p in zip(found.tolist(), each.tolist(), strict=True):
            made |= shares([*ids, id_], share * p)
        return made

    expected = shares([], 1.0)
    assert set(counts) <= set(expected)
    # 99.9 % of chi-squares with 7 degrees of freedom are below 24.3.
    assert sum((counts.get(ids, 0) - n * p) ** 2 / (n * p) for ids, p in expected.items()) < 24.3


def test_a_draft_of_other_tokens_is_refused(model: Any, tmp_path: Any) -> None:
    home = generators.folder(tmp_path / "other")
    generators.tokenizer().with_special_tokens({"<more>": 303}).save(home / "tokenizer.json", overwrite=True)
    other = pipeline.load(home)
    with pytest.raises(OptionError, match=r"the draft model other has another vocabulary than model\d+: 1 ids"):
        model.generate("the", draft=other)
    for options in ({"draft": model, "prompt_lookup": 2}, {"prompt_lookup": -1}):
        with pytest.raises(OptionError, match="prompt_lookup"):
            model.generate("the", **options)


def test_log_probabilities_of_foreseen_tokens_are_those_of_the_logits(model: Any, drafts: Any) -> None:
    made = model.generate_all(["the cat"], draft=drafts["rounded"], logprobs=True, top_logprobs=1, max_new_tokens=9)
    ids = model.ids("the cat").tolist()
    for i, id_ in enumerate(made[0][0].ids):
        expected = log_probabilities(model.logits(ids + made[0][0].ids[:i], last=True))
        assert made[0][0].logprobs[i] == pytest.approx(expected[id_], abs=1e-4)


def test_proposals_that_are_dropped_leave_windows_as_they_were(drafts: Any, tmp_path: Any) -> None:
    home = generators.folder(tmp_path, model_type="mistral", sliding_window=7, max_position_embeddings=1024)
    windowed: Any = pipeline.load(home)
    options = {"max_new_tokens": 500, "temperature": 0.7, "seed": 3}
    assert windowed.generate("the cat", prompt_lookup=9, **options) == windowed.generate("the cat", **options)
    short = {"max_new_tokens": 35, "repetition_penalty": 1.2}
    assert windowed.generate("the", draft=drafts["rounded"], **short) == windowed.generate("the", **short)
