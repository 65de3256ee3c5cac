# The layers of a post-norm encoder over packed token vectors, in one call without the GIL (csrc/nn/encoder.h).

from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from tokkit._core.text cimport chosen_isa, isa_number

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
            raise ValueError("heads do not fit")
        for i in range(n):
            qkv, o, up, down = layers[i][:4]
            if (qkv.shape, o.shape) != ((3 * dim, dim), (dim, dim)) or up.shape[1] != dim:
                raise ValueError(f"layer {i} does not fit")
            if down.shape != (dim, up.shape[0]) or not up.shape[0] or len(layers[i]) != 8:
                raise ValueError(f"layer {i} does not fit")
            for j in range(4):
                norm = layers[i][4 + j]
                if <size_t> norm.shape[0] != dim:
                    raise ValueError(f"a norm of layer {i} does not fit")
                norms[j] = &norm[0]
            self.kept.append(tuple(layers[i]))
            self.layers[i] = tk_encoder_layer(
                qkv.packed, o.packed, up.packed, down.packed, norms[0], norms[1], norms[2], norms[3]
            )
        self.encoder.layers = self.layers
        self.encoder.n_layers, self.encoder.heads, self.encoder.dim = n, heads, dim
        if activation not in FUSED:
            raise ValueError(f"activation is one of {', '.join(FUSED)}, not {activation!r}")
        self.encoder.activation = ACTIVATIONS.index(activation)
        self.encoder.eps = eps
        self.encoder.scale = (<double> (dim // heads)) ** -0.5

    def __dealloc__(self):
        free(self.layers)

    def run(self, float[:, ::1] x not None, const int64_t[::1] starts not None, *, float[:, :, ::1] states=None,
            const float[:, ::1] by_distance=None, Py_ssize_t zero=0, int threads=1, isa=None):
        """Change x (rows, dim) in place; `states` (layers, rows, dim) gets the output of each layer."""
        cdef tk_encoder e = self.encoder
        cdef float *out = NULL
        cdef Py_ssize_t i, longest = 0
        cdef int status, chosen = ISA if isa is None else tk_isa_of_floats(isa_number(isa))
        if <size_t> x.shape[1] != e.dim or starts.shape[0] < 1 or starts[0] != 0:
            raise ValueError("x or starts do not fit")
        for i in range(starts.shape[0] - 1):
            if starts[i + 1] < starts[i]:
                raise ValueError(f"starts fall from {starts[i]} to {starts[i + 1]}")
            longest = max(longest, starts[i + 1] - starts[i])
        if starts[starts.shape[0] - 1] != x.shape[0]:
            raise ValueError(f"starts do not run from 0 to {x.shape[0]}")
        if not (x.shape[0] and e.n_layers):
            return
        if states is not None:
            if <size_t> states.shape[0] != e.n_layers or states.shape[1] != x.shape[0] or states.shape[2] != x.shape[1]:
                raise ValueError("states do not fit")
            out = &states[0, 0, 0]
        if by_distance is not None:
            if <size_t> by_distance.shape[0] != e.heads or zero < longest - 1:
                raise ValueError("the table of distances does not fit")
            if by_distance.shape[1] < zero + longest:
                raise ValueError("the table of distances is too short")
            e.by_distance, e.distance_by, e.zero = &by_distance[0, 0], by_distance.shape[1], zero
        with nogil:
            status = tk_encoder_run(&e, &x[0, 0], &starts[0], starts.shape[0] - 1, out, chosen, max(1, threads))
        if status:
            raise MemoryError()
