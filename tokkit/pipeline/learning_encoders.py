"""Encoders that are trained further: their configuration and weights for `tokkit.nn.grad`, and their folders."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokkit.checks import as_int
from tokkit.errors import OptionError
from tokkit.files import files
from tokkit.files.safetensors import Tensor, Tensors, write_safetensors
from tokkit.files.sharded import WHOLE, read_model
from tokkit.loading import load as load_tokenizer
from tokkit.nn import current_threads
from tokkit.nn.arrays import Floats
from tokkit.nn.grad import EncoderConfig, LoraOptions
from tokkit.nn.grad.encoder_config import TABLES
from tokkit.nn.grad.masked_lm import HEAD_BIASES
from tokkit.nn.grad.parameters import Shapes
from tokkit.pipeline import (
    decoder_families,
    encoder_loading,
    families,
    layered_families,
    lm_folders,
    modules,
    task_heads,
)
from tokkit.pipeline.adapters import NewAdapter
from tokkit.pipeline.copying import copy_files
from tokkit.pipeline.encoder_loading import AnyEncoder, AnySpec
from tokkit.pipeline.families import EncoderSpec
from tokkit.pipeline.layered_weights import LayeredWeights
from tokkit.pipeline.packing import Packed, Packer
from tokkit.pipeline.weights import Weights
from tokkit.tokenizer import Tokenizer

MASKED = (
    *families.FAMILIES, *(name for name, family in layered_families.FAMILIES.items() if family.head),
)  # fmt: skip
"""Types of encoders that can be trained on masked tokens."""
LEARNT = (
    *families.FAMILIES, *layered_families.FAMILIES,
    "gpt2", "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma3_text", "phi3",
)  # fmt: skip
"""Types of models that can be fine-tuned as encoders."""
FROZEN = tuple(task_heads.CLASSES)
"""Types of models on which a classifier learns while they stay as they are."""
POOLINGS = {"mean": "mean", "cls": "cls", "lasttoken": "last"}
"""The poolings with which vectors can be trained → their names in `SentencePairs`."""
CONFIG = "config.json"
NO_LIMIT = 1 << 31


def encoder_config(spec: EncoderSpec) -> EncoderConfig:
    """Return the specification of a trainable encoder with BERT's layers."""
    return EncoderConfig(
        layers=spec.config, vocab_size=spec.vocab_size, positions=spec.positions, types=spec.types,
        position_offset=spec.position_offset, padding_idx=spec.padding_idx,
        embedding_dim=None if spec.embedding_dim == spec.config.dim else spec.embedding_dim,
    )  # fmt: skip


def encoder_weights(tensors: Mapping[str, Tensor], spec: EncoderSpec, where: str) -> dict[str, Floats]:
    """Return copies of the weights of an encoder by our names, as float32."""
    found = Weights(tensors, spec, where)
    return {name: as_floats(array) for name, array in found.items()}


def as_floats(array: NDArray[Any]) -> Floats:
    """Return a float32 copy of a tensor; uint16 is bfloat16."""
    if array.dtype == np.uint16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return np.array(array, dtype=np.float32)


