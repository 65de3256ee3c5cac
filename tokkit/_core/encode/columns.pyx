"""The columns of encodings: ids, spans and words of a text as the core found them, and the lists made of them."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from tokkit._core.base cimport TK_UNENCODABLE, TK_UNSUPPORTED
from tokkit._core.encode.id_blocks cimport framed
from tokkit._core.encode.plan cimport Encoder, Finder, Worker, check, tk_offsets_spans, tk_offsets_words, tk_worker
from tokkit._core.lists cimport ints_of, mask_of, named_of, numbers_of, pairs_of
from tokkit._core.spans cimport OUTSIDE, rules_of, to_characters, trim_spans
from tokkit._core.text cimport TextView, view_text

import numpy as np

from tokkit._core.text import to_utf8

new_array, IDS, SPANS, WORDS = np.empty, np.dtype(np.uint32), np.dtype(np.int64), np.dtype(np.int32)


cdef class ColumnStyle:
    """How columns become lists, and what stands around each text. Immutable.

    `names` is (a list of one str or None for each id, a function that makes one, a mask of the ids whose names vary, or
    None). `before` and `after` are ids around each text, packed as uint32, and `rows` maps names of columns to their
    values before a text, in it, and after it. `trims` are those of `trim_by_id`, whose codes `codes` returns.
    """

    def __init__(self, names=None, bytes before=b"", bytes after=b"", rows=(), tuple trims=(), codes=None):
        self.names, self.make, self.mask = ([], None, None) if names is None else names
        self.before, self.after, self.rows, self.codes_of = before, after, dict(rows), codes
        self.n_rules = rules_of(trims, self.rules)
        mask_of(self.mask, self.names)


cdef ColumnStyle NO_STYLE = ColumnStyle()

cdef class TextColumns:
    """The tokens of one text, with those around it. Immutable; arrays and lists are made when they are asked for.

    `text` is the str or the UTF-8 that was given, or the list of words whose tokens are one after the other here; each
    has spans of its own.
    """
    def __dealloc__(self):
        PyMem_Free(self.spans)

    def __len__(self):
        return self.n

    @property
    def utf8(self) -> bytes:
        """The UTF-8 that spans refer to."""
        if self.read is None:
            self.read = to_utf8(self.text)
        return self.read

    def arrays(self) -> tuple:
        """Return (utf8, ids, byte spans, words): uint32 (n,), int64 (n, 2), int32 (n,), -1 for no word."""
        return self.utf8, self.array("ids"), self.array("byte_offsets"), self.array("word_ids")

    def array(self, str name not None):
        """Return one of the columns "ids", "byte_offsets" and "word_ids" as an array."""
        if name == "ids":
            return framed(new_array(self.n, IDS), sizeof(uint32_t), NULL, 0, self.ids, self.n, NULL, 0, 0)
        if name == "byte_offsets":
            return framed(new_array((self.n, 2), SPANS), 2 * sizeof(int64_t), NULL, 0, self.spans, self.n, NULL, 0, 0)
        return framed(new_array(self.n, WORDS), sizeof(int32_t), NULL, 0, self.words, self.n, NULL, 0, 0)

    cdef bint fill_characters(self, int64_t *out) except -1:
        # The spans in characters, not trimmed; false for surrogate pairs.
        cdef bytes utf8
        if isinstance(self.text, list) or self.text.isascii():
            memcpy(
                out, self.spans if self.characters is NULL else self.characters, 2 * self.n * sizeof(int64_t)
            )
            return True
        utf8 = self.utf8
        return in_characters(self.text, <const uint8_t *> <const char *> utf8, len(utf8), self.spans, out, self.n)

    def character_spans(self):
        """Return (start, end) of each token in characters, not trimmed, int64 (n, 2); None if the text is needed."""
        cdef Py_buffer view
        made = new_array((self.n, 2), SPANS)
        PyObject_GetBuffer(made, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
        try:
            return made if self.fill_characters(<int64_t *> view.buf) else None
        finally:
            PyBuffer_Release(&view)

    def window(self, Py_ssize_t start, Py_ssize_t end, ColumnStyle style not None):
        """Return the columns of tokens [start, end) of the text's own, in the frame of a style."""
        cdef TextColumns made
        cdef Py_ssize_t n = end - start, first = self.a + start
        if not 0 <= start <= end <= self.n - self.a - self.b:
            raise ValueError(f"the window is {start}:{end}; the text has {self.n - self.a - self.b} tokens")
        made = new_columns(self.text, n, style, self.characters is not NULL)
        if self.characters is not NULL:
            memcpy(made.characters + 2 * made.a, self.characters + 2 * first, 2 * n * sizeof(int64_t))
        elif not isinstance(self.text, list) and not self.text.isascii():
            made.read = self.utf8
        memcpy(made.spans + 2 * made.a, self.spans + 2 * first, 2 * n * sizeof(int64_t))
        memcpy(made.ids + made.a, self.ids + first, n * sizeof(uint32_t))
        memcpy(made.words + made.a, self.words + first, n * sizeof(int32_t))
        return made

    def id_list(self) -> list:
        """Return the ids."""
        return ints_of(self.ids, NULL, self.n)

    def word_list(self) -> list:
        """Return the number of each token's word, None for none."""
        return numbers_of(self.words, self.n)

    def span_list(self) -> list:
        """Return (start, end) of each token in bytes."""
        return pairs_of(self.spans, self.n)

    def row(self, str name not None):
        """Return a column that is constant within the text as a list; None if the style has none of this name."""
        cdef tuple around = self.style.rows.get(name)
        if around is None:
            return None
        return around[0] + [around[1]] * (self.n - self.a - self.b) + around[2]

    def tokens(self):
        """Return the tokens; None if some are as the text has them."""
        cdef ColumnStyle style = self.style
        cdef list places = []
        cdef tuple around
        own = named_of(
            self.ids + self.a, self.n - self.a - self.b, style.names, style.make, mask_of(style.mask, style.names),
            places,
        )
        if places:
            return None
        around = style.rows.get("tokens")
        return own if around is None or not (self.a or self.b) else around[0] + own + around[2]

    def offsets(self):
        """Return (start, end) of each token in characters; None if some must be looked at in the text."""
        cdef ColumnStyle style = self.style
        cdef int64_t *made
        if not style.n_rules and not isinstance(self.text, list) and self.text.isascii():
            return pairs_of(self.spans, self.n)
        made = <int64_t *> PyMem_Malloc((2 * self.n + 1) * sizeof(int64_t))
        if made is NULL:
            raise MemoryError
        try:
            if not self.fill_characters(made):
                return None
            if style.n_rules:
                if style.codes is None:
                    style.codes = style.codes_of()
                if not trim_spans(
                    made + 2 * self.a, self.ids + self.a, self.n - self.a - self.b,
                    <const uint8_t *> <const char *> style.codes, len(style.codes), style.rules, style.n_rules,
                ):
                    return None
            return pairs_of(made, self.n)
        finally:
            PyMem_Free(made)


