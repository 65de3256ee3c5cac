"""Keys of vectors, and files of vectors."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_Decode, PyUnicode_DecodeUTF8
from libc.stdint cimport SIZE_MAX, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from tokkit._core.text cimport tk_utf8_invalid
from tokkit._core.token_tables cimport (
    tk_own_tokens, tk_token_index, tk_token_index_build, tk_token_index_find, tk_token_index_free,
)

cdef extern from "embed/vector_file.h" nogil:
    int TK_VECTOR_OK, TK_VECTOR_NOT_FINITE, TK_VECTOR_NO_KEY, TK_VECTOR_LONG_KEY, TK_VECTOR_LENGTH, TK_VECTOR_NUMBER
    int TK_VECTOR_KEY_BYTES, TK_FLOAT_CHARS
    ctypedef struct tk_vector_reader:
        size_t d
        float *rows
        size_t capacity
        size_t n
        size_t line
        uint8_t *keys
        size_t keys_capacity
        int64_t *offsets
        size_t offsets_capacity
        int64_t *starts
        size_t field, seen
    void tk_vector_reader_free(tk_vector_reader *r)
    int tk_vectors_binary(tk_vector_reader *r, const uint8_t *data, size_t n, size_t *used)
    int tk_vectors_text(tk_vector_reader *r, const uint8_t *data, size_t n, int last, size_t *used)
    size_t tk_float_text(float value, char *out)


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


# Reads files of vectors chunk by chunk, and writes their lines of text.


cdef class VectorReader:
    """Reads keys and vectors of d numbers from chunks of a file; rows go to the arrays that `room` is given.

    After `check_only`, numbers are checked but not copied, and `starts` tells where they are.
    """

    cdef tk_vector_reader reader
    cdef object kept

    def __cinit__(self, size_t d, size_t line=0):
        self.reader.d, self.reader.line = d, line

    def __dealloc__(self):
        tk_vector_reader_free(&self.reader)

    def room(self, float[:, ::1] rows not None):
        """Continue in this array (n, d), which contains the rows so far."""
        if <size_t> rows.shape[1] != self.reader.d or <size_t> rows.shape[0] < self.reader.n or not rows.shape[0]:
            raise ValueError(
                f"rows has shape ({rows.shape[0]}, {rows.shape[1]}); it must have {self.reader.d} columns and at least "
                f"{max(<size_t> 1, self.reader.n)} rows"
            )
        self.kept = rows
        self.reader.rows, self.reader.capacity = &rows[0, 0], rows.shape[0]

    def check_only(self, size_t capacity):
        """Read at most so many vectors of the binary format, and do not copy their numbers."""
        self.kept, self.reader.rows, self.reader.capacity = None, NULL, capacity

    @property
    def starts(self):
        """The offset of each vector's numbers, after `check_only`: int64 (n) as bytes, from the first record on."""
        if self.reader.starts == NULL:
            return b""
        return (<const char *> self.reader.starts)[:self.reader.n * sizeof(int64_t)]

    @property
    def n(self):
        """How many vectors have been read."""
        return self.reader.n

    @property
    def line(self):
        """The line of text that was read last."""
        return self.reader.line

    def feed(self, const uint8_t[::1] data not None, *, bint text, bint last):
        """Read whole records while there is room; return how many bytes they have.

        ValueError says what is wrong with the next record.
        """
        cdef size_t used = 0, n = data.shape[0]
        cdef int status
        if not n:
            return 0
        with nogil:
            if text:
                status = tk_vectors_text(&self.reader, &data[0], n, last, &used)
            else:
                status = tk_vectors_binary(&self.reader, &data[0], n, &used)
        if status == TK_VECTOR_OK:
            return used
        if status == TK_VECTOR_NOT_FINITE:
            raise ValueError("a number is NaN, infinite or outside the range of float32; all must be finite")
        if status == TK_VECTOR_NO_KEY:
            raise ValueError("the key is empty; there must be a key before the vector")
        if status == TK_VECTOR_LONG_KEY:
            raise ValueError(f"the key has more than {TK_VECTOR_KEY_BYTES} bytes, the maximum")
        if status == TK_VECTOR_LENGTH:
            raise ValueError(f"the vector has {self.reader.seen} numbers; it must have {self.reader.d}")
        if status == TK_VECTOR_NUMBER:
            field = bytes(data[self.reader.field:self.reader.field + min(self.reader.seen, 40)])
            raise ValueError(f"{field.decode(errors='replace')!r} is not a number")
        raise MemoryError("not enough memory for the keys")

    def packed(self):
        """Return the keys as PackedKeys, once; ValueError if a key is not UTF-8 or occurs twice."""
        cdef PackedKeys made = PackedKeys()
        if self.reader.n:
            made.own.blob, made.own.offsets, made.own.n_ids = self.reader.keys, self.reader.offsets, self.reader.n
            made.build()
            made.blob, made.offsets = self.reader.keys, self.reader.offsets
            self.reader.keys, self.reader.offsets = NULL, NULL
            self.reader.keys_capacity = self.reader.offsets_capacity = self.reader.n = 0
        return made

    def keys(self, str encoding, str errors):
        """Return the keys as a list of str; UnicodeDecodeError, with the row as `row`, for invalid UTF-8."""
        cdef size_t i = 0
        cdef int64_t *at = self.reader.offsets
        cdef const char *text = <const char *> self.reader.keys
        cdef bytes codec = encoding.encode(), handler = errors.encode()
        cdef list found = [None] * self.reader.n
        try:
            for i in range(self.reader.n):
                found[i] = PyUnicode_Decode(text + at[i], at[i + 1] - at[i], codec, handler)
        except UnicodeDecodeError as error:
            error.row = i
            raise
        return found


def copy_rows(const uint8_t[::1] data not None, const int64_t[::1] starts not None, float[:, ::1] rows not None):
    """Copy the vectors that begin at these byte offsets of the data to rows (n, d)."""
    cdef Py_ssize_t i, n = rows.shape[0], n_bytes = rows.shape[1] * <Py_ssize_t> sizeof(float)
    cdef bint fits = starts.shape[0] == n
    if fits:
        with nogil:
            for i in range(n):
                if starts[i] < 0 or starts[i] > data.shape[0] - n_bytes:
                    fits = False
                    break
                memcpy(&rows[i, 0], &data[starts[i]], n_bytes)
    if not fits:
        raise ValueError(
            f"there are {starts.shape[0]} starts for {n} rows; there must be one for each, and each row of {n_bytes} "
            f"bytes must lie within the {data.shape[0]} bytes of data"
        )


def vector_lines(list keys not None, const float[:, ::1] rows not None):
    """Return a line of text for each row (n, d): its key (bytes) and its numbers, which must be finite."""
    cdef Py_ssize_t n = rows.shape[0], d = rows.shape[1], i, j, room = 0
    cdef bytes key
    cdef char *out
    cdef char *start
    if len(keys) != n:
        raise ValueError(f"there are {len(keys)} keys for {n} rows; there must be one for each")
    for key in keys:
        room += len(key) + 1 + d * TK_FLOAT_CHARS
    made = PyBytes_FromStringAndSize(NULL, room)
    out = start = PyBytes_AS_STRING(made)
    for i in range(n):
        key = keys[i]
        memcpy(out, <const char *> key, len(key))
        out += len(key)
        with nogil:
            for j in range(d):
                out[0] = c" "
                out += 1 + tk_float_text(rows[i, j], out + 1)
        out[0] = c"\n"
        out += 1
    return made[:out - start]
