/* Encodes chunks of units in three phases, and the added tokens between sections: see plan.h.

   Phase 1 finds the ends of up to TK_CHUNK units, phase 2 makes their keys and prefetches their cache lines, phase 3
   looks them up and writes ids; the plan's `miss` encodes the units that are not in the cache. */
#include "encode/plan.h"

#include "encode/bpe_keys.h"
#include "text/utf8.h"

int tk_worker_init(tk_worker *w, const tk_plan *plan, size_t max_words) {
    memset(w, 0, sizeof *w);
    if (plan->sp) return tk_sp_worker_init(w, max_words);
    return tk_cache_init(&w->cache, plan->bpe, max_words, plan->cache_lines);
}

static void free_staged(tk_staged *s) {
    if (!s) return;
    tk_aligned_free(&s->unit);
    tk_aligned_free(&s->unit_spare);
    tk_aligned_free(&s->section);
    tk_aligned_free(&s->section_spare);
    tk_model_worker_free(&s->model);
    free(s);
}

void tk_worker_free(tk_worker *w) {
    tk_cache_free(&w->cache);
    tk_merger_free(&w->merger);
    tk_dfa_memo_free(&w->memo);
    free_staged(w->staged);
    tk_placed_free(w->placed);
    tk_sp_worker_free(w);
    free(w->ids);
    free(w->text);
    memset(w, 0, sizeof *w);
}

static void shrink_aligned(tk_aligned *a, size_t most) {
    tk_aligned *spare = a->spare;
    if (a->text_capacity <= most && a->spans_capacity <= most / sizeof(tk_span) &&
        a->capacity <= most / sizeof(tk_piece))
        return;
    tk_aligned_free(a);
    a->spare = spare;
}

void tk_worker_shrink(tk_worker *w, size_t most) {
    tk_staged *s = w->staged;
    tk_dfa_memo_free(&w->memo);
    if (w->text_capacity > most) free(w->text), w->text = NULL, w->text_capacity = 0;
    if (w->ids_capacity > most / sizeof *w->ids) free(w->ids), w->ids = NULL, w->ids_capacity = 0;
    tk_placed_shrink(w->placed, most);
    if (w->sp) tk_sp_scratch_shrink(w->sp, most);
    if (!s) return;
    shrink_aligned(&s->unit, most);
    shrink_aligned(&s->unit_spare, most);
    shrink_aligned(&s->section, most);
    shrink_aligned(&s->section_spare, most);
    tk_model_worker_shrink(&s->model, most);
}

static int append_id(tk_worker *w, uint32_t id) {
    int status = tk_reserve_ids(w, 1);
    if (status == TK_OK) w->ids[w->n_ids++] = id;
    return status;
}

/* ---- units */

/* Room for the ids of units: a known one has as many as bytes at most, or no more than an entry, which is written
   whole. */
static int reserve_for(tk_worker *w, size_t start, const size_t *ends, size_t count) {
    return tk_reserve_ids(w, ends[count - 1] - start + TK_INLINE_IDS * count);
}

/* A unit that stands at the end of a section, where the plan encodes it otherwise: another key than inside. */
static int encode_edge(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t readable, unsigned edge) {
    tk_key key = {0, 0, 0};
    if (n <= TK_SHORT_WORD) {
        key = tk_key_of(p, n, readable);
        key.high |= (uint64_t)edge << 60;
        tk_key_hash(&key);
    }
    int status = tk_reserve_ids(w, n + TK_INLINE_IDS);
    return status == TK_OK ? plan->miss(plan, w, p, n, readable, &key, edge) : status;
}

