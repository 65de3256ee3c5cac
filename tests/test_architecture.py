"""Imports follow the order of rooms, never run in a circle, and never reach for another room's private names."""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tokkit"
PUBLIC = "(tokkit itself)"
ORDER = """
_core
escaping
errors
version lazy moved renamed limits threads interrupts progress pickled checks byte_symbols
files
vocab
encoding
unicode_regex
models
definition
normalizers pretokenizers postprocessors decoders
engine
formats
corpus
tokenizer
registry
loading
trainers
conversion
chat
chunks
grammars
data
distributed
nn
search
embeddings
pipeline
compat
view
web
cli
__main__
"""
"""The order of rooms: a room imports only rooms of lines above its own, none of its own line. Only the command line
imports what users import from tokkit itself."""
PLACES = {name: number for number, line in enumerate(ORDER.split("\n")) for name in line.split()}
PLACES[PUBLIC] = PLACES["cli"] - 1
STATEMENT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?c?import[ \t]+(\([^)]*\)|[^\n#]+)", re.MULTILINE)


def part(module: str) -> str | None:
    """The name on our map of a module's dotted name: tokkit.formats.gpt2 → formats; None for foreign modules."""
    names = module.split(".")
    if names[0] != "tokkit":
        return None
    return names[1] if len(names) > 1 else PUBLIC


def absolute(module: str | None, level: int, package: str) -> str:
    """A relative import's target: ("bpe", 1, "tokkit._core.encode") → "tokkit._core.encode.bpe"."""
    if not level:
        return module or ""
    above = package.split(".")[: len(package.split(".")) - level + 1]
    return ".".join([*above, *([module] if module else [])])


def targets(module: str, names: list[str], modules: Collection[str] = ()) -> Iterator[str]:
    """`from tokkit import errors` is an import of tokkit.errors; `from tokkit.vocab import Vocab` of tokkit.vocab.

    So is `from tokkit.formats import gguf` of tokkit.formats.gguf, if that is one of the `modules`.
    """
    for name in names:
        full = f"{module}.{name}"
        yield full if full in modules or (module == "tokkit" and name in PLACES) else module


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


def imports_of_python(source: str, package: str, modules: Collection[str] = ()) -> Iterator[str]:
    """Yield the modules that a .py or .pyi imports, within functions and by importlib too."""
    for node in executed(parsed(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            yield from targets(absolute(node.module, node.level, package), names, modules)
        elif isinstance(node, ast.Call) and name_of(node.func) in ("import_module", "__import__"):
            yield from (arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant))


def imports_of_cython(source: str, package: str, modules: Collection[str] = ()) -> Iterator[str]:
    """Yield the modules that a .pyx or .pxd imports or cimports."""
    for base, names in STATEMENT.findall(source):
        listed = [name.split()[0] for name in names.strip("() \t\n").replace("\n", " ").split(",") if name.strip()]
        if not base:
            yield from listed
        else:
            dots = len(base) - len(base.lstrip("."))
            yield from targets(absolute(base.lstrip("."), dots, package), listed, modules)


def complaint(importer: str, imported: str) -> str | None:
    """Say what is wrong with a module's importing another (both dotted names of tokkit), or None."""
    source, target = part(importer), part(imported)
    if target is None or source in (target, PUBLIC):
        return None
    for name in (source, target):
        if name not in PLACES:
            return f"{importer} imports {imported}: {name} has no place in ORDER"
    if PLACES[source] > PLACES[target]:
        return None
    return f"{importer} imports {imported}, which does not come before it"


def complaints(path: str, source: str) -> list[str]:
    """All wrong arrows of one file; `path` is relative to the repository."""
    module = ".".join(Path(path).with_suffix("").parts)
    package = module if module.endswith("__init__") else module.rpartition(".")[0]
    package = package.removesuffix(".__init__")
    read = imports_of_cython if path.endswith((".pyx", ".pxd")) else imports_of_python
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
        ("tokkit/models/bpe.py", "from tokkit._core.encode.bpe import BPEEncoder", False),
        ("tokkit/models/bpe.py", "from ..decoders import byte_level", True),
        ("tokkit/cli/train.py", "from tokkit import train", False),
        ("tokkit/search/builder.py", "from tokkit.chunks import chunking", False),
        ("tokkit/chunks/files.py", "from tokkit.search import sources", True),
        ("tokkit/pipeline/sentences.py", "from tokkit.chunks import chunk", False),
        ("tokkit/search/builder.py", "from tokkit.pipeline import load", True),
        ("tokkit/formats/gguf.py", "from tokkit.engine.compile import engine_of", False),
        ("tokkit/engine/engine.py", "from tokkit.formats import files", True),
        ("tokkit/limits.py", "from tokkit.threads import thread_count", True),
        ("tokkit/helpers.py", "from tokkit.vocab import Vocab", True),
        ("tokkit/_core/split.pyx", "from tokkit.vocab cimport Vocab", True),
        ("tokkit/_core/split.pyx", "    from tokkit.errors import VocabError", True),
        (
            "tokkit/_core/split.pyx",
            "from tokkit._core.text cimport a\nfrom libc.stdint cimport (\n uint8_t,\n)",
            False,
        ),
        ("tokkit/_core/split.pyx", "from .text cimport scan\nimport numpy as np", False),
        ("tokkit/_core/split.pyx", "from ..vocab import Vocab", True),
        ("tokkit/_core/split.pxd", "cimport tokkit.vocab", True),
        ("tokkit/__init__.py", "from tokkit.trainers import train", False),
    ],
)
def test_a_wrong_arrow_is_caught_and_a_right_one_is_not(path: str, source: str, wrong: bool) -> None:
    assert bool(complaints(path, source)) == wrong


