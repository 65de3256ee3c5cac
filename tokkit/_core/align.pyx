"""Texts aligned with their originals, and the offsets of tokens."""

include "align/aligned.pxi"
include "align/normalize.pxi"
include "align/spans.pxi"
