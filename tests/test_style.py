"""Style rules that no linter has, checked on every source file."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 400
LONGEST_LINE = 120
GENERATED = {"script_tables.h", "unicode_tables.h", "normalization_tables.h", "grapheme_tables.h"}
SUFFIXES = {".py", ".pyi", ".pyx", ".pxd", ".c", ".h", ".def", ".js", ".css"}
# Spelt in halves, so that this file does not hold what it looks for.
MACHINE_PATHS = re.compile("/(?:work" + "|tmp|root|home)/\\w")
UNFINISHED = re.compile("\\b(?:TO" + "DO|FIX" + "ME|XX" + "X|NotImplemented" + "Error)\\b")
# Words that CONTRIBUTING.md replaces. Next to quotes, braces and hyphens they are names, or parts of other words.
BANNED = re.compile(
    r"(?<![-_{\"'])\b(?:[Bb]ehind(?! and ahead)|foreign|crew)\b(?![-_}\"'=])"
    r"|\b(?:apart by|stands on std|who loads|of one's own|as it is told)\b|\b(?:is|are) no UTF-8\b"
)
PROSE = (tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
CDEF_FUNCTION = re.compile(r"^\s*(?:cdef|cpdef)\s+(?:inline\s+)?(?!class|struct|enum|union|extern|packed)[^=(\n]*\(")
# These return Python objects (extension types have capitals): NULL is their error, which costs no look at the GIL.
OBJECTS = re.compile(
    r"^\s*c(?:p?def)\s+(?:inline\s+)?(?:object|bytes|str|list|tuple|dict|set|bytearray|[A-Z]\w*)\s+\w+\("
)


def files(*folders: str) -> list[Path]:
    """The hand-written sources under these folders."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES)
    return sorted(path for path in found if path.name not in GENERATED)


TOKKIT = files("tokkit")
ALL = [*TOKKIT, *files("tests", "benchmarks"), *(ROOT / "data").glob("*.py"), ROOT / "setup.py"]
DOCUMENTS = [path for path in (*ROOT.glob("*.md"), *ROOT.glob("*.toml"), *ROOT.glob(".ci/*")) if path.is_file()]


def where(path: Path, number: int, line: str) -> str:
    return f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"


def broken(paths: list[Path], rule: Callable[[str], object]) -> list[str]:
    """The lines on which `rule` says yes."""
    return [
        where(path, number, line)
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if rule(line)
    ]


def report(lines: list[str]) -> None:
    assert not lines, "\n".join(["", *lines[:40]])


def test_there_are_sources_to_look_at() -> None:
    assert len(TOKKIT) > 10
    assert len(ALL) > len(TOKKIT)


def test_no_file_is_longer_than_400_lines() -> None:
    long = {path.name: n for path in ALL if (n := path.read_text(encoding="utf-8").count("\n")) > MAX_LINES}
    assert not long


def too_long(line: str) -> bool:
    """A pattern, or an address, that cannot be broken may stand alone on its line."""
    return len(line) > LONGEST_LINE and len(line.split()) > 1


def test_no_line_is_longer_than_120_characters() -> None:
    report(broken([*ALL, ROOT / "pyproject.toml"], too_long))


def test_no_line_has_tabs_or_ends_in_white_space() -> None:
    report(broken([*ALL, *DOCUMENTS], lambda line: "\t" in line or line != line.rstrip()))


def test_every_file_ends_with_one_line_end() -> None:
    texts = {path.name: path.read_bytes() for path in (*ALL, *DOCUMENTS)}
    assert not [name for name, text in texts.items() if not text.endswith(b"\n") or text.endswith(b"\n\n")]
    assert not [name for name, text in texts.items() if b"\r" in text]


def test_every_file_begins_by_saying_what_it_does() -> None:
    starts = {
        ".c": ("/* ", "// "),
        ".h": ("/* ", "// "),
        ".def": ("/* ",),
        ".pxd": ('"""', "# "),
        ".pyx": ('"""', "# "),
        ".pyi": ('"""', "# "),
        ".js": ("// ",),
        ".css": ("/* ",),
    }
    wrong = []
    for path in ALL:
        first = path.read_text(encoding="utf-8").split("\n", 1)[0]
        if not first.startswith(starts.get(path.suffix, ('"""', 'r"""'))) or len(first) < 12:
            wrong.append(where(path, 1, first))
    report(wrong)


def test_nothing_is_left_unfinished() -> None:
    report(broken(ALL, UNFINISHED.search))


def words_of(source: str) -> list[tuple[int, str]]:
    """(line number, line) of the lines of strings and comments of a Python file: docstrings, messages and help."""
    found: dict[int, str] = {}
    if not any(map(BANNED.search, source.split("\n"))):
        return []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in PROSE:
            lines = token.string.split("\n")
            found |= {token.start[0] + i: line for i, line in enumerate(lines) if BANNED.search(line)}
    return sorted(found.items())


@pytest.mark.parametrize(
    ("source", "n"),
    [
        ("# the token behind it", 1),
        ("x = 'sizes apart by commas'", 1),
        ("'''One line.\n\nWhat is no UTF-8.\n'''", 1),
        ("# a look-behind", 0),
        ("behind = {'after': 1}", 0),
    ],
)
def test_a_word_that_means_nothing_in_this_field_is_caught(source: str, n: int) -> None:
    assert len(words_of(source + "\n")) == n


