/* Attention of a few queries (decoding), for all heads that share a key head; lanes are dimensions: see attend.h.

   For decoding: keys and values are read from memory once for the whole group, TK_DECODE_BLOCK keys at a time, as
   floats, bfloat16 or int8. Rows are taken in pairs of vectors: of bfloat16 the even numbers of two vectors, then the
   odd ones, which a shift and a mask make floats of. Keys of int8 are multiplied as integers by queries of 16 bits. */
#ifndef TK_ATTEND_DECODE_H
#define TK_ATTEND_DECODE_H
#include <math.h>
#include "nn/attend.h"
#include "nn/lanes_math.h"

/* NEAR keys' values stay in the first cache while all dimensions and rows are summed. What is AHEAD keys later is asked
   for: parts of rows and of blocks are not what a CPU foresees (benchmarks/bench_kv_cache.py). */
enum { MOST_ROWS = TK_DECODE_ROWS, BLOCK = TK_DECODE_BLOCK, NEAR = 32, AHEAD = 16, PAIR = 2 * VL, SHORT_MOST = 32767 };

typedef struct {
    size_t n, wide, wide_v; /* rows (head of the group, query), and d and dv up to whole pairs of vectors */
    float *q, *o, *s;       /* [row][wide], [row][wide_v], [row][BLOCK] */
    int16_t *shorts;        /* [row][wide]: q / by of its row, where keys are int8 */
    void *whole;            /* rows of BLOCK keys or values that are no whole pairs, with zeros after each */
    float m[MOST_ROWS], l[MOST_ROWS], alpha[MOST_ROWS], by[MOST_ROWS];
    tk_head heads[MOST_ROWS];
    size_t query[MOST_ROWS];
    int masked;
} tk_rows;

/* Vector i of a row. */
TK_INLINE vf part_of(const int kv, const void *row, size_t i) {
    if (kv == TK_KV_BFLOAT16) return v_load_pairs((const uint16_t *)row + i / 2 * PAIR, i % 2);
    if (kv == TK_KV_INT8) return v_load_int8((const int8_t *)row + i * VL);
    return v_load((const float *)row + i * VL);
}

/* Where number i of a row is among its vectors. */
TK_INLINE size_t place_of(int kv, size_t i) {
    if (kv != TK_KV_BFLOAT16) return i;
    return i / PAIR * PAIR + i % 2 * VL + i % PAIR / 2;
}

/* n rows of `columns`, `step` bytes apart, as rows of whole pairs, *step apart. */
static const char *whole_rows(const tk_rows *t, int kv, const char *rows, size_t columns, size_t n, ptrdiff_t *step) {
    size_t size = tk_kv_size(kv), wide = (columns + PAIR - 1) / PAIR * PAIR * size;
    if (columns * size == wide) return rows;
    char *to = t->whole;
    for (size_t j = 0; j < n; j++, rows += *step) {
        memcpy(to + j * wide, rows, columns * size);
        memset(to + j * wide + columns * size, 0, wide - columns * size);
    }
    *step = (ptrdiff_t)wide;
    return to;
}

/* Scores of keys j … j + 3 of a block of n against `rows` rows from `row` on. */
TK_INLINE void score_four(const int kv, const int rows, const tk_rows *t, const char *k, ptrdiff_t step, size_t row,
                          size_t j, size_t n) {
    const char *at[4];
    vf acc[DECODE_ROWS][4];
    for (size_t i = 0; i < 4; i++) at[i] = k + (ptrdiff_t)(j + i < n ? j + i : n - 1) * step;
    if (row == 0)
        for (ptrdiff_t b = 0; b < 4 * step; b += 64) TK_PREFETCH(at[0] + AHEAD * step + b);
    if (kv == TK_KV_INT8) {
        vi sums[DECODE_ROWS][4];
        const int16_t *q = t->shorts + row * t->wide;
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) sums[r][i] = vi_zero();
        for (size_t d = 0; d < t->wide; d += PAIR, q += PAIR)
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                const vi y = vi_widened((const int8_t *)at[i] + d);
                TK_PIN_POINTER(q); /* what is read of x again needs no register, which the sums have */
#pragma GCC unroll 4
                for (int r = 0; r < rows; r++) {
                    sums[r][i] = vi_madd(sums[r][i], y, vi_load_shorts(q + (size_t)r * t->wide));
                    PIN(sums[r][i]);
                }
            }
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) vi_store_sums(t->s + (row + (size_t)r) * BLOCK + j, sums[r]);
        return;
    }
    const float *q = t->q + row * t->wide;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) acc[r][i] = v_set1(0);
    for (size_t d = 0; d < t->wide; d += PAIR)
