"""Times decoding beside caches of float32, bfloat16 and int8, and one layer's attention to 1,024 and 4,096 tokens.

The model is the Llama of 125M of bench_generate.py with random weights. `share` is how much of a token's time goes to
what it costs more at LONG cached tokens than at SHORT; `attention` is one call of the kernel for 12 query and 4 key
heads of 64, over as many layers in turn as do not fit in the caches of the CPU, and `warm` over one. Contenders take
turns in each round; medians are shown, and the least.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import harness
from tokkit import nn
from tokkit._core.nn.attention import FAR, attend
from tokkit.nn.decoder_cache import DTYPES, CacheLayer, DecoderCache
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.nn.rope import RopeConfig
from tokkit.nn.text_decoder import TextDecoder

SHORT, LONG, STEPS = 16, 1000, 16
HEADS, KV_HEADS, SIZE = 12, 4, 64
COLD_BYTES, CALLS = 128 << 20, 50
Work = Callable[[], float]


def attention(dtype: str, tokens: int, layers: int) -> Work:
    """Return what attends with one query to so many tokens, once in each layer."""
    cache = DecoderCache(n_layers=layers, kv_heads=KV_HEADS, head_dim=SIZE, capacity=tokens, dtype=dtype)
    rng = np.random.default_rng(0)
    for layer in range(layers):
        cache.packed.write(layer, 0, *rng.standard_normal((2, tokens, KV_HEADS, SIZE), dtype=np.float32))
    cache.length = tokens
    held: list[CacheLayer] = list(cache.held())
    calls = max(layers, CALLS)
    calls -= calls % layers
    q = rng.standard_normal((1, HEADS, 1, SIZE), dtype=np.float32)
    out = np.empty_like(q)

    def work() -> float:
        start = harness.now()
        for keys, values, k_scales, v_scales in held * (calls // layers):
            attend(
                q, keys[None], values[None], out, SIZE**-0.5, (tokens - 1, FAR, 0), k_scales=k_scales, v_scales=v_scales
            )
        return (harness.now() - start) / calls

    return work


def decoders(dtype: str) -> dict[str, TextDecoder]:
    """Return the model with matrices of a type, for each type of cache."""
    layers = nn.TransformerConfig(
        dim=768, n_heads=HEADS, n_kv_heads=KV_HEADS, n_layers=12, hidden_dim=2048, activation="swiglu", norm="rms",
        pre_norm=True, causal=True, rope=RopeConfig(head_dim=SIZE), dtype=dtype,
    )  # fmt: skip
    config = DecoderConfig(layers=layers, vocab_size=32000, tied=True)
    made = TextDecoder(config, nn.initial(config.shapes(), seed=0))
    return {cache: made.with_cache(cache) for cache in DTYPES}


def decoding(decoder: TextDecoder, tokens: int) -> Work:
    """Return what decodes STEPS tokens after so many."""
    ids = np.random.default_rng(0).integers(0, 32000, tokens)
    full = decoder.cache(capacity=tokens + STEPS)
    decoder([ids], [full])

    def work() -> float:
        full.truncate(tokens)
        start = harness.now()
        for _ in range(STEPS):
            decoder.logits(decoder([[5]], [full])).argmax()
        return (harness.now() - start) / STEPS

    return work


def rounds_of(works: dict[Any, Work], rounds: int) -> dict[Any, list[float]]:
    """Return seconds of each contender, which take turns."""
    seconds: dict[Any, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            seconds[name].append(work())
    return seconds


def main() -> None:
    """Run the benchmark."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--precision", default="int8", help="of the matrices")
    args = parser.parse_args()
    harness.show_conditions("1", rounds=args.rounds)
    with nn.threads(1):
        works: dict[Any, Work] = {}
        for tokens in (1024, 4096):
            for dtype in DTYPES:
                size = DecoderCache(n_layers=1, kv_heads=KV_HEADS, head_dim=SIZE, capacity=tokens, dtype=dtype).nbytes
                works[tokens, dtype, "cold"] = attention(dtype, tokens, COLD_BYTES // size)
                works[tokens, dtype, "warm"] = attention(dtype, tokens, 1)
        found = rounds_of(works, args.rounds)
        rows = [
            {"tokens": tokens, "cache": dtype, "layers": warm, "µs": f"{statistics.median(taken) * 1e6:.0f}",
             "least": f"{min(taken) * 1e6:.0f}"}
            for (tokens, dtype, warm), taken in found.items()
        ]  # fmt: skip
        harness.section("attention of one layer")
        print(harness.table(rows))
        made = decoders({"fp32": "float32", "bf16": "bfloat16"}.get(args.precision, args.precision))
        works = {(tokens, dtype): decoding(decoder, tokens) for dtype, decoder in made.items()
                 for tokens in (SHORT, LONG)}  # fmt: skip
        found = rounds_of(works, args.rounds)
        rows = []
        for dtype in DTYPES:
            short, long = (statistics.median(found[tokens, dtype]) for tokens in (SHORT, LONG))
            rows.append({"cache": dtype, f"tokens/s at {SHORT}": f"{1 / short:.1f}",
                         f"at {LONG}": f"{1 / long:.1f}", "best": f"{1 / min(found[LONG, dtype]):.1f}",
                         "share": f"{1 - short / long:.2f}"})  # fmt: skip
        harness.section(f"decoding, {args.precision} matrices")
        print(harness.table(rows))


if __name__ == "__main__":
    main()
