# What other modules use of decode.pyx.
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint32_t

cdef extern from *:
    """
    /* The value of an int of one digit; -1 for other objects, and for all below 0. */
    static long long tk_small_int(PyObject *item) {
        long long value = -1;
        if (!PyLong_CheckExact(item)) return -1;
    #if PY_VERSION_HEX >= 0x030C0000
        if (PyUnstable_Long_IsCompact((PyLongObject *)item))
            value = PyUnstable_Long_CompactValue((PyLongObject *)item);
    #else
        if (Py_SIZE(item) == 1) value = ((PyLongObject *)item)->ob_digit[0];
        else if (Py_SIZE(item) == 0) value = 0;
    #endif
        return value < 0 ? -1 : value;
    }
    """
    long long small_int "tk_small_int"(PyObject *item) noexcept

cdef enum:
    COPY = 16        # bytes that are copied at once: most tokens are shorter, and later tokens overwrite the surplus
    NOT_SHORT = 255
    ON_STACK = 4096  # results up to this many bytes need no allocation


cdef struct Token:
    uint32_t start
    uint32_t length  # ABSENT: no token has this id


cdef struct ShortToken:  # the bytes of a token, beside its length: one look at memory gives all
    uint8_t bytes[15]
    uint8_t length  # NOT_SHORT: longer, or no token has this id


# A growing run of bytes that starts on the stack.
cdef struct Output:
    uint8_t *bytes
    size_t n
    size_t capacity
    uint8_t *heap


cdef inline void start(Output *out, uint8_t *stack) noexcept:
    out.bytes = stack
    out.n = 0
    out.capacity = ON_STACK
    out.heap = NULL


cdef int grow(Output *out, size_t need) except -1


cdef class Detokenizer:
    cdef Token *tokens
    cdef ShortToken *short_tokens
    cdef uint8_t *blob
    cdef readonly size_t n_ids
    cdef readonly object lengths  # int64 array: bytes of each token
    cdef int put(self, Output *out, long long id_) except -1
    cdef int put_long(self, Output *out, long long id_) except -1
    cdef int join(self, ids, Output *out) except -1
