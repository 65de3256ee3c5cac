"""Training of fastText's vectors and classifiers, and means of rows, without the GIL (csrc/embed/fasttext.h)."""

from libc.stdint cimport UINT32_MAX, int64_t, uint32_t, uint64_t, uint8_t

from tokkit._core.embed.labelled cimport LineRows, tk_line_rows
from tokkit._core.embed.sentences cimport Negatives, check_sentences, tk_negatives
from tokkit._core.text cimport floats_isa, shape_tuple

from array import array

cdef extern from "embed/fasttext.h" nogil:
    ctypedef struct tk_fasttext:
        float *input
        float *output
        size_t dim
        size_t n_out
        int loss
        size_t negative
        tk_negatives negatives
        const int64_t *path_ends
        const uint32_t *path_nodes
        const uint8_t *path_turns
        const uint32_t *all
        const tk_fasttext *next
    ctypedef struct tk_classifier_work:
        tk_fasttext model
        tk_line_rows rows
        const uint32_t *ids
        const int64_t *ends
        int64_t begun
        int64_t total
        int64_t rate_each
        float lr
        uint64_t seed
    ctypedef struct tk_fasttext_work:
        tk_fasttext model
        const int64_t *row_ends
        const uint32_t *rows
        const float *gain
        const uint32_t *ids
        const int64_t *ends
        const uint32_t *keep
        double alpha
        double alpha_fall
        double min_alpha
        uint32_t window
        int cbow
        int shrink
        int mean
        uint64_t seed
    int tk_classifier_train(const tk_classifier_work *, size_t, size_t, int isa, int threads, double *, int64_t *)
    int tk_fasttext_train(const tk_fasttext_work *, size_t, size_t, int isa, int threads, double *, int64_t *)
    void tk_fasttext_means(const float *, size_t, const uint32_t *, const int64_t *, size_t, float *, int, int threads)

FASTTEXT_LOSSES = ("ns", "hs", "softmax", "ova")  # by their numbers in csrc/embed/fasttext.h


cdef int check_ends(const int64_t[::1] ends, Py_ssize_t n, object name) except -1:
    if not len(ends) or not n or ends[len(ends) - 1] != n:
        raise ValueError(
            f"there are {len(ends)} ends and {n} {name}; there must be at least 1 of each, and the last end be {n}"
        )
    return 0


cdef int check_row_numbers(const uint32_t[::1] rows, Py_ssize_t n) except -1:
    cdef uint32_t greatest = 0
    cdef Py_ssize_t i
    for i in range(rows.shape[0]):
        greatest = max(greatest, rows[i])
    if rows.shape[0] and greatest >= n:
        raise ValueError(f"row {greatest} is out of range; there are {n} rows")
    return 0


cdef class FastTextObjective:
    """What to predict from a mean of rows of `input` by rows of `output`, and how: see csrc/embed/fasttext.h.

    `negatives` and `negative` are for the loss "ns". `paths` is for "hs": the ends of the path of each output, and the
    inner nodes and turns on it. Words are trained on `next` after each step.
    """

    cdef tk_fasttext state
    cdef float[:, ::1] input, output
    cdef Negatives negatives
    cdef const int64_t[::1] path_ends
    cdef const uint32_t[::1] path_nodes, all
    cdef const uint8_t[::1] path_turns
    cdef FastTextObjective next

    def __init__(
        self, float[:, ::1] input not None, float[:, ::1] output not None, str loss, *, size_t negative=0,
        Negatives negatives=None, paths=None, FastTextObjective next=None,
    ):
        cdef tk_fasttext *o = &self.state
        cdef size_t n = output.shape[0]
        if not n or not input.shape[0] or not input.shape[1] or input.shape[1] != output.shape[1]:
            raise ValueError(
                f"input has shape {shape_tuple(input.shape, 2)} and output {shape_tuple(output.shape, 2)}; they must "
                f"have the same number of columns, and not be empty"
            )
        if n > UINT32_MAX or input.shape[0] > UINT32_MAX:
            raise ValueError(f"input has {input.shape[0]} rows and output {n}; each must have at most 2**32 - 1")
        self.input, self.output, self.negatives = input, output, negatives
        o.input, o.output, o.dim, o.n_out = &input[0, 0], &output[0, 0], input.shape[1], n
        o.loss, o.negative = FASTTEXT_LOSSES.index(loss), negative
        if next is not None:
            if next.state.input != o.input or next.state.dim != o.dim or next.state.n_out != n:
                raise ValueError("next has another input or another number of outputs; both must be the same")
            self.next, o.next = next, &next.state
        if loss == "ns":
            if negatives is None or negatives.cumulated.shape[0] != output.shape[0]:
                raise ValueError(
                    f"negatives are None or of another size; they must have one word for each of {n} outputs"
                )
            o.negatives = negatives.table
        elif loss == "hs":
            self.path_ends, self.path_nodes, self.path_turns = paths
            if len(self.path_ends) != n or len(self.path_nodes) != self.path_ends[n - 1]:
                raise ValueError(
                    f"paths have {len(self.path_ends)} ends and {len(self.path_nodes)} nodes; they must have {n} ends, "
                    f"one for each output, and the last end be the number of nodes"
                )
            o.path_ends = &self.path_ends[0]
            o.path_nodes = &self.path_nodes[0] if len(self.path_nodes) else NULL
            o.path_turns = &self.path_turns[0] if len(self.path_turns) else NULL
        else:
            self.all = array("I", range(n))
            o.all = &self.all[0]


