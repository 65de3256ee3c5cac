"""Converts tokenizers between formats, with a check that ids are equal, and edits vocabularies.

Begin with `convert` in converting.py, and with editing.py, whose functions return a tokenizer with another vocabulary
and the map of its ids.
"""

from tokkit.conversion.converting import Conversion, convert
from tokkit.conversion.editing import Edited, add_tokens, count_ids, prune, resize
from tokkit.conversion.embeddings import remap_embeddings
from tokkit.conversion.growing import Merged, extend, merge
from tokkit.conversion.pieces import add_pieces
from tokkit.conversion.verification import Mismatch, Verified, verify

__all__ = [
    "Conversion",
    "Edited",
    "Merged",
    "Mismatch",
    "Verified",
    "add_pieces",
    "add_tokens",
    "convert",
    "count_ids",
    "extend",
    "merge",
    "prune",
    "remap_embeddings",
    "resize",
    "verify",
]
