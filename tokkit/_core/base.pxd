# What every module of the core takes from base.h: the statuses, and memory that grows.
cdef extern from "base.h" nogil:
    int TK_OK, TK_NO_MEMORY, TK_BAD_INPUT, TK_TOO_LARGE, TK_UNENCODABLE, TK_UNSUPPORTED, TK_GROWN, TK_NO_DISK
    int TK_MERGE_WANTS
    int tk_reserve(void *block, size_t *capacity, size_t need, size_t size)
