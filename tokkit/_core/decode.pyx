"""Ids → bytes or text."""

include "decode/detokenize.pxi"
