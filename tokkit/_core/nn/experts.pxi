# A feed-forward of experts that a router chooses for each row (csrc/nn/experts.h).

from libc.stddef cimport size_t
from libc.stdlib cimport calloc, free

cdef extern from "nn/experts.h" nogil:
    ctypedef struct tk_expert:
        const tk_linear *up
        const tk_linear *down
    ctypedef struct tk_experts:
        const tk_linear *router
        const tk_expert *experts
        size_t n
        size_t top
        size_t hidden
        int renormalize
        tk_expert shared
        const tk_linear *shared_gate
        size_t shared_hidden


cdef class PackedExperts:
    """A router and the (up, down) pairs of experts; each row goes through the best `top` of them. Immutable.

    `shared` is (up, down) of an expert for all rows, and `shared_gate` (1, dim) weights it. With a gate in the
    feed-forward, the rows of each `up` are first those of the gate, then its own.
    """

    cdef tk_experts experts
    cdef tk_expert *pairs
    cdef list kept  # keeps alive what the pairs point to

    def __cinit__(self, PackedLinear router not None, pairs not None, *, size_t top, bint gated, bint renormalize=True,
                  shared=None, PackedLinear shared_gate=None):
        cdef size_t i, n = len(pairs), dim = router.shape[1]
        self.kept = [router, shared_gate]
        self.pairs = <tk_expert *> calloc(n + 1, sizeof(tk_expert))
        if self.pairs is NULL:
            raise MemoryError()
        if not 1 <= top <= n or router.shape[0] != n:
            raise ValueError(
                f"the router has {router.shape[0]} rows, top is {top}, and there are {n} experts; the router must have "
                f"one row for each expert, and top be from 1 to {n}"
            )
        self.experts.hidden = pairs[0][1].shape[1]
        for i in range(n):
            self.pairs[i] = self.pair(pairs[i], dim, self.experts.hidden, gated)
        self.experts.router, self.experts.experts, self.experts.n, self.experts.top = router.packed, self.pairs, n, top
        self.experts.renormalize = renormalize
        if shared is not None:
            self.experts.shared_hidden = shared[1].shape[1]
            self.experts.shared = self.pair(shared, dim, self.experts.shared_hidden, gated)
            if shared_gate is not None:
                if shared_gate.shape != (1, dim):
                    raise ValueError(f"shared_gate has shape {shared_gate.shape}; it must be {(1, dim)}")
                self.experts.shared_gate = shared_gate.packed

    cdef tk_expert pair(self, both, size_t dim, size_t hidden, bint gated) except *:
        cdef PackedLinear up = both[0], down = both[1]
        if up.shape != (hidden * (2 if gated else 1), dim) or down.shape != (dim, hidden) or not hidden:
            raise ValueError(
                f"up and down of an expert have shapes {up.shape} and {down.shape}; they must be "
                f"{(hidden * (2 if gated else 1), dim)} and {(dim, hidden)}, and not empty"
            )
        self.kept.append((up, down))
        return tk_expert(up.packed, down.packed)

    @property
    def dim(self):
        """The number of columns of x."""
        return self.kept[0].shape[1]

    def __dealloc__(self):
        free(self.pairs)
