"""Training by word2vec, without the GIL (csrc/embed/word2vec.h)."""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memset

from tokkit._core.base cimport TK_OK
from tokkit._core.embed.sentences cimport Negatives
from tokkit._core.text cimport floats_isa

import os

cdef extern from "isa.h" nogil:
    int tk_isa_of_short_rows(int isa)

cdef extern from "embed/word2vec.h" nogil:
    ctypedef struct tk_word2vec_part:
        size_t from_ "from"
        size_t to
        uint64_t epoch
        double alpha
        double alpha_fall
        double min_alpha
        uint64_t words
        double loss
    int tk_word2vec_run(const tk_word2vec *, tk_word2vec_part *, int isa, int threads)

# Ids of a corpus, and words, from which several threads copy rows: few of all steps do not see one another then. With
# nine words the vectors became a third longer. Smaller corpora take less than a second.
cdef Py_ssize_t COPY_FROM = 500_000, COPY_WORDS = 4000

# 5 to 11 % more words a second on Zen 4: bench_word2vec.
cdef int ISA = floats_isa(None)

if not os.environ.get("TOKKIT_ISA"):
    ISA = tk_isa_of_short_rows(ISA)


cdef class Word2VecTraining:
    """Trains vectors (n, d) in place on sentences of ids below n; from `copy_from` ids on, several threads copy rows.

    `out` (n, d) and `negatives` are for negative sampling; `nodes` (n - 1, d) and `paths` for hierarchical softmax: the
    end of each word's path, its inner nodes, and its turns.
    """

    def __cinit__(
        self,
        const uint32_t[::1] ids,
        const int64_t[::1] ends,
        float[:, ::1] vectors,
        *,
        float[:, ::1] out=None,
        Negatives negatives=None,
        Py_ssize_t negative=0,
        float[:, ::1] nodes=None,
        paths=None,
        const uint32_t[::1] keep=None,
        uint32_t window=5,
        bint shrink=True,
        bint skip_gram=False,
        bint mean=True,
        bint batched=False,
        bint losses=False,
        uint64_t seed=1,
        str isa=None,
        Py_ssize_t copy_from=COPY_FROM,
    ):
        cdef tk_word2vec *w = &self.w
        cdef Py_ssize_t i, n = vectors.shape[0], d = vectors.shape[1]
        cdef const int64_t[::1] path_ends
        cdef const uint32_t[::1] path_nodes
        cdef const uint8_t[::1] path_turns
        cdef bint copies = ids.shape[0] >= copy_from and n >= COPY_WORDS
        memset(w, 0, sizeof(self.w))
        if not n or not d or not window or negative < 0:
            raise ValueError(
                f"vectors has shape ({n}, {d}), window is {window} and negative {negative}; sizes and window must be "
                f"at least 1, negative at least 0"
            )
        if out is None and nodes is None:
            raise ValueError("out and nodes are None; give out for negative sampling, nodes for hierarchical softmax")
        if batched and (not skip_gram or nodes is not None):
            raise ValueError("batched is True; it needs skip_gram, and negative sampling only (nodes None)")
        w.ids, w.ends = &ids[0] if ids.shape[0] else NULL, &ends[0] if ends.shape[0] else NULL
        w.in_, w.n, w.d, w.copies = &vectors[0, 0], n, d, copies
        for i in range(ids.shape[0]):
            if ids[i] >= <size_t> n:
                raise ValueError(f"ids[{i}] is {ids[i]}; it must be below the number of vectors, {n}")
        for i in range(ends.shape[0]):
            if ends[i] > ids.shape[0] or ends[i] <= (ends[i - 1] if i else 0):
                raise ValueError(
                    f"ends[{i}] is {ends[i]}; ends must increase, and be at most the number of ids, {ids.shape[0]}"
                )
        if out is not None:
            if out.shape[0] != n or out.shape[1] != d:
                raise ValueError(
                    f"out has shape ({out.shape[0]}, {out.shape[1]}); it must be that of vectors, {(n, d)}"
                )
            if negatives is None or negatives.cumulated.shape[0] > n:
                raise ValueError(f"negatives are None or have too many words; out needs them, with at most {n} words")
            w.out, w.negatives, w.negative = &out[0, 0], negatives.table, negative
            w.parts = copies and negatives.falling and negatives.cumulated.shape[0] == n
        if nodes is not None:
            if paths is None or nodes.shape[0] != n - 1 or nodes.shape[1] != d:
                raise ValueError(
                    f"nodes has shape ({nodes.shape[0]}, {nodes.shape[1]}); it must be {(n - 1, d)}, and paths be given"
                )
            path_ends, path_nodes, path_turns = paths
            if path_ends.shape[0] != n or path_nodes.shape[0] != path_turns.shape[0] or not path_nodes.shape[0]:
                raise ValueError(
                    f"paths have {path_ends.shape[0]} ends, {path_nodes.shape[0]} nodes and {path_turns.shape[0]} "
                    f"turns; they must have {n} ends, one for each vector, and as many turns as nodes, at least 1"
                )
            for i in range(n):
                if path_ends[i] < (path_ends[i - 1] if i else 0) or path_ends[i] > path_nodes.shape[0]:
                    raise ValueError(
                        f"the end of path {i} is {path_ends[i]}; ends must not decrease, and be at most the number of "
                        f"nodes, {path_nodes.shape[0]}"
                    )
            for i in range(path_nodes.shape[0]):
                if path_nodes[i] >= <size_t> nodes.shape[0]:
                    raise ValueError(
                        f"a path has node {path_nodes[i]}; it must be below the rows of nodes, {nodes.shape[0]}"
                    )
            w.nodes, w.path_ends = &nodes[0, 0], &path_ends[0]
            w.path_nodes, w.path_turns = &path_nodes[0], &path_turns[0]
        if keep is not None:
            if keep.shape[0] != n:
                raise ValueError(f"keep has {keep.shape[0]} entries; it must have one for each of {n} vectors")
            w.keep = &keep[0]
        w.window, w.shrink, w.skip_gram, w.mean, w.batched = window, shrink, skip_gram, mean, batched
        w.losses, w.seed = losses, seed
        self.n_sentences = ends.shape[0]
        self.isa = ISA if isa is None else floats_isa(isa)
        self.kept = (ids, ends, vectors, out, negatives, nodes, paths, keep)

    def run(
        self,
        Py_ssize_t start,
        Py_ssize_t stop,
        *,
        uint64_t epoch,
        double alpha,
        double alpha_fall=0,
        double min_alpha=0,
        int threads=1,
        double[::1] tally=None,
    ):
        """Train on sentences start … stop - 1; return how many words were kept, and the sum of losses.

        tally[0] becomes stop, and the returned numbers are added to tally[1] and tally[2] before a signal handler can
        raise. `alpha` is the learning rate at the first id of all; it falls by `alpha_fall` with each id, down to
        `min_alpha`.
        """
        cdef tk_word2vec_part part
        cdef int status
        if not 0 <= start <= stop <= self.n_sentences:
            raise ValueError(f"sentences {start} to {stop} are out of range; there are {self.n_sentences} sentences")
        if tally is not None and tally.shape[0] < 3:
            raise ValueError(f"tally has {tally.shape[0]} entries; it must have at least 3")
        memset(&part, 0, sizeof(part))
        part.from_, part.to, part.epoch = start, stop, epoch
        part.alpha, part.alpha_fall, part.min_alpha = alpha, alpha_fall, min_alpha
        with nogil:
            status = tk_word2vec_run(&self.w, &part, self.isa, max(1, threads))
        if status != TK_OK:
            raise MemoryError()
        if tally is not None:
            tally[0] = stop
            tally[1] += part.words
            tally[2] += part.loss
        return part.words, part.loss
