"""Texts aligned with their originals."""

from libc.stdint cimport int64_t, uint32_t, uint8_t
from libc.string cimport memcmp, memcpy

from tokkit._core.base cimport TK_GROWN, TK_NO_MEMORY, TK_TOO_LARGE, tk_reserve

import numpy as np

from tokkit._core.text import Grown, to_utf8

cdef extern from "text/aligned.h" nogil:
    int tk_aligned_init(tk_aligned *a, const uint8_t *text, size_t n)
    void tk_aligned_free(tk_aligned *a)
    int tk_aligned_spell_out(tk_aligned *a)
    ctypedef struct tk_rewrite:
        const tk_aligned *src "from"
        size_t at, end
        int status
    int tk_rewrite_begin(tk_rewrite *w, const tk_aligned *a)
    int tk_rewrite_end(tk_rewrite *w, tk_aligned *a)
    size_t tk_rewrite_next(tk_rewrite *w, size_t number)
    void tk_rewrite_put(tk_rewrite *w, uint32_t c, int change)
    ctypedef struct tk_cut:
        size_t n
        int status
    void tk_cut_begin(tk_cut *cut, const tk_aligned *a)
    int tk_cut_end(tk_cut *cut, tk_aligned *a)
    size_t tk_cut_next(tk_cut *cut, size_t number)
    void tk_cut_add(tk_cut *cut, size_t start, size_t end, int64_t id)

cdef extern from "text/normalize.h" nogil:
    int tk_normalize_replace_spans(
        tk_aligned *a, const size_t *spans, size_t n_spans, const uint8_t *content, size_t n
    )


cdef object check_stage(int status):
    if status == TK_NO_MEMORY:
        raise MemoryError("not enough memory for the text and its alignment")
    if status == TK_TOO_LARGE:
        raise OverflowError("the text has 4 GiB or more; components that run one by one take less")
    if status == TK_GROWN:
        raise Grown("a stage makes the text too large, over 32 times its size")
    return None


cdef enum:
    GROWN_BYTES = 1 << 26  # the same limit as in tokkit.limits


