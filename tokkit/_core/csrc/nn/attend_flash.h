/* Flash attention of tiles of queries (prefill); lanes are queries: see attend.h.

   Scores are made transposed, [key][query]: keys and values are read where they stand, by broadcasts, the running
   maximum is a plain maximum of vectors, and nothing is summed across lanes. */
#ifndef TK_ATTEND_FLASH_H
#define TK_ATTEND_FLASH_H
#include <math.h>
#include "nn/attend.h"
#include "nn/lanes_math.h"

enum { LANES_MOST = 2 * VL };

/* One tile's state: its first query, how many there are, and the room of its numbers. */
typedef struct {
    size_t first, n;
    float *q, *o, *s, *bias; /* [d][w], [dv][w], [key][w], [key][w] */
    float *k, *v;            /* [key][d], [key][dv]: a block of keys and of values that are no floats in memory */
    ptrdiff_t k_row, v_row;  /* steps between rows of keys and of values */
    const uint32_t *k_pairs, *v_pairs; /* of attend_pairs.h, from the key packed_from on */
    size_t packed_from;
    const uint8_t *seen;     /* [key][TK_KEY_BLOCK]: a mask of lists for the keys of a block, 1 = attend; or NULL */
    int masked;              /* some score was forced to -inf */
} tk_tile;

TK_INLINE void load_queries(const int w, const tk_attention *a, const tk_head *h, tk_tile *t) {
    const float *q = h->q + (ptrdiff_t)t->first * a->q_by.row;
    const float by = a->scale * TK_LOG2E;
    size_t d = a->d, fours = d & ~(size_t)3, rows = t->n & ~(size_t)3;
    for (size_t l = 0; l < rows; l += 4)
        for (size_t i = 0; i < fours; i += 4)
            transpose_four(q + (ptrdiff_t)l * a->q_by.row + i, a->q_by.row, t->q + i * w + l, w, by);
    for (size_t l = 0; l < (size_t)w; l++)
        for (size_t i = l < rows ? fours : 0; i < d; i++)
            t->q[i * w + l] = l < t->n ? q[(ptrdiff_t)l * a->q_by.row + i] * by : 0;
}

/* As value_block, but a probability of 0 keeps even NaN out: for tiles where one came through. */
TK_INLINE void value_carefully(const int nv, const tk_attention *a, const float *v, const tk_tile *t, size_t n,
                               const vf *alpha) {
    const vf zero = v_set1(0);
    for (size_t d = 0; d < a->dv; d++)
        for (int i = 0; i < nv; i++) {
            vf sum = v_mul(v_load(t->o + (d * nv + i) * VL), alpha[i]);
            for (size_t key = 0; key < n; key++) {
                vf p = v_load(t->s + (key * nv + i) * VL);
                vf more = v_fma(v_set1(v[(ptrdiff_t)key * t->v_row + (ptrdiff_t)d]), p, sum);
                sum = v_select(v_eq(p, zero), sum, more);
            }
            v_store(t->o + (d * nv + i) * VL, sum);
        }
}

TK_INLINE void add_bias(const int nv, const tk_attention *a, const tk_head *h, const tk_tile *t, size_t key, size_t n) {
    const int w = nv * VL;
    const vf none = v_set1(-INFINITY), by = v_set1(TK_LOG2E), least = v_set1(-FLT_MAX), most = v_set1(FLT_MAX);
    const float *add = h->add + (ptrdiff_t)t->first * a->add_by.row + (ptrdiff_t)key;
    size_t rows = t->n & ~(size_t)3, fours = n & ~(size_t)3;
    for (size_t l = 0; l < rows; l += 4)
        for (size_t j = 0; j < fours; j += 4)
            transpose_four(add + (ptrdiff_t)l * a->add_by.row + j, a->add_by.row, t->bias + j * w + l, w, 1);
    for (size_t l = 0; l < (size_t)w; l++)
        for (size_t j = l < rows ? fours : 0; j < n; j++)
            t->bias[j * w + l] = l < t->n ? add[(ptrdiff_t)l * a->add_by.row + j] : 0;
    for (size_t i = 0; i < n * w; i += VL) {
        /* A finite number stays one, though its product might not. */
        vf bias = v_load(t->bias + i), more = v_max(least, v_mul(bias, by));
        vf sum = v_add(v_load(t->s + i), v_select(v_le(bias, most), v_min(most, more), more));
        v_store(t->s + i, v_select(v_eq(bias, none), none, sum));
    }
}

