"""The encoder of byte-level BPE: a plan (csrc/encode/plan.h) over a vocabulary of bytes."""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from tokkit._core.base cimport TK_BAD_INPUT, TK_NO_MEMORY, TK_OK, TK_TOO_LARGE
from tokkit._core.encode.blocks cimport check_block
from tokkit._core.encode.plan cimport (
    Encoder, Finder, Worker, check, tk_bpe, tk_encode_pieces, tk_merge_pieces, tk_plan, tk_plan_bytes, tk_worker,
)
from tokkit._core.encode.staged cimport Stages
from tokkit._core.split cimport SplitPattern, split_of, tk_added, tk_added_find, tk_added_match
from tokkit._core.text cimport (
    TK_DROPPED, isa_number, tk_dfa, tk_dfa_memo, tk_dfa_memo_free, tk_scan_by, tk_split,
    tk_utf8_invalid,
)

import numpy as np

from tokkit._core.text import to_utf8

cdef extern from "encode/bpe_model.h" nogil:
    ctypedef struct tk_vocabulary:
        const uint8_t *blob
        const int64_t *offsets
        size_t n_ids
        const uint8_t *special
        const uint32_t *merges
        size_t n_merges
        int whole_piece
        int drops_unknown
    int tk_bpe_build(tk_bpe *model, const tk_vocabulary *vocabulary, size_t *culprit)
    void tk_bpe_free(tk_bpe *model)

cdef extern from "encode/open_piece.h" nogil:
    size_t tk_open_cut(
        const tk_plan *plan, tk_worker *w, const tk_dfa *dfa, const uint8_t *text, size_t n, int inside, int *status
    )


cdef object check_build(int status, size_t culprit):
    if status == TK_NO_MEMORY:
        raise MemoryError("not enough memory for the tables of this vocabulary")
    if status == TK_TOO_LARGE:
        raise OverflowError("the vocabulary has more than 2097151 tokens or merges, the maximum for BPE")
    if status == TK_BAD_INPUT and culprit >= 256:
        raise ValueError(
            f"merge {culprit - 256} has an id without a token, or its result is not left and right concatenated"
        )
    if status == TK_BAD_INPUT and culprit < 256:
        raise ValueError(
            f"the byte 0x{culprit:02x} has no token, or two tokens have the same bytes; each byte must have a token, "
            f"and all tokens be different"
        )
    return None


