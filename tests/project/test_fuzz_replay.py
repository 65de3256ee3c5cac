"""Runs the seeds and regressions of tests/fuzz through their targets; those in C by any C compiler.

tests/fuzz/run.py looks for new inputs, and keeps those that a target falls over; .ci/fuzz runs it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import LONG
from fuzz import build

MAX_SEED = {False: 1024, True: 4096}
"""Bytes of a seed of a target in C, and of one in Python: files, of which some must have a token for each byte."""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if not build.CSRC.is_dir():
        pytest.skip(f"the C sources are not at {build.CSRC}")
    made = tmp_path_factory.mktemp("fuzz")
    compiler = build.replaying_compiler(made)
    if compiler is None:
        pytest.skip("no C compiler (CC, cc, gcc or clang) whose sanitizers link: the targets cannot be made")
    return build.build(compiler, made, build.TARGETS, fuzzer=False)


COMPILES = pytest.mark.skipif(not LONG, reason="compiles the core for a minute: TOKKIT_LONG=1, as in .ci/run")


@COMPILES
def test_every_target_takes_its_seeds_and_regressions(programs: dict[str, Path]) -> None:
    def replay(name: str) -> str:
        done = subprocess.run([programs[name], *build.inputs(name)], capture_output=True, text=True, errors="replace")
        return f"{name}: {done.stderr[-3000:]}" if done.returncode else ""

    with ThreadPoolExecutor(2) as pool:
        failed = [text for text in pool.map(replay, programs) if text]
    assert not failed, "\n".join(failed)


KERNELS = {"added": 2000, "cut_units": 4000, "engine": 60, "scan": 2000, "sp": 60, "utf8": 4000}
"""The targets that run each byte kernel of every instruction set against plain loops; so many made-up inputs."""


def run_kernels(command: Callable[[str], list[str | Path]], share: int) -> None:
    def give(name: str) -> str:
        inputs = [*build.inputs(name), f"-random={KERNELS[name] // share}"]
        done = subprocess.run([*command(name), *inputs], capture_output=True, text=True, errors="replace")
        return f"{name}: {done.stderr[-3000:]}" if done.returncode else ""

    with ThreadPoolExecutor(2) as pool:
        failed = [text for text in pool.map(give, KERNELS) if text]
    assert not failed, "\n".join(failed)


@COMPILES
def test_every_instruction_set_takes_random_inputs_alike(programs: dict[str, Path]) -> None:
    run_kernels(lambda name: [programs[name]], 4)


@COMPILES
def test_neon_takes_seeds_and_random_inputs_as_plain_c_does(tmp_path: Path) -> None:
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if compiler is None or emulator is None:
        pytest.skip("aarch64-linux-gnu-gcc and qemu-aarch64 are not both here: NEON cannot be run")
    if not build.CSRC.is_dir():
        pytest.skip(f"the C sources are not at {build.CSRC}")
    made = build.build(compiler, tmp_path, KERNELS, fuzzer=False, checks=["-static"])
    run_kernels(lambda name: [emulator, made[name]], 8)


@pytest.mark.parametrize("half", [0, 1])
def test_every_target_in_python_takes_its_seeds_and_regressions(half: int) -> None:
    # A process of its own, which bounds memory and the time of each input, and ends where one breaks the interpreter.
    names = build.PYTHON_TARGETS[half::2]
    command = [sys.executable, build.HERE / "python_fuzzer.py", *names, "--replay"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stderr[-6000:]


PLANTED = """
from mutate import of_bytes as CHANGE
from tokkit.files.strict_json import loads

def check(data):
    if data.startswith(b"[") and isinstance(loads(data), list):
        raise RuntimeError("a list")
"""


SIGN = """
def sign(n):
    if n < 0:
        return -1
    return 1
"""
COUNT = """
import sys, textwrap, edges, planted
counted = getattr(edges, sys.argv[1])(sys.argv[2])
def sign(n):
    return lambda: planted.sign(n)
def failing():
    try:
        planted.sign("no number")
    except TypeError:
        pass
