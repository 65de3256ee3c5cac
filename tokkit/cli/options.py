"""Options that several commands share, and where settings come from.

Flags take precedence over environment variables, these over the file of `--config`, and the file over defaults.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from tokkit.cli.help import Command
from tokkit.escaping import show
from tokkit.pretokenizers import patterns

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

SETTINGS: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "show_default": True,
    "max_content_width": 110,
}
WHERE_SETTINGS_COME_FROM = (
    "Options can also be set in the environment (TOKKIT_TRAIN_VOCAB_SIZE=8000) or in a file given with --config "
    "(vocab_size = 8000 under [train]), with the names of the long options. Flags take precedence, then the "
    "environment, then the file."
)
READ = "tokkit.read"
"""Key in click's context for (path, is a tokenizer or a model) of all inputs that the arguments name."""


class Reads(click.Path):
    """A path that is read; the output must not replace it."""

    is_model = False

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, and record it as an input."""
        made = super().convert(value, param, ctx)
        if ctx is not None:
            ctx.meta.setdefault(READ, []).append((made, self.is_model))
        return made


class Named(Reads):
    """A path that is read, optionally after the name of its source, as in de=corpus.txt."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the argument unchanged, and record the path as an input."""
        super().convert(named(value)[1] if isinstance(value, str) else value, param, ctx)
        return value


def named(given: str) -> tuple[str | None, str]:
    """Return the name of a source (None without one) and its path; an existing file or glob is never split at "=".

    >>> named("de=data/*.txt"), named("data/lang=de.txt")
    (('de', 'data/*.txt'), (None, 'data/lang=de.txt'))
    """
    found = re.fullmatch(r"([\w.-]+)=(.+)", given, re.DOTALL)
    if found is None or os.path.lexists(given) or ("*" in given and glob.glob(given)):
        return None, given
    return found[1], found[2]


class Model(Reads):
    """A tokenizer or a model: a file, a folder, or the name of a published one."""

    is_model = True


class Writes(click.Path):
    """A path that is written; the command calls `output.check` before."""


UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
"""Suffix of a size → bytes."""


class Bytes(click.ParamType):  # type: ignore[type-arg]  # no generic class in click 8.1
    """A number of bytes, such as 1GB, 512MiB or 1000000."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt]?i?)b?", str(value).lower())
        if found is None or found[2] not in UNITS:
            self.fail(f"{value!r}: write a number of bytes, such as 1GB, 512MiB or 1000000", param, ctx)
        return int(float(found[1]) * UNITS[found[2]])


FILE = Reads(allow_dash=True)
NAMED = Named(allow_dash=True)
MODEL = Model()
OUTPUT = Writes(allow_dash=True)


def names(parameter: click.Parameter) -> list[str]:
    """Return a parameter's name in config files (in capitals: in the environment), that of its long option."""
    flags = [flag.removeprefix("--").replace("-", "_") for flag in parameter.opts if flag.startswith("--")]
    return list(dict.fromkeys(flags)) or [str(parameter.name)]


def _fitting(command: click.Command, table: object, name: str) -> dict[str, Any]:
    """Return a table of the config file as defaults of a command's parameters; UsageError names an unknown key."""
    if not isinstance(table, Mapping):
        raise click.UsageError(f"config: {name} is not a table; write [{name}] and its settings below")
    known = {key: p for p in command.params if p.name != "config" for key in names(p)}
    found: dict[str, Any] = {}
    for key, value in table.items():
        parameter = known.get(key.replace("-", "_"))
        if parameter is None or parameter.name is None:
            public = [key for key, p in known.items() if not getattr(p, "hidden", False)]
            raise click.UsageError(f"config: [{name}] has the unknown key {key!r}; it may have {', '.join(public)}")
        if parameter.name in found:
            raise click.UsageError(f"config: [{name}] sets {parameter.name} twice, once as {key}")
        many = parameter.nargs == -1 or (isinstance(parameter, click.Option) and parameter.multiple)
        found[parameter.name] = [value] if many and not isinstance(value, list) else value
    return found


