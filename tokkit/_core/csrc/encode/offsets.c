/* Encodes a text to ids, spans and words: the cache has all three for each unit of the plan.

   The cache keeps two numbers for each token of a unit: its id; and its first byte, the byte after it, and its word,
   counted from the start of the unit. Of models with scores one more number follows: see tk_unit_model. */
#include "encode/plan.h"

enum { SPAN_BITS = 12, MAX_SPAN = (1 << SPAN_BITS) - 1, MAX_WORD = 255 };

struct tk_offsets {
    tk_cache cache;
    int64_t *spans;
    int32_t *words;
    size_t spans_capacity, words_capacity;
    uint32_t *packed; /* of the unit that is not in the cache */
    size_t packed_capacity;
    int32_t n_words; /* of the text so far; in a section that is one word, whether that has begun says `begun` */
    int begun;
};

void tk_offsets_free(tk_offsets *o) {
    if (!o) return;
    tk_cache_free(&o->cache);
    free(o->spans);
    free(o->words);
    free(o->packed);
    free(o);
}

void tk_offsets_shrink(tk_offsets *o, size_t max) {
    if (!o) return;
    tk_shrink(&o->spans, &o->spans_capacity, sizeof *o->spans, max);
    tk_shrink(&o->words, &o->words_capacity, sizeof *o->words, max);
    tk_shrink(&o->packed, &o->packed_capacity, sizeof *o->packed, max);
}

const int64_t *tk_offsets_spans(const tk_worker *w) { return w->offsets->spans; }
const int32_t *tk_offsets_words(const tk_worker *w) { return w->offsets->words; }

static tk_offsets *offsets_of(tk_worker *w, const tk_plan *plan) {
    if (w->offsets) return w->offsets;
    tk_offsets *o = tk_calloc(1, sizeof *o);
    if (!o) return NULL;
    if (tk_cache_init(&o->cache, NULL, plan->max_offset_words, plan->offset_lines) != TK_OK) return free(o), NULL;
    if (plan->max_cached) o->cache.longest = plan->max_cached;
    return w->offsets = o;
}

int tk_offsets_reserve(tk_worker *w, size_t more) {
    tk_offsets *o = w->offsets;
    int status = tk_reserve_ids(w, more);
    if (status == TK_OK) status = tk_reserve(&o->words, &o->words_capacity, w->n_ids + more, sizeof *o->words);
    if (status == TK_OK) status = tk_reserve(&o->spans, &o->spans_capacity, 2 * (w->n_ids + more), sizeof *o->spans);
    return status;
}

TK_INLINE void append(tk_worker *w, uint32_t id, size_t start, size_t end, int32_t word) {
    tk_offsets *o = w->offsets;
    TK_ASSERT(w->n_ids < w->ids_capacity && w->n_ids < o->words_capacity && start <= end);
    w->ids[w->n_ids] = id;
    o->spans[2 * w->n_ids] = (int64_t)start;
    o->spans[2 * w->n_ids + 1] = (int64_t)end;
    o->words[w->n_ids++] = word;
}

void tk_offsets_append(tk_worker *w, uint32_t id, size_t start, size_t end, int32_t word) {
    append(w, id, start, end, word);
}

/* The words of a unit, of which there are n, have been appended: in a section that is one word they are that. */
TK_INLINE void count_words(const tk_plan *plan, tk_offsets *o, size_t n) {
    if (plan->emission.one_word) o->begun |= n > 0;
    else o->n_words += (int32_t)n;
}

/* ---- units that are not in the cache */

uint32_t *tk_offsets_pack(tk_worker *w, size_t n_tokens) {
    tk_offsets *o = w->offsets;
    return tk_reserve(&o->packed, &o->packed_capacity, 2 * n_tokens + 1, sizeof *o->packed) == TK_OK ? o->packed : NULL;
}

TK_INLINE uint32_t packed_place(size_t start, size_t end, size_t word) {
    return (uint32_t)(start & MAX_SPAN) | (uint32_t)(end & MAX_SPAN) << SPAN_BITS | (uint32_t)word << (2 * SPAN_BITS);
}

uint32_t tk_offsets_packed(size_t start, size_t end, size_t word) { return packed_place(start, end, word); }

