/* Encodes a document: looks up or encodes the units of the buffer, and tracks the score; see sp_engine.h. */
#include <math.h>

#include "sentencepiece/sp_keys.h"

/* Of so many units that were looked up, if so many missed, so many are encoded without: where nothing comes again
   the look-up and what it displaces cost more than they save. */
enum { RUN = 1 << 12, WINDOW = 1024, MANY = WINDOW * 2 / 5, PAUSE = 16 * WINDOW };

/* ---- the score */

/* Bring the score up to date: it is what sentencepiece's lattice has after these tokens. */
static void settle(const tk_sp *m, tk_sp_scratch *w) {
    float score = w->score;
    for (; w->settled < w->n_ids; w->settled++) score += m->scores[w->ids[w->settled]];
    w->score = score;
}

static int room_for(tk_sp_scratch *w, size_t more) {
    size_t need = w->n_ids + more + 4 * TK_SP_BATCH;
    if (TK_LIKELY(need <= w->ids_capacity)) return TK_OK;
    return tk_reserve(&w->ids, &w->ids_capacity, need, sizeof *w->ids);
}

/* The tokens that w->tokens has, of text[at:]. */
static int put_tokens(tk_sp_scratch *w, size_t at) {
    if (room_for(w, w->n_tokens) != TK_OK) return TK_NO_MEMORY;
    if (w->aligned && tk_reserve(&w->spans, &w->spans_capacity, 2 * (w->n_ids + w->n_tokens), sizeof *w->spans))
        return TK_NO_MEMORY;
    for (size_t k = 0; k < w->n_tokens; k++) {
        const tk_sp_token *token = w->tokens + k;
        if (w->aligned) {
            w->spans[2 * w->n_ids] = (uint32_t)at + token->start;
            w->spans[2 * w->n_ids + 1] = (uint32_t)at + token->end;
        }
        w->ids[w->n_ids++] = token->id;
    }
    return TK_OK;
}

/* Encode text[at:end] from the true score on, with no look at the cache. */
static int encode_plainly(const tk_sp *m, tk_sp_scratch *w, size_t at, size_t end) {
    int status;
    if (m->model != TK_SP_UNIGRAM) {
        status = m->bpe ? tk_sp_merge(m, w, w->text + at, end - at, 0, NULL)
                        : tk_sp_look_up(m, w, w->text + at, end - at);
        return status == TK_OK ? put_tokens(w, at) : status;
    }
    settle(m, w);
    status = tk_sp_best(m, w, w->text + at, end - at, &w->score);
    if (status == TK_OK) status = put_tokens(w, at);
    w->settled = w->n_ids;
    double amount = ceil(8 * fabs((double)w->score)) + 1;
    w->amount = amount < UINT32_MAX / 2 ? (uint32_t)amount : UINT32_MAX / 2;
    return status;
}

/* ---- units that the first look does not find */

/* Put ids that are known; 1 where the score before them does not allow that. */
TK_INLINE int put_known(const tk_sp *m, tk_sp_scratch *w, const uint32_t *ids, size_t count, uint32_t meta) {
    if (!m->bpe && w->amount >> 4 >= meta >> 16) return 1;
    if (room_for(w, count) != TK_OK) return TK_NO_MEMORY;
    for (size_t k = 0; k < count; k += 4) memcpy(w->ids + w->n_ids + k, ids + k, 4 * sizeof *ids); /* all have more */
    w->n_ids += count;
    w->amount += meta >> 2 & TK_SP_MOST_SUM;
    return TK_OK;
}

/* Encode a unit by itself. */
static int make_unit(const tk_sp *m, tk_sp_scratch *w, size_t at, size_t n, tk_sp_unit *unit) {
    if (!m->bpe) return tk_sp_best_unit(m, w->text + at, n, unit), TK_OK;
    int status = tk_sp_merge(m, w, w->text + at, n, 0, NULL);
    unit->limit = unit->sum = 0;
    unit->count = w->n_tokens <= TK_SP_LONG ? (uint32_t)w->n_tokens : UINT32_MAX;
    for (size_t k = 0; k < w->n_tokens && unit->count != UINT32_MAX; k++) unit->ids[k] = w->tokens[k].id;
    return status;
}

static int encode_unit(const tk_sp *m, tk_sp_scratch *w, const tk_sp_key *key, size_t at, size_t end);

