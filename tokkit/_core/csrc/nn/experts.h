/* A mixture of experts: a router chooses experts for each row, and each expert computes only its rows. */
#ifndef TK_EXPERTS_H
#define TK_EXPERTS_H
#include "nn/linear.h"

typedef struct {
    const tk_linear *up, *down; /* rows of up: gate, then up */
} tk_expert;

typedef struct {
    const tk_linear *router;  /* rows: one an expert */
    const tk_expert *experts; /* n */
    size_t n, top, hidden;    /* `top` are chosen for each row */
    int renormalize;          /* the weights of those that are chosen sum to 1; else to their share of all */
    tk_expert shared;         /* works on every row; up NULL: there is none */
    const tk_linear *shared_gate; /* (1, dim): the shared expert's output times the sigmoid of it; or NULL */
    size_t shared_hidden;
} tk_experts;

/* y += what the experts give, for x (rows, dim); `gated` and `activation` as in decoder.h. */
int tk_experts_run(const tk_experts *e, const float *x, size_t x_step, size_t rows, float *y, size_t dim, int gated,
                   int activation, int isa, int threads);
#endif
