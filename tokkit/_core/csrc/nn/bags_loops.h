/* The loops of bags.h, with the vector operations of lanes_*.h. */
#ifndef TK_BAGS_LOOPS_H
#define TK_BAGS_LOOPS_H
#include <math.h>
#include "nn/bags.h"

/* Sums of BAG_VECS vectors stay in registers. A table of some MB is not in the near caches: its rows are asked for
   BAG_AHEAD ids before they are added, which tells memory of several at once. */
enum { BAG_VECS = 8, BAG_AHEAD = 6, LINE_ITEMS = 16 };

TK_INLINE const float *bag_row(const tk_bag_work *w, uint32_t id) {
    return w->table + (ptrdiff_t)(w->row_of ? w->row_of[id] : id) * w->row_step;
}

/* The sums of columns `at` … at + vecs · VL - 1 into `out`; with fewer than VL of them in one vector, only `few`. */
TK_INLINE void bag_sums(const tk_bag_work *w, const uint32_t *ids, size_t n, size_t at, const int vecs, size_t few,
                        float *out) {
    vf sum[BAG_VECS];
    size_t items = few ? few : (size_t)vecs * VL;
    for (int v = 0; v < vecs; v++) sum[v] = v_set1(0);
    for (size_t i = 0; i < n; i++) {
        if (i + BAG_AHEAD < n) {
            const float *next = bag_row(w, ids[i + BAG_AHEAD]) + at;
            for (size_t item = 0; item < items; item += LINE_ITEMS) TK_PREFETCH(next + item);
        }
        if (ids[i] == w->ignored) continue;
        const float *row = bag_row(w, ids[i]) + at;
        vf by = v_set1(w->weights ? w->weights[ids[i]] : 1.0f);
        for (int v = 0; v < vecs; v++) {
            sum[v] = v_fma(few ? v_load_n(row, few) : v_load(row + v * VL), by, sum[v]);
            PIN(sum[v]);
        }
    }
    for (int v = 0; v < vecs && !few; v++) v_store(out + at + v * VL, sum[v]);
    if (few) v_store_n(out + at, sum[0], few);
}

static void bag(const tk_bag_work *w, const uint32_t *ids, size_t n, float *out) {
    size_t at = 0, counted = 0;
    for (; at + BAG_VECS * VL <= w->m; at += BAG_VECS * VL) bag_sums(w, ids, n, at, BAG_VECS, 0, out);
    for (; at + VL <= w->m; at += VL) bag_sums(w, ids, n, at, 1, 0, out);
    if (at < w->m) bag_sums(w, ids, n, at, 1, w->m - at, out);
    for (size_t i = 0; i < n; i++) counted += ids[i] != w->ignored;
    float by = counted ? 1.0f / (float)counted : 0.0f;
    if (w->normalize) {
        double squares = 0; /* of sums, which may be large */
        for (size_t i = 0; i < w->m; i++) squares += (double)out[i] * out[i];
        by = squares > 0 ? (float)(1 / sqrt(squares)) : 0.0f;
    }
    for (size_t i = 0; i < w->m; i++) out[i] *= by;
}

static void bags(const tk_bag_work *w, size_t from, size_t to) {
    for (; from < to; from++) {
        size_t n = (size_t)(w->starts[from + 1] - w->starts[from]);
        bag(w, w->ids + w->starts[from], n < w->max_ids ? n : w->max_ids, w->out + from * w->m);
    }
}
#endif