/* Whether any of these may be attended to; *all where every one may. */
TK_INLINE int any_allowed(const tk_attention *a, const uint8_t *allow, size_t rows, size_t n, int *all) {
    size_t most = rows * n, count = 0;
    for (size_t l = 0; l < rows; l++, allow += a->allow_by.row)
        for (size_t j = 0; j < n; j++) count += allow[j];
    *all = count == most;
    return count != 0;
}

TK_INLINE void keep_band(const int nv, const tk_attention *a, const tk_tile *t, size_t key, size_t n) {
    const int w = nv * VL;
    const ptrdiff_t first = (ptrdiff_t)t->first + a->offset, last = first + (ptrdiff_t)t->n - 1;
    /* Keys that all of the tile's queries see lie between these. */
    const ptrdiff_t seen_from = last - a->left - (ptrdiff_t)key, seen_to = first + a->right - (ptrdiff_t)key;
    const vf none = v_set1(-INFINITY);
    for (size_t j = 0; j < n; j++) {
        if ((ptrdiff_t)j >= seen_from && (ptrdiff_t)j <= seen_to) {
            j = seen_to < (ptrdiff_t)n ? (size_t)seen_to : n;
            continue;
        }
        ptrdiff_t from = (ptrdiff_t)(key + j) - a->right - first, to = (ptrdiff_t)(key + j) + a->left - first;
        vf low = v_set1((float)(from < 0 ? 0 : from > w ? w : from));
        vf high = v_set1((float)(to < 0 ? -1 : to > w ? w : to));
        for (int i = 0; i < nv; i++) {
            float *s = t->s + (j * nv + i) * VL;
            vf lane = v_add(v_iota(), v_set1((float)(i * VL)));
            v_store(s, v_select(v_both(v_le(low, lane), v_le(lane, high)), v_load(s), none));
        }
    }
}

/* Scores are in units of log2(e) here. */
TK_INLINE void cap_scores(const int nv, const tk_attention *a, const tk_tile *t, size_t n) {
    const vf down = v_set1(1 / (a->cap * TK_LOG2E)), up = v_set1(a->cap * TK_LOG2E);
    for (size_t i = 0; i < n * nv; i++) {
        float *s = t->s + i * VL;
        v_store(s, v_mul(up, v_activate(v_mul(down, v_load(s)), TK_TANH)));
    }
}

/* What the masks do to the scores of one block of keys. */
TK_INLINE void mask_scores(const int nv, const tk_attention *a, const tk_head *h, tk_tile *t, size_t key, size_t n,
                           const uint8_t *allow) {
    const int w = nv * VL;
    const ptrdiff_t first = (ptrdiff_t)t->first + a->offset, last = first + (ptrdiff_t)t->n - 1;
    if (h->by_distance)
        for (size_t j = 0; j < n; j++) {
            const float *bias = h->by_distance + ((ptrdiff_t)t->first - (ptrdiff_t)(key + j) + a->zero);
            for (int i = 0; i < nv && (size_t)(i * VL) < t->n; i++) {
                size_t some = t->n - (size_t)(i * VL);
                vf b = some < VL ? v_load_n(bias + i * VL, some) : v_load(bias + i * VL);
                float *s = t->s + (j * nv + i) * VL;
                v_store(s, v_fma(b, v_set1(TK_LOG2E), v_load(s)));
            }
        }
    if (h->add) add_bias(nv, a, h, t, key, n);
    if ((ptrdiff_t)key < last - a->left || (ptrdiff_t)(key + n) - 1 > first + a->right) {
        keep_band(nv, a, t, key, n);
        t->masked = 1;
    }
    if (t->seen)
        for (size_t j = 0; j < n * nv; j++) {
            vf one = v_load_int8((const int8_t *)t->seen + j / nv * TK_KEY_BLOCK + j % nv * VL);
            float *s = t->s + j * VL;
            v_store(s, v_select(v_eq(one, v_set1(0)), v_set1(-INFINITY), v_load(s)));
        }
    if (allow) {
        for (size_t l = 0; l < t->n; l++, allow += a->allow_by.row)
            for (size_t j = 0; j < n; j++)
                if (!allow[j]) t->s[j * w + l] = -INFINITY;
    }
    if (h->ignored)
        for (size_t j = 0; j < n; j++)
            if (h->ignored[key + j])
                for (int i = 0; i < nv; i++) v_store(t->s + (j * nv + i) * VL, v_set1(-INFINITY));
    t->masked |= allow || h->ignored || h->add || t->seen;
}

