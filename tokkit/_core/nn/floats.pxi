# What all kernels of floats have in common: arrays of rows, names of activations, the instruction set.

from tokkit._core.text cimport chosen_isa, isa_number, shape_tuple

cdef int ISA = tk_isa_of_floats(chosen_isa())
cdef Py_ssize_t SIZE = sizeof(float)
ACTIVATIONS = ("identity", "relu", "gelu", "gelu_tanh", "silu", "exp", "sigmoid", "tanh")  # of csrc/nn/lanes_math.h

ctypedef const float[:, :] Rows
ctypedef const float[::1] Columns


cdef Py_ssize_t step(Rows a, size_t columns, object name) except? -1:
    if (columns > 1 and a.strides[1] != SIZE) or a.strides[0] % SIZE:
        raise ValueError(
            f"{name} has strides {shape_tuple(a.strides, 2)} in bytes; the items of a row must be contiguous, and the "
            f"rows a multiple of {SIZE} bytes apart"
        )
    return a.strides[0] // SIZE