/* Encode a long unit by parts, if there is any boundary within that no piece stands across: the front has looked only
   for those beside spaces and characters beyond ASCII. *whole says that there was none. */
static int encode_parts(const tk_sp *m, tk_sp_scratch *w, size_t at, size_t end, int *whole) {
    size_t first = at, length = tk_sp_length(w->text[at], end - at);
    uint32_t left = tk_sp_packed(w->text + at, (unsigned)length);
    int status = TK_OK;
    for (size_t i = at + length; i <= end && status == TK_OK; i += length) {
        uint32_t right = 0;
        int safe = i == end;
        if (i < end) {
            length = tk_sp_length(w->text[i], end - i);
            right = tk_sp_packed(w->text + i, (unsigned)length);
            safe = (left != ' ' || right != ' ') && !tk_has_bit(m->bigrams, tk_sp_bigram(left, right));
        } else if (first == at) {
            *whole = 1;
            return TK_OK;
        }
        left = right;
        if (!safe) continue;
        tk_sp_key key = tk_sp_key_of(&w->cache, w->text + first, i - first);
        status = encode_unit(m, w, &key, first, i);
        first = i;
        if (i == end) break;
    }
    *whole = 0;
    return status;
}

/* Remember the ids after the first so many as a unit's: next time its parts are not looked for. Of Unigram the scores
   that they depend on would have to be put together as well. */
static int insert_ids(tk_sp_scratch *w, const tk_sp_long_key *key, size_t before) {
    tk_sp_unit unit = {.count = (uint32_t)(w->n_ids - before)};
    if (w->n_ids - before > TK_SP_LONG) return TK_OK;
    memcpy(unit.ids, w->ids + before, unit.count * sizeof *unit.ids);
    return tk_sp_cache_insert_long(&w->cache, key, &unit);
}

static TK_NOINLINE int encode_unit(const tk_sp *m, tk_sp_scratch *w, const tk_sp_key *key, size_t at, size_t end) {
    tk_sp_cache *cache = &w->cache;
    tk_sp_unit unit;
    size_t n = end - at;
    tk_sp_long_key long_key;
    int status, whole;
    if (n > TK_SP_LONG) {
        status = encode_parts(m, w, at, end, &whole);
        return whole && status == TK_OK ? encode_plainly(m, w, at, end) : status;
    }
    if (n <= TK_SP_SHORT) {
        const tk_sp_entry *e = tk_sp_cache_find(cache, key);
        if (e) {
            int spilt = (e->high & TK_SP_SPILT) != 0;
            const uint32_t *ids = spilt ? cache->spilt + e->ids[0] : e->ids;
            status = put_known(m, w, ids, spilt ? e->ids[1] : e->meta & 3, e->meta);
            return status == 1 ? encode_plainly(m, w, at, end) : status;
        }
    } else {
        long_key = tk_sp_long_key_of(cache, w->text + at, n);
        const tk_sp_long_entry *e = tk_sp_cache_find_long(cache, &long_key);
        if (e) {
            status = put_known(m, w, e->count > TK_SP_LONG_IDS ? cache->spilt + e->ids[0] : e->ids, e->count, e->meta);
            return status == 1 ? encode_plainly(m, w, at, end) : status;
        }
        size_t before = w->n_ids;
        status = encode_parts(m, w, at, end, &whole);
        if (!whole || status != TK_OK) return m->bpe && status == TK_OK ? insert_ids(w, &long_key, before) : status;
    }
    cache->misses++;
    w->missed++;
    if ((status = make_unit(m, w, at, n, &unit)) != TK_OK) return status;
    if (unit.count == UINT32_MAX) return encode_plainly(m, w, at, end);
    if (n <= TK_SP_SHORT) status = tk_sp_cache_insert(cache, key, &unit);
    else status = tk_sp_cache_insert_long(cache, &long_key, &unit);
    if (status == TK_OK) status = put_known(m, w, unit.ids, unit.count, tk_sp_meta_of(&unit));
    return status == 1 ? encode_plainly(m, w, at, end) : status;
}

/* ---- the units of the buffer */

/* Units first up to last of `starts`, which has one more. What is counted stays in registers: through memory each unit
   would wait for the one before it. */
