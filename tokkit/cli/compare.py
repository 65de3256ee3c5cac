"""`tokkit compare`: which tokenizer needs fewer tokens for a text, and where they first differ."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from tokkit.cli import options, sentencepiece_options, train
from tokkit.cli.help import Command
from tokkit.cli.sentencepiece_options import ALIAS
from tokkit.cli.train_options import BELONGS, GROUPS

NOT_TAKEN = ("pattern", "special", "state", "state_every", "resume", "explain", "watch")
"""Options of the models in `tokkit train` that --train does not take, or that another option of this command is."""
OPTIONS = ("unit", "min_frequency", "special_token", *(name for name in BELONGS if name not in NOT_TAKEN))
"""Options of `tokkit train` that --train takes."""
OF_TRAINING = ("vocab_sizes", "held_out", "plot", "html", "threads", "progress", "force", *OPTIONS)
OF_FILES = ("sample", "special")
"""Options that apply only to one of the two uses."""


def options_of_train(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `tokkit train` in OPTIONS to a command."""
    for parameter in reversed(train.command.params):
        if str(parameter.name).removesuffix(ALIAS) in OPTIONS:
            made = copy.copy(parameter)
            function.__dict__.setdefault("__click_params__", []).append(made)
    return function


class TwoLists(Command):
    """A command with TOKENIZERS, then `--` and FILES: names after the dashes are treated as --file options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Rewrite `-- FILE…` as --file options."""
        if "--" in args:
            at = args.index("--")
            args = [*args[:at], *(f"--file={name}" for name in args[at + 1 :])]
        return super().parse_args(ctx, args)


