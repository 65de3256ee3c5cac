/* The loops of matmul.h, with the vector operations of lanes_*.h: rows of a times packed blocks of b that fit in the
   caches of a core. */
#ifndef TK_MATMUL_LOOPS_H
#define TK_MATMUL_LOOPS_H
#include "nn/lanes_math.h"

#ifndef TK_BF16_DOTS /* pairs of bf16 are multiplied: gemm_bf16.c */
#define TK_BF16_DOTS 0
#endif
#if TK_BF16_DOTS
#include "nn/matmul_pairs.h"
#else
#include "nn/matmul_pack.h"
#endif

/* A panel of b (DEEP inputs) is read from the first cache or the second, a block of a (TALL rows) from the second, and
   a block of b (WIDE columns) comes from the third. Pairs of bf16 are half as large. */
enum { DEEP = TK_BF16_DOTS ? 768 : 384, TALL = (TK_BF16_DOTS ? 16 : 8) * MR, WIDE = 2048 };
/* A panel is fetched while the one before it is used: 7 % of the products of 13.9M parameters on Sapphire Rapids
   (benchmarks/bench_training.py). */
enum { AHEAD = 4 /* steps */, LINE = 64 /* bytes */ };

TK_INLINE size_t rounded_up(size_t n, size_t by) { return (n + by - 1) / by * by; }

/* Steps of the sums of a tile: of one item, or two. */
TK_INLINE size_t steps_of(size_t deep) { return TK_BF16_DOTS ? (deep + 1) / 2 : deep; }

static size_t matmul_room(size_t rows, size_t columns, size_t k) {
    size_t steps = steps_of(k < DEEP ? k : DEEP), tall = rows < TALL ? rounded_up(rows, MR) : TALL;
    size_t wide = columns < WIDE ? rounded_up(columns, NR) : WIDE;
    return steps * (tall + wide);
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

/* Rows of a from `row` on and items from `k` on; their sums are added to those of the rows, too, where they are wanted
   and this is the first block of columns. */
static void take_rows(const tk_matmul *w, size_t row, size_t rows, size_t k, size_t deep, int first, float *to) {
    const float *a = w->a + (ptrdiff_t)row * w->a_row + (ptrdiff_t)k * w->a_column;
    float *sums = w->a_sums && first ? w->a_sums + row : NULL;
    pack_rows(a, w->a_row, w->a_column, rows, deep, to);
#if TK_BF16_DOTS
    if (sums) add_sums(a, w->a_row, w->a_column, rows, deep, sums);
#else
    if (sums) add_sums(to, rows, deep, sums);
    if (w->bf16) round_packed(to, rounded_up(rows, MR) * deep);
#endif
}

static void take_columns(const tk_matmul *w, size_t column, size_t columns, size_t k, size_t deep, float *to) {
    const float *b = w->b + (ptrdiff_t)k * w->b_row + (ptrdiff_t)column * w->b_column;
    pack_columns(b, w->b_row, w->b_column, deep, columns, to);
#if !TK_BF16_DOTS
    if (w->bf16) round_packed(to, rounded_up(columns, NR) * deep);
#endif
}

static void matmul(const tk_matmul *w, size_t from, size_t to, size_t first, size_t last, float *room) {
    const size_t blocks = w->k ? (w->k + DEEP - 1) / DEEP : 1;
    for (size_t wide; first < last; first += wide) {
        wide = last - first < WIDE ? last - first : WIDE;
        for (size_t block = 0, k = 0, deep; block < blocks; block++, k += deep) {
            deep = w->k / blocks + (block < w->k % blocks);
            const size_t steps = steps_of(deep);
            float *b = room, *a = room + steps * rounded_up(wide, NR);
            take_columns(w, first, wide, k, deep, b);
            for (size_t row = from, tall; row < to; row += tall) {
                tall = to - row < TALL ? to - row : TALL;
                take_rows(w, row, tall, k, deep, !first, a);
                for (size_t c = 0; c < wide; c += NR) {
                    const char *ahead = (const char *)(b + (c + NR) * steps), *end = ahead + NR * steps * sizeof(float);
                    for (size_t r = 0; r < tall; r += MR) {
                        float *out = w->c + (ptrdiff_t)(row + r) * w->c_row + (ptrdiff_t)(first + c);
                        const float *add = block ? out : w->add;
                        ptrdiff_t add_row = block ? w->c_row : w->add_row;
                        if (!block && add) add += (ptrdiff_t)(row + r) * add_row + (ptrdiff_t)(first + c);
                        matmul_tile(a + r * steps, b + c * steps, steps, ahead, add, add_row, out, w->c_row,
                                    tall - r < MR ? tall - r : MR, wide - c < NR ? wide - c : NR);
                        if (ahead < end) ahead += steps / AHEAD * LINE;
                    }
                }
            }
        }
    }
}
#endif
