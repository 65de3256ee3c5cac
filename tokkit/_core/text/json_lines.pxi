# The texts of JSON lines, unescaped one after another, without a Python object for any.
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, _PyBytes_Resize
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset

from tokkit._core.base cimport TK_OK

cdef extern from "byte_kernels.h" nogil:
    ctypedef struct tk_byte_kernels:
        pass
    const tk_byte_kernels *tk_byte_kernels_of(int isa)

cdef extern from *:
    """
    #define tk_new_bytes(n) PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n))
    """
    PyObject *tk_new_bytes(size_t n) except NULL

cdef extern from "files/json_lines.h" nogil:
    int TK_JSON_SPARE
    ctypedef struct tk_json_texts:
        const tk_byte_kernels *by
        const uint8_t *field
        size_t n_field
        uint8_t *texts
        size_t n_texts_bytes
        int64_t *ends
        size_t n_texts
        size_t n_lines
    int tk_json_texts_read(tk_json_texts *t, const uint8_t *data, size_t n, size_t *at)


def json_texts(bytes data not None, size_t at, bytes field not None, isa=None, *, bytes head=b"", stop=None):
    """Return (texts, ends, at, lines): the strings that JSON lines from byte `at` on have in a field.

    `texts` is valid UTF-8; each text ends at one of `ends` (packed int64). `at` is the end of the data, or the line
    that Python's json must read: it is malformed, has no such text, or is unusual. `lines` is how many were read.
    `head` is a line before them; if json must read it, no line is read. The data ends at `stop`, after a line break.
    """
    cdef tk_json_texts t
    cdef const uint8_t *p = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef const uint8_t *q = <const uint8_t *> PyBytes_AS_STRING(head)
    cdef size_t n = len(data) if stop is None else stop, m = len(head), head_at = 0
    cdef PyObject *made = NULL  # its memory is not written before it is shortened to the size of the texts
    cdef int status = TK_OK
    if not at <= n <= <size_t> len(data) or (stop is not None and n and p[n - 1] != 10):
        raise ValueError(
            f"at is {at} and stop {stop}; at must not be after stop, and stop be None or right after a line break in "
            f"the {len(data)} bytes of data"
        )
    memset(&t, 0, sizeof(t))
    t.by = tk_byte_kernels_of(isa_number(isa))
    t.field, t.n_field = <const uint8_t *> PyBytes_AS_STRING(field), len(field)
    try:
        made = tk_new_bytes(m + n - at + TK_JSON_SPARE)
        t.texts = <uint8_t *> PyBytes_AS_STRING(<object> made)
        with nogil:
            if m:
                status = tk_json_texts_read(&t, q, m, &head_at)
            if status == TK_OK and head_at == m:
                status = tk_json_texts_read(&t, p, n, &at)
        if status != TK_OK:
            raise MemoryError("not enough memory for the texts of JSON lines")
        _PyBytes_Resize(&made, t.n_texts_bytes)
        ends = PyBytes_FromStringAndSize(<const char *> t.ends, t.n_texts * sizeof(int64_t))
        return <object> made, ends, at, t.n_lines
    finally:
        Py_XDECREF(made)
        free(t.ends)