#pragma GCC unroll 2
        for (size_t half = 0; half < 2; half++) {
            vf x[DECODE_ROWS];
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) x[r] = v_load(q + (size_t)r * t->wide + d + half * VL);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                vf y = part_of(kv, at[i] + d * tk_kv_size(kv), half);
#pragma GCC unroll 4
                for (int r = 0; r < rows; r++) acc[r][i] = v_fma(x[r], y, acc[r][i]);
            }
        }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) v_store_sums(t->s + (row + (size_t)r) * BLOCK + j, acc[r]);
}

/* How many of the rows that are left are taken at once: as equal parts as may be. */
static size_t some_of(size_t left) {
    size_t parts = (left + DECODE_ROWS - 1) / DECODE_ROWS;
    return (left + parts - 1) / parts;
}

TK_INLINE void score_all(const int kv, const tk_rows *t, const char *k, ptrdiff_t step, size_t n) {
    for (size_t j = 0; j < n; j += 4)
        for (size_t row = 0, some; row < t->n; row += some) {
            some = some_of(t->n - row);
            if (some == 1) score_four(kv, 1, t, k, step, row, j, n);
            else if (some == 2) score_four(kv, 2, t, k, step, row, j, n);
            else if (some == 3) score_four(kv, DECODE_ROWS < 3 ? 1 : 3, t, k, step, row, j, n);
            else score_four(kv, DECODE_ROWS < 4 ? 1 : 4, t, k, step, row, j, n);
        }
}

/* What multiplies the integer products of int8. */
static void scale_scores(const tk_rows *t, const float *scales, size_t n) {
    for (size_t row = 0; row < t->n; row++) {
        float *s = t->s + row * BLOCK, by = t->by[row];
        for (size_t j = 0; j < n; j++) s[j] *= by * scales[j];
    }
}

/* Scores are in units of log2(e) here. */
static void cap_row(const tk_attention *a, tk_rows *t, size_t row, size_t n) {
    const vf down = v_set1(1 / (a->cap * TK_LOG2E)), up = v_set1(a->cap * TK_LOG2E);
    float *s = t->s + row * BLOCK;
    for (size_t j = 0; j < n; j += VL) v_store(s + j, v_mul(up, v_activate(v_mul(down, v_load(s + j)), TK_TANH)));
}

static void mask_row(const tk_attention *a, tk_rows *t, size_t row, size_t key, size_t n) {
    const tk_head *h = &t->heads[row];
    float *s = t->s + row * BLOCK;
    ptrdiff_t i = (ptrdiff_t)t->query[row], low = i + a->offset - a->left, high = i + a->offset + a->right;
    const float *add = h->add ? h->add + i * a->add_by.row : NULL;
    const uint8_t *allow = h->allow ? h->allow + i * a->allow_by.row : NULL;
    const uint8_t *blocks = h->blocks ? h->blocks + (ptrdiff_t)((size_t)i / a->block) * a->blocks_by.row : NULL;
    for (size_t j = key; j < key + n; j++, s++) {
        ptrdiff_t at = (ptrdiff_t)j;
        if (h->by_distance) *s += h->by_distance[i - at + a->zero] * TK_LOG2E;
        if (add) {
            /* A finite number stays one, though its product might not. */
            float more = add[j] * TK_LOG2E;
            if (fabsf(add[j]) <= FLT_MAX) more = fminf(FLT_MAX, fmaxf(-FLT_MAX, more));
            *s = add[j] == -INFINITY ? -INFINITY : *s + more;
        }
        int seen = at >= low && at <= high && (!allow || allow[j]) && (!h->ignored || !h->ignored[j]) &&
                   (!blocks || blocks[j / a->block]);
        if (!seen) *s = -INFINITY;
        t->masked |= !seen;
    }
    t->masked |= add != NULL;
}

