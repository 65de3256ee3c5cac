/* Quantizes weights in groups of 32 inputs, and arranges them in the layout of the kernels: see linear_groups.h. */
#include "nn/linear_groups.h"

#include <math.h>

enum { INT4_BYTES = TK_GROUP / 2, TRIALS = 5, SUMS = 8 };

uint16_t tk_half_of(float x) {
    uint32_t bits, sign;
    memcpy(&bits, &x, sizeof bits);
    sign = bits >> 16 & 0x8000, bits &= 0x7FFFFFFF;
    if (bits > 0x7F800000) return (uint16_t)(sign | 0x7E00);
    if (bits >= 0x477FF000) return (uint16_t)(sign | 0x7C00);
    if (bits < 0x38800000) { /* below the smallest normal half: a multiple of 2^-24 */
        float small;
        memcpy(&small, &bits, sizeof small);
        return (uint16_t)(sign | (uint32_t)nearbyintf(small * 16777216.0f));
    }
    bits += 0xFFF + (bits >> 13 & 1);
    return (uint16_t)(sign | ((bits - 0x38000000) >> 13));
}

float tk_float_of_half(uint16_t half) {
    uint32_t bits = (uint32_t)(half & 0x7FFF) << 13;
    float made;
    if ((half & 0x7C00) == 0x7C00) bits |= 0x7F800000;
    memcpy(&made, &bits, sizeof made);
    if ((half & 0x7C00) != 0x7C00) made *= 0x1p112f;
    return half & 0x8000 ? -made : made;
}

/* Where the groups of a column begin, and its place among the 32. */
static uint8_t *group_of(const tk_linear *l, size_t column, size_t group) {
    TK_ASSERT(l->kind >= TK_INT4 && column < l->n && group < tk_groups(l->k));
    return (uint8_t *)l->weights + (column / TK_PANEL * tk_groups(l->k) + group) * tk_group_bytes(l);
}

/* Half number `at` of the 32 scales, or of the minima after them. */
static void put_half(uint8_t *group, size_t at, uint16_t half) { memcpy(group + 2 * at, &half, sizeof half); }
static float half_at(const uint8_t *group, size_t at) {
    uint16_t half;
    memcpy(&half, group + 2 * at, sizeof half);
    return tk_float_of_half(half);
}

/* q: 16 bytes of two each for int4, else 32. */
static void put_numbers(const tk_linear *l, uint8_t *group, size_t column, const uint8_t *q) {
    uint8_t *at = group + tk_group_head(l) + column % TK_PANEL * 4;
    size_t n = l->kind == TK_INT4 ? INT4_BYTES : TK_GROUP;
    for (size_t i = 0; i < n; i += 4, at += 4 * TK_PANEL) memcpy(at, q + i, 4);
}

/* The sum of 32 numbers, in an order that compilers make vectors of. */
static float sum_of(const float *x) {
    float part[SUMS] = {0};
    for (int i = 0; i < TK_GROUP; i += SUMS)
        for (int j = 0; j < SUMS; j++) part[j] += x[i + j];
    return (part[0] + part[1] + (part[2] + part[3])) + (part[4] + part[5] + (part[6] + part[7]));
}

/* Whole numbers nearest to w / scale from `least` to `most`; the quotients are small. */
static void rounded(const float *w, float scale, int32_t least, int32_t most, float *q) {
    const float inverse = scale != 0 ? 1 / scale : 0;
    for (int i = 0; i < TK_GROUP; i++) {
        /* To the nearest by a number that leaves no digits after the point. Compilers make vectors of comparisons of
           whole numbers alone. */
        int32_t v = (int32_t)((w[i] * inverse + 12582912.0f) - 12582912.0f);
        v = v < least ? least : v;
        v = v > most ? most : v;
        q[i] = (float)v;
    }
}

/* The scale, which a half can hold, that makes the error of -8 … 7 least. An error counts by the square of its weight:
   large weights are what training has made. With equal counts groups are 0.6 % too short, and the perplexity of small
   models rises by 0.4 % instead of 0.1 % (benchmarks/bench_quantize.py). */
