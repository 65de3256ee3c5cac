"""A tokenizer and a text in, how fast it is beside its rivals out: `tokkit bench`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import options

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

RIVALS = ("tiktoken", "tokenizers", "gigatoken", "quicktok")


def _names(_: click.Context, __: click.Parameter, value: str) -> list[str]:
    names = [name for name in value.split(",") if name and name != "none"]
    for name in names:
        if name not in RIVALS:
            raise click.BadParameter(f"{name!r} is not among the rivals known: {', '.join(RIVALS)}")
    return list(dict.fromkeys(names))


@options.command("bench", short_help="Measure encoding beside other libraries.")
@options.tokenizer
@click.argument("file", required=False, type=options.FILE)
@click.option(
    "--against", default=",".join(RIVALS), callback=_names, metavar="NAMES", help="Rivals, apart by commas, or none."
)
@click.option(
    "--threads", type=click.IntRange(min=1), default=1, help="Threads; above 1, the batch calls are measured."
)
@click.option("--runs", type=click.IntRange(min=1), default=5, help="Passes of which the median counts.")
@options.field
@options.input_errors
@options.progress
@options.as_json
def command(tokenizer: str, file: str | None, against: list[str], threads: int, runs: int, **chosen: Any) -> None:
    """Encode FILE (or the bundled corpus) with TOKENIZER and with rivals that load the same vocabulary.

    Every rival's ids are first compared with ours. "cold" is the first pass of a new encoder, "warm" a later pass.
    """
    import os

    from tokkit.cli.inputs import Reading, load
    from tokkit.cli.output import say_json
    from tokkit.cli.progress import Progress

    # Read by the rivals' thread pools when they are first used.
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    tok = load(tokenizer, chosen["pattern"])
    name, text = _text(file, Reading("file", chosen["field"], chosen["input_errors"]))
    with Progress(chosen["progress"]) as progress:
        found = measured(tok, text, against, threads=threads, runs=runs, progress=progress)
    found = {"conditions": conditions(tokenizer, name, text, threads, runs), **found}
    if chosen["as_json"]:
        say_json(found)
    else:
        show(found)


def _text(file: str | None, reading: Any) -> tuple[str, str]:
    from tokkit.cli.comparison import texts_of

    parts = list(texts_of([file] if file else [], reading))
    name = parts[0][0] if file else f"the bundled corpus ({len(parts)} files)"
    text = "".join(text for _, texts in parts for text in texts)
    if not text:
        from tokkit.errors import CorpusError

        raise CorpusError(f"{name} is empty: there is nothing to measure")
    return name, text


def conditions(tokenizer: str, name: str, text: str, threads: int, runs: int) -> dict[str, Any]:
    """Return what a figure means nothing without."""
    import platform

    import numpy as np

    from tokkit.cli import measure
    from tokkit.cli.inputs import shown
    from tokkit.cli.machine import cpu_name

    return {
        "vocabulary": shown(tokenizer),
        "text": name,
        "bytes": len(text.encode()),
        "documents": len(measure.cut(text)),
        "threads": threads,
        "runs": runs,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cpu": cpu_name(),
        "system": platform.system() + " " + platform.machine(),
    }


def measured(
    tok: Tokenizer, text: str, against: list[str], *, threads: int, runs: int, progress: Any
) -> dict[str, Any]:
    """Return the figures of each contender, and why others have none."""
    from tokkit.cli import measure, rivals

    documents = measure.cut(text)
    texts = [document.decode() for document in documents]
    ids = {special: [tok.encode_to_numpy(t, special=special) for t in texts] for special in ("text", "all")}
    contenders = {"tokkit": rivals.tokkit(tok, threads)}
    skipped: dict[str, str] = {}
    for name in against:
        try:
            rival = rivals.RIVALS[name](tok, threads)
            apart = measure.first_difference(ids[rival.special], measure.rows(rival.build()(texts)))
            if apart is not None:
                raise rivals.Unavailable(apart)
            contenders[name] = rival
        except BaseException as error:
            skipped[name] = rivals.reason(error)
    steps = itertools.count(1)
    total = len(contenders) * (min(runs, measure.COLD_RUNS) + runs)
    builds = {name: contender.build for name, contender in contenders.items()}
    times = measure.time_encoders(builds, documents, runs, lambda: progress("bench", next(steps), total))
    ours, size = times["tokkit"], len(text.encode())
    figures = [
        {"name": name, "version": contenders[name].version, "call": contenders[name].call}
        | {"cold_mb_s": round(size / time.cold / 1e6, 2), "warm_mb_s": round(size / time.warm / 1e6, 2)}
        | {"tokkit_cold_ratio": round(time.cold / ours.cold, 2), "tokkit_warm_ratio": round(time.warm / ours.warm, 2)}
        for name, time in times.items()
    ]
    return {"tokens": sum(map(len, ids["text"])), "encoders": figures, "skipped": skipped}


def show(found: dict[str, Any]) -> None:
    """Print conditions, the table, and a line for each rival that is not in it."""
    from tokkit.cli.output import say, table

    given = found["conditions"]
    say(f"{given['vocabulary']} on {given['text']}: {given['bytes']:,} bytes, {given['documents']} documents")
    say(f"{given['threads']} thread{'s' if given['threads'] > 1 else ''}, median of {given['runs']} runs")
    say(f"Python {given['python']}, numpy {given['numpy']}, {given['system']}, {given['cpu']}")
    say(f"all {found['tokens']:,} ids were found equal before anything was timed; x: how many times as fast tokkit is")
    say("")
    head = ("encoder", "call", "cold MB/s", "warm MB/s", "cold", "warm")
    rows = [
        (
            f"{f['name']} {f['version']}",
            f["call"],
            *(f"{f[key]:.1f}" for key in ("cold_mb_s", "warm_mb_s")),
            *(f"{f[key]:.2f}x" for key in ("tokkit_cold_ratio", "tokkit_warm_ratio")),
        )
        for f in found["encoders"]
    ]
    table([head, *rows], left=(0, 1))
    for name, reason in found["skipped"].items():
        say(f"{name}: not measured: {reason}")
