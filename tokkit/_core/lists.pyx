"""Columns of numbers as lists, with shared ints and names; and lists of ints as arrays."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.list cimport PyList_New
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.set cimport PySet_Contains
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_New
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

import numpy as np

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define TK_SHARED_INTS 0 /* threads would wait for one another's counts of references */
    #else
    #define TK_SHARED_INTS (1 << 15)
    #endif
    """
    const Py_ssize_t TK_SHARED_INTS

cdef extern from "Python.h":
    void PyList_SET_ITEM(object made, Py_ssize_t i, PyObject *item)
    void PyTuple_SET_ITEM(object made, Py_ssize_t i, PyObject *item)
    PyObject *PyList_GET_ITEM(object made, Py_ssize_t i)
    PyObject *PyLong_FromLongLong(long long value)
    void PyObject_GC_UnTrack(object made)
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow)

# Creating an int costs ten times as much as returning one that exists (benchmarks/calls). The first
# list creates them, which takes a millisecond.
cdef tuple shared_ints = None


cdef Py_ssize_t share_ints() except -1:
    # The number of ints that exist.
    global shared_ints
    if shared_ints is None:
        shared_ints = tuple(range(TK_SHARED_INTS))
    return len(shared_ints)


cdef object new_array = np.empty, INTS = np.dtype(np.int64)


cdef inline PyObject *as_int(int64_t value, Py_ssize_t shared) noexcept:
    # Returns a new reference, or NULL if there is no memory. Ints below `shared` exist already.
    cdef PyObject *made
    if 0 <= value < shared:
        made = <PyObject *> PyTuple_GET_ITEM(shared_ints, <Py_ssize_t> value)
        Py_INCREF(<object> made)
        return made
    return PyLong_FromLongLong(value)


cdef list pairs_of(const int64_t *spans, Py_ssize_t n):
    cdef Py_ssize_t i, shared = share_ints()
    cdef tuple pair
    cdef PyObject *item
    cdef int side
    made = PyList_New(n)
    for i in range(n):
        pair = PyTuple_New(2)
        for side in range(2):
            item = as_int(spans[2 * i + side], shared)
            if item is NULL:
                raise MemoryError
            PyTuple_SET_ITEM(pair, side, item)
        PyObject_GC_UnTrack(pair)  # as the garbage collector would do when it first visits a tuple of ints
        Py_INCREF(pair)
        PyList_SET_ITEM(made, i, <PyObject *> pair)
    return made


cdef list numbers_of(const int32_t *column, Py_ssize_t n):
    cdef PyObject *item
    cdef Py_ssize_t i, shared = share_ints()
    made = PyList_New(n)
    for i in range(n):
        if column[i] < 0:
            item = <PyObject *> None
            Py_INCREF(None)
        else:
            item = as_int(column[i], shared)
        if item is NULL:
            raise MemoryError
        PyList_SET_ITEM(made, i, item)
    return made


cdef list ints_of(const uint32_t *wide, const uint8_t *narrow, Py_ssize_t n):
    # One of the two is NULL.
    cdef PyObject *item
    cdef Py_ssize_t i, shared = share_ints()
    made = PyList_New(n)
    for i in range(n):
        item = as_int(narrow[i] if wide is NULL else wide[i], shared)
        if item is NULL:
            raise MemoryError
        PyList_SET_ITEM(made, i, item)
    return made


cdef list named_of(const uint32_t *ids, Py_ssize_t n, list names, object make, const uint8_t *varies, list places):
    # The names of ids; `make` gives one that is None yet. `places` gets where ids are that vary.
    cdef Py_ssize_t i, n_names = len(names)
    cdef object name
    for i in range(n):
        if ids[i] >= n_names:
            raise IndexError(f"an id is {ids[i]}; it must be less than {n_names}")
    made = PyList_New(n)
    for i in range(n):
        name = <object> PyList_GET_ITEM(names, ids[i])
        if name is None:
            name = names[ids[i]] = make(ids[i])
        if varies is not NULL and varies[ids[i]]:
            places.append(i)
        Py_INCREF(name)
        PyList_SET_ITEM(made, i, <PyObject *> name)
    return made


cdef const uint8_t *mask_of(bytes mask, list names) except? NULL:
    # The bytes of a mask of ids; NULL for None.
    if mask is None:
        return NULL
    if len(mask) < len(names):
        raise ValueError(f"the mask has {len(mask)} bytes; it must have {len(names)}")
    return <const uint8_t *> <const char *> mask


