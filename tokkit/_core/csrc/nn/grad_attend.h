/* Causal attention for training: forward with the logarithms of its sums, and backward, which recomputes the weights.

   Rows are those of sequences after one another, heads stand side by side in them. Of the weights no more than a block
   of queries is kept at a time; forward saves one number a query and head. Each key head is worked on by one thread, in
   one order: results are the same for any number of them. */
#ifndef TK_GRAD_ATTEND_H
#define TK_GRAD_ATTEND_H
#include "base.h"

enum { TK_GRAD_BLOCK = 32 /* queries, and keys, of a block */, TK_GRAD_WIDEST = 32 /* two of the widest vectors */ };

typedef struct {
    const float *q, *k, *v; /* (batch * n, heads * d), for k and v heads / group of them; rows `row` apart */
    float *out;             /* (batch * n, heads * d); backward reads it */
    float *lse;             /* (batch, heads, n): log2 of the sum of 2^scores; backward reads it */
    const float *dout;      /* as out */
    float *dq, *dk, *dv;    /* as q, k and v, rows drow apart */
    ptrdiff_t row, out_row, drow;
    size_t batch, heads, group, n, d;
    float scale;
    int causal;
    uint32_t least;         /* weights drop out where their hash is below it: see weights_hash; 0: none does */
    float left_by;          /* what the weights that are left are multiplied by */
    uint64_t seed;
    size_t first_sequence;  /* the number that the first sequence has for the hash */
} tk_grad_attention;

/* One sequence and key head. */
typedef void tk_do_grad_attend(const tk_grad_attention *a, size_t sequence, size_t kv_head, float *room);

/* Forward, or backward where dout is given. */
int tk_grad_attention_run(const tk_grad_attention *a, int isa, int threads);
#endif
