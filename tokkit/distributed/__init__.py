"""Counts words, trains and encodes on many machines, with the same output files as one machine.

`count`, `train` and `encode` run on Ray (ray_pipelines.py). They call plain callables, one call per shard, which any
other engine can run too; begin with shard_jobs.py.
"""

from typing import TYPE_CHECKING

from tokkit import lazy

if TYPE_CHECKING:
    from tokkit.distributed.ray_pipelines import count as count
    from tokkit.distributed.ray_pipelines import encode as encode
    from tokkit.distributed.ray_pipelines import train as train
    from tokkit.distributed.shard_jobs import CountShard as CountShard
    from tokkit.distributed.shard_jobs import EncodeShard as EncodeShard
    from tokkit.distributed.shard_jobs import MergeCounts as MergeCounts

_MODULES = {
    "CountShard": "tokkit.distributed.shard_jobs",
    "EncodeShard": "tokkit.distributed.shard_jobs",
    "MergeCounts": "tokkit.distributed.shard_jobs",
    "count": "tokkit.distributed.ray_pipelines",
    "encode": "tokkit.distributed.ray_pipelines",
    "train": "tokkit.distributed.ray_pipelines",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
