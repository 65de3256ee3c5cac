"""Builds the fuzz targets in C: with libFuzzer if clang has it, else with a program that runs inputs from files."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
CSRC = HERE.parent.parent / "tokkit" / "_core" / "csrc"
TARGETS = sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.c"))
PYTHON_TARGETS = sorted(path.stem.removeprefix("target_") for path in HERE.glob("target_*.py"))
REPLAY = HERE / "replay_main.c"
LIMIT = HERE / "limit_main.c"
SECONDS_AN_INPUT = 20
"""The processor time that an input may take."""
CHECKS = "address,undefined"
SANITIZED = ["-g1", f"-fsanitize={CHECKS}", "-fno-sanitize-recover=undefined"]
FLAGS = ["-std=c11", "-O1", "-fno-strict-aliasing", "-DTK_CHECKS", f"-I{CSRC}", f"-I{HERE}"]
# Numbers, threads and training, which no target calls: they are half of what there is to compile.
NUMBERS = ("nn/", "thread_team")
TRAINING = tuple(f"train/{name}" for name in ("bpe_train", "sp_bpe_", "unigram_", "wordpiece_"))


class BuildError(Exception):
    """A compiler said no; the text is what it said."""


def run(command: Iterable[str | Path]) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise BuildError(done.stderr[-4000:])


def works(compiler: str, flags: Iterable[str], made: Path) -> bool:
    """Whether a program comes out, and runs: sanitizers may be known and yet have no library."""
    source = made / "probe.c"
    source.write_text("#include <stdint.h>\nint LLVMFuzzerTestOneInput(const uint8_t *p, unsigned long n);\n"
                      "int LLVMFuzzerTestOneInput(const uint8_t *p, unsigned long n) { return p && n > 9 ? 0 : 0; }\n"
                      "#ifndef FUZZER\nint main(void) { return 0; }\n#endif\n")  # fmt: skip
    try:
        run([compiler, *flags, source, "-o", made / "probe"])
        run([made / "probe", *(["-runs=1"] if "-DFUZZER" in flags else [])])
    except (BuildError, OSError):
        return False
    return True


def fuzzing_compiler(made: Path) -> str | None:
    """A clang that has libFuzzer and the sanitizers, by its name; None where there is none."""
    names = [os.environ.get("CLANG", "clang"), *(f"clang-{number}" for number in range(25, 10, -1))]
    found = (name for name in names if shutil.which(name))
    return next((name for name in found if works(name, ["-DFUZZER", f"-fsanitize=fuzzer,{CHECKS}"], made)), None)


def replaying_compiler(made: Path) -> str | None:
    """What CC names, or cc, gcc or clang, with the sanitizers; None where there is none."""
    names = [os.environ.get("CC", "cc"), "gcc", "clang"]
    found = (name for name in names if shutil.which(name))
    return next((name for name in found if works(name, [f"-fsanitize={CHECKS}"], made)), None)


def sources() -> list[Path]:
    found = (path for path in CSRC.rglob("*.c") if not path.relative_to(CSRC).as_posix().startswith(NUMBERS + TRAINING))
    return sorted(found, key=lambda path: -path.stat().st_size)


def build(
    compiler: str, made: Path, targets: Iterable[str], *, fuzzer: bool, checks: Iterable[str] = SANITIZED, jobs: int = 2
) -> dict[str, Path]:
    """Compile the core once and each target, and return the targets' programs; `checks` are flags of both steps."""
    made.mkdir(parents=True, exist_ok=True)
    # Without calls at comparisons, which are two thirds of the time, and seldom help where inputs are spelt by bytes.
    compiled = [*checks, *(["-fsanitize=fuzzer-no-link", "-fno-sanitize-coverage=trace-cmp"] if fuzzer else [])]
    linked = [*checks, *(["-fsanitize=fuzzer"] if fuzzer else [])]
    objects = {path: made / f"{path.relative_to(CSRC).as_posix().replace('/', '_')}.o" for path in sources()}
    programs = {name: made / f"fuzz_{name}" for name in targets}
    objects |= {HERE / f"fuzz_{name}.c": made / f"fuzz_{name}.o" for name in programs}
    main = LIMIT if fuzzer else REPLAY
    objects[main] = made / f"{main.stem}.o"
    if fuzzer:
        compiled += [f"-DSECONDS_AN_INPUT={SECONDS_AN_INPUT}"]

    def compile(source: Path) -> None:
        # libFuzzer's name of a target is that of the function with the limit, which calls the target by another name.
        renamed = ["-DLLVMFuzzerTestOneInput=fuzz_target"] if fuzzer and source != LIMIT else []
        run([compiler, *FLAGS, *compiled, *renamed, "-c", source, "-o", objects[source]])

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(compile, objects))
        library = made / "libcore.a"
        library.unlink(missing_ok=True)
        run(["ar", "rcs", library, *(made_of for path, made_of in objects.items() if CSRC in path.parents)])

        def link(name: str) -> None:
            parts = [objects[HERE / f"fuzz_{name}.c"], objects[main], library, "-lm"]
            run([compiler, *linked, *parts, "-o", programs[name]])

        list(pool.map(link, programs))
    return programs


def input_folders(name: str) -> tuple[Path, Path]:
    """Where the seeds and regressions of a target are."""
    return HERE / "seeds" / name, HERE / "regressions" / name


def inputs(name: str) -> list[Path]:
    """The seeds and regressions of a target."""
    return sorted(path for folder in input_folders(name) for path in folder.glob("*") if path.is_file())
