"""Trains several models and sizes on a corpus and compares them on a held-out part."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli.comparison import shown_rates, texts_of
from tokkit.cli.errors import note
from tokkit.cli.inputs import STDIN, Reading, expand
from tokkit.cli.output import counted, say, table, writing
from tokkit.cli.sentencepiece_options import MODELS as SENTENCEPIECE
from tokkit.cli.token_text import shortened
from tokkit.cli.train_options import BELONGS, GENERAL, MODELS, of_training
from tokkit.cli.usage import Usage, lossy_winners, said_of_losses
from tokkit.corpus.text_counts import RULE
from tokkit.errors import CorpusError, OptionError

if TYPE_CHECKING:
    from tokkit.progress import Progress
    from tokkit.tokenizer import Tokenizer

NAMES: dict[str, dict[str, Any]] = {
    # Without an unknown token, bpe drops unknown characters, and oov would be 0.
    "bpe": {"model": "bpe", "special_tokens": ["[UNK]"], "unk_token": "[UNK]"},
    "byte": {"model": "char", "level": "bytes"},
    "wordpiece-frequency": {"model": "wordpiece", "score": "frequency"},
    "hybrid-byte": {"model": "hybrid", "fallback": "byte"},
}
"""Names for --train that `tokkit train --model` does not have, or trains differently."""
FIXED = {"level", "score", "fallback"}
"""Options that such a name stands for."""
PASSAGE_BYTES = 200
"""Minimum bytes of a passage: several lines, so that tokens over line ends count, and some of each small file."""
SIZES = (1000, 2000, 4000, 8000, 16000, 32000)
COLUMNS = {
    "tokens": "tokens",
    "tokens_per_word": "tokens/word",
    "tokens_per_text": "tokens/text",
    "oov_rate": "oov",
    "restored_rate": "restored",
    "bytes_per_token": "bytes/token",
    "unused_rate": "never used",
}
"""Columns of the table, by their names in JSON."""


def model_options(names: Sequence[str], given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the options of `train` for each name given to --train: those that apply to it; all keep case.

    UsageError for an option that applies to none of them, or that a name sets; OptionError for an invalid one.
    """
    made = {}
    chosen = of_training(given)
    for name in names:
        if name not in MODELS and name not in NAMES:
            known = ", ".join(dict.fromkeys([*MODELS, *NAMES]))
            raise click.UsageError(f"--train: unknown model {name!r}; give some of {known}, separated by commas")
        options: dict[str, Any] = dict(NAMES.get(name, {"model": name}))
        if options["model"] in BELONGS["lowercase"]:
            options["lowercase"] = False
        if options["model"] in BELONGS["hard_vocab_limit"]:
            options["hard_vocab_limit"] = False  # sizes that the corpus cannot give are reported, as for other models
        for option in FIXED.intersection(chosen, NAMES.get(name, {})):
            raise click.UsageError(f"--{option} cannot be given for {name}, which sets it")
        options |= {option: value for option, value in chosen.items() if options["model"] in _models_of(option)}
        made[name] = options | ({} if given["unit"] is None else {"unit": given["unit"]})
        _check(name, options)
    for option in chosen:
        models = _models_of(option)
        if not any(options["model"] in models for options in made.values()):
            flag = f"--{option.replace('_', '-')}"
            raise click.UsageError(f"{flag} is for {' or '.join(models)}, which --train does not name")
    return made


def _models_of(option: str) -> Sequence[str]:
    """Return the models that have an option."""
    if option == "min_frequency":
        return [model for model in MODELS if model not in SENTENCEPIECE]
    return BELONGS.get(option, MODELS)


def _check(name: str, options: Mapping[str, Any]) -> None:
    from tokkit.trainers import options_of

    try:
        options_of(options["model"], {k: v for k, v in options.items() if k not in GENERAL})
    except OptionError as error:
        raise OptionError(f"{name}: {error}") from None


@dataclass(frozen=True, slots=True)
class Passages:
    """The passages of files: PASSAGE_BYTES or more of whole lines, or a record. The share `part` is held out."""

    files: list[str]
    reading: Reading
    part: float

    def __iter__(self) -> Iterator[tuple[str, str, bool, bool]]:
        """Yield (file, passage, is held out, is a record); passage n is held out if n · part passes an integer.

        Blank passages are not numbered, and never held out.
        """
        n = 0
        for path in self.files:
            for text, is_record in self._of(path):
                blank = not text.strip()
                n += not blank
                yield path, text, not blank and int(n * self.part) > int((n - 1) * self.part), is_record

    def _of(self, path: str) -> Iterator[tuple[str, bool]]:
        held: list[str] = []
        size = 0
        for batch, are_lines in self.reading.batches(path):
            for text in batch:
                if not are_lines:
                    yield text, True
                    continue
                held.append(text)
                size += len(text.encode())
                if size >= PASSAGE_BYTES:
                    yield "".join(held), False
                    held, size = [], 0
        if held:
            yield "".join(held), False

    def training(self, unit: str, *, bare: bool) -> Iterator[str]:
        """Yield the documents to train on: the text between what is held out, or the `unit` in it; `bare` lines."""
        from tokkit.corpus.readers import Block

        for text in self._kept():
            for document in Block(text.encode(), unit, "the corpus").documents("strict"):
                yield document.removesuffix("\n") if bare else document

    def _kept(self) -> Iterator[str]:
        last, held = None, list[str]()
        for path, text, out, is_record in self:
            if held and (out or is_record or path != last):
                yield "".join(held)
                held = []
            last = path
            if is_record and not out:
                yield text
            elif not out:
                held.append(text)
        if held:
            yield "".join(held)


