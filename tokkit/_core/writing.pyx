"""Writes the tables of tokenizer files as JSON: tokens with ids or scores, merges, added tokens."""

from cpython.bytes cimport PyBytes_AS_STRING, _PyBytes_Resize
from cpython.ref cimport PyObject, Py_XDECREF
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX
    object PyUnicode_DecodeUTF8(const char *text, Py_ssize_t n, const char *errors)
    PyObject *new_bytes "PyBytes_FromStringAndSize"(const char *text, Py_ssize_t n) except NULL

cdef extern from "files/json_write.h" nogil:
    int TK_ADDED_VALUES
    size_t TK_SHORT
    ctypedef struct tk_text:
        const uint8_t *p
        size_t n
        uint8_t *start
    ctypedef struct tk_json_layout:
        tk_text between, before, middle, after
    ctypedef struct tk_json_added:
        tk_strings contents
        const int64_t *ids
        const uint8_t *flags
        tk_text before[7]
        tk_text after, between
    size_t tk_json_room(const tk_json_layout *layout, size_t n, size_t n_bytes)
    size_t tk_json_added_room(const tk_json_added *added, size_t n)
    uint8_t *tk_json_ids(uint8_t *out, const tk_strings *tokens, const int64_t *ids, size_t n, const tk_json_layout *by)
    uint8_t *tk_json_scores(
        uint8_t *out, const tk_strings *tokens, const double *scores, int read_back, size_t n,
        const tk_json_layout *by, size_t *at
    )
    uint8_t *tk_json_merges(
        uint8_t *out, const uint8_t *text, size_t n_bytes, uint8_t separator, const tk_json_layout *by
    )
    uint8_t *tk_json_merges_of(
        uint8_t *out, const tk_strings *tokens, const uint32_t *merges, size_t n, const tk_json_layout *by
    )
    uint8_t *tk_merge_lines(uint8_t *out, const tk_strings *tokens, const uint32_t *merges, size_t n)
    size_t tk_first_not_joined(const tk_strings *tokens, const uint32_t *merges, size_t n)
    uint8_t *tk_json_put_added(uint8_t *out, const tk_json_added *added, size_t n)


cdef tk_text text_of(bytes text) except *:
    """`text` must live as long as what is returned."""
    cdef tk_text made
    made.p, made.n = <const uint8_t *> PyBytes_AS_STRING(text), len(text)
    memset(made.start, 0, TK_SHORT)
    memcpy(made.start, made.p, min(made.n, TK_SHORT))
    return made


cdef tk_json_layout layout_of(tuple layout) except *:
    """`layout` must live as long as what is returned."""
    cdef tk_json_layout made
    if len(layout) != 4:
        raise IndexError("a layout has four texts")
    made.between, made.before = text_of(layout[0]), text_of(layout[1])
    made.middle, made.after = text_of(layout[2]), text_of(layout[3])
    return made


cdef tk_strings strings_of(bytes blob, const int64_t[::1] offsets) except *:
    cdef tk_strings made
    if offsets.shape[0] < 1 or offsets[0] < 0 or offsets[offsets.shape[0] - 1] > len(blob):
        raise IndexError(f"offsets must be from 0 to {len(blob)}, the bytes of the tokens")
    made.bytes, made.offsets = <const uint8_t *> PyBytes_AS_STRING(blob), &offsets[0]
    return made


cdef const uint32_t *merges_of(const uint32_t[:, ::1] merges, size_t n_tokens) except? NULL:
    cdef size_t i, n = merges.shape[0]
    if not n:
        return NULL
    if merges.shape[1] != 3:
        raise IndexError("a merge has three ids")
    for i in range(n):
        if merges[i, 0] >= n_tokens or merges[i, 1] >= n_tokens or merges[i, 2] >= n_tokens:
            raise IndexError(f"merge {i} is of a token that does not exist")
    return &merges[0, 0]


