/* The part of attend_flash.h, which includes this, for queries, keys, weights and values that are rounded to bf16: the
   CPU multiplies pairs of them, and sums are float32.

   Keys are packed once for all tiles that see them, in blocks of [d / 2][TK_KEY_BLOCK] pairs, and values as pairs of
   neighbouring keys, [key / 2][dv]. */
#ifndef TK_ATTEND_PAIRS_H
#define TK_ATTEND_PAIRS_H
#include "nn/matmul_pairs.h"

enum { PAIR_ROWS = 16, PAIR_ROWS_2 = 12 }; /* keys, or dimensions, of a tile of one vector and of two */

TK_INLINE size_t pairs_of_columns(size_t n) { return (n + 1) / 2; }

/* Pack keys from t->packed_from up to `to` of a head, and their values. */
static void pack_keys(const tk_attention *a, const tk_head *h, tk_tile *t, size_t to, uint32_t *room) {
    const size_t deep = pairs_of_columns(a->d);
    const size_t blocks = to < t->packed_from ? 0 : (to - t->packed_from + TK_KEY_BLOCK - 1) / TK_KEY_BLOCK;
    uint32_t *keys = room, *values = room + blocks * deep * TK_KEY_BLOCK;
    t->k_pairs = keys, t->v_pairs = values;
    for (size_t key = t->packed_from; key < to; key += TK_KEY_BLOCK, keys += deep * TK_KEY_BLOCK) {
        const size_t n = to - key < TK_KEY_BLOCK ? to - key : TK_KEY_BLOCK;
        const float *k = widened(a, h->k, h->k_scales, a->k_by.row, key, n, a->d, t->k);
        const float *v = widened(a, h->v, h->v_scales, a->v_by.row, key, n, a->dv, t->v);
        for (size_t j = 0; j < n; j += 8)
            pack_along(k + (ptrdiff_t)j * t->k_row, t->k_row, n - j, a->d, keys + j, TK_KEY_BLOCK);
        for (size_t j = 0; j < n; j += 2, v += 2 * t->v_row, values += a->dv)
            for (size_t i = 0; i < a->dv; i += VL) {
                const vf second = j + 1 < n ? load_some(v + t->v_row + i, a->dv - i) : v_set1(0);
                const vf pairs = (vf)pairs_across(load_some(v + i, a->dv - i), second);
                if (a->dv - i >= VL) v_store((float *)(values + i), pairs);
                else v_store_n((float *)(values + i), pairs, a->dv - i);
            }
    }
}

/* Pack what queries from … to of all heads that share a key head see. */
static void pack_seen(const tk_attention *a, size_t sequence, size_t kv_head, size_t from, size_t to, tk_tile *t,
                      uint32_t *room) {
    tk_head h;
    tk_attention_head(a, sequence, kv_head * a->group, &h);
    const ptrdiff_t first = (ptrdiff_t)from + a->offset - a->left, last = (ptrdiff_t)to + a->offset + a->right;
    t->packed_from = first <= 0 ? 0 : (size_t)first / TK_KEY_BLOCK * TK_KEY_BLOCK;
    if (last > (ptrdiff_t)h.n_keys) pack_keys(a, &h, t, h.n_keys, room);
    else pack_keys(a, &h, t, last < 0 ? 0 : (size_t)last, room);
}

/* Rows of w floats as half as many rows of pairs, in their place. */
TK_INLINE void pair_rows(const int nv, float *rows, size_t n) {
    for (size_t i = 0; i < n; i += 2)
        for (int v = 0; v < nv; v++) {
            const float *from = rows + (i * nv + v) * VL;
            const vi pairs = pairs_across(v_load(from), i + 1 < n ? v_load(from + nv * VL) : v_set1(0));
            v_store(rows + (i / 2 * nv + v) * VL, (vf)pairs);
        }
}

/* acc[r] += the products of n steps: pair r of a row of a, whose rows are a_row apart, with a row of b. */
TK_INLINE void pair_tile(const int rows, const int nv, const uint32_t *a, size_t a_row, const float *b, size_t n,
                         vf (*acc)[TILE_VECS]) {
    for (size_t i = 0; i < n; i++, a += a_row, b += nv * VL) {
        vi w[TILE_VECS];
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++) {
            w[v] = vi_load((const uint16_t *)(b + v * VL));
            PIN(w[v]);
        }
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            int32_t two;
            memcpy(&two, a + r, sizeof two);
#pragma GCC unroll 2
            for (int v = 0; v < nv; v++) acc[r][v] = v_dot2(acc[r][v], two, w[v]);
        }
    }
}

TK_INLINE void score_rows(const int rows, const int nv, const tk_attention *a, const tk_tile *t, const uint32_t *k,
                          float *s) {
    vf acc[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++) acc[r][v] = v_set1(0);
    pair_tile(rows, nv, k, TK_KEY_BLOCK, t->q, pairs_of_columns(a->d), acc);
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++) v_store(s + (r * nv + v) * VL, acc[r][v]);
}

TK_INLINE void value_rows(const int rows, const int nv, const tk_attention *a, const tk_tile *t, const uint32_t *v,
                          float *o, size_t n, const vf *alpha) {
    vf acc[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int i = 0; i < nv; i++) acc[r][i] = v_mul(v_load(o + (r * nv + i) * VL), alpha[i]);
    pair_tile(rows, nv, v, a->dv, t->s, n, acc);
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int i = 0; i < nv; i++) v_store(o + (r * nv + i) * VL, acc[r][i]);
}

/* Scores of n keys from `key` on, the first of a block. */
TK_INLINE void score_block(const int nv, const tk_attention *a, const tk_head *h, tk_tile *t, size_t key, size_t n) {
    const int w = nv * VL, rows = nv == 1 ? PAIR_ROWS : PAIR_ROWS_2;
    const uint32_t *k = t->k_pairs + (key - t->packed_from) * pairs_of_columns(a->d);
    size_t j = 0;
    (void)h;
    for (; j + rows <= n; j += rows) score_rows(rows, nv, a, t, k + j, t->s + j * w);
    for (; j + 4 <= n; j += 4) score_rows(4, nv, a, t, k + j, t->s + j * w);
    for (; j < n; j++) score_rows(1, nv, a, t, k + j, t->s + j * w);
}

TK_INLINE void value_block(const int nv, const tk_attention *a, const tk_head *h, tk_tile *t, size_t key, size_t n,
                           const vf *alpha) {
    const int w = nv * VL, dims = nv == 1 ? PAIR_ROWS : PAIR_ROWS_2;
    const uint32_t *v = t->v_pairs + (key - t->packed_from) / 2 * a->dv;
    const size_t steps = pairs_of_columns(n);
    size_t d = 0;
    (void)h;
    t->masked |= n & 1; /* the last pair's second value is another key's, which this tile may not see */
    pair_rows(nv, t->s, n);
    for (; d + dims <= a->dv; d += dims) value_rows(dims, nv, a, t, v + d, t->o + d * w, steps, alpha);
    for (; d + 4 <= a->dv; d += 4) value_rows(4, nv, a, t, v + d, t->o + d * w, steps, alpha);
    for (; d < a->dv; d++) value_rows(1, nv, a, t, v + d, t->o + d * w, steps, alpha);
}
#endif
