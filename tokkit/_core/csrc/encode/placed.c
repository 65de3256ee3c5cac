/* Encodes a text to ids, spans and words: the cache has all three for each unit of the plan.

   The cache keeps two numbers for each token of a unit: its id; and its first byte, the byte after it, and its word,
   counted from the start of the unit. */
#include "encode/bpe_keys.h"
#include "encode/plan.h"

enum { SPAN_BITS = 12, MOST_SPAN = (1 << SPAN_BITS) - 1, MOST_WORD = 255 };

struct tk_placed {
    tk_cache cache;
    int64_t *spans;
    int32_t *words;
    size_t spans_capacity, words_capacity;
    uint32_t *packed; /* of the unit that missed */
    size_t packed_capacity;
    int32_t n_words; /* of the text so far; in a section that is one word, whether that has begun says `begun` */
    int begun;
};

void tk_placed_free(tk_placed *p) {
    if (!p) return;
    tk_cache_free(&p->cache);
    free(p->spans);
    free(p->words);
    free(p->packed);
    free(p);
}

void tk_placed_shrink(tk_placed *p, size_t most) {
    if (!p) return;
    if (p->spans_capacity > most / sizeof *p->spans) free(p->spans), p->spans = NULL, p->spans_capacity = 0;
    if (p->words_capacity > most / sizeof *p->words) free(p->words), p->words = NULL, p->words_capacity = 0;
    if (p->packed_capacity > most / sizeof *p->packed) free(p->packed), p->packed = NULL, p->packed_capacity = 0;
}

const int64_t *tk_placed_spans(const tk_worker *w) { return w->placed->spans; }
const int32_t *tk_placed_words(const tk_worker *w) { return w->placed->words; }

static tk_placed *placed_of(tk_worker *w, const tk_plan *plan) {
    if (w->placed) return w->placed;
    tk_placed *made = tk_calloc(1, sizeof *made);
    if (!made) return NULL;
    if (plan->sp) return w->placed = made;
    if (tk_cache_init(&made->cache, NULL, plan->placed_words, plan->placed_lines) != TK_OK) return free(made), NULL;
    return w->placed = made;
}

/* Room for so many more tokens. */
static int reserve(tk_worker *w, size_t more) {
    tk_placed *p = w->placed;
    int status = tk_reserve_ids(w, more);
    if (status == TK_OK) status = tk_reserve(&p->words, &p->words_capacity, w->n_ids + more, sizeof *p->words);
    if (status == TK_OK) status = tk_reserve(&p->spans, &p->spans_capacity, 2 * (w->n_ids + more), sizeof *p->spans);
    return status;
}

TK_INLINE void put(tk_worker *w, uint32_t id, size_t start, size_t end, int32_t word) {
    tk_placed *p = w->placed;
    w->ids[w->n_ids] = id;
    p->spans[2 * w->n_ids] = (int64_t)start;
    p->spans[2 * w->n_ids + 1] = (int64_t)end;
    p->words[w->n_ids++] = word;
}

/* The words of a unit, of which there are n, have been put: in a section that is one word they are that. */
TK_INLINE void count_words(const tk_plan *plan, tk_placed *p, size_t n) {
    if (plan->one_word) p->begun |= n > 0;
    else p->n_words += (int32_t)n;
}

/* ---- units that miss */

