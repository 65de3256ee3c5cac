"""The public names, for type checkers: `__init__.py` imports each when it is first used."""

from tokkit import chat as chat
from tokkit import chunks as chunks
from tokkit import compat as compat
from tokkit import conversion as conversion
from tokkit import data as data
from tokkit import decoders as decoders
from tokkit import distributed as distributed
from tokkit import embeddings as embeddings
from tokkit import grammars as grammars
from tokkit import limits as limits
from tokkit import nn as nn
from tokkit import normalizers as normalizers
from tokkit import pipeline as pipeline
from tokkit import postprocessors as postprocessors
from tokkit import pretokenizers as pretokenizers
from tokkit import search as search
from tokkit import view as view
from tokkit.compat.tiktoken.live import from_tiktoken
from tokkit.compat.tokenizers.live import from_tokenizers
from tokkit.compat.transformers.loading import from_transformers
from tokkit.conversion import convert
from tokkit.definition import AddedToken, Definition, Split
from tokkit.encoding import Encoding
from tokkit.encoding.aligned_encodings import AlignedEncodings, align
from tokkit.encoding.length_rules import Padding, Truncation
from tokkit.errors import (
    ChatError,
    CorpusError,
    DownloadError,
    FormatError,
    GrammarError,
    OptionError,
    PatternError,
    SameFileError,
    ShapeError,
    SpecialTokenError,
    TokkitError,
    TrainingError,
    VocabError,
    WorkerError,
)
from tokkit.loading import load
from tokkit.models.bpe import BPE
from tokkit.registry import encoding_for_model, get_encoding
from tokkit.tokenizer import Tokenizer
from tokkit.trainers import train
from tokkit.version import __version__
from tokkit.vocab import Vocab

__all__ = [
    "BPE",
    "AddedToken",
    "AlignedEncodings",
    "ChatError",
    "CorpusError",
    "Definition",
    "DownloadError",
    "Encoding",
    "FormatError",
    "GrammarError",
    "OptionError",
    "Padding",
    "PatternError",
    "SameFileError",
    "ShapeError",
    "SpecialTokenError",
    "Split",
    "Tokenizer",
    "TokkitError",
    "TrainingError",
    "Truncation",
    "Vocab",
    "VocabError",
    "WorkerError",
    "__version__",
    "align",
    "convert",
    "encoding_for_model",
    "from_tiktoken",
    "from_tokenizers",
    "from_transformers",
    "get_encoding",
    "load",
    "train",
]