cdef class BPEEncoder(Encoder):
    """Byte-level BPE over packed tokens. Immutable for callers; only one thread at a time uses each cache inside.

    `blob`, `offsets` (int64, n_ids + 1) and `special` (uint8, n_ids) are a packed vocabulary; `merges` is uint32
    (n, 3) or None for rank BPE; `split` numbers a scanner or is a SplitPattern;
    `max_words` limits what a thread's cache inserts. With `drops_unknown` a byte without a token gets no id. `before`
    runs on the text between two added tokens before it is split; texts may be cut into chunks by `splittable`.
    ValueError: a byte without a token, two equal tokens, a merge that does not fit. OverflowError: too large.
    """

    def __cinit__(
        self, bytes blob, const int64_t[::1] offsets, const uint8_t[::1] special, merges, bint whole_piece,
        split, size_t max_words, bint drops_unknown=False, Stages before=None, bint splittable=False
    ):
        cdef tk_vocabulary vocabulary
        cdef const uint32_t[:, ::1] pairs
        cdef size_t culprit = 256, k
        cdef int status
        self.owner = blob
        self.pattern = split
        self.before = before
        self.splittable = splittable
        self.max_words = max_words
        self.n_ids = offsets.shape[0] - 1
        vocabulary.blob = <const uint8_t *> <const char *> blob
        vocabulary.offsets = &offsets[0]
        vocabulary.n_ids = self.n_ids
        vocabulary.special = &special[0] if self.n_ids else NULL
        vocabulary.merges = NULL
        vocabulary.n_merges = 0
        vocabulary.whole_piece = whole_piece
        vocabulary.drops_unknown = drops_unknown
        if merges is not None:
            pairs = merges
            vocabulary.n_merges = pairs.shape[0]
            vocabulary.merges = &pairs[0, 0] if pairs.shape[0] else <const uint32_t *> &offsets[0]
        with nogil:
            status = tk_bpe_build(&self.model, &vocabulary, &culprit)
        check_build(status, culprit)
        if before is not None:
            self.plan.before, self.plan.n_before = before.list, before.n
        self.lengths = <uint32_t *> malloc((self.n_ids + 1) * sizeof(uint32_t))
        if self.lengths is NULL:
            raise MemoryError
        for k in range(self.n_ids):
            self.lengths[k] = <uint32_t> (offsets[k + 1] - offsets[k])
        tk_plan_bytes(&self.plan, &self.model, split_of(split), self.lengths, max_words)
        self.share_ints()

    def __dealloc__(self):
        tk_bpe_free(&self.model)
        free(self.lengths)

    def encode_pieces(self, bytes text, const int64_t[::1] ends, bint merge_only=False):
        """Return the ids of text that is cut into pretokens, as a uint32 array; pretoken k ends at byte ends[k].

        With `merge_only` no pretoken is looked up as a whole, and the bytes may be invalid UTF-8.
        """
        cdef Worker worker = self.take_worker()
        cdef size_t count = ends.shape[0], k
        cdef const uint8_t *p = <const uint8_t *> <const char *> text
        cdef int64_t last = 0
        cdef int status
        for k in range(count):
            if not last <= ends[k] <= len(text):
                raise ValueError(f"ends[{k}] is {ends[k]}; it must be from {last}, the end before it, to {len(text)}")
            last = ends[k]
        try:
            worker.state.n_ids = 0
            if count:
                with nogil:
                    if merge_only:
                        status = tk_merge_pieces(&self.plan, &worker.state, p, &ends[0], count)
                    else:
                        status = tk_encode_pieces(&self.plan, &worker.state, p, &ends[0], count)
                check(status)
            return self.as_array(worker)
        finally:
            self.give_back(worker)

    def units(self, text, isa=None):
        """Return the ends of the units: what is looked up and merged alone. int64 byte offsets into `to_utf8(text)`.

        Units are pretokens, or their spans between safe cuts if the scanner of `isa` makes them, and dropped text.
        """
        cdef int by = isa_number(isa)
        cdef bytes utf8 = to_utf8(text)
        cdef const uint8_t *p = <const uint8_t *> <const char *> utf8
        cdef size_t n = len(utf8), at = 0, count = 0, got, k
        cdef size_t ends[256]
        cdef tk_dfa_memo memo
        cdef tk_split split = self.plan.front.split
        memset(&memo, 0, sizeof(memo))
        split.memo = &memo
        result = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] out = result
        while True:
            with nogil:
                got = tk_scan_by(by, &split, p, n, &at, ends, 256)
            if got == 0:
                tk_dfa_memo_free(&memo)
                return result[:count].copy()
            for k in range(got):
                out[count + k] = <int64_t> (ends[k] & ~TK_DROPPED)
            count += got

    def open_cut(
        self, const uint8_t[::1] text, size_t n, SplitPattern pattern not None, Finder finder=None, bint inside=True
    ) -> int:
        """Return a position where text[:n] may be cut although no match of the pattern ends there; 0 for none.

        The text begins at a pretoken, and more text follows; `pattern` is the split's pattern, `finder` as in `encode`.
        The ids before and after the position, concatenated, are those of the whole text (csrc/encode/open_piece.h).
        Unless `inside`, it is the end of a pretoken.
        """
        cdef Worker worker
        cdef const tk_added *special = NULL
        cdef tk_added_match match
        cdef size_t at
        cdef int status = TK_OK
        check_block(text, n)
        if finder is not None and not finder.splittable:
            return 0
        if finder is not None and finder.guard is not None:
            special = &finder.guard.tokens
        n = tk_utf8_invalid(&text[0], n) if n else 0
        if not n or self.before is not None or (
            special is not NULL and tk_added_find(special, &text[0], n, 0, &match)
        ):
            return 0
        worker = self.take_worker()
        try:
            with nogil:
                at = tk_open_cut(&self.plan, &worker.state, &pattern.dfa, &text[0], n, inside, &status)
            check(status)
        finally:
            self.give_back(worker)
        return 0 if special is not NULL and n - at < special.longest else at

    def merges(self):
        """Return the merges that can happen, uint32 (n, 3): ids of left, right and result, in order of priority.

        There is one for each token that merges can make. Two models with equal merges and bytes give equal ids, with
        ranks or merge lists, except for tokens that only a whole pretoken can become (`unreachable`).
        """
        cdef uint32_t t, n = 0
        cdef tk_bpe *m = &self.model
        result = np.empty((m.n, 3), dtype=np.uint32)
        cdef uint32_t[:, ::1] out = result
        for t in range(256, m.n):
            if m.left[t] != 0xFFFFFFFF:
                out[n, 0] = m.id[m.left[t]]
                out[n, 1] = m.id[m.right[t]]
                out[n, 2] = m.id[t]
                n += 1
        return result[:n].copy()

    @property
    def unreachable(self) -> int:
        """The number of tokens that no merge makes."""
        return self.model.unreachable
