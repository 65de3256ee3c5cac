"""A finished training in, the report of it out: facts as plain data, and as lines for a reader."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli.inputs import STDIN, Reading, expand
from tokkit.cli.output import counted, say, table
from tokkit.cli.pieces import merges, readable, shortened

if TYPE_CHECKING:
    from tokkit.cli.training import Job, Result
    from tokkit.tokenizer import Tokenizer

FIRST_MERGES = 10
MEASURED_BYTES = 1_000_000
"""How much of the training text the compression is measured on: enough for three digits, a tenth of a second."""
SAMPLE = "Hello, world! Tokenizers split naïve café menus, 東京 and 3.14159 into pieces 🙂"


def facts(job: Job, result: Result) -> dict[str, Any]:
    """Return the report as JSON's data."""
    measured, whole = _measured_text(job)
    size = sum(len(text.encode()) for text in measured)
    about: dict[str, Any] = {
        "model": job.options["model"],
        "pattern": job.options["pattern"],
        "inputs": len(job.inputs) or 1,
        "demo": job.demo,
        "seconds": round(result.seconds, 3),
        "measured_bytes": size,
        "measured_all": whole,
        "tokenizers": [],
    }
    for tok, asked, path in zip(result.tokenizers, job.sizes, job.files, strict=True):
        tokens = sum(tok.count(text) for text in measured)
        about["tokenizers"].append(
            {
                "file": click.format_filename(path),
                "vocab_size": len(tok.vocab),
                "vocab_size_asked": asked,
                "merges": n_merges(tok),
                "special_tokens": len(tok.special_tokens),
                "tokens": tokens,
                "bytes_per_token": round(size / tokens, 3) if tokens else None,
                "first_merges": merges(tok, FIRST_MERGES),
                "fingerprint": tok.fingerprint(),
            }
        )
    if job.demo:
        about["sample"] = _sample(result.tokenizers[-1])
    return about


def _measured_text(job: Job) -> tuple[list[str], bool]:
    """Return the first megabyte of the training text, and whether that is all.

    Only of regular files: counts are no text, and stdin and pipes can be read but once.
    """
    texts: list[str] = []
    paths = [] if job.counts is not None else expand(job.inputs)
    if not paths or not all(path != STDIN and os.path.isfile(path) for path in paths):
        return texts, False
    reading = Reading("line", job.options["field"], job.options["input_errors"])
    size = 0
    for path in paths:
        for batch, _ in reading.batches(path):
            for text in batch:
                if size >= MEASURED_BYTES:
                    return texts, False
                texts.append(text)
                size += len(text.encode())
    return texts, True


def _sample(tok: Tokenizer) -> dict[str, Any]:
    ids = tok.encode(SAMPLE)
    return {
        "text": SAMPLE,
        "bytes": len(SAMPLE.encode()),
        "ids": ids,
        "pieces": [readable(tok.vocab[i]) for i in ids],
        "decoded": tok.decode(ids),
        "exact": tok.decode(ids) == SAMPLE,
    }


def show(job: Job, about: dict[str, Any]) -> None:
    """Print the report."""
    what = counted(about["inputs"], "file")
    source = f"the bundled corpus ({what}, {counted(about['measured_bytes'], 'byte')})" if job.demo else what
    say(f"Trained byte-level BPE on {source} in {about['seconds']:.2f} s.")
    if len(about["tokenizers"]) > 1:
        rows = [(t["vocab_size"], t["bytes_per_token"] or "-", t["file"]) for t in about["tokenizers"]]
        table([("tokens", "bytes/token", "file"), *rows], left=(2,), margin="  ")
        say(f"  first merges  {_on_one_line(about['tokenizers'][-1]['first_merges'])}")
    else:
        _show_one(about["tokenizers"][0], about, job)
    if job.demo:
        _show_sample(about["sample"])
        _show_next(about["tokenizers"][-1]["file"])


def _show_one(made: dict[str, Any], about: dict[str, Any], job: Job) -> None:
    special = made["special_tokens"]
    learnt = f"256 bytes, {made['vocab_size'] - 256 - special:,} learnt"
    say(f"  vocabulary    {made['vocab_size']:,} tokens: {learnt}{f', {special} special' if special else ''}")
    if made["bytes_per_token"]:
        whole, size = about["measured_all"], about["measured_bytes"]
        where = "the corpus takes" if whole else f"the first {size:,} bytes take"
        say(
            f"  compression   {made['bytes_per_token']:.2f} bytes per token: {where} "
            f"{counted(made['tokens'], 'token')}, as raw bytes {size:,}"
        )
    say(f"  first merges  {_on_one_line(made['first_merges'])}")
    say(f"  file          {made['file']}")


def _on_one_line(pieces: list[str]) -> str:
    return "  ".join(map(shortened, pieces)) or "none"


def _show_sample(sample: dict[str, Any]) -> None:
    say("")
    say(f"  text          {sample['text']}")
    say(f"  pieces        {' '.join(sample['pieces'])}")
    say(f"  ids           {' '.join(map(str, sample['ids']))}")
    say(f"  decoded       {sample['decoded']}")
    exact = "exact" if sample["exact"] else "NOT EXACT"
    say(f"  round trip: {exact}; {counted(sample['bytes'], 'byte')}, {counted(len(sample['ids']), 'token')}")


def _show_next(path: str) -> None:
    say("")
    say("What to try next:")
    say(f"  tokkit inspect {path} --sample 'Your own sentence.'")
    say(f"  echo 'Hello, world!' | tokkit encode {path} | tokkit decode {path}")
    say("  tokkit train YOUR-TEXT.txt -o tok.json --vocab-size 8000")


def n_merges(tok: Tokenizer) -> int:
    """Return how many merges a trained model has."""
    merges = getattr(tok.definition.model, "merges", None)
    return 0 if merges is None else len(merges)