int tk_offsets_staged(const tk_plan *plan, tk_worker *w, tk_offset_unit *unit) {
    int status = tk_run_stages(plan, w, unit->p, unit->n, unit->edge);
    /* In the whole text, what follows is shifted as well; or nothing is, if text stands before this unit. */
    if (status == TK_OK && w->staged->unit.shifted) return TK_UNSUPPORTED;
    if (status == TK_OK) status = tk_offsets_reserve(w, w->staged->model.n);
    if (status != TK_OK) return status;
    const tk_model_worker *m = &w->staged->model;
    const size_t n_words = w->staged->unit.n_pieces, base = unit->base;
    uint32_t *packed = tk_offsets_pack(w, m->n);
    if (!packed) return TK_NO_MEMORY;
    int fits = unit->n <= MAX_SPAN && m->n && n_words <= MAX_WORD && (size_t)m->words[m->n - 1] + 1 == n_words;
    for (size_t k = 0; k < m->n; k++) {
        size_t start = (size_t)m->spans[2 * k], end = (size_t)m->spans[2 * k + 1];
        packed[2 * k] = m->ids[k];
        packed[2 * k + 1] = packed_place(start, end, (size_t)m->words[k]);
        append(w, m->ids[k], base + start, base + end, w->offsets->n_words + m->words[k]);
    }
    count_words(plan, w->offsets, n_words);
    unit->kept = fits ? 2 * m->n : 0;
    return TK_OK;
}

/* Of a pretoken of bytes the tokens lie one after another. */
int tk_offsets_bytes(const tk_plan *plan, tk_worker *w, tk_offset_unit *unit) {
    const size_t before = w->n_ids, n = unit->n;
    tk_key key = n <= TK_SHORT_WORD ? tk_key_of(unit->p, n, unit->readable) : tk_long_key(&w->cache, unit->p, n);
    int status = tk_reserve_ids(w, n + TK_INLINE_IDS);
    if (status == TK_OK) status = plan->model.encode_uncached(plan, w, unit->p, n, unit->readable, &key, 0);
    const size_t count = w->n_ids - before;
    if (status == TK_OK) status = tk_offsets_reserve(w, count);
    if (status != TK_OK) return status;
    uint32_t *packed = tk_offsets_pack(w, count);
    if (!packed) return TK_NO_MEMORY;
    size_t at = 0;
    w->n_ids = before;
    for (size_t k = 0; k < count; k++) {
        const uint32_t id = w->ids[before + k];
        const size_t end = at + plan->emission.lengths[id];
        packed[2 * k] = id;
        packed[2 * k + 1] = packed_place(at, end, 0);
        append(w, id, unit->base + at, unit->base + end, w->offsets->n_words);
        at = end;
    }
    w->offsets->n_words++;
    unit->kept = n <= MAX_SPAN ? 2 * count : 0;
    return at == n ? TK_OK : TK_UNSUPPORTED;
}

/* ---- units */

/* Of a model with scores, whether the last of `count` numbers allows the score before the unit. It counts then. */
TK_INLINE int holds(const tk_plan *plan, tk_worker *w, const uint32_t *packed, size_t count) {
    if (!plan->model.scored) return 1;
    if (!tk_sp_meta_holds(packed[count - 1], w->sp->amount)) return 0;
    w->sp->amount += tk_sp_meta_sum(packed[count - 1]);
    return 1;
}

TK_INLINE void append_known(const tk_plan *plan, tk_worker *w, const uint32_t *packed, size_t count, size_t base) {
    const int32_t first = w->offsets->n_words;
    uint32_t word = 0;
    for (size_t k = 0; k + 1 < count; k += 2) {
        const uint32_t place = packed[k + 1];
        word = place >> (2 * SPAN_BITS);
        append(w, packed[k] & TK_ID_MASK, base + (place & MAX_SPAN), base + (place >> SPAN_BITS & MAX_SPAN),
               first + (int32_t)word);
    }
    count_words(plan, w->offsets, word + 1);
}

