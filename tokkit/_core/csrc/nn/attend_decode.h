/* Attention of a few queries (decoding), for all heads that share a key head; lanes are dimensions: see attend.h.

   For decoding: keys and values are read from memory once for the whole group, TK_DECODE_BLOCK keys at a time. */
#ifndef TK_ATTEND_DECODE_H
#define TK_ATTEND_DECODE_H
#include <math.h>
#include "nn/attend.h"
#include "nn/lanes_math.h"

enum { MOST_ROWS = TK_DECODE_ROWS, BLOCK = TK_DECODE_BLOCK, AHEAD = 8 };

typedef struct {
    size_t n, wide, wide_v; /* rows (head of the group, query), and d and dv up to whole vectors */
    float *q, *o, *s;       /* [row][wide], [row][wide_v], [row][BLOCK] */
    float m[MOST_ROWS], l[MOST_ROWS], alpha[MOST_ROWS];
    tk_head heads[MOST_ROWS];
    size_t query[MOST_ROWS];
    int masked;
} tk_rows;

/* Scores of VL / qs keys from `key` on against qs rows, 1 or 4. */
TK_INLINE void score_some(const int qs, const tk_attention *a, const tk_rows *t, const float *k, size_t row, size_t key,
                          size_t n) {
    enum { MOST = VL };
    const int keys = VL / qs;
    vf acc[MOST];
    const float *at[MOST];
    float sums[VL];
#pragma GCC unroll 16
    for (int i = 0; i < VL; i++) acc[i] = v_set1(0);
#pragma GCC unroll 16
    for (int i = 0; i < keys; i++) {
        size_t j = key + (size_t)i < n ? key + (size_t)i : n - 1;
        at[i] = k + (ptrdiff_t)j * a->k_by.row;
        /* What the next two groups of keys will read, before these are. */
        if (qs > 1 && row == 0 && j + 2 * (size_t)keys < n)
            for (size_t d = 0; d < a->d; d += 16) TK_PREFETCH(at[i] + 2 * keys * a->k_by.row + d);
    }
    const float *q = t->q + row * t->wide;
    const size_t whole = a->d / VL * VL;
    const ptrdiff_t ahead = AHEAD * a->k_by.row;
    size_t d = 0;
    if (qs == 1) { /* one key after another, as they lie in memory */
#pragma GCC unroll 16
        for (int i = 0; i < keys; i++)
            for (d = 0; d < whole; d += VL) {
                if (row == 0 && d % 16 == 0) TK_PREFETCH(at[i] + ahead + d);
                acc[i] = v_fma(v_load(q + d), v_load(at[i] + d), acc[i]);
            }
        d = whole;
    }
    for (; d < whole; d += VL) {
        vf x[4];
#pragma GCC unroll 4
        for (int r = 0; r < qs; r++) x[r] = v_load(q + r * t->wide + d);
#pragma GCC unroll 16
        for (int i = 0; i < keys; i++) {
            vf y = v_load(at[i] + d);
#pragma GCC unroll 4
            for (int r = 0; r < qs; r++) acc[r * keys + i] = v_fma(x[r], y, acc[r * keys + i]);
        }
    }
    if (d < a->d)
        for (int i = 0; i < keys; i++) {
            vf y = v_load_n(at[i] + d, a->d - d);
            for (int r = 0; r < qs; r++) acc[r * keys + i] = v_fma(v_load(q + r * t->wide + d), y, acc[r * keys + i]);
        }
    v_store(sums, v_sums(acc));
    size_t some = n - key < (size_t)keys ? n - key : (size_t)keys;
    for (int r = 0; r < qs; r++) memcpy(t->s + (row + (size_t)r) * BLOCK + key, sums + r * keys, some * sizeof(float));
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

TK_INLINE void weigh_row(tk_rows *t, size_t row, size_t n) {
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
}

/* Outputs of qs rows, vecs vectors of dimensions from d on. */
TK_INLINE void value_some(const int qs, const int vecs, const tk_attention *a, const tk_rows *t, const float *v,
                          size_t row, size_t d, size_t n) {
    vf acc[4][TILE_VECS];
    float *o = t->o + row * t->wide_v + d;
#pragma GCC unroll 4
    for (int r = 0; r < qs; r++)
#pragma GCC unroll 8
        for (int i = 0; i < vecs; i++)
            acc[r][i] = v_mul(v_load(o + r * t->wide_v + i * VL), v_set1(t->alpha[row + (size_t)r]));
    const float *p = t->s + row * BLOCK, *at = v + d;
    for (size_t j = 0; j < n; j++, at += a->v_by.row) {
        if (row == 0)
#pragma GCC unroll 8
            for (int i = 0; i < vecs; i += 16 / VL ? 16 / VL : 1) TK_PREFETCH(at + AHEAD * a->v_by.row + i * VL);
        vf y[TILE_VECS];
#pragma GCC unroll 8
        for (int i = 0; i < vecs; i++) y[i] = v_load(at + i * VL);
#pragma GCC unroll 4
        for (int r = 0; r < qs; r++) {
            vf x = v_set1(p[r * BLOCK + (ptrdiff_t)j]);
#pragma GCC unroll 8
            for (int i = 0; i < vecs; i++) acc[r][i] = v_fma(x, y[i], acc[r][i]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < qs; r++)
#pragma GCC unroll 8
        for (int i = 0; i < vecs; i++) v_store(o + r * t->wide_v + i * VL, acc[r][i]);
}

TK_INLINE void value_rest(const tk_attention *a, const tk_rows *t, const float *v, size_t row, size_t d, size_t n) {
    vf sum = v_mul(v_load(t->o + row * t->wide_v + d), v_set1(t->alpha[row]));
    const float *p = t->s + row * BLOCK, *at = v + d;
    for (size_t j = 0; j < n; j++, at += a->v_by.row) sum = v_fma(v_set1(p[j]), v_load_n(at, a->dv - d), sum);
    v_store(t->o + row * t->wide_v + d, sum);
}

static void value_all(const tk_attention *a, const tk_rows *t, const float *v, size_t n) {
    size_t row = 0, whole = a->dv / VL * VL, d;
    for (; row + 4 <= t->n; row += 4)
        for (d = 0; d < whole; d += 4 * VL) {
            size_t vecs = (whole - d) / VL;
            if (vecs >= 4) value_some(4, 4, a, t, v, row, d, n);
            else if (vecs == 3) value_some(4, 3, a, t, v, row, d, n);
            else if (vecs == 2) value_some(4, 2, a, t, v, row, d, n);
            else value_some(4, 1, a, t, v, row, d, n);
        }
    for (; row < t->n; row++) {
        for (d = 0; d + 8 * VL <= whole; d += 8 * VL) value_some(1, 8, a, t, v, row, d, n);
        for (; d + 4 * VL <= whole; d += 4 * VL) value_some(1, 4, a, t, v, row, d, n);
        for (; d < whole; d += VL) value_some(1, 1, a, t, v, row, d, n);
    }
    for (row = 0; whole < a->dv && row < t->n; row++) value_rest(a, t, v, row, whole, n);
}

/* As value_all, but a probability of 0 keeps even NaN out. */
static void value_all_carefully(const tk_attention *a, const tk_rows *t, const float *v, size_t n) {
    for (size_t row = 0; row < t->n; row++)
        for (size_t d = 0; d < a->dv; d += VL) {
            const float *at = v + d, *p = t->s + row * BLOCK;
            size_t some = a->dv - d < VL ? a->dv - d : VL;
            vf sum = v_mul(v_load(t->o + row * t->wide_v + d), v_set1(t->alpha[row]));
            for (size_t j = 0; j < n; j++, at += a->v_by.row)
                if (p[j] != 0) sum = v_fma(v_set1(p[j]), some == VL ? v_load(at) : v_load_n(at, some), sum);
            v_store(t->o + row * t->wide_v + d, sum);
        }
}

/* Returns 0, storing nothing, as store_outputs of attend_flash.h. */
static int attend_rows(const tk_attention *a, tk_rows *t, int careful) {
    const tk_head *h = &t->heads[0];
    ptrdiff_t last = (ptrdiff_t)h->n_queries - 1 + a->offset + a->right, first = a->offset - a->left;
    size_t end = last < 0 ? 0 : (size_t)last + 1 < h->n_keys ? (size_t)last + 1 : h->n_keys;
    size_t padded = t->n == 1 ? 1 : (t->n + 3) / 4 * 4;
    int masks = h->by_distance || h->add || h->allow || h->ignored || h->blocks;
    memset(t->o, 0, t->n * t->wide_v * sizeof(float));
    for (size_t row = 0; row < t->n; row++) t->m[row] = -FLT_MAX, t->l[row] = 0;
    t->masked = 0;
    for (size_t key = first < 0 ? 0 : (size_t)first, n; key < end; key += n) {
        n = end - key < BLOCK ? end - key : BLOCK;
        const float *k = h->k + (ptrdiff_t)key * a->k_by.row, *v = h->v + (ptrdiff_t)key * a->v_by.row;
        if (padded == 1)
            for (size_t j = 0; j < n; j += VL) score_some(1, a, t, k, 0, j, n);
        else
            for (size_t j = 0; j < n; j += VL / 4)
                for (size_t row = 0; row < padded; row += 4) score_some(4, a, t, k, row, j, n);
        int band = (ptrdiff_t)key < (ptrdiff_t)h->n_queries - 1 + a->offset - a->left ||
                   (ptrdiff_t)(key + n) - 1 > a->offset + a->right;
        for (size_t row = 0; row < t->n; row++) {
            if (a->cap != 0) cap_row(a, t, row, n);
            if (masks || band) mask_row(a, t, row, key, n);
            weigh_row(t, row, n);
        }
        if (careful) value_all_carefully(a, t, v, n);
        else value_all(a, t, v, n);
    }
    float bad = 0;
    for (size_t row = 0; row < t->n; row++)
        for (size_t d = 0; d < a->dv; d++) bad += t->o[row * t->wide_v + d] * 0.0f;
    if (!careful && t->masked && bad != 0) return 0;
    for (size_t row = 0; row < t->n; row++) {
        float *out = t->heads[row].out + (ptrdiff_t)t->query[row] * a->out_by.row;
        float by = t->l[row] == 0 ? 0 : 1 / t->l[row];
        for (size_t d = 0; d < a->dv; d++) out[d] = t->o[row * t->wide_v + d] * by;
    }
    return 1;
}

static void attend_decode(const tk_attention *a, size_t sequence, size_t kv_head, size_t from, size_t to, float *room) {
    tk_rows t;
    t.wide = (a->d + VL - 1) / VL * VL;
    t.wide_v = (a->dv + VL - 1) / VL * VL;
    t.s = room;
    t.q = t.s + MOST_ROWS * BLOCK;
    t.o = t.q + MOST_ROWS * t.wide;
    t.n = 0;
    memset(t.q, 0, MOST_ROWS * t.wide * sizeof(float));
    for (size_t g = 0; g < a->group; g++)
        for (size_t i = from; i < to; i++, t.n++) {
            tk_head *h = &t.heads[t.n];
            tk_attention_head(a, sequence, kv_head * a->group + g, h);
            t.query[t.n] = i;
            const float *q = h->q + (ptrdiff_t)i * a->q_by.row;
            for (size_t d = 0; d < a->d; d++) t.q[t.n * t.wide + d] = q[d] * (a->scale * TK_LOG2E);
        }
    if (t.n && !attend_rows(a, &t, 0)) attend_rows(a, &t, 1);
}
#endif
