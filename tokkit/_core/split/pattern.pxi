# `SplitPattern` cuts text by the tables of a compiled pattern (unicode_regex/compile.py).
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset

from tokkit._core.text cimport (
    TK_DFA_CODE_BLOCKS, TK_DFA_MOST_CONTEXTS, TK_DROPPED, TK_SCAN_FAMILIES, tk_dfa_memo, tk_dfa_memo_free, tk_dfa_scan,
    tk_split,
)

from tokkit._core.text import to_utf8

import numpy as np


cdef class SplitPattern:
    """The automaton of one split pattern (csrc/split/dfa.h says what its tables hold). Immutable: threads may share it.

    `next` (uint32) and `action` (uint8) are of shape (rows, classes), `index` (uint16, 17,408) and `blocks` (uint8,
    (n, 64)) give the class of a code point, `contexts` (uint8, (classes - 1,)) its context; `unsure` is the number of
    a row. Unmatched text becomes pretokens of its own, or is dropped. ValueError: tables that do not fit each other.
    """

    def __cinit__(self, next, action, index, blocks, *, contexts, uint32_t n_contexts,
                  uint32_t unsure, bint keep_unmatched):
        next, action = np.asarray(next, dtype=np.uint32), np.asarray(action, dtype=np.uint8)
        index, blocks = np.asarray(index, dtype=np.uint16), np.asarray(blocks, dtype=np.uint8)
        if next.ndim != 2 or next.shape != action.shape or not 2 <= next.shape[1] <= 256 or next.size >= 1 << 31:
            raise ValueError(
                f"next has shape {next.shape} and action {action.shape}; both must be (rows, classes), the same, with "
                f"2 to 256 classes and fewer than 2**31 entries"
            )
        rows, classes = next.shape
        if index.shape != (TK_DFA_CODE_BLOCKS,) or blocks.ndim != 2 or blocks.shape[1] != 64 or blocks.size == 0:
            raise ValueError(
                f"index has shape {index.shape} and blocks {blocks.shape}; they must be ({TK_DFA_CODE_BLOCKS},) and "
                f"(n, 64), not empty"
            )
        contexts = np.asarray(contexts, dtype=np.uint8)
        if contexts.shape != (classes - 1,) or not 1 <= n_contexts <= TK_DFA_MOST_CONTEXTS or 2 * n_contexts > rows or (
            contexts.max() >= n_contexts
        ):
            raise ValueError(
                f"contexts has shape {contexts.shape} and {contexts.max()} as its maximum; it must have {classes - 1} "
                f"entries below n_contexts, which is {n_contexts} and must be from 1 to {TK_DFA_MOST_CONTEXTS}, with "
                f"two rows each"
            )
        if next.max() >= rows or index.max() >= len(blocks) or blocks.max() >= classes - 1:
            raise ValueError(
                f"a row, block or class is out of range: the maxima of next, index and blocks are {next.max()}, "
                f"{index.max()} and {blocks.max()}; there are {rows} rows, {len(blocks)} "
                f"blocks and {classes} classes"
            )
        ascii = blocks[index[:2]].tobytes()
        cells = (next * np.uint32(classes)).tobytes()
        self.owners = cells, action.tobytes(), index.tobytes(), blocks.tobytes(), contexts.tobytes()
        self.dfa.next = <const uint32_t *> <const char *> (<bytes> self.owners[0])
        self.dfa.action = <const uint8_t *> <const char *> (<bytes> self.owners[1])
        self.dfa.index = <const uint16_t *> <const char *> (<bytes> self.owners[2])
        self.dfa.blocks = <const uint8_t *> <const char *> (<bytes> self.owners[3])
        self.dfa.contexts = <const uint8_t *> <const char *> (<bytes> self.owners[4])
        self.dfa.n_classes, self.dfa.n_contexts, self.dfa.unsure = classes, n_contexts, unsure * classes
        self.dfa.dropped = 0 if keep_unmatched else TK_DROPPED
        cdef size_t k
        for k in range(128):
            self.dfa.ascii[k] = (<const uint8_t *> <const char *> (<bytes> ascii))[k]

    @property
    def shape(self) -> tuple:
        """How many rows and classes the automaton has."""
        return len(self.owners[1]) // self.dfa.n_classes, self.dfa.n_classes

    def scan(self, text, size_t limit=256):
        """Return (ends, dropped) of the spans of a text: int64 byte offsets into `to_utf8(text)`, and bools.

        `limit` (1 to 256) is how many spans are scanned at a time; the result does not depend on it.
        """
        cdef bytes utf8 = to_utf8(text)
        cdef const uint8_t *p = <const uint8_t *> <const char *> utf8
        cdef size_t n = len(utf8), at = 0, count = 0, got, k
        cdef size_t ends[256]
        cdef tk_dfa_memo memo
        if not 1 <= limit <= 256:
            raise ValueError(f"limit is {limit}; it must be from 1 to 256")
        result, dropped = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.bool_)
        cdef int64_t[::1] out = result
        cdef uint8_t[::1] out_dropped = dropped.view(np.uint8)
        memset(&memo, 0, sizeof(memo))
        while True:
            with nogil:
                got = tk_dfa_scan(&self.dfa, &memo, p, n, &at, ends, limit)
            if got == 0:
                tk_dfa_memo_free(&memo)
                return result[:count].copy(), dropped[:count].copy()
            for k in range(got):
                out[count + k] = <int64_t> (ends[k] & ~TK_DROPPED)
                out_dropped[count + k] = ends[k] & TK_DROPPED != 0
            count += got


cdef tk_split split_of(object split) except *:
    # How to cut a text: a scanner's number or a SplitPattern; the caller keeps the object alive.
    cdef tk_split made
    made.family, made.cuts, made.dfa, made.memo = 0, NULL, NULL, NULL
    if isinstance(split, SplitPattern):
        made.dfa = &(<SplitPattern> split).dfa
    elif isinstance(split, int) and 0 <= split < TK_SCAN_FAMILIES:
        made.family = split
    else:
        raise ValueError(
            f"split is {split!r}; it must be a SplitPattern or the number of a scanner, 0 to {TK_SCAN_FAMILIES - 1}"
        )
    return made
