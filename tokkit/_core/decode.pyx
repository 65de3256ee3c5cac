"""Ids → bytes or text, and which ids a grammar allows."""

include "decode/detokenize.pxi"
include "decode/grammars.pxi"
