"""Rank files of tiktoken."""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memchr, memcmp, memcpy

import numpy as np

cdef extern from "base.h" nogil:
    uint64_t tk_hash_bytes(const uint8_t *p, size_t n)

MAX_RANK = (1 << 21) - 1

"""The greatest id that the core takes: 21 bits, so that two ids and a length fit in one word."""

cdef uint32_t RANK_LIMIT = 1 << 21

cdef uint8_t[256] DIGITS  # base64: the value of a character, 64 for any other


def _fill_digits():
    cdef int i
    cdef bytes alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for i in range(256):
        DIGITS[i] = 64
    for i in range(64):
        DIGITS[<uint8_t> alphabet[i]] = i


_fill_digits()

cdef enum Fault:
    NO_FAULT
    NO_RANK
    BAD_BASE64
    EMPTY_TOKEN
    BAD_RANK
    LARGE_RANK
    REPEATED_RANK
    REPEATED_TOKEN

FAULTS = {
    NO_RANK: "the rank is missing; a line must be a token in base64, a space and its rank",
    BAD_BASE64: "the token is not valid base64",
    EMPTY_TOKEN: "the token is empty; only \"=\" may stand for a token without bytes",
    BAD_RANK: "the rank must be a decimal number, at least 0",
    LARGE_RANK: f"the rank is above {MAX_RANK}, the maximum",
    REPEATED_RANK: "the rank is on an earlier line too; each rank must occur once",
    REPEATED_TOKEN: "the token is on an earlier line too; each token must occur once",
}

cdef struct Reading:
    const uint8_t *data
    size_t n
    uint8_t *tokens    # decoded, in the order of the lines
    int64_t *ends      # token i is tokens[ends[i]:ends[i + 1]]
    uint32_t *ranks    # of token i
    uint8_t *taken     # rank → whether a line had this rank
    uint32_t *slots    # hash of a token → 1 + its number; 0 is free
    size_t mask
    size_t count       # tokens so far
    size_t line        # number of the current line, from 1
    uint32_t top       # one more than the greatest rank
    bint rising        # each rank is above the one before
    int64_t empty      # rank of the token without bytes, -1 if there is none


cdef Py_ssize_t decode_base64(const uint8_t *p, size_t n, uint8_t *out) noexcept nogil:
    """Write the bytes that n characters stand for; return how many, or -1."""
    cdef size_t i = 0
    cdef uint8_t *start = out
    cdef uint32_t a, b, c, d
    if n % 4:
        return -1
    while i < n:
        a, b, c, d = DIGITS[p[i]], DIGITS[p[i + 1]], DIGITS[p[i + 2]], DIGITS[p[i + 3]]
        if (a | b | c | d) < 64:
            out[0] = <uint8_t> (a << 2 | b >> 4)
            out[1] = <uint8_t> (b << 4 | c >> 2)
            out[2] = <uint8_t> (c << 6 | d)
            out += 3
        elif i + 4 < n or (a | b) >= 64 or p[i + 3] != 61:  # only "=" may end the last four
            return -1
        elif c < 64:
            if c & 3:
                return -1
            out[0] = <uint8_t> (a << 2 | b >> 4)
            out[1] = <uint8_t> (b << 4 | c >> 2)
            out += 2
        else:
            if p[i + 2] != 61 or b & 15:
                return -1
            out[0] = <uint8_t> (a << 2 | b >> 4)
            out += 1
        i += 4
    return out - start


cdef bint is_new(Reading *r, const uint8_t *token, size_t n) noexcept nogil:
    """Insert token number r.count into the table, unless a token has the same bytes."""
    cdef size_t slot = tk_hash_bytes(token, n) & r.mask
    cdef uint32_t other
    while r.slots[slot]:
        other = r.slots[slot] - 1
        if <size_t> (r.ends[other + 1] - r.ends[other]) == n and not memcmp(r.tokens + r.ends[other], token, n):
            return False
        slot = (slot + 1) & r.mask
    r.slots[slot] = <uint32_t> r.count + 1
    return True


