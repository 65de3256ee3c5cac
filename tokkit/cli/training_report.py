"""Makes the report of a finished training, as plain data and as lines."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tokkit.cli import mixing
from tokkit.cli.inputs import Reading
from tokkit.cli.output import counted, say, table
from tokkit.cli.token_text import merges, readable, shortened
from tokkit.corpus.text_counts import RULE
from tokkit.trainers.options import Step

if TYPE_CHECKING:
    from tokkit.cli.training import Job, Result
    from tokkit.tokenizer import Tokenizer

NAMES = {
    "bbpe": "byte-level BPE",
    "bpe": "classic BPE",
    "wordpiece": "WordPiece",
    "word": "whole words",
    "char": "single characters",
    "hybrid": "whole words with a fallback",
    "unigram": "Unigram",
    "sp-bpe": "SentencePiece BPE",
    "sp-word": "whole words",
    "sp-char": "single characters",
}
FIRST_MERGES = 10
MEASURED_BYTES = 1_000_000
"""Bytes of training text on which compression is measured: three digits of precision in a tenth of a second."""
SAMPLE = "Hello, world! Tokenizers split naïve café menus, 東京 and 3.14159 into pieces 🙂"


def facts(job: Job, result: Result) -> dict[str, Any]:
    """Return the report as JSON data."""
    measured, whole = _measured_text(job)
    size = sum(len(text.encode()) for text in measured)
    about: dict[str, Any] = {
        "model": job.options["model"],
        "pattern": job.options.get("pattern"),
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
                "file": path,
                "vocab_size": len(tok.vocab),
                "vocab_size_asked": asked,
                "merges": n_merges(tok),
                "special_tokens": len(tok.special_tokens),
                "tokens": tokens,
                "bytes_per_token": round(size / tokens, 3) if tokens else None,
                "first_merges": _first_merges(tok, result),
                "fingerprint": tok.fingerprint(),
            }
        )
    if job.explain:
        about["explained"] = [_to_look_at(asdict(step)) for step in result.steps]
    if job.mixture is not None:
        about["sources"] = mixing.facts(job.mixture.parts)
    if job.demo:
        about["sample"] = _sample(result.tokenizers[-1])
    return about


def _first_merges(tok: Tokenizer, result: Result) -> list[str]:
    if tok.definition.over_bytes is not None:
        return merges(tok, FIRST_MERGES)
    steps = [step for step in result.steps[:FIRST_MERGES] if isinstance(step, Step)]
    return [f"{_readable(s.left)}+{_readable(s.right)}" for s in steps]


def _to_look_at(step: dict[str, Any]) -> dict[str, Any]:
    """Return a step with its tokens as text, because JSON has no bytes."""
    return {key: _readable(value) if isinstance(value, (bytes, str)) else value for key, value in step.items()}


def _readable(token: str | bytes) -> str:
    return readable(token.encode() if isinstance(token, str) else token)


def _measured_text(job: Job) -> tuple[list[str], bool]:
    """Return the first megabyte of the training text, and whether that is all of it.

    Only for regular files: word counts and tables are not text, and stdin and pipes can be read only once.
    """
    from tokkit.corpus.paths import TABLES, files_of, suffix_of

    paths = [] if job.counts is not None else files_of(job.inputs)
    if not paths or not all(os.path.isfile(path) and suffix_of(path) not in TABLES for path in paths):
        return [], False
    reading = Reading("file", job.options["field"], job.options["input_errors"])
    return reading.beginning(paths, MEASURED_BYTES)


def _sample(tok: Tokenizer) -> dict[str, Any]:
    ids = tok.encode(SAMPLE)
    return {
        "text": SAMPLE,
        "bytes": len(SAMPLE.encode()),
        "ids": ids,
        "tokens": [readable(tok.vocab[i]) for i in ids],
        "decoded": tok.decode(ids),
        "exact": tok.decode(ids) == SAMPLE,
    }


def show(job: Job, about: dict[str, Any]) -> None:
    """Print the report."""
    what = counted(about["inputs"], "file")
    source = f"the bundled corpus ({what}, {counted(about['measured_bytes'], 'byte')})" if job.demo else what
    say(f"Trained {NAMES[about['model']]} on {source} in {about['seconds']:.2f} s.")
    if len(about["tokenizers"]) > 1:
        rows = [(t["vocab_size"], t["bytes_per_token"] or "-", t["file"]) for t in about["tokenizers"]]
        table([("tokens", "bytes/token", "file"), *rows], left=(2,), margin="  ")
        _show_merges(about["tokenizers"][-1])
    else:
        _show_one(about["tokenizers"][0], about, job)
    if about.get("sources"):
        mixing.show(about["sources"])
    if job.explain and about["model"] == "unigram":
        _show_rounds(about["explained"])
    elif job.explain:
        _show_explained(about["explained"])
    if job.demo:
        _show_sample(about["sample"])
        _show_next(about["tokenizers"][-1]["file"])


def _show_one(made: dict[str, Any], about: dict[str, Any], job: Job) -> None:
    special = made["special_tokens"]
    own = made["vocab_size"] - special
    learned = f"256 bytes, {own - 256:,} learned" if job.in_bytes else f"{own:,} learned"
    say(f"  vocabulary    {made['vocab_size']:,} tokens: {learned}{f', {special} special' if special else ''}")
    if made["bytes_per_token"]:
        whole, size = about["measured_all"], about["measured_bytes"]
        where = "the corpus takes" if whole else f"the first {size:,} bytes take"
        say(
            f"  compression   {made['bytes_per_token']:.2f} bytes per token: {where} "
            f"{counted(made['tokens'], 'token')}, as raw bytes {size:,} ({RULE})"
        )
    _show_merges(made)
    say(f"  file          {made['file']}")


def _show_merges(made: dict[str, Any]) -> None:
    if made["first_merges"]:
        say(f"  first merges  {_on_one_line(made['first_merges'])}")


def _show_explained(steps: list[dict[str, Any]]) -> None:
    """Print why the first pairs were merged: their scores, mutual information and counts."""
    say("")
    by_count = bool(steps) and steps[0]["total"] is None
    say("Merges, in order:" if by_count else "Why these pairs were merged first:")
    names = [shortened(step["token"], 20) for step in steps]
    pairs = [f"{shortened(step['left'])} {shortened(step['right'])}" for step in steps]
    if by_count:
        rows = [(pair, name, step["count"]) for pair, name, step in zip(pairs, names, steps, strict=True)]
        table([("pair", "token", "count(xy)"), *rows], left=(0, 1), margin="  ")
        return
    counts = ("count", "left_count", "right_count", "total")
    ratios = [step["count"] * step["total"] / (step["left_count"] * step["right_count"]) for step in steps]
    rows_ = [
        (pair, name, f"{step['score']:,.3f}", f"{math.log(ratio):.3f}", *(f"{step[key]:,}" for key in counts))
        for pair, name, step, ratio in zip(pairs, names, steps, ratios, strict=True)
    ]
    head = ("pair", "token", "score", "log ratio", "count(xy)", "count(x)", "count(y)", "N")
    table([head, *rows_], left=(0, 1), margin="  ")
    by_ratio = all(step["score"] == ratio for step, ratio in zip(steps, ratios, strict=True))
    what = "the ratio" if by_ratio else "the gain in log-likelihood of the corpus, in nats"
    say(f"  score = {what}; ratio = count(xy) · N / (count(x) · count(y))")


def _show_rounds(rounds: list[dict[str, Any]]) -> None:
    """Print how each round of a Unigram training removed pieces."""
    say("")
    say("The rounds of training:")
    keys = ("pieces_before", "pieces", "log_likelihood", "tokens")
    rows = [(r["number"], *(f"{r[key]:,.0f}" for key in keys)) for r in rounds]
    table([("round", "pieces", "kept", "log-likelihood", "tokens"), *rows], left=(), margin="  ")
    for r in rounds:
        if r["pruned"]:
            pieces = "  ".join(shortened(readable(piece.encode()), 20) for piece in r["pruned"])
            say(f"  left out before round {r['number']}: {pieces} …")


def _on_one_line(tokens: list[str]) -> str:
    return "  ".join(map(shortened, tokens)) or "none"


def _show_sample(sample: dict[str, Any]) -> None:
    say("")
    say(f"  text          {sample['text']}")
    say(f"  tokens        {' '.join(sample['tokens'])}")
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
