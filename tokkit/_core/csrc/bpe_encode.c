/* The three phases of a chunk of pieces, and the way of those that miss: see bpe_encode.h.

   Phase 1 finds the ends of up to TK_CHUNK pieces, phase 2 makes their keys and prefetches their cache lines,
   phase 3 looks them up and writes ids. A piece that misses is cut where no token can span the cut
   (safe_cuts.h), and its units are looked up in turn; only what is still unknown is merged. */
#include "bpe_encode.h"

#include "bpe_backtrack.h"
#include "bpe_keys.h"
#include "utf8.h"

enum {
    FEW_UNITS = 4,    /* a long piece of more units is text without spaces: seldom seen twice, not learnt */
    LONG_UNIT = 64,   /* units longer than this are not looked up */
    TRIES_PAY = 4096, /* bytes of long pieces, after which the time to build tries comes back */
};

int tk_worker_init(tk_worker *w, const tk_bpe *model, size_t max_words) {
    memset(w, 0, sizeof *w);
    return tk_cache_init(&w->cache, model, max_words);
}

void tk_worker_free(tk_worker *w) {
    tk_cache_free(&w->cache);
    tk_merger_free(&w->merger);
    tk_dfa_memo_free(&w->memo);
    free(w->ids);
    free(w->text);
    memset(w, 0, sizeof *w);
}

int tk_append_id(tk_worker *w, uint32_t id) {
    int status = tk_reserve(&w->ids, &w->ids_capacity, w->n_ids + 1, sizeof *w->ids);
    if (status == TK_OK) w->ids[w->n_ids++] = id;
    return status;
}

/* Room for the ids of pieces that have n bytes together: a byte has one id at most, and whole entries are written. */
static int reserve_ids(tk_worker *w, size_t n) {
    return tk_reserve(&w->ids, &w->ids_capacity, w->n_ids + n + TK_INLINE_IDS, sizeof *w->ids);
}

/* All below writes to w->ids, which has that room. */

static void emit(tk_worker *w, const uint32_t *ids, size_t count) {
    uint32_t *out = w->ids + w->n_ids;
    for (size_t k = 0; k < count; k++) out[k] = ids[k] & TK_ID_MASK;
    w->n_ids += count;
}

/* Merge n bytes without looking anything up. */
static int merge(tk_bpe *model, tk_worker *w, const uint8_t *p, size_t n) {
    uint32_t *symbols;
    size_t count = 0;
    int status = TK_OK;
    if (n >= TK_LONG_PIECE && model->monotone && (w->long_bytes += n) > TRIES_PAY)
        status = tk_backtrack(model, &w->merger, p, n, &symbols, &count);
    if (status == TK_OK && !count) status = tk_merge(model, &w->merger, p, n, &symbols, &count);
    if (status != TK_OK) return status;
    uint32_t *out = w->ids + w->n_ids;
    for (size_t k = 0; k < count; k++) {
        *out = model->id[symbols[k]];
        out += *out != TK_NONE;
    }
    w->n_ids = (size_t)(out - w->ids);
    return TK_OK;
}

/* A part of a piece between two safe cuts. Whole-piece look-up does not hold for it: where the vocabulary has
   tokens that merging never makes, only words that have been merged here may be taken from the cache. */
static int encode_unit(tk_bpe *model, tk_worker *w, const uint8_t *p, size_t n, size_t readable) {
    const uint32_t *ids;
    size_t count, before = w->n_ids;
    int status;
    if (!model->cuts.unconditional || n > LONG_UNIT) return merge(model, w, p, n);
    if (n > TK_SHORT_WORD) {
        if ((count = tk_cache_find_long(&w->cache, p, n, tk_hash_bytes(p, n), &ids))) return emit(w, ids, count), TK_OK;
        if ((status = merge(model, w, p, n)) != TK_OK) return status;
        tk_cache_add_long(&w->cache, p, n, w->ids + before, w->n_ids - before);
        return TK_OK;
    }
    tk_key key = tk_key_of(p, n, readable);
    if ((count = tk_cache_find(&w->cache, &key, &ids))) return emit(w, ids, count), TK_OK;
    if ((status = merge(model, w, p, n)) != TK_OK) return status;
    tk_cache_add(&w->cache, &key, w->ids + before, w->n_ids - before);
    return TK_OK;
}

