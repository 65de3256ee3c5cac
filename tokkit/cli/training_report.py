"""A finished training in, the report of it out: facts as plain data, and as lines for a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tokkit.cli.inputs import STDIN, Reading, expand
from tokkit.cli.output import say, table
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
    measured = _measured_text(job)
    size = sum(len(text.encode()) for text in measured)
    about: dict[str, Any] = {
        "model": job.options["model"],
        "pattern": job.options["pattern"],
        "inputs": len(job.inputs) or 1,
        "demo": job.demo,
        "seconds": round(result.seconds, 3),
        "measured_bytes": size,
        "tokenizers": [],
    }
    for tok, asked, path in zip(result.tokenizers, job.sizes, job.files, strict=True):
        tokens = sum(tok.count(text) for text in measured)
        about["tokenizers"].append(
            {
                "file": click.format_filename(path),
                "vocab_size": len(tok.vocab),
                "vocab_size_asked": asked,
                "merges": len(tok.definition.model.merges if tok.definition.model.merges is not None else ()),
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


def _measured_text(job: Job) -> list[str]:
    """Return the first megabyte of the training text; nothing where it came from stdin or as counts."""
    texts: list[str] = []
    if job.counts is not None or STDIN in job.inputs:
        return texts
    reading = Reading("line", job.options["field"], job.options["input_errors"])
    size = 0
    for path in expand(job.inputs):
        for batch, _ in reading.batches(path):
            for text in batch:
                texts.append(text)
                size += len(text.encode())
                if size >= MEASURED_BYTES:
                    return texts
    return texts


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
    what = f"{about['inputs']} file{'s' if about['inputs'] != 1 else ''}"
    source = f"the bundled corpus ({what}, {about['measured_bytes']:,} bytes)" if job.demo else what
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
    say(
        f"  vocabulary    {made['vocab_size']:,} tokens: 256 bytes, {made['vocab_size'] - 256 - special:,} learnt"
        f"{f', {special} special' if special else ''}"
    )
    if made["bytes_per_token"]:
        where = "the corpus" if job.demo else f"the first {about['measured_bytes']:,} bytes"
        say(
            f"  compression   {made['bytes_per_token']:.2f} bytes per token: {where} "
            f"take{'s' if job.demo else ''} {made['tokens']:,} tokens, as raw bytes {about['measured_bytes']:,}"
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
    say(f"  round trip: {exact}; {sample['bytes']} bytes, {len(sample['ids'])} tokens")


def _show_next(path: str) -> None:
    say("")
    say("What to try next:")
    say(f"  tokkit inspect {path} --sample 'Your own sentence.'")
    say(f"  echo 'Hello, world!' | tokkit encode {path} | tokkit decode {path}")
    say("  tokkit train YOUR-TEXT.txt -o tok.json --vocab-size 8000")
