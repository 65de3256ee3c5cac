"""Paths, indexes and queries in, what `tokkit model embed` and `search` do with them out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import ending, inputs, output
from tokkit.cli.progress import Progress
from tokkit.errors import CorpusError, OptionError

if TYPE_CHECKING:
    from tokkit.pipeline.search.builder import Encoder
    from tokkit.pipeline.search.index import About, Hit, Rows, SearchIndex

TOGETHER = 64
"""Queries from stdin that are encoded and searched at once."""


def load(model: str, *, download: bool = False) -> Encoder:
    """Load a model; what it says aloud goes to stderr."""
    import logging

    from tokkit import pipeline

    logging.basicConfig(format="tokkit: %(message)s", level=logging.WARNING)
    made: Encoder = pipeline.load(model, download=download)
    return made


def run(paths: Sequence[str], place: str, chosen: Mapping[str, Any], progress: Progress) -> bool:
    """Write or extend the index at `place`; tell whether every file could be read."""
    from tokkit.pipeline.search import builder, index, sources

    if chosen["ann"]:
        from tokkit.pipeline.search import ann

        ann.check()
    old = _old(place, chosen)
    # What is not there is said before any work is done.
    found = list(sources.find(paths, leave_out=place))
    model = _model(chosen["model"], old)
    encoder = load(model, download=chosen["download"])
    about = _about(encoder, model, old, chosen)
    made = builder.Builder(encoder, about, threads=chosen["threads"], progress=lambda n: progress("embed", n, 0))
    taken: dict[str, str] = {}
    skipped = unchanged = 0
    for path in found:
        read = (
            path if isinstance(path, sources.Skipped) else sources.read(path, chosen["field"], chosen["input_errors"])
        )
        if isinstance(read, sources.Skipped):
            skipped += 1
            ending.note(f"skipped {inputs.shown(read.path)}: {ending.describe(CorpusError(read.reason))}")
        elif old is not None and old.sources.get(read.path) == read.sha256:
            unchanged += 1
        else:
            made.add(len(taken), read.documents)
            taken[read.path] = read.sha256
    rows = made.rows()
    if not taken and not unchanged:
        left = f", but for {output.counted(skipped, 'file')} that cannot be read" if skipped else ""
        raise CorpusError(f"nothing to embed: there is no file in {', '.join(map(inputs.shown, paths))}{left}")
    if old is None:
        index_ = index.create(place, about, taken, rows, overwrite=chosen["force"])
    else:
        index_ = old.with_rows(taken, rows) if taken else old
    if chosen["ann"]:
        ann.build(index_, threads=chosen["threads"])
    _report(index_, rows, len(taken), unchanged, skipped)
    return not skipped


def _old(place: str, chosen: Mapping[str, Any]) -> SearchIndex | None:
    """Return the index that is added to, or None where a new one can be written; the OSError where it cannot."""
    from tokkit.pipeline.search import index

    if chosen["append"]:
        if chosen["force"]:
            raise click.UsageError("--append adds to an index, and --force replaces it: give one of them")
        return index.SearchIndex.open(place)
    try:
        index.check_place(Path(place), overwrite=chosen["force"])
    except FileExistsError as error:
        hint = "; --append adds to it, --force replaces it" if os.path.exists(os.path.join(place, index.INDEX)) else ""
        raise FileExistsError(f"{error}{hint}") from None
    return None


def _model(given: str | None, old: SearchIndex | None) -> str:
    model = given if given is not None or old is None else old.about.model
    if model is None:
        raise click.UsageError("Missing option '--model': name the folder of a model, or org/name on the hub")
    # As it can be found from anywhere, later.
    return os.path.abspath(model) if os.path.exists(model) else model


def _about(encoder: Encoder, model: str, old: SearchIndex | None, chosen: Mapping[str, Any]) -> About:
    from tokkit.pipeline.search import builder

    if old is None:
        return builder.about(encoder, model, tokens=chosen["tokens"], overlap=chosen["overlap"])
    for name in ("tokens", "overlap"):
        if chosen[name] not in (None, getattr(old.about, name)):
            has = f"passages of {old.about.tokens} tokens with an overlap of {old.about.overlap}"
            raise OptionError(f"--{name} {chosen[name]} does not fit the index, which has {has}")
    builder.check(encoder, model, old)
    return builder.about(encoder, old.about.model, tokens=old.about.tokens, overlap=old.about.overlap)


def _report(index: SearchIndex, rows: Rows, taken: int, unchanged: int, skipped: int) -> None:
    parts = [f"{output.counted(len(rows.vectors), 'passage')} of {output.counted(taken, 'file')}"]
    parts += [f"{output.counted(unchanged, 'file')} unchanged"] * bool(unchanged)
    parts += [f"{output.counted(skipped, 'file')} skipped"] * bool(skipped)
    shown = click.format_filename(index.folder)
    ending.note(f"{shown}: {', '.join(parts)}; {output.counted(len(index), 'passage')} in all")


def answers(place: str, query: str, chosen: Mapping[str, Any]) -> Iterator[tuple[str, list[Hit]]]:
    """Yield each query and the passages that are nearest to it."""
    from tokkit.pipeline.search import builder
    from tokkit.pipeline.search.index import SearchIndex

    index = SearchIndex.open(place)
    if not query.strip():
        raise OptionError("the query is empty")
    model = _model(chosen["model"], index)
    encoder = load(model, download=chosen["download"])
    builder.check(encoder, model, index)
    for queries in _together([query] if query != inputs.STDIN else _lines()):
        vectors = builder.encode_queries(encoder, queries, threads=chosen["threads"])
        if chosen["ann"]:
            from tokkit.pipeline.search import ann

            nearest = ann.nearest(index, vectors, chosen["k"])
        else:
            nearest = index.nearest(vectors, chosen["k"], threads=chosen["threads"])
        for asked, rows, scores in zip(queries, nearest.rows, nearest.scores, strict=True):
            yield asked, index.hits(rows.tolist(), scores.tolist())


def _lines() -> Iterator[str]:
    for line in inputs.stdin():
        text = line.decode("utf-8", "replace").strip()
        if text:
            yield text


def _together(queries: Iterator[str] | list[str]) -> Iterator[list[str]]:
    """Yield queries some at a time; those typed at a terminal one by one."""
    most = 1 if sys.stdin is not None and sys.stdin.isatty() else TOGETHER
    waiting: list[str] = []
    for query in queries:
        waiting.append(query)
        if len(waiting) == most:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def show(query: str, hits: Sequence[Hit], *, as_json: bool, whole: bool, headed: bool) -> None:
    """Write what was found for one query: a paragraph for each passage, or one line of JSON."""
    from tokkit.pipeline.search.snippets import printable, snippet

    if as_json:
        found = [{**hit._asdict(), "path": inputs.shown(hit.path)} for hit in hits]
        output.say_json({"query": query, "hits": found})
        return
    if headed:
        output.say(f"# {printable(query)}")
    for hit in hits:
        output.say(f"{hit.score:.4f}  {place(hit)}")
        output.say(f"        {printable(hit.text) if whole else snippet(hit.text, query)}")


def place(hit: Hit) -> str:
    """Return file:line as editors and terminals know it; of .jsonl, file, record N."""
    from tokkit.pipeline.search.snippets import printable

    path = hit.path
    if path == inputs.STDIN:
        return f"(stdin):{hit.line}"
    if os.path.isabs(path):
        near = os.path.relpath(path)
        path = path if near.startswith(os.pardir) else near
    shown = printable(inputs.shown(path))
    return f"{shown}, record {hit.record}" if hit.record else f"{shown}:{hit.line}"
