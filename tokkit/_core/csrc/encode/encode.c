/* Encodes chunks of units in three phases, and the added tokens between sections: see plan.h.

   Phase 1, the front, finds the ends of up to TK_CHUNK units, phase 2 makes their keys and prefetches their cache
   lines, phase 3 looks them up and writes ids; the model encodes the units that are not in the cache. */
#include "encode/plan.h"

#include "text/utf8.h"

static int append_id(tk_worker *w, uint32_t id) {
    int status = tk_reserve_ids(w, 1);
    if (status == TK_OK) w->ids[w->n_ids++] = id;
    return status;
}

/* ---- units */

/* Room for the ids of units first to `last`: a known one has as many as bytes at most, or no more than an entry, which
   is written whole. */
static int reserve_for(tk_worker *w, const tk_units *u, size_t first, size_t last) {
    size_t start = first ? u->ends[first - 1] : u->start;
    return last > first ? tk_reserve_ids(w, u->ends[last - 1] - start + TK_INLINE_IDS * (last - first)) : TK_OK;
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
    return status == TK_OK ? plan->model.encode_uncached(plan, w, p, n, readable, &key, edge) : status;
}

/* Units k to `stop` of a chunk, whose keys are there. */
TK_INLINE int look_up(const tk_plan *plan, tk_worker *w, const tk_units *u, size_t k, size_t stop,
                      const tk_keys *keys, const int scored) {
    int status = reserve_for(w, u, k, stop);
    if (status != TK_OK) return status;
    for (;;) {
        uint32_t *out = w->ids + w->n_ids;
        TK_ASSERT(k <= stop && stop <= u->count);
        k = scored ? tk_emit_scored(&w->cache, keys, k, stop, &out, &w->sp->amount)
                   : tk_emit_found(&w->cache, keys, k, stop, &out);
        w->n_ids = (size_t)(out - w->ids);
        TK_ASSERT(w->n_ids <= w->ids_capacity);
        if (k == stop) return TK_OK;
        size_t at = k ? u->ends[k - 1] : u->start;
        tk_key key = tk_key_at(keys, k);
        status = plan->model.encode_uncached(plan, w, u->text + at, u->ends[k] - at, u->n - at, &key, 0);
        k++;
        if (status == TK_OK && !plan->model.bpe) status = reserve_for(w, u, k, stop);
        if (status != TK_OK) return status;
    }
}

/* Units first to `stop` of a chunk, `edges` those of the section at whose ends they may stand. */
static int encode_chunk(const tk_plan *plan, tk_worker *w, const tk_units *u, unsigned edges) {
    tk_keys keys;
    size_t first = 0, stop = u->count;
    unsigned at_start = u->start ? 0 : edges & ~(unsigned)TK_EDGE_END;
    unsigned at_end = u->ends[u->count - 1] == u->n ? edges & TK_EDGE_END : 0;
    int status = TK_OK;
    TK_ASSERT(u->count && u->count <= TK_CHUNK && u->start < u->ends[0] && u->ends[u->count - 1] <= u->n);
    tk_make_keys(&w->cache, u->text, u->n, u->start, u->ends, u->count, &keys);
    if (TK_UNLIKELY(at_start)) {
        status = encode_edge(plan, w, u->text, u->ends[0], u->n, at_start | (u->count == 1 ? at_end : 0));
        first = 1;
    }
    if (TK_UNLIKELY(at_end && stop > first)) stop--;
    if (status == TK_OK)
        status = plan->model.scored ? look_up(plan, w, u, first, stop, &keys, 1)
                                    : look_up(plan, w, u, first, stop, &keys, 0);
    if (status != TK_OK || stop == u->count) return status;
    size_t at = stop ? u->ends[stop - 1] : u->start;
    return encode_edge(plan, w, u->text + at, u->n - at, u->n - at, at_end);
}

/* Benchmarks only: a chunk up to one phase, in a loop of its own, so that what is measured stays as it is. What misses
   the first line of the cache gets no ids. */
