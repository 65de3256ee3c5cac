"""The texts of pieces of SentencePiece, and look-ups of pieces and ids in tables."""

cimport cython
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from tokkit._core.decode cimport COPY, ON_STACK, Detokenizer, Output, grow, small_int, start

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char *s, Py_ssize_t size, const char *errors)
    bint PyList_CheckExact(object value)
    PyObject *PyList_GET_ITEM(object value, Py_ssize_t i)  # borrowed
    Py_ssize_t PyList_GET_SIZE(object value)
    PyObject *PyDict_GetItemWithError(object table, object key) except? NULL  # borrowed
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL

cdef enum:
    SPACED = 1  # marks of pieces: one that begins with a space,
    HIDDEN = 2  # one that is never visible
    UNKNOWN_PIECE = 2  # types of pieces, by their numbers in model files
    CONTROL_PIECE = 3
    UNUSED_PIECE = 5
    BYTE_PIECE = 6


cdef struct Beginning:  # of a text
    bint ended      # something visible is there: no more spaces are dropped
    bint cut        # the last piece was hidden, and bytes after it do not join those before it
    size_t spaces   # that are dropped


cdef class PieceTexts:
    """The text of pieces of SentencePiece. `marks` has a byte for each id. Immutable.

    With `strips` the space of the first visible piece is dropped, with `strips_all` also those of pieces that are only
    a space before it. If `apart`, bytes on both sides of a hidden piece belong to different characters.
    """

    cdef Detokenizer tokens
    cdef bytes marks, errors
    cdef bint strips, strips_all, apart

    def __init__(
        self, Detokenizer tokens not None, bytes marks not None, *, bint strips, bint strips_all, bint apart, str errors
    ):
        if <size_t> len(marks) != tokens.n_ids:
            raise ValueError(f"there are {len(marks)} marks; there must be one for each of {tokens.n_ids} ids")
        self.tokens, self.marks, self.errors = tokens, marks, errors.encode("ascii")
        self.strips, self.strips_all, self.apart = strips, strips_all, apart

    cdef bint add(self, Output *out, Beginning *so_far, long long id_) except -1:
        # One more id; false if it is out of range, or its bytes might join those before a hidden piece.
        cdef uint8_t mark
        cdef size_t length
        if not 0 <= id_ < <long long> self.tokens.n_ids:
            return False
        mark, length = (<const uint8_t *> <const char *> self.marks)[id_], self.tokens.tokens[id_].length
        if not so_far.ended:
            so_far.spaces += mark & SPACED
            so_far.ended = not (self.strips_all and length == 1) if mark & SPACED else length > 0
        if mark & HIDDEN:
            so_far.cut = self.apart
        elif length:
            if so_far.cut and self.tokens.blob[self.tokens.tokens[id_].start] & 0xC0 == 0x80:
                return False
            so_far.cut = False
        self.tokens.put(out, id_)
        return True

    cdef str decoded(self, Output *out, size_t spaces):
        spaces = min(spaces, out.n)
        return PyUnicode_DecodeUTF8(<const char *> out.bytes + spaces, out.n - spaces, self.errors)

    def text(self, list ids not None):
        """Return the text of ids; None if one is not an int in range, or bytes around a hidden piece might join."""
        cdef uint8_t stack[ON_STACK]
        cdef Output out
        cdef Beginning so_far = Beginning(not self.strips, False, 0)
        cdef Py_ssize_t k
        start(&out, stack)
        try:
            for k in range(len(ids)):
                if not self.add(&out, &so_far, small_int(PyList_GET_ITEM(ids, k))):
                    return None
            return self.decoded(&out, so_far.spaces)
        finally:
            PyMem_Free(out.heap)

    def text_of_pieces(self, list pieces not None, dict ids not None):
        """Return the text of pieces, by their ids; a str that is not a piece is its own text. None as for `text`."""
        cdef uint8_t stack[ON_STACK]
        cdef Output out
        cdef Beginning so_far = Beginning(not self.strips, False, 0)
        cdef PyObject *found
        cdef const char *own
        cdef Py_ssize_t n = 0
        start(&out, stack)
        try:
            for piece in pieces:
                if type(piece) is not str:
                    return None
                found = PyDict_GetItemWithError(ids, piece)
                if found is not NULL:
                    if not self.add(&out, &so_far, small_int(found)):
                        return None
                    continue
                try:
                    own = PyUnicode_AsUTF8AndSize(piece, &n)
                except UnicodeEncodeError:
                    return None
                if n == 0:  # what stands around it does not join
                    return None
                if out.n + <size_t> n + COPY > out.capacity:
                    grow(&out, <size_t> n + COPY)
                memcpy(out.bytes + out.n, own, <size_t> n)
                out.n += <size_t> n
                so_far.ended, so_far.cut = True, False
            return self.decoded(&out, so_far.spaces)
        finally:
            PyMem_Free(out.heap)

    def texts(self, list given not None):
        """Return the text of a list of ids, or of each of a list of such lists; None if `text` returns it for one."""
        cdef list made
        if not given or not PyList_CheckExact(given[0]):
            return self.text(given)
        made = []
        for ids in given:
            text = self.text(ids) if PyList_CheckExact(ids) else None
            if text is None:
                return None
            made.append(text)
        return made


