"""Packed weights of linear layers and of experts (csrc/nn/linear.h, csrc/nn/experts.h)."""

from cpython.buffer cimport PyBuffer_FillInfo
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint16_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from tokkit._core.text cimport floats_isa, shape_tuple

from tokkit._core.nn.rows import ACTIVATIONS

cdef extern from "isa.h" nogil:
    int TK_ISA_AVX512

cdef extern from "nn/linear.h" nogil:
    ctypedef struct tk_product:
        const tk_linear *l
        const float *x
        const float *residual
        float *y
        size_t m
        ptrdiff_t x_step
        ptrdiff_t y_step
        ptrdiff_t residual_step
        int activation
        int wide
        const uint8_t *x8
        size_t x8_step
        const float *x_scale
        const int32_t *x_zero
    int tk_has_bf16()
    int tk_fast_bf16()
    size_t TK_INT8_MOST_K
    int TK_INT4, TK_INT8
    ctypedef struct tk_blocks:
        const uint8_t *q
        const uint8_t *scales
        const uint8_t *minima
        ptrdiff_t q_column
        ptrdiff_t q_group
        ptrdiff_t scale_column
        ptrdiff_t scale_group
        ptrdiff_t minimum_column
        ptrdiff_t minimum_group
    size_t tk_linear_bytes(size_t n, size_t k, int kind, int minima)
    void tk_linear_over(tk_linear *, void *image, size_t n, size_t k, int kind, int minima)
    void tk_linear_pack(tk_linear *, const float *w, size_t step, const float *bias)
    int tk_linear_put_blocks(tk_linear *, const tk_blocks *, size_t first, size_t columns)
    void tk_linear_read_column(const tk_linear *, size_t c, float *out)
    int tk_linear_run(tk_product *, int isa, int threads)

cdef extern from "large_memory.h" nogil:
    void *tk_table_alloc(size_t bytes)
    void tk_table_free(void *table, size_t bytes)

KINDS = ("float32", "bfloat16", "int8", "int4", "int8-weight-only")  # by the numbers of csrc/nn/linear.h

FUSED = ("identity", "relu", "gelu", "gelu_tanh", "silu", "tanh")


def rounds_bfloat16(isa=None, *, wide=None):
    """Say whether to round rows of x to bfloat16 for weights of bfloat16: if the CPU can multiply that, and faster.

    With wide=False it is enough that the CPU can multiply it; with wide=True rows are never rounded.
    """
    cdef int chosen = floats_isa(isa)
    if wide is None:
        wide = not tk_fast_bf16()
    return chosen == TK_ISA_AVX512 and not wide and bool(tk_has_bf16())


cdef int contiguous(Py_ssize_t columns, Py_ssize_t step, Py_ssize_t row_step, object name) except -1:
    if columns > 1 and step != sizeof(float):
        raise ValueError(f"the rows of {name} have a stride of {step} bytes from item to item; they must be contiguous")
    if row_step % <Py_ssize_t> sizeof(float):
        raise ValueError(f"the rows of {name} are {row_step} bytes apart; that must be a multiple of {sizeof(float)}")
    return 0


cdef int fused(object activation) except -1:
    # The number of an activation that a product of matrices applies at its end.
    if activation not in FUSED:
        raise ValueError(f"activation is {activation!r}; it must be one of {', '.join(FUSED)}")
    return ACTIVATIONS.index(activation)


cdef int check_bias(const float[::1] bias, size_t n) except -1:
    if bias is not None and <size_t> bias.shape[0] != n:
        raise ValueError(f"bias has {bias.shape[0]} entries; it must have one for each of {n} outputs")
    return 0


cdef int check_int8(size_t k) except -1:
    if k > TK_INT8_MOST_K:
        raise ValueError(f"int8 weights have {k} inputs; there must be at most {TK_INT8_MOST_K}")
    return 0


cdef class LargeMemory:
    """Memory for matrices, one after another in chunks of some bytes, in huge pages if the system has them.

    All of it is freed with the last matrix in it. The unused part of a chunk is never touched.
    """

    def __cinit__(self, size_t chunk=16 << 20):
        self.blocks = []
        self.chunk = chunk
        self.left = 0
        self.next = NULL

    cdef void *take(self, size_t n_bytes) except NULL:
        """Return zeroed memory, aligned to 64 bytes; its size is a multiple of 64."""
        cdef void *made
        cdef size_t size
        if n_bytes > self.left:
            size = max(n_bytes, self.chunk)
            made = tk_table_alloc(size)
            if made is NULL:
                raise MemoryError()
            self.blocks.append((<size_t> made, size))
            self.next, self.left = <uint8_t *> made, size
        made = self.next
        self.next += n_bytes
        self.left -= n_bytes
        return made

    def __dealloc__(self):
        for address, size in self.blocks or ():
            tk_table_free(<void *> <size_t> address, size)


