"""Compiles a definition to plans: which stages the core runs, and where a text may be cut."""

from __future__ import annotations

from typing import Any, NamedTuple

from tokkit._core.encode.plan import Encoder
from tokkit._core.encode.staged import StagedEncoder, Stages
from tokkit.definition import Definition
from tokkit.engine import cut_rules
from tokkit.normalizers.base import Normalizer
from tokkit.pretokenizers.base import Pretokenizer
from tokkit.unicode_regex.atoms import nowhere

CACHE_UNITS = 1 << 18
"""Maximum number of units of up to 15 bytes in one thread's cache; longer units have another table, of up to 3 MiB."""

CACHE_LINES = 15
"""log2 of the number of cache lines, of two units each, in a new cache: 2 MiB, which grows as it fills."""


class Component(NamedTuple):
    """The core's specification of normalizers or pretokenizers, and the cut rule of each part."""

    specs: tuple[tuple[Any, ...], ...]
    rules: list[Any]


def component_of(part: Any, kind: type[Normalizer] | type[Pretokenizer]) -> Component | None:
    """Return the core's specification of a normalizer or pretokenizer; None for one in Python."""
    if part is None:
        return Component((), [])
    specs = part.stages() if isinstance(part, kind) else None
    return None if specs is None else Component(specs, part.cut_rules())


def staged_encoder(definition: Definition, model: Any, *, normalized_first: bool) -> Encoder | None:
    """Return the encoder of components and a model; None if the core cannot run all of them.

    With `normalized_first` the text between two added tokens is normalized as a whole, because added tokens are
    searched for in the result.
    """
    normalizer = component_of(definition.normalizer, Normalizer)
    pretokenizer = component_of(definition.pretokenizer, Pretokenizer)
    if normalizer is None or pretokenizer is None:
        return None
    before = normalizer if normalized_first else Component((), [])
    on_units = Component((), []) if normalized_first else normalizer
    splittable = getattr(definition.model, "splittable", None)
    within = nowhere() if splittable is None else splittable(definition.vocab, model.core)
    one_word = not any(spec[0].startswith("split") for spec in pretokenizer.specs)
    rules = cut_rules.compose(on_units.rules, pretokenizer.rules, within)
    return StagedEncoder(
        model.core,
        Stages([*on_units.specs, *pretokenizer.specs[:1], *map(_in_any_piece, pretokenizer.specs[1:])]),
        before=Stages(before.specs) if before.specs else None,
        rule=rules.all,
        word_rule=rules.of_words if not one_word else None if model.core.may_drop else rules.all,
        one_word=one_word,
        edges=rules.edges,
        kept=rules.kept,
        n_ids=definition.vocab.n_ids,
        max_words=CACHE_UNITS,
        cache_lines=CACHE_LINES,
    )


def _in_any_piece(spec: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a stage that prepends to each pretoken, or None; after another pretokenizer, pretokens are whole."""
    return (spec[0].removesuffix("_first"), *spec[1:])
