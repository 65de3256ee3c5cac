/* Matrix products of some rows with some panels: the loops of linear.h, with the vector operations of lanes_*.h. */
#ifndef TK_GEMM_LOOPS_H
#define TK_GEMM_LOOPS_H
#include <math.h>
#include "nn/lanes_math.h"
#include "nn/linear.h"

/* A product's result before bias and activation: at most PANEL_ROWS rows of 64 columns, or 1 row of 8 vectors. */
enum { MOST_COLUMNS = 8 * VL };

/* Weights of the columns after a tile's, fetched while it is worked on: whoever reads them first would wait for
   memory. They go to the second cache; that was tried with the matrices of encoders of 384 and 768, in the third cache
   and beyond it, and of a decoder of 125 million weights: 8 rows of int8 take 5.3 ms instead of 8.6, of float32 23 ms
   instead of 36 (Emerald Rapids). */
typedef struct {
    const char *next;
    size_t first; /* step i of the tile is step first + i of all that fetch */
    int shift;    /* log2 of their tiles */
} prefetching;

enum { STEP_LINES = VL == 8 ? 1 : 2, LINE_STEP = VL == 8 ? 128 : 64 }; /* half of the columns: every other line */

TK_INLINE void prefetch(const prefetching *ahead, size_t i) {
    const char *at = ahead->next + ((ahead->first + i) * STEP_LINES >> ahead->shift) * LINE_STEP;
    TK_PREFETCH_TO(at, 2);
    if (STEP_LINES == 2 && ahead->shift == 0) TK_PREFETCH_TO(at + LINE_STEP, 2);
}

/* Few rows of x wait for weights most of the time. They come from front to back, and what the CPU fetches by itself
   ends with each page: a quarter faster on Zen 3 (benchmarks/bench_generate.py), up to twice as fast on Emerald
   Rapids. Zen 4 is better left alone with one panel at a time, from front to back: 30 GB/s of weights for 1 … 4 rows,
   26 with panels side by side, 22 to 25 with what is fetched ahead (tk_product.fetch); from 5 rows on it is helped. */
enum { FETCH_FEW = VL >= 8, TK_LINE = 64, LINES_AHEAD = VL == 8 ? 32 : 64 };
TK_INLINE void fetch_few(const void *w) { /* the weights of a step of a panel: two lines */
    TK_PREFETCH_TO((const char *)w + LINES_AHEAD * TK_LINE, 3);
    TK_PREFETCH_TO((const char *)w + (LINES_AHEAD + 1) * TK_LINE, 3);
}

/* The sums of a tile: none yet; as they are at last. */
TK_INLINE void tile_clear(const int rows, const int vecs, vf (*acc)[TILE_VECS]) {
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < vecs; v++) acc[r][v] = v_set1(0);
}
TK_INLINE void tile_store(const int rows, const int vecs, vf (*acc)[TILE_VECS], float *out) {
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < vecs; v++) v_store(out + r * MOST_COLUMNS + v * VL, acc[r][v]);
}

