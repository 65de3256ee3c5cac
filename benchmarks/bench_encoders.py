"""Times vectors of ModernBERT, GTE and an embedding Qwen 3, beside sentence-transformers.

Weights are random, at the shapes of ModernBERT-base, gte-base-en-v1.5 and a Qwen 3 of 12 layers of 768 columns; the
tokenizer is that of ModernBERT in the folder of shared data. All begin with text and end with vectors of length 1. They
run in one process and take turns; `÷` is the median over the rounds of the rival's seconds by ours: above 1 we are
faster. Seconds are those of the thread's own processor time. Vectors are compared first: a difference is exit status 1.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import corpora, harness
from tokkit import pipeline
from tokkit.corpus import bundled

Encode = Callable[[Sequence[str]], Any]
IDS = {"pad_token_id": 50283, "bos_token_id": 50281, "eos_token_id": 50282}
SHAPES: dict[str, tuple[str, dict[str, Any], str]] = {
    "modernbert": ("modernbert", {}, "mean"),
    "gte": ("gte", {"vocab_size": 50368, **IDS}, "cls"),
    "qwen3": ("qwen3", {"vocab_size": 50368, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                        "num_key_value_heads": 4, "head_dim": 64, "intermediate_size": 2304, **IDS}, "lasttoken"),
}  # fmt: skip
WORK = {"1 x 16": [16], "16 x 128": [128] * 16, "1 x 2048": [2048]}
NEAR = {"fp32": 0.99999, "bf16": 0.9995, "int8": 0.99}
"""The least cosine to the rival's vectors."""


def saved(shape: str, folder: Path, tokenizer: Path) -> Path:
    """Write the folder of a random model as sentence-transformers does, and return it."""
    import sentence_transformers
    import torch
    import transformers

    kind, options, pooling = SHAPES[shape]
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(kind, **options)).eval()
    base = folder / "base"
    model.save_pretrained(base)
    shutil.copy(tokenizer, base / "tokenizer.json")
    names = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "model_max_length": 4096}
    (base / "tokenizer_config.json").write_text(json.dumps(names))
    modules, parts = sentence_transformers.base.modules, sentence_transformers.sentence_transformer.modules
    chain = [modules.Transformer(str(base)), parts.Pooling(model.config.hidden_size, pooling), parts.Normalize()]
    sentence_transformers.SentenceTransformer(modules=chain, device="cpu").save(str(folder / "saved"))
    shutil.rmtree(base)
    return folder / "saved"


def texts_of(lengths: Sequence[int], tokenizer: Any) -> list[str]:
    """Return parts of the bundled corpus that have about so many tokens."""
    ids = tokenizer.encode((bundled.folder() / "english.txt").read_text(encoding="utf-8"))
    made, at = [], 0
    for length in lengths:
        made.append(tokenizer.decode(ids[at : at + length - 2]))
        at = (at + length) % (len(ids) - max(lengths))
    return made


def measure(calls: dict[str, Encode], texts: list[str], rounds: int) -> tuple[dict[str, list[float]], float]:
    """Return the seconds of each round of each, and the least cosine between their vectors."""
    first, second = (np.asarray(call(texts)) for call in calls.values())
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            best = float("inf")
            for _ in range(5 if texts[1:] == [] and len(texts[0]) < 200 else 1):
                start = time.thread_time()
                call(texts)
                best = min(best, time.thread_time() - start)
            seconds[name].append(best)
    return seconds, float((first * second).sum(1).min())


def main() -> int:
    """Run the program."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--shapes", type=harness.names, default=[*SHAPES], help="which models")
    parser.add_argument("--precisions", type=harness.names, default=["fp32", "int8"], help="of ours: fp32, bf16, int8")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    parser.known("shapes", options.shapes, SHAPES)
    parser.known("precisions", options.precisions, NEAR)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import sentence_transformers
    import torch

    torch.set_num_threads(1)
    harness.show_conditions("1 each, processor time of the thread", torch=torch.__version__, rounds=options.rounds)
    fine, rows = True, []
    for shape in options.shapes:
        with tempfile.TemporaryDirectory() as aside:
            folder = saved(shape, Path(aside), corpora.tokenizer_file("modernbert"))
            theirs = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
            for precision in options.precisions:
                ours = pipeline.load(folder, precision=precision)
                calls: dict[str, Encode] = {
                    "tokkit": lambda texts, model=ours: model.encode(texts, threads=1),
                    "sentence-transformers": lambda texts, model=theirs: model.encode(list(texts)),
                }  # fmt: skip
                for work, lengths in WORK.items():
                    seconds, near = measure(calls, texts_of(lengths, ours.tokenizer), options.rounds)
                    fine &= near >= NEAR[precision]
                    median = {name: f"{statistics.median(each) * 1e3:.1f}" for name, each in seconds.items()}
                    rows.append({
                        "model": shape, "precision": precision, "work": work, "tokkit ms": median["tokkit"],
                        "sentence-transformers ms": median["sentence-transformers"],
                        "÷": f"{harness.ratio(seconds['tokkit'], seconds['sentence-transformers']):.2f}",
                        "least cosine": f"{near:.6f}",
                    })  # fmt: skip
                    print(f"# {shape}, {precision}, {work}: done", file=sys.stderr)
    harness.show("", rows)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
