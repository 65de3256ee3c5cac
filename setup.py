"""Builds the extension modules from Cython and C. Metadata is in pyproject.toml."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.build_clib import build_clib
from setuptools.command.build_ext import build_ext

DEBUG = os.environ.get("TOKKIT_DEBUG", "") not in ("", "0")
SANITIZE = os.environ.get("TOKKIT_SANITIZE", "")  # as in -fsanitize=: "address,undefined", "thread"
MSVC = sys.platform == "win32"
C = "tokkit/_core/csrc/"
HOT = ("decode", "train")  # their loops are in .pxi; those of others in csrc, and -O3 of the rest takes 8 s for nothing

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
    link = []
    if SANITIZE:
        compile_ += [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-g"]
        link += [f"-fsanitize={SANITIZE}"]
    return compile_, link


def headers(folder: str, *endings: str) -> list[str]:
    """Return what is compiled anew once it changes."""
    found = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]
    return sorted(name.replace(os.sep, "/") for name in found if name.endswith(endings))


def library() -> tuple[str, dict[str, object]]:
    """Return all C of the core, compiled once: each extension links what it calls, a copy of its own."""
    sources = headers(C, ".c")
    depends = {"": headers(C, ".h", ".def")}
    return "tokkit_core", {"sources": sources, "include_dirs": [C], "cflags": flags()[0], "obj_deps": depends}


def extensions() -> list[Extension]:
    """Return one extension for each .pyx of the core; its parts are the .pxi of the folder of its name."""
    shared = Extension("tokkit._core._cyutility", ["tokkit/_core/_cyutility.c"], extra_compile_args=flags("-O2")[0])
    names = [file[:-4] for file in sorted(os.listdir("tokkit/_core")) if file.endswith(".pyx")]
    return [shared] + [
        Extension(
            f"tokkit._core.{name}",
            [f"tokkit/_core/{name}.pyx"],
            include_dirs=[C],
            depends=headers(C, ".c", ".h", ".def"),
            extra_compile_args=flags("-O0" if DEBUG else "-O3" if name in HOT else "-O2")[0],
            extra_link_args=flags()[1],
            define_macros=[("TK_FLAGS", " ".join(flags()[0]))] if name == "text" else [],
        )
        for name in names
    ]


class _BuildClib(build_clib):
    """Compiles the files of the core side by side."""

    def build_libraries(self, libraries: list[tuple[str, dict[str, object]]]) -> None:
        compile_ = self.compiler.compile

        def each(sources: list[str], **options: object) -> None:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(lambda source: compile_([source], **options), sources))

        self.compiler.compile = each
        super().build_libraries(libraries)


class _BuildExt(build_ext):
    def run(self) -> None:
        self.run_command("build_clib")
        super().run()

    def build_extensions(self) -> None:
        self.parallel = self.parallel or os.cpu_count()
        if MSVC:  # which has neither C11's atomics nor target attributes
            self.compiler.initialize()
            self.compiler.cc = "clang-cl"
        super().build_extensions()


if __name__ == "__main__":
    setup(
        cmdclass={"build_clib": _BuildClib, "build_ext": _BuildExt},
        # The bundled corpus lies in data/ and is installed as a package of its own, so that `tokkit train` finds it.
        packages=[*find_packages(include=["tokkit*"]), "tokkit.bundled"],
        package_dir={"tokkit.bundled": "data/corpus"},
        package_data={
            "tokkit": ["py.typed", "*.pyi", "normalizers/charsmaps/*.z", "view/pages/*"],
            "tokkit._core": ["*.pyi", "*.pxd"],
            "tokkit.bundled": ["*.txt"],
        },
        include_package_data=False,  # C sources are for the sdist (MANIFEST.in), not for wheels
        libraries=[library()],
        ext_modules=cythonize(
            extensions(),
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name="tokkit._core._cyutility",
            nthreads=os.cpu_count() or 1,
        ),
    )
