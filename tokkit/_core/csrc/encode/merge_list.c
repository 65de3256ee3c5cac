/* Looks up merges that are given as two strings each: see merge_list.h. */
#include "encode/merge_list.h"

/* The string from *at up to a separator, which is passed over, or to the end; 0 where the other one comes first. */
static int take(const uint8_t *text, size_t n, size_t *at, uint8_t until, uint8_t other, size_t *start,
                size_t *length) {
    *start = *at;
    while (*at < n && text[*at] != until && text[*at] != other) ++*at;
    *length = *at - *start;
    return *at < n ? text[(*at)++] == until : until == TK_MERGE_END;
}

/* A token to be looked up. */
typedef struct {
    const uint8_t *bytes;
    size_t n;
    uint64_t hash;
} query;

/* Merges whose slots are fetched into the cache side by side. */
enum { TOGETHER = 16 };

static query ask(const tk_token_index *index, const uint8_t *bytes, size_t n) {
    query q = {bytes, n, tk_token_hash(bytes, n)};
    TK_PREFETCH(index->slots + ((size_t)q.hash & index->mask));
    return q;
}

/* `joined` has room for as many bytes as the text: each merge leaves its result there. */
static int find(const tk_token_index *index, const uint8_t *text, size_t n, uint8_t between, size_t n_prefix,
                uint8_t *joined, uint32_t *merges, size_t n_merges, size_t *number) {
    query queries[3 * TOGETHER];
    size_t at = 0;
    for (*number = 0; *number < n_merges;) {
        size_t batch = 0, fits = 1;
        for (; fits && batch < TOGETHER && *number + batch < n_merges; batch += fits) {
            size_t left, right, n_left, n_right;
            fits = take(text, n, &at, between, TK_MERGE_END, &left, &n_left) &&
                   take(text, n, &at, TK_MERGE_END, between, &right, &n_right) && n_right >= n_prefix;
            if (!fits) break;
            memcpy(joined, text + left, n_left);
            memcpy(joined + n_left, text + right + n_prefix, n_right - n_prefix);
            queries[3 * batch] = ask(index, text + left, n_left);
            queries[3 * batch + 1] = ask(index, text + right, n_right);
            queries[3 * batch + 2] = ask(index, joined, n_left + n_right - n_prefix);
            joined += n_left + n_right - n_prefix;
        }
        for (size_t k = 0; k < 3 * batch; k++, merges++) {
            const query *q = queries + k;
            *merges = (uint32_t)index->slots[tk_token_index_slot(index, q->bytes, q->n, q->hash)];
            if (!(*merges)--) return *number += k / 3, TK_BAD_INPUT;
        }
        *number += batch;
        if (!fits) return TK_BAD_INPUT;
    }
    return at == n ? TK_OK : TK_BAD_INPUT;
}

int tk_find_merges(const tk_token_index *index, const uint8_t *text, size_t n, uint8_t between, size_t n_prefix,
                   uint32_t *merges, size_t n_merges, size_t *number) {
    uint8_t *joined = tk_alloc(n, 1);
    if (!joined) return TK_NO_MEMORY;
    int status = find(index, text, n, between, n_prefix, joined, merges, n_merges, number);
    free(joined);
    return status;
}
