"""Times masks of constrained decoding over a vocabulary of 128,000 or 200,000 tokens, beside llguidance and xgrammar.

Texts that satisfy a grammar are followed token by token: the mask of what may come next is computed, and the token is
taken. A compiled grammar follows its texts in turns, the first of them with nothing known. A round times each library
after the other; p50 and p99 are over all tokens of the round, and of rounds the median counts. Time is that of the
thread, so that other work on the machine does not count. Masks are compared with those of llguidance at each step; of
JSON it leaves out the escape of a slash, DEL and names of members in short tokens, and its years have a 29 February.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tokkit
from benchmarks import harness
from tokkit.grammars import Grammar, JsonSchema, Regex, TokenSpellings

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 40}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "born": {"type": "string", "format": "date"}, "about": {"type": "string"},
        "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "maxItems": 3},
        "friends": {"type": "array", "items": {"$ref": "#/$defs/friend"}},
    },
    "required": ["name", "age"], "additionalProperties": False,
    "$defs": {"friend": {"type": "object", "properties": {"name": {"type": "string"}, "score": {"type": "number"}},
                         "required": ["name"], "additionalProperties": False}},
}  # fmt: skip
PEOPLE = [
    {"name": name, "age": age, "born": f"19{age}-02-1{age % 10}", "about": about, "tags": ["red", "blue"][: age % 3],
     "friends": [{"name": f"{name} junior", "score": age / 8}, {"name": "Zoë"}]}
    for name, age, about in [
        ("Ann Lee", 31, "Ann paints \"quiet\" houses,\nand never sells them."),
        ("José", 52, "Drives a bus; café owner."),
        ("Wu 吴", 77, "A retired teacher from 杭州 who still writes letters by hand each morning."), ("Bo", 20, ""),
    ]
]  # fmt: skip
PROSE = ["The quick brown fox jumps over the lazy dog near the river bank", "naïve résumé of a small town in spring"]


class Case(NamedTuple):
    """A grammar for each library, and texts of it."""

    ours: Grammar
    llguidance: tuple[str, Any]
    texts: list[str]


def regex_case(pattern: str, texts: list[str]) -> Case:
    """Return the case of a regular expression."""
    return Case(Regex(pattern), ("regex", pattern), texts)


CASES: dict[str, Case] = {
    "schema": Case(JsonSchema(PERSON), ("json", PERSON), [json.dumps(person, ensure_ascii=False) for person in PEOPLE]),
    "any object": Case(
        JsonSchema({"type": "object"}),
        ("json", {"type": "object"}),
        [json.dumps(p, ensure_ascii=False) for p in PEOPLE],
    ),
    "email": regex_case(r"[a-z0-9._]+@[a-z0-9]+(\.[a-z]{2,6}){1,3}", ["ann.lee_1990@example.co.uk", "jose@bus.org"]),
    "words": regex_case(r"\w+( \w+)*", PROSE),
    "a line": regex_case(r"[^\n]{1,400}", PROSE),
    "fields": regex_case(r"([^,;]*[,;])*[^,;]*", ["12,red;blue sky,,naïve;x", ";".join(PROSE)]),
}


Session = tuple[Callable[[], np.ndarray], Callable[[int], object]]


class Tokkit:
    """Tokkit."""

    def __init__(self, tok: tokkit.Tokenizer) -> None:
        self.tokens = TokenSpellings(tok)

    def compiled(self, case: Case) -> Callable[[], Session]:
        """Return what begins a text."""
        made = case.ours.compile(self.tokens)

        def start() -> Session:
            constraint = made.start()
            return constraint.allowed, constraint.advance

        return start


class LLGuidance:
    """llguidance, with its slices for JSON."""

    def __init__(self, tok: tokkit.Tokenizer) -> None:
        import llguidance.numpy
        from llguidance import LLTokenizer

        ranks = {token: id_ for token, id_ in tok.vocab.items() if id_ not in tok.special_tokens.values()}
        self._tokenizer = LLTokenizer.from_tiktoken(  # type: ignore[attr-defined]
            encoder=ranks, special_tokens=dict(tok.special_tokens), pattern=".*", eos_token=tok.n_ids - 1,
            n_vocab=tok.n_ids, slices=None,
        )  # fmt: skip
        self._mask = llguidance.numpy.allocate_token_bitmask(1, tok.n_ids)

    def compiled(self, case: Case) -> Callable[[], Session]:
        """Return what begins a text."""
        from llguidance import LLMatcher
        from llguidance.numpy import fill_next_token_bitmask

        kind, source = case.llguidance
        made = LLMatcher.grammar_from_regex(source) if kind == "regex" else LLMatcher.grammar_from_json_schema(source)

        def start() -> Session:
            matcher = LLMatcher(self._tokenizer, made)
            assert not matcher.is_error(), matcher.get_error()

            def mask() -> np.ndarray:
                fill_next_token_bitmask(matcher, self._mask, 0)
                return self._mask[0].view(np.uint32)

            return mask, matcher.consume_token

        return start


class XGrammar:
    """xgrammar, which wants torch."""

    def __init__(self, tok: tokkit.Tokenizer) -> None:
        import xgrammar

        spelt = dict(map(reversed, tok.vocab.items()))  # type: ignore[arg-type]
        vocabulary = [spelt.get(id_, b"") for id_ in range(tok.n_ids)]
        info = xgrammar.TokenizerInfo(vocabulary, stop_token_ids=[tok.n_ids - 1])
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self._mask = xgrammar.allocate_token_bitmask(1, tok.n_ids)

    def compiled(self, case: Case) -> Callable[[], Session]:
        """Return what begins a text."""
        import xgrammar

        kind, source = case.llguidance
        if kind == "regex":
            made = self._compiler.compile_regex(source)
        else:
            made = self._compiler.compile_json_schema(json.dumps(source), strict_mode=False)

        def start() -> Session:
            matcher = xgrammar.GrammarMatcher(made)

            def mask() -> np.ndarray:
                matcher.fill_next_token_bitmask(self._mask)
                return self._mask[0].numpy().view(np.uint32)

            return mask, matcher.accept_token

        return start


def run(library: Any, case: Case, texts: list[list[int]]) -> tuple[float, list[float], list[np.ndarray]]:
    """Return (seconds to compile, seconds of each token, masks)."""
    began = time.thread_time()
    start = library.compiled(case)
    compiling = time.thread_time() - began
    seconds, masks = [], []
    for ids in texts:
        mask, advance = start()
        for id_ in ids:
            began = time.thread_time()
            made = mask()
            advance(id_)
            seconds.append(time.thread_time() - began)
            masks.append(made.copy())
            assert made[id_ >> 5] >> (id_ & 31) & 1, (case.ours, id_)
    return compiling, seconds, masks


def first(path: str, n: int) -> tokkit.Tokenizer:
    """Return the tokenizer of the first n ranks of a file, which are merged as in the whole of it."""
    pattern = Path(path).stem.removesuffix("_base")
    with tempfile.TemporaryDirectory() as folder:
        cut = Path(folder) / "first.tiktoken"
        cut.write_bytes(b"\n".join(Path(path).read_bytes().splitlines()[:n]) + b"\n")
        return tokkit.load(cut, pattern=pattern)


def main() -> None:
    """Print a table of each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vocabulary", help="o200k_base.tiktoken or cl100k_base.tiktoken")
    parser.add_argument("--first", type=int, metavar="N", help="take only the first N tokens of the vocabulary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rivals", type=harness.names, default=["llguidance"], help="of llguidance, xgrammar")
    args = parser.parse_args()
    name = args.vocabulary.rpartition("/")[2].partition(".")[0]
    tok = first(args.vocabulary, args.first) if args.first else tokkit.get_encoding(name, path=args.vocabulary)
    rivals = {name: version(name) for name in args.rivals}
    harness.show_conditions(
        "1", clock="of the thread", vocabulary=f"{len(tok):,} tokens", rounds=args.rounds, rivals=rivals
    )
    libraries: dict[str, Any] = {"tokkit": Tokkit(tok)}
    for name, kind in (("llguidance", LLGuidance), ("xgrammar", XGrammar)):
        if name in args.rivals:
            libraries[name] = kind(tok)
    for name, case in CASES.items():
        texts = [tok.encode(text) for text in case.texts]
        found: dict[str, list[Any]] = {library: [] for library in libraries}
        for _ in range(args.rounds):
            for library, made in libraries.items():
                try:
                    found[library].append(run(made, case, texts))
                except Exception as error:  # a rival may refuse a case
                    print(f"{library} fails on {name}: {type(error).__name__}: {str(error)[:200]}")
        rows = [row(library, rounds, found.get("llguidance")) for library, rounds in found.items() if rounds]
        harness.show(f"{name}: {sum(map(len, texts))} tokens", rows)


def row(library: str, rounds: list[Any], reference: list[Any] | None) -> dict[str, object]:
    """Return the figures of one library."""
    percentile = {p: statistics.median(float(np.percentile(r[1], p)) for r in rounds) for p in (50, 90, 99)}
    same = ""
    if reference:
        pairs = zip(rounds[0][2], reference[0][2], strict=True)
        n = min(len(rounds[0][2][0]), len(reference[0][2][0])) - 1  # the last word has the end token
        same = str(sum(not np.array_equal(a[:n], b[:n]) for a, b in pairs))
    return {
        "library": library,
        "compile ms": f"{statistics.median(r[0] for r in rounds) * 1e3:.1f}",
        "p50 µs": f"{percentile[50] * 1e6:.1f}",
        "p90 µs": f"{percentile[90] * 1e6:.1f}",
        "p99 µs": f"{percentile[99] * 1e6:.1f}",
        "all ms": f"{statistics.median(sum(r[1]) for r in rounds) * 1e3:.2f}",
        "other masks": same,
    }


if __name__ == "__main__":
    main()
