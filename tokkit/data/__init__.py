"""Shards of ids: documents are encoded into files by `encode_shards`, and read in batches by `Tokens`.

Input: texts and a tokenizer. Output: files of ids with a manifest, and batches for training. Begin with encoding.py and
tokens.py; writers.py has the formats, packing.py the packed rows, torch_dataset.py the dataset for torch.
"""

from typing import TYPE_CHECKING

from tokkit import lazy

if TYPE_CHECKING:
    from tokkit.data.batches import Batch as Batch
    from tokkit.data.batches import TokenBatches as TokenBatches
    from tokkit.data.encoding import EncodedShard as EncodedShard
    from tokkit.data.encoding import encode_shards as encode_shards
    from tokkit.data.tokens import Tokens as Tokens
    from tokkit.data.torch_dataset import TorchTokens as TorchTokens

_MODULES = {
    "Batch": "tokkit.data.batches",
    "EncodedShard": "tokkit.data.encoding",
    "TokenBatches": "tokkit.data.batches",
    "Tokens": "tokkit.data.tokens",
    "TorchTokens": "tokkit.data.torch_dataset",
    "encode_shards": "tokkit.data.encoding",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