cdef bint in_characters(
    text, const uint8_t *utf8, size_t n, const int64_t *spans, int64_t *out, size_t n_spans
) except -1:
    # Spans in the UTF-8 of a text in its characters; false for surrogate pairs, whose two units are one.
    cdef size_t count = to_characters(utf8, n, spans, out, n_spans)
    return count != OUTSIDE and not (isinstance(text, str) and <size_t> len(<str> text) != count)


cdef TextColumns new_columns(text, size_t own, ColumnStyle style, bint with_characters):
    # Columns with what stands around `own` tokens, which are still to be filled in.
    cdef TextColumns made = TextColumns.__new__(TextColumns)
    cdef size_t a = len(style.before) // sizeof(uint32_t), b = len(style.after) // sizeof(uint32_t), n = a + own + b
    cdef size_t width = 2 * sizeof(int64_t) * (1 + with_characters) + sizeof(uint32_t) + sizeof(int32_t)
    made.spans = <int64_t *> PyMem_Malloc(n * width + 1)
    if made.spans is NULL:
        raise MemoryError
    made.ids = <uint32_t *> (made.spans + 2 * n)
    made.words = <int32_t *> (made.ids + n)
    made.style, made.text, made.n, made.a, made.b = style, text, n, a, b
    memset(made.spans, 0, 2 * a * sizeof(int64_t))
    memset(made.spans + 2 * (a + own), 0, 2 * b * sizeof(int64_t))
    memcpy(made.ids, <const char *> style.before, a * sizeof(uint32_t))
    memcpy(made.ids + a + own, <const char *> style.after, b * sizeof(uint32_t))
    memset(made.words, 0xFF, a * sizeof(int32_t))
    memset(made.words + a + own, 0xFF, b * sizeof(int32_t))
    if with_characters:
        made.characters = <int64_t *> (made.words + n)
        memset(made.characters, 0, 2 * a * sizeof(int64_t))
        memset(made.characters + 2 * (a + own), 0, 2 * b * sizeof(int64_t))
    return made


