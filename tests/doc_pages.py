"""Reads a page of the documentation: its code blocks in order, and the files and packages that each needs."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHELL = ("sh", "bash", "console")
PYTHON = ("python", "pycon")
RUN = (*SHELL, *PYTHON)
SHOWN = ("text", "toml", "json", "c", "html", "mermaid")
"""Languages of blocks that run, and of those that are only shown."""
COMMENT = re.compile(r"<!--\s*(.*?)\s*-->")
OPENING = re.compile(r"( *)(`{3,})(\w*)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, its first line on the page, and the comments right before it."""

    language: str
    body: str
    line: int
    not_run: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A page: its blocks, what the comment in its first line says that they all need, and all its comments."""

    name: str
    text: str
    blocks: tuple[Block, ...]
    needs: tuple[str, ...]
    comments: tuple[str, ...]


def named(comment: str, mark: str) -> str:
    """Return what a comment says behind its mark, as "matplotlib" of "needs: matplotlib"; "" for another comment."""
    return comment.removeprefix(mark).strip() if comment.startswith(mark) else ""


def needed(comments: list[str]) -> tuple[str, ...]:
    """Return the names of all "needs:" comments."""
    return tuple(name for comment in comments for name in re.split(r"[,\s]+", named(comment, "needs:")) if name)


def read(name: str) -> Page:
    """Return the page of this path under the root."""
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks: list[Block] = []
    pending: list[str] = []
    comments: list[str] = []
    at_top: tuple[str, ...] = ()
    lines = iter(enumerate(text.split("\n"), 1))
    for number, line in lines:
        if opening := OPENING.fullmatch(line.split(" title=")[0].rstrip()):
            body: list[str] = []
            for _, inner in lines:
                if inner.strip() == opening[2]:
                    break
                body.append(inner)
            whole = textwrap.dedent("\n".join([*body, ""]))
            reason = next((said for comment in pending if (said := named(comment, "not run:"))), "")
            blocks.append(Block(opening[3], whole, number + 1, reason, needed(pending)))
            pending = []
        elif found := COMMENT.findall(line):
            comments += found
            pending += found
            at_top = needed(found) if number == 1 else at_top
        elif line.strip():
            pending = []
    return Page(name, text, tuple(blocks), at_top, tuple(comments))


def session(block: str) -> list[tuple[str, str]]:
    """Return the commands of a console block, each with the output that is shown under it."""
    steps: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], ""))
        elif line.startswith("> ") and steps and not steps[-1][1]:
            steps[-1] = (f"{steps[-1][0]}\n{line[2:]}", "")
        else:
            assert steps, "a console block begins with a command after '$ '"
            steps[-1] = (steps[-1][0], f"{steps[-1][1]}{line}\n")
    return steps


def commands(page: Page) -> list[list[str]]:
    """Return every call of tokkit in the shell blocks, as words: without prompts, pipes and redirections."""
    found = []
    for block in page.blocks:
        if block.language not in SHELL:
            continue
        shell = block.body
        if block.language == "console":
            shell = "\n".join(command for command, _ in session(block.body))
        for line in shell.replace("\\\n", " ").splitlines():
            call: list[str] = []
            for word in [*shlex.split(line, comments=True), "|"]:
                if word in ("|", "&&", "||", ";", ">", "<", ">>"):
                    found.append(call)
                    call = []
                else:
                    call.append(word)
    return [call for call in found if call[:1] == ["tokkit"] or call[:3] == ["python", "-m", "tokkit"]]


def comparable(output: str) -> str:
    """Return what a command prints without what differs from run to run: times, and spaces at the ends of lines."""
    lines = (re.sub(r"\d+\.\d\d s\b", "0.00 s", line).rstrip() for line in output.splitlines())
    return "".join(f"{line}\n" for line in lines)


def run_shell(block: Block, folder: Path) -> None:
    """Run a block by bash, which stops at the first command that fails, and compare the output that a console shows."""
    steps = session(block.body) if block.language == "console" else [(block.body, None)]
    for command, shown in steps:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
            env=os.environ, encoding="utf-8",
        )  # fmt: skip
        assert not done.returncode, f"line {block.line}: {command}\nexit code {done.returncode}\n{done.stdout}"
        if shown is not None:
            want, got = comparable(shown), comparable(done.stdout)
            same = doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS)
            assert same, f"line {block.line}: {command}\nprints\n{got}"


def run_python(block: Block, page: str, names: dict[str, object]) -> None:
    """Run a block in the names of its page; the values under the prompts of a session are compared."""
    if block.language == "python":
        exec(compile("\n" * (block.line - 1) + block.body, page, "exec", dont_inherit=True), names)
        return
    test = doctest.DocTestParser().get_doctest(block.body, names, page, page, block.line - 1)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(
        test, clear_globs=False
    )
    names |= test.globs
    assert not result.failed, f"{page}, line {block.line}: the output above says which example"
