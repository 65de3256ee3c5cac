# Softmax attention into a given array, without the GIL (csrc/nn/attend.h).

from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int8_t, int64_t, uint8_t, uint16_t

from tokkit._core.text cimport chosen_isa, isa_number

cdef extern from "nn/attend.h" nogil:
    ctypedef struct tk_steps:
        ptrdiff_t batch
        ptrdiff_t head
        ptrdiff_t row
    ctypedef struct tk_attention:
        const float *q
        const void *k
        const void *v
        float *out
        int kv
        const float *k_scales
        const float *v_scales
        ptrdiff_t scales_by
        tk_steps q_by
        tk_steps k_by
        tk_steps v_by
        tk_steps out_by
        size_t batch
        size_t heads
        size_t group
        size_t n_queries
        size_t n_keys
        size_t d
        size_t dv
        float scale
        float cap
        ptrdiff_t offset
        ptrdiff_t left
        ptrdiff_t right
        const uint8_t *allow
        const float *add
        tk_steps allow_by
        tk_steps add_by
        const uint8_t *ignored
        ptrdiff_t ignored_by
        const float *by_distance
        ptrdiff_t distance_by
        ptrdiff_t zero
        const uint8_t *blocks
        tk_steps blocks_by
        size_t block
        const tk_block_lists *lists
        const int64_t *q_starts
        const int64_t *k_starts
    ptrdiff_t TK_FAR
    int TK_KEY_BLOCK
    int TK_KV_FLOAT32
    int TK_KV_BFLOAT16
    int TK_KV_INT8
    int tk_attention_run(const tk_attention *, int isa, int threads)

BLOCK = TK_KEY_BLOCK
FAR = TK_FAR

ctypedef const float[:, :, :, :] Floats
ctypedef const uint8_t[:, :, :, :] Bytes


cdef tk_steps attention_steps(const Py_ssize_t *strides, Py_ssize_t size) noexcept:
    cdef tk_steps by
    by.batch, by.head, by.row = strides[0] // size, strides[1] // size, strides[2] // size
    return by


cdef int fits(const Py_ssize_t *shape, const Py_ssize_t *strides, Py_ssize_t size, object name) except -1:
    # C code does not check this: the items of a row are contiguous, and strides are whole items.
    if shape[3] > 1 and strides[3] != size:
        raise ValueError(f"the last axis of {name} is not contiguous")
    if strides[0] % size or strides[1] % size or strides[2] % size:
        raise ValueError(f"the steps of {name} are no whole items")
    return 0


cdef int check_starts(const int64_t[::1] starts, Py_ssize_t rows, Py_ssize_t *longest) except -1:
    # 0 = starts[0] <= starts[1] … = rows; the greatest difference.
    cdef Py_ssize_t i
    longest[0] = 0
    if starts.shape[0] < 1 or starts[0] != 0 or starts[starts.shape[0] - 1] != rows:
        raise ValueError(f"starts do not run from 0 to {rows}")
    for i in range(starts.shape[0] - 1):
        if starts[i + 1] < starts[i]:
            raise ValueError(f"starts fall from {starts[i]} to {starts[i + 1]}")
        longest[0] = max(longest[0], starts[i + 1] - starts[i])
    return 0


cdef struct KeyRows:
    const void *at
    tk_steps by
    Py_ssize_t shape[4]


cdef int take_rows(object array, int kv, object name, KeyRows *made) except -1:
    # Keys or values of one of the three dtypes. The caller keeps `array` alive.
    cdef Floats floats
    cdef const uint16_t[:, :, :, :] halves
    cdef const int8_t[:, :, :, :] small
    if kv == TK_KV_FLOAT32:
        floats = array
        take_from(made, floats.shape, floats.strides, 4, name)
        made.at = &floats[0, 0, 0, 0] if floats.size else NULL
    elif kv == TK_KV_BFLOAT16:
        halves = array
        take_from(made, halves.shape, halves.strides, 2, name)
        made.at = &halves[0, 0, 0, 0] if halves.size else NULL
    else:
        small = array
        take_from(made, small.shape, small.strides, 1, name)
        made.at = &small[0, 0, 0, 0] if small.size else NULL
    return 0


