"""Measures what quantized folders cost and save: perplexity beside llama.cpp's Q4_0 and Q8_0, loading, the first token.

Perplexity is of the model of 14M parameters that bench_speculation.py trains with transformers, on text that it has not
seen, in windows. llama.cpp reads the same ids in the same windows from a GGUF file of the same weights; "rounded" is
tokkit at fp32 with weights that were rounded by the rule of the type, activations as they are. Loading, memory and the
first token are of the Llama of 125M of bench_generate.py, with a tokenizer of 32,000 tokens, in new processes, in turn:
processor time until the first token of a prompt, Python and imports included, and the seconds of loading once more.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tokkit
from benchmarks import bench_generate, bench_speculation, corpora, harness, model_rivals
from benchmarks.model_rivals import LlamaCpp
from tokkit import nn, pipeline

WINDOW, PROMPT, VOCAB = 512, 64, 32_000
OURS = {"int4": "Q4_0", "int8": "Q8_0", "int8-weight-only": "Q8_0"}
"""Precision → the type of llama.cpp that it is compared with."""
JOB = """
import json, sys, time
from tokkit import nn, pipeline
import numpy
with nn.threads(1):
    model = pipeline.load(sys.argv[1])
    model.generate_ids([int(id_) for id_ in sys.argv[2].split()], max_new_tokens=1)
    first = time.process_time()
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    began = time.monotonic()
    pipeline.load(sys.argv[1])
