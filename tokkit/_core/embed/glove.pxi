# Training of GloVe's vectors, without the GIL (csrc/embed/glove.h).

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t

from tokkit._core.nn cimport tk_isa_of_floats
from tokkit._core.text cimport chosen_isa, isa_number, shape_tuple

cdef extern from "embed/glove.h" nogil:
    ctypedef struct tk_glove_record:
        uint32_t word
        uint32_t context
        float log_count
        float weight
    ctypedef struct tk_glove_work:
        const tk_glove_record *records
        size_t n
        float *words
        float *contexts
        const float *word_rates
        const float *context_rates
        size_t step
    double tk_glove_run(const tk_glove_work *, int isa, int threads)


def train_glove(
    const uint8_t[::1] records,
    float[:, :, ::1] words,
    float[:, :, ::1] contexts,
    const float[:, ::1] rates,
    double[::1] tally,
    *,
    int threads=1,
    str isa=None,
):
    """Train on records (16 bytes each), whose ids are below the rows of words and contexts.

    Their number and the sum of their losses are added to tally[0] and tally[1] before a signal handler can raise.
    ValueError if the arrays do not fit.
    """
    cdef tk_glove_work w
    cdef int chosen = tk_isa_of_floats(chosen_isa() if isa is None else isa_number(isa))
    cdef Py_ssize_t step = rates.shape[1]
    cdef double loss
    if not records.shape[0]:
        return
    if words.shape[1] != 2 or words.shape[2] != step or contexts.shape[1] != 2 or contexts.shape[2] != step:
        raise ValueError(
            f"words has shape {shape_tuple(words.shape, 3)} and contexts {shape_tuple(contexts.shape, 3)}; both must "
            f"be (n, 2, {step}), where rates has {step} columns"
        )
    if rates.shape[0] != 2 or not step or step % 16 or not words.shape[0] or not contexts.shape[0]:
        raise ValueError(
            f"rates has shape {shape_tuple(rates.shape, 2)}; it must be (2, a multiple of 16), and words and contexts "
            f"not be empty"
        )
    if records.shape[0] % sizeof(tk_glove_record):
        raise ValueError(f"records has {records.shape[0]} bytes; it must have a multiple of {sizeof(tk_glove_record)}")
    if tally.shape[0] < 2:
        raise ValueError(f"tally has {tally.shape[0]} entries; it must have at least 2")
    w.records, w.n = <const tk_glove_record *>&records[0], records.shape[0] // sizeof(tk_glove_record)
    w.words, w.contexts = &words[0, 0, 0], &contexts[0, 0, 0]
    w.word_rates, w.context_rates, w.step = &rates[0, 0], &rates[1, 0], step
    with nogil:
        loss = tk_glove_run(&w, chosen, max(1, threads))
    tally[0] += w.n
    tally[1] += loss
