/* Optimizer steps on all parameters as one array: AdamW, SGD, running averages, sums of squares; and arrays
   that are kept as bf16. */
#ifndef TK_OPTIM_H
#define TK_OPTIM_H
#include "base.h"

enum { TK_ADAMW, TK_SGD, TK_AVERAGE, TK_SQUARES, TK_ROUND, TK_WIDEN, TK_OPTIM_KERNELS };
enum { TK_OPTIM_CHUNK = 1 << 14 /* items, whatever the number of threads */ };

typedef struct {
    float *p;       /* parameters; of TK_AVERAGE what becomes a * decay + p * (1 - decay) is m */
    const float *g; /* gradients, multiplied by `by` when they are read */
    float *m, *v;   /* averages of gradients and of their squares; m is the momentum of SGD, or NULL */
    size_t n;
    float by, lr, beta1, beta2, eps, decay;
    float step, root; /* lr / (1 - beta1^t), and sqrt(1 - beta2^t) */
    double *sums;     /* of squares, one for each chunk */
    uint16_t *half;   /* of TK_ROUND what p is as bf16, which p becomes, too, if m is p; of TK_WIDEN what p becomes */
} tk_optim_work;

typedef void tk_do_optim(const tk_optim_work *w, size_t from, size_t to);

void tk_optim_run(const tk_optim_work *w, int what, int isa, int threads);
/* The sum of g², in one order; TK_NO_MEMORY, or TK_OK. */
int tk_sum_of_squares(const float *g, size_t n, double *sum, int isa, int threads);
#endif
