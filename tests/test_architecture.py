"""Imports run from higher levels to lower ones, and never in a circle."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tokkit"
PUBLIC = "(tokkit itself)"
TABLE = """
6 cli web __main__
5 search compat chunks conversion embeddings
5 pipeline
5 view distributed
4 tokenizer trainers registry loading
4 chat
4 grammars
3 engine formats corpus data
2 normalizers pretokenizers postprocessors decoders nn
1 definition encoding files models vocab unicode_regex
1 errors limits threads version lazy checks
1 interrupts pickled progress moved renamed escaping byte_symbols
0 _core
"""
LEVELS = {name: int(line[0]) for line in TABLE.split("\n") if line for name in line[2:].split()}
# `from tokkit import load` reaches everything: only the top may say it.
LEVELS[PUBLIC] = 5
# Level 2 is a shelf of parts that do not know one another; on the others, neighbours may.
APART = 2
# These import nothing of their own level, and one neighbour imports them: search → chunks.
ALONE = {"chunks": "search"}
STATEMENT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?c?import[ \t]+(\([^)]*\)|[^\n#]+)", re.MULTILINE)


def part(module: str) -> str | None:
    """The name on our map of a module's dotted name: tokkit.formats.gpt2 → formats; None for foreign modules."""
    names = module.split(".")
    if names[0] != "tokkit":
        return None
    return names[1] if len(names) > 1 else PUBLIC


def absolute(module: str | None, level: int, package: str) -> str:
    """A relative import's target: ("bpe", 1, "tokkit._core") → "tokkit._core.encode"."""
    if not level:
        return module or ""
    above = package.split(".")[: len(package.split(".")) - level + 1]
    return ".".join([*above, *([module] if module else [])])


def targets(module: str, names: list[str]) -> Iterator[str]:
    """`from tokkit import errors` is an import of tokkit.errors; `from tokkit.vocab import Vocab` of tokkit.vocab."""
    for name in names:
        yield f"{module}.{name}" if module == "tokkit" and name in LEVELS else module


def name_of(node: ast.expr) -> str:
    """The last part of a name with dots, "" of another expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@functools.cache
def parsed(source: str) -> ast.Module:
    """The tree of a source, which several tests look at."""
    return ast.parse(source)


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those in it, without what only type checkers read."""
    nodes = [node]
    while nodes:
        yield (node := nodes.pop())
        if not isinstance(node, ast.Name | ast.Constant | ast.alias | ast.arg):
            nodes += (
                child
                for child in ast.iter_child_nodes(node)
                if not (isinstance(child, ast.If) and name_of(child.test) == "TYPE_CHECKING")
            )


