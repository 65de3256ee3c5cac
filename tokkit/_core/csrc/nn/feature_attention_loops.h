/* The loops of feature_attention.h, with the vector operations of lanes_*.h.

   A chunk of tokens at a time: inside it weights are made and multiplied as in attention, all that came before it is
   one product with the state. Rows are queries, or features of the state; lanes are keys, or dimensions of values. */
#ifndef TK_FEATURE_ATTENTION_LOOPS_H
#define TK_FEATURE_ATTENTION_LOOPS_H
#include <math.h>
#include "nn/feature_attention.h"
#include "nn/lanes_math.h"

enum { CHUNK = TK_FEATURE_CHUNK, TWO = 2 * VL };

typedef struct {
    size_t f, e;       /* widths of rows of features and of values: whole pairs of vectors */
    float *q, *k, *kt; /* features: [query][f], [key][f], [f][CHUNK] */
    float *p, *v;      /* [query][CHUNK], [key][e] */
    float *s, *z, top; /* the state: [f][e], [f] */
    int careful;       /* NaN or infinity is in the chunk: queries before it must not meet it, not even times 0 */
} tk_feature_state;

TK_INLINE vf feature_of(vf x, vf top, const int kind) {
    const vf zero = v_set1(0);
    if (kind == TK_FEATURE_RELU) return v_max(zero, x);
    if (kind == TK_FEATURE_ELU) return v_select(v_le(x, zero), v_exp(x), v_add(x, v_set1(1.0f)));
    return v_exp(v_sub(x, top));
}

/* A row of features, with zeros up to `wide`. */
TK_INLINE void feature_row(const float *x, size_t f, size_t wide, float top, float *to, const int kind) {
    const vf zero = v_set1(0), greatest = v_set1(top);
    size_t i = 0;
    for (; i + VL <= f; i += VL) v_store(to + i, feature_of(v_load(x + i), greatest, kind));
    if (i < f) {
        vf made = feature_of(v_load_n(x + i, f - i), greatest, kind);
        v_store(to + i, v_select(v_le(v_iota(), v_set1((float)(f - i - 1))), made, zero));
        i += VL;
    }
    for (; i < wide; i += VL) v_store(to + i, zero);
}

TK_INLINE void features_to(const float *x, size_t f, size_t wide, float top, float *to, int kind) {
    if (kind == TK_FEATURE_ELU) feature_row(x, f, wide, top, to, TK_FEATURE_ELU);
    else if (kind == TK_FEATURE_RELU) feature_row(x, f, wide, top, to, TK_FEATURE_RELU);
    else feature_row(x, f, wide, top, to, TK_FEATURE_EXP);
}

static float greatest_of(const float *x, size_t n) {
    vf most = v_set1(-INFINITY);
    size_t i = 0;
    for (; i + VL <= n; i += VL) most = v_max(most, v_load(x + i));
    float top = v_top(most);
    for (; i < n; i++) top = x[i] > top ? x[i] : top;
    return top;
}

TK_INLINE float row_sum(const float *x, const float *by, size_t n) {
    vf sum = v_set1(0);
    for (size_t i = 0; i < n; i += VL) sum = by ? v_fma(v_load(x + i), v_load(by + i), sum) : v_add(sum, v_load(x + i));
    return v_sum(sum);
}

