/* 4 floats at once in plain C: the vector operations of lanes_math.h for all other machines.

   A struct of an array, in loops of four: compilers turn them into the vectors that the machine has at least. */
#ifndef TK_LANES_SCALAR_H
#define TK_LANES_SCALAR_H
#include <math.h>
#include "nn/linear.h"

#define VL_ROWS 4 /* rows of a matrix product whose sums fit into the registers */
enum { DECODE_ROWS = 2, DECODE_VECS = 2 };
enum { VL = 4, ROWS_1 = 4, ROWS_2 = 4, DIMS_1 = 4, DIMS_2 = 4, PANEL_ROWS = VL_ROWS, FEW_ROWS = 2 };

#define PIN(v) ((void)(v))
#define LEAST_POWER -127.0f
#define EACH for (int i = 0; i < VL; i++) /* what it fills begins as {0}: gcc -O1 does not see that all is */

#if defined(__GNUC__)
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
#define LANE(v) (v)
#else
typedef struct {
    float lane[VL];
} vf;
typedef struct {
    int32_t lane[VL];
} vi;
#define LANE(v) ((v).lane)
#endif
typedef vi vm;

TK_INLINE vf v_load(const float *p) {
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}
TK_INLINE void v_store(float *p, vf v) { memcpy(p, &v, sizeof v); }
TK_INLINE vf v_set1(float x) {
    vf v = {0};
    EACH LANE(v)[i] = x;
    return v;
}
TK_INLINE vf v_load_n(const float *p, size_t n) {
    vf v = v_set1(0);
    for (size_t i = 0; i < n; i++) LANE(v)[i] = p[i];
    return v;
}
TK_INLINE void v_store_n(float *p, vf v, size_t n) {
    for (size_t i = 0; i < n; i++) p[i] = LANE(v)[i];
}
/* Nothing is stored past the caches here, and no row has lanes of others before it. */
enum { V_STREAMS = 0 };
TK_INLINE vf v_load_from(const float *p, size_t skip) { return v_load_n(p + skip, VL - skip); }
TK_INLINE void v_store_from(float *p, vf v, size_t skip) { v_store_n(p + skip, v, VL - skip); }
TK_INLINE vf v_rotate(vf v, size_t by) { return (void)by, v; }
TK_INLINE void v_stream(float *p, vf v) { v_store(p, v); }
TK_INLINE void v_stream_fours(float *p, vf v, size_t from, size_t to) { (void)from, v_store_n(p, v, to); }
TK_INLINE void v_streamed(void) {}
#if defined(__GNUC__)
TK_INLINE vf v_add(vf a, vf b) { return a + b; }
TK_INLINE vf v_sub(vf a, vf b) { return a - b; }
TK_INLINE vf v_mul(vf a, vf b) { return a * b; }
TK_INLINE vf v_div(vf a, vf b) { return a / b; }
TK_INLINE vf v_fma(vf a, vf b, vf c) { return a * b + c; }
TK_INLINE vm v_le(vf a, vf b) { return a <= b; }
TK_INLINE vm v_eq(vf a, vf b) { return a == b; }
TK_INLINE vm v_both(vm a, vm b) { return a & b; }
TK_INLINE vf v_select(vm m, vf yes, vf no) { return (vf)((m & (vi)yes) | (~m & (vi)no)); }
TK_INLINE vf v_max(vf a, vf b) { return v_select(a > b, a, b); }
TK_INLINE vf v_min(vf a, vf b) { return v_select(a < b, a, b); }
#else
#define BY_LANE(made, name, of, value)    \
    TK_INLINE made name of {              \
        made r = {0};                     \
        EACH LANE(r)[i] = value;          \
        return r;                         \
    }
