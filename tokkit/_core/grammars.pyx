"""Which ids a grammar allows."""

from libc.stdint cimport int64_t, uint32_t, uint8_t

from tokkit._core.base cimport TK_NO_MEMORY, TK_OK


import threading
import weakref

import numpy as np

cdef extern from "grammars/token_masks.h" nogil:
    uint32_t TK_DEAD, TK_NOT_COMPUTED, TK_NO_RULE

    ctypedef struct tk_network:
        const uint32_t *first_edge
        const uint32_t *first_jump
        const uint8_t *low
        const uint8_t *high
        const uint32_t *target
        const uint32_t *entry
        const uint32_t *resume
        const uint8_t *ends
        size_t n_nodes
        uint32_t start
        const uint8_t *class_of
        const uint8_t *example
        unsigned n_classes
    ctypedef struct tk_state:
        uint8_t accepts
    ctypedef struct tk_machine:
        tk_state *states
        size_t n_states
        uint32_t start
        int status
    ctypedef struct tk_token_tries:
        size_t n_bits
    int tk_machine_init(tk_machine *machine, const tk_network *network, size_t max_bytes)
    void tk_machine_free(tk_machine *machine)
    size_t tk_machine_bytes(const tk_machine *machine)
    int tk_machine_keep(tk_machine *machine, uint32_t *live, size_t n)
    uint32_t tk_machine_step(tk_machine *machine, uint32_t state, uint8_t byte)
    int tk_token_tries_build(
        tk_token_tries *tries, const uint8_t *blob, const int64_t *offsets, const uint32_t *ids, size_t n, size_t n_bits
    )
    void tk_token_tries_free(tk_token_tries *tries)
    int tk_allowed_tokens(tk_machine *machine, const tk_token_tries *tries, uint32_t state, int first, uint8_t *bits)
    void tk_mask_logits(float *logits, size_t n, const uint8_t *bits, size_t n_bits)

NO_RULE = TK_NO_RULE


cdef int check_status(int status) except -1:
    if status == TK_NO_MEMORY:
        raise MemoryError
    if status != TK_OK:
        raise OverflowError("a limit of the core is exceeded")
    return 0


def rises(array) -> bool:
    """Return whether an array begins at 0 and never falls."""
    array = np.asarray(array, dtype=np.int64)
    return len(array) > 0 and array[0] == 0 and bool((np.diff(array) >= 0).all())


cdef class TokenTries:
    """The bytes of tokens, as tries. `tokens` are those of `ids` (uint32), sorted; masks have `n_words` of 32 bits."""

    cdef tk_token_tries tries
    cdef readonly size_t n_words

    def __cinit__(self, tokens, const uint32_t[::1] ids, size_t n_words):
        cdef bytes blob = b"".join(tokens)
        cdef int64_t[::1] offsets = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
        cdef size_t n = len(tokens)
        if <size_t> ids.shape[0] != n or (n and np.max(ids) >= 32 * n_words):
            raise ValueError(
                f"there are {ids.shape[0]} ids for {n} tokens, and the maximum is {np.max(ids) if len(ids) else None}; "
                f"there must be one for each token, below the {32 * n_words} bits of a mask"
            )
        self.n_words = n_words
        check_status(tk_token_tries_build(
            &self.tries, <const uint8_t *> <const char *> blob, &offsets[0], &ids[0] if n else NULL, n, 32 * n_words
        ))

    def __dealloc__(self):
        tk_token_tries_free(&self.tries)


