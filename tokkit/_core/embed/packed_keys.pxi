# Keys as concatenated UTF-8, found by their bytes: strings are made only when they are asked for.
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport SIZE_MAX, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cdef extern from "encode/token_trie.h" nogil:
    ctypedef struct tk_own_tokens:
        const uint8_t *blob
        const int64_t *offsets
        size_t n_ids
        const uint8_t *excluded

cdef extern from "encode/token_index.h" nogil:
    ctypedef struct tk_token_index:
        pass
    int tk_token_index_build(tk_token_index *index, const tk_own_tokens *own, size_t *twice)
    void tk_token_index_free(tk_token_index *index)
    uint32_t tk_token_index_find(const tk_token_index *index, const uint8_t *data, size_t n)

cdef extern from "text/utf8.h" nogil:
    size_t tk_utf8_invalid(const uint8_t *text, size_t n)


cdef class PackedKeys:
    """Distinct texts by number, and their numbers. `offsets` (n + 1) int64 are the bounds of each in `blob`.

    ValueError for invalid UTF-8, an empty text, or a text that occurs twice.
    """

    cdef uint8_t *blob
    cdef int64_t *offsets
    cdef tk_own_tokens own  # views of these two arrays only
    cdef tk_token_index index

    def __init__(self, bytes blob=b"", bytes offsets=b""):
        cdef size_t n = len(offsets) // sizeof(int64_t)
        if self.own.n_ids or not n:
            return
        self.blob, self.offsets = <uint8_t *> malloc(len(blob) + 1), <int64_t *> malloc(len(offsets))
        if self.blob == NULL or self.offsets == NULL:
            raise MemoryError("not enough memory for the keys")
        memcpy(self.blob, <const char *> blob, len(blob))
        memcpy(self.offsets, <const char *> offsets, n * sizeof(int64_t))
        if self.offsets[0] or self.offsets[n - 1] != len(blob):
            raise ValueError(
                f"offsets run from {self.offsets[0]} to {self.offsets[n - 1]}; they must run from 0 to the number of "
                f"bytes, {len(blob)}"
            )
        self.own.blob, self.own.offsets, self.own.n_ids = self.blob, self.offsets, n - 1
        self.build()

    cdef int build(self) except -1:
        """Check the keys of `own`, and build the index."""
        cdef const int64_t *at = self.own.offsets
        cdef const uint8_t *text = self.own.blob
        cdef size_t i, n = self.own.n_ids, n_bytes = at[n], twice = SIZE_MAX
        cdef int status = 0
        cdef bint valid = True
        with nogil:
            for i in range(n):
                # A text that begins within a character is invalid, even if all of them concatenated are UTF-8.
                if at[i] >= at[i + 1] or at[i + 1] > <int64_t> n_bytes or (text[at[i]] & 0xC0) == 0x80:
                    valid = False
                    break
            if valid:
                valid = tk_utf8_invalid(text, n_bytes) == n_bytes
            if valid:
                status = tk_token_index_build(&self.index, &self.own, &twice)
        if not valid:
            raise ValueError("a key is empty or not valid UTF-8; each must have at least 1 character")
        if status:
            raise MemoryError("not enough memory for the keys")
        if twice != SIZE_MAX:
            raise ValueError(f"key {self.at(twice)!r} is given twice; each must be different")
        return 0

    def __dealloc__(self):
        tk_token_index_free(&self.index)
        free(self.blob)
        free(self.offsets)

    def __reduce__(self):
        if not self.own.n_ids:
            return PackedKeys, ()
        n = self.own.n_ids
        return PackedKeys, (
            (<const char *> self.blob)[:self.offsets[n]], (<const char *> self.offsets)[:(n + 1) * sizeof(int64_t)]
        )

    def __len__(self):
        return self.own.n_ids

    cdef str at(self, size_t i):
        cdef const int64_t *bounds = self.own.offsets + i
        return PyUnicode_DecodeUTF8(<const char *> self.own.blob + bounds[0], bounds[1] - bounds[0], NULL)

    def __getitem__(self, Py_ssize_t i):
        if i < 0:
            i += <Py_ssize_t> self.own.n_ids
        if not 0 <= i < <Py_ssize_t> self.own.n_ids:
            raise IndexError(f"index {i} is out of range; there are {self.own.n_ids} keys")
        return self.at(i)

    def __iter__(self):
        return iter(self.unpacked()[0])

    def find(self, key):
        """Return the number of a key, or -1."""
        cdef Py_ssize_t n = 0
        cdef const char *text
        if not isinstance(key, str):
            return -1
        try:
            text = PyUnicode_AsUTF8AndSize(key, &n)
        except UnicodeEncodeError:  # a lone surrogate
            return -1
        return <int64_t> tk_token_index_find(&self.index, <const uint8_t *> text, n) - 1

    def unpacked(self):
        """Return the list of all keys and the dict of their numbers: one loop, so a text is hashed in the CPU cache."""
        cdef list keys = [None] * self.own.n_ids
        cdef dict numbers = {}
        cdef size_t i
        cdef str key
        for i in range(self.own.n_ids):
            key = self.at(i)
            keys[i] = key
            numbers[key] = i
        return keys, numbers
