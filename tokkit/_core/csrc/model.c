/* The loop over pieces and units, and what all models are built on: see model.h. */
#include "model.h"

int tk_model_worker_init(tk_model_worker *w, size_t cache_units) {
    memset(w, 0, sizeof *w);
    return tk_unit_cache_init(&w->cache, cache_units);
}

void tk_model_worker_free(tk_model_worker *w) {
    tk_unit_cache_free(&w->cache);
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
enum { BATCH = 16, BATCH_TOKENS = BATCH * TK_UNIT_TOKENS };

typedef struct {
    size_t number, at;  /* the piece, and how far into it */
    size_t short_until; /* up to here units are made as short as may be, because they were too long for the cache */
    uint64_t ends;      /* where units may end among the next bytes, a bit a byte, as far as that is known */
} cursor;

TK_INLINE size_t next_length(const tk_model *m, cursor *c, const uint8_t *p, size_t left) {
    const tk_unit_cuts *cuts = &m->cuts;
    if (TK_UNLIKELY(c->at < c->short_until)) return tk_short_unit_length(cuts, p, c->short_until - c->at);
    if (cuts->joined && cuts->all && (*p & 0xF0) == TK_WIDE) {
        if (!c->ends) c->ends = tk_wide_cuts(cuts, p, left);
        if (c->ends) {
            unsigned length = tk_lowest_bit(c->ends);
            c->ends >>= length;
            c->ends &= ~UINT64_C(1);
            if (length <= TK_UNIT_BYTES) return length;
        }
    }
    c->ends = 0;
    size_t length = tk_unit_length(cuts, p, left);
    if (TK_LIKELY(length <= TK_UNIT_BYTES) || !cuts->joined) return length;
    c->short_until = c->at + length;
    return tk_short_unit_length(cuts, p, length);
}

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
            if (cuts) u->length = next_length(m, c, p, left);
            if (cuts && (u->id = token_of_character(m, p, u->length)) != TK_NO_ID) {
                u->kind = ONE_CHARACTER;
            } else if ((u->cached = caches && u->length <= TK_UNIT_BYTES)) {
                u->key = tk_unit_key_of(&w->cache, p, u->length);
                TK_PREFETCH(w->cache.units + u->key.slot);
                TK_PREFETCH(w->cache.units + u->key.slot + 1);
            }
        }
        c->at += u->length;
        if (u->length == left) c->number++, c->at = c->short_until = 0, c->ends = 0;
    }
    return count;
}

/* Where tokens go: what the worker has, in registers. */
typedef struct {
    uint32_t *ids;
    int64_t *spans;
    int32_t *words;
    size_t n;
} sink;

/* Room for more tokens, and for those of a batch from the cache. */
static int room(tk_model_worker *w, sink *out, size_t more) {
    size_t need = out->n + more + BATCH_TOKENS;
    int status = tk_reserve(&w->ids, &w->ids_capacity, need, sizeof *w->ids);
    if (status == TK_OK) status = tk_reserve(&w->words, &w->words_capacity, need, sizeof *w->words);
    if (status == TK_OK) status = tk_reserve(&w->spans, &w->spans_capacity, 2 * need, sizeof *w->spans);
    out->ids = w->ids;
    out->spans = w->spans;
    out->words = w->words;
    return status;
}

/* A token of bytes [start, end) of a piece; there is room. Where characters that have no token were dropped, or
   byte tokens of a prefix put in, ends do not fit the piece: what lies behind it is then left as it is, as
   tokenizers leaves it, but for what lies behind the text. */
TK_INLINE void emit(sink *out, const tk_aligned *a, const tk_piece *piece, size_t word, uint32_t id, size_t start,
                    size_t end) {
    tk_span span;
    if (TK_LIKELY(start < end && end <= piece->end - piece->start)) {
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

/* The tokens of a unit that the cache has; *behind is where those of its piece end so far, in bytes of the piece. */
TK_INLINE void emit_known(sink *out, const tk_aligned *a, const unit *u, const tk_unit *known, size_t *behind) {
    const tk_piece *piece = a->pieces + u->number;
    size_t from = *behind, start = 0, end = 0, lines = tk_unit_is_long(known) ? 2 : 1;
    for (; lines; lines--, known++)
        for (size_t k = 0; k < TK_UNIT_LINE; k++) {
            uint32_t id = tk_unit_next(known->tokens[k], &start, &end);
            if (id == TK_NO_ID) break;
            emit(out, a, piece, u->number, id, from + start, from + end);
        }
    *behind = from + end;
}

static TK_NOINLINE int encode_unit(const tk_model *m, tk_model_worker *w, const tk_aligned *a, const unit *u,
                                   sink *out, size_t *behind) {
    size_t from = *behind;
    w->n_subs = 0;
    int status = m->encode(m, w, a->text + u->start, u->length);
    if (status == TK_OK) status = room(w, out, w->n_subs);
    if (status != TK_OK) return status;
    if (u->cached) tk_unit_learn(&w->cache, &u->key, w->subs, w->n_subs);
    for (size_t k = 0; k < w->n_subs; k++) {
        const tk_sub *sub = w->subs + k;
        emit(out, a, a->pieces + u->number, u->number, sub->id, from + sub->start, from + sub->end);
        *behind = from + sub->end;
    }
    return TK_OK;
}

int tk_model_encode(const tk_model *m, tk_model_worker *w, const tk_aligned *a) {
    unit units[BATCH];
    cursor c = {0, 0, 0, 0};
    sink out = {.n = 0};
    size_t behind = 0, count;
    int status;
    w->n = 0;
    if (a->n_pieces > INT32_MAX) return TK_TOO_LARGE;
    while ((count = gather(m, w, a, &c, units))) {
        if ((status = room(w, &out, 0)) != TK_OK) return status;
        sink now = out; /* its address goes nowhere else */
        for (size_t k = 0; k < count; k++) {
            const unit *u = units + k;
            if (u->first) behind = 0;
            if (u->kind != UNIT) {
                emit(&now, a, a->pieces + u->number, u->number, u->id, behind, behind + u->length);
                behind += u->length;
                continue;
            }
            const tk_unit *known = u->cached ? tk_unit_find(&w->cache, &u->key) : NULL;
            if (TK_LIKELY(known != NULL)) {
                emit_known(&now, a, u, known, &behind);
                continue;
            }
            out = now;
            size_t reached = behind;
            if ((status = encode_unit(m, w, a, u, &out, &reached)) != TK_OK) {
                w->failed = u->number;
                return status;
            }
            now = out;
            behind = reached;
        }
        out = now;
    }
    w->n = out.n;
    return TK_OK;
}
