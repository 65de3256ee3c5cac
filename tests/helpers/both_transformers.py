"""Makes a tokenizer of transformers and of tokkit's drop-in from one folder, and compares the results of calls."""

from __future__ import annotations

import functools
import json
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import transformers_folders
from extras import extra
from tokkit.compat import transformers as face

os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = extra("transformers", minversion="5.0")
torch = extra("torch")

Both = tuple[Any, Any]
Load = Callable[..., Both]


def loader(shared: Path, root: Path) -> Load:
    """Name of a tokenizer, and what its configuration says differently → the real one and ours, new ones each time."""

    @functools.cache
    def folder(name: str, config: str) -> Path:
        return transformers_folders.write(
            shared, root / f"{name}-{len(list(root.iterdir()))}", name, **json.loads(config)
        )

    def load(name: str, **config: Any) -> Both:
        path = folder(name, json.dumps(config))
        return transformers.AutoTokenizer.from_pretrained(path), face.AutoTokenizer.from_pretrained(path)

    return load


def plain(value: Any) -> Any:
    """A result as comparable data: kinds of tensors by name, and the order of keys."""
    if torch.is_tensor(value):
        return "pt", str(value.dtype), value.tolist()
    if isinstance(value, np.ndarray):
        return "np", str(value.dtype), value.shape, plain(value.tolist())
    if isinstance(value, Mapping):
        return [(key, plain(one)) for key, one in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "content") and hasattr(value, "lstrip") and not isinstance(value, str):
        return [
            getattr(value, name) for name in ("content", "lstrip", "rstrip", "single_word", "normalized", "special")
        ]
    return value


def outcome(call: Callable[..., Any], *args: Any) -> tuple[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "value", plain(call(*args))
        except BaseException as error:
            if type(error).__name__ == "PanicException":  # the real one gives up there
                return "error", Exception()
            return "error", error


def is_same(theirs: tuple[str, Any], ours: tuple[str, Any]) -> bool:
    if theirs[0] == ours[0] == "error":
        return isinstance(ours[1], type(theirs[1]))
    return theirs == ours


def same(both: Both, call: Callable[[Any], Any]) -> None:
    theirs, ours = (outcome(call, tok) for tok in both)
    if not is_same(theirs, ours):
        mine, wanted = repr(ours), repr(theirs)
        at = max(0, next((i for i, (a, b) in enumerate(zip(mine, wanted, strict=False)) if a != b), 0) - 100)
        raise AssertionError(f"… {mine[at : at + 400]} … is not … {wanted[at : at + 400]} …")


def all_same(both: Both, calls: list[Callable[[Any], Any]]) -> None:
    for call in calls:
        same(both, call)


def state(tok: Any) -> Any:
    return [
        tok.special_tokens_map, tok.all_special_tokens, tok.all_special_ids, tok.extra_special_tokens, len(tok),
        tok.vocab_size, tok.added_tokens_decoder, tok.model_max_length, tok.padding_side, tok.truncation_side,
        tok("a newtok <A> hello OTHERTOK [CLS] <P>")["input_ids"],
        tok.decode([1, 2, len(tok) - 1], skip_special_tokens=True),
    ]  # fmt: skip