/* Units k to `stop` of a chunk, whose keys are there. */
TK_INLINE int look_up(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n, size_t start,
                      const size_t *ends, size_t k, size_t stop, const tk_keys *keys) {
    int status = stop > k ? reserve_for(w, k ? ends[k - 1] : start, ends, stop) : TK_OK;
    if (status != TK_OK) return status;
    uint32_t *out = w->ids + w->n_ids;
    for (; (k = tk_emit_found(&w->cache, keys, k, stop, &out)) < stop; k++) {
        size_t at = k ? ends[k - 1] : start;
        tk_key key = tk_key_at(keys, k);
        w->n_ids = (size_t)(out - w->ids);
        status = plan->miss(plan, w, text + at, ends[k] - at, n - at, &key, 0);
        if (status == TK_OK && !plan->bpe) status = reserve_for(w, at, ends, stop);
        if (status != TK_OK) return status;
        out = w->ids + w->n_ids;
    }
    w->n_ids = (size_t)(out - w->ids);
    return TK_OK;
}

static int encode_chunk(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n, size_t start,
                        const size_t *ends, size_t count, unsigned edges) {
    tk_keys keys;
    size_t first = 0, stop = count;
    unsigned at_start = start ? 0 : edges & ~(unsigned)TK_EDGE_END;
    unsigned at_end = ends[count - 1] == n ? edges & TK_EDGE_END : 0;
    int status = TK_OK;
    tk_make_keys(&w->cache, text, n, start, ends, count, &keys);
    if (TK_UNLIKELY(at_start)) {
        status = encode_edge(plan, w, text, ends[0], n, at_start | (count == 1 ? at_end : 0));
        first = 1;
    }
    if (TK_UNLIKELY(at_end && stop > first)) stop--;
    if (status == TK_OK) status = look_up(plan, w, text, n, start, ends, first, stop, &keys);
    if (status != TK_OK || stop == count) return status;
    size_t at = stop ? ends[stop - 1] : start;
    return encode_edge(plan, w, text + at, n - at, n - at, at_end);
}

/* Benchmarks only: a chunk up to one phase, in a loop of its own, so that what is measured stays as it is. What misses
   the first line of the cache gets no ids. */
TK_INLINE int stage_chunk(const int stage, tk_worker *w, const uint8_t *text, size_t n, size_t start,
                          const size_t *ends, size_t count) {
    tk_keys keys;
    int status = reserve_for(w, start, ends, count);
    if (status != TK_OK) return status;
    tk_make_keys(&w->cache, text, n, start, ends, count, &keys);
    uint32_t *out = w->ids + w->n_ids;
    const uint32_t *ids;
    size_t found = 0;
    if (stage == TK_STAGE_KEYS) { /* keys that nobody reads would not be made */
        *out = (uint32_t)(keys.words[2 * count - 1] ^ keys.hash[count - 1]);
        return TK_OK;
    }
    for (size_t k = 0; k < count; k++) {
        const tk_word *word = tk_probe((const uint8_t *)w->cache.words, w->cache.line_shift, &keys, k);
        if (TK_UNLIKELY(word == NULL)) continue;
        if (stage == TK_STAGE_EMIT) found += tk_emit_word(out + found, &w->cache, word);
        else found += tk_cache_ids(&w->cache, word, &ids);
    }
    w->n_ids += found;
    return TK_OK;
}

TK_INLINE int chunk_up_to(const int stage, const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n,
                          size_t start, const size_t *ends, size_t count, unsigned edges) {
    return stage == TK_STAGE_ALL ? encode_chunk(plan, w, text, n, start, ends, count, edges)
                                 : stage_chunk(stage, w, text, n, start, ends, count);
}

/* A chunk of spans, some dropped: the pretokens between two that are go together. */
TK_INLINE int kept_up_to(const int stage, const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n,
                         size_t start, const size_t *ends, size_t count, unsigned edges) {
    for (size_t k = 0, first = 0; k <= count; k++) {
        if (k < count && !(ends[k] & TK_DROPPED)) continue;
        int status = TK_OK;
        if (first < k) status = chunk_up_to(stage, plan, w, text, n, start, ends + first, k - first, edges);
        if (status != TK_OK) return status;
        if (k < count) start = ends[k] & ~TK_DROPPED;
        first = k + 1;
    }
    return TK_OK;
}