cdef class ClassifierTraining:
    """Lines of `ids` (see LineRows; `ends` are the ends of lines) to train an objective on."""

    cdef tk_classifier_work work
    cdef tuple kept
    cdef Py_ssize_t lines

    def __init__(
        self, FastTextObjective objective not None, LineRows rows not None, const uint32_t[::1] ids not None,
        const int64_t[::1] ends not None, *, int64_t total, int64_t rate_each, float lr,
    ):
        check_ends(ends, len(ids), "ids")
        if total < 1 or rate_each < 1:
            raise ValueError(f"total is {total} and rate_each {rate_each}; both must be at least 1")
        self.kept, self.lines = (objective, rows, ids, ends), len(ends)
        self.work.model, self.work.rows, self.work.ids, self.work.ends = objective.state, rows.state, &ids[0], &ends[0]
        self.work.total, self.work.rate_each, self.work.lr = total, rate_each, lr

    def run(self, size_t first, size_t n, *, int64_t begun, uint64_t seed, int threads=1, str isa=None):
        """Train on n lines, beginning with the first; return (sum of the losses, how many)."""
        cdef double loss = 0
        cdef int64_t count = 0
        cdef int status, chosen = floats_isa(isa)
        if first + n > <size_t> self.lines:
            raise ValueError(f"lines {first} to {first + n} are out of range; there are {self.lines} lines")
        self.work.begun, self.work.seed = begun, seed
        with nogil:
            status = tk_classifier_train(&self.work, first, n, chosen, max(1, threads), &loss, &count)
        check_sentences(status)
        return loss, count


cdef class FastTextTraining:
    """Sentences of `ids` to train an objective on; the word id has the rows from row_ends[id - 1] to row_ends[id]."""

    cdef tk_fasttext_work work
    cdef tuple kept
    cdef Py_ssize_t sentences
    cdef uint64_t seed

    def __init__(
        self, FastTextObjective objective not None, const int64_t[::1] row_ends not None,
        const uint32_t[::1] rows not None, const float[::1] gain not None, const uint32_t[::1] ids not None,
        const int64_t[::1] ends not None, const uint32_t[::1] keep, *, uint32_t window, bint cbow, bint shrink,
        bint mean, uint64_t seed,
    ):
        cdef tk_fasttext_work *w = &self.work
        check_ends(ends, len(ids), "ids")
        check_ends(row_ends, len(rows), "rows")
        check_row_numbers(rows, objective.input.shape[0])
        if not window:
            raise ValueError("window is 0; it must be at least 1")
        if len(gain) != len(row_ends) or (len(keep) and len(keep) != len(gain)):
            raise ValueError(
                f"there are {len(row_ends)} words, {len(gain)} entries in gain and {len(keep)} in keep; gain must have "
                f"one for each word, keep too unless it is empty"
            )
        self.kept, self.sentences = (objective, row_ends, rows, gain, ids, ends, keep), len(ends)
        w.model, w.row_ends, w.rows, w.gain = objective.state, &row_ends[0], &rows[0], &gain[0]
        w.ids, w.ends, w.keep = &ids[0], &ends[0], &keep[0] if len(keep) else NULL
        w.window, w.cbow, w.shrink, w.mean = window, cbow, shrink, mean
        self.seed = seed

    def run(
        self, Py_ssize_t start, Py_ssize_t stop, *, uint64_t epoch, double alpha, double alpha_fall=0,
        double min_alpha=0, int threads=1, double[::1] tally=None, str isa=None,
    ):
        """Train on sentences start … stop - 1; return how many steps that were, and the sum of their losses.

        The arguments are those of Word2VecTraining.run.
        """
        cdef double loss = 0
        cdef int64_t count = 0
        cdef int status, chosen = floats_isa(isa)
        if not 0 <= start <= stop <= self.sentences:
            raise ValueError(
                f"sentences {start} to {stop} are out of range; there are {self.sentences} sentences"
            )
        if tally is not None and tally.shape[0] < 3:
            raise ValueError(f"tally has {tally.shape[0]} entries; it must have at least 3")
        self.work.alpha, self.work.alpha_fall, self.work.min_alpha = alpha, alpha_fall, min_alpha
        self.work.seed = (self.seed << 20) + epoch
        with nogil:
            status = tk_fasttext_train(&self.work, start, stop - start, chosen, max(1, threads), &loss, &count)
        check_sentences(status)
        if tally is not None:
            tally[0] = stop
            tally[1] += count
            tally[2] += loss
        return count, loss


def row_means(
    const float[:, ::1] matrix not None, const uint32_t[::1] rows not None, const int64_t[::1] ends not None,
    float[:, ::1] out not None, *, int threads=1, str isa=None,
):
    """Write the mean of the rows from ends[i - 1] to ends[i] to out[i], 0 if there are none."""
    cdef int chosen = floats_isa(isa)
    cdef Py_ssize_t n = out.shape[0]
    if len(ends) != n or matrix.shape[1] != out.shape[1] or (n and ends[n - 1] != len(rows)):
        raise ValueError(
            f"there are {len(ends)} ends and {len(rows)} rows, and out has shape {shape_tuple(out.shape, 2)}; it must "
            f"be (ends, {matrix.shape[1]}), and the last end be the number of rows"
        )
    check_row_numbers(rows, matrix.shape[0])
    if not n or not out.shape[1]:
        return
    if not len(rows):
        out[:, :] = 0
        return
    with nogil:
        tk_fasttext_means(&matrix[0, 0], matrix.shape[1], &rows[0], &ends[0], n, &out[0, 0], chosen, max(1, threads))
