"""Texts and how the core was built: views of Python strings, instruction sets, scanners alone."""

from libc.stdint cimport int64_t, uint32_t, uint8_t
from libc.stdlib cimport free, malloc

import os

import numpy as np

cdef extern from *:
    """
    /* What a str holds, without asking it for UTF-8: that would leave a second copy of the text in it. */
    #define tk_str_is_ascii(s) PyUnicode_IS_ASCII(s)
    #define tk_str_width(s) ((int)PyUnicode_KIND(s))
    #define tk_str_data(s) ((const void *)PyUnicode_DATA(s))
    #define tk_str_length(s) ((size_t)PyUnicode_GET_LENGTH(s))
    """
    bint tk_str_is_ascii(object s)
    int tk_str_width(object s)
    const void *tk_str_data(object s)
    size_t tk_str_length(object s)

cdef extern from *:
    """
    #define TK_TEXT_(...) #__VA_ARGS__
    #define TK_TEXT(...) TK_TEXT_(__VA_ARGS__)
    #if defined(__clang__)
    #define TK_COMPILER "clang " __clang_version__
    #elif defined(__GNUC__)
    #define TK_COMPILER "gcc " __VERSION__
    #elif defined(_MSC_VER)
    #define TK_COMPILER "MSVC " TK_TEXT(_MSC_VER)
    #else
    #define TK_COMPILER "unknown"
    #endif
    #ifndef TK_FLAGS
    #define TK_FLAGS unknown
    #endif
    """
    const char *TK_COMPILER
    const char *TK_FLAGS_TEXT "TK_TEXT(TK_FLAGS)"
    const char *CYTHON_VERSION "CYTHON_ABI"

cdef extern from "text/utf8.h" nogil:
    size_t tk_utf8_invalid_by(int isa, const uint8_t *text, size_t n)
    size_t tk_utf8_from_units_by(int isa, const void *units, size_t n, int width, uint8_t *out, int *surrogates)
    size_t tk_utf8_bound(size_t n, int width)

cdef extern from "split/scan.h" nogil:
    unsigned tk_category(uint32_t code_point)
    int tk_is_han(uint32_t code_point)

cdef extern from "isa.h" nogil:
    int tk_isa_supported(int isa)
    int tk_isa_of_floats(int isa)

cdef extern from "byte_kernels.h" nogil:
    void tk_isa_use(int isa)


class Grown(OverflowError):
    """Stages would make a text larger than the limit grown_bytes."""


ISAS = ("scalar", "avx2", "avx512", "neon")  # by the numbers of csrc/isa.h


def isas() -> list:
    """Return the instruction sets that this machine can scan with, the fastest last."""
    return [name for number, name in enumerate(ISAS) if tk_isa_supported(number)]


cdef int in_use = -1


cdef int chosen_isa() except -1:
    # TOKKIT_ISA, or the fastest that this machine runs: looked up once, at import.
    global in_use
    if in_use >= 0:
        return in_use
    name = os.environ.get("TOKKIT_ISA") or isas().pop()
    if name not in isas():
        raise EnvironmentError(f"TOKKIT_ISA is {name!r}; this machine runs {', '.join(isas())}")
    in_use = ISAS.index(name)
    return in_use


cdef int isa_number(object name) except -1:
    # Returns the number of an instruction set that this machine runs; the one in use if the name is None.
    if name is None:
        return chosen_isa()
    if name not in isas():
        raise ValueError(f"isa is {name!r}; this machine runs {', '.join(isas())}")
    return ISAS.index(name)


cdef int floats_isa(object name) except -1:
    # Returns the number of the instruction set that kernels of floats use for isa_number(name).
    return tk_isa_of_floats(isa_number(name))


tk_isa_use(chosen_isa())


def use_isa(name):
    """Run the byte kernels with this instruction set from now on, in all threads; None restores the one of import."""
    tk_isa_use(isa_number(name))


def isa() -> str:
    """Return the instruction set that this process scans text with: "scalar", "avx2", "avx512" or "neon"."""
    return ISAS[chosen_isa()]


