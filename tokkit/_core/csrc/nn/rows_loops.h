/* The loops of rows.h, with the vector operations of lanes_*.h. */
#ifndef TK_ROWS_LOOPS_H
#define TK_ROWS_LOOPS_H
#include <math.h>
#include "nn/lanes_math.h"
#include "nn/rows.h"

/* Does what is given with i, which counts the m floats of a row by VL from -lead on. The lanes from `skip` up to `some`
   are the row's: all VL, except in the first vector, whose first `lead` lanes lie before the row, and in the last. */
#define FOR_LINES(lead, m, ...)                          \
    {                                                    \
        ptrdiff_t i = 0, m_ = (ptrdiff_t)(m);            \
        if (lead) {                                      \
            const size_t skip = (lead), some = VL;       \
            i = -(ptrdiff_t)skip;                        \
            __VA_ARGS__                                  \
            i += VL;                                     \
        }                                                \
        for (; i + VL <= m_; i += VL) {                  \
            const size_t skip = 0, some = VL;            \
            __VA_ARGS__                                  \
        }                                                \
        if (i < m_) {                                    \
            const size_t skip = 0, some = (size_t)(m_ - i); \
            __VA_ARGS__                                  \
        }                                                \
    }
#define FOR_VECTORS(m, ...) FOR_LINES(0, m, __VA_ARGS__)
#define LOAD(p) (skip ? v_load_from((p) + i, skip) : some == VL ? v_load((p) + i) : v_load_n((p) + i, some))
#define STORE(p, v) \
    (skip ? v_store_from((p) + i, (v), skip) : some == VL ? v_store((p) + i, (v)) : v_store_n((p) + i, (v), some))
/* v, with `rest` in the lanes that are not the row's. */
#define ONLY(v, rest)                                                                                   \
    (skip ? v_select(v_le(v_set1((float)skip), v_iota()), (v), v_set1(rest))                            \
          : some == VL ? (v) : v_select(v_le(v_iota(), v_set1((float)some - 1)), (v), v_set1(rest)))

TK_INLINE void softmax(const tk_row_work *w, size_t from, size_t to, const int logs) {
    for (size_t r = from; r < to; r++) {
        const float *x = w->x + (ptrdiff_t)r * w->x_step;
        float *y = w->y + (ptrdiff_t)r * w->y_step;
        vf top = v_set1(-INFINITY), sum = v_set1(0);
        FOR_VECTORS(w->m, { top = v_max(top, ONLY(LOAD(x), -INFINITY)); })
        vf m = v_set1(v_top(top));
        FOR_VECTORS(w->m, {
            vf p = v_exp(v_sub(LOAD(x), m));
            sum = v_add(sum, ONLY(p, 0));
            if (!logs) STORE(y, p);
        })
        float total = v_sum(sum);
        if (logs) {
            vf by = v_set1(logf(total));
            FOR_VECTORS(w->m, { STORE(y, v_sub(v_sub(LOAD(x), m), by)); })
        } else {
            vf by = v_set1(1 / total);
            FOR_VECTORS(w->m, { STORE(y, v_mul(LOAD(y), by)); })
        }
    }
}
static void rows_softmax(const tk_row_work *w, size_t from, size_t to) { softmax(w, from, to, 0); }
static void rows_log_softmax(const tk_row_work *w, size_t from, size_t to) { softmax(w, from, to, 1); }

/* Sums that no cache of a core holds go past it, whole lines at a time: to read what is to be written over costs a
   fourth of the time. What is written over its own input is read anyway; rows that are no sums gain from 100 MB on. */
enum { STREAM_FLOATS = 1 << 20, STREAM_LEAST = 256, STREAM_MOST = 4096, STREAM_LANES = 4 };

TK_INLINE int goes_past(const tk_row_work *w) {
    if (!V_STREAMS || !w->other || w->y == w->x || w->y == w->other || w->n * w->m < STREAM_FLOATS) return 0;
    if (w->m < STREAM_LEAST || w->m > STREAM_MOST || w->m % STREAM_LANES || w->y_step % STREAM_LANES) return 0;
    return (uintptr_t)w->y % (STREAM_LANES * sizeof(float)) == 0;
}

/* A row on its way through a norm. */
typedef struct {
    const float *x; /* what is left to norm: the row itself, or its sum with another */
    float *y;
    size_t lead;    /* lanes of y's first whole vector that lie before it; 0 where none goes past the caches */
    vf sum, mean, by;
} normed;

/* Lanes as they are without a lead: rounding is the same wherever y lies. */
TK_INLINE float sum_of(const normed *n, vf v) { return v_sum(n->lead ? v_rotate(v, n->lead) : v); }

