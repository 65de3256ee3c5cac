"""Sentences of numbered words, and the table that draws negative samples."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memset

from tokkit._core.base cimport TK_OK, TK_TOO_LARGE
from tokkit._core.text cimport tk_utf8_invalid

cdef extern from "embed/sentences.h" nogil:
    void tk_sentences_free(tk_sentences *)
    int tk_sentences_word(tk_sentences *, const uint8_t *, size_t)
    int tk_sentences_end(tk_sentences *)
    int tk_sentences_text(tk_sentences *, const uint8_t *, size_t, int last, size_t *used)
    size_t tk_sentences_map(uint32_t *, size_t, int64_t *, size_t *, const uint32_t *)

cdef extern from "embed/random.h" nogil:
    ctypedef struct tk_random:
        pass
    tk_random tk_random_of(uint64_t seed, uint64_t which)

cdef extern from "embed/negatives.h" nogil:
    int TK_NEGATIVE_BITS
    uint32_t tk_negative(const tk_negatives *, tk_random *)


cdef int check_sentences(int status) except -1:
    if status == TK_OK:
        return 0
    if status == TK_TOO_LARGE:
        raise OverflowError("there are more than 2**32 distinct words, the maximum")
    raise MemoryError()


cdef class Sentences:
    """Words, numbered by their first occurrence, and sentences of these numbers.

    Only one thread at a time may use it: a call while another runs raises RuntimeError. Sentences of more than
    `max_words` words are cut.
    """

    def __cinit__(self, size_t max_words):
        memset(&self.state, 0, sizeof(self.state))
        self.state.max_words = max_words

    def __dealloc__(self):
        tk_sentences_free(&self.state)

    cdef int claim(self) except -1:
        with cython.critical_section(self):
            if self.busy:
                raise RuntimeError("these sentences are in use by another thread; use them in one thread at a time")
            self.busy = True
        return 0

    def add_text(self, bytes text not None, *, bint last):
        """Read lines; return (bytes read, -1), or (bytes read, the offset of the first byte that is not UTF-8).

        Unless the text is the last, a word at its end may continue in the next one, and is not read. Invalid UTF-8 less
        than four bytes before the end of such a text may be the start of a character.
        """
        cdef const uint8_t *p = <const uint8_t *> PyBytes_AS_STRING(text)
        cdef size_t n = len(text), used, bad
        cdef int status
        self.claim()
        with nogil:
            bad = tk_utf8_invalid(p, n)
            status = tk_sentences_text(&self.state, p, bad, last and bad == n, &used)
        self.busy = False
        check_sentences(status)
        return used, -1 if bad == n else <Py_ssize_t> bad

    def add_words(self, words, *, bint ends_sentence=True):
        """Add a sentence of words (str); TypeError for something else, UnicodeEncodeError for a surrogate."""
        cdef const char *p
        cdef Py_ssize_t n
        self.claim()
        try:
            for word in words:
                if not isinstance(word, str):
                    raise TypeError(f"a word is {type(word).__name__}; it must be str")
                p = PyUnicode_AsUTF8AndSize(word, &n)
                if n:
                    check_sentences(tk_sentences_word(&self.state, <const uint8_t *> p, n))
            if ends_sentence:
                check_sentences(tk_sentences_end(&self.state))
        finally:
            self.busy = False

    def take(self):
        """Return the numbers since the last call (packed uint32) and the ends of their sentences (packed int64)."""
        cdef tk_sentences *s = &self.state
        self.claim()
        try:
            ids = PyBytes_FromStringAndSize(<char *> s.ids, s.n_ids * sizeof(uint32_t)) if s.n_ids else b""
            ends = PyBytes_FromStringAndSize(<char *> s.ends, s.n_ends * sizeof(int64_t)) if s.n_ends else b""
            s.n_ids = s.n_ends = 0
            return ids, ends
        finally:
            self.busy = False

    @property
    def n_words(self):
        """Words read so far, with repetitions."""
        return self.state.n_all

    def words(self):
        """Return the words in the order of their first occurrence, and their counts."""
        cdef tk_word_counts *t = &self.state.words
        cdef size_t i
        self.claim()
        try:
            return (
                [
                    (<char *> t.bytes)[t.words[i].offset:t.words[i].offset + t.words[i].length].decode()
                    for i in range(t.n_words)
                ],
                [t.words[i].count for i in range(t.n_words)],
            )
        finally:
            self.busy = False


def map_sentences(uint32_t[::1] ids, int64_t[::1] ends, const uint32_t[::1] to):
    """Replace ids in place by to[id], and remove those that become 2**32 - 1; return how many ids and ends are left.

    All ids must be below len(to), and the ends must increase to len(ids).
    """
    cdef size_t n_ids = ids.shape[0], n_ends = ends.shape[0]
    if not n_ids or not n_ends:
        return 0, 0
    with nogil:
        n_ids = tk_sentences_map(&ids[0], n_ids, &ends[0], &n_ends, &to[0])
    return n_ids, n_ends


# The table that draws negative samples (csrc/embed/negatives.h).


cdef class Negatives:
    """Draws words by weight: `cumulated` increases to 2**31; word i has the draws from cumulated[i - 1] on."""

    def __cinit__(self, const uint32_t[::1] cumulated, uint32_t[::1] guide):
        cdef size_t i, bucket = 0, n = cumulated.shape[0], buckets = guide.shape[0]
        cdef uint32_t weight, before = <uint32_t> 1 << TK_NEGATIVE_BITS
        cdef int shift = TK_NEGATIVE_BITS
        if not n or cumulated[n - 1] != <uint32_t> 1 << TK_NEGATIVE_BITS:
            raise ValueError(
                f"cumulated has {n} entries and ends with {cumulated[n - 1] if n else 'none'}; the last must be 2**31"
            )
        if not buckets or buckets & (buckets - 1) or buckets > <size_t> 1 << TK_NEGATIVE_BITS:
            raise ValueError(f"guide has {buckets} entries; their number must be a power of two, at most 2**31")
        while <size_t> 1 << (TK_NEGATIVE_BITS - shift) < buckets:
            shift -= 1
        self.falling = True
        for i in range(n):
            if i and cumulated[i] < cumulated[i - 1]:
                raise ValueError(f"cumulated falls from {cumulated[i - 1]} to {cumulated[i]}; it must not decrease")
            weight = cumulated[i] - cumulated[i - 1] if i else cumulated[0]
            self.falling = self.falling and weight <= before + 1  # 1: weights are rounded
            before = weight
            while bucket < buckets and bucket << shift < cumulated[i]:
                guide[bucket] = i
                bucket += 1
        self.cumulated, self.guide = cumulated, guide
        self.table.cumulated, self.table.guide, self.table.shift = &cumulated[0], &guide[0], shift

    def draw(self, uint32_t[::1] out, uint64_t seed):
        """Fill `out` with draws of the random generator 0 of a seed."""
        cdef tk_random random = tk_random_of(seed, 0)
        cdef Py_ssize_t i
        for i in range(out.shape[0]):
            out[i] = tk_negative(&self.table, &random)
