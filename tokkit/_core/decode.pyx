"""Ids → bytes or text."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

import operator

import numpy as np

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char *s, Py_ssize_t size, const char *errors)
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow) except? -1
    bint PyLong_CheckExact(object value)
    bint PyList_CheckExact(object value)
    PyObject *PyList_GET_ITEM(object value, Py_ssize_t i)  # borrowed
    Py_ssize_t PyList_GET_SIZE(object value)

cdef uint32_t ABSENT = <uint32_t> -1


cdef int grow(Output *out, size_t need) except -1:
    cdef size_t capacity = 2 * out.capacity + need
    cdef uint8_t *moved = <uint8_t *> PyMem_Realloc(out.heap, capacity)
    if moved is NULL:
        raise MemoryError
    if out.heap is NULL:
        memcpy(moved, out.bytes, out.n)
    out.heap = out.bytes = moved
    out.capacity = capacity
    return 0


cdef inline long long as_id(item) except? -1:
    cdef int overflow = 0
    cdef long long id_ = PyLong_AsLongLongAndOverflow(item if PyLong_CheckExact(item) else as_int(item), &overflow)
    if overflow:
        raise KeyError(item)
    return id_


cdef object as_int(item):
    if isinstance(item, bool):
        raise TypeError(f"an id is {item!r}; it must be an int, not a bool")
    try:
        return operator.index(item)
    except TypeError:
        raise TypeError(f"an id is {item!r} ({type(item).__name__}); it must be an int") from None


cdef class Detokenizer:
    """Joins tokens. `blob` and `offsets` (int64, n_ids + 1) are a packed vocabulary. Immutable.

    `present` (uint8, n_ids) marks the ids that have a token, which may be empty; without it, those with bytes have one.

    Raises KeyError(id) for an id without a token, TypeError for anything that is not an int (bool included).
    """

    def __cinit__(self, bytes blob, const int64_t[::1] offsets, const uint8_t[::1] present=None):
        cdef size_t n = offsets.shape[0] - 1, i
        if present is not None and <size_t> present.shape[0] != n:
            raise ValueError(f"present has {present.shape[0]} entries; it must have one for each of {n} ids")
        if <size_t> len(blob) >= ABSENT:
            raise OverflowError(f"the tokens have {len(blob)} bytes; they must have less than 4 GiB")
        self.n_ids = n
        self.lengths = np.diff(offsets)
        self.tokens = <Token *> PyMem_Malloc(n * sizeof(Token))
        self.short_tokens = <ShortToken *> PyMem_Malloc(n * sizeof(ShortToken))
        self.blob = <uint8_t *> PyMem_Malloc(len(blob) + COPY)
        if self.tokens is NULL or self.short_tokens is NULL or self.blob is NULL:
            raise MemoryError
        memcpy(self.blob, <const char *> blob, len(blob))
        memset(self.blob + len(blob), 0, COPY)
        for i in range(n):
            self.tokens[i].start = <uint32_t> offsets[i]
            self.tokens[i].length = <uint32_t> (offsets[i + 1] - offsets[i])
            if not (self.tokens[i].length if present is None else present[i]):
                self.tokens[i].length = ABSENT
            memcpy(self.short_tokens + i, self.blob + self.tokens[i].start, COPY)
            self.short_tokens[i].length = (
                <uint8_t> self.tokens[i].length if self.tokens[i].length < COPY else NOT_SHORT
            )

    def __dealloc__(self):
        PyMem_Free(self.tokens)
        PyMem_Free(self.short_tokens)
        PyMem_Free(self.blob)

    cdef int put(self, Output *out, long long id_) except -1:
        cdef const ShortToken *short_token
        if not 0 <= id_ < <long long> self.n_ids:
            raise KeyError(id_)
        short_token = self.short_tokens + id_
        if short_token.length == NOT_SHORT or out.n + COPY > out.capacity:
            return self.put_long(out, id_)
        memcpy(out.bytes + out.n, short_token, COPY)
        out.n += short_token.length
        return 0

    cdef int put_long(self, Output *out, long long id_) except -1:
        cdef Token token = self.tokens[id_]
        if token.length == ABSENT:
            raise KeyError(id_)
        if out.n + token.length + COPY > out.capacity:
            grow(out, token.length + COPY)
        memcpy(out.bytes + out.n, self.blob + token.start, token.length)
        out.n += token.length
        return 0

    cdef int join(self, ids, Output *out) except -1:
        cdef const uint32_t[::1] unsigned
        cdef const int64_t[::1] signed
        cdef Py_ssize_t k
        cdef long long id_
        if PyList_CheckExact(ids):
            k = 0
            while k < PyList_GET_SIZE(ids):  # an item's __index__ may shorten the list
                id_ = small_int(PyList_GET_ITEM(ids, k))
                if id_ < 0:
                    item = <object> PyList_GET_ITEM(ids, k)
                    id_ = as_id(item)
                self.put(out, id_)
                k += 1
            return 0
        if isinstance(ids, np.ndarray) and ids.ndim == 1 and ids.dtype.kind in "iu":
            dtype = ids.dtype
            plain = ids.flags.aligned and ids.flags.c_contiguous
            if dtype == "uint32":
                unsigned = ids if plain else ids.copy()
                for k in range(unsigned.shape[0]):
                    self.put(out, unsigned[k])
                return 0
            if dtype.kind == "i" or dtype.itemsize < 8:
                signed = ids.astype("int64", copy=not plain)
                for k in range(signed.shape[0]):
                    self.put(out, signed[k])
                return 0
        for item in ids:
            self.put(out, as_id(item))
        return 0

    def decode_bytes(self, ids) -> bytes:
        """Return the bytes of the tokens, joined."""
        cdef uint8_t stack[ON_STACK]
        cdef Output out
        start(&out, stack)
        try:
            self.join(ids, &out)
            return PyBytes_FromStringAndSize(<const char *> out.bytes, out.n)
        finally:
            PyMem_Free(out.heap)

    def decode(self, ids, str errors="replace") -> str:
        """Return the text of the tokens, UTF-8 decoded as bytes.decode does with `errors`."""
        cdef uint8_t stack[ON_STACK]
        cdef Output out
        start(&out, stack)
        cdef bytes how
        try:
            self.join(ids, &out)
            if errors == "replace":
                return PyUnicode_DecodeUTF8(<const char *> out.bytes, out.n, b"replace")
            how = errors.encode("ascii")
            return PyUnicode_DecodeUTF8(<const char *> out.bytes, out.n, how)
        finally:
            PyMem_Free(out.heap)

    def with_offsets(self, list ids not None):
        """Return (text, the number of characters before each token); of a token that begins inside a character, one
        less. None if a token has no bytes. UnicodeDecodeError for invalid UTF-8.
        """
        cdef uint8_t stack[ON_STACK]
        cdef Output out
        cdef size_t before, k
        cdef Py_ssize_t characters = 0
        cdef list offsets = []
        start(&out, stack)
        try:
            for item in ids:
                before = out.n
                self.put(&out, as_id(item))
                if out.n == before:
                    return None
                offsets.append(max(<Py_ssize_t> 0, characters - (out.bytes[before] & 0xC0 == 0x80)))
                for k in range(before, out.n):
                    characters += out.bytes[k] & 0xC0 != 0x80
            return PyUnicode_DecodeUTF8(<const char *> out.bytes, out.n, b"strict"), offsets
        finally:
            PyMem_Free(out.heap)

    def token(self, id_) -> bytes:
        """Return the bytes of one token."""
        cdef long long number = as_id(id_)
        if not 0 <= number < <long long> self.n_ids or self.tokens[number].length == ABSENT:
            raise KeyError(number)
        return PyBytes_FromStringAndSize(
            <const char *> self.blob + self.tokens[number].start, self.tokens[number].length
        )

    def each(self, list ids not None) -> list:
        """Return the bytes of each token."""
        return [self.token(item) for item in ids]
