"""Times an encoder up to one of its stages, and measures the clock of the CPU: for benchmarks."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memset

from tokkit._core.base cimport TK_OK
from tokkit._core.encode.bpe cimport BPEEncoder
from tokkit._core.encode.plan cimport (
    TK_STAGE_SCAN, Worker, check, tk_bpe, tk_encode_stage, tk_plan, tk_plan_bytes, tk_worker,
)
from tokkit._core.split cimport split_of
from tokkit._core.text cimport tk_dfa_memo_free

import threading
import time

from tokkit._core.text import to_utf8, use_isa

cdef extern from "cycles.h" nogil:
    int TK_CHAIN_CYCLES
    void tk_chain(uint64_t steps, volatile uint64_t *end)

STAGES = ("scan", "keys", "probe", "emit", "all")  # by the numbers of csrc/encode/plan.h; each includes those before it
CHAIN_STEPS = 1 << 21                              # about a millisecond
CHAIN_RUNS = 9                                     # the fastest run counts: disturbances only make a run slower


def clock_hertz() -> float:
    """Return the measured clock rate of this core, in cycles per second: what the system reports is often wrong."""
    cdef uint64_t steps = CHAIN_STEPS
    cdef volatile uint64_t end = 1
    best = float("inf")
    for _ in range(CHAIN_RUNS):
        start = time.perf_counter()
        with nogil:
            tk_chain(steps, &end)
        best = min(best, time.perf_counter() - start)
    return TK_CHAIN_CYCLES * steps / best


def scan_seconds(split, texts, *, isa=None) -> tuple:
    """Return (seconds, pretokens) of cutting texts; `split` numbers a scanner or is compiled.

    Dropped spans count as pretokens, and `isa` is as in `StageTimer.run`. The ends are not copied to an array, because
    that takes longer than to find them: benchmarks.bench_pretokenize compares scanners this way.
    """
    cdef tk_plan plan
    cdef tk_bpe none
    cdef tk_worker scratch
    cdef size_t pieces = 0, n
    cdef const uint8_t *p
    cdef bytes text
    cdef list ready = list(map(to_utf8, texts))
    memset(&plan, 0, sizeof(plan))
    memset(&none, 0, sizeof(none))
    tk_plan_bytes(&plan, &none, split_of(split), NULL, 0)
    memset(&scratch, 0, sizeof(scratch))  # a scan needs neither a vocabulary nor a cache
    use_isa(isa)
    try:
        start = time.perf_counter()
        for text in ready:
            p = <const uint8_t *> <const char *> text
            n = len(text)
            with nogil:
                tk_encode_stage(&plan, &scratch, p, n, TK_STAGE_SCAN, &pieces)
            PyErr_CheckSignals()
        return time.perf_counter() - start, pieces
    finally:
        tk_dfa_memo_free(&scratch.memo)
        use_isa(None)


cdef class StageTimer:
    """Times the stages of encoding, each with all stages before it: the difference is what a stage costs.

    scan: find the ends of the pretokens. keys: compute their keys, and prefetch their cache lines. probe: look the keys
    up. emit: write the ids found there. all: encode, also what is not in the first line of the cache.
    Texts become UTF-8 before the clock starts; nothing is copied to a result.
    """

    cdef BPEEncoder encoder
    cdef list texts
    cdef Worker warm
    cdef object lock

    def __init__(self, BPEEncoder encoder not None, texts):
        self.encoder = encoder
        self.texts = list(map(to_utf8, texts))
        self.warm = Worker(encoder)
        self.lock = threading.Lock()
        self.run("all")

    def run(self, stage, *, isa=None, fresh=False) -> tuple:
        """Return (seconds, pretokens, ids): all texts up to `stage`, with a cache that has seen them, or a `fresh` one.

        `isa` names one of `text.isas()`; during the call the whole process encodes with it. Pretokens are counted up to
        the stage "emit", with dropped spans; ids are counted from "probe" on.
        ValueError: an unknown stage, or an instruction set that the machine does not have.
        """
        if stage not in STAGES:
            raise ValueError(f"stage is {stage!r}; it must be one of {', '.join(STAGES)}")
        cdef int number = STAGES.index(stage)
        with self.lock:
            use_isa(isa)
            try:
                return self.timed(Worker(self.encoder) if fresh else self.warm, number)
            finally:
                use_isa(None)

    cdef object timed(self, Worker worker, int stage):
        cdef tk_worker *w = &worker.state
        cdef size_t pieces = 0, ids = 0, n
        cdef const uint8_t *p
        cdef bytes text
        cdef int status = TK_OK
        start = time.perf_counter()
        for text in self.texts:
            p = <const uint8_t *> <const char *> text
            n = len(text)
            w.n_ids = 0
            with nogil:
                status = tk_encode_stage(&self.encoder.plan, w, p, n, stage, &pieces)
            check(status)
            ids += w.n_ids
            PyErr_CheckSignals()
        seconds = time.perf_counter() - start
        worker.shrink()
        return seconds, pieces, ids
