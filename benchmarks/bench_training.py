"""Times steps of training of GPT-2-shaped models of 1.3M and 13.9M parameters, beside torch eager on one thread.

Both begin with the same weights and learn the same batches; before any time is taken, the losses of the first steps
are compared. A round times a step of each in turns; `--clock cpu` is for a busy machine. Peak memory and the seconds
from the start of a process to the beginning and the end of its first step are of processes of their own. torch's model
is plain: one product for queries, keys and values, its fused attention, and AdamW with fused=True.
"""

from __future__ import annotations

import functools
import json
import re
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness


@dataclass(frozen=True)
class Shape:
    """Sizes of a model, and of a step."""

    layers: int
    dim: int
    heads: int
    vocab_size: int
    context: int
    batch: int

    def ids(self, step: int) -> np.ndarray:
        """Return the batch of a step."""
        return np.random.default_rng(step).integers(0, self.vocab_size, (self.batch, self.context + 1))


SHAPES = {"1.3M": Shape(4, 128, 4, 4096, 128, 16), "13.9M": Shape(6, 384, 6, 8192, 256, 8)}
LR, DECAY, MAX_NORM, COMPARED, MEMORY_STEPS = 1e-3, 0.1, 1.0, 4, 4
Step = Callable[[int], float]


def ours(shape: Shape, threads: int = 1, precision: str = "fp32") -> tuple[Step, Any]:
    """Return what does a step of ours, and its weights."""
    from tokkit import nn
    from tokkit.nn.grad import CausalLM
    from tokkit.nn.optim import AdamW

    layers = nn.TransformerConfig(
        dim=shape.dim, n_heads=shape.heads, n_layers=shape.layers, activation="gelu_tanh", pre_norm=True, causal=True
    )
    config = nn.DecoderConfig(layers=layers, vocab_size=shape.vocab_size, positions=shape.context, tied=True)
    model = CausalLM(config, seed=0, precision=precision)
    optimizer = AdamW(model.parameters, lr=LR, weight_decay=DECAY, max_norm=MAX_NORM)

    def step(number: int) -> float:
        with nn.threads(threads):
            loss = model.forward_backward(shape.ids(number))
            optimizer.step()
        return loss

    return step, model.parameters


def torch_eager(shape: Shape, threads: int = 1, weights: Any = None, autocast: bool = False) -> tuple[Step, Any]:
    """Return what does a step of torch, beginning with these weights."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(threads)
    torch.manual_seed(0)

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention_norm = torch.nn.LayerNorm(shape.dim)
            self.qkv = torch.nn.Linear(shape.dim, 3 * shape.dim)
            self.o = torch.nn.Linear(shape.dim, shape.dim)
            self.feed_forward_norm = torch.nn.LayerNorm(shape.dim)
            self.up = torch.nn.Linear(shape.dim, 4 * shape.dim)
            self.down = torch.nn.Linear(4 * shape.dim, shape.dim)

        def forward(self, x: Any) -> Any:
            batch, n, _ = x.shape
            q, k, v = self.qkv(self.attention_norm(x)).view(batch, n, 3, shape.heads, -1).permute(2, 0, 3, 1, 4)
            made = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.o(made.transpose(1, 2).reshape(batch, n, -1))
            return x + self.down(functional.gelu(self.up(self.feed_forward_norm(x)), approximate="tanh"))

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.word = torch.nn.Embedding(shape.vocab_size, shape.dim)
            self.position = torch.nn.Embedding(shape.context, shape.dim)
            self.layers = torch.nn.ModuleList([Block() for _ in range(shape.layers)])
            self.norm = torch.nn.LayerNorm(shape.dim)

        def forward(self, ids: Any) -> Any:
            x = self.word(ids) + self.position.weight[: ids.shape[1]]
            for layer in self.layers:
                x = layer(x)
            return functional.linear(self.norm(x), self.word.weight)

    model = Model()
    if weights is not None:
        model.load_state_dict({name: torch.from_numpy(array) for name, array in for_torch(weights, shape).items()})
    decayed = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": decayed, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=LR, betas=(0.9, 0.95), eps=1e-8, fused=True)

    def step(number: int) -> float:
        ids = torch.from_numpy(shape.ids(number))
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            logits = model(ids[:, :-1])
            loss = functional.cross_entropy(logits.reshape(-1, shape.vocab_size).float(), ids[:, 1:].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimizer.step()
        return float(loss.detach())

    return step, model


def for_torch(weights: Any, shape: Shape) -> dict[str, np.ndarray]:
    """Return our weights under the names of torch's model."""
    made = {name: np.array(weights[name]) for name in ("word.weight", "position.weight", "norm.weight", "norm.bias")}
    for i in range(shape.layers):
        for kind in ("weight", "bias"):
            name = f"layers.{i}.{{}}.{kind}".format
            made[name("qkv")] = np.concatenate([weights[name(f"attention.{part}")] for part in "qkv"])
            made[name("o")] = np.array(weights[name("attention.o")])
            for norm in ("attention_norm", "feed_forward_norm"):
                made[name(norm)] = np.array(weights[name(norm)])
            for part in ("up", "down"):
                made[name(part)] = np.array(weights[name(f"feed_forward.{part}")])
    return made


