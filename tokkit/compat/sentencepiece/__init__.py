"""The interface of the sentencepiece package 0.2.3: `from tokkit.compat import sentencepiece`.

Differences: each byte of invalid UTF-8 becomes U+FFFD before normalization, not after it; where protobuf is not
installed, "proto" returns our own objects with the fields and names of the messages; random numbers come from numpy's
generator. Calls that 0.2.3 has dropped (set_vocabulary, calculate_entropy, sample_encode_and_score) still exist.
"""

from __future__ import annotations

from tokkit.compat.sentencepiece.normalizer import SentencePieceNormalizer
from tokkit.compat.sentencepiece.processor import SentencePieceProcessor
from tokkit.compat.sentencepiece.random import set_random_generator_seed
from tokkit.compat.sentencepiece.settings import ThreadPool, set_min_log_level, set_nbest_timeout
from tokkit.compat.sentencepiece.trainer import SentencePieceTrainer

__version__ = "0.2.3"
"""The version of sentencepiece whose interface this is."""

SetMinLogLevel = set_min_log_level
SetNBestTimeout = set_nbest_timeout
SetRandomGeneratorSeed = set_random_generator_seed

__all__ = [
    "SentencePieceNormalizer",
    "SentencePieceProcessor",
    "SentencePieceTrainer",
    "SetMinLogLevel",
    "SetNBestTimeout",
    "SetRandomGeneratorSeed",
    "ThreadPool",
    "set_min_log_level",
    "set_nbest_timeout",
    "set_random_generator_seed",
]
