/* The loops of grad_attend.h, with the vector operations of lanes_*.h: scores are [key][query]; lanes are queries. */
#ifndef TK_GRAD_ATTEND_LOOPS_H
#define TK_GRAD_ATTEND_LOOPS_H
#include <math.h>
#include "nn/grad_attend.h"
#include "nn/lanes_math.h"
#include "nn/number_hash.h"

enum { BLOCK = TK_GRAD_BLOCK, PAIR = 2 * VL };

/* c[r][j] = sum over k of a[r * ar + k * ak] * b[k][j], added to what is there with `more`; rows by 6, 4 and 1. */
TK_INLINE void product_rows(const int rows, const float *a, ptrdiff_t ar, ptrdiff_t ak, const float *b, ptrdiff_t bk,
                            size_t k, float *c, ptrdiff_t cr, const int more) {
    vf acc[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) acc[r][v] = more ? v_load(c + r * cr + v * VL) : v_set1(0);
    tile(rows, 2, a, ar, ak, b, bk, k, acc);
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) v_store(c + r * cr + v * VL, acc[r][v]);
}

TK_INLINE void product(size_t rows, size_t columns, const float *a, ptrdiff_t ar, ptrdiff_t ak, const float *b,
                       ptrdiff_t bk, size_t k, float *c, ptrdiff_t cr, const int more) {
    for (size_t j = 0; j < columns; j += PAIR) {
        size_t r = 0;
        for (; r + VL_ROWS <= rows; r += VL_ROWS)
            product_rows(VL_ROWS, a + (ptrdiff_t)r * ar, ar, ak, b + j, bk, k, c + (ptrdiff_t)r * cr + j, cr, more);
        if (VL_ROWS > 4 && r + 4 <= rows) {
            product_rows(4, a + (ptrdiff_t)r * ar, ar, ak, b + j, bk, k, c + (ptrdiff_t)r * cr + j, cr, more);
            r += 4;
        }
        for (; r < rows; r++)
            product_rows(1, a + (ptrdiff_t)r * ar, ar, ak, b + j, bk, k, c + (ptrdiff_t)r * cr + j, cr, more);
    }
}
/* Of rows of a as they lie, and of its columns [k][BLOCK]: constants make addresses that need no registers. */
static TK_NOINLINE void rows_set(size_t rows, size_t columns, const float *a, ptrdiff_t ar, const float *b,
                                 ptrdiff_t bk, size_t k, float *c, ptrdiff_t cr) {
    product(rows, columns, a, ar, 1, b, bk, k, c, cr, 0);
}
static TK_NOINLINE void rows_add(size_t rows, size_t columns, const float *a, const float *b, ptrdiff_t bk, size_t k,
                                 float *c, ptrdiff_t cr) {
    product(rows, columns, a, BLOCK, 1, b, bk, k, c, cr, 1);
}
static TK_NOINLINE void columns_set(size_t rows, size_t columns, const float *a, const float *b, ptrdiff_t bk,
                                    size_t k, float *c, ptrdiff_t cr) {
    product(rows, columns, a, 1, BLOCK, b, bk, k, c, cr, 0);
}
static TK_NOINLINE void columns_add(size_t rows, size_t columns, const float *a, const float *b, ptrdiff_t bk,
                                    size_t k, float *c, ptrdiff_t cr) {
    product(rows, columns, a, 1, BLOCK, b, bk, k, c, cr, 1);
}

/* A row of a head. Rows are pages apart, where the CPU fetches nothing ahead: those of the next head are fetched here,
   and are there when its turn comes (a twentieth of the steps of benchmarks/bench_finetune.py). */
TK_INLINE void copy_row(const float *from, size_t d, float *to) {
    size_t i = 0;
    for (; i + VL <= d; i += VL) {
        v_store(to + i, v_load(from + i));
        TK_PREFETCH_TO(from + d + i, 2);
    }
    if (i < d) v_store_n(to + i, v_load_n(from + i, d - i), d - i);
}

/* Rows of one head, [n][wide], with zeros after the last row up to a block, and after the last column. */
static void take_head(const float *from, ptrdiff_t row, size_t n, size_t d, size_t wide, float *to) {
    for (size_t r = 0; r < n; r++, from += row, to += wide) {
        copy_row(from, d, to);
        for (size_t i = d; i < wide; i++) to[i] = 0;
    }
    memset(to, 0, (BLOCK - 1 - (n + BLOCK - 1) % BLOCK) * wide * sizeof(float));
}
static void give_head(const float *from, size_t n, size_t d, size_t wide, float *to, ptrdiff_t row) {
    for (size_t r = 0; r < n; r++, from += wide, to += row) {
        for (size_t i = 0; i < d; i += 64 / sizeof(float)) TK_PREFETCH_WRITE(to + d + i);
        memcpy(to, from, d * sizeof(float));
    }
}

