"""Caches of keys and values."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, uint16_t
from libc.stdlib cimport calloc, free

from tokkit._core.nn.attention cimport TK_FAR, TK_KV_BFLOAT16, TK_KV_FLOAT32, TK_KV_INT8
from tokkit._core.text cimport shape_tuple

cdef extern from "nn/kv.h" nogil:
    int TK_KV_BACK
    void tk_kv_keep(const tk_kv *kv, size_t layer, const float *k, const float *v, size_t step, size_t at, size_t rows)

KV_BACK = TK_KV_BACK


def kv_rows(size_t length, window):
    """Return how many rows a layer needs for `length` tokens if it sees `window` of them; None sees all."""
    return tk_kv_rows(length, TK_FAR if window is None else min(<ptrdiff_t> window, TK_FAR))


cdef class KeyValues:
    """Arrays of keys and values, which the caller made: for each layer keys and values (kv_heads, room, head_dim) of
    one type, float32, uint16 (bfloat16) or int8, and for int8 scales of both (kv_heads, room), else None twice.

    first[i] is the position of the token in row 0 of layer i.
    """

    def __cinit__(self, layers not None, first not None):
        cdef tk_kv_layer *layer
        cdef float[:, ::1] k_scales, v_scales
        cdef size_t i
        self.n_layers, self.kept = len(layers), []
        self.kv.layers = <tk_kv_layer *> calloc(self.n_layers + 1, sizeof(tk_kv_layer))
        if self.kv.layers is NULL:
            raise MemoryError()
        if not self.n_layers or len(first) != self.n_layers:
            raise ValueError(
                f"there are {self.n_layers} layers and {len(first)} entries in first; there must be at least 1 layer, "
                f"and one entry for each"
            )
        for i in range(self.n_layers):
            k, v, scales_k, scales_v = layers[i]
            dtype = TK_KV_INT8 if scales_k is not None else (
                TK_KV_BFLOAT16 if memoryview(k).format == "H" else TK_KV_FLOAT32)
            shape = tuple(k.shape)
            layer = &self.kv.layers[i]
            if not i:
                self.kv.type, self.kv.heads, self.kv.head_dim = dtype, shape[0], shape[2]
            if tuple(v.shape) != shape or len(shape) != 3 or not all(shape):
                raise ValueError(
                    f"keys and values of layer {i} have shapes {shape} and {tuple(v.shape)}; both must be "
                    f"(kv_heads, room, head_dim), the same and not empty"
                )
            if dtype != self.kv.type:
                raise ValueError(f"the dtype of layer {i} differs from that of layer 0; all must have the same")
            if (<size_t> shape[0], <size_t> shape[2]) != (self.kv.heads, self.kv.head_dim):
                raise ValueError(
                    f"layer {i} has {shape[0]} heads of {shape[2]} dimensions; layer 0 has {self.kv.heads} of "
                    f"{self.kv.head_dim}, and all must have the same"
                )
            layer.k, layer.v = self.items(k), self.items(v)
            if dtype == TK_KV_INT8:
                k_scales, v_scales = scales_k, scales_v
                for j in range(2):
                    if k_scales.shape[j] != shape[j] or v_scales.shape[j] != shape[j]:
                        raise ValueError(
                            f"the scales of layer {i} have shapes {shape_tuple(k_scales.shape, 2)} and "
                            f"{shape_tuple(v_scales.shape, 2)}; both must be (kv_heads, room), {shape[:2]}"
                        )
                layer.k_scales, layer.v_scales = &k_scales[0, 0], &v_scales[0, 0]
            layer.room, layer.first = shape[1], first[i]
            self.kept.append(layers[i])

    cdef void *items(self, array) except NULL:
        cdef float[:, :, ::1] floats
        cdef uint16_t[:, :, ::1] halves
        cdef int8_t[:, :, ::1] small
        if self.kv.type == TK_KV_FLOAT32:
            floats = array
            return &floats[0, 0, 0]
        if self.kv.type == TK_KV_BFLOAT16:
            halves = array
            return &halves[0, 0, 0]
        small = array
        return &small[0, 0, 0]

    def __dealloc__(self):
        free(self.kv.layers)

    @property
    def first(self):
        """The position of the oldest token in each layer."""
        return [self.kv.layers[i].first for i in range(self.n_layers)]

    @first.setter
    def first(self, positions):
        for i, position in enumerate(positions):
            if not <size_t> i < self.n_layers:
                raise ValueError(f"first has more than {self.n_layers} entries; there must be one for each layer")
            self.kv.layers[i].first = position

    cdef int check(self, const Py_ssize_t *shape) except -1:
        if (<size_t> shape[1], <size_t> shape[2]) != (self.kv.heads, self.kv.head_dim):
            raise ValueError(
                f"the rows have {shape[1]} heads of {shape[2]} dimensions; they must have {self.kv.heads} of "
                f"{self.kv.head_dim}"
            )
        return 0

    def write(self, size_t layer, size_t row, const float[:, :, ::1] keys=None, const float[:, :, ::1] values=None):
        """Store keys, values or both (rows, kv_heads, head_dim) from a row of a layer on."""
        cdef const float *k = NULL
        cdef const float *v = NULL
        cdef size_t rows = 0, at
        if layer >= self.n_layers:
            raise ValueError(f"layer is {layer}; it must be from 0 to {self.n_layers - 1}")
        if keys is not None:
            self.check(keys.shape)
            rows = keys.shape[0]
        if values is not None:
            self.check(values.shape)
            if keys is not None and <size_t> values.shape[0] != rows:
                raise ValueError(f"there are {rows} rows of keys and {values.shape[0]} of values; they must be equal")
            rows = values.shape[0]
        if row + rows > self.kv.layers[layer].room:
            raise ValueError(
                f"{rows} rows from row {row} on do not fit in layer {layer}, which has room for "
                f"{self.kv.layers[layer].room} rows"
            )
        if not rows:
            return
        if keys is not None:
            k = &keys[0, 0, 0]
        if values is not None:
            v = &values[0, 0, 0]
        at = self.kv.layers[layer].first + row
        tk_kv_keep(&self.kv, layer, k, v, self.kv.heads * self.kv.head_dim, at, rows)