/* Returns 0, storing nothing, where what is no number came out of a tile with masks, unless they were heeded. */
TK_INLINE int store_outputs(const int nv, const tk_attention *a, const tk_head *h, const tk_tile *t, const vf *l,
                            int careful) {
    const int w = nv * VL;
    const vf zero = v_set1(0);
    vf bad = zero;
    for (int i = 0; i < nv; i++) {
        vf by = v_select(v_eq(l[i], zero), zero, v_div(v_set1(1.0f), l[i]));
        for (size_t d = 0; d < a->dv; d++) {
            vf o = v_mul(v_load(t->o + (d * nv + i) * VL), by);
            bad = v_fma(o, zero, bad);
            v_store(t->o + (d * nv + i) * VL, o);
        }
    }
    if (!careful && t->masked && v_sum(bad) != 0) return 0;
    float *out = h->out + (ptrdiff_t)t->first * a->out_by.row;
    size_t rows = t->n & ~(size_t)3, fours = a->dv & ~(size_t)3;
    for (size_t r = 0; r < rows; r += 4)
        for (size_t d = 0; d < fours; d += 4)
            transpose_four(t->o + d * w + r, w, out + (ptrdiff_t)r * a->out_by.row + d, a->out_by.row, 1);
    for (size_t r = 0; r < t->n; r++)
        for (size_t d = r < rows ? fours : 0; d < a->dv; d++) out[(ptrdiff_t)r * a->out_by.row + d] = t->o[d * w + r];
    return 1;
}

/* Rows of a head from `key` on, as floats. */
static const float *widened(const tk_attention *a, const void *rows, const float *scales, ptrdiff_t step, size_t key,
                            size_t n, size_t columns, float *to) {
    const ptrdiff_t size = (ptrdiff_t)tk_kv_size(a->kv);
    const char *from = (const char *)rows + (ptrdiff_t)key * step * size;
    if (a->kv == TK_KV_FLOAT32) return (const float *)from;
    for (size_t j = 0; j < n; j++, from += step * size) {
        float *row = to + j * columns;
        size_t i = 0;
        if (a->kv == TK_KV_BFLOAT16) {
            for (; i < columns; i++) {
                uint32_t bits = (uint32_t)((const uint16_t *)from)[i] << 16;
                memcpy(row + i, &bits, sizeof bits);
            }
            continue;
        }
        vf by = v_set1(scales[key + j]);
        for (; i + VL <= columns; i += VL) v_store(row + i, v_mul(v_load_int8((const int8_t *)from + i), by));
        for (; i < columns; i++) row[i] = (float)((const int8_t *)from)[i] * scales[key + j];
    }
    return to;
}

#if TK_BF16_DOTS
#include "nn/attend_pairs.h"
#else
TK_INLINE void score_rows(const int rows, const int nv, const tk_attention *a, const float *k, const tk_tile *t,
                          float *s) {
    vf acc[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < nv; v++) acc[r][v] = v_set1(0);
    tile(rows, nv, k, t->k_row, 1, t->q, nv * VL, a->d, acc);
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < nv; v++) v_store(s + (r * nv + v) * VL, acc[r][v]);
}

TK_INLINE void value_rows(const int rows, const int nv, const float *v, const tk_tile *t, float *o, size_t n,
                          const vf *alpha) {
    vf acc[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int i = 0; i < nv; i++) acc[r][i] = v_mul(v_load(o + (r * nv + i) * VL), alpha[i]);
    tile(rows, nv, v, 1, t->v_row, t->s, nv * VL, n, acc);
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int i = 0; i < nv; i++) v_store(o + (r * nv + i) * VL, acc[r][i]);
}

/* Scores of n keys from `key` on. */
TK_INLINE void score_block(const int nv, const tk_attention *a, const tk_head *h, tk_tile *t, size_t key, size_t n) {
    const int w = nv * VL, rows = nv == 1 ? ROWS_1 : ROWS_2;
    const float *k = widened(a, h->k, h->k_scales, a->k_by.row, key, n, a->d, t->k);
    size_t j = 0;
    for (; j + rows <= n; j += rows) score_rows(rows, nv, a, k + (ptrdiff_t)j * t->k_row, t, t->s + j * w);
    for (; j + 4 <= n; j += 4) score_rows(4, nv, a, k + (ptrdiff_t)j * t->k_row, t, t->s + j * w);
    for (; j < n; j++) score_rows(1, nv, a, k + (ptrdiff_t)j * t->k_row, t, t->s + j * w);
}