/* Sum up a row of x + other, which goes to w->sum, or else to `room` where y is streamed, or to y. */
TK_INLINE normed begin_norm(const tk_row_work *w, size_t r, const int centred, const int stream, float *room) {
    const size_t m = w->m; /* a copy, as are others below: a store might change what is read through w */
    const float *x = w->x + (ptrdiff_t)r * w->x_step;
    const float *other = w->other ? w->other + (ptrdiff_t)r * w->other_step : NULL;
    float *y = w->y + (ptrdiff_t)r * w->y_step;
    const int to_room = stream && !w->sum;
    const size_t lead = stream ? (uintptr_t)y / sizeof(float) % VL : 0;
    float *sums = w->sum ? w->sum + (ptrdiff_t)r * w->sum_step : to_room ? room + lead : y;
    /* Two sums that take turns: one would wait for itself. */
    vf sum = v_set1(0), turn = sum;
    if (other) {
        FOR_LINES(lead, m, {
            vf v = v_add(LOAD(x), LOAD(other)), next = v_add(turn, v);
            turn = sum, sum = next;
            if (to_room) v_store(sums + i, v);
            else STORE(sums, v);
        })
        x = sums;
    } else if (centred) {
        FOR_LINES(lead, m, {
            vf next = v_add(turn, LOAD(x));
            turn = sum, sum = next;
        })
    }
    return (normed){x, y, lead, v_add(sum, turn), v_set1(0), v_set1(0)};
}

/* Both passes over what is summed leave memory idle: `ahead`, a row of what is to come, is fetched meanwhile. */
TK_INLINE void scale_norm(const tk_row_work *w, normed *n, const int centred, const int stream, const float *ahead) {
    const size_t m = w->m, lead = n->lead;
    const float *x = n->x;
    vf square = v_set1(0), turn = square, mean = centred ? v_set1(sum_of(n, n->sum) / (float)m) : square;
    FOR_LINES(lead, m, {
        vf v = ONLY(v_sub(LOAD(x), mean), 0), next = v_fma(v, v, turn);
        if (stream) TK_PREFETCH(ahead + i);
        turn = square, square = next;
    })
    n->mean = mean;
    n->by = v_set1(1 / sqrtf(sum_of(n, v_add(square, turn)) / (float)m + w->eps));
}

TK_INLINE void end_norm(const tk_row_work *w, const normed *n, const int stream, const float *ahead) {
    const vf one = v_set1(1), zero = v_set1(0), mean = n->mean, by = n->by;
    const size_t m = w->m, lead = n->lead;
    const float *x = n->x, *weight = w->weight, *bias = w->bias;
    float *y = n->y;
    FOR_LINES(lead, m, {
        vf v = v_mul(v_sub(LOAD(x), mean), by);
        v = v_fma(v, weight ? LOAD(weight) : one, bias ? LOAD(bias) : zero);
        if (stream) TK_PREFETCH(ahead + i);
        if (!stream) STORE(y, v);
        else if (!skip && some == VL) v_stream(y + i, v);
        else v_stream_fours(y + i, v, skip, some);
    })
}

/* Row r, and r + 1 where `rows` is 2: while the numbers of one come together the other's are read. */
TK_INLINE void norm_turn(const tk_row_work *w, size_t r, const int rows, size_t to, const int centred, const int stream,
                         float (*room)[STREAM_MOST + 2 * VL]) {
    normed n[2];
#pragma GCC unroll 2
    for (int k = 0; k < rows; k++) n[k] = begin_norm(w, r + (size_t)k, centred, stream, room[k]);
    const size_t next = r + 4 <= to ? r + 2 : r;
    const float *x = w->x + (ptrdiff_t)next * w->x_step;
    const float *other = w->other ? w->other + (ptrdiff_t)next * w->other_step : x; /* its step is 0 then */
#pragma GCC unroll 2
    for (int k = 0; k < rows; k++) scale_norm(w, &n[k], centred, stream, x + k * w->x_step);
#pragma GCC unroll 2
    for (int k = 0; k < rows; k++) end_norm(w, &n[k], stream, other + k * w->other_step);
}

TK_INLINE void norm_rows(const tk_row_work *w, size_t from, size_t to, const int centred, const int stream) {
    _Alignas(64) float room[2][STREAM_MOST + 2 * VL];
    size_t r = from;
    for (; r + 2 <= to; r += 2) norm_turn(w, r, 2, to, centred, stream, room);
    if (r < to) norm_turn(w, r, 1, to, centred, stream, room);
    if (stream) v_streamed();
}

TK_INLINE void normalise(const tk_row_work *w, size_t from, size_t to, const int centred) {
    if (goes_past(w)) norm_rows(w, from, to, centred, 1);
    else norm_rows(w, from, to, centred, 0);
}
static void rows_layer_norm(const tk_row_work *w, size_t from, size_t to) { normalise(w, from, to, 1); }
static void rows_rms_norm(const tk_row_work *w, size_t from, size_t to) { normalise(w, from, to, 0); }