TK_INLINE int look_up_units(const tk_sp *m, tk_sp_scratch *w, size_t first, size_t last, int bpe) {
    tk_sp_keys keys;
    int status = room_for(w, 0);
    if (status != TK_OK) return status;
    tk_sp_make_keys(&w->cache, w->text, w->starts + first, last - first, &keys);
    const tk_sp_entry *entries = w->cache.entries; /* the table stays where it is while units are inserted */
    uint32_t *out = w->ids + w->n_ids, amount = w->amount;
    for (size_t k = first; k < last; k++) {
        const uint64_t *words = keys.words + 2 * (k - first);
        const tk_sp_entry *e = entries + 2 * keys.lines[k - first];
        /* The lower halves choose, so that only the branch, which is foreseen, has to wait for the rest. */
        e += tk_unforeseen(e->low != words[0]);
        int other = ((e->low ^ words[0]) | (e->high ^ words[1])) != 0;
        if (TK_UNLIKELY(other || (!bpe && amount >> 4 >= e->meta >> 16))) {
            tk_sp_key key = {words[0], words[1], keys.lines[k - first]};
            w->n_ids = (size_t)(out - w->ids);
            w->amount = amount;
            if ((status = encode_unit(m, w, &key, w->starts[k], w->starts[k + 1])) != TK_OK) return status;
            out = w->ids + w->n_ids;
            amount = w->amount;
            continue;
        }
        memcpy(out, e->ids, sizeof e->ids + sizeof e->meta);
        out += e->meta & 3;
        if (!bpe) amount += e->meta >> 2 & TK_SP_MOST_SUM;
    }
    w->n_ids = (size_t)(out - w->ids);
    w->amount = amount;
    return TK_OK;
}

/* Units without a look at the cache: several as one, which is as exact and costs less. */
static int encode_unprobed(const tk_sp *m, tk_sp_scratch *w, size_t *first, size_t last) {
    size_t k = *first, most = last - k < w->unprobed ? last : k + w->unprobed, end = k + 1;
    while (!m->bpe && end < most && w->starts[end] - w->starts[k] < RUN) end++;
    w->unprobed -= end - k;
    *first = end;
    return encode_plainly(m, w, w->starts[k], w->starts[end]);
}

/* `last` units: starts[last] is the end of the last one. */
static int encode_units(const tk_sp *m, tk_sp_scratch *w, size_t last) {
    int status = TK_OK;
    for (size_t k = 0; k < last && status == TK_OK;) {
        if (w->aligned || m->whole) {
            status = encode_plainly(m, w, w->starts[k], w->starts[k + 1]);
            k++;
            continue;
        }
        if (TK_UNLIKELY(w->unprobed)) {
            status = encode_unprobed(m, w, &k, last);
            continue;
        }
        if (TK_UNLIKELY(tk_sp_cache_is_full(&w->cache))) tk_sp_cache_grow(&w->cache);
        size_t next = k + TK_SP_BATCH < last ? k + TK_SP_BATCH : last;
        status = m->bpe ? look_up_units(m, w, k, next, 1) : look_up_units(m, w, k, next, 0);
        w->looked += next - k;
        k = next;
        if (w->looked < WINDOW) continue;
        if (w->missed > MANY) w->unprobed = PAUSE;
        w->looked = w->missed = 0;
    }
    return status;
}

/* Neighbouring unknown tokens are one. */
static void join_unknown(const tk_sp *m, tk_sp_scratch *w) {
    size_t n = w->first, any = 0;
    if (m->byte_fallback) return;
    for (size_t k = w->first; k < w->n_ids; k++) any += w->ids[k] == m->unknown;
    if (any < 2) return;
    for (size_t k = w->first; k < w->n_ids; k++) {
        if (n > w->first && w->ids[k] == m->unknown && w->ids[n - 1] == m->unknown) {
            if (w->aligned) w->spans[2 * n - 1] = w->spans[2 * k + 1];
            continue;
        }
        if (w->aligned) w->spans[2 * n] = w->spans[2 * k], w->spans[2 * n + 1] = w->spans[2 * k + 1];
        w->ids[n++] = w->ids[k];
    }
    w->n_ids = n;
}

/* ---- documents */

void tk_sp_begin(tk_sp_scratch *w, int aligned) {
    w->aligned = aligned;
    w->n_ids = 0;
    tk_sp_begin_document(w);
}