TK_INLINE int encode_up_to(const int stage, const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n,
                           size_t *at, size_t stop, unsigned edges, size_t *pieces) {
    tk_split mine = plan->split;
    size_t ends[TK_CHUNK], start = *at, count;
    edges &= tk_edges_that_differ(plan, plan->rule);
    mine.memo = &w->memo;
    for (; start < stop; start = *at) {
        count = plan->rule ? tk_cut_units(plan->rule, text, n, at, ends, TK_CHUNK)
                           : tk_scan(&mine, text, n, at, ends, TK_CHUNK);
        if (!count) break;
        *pieces += count;
        tk_work += *at - start;
        if (stage == TK_STAGE_SCAN) continue;
        int status = mine.dfa ? kept_up_to(stage, plan, w, text, n, start, ends, count, edges)
                              : chunk_up_to(stage, plan, w, text, n, start, ends, count, edges);
        if (status != TK_OK) return status;
    }
    return TK_OK;
}

int tk_encode_pieces(const tk_plan *plan, tk_worker *w, const uint8_t *text, const int64_t *ends, size_t count) {
    size_t chunk[TK_CHUNK], start = 0, n = count ? (size_t)ends[count - 1] : 0;
    for (size_t k = 0; k < count;) {
        size_t filled = 0;
        while (filled < TK_CHUNK && k < count) chunk[filled++] = (size_t)ends[k++];
        int status = encode_chunk(plan, w, text, n, start, chunk, filled, 0);
        if (status != TK_OK) return status;
        start = chunk[filled - 1];
    }
    return TK_OK;
}

int tk_encode_stage(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n, int stage, size_t *pieces) {
    size_t at = 0;
    switch (stage) {
    case TK_STAGE_SCAN: return encode_up_to(TK_STAGE_SCAN, plan, w, text, n, &at, n, 0, pieces);
    case TK_STAGE_KEYS: return encode_up_to(TK_STAGE_KEYS, plan, w, text, n, &at, n, 0, pieces);
    case TK_STAGE_PROBE: return encode_up_to(TK_STAGE_PROBE, plan, w, text, n, &at, n, 0, pieces);
    case TK_STAGE_EMIT: return encode_up_to(TK_STAGE_EMIT, plan, w, text, n, &at, n, 0, pieces);
    default: return tk_encode(plan, w, NULL, text, n, &at, n);
    }
}

/* ---- sections */

/* The edges of a section of a text: the worker says whether that is a part of one. */
static unsigned edges_of(const tk_worker *w, size_t start, size_t end, size_t n) {
    unsigned edges = start ? TK_EDGE_SECTION_START : w->continues ? 0 : TK_EDGE_TEXT_START;
    return edges | (end == n && w->goes_on ? 0 : TK_EDGE_END);
}

/* A part of a text that holds no added tokens, cut into units. */
static int encode_section(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n, size_t *at, size_t stop,
                          unsigned edges) {
    size_t pieces = 0;
    if (plan->sp) return tk_sp_section(plan, w, text, n, at, stop, edges);
    return encode_up_to(TK_STAGE_ALL, plan, w, text, n, at, stop, edges, &pieces);
}

/* Metaspace's "first" marks each piece that comes from the first character of the text. Stages that run after `before`
   see one such piece, the first; but that character may have become several. Whether there are more: at `start`, where
   one begins after an added token; or anywhere, if pieces are cut before they are marked. */
static int comes_from_first(const tk_aligned *a, size_t at) {
    return at < a->pieces->end && tk_aligned_span(a, at, at + 1).start == 0;
}

static int marks_more(const tk_plan *plan, const tk_aligned *a, size_t start) {
    for (size_t k = 0; k < plan->n_stages; k++) {
        if (plan->stages[k].kind != TK_COMPONENT_METASPACE || plan->stages[k].numbers[0] != TK_PREPEND_FIRST) continue;
        size_t second = a->pieces->start + tk_utf8_length(a->text[a->pieces->start]);
        if (start ? comes_from_first(a, start) : k && comes_from_first(a, second)) return 1;
    }
    return 0;
}

