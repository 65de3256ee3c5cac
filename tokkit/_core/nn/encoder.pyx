"""The layers of a post-norm encoder over packed token vectors, in one call without the GIL (csrc/nn/encoder.h)."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from tokkit._core.nn.attention cimport check_distances, check_starts
from tokkit._core.nn.linear cimport PackedLinear, fused, tk_linear
from tokkit._core.text cimport floats_isa, shape_tuple

cdef extern from "nn/encoder.h" nogil:
    ctypedef struct tk_encoder_layer:
        const tk_linear *qkv
        const tk_linear *o
        const tk_linear *up
        const tk_linear *down
        const float *attention_weight
        const float *attention_bias
        const float *forward_weight
        const float *forward_bias
    ctypedef struct tk_encoder:
        const tk_encoder_layer *layers
        size_t n_layers
        size_t heads
        size_t dim
        int activation
        float eps
        float scale
        const float *by_distance
        ptrdiff_t distance_by
        ptrdiff_t zero
    int tk_encoder_run(const tk_encoder *e, float *x, const int64_t *starts, size_t n, float *states, int isa,
                       int threads)


cdef int check_states(const float[:, :, ::1] states, size_t n_layers, const Py_ssize_t *x) except -1:
    if <size_t> states.shape[0] != n_layers or states.shape[1] != x[0] or states.shape[2] != x[1]:
        raise ValueError(
            f"states has shape {shape_tuple(states.shape, 3)}; it must be (n_layers, rows, dim), "
            f"{(n_layers, x[0], x[1])}"
        )
    return 0


cdef class PackedEncoder:
    """Layers of (qkv, o, up, down, and weight and bias of two norms): immutable, so that threads can share it."""

    cdef tk_encoder encoder
    cdef tk_encoder_layer *layers
    cdef list kept  # keeps alive what the layers point to

    def __cinit__(self, layers not None, *, size_t heads, size_t dim, activation="gelu", float eps=1e-12):
        cdef size_t i, n = len(layers)
        cdef const float[::1] norm
        cdef const float *norms[4]
        cdef PackedLinear qkv, o, up, down
        self.kept = []
        self.layers = <tk_encoder_layer *> calloc(n + 1, sizeof(tk_encoder_layer))
        if self.layers is NULL:
            raise MemoryError()
        if not heads or not dim or dim % heads:
            raise ValueError(f"dim is {dim} and heads {heads}; both must be at least 1, and dim a multiple of heads")
        for i in range(n):
            if len(layers[i]) != 8:
                raise ValueError(f"layer {i} has {len(layers[i])} items; it must have 4 matrices and 4 norm arrays")
            qkv, o, up, down = layers[i][:4]
            if (qkv.shape, o.shape) != ((3 * dim, dim), (dim, dim)):
                raise ValueError(
                    f"qkv and o of layer {i} have shapes {qkv.shape} and {o.shape}; they must be {(3 * dim, dim)} and "
                    f"{(dim, dim)}"
                )
            if up.shape[1] != dim or down.shape != (dim, up.shape[0]) or not up.shape[0]:
                raise ValueError(
                    f"up and down of layer {i} have shapes {up.shape} and {down.shape}; they must be (hidden, {dim}) "
                    f"and ({dim}, hidden)"
                )
            for j in range(4):
                norm = layers[i][4 + j]
                if <size_t> norm.shape[0] != dim:
                    raise ValueError(f"norm array {j} of layer {i} has {norm.shape[0]} entries; it must have {dim}")
                norms[j] = &norm[0]
            self.kept.append(tuple(layers[i]))
            self.layers[i] = tk_encoder_layer(
                qkv.packed, o.packed, up.packed, down.packed, norms[0], norms[1], norms[2], norms[3]
            )
        self.encoder.layers = self.layers
        self.encoder.n_layers, self.encoder.heads, self.encoder.dim = n, heads, dim
        self.encoder.activation = fused(activation)
        self.encoder.eps = eps
        self.encoder.scale = (<double> (dim // heads)) ** -0.5

    def __dealloc__(self):
        free(self.layers)

    def run(self, float[:, ::1] x not None, const int64_t[::1] starts not None, *, float[:, :, ::1] states=None,
            const float[:, ::1] by_distance=None, Py_ssize_t zero=0, int threads=1, isa=None):
        """Change x (rows, dim) in place; `states` (layers, rows, dim) gets the output of each layer."""
        cdef tk_encoder e = self.encoder
        cdef float *out = NULL
        cdef Py_ssize_t longest = 0
        cdef int status, chosen = floats_isa(isa)
        if <size_t> x.shape[1] != e.dim:
            raise ValueError(f"x has {x.shape[1]} columns; it must have {e.dim}")
        check_starts(starts, x.shape[0], &longest)
        if not (x.shape[0] and e.n_layers):
            return
        if states is not None:
            check_states(states, e.n_layers, x.shape)
            out = &states[0, 0, 0]
        if by_distance is not None:
            check_distances(by_distance, zero, e.heads, longest, longest - 1)
            e.by_distance, e.distance_by, e.zero = &by_distance[0, 0], by_distance.shape[1], zero
        with nogil:
            status = tk_encoder_run(&e, &x[0, 0], &starts[0], starts.shape[0] - 1, out, chosen, max(1, threads))
        if status:
            raise MemoryError()
