"""`tokkit bench`: how fast a tokenizer encodes a text, beside its rivals."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import options

if TYPE_CHECKING:
    from tokkit.cli.inputs import Reading
    from tokkit.tokenizer import Tokenizer

RIVALS = ("tiktoken", "tokenizers", "gigatoken", "quicktok", "toktok", "nanotoken", "pyrwkv")
NAMES = (*RIVALS, "sentencepiece", "gigabpe")
"""Libraries whose encoding is measured, and those that are only measured in training."""


def _names(_: click.Context, __: click.Parameter, value: str) -> list[str]:
    names = [name for name in value.split(",") if name and name != "none"]
    for name in names:
        if name not in NAMES:
            raise click.BadParameter(f"{name!r} is not a known rival; choose from {', '.join(NAMES)}")
    return list(dict.fromkeys(names))


@options.command(
    "bench",
    short_help="Measure encoding speed against other libraries.",
    examples=(
        "tokkit bench cl100k_base corpus.txt",
        "tokkit bench tok.json corpus.txt --threads 2 --json",
        "tokkit bench tok.json corpus.txt --train --memory --plot bench.png",
        "tokkit bench tok.json sample.jsonl --plan 1TB --cores 64 --network 1000 --price 0.04",
    ),
    groups={
        "Most used": ("against", "threads", "runs", "mb", "stages"),
        "Training and memory": ("train", "memory", "vocab_size", "plot", "force"),
        "A plan for a large run": ("plan", "cores", "network", "price"),
    },
)
@options.tokenizer
@click.argument("file", required=False, type=options.FILE)
@click.option(
    "--against",
    default=",".join(NAMES),
    callback=_names,
    metavar="NAMES",
    help="Rivals (NAME,NAME), or none.",
)
@click.option(
    "--threads", type=click.IntRange(min=1), default=1, help="Number of threads; above 1, batch calls are measured."
)
@click.option("--runs", type=click.IntRange(min=1), default=5, help="Maximum number of passes; the median is reported.")
@click.option(
    "--mb",
    type=click.FloatRange(min=0, min_open=True),
    default=4,
    metavar="N",
    help="Measure the first N million bytes of FILE, up to the end of a line.",
)
@click.option("--stages", is_flag=True, help="Also measure each stage of encoding, in cycles a byte.")
@click.option(
    "--train",
    is_flag=True,
    help="Also measure training on the text: seconds and peak memory, beside tokenizers, gigabpe and sentencepiece.",
)
@click.option("--memory", is_flag=True, help="Also measure the peak memory of loading TOKENIZER and of encoding.")
@click.option(
    "--vocab-size", type=click.IntRange(min=300), default=4000, metavar="N", help="With --train: size of vocabularies."
)
@click.option("--plot", type=options.Writes(), metavar="PNG", help="Also draw the figures (needs the extra plot).")
@click.option(
    "--plan",
    metavar="SIZE",
    help="Instead, measure counting, encoding and writing of FILE, and estimate time, size and cost for this much "
    "text (1TB).",
)
@click.option("--cores", type=click.IntRange(min=1), metavar="N", help="With --plan: number of cores.  [default: 1]")
@click.option(
    "--network",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MB/S",
    help="With --plan: bandwidth of the input, shared by all cores.",
)
@click.option("--price", type=click.FloatRange(min=0), metavar="X", help="With --plan: price of one core per hour.")
@options.field
@options.input_errors
@options.force
@options.progress
@options.as_json
def command(
    tokenizer: str,
    file: str | None,
    against: list[str],
    threads: int,
    runs: int,
    mb: float,
    stages: bool,
    train: bool,
    memory: bool,
    **chosen: Any,
) -> None:
    """Encode FILE (or the bundled corpus) with TOKENIZER and with rivals that load the same vocabulary.

    Every rival's ids are first compared with ours. "cold" is the first pass of a new encoder, "warm" a later pass.
    A slow rival gets fewer passes than --runs; the table shows how many. The stages of --stages are: find pretokens
    (scan), make their keys, probe the cache, emit ids, and miss (pretokens that are not in the first line of the
    cache).

    --train and --memory run each measurement in its own process, one after another. A rival gets no figures if its ids
    differ, or if it trains a different vocabulary although its defaults are the same as ours.
    """
    import os

    from tokkit.cli.inputs import Reading, load
    from tokkit.cli.output import say_json
    from tokkit.progress import Progress

    # The rivals' thread pools read this when they are first used.
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    tok = load(tokenizer, chosen["pattern"])
    if chosen["plot"] is not None:
        from tokkit.cli.output import check
        from tokkit.view import plots

        check(chosen["plot"], force=chosen["force"])
        plots.check()
    if chosen["plan"] is not None:
        from tokkit.cli import plan

        plan.command(tok, file, chosen)
        return
    name, texts = _texts(file, Reading("file", chosen["field"], chosen["input_errors"]), int(mb * 1e6))
    with Progress(chosen["progress"]) as progress:
        encoders = [name for name in against if name in RIVALS]
        found = measured(tok, texts, encoders, threads=threads, runs=runs, progress=progress)
        if stages:
            found["stages"] = of_stages(tok, texts, runs, progress)
        if train or memory:
            from tokkit.cli import bench_processes

            steps = itertools.count(1)

            def tick() -> None:
                progress("processes", next(steps), 0)

            if train:
                found["training"] = bench_processes.training(
                    "".join(texts), against, vocab_size=chosen["vocab_size"], threads=threads, runs=runs, tick=tick
                )
            if memory:
                found["memory"] = bench_processes.memory(tok, "".join(texts), against, runs=runs, tick=tick)
    found = {"conditions": conditions(tokenizer, name, texts, threads, runs), **found}
    if chosen["json"]:
        say_json(found)
    else:
        show(found)
    if chosen["plot"] is not None:
        from tokkit.cli.output import writing

        with writing(chosen["plot"], force=chosen["force"]) as out:
            plots.bars(_panels(found), out, title=f"{tokenizer} on {name}")


def _panels(found: dict[str, Any]) -> list[tuple[str, dict[str, float]]]:
    """Return the panels of the picture: a label, and a figure for each library."""
    panels = [("encoding, warm, MB/s", {f["name"]: f["warm_mb_s"] for f in found["encoders"]})]
    if "training" in found:
        rows = {f"{row['name']}, {row['model']}": row for row in found["training"]["rows"]}
        panels.append(("training, MB/s", {name: row["mb_s"] for name, row in rows.items()}))
        panels.append(("training, peak MB", {name: row["peak"] / 1e6 for name, row in rows.items()}))
    if "memory" in found:
        of_memory = found["memory"]["rows"]
        for key, label in (("load_peak", "loading, peak MB"), ("encode_peak", "encoding, peak MB")):
            panels.append((label, {row["name"]: row[key] / 1e6 for row in of_memory}))
    return panels


def _texts(file: str | None, reading: Reading, limit: int) -> tuple[str, list[str]]:
    """Return (description, texts) of the first `limit` bytes, up to the end of a line."""
    from tokkit.cli.inputs import expand
    from tokkit.corpus import bundled

    paths = expand([file]) if file else list(map(str, bundled.paths()))
    name = ", ".join(paths) if file else f"the bundled corpus ({len(paths)} files)"
    texts, whole = reading.beginning(paths, limit)
    if not any(texts):
        from tokkit.errors import CorpusError

        raise CorpusError(f"{name} is empty: there is nothing to measure")
    return name if whole else f"the first {limit / 1e6:g} MB of {name}", texts


def conditions(tokenizer: str, name: str, texts: list[str], threads: int, runs: int) -> dict[str, Any]:
    """Return the conditions of the measurement."""
    import platform

    import numpy as np

    from tokkit.cli import measure
    from tokkit.cli.cpu_name import cpu_name

    return {
        "vocabulary": tokenizer,
        "text": name,
        "bytes": sum(len(text.encode()) for text in texts),
        "texts": len(texts),
        "documents": len(measure.documents(texts)),
        "threads": threads,
        "runs": runs,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cpu": cpu_name(),
        "system": platform.system() + " " + platform.machine(),
    }


def measured(
    tok: Tokenizer, whole: list[str], against: list[str], *, threads: int, runs: int, progress: Any
) -> dict[str, Any]:
    """Return the figures of each contender, and the reason for each that has none."""
    from tokkit.cli import measure, rivals

    progress("check", 0, len(against))
    documents = measure.documents(whole)
    texts = [document.decode() for document in documents]
    ids = {special: [tok.encode_to_numpy(t, special=special) for t in texts] for special in ("text", "all")}
    contenders = {"tokkit": rivals.tokkit(tok, threads)}
    skipped: dict[str, str] = {}
    for done, name in enumerate(against, 1):
        try:
            rival = rivals.RIVALS[name](tok, threads)
            apart = measure.first_difference(ids[rival.special], measure.rows(rival.build()(texts)))
            if apart is not None:
                raise rivals.Unavailable(apart)
            contenders[name] = rival
        except BaseException as error:
            skipped[name] = rivals.reason(error)
        progress("check", done, len(against))
    steps = itertools.count(1)
    total = len(contenders) * (min(runs, measure.COLD_RUNS) + runs)
    builds = {name: contender.build for name, contender in contenders.items()}
    times = measure.time_encoders(builds, documents, runs, lambda: progress("bench", next(steps), total))
    ours, size = times["tokkit"], sum(map(len, documents))
    figures = [
        {"name": name, "version": contenders[name].version, "call": contenders[name].call}
        | {"cold_mb_s": round(size / time.cold / 1e6, 2), "warm_mb_s": round(size / time.warm / 1e6, 2)}
        | {"tokkit_cold_ratio": round(time.cold / ours.cold, 2), "tokkit_warm_ratio": round(time.warm / ours.warm, 2)}
        | {"cold_passes": time.cold_passes, "warm_passes": time.warm_passes}
        for name, time in times.items()
    ]
    counts = {"tokens": sum(map(tok.count, whole)), "document_tokens": sum(map(len, ids["text"]))}
    return {**counts, "encoders": figures, "skipped": skipped}


def of_stages(tok: Tokenizer, texts: list[str], runs: int, progress: Any) -> dict[str, Any]:
    """Return the cost of each stage of encoding, measured in one thread."""
    from tokkit.cli import measure, stage_timing

    return stage_timing.measured(
        tok.definition, measure.documents(texts), runs, lambda done, of: progress("stages", done, of)
    )


def show(found: dict[str, Any]) -> None:
    """Print the conditions, the table, and a line for each rival that was not measured."""
    from tokkit.cli.output import counted, say, table
    from tokkit.corpus.text_counts import RULE

    given = found["conditions"]
    size = f"{counted(given['bytes'], 'byte')}, {counted(found['tokens'], 'token')}"
    say(f"{given['vocabulary']} on {given['text']}: {size} ({RULE})")
    say(f"{counted(given['threads'], 'thread')}, medians; the table shows the number of passes (cold+warm)")
    say(f"Python {given['python']}, numpy {given['numpy']}, {given['system']}, {given['cpu']}")
    documents = f"{counted(given['documents'], 'document')}, cut after line feeds"
    say(f"{documents}: all {found['document_tokens']:,} ids were found equal before anything was timed")
    say("x: how many times as fast tokkit is")
    say("")
    head = ("encoder", "call", "passes", "cold MB/s", "warm MB/s", "cold", "warm")
    rows = [
        (
            f"{f['name']} {f['version']}",
            f["call"],
            f"{f['cold_passes']}+{f['warm_passes']}",
            *(f"{f[key]:.1f}" for key in ("cold_mb_s", "warm_mb_s")),
            *(f"{f[key]:.2f}x" for key in ("tokkit_cold_ratio", "tokkit_warm_ratio")),
        )
        for f in found["encoders"]
    ]
    table([head, *rows], left=(0, 1))
    for name, reason in found["skipped"].items():
        say(f"{name}: not measured: {reason}")
    if "stages" in found:
        show_stages(found["stages"])
    if "training" in found or "memory" in found:
        from tokkit.cli import bench_processes

        bench_processes.show(found)


def show_stages(found: dict[str, Any]) -> None:
    """Print the table of stages and the known limit below it, or the reason why there is no table."""
    from tokkit.cli import stage_timing
    from tokkit.cli.output import say, table

    say("")
    say(stage_timing.title(found))
    if found["isas"]:
        table(stage_timing.rows(found))
        say(stage_timing.LIMIT_LINE)
