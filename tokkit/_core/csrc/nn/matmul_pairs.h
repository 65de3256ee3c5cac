/* Packs the operands of matmul.h as pairs of bf16, [steps][MR or NR] of 32 bits each, for AVX-512: a step is two
   adjacent terms of a sum, the last padded with 0 if needed. Subnormal numbers become 0, as the products treat them. */
#ifndef TK_MATMUL_PAIRS_H
#define TK_MATMUL_PAIRS_H
#include "nn/matmul.h"

enum { MR = VL_ROWS, NR = 2 * VL, TWICE = 2 * VL };

/* Up to VL floats from p on, then zeros. */
TK_INLINE vf load_some(const float *p, size_t n) { return n >= VL ? v_load(p) : v_load_n(p, n); }
/* Twice VL floats from p on as VL pairs; n are there. */
TK_INLINE vi pairs_along(const float *p, size_t n) {
    return (vi)_mm512_cvtne2ps_pbh(n > VL ? load_some(p + VL, n - VL) : v_set1(0), load_some(p, n));
}
/* Pairs of the lanes of two vectors. */
TK_INLINE vi pairs_across(vf first, vf second) {
    const vi order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5,
                                      20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, (vi)_mm512_cvtne2ps_pbh(second, first));
}

/* The four pairs of each quarter of four rows, as four columns of each quarter. */
TK_INLINE void turn_quarters(const vi *rows, vi *columns) {
    const vi a = _mm512_unpacklo_epi32(rows[0], rows[1]), b = _mm512_unpackhi_epi32(rows[0], rows[1]);
    const vi c = _mm512_unpacklo_epi32(rows[2], rows[3]), d = _mm512_unpackhi_epi32(rows[2], rows[3]);
    columns[0] = _mm512_unpacklo_epi64(a, c), columns[1] = _mm512_unpackhi_epi64(a, c);
    columns[2] = _mm512_unpacklo_epi64(b, d), columns[3] = _mm512_unpackhi_epi64(b, d);
}

/* Eight rows of VL pairs become VL columns of eight; the first `steps` of them are written, `apart` pairs from each
   other. */
TK_INLINE void turn_eight(const vi *rows, size_t steps, uint32_t *to, size_t apart) {
    const vi low = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), high = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    vi upper[4], lower[4];
    turn_quarters(rows, upper);
    turn_quarters(rows + 4, lower);
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++) {
        const vi first = _mm512_permutex2var_epi64(upper[j], low, lower[j]);
        const vi last = _mm512_permutex2var_epi64(upper[j], high, lower[j]);
        if (j < steps) _mm256_storeu_si256((void *)(to + j * apart), _mm512_castsi512_si256(first));
        if (j + 4 < steps) _mm256_storeu_si256((void *)(to + (j + 4) * apart), _mm512_extracti64x4_epi64(first, 1));
        if (j + 8 < steps) _mm256_storeu_si256((void *)(to + (j + 8) * apart), _mm512_castsi512_si256(last));
        if (j + 12 < steps) _mm256_storeu_si256((void *)(to + (j + 12) * apart), _mm512_extracti64x4_epi64(last, 1));
    }
}

/* Lines of floats that lie one after another, eight side by side, `apart` pairs of eight; of lines, `some` exist. */
TK_INLINE void pack_along(const float *from, ptrdiff_t line, size_t some, size_t deep, uint32_t *to, size_t apart) {
    for (size_t i = 0; i < deep; i += TWICE, to += VL * apart) {
        const size_t left = deep - i, steps = (left + 1) / 2;
        vi rows[8];
        if (left >= TWICE && some >= 8) {
#pragma GCC unroll 8
            for (int r = 0; r < 8; r++) rows[r] = pairs_along(from + r * line + i, TWICE);
            turn_eight(rows, VL, to, apart);
            continue;
        }
        for (size_t r = 0; r < 8; r++)
            rows[r] = r < some ? pairs_along(from + (ptrdiff_t)r * line + i, left) : vi_zero();
        turn_eight(rows, steps, to, apart);
    }
}

/* Rows of a: [rows / MR][steps][MR]. */
static void pack_rows(const float *a, ptrdiff_t row, ptrdiff_t column, size_t rows, size_t deep, float *packed) {
    const size_t steps = (deep + 1) / 2;
    uint32_t *to = (uint32_t *)packed;
    if (column == 1) {
        for (size_t r = 0; r < rows; r += MR)
            pack_along(a + (ptrdiff_t)r * row, row, rows - r, deep, to + r * steps, MR);
        return;
    }
    for (size_t i = 0; i < deep; i += 2)
        for (size_t r = 0; r < rows; r += VL) {
            const float *from = a + (ptrdiff_t)i * column + (ptrdiff_t)r;
            const vf second = i + 1 < deep ? load_some(from + column, rows - r) : v_set1(0);
            const vi pairs = pairs_across(load_some(from, rows - r), second);
            uint32_t *at = to + r * steps + i / 2 * MR;
            _mm256_storeu_si256((void *)at, _mm512_castsi512_si256(pairs));
            if (r + MR < rows) _mm256_storeu_si256((void *)(at + steps * MR), _mm512_extracti64x4_epi64(pairs, 1));
        }
}

/* Columns of b: [columns / NR][steps][NR]. */
static void pack_columns(const float *b, ptrdiff_t row, ptrdiff_t column, size_t deep, size_t columns, float *packed) {
    const size_t steps = (deep + 1) / 2;
    uint32_t *to = (uint32_t *)packed;
    for (size_t c = 0; c < columns; c += NR, to += NR * steps) {
        if (row == 1) {
            for (size_t j = 0; j < NR; j += 8) {
                const size_t some = c + j < columns ? columns - c - j : 0;
                pack_along(b + (ptrdiff_t)(some ? c + j : 0) * column, column, some, deep, to + j, NR);
            }
            continue;
        }
        for (size_t i = 0; i < deep; i += 2)
            for (size_t j = 0; j < NR; j += VL) {
                const size_t some = c + j < columns ? columns - c - j : 0;
                const float *from = b + (ptrdiff_t)i * row + (ptrdiff_t)(some ? c + j : 0);
                const vf second = i + 1 < deep ? load_some(from + row, some) : v_set1(0);
                const vi pairs = pairs_across(load_some(from, some), second);
                _mm512_storeu_si512(to + i / 2 * NR + j, pairs);
            }
    }
}

/* To each row's sum of what is not rounded: every fourth item apart, so that additions need not wait. */
static void add_sums(const float *a, ptrdiff_t row, ptrdiff_t column, size_t rows, size_t deep, float *sums) {
    if (row != 1) {
        for (size_t r = 0; r < rows; r++) {
            float four[4] = {0};
            for (size_t i = 0; i < deep; i++) four[i % 4] += a[(ptrdiff_t)r * row + (ptrdiff_t)i * column];
            sums[r] += (four[0] + four[1]) + (four[2] + four[3]);
        }
        return;
    }
    for (size_t r = 0; r < rows; r += VL) {
        const size_t some = rows - r < VL ? rows - r : VL;
        vf four[4] = {v_set1(0), v_set1(0), v_set1(0), v_set1(0)};
        for (size_t i = 0; i < deep; i++)
            four[i % 4] = v_add(four[i % 4], load_some(a + (ptrdiff_t)i * column + (ptrdiff_t)r, some));
        const vf sum = v_add(v_add(four[0], four[1]), v_add(four[2], four[3]));
        v_store_n(sums + r, v_add(v_load_n(sums + r, some), sum), some);
    }
}
#endif
