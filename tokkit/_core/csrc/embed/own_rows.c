/* Makes private copies of rows, and adds their changes to the matrix: see own_rows.h. */
#include "embed/own_rows.h"

/* Changes of a row that the threads together have not added yet, about: steps of so many, each of which did not see the
   others, do not overshoot at usual learning rates (0.025), and cores seldom wait for each other: bench_word2vec. */
enum { UNSEEN = 128, LEAST = 4, LINE_FLOATS = 16 };

int tk_own_rows_make(tk_own_rows *o, float *matrix, size_t d, size_t first, size_t n, int threads) {
    *o = (tk_own_rows){.of = {matrix, NULL}, .first = {0, first}, .d = d};
    if (threads < 2 || !n) return TK_OK;
    size_t most = UNSEEN / (size_t)threads, changes = n / sizeof(float) + 1;
    /* A line at either end, so that no other thread writes near. */
    o->memory = tk_calloc(2 * n * d + changes + 2 * LINE_FLOATS, sizeof *o->memory);
    if (!o->memory) return TK_NO_MEMORY;
    o->of[1] = o->memory + LINE_FLOATS;
    o->before = o->of[1] + n * d;
    o->changes = (uint8_t *)(o->before + n * d);
    o->most = most < LEAST ? LEAST : (uint32_t)most;
    o->n = n;
    memcpy(o->of[1], matrix + first * d, n * d * sizeof *matrix);
    memcpy(o->before, matrix + first * d, n * d * sizeof *matrix);
    return TK_OK;
}

void tk_own_rows_end(tk_own_rows *o) {
    for (size_t at = 0; at < o->n; at++)
        if (o->changes[at]) tk_own_row_add(o, at);
}

void tk_own_rows_free(tk_own_rows *o) { free(o->memory); }
