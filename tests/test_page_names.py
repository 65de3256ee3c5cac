"""Names on pages: all public calls of another library are on the page for its users, and files exist."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "coming-from"
EXPLAINED = [*sorted((ROOT / "docs" / "how-it-works").glob("*.md")), ROOT / "docs" / "differences.md"]

SURFACES = {
    "tiktoken": ["tiktoken", "tiktoken:Encoding", "tiktoken.load"],
    "tokenizers": [
        "tokenizers:Tokenizer", "tokenizers:Encoding", "tokenizers:AddedToken", "tokenizers", "tokenizers.models",
        "tokenizers.normalizers", "tokenizers.pre_tokenizers", "tokenizers.processors", "tokenizers.decoders",
        "tokenizers.trainers", "tokenizers.implementations",
    ],
    "sentencepiece": [
        "sentencepiece", "sentencepiece:SentencePieceProcessor", "sentencepiece:SentencePieceTrainer",
        "sentencepiece:SentencePieceNormalizer",
    ],
}  # fmt: skip
"""Library → modules, and classes of modules."""

NO_CALLS = {
    "annotations", "base64", "core", "csv", "hashlib", "importlib", "io", "model", "os", "registry", "sys", "Enum",
    "List", "Tuple", "Union", "EncodeInput", "InputSequence", "OffsetReferential", "OffsetType", "Offsets",
    "TextEncodeInput", "PreTokenizedEncodeInput", "PreTokenizedInputSequence", "TextInputSequence",
    "SplitDelimiterBehavior", "NORMALIZERS", "unicode_normalizer_from_str", "tokenizers", "models", "normalizers",
    "pre_tokenizers", "processors", "decoders", "trainers", "implementations", "BaseTokenizer", "Model",
    "Normalizer", "PreTokenizer", "PostProcessor", "Decoder", "Trainer", "base_tokenizer", "bert_wordpiece",
    "byte_level_bpe", "char_level_bpe", "sentencepiece_bpe", "sentencepiece_unigram",
}  # fmt: skip
"""What modules import, and names of types alone."""


def names(library: str) -> Iterator[str]:
    for surface in SURFACES[library]:
        module, _, owner = surface.partition(":")
        found = importlib.import_module(module)
        yield from (name for name in dir(getattr(found, owner) if owner else found) if not name.startswith("_"))


def snake(name: str) -> str:
    """EncodeAsIds → encode_as_ids: sentencepiece has both spellings of its calls."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


@pytest.mark.parametrize("library", SURFACES)
def test_every_public_name_of_the_library_is_on_its_page(library: str) -> None:
    pytest.importorskip(library)
    page = (PAGES / f"{library}.md").read_text(encoding="utf-8")
    # `nbest_encode_as_*` stands for all calls that begin so.
    starts = tuple(re.findall(r"`(\w+_)\*`", page))
    words = set(re.findall(r"\w+", page))
    missing = {
        name
        for name in names(library)
        if name not in NO_CALLS and not {name, snake(name)} & words and not snake(name).startswith(starts or "\0")
    }
    assert not missing


@pytest.mark.parametrize("page", EXPLAINED, ids=lambda path: path.stem)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    core = {path.name for path in (ROOT / "tokkit" / "_core").rglob("*")}
    assert set(re.findall(r"`(\w+\.(?:c|h|pyx))`", text)) <= core
    for place in re.findall(r"`((?:tokkit|tests|benchmarks|data)/[\w/.-]+)`", text):
        assert (ROOT / place).exists(), place
