/* Private copies of the most frequently changed rows of a matrix, for one thread of several.

   Rows that all cores write at each step move between their caches, which takes longer than the computation. A thread
   changes its own copies of such rows, and adds the changes to the matrix after some steps. */
#ifndef TK_OWN_ROWS_H
#define TK_OWN_ROWS_H
#include "base.h"

typedef struct {
    float *matrix;   /* of all threads, (rows, d) */
    size_t first, n; /* rows first … first + n - 1 are copied; n may be 0 */
    size_t d;
    float *own;       /* the copies, (n, d) */
    float *before;    /* (n, d): the copies as they were when they and the matrix agreed */
    uintptr_t bytes;  /* of the copies */
    uintptr_t to_own; /* from the address of a row of the matrix to that of its copy */
    float *memory;
} tk_own_rows;

/* Room for copies of rows first … first + n - 1 of a matrix: TK_OK or TK_NO_MEMORY. */
int tk_own_rows_make(tk_own_rows *o, float *matrix, size_t d, size_t first, size_t n);
/* Copy the rows as they are now: a thread that starts late does not train on what they were before. */
void tk_own_rows_begin(tk_own_rows *o);
/* Add all changes to the matrix. */
void tk_own_rows_end(tk_own_rows *o);
void tk_own_rows_free(tk_own_rows *o);

/* The copy of a row, or the row itself. */
TK_INLINE float *tk_row(const tk_own_rows *o, uint32_t row) {
    float *shared = o->matrix + row * o->d;
    if (!o->n) return shared; /* the processor foresees that, but nobody can foresee which rows are copied */
    uintptr_t is_own = tk_unforeseen((size_t)row - o->first < o->n);
    return (float *)((uintptr_t)shared + (o->to_own & (0 - is_own)));
}

/* Ask for what tk_own_row_add reads besides the copy. */
TK_INLINE void tk_own_row_prefetch(const tk_own_rows *o, const float *row) {
    enum { LINE_FLOATS = 16 };
    uintptr_t at = (uintptr_t)row - (uintptr_t)o->own;
    if (at >= o->bytes) return;
    const float *shared = (const float *)((uintptr_t)row - o->to_own);
    const float *before = (const float *)((uintptr_t)o->before + at);
    for (size_t i = 0; i < o->d; i += LINE_FLOATS) {
        TK_PREFETCH_WRITE(shared + i);
        TK_PREFETCH_WRITE(before + i);
    }
}

/* If `row` is a copy, it and the matrix agree after this, except for what other threads change meanwhile. */
TK_INLINE void tk_own_row_add(const tk_own_rows *o, float *row) {
    uintptr_t at = (uintptr_t)row - (uintptr_t)o->own;
    if (at >= o->bytes) return;
    TK_ASSERT(at % (o->d * sizeof(float)) == 0); /* the start of a copy */
    float *restrict own = row, *restrict shared = (float *)((uintptr_t)row - o->to_own);
    float *restrict before = (float *)((uintptr_t)o->before + at);
    for (size_t i = 0; i < o->d; i++) before[i] = own[i] = shared[i] += own[i] - before[i];
}
#endif