runs = [sign(5), sign(6), sign(-5), sign(5), failing, failing, lambda: textwrap.dedent("not below the folder")]
print(*(counted.run(run) for run in runs))
"""


@pytest.mark.parametrize(("kind", "expected"), [("TracedEdges", "2 0 1 0 0 0 0"), ("MonitoredEdges", "3 0 2 0 1 0 0")])
def test_an_edge_is_counted_when_it_is_first_taken(kind: str, expected: str, tmp_path: Path) -> None:
    if kind == "MonitoredEdges" and sys.version_info < (3, 12):
        pytest.skip("sys.monitoring came with Python 3.12")
    (tmp_path / "planted.py").write_text(SIGN)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(build.HERE)])}
    command = [sys.executable, "-c", COUNT, kind, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == expected, done.stderr


REACHED = """
import sys, unreached, planted
reached = unreached.Reached(sys.argv[1])
for n in (5, -5):
    planted.sign(n)
    for code in reached.functions():
        print(code.co_name, reached.unreached(code), reached.one_way(code))
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with Python 3.12")
def test_lines_and_ways_of_branches_that_nothing_takes_are_listed(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(SIGN)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(build.HERE), *sys.path])}
    command = [sys.executable, "-c", REACHED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines() == ["sign [4] [(3, 5)]", "sign [] []"], done.stderr


def test_what_the_inputs_of_a_target_do_not_reach_is_printed() -> None:
    command = [sys.executable, build.HERE / "unreached.py", "html", "view/"]
    done = subprocess.run(command, capture_output=True, text=True)
    if sys.version_info < (3, 12):
        assert done.returncode == 2
        assert "Python 3.12 or later is needed" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    assert first.startswith("view/")
    assert any(line.startswith("  ") for line in others)


SWEPT = """
import contextlib, json, sweep, mutate_binary
from gguf_files import Typed, gguf

def made(change, data):
    found = set()
    for one in change(data, [b"word"]):
        with contextlib.suppress(*sweep.UNWRITABLE):
            found.add(one())
    return found

document = {"a": [5], "b": "x"}
found = made(sweep.of_json, json.dumps(document).encode())
for other in ({"b": "x"}, {"a": [], "b": "x"}, {"a": [5, 5], "b": "x"}, {"a": [6], "b": "x"}, {"a": None, "b": "x"},
              {"a": [5], "b": "word"}):
    assert json.dumps(other).encode() in found, other

folder = {"a.json": json.dumps(document), "b.txt": "x"}
found = made(sweep.of_folder, json.dumps(folder).encode())
for other in ({"b.txt": "x"}, {"a.json": '{"b": "x"}', "b.txt": "x"}):
    assert json.dumps(other).encode() in found, other

header = json.dumps(document).encode()
found = made(sweep.of_header, len(header).to_bytes(8, "little") + header + b"data")
assert (10).to_bytes(8, "little") + b'{"b": "x"}data' in found

inner = [[1, 0, 7]]
fields = [[1, 0, 300], [2, 2, mutate_binary.message(inner)]]
found = made(sweep.of_message, mutate_binary.message(fields))
for other in (fields[1:], [[1, 0, 301], fields[1]], [fields[0], [2, 2, mutate_binary.message([[1, 0, 8]])]]):
    assert mutate_binary.message(other) in found, other

keys = [("general.architecture", Typed(8, b"llama")), ("nested", Typed(9, [Typed(9, [1, 2], 4)], 9))]
data = gguf(keys)
assert mutate_binary.gguf_parts(data) == (keys, {})
found = made(sweep.of_gguf, data)
for other in (keys[1:], [("general.architecture", Typed(8, b"word")), keys[1]], [*keys, ("llama.word", Typed(4, 0))]):
    assert gguf(other) in found, other
"""


def test_a_sweep_makes_every_single_change_of_a_document() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(build.HERE), *sys.path])}
    done = subprocess.run([sys.executable, "-c", SWEPT], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


def test_a_sweep_runs_the_changes_of_a_target_whose_inputs_are_documents(tmp_path: Path) -> None:
    folders = [f"--kept={tmp_path / 'kept'}", f"--findings={tmp_path / 'found'}", "--seconds=1"]
    command = [sys.executable, build.HERE / "sweep.py"]
    done = subprocess.run([*command, "safetensors", *folders], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    changes = re.search(r"^(\d+) changes of", done.stderr, re.MULTILINE)
    assert changes
    assert int(changes[1]) > 1000
    assert not any((tmp_path / "found").iterdir())
    refused = subprocess.run([*command, "fasttext", *folders], capture_output=True, text=True)
    assert refused.returncode == 2
    assert refused.stdout.startswith("fasttext: the inputs of this target are not documents")


def test_a_failure_in_python_is_found_kept_once_and_counted(tmp_path: Path) -> None:
    (tmp_path / "target_planted.py").write_text(PLANTED)
    kept, found = tmp_path / "kept", tmp_path / "found"
    for folder in (kept, found):
        folder.mkdir()
    (kept / "seed").write_bytes(b" []")
    command = [sys.executable, build.HERE / "python_fuzzer.py", "planted", "--seconds=2"]
    command += [f"--kept={kept}", f"--findings={found}"]
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 1
    assert any(path.read_bytes().startswith(b"[") for path in found.iterdir())
    assert done.stderr.count("RuntimeError: a list") == 1
    covered = [int(line.rpartition("cov: ")[2].split()[0]) for line in done.stderr.splitlines() if "cov: " in line]
    assert covered[0] == 0 < covered[-1]


def test_a_target_ends_when_nothing_was_new_for_so_long(tmp_path: Path) -> None:
    command = [sys.executable, build.HERE / "run.py", "--target=html", "--seconds=300", "--until-quiet=1"]
    command += [f"--findings={tmp_path}", f"--figures={tmp_path / 'figures.json'}"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())["html"]
    assert figures["findings"] == 0
    assert figures["inputs"] > 0
    assert figures["edges"] > 10
    assert 1 <= figures["quiet"] <= figures["seconds"] < 300


def test_every_target_has_seeds_that_are_small() -> None:
    every = {*build.TARGETS, *build.PYTHON_TARGETS}
    assert {path.parent.name for path in build.HERE.glob("seeds/*/*")} == every
    assert {path.parent.name for path in build.HERE.glob("regressions/*/*")} <= every
    assert {path.stem for path in build.HERE.glob("dictionaries/*")} <= every
    sizes = {path: path.stat().st_size for path in build.HERE.glob("seeds/*/*")}
    assert not [path for path, n in sizes.items() if n > MAX_SEED[path.parent.name in build.PYTHON_TARGETS]]