cdef class AlignedText:
    """A text between stages: UTF-8 cut into pretokens, each byte aligned with the bytes of the original it comes from.

    Normalizers change the text of the pretokens, pretokenizers cut them further. Both leave added tokens
    as they are. Your own components do the same with `rewrite` and `cut`.

    >>> text = AlignedText("Straße 5")
    >>> text.cut(lambda piece: [(0, 6), (7, 8)])
    >>> text.rewrite(lambda piece: [("s", 0), ("s", 1)] if piece == "ß" else [(c.lower(), 0) for c in piece])
    >>> text.pieces
    ['straße', '5']
    """

    def __cinit__(self, text):
        self.original = to_utf8(text)
        check_stage(tk_aligned_init(&self.state, <const uint8_t *> <const char *> self.original, len(self.original)))
        self.bound(GROWN_BYTES)

    def __dealloc__(self):
        tk_aligned_free(&self.state)

    def bound(self, size_t n_bytes):
        """Limit what stages may make of the text: to so many bytes, or 32 times its size if that is more."""
        self.state.most = max(n_bytes, 32 * self.state.n_original)

    @property
    def utf8(self):
        """The whole text in its current state, with the bytes that are in no pretoken."""
        return (<const char *> self.state.text)[:self.state.n]

    @property
    def in_place(self):
        """Whether each byte still comes from the byte at the same offset of the original."""
        return self.state.spans is NULL

    @property
    def is_original(self):
        """Whether this is the unchanged original, with at most one pretoken, which is not an added token."""
        cdef tk_aligned *a = &self.state
        if a.n != a.n_original or a.n_pieces > 1 or memcmp(a.text, <const char *> self.original, a.n) != 0:
            return False
        return a.n_pieces == 0 if a.n == 0 else a.n_pieces == 1 and a.pieces[0].id == TK_NO_TOKEN and (
            a.pieces[0].start == 0 and a.pieces[0].end == a.n
        )

    @property
    def pieces(self):
        """The text of each pretoken."""
        cdef size_t i
        cdef const char *text = <const char *> self.state.text
        return [
            text[self.state.pieces[i].start:self.state.pieces[i].end].decode("utf-8")
            for i in range(self.state.n_pieces)
        ]

    @property
    def ids(self):
        """The id of each pretoken that is an added token, None for the others."""
        cdef size_t i
        return [
            None if self.state.pieces[i].id == TK_NO_TOKEN else self.state.pieces[i].id
            for i in range(self.state.n_pieces)
        ]

    @property
    def bounds(self):
        """The start and end of each pretoken in `utf8`: int64 of shape (n, 2)."""
        cdef size_t i
        bounds = np.empty((self.state.n_pieces, 2), dtype=np.int64)
        cdef int64_t[:, ::1] out = bounds
        for i in range(self.state.n_pieces):
            out[i, 0] = self.state.pieces[i].start
            out[i, 1] = self.state.pieces[i].end
        return bounds

    def settled(self):
        """Return a text with the same pretokens that has the current state of this text as its original."""
        cdef AlignedText made = AlignedText(self.utf8)
        cdef size_t n = self.state.n_pieces
        check_stage(tk_reserve(&made.state.pieces, &made.state.capacity, n, sizeof(tk_piece)))
        memcpy(made.state.pieces, self.state.pieces, n * sizeof(tk_piece))
        made.state.n_pieces = n
        return made

    def spans(self):
        """Return, for each byte of `utf8`, the bytes of the original it comes from: uint32 of shape (n, 2)."""
        check_stage(tk_aligned_spell_out(&self.state))
        spans = np.empty((self.state.n, 2), dtype=np.uint32)
        cdef uint32_t[:, ::1] out = spans
        if self.state.n:
            memcpy(&out[0, 0], self.state.spans, self.state.n * sizeof(tk_span))
        return spans

    def piece_spans(self):
        """Return the span of the original that each pretoken comes from: int64 of shape (n, 2)."""
        cdef size_t i
        cdef tk_span span
        found = np.empty((self.state.n_pieces, 2), dtype=np.int64)
        cdef int64_t[:, ::1] out = found
        for i in range(self.state.n_pieces):
            span = tk_aligned_span(&self.state, self.state.pieces[i].start, self.state.pieces[i].end)
            out[i, 0] = span.start
            out[i, 1] = span.end
        return found

    def cut_at(self, bytes ends not None):
        """Cut a text of one pretoken at byte offsets: packed int64, increasing, the last its length."""
        cdef const int64_t *at = <const int64_t *> <const char *> ends
        cdef size_t i, start = 0, n = len(ends) // sizeof(int64_t)
        cdef tk_cut cut
        if self.state.n_pieces > 1:
            raise ValueError(f"the text has {self.state.n_pieces} pretokens; cut_at needs a text with at most 1")
        for i in range(n):
            if not <int64_t> start <= at[i] <= <int64_t> self.state.n:
                raise ValueError(
                    f"a pretoken ends at byte {at[i]}; its end must be from {start}, the end before it, to the length "
                    f"of the text, {self.state.n}"
                )
            if <size_t> at[i] < self.state.n and self.state.text[at[i]] & 0xC0 == 0x80:
                raise ValueError(f"a pretoken ends at byte {at[i]}, inside a character; it must end between two")
            start = at[i]
        tk_cut_begin(&cut, &self.state)
        if tk_cut_next(&cut, 0) < self.state.n_pieces:
            start = 0
            for i in range(n):
                tk_cut_add(&cut, start, at[i], TK_NO_TOKEN)
                start = at[i]
            tk_cut_next(&cut, 1)
        check_stage(tk_cut_end(&cut, &self.state))

    def rewrite(self, function):
        """Replace each pretoken by what `function(pretoken)` returns: (character, change) for each character.

        A change of 1 inserts the character. 0 replaces the next character of the pretoken by it; -n also removes the
        n characters after that one. Characters of the pretoken that are left at the end are removed.
        """
        cdef tk_rewrite w
        cdef size_t number
        check_stage(tk_rewrite_begin(&w, &self.state))
        try:
            number = tk_rewrite_next(&w, 0)
            while number < self.state.n_pieces:
                piece = (<const char *> self.state.text)[w.at:w.end].decode("utf-8")
                for character, change in function(piece):
                    if not isinstance(character, str) or len(character) != 1 or 0xD800 <= ord(character) < 0xE000:
                        raise ValueError(
                            f"the function returned {character!r}; each item must be (character, change), and the "
                            f"character a str of length 1 that is not a surrogate"
                        )
                    tk_rewrite_put(&w, ord(character), change)
                number = tk_rewrite_next(&w, number + 1)
        except BaseException:
            w.status = TK_NO_MEMORY  # so that the result is discarded
            tk_rewrite_end(&w, &self.state)
            raise
        check_stage(tk_rewrite_end(&w, &self.state))

    def cut(self, function):
        """Cut each pretoken into what `function(pretoken)` returns: (start, end) of the new pretokens, in characters.

        The spans must be in order and not overlap; characters outside them are removed.
        """
        cdef tk_cut cut
        cdef size_t number, start
        found = []
        for number in range(self.state.n_pieces):
            if self.state.pieces[number].id == TK_NO_TOKEN:
                start = self.state.pieces[number].start
                piece = (<const char *> self.state.text)[start:self.state.pieces[number].end].decode("utf-8")
                found.append(_places(piece, function(piece), start))
            else:
                found.append(None)
        tk_cut_begin(&cut, &self.state)
        number = tk_cut_next(&cut, 0)
        while number < self.state.n_pieces:
            for first, last in found[number]:
                tk_cut_add(&cut, first, last, TK_NO_TOKEN)
            number = tk_cut_next(&cut, number + 1)
        check_stage(tk_cut_end(&cut, &self.state))


