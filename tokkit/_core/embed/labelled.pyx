"""Words and labels of lines, n-grams, and the rows that stand for texts, without the GIL (csrc/embed/labelled.h)."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport UINT32_MAX, int32_t, int64_t, uint32_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset

from tokkit._core.embed.sentences cimport check_sentences
from tokkit._core.train.word_counts cimport tk_word_counts, tk_word_counts_free

from array import array

cdef extern from "train/word_counts.h" nogil:
    int tk_word_counts_number(tk_word_counts *, const uint8_t *, size_t, int64_t, uint32_t *)
    uint32_t tk_word_counts_find(const tk_word_counts *, const uint8_t *, size_t)

cdef extern from "embed/ngrams.h" nogil:
    uint32_t tk_ngram_hash(const uint8_t *, size_t)
    int tk_row_push(tk_row_list *, uint32_t)
    int tk_ngrams_of_word(const tk_ngram_rows *, const uint8_t *, size_t, tk_row_list *)

cdef extern from "embed/labelled.h" nogil:
    ctypedef struct tk_line:
        tk_row_list rows
    int tk_labelled_read(tk_word_counts *, const uint8_t *, size_t, int last, tk_row_list *, size_t *used)
    void tk_line_free(tk_line *)
    int tk_line_of_text(const tk_line_rows *, const tk_word_counts *, const uint8_t *, size_t, const uint8_t *, size_t,
                        tk_line *)


cdef inline bytes packed(const void *start, size_t size):
    """The bytes of an array; may be NULL if it has none."""
    return PyBytes_FromStringAndSize(<const char *> start, size) if size else b""


cdef class LabelledWords:
    """Words (bytes), numbered by their first occurrence.

    Only one thread at a time may use it: a call while another runs raises RuntimeError.
    """

    def __cinit__(self, words=()):
        """Add the words, each once."""
        cdef uint32_t number
        for word in words:
            if not word:
                raise ValueError("words has an empty word; each must have at least 1 byte")
            check_sentences(tk_word_counts_number(
                &self.table, <const uint8_t *> PyBytes_AS_STRING(<bytes?> word), len(word), 0, &number))

    def __dealloc__(self):
        tk_word_counts_free(&self.table)
        free(self.ids.rows)

    def __len__(self):
        return self.table.n_words

    def find(self, bytes word not None):
        """Return the number of a word, or -1."""
        cdef uint32_t found = tk_word_counts_find(&self.table, <const uint8_t *> PyBytes_AS_STRING(word), len(word))
        return -1 if found == UINT32_MAX else <int64_t> found

    def read(self, bytes text not None, *, bint last):
        """Count the words of a text; return how many bytes were read. Unless `last`, a word at the end may continue."""
        cdef const uint8_t *p = <const uint8_t *> PyBytes_AS_STRING(text)
        cdef size_t n = len(text), used = 0
        cdef int status
        with cython.critical_section(self):
            if self.busy:
                raise RuntimeError("these words are in use by another thread; use them in one thread at a time")
            self.busy = True
        with nogil:
            status = tk_labelled_read(&self.table, p, n, last, &self.ids, &used)
        self.busy = False
        check_sentences(status)
        return used

    def take(self):
        """Return the numbers of the words that were read since the last call (packed uint32)."""
        made = packed(self.ids.rows, self.ids.n * sizeof(uint32_t))
        self.ids.n = 0
        return made

    def words(self):
        """Return the words in the order of their first occurrence, and their counts."""
        cdef tk_word_counts *t = &self.table
        cdef size_t i
        return (
            [
                PyBytes_FromStringAndSize(<char *> t.bytes + t.words[i].offset, t.words[i].length)
                for i in range(t.n_words)
            ],
            [t.words[i].count for i in range(t.n_words)],
        )


def word_hashes(words):
    """Return the FNV-1a hashes of words (bytes), as packed uint32."""
    cdef tk_row_list made
    memset(&made, 0, sizeof(made))
    try:
        for word in words:
            if tk_row_push(&made, tk_ngram_hash(<const uint8_t *> PyBytes_AS_STRING(<bytes?> word), len(word))):
                raise MemoryError()
        return packed(made.rows, made.n * sizeof(uint32_t))
    finally:
        free(made.rows)


cdef class NgramRows:
    """The rows of n-grams: first + bucket or, after pruning, first + left[bucket] unless that is -1."""

    def __init__(
        self, *, uint32_t min_n, uint32_t max_n, uint32_t bucket, uint32_t first, const int32_t[::1] left=None
    ):
        if left is not None and len(left) < bucket:
            raise ValueError(f"left has {len(left)} entries; it must have one for each of {bucket} buckets")
        self.left = left
        self.state.min_n, self.state.max_n, self.state.bucket, self.state.first = min_n, max_n, bucket, first
        self.state.left = &left[0] if left is not None and len(left) else NULL

    def of_words(self, words, *, size_t n_own):
        """Return the rows of words (bytes): packed int64 ends of each word's, packed uint32 rows.

        Word i below `n_own` has row i, and each word has the rows of its n-grams; a word that is None has no n-grams.
        """
        cdef tk_row_list made
        cdef list ends = []
        cdef size_t i = 0
        cdef int status = 0
        memset(&made, 0, sizeof(made))
        try:
            for word in words:
                if i < n_own:
                    status = tk_row_push(&made, i)
                if not status and word is not None:
                    status = tk_ngrams_of_word(
                        &self.state, <const uint8_t *> PyBytes_AS_STRING(<bytes?> word), len(word), &made)
                if status:
                    raise MemoryError()
                ends.append(made.n)
                i += 1
            return array("q", ends).tobytes(), packed(made.rows, made.n * sizeof(uint32_t))
        finally:
            free(made.rows)


cdef class LineRows:
    """The rows of the words of lines; see csrc/embed/labelled.h.

    `ends` and `rows` have, of each word's number, its row and those of its n-grams (both empty: the row alone);
    `hashes` is of each word's number, or empty without n-grams of words.
    """

    def __init__(
        self, LabelledWords words not None, uint32_t n_words, uint32_t n_labels, bytes prefix not None, *,
        const int64_t[::1] ends, const uint32_t[::1] rows, const uint32_t[::1] hashes, size_t word_ngrams,
        NgramRows ngrams not None,
    ):
        cdef tk_line_rows *o = &self.state
        if (len(ends) and len(ends) < n_words) or (len(ends) and ends[len(ends) - 1] != len(rows)):
            raise ValueError(
                f"there are {len(ends)} ends for {n_words} words and {len(rows)} rows; ends must be empty, or have one "
                f"for each word and end with the number of rows"
            )
        if word_ngrams > 1 and len(hashes) < n_words:
            raise ValueError(f"hashes has {len(hashes)} entries; with word_ngrams it must have one for each of "
                             f"{n_words} words")
        self.words, self.ngrams, self.prefix = words, ngrams, prefix
        self.ends, self.rows, self.hashes = ends, rows, hashes
        o.n_words, o.n_labels, o.longest = n_words, n_labels, word_ngrams
        o.ends = &ends[0] if len(ends) else NULL
        o.rows = &rows[0] if len(rows) else NULL
        o.hashes = &hashes[0] if len(hashes) else NULL
        o.ngrams = ngrams.state

    def of_texts(self, texts):
        """Return the rows of texts (bytes), each up to its first line end: packed int64 ends, packed uint32 rows."""
        cdef tk_line line
        cdef list ends = []
        cdef const uint8_t *prefix = <const uint8_t *> PyBytes_AS_STRING(self.prefix)
        memset(&line, 0, sizeof(line))
        try:
            for text in texts:
                if tk_line_of_text(&self.state, &self.words.table, prefix, len(self.prefix),
                                   <const uint8_t *> PyBytes_AS_STRING(<bytes?> text), len(text), &line):
                    raise MemoryError()
                ends.append(line.rows.n)
            return array("q", ends).tobytes(), packed(line.rows.rows, line.rows.n * sizeof(uint32_t))
        finally:
            tk_line_free(&line)
