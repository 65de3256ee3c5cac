"""Training of language models: folders, checkpoints that resume bit for bit, Ctrl-C, and errors."""

from __future__ import annotations

import _thread
import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from tokkit import pipeline
from tokkit.errors import CorpusError, OptionError, TrainingError
from tokkit.files.safetensors import read_safetensors
from tokkit.pipeline import LMOptions, TrainingProgress, training_checkpoints
from tokkit.pipeline.perplexity import text_score

SHAPES = {
    "llama": {"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
              "num_key_value_heads": 2},
    "gpt2": {"model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4},
}  # fmt: skip
SMALL = LMOptions(context=16, batch=8, steps=30, lr=1e-2, warmup=3, seed=1)
TEXTS = [
    f"the {a} {b} sat on the {c}.\n" for a in ("red", "old", "big") for b in ("cat", "dog") for c in ("mat", "log")
]


@pytest.fixture(scope="module")
def tokenizer() -> tokkit.Tokenizer:
    return tokkit.train(iter(TEXTS), vocab_size=280, special_tokens=["<|endoftext|>"])


def train(folder: Path, tokenizer: tokkit.Tokenizer | None, shape: str = "llama", **more: Any) -> pipeline.TrainedModel:
    more = {"options": SMALL, "config": SHAPES[shape], "tokenizer": tokenizer} | more
    return pipeline.train_lm(iter(TEXTS * 5), folder, **more)


def weights_of(folder: Path) -> dict[str, np.ndarray]:
    return {name: np.array(t.data) for name, t in read_safetensors(folder / "model.safetensors").items()}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_learns_and_its_folder_generates_what_it_learnt(
    tmp_path: Path, tokenizer: tokkit.Tokenizer, shape: str
) -> None:
    told: list[TrainingProgress] = []
    options = LMOptions(context=16, batch=8, steps=50, lr=1e-2, warmup=3, seed=1)
    made = train(tmp_path / "m", tokenizer, shape, options=options, progress=told.append, evaluate_every=10)
    assert made.eval_loss < 1.2 < 5 < told[0].loss
    assert [now.step for now in told] == list(range(1, 51))
    assert told[9].eval_loss is not None
    assert told[-1].seconds_left == 0
    model = pipeline.load(tmp_path / "m")
    assert model.generate("the old cat", max_new_tokens=3).startswith(" sat on the")
    assert not (tmp_path / "m" / training_checkpoints.NAME).exists()


def test_fewer_bits_change_the_perplexity_of_what_was_learnt_little(
    tmp_path: Path, tokenizer: tokkit.Tokenizer
) -> None:
    options = LMOptions(context=16, batch=8, steps=50, lr=1e-2, warmup=3, seed=1)
    train(tmp_path / "m", tokenizer, options=options, config={**SHAPES["llama"], "hidden_size": 64})
    text = "".join(TEXTS)
    exact = text_score(pipeline.load(tmp_path / "m"), text).perplexity
    for precision, most in (("bf16", 0.005), ("int8", 0.005), ("int8-weight-only", 0.005), ("int4", 0.03)):
        changed = text_score(pipeline.load(tmp_path / "m", precision=precision), text).perplexity
        assert abs(changed / exact - 1) < most, precision


def test_a_training_that_is_resumed_ends_in_the_same_bits(tmp_path: Path, tokenizer: tokkit.Tokenizer) -> None:
    options = LMOptions(context=16, batch=8, accumulate=2, steps=12, lr=1e-2, dropout=0.1, average=0.9, seed=3)
    whole = train(tmp_path / "whole", tokenizer, "gpt2", options=options, threads=1)

    def end(now: TrainingProgress) -> None:
        if now.step == 7:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        train(tmp_path / "parts", tokenizer, "gpt2", options=options, save_every=5, progress=end, threads=2)
    again = train(tmp_path / "parts", tokenizer, "gpt2", options=options, resume=True, threads=2)
    assert (again.eval_loss, again.loss) == (whole.eval_loss, whole.loss)
    one, other = weights_of(tmp_path / "whole"), weights_of(tmp_path / "parts")
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_ctrl_c_leaves_a_checkpoint_after_a_whole_step(tmp_path: Path, tokenizer: tokkit.Tokenizer) -> None:
    def interrupt(now: TrainingProgress) -> None:
        if now.step == 4:
            _thread.interrupt_main(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "m", tokenizer, progress=interrupt)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    kept = read_safetensors(tmp_path / "m" / training_checkpoints.NAME)
    assert json.loads(kept.metadata["counts"])["number"] == 4
    assert not (tmp_path / "m" / "model.safetensors").exists()
    resumed: list[int] = []
    # The tokenizer is that of the folder.
    train(tmp_path / "m", None, resume=True, progress=lambda now: resumed.append(now.step))
    assert resumed[0] == 5
    assert (tmp_path / "m" / "model.safetensors").exists()


def test_a_checkpoint_of_another_configuration_names_both(tmp_path: Path, tokenizer: tokkit.Tokenizer) -> None:
    with pytest.raises(OptionError, match=r"no .*training\.safetensors to resume from"):
        train(tmp_path / "m", tokenizer, resume=True)

    def end(now: TrainingProgress) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        train(tmp_path / "m", tokenizer, save_every=1, progress=lambda now: now.step == 2 and end(now))
    with pytest.raises(OptionError, match=r'made with configuration .*"llama".*, but .*"gpt2".* was given'):
        train(tmp_path / "m", tokenizer, "gpt2", resume=True)
    with pytest.raises(OptionError, match=r'made with options .*"lr": 0.01.*"lr": 0.5'):
        train(tmp_path / "m", tokenizer, options=LMOptions(context=16, batch=8, steps=30, lr=0.5), resume=True)
    with pytest.raises(FileExistsError, match="not empty"):
        train(tmp_path / "m", tokenizer)


def test_a_model_of_a_folder_goes_on_learning(tmp_path: Path, tokenizer: tokkit.Tokenizer) -> None:
    first = train(tmp_path / "m", tokenizer, "gpt2")
    options = LMOptions(context=16, batch=8, steps=2, lr=1e-4)
    more = train(tmp_path / "n", tokenizer, model=tmp_path / "m", options=options)
    assert more.eval_loss < first.eval_loss + 0.1
    before, after = weights_of(tmp_path / "m"), weights_of(tmp_path / "n")
    assert before.keys() == after.keys()
    assert all(0 < np.abs(before[name] - after[name]).max() < 1e-3 for name in before)


def test_texts_of_an_iterator_make_the_tokenizer_and_the_model(tmp_path: Path) -> None:
    made = train(tmp_path / "m", None, vocab_size=280, options=LMOptions(context=16, batch=2, steps=1))
    assert made.steps == 1
    assert tokkit.load(tmp_path / "m").n_ids == 280


def test_what_cannot_be_learnt_is_said(tmp_path: Path, tokenizer: tokkit.Tokenizer) -> None:
    with pytest.raises(CorpusError, match=r"has \d+ tokens; a context of 900 needs at least 1802"):
        train(tmp_path / "m", tokenizer, options=LMOptions(context=900))
    with pytest.raises(OptionError, match="config is 'llama-7b'; it must be one of llama-1m"):
        train(tmp_path / "m", tokenizer, config="llama-7b")
    with pytest.raises(OptionError, match="model_type 'qwen2'; a new model must be one of llama, gpt2"):
        train(tmp_path / "m", tokenizer, config=SHAPES["llama"] | {"model_type": "qwen2"})
    with pytest.raises(OptionError, match="it must be a multiple of accumulate, 3"):
        LMOptions(batch=8, accumulate=3)
    assert not (tmp_path / "m").exists()
    with pytest.raises(TrainingError, match=r"learning rate, 30, is too high|not finite"):
        train(tmp_path / "m", tokenizer, options=LMOptions(context=16, batch=8, steps=200, lr=30, warmup=0))


def test_a_training_in_bf16_has_the_losses_of_one_in_float32(tmp_path: Path, tokenizer: tokkit.Tokenizer) -> None:
    losses: dict[str, list[float]] = {"fp32": [], "bf16": []}
    for precision, told in losses.items():
        options = LMOptions(context=16, batch=8, steps=40, lr=1e-2, warmup=3, seed=1, precision=precision)
        note = lambda now, told=told: told.append(now.loss)  # noqa: E731
        train(tmp_path / precision, tokenizer, options=options, progress=note)
    assert losses["bf16"] != losses["fp32"]
    assert np.abs(np.subtract(losses["bf16"], losses["fp32"])).max() < 0.05
    with pytest.raises(OptionError, match="precision is 'int8'"):
        LMOptions(precision="int8")
