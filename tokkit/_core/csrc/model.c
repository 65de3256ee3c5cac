/* The loop over pieces and units, and what all models are built on: see model.h. */
#include "model.h"

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
    tk_unit_cuts_free(&m->cuts);
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

/* What is encoded next: a unit of a piece, one that is a token as it stands, or a piece that is one token already. */
enum { UNIT, ONE_CHARACTER, ONE_TOKEN };

typedef struct {
    tk_unit_key key;
    size_t start, length, number; /* bytes of the text; number of the piece */
    uint32_t id;
    uint8_t kind, first, cached;
} unit;

/* Units are gathered in batches, and where the cache may have one is fetched while the others are gathered: most of
   what finding one costs is to wait for memory. */
enum { BATCH = 16 };

typedef struct {
    size_t number, at; /* the piece, and how far into it */
} cursor;

/* The token that a unit of one character is, or TK_NO_ID. */
TK_INLINE uint32_t token_of_character(const tk_model *m, const uint8_t *p, size_t n) {
    unsigned length;
    if (n != tk_utf8_length(*p) || !m->cuts.joined) return TK_NO_ID;
    return tk_character_id(&m->cuts, tk_utf8_decode(p, &length));
}

static size_t gather(const tk_model *m, const tk_model_worker *w, const tk_aligned *a, cursor *c, unit *units) {
    int cuts = (m->cuts.blanks || m->cuts.joined) && !w->drops;
    int caches = w->cache.units && !w->drops, whole_piece = m->whole_piece && !w->drops;
    size_t count = 0;
    while (count < BATCH && c->number < a->n_pieces) {
        const tk_piece *piece = a->pieces + c->number;
        const uint8_t *p = a->text + piece->start + c->at;
        size_t left = piece->end - piece->start - c->at;
        unit *u = units + count++;
        u->start = piece->start + c->at;
        u->length = left;
        u->number = c->number;
        u->first = !c->at;
        u->kind = UNIT;
        u->id = (uint32_t)piece->id;
        if (piece->id != TK_NO_TOKEN) {
            u->kind = ONE_TOKEN;
        } else if (whole_piece && u->first && (u->id = tk_trie_find(&m->trie, p, left)) != TK_NO_ID) {
            u->kind = ONE_TOKEN;
        } else {
            if (cuts) u->length = tk_unit_length(&m->cuts, p, left);
            if (cuts && *p >= TK_WIDE && (u->id = token_of_character(m, p, u->length)) != TK_NO_ID) {
                u->kind = ONE_CHARACTER;
            } else if ((u->cached = caches && u->length <= TK_UNIT_BYTES)) {
                u->key = tk_unit_key_of(&w->cache, p, u->length);
                TK_PREFETCH(w->cache.units + u->key.slot);
                TK_PREFETCH(w->cache.units + u->key.slot + 1);
            }
        }
        c->at += u->length;
        if (u->length == left) c->number++, c->at = 0;
    }
    return count;
}

/* The tokens of a unit; *behind is where those of its piece end so far, in bytes of the piece. */
TK_INLINE int encode_unit(const tk_model *m, tk_model_worker *w, const tk_aligned *a, const unit *u, size_t *behind) {
    const tk_piece *piece = a->pieces + u->number;
    size_t from = *behind;
    int status;
    const tk_unit *known = u->cached ? tk_unit_find(&w->cache, &u->key) : NULL;
    if (TK_LIKELY(known != NULL)) {
        size_t count = known->count, more = count > TK_UNIT_TOKENS ? count - TK_UNIT_TOKENS : 0;
        if (TK_UNLIKELY((status = room(w, count)) != TK_OK)) return status;
        for (size_t k = 0; k < count - more; k++) {
            emit(w, a, piece, u->number, known->ids[k], from + known->starts[k], from + known->ends[k]);
            *behind = from + known->ends[k];
        }
        const tk_unit_rest *rest = tk_unit_rest_of(known);
        for (size_t k = 0; k < more; k++) {
            emit(w, a, piece, u->number, rest->ids[k], from + rest->starts[k], from + rest->ends[k]);
            *behind = from + rest->ends[k];
        }
        return TK_OK;
    }
    w->n_subs = 0;
    if ((status = m->encode(m, w, a->text + u->start, u->length)) != TK_OK) return status;
    if (u->cached) tk_unit_learn(&w->cache, &u->key, w->subs, w->n_subs);
    if ((status = room(w, w->n_subs)) != TK_OK) return status;
    for (size_t k = 0; k < w->n_subs; k++) {
        emit(w, a, piece, u->number, w->subs[k].id, from + w->subs[k].start, from + w->subs[k].end);
        *behind = from + w->subs[k].end;
    }
    return TK_OK;
}

int tk_model_encode(const tk_model *m, tk_model_worker *w, const tk_aligned *a) {
    unit units[BATCH];
    cursor c = {0, 0};
    size_t behind = 0, count;
    int status;
    w->n = 0;
    if (a->n_pieces > INT32_MAX) return TK_TOO_LARGE;
    while ((count = gather(m, w, a, &c, units))) {
        for (size_t k = 0; k < count; k++) {
            const unit *u = units + k;
            if (u->first) behind = 0;
            if (u->kind != UNIT) {
                if ((status = room(w, 1)) != TK_OK) return status;
                emit(w, a, a->pieces + u->number, u->number, u->id, behind, behind + u->length);
                behind += u->length;
            } else if ((status = encode_unit(m, w, a, u, &behind)) != TK_OK) {
                w->failed = u->number;
                return status;
            }
        }
    }
    return TK_OK;
}