/* out = x Wᵀ for `rows` rows of x and `vecs` vectors of columns from `column` on. */
TK_INLINE void multiply(const int rows, const int vecs, const tk_product *p, size_t row, size_t column,
                        const int fetch, const prefetching *ahead, float *out) {
    /* Three rows of x share a pointer, and so do the vectors of a panel: gcc would keep some of more pointers in vector
       registers, and wait for them at each step. */
    const int together = TK_PANEL / VL;
    const size_t k = p->l->k;
    const ptrdiff_t step = p->x_step;
    const float *x[TILE_ROWS], *w[TILE_VECS];
    vf acc[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r += 3) {
        x[r / 3] = p->x + (ptrdiff_t)(row + (size_t)r) * step;
        TK_PIN_POINTER(x[r / 3]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < vecs; v += together) {
        size_t c = column + (size_t)v * VL, start = c / TK_PANEL * k * TK_PANEL + c % TK_PANEL;
        w[v / together] = (const float *)p->l->weights + start;
        TK_PIN_POINTER(w[v / together]);
    }
    tile_clear(rows, vecs, acc);
    for (size_t i = 0; i < k; i++) {
        vf b[TILE_VECS];
#pragma GCC unroll 8
        for (int v = 0; v < vecs; v++) {
            b[v] = v_load(w[v / together] + v % together * VL);
            PIN(b[v]);
        }
#pragma GCC unroll 8
        for (int v = 0; v < vecs; v += together) w[v / together] += TK_PANEL;
        if (fetch && vecs <= together) prefetch(ahead, i);
        if (fetch && vecs > together)
#pragma GCC unroll 8
            for (int v = 0; v < vecs; v += together) fetch_few(w[v / together]);
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

#include "nn/gemm_narrow.h"

TK_INLINE void finish_as(const int activation, const tk_product *p, size_t row, size_t rows, size_t column,
                         size_t columns, const float *sums) {
    if (column + columns > p->l->n) columns = p->l->n - column;
    for (size_t r = 0; r < rows; r++, sums += MOST_COLUMNS) {
        float *y = p->y + (ptrdiff_t)(row + r) * p->y_step + column;
        const float *more = p->residual ? p->residual + (ptrdiff_t)(row + r) * p->residual_step + column : NULL;
        for (size_t c = 0; c < columns; c += VL) {
            vf v = v_activate(v_add(v_load(sums + c), v_load(p->l->bias + column + c)), activation);
            size_t some = columns - c;
            if (some >= VL) v_store(y + c, more ? v_add(v, v_load(more + c)) : v);
            else v_store_n(y + c, more ? v_add(v, v_load_n(more + c, some)) : v, some);
        }
    }
}

static TK_NOINLINE void finish(const tk_product *p, size_t row, size_t rows, size_t column, size_t columns,
                               const float *sums) {
    switch (p->activation) {
    case TK_IDENTITY: finish_as(TK_IDENTITY, p, row, rows, column, columns, sums); break;
    case TK_RELU: finish_as(TK_RELU, p, row, rows, column, columns, sums); break;
    case TK_GELU: finish_as(TK_GELU, p, row, rows, column, columns, sums); break;
    case TK_GELU_TANH: finish_as(TK_GELU_TANH, p, row, rows, column, columns, sums); break;
    case TK_SILU: finish_as(TK_SILU, p, row, rows, column, columns, sums); break;
    default: finish_as(TK_TANH, p, row, rows, column, columns, sums);
    }
}

/* One function for each number of rows and vectors, so that sums stay in registers; `ahead` NULL fetches nothing. */
typedef void multiplier(const tk_product *p, size_t row, size_t column, const prefetching *ahead, float *out);
#if TK_BF16_DOTS /* a file for one kind of weights alone */
#define MULTIPLY multiply_dots
#define WIDENED(R, V)
#define PAIR_OF(R) TILE_OF(R, 2)
#else
#define MULTIPLY multiply
#define WIDENED(R, V)                                                                                              \
    if (p->l->kind == TK_BF16) {                                                                                   \
        multiply_pairs(R, V, p, row, column, out);                                                                 \
        return;                                                                                                    \
    }
#define PAIR_OF(R) TILE_OF(R, 2) INT8_OF(R, 2)
#define INT8_OF(R, V)                                                                                              \
    static void int8_##R##_##V(const tk_product *p, size_t row, size_t column, const prefetching *ahead, float *out) \
    {                                                                                                              \
        if (ahead && VL > 4 && V == 2) multiply_int8(R, V, p, row, column, ahead, out);                            \
        else multiply_int8(R, V, p, row, column, NULL, out);                                                       \
    }
#endif
#define TILE_OF(R, V)                                                                                              \
    static void tile_##R##_##V(const tk_product *p, size_t row, size_t column, const prefetching *ahead, float *out) \
    {                                                                                                              \
        WIDENED(R, V)                                                                                              \
        if (V == 2 ? ahead && VL > 4 : p->fetch && VL == 16) MULTIPLY(R, V, p, row, column, 1, ahead, out);        \
        else MULTIPLY(R, V, p, row, column, 0, ahead, out);                                                        \
    }
PAIR_OF(1)
PAIR_OF(2)
PAIR_OF(3)
PAIR_OF(4)
#if VL_ROWS > 4
PAIR_OF(5)
PAIR_OF(6)
#endif
#if VL_ROWS > 6
PAIR_OF(7)
PAIR_OF(8)
#endif
static multiplier *const by_pairs[] = {
    tile_1_2, tile_2_2, tile_3_2, tile_4_2,
#if VL_ROWS > 4
    tile_5_2, tile_6_2,
#endif
#if VL_ROWS > 6
    tile_7_2, tile_8_2,
#endif
};
#if !TK_BF16_DOTS
static multiplier *const by_int8[] = {
    int8_1_2, int8_2_2, int8_3_2, int8_4_2,
#if VL_ROWS > 4
    int8_5_2, int8_6_2,
#endif
#if VL_ROWS > 6
    int8_7_2, int8_8_2,
#endif
};
/* One or two rows: a whole panel at a time, which is read from front to back. */
#if VL_ROWS <= 6
INT8_OF(1, 4)
INT8_OF(2, 4)
enum { INT8_FEW_VECS = 4 };
static multiplier *const int8_few[] = {int8_1_4, int8_2_4};
#else
enum { INT8_FEW_VECS = 2 };
static multiplier *const int8_few[] = {int8_1_2, int8_2_2};
#endif
#endif

/* Fewer rows than keep the multipliers busy take more columns at once: as many as sums find registers. */
TILE_OF(1, 8)
TILE_OF(2, 4)
#if VL_ROWS > 6
TILE_OF(3, 4)
TILE_OF(4, 4)
static multiplier *const by_few[] = {tile_1_8, tile_2_4, tile_3_4, tile_4_4};
#else
static multiplier *const by_few[] = {tile_1_8, tile_2_4};
#endif

/* What tile i of `tiles` fetches of the columns from `column` on: a share, so that memory is asked at an even pace. */
TK_INLINE const prefetching *look_ahead(const tk_product *p, size_t column, size_t i, size_t tiles, prefetching *room) {
    if (VL < 8) return NULL;
    *room = (prefetching){NULL, 0, 0};
    while (tiles >> (room->shift + 1)) room->shift++;
    if (i >> room->shift) return NULL;
    static const size_t inputs[] = {1, 2, 4}; /* of a column are as wide as a float */
    size_t deep = (p->l->k + inputs[p->l->kind] - 1) / inputs[p->l->kind];
    room->first = i * deep;
    room->next = (const char *)((const float *)p->l->weights + column / TK_PANEL * deep * TK_PANEL + column % TK_PANEL);
    return room;
}

/* Fetch the lines of y that a tile is going to write: stores would wait for them, a tenth of the time of a product of
   256 rows by 3,072 columns (Zen 4, benchmarks/bench_generate.py). */
TK_INLINE void expect_stores(const tk_product *p, size_t row, size_t rows, size_t column, size_t columns) {
    enum { LINE = 64 / sizeof(float) };
    for (size_t r = row; r < row + rows; r++)
        for (size_t c = column; c < column + columns; c += LINE) TK_PREFETCH_WRITE(p->y + (ptrdiff_t)r * p->y_step + c);
}

/* Rows from … to by columns column … end, cut into tiles of nearly equal rows and `vecs` vectors; returns where those
   fit no more. */
static size_t gemm_columns(const tk_product *p, size_t from, size_t to, size_t column, size_t end, size_t vecs,
                             multiplier *const *by) {
    float sums[PANEL_ROWS * MOST_COLUMNS];
    prefetching room;
    size_t m = to - from, wide = vecs * VL, tiles = (m + PANEL_ROWS - 1) / PANEL_ROWS;
    const int fetch = vecs == 2 && (p->fetch || m > FEW_ROWS);
    for (; column < p->l->n && column + wide <= end; column += wide)
        for (size_t i = 0, row = from, rows; i < tiles; i++, row += rows) {
            const prefetching *ahead = fetch ? look_ahead(p, column + wide, i, tiles, &room) : NULL;
            rows = m / tiles + (i < m % tiles);
            if (m > FEW_ROWS) expect_stores(p, row, rows, column, wide);
            by[rows - 1](p, row, column, ahead, sums);
            finish(p, row, rows, column, wide, sums);
        }
    return column;
}

#if !TK_BF16_DOTS
#include "nn/gemm_groups.h"
#endif

static void gemm_part(const tk_product *p, size_t from, size_t to, size_t first, size_t last) {
    size_t m = to - from, column = first * TK_PANEL, end = last * TK_PANEL;
#if !TK_BF16_DOTS
    if (p->l->kind >= TK_INT4) {
        groups_part(p, from, to, first, last);
        return;
    }
    if (p->l->kind == TK_INT8) {
        if (m <= 2) column = gemm_columns(p, from, to, column, end, INT8_FEW_VECS, int8_few);
        gemm_columns(p, from, to, column, end, 2, by_int8);
        return;
    }
#endif
    if (m <= FEW_ROWS && p->fetch) column = gemm_columns(p, from, to, column, end, m == 1 ? 8 : 4, by_few);
    gemm_columns(p, from, to, column, end, 2, by_pairs);
}
#endif