void tk_sp_begin_document(tk_sp_scratch *w) {
    w->first = w->settled = w->n_ids;
    w->at = w->made = w->n = w->scanned = w->n_starts = 0;
    w->started = w->any = w->previous = w->continues = 0;
    w->score = 0;
    w->amount = 0;
}

static void put_space(tk_sp_scratch *w, size_t from) {
    if (w->aligned) w->from[w->n] = (uint32_t)from;
    w->text[w->n++] = ' ';
}

/* Leave out the spaces that the text begins with, and put the one that it shall begin with. */
static void start(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n) {
    const uint8_t *put;
    size_t n_put, taken;
    if (w->continues) {
        w->starts[w->n_starts++] = 0;
        w->started = w->any = 1;
        return;
    }
    while (m->remove_extra && w->at < n) {
        taken = tk_sp_replaced(m, text, n, w->at, &put, &n_put);
        if (n_put != 1 || *put != ' ') break;
        w->at += taken;
    }
    w->starts[w->n_starts++] = 0;
    w->started = 1;
    w->previous = m->remove_extra;
    w->any = w->at < n;
    if (w->any && m->dummy_prefix && !m->suffix) put_space(w, w->at);
}

/* Leave out the spaces that it ends with, and put the one that it shall end with. */
static void finish(const tk_sp *m, tk_sp_scratch *w) {
    size_t begin = w->starts[w->n_starts - 1], end = w->n, from = w->at;
    while (m->remove_extra && end > begin && w->text[end - 1] == ' ') end--;
    if (w->aligned && end < w->n) from = w->from[end];
    w->n = end;
    if (w->any && m->dummy_prefix && m->suffix) put_space(w, from);
    if (w->aligned) w->from[w->n] = (uint32_t)from;
}

/* Normalize the rest of a document, or what there is room for. */
static int fill(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n) {
    int status = tk_sp_make_room(w, w->room > TK_SP_ROOM ? w->room : TK_SP_ROOM);
    if (status == TK_OK && !w->started) start(m, w, text, n);
    while (status == TK_OK && w->at < n) {
        size_t before = w->at, full = w->n;
        tk_kernels->sp_fill(m, w, text, n);
        w->made += w->n - full;
        if (w->most && w->made > w->most) return TK_GROWN;
        if (w->at != before) break;
        status = tk_sp_make_room(w, 2 * w->room); /* what one step puts is larger than the buffer */
    }
    return status;
}

int tk_sp_prepare(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n) {
    tk_sp_begin_document(w);
    int status = n < UINT32_MAX ? fill(m, w, text, n) : TK_TOO_LARGE;
    while (status == TK_OK && w->at < n) {
        status = tk_sp_make_room(w, 2 * w->room);
        if (status == TK_OK) status = fill(m, w, text, n);
    }
    if (status != TK_OK) return status;
    if (!m->whole) tk_kernels->sp_cut(m, w);
    finish(m, w);
    return TK_OK;
}

int tk_sp_encode_aligned(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n) {
    int status = tk_sp_prepare(m, w, text, n);
    if (status != TK_OK) return status;
    if (w->n > w->starts[w->n_starts - 1]) w->starts[w->n_starts++] = (uint32_t)w->n;
    status = encode_units(m, w, w->n_starts - 1);
    if (status == TK_OK) join_unknown(m, w);
    return status;
}

int tk_sp_encode(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n, size_t stop) {
    int status = TK_OK;
    while (w->at < n && w->at < stop && status == TK_OK) {
        if ((status = fill(m, w, text, n)) != TK_OK) break;
        if (!m->whole) tk_kernels->sp_cut(m, w);
        if (w->at == n) {
            finish(m, w);
            if (w->n > w->starts[w->n_starts - 1]) w->starts[w->n_starts++] = (uint32_t)w->n;
        }
        if ((status = encode_units(m, w, w->n_starts - 1)) != TK_OK) break;
        size_t open = w->starts[w->n_starts - 1], left = w->n - open;
        memmove(w->text, w->text + open, left);
        w->n = w->scanned = left;
        w->starts[0] = 0;
        w->n_starts = 1;
        /* Twice as much each time: what a long unit costs to move stays in proportion to its length. */
        if (left > w->room / 2) status = tk_sp_make_room(w, 2 * w->room);
    }
    if (status == TK_OK && w->at == n) join_unknown(m, w);
    return status;
}
