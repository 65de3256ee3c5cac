"""The encoder of SentencePiece models of all four types: raw text → ids, or ids with spans."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.list cimport PyList_New
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tokkit._core.base cimport TK_BAD_INPUT, TK_OK, TK_TOO_LARGE
from tokkit._core.encode.models cimport filled
from tokkit._core.encode.plan cimport (
    GIL_FREE_BYTES, Worker, check, rule_of, tk_encode_normalized_sp, tk_max_grown, tk_offsets_spans, tk_plan_sp, tk_sp,
    tk_sp_scratch, tk_worker,
)
from tokkit._core.text cimport TextView, tk_utf8_invalid, view_text

import numpy as np

from tokkit._core.text import Grown

cdef extern from "sentencepiece/sp_engine.h" nogil:
    int TK_SP_UNIGRAM, TK_SP_BPE, TK_SP_WORD, TK_SP_CHAR
    ctypedef struct tk_sp_source:
        const uint8_t *blob
        const int64_t *offsets
        const float *scores
        const uint8_t *kinds
        const uint8_t *charsmap
        size_t n_ids, n_charsmap
        uint32_t unknown
        int model, byte_fallback, dummy_prefix, remove_extra, escape, suffix
    int tk_sp_build(tk_sp *m, const tk_sp_source *source, const char **reason)
    void tk_sp_free(tk_sp *m)
    int tk_sp_prepare(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n, size_t max)

cdef extern from "Python.h":
    void PyList_SET_ITEM(object list, Py_ssize_t i, PyObject *item)

cdef bytes SPACE = "\u2581".encode()

cdef enum:
    UNCACHED = -1

MODELS = {"unigram": TK_SP_UNIGRAM, "bpe": TK_SP_BPE, "word": TK_SP_WORD, "char": TK_SP_CHAR}


cdef class SentencePieceEncoder:
    """Normalizer and model of sentencepiece as a plan. Only one thread at a time uses each cache inside.

    `offsets` (n + 1,), `scores` (n,) and `kinds` (n,) describe the pieces in `blob`; `model` is one of `MODELS`;
    `word_marks` (uint8, n): 1 if the piece begins a word, 2 if a word begins after it. Texts may be cut by `rule`,
    the tables of a cut rule (csrc/split/cut_rule.h), or nowhere.
    """

    def __cinit__(
        self, bytes blob not None, const int64_t[::1] offsets, const float[::1] scores, const uint8_t[::1] kinds, *,
        bytes charsmap not None, uint32_t unknown, str model not None, bint byte_fallback, bint dummy_prefix,
        bint remove_extra, bint escape, bint suffix, size_t cache_units, const uint8_t[::1] word_marks, rule=None
    ):
        cdef tk_sp_source source
        cdef const char *reason = NULL
        cdef int status
        cdef size_t n = kinds.shape[0]
        if {scores.shape[0], word_marks.shape[0], offsets.shape[0] - 1} != {n} or unknown >= n:
            raise ValueError(
                f"there are {n} kinds, {scores.shape[0]} scores, {word_marks.shape[0]} word_marks and "
                f"{offsets.shape[0]} offsets, and unknown is {unknown}; there must be one score and mark for each "
                f"kind, one offset more, and unknown must be below {n}"
            )
        source.blob, source.offsets, source.scores, source.kinds = blob, &offsets[0], &scores[0], &kinds[0]
        source.charsmap, source.n_charsmap = charsmap, len(charsmap)
        source.n_ids, source.unknown, source.model, source.byte_fallback = n, unknown, MODELS[model], byte_fallback
        source.dummy_prefix, source.remove_extra = dummy_prefix, remove_extra
        source.escape, source.suffix = escape, suffix
        with nogil:
            status = tk_sp_build(&self.state, &source, &reason)
        if status == TK_BAD_INPUT:
            raise ValueError(f"the charsmap is not valid: {reason.decode()}")
        if status == TK_TOO_LARGE:
            raise ValueError(
                f"there are {n} pieces, or too many pairs of pieces that merge; this encoder takes at most 8 million "
                f"of each"
            )
        if status != TK_OK:
            raise MemoryError("not enough memory for the tables of the model")

        self.n_ids, self.max_words = n, cache_units
        self.owners = word_marks
        tk_plan_sp(&self.plan, &self.state, &word_marks[0], self.max_words)
        self.plan.part_rule = rule_of(&self.cuts, rule)
        self.splittable = rule is not None
        self.share_ints()

    def __dealloc__(self):
        tk_sp_free(&self.state)

    def encode_whole(self, text):
        """Return the ids of a text as `encode_array` does, but without cutting it and without the cache.

        benchmarks.bench_sentencepiece compares the two: on text in which no word is repeated, cutting and cache may
        take at most twice as long.
        """
        cdef Worker worker = self.take_worker()
        try:
            worker.state.sp.uncached = <size_t> UNCACHED
            self.run(worker, text, None)
            return self.as_array(worker)
        finally:
            worker.state.sp.uncached = 0
            self.give_back(worker)

    def segments(self, bytes text not None):
        """Return (normalized, ids, spans, origin) of UTF-8: bytes with spaces as U+2581; uint32 (n,); int64 (n, 2) in
        them; and uint32 (bytes + 1,), the offset in the text that each of these bytes comes from.

        If a character becomes several byte pieces, all but the last have an empty span at its start.
        """
        cdef Worker worker = self.take_worker()
        cdef tk_worker *w = &worker.state
        cdef TextView view
        cdef int status
        cdef int64_t[:, ::1] moved
        text = view_text(text, &view)
        w.n_ids = 0
        try:
            with nogil:
                status = tk_encode_normalized_sp(&self.plan, w, <const uint8_t *> view.data, view.length)
            check(status)
            ids = filled(np.empty(w.n_ids, dtype=np.uint32), w.ids, w.n_ids * sizeof(uint32_t))
            spans = filled(np.empty((w.n_ids, 2), dtype=np.int64), tk_offsets_spans(w), 2 * w.n_ids * sizeof(int64_t))
            moved = spans
            normalized, origin = self.unescaped(w.sp, &moved[0, 0] if w.n_ids else NULL, 2 * w.n_ids)
            return normalized, ids, spans, origin
        finally:
            self.give_back(worker)

    cdef object unescaped(self, tk_sp_scratch *w, int64_t *spans, size_t n_spans):
        # The buffer with its spaces as U+2581, and the origins of its bytes; the spans become spans of this text.
        cdef size_t k, i, at = 0, width = 3 if self.state.escape else 1
        cdef uint32_t[::1] moved = np.empty(w.n + 1, dtype=np.uint32), from_
        cdef uint8_t[::1] out
        for k in range(w.n):
            moved[k] = <uint32_t> at
            at += width if w.text[k] == c" " else 1
        moved[w.n] = <uint32_t> at
        origin, normalized = np.empty(at + 1, dtype=np.uint32), np.empty(at + 1, dtype=np.uint8)
        from_, out = origin, normalized
        for k in range(w.n):
            for i in range(moved[k], moved[k + 1]):
                from_[i] = w.from_[k]
                out[i] = w.text[k]
            if moved[k + 1] - moved[k] == 3:
                out[moved[k]], out[moved[k] + 1], out[moved[k] + 2] = 0xE2, 0x96, 0x81
        from_[at] = w.from_[w.n]
        for k in range(n_spans):
            spans[k] = moved[spans[k]]
        return normalized[:at].tobytes(), origin

    def normalize(self, bytes text not None):
        """Return a text as the model normalizes it, with spaces as U+2581."""
        cdef Worker worker = self.take_worker()
        cdef tk_sp_scratch *w = worker.state.sp
        cdef TextView view
        text = view_text(text, &view)
        try:
            check(
                tk_sp_prepare(
                    &self.state, w, <const uint8_t *> view.data, view.length, tk_max_grown(&self.plan, view.length)
                )
            )
            normalized = PyBytes_FromStringAndSize(<const char *> w.text, w.n)
            return normalized.replace(b" ", SPACE) if self.state.escape else normalized
        finally:
            w.aligned = False
            self.give_back(worker)

    def build_steps(self) -> int:
        """Return how many bytes of pieces were read to find the merges: for BPE, at most twice the bytes of all
        pieces.
        """
        return self.state.steps

    cdef bint is_plain(self, text, TextView *view) except -1:
        # Views a text that is its own UTF-8: a str without surrogates, or bytes of valid UTF-8.
        cdef const uint8_t *p
        cdef size_t k
        cdef uint32_t surrogates = 0
        if type(text) is str:
            view_text(text, view)
            if view.width == 2:
                for k in range(view.length):
                    surrogates |= ((<const uint16_t *> view.data)[k] & 0xF800) == 0xD800
            elif view.width == 4:
                for k in range(view.length):
                    surrogates |= ((<const uint32_t *> view.data)[k] & 0xFFFFF800) == 0xD800
            return not surrogates
        if type(text) is not bytes:
            return False
        p = <const uint8_t *> <const char *> (<bytes> text)
        view.data, view.length, view.width = p, len(<bytes> text), 0
        return tk_utf8_invalid(p, view.length) == view.length

    cdef Worker run_plain(self, text):
        # The worker that has the ids of a plain text; None for other texts, and where `segments` raises the errors.
        cdef TextView view
        cdef Worker worker
        if not self.is_plain(text, &view):
            return None
        worker = self.take_worker()
        try:
            if view.length >= GIL_FREE_BYTES:
                self.run(worker, text, None)
                return worker
            if self.run_short(worker, &view, None) == TK_OK:
                return worker
        except (LookupError, OverflowError, Grown):
            pass
        except BaseException:
            self.give_back(worker)
            raise
        self.give_back(worker)
        return None

    def plain(self, text, list names=None, bint as_bytes=False):
        """Return the ids of a plain text as a list, or their `names`; None for another text.

        A name that is None is the text of its piece, as str or bytes.
        """
        cdef Worker worker = self.run_plain(text)
        cdef list made
        if worker is None:
            return None
        if names is None:
            made = self.as_list(worker.state.ids, worker.state.n_ids)
        else:
            made = names_of(worker.state.ids, worker.state.n_ids, names)
        self.give_back(worker)
        if made is not None:
            return made
        try:
            return self.names_and_texts(text.encode() if type(text) is str else text, names, as_bytes)
        except (LookupError, OverflowError, Grown):
            return None

    cdef list names_and_texts(self, bytes text, list names, bint as_bytes):
        # The names of a text's pieces; the text of one that has no name is what stands in the engine's buffer.
        cdef Worker worker = self.take_worker()
        cdef tk_worker *w = &worker.state
        cdef TextView view
        cdef const int64_t *spans
        cdef int status
        cdef size_t k
        cdef list made = []
        text = view_text(text, &view)
        w.n_ids = 0
        try:
            with nogil:
                status = tk_encode_normalized_sp(&self.plan, w, <const uint8_t *> view.data, view.length)
            check(status)
            spans = tk_offsets_spans(w)
            for k in range(w.n_ids):
                name = names[w.ids[k]]
                if name is None:
                    name = (<const char *> w.sp.text)[spans[2 * k] : spans[2 * k + 1]]
                    name = name.replace(b" ", SPACE) if self.state.escape else name
                    name = name if as_bytes else name.decode()
                made.append(name)
            return made
        finally:
            self.give_back(worker)

    def plain_batch(self, list texts not None, list names=None, bint as_bytes=False) -> list:
        """Return what `plain` returns for each text."""
        return [self.plain(text, names, as_bytes) for text in texts]


def piece_names(
    list names not None, list ids not None, bytes normalized not None, const int64_t[:, ::1] spans, bint as_bytes
) -> list:
    """Return the name of each id; one that is None is the text of its span, as str or bytes."""
    cdef Py_ssize_t k
    cdef list made = []
    for k in range(len(ids)):
        name = names[ids[k]]
        if name is None:
            name = normalized[spans[k, 0] : spans[k, 1]]
            name = name if as_bytes else name.decode()
        made.append(name)
    return made


cdef list names_of(const uint32_t *ids, size_t n, list names):
    # The name of each id; None if one is not there.
    cdef list made = PyList_New(n)
    cdef size_t k
    for k in range(n):
        name = names[ids[k]] if ids[k] < <size_t> len(names) else None
        if name is None:
            return None
        Py_INCREF(name)
        PyList_SET_ITEM(made, k, <PyObject *> name)
    return made


cdef inline uint8_t *write_field(uint8_t *out, uint8_t tag, uint64_t value) noexcept:
    # A field of a message that is a varint, or the length of what follows.
    out[0] = tag
    out += 1
    while value >= 0x80:
        out[0] = <uint8_t> (value | 0x80)
        value >>= 7
        out += 1
    out[0] = <uint8_t> value
    return out + 1


cdef inline uint8_t *write_bytes(uint8_t *out, uint8_t tag, const uint8_t *data, size_t n) noexcept:
    out = write_field(out, tag, n)
    memcpy(out, data, n)
    return out + n


def pieces_message(
    bytes text not None, list names not None, list ids not None, const int64_t[:, ::1] spans, bytes bare
):
    """Return the message SentencePieceText of a text and its pieces: names as bytes, ids, and spans in the text.

    Pieces for which `bare` has a 1 have no surface; None is for all zeros. None if a surface is not valid UTF-8.
    """
    cdef const uint8_t *p = <const uint8_t *> <const char *> text
    cdef size_t n = len(ids), k, room = len(text) + 16, longest = 0, width
    cdef uint8_t *message
    cdef uint8_t *piece
    cdef uint8_t *out
    cdef uint8_t *end
    cdef bytes name
    if <size_t> len(names) != n or <size_t> spans.shape[0] != n or spans.shape[1] != 2:
        raise ValueError("there must be one name, id and span for each piece")
    for k in range(n):
        if not 0 <= spans[k, 0] <= spans[k, 1] <= len(text):
            raise ValueError(f"span {k} is outside the text")
        width = spans[k, 1] - spans[k, 0]
        if tk_utf8_invalid(p + spans[k, 0], width) != width:
            return None
        width += len(<bytes?> names[k]) + 64
        longest = max(longest, width)
        room += width
    message = <uint8_t *> PyMem_Malloc(room + longest)
    if message is NULL:
        raise MemoryError
    piece = message + room
    try:
        out = write_bytes(message, 0x0A, p, len(text))
        for k in range(n):
            name = names[k]
            end = write_bytes(piece, 0x0A, <const uint8_t *> <const char *> name, len(name))
            end = write_field(end, 0x10, <uint64_t> ids[k])
            if bare is None or not bare[k]:
                end = write_bytes(end, 0x1A, p + spans[k, 0], spans[k, 1] - spans[k, 0])
            end = write_field(end, 0x20, spans[k, 0])
            end = write_field(end, 0x28, spans[k, 1])
            out = write_bytes(out, 0x12, piece, end - piece)
        return PyBytes_FromStringAndSize(<const char *> message, out - message)
    finally:
        PyMem_Free(message)
