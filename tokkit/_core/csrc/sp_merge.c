/* Bytes of the buffer in, tokens out, by BPE as sentencepiece has it: see sp_engine.h.

   The pair whose piece has the greatest score merges first, of equal ones the leftmost. User-defined pieces stand as
   they are, the longest where several begin; nothing merges with them. A few symbols are looked through for each merge;
   more wait in a heap, so that a long run costs O(n log n). */
#include "sp_lattice.h"

enum { FEW = 48, NO_SYMBOL = UINT32_MAX };
#define NO_PAIR UINT64_MAX

typedef struct {
    uint32_t id, start, previous, next; /* id NO_SYMBOL: frozen, unknown, or merged into the one before */
    uint32_t token, end;                /* both are numbers of symbols */
} symbol;

/* A merge that may happen: it is out of date when its symbols are others by then. */
typedef struct {
    uint64_t order; /* rank, then the left symbol */
    uint32_t right, left_id, right_id, merged;
} candidate;

/* rank << 32 | merged, or NO_PAIR. */
TK_INLINE uint64_t look_up(const tk_sp *m, uint32_t left, uint32_t right) {
    uint64_t key = (uint64_t)left << TK_SP_PAIR_BITS | right, hash = tk_sp_pair_hash(key);
    size_t bit = (size_t)(hash >> (64 - TK_SP_MAY_BITS));
    if (left == NO_SYMBOL || right == NO_SYMBOL || !(m->may_pair[bit >> 6] >> (bit & 63) & 1)) return NO_PAIR;
    for (size_t slot = (size_t)(hash >> 32) & m->pair_mask;; slot = (slot + 1) & m->pair_mask) {
        uint64_t pair = m->pairs[slot];
        if (pair == UINT64_MAX) return NO_PAIR;
        uint32_t merged = (uint32_t)pair & ((UINT32_C(1) << TK_SP_PAIR_BITS) - 1);
        if (pair >> TK_SP_PAIR_BITS == key) return (uint64_t)(m->ranks ? m->ranks[merged] : merged) << 32 | merged;
    }
}

/* Which two an unused piece was made of last: it is split again in the end. */
TK_INLINE void remember(const tk_sp *m, tk_sp_scratch *w, uint64_t pair, uint32_t left, uint32_t right) {
    uint32_t merged = (uint32_t)pair;
    if (pair == NO_PAIR || !m->unused || !m->unused[merged]) return;
    w->parts[2 * merged] = left;
    w->parts[2 * merged + 1] = right;
}

static size_t read_symbols(const tk_sp *m, const uint8_t *p, size_t n, symbol *symbols) {
    size_t count = 0;
    for (size_t at = 0; at < n; count++) {
        size_t end = at;
        uint32_t id = TK_NO_ID;
        int frozen = 0;
        uint64_t node = m->frozen.root;
        for (size_t i = at; i < n && node;) {
            node = tk_trie_step(&m->frozen, node, p[i++]);
            if (node && tk_trie_id(node) != TK_NO_ID) end = i, id = tk_trie_id(node), frozen = 1;
        }
        if (!frozen) {
            end = at + tk_sp_length(p[at], n - at);
            id = tk_trie_find(&m->trie, p + at, end - at);
        }
        uint32_t number = id == TK_NO_ID ? NO_SYMBOL : m->numbers[id];
        symbols[count] = (symbol){frozen ? NO_SYMBOL : number, (uint32_t)at, (uint32_t)count - 1, (uint32_t)count + 1,
                                  number, (uint32_t)end};
        at = end;
    }
    return count;
}

static void join(symbol *symbols, uint32_t left, uint32_t right, uint32_t merged, size_t count) {
    symbol *a = symbols + left, *b = symbols + right;
    a->id = a->token = merged;
    a->end = b->end;
    a->next = b->next;
    b->id = NO_SYMBOL;
    b->start = NO_SYMBOL;
    if (b->next < count) symbols[b->next].previous = left;
}

static void merge_few(const tk_sp *m, symbol *symbols, size_t count) {
    uint64_t pairs[FEW];
    uint8_t at[FEW]; /* symbols that are left */
    size_t n = count;
    for (size_t i = 0; i < n; i++) {
        at[i] = (uint8_t)i;
        pairs[i] = i + 1 < n ? look_up(m, symbols[i].id, symbols[i + 1].id) : NO_PAIR;
    }
    for (;;) {
        uint64_t least = NO_PAIR;
        size_t k = 0;
        for (size_t i = 0; i + 1 < n; i++)
            if (pairs[i] >> 32 < least >> 32) least = pairs[i], k = i;
        if (least == NO_PAIR) return;
        join(symbols, at[k], at[k + 1], (uint32_t)least, count);
        n--;
        for (size_t i = k + 1; i < n; i++) at[i] = at[i + 1], pairs[i] = pairs[i + 1];
        pairs[k] = k + 1 < n ? look_up(m, symbols[at[k]].id, symbols[at[k + 1]].id) : NO_PAIR;
        if (k) pairs[k - 1] = look_up(m, symbols[at[k - 1]].id, symbols[at[k]].id);
    }
}

/* ---- many symbols */

