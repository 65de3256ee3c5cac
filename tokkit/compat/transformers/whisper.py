"""What Whisper's tokenizer has besides: tokens before a text for language and task, and timestamps in decoded text."""

from __future__ import annotations

import re
from typing import Any

from tokkit.compat.transformers.around import Around
from tokkit.errors import OptionError
from tokkit.registry.tokenizer_classes import build, whisper_rows

_TIMESTAMP = re.compile(r"<\|\d+\.\d+\|>")
_REFUSED = ("output_offsets", "normalize", "basic_normalize", "remove_diacritics")
SEGMENT = 1500
"""Timestamps in a segment of 30 seconds."""


class Whisper(Around):
    """Calls of WhisperTokenizer."""

    @property
    def prefix_tokens(self) -> list[int]:
        """The ids before a text."""
        return whisper_rows.prefix(self._draft(), self._given)

    def set_prefix_tokens(
        self, language: str | None = None, task: str | None = None, predict_timestamps: bool | None = None
    ) -> None:
        """Set the language, the task, and whether there are timestamps; None leaves a value as it is."""
        for name, value in (("language", language), ("task", task), ("predict_timestamps", predict_timestamps)):
            if value is not None:
                self._given[name] = self.__dict__[name] = value
        draft = self._draft()
        build.put_around(draft, whisper_rows.around(draft, self._given))
        self._become(self._with_around(draft))

    def get_decoder_prompt_ids(
        self, task: str | None = None, language: str | None = None, no_timestamps: bool = True
    ) -> list[tuple[int, int]]:
        """Return (position, id) of the tokens that generation begins with, after the first."""
        self.set_prefix_tokens(task=task, language=language, predict_timestamps=not no_timestamps)
        return list(enumerate(self.prefix_tokens[1:], 1))

    def get_prompt_ids(self, text: str, return_tensors: Any = "np") -> Any:
        """Return the ids of a prompt: the start of what was said before, and a text without special tokens."""
        made = self("<|startofprev|>", " " + text.strip(), add_special_tokens=False)
        first = self.all_special_ids[0]
        special = [self.convert_ids_to_tokens(id_) for id_ in made["input_ids"][1:] if id_ >= first]
        if special:
            raise OptionError(f"the prompt has the special token {special[0]}, which it must not have")
        made.convert_to_tensors(return_tensors)
        return made["input_ids"]

    def decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        decode_with_timestamps: bool = False,
        time_precision: float = 0.02,
        **kwargs: Any,
    ) -> Any:
        """Return the text of ids, without timestamps unless `decode_with_timestamps`.

        With `skip_special_tokens`, a prompt before the start of the transcript is left out too. OptionError for
        `output_offsets` and `normalize`, which tokkit does not have.
        """
        if asked := [name for name in _REFUSED if kwargs.get(name)]:
            raise OptionError(f"{asked[0]} is not supported; decode without it, and use transformers for it")
        if skip_special_tokens:
            token_ids = self._without_prompt(token_ids)
        if decode_with_timestamps:
            ids = token_ids.tolist() if hasattr(token_ids, "tolist") else list(token_ids)
            if ids and not isinstance(ids[0], int):
                return [self._with_timestamps(list(row), skip_special_tokens, time_precision) for row in ids]
            return self._with_timestamps(ids, skip_special_tokens, time_precision)
        text = super().decode(token_ids, skip_special_tokens, clean_up_tokenization_spaces, **kwargs)
        return [_TIMESTAMP.sub("", one) for one in text] if isinstance(text, list) else _TIMESTAMP.sub("", text)

    def _without_prompt(self, token_ids: Any) -> Any:
        """Return the ids from the start of the transcript on, if they begin with a prompt."""
        ids = token_ids.tolist() if hasattr(token_ids, "tolist") else token_ids
        if not isinstance(ids, list) or not ids or ids[0] != self.convert_tokens_to_ids("<|startofprev|>"):
            return token_ids
        start = self.convert_tokens_to_ids(whisper_rows.START)
        return ids[ids.index(start) :] if start in ids else []

    def _with_timestamps(self, ids: list[int], skip: bool, precision: float) -> str:
        """Return the text of ids with timestamps that grow from segment to segment."""
        first = int(self.all_special_ids[-1]) + 1
        parts: list[str | list[int]] = [[]]
        now = before = past = 0.0
        for i, id_ in enumerate(ids):
            if id_ < first:
                parts[-1].append(id_)  # type: ignore[union-attr]  # the last part is always a list
                continue
            time = float((id_ - first) * precision)
            if time < now:  # a new segment begins
                if i >= 2 and not (ids[i - 1] >= first and ids[i - 2] >= first):
                    past += precision * SEGMENT
                else:
                    now, past, parts = before, past + before, parts[:-2]
            before, now = now, time
            parts += [f"<|{time + past:.2f}|>", []]
        texts = (part if isinstance(part, str) else super(Whisper, self).decode(part, skip) for part in parts if part)
        return "".join(texts)
