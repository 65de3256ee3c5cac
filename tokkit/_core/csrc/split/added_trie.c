/* Builds the tries and filters that search for added tokens: see added.h. */
#include "split/added.h"
#include "split/added_trie.h"

enum { BACKWARD_FROM = 32 }; /* bytes of the longest token: for shorter ones the trie reads little in vain */
enum { BITS_A_TOKEN = 64 };  /* of the hashes of beginnings: so few of them are met by chance */

static int trie_init(tk_added_trie *t, size_t n_bytes) {
    size_t n_slots = 64;
    if (n_bytes >= MOST_NODES) return TK_TOO_LARGE;
    while (n_slots < 2 * (n_bytes + 1)) n_slots *= 2;
    t->slots = tk_calloc(n_slots, sizeof *t->slots);
    t->token = tk_calloc(n_bytes + 1, sizeof *t->token);
    t->only = tk_calloc(n_bytes + 1, sizeof *t->only);
    t->mask = n_slots - 1;
    t->n_nodes = 1;
    return t->slots && t->token && t->only ? TK_OK : TK_NO_MEMORY;
}

static uint32_t trie_child_made(tk_added_trie *t, uint32_t node, uint8_t byte) {
    uint64_t *slot = trie_slot(t, node, byte);
    TK_ASSERT(t->n_nodes < MOST_NODES && 2 * t->n_nodes <= t->mask + 1); /* free slots end each search */
    if (!*slot) *slot = trie_key(node, byte) << NODE_BITS | t->n_nodes++;
    return (uint32_t)(*slot & (MOST_NODES - 1));
}

static void trie_add(tk_added_trie *t, const uint8_t *bytes, size_t n, uint32_t number, int backward) {
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) {
        node = trie_child_made(t, node, bytes[backward ? n - 1 - i : i]);
        t->only[node] = t->only[node] ? UINT32_MAX : number + 1;
    }
    if (!t->token[node]) t->token[node] = number + 1;
}

/* Of the backward trie: links to the longest suffix, and in each node the longest token that is a suffix. */
static int link_suffixes(tk_added *s) {
    tk_added_trie *t = &s->backward;
    size_t n = t->n_nodes, done = 1, found = 1;
    uint32_t *order = tk_alloc(n, sizeof *order), *parent = tk_alloc(n, sizeof *parent);
    uint32_t *first = tk_calloc(n, sizeof *first), *next = tk_calloc(n, sizeof *next);
    uint8_t *byte = tk_alloc(n, 1);
    s->fail = tk_calloc(n, sizeof *s->fail);
    int status = order && parent && first && next && byte && s->fail ? TK_OK : TK_NO_MEMORY;
    for (size_t i = 0; status == TK_OK && i <= t->mask; i++) { /* lists of children */
        if (!t->slots[i]) continue;
        uint32_t child = (uint32_t)(t->slots[i] & (MOST_NODES - 1));
        parent[child] = (uint32_t)(t->slots[i] >> (NODE_BITS + 8));
        byte[child] = (uint8_t)(t->slots[i] >> NODE_BITS);
        next[child] = first[parent[child]];
        first[parent[child]] = child;
    }
    if (status == TK_OK) order[0] = 0;
    for (size_t k = 0; status == TK_OK && k < found; k++) { /* by depth */
        uint32_t node = order[k];
        for (uint32_t child = first[node]; child; child = next[child]) order[found++] = child;
    }
    for (; status == TK_OK && done < found; done++) {
        uint32_t node = order[done], above = parent[node];
        if (above) s->fail[node] = trie_step(t, s->fail, s->fail[above], byte[node]);
        if (!t->token[node]) t->token[node] = t->token[s->fail[node]];
    }
    free(order), free(parent), free(first), free(next), free(byte);
    return status;
}

/* ---- the filter */

typedef struct {
    uint8_t bytes[TK_ADDED_LOOK];
    uint8_t n;
} beginning;

static int by_bytes(const void *a, const void *b) {
    const beginning *x = a, *y = b;
    if ((x->n < TK_ADDED_LOOK) != (y->n < TK_ADDED_LOOK)) return x->n < TK_ADDED_LOOK ? -1 : 1; /* short ones first */
    return memcmp(x->bytes, y->bytes, TK_ADDED_LOOK);
}

static void filter_add(tk_added_filter *f, const beginning *b, unsigned bucket) {
    const uint8_t bit = (uint8_t)(1u << bucket);
    for (unsigned k = 0; k < TK_ADDED_LOOK; k++) {
        for (unsigned nibble = 0; k >= b->n && nibble < 16; nibble++) /* whatever stands after a short one */
            f->low[k][nibble] |= bit, f->high[k][nibble] |= bit;
        if (k < b->n) f->low[k][b->bytes[k] & 15] |= bit, f->high[k][b->bytes[k] >> 4] |= bit;
    }
}