static int encode_unit(const tk_plan *plan, tk_worker *w, tk_offset_unit *unit) {
    tk_cache *cache = &w->offsets->cache;
    const uint8_t *p = unit->p;
    const size_t n = unit->n;
    const uint32_t *packed;
    size_t count = 0;
    tk_key key = {0, 0, 0};
    int is_long = n > TK_SHORT_WORD, status;
    if (!is_long) {
        key = tk_key_of(p, n, unit->readable);
        key.high |= (uint64_t)unit->edge << 60;
        if (unit->edge) tk_key_hash(&key);
        count = tk_cache_find(cache, &key, &packed);
    } else if (n <= cache->longest && !unit->edge) {
        key = tk_long_key(cache, p, n);
        count = tk_cache_find_long(cache, p, n, key.low, &packed);
    }
    const int known = count > 0;
    if (known && holds(plan, w, packed, count)) {
        if ((status = tk_offsets_reserve(w, count / 2)) == TK_OK) append_known(plan, w, packed, count, unit->base);
        return status;
    }
    cache->misses += !known;
    unit->kept = 0;
    status = plan->emission.encode_uncached(plan, w, unit);
    if (status != TK_OK || !unit->kept || known) return status;
    if (!is_long) tk_cache_add(cache, &key, w->offsets->packed, unit->kept);
    else if (!unit->edge) tk_cache_add_long(cache, p, n, w->offsets->packed, unit->kept);
    return TK_OK;
}

/* Units from k on, up to the first that the first line of the cache does not have: returns which that is. There is
   room for TK_INLINE_IDS tokens of each, and most have fewer. All that changes stays in registers: through memory each
   token would wait for the one before it. */
TK_INLINE size_t append_found(const tk_plan *plan, tk_worker *w, const tk_keys *keys, size_t k, size_t last,
                              const tk_units *u, size_t base) {
    tk_offsets *o = w->offsets;
    const tk_cache *cache = &o->cache;
    uint32_t *ids = w->ids + w->n_ids;
    int64_t *spans = o->spans + 2 * w->n_ids;
    int32_t *words = o->words + w->n_ids, n_words = o->n_words;
    const uint32_t *limit = ids + TK_INLINE_IDS * (last - k);
    const int grows = !plan->emission.one_word;
    const size_t first = k;
    size_t start = k ? u->ends[k - 1] : u->start;
    for (; k < last; k++) {
        const tk_word *word = tk_probe((const uint8_t *)cache->words, cache->line_shift, keys, k);
        const uint32_t *packed;
        size_t count;
        if (TK_UNLIKELY(!word)) break;
        count = tk_cache_ids(cache, word, &packed);
        TK_ASSERT(count % 2 == (size_t)plan->model.scored);
        if (TK_UNLIKELY(count > TK_INLINE_IDS) && count / 2 + TK_INLINE_IDS * (last - k) > (size_t)(limit - ids)) break;
        if (!holds(plan, w, packed, count)) break;
        const int64_t at = (int64_t)(base + start);
        for (size_t i = 0; i + 1 < count; i += 2) {
            const uint32_t place = packed[i + 1];
            *ids++ = packed[i] & TK_ID_MASK;
            *spans++ = at + (place & MAX_SPAN);
            *spans++ = at + (place >> SPAN_BITS & MAX_SPAN);
            *words++ = n_words + (int32_t)(place >> (2 * SPAN_BITS));
        }
        n_words = grows ? words[-1] + 1 : n_words;
        start = u->ends[k];
    }
    w->n_ids = (size_t)(ids - w->ids);
    o->n_words = n_words;
    o->begun |= !grows && k > first;
    return k;
}

/* A chunk of units, `edges` those of the section at whose ends they may stand; `base` is where their text lies. */
static int encode_chunk(const tk_plan *plan, tk_worker *w, const tk_units *u, unsigned edges, size_t base) {
    tk_keys keys;
    const int drops = plan->word_front.next == tk_front_split && plan->word_front.split.dfa;
    const size_t count = u->count;
    const size_t last = u->ends[count - 1] == u->n && edges & TK_EDGE_END ? count - 1 : count; /* that are as inside */
    int status = TK_OK;
    if (!drops) tk_make_keys(&w->offsets->cache, u->text, u->n, u->start, u->ends, count, &keys);
    for (size_t k = 0; k < count && status == TK_OK; k++) {
        size_t start = k ? u->ends[k - 1] & ~TK_DROPPED : u->start;
        unsigned edge = start ? 0 : edges & ~(unsigned)TK_EDGE_END;
        status = tk_offsets_reserve(w, TK_INLINE_IDS * (count - k));
        if (!edge && !drops && status == TK_OK) {
            k = append_found(plan, w, &keys, k, last, u, base);
            if (k == count) break;
            if (k) start = u->ends[k - 1];
        }
        const size_t end = u->ends[k] & ~TK_DROPPED;
        if (end == u->n) edge |= edges & TK_EDGE_END;
        tk_offset_unit unit = {u->text + start, end - start, u->n - start, base + start, edge, 0};
        if (!(u->ends[k] & TK_DROPPED) && status == TK_OK) status = encode_unit(plan, w, &unit);
    }
    return status;
}

