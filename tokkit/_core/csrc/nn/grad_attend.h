/* Attention for training: forward, which saves the log-sums of softmax; and backward, which recomputes weights.

   Rows are the tokens of the sequences, concatenated, with the heads side by side. Only the weights of one block of
   queries are kept at a time; forward saves one number for each query and head. One thread processes a key head, in a
   fixed order: results are the same for any number of threads. */
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
    size_t before, after;   /* the keys before and after its own that a query sees, at most n; causal: after is 0 */
    const float *by_distance; /* (heads, distances), or NULL: what is added to the score of a query d after its key is
                                 at [zero + d], for d from 1 - n on, and up to a whole block of queries */
    float *d_by_distance;   /* (batch, heads, distances): backward adds the gradients of these */
    size_t distances, zero;
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
