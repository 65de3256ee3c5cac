/* Sorts suffixes by as many symbols as fit in 64 bits, then equal ones by the next symbols: see suffix_sort.h.

   Words are short and differ early, so that one or two rounds sort nearly all of them; the depth is that of a piece, so
   that equal texts, however long, cost a bounded number of rounds. */
#include "train/suffix_sort.h"

enum { BY_INSERTION = 24, BY_DIGITS = 512 };

typedef struct {
    uint64_t key;
    uint32_t position;
} item;

/* The next symbols from `depth` on, the first in the highest bits. */
TK_INLINE uint64_t key_of(const tk_symbol_text *t, uint32_t position, uint32_t depth) {
    TK_ASSERT(depth < t->depth && position + depth < t->n);
    uint32_t n = 64 / t->bits, left = t->depth - depth;
    const uint32_t *p = t->symbols + position + depth;
    uint64_t key = 0;
    uint32_t k = 0;
    for (uint32_t most = n < left ? n : left; k < most && p[k]; k++) key = key << t->bits | p[k];
    return k == n ? key : k ? key << (t->bits * (n - k)) : 0;
}

static void by_insertion(item *a, size_t n) {
    for (size_t i = 1; i < n; i++) {
        item x = a[i];
        size_t j = i;
        for (; j && a[j - 1].key > x.key; j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

/* Bottom-up from runs that were sorted by insertion. */
static void by_merging(item *a, item *spare, size_t n) {
    for (size_t i = 0; i < n; i += BY_INSERTION) by_insertion(a + i, n - i < BY_INSERTION ? n - i : BY_INSERTION);
    item *from = a, *to = spare;
    for (size_t width = BY_INSERTION; width < n; width *= 2) {
        for (size_t start = 0; start < n; start += 2 * width) {
            size_t middle = start + width < n ? start + width : n, end = middle + width < n ? middle + width : n;
            for (size_t i = start, j = middle, k = start; k < end; k++)
                to[k] = i < middle && (j == end || from[i].key <= from[j].key) ? from[i++] : from[j++];
        }
        item *swap = from;
        from = to;
        to = swap;
    }
    if (from != a) memcpy(a, from, n * sizeof *a);
}

/* Byte by byte from the lowest, leaving out bytes that are the same in all keys. */
static void by_digits(item *a, item *spare, size_t n) {
    item *from = a, *to = spare;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t ends[256] = {0}, at = 0;
        for (size_t i = 0; i < n; i++) ends[from[i].key >> shift & 0xFF]++;
        if (ends[from[0].key >> shift & 0xFF] == n) continue;
        for (size_t d = 0; d < 256; d++) {
            size_t count = ends[d];
            ends[d] = at;
            at += count;
        }
        for (size_t i = 0; i < n; i++) to[ends[from[i].key >> shift & 0xFF]++] = from[i];
        item *swap = from;
        from = to;
        to = swap;
    }
    if (from != a) memcpy(a, from, n * sizeof *a);
}

/* At most depth / symbols-in-a-key levels deep. */
static void sort_range(const tk_symbol_text *t, item *a, item *spare, size_t n, uint32_t depth) {
    uint32_t step = 64 / t->bits;
    tk_work += n;
    uint64_t last = (UINT64_C(1) << t->bits) - 1; /* no key is the whole 64 bits wide in which this would be wrong */
    for (size_t i = 0; i < n; i++) a[i].key = key_of(t, a[i].position, depth);
    if (n <= BY_INSERTION) by_insertion(a, n);
    else if (n <= BY_DIGITS) by_merging(a, spare, n);
    else by_digits(a, spare, n);
    if (depth + step >= t->depth) return;
    for (size_t start = 0, end; start < n; start = end) {
        for (end = start + 1; end < n && a[end].key == a[start].key; end++) {}
        if (end - start > 1 && a[start].key & last) sort_range(t, a + start, spare, end - start, depth + step);
    }
}

int tk_suffix_sort(const tk_symbol_text *t, const char *folder, tk_big_block *order, size_t *n) {
    TK_ASSERT(t->bits && t->bits <= 32 && t->depth && (!t->n || !t->symbols[t->n - 1]));
    if (t->n > UINT32_MAX) return TK_TOO_LARGE;
    tk_big_block all = {0}, spare = {0};
    size_t found = 0;
    for (size_t i = 0; i < t->n; i++) found += t->symbols[i] != 0;
    *n = found;
    int status = tk_big_block_make(order, folder, found, sizeof(uint32_t));
    if (!status) status = tk_big_block_make(&all, folder, found, sizeof(item));
    if (!status) status = tk_big_block_make(&spare, folder, found, sizeof(item));
    if (!status) {
        item *items = all.data;
        uint32_t *out = order->data;
        found = 0;
        for (size_t i = 0; i < t->n; i++)
            if (t->symbols[i]) {
                TK_ASSERT(t->symbols[i] >> (t->bits - 1) <= 1);
                items[found++].position = (uint32_t)i;
            }
        sort_range(t, items, spare.data, found, 0);
        for (size_t i = 0; i < found; i++) out[i] = items[i].position;
    }
    tk_big_block_free(&all);
    tk_big_block_free(&spare);
    return status;
}