TK_INLINE int stage_chunk(const int stage, tk_worker *w, const tk_units *u) {
    tk_keys keys;
    int status = reserve_for(w, u, 0, u->count);
    if (status != TK_OK) return status;
    tk_make_keys(&w->cache, u->text, u->n, u->start, u->ends, u->count, &keys);
    uint32_t *out = w->ids + w->n_ids;
    const uint32_t *ids;
    size_t found = 0;
    if (stage == TK_STAGE_KEYS) { /* keys that nobody reads would not be made */
        *out = (uint32_t)(keys.words[2 * u->count - 1] ^ keys.hash[u->count - 1]);
        return TK_OK;
    }
    for (size_t k = 0; k < u->count; k++) {
        const tk_word *word = tk_probe((const uint8_t *)w->cache.words, w->cache.line_shift, &keys, k);
        if (TK_UNLIKELY(word == NULL)) continue;
        if (stage == TK_STAGE_EMIT) found += tk_emit_word(out + found, &w->cache, word);
        else found += tk_cache_ids(&w->cache, word, &ids);
    }
    w->n_ids += found;
    return TK_OK;
}

TK_INLINE int chunk_up_to(const int stage, const tk_plan *plan, tk_worker *w, const tk_units *u, unsigned edges) {
    return stage == TK_STAGE_ALL ? encode_chunk(plan, w, u, edges) : stage_chunk(stage, w, u);
}

/* A chunk of which spans may be dropped: the units between two that are go together. */
static TK_NOINLINE int chunk_without_dropped(const int stage, const tk_plan *plan, tk_worker *w, const tk_units *u,
                                             unsigned edges) {
    size_t any = 0;
    for (size_t k = 0; k < u->count; k++) any |= u->ends[k];
    if (!(any & TK_DROPPED)) return chunk_up_to(stage, plan, w, u, edges);
    tk_units kept;
    kept.text = u->text, kept.n = u->n, kept.start = u->start, kept.count = 0;
    for (size_t k = 0; k <= u->count; k++) {
        if (k < u->count && !(u->ends[k] & TK_DROPPED)) {
            kept.ends[kept.count++] = u->ends[k];
            continue;
        }
        int status = kept.count ? chunk_up_to(stage, plan, w, &kept, edges) : TK_OK;
        if (status != TK_OK) return status;
        if (k < u->count) kept.start = u->ends[k] & ~TK_DROPPED;
        kept.count = 0;
    }
    return TK_OK;
}

/* The units of a section up to its `stop`. */
TK_INLINE int encode_up_to(const int stage, const tk_plan *plan, tk_worker *w, tk_section *section, size_t *pieces) {
    const tk_front *front = &plan->front;
    tk_units units;
    const int drops = front->next == tk_front_split && front->split.dfa;
    const unsigned edges = section->edges & front->edges;
    for (;;) {
        size_t before = section->at;
        int status = front->next(front, w, section, &units);
        if (status != TK_OK || !units.count) return status;
        TK_ASSERT(section->at > before || front->next == tk_front_sp);
        TK_ASSERT(section->at <= section->n && units.count <= TK_CHUNK);
        *pieces += units.count;
        tk_work += section->at - before;
        if (stage == TK_STAGE_SCAN) continue;
        if (TK_UNLIKELY(w->sp && w->sp->uncached)) {
            for (size_t k = 0; k < units.count && status == TK_OK;)
                status = plan->model.encode_run(plan, w, &units, &k);
        } else if (drops) {
            status = chunk_without_dropped(stage, plan, w, &units, edges);
        } else {
            status = chunk_up_to(stage, plan, w, &units, edges);
        }
        if (status != TK_OK) return status;
    }
}

