"""`tokkit counts`: counts the words of shards into files, which can be merged, pruned and trained from."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from tokkit.cli import mixing, options
from tokkit.cli.groups import InOrder, OnDemand
from tokkit.cli.train_options import BELONGS, MODELS

COUNTING = ("pattern", "special", "lowercase", "strip_accents", "handle_chinese_chars", "max_sentence_length")
"""Options of models that decide what a word is."""

PLACES = {name: ("counts", name) for name in ("build", "merge", "prune", "info")}


@options.command(
    "counts",
    cls=InOrder,
    commands=OnDemand(PLACES),
    short_help="Count words of shards into files, to train from them.",
)
def command() -> None:
    """Count the words of shards into files, merge and prune the files, and train from them: tokkit train --counts.

    The trained tokenizer is the same as from the text itself, no matter how the counting was divided and merged.
    """


sources = click.argument("sources", nargs=-1, required=True, type=options.FILE, metavar="COUNTS...")
named_sources = click.argument("sources", nargs=-1, required=True, type=options.NAMED, metavar="[NAME=]COUNTS...")
output = click.option("-o", "--output", required=True, type=options.OUTPUT, metavar="FILE", help="The file to write.")


@options.command(
    "build",
    group="counts",
    short_help="Count the words of each shard into a file.",
    examples=(
        "tokkit counts build 'data/*.jsonl.gz' -o counts/ --pattern cl100k",
        "tokkit counts build data/ -o counts/ --model unigram --max-memory 1GB",
        "tokkit counts build de='data/de/*.txt' th=data/th -o counts/",
    ),
)
@click.argument("shards", nargs=-1, required=True, type=options.NAMED, metavar="[NAME=]SHARD...")
@click.option("-o", "--output", required=True, type=options.Writes(), metavar="FOLDER", help="Where to write.")
@click.option(
    "--model",
    default="bbpe",
    type=click.Choice([name for name in MODELS if name != "bpe"]),
    help="The model to train later. All SentencePiece models use the same counts; bpe is not possible, because it "
    "depends on the order of the text.",
)
@click.option(
    "--pattern",
    callback=options.not_empty,
    metavar="NAME|REGEX",
    show_default="gpt2; of word and hybrid punctuation",
    help="bbpe, word, hybrid: how text is split, as in tokkit train.",
)
@click.option(
    "--special-token",
    "special_token",
    multiple=True,
    metavar="TEXT",
    show_default="as in tokkit train",
    help="A special token of the later training, at which the text is cut; repeat for more.",
)
@options.special_in_training
@click.option("--lowercase/--no-lowercase", default=None, help="wordpiece, word, hybrid: lowercase all text.")
@click.option("--strip-accents/--no-strip-accents", default=None, help="wordpiece: remove accents.")
@click.option(
    "--chinese-chars/--no-chinese-chars",
    "handle_chinese_chars",
    default=None,
    help="wordpiece: treat each Chinese character as a word.",
)
@click.option(
    "--max-sentence-length",
    type=click.IntRange(min=0),
    metavar="BYTES",
    show_default="4192",
    help="SentencePiece's models: leave out longer lines; 0 keeps all.",
)
@click.option(
    "--unit",
    type=click.Choice(["line", "paragraph", "file"]),
    show_default="file for bbpe, and for word and hybrid with a pattern; else line",
    help="What a document is in text files; no word crosses its end.",
)
@click.option(
    "--max-memory",
    type=options.Bytes(),
    metavar="SIZE",
    show_default="no bound",
    help="Limit of memory, such as 1GB: larger tables of words are written next to the output and merged at the end.",
)
@options.field
@options.input_errors
@options.threads
@options.progress
@options.as_json
def build(shards: tuple[str, ...], output: str, json: bool, progress: str, model: str, **chosen: Any) -> None:
    """Count the words of each SHARD (files as in tokkit train, folders, globs) into a file in FOLDER.

    Shards that have a file already are skipped: after an interruption, run the same command again. The name of a file
    contains a fingerprint of the shard's path, size and modification time and of the options; when a shard changes, its
    new counts replace the old ones.

    NAME is the source of the shards, for example a language; merge and tokkit train can weight sources.
    """
    from tokkit.cli.inputs import given as inputs
    from tokkit.files.files import refuse_inputs
    from tokkit.progress import Progress
    from tokkit.trainers import build_counts

    refuse_inputs([output], inputs())
    wanted = {name: chosen.pop(name) for name in COUNTING}
    for name, value in wanted.items():
        if value is not None and model not in BELONGS[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} is for --model {' or '.join(BELONGS[name])}")
    given = {name: value for name, value in wanted.items() if value is not None}
    if given.get("max_sentence_length") == 0:
        given["max_sentence_length"] = None
    if special_tokens := chosen.pop("special_token"):
        given["special_tokens"] = special_tokens
    with Progress(progress) as bar:
        by_name, paths = mixing.sources_of(shards)
        made = build_counts(by_name or paths, output, model=model, progress=bar, **chosen, **given)
    _say(
        [
            {"shard": m.shard, "file": str(m.path), "words": m.words, "total": m.total, "counted": m.counted}
            for m in made
        ],
        as_json=json,
    )


def _say(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    from tokkit.cli import output

    if as_json:
        output.say_json(rows)
        return
    done = sum(row["counted"] for row in rows)
    skipped = f", {output.counted(len(rows) - done, 'shard')} counted before" if done < len(rows) else ""
    output.say(f"{output.counted(done, 'shard')} counted{skipped}: {sum(row['total'] for row in rows):,} words in all")


@options.command(
    "merge",
    group="counts",
    short_help="Add files of counts into one.",
    examples=(
        "tokkit counts merge counts/ -o all.counts",
        "tokkit counts merge a/ b/ -o all.counts --min-count 2",
        "tokkit counts merge de=counts/de th=counts/th -o all.counts --weight de=2,th=5",
    ),
)
@named_sources
@output
@click.option(
    "--min-count",
    type=click.IntRange(min=1),
    default=1,
    help="Leave out words that occur less often in total; the file records this number.",
)
@mixing.weight
@mixing.temperature
@options.threads
@options.force
@options.progress
@options.as_json
def merge(sources: tuple[str, ...], output: str, json: bool, force: bool, progress: str, **chosen: Any) -> None:
    """Add COUNTS (files, folders, globs) into one file; their order does not matter.

    Counts with different options are an error, and so is a shard that is in two files. NAME gives a source, for
    --weight, to counts that were built without one.
    """
    from tokkit.cli.output import check
    from tokkit.progress import Progress
    from tokkit.trainers import merge_counts

    check(output, force=force)
    with Progress(progress) as bar:
        by_name, paths = mixing.sources_of(sources)
        made = merge_counts(by_name or paths, output, overwrite=force, progress=bar, **chosen)
    _say_totals({"file": output, "words": made.words, "total": made.total}, as_json=json)


@options.command(
    "prune",
    group="counts",
    short_help="Remove the rare words from a file of counts.",
    examples=("tokkit counts prune all.counts -o common.counts --min-count 2",),
)
@sources
@output
@click.option("--min-count", type=click.IntRange(min=1), required=True, help="Leave out words that occur less often.")
@options.force
@options.as_json
def prune(sources: tuple[str, ...], output: str, min_count: int, json: bool, force: bool) -> None:
    """Write COUNTS without rare words. Merge first: a word that is rare in each file may be frequent in all of them."""
    from tokkit.cli.output import check
    from tokkit.trainers import prune_counts

    check(output, force=force)
    made = prune_counts(sources, output, min_count=min_count, overwrite=force)
    _say_totals({"file": output, "words": made.words, "total": made.total}, as_json=json)


def _say_totals(facts: dict[str, Any], *, as_json: bool) -> None:
    from tokkit.cli import output
    from tokkit.escaping import show

    if as_json:
        output.say_json(facts)
    else:
        words = output.counted(facts["words"], "distinct word")
        output.say(f"{show(facts['file'])}: {words}, {facts['total']:,} in all")


@options.command(
    "info",
    group="counts",
    short_help="Show what is in files of counts.",
    examples=("tokkit counts info counts/", "tokkit counts info all.counts --json"),
)
@sources
@options.as_json
def info(sources: tuple[str, ...], json: bool) -> None:
    """Show the options, sources, shards and totals of COUNTS, and check that they can be merged."""
    from tokkit.cli import output
    from tokkit.trainers import CountFiles
    from tokkit.trainers.count_source import shown

    found = CountFiles(sources)
    header, totals = found.header, found.totals
    shards = [source["path"] for source in header.sources]
    rows = [(file.path, file.totals.words, file.totals.total) for file in found.files]
    names = Counter((shard.get("source"), shard.get("weight")) for shard in header.sources)
    named: list[dict[str, Any]] = [
        {"source": name, "weight": w, "shards": n} for (name, w), n in names.items() if name or w
    ]
    if json:
        about = {"counting": dict(header.counting), "unit": header.unit, "min_count": header.min_count}
        files = [{"file": path, "words": words, "total": total} for path, words, total in rows]
        sums = {"words": totals.words, "total": totals.total}
        output.say_json({**about, **sums, "files": files, "shards": shards, "sources": named})
        return
    output.table([("file", "distinct words", "words"), *((path, f"{n:,}", f"{total:,}") for path, n, total in rows)])
    output.say(f"{shown(header.counting)}, unit {header.unit!r}")
    output.say(f"{output.counted(len(shards), 'shard')}, min-count {header.min_count}")
    for row in named:
        weighted = f", weighted by {row['weight']}" if row["weight"] else ""
        output.say(f"source {row['source'] or 'without a name'}: {output.counted(row['shards'], 'shard')}{weighted}")
