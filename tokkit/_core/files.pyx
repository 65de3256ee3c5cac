"""The large tables of tokenizer.json and of SentencePiece's files."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from tokkit._core.base cimport TK_BAD_INPUT, TK_NO_MEMORY, TK_OK, tk_reserve
from tokkit._core.text cimport tk_utf8_invalid

import numpy as np

cdef extern from "files/json_tables.h" nogil:
    int TK_NO_TABLE, TK_IDS, TK_PAIRS
    ctypedef struct tk_json_table:
        int kind
        size_t start, end, n
        uint8_t *bytes
        size_t n_bytes
        int64_t *ends
        uint32_t *ids
        double *scores
    ctypedef struct tk_json_tables:
        tk_json_table vocab
        tk_json_table merges
    int tk_json_tables_read(tk_json_tables *found, const uint8_t *text, size_t n)
    void tk_json_tables_free(tk_json_tables *found)


def find_tables(bytes data not None):
    """Return (vocab, merges) of the model in a tokenizer.json, packed; None where anything in them is unusual.

    `vocab` is (start, end, blob, offsets, ids or None, scores or None): bytes of the file, and tokens in the order of
    the file, with int64 ids or float64 scores. `merges` is (start, end, text, between, number of them), as
    TokenIndex.find_merges takes them. Either is None if the file has none. Only these tables are checked, and that no
    id occurs twice; the rest of the file need not be JSON.
    """
    cdef tk_json_tables found
    cdef const uint8_t *p = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef size_t n = len(data)
    cdef int status
    try:
        with nogil:
            status = tk_json_tables_read(&found, p, n)
            if status == TK_OK and not (is_utf_8(&found.vocab) and is_utf_8(&found.merges)):
                status = TK_BAD_INPUT
        if status == TK_NO_MEMORY:
            raise MemoryError("not enough memory for the tables of this file")
        return (vocab_of(&found.vocab), merges_of(&found.merges)) if status == TK_OK else None
    finally:
        tk_json_tables_free(&found)


cdef bint is_utf_8(const tk_json_table *t) noexcept nogil:
    return tk_utf8_invalid(t.bytes, t.n_bytes) == t.n_bytes


cdef object vocab_of(tk_json_table *t):
    if t.kind == TK_NO_TABLE:
        return None
    offsets = np.zeros(t.n + 1, dtype=np.int64)
    cdef int64_t[::1] ends = offsets
    cdef double[::1] copied
    cdef size_t k
    ids = scores = None
    if t.n:
        memcpy(&ends[1], t.ends, t.n * sizeof(int64_t))
    if t.kind == TK_IDS:
        ids = np.empty(t.n, dtype=np.int64)
        ends = ids
        for k in range(t.n):
            ends[k] = t.ids[k]
    else:
        scores = np.empty(t.n, dtype=np.float64)
        copied = scores
        for k in range(t.n):
            copied[k] = t.scores[k]
    return t.start, t.end, PyBytes_FromStringAndSize(<char *> t.bytes, t.n_bytes), offsets, ids, scores


cdef object merges_of(tk_json_table *t):
    if t.kind == TK_NO_TABLE:
        return None
    between = 0 if t.kind == TK_PAIRS else ord(" ")
    return t.start, t.end, PyBytes_FromStringAndSize(<char *> t.bytes, t.n_bytes), between, t.n


# Reads a SentencePiece model file, in the wire format of protocol buffers: its pieces, and where other fields are.
#
# A field is a varint (number << 3 | form) and a value, whose form is a varint (0), 8 bytes (1), a length and as many
# bytes (2), or 4 bytes (5). Groups (3, 4), which are obsolete, are refused. Nothing is read beyond the end.

cdef enum:
    VARINT = 0
    EIGHT_BYTES = 1
    BYTES = 2
    FOUR_BYTES = 5
    PIECES = 1  # numbers of fields: of the file,
    PIECE = 1   # and of a piece
    SCORE = 2
    TYPE = 3
    NORMAL = 1

cdef struct Reader:
    const uint8_t *data
    size_t at, end
    const char *wrong

cdef struct Field:
    uint32_t number, form
    uint64_t value       # of a varint, or the first byte of what is longer
    size_t start, length  # of the value's bytes

cdef struct Piece:
    size_t start, length
    uint64_t type
    float score
    bint odd  # a field is repeated, out of order or not needed: usual writers do not do this


cdef int read_varint(Reader *r, uint64_t *value) noexcept nogil:
    cdef unsigned shift = 0
    cdef uint8_t byte
    value[0] = 0
    while r.at < r.end and shift < 70:
        byte = r.data[r.at]
        r.at += 1
        value[0] |= <uint64_t> (byte & 0x7F) << shift if shift < 64 else 0
        if byte < 0x80:
            return TK_OK
        shift += 7
    r.wrong = b"a varint does not end before its message" if shift < 70 else b"a varint has more than 10 bytes"
    return TK_BAD_INPUT


cdef int read_field(Reader *r, Field *field) noexcept nogil:
    cdef uint64_t tag, length
    if read_varint(r, &tag) != TK_OK:
        return TK_BAD_INPUT
    field.form = tag & 7
    if not 1 <= tag >> 3 < 1 << 29:
        r.wrong = b"the number of a field is not from 1 to 2**29 - 1"
        return TK_BAD_INPUT
    field.number = <uint32_t> (tag >> 3)
    field.start = r.at
    if field.form == VARINT:
        if read_varint(r, &field.value) != TK_OK:
            return TK_BAD_INPUT
        field.length = r.at - field.start
        return TK_OK
    if field.form == BYTES:
        if read_varint(r, &length) != TK_OK:
            return TK_BAD_INPUT
        field.start = r.at
    elif field.form == EIGHT_BYTES or field.form == FOUR_BYTES:
        length = 8 if field.form == EIGHT_BYTES else 4
    else:
        r.wrong = b"the wire type of a field is not 0 (varint), 1 (8 bytes), 2 (length and bytes) or 5 (4 bytes)"
        return TK_BAD_INPUT
    if length > r.end - r.at:
        r.wrong = b"a field is longer than the rest of its message"
        return TK_BAD_INPUT
    field.length = <size_t> length
    r.at += field.length
    return TK_OK


cdef int read_piece(Reader *r, const Field *whole, Piece *piece) noexcept nogil:
    cdef Reader inside = r[0]
    cdef Field field
    cdef uint32_t last = 0
    cdef bint scored = False
    inside.at, inside.end = whole.start, whole.start + whole.length
    piece.start, piece.length, piece.type, piece.score, piece.odd = whole.start, 0, NORMAL, 0, False
    while inside.at < inside.end:
        if read_field(&inside, &field) != TK_OK:
            r.at, r.wrong = inside.at, inside.wrong
            return TK_BAD_INPUT
        piece.odd |= field.number <= last
        last = field.number
        if field.number == PIECE and field.form == BYTES:
            piece.start, piece.length = field.start, field.length
        elif field.number == SCORE and field.form == FOUR_BYTES:
            memcpy(&piece.score, r.data + field.start, 4)
            scored = True
        elif field.number == TYPE and field.form == VARINT:
            piece.type = field.value
            piece.odd |= piece.type == NORMAL or field.length > 1
        elif field.number <= TYPE:
            r.at, r.wrong = field.start, b"the text, score or type of a piece has the wrong wire type"
            return TK_BAD_INPUT
        else:
            piece.odd = True
    piece.odd |= not scored
    return TK_OK


def read_model(bytes data not None):
    """Return (texts joined, where each ends, scores, types), pieces that are written differently, and other fields.

    The first are bytes and arrays, int64 (n + 1,), float32 (n,) and int64 (n,); the second a list of (number, bytes);
    the third a list of (number, start, end), the span of each field. ValueError says at which byte the file is wrong.
    """
    cdef Reader r
    cdef Field field
    cdef Piece *pieces = NULL
    cdef size_t n = 0, capacity = 0, total = 0, begin
    cdef int status = TK_OK
    r.data, r.at, r.end, r.wrong = <const uint8_t *> <const char *> data, 0, len(data), NULL
    cdef list others = []
    kept = []
    try:
        while r.at < r.end:
            begin = r.at
            status = read_field(&r, &field)
            if status == TK_OK and field.number == PIECES and field.form == BYTES:
                status = tk_reserve(&pieces, &capacity, n + 1, sizeof(Piece))
                if status == TK_OK:
                    status = read_piece(&r, &field, pieces + n)
                if status == TK_OK:
                    total += pieces[n].length
                    if pieces[n].odd:
                        kept.append((n, data[field.start:field.start + field.length]))
                    n += 1
            elif status == TK_OK:
                others.append((field.number, begin, r.at))
            if status == TK_NO_MEMORY:
                raise MemoryError("not enough memory for the pieces")
            if status == TK_BAD_INPUT:
                raise ValueError(f"byte {r.at}: {r.wrong.decode()}")
        texts = bytearray(total)
        ends = np.zeros(n + 1, dtype=np.int64)
        scores, types = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.int64)
        fill(pieces, n, r.data, texts, ends, scores, types)
        return (bytes(texts), ends, scores, types), kept, others
    finally:
        free(pieces)


cdef object fill(
    const Piece *pieces, size_t n, const uint8_t *data, uint8_t[::1] texts, int64_t[::1] ends, float[::1] scores,
    int64_t[::1] types
):
    cdef size_t i, at = 0
    for i in range(n):
        if pieces[i].length:
            memcpy(&texts[at], data + pieces[i].start, pieces[i].length)
        at += pieces[i].length
        ends[i + 1] = <int64_t> at
        scores[i] = pieces[i].score
        types[i] = <int64_t> pieces[i].type if pieces[i].type < 1 << 31 else -1
