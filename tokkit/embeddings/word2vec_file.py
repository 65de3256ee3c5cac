"""Files of whole word2vec models: vectors, output vectors, words and the state of training, without pickle."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tokkit.embeddings.vocabulary import Vocabulary
from tokkit.embeddings.word2vec_options import Word2VecOptions
from tokkit.embeddings.word2vec_training import Schedule, epochs_stored
from tokkit.errors import FormatError, OptionError
from tokkit.files.safetensors import read_safetensors, write_safetensors
from tokkit.files.strict_json import Section, dataclass_of, typed, why

if TYPE_CHECKING:
    from tokkit.embeddings.word2vec import Word2Vec

_KEY = "tokkit.word2vec"
_PICKLE = b"\x80"


def save(model: Word2Vec, path: str | os.PathLike[str]) -> None:
    """Write a model atomically."""
    if model.vocabulary is None:
        raise OptionError("there is no vocabulary yet; train the model before saving it")
    tensors: dict[str, Any] = {"vectors": model.wv.vectors, "counts": model.vocabulary.counts}
    if model.syn1neg is not None:
        tensors["syn1neg"] = model.syn1neg
    if model.syn1 is not None:
        tensors["syn1"] = model.syn1
    # Stored as a tensor, because the size of the header is limited.
    tensors["words"] = np.frombuffer(json.dumps(model.vocabulary.words).encode(), dtype=np.uint8)
    about = {
        "options": model.options.as_dict(),
        "corpus_count": model.corpus_count,
        "corpus_total_words": model.corpus_total_words,
        "epochs_trained": model.epochs_trained,
        "schedule": None if model.schedule is None else dataclasses.asdict(model.schedule),
    }
    write_safetensors(path, tensors, {_KEY: json.dumps(about)})


def load(model: Word2Vec, path: str | os.PathLike[str]) -> Word2Vec:
    """Fill a new model from a file."""
    shown = os.fspath(path)
    with open(path, "rb") as file:
        if file.read(1) == _PICKLE:
            raise FormatError(
                f"{shown} is a pickle, as gensim saves models; it could run any code, and is not supported. Export "
                "its vectors in gensim: model.wv.save_word2vec_format('vectors.bin', binary=True)"
            )
    tensors = read_safetensors(path)
    try:
        about = Section(json.loads(tensors.metadata[_KEY]), "")
        words = typed(json.loads(tensors["words"].data.tobytes()), "words", list)
        vocabulary = Vocabulary.stored(words, tensors["counts"].data)
        model.options = dataclass_of(Word2VecOptions, about.take("options"), "options")
        arrays = {
            name: np.array(tensors[name].data, dtype=np.float32) if name in tensors else None
            for name in ("vectors", "syn1neg", "syn1")
        }
        model.corpus_count, model.corpus_total_words = (
            about.take(name, int) for name in ("corpus_count", "corpus_total_words")
        )
        model.epochs_trained = epochs_stored(about.take("epochs_trained"))
        model.schedule = Schedule.stored(about.take("schedule"))
        about.finish()
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise FormatError(f"{shown} is not a word2vec model saved by tokkit: {why(error)}") from None
    n, d = len(words), model.options.vector_size
    shapes = {
        "vectors": (n, d),
        "syn1neg": (n, d) if model.options.negative else None,
        "syn1": (n - 1, d) if model.options.hs else None,
    }
    for name, shape in shapes.items():
        array = arrays[name]
        if (None if array is None else array.shape) != shape or vocabulary.counts.shape != (n,):
            raise FormatError(f"{shown}: {name} has the shape {None if array is None else array.shape}, not {shape}")
    vectors = arrays["vectors"]
    if vectors is not None:
        model.take(vocabulary, vectors, arrays["syn1neg"], arrays["syn1"])
    return model
