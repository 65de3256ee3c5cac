/* Merges spelt as two strings each in, the numbers of those tokens and of their results out: see merge_list.h. */
#include "merge_list.h"

/* The string from *at up to a separator, which is passed over, or to the end; 0 where the other one comes first. */
static int take(const uint8_t *text, size_t n, size_t *at, uint8_t until, uint8_t other, size_t *start,
                size_t *length) {
    *start = *at;
    while (*at < n && text[*at] != until && text[*at] != other) ++*at;
    *length = *at - *start;
    return *at < n ? text[(*at)++] == until : until == TK_MERGE_END;
}

static int find(const tk_token_index *index, const uint8_t *text, size_t n, uint8_t between, size_t n_prefix,
                uint8_t *joined, uint32_t *merges, size_t n_merges, size_t *number) {
    size_t at = 0;
    for (*number = 0; *number < n_merges; ++*number, merges += 3) {
        size_t left, right, n_left, n_right;
        if (!take(text, n, &at, between, TK_MERGE_END, &left, &n_left) ||
            !take(text, n, &at, TK_MERGE_END, between, &right, &n_right) || n_right < n_prefix)
            return TK_BAD_INPUT;
        memcpy(joined, text + left, n_left);
        memcpy(joined + n_left, text + right + n_prefix, n_right - n_prefix);
        merges[0] = tk_token_index_find(index, text + left, n_left);
        merges[1] = tk_token_index_find(index, text + right, n_right);
        merges[2] = tk_token_index_find(index, joined, n_left + n_right - n_prefix);
        for (int side = 0; side < 3; side++)
            if (!merges[side]--) return TK_BAD_INPUT;
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
