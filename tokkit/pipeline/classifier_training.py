"""`train_classifier`: texts with labels → the folder of a classifier, on top of a trained or frozen encoder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tokkit import nn
from tokkit.errors import CorpusError, OptionError
from tokkit.files.safetensors import write_safetensors
from tokkit.files.sharded import WHOLE
from tokkit.nn import threads as limited_threads
from tokkit.nn.arrays import Floats, initial
from tokkit.nn.grad import ClassifierHead, HeadConfig, LoraOptions, Parameters, TextClassifier
from tokkit.pipeline import training_loop
from tokkit.pipeline.adapters import OF_CLASSIFIERS, NewAdapter, stated, written
from tokkit.pipeline.classifier_model import BATCH_TOKENS, token_batches
from tokkit.pipeline.finetuning import EVALUATED, FineTuneOptions
from tokkit.pipeline.finetuning_data import Batches, Held, Ids, digest, read_labelled, taken
from tokkit.pipeline.learning_encoders import SavedEncoder, as_floats, encoder_adapter
from tokkit.pipeline.packing import Packed
from tokkit.pipeline.task_heads import of_classifier, pooled, text_head, trained_head
from tokkit.pipeline.training_loop import TrainedModel, TrainingProgress, dropout_seed
from tokkit.threads import thread_count


def train_classifier(
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
    """Train a text classifier on top of an encoder, and write its folder.

    `source` is a .jsonl or .tsv file, several of them, or rows: a text and its label; objects have the keys "text" and
    "label". `model` is the folder of an encoder, such as BERT, MiniLM, MPNet, ModernBERT or EuroBERT, or of a
    decoder, such as Qwen3-Embedding: an error for another type lists them. With `options.freeze` its layers stay, their
    states are made once, and the head alone learns; then the decoder can also have experts. `output` is a folder of an
    architecture …ForSequenceClassification, which `load` gives as a `CrossEncoder`, and which transformers reads. Where
    the code of a model is published with it (Nomic, types "new"), the weights have the names of that code.

    If the model already is such a classifier with the same labels, the training continues with its head. With `lora`
    the encoder is frozen, and adapters and the head are trained: the folder contains only these, as PEFT writes them
    for SEQ_CLS, and the labels in classifier_config.json; `load` adds them to the model; see `merge_adapter`.
    Checkpoints, `resume`, `progress` and errors are those of `train_lm`; CorpusError for fewer than two labels.
    """
    options, folder = options or FineTuneOptions(), Path(output)
    training_loop.refuse_full(folder, resume=resume, overwrite=overwrite)
    if lora is not None and options.freeze:
        raise OptionError(
            "lora and freeze are given; lora freezes the encoder already and trains adapters: give one of the two"
        )
    texts, names = read_labelled(source)
    found = sorted(set(names))
    if len(found) < 2:
        raise CorpusError(f"the {len(texts)} texts have {len(found)} different labels; at least two are needed")
    held = Held.of(len(texts), options.held_out, options.seed, options.batch)
    saved = SavedEncoder.read(Path(model), vectors=False, freeze=options.freeze)
    head = _SavedHead(saved, found)
    labels = np.array([head.labels.index(name) for name in names])
    batches = Batches(held.train, options.batch, options.seed)
    chosen = options.of(batches)
    adapter = None
    with limited_threads(thread_count(threads)):
        packed = saved.packed(texts, options.max_length)
        if options.freeze:
            learner: _Learner = _FrozenEncoder(saved, head, packed, options)
        else:
            adapter = None if lora is None else head.adapter(lora, options.seed)
            learner = _WholeModel(saved, head, packed, options, adapter)
    task = _LabelsTask(learner, labels, held, batches, chosen)
    about = head.config()
    training, eval_loss = training_loop.run(
        task, chosen, folder, resume=resume, evaluate_every=evaluate_every, save_every=save_every, threads=threads,
        made_with={"configuration": about, "options": asdict(chosen) | stated(lora), "rows": digest(packed, labels)},
        progress=progress,
        **written(
            folder, adapter, lambda: saved.write_start(folder, about), lambda: head.write(folder, learner.weights())
        ),
    )  # fmt: skip
    parameters = len(task.parameters.data)
    return TrainedModel(folder, parameters, training.number, training.tokens, training.loss, eval_loss, task.accuracy)


class _SavedHead:
    """The head of a new classifier: its labels, its names in the file, and its initial weights."""

    def __init__(self, saved: SavedEncoder, labels: list[str]) -> None:
        self.saved, self._spec = saved, text_head(saved.about)
        self.dim = saved.spec.config.dim
        told = saved.about.get("id2label")
        before = [str(told[key]) for key in sorted(told, key=int)] if isinstance(told, dict) else []
        self.labels = before if sorted(before) == labels else labels
        self._goes_on = self.labels is before and f"{self._spec.out}.weight" in saved.tensors
        dense = next(
            (name for name in self._spec.dense if name.startswith(saved.prefix)), "".join(self._spec.dense[:1])
        )
        self._names = {"dense": dense, "head_norm": self._spec.norm, "out": self._spec.out}
        self.trained: HeadConfig = trained_head(self.config(), len(self.labels))

    @property
    def pad(self) -> int | None:
        """The padding token, which a head that reads the last token does not read."""
        pad = self.saved.about.get("pad_token_id")
        return pad if isinstance(pad, int) else None

    def start(self, seed: int) -> dict[str, Floats]:
        """Return the initial weights of the head: those of the file if it has them."""
        made = initial(self.trained.shapes(self.dim), seed=seed)
        for name, weight in made.items():
            if name.startswith("out.") and not self._goes_on:
                continue
            for there in (self._file_name(name), self._file_name(name).removeprefix(self.saved.prefix)):
                if there in self.saved.tensors and self.saved.tensors[there].shape == weight.shape:
                    made[name] = as_floats(self.saved.tensors[there].float32())
        return made

    def config(self) -> dict[str, Any]:
        """Return the config.json of the classifier."""
        return dict(self.saved.about) | of_classifier(self.saved.about, self.labels)

    def adapter(self, lora: LoraOptions, seed: int) -> NewAdapter:
        """Return an adapter of the encoder, which is trained together with the head."""
        saved, start = self.saved, self.start(seed)
        shapes = saved.config.shapes() | {name: weight.shape for name, weight in start.items()}
        return encoder_adapter(
            saved.spec, shapes, saved.weights() | start, lora, seed=seed, base=saved.root, task_type=OF_CLASSIFIERS,
            prefix=saved.prefix, saved={name: self._file_name(name) for name in start},
            config=of_classifier(saved.about, self.labels),
        )  # fmt: skip

    def write(self, folder: Path, weights: Mapping[str, Floats]) -> None:
        """Write all weights by the names that transformers uses; those of the encoder as they were, unless given."""
        head = {self._file_name(ours): array for ours, array in weights.items() if self._is_head(ours)}
        trained = {ours: array for ours, array in weights.items() if not self._is_head(ours)}
        made = self.saved.named(trained) if trained else self.saved.encoder_tensors()
        write_safetensors(folder / WHOLE, made | head, {"format": "pt"})

    def _is_head(self, ours: str) -> bool:
        return ours.partition(".")[0] in self._names

    def _file_name(self, ours: str) -> str:
        """Return the file's name of a weight of the head."""
        stem, _, part = ours.partition(".")
        return f"{self._names[stem]}.{part}"