TK_INLINE void activate_as(const int kind, const tk_row_work *w, size_t from, size_t to, const int gated) {
    for (size_t r = from; r < to; r++) {
        const float *x = w->x + (ptrdiff_t)r * w->x_step;
        const float *other = gated ? w->other + (ptrdiff_t)r * w->other_step : NULL;
        float *y = w->y + (ptrdiff_t)r * w->y_step;
        FOR_VECTORS(w->m, {
            vf v = v_activate(w->bias ? v_add(LOAD(x), LOAD(w->bias)) : LOAD(x), kind);
            STORE(y, gated ? v_mul(v, LOAD(other)) : v);
        })
    }
}
#define ACTIVATE(gated)                                                           \
    switch (w->kind) {                                                            \
    case TK_RELU: activate_as(TK_RELU, w, from, to, gated); break;                \
    case TK_GELU: activate_as(TK_GELU, w, from, to, gated); break;                \
    case TK_GELU_TANH: activate_as(TK_GELU_TANH, w, from, to, gated); break;      \
    case TK_SILU: activate_as(TK_SILU, w, from, to, gated); break;                \
    case TK_EXP: activate_as(TK_EXP, w, from, to, gated); break;                  \
    case TK_SIGMOID: activate_as(TK_SIGMOID, w, from, to, gated); break;          \
    case TK_TANH: activate_as(TK_TANH, w, from, to, gated); break;                \
    default: activate_as(TK_IDENTITY, w, from, to, gated);                        \
    }
static void rows_activate(const tk_row_work *w, size_t from, size_t to) { ACTIVATE(0) }
static void rows_gate(const tk_row_work *w, size_t from, size_t to) { ACTIVATE(1) }

/* What a row of a rotation works on, and the columns that do not turn. */
TK_INLINE size_t rotated(const tk_row_work *w, size_t r, const float **x, float **y, const float **c, const float **s) {
    ptrdiff_t row = (ptrdiff_t)(r % w->rows), head = (ptrdiff_t)(r / w->rows % w->heads);
    ptrdiff_t batch = (ptrdiff_t)(r / w->rows / w->heads);
    ptrdiff_t at = batch * w->angles_by.batch + head * w->angles_by.head + row * w->angles_by.row;
    *x = w->x + batch * w->x_by.batch + head * w->x_by.head + row * w->x_by.row;
    *y = w->y + batch * w->y_by.batch + head * w->y_by.head + row * w->y_by.row;
    *c = w->cosines + at, *s = w->sines + at;
    if (*x != *y) memcpy(*y + 2 * w->half, *x + 2 * w->half, (w->m - 2 * w->half) * sizeof(float));
    return w->half;
}

static void rows_rotate(const tk_row_work *w, size_t from, size_t to) {
    for (size_t r = from; r < to; r++) {
        const float *x, *c, *s;
        float *y;
        size_t half = rotated(w, r, &x, &y, &c, &s);
        FOR_VECTORS(half, {
            vf a = LOAD(x), b = LOAD(x + half), cosine = LOAD(c), sine = LOAD(s);
            STORE(y, v_sub(v_mul(a, cosine), v_mul(b, sine)));
            STORE(y + half, v_fma(b, cosine, v_mul(a, sine)));
        })
    }
}

static void rows_rotate_pairs(const tk_row_work *w, size_t from, size_t to) {
    for (size_t r = from; r < to; r++) {
        const float *x, *c, *s;
        float *y;
        size_t half = rotated(w, r, &x, &y, &c, &s), i = 0;
        for (; i + VL <= 2 * half; i += VL) {
            vf v = v_load(x + i), turned = v_mul(v_swap_pairs(v), v_even_negated(v_double_low(s + i / 2)));
            v_store(y + i, v_fma(v, v_double_low(c + i / 2), turned));
        }
        for (i /= 2; i < half; i++) {
            float a = x[2 * i], b = x[2 * i + 1];
            y[2 * i] = a * c[i] - b * s[i];
            y[2 * i + 1] = b * c[i] + a * s[i];
        }
    }
}

static void rows_gather(const tk_row_work *w, size_t from, size_t to) {
    enum { AHEAD = 4 };
    for (size_t r = from; r < to; r++) {
        const float *x = w->x + (ptrdiff_t)w->ids[r] * w->x_step;
        float *y = w->y + (ptrdiff_t)r * w->y_step;
        if (r + AHEAD < to) TK_PREFETCH(w->x + (ptrdiff_t)w->ids[r + AHEAD] * w->x_step);
        if (!w->bias) {
            memcpy(y, x, w->m * sizeof(float));
            continue;
        }
        FOR_VECTORS(w->m, { STORE(y, v_add(LOAD(x), LOAD(w->bias))); })
    }
}

#define ROW_KERNELS                                                                                              \
    {rows_softmax, rows_log_softmax, rows_layer_norm, rows_rms_norm, rows_activate, rows_gate, rows_rotate, \
     rows_rotate_pairs, rows_gather}
#endif
