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
    const int together = TK_PANEL / VL;
    const ptrdiff_t step = p->x_step;
    const float *x[TILE_ROWS];
    const uint16_t *w[TILE_VECS];
    vf acc[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r += 3) { /* as in multiply */
        x[r / 3] = p->x + (ptrdiff_t)(row + (size_t)r) * step;
        TK_PIN_POINTER(x[r / 3]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < vecs; v += together) {
        w[v / together] = pairs_of(p->l, column + (size_t)v * VL);
        TK_PIN_POINTER(w[v / together]);
    }
    tile_clear(rows, vecs, acc);
#pragma GCC unroll 2
    for (size_t i = 0; i < p->l->k; i++) { /* twice unrolled, so that `odd` is known */
        const int odd = i & 1;
        vf b[TILE_VECS];
#pragma GCC unroll 8
        for (int v = 0; v < vecs && FETCH_FEW && (VL == 16 || rows == 1); v += together)
            if (!odd) fetch_few(w[v / together]);
#pragma GCC unroll 8
        for (int v = 0; v < vecs; v++) {
            b[v] = v_load_pairs(w[v / together] + v % together * 2 * VL, odd);
            PIN(b[v]);
        }
#pragma GCC unroll 8
        for (int v = 0; v < vecs && odd; v += together) w[v / together] += 2 * TK_PANEL;
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            vf a = v_set1(x[r / 3][r % 3 * step]);
#pragma GCC unroll 8
            for (int v = 0; v < vecs; v++) acc[r][v] = v_fma(a, b[v], acc[r][v]);
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; r += 3) x[r / 3]++;
    }
    tile_store(rows, vecs, acc, out);
}

/* The same by whole numbers, for weights of int8. */
TK_INLINE void multiply_int8(const int rows, const int vecs, const tk_product *p, size_t row, size_t column,
                             const prefetching *ahead, float *out) {
    vi acc[TILE_ROWS][4];
    const size_t step = p->x8_step;
    const uint8_t *x[TILE_ROWS];
    const size_t n = (p->l->k + 3) / 4, start = column / TK_PANEL * n * TK_PANEL + column % TK_PANEL;
    const uint8_t *w = (const uint8_t *)p->l->weights + 4 * start;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r += 3) { /* as in multiply */
        x[r / 3] = p->x8 + (row + (size_t)r) * step;
        TK_PIN_POINTER(x[r / 3]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++) acc[r][v] = vi_zero();
    for (size_t i = 0; i < n; i++, w += 4 * TK_PANEL) {
        if (ahead) prefetch(ahead, i);
        else if (FETCH_FEW && vecs == 4) fetch_few(w);
#pragma GCC unroll 2
        for (int part = 0; part < INT8_PARTS; part++) {
            vi some[4];
#pragma GCC unroll 4
            for (int v = 0; v < vecs; v++) {
                some[v] = q_part(vi_load_bytes(w + 4 * v * VL), TK_INT8, part);
                PIN(some[v]);
            }
#pragma GCC unroll 16
            for (int r = 0; r < rows; r++) {
                int32_t four;
                memcpy(&four, x[r / 3] + (size_t)(r % 3) * step + 4 * part, sizeof four);
                const vi by = vi_set1(four);
#pragma GCC unroll 4
                for (int v = 0; v < vecs; v++) acc[r][v] = q_dot(acc[r][v], some[v], by, TK_INT8);
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; r += 3) x[r / 3] += 4 * INT8_PARTS;
    }
    /* Read before anything is stored, which might change them as far as the compiler knows. */
    const int32_t *totals = p->l->totals + column, *zeros = p->x_zero + row;
    const float *scales = p->l->scale + column, *own = p->x_scale + row;
    vf by[4];
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) by[v] = v_load(scales + v * VL);
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++) {
            vi off = vi_times(totals + v * VL, zeros[r]);
            vf sum = v_from_vi(vi_sub(acc[r][v], off));
            v_store(out + r * MOST_COLUMNS + v * VL, v_mul(sum, v_mul(by[v], v_set1(own[r]))));
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
    uint8_t *bytes = out + (INT8_PARTS - 1) * (room / 2); /* before they are spread */
    memset(out, 0, room);
    if (v_sum(bad) != 0 || !(by <= FLT_MAX)) { /* not a number comes out of this row, and of no other */
        *scale = NAN, *zero = 0;
        return;
    }
    if (by < FLT_MIN) by = FLT_MIN; /* all zeros, or as good as */
    *scale = by;
    *zero = (int32_t)nearbyintf(-least / by);
    const vf inverse = v_set1(1 / by), shift = v_set1((float)*zero), top = v_set1(255);
    for (i = 0; i < k; i += VL) {
        vf v = v_add(v_round(v_mul(k - i < VL ? v_load_n(x + i, k - i) : v_load(x + i), inverse)), shift);
        v_store_bytes(bytes + i, v_min(top, v_max(v_set1(0), v)));
    }
    memset(bytes + k, 0, i - k);
    x_spread(bytes, (k + 3) / 4, out);
}
#endif
#endif
