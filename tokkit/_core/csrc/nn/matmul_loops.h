/* The loops of matmul.h, over the words of lanes_*.h: blocks of b that a core's caches hold, packed, by rows of a. */
#ifndef TK_MATMUL_LOOPS_H
#define TK_MATMUL_LOOPS_H
#include "nn/bf16.h"
#include "nn/lanes_math.h"
#include "nn/matmul.h"

#ifndef TK_BF16_DOTS /* pairs of bf16 are multiplied: gemm_bf16.c */
#define TK_BF16_DOTS 0
#endif

/* A panel of b (DEEP inputs) stays in the first cache and a block of a (TALL rows) in the second, while a block of b
   (WIDE columns) comes from the third. */
enum { FOUR = 4 * sizeof(float), MR = VL_ROWS, NR = 2 * VL, DEEP = 384, TALL = 8 * MR, WIDE = 2048 };
/* A panel is fetched while the one before it is used: 7 % of the products of 13.9M parameters on Sapphire Rapids
   (benchmarks/bench_training.py). */
enum { AHEAD = 4 /* steps */, LINE = 64 /* bytes */ };

TK_INLINE size_t rounded_up(size_t n, size_t by) { return (n + by - 1) / by * by; }

static size_t matmul_room(size_t rows, size_t columns, size_t k) {
    size_t deep = k < DEEP ? k : DEEP, tall = rows < TALL ? rounded_up(rows, MR) : TALL;
    size_t wide = columns < WIDE ? rounded_up(columns, NR) : WIDE;
    return deep * (tall + wide);
}

/* Rows of a, MR side by side: [rows / MR][deep][MR], with zeros after the last. */
static void pack_rows(const float *a, ptrdiff_t row, ptrdiff_t column, size_t rows, size_t deep, float *to) {
    size_t r = 0;
    if (row == 1) { /* what lies together is read together, by fours that may overlap: rows may be pages apart */
        const size_t whole = rows / MR * MR;
        for (size_t i = 0; i < deep; i++)
            for (r = 0; r < whole; r += MR) {
                const float *from = a + (ptrdiff_t)i * column + r;
                memcpy(to + r * deep + i * MR, from, FOUR);
                memcpy(to + r * deep + i * MR + MR - 4, from + MR - 4, FOUR);
            }
    }
    for (a += (ptrdiff_t)r * row, to += r * deep; r < rows; r += MR, a += MR * row, to += MR * deep) {
        const size_t some = rows - r < MR ? rows - r : MR;
        size_t i = 0;
        if (some == MR && column == 1)
            for (; i + 4 <= deep; i += 4)
                for (int j = 0; j < MR; j += 4) { /* the last four may begin among those before */
                    const int at = j + 4 <= MR ? j : MR - 4;
                    transpose_four(a + at * row + i, row, to + i * MR + at, MR, 1);
                }
        for (; i < deep; i++)
            for (size_t j = 0; j < MR; j++)
                to[i * MR + j] = j < some ? a[(ptrdiff_t)j * row + (ptrdiff_t)i * column] : 0;
    }
}

/* Columns of b, NR side by side: [columns / NR][deep][NR], with zeros after the last. */
static void pack_columns(const float *b, ptrdiff_t row, ptrdiff_t column, size_t deep, size_t columns, float *to) {
    for (size_t c = 0; c < columns; c += NR, b += NR * column, to += NR * deep) {
        const size_t some = columns - c < NR ? columns - c : NR;
        if (some == NR && column == 1) {
            for (size_t i = 0; i < deep; i++) {
                v_store(to + i * NR, v_load(b + (ptrdiff_t)i * row));
                v_store(to + i * NR + VL, v_load(b + (ptrdiff_t)i * row + VL));
            }
            continue;
        }
        size_t i = 0;
        if (some == NR && row == 1)
            for (; i + 4 <= deep; i += 4)
                for (int j = 0; j < NR; j += 4) transpose_four(b + j * column + i, column, to + i * NR + j, NR, 1);
        for (; i < deep; i++)
            for (size_t j = 0; j < NR; j++)
                to[i * NR + j] = j < some ? b[(ptrdiff_t)i * row + (ptrdiff_t)j * column] : 0;
    }
}

/* To each row's sum that of a block of packed rows: every fourth item apart, so that additions need not wait. */
static void add_row_sums(const float *packed, size_t rows, size_t deep, float *sums) {
    for (size_t r = 0; r < rows; r += MR, packed += deep * MR) {
        float four[4][MR] = {{0}};
        for (size_t i = 0; i < deep; i++)
            for (size_t j = 0; j < MR; j++) four[i % 4][j] += packed[i * MR + j];
        for (size_t j = 0; j < MR && r + j < rows; j++)
            sums[r + j] += (four[0][j] + four[1][j]) + (four[2][j] + four[3][j]);
    }
}

/* Packed panels, each [deep][wide], are rounded; for dots they become pairs [(deep + 1) / 2][wide] of neighbours. */
static void round_panels(float *packed, size_t panels, size_t deep, const size_t wide) {
    uint32_t *p = (uint32_t *)packed;
#if TK_BF16_DOTS
    for (; panels; panels--, p += deep * wide)
        for (size_t i = 0; i < deep; i += 2) {
            uint32_t pairs[NR];
            for (size_t j = 0; j < wide; j++)
                pairs[j] = tk_rounded_bits(p[i * wide + j]) >> 16 |
                           (i + 1 < deep ? tk_rounded_bits(p[(i + 1) * wide + j]) : 0);
            memcpy(p + i / 2 * wide, pairs, wide * sizeof(uint32_t));
        }
#else
    for (size_t i = 0; i < panels * deep * wide; i++) p[i] = tk_rounded_bits(p[i]);
#endif
}

