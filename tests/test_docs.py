"""README.md and docs/ are right: every block runs in a fresh folder; every command, option and link exists."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import doc_pages
import generators
import model_folders
import tokkit
import warm_tokkit
from conftest import LONG, SHARED
from doc_pages import ROOT, RUN, SHOWN, commands, read

PAGES = ["README.md", *sorted(str(path.relative_to(ROOT).as_posix()) for path in (ROOT / "docs").rglob("*.md"))]
DOCUMENTS = (*PAGES, "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "data/README.md")
OWN_MARKS = ("the help of every command", "the table of tokenizer classes")
"""Comments that the site fills in."""


def corpus(folder: Path, shared: Path) -> None:
    texts = [ROOT / "data" / "corpus" / f"{name}.txt" for name in ("english", "german", "code")]
    (folder / "corpus.txt").write_text("\n".join(path.read_text(encoding="utf-8") for path in texts), encoding="utf-8")


def model(folder: Path, shared: Path) -> None:
    model_folders.write(folder / "minilm")


def pairs(folder: Path, shared: Path) -> None:
    shutil.copy(ROOT / "data" / "pairs" / "stock-codes.jsonl", folder)


def classifiers(folder: Path, shared: Path) -> None:
    model_folders.classifier(folder / "reranker", ["score"])
    model_folders.classifier(folder / "sentiment", ["negative", "positive"])
    model_folders.classifier(folder / "tagger", ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"], tokens=True)


def generator(folder: Path, shared: Path) -> None:
    generators.folder(folder / "generator")


def embedder(folder: Path, shared: Path) -> None:
    generators.embedder(folder / "qwen3-embedding-0.6b")


def translator(folder: Path, shared: Path) -> None:
    generators.seq2seq_folder(folder / "translator")


def vocabulary(name: str) -> Callable[[Path, Path], None]:
    def copy(folder: Path, shared: Path) -> None:
        found = shared / "vocabs" / name
        if not found.exists():
            pytest.skip(f"needs {name}, not found at {found}: set TOKKIT_SHARED_DATA to the folder of shared data")
        if found.is_dir():
            shutil.copytree(found, folder / found.name, dirs_exist_ok=True)
        else:
            shutil.copy(found, folder)

    return copy


FILES: dict[str, Callable[[Path, Path], None]] = {
    "corpus.txt": corpus,
    "minilm": model,
    "stock-codes.jsonl": pairs,
    "classifiers": classifiers,
    "generator": generator,
    "translator": translator,
    "qwen3-embedding-0.6b": embedder,
    "cl100k_base.tiktoken": vocabulary("cl100k_base.tiktoken"),
    "o200k_base.tiktoken": vocabulary("o200k_base.tiktoken"),
    "bert-base-uncased": vocabulary("bert-base-uncased"),
    "gpt2": vocabulary("gpt2"),
    "spiece.model": vocabulary("t5/spiece.model"),
}
"""What a page may say that it needs: files that lie in the reader's folder. Other names are packages."""
MODULES = {"scikit_learn": "sklearn"}
"""Modules of packages with another name."""