BY_LANE(vf, v_add, (vf a, vf b), LANE(a)[i] + LANE(b)[i])
BY_LANE(vf, v_sub, (vf a, vf b), LANE(a)[i] - LANE(b)[i])
BY_LANE(vf, v_mul, (vf a, vf b), LANE(a)[i] * LANE(b)[i])
BY_LANE(vf, v_div, (vf a, vf b), LANE(a)[i] / LANE(b)[i])
BY_LANE(vf, v_fma, (vf a, vf b, vf c), LANE(a)[i] * LANE(b)[i] + LANE(c)[i])
BY_LANE(vm, v_le, (vf a, vf b), -(LANE(a)[i] <= LANE(b)[i]))
BY_LANE(vm, v_eq, (vf a, vf b), -(LANE(a)[i] == LANE(b)[i]))
BY_LANE(vm, v_both, (vm a, vm b), LANE(a)[i] & LANE(b)[i])
BY_LANE(vf, v_select, (vm m, vf yes, vf no), LANE(m)[i] ? LANE(yes)[i] : LANE(no)[i])
BY_LANE(vf, v_max, (vf a, vf b), LANE(a)[i] > LANE(b)[i] ? LANE(a)[i] : LANE(b)[i])
BY_LANE(vf, v_min, (vf a, vf b), LANE(a)[i] < LANE(b)[i] ? LANE(a)[i] : LANE(b)[i])
#endif
TK_INLINE vf v_sqrt(vf a) {
    EACH LANE(a)[i] = sqrtf(LANE(a)[i]);
    return a;
}
TK_INLINE vf v_iota(void) {
    vf v = {0};
    EACH LANE(v)[i] = (float)i;
    return v;
}
TK_INLINE float v_sum(vf v) { return (LANE(v)[0] + LANE(v)[1]) + (LANE(v)[2] + LANE(v)[3]); }
TK_INLINE float v_top(vf v) {
    float top = LANE(v)[0];
    for (int i = 1; i < VL; i++) top = LANE(v)[i] > top ? LANE(v)[i] : top;
    return top;
}
/* By a number so large that nothing after the point is left; |x| below 2^22. */
TK_INLINE vf v_round(vf x) { return v_sub(v_add(x, v_set1(12582912.0f)), v_set1(12582912.0f)); }
TK_INLINE vf v_ldexp(vf x, vf n) { /* whole n from LEAST_POWER, which gives 0, to 127; at NaN, what x is */
    vf r;
#if defined(__GNUC__)
    vi power = (__builtin_convertvector(v_select(n == n, n, v_set1(0)), vi) + 127) << 23;
#else
    vi power;
    EACH LANE(power)[i] = (int32_t)((uint32_t)((LANE(n)[i] == LANE(n)[i] ? (int32_t)LANE(n)[i] : 0) + 127) << 23);
#endif
    memcpy(&r, &power, sizeof r);
    return v_mul(x, r);
}
/* VL pairs of bf16, as floats: the first of each pair, or the second where `odd`. */
TK_INLINE vf v_load_pairs(const uint16_t *p, const int odd) {
    uint32_t bits[VL];
    vf v;
    EACH bits[i] = (uint32_t)p[2 * i + odd] << 16;
    memcpy(&v, bits, sizeof v);
    return v;
}
TK_INLINE vf v_swap_pairs(vf x) {
    vf r = {0};
    EACH LANE(r)[i] = LANE(x)[i ^ 1];
    return r;
}
TK_INLINE vf v_double_low(const float *p) {
    vf r = {0};
    EACH LANE(r)[i] = p[i / 2];
    return r;
}
TK_INLINE vf v_even_negated(vf x) {
    for (int i = 0; i < VL; i += 2) LANE(x)[i] = -LANE(x)[i];
    return x;
}

TK_INLINE vi vi_zero(void) {
    vi v = {0};
    EACH LANE(v)[i] = 0;
    return v;
}
TK_INLINE vi vi_sub(vi a, vi b) {
    EACH LANE(a)[i] -= LANE(b)[i];
    return a;
}
TK_INLINE vi vi_times(const int32_t *p, int32_t by) {
    vi v = {0};
    EACH LANE(v)[i] = p[i] * by;
    return v;
}
TK_INLINE vf v_from_vi(vi v) {
    vf r = {0};
    EACH LANE(r)[i] = (float)LANE(v)[i];
    return r;
}
TK_INLINE void v_store_bytes(uint8_t *p, vf v) { EACH p[i] = (uint8_t)LANE(v)[i]; }

