/* Training of GloVe vectors (Pennington, Socher and Manning 2014) on shuffled records of co-occurrence. */
#ifndef TK_GLOVE_H
#define TK_GLOVE_H
#include "base.h"

typedef struct {
    uint32_t word, context;
    float log_count, weight; /* log x and f(x) */
} tk_glove_record;

_Static_assert(sizeof(tk_glove_record) == 16, "records are made as arrays of 16 bytes");

/* The state of a word is two halves of `step` floats, a multiple of 16, on 64 bytes. The first half has d dimensions,
   a bias and a 1; a context's has the 1 before the bias, so that one product adds both biases. The second half is
   AdaGrad's sums of squares. The 1 and what fills the half up have the rate 0: they stay as they are. */
typedef struct {
    const tk_glove_record *records;
    size_t n;
    float *words, *contexts;                  /* (n_words, 2, step) each */
    const float *word_rates, *context_rates;  /* (step) */
    size_t step;
} tk_glove_work;

/* Train on records[from … to); the sum of f(x) · difference² / 2 before each update. */
typedef double tk_do_glove(const tk_glove_work *w, size_t from, size_t to);

/* Train on all records and return that sum. Several threads write to the same rows without locks. */
double tk_glove_run(const tk_glove_work *w, int isa, int threads);
#endif