/* `scales` of the values, or NULL, are in the weights, but not in their sum. */
static void weigh_row(tk_rows *t, size_t row, size_t n, const float *scales) {
    float *s = t->s + row * BLOCK;
    for (size_t j = n; j % VL; j++) s[j] = -INFINITY;
    vf top = v_set1(t->m[row]), sum = v_set1(0);
    for (size_t j = 0; j < n; j += VL) top = v_max(top, v_load(s + j));
    float m = v_top(top);
    top = v_set1(m);
    for (size_t j = 0; j < n; j += VL) {
        vf p = v_exp2_down(v_sub(v_load(s + j), top));
        v_store(s + j, p);
        sum = v_add(sum, p);
    }
    float changed[VL];
    v_store(changed, v_exp2_down(v_set1(t->m[row] - m)));
    t->alpha[row] = changed[0];
    t->l[row] = t->l[row] * changed[0] + v_sum(sum);
    t->m[row] = m;
    for (size_t j = 0; scales && j < n; j += VL) {
        vf p = v_load(s + j), by = n - j < VL ? v_load_n(scales + j, n - j) : v_load(scales + j);
        v_store(s + j, v_select(v_eq(p, v_set1(0)), p, v_mul(p, by)));
    }
}

/* Adds `vecs` vectors of `rows` rows' outputs, from vector `from` on, over n keys. */
TK_INLINE void value_some(const int kv, const int rows, const int vecs, const tk_rows *t, const char *v, ptrdiff_t step,
                          size_t row, size_t from, const float *p, size_t n) {
    vf acc[DECODE_ROWS][2 * DECODE_VECS];
    float *o = t->o + row * t->wide_v + from * VL;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int i = 0; i < vecs; i++) acc[r][i] = v_load(o + (size_t)r * t->wide_v + i * VL);
    v += from * VL * tk_kv_size(kv);
    for (size_t j = 0; j < n; j++, v += step) {
        vf x[DECODE_ROWS];
        if (row == 0 && from == 0)
            for (ptrdiff_t b = 0; b < step; b += 64) TK_PREFETCH(v + AHEAD * step + b);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) x[r] = v_set1(p[(size_t)r * BLOCK + j]);
#pragma GCC unroll 8
        for (int i = 0; i < vecs; i++) {
            vf y = part_of(kv, v, (size_t)i);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) acc[r][i] = v_fma(x[r], y, acc[r][i]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int i = 0; i < vecs; i++) v_store(o + (size_t)r * t->wide_v + i * VL, acc[r][i]);
}

TK_INLINE void value_rows_of(const int kv, const int rows, const tk_rows *t, const char *v, ptrdiff_t step, size_t row,
                             const float *p, size_t n) {
    size_t i = 0, vecs = t->wide_v / VL;
    /* One row has registers for more of each value, which is read as it lies in memory then. */
    for (; rows == 1 && i + 2 * DECODE_VECS <= vecs; i += 2 * DECODE_VECS)
        value_some(kv, 1, 2 * DECODE_VECS, t, v, step, row, i, p, n);
    for (; i + DECODE_VECS <= vecs; i += DECODE_VECS)
        value_some(kv, rows, DECODE_VECS, t, v, step, row, i, p, n);
    for (; i < vecs; i += 2) value_some(kv, rows, 2, t, v, step, row, i, p, n);
}

