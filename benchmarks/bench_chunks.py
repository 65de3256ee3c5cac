"""Times cutting text into chunks beside semchunk and langchain-text-splitters with tiktoken, at the same limits.

Every round takes another document, which no contender has seen, and the contenders take turns; their warm-up is one
document more. `ours ×` is the median over the rounds of theirs ÷ ours. All chunks are counted with tiktoken: how many
have more tokens than the limit is shown for each contender. Exit status 1: one of tokkit's has, or a count of tokkit's
is wrong, or a document's text is not covered. langchain-tokens is its TokenTextSplitter, which cuts anywhere, also
inside words and characters: what tiktoken's encoding alone takes.
"""

from __future__ import annotations

import importlib.metadata
import statistics
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import corpora, harness, rivals

LIMITS = "128,512,2048"
OURS = "tokkit"

Cut = Callable[[str], list[str]]


def tokkit(tok: Any, encoding: Any, limit: int, at: str) -> Cut:
    """Chunks by tokkit; `at` is the pause."""
    from tokkit.chunks import chunk

    return lambda text: [part.text for part in chunk(text, tok, tokens=limit, at=at)]  # type: ignore[arg-type]


def semchunk(tok: Any, encoding: Any, limit: int, at: str) -> Cut:
    """semchunk, with tiktoken's encoding as its own documentation gives it."""
    import semchunk

    return partial(semchunk.chunkerify(encoding, limit))


def langchain(tok: Any, encoding: Any, limit: int, at: str) -> Cut:
    """LangChain's recursive splitter, with its separators of Python for code."""
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    options: Any = {
        "chunk_size": limit,
        "chunk_overlap": 0,
        "length_function": lambda text: len(encoding.encode_ordinary(text)),
    }
    if at == "code":
        return RecursiveCharacterTextSplitter.from_language(Language.PYTHON, **options).split_text
    return RecursiveCharacterTextSplitter(**options).split_text


def langchain_tokens(tok: Any, encoding: Any, limit: int, at: str) -> Cut:
    """LangChain's splitter by tokens."""
    from langchain_text_splitters.base import Tokenizer, split_text_on_tokens

    by = Tokenizer(chunk_overlap=0, tokens_per_chunk=limit, encode=encoding.encode_ordinary, decode=encoding.decode)
    return lambda text: split_text_on_tokens(text=text, tokenizer=by)


CONTENDERS = {OURS: tokkit, "semchunk": semchunk, "langchain": langchain, "langchain-tokens": langchain_tokens}


def above(chunks: list[str], encoding: Any, limit: int) -> int:
    """Return how many chunks have more tokens than the limit."""
    return sum(len(encoding.encode_ordinary(text)) > limit for text in chunks)


def right(text: str, tok: Any, encoding: Any, limit: int, at: str) -> bool:
    """Return whether tokkit's counts are tiktoken's, and its chunks are all of the text but white space."""
    from tokkit.chunks import chunk

    done = 0
    for part, start, end, n_tokens in chunk(text, tok, tokens=limit, at=at):  # type: ignore[arg-type]
        if len(encoding.encode_ordinary(part)) != n_tokens or text[done:start].strip() or text[start:end] != part:
            return False
        done = end
    return not text[done:].strip()


def measured(documents: list[str], tok: Any, encoding: Any, limit: int, at: str) -> tuple[list[dict[str, str]], bool]:
    """Time all contenders on the documents, the first of which warms them up; return their rows."""
    cuts: dict[str, Cut] = {}
    for name, make in CONTENDERS.items():
        try:
            cuts[name] = make(tok, encoding, limit, at)
        except ImportError as error:
            print(f"# {name} is absent: {rivals.reason(error)}")
    seconds: dict[str, list[float]] = {name: [] for name in cuts}
    n_chunks, n_above, fine = dict.fromkeys(cuts, 0), dict.fromkeys(cuts, 0), True
    for number, document in enumerate(documents):
        for name, cut in cuts.items():
            own = document.encode().decode()  # whose UTF-8 nobody has asked for
            took, (chunks,) = harness.timed(cut, [own])
            n_above[name] += above(chunks, encoding, limit)
            n_chunks[name] += len(chunks)
            if number:
                seconds[name].append(took)
        fine &= right(document, tok, encoding, limit, at)
    megabytes = statistics.median(len(document.encode()) for document in documents[1:]) / 1e6
    rows = [
        {
            "chunks": name,
            "limit": str(limit),
            "MB/s": f"{megabytes / statistics.median(took):.1f}",
            "tokkit ×": f"{harness.ratio(seconds[OURS], took):.1f}",
            "±": harness.spread(took),
            "chunks made": f"{n_chunks[name]:,}",
            "above the limit": f"{n_above[name]:,}",
        }
        for name, took in seconds.items()
    ]
    return rows, fine and not n_above[OURS]


def main() -> int:
    """Run the program."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--vocab", default="cl100k_base")
    parser.add_argument("--corpus", default="english-prose,english-technical,zh,code")
    parser.add_argument("--limits", default=LIMITS, help="tokens of a chunk, separated by commas")
    parser.add_argument("--kilobytes", type=int, default=400, help="UTF-8 of a document")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    import tokkit

    path = corpora.vocabulary(options.vocab)
    encoding = rivals.tiktoken_encoding(path)
    versions = {}
    for name in ("semchunk", "langchain-text-splitters"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    fine = True
    with harness.pinned(1):
        harness.show_conditions(
            "1", rounds=options.rounds, document=f"{options.kilobytes} kB, new each round", **versions
        )
        for name in harness.names(options.corpus):
            corpus = corpora.read(name, options.kilobytes * (options.rounds + 2) / 1e3)
            documents = corpus.documents(options.kilobytes * 1000)[: options.rounds + 1]
            at, rows = "code" if name == corpora.CODE else "paragraph", []
            for limit in map(int, harness.names(options.limits)):
                # A fresh one: its cache would have the words of the last limit's documents.
                found, good = measured(documents, tokkit.load(path), encoding, limit, at)
                rows += found
                fine &= good
            harness.show(f'{name}, {options.vocab}, at="{at}"', rows)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
