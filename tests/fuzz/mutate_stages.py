"""Changes of a tokenizer.json by components of chance: those that the comparison with tokenizers makes.

Changes of single values seldom make a component that is valid, much less several that act on each other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import mutate
import patterns
import pipelines
from mutate_json import at, dumped, loaded, of_tree, places
from strategies import adversarial

STAGES: dict[str, tuple[Callable[[random.Random], Any], str]] = {
    "normalizer": (pipelines.normalizer, "normalizers"),
    "pre_tokenizer": (pipelines.pretokenizer, "pretokenizers"),
    "post_processor": (pipelines.postprocessor, "processors"),
    "decoder": (pipelines.decoder, "decoders"),
}
"""How a stage is made, and the name of the list in a Sequence of it."""

SETTINGS = {"truncation": pipelines.truncation, "padding": pipelines.padding}


def change_stage(rng: random.Random, root: dict[str, Any], name: str) -> None:
    """Put a stage in place of what was there, before it or after it."""
    make, listed = STAGES[name]
    old, new = root.get(name), make(rng)
    kind = rng.randrange(4)
    if kind == 0 or old is None:
        root[name] = new
    elif kind == 1:
        root[name] = None
    else:
        root[name] = {"type": "Sequence", listed: [old, new] if kind == 2 else [new, old]}


def change_pattern(rng: random.Random, root: dict[str, Any]) -> None:
    """Put a pattern of chance in place of one that is there."""
    found = [path for path in places(root) if path and path[-1] in ("Regex", "String")]
    if found:
        path = rng.choice(found)
        holder = at(root, path[:-1])
        del holder[path[-1]]
        holder["Regex"] = rng.choice((patterns.pattern, patterns.any_case))(rng)


def vocabulary(model: Any) -> dict[str, int]:
    """The tokens of a model and their ids; none if it is no model."""
    vocab = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocab, list):
        vocab = {str(token[0]) if isinstance(token, list) and token else "": id_ for id_, token in enumerate(vocab)}
    return vocab if isinstance(vocab, dict) else {}


def of_stages(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Change some stages, patterns, settings, added tokens or the model; what is no object is changed as a tree."""
    root = loaded(data)
    if not isinstance(root, dict):
        return of_tree(rng, data, other, words)
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.choice((*STAGES, *STAGES, *SETTINGS, "pattern", "model", "added tokens"))
        if kind in STAGES:
            change_stage(rng, root, kind)
        elif kind in SETTINGS:
            root[kind] = SETTINGS[kind](rng)
        elif kind == "pattern":
            change_pattern(rng, root)
        else:
            if kind == "model":  # added tokens have the ids behind its vocabulary
                root["model"] = pipelines.model(rng, adversarial(rng.getrandbits(32), 60).split() or ["x"])
            plain = SimpleNamespace(normalizer=None)
            root["added_tokens"] = pipelines.added_tokens(rng, vocabulary(root.get("model")), plain)
    try:
        return dumped(rng, root)
    except (ValueError, RecursionError):  # an object that has come to hold itself
        return mutate.of_bytes(rng, data, other, words)
