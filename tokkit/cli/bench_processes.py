"""`tokkit bench --train` and `--memory`: training speed and peak memory, each measured in its own process."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokkit.cli import bench_job, measure, rivals
from tokkit.errors import TokkitError

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

TRAINERS = (
    ("bbpe", ("tokenizers", "gigabpe"), "byte-level BPE"),
    ("sp-bpe", ("sentencepiece",), "SentencePiece BPE"),
    ("unigram", ("sentencepiece",), "SentencePiece Unigram"),
)
"""(model of `tokkit train`, rivals, name in the table)."""
SAME = ("tokenizers",)
"""Rivals that train the same vocabulary with their defaults; gigabpe has no tokens of bytes that the text lacks."""
LOADERS = ("tokenizers", "tiktoken")
MEGABYTE = 1e6
Tick = Callable[[], object]


class Failed(Exception):
    """Raised with the reason if a process gave no figures."""


def _run(job: Mapping[str, Any]) -> dict[str, Any]:
    root = str(Path(__file__).resolve().parents[2])
    source = Path(bench_job.__file__).read_text(encoding="utf-8")
    command = [sys.executable, "-c", source, json.dumps({**job, "root": root})]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise Failed(" ".join((done.stderr.strip().splitlines() or ["it was killed"])[-1].split())[:160])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _version(name: str) -> str:
    """Return the version of a package; Failed if it is not installed. It is not imported."""
    if name == "tokkit":
        from tokkit.version import __version__

        return __version__
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        raise Failed(f"not installed: pip install {name}") from None


def _times(job: Mapping[str, Any], runs: int, tick: Tick) -> dict[str, Any]:
    """Return the medians of the figures of several runs of a job."""
    found = []
    for _ in range(runs):
        found.append(_run(job))
        tick()
    medians = {key: statistics.median(one[key] for one in found) for key in ("seconds", "peak")}
    return {**found[-1], **medians}


def training(
    text: str, against: Sequence[str], *, vocab_size: int, threads: int, runs: int, tick: Tick
) -> dict[str, Any]:
    """Return seconds and peak memory of training on a text, for tokkit and each rival, and the reasons for failures."""
    rows, skipped = [], {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.txt")
        path.write_text(text, encoding="utf-8", newline="\n")
        for model, others, said in TRAINERS:
            # tokenizers and gigabpe read files line by line.
            options = {"unit": "line"} if model == "bbpe" else {"hard_vocab_limit": False}
            job = {"what": "train", "model": model, "text": str(path), "vocab_size": vocab_size, "threads": threads}
            digests = {}
            for who in ("tokkit", *(name for name in others if name in against)):
                try:
                    version = _version(who)
                    found = _times({**job, "who": who, "options": options}, runs, tick)
                except Failed as error:
                    skipped[f"{said}, {who}"] = str(error)
                    continue
                digests[who] = found.pop("digest")
                rows.append({
                    "model": said, "name": who, "version": version, "mb_s": _speed(text, found["seconds"]), **found,
                    "same_vocabulary": digests[who] == digests.get("tokkit") if who != "tokkit" else None,
                })  # fmt: skip
                if who in SAME and not rows[-1]["same_vocabulary"]:
                    skipped[f"{said}, {who}"] = "it trained a different vocabulary"
                    rows.pop()
    return {"vocab_size": vocab_size, "rows": rows, "skipped": skipped}


def _speed(text: str, seconds: float) -> float:
    return round(len(text.encode()) / MEGABYTE / seconds, 2)


def memory(tok: Tokenizer, text: str, against: Sequence[str], *, runs: int, tick: Tick) -> dict[str, Any]:
    """Return the peak memory of processes that load the tokenizer, and that encode the text with it.

    A rival whose ids differ gets no figures. The memory of a Python process that imports nothing is returned too.
    """
    rows: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.txt")
        path.write_text(text, encoding="utf-8", newline="\n")
        ends = [0]
        for document in measure.cut(text):
            ends.append(ends[-1] + len(document))
        documents = list(itertools.pairwise(ends))
        ours = ""
        for who in ("tokkit", *(name for name in LOADERS if name in against)):
            try:
                job = {"who": who, "text": str(path), "documents": documents, "version": _version(who)}
                job |= _file_for(who, tok, Path(folder))
                loads = _times({**job, "what": "load"}, runs, tick)
                encodes = _times({**job, "what": "encode"}, runs, tick)
            except (Failed, rivals.Unavailable) as error:
                skipped[who] = str(error)
                continue
            ours = ours or encodes["digest"]
            if encodes["digest"] != ours:
                skipped[who] = "ids differ"
                continue
            rows.append({
                "name": who, "version": job["version"], "load_seconds": loads["seconds"], "load_peak": loads["peak"],
                "encode_seconds": encodes["seconds"], "encode_peak": encodes["peak"],
            })  # fmt: skip
    return {"python": _run({"what": "nothing", "who": "Python"})["peak"], "rows": rows, "skipped": skipped}


def _file_for(who: str, tok: Tokenizer, folder: Path) -> dict[str, Any]:
    """Write the tokenizer in a format that a library reads; return the entries of its job that describe the file."""
    from tokkit import formats

    name, pattern = "tokenizer.json", None
    if who == "tiktoken":
        pattern, name = rivals.pattern_of(tok), "ranks.tiktoken"
    path = folder / name
    try:
        formats.write(tok.definition, path, differences=[])
    except TokkitError as error:
        raise rivals.Unavailable(f"no format has this vocabulary: {error}") from None
    return {"file": str(path), "pattern": pattern}


def show(found: Mapping[str, Any]) -> None:
    """Print the tables of training and memory."""
    from tokkit.cli.output import say, table

    rows: list[Sequence[str]]
    if (of_training := found.get("training")) is not None:
        say("")
        say(f"training {of_training['vocab_size']:,} tokens, each in its own process, including its start")
        rows = [("model", "library", "seconds", "MB/s", "peak MB", "vocabulary")]
        for row in of_training["rows"]:
            library, speed = f"{row['name']} {row['version']}", (f"{row['seconds']:.2f}", f"{row['mb_s']:.1f}")
            rows.append((row["model"], library, *speed, f"{row['peak'] / MEGABYTE:.0f}", _vocabulary(row)))
        table(rows, left=(0, 1))
    if (of_memory := found.get("memory")) is not None:
        say("")
        alone = of_memory["python"] / MEGABYTE
        say(f"peak memory in MB, each in its own process; Python alone takes {alone:.0f}")
        rows = [("library", "load s", "load", "encode")]
        for row in of_memory["rows"]:
            peaks = (f"{row[key] / MEGABYTE:.0f}" for key in ("load_peak", "encode_peak"))
            rows.append((f"{row['name']} {row['version']}", f"{row['load_seconds']:.2f}", *peaks))
        table(rows)
    for section in (of_training, of_memory):
        for name, reason in (section or {}).get("skipped", {}).items():
            say(f"{name}: not measured: {reason}")


def _vocabulary(row: Mapping[str, Any]) -> str:
    if row["same_vocabulary"] is None:
        return f"{row['tokens']:,}"
    return f"{row['tokens']:,}, {'the same' if row['same_vocabulary'] else 'another'}"
