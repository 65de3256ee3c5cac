"""Encodes a long text block by block into packed integers, and finds where a block may end."""

from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_FillInfo
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

from tokkit._core.base cimport TK_OK
from tokkit._core.encode.plan cimport (
    BATCH_SLICE_BYTES, GIL_FREE_BYTES, SLICE_BYTES, Encoder, Finder, Worker, check, finder_of, tk_document, tk_encode,
    tk_finder, tk_split_point, tk_worker,
)
from tokkit._core.split cimport tk_added_find, tk_added_match
from tokkit._core.text cimport TextView, tk_utf8_invalid, view_text

import numpy as np

cdef enum:
    CHARACTER = 4          # bytes of the longest character
    NEAR_END = 1 << 10     # how far before the end of a block the search for its last split point begins
    NARROWED = 64          # ids that are narrowed at a time
    NEAR_PART_END = 1 << 5  # the same for a chunk of a text, in which a near split point is wanted


cdef int check_block(const uint8_t[::1] text, size_t n) except -1:
    if n > <size_t> text.shape[0]:
        raise ValueError(f"n is {n}; it must be at most the {text.shape[0]} bytes of text")
    return 0


def block_end(
    const uint8_t[::1] text, size_t n, Encoder encoder not None, Finder finder=None, size_t searched=0
) -> int:
    """Return the last split point (csrc/split/split_points.h) of text[:n], which is not the whole text; 0 for none.

    text[:searched] is known to have none, from an earlier call.
    """
    cdef tk_document document
    cdef size_t limit, least, last
    check_block(text, n)
    document.units = &text[0] if n else NULL
    document.n = n
    document.width = 0
    if not encoder.describe(&document, finder):
        return 0
    limit = n - min(n, <size_t> document.special.longest if document.special is not NULL else 0)
    # The end of the earlier text was no split point, because a character or token could continue after it.
    least = CHARACTER + (document.special.longest if document.special is not NULL else 0)
    least = searched - min(searched, least)
    with nogil:
        last = last_point(&document, least, limit, NEAR_END)
    return last


def count_part(bytes text not None, size_t start, size_t end, Encoder encoder not None, Finder finder=None):
    """Return (first, last, n): the first and last split point of text[start:end], as offsets in `text`.

    n is the number of ids before the first plus those after the last. Without split points both are `end`, and n is
    the number of all ids.
    """
    cdef tk_document document
    cdef size_t first, last
    cdef const uint8_t *p = <const uint8_t *> <const char *> text + start
    cdef Worker worker
    if not start <= end <= <size_t> len(text) or tk_utf8_invalid(p, end - start) < end - start:
        raise ValueError(
            f"the span is ({start}, {end}); it must be within the {len(text)} bytes of text, and be valid UTF-8"
        )
    document.units, document.n, document.width = p, end - start, 0
    first = last = document.n
    if encoder.describe(&document, finder):
        if document.n < GIL_FREE_BYTES:
            first = tk_split_point(&document, 1, document.n)
            last = last_point(&document, first, document.n, NEAR_PART_END)
        else:
            with nogil:
                first = tk_split_point(&document, 1, document.n)
                last = last_point(&document, first, document.n, NEAR_PART_END)
        last = max(first, last)
    worker = encoder.take_worker()
    worker.state.n_ids = 0
    try:
        run_part(encoder, worker, finder, p, first, False, first < document.n)
        if first < document.n:
            run_part(encoder, worker, finder, p + last, document.n - last, True, False)
        return start + first, start + last, worker.state.n_ids
    finally:
        encoder.give_back(worker)


def split_points(text, Encoder encoder=None, Finder finder=None):
    """Return all split points of a text, int64: in bytes for bytes, in characters for a str.

    Without an encoder, the split points of the patterns for which csrc/split/split_points.c has a proof.
    """
    cdef TextView view
    cdef tk_document document
    cdef size_t at = 0
    _owner = view_text(text, &view)  # holds the memory of the view
    document.rule, document.special, document.beside = NULL, NULL, False
    if encoder is not None:
        encoder.describe(&document, finder)
    elif finder is not None and finder.guard is not None:
        document.special = &finder.guard.tokens
    document.units, document.n, document.width = view.data, view.length, view.width
    found = []
    while True:
        at = tk_split_point(&document, at + 1, view.length)
        if at >= view.length:
            return np.array(found, dtype=np.int64)
        found.append(at)


