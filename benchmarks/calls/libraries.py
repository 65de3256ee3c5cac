"""The groups of rows that bench_calls measures: libraries by vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

from benchmarks import corpora
from benchmarks.calls import of_gensim, of_native, of_sentencepiece, of_tiktoken, of_tokenizers, of_transformers
from benchmarks.calls.rows import Group, Row, Texts

PACKAGES = ("transformers", "sentencepiece", "gensim", "torch")
FAMILIES = {name: name for name in ("gpt-neox", "t5", "modernbert", "gpt2", "clip")}
FAMILIES |= {"mistral": "mistral-v1", "bert": "bert-base-uncased"}
"""Name on the command line → folder of the shared data."""

MODELS = {"t5": "t5/spiece.model", "mistral": "mistral-v1/tokenizer.model"}
"""Families with a .model file."""


def groups(texts: Texts, families: Sequence[str]) -> Iterator[Group]:
    """Yield all groups; one whose package or file is missing says so in `absent`."""
    for family in families:
        path = corpora.SHARED / "vocabs" / FAMILIES[family] / "tokenizer.json"
        for library, rows, side, given in (
            ("tokenizers", of_tokenizers.ROWS, of_tokenizers.TokenizersSide, of_tokenizers.Given),
            ("transformers", of_transformers.ROWS, of_transformers.TransformersSide, of_transformers.Given),
            ("native", of_native.ROWS, of_native.NativeSide, of_native.Given),
        ):
            yield _group(library, family, families, rows, partial(side, texts=texts, path=path), given, path)
    for family in [name for name in MODELS if name in families]:
        path = corpora.SHARED / "vocabs" / MODELS[family]
        make = partial(of_sentencepiece.SentencePieceSide, texts=texts, path=path)
        yield _group("sentencepiece", family, families, of_sentencepiece.ROWS, make, of_sentencepiece.Given, path)
    path = corpora.SHARED / "vocabs" / "cl100k_base.tiktoken"
    make = partial(of_tiktoken.TiktokenSide, texts=texts, path=path)
    yield _group("tiktoken", "cl100k_base", families, of_tiktoken.ROWS, make, of_tiktoken.Given, path)
    make = partial(of_native.EncodingSide, texts=texts, path=path)
    yield _group("native", "cl100k_base", families, of_native.PUBLISHED, make, of_tiktoken.Given, path)
    make = partial(of_gensim.GensimSide, texts=texts)
    yield _group("gensim", "", families, of_gensim.ROWS, make, of_gensim.Given, None)


def _group(
    library: str,
    family: str,
    families: Sequence[str],
    rows: Sequence[Row],
    make: Callable[..., Any],
    given: Callable[[Any], Any],
    path: Any,
) -> Group:
    package = library if library != "native" else "tokenizers" if family in FAMILIES else "tiktoken"
    absent = f"{package} is not installed" if find_spec(package) is None else ""
    if path is not None and not path.is_file():
        absent = f"there is no {path} (TOKKIT_SHARED_DATA names the folder of vocabularies)"
    first = not families or family not in FAMILIES or family == families[0]
    return Group(
        library, family, [row for row in rows if first or not row.once], lambda ours: make(ours), given, absent
    )
