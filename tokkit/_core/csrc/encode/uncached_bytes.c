/* Byte-level BPE of a pretoken that is not in its first cache line.

   The pretoken is cut where no token can span the cut (safe_cuts.h), and its units are looked up in turn; only units
   that are not in the cache are merged. */
#include "encode/bpe_backtrack.h"
#include "encode/bpe_merge.h"
#include "encode/plan.h"
#include "text/utf8.h"

enum {
    FEW_UNITS = 4,    /* a long pretoken of more units is text without spaces: seldom seen twice, not cached */
    LONG_UNIT = 64,   /* units longer than this are not looked up */
};

/* All below writes to w->ids, which has that room. */

/* Does it begin with a character of three bytes or more, perhaps after a space? */
static int of_wide_characters(const uint8_t *p, size_t n) { return p[0] >= 0xE0 || (n > 1 && p[1] >= 0xE0); }

/* Merge n bytes without looking anything up. */
static int merge(tk_bpe *model, tk_worker *w, const uint8_t *p, size_t n) {
    uint32_t *symbols;
    size_t count = 0, least = of_wide_characters(p, n) ? TK_LONG_WIDE : TK_LONG_PIECE;
    int status = TK_OK;
    if (n >= least && model->monotone)
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

/* A part of a pretoken between two safe cuts. Whole-pretoken look-up does not hold for it: where the vocabulary has
   tokens that merging never makes, only words that have been merged here may be taken from the cache. */
static int encode_unit(tk_bpe *model, tk_worker *w, const uint8_t *p, size_t n, size_t readable) {
    const uint32_t *ids;
    size_t count, before = w->n_ids;
    int status;
    if (!model->cuts.unconditional || n > LONG_UNIT) return merge(model, w, p, n);
    if (n > TK_SHORT_WORD) {
        count = tk_cache_find_long(&w->cache, p, n, tk_hash_bytes(p, n), &ids);
        if (count) return tk_emit_known(w, ids, count), TK_OK;
        if ((status = merge(model, w, p, n)) != TK_OK) return status;
        tk_cache_add_long(&w->cache, p, n, w->ids + before, w->n_ids - before);
        return TK_OK;
    }
    tk_key key = tk_key_of(p, n, readable);
    if ((count = tk_cache_find(&w->cache, &key, &ids))) return tk_emit_known(w, ids, count), TK_OK;
    if ((status = merge(model, w, p, n)) != TK_OK) return status;
    tk_cache_add(&w->cache, &key, w->ids + before, w->n_ids - before);
    return TK_OK;
}

/* Cut a pretoken at its safe boundaries. *units gets how many parts there were. */
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
static int worth_cutting(const uint8_t *p, size_t n) { return n > TK_SHORT_WORD || of_wide_characters(p, n); }

/* A pretoken that the first cache line does not have. */
int tk_encode_uncached_bytes(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t readable,
                             const tk_key *key, unsigned edge) {
    tk_bpe *model = plan->model.bpe;
    const uint32_t *ids;
    (void)edge; /* pretokens are alike wherever they stand */
    size_t count, units = 1, before = w->n_ids;
    TK_ASSERT(n && n <= readable && w->n_ids + n <= w->ids_capacity);
    if (n <= TK_SHORT_WORD) count = tk_cache_find(&w->cache, key, &ids);
    else count = n <= w->cache.longest ? tk_cache_find_long(&w->cache, p, n, key->low, &ids) : 0;
    if (count) return tk_emit_known(w, ids, count), TK_OK;
    w->cache.misses++;
    int status = worth_cutting(p, n) ? encode_units(model, w, p, n, readable, &units) : merge(model, w, p, n);
    if (status != TK_OK) return status;
    if (n <= TK_SHORT_WORD) tk_cache_add(&w->cache, key, w->ids + before, w->n_ids - before);
    else if (units <= FEW_UNITS || p[0] < 0x80) tk_cache_add_long(&w->cache, p, n, w->ids + before, w->n_ids - before);
    return TK_OK;
}

int tk_merge_pieces(const tk_plan *plan, tk_worker *w, const uint8_t *bytes, const int64_t *ends, size_t count) {
    size_t start = 0;
    int status = count ? tk_reserve_ids(w, (size_t)ends[count - 1]) : TK_OK;
    for (size_t k = 0; k < count && status == TK_OK; start = (size_t)ends[k++])
        if ((size_t)ends[k] > start) status = merge(plan->model.bpe, w, bytes + start, (size_t)ends[k] - start);
    return status;
}
