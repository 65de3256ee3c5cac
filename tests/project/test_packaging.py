"""Checks the files that build, test and publish the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import tokkit

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="the workflows are in a checkout only")


def test_every_action_is_pinned_to_a_commit_and_says_which_version_that_is() -> None:
    used = []
    for path in WORKFLOWS:
        for line in path.read_text(encoding="utf-8").splitlines():
            if (found := re.search(r"\buses:\s*(\S+)(.*)", line)) and not found[1].startswith("./"):
                used.append(found[1])
                assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", found[1]), line
                assert re.search(r"# \S+", found[2]), line
    assert {name.split("@")[0] for name in used} >= {"actions/checkout", "pypa/gh-action-pypi-publish"}
    assert len({name.split("@")[0] for name in used}) == len(set(used)), "one commit for each action"


def test_workflows_may_read_and_only_the_publishing_one_gets_an_identity() -> None:
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert re.search(r"^permissions:\n  contents: read$", text, re.M), path.name
        assert "secrets." not in text, path.name
        assert text.count("id-token: write") == (path.name == "release.yml")
        assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_wheels_are_built_for_every_python_and_system() -> None:
    wheels = PROJECT["tool"]["cibuildwheel"]
    assert {name.removesuffix("-*") for name in wheels["build"]} == {
        *(f"cp3{minor}" for minor in (11, 12, 13, 14, 15)),
        *("cp314t", "cp315t"),
    }
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    systems = set(re.findall(r"only: ([\w-]+)", text))
    assert systems == {"linux-x86_64", "linux-aarch64", "macos-arm64", "macos-x86_64", "windows-amd64"}


def test_what_workflows_and_wheels_test_is_there() -> None:
    texts = [path.read_text(encoding="utf-8") for path in [*WORKFLOWS, *(ROOT / ".ci").iterdir()]]
    texts += PROJECT["tool"]["cibuildwheel"]["test-command"]
    named = {name for text in texts for name in re.findall(r"(?<![\w./-])(?:tests|data|benchmarks)/[\w/.-]*\w", text)}
    assert len(named) > 10
    for name in named:
        assert (ROOT / name).exists(), name


def test_the_version_stands_in_one_place() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:(?:a|b|rc|\.dev)\d+)?", tokkit.__version__)
    assert "version" in PROJECT["project"]["dynamic"]
    holders = [
        path
        for path in [*ROOT.glob("*.py"), *ROOT.glob("*.toml"), *(ROOT / "tokkit").rglob("*.py")]
        if re.search(rf"""(?<![\d.=><~"]){re.escape(tokkit.__version__)}(?![\d.])""", path.read_text(encoding="utf-8"))
    ]
    assert holders in ([], [ROOT / "tokkit" / "version.py"])
    assert f'__version__ = "{tokkit.__version__}"' in (ROOT / "tokkit" / "version.py").read_text(encoding="utf-8")


def test_extras_name_what_the_code_asks_for() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    for path in (ROOT / "tokkit").rglob("*.py"):
        for name in re.findall(r"pip install '?(?:pytokkit|\.)\[(\w+)\]", path.read_text(encoding="utf-8")):
            assert name in extras, f"{path}: {name}"


@pytest.mark.skipif(not os.environ.get("TOKKIT_LONG", "").strip("0"), reason="TOKKIT_LONG: half a minute a compiler")
@pytest.mark.parametrize("compiler", ["gcc", "clang", "aarch64-linux-gnu-gcc", "x86_64-w64-mingw32-gcc"])
def test_the_c_sources_have_no_warnings(compiler: str) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    done = subprocess.run(
        [str(ROOT / ".ci" / "warnings")], env={**os.environ, "CC": compiler}, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr[-4000:]


def test_info_tells_how_the_core_was_built(tmp_path: Path) -> None:
    from tokkit._core import text

    facts = text.build_facts()
    assert re.match(r"(gcc|clang|MSVC) \d", facts["compiler"])
    assert "-std=c11" in facts["flags"] or "/std:c11" in facts["flags"]
    assert re.match(r"3\.\d+", facts["cython"])
