# Linear layers with packed weights, without the GIL (csrc/nn/linear.h).

from libc.stddef cimport size_t

from tokkit._core.text cimport chosen_isa, isa_number

KINDS = ("float32", "bfloat16", "int8")  # by the numbers of csrc/nn/linear.h
FUSED = ("identity", "relu", "gelu", "gelu_tanh", "silu", "tanh")


def rounds_bfloat16(isa=None):
    """Tell whether rows of x are rounded to bfloat16 where the weights are: the CPU multiplies that."""
    cdef int chosen = ISA if isa is None else tk_isa_of_floats(isa_number(isa))
    return chosen == TK_ISA_AVX512 and bool(tk_has_bf16())


cdef int contiguous(Py_ssize_t columns, Py_ssize_t step, Py_ssize_t row_step, object name) except -1:
    if columns > 1 and step != sizeof(float):
        raise ValueError(f"the rows of {name} are not contiguous")
    if row_step % <Py_ssize_t> sizeof(float):
        raise ValueError(f"the rows of {name} are no whole items apart")
    return 0


cdef class PackedLinear:
    """W (n, k) and bias (n), packed: immutable, so that threads can share it."""

    def __cinit__(self, const float[:, ::1] weight not None, const float[::1] bias=None, kind="float32"):
        cdef const float *b = NULL
        cdef const float *w = NULL
        cdef size_t n = weight.shape[0], k = weight.shape[1]
        cdef int number = KINDS.index(kind)
        if bias is not None:
            if <size_t> bias.shape[0] != n:
                raise ValueError("bias does not fit")
            if n:
                b = &bias[0]
        if kind == "int8" and k > TK_INT8_MOST_K:
            raise ValueError(f"int8 weights have at most {TK_INT8_MOST_K} inputs, not {k}")
        if n and k:
            w = &weight[0, 0]
        with nogil:
            self.packed = tk_linear_new(w, k, n, k, b, number)
        if self.packed is NULL:
            raise MemoryError()

    def __dealloc__(self):
        tk_linear_free(self.packed)

    @property
    def shape(self):
        """(n, k): columns of y, columns of x."""
        return self.packed.n, self.packed.k

    @property
    def kind(self):
        """How the weights are stored: "float32", "bfloat16" or "int8"."""
        return KINDS[self.packed.kind]

    def run(self, const float[:, :] x not None, float[:, :] y not None, *, activation="identity",
            const float[:, :] residual=None, int threads=1, isa=None, bint wide=False):
        """Write activation(x Wᵀ + bias) + residual to y (m, n), for x (m, k); `wide` is for bfloat16: see csrc."""
        cdef tk_product p
        cdef int status, chosen = ISA if isa is None else tk_isa_of_floats(isa_number(isa))
        if activation not in FUSED:
            raise ValueError(f"activation is one of {', '.join(FUSED)}, not {activation!r}")
        if <size_t> x.shape[1] != self.packed.k or <size_t> y.shape[1] != self.packed.n or x.shape[0] != y.shape[0]:
            raise ValueError("x, y and the weights do not fit")
        contiguous(x.shape[1], x.strides[1], x.strides[0], "x")
        contiguous(y.shape[1], y.strides[1], y.strides[0], "y")
        p.l, p.m, p.wide = self.packed, x.shape[0], wide
        p.activation = ACTIVATIONS.index(activation)
        p.residual = NULL
        p.residual_step = 0
        if not (p.m and self.packed.n):
            return
        p.y = &y[0, 0]
        p.x = &x[0, 0] if self.packed.k else p.y  # nothing is read of it then
        p.x_step, p.y_step = x.strides[0] // <Py_ssize_t> sizeof(float), y.strides[0] // <Py_ssize_t> sizeof(float)
        if residual is not None:
            if residual.shape[0] != y.shape[0] or residual.shape[1] != y.shape[1]:
                raise ValueError("residual does not fit")
            contiguous(residual.shape[1], residual.strides[1], residual.strides[0], "residual")
            p.residual, p.residual_step = &residual[0, 0], residual.strides[0] // <Py_ssize_t> sizeof(float)
        with nogil:
            status = tk_linear_run(&p, chosen, max(1, threads))
        if status:
            raise MemoryError()