/* The same as a whole, where added tokens may stand in what `before` makes of it. */
static int encode_normalized(const tk_plan *plan, tk_worker *w, const tk_finder *f, const uint8_t *text, size_t n,
                             unsigned edges) {
    tk_staged *s = tk_staged_of(w);
    int status = TK_OK;
    size_t began = 0; /* in s->section, if that is there */
    if (!s) return TK_NO_MEMORY;
    const int changed = plan->n_before && !tk_stages_keep(plan->before, plan->n_before, text, n);
    if (changed) {
        status = tk_aligned_reset(&s->section, text, n, TK_AT_TEXT_START, 0);
        s->section.most = tk_most_grown(plan, n);
        if (status == TK_OK) status = tk_stages_run(plan->before, plan->n_before, &s->section);
        if (status != TK_OK || !s->section.n_pieces) return status;
        const tk_piece *piece = s->section.pieces;
        began = piece->start;
        text = s->section.text + began;
        n = piece->end - began;
        if (n && tk_aligned_span(&s->section, began, piece->end).start) /* the start was dropped */
            edges = (edges & ~(unsigned)TK_EDGE_TEXT_START) | TK_EDGE_SECTION_START;
    }
    const int is_first = changed && n && edges & TK_EDGE_TEXT_START;
    if (is_first && marks_more(plan, &s->section, 0)) return TK_ELSEWHERE;
    tk_added_match match;
    size_t start = 0;
    if (f && f->normalized) tk_added_start(&s->normalized);
    while (status == TK_OK) {
        int found = f && f->normalized &&
                    tk_added_next(f->normalized, text, n, f->normalized_allowed, &s->normalized, &match);
        size_t end = found ? match.start : n, at = 0;
        unsigned here = (start ? TK_EDGE_SECTION_START : edges & ~(unsigned)TK_EDGE_END) |
                        (end == n ? edges & TK_EDGE_END : TK_EDGE_END);
        if (start && end > start && is_first && marks_more(plan, &s->section, began + start)) return TK_ELSEWHERE;
        if (end > start) status = encode_section(plan, w, text + start, end - start, &at, end - start, here);
        if (!found) break;
        if (status == TK_OK) status = append_id(w, (uint32_t)f->normalized_ids[match.number]);
        start = match.end; /* which may be before the last one's, whose white space this one is in: as in tokenizers */
    }
    return status;
}

/* Ask for the next added token. */
static void find_next(const tk_finder *f, tk_staged *s, const uint8_t *text, size_t n) {
    s->found = f && f->given && tk_added_next(f->given, text, n, f->given_allowed, &s->given, &s->match) ? 1 : -1;
}

int tk_encode(const tk_plan *plan, tk_worker *w, const tk_finder *f, const uint8_t *text, size_t n, size_t *at,
              size_t stop) {
    int whole = plan->n_before || (f && f->normalized);
    if (!*at) w->grown = 0;
    if (!whole && !(f && f->given))
        return encode_section(plan, w, text, n, at, stop, edges_of(w, 0, n, n));
    tk_staged *s = tk_staged_of(w);
    if (!s) return TK_NO_MEMORY;
    if (!*at) {
        s->found = s->section_start = 0;
        if (f && f->given) tk_added_start(&s->given);
    }
    /* White space that a token took may hold others, which are tokens as well. */
    while ((*at < n && *at < stop) || (s->found > 0 && s->match.start < *at)) {
        if (!s->found) find_next(f, s, text, n);
        size_t end = s->found > 0 ? s->match.start : n, part = *at - s->section_start;
        unsigned edges = edges_of(w, s->section_start, end, n);
        int status = TK_OK;
        if (*at < end) {
            const uint8_t *section = text + s->section_start;
            size_t length = end - s->section_start;
            if (whole) status = encode_normalized(plan, w, f, section, length, edges), part = length;
            else status = encode_section(plan, w, section, length, &part, stop - s->section_start, edges);
            if (status != TK_OK) return status;
            *at = s->section_start + part;
            if (*at < end) break; /* `stop` came first */
        }
        if (s->found < 0) continue;
        status = append_id(w, (uint32_t)f->given_ids[s->match.number]);
        if (status != TK_OK) return status;
        s->section_start = *at = s->match.end;
        find_next(f, s, text, n);
    }
    return TK_OK;
}
