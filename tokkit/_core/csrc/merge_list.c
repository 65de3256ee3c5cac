/* Merges spelt as two strings each in, their ids and those of their results out: see merge_list.h. */
#include "merge_list.h"

typedef struct {
    const tk_own_tokens *own;
    uint32_t *ids; /* [mask + 1] id + 1, open addressing; 0 is free */
    size_t mask;
} token_index;

/* The slot of the bytes: it holds the token that has them, or 0. */
static size_t slot_of(const token_index *index, const uint8_t *bytes, size_t n) {
    size_t slot = tk_hash_bytes(bytes, n) & index->mask;
    for (; index->ids[slot]; slot = (slot + 1) & index->mask) {
        uint32_t id = index->ids[slot] - 1;
        if (tk_own_length(index->own, id) == n && !memcmp(tk_own_bytes(index->own, id), bytes, n)) break;
    }
    return slot;
}

static int fill(token_index *index) {
    size_t slots = 64;
    while (slots < 2 * index->own->n_ids) slots *= 2;
    index->mask = slots - 1;
    index->ids = tk_calloc(slots, sizeof *index->ids);
    if (!index->ids) return TK_NO_MEMORY;
    for (size_t id = 0; id < index->own->n_ids; id++) {
        size_t n = tk_own_length(index->own, id);
        if (!n) continue;
        size_t slot = slot_of(index, tk_own_bytes(index->own, id), n);
        if (!index->ids[slot]) index->ids[slot] = (uint32_t)id + 1;
    }
    return TK_OK;
}

/* The string from *at up to a separator, which is passed over, or to the end; 0 where the other one comes first. */
static int take(const uint8_t *text, size_t n, size_t *at, uint8_t until, uint8_t other, size_t *start,
                size_t *length) {
    *start = *at;
    while (*at < n && text[*at] != until && text[*at] != other) ++*at;
    *length = *at - *start;
    return *at < n ? text[(*at)++] == until : until == TK_MERGE_END;
}

static int find(const token_index *index, const uint8_t *text, size_t n, uint8_t between, size_t n_prefix,
                uint8_t *joined, uint32_t *merges, size_t n_merges, size_t *number) {
    size_t at = 0;
    for (*number = 0; *number < n_merges; ++*number, merges += 3) {
        size_t left, right, n_left, n_right;
        if (!take(text, n, &at, between, TK_MERGE_END, &left, &n_left) ||
            !take(text, n, &at, TK_MERGE_END, between, &right, &n_right) || n_right < n_prefix)
            return TK_BAD_INPUT;
        memcpy(joined, text + left, n_left);
        memcpy(joined + n_left, text + right + n_prefix, n_right - n_prefix);
        merges[0] = index->ids[slot_of(index, text + left, n_left)];
        merges[1] = index->ids[slot_of(index, text + right, n_right)];
        merges[2] = index->ids[slot_of(index, joined, n_left + n_right - n_prefix)];
        for (int side = 0; side < 3; side++)
            if (!merges[side]--) return TK_BAD_INPUT;
    }
    return at == n ? TK_OK : TK_BAD_INPUT;
}

int tk_find_merges(const tk_own_tokens *own, const uint8_t *text, size_t n, uint8_t between, size_t n_prefix,
                   uint32_t *merges, size_t n_merges, size_t *number) {
    token_index index = {.own = own};
    uint8_t *joined = tk_alloc(n, 1);
    int status = joined && own->n_ids < UINT32_MAX ? fill(&index) : TK_NO_MEMORY;
    if (status == TK_OK) status = find(&index, text, n, between, n_prefix, joined, merges, n_merges, number);
    free(index.ids);
    free(joined);
    return status;
}
