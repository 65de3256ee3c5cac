"""Times sparse, linear and latent attention beside torch, transformers and our own dense kernel, on one thread.

Outputs are compared before anything is timed, and a difference is exit status 1. All contenders run in one process
and take turns; `÷` is a rival's seconds by ours, of each contender the median call of a round, and of the rounds'
ratios the median. Seconds are those of the thread's own processor time. Pin it: `taskset -c 1`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is first imported

import numpy as np

from benchmarks import harness
from tokkit import nn

Call = Callable[[], Any]
ENOUGH_S = 0.4
"""A contender's turn ends after this long, or after 30 calls."""
HEADS, HEAD_DIM, WINDOW = 12, 64, 512


class Case(NamedTuple):
    """One row: ours, rivals by name, promised ratios, and what ours must equal; errors are in its deviations."""

    name: str
    ours: Call
    rivals: dict[str, Call]
    floors: dict[str, float]
    expected: Call
    tolerance: float = 2e-4


def draw(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return normal numbers, the same at each run."""
    return np.random.default_rng(shape).standard_normal(shape, dtype=np.float32)


def heads_of(length: int) -> tuple[Any, ...]:
    """Return queries, keys and values (1, H, T, D), and an array for outputs."""
    q, k, v = (draw(3, 1, HEADS, length, HEAD_DIM)[i] for i in range(3))
    return q, k, v, np.empty_like(q)


def window_case(torch: Any, length: int) -> Case:
    """Return a causal sliding window, beside torch with the mask."""
    q, k, v, out = heads_of(length)
    distance = np.arange(length, dtype=np.int32)[:, None] - np.arange(length, dtype=np.int32)
    mask = torch.from_numpy((distance >= 0) & (distance < WINDOW))[None, None]
    tensors = [torch.from_numpy(x) for x in (q, k, v)]
    lists = nn.BlockMask(length, [nn.SlidingWindow(WINDOW)], is_causal=True)

    def theirs() -> Any:
        return torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=mask)

    def own_window() -> Any:
        return nn.attention(q, k, v, is_causal=True, window=WINDOW, out=out)

    return Case(
        f"sliding window {WINDOW}, causal, {length} tokens", lambda: nn.sparse_attention(q, k, v, lists, out=out),
        {"torch": theirs, "own window": own_window}, {"torch": 12.0}, theirs,
    )  # fmt: skip


def blocks_case(torch: Any, length: int) -> Case:
    """Return a tenth of all blocks at random, beside our dense kernel."""
    q, k, v, out = heads_of(length)
    lists = nn.BlockMask(length, [nn.RandomBlocks(round(length / 64 / 10), seed=0)])

    def expected() -> Any:
        tensors = [torch.from_numpy(x) for x in (q, k, v)]
        mask = torch.from_numpy(lists.dense())[None]
        return torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=mask)

    return Case(
        f"{lists.density:.1%} of the blocks, {length} tokens", lambda: nn.sparse_attention(q, k, v, lists, out=out),
        {"own dense": lambda: nn.attention(q, k, v, out=out)}, {"own dense": 5.0}, expected,
    )  # fmt: skip


def linear_case(torch: Any, length: int, features: nn.RandomFeatures | None) -> Case:
    """Return causal linear attention, beside our softmax kernel and the plain chunked form in torch."""
    q, k, v, out = heads_of(length)
    tensors = [torch.from_numpy(x) for x in (q, k, v)]
    matrix = None if features is None else torch.from_numpy(features.matrix)

    def made(x: Any, keys: bool) -> Any:
        if matrix is None:
            return torch.nn.functional.elu(x) + 1
        logits = (x * HEAD_DIM**-0.25) @ matrix.T
        if keys:
            logits = logits - x.square().sum(-1, keepdim=True) * (0.5 * HEAD_DIM**-0.5)
            return torch.exp(logits - logits.amax((-1, -2), keepdim=True))
        return torch.exp(logits - logits.amax(-1, keepdim=True))

    def chunked() -> Any:
        # Chunks of 64: each one's own triangle, and the sum of all states before it.
        parts = [x.reshape(1, HEADS, -1, 64, x.shape[-1]) for x in (made(tensors[0], False), made(tensors[1], True))]
        (a, b), c = parts, tensors[2].reshape(1, HEADS, -1, 64, HEAD_DIM)
        states, sums = b.transpose(-1, -2) @ c, b.sum(-2)
        before, sums_before = states.cumsum(2) - states, sums.cumsum(2) - sums
        weights = (a @ b.transpose(-1, -2)).tril()
        divisors = weights.sum(-1) + (a @ sums_before[..., None])[..., 0]
        return ((weights @ c + a @ before) / divisors[..., None]).reshape(1, HEADS, -1, HEAD_DIM)

    name = "elu + 1" if features is None else f"{features.n_features} random features"
    return Case(
        f"linear, {name}, causal, {length} tokens",
        lambda: nn.linear_attention(q, k, v, features=features or "elu", is_causal=True, out=out),
        {"torch chunked": chunked, "own softmax": lambda: nn.attention(q, k, v, is_causal=True, out=out)},
        {"torch chunked": 2.0, "own softmax": 15.0} if features is None else {}, chunked, 1e-3,
    )  # fmt: skip


def latent_case(torch: Any, cached: int) -> Case:
    """Return a decoding step of one layer of DeepSeek-V2-Lite's shape, beside transformers' layer with its cache."""
    import transformers
    from transformers.models.deepseek_v2 import modeling_deepseek_v2 as deepseek

    rope = nn.RopeConfig(head_dim=64, interleaved=True)
    config = nn.LatentConfig(dim=2048, n_heads=16, nope_dim=128, v_dim=128, kv_rank=512, rope=rope)
    weights = nn.initial(config.shapes(), seed=0)
    theirs = transformers.DeepseekV2Config(
        hidden_size=2048, num_attention_heads=16, num_key_value_heads=16, qk_nope_head_dim=128, qk_rope_head_dim=64,
        v_head_dim=128, kv_lora_rank=512, q_lora_rank=None, head_dim=64,
    )  # fmt: skip
    theirs._attn_implementation = "sdpa"
    layer = deepseek.DeepseekV2Attention(theirs, 0).eval()
    names = {
        "q": "q_proj", "kv_a": "kv_a_proj_with_mqa", "kv_norm": "kv_a_layernorm", "kv_b": "kv_b_proj", "o": "o_proj"
    }  # fmt: skip
    state = {f"{names[n.partition('.')[0]]}.weight": torch.from_numpy(w) for n, w in weights.items()}
    layer.load_state_dict(state)
    ours, latents, x = nn.MultiHeadLatentAttention(config, weights), draw(1, 1, cached, 576), draw(1, 1, 2048)
    cache, cache_of_theirs, token = nn.KVCache(), transformers.DynamicCache(), torch.from_numpy(x)
    cache.append(latents, latents[..., :0])
    cache_of_theirs.update(torch.from_numpy(latents[..., :512]), torch.from_numpy(latents[..., 512:]), 0)
    turned = deepseek.DeepseekV2RotaryEmbedding(theirs)(token, torch.tensor([[cached]]))

    def step() -> Any:
        made = layer(token, position_embeddings=turned, attention_mask=None, past_key_values=cache_of_theirs)[0]
        cache_of_theirs.crop(-1)
        return made

    # Our cache grows with each call, by at most some hundred tokens in a run; theirs is cut back.
    return Case(
        f"latent attention, one token, {cached} cached", lambda: ours(x, cache=cache), {"transformers": step},
        {"transformers": 2.0}, step,
    )  # fmt: skip


def cases(torch: Any, length: int) -> Iterator[Case]:
    """Yield all rows."""
    yield latent_case(torch, 4096)
    yield linear_case(torch, length, None)
    yield linear_case(torch, length, nn.RandomFeatures(HEAD_DIM, 256, seed=0))
    yield blocks_case(torch, length)
    yield window_case(torch, length)


def turn(call: Call) -> float:
    """Return the median seconds of a contender's turn."""
    seconds, end = [], time.perf_counter() + ENOUGH_S
    while len(seconds) < 30 and (not seconds or time.perf_counter() < end):
        start = time.thread_time()
        call()
        seconds.append(time.thread_time() - start)
    return statistics.median(seconds)


def measure(case: Case, rounds: int) -> tuple[dict[str, object], bool]:
    """Return the row of a case, and whether outputs are equal."""
    expected = np.asarray(case.expected())
    far = float(np.abs(np.asarray(case.ours()) - expected).max() / expected.std())
    turns: dict[str, list[float]] = {"tokkit": [], **{name: [] for name in case.rivals}}
    for _ in range(rounds):
        for name, call in {"tokkit": case.ours, **case.rivals}.items():
            turns[name].append(turn(call))
    row: dict[str, object] = {"work": case.name, "tokkit ms": f"{statistics.median(turns['tokkit']) * 1e3:.2f}"}
    found = []
    for name in case.rivals:
        floor = f" (floor {case.floors[name]:g})" if name in case.floors else ""
        found.append(f"{name} {harness.ratio(turns['tokkit'], turns[name]):.2f}{floor}")
    row["rival ÷ tokkit"] = ", ".join(found)
    row["max |difference| / std"] = f"{far:.1e}"
    return row, far < case.tolerance


def memory(length: int) -> str:
    """Return by how much a process grows in a sliding window over `length` tokens."""
    # Not ru_maxrss: a child begins with its parent's.
    code = (
        "import numpy as np\nfrom tokkit import nn\n"
        f"q = np.ones((1, {HEADS}, {length}, {HEAD_DIM}), np.float32)\nout = np.ones_like(q)\n"
        "def peak(): return int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
        f"before = peak()\nmask = nn.BlockMask({length}, [nn.SlidingWindow({WINDOW})], is_causal=True)\n"
        "nn.sparse_attention(q, q, q, mask, out=out)\nprint((peak() - before) / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    whole, each = HEADS * length * length * 4 / 2**20, HEADS * length * HEAD_DIM * 4 / 2**20
    return (
        f"sliding window {WINDOW}, {length} tokens, {each:.0f} MiB an array: with the making of its mask at the peak "
        f"{float(done.stdout):.1f} MiB more than before; all scores would be {whole:,.0f} MiB"
    )


def main() -> int:
    """Run the program."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--only", default="", help="only rows whose name holds this")
    parser.add_argument("--length", type=int, default=16384, help="tokens, a multiple of 64")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        parser.error("torch is not installed: pip install '.[parity]'")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    harness.show_conditions("1 each, processor time of the thread", torch=torch.__version__, rounds=options.rounds)
    rows, fine = [], True
    for case in cases(torch, options.length):
        if options.only not in case.name:
            continue
        with nn.threads(1):
            row, same = measure(case, options.rounds)
        rows.append(row)
        fine &= same
        print(f"# {case.name}: done", file=sys.stderr)
    harness.show("", rows)
    print(memory(options.length))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
