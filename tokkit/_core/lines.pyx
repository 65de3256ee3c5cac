"""Writes lines of tokens, ranks in base64 and pieces of SentencePiece models, and packs strings."""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tokkit._core.writing cimport Output, strings_of, tk_strings

import numpy as np

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    void *PyUnicode_DATA(object text)

cdef extern from "files/json_write.h" nogil:
    ctypedef struct tk_byte_symbol:
        uint8_t text[2]
        uint8_t n
    void tk_spell_bytes(
        uint8_t *out, int64_t *ends, const tk_strings *tokens, const uint8_t *as_they_are, size_t n,
        const tk_byte_symbol *symbols
    )

cdef enum:
    PIECE_TAG = 0x0A  # a field of bytes with the number 1: a piece in a model, and its text
    SCORE_TAG = 0x15
    TYPE_TAG = 0x18
    NORMAL = 1        # the type that is not written
    PIECE_BYTES = 32  # the most that a piece takes besides its text
    LINE_BYTES = 32   # the most that a rank takes, with the padding of its token

cdef bytes base64_digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
cdef const uint8_t *BASE64 = base64_digits


def spell_bytes(bytes blob not None, const int64_t[::1] offsets, const uint8_t[::1] as_they_are, str symbols not None):
    """Return (blob, offsets) of tokens with a symbol for each byte, except those with a mark, which are UTF-8."""
    cdef tk_strings tokens = strings_of(blob, offsets)
    cdef tk_byte_symbol[256] table
    cdef size_t n = offsets.shape[0] - 1, i
    cdef bytes one
    if as_they_are.shape[0] != offsets.shape[0] - 1 or len(symbols) != 256:
        raise IndexError("there must be a mark for each token, and a symbol for each byte")
    for i in range(256):
        one = symbols[i].encode()
        if len(one) > 2:
            raise ValueError("a symbol has at most two bytes")
        table[i].n = <uint8_t> len(one)
        table[i].text[0], table[i].text[1] = one[0], one[len(one) - 1]
    ends_array = np.empty(n + 1, dtype=np.int64)
    cdef int64_t[::1] ends = ends_array
    cdef Output out = Output()
    cdef uint8_t *start = out.reserve(2 * len(blob) + 1)
    with nogil:
        tk_spell_bytes(start, &ends[0], &tokens, &as_they_are[0] if n else NULL, n, table)
    out.upto(start + ends[n])
    return out.taken(), ends_array


def pack_strings(list strings not None):
    """Return (blob, offsets, whether all are text); a lone surrogate is encoded like a character."""
    cdef Py_ssize_t n = len(strings), i, capacity = 0
    cdef bint is_text = True
    cdef object string
    ends_array = np.zeros(n + 1, dtype=np.int64)
    cdef int64_t[::1] ends = ends_array
    for i in range(n):
        string = strings[i]
        if type(string) is not str:
            raise TypeError(f"string {i} is {type(string).__name__}; it must be a str")
        capacity += PyUnicode_GET_LENGTH(string) if PyUnicode_IS_ASCII(string) else 4 * PyUnicode_GET_LENGTH(string)
    cdef Output out = Output()
    cdef uint8_t *end = out.reserve(capacity + 1)
    cdef bytes encoded
    for i in range(n):
        string = strings[i]
        if PyUnicode_IS_ASCII(string):
            memcpy(end, PyUnicode_DATA(string), PyUnicode_GET_LENGTH(string))
            end += PyUnicode_GET_LENGTH(string)
        else:
            try:
                encoded = (<str> string).encode()
            except UnicodeEncodeError:
                encoded, is_text = (<str> string).encode("utf-8", "surrogatepass"), False
            memcpy(end, PyBytes_AS_STRING(encoded), len(encoded))
            end += len(encoded)
        ends[i + 1] = end - out.start
    out.upto(end)
    return out.taken(), ends_array, is_text


def lines(bytes blob not None, const int64_t[::1] offsets):
    """Return each token and a line end."""
    cdef tk_strings tokens = strings_of(blob, offsets)
    cdef size_t n = offsets.shape[0] - 1, i, length
    cdef Output out = Output()
    cdef uint8_t *end = out.reserve(len(blob) + n + 1)
    with nogil:
        for i in range(n):
            length = tokens.offsets[i + 1] - tokens.offsets[i]
            memcpy(end, tokens.bytes + tokens.offsets[i], length)
            end[length] = 10
            end += length + 1
    out.upto(end)
    return out.taken()