/* Features and values of n keys from `first` on; the state is put in terms of their greatest logit. */
static void take_keys(const tk_feature_attention *a, size_t sequence, size_t kv_head, size_t first, size_t n,
                      tk_feature_state *t) {
    const float *k = a->k + (ptrdiff_t)sequence * a->k_by.batch + (ptrdiff_t)kv_head * a->k_by.head;
    const float *v = a->v + (ptrdiff_t)sequence * a->v_by.batch + (ptrdiff_t)kv_head * a->v_by.head;
    const uint8_t *ignored = a->ignored ? a->ignored + (ptrdiff_t)sequence * a->ignored_by + first : NULL;
    const vf zero = v_set1(0);
    k += (ptrdiff_t)first * a->k_by.row, v += (ptrdiff_t)first * a->v_by.row;
    if (a->feature == TK_FEATURE_EXP) {
        float top = t->top;
        for (size_t j = 0; j < n; j++) {
            float most = ignored && ignored[j] ? top : greatest_of(k + (ptrdiff_t)j * a->k_by.row, a->f);
            top = most > top ? most : top;
        }
        if (top > t->top && t->top > -INFINITY) {
            vf by = v_exp(v_set1(t->top - top));
            for (size_t i = 0; i < t->f * t->e; i += VL) v_store(t->s + i, v_mul(v_load(t->s + i), by));
            for (size_t i = 0; i < t->f; i += VL) v_store(t->z + i, v_mul(v_load(t->z + i), by));
        }
        t->top = top;
    }
    size_t whole = (n + TWO - 1) / TWO * TWO;
    vf bad = zero;
    for (size_t j = 0; j < whole; j++) {
        float *row = t->k + j * t->f, *value = t->v + j * t->e;
        if (j >= n || (ignored && ignored[j])) {
            for (size_t i = 0; i < t->f; i += VL) v_store(row + i, zero);
            for (size_t i = 0; i < t->e; i += VL) v_store(value + i, zero);
            continue;
        }
        features_to(k + (ptrdiff_t)j * a->k_by.row, a->f, t->f, t->top, row, a->feature);
        memcpy(value, v + (ptrdiff_t)j * a->v_by.row, a->e * sizeof *value);
        memset(value + a->e, 0, (t->e - a->e) * sizeof *value);
        for (size_t i = 0; i < t->f; i += VL) bad = v_fma(v_load(row + i), zero, bad);
        for (size_t i = 0; i < t->e; i += VL) bad = v_fma(v_load(value + i), zero, bad);
    }
    t->careful = v_sum(bad) != 0;
    for (size_t j = 0; j < whole; j += 4)
        for (size_t i = 0; i < t->f; i += 4)
            transpose_four(t->k + j * t->f + i, (ptrdiff_t)t->f, t->kt + i * CHUNK + j, CHUNK, 1);
}

/* Rows of the state: S += φ(k)ᵀ v. */
TK_INLINE void absorb_rows(const int rows, const tk_feature_state *t, size_t f, size_t n) {
    for (size_t c = 0; c < t->e; c += TWO) {
        float *s = t->s + f * t->e + c;
        vf acc[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
            for (int i = 0; i < 2; i++) acc[r][i] = v_load(s + (size_t)r * t->e + (size_t)i * VL);
        tile(rows, 2, t->kt + f * CHUNK, CHUNK, 1, t->v + c, (ptrdiff_t)t->e, n, acc);
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
            for (int i = 0; i < 2; i++) v_store(s + (size_t)r * t->e + (size_t)i * VL, acc[r][i]);
    }
}

static void absorb(const tk_feature_attention *a, tk_feature_state *t, size_t n) {
    size_t f = 0;
    for (; f + ROWS_2 <= a->f; f += ROWS_2) absorb_rows(ROWS_2, t, f, n);
    for (; f < a->f; f++) absorb_rows(1, t, f, n);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < t->f; i += VL) v_store(t->z + i, v_add(v_load(t->z + i), v_load(t->k + j * t->f + i)));
}

/* Queries first … first + rows of a chunk, of which each sees the keys of the chunk up to itself, or with `causal` 0
   none of them: the state has them all. */
TK_INLINE void answer_rows(const int rows, const tk_feature_attention *a, const tk_feature_state *t, size_t first,
                           size_t n, int causal, float *out) {
    const float *q = t->q + first * t->f;
    float *p = t->p + first * CHUNK, by[TILE_ROWS], sum[TILE_ROWS];
    size_t seen = !causal ? 0 : first + (size_t)rows < n ? first + (size_t)rows : n;
    for (size_t c = 0; c < seen; c += TWO) {
        vf acc[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) acc[r][0] = acc[r][1] = v_set1(0);
        tile(rows, 2, q, (ptrdiff_t)t->f, 1, t->kt + c, CHUNK, a->f, acc);
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            v_store(p + r * CHUNK + c, acc[r][0]);
            v_store(p + r * CHUNK + c + VL, acc[r][1]);
        }
    }
    size_t whole = (seen + TWO - 1) / TWO * TWO;
    for (int r = 0; r < rows; r++) {
        for (size_t j = first + (size_t)r + 1; j < whole; j++) p[(size_t)r * CHUNK + j] = 0;
        sum[r] = row_sum(q + (size_t)r * t->f, t->z, t->f) + row_sum(p + (size_t)r * CHUNK, NULL, whole);
        by[r] = 1 / sum[r];
    }
    for (size_t c = 0; c < t->e; c += TWO) {
        vf acc[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) acc[r][0] = acc[r][1] = v_set1(0);
        tile(rows, 2, p, CHUNK, 1, t->v + c, (ptrdiff_t)t->e, seen, acc);
        tile(rows, 2, q, (ptrdiff_t)t->f, 1, t->s + c, (ptrdiff_t)t->e, a->f, acc);
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            float *to = out + (ptrdiff_t)r * a->out_by.row + c;
#pragma GCC unroll 2
            for (int i = 0; i < 2; i++) {
                size_t at = c + (size_t)i * VL;
                vf made = sum[r] < FLT_MIN ? v_set1(0) : v_mul(acc[r][i], v_set1(by[r]));
                if (at + VL <= a->e) v_store(to + i * VL, made);
                else if (at < a->e) v_store_n(to + i * VL, made, a->e - at);
            }
        }
    }
}