/* Cut a piece at its safe boundaries. *units gets how many parts there were. */
static int encode_units(tk_bpe *model, tk_worker *w, const uint8_t *p, size_t n, size_t readable,
                        size_t *units) {
    unsigned length;
    uint32_t c = tk_utf8_decode(p, &length);
    size_t start = 0, i = length;
    int status;
    *units = 1;
    while (i < n) {
        uint32_t d = tk_utf8_decode(p + i, &length);
        if (tk_may_cut(&model->cuts, tk_bigram_left(c), p[i - 1], tk_bigram_right(d), p[i])) {
            if ((status = encode_unit(model, w, p + start, i - start, readable - start)) != TK_OK) return status;
            start = i;
            ++*units;
        }
        c = d;
        i += length;
    }
    if (!start) return merge(model, w, p, n);
    return encode_unit(model, w, p + start, n - start, readable - start);
}

/* Short words of ASCII seldom have a safe cut, and are merged in less time than it takes to look for one. */
static int worth_cutting(const uint8_t *p, size_t n) {
    return n > TK_SHORT_WORD || p[0] >= 0xE0 || (n > 1 && p[1] >= 0xE0);
}

/* A piece that the first cache line does not have. */
static TK_NOINLINE int encode_missed(tk_bpe *model, tk_worker *w, const uint8_t *p, size_t n,
                                     size_t readable, const tk_key *key) {
    const uint32_t *ids;
    size_t count, units = 1, before = w->n_ids;
    if (n <= TK_SHORT_WORD) count = tk_cache_find(&w->cache, key, &ids);
    else count = n <= w->cache.longest ? tk_cache_find_long(&w->cache, p, n, key->low, &ids) : 0;
    if (count) return emit(w, ids, count), TK_OK;
    w->cache.misses++;
    int status = worth_cutting(p, n) ? encode_units(model, w, p, n, readable, &units) : merge(model, w, p, n);
    if (status != TK_OK) return status;
    if (n <= TK_SHORT_WORD) tk_cache_add(&w->cache, key, w->ids + before, w->n_ids - before);
    else if (units <= FEW_UNITS || p[0] < 0x80) tk_cache_add_long(&w->cache, p, n, w->ids + before, w->n_ids - before);
    return TK_OK;
}

static int encode_chunk(tk_bpe *model, tk_worker *w, const uint8_t *text, size_t n, size_t start,
                        const size_t *ends, size_t count) {
    tk_keys keys;
    int status = reserve_ids(w, ends[count - 1] - start);
    if (status != TK_OK) return status;
    tk_make_keys(&w->cache, text, n, start, ends, count, &keys);
    uint32_t *out = w->ids + w->n_ids;
    for (size_t k = 0; (k = tk_emit_found(&w->cache, &keys, k, count, &out)) < count; k++) {
        size_t at = k ? ends[k - 1] : start;
        tk_key key = tk_key_at(&keys, k);
        w->n_ids = (size_t)(out - w->ids);
        if ((status = encode_missed(model, w, text + at, ends[k] - at, n - at, &key)) != TK_OK) return status;
        out = w->ids + w->n_ids;
    }
    w->n_ids = (size_t)(out - w->ids);
    return TK_OK;
}

/* Benchmarks only: a chunk up to one phase, in a loop of its own, so that what is measured stays as it is. What misses
   the first line of the cache gets no ids. */