/* A section of a text, which lies at `base`: spans are places in the text that units are cut of, from `base` on. */
static int encode_units(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n, size_t base,
                        unsigned edges) {
    const tk_front *front = &plan->word_front;
    tk_section section = {.text = text, .n = n, .stop = n, .edges = edges};
    tk_units units;
    w->offsets->begun = 0;
    if (front->begin) front->begin(front, w, &section, tk_max_grown(plan, n));
    for (;;) {
        int status = front->next(front, w, &section, &units);
        if (status == TK_OK && units.count) status = encode_chunk(plan, w, &units, edges & front->edges, base);
        if (status != TK_OK) return status;
        if (!units.count) break;
    }
    w->offsets->n_words += w->offsets->begun;
    if (plan->model.finish) w->n_ids = plan->model.finish(plan, w, w->offsets->spans);
    return TK_OK;
}

static int encode_section(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n, size_t base,
                          unsigned edges) {
    const size_t first = w->n_ids;
    if (!plan->emission.finish) return encode_units(plan, w, text, n, base, edges);
    int status = encode_units(plan, w, text, n, 0, edges);
    if (status == TK_OK) plan->emission.finish(plan, w, first, base);
    return status;
}

static int put_added(tk_worker *w, uint32_t id, size_t start, size_t end) {
    int status = tk_offsets_reserve(w, 1);
    if (status == TK_OK) append(w, id, start, end, w->offsets->n_words++);
    return status;
}

/* A section in which tokens may stand that are looked for in normalized text: it must be normalized already. */
static int encode_kept(const tk_plan *plan, tk_worker *w, const tk_finder *f, const uint8_t *text, size_t n,
                       size_t base, unsigned edges) {
    if (plan->n_before && !tk_stages_keep(plan->before, plan->n_before, text, n)) return TK_UNSUPPORTED;
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

int tk_encode_offsets(const tk_plan *plan, tk_worker *w, const tk_finder *f, const uint8_t *text, size_t n) {
    tk_offsets *offsets = offsets_of(w, plan);
    tk_staged *s = tk_staged_of(w);
    tk_added_match match;
    size_t start = 0;
    int status = TK_OK, found = 1;
    if (!offsets || !s) return TK_NO_MEMORY;
    if (n > INT32_MAX) return plan->model.sp ? TK_TOO_LARGE : TK_UNSUPPORTED; /* words are counted in 32 bits */
    offsets->n_words = 0;
    w->grown = 0;
    if (w->sp) w->sp->aligned = 1;
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
    if (w->sp) w->sp->aligned = 0;
    return status;
}

/* ---- SentencePiece: its spans are of the normalized text at first */

void tk_offsets_finish_sp(const tk_plan *plan, tk_worker *w, size_t first, size_t base) {
    tk_offsets *o = w->offsets;
    const uint32_t *from = w->sp->from;
    int begins = 1; /* a section begins a word */
    o->n_words = first ? o->words[first - 1] + 1 : 0;
    for (size_t k = first; k < w->n_ids; k++) {
        const uint8_t marks = plan->emission.word_marks[w->ids[k]];
        begins |= marks & TK_BEGINS_WORD;
        o->n_words += begins;
        o->words[k] = o->n_words - 1;
        TK_ASSERT(o->spans[2 * k] <= o->spans[2 * k + 1] && o->spans[2 * k + 1] <= (int64_t)w->sp->n);
        o->spans[2 * k] = (int64_t)(base + from[o->spans[2 * k]]);
        o->spans[2 * k + 1] = (int64_t)(base + from[o->spans[2 * k + 1]]);
        begins = (marks & TK_ENDS_WORD) != 0;
    }
}

int tk_encode_normalized_sp(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n) {
    if (!offsets_of(w, plan)) return TK_NO_MEMORY;
    w->sp->aligned = 1;
    /* A text of no bytes has no section, but its normalized text has an origin. */
    int status = n ? encode_units(plan, w, text, n, 0, TK_EDGES) : tk_sp_prepare(plan->model.sp, w->sp, text, 0, 0);
    w->sp->aligned = 0;
    return status;
}
