"""Finds the encoding of a model by tiktoken's table, and similar names for an unknown one.

An exact name in the table comes first, then the first matching prefix. So new versions of a model need no new entry,
but names that do not exist may have an encoding too.
"""

from __future__ import annotations

from tokkit.errors import OptionError

O200K, CL100K, P50K, R50K = "o200k_base", "cl100k_base", "p50k_base", "r50k_base"
_SIZES = ("davinci", "curie", "babbage", "ada")

MODELS: dict[str, str] = {
    **dict.fromkeys(("o1", "o3", "o4-mini", "gpt-5", "gpt-4.1", "gpt-4o"), O200K),
    **dict.fromkeys(("gpt-4", "gpt-3.5-turbo", "gpt-3.5", "gpt-35-turbo", "davinci-002", "babbage-002"), CL100K),
    **dict.fromkeys(("text-embedding-ada-002", "text-embedding-3-small", "text-embedding-3-large"), CL100K),
    **dict.fromkeys(("text-davinci-003", "text-davinci-002"), P50K),
    **dict.fromkeys((f"text-{size}-001" for size in _SIZES), R50K),
    **dict.fromkeys(_SIZES, R50K),
    **dict.fromkeys((f"code-{size}-00{n}" for size in ("davinci", "cushman") for n in (2, 1)), P50K),
    **dict.fromkeys(("davinci-codex", "cushman-codex"), P50K),
    **dict.fromkeys(("text-davinci-edit-001", "code-davinci-edit-001"), "p50k_edit"),
    **dict.fromkeys((f"text-similarity-{size}-001" for size in _SIZES), R50K),
    **dict.fromkeys((f"text-search-{size}-doc-001" for size in _SIZES), R50K),
    **dict.fromkeys((f"code-search-{size}-code-001" for size in ("babbage", "ada")), R50K),
    **dict.fromkeys(("gpt2", "gpt-2"), "gpt2"),
}
"""Model → encoding."""

BEGINNINGS: dict[str, str] = {
    **dict.fromkeys(("o1-", "o3-", "o4-mini-", "gpt-5", "gpt-4.5-", "gpt-4.1-", "chatgpt-4o-", "gpt-4o-"), O200K),
    **dict.fromkeys(("gpt-4-", "gpt-3.5-turbo-", "gpt-35-turbo-"), CL100K),
    "gpt-oss-": "o200k_harmony",
    "ft:gpt-4o": O200K,
    **dict.fromkeys(("ft:gpt-4", "ft:gpt-3.5-turbo", "ft:davinci-002", "ft:babbage-002"), CL100K),
}
"""Prefix of a model's name → encoding, in the order in which they are tried."""


def encoding_name_for_model(model: str) -> str:
    """Return the name of the encoding that a model uses, by tiktoken's table.

    OptionError names the models that are nearest to an unknown name.

    >>> encoding_name_for_model("gpt-4o-2024-05-13"), encoding_name_for_model("gpt-4-32k")
    ('o200k_base', 'cl100k_base')
    """
    if not isinstance(model, str):
        raise OptionError(f"a model's name is {type(model).__name__}; it must be a str")
    if (name := find(model)) is not None:
        return name
    raise OptionError(f"no encoding is known for the model {model!r}{nearest(model, MODELS)}")


def find(model: str) -> str | None:
    """Return the name of a model's encoding, None for an unknown model."""
    if model in MODELS:
        return MODELS[model]
    return next((name for beginning, name in BEGINNINGS.items() if model.startswith(beginning)), None)


def nearest(given: str, names: object) -> str:
    """Return the end of a message with the names similar to the given one, or else the first known names.

    >>> nearest("gpt-4O", ["gpt-4o", "gpt-4"])
    '; did you mean gpt-4o or gpt-4?'
    """
    import difflib

    known: list[str] = list(names)  # type: ignore[call-overload]
    folded = {name.lower(): name for name in known}
    near = [folded[name] for name in difflib.get_close_matches(given.lower(), folded, n=3, cutoff=0.6)]
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; known are {', '.join(known[:12])}{' and others' if len(known) > 12 else ''}"
