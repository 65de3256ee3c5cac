"""Times BERT tokenizers: ids, encodings, padded batches, threads and long words, beside rivals.

Ids are compared first: "differing" are the documents that are not as tokenizers has them (flash-tokenizer has some).
Rivals that are not installed are left out, and a line says so. Exit status 1 if anything of ours differs.

python -m benchmarks.bench_bert --vocab bert-base-uncased/vocab.txt --corpus english-prose,de,fr,zh,ja,ko
"""

from __future__ import annotations

import functools
import importlib.metadata
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tokkit
from benchmarks import corpora, harness

PARTS = ("ids", "encodings", "batch", "threads", "long")
LONGEST = 1 << 20
"""Tokens that flash-tokenizer does not cut a document to."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
LONG = 10**6
ROW = dict[str, object]


def ours(vocab: str) -> Callable[[str], Any]:
    """tokkit: ids without special tokens."""
    return tokkit.load(vocab).encode_to_numpy


def tokenizers(vocab: str) -> Callable[[str], Any]:
    """The class for BERT that tokenizers has."""
    from tokenizers import BertWordPieceTokenizer

    made = BertWordPieceTokenizer(vocab, lowercase=True)
    return lambda text: made.encode(text, add_special_tokens=False).ids


def flash(vocab: str) -> Callable[[str], Any]:
    """flash-tokenizer, which puts [CLS] and [SEP] around all it encodes."""
    from flash_tokenizer import BertTokenizerFlash

    made = BertTokenizerFlash(vocab, do_lower_case=True, model_max_length=LONGEST)
    encode = made.tokenizer.encode
    return lambda text: encode(text, "longest", LONGEST)[1:-1]


def nanotoken(vocab: str) -> Callable[[str], Any]:
    """nanotoken: arrays."""
    import nanotoken

    made = nanotoken.Tokenizer.from_vocab(vocab)
    return functools.partial(made.encode, add_special_tokens=False)


RIVALS = {"tokkit": ours, "tokenizers": tokenizers, "flash-tokenizer": flash, "nanotoken": nanotoken}


def options() -> harness.Parser:
    """Return the parser of the command line."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    vocab = corpora.SHARED / "vocabs" / "bert-base-uncased" / "vocab.txt"
    add("--vocab", default=str(vocab) if vocab.is_file() else None, help="a vocab.txt, for text in lower case")
    six = corpora.defaults("english-prose", "de", "fr", "zh", "ja", "ko")
    add("--corpus", type=harness.names, default=",".join(six), help="texts")
    add("--parts", type=harness.names, default=",".join(PARTS), help="what to measure")
    add("--mb", type=float, default=2.0, help="megabytes of each corpus")
    add("--size", type=int, default=2000, help="bytes of a document")
    add("--rounds", type=int, default=3, help="rounds, in each of which every contender has its turn")
    return parser


def main() -> int:
    """Run the parts that the command line names; return the exit status."""
    parser = options()
    args = parser.parse_args()
    parser.known("parts", args.parts, PARTS)
    if args.vocab is None or not Path(args.vocab).is_file():
        parser.error("there is no vocab.txt here; name one with --vocab")
    try:
        texts = [corpora.read(name, args.mb) for name in args.corpus]
    except FileNotFoundError as error:
        parser.error(str(error))
    wrong = 0
    with harness.pinned(1):
        harness.show_conditions("1, but for the part `threads`", documents=f"{args.size} B", vocabulary=args.vocab)
        for part in [part for part in args.parts if part != "threads"]:
            wrong += show(part, RUN[part](texts, args))
    if "threads" in args.parts:
        with harness.pinned(2):
            wrong += show("threads", threads(texts, args))
    return int(wrong > 0)


def show(part: str, rows: Sequence[ROW]) -> int:
    """Print a table; return how many documents of ours differ."""
    harness.show(part, rows)
    return sum(int(str(row["differing"])) for row in rows if row.get("who", "tokkit") == "tokkit")


def here(*names: str) -> list[str]:
    """Return the contenders that are installed; a line says which are not."""
    found = ["tokkit"]
    for name in names:
        try:
            print(f"# {name} {importlib.metadata.version(name)}")
            found.append(name)
        except importlib.metadata.PackageNotFoundError:
            print(f"# {name} is not installed")
    return found


def ids(texts: Sequence[corpora.Corpus], args: Any) -> list[ROW]:
    """Measure text to ids: the first pass of a fresh tokenizer (cold), later ones (warm), unseen text (new)."""
    names, rows = here("tokenizers", "flash-tokenizer", "nanotoken"), []
    for text in texts:
        timings = {name: harness.Timing() for name in names}
        fresh = functools.partial(text.documents, args.size)
        for _ in range(args.rounds):
            for name, timing in timings.items():
                timing.round(lambda name=name: RIVALS[name](args.vocab), fresh, 3)
        documents = fresh()
        reference = RIVALS[names[min(1, len(names) - 1)]](args.vocab)
        right = [reference(document) for document in documents]
        mine = timings["tokkit"]
        for name, timing in timings.items():
            call = RIVALS[name](args.vocab)
            rows.append(
                {
                    "corpus": text.name,
                    "who": name,
                    "warm MB/s": f"{text.megabytes / min(timing.warm):.1f}",
                    "tokkit × warm": f"{harness.ratio(mine.warm, timing.warm):.1f}",
                    "new MB/s": f"{text.megabytes / min(timing.new):.1f}",
                    "tokkit × new": f"{harness.ratio(mine.new, timing.new):.1f}",
                    "cold MB/s": f"{text.megabytes / min(timing.cold):.1f}",
                    "tokkit × cold": f"{harness.ratio(mine.cold, timing.cold):.1f}",
                    "documents": len(documents),
                    "differing": harness.differing([call(document) for document in documents], right),
                }
            )
    return rows


