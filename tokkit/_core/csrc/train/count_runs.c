/* Sorts, writes, reads and merges runs of counted words: see count_runs.h. */
#include "train/count_runs.h"

#include "text/utf8.h"

enum { MAX_VARINT = 10, RADIX_BITS = 8, RADIX = 1 << RADIX_BITS };

_Static_assert(MAX_VARINT * 7 >= 64 && 64 % RADIX_BITS == 0, "numbers of 64 bits");

/* The order of words. */
static int compare(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b) {
    int c = memcmp(a, b, n_a < n_b ? n_a : n_b);
    return c ? c : (n_a > n_b) - (n_a < n_b);
}

/* ---- blocks ---- */

void tk_count_block_free(tk_count_block *b) {
    free(b->bytes);
    free(b->last);
    memset(b, 0, sizeof *b);
}

void tk_count_block_clear(tk_count_block *b) { b->n = b->n_words = b->last_length = 0; }

static uint8_t *put_varint(uint8_t *p, uint64_t v) {
    for (; v >= 0x80; v >>= 7) *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

int tk_count_block_put(tk_count_block *b, const uint8_t *word, size_t n, int64_t count) {
    if (tk_reserve(&b->bytes, &b->capacity, b->n + n + 3 * MAX_VARINT, 1) ||
        tk_reserve(&b->last, &b->last_capacity, n, 1))
        return TK_NO_MEMORY;
    TK_ASSERT(n && count > 0 && (!b->last_length || compare(b->last, b->last_length, word, n) < 0));
    size_t shared = 0, most = n < b->last_length ? n : b->last_length;
    while (shared < most && word[shared] == b->last[shared]) shared++;
    uint8_t *p = put_varint(put_varint(b->bytes + b->n, shared), n - shared);
    memcpy(p, word + shared, n - shared);
    memcpy(b->last + shared, word + shared, n - shared);
    p = put_varint(p + (n - shared), (uint64_t)count);
    b->last_length = n;
    b->n = (size_t)(p - b->bytes);
    b->n_words++;
    b->total += (uint64_t)count;
    return TK_OK;
}

/* ---- order ---- */

static uint64_t prefix_of(const uint8_t *p, size_t n) {
    uint64_t v = 0;
    if (n >= 8) {
        for (size_t k = 0; k < 8; k++) v = v << 8 | p[k];
        return v;
    }
    for (size_t k = 0; k < n; k++) v = v << 8 | p[k];
    return n ? v << (8 * (8 - n)) : 0;
}

typedef struct {
    uint64_t prefix;
    uint32_t word, length;
    const uint8_t *bytes;
} tk_count_key;

static int in_order(const void *a, const void *b) {
    const tk_count_key *x = a, *y = b;
    return compare(x->bytes, x->length, y->bytes, y->length);
}

/* Words with equal prefixes stand together; order them by the rest. */
static int order_equals(const tk_word_counts *t, const uint64_t *prefixes, uint32_t *order) {
    tk_count_key *keys = NULL;
    size_t capacity = 0;
    for (size_t i = 0, j; i < t->n_words; i = j) {
        for (j = i + 1; j < t->n_words && prefixes[order[j]] == prefixes[order[i]]; j++) continue;
        if (j - i < 2) continue;
        if (tk_reserve(&keys, &capacity, j - i, sizeof *keys)) return free(keys), TK_NO_MEMORY;
        for (size_t k = i; k < j; k++) {
            const tk_counted_word *w = &t->words[order[k]];
            keys[k - i] = (tk_count_key){0, order[k], w->length, t->bytes + w->offset};
        }
        qsort(keys, j - i, sizeof *keys, in_order);
        for (size_t k = i; k < j; k++) order[k] = keys[k - i].word;
    }
    free(keys);
    return TK_OK;
}

/* By the prefixes, a byte a pass from the lowest; a byte that all words share takes no pass. */
static uint32_t *radix_sort(const uint64_t *prefixes, uint32_t *order, uint32_t *other, size_t n) {
    for (unsigned shift = 0; shift < 64; shift += RADIX_BITS) {
        size_t starts[RADIX + 1] = {0};
        for (size_t i = 0; i < n; i++) starts[(prefixes[i] >> shift & (RADIX - 1)) + 1]++;
        if (n && starts[(prefixes[0] >> shift & (RADIX - 1)) + 1] == n) continue;
        for (size_t k = 0; k < RADIX; k++) starts[k + 1] += starts[k];
        for (size_t i = 0; i < n; i++) other[starts[prefixes[order[i]] >> shift & (RADIX - 1)]++] = order[i];
        uint32_t *swapped = order;
        order = other;
        other = swapped;
    }
    return order;
}

int tk_count_order(const tk_word_counts *t, uint32_t **order) {
    size_t n = t->n_words;
    uint64_t *prefixes = tk_alloc(n, sizeof *prefixes);
    uint32_t *first = tk_alloc(n, sizeof *first), *second = tk_alloc(n, sizeof *second), *sorted = NULL;
    int status = TK_NO_MEMORY;
    *order = NULL;
    if (prefixes && first && second) {
        for (size_t w = 0; w < n; w++) {
            prefixes[w] = prefix_of(t->bytes + t->words[w].offset, t->words[w].length);
            first[w] = (uint32_t)w;
        }
        sorted = radix_sort(prefixes, first, second, n);
        status = order_equals(t, prefixes, sorted);
    }
    free(prefixes);
    if (sorted != first || status) free(first);
    if (sorted != second || status) free(second);
    TK_ASSERT(status || sorted == first || sorted == second);
    if (!status) *order = sorted;
    return status;
}

/* ---- reading ---- */

void tk_count_cursor_free(tk_count_cursor *c) {
    free(c->word);
    memset(c, 0, sizeof *c);
}

void tk_count_cursor_feed(tk_count_cursor *c, const uint8_t *block, size_t n) {
    TK_ASSERT(c->next == c->end && (block || !n)); /* the block before was read */
    c->next = block;
    c->end = block + n;
    c->at_start = 1;
}

/* 0 where it does not end in the block, or has more than 63 bits. */
static int get_varint(const uint8_t **p, const uint8_t *end, uint64_t *v) {
    *v = 0;
    for (unsigned shift = 0; *p < end && shift < 63; shift += 7) {
        uint8_t byte = *(*p)++;
        *v |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return 1;
    }
    return 0;
}

int tk_count_cursor_next(tk_count_cursor *c) {
    if (c->next == c->end) return TK_BLOCK_READ;
    uint64_t shared, more, count;
    if (!get_varint(&c->next, c->end, &shared) || !get_varint(&c->next, c->end, &more)) return TK_BAD_INPUT;
    if (more < 1 || more > (uint64_t)(c->end - c->next)) return TK_BAD_INPUT;
    if (c->at_start ? shared != 0 : shared > c->length) return TK_BAD_INPUT;
    const uint8_t *rest = c->next;
    c->next += more;
    if (!get_varint(&c->next, c->end, &count) || !count) return TK_BAD_INPUT;
    size_t n = (size_t)(shared + more);
    if (n > UINT32_MAX) return TK_BAD_INPUT;
    if (c->started) {
        int rises = c->at_start ? compare(rest, n, c->word, c->length) > 0
                                : shared == c->length || rest[0] > c->word[shared];
        if (!rises) return TK_BAD_INPUT;
    }
    if (tk_reserve(&c->word, &c->capacity, n, 1)) return TK_NO_MEMORY;
    memcpy(c->word + shared, rest, (size_t)more);
    c->length = n;
    c->count = (int64_t)count;
    if (shared < 8) c->prefix = prefix_of(c->word, n);
    c->at_start = 0;
    c->started = 1;
    tk_work += 1 + more;
    return TK_OK;
}

int tk_count_cursor_count(tk_count_cursor *c, tk_word_counts *words, int text, uint64_t *total, uint64_t most) {
    TK_ASSERT(*total <= most);
    int status;
    while (!(status = tk_count_cursor_next(c))) {
        if (text && tk_utf8_invalid(c->word, c->length) != c->length) return TK_BAD_INPUT;
        if ((uint64_t)c->count > (most - *total) / c->length) return TK_TOO_LARGE;
        *total += (uint64_t)c->count * c->length;
        status = tk_word_counts_add(words, c->word, c->length, c->count);
        if (status) return status;
    }
    return status == TK_BLOCK_READ ? TK_OK : status;
}

/* ---- merging ---- */

int tk_count_merge_begin(tk_count_merge *m, size_t n, int64_t minimum) {
    memset(m, 0, sizeof *m);
    m->cursors = tk_calloc(n, sizeof *m->cursors);
    m->heap = tk_alloc(n, sizeof *m->heap);
    m->minimum = minimum;
    if (!m->cursors || !m->heap) return TK_NO_MEMORY;
    m->n = n;
    m->divisor = 1;
    for (size_t i = 0; i < n; i++) m->cursors[i].factor = 1;
    return TK_OK;
}

void tk_count_merge_free(tk_count_merge *m) {
    for (size_t i = 0; i < m->n; i++) tk_count_cursor_free(&m->cursors[i]);
    free(m->cursors);
    free(m->heap);
    free(m->word);
    memset(m, 0, sizeof *m);
}

static int before(const tk_count_merge *m, uint32_t a, uint32_t b) {
    TK_ASSERT(a < m->n && b < m->n && a != b);
    const tk_count_cursor *x = &m->cursors[a], *y = &m->cursors[b];
    if (x->prefix != y->prefix) return x->prefix < y->prefix;
    return compare(x->word, x->length, y->word, y->length) < 0;
}

static void sift_down(tk_count_merge *m, size_t i) {
    uint32_t moved = m->heap[i];
    for (size_t child; (child = 2 * i + 1) < m->n_heap; i = child) {
        if (child + 1 < m->n_heap && before(m, m->heap[child + 1], m->heap[child])) child++;
        if (!before(m, m->heap[child], moved)) break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = moved;
}

static void sift_up(tk_count_merge *m, size_t i) {
    uint32_t moved = m->heap[i];
    for (; i && before(m, moved, m->heap[(i - 1) / 2]); i = (i - 1) / 2) m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = moved;
}

/* Write the word at hand, whose sum is complete. */
static int put_sum(tk_count_merge *m, tk_count_block *out) {
    int64_t sum = m->sum;
    m->sum = 0;
    if (!sum) return TK_OK;
    if (m->divisor > 1) {
        int64_t rest = sum % m->divisor;
        sum = sum / m->divisor + (rest >= m->divisor - rest);
    }
    if (!sum || sum < m->minimum) {
        m->n_dropped++;
        m->dropped += (uint64_t)sum;
        return TK_OK;
    }
    return tk_count_block_put(out, m->word, m->length, sum);
}

/* Add what the cursor has to the word at hand, or begin with its word. */
static int take(tk_count_merge *m, const tk_count_cursor *c, tk_count_block *out) {
    TK_ASSERT(c->count > 0 && c->factor >= 1 && m->divisor >= 1);
    if (c->count > INT64_MAX / c->factor) return TK_TOO_LARGE;
    int64_t count = c->count * c->factor;
    if (m->sum && m->length == c->length && !memcmp(m->word, c->word, c->length)) {
        if (count > INT64_MAX - m->sum) return TK_TOO_LARGE;
        m->sum += count;
        return TK_OK;
    }
    if (put_sum(m, out) || tk_reserve(&m->word, &m->capacity, c->length, 1)) return TK_NO_MEMORY;
    memcpy(m->word, c->word, c->length);
    m->length = c->length;
    m->sum = count;
    return TK_OK;
}

/* The cursor *which was fed, or has ended. */
static int resume(tk_count_merge *m, size_t which, int ended) {
    int begins = which == m->n_begun;
    TK_ASSERT(which <= m->n_begun && (begins || (m->n_heap && m->heap[0] == which)));
    int status = ended ? TK_BLOCK_READ : tk_count_cursor_next(&m->cursors[which]);
    if (status < 0) return status;
    m->n_begun += (size_t)begins;
    if (begins && !status) {
        m->heap[m->n_heap] = (uint32_t)which;
        sift_up(m, m->n_heap++);
    } else if (!begins) {
        if (status) m->heap[0] = m->heap[--m->n_heap];
        if (m->n_heap) sift_down(m, 0);
    }
    return TK_OK;
}

int tk_count_merge_run(tk_count_merge *m, tk_count_block *out, size_t size, size_t *which, int ended) {
    if (*which < m->n) {
        int status = resume(m, *which, ended);
        if (status) return status;
        *which = m->n;
    }
    if (m->n_begun < m->n) return *which = m->n_begun, TK_MERGE_WANTS;
    while (m->n_heap) {
        if (out->n >= size) return TK_MERGE_FULL;
        uint32_t top = m->heap[0];
        int status = take(m, &m->cursors[top], out);
        if (!status) status = tk_count_cursor_next(&m->cursors[top]);
        if (status) return *which = top, status == TK_BLOCK_READ ? TK_MERGE_WANTS : status;
        sift_down(m, 0);
    }
    return put_sum(m, out);
}
