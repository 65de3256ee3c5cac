"""Runs `tokkit model embed` and `tokkit model search`: builds an index of files, and queries it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import errors, inputs, output
from tokkit.errors import CorpusError, OptionError
from tokkit.escaping import show
from tokkit.progress import Progress

if TYPE_CHECKING:
    from tokkit.search.embedding import Outcome
    from tokkit.search.index import Hit, SearchIndex

TOGETHER = 64
"""Number of queries from stdin that are encoded and searched together."""


def run(paths: Sequence[str], folder: str, chosen: Mapping[str, Any], progress: Progress) -> bool:
    """Write or extend the index in `folder`; return whether every file could be read."""
    from tokkit.cli.models import load_vectors
    from tokkit.files.files import refuse_inputs
    from tokkit.search import ann
    from tokkit.search.embedding import Embedding, Options

    refuse_inputs([folder], inputs.given())
    if chosen["append"] and chosen["force"]:
        raise click.UsageError("--append adds to an index and --force replaces it: give only one of them")
    if chosen["ann"]:
        ann.check()
    try:
        job = Embedding(paths, folder, append=chosen["append"], overwrite=chosen["force"])
    except FileExistsError as error:
        is_index = os.path.exists(os.path.join(folder, "index.json"))
        raise FileExistsError(f"{error}{'; --append adds to it, --force replaces it' * is_index}") from None
    model = _model(chosen["model"], job.old)
    options = Options(**{name: chosen[name] for name in Options.__slots__})
    done = job.run(
        load_vectors(model, download=chosen["download"]),
        model=model,
        options=options,
        progress=lambda n: progress("embed", n, 0),
    )
    if chosen["ann"]:
        ann.build(done.index, threads=chosen["threads"])
    _report(done)
    return not done.skipped


def _model(given: str | None, old: SearchIndex | None) -> str:
    model = given if given is not None or old is None else old.about.model
    if model is None:
        raise click.UsageError("Missing option '--model': name the folder of a model, or org/name on the hub")
    # Absolute, so that the model is found later from any directory.
    return os.path.abspath(model) if os.path.exists(model) else model


def _report(done: Outcome) -> None:
    for path, reason in done.skipped:
        errors.note(f"skipped {show(path)}: {errors.describe(CorpusError(reason))}")
    parts = [f"{output.counted(done.passages, 'passage')} of {output.counted(done.files, 'file')}"]
    parts += [f"{output.counted(done.unchanged, 'file')} unchanged"] * bool(done.unchanged)
    parts += [f"{output.counted(len(done.skipped), 'file')} skipped"] * bool(done.skipped)
    where = show(os.fspath(done.index.folder))
    errors.note(f"{where}: {', '.join(parts)}; {output.counted(len(done.index), 'passage')} in all")


def answers(folder: str, query: str, chosen: Mapping[str, Any]) -> Iterator[tuple[str, list[Hit]]]:
    """Yield each query and the passages that are nearest to it."""
    from tokkit.cli.models import load_reranker, load_vectors
    from tokkit.search import builder
    from tokkit.search.embedding import find
    from tokkit.search.index import SearchIndex

    index = SearchIndex.open(folder)
    if not query.strip():
        raise OptionError("the query is empty")
    if chosen["candidates"] is not None and chosen["rerank"] is None:
        raise click.UsageError("--candidates applies only with --rerank: give --rerank too, with a cross-encoder")
    model = _model(chosen["model"], index)
    encoder = load_vectors(model, download=chosen["download"])
    builder.check(encoder, model, index)
    second = None if chosen["rerank"] is None else load_reranker(chosen["rerank"], download=chosen["download"])
    for queries in _together([query] if query != inputs.STDIN else _lines()):
        found = find(
            index, encoder, queries, chosen["k"], ann=chosen["ann"], rerank=second, candidates=chosen["candidates"],
            threads=chosen["threads"],
        )  # fmt: skip
        yield from zip(queries, found, strict=True)


def _lines() -> Iterator[str]:
    yield from filter(None, map(str.strip, inputs.lines(inputs.STDIN)))


def _together(queries: Iterator[str] | list[str]) -> Iterator[list[str]]:
    """Yield queries in batches, or one by one if they are typed at a terminal."""
    limit = 1 if sys.stdin is not None and sys.stdin.isatty() else TOGETHER
    waiting: list[str] = []
    for query in queries:
        waiting.append(query)
        if len(waiting) == limit:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def show_hits(query: str, hits: Sequence[Hit], *, as_json: bool, whole: bool, headed: bool) -> None:
    """Write what was found for one query: a paragraph for each passage, or one line of JSON."""
    from tokkit.search.snippets import printable, snippet

    if as_json:
        output.say_json({"query": query, "hits": [hit._asdict() for hit in hits]})
        return
    if headed:
        output.say(f"# {query}")
    for hit in hits:
        output.say(f"{hit.score:.4f}  {place(hit)}")
        output.say(f"        {printable(hit.text) if whole else snippet(hit.text, query)}")


def place(hit: Hit) -> str:
    """Return "file:line", which editors and terminals understand, or for .jsonl "file, record N"."""
    path = hit.path
    if path == inputs.STDIN:
        return f"(stdin):{hit.line}"
    if os.path.isabs(path):
        near = os.path.relpath(path)
        path = path if near.startswith(os.pardir) else near
    shown = show(path)
    return f"{shown}, record {hit.record}" if hit.record else f"{shown}:{hit.line}"
