"""Times loading, encodings with offsets, padded batches and added tokens of tokenizer.json files, beside tokenizers.

python -m benchmarks.bench_encodings --file tokenizer.json --corpus english-prose,de,zh
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tokkit
from benchmarks import corpora, harness

PARTS = ("load", "encodings", "face", "batch", "added")
REAL = ("gpt2", "roberta-base", "phi-2", "mistral-v1", "t5", "bert-base-uncased")
BATCH_TEXTS, BATCH_BYTES = 1000, 500
MANY = 5000
"""Added tokens of the part `added`."""


def options() -> harness.Parser:
    """Return the parser of the command line."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    files = [path for name in REAL if (path := corpora.SHARED / "vocabs" / name / "tokenizer.json").is_file()]
    add("--file", type=harness.names, default=files, help="tokenizer.json files")
    add("--corpus", type=harness.names, default=corpora.defaults("english-prose", "de", "zh"), help="texts")
    add("--parts", type=harness.names, default=PARTS, help="what to measure")
    add("--mb", type=float, default=0.4, help="megabytes of each corpus")
    add("--size", type=int, default=2000, help="bytes of a document of the part `encodings`")
    add("--rounds", type=int, default=5, help="rounds, in each of which every contender has its turn")
    return parser


def main() -> int:
    """Run the parts that the command line names; return the exit status."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    parser = options()
    args = parser.parse_args()
    parser.known("parts", args.parts, PARTS)
    try:
        texts = [corpora.read(name, args.mb) for name in args.corpus]
    except FileNotFoundError as error:
        parser.error(str(error))
    if not args.file:
        parser.error("there are no tokenizer.json files here; name some with --file")
    rows: list[dict[str, object]] = []
    with harness.pinned(1):
        harness.show_conditions("1", seconds="medians of the rounds; × = tokenizers' / ours, in the same round")
        for path in args.file:
            rows += [row for part in args.parts for row in RUN[part](path, texts, args)]
    harness.show("", rows)
    return int(any(row["differing"] for row in rows))


def turns(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float, float]:
    """Return (our seconds, theirs, how many times faster we are), each the median over the rounds."""
    seconds: list[tuple[float, float]] = []
    for _ in range(rounds):
        pair = []
        for call in (ours, theirs):
            start = time.perf_counter()
            call()
            pair.append(time.perf_counter() - start)
        seconds.append((pair[0], pair[1]))
    a, b = (statistics.median(side) for side in zip(*seconds, strict=True))
    return a, b, statistics.median(theirs / ours for ours, theirs in seconds)


def row(path: object, what: str, found: tuple[float, float, float], unit: float, differing: int) -> dict[str, object]:
    """Return a line of the table; `unit` turns seconds into what is shown."""
    return {
        "file": Path(str(path)).parent.name or str(path),
        "what": what,
        "tokkit": f"{found[0] * unit:.1f}",
        "tokenizers": f"{found[1] * unit:.1f}",
        "tokkit ×": f"{found[2]:.2f}",
        "differing": differing,
    }


def both(path: object) -> tuple[tokkit.Tokenizer, Any]:
    """Return our tokenizer of a file, and tokenizers'."""
    import tokenizers

    return tokkit.load(str(path)), tokenizers.Tokenizer.from_file(str(path))


def load(path: str, texts: Sequence[corpora.Corpus], args: Any) -> list[dict[str, object]]:
    """Measure loading a file."""
    import tokenizers

    both(path)  # imports
    found = turns(lambda: tokkit.load(path), lambda: tokenizers.Tokenizer.from_file(str(path)), 2 * args.rounds + 1)
    return [row(path, "load, ms", found, 1e3, 0)]


def encodings(path: str, texts: Sequence[corpora.Corpus], args: Any) -> list[dict[str, object]]:
    """Measure encodings of which ids and offsets are taken, one text a call."""
    tok, theirs = both(path)
    rows = []
    for text in texts:
        documents = text.documents(args.size)
        wanted = [theirs.encode(document) for document in documents]
        differing = sum(
            (ours.ids, ours.offsets) != (other.ids, other.offsets)
            for ours, other in zip((tok(d, special="all") for d in documents), wanted, strict=True)
        )

        def ours(documents: list[str] = documents) -> None:
            for document in documents:
                encoding = tok(document, special="all")
                _ = encoding.ids, encoding.offsets

        def others(documents: list[str] = documents) -> None:
            for document in documents:
                encoding = theirs.encode(document)
                _ = encoding.ids, encoding.offsets

        found = turns(ours, others, args.rounds)
        rows.append(row(path, f"{text.name}, µs a text", found, 1e6 / len(documents), differing))
    return rows


