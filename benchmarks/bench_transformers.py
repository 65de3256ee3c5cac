"""Times calls of `tokkit.compat.transformers` beside transformers' fast tokenizers, on one thread.

python -m benchmarks.bench_transformers --file gpt2/tokenizer.json --corpus english-prose,de
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import corpora, harness
from benchmarks.bench_encodings import BATCH_BYTES, BATCH_TEXTS, turns

REAL = ("gpt2", "roberta-base", "bert-base-uncased", "t5", "mistral-v1")
ROLES = {"gpt2": "<|endoftext|>", "bert-base-uncased": "[PAD]", "mistral-v1": "<unk>"}
"""The padding tokens of the files; <pad> for others."""

CALLS: dict[str, tuple[Callable[[Any, list[str]], Any], float, str]] = {
    "padded, numpy": (lambda t, texts: t(texts, padding=True, return_tensors="np"), 1e3, "ms"),
    "padded, torch": (lambda t, texts: t(texts, padding=True, return_tensors="pt"), 1e3, "ms"),
    "padded, cut to 64": (
        lambda t, texts: t(texts, padding="max_length", max_length=64, truncation=True, return_tensors="np"),
        1e3,
        "ms",
    ),
    "lists": (lambda t, texts: t(texts), 1e3, "ms"),
    "offsets": (lambda t, texts: t(texts, return_offsets_mapping=True), 1e3, "ms"),
    "one text": (lambda t, texts: t(texts[0], return_tensors="np"), 1e6, "µs"),
}
"""What is called → the call, and the unit of its times."""


def options() -> harness.Parser:
    """Return the parser of the command line."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    files = [path for name in REAL if (path := corpora.SHARED / "vocabs" / name / "tokenizer.json").is_file()]
    add("--file", type=harness.names, default=files, help="tokenizer.json files")
    add("--corpus", type=harness.names, default=corpora.defaults("english-prose"), help="texts")
    add("--rounds", type=int, default=5, help="rounds, in each of which both have their turn")
    return parser


def main() -> int:
    """Run all calls on all files and texts; return 1 if any ids differ."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    parser = options()
    args = parser.parse_args()
    try:
        texts = [corpora.read(name, 1.0) for name in args.corpus]
    except FileNotFoundError as error:
        parser.error(str(error))
    rows: list[dict[str, object]] = []
    with harness.pinned(1):
        what = f"{BATCH_TEXTS} texts of {BATCH_BYTES} B; medians of the rounds; × = transformers' / ours, in one round"
        harness.show_conditions("1", seconds=what)
        for path in args.file:
            rows += [row for text in texts for row in measured(Path(path), text, args.rounds)]
    harness.show("", rows)
    return int(any(row["differing"] for row in rows))


def measured(path: Path, text: corpora.Corpus, rounds: int) -> list[dict[str, object]]:
    """Return the table's rows of one file and text."""
    import transformers

    from tokkit.compat import transformers as face

    pad = ROLES.get(path.parent.name, "<pad>")
    made = (face, transformers)
    ours, theirs = (one.PreTrainedTokenizerFast(tokenizer_file=str(path), pad_token=pad) for one in made)
    documents = (text.documents(BATCH_BYTES) * BATCH_TEXTS)[:BATCH_TEXTS]
    rows = []
    for name, (call, unit, shown) in CALLS.items():
        mine, wanted = (call(tok, documents)["input_ids"] for tok in (ours, theirs))
        differing = sum(list(a) != list(b) for a, b in zip(mine, wanted, strict=True))
        first, second, times = turns(partial(call, ours, documents), partial(call, theirs, documents), rounds)
        rows.append(
            {
                "file": path.parent.name,
                "text": text.name,
                "what": f"{name}, {shown}",
                "tokkit": f"{first * unit:.2f}",
                "transformers": f"{second * unit:.2f}",
                "tokkit ×": f"{times:.1f}",
                "differing": differing,
            }
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