/* Rows of a block as columns, times `by`. */
static void turn_block(const float *from, size_t wide, float by, float *to) {
    for (size_t r = 0; r < BLOCK; r += 4)
        for (size_t i = 0; i < wide; i += 4)
            transpose_four(from + r * wide + i, (ptrdiff_t)wide, to + i * BLOCK + r, BLOCK, by);
}

/* The keys that some queries see, from `query` on: from the first one on, up to and without the end. */
TK_INLINE size_t first_seen(const tk_grad_attention *a, size_t query) {
    return query > a->before ? query - a->before : 0;
}
TK_INLINE size_t end_seen(const tk_grad_attention *a, size_t query, size_t some) {
    return query + some + a->after < a->n ? query + some + a->after : a->n;
}

/* Scores of keys that a query does not see become -infinity: query and key are the numbers of the blocks' first. */
static void hide_keys(const tk_grad_attention *a, size_t query, size_t some, size_t key, size_t keys, float *s) {
    const size_t late = query + a->after + 1, end = key + keys;
    for (size_t j = late > key ? late : key; j < end; j++)
        for (size_t i = 0; i < BLOCK && query + i + a->after < j; i++) s[(j - key) * BLOCK + i] = -INFINITY;
    for (size_t j = key; j < end && j + a->before + 1 < query + some; j++)
        for (size_t i = j + a->before + 1 > query ? j + a->before + 1 - query : 0; i < some; i++)
            s[(j - key) * BLOCK + i] = -INFINITY;
}

/* The place in a table by distance for the first query of a block and a key; those of its next queries follow. */
TK_INLINE size_t distance_of(const tk_grad_attention *a, size_t head, size_t query, size_t key) {
    return head * a->distances + a->zero + query - key;
}
static void add_by_distance(const tk_grad_attention *a, size_t head, size_t query, size_t key, size_t keys, float *s) {
    for (size_t j = 0; j < keys; j++) {
        const float *by = a->by_distance + distance_of(a, head, query, key + j);
        for (size_t i = 0; i < BLOCK; i += VL)
            v_store(s + j * BLOCK + i, v_fma(v_load(by + i), v_set1(TK_LOG2E), v_load(s + j * BLOCK + i)));
    }
}
/* Adds the slopes of scores, which are times the scale, to those of the table. */
static void give_by_distance(const tk_grad_attention *a, size_t sequence, size_t head, size_t query, size_t key,
                             size_t keys, const float *ds) {
    const vf by = v_set1(1 / a->scale);
    for (size_t j = 0; j < keys; j++) {
        float *to = a->d_by_distance + distance_of(a, sequence * a->heads + head, query, key + j);
        for (size_t i = 0; i < BLOCK; i += VL) v_store(to + i, v_fma(v_load(ds + j * BLOCK + i), by, v_load(to + i)));
    }
}

/* Two numbers a query, of the seed, the sequence, the head and the query: what hashes of its weights begin with. */
typedef struct {
    uint32_t low[BLOCK], high[BLOCK];
} query_seeds;

static void seeds_of(const tk_grad_attention *a, size_t sequence, size_t head, size_t first, query_seeds *to) {
    const uint32_t low = (uint32_t)a->seed, high = (uint32_t)(a->seed >> 32);
    const uint32_t number = (uint32_t)((a->first_sequence + sequence) * a->heads + head);
    const uint32_t one = number_hash(number, low, high), other = number_hash(number, high, ~low);
    for (size_t i = 0; i < BLOCK; i++) {
        to->low[i] = number_hash((uint32_t)(first + i), one, other);
        to->high[i] = number_hash((uint32_t)(first + i), other, ~one);
    }
}
/* What the weights of a key and a block of queries are multiplied by: 0, or left_by. */
TK_INLINE void left_of(const tk_grad_attention *a, const query_seeds *seeds, size_t key, float *to) {
    const uint32_t least = a->least;
    const float by = a->left_by;
    for (size_t i = 0; i < BLOCK; i++)
        to[i] = number_hash((uint32_t)key, seeds->low[i], seeds->high[i]) >= least ? by : 0;
}

/* Numbers of a head in the columns of a row. */
TK_INLINE const float *head_of(const float *rows, ptrdiff_t row, const tk_grad_attention *a, size_t sequence,
                               size_t head) {
    return rows + (ptrdiff_t)(sequence * a->n) * row + (ptrdiff_t)(head * a->d);
}

