"""`train_lm`: a corpus and a tokenizer → the folder of a language model, which `load` and transformers read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tokkit.checks import as_int
from tokkit.errors import OptionError
from tokkit.nn.grad import CausalLM, LoraOptions, Parameters
from tokkit.nn.grad.causal_lm import weight_shapes
from tokkit.pipeline import lm_folders, modules, training_loop
from tokkit.pipeline.adapters import NewAdapter, stated, written
from tokkit.pipeline.lm_data import TrainingText
from tokkit.pipeline.training_loop import TrainedModel, TrainingOptions, TrainingProgress, dropout_seed
from tokkit.tokenizer import Tokenizer
from tokkit.trainers import train

NO_MODEL = "lora needs a trained model; give its folder as model"


@dataclass(frozen=True, slots=True, kw_only=True)
class LMOptions(TrainingOptions):
    """How a language model is trained.

    Each step trains on `batch` texts of `context` tokens, in `accumulate` parts, one in memory at a time. The training
    ends after `steps` steps, or after `seconds`, and the learning rate follows whichever comes first: it rises to `lr`
    over `warmup` steps, and decays to a tenth of it along half a cosine. `weight_decay`, `max_norm` and `betas` are
    those of `AdamW`, `dropout` and `precision` those of `CausalLM`. `attention_dropout` applies to the attention
    weights; None takes the value in config.json if `dropout` is above 0, else 0. With an `average` above 0, the moving
    average of the weights with that decay is evaluated and written. The same `seed` gives the same model for any number
    of threads, unless `seconds` is given.
    """

    context: int = 256

    def __post_init__(self) -> None:
        TrainingOptions.__post_init__(self)
        for name in ("context", "steps"):
            as_int(name, getattr(self, name), minimum=1)


def train_lm(
    source: object,
    output: str | os.PathLike[str],
    *,
    tokenizer: Tokenizer | None = None,
    vocab_size: int = 4096,
    config: str | os.PathLike[str] | Mapping[str, Any] = "llama-1m",
    model: str | os.PathLike[str] | None = None,
    lora: LoraOptions | None = None,
    options: LMOptions | None = None,
    resume: bool = False,
    overwrite: bool = False,
    evaluate_every: int = 200,
    save_every: int = 200,
    field: str = "text",
    threads: int | None = None,
    progress: Callable[[TrainingProgress], object] | None = None,
) -> TrainedModel:
    """Train a causal language model on a corpus, and write its folder.

    `source` is as in `tokkit.train`; each file is one document. Without a `tokenizer` a byte-level BPE of `vocab_size`
    tokens is trained on it. `config` is the name of one of `lm_folders.PRESETS`, a config.json or its contents, of a
    Llama or GPT-2 model; with a `model`, the folder of such a model, that model is trained further, with its own
    tokenizer.

    With `lora` the weights of the `model` are frozen, and adapters are trained: the folder contains only these, as PEFT
    writes them; `load` adds them to the model; see `merge_adapter`.

    The folder gets config.json, the tokenizer, and model.safetensors at the end. A checkpoint is written every
    `save_every` steps and on Ctrl-C, which then raises KeyboardInterrupt; `resume` continues from it, and the result is
    bit-identical. `progress` is called after each step; the loss on held-out text is measured every `evaluate_every`
    steps and at the end.

    Raises CorpusError for a corpus that is too small, OptionError for options that are invalid or differ from those of
    the checkpoint, TrainingError if the training diverges, FileExistsError for a folder with another model unless
    `overwrite`.
    """
    options, folder = options or LMOptions(), Path(output)
    if resume and tokenizer is None and model is None:
        tokenizer = _tokenizer_of(folder)
    training_loop.refuse_full(folder, resume=resume, overwrite=overwrite)
    weights = None
    if model is not None:
        tokenizer = tokenizer or _tokenizer_of(Path(model))
    elif tokenizer is None:
        source, again = twice(source)
        made = train(again, vocab_size=vocab_size, field=field, threads=threads, special_tokens=lm_folders.ENDS[:1])
        tokenizer = made if isinstance(made, Tokenizer) else made[0]
    if model is None:
        about = lm_folders.config_of(config, tokenizer, options.context)
    else:
        told = modules.read_json(Path(model) / "config.json")
        about = lm_folders.completed(told, tokenizer, options.context)
    spec = lm_folders.spec_of(about, options.context)
    if model is not None:
        weights = lm_folders.read_weights(Path(model), spec)
    end = lm_folders.end_token(tokenizer)
    text = TrainingText.of(
        source, tokenizer, context=options.context, end=None if end is None else tokenizer.special_tokens[end],
        share=options.held_out, field=field, threads=threads,
    )  # fmt: skip
    adapter = None
    if lora is not None:
        if weights is None or model is None:
            raise OptionError(NO_MODEL)
        prefix = spec.family.prefixes[0]

        def source_of(ours: str) -> tuple[str, str]:
            name, part = spec.source(ours)
            return prefix + name, part

        adapter = NewAdapter.of(
            lora, weight_shapes(spec.config, weights), weights, spec.config.layers.n_layers, source_of,
            seed=options.seed, base=model, task_type="CAUSAL_LM", transposed=spec.family.transposed,
        )  # fmt: skip
    learner = CausalLM(
        spec.config, weights if adapter is None else None, seed=options.seed, dropout=options.dropout,
        attention_dropout=options.attention_dropout_of(about), precision=options.precision,
        parameters=None if adapter is None else adapter.parameters,
    )  # fmt: skip
    task = _CausalTask(learner, text, options)

    training, eval_loss = training_loop.run(
        task, options, folder, resume=resume, evaluate_every=evaluate_every, save_every=save_every, threads=threads,
        made_with={"configuration": about, "options": asdict(options) | stated(lora), "text": text.digest},
        progress=progress,
        **written(
            folder, adapter, lambda: lm_folders.write_start(folder, about, tokenizer),
            lambda: lm_folders.write_model(folder, task.parameters, spec),
        ),
    )  # fmt: skip
    parameters = len(task.parameters.data)
    return TrainedModel(folder, parameters, training.number, training.tokens, training.loss, eval_loss)


class _CausalTask:
    """The training task: each token of a text predicts the next one."""

    def __init__(self, model: CausalLM, text: TrainingText, options: LMOptions) -> None:
        self._model, self._text, self._options = model, text, options

    @property
    def parameters(self) -> Parameters:
        """Return the trained weights."""
        return self._model.parameters

    def learn(self, number: int) -> tuple[float, int]:
        """Add the gradients of a batch."""
        options, loss = self._options, 0.0
        ids = self._text.batch(options.seed, number, options.batch, options.context)
        for part, rows in enumerate(ids.reshape(options.accumulate, -1, ids.shape[1])):
            seed = dropout_seed(options, number, part)
            share = 1 / options.accumulate
            loss += self._model.forward_backward(rows, share=share, seed=seed) * share
        return loss, options.batch * options.context

    def evaluate(self) -> float:
        """Return the mean loss of the held-out text."""
        options, total, count = self._options, 0.0, 0
        for ids in self._text.evaluation(options.batch // options.accumulate, options.context):
            total += self._model.loss(ids) * len(ids)
            count += len(ids)
        return total / count


def twice(source: object) -> tuple[object, object]:
    """Return a corpus twice, because an iterator of texts can be read only once."""
    if isinstance(source, Iterator):
        texts = list(source)
        return iter(texts), iter(texts)
    return source, source


def _tokenizer_of(folder: Path) -> Tokenizer:
    from tokkit.loading import load

    return load(folder)
