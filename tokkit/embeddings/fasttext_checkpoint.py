"""Files of interrupted fastText trainings: rows, words and the state, without pickle."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tokkit.embeddings.fasttext_file import FastTextArgs, FastTextData
from tokkit.embeddings.vocabulary import stored_counts
from tokkit.embeddings.word2vec_options import MAX_NEGATIVE
from tokkit.embeddings.word2vec_training import Schedule, epochs_stored
from tokkit.errors import FormatError, OptionError
from tokkit.files.safetensors import read_safetensors, write_safetensors
from tokkit.files.strict_json import Section, dataclass_of, typed, why

if TYPE_CHECKING:
    from tokkit.embeddings.fasttext import FastText

_KEY = "tokkit.fasttext"


def save(model: FastText, path: str | os.PathLike[str]) -> None:
    """Write a model atomically."""
    data = model.data
    if data is None:
        raise OptionError("there is no vocabulary yet; train the model before saving it")
    words = [word.decode("utf-8", "surrogateescape") for word in data.words]
    tensors: dict[str, Any] = {
        "input": data.input,
        "output": data.output,
        "counts": data.counts,
        # Stored as a tensor, because the size of the header is limited.
        "words": np.frombuffer(json.dumps(words).encode(), dtype=np.uint8),
    }
    if data.row_of_bucket is not None:
        tensors["row_of_bucket"] = data.row_of_bucket
    if model.nodes is not None:
        tensors["nodes"] = model.nodes
    about = {
        "options": model.options.as_dict(),
        "args": dataclasses.asdict(data.args),
        "n_tokens": data.n_tokens,
        "tokens": model.tokenizer is not None,
        "epochs_trained": model.epochs_trained,
        "schedule": None if model.schedule is None else dataclasses.asdict(model.schedule),
    }
    write_safetensors(path, tensors, {_KEY: json.dumps(about)})


def load(model: FastText, path: str | os.PathLike[str]) -> FastText:
    """Fill a new model from a file."""
    shown = os.fspath(path)
    tensors = read_safetensors(path)
    try:
        about = Section(json.loads(tensors.metadata[_KEY]), "")
        stated = typed(json.loads(tensors["words"].data.tobytes()), "words", list)
        words = [word.encode("utf-8", "surrogateescape") for word in stated]
        model.options = dataclass_of(type(model.options), about.take("options"), "options")
        data = FastTextData(
            dataclass_of(FastTextArgs, about.take("args"), "args"),
            words,
            stored_counts(tensors["counts"].data, len(words)),
            len(words),
            about.take("n_tokens", int),
            np.array(tensors["input"].data, dtype=np.float32),
            np.array(tensors["output"].data, dtype=np.float32),
            row_of_bucket=(
                np.array(tensors["row_of_bucket"].data, dtype=np.int32) if "row_of_bucket" in tensors else None
            ),
        )
        model.epochs_trained, of_tokens = epochs_stored(about.take("epochs_trained")), about.take("tokens", bool)
        model.schedule = Schedule.stored(about.take("schedule"))
        about.finish()
        model.nodes = np.array(tensors["nodes"].data, dtype=np.float32) if "nodes" in tensors else None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FormatError(f"{shown} is not a fastText training saved by tokkit: {why(error)}") from None
    _check(data, shown)
    both = bool(model.options.hs and model.options.negative)
    if both != (model.nodes is not None) or (model.nodes is not None and model.nodes.shape != data.output.shape):
        raise FormatError(f"{shown}: the inner nodes do not match the options")
    if of_tokens != (model.tokenizer is not None):
        kind = "tokens; give the tokenizer" if of_tokens else "n-grams of characters; leave the tokenizer out"
        raise OptionError(f"{shown} contains rows of {kind}")
    model.take(data)
    return model


def _check(data: FastTextData, shown: str) -> None:
    """Raise FormatError for inconsistent arrays, because kernels do not check them."""
    if not 0 <= data.args.neg <= MAX_NEGATIVE:
        raise FormatError(f"{shown}: neg is {data.args.neg}; it must be from 0 to {MAX_NEGATIVE}")
    if fault := data.args.fault():
        raise FormatError(f"{shown}: {fault}")
    n, dim, left = len(data.words), data.args.dim, data.row_of_bucket
    rows = data.args.bucket if left is None else max(data.input.shape[0] - n, 1)
    wanted: dict[str, tuple[int, ...]] = {"input": (n + rows, dim), "output": (n, dim)}
    if left is not None:
        wanted["row_of_bucket"] = (data.args.bucket,)
        if left.min(initial=0) < 0 or left.max(initial=0) >= rows:
            raise FormatError(f"{shown}: row_of_bucket contains rows that do not exist")
    for name, shape in wanted.items():
        if getattr(data, name).shape != shape:
            raise FormatError(f"{shown}: {name} has the shape {getattr(data, name).shape}, not {shape}")
