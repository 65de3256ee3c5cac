/* Some rows in, what rows.h promises of them out: included by one file an ISA. */
#ifndef TK_ROWS_LOOPS_H
#define TK_ROWS_LOOPS_H
#include <math.h>
#include "lanes_math.h"
#include "rows.h"

/* Does what is given with i, and `some` lanes of the m from i on: VL of them but at the end. */
#define FOR_VECTORS(m, ...)               \
    {                                     \
        size_t i = 0;                     \
        for (; i + VL <= (m); i += VL) {  \
            const size_t some = VL;       \
            __VA_ARGS__                   \
        }                                 \
        if (i < (m)) {                    \
            const size_t some = (m) - i;  \
            __VA_ARGS__                   \
        }                                 \
    }
#define LOAD(p) (some == VL ? v_load((p) + i) : v_load_n((p) + i, some))
#define STORE(p, v) (some == VL ? v_store((p) + i, (v)) : v_store_n((p) + i, (v), some))
/* v, with `rest` in the lanes behind the row's end. */
#define ONLY(v, rest) (some == VL ? (v) : v_select(v_le(v_iota(), v_set1((float)some - 1)), (v), v_set1(rest)))

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

/* Rows that no cache of a core holds go past it: to read what is to be written over costs a fourth of the time. */
enum { STREAM_FLOATS = 1 << 20, STREAM_COLUMNS = 4096 };

TK_INLINE int goes_past(const tk_row_work *w) {
    return w->n * w->m >= STREAM_FLOATS && w->m <= STREAM_COLUMNS && !((uintptr_t)w->y & 15) && w->y_step % 4 == 0;
}

/* A row on its way through a norm. */
typedef struct {
    const float *x; /* what is left to norm: the row itself, or its sum with another */
    float *y;
    vf sum, mean, by;
} normed;

/* Sum up a row of x + other, which goes to w->sum, or to `room`. */
TK_INLINE normed begin_norm(const tk_row_work *w, size_t r, const int centred, float *room) {
    const float *x = w->x + (ptrdiff_t)r * w->x_step;
    const float *other = w->other ? w->other + (ptrdiff_t)r * w->other_step : NULL;
    float *y = w->y + (ptrdiff_t)r * w->y_step;
    float *sums = w->sum ? w->sum + (ptrdiff_t)r * w->sum_step : room ? room : y;
    /* Two sums that take turns: one would wait for itself. */
    vf sum = v_set1(0), turn = sum;
    if (other) {
        FOR_VECTORS(w->m, {
            vf v = v_add(LOAD(x), LOAD(other)), next = v_add(turn, v);
            turn = sum, sum = next;
            STORE(sums, v);
        })
        x = sums;
    } else if (centred) {
        FOR_VECTORS(w->m, {
            vf next = v_add(turn, LOAD(x));
            turn = sum, sum = next;
        })
    }
    return (normed){x, y, v_add(sum, turn), v_set1(0), v_set1(0)};
}

TK_INLINE void scale_norm(const tk_row_work *w, normed *n, const int centred) {
    const float *x = n->x;
    vf square = v_set1(0), turn = square, mean = centred ? v_set1(v_sum(n->sum) / (float)w->m) : square;
    FOR_VECTORS(w->m, {
        vf v = ONLY(v_sub(LOAD(x), mean), 0), next = v_fma(v, v, turn);
        turn = square, square = next;
    })
    n->mean = mean;
    n->by = v_set1(1 / sqrtf(v_sum(v_add(square, turn)) / (float)w->m + w->eps));
}

TK_INLINE void end_norm(const tk_row_work *w, const normed *n, const int stream) {
    const vf one = v_set1(1), zero = v_set1(0), mean = n->mean, by = n->by;
    const float *x = n->x;
    float *y = n->y;
    FOR_VECTORS(w->m, {
        vf v = v_mul(v_sub(LOAD(x), mean), by);
        v = v_fma(v, w->weight ? LOAD(w->weight) : one, w->bias ? LOAD(w->bias) : zero);
        if (stream && some == VL) v_stream(y + i, v);
        else STORE(y, v);
    })
}

/* Two rows by turns: while the numbers of one come together the other's are read. */
TK_INLINE void normalise(const tk_row_work *w, size_t from, size_t to, const int centred) {
    const int stream = goes_past(w);
    float room[2][STREAM_COLUMNS];
    size_t r = from;
    for (; r + 2 <= to; r += 2) {
        normed a = begin_norm(w, r, centred, stream ? room[0] : NULL);
        normed b = begin_norm(w, r + 1, centred, stream ? room[1] : NULL);
        scale_norm(w, &a, centred);
        scale_norm(w, &b, centred);
        end_norm(w, &a, stream);
        end_norm(w, &b, stream);
    }
    if (r < to) {
        normed a = begin_norm(w, r, centred, stream ? room[0] : NULL);
        scale_norm(w, &a, centred);
        end_norm(w, &a, stream);
    }
    if (stream) v_streamed();
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
