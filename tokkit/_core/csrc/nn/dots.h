/* Rows of floats and some queries in, the product of each row with each query out: the scores of an exact search. */
#ifndef TK_DOTS_H
#define TK_DOTS_H
#include "base.h"
#include "isa.h"

typedef struct {
    const float *x;         /* (n, m), rows x_step items apart */
    ptrdiff_t x_step;
    const float *queries;   /* (n_queries, m), without gaps */
    float *scores;          /* (n_queries, n), without gaps */
    size_t n, m, n_queries;
} tk_dot_work;

/* A row's score depends on the row and the query alone: not on its number, nor on threads. */
typedef void tk_do_dots(const tk_dot_work *w, size_t from, size_t to);
tk_do_dots tk_dots_scalar;
#if TK_X86
tk_do_dots tk_dots_avx2, tk_dots_avx512;
#endif

void tk_dots_run(const tk_dot_work *w, int isa, int threads);
#endif
