/* Bytes of the buffer in, tokens out, by BPE as sentencepiece has it: see sp_engine.h.

   The pair whose piece has the greatest score merges first, of equal ones the leftmost. User-defined pieces stand as
   they are, the longest where several begin; nothing merges with them. A few symbols are looked through for each merge;
   more wait in a heap, so that a long run costs O(n log n). */
#include "sp_lattice.h"

enum { FEW = 48, SPARE = 5, NO_SYMBOL = UINT32_MAX };

typedef struct {
    uint32_t id, start, previous, next; /* id NO_SYMBOL: frozen, unknown, or merged into the one before */
    uint32_t token, end;                /* both are numbers of symbols */
} symbol;

/* A merge that may happen: it is out of date when its symbols are others by then. */
typedef struct {
    uint64_t order; /* rank, then the left symbol */
    uint32_t right, left_id, right_id, merged;
} candidate;

/* What two become, or NO_SYMBOL. */
TK_INLINE uint32_t look_up(const tk_sp_pairs *pairs, uint32_t left, uint32_t right) {
    uint64_t key = (uint64_t)left << TK_SP_PAIR_BITS | right, hash = tk_sp_pair_hash(key);
    size_t bit = (size_t)(hash >> (64 - TK_SP_MAY_BITS));
    if (left == NO_SYMBOL || right == NO_SYMBOL || !(pairs->may[bit >> 6] >> (bit & 63) & 1)) return NO_SYMBOL;
    for (size_t slot = (size_t)(hash >> 32) & pairs->mask;; slot = (slot + 1) & pairs->mask) {
        uint64_t pair = pairs->slots[slot];
        if (pair == UINT64_MAX) return NO_SYMBOL;
        if (pair >> TK_SP_PAIR_BITS == key) return (uint32_t)pair & ((UINT32_C(1) << TK_SP_PAIR_BITS) - 1);
    }
}

/* Which two an unused piece was made of last: it is split again in the end. */
TK_INLINE void remember(const tk_sp *m, tk_sp_scratch *w, uint32_t merged, uint32_t left, uint32_t right) {
    if (!m->unused || !m->unused[merged]) return;
    w->parts[2 * merged] = left;
    w->parts[2 * merged + 1] = right;
}

