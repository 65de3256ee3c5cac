/* The growing vocabulary of a training: finds the id of a token by its bytes. */
#ifndef TK_TOKEN_TABLE_H
#define TK_TOKEN_TABLE_H
#include "base.h"

/* All zero is an empty table. Ids are given from 0 on. */
typedef struct {
    uint8_t *bytes; /* of all tokens, one after the other */
    size_t n_bytes, bytes_capacity;
    uint64_t *ends; /* of each token in `bytes` */
    uint32_t *lengths;
    size_t n_ids, ends_capacity, lengths_capacity;
    uint32_t *index; /* hash of a token's bytes → id + 1, open addressing */
    size_t n_index, n_indexed;
} tk_token_table;

static inline void tk_token_table_free(tk_token_table *t) {
    free(t->bytes);
    free(t->ends);
    free(t->lengths);
    free(t->index);
}

static inline const uint8_t *tk_token_bytes(const tk_token_table *t, size_t id) {
    return t->bytes + (t->ends[id] - t->lengths[id]);
}

/* The slot of the bytes in the index: it holds the token that has them, or 0. */
static inline size_t tk_token_slot(const tk_token_table *t, const uint8_t *bytes, size_t n) {
    size_t i = tk_hash_bytes(bytes, n) & (t->n_index - 1);
    for (; t->index[i]; i = (i + 1) & (t->n_index - 1)) {
        uint32_t id = t->index[i] - 1;
        if (t->lengths[id] == n && memcmp(tk_token_bytes(t, id), bytes, n) == 0) break;
    }
    return i;
}

/* Make room for one more token of n bytes. */
static inline int tk_token_room(tk_token_table *t, size_t n) {
    if (tk_reserve(&t->bytes, &t->bytes_capacity, t->n_bytes + n, 1) ||
        tk_reserve(&t->ends, &t->ends_capacity, t->n_ids + 1, sizeof *t->ends) ||
        tk_reserve(&t->lengths, &t->lengths_capacity, t->n_ids + 1, sizeof *t->lengths))
        return TK_NO_MEMORY;
    if (t->n_indexed * 2 < t->n_index) return TK_OK;
    size_t n_index = t->n_index ? t->n_index * 2 : 2048, n_old = t->n_index;
    uint32_t *old = t->index, *grown = tk_calloc(n_index, sizeof *grown);
    if (!grown) return TK_NO_MEMORY;
    t->index = grown;
    t->n_index = n_index;
    for (size_t i = 0; i < n_old; i++)
        if (old[i]) t->index[tk_token_slot(t, tk_token_bytes(t, old[i] - 1), t->lengths[old[i] - 1])] = old[i];
    free(old);
    return TK_OK;
}

/* Give the next id to the n bytes that stand after the last token; there is room. With `slot` NULL they cannot
   be found by their bytes. */
static inline void tk_token_commit(tk_token_table *t, size_t n, const size_t *slot) {
    t->n_bytes += n;
    t->ends[t->n_ids] = t->n_bytes;
    t->lengths[t->n_ids++] = (uint32_t)n;
    if (slot) t->index[*slot] = (uint32_t)t->n_ids, t->n_indexed++;
}

#endif
