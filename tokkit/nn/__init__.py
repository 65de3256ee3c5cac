"""Ids to vectors to logits on a CPU: attention, positions, layers, norms and losses over numpy arrays.

Configuration (frozen dataclasses), weights (name → array) and state (caches, running statistics) are separate; nothing
here opens a file. Results are float32; threads exist only during a call (`threads`).
"""

from tokkit.nn.additive import AdditiveAttention
from tokkit.nn.arrays import current_threads, initial, threads
from tokkit.nn.attention import DistanceBias, attention, scaled_dot_product_attention
from tokkit.nn.config import TransformerConfig
from tokkit.nn.cross_memory import Memory
from tokkit.nn.decoder_cache import DecoderCache
from tokkit.nn.decoder_config import DecoderConfig, ExpertsConfig
from tokkit.nn.dual_chunk import dual_chunk_attention
from tokkit.nn.embedding import Embedding
from tokkit.nn.feed_forward import FeedForward
from tokkit.nn.functional import (
    activate,
    dropout,
    gated,
    gelu,
    layer_norm,
    log_softmax,
    relu,
    rms_norm,
    silu,
    softmax,
)
from tokkit.nn.generation import Sampling
from tokkit.nn.kv_cache import KVCache
from tokkit.nn.latent_attention import LatentConfig, MultiHeadLatentAttention
from tokkit.nn.layers import Decoder, DecoderLayer, Encoder, EncoderLayer, LMHead
from tokkit.nn.linear import Linear
from tokkit.nn.linear_attention import LinearState, RandomFeatures, linear_attention
from tokkit.nn.losses import cross_entropy
from tokkit.nn.multi_head import GroupedQueryAttention, MultiHeadAttention, MultiQueryAttention, SelfAttention
from tokkit.nn.multi_head_variants import LinearMultiHeadAttention, SparseMultiHeadAttention
from tokkit.nn.norms import BatchNorm, BatchNormState, LayerNorm, RMSNorm
from tokkit.nn.positions import (
    LearnedPositions,
    RelativeBias,
    alibi,
    alibi_slopes,
    relative_buckets,
    sinusoidal,
    with_positions,
)
from tokkit.nn.recurrence import MemoryTokens, RelativeAttention, SegmentMemory, relative_attention
from tokkit.nn.rope import Rope, RopeConfig, converted_base, inverse_frequencies, log_n_scale
from tokkit.nn.seq2seq import Seq2Seq
from tokkit.nn.sinks import SinkCache, sink_attention
from tokkit.nn.sparse import BlockMask, GlobalTokens, RandomBlocks, SlidingWindow, Strided, sparse_attention
from tokkit.nn.text_decoder import TextDecoder

__all__ = [
    "AdditiveAttention",
    "BatchNorm",
    "BatchNormState",
    "BlockMask",
    "Decoder",
    "DecoderCache",
    "DecoderConfig",
    "DecoderLayer",
    "DistanceBias",
    "Embedding",
    "Encoder",
    "EncoderLayer",
    "ExpertsConfig",
    "FeedForward",
    "GlobalTokens",
    "GroupedQueryAttention",
    "KVCache",
    "LMHead",
    "LatentConfig",
    "LayerNorm",
    "LearnedPositions",
    "Linear",
    "LinearMultiHeadAttention",
    "LinearState",
    "Memory",
    "MemoryTokens",
    "MultiHeadAttention",
    "MultiHeadLatentAttention",
    "MultiQueryAttention",
    "RMSNorm",
    "RandomBlocks",
    "RandomFeatures",
    "RelativeAttention",
    "RelativeBias",
    "Rope",
    "RopeConfig",
    "Sampling",
    "SegmentMemory",
    "SelfAttention",
    "Seq2Seq",
    "SinkCache",
    "SlidingWindow",
    "SparseMultiHeadAttention",
    "Strided",
    "TextDecoder",
    "TransformerConfig",
    "activate",
    "alibi",
    "alibi_slopes",
    "attention",
    "converted_base",
    "cross_entropy",
    "current_threads",
    "dropout",
    "dual_chunk_attention",
    "gated",
    "gelu",
    "initial",
    "inverse_frequencies",
    "layer_norm",
    "linear_attention",
    "log_n_scale",
    "log_softmax",
    "relative_attention",
    "relative_buckets",
    "relu",
    "rms_norm",
    "scaled_dot_product_attention",
    "silu",
    "sink_attention",
    "sinusoidal",
    "softmax",
    "sparse_attention",
    "threads",
    "with_positions",
]