static int push(tk_sp_scratch *w, size_t *n, candidate c) {
    if (tk_reserve(&w->heap, &w->heap_capacity, *n + 1, sizeof(candidate)) != TK_OK) return TK_NO_MEMORY;
    candidate *heap = w->heap;
    size_t i = (*n)++;
    for (; i && heap[(i - 1) / 2].order > c.order; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = c;
    return TK_OK;
}

static candidate pop(candidate *heap, size_t *n) {
    candidate top = heap[0], last = heap[--*n];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < *n; i = child) {
        if (child + 1 < *n && heap[child + 1].order < heap[child].order) child++;
        if (heap[child].order >= last.order) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return top;
}

static int offer(const tk_sp *m, tk_sp_scratch *w, size_t *n, uint32_t left, uint32_t right) {
    const symbol *symbols = w->symbols;
    uint64_t pair = look_up(m, symbols[left].id, symbols[right].id);
    if (pair == NO_PAIR) return TK_OK;
    remember(m, w, pair, symbols[left].id, symbols[right].id);
    return push(w, n, (candidate){(pair >> 32 << 32) | left, right, symbols[left].id, symbols[right].id,
                                  (uint32_t)pair});
}

static int merge_many(const tk_sp *m, tk_sp_scratch *w, size_t count, double dropout, uint64_t *random) {
    size_t n = 0;
    symbol *symbols = w->symbols;
    int status = TK_OK;
    for (uint32_t i = 0; i + 1 < count && status == TK_OK; i++) status = offer(m, w, &n, i, i + 1);
    while (n && status == TK_OK) {
        candidate top = pop(w->heap, &n);
        uint32_t left = (uint32_t)top.order;
        if (symbols[left].id != top.left_id || symbols[top.right].id != top.right_id || symbols[left].next != top.right)
            continue;
        if (dropout > 0 && tk_sp_chance(random) < dropout) continue;
        join(symbols, left, top.right, top.merged, count);
        uint32_t previous = symbols[left].previous, next = symbols[left].next;
        if (previous < count) status = offer(m, w, &n, previous, left);
        if (next < count && status == TK_OK) status = offer(m, w, &n, left, next);
    }
    return status;
}

/* ---- tokens */

static int add_symbol(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, uint32_t token, size_t start, size_t end) {
    static const uint8_t space[] = {0xE2, 0x96, 0x81};
    uint32_t id = token != NO_SYMBOL ? m->tokens[token] : TK_NO_ID;
    if (id < m->n_ids) return tk_sp_add(w, id, start, end);
    if (!m->byte_fallback) return tk_sp_add(w, m->unknown, start, end);
    int status = TK_OK, is_space = m->escape && p[start] == ' ';
    const uint8_t *bytes = is_space ? space : p + start;
    size_t n = is_space ? sizeof space : end - start;
    for (size_t i = 0; i < n && status == TK_OK; i++)
        status = tk_sp_add(w, m->bytes[bytes[i]], start, i + 1 == n ? end : start);
    return status;
}

/* A piece that is unused, as the two that it was made of last, and so on. What waits lies in the heap's memory. */
static int add_split(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, uint32_t token, size_t at) {
    enum { EACH = sizeof(candidate) / sizeof(uint32_t) };
    size_t n = 1;
    int status = tk_reserve(&w->heap, &w->heap_capacity, 1, sizeof(candidate));
    if (status == TK_OK) *(uint32_t *)w->heap = token;
    while (n && status == TK_OK) {
        uint32_t *stack = w->heap;
        token = stack[--n];
        if (m->unused[token] && w->parts[2 * token] != NO_SYMBOL) {
            status = tk_reserve(&w->heap, &w->heap_capacity, (n + 2) / EACH + 1, sizeof(candidate));
            if (status != TK_OK) break;
            stack = w->heap;
            stack[n++] = w->parts[2 * token + 1];
            stack[n++] = w->parts[2 * token];
            continue;
        }
        size_t end = at + m->lengths[token];
        status = add_symbol(m, w, p, token, at, end);
        at = end;
    }
    return status;
}

int tk_sp_merge(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t n, double dropout, uint64_t *random) {
    w->n_tokens = 0;
    if (n >= NO_SYMBOL) return TK_TOO_LARGE;
    int status = tk_reserve(&w->symbols, &w->symbols_capacity, n + 1, sizeof(symbol));
    if (m->unused && status == TK_OK) {
        status = tk_reserve(&w->parts, &w->parts_capacity, 2 * m->n_symbols, sizeof *w->parts);
        if (status == TK_OK) memset(w->parts, 0xFF, 2 * m->n_symbols * sizeof *w->parts);
    }
    if (status != TK_OK) return status;
    size_t count = read_symbols(m, p, n, w->symbols);
    if (count <= FEW && !m->unused && dropout <= 0) merge_few(m, w->symbols, count);
    else if (dropout < 1) status = merge_many(m, w, count, dropout, random);
    const symbol *symbols = w->symbols;
    for (size_t i = 0; i < count && status == TK_OK; i = symbols[i].next) {
        const symbol *s = symbols + i;
        if (m->unused && s->token != NO_SYMBOL && m->unused[s->token])
            status = add_split(m, w, p, s->token, s->start);
        else status = add_symbol(m, w, p, s->token, s->start, s->end);
    }
    return status;
}