def _read_config(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    """Make the file's tables the defaults of this command; before a command's name, of all commands."""
    if path is None or ctx.resilient_parsing:
        return
    import tomllib

    try:
        with open(path, "rb") as file:
            tables = tomllib.load(file)
    except OSError as error:
        raise click.UsageError(f"config: {show(path)}: {error.strerror}") from None
    except ValueError as error:
        raise click.UsageError(f"config: {show(path)} is not TOML: {error}") from None
    root = ctx.find_root()
    defaults = _of_commands(root.command, tables, ctx, "")
    for name in ctx.command_path.split(" ")[len(root.command_path.split(" ")) :]:
        defaults = defaults.get(name, {})
    ctx.default_map = defaults


def _of_commands(group: click.Command, tables: Mapping[str, Any], ctx: click.Context, path: str) -> dict[str, Any]:
    """Return the tables of a group's commands as their defaults; a nested group is a table of tables."""
    defaults = {}
    for name, table in tables.items():
        command = group.get_command(ctx, name) if isinstance(group, click.Group) else None
        if command is None:
            where = f"{path}{name}"
            raise click.UsageError(f"config: unknown table or key {where!r}; tables have the names of commands")
        if isinstance(command, click.Group) and isinstance(table, Mapping):
            defaults[name] = _of_commands(command, table, ctx, f"{path}{name}.")
        else:
            defaults[name] = _fitting(command, table, f"{path}{name}")
    return defaults


config = click.option(
    "--config",
    type=Reads(),
    is_eager=True,
    expose_value=False,
    callback=_read_config,
    metavar="TOML",
    help="Read settings from this file, which has a table for each command.",
)


def command(name: str, *, group: str = "", **attributes: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Return click's command decorator with tokkit's settings and `--config`; `group` is the command's group."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        cls: type[click.Command] = attributes.pop("cls", Command)
        made = click.command(name, cls=cls, context_settings=SETTINGS, **attributes)(config(function))
        for parameter in made.params:
            if isinstance(parameter, click.Option):
                # The names that click would derive, and those of aliases, which it would not.
                whole = f"{group}_{name}".lstrip("_").replace("-", "_")
                parameter.envvar = [f"TOKKIT_{whole}_{key}".upper() for key in names(parameter)]
        return made

    return decorate


def tokenizer(function: Decorated) -> Decorated:
    """Add TOKENIZER and --pattern, the split pattern that .tiktoken files and some .gguf files do not contain."""
    function = pattern_of_file(function)
    return click.argument("tokenizer", type=MODEL)(function)


def not_empty(_: click.Context, __: click.Parameter, pattern: str | None) -> str | None:
    """Refuse the pattern "", which usually comes from a shell variable that is not set."""
    if pattern == "":
        raise click.BadParameter("it is empty; write none for no split")
    return pattern


def sizes(_: click.Context, __: click.Parameter, values: Sequence[str]) -> tuple[int, ...]:
    """Return the sizes of all values (numbers, or lists separated by commas), without repeats."""
    try:
        return tuple(dict.fromkeys(int(size) for value in values for size in value.split(",")))
    except ValueError:
        raise click.BadParameter(f"{','.join(values)!r}: write numbers of tokens, separated by commas") from None


def _or_stdin(ctx: click.Context, parameter: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Record standard input as an input if no file is named."""
    if not paths:
        FILE.convert("-", parameter, ctx)
    return paths


PATTERNS = f"{', '.join(patterns.NAMES)}, none, or a regular expression"
pattern_of_file = click.option(
    "--pattern",
    callback=not_empty,
    metavar="NAME|REGEX",
    help=f"Split pattern, for a .gguf file or an unpublished .tiktoken file: {PATTERNS}.",
)
files = click.argument("files", nargs=-1, type=FILE, metavar="[FILE]...", callback=_or_stdin)
_lora_rank = click.option(
    "--lora",
    type=click.IntRange(min=1),
    metavar="RANK",
    help="Train LoRA adapters of this rank, and leave the model's weights unchanged.",
)
_lora_targets = click.option(
    "--lora-targets",
    default="q,v",
    metavar="LIST",
    help="With --lora: the matrices to adapt, from q, k, v, o, gate, up, down.",
)


_dropout = click.option(
    "--dropout",
    type=click.FloatRange(min=0, max=1, max_open=True),
    default=0.0,
    help="Dropout probability of activations.",
)
_attention_dropout = click.option(
    "--attention-dropout", type=click.FloatRange(min=0, max=1, max_open=True), metavar="P",
    show_default="from config.json, if --dropout is above 0",
    help="Dropout probability of attention weights.",
)  # fmt: skip


def dropout(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --dropout and --attention-dropout."""
    return _dropout(_attention_dropout(command))


training_precision = click.option(
    "--precision", type=click.Choice(["fp32", "bf16"]), default="fp32",
    help="The dtype of matrix products: float32, or bfloat16 (the weights stay float32).",
)  # fmt: skip


def lora(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --lora and --lora-targets."""
    return _lora_rank(_lora_targets(command))


as_json = click.option("--json", is_flag=True, help="Print the result as one JSON object.")
force = click.option("--force", is_flag=True, help="Overwrite existing files.")
threads = click.option(
    "--threads", type=click.IntRange(min=1), show_default="the CPUs this process may use", help="Number of threads."
)
progress = click.option(
    "--progress",
    type=click.Choice(["auto", "bar", "json", "none"]),
    default="auto",
    help="Progress on stderr: a bar if it is a terminal (auto), always a bar, JSON lines, or none.",
)
special = click.option(
    "--special",
    type=click.Choice(["text", "raise", "all"]),
    default="text",
    help="If the input contains the text of a special token: encode it as ordinary text, stop with an error, or make "
    "it the token.",
)
special_in_training = click.option(
    "--special",
    type=click.Choice(["boundary", "text"]),
    show_default="boundary",
    help="bbpe, bpe, wordpiece, word, char, hybrid: if the text contains the text of a special token: cut it there and "
    "learn nothing of the token, or learn it as ordinary text. SentencePiece's models always cut.",
)
field = click.option(
    "--field",
    default="text",
    help="Name of the field or column with the text, in .jsonl files and tables; doc.text is the field text in the "
    "field doc, unless a field is named doc.text itself.",
)
input_errors = click.option(
    "--input-errors",
    type=click.Choice(["strict", "replace", "ignore"]),
    default="strict",
    help="For invalid UTF-8 in the input: stop with an error, replace it with U+FFFD, or leave it out.",
)