int tk_encode_pieces(const tk_plan *plan, tk_worker *w, const uint8_t *text, const int64_t *ends, size_t count) {
    tk_units units = {.text = text, .n = count ? (size_t)ends[count - 1] : 0};
    for (size_t k = 0; k < count;) {
        for (units.count = 0; units.count < TK_CHUNK && k < count;) units.ends[units.count++] = (size_t)ends[k++];
        int status = encode_chunk(plan, w, &units, 0);
        if (status != TK_OK) return status;
        units.start = units.ends[units.count - 1];
    }
    return TK_OK;
}

int tk_encode_stage(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n, int stage, size_t *pieces) {
    tk_section section = {.text = text, .n = n, .stop = n};
    size_t at = 0;
    switch (stage) {
    case TK_STAGE_SCAN: return encode_up_to(TK_STAGE_SCAN, plan, w, &section, pieces);
    case TK_STAGE_KEYS: return encode_up_to(TK_STAGE_KEYS, plan, w, &section, pieces);
    case TK_STAGE_PROBE: return encode_up_to(TK_STAGE_PROBE, plan, w, &section, pieces);
    case TK_STAGE_EMIT: return encode_up_to(TK_STAGE_EMIT, plan, w, &section, pieces);
    default: return tk_encode(plan, w, NULL, text, n, &at, n);
    }
}

/* ---- sections */

/* The edges of a section of a text: the worker says whether that is a part of one. */
static unsigned edges_of(const tk_worker *w, size_t start, size_t end, size_t n) {
    unsigned edges = start ? TK_EDGE_SECTION_START : w->is_continuation ? 0 : TK_EDGE_TEXT_START;
    return edges | (end == n && w->has_next ? 0 : TK_EDGE_END);
}

static int encode_section(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n, size_t *at, size_t stop,
                          unsigned edges) {
    tk_section section = {.text = text, .n = n, .at = *at, .stop = stop, .edges = edges};
    const tk_model *tokens = plan->model.tokens;
    size_t pieces = 0;
    if (tokens && tokens->uncached && !plan->model.n_stages) {
        size_t start = *at;
        *at = stop < n ? stop : n;
        return tk_model_ids(tokens, w, text + start, *at - start);
    }
    if (!*at && plan->front.begin) plan->front.begin(&plan->front, w, &section, tk_max_grown(plan, n));
    TK_ASSERT(*at <= n && (text || !n));
    int status = encode_up_to(TK_STAGE_ALL, plan, w, &section, &pieces);
    *at = section.at;
    if (status == TK_OK && section.at == n && plan->model.finish) w->n_ids = plan->model.finish(plan, w, NULL);
    return status;
}

/* Metaspace's "first" marks each piece that comes from the first character of the text. Stages that run after `before`
   see one such piece, the first; but that character may have become several. Whether there are more: at `start`, where
   one begins after an added token; or anywhere, if pieces are cut before they are marked. */
static int comes_from_first(const tk_aligned *a, size_t at) {
    return at < a->pieces->end && tk_aligned_span(a, at, at + 1).start == 0;
}

static int marks_more(const tk_plan *plan, const tk_aligned *a, size_t start) {
    for (size_t k = 0; k < plan->model.n_stages; k++) {
        const tk_stage *stage = plan->model.stages + k;
        if (stage->kind != TK_COMPONENT_METASPACE || stage->numbers[0] != TK_PREPEND_FIRST) continue;
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
        s->section.most = tk_max_grown(plan, n);
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
    if (is_first && marks_more(plan, &s->section, 0)) return TK_UNSUPPORTED;
    tk_added_match match;
    size_t start = 0;
    if (f && f->normalized) tk_added_start(&s->normalized);
    while (status == TK_OK) {
        int found = f && f->normalized &&
                    tk_added_next(f->normalized, text, n, f->normalized_allowed, &s->normalized, &match);
        size_t end = found ? match.start : n, at = 0;
        unsigned here = (start ? TK_EDGE_SECTION_START : edges & ~(unsigned)TK_EDGE_END) |
                        (end == n ? edges & TK_EDGE_END : TK_EDGE_END);
        if (start && end > start && is_first && marks_more(plan, &s->section, began + start)) return TK_UNSUPPORTED;
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