static size_t read_symbols(const tk_sp *m, const uint8_t *p, size_t n, symbol *symbols) {
    size_t count = 0;
    for (size_t at = 0; at < n; count++) {
        uint32_t id = TK_NO_ID;
        size_t frozen = tk_sp_frozen(m, p + at, n - at, &id), end = at + frozen;
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

/* The first of the pairs whose score is that of `least`. */
static size_t leftmost(const tk_sp *m, const uint32_t *pairs, size_t n, uint32_t least) {
    for (size_t i = 0; i < n; i++)
        if (pairs[i] != NO_SYMBOL && m->ranks[pairs[i]] == m->ranks[least]) return i;
    return 0;
}

/* Items from k + 1 on, up to n, each to the place before it, four at a time: they are few. */
TK_INLINE void move_down(uint32_t *items, size_t k, size_t n) {
    uint32_t four[4];
    for (; k < n; k += 4) {
        memcpy(four, items + k + 1, sizeof four);
        memcpy(items + k, four, sizeof four);
    }
}

/* A few symbols: their numbers, their places, and what each becomes with the next. */
typedef struct {
    uint32_t ids[FEW + SPARE], at[FEW + SPARE], pairs[FEW + SPARE];
} symbols_few;

/* Returns how many of n are left; they stand together. */
static size_t merge_few(const tk_sp *m, symbols_few *few, size_t n) {
    uint32_t *ids = few->ids, *pairs = few->pairs;
    while (n > 1) {
        uint32_t least = pairs[0];
        size_t k = 0;
        for (size_t i = 1; i + 1 < n; i++) k = pairs[i] < least ? i : k, least = pairs[i] < least ? pairs[i] : least;
        if (least == NO_SYMBOL) break;
        if (least >= m->first_equal) k = leftmost(m, pairs, n - 1, least), least = pairs[k];
        ids[k] = least;
        n--;
        move_down(few->at, k + 1, n);
        move_down(ids, k + 1, n);
        move_down(pairs, k + 1, n);
        if (k + 1 < n) pairs[k] = look_up(&m->last_pairs, least, ids[k + 1]);
        if (k) pairs[k - 1] = look_up(&m->last_pairs, ids[k - 1], least);
    }
    return n;
}

/* What is left of the symbols stands together as well, and has become its tokens. */
static size_t merge_symbols(const tk_sp *m, symbol *symbols, size_t count) {
    symbols_few few;
    size_t n = count;
    for (size_t i = 0; i < n; i++) few.at[i] = (uint32_t)i, few.ids[i] = symbols[i].id;
    for (size_t i = 0; i + 1 < n; i++) few.pairs[i] = look_up(&m->last_pairs, few.ids[i], few.ids[i + 1]);
    n = merge_few(m, &few, n);
    for (size_t i = 0; i < n; i++) {
        symbol *s = symbols + few.at[i];
        if (few.ids[i] != NO_SYMBOL) s->token = few.ids[i];
        s->end = symbols[i + 1 < n ? few.at[i + 1] - 1 : (uint32_t)count - 1].end;
        symbols[i] = *s; /* i <= at[i], and those before it are done */
    }
    return n;
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

static int offer(const tk_sp *m, const tk_sp_pairs *pairs, tk_sp_scratch *w, size_t *n, uint32_t left,
                 uint32_t right) {
    const symbol *symbols = w->symbols;
    uint32_t merged = look_up(pairs, symbols[left].id, symbols[right].id);
    if (merged == NO_SYMBOL) return TK_OK;
    remember(m, w, merged, symbols[left].id, symbols[right].id);
    return push(w, n, (candidate){(uint64_t)m->ranks[merged] << 32 | left, right, symbols[left].id, symbols[right].id,
                                  merged});
}

static int merge_many(const tk_sp *m, tk_sp_scratch *w, size_t count, double dropout, uint64_t *random) {
    const tk_sp_pairs *pairs = dropout > 0 || m->unused ? &m->pairs : &m->last_pairs;
    size_t n = 0;
    symbol *symbols = w->symbols;
    int status = TK_OK;
    for (uint32_t i = 0; i + 1 < count && status == TK_OK; i++) status = offer(m, pairs, w, &n, i, i + 1);
    while (n && status == TK_OK) {
        candidate top = pop(w->heap, &n);
        uint32_t left = (uint32_t)top.order;
        if (symbols[left].id != top.left_id || symbols[top.right].id != top.right_id || symbols[left].next != top.right)
            continue;
        if (dropout > 0 && tk_sp_chance(random) < dropout) continue;
        join(symbols, left, top.right, top.merged, count);
        uint32_t previous = symbols[left].previous, next = symbols[left].next;
        if (previous < count) status = offer(m, pairs, w, &n, previous, left);
        if (next < count && status == TK_OK) status = offer(m, pairs, w, &n, left, next);
    }
    return status;
}

int tk_sp_last_merge(const tk_sp *m, const uint8_t *p, size_t n, uint32_t *left, uint32_t *right) {
    symbol symbols[4 * FEW];
    if (n > 4 * FEW) return 0;
    size_t count = read_symbols(m, p, n, symbols);
    if (count > FEW) return 0;
    for (*left = *right = TK_NO_ID; count > 1;) {
        uint32_t least = NO_SYMBOL, merged;
        size_t k = 0;
        for (size_t i = 0; i + 1 < count; i++) {
            merged = look_up(&m->pairs, symbols[i].id, symbols[i + 1].id);
            if (merged == NO_SYMBOL || (least != NO_SYMBOL && m->ranks[merged] >= m->ranks[least])) continue;
            least = merged;
            k = i;
        }
        if (least == NO_SYMBOL) return 1;
        if (count == 2) *left = symbols[0].id, *right = symbols[1].id;
        symbols[k].id = least;
        count--;
        for (size_t i = k + 1; i < count; i++) symbols[i] = symbols[i + 1];
    }
    return 1;
}

/* ---- tokens */

static int add_symbol(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, uint32_t token, size_t start, size_t end) {
    uint32_t id = token != NO_SYMBOL ? m->tokens[token] : TK_NO_ID;
    return id < m->n_ids ? tk_sp_add(w, id, start, end) : tk_sp_add_unknown(m, w, p, start, end);
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

static int add_merged(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, uint32_t token, size_t start, size_t end) {
    uint32_t id = token != NO_SYMBOL ? m->tokens[token] : TK_NO_ID;
    if (TK_UNLIKELY(id >= m->n_ids || w->n_tokens == w->tokens_capacity)) return add_symbol(m, w, p, token, start, end);
    w->tokens[w->n_tokens++] = (tk_sp_token){id, (uint32_t)start, (uint32_t)end};
    return TK_OK;
}

/* n bytes, FEW at most, that are ASCII in which no user-defined piece begins: their numbers and pairs stand in tables.
   *plain gets whether they are; if not nothing is done. */
static int merge_ascii(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t n, int *plain) {
    symbols_few few;
    const tk_sp_ascii *ascii = m->plain_ascii;
    for (size_t i = 0; i < n; i++) {
        if (p[i] >= TK_SP_ASCII || !ascii->alone[p[i]]) return *plain = 0, TK_OK;
        few.at[i] = (uint32_t)i;
        few.ids[i] = ascii->numbers[p[i]];
    }
    *plain = 1;
    for (size_t i = 0; i + 1 < n; i++) few.pairs[i] = ascii->pairs[p[i]][p[i + 1]];
    size_t count = merge_few(m, &few, n);
    int status = tk_reserve(&w->tokens, &w->tokens_capacity, count, sizeof *w->tokens);
    for (size_t i = 0; i < count && status == TK_OK; i++)
        status = add_merged(m, w, p, few.ids[i], few.at[i], i + 1 < count ? few.at[i + 1] : n);
    return status;
}

int tk_sp_set_ascii(tk_sp *m) {
    tk_sp_ascii *ascii = m->plain_ascii = tk_calloc(1, sizeof *ascii);
    if (!ascii) return TK_NO_MEMORY;
    for (unsigned c = 0; c < TK_SP_ASCII; c++) {
        uint8_t byte = (uint8_t)c;
        uint32_t id = tk_trie_find(&m->trie, &byte, 1);
        ascii->alone[c] = !m->frozen.root || !tk_trie_step(&m->frozen, m->frozen.root, byte);
        ascii->numbers[c] = id == TK_NO_ID ? NO_SYMBOL : m->numbers[id];
    }
    for (unsigned c = 0; c < TK_SP_ASCII; c++)
        for (unsigned d = 0; d < TK_SP_ASCII; d++)
            ascii->pairs[c][d] = look_up(&m->last_pairs, ascii->numbers[c], ascii->numbers[d]);
    return TK_OK;
}

int tk_sp_merge(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t n, double dropout, uint64_t *random) {
    int status, plain, last_alone = !m->unused && dropout <= 0;
    w->n_tokens = 0;
    if (n >= NO_SYMBOL) return TK_TOO_LARGE;
    if (n <= FEW && last_alone) {
        status = merge_ascii(m, w, p, n, &plain);
        if (plain) return status;
    }
    status = tk_reserve(&w->symbols, &w->symbols_capacity, n + 1, sizeof(symbol));
    if (m->unused && status == TK_OK) {
        status = tk_reserve(&w->parts, &w->parts_capacity, 2 * m->n_symbols, sizeof *w->parts);
        if (status == TK_OK) memset(w->parts, 0xFF, 2 * m->n_symbols * sizeof *w->parts);
    }
    if (status != TK_OK) return status;
    size_t count = read_symbols(m, p, n, w->symbols);
    const symbol *symbols = w->symbols;
    if (count <= FEW && last_alone) {
        count = merge_symbols(m, w->symbols, count);
        status = tk_reserve(&w->tokens, &w->tokens_capacity, count, sizeof *w->tokens);
        for (size_t i = 0; i < count && status == TK_OK; i++)
            status = add_merged(m, w, p, symbols[i].token, symbols[i].start, symbols[i].end);
        return status;
    }
    if (dropout < 1) status = merge_many(m, w, count, dropout, random);
    for (size_t i = 0; i < count && status == TK_OK; i = symbols[i].next) {
        const symbol *s = symbols + i;
        if (m->unused && s->token != NO_SYMBOL && m->unused[s->token])
            status = add_split(m, w, p, s->token, s->start);
        else status = add_symbol(m, w, p, s->token, s->start, s->end);
    }
    return status;
}
