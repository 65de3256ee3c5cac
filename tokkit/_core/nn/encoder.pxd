# What other modules use of encoder.pyx.

cdef int check_states(const float[:, :, ::1] states, size_t n_layers, const Py_ssize_t *x) except -1
