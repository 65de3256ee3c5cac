# Replaces the matches that a Python function finds in an `AlignedText`.
from libc.stdint cimport uint8_t


cdef extern from "text/normalize.h" nogil:
    int tk_normalize_replace_spans(
        tk_aligned *a, const size_t *spans, size_t n_spans, const uint8_t *content, size_t n
    )


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
