"""Cython and C sources in, extension modules out. Metadata stands in pyproject.toml."""

import os
import sys

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

DEBUG = os.environ.get("TOKKIT_DEBUG", "") not in ("", "0")
SANITIZE = os.environ.get("TOKKIT_SANITIZE", "")  # as in -fsanitize=: "address,undefined"
MSVC = sys.platform == "win32"
C = "tokkit/_core/csrc/"

# Extension → the C files that it links.
UTF_8 = ["isa.c", "utf8.c", "utf8_avx2.c", "utf8_avx512.c"]  # it has no NEON of its own
TEXT = ["dfa.c", *UTF_8, "scan.c", "scan_avx2.c", "scan_avx512.c", "scan_neon.c"]
BPE = ["model.c", "merge.c", "backtrack.c", "cuts.c", "keys_avx512.c", "encode.c"]
MODELS = ["cuts", "bpe", "unigram", "wordpiece", "wordlevel"]
SOURCES = {
    "text": TEXT,
    "pattern": ["dfa.c"],
    "bpe": [*TEXT, "special.c", "word_cache.c", *("bpe_" + file for file in BPE)],
    "stages": ["dfa.c"],
    "id_blocks": [],
    "spans": [],
    "batch": [*TEXT, "special.c", "split_points.c"],
    "blocks": [*TEXT, "special.c", "split_points.c"],
    "special": ["special.c"],
    "aligned": ["aligned.c"],
    "added": [*TEXT, "aligned.c", "char_kinds.c", *(f"added{part}.c" for part in ("", "_trie", "_avx2", "_avx512"))],
    "pretokenize": [*TEXT, "aligned.c", "char_kinds.c", "pretokenize.c", "pretokenize_rewrite.c"],
    "normalize": ["aligned.c", *(f"normalize_{part}.c" for part in ("forms", "characters", "pieces"))],
    "token_tables": ["token_index.c", "merge_list.c"],
    "json_tables": ["json_tables.c", *UTF_8],
    "models": [
        *("token_trie.c", "token_index.c", "unit_cache.c", "merge_list.c", "model.c"),
        *(f"model_{part}.c" for part in MODELS),
    ],
    "bert": [
        *(*TEXT, "special.c", "aligned.c", "char_kinds.c", "normalize_forms.c", "normalize_characters.c"),
        *("unit_cache.c", "model.c", "model_cuts.c"),
    ],
    "charsmap": ["aligned.c", "charsmap.c", "graphemes.c", "normalize_precompiled.c"],
    "detokenize": [],
    "rank_file": [],
    "bpe_train": [*TEXT, "word_counts.c", "word_cells.c", "bpe_train.c"],
    "spelling": [],
    "wordpiece_train": ["word_cells.c", "wordpiece_train.c"],
    "classic_train": [],
    "build": [],
}
SOURCES["bert"] += ["token_trie.c", *(f"bert_{part}.c" for part in ("rules", "encode", "scalar", "avx2", "avx512"))]

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
    "freethreading_compatible": True,
}


def flags() -> tuple[list[str], list[str]]:
    """Return (compile, link) flags of this build."""
    if MSVC:
        return ["/O2", "/std:c11"], []
    compile_ = ["-std=c11", "-O0" if DEBUG else "-O3", "-fno-strict-aliasing", "-fvisibility=hidden"]
    compile_ += ["-g", "-UNDEBUG"] if DEBUG else ["-g0"]
    link = []
    if SANITIZE:
        compile_ += [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-g"]
        link += [f"-fsanitize={SANITIZE}"]
    return compile_, link


def extensions() -> list[Extension]:
    """Return one extension for each .pyx of the core."""
    compile_, link = flags()
    shared = Extension("tokkit._core._cyutility", ["tokkit/_core/_cyutility.c"], extra_compile_args=compile_)
    return [shared] + [
        Extension(
            f"tokkit._core.{name}",
            [f"tokkit/_core/{name}.pyx", *(C + source for source in sources)],
            include_dirs=[C],
            depends=[C + header for header in sorted(os.listdir(C)) if header.endswith(".h")],
            extra_compile_args=compile_,
            extra_link_args=link,
            define_macros=[("TK_FLAGS", " ".join(compile_))] if name == "build" else [],
        )
        for name, sources in SOURCES.items()
        if os.path.exists(f"tokkit/_core/{name}.pyx")
    ]


class _BuildExt(build_ext):
    def build_extensions(self) -> None:
        if MSVC:  # which has neither C11's atomics nor target attributes
            self.compiler.initialize()
            self.compiler.cc = "clang-cl"
        super().build_extensions()


if __name__ == "__main__":
    setup(
        cmdclass={"build_ext": _BuildExt},
        # The bundled corpus lies in data/ and is installed as a package of its own, so that `tokkit train` finds it.
        packages=[*find_packages(include=["tokkit*"]), "tokkit.bundled"],
        package_dir={"tokkit.bundled": "data/corpus"},
        package_data={"tokkit": ["py.typed", "*.pyi"], "tokkit._core": ["*.pyi", "*.pxd"], "tokkit.bundled": ["*.txt"]},
        include_package_data=False,  # C sources are for the sdist (MANIFEST.in), not for wheels
        ext_modules=cythonize(
            extensions(),
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name="tokkit._core._cyutility",
            nthreads=0,
        ),
    )
