/* The loops of grad_rows.h, with the vector operations of lanes_*.h. */
#ifndef TK_GRAD_ROWS_LOOPS_H
#define TK_GRAD_ROWS_LOOPS_H
#include <math.h>
#include "nn/grad_rows.h"
#include "nn/number_hash.h"
#include "nn/lanes_math.h"

/* Does what is given for the columns of a row: `some` of them, VL but for the last. */
#define EACH_VECTOR(m, ...)                                        \
    for (size_t i = 0, some; i < (m); i += some) {                 \
        some = (m) - i < VL ? (m) - i : VL;                        \
        __VA_ARGS__                                                \
    }
#define TAKE(p) (some == VL ? v_load((p) + i) : v_load_n((p) + i, some))
#define GIVE(p, v) (some == VL ? v_store((p) + i, (v)) : v_store_n((p) + i, (v), some))
/* v in the lanes that exist, and 0 after them. */
#define EXISTING(v) (some == VL ? (v) : v_select(v_le(v_iota(), v_set1((float)some - 1)), (v), v_set1(0)))
#define ROW(p, step) ((p) + (ptrdiff_t)r * (step))

/* With x̂ = (x - mean) by and g = dy weight: dx = by (g - mean(g) - x̂ mean(g x̂)); without a mean for RMS. */
TK_INLINE void norm_back(const tk_grad_rows_work *w, size_t from, size_t to, const int centred) {
    const size_t m = w->m;
    float *dweight = w->partial + from / TK_GRAD_CHUNK * 2 * m, *dbias = dweight + m;
    for (size_t r = from; r < to; r++) {
        const float *x = ROW(w->x, w->x_step), *dy = ROW(w->dy, w->dy_step);
        const float *add = w->add ? ROW(w->add, w->add_step) : NULL;
        float *dx = ROW(w->dx, w->dx_step);
        vf sum = v_set1(0), squares = sum, mean = sum, gs = sum, gxs = sum;
        if (centred) {
            EACH_VECTOR(m, sum = v_add(sum, TAKE(x));)
            mean = v_set1(v_sum(sum) / (float)m);
        }
        EACH_VECTOR(m, {
            vf v = EXISTING(v_sub(TAKE(x), mean));
            squares = v_fma(v, v, squares);
        })
        const vf by = v_set1(1 / sqrtf(v_sum(squares) / (float)m + w->eps));
        EACH_VECTOR(m, {
            vf hat = v_mul(v_sub(TAKE(x), mean), by), d = TAKE(dy), g = v_mul(d, TAKE(w->weight));
            GIVE(dweight, v_fma(d, hat, TAKE(dweight)));
            if (centred) {
                GIVE(dbias, v_add(d, TAKE(dbias)));
                gs = v_add(gs, g);
            }
            gxs = v_fma(g, hat, gxs);
        })
        const vf g_mean = v_set1(v_sum(gs) / (float)m), gx_mean = v_set1(v_sum(gxs) / (float)m);
        EACH_VECTOR(m, {
            vf hat = v_mul(v_sub(TAKE(x), mean), by), g = v_sub(v_mul(TAKE(dy), TAKE(w->weight)), g_mean);
            vf d = v_mul(by, v_sub(g, v_mul(hat, gx_mean)));
            GIVE(dx, add ? v_add(d, TAKE(add)) : d);
        })
    }
}
static void layer_norm_back(const tk_grad_rows_work *w, size_t from, size_t to) { norm_back(w, from, to, 1); }
static void rms_norm_back(const tk_grad_rows_work *w, size_t from, size_t to) { norm_back(w, from, to, 0); }

