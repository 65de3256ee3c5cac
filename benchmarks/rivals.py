"""The encoders that can run a rank file, tokkit and its rivals, behind one interface.

`make` gives a fresh tokenizer with empty caches. A rival that is not installed, or that does not know the
vocabulary, becomes a line with the reason.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

Ids = Any
"""list[int] or an array of uint32, as the library gives it."""

KINDS: dict[str, Callable[[Ids], Ids]] = {
    # list(array) would hold numpy's scalars, which are slow to read and nobody's ids.
    "list": lambda ids: np.asarray(ids).tolist(),
    "numpy": partial(np.asarray, dtype=np.uint32),
}
"""What `decode` may be given → how ids become that."""


@dataclass(frozen=True)
class Faces:
    """What one tokenizer does, by the library's fastest call for it; None if the library has none.

    `decode` takes what `decode_from` names (of KINDS); `batch_ids` makes ids a document of what `batch` returns.
    """

    encode: Callable[[str], Ids]
    encode_list: Callable[[str], Ids] | None
    encode_numpy: Callable[[str], Ids] | None
    decode: Callable[[Ids], str | bytes]
    decode_from: tuple[str, ...]
    batch: Callable[[list[str], int], Any]
    batch_ids: Callable[[Any], Sequence[Ids]]


def tokkit(path: Path, pattern: str | None = None) -> Faces:
    """tokkit: arrays for long texts, lists on request. `pattern` is one to cut by instead of the encoding's own."""
    import tokkit

    t = tokkit.load(path, pattern=pattern)
    return Faces(
        encode=t.encode_to_numpy,
        encode_list=t.encode_ordinary,
        encode_numpy=t.encode_to_numpy,
        decode=t.decode,
        decode_from=("numpy", "list"),
        batch=lambda texts, threads: t.encode_batch(texts, threads=threads),
        batch_ids=lambda result: np.split(result[0], result[1][1:-1]),
    )


def tokkit_list(path: Path) -> Faces:
    """tokkit, asked for lists where it would give arrays: what list[int] itself costs."""
    faces = tokkit(path)
    return replace(faces, encode=faces.encode_list or faces.encode)