/* The tokens of a unit at `base` of the text, put one by one; *kept says whether they, as `packed`, may be cached. */
static int put_staged(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, unsigned edge, size_t base,
                      size_t *kept) {
    int status = tk_run_stages(plan, w, p, n, edge);
    /* In the whole text, what follows is shifted as well; or nothing is, if text stands before this unit. */
    if (status == TK_OK && w->staged->unit.shifted) return TK_ELSEWHERE;
    if (status == TK_OK) status = reserve(w, w->staged->model.n);
    if (status == TK_OK)
        status = tk_reserve(&w->placed->packed, &w->placed->packed_capacity, 2 * w->staged->model.n + 1,
                            sizeof(uint32_t));
    if (status != TK_OK) return status;
    const tk_model_worker *m = &w->staged->model;
    const size_t n_words = w->staged->unit.n_pieces;
    uint32_t *packed = w->placed->packed;
    int fits = n <= MOST_SPAN && m->n && n_words <= MOST_WORD && (size_t)m->words[m->n - 1] + 1 == n_words;
    for (size_t k = 0; k < m->n; k++) {
        size_t start = (size_t)m->spans[2 * k], end = (size_t)m->spans[2 * k + 1];
        packed[2 * k] = m->ids[k];
        packed[2 * k + 1] = (uint32_t)(start & MOST_SPAN) | (uint32_t)(end & MOST_SPAN) << SPAN_BITS |
                            (uint32_t)m->words[k] << (2 * SPAN_BITS);
        put(w, m->ids[k], base + start, base + end, w->placed->n_words + m->words[k]);
    }
    count_words(plan, w->placed, n_words);
    *kept = fits ? 2 * m->n : 0;
    return TK_OK;
}

/* The same of a pretoken of bytes, whose tokens lie one after another. */
static int put_bytes(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t readable, size_t base,
                     size_t *kept) {
    const size_t before = w->n_ids;
    tk_key key = n <= TK_SHORT_WORD ? tk_key_of(p, n, readable) : tk_long_key(&w->cache, p, n);
    int status = tk_reserve_ids(w, n + TK_INLINE_IDS);
    if (status == TK_OK) status = plan->miss(plan, w, p, n, readable, &key, 0);
    const size_t count = w->n_ids - before;
    if (status == TK_OK) status = reserve(w, count);
    if (status == TK_OK)
        status = tk_reserve(&w->placed->packed, &w->placed->packed_capacity, 2 * count + 1, sizeof(uint32_t));
    if (status != TK_OK) return status;
    uint32_t *packed = w->placed->packed;
    size_t at = 0;
    w->n_ids = before;
    for (size_t k = 0; k < count; k++) {
        const uint32_t id = w->ids[before + k];
        const size_t end = at + plan->lengths[id];
        packed[2 * k] = id;
        packed[2 * k + 1] = (uint32_t)(at & MOST_SPAN) | (uint32_t)(end & MOST_SPAN) << SPAN_BITS;
        put(w, id, base + at, base + end, w->placed->n_words);
        at = end;
    }
    w->placed->n_words++;
    *kept = n <= MOST_SPAN ? 2 * count : 0;
    return at == n ? TK_OK : TK_ELSEWHERE;
}

/* ---- units */

TK_INLINE void put_known(const tk_plan *plan, tk_worker *w, const uint32_t *packed, size_t count, size_t base) {
    const int32_t first = w->placed->n_words;
    uint32_t word = 0;
    for (size_t k = 0; k < count; k += 2) {
        const uint32_t place = packed[k + 1];
        word = place >> (2 * SPAN_BITS);
        put(w, packed[k] & TK_ID_MASK, base + (place & MOST_SPAN), base + (place >> SPAN_BITS & MOST_SPAN),
            first + (int32_t)word);
    }
    count_words(plan, w->placed, word + 1);
}

static int encode_unit(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t readable, size_t base,
                       unsigned edge) {
    tk_cache *cache = &w->placed->cache;
    const uint32_t *packed;
    size_t count = 0, kept = 0;
    tk_key key = {0, 0, 0};
    int is_long = n > TK_SHORT_WORD, status;
    if (!is_long) {
        key = tk_key_of(p, n, readable);
        key.high |= (uint64_t)edge << 60;
        if (edge) tk_key_hash(&key);
        count = tk_cache_find(cache, &key, &packed);
    } else if (n <= cache->longest && !edge) {
        key = tk_long_key(cache, p, n);
        count = tk_cache_find_long(cache, p, n, key.low, &packed);
    }
    if (count) {
        if ((status = reserve(w, count / 2)) == TK_OK) put_known(plan, w, packed, count, base);
        return status;
    }
    cache->misses++;
    status = plan->bpe ? put_bytes(plan, w, p, n, readable, base, &kept)
                       : put_staged(plan, w, p, n, edge, base, &kept);
    if (status != TK_OK || !kept) return status;
    if (!is_long) tk_cache_add(cache, &key, w->placed->packed, kept);
    else if (!edge) tk_cache_add_long(cache, p, n, w->placed->packed, kept);
    return TK_OK;
}