def test_every_import_points_to_a_room_before() -> None:
    wrong = []
    for path in sources(".py", ".pyi", ".pyx", ".pxd"):
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
    modules = [
        (".".join(path.relative_to(ROOT).with_suffix("").parts), path) for path in sources(".py", ".pyx", ".pxd")
    ]
    names = {module.removesuffix(".__init__") for module, _ in modules}
    arrows: dict[str, set[str]] = {name: set() for name in names}
    for module, path in modules:
        package = module.rpartition(".")[0]
        read = imports_of_cython if path.suffix in (".pyx", ".pxd") else imports_of_python
        found = set(read(path.read_text(encoding="utf-8"), package, names))
        arrows[module.removesuffix(".__init__")] |= found & names - {module.removesuffix(".__init__")}
    assert circle(arrows) == []


def test_no_compiled_modules_import_one_another_in_a_circle() -> None:
    paths = sources(".pyx", ".pxd")
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths}
    arrows: dict[str, set[str]] = {module: set() for module in modules}
    for path in paths:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        arrows[module].update(imports_of_cython(path.read_text(encoding="utf-8"), module.rpartition(".")[0]))
    arrows = {module: targets & modules - {module} for module, targets in arrows.items()}
    assert sum(map(len, arrows.values())) > 50
    assert circle(arrows) == []


def test_every_room_has_a_place() -> None:
    names = {path.relative_to(PACKAGE).parts[0].split(".")[0] for path in sources(".py", ".pyx")} - {"__init__"}
    # Where data/corpus is installed, as data without code.
    assert names - {"bundled"} == set(PLACES) - {PUBLIC}, (
        "give each room a place in architecture.md §2 and in this test"
    )


PRIVATE: set[str] = set()
"""Uses of private names that are not mended yet, "file: name". This set only shrinks."""


NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}
"""Public names of named tuples."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in NAMED_TUPLE


def room_of(path: str) -> str:
    return path.split("/")[1].removesuffix(".py")


def defined(source: str) -> Iterator[str]:
    """Yield the private names that a file defines: functions, classes, variables, and attributes of self."""
    for node in ast.walk(parsed(source)):
        name = ""
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and name_of(node.value) == "self":
            name = node.attr
        elif isinstance(node, ast.Assign) and any(name_of(target) == "__slots__" for target in node.targets):
            yield from (item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant))
        if is_private(name):
            yield name


def imported_names(source: str, package: str) -> dict[str, str]:
    """Return name → room of what a file imports of tokkit, for type checkers too."""
    found = {}
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                module = next(targets(absolute(node.module, node.level, package), [alias.name]))
                if (room := part(module)) is not None:
                    found[alias.asname or alias.name] = room
    return found


def annotated(function: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (parameter, class) of the parameters of a function."""
    if isinstance(function, ast.FunctionDef):
        for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
            if arg.annotation is not None:
                yield arg.arg, name_of(arg.annotation)


def private_uses(path: str, source: str, owners: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield the private names of other rooms that a file uses; `owners` are the rooms that define each name."""
    room, package = room_of(path), ".".join(Path(path).parent.parts)
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.ImportFrom) and part(absolute(node.module, node.level, package)) not in (None, room):
            names = (alias.name for alias in node.names)
            yield from (f"{path}: {name}" for name in names if is_private(name) and name != "_core")
    imported = imported_names(source, package)
    foreign = {name for name, other in imported.items() if other != room}
    for function in ast.walk(parsed(source)):
        if not isinstance(function, ast.FunctionDef | ast.Module):
            continue
        known = foreign | {name for name, kind in annotated(function) if kind in foreign}
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and is_private(node.attr):
                others = owners.get(node.attr, set())
                if (others and room not in others) or (isinstance(node.value, ast.Name) and node.value.id in known):
                    yield f"{path}: {node.attr}"


@pytest.mark.parametrize(
    ("source", "used"),
    [
        ("from tokkit.vocab import _blob", ["_blob"]),
        ("from tokkit.chunks.files import _read", []),
        ("from tokkit import vocab\nvocab._blob", ["_blob"]),
        ("from tokkit._core.text import Text", []),
        ("from tokkit.tokenizer import Tokenizer\ndef f(tok: Tokenizer): return tok._plan", ["_plan"]),
        ("def f(tok): return tok._engine", ["_engine"]),
        ("def f(tok): return tok._plan", []),
        ("class A:\n    def f(self): return self._engine", ["_engine"]),
        ("hit._replace(score=1)", []),
    ],
)
def test_a_private_name_of_another_room_is_caught(source: str, used: list[str]) -> None:
    owners = {"_engine": {"tokenizer"}, "_plan": {"tokenizer", "chunks"}, "_blob": {"vocab"}}
    assert {*private_uses("tokkit/chunks/a.py", source, owners)} == {f"tokkit/chunks/a.py: {name}" for name in used}


def test_no_room_uses_the_private_names_of_another() -> None:
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sources(".py")}
    owners: dict[str, set[str]] = defaultdict(set)
    for path, text in texts.items():
        for name in defined(text):
            owners[name].add(room_of(path))
    assert {use for path, text in texts.items() for use in private_uses(path, text, owners)} == PRIVATE


def test_the_core_uses_no_numpy_headers_and_no_openmp() -> None:
    for path in sources(".pyx", ".pxd"):
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