cdef int take_from(
    KeyRows *made, const Py_ssize_t *shape, const Py_ssize_t *strides, Py_ssize_t size, object name
) except -1:
    fits(shape, strides, size, name)
    made.by = attention_steps(strides, size)
    for i in range(4):
        made.shape[i] = shape[i]
    return 0


def attend(
    Floats q, k not None, v not None, float[:, :, :, :] out, float scale, (Py_ssize_t, Py_ssize_t, Py_ssize_t) band, *,
    Bytes allow=None, Floats add=None, const uint8_t[:, :] ignored=None, const float[:, ::1] by_distance=None,
    Py_ssize_t zero=0, Bytes blocks=None, size_t block=0, const int64_t[::1] q_starts=None,
    const int64_t[::1] k_starts=None, float cap=0, const float[:, ::1] k_scales=None, const float[:, ::1] v_scales=None,
    BlockLists lists=None, int threads=1, isa=None,
):
    """Write attention of q (B, H, T, D), k (B, G, S, D), v (B, G, S, E) to out (B, H, T, E); `band` is csrc's.

    Keys and values may also be bfloat16 (uint16), or, for one sequence, int8 with scales (G, S).
    """
    cdef tk_attention a
    cdef KeyRows keys, values
    cdef int status, chosen = ISA if isa is None else tk_isa_of_floats(isa_number(isa))
    cdef Py_ssize_t longest = 0, longest_k = 0
    a.kv, a.k_scales, a.v_scales, a.scales_by = TK_KV_FLOAT32, NULL, NULL, 0
    if k_scales is not None:
        a.kv = TK_KV_INT8
    elif memoryview(k).format == "H":
        a.kv = TK_KV_BFLOAT16
    take_rows(k, a.kv, "k", &keys)
    take_rows(v, a.kv, "v", &values)
    a.batch, a.heads, a.n_queries, a.d = q.shape[0], q.shape[1], q.shape[2], q.shape[3]
    a.n_keys, a.dv = keys.shape[2], values.shape[3]
    if keys.shape[1] == 0 or q.shape[1] % keys.shape[1] or values.shape[1] != keys.shape[1]:
        raise ValueError("heads do not fit")
    if (keys.shape[0], keys.shape[3]) != (q.shape[0], q.shape[3]) or (
        (values.shape[0], values.shape[2]) != (q.shape[0], keys.shape[2])
    ):
        raise ValueError("keys or values do not fit")
    if a.kv == TK_KV_INT8:
        if q.shape[0] != 1 or v_scales is None or q_starts is not None:
            raise ValueError("int8 has one sequence, and scales of keys and values")
        for i in range(2):
            if k_scales.shape[i] != keys.shape[1 + i] or v_scales.shape[i] != keys.shape[1 + i]:
                raise ValueError("the scales do not fit")
        if keys.shape[2]:
            a.k_scales, a.v_scales, a.scales_by = &k_scales[0, 0], &v_scales[0, 0], keys.shape[2]
    if (out.shape[0], out.shape[1], out.shape[2], out.shape[3]) != (
        q.shape[0], q.shape[1], q.shape[2], values.shape[3]
    ):
        raise ValueError("out does not fit")
    a.group = a.heads // <size_t> keys.shape[1]
    fits(q.shape, q.strides, 4, "q")
    fits(out.shape, out.strides, 4, "out")
    a.q_by, a.k_by, a.v_by = attention_steps(q.strides, 4), keys.by, values.by
    a.out_by = attention_steps(out.strides, 4)
    a.scale, a.cap = scale, cap
    a.offset, a.left, a.right = band[0], band[1], band[2]
    if max(abs(a.offset), abs(a.left), abs(a.right)) > TK_FAR:
        raise ValueError("the band is out of range")
    a.allow = a.ignored = a.blocks = NULL
    a.add = a.by_distance = NULL
    a.q_starts = a.k_starts = NULL
    a.lists = NULL
    if q_starts is not None:
        if q.shape[0] != 1 or k_starts is None or k_starts.shape[0] != q_starts.shape[0]:
            raise ValueError("packed sequences do not fit")
        if (allow is not None or add is not None or ignored is not None or blocks is not None
                or lists is not None):
            raise ValueError("packed sequences take no masks")
        check_starts(q_starts, q.shape[2], &longest)
        check_starts(k_starts, keys.shape[2], &longest_k)
        a.batch, a.n_queries, a.n_keys = q_starts.shape[0] - 1, longest, longest_k
        if a.batch:
            a.q_starts, a.k_starts = &q_starts[0], &k_starts[0]
    if not (a.batch and a.heads and a.n_queries and a.dv):
        return
    if a.n_keys and a.d:
        a.q, a.k, a.v = &q[0, 0, 0, 0], keys.at, values.at
    else:
        a.n_keys = 0
        a.q = a.k = a.v = &out[0, 0, 0, 0]  # never read
        a.d = 0
    a.out = &out[0, 0, 0, 0]
    if a.n_keys:
        if allow is not None:
            check_mask(allow.shape, &a)
            fits(allow.shape, allow.strides, 1, "allow")
            a.allow, a.allow_by = &allow[0, 0, 0, 0], attention_steps(allow.strides, 1)
        if add is not None:
            check_mask(add.shape, &a)
            fits(add.shape, add.strides, 4, "add")
            a.add, a.add_by = &add[0, 0, 0, 0], attention_steps(add.strides, 4)
        if ignored is not None:
            if <size_t> ignored.shape[0] != a.batch or <size_t> ignored.shape[1] != a.n_keys:
                raise ValueError("padding does not fit")
            if a.n_keys > 1 and ignored.strides[1] != 1:
                raise ValueError("the last axis of padding is not contiguous")
            a.ignored, a.ignored_by = &ignored[0, 0], ignored.strides[0]
        if by_distance is not None:
            if <size_t> by_distance.shape[0] != a.heads or zero < <Py_ssize_t> a.n_keys - 1:
                raise ValueError("the table of distances does not fit")
            if by_distance.shape[1] < zero + <Py_ssize_t> a.n_queries:
                raise ValueError("the table of distances is too short")
            a.by_distance, a.distance_by, a.zero = &by_distance[0, 0], by_distance.shape[1], zero
        if blocks is not None:
            if not block or block % TK_KEY_BLOCK:
                raise ValueError("blocks are no multiples of the key block")
            if (<size_t> blocks.shape[0] != a.batch or <size_t> blocks.shape[1] != a.heads
                    or <size_t> blocks.shape[2] * block < a.n_queries or <size_t> blocks.shape[3] * block < a.n_keys):
                raise ValueError("the mask of blocks does not fit")
            fits(blocks.shape, blocks.strides, 1, "blocks")
            a.blocks, a.blocks_by, a.block = &blocks[0, 0, 0, 0], attention_steps(blocks.strides, 1), block
        if lists is not None:
            if (lists.heads != 1 and <size_t> lists.heads != a.heads) or (
                <size_t> (lists.rows * TK_KEY_BLOCK) < a.n_queries
            ):
                raise ValueError("the lists of blocks do not fit")
            a.lists = &lists.lists
    with nogil:
        status = tk_attention_run(&a, chosen, max(1, threads))
    if status:
        raise MemoryError()


cdef int check_mask(const Py_ssize_t *shape, const tk_attention *a) except -1:
    if (<size_t> shape[0] != a.batch or <size_t> shape[1] != a.heads or <size_t> shape[2] != a.n_queries
            or <size_t> shape[3] != a.n_keys):
        raise ValueError("a mask does not fit")
    return 0