/* n queries from `first` on, of each head that shares the key head. */
static void answer(const tk_feature_attention *a, size_t sequence, size_t kv_head, size_t first, size_t n,
                   tk_feature_state *t, int causal) {
    for (size_t g = 0; g < a->group; g++) {
        ptrdiff_t head = (ptrdiff_t)(kv_head * a->group + g), b = (ptrdiff_t)sequence, row = (ptrdiff_t)first;
        const float *q = a->q + b * a->q_by.batch + head * a->q_by.head + row * a->q_by.row;
        float *out = a->out + b * a->out_by.batch + head * a->out_by.head + row * a->out_by.row;
        for (size_t i = 0; i < n; i++) {
            const float *x = q + (ptrdiff_t)i * a->q_by.row;
            float top = a->feature == TK_FEATURE_EXP ? greatest_of(x, a->f) : 0;
            features_to(x, a->f, t->f, top, t->q + i * t->f, a->feature);
        }
        size_t i = 0;
        if (!t->careful)
            for (; i + ROWS_2 <= n; i += ROWS_2)
                answer_rows(ROWS_2, a, t, i, n, causal, out + (ptrdiff_t)i * a->out_by.row);
        for (; i < n; i++) answer_rows(1, a, t, i, n, causal, out + (ptrdiff_t)i * a->out_by.row);
    }
}

static void attend_features(const tk_feature_attention *a, size_t sequence, size_t kv_head, float *room) {
    tk_feature_state t = {.f = (a->f + TWO - 1) / TWO * TWO, .e = (a->e + TWO - 1) / TWO * TWO};
    float *state = a->state + (sequence * (a->heads / a->group) + kv_head) * (a->f * a->e + a->f + 1);
    t.q = room;
    t.k = t.q + CHUNK * t.f;
    t.kt = t.k + CHUNK * t.f;
    t.p = t.kt + CHUNK * t.f;
    t.v = t.p + CHUNK * CHUNK;
    t.s = t.v + CHUNK * t.e;
    t.z = t.s + t.f * t.e;
    memset(t.s, 0, (t.f * t.e + t.f) * sizeof *t.s);
    for (size_t i = 0; i < a->f; i++) memcpy(t.s + i * t.e, state + i * a->e, a->e * sizeof *state);
    memcpy(t.z, state + a->f * a->e, a->f * sizeof *state);
    t.top = state[a->f * a->e + a->f];
    if (a->does & TK_ABSORB)
        for (size_t first = 0, n; first < a->n_keys; first += n) {
            n = a->n_keys - first < CHUNK ? a->n_keys - first : CHUNK;
            take_keys(a, sequence, kv_head, first, n, &t);
            if (a->does & TK_ANSWER) answer(a, sequence, kv_head, first, n, &t, 1);
            absorb(a, &t, n);
        }
    else
        for (size_t first = 0, n; first < a->n_queries; first += n) {
            n = a->n_queries - first < CHUNK ? a->n_queries - first : CHUNK;
            answer(a, sequence, kv_head, first, n, &t, 0);
        }
    if (!(a->does & TK_ABSORB)) return;
    for (size_t i = 0; i < a->f; i++) memcpy(state + i * a->e, t.s + i * t.e, a->e * sizeof *state);
    memcpy(state + a->f * a->e, t.z, a->f * sizeof *state);
    state[a->f * a->e + a->f] = t.top;
}
#endif
