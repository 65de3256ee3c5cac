# What other modules use of rows.pyx.

ctypedef const float[:, :] Rows
ctypedef const float[::1] Columns
cdef Py_ssize_t step(Rows a, size_t columns, object name) except? -1
