"""Fine-tunes encoders of folders: `train_pairs` for sentence vectors, `train_classifier` for labels of texts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from tokkit.checks import as_float, as_int
from tokkit.errors import OptionError
from tokkit.nn import threads as limited_threads
from tokkit.nn.arrays import Floats
from tokkit.nn.grad import LoraOptions, Parameters, SentencePairs
from tokkit.pipeline import training_loop
from tokkit.pipeline.adapters import stated, written
from tokkit.pipeline.finetuning_data import Batches, Held, Ids, digest, read_rows, taken
from tokkit.pipeline.learning_encoders import SavedEncoder
from tokkit.pipeline.packing import Packed
from tokkit.pipeline.training_loop import TrainedModel, TrainingOptions, TrainingProgress, dropout_seed
from tokkit.threads import thread_count

EVALUATED = 64
"""Texts whose states are in memory at once in evaluation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FineTuneOptions(TrainingOptions):
    """How an encoder is fine-tuned.

    Each step trains on `batch` rows, in `accumulate` parts; in pairs, wrong answers come from the same part. The number
    of steps follows from `epochs`, or is `steps` if that is above 0. The logits of pairs are `scale` times the cosine.
    `freeze` freezes the encoder of a classifier, and only its head is trained. Texts are cut at `max_length` tokens, by
    default the maximum of the model. The other options are those of `LMOptions`.
    """

    batch: int = 32
    epochs: int = 3
    steps: int = 0
    lr: float = 5e-5
    warmup: int = 10
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    held_out: float = 0.1
    scale: float = 20.0
    freeze: bool = False
    max_length: int | None = None

    def __post_init__(self) -> None:
        TrainingOptions.__post_init__(self)
        as_int("epochs", self.epochs, minimum=1)
        as_float("scale", self.scale, greater_than=0)
        if self.freeze and self.precision != "fp32":
            raise OptionError(
                f"freeze and precision {self.precision} are given; a head that is trained alone needs precision fp32"
            )

    def of(self, batches: Batches) -> FineTuneOptions:
        """Return the same with the number of steps."""
        return self if self.steps else replace(self, steps=self.epochs * batches.per_epoch())


def train_pairs(
    source: object,
    output: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str],
    lora: LoraOptions | None = None,
    options: FineTuneOptions | None = None,
    resume: bool = False,
    overwrite: bool = False,
    evaluate_every: int = 200,
    save_every: int = 200,
    threads: int | None = None,
    progress: Callable[[TrainingProgress], object] | None = None,
) -> TrainedModel:
    """Fine-tune a sentence encoder on rows of texts that belong together, and write its folder.

    `source` is a .jsonl or .tsv file, several of them, or rows: two texts that belong together and, in further columns,
    texts that do not belong to the first. All other texts of a batch are wrong answers: the loss is that of
    `SentencePairs`, the MultipleNegativesRankingLoss of sentence-transformers. Rows with a common text are never in one
    batch.

    `model` is the folder of an encoder, such as BERT, MiniLM, MPNet, ModernBERT or GTE, or of a decoder, such as
    Qwen3-Embedding, pooled by the mean, its first or its last token; `output` gets the same files, with other weights,
    which `load` and sentence-transformers read.
    With `lora` its weights stay, and adapters learn: the folder gets these alone, as PEFT writes them. Checkpoints,
    `resume`, `progress` and errors are those of `train_lm`.

    >>> from tokkit import pipeline
    >>> made = pipeline.train_pairs("pairs.jsonl", "tuned", model="all-MiniLM-L6-v2/")  # doctest: +SKIP
    """
    options, folder = options or FineTuneOptions(), Path(output)
    training_loop.refuse_full(folder, resume=resume, overwrite=overwrite)
    rows = read_rows(source)
    held = Held.of(len(rows), options.held_out, options.seed, options.batch)
    saved = SavedEncoder.read(Path(model), vectors=True)
    with limited_threads(thread_count(threads)):
        packed = saved.packed([row[i] for i in range(len(rows[0])) for row in rows], options.max_length)
    batches = Batches(held.train, options.batch, options.seed, [frozenset(row) for row in rows])
    chosen = options.of(batches)
    adapter = None if lora is None else saved.adapter(lora, options.seed)
    learner = SentencePairs(
        saved.config, saved.weights() if adapter is None else None, pooling=saved.pooling, scale=options.scale,
        dropout=options.dropout, attention_dropout=options.attention_dropout_of(saved.about),
        precision=options.precision, parameters=None if adapter is None else adapter.parameters,
    )  # fmt: skip

    task = _PairsTask(learner, packed, len(rows), held, batches, chosen)
    training, eval_loss = training_loop.run(
        task, chosen, folder, resume=resume, evaluate_every=evaluate_every, save_every=save_every, threads=threads,
        made_with={"model": saved.about, "options": asdict(chosen) | stated(lora), "rows": digest(packed)},
        progress=progress,
        **written(
            folder, adapter, lambda: saved.write_start(folder), lambda: saved.write_model(folder, task.parameters)
        ),
    )  # fmt: skip
    with limited_threads(thread_count(threads)):
        accuracy = task.accuracy()
    n = len(task.parameters.data)
    return TrainedModel(folder, n, training.number, training.tokens, training.loss, eval_loss, accuracy)


class _PairsTask:
    """The training data: texts of one row belong together, texts of different rows do not."""

    def __init__(
        self, model: SentencePairs, packed: Packed, n: int, held: Held, batches: Batches, options: FineTuneOptions
    ) -> None:
        self._model, self._packed, self._n, self._held = model, packed, n, held
        self._batches, self._options = batches, options
        self._columns = (len(packed.starts) - 1) // n

    @property
    def parameters(self) -> Parameters:
        """Return the trained weights."""
        return self._model.parameters

    def _texts(self, rows: Ids) -> Ids:
        return (rows + self._n * np.arange(self._columns)[:, None]).reshape(-1)

    def learn(self, number: int) -> tuple[float, int]:
        """Add the gradients of a batch."""
        options, loss, tokens = self._options, 0.0, 0
        for part, rows in enumerate(self._batches(number).reshape(options.accumulate, -1)):
            ids, starts, types = taken(self._packed, self._texts(rows))
            share, seed = 1 / options.accumulate, dropout_seed(options, number, part)
            loss += share * self._model.forward_backward(
                ids, starts, types, columns=self._columns, share=share, seed=seed
            )
            tokens += len(ids)
        return loss, tokens

    def evaluate(self) -> float:
        """Return the mean loss of the held-out rows, in batches as in training."""
        rows, step, total = self._held.held_out, self._options.batch // self._options.accumulate, 0.0
        for first in range(0, len(rows), step):
            some = rows[first : first + step]
            total += self._model.loss(*taken(self._packed, self._texts(some)), columns=self._columns) * len(some)
        return total / len(rows)

    def accuracy(self) -> float:
        """Return the share of held-out rows whose second text is the nearest of all second texts to the first one."""
        firsts, seconds = self._held.held_out, self._held.held_out + self._n
        made: list[Floats] = []
        for texts in (firsts, seconds):
            parts = [texts[i : i + EVALUATED] for i in range(0, len(texts), EVALUATED)]
            vectors = np.concatenate([self._model.vectors(*taken(self._packed, part)) for part in parts])
            made.append(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
        return float(((made[0] @ made[1].T).argmax(1) == np.arange(len(firsts))).mean())