told = {"load": time.monotonic() - began, "cpu": first, "peak": int(status["VmHWM"].split()[0]) * 1024}
print(json.dumps(told))
"""
EMPTY = 'print(dict(line.split(":", 1) for line in open("/proc/self/status"))["VmHWM"].split()[0])'


def windows(ids: np.ndarray) -> list[np.ndarray]:
    """Return the windows of a text."""
    return [ids[at : at + WINDOW] for at in range(0, len(ids) - WINDOW + 1, WINDOW)]


def perplexity(logprobs: Callable[[np.ndarray], np.ndarray], ids: np.ndarray) -> float:
    """Return e to the mean of -log p of the tokens of all windows, the first of each left out."""
    return float(np.exp(-np.concatenate([logprobs(each) for each in windows(ids)]).mean()))


def of_llama_cpp(one: LlamaCpp) -> Callable[[np.ndarray], np.ndarray]:
    """Return what gives the log-probabilities of the tokens of a window, but of the first, by llama.cpp."""

    def logprobs(ids: np.ndarray) -> np.ndarray:
        one._clear(one.one)
        batch = one.c.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, id_ in enumerate(ids.tolist()):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = id_, i, 1
            batch.seq_id[i][0], batch.logits[i] = 0, True
        if one.c.llama_decode(one.one, batch):
            raise OSError("llama.cpp could not decode")
        one.c.llama_batch_free(batch)
        logits = np.ctypeslib.as_array(one.c.llama_get_logits(one.one), (len(ids), one.n_vocab)).astype(np.float64)
        logits -= logits.max(1, keepdims=True)
        return (logits[np.arange(len(ids) - 1), ids[1:]] - np.log(np.exp(logits[:-1]).sum(1))).copy()

    return logprobs


def rounded(folder: Path, kind: str, aside: Path) -> Path:
    """Write the model of a folder with matrices rounded by the rule of a type of GGUF."""
    import gguf

    from tokkit.files.safetensors import read_safetensors, write_safetensors

    chosen = gguf.GGMLQuantizationType[kind]
    tensors = {name: np.array(each.float32()) for name, each in read_safetensors(folder / "model.safetensors").items()}
    for name, weight in tensors.items():
        if weight.ndim == 2:
            tensors[name] = gguf.quants.dequantize(gguf.quants.quantize(weight, chosen), chosen).astype(np.float32)
    aside.mkdir(exist_ok=True)
    for name in ("config.json", "tokenizer.json"):
        (aside / name).write_bytes((folder / name).read_bytes())
    write_safetensors(aside / "model.safetensors", tensors, overwrite=True)
    return aside


def qualities(home: Path, tokens: int) -> list[dict[str, object]]:
    """Return a row for each precision, and for llama.cpp."""
    folder = home / "model"

    def of_ours(path: Path, precision: str | None) -> Callable[[np.ndarray], np.ndarray]:
        model = pipeline.load(path, precision=precision)
        assert isinstance(model, pipeline.TextGenerator)
        return model.token_logprobs

    text = corpora.read("english-prose", 8).data.decode()[-200_000:]
    model = pipeline.load(folder)
    assert isinstance(model, pipeline.TextGenerator)
    ids = model.ids(text)[:tokens]
    found = {"tokkit fp32": perplexity(model.token_logprobs, ids)}
    for precision in ("bf16", *OURS):
        found[f"tokkit {precision}"] = perplexity(of_ours(folder, precision), ids)
    rivals = {} if model_rivals.missing("llama.cpp") else {"Q4_0": "Q4_0", "Q8_0": "Q8_0"}
    for kind in rivals:
        found[f"llama.cpp {kind}"] = perplexity(of_llama_cpp(LlamaCpp(folder, kind)), ids)
        found[f"rounded {kind}"] = perplexity(of_ours(rounded(folder, kind, home / kind), None), ids)
    rows = []
    for name, value in found.items():
        row: dict[str, object] = {"model": name, "perplexity": f"{value:.4f}"}
        row["above fp32, %"] = f"{100 * (value / found['tokkit fp32'] - 1):+.3f}"
        of = f"llama.cpp {OURS.get(name.removeprefix('tokkit '))}"
        row["above llama.cpp's, %"] = f"{100 * (value / found[of] - 1):+.3f}" if of in found else ""
        rows.append(row)
    return rows


def loadings(folder: Path, home: Path, rounds: int) -> list[dict[str, object]]:
    """Return a row for each folder: seconds to load it, processor time to its first token, the peak of memory."""
    made = {}
    for precision in ("fp32", "bf16", *OURS):
        made[precision] = home / f"packed-{precision}"
        if not made[precision].exists():
            pipeline.quantize(folder, made[precision], precision=precision)
    ids = " ".join(map(str, range(PROMPT)))
    told: dict[str, list[dict[str, Any]]] = {precision: [] for precision in made}
    for _ in range(rounds + 1):
        for precision, path in made.items():
            output = subprocess.run([sys.executable, "-c", JOB, path, ids], check=True, capture_output=True).stdout
            told[precision].append(json.loads(output))
    python = int(subprocess.run([sys.executable, "-c", EMPTY], check=True, capture_output=True).stdout) * 1024
    rows = []
    for precision, path in made.items():
        middle = {key: statistics.median(each[key] for each in told[precision][1:]) for key in ("load", "cpu", "peak")}
        weights = sum(file.stat().st_size for file in path.glob("*.safetensors"))
        rows.append({
            "folder": precision, "weights, MB": f"{weights / 1e6:.0f}", "load, s": f"{middle['load']:.3f}",
            "first token, CPU s": f"{middle['cpu']:.2f}", "peak, MB": f"{middle['peak'] / 1e6:.0f}",
            "peak without Python ÷ weights": f"{(middle['peak'] - python) / weights:.2f}",
        })  # fmt: skip
    return rows


def main() -> None:
    """Run the benchmark."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--folder", help="where the models are kept")
    parser.add_argument("--steps", type=int, default=300, help="of the training of the small model")
    parser.add_argument("--tokens", type=int, default=20 * WINDOW, help="of the text whose perplexity is measured")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    harness.show_conditions("1", rounds=args.rounds, steps=args.steps)
    with tempfile.TemporaryDirectory() as aside, nn.threads(1):
        home = Path(args.folder or aside)
        bench_speculation.prepare(home, args.steps)
        harness.section("Perplexity")
        print(harness.table(qualities(home, args.tokens)))
        folder = home / "Llama-125M-words"
        if not (folder / "tokenizer.json").exists():
            bench_generate.write_model(bench_generate.SHAPES["Llama 125M"], folder)
            text = corpora.read("english-prose", 8).data.decode()
            tokkit.train(iter([text]), vocab_size=VOCAB).save(folder / "tokenizer.json", overwrite=True)
        harness.section(f"New processes, a prompt of {PROMPT} tokens")
        print(harness.table(loadings(folder, home, args.rounds)))


if __name__ == "__main__":
    main()