/* Units from k on, up to the first that the first line of the cache does not have: returns which that is. There is
   room for TK_INLINE_IDS tokens of each, and most have fewer. All that changes stays in registers: through memory each
   token would wait for the one before it. */
TK_INLINE size_t put_found(const tk_plan *plan, tk_worker *w, const tk_keys *keys, size_t k, size_t last,
                           const size_t *ends, size_t start, size_t base) {
    tk_placed *p = w->placed;
    const tk_cache *cache = &p->cache;
    uint32_t *ids = w->ids + w->n_ids;
    int64_t *spans = p->spans + 2 * w->n_ids;
    int32_t *words = p->words + w->n_ids, n_words = p->n_words;
    const uint32_t *limit = ids + TK_INLINE_IDS * (last - k);
    const int grows = !plan->one_word, first = (int)k;
    for (; k < last; k++) {
        const tk_word *word = tk_probe((const uint8_t *)cache->words, cache->line_shift, keys, k);
        const uint32_t *packed;
        size_t count;
        if (TK_UNLIKELY(!word)) break;
        count = tk_cache_ids(cache, word, &packed);
        if (TK_UNLIKELY(count > TK_INLINE_IDS) && count / 2 + TK_INLINE_IDS * (last - k) > (size_t)(limit - ids)) break;
        const int64_t at = (int64_t)(base + start);
        for (size_t i = 0; i < count; i += 2) {
            const uint32_t place = packed[i + 1];
            *ids++ = packed[i] & TK_ID_MASK;
            *spans++ = at + (place & MOST_SPAN);
            *spans++ = at + (place >> SPAN_BITS & MOST_SPAN);
            *words++ = n_words + (int32_t)(place >> (2 * SPAN_BITS));
        }
        n_words = grows ? words[-1] + 1 : n_words;
        start = ends[k];
    }
    w->n_ids = (size_t)(ids - w->ids);
    p->n_words = n_words;
    p->begun |= !grows && (int)k > first;
    return k;
}

/* A section of a text, which lies at `base`. */
static int encode_section(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n, size_t base,
                          unsigned edges) {
    tk_split split = plan->split;
    tk_keys keys;
    size_t ends[TK_CHUNK], at = 0, start = 0, count;
    int status = TK_OK;
    edges &= tk_edges_that_differ(plan, plan->word_rule);
    split.memo = &w->memo;
    split.cuts = NULL; /* pretokens are words: their parts are not */
    w->placed->begun = 0;
    while (status == TK_OK) {
        count = plan->word_rule ? tk_cut_units(plan->word_rule, text, n, &at, ends, TK_CHUNK)
                                : tk_scan(&split, text, n, &at, ends, TK_CHUNK);
        if (!count) break;
        if (!split.dfa) tk_make_keys(&w->placed->cache, text, n, start, ends, count, &keys);
        const size_t last = ends[count - 1] == n && edges & TK_EDGE_END ? count - 1 : count; /* that are as inside */
        for (size_t k = 0; k < count && status == TK_OK; k++) {
            unsigned edge = start ? 0 : edges & ~(unsigned)TK_EDGE_END;
            status = reserve(w, TK_INLINE_IDS * (count - k));
            if (!edge && !split.dfa && status == TK_OK) {
                k = put_found(plan, w, &keys, k, last, ends, start, base);
                if (k) start = ends[k - 1];
                if (k == count) break;
            }
            const size_t end = ends[k] & ~TK_DROPPED;
            if (end == n) edge |= edges & TK_EDGE_END;
            if (!(ends[k] & TK_DROPPED) && status == TK_OK)
                status = encode_unit(plan, w, text + start, end - start, n - start, base + start, edge);
            start = end;
        }
    }
    w->placed->n_words += w->placed->begun;
    return status;
}

