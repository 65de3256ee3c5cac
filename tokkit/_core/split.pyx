"""How a text is cut: compiled patterns, added and special tokens, the pretokenizers' kernels."""

include "split/pattern.pxi"
include "split/added.pxi"
include "split/pretokenize.pxi"
