/* Pieces and their scores in, the tables that merge them out: see sp_engine.h. */
#include "sp_build.h"

/* Characters of pieces that are no pieces themselves get numbers behind the ids: they merge as well. */
static int add_characters(tk_sp_forms *f, tk_token_trie *trie) {
    size_t n_pieces = f->n;
    int status = tk_sp_build_trie(trie, f, f->foreign);
    for (size_t id = 0; id < n_pieces && status == TK_OK; id++) {
        for (int64_t i = f->offsets[id]; i < f->offsets[id + 1] && status == TK_OK;) {
            uint8_t bytes[4] = {0};
            unsigned length = tk_sp_length(f->blob[i], (size_t)(f->offsets[id + 1] - i));
            memcpy(bytes, f->blob + i, length);
            if (tk_trie_find(trie, bytes, length) == TK_NO_ID) status = tk_sp_add_form(f, bytes, length, 0);
            i += length;
        }
    }
    if (f->n == n_pieces || status != TK_OK) return status;
    tk_token_trie_free(trie);
    return tk_sp_build_trie(trie, f, f->foreign); /* of two with the same bytes the greater counts */
}

/* Scores as numbers, the greatest first: those of floats, with the sign turned. */
static uint32_t order_of(float score) {
    uint32_t bits;
    score += 0.0f; /* no negative zero */
    memcpy(&bits, &score, sizeof bits);
    return bits >> 31 ? bits : ~bits & ~(UINT32_C(1) << 31);
}

typedef struct {
    uint32_t order, id;
} ranked;

