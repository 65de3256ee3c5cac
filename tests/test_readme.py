"""README.md and docs/ in, a failure for each command, option, link or example in them that is not true out."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

import model_folders

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
SHELL = ("sh", "bash", "console", "shell")
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
DOCUMENTS = (*PAGES, "CONTRIBUTING.md", "CHANGELOG.md", "data/README.md")


@pytest.fixture(scope="module")
def readme() -> str:
    return README.read_text(encoding="utf-8")


def blocks(text: str, *languages: str) -> list[str]:
    """The fenced blocks of some languages."""
    return [
        body for language, body in re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", text, re.S | re.M) if language in languages
    ]


def commands(text: str) -> list[list[str]]:
    """Every call of tokkit in the shell blocks, as words: without prompts, comments, pipes and redirections."""
    found = []
    for block in blocks(text, *SHELL):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            call: list[str] = []
            for word in [*words, "|"]:
                if word in ("|", "&&", "||", ";", ">", "<", ">>"):
                    found.append(call)
                    call = []
                else:
                    call.append(word)
    return [call for call in found if call[:1] == ["tokkit"] or call[:3] == ["python", "-m", "tokkit"]]


def test_the_first_two_commands_are_there(readme: str) -> None:
    shell = "\n".join(blocks(readme, *SHELL))
    assert re.search(r"pip install \.\s*&&\s*tokkit train|pip install \.\n(?:\$ )?tokkit train", shell)
    assert "pip install '.[test]' && pytest" in shell


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_option_of_a_page_exists(page: str) -> None:
    import click

    from tokkit.cli import main as cli

    def options(command: click.Command) -> set[str]:
        return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}

    context = click.Context(cli)
    text = (ROOT / page).read_text(encoding="utf-8")
    calls = [call[3:] if call[0] == "python" else call[1:] for call in commands(text)]
    assert calls or page != "README.md"
    for call in calls:
        if not call or call[0].startswith("-") or call[0].isupper():
            continue
        command = cli.get_command(context, call[0])
        assert command, f"tokkit {call[0]}: no such command"
        while isinstance(command, click.Group):
            call = call[1:]
            command = command.get_command(context, call[0])
            assert command, f"no such command: {' '.join(call)}"
        known = options(command) | options(cli) | {"--help"}
        for word in call[1:]:
            if word.startswith("-") and word not in ("-", "--"):
                assert word.split("=")[0] in known, f"tokkit {' '.join(call)}: no option {word}"


@pytest.mark.parametrize("page", PAGES)
def test_every_python_example_of_a_page_runs(
    page: str, bundled: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the examples take for granted: a user's file, a published vocabulary, a text and some texts.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text(bundled, encoding="utf-8")
    shutil.copy(shared / "vocabs" / "cl100k_base.tiktoken", tmp_path)
    shutil.copytree(shared / "vocabs" / "bert-base-uncased", tmp_path / "bert-base-uncased")
    shutil.copy(shared / "vocabs" / "t5" / "spiece.model", tmp_path)
    pytest.importorskip("jinja2")
    model_folders.write(tmp_path / "minilm")
    (tmp_path / "model").mkdir()
    template = "{% for m in messages %}[CLS]{{ m.content }}[SEP]{% endfor %}"
    (tmp_path / "model" / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    names: dict[str, object] = {"text": bundled, "texts": bundled.splitlines()}
    examples = blocks((ROOT / page).read_text(encoding="utf-8"), "python", "pycon", "py")
    assert examples or page != "README.md"
    for example in examples:
        if ">>>" in example:
            test = doctest.DocTestParser().get_doctest(example, names, "README.md", "README.md", 0)
            result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, clear_globs=False)
            assert not result.failed
            names = test.globs
        else:
            exec(compile(example, "README.md", "exec"), names)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_to_a_file_leads_to_one(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target and not target.startswith("mailto:"):
            assert ((ROOT / name).parent / target).exists(), f"{name}: {target}"


def test_the_documents_that_a_project_needs_are_there() -> None:
    for name in (*DOCUMENTS, "LICENSE", "pyproject.toml", ".ci/run"):
        assert (ROOT / name).is_file(), name
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    assert "MIT" in (ROOT / "LICENSE").read_text(encoding="utf-8")
