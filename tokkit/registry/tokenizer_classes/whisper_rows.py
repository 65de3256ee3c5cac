"""Whisper's tokenizer class: language, task and timestamps are tokens before a text."""

from __future__ import annotations

from typing import Any

from tokkit.errors import OptionError
from tokkit.registry.tokenizer_classes import languages
from tokkit.registry.tokenizer_classes.byte_level_rows import END
from tokkit.registry.tokenizer_classes.byte_level_rows import ROWS as BYTE_LEVEL
from tokkit.registry.tokenizer_classes.row import PAIR, Given, Row, Template
from tokkit.registry.tokenizer_classes.tokens import AddedToken

START, TASKS = "<|startoftranscript|>", ("translate", "transcribe")
_END = AddedToken(END, normalized=False, special=True)


def language_code(language: str) -> str:
    """Return the code of a language that is given by its name or code; OptionError lists the valid ones."""
    known = languages.WHISPER_NAMES
    code = known.get(language.lower(), language.lower())
    if code not in known.values():
        listed = ", ".join(dict.fromkeys(known.values()) if len(language) == 2 else known)
        raise OptionError(f"the language is {language!r}; it must be one of {listed}")
    return code


def prefix(draft: Any, given: Given) -> list[int]:
    """Return the ids before a text: the start, the language, the task, and that there are no timestamps."""
    language, task = given["language"], given["task"]
    if task is not None and task not in TASKS:
        raise OptionError(f"the task is {task!r}; it must be one of {', '.join(TASKS)}")
    ids = [draft.id_of(START)]
    if language is not None:
        ids.append(ids[0] + 1 + list(languages.WHISPER).index(language_code(language)))
    if task is not None:
        ids.append(draft.id_of(f"<|{task}|>"))
    return ids if given["predict_timestamps"] else [*ids, draft.id_of("<|notimestamps|>")]


def around(draft: Any, given: Given) -> Template:
    """Return the template of a language and a task."""
    before = [f"={draft.token_of(id_)}:0" for id_ in prefix(draft, given)]
    return [*before, "$A:0", "eos:0"], [*before, "$A:0", "$B:1", "eos:1"]


ROWS: dict[str, Row] = {
    "WhisperTokenizer": Row(
        roles={"unk_token": _END, "bos_token": _END, "eos_token": _END}, files=PAIR, model="BPE", template=around,
        arguments={"add_prefix_space": False, "language": None, "task": None, "predict_timestamps": False},
        parts=BYTE_LEVEL["GPT2Tokenizer"].parts,
    ),
}  # fmt: skip