cdef class GrammarMachine:
    """The states of a grammar, made as texts need them, and the tokens that each allows. Threads may share it.

    The arrays are those of csrc/grammars/network.h. `first` are the tokens that decode to other bytes at the start of
    a text. When the states take more than half of `max_bytes`, all but those of cursors are discarded.
    OverflowError if one step needs more than that.
    """

    cdef tk_network network
    cdef tk_machine machine
    cdef TokenTries tries
    cdef TokenTries first
    cdef size_t max_bytes
    cdef object arrays
    cdef object cursors
    cdef readonly object lock

    def __cinit__(
        self, TokenTries tries not None, TokenTries first, const uint32_t[::1] first_edge,
        const uint32_t[::1] first_jump, const uint8_t[::1] low, const uint8_t[::1] high, const uint32_t[::1] target,
        const uint32_t[::1] entry, const uint32_t[::1] resume, const uint8_t[::1] ends, uint32_t start,
        const uint8_t[::1] class_of, const uint8_t[::1] example, *, size_t max_bytes,
    ):
        cdef tk_network *net = &self.network
        cdef size_t n = ends.shape[0], n_edges = target.shape[0], n_jumps = entry.shape[0]
        rules = np.asarray(entry)[np.asarray(entry) != TK_NO_RULE]
        nodes = np.concatenate([np.asarray(target), np.asarray(resume), rules, [start]])
        if (not (rises(first_edge) and rises(first_jump))
                or <size_t> first_edge.shape[0] != n + 1 or <size_t> first_jump.shape[0] != n + 1
                or first_edge[n] != n_edges or first_jump[n] != n_jumps or <size_t> low.shape[0] != n_edges
                or <size_t> high.shape[0] != n_edges or <size_t> resume.shape[0] != n_jumps
                or nodes.max() >= n or class_of.shape[0] != 256
                or np.max(class_of) >= example.shape[0]):
            raise ValueError(
                f"the arrays of a network of {n} nodes, {n_edges} edges and {n_jumps} jumps are inconsistent in their "
                f"lengths, or have a number out of range (see csrc/grammars/network.h)"
            )
        if first is not None and first.n_words != tries.n_words:
            raise ValueError(
                f"masks of first have {first.n_words} words and those of tries {tries.n_words}; they must be equal"
            )
        self.arrays = first_edge, first_jump, low, high, target, entry, resume, ends, class_of, example
        net.first_edge, net.first_jump, net.ends = &first_edge[0], &first_jump[0], &ends[0]
        if n_edges:
            net.low, net.high, net.target = &low[0], &high[0], &target[0]
        if n_jumps:
            net.entry, net.resume = &entry[0], &resume[0]
        net.n_nodes, net.start = n, start
        net.class_of, net.example, net.n_classes = &class_of[0], &example[0], example.shape[0]
        self.tries, self.first, self.max_bytes = tries, first, max_bytes
        self.cursors = weakref.WeakSet()
        self.lock = threading.Lock()
        check_status(tk_machine_init(&self.machine, net, max_bytes))

    def __dealloc__(self):
        tk_machine_free(&self.machine)

    @property
    def n_bytes(self) -> int:
        """How many bytes states and masks take."""
        return tk_machine_bytes(&self.machine)

    @property
    def n_states(self) -> int:
        """The number of states made so far."""
        return self.machine.n_states

    def cursor(self) -> GrammarCursor:
        """Return a cursor at the start of a text."""
        with self.lock:
            return self.placed(self.machine.start, self.first is not None)

    cdef GrammarCursor placed(self, uint32_t state, bint at_start):
        cdef GrammarCursor made = GrammarCursor.__new__(GrammarCursor)
        made.machine, made.state, made.at_start = self, state, at_start
        self.cursors.add(made)
        return made

    cdef int make_room(self) except -1:
        # Before a step, so that only cursors use states.
        cdef size_t k
        cdef GrammarCursor cursor
        if tk_machine_bytes(&self.machine) <= self.max_bytes // 2:
            return 0
        live = list(self.cursors)
        cdef uint32_t[::1] states = np.array([(<GrammarCursor> each).state for each in live], dtype=np.uint32)
        check_status(tk_machine_keep(&self.machine, &states[0], len(live)))
        for k in range(<size_t> len(live)):
            cursor = live[k]
            cursor.state = states[k]
        return 0


cdef class GrammarCursor:
    """A position in a text that a grammar describes; `GrammarMachine.cursor` and `copy` make it."""

    cdef GrammarMachine machine
    cdef uint32_t state
    cdef bint at_start
    cdef object __weakref__

    @property
    def accepts(self) -> bool:
        """Whether the text may end here."""
        with self.machine.lock:
            return self.machine.machine.states[self.state].accepts != 0

    def copy(self) -> GrammarCursor:
        """Return another cursor at the same position."""
        with self.machine.lock:
            return self.machine.placed(self.state, self.at_start)

    def advance(self, bytes text) -> int:
        """Advance by bytes; return how many of them the grammar allows. If not all, the position does not change."""
        cdef const uint8_t *p = <const uint8_t *> <const char *> text
        cdef size_t n = len(text), k
        cdef tk_machine *machine = &self.machine.machine
        cdef uint32_t state
        with self.machine.lock:
            self.machine.make_room()
            state = self.state
            for k in range(n):
                state = tk_machine_step(machine, state, p[k])
                if state == TK_NOT_COMPUTED:
                    check_status(machine.status)
                if state == TK_DEAD:
                    return k
            self.state, self.at_start = state, self.at_start and n == 0
            return n

    def allowed(self):
        """Return which tokens may come next: uint32 words, bit i % 32 of word i // 32 for id i."""
        cdef TokenTries tries = self.machine.first if self.at_start else self.machine.tries
        made = np.empty(tries.n_words, dtype="<u4")
        cdef uint8_t[::1] bits = made.view(np.uint8)
        with self.machine.lock:
            self.machine.make_room()
            check_status(tk_allowed_tokens(
                &self.machine.machine, &tries.tries, self.state, self.at_start, &bits[0] if bits.shape[0] else NULL
            ))
        return made


def mask_logits(float[::1] logits not None, words not None):
    """Set the logits of ids without a bit in `words`, as `allowed` returns them, to -infinity."""
    cdef const uint8_t[::1] bits = np.ascontiguousarray(words, dtype="<u4").view(np.uint8)
    if logits.shape[0]:
        tk_mask_logits(&logits[0], logits.shape[0], &bits[0] if bits.shape[0] else NULL, 8 * bits.shape[0])
