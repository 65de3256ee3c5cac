"""The seeds and regressions of tests/fuzz in, the fuzz targets' word for each out: built with any C compiler.

tests/fuzz/run.py looks for new inputs, and keeps those that a target falls over; .ci/fuzz runs it.
"""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fuzz import build

MOST_SEED = 1024


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if not build.CSRC.is_dir():
        pytest.skip(f"the C sources are not at {build.CSRC}")
    made = tmp_path_factory.mktemp("fuzz")
    compiler = build.replaying_compiler(made)
    if compiler is None:
        pytest.skip("no C compiler (CC, cc, gcc or clang) whose sanitizers link: the targets cannot be made")
    return build.build(compiler, made, build.TARGETS, fuzzer=False)


def test_every_target_takes_its_seeds_and_regressions(programs: dict[str, Path]) -> None:
    def replay(name: str) -> str:
        done = subprocess.run([programs[name], *build.inputs(name)], capture_output=True, text=True, errors="replace")
        return f"{name}: {done.stderr[-3000:]}" if done.returncode else ""

    with ThreadPoolExecutor(2) as pool:
        failed = [text for text in pool.map(replay, programs) if text]
    assert not failed, "\n".join(failed)


def test_every_target_has_seeds_that_are_small() -> None:
    assert all((build.HERE / "seeds" / name).is_dir() for name in build.TARGETS)
    assert {path.parent.name for path in build.HERE.glob("seeds/*/*")} == set(build.TARGETS)
    assert {path.parent.name for path in build.HERE.glob("regressions/*/*")} <= set(build.TARGETS)
    assert {path.stem for path in build.HERE.glob("*.dict")} <= set(build.TARGETS)
    assert not [path for path in build.HERE.glob("seeds/*/*") if path.stat().st_size > MOST_SEED]