cdef TextColumns columns_of(text, const tk_worker *w, ColumnStyle style):
    # The columns of a text that the worker has encoded with offsets.
    cdef TextColumns made = new_columns(text, w.n_ids, style, False)
    memcpy(made.spans + 2 * made.a, tk_offsets_spans(w), 2 * w.n_ids * sizeof(int64_t))
    memcpy(made.ids + made.a, w.ids, w.n_ids * sizeof(uint32_t))
    memcpy(made.words + made.a, tk_offsets_words(w), w.n_ids * sizeof(int32_t))
    return made


cdef TextColumns joined_columns(list words, list parts, ColumnStyle style):
    # The columns of words, one after the other, of those of each; None if one has surrogate pairs.
    cdef TextColumns made, part
    cdef size_t own = 0, at
    cdef Py_ssize_t i
    cdef int32_t number
    cdef bint beyond_ascii = False
    for i in range(len(parts)):
        part = parts[i]
        own += part.n
        beyond_ascii |= not part.text.isascii()
    made = new_columns(words, own, style, beyond_ascii)
    at = made.a
    for number in range(<int32_t> len(parts)):
        part = parts[number]
        memcpy(made.spans + 2 * at, part.spans, 2 * part.n * sizeof(int64_t))
        memcpy(made.ids + at, part.ids, part.n * sizeof(uint32_t))
        if beyond_ascii and not part.fill_characters(made.characters + 2 * at):
            return None
        for i in range(part.n):
            made.words[at + i] = number
        at += part.n
    return made


def columns_of_batch(texts, Encoder encoder not None, ColumnStyle style not None, Finder finder=None) -> list:
    """Return the TextColumns of each text, None for those that the plan cannot encode: the components must."""
    cdef Worker worker = encoder.take_worker()
    cdef TextView view
    cdef int status
    cdef list made = []
    try:
        for text in texts:
            text = view_text(text, &view)
            status = encoder.run_offsets(worker, &view, finder)
            if status == TK_UNSUPPORTED or status == TK_UNENCODABLE:
                made.append(None)
                continue
            check(status)
            made.append(columns_of(text, &worker.state, style))
        return made
    finally:
        encoder.give_back(worker)


def columns_of_words(texts, Encoder encoder not None, ColumnStyle style not None, Finder finder=None) -> list:
    """Return the same of lists of words, with the number of its word for each token."""
    cdef list made = []
    for words in texts:
        parts = columns_of_batch(words, encoder, NO_STYLE, finder)
        made.append(None if None in parts else joined_columns(words, parts, style))
    return made