static void grad_attend(const tk_grad_attention *a, size_t sequence, size_t kv_head, float *room) {
    const size_t n = a->n, d = a->d, wide = (d + PAIR - 1) / PAIR * PAIR, padded = (n + BLOCK - 1) / BLOCK * BLOCK;
    float *k = room, *v = k + padded * wide, *q = v + padded * wide, *turned = q + BLOCK * wide;
    float *o = turned + BLOCK * wide, *s = o + BLOCK * wide;
    take_head(head_of(a->k, a->row, a, sequence, kv_head), a->row, n, d, wide, k);
    take_head(head_of(a->v, a->row, a, sequence, kv_head), a->row, n, d, wide, v);
    for (size_t head = kv_head * a->group; head < (kv_head + 1) * a->group; head++) {
        const float *queries = head_of(a->q, a->row, a, sequence, head);
        float *out = (float *)head_of(a->out, a->out_row, a, sequence, head);
        float *lse = a->lse + (sequence * a->heads + head) * n;
        for (size_t first = 0; first < n; first += BLOCK) {
            const size_t some = n - first < BLOCK ? n - first : BLOCK;
            const size_t key = first_seen(a, first), keys = end_seen(a, first, some) - key;
            float by[BLOCK], saved[BLOCK];
            take_head(queries + (ptrdiff_t)first * a->row, a->row, some, d, wide, q);
            turn_block(q, wide, a->scale * TK_LOG2E, turned);
            rows_set(keys, BLOCK, k + key * wide, (ptrdiff_t)wide, turned, BLOCK, d, s, BLOCK);
            if (a->by_distance) add_by_distance(a, head, first, key, keys, s);
            hide_keys(a, first, some, key, keys, s);
            for (size_t i = 0; i < BLOCK; i += VL) {
                vf top = v_set1(-INFINITY), sum = v_set1(0);
                for (size_t j = 0; j < keys; j++) top = v_max(top, v_load(s + j * BLOCK + i));
                for (size_t j = 0; j < keys; j++) {
                    vf p = v_exp2_down(v_sub(v_load(s + j * BLOCK + i), top));
                    v_store(s + j * BLOCK + i, p);
                    sum = v_add(sum, p);
                }
                v_store(by + i, v_div(v_set1(1), sum));
                v_store(saved + i, top);
            }
            if (a->least) {
                query_seeds seeds;
                seeds_of(a, sequence, head, first, &seeds);
                for (size_t j = 0; j < keys; j++) {
                    float left[BLOCK];
                    left_of(a, &seeds, key + j, left);
                    for (size_t i = 0; i < BLOCK; i += VL)
                        v_store(s + j * BLOCK + i, v_mul(v_load(s + j * BLOCK + i), v_load(left + i)));
                }
            }
            columns_set(some, wide, s, v + key * wide, (ptrdiff_t)wide, keys, o, (ptrdiff_t)wide);
            for (size_t r = 0; r < some; r++) {
                lse[first + r] = saved[r] - log2f(by[r]);
                float *to = out + (ptrdiff_t)(first + r) * a->out_row;
                for (size_t i = 0; i < d; i += 64 / sizeof(float)) TK_PREFETCH_WRITE(to + d + i);
                for (size_t i = 0; i < d; i++) to[i] = o[r * wide + i] * by[r];
            }
        }
    }
}

TK_INLINE float dot(const float *x, const float *y, size_t n) {
    vf sum = v_set1(0);
    size_t i = 0;
    for (; i + VL <= n; i += VL) sum = v_fma(v_load(x + i), v_load(y + i), sum);
    if (i < n) sum = v_fma(v_load_n(x + i, n - i), v_load_n(y + i, n - i), sum);
    return v_sum(sum);
}

/* p = 2^(scores - lse), and ds = p (dp - delta) scale over dp. */
static void weights_of(const float *lse, const float *delta, float scale, size_t keys, float *s, float *dp) {
    for (size_t j = 0; j < keys; j++)
        for (size_t i = 0; i < BLOCK; i += VL) {
            float *at = s + j * BLOCK + i, *slope = dp + j * BLOCK + i;
            vf p = v_exp2_down(v_sub(v_load(at), v_load(lse + i)));
            v_store(at, p);
            v_store(slope, v_mul(v_mul(p, v_set1(scale)), v_sub(v_load(slope), v_load(delta + i))));
        }
}

