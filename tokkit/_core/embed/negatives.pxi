# The table that draws negative samples (csrc/embed/negatives.h).

cdef extern from "embed/random.h" nogil:
    ctypedef struct tk_random:
        pass
    tk_random tk_random_of(uint64_t seed, uint64_t which)

cdef extern from "embed/negatives.h" nogil:
    int TK_NEGATIVE_BITS
    ctypedef struct tk_negatives:
        const uint32_t *cumulated
        const uint32_t *guide
        int shift
    uint32_t tk_negative(const tk_negatives *, tk_random *)


cdef class Negatives:
    """Draws words by weight: `cumulated` increases to 2**31; word i has the draws from cumulated[i - 1] on."""

    cdef const uint32_t[::1] cumulated
    cdef uint32_t[::1] guide
    cdef tk_negatives table
    cdef readonly bint falling  # no word has a greater weight than the one before

    def __cinit__(self, const uint32_t[::1] cumulated, uint32_t[::1] guide):
        cdef size_t i, bucket = 0, n = cumulated.shape[0], buckets = guide.shape[0]
        cdef uint32_t weight, before = <uint32_t> 1 << TK_NEGATIVE_BITS
        cdef int shift = TK_NEGATIVE_BITS
        if not n or cumulated[n - 1] != <uint32_t> 1 << TK_NEGATIVE_BITS:
            raise ValueError(
                f"cumulated has {n} entries and ends with {cumulated[n - 1] if n else 'none'}; the last must be 2**31"
            )
        if not buckets or buckets & (buckets - 1) or buckets > <size_t> 1 << TK_NEGATIVE_BITS:
            raise ValueError(f"guide has {buckets} entries; their number must be a power of two, at most 2**31")
        while <size_t> 1 << (TK_NEGATIVE_BITS - shift) < buckets:
            shift -= 1
        self.falling = True
        for i in range(n):
            if i and cumulated[i] < cumulated[i - 1]:
                raise ValueError(f"cumulated falls from {cumulated[i - 1]} to {cumulated[i]}; it must not decrease")
            weight = cumulated[i] - cumulated[i - 1] if i else cumulated[0]
            self.falling = self.falling and weight <= before + 1  # 1: weights are rounded
            before = weight
            while bucket < buckets and bucket << shift < cumulated[i]:
                guide[bucket] = i
                bucket += 1
        self.cumulated, self.guide = cumulated, guide
        self.table.cumulated, self.table.guide, self.table.shift = &cumulated[0], &guide[0], shift

    def draw(self, uint32_t[::1] out, uint64_t seed):
        """Fill `out` with draws of the random generator 0 of a seed."""
        cdef tk_random random = tk_random_of(seed, 0)
        cdef Py_ssize_t i
        for i in range(out.shape[0]):
            out[i] = tk_negative(&self.table, &random)
