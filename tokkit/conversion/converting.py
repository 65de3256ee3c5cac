"""`convert`: writes a tokenizer in another format, if that gives every text the same ids."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tokkit import formats
from tokkit.conversion import verification
from tokkit.conversion.verification import Verified
from tokkit.corpus import bundled
from tokkit.corpus.readers import InputErrors, Unit
from tokkit.errors import FormatError
from tokkit.files.files import refuse_inputs, show
from tokkit.loading import load
from tokkit.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokkit.formats.differences import Difference


@dataclass(frozen=True, slots=True)
class Conversion:
    """The result of `convert`: the files written, and the comparison.

    `differences` are the rules by which the target gives other ids; they are only allowed with `lossy=True`.
    """

    files: tuple[Path, ...]
    verified: Verified
    differences: tuple[Difference, ...] = field(default=())


def convert(
    source: str | os.PathLike[str] | Tokenizer,
    target: str | os.PathLike[str],
    *,
    format: str | None = None,
    verify: object = None,
    special: str = "text",
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    lowercase: bool | None = None,
    unit: Unit = "paragraph",
    field: str = "text",
    input_errors: InputErrors = "strict",
    threads: int | None = None,
    overwrite: bool = True,
    lossy: bool = False,
) -> Conversion:
    """Write a tokenizer in another format that gives every text the same ids; otherwise nothing is written.

    `source` is a tokenizer, or an argument of `load` with its `pattern`, `special_tokens` and `lowercase`. The format
    is `format`, or follows from the name of `target` as in `Tokenizer.save`. FormatError, with the reason, if the
    format cannot hold a property of the tokenizer. Before the target is written, the new files are loaded from a
    temporary folder and must give the same ids for the texts of `verify`: a path, a list of paths or an iterator of
    texts, by default the bundled corpus. `special` is as in `encode`; `unit`, `field` and `input_errors` are as in
    `train`. With `lossy`, the target is written even if there are differences, which are returned.

    >>> import tokkit, tempfile
    >>> tok = tokkit.train(iter(["low lower lowest"]), vocab_size=260)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = tokkit.convert(tok, f"{folder}/tokenizer.json", verify=iter(["lowest low", "a b"]))
    >>> done.verified.documents, done.verified.equal
    (2, True)
    """
    tok = source
    if not isinstance(tok, Tokenizer):
        refuse_inputs(formats.names_of(target, format), formats.files_of(tok))
        tok = load(tok, pattern=pattern, special_tokens=special_tokens, lowercase=lowercase)
    differences: list[Difference] = []
    contents = formats.contents_of(tok.definition, target, format=format, differences=differences if lossy else None)
    if not overwrite:
        formats.refuse_existing(contents)
    corpus = [str(path) for path in bundled.paths()] if verify is None else verify
    with tempfile.TemporaryDirectory() as folder:
        names = [formats.put({Path(folder, path.name): data})[0] for path, data in contents.items()]
        there = load(names[0])
        compared = verification.verify(
            tok,
            there,
            corpus,
            special=special,
            unit=unit,
            field=field,
            input_errors=input_errors,
            threads=threads,
        )
    if compared.mismatch is not None and not lossy:
        raise FormatError(
            f"{show(target)} is not written, because it would give other ids: {compared.mismatch} "
            f"({compared.documents:,} documents, {compared.tokens:,} tokens compared)"
        )
    files = formats.put(contents, overwrite=overwrite)
    return Conversion(tuple(files), compared, tuple(differences))
