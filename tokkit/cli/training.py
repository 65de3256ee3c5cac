"""Runs `tokkit train`: plans, trains, saves and reports."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import mixing, output
from tokkit.cli.errors import note
from tokkit.cli.inputs import STDIN, given, stdin
from tokkit.cli.sentencepiece_options import MODELS as SENTENCEPIECE
from tokkit.cli.train_options import GENERAL, of_training
from tokkit.errors import CorpusError, FormatError, TokkitError
from tokkit.escaping import show

if TYPE_CHECKING:
    from tokkit.formats.differences import Difference
    from tokkit.progress import Progress
    from tokkit.tokenizer import Tokenizer
    from tokkit.trainers import CountFiles, Mixture
    from tokkit.trainers.options import Round, Step

EXPLAINED = 20
DEMO_NAME = "tokkit-demo"
DEMO_SIZE = {"wordpiece": 4000, "bpe": 4000, "hybrid": 8000, **dict.fromkeys(SENTENCEPIECE, 4000)}
"""Sizes other than 2000: with and without prefix, the bundled corpus has 2,800 characters (in hybrid 5,300)."""
DEFAULT_SIZE = 32000
DEFAULT_PATTERN = {"bbpe": "gpt2", "bpe": "whitespace", "word": "punctuation", "hybrid": "punctuation"}
REHEARSED = {"gpt2": "tokenizer", "tiktoken": "t.tiktoken", "sentencepiece": "t.model"}
SUFFIXES = (".json", ".tiktoken", ".model")
GPT2_FILES = ("vocab.json", "merges.txt", "added_tokens.json")


@dataclass(frozen=True, slots=True)
class Job:
    """A planned training: the source of the text, the sizes and their files, and the other options of `train`."""

    inputs: list[str]
    sizes: tuple[int, ...]
    files: list[str]
    options: dict[str, Any]
    counts: str | None = None
    format: str | None = None
    force: bool = False
    lossy: bool = False
    demo: bool = False
    replaces: bool = False
    """Whether this is the demo, whose file is replaced without --force if the demo has written it."""
    explain: bool = False
    vocabularies: bool | None = None
    """Whether the .vocab beside each .model has scores; None for no .vocab."""
    mixture: Mixture | CountFiles | None = None
    """The source of the text, if its parts have names or weights."""

    @property
    def in_bytes(self) -> bool:
        """Whether all 256 bytes are tokens."""
        return self.options["model"] == "bbpe" or self.options.get("level") == "bytes"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a training: tokenizers in the order of the sizes, and the time in seconds."""

    tokenizers: list[Tokenizer]
    seconds: float
    steps: list[Step | Round] = field(default_factory=list)
    """The first merges of WordPiece and classic BPE; with --explain, all merges of BPE or the rounds of Unigram."""


def plan(inputs: Sequence[str], chosen: Mapping[str, Any]) -> Job:
    """Check all that can be checked before the training."""
    demo = not inputs and chosen["counts"] is None
    if inputs and chosen["counts"] is not None:
        raise click.UsageError("give INPUT or --counts, not both")
    sizes = chosen["vocab_size"] or (DEMO_SIZE.get(chosen["model"], 2000) if demo else DEFAULT_SIZE,)
    prefix, target = chosen["model_prefix"], chosen["output"]
    in_family = chosen["model"] in SENTENCEPIECE
    suffix = ".model" if in_family else ".json"
    target = target or (f"{prefix}{suffix}" if prefix else DEMO_NAME + suffix if demo else None)
    if target is None:
        raise click.UsageError("Missing option '-o': give the file to write, as in -o tok.json")
    options = {name: chosen[name] for name in ("unit", "field", "input_errors", "model")} | of_training(chosen)
    if chosen["model"] in DEFAULT_PATTERN:
        options.setdefault("pattern", DEFAULT_PATTERN[chosen["model"]])
    options["threads"] = chosen["threads"] or chosen["num_threads"]
    if "state" in options:
        from tokkit.files.files import refuse_inputs

        refuse_inputs([options["state"]], given())
    mixture, inputs = _mixture(inputs, chosen)
    job = Job(
        inputs=list(inputs),
        mixture=mixture,
        sizes=sizes,
        files=[target] if len(sizes) == 1 else [_with_size(target, size) for size in sizes],
        options=options,
        counts=chosen["counts"],
        format="sentencepiece" if target == output.STDOUT and in_family else chosen["format"],
        force=chosen["force"],
        lossy=chosen["lossy"],
        demo=demo,
        replaces=demo and target == DEMO_NAME + suffix and not chosen["force"],
        explain="explain" in chosen,
        vocabularies=_vocabularies(chosen, in_family),
    )
    _check_files(job)
    if demo:
        from tokkit.corpus import bundled

        note("no INPUT given: training on the bundled corpus (use - to read from stdin)")
        job = replace(job, inputs=[str(path) for path in bundled.paths()])
    return job


