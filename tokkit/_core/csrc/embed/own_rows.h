/* Private copies of the most frequently changed rows of a matrix, one per thread.

   Rows that all cores write at each step move between their caches, which takes longer than the computation. A thread
   changes its own copies of such rows, and adds the changes to the matrix after some steps. */
#ifndef TK_OWN_ROWS_H
#define TK_OWN_ROWS_H
#include "base.h"

typedef struct {
    float *of[2];    /* the matrix of all threads, (rows, d), and the copies, (n, d) */
    size_t first[2]; /* the row of the matrix that comes first in each */
    size_t n, d;     /* n is 0 if nothing is copied */
    uint32_t most;   /* changes of a copy before they are added to the matrix */
    float *before;   /* (n, d): the copies as they were when they and the matrix agreed */
    uint8_t *changes; /* (n + 1): of each copy since then; the last is for all rows that are not copied */
    float *memory;
} tk_own_rows;

/* Copy rows first … first + n - 1 for one of several threads: TK_OK or TK_NO_MEMORY. n may be 0. */
int tk_own_rows_make(tk_own_rows *o, float *matrix, size_t d, size_t first, size_t n, int threads);
/* Add all changes to the matrix. */
void tk_own_rows_end(tk_own_rows *o);
void tk_own_rows_free(tk_own_rows *o);

/* 1 or 0. Nobody can foresee it, so a branch would cost more than the copies save. */
TK_INLINE size_t tk_row_is_own(const tk_own_rows *o, uint32_t row) {
    return tk_unforeseen((size_t)row - o->first[1] < o->n);
}

TK_INLINE float *tk_row(const tk_own_rows *o, uint32_t row) {
    size_t own = tk_row_is_own(o, row);
    return o->of[own] + (row - o->first[own]) * o->d;
}

/* Copy `at` and the matrix agree after this, except for what other threads change meanwhile. */
TK_INLINE void tk_own_row_add(tk_own_rows *o, size_t at) {
    float *restrict shared = o->of[0] + (o->first[1] + at) * o->d, *restrict row = o->of[1] + at * o->d;
    float *restrict before = o->before + at * o->d;
    for (size_t i = 0; i < o->d; i++) before[i] = row[i] = shared[i] += row[i] - before[i];
    o->changes[at] = 0;
}

/* Copy `at`, or n for none, has changed. The row of the matrix is asked for one change before it is needed. */
TK_INLINE void tk_own_row_changed(tk_own_rows *o, size_t at) {
    enum { LINE_FLOATS = 16 };
    uint32_t changes = ++o->changes[at];
    if (TK_LIKELY(changes + 1 < o->most)) return;
    if (at == o->n) {
        o->changes[at] = 0;
    } else if (changes < o->most) {
        const float *shared = o->of[0] + (o->first[1] + at) * o->d;
        for (size_t i = 0; i < o->d; i += LINE_FLOATS) TK_PREFETCH_WRITE(shared + i);
    } else {
        tk_own_row_add(o, at);
    }
}
TK_INLINE void tk_row_changed(tk_own_rows *o, uint32_t row) {
    size_t at[2] = {o->n, (size_t)row - o->first[1]};
    tk_own_row_changed(o, at[tk_row_is_own(o, row)]);
}
#endif
