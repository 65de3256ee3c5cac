/* The loops of optim.h, with the vector operations of lanes_*.h. */
#ifndef TK_OPTIM_LOOPS_H
#define TK_OPTIM_LOOPS_H
#include "nn/bf16.h"
#include "nn/lanes_math.h"
#include "nn/optim.h"

/* Does what is given for the items from … to: `some` of them, VL but for the last. */
#define EACH_ITEM(...)                                       \
    for (size_t i = from, some; i < to; i += some) {         \
        some = to - i < VL ? to - i : VL;                    \
        __VA_ARGS__                                          \
    }
#define READ(p) (some == VL ? v_load((p) + i) : v_load_n((p) + i, some))
#define WRITE(p, v) (some == VL ? v_store((p) + i, (v)) : v_store_n((p) + i, (v), some))

/* Loshchilov and Hutter 2019, with the order of operations of torch. */
static void adamw(const tk_optim_work *w, size_t from, size_t to) {
    const vf by = v_set1(w->by), beta1 = v_set1(w->beta1), rest1 = v_set1(1 - w->beta1);
    const vf beta2 = v_set1(w->beta2), rest2 = v_set1(1 - w->beta2), eps = v_set1(w->eps);
    const vf keep = v_set1(1 - w->lr * w->decay), step = v_set1(-w->step), root = v_set1(1 / w->root);
    EACH_ITEM({
        vf g = v_mul(READ(w->g), by), m = v_fma(READ(w->m), beta1, v_mul(g, rest1));
        vf v = v_fma(READ(w->v), beta2, v_mul(v_mul(g, g), rest2)), p = v_mul(READ(w->p), keep);
        vf below = v_fma(v_sqrt(v), root, eps);
        WRITE(w->m, m);
        WRITE(w->v, v);
        WRITE(w->p, v_fma(step, v_div(m, below), p));
    })
}

static void sgd(const tk_optim_work *w, size_t from, size_t to) {
    const vf by = v_set1(w->by), beta = v_set1(w->beta1), decay = v_set1(w->decay), step = v_set1(-w->lr);
    EACH_ITEM({
        vf p = READ(w->p), g = v_fma(p, decay, v_mul(READ(w->g), by));
        if (w->m) {
            g = v_fma(READ(w->m), beta, g);
            WRITE(w->m, g);
        }
        WRITE(w->p, v_fma(step, g, p));
    })
}

static void average(const tk_optim_work *w, size_t from, size_t to) {
    const vf keep = v_set1(w->decay);
    EACH_ITEM({
        vf p = READ(w->p);
        WRITE(w->m, v_fma(v_sub(READ(w->m), p), keep, p));
    })
}

/* Sums of a few floats are put into a double: neither digits nor range are lost. */
static void squares(const tk_optim_work *w, size_t from, size_t to) {
    enum { FEW = 64 };
    double total = 0;
    for (size_t first = from; first < to; first += FEW * VL) {
        vf sum = v_set1(0);
        for (size_t i = first; i < to && i < first + FEW * VL; i += VL) {
            vf g = to - i < VL ? v_load_n(w->g + i, to - i) : v_load(w->g + i);
            sum = v_fma(g, g, sum);
        }
        total += v_sum(sum);
    }
    w->sums[from / TK_OPTIM_CHUNK] = total;
}

static void widen(const uint16_t *half, float *restrict to_floats, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        const uint32_t bits = (uint32_t)half[i] << 16;
        memcpy(to_floats + i, &bits, sizeof bits);
    }
}

/* Pointers of their own: compilers make vectors of these loops if no store may change what they read. */
static void round_all(const tk_optim_work *w, size_t from, size_t to) {
    const float *p = w->p;
    uint16_t *restrict half = w->half;
    for (size_t i = from; i < to; i++) {
        uint32_t bits;
        memcpy(&bits, p + i, sizeof bits);
        half[i] = (uint16_t)(tk_rounded_bits(bits) >> 16);
    }
    if (w->m) widen(half, w->m, from, to);
}

static void widen_all(const tk_optim_work *w, size_t from, size_t to) { widen(w->half, w->p, from, to); }

#define OPTIM_KERNELS {adamw, sgd, average, squares, round_all, widen_all}
#endif
