"""Counts words, without the GIL."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint32_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memset

from tokkit._core.align cimport TK_NO_TOKEN, AlignedText, tk_aligned, tk_aligned_span
from tokkit._core.base cimport TK_OK
from tokkit._core.split cimport split_of
from tokkit._core.text cimport tk_dfa_memo, tk_dfa_memo_free, tk_split, tk_utf8_invalid
from tokkit._core.train.training cimport TK_CODE_POINTS, check

cdef extern from "text/utf8.h" nogil:
    uint32_t tk_utf8_decode(const uint8_t *, unsigned *)

cdef extern from "train/word_counts.h" nogil:
    ctypedef struct tk_documents:
        const uint8_t *text
        size_t n
        const int64_t *ends
        size_t n_ends
        int done
    void tk_word_counts_seal(tk_word_counts *)
    int tk_word_counts_add(tk_word_counts *, const uint8_t *, size_t, int64_t)
    int tk_word_counts_text(tk_word_counts *, tk_documents *, const tk_split *split, size_t budget)
    int tk_word_counts_merge(tk_word_counts *, const tk_word_counts *)

# Bytes counted between two checks for Ctrl-C: some 50 ms of work.
cdef size_t BYTES_A_SLICE = 4 << 20

# A slot has 8 bytes, and while the table doubles, half of the slots exist twice; sorting needs less, without slots.
cdef size_t BYTES_A_SLOT = 12


cdef class WordCounts:
    """A table of words (bytes) and how often each occurred.

    Only one thread at a time may use it: a call while another runs raises RuntimeError. `cancelled` may always be set.
    Words of more than `longest` bytes are counted in chunks of that size, or a little less to keep characters whole;
    0 is no limit. With a `folder` the words are in mapped files there.
    """

    def __cinit__(self, size_t longest=0, bytes folder=None):
        memset(&self.table, 0, sizeof(self.table))
        self.table.longest = longest
        self.folder = folder  # the table points to it
        if folder is not None:
            self.table.folder = folder

    def __dealloc__(self):
        tk_word_counts_free(&self.table)

    cdef int claim(self) except -1:
        # Each call locks the table until its end: counting releases the GIL, and creating objects may let others run.
        with cython.critical_section(self):
            if self.busy:
                raise RuntimeError("these counts are in use by another thread; use them in one thread at a time")
            self.busy = True
        return 0

    cdef int claim_open(self) except -1:
        self.claim()
        if self.sealed:
            self.release()
            raise RuntimeError("these counts are frozen or were used for training; count with new WordCounts")
        return 0

    cdef void release(self) noexcept:
        with cython.critical_section(self):
            self.busy = False

    cdef void seal(self) noexcept nogil:
        self.sealed = True
        tk_word_counts_seal(&self.table)

    cdef void empty(self) noexcept nogil:
        tk_word_counts_free(&self.table)

    def freeze(self):
        """Stop counting, and free the memory that finds words; they can still be read."""
        self.claim()
        self.seal()
        self.release()

    def close(self):
        """Free the memory; no words are left, and none can be added."""
        self.claim()
        self.seal()
        self.empty()
        self.release()

    def __len__(self):
        self.claim()
        cdef size_t n = self.table.n_words
        self.release()
        return n

    def add_text(self, bytes text not None, split, bytes ends=None):
        """Count the pretokens of UTF-8 as `split` cuts them: a scanner's number or a SplitPattern.

        Set `cancelled` to end it early.
        `ends` (packed int64, not decreasing, the last len(text)) cuts the text into documents, which no pretoken
        crosses; None makes each line with its end a document. Returns -1, or the offset of the first byte
        that is not valid UTF-8, and then nothing was counted.
        """
        cdef tk_documents documents
        cdef tk_split by = split_of(split)
        cdef tk_dfa_memo memo
        cdef int64_t last = 0
        cdef size_t i, bad, n = len(text)
        cdef int status
        memset(&documents, 0, sizeof(documents))
        memset(&memo, 0, sizeof(memo))
        by.memo = &memo
        documents.text, documents.n = <const uint8_t *> <const char *> text, n
        if ends is not None:
            documents.ends, documents.n_ends = <const int64_t *> <const char *> ends, len(ends) // sizeof(int64_t)
            for i in range(documents.n_ends):
                if documents.ends[i] < last:
                    raise ValueError(f"end {i} is {documents.ends[i]}; it must be at least the end before it, {last}")
                last = documents.ends[i]
            if <size_t> last != n:
                raise ValueError(f"the last end is {last}; it must be the length of the text, {n}")
        self.claim_open()
        try:
            with nogil:
                bad = tk_utf8_invalid(documents.text, n)
            if bad != n:
                return bad
            while not documents.done and not self.cancelled:
                with nogil:
                    status = tk_word_counts_text(&self.table, &documents, &by, BYTES_A_SLICE)
                check(status)
                PyErr_CheckSignals()
        finally:
            tk_dfa_memo_free(&memo)
            self.release()
        return -1

    def add_word(self, bytes word not None, int64_t count=1):
        """Add `count` occurrences of one word, which must not be empty."""
        cdef int status
        if not word:
            raise ValueError("word is empty; it must have at least 1 byte")
        self.claim_open()
        status = tk_word_counts_add(&self.table, <const uint8_t *> <const char *> word, len(word), count)
        self.release()
        check(status)

    def add_pieces(self, AlignedText text not None, bytes ends=None, bytes counts=None):
        """Count the pretokens of a text that are not added tokens, each once.

        With `ends` and `counts` (packed int64, as from `packed`) the original is concatenated words with these counts,
        and a pretoken counts as often as the word that it comes from.
        """
        cdef tk_aligned *a = &text.state
        cdef const int64_t *end = NULL
        cdef const int64_t *times = NULL
        cdef size_t i, start, stop, word = 0, n = 0
        cdef int status = TK_OK
        if ends is not None and counts is not None:
            end, times = <const int64_t *> <const char *> ends, <const int64_t *> <const char *> counts
            n = len(ends) // sizeof(int64_t)
            if len(counts) != len(ends) or n == 0 or end[n - 1] < <int64_t> len(text.original):
                raise ValueError(
                    f"there are {n} ends and {len(counts) // sizeof(int64_t)} counts; there must be one of each for "
                    f"each word, and the last end be the length of the original"
                )
        self.claim_open()
        with nogil:
            for i in range(a.n_pieces):
                start, stop = a.pieces[i].start, a.pieces[i].end
                if a.pieces[i].id != TK_NO_TOKEN or stop <= start or status != TK_OK:
                    continue
                while word + 1 < n and end[word] <= <int64_t> tk_aligned_span(a, start, stop).start:
                    word += 1
                status = tk_word_counts_add(&self.table, a.text + start, stop - start, times[word] if n else 1)
        self.release()
        check(status)
        PyErr_CheckSignals()

    @property
    def n_bytes(self):
        """The number of bytes of all words, each word once."""
        self.claim()
        cdef size_t n = self.table.n_bytes
        self.release()
        return n

    @property
    def held_bytes(self):
        """The most bytes of memory that the table takes, also while it grows or is sorted."""
        self.claim()
        cdef tk_word_counts *t = &self.table
        cdef size_t n = t.n_bytes + t.n_words * sizeof(tk_counted_word) + t.n_slots * BYTES_A_SLOT
        self.release()
        return n

    def packed(self):
        """Return the words joined, the end of each, and how often it occurs, both as packed int64."""
        cdef size_t i, n
        cdef int64_t *ends
        cdef int64_t *counts
        self.claim()
        try:
            n = self.table.n_words
            packed = bytearray(2 * n * sizeof(int64_t))
            ends = <int64_t *> <char *> packed
            counts = ends + n
            for i in range(n):
                ends[i] = self.table.words[i].offset + self.table.words[i].length
                counts[i] = self.table.words[i].count
            half = n * sizeof(int64_t)
            blob = PyBytes_FromStringAndSize(<char *> self.table.bytes, self.table.n_bytes) if n else b""
            return blob, bytes(packed[:half]), bytes(packed[half:])
        finally:
            self.release()

    def contains(self, bytes text not None):
        """Whether the bytes occur in the concatenated words: in one of them, or perhaps across two."""
        cdef const uint8_t *wanted = <const uint8_t *> <const char *> text
        cdef const uint8_t *p = NULL
        cdef const uint8_t *end
        cdef size_t n = len(text)
        cdef bint found = False
        if not n:
            raise ValueError("text is empty; it must have at least 1 byte")
        self.claim()
        with nogil:
            if self.table.n_bytes >= n:
                p, end = self.table.bytes, self.table.bytes + (self.table.n_bytes - n + 1)
                while not found:
                    p = <const uint8_t *> memchr(p, wanted[0], end - p)
                    if p == NULL:
                        break
                    found = memcmp(p, wanted, n) == 0
                    p += 1
        self.release()
        return found

    def characters(self):
        """Return (code point, how often it occurs, places in distinct words but for their first) of each character.

        The words must be valid UTF-8.
        """
        cdef int64_t *counts = <int64_t *> calloc(2 * <size_t> TK_CODE_POINTS, sizeof(int64_t))
        cdef int64_t *inside = counts + TK_CODE_POINTS
        cdef tk_counted_word *w
        cdef const uint8_t *p
        cdef unsigned length
        cdef size_t i, k, c
        if counts is NULL:
            raise MemoryError()
        try:
            self.claim()
            with nogil:
                for i in range(self.table.n_words):
                    w = &self.table.words[i]
                    p = self.table.bytes + w.offset
                    k = 0
                    while k < w.length:
                        c = tk_utf8_decode(p + k, &length)
                        counts[c] += w.count
                        if k:
                            inside[c] += 1
                        k += length
            self.release()
            return [(c, counts[c], inside[c]) for c in range(<size_t> TK_CODE_POINTS) if counts[c]]
        finally:
            free(counts)

    def merge(self, WordCounts other not None):
        """Add all counts of `other`."""
        cdef int status
        self.claim_open()
        try:
            other.claim()  # refuses the table itself too
            with nogil:
                status = tk_word_counts_merge(&self.table, &other.table)
            other.release()
        finally:
            self.release()
        check(status)

    def items(self):
        """Return a list of (word, count), sorted by the words' bytes."""
        cdef size_t i
        cdef tk_counted_word *w
        found = []
        self.claim()
        try:
            for i in range(self.table.n_words):
                w = &self.table.words[i]
                found.append((PyBytes_FromStringAndSize(<char *> self.table.bytes + w.offset, w.length), w.count))
        finally:
            self.release()
        found.sort()
        return found