def _places(str piece, spans, size_t at):
    # Checks spans in characters, and returns them in bytes of the text.
    places, done, place = [], 0, at
    for start, end in spans:
        if not done <= start <= end <= len(piece):
            raise ValueError(
                f"the function returned the span ({start}, {end}); it must be within {done} and {len(piece)}, the end "
                f"of the span before it and of the pretoken"
            )
        first = place + len(piece[done:start].encode())
        place = first + len(piece[start:end].encode())
        places.append((first, place))
        done = end
    return places


# Replaces the matches that a Python function finds in an `AlignedText`.


def replace_matches(AlignedText text not None, find, bytes content not None):
    """Replace by UTF-8 what `find(pretoken)` returns: (start, end) in characters, in order, without overlap."""
    cdef size_t i, at, n_content = len(content), n_spans
    cdef size_t first, last, done
    cdef const uint8_t *c = <const uint8_t *> <const char *> content
    cdef size_t[::1] places
    cdef int status
    cdef bytes utf8
    cdef bint ascii
    cdef const char *p = <const char *> text.state.text
    found = []
    for i in range(text.state.n_pieces):
        if text.state.pieces[i].id != TK_NO_TOKEN:
            continue
        at = text.state.pieces[i].start
        utf8 = p[at:text.state.pieces[i].end]
        piece = utf8.decode("utf-8")
        ascii = len(utf8) == len(piece)
        done = 0
        for first, last in find(piece):
            if not done <= first <= last <= <size_t> len(piece):
                raise ValueError(
                    f"find returned the span ({first}, {last}); it must be within {done} and {len(piece)}, the end of "
                    f"the span before it and of the pretoken"
                )
            at += first - done if ascii else len(piece[done:first].encode())
            found.append(at)
            at += last - first if ascii else len(piece[first:last].encode())
            found.append(at)
            done = last
    if not found:
        return
    from array import array
    numbers = array("Q" if sizeof(size_t) == 8 else "L", found)
    places = numbers
    n_spans = len(found) // 2
    with nogil:
        status = tk_normalize_replace_spans(&text.state, &places[0], n_spans, c, n_content)
    check_stage(status)
