"""Builds the compiled core from Cython and C. Metadata is in pyproject.toml.

One shared object holds all compiled modules: the C is in it once, calls into it are direct on every system, and an
import opens one file instead of six. tokkit/_core/__init__.py finds the modules in it, by their PyInit functions.
"""

import gc
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from Cython import __version__ as CYTHON
from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

DEBUG = os.environ.get("TOKKIT_DEBUG", "") not in ("", "0")
SANITIZE = os.environ.get("TOKKIT_SANITIZE", "")  # as in -fsanitize=: "address,undefined", "thread"
MSVC = sys.platform == "win32"
CORE, C = "tokkit/_core/", "tokkit/_core/csrc/"
MADE = "build/cython"  # for generated C
SHARED = "tokkit._core._shared"  # Cython's module of shared utilities gives the shared object its name
# Modules with loops, or of short calls. The others only check and convert: -O3 would take 15 s more for nothing.
HOT = "batch blocks calls columns decode documents files id_blocks lists plan rank_file spans text token_tables"
HOT += " pieces sp_engine sp_lattice word_counts writing"
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
    "freethreading_compatible": True,
}


def flags(optimize: str = "-O1" if DEBUG else "-O3") -> tuple[list[str], list[str]]:
    """Return (compile, link) flags; a debug build optimizes C a little, or its tests would take too long."""
    if MSVC:
        return ["/O2", "/std:c11"], []
    compile_ = ["-std=c11", optimize, "-fno-strict-aliasing", "-fvisibility=hidden"]
    compile_ += ["-g", "-UNDEBUG"] if DEBUG else ["-g0"]
    compile_ += ["-DTK_CHECKS"] if DEBUG or SANITIZE else []  # for TK_ASSERT (base.h)
    link = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
    return compile_ + ([*link, "-fno-omit-frame-pointer", "-g"] if SANITIZE else []), link


def files(folder: str, *endings: str) -> list[str]:
    """Return the paths of the files under a folder that end so."""
    return sorted(path.as_posix() for path in Path(folder).rglob("*") if path.name.endswith(endings))


def stamp() -> str:
    """Return a file that is as old as the last change of the flags: what is older is built anew."""
    path = Path("build/flags")
    text = repr((flags(), HOT, DIRECTIVES, CYTHON, [os.environ.get(name) for name in ("CC", "CFLAGS", "LDFLAGS")]))
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return str(path)


def extension() -> Extension:
    """Return the one of all modules: those of the .pyx, Cython's of shared utilities, and the C that they call."""
    made = [f"{MADE}/{source.removesuffix('.pyx')}.c" for source in [*files(CORE, ".pyx"), f"{CORE}_shared"]]
    gc.set_threshold(100_000)  # Cython makes many objects that live: looking for dead ones takes a fifth of its time
    cythonize(
        [f"{CORE}**/*.pyx", Extension(SHARED, [f"{CORE}_shared.c"])],
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=SHARED,
        build_dir=MADE,
        force=any(newer_group([stamp()], path) for path in made),
        nthreads=os.cpu_count() or 1,
    )
    sources, depends = made + files(C, ".c"), [*files(C, ".h", ".def"), stamp()]
    macros = [("TK_FLAGS", " ".join(flags()[0]))]
    return Extension(
        SHARED, sources, include_dirs=[C], define_macros=macros, extra_link_args=flags()[1], depends=depends
    )


class _BuildExt(build_ext):
    def build_extensions(self) -> None:
        if MSVC:  # which has neither C11's atomics nor target attributes
            self.compiler.initialize()
            self.compiler.cc = "clang-cl"
        self.compile_one, self.compiler.compile = self.compiler.compile, self.compile_outdated
        super().build_extensions()

    def compile_outdated(self, sources: list[str], depends: list[str], **options: object) -> list[str]:
        """Compile, side by side, the files whose objects are older than they, a header or the flags."""
        made = dict(zip(sources, self.compiler.object_filenames(sources, output_dir=self.build_temp), strict=True))
        jobs = []
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for source in sorted(sources, key=os.path.getsize, reverse=True):
                if newer_group([source, *depends], made[source]):
                    level = "-O0" if DEBUG else "-O3" if Path(source).stem in HOT.split() else "-O1"
                    options["extra_postargs"] = (flags(level) if source.startswith(MADE) else flags())[0]
                    jobs.append(pool.submit(self.compile_one, [source], **options))
        for job in jobs:
            job.result()
        return list(made.values())  # by path: linked by size, code is further apart, a short call 4 % slower


if __name__ == "__main__":
    setup(
        cmdclass={"build_ext": _BuildExt},
        # The bundled corpus lies in data/ and is installed as a package of its own, so that `tokkit train` finds it.
        packages=[*find_packages(include=["tokkit*"]), "tokkit.bundled"],
        package_dir={"tokkit.bundled": "data/corpus"},
        package_data={
            "": ["*.pyi", "*.pxd"],
            "tokkit": ["py.typed", "normalizers/charsmaps/*.z", "view/pages/*"],
            "tokkit.bundled": ["*.txt"],
        },
        include_package_data=False,  # C sources are for the sdist (MANIFEST.in), not for wheels
        ext_modules=[extension()],
    )
