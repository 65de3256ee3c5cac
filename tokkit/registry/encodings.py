"""Facts about the published encodings: address and SHA-256 of the file, and special tokens.

Tests compare all of them with the installed tiktoken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PUBLISHER = "https://openaipublic.blob.core.windows.net"


@dataclass(frozen=True, slots=True)
class Source:
    """A published file: its name, size and SHA-256."""

    file: str
    n_bytes: int
    sha256: str
    folder: str = "encodings"

    @property
    def url(self) -> str:
        """The publisher's address."""
        return f"{PUBLISHER}/{self.folder}/{self.file}"


_R50K = Source("r50k_base.tiktoken", 835_554, "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930")
_P50K = Source("p50k_base.tiktoken", 836_186, "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069")
_CL100K = Source("cl100k_base.tiktoken", 1_681_126, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7")
_O200K = Source("o200k_base.tiktoken", 3_613_922, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d")

ENCODINGS = {
    "gpt2": _R50K,  # the same ranks, which were published for GPT-2 as encoder.json and vocab.bpe
    "r50k_base": _R50K,
    "p50k_base": _P50K,
    "p50k_edit": _P50K,
    "cl100k_base": _CL100K,
    "o200k_base": _O200K,
    "o200k_harmony": _O200K,
}
"""Name → the file of its ranks."""

GPT2_PAIR = (
    Source(
        "encoder.json",
        1_042_301,
        "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
        folder="gpt-2/encodings/main",
    ),
    Source(
        "vocab.bpe",
        456_318,
        "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
        folder="gpt-2/encodings/main",
    ),
)
"""GPT-2's original files, which tiktoken caches; they are used if the file of ranks is not found."""

_HARMONY = {
    "<|startoftext|>": 199998,
    "<|endoftext|>": 199999,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
    "<|endofprompt|>": 200018,  # tiktoken also accepts <|reserved_200018|> for this id; here an id has one text
}
_RESERVED = sorted({*range(200000, 201088)}.difference(_HARMONY.values()))

SPECIAL_TOKENS: dict[str, Mapping[str, int]] = {
    "p50k_edit": {"<|endoftext|>": 50256, "<|fim_prefix|>": 50281, "<|fim_middle|>": 50282, "<|fim_suffix|>": 50283},
    "o200k_harmony": {**_HARMONY, **{f"<|reserved_{id_}|>": id_ for id_ in _RESERVED}},
}
"""The special tokens of encodings that share another encoding's file."""

ALIASES: dict[str, Mapping[str, int]] = {"o200k_harmony": {"<|reserved_200018|>": 200018}}
"""Additional texts that tiktoken accepts for special tokens; here, an id has only one text."""
