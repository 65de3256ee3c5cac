"""`train_new_from_iterator`: trains a new vocabulary for the components of a tokenizer.

Byte-level BPE, WordPiece and WordLevel are trained as in tokenizers: special tokens get the first ids.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokkit._core.align import AlignedText
from tokkit.definition import Definition
from tokkit.errors import OptionError
from tokkit.formats import tokenizer_json
from tokkit.formats.byte_symbols import SYMBOLS, to_symbols
from tokkit.models.names import described
from tokkit.models.wordlevel import WordLevel
from tokkit.models.wordpiece import WordPiece
from tokkit.registry.tokenizer_classes.tokens import AddedToken
from tokkit.trainers import train

if TYPE_CHECKING:
    from tokkit.compat.transformers.special_tokens import SpecialTokens


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request: special tokens, the size including them, their new names, and options of `train`."""

    special: Sequence[AddedToken]
    vocab_size: int
    renamed: dict[str, str]
    options: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        """The special tokens as text."""
        return [token.content for token in self.special]


def retrained(definition: Definition, texts: Iterable[Any], wanted: Wanted) -> Definition:
    """Return a definition with the same components and a newly trained model; OptionError for other models."""
    file = json.loads(tokenizer_json.write(definition))
    if definition.over_bytes is not None:
        table, merges = _byte_level(definition, texts, wanted)
        file["model"] |= {"vocab": table, "merges": merges}
    elif isinstance(definition.model, (WordPiece, WordLevel)):
        table = file["model"]["vocab"] = _words(definition, texts, wanted)
    else:
        raise OptionError(
            f"the model is {described(definition.model)}; train_new_from_iterator trains byte-level BPE, WordPiece "
            "and WordLevel; tokkit.train has the trainers of SentencePiece"
        )
    unknown = file["model"].get("unk_token")
    file["model"]["unk_token"] = wanted.renamed.get(unknown, unknown)
    file["added_tokens"] = [{"id": table[token.content], **token.as_dict()} for token in wanted.special]
    _renumber(file["post_processor"], table, wanted.renamed)
    return tokenizer_json.from_json(file)


def _byte_level(definition: Definition, texts: Iterable[Any], wanted: Wanted) -> tuple[dict[str, int], list[list[str]]]:
    """Return (token → id, merges) of byte-level BPE, in byte symbols; bytes are in the order of their symbols."""
    size = max(256, wanted.vocab_size - len(wanted.special))  # as in tokenizers, which always keeps the alphabet
    pattern = definition.over_bytes[1].pattern if definition.over_bytes is not None else None
    made = train(_normalized(definition, texts), model="bbpe", vocab_size=size, pattern=pattern, **wanted.options)
    merges: Any = made.definition.model.merges  # type: ignore[union-attr]  # of byte-level BPE
    of_id = {id_: to_symbols(token) for token, id_ in made.vocab.items()}
    tokens = dict.fromkeys([*wanted.texts, *sorted(SYMBOLS), *(of_id[int(result)] for _, _, result in merges)])
    pairs = [[of_id[int(left)], of_id[int(right)]] for left, right, _ in merges]
    return {token: id_ for id_, token in enumerate(tokens)}, pairs


def _words(definition: Definition, texts: Iterable[Any], wanted: Wanted) -> dict[str, int]:
    """Return token → id of WordPiece or WordLevel."""
    counts: Counter[str] = Counter()
    for text in _normalized(definition, texts, pretokenize=True):
        counts[text] += 1
    model: Any = definition.model
    unknown = wanted.renamed.get(model.unk_token, model.unk_token)
    options: dict[str, Any] = {"special_tokens": wanted.texts, "unk_token": unknown, **wanted.options}
    if isinstance(model, WordPiece):
        options = {"score": "frequency", "prefix": model.continuing_subword_prefix, **options}
    kind = "wordpiece" if isinstance(model, WordPiece) else "word"
    made = train(dict(counts), model=kind, vocab_size=wanted.vocab_size, **options)
    return {token.decode(): id_ for token, id_ in made.vocab.items()}


def _normalized(definition: Definition, texts: Iterable[Any], *, pretokenize: bool = False) -> Iterator[str]:
    """Yield texts after the normalizer, or their pretokens; `texts` yields texts or lists of them."""
    for item in texts:
        for text in [item] if isinstance(item, str) else item:
            if definition.normalizer is None and not pretokenize:
                yield text
                continue
            aligned = AlignedText(text)
            if definition.normalizer is not None:
                definition.normalizer.normalize(aligned)
            if pretokenize and definition.pretokenizer is not None:
                definition.pretokenizer.pretokenize(aligned)  # type: ignore[union-attr]  # only of models over text
            yield from aligned.pieces


def _renumber(stage: Any, table: dict[str, int], renamed: dict[str, str]) -> None:
    """Replace names and ids of the special tokens in a postprocessor's JSON."""
    if not isinstance(stage, dict):
        return
    for inner in stage.get("processors") or ():
        _renumber(inner, table, renamed)
    for token in (stage.get("special_tokens") or {}).values():
        token["tokens"] = [renamed.get(text, text) for text in token["tokens"]]
        token["ids"] = [_id_in(table, text) for text in token["tokens"]]
    for end in ("cls", "sep"):
        if end in stage:
            text = renamed.get(stage[end][0], stage[end][0])
            stage[end] = [text, _id_in(table, text)]


def _id_in(table: dict[str, int], text: str) -> int:
    if text not in table:
        raise OptionError(
            f"the postprocessor adds {text!r}, which is not among the special tokens of the new tokenizer"
        )
    return table[text]


def special_of(tok: SpecialTokens, renamed: dict[str, str], new: Iterable[Any]) -> list[AddedToken]:
    """Return the special tokens of a tokenizer, renamed, and new ones after them."""
    kept = [token for token in tok.added_tokens_decoder.values() if token.special]
    for token in kept:
        token.content = renamed.get(token.content, token.content)
    return list({token.content: token for token in (*kept, *(AddedToken.of(t, special=True) for t in new))}.values())
