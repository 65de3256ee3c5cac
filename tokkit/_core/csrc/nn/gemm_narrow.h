/* The part of gemm_loops.h, which includes this, for weights of 16 and 8 bits. */
#ifndef TK_GEMM_NARROW_H
#define TK_GEMM_NARROW_H

/* Where the pairs of `column` begin. */
TK_INLINE const uint16_t *pairs_of(const tk_linear *l, size_t column) {
    size_t start = column / TK_PANEL * ((l->k + 1) / 2) * TK_PANEL + column % TK_PANEL;
    return (const uint16_t *)l->weights + 2 * start;
}

#if TK_BF16_DOTS
/* out = x Wᵀ, both bf16, for `rows` rows of x and `vecs` vectors of columns from `column` on; sums are float32. */
TK_INLINE void multiply_dots(const int rows, const int vecs, const tk_product *p, size_t row, size_t column,
                             const int fetch, const prefetching *ahead, float *out) {
    const size_t n = (p->l->k + 1) / 2, step = p->x8_step;
    const uint8_t *x[TILE_ROWS];
    const uint16_t *w[TILE_VECS];
    vf acc[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r += 3) { /* as in multiply */
        x[r / 3] = p->x8 + (row + (size_t)r) * step;
        TK_PIN_POINTER(x[r / 3]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < vecs; v += 2) {
        w[v / 2] = pairs_of(p->l, column + (size_t)v * VL);
        TK_PIN_POINTER(w[v / 2]);
    }
    tile_clear(rows, vecs, acc);
    for (size_t i = 0; i < n; i++) {
        vi b[TILE_VECS];
#pragma GCC unroll 8
        for (int v = 0; v < vecs; v++) {
            b[v] = vi_load(w[v / 2] + v % 2 * 2 * VL);
            PIN(b[v]);
        }
#pragma GCC unroll 8
        for (int v = 0; v < vecs; v += 2) w[v / 2] += 2 * TK_PANEL;
        if (fetch) prefetch(ahead, i);
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            int32_t two;
            memcpy(&two, x[r / 3] + (size_t)(r % 3) * step, sizeof two);
#pragma GCC unroll 8
            for (int v = 0; v < vecs; v++) acc[r][v] = v_dot2(acc[r][v], two, b[v]);
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; r += 3) x[r / 3] += sizeof(int32_t);
    }
    tile_store(rows, vecs, acc, out);
}
#else
/* out = x Wᵀ, W of bf16 and widened, for `rows` rows of x and `vecs` vectors of columns from `column` on. */
TK_INLINE void multiply_pairs(const int rows, const int vecs, const tk_product *p, size_t row, size_t column,
                              float *out) {
    const float *x = p->x + (ptrdiff_t)row * p->x_step;
    const uint16_t *at[TILE_VECS];
    vf acc[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 8
    for (int v = 0; v < vecs; v++) at[v] = pairs_of(p->l, column + (size_t)v * VL);
    tile_clear(rows, vecs, acc);
    for (size_t i = 0; i < p->l->k; i += 2)
#pragma GCC unroll 2
        for (int odd = 0; odd < 2; odd++) {
            vf b[TILE_VECS];
            if (i + (size_t)odd == p->l->k) break;
#pragma GCC unroll 8
            for (int v = 0; v < vecs; v++) {
                b[v] = v_load_pairs(at[v] + i * TK_PANEL, odd);
                PIN(b[v]);
            }
#pragma GCC unroll 16
            for (int r = 0; r < rows; r++) {
                vf a = v_set1(x[r * p->x_step + (ptrdiff_t)i + odd]);
#pragma GCC unroll 8
                for (int v = 0; v < vecs; v++) acc[r][v] = v_fma(a, b[v], acc[r][v]);
            }
        }
    tile_store(rows, vecs, acc, out);
}

/* The same by whole numbers, a pair of vectors: see vi_dot4. */
TK_INLINE void multiply_int8(const int rows, const tk_product *p, size_t row, size_t column, float *out) {
    vi acc[TILE_ROWS][2];
    const uint8_t *x = p->x8 + row * p->x8_step;
    size_t deep = (p->l->k + 3) / 4 * 4;
    const int8_t *w = (const int8_t *)p->l->weights + column / TK_PANEL * deep * TK_PANEL + column % TK_PANEL * 4;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) acc[r][0] = acc[r][1] = vi_zero();
    for (size_t i = 0; i < (p->l->k + 3) / 4; i++, w += 4 * TK_PANEL)
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, x + (size_t)r * p->x8_step + 4 * i, sizeof four);
            acc[r][0] = vi_dot4(acc[r][0], four, w);
            acc[r][1] = vi_dot4(acc[r][1], four, w + 4 * VL);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < 2; v++) {
            vi off = vi_times(p->l->totals + column + v * VL, p->x_zero[row + (size_t)r]);
            vf by = v_mul(v_load(p->l->scale + column + v * VL), v_set1(p->x_scale[row + (size_t)r]));
            v_store(out + r * MOST_COLUMNS + v * VL, v_mul(v_from_vi(vi_sub(acc[r][v], off)), by));
        }
}

static void quantise_row(const float *x, size_t k, uint8_t *out, size_t room, float *scale, int32_t *zero) {
    vf low = v_set1(0), high = v_set1(0), bad = v_set1(0);
    size_t i = 0;
    for (; i < k; i += VL) {
        vf v = k - i < VL ? v_load_n(x + i, k - i) : v_load(x + i);
        low = v_min(v, low), high = v_max(v, high), bad = v_fma(v, v_set1(0), bad);
    }
    float most = v_top(high), least = -v_top(v_sub(v_set1(0), low)), by = (most - least) / 255;
    memset(out + k, 0, room - k);
    if (v_sum(bad) != 0 || !(by <= FLT_MAX)) { /* not a number comes out of this row, and of no other */
        memset(out, 0, k);
        *scale = NAN, *zero = 0;
        return;
    }
    if (by < FLT_MIN) by = FLT_MIN; /* all zeros, or as good as */
    *scale = by;
    *zero = (int32_t)nearbyintf(-least / by);
    const vf inverse = v_set1(1 / by), shift = v_set1((float)*zero), top = v_set1(255);
    for (i = 0; i < k; i += VL) {
        vf v = v_add(v_round(v_mul(k - i < VL ? v_load_n(x + i, k - i) : v_load(x + i), inverse)), shift);
        v_store_bytes(out + i, v_min(top, v_max(v_set1(0), v)));
    }
    memset(out + k, 0, i - k);
}
#endif
#endif
