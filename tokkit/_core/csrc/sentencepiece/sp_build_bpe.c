/* Building the tables that merge the pieces of a BPE model: see sp_engine.h. */
#include "sentencepiece/sp_build.h"

/* Characters of pieces that are no pieces themselves get numbers after the ids: they merge as well. */
static int add_characters(tk_sp_forms *f, tk_token_trie *trie) {
    size_t n_pieces = f->n;
    int status = tk_sp_build_trie(trie, f, f->excluded);
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
    return tk_sp_build_trie(trie, f, f->excluded); /* of two with the same bytes the greater counts */
}

/* The greater the score the less the rank: the bits of floats are in order, with the sign turned. */
static uint32_t rank_of(float score) {
    uint32_t bits;
    score += 0.0f; /* no negative zero */
    memcpy(&bits, &score, sizeof bits);
    return bits >> 31 ? bits : ~bits & ~(UINT32_C(1) << 31);
}

static int set_unused(tk_sp *m, const tk_sp_source *s, const tk_sp_forms *f) {
    for (size_t id = 0; id < m->n_ids && !m->whole; id++) m->whole = s->kinds[id] == TK_SP_UNUSED;
    if (!m->whole) return TK_OK;
    m->unused = tk_calloc(f->n, 1);
    m->lengths = tk_alloc(f->n, sizeof *m->lengths);
    if (!m->unused || !m->lengths) return TK_NO_MEMORY;
    for (size_t id = 0; id < f->n; id++) {
        m->unused[id] = id < m->n_ids && s->kinds[id] == TK_SP_UNUSED;
        m->lengths[id] = (uint32_t)(f->offsets[id + 1] - f->offsets[id]);
    }
    return TK_OK;
}

typedef struct {
    uint32_t left, right, result;
} merge;

typedef struct {
    merge *list;
    size_t n, capacity;
} merge_list;

enum { MOST_PAIRS = 1 << 23 }; /* published vocabularies have under a million; a file made to that end, one a byte */

/* Pieces read from their ends, so that all that a piece ends in are found by one walk: that of each end by itself would
   take the square of its length, and a vocabulary of nested pieces hours. */
static int build_backward(tk_token_trie *trie, const tk_sp_forms *f) {
    uint8_t *blob = tk_alloc(f->n_blob + 1, 1);
    int64_t twice;
    if (!blob) return TK_NO_MEMORY;
    for (size_t id = 0; id < f->n; id++)
        for (int64_t i = f->offsets[id], j = f->offsets[id + 1]; i < f->offsets[id + 1]; i++) blob[i] = f->blob[--j];
    tk_own_tokens own = {blob, f->offsets, f->n, f->excluded};
    int status = tk_token_trie_build(trie, &own, NULL, 0, SIZE_MAX, &twice);
    free(blob);
    return status;
}

typedef struct {
    uint32_t *list; /* by where it begins in the piece, what the piece ends in; TK_NO_ID for none */
    size_t capacity;
} endings;

/* Every way to make one piece of two. */
static int list_halves(tk_sp *m, const tk_token_trie *backward, const uint8_t *p, size_t n, uint32_t id,
                       endings *right, merge_list *pairs) {
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
        pairs->list[pairs->n++] = (merge){tk_trie_id(node), right->list[i], id};
    }
    return TK_OK;
}

static int list_pairs(tk_sp *m, const tk_sp_forms *f, merge_list *pairs) {
    tk_token_trie backward = {0};
    endings right = {0};
    int status = build_backward(&backward, f);
    for (size_t id = 0; id < m->n_ids && status == TK_OK; id++)
        if (!f->excluded[id])
            status = list_halves(m, &backward, f->blob + f->offsets[id], (size_t)(f->offsets[id + 1] - f->offsets[id]),
                                 (uint32_t)id, &right, pairs);
    free(right.list);
    tk_token_trie_free(&backward);
    return status;
}

static int make_table(tk_char_pairs *table, const merge_list *pairs, const float *scores) {
    int status = tk_char_pairs_init(table, pairs->n);
    for (size_t k = 0; k < pairs->n && status == TK_OK; k++) {
        const merge *one = pairs->list + k;
        tk_char_pairs_put(table, one->left, one->right, rank_of(scores[one->result]), one->result);
    }
    return status;
}

/* Keep the pairs that are the last merge of their piece alone. Others never stand side by side, unless merges are left
   out: as long as nothing merges across the ends of what spells a piece, all within goes as it does for the piece
   alone, which is two symbols once. So few pairs fit where they are found fast. */
static void keep_last_merges(const tk_sp *m, const tk_sp_forms *f, merge_list *pairs) {
    size_t n = 0;
    for (size_t k = 0, next; k < pairs->n; k = next) {
        uint32_t id = pairs->list[k].result, left, right;
        int said = tk_sp_last_merge(m, f->blob + f->offsets[id], (size_t)(f->offsets[id + 1] - f->offsets[id]), &left,
                                    &right);
        for (next = k; next < pairs->n && pairs->list[next].result == id; next++) /* a piece's stand together */
            if (!said || (pairs->list[next].left == left && pairs->list[next].right == right))
                pairs->list[n++] = pairs->list[next];
    }
    pairs->n = n;
}

static int set_pairs(tk_sp *m, const tk_sp_source *s, const tk_sp_forms *f) {
    merge_list pairs = {0};
    int status = list_pairs(m, f, &pairs);
    if (status == TK_OK) status = make_table(&m->pairs, &pairs, s->scores);
    if (status == TK_OK) {
        keep_last_merges(m, f, &pairs);
        status = make_table(&m->last_pairs, &pairs, s->scores);
    }
    free(pairs.list);
    return status;
}

int tk_sp_build_bpe(tk_sp *m, const tk_sp_source *s, tk_sp_forms *f) {
    int status = add_characters(f, &m->trie);
    m->n_symbols = f->n;
    if (status == TK_OK) status = set_unused(m, s, f);
    if (status == TK_OK) status = set_pairs(m, s, f);
    return status == TK_OK ? tk_sp_set_ascii(m) : status;
}
