"""`train_masked_lm`: a corpus → the folder of a masked language model like BERT or MiniLM."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tokkit.checks import as_float
from tokkit.errors import OptionError
from tokkit.files import files
from tokkit.files.safetensors import write_safetensors
from tokkit.files.sharded import WHOLE
from tokkit.loading import load as load_tokenizer
from tokkit.nn.arrays import Floats
from tokkit.nn.grad import LoraOptions, MaskedLM, Parameters, mask_tokens
from tokkit.nn.grad.masked_lm import HEAD_BIASES, head_shapes
from tokkit.pipeline import families, lm_folders, modules, training_loop
from tokkit.pipeline.adapters import NewAdapter, stated, written
from tokkit.pipeline.encoder_loading import AnySpec
from tokkit.pipeline.finetuning_data import Ids
from tokkit.pipeline.learning_encoders import CONFIG, MASKED, SavedEncoder, encoder_adapter, encoder_config
from tokkit.pipeline.lm_data import TrainingText
from tokkit.pipeline.lm_training import NO_MODEL, LMOptions, twice
from tokkit.pipeline.packing import Packer
from tokkit.pipeline.training_loop import TrainedModel, TrainingProgress, dropout_seed
from tokkit.tokenizer import Tokenizer
from tokkit.trainers import train

PRESETS: dict[str, dict[str, Any]] = {
    "bert-1m": {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4},
    "bert-5m": {"hidden_size": 256, "num_hidden_layers": 5, "num_attention_heads": 8},
    "bert-14m": {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12},
}
"""Name → the sizes of an encoder; those of bert-14m are those of all-MiniLM-L6-v2."""
TOKENS = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
"""Keys of special tokens in tokenizer_config.json."""
MASKS = ("[MASK]", "<mask>")


def train_masked_lm(
    source: object,
    output: str | os.PathLike[str],
    *,
    tokenizer: Tokenizer | None = None,
    vocab_size: int = 4096,
    config: str | os.PathLike[str] | Mapping[str, Any] = "bert-1m",
    model: str | os.PathLike[str] | None = None,
    lora: LoraOptions | None = None,
    mask_share: float = 0.15,
    options: LMOptions | None = None,
    resume: bool = False,
    overwrite: bool = False,
    evaluate_every: int = 200,
    save_every: int = 200,
    field: str = "text",
    threads: int | None = None,
    progress: Callable[[TrainingProgress], object] | None = None,
) -> TrainedModel:
    """Train an encoder as a masked language model (like BERT) on a corpus, and write its folder.

    `source` is as in `tokkit.train`; each file is one document. Without a `tokenizer` a WordPiece of `vocab_size`
    tokens is trained on it. `config` is "bert-1m", "bert-5m" or "bert-14m", or a config.json of model_type bert or its
    contents; with a `model`, the folder of a BERT, RoBERTa, XLM-RoBERTa, CamemBERT, DistilBERT, ELECTRA, MPNet,
    ModernBERT, Nomic BERT or GTE, that model is trained further.

    Texts are `options.context` tokens, special ones included, from random positions of the corpus; the share
    `mask_share` of their tokens is predicted, see `tokkit.nn.grad.mask_tokens`. `load` returns the folder as a
    `SentenceEncoder` with a head for masked tokens, transformers loads it as a masked language model, and `train_pairs`
    and `train_classifier` can fine-tune it. `lora`, the other parameters and the errors are as in `train_lm`.
    """
    options, folder = options or LMOptions(), Path(output)
    if not 0 < as_float("mask_share", mask_share) < 1:
        raise OptionError(f"mask_share is {mask_share}; it must be between 0 and 1")
    training_loop.refuse_full(folder, resume=resume, overwrite=overwrite)
    if model is not None or (resume and tokenizer is None):
        tokenizer = tokenizer or load_tokenizer(folder if model is None else Path(model))
    if tokenizer is None:
        source, again = twice(source)
        made = train(again, model="wordpiece", vocab_size=vocab_size, field=field, threads=threads)
        tokenizer = made if isinstance(made, Tokenizer) else made[0]
    about = _configuration(config, model, tokenizer, options)
    saved = None if model is None else SavedEncoder.read(Path(model), vectors=False)
    learner, adapter = _learner(about, saved, lora, options)
    task = _MaskedTask(learner, tokenizer, options, mask_share)
    text = TrainingText.of(
        source, tokenizer, context=task.window, end=None, share=options.held_out, field=field, threads=threads
    )
    task.begin(text)
    training, eval_loss = training_loop.run(
        task, options, folder, resume=resume, evaluate_every=evaluate_every, save_every=save_every, threads=threads,
        made_with={
            "configuration": about, "options": asdict(options) | {"mask_share": mask_share} | stated(lora),
            "text": text.digest,
        },
        progress=progress,
        **written(
            folder, adapter, lambda: _write_start(folder, about, tokenizer, options.context),
            lambda: _write_model(folder, task.parameters, about, saved),
        ),
    )  # fmt: skip
    parameters = len(task.parameters.data)
    return TrainedModel(folder, parameters, training.number, training.tokens, training.loss, eval_loss)


class _MaskedTask:
    """The training task: masked tokens in texts of equal length are predicted."""

    def __init__(self, model: MaskedLM, tokenizer: Tokenizer, options: LMOptions, share: float) -> None:
        mask = next((token for token in MASKS if token in tokenizer.special_tokens), None)
        if mask is None:
            raise OptionError(f"this tokenizer has none of the mask tokens {', '.join(MASKS)}; one is needed")
        self._model, self._options, self._share = model, options, share
        self._special = np.array(sorted(tokenizer.special_tokens.values()))
        self._mask = tokenizer.special_tokens[mask]
        self._packer = Packer(tokenizer, options.context)
        self.window = options.context - self._packer.n_added - 1
        """The context of `TrainingText`: the number of tokens of a text without special ones, minus 1."""
        if self.window < 1:
            raise OptionError(
                f"context is {options.context}; it must be more, because {self._packer.n_added} of the tokens are "
                "special ones"
            )

    @property
    def parameters(self) -> Parameters:
        """Return the trained weights."""
        return self._model.parameters

    def begin(self, text: TrainingText) -> None:
        """Set the training text."""
        self._text = text

    def learn(self, number: int) -> tuple[float, int]:
        """Add the gradients of a batch."""
        options, loss = self._options, 0.0
        ids = self._text.batch(options.seed, number, options.batch, self.window)
        share = 1 / options.accumulate
        for part, rows in enumerate(ids.reshape(options.accumulate, -1, ids.shape[1])):
            seed = dropout_seed(options, number, part)
            loss += share * self._model.forward_backward(*self._masked(rows, [seed, 1]), share=share, seed=seed)
        return loss, options.batch * options.context

    def evaluate(self) -> float:
        """Return the mean loss of the held-out text, with the same masks each time."""
        options, total, count = self._options, 0.0, 0
        for number, rows in enumerate(self._text.evaluation(options.batch // options.accumulate, self.window)):
            total += self._model.loss(*self._masked(rows, [options.seed, number, 2])) * len(rows)
            count += len(rows)
        return total / count

    def _masked(self, rows: Ids, seed: list[int]) -> tuple[Ids, Ids]:
        packed = self._packer.pack(rows.reshape(-1), np.arange(len(rows) + 1) * rows.shape[1])
        return mask_tokens(
            packed.ids.reshape(len(rows), -1), np.random.default_rng(seed), mask=self._mask,
            vocab_size=self._model.config.vocab_size, special=self._special, share=self._share,
        )  # fmt: skip


def _configuration(
    config: str | os.PathLike[str] | Mapping[str, Any], model: str | os.PathLike[str] | None, tokenizer: Tokenizer,
    options: LMOptions,
) -> dict[str, Any]:  # fmt: skip
    """Return the config.json of the model: as given, with missing keys added."""
    if model is not None:
        made = modules.read_json(Path(model) / CONFIG)
        if made.get("model_type") not in MASKED:
            raise OptionError(
                f"{files.show(model)}: a model of type {made.get('model_type')!r} cannot be trained on masked tokens; "
                f"these types can: {', '.join(MASKED)}"
            )
    else:
        made = lm_folders.stated_config(config, PRESETS)
    if model is None:
        if made.setdefault("model_type", "bert") != "bert":
            raise OptionError(
                f"config is of model_type {made['model_type']!r}; a new encoder must be of type bert; to train "
                "another type further, give its folder as model"
            )
        dim = made.get("hidden_size", 0)
        made = {
            "architectures": ["BertForMaskedLM"], "intermediate_size": 4 * dim if isinstance(dim, int) else 0,
            "hidden_act": "gelu", "layer_norm_eps": 1e-12, "max_position_embeddings": options.context,
            "type_vocab_size": 2, "vocab_size": tokenizer.n_ids, "pad_token_id": tokenizer.special_tokens.get("[PAD]"),
            "attention_probs_dropout_prob": options.attention_dropout or 0.0,
            "hidden_dropout_prob": options.dropout, "tie_word_embeddings": True,
        } | made  # fmt: skip
    if made.get("vocab_size", 0) < tokenizer.n_ids:
        raise OptionError(f"vocab_size is {made.get('vocab_size')}; the tokenizer has {tokenizer.n_ids} ids")
    return made


def _learner(
    about: Mapping[str, Any], saved: SavedEncoder | None, lora: LoraOptions | None, options: LMOptions
) -> tuple[MaskedLM, NewAdapter | None]:
    """Return the model, and the adapter to train instead of it, if there is one."""
    spec: AnySpec
    biases: tuple[str, ...] = HEAD_BIASES
    weights, adapter = None, None
    if saved is None:
        spec = families.read(about)
        config = encoder_config(spec)
    else:
        spec, config, biases = saved.spec, saved.config, saved.head_biases
        weights = saved.weights() | saved.masked_head()
    if lora is not None and saved is None:
        raise OptionError(NO_MODEL)
    if config.max_length is not None and options.context > config.max_length:
        raise OptionError(
            f"context is {options.context}; the configuration has positions for {config.max_length} tokens"
        )
    # Some files store the head's matrix too, although it is the table of tokens.
    matrix = None if weights is None else weights.get("head.decoder.weight")
    tied = weights is None or matrix is None or np.array_equal(matrix, weights["embeddings.word.weight"])
    if lora is not None and weights is not None and saved is not None:
        if "head.bias" not in weights:
            raise OptionError(
                f"{files.show(saved.root)} has no head for masked tokens, and lora does not train one; train without "
                "lora"
            )
        shapes = config.shapes() | head_shapes(config, tied=tied, biases=biases)
        adapter = encoder_adapter(
            spec, shapes, weights, lora, seed=options.seed, base=saved.root, task_type=None, prefix=saved.prefix
        )
        weights = None
    learner = MaskedLM(
        config, weights, tied=tied, activation=spec.head_activation, head_biases=biases, dropout=options.dropout,
        seed=options.seed,
        attention_dropout=options.attention_dropout_of(about), precision=options.precision,
        parameters=None if adapter is None else adapter.parameters,
    )  # fmt: skip
    return learner, adapter


def _write_start(folder: Path, about: Mapping[str, Any], tokenizer: Tokenizer, limit: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder / lm_folders.TOKENIZER)
    told: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": limit}
    told |= {role: token for role, token in TOKENS.items() if token in tokenizer.special_tokens}
    for name, value in ((CONFIG, about), ("tokenizer_config.json", told)):
        files.write_atomically(folder / name, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())


def _write_model(
    folder: Path, weights: Mapping[str, Floats], about: Mapping[str, Any], saved: SavedEncoder | None
) -> None:
    encoder = {ours: array for ours, array in weights.items() if not ours.startswith("head.")}
    spec: AnySpec
    if saved is None:
        spec = families.read(about)
        made: dict[str, Any] = {spec.family.prefix + spec.name(ours): array for ours, array in encoder.items()}
    else:
        spec, made = saved.spec, saved.named(encoder)
    made |= {spec.head_name(ours[5:]): array for ours, array in weights.items() if ours.startswith("head.")}
    write_safetensors(folder / WHOLE, made, {"format": "pt"})
