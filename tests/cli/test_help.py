"""The help of each command has each option once, in groups, and examples that the command takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from tokkit.cli import main
from tokkit.cli.help import Command


def commands(group: click.Group = main, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))
        else:
            yield (*path, name), found


ALL = dict(commands())


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_each_option_is_shown_once_and_those_for_running_are_last(path: tuple[str, ...]) -> None:
    command = ALL[path]
    text = command.get_help(click.Context(command, info_name=" ".join(path), terminal_width=200))
    options = re.split(r"^(?:Options|Most used|Examples):\n", text, flags=re.MULTILINE)[1]
    rows = re.findall(r"^  (-.*?)(?:  |$)", options, re.MULTILINE)
    shown = [flag for row in rows for flag in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", row)]
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            assert shown.count(max(option.opts, key=len)) == 1, option.opts
    assert shown[-2:] in (["--config", "--help"], ["-h", "--help"])
    assert "--config" in shown[-3:]


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_the_examples_are_taken(path: tuple[str, ...]) -> None:
    command = ALL[path]
    assert isinstance(command, Command)
    assert command.examples, "each command has an example"
    for example in command.examples:
        words = shlex.split(next(part for part in example.split("|") if "tokkit" in part).split(">")[0])
        assert tuple(words[: len(path) + 1]) == ("tokkit", *path)
        command.make_context("tokkit", words[len(path) + 1 :], resilient_parsing=True)
        flags = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
        assert all(word in flags for word in words if word.startswith("-") and word != "--"), example


@pytest.mark.parametrize("path", [(), ("model",)], ids=["tokkit", "tokkit model"])
def test_a_group_without_a_command_shows_its_help(path: tuple[str, ...], run) -> None:
    out = run(*path)
    assert out.output.rstrip().splitlines() == run(*path, "--help").stdout.rstrip().splitlines()
