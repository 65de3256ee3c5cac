"""The package has its public names, docstrings and examples, and imports quickly."""

from __future__ import annotations

import doctest
import importlib
import importlib.metadata
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tokkit

if TYPE_CHECKING:
    from conftest import Small

ROOT = Path(__file__).resolve().parent.parent
PLACE = Path(tokkit.__file__).resolve().parent
NAMES = {"load", "train", "Tokenizer", "Encoding", "Vocab", "Definition", "TokkitError", "__version__"}
METHODS = {
    "encode": "(text, *, special)",
    "encode_ordinary": "(text)",
    "encode_to_numpy": "(text, *, special, threads)",
    "encode_batch": "(texts, *, special, threads)",
    "__call__": "(text, pair, *, special, add_special, pretokenized, truncation, padding)",
    "count": "(text, *, special)",
    "fits": "(text, n)",
    "truncate": "(text, n)",
    "decode": "(ids, *, errors)",
    "decode_bytes": "(ids)",
    "decode_batch": "(ids, *, errors)",
    "decode_stream": "()",
    "token_bytes": "(id)",
    "save": "(path, *, format)",
    "with_special_tokens": "(tokens)",
    "fingerprint": "()",
    "cache_info": "()",
}
PROPERTIES = ("definition", "vocab", "special_tokens", "n_ids", "name")
LAZY = (
    "regex",
    "click",
    "platformdirs",
    "tiktoken",
    "tokenizers",
    "gigatoken",
    "hypothesis",
    "rich",
    "pyarrow",
    "jinja2",
    "multiprocessing",
)


def modules() -> list[str]:
    """The names of all modules of the installed package, extension modules too."""
    found = [info.name for info in pkgutil.walk_packages([str(PLACE)], "tokkit.")] + compiled_modules()
    # Running these as modules starts the command line; the shared utility module is Cython's; "_pb2" needs protobuf.
    return ["tokkit", *(name for name in found if not name.endswith(("__main__", "_shared", "_pb2")))]


def compiled_modules() -> list[str]:
    """The names of the modules of the shared object, each of which has a stub."""
    paths = sorted((PLACE / "_core").rglob("*.pyi"))
    return [".".join(path.relative_to(PLACE.parent).with_suffix("").parts) for path in paths]


def test_the_package_has_its_public_names() -> None:
    assert set(tokkit.__all__) >= NAMES
    for name in tokkit.__all__:
        assert hasattr(tokkit, name), name
    assert len(set(tokkit.__all__)) == len(tokkit.__all__)
    stub = (PLACE / "__init__.pyi").read_text(encoding="utf-8")
    assert set(re.findall(r'^    "(\w+)",$', stub, re.MULTILINE)) == set(tokkit.__all__), "type checkers see the same"


ROOMS = ("chat", "chunks", "compat.tokenizers", "grammars", "pipeline", "search")


@pytest.mark.parametrize("room", ROOMS)
def test_type_checkers_see_the_names_that_are_imported_late(room: str) -> None:
    module = importlib.import_module(f"tokkit.{room}")
    seen = set(
        re.findall(r"^    from [\w.]+ import (\w+) as \1$", Path(module.__file__).read_text("utf-8"), re.MULTILINE)
    )
    late = {*module._MODULES, *getattr(module, "_PARTS", ())}
    assert seen == late & set(module.__all__)


def test_rooms_are_attributes_without_an_import_of_their_own() -> None:
    program = "import tokkit; print(*(getattr(tokkit, name).__doc__ is not None for name in tokkit._PARTS))"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert set(out.split()) == {"True"}
    assert {"chat", "chunks", "compat", "conversion", "pipeline", "search"} <= set(tokkit._PARTS)
    stub = (PLACE / "__init__.pyi").read_text(encoding="utf-8")
    assert set(re.findall(r"^from tokkit import (\w+) as \1$", stub, re.MULTILINE)) == set(tokkit._PARTS)


def test_errors_are_of_one_family_and_of_the_built_in_kind() -> None:
    from tokkit import errors

    classes = [value for value in vars(errors).values() if inspect.isclass(value) and value is not errors.TokkitError]
    assert len(classes) >= 5
    for error in classes:
        assert issubclass(error, errors.TokkitError)
        assert issubclass(error, (ValueError, LookupError, TypeError, OSError)), error
        assert getattr(tokkit, error.__name__, None) is error, f"{error.__name__} is not public"


def test_the_version_is_that_of_the_project() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    static = re.search(r'^version = "([^"]+)"', text, re.MULTILINE)
    assert not static or static[1] == tokkit.__version__
    assert f"## [{tokkit.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    try:
        installed = importlib.metadata.version("pytokkit")
    except importlib.metadata.PackageNotFoundError:
        return  # a tree compiled in place
    assert installed == tokkit.__version__


