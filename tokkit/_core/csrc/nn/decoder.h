/* The layers of a transformer over packed sequences, with or without caches of keys and values, in one call.

   x = x + o(attention(qkv(norm(x)))), then x = x + down(activation(up(norm(x)))); or both parts of the same x
   (`parallel`); or with the norm after each sum (`post_norm`). Between the two may be attention to a memory: what an
   encoder gave. New tokens are taken some rows at a time, so that what a layer leaves is still in the cache of the CPU
   when the next one reads it; nothing is padded. */
#ifndef TK_DECODER_H
#define TK_DECODER_H
#include "nn/attend.h"
#include "nn/experts.h"
#include "nn/kv.h"
#include "nn/linear.h"

typedef struct {
    const float *weight, *bias; /* weight NULL: no norm here */
} tk_norm;

typedef struct {
    const tk_linear *qkv, *o, *up, *down; /* rows of qkv: q, k and v after one another; of up: gate, then up */
    const tk_experts *experts;            /* in the place of up and down; or NULL */
    const tk_linear *cross_q, *cross_o;   /* attention to a memory; NULL: none */
    tk_norm attention, cross, forward;    /* of what a part reads, or with post_norm leaves */
    tk_norm q, k;                         /* of each head's queries and keys */
    tk_norm attended, forwarded;          /* of what a part gives, before it is added */
    ptrdiff_t window;                     /* how many tokens one sees, itself included; or TK_FAR */
    int rope;                             /* which of the tables of angles; -1: none */
} tk_decoder_layer;

/* Cosines and sines (positions, half): the first 2 * half columns of a head turn. */
typedef struct {
    const float *cosines, *sines;
    size_t half;
} tk_angles;

typedef struct {
    const tk_decoder_layer *layers;
    size_t n_layers, dim, heads, kv_heads, head_dim, hidden;
    int rms, activation, gated, parallel, pairs; /* pairs: columns 2i and 2i + 1 turn together, not i and i + half */
    int post_norm, bidirectional;
    float eps, scale, cap; /* cap: of attention's scores */
    tk_angles angles[2];
    const float *by_distance; /* (heads, distance_by): added to the score of a key d tokens earlier is [zero + d] */
    ptrdiff_t distance_by, zero;
} tk_decoder;

/* Keys and values of what one sequence attends to besides itself, (n_layers, kv_heads, length, head_dim) each. */
typedef struct {
    const float *k, *v;
    size_t length;
} tk_memory;

/* x (sum of rows, dim), the rows of sequence i after those of i - 1, is changed in place, and the caches get the new
   keys and values, for which they have room; their lengths are left as they are. Without caches (NULL) each
   sequence is whole. `memories` are for layers with cross_q. `states`, where not NULL, gets x after each layer:
   (n_layers, rows, dim). */
int tk_decoder_run(const tk_decoder *d, float *x, const size_t *rows, const tk_kv *caches, const tk_memory *memories,
                   size_t n, float *states, int isa, int threads);
#endif
