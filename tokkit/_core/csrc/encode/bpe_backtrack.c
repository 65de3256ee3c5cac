/* The trie of tokens, the validity of pairs, and the walk that uses both: see bpe_backtrack.h. */
#include "encode/bpe_backtrack.h"

enum { MEMO_BITS = 15, CANDIDATES_A_BYTE = 64, NODE_BITS = 20, NO_NODE = (1 << NODE_BITS) - 1 };
enum { BYTES_A_TOKEN = 5, FEW_TOKENS = 64 }; /* what a trie costs, in bytes of text that is merged for want of it */

TK_INLINE size_t edge_slot(const tk_trie *t, uint64_t key) {
    return (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> t->shift);
}

/* What an edge is for: a character of three bytes, or else one byte. */
TK_INLINE uint32_t symbol_at(const uint8_t *p, size_t n) {
    if (p[0] >> 4 == 0xE && n > 2 && p[1] >> 6 == 2 && p[2] >> 6 == 2)
        return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
    return p[0];
}

TK_INLINE size_t symbol_length(uint32_t symbol) { return symbol < 256 ? 1 : 3; }

/* The child of `node` by `symbol`, or TK_NONE. */
TK_INLINE uint32_t child_of(const tk_trie *t, uint32_t node, uint32_t symbol) {
    uint64_t key = (uint64_t)node << 24 | symbol;
    for (size_t slot = edge_slot(t, key);; slot = (slot + 1) & t->mask) {
        uint64_t edge = t->edges[slot];
        if (edge >> NODE_BITS == key) return (uint32_t)edge & NO_NODE;
        if (edge == UINT64_MAX) return TK_NONE;
    }
}

static void add_edge(tk_trie *t, uint64_t key, uint32_t child) {
    size_t slot = edge_slot(t, key);
    while (t->edges[slot] != UINT64_MAX) slot = (slot + 1) & t->mask;
    t->edges[slot] = key << NODE_BITS | child;
}

/* A node more, and room for the edge to it: at most two thirds of the slots are taken. */
static int new_node(tk_trie *t, uint32_t shorter, uint32_t *node) {
    if (t->nodes >= NO_NODE) return TK_TOO_LARGE;
    if (t->nodes == t->capacity) {
        size_t capacity = 0;
        if (tk_reserve(&t->shorter, &capacity, 2 * t->capacity + 64, sizeof *t->shorter)) return TK_NO_MEMORY;
        capacity = 0;
        if (tk_reserve(&t->token, &capacity, 2 * t->capacity + 64, sizeof *t->token)) return TK_NO_MEMORY;
        t->capacity = capacity;
    }
    if (!t->edges || 3 * t->nodes > 2 * t->mask) {
        uint64_t *old = t->edges;
        size_t slots = old ? t->mask + 1 : 0, grown = old ? 4 * slots : 64;
        t->edges = tk_alloc(grown, sizeof *t->edges);
        if (!t->edges) return t->edges = old, TK_NO_MEMORY;
        memset(t->edges, 0xFF, grown * sizeof *t->edges);
        t->shift = old ? t->shift - 2 : 58;
        t->mask = grown - 1;
        for (size_t i = 0; i < slots; i++)
            if (old[i] != UINT64_MAX) add_edge(t, old[i] >> NODE_BITS, (uint32_t)old[i] & NO_NODE);
        free(old);
    }
    *node = (uint32_t)t->nodes++;
    t->token[*node] = TK_NONE;
    t->shorter[*node] = shorter;
    return TK_OK;
}

/* The deepest node below `node` by a part of the character at p: of tokens that end inside it. */
TK_INLINE uint32_t part_of_character(const tk_trie *t, uint32_t node, const uint8_t *p) {
    uint32_t child = child_of(t, node, p[0]), last;
    if (child == TK_NONE) return node;
    last = child_of(t, child, p[1]);
    return last == TK_NONE ? child : last;
}

/* The node itself where a token ends, or else the nearest above of which that holds. */
TK_INLINE uint32_t with_token(const tk_trie *t, uint32_t node) {
    return t->token[node] != TK_NONE ? node : t->shorter[node];
}