class _Learner(Protocol):
    """A head on a trained or frozen encoder."""

    parameters: Parameters

    def learn(self, texts: Ids, labels: Ids, share: float, seed: int) -> tuple[float, int]:
        """Add the gradients of some texts; return their mean loss and their number of tokens."""

    def logits(self, texts: Ids) -> Floats:
        """Return the logits of some texts."""

    def weights(self) -> Mapping[str, Floats]:
        """Return all weights, or those of the head if the encoder is frozen."""


class _WholeModel:
    def __init__(
        self, saved: SavedEncoder, head: _SavedHead, packed: Packed, options: FineTuneOptions,
        adapter: NewAdapter | None,
    ) -> None:  # fmt: skip
        self._model = TextClassifier(
            saved.config, None if adapter else saved.weights() | head.start(options.seed), head=head.trained,
            padding_id=head.pad, dropout=options.dropout,
            attention_dropout=options.attention_dropout_of(saved.about), precision=options.precision,
            parameters=adapter.parameters if adapter else None,
        )  # fmt: skip
        self.parameters, self._packed = self._model.parameters, packed

    def learn(self, texts: Ids, labels: Ids, share: float, seed: int) -> tuple[float, int]:
        ids, starts, types = taken(self._packed, texts)
        return self._model.forward_backward(ids, starts, labels, types, share=share, seed=seed), len(ids)

    def logits(self, texts: Ids) -> Floats:
        return self._model.logits(*taken(self._packed, texts))

    def weights(self) -> Mapping[str, Floats]:
        return self.parameters


