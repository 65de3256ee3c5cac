"""Offsets of tokens: in characters, and trimmed."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import numpy as np

cdef enum:
    TABLE_BYTES = 1 << 16  # the longest text that gets a table of characters
    ASCII_AHEAD = 512      # how many bytes are searched for one that is not ASCII

cdef size_t OUTSIDE = <size_t> -1

cdef object new_array = np.empty, SPANS = np.dtype(np.int64), IDS = np.dtype(np.uint32)


def spans_of_lengths(const uint32_t[::1] ids, const int64_t[::1] lengths):
    """Return the spans of tokens that follow one another, int64 (n, 2); `lengths` are indexed by id."""
    cdef size_t i, n = ids.shape[0]
    cdef int64_t at = 0
    spans = np.empty((n, 2), dtype=np.int64)
    cdef int64_t[:, ::1] out = spans
    for i in range(n):
        out[i, 0] = at
        at += lengths[ids[i]]
        out[i, 1] = at
    return spans


def spans_in_characters(bytes utf8, spans):
    """Return (spans in characters, number of characters); a span gets all characters that it touches, int64 (n, 2).

    `spans` are in bytes, contiguous, and inside the text. An empty span between two characters stays empty, before
    the second character.
    """
    cdef Py_buffer given, made
    cdef size_t count
    if spans.dtype != SPANS or spans.ndim != 2 or spans.shape[1] != 2:
        raise ValueError(f"spans has dtype {spans.dtype} and shape {spans.shape}; it must be int64 of shape (n, 2)")
    characters = new_array(spans.shape, SPANS)
    # Uses the buffer protocol directly: to make a typed memoryview takes as long as to process a short text.
    PyObject_GetBuffer(spans, &given, PyBUF_SIMPLE)
    PyObject_GetBuffer(characters, &made, PyBUF_SIMPLE | PyBUF_WRITABLE)
    count = to_characters(
        <const uint8_t *> <const char *> utf8, len(utf8), <const int64_t *> given.buf, <int64_t *> made.buf,
        <size_t> given.len // (2 * sizeof(int64_t)),
    )
    PyBuffer_Release(&made)
    PyBuffer_Release(&given)
    if count == OUTSIDE:
        raise ValueError(f"a span is outside the text; all spans must be within its {len(utf8)} bytes")
    return characters, count


cdef size_t to_characters(
    const uint8_t *text, size_t n, const int64_t *spans, int64_t *out, size_t n_spans
) noexcept nogil:
    # Returns the number of characters in the n bytes, or OUTSIDE; writes the spans to `out`.
    cdef size_t i = 0, start, shifted, at = 0, count = 0  # count: characters that begin before byte `at`
    cdef uint32_t *begun
    cdef size_t n_characters = begin_in(text, 0, n)
    cdef bint few_longer = 16 * (n - n_characters) <= n
    if n <= TABLE_BYTES and 8 * n_spans >= n and not few_longer:
        begun = <uint32_t *> malloc((n + 2) * sizeof(uint32_t))
        if begun is not NULL:
            count = by_table(text, n, spans, out, n_spans, begun)
            free(begun)
            return count
    while i < n_spans:
        if few_longer:
            shifted = shift_spans(text, n, at, at - count, spans + 2 * i, out + 2 * i, n_spans - i)
            if shifted:
                i += shifted
                at, count = <size_t> spans[2 * i - 1], <size_t> out[2 * i - 1]
                continue
        start = <size_t> spans[2 * i]
        if start > n or <size_t> spans[2 * i + 1] > n:
            return OUTSIDE
        if start != at:  # most spans begin at the end of the one before
            count = walk(text, n, count, at, start)
        # The character of the first byte may begin before it; at the end of the text there is no character.
        out[2 * i] = <int64_t> (count + (start == n or (text[start] & 0xC0) != 0x80)) - 1
        at = <size_t> spans[2 * i + 1]
        count = walk(text, n, count, start, at)
        out[2 * i + 1] = count
        i += 1
    return n_characters


cdef size_t shift_spans(
    const uint8_t *text, size_t n, size_t at, size_t shift, const int64_t *spans, int64_t *out, size_t n_spans
) noexcept nogil:
    # Returns how many spans lie between byte `at` and the next byte that begins no character, and moves them by
    # `shift`: the difference of bytes and characters before `at`.
    cdef size_t i = 0, start, end, limit = ascii_until(text, n, at)
    while i < n_spans:
        start, end = <size_t> spans[2 * i], <size_t> spans[2 * i + 1]
        if not (at <= start < limit and start <= end <= limit):
            break
        out[2 * i] = spans[2 * i] - <int64_t> shift
        out[2 * i + 1] = spans[2 * i + 1] - <int64_t> shift
        i += 1
    return i


cdef size_t ascii_until(const uint8_t *text, size_t n, size_t at) noexcept nogil:
    # Returns the first byte from `at` on that is not ASCII, or the end of the search. The search is limited because
    # spans may go back, and the same text would be searched again.
    cdef size_t stop = min(n, at + ASCII_AHEAD)
    cdef uint64_t some, ones = 0x0101010101010101
    while at + 8 <= stop:
        memcpy(&some, text + at, 8)
        if some & ones << 7:
            break
        at += 8
    while at < stop and text[at] < 0x80:
        at += 1
    return at


cdef size_t by_table(
    const uint8_t *text, size_t n, const int64_t *spans, int64_t *out, size_t n_spans, uint32_t *begun
) noexcept nogil:
    # The same for many spans in a text: `begun` gets the number of characters that begin before each byte.
    cdef size_t i, start, end
    cdef uint32_t count = 0
    for i in range(n):
        begun[i] = count
        count += (text[i] & 0xC0) != 0x80
    begun[n] = count
    begun[n + 1] = count + 1
    for i in range(n_spans):
        start, end = <size_t> spans[2 * i], <size_t> spans[2 * i + 1]
        if start > n or end > n:
            return OUTSIDE
        out[2 * i] = <int64_t> begun[start + 1] - 1
        out[2 * i + 1] = begun[end]
    return count


cdef inline size_t walk(const uint8_t *text, size_t n, size_t count, size_t at, size_t to) noexcept nogil:
    # Returns how many characters begin before byte `to` of n; `count` begin before `at`, usually a few bytes earlier.
    if 0 < to - at <= 8 and at + 8 <= n:
        return count + begin_in8(text + at, <unsigned> (to - at))
    return count + begin_in(text, at, to) if at <= to else count - begin_in(text, to, at)


cdef inline size_t begin_in8(const uint8_t *p, unsigned n) noexcept nogil:
    # Returns how many characters begin in the first n of 8 bytes, n > 0.
    cdef uint64_t ones = 0x0101010101010101, some
    memcpy(&some, p, 8)
    some = some >> 7 & ~some >> 6 & ones  # the bytes that continue a character begin with the bits 10
    return n - <size_t> ((some << (64 - 8 * n)) * ones >> 56)


cdef size_t begin_in(const uint8_t *text, size_t at, size_t end) noexcept nogil:
    # Returns how many characters begin in bytes [at, end).
    cdef size_t count = 0
    while at + 8 <= end:
        count += begin_in8(text + at, 8)
        at += 8
    while at < end:
        count += (text[at] & 0xC0) != 0x80
        at += 1
    return count


def trim(int64_t[:, ::1] spans, const int64_t[::1] leading, const int64_t[::1] trailing, bint spares, bint at_start):
    """Remove so many units from both ends of spans, in place; `spares` keeps a single one at the start of the text.

    A span is at the start of the text if it begins at 0 or, with `at_start`, if it is the first.
    """
    cdef size_t i
    for i in range(<size_t> spans.shape[0]):
        trim_one(&spans[i, 0], leading[i], trailing[i], spares, at_start and i == 0)


cdef inline void trim_one(
    int64_t *span, int64_t leading, int64_t trailing, bint spares, bint first
) noexcept nogil:
    # Without branches: the CPU cannot predict which tokens begin with a space.
    cdef int64_t start = span[0], end = span[1], shorter
    leading -= <int64_t> (spares & (leading == 1) & ((start == 0) | first))
    start = min(start + leading, end)
    shorter = max(end - trailing, start)
    span[0], span[1] = start, shorter if end >= trailing else end


cdef int rules_of(tuple trims, int *rules) except -1:
    # Fills in up to four rules, (spares, at_start) each; returns how many there are.
    for number, (spares, at_start) in enumerate(trims[:4]):
        rules[number] = spares | at_start << 1
    return len(trims)


cdef bint trim_spans(
    int64_t *spans, const uint32_t *ids, size_t n, const uint8_t *codes, size_t n_codes, const int *rules, int n_rules
) noexcept nogil:
    # Trims spans in place, as trim_by_id; false if a token needs the slow way.
    cdef size_t i
    cdef int number
    if n_rules > 4:
        return False
    for i in range(n):
        if ids[i] >= n_codes or codes[ids[i]] == 255:
            return False
        for number in range(n_rules):
            trim_one(
                spans + 2 * i, codes[ids[i]] & 15, codes[ids[i]] >> 4, rules[number] & 1,
                (rules[number] >> 1) & (i == 0),
            )
    return True


def trim_by_id(spans, ids, bytes codes not None, tuple trims not None, size_t before=0, size_t after=0):
    """Return spans trimmed by each (spares, at_start) in turn, as `trim` does; None if a token needs the slow way.

    `codes` has a byte for each id: leading units plus 16 times the trailing ones, or 255 if it needs the slow way.
    The first `before` and the last `after` spans are not changed.
    """
    cdef Py_buffer of_ids, made
    cdef size_t n = len(ids)
    cdef int rules[4]
    cdef int n_rules = rules_of(trims, rules)
    cdef bint done
    if spans.dtype != SPANS or spans.shape != (n, 2) or ids.dtype != IDS:
        raise ValueError(
            f"ids has dtype {ids.dtype}, spans {spans.dtype} and shape {spans.shape}; they must be uint32, and int64 "
            f"of shape ({n}, 2)"
        )
    result = spans.copy()
    before = min(before, n)
    PyObject_GetBuffer(ids, &of_ids, PyBUF_SIMPLE)
    PyObject_GetBuffer(result, &made, PyBUF_SIMPLE | PyBUF_WRITABLE)
    done = trim_spans(
        <int64_t *> made.buf + 2 * before, <const uint32_t *> of_ids.buf + before, n - before - min(n - before, after),
        <const uint8_t *> <const char *> codes, len(codes), rules, n_rules,
    )
    PyBuffer_Release(&made)
    PyBuffer_Release(&of_ids)
    return result if done else None