def imports_of_python(source: str, package: str) -> Iterator[str]:
    """Yield the modules that a .py or .pyi imports, within functions and by importlib too."""
    for node in executed(parsed(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from targets(absolute(node.module, node.level, package), [alias.name for alias in node.names])
        elif isinstance(node, ast.Call) and name_of(node.func) in ("import_module", "__import__"):
            yield from (arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant))


def imports_of_cython(source: str, package: str) -> Iterator[str]:
    """Yield the modules that a .pyx or .pxd imports or cimports."""
    for base, names in STATEMENT.findall(source):
        listed = [name.split()[0] for name in names.strip("() \t\n").replace("\n", " ").split(",") if name.strip()]
        if not base:
            yield from listed
        else:
            dots = len(base) - len(base.lstrip("."))
            yield from targets(absolute(base.lstrip("."), dots, package), listed)


def complaint(importer: str, imported: str) -> str | None:
    """Say what is wrong with a module's importing another (both dotted names of tokkit), or None."""
    source, target = part(importer), part(imported)
    if target is None or source == target:
        return None
    for name in (source, target):
        if name not in LEVELS:
            return f"{importer} imports {imported}: {name} has no level in architecture.md §2"
    if source == PUBLIC:
        return None
    if LEVELS[source] < LEVELS[target]:
        return f"{importer} (level {LEVELS[source]}) imports {imported} (level {LEVELS[target]})"
    if LEVELS[source] == LEVELS[target] and (source in ALONE or ALONE.get(target, source) != source):
        return f"{importer} imports {imported}: of level {LEVELS[source]}, only search imports chunks, and it none"
    if LEVELS[source] == LEVELS[target] == APART:
        return f"{importer} imports {imported}: parts of level {APART} do not import one another"
    return None


def complaints(path: str, source: str) -> list[str]:
    """All wrong arrows of one file; `path` is relative to the repository."""
    module = ".".join(Path(path).with_suffix("").parts)
    package = module if module.endswith("__init__") else module.rpartition(".")[0]
    package = package.removesuffix(".__init__")
    read = imports_of_cython if path.endswith((".pyx", ".pxi", ".pxd")) else imports_of_python
    found = (complaint(module.removesuffix(".__init__"), name) for name in read(source, package))
    return [text for text in found if text]


def sources(*suffixes: str) -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*") if path.suffix in suffixes)


@pytest.mark.parametrize(
    ("path", "source", "wrong"),
    [
        ("tokkit/vocab.py", "from tokkit.engine.compile import engine_of", True),
        ("tokkit/vocab.py", "def f():\n    import tokkit.tokenizer", True),
        ("tokkit/vocab.py", "from tokkit import engine", True),
        ("tokkit/vocab.py", "from . import errors", False),
        ("tokkit/vocab.py", "if TYPE_CHECKING:\n    from tokkit.tokenizer import Tokenizer", False),
        ("tokkit/vocab.py", "from .formats.tiktoken import read", True),
        ("tokkit/vocab.py", "import importlib\nimportlib.import_module('tokkit.cli')", True),
        ("tokkit/tokenizer.py", "from tokkit import Tokenizer", True),
        ("tokkit/tokenizer.py", "from tokkit.formats import read", False),
        ("tokkit/models/bpe.py", "from tokkit.decoders import byte_level", True),
        ("tokkit/models/bpe.py", "from tokkit.models import unigram", False),
        ("tokkit/models/bpe.py", "from tokkit._core.encode import BPEEncoder", False),
        ("tokkit/models/bpe.py", "from ..decoders import byte_level", True),
        ("tokkit/cli/train.py", "from tokkit import train", False),
        ("tokkit/search/builder.py", "from tokkit.chunks import chunking", False),
        ("tokkit/chunks/files.py", "from tokkit.search import sources", True),
        ("tokkit/pipeline/sentences.py", "from tokkit.chunks import chunk", True),
        ("tokkit/helpers.py", "from tokkit.vocab import Vocab", True),
        ("tokkit/_core/encode.pyx", "from tokkit.vocab cimport Vocab", True),
        ("tokkit/_core/encode.pyx", "    from tokkit.errors import VocabError", True),
        (
            "tokkit/_core/encode.pyx",
            "from tokkit._core.text cimport a\nfrom libc.stdint cimport (\n uint8_t,\n)",
            False,
        ),
        ("tokkit/_core/encode.pyx", "from .text cimport scan\nimport numpy as np", False),
        ("tokkit/_core/encode.pyx", "from ..vocab import Vocab", True),
        ("tokkit/_core/encode.pxd", "cimport tokkit.vocab", True),
        ("tokkit/__init__.py", "from tokkit.trainers import train", False),
    ],
)
def test_a_wrong_arrow_is_caught_and_a_right_one_is_not(path: str, source: str, wrong: bool) -> None:
    assert bool(complaints(path, source)) == wrong


def test_every_import_points_to_a_lower_level() -> None:
    wrong = []
    for path in sources(".py", ".pyi", ".pyx", ".pxi", ".pxd"):
        wrong += complaints(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    assert not wrong, "\n".join(wrong)


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """Return modules each of which imports the next, and the last the first; none where there is no circle."""
    done: set[str] = set()

    def walk(module: str, path: list[str]) -> list[str]:
        if module in path:
            return path[path.index(module) :]
        if module not in done:
            for target in sorted(arrows.get(module, ())):
                if found := walk(target, [*path, module]):
                    return found
            done.add(module)
        return []

    return next((found for module in sorted(arrows) if (found := walk(module, []))), [])


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c", "d"}, "d": {"b"}}) == ["b", "d"]
    assert circle({"a": {"b", "c"}, "b": {"c"}}) == []


def test_no_modules_import_one_another_in_a_circle() -> None:
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in sources(".py")}
    paths = {module.removesuffix(".__init__"): path for module, path in paths.items()}
    arrows: dict[str, set[str]] = {}
    for module, path in paths.items():
        package = module if path.stem == "__init__" else module.rpartition(".")[0]
        arrows[module] = set()
        for node in executed(parsed(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                arrows[module].update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = absolute(node.module, node.level, package)
                full = {f"{base}.{alias.name}" for alias in node.names}
                arrows[module].update(name if name in paths else base for name in full)
        arrows[module] &= set(paths) - {module}
    assert circle(arrows) == []


def test_every_module_has_a_level() -> None:
    names = {path.relative_to(PACKAGE).parts[0].split(".")[0] for path in sources(".py", ".pyx")} - {"__init__"}
    # Where data/corpus is installed, as data without code.
    assert names - {"bundled"} <= set(LEVELS), "give these a level in architecture.md §2 and in this test"


def test_the_core_uses_no_numpy_headers_and_no_openmp() -> None:
    for path in sources(".pyx", ".pxi", ".pxd"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"cimport\s+numpy|from\s+numpy\S*\s+cimport|import_array|prange|openmp", text), path
    for path in sources(".c", ".h"):
        if "csrc" in path.parts:
            text = path.read_text(encoding="utf-8")
            assert "#pragma omp" not in text, path
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    assert not re.search(r"-march=native|-ffast-math|-fopenmp", text)


def test_c_sources_do_not_know_python() -> None:
    files = [path for path in sources(".c", ".h") if "csrc" in path.parts]
    assert files
    for path in files:
        included = re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', path.read_text(encoding="utf-8"), re.MULTILINE)
        assert not [name for name in included if "python" in name.lower() or name.startswith("numpy/")], path


def test_every_extension_has_type_stubs() -> None:
    modules = sources(".pyx")
    assert modules
    assert [path.name for path in modules if not path.with_suffix(".pyi").is_file()] == []
    assert (PACKAGE / "py.typed").is_file()


def test_the_package_face_holds_names_and_no_logic() -> None:
    text = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    assert text.count("\n") <= 60
    allowed = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Expr)
    assert [type(node).__name__ for node in ast.parse(text).body if not isinstance(node, allowed)] == []


def test_the_build_script_stays_small() -> None:
    assert (ROOT / "setup.py").read_text(encoding="utf-8").count("\n") <= 120
