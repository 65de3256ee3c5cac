"""Encodes many texts, or a long one, with several threads into one array of ids."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memchr, memcpy

from tokkit._core.base cimport TK_OK, tk_reserve
from tokkit._core.encode.id_blocks cimport Block
from tokkit._core.encode.plan cimport (
    BATCH_SLICE_BYTES, Encoder, Finder, Worker, check, finder_of, tk_document, tk_encode, tk_finder, tk_reserve_ids,
    tk_split_point, tk_worker,
)
from tokkit._core.text cimport TextView, tk_utf8_invalid, tk_utf8_of, view_text

import threading

import numpy as np

cdef extern from "split/parts.h" nogil:
    int TK_FINISH
    int TK_LEAVE
    ctypedef struct tk_part:
        size_t first
        size_t end
        size_t start
        size_t n_ids
        size_t worker
        size_t next
        size_t place
    ctypedef struct tk_parts:
        tk_part *list
        size_t n
        size_t total
    int tk_parts_add(tk_parts *parts, size_t first)
    size_t tk_parts_claim(tk_parts *parts)
    void tk_parts_finish(tk_parts *parts, size_t number)
    void tk_parts_place(tk_parts *parts)
    size_t tk_parts_placed(tk_parts *parts)
    void tk_parts_make_room(tk_parts *parts, size_t n_ids)
    void tk_parts_end(tk_parts *parts, int why)
    bint tk_parts_dropped(tk_parts *parts)

cdef enum:
    PART_UNITS = 1 << 17    # units of text that a thread takes at a time: a quarter of a millisecond
    WIDE_UNITS = 1 << 15    # the same for text with more than a byte per character, which takes longer
    REACH = 1 << 12         # how far after the wanted position a split point is searched
    UNCHECKED = -1          # a width: bytes that are not yet known to be UTF-8
    NOT_UTF8 = 1            # a status in addition to those of base.h

SPARE = 1.125  # the result has room for so many times the expected number of ids


cdef struct Segment:  # a text, or a chunk of one
    const void *units
    size_t length
    size_t n_ids
    int width
    bint begins_text, ends_text


cdef int append_mark(tk_worker *w, int64_t id_) noexcept nogil:
    cdef int status
    if id_ < 0:
        return TK_OK
    status = tk_reserve_ids(w, 1)
    if status == TK_OK:
        w.ids[w.n_ids] = <uint32_t> id_
        w.n_ids += 1
    return status


cdef class Batch:
    """Encodes texts to one array of ids: threads call `run` until it returns, then one calls `result`, then `close`.

    The result does not depend on the number of threads. If the encoder and the added tokens allow it, long texts are
    cut at split points (csrc/split/split_points.h), and several threads encode the chunks.

    With `ends`, each of `texts` is documents, as concatenated bytes: they end at `ends` (packed int64, increasing, the
    last at the end of the bytes) or, for None, each line with its end is one. `before` and `after` are ids put around
    each text or document, -1 for none. `narrow` ids are uint16. `valid`: documents are known to be UTF-8.
    """

    cdef Encoder encoder
    cdef Finder finder
    cdef const tk_finder *added
    cdef list owners
    cdef list workers
    cdef object lock
    cdef Block out                # the result: room for the expected number of ids
    cdef Segment *segments
    cdef size_t n_segments
    cdef size_t n_texts           # or documents
    cdef size_t segments_capacity
    cdef tk_parts parts
    cdef readonly size_t units    # of all texts
    cdef size_t units_of_part     # of the last chunk; units of wide text count more
    cdef size_t failed            # the first chunk that could not be encoded, their number if all could; and why
    cdef int status
    cdef object error
    cdef bint narrow, valid
    cdef int64_t before, after    # ids before and after each text, -1 for none

    def __cinit__(
        self, Encoder encoder, list texts, Finder finder=None, list ends=None, *, bint narrow=False,
        int64_t before=-1, int64_t after=-1, bint valid=False
    ):
        cdef size_t number, n = len(texts)
        cdef int64_t largest
        self.encoder = encoder
        self.finder = finder
        self.added = finder_of(finder)
        self.owners = list(texts)
        self.workers = []
        self.lock = threading.Lock()
        self.narrow, self.before, self.after, self.valid = narrow, before, after, valid
        largest = max(<int64_t> encoder.n_ids - 1, before, after, 0)
        if largest >> (16 if narrow else 32):
            raise OverflowError(f"there are ids up to {largest}, which do not fit in uint{16 if narrow else 32}")
        if tk_reserve(&self.segments, &self.segments_capacity, n, sizeof(Segment)) != TK_OK:
            raise MemoryError
        for number in range(n):
            if ends is None:
                self.add(number)
            else:
                self.add_documents(texts[number], ends[number])
        self.failed = self.parts.n

    def __dealloc__(self):
        free(self.segments)
        free(self.parts.list)
        free(self.out.ids)

    cdef object add(self, size_t number):
        cdef TextView view
        text = self.owners[number]
        if isinstance(text, str):
            view_text(text, &view)
        elif isinstance(text, (bytes, bytearray, memoryview)):
            self.owners[number] = text = bytes(text)  # bytes stay, mutable buffers are copied
            view.data = <const uint8_t *> <const char *> (<bytes> text)
            view.length = len(<bytes> text)
            view.width = UNCHECKED
        else:
            raise TypeError(f"text {number} of the batch is {type(text).__name__}; it must be str or bytes")
        self.cut(&view)

    cdef object add_documents(self, bytes data, bytes ends):
        cdef TextView view
        cdef const uint8_t *p = <const uint8_t *> <const char *> data
        cdef const uint8_t *stop = p + len(data)
        cdef const uint8_t *end
        cdef const int64_t *given
        cdef int64_t last = 0
        cdef size_t k
        view.width = 0 if self.valid else UNCHECKED
        if ends is None:
            while p < stop:
                end = <const uint8_t *> memchr(p, 10, stop - p)
                end = stop if end is NULL else end + 1
                view.data, view.length = p, end - p
                self.cut(&view)
                p = end
            return None
        given = <const int64_t *> <const char *> ends
        for k in range(len(ends) // sizeof(int64_t)):
            if not last <= given[k] <= len(data):
                raise ValueError(f"end {k} is {given[k]}; it must be from {last}, the end before it, to {len(data)}")
            view.data, view.length = p + last, given[k] - last
            self.cut(&view)
            last = given[k]

    cdef int cut(self, TextView *view) except -1:
        # Makes one segment of a text, or several.
        cdef tk_document document
        cdef size_t start = 0, at, end, some = WIDE_UNITS if view.width > 1 else PART_UNITS
        self.n_texts += 1
        if some + REACH < view.length:
            document.units, document.n, document.width = view.data, view.length, max(view.width, 0)
            if self.encoder.describe(&document, self.finder):
                at = some
                while at + REACH < view.length:
                    end = tk_split_point(&document, at, at + REACH)
                    if end < at + REACH:
                        self.append(view, start, end, False)
                        start = at = end
                    at += some
        self.append(view, start, view.length, True)
        return 0

    cdef int append(self, TextView *view, size_t start, size_t end, bint ends) except -1:
        # Adds a segment to the last chunk or to a new one.
        cdef Segment *segment
        if tk_reserve(&self.segments, &self.segments_capacity, self.n_segments + 1, sizeof(Segment)) != TK_OK:
            raise MemoryError
        segment = self.segments + self.n_segments
        segment.units = <const uint8_t *> view.data + start * <size_t> (view.width if view.width > 0 else 1)
        segment.length = end - start
        segment.n_ids = 0
        segment.width = view.width
        segment.begins_text = start == 0
        segment.ends_text = ends
        if self.parts.n == 0 or self.units_of_part >= PART_UNITS:
            if tk_parts_add(&self.parts, self.n_segments) != TK_OK:
                raise MemoryError
            self.units_of_part = 0
        self.n_segments += 1
        self.units_of_part += (end - start) * (PART_UNITS // WIDE_UNITS if view.width > 1 else 1)
        self.units += end - start
        self.parts.list[self.parts.n - 1].end = self.n_segments
        return 0

    def prepare_threads(self, size_t n):
        """Set up the caches of `n` threads from the one that there is."""
        self.encoder.copy_caches(n)

    def run(self):
        """Encode chunks until none is left. `result` raises the errors of texts."""
        cdef Worker worker = self.encoder.take_worker()
        cdef tk_worker *w = &worker.state
        cdef bint watches = threading.get_ident() == threading.main_thread().ident
        cdef size_t number = 0
        with self.lock:
            number = len(self.workers)
            self.workers.append(worker)
        try:
            self.work(w, number, watches)
        except BaseException:
            self.stop()
            raise

    cdef object work(self, tk_worker *w, size_t worker, bint watches):
        # The chunks from `mine` to `last` are this thread's; their ids are still in w.ids. An idle thread has none.
        cdef size_t number, mine = 0, last = 0, bytes_ = 0
        cdef bint idle = True
        cdef tk_part *part
        with nogil:
            while True:
                number = tk_parts_claim(&self.parts)
                if number == self.parts.n:
                    break
                part = self.parts.list + number
                if idle:
                    mine = number
                    w.n_ids = 0
                else:
                    self.parts.list[last].next = number
                idle = False
                last = number
                part.worker = worker
                part.start = w.n_ids
                if not self.encode(w, number, &bytes_, watches):
                    break
                part.n_ids = w.n_ids - part.start
                if number == 0 and self.parts.n > 1:
                    with gil:
                        self.make_room()
                tk_parts_finish(&self.parts, number)
                while not idle and mine < tk_parts_placed(&self.parts):
                    self.move(w, mine)
                    idle = mine == last
                    mine = self.parts.list[mine].next

    cdef void move(self, tk_worker *w, size_t number) noexcept nogil:
        cdef tk_part *part = self.parts.list + number
        cdef const uint32_t *ids = w.ids + part.start
        cdef uint16_t *out
        cdef size_t k
        if self.narrow:
            out = <uint16_t *> self.out.ids + part.place
            for k in range(part.n_ids):
                out[k] = <uint16_t> ids[k]
        elif part.n_ids:
            memcpy(self.out.ids + part.place, ids, part.n_ids * sizeof(uint32_t))
        part.n_ids = 0  # so that `result` does not move them

    cdef bint encode(self, tk_worker *w, size_t number, size_t *bytes_, bint watches) except -1 nogil:
        # Returns whether the chunk could be encoded.
        cdef tk_part *part = self.parts.list + number
        cdef Segment *segment
        cdef TextView view
        cdef const uint8_t *p = NULL
        cdef size_t n = 0, at, k, before
        cdef int status = TK_OK
        for k in range(part.first, part.end):
            segment = self.segments + k
            before = w.n_ids
            view.data = segment.units
            view.length = segment.length
            view.width = 0 if segment.width == UNCHECKED else segment.width
            status = tk_utf8_of(&view, &w.text, &w.text_capacity, &p, &n)
            if segment.width == UNCHECKED and tk_utf8_invalid(p, n) != n:
                status = NOT_UTF8
            at = 0
            w.is_continuation, w.has_next = not segment.begins_text, not segment.ends_text
            if status == TK_OK and segment.begins_text:
                status = append_mark(w, self.before)
            while status == TK_OK and at < n:
                bytes_[0] += min(n - at, <size_t> BATCH_SLICE_BYTES)
                status = tk_encode(&self.encoder.plan, w, self.added, p, n, &at, at + BATCH_SLICE_BYTES)
                if bytes_[0] >= BATCH_SLICE_BYTES:
                    bytes_[0] = 0
                    if tk_parts_dropped(&self.parts):
                        return False
                    if watches:
                        with gil:
                            PyErr_CheckSignals()
            if status == TK_OK and segment.ends_text:
                status = append_mark(w, self.after)
            if status != TK_OK:
                with gil:
                    self.fail(number, k, status)
                return False
            segment.n_ids = w.n_ids - before
        return True

    cdef object fail(self, size_t number, size_t k, int status):
        # Chunks are begun in order, and each one that is begun is finished: so the error is that of the first bad text.
        cdef size_t text = 0, i, before = 0, bad
        tk_parts_end(&self.parts, TK_FINISH)
        with self.lock:
            if number >= self.failed:
                return None
            self.failed = number
            self.status = status
            self.error = None
            if status != NOT_UTF8:
                return None
            for i in range(1, k + 1):
                text += self.segments[i].begins_text
                before = 0 if self.segments[i].begins_text else before + self.segments[i - 1].length
            bad = tk_utf8_invalid(<const uint8_t *> self.segments[k].units, self.segments[k].length)
            value = (<const uint8_t *> self.segments[k].units)[bad]
            self.error = ValueError(
                f"text {text} of the batch is not valid UTF-8 at offset {before + bad} (0x{value:02x}): "
                "pass a str, or decode the bytes with errors="
            )

    cdef object make_room(self):
        # Room for as many ids as the first chunk predicts, and some more: `result` shrinks or replaces the array.
        cdef double expected
        cdef size_t units = 0, k
        for k in range(self.parts.list[0].end):
            units += self.segments[k].length
        expected = <double> self.parts.list[0].n_ids * <double> self.units / <double> max(units, 1)
        try:
            self.out = self.encoder.pool.take(self.words(<size_t> (expected * SPARE) + 1))
        except MemoryError:  # the first chunk may not be typical: `result` allocates what is needed
            return None
        tk_parts_make_room(&self.parts, self.out.capacity * (2 if self.narrow else 1))

    cdef size_t words(self, size_t n) noexcept:
        # The number of uint32 that take as much room as n ids.
        return n // 2 + n % 2 if self.narrow else n

    def stop(self):
        """Make all threads return as soon as they can; there is no result then."""
        tk_parts_end(&self.parts, TK_LEAVE)

    def result(self):
        """Return (ids, offsets): ids of all texts, and int64 offsets (texts + 1,). Raises the error of a bad text.

        Call it when no thread is in `run`.
        """
        cdef Worker worker
        cdef Block moved
        cdef int64_t[::1] ends
        cdef size_t text = 0, total = 0, k
        if self.failed < self.parts.n:
            if self.error is not None:
                raise self.error
            check(self.status)
        offsets = np.empty(self.n_texts + 1, dtype=np.int64)
        ends = offsets
        for k in range(self.n_segments):
            if self.segments[k].begins_text:
                ends[text] = total
                text += 1
            total += self.segments[k].n_ids
        ends[text] = total
        if total > self.out.capacity * (2 if self.narrow else 1):
            moved = self.encoder.pool.take(self.words(total))
            if self.parts.total:
                memcpy(moved.ids, self.out.ids, self.words(self.parts.total) * sizeof(uint32_t))
            free(self.out.ids)
            self.out = moved
        tk_parts_make_room(&self.parts, total)
        tk_parts_place(&self.parts)
        for k in range(self.parts.n):
            worker = self.workers[self.parts.list[k].worker]
            self.move(&worker.state, k)
        ids = self.encoder.pool.array(&self.out.ids, &self.out.capacity, self.words(total))
        return ids.view(np.uint16)[:total] if self.narrow else ids, offsets

    def close(self):
        """Free the scratch memory of the threads. Call it when no thread is in `run`."""
        while self.workers:
            self.encoder.give_back(self.workers.pop())