cdef Fault read_line(Reading *r, size_t start, size_t end) noexcept nogil:
    """Read one line that is not blank, without its line end and outer white space."""
    cdef const uint8_t *p = r.data
    cdef size_t i = start
    cdef Py_ssize_t n
    cdef uint32_t rank = 0
    cdef uint8_t *token = r.tokens + r.ends[r.count]
    while i < end and p[i] != 32 and p[i] != 9:
        i += 1
    if i - start == 1 and p[start] == 61:  # "=": Whisper's files have a token without bytes
        n = 0
    else:
        n = decode_base64(p + start, i - start, token)
        if n == 0:
            return EMPTY_TOKEN
    if n < 0:
        return BAD_BASE64
    while i < end and (p[i] == 32 or p[i] == 9):
        i += 1
    if i == end:
        return NO_RANK
    while i < end:
        if p[i] < 48 or p[i] > 57:
            return BAD_RANK
        if rank < RANK_LIMIT:
            rank = rank * 10 + (p[i] - 48)
        i += 1
    if rank >= RANK_LIMIT:
        return LARGE_RANK
    if r.taken[rank]:
        return REPEATED_RANK
    if not is_new(r, token, n):
        return REPEATED_TOKEN
    if n == 0:
        r.empty = rank
    r.taken[rank] = 1
    r.ranks[r.count] = rank
    r.ends[r.count + 1] = r.ends[r.count] + n
    if rank >= r.top:
        r.top = rank + 1
    else:
        r.rising = False
    r.count += 1
    return NO_FAULT


cdef Fault read_lines(Reading *r) noexcept nogil:
    cdef size_t start = 0, end, stop
    cdef const uint8_t *found
    cdef Fault fault
    while start < r.n:
        r.line += 1
        found = <const uint8_t *> memchr(r.data + start, 10, r.n - start)
        end = r.n if found == NULL else found - r.data
        stop = end
        while stop > start and (r.data[stop - 1] == 13 or r.data[stop - 1] == 32 or r.data[stop - 1] == 9):
            stop -= 1
        if stop > start:
            fault = read_line(r, start, stop)
            if fault != NO_FAULT:
                return fault
        start = end + 1
    return NO_FAULT


def parse_ranks(bytes data not None):
    """Return (blob, offsets, empty): the token of rank i is blob[offsets[i]:offsets[i + 1]], empty in a gap.

    offsets is int64 of shape (greatest rank + 2,); `empty` is the rank of the token without bytes, or None. A line
    that is not "base64 rank" raises ValueError with its number; so do a repeated rank or token, and a rank above
    MAX_RANK.
    """
    cdef size_t lines = min(data.count(b"\n") + 1, MAX_RANK + 1)
    cdef size_t size = 1024
    while size < 2 * lines:
        size *= 2
    cdef uint8_t[::1] tokens = np.empty(len(data) // 4 * 3 + 3, dtype=np.uint8)
    cdef int64_t[::1] ends = np.zeros(lines + 1, dtype=np.int64)
    cdef uint32_t[::1] ranks = np.empty(lines, dtype=np.uint32)
    cdef uint8_t[::1] taken = np.zeros(RANK_LIMIT, dtype=np.uint8)
    cdef uint32_t[::1] slots = np.zeros(size, dtype=np.uint32)
    cdef Reading r
    r.data = <const uint8_t *> <const char *> data
    r.n = len(data)
    r.tokens, r.ends, r.ranks, r.taken, r.slots = &tokens[0], &ends[0], &ranks[0], &taken[0], &slots[0]
    r.mask = size - 1
    r.count = r.line = r.top = 0
    r.rising = True
    r.empty = -1
    cdef Fault fault
    with nogil:
        fault = read_lines(&r)
    if fault != NO_FAULT:
        raise ValueError(f"line {r.line}: {FAULTS[fault]}")
    found = np.asarray(ranks)[: r.count]
    blob, offsets = _by_rank(np.asarray(tokens), np.asarray(ends)[: r.count + 1], found, r.top, r.rising)
    return blob, offsets, None if r.empty < 0 else r.empty


def _by_rank(tokens, ends, ranks, n_ids, rising):
    """Return the tokens packed in the order of their ranks."""
    offsets = np.zeros(n_ids + 1, dtype=np.int64)
    offsets[1:][ranks] = np.diff(ends)
    np.cumsum(offsets, out=offsets)
    n_bytes = int(offsets[n_ids])
    if rising:
        return tokens[:n_bytes].tobytes(), offsets
    cdef int64_t[::1] source = ends, target = offsets
    cdef uint32_t[::1] rank = ranks
    packed = np.empty(n_bytes, dtype=np.uint8)
    cdef uint8_t[::1] old = tokens, new = packed
    cdef Py_ssize_t i
    for i in range(rank.shape[0]):
        memcpy(&new[target[rank[i]]], &old[source[i]], source[i + 1] - source[i])
    return packed.tobytes(), offsets