/* Put token k in. Shorter ones are in already, so the nearest token above shows on the way. */
static int add_token(tk_trie *t, const uint8_t *bytes, size_t length, uint32_t k) {
    uint32_t node = 0, child;
    for (size_t i = t->rooted; i < length;) {
        uint32_t symbol = symbol_at(bytes + i, length - i);
        if ((child = child_of(t, node, symbol)) == TK_NONE) {
            uint32_t above = symbol < 256 ? node : part_of_character(t, node, bytes + i);
            int status = new_node(t, with_token(t, above), &child);
            if (status != TK_OK) return status;
            add_edge(t, (uint64_t)node << 24 | symbol, child);
        }
        node = child;
        i += symbol_length(symbol);
    }
    t->token[node] = k;
    return TK_OK;
}

/* Put those of a bucket in that have at most `longest` bytes. */
static int add_bucket(tk_trie *t, const tk_bpe *m, unsigned bucket, uint32_t longest) {
    int status = TK_OK;
    for (uint32_t i = m->bucket[bucket]; i < m->bucket[bucket + 1] && status == TK_OK; i++) {
        uint32_t k = m->by_bucket[i];
        if (m->length[k] > longest) break;
        status = add_token(t, m->bytes[k], m->length[k], k);
    }
    return status;
}

/* The root is the first byte of all tokens, but the empty string where they begin with a character of three. */
static int fill(tk_trie *t, const tk_bpe *m, unsigned bucket) {
    int by_script = bucket >= TK_BY_SCRIPT, spaced = by_script ? bucket - TK_BY_SCRIPT >= 1024 : bucket >= 256;
    unsigned number = by_script ? 0xE0 + ((bucket - TK_BY_SCRIPT) >> 6 & 15) : bucket & 255;
    uint8_t lead = (uint8_t)number;
    uint32_t root;
    int status = new_node(t, TK_NONE, &root);
    t->rooted = !by_script || spaced;
    if (status == TK_OK && t->rooted) t->token[root] = spaced ? ' ' : lead;
    if (status == TK_OK && by_script) /* the lead byte alone, and " \xE0" */
        status = spaced ? add_bucket(t, m, 256u + lead, 2) : add_token(t, &lead, 1, lead);
    return status == TK_OK ? add_bucket(t, m, bucket, UINT32_MAX) : status;
}

static tk_trie *build(tk_bpe *model, unsigned bucket) {
    tk_trie *t = tk_calloc(1, sizeof *t);
    if (!t) return NULL;
    if (fill(t, model, bucket) == TK_OK) return t;
    model->monotone = 0; /* too large: from now on all is merged */
    return tk_trie_free(t), NULL;
}

/* The model's trie for tokens at the start of n bytes, the rest of a pretoken of `whole`: made once pretokens of so
   many bytes have gone without that its making pays. Threads may race: one trie is kept. */
static const tk_trie *trie_of(tk_bpe *model, tk_merger *s, const uint8_t *bytes, size_t n, size_t whole) {
    unsigned bucket = tk_bucket(bytes, n);
    tk_trie *trie = atomic_load_explicit(&model->tries[bucket], memory_order_acquire), *none = NULL;
    if (TK_LIKELY(trie != NULL)) return trie;
    size_t tokens = model->bucket[bucket + 1] - model->bucket[bucket];
    s->waited[bucket] += whole;
    if (s->waited[bucket] < BYTES_A_TOKEN * (tokens + FEW_TOKENS)) return NULL;
    if (!(trie = build(model, bucket))) return NULL;
    if (atomic_compare_exchange_strong(&model->tries[bucket], &none, trie)) return trie;
    return tk_trie_free(trie), none; /* another thread was first: `none` has its trie now */
}

void tk_trie_free(tk_trie *t) {
    if (!t) return;
    free(t->edges);
    free(t->token);
    free(t->shorter);
    free(t);
}

/* Walk down the right edge of a and the left edge of b, undoing the later of the two merges each time. At each
   step u and v stand side by side, u until merge number `until_u` and v until `until_v`. They would merge
   (number r) if that comes before: at equal numbers the left one is first, so r < until_u, r <= until_v. */
int tk_valid_pair(const tk_bpe *m, uint32_t a, uint32_t b) {
    uint32_t until_a = TK_NONE, until_b = TK_NONE - 1;
    for (;;) {
        uint32_t r = tk_pair(m, a, b);
        if (r < until_a && r <= until_b) return 0;
        if (a < 256 && b < 256) return 1;
        if (b < 256 || (a >= 256 && a > b)) until_a = a, a = m->right[a];
        else until_b = b, b = m->left[b];
    }
}