TK_INLINE void value_all(const int kv, const tk_rows *t, const char *v, ptrdiff_t step, size_t n) {
    for (size_t j = 0; j < n; j += NEAR, v += NEAR * step)
        for (size_t row = 0, some, keys = n - j < NEAR ? n - j : NEAR; row < t->n; row += some) {
            const float *p = t->s + row * BLOCK + j;
            some = some_of(t->n - row);
            if (some == 1) value_rows_of(kv, 1, t, v, step, row, p, keys);
            else if (some == 2) value_rows_of(kv, 2, t, v, step, row, p, keys);
            else if (some == 3) value_rows_of(kv, DECODE_ROWS < 3 ? 1 : 3, t, v, step, row, p, keys);
            else value_rows_of(kv, DECODE_ROWS < 4 ? 1 : 4, t, v, step, row, p, keys);
        }
}

/* As value_all, but a probability of 0 keeps even NaN out. */
static void value_all_carefully(const int kv, const tk_rows *t, const char *v, ptrdiff_t step, size_t n) {
    for (size_t row = 0; row < t->n; row++)
        for (size_t i = 0; i < t->wide_v / VL; i++) {
            const float *p = t->s + row * BLOCK;
            float *o = t->o + row * t->wide_v + i * VL;
            vf sum = v_load(o);
            for (size_t j = 0; j < n; j++)
                if (p[j] != 0) sum = v_fma(v_set1(p[j]), part_of(kv, v + (ptrdiff_t)j * step, i), sum);
            v_store(o, sum);
        }
}

TK_INLINE void one_block(const int kv, const tk_attention *a, tk_rows *t, size_t key, size_t n, int masks,
                         int careful) {
    const tk_head *h = &t->heads[0];
    const ptrdiff_t size = (ptrdiff_t)tk_kv_size(kv);
    ptrdiff_t k_step = a->k_by.row * size, v_step = a->v_by.row * size;
    const char *k = (const char *)h->k + (ptrdiff_t)key * k_step, *v = (const char *)h->v + (ptrdiff_t)key * v_step;
    k = whole_rows(t, kv, k, a->d, n, &k_step);
    score_all(kv, t, k, k_step, n);
    if (kv == TK_KV_INT8) scale_scores(t, h->k_scales + key, n);
    for (size_t row = 0; row < t->n; row++) {
        if (a->cap != 0) cap_row(a, t, row, n);
        if (masks) mask_row(a, t, row, key, n);
        weigh_row(t, row, n, kv == TK_KV_INT8 ? h->v_scales + key : NULL);
        for (size_t d = 0; d < t->wide_v; d += VL) {
            float *o = t->o + row * t->wide_v + d;
            v_store(o, v_mul(v_load(o), v_set1(t->alpha[row])));
        }
    }
    v = whole_rows(t, kv, v, a->dv, n, &v_step);
    if (careful) value_all_carefully(kv, t, v, v_step, n);
    else value_all(kv, t, v, v_step, n);
}

/* Returns 0, storing nothing, as store_outputs of attend_flash.h. */
static int attend_rows(const tk_attention *a, tk_rows *t, int careful) {
    const tk_head *h = &t->heads[0];
    ptrdiff_t last = (ptrdiff_t)h->n_queries - 1 + a->offset + a->right, first = a->offset - a->left;
    size_t end = last < 0 ? 0 : (size_t)last + 1 < h->n_keys ? (size_t)last + 1 : h->n_keys;
    int masks = h->by_distance || h->add || h->allow || h->ignored || h->blocks;
    memset(t->o, 0, t->n * t->wide_v * sizeof(float));
    for (size_t row = 0; row < t->n; row++) t->m[row] = -FLT_MAX, t->l[row] = 0;
    t->masked = 0;
    for (size_t key = first < 0 ? 0 : (size_t)first, n; key < end; key += n) {
        n = end - key < BLOCK ? end - key : BLOCK;
        int band = (ptrdiff_t)key < (ptrdiff_t)h->n_queries - 1 + a->offset - a->left ||
                   (ptrdiff_t)(key + n) - 1 > a->offset + a->right;
        if (a->kv == TK_KV_BFLOAT16) one_block(TK_KV_BFLOAT16, a, t, key, n, masks || band, careful);
        else if (a->kv == TK_KV_INT8) one_block(TK_KV_INT8, a, t, key, n, masks || band, careful);
        else one_block(TK_KV_FLOAT32, a, t, key, n, masks || band, careful);
    }
    vf bad = v_set1(0);
    for (size_t i = 0; i < t->n * t->wide_v; i += VL) bad = v_fma(v_load(t->o + i), v_set1(0), bad);
    if (!careful && t->masked && v_sum(bad) != 0) return 0;
    for (size_t row = 0; row < t->n; row++) {
        float *out = t->heads[row].out + (ptrdiff_t)t->query[row] * a->out_by.row, *o = t->o + row * t->wide_v;
        vf by = v_set1(t->l[row] == 0 ? 0 : 1 / t->l[row]);
        for (size_t d = 0; d < t->wide_v; d += VL) v_store(o + d, v_mul(v_load(o + d), by));
        for (size_t d = 0; a->kv == TK_KV_BFLOAT16 && d < a->dv; d++) out[d] = o[place_of(a->kv, d)];
        if (a->kv != TK_KV_BFLOAT16) memcpy(out, o, a->dv * sizeof *o);
    }
    return 1;
}