static float searched(const float *w, float *q) {
    float top = 0, best = INFINITY, found = 0, tried[TK_GROUP], products[TK_GROUP], squares[TK_GROUP];
    float counts[TK_GROUP];
    for (int i = 0; i < TK_GROUP; i++)
        if (fabsf(w[i]) > fabsf(top)) top = w[i];
    for (int i = 0; i < TK_GROUP && top != 0; i++) counts[i] = (w[i] / top) * (w[i] / top);
    for (int i = 0; i < TRIALS && top != 0; i++) {
        float scale = top / (-7.0f - 0.5f * (float)i), square, error;
        rounded(w, scale, -8, 7, tried);
        for (int j = 0; j < TK_GROUP; j++) {
            products[j] = counts[j] * w[j] * tried[j];
            squares[j] = counts[j] * tried[j] * tried[j];
        }
        /* The best scale for these numbers. */
        square = sum_of(squares);
        if (square > 0) scale = sum_of(products) / square;
        scale = tk_float_of_half(tk_half_of(scale));
        rounded(w, scale, -8, 7, tried);
        for (int j = 0; j < TK_GROUP; j++) {
            float off = w[j] - tried[j] * scale;
            squares[j] = counts[j] * off * off;
        }
        error = sum_of(squares);
        if (error < best) {
            best = error, found = scale;
            memcpy(q, tried, sizeof tried);
        }
    }
    return found;
}

void tk_linear_pack_groups(tk_linear *l, const float *w, size_t column) {
    for (size_t g = 0; g < tk_groups(l->k); g++) {
        float some[TK_GROUP] = {0}, q[TK_GROUP] = {0}, scale, most = 0;
        uint8_t bytes[TK_GROUP], *group = group_of(l, column, g);
        size_t n = l->k - g * TK_GROUP < TK_GROUP ? l->k - g * TK_GROUP : TK_GROUP;
        memcpy(some, w + g * TK_GROUP, n * sizeof *w);
        if (l->kind == TK_INT4) {
            scale = searched(some, q);
            for (int i = 0; i < INT4_BYTES; i++)
                bytes[i] = (uint8_t)((int)q[i] + 8) | (uint8_t)(((int)q[i + INT4_BYTES] + 8) << 4);
        } else {
            for (size_t i = 0; i < TK_GROUP; i++) most = fmaxf(most, fabsf(some[i]));
            scale = tk_float_of_half(tk_half_of(most / 127));
            rounded(some, scale, -128, 127, q);
            for (int i = 0; i < TK_GROUP; i++) bytes[i] = (uint8_t)((int)q[i] + 128);
        }
        put_half(group, column % TK_PANEL, tk_half_of(scale));
        put_numbers(l, group, column, bytes);
    }
}

/* Copy a half; whether it is finite. */
static int copy_half(uint8_t *to, const uint8_t *from) {
    memcpy(to, from, 2);
    uint16_t half;
    memcpy(&half, to, sizeof half);
    return (half & 0x7C00) != 0x7C00;
}

int tk_linear_put_blocks(tk_linear *l, const tk_blocks *b, size_t first, size_t columns) {
    TK_ASSERT(b->q && b->scales && !b->minima == !l->minima && first <= l->n && columns <= l->n - first);
    for (size_t c = 0; c < columns; c++)
        for (size_t g = 0; g < tk_groups(l->k); g++) {
            uint8_t bytes[TK_GROUP], *group = group_of(l, first + c, g);
            const ptrdiff_t i = (ptrdiff_t)c, j = (ptrdiff_t)g;
            uint8_t *half = group + (first + c) % TK_PANEL * 2;
            int finite = copy_half(half, b->scales + i * b->scale_column + j * b->scale_group);
            if (l->minima)
                finite &= copy_half(half + 2 * TK_PANEL, b->minima + i * b->minimum_column + j * b->minimum_group);
            if (!finite) return TK_BAD_INPUT;
            memcpy(bytes, b->q + i * b->q_column + j * b->q_group, l->kind == TK_INT4 ? INT4_BYTES : TK_GROUP);
            if (l->kind == TK_INT8_GROUPS)
                for (int n = 0; n < TK_GROUP; n++) bytes[n] ^= 0x80; /* -128 … 127 from 0 up */
            put_numbers(l, group, first + c, bytes);
        }
    return TK_OK;
}

void tk_linear_read_column(const tk_linear *l, size_t c, float *out) {
    for (size_t g = 0; g < tk_groups(l->k); g++) {
        const uint8_t *group = group_of(l, c, g), *at = group + tk_group_head(l) + c % TK_PANEL * 4;
        const float scale = half_at(group, c % TK_PANEL);
        const float less = l->minima ? half_at(group, TK_PANEL + c % TK_PANEL) : scale * 8;
        for (size_t i = 0; i < TK_GROUP && g * TK_GROUP + i < l->k; i++) {
            size_t byte = l->kind == TK_INT4 ? i % INT4_BYTES : i;
            int q = at[byte / 4 * 4 * TK_PANEL + byte % 4];
            if (l->kind == TK_INT4) q = i < INT4_BYTES ? q & 15 : q >> 4;
            else q -= 128;
            out[g * TK_GROUP + i] = scale * (float)q - (l->kind == TK_INT4 || l->minima ? less : 0);
        }
    }
}