@cython.binding(False)  # built-in methods, which need no frame
@cython.embedsignature.format("clinic")  # for inspect.signature
@cython.auto_pickle(False)
cdef class PieceCalls:
    """Look-ups of pieces and ids, one or a list; the base class of sentencepiece's processor.

    Tables answer for int, str and bytes that they have, and `look_up(name, given)` for everything else: it fills in
    pieces, of which None is not known yet, and the ids of pieces, and raises all errors.
    """

    cdef list pieces, scores, types  # of each id
    cdef dict ids                    # of str and bytes

    def __cinit__(self, *_args, **_options):
        self.set_tables([], {}, [], [])

    def set_tables(self, list pieces not None, dict ids not None, list scores not None, list types not None):
        """Answer from these tables from now on."""
        self.pieces, self.ids, self.scores, self.types = pieces, ids, scores, types

    def id_to_piece(self, id):
        """Return the piece of an id, or those of a sequence of ids."""
        found = taken(self.pieces, id)
        return found if found is not None else self.look_up("id_to_piece", id)

    def get_score(self, id):
        """Return the score of an id's piece, or those of a sequence of ids."""
        found = taken(self.scores, id)
        return found if found is not None else self.look_up("get_score", id)

    cdef object type_is(self, str name, id, int type_):
        found = taken(self.types, id)
        if found is None:
            return self.look_up(name, id)
        return [one == type_ for one in found] if PyList_CheckExact(id) else found == type_

    def is_unknown(self, id):
        """Return whether an id is the unknown piece's."""
        return self.type_is("is_unknown", id, UNKNOWN_PIECE)

    def is_control(self, id):
        """Return whether an id is a control piece's."""
        return self.type_is("is_control", id, CONTROL_PIECE)

    def is_unused(self, id):
        """Return whether an id is an unused piece's."""
        return self.type_is("is_unused", id, UNUSED_PIECE)

    def is_byte(self, id):
        """Return whether an id is a byte piece's."""
        return self.type_is("is_byte", id, BYTE_PIECE)

    def piece_to_id(self, piece):
        """Return the id of a piece, or the unknown id; or those of a sequence of pieces."""
        found = valued(self.ids, piece)
        return found if found is not None else self.look_up("piece_to_id", piece)

    def __getitem__(self, piece):
        return self.piece_to_id(piece)


cdef object taken(list table, given):
    # The item of a list at a number, or the items at a list of numbers; None if one is not there, or is None.
    cdef long long at
    cdef Py_ssize_t k, n
    cdef list made
    if not PyList_CheckExact(given):
        at = small_int(<PyObject *> given)
        return <object> PyList_GET_ITEM(table, at) if 0 <= at < PyList_GET_SIZE(table) else None
    n = PyList_GET_SIZE(given)
    made = PyList_New(n)
    for k in range(n):
        at = small_int(PyList_GET_ITEM(given, k))
        if not 0 <= at < PyList_GET_SIZE(table):
            return None
        item = <object> PyList_GET_ITEM(table, at)
        if item is None:
            return None
        Py_INCREF(item)
        PyList_SET_ITEM(made, k, item)
    return made


cdef object valued(dict table, given):
    # The value of a str or bytes, or those of a list of them; None if one is not there.
    cdef PyObject *found
    cdef Py_ssize_t k, n
    cdef list made
    if not PyList_CheckExact(given):
        found = PyDict_GetItemWithError(table, given) if type(given) is str or type(given) is bytes else NULL
        return <object> found if found is not NULL else None
    n = PyList_GET_SIZE(given)
    made = PyList_New(n)
    for k in range(n):
        item = <object> PyList_GET_ITEM(given, k)
        found = PyDict_GetItemWithError(table, item) if type(item) is str or type(item) is bytes else NULL
        if found is NULL:
            return None
        Py_INCREF(<object> found)
        PyList_SET_ITEM(made, k, <object> found)
    return made


def items_of(list table not None, list numbers not None):
    """Return the items of a table at these numbers; None if a number is not an int in range, or an item is None."""
    return taken(table, numbers)
