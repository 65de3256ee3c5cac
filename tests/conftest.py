"""Fixtures for all tests: shared data, rival libraries, small tokenizers; and which tokkit is tested.

The vocabularies and corpora in `../shared/data` (TOKKIT_SHARED_DATA names another place) are not part of the
project: tests that want them skip where they are absent, and the others use what stands in `data/corpus`.
TOKKIT_LONG=1 runs whole corpora and every context, instead of samples.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import hypothesis
import numpy as np
import pytest

if TYPE_CHECKING:
    import tiktoken

    import tokkit

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TOKKIT_SHARED_DATA") or ROOT.parent / "shared" / "data")
LONG = os.environ.get("TOKKIT_LONG", "") not in ("", "0")
PUBLISHED = ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")


def choose_tokkit(path: list[str]) -> list[str]:
    """Return sys.path with the source tree in it where that is compiled in place and nothing else is installed.

    After `pip install .` the tree beside us has no compiled modules; `pytest` never sees it, but `python -m
    pytest` puts the working directory first, and would import it. After `build_ext --inplace` it is the one.
    """
    compiled = bool([*ROOT.glob("tokkit/_core/_shared.*.so"), *ROOT.glob("tokkit/_core/_shared.*.pyd")])
    others = [entry for entry in path if Path(entry or ".").resolve() != ROOT]
    if not compiled:
        return others
    return [str(ROOT), *others] if others != path or not importlib.util.find_spec("tokkit") else path


sys.path[:] = choose_tokkit(sys.path)
# The interpreters that tests start find the same one: the working directory, which `python -c` would put first, is
# left out, and a tree compiled in place is named.
os.environ["PYTHONSAFEPATH"] = "1"
if str(ROOT) in sys.path:
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
# tiktoken reads the rank files where they lie, and keeps no copy of its own.
os.environ["TIKTOKEN_CACHE_DIR"] = ""
# tokenizers must not warn about (or be hurt by) the tests that fork.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Patterns are limited by the clock, which runs on while others have the processors: 2 s may be too few for any pattern.
# Tests of the limit set their own.
os.environ.setdefault("TOKKIT_LIMITS", "pattern_seconds=60")


# How long an example takes, or making one, is a matter of the machine.
hypothesis.settings.register_profile(
    "tokkit",
    deadline=None,
    derandomize=not LONG,  # what chance finds belongs into the fuzz targets and a long run
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    max_examples=500 if LONG else 50,
)
hypothesis.settings.load_profile("tokkit")


WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
"""gw0, gw1, … in a process of pytest-xdist, and empty in others."""


def pytest_configure(config: pytest.Config) -> None:
    """Let SIGINT raise: a shell that runs the tests in the background hands on an ignored one, a terminal does not.

    And let pytest's own folder keep the modules that are compiled, where the environment forbids to keep them beside
    their sources: each worker would compile all tests anew, with what their assertions say, for twelve seconds.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.dont_write_bytecode and not WORKER and hasattr(config, "cache"):
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(config.cache.mkdir("modules"))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Let every other worker begin with the last module: each compiles a half, and finds the other one compiled."""
    config = session.config
    if WORKER and int(WORKER.removeprefix("gw")) % 2 and config.args == config.getini("testpaths"):
        config.args = sorted(map(str, (ROOT / "tests").rglob("test_*.py")), reverse=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give all workers one order of the tests."""
    if WORKER:
        items.sort(key=lambda item: str(item.path))


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(report: pytest.TestReport) -> Generator[None, Any, Any]:
    """Leave out of what workers send of a test that passed what nobody reads: it took as long as many a test."""
    data = yield
    if data and report.passed and "keywords" in data:
        data["keywords"] = {}
    return data


def pytest_collection_finish() -> None:
    """Spare the garbage collector ten thousand tests, which stay to the end, and let it look less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole suite in a process for each CPU, where pytest-xdist is installed and -n is not given."""
    if WORKER:
        return
    option = config.option
    whole = config.args == config.getini("testpaths") and not (option.collectonly or option.usepdb)
    if whole and config.pluginmanager.hasplugin("xdist") and option.numprocesses is None:
        option.numprocesses, option.dist = os.cpu_count(), "worksteal"


