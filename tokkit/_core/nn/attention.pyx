"""Softmax attention into a given array, dense or over lists of blocks (csrc/nn/attend.h)."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, int8_t, uint16_t, uint8_t

from tokkit._core.text cimport floats_isa, shape_tuple

cdef extern from "nn/attend.h" nogil:
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
        int narrow
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
    int TK_KEY_BLOCK, TK_LIST_PART, TK_LIST_PARTS
    int tk_attention_run(const tk_attention *, int isa, int threads)
    ctypedef struct tk_block_lists:
        const int64_t *starts
        ptrdiff_t starts_by
        const int32_t *blocks
        const int32_t *masks
        const uint8_t *table
        const uint8_t *ranges

BLOCK = TK_KEY_BLOCK

FAR = TK_FAR

ctypedef const uint8_t[:, :, :, :] Bytes


cdef tk_steps attention_steps(const Py_ssize_t *strides, Py_ssize_t size) noexcept:
    cdef tk_steps by
    by.batch, by.head, by.row = strides[0] // size, strides[1] // size, strides[2] // size
    return by


cdef int fits(const Py_ssize_t *shape, const Py_ssize_t *strides, Py_ssize_t size, object name) except -1:
    # C code does not check this: the items of a row are contiguous, and strides are whole items.
    if shape[3] > 1 and strides[3] != size:
        raise ValueError(f"the last axis of {name} has a stride of {strides[3]} bytes; it must be contiguous")
    if strides[0] % size or strides[1] % size or strides[2] % size:
        raise ValueError(f"{name} has strides {shape_tuple(strides, 4)} in bytes; they must be multiples of {size}")
    return 0


cdef int check_starts(const int64_t[::1] starts, Py_ssize_t rows, Py_ssize_t *longest) except -1:
    # 0 = starts[0] <= starts[1] … = rows; the greatest difference.
    cdef Py_ssize_t i
    longest[0] = 0
    if starts.shape[0] < 1:
        raise ValueError("the starts are empty; they must have one entry more than there are sequences")
    if starts[0] != 0 or starts[starts.shape[0] - 1] != rows:
        raise ValueError(
            f"the starts run from {starts[0]} to {starts[starts.shape[0] - 1]}; they must run from 0 to the number of "
            f"rows, {rows}"
        )
    for i in range(starts.shape[0] - 1):
        if starts[i + 1] < starts[i]:
            raise ValueError(f"starts[{i + 1}] is {starts[i + 1]}; it must not be below starts[{i}], {starts[i]}")
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
    BlockLists lists=None, narrow=False, int threads=1, isa=None,
):
    """Write attention of q (B, H, T, D), k (B, G, S, D), v (B, G, S, E) to out (B, H, T, E); `band` is csrc's.

    Keys and values may also be bfloat16 (uint16), or, for one sequence, int8 with scales (G, S). `narrow`
    lets many queries, keys, values and weights be rounded to bfloat16 where the CPU multiplies that.
    """
    cdef tk_attention a
    cdef KeyRows keys, values
    cdef int status, chosen = floats_isa(isa)
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
        raise ValueError(
            f"q has {q.shape[1]} heads, k {keys.shape[1]} and v {values.shape[1]}; k and v must have the same number, "
            f"and q a multiple of it"
        )
    if (keys.shape[0], keys.shape[3]) != (q.shape[0], q.shape[3]) or (
        (values.shape[0], values.shape[2]) != (q.shape[0], keys.shape[2])
    ):
        raise ValueError(
            f"q has shape {shape_tuple(q.shape, 4)}, k {shape_tuple(keys.shape, 4)} and v "
            f"{shape_tuple(values.shape, 4)}; they must be (B, H, T, D), (B, G, S, D) and (B, G, S, E)"
        )
    if a.kv == TK_KV_INT8:
        if v_scales is None:
            raise ValueError("v_scales is None; int8 keys and values need both k_scales and v_scales")
        if q.shape[0] != 1 or q_starts is not None:
            raise ValueError(f"q has {q.shape[0]} sequences; int8 keys and values need q with 1, and no q_starts")
        for i in range(2):
            if k_scales.shape[i] != keys.shape[1 + i] or v_scales.shape[i] != keys.shape[1 + i]:
                raise ValueError(
                    f"k_scales has shape {shape_tuple(k_scales.shape, 2)} and v_scales "
                    f"{shape_tuple(v_scales.shape, 2)}; they must be (G, S), {(keys.shape[1], keys.shape[2])}"
                )
        if keys.shape[2]:
            a.k_scales, a.v_scales, a.scales_by = &k_scales[0, 0], &v_scales[0, 0], keys.shape[2]
    if (out.shape[0], out.shape[1], out.shape[2], out.shape[3]) != (
        q.shape[0], q.shape[1], q.shape[2], values.shape[3]
    ):
        raise ValueError(
            f"out has shape {shape_tuple(out.shape, 4)}; it must be (B, H, T, E), "
            f"{(q.shape[0], q.shape[1], q.shape[2], values.shape[3])}"
        )
    a.group = a.heads // <size_t> keys.shape[1]
    fits(q.shape, q.strides, 4, "q")
    fits(out.shape, out.strides, 4, "out")
    a.q_by, a.k_by, a.v_by = attention_steps(q.strides, 4), keys.by, values.by
    a.out_by = attention_steps(out.strides, 4)
    a.scale, a.cap, a.narrow = scale, cap, -1 if narrow else 0
    a.offset, a.left, a.right = band[0], band[1], band[2]
    if max(abs(a.offset), abs(a.left), abs(a.right)) > TK_FAR:
        raise ValueError(f"band is {band}; each number must be from {-TK_FAR} to {TK_FAR}")
    a.allow = a.ignored = a.blocks = NULL
    a.add = a.by_distance = NULL
    a.q_starts = a.k_starts = NULL
    a.lists = NULL
    if q_starts is not None:
        if q.shape[0] != 1:
            raise ValueError(f"q has shape {shape_tuple(q.shape, 4)}; with q_starts it must be (1, H, T, D)")
        if k_starts is None or k_starts.shape[0] != q_starts.shape[0]:
            raise ValueError(f"q_starts has {q_starts.shape[0]} entries; k_starts must have the same number")
        if (allow is not None or add is not None or ignored is not None or blocks is not None
                or lists is not None):
            raise ValueError("a mask is given with q_starts; packed sequences cannot have masks")
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
            check_mask(allow.shape, &a, "allow")
            fits(allow.shape, allow.strides, 1, "allow")
            a.allow, a.allow_by = &allow[0, 0, 0, 0], attention_steps(allow.strides, 1)
        if add is not None:
            check_mask(add.shape, &a, "add")
            fits(add.shape, add.strides, 4, "add")
            a.add, a.add_by = &add[0, 0, 0, 0], attention_steps(add.strides, 4)
        if ignored is not None:
            check_padding(ignored, a.batch, a.n_keys)
            a.ignored, a.ignored_by = &ignored[0, 0], ignored.strides[0]
        if by_distance is not None:
            check_distances(by_distance, zero, a.heads, a.n_queries, <Py_ssize_t> a.n_keys - 1)
            a.by_distance, a.distance_by, a.zero = &by_distance[0, 0], by_distance.shape[1], zero
        if blocks is not None:
            if not block or block % TK_KEY_BLOCK:
                raise ValueError(f"block is {block}; it must be {TK_KEY_BLOCK} or a multiple of it")
            if (<size_t> blocks.shape[0] != a.batch or <size_t> blocks.shape[1] != a.heads
                    or <size_t> blocks.shape[2] * block < a.n_queries or <size_t> blocks.shape[3] * block < a.n_keys):
                raise ValueError(
                    f"blocks has shape {shape_tuple(blocks.shape, 4)}; in blocks of {block} it must cover {a.batch} "
                    f"sequences, {a.heads} heads, {a.n_queries} queries and {a.n_keys} keys"
                )
            fits(blocks.shape, blocks.strides, 1, "blocks")
            a.blocks, a.blocks_by, a.block = &blocks[0, 0, 0, 0], attention_steps(blocks.strides, 1), block
        if lists is not None:
            if (lists.heads != 1 and <size_t> lists.heads != a.heads) or (
                <size_t> (lists.rows * TK_KEY_BLOCK) < a.n_queries
            ):
                raise ValueError(
                    f"lists has {lists.heads} heads and {lists.rows} blocks of {TK_KEY_BLOCK} queries; it must have 1 "
                    f"or {a.heads} heads and cover {a.n_queries} queries"
                )
            a.lists = &lists.lists
    with nogil:
        status = tk_attention_run(&a, chosen, max(1, threads))
    if status:
        raise MemoryError()


cdef int check_mask(const Py_ssize_t *shape, const tk_attention *a, object name) except -1:
    if (<size_t> shape[0] != a.batch or <size_t> shape[1] != a.heads or <size_t> shape[2] != a.n_queries
            or <size_t> shape[3] != a.n_keys):
        raise ValueError(
            f"{name} has shape {shape_tuple(shape, 4)}; it must be (B, H, T, S), "
            f"{(a.batch, a.heads, a.n_queries, a.n_keys)}"
        )
    return 0


cdef int check_padding(const uint8_t[:, :] ignored, size_t batch, size_t n_keys) except -1:
    if <size_t> ignored.shape[0] != batch or <size_t> ignored.shape[1] != n_keys:
        raise ValueError(
            f"the padding mask has shape {shape_tuple(ignored.shape, 2)}; it must be (B, S), {(batch, n_keys)}"
        )
    if n_keys > 1 and ignored.strides[1] != 1:
        raise ValueError(
            f"the padding mask has a stride of {ignored.strides[1]} in its last axis; it must be contiguous"
        )
    return 0


cdef int check_distances(
    const float[:, ::1] table, Py_ssize_t zero, size_t heads, Py_ssize_t queries, Py_ssize_t min_zero
) except -1:
    # by_distance[h, zero + d], for d from -min_zero to queries - 1.
    if <size_t> table.shape[0] != heads or zero < min_zero or table.shape[1] < zero + queries:
        raise ValueError(
            f"by_distance has shape {shape_tuple(table.shape, 2)} and zero is {zero}; it must have {heads} rows of at "
            f"least zero + {queries}, and zero must be at least {min_zero}"
        )
    return 0


# Lists of blocks that attention is computed for (tk_block_lists of csrc/nn/attend.h).


cdef class BlockLists:
    """Checked lists: of row r of blocks of head h, entries starts[h, r] … starts[h, r + 1]. Immutable.

    blocks (n): numbers of blocks of keys, below `columns`; masks (n): numbers of masks in table (m, BLOCK, BLOCK), with
    keys before queries, 1 = attend, or -1 for a block without a mask.
    """

    cdef tk_block_lists lists
    cdef object held
    cdef readonly Py_ssize_t heads, rows, columns

    def __init__(
        self, const int64_t[:, ::1] starts not None, const int32_t[::1] blocks not None,
        const int32_t[::1] masks not None, const uint8_t[:, :, ::1] table not None, Py_ssize_t columns,
    ):
        cdef Py_ssize_t n = blocks.shape[0], h, r, i, j, part, low, high
        cdef unsigned char[::1] ranges
        if self.held is not None:
            raise ValueError("these lists are initialized already; make a new BlockLists instead")
        if masks.shape[0] != n:
            raise ValueError(f"there are {n} blocks and {masks.shape[0]} masks; there must be one mask for each block")
        if table.shape[1] != TK_KEY_BLOCK or table.shape[2] != TK_KEY_BLOCK:
            raise ValueError(
                f"table has shape {shape_tuple(table.shape, 3)}; it must be (n, {TK_KEY_BLOCK}, {TK_KEY_BLOCK})"
            )
        if starts.shape[0] < 1 or starts.shape[1] < 1:
            raise ValueError(f"starts has shape {shape_tuple(starts.shape, 2)}; each axis must have at least 1 entry")
        for h in range(starts.shape[0]):
            for r in range(starts.shape[1]):
                if starts[h, r] < (starts[h, r - 1] if r else 0) or starts[h, r] > n:
                    raise ValueError(
                        f"starts[{h}, {r}] is {starts[h, r]}; starts must not decrease along a row, and be at most the "
                        f"number of blocks, {n}"
                    )
        for i in range(n):
            if not 0 <= blocks[i] < columns or not -1 <= masks[i] < table.shape[0]:
                raise ValueError(
                    f"entry {i} has block {blocks[i]} and mask {masks[i]}; the block must be from 0 to {columns - 1}, "
                    f"the mask from -1 to {table.shape[0] - 1}"
                )
        ranges = bytearray(max(1, table.shape[0] * 2 * TK_LIST_PARTS))
        for i in range(table.shape[0]):
            for part in range(TK_LIST_PARTS):
                low, high = TK_KEY_BLOCK, 0
                for j in range(TK_KEY_BLOCK):
                    for r in range(part * TK_LIST_PART, (part + 1) * TK_LIST_PART):
                        if table[i, j, r]:
                            low, high = min(low, j), j + 1
                ranges[(i * TK_LIST_PARTS + part) * 2] = <unsigned char> low
                ranges[(i * TK_LIST_PARTS + part) * 2 + 1] = <unsigned char> high
        self.heads, self.rows, self.columns = starts.shape[0], starts.shape[1] - 1, columns
        self.held = starts, blocks, masks, table, ranges
        self.lists.starts, self.lists.starts_by = &starts[0, 0], starts.shape[1] if starts.shape[0] > 1 else 0
        self.lists.blocks = &blocks[0] if n else NULL
        self.lists.masks = &masks[0] if n else NULL
        self.lists.table = &table[0, 0, 0] if table.shape[0] else NULL
        self.lists.ranges = &ranges[0]