@dataclass(slots=True)
class Job:
    """The models to train, the training text by the unit of a model, and the texts to measure on."""

    source: Callable[[str, dict[str, Any]], Any]
    held_out: list[tuple[str, str]]
    said: str
    models: dict[str, dict[str, Any]]
    sizes: list[int]
    threads: int | None
    wants_lengths: bool = False
    skipped: list[dict[str, Any]] = field(default_factory=list)


def plan(inputs: Sequence[str], files: Sequence[str], chosen: dict[str, Any]) -> Job:
    """Return the job: the texts to measure on are `files`, or else held out of `inputs`."""
    if STDIN in inputs:
        raise click.UsageError("the corpus is read once for each model, so it cannot be standard input: give files")
    reading = Reading("file", chosen["field"], chosen["input_errors"])
    models, sizes = model_options(chosen["train"], chosen["options"]), sorted(chosen["vocab_sizes"] or SIZES)
    if not inputs:
        from tokkit.corpus import bundled

        note("no CORPUS given: training on the bundled corpus")
    paths = list(dict.fromkeys(expand(inputs) if inputs else map(str, bundled.paths())))
    if files:
        documents = [(name, text) for name, texts in texts_of(files, reading) for text in texts if text.strip()]
        known = {os.path.realpath(path) for path in paths}
        trained_on = sum(name != STDIN and os.path.realpath(name) in known for name in files)
        said = f"measured on {counted(len(documents), 'text')} of {counted(len(files), 'file')} ({RULE}), " + (
            f"{trained_on} of them trained on" if trained_on else "not trained on"
        )
        return Job(lambda unit, options: paths, documents, said, models, sizes, chosen["threads"])
    passages = Passages(paths, replace(reading, unit="line"), chosen["held_out"])
    n, documents = 0, []
    for name, text, out, _ in passages:
        n += not text.isspace() and bool(text)
        documents += [(name, text)] if out else []
    if not documents or len(documents) == n:
        raise CorpusError(
            f"of {counted(n, 'passage')} in the corpus {len(documents)} are held out at --held-out "
            f"{chosen['held_out']}: choose a part that holds out some passages but not all, or name files to measure "
            "on after --"
        )
    said = (
        f"measured on every {_ordinal(chosen['held_out'])} passage (whole lines of {PASSAGE_BYTES} bytes or more, "
        f"or a record), {len(documents):,} of {n:,}, not trained on"
    )

    def source(unit: str, options: dict[str, Any]) -> Iterator[str]:
        return passages.training(unit, bare=options["model"] in SENTENCEPIECE)

    return Job(source, documents, said, models, sizes, chosen["threads"])


def _ordinal(part: float) -> str:
    every = 1 / part
    whole = round(every)
    return f"{whole}th" if abs(every - whole) < 1e-9 and whole > 3 else f"{every:.2f}-th"


def run(job: Job, progress: Progress) -> dict[str, Any]:
    """Train and measure; OptionError if no size of any model can be trained."""
    logger = logging.getLogger("tokkit")
    before = logger.level
    logger.setLevel(logging.ERROR)  # a corpus may give fewer tokens than requested; the table shows it
    try:
        rows = [row for name in job.models for row in _rows_of(name, job, progress)]
    finally:
        logger.setLevel(before)
    if not rows:
        raise OptionError(f"none of the sizes can be trained: {job.skipped[-1]['reason']}")
    texts = [text for _, text in job.held_out]
    return {
        "held_out": {
            "said": job.said,
            "texts": len(texts),
            "bytes": sum(len(text.encode()) for text in texts),
            "words": sum(len(text.split()) for text in texts),
        },
        "rows": rows,
        "lossy_winners": _lossy_winners(rows),
        "skipped": job.skipped,
    }


