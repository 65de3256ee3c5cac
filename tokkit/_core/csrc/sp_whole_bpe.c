/* SentencePiece's BPE over a whole text: the neighbours whose piece has the greatest score merge first.

   Characters and user-defined pieces are symbols at first, and the latter stay as they are. Of equal scores the left
   pair goes first. Unused pieces take part, and are taken apart again in the end. */
#include "sp_whole.h"

/* Greater scores get lesser keys, for the heap; of equal ones the place decides, which is below 2^32. */
static uint64_t key_of(float score, size_t left) {
    uint32_t bits;
    score += 0.0F; /* -0 is 0 */
    memcpy(&bits, &score, sizeof bits);
    bits = bits >> 31 ? bits : ~bits & 0x7FFFFFFF;
    return (uint64_t)bits << 32 | left;
}

static int push(tk_sp_worker *w, tk_sp_pair pair) {
    if (tk_reserve(&w->heap, &w->heap_capacity, w->n_heap + 1, sizeof *w->heap) != TK_OK) return TK_NO_MEMORY;
    size_t i = w->n_heap++;
    for (; i && w->heap[(i - 1) / 2].key > pair.key; i = (i - 1) / 2) w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = pair;
    return TK_OK;
}

static tk_sp_pair pop(tk_sp_worker *w) {
    tk_sp_pair least = w->heap[0], moved = w->heap[--w->n_heap];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < w->n_heap; i = child) {
        if (child + 1 < w->n_heap && w->heap[child + 1].key < w->heap[child].key) child++;
        if (w->heap[child].key >= moved.key) break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = moved;
    return least;
}

static int consider(const tk_sp_whole *m, tk_sp_worker *w, size_t left, size_t right) {
    if (left == SIZE_MAX || right == SIZE_MAX) return TK_OK;
    const tk_sp_symbol *a = w->symbols + left, *b = w->symbols + right;
    if (a->whole || b->whole) return TK_OK;
    uint32_t id = tk_trie_find(&m->pieces, w->text.text + a->start, a->length + b->length);
    if (id == TK_NO_ID) return TK_OK;
    if (m->types[id] == TK_SP_UNUSED) w->left_of[id] = (uint32_t)a->length;
    return push(w, (tk_sp_pair){key_of(m->scores[id], left), left, right, a->length + b->length});
}

/* Emit text[start:end], taken apart as it was merged where it is an unused piece. Parts wait in the heap's memory,
   which is free by now. */
static int emit(const tk_sp_whole *m, tk_sp_worker *w, size_t start, size_t length) {
    int status = TK_OK;
    w->n_heap = 0;
    status = push(w, (tk_sp_pair){.left = start, .length = length});
    while (w->n_heap && status == TK_OK) {
        tk_sp_pair part = w->heap[--w->n_heap];
        uint32_t id = tk_trie_find(&m->pieces, w->text.text + part.left, part.length);
        if (id == TK_NO_ID) id = m->unknown;
        size_t split = id != m->unknown && m->types[id] == TK_SP_UNUSED ? w->left_of[id] : 0;
        if (!split) {
            status = tk_sp_emit(m, w, id, part.left, part.left + part.length);
            continue;
        }
        if (tk_reserve(&w->heap, &w->heap_capacity, w->n_heap + 2, sizeof *w->heap) != TK_OK) return TK_NO_MEMORY;
        w->heap[w->n_heap++] = (tk_sp_pair){.left = part.left + split, .length = part.length - split};
        w->heap[w->n_heap++] = (tk_sp_pair){.left = part.left, .length = split};
    }
    return status;
}

int tk_sp_whole_bpe(const tk_sp_whole *m, tk_sp_worker *w) {
    const uint8_t *text = w->text.text;
    const size_t n = w->text.n;
    size_t n_symbols = 0;
    int status = TK_OK;
    if (m->has_unused) {
        if (tk_reserve(&w->left_of, &w->left_of_capacity, m->n_pieces, sizeof *w->left_of) != TK_OK)
            return TK_NO_MEMORY;
        memset(w->left_of, 0, m->n_pieces * sizeof *w->left_of);
    }
    for (size_t at = 0, length; at < n; at += length) {
        if (tk_reserve(&w->symbols, &w->symbols_capacity, n_symbols + 1, sizeof *w->symbols) != TK_OK)
            return TK_NO_MEMORY;
        length = tk_sp_symbol_at(&m->normalizer, text + at, n - at);
        int whole = length > 0;
        if (!whole) length = tk_utf8_length(text[at]);
        w->symbols[n_symbols] = (tk_sp_symbol){at, length, n_symbols - 1, n_symbols + 1, whole};
        n_symbols++;
    }
    tk_sp_symbol *symbols = w->symbols;
    symbols[n_symbols - 1].next = SIZE_MAX; /* as the first one's previous is */
    w->n_heap = 0;
    for (size_t i = 1; i < n_symbols && status == TK_OK; i++) status = consider(m, w, i - 1, i);
    while (w->n_heap && status == TK_OK) {
        tk_sp_pair pair = pop(w);
        tk_sp_symbol *left = symbols + pair.left, *right = symbols + pair.right;
        if (!left->length || !right->length || left->length + right->length != pair.length) continue;
        left->length = pair.length;
        right->length = 0;
        left->next = right->next;
        if (right->next != SIZE_MAX) symbols[right->next].previous = pair.left;
        status = consider(m, w, left->previous, pair.left);
        if (status == TK_OK) status = consider(m, w, pair.left, left->next);
    }
    for (size_t i = 0; i != SIZE_MAX && status == TK_OK; i = symbols[i].next)
        status = emit(m, w, symbols[i].start, symbols[i].length);
    return status;
}
