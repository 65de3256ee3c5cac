# Splits an `AlignedText` at the matches that a Python function finds.
from libc.stdint cimport int64_t

from tokkit._core.align cimport AlignedText, check_stage, tk_aligned
from tokkit._core.encode cimport checked_behavior

import numpy as np

cdef extern from "split/pretokenize.h" nogil:
    int tk_split_by_matches(
        tk_aligned *a, const int64_t *matches, const int64_t *counts, int behavior, int invert
    )


def split_by_matches(AlignedText text not None, find, int behavior, bint invert):
    """Split by the matches that `find(text)` returns: (start, end) in characters, in order; an empty one cuts too."""
    cdef size_t start, end, n
    cdef int how = checked_behavior(behavior)
    cdef const char *utf8 = <const char *> text.state.text
    matches, counts = [], []
    for id_, bounds in zip(text.ids, text.bounds.tolist(), strict=True):
        if id_ is not None:
            continue
        start, end = bounds
        piece = utf8[start:end].decode("utf-8")
        found = list(find(piece))
        counts.append(len(found))
        if len(piece) == <Py_ssize_t> (end - start):  # ASCII
            matches += [(start + <size_t> a, start + <size_t> b) for a, b in found]
            continue
        places, n = [start], start
        for character in piece:
            n += len(character.encode())
            places.append(n)
        matches += [(places[a], places[b]) for a, b in found]
    # One more element, so that there is an address even without matches.
    cdef int64_t[:, ::1] all_matches = np.array([*matches, (0, 0)], dtype=np.int64)
    cdef int64_t[::1] all_counts = np.array([*counts, 0], dtype=np.int64)
    cdef int status
    with nogil:
        status = tk_split_by_matches(&text.state, &all_matches[0, 0], &all_counts[0], how, invert)
    check_stage(status)