def pair_lines(bytes text not None):
    """Return pairs of texts, with a zero byte between all texts, as lines of "left right"."""
    cdef size_t n = len(text), i
    cdef bint is_left = True
    cdef const uint8_t *p = <const uint8_t *> PyBytes_AS_STRING(text)
    cdef Output out = Output()
    cdef uint8_t *start = out.reserve(n + 1)
    with nogil:
        for i in range(n):
            start[i] = p[i]
            if not p[i]:
                start[i] = 32 if is_left else 10
                is_left = not is_left
        start[n] = 10
    out.upto(start + (n + 1 if n else 0))
    return out.taken()


cdef inline uint8_t *put_varint(uint8_t *out, uint64_t value) noexcept nogil:
    while value > 0x7F:
        out[0] = <uint8_t> (value & 0x7F | 0x80)
        value >>= 7
        out += 1
    out[0] = <uint8_t> value
    return out + 1


cdef inline size_t varint_bytes(uint64_t value) noexcept nogil:
    cdef size_t n = 1
    while value > 0x7F:
        value >>= 7
        n += 1
    return n


def piece_fields(
    bytes blob not None, const int64_t[::1] offsets, const float[::1] scores, const uint8_t[::1] types, size_t start,
    size_t stop
):
    """Return pieces start to stop of a SentencePiece model as fields of its file: text, score, and types but NORMAL."""
    cdef tk_strings pieces = strings_of(blob, offsets)
    cdef size_t i, n, whole
    if not start <= stop <= <size_t> min(offsets.shape[0] - 1, scores.shape[0], types.shape[0]):
        raise IndexError("there must be a text, a score and a type for each piece")
    cdef Output out = Output()
    cdef uint8_t *end = out.reserve(len(blob) + PIECE_BYTES * (stop - start) + 1)
    with nogil:
        for i in range(start, stop):
            n = pieces.offsets[i + 1] - pieces.offsets[i]
            whole = 1 + varint_bytes(n) + n + 5 + (0 if types[i] == NORMAL else 2)
            end[0] = PIECE_TAG
            end = put_varint(end + 1, whole)
            end[0] = PIECE_TAG
            end = put_varint(end + 1, n)
            memcpy(end, pieces.bytes + pieces.offsets[i], n)
            end[n] = SCORE_TAG
            memcpy(end + n + 1, &scores[i], 4)
            end += n + 5
            if types[i] != NORMAL:
                end[0] = TYPE_TAG
                end[1] = types[i]
                end += 2
    out.upto(end)
    return out.taken()


def rank_lines(bytes blob not None, const int64_t[::1] offsets):
    """Return the lines of a rank file: tokens in base64 and their ids, without ids that have no bytes."""
    cdef tk_strings tokens = strings_of(blob, offsets)
    cdef const uint8_t *digits = BASE64
    cdef const uint8_t *p
    cdef size_t n = offsets.shape[0] - 1, i, k, length
    cdef uint32_t bits
    cdef Output out = Output()
    cdef uint8_t *end = out.reserve(2 * len(blob) + LINE_BYTES * n + 1)
    with nogil:
        for i in range(n):
            p, length = tokens.bytes + tokens.offsets[i], tokens.offsets[i + 1] - tokens.offsets[i]
            if not length:
                continue
            for k in range(0, length, 3):
                bits = <uint32_t> p[k] << 16
                bits |= <uint32_t> p[k + 1] << 8 if k + 1 < length else 0
                bits |= p[k + 2] if k + 2 < length else 0
                end[0], end[1] = digits[bits >> 18], digits[bits >> 12 & 63]
                end[2] = digits[bits >> 6 & 63] if k + 1 < length else 61
                end[3] = digits[bits & 63] if k + 2 < length else 61
                end += 4
            end[0] = 32
            end = put_decimal(end + 1, i)
            end[0] = 10
            end += 1
    out.upto(end)
    return out.taken()


cdef inline uint8_t *put_decimal(uint8_t *out, size_t number) noexcept nogil:
    cdef uint8_t[20] digits
    cdef size_t n = 0
    while True:
        digits[n] = <uint8_t> (48 + number % 10)
        number //= 10
        n += 1
        if not number:
            break
    while n:
        n -= 1
        out[0] = digits[n]
        out += 1
    return out
