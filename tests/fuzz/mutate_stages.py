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

NOT_REGULAR = (r"(?<=a)b|", r"\bx|", r"(a)\1|")
"""Options of patterns that no automaton runs."""

MODELS = ("model", "bytes", "tokens", "tokens", "tokens")

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
    return {token: id_ for token, id_ in vocab.items() if type(id_) is int} if isinstance(vocab, dict) else {}


def add_tokens(rng: random.Random, root: dict[str, Any]) -> None:
    """Join tokens of the model to new ones, which have merges if the model has; added tokens move behind them."""
    model = root.get("model")
    vocab = vocabulary(model)
    tokens = sorted(token for token in vocab if 0 < len(token) < 30)
    if not tokens:
        return
    recent = tokens
    for _ in range(rng.choice((1, 2, 5, 20))):
        left, right = rng.choice(recent), rng.choice(rng.choice((recent, tokens)))
        made, n = left + right, len(vocab)
        if made in vocab or len(made) > 40:
            continue
        if isinstance(model["vocab"], list):
            model["vocab"].append([made, rng.choice((-1.0, -2.5, -float(n), 0.0))])
        else:
            model["vocab"][made] = n
        if isinstance(model.get("merges"), list):
            spaced = all(isinstance(merge, str) for merge in model["merges"]) and " " not in made
            model["merges"].append(f"{left} {right}" if spaced else [left, right])
        for token in root["added_tokens"] if isinstance(root.get("added_tokens"), list) else ():
            if isinstance(token, dict) and type(token.get("id")) is int and token["id"] >= n:
                token["id"] += 1
        vocab[made] = n
        recent = [*recent[-3:], made, left, right]


def over_bytes(rng: random.Random, root: dict[str, Any]) -> None:
    """Make it BPE over bytes, with a split of its own."""
    source = rng.choice(("", "", "", *NOT_REGULAR)) + patterns.pattern(rng)
    split = {"type": "Split", "behavior": "Isolated", "invert": False, "pattern": {"Regex": source}}
    if rng.random() < 0.3:
        split |= {"behavior": rng.choice(pipelines.BEHAVIORS), "invert": rng.random() < 0.7}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    root["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, level]}
    root["normalizer"] = rng.choice((None, None, {"type": rng.choice(("NFC", "NFKC", "NFD"))}))
    root["decoder"] = level
    vocab = {symbol: id_ for id_, symbol in enumerate(pipelines.SYMBOLS)}
    root["model"] = {"type": "BPE", "vocab": vocab, "merges": [], "ignore_merges": rng.random() < 0.3}
    root["added_tokens"] = []
    add_tokens(rng, root)


def of_stages(rng: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Change some stages, patterns, settings, added tokens or the model; what is no object is changed as a tree."""
    root = loaded(data)
    if not isinstance(root, dict):
        return of_tree(rng, data, other, words)
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.choice((*STAGES, *STAGES, *SETTINGS, *MODELS, "pattern", "added tokens"))
        if kind in STAGES:
            change_stage(rng, root, kind)
        elif kind in SETTINGS:
            root[kind] = SETTINGS[kind](rng)
        elif kind == "pattern":
            change_pattern(rng, root)
        elif kind == "tokens":
            add_tokens(rng, root)
        else:
            if kind == "model":  # added tokens have the ids behind its vocabulary
                root["model"] = pipelines.model(rng, adversarial(rng.getrandbits(32), 60).split() or ["x"])
            elif kind == "bytes":
                over_bytes(rng, root)
            plain = SimpleNamespace(normalizer=None)
            root["added_tokens"] = pipelines.added_tokens(rng, vocabulary(root.get("model")), plain)
    try:
        return dumped(rng, root)
    except (ValueError, RecursionError):  # an object that has come to hold itself
        return mutate.of_bytes(rng, data, other, words)