def face(path: str, texts: Sequence[corpora.Corpus], args: Any) -> list[dict[str, object]]:
    """Measure encode_batch, with offsets, of compat.tokenizers: alone, and with ids and offsets made lists."""
    from tokkit.compat import tokenizers as compat

    tok, theirs = compat.Tokenizer.from_file(str(path)), both(path)[1]
    for made in (tok, theirs):
        made.no_truncation()
        made.no_padding()

    def read(made: Any, documents: list[str]) -> None:
        for encoding in made.encode_batch(documents):
            _ = encoding.ids, encoding.offsets

    rows = []
    for text in texts:
        documents = text.documents(args.size)
        pairs = zip(tok.encode_batch(documents), theirs.encode_batch(documents), strict=True)
        differing = sum((ours.ids, ours.offsets) != (other.ids, other.offsets) for ours, other in pairs)
        calls: dict[str, Callable[[Any, list[str]], object]] = {
            "compat encode_batch": lambda made, documents: made.encode_batch(documents),
            "compat encode_batch, read": read,
        }
        for what, call in calls.items():
            found = turns(
                lambda call=call, documents=documents: call(tok, documents),
                lambda call=call, documents=documents: call(theirs, documents),
                args.rounds,
            )
            rows.append(row(path, f"{text.name}, {what}, µs a text", found, 1e6 / len(documents), differing))
    return rows


def batch(path: str, texts: Sequence[corpora.Corpus], args: Any) -> list[dict[str, object]]:
    """Measure a padded batch: arrays of ours, encodings of theirs, from which no array has been made yet."""
    tok, theirs = both(path)
    theirs.enable_padding()
    documents = (texts[0].documents(BATCH_BYTES) * BATCH_TEXTS)[:BATCH_TEXTS]
    rows = tok.encode_padded(documents, special="all", padding=tokkit.Padding(), threads=1)
    differing = sum(a != b.ids for a, b in zip(rows.ids.tolist(), theirs.encode_batch(documents), strict=True))
    found = turns(
        lambda: tok.encode_padded(documents, special="all", padding=tokkit.Padding(), threads=1),
        lambda: theirs.encode_batch(documents),
        args.rounds,
    )
    return [row(path, f"{BATCH_TEXTS} × {BATCH_BYTES} B padded, ms", found, 1e3, differing)]


def added(path: str, texts: Sequence[corpora.Corpus], args: Any) -> list[dict[str, object]]:
    """Measure what many added tokens cost text that has none: here × is the time without ÷ the time with them."""
    tok = tokkit.load(path)
    first = tok.n_ids
    more = tuple(tokkit.AddedToken(f"<extra_{i}>", first + i, normalized=False) for i in range(MANY))
    definition = tok.definition
    vocab = definition.vocab.with_tokens({token.id: token.content.encode() for token in more})
    added_ids = definition.added_ids | {token.id for token in more}
    many = tokkit.Tokenizer(
        replace(definition, vocab=vocab, added_tokens=(*definition.added_tokens, *more), added_ids=added_ids)
    )
    rows = []
    for text in texts:
        documents = text.documents(args.size)
        differing = harness.differing([many.encode(d) for d in documents], [tok.encode(d) for d in documents])

        def run(one: tokkit.Tokenizer, documents: list[str] = documents) -> None:
            for document in documents:
                one.encode_to_numpy(document)

        found = turns(lambda: run(many), lambda: run(tok), 3 * args.rounds)
        rows.append(row(path, f"{text.name}, {MANY} added tokens, µs", found, 1e6 / len(documents), differing))
    return rows


RUN = {"load": load, "encodings": encodings, "face": face, "batch": batch, "added": added}

if __name__ == "__main__":
    sys.exit(main())
