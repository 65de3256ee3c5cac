# AlignedText in, the same in smaller pieces out: what the classes of tokkit.pretokenizers run.
from libc.stdint cimport int64_t, uint32_t

from tokkit._core.aligned cimport AlignedText, check_stage, tk_aligned
from tokkit._core.pattern cimport split_of
from tokkit._core.text cimport chosen_isa, tk_isa_use, tk_split

import numpy as np

cdef extern from "pretokenize.h" nogil:
    int TK_BEHAVIORS
    int tk_split_by_pattern(tk_aligned *a, const tk_split *split, int behavior, int invert)
    int tk_split_by_matches(
        tk_aligned *a, const int64_t *matches, const int64_t *counts, int behavior, int invert
    )
    int tk_split_by_kinds(tk_aligned *a, unsigned kinds, int behavior)
    int tk_split_by_character(tk_aligned *a, uint32_t c, int behavior)
    int tk_split_words(tk_aligned *a)
    int tk_split_bert(tk_aligned *a)
    int tk_split_scripts(tk_aligned *a)
    int tk_split_fixed(tk_aligned *a, size_t length)
    int tk_prefix_space(tk_aligned *a)
    int tk_byte_symbols(tk_aligned *a)
    int tk_metaspace(tk_aligned *a, uint32_t replacement, int scheme)

cdef extern from "char_kinds.h" nogil:
    int TK_WORD, TK_WHITE, TK_PUNCTUATION, TK_NUMBER
    unsigned tk_kinds_at(const unsigned char *p, unsigned *length)

tk_isa_use(chosen_isa())
KINDS = {"word": TK_WORD, "white": TK_WHITE, "punctuation": TK_PUNCTUATION, "number": TK_NUMBER}


def kinds_of(str character) -> set:
    """Return which of `KINDS` the first character of a text has."""
    cdef bytes utf8 = character[:1].encode() + b"\0\0\0"
    cdef unsigned length, kinds = tk_kinds_at(utf8, &length)
    return {name for name, kind in KINDS.items() if kinds & <int> kind}


cdef int checked_behavior(int behavior) except -1:
    if not 0 <= behavior < TK_BEHAVIORS:
        raise ValueError(f"behaviors are numbered 0 to {TK_BEHAVIORS - 1}; {behavior} was given")
    return behavior


def split_by_pattern(AlignedText text not None, split, int behavior, bint invert):
    """Split by the matches of a scanner's number or of a SplitPattern, which must not keep what it does not match."""
    cdef tk_split by = split_of(split)
    cdef int status, how = checked_behavior(behavior)
    with nogil:
        status = tk_split_by_pattern(&text.state, &by, how, invert)
    check_stage(status)


def split_by_matches(AlignedText text not None, find, int behavior, bint invert):
    """Split by the matches that `find(piece)` returns: (start, end) in characters, in order; an empty one cuts too."""
    cdef size_t start, end, n
    cdef int how = checked_behavior(behavior)
    cdef const char *utf8 = <const char *> text.state.text
    matches, counts = [], []
    for id_, bounds in zip(text.ids, text.bounds.tolist(), strict=True):
        if id_ is not None:
            continue
        start, end = bounds
        piece = utf8[start:end].decode("utf-8")
        found = list(find(piece))
        counts.append(len(found))
        if len(piece) == <Py_ssize_t> (end - start):  # ASCII
            matches += [(start + <size_t> a, start + <size_t> b) for a, b in found]
            continue
        places, n = [start], start
        for character in piece:
            n += len(character.encode())
            places.append(n)
        matches += [(places[a], places[b]) for a, b in found]
    # One more, so that there is an address where there is none to find.
    cdef int64_t[:, ::1] all_matches = np.array([*matches, (0, 0)], dtype=np.int64)
    cdef int64_t[::1] all_counts = np.array([*counts, 0], dtype=np.int64)
    cdef int status
    with nogil:
        status = tk_split_by_matches(&text.state, &all_matches[0, 0], &all_counts[0], how, invert)
    check_stage(status)


def split_by_kind(AlignedText text not None, str kind, int behavior):
    """Split by characters of a kind, one of `KINDS`: each is a match."""
    cdef unsigned kinds = KINDS[kind]
    cdef int status, how = checked_behavior(behavior)
    with nogil:
        status = tk_split_by_kinds(&text.state, kinds, how)
    check_stage(status)


def split_by_character(AlignedText text not None, str character, int behavior):
    """Split by a character: each is a match."""
    cdef uint32_t c = ord(character)
    cdef int status, how = checked_behavior(behavior)
    with nogil:
        status = tk_split_by_character(&text.state, c, how)
    check_stage(status)


def split_words(AlignedText text not None):
    r"""Make runs of word characters and runs of others pieces, and drop white space: \\w+|[^\\w\\s]+."""
    cdef int status
    with nogil:
        status = tk_split_words(&text.state)
    check_stage(status)


def split_bert(AlignedText text not None):
    """Make each punctuation character and each run of other characters a piece, and drop white space."""
    cdef int status
    with nogil:
        status = tk_split_bert(&text.state)
    check_stage(status)


def split_scripts(AlignedText text not None):
    """Make runs of one script pieces."""
    cdef int status
    with nogil:
        status = tk_split_scripts(&text.state)
    check_stage(status)


def split_fixed(AlignedText text not None, size_t length):
    """Make each `length` characters (at least 1) a piece."""
    cdef int status
    if length < 1:
        raise ValueError("a piece has at least 1 character; 0 were asked for")
    with nogil:
        status = tk_split_fixed(&text.state, length)
    check_stage(status)


def prefix_space(AlignedText text not None):
    """Put a space before each piece that does not start with one."""
    cdef int status
    with nogil:
        status = tk_prefix_space(&text.state)
    check_stage(status)


def byte_symbols(AlignedText text not None):
    """Put its symbol in the place of each byte."""
    cdef int status
    with nogil:
        status = tk_byte_symbols(&text.state)
    check_stage(status)


def metaspace(AlignedText text not None, str replacement, int scheme):
    """Put `replacement` in the place of spaces, and before pieces: of none (scheme 0), all (1), or the first (2)."""
    cdef uint32_t c = ord(replacement)
    cdef int status
    with nogil:
        status = tk_metaspace(&text.state, c, scheme)
    check_stage(status)