def _vocabularies(chosen: Mapping[str, Any], in_family: bool) -> bool | None:
    """Return whether a .vocab beside each model has scores; None for no .vocab."""
    as_theirs = in_family and chosen["output"] is None and bool(chosen["model_prefix"])
    return bool(chosen["vocabulary_output_piece_score"]) if as_theirs and chosen["format"] is None else None


def _mixture(given: Sequence[str], chosen: Mapping[str, Any]) -> tuple[Mixture | CountFiles | None, list[str]]:
    """Return the source of a training with names or weights (else None), and the paths of the inputs."""
    by_name, paths = mixing.sources_of(given)
    how = {name: chosen[name] for name in ("weights", "temperature")}
    if by_name is None and how["weights"] is None and how["temperature"] is None:
        return None, paths
    from tokkit.trainers import CountFiles, Mixture

    if chosen["counts"] is not None:
        found = counts_of(chosen["counts"])
        if not isinstance(found, CountFiles):
            raise click.UsageError("--weight and --temperature need sources, which a list of word counts does not have")
        return CountFiles(chosen["counts"], **how), paths
    if not paths:
        raise click.UsageError("--weight and --temperature need sources: give INPUT, for example de=FILE, or --counts")
    return Mixture(by_name or mixing.own_names(paths), **how), paths


def _with_size(path: str, size: int) -> str:
    if path == output.STDOUT:
        raise click.UsageError("several sizes are several files: give a file name with -o, not -")
    stem, suffix = os.path.splitext(path)
    return f"{stem}-{size}{suffix}"


def _check_files(job: Job) -> None:
    if job.format == "gpt2" and output.STDOUT in job.files:
        raise click.UsageError("the format gpt2 is several files: give a directory with -o, not -")
    for path in job.files:
        if job.format == "gpt2" or (job.format is None and os.path.isdir(path)):
            for name in GPT2_FILES if os.path.isdir(path) else ():
                output.check(os.path.join(path, name), force=job.force)
            continue
        if job.format is None and path != output.STDOUT and not path.endswith(SUFFIXES):
            raise click.UsageError(f"-o {show(path)}: unknown suffix; use {', '.join(SUFFIXES)}, or give --format")
        output.check(path, force=job.force or job.replaces)
        if job.vocabularies is not None:
            output.check(_vocabulary_of(path), force=job.force)
        if _format_of(path, job.format) == "tiktoken" and path != output.STDOUT:
            output.check(path + ".json", force=job.force)


def run(job: Job, progress: Progress) -> Result:
    """Train and save."""
    from tokkit.trainers import train

    rehearse(job)
    started = time.perf_counter()
    source = job.mixture or (job.inputs if job.counts is None else counts_of(job.counts))
    steps: list[Step | Round] = []
    options = dict(job.options)
    # The report always shows the first merges of classic BPE and WordPiece, which their tokenizers do not hold.
    if job.explain or options["model"] in ("bpe", "wordpiece"):
        limit = EXPLAINED if options["model"] == "wordpiece" or not job.explain else math.inf
        options["explain"] = lambda step: steps.append(step) if len(steps) < limit else None
    if len(job.sizes) == 1:
        made = [train(source, vocab_size=job.sizes[0], progress=progress, **options)]
    else:
        made = train(source, vocab_size=list(job.sizes), progress=progress, **options)
    seconds = time.perf_counter() - started
    for tok, path in zip(made, job.files, strict=True):
        if job.replaces:
            _check_demo(path, tok)
        for difference in save(tok, path, job.format, force=job.force or job.replaces, lossy=job.lossy):
            note(f"{show(path)}: {difference}")
        if job.vocabularies is not None:
            _write_vocabulary(tok, path, scores=job.vocabularies)
    return Result(made, seconds, steps)