def encoder_adapter(
    spec: AnySpec, shapes: Shapes, weights: Mapping[str, Floats], lora: LoraOptions, *, seed: int,
    base: str | os.PathLike[str], task_type: str | None, prefix: str = "", saved: Mapping[str, str] | None = None,
    config: Mapping[str, Any] | None = None,
) -> NewAdapter:  # fmt: skip
    """Return an adapter on an encoder; in a model with a head, names have the prefix of its files.

    `saved` is our name → the file's name of weights that are trained in full and saved with the adapter.
    """
    transposed = False
    if not isinstance(spec, EncoderSpec):
        transposed = spec.decoder.family.transposed
        if spec.decoder.family.up_first and {"gate", "up"} & set(lora.targets):
            raise OptionError(
                f"targets are {', '.join(lora.targets)}; in models of this type gate and up are one matrix, in another "
                "order: choose some of q, k, v, o, down"
            )

    def source(ours: str) -> tuple[str, str]:
        name, part = (spec.name(ours), "") if isinstance(spec, EncoderSpec) else spec.decoder.source(ours)
        return prefix + name, part

    return NewAdapter.of(
        lora, shapes, weights, spec.config.n_layers, source, seed=seed, base=base, task_type=task_type,
        transposed=transposed, saved=saved, config=config,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SavedEncoder:
    """The folder of an encoder to train: its configuration, its tensors and its tokenizer."""

    root: Path
    home: Path
    about: Mapping[str, Any]
    """Its config.json."""
    spec: AnySpec
    tensors: Tensors
    tokenizer: Tokenizer
    pooling: str
    limit: int
    """The maximum number of tokens read of a text."""
    left: bool

    @classmethod
    def read(cls, path: Path, *, vectors: bool, freeze: bool = False) -> SavedEncoder:
        """Read a folder; OptionError for a model that cannot be trained. With `vectors` its pooling is checked.

        With `freeze` its layers are not to learn.
        """
        if not path.is_dir():
            raise FileNotFoundError(2, "no such folder; a model is a folder with config.json", files.show(path))
        chain = modules.read(path)
        home = chain.transformer
        about = modules.read_json(home / CONFIG)
        if about.get("model_type") not in (FROZEN if freeze else LEARNT):
            more = ", ".join(name for name in FROZEN if name not in LEARNT)
            raise OptionError(
                f"{files.show(home)}: a model of type {about.get('model_type')!r} cannot be fine-tuned; these types "
                f"can: {', '.join(LEARNT)}; and a classifier on a frozen model also of {more}"
            )
        spec = encoder_loading.read_spec(home, about, "float32")
        is_decoder = about["model_type"] in decoder_families.FAMILIES
        if vectors and is_decoder and not encoder_loading.makes_vectors(about, chain):
            raise OptionError(
                f"{files.show(path)}: a decoder that generates text; for vectors its folder must have a modules.json "
                "with a pooling, as sentence-transformers writes it"
            )
        if vectors and (chain.dense or len(chain.poolings) != 1 or chain.poolings[0] not in POOLINGS):
            raise OptionError(
                f"{files.show(path)}: pooled by {', '.join(chain.poolings)} with {len(chain.dense)} dense layers; "
                f"training needs one of the poolings {', '.join(POOLINGS)}, without dense layers"
            )
        stated = modules.read_json(home / "tokenizer_config.json", {})
        positions = spec.positions - spec.position_offset if isinstance(spec, EncoderSpec) else spec.decoder.max_length
        limit = min(chain.max_length or NO_LIMIT, _number(stated.get("model_max_length")), positions)
        return cls(
            path, home, about, spec, read_model(home), load_tokenizer(home),
            POOLINGS.get("".join(chain.poolings), ""), limit, stated.get("truncation_side") == "left",
        )  # fmt: skip

    @property
    def config(self) -> EncoderConfig:
        """Return the specification of the encoder."""
        if isinstance(self.spec, EncoderSpec):
            return encoder_config(self.spec)
        found, stems = self._layered(), self.spec.decoder.config.matrices(0)
        biases = (stem for stem in (name.removesuffix(".weight") for name in stems) if f"layers.0.{stem}.bias" in found)
        return EncoderConfig.of_decoder(
            self.spec.decoder.config, max_tokens=self.spec.decoder.max_length, biases=tuple(biases)
        )

    def _layered(self) -> LayeredWeights:
        if isinstance(self.spec, EncoderSpec):
            raise TypeError("the encoder has BERT's layers")
        return LayeredWeights(self.tensors, self.spec, files.show(self.home))

    @property
    def prefix(self) -> str:
        """The beginning of the encoder's names in a file of a model with a head."""
        if isinstance(self.spec, EncoderSpec):
            return self.spec.family.prefix
        prefixes = self.spec.decoder.family.prefixes
        if self.about["model_type"] == "nomic_bert":  # published files, and those of transformers
            return prefixes["n_embd" in self.about]
        own = f"{self.about['model_type']}."
        return own if own in prefixes else prefixes[0]

    def encoder(self) -> AnyEncoder:
        """Return the encoder for inference."""
        return encoder_loading.read_encoder(self.tensors, self.spec, files.show(self.home))[0]

    def encoder_tensors(self) -> dict[str, Any]:
        """Return the encoder's tensors as they are stored, by their names in a model with a head."""
        if not isinstance(self.spec, EncoderSpec):
            return dict(self._layered().by_names(self.prefix))
        names = Weights(self.tensors, self.spec, files.show(self.home)).file_names()
        return {self.prefix + self.spec.name(ours): self.tensors[name] for ours, name in names.items()}

    def weights(self) -> dict[str, Floats]:
        """Return the encoder's weights by our names."""
        if isinstance(self.spec, EncoderSpec):
            return encoder_weights(self.tensors, self.spec, files.show(self.home))
        return {_of_trunk(name): as_floats(array) for name, array in self._layered().items()}

    def named(self, weights: Mapping[str, Floats], prefix: str | None = None) -> dict[str, Any]:
        """Return the encoder's weights, given by our names, by their names in a file.

        All begin with `prefix`, by default that of a model with a head.
        """
        first = self.prefix if prefix is None else prefix
        if isinstance(self.spec, EncoderSpec):
            return {first + self.spec.name(ours): array for ours, array in weights.items()}
        ours = {_of_decoder(name): array for name, array in weights.items()}
        return lm_folders.tensors_of(ours, self.spec.decoder, first)

    def masked_head(self) -> dict[str, Floats]:
        """Return the weights of the head for masked tokens by our names; none if the file has no head."""
        if not encoder_loading.has_masked_head(self.tensors, self.spec):
            return {}
        found = encoder_loading.masked_head(self.tensors, self.spec, files.show(self.home))
        left_out = {f"{part}.bias" for part in HEAD_BIASES} - {f"{part}.bias" for part in self.head_biases}
        return {f"head.{name}": as_floats(array) for name, array in found.items() if name not in left_out}

    @property
    def head_biases(self) -> tuple[str, ...]:
        """The parts of the head for masked tokens that have a bias."""
        if self.about["model_type"] != "modernbert":
            return HEAD_BIASES
        keys = {"dense": "classifier_bias", "norm": "norm_bias"}
        return tuple(part for part in HEAD_BIASES if self.about.get(keys[part]))

    def adapter(self, lora: LoraOptions, seed: int) -> NewAdapter:
        """Return an adapter of the encoder alone, whose weights are frozen."""
        return encoder_adapter(
            self.spec, self.config.shapes(), self.weights(), lora, seed=seed, base=self.root,
            task_type="FEATURE_EXTRACTION",
        )  # fmt: skip

    def packed(self, texts: Sequence[str], max_length: int | None) -> Packed:
        """Return texts as ids for the model, of at most `max_length` tokens."""
        if max_length is not None and not 1 <= as_int("max_length", max_length) <= self.limit:
            raise OptionError(f"max_length is {max_length}; the model reads 1 to {self.limit} tokens")
        packer = Packer(self.tokenizer, max_length or self.limit, left=self.left)
        made = packer(texts, special="all", threads=current_threads())
        # Some tokenizers give types to models without a table of them.
        return made if self.spec.types > 1 else made._replace(type_ids=None)

    def write_start(self, folder: Path, about: Mapping[str, Any] | None = None) -> None:
        """Copy everything except weights; with `about`, a new configuration, only the files of the transformer."""
        source = self.root if about is None else self.home
        copy_files(source, folder, alone=about is not None)
        made = dict(self.about if about is None else about)
        for key in ("torch_dtype", "dtype"):
            if key in made:
                made[key] = "float32"
        data = (json.dumps(made, indent=1, ensure_ascii=False) + "\n").encode()
        files.write_atomically(folder / self._inside(about) / CONFIG, data)

    def write_model(self, folder: Path, weights: Mapping[str, Floats]) -> None:
        """Write the weights in place of the original ones; other tensors of the file are kept, such as a pooler."""
        made: dict[str, Any] = dict(self.tensors)
        if isinstance(self.spec, EncoderSpec):
            found = Weights(self.tensors, self.spec, files.show(self.home))
            made |= {name: weights[ours] for ours, name in found.file_names().items()}
        else:
            made |= self.named(weights, self._layered().prefix)
        write_safetensors(folder / self._inside(None) / WHOLE, made, {"format": "pt"})

    def _inside(self, about: Mapping[str, Any] | None) -> Path:
        return self.home.relative_to(self.root) if about is None else Path()


def _of_trunk(name: str) -> str:
    """Return the name of a weight of a decoder among those of an encoder that is trained."""
    stem = name.partition(".")[0]
    if stem == "embedding_norm":
        return name.replace("embedding_norm", "embeddings.norm")
    return f"embeddings.{name}" if stem in TABLES else name


def _of_decoder(name: str) -> str:
    return name.replace("embeddings.norm", "embedding_norm").removeprefix("embeddings.")


def _number(told: object) -> int:
    return int(told) if isinstance(told, (int, float)) and 1 <= told < NO_LIMIT else NO_LIMIT
