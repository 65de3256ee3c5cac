"""How a text is cut: compiled patterns, added tokens, the pretokenizers' kernels."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memchr, memcpy, memset

from tokkit._core.align cimport AlignedText, check_stage, tk_aligned
from tokkit._core.base cimport TK_TOO_LARGE, tk_reserve
from tokkit._core.text cimport TK_DROPPED, TK_SCAN_FAMILIES, isa_number, tk_dfa_memo, tk_dfa_memo_free, tk_split

import numpy as np

from tokkit._core.text import to_utf8

cdef extern from "split/dfa.h" nogil:
    int TK_DFA_CODE_BLOCKS, TK_DFA_MOST_CONTEXTS
    size_t tk_dfa_scan(
        const tk_dfa *dfa, tk_dfa_memo *memo, const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit
    )

cdef extern from "split/added.h" nogil:
    int TK_ADDED_SINGLE_WORD, TK_ADDED_LSTRIP, TK_ADDED_RSTRIP
    ctypedef struct tk_added_cursor:
        size_t from_ "from"
        size_t taken
    int tk_added_init(
        tk_added *made, const uint8_t *data, const int64_t *ends, const uint8_t *flags, size_t n_tokens, int isa
    )
    void tk_added_free(tk_added *made)
    void tk_added_start(tk_added_cursor *cursor)
    int tk_added_next(
        const tk_added *tokens, const uint8_t *text, size_t n, const uint8_t *allowed, tk_added_cursor *cursor,
        tk_added_match *match
    )
    int tk_added_cut(const tk_added *tokens, const int64_t *ids, const uint8_t *allowed, tk_aligned *a)

cdef extern from "split/pretokenize.h" nogil:
    int TK_BEHAVIORS
    int tk_split_by_matches(
        tk_aligned *a, const int64_t *matches, const int64_t *counts, int behavior, int invert
    )


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


# `AddedMatcher` finds added tokens in a text, leftmost and then longest, as tokenizers does.

# Spans of a text, and where the document that each belongs to ends once they are joined.
cdef struct Cut:
    uint8_t *text
    size_t n, capacity
    int64_t *ends
    size_t n_ends, ends_capacity


cdef class AddedMatcher:
    """Added tokens to find in text, each (content as bytes, id, single_word, lstrip, rstrip). Immutable.

    `isa` names the instruction set that filters text, one of `tokkit._core.text.isas()`; None is the one in use.
    """

    def __cinit__(self, tokens, isa=None):
        tokens = list(tokens)
        cdef bytes contents = b"".join([token[0] for token in tokens])
        # One more element, so that there is an address even without tokens.
        cdef int64_t[::1] ends = np.cumsum([len(token[0]) for token in tokens] + [0], dtype=np.int64)
        cdef uint8_t[::1] flags = np.array(
            [
                single * TK_ADDED_SINGLE_WORD | left * TK_ADDED_LSTRIP | right * TK_ADDED_RSTRIP
                for _, _, single, left, right in tokens
            ]
            + [0],
            dtype=np.uint8,
        )
        cdef const uint8_t *data = <const uint8_t *> <const char *> contents
        cdef size_t n = len(tokens)
        cdef int status, by = isa_number(isa)
        self.ids = np.array([token[1] for token in tokens] + [0], dtype=np.int64)
        with nogil:
            status = tk_added_init(&self.tokens, data, &ends[0], &flags[0], n, by)
        if status == TK_TOO_LARGE:
            raise OverflowError("the added tokens have 256 MiB of text or more in total; they must have less")
        if status != 0:
            raise MemoryError("not enough memory for the added tokens")

    def __dealloc__(self):
        tk_added_free(&self.tokens)

    @staticmethod
    def plain(tokens):
        """Return a matcher of tokens without options, bytes → id; ValueError for an empty one."""
        for token, id_ in tokens.items():
            if not token:
                raise ValueError(f"the special token of id {id_} is empty; it must have at least 1 byte")
        return AddedMatcher([(token, id_, False, False, False) for token, id_ in tokens.items()])

    def __len__(self):
        return self.tokens.n_tokens

    cdef const uint8_t *which(self, bytes allowed) except? NULL:
        if allowed is None:
            return NULL
        if len(allowed) != <Py_ssize_t> self.tokens.n_tokens:
            raise ValueError(
                f"allowed has {len(allowed)} bytes; it must have one for each of {self.tokens.n_tokens} added tokens"
            )
        return <const uint8_t *> <const char *> allowed

    def cut(self, AlignedText text not None, bytes allowed=None):
        """Make each token inside the pretokens of a text a pretoken of its own.

        `allowed` has a byte for each token, 0 if it remains text; None allows all.
        """
        cdef const uint8_t *which = self.which(allowed)
        cdef int status
        with nogil:
            status = tk_added_cut(&self.tokens, &self.ids[0], which, &text.state)
        check_stage(status)

    def find(self, bytes utf8, bytes allowed=None):
        """Return (start, end, number of the token) of all tokens in a text of valid UTF-8."""
        cdef const uint8_t *which = self.which(allowed)
        cdef const uint8_t *text = <const uint8_t *> <const char *> utf8
        cdef size_t n = len(utf8)
        cdef tk_added_cursor cursor
        cdef tk_added_match match
        cdef bint more
        found = []
        tk_added_start(&cursor)
        while True:
            with nogil:
                more = tk_added_next(&self.tokens, text, n, which, &cursor, &match)
            if not more:
                return found
            found.append((match.start, match.end, match.number))

    def first(self, bytes text not None, size_t start_at=0):
        """Return (start, end, id) of the first token at or after a byte offset, or None."""
        cdef tk_added_match match
        if tk_added_find(&self.tokens, <const uint8_t *> <const char *> text, len(text), start_at, &match):
            return match.start, match.end, self.ids[match.number]
        return None

    def cut_out(self, bytes text not None, bytes ends=None):
        """Return the text without the special tokens, and the ends of its documents as packed int64; None for no token.

        Documents end at the tokens, and at `ends` (packed int64, rising, the last the length of the text), by default
        after each "\\n". A token that crosses the end of a document is none.
        """
        cdef const uint8_t *p = <const uint8_t *> <const char *> text
        cdef const int64_t *given = NULL
        cdef size_t n = len(text), n_given = 0, i
        cdef tk_added_match match
        cdef int64_t last = 0
        cdef Cut cut
        cdef bint found = False
        cdef int status = 0
        if ends is not None:
            given, n_given = <const int64_t *> <const char *> ends, len(ends) // sizeof(int64_t)
            for i in range(n_given):
                if given[i] < last:
                    raise ValueError(f"end {i} is {given[i]}; it must be at least the end before it, {last}")
                last = given[i]
            if <size_t> last != n:
                raise ValueError(f"the last end is {last}; it must be the length of the text, {n}")
        memset(&cut, 0, sizeof(cut))
        try:
            with nogil:
                if tk_added_find(&self.tokens, p, n, 0, &match):
                    status = cut_documents(&self.tokens, p, n, given, &cut, &found)
            if status != 0:
                raise MemoryError
            if not found:
                return None
            return (
                PyBytes_FromStringAndSize(<char *> cut.text, cut.n) if cut.n else b"",
                PyBytes_FromStringAndSize(<char *> cut.ends, cut.n_ends * sizeof(int64_t)) if cut.n_ends else b"",
            )
        finally:
            free(cut.text)
            free(cut.ends)


cdef inline int add_span(Cut *cut, const uint8_t *text, size_t n) noexcept nogil:
    # One more document, unless it is empty.
    if n == 0:
        return 0
    if tk_reserve(&cut.text, &cut.capacity, cut.n + n, 1) != 0:
        return 1
    if tk_reserve(&cut.ends, &cut.ends_capacity, cut.n_ends + 1, sizeof(int64_t)) != 0:
        return 1
    memcpy(cut.text + cut.n, text, n)
    cut.n += n
    cut.ends[cut.n_ends] = <int64_t> cut.n
    cut.n_ends += 1
    return 0


cdef int cut_documents(
    const tk_added *tokens, const uint8_t *text, size_t n, const int64_t *ends, Cut *cut, bint *found
) noexcept nogil:
    cdef size_t at = 0, end, number = 0
    cdef tk_added_cursor cursor
    cdef tk_added_match match
    cdef const uint8_t *line
    while at < n:
        if ends != NULL:
            end = <size_t> ends[number]
            number += 1
        else:
            line = <const uint8_t *> memchr(text + at, c"\n", n - at)
            end = n if line == NULL else <size_t> (line - text) + 1
        tk_added_start(&cursor)
        cursor.from_ = cursor.taken = at
        while tk_added_next(tokens, text, end, NULL, &cursor, &match):
            found[0] = True
            if add_span(cut, text + at, match.start - at) != 0:
                return 1
            at = match.end
        if add_span(cut, text + at, end - at) != 0:
            return 1
        at = end
    return 0


# Splits an `AlignedText` at the matches that a Python function finds.


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


cdef int checked_behavior(int behavior) except -1:
    if not 0 <= behavior < TK_BEHAVIORS:
        raise ValueError(f"behavior is {behavior}; it must be from 0 to {TK_BEHAVIORS - 1}")
    return behavior
