/* Makes private copies of rows, and adds their changes to the matrix: see own_rows.h. */
#include "embed/own_rows.h"

#include "large_memory.h"

enum { LINE_FLOATS = 16 };

int tk_own_rows_make(tk_own_rows *o, float *matrix, size_t d, size_t first, size_t n) {
    *o = (tk_own_rows){.matrix = matrix, .first = first, .d = d};
    TK_ASSERT(!n || (matrix && d));
    if (!n) return TK_OK;
    /* A line at either end, so that no other thread writes near. */
    o->memory = tk_table_alloc((2 * n * d + 2 * LINE_FLOATS) * sizeof *o->memory);
    if (!o->memory) return TK_NO_MEMORY;
    o->n = n;
    o->own = o->memory + LINE_FLOATS;
    o->before = o->own + n * d;
    o->bytes = n * d * sizeof *o->own;
    o->to_own = (uintptr_t)o->own - (uintptr_t)(matrix + first * d);
    return TK_OK;
}

void tk_own_rows_begin(tk_own_rows *o) {
    if (!o->n) return;
    memcpy(o->own, o->matrix + o->first * o->d, o->bytes);
    memcpy(o->before, o->own, o->bytes);
}

void tk_own_rows_end(tk_own_rows *o) {
    for (size_t at = 0; at < o->n; at++) tk_own_row_add(o, o->own + at * o->d);
}

void tk_own_rows_free(tk_own_rows *o) { tk_table_free(o->memory, 2 * o->bytes + 2 * LINE_FLOATS * sizeof *o->memory); }