class _FrozenEncoder:
    def __init__(self, saved: SavedEncoder, head: _SavedHead, packed: Packed, options: FineTuneOptions) -> None:
        encoder, n = saved.encoder(), len(packed.starts) - 1
        self._states = np.empty((n, head.dim), dtype=np.float32)
        self._lengths = np.diff(packed.starts)
        for first, end in token_batches(packed.starts, BATCH_TOKENS):
            ids, starts, types = taken(packed, np.arange(first, end))
            found = encoder(ids, starts, types)
            self._states[first:end] = pooled(found, starts, head.trained.pooling, ids, head.pad)
        start = head.start(options.seed)
        self.parameters = Parameters({name: weight.shape for name, weight in start.items()})
        self.parameters.load(start)
        self._head = ClassifierHead(self.parameters, config=head.trained, dropout=options.dropout)

    def learn(self, texts: Ids, labels: Ids, share: float, seed: int) -> tuple[float, int]:
        loss = self._head.forward_backward(self._states[texts], labels, share=share, seed=seed)
        return loss, int(self._lengths[texts].sum())

    def logits(self, texts: Ids) -> Floats:
        return self._head.logits(self._states[texts])

    def weights(self) -> Mapping[str, Floats]:
        return self.parameters


class _LabelsTask:
    """The training data: each text with its label."""

    def __init__(
        self, learner: _Learner, labels: Ids, held: Held, batches: Batches, options: FineTuneOptions
    ) -> None:  # fmt: skip
        self._learner, self._labels, self._held = learner, labels, held
        self._batches, self._options = batches, options
        self.accuracy = 0.0
        """The accuracy of the last evaluation: the share of held-out texts with the right label."""

    @property
    def parameters(self) -> Parameters:
        """Return the trained weights."""
        return self._learner.parameters

    def learn(self, number: int) -> tuple[float, int]:
        """Add the gradients of a batch."""
        options, loss, tokens = self._options, 0.0, 0
        share = 1 / options.accumulate
        for part, rows in enumerate(self._batches(number).reshape(options.accumulate, -1)):
            made, n = self._learner.learn(rows, self._labels[rows], share, dropout_seed(options, number, part))
            loss += share * made
            tokens += n
        return loss, tokens

    def evaluate(self) -> float:
        """Return the mean loss of the held-out texts, and store the accuracy."""
        rows = self._held.held_out
        parts = [rows[first : first + EVALUATED] for first in range(0, len(rows), EVALUATED)]
        logits = np.concatenate([self._learner.logits(part) for part in parts])
        self.accuracy = float((logits.argmax(1) == self._labels[rows]).mean())
        return float(nn.cross_entropy(logits, self._labels[rows]))
