"""Times text → ids by the whole pipelines of tokenizer.json files, beside tokenizers.

Each round loads a fresh tokenizer, encodes all documents once (cold) and again (warm); tokenizers, which is that much
slower, encodes one document of 16 in the same round. Medians of rounds. Exit status 1 if ids are wrong anywhere.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

import tokenizers

import tokkit
from benchmarks import corpora, harness

RIVAL_SHARE = 16
"""tokenizers encodes one document of so many."""


def run(path: Path, corpus: corpora.Corpus, *, size: int, rounds: int, passes: int) -> dict[str, object]:
    """Return the row of one file and corpus."""
    documents = corpus.documents(size)
    some = documents[::RIVAL_SHARE]
    rival = tokenizers.Tokenizer.from_file(str(path))
    rival.no_padding()
    rival.no_truncation()
    n_bytes, n_some = (sum(len(text.encode()) for text in texts) for texts in (documents, some))
    cold, warm, theirs, wrong = [], [], [], 0
    for number in range(rounds):
        tok = tokkit.load(path)
        tok.encode("Warm up.")
        seconds, first = harness.timed(tok.encode_to_numpy, documents)
        cold.append(n_bytes / seconds / 1e6)
        for _ in range(passes):
            seconds, later = harness.timed(tok.encode_to_numpy, documents)
            warm.append(n_bytes / seconds / 1e6)
        seconds, found = harness.timed(lambda text: rival.encode(text, add_special_tokens=False), some)
        theirs.append(n_some / seconds / 1e6)
        if not number:
            right = [encoding.ids for encoding in found]
            wrong = sum(
                harness.differing([ids.tolist() for ids in ours[::RIVAL_SHARE]], right) for ours in (first, later)
            )
    return {
        "file": path.parent.name,
        "corpus": corpus.name,
        "cold MB/s": f"{median(cold):.0f}",
        "warm MB/s": f"{median(warm):.0f}",
        "tokenizers MB/s": f"{median(theirs):.2f}",
        "cold × tokenizers": f"{median(cold) / median(theirs):.0f}",
        "warm × tokenizers": f"{median(warm) / median(theirs):.0f}",
        "differing documents": wrong,
    }


def main() -> int:
    """Run what the command line names; return the exit status."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    names = "bert-base-uncased,clip,falcon,gpt-neox,mistral-v1,phi-3,roberta-base,t5,xlnet"
    add("--model", type=harness.names, default=names, help="folders, or tokenizer.json files")
    add("--corpus", type=harness.names, default=",".join(corpora.defaults("english-prose", "zh", "ja")), help="names")
    add("--mb", type=float, default=1.0, help="megabytes of each corpus")
    add("--doc", type=float, default=2, help="kB of a document")
    add("--rounds", type=int, default=5, help="rounds, each with a fresh tokenizer")
    add("--passes", type=int, default=3, help="later (warm) passes of a round")
    args = parser.parse_args()
    try:
        paths = [corpora.tokenizer_file(name) for name in args.model]
        texts = [corpora.read(name, args.mb) for name in args.corpus]
    except FileNotFoundError as error:
        parser.error(str(error))
    with harness.pinned(1):
        harness.show_conditions("1", documents=f"{args.doc:g} kB")
        rows = [
            run(path, text, size=int(args.doc * 1000), rounds=args.rounds, passes=args.passes)
            for path in paths
            for text in texts
        ]
    harness.show("", rows)
    return 1 if any(row["differing documents"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