/* acc += packed rows by a packed panel, for n items or pairs of them. */
TK_INLINE void multiply_panel(const float *a, const float *b, size_t n, vf (*acc)[TILE_VECS]) {
#if TK_BF16_DOTS
    for (; n; n--, a += MR, b += NR) {
        const vi left = vi_load((const uint16_t *)b), right = vi_load((const uint16_t *)(b + VL));
#pragma GCC unroll 16
        for (int r = 0; r < MR; r++) {
            int32_t two;
            memcpy(&two, a + r, sizeof two);
            acc[r][0] = v_dot2(acc[r][0], two, left);
            acc[r][1] = v_dot2(acc[r][1], two, right);
        }
    }
#else
    tile(MR, 2, a, 1, MR, b, NR, n, acc);
#endif
}

/* c = packed rows by a packed panel + add, for a tile of which `rows` and `columns` exist; a line of the panel after
   this one, from `ahead` on, is fetched in each AHEAD steps. */
static void matmul_tile(const float *a, const float *b, size_t steps, const char *ahead, const float *add,
                        ptrdiff_t add_row, float *c, ptrdiff_t c_row, size_t rows, size_t columns) {
    vf acc[TILE_ROWS][TILE_VECS];
    for (size_t r = 0; r < rows; r++) TK_PREFETCH_WRITE(c + (ptrdiff_t)r * c_row);
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++) acc[r][0] = acc[r][1] = v_set1(0);
    size_t i = 0;
    for (; i + AHEAD <= steps; i += AHEAD, a += AHEAD * MR, b += AHEAD * NR, ahead += LINE) {
        TK_PREFETCH_TO(ahead, 3);
        multiply_panel(a, b, AHEAD, acc);
    }
    multiply_panel(a, b, steps - i, acc);
    if (rows == MR && columns == NR) {
#pragma GCC unroll 16
        for (int r = 0; r < MR; r++) {
            float *to = c + r * c_row;
            if (add) {
                acc[r][0] = v_add(acc[r][0], v_load(add + r * add_row));
                acc[r][1] = v_add(acc[r][1], v_load(add + r * add_row + VL));
            }
            v_store(to, acc[r][0]);
            v_store(to + VL, acc[r][1]);
        }
        return;
    }
    float sums[MR][NR];
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++) v_store(sums[r], acc[r][0]), v_store(sums[r] + VL, acc[r][1]);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < columns; j++)
            c[(ptrdiff_t)r * c_row + (ptrdiff_t)j] =
                sums[r][j] + (add ? add[(ptrdiff_t)r * add_row + (ptrdiff_t)j] : 0);
}

static void matmul(const tk_matmul *w, size_t from, size_t to, size_t first, size_t last, float *room) {
    const size_t blocks = w->k ? (w->k + DEEP - 1) / DEEP : 1;
    for (size_t wide; first < last; first += wide) {
        wide = last - first < WIDE ? last - first : WIDE;
        for (size_t block = 0, k = 0, deep; block < blocks; block++, k += deep) {
            deep = w->k / blocks + (block < w->k % blocks);
            float *b = room, *a = room + deep * rounded_up(wide, NR);
            const size_t steps = TK_BF16_DOTS ? (deep + 1) / 2 : deep;
            pack_columns(w->b + (ptrdiff_t)k * w->b_row + (ptrdiff_t)first * w->b_column, w->b_row, w->b_column, deep,
                         wide, b);
            if (w->bf16) round_panels(b, rounded_up(wide, NR) / NR, deep, NR);
            for (size_t row = from, tall; row < to; row += tall) {
                tall = to - row < TALL ? to - row : TALL;
                pack_rows(w->a + (ptrdiff_t)row * w->a_row + (ptrdiff_t)k * w->a_column, w->a_row, w->a_column, tall,
                          deep, a);
                if (w->a_sums && !first) add_row_sums(a, tall, deep, w->a_sums + row);
                if (w->bf16) round_panels(a, rounded_up(tall, MR) / MR, deep, MR);
                for (size_t c = 0; c < wide; c += NR) {
                    const char *ahead = (const char *)(b + (c + NR) * deep), *end = ahead + NR * steps * sizeof(float);
                    for (size_t r = 0; r < tall; r += MR) {
                        float *out = w->c + (ptrdiff_t)(row + r) * w->c_row + (ptrdiff_t)(first + c);
                        const float *add = block ? out : w->add;
                        ptrdiff_t add_row = block ? w->c_row : w->add_row;
                        if (!block && add) add += (ptrdiff_t)(row + r) * add_row + (ptrdiff_t)(first + c);
                        matmul_tile(a + r * deep, b + c * deep, steps, ahead, add, add_row, out, w->c_row,
                                    tall - r < MR ? tall - r : MR, wide - c < NR ? wide - c : NR);
                        if (ahead < end) ahead += steps / AHEAD * LINE;
                    }
                }
            }
        }
    }
}
#endif