/* An activation of x and its derivative there. */
TK_INLINE vf v_activate_slope(vf x, const int kind, vf *slope) {
    const vf one = v_set1(1), zero = v_set1(0);
    switch (kind) {
    case TK_RELU: *slope = v_select(v_le(x, zero), zero, one); return v_max(zero, x);
    case TK_GELU: {
        vf low = v_max(v_set1(-GELU_END), x), z = v_min(v_set1(GELU_END), low), share = v_normal(z);
        vf density = v_mul(v_set1(0.3989422804014327f), v_exp2(v_mul(v_mul(z, z), v_set1(-0.5f * TK_LOG2E))));
        *slope = v_fma(z, density, share);
        return v_mul(low, share);
    }
    case TK_GELU_TANH: {
        const vf root = v_set1(2 * 0.7978845608028654f), cube = v_set1(0.044715f);
        vf square = v_mul(x, x), y = v_mul(v_mul(x, root), v_fma(square, cube, one));
        vf s = v_div(one, v_add(one, v_exp2(v_mul(y, v_set1(-TK_LOG2E)))));
        vf inner = v_mul(root, v_fma(square, v_set1(3 * 0.044715f), one));
        *slope = v_fma(v_mul(v_mul(x, s), v_sub(one, s)), inner, s);
        return v_mul(x, s);
    }
    case TK_SILU: {
        vf s = v_div(one, v_add(one, v_exp2(v_mul(x, v_set1(-TK_LOG2E)))));
        *slope = v_fma(v_mul(x, s), v_sub(one, s), s);
        return v_mul(x, s);
    }
    case TK_TANH: {
        vf y = v_activate(x, TK_TANH);
        *slope = v_sub(one, v_mul(y, y));
        return y;
    }
    default: *slope = one; return x;
    }
}

TK_INLINE void activate_back_as(const int kind, const tk_grad_rows_work *w, size_t from, size_t to, const int gated) {
    for (size_t r = from; r < to; r++) {
        const float *x = ROW(w->x, w->x_step), *dy = ROW(w->dy, w->dy_step);
        const float *other = gated ? ROW(w->other, w->other_step) : NULL;
        float *dx = ROW(w->dx, w->dx_step), *dother = gated ? ROW(w->dother, w->dother_step) : NULL;
        float *y = w->y ? ROW(w->y, w->y_step) : NULL;
        EACH_VECTOR(w->m, {
            vf slope;
            vf d = TAKE(dy);
            vf v = v_activate_slope(TAKE(x), kind, &slope);
            if (gated) {
                vf beside = TAKE(other);
                GIVE(dother, v_mul(d, v));
                v = v_mul(v, beside);
                slope = v_mul(slope, beside);
            }
            GIVE(dx, v_mul(d, slope));
            if (y) GIVE(y, v);
        })
    }
}
#define ACTIVATE_BACK(gated)                                                              \
    switch (w->kind) {                                                                    \
    case TK_RELU: activate_back_as(TK_RELU, w, from, to, gated); break;                   \
    case TK_GELU: activate_back_as(TK_GELU, w, from, to, gated); break;                   \
    case TK_GELU_TANH: activate_back_as(TK_GELU_TANH, w, from, to, gated); break;         \
    case TK_SILU: activate_back_as(TK_SILU, w, from, to, gated); break;                   \
    case TK_TANH: activate_back_as(TK_TANH, w, from, to, gated); break;                   \
    default: activate_back_as(TK_IDENTITY, w, from, to, gated);                           \
    }
static void activate_back(const tk_grad_rows_work *w, size_t from, size_t to) { ACTIVATE_BACK(0) }
static void gate_back(const tk_grad_rows_work *w, size_t from, size_t to) { ACTIVATE_BACK(1) }