@pytest.mark.parametrize("name", METHODS)
def test_a_method_takes_what_the_documents_say(name: str) -> None:
    parameters = list(inspect.signature(getattr(tokkit.Tokenizer, name)).parameters.values())[1:]
    wanted = METHODS[name].strip("()").replace(" ", "").split(",") if METHODS[name] != "()" else []
    positional = wanted[: wanted.index("*")] if "*" in wanted else wanted
    keywords = wanted[wanted.index("*") + 1 :] if "*" in wanted else []
    required = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    assert len(required) == len(positional)
    assert set(keywords) <= {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert len(parameters) <= (7 if name == "__call__" else 5)


@pytest.mark.parametrize("name", PROPERTIES)
def test_what_a_tokenizer_is_can_be_read_and_not_set(tok: tokkit.Tokenizer, name: str) -> None:
    getattr(tok, name)
    with pytest.raises(AttributeError):
        setattr(tok, name, None)


def test_options_are_given_by_name(tok: tokkit.Tokenizer) -> None:
    with pytest.raises(TypeError):
        tok.encode("text", "all")
    with pytest.raises(TypeError):
        tok.encode_batch(["text"], "all")


def test_fingerprints_are_sha256_and_equal_only_for_equal_behaviour(
    make_tokenizer: Callable[..., tokkit.Tokenizer], small: Small
) -> None:
    made = {
        p: make_tokenizer("rank", p).fingerprint() for p in ("gpt2", "cl100k", "o200k", "llama3", r"\w+|\W", "none")
    }
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in made.values())
    assert len(set(made.values())) == len(made)
    assert make_tokenizer("rank", "r50k").fingerprint() == made["gpt2"], "two texts of one pattern"
    # Trained merges, in the order of their ids, are what rank BPE does; in another order, or fewer, they are not.
    assert make_tokenizer("merges", "o200k").fingerprint() == made["o200k"]
    definition = make_tokenizer("merges", "o200k").definition
    merges = definition.model.merges
    for changed in (merges[::-1].copy(), merges[:-1].copy(), merges[[1, 0, *range(2, len(merges))]]):
        model = tokkit.BPE(merges=changed, whole_piece=False)
        assert tokkit.Tokenizer(replace(definition, model=model)).fingerprint() != made["o200k"]
    special = make_tokenizer("rank", "gpt2", {"<|a|>": 2000}).fingerprint()
    assert special not in (made["gpt2"], make_tokenizer("rank", "gpt2", {"<|a|>": 2001}).fingerprint())


def test_every_module_imports_and_says_what_it_is() -> None:
    for name in modules():
        module = importlib.import_module(name)
        assert module.__doc__ or "_core" in name, name


def test_everything_public_has_a_docstring() -> None:
    missing = []
    for name in modules():
        if name.startswith("tokkit._core"):
            continue
        module = importlib.import_module(name)
        for key, value in vars(module).items():
            if key.startswith("_") or getattr(value, "__module__", None) != name:
                continue
            if not callable(value) or inspect.isbuiltin(value):
                continue
            if not inspect.getdoc(value):
                missing.append(f"{name}.{key}")
            for attribute, member in vars(value).items() if inspect.isclass(value) else ():
                plain = inspect.isfunction(member) or isinstance(member, (property, classmethod, staticmethod))
                if plain and not attribute.startswith("_") and not inspect.getdoc(getattr(value, attribute)):
                    missing.append(f"{name}.{key}.{attribute}")
    assert not missing


def test_every_example_in_a_docstring_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Over the imported package: `--doctest-modules` would collect the source tree, compiled or not.
    monkeypatch.chdir(tmp_path)
    tried = 0
    for name in modules():
        module = importlib.import_module(name)
        path = Path(module.__file__ or "")
        if path.suffix == ".py" and ">>>" not in path.read_text(encoding="utf-8"):
            continue  # to look for examples takes longer than to run them
        result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
        assert not result.failed, name
        tried += result.attempted
    assert tried >= 5


def test_importing_tokkit_imports_nothing_heavy(run: Callable[[str], str]) -> None:
    loaded = run(
        "import sys; before = set(sys.modules); import tokkit; print(*sorted(set(sys.modules) - before))"
    ).split()
    assert not {name.split(".")[0] for name in loaded} & set(LAZY)


def test_importing_tokkit_costs_little_more_than_numpy(run: Callable[[str], str]) -> None:
    # 20 ms is the promise, where numpy takes 80. Processor time, the least of some tries.
    code = "from time import process_time as t; a = t(); import numpy; b = t(); import tokkit; print(b - a, t() - b)"
    tries = [[float(seconds) for seconds in run(code).split()] for _ in range(5)]
    of_numpy, of_tokkit = (min(times) for times in zip(*tries, strict=True))
    assert of_tokkit < 0.25 * of_numpy


def test_type_checkers_find_our_types() -> None:
    assert (PLACE / "py.typed").is_file()
    assert len(compiled_modules()) >= 10