cdef class Output:
    """Bytes that grow at their end; memory that is reserved is untouched until it is written to."""

    def __cinit__(self):
        self.made = new_bytes(NULL, 0)

    def __dealloc__(self):
        Py_XDECREF(self.made)

    cdef uint8_t *reserve(self, size_t n) except NULL:
        """Return where the next bytes go, with room for n of them."""
        if self.n + n > self.capacity:
            if n > <size_t> PY_SSIZE_T_MAX // 2 - self.n:
                raise MemoryError("not enough memory for the tables of this file")
            self.capacity = max(self.n + n, self.capacity + self.capacity // 2)
            _PyBytes_Resize(&self.made, self.capacity)
            self.start = <uint8_t *> PyBytes_AS_STRING(<object> self.made)
        return self.start + self.n

    cdef void upto(self, const uint8_t *end) noexcept:
        """Say where what was written ends."""
        self.n = end - self.start

    cdef bytes taken(self):
        """Return what was written; the output is empty afterwards."""
        if self.made != NULL and self.n != self.capacity:
            _PyBytes_Resize(&self.made, self.n)
        taken = <bytes> self.made
        Py_XDECREF(self.made)
        self.made, self.start, self.n, self.capacity = new_bytes(NULL, 0), NULL, 0, 0
        return taken


cdef class JsonWriter(Output):
    """Writes JSON to one piece of memory, because a table of a megabyte is written faster than it is copied.

    A layout is four texts: between two entries, before the first value of one, between its values, after the last one.
    """

    def put(self, bytes text not None):
        """Append JSON."""
        cdef uint8_t *out = self.reserve(len(text))
        memcpy(out, PyBytes_AS_STRING(text), len(text))
        self.upto(out + len(text))

    def ids(self, bytes blob not None, const int64_t[::1] offsets, const int64_t[::1] ids, tuple layout not None):
        """Append `"token": id` of tokens in their order."""
        cdef tk_strings tokens = strings_of(blob, offsets)
        cdef tk_json_layout by = layout_of(layout)
        cdef size_t n = ids.shape[0]
        if offsets.shape[0] - 1 != ids.shape[0]:
            raise IndexError("there must be an id for each token")
        cdef uint8_t *out = self.reserve(tk_json_room(&by, n, len(blob)))
        with nogil:
            out = tk_json_ids(out, &tokens, &ids[0] if n else NULL, n, &by)
        self.upto(out)

    def scores(
        self, bytes blob not None, const int64_t[::1] offsets, const double[::1] scores, tuple layout not None,
        size_t start=0, bint read_back=True
    ):
        """Append `"token", score` of tokens from `start` on, in digits that tokenizers reads, or those of repr; return
        how many tokens are complete. If that is not all, the digits of the next one and what comes after them are
        left to the caller, as tk_decimal_write leaves them to `tokkit.files.decimals.write`."""
        cdef tk_strings tokens = strings_of(blob, offsets)
        cdef tk_json_layout by = layout_of(layout)
        cdef size_t n = scores.shape[0]
        if offsets.shape[0] - 1 != scores.shape[0]:
            raise IndexError("there must be a score for each token")
        cdef uint8_t *out = self.reserve(tk_json_room(&by, n, len(blob)))
        with nogil:
            out = tk_json_scores(out, &tokens, &scores[0] if n else NULL, read_back, n, &by, &start)
        self.upto(out)
        return start

    def merges(self, bytes text not None, uint8_t between, tuple layout not None):
        """Append packed merges (`tokkit.formats.tables.Merges`): "left right" with an empty middle of the layout, else
        two strings."""
        cdef tk_json_layout by = layout_of(layout)
        cdef const uint8_t *p = <const uint8_t *> PyBytes_AS_STRING(text)
        cdef size_t n = len(text)
        cdef uint8_t *out
        if n:
            out = self.reserve(tk_json_room(&by, text.count(b"\0") + 1, n))
            with nogil:
                out = tk_json_merges(out, p, n, between, &by)
            self.upto(out)

    def merges_of(
        self, bytes blob not None, const int64_t[::1] offsets, const uint32_t[:, ::1] merges, tuple layout not None
    ):
        """Append merges, (n, 3) numbers of left, right and result, as `merges` does."""
        cdef tk_strings tokens = strings_of(blob, offsets)
        cdef const uint32_t *p = merges_of(merges, offsets.shape[0] - 1)
        cdef tk_json_layout by = layout_of(layout)
        cdef size_t n = merges.shape[0]
        cdef uint8_t *out = self.reserve(tk_json_room(&by, n, merged_bytes(tokens, p, n)))
        with nogil:
            out = tk_json_merges_of(out, &tokens, p, n, &by)
        self.upto(out)

    def added(
        self, bytes blob not None, const int64_t[::1] offsets, const int64_t[::1] ids, const uint8_t[::1] flags,
        tuple before not None, bytes after not None, bytes between not None
    ):
        """Append added tokens: `before` are texts before the id, the content and five flags, the lowest bit first."""
        cdef tk_json_added added
        cdef size_t n = ids.shape[0], i
        added.contents = strings_of(blob, offsets)
        if offsets.shape[0] - 1 != ids.shape[0] or flags.shape[0] != ids.shape[0] or len(before) != TK_ADDED_VALUES:
            raise IndexError("there must be a content, an id and flags for each token, and a text before each value")
        if not n:
            return
        added.ids, added.flags = &ids[0], &flags[0]
        for i in range(<size_t> TK_ADDED_VALUES):
            added.before[i] = text_of(before[i])
        added.after, added.between = text_of(after), text_of(between)
        cdef uint8_t *out = self.reserve(tk_json_added_room(&added, n))
        with nogil:
            out = tk_json_put_added(out, &added, n)
        self.upto(out)

    def __len__(self):
        return self.n

    def as_text(self):
        """Return what was written as a str."""
        return PyUnicode_DecodeUTF8(<const char *> self.start, self.n, NULL)

    def take(self):
        """Return what was written as bytes; the writer is empty afterwards."""
        return self.taken()


def merge_lines(bytes blob not None, const int64_t[::1] offsets, const uint32_t[:, ::1] merges):
    """Return merges as lines of "left right"."""
    cdef tk_strings tokens = strings_of(blob, offsets)
    cdef const uint32_t *p = merges_of(merges, offsets.shape[0] - 1)
    cdef size_t n = merges.shape[0]
    cdef Output out = Output()
    cdef uint8_t *end = out.reserve(merged_bytes(tokens, p, n) + 2 * n + 1)
    with nogil:
        end = tk_merge_lines(end, &tokens, p, n)
    out.upto(end)
    return out.taken()


cdef size_t merged_bytes(tk_strings tokens, const uint32_t *merges, size_t n) noexcept:
    cdef size_t i, total = 0
    for i in range(n):
        total += tokens.offsets[merges[3 * i] + 1] - tokens.offsets[merges[3 * i]]
        total += tokens.offsets[merges[3 * i + 1] + 1] - tokens.offsets[merges[3 * i + 1]]
    return total


def first_not_joined(bytes blob not None, const int64_t[::1] offsets, const uint32_t[:, ::1] merges):
    """Return the number of the first merge whose result is not its two tokens joined, which have bytes; or -1."""
    cdef tk_strings tokens = strings_of(blob, offsets)
    cdef const uint32_t *p = merges_of(merges, offsets.shape[0] - 1)
    cdef size_t n = merges.shape[0], found
    with nogil:
        found = tk_first_not_joined(&tokens, p, n)
    return -1 if found == n else found