def _vocabulary_of(path: str) -> str:
    return path.removesuffix(".model") + ".vocab"


def _write_vocabulary(tok: Tokenizer, path: str, *, scores: bool) -> None:
    """Write the .vocab that belongs to a .model."""
    from tokkit.compat.sentencepiece.trainer import vocabulary
    from tokkit.files.files import write_atomically
    from tokkit.models.sentencepiece import SentencePieceModel

    model = tok.definition.model
    if isinstance(model, SentencePieceModel):
        write_atomically(_vocabulary_of(path), vocabulary(model, scores=scores).encode(), overwrite=True)


def check_watched(job: Job, page: str) -> None:
    """Check before the training that the page of --watch can be written."""
    if len(job.sizes) > 1 or output.STDOUT in job.inputs:
        raise click.UsageError("--watch reads the input twice and shows one training: give files, not -, and one size")
    if page in job.files:
        raise click.UsageError(f"--watch and -o are both {show(page)}")
    output.check(page, force=job.force)


def write_watched(job: Job, page: str, text: str | None) -> None:
    """Train a second time, and write the page of --watch."""
    from tokkit.cli.training_report import SAMPLE
    from tokkit.files.files import write_atomically
    from tokkit.view import training_html

    source: Any = job.mixture or (job.inputs if job.counts is None else counts_of(job.counts))
    made = training_html(source, SAMPLE if text is None else text, vocab_size=job.sizes[0], **job.options)
    write_atomically(page, made.encode())
    note(f"{show(page)}: open it in a browser to watch the training")


def _check_demo(path: str, tok: Tokenizer) -> None:
    """Raise FileExistsError if the file exists and was not written by the demo."""
    from tokkit.loading import load

    if not os.path.lexists(path):
        return
    try:
        same = load(path).fingerprint() == tok.fingerprint()
    except (TokkitError, OSError):
        same = False
    if not same:
        raise FileExistsError(
            f"{show(path)} exists and is another tokenizer; overwrite it with --force, or choose a file with -o"
        )


def rehearse(job: Job) -> None:
    """Raise, before the training, the error that saving would raise for this pattern and these special tokens.

    The saved file is loaded too, because some formats drop data without an error.
    """
    from tokkit.files.files import show
    from tokkit.loading import load
    from tokkit.tokenizer import Tokenizer
    from tokkit.trainers import options_of
    from tokkit.trainers.sentencepiece import SentencePieceTraining

    training = options_of(job.options["model"], {k: v for k, v in job.options.items() if k not in GENERAL})
    training.check_sizes(job.sizes, job.sizes[0] if len(job.sizes) == 1 else list(job.sizes))
    if isinstance(training, SentencePieceTraining):
        small = Tokenizer(training.smallest())
    else:
        small = _smallest(job, len(training.special_tokens))
    target = job.files[0]
    written = _format_of(target, job.format)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, REHEARSED.get(written, "tokenizer.json"))
        try:
            save(small, path, written, force=True, lossy=job.lossy)
            loaded = load(path)
            lost = [text for text, id_ in small.special_tokens.items() if loaded.special_tokens.get(text) != id_]
            if lost:
                raise FormatError(f"the format {written} cannot hold the special token {lost[0]!r}")
        except TokkitError as error:
            # The error must name the user's file; the messages of formats name the temporary one.
            said = re.sub(rf"^{re.escape(show(Path(path)))}[^:]*: ", "", str(error))
            raise type(error)(said if target == output.STDOUT else f"{show(target)}: {said}") from None
    if written == "tiktoken":
        what = "split pattern" + (" and special tokens" if small.special_tokens else "")
        if target == output.STDOUT:
            note(f"a list of ranks does not contain the {what}: pass them when loading the file")
        else:
            note(
                f"{show(target)}.json has the {what}, which a .tiktoken file does not contain: keep both files together"
            )


