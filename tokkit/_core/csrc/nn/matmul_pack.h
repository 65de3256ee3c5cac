/* Packs the operands of matmul.h for its tiles, rows or columns side by side; uses the vectors of lanes_*.h. */
#ifndef TK_MATMUL_PACK_H
#define TK_MATMUL_PACK_H
#include "nn/bf16.h"
#include "nn/matmul.h"

enum { FOUR = 4 * sizeof(float), MR = VL_ROWS, NR = 2 * VL };

/* Lines of floats side by side, [items][lines]; returns how many of the `deep` items of each were taken. */
TK_INLINE size_t turn_lines(const float *from, ptrdiff_t line, size_t deep, const int lines, float *to) {
    size_t i = 0;
    for (; i + 4 <= deep; i += 4)
        for (int j = 0; j < lines; j += 4) { /* the last four may begin among those before */
            const int at = j + 4 <= lines ? j : lines - 4;
            transpose_four(from + at * line + i, line, to + i * (size_t)lines + at, lines, 1);
        }
    return i;
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
        if (some == MR && column == 1) i = turn_lines(a, row, deep, MR, to);
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
        if (some == NR && row == 1) i = turn_lines(b, column, deep, NR, to);
        for (; i < deep; i++)
            for (size_t j = 0; j < NR; j++)
                to[i * NR + j] = j < some ? b[(ptrdiff_t)i * row + (ptrdiff_t)j * column] : 0;
    }
}

/* To each row's sum that of a block of packed rows: every fourth item apart, so that additions need not wait. */
static void add_sums(const float *packed, size_t rows, size_t deep, float *sums) {
    for (size_t r = 0; r < rows; r += MR, packed += deep * MR) {
        float four[4][MR] = {{0}};
        for (size_t i = 0; i < deep; i++)
            for (size_t j = 0; j < MR; j++) four[i % 4][j] += packed[i * MR + j];
        for (size_t j = 0; j < MR && r + j < rows; j++)
            sums[r + j] += (four[0][j] + four[1][j]) + (four[2][j] + four[3][j]);
    }
}

/* Numbers of packed panels become those that bf16 has. */
static void round_packed(float *packed, size_t n) {
    uint32_t *p = (uint32_t *)packed;
    for (size_t i = 0; i < n; i++) p[i] = tk_rounded_bits(p[i]);
}
#endif