/* Outputs times alpha, and n keys' values by their weights, which are where the scores were. */
TK_INLINE void value_block(const int nv, const tk_attention *a, const tk_head *h, tk_tile *t, size_t key, size_t n,
                           const vf *alpha) {
    const int w = nv * VL, dims = nv == 1 ? DIMS_1 : DIMS_2;
    const float *v = widened(a, h->v, h->v_scales, a->v_by.row, key, n, a->dv, t->v);
    size_t d = 0;
    for (; d + dims <= a->dv; d += dims) value_rows(dims, nv, v + d, t, t->o + d * w, n, alpha);
    for (; d + 4 <= a->dv; d += 4) value_rows(4, nv, v + d, t, t->o + d * w, n, alpha);
    for (; d < a->dv; d++) value_rows(1, nv, v + d, t, t->o + d * w, n, alpha);
}
#endif

TK_INLINE void attend_block(const int nv, const tk_attention *a, const tk_head *h, tk_tile *t, size_t key, size_t n,
                            vf *m, vf *l, int careful) {
    const uint8_t *allow = h->allow;
    if (allow) {
        int all;
        allow += (ptrdiff_t)t->first * a->allow_by.row + (ptrdiff_t)key;
        if (!any_allowed(a, allow, t->n, n, &all)) return;
        if (all) allow = NULL;
    }
    score_block(nv, a, h, t, key, n);
    if (a->cap != 0) cap_scores(nv, a, t, n);
    mask_scores(nv, a, h, t, key, n, allow);
    vf alpha[2];
    for (int i = 0; i < nv; i++) {
        vf top = m[i], sum = v_set1(0);
        for (size_t j = 0; j < n; j++) top = v_max(top, v_load(t->s + (j * nv + i) * VL));
        alpha[i] = v_exp2_down(v_sub(m[i], top));
        m[i] = top;
        for (size_t j = 0; j < n; j++) {
            vf p = v_exp2_down(v_sub(v_load(t->s + (j * nv + i) * VL), top));
            v_store(t->s + (j * nv + i) * VL, p);
            sum = v_add(sum, p);
        }
        l[i] = v_fma(l[i], alpha[i], sum);
    }
    if (careful) value_carefully(nv, a, widened(a, h->v, h->v_scales, a->v_by.row, key, n, a->dv, t->v), t, n, alpha);
    else value_block(nv, a, h, t, key, n, alpha);
}

/* The next of the keys that a tile's list names, or of those of its band: how many, 0 at the end. */
static size_t listed_keys(const tk_attention *a, const tk_head *h, tk_tile *t, size_t *next, size_t *key) {
    const tk_block_lists *lists = a->lists;
    const size_t row = t->first / TK_KEY_BLOCK, at = t->first % TK_KEY_BLOCK;
    while (*next < (size_t)h->list[row + 1]) {
        const size_t i = (*next)++, block = (size_t)lists->blocks[i] * TK_KEY_BLOCK;
        size_t from = 0, to = TK_KEY_BLOCK;
        t->seen = NULL;
        if (lists->masks[i] >= 0) {
            /* Of a mask no more than the keys that some query of the tile sees. */
            const size_t mask = (size_t)lists->masks[i];
            const uint8_t *ranges = lists->ranges + mask * 2 * TK_LIST_PARTS;
            from = TK_KEY_BLOCK, to = 0;
            for (size_t part = at / TK_LIST_PART; part * TK_LIST_PART < at + t->n; part++) {
                from = ranges[2 * part] < from ? ranges[2 * part] : from;
                to = ranges[2 * part + 1] > to ? ranges[2 * part + 1] : to;
            }
            t->seen = lists->table + (mask * TK_KEY_BLOCK + from) * TK_KEY_BLOCK + at;
        }
        if (block + to > h->n_keys) to = h->n_keys > block ? h->n_keys - block : 0;
        *key = block + from;
        if (from < to) return to - from;
    }
    return 0;
}