def _smallest(job: Job, n_special: int) -> Tokenizer:
    """Return the smallest tokenizer that can be trained with the options."""
    from tokkit.trainers import train

    # Without the options that set the number of tokens, and those that save the training.
    by_size = ("min_frequency", "limit_alphabet", "initial_alphabet", "state", "state_every", "resume", "max_memory")
    options = {k: v for k, v in job.options.items() if k not in by_size} | {"threads": 1}
    n_own = 512 if options["model"] == "hybrid" else 256 if job.in_bytes else 1  # hybrid also has bytes with a prefix
    if options["model"] == "bpe":
        n_own = (1 if options.get("word_end", "apart") != "apart" else 2) + len(options.get("glossaries", ()))
    return train({"a": 1}, vocab_size=n_special + n_own, **options)


def _format_of(path: str, format: str | None) -> str:
    """Return the format in which a path will be written."""
    if format is not None:
        return format
    by_suffix = {".tiktoken": "tiktoken", ".model": "sentencepiece"}.get(os.path.splitext(path)[1])
    return by_suffix or ("gpt2" if os.path.isdir(path) else "tokenizer.json")


def save(tok: Tokenizer, path: str, format: str | None, *, force: bool, lossy: bool) -> list[Difference]:
    """Write a tokenizer to a file or stdout; return the differences that `lossy` allows."""
    from tokkit import formats

    found: list[Difference] = []
    differences = found if lossy else None
    if path != output.STDOUT:
        formats.write(tok.definition, path, format=format, overwrite=force, differences=differences)
        return found
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "out")
        written = formats.write(tok.definition, target, format=format or "tokenizer.json", differences=differences)
        data = written[0].read_bytes()
    with output.writing(path, force=force) as file:
        file.write(data)
    return found


def counts_of(path: str) -> CountFiles | dict[str, int]:
    """Return the word counts in a file or a folder."""
    from tokkit.corpus.counts_file import SUFFIX
    from tokkit.trainers import CountFiles

    return CountFiles(path) if os.path.isdir(path) or path.endswith(SUFFIX) else read_counts(path)


def read_counts(path: str) -> dict[str, int]:
    """Read word counts: a JSON object, or lines of word, tab and count; counts of repeated words are added."""
    from tokkit.corpus.utf8 import without_mark

    name = "standard input" if path == STDIN else show(path)
    try:
        data = stdin().read() if path == STDIN else Path(path).read_bytes()
        text = without_mark(data, name).decode()
        if path.endswith(".json"):
            counts = json.loads(text)
            wrong = (
                [key for key, value in counts.items() if type(value) is not int] if isinstance(counts, dict) else [""]
            )
            if wrong:
                raise CorpusError(f'{name}: {wrong[0]!r} is not a word and its count; write {{"word": count}}')
            return dict(counts)
    except UnicodeDecodeError as error:
        raise CorpusError(f"{name}: byte {error.start} is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, CorpusError) else CorpusError(f"{name} is not JSON: {error}") from None
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        word, tab, times = line.rstrip("\r").rpartition("\t")
        if line and (not tab or not word or not times.isascii() or not times.isdigit()):
            raise CorpusError(f"{name}, line {number}: {line[:80]!r} is invalid; write a word, a tab and a count")
        if line:
            found[word] = found.get(word, 0) + int(times)
    return found


def report(job: Job, result: Result, *, as_json: bool) -> None:
    """Print the report; on stderr if the tokenizer is written to stdout."""
    from tokkit.cli import training_report

    if job.files == [output.STDOUT]:
        note(f"trained {output.counted(len(result.tokenizers[0].vocab), 'token')} in {result.seconds:.2f} s")
        return
    facts = training_report.facts(job, result)
    if as_json:
        output.say_json(facts)
    else:
        training_report.show(job, facts)