TK_INLINE int stage_chunk(const int stage, tk_worker *w, const uint8_t *text, size_t n, size_t start,
                          const size_t *ends, size_t count) {
    tk_keys keys;
    int status = reserve_ids(w, ends[count - 1] - start);
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

TK_INLINE int chunk_up_to(const int stage, tk_bpe *model, tk_worker *w, const uint8_t *text, size_t n, size_t start,
                          const size_t *ends, size_t count) {
    return stage == TK_STAGE_ALL ? encode_chunk(model, w, text, n, start, ends, count)
                                 : stage_chunk(stage, w, text, n, start, ends, count);
}

/* A chunk of stretches, some dropped: the pieces between two that are go together. */
TK_INLINE int kept_up_to(const int stage, tk_bpe *model, tk_worker *w, const uint8_t *text, size_t n, size_t start,
                         const size_t *ends, size_t count) {
    for (size_t k = 0, first = 0; k <= count; k++) {
        if (k < count && !(ends[k] & TK_DROPPED)) continue;
        int status = first < k ? chunk_up_to(stage, model, w, text, n, start, ends + first, k - first) : TK_OK;
        if (status != TK_OK) return status;
        if (k < count) start = ends[k] & ~TK_DROPPED;
        first = k + 1;
    }
    return TK_OK;
}

TK_INLINE int encode_up_to(const int stage, tk_bpe *model, tk_worker *w, const tk_split *split, const uint8_t *text,
                           size_t n, size_t *at, size_t stop, size_t *pieces) {
    tk_split mine = *split;
    size_t ends[TK_CHUNK], start = *at, count;
    mine.memo = &w->memo;
    for (; start < stop && (count = tk_scan(&mine, text, n, at, ends, TK_CHUNK)); start = *at) {
        *pieces += count;
        if (stage == TK_STAGE_SCAN) continue;
        int status = split->dfa ? kept_up_to(stage, model, w, text, n, start, ends, count)
                                : chunk_up_to(stage, model, w, text, n, start, ends, count);
        if (status != TK_OK) return status;
    }
    return TK_OK;
}

int tk_encode(tk_bpe *model, tk_worker *w, const tk_split *split, const uint8_t *text, size_t n, size_t *at,
              size_t stop) {
    size_t pieces = 0;
    return encode_up_to(TK_STAGE_ALL, model, w, split, text, n, at, stop, &pieces);
}

int tk_encode_pieces(tk_bpe *model, tk_worker *w, const uint8_t *text, const int64_t *ends, size_t count) {
    size_t chunk[TK_CHUNK], start = 0, n = count ? (size_t)ends[count - 1] : 0;
    for (size_t k = 0; k < count;) {
        size_t filled = 0;
        while (filled < TK_CHUNK && k < count) chunk[filled++] = (size_t)ends[k++];
        int status = encode_chunk(model, w, text, n, start, chunk, filled);
        if (status != TK_OK) return status;
        start = chunk[filled - 1];
    }
    return TK_OK;
}

int tk_merge_pieces(tk_bpe *model, tk_worker *w, const uint8_t *bytes, const int64_t *ends, size_t count) {
    size_t start = 0;
    int status = count ? reserve_ids(w, (size_t)ends[count - 1]) : TK_OK;
    for (size_t k = 0; k < count && status == TK_OK; start = (size_t)ends[k++])
        if ((size_t)ends[k] > start) status = merge(model, w, bytes + start, (size_t)ends[k] - start);
    return status;
}

int tk_encode_stage(tk_bpe *model, tk_worker *w, const tk_split *split, const uint8_t *text, size_t n, int stage,
                    size_t *pieces) {
    size_t at = 0;
    switch (stage) {
    case TK_STAGE_SCAN: return encode_up_to(TK_STAGE_SCAN, model, w, split, text, n, &at, n, pieces);
    case TK_STAGE_KEYS: return encode_up_to(TK_STAGE_KEYS, model, w, split, text, n, &at, n, pieces);
    case TK_STAGE_PROBE: return encode_up_to(TK_STAGE_PROBE, model, w, split, text, n, &at, n, pieces);
    case TK_STAGE_EMIT: return encode_up_to(TK_STAGE_EMIT, model, w, split, text, n, &at, n, pieces);
    default: return tk_encode(model, w, split, text, n, &at, n);
    }
}