static int by_order(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Number the symbols by their scores; characters come last, as nothing becomes one. */
static int set_numbers(tk_sp *m, const tk_sp_source *s, const tk_sp_forms *f) {
    m->n_symbols = f->n;
    m->tokens = tk_alloc(f->n, sizeof *m->tokens);
    m->numbers = tk_alloc(f->n, sizeof *m->numbers);
    m->ranks = tk_alloc(f->n, sizeof *m->ranks);
    ranked *list = tk_alloc(f->n, sizeof *list);
    if (!m->tokens || !m->numbers || !m->ranks || !list) return free(list), TK_NO_MEMORY;
    for (size_t id = 0; id < f->n; id++) {
        size_t n = (size_t)(f->offsets[id + 1] - f->offsets[id]);
        int merged = n && n > tk_sp_length(f->blob[f->offsets[id]], n);
        list[id] = (ranked){merged ? order_of(s->scores[id]) : UINT32_MAX, (uint32_t)id};
    }
    qsort(list, f->n, sizeof *list, by_order);
    m->first_equal = (uint32_t)f->n;
    for (size_t k = 0; k < f->n; k++) {
        int same = k && list[k].order == list[k - 1].order;
        m->tokens[k] = list[k].id;
        m->numbers[list[k].id] = (uint32_t)k;
        m->ranks[k] = same ? m->ranks[k - 1] : (uint32_t)k;
        if (same && m->first_equal == f->n) m->first_equal = (uint32_t)k - 1;
    }
    free(list);
    return TK_OK;
}

static int set_unused(tk_sp *m, const tk_sp_source *s, const tk_sp_forms *f) {
    for (size_t id = 0; id < m->n_ids && !m->whole; id++) m->whole = s->kinds[id] == TK_SP_UNUSED;
    if (!m->whole) return TK_OK;
    m->unused = tk_calloc(f->n, 1);
    m->lengths = tk_alloc(f->n, sizeof *m->lengths);
    if (!m->unused || !m->lengths) return TK_NO_MEMORY;
    for (size_t id = 0; id < f->n; id++) {
        size_t number = m->numbers[id];
        m->unused[number] = id < m->n_ids && s->kinds[id] == TK_SP_UNUSED;
        m->lengths[number] = (uint32_t)(f->offsets[id + 1] - f->offsets[id]);
    }
    return TK_OK;
}

typedef struct {
    uint64_t *list;
    size_t n, capacity;
} pair_list;

enum { MOST_PAIRS = 1 << 23 }; /* published vocabularies have under a million; a file made to that end, one a byte */

/* Pieces read from their ends, so that all that a piece ends in are found by one walk: that of each end by itself would
   take the square of its length, and a vocabulary of nested pieces hours. */
static int build_backward(tk_token_trie *trie, const tk_sp_forms *f) {
    uint8_t *blob = tk_alloc(f->n_blob + 1, 1);
    int64_t twice;
    if (!blob) return TK_NO_MEMORY;
    for (size_t id = 0; id < f->n; id++)
        for (int64_t i = f->offsets[id], j = f->offsets[id + 1]; i < f->offsets[id + 1]; i++) blob[i] = f->blob[--j];
    tk_own_tokens own = {blob, f->offsets, f->n, f->foreign};
    int status = tk_token_trie_build(trie, &own, NULL, 0, SIZE_MAX, &twice);
    free(blob);
    return status;
}

typedef struct {
    uint32_t *list; /* by where it begins in the piece, what the piece ends in; TK_NO_ID for none */
    size_t capacity;
} endings;

/* Every way to make one piece of two. */
static int list_halves(tk_sp *m, const tk_token_trie *backward, const uint8_t *p, size_t n, uint32_t number,
                       endings *right, pair_list *pairs) {
    if (tk_reserve(&right->list, &right->capacity, n + 1, sizeof *right->list)) return TK_NO_MEMORY;
    memset(right->list, 0xFF, (n + 1) * sizeof *right->list);
    uint64_t node = backward->root;
    for (size_t i = n; i > 1 && node; m->steps++) {
        node = tk_trie_step(backward, node, p[--i]);
        if (node) right->list[i] = tk_trie_id(node);
    }
    node = m->trie.root;
    for (size_t i = 0; i + 1 < n && node; m->steps++) {
        node = tk_trie_step(&m->trie, node, p[i++]);
        if (!node || tk_trie_id(node) == TK_NO_ID || right->list[i] == TK_NO_ID) continue;
        if (pairs->n == MOST_PAIRS) return TK_TOO_LARGE;
        if (tk_reserve(&pairs->list, &pairs->capacity, pairs->n + 1, sizeof *pairs->list)) return TK_NO_MEMORY;
        uint64_t left = m->numbers[tk_trie_id(node)], other = m->numbers[right->list[i]];
        pairs->list[pairs->n++] = (left << TK_SP_PAIR_BITS | other) << TK_SP_PAIR_BITS | number;
    }
    return TK_OK;
}

static int list_pairs(tk_sp *m, const tk_sp_forms *f, pair_list *pairs) {
    tk_token_trie backward = {0};
    endings right = {0};
    int status = build_backward(&backward, f);
    for (size_t id = 0; id < m->n_ids && status == TK_OK; id++)
        if (!f->foreign[id])
            status = list_halves(m, &backward, f->blob + f->offsets[id], (size_t)(f->offsets[id + 1] - f->offsets[id]),
                                 m->numbers[id], &right, pairs);
    free(right.list);
    tk_token_trie_free(&backward);
    return status;
}

static int make_table(tk_sp_pairs *table, const pair_list *pairs) {
    size_t slots = 2;
    while (slots < 2 * pairs->n) slots *= 2;
    table->mask = slots - 1;
    table->slots = tk_alloc(slots, sizeof *table->slots);
    table->may = tk_calloc((size_t)1 << (TK_SP_MAY_BITS - 6), sizeof *table->may);
    if (!table->slots || !table->may) return TK_NO_MEMORY;
    memset(table->slots, 0xFF, slots * sizeof *table->slots);
    for (size_t k = 0; k < pairs->n; k++) {
        uint64_t hash = tk_sp_pair_hash(pairs->list[k] >> TK_SP_PAIR_BITS);
        size_t slot = (size_t)(hash >> 32) & table->mask, bit = (size_t)(hash >> (64 - TK_SP_MAY_BITS));
        table->may[bit >> 6] |= UINT64_C(1) << (bit & 63);
        while (table->slots[slot] != UINT64_MAX) slot = (slot + 1) & table->mask;
        table->slots[slot] = pairs->list[k];
    }
    return TK_OK;
}

/* Keep the pairs that are the last merge of their piece alone. Others never stand side by side, unless merges are left
   out: as long as nothing merges across the ends of what spells a piece, all within goes as it does for the piece
   alone, which is two symbols once. So few pairs fit where they are found fast. */
static void keep_last_merges(const tk_sp *m, const tk_sp_forms *f, pair_list *pairs) {
    const uint64_t low = (UINT64_C(1) << TK_SP_PAIR_BITS) - 1;
    size_t n = 0;
    for (size_t k = 0, next; k < pairs->n; k = next) {
        uint64_t number = pairs->list[k] & low;
        size_t id = m->tokens[number];
        uint32_t left, right;
        int said = tk_sp_last_merge(m, f->blob + f->offsets[id], (size_t)(f->offsets[id + 1] - f->offsets[id]), &left,
                                    &right);
        for (next = k; next < pairs->n && (pairs->list[next] & low) == number; next++) /* a piece's stand together */
            if (!said || pairs->list[next] >> TK_SP_PAIR_BITS == ((uint64_t)left << TK_SP_PAIR_BITS | right))
                pairs->list[n++] = pairs->list[next];
    }
    pairs->n = n;
}

static int set_pairs(tk_sp *m, const tk_sp_forms *f) {
    pair_list pairs = {0};
    if (f->n >= (size_t)1 << TK_SP_PAIR_BITS) return TK_TOO_LARGE;
    int status = list_pairs(m, f, &pairs);
    if (status == TK_OK) status = make_table(&m->pairs, &pairs);
    if (status == TK_OK) {
        keep_last_merges(m, f, &pairs);
        status = make_table(&m->last_pairs, &pairs);
    }
    free(pairs.list);
    return status;
}

int tk_sp_build_bpe(tk_sp *m, const tk_sp_source *s, tk_sp_forms *f) {
    int status = add_characters(f, &m->trie);
    if (status == TK_OK) status = set_numbers(m, s, f);
    if (status == TK_OK) status = set_unused(m, s, f);
    if (status == TK_OK) status = set_pairs(m, f);
    return status == TK_OK ? tk_sp_set_ascii(m) : status;
}