/* The same where weights drop out: left p over p, and p (left dp - delta) scale. */
static void left_weights_of(const tk_grad_attention *a, const query_seeds *seeds, const float *lse, const float *delta,
                            size_t key, size_t keys, float *s, float *dp) {
    for (size_t j = 0; j < keys; j++) {
        float left[BLOCK];
        left_of(a, seeds, key + j, left);
        for (size_t i = 0; i < BLOCK; i += VL) {
            float *at = s + j * BLOCK + i, *slope = dp + j * BLOCK + i;
            vf p = v_exp2_down(v_sub(v_load(at), v_load(lse + i))), by = v_load(left + i);
            v_store(at, v_mul(p, by));
            v_store(slope, v_mul(v_mul(p, v_set1(a->scale)), v_sub(v_mul(v_load(slope), by), v_load(delta + i))));
        }
    }
}

static void grad_attend_backward(const tk_grad_attention *a, size_t sequence, size_t kv_head, float *room) {
    const size_t n = a->n, d = a->d, wide = (d + PAIR - 1) / PAIR * PAIR, padded = (n + BLOCK - 1) / BLOCK * BLOCK;
    const ptrdiff_t w = (ptrdiff_t)wide;
    float *k = room, *v = k + padded * wide, *dk = v + padded * wide, *dv = dk + padded * wide;
    float *q = dv + padded * wide, *turned = q + BLOCK * wide, *dout = turned + BLOCK * wide;
    float *dturned = dout + BLOCK * wide, *dq = dturned + BLOCK * wide, *s = dq + BLOCK * wide, *ds = s + BLOCK * BLOCK;
    take_head(head_of(a->k, a->row, a, sequence, kv_head), a->row, n, d, wide, k);
    take_head(head_of(a->v, a->row, a, sequence, kv_head), a->row, n, d, wide, v);
    memset(dk, 0, 2 * padded * wide * sizeof(float));
    for (size_t head = kv_head * a->group; head < (kv_head + 1) * a->group; head++) {
        const float *queries = head_of(a->q, a->row, a, sequence, head);
        const float *outs = head_of(a->out, a->out_row, a, sequence, head);
        const float *douts = head_of(a->dout, a->out_row, a, sequence, head);
        float *dqueries = (float *)head_of(a->dq, a->drow, a, sequence, head);
        for (size_t first = 0; first < n; first += BLOCK) {
            const size_t some = n - first < BLOCK ? n - first : BLOCK, end = end_seen(a, first, some);
            float lse[BLOCK] = {0}, delta[BLOCK] = {0};
            query_seeds seeds;
            if (a->least) seeds_of(a, sequence, head, first, &seeds);
            take_head(queries + (ptrdiff_t)first * a->row, a->row, some, d, wide, q);
            take_head(douts + (ptrdiff_t)first * a->out_row, a->out_row, some, d, wide, dout);
            memcpy(lse, a->lse + (sequence * a->heads + head) * n + first, some * sizeof(float));
            for (size_t r = 0; r < some; r++)
                delta[r] = dot(dout + r * wide, outs + (ptrdiff_t)(first + r) * a->out_row, d);
            turn_block(q, wide, a->scale * TK_LOG2E, turned);
            turn_block(dout, wide, 1, dturned);
            memset(dq, 0, BLOCK * wide * sizeof(float));
            for (size_t key = first_seen(a, first); key < end; key += BLOCK) {
                const size_t keys = end - key < BLOCK ? end - key : BLOCK;
                rows_set(keys, BLOCK, k + key * wide, w, turned, BLOCK, d, s, BLOCK);
                rows_set(keys, BLOCK, v + key * wide, w, dturned, BLOCK, d, ds, BLOCK);
                if (a->by_distance) add_by_distance(a, head, first, key, keys, s);
                hide_keys(a, first, some, key, keys, s);
                if (a->least) left_weights_of(a, &seeds, lse, delta, key, keys, s, ds);
                else weights_of(lse, delta, a->scale, keys, s, ds);
                if (a->d_by_distance) give_by_distance(a, sequence, head, first, key, keys, ds);
                rows_add(keys, wide, s, dout, w, some, dv + key * wide, w);
                rows_add(keys, wide, ds, q, w, some, dk + key * wide, w);
                columns_add(some, wide, ds, k + key * wide, w, keys, dq, w);
            }
            give_head(dq, some, d, wide, dqueries + (ptrdiff_t)first * a->drow, a->drow);
        }
    }
    give_head(dk, n, d, wide, (float *)head_of(a->dk, a->drow, a, sequence, kv_head), a->drow);
    give_head(dv, n, d, wide, (float *)head_of(a->dv, a->drow, a, sequence, kv_head), a->drow);
}
#endif