def _lossy_winners(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the result of `lossy_winners` for the models of each size."""
    found = []
    for size in dict.fromkeys(row["vocab_size_asked"] for row in rows):
        of_size = {row["model"]: row for row in rows if row["vocab_size_asked"] == size}
        found += [{"vocab_size": size, **loss} for loss in lossy_winners(of_size)]
    return found


def _rows_of(name: str, job: Job, progress: Progress) -> Iterator[dict[str, Any]]:
    sizes, made = list(job.sizes), list[Any]()
    while sizes and not made:
        try:
            made = _train(job, sizes, job.models[name], progress)
        except OptionError as error:  # too small for the tokens that the model always has
            reason = re.sub("^vocab_size is [^;]*; ", "", str(error))
            job.skipped.append({"model": name, "vocab_size": sizes.pop(0), "reason": reason})
    before = None
    for size, tok in zip(sizes, made, strict=True):
        if len(tok.vocab) == before:
            reason = f"the corpus gives {before:,} tokens and no more"
            job.skipped.append({"model": name, "vocab_size": size, "reason": reason})
            continue
        before = len(tok.vocab)
        usage = Usage(tok)
        for file, text in job.held_out:
            usage.add(file, text)
        by_file = {file: counts.rates() for file, counts in usage.files.items()}
        row = {"model": name, "vocab_size_asked": size, **usage.facts(), **usage.total.rates()}
        yield row | {"files": by_file} | ({"lengths": _lengths(tok)} if job.wants_lengths else {})


def _lengths(tok: Tokenizer) -> dict[str, int]:
    from tokkit.view.vocabulary_report import lengths_of

    special = set(tok.special_tokens.values())
    return dict(lengths_of(token for token, id_ in tok.vocab.items() if id_ not in special))


def _train(job: Job, sizes: list[int], options: dict[str, Any], progress: Progress) -> list[Tokenizer]:
    from tokkit.trainers import options_of, train

    unit = (
        options.get("unit") or options_of(options["model"], {k: v for k, v in options.items() if k not in GENERAL}).unit
    )
    return train(job.source(unit, options), vocab_size=sizes, threads=job.threads, progress=progress, **options)


def plot(found: dict[str, Any], path: str, *, force: bool) -> None:
    """Write the picture of the table."""
    from tokkit.view import plots

    with writing(path, force=force) as file:
        plots.sizes(found["rows"], file, title=found["held_out"]["said"])


def write_page(found: dict[str, Any], path: str) -> None:
    """Write the table as a page, with shortened names of files."""
    from tokkit.files.files import write_atomically
    from tokkit.view import sizes_html

    rows = []
    for row in found["rows"]:
        short = _without_common_folder(list(row["files"]))
        rows.append(row | {"files": {short[file]: rates for file, rates in row["files"].items()}})
    write_atomically(path, sizes_html(rows, title=f"Models and vocabulary sizes: {found['held_out']['said']}").encode())


def show(found: dict[str, Any]) -> None:
    """Print the table, then the figures by file and the longest tokens of each model's largest vocabulary."""
    about = found["held_out"]
    say(f"{about['said']}: {counted(about['bytes'], 'byte')}, {counted(about['words'], 'word')}")
    lossy = {(loss["name"], loss["vocab_size"]) for loss in found["lossy_winners"]}
    rows = [
        (
            row["model"],
            row["vocab_size"],
            *shown_rates(row, COLUMNS, marked=(row["model"], row["vocab_size_asked"]) in lossy),
        )
        for row in found["rows"]
    ]
    table([("model", "vocabulary", *COLUMNS.values()), *rows], margin="  ")
    for line in said_of_losses(found["lossy_winners"]):
        say(f"  {line}")
    greatest = {row["model"]: row for row in found["rows"]}
    say("")
    say("longest tokens, in each model's largest vocabulary")
    table([(name, "  ".join(map(shortened, row["longest_tokens"]))) for name, row in greatest.items()], (0, 1), "  ")
    by_file = {name: row["files"] for name, row in greatest.items()}
    files = list(next(iter(by_file.values())))
    if len(files) > 1:
        say("")
        say("tokens per word and bytes per token, by file, with each model's largest vocabulary")
        short = _without_common_folder(files)
        cells = [(short[file], *(_fertility(rates[file]) for rates in by_file.values())) for file in files]
        table([("file", *by_file), *cells], margin="  ")
    _tell_what_is_lacking(found["skipped"])


def _fertility(rates: dict[str, Any]) -> str:
    shown = ("-" if rates[name] is None else f"{rates[name]:.2f}" for name in ("tokens_per_word", "bytes_per_token"))
    return " ".join(f"{text:>5}" for text in shown)


def _without_common_folder(files: Sequence[str]) -> dict[str, str]:
    common = os.path.commonpath([os.path.dirname(os.path.abspath(file)) for file in files])
    return {file: os.path.relpath(os.path.abspath(file), common) for file in files}


def _tell_what_is_lacking(skipped: Sequence[dict[str, Any]]) -> None:
    """Print which sizes have no row, once for each model and reason."""
    sizes: dict[tuple[str, str], list[str]] = {}
    for lacking in skipped:
        sizes.setdefault((lacking["model"], lacking["reason"]), []).append(f"{lacking['vocab_size']:,}")
    for (model, reason), of_model in sizes.items():
        note(f"{model}: no row for {', '.join(of_model)}: {reason}")
