/* Powers, GELUs and sigmoids of vectors of floats, written once with the vector operations of lanes_*.h.

   Include one of lanes_avx512.h, lanes_avx2.h and lanes_scalar.h before this file. It sets the instruction set for the
   rest of the file and defines the same vector operations for it: vf, VL lanes of float; vm, a choice for each lane;
   v_load, v_fma, v_select and so on. Errors are measured as in tests/nn/test_row_kernels.py. */
#ifndef TK_LANES_MATH_H
#define TK_LANES_MATH_H
#include <float.h>

#define TK_LOG2E 1.44269504088896340736f

/* 2^x, relative error below 1.2e-7; exactly 0 from LEAST_POWER down, infinite from 128 up, NaN at NaN (the order of
   the operands sees to it). Coefficients by minimax on [-1/2, 1/2]. */
TK_INLINE vf v_exp2(vf x) {
    x = v_min(v_set1(128.0f), v_max(v_set1(LEAST_POWER), x));
    vf whole = v_round(x), f = v_sub(x, whole), p = v_set1(0.00015353361959569156f);
    p = v_fma(p, f, v_set1(0.0013398875016719103f));
    p = v_fma(p, f, v_set1(0.00961843691766262f));
    p = v_fma(p, f, v_set1(0.055503323674201965f));
    p = v_fma(p, f, v_set1(0.24022647738456726f));
    p = v_fma(p, f, v_set1(0.6931471824645996f));
    return v_ldexp(v_fma(p, f, v_set1(1.0f)), whole);
}

/* 2^x for x at most 0, as v_exp2 but with a relative error below 2e-7: the weights of attention. */
TK_INLINE vf v_exp2_down(vf x) {
    x = v_max(v_set1(LEAST_POWER), x);
    vf whole = v_round(x), f = v_sub(x, whole), p = v_set1(0.001326472731307149f);
    p = v_fma(p, f, v_set1(0.009671512991189957f));
    p = v_fma(p, f, v_set1(0.05550733581185341f));
    p = v_fma(p, f, v_set1(0.24022242426872253f));
    p = v_fma(p, f, v_set1(0.6931470036506653f));
    return v_ldexp(v_fma(p, f, v_set1(1.0f)), whole);
}

/* e^x by two parts of log2(e), so that a large |x| costs no digits. */
TK_INLINE vf v_exp(vf x) {
    x = v_min(v_set1(89.0f), v_max(v_set1(LEAST_POWER * 0.693147181f), x));
    vf whole = v_round(v_mul(x, v_set1(TK_LOG2E)));
    vf f = v_fma(whole, v_set1(-0.693145751953125f), x), p = v_set1(0.0013930436f);
    f = v_fma(whole, v_set1(-1.42860677e-6f), f);
    p = v_fma(p, f, v_set1(0.0083608725f));
    p = v_fma(p, f, v_set1(0.0416664928f));
    p = v_fma(p, f, v_set1(0.1666657627f));
    p = v_fma(p, f, v_set1(0.5f));
    p = v_fma(p, f, v_set1(1.0f));
    return v_ldexp(v_fma(p, f, v_set1(1.0f)), whole);
}

/* The normal distribution function for x within ±GELU_END: no exponential, no division. */
#define GELU_END 5.2f
TK_INLINE vf v_normal(vf x) {
    static const float c[] = {-0.0005622904282063246f, 0.0006007623742334545f, -0.0009785155998542905f,
                              0.0026624391321092844f,  -0.005067368037998676f, 0.00801009126007557f,
                              -0.01235335972160101f,   0.018133921548724174f,  -0.024763450026512146f,
                              0.0319623239338398f,     -0.03992539644241333f,  0.05002611130475998f,
                              -0.06774380803108215f,   0.1359499841928482f};
    const vf scale = v_set1(2 / (GELU_END * GELU_END));
    vf u = v_fma(v_mul(x, x), scale, v_set1(-1.0f)), p = v_set1(0.00020238901197444648f);
    for (int i = 0; i < 14; i++) p = v_fma(p, u, v_set1(c[i]));
    return v_fma(x, p, v_set1(0.5f));
}

/* x times the normal distribution function. Absolute error below 1e-6. */
TK_INLINE vf v_gelu(vf x) {
    vf low = v_max(v_set1(-GELU_END), x);
    return v_mul(low, v_normal(v_min(v_set1(GELU_END), low)));
}

TK_INLINE vf v_silu_by(vf x, float slope) { /* x / (1 + e^(-slope x)) */
    return v_div(x, v_add(v_set1(1.0f), v_exp2(v_mul(x, v_set1(-slope * TK_LOG2E)))));
}

/* GELU by tanh: x σ(2y), y = √(2/π) (x + 0.044715 x³). */
TK_INLINE vf v_gelu_tanh(vf x) {
    vf y = v_mul(x, v_fma(v_mul(x, x), v_set1(0.044715f), v_set1(1.0f)));
    vf down = v_exp2(v_mul(y, v_set1(-2 * 0.7978845608028654f * TK_LOG2E)));
    return v_div(x, v_add(v_set1(1.0f), down));
}

enum { TK_IDENTITY, TK_RELU, TK_GELU, TK_GELU_TANH, TK_SILU, TK_EXP, TK_SIGMOID, TK_TANH };

TK_INLINE vf v_activate(vf x, int kind) {
    switch (kind) {
    case TK_RELU: return v_max(v_set1(0), x);
    case TK_GELU: return v_gelu(x);
    case TK_GELU_TANH: return v_gelu_tanh(x);
    case TK_SILU: return v_silu_by(x, 1.0f);
    case TK_EXP: return v_exp(x);
    case TK_SIGMOID: return v_div(v_set1(1.0f), v_add(v_set1(1.0f), v_exp(v_sub(v_set1(0), x))));
    case TK_TANH: {
        vf e = v_exp(v_mul(x, v_set1(-2.0f)));
        return v_min(v_set1(1.0f), v_sub(v_div(v_set1(2.0f), v_add(v_set1(1.0f), e)), v_set1(1.0f)));
    }
    default: return x;
    }
}

enum { TILE_ROWS = 16, TILE_VECS = 8 };

/* acc[r][v] += sum over k of a[r][k] b[k][v]: rows of a are ar apart and its columns ak, rows of b are bk apart.
   The one loop under matrix products, scores and values; `rows` and `vecs` are constants of each caller. */
TK_INLINE void tile(const int rows, const int vecs, const float *a, ptrdiff_t ar, ptrdiff_t ak, const float *b,
                    ptrdiff_t bk, size_t n, vf acc[TILE_ROWS][TILE_VECS]) {
    for (size_t k = 0; k < n; k++, a += ak, b += bk) {
        vf w[TILE_VECS];
#pragma GCC unroll 8
        for (int v = 0; v < vecs; v++) {
            w[v] = v_load(b + v * VL);
            PIN(w[v]);
        }
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            vf x = v_set1(a[r * ar]);
#pragma GCC unroll 8
            for (int v = 0; v < vecs; v++) acc[r][v] = v_fma(x, w[v], acc[r][v]);
        }
    }
}
#endif