@pytest.fixture(scope="module")
def path_of_commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A folder with `tokkit` and `python`, which run the tokkit under test."""
    folder = tmp_path_factory.mktemp("bin")
    for name, arguments in (("tokkit", "-m tokkit"), ("python", "")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        script.chmod(0o755)
    if LONG or not hasattr(os, "fork"):
        yield str(folder)
        return
    with warm_tokkit.served(folder / "tokkit"):
        yield str(folder)


def supply(needs: tuple[str, ...], folder: Path, shared: Path) -> None:
    """Put what is needed into the folder; skip where there is no such package or data."""
    for need in needs:
        if need in FILES:
            FILES[need](folder, shared)
        elif importlib.util.find_spec(MODULES.get(need, need)) is None:
            pytest.skip(f"needs the package {need}: pip install {need}")


def with_blocks_to_run() -> list[str]:
    return [name for name in PAGES if any(block.language in RUN for block in read(name).blocks)]


@pytest.mark.parametrize("name", with_blocks_to_run())
def test_every_block_of_a_page_runs_in_a_fresh_folder(
    name: str, path_of_commands: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("bash") is None:
        pytest.skip("needs bash: install it")
    page, left_out = read(name), []
    home = tmp_path / "home"
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", path_of_commands, prepend=":")
    offline = {"HOME": home, "TOKKIT_CACHE_DIR": home, "TOKKIT_OFFLINE": 1, "HF_HUB_OFFLINE": 1, "COLUMNS": 80}
    for variable, value in offline.items():
        monkeypatch.setenv(variable, str(value))
    supply(page.needs, folder, SHARED)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in page.blocks:
        if block.language not in RUN or block.not_run:
            continue
        try:
            supply(block.needs, folder, SHARED)
        except pytest.skip.Exception as skipped:
            left_out.append(f"line {block.line}: {skipped}")
            continue
        if block.language in doc_pages.SHELL:
            doc_pages.run_shell(block, folder)
        else:
            doc_pages.run_python(block, name, names)
    if left_out:
        pytest.skip(f"all blocks of {name} ran but those of {'; '.join(left_out)}")


@pytest.mark.parametrize("name", PAGES)
def test_a_block_says_its_language_and_a_comment_why_one_is_not_run(name: str) -> None:
    page = read(name)
    for block in page.blocks:
        assert block.language in (*RUN, *SHOWN), f"{name}, line {block.line}: a block of {block.language!r}"
    for comment in page.comments:
        reason, needs = doc_pages.named(comment, "not run:"), doc_pages.needed([comment])
        known = [need for need in needs if need in FILES or need in extras()]
        assert comment in OWN_MARKS or len(reason.split()) > 1 or (needs and len(known) == len(needs)), comment
    before_blocks = [c for c in page.comments if c.startswith("not run:")]
    assert len(before_blocks) == sum(bool(block.not_run) for block in page.blocks), "a comment is before no block"


def extras() -> set[str]:
    """The modules of the packages that pyproject.toml has in its extras."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return {name.replace("-", "_") for name in re.findall(r'"([\w-]+)[>=";]', text)}


def test_the_first_two_commands_of_the_readme_are_there() -> None:
    shell = "\n".join(block.body for block in read("README.md").blocks if block.language in doc_pages.SHELL)
    assert re.search(r"pip install \.\s*&&\s*tokkit train", shell)
    assert "pip install '.[test]' && pytest" in shell


@pytest.mark.parametrize("name", PAGES)
def test_every_command_and_option_of_a_page_exists(name: str) -> None:
    import click

    from tokkit.cli import main as cli

    def options(command: click.Command) -> set[str]:
        return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}

    context = click.Context(cli)
    calls = [call[3:] if call[0] == "python" else call[1:] for call in commands(read(name))]
    assert calls or name != "README.md"
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


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_to_a_file_leads_to_one(name: str) -> None:
    # Anchors, and links out of docs/, are what `mkdocs build --strict` looks at.
    text = re.sub(r"^```.*?^```", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target and not target.startswith("mailto:"):
            assert ((ROOT / name).parent / target).exists(), f"{name}: {target}"


def test_the_documents_that_a_project_needs_are_there() -> None:
    for name in (*DOCUMENTS, "LICENSE", "pyproject.toml", ".ci/run"):
        assert (ROOT / name).is_file(), name
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    assert "MIT" in (ROOT / "LICENSE").read_text(encoding="utf-8")


# ---- the reference

COMPONENTS = {
    "normalizers": "base.Normalizer",
    "pretokenizers": "base.Pretokenizer",
    "models": "",
    "postprocessors": "layout.Postprocessor",
    "decoders": "base.Decoder",
}
"""Stage → the class that its components have above them; models have what all of them do, `encoder`."""


def documented() -> set[object]:
    """What the pages of the reference show: the objects that they name, and the public ones of modules they name."""
    pages = (ROOT / "docs" / "reference").glob("*.md")
    names = [name for page in pages for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.M)]
    assert len(set(names)) == len(names), "a name is on two pages"
    found: set[object] = set()
    for name in names:
        try:
            module = importlib.import_module(name)
        except ImportError:
            place, _, attribute = name.rpartition(".")
            found.add(identity(getattr(importlib.import_module(place), attribute)))
        else:
            found.update(identity(getattr(module, public)) for public in public_names(module))
    return found


def identity(value: object) -> object:
    """Return what an object is known by; constants are no objects of their own."""
    return value if inspect.isclass(value) or callable(value) else repr(value)


def public_names(module: ModuleType) -> list[str]:
    """The names in a module's `__all__`; where it has none, those of its own classes and functions."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return [name for name in own if not name.startswith("_") and callable(getattr(module, name))]


def packages() -> Iterator[str]:
    """Yield tokkit and its packages and modules that state what is public."""
    for info in pkgutil.walk_packages(tokkit.__path__, "tokkit."):
        if "._core" not in info.name and ".cli" not in info.name and not info.name.endswith(("__main__", "_pb2")):
            module = importlib.import_module(info.name)
            if hasattr(module, "__all__"):
                yield info.name


def test_every_public_name_is_on_a_page_of_the_reference() -> None:
    shown = documented()
    wanted = {"tokkit", "tokkit.limits", "tokkit.errors", *packages()}
    missing = [
        f"{name}.{public}"
        for name in sorted(wanted)
        for public in public_names(importlib.import_module(name))
        if public != "__version__" and identity(getattr(importlib.import_module(name), public)) not in shown
    ]
    assert not missing


@pytest.mark.parametrize("stage", COMPONENTS)
def test_every_component_of_a_stage_is_on_a_page_of_the_reference(stage: str) -> None:
    module, _, base = COMPONENTS[stage].rpartition(".")
    above = getattr(importlib.import_module(f"tokkit.{stage}.{module}"), base) if base else object
    shown = documented()
    for info in pkgutil.iter_modules(importlib.import_module(f"tokkit.{stage}").__path__, f"tokkit.{stage}."):
        for name, value in vars(importlib.import_module(info.name)).items():
            own = inspect.isclass(value) and value.__module__ == info.name and not name.startswith("_")
            if own and issubclass(value, above) and (base or hasattr(value, "encoder")):
                assert value in shown, f"{info.name}.{name}"