static size_t band_keys(const tk_attention *a, const tk_head *h, const tk_tile *t, size_t *next, size_t *key) {
    const ptrdiff_t last = (ptrdiff_t)t->first + a->offset + (ptrdiff_t)t->n + a->right;
    const size_t end = last <= 0 ? 0 : (size_t)last < h->n_keys ? (size_t)last : h->n_keys;
    const uint8_t *blocks = h->blocks ? h->blocks + (ptrdiff_t)(t->first / a->block) * a->blocks_by.row : NULL;
    while (blocks && *next < end && !blocks[*next / a->block]) *next += TK_KEY_BLOCK;
    if (*next >= end) return 0;
    *key = *next;
    *next += TK_KEY_BLOCK;
    return end - *key < TK_KEY_BLOCK ? end - *key : TK_KEY_BLOCK;
}

TK_INLINE int attend_tile(const int nv, const tk_attention *a, const tk_head *h, tk_tile *t, int careful) {
    vf m[2], l[2];
    const ptrdiff_t from = (ptrdiff_t)t->first + a->offset - a->left;
    size_t next = from <= 0 ? 0 : (size_t)from / TK_KEY_BLOCK * TK_KEY_BLOCK, key, n;
    if (h->list) next = (size_t)h->list[t->first / TK_KEY_BLOCK];
    for (int i = 0; i < nv; i++) m[i] = v_set1(-FLT_MAX), l[i] = v_set1(0);
    for (size_t i = 0; i < a->dv * nv; i++) v_store(t->o + i * VL, v_set1(0));
    t->masked = 0;
    t->seen = NULL;
    while ((n = h->list ? listed_keys(a, h, t, &next, &key) : band_keys(a, h, t, &next, &key)))
        attend_block(nv, a, h, t, key, n, m, l, careful);
    return store_outputs(nv, a, h, t, l, careful);
}

static void attend_one(const tk_attention *a, const tk_head *h, tk_tile *t) {
    if (!attend_tile(1, a, h, t, 0)) attend_tile(1, a, h, t, 1);
}
static void attend_two(const tk_attention *a, const tk_head *h, tk_tile *t) {
    if (!attend_tile(2, a, h, t, 0)) attend_tile(2, a, h, t, 1);
}

/* Above this many queries tiles of two vectors are faster, below it those of one (benchmarks/bench_attention.py). */
#define WIDE_FROM 256

static void attend_flash(const tk_attention *a, size_t sequence, size_t kv_head, size_t from, size_t to, float *room) {
    tk_tile t;
    t.q = room;
    t.o = t.q + a->d * LANES_MOST;
    t.s = t.o + a->dv * LANES_MOST;
    t.bias = t.s + TK_KEY_BLOCK * LANES_MOST;
    t.k = t.bias + TK_KEY_BLOCK * LANES_MOST;
    t.v = t.k + TK_KEY_BLOCK * a->d;
    t.k_row = a->kv ? (ptrdiff_t)a->d : a->k_by.row;
    t.v_row = a->kv ? (ptrdiff_t)a->dv : a->v_by.row;
#if TK_BF16_DOTS
    pack_seen(a, sequence, kv_head, from, to, &t, (uint32_t *)(a->kv ? t.v + TK_KEY_BLOCK * a->dv : t.k));
#endif
    int wide = to - from > VL && (VL < 16 || a->n_queries > WIDE_FROM);
    for (t.first = from; t.first < to; t.first += t.n) {
        size_t left = to - t.first, w = wide && left > VL ? 2 * VL : VL;
        t.n = left < w ? left : w;
        for (size_t g = 0; g < a->group; g++) {
            tk_head h;
            tk_attention_head(a, sequence, kv_head * a->group + g, &h);
            /* Outputs are stored a quarter of a line at a time, and would wait for memory that nothing has read. */
            for (size_t r = 0; r < t.n; r++)
                for (size_t i = 0; i < a->dv; i += 16)
                    TK_PREFETCH_WRITE(h.out + (ptrdiff_t)(t.first + r) * a->out_by.row + i);
            load_queries(w == VL ? VL : 2 * VL, a, &h, &t);
#if TK_BF16_DOTS
            pair_rows(w == VL ? 1 : 2, t.q, a->d);
#endif
            if (w == VL) attend_one(a, &h, &t);
            else attend_two(a, &h, &t);
        }
    }
}
#endif