def test_docstrings_messages_and_comments_use_the_words_of_the_field() -> None:
    python = [path for path in TOKKIT if path.suffix == ".py"]
    texts = {path: path.read_text(encoding="utf-8") for path in [*python, *(ROOT / "data").glob("*.py")]}
    report([where(path, n, line) for path, text in texts.items() for n, line in words_of(text)])


def test_no_path_of_one_machine_is_written_down() -> None:
    report(broken([*ALL, *DOCUMENTS], MACHINE_PATHS.search))


COMMENTS = {
    **dict.fromkeys((".c", ".h", ".def"), re.compile(r"/\*.*?\*/", re.DOTALL)),
    **dict.fromkeys((".pyx", ".pxd", ".pyi"), re.compile(r'#[^\n]*|""".*?"""', re.DOTALL)),
}
NAMED_FILE = re.compile(r"(?<![\w*./<{-])(?:\w+/)*\w+\.(?:c|h|def|pyx|pxd|py)\b(?!\()")


def test_files_that_comments_of_the_core_name_are_there() -> None:
    folders = [ROOT, ROOT / "tokkit", ROOT / "tokkit" / "_core", ROOT / "tokkit" / "_core" / "csrc"]
    known = {path.name for folder in ("tokkit", "tests", "benchmarks", "data") for path in (ROOT / folder).rglob("*.*")}
    known |= {path.name for path in ROOT.glob("*.py")}
    gone = []
    for path in TOKKIT:
        comments = COMMENTS[path.suffix].findall(path.read_text(encoding="utf-8")) if path.suffix in COMMENTS else []
        for name in NAMED_FILE.findall("\n".join(comments)):
            if not (any((folder / name).is_file() for folder in folders) if "/" in name else name in known):
                gone.append(f"{path.relative_to(ROOT)}: {name}")
    assert not gone


MAY_BE_WRONG = re.compile(r"\bprint\b|\bassert\b|\bexcept\s*:")
"""What a file has that is read any further: to parse all of them takes two seconds."""


def python_nodes() -> Iterator[tuple[Path, ast.AST]]:
    for path in TOKKIT:
        if path.suffix == ".py":
            source = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(source)) if MAY_BE_WRONG.search(source) else ():
                yield path, node


def is_print(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"


def test_the_library_neither_prints_nor_asserts_nor_swallows_errors() -> None:
    wrong = []
    for path, node in python_nodes():
        # Printing each step is what tiktoken's _educational is for.
        in_cli = path.parent.name in ("cli", "view") or path.name == "_educational.py"
        swallows = isinstance(node, ast.ExceptHandler) and node.type is None
        if (is_print(node) and not in_cli) or isinstance(node, ast.Assert) or swallows:
            wrong.append(where(path, node.lineno, ast.unparse(node).split("\n")[0]))
    cython = [path for path in TOKKIT if path.suffix in (".pyx", ".pxd")]
    report(wrong + broken(cython, re.compile(r"^\s*(?:print\(|assert\b|except\s*:)").search))


def headers_of_functions(source: str) -> list[tuple[int, str]]:
    """(line number, header up to its last line) of each cdef function with a body."""
    found = []
    lines = source.split("\n")
    for i, line in enumerate(lines):
        if not CDEF_FUNCTION.match(line):
            continue
        header, j = line, i
        while header.count("(") > header.count(")") and j + 1 < len(lines):
            j += 1
            header += " " + lines[j].strip()
        if header.split("#")[0].rstrip().endswith(":"):
            found.append((i + 1, header))
    return found


@pytest.mark.parametrize(
    ("header", "fine"),
    [
        ("cdef int f(int a):", False),
        ("cdef inline int f(int a) nogil:", False),
        ("cdef int f(\n    int a,\n    int b,\n):", False),
        ("cdef int f(int a) noexcept nogil:", True),
        ("cdef int f(int a) except -1:", True),
        ("    cdef bytes f(self):", True),
        ("    cdef Worker f(self):", True),
        ("cdef int x = f(a)", True),
        ("cdef class A(B):", True),
    ],
)
def test_a_c_function_that_leaves_errors_open_is_caught(header: str, fine: bool) -> None:
    assert bool(open_functions(header)) != fine


def open_functions(source: str) -> list[tuple[int, str]]:
    told = re.compile(r"\b(?:noexcept|except)\b")
    found = headers_of_functions(source)
    return [(n, header) for n, header in found if not told.search(header) and not OBJECTS.match(header)]


def test_every_c_function_says_how_it_fails() -> None:
    wrong = []
    for path in TOKKIT:
        if path.suffix == ".pyx":
            wrong += [where(path, n, header) for n, header in open_functions(path.read_text(encoding="utf-8"))]
    report(wrong)


def test_every_test_is_named_by_a_sentence() -> None:
    """Three words at least behind `test_`: a failing name alone should say what broke."""
    wrong = []
    for path in files("tests"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path.name.startswith("test_") else ():
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and node.name.count("_") < 3:
                wrong.append(where(path, node.lineno, node.name))
    report(wrong)


def test_naive_twins_stay_naive() -> None:
    # 80 lines is the house's limit for a twin: what is longer wants a twin itself.
    long = {p.name: n for p in files("tests/reference") if (n := p.read_text(encoding="utf-8").count("\n")) > 80}
    assert not long
