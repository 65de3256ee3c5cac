"""`SentencePieceNormalizer` of sentencepiece 0.2.3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokkit import limits
from tokkit._core.charsmap import Normalizer
from tokkit._core.text import Grown
from tokkit.compat.sentencepiece import decode
from tokkit.compat.sentencepiece.table import add_spellings
from tokkit.compat.sentencepiece.text import in_characters
from tokkit.errors import TokkitError
from tokkit.files import protobuf
from tokkit.formats import sentencepiece as model_file
from tokkit.models.sentencepiece import SentencePieceNormalizer as Rules
from tokkit.normalizers import sentencepiece_rules
from tokkit.normalizers.charsmap_builder import compile_rules, decompile


class SentencePieceNormalizer:
    """Normalizes texts by the rules of a model, by a name, by a TSV file or by pairs of texts."""

    def __init__(
        self,
        model_file: str | Path | None = None,
        model_proto: Any = None,
        normalizer_spec: Any = None,
        rule_tsv: str | Path | None = None,
        rule_name: str | None = None,
        norm_map: Sequence[tuple[str, str]] | None = None,
        add_dummy_prefix: bool | None = None,
        escape_whitespaces: bool | None = None,
        remove_extra_whitespaces: bool | None = None,
    ) -> None:
        try:
            rules = _rules(model_file, model_proto, normalizer_spec, rule_tsv, rule_name, norm_map)
        except TokkitError as error:
            raise RuntimeError(f"INTERNAL: {error}") from None
        if add_dummy_prefix is not None:
            rules = replace(rules, add_dummy_prefix=bool(add_dummy_prefix))
        if escape_whitespaces is not None:
            rules = replace(rules, escape_whitespaces=bool(escape_whitespaces))
        if remove_extra_whitespaces is not None:
            rules = replace(rules, remove_extra_whitespaces=bool(remove_extra_whitespaces))
        self.rules = rules
        self._core = Normalizer(
            self.rules.charsmap,
            add_prefix=self.rules.add_dummy_prefix,
            remove_extra=self.rules.remove_extra_whitespaces,
            escape=self.rules.escape_whitespaces,
        )
        self._core.most = limits.current().grown_bytes

    def normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """Return a text, or each of a list, normalized; optionally with the origin of each character or byte."""
        try:
            return normalized(self._core.normalize_aligned, input, with_offsets=bool(with_offsets))
        except Grown as error:
            raise limits.grown(error, self._core.most) from None

    def decompile(self) -> list[tuple[str, str]]:
        """Return the rules as pairs (text, replacement)."""
        return decompile(self.rules.charsmap)

    def serialized_normalizer_spec(self) -> bytes:
        """Return the rules as the message in a model file."""
        return model_file.normalizer_spec(self.rules)

    def serialized_model_proto(self) -> bytes:
        """Return a model file without pieces that has the rules."""
        return protobuf.written(model_file.NORMALIZER, self.serialized_normalizer_spec())


def _rules(path: Any, proto: Any, spec: Any, tsv: Any, name: str | None, pairs: Any) -> Rules:
    if path:
        return model_file.read_model(Path(path).read_bytes()).normalizer
    if proto:
        return model_file.read_model(_bytes(proto)).normalizer
    if spec:
        return model_file.read_normalizer(_bytes(spec))
    if tsv:
        text = Path(tsv).read_text(encoding="utf-8")
        return Rules(name="user_defined", charsmap=sentencepiece_rules.compile_tsv(text))
    if name:
        return Rules(name=name, charsmap=sentencepiece_rules.charsmap(name))
    if pairs:
        return Rules(name="user_defined", charsmap=compile_rules(_distinct(pairs)))
    raise ValueError("no model is specified")


def _distinct(pairs: Sequence[tuple[str | bytes, str | bytes]]) -> dict[str, str]:
    """Return the pairs as texts; ValueError for a rule without a source or effect, or that is given twice."""
    rules: dict[str, str] = {}
    for pair in pairs:
        source, target = (one.decode() if isinstance(one, bytes) else one for one in pair)
        if not source or source == target or source in rules:
            why = "has no source" if not source else "changes nothing" if source == target else "is given twice"
            raise ValueError(f"INVALID_ARGUMENT: the rule {source!r} → {target!r} {why}")
        rules[source] = target
    return rules


def _bytes(given: Any) -> bytes:
    data: bytes = given.SerializeToString() if hasattr(given, "SerializeToString") else given
    return data


def normalized(run: Any, input: Any, *, with_offsets: bool) -> Any:
    """Normalize a text, or each of a list, with `run`, which returns UTF-8 and origins."""
    if isinstance(input, list):
        return [normalized(run, text, with_offsets=with_offsets) for text in input]
    if not isinstance(input, (str, bytes)):
        raise TypeError("Input must be str or bytes")
    data = input.encode() if isinstance(input, str) else input
    try:
        data.decode()
        places = None
    except UnicodeDecodeError:
        data, places = decode.repaired(data)
    made, origins = run(data)
    origins = origins if places is None else places[origins]
    if not made and with_offsets:
        return (b"", []) if isinstance(input, bytes) else ("", [0])
    if isinstance(input, bytes):
        return (made, origins.tolist()) if with_offsets else made
    text = made.decode()
    if not with_offsets:
        return text
    starts = [0]
    for character in text:
        starts.append(starts[-1] + len(character.encode()))
    found = [int(origins[at]) for at in starts]
    return text, [a for a, _ in in_characters(data, [(at, at) for at in found])]


add_spellings(SentencePieceNormalizer)