cdef object view_text(object text, TextView *view):
    # Returns the object that owns the memory. Bytes must be UTF-8; a mutable buffer is copied first, since the
    # GIL is given up while its content is read.
    if isinstance(text, str):
        view.data = tk_str_data(text)
        view.length = tk_str_length(text)
        view.width = 0 if tk_str_is_ascii(text) else tk_str_width(text)
        return text
    if not isinstance(text, bytes):
        if not isinstance(text, (bytearray, memoryview)):
            raise TypeError(f"text is {type(text).__name__}; it must be str or bytes")
        text = bytes(text)
    cdef const uint8_t *p = <const uint8_t *> <const char *> (<bytes> text)
    cdef size_t n = len(<bytes> text), bad = tk_utf8_invalid(p, n)
    if bad != n:
        raise ValueError(
            f"the bytes are not valid UTF-8 at offset {bad} (0x{p[bad]:02x}): pass a str, or decode them with errors="
        )
    view.data = p
    view.length = n
    view.width = 0
    return text


cdef tuple shape_tuple(const Py_ssize_t *shape, int n):
    # The shape or strides of a typed memoryview of n dimensions, for the messages of errors.
    return tuple([shape[i] for i in range(n)])


def to_utf8(text, isa=None) -> bytes:
    """Return the UTF-8 bytes that the encoders read: surrogate pairs joined, lone surrogates as U+FFFD.

    `isa` names one of `isas()`; None is the one that this process uses.
    """
    cdef TextView view
    cdef int surrogates = 0, by = isa_number(isa)
    cdef size_t n
    cdef uint8_t *out
    _owner = view_text(text, &view)  # holds the memory of the view
    if view.width == 0:
        return (<const char *> view.data)[: view.length]
    out = <uint8_t *> malloc(tk_utf8_bound(view.length, view.width))
    if out is NULL:
        raise MemoryError
    try:
        n = tk_utf8_from_units_by(by, view.data, view.length, view.width, out, &surrogates)
        return (<const char *> out)[:n]
    finally:
        free(out)


def utf8_invalid(bytes data not None, isa=None) -> int:
    """Return the offset of the first byte that is not valid UTF-8, or the length; `isa` is as in `to_utf8`."""
    return tk_utf8_invalid_by(isa_number(isa), <const uint8_t *> <const char *> data, len(data))


def scan(text, int family, isa=None):
    """Return the ends of the pretokens, int64 byte offsets into `to_utf8(text)`, as scanner `family` cuts it.

    `isa` names one of `isas()`; None is the one that this process uses.
    """
    cdef int by = isa_number(isa)
    cdef bytes utf8 = to_utf8(text)
    cdef const uint8_t *p = <const uint8_t *> <const char *> utf8
    cdef size_t n = len(utf8), at = 0, count = 0, got, k
    cdef size_t ends[256]
    cdef tk_split split
    if not 0 <= family < TK_SCAN_FAMILIES:
        raise ValueError(f"scanner number is {family}; it must be from 0 to {TK_SCAN_FAMILIES - 1}")
    split.family, split.cuts, split.dfa, split.memo = family, NULL, NULL, NULL
    result = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] out = result
    while True:
        got = tk_scan_by(by, &split, p, n, &at, ends, 256)
        if got == 0:
            return result[:count].copy()
        for k in range(got):
            out[count + k] = <int64_t> ends[k]
        count += got


def category(int code_point) -> int:
    """Return the category number of a code point (data/make_unicode_tables.py lists them)."""
    if not 0 <= code_point < 0x110000:
        raise ValueError(f"code_point is {code_point:#x}; it must be from 0 to 0x10ffff")
    return tk_category(code_point)


def is_han(int code_point) -> bool:
    """Return whether the script of a code point is Han."""
    if not 0 <= code_point < 0x110000:
        raise ValueError(f"code_point is {code_point:#x}; it must be from 0 to 0x10ffff")
    return bool(tk_is_han(code_point))


def category_runs():
    """Return (starts, numbers) of the runs of code points of one category: int32 starts, uint8 category numbers."""
    starts, numbers = np.empty(0x110000, dtype=np.int32), np.empty(0x110000, dtype=np.uint8)
    cdef int[::1] at = starts
    cdef uint8_t[::1] found = numbers
    cdef uint32_t c
    cdef Py_ssize_t n = 0
    cdef uint8_t number
    with nogil:
        for c in range(0x110000):
            number = <uint8_t> tk_category(c)
            if n == 0 or number != found[n - 1]:
                at[n] = <int> c
                found[n] = number
                n += 1
    return starts[:n].copy(), numbers[:n].copy()


# How the core was compiled, for bug reports.


def build_facts() -> dict:
    """Return the compiler and its version, the flags of setup.py, and Cython's version."""
    return {
        "compiler": TK_COMPILER.decode().strip(),
        "flags": TK_FLAGS_TEXT.decode(),
        "cython": CYTHON_VERSION.decode().replace("_", "."),
    }