def turns(calls: Sequence[Callable[[], object]], rounds: int) -> tuple[list[float], float]:
    """Return the least seconds of each call, and how many times faster the first is than the last (median)."""
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, times in zip(calls, seconds, strict=True):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return [min(times) for times in seconds], harness.ratio(seconds[0], seconds[-1])


def columns(encoding: Any) -> tuple[list[Any], ...]:
    """Return what a model and a reader of spans want of an encoding, as lists."""
    masks = encoding.attention_mask, encoding.special_tokens_mask, encoding.type_ids
    return encoding.ids, encoding.offsets, *masks


def encodings(texts: Sequence[corpora.Corpus], args: Any) -> list[ROW]:
    """Measure encodings, a text a call, of which ids, offsets, masks and type ids are taken as lists."""
    from tokenizers import BertWordPieceTokenizer

    tok, rival = tokkit.load(args.vocab), BertWordPieceTokenizer(args.vocab, lowercase=True)
    rows: list[ROW] = []
    for text in texts:
        documents = text.documents(args.size)
        differing = sum(columns(tok(d, special="all")) != columns(rival.encode(d)) for d in documents)

        def mine(documents: list[str] = documents) -> None:
            for document in documents:
                columns(tok(document, special="all"))

        def theirs(documents: list[str] = documents) -> None:
            for document in documents:
                columns(rival.encode(document))

        found, times = turns([mine, theirs], args.rounds)
        rows.append(row(text.name, "µs a text", [1e6 / len(documents) * s for s in found], times, differing))
    return rows


def row(corpus: str, what: str, found: Sequence[float], times: float, differing: int, rival: str = "tokenizers") -> ROW:
    """Return a line of a table of two contenders."""
    figures = {"tokkit": f"{found[0]:.1f}", "rival": f"{found[1]:.1f}", "who else": rival, "tokkit ×": f"{times:.2f}"}
    return {"corpus": corpus, "what": what, **figures, "differing": differing}


def sentences(text: corpora.Corpus, n: int = 1000) -> list[str]:
    """Return the first `n` sentences of a corpus."""
    found = (part.strip() for part in SENTENCE_END.split(text.data.decode()))
    return [part for part in found if 10 <= len(part) <= 1000][:n]


def batch(texts: Sequence[corpora.Corpus], args: Any) -> list[ROW]:
    """Measure 1,000 sentences to padded arrays of numpy, beside transformers' fast tokenizer."""
    if "transformers" not in here("transformers"):
        return []
    from transformers import BertTokenizerFast

    tok = tokkit.load(args.vocab)
    rival = BertTokenizerFast.from_pretrained(str(Path(args.vocab).parent))
    padding = tokkit.Padding(pad_id=rival.pad_token_id)
    rows: list[ROW] = []
    for text in texts:
        given = sentences(text)

        def mine(given: list[str] = given) -> Any:
            return tok.encode_padded(given, special="all", padding=padding, threads=1)

        def theirs(given: list[str] = given) -> Any:
            return rival(given, padding=True, return_tensors="np")

        wanted, made = theirs(), mine()
        same = made.ids.shape == wanted["input_ids"].shape
        differing = int((made.ids != wanted["input_ids"]).any(axis=1).sum()) if same else len(given)
        differing += int((made.attention_mask != wanted["attention_mask"]).any()) if same else 0
        found, times = turns([mine, theirs], 3 * args.rounds)
        rows.append(
            row(text.name, f"{len(given)} sentences, ms", [1e3 * s for s in found], times, differing, "transformers")
        )
    return rows


def threads(texts: Sequence[corpora.Corpus], args: Any) -> list[ROW]:
    """Measure a batch with one thread and with two: "rival" is one thread."""
    tok = tokkit.load(args.vocab)
    rows: list[ROW] = []
    for text in texts:
        documents = text.documents(args.size) * 8
        one, two = (tok.encode_batch(documents, threads=n) for n in (1, 2))
        calls = [lambda d=documents, n=n: tok.encode_batch(d, threads=n) for n in (2, 1)]
        found, times = turns(calls, 5 * args.rounds)
        differing = int(not (np.array_equal(one[0], two[0]) and np.array_equal(one[1], two[1])))
        rows.append(
            row(text.name, f"{len(documents)} texts, ms", [1e3 * s for s in found], times, differing, "one thread")
        )
    return rows


def long(texts: Sequence[corpora.Corpus], args: Any) -> list[ROW]:
    """Measure a "word" of a megabyte beside text of that size: × is how many times longer a byte of it takes."""
    tok = tokkit.load(args.vocab)
    plain = (texts[0].data.decode() * (LONG // len(texts[0].data) + 1))[:LONG]
    rows: list[ROW] = []
    for name, word in (
        ("a", "a"),
        ("é", "é"),
        ("中", "中"),
        ("한", "한"),
        ("mark", "\u0301"),
        ("digits", "0123456789"),
    ):
        text = word * (LONG // len(word.encode()))
        found, _ = turns([lambda t=text: tok.encode_to_numpy(t), lambda: tok.encode_to_numpy(plain)], 3 * args.rounds)
        each = found[0] / len(text.encode()), found[1] / len(plain.encode())
        rows.append(row(name, "1 MB word, ms", [1e3 * s for s in found], each[0] / each[1], 0, texts[0].name))
    return rows


RUN: dict[str, Callable[[Sequence[corpora.Corpus], Any], list[ROW]]] = {
    "ids": ids,
    "encodings": encodings,
    "batch": batch,
    "long": long,
}

if __name__ == "__main__":
    sys.exit(main())
