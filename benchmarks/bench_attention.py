"""Times attention, matrix products, norms and a transformer layer, beside torch.

Both run in one process and take turns; outputs are compared before anything is timed, and a difference is exit
status 1. `torch ÷` is torch's seconds by ours, above 1 we are faster: of each contender the median call of a round, and
of these ratios the median. `least ÷` is the same of the least call of a round: of what a machine can do when nobody
else has its caches. With one thread seconds are those of the thread's own processor time; numpy is held to one too.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is first imported

import numpy as np

from benchmarks import harness
from tokkit import nn
from tokkit._core.nn import attention as attend_kernel
from tokkit._core.nn.linear import PackedLinear
from tokkit._core.text import isas

Call = Callable[[], Any]
TOLERANCE = 2e-4
ENOUGH_S = 0.4
"""A contender's turn ends after this long, or after 200 calls."""


class Case(NamedTuple):
    """One row: contenders by name, the first of them ours; floors by rival; what one call computes, in flops."""

    name: str
    calls: dict[str, Call]
    floors: dict[str, float]
    flops: float


def draw(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return normal numbers, the same at each run."""
    return np.random.default_rng(shape).standard_normal(shape, dtype=np.float32)


def attention_cases(torch: Any) -> Iterator[Case]:
    """Yield full and causal attention, then decoding."""
    sdpa = torch.nn.functional.scaled_dot_product_attention
    sizes = [
        ((1, 12, 128, 64), 1.2, 1.5), ((1, 12, 512, 64), 1.2, 2.0), ((1, 12, 2048, 64), 1.2, 1.4),
        ((1, 32, 4096, 128), 1.1, 1.2), ((32, 12, 128, 32), 1.3, 2.3),
    ]  # fmt: skip
    for shape, *floors in sizes:
        for causal, floor in zip((False, True), floors, strict=True):
            q, k, v = draw(*shape), draw(*shape)[::-1].copy(), draw(*shape)[:, ::-1].copy()
            out = np.empty_like(q)
            tensors = [torch.from_numpy(x) for x in (q, k, v)]
            band = (0, attend_kernel.FAR, 0 if causal else attend_kernel.FAR)
            calls: dict[str, Call] = {
                "tokkit": lambda q=q, k=k, v=v, c=causal, out=out: nn.attention(q, k, v, is_causal=c, out=out),
                "torch": lambda t=tensors, c=causal: sdpa(*t, is_causal=c),
            }
            for isa in set(isas()) & {"avx2"}:
                calls[isa] = lambda q=q, k=k, v=v, out=out, band=band, isa=isa: _by_isa(q, k, v, out, band, isa)
            flops = 4.0 * np.prod(shape) * shape[2] / (2 if causal else 1)
            yield Case(f"attention {shape} {'causal' if causal else 'full'}", calls, {"torch": floor}, flops)
    for heads, kv_heads, floors_ in ((32, 32, {"torch": 2.2}), (32, 8, {"torch": 3.0, "torch grouped": 1.4})):
        q, k, v = draw(1, heads, 1, 128), draw(1, kv_heads, 2048, 128), draw(1, kv_heads, 2048, 128)[:, :, ::-1].copy()
        t = [torch.from_numpy(x) for x in (q, k, v)]
        grouped = t[0].reshape(1, kv_heads, heads // kv_heads, 128)
        out = np.empty_like(q)
        calls = {
            "tokkit": lambda q=q, k=k, v=v, out=out: nn.attention(q, k, v, out=out),
            "torch": lambda t=t, g=heads != kv_heads: sdpa(*t, enable_gqa=g),
        }
        if heads != kv_heads:
            calls["torch grouped"] = lambda g=grouped, t=t, shape=q.shape: sdpa(g, t[1], t[2]).reshape(shape)
        yield Case(f"decode, 2048 cached, heads {heads}/{kv_heads}", calls, floors_, 4.0 * heads * 2048 * 128)


def _by_isa(q: Any, k: Any, v: Any, out: Any, band: tuple[int, int, int], isa: str) -> Any:
    attend_kernel.attend(q, k, v, out, q.shape[3] ** -0.5, band, isa=isa)
    return out


def linear_cases(torch: Any) -> Iterator[Case]:
    """Yield x Wᵀ + b for many and few rows; numpy is the rival at 4096, and our own float32 that of int8."""
    for k, n in ((384, 1536), (1536, 384), (768, 3072)):
        w, b = draw(n, k) / np.float32(k**0.5), draw(n)
        layer, eight, packed = nn.Linear(w, b), nn.Linear(w, b, dtype="int8"), PackedLinear(w, b)
        tw, tb, turned = torch.from_numpy(w), torch.from_numpy(b), np.ascontiguousarray(w.T)
        for m, floor in ((2, 1.3), (4, 1.3), (8, 1.3), (16, 1.3), (32, 1.2), (64, 1.15), (128, 1.05), (4096, 0.0)):
            x, y = draw(m, k), np.empty((m, n), dtype=np.float32)
            tx = torch.from_numpy(x)
            calls: dict[str, Call] = {
                "tokkit": lambda x=x, y=y, layer=layer: layer(x, out=y),
                "torch": lambda tx=tx, tw=tw, tb=tb: torch.nn.functional.linear(tx, tw, tb),
            }
            floors = {"torch": floor} if floor else {"numpy": 1.0}
            if m == 4096:
                calls["numpy"] = lambda x=x, y=y, b=b, turned=turned: np.add(np.matmul(x, turned, out=y), b, out=y)
            if m == 16:
                z = np.empty_like(y)
                calls["int8"] = lambda x=x, z=z, eight=eight: eight(x, out=z)
                floors["int8"] = 2.5
            for isa in set(isas()) & {"avx2"}:
                calls[isa] = lambda x=x, y=y, packed=packed, isa=isa: packed.run(x, y, isa=isa) or y
            yield Case(f"linear {m} x {k} -> {n}", calls, floors, 2.0 * m * n * k)


def row_cases(torch: Any) -> Iterator[Case]:
    """Yield norms, softmax, GELU and RoPE over (32, 128, 384), and an encoder layer of 16 tokens."""
    f, x, more, w, b = torch.nn.functional, draw(32, 128, 384), draw(32, 128, 384)[::-1].copy(), draw(384), draw(384)
    t, tmore, tw, tb = (torch.from_numpy(a) for a in (x, more, w, b))
    out = np.empty_like(x)
    norm = nn.LayerNorm({"weight": w, "bias": b}, dim=384)
    yield Case(
        "add + layer norm",
        {"tokkit": lambda: norm(x, residual=more, out=out), "torch": lambda: f.layer_norm(t + tmore, (384,), tw, tb)},
        {"torch": 1.8}, 0,
    )  # fmt: skip
    yield Case(
        "softmax", {"tokkit": lambda: nn.softmax(x, out=out), "torch": lambda: torch.softmax(t, -1)}, {"torch": 1.5}, 0
    )
    yield Case(
        "bias + GELU",
        {"tokkit": lambda: nn.activate(x, "gelu", bias=b, out=out), "torch": lambda: f.gelu(t + tb)},
        {"torch": 1.3}, 0,
    )  # fmt: skip
    rope, where = nn.Rope(nn.RopeConfig(head_dim=384)), np.arange(128)
    cosines, sines = (torch.from_numpy(np.concatenate([a, a], axis=-1)) for a in rope.angles(where))

    def rotated() -> Any:
        return t * cosines + torch.cat((-t[..., 192:], t[..., :192]), -1) * sines

    wide, to = x[:, None], out[:, None]
    yield Case("RoPE", {"tokkit": lambda: rope(wide, where, out=to)[:, 0], "torch": rotated}, {"torch": 1.5}, 0)
    config = nn.TransformerConfig(dim=384, n_heads=12)
    weights = {n.removeprefix("layers.0."): a for n, a in nn.initial(config.shapes(), seed=0, std=0.05).items()}
    ours, theirs = nn.EncoderLayer(config, weights), torch.nn.TransformerEncoderLayer(384, 12, 1536, 0.0, f.gelu)
    names = {"self_attn.out_proj": "attention.o", "linear1": "feed_forward.up", "linear2": "feed_forward.down"}
    state = {f"{name}.{part}": weights[f"{own}.{part}"] for name, own in names.items() for part in ("weight", "bias")}
    for part in ("weight", "bias"):
        state[f"self_attn.in_proj_{part}"] = np.concatenate([weights[f"attention.{n}.{part}"] for n in "qkv"])
    theirs.load_state_dict({n: torch.from_numpy(np.ascontiguousarray(a)) for n, a in state.items()}, strict=False)
    theirs = theirs.eval()
    torch.backends.mha.set_fastpath_enabled(False)  # the eager layer
    sixteen = draw(1, 16, 384)
    column = torch.from_numpy(sixteen).transpose(0, 1).contiguous()
    yield Case(
        "post-norm encoder layer, 16 tokens",
        {"tokkit": lambda: ours(sixteen), "torch": lambda: theirs(column).transpose(0, 1)}, {"torch": 2.0}, 0,
    )  # fmt: skip


class Turn(NamedTuple):
    """Seconds of one call within a contender's turn."""

    median: float
    least: float


def turn(call: Call, clock: Callable[[], float]) -> Turn:
    """Let a contender have its turn."""
    seconds, end = [], time.perf_counter() + ENOUGH_S
    for _ in range(200):
        start = clock()
        call()
        seconds.append(clock() - start)
        if time.perf_counter() > end:
            break
    return Turn(statistics.median(seconds), min(seconds))


def measure(case: Case, rounds: int, clock: Callable[[], float]) -> tuple[dict[str, object], bool]:
    """Return the row of a case, and whether all gave the same output."""
    results = {name: np.array(call(), copy=True) for name, call in case.calls.items()}
    reference = results["torch"]
    far = {
        n: float(np.abs(a.astype(np.float64) - reference).max())
        for n, a in results.items()
        if n not in ("torch", "int8")
    }
    turns: dict[str, list[Turn]] = {name: [] for name in case.calls}
    for _ in range(rounds):
        for name, call in case.calls.items():
            turns[name].append(turn(call, clock))
    medians = {name: [t.median for t in of] for name, of in turns.items()}
    leasts = {name: [t.least for t in of] for name, of in turns.items()}
    ours = statistics.median(medians["tokkit"])
    row: dict[str, object] = {
        "work": case.name, "tokkit ms": f"{ours * 1e3:.3f}",
        "GF": f"{case.flops / ours / 1e9:.0f}" if case.flops else "",
    }  # fmt: skip
    for rival in ("torch", "torch grouped", "numpy", "int8", "avx2"):
        if rival not in turns:
            row[f"{rival} ÷"] = ""
            continue
        ratio = harness.ratio(medians["tokkit"], medians[rival])
        if rival in ("int8", "avx2"):  # ours ÷ theirs: how much faster int8 is; what part of the speed AVX2 keeps
            ratio = 1 / ratio
        floor = case.floors.get(rival)
        row[f"{rival} ÷"] = f"{ratio:.2f}" + ("" if floor is None else f" (floor {floor})")
        if rival == "torch":
            row["least ÷"] = f"{harness.ratio(leasts['tokkit'], leasts['torch']):.2f}"
    row["max |difference|"] = f"{max(far.values()):.1e}"
    return row, max(far.values()) < TOLERANCE


def memory() -> str:
    """Return by how much a process grows in causal attention over 32,768 tokens, T × T being 4 GiB a head."""
    # Not ru_maxrss: a child begins with its parent's.
    code = (
        "import numpy as np\nfrom tokkit import nn\nq = np.ones((1, 1, 32768, 64), np.float32)\n"
        "def peak(): return int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
        "nn.attention(q[:, :, :64], q[:, :, :64], q[:, :, :64])\n"
        "before = peak()\nnn.attention(q, q, q, is_causal=True)\nprint((peak() - before) / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return f"causal attention (1, 1, 32768, 64), 8 MiB an array: peak {float(done.stdout):.1f} MiB more than before it"


def main() -> int:
    """Run the program."""
    parser = harness.Parser(__doc__)
    parts: Mapping[str, Any] = {"attention": attention_cases, "linear": linear_cases, "rows": row_cases}
    parser.add_argument("--parts", type=harness.names, default=[*parts, "threads", "memory"], help="what to measure")
    parser.add_argument("--only", default="", help="only rows whose name holds this")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    parser.known("parts", options.parts, [*parts, "threads", "memory"])
    try:
        import torch
    except ImportError:
        parser.error("torch is not installed: pip install '.[parity]'")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    harness.show_conditions("1 each, processor time of the thread", torch=torch.__version__, rounds=options.rounds)
    fine = True
    for part, cases in parts.items():
        rows = []
        for case in cases(torch) if part in options.parts else ():
            if options.only in case.name:
                with nn.threads(1):
                    row, same = measure(case, options.rounds, time.thread_time)
                rows.append(row)
                fine &= same
                print(f"# {case.name}: done", file=sys.stderr)
        if rows:
            harness.show("", rows)
    if "threads" in options.parts:
        q, times = draw(1, 12, 2048, 64), dict[int, list[float]]()
        for _ in range(options.rounds):
            for n in (1, 2):
                with nn.threads(n):
                    times.setdefault(n, []).append(turn(lambda: nn.attention(q, q, q), time.perf_counter).least)
        print(f"two threads, attention (1, 12, 2048, 64): {harness.ratio(times[2], times[1]):.2f} times one's speed")
        print(f"  (best of each: {min(times[1]) / min(times[2]):.2f})")
    if "memory" in options.parts:
        print(memory())
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