/* The same, remembered in a direct-mapped table: a << 21 | b, and the answer in the top bit. */
TK_INLINE int valid_pair(const tk_bpe *m, uint64_t *memo, uint32_t a, uint32_t b) {
    uint64_t key = (uint64_t)a << TK_NUMBER_BITS | b;
    uint64_t *slot = memo + (key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - MEMO_BITS));
    if ((*slot & ~(UINT64_C(1) << 63)) == key) return (int)(*slot >> 63);
    int valid = tk_valid_pair(m, a, b);
    *slot = key | (uint64_t)valid << 63;
    return valid;
}

/* The node of the longest token at p, which has n bytes. */
TK_INLINE uint32_t longest_match(const tk_trie *t, const uint8_t *p, size_t n) {
    uint32_t node = 0, child;
    for (size_t i = t->rooted; i < n; node = child) {
        uint32_t symbol = symbol_at(p + i, n - i);
        if ((child = child_of(t, node, symbol)) == TK_NONE) {
            if (symbol >= 256) node = part_of_character(t, node, p + i);
            break;
        }
        i += symbol_length(symbol);
    }
    return with_token(t, node);
}

static int reserve(tk_merger *s, size_t n) {
    int status;
    if (!s->memo) {
        s->memo = tk_alloc((size_t)1 << MEMO_BITS, sizeof *s->memo);
        if (!s->memo) return TK_NO_MEMORY;
        memset(s->memo, 0x7F, ((size_t)1 << MEMO_BITS) * sizeof *s->memo); /* no key has these bits */
    }
    if ((status = tk_reserve(&s->dead, &s->dead_capacity, n / 8 + 1, 1))) return status;
    if ((status = tk_reserve(&s->tokens, &s->tokens_capacity, n, sizeof *s->tokens))) return status;
    if ((status = tk_reserve(&s->nodes, &s->nodes_capacity, n, sizeof *s->nodes))) return status;
    if (!s->waited && !(s->waited = tk_calloc(TK_BUCKETS, sizeof *s->waited))) return TK_NO_MEMORY;
    memset(s->dead, 0, n / 8 + 1);
    return TK_OK;
}

/* The number of tokens, or 0 where there is no sequence, a trie is wanting, or *left candidates were not enough. */
TK_INLINE size_t walk(tk_bpe *model, tk_merger *s, const uint8_t *bytes, size_t n, size_t *left) {
    uint32_t *tokens = s->tokens, *nodes = s->nodes;
    const tk_trie *trie = trie_of(model, s, bytes, n, n);
    size_t at = 0, k = 0;
    if (!trie) return 0;
    for (uint32_t node = longest_match(trie, bytes, n);;) {
        size_t end = 0;
        for (; node != TK_NONE; node = trie->shorter[node]) {
            if (!*left) return 0;
            --*left;
            uint32_t candidate = trie->token[node];
            end = at + model->length[candidate];
            if (!(s->dead[end >> 3] >> (end & 7) & 1) && (!k || valid_pair(model, s->memo, tokens[k - 1], candidate)))
                break;
        }
        if (node != TK_NONE) {
            tokens[k] = trie->token[node];
            nodes[k++] = node;
            if ((at = end) == n) return k;
            if (!(trie = trie_of(model, s, bytes + at, n - at, n))) return 0;
            node = longest_match(trie, bytes + at, n - at);
        } else {
            if (!k) return 0; /* no sequence at all */
            s->dead[at >> 3] |= (uint8_t)(1u << (at & 7));
            at -= model->length[tokens[--k]];
            if (!(trie = trie_of(model, s, bytes + at, n - at, n))) return 0;
            node = trie->shorter[nodes[k]];
        }
    }
}

int tk_backtrack(tk_bpe *model, tk_merger *s, const uint8_t *bytes, size_t n, uint32_t **symbols, size_t *count) {
    int status = reserve(s, n);
    if (status != TK_OK) return status;
    size_t most = n <= SIZE_MAX / CANDIDATES_A_BYTE ? n * CANDIDATES_A_BYTE : SIZE_MAX, left = most;
    *symbols = s->tokens;
    *count = walk(model, s, bytes, n, &left);
    tk_work += most - left;
    return TK_OK;
}