def pytest_report_header() -> str:
    spec = importlib.util.find_spec("tokkit")
    data = str(SHARED) if SHARED.is_dir() else f"absent ({SHARED}); tests that need it skip"
    return f"tokkit: {spec.origin if spec else 'not installed: run pip install .'}\nshared data: {data}"


@cache
def wants_extras(path: Path) -> bool:
    """Whether a file of tests asks for packages that '.[test]' leaves out (extras.py)."""
    return bool(re.search(r"^(?:from|import) (?:extras|minilm)\b", path.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what asks for extras, and tell pytest-run-parallel, where it is used, which tests its threads cannot share.

    Those with what is made once for all threads of a test (fixtures of its own, iterators as parameters), and those of
    what there is one of in a process: streams and the folder (tests/cli), the environment, memory that is measured.
    """
    if wants_extras(item.path):
        item.add_marker("parity")
    if not (item.config.pluginmanager.hasplugin("run-parallel") and isinstance(item, pytest.Function)):
        return
    fixtures = [made for given in item._fixtureinfo.name2fixturedefs.values() for made in given]
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    if (
        "cli" in item.path.parts
        or any(fixture.scope == "function" for fixture in fixtures)
        or any(isinstance(value, Iterator) for value in parameters)
        or any(word in item.path.read_text(encoding="utf-8") for word in ("tracemalloc", "MonkeyPatch.context"))
    ):
        item.add_marker("thread_unsafe")


@pytest.fixture(scope="session", autouse=True)
def kept_for_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the processes that tests start share the fonts they find and the modules they compile, as a user's do.

    To compile its modules anew, where the environment forbids to keep them, takes a process as long as all else.
    """
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if WORKER else folder  # one for all workers
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLCONFIGDIR", str(folder / "fonts"))
        if os.environ.get("PYTHONDONTWRITEBYTECODE"):
            patch.delenv("PYTHONDONTWRITEBYTECODE")
            patch.setenv("PYTHONPYCACHEPREFIX", str(folder / "modules"))
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published vocabularies and corpora, or a skip."""
    if not SHARED.is_dir():
        pytest.skip(
            f"needs published vocabularies and corpora, not found at {SHARED}: set TOKKIT_SHARED_DATA to their folder"
        )
    return SHARED


@pytest.fixture(scope="session")
def load_shared(shared: Path) -> Callable[[str], tokkit.Tokenizer]:
    """name of a published encoding → our tokenizer of it, made once."""
    import tokkit

    @cache
    def load(name: str) -> tokkit.Tokenizer:
        return tokkit.load(shared / "vocabs" / f"{name}.tiktoken")

    return load


@pytest.fixture(scope="session")
def load_tiktoken(shared: Path) -> Callable[[str], tiktoken.Encoding]:
    """name of a published encoding → tiktoken's own, with tiktoken's own pattern and special tokens, offline."""
    tiktoken = pytest.importorskip("tiktoken")
    from tiktoken.load import load_tiktoken_bpe
    from tiktoken_ext import openai_public

    def local(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        return load_tiktoken_bpe(str(shared / "vocabs" / url.rsplit("/", 1)[1]), expected_hash)

    @cache
    def load(name: str) -> tiktoken.Encoding:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(openai_public, "load_tiktoken_bpe", local)
            return tiktoken.Encoding(**getattr(openai_public, name)())

    return load


@pytest.fixture(scope="session")
def corpora(shared: Path) -> dict[str, Path]:
    """name → path of every shared corpus."""
    return {path.stem: path for path in sorted((shared / "corpora").glob("*.txt"))}


def slice_of(path: Path, size: int) -> str:
    """About `size` bytes from the middle of a UTF-8 file; all of it with TOKKIT_LONG."""
    data = path.read_bytes()
    if not LONG and len(data) > size:
        start = (len(data) - size) // 2
        data = data[start : start + size]
    return data.decode("utf-8", "ignore")


@pytest.fixture(scope="session")
def bundled() -> str:
    """The text of data/corpus, file after file."""
    paths = sorted((ROOT / "data" / "corpus").glob("*.txt"))
    if not paths:
        pytest.skip("needs data/corpus, which a checkout and the sdist have")
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


class Small(NamedTuple):
    """A vocabulary learnt by tokenizers from data/corpus: tokens in the order of their ids, and the merges."""

    tokens: list[bytes]
    merges: list[tuple[int, int, int]]

    @property
    def ids(self) -> dict[bytes, int]:
        return {token: id_ for id_, token in enumerate(self.tokens)}


def byte_of_letter() -> dict[str, int]:
    """The printable characters that stand for bytes in ByteLevel files (shared/design: the byte alphabet)."""
    themselves = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in themselves]
    return {chr(b): b for b in themselves} | {chr(256 + i): b for i, b in enumerate(others)}


@pytest.fixture(scope="session")
def small(bundled: str) -> Small:
    """2,000 tokens: enough for merges of many bytes, made by no code of ours."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=2000, show_progress=False, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()
    )
    made.train_from_iterator(bundled.splitlines(keepends=True), trainer)
    letters = byte_of_letter()
    ids = {bytes(letters[c] for c in token): id_ for token, id_ in made.get_vocab().items()}
    merges = json.loads(made.to_str())["model"]["merges"]
    pairs = [[bytes(letters[c] for c in side) for side in pair] for pair in merges]
    tokens = sorted(ids, key=ids.__getitem__)
    return Small(tokens, [(ids[left], ids[right], ids[left + right]) for left, right in pairs])


@pytest.fixture(scope="session")
def make_tokenizer(small: Small) -> Callable[..., tokkit.Tokenizer]:
    """(kind "rank" or "merges", pattern name or text, special tokens) → a tokenizer of the small vocabulary."""
    import tokkit
    from tokkit.definition import Definition, Split
    from tokkit.models.bpe import BPE
    from tokkit.pretokenizers import patterns
    from tokkit.vocab import Vocab

    def make(
        kind: str = "rank", pattern: str | None = "cl100k", special_tokens: dict[str, int] | None = None, **split: bool
    ) -> tokkit.Tokenizer:
        merges = np.array(small.merges, dtype=np.uint32)
        model = BPE() if kind == "rank" else BPE(merges=merges, whole_piece=False)
        definition = Definition(Vocab.from_list(small.tokens), model, Split(patterns.resolve(pattern), **split))
        return tokkit.Tokenizer(definition.with_special_tokens(special_tokens or {}))

    return make


SPECIALS = {"<|endoftext|>": 2000, "<|end|>": 2001, "<|end|>!": 2002, "</s>": 2004}
"""Special tokens of the `tok` fixture: one is the prefix of another, and id 2003 is no token's."""


@pytest.fixture(scope="session")
def tok(make_tokenizer: Callable[..., tokkit.Tokenizer]) -> tokkit.Tokenizer:
    """The tokenizer for tests of behaviour: rank BPE, cl100k's pattern, a small vocabulary, special tokens."""
    return make_tokenizer("rank", "cl100k", SPECIALS)


@pytest.fixture(scope="session")
def rival(small: Small) -> tiktoken.Encoding:
    """tiktoken's encoding of the vocabulary, pattern and special tokens of `tok`."""
    tiktoken = pytest.importorskip("tiktoken")
    from tokkit.pretokenizers import patterns

    return tiktoken.Encoding("small", pat_str=patterns.CL100K, mergeable_ranks=small.ids, special_tokens=SPECIALS)


@pytest.fixture
def run() -> Callable[..., str]:
    """Python code, and variables of its environment → what a fresh interpreter prints. It finds the same tokkit."""

    def run_(code: str, **env: str) -> str:
        command, env = [sys.executable, "-c", code], {**os.environ, **env}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
        assert not done.returncode, done.stderr
        return done.stdout

    return run_