/* Integers of 16 bits for a row of queries, as great as sums of their products with bytes allow. */
static void shorten(tk_rows *t, size_t row) {
    const float *q = t->q + row * t->wide;
    float most = 2147483647.0f / 128 / (float)t->wide;
    if (most > SHORT_MOST) most = SHORT_MOST;
    vf tops = v_set1(0), bad = v_set1(0);
    for (size_t d = 0; d < t->wide; d += VL) {
        vf v = v_load(q + d);
        tops = v_max(v_max(v, v_sub(v_set1(0), v)), tops), bad = v_fma(v, v_set1(0), bad);
    }
    const float top = v_top(tops), by = v_sum(bad) == 0 && top > FLT_MIN ? most / top : 0;
    t->by[row] = top / most + v_sum(bad);
    for (size_t d = 0; d < t->wide; d += VL)
        v_store_shorts(t->shorts + row * t->wide + d, by > 0 ? v_mul(v_load(q + d), v_set1(by)) : v_set1(0));
}

static void attend_decode(const tk_attention *a, size_t sequence, size_t kv_head, size_t from, size_t to, float *room) {
    tk_rows t;
    t.wide = (a->d + PAIR - 1) / PAIR * PAIR;
    t.wide_v = (a->dv + PAIR - 1) / PAIR * PAIR;
    t.s = room;
    t.q = t.s + MOST_ROWS * BLOCK;
    t.o = t.q + MOST_ROWS * t.wide;
    t.shorts = (int16_t *)(t.o + MOST_ROWS * t.wide_v);
    t.whole = t.o + MOST_ROWS * (t.wide_v + t.wide);
    t.n = 0;
    for (size_t g = 0; g < a->group; g++)
        for (size_t i = from; i < to; i++, t.n++) {
            tk_head *h = &t.heads[t.n];
            tk_attention_head(a, sequence, kv_head * a->group + g, h);
            t.query[t.n] = i;
            const float *q = h->q + (ptrdiff_t)i * a->q_by.row;
            float *to_row = t.q + t.n * t.wide;
            const vf by = v_set1(a->scale * TK_LOG2E);
            memset(to_row, 0, t.wide * sizeof(float));
            for (size_t d = 0; a->kv == TK_KV_BFLOAT16 && d < a->d; d++) to_row[place_of(a->kv, d)] = q[d];
            if (a->kv != TK_KV_BFLOAT16) memcpy(to_row, q, a->d * sizeof *q);
            for (size_t d = 0; d < t.wide; d += VL) v_store(to_row + d, v_mul(v_load(to_row + d), by));
            if (a->kv == TK_KV_INT8) shorten(&t, t.n);
        }
    if (t.n && !attend_rows(a, &t, 0)) attend_rows(a, &t, 1);
}
#endif