def pairs(column) -> list:
    """Return contiguous spans, int64 (n, 2), as a list of tuples."""
    cdef Py_buffer given
    PyObject_GetBuffer(column, &given, PyBUF_SIMPLE)
    try:
        return pairs_of(<const int64_t *> given.buf, given.len // <Py_ssize_t> (2 * sizeof(int64_t)))
    finally:
        PyBuffer_Release(&given)


def numbers(column) -> list:
    """Return a contiguous array of int32 as a list, with None for numbers below 0."""
    cdef Py_buffer given
    PyObject_GetBuffer(column, &given, PyBUF_SIMPLE)
    try:
        return numbers_of(<const int32_t *> given.buf, given.len // <Py_ssize_t> sizeof(int32_t))
    finally:
        PyBuffer_Release(&given)


def ints(column) -> list:
    """Return a contiguous array of uint32 or uint8 as a list."""
    cdef Py_buffer given
    cdef bint narrow = column.itemsize == 1
    PyObject_GetBuffer(column, &given, PyBUF_SIMPLE)
    try:
        if narrow:
            return ints_of(NULL, <const uint8_t *> given.buf, given.len)
        return ints_of(<const uint32_t *> given.buf, NULL, given.len // <Py_ssize_t> sizeof(uint32_t))
    finally:
        PyBuffer_Release(&given)


def named(column, list names not None, make, bytes mask=None) -> tuple:
    """Return (the names of ids as a list, the places of those that `mask` has); `make` gives a name that is None yet.

    `column` is a contiguous array of uint32, `names` has one str for each id, and `mask` one byte.
    """
    cdef Py_buffer given
    cdef list places = []
    cdef const uint8_t *varies = mask_of(mask, names)
    PyObject_GetBuffer(column, &given, PyBUF_SIMPLE)
    try:
        n = given.len // <Py_ssize_t> sizeof(uint32_t)
        return named_of(<const uint32_t *> given.buf, n, names, make, varies, places), places
    finally:
        PyBuffer_Release(&given)


def int_rows(rows, Py_ssize_t length, int64_t fill, bint left):
    """Return lists of ints as rows of `length` numbers, filled up at the end or at the left: int64 (n, length).

    None where a row is no list, is longer, or has anything but ints of 64 bits.
    """
    cdef Py_buffer view
    cdef Py_ssize_t i, k, n, n_rows = len(rows)
    cdef int64_t *out
    cdef int overflow = 0
    cdef object item
    made = new_array((n_rows, length), INTS)
    PyObject_GetBuffer(made, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
    try:
        for i in range(n_rows):
            row = rows[i]
            if type(row) is not list or len(<list> row) > length:
                return None
            n = len(<list> row)
            out = <int64_t *> view.buf + i * length
            for k in range(length - n):
                out[k if left else n + k] = fill
            if left:
                out += length - n
            for k in range(n):
                item = <object> PyList_GET_ITEM(row, k)
                if type(item) is not int:
                    return None
                out[k] = PyLong_AsLongLongAndOverflow(item, &overflow)
                if overflow:
                    return None
        return made
    finally:
        PyBuffer_Release(&view)


def names_at(list ids not None, list names not None):
    """Return the names of ids as a list; None if an id is no int, or none of these names has it."""
    cdef Py_ssize_t i, n = len(ids), n_names = len(names)
    cdef long long id_
    cdef int overflow = 0
    cdef object item
    cdef list made = PyList_New(n)
    for i in range(n):
        item = <object> PyList_GET_ITEM(ids, i)
        if type(item) is not int:
            return None
        id_ = PyLong_AsLongLongAndOverflow(item, &overflow)
        if overflow or id_ < 0 or id_ >= n_names:
            return None
        item = <object> PyList_GET_ITEM(names, <Py_ssize_t> id_)
        if item is None:
            return None
        Py_INCREF(item)
        PyList_SET_ITEM(made, i, <PyObject *> item)
    return made


def are_ids(ids) -> bool:
    """Return whether `ids` is a list of ints from 0 to 2**32 - 1, of no other type."""
    cdef Py_ssize_t i
    cdef long long id_
    cdef int overflow = 0
    cdef object item
    if type(ids) is not list:
        return False
    for i in range(len(<list> ids)):
        item = <object> PyList_GET_ITEM(ids, i)
        if type(item) is not int:
            return False
        id_ = PyLong_AsLongLongAndOverflow(item, &overflow)
        if overflow or not 0 <= id_ < <long long> 1 << 32:
            return False
    return True


def without(list ids not None, frozenset left_out not None):
    """Return the ids that are not in `left_out` as a list; None if some are no ints."""
    cdef Py_ssize_t i
    cdef object item
    cdef list made = []
    for i in range(len(ids)):
        item = <object> PyList_GET_ITEM(ids, i)
        if type(item) is not int:
            return None
        if not PySet_Contains(left_out, item):
            made.append(item)
    return made