/* The same by a sentencepiece model; a section begins a word. */
static int encode_document(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n, size_t base) {
    int status = tk_sp_section_placed(plan, w, text, n), begins = 1;
    const tk_sp_scratch *s = w->sp;
    if (status == TK_OK) status = reserve(w, s->n_ids);
    if (status != TK_OK) return status;
    for (size_t k = 0; k < s->n_ids; k++) {
        const uint32_t id = s->ids[k];
        begins |= plan->word_marks[id] & TK_BEGINS_WORD;
        w->placed->n_words += begins;
        put(w, id, base + s->from[s->spans[2 * k]], base + s->from[s->spans[2 * k + 1]], w->placed->n_words - 1);
        begins = (plan->word_marks[id] & TK_ENDS_WORD) != 0;
    }
    return TK_OK;
}

static int put_added(tk_worker *w, uint32_t id, size_t start, size_t end) {
    int status = reserve(w, 1);
    if (status == TK_OK) put(w, id, start, end, w->placed->n_words++);
    return status;
}

/* A section in which tokens may stand that are looked for in normalized text: it must be normalized already. */
static int encode_kept(const tk_plan *plan, tk_worker *w, const tk_finder *f, const uint8_t *text, size_t n,
                       size_t base, unsigned edges) {
    if (plan->sp) return encode_document(plan, w, text, n, base);
    if (plan->n_before && !tk_stages_keep(plan->before, plan->n_before, text, n)) return TK_ELSEWHERE;
    if (!f || !f->normalized) return encode_section(plan, w, text, n, base, edges);
    tk_added_cursor *cursor = &w->staged->normalized;
    tk_added_match match;
    size_t start = 0;
    int status = TK_OK, found = 1;
    tk_added_start(cursor);
    while (found && status == TK_OK) {
        found = tk_added_next(f->normalized, text, n, f->normalized_allowed, cursor, &match);
        size_t end = found ? match.start : n;
        unsigned here = (start ? TK_EDGE_SECTION_START : edges & ~(unsigned)TK_EDGE_END) | TK_EDGE_END;
        if (end > start) status = encode_section(plan, w, text + start, end - start, base + start, here);
        if (!found || status != TK_OK) break;
        status = put_added(w, (uint32_t)f->normalized_ids[match.number], base + match.start, base + match.end);
        start = match.end;
    }
    return status;
}

int tk_encode_placed(const tk_plan *plan, tk_worker *w, const tk_finder *f, const uint8_t *text, size_t n) {
    tk_placed *placed = placed_of(w, plan);
    tk_staged *s = tk_staged_of(w);
    tk_added_match match;
    size_t start = 0;
    int status = TK_OK, found = 1;
    if (!placed || !s) return TK_NO_MEMORY;
    if (n > INT32_MAX) return plan->sp ? TK_TOO_LARGE : TK_ELSEWHERE; /* words are counted in 32 bits */
    placed->n_words = 0;
    w->grown = 0;
    if (f && f->given) tk_added_start(&s->given);
    while (found && status == TK_OK) {
        found = f && f->given && tk_added_next(f->given, text, n, f->given_allowed, &s->given, &match);
        size_t end = found ? match.start : n;
        unsigned edges = (start ? TK_EDGE_SECTION_START : TK_EDGE_TEXT_START) | TK_EDGE_END;
        if (end > start) status = encode_kept(plan, w, f, text + start, end - start, start, edges);
        if (!found || status != TK_OK) break;
        status = put_added(w, (uint32_t)f->given_ids[match.number], match.start, match.end);
        start = match.end;
    }
    return status;
}