cdef class PackedLinear:
    """W (n, k) and bias (n), packed: immutable, so that threads can share it.

    Its buffer has its bytes, from which `over` makes it again. They are in `memory` if given, else in its own memory.
    """

    def __cinit__(self, *args, **options):
        self.packed = &self.linear

    def __init__(self, const float[:, ::1] weight not None, const float[::1] bias=None, kind="float32", *,
                 LargeMemory memory=None):
        cdef const float *b = NULL
        cdef const float *w = NULL
        cdef size_t n = weight.shape[0], k = weight.shape[1]
        check_bias(bias, n)
        if bias is not None and n:
            b = &bias[0]
        self.begin(n, k, KINDS.index(kind), False, memory)
        if n and k:
            w = &weight[0, 0]
        if n:
            with nogil:
                tk_linear_pack(&self.linear, w, k, b)

    cdef int begin(self, size_t n, size_t k, int kind, bint minima, LargeMemory memory) except -1:
        cdef size_t size = tk_linear_bytes(n, k, kind, minima)
        if self.owner is not None:
            raise ValueError("this matrix is packed already, and cannot change; make a new PackedLinear instead")
        if kind == TK_INT8:
            check_int8(k)
        if not size:
            raise MemoryError()
        if memory is None:
            memory = LargeMemory(size)
        tk_linear_over(&self.linear, memory.take(size), n, k, kind, minima)
        self.owner = memory
        return 0

    @classmethod
    def of_blocks(cls, parts not None, kind not None, const float[::1] bias=None, *, LargeMemory memory=None):
        """Return a matrix in groups of 32 inputs, of numbers that are already quantized.

        `parts` are matrices to stack, each (q, scales, minima or None); all of them have minima, or none, and
        the same groups g = ceil(k / 32); k is a multiple of 32. The weights of column c and group g are, for i of 0 …
        31,

        - of "int4": q uint8 (n, g, 16), input i < 16 in the low half of byte i, input i + 16 in its high half: the
          order of GGUF's Q4_0. scales[c, g] * (q - 8) without minima, scales[c, g] * q - minima[c, g] with them;
        - of "int8-weight-only": q int8 (n, g, 32): scales[c, g] * q, less minima[c, g] if there are any.

        scales and minima are float16 (n, g), finite. The last axis of q is contiguous; otherwise strides are free, so
        that a view of mapped blocks can be given. `bias` is of all parts. ValueError says what does not fit.
        """
        cdef const uint8_t[:, :, :] q
        cdef const uint16_t[:, :] scales, minima
        cdef tk_blocks blocks
        cdef int number = KINDS.index(kind), status = 0
        cdef size_t n = 0, k, first = 0, rows, groups
        cdef PackedLinear made = cls.__new__(cls)
        if number < TK_INT4:
            raise ValueError(f"kind is {kind!r}; it must be one with groups, {' or '.join(KINDS[TK_INT4:])}")
        listed = [(each.view("u1"), s.view("u2"), None if m is None else m.view("u2")) for each, s, m in parts]
        groups = listed[0][0].shape[1]
        k = groups * 32
        for each, s, m in listed:
            n += each.shape[0]
            if each.shape[1:] != (groups, 16 if number == TK_INT4 else 32) or s.shape != each.shape[:2]:
                raise ValueError(
                    f"q has shape {each.shape} and scales {s.shape}; they must be (n, {groups}, "
                    f"{16 if number == TK_INT4 else 32}) and (n, {groups})"
                )
            if (m is None) != (listed[0][2] is None):
                raise ValueError("some parts have minima and some None; all must have minima, or none")
            if m is not None and m.shape != s.shape:
                raise ValueError(f"minima has shape {m.shape}; it must have the same as scales, {s.shape}")
        check_bias(bias, n)
        made.begin(n, k, number, listed[0][2] is not None, memory)
        for each, s, m in listed:
            q, scales = each, s
            rows = q.shape[0]
            if not rows or not groups:
                continue
            if q.strides[2] != 1:
                raise ValueError(f"the last axis of q has a stride of {q.strides[2]} bytes; it must be contiguous")
            blocks = tk_blocks(&q[0, 0, 0], <const uint8_t *> &scales[0, 0], NULL, q.strides[0], q.strides[1],
                               scales.strides[0], scales.strides[1], 0, 0)
            if m is not None:
                minima = m
                blocks.minima = <const uint8_t *> &minima[0, 0]
                blocks.minimum_column, blocks.minimum_group = minima.strides[0], minima.strides[1]
            with nogil:
                status = tk_linear_put_blocks(&made.linear, &blocks, first, rows)
            if status:
                raise ValueError("a scale or a minimum is infinite or NaN; all must be finite float16 numbers")
            first += rows
        made.put_bias(bias)
        return made

    cdef int put_bias(self, const float[::1] bias) except -1:
        if bias is not None and bias.shape[0]:
            memcpy(self.linear.bias, &bias[0], bias.shape[0] * sizeof(float))
        return 0

    @classmethod
    def over(cls, const uint8_t[::1] image not None, size_t n, size_t k, kind not None, bint minima=False):
        """Return the matrix with the bytes of `image`, which must not change; no copy if it is aligned to 64 bytes."""
        cdef PackedLinear made = cls.__new__(cls)
        cdef int number = KINDS.index(kind)
        cdef size_t size = tk_linear_bytes(n, k, number, minima)
        if not size or size != <size_t> image.shape[0]:
            raise ValueError(
                f"image has {image.shape[0]} bytes; a matrix {(n, k)} of kind {kind!r} must have {size}"
            )
        if <size_t> &image[0] % 64:
            made.begin(n, k, number, minima, None)
            memcpy(made.linear.weights, &image[0], size)
        else:
            if number == TK_INT8:
                check_int8(k)
            tk_linear_over(&made.linear, <void *> &image[0], n, k, number, minima)
            made.owner = image
        return made

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        cdef size_t size = tk_linear_bytes(self.linear.n, self.linear.k, self.linear.kind, self.linear.minima)
        PyBuffer_FillInfo(buffer, self, self.linear.weights, size if self.owner is not None else 0, True, flags)

    @property
    def shape(self):
        """(n, k): columns of y, columns of x."""
        return self.packed.n, self.packed.k

    @property
    def kind(self):
        """How the weights are stored: one of KINDS."""
        return KINDS[self.packed.kind]

    @property
    def minima(self):
        """Whether groups have minima."""
        return bool(self.packed.minima)

    def read(self, const int64_t[::1] rows not None, float[:, ::1] out not None):
        """Write rows of W as they are stored to out (rows, k), for weights in groups."""
        cdef Py_ssize_t i
        if self.packed.kind < TK_INT4:
            raise ValueError(f"the weights are {self.kind}; only {' and '.join(KINDS[TK_INT4:])} can be read by rows")
        if out.shape[0] != rows.shape[0] or <size_t> out.shape[1] != self.packed.k:
            raise ValueError(f"out has shape {shape_tuple(out.shape, 2)}; it must be {(rows.shape[0], self.packed.k)}")
        for i in range(rows.shape[0]):
            if not 0 <= rows[i] < <int64_t> self.packed.n:
                raise IndexError(f"rows[{i}] is {rows[i]}; it must be from 0 to {<int64_t> self.packed.n - 1}")
        if self.packed.k:
            with nogil:
                for i in range(rows.shape[0]):
                    tk_linear_read_column(self.packed, rows[i], &out[i, 0])

    def run(self, const float[:, :] x not None, float[:, :] y not None, *, activation="identity",
            const float[:, :] residual=None, int threads=1, isa=None, wide=None):
        """Write activation(x Wᵀ + bias) + residual to y (m, n), for x (m, k); `wide` is as in rounds_bfloat16."""
        cdef tk_product p
        cdef int status, chosen = floats_isa(isa)
        p.activation = fused(activation)
        if <size_t> x.shape[1] != self.packed.k or <size_t> y.shape[1] != self.packed.n or x.shape[0] != y.shape[0]:
            raise ValueError(
                f"x has shape {shape_tuple(x.shape, 2)}, y {shape_tuple(y.shape, 2)} and the weights {self.shape}; "
                f"they must be (m, k), (m, n) and (n, k)"
            )
        contiguous(x.shape[1], x.strides[1], x.strides[0], "x")
        contiguous(y.shape[1], y.strides[1], y.strides[0], "y")
        p.l, p.m = self.packed, x.shape[0]
        p.wide = 0 if wide is None else 1 if wide else -1
        p.residual = NULL
        p.residual_step = 0
        if not (p.m and self.packed.n):
            return
        p.y = &y[0, 0]
        p.x = &x[0, 0] if self.packed.k else p.y  # then it is not read
        p.x_step, p.y_step = x.strides[0] // <Py_ssize_t> sizeof(float), y.strides[0] // <Py_ssize_t> sizeof(float)
        if residual is not None:
            if residual.shape[0] != y.shape[0] or residual.shape[1] != y.shape[1]:
                raise ValueError(
                    f"residual has shape {shape_tuple(residual.shape, 2)}; it must have the same as y, "
                    f"{shape_tuple(y.shape, 2)}"
                )
            contiguous(residual.shape[1], residual.strides[1], residual.strides[0], "residual")
            p.residual, p.residual_step = &residual[0, 0], residual.strides[0] // <Py_ssize_t> sizeof(float)
        with nogil:
            status = tk_linear_run(&p, chosen, max(1, threads))
        if status:
            raise MemoryError()


# A feed-forward of experts that a router chooses for each row (csrc/nn/experts.h).


cdef class PackedExperts:
    """A router and the (up, down) pairs of experts; each row goes through the best `top` of them. Immutable.

    `shared` is (up, down) of an expert for all rows, and `shared_gate` (1, dim) weights it. With a gate in the
    feed-forward, the rows of each `up` are first those of the gate, then its own.
    """

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
