"""Estimates the memory of a model and its caches, before it is allocated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tokkit.errors import OptionError
from tokkit.nn.decoder_cache import layer_bytes
from tokkit.nn.decoder_config import DecoderConfig
from tokkit.nn.text_decoder import TextDecoder

BYTES = {"float32": 4.0, "bfloat16": 2.0, "int8": 1.0, "int8-weight-only": 1.125, "int4": 0.5625}
"""Bytes of a number of a packed matrix, with the scales of its group."""
MEMINFO = "/proc/meminfo"
GROUPS = (("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
          ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"))  # fmt: skip
"""Files that say how much memory a container may take, and takes."""


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """The memory of a model: `weights` in bytes, and that of a cache for some tokens.

    Files of weights are mapped. Their pages can be given back after loading, and do not count.
    """

    weights: int
    config: DecoderConfig
    cache_dtype: str

    def cache(self, tokens: int) -> int:
        """Return the bytes of a cache for this number of tokens."""
        return cache_bytes(self.config, self.cache_dtype, tokens)

    @property
    def cache_per_token(self) -> int:
        """The bytes that each token takes in a cache, of a text that is short for all windows."""
        return self.cache(1)

    def __str__(self) -> str:
        return f"weights {shown(self.weights)}, cache {shown(self.cache_per_token)} a token"


def cache_bytes(config: DecoderConfig, dtype: str, tokens: int) -> int:
    """Return the bytes of a cache for this number of tokens."""
    c = config.layers
    windows = config.windows or (None,) * c.n_layers
    return sum(layer_bytes(c.kv_heads, c.head_size, dtype=dtype, windows=windows, tokens=tokens))


def estimate(config: DecoderConfig, *, cache_dtype: str = "float32") -> MemoryEstimate:
    """Return the memory of a model: all matrices at the precision of its layers, the rest as float32.

    The head counts as a matrix of its own, because it is packed even if the table of tokens is mapped.
    """
    shapes = config.shapes()
    by = BYTES.get(config.layers.dtype, BYTES["float32"])
    weights = sum(
        _product(shape) * (by if len(shape) == 2 and name.endswith("weight") else 4)
        for name, shape in shapes.items() if name not in ("word.weight", "head.weight")
    )  # fmt: skip
    head = _product(shapes["word.weight"]) * by if config.head else 0
    return MemoryEstimate(int(weights + head), config, cache_dtype)


def _product(shape: tuple[int, ...]) -> int:
    made = 1
    for size in shape:
        made *= size
    return made


def available() -> int | None:
    """Return the available bytes of memory of the machine or of the container; None if unknown."""
    known = []
    try:
        for line in Path(MEMINFO).read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                known.append(int(line.split()[1]) << 10)
    except (OSError, ValueError, IndexError):
        pass
    for most, taken in GROUPS:
        try:
            known.append(max(int(Path(most).read_text(encoding="ascii")) - int(Path(taken).read_text("ascii")), 0))
        except (OSError, ValueError):
            continue
    return min(known, default=None)


def check_model(config: DecoderConfig, where: str) -> MemoryEstimate:
    """Return the memory of a model; OptionError if its weights need more than is available."""
    made = estimate(config)
    check_weights(made.weights, f"at {config.layers.dtype}", where)
    return made


def check_weights(n: int, how: str, where: str) -> None:
    """Raise OptionError if weights of `n` bytes need more memory than is available; `how` names their precision."""
    free = available()
    if free is not None and n > free:
        raise OptionError(
            f"{where}: the weights need {shown(n)} of memory {how}, but {shown(free)} are available; load it with a "
            "smaller precision"
        )


def check_cache(decoder: TextDecoder, tokens: int, *, texts: int = 1) -> None:
    """Raise OptionError if the caches of this number of texts and tokens need more memory than is available."""
    needed = cache_bytes(decoder.config, decoder.cache_dtype, tokens) * texts
    # What a small cache takes is not worth a look at the system.
    if needed < SMALL:
        return
    free = available()
    if free is not None and needed > free:
        of = f"{texts} texts" if texts > 1 else "a text"
        raise OptionError(
            f"the cache of {of} of {tokens} tokens needs {shown(needed)} of memory as {decoder.cache_dtype}, but "
            f"{shown(free)} are available; give a smaller max_new_tokens, or load the model with cache='int8'"
        )


SMALL = 64 << 20


def shown(n: int) -> str:
    """Return a number of bytes with a unit.

    >>> shown(1536), shown(5 << 30)
    ('1.5 KiB', '5.0 GiB')
    """
    size, unit = float(n), 0
    while size >= 1024 and unit < 3:
        size, unit = size / 1024, unit + 1
    return f"{n} bytes" if not unit else f"{size:.1f} {('', 'KiB', 'MiB', 'GiB')[unit]}"