def _apart_by_commas(_: click.Context, __: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else list(dict.fromkeys(name.strip() for name in value.split(",")))


@options.command(
    "compare",
    cls=TwoLists,
    short_help="Compare tokenizers on the same files, or models and sizes.",
    examples=(
        "tokkit compare gpt2 cl100k_base tok.json -- corpus.txt",
        "tokkit compare corpus.txt --train bbpe,unigram --vocab-sizes 4000,8000",
        "tokkit compare code/ --train bbpe,unigram --pattern o200k --no-remove-extra-whitespaces",
        "tokkit compare --train bbpe,wordpiece,unigram --html sizes.html",
    ),
    groups={
        "With --train": ("train", *OF_TRAINING[:4]),
        **{name: GROUPS[name] for name in GROUPS if name != "Most used"},
    },
)
@click.argument("inputs", nargs=-1, type=options.MODEL, metavar="TOKENIZER...|[CORPUS]... [-- FILE...]")
@click.option("--file", "file", multiple=True, type=options.FILE, help="A file to compare on; repeat for more.")
@click.option("--sample", metavar="TEXT", help="Show how each tokenizer splits this text, side by side, instead.")
@click.option(
    "--train",
    callback=_apart_by_commas,
    metavar="MODEL[,MODEL...]",
    help="Train these models on CORPUS and compare them: bbpe, bpe, wordpiece, unigram, word, char, "
    "hybrid and the other names of `tokkit train --model`, or byte, hybrid-byte, wordpiece-frequency.",
)
@click.option(
    "--vocab-sizes",
    multiple=True,
    callback=options.sizes,
    metavar="N[,N...]",
    show_default="1000,2000,4000,8000,16000,32000",
    help="With --train: vocabulary sizes of each model.",
)
@click.option(
    "--held-out",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.1,
    metavar="PART",
    help="With --train and no FILE: share of the text to measure on, in passages of a few lines, evenly spaced, which "
    "are not trained on.",
)
@click.option(
    "--plot", type=options.OUTPUT, metavar="PNG", help="With --train: also plot the measures over vocabulary size."
)
@click.option("--html", type=options.Writes(), metavar="PAGE", help="With --train: also write the measures as a page.")
@options_of_train
@click.option(
    "--pattern",
    callback=options.not_empty,
    metavar="NAME|REGEX",
    help="Split pattern: for a .gguf file or an unpublished .tiktoken file, as in `tokkit count`; with --train, for "
    "bbpe, bpe, word and hybrid, as in `tokkit train`.",
)
@options.special
@options.field
@options.input_errors
@options.threads
@options.force
@options.progress
@options.as_json
@click.pass_context
def command(ctx: click.Context, /, inputs: tuple[str, ...], json: bool, **chosen: Any) -> None:
    """Compare tokenizers: tokens, bytes per token, compression against the first, tokens per word and text, oov, loss.

    Each file, or record, is one text. Words are separated by white space; oov is the share of words with an unknown
    token; restored is the share of texts that decode to themselves. A star marks tokens that are fewer because white
    space was lost. Name files after -- or by --file; without any, the bundled corpus is used. For each tokenizer, the
    first place is shown where it splits the text differently from the first tokenizer.

    With --train, models are trained on CORPUS to several sizes and measured on held-out passages, or on FILE. Options
    are those of `tokkit train`, each for the models that have it, except that case is kept and bpe has an unknown
    token.
    """
    trains = chosen["train"] is not None
    aliases = [name + ALIAS for name in sentencepiece_options.SWITCHES]
    for name in OF_FILES if trains else (*OF_TRAINING, *aliases):
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            with_what = "files of tokenizers, not with --train" if trains else "--train"
            flag = name.removesuffix(ALIAS).replace("_", "-")
            raise click.UsageError(f"--{flag} applies only with {with_what}")
    if not trains:
        if not inputs:
            raise click.UsageError("Missing argument 'TOKENIZER...': name files of tokenizers, or give --train")
        compare_files(inputs, chosen, as_json=json)
        return
    chosen["options"] = _given(chosen)
    compare_models(inputs, chosen, as_json=json)


def _given(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the options of `tokkit train`: general ones, and those of models that were given."""
    found = sentencepiece_options.merged({**chosen, "model_type": None})
    general = {name: found[name] for name in ("unit", "min_frequency", "special_token")}
    of_models = {name: found[name] for name in ("pattern", *OPTIONS) if name in BELONGS and name in found}
    return general | {name: value for name, value in of_models.items() if value not in (None, ())}


def compare_files(paths: tuple[str, ...], chosen: dict[str, Any], *, as_json: bool) -> None:
    """Compare existing tokenizers."""
    from tokkit.cli import comparison
    from tokkit.cli.inputs import Reading, load
    from tokkit.cli.output import say_json
    from tokkit.errors import TokkitError

    toks = {}
    for path in dict.fromkeys(paths):
        suits = chosen["pattern"] if path.endswith((".tiktoken", ".gguf")) else None
        try:
            toks[path] = load(path, suits)
        except TokkitError as error:
            if chosen["file"] or path.endswith((".json", ".tiktoken", ".gguf")):
                raise
            raise type(error)(f"{error} (files to compare on are named after --)") from None
    if chosen["sample"] is not None:
        spans = comparison.side_by_side(toks, chosen["sample"])
        say_json(spans) if as_json else comparison.show_side_by_side(list(toks), spans)
        return
    reading = Reading("file", chosen["field"], chosen["input_errors"])
    found = comparison.compare(toks, comparison.texts_of(chosen["file"], reading), chosen["special"])
    say_json(found) if as_json else comparison.show(found)


def compare_models(corpus: tuple[str, ...], chosen: dict[str, Any], *, as_json: bool) -> None:
    """Train models to several sizes, and compare them."""
    from tokkit.cli import vocab_sizes
    from tokkit.cli.output import check, say_json
    from tokkit.progress import Progress

    if chosen["plot"] is not None:
        from tokkit.view import plots

        if chosen["plot"] == "-":
            raise click.UsageError("--plot is -, but stdout has the table: give the name of a file")
        check(chosen["plot"], force=chosen["force"])
        plots.check()
    if chosen["html"] is not None:
        check(chosen["html"], force=chosen["force"])
    job = vocab_sizes.plan(corpus, chosen["file"], chosen)
    job.wants_lengths = chosen["html"] is not None
    with Progress(chosen["progress"]) as progress:
        found = vocab_sizes.run(job, progress)
    if chosen["plot"] is not None:
        vocab_sizes.plot(found, chosen["plot"], force=chosen["force"])
    if chosen["html"] is not None:
        vocab_sizes.write_page(found, chosen["html"])
    say_json(found) if as_json else vocab_sizes.show(found)
