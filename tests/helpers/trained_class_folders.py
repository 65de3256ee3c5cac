"""Folders of tokenizer classes of transformers, with vocabularies that are trained here."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import tokkit
from tokkit.compat import sentencepiece
from tokkit.compat.tokenizers.implementations import ByteLevelBPETokenizer, CharBPETokenizer
from tokkit.registry.tokenizer_classes.table import CLASSES

CORPUS = Path(__file__).resolve().parent.parent.parent / "data" / "corpus"
LIKE_T5 = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
LIKE_ALBERT = {
    "pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": ["[CLS]", "[SEP]", "[MASK]"],
}  # fmt: skip
ROLES = ("<unk>", "<s>", "</s>", "<pad>", "<mask>", "<cls>", "<sep>", "<|endoftext|>", "<|startoftext|>")
KINDS = {
    **dict.fromkeys(("T5Tokenizer", "PegasusTokenizer", "VideoPrismTokenizer", "LasrTokenizer"), "t5.model"),
    **dict.fromkeys(("AlbertTokenizer", "FNetTokenizer", "RemBertTokenizer", "DebertaV2Tokenizer"), "albert.model"),
    **dict.fromkeys(("CLIPTokenizer", "OpenAIGPTTokenizer", "HerbertTokenizer"), "words"),
}
"""Class → the vocabulary that fits it; other classes take that of their type of model."""


@cache
def texts() -> tuple[str, ...]:
    """The lines of the bundled corpus, each file's first ones."""
    found: list[str] = []
    for path in sorted(CORPUS.glob("*.txt")):
        found += path.read_text("utf-8").splitlines()[:60]
    return tuple(found)


def vocabularies(folder: Path) -> None:
    """Write the vocabularies of all kinds into a folder."""
    for name, kind, options in (
        ("unigram.model", "unigram", {}), ("bpe.model", "bpe", {"byte_fallback": True}),
        ("t5.model", "unigram", LIKE_T5), ("albert.model", "unigram", LIKE_ALBERT),
    ):  # fmt: skip
        with open(folder / name, "wb") as model:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(texts()), model_writer=model, model_type=kind, vocab_size=1500,
                hard_vocab_limit=False, character_coverage=0.98, minloglevel=2, **options,
            )  # fmt: skip
    for name, made in (("bytes", ByteLevelBPETokenizer()), ("words", CharBPETokenizer())):
        (folder / name).mkdir()
        made.train_from_iterator(iter(texts()), vocab_size=900, show_progress=False)
        made.save_model(str(folder / name))
        path = folder / name / "vocab.json"
        ids = json.loads(path.read_bytes())
        for role in ROLES:
            ids.setdefault(role, len(ids))
        path.write_text(json.dumps(ids), "utf-8")
    made = tokkit.train(iter(texts()), model="wordpiece", vocab_size=3400)
    lines = [made.vocab[id_].decode() for id_ in range(made.n_ids)]
    (folder / "vocab.txt").write_text("\n".join([*lines, *ROLES]) + "\n", "utf-8")


def write(folder: Path, name: str, source: Path, **stated: Any) -> Path:
    """Write the vocabulary files of a class and its tokenizer_config.json."""
    row = CLASSES[name]
    folder.mkdir(parents=True, exist_ok=True)
    kind = KINDS.get(name)
    for file in row.files.values() or ("tokenizer.model",):
        if file.endswith(".model"):
            shutil.copy(source / (kind or ("bpe.model" if row.model == "BPE" else "unigram.model")), folder / file)
        elif file == "vocab.txt":
            shutil.copy(source / file, folder / file)
        else:
            shutil.copy(source / (kind or "bytes") / file, folder / file)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, **stated}))
    return folder


def of_files() -> Iterator[str]:
    """The classes whose stages are components, not Python code, and whose files are a vocabulary alone."""
    for name, row in CLASSES.items():
        if row.scripted is None and not row.refused and "entity_vocab_file" not in row.files:
            yield name
