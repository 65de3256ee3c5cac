"""Embeds files into an index, and searches it.

>>> from tokkit import pipeline
>>> encoder = pipeline.load("all-MiniLM-L6-v2/")  # doctest: +SKIP
>>> index = Embedding(["notes/"], "index").run(encoder).index  # doctest: +SKIP
>>> find(index, encoder, ["where do herons fish?"], k=3)[0][0].text  # doctest: +SKIP
'A bank by the river where herons fish.'
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokkit import nn
from tokkit.corpus.paths import input_name
from tokkit.corpus.readers import InputErrors
from tokkit.errors import CorpusError, OptionError
from tokkit.files.files import refuse_inputs
from tokkit.search import builder, second_stage, sources
from tokkit.search.builder import Encoder
from tokkit.search.index import About, Hit, SearchIndex, check_place, create, files_in
from tokkit.search.second_stage import Reranker
from tokkit.search.sources import Skipped


@dataclass(frozen=True, slots=True)
class Options:
    """Options of reading and cutting files.

    A passage has at most `tokens` tokens (None: the model's maximum), of which the next one repeats `overlap` (None: an
    eighth). `field` is the field of .jsonl records with the text; `input_errors` is as in `tokkit.corpus`.
    """

    tokens: int | None = None
    overlap: int | None = None
    field: str = "text"
    input_errors: InputErrors = "strict"
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of embedding: the index, the numbers of new passages and files, and of unchanged files."""

    index: SearchIndex
    passages: int
    files: int
    unchanged: int
    skipped: list[Skipped]


class Embedding:
    """Files to embed, and the index to write; it is made before a model is loaded, so that errors are raised at once.

    `append` adds to an existing index (`old`): unchanged files are skipped, changed ones replaced. `overwrite` replaces
    an index. Raises CorpusError for a missing path, FileExistsError and FormatError for a folder that cannot be an
    index, SameFileError if the index itself is among the files.
    """

    def __init__(
        self, paths: Sequence[str], folder: str | os.PathLike[str], *, append: bool = False, overwrite: bool = False
    ) -> None:
        if isinstance(paths, (str, os.PathLike)):
            raise TypeError(f"paths is one {type(paths).__name__}; it must be a list of paths: [path]")
        if append and overwrite:
            raise OptionError("append adds to an index, overwrite replaces it; give only one of them")
        self._paths, self._folder, self._overwrite = [os.fspath(path) for path in paths], Path(folder), overwrite
        self.old = SearchIndex.open(folder) if append else None
        if not append:
            check_place(self._folder, overwrite=overwrite)
        self._found = list(sources.find(self._paths, leave_out=os.fspath(folder)))
        found = (path for path in self._found if isinstance(path, str))
        refuse_inputs([self._folder, *files_in(self._folder)], [*self._paths, *found])

    def run(
        self,
        encoder: Encoder,
        *,
        model: str = "",
        options: Options | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> Outcome:
        """Read and encode all texts, and write the index.

        `model` is the encoder's path or name, which the index stores.

        `progress` gets the number of finished passages. OptionError if the index was made with another model,
        CorpusError if there is no file to read; unreadable files are returned as `skipped`.
        """
        options = options or Options()
        about = self._about(encoder, model, options)
        made = builder.Builder(encoder, about, threads=options.threads, progress=progress)
        taken: dict[str, str] = {}
        skipped: list[Skipped] = []
        unchanged = 0
        for path in self._found:
            read = path if isinstance(path, Skipped) else sources.read(path, options.field, options.input_errors)
            if isinstance(read, Skipped):
                skipped.append(read)
            elif self.old is not None and self.old.sources.get(read.path) == read.sha256:
                unchanged += 1
            else:
                made.add(len(taken), read.documents)
                taken[read.path] = read.sha256
        rows = made.rows()
        if self.old is None:
            if not taken:
                raise CorpusError(self._nothing(skipped))
            index = create(self._folder, about, taken, rows, overwrite=self._overwrite)
        else:
            index = self.old.with_rows(taken, rows) if taken else self.old
        return Outcome(index, len(rows.vectors), len(taken), unchanged, skipped)

    def _about(self, encoder: Encoder, model: str, options: Options) -> About:
        if self.old is None:
            return builder.about(encoder, model, tokens=options.tokens, overlap=options.overlap)
        has = self.old.about
        for name in ("tokens", "overlap"):
            asked = getattr(options, name)
            if asked not in (None, getattr(has, name)):
                of = f"passages of {has.tokens} tokens with an overlap of {has.overlap}"
                raise OptionError(f"{name} is {asked}; the index has {of}")
        builder.check(encoder, model, self.old)
        return builder.about(encoder, has.model, tokens=has.tokens, overlap=has.overlap)

    def _nothing(self, skipped: Sequence[Skipped]) -> str:
        where = ", ".join(map(input_name, self._paths))
        first = f"; {input_name(skipped[0].path)}: {skipped[0].reason}" if skipped else ""
        return f"nothing to embed: no file in {where} can be read{first}"


def find(
    index: SearchIndex,
    encoder: Encoder,
    queries: Sequence[str],
    k: int = 5,
    *,
    ann: bool = False,
    rerank: Reranker | None = None,
    candidates: int | None = None,
    threads: int | None = None,
) -> list[list[Hit]]:
    """Return the k passages nearest to each query, the best first; with `ann`, by the graph (see ann.py).

    With `rerank`, a cross-encoder, the nearest `candidates` passages (50, or k if that is more) are sorted by its
    scores, and the hits have these scores. OptionError if the index was made with another model.
    """
    if isinstance(queries, str):
        raise TypeError("queries is one str; it must be a list of str: [query]")
    n = second_stage.candidates_of(k, rerank, candidates)
    builder.check(encoder, "the encoder given", index)
    vectors = builder.encode_queries(encoder, queries, threads=threads)
    if ann:
        from tokkit.search import ann as graph

        nearest = graph.nearest(index, vectors, n)
    else:
        nearest = index.nearest(vectors, n, threads=threads)
    rows, scores = nearest.rows.tolist(), nearest.scores.tolist()
    found = [index.hits(some, theirs) for some, theirs in zip(rows, scores, strict=True)]
    if rerank is None:
        return found
    with nn.threads(nn.current_threads() if threads is None else threads):
        return [second_stage.reranked(rerank, query, hits, k) for query, hits in zip(queries, found, strict=True)]
