"""Kernels of numbers: attention, linear layers, rows, an encoder's layers."""

include "nn/rows.pxi"
include "nn/linear.pxi"
include "nn/attend.pxi"
include "nn/dots.pxi"
include "nn/bags.pxi"
include "nn/encoder.pxi"
include "nn/decoder.pxi"