/* Logits x become their gradients dx, which may be x: (softmax - one at the target) by. */
static void cross_entropy(const tk_grad_rows_work *w, size_t from, size_t to) {
    for (size_t r = from; r < to; r++) {
        const float *x = ROW(w->x, w->x_step);
        float *dx = ROW(w->dx, w->dx_step);
        const int64_t target = w->ids[r];
        if (target < 0) {
            w->losses[r] = 0;
            memset(dx, 0, w->m * sizeof(float));
            continue;
        }
        const float wanted = x[target];
        vf tops[2] = {v_set1(-INFINITY), v_set1(-INFINITY)}, sums[2] = {v_set1(0), v_set1(0)};
        size_t i = 0;
        for (; i + 2 * VL <= w->m; i += 2 * VL)
            for (int v = 0; v < 2; v++) tops[v] = v_max(tops[v], v_load(x + i + v * VL));
        float most = v_top(v_max(tops[0], tops[1]));
        for (; i < w->m; i++) most = x[i] > most ? x[i] : most;
        const vf top = v_set1(most);
        for (i = 0; i + 2 * VL <= w->m; i += 2 * VL)
            for (int v = 0; v < 2; v++) {
                vf p = v_exp(v_sub(v_load(x + i + v * VL), top));
                v_store(dx + i + v * VL, p);
                sums[v] = v_add(sums[v], p);
            }
        float rest = 0;
        for (; i < w->m; i++) rest += dx[i] = expf(x[i] - most);
        const float total = v_sum(v_add(sums[0], sums[1])) + rest;
        const vf by = v_set1(w->by / total);
        w->losses[r] = logf(total) - (wanted - most);
        EACH_VECTOR(w->m, GIVE(dx, v_mul(TAKE(dx), by));)
        dx[target] -= w->by;
    }
}

/* y = x by, or 0 where the hash says so; y may be x. What is left is said of a block at a time, from numbers that no
   store may change: so compilers do it in vectors, almost four times as fast (with a dropout of 0.1 a twentieth of the
   steps of benchmarks/bench_finetune.py). */
static void drop_out(const tk_grad_rows_work *w, size_t from, size_t to) {
    enum { SOME = 64 };
    const uint32_t least = w->least;
    const size_t m = w->m;
    const vf by = v_set1(w->by), zero = v_set1(0);
    for (size_t r = from; r < to; r++) {
        const uint64_t number = (uint64_t)r * m;
        const uint32_t low = (uint32_t)w->seed, high = (uint32_t)(w->seed >> 32) ^ (uint32_t)(number >> 32);
        for (size_t start = 0; start < m; start += SOME) {
            const float *x = ROW(w->x, w->x_step) + start;
            float *y = ROW(w->y, w->y_step) + start, left[SOME];
            const uint32_t first = (uint32_t)number + (uint32_t)start;
            for (size_t i = 0; i < SOME; i++) left[i] = number_hash(first + (uint32_t)i, low, high) >= least ? 1 : 0;
            EACH_VECTOR(m - start < SOME ? m - start : SOME,
                        GIVE(y, v_select(v_le(v_load(left + i), zero), zero, v_mul(TAKE(x), by)));)
        }
    }
}

static void column_sums(const tk_grad_rows_work *w, size_t from, size_t to) {
    for (size_t r = 0; r < w->n; r++) {
        const float *dy = ROW(w->dy, w->dy_step) + from;
        EACH_VECTOR(to - from, GIVE(w->dbias + from, v_add(TAKE(w->dbias + from), TAKE(dy)));)
    }
}

static void scatter_add(const tk_grad_rows_work *w, size_t from, size_t to) {
    for (size_t r = 0; r < w->n; r++) {
        const float *dy = ROW(w->dy, w->dy_step) + from;
        float *dx = w->dx + (ptrdiff_t)w->ids[r] * w->dx_step + from;
        EACH_VECTOR(to - from, GIVE(dx, v_add(TAKE(dx), TAKE(dy)));)
    }
}

/* Batch norm of columns from … to. Sums are those of chunks of rows, whose own sums are in registers: a chunk of all
   columns is in the cache. */
#define EACH_CHUNK(n, ...)                                                                  \
    for (size_t first = 0, end; first < (n); first = end) {                                 \
        end = (n) - first < TK_GRAD_CHUNK ? (n) : first + TK_GRAD_CHUNK;                    \
        __VA_ARGS__                                                                         \
    }
#define AT(p, step) ((p) + (ptrdiff_t)r * (step) + from)

TK_INLINE vf one_over_deviation(vf variance, float eps) {
    return v_div(v_set1(1), v_sqrt(v_add(variance, v_set1(eps))));
}