/* Products of whole numbers (gemm_narrow.h, gemm_groups.h): four bytes of each column in a vector, the parts of them
   that are multiplied, their products with four numbers of x, and the sums of a group. */
enum { INT8_PARTS = 1 };
TK_INLINE vi vi_load_bytes(const uint8_t *p) {
    vi v = {0};
    memcpy(&v, p, sizeof v);
    return v;
}
TK_INLINE vi vi_set1(int32_t x) {
    vi v = {0};
    EACH LANE(v)[i] = x;
    return v;
}
TK_INLINE vi q_part(vi w, const int kind, const int part) {
    if (kind == TK_INT4) EACH LANE(w)[i] = LANE(w)[i] >> 4 * part & 0x0F0F0F0F;
    return w;
}
TK_INLINE vi q_dot(vi sum, vi w, vi x, const int kind) {
    for (int j = 24; j >= 0; j -= 8)
        if (kind == TK_INT8) EACH LANE(sum)[i] += (int8_t)(LANE(w)[i] >> j & 255) * (LANE(x)[i] >> j & 255);
        else EACH LANE(sum)[i] += (LANE(w)[i] >> j & 255) * (int8_t)(LANE(x)[i] >> j & 255);
    return sum;
}
TK_INLINE void x_spread(const uint8_t *bytes, size_t n, uint8_t *to) { (void)bytes, (void)n, (void)to; }
TK_INLINE vf q_end(vi sum, const int kind) {
    (void)kind;
    return v_from_vi(sum);
}
TK_INLINE void q_arrange(const int8_t *x, int32_t sum, const int kind, const int minima, tk_x_group *to) {
    memcpy(to->q, x, TK_GROUP);
    to->start = kind == TK_INT4 ? minima ? 0 : -8 * sum : -128 * sum;
}
/* Of finite halves. */
TK_INLINE vf v_load_halves(const void *p) {
    uint16_t half[VL];
    uint32_t bits[VL];
    vf v;
    memcpy(half, p, sizeof half);
    EACH bits[i] = (uint32_t)(half[i] & 0x7FFF) << 13 | (uint32_t)(half[i] & 0x8000) << 16;
    memcpy(&v, bits, sizeof v);
    return v_mul(v, v_set1(0x1p112f));
}

TK_INLINE vf v_sums(vf *a) {
    vf r = {0};
    EACH LANE(r)[i] = v_sum(a[i]);
    return r;
}

/* VL bytes as floats; 2 * VL bytes as 16-bit numbers; sums of products of such pairs. */
TK_INLINE vf v_load_int8(const int8_t *p) {
    vf r = {0};
    EACH LANE(r)[i] = (float)p[i];
    return r;
}
TK_INLINE vi vi_load_shorts(const int16_t *p) {
    vi r;
    memcpy(&r, p, sizeof r);
    return r;
}
TK_INLINE vi vi_widened(const int8_t *p) {
    int16_t shorts[2 * VL];
    for (int i = 0; i < 2 * VL; i++) shorts[i] = p[i];
    return vi_load_shorts(shorts);
}
TK_INLINE void v_store_shorts(int16_t *p, vf v) { EACH p[i] = (int16_t)nearbyintf(LANE(v)[i]); }
TK_INLINE vi vi_madd(vi sum, vi a, vi b) {
    int16_t x[2 * VL], y[2 * VL];
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    EACH LANE(sum)[i] += x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1];
    return sum;
}

/* The sums of four vectors, to to[0 … 3]. */
TK_INLINE void v_store_sums(float *to, const vf *a) {
    for (int i = 0; i < 4; i++) to[i] = v_sum(a[i]);
}
TK_INLINE void vi_store_sums(float *to, const vi *a) { /* the same of whole numbers */
    for (int i = 0; i < 4; i++) to[i] = (float)(LANE(a[i])[0] + LANE(a[i])[1] + LANE(a[i])[2] + LANE(a[i])[3]);
}

TK_INLINE void transpose_four(const float *from, ptrdiff_t step, float *to, ptrdiff_t to_step, float by) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) to[j * to_step + i] = from[i * step + j] * by;
}
#endif
