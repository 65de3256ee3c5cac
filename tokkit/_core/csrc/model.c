/* The loop over pieces and units, and what all models are built on: see model.h. */
#include "model.h"

static const uint8_t BLANK[3] = {0xE2, 0x96, 0x81}; /* U+2581, which stands for a space */

int tk_model_worker_init(tk_model_worker *w, size_t cache_units) {
    memset(w, 0, sizeof *w);
    return tk_unit_cache_init(&w->cache, cache_units);
}

void tk_model_worker_free(tk_model_worker *w) {
    free(w->cache.block);
    free(w->subs);
    free(w->ids);
    free(w->spans);
    free(w->words);
    free(w->symbols);
    free(w->links);
    free(w->heap);
    free(w->skipped);
    free(w->lattice);
    memset(w, 0, sizeof *w);
}

static void shrink(void *block, size_t *capacity, size_t size, size_t most) {
    if (*capacity <= most / size) return;
    void *old, *none = NULL;
    memcpy(&old, block, sizeof old);
    free(old);
    memcpy(block, &none, sizeof none);
    *capacity = 0;
}

void tk_model_worker_shrink(tk_model_worker *w, size_t most) {
    w->n = w->n_subs = 0;
    shrink(&w->subs, &w->subs_capacity, sizeof *w->subs, most);
    shrink(&w->ids, &w->ids_capacity, sizeof *w->ids, most);
    shrink(&w->spans, &w->spans_capacity, sizeof *w->spans, most);
    shrink(&w->words, &w->words_capacity, sizeof *w->words, most);
    shrink(&w->symbols, &w->symbols_capacity, sizeof *w->symbols, most);
    shrink(&w->links, &w->links_capacity, sizeof *w->links, most);
    shrink(&w->heap, &w->heap_capacity, sizeof *w->heap, most);
    shrink(&w->skipped, &w->skipped_capacity, sizeof *w->skipped, most);
    shrink(&w->lattice, &w->lattice_capacity, sizeof *w->lattice, most);
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

static int room(tk_model_worker *w, size_t more) {
    size_t need = w->n + more;
    if (TK_LIKELY(need <= w->ids_capacity && need <= w->words_capacity && 2 * need <= w->spans_capacity)) return TK_OK;
    int status = tk_reserve(&w->ids, &w->ids_capacity, need, sizeof *w->ids);
    if (status == TK_OK) status = tk_reserve(&w->words, &w->words_capacity, need, sizeof *w->words);
    if (status == TK_OK) status = tk_reserve(&w->spans, &w->spans_capacity, 2 * need, sizeof *w->spans);
    return status;
}

/* A token of bytes [start, end) of a piece; there is room. Where characters that have no token were dropped, or
   byte tokens of a prefix put in, ends do not fit the piece: what lies behind it is then left as it is, as
   tokenizers leaves it, but for what lies behind the text. */
TK_INLINE void emit(tk_model_worker *w, const tk_aligned *a, const tk_piece *piece, size_t word, uint32_t id,
                    size_t start, size_t end) {
    tk_span span;
    if (TK_LIKELY(start < end && end <= piece->end - piece->start)) {
        span = tk_aligned_span(a, piece->start + start, piece->start + end);
    } else {
        span.start = (uint32_t)(start < a->n_original ? start : a->n_original);
        span.end = (uint32_t)(end < a->n_original ? end : a->n_original);
    }
    w->ids[w->n] = id;
    w->words[w->n] = (int32_t)word;
    w->spans[2 * w->n] = span.start;
    w->spans[2 * w->n + 1] = span.end;
    w->n++;
}

TK_INLINE int is_blank(const uint8_t *p) { return p[0] == BLANK[0] && p[1] == BLANK[1] && p[2] == BLANK[2]; }

/* Bytes up to the first U+2581 behind another character; two more may be read behind n. */
TK_INLINE size_t unit_length(const uint8_t *p, size_t n) {
    size_t i = 0;
    while (i < n && is_blank(p + i)) i += sizeof BLANK;
    for (; i < n; i++)
        if (p[i] == BLANK[0] && is_blank(p + i)) return i;
    return n;
}

static int encode_piece(const tk_model *m, tk_model_worker *w, const tk_aligned *a, size_t number) {
    const tk_piece *piece = a->pieces + number;
    const uint8_t *p = a->text + piece->start;
    size_t n = piece->end - piece->start, length, behind = 0; /* where the tokens so far end, in bytes of the piece */
    int status;
    if (m->whole_piece && !w->drops) {
        uint32_t id = tk_trie_find(&m->trie, p, n);
        if (id != TK_NO_ID) {
            if ((status = room(w, 1)) != TK_OK) return status;
            return emit(w, a, piece, number, id, 0, n), TK_OK;
        }
    }
    for (size_t at = 0; at < n; at += length) {
        length = m->cuts && !w->drops ? unit_length(p + at, n - at) : n;
        int cached = length <= TK_UNIT_BYTES && w->cache.units && !w->drops;
        tk_unit_key key;
        if (TK_LIKELY(cached)) {
            key = tk_unit_key_of(&w->cache, p + at, length);
            const tk_unit *unit = tk_unit_find(&w->cache, &key);
            if (TK_LIKELY(unit != NULL)) {
                if ((status = room(w, TK_UNIT_TOKENS)) != TK_OK) return status;
                size_t count = unit->count;
                for (size_t k = 0; k < count; k++)
                    emit(w, a, piece, number, unit->ids[k], behind + unit->starts[k], behind + unit->ends[k]);
                behind += count ? unit->ends[count - 1] : 0;
                continue;
            }
        }
        w->n_subs = 0;
        if ((status = m->encode(m, w, p + at, length)) != TK_OK || (status = room(w, w->n_subs)) != TK_OK)
            return status;
        for (size_t k = 0; k < w->n_subs; k++)
            emit(w, a, piece, number, w->subs[k].id, behind + w->subs[k].start, behind + w->subs[k].end);
        behind += w->n_subs ? w->subs[w->n_subs - 1].end : 0;
        if (cached) tk_unit_learn(&w->cache, &key, w->subs, w->n_subs);
    }
    return TK_OK;
}

int tk_model_encode(const tk_model *m, tk_model_worker *w, const tk_aligned *a) {
    int status = TK_OK;
    w->n = 0;
    if (a->n_pieces > INT32_MAX) return TK_TOO_LARGE;
    for (size_t number = 0; number < a->n_pieces && status == TK_OK; number++) {
        const tk_piece *piece = a->pieces + number;
        if (piece->id == TK_NO_TOKEN) {
            status = encode_piece(m, w, a, number);
            w->failed = number;
        } else if ((status = room(w, 1)) == TK_OK) {
            emit(w, a, piece, number, (uint32_t)piece->id, 0, piece->end - piece->start);
        }
    }
    return status;
}