static void batch_norm(const tk_grad_rows_work *w, size_t from, size_t to) {
    const size_t m = to - from, n = w->n;
    float *mean = w->mean + from, *variance = w->variance + from;
    const float *weight = w->weight + from, *bias = w->bias + from;
    if (w->of_batch) {
        const vf share = v_set1(1 / (float)n);
        memset(mean, 0, m * sizeof(float));
        memset(variance, 0, m * sizeof(float));
        EACH_CHUNK(n, EACH_VECTOR(m, {
            vf sum = v_set1(0);
            for (size_t r = first; r < end; r++) sum = v_add(sum, TAKE(AT(w->x, w->x_step)));
            GIVE(mean, v_add(TAKE(mean), sum));
        }))
        EACH_VECTOR(m, GIVE(mean, v_mul(TAKE(mean), share));)
        EACH_CHUNK(n, EACH_VECTOR(m, {
            vf sum = v_set1(0), centre = TAKE(mean);
            for (size_t r = first; r < end; r++) {
                vf v = v_sub(TAKE(AT(w->x, w->x_step)), centre);
                sum = v_fma(v, v, sum);
            }
            GIVE(variance, v_add(TAKE(variance), sum));
        }))
        EACH_VECTOR(m, GIVE(variance, v_mul(TAKE(variance), share));)
    }
    EACH_CHUNK(n, EACH_VECTOR(m, {
        const vf by = v_mul(one_over_deviation(TAKE(variance), w->eps), TAKE(weight)), centre = TAKE(mean);
        const vf add = TAKE(bias);
        for (size_t r = first; r < end; r++)
            GIVE(AT(w->y, w->y_step), v_fma(v_sub(TAKE(AT(w->x, w->x_step)), centre), by, add));
    }))
}

/* With x̂ = (x - mean) / deviation: dx = weight / deviation (dy - mean(dy) - x̂ mean(dy x̂)), the means being those of
   columns, and 0 where the statistics are given. */
static void batch_norm_back(const tk_grad_rows_work *w, size_t from, size_t to) {
    const size_t m = to - from, n = w->n;
    const float *mean = w->mean + from, *variance = w->variance + from, *weight = w->weight + from;
    float *hats = w->partial + from, *sums = hats + w->m;
    EACH_CHUNK(n, EACH_VECTOR(m, {
        const vf by = one_over_deviation(TAKE(variance), w->eps), centre = TAKE(mean);
        vf sum = v_set1(0), hat_sum = v_set1(0);
        for (size_t r = first; r < end; r++) {
            vf d = TAKE(AT(w->dy, w->dy_step)), hat = v_mul(v_sub(TAKE(AT(w->x, w->x_step)), centre), by);
            sum = v_add(sum, d);
            hat_sum = v_fma(d, hat, hat_sum);
        }
        GIVE(sums, v_add(TAKE(sums), sum));
        GIVE(hats, v_add(TAKE(hats), hat_sum));
    }))
    const vf share = v_set1(w->of_batch ? 1 / (float)n : 0);
    EACH_CHUNK(n, EACH_VECTOR(m, {
        const vf by = one_over_deviation(TAKE(variance), w->eps), centre = TAKE(mean), scale = v_mul(by, TAKE(weight));
        const vf d_mean = v_mul(TAKE(sums), share), hat_mean = v_mul(TAKE(hats), share);
        for (size_t r = first; r < end; r++) {
            vf hat = v_mul(v_sub(TAKE(AT(w->x, w->x_step)), centre), by);
            vf d = v_sub(v_sub(TAKE(AT(w->dy, w->dy_step)), d_mean), v_mul(hat, hat_mean));
            GIVE(AT(w->dx, w->dx_step), v_mul(scale, d));
        }
    }))
}

#define GRAD_ROW_KERNELS                                                                                             \
    {layer_norm_back, rms_norm_back, activate_back, gate_back, cross_entropy, drop_out, column_sums, scatter_add, \
     batch_norm, batch_norm_back}
#endif