CONTENDERS: dict[str, Callable[..., tuple[Step, Any]]] = {
    "tokkit": ours,
    "torch eager": torch_eager,
    "tokkit bf16": functools.partial(ours, precision="bf16"),
    "torch bf16 autocast": functools.partial(torch_eager, autocast=True),
}


def compare(name: str, shape: Shape, rounds: int, autocast: bool) -> None:
    """Compare losses, then time steps in turns; memory and the first step in processes of their own."""
    mine, weights = ours(shape)
    steps = {"tokkit": mine, "torch eager": torch_eager(shape, weights=weights)[0]}
    for number in range(COMPARED):
        losses = {contender: step(number) for contender, step in steps.items()}
        if abs(losses["tokkit"] - losses["torch eager"]) > 1e-4 * losses["tokkit"]:
            sys.exit(f"{name}: the losses of step {number} differ: {losses}")
    if autocast:
        steps["tokkit bf16"] = ours(shape, precision="bf16")[0]
        steps["torch bf16 autocast"] = torch_eager(shape, weights=ours(shape)[1], autocast=True)[0]
        for number in range(COMPARED):
            losses = {contender: step(number) for contender, step in list(steps.items())[2:]}
            if abs(losses["tokkit bf16"] - losses["torch bf16 autocast"]) > 1e-2 * losses["tokkit bf16"]:
                sys.exit(f"{name}: the losses of step {number} differ: {losses}")
    seconds: dict[str, list[float]] = {contender: [] for contender in steps}
    for number in range(COMPARED, COMPARED + rounds):
        for contender, step in steps.items():
            seconds[contender].append(harness.timed(step, [number])[0])
    rows = []
    for contender, taken in seconds.items():
        row = {
            "contender": contender,
            "tokens/s": f"{shape.batch * shape.context / statistics.median(taken):,.0f}",
            "tokkit ×": f"{harness.ratio(seconds['tokkit'], taken):.2f}",
            "bf16 ×": f"{harness.ratio(seconds['tokkit bf16'], taken):.2f}" if autocast else "",
            "±": harness.spread(taken),
            "peak MB": "",
            "first step begins, s": "",
            "ends, s": "",
        }
        if contender in CONTENDERS:
            alone = harness.child("benchmarks.bench_training", {"of": contender, "shape": name}, threads=1, timeout=900)
            row["peak MB"] = alone.get("error") or f"{alone['peak']:,.0f}"
            if "error" not in alone:
                row["first step begins, s"] = f"{alone['begun'] - alone['started']:.1f}"
                row["ends, s"] = f"{alone['first'] - alone['started']:.1f}"
        rows.append(row)
    harness.section(f"{name}: {shape}")
    harness.show("", rows)


def alone(job: dict[str, str]) -> None:
    """Do some steps of one contender, and print its peak memory and when its first step was done."""
    step, _ = CONTENDERS[job["of"]](SHAPES[job["shape"]])
    begun = time.time()
    step(0)
    first = time.time()
    for number in range(1, MEMORY_STEPS):
        step(number)
    print(json.dumps({"begun": begun, "first": first, "peak": peak_bytes() / 1e6}))


def peak_bytes() -> float:
    """Return the most memory that this process had; on Linux, getrusage would count the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(re.findall(r"VmHWM:\s+(\d+)", status.read_text())[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def scaling(rounds: int) -> None:
    """Print what two threads gain, and that their bits are those of one."""
    rows = []
    for name, shape in SHAPES.items():
        made = [ours(shape, threads) for threads in (1, 2)]
        seconds: list[list[float]] = [[], []]
        for number in range(rounds):
            for (step, _), taken in zip(made, seconds, strict=True):
                taken.append(harness.timed(step, [number])[0])
        equal = np.array_equal(made[0][1].data, made[1][1].data)
        rows.append({"shape": name, "2 threads ×": f"{harness.ratio(seconds[1], seconds[0]):.2f}", "equal bits": equal})
    harness.section("threads")
    harness.show("", rows)


def main() -> None:
    """Run the benchmark."""
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        alone(json.loads(sys.argv[1]))
        return
    parser = harness.Parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shape", choices=list(SHAPES), action="append")
    parser.add_argument("--autocast", action="store_true", help="time bf16 of both, too")
    parser.add_argument("--threads", action="store_true", help="time ours on two threads, and nothing else")
    args = parser.parse_args()
    harness.show_conditions("1", rounds=args.rounds)
    if args.threads:
        scaling(args.rounds)
        return
    for name in args.shape or SHAPES:
        compare(name, SHAPES[name], args.rounds, args.autocast)


if __name__ == "__main__":
    main()