/* Beginnings that differ, in order, so that those in one bucket are alike; the short ones have one of their own. */
static int make_filter(tk_added *s, const uint8_t *bytes, const int64_t *ends) {
    beginning *list = tk_calloc(s->n_tokens, sizeof *list);
    size_t n = 0, n_short = 0;
    s->begins_shift = 64 - 12;
    while ((size_t)1 << (64 - s->begins_shift) < BITS_A_TOKEN * s->n_tokens) s->begins_shift--;
    s->begins = tk_calloc((size_t)1 << (64 - s->begins_shift - 3), 1);
    if (!list || !s->begins) return free(list), TK_NO_MEMORY;
    for (size_t k = 0; k < s->n_tokens; k++) {
        const uint8_t *p = bytes + (k ? ends[k - 1] : 0);
        if (!s->lengths[k]) continue;
        list[n].n = (uint8_t)(s->lengths[k] < TK_ADDED_LOOK ? s->lengths[k] : TK_ADDED_LOOK);
        memcpy(list[n].bytes, p, list[n].n);
        n++;
        if (s->lengths[k] < 4) s->is_short[*p] = 1;
        else tk_set_bit(s->begins, added_hash(s, p, s->lengths[k] < 6 ? 4 : s->lengths[k] < 8 ? 6 : 8));
    }
    qsort(list, n, sizeof *list, by_bytes);
    size_t kept = 0;
    for (size_t k = 0; k < n; k++)
        if (!kept || memcmp(list + k, list + kept - 1, sizeof *list)) list[kept++] = list[k];
    while (n_short < kept && list[n_short].n < TK_ADDED_LOOK) n_short++;
    const size_t first = n_short > 0, buckets = TK_ADDED_BUCKETS - first, n_long = kept - n_short;
    for (size_t k = 0; k < kept; k++)
        filter_add(&s->filter, list + k,
                   k < n_short ? 0 : (unsigned)(first + (k - n_short) * buckets / (n_long ? n_long : 1)));
    free(list);
    return TK_OK;
}

int tk_added_init(tk_added *s, const uint8_t *bytes, const int64_t *ends, const uint8_t *flags, size_t n_tokens,
                  int isa) {
    TK_ASSERT(s && (n_tokens == 0 || (bytes && ends && flags)));
    memset(s, 0, sizeof *s);
    const size_t n_bytes = n_tokens ? (size_t)ends[n_tokens - 1] : 0;
    s->n_tokens = n_tokens;
    s->flags = tk_alloc(n_tokens, 1);
    s->contents = tk_alloc(n_bytes, 1);
    s->starts = tk_alloc(n_tokens, sizeof *s->starts);
    s->lengths = tk_alloc(n_tokens, sizeof *s->lengths);
    if (!s->flags || !s->contents || !s->starts || !s->lengths) return TK_NO_MEMORY;
    int status = trie_init(&s->forward, n_bytes);
    if (status != TK_OK) return status;
    if (n_tokens) memcpy(s->flags, flags, n_tokens), memcpy(s->contents, bytes, n_bytes);
    for (size_t k = 0; k < n_tokens; k++) {
        size_t start = k ? (size_t)ends[k - 1] : 0, n = (size_t)ends[k] - start;
        TK_ASSERT(ends[k] >= (k ? ends[k - 1] : 0) && (size_t)ends[k] <= n_bytes);
        s->starts[k] = (uint32_t)start;
        s->lengths[k] = (uint32_t)n;
        if (n > s->longest) s->longest = n;
        if (n) trie_add(&s->forward, bytes + start, n, (uint32_t)k, 0);
    }
    for (unsigned byte = 0; byte < 256; byte++)
        if ((s->root[byte] = trie_child(&s->forward, 0, (uint8_t)byte))) s->n_first++, s->only = (int)byte;
    if (s->longest >= BACKWARD_FROM) {
        status = trie_init(&s->backward, n_bytes);
        for (size_t k = 0; status == TK_OK && k < n_tokens; k++) {
            size_t start = k ? (size_t)ends[k - 1] : 0;
            if (s->lengths[k]) trie_add(&s->backward, bytes + start, s->lengths[k], (uint32_t)k, 1);
        }
        if (status == TK_OK) status = link_suffixes(s);
        if (status != TK_OK) return status;
    }
    s->by = tk_byte_kernels_of(isa);
    return make_filter(s, bytes, ends);
}

void tk_added_free(tk_added *s) {
    free(s->forward.slots), free(s->forward.token), free(s->forward.only);
    free(s->backward.slots), free(s->backward.token), free(s->backward.only);
    free(s->fail), free(s->contents), free(s->starts), free(s->lengths), free(s->flags), free(s->begins);
    memset(s, 0, sizeof *s);
}
