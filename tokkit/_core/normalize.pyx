# `AlignedText` in, the same text normalized in its pieces: what the components of normalizers/ run.
from libc.stdint cimport uint8_t

from tokkit._core.aligned cimport (
    TK_NO_TOKEN, AlignedText, check_stage, tk_aligned,
)

cdef extern from "normalize.h" nogil:
    int TK_QUICK_NFC, TK_QUICK_NFD, TK_QUICK_NFKC, TK_QUICK_NFKD
    int tk_normalize_form(tk_aligned *a, int form)
    int tk_normalize_lowercase(tk_aligned *a)
    int tk_normalize_strip_accents(tk_aligned *a)
    int tk_normalize_nmt(tk_aligned *a)
    int tk_normalize_byte_level(tk_aligned *a)
    int tk_normalize_bert(tk_aligned *a, int clean, int chinese, int strip, int lower)
    int tk_normalize_prepend(tk_aligned *a, const uint8_t *text, size_t n)
    int tk_normalize_strip(tk_aligned *a, int left, int right)
    int tk_normalize_replace(
        tk_aligned *a, const uint8_t *pattern, size_t n, size_t least, const uint8_t *content, size_t n_content
    )
    int tk_normalize_replace_spans(
        tk_aligned *a, const size_t *spans, size_t n_spans, const uint8_t *content, size_t n
    )

FORMS = {"NFC": TK_QUICK_NFC, "NFD": TK_QUICK_NFD, "NFKC": TK_QUICK_NFKC, "NFKD": TK_QUICK_NFKD}


def form(AlignedText text not None, str name not None):
    """Bring each piece into the normalization form "NFC", "NFD", "NFKC" or "NFKD"."""
    cdef int number = FORMS[name], status
    with nogil:
        status = tk_normalize_form(&text.state, number)
    check_stage(status)


def lowercase(AlignedText text not None):
    """Turn each character into lower case by itself: Σ becomes σ wherever it stands."""
    cdef int status
    with nogil:
        status = tk_normalize_lowercase(&text.state)
    check_stage(status)


def strip_accents(AlignedText text not None):
    """Drop the marks."""
    cdef int status
    with nogil:
        status = tk_normalize_strip_accents(&text.state)
    check_stage(status)


def nmt(AlignedText text not None):
    """Drop controls, and make what separates words a space."""
    cdef int status
    with nogil:
        status = tk_normalize_nmt(&text.state)
    check_stage(status)


def byte_level(AlignedText text not None):
    """Put the symbol of each byte in its place."""
    cdef int status
    with nogil:
        status = tk_normalize_byte_level(&text.state)
    check_stage(status)


def bert(AlignedText text not None, *, bint clean, bint chinese, bint strip, bint lower):
    """Clean, space Chinese characters, strip accents, turn into lower case: each where it is asked for."""
    cdef int status
    with nogil:
        status = tk_normalize_bert(&text.state, clean, chinese, strip, lower)
    check_stage(status)


def prepend(AlignedText text not None, bytes before not None):
    """Put UTF-8 before each piece."""
    cdef const uint8_t *p = <const uint8_t *> <const char *> before
    cdef size_t n = len(before)
    cdef int status
    with nogil:
        status = tk_normalize_prepend(&text.state, p, n)
    check_stage(status)


def strip(AlignedText text not None, *, bint left, bint right):
    """Cut white space from the ends of each piece."""
    cdef int status
    with nogil:
        status = tk_normalize_strip(&text.state, left, right)
    check_stage(status)


def replace(AlignedText text not None, bytes pattern not None, bytes content not None, size_t least=0):
    """Put UTF-8 in the place of each occurrence of a text that is not empty, or of runs of `least` or more of it."""
    cdef const uint8_t *p = <const uint8_t *> <const char *> pattern
    cdef const uint8_t *c = <const uint8_t *> <const char *> content
    cdef size_t n = len(pattern), n_content = len(content)
    cdef int status
    if n == 0:
        raise ValueError("the pattern is empty")
    with nogil:
        status = tk_normalize_replace(&text.state, p, n, least, c, n_content)
    check_stage(status)


def replace_matches(AlignedText text not None, find, bytes content not None):
    """Put UTF-8 in the place of what `find(piece)` returns: (start, end) in characters, in order and apart."""
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
                raise ValueError(f"({first}, {last}) is no span behind {done} in a piece of {len(piece)} characters")
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
