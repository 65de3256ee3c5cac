"""Calls of a tokenizer: texts → `BatchEncoding`, through arrays if possible, else through encodings."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokkit.checks import is_text
from tokkit.compat.transformers import lengths, tensors
from tokkit.compat.transformers.batch_encoding import BatchEncoding, LazyEncodings
from tokkit.compat.transformers.batches import Request, batch_of
from tokkit.compat.transformers.rows import listed
from tokkit.compat.transformers.special_tokens import SpecialTokens
from tokkit.compat.transformers.vocabulary import LOG
from tokkit.errors import OptionError
from tokkit.postprocessors.lengths import pad

if TYPE_CHECKING:
    from tokkit.encoding import Encoding
    from tokkit.encoding.length_rules import Truncation
    from tokkit.engine.special_tokens import Special
    from tokkit.postprocessors.batch import Batch

_OFF = ("off", "false", "f", "no", "n", "0")
KEYS = {
    "ids": "input_ids",
    "type_ids": "token_type_ids",
    "attention_mask": "attention_mask",
    "special_tokens_mask": "special_tokens_mask",
    "offsets": "offset_mapping",
}
"""Column of an encoding → its name in a BatchEncoding."""
_TOO_LONG = "sequence-length-is-longer-than-the-specified-maximum"
"""The key in `deprecation_warnings` of the warning that a text is too long, which is given once."""


class Wanted(NamedTuple):
    """The columns that a call returns, and their type."""

    columns: tuple[str, ...]
    length: bool
    overflow: bool
    kind: str | None

    @property
    def offsets(self) -> bool:
        """Whether offsets are among the columns."""
        return "offsets" in self.columns


class Call(SpecialTokens):
    """`tokenizer(texts, …)`, `encode` and `tokenize`."""

    model_input_names: list[str]
    model_max_length: int
    padding_side: str
    truncation_side: str
    split_special_tokens: bool
    verbose: bool
    deprecation_warnings: dict[str, bool]

    @property
    def pad_token_type_id(self) -> int:
        """The type id of padding, 0."""
        return 0

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """Return the number of special tokens that a text, or a pair, gets."""
        processor = self._tok.definition.postprocessor
        return 0 if processor is None else int(processor.n_added(pair=pair))

    @property
    def max_len_single_sentence(self) -> int:
        """The maximum number of tokens of a text without special tokens."""
        return self.model_max_length - self.num_special_tokens_to_add()

    @property
    def max_len_sentences_pair(self) -> int:
        """The maximum number of tokens of both texts of a pair without special tokens."""
        return self.model_max_length - self.num_special_tokens_to_add(pair=True)

    def __call__(
        self,
        text: Any = None,
        text_pair: Any = None,
        text_target: Any = None,
        text_pair_target: Any = None,
        add_special_tokens: bool = True,
        padding: Any = False,
        truncation: Any = None,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: Any = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        verbose: bool = True,
        tokenizer_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> BatchEncoding:
        """Return the ids and masks of a text, a pair, or a batch of them.

        The arguments are those of transformers' fast tokenizers. `return_tensors` is "np" or "pt". With padding, and
        without overflowing tokens and offsets, tensors are made without Python objects per token.
        """
        if text is None and text_target is None:
            raise OptionError("neither text nor text_target was given; one of them is needed")
        pads, cut, max_length = lengths.strategies(
            self, padding, truncation, max_length, multiple=pad_to_multiple_of, verbose=verbose
        )
        side = padding_side if padding_side is None else tensors.choice("padding_side", padding_side, "left", "right")
        split = {**(tokenizer_kwargs or {}), **kwargs}.get("split_special_tokens", self.split_special_tokens)
        if split and self.row.scripted is not None:  # what they make of special tokens is an accident of their code
            raise OptionError(f"split_special_tokens is True, and {type(self).__name__} cannot split special tokens")
        if return_tensors is not None:
            return_tensors = tensors.choice("return_tensors", return_tensors, *tensors.TENSORS)
        names = self.model_input_names
        asked = {
            "ids": True,
            "type_ids": "token_type_ids" in names if return_token_type_ids is None else return_token_type_ids,
            "attention_mask": "attention_mask" in names if return_attention_mask is None else return_attention_mask,
            "special_tokens_mask": return_special_tokens_mask,
            "offsets": return_offsets_mapping,
        }
        columns = tuple(name for name, is_wanted in asked.items() if is_wanted)
        wanted = Wanted(columns, return_length, return_overflowing_tokens, return_tensors)
        results = []
        max_target = kwargs.get("max_target_length") or max_length
        sides = ((text, text_pair, max_length), (text_target, text_pair_target, max_target))
        for first, second, most in sides:
            if first is None:
                continue
            texts, pairs, single = batch_of(first, second, words=is_split_into_words)
            options: dict[str, Any] = {"stride": stride, "multiple": pad_to_multiple_of, "side": side}
            cuts: dict[bool, Truncation | None] = {False: None, True: None}
            fill = None
            unlimited = pads == "do_not_pad" and cut == "do_not_truncate"
            for with_pair in () if unlimited else {second is not None for second in pairs or [None]}:
                n_added = self.num_special_tokens_to_add(pair=with_pair) if add_special_tokens else 0
                cuts[with_pair], fill = lengths.rules(self, pads, cut, most, n_added=n_added, **options)
            special = "text" if split else "all"
            request = Request(texts, pairs, is_split_into_words, special, add_special_tokens, cuts, fill)
            made = self._encoded(request, wanted)
            self._warn_of_length(made, max_length, verbose)
            results.append(_unwrapped(made) if single and return_tensors is None and not wanted.overflow else made)
        if len(results) == 2:
            results[0]["labels"] = results[1]["input_ids"]
        return results[0]

    def encode(self, text: Any, text_pair: Any = None, add_special_tokens: bool = True, **kwargs: Any) -> Any:
        """Return the ids of a call with these arguments."""
        return self(text, text_pair, add_special_tokens=add_special_tokens, **kwargs)["input_ids"]

    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **kwargs: Any
    ) -> list[str]:
        """Return the tokens of a text, or of a pair; of several texts, those of the first."""
        if type(text) is str and is_text(text) and pair is None and not kwargs and self._is_texts_alone:
            special: Special = "text" if self.split_special_tokens else "all"
            make = self._tok.assembler
            made = make.encoding(
                text, None, special, pretokenized=False, add_special=add_special_tokens, truncation=None
            )
            if len(made) <= self.model_max_length:  # else there is a warning
                return made.as_list("tokens")
        return self(text, pair, add_special_tokens=add_special_tokens, **kwargs).tokens()

    # ---- implementation

    @property
    def _is_texts_alone(self) -> bool:
        """Whether a call depends on nothing but the texts and its arguments."""
        return self.row.scripted is None

    def _encoded(self, request: Request, wanted: Wanted) -> BatchEncoding:
        if not (request.words or wanted.offsets or wanted.overflow or request.is_mixed):
            if wanted.kind is not None or request.padding is not None:
                rows = self._rows(request, wanted)
                if rows is not None:
                    return rows
            elif request.cut is None:
                return self._lists(request, wanted)
            else:
                cut = self._cut_lists(request, wanted)
                if cut is not None:
                    return cut
        made = self._encodings(request)
        if wanted.overflow:
            parts = [[encoding, *encoding.overflowing] for encoding in made]
            made = [part for row in parts for part in row]
        columns = {name: [encoding.as_list(name) for encoding in made] for name in wanted.columns}
        data: dict[str, list[Any]] = {KEYS[name]: column for name, column in columns.items()}
        if wanted.length:
            data["length"] = [len(encoding) for encoding in made]
        if wanted.overflow:
            data["overflow_to_sample_mapping"] = [i for i, row in enumerate(parts) for _ in row]
        return BatchEncoding(data, made, wanted.kind, n_sequences=request.n_sequences)

    def _lists(self, request: Request, wanted: Wanted) -> BatchEncoding:
        """Return a batch as lists of different lengths."""
        options: dict[str, Any] = {"special": request.special, "add_special": request.add_special}
        options["threads"] = _threads() if len(request.texts) > 1 else 1
        columns = listed(self._tok, request.texts, request.pairs, wanted.columns, **options)
        data: dict[str, Any] = {KEYS[name]: columns[name] for name in wanted.columns}
        if wanted.length:
            data["length"] = list(map(len, columns["ids"]))
        return BatchEncoding(data, self._later(request), n_sequences=request.n_sequences)

    def _cut_lists(self, request: Request, wanted: Wanted) -> BatchEncoding | None:
        """Return a truncated batch as lists of different lengths; None if an error or warning is due."""
        batch = self._padded(request)
        if batch is None:
            return None
        ends = batch.attention_mask.sum(axis=1).tolist()
        data: dict[str, Any] = {
            KEYS[name]: [row[:end].tolist() for row, end in zip(getattr(batch, name), ends, strict=True)]
            for name in wanted.columns
        }
        if wanted.length:
            data["length"] = ends
        return BatchEncoding(data, self._later(request), n_sequences=request.n_sequences)

    def _later(self, request: Request) -> LazyEncodings:
        return LazyEncodings(functools.partial(self._encodings, request), len(request.texts))

    def _encodings(self, request: Request) -> list[Encoding]:
        if request.is_mixed:
            single, paired = (iter(self._encodings(request.of_kind(pair=pair))) for pair in (False, True))
            joined = [next(single if pair is None else paired) for pair in request.pairs or ()]
            return joined if request.padding is None else pad(joined, request.padding)
        options: dict[str, Any] = {
            "special": request.special,
            "add_special": request.add_special,
            "pretokenized": request.words,
            "truncation": request.cut,
            "padding": request.padding,
        }
        return self._tok.encodings(request.texts, request.pairs, **options)

    def _rows(self, request: Request, wanted: Wanted) -> BatchEncoding | None:
        """Return a batch through arrays; None if its rows have different lengths, or an error or warning is due."""
        batch = self._padded(request)
        if batch is None or (request.padding is None and not batch.attention_mask.all()):
            return None
        columns = {KEYS[name]: getattr(batch, name) for name in wanted.columns}
        if wanted.length:
            columns["length"] = np.full(len(batch.ids), batch.ids.shape[1])
        data = {name: _as(wanted.kind, column) for name, column in columns.items()}
        return BatchEncoding(data, self._later(request), n_sequences=request.n_sequences)

    def _padded(self, request: Request) -> Batch | None:
        """Return a batch as arrays, whose rows are padded at the end unless the request says how; None for an error."""
        try:
            return self._tok.encode_padded(
                request.texts,
                request.pairs,
                special=request.special,
                add_special=request.add_special,
                truncation=request.cut,
                padding=request.padding,
                threads=_threads(),
            )
        except OptionError:
            return None

    def _warn_of_length(self, made: BatchEncoding, max_length: int | None, verbose: bool) -> None:
        if max_length is not None or not verbose or self.model_max_length == 0:
            return
        longest = max(map(len, made["input_ids"]))
        if longest > self.model_max_length and not self.deprecation_warnings.get(_TOO_LONG):
            self.deprecation_warnings[_TOO_LONG] = True
            LOG.warning(
                "a text has %d tokens, more than the model's maximum of %d (model_max_length); pass truncation=True",
                longest,
                self.model_max_length,
            )


def _as(kind: str | None, column: Any) -> Any:
    """Return an array as a tensor of int64, or as lists."""
    return column.tolist() if kind is None else tensors.of_array(column.astype(np.int64), kind)


def _threads() -> int | None:
    """Return the number of threads for a batch: all, unless TOKENIZERS_PARALLELISM forbids it."""
    return 1 if os.environ.get("TOKENIZERS_PARALLELISM", "").lower() in _OFF else None


def _unwrapped(batch: BatchEncoding) -> BatchEncoding:
    """Return the only row of a batch."""
    for key, value in batch.data.items():
        if isinstance(value[0], list):
            batch.data[key] = value[0]
    return batch
