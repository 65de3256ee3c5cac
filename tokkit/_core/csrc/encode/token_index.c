/* Building the index of tokens: see token_index.h. */
#include "encode/token_index.h"

/* Slots are waited for together: each is elsewhere in memory. */
enum { TK_INDEXED_AT_ONCE = 32 };

int tk_token_index_build(tk_token_index *index, const tk_own_tokens *own, size_t *twice) {
    size_t slots = 64, first_twice = SIZE_MAX;
    memset(index, 0, sizeof *index);
    if (own->n_ids >= UINT32_MAX) return TK_NO_MEMORY;
    while (slots < 2 * own->n_ids) slots *= 2;
    index->blob = own->blob;
    index->offsets = own->offsets;
    index->mask = slots - 1;
    index->slots = tk_calloc(slots, sizeof *index->slots);
    if (!index->slots) return TK_NO_MEMORY;
    for (size_t first = 0; first < own->n_ids; first += TK_INDEXED_AT_ONCE) {
        size_t end = first + TK_INDEXED_AT_ONCE < own->n_ids ? first + TK_INDEXED_AT_ONCE : own->n_ids;
        uint64_t hashes[TK_INDEXED_AT_ONCE];
        for (size_t id = first; id < end; id++) {
            uint64_t hash = tk_token_hash(tk_own_bytes(own, id), (size_t)(own->offsets[id + 1] - own->offsets[id]));
            hashes[id - first] = hash;
            TK_PREFETCH(index->slots + (hash & index->mask));
        }
        for (size_t id = first; id < end; id++) {
            size_t n = (size_t)(own->offsets[id + 1] - own->offsets[id]);
            if (!n || (own->excluded && own->excluded[id])) continue;
            uint64_t hash = hashes[id - first];
            size_t slot = tk_token_index_slot(index, tk_own_bytes(own, id), n, hash);
            if (!index->slots[slot]) index->slots[slot] = hash >> 32 << 32 | (id + 1);
            else if (first_twice == SIZE_MAX) first_twice = id;
        }
    }
    if (first_twice != SIZE_MAX) *twice = first_twice;
    return TK_OK;
}