cdef object run_part(
    Encoder encoder, Worker worker, Finder finder, const uint8_t *p, size_t n, bint continues, bint goes_on
):
    cdef const tk_finder *added = finder_of(finder)
    cdef size_t at = 0
    cdef int status
    while at < n:
        worker.state.is_continuation, worker.state.has_next = continues, goes_on
        if n < GIL_FREE_BYTES:
            status = tk_encode(&encoder.plan, &worker.state, added, p, n, &at, n)
        else:
            with nogil:
                status = tk_encode(&encoder.plan, &worker.state, added, p, n, &at, at + SLICE_BYTES)
        check(status)
        if n > SLICE_BYTES:
            PyErr_CheckSignals()


cdef size_t last_point(const tk_document *document, size_t least, size_t limit, size_t back) noexcept nogil:
    # Returns the last split point from `least` on and before `limit`; 0 for none.
    cdef size_t start = limit, found, last = 0
    while last == 0 and start > least:  # twice as far each time: the time is linear for any text
        start = max(least, limit - min(limit, back))
        found = tk_split_point(document, start, limit)
        while found < limit:
            last = found
            found = tk_split_point(document, found + 1, limit)
        back *= 2
    return last


cdef class BlockEncoder:
    """Encodes blocks, for one thread; its buffer is the ids of the last block: uint16 if `narrow`, else uint32.

    `finder` finds added tokens; with `refuses`, an added token is an error. ValueError has (reason, offset, …).
    """

    cdef Encoder encoder
    cdef Finder finder
    cdef Worker worker
    cdef bint refuses
    cdef bint narrow
    cdef size_t views

    def __cinit__(self, Encoder encoder, Finder finder, bint refuses, bint narrow):
        self.encoder = encoder
        self.finder = finder
        self.refuses = refuses
        self.narrow = narrow
        self.worker = encoder.take_worker()
        self.worker.state.n_ids = 0
        if narrow and encoder.n_ids > 1 << 16:
            raise OverflowError(f"there are ids up to {encoder.n_ids - 1}, which do not fit in uint16")

    def encode(self, const uint8_t[::1] text, size_t n, bint continues=False, bint goes_on=False):
        """Encode text[:n], which must not change during the call; return self, a buffer of ids.

        It is a whole text, or a chunk that continues one, or that more text follows.
        """
        cdef tk_worker *w
        cdef const tk_finder *added = finder_of(self.finder)
        cdef const uint8_t *p = &text[0] if n else NULL
        cdef tk_added_match match
        cdef size_t at = 0, bad
        cdef int status = TK_OK
        check_block(text, n)
        if self.worker is None:
            raise BufferError("this encoder of blocks is closed; make a new one")
        if self.views:
            raise BufferError("the ids of the previous block are still in use; release their memoryviews first")
        w = &self.worker.state
        w.n_ids = 0
        with nogil:
            bad = tk_utf8_invalid(p, n)
        if bad != n:
            raise ValueError("not UTF-8", bad)
        if self.refuses:
            if added != NULL and tk_added_find(&self.finder.guard.tokens, p, n, 0, &match):
                raise ValueError("special token", match.start, self.finder.guard.ids[match.number])
            added = NULL
        w.is_continuation, w.has_next = continues, goes_on
        while at < n and status == TK_OK:
            with nogil:
                status = tk_encode(&self.encoder.plan, w, added, p, n, &at, at + BATCH_SLICE_BYTES)
            if n > BATCH_SLICE_BYTES:
                PyErr_CheckSignals()
        check(status)
        if self.narrow:
            narrow_ids(w.ids, w.n_ids)
        return self

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        cdef Py_ssize_t width = 2 if self.narrow else 4
        if flags & PyBUF_WRITABLE == PyBUF_WRITABLE:
            raise BufferError("a writable buffer is asked for; the ids of a block are read-only")
        if self.worker is None:
            raise BufferError("this encoder of blocks is closed; use the ids before you close it")
        PyBuffer_FillInfo(buffer, self, self.worker.state.ids, <Py_ssize_t> self.worker.state.n_ids * width, 1, flags)
        self.views += 1

    def __releasebuffer__(self, Py_buffer *buffer):
        self.views -= 1

    def close(self):
        """Free the scratch memory and the ids of the last block."""
        if self.worker is not None and not self.views:
            self.encoder.give_back(self.worker)
            self.worker = None


cdef void narrow_ids(uint32_t *ids, size_t n) noexcept nogil:
    # In place, from the left: ids are written before the ones that are still to be read.
    # Many at a time through a small array, so that compilers vectorize the loop.
    cdef uint16_t *out = <uint16_t *> ids
    cdef uint16_t some[NARROWED]
    cdef size_t at = 0, k
    while at + NARROWED <= n:
        for k in range(NARROWED):
            some[k] = <uint16_t> ids[at + k]
        memcpy(out + at, some, sizeof(some))
        at += NARROWED
    for k in range(at, n):
        out[k] = <uint16_t> ids[k]