def tiktoken_encoding(path: Path, pattern: str | None = None) -> Any:
    """The encoding of tiktoken, with its pattern or another, of the rank file where it lies: no download, no copy."""
    os.environ["TIKTOKEN_CACHE_DIR"] = ""
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe
    from tiktoken_ext import openai_public

    if not hasattr(openai_public, path.stem):
        raise LookupError(f"tiktoken knows no encoding {path.stem}")

    def local(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        return load_tiktoken_bpe(str(path), expected_hash)

    with mock.patch.object(openai_public, "load_tiktoken_bpe", local):
        settings = getattr(openai_public, path.stem)()
    return tiktoken.Encoding(**settings if pattern is None else {**settings, "name": "own", "pat_str": pattern})


def tiktoken(path: Path, pattern: str | None = None) -> Faces:
    """tiktoken, by its fastest calls."""
    t = tiktoken_encoding(path, pattern)
    return Faces(
        encode=t.encode_ordinary,
        encode_list=t.encode_ordinary,
        encode_numpy=partial(t.encode_to_numpy, disallowed_special=()),
        decode=t.decode,
        decode_from=("list",),
        batch=lambda texts, threads: t.encode_ordinary_batch(texts, num_threads=threads),
        batch_ids=list,
    )


def tokenizers(path: Path) -> Faces:
    """tokenizers, on a tokenizer.json that tokkit writes of the rank file; the check of equality proves the file."""
    import tokenizers

    t = tokenizers.Tokenizer.from_file(_converted(path))
    # From 1.0 on, ids are also arrays, and there is one call for batches.
    arrays = tokenizers.__version__.startswith("1.")
    batch = t.encode_batch if arrays else t.encode_batch_fast
    return Faces(
        encode=lambda text: getattr(t.encode(text, add_special_tokens=False), "ids_array" if arrays else "ids"),
        encode_list=lambda text: t.encode(text, add_special_tokens=False).ids,
        encode_numpy=(lambda text: t.encode(text, add_special_tokens=False).ids_array) if arrays else None,
        decode=partial(t.decode, skip_special_tokens=False),
        decode_from=("list",),
        # The pool's size is fixed by RAYON_NUM_THREADS when the process starts.
        batch=lambda texts, _threads: batch(texts, add_special_tokens=False),
        batch_ids=lambda result: [encoding.ids for encoding in result],
    )


@cache
def _converted(path: Path) -> str:
    import tokkit

    folder = tempfile.mkdtemp(prefix="tokkit-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = Path(folder) / "tokenizer.json"
    tokkit.load(path).save(target, format="tokenizer.json", lossy=True)  # ids are compared first
    return str(target)


def gigatoken(path: Path) -> Faces:
    """gigatoken: arrays only; its batches are parallel or not."""
    import gigatoken

    t = gigatoken.Tokenizer.from_tiktoken(path)
    return Faces(
        encode=t.encode,
        encode_list=None,
        encode_numpy=t.encode,
        decode=t.decode,
        decode_from=("numpy",),
        batch=lambda texts, threads: t.encode_batch(texts, parallel=threads > 1),
        batch_ids=list,
    )


def quicktok(path: Path) -> Faces:
    """quicktok: lists; the vocabularies that it bundles only. `get_encoding` would return a warm object."""
    import quicktok

    t = quicktok.Tokenizer(path.stem, "")
    return Faces(
        encode=t.encode_ordinary,
        encode_list=t.encode_ordinary,
        encode_numpy=None,
        decode=t.decode,
        decode_from=("list",),
        batch=lambda texts, threads: t.encode_batch(texts, threads, False),
        batch_ids=lambda result: np.split(result[0], result[1][1:-1]),
    )


def toktok(path: Path) -> Faces:
    """toktok: lists; the vocabularies that it bundles only, and no public calls but counting and cutting."""
    from toktok import _toktok

    t = _toktok.Tokenizer(path.stem, "")
    return Faces(
        encode=t.encode_ordinary,
        encode_list=t.encode_ordinary,
        encode_numpy=t.encode_to_numpy,
        decode=t.decode,
        decode_from=("list",),
        batch=t.encode_batch_to_numpy,
        batch_ids=lambda result: np.split(result[0], result[1][1:-1]),
    )


ALL: dict[str, Callable[[Path], Faces]] = {
    "tokkit": tokkit,
    "tiktoken": tiktoken,
    "tokenizers": tokenizers,
    "gigatoken": gigatoken,
    "quicktok": quicktok,
    "toktok": toktok,
    "tokkit-list": tokkit_list,
}
USUAL = [name for name in ALL if name != "tokkit-list"]


def reason(error: BaseException) -> str:
    """Return one line that says why a contender cannot run."""
    first = (str(error).strip() or "no message").splitlines()[0]
    return f"{type(error).__name__}: {first[:150]}"


def contenders(names: Sequence[str], path: Path) -> tuple[dict[str, Callable[[], Faces]], list[str]]:
    """Return (name → maker of a fresh tokenizer, a line for each that cannot run this vocabulary)."""
    makers: dict[str, Callable[[], Faces]] = {}
    absent = []
    for name in names:
        make = partial(ALL[name], path)
        try:
            make()
        # Rust panics are BaseException; whatever a rival does, the others are still measured.
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            absent.append(f"# {name} is absent from {path.stem}: {reason(error)}")
        else:
            makers[name] = make
    return makers, absent


def reference(names: Sequence[str]) -> str:
    """Return whose ids count as right: tiktoken's where it is there, else the first contender's."""
    return "tiktoken" if "tiktoken" in names else next(iter(names))
