# Lists of blocks that attention is computed for (tk_block_lists of csrc/nn/attend.h).

from libc.stdint cimport int32_t

import array

cdef extern from "nn/attend.h" nogil:
    ctypedef struct tk_block_lists:
        const int64_t *starts
        ptrdiff_t starts_by
        const int32_t *blocks
        const int32_t *masks
        const uint8_t *table
        const uint8_t *ranges
    int TK_LIST_PART
    int TK_LIST_PARTS


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
        ranges = array.array("B", bytes(max(1, table.shape[0] * 2 * TK_LIST_PARTS)))
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
