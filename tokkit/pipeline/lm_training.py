"""`train_lm`: a corpus and a tokenizer → the folder of a language model, which `load` and transformers read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tokkit.errors import OptionError
from tokkit.nn.arrays import Floats
from tokkit.nn.checks import as_int
from tokkit.nn.grad import CausalLM, LoraOptions, Parameters, with_lora
from tokkit.nn.grad.causal_lm import weight_shapes
from tokkit.nn.grad.tape import is_bf16
from tokkit.pipeline import adapters, lm_folders, modules, training_loop
from tokkit.pipeline.decoder_families import DecoderSpec
from tokkit.pipeline.lm_data import TrainingText
from tokkit.pipeline.training_loop import TrainedModel, TrainingOptions, TrainingProgress, dropout_seed
from tokkit.tokenizer import Tokenizer
from tokkit.trainers import train


@dataclass(frozen=True, slots=True, kw_only=True)
class LMOptions(TrainingOptions):
    """How a language model is trained.

    Each step learns `batch` texts of `context` tokens, in `accumulate` parts that are in memory one after another.
    There are `steps` of them, or fewer if `seconds` are over before, by which the learning rate then falls. It rises to
    `lr` over `warmup` steps, and falls to a tenth of it by half a cosine. `weight_decay`, `max_norm` and `betas` are
    those of `AdamW`, `dropout` and `precision` those of `CausalLM`. With an `average` above 0, what is evaluated and
    written is the average of the weights by that decay. One `seed` gives one model, for any number of threads, unless
    `seconds` are given.
    """

    context: int = 256
    precision: str = "fp32"

    def __post_init__(self) -> None:
        TrainingOptions.__post_init__(self)
        for name in ("context", "steps"):
            as_int(name, getattr(self, name), minimum=1)
        is_bf16(self.precision)


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

    `source` is as of `tokkit.train`; files are whole documents. Without a `tokenizer` a byte-level BPE of `vocab_size`
    tokens is trained on it. `config` is the name of one of `lm_folders.PRESETS`, a config.json or its contents, of
    Llama's or GPT-2's shape; with a `model`, a folder of such a one, that goes on learning, with its own tokenizer.

    With `lora` the weights of the `model` stay, and adapters learn: the folder gets these, as PEFT writes them, and
    `load` adds them to the model; see `merge_adapter`.

    The folder gets config.json, the tokenizer, and model.safetensors at the end. A checkpoint is written every
    `save_every` steps and on Ctrl-C, which then raises KeyboardInterrupt; `resume` goes on from it and ends with the
    same bits. `progress` is called after each step; the loss on text held out is measured every `evaluate_every` steps
    and at the end.

    Raises CorpusError for a corpus that is too small, OptionError for options that cannot work or are not those of the
    checkpoint, TrainingError for a training that diverges, FileExistsError for a folder with another model unless
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
        stated = modules.read_json(Path(model) / "config.json")
        about = lm_folders.completed(stated, tokenizer, options.context)
    spec = lm_folders.spec_of(about, options.context)
    if model is not None:
        weights = lm_folders.read_weights(Path(model), spec)
    end = lm_folders.end_token(tokenizer)
    text = TrainingText.of(
        source, tokenizer, context=options.context, end=None if end is None else tokenizer.special_tokens[end],
        share=options.held_out, field=field, threads=threads,
    )  # fmt: skip
    if lora is None:
        learner = CausalLM(
            spec.config, weights, seed=options.seed, dropout=options.dropout, precision=options.precision
        )  # fmt: skip
    elif weights is None or model is None:
        raise OptionError("lora is for a model that there is; give its folder, model")
    else:
        learner, names = _adapted(spec, weights, lora, options)
    task = _CausalTask(learner, text, options)

    def begin() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if lora is None:
            lm_folders.write_start(folder, about, tokenizer)

    def write() -> None:
        if lora is None or model is None:
            lm_folders.write_model(folder, task.parameters, spec)
        else:
            adapters.write_adapter(
                folder, task.parameters, names, lora, base=os.path.abspath(model), task_type="CAUSAL_LM",
                transposed=spec.family.transposed,
            )  # fmt: skip

    training, eval_loss = training_loop.run(
        task, options, folder, resume=resume, evaluate_every=evaluate_every, save_every=save_every, threads=threads,
        made_with={"configuration": about, "options": asdict(options) | adapters.stated(lora), "text": text.digest},
        begin=begin, write=write, progress=progress,
    )  # fmt: skip
    parameters = len(task.parameters.data)
    return TrainedModel(folder, parameters, training.number, training.tokens, training.loss, eval_loss)


def _adapted(
    spec: DecoderSpec, weights: Mapping[str, Floats], lora: LoraOptions, options: LMOptions
) -> tuple[CausalLM, dict[str, str]]:
    """Return a model of which adapters learn, and their names in the model."""
    shapes = weight_shapes(spec.config, weights)
    places, names = adapters.places_of(shapes, spec.config.layers.n_layers, lora.targets, spec.source)
    parameters = with_lora(shapes, weights, places, lora, seed=options.seed)
    prefix = spec.family.prefixes[0]
    learner = CausalLM(spec.config, parameters=parameters, dropout=options.dropout, precision=options.precision)
    return learner, {ours: prefix + name for ours, name in names.items()}


class _CausalTask:
    """Each token of a text predicts the next one."""

    def __init__(self, model: CausalLM, text: TrainingText, options: LMOptions) -> None:
        self._model, self._text, self._options = model, text, options

    @property
    def parameters(self) -> Parameters:
        """Return the weights that learn."""
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
        """Return the mean loss of the text that was held out."""
        options, total, count = self._options, 0.0, 0
        for ids in self._text.evaluation(options.batch // options.accumulate, options.context):
            total += self._model.loss(ids) * len(ids)
            count += len(ids)
        return total / count


def twice(source: object) -> tuple[object, object]:
    """Return a corpus two times: an iterator of texts can be gone through once."""
    if isinstance(source, Iterator):
        texts = list(source)
        return iter(texts), iter(texts)
    return source, source


def _tokenizer_of(folder: Path) -> Tokenizer:
    from tokkit.loading import load

    return load(folder)
