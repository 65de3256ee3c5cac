"""Numerical kernels: attention, linear layers, rows, an encoder's layers."""

include "nn/floats.pxi"
include "nn/rows.pxi"
include "nn/linear.pxi"
include "nn/block_lists.pxi"
include "nn/attend.pxi"
include "nn/feature_attention.pxi"
include "nn/dots.pxi"
include "nn/bags.pxi"
include "nn/encoder.pxi"
include "nn/experts.pxi"
include "nn/kv.pxi"
include "nn/decoder.pxi"


cdef tk_team_runner *team() noexcept:
    return tk_team_own()
