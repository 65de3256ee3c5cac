/* The loop over pretokens, and what all models share: see model.h. */
#include "encode/model.h"

void tk_model_worker_free(tk_model_worker *w) {
    free(w->subs);
    free(w->ids);
    free(w->spans);
    free(w->words);
    free(w->symbols);
    tk_merge_scratch_free(&w->merge);
    free(w->lattice);
    memset(w, 0, sizeof *w);
}

void tk_model_worker_shrink(tk_model_worker *w, size_t most) {
    w->n = w->n_subs = 0;
    tk_shrink(&w->subs, &w->subs_capacity, sizeof *w->subs, most);
    tk_shrink(&w->ids, &w->ids_capacity, sizeof *w->ids, most);
    tk_shrink(&w->spans, &w->spans_capacity, sizeof *w->spans, most);
    tk_shrink(&w->words, &w->words_capacity, sizeof *w->words, most);
    tk_shrink(&w->symbols, &w->symbols_capacity, sizeof *w->symbols, most);
    tk_merge_scratch_shrink(&w->merge, most);
    tk_shrink(&w->lattice, &w->lattice_capacity, sizeof *w->lattice, most);
}

/* ---- building */

int tk_model_begin(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, size_t longest,
                   int64_t *culprit) {
    static const char digits[] = "0123456789ABCDEF";
    *culprit = -1;
    int status = tk_token_trie_build(&m->trie, own, NULL, 0, longest, culprit);
    if (status != TK_OK) return status;
    m->unknown = o->unknown;
    m->byte_fallback = o->byte_fallback;
    m->whole_piece = o->whole_piece;
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t token[6] = {'<', '0', 'x', (uint8_t)digits[byte >> 4], (uint8_t)digits[byte & 15], '>'};
        m->bytes[byte] = tk_trie_find(&m->trie, token, sizeof token);
    }
    return TK_OK;
}

void tk_model_free(tk_model *m) {
    if (m->free) m->free(m);
    tk_token_trie_free(&m->trie);
    memset(m, 0, sizeof *m);
}

/* ---- encoding */

/* Where tokens go: what the worker has, in registers. */
typedef struct {
    uint32_t *ids;
    int64_t *spans;
    int32_t *words;
    size_t n;
} sink;

/* Room for more tokens. */
static int room(tk_model_worker *w, sink *out, size_t more) {
    size_t need = out->n + more;
    int status = tk_reserve(&w->ids, &w->ids_capacity, need, sizeof *w->ids);
    if (status == TK_OK) status = tk_reserve(&w->words, &w->words_capacity, need, sizeof *w->words);
    if (status == TK_OK) status = tk_reserve(&w->spans, &w->spans_capacity, 2 * need, sizeof *w->spans);
    out->ids = w->ids;
    out->spans = w->spans;
    out->words = w->words;
    return status;
}

/* A token of bytes [start, end) of a pretoken; there is room. Where characters that have no token were dropped, or
   byte tokens of a prefix put in, ends do not fit the pretoken: what lies after it is then left as it is, as
   tokenizers leaves it, but for what lies after the text. */
TK_INLINE void emit(sink *out, const tk_aligned *a, const tk_piece *piece, size_t word, uint32_t id, size_t start,
                    size_t end, int by_bytes) {
    tk_span span;
    if (by_bytes && !a->spans) {
        span = (tk_span){(uint32_t)(piece->start + start), (uint32_t)(piece->start + end)};
    } else if (TK_LIKELY(start < end && end <= piece->end - piece->start)) {
        span = tk_aligned_span(a, piece->start + start, piece->start + end);
    } else if (start == end && end <= piece->end - piece->start) { /* the end of a word, a symbol apart */
        span = tk_aligned_span(a, piece->start + start - !!start, piece->start + start + !start);
        if (start) span.start = span.end;
        span.end = span.start;
    } else {
        span.start = (uint32_t)(start < a->n_original ? start : a->n_original);
        span.end = (uint32_t)(end < a->n_original ? end : a->n_original);
    }
    out->ids[out->n] = id;
    out->words[out->n] = (int32_t)word;
    out->spans[2 * out->n] = span.start;
    out->spans[2 * out->n + 1] = span.end;
    out->n++;
}

int tk_model_encode(const tk_model *m, tk_model_worker *w, const tk_aligned *a) {
    sink out = {.n = 0};
    w->n = 0;
    if (a->n_pieces > INT32_MAX) return TK_TOO_LARGE;
    for (size_t number = 0; number < a->n_pieces; number++) {
        const tk_piece *piece = a->pieces + number;
        const uint8_t *p = a->text + piece->start;
        size_t n = piece->end - piece->start;
        uint32_t id = (uint32_t)piece->id;
        int status = TK_OK;
        w->n_subs = 0;
        if (piece->id == TK_NO_TOKEN) id = m->whole_piece && !w->drops ? tk_trie_find(&m->trie, p, n) : TK_NO_ID;
        status = id != TK_NO_ID ? tk_sub_add(w, id, 0, n) : n ? m->encode(m, w, p, n) : TK_OK;
        TK_ASSERT(piece->start <= piece->end && (!n || piece->end <= a->n));
        if (status == TK_OK) status = room(w, &out, w->n_subs);
        if (status != TK_OK) return w->failed = number, status;
        for (size_t k = 0; k < w->n_subs; k++)
            emit(&out, a, piece, number, w->subs[k].id, w->subs[k].start, w->subs[k].end, m->by_bytes);
    }
    w->n = out.n;
    return TK_OK;
}
