/* The product of each row of floats with each query: the scores of an exact search. */
#ifndef TK_DOTS_H
#define TK_DOTS_H
#include "base.h"

typedef struct {
    const float *x;         /* (n, m), rows x_step items apart */
    ptrdiff_t x_step;
    const float *queries;   /* (n_queries, m), without gaps */
    float *scores;          /* (n_queries, n), without gaps */
    size_t n, m, n_queries;
} tk_dot_work;

/* A row's score depends on the row and the query alone: not on its number, nor on threads. */
typedef void tk_do_dots(const tk_dot_work *w, size_t from, size_t to);

void tk_dots_run(const tk_dot_work *w, int isa, int threads);
#endif
